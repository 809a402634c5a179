"""Labels and predictions are recognised, and all that is wrong with them is told."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, UnknownName
from sfumato.evaluation.predictions import read_predictions
from sfumato.judgments.formats.check import FileCheck
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.check import check, draw_badge, recognise
from sfumato.labels.files import read_crowd_labels, write_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.make import publish
from sfumato.provenance import Step

SAMPLES = Path(__file__).parent.parent / "samples" / "0.1"


def checked(folder: Path, text: str, holds: str | None = None, beside: str = "") -> FileCheck:
    path = folder / "labels.csv"
    path.write_text(text, encoding="utf-8", newline="")
    if beside:
        (folder / "labels.csv.json").write_text(beside, encoding="utf-8")
    return check(path, holds)


def kinds(found: FileCheck) -> set[tuple[int | None, str, int]]:
    return {(problem.row, problem.field, problem.count) for problem in found.problems}


odd = st.sampled_from(['"', "a,b", "1.0", "ünï", " x ", "answer"])
names = (st.text(min_size=1, max_size=6) | odd).filter(str.isprintable)
class_names = names.map(str.strip).filter(lambda name: name not in ("", "item", "annotator"))


@st.composite
def label_sets(draw: st.DrawFn) -> LabelSet | CrowdLabels:
    classes = tuple(draw(st.lists(class_names, min_size=1, max_size=4, unique=True)))
    items = tuple(draw(st.lists(names, min_size=1, max_size=4, unique=True)))
    seed = draw(st.integers(0, 99))
    rng = np.random.default_rng(seed)
    steps = (Step("label votes", {"gamma": 0.1}, {"a.csv": "00"}, simulated=bool(seed % 2)),)
    if seed % 3:
        probs = rng.dirichlet(np.ones(len(classes)), len(items))
        return LabelSet(items, classes, probs, rng.integers(0, 9, len(items)).astype(float), steps)
    rows = 2 * len(items)
    probs = rng.dirichlet(np.ones(len(classes)), rows)
    item = np.arange(rows) % len(items)
    return CrowdLabels(items, ("ann",), classes, item, rng.integers(-1, 1, rows), probs, steps)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@given(labels=label_sets())
def test_whatever_is_written_is_valid(
    suffix: str, labels: LabelSet | CrowdLabels, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("labels") / f"labels{suffix}"
    write_labels(labels, path)

    found = check(path)

    assert found.problems == ()
    assert (found.rows, found.items) == (len(labels), len(labels.items))
    assert found.classes == len(labels.classes)
    assert found.simulated == labels.provenance[0].simulated


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("judgments.jsonl", "judgments"),
        ("judgments.parquet", "judgments"),
        ("labels.parquet", "labels"),
        ("crowd.csv", "labels"),
        ("seen.csv", "labels"),
        ("predictions.csv", "predictions"),
        ("predictions.parquet", "predictions"),
        ("predictions.npz", "predictions"),
    ],
)
def test_files_of_the_first_version_are_recognised_and_valid(name: str, holds: str) -> None:
    found = check(SAMPLES / name)

    assert (found.holds, found.valid) == (holds, True)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("item,answer\n1,cat\n", "judgments"),
        ("item,annotator,answer\n1,ann,1\n", "judgments"),
        ("task,worker,label\n1,ann,cat\n", "judgments"),
        ("item,label\n1,cat\n", "judgments"),
        ("item,cat,dog\n1,0.5,0.5\n", "labels"),
        ("item,annotator,cat\n1,ann,1\n", "labels"),
        ("", "judgments"),
    ],
)
def test_tables_are_recognised_by_their_columns(text: str, holds: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")

    assert recognise(path) == holds


def test_all_mistakes_of_all_rows_are_told_with_their_first_place(tmp_path: Path) -> None:
    text = (
        "item,cat,dog\n"
        "a,0.5,0.5\n"
        "a,0.25,0.75\n"  # twice
        ",x,1\n"
        "b,0.5,0.6\n"
        "c,-0.5,1.5\n"
        "d,nan,\n"
        "e,1\n"
        "f,0.2,0.2\n"
    )

    found = checked(tmp_path, text)

    assert kinds(found) == {
        (3, "item", 1),
        (4, "item", 1),
        (4, "cat", 3),
        (6, "dog", 2),
        (5, "", 2),
        (8, "", 1),
    }
    told = "\n".join(map(str, found.problems))
    assert "line 4, field 'cat' (3 times): 'x'; expected a number from 0 to 1" in told
    assert "line 5 (2 times): the probabilities of item 'b' sum to 1.1; expected" in told
    assert found.verdict == "not valid: 10 mistakes of 6 kinds in labels.csv"


def test_rounded_rows_are_predictions_not_labels(tmp_path: Path) -> None:
    text = "item,cat,dog\na,0.6667,0.3334\n"

    as_labels, as_predictions = checked(tmp_path, text), checked(tmp_path, text, "predictions")

    assert "predictions may be rounded, labels not" in str(as_labels.problems[0])
    assert as_predictions.verdict == "valid: predictions for 1 item over 2 classes"
    assert not checked(tmp_path, "item,cat,dog\na,0.66700,0.33400\n", "predictions").valid


def test_several_rows_of_an_item_need_a_column_of_annotators(tmp_path: Path) -> None:
    rows = "a,0.5,0.5\na,1,0\n"

    assert kinds(checked(tmp_path, f"item,cat,dog\n{rows}")) == {(3, "item", 1)}
    people = checked(tmp_path, "item,annotator,cat,dog\na,ann,0.5,0.5\na,,1,0\n")
    assert people.verdict == "valid: 2 labels of 1 person for 1 item over 2 classes"


def test_ids_of_platforms_are_a_mistake(tmp_path: Path) -> None:
    found = checked(tmp_path, "item,annotator,cat\na,a.b@example.org,1\n")

    assert kinds(found) == {(2, "annotator", 1)}
    assert "example" not in json.dumps(found.to_json())


@pytest.mark.parametrize(
    "beside",
    [
        "{",
        "[]",
        "{}",
        '{"provenance": {}}',
        '{"provenance": [{"settings": {}}]}',
        '{"provenance": [], "judgments": [1]}',
        '{"provenance": [], "judgments": [1, -1]}',
        '{"provenance": [], "judgments": [1, "two"]}',
        '{"provenance": [], "judgments": 2}',
    ],
)
def test_wrong_json_beside_is_a_mistake_in_its_own_file(beside: str, tmp_path: Path) -> None:
    found = checked(tmp_path, "item,cat\na,1\nb,1\n", beside=beside)

    (problem,) = found.problems
    assert problem.file == "labels.csv.json"


@pytest.mark.parametrize("text", ["", "\n", "cat,dog\n1,0\n", "item\na\n", "item,cat\n", "\0"])
def test_table_that_cannot_be_read_is_one_mistake(text: str, tmp_path: Path) -> None:
    (problem,) = checked(tmp_path, text, "labels").problems

    assert problem.row is None


def test_nested_columns_are_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    pl.DataFrame({"item": ["a"], "probs": [[0.5, 0.5]]}).write_parquet(path)

    (problem,) = check(path, "labels").problems

    assert "expected texts in item and annotator" in problem.found


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"probs": np.eye(2)}, "no 'items'"),
        ({"probs": np.eye(2), "items": ["a", "b"]}, "no 'classes'"),
        ({"probs": np.eye(2), "items": ["a"], "classes": ["x", "y"]}, "2 names in 'items'"),
        ({"probs": np.eye(2), "items": ["a", "b"], "classes": ["x", "x"]}, "'x'"),
        ({"logits": np.eye(2)}, "'probs'"),
        ({"probs": np.ones(2)}, "'probs'"),
        ({"probs": np.eye(2) + 0.1, "items": ["a", "b"], "classes": ["x", "y"]}, "from 0 to 1"),
        ({"probs": np.eye(2) / 2, "items": ["a", "b"], "classes": ["x", "y"]}, "sum to 0.5"),
        ({"probs": np.eye(2), "items": ["a", "a"], "classes": ["x", "y"]}, "has a row already"),
    ],
)
def test_arrays_say_what_they_are_about(
    arrays: dict[str, object], told: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.npz"
    held: dict[str, Any] = {name: np.array(values) for name, values in arrays.items()}
    np.savez(path, **held)

    assert told in str(check(path).problems[0])


@given(
    cells=st.lists(
        st.lists(st.sampled_from(["0", "0.5", "1", "0.25", "0.9995", "x", "", "-1"]), min_size=2,
                 max_size=2),
        min_size=1, max_size=4,
    ),
)  # fmt: skip
def test_what_is_valid_can_be_read(
    cells: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    rows = "".join(f"{place},{','.join(row)}\n" for place, row in enumerate(cells))

    if checked(folder, f"item,cat,dog\n{rows}").valid:
        assert len(read_crowd_labels(folder / "labels.csv")) == len(cells)
    if checked(folder, f"item,cat,dog\n{rows}", "predictions").valid:
        assert len(read_predictions(folder / "labels.csv", classes=("cat", "dog"))) == len(cells)


def test_published_folder_is_checked_as_a_whole(tmp_path: Path) -> None:
    table = pl.DataFrame({"item": ["a", "a"], "annotator": ["p", "q"], "answer": ['"x"', '"y"']})
    publish(Judgments(ask("choose-one", ["x", "y"]), table), tmp_path / "folder")

    assert check(tmp_path / "folder").verdict == "valid: 2 judgments of 2 people about 1 item"

    pl.DataFrame({"item": ["a"], "x": [0.5], "y": [0.6]}).write_parquet(
        tmp_path / "folder" / "data" / "labels.parquet"
    )
    (problem,) = check(tmp_path / "folder").problems
    assert problem.file == "labels.parquet"


def test_what_is_no_file_of_ours_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    with pytest.raises(DataError, match="There is no file"):
        check(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match=r"ends in '\.txt'"):
        check(tmp_path / "notes.txt")
    with pytest.raises(DataError, match="holds no data/judgments"):
        check(tmp_path)
    with pytest.raises(UnknownName, match="Did you mean 'labels'"):
        check(SAMPLES / "seen.csv", "label")


@pytest.mark.parametrize(("text", "word"), [("a,1,0\n", "valid"), ("<&>,1,1\n", "not valid")])
def test_badge_says_the_verdict_and_needs_no_network(text: str, word: str, tmp_path: Path) -> None:
    drawn = draw_badge(checked(tmp_path, f"item,cat,dog\n{text}"))

    root = ElementTree.fromstring(drawn)
    written = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert written == ["sfumato", word]
    assert "href" not in drawn and "url(http" not in drawn
