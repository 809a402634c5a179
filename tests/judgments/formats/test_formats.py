"""What holds for every format in the registry."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, SfumatoError
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, Comparisons
from sfumato.judgments.formats import FORMATS, Format, read, strict, write
from sfumato.judgments.formats.reading import PLATFORM_ID, ReadOptions
from sfumato.judgments.judgments import Judgments, RejectedRow
from sfumato.judgments.question import ask

PLAIN = ReadOptions()
SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".npy", ".npz", ".zip", ".txt", "")
each_format = pytest.mark.parametrize("name", sorted(FORMATS))


def test_the_formats_of_the_command_line_are_there() -> None:
    general = {"sfumato", "crowd", "peerannot", "cleanlab", "label-studio", "potato", "comparisons"}
    released = {
        "cifar10s",
        "cifar10h",
        "counts",
        "cifar10n",
        "fashion-mnist-h",
        "cub-s",
        "labelme",
        "hmix",
    }

    assert general | released <= set(FORMATS)


@each_format
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_file_is_a_sentence_that_names_it(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"nowhere{suffix}"

    with pytest.raises(DataError, match=r"There is no file .*nowhere"):
        read(path, name, PLAIN)
    with pytest.raises(DataError, match="nowhere"):
        FORMATS[name].read(path, PLAIN)


@each_format
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", ["nothing", "space", "zeros", "noise", "header"])
def test_a_file_of_something_else_is_a_sentence_that_names_it(
    name: str, suffix: str, content: str, tmp_path: Path
) -> None:
    contents = {
        "nothing": b"",
        "space": b" \n \n",
        "zeros": bytes(300),
        "noise": np.random.default_rng(7).bytes(4000),
        "header": b"item,task,worker,label,answer\n",
    }
    path = tmp_path / f"something{suffix}"
    path.write_bytes(contents[content])

    with pytest.raises(DataError, match="something"):
        read(path, name, PLAIN)


@each_format
def test_a_folder_of_something_else_is_a_sentence_that_names_it(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "something"
    folder.mkdir()

    with pytest.raises(DataError, match="something"):
        read(folder, name, PLAIN)


NAMES = [
    *("id", "item", "task", "data", "answer", "label", "annotations", "result", "type", "value"),
    *("choices", "label_annotations", "instance_id_to_label_to_value", "0", "1"),
]
COLUMNS = [
    "item",
    "task",
    "worker",
    "label",
    "answer",
    "first",
    "second",
    "rating",
    "closer",
    "mix",
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES) | st.text(max_size=2),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", ["sfumato", "peerannot", "label-studio", "potato", "cifar10s"])
@given(value=json_values)
def test_any_json_is_read_or_refused_with_a_sentence(
    name: str, value: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")

    for suffix in (".json", ".jsonl"):
        path = folder / f"any{suffix}"
        path.write_text(json.dumps(value), encoding="utf-8")
        try:
            read(path, name, PLAIN)
        except SfumatoError as error:
            assert "any" in str(error)


@pytest.mark.parametrize("name", ["sfumato", "crowd", "cleanlab", "counts", "comparisons", "mixes"])
@given(
    header=st.lists(
        st.sampled_from(COLUMNS),
        max_size=5,
    ),
    body=st.text(st.sampled_from('ab1.-,"\n\r é{}[]:'), max_size=60),
)
def test_any_text_is_read_or_refused_with_a_sentence(
    name: str, header: list[str], body: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "any.csv"
    path.write_text(",".join(header) + "\n" + body, encoding="utf-8", newline="")

    try:
        read(path, name, PLAIN)
    except SfumatoError as error:
        assert "any" in str(error)


def votes(*people: str | None) -> Judgments:
    table = pl.DataFrame(
        {
            "item": [str(row) for row in range(len(people))],
            "annotator": pl.Series(people, dtype=pl.String),
            "answer": ['"1"'] * len(people),
        }
    )
    return Judgments(ask("choose-one", ["0", "1"]), table)


WRITABLE = sorted(
    name for name, entry in FORMATS.items() if entry.write and entry.holds == "judgments"
)


@pytest.mark.parametrize("name", WRITABLE)
@pytest.mark.parametrize("person", ["5f2a9c0b1d3e4f5a6b7c8d9e", "A2XJ1SEGCKLAQ0", "a@example.org"])
def test_no_writer_lets_a_platform_id_out(name: str, person: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="never written"):
        write(votes("w1", person), tmp_path / "votes.csv", name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", WRITABLE)
def test_what_is_written_can_be_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"

    write(votes("w1", "w2"), path, name)
    again = read(path, name, ReadOptions(classes=("0", "1")))

    assert isinstance(again, Judgments)
    assert again.table.select("item", "annotator", "answer").rows() == [
        ("0", "w1", '"1"'),
        ("1", "w2", '"1"'),
    ]


def test_a_format_that_is_only_read_says_which_are_written(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"'potato' is only read\. Formats that are written: cleanlab"
    ):
        write(votes("w"), tmp_path / "a.csv", "potato")


def test_comparisons_are_not_written_as_votes(tmp_path: Path) -> None:
    table = pl.DataFrame({"first": ["a"], "second": ["b"], "rating": [1.0]})
    pairs = Comparisons(COMPARISON_QUESTIONS["pairs"], table)

    with pytest.raises(
        DataError, match=r"holds judgments, not comparisons\. Write as: comparisons"
    ):
        write(pairs, tmp_path / "a.csv", "crowd")


def test_no_readable_row_gives_the_first_reason(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("item,answer,seconds\n,cat,1\na,dog,x\n")

    with pytest.raises(DataError, match=r"rows set aside: 2, the first: .*line 2, field 'item'"):
        read(path, "sfumato", PLAIN)


def test_strict_names_the_first_row_and_how_many() -> None:
    rows = tuple(
        RejectedRow("a.csv", line, "seconds", "'x' is not a number", "") for line in (3, 9)
    )

    strict(votes("w"))
    with pytest.raises(
        DataError, match=r"read: 2, the first in a\.csv, line 3, field 'seconds': 'x' is not"
    ):
        strict(replace(votes("w"), rejected=rows))


def test_rows_set_aside_show_no_platform_id(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    person = "5f2a9c0b1d3e4f5a6b7c8d9e"
    path.write_text(f"task,worker,label\n1,{person},a,too much\n2,{person},a\n3,w,b\n")

    found = read(path, "crowd", ReadOptions(key=lambda: "study 1"))

    [row] = found.rejected
    assert person not in row.text
    assert "person-9d139fc064" in row.text
    assert found.table["annotator"].to_list() == ["person-9d139fc064", "w"]


def test_a_reader_that_forgets_pseudonyms_is_corrected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    careless = votes("5f2a9c0b1d3e4f5a6b7c8d9e", None, "w")
    stated = careless.statements
    monkeypatch.setitem(
        FORMATS, "careless", Format(lambda path, options: careless, None, "judgments", "…")
    )

    found = read(tmp_path, "careless", ReadOptions(key=lambda: "study 1"))

    assert found.table["annotator"].to_list() == ["person-9d139fc064", None, "w"]
    assert [(remark.what, remark.count) for remark in found.remarks] == [
        ("platform ids replaced by pseudonyms", 1)
    ]
    assert isinstance(found, Judgments)
    assert found.statements is stated


def test_a_sentence_that_forgets_the_file_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(path: Path, options: ReadOptions) -> Judgments:
        raise DataError("Two classes are needed.")

    monkeypatch.setitem(FORMATS, "careless", Format(careless, None, "judgments", "…"))
    path = tmp_path / "votes.csv"
    path.touch()

    with pytest.raises(DataError, match=r"^votes\.csv: Two classes are needed\.$"):
        read(path, "careless", PLAIN)


RELEASED = {
    "cifar10s": ["cifar10s/raw_human_data.csv", "cifar10s/human_soft_labels_data.json"],
    "cifar10h": ["cifar10h/cifar10h-counts.npy"],
    "cub-s": ["cub_s/raw_cub-s_human_data.csv"],
    "hmix": ["hmix/hmix_infer_mixing_factor.csv"],
    "labelme": ["labelme_crowd/answers.npy"],
    "crowd": ["crowd/rte_label.csv"],
}


@pytest.mark.parametrize("name", sorted(RELEASED))
def test_no_platform_id_is_left_in_released_data(name: str, data_folder: Path) -> None:
    for file in RELEASED[name]:
        found = read(data_folder / file, name, PLAIN)

        people = found.table["annotator"].drop_nulls().unique().to_list()
        assert not [person for person in people if PLATFORM_ID.fullmatch(person)]
        assert not [row for row in found.rejected if PLATFORM_ID.search(row.text)]
