"""A published folder is read back exactly, by us, by Hugging Face and by Croissant's own tool."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.judgments.strategies import judgments

from sfumato.errors import DataError
from sfumato.judgments.formats import read, write
from sfumato.judgments.formats.hf import (
    Publication,
    annotators_of,
    new_folder,
    read_hf,
    write_hf,
    write_metadata,
    write_tables,
)
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import Question, ask
from sfumato.provenance import fingerprint_file

PLAIN = ReadOptions()
WORKER = "5f2a9c0b1d3e4f5a6b7c8d9e"
REQUIRED = ("@context", "@type", "name", "description", "conformsTo", "license", "url", "creator",
            "datePublished", "distribution", "recordSet")  # fmt: skip
"""What Croissant 1.0 requires of a dataset."""

VOTES = Judgments(
    Question("choose-one", ("cat", "dog"), "Which one?\n---\n: it's “odd”", version="7"),
    pl.DataFrame(
        {
            "item": ["a", "a", "b", "b"],
            "annotator": ["ann", "bob", "ann", None],
            "answer": ['"cat"', '"dog"', '"cat"', '"cat"'],
            "seconds": [1.0, 4.0, 3.0, None],
            "view": ["first", "first", "repeat", "check"],
        }
    ),
)
SAID = Publication("Animals", "CC-BY-4.0", "Our lab", "https://example.org", "2026-05-04")


def published(folder: Path, about: Publication = SAID, answers: Judgments = VOTES) -> Path:
    path = folder / "animals"
    with new_folder(path) as part:
        write_tables(answers, part)
        write_metadata(answers, part, about)
    return path


def header(path: Path) -> dict[str, Any]:
    text = (path / "README.md").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return found


def croissant(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / "croissant.json").read_text(encoding="utf-8"))
    return found


@given(original=judgments())
def test_whatever_is_published_is_read_back_exactly(
    original: Judgments, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("hf") / "folder"

    write_hf(original, path)
    again = read_hf(path, PLAIN)

    assert_frame_equal(again.table, original.table)
    assert again.question == original.question
    assert again.provenance[:-1] == original.provenance
    assert (again.rejected, again.remarks) == ((), ())
    assert header(path)["configs"][0]["config_name"] == "judgments"
    assert croissant(path)["recordSet"][0]["@id"] == "judgments"


def test_folder_is_recognised_without_its_format(tmp_path: Path) -> None:
    again = read(published(tmp_path))

    assert isinstance(again, Judgments)
    assert again.question == VOTES.question


def test_rows_of_the_reader_before_are_left_behind(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("task,worker,label\n1,ann,cat\n1,bob\n1,eve,dog\n")
    original = read(votes, "crowd", PLAIN)
    assert original.rejected

    write(original, tmp_path / "folder", "hf")
    again = read(tmp_path / "folder", "hf", PLAIN)

    assert_frame_equal(again.table, original.table)
    assert again.rejected == ()


@given(title=st.text(max_size=20), creator=st.text(max_size=10))
def test_card_and_metadata_can_be_read_whatever_they_say(
    title: str, creator: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    said = Publication(title or None, creator=creator or None)

    path = published(tmp_path_factory.mktemp("any"), said)

    text = (path / "README.md").read_bytes().decode()
    found = yaml.safe_load(text.removeprefix("---\n").split("\n---\n")[0])
    if title:
        assert found["pretty_name"] == croissant(path)["name"] == title


def test_hugging_face_loads_every_table_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    path = published(tmp_path)
    cache = str(tmp_path / "cache")

    loaded = datasets.load_dataset(str(path), split="train", cache_dir=cache)
    people = datasets.load_dataset(str(path), "annotators", split="train", cache_dir=cache)

    assert loaded[:]["answer"] == VOTES.table["answer"].to_list()
    assert loaded[:]["seconds"] == VOTES.table["seconds"].to_list()
    assert people[:]["annotator"] == ["ann", "bob"]


def test_croissant_has_what_the_specification_requires(tmp_path: Path) -> None:
    path = published(tmp_path)

    found = croissant(path)

    assert [name for name in REQUIRED if name not in found] == []
    assert found["@type"] == "sc:Dataset"
    assert "http://mlcommons.org/croissant/1.0" in found["conformsTo"]
    files = {each["@id"]: each for each in found["distribution"]}
    for each in files.values():
        assert each["@type"] == "cr:FileObject"
        assert each["sha256"] == fingerprint_file(path / each["contentUrl"])
    sets = {each["@id"]: each for each in found["recordSet"]}
    assert sets.keys() == {"judgments", "annotators"}
    for name, each in sets.items():
        assert each["@type"] == "cr:RecordSet"
        table = pl.read_parquet(path / "data" / f"{name}.parquet")
        columns = [field["source"]["extract"]["column"] for field in each["field"]]
        assert columns == table.columns
        for field in each["field"]:
            assert field["source"]["fileObject"]["@id"] in files
            assert field["dataType"] in ("sc:Text", "sc:Float", "sc:Integer", "sc:Boolean")
            assert field["description"]
    (who,) = (each for each in sets["judgments"]["field"] if each["@id"] == "judgments/annotator")
    assert who["references"] == {"field": {"@id": "annotators/annotator"}}
    assert "Which one?" in found["rai:dataAnnotationProtocol"]


@pytest.mark.filterwarnings("ignore")  # the tool warns of what it uses itself
def test_croissants_own_tool_reads_the_records(tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    path = published(tmp_path)

    dataset = mlcroissant.Dataset(jsonld=str(path / "croissant.json"))
    records = list(dataset.records("judgments"))

    assert not dataset.metadata.issues.errors
    assert [record["judgments/answer"].decode() for record in records] == VOTES.table[
        "answer"
    ].to_list()
    assert len(list(dataset.records("annotators"))) == 2


def test_what_nobody_said_is_left_out_and_listed(tmp_path: Path) -> None:
    path = published(tmp_path, Publication())

    found = croissant(path)

    assert {"license", "creator", "url", "datePublished"} & found.keys() == set()
    assert "license" not in header(path)
    assert Publication(license="mit").unsaid() == ["creator", "url", "date"]


def test_licence_is_an_identifier_or_an_address(tmp_path: Path) -> None:
    assert header(published(tmp_path))["license"] == "cc-by-4.0"

    (tmp_path / "other").mkdir()
    linked = header(published(tmp_path / "other", Publication(license="https://example.org/terms")))

    assert linked["license"] == "other"
    assert linked["license_link"] == "https://example.org/terms"


def test_card_tells_the_truth_about_who_answered_and_what_was_asked(tmp_path: Path) -> None:
    table = VOTES.table.with_columns(simulated=pl.lit(True))
    made_up = Judgments(ask("choose-one", ["cat", "dog"]), table)
    unworded = Judgments(Question("choose-one", ("cat", "dog"), ""), VOTES.table)
    (tmp_path / "b").mkdir()

    simulated = published(tmp_path, answers=made_up)
    silent = published(tmp_path / "b", answers=unworded)

    assert header(simulated)["annotations_creators"] == ["machine-generated"]
    assert "SIMULATED" in (simulated / "README.md").read_text(encoding="utf-8")
    assert "SIMULATED" in croissant(simulated)["description"]
    assert header(silent)["annotations_creators"] == ["other"]
    assert "wording is not recorded" in (silent / "README.md").read_text(encoding="utf-8")


def test_annotators_are_counted() -> None:
    found = annotators_of(VOTES)

    assert found.rows() == [("ann", 2, 2, 2.0), ("bob", 1, 1, 4.0)]
    assert found.columns == ["annotator", "judgments", "items", "seconds"]


def test_folder_without_annotators_has_no_table_of_them(tmp_path: Path) -> None:
    nameless = Judgments(VOTES.question, VOTES.table.with_columns(annotator=pl.lit(None)))

    path = published(tmp_path, answers=nameless)

    assert [each["config_name"] for each in header(path)["configs"]] == ["judgments"]
    assert "references" not in json.dumps(croissant(path)["recordSet"])


def test_platform_ids_do_not_get_into_any_file(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text(f"task,worker,label\n1,{WORKER},cat\n1,bob,dog\n2,{WORKER},a,b\n")
    found = read(votes, "crowd", ReadOptions(key=lambda: "study 1"))

    write(found, tmp_path / "folder", "hf")

    for path in (tmp_path / "folder").rglob("*"):
        if path.suffix == ".parquet":
            assert WORKER not in pl.read_parquet(path).write_csv()
        elif path.is_file():
            assert WORKER not in path.read_text(encoding="utf-8")
    people = pl.read_parquet(tmp_path / "folder" / "data" / "annotators.parquet")["annotator"]
    assert people.to_list() == ["bob", "person-9d139fc064"]


def test_existing_folder_is_not_written_over(tmp_path: Path) -> None:
    path = published(tmp_path)
    (path / "README.md").write_text("mine", encoding="utf-8")

    with pytest.raises(DataError, match=r"animals is there already"):
        write_hf(VOTES, path)

    assert (path / "README.md").read_text(encoding="utf-8") == "mine"


def test_half_a_folder_is_never_left(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), new_folder(tmp_path / "new") as part:
        (part / "README.md").touch()
        raise RuntimeError
    with pytest.raises(DataError, match=r"cannot be written"):
        write_hf(VOTES, tmp_path / "no" / "such" / "folder")

    assert list(tmp_path.iterdir()) == []


def test_folder_of_something_else_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape("without data/judgments.parquet")):
        read_hf(tmp_path, PLAIN)
