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
from sfumato.judgments import formats
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, Comparisons
from sfumato.judgments.formats import (
    FORMATS,
    Format,
    class_counts,
    read,
    read_renames,
    similar_classes,
    strict,
    write,
)
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


def read_texts(source: Any, *said: Any, **options: Any) -> Judgments:
    """What is read, which is judgments here."""
    found = formats.read(source, *said, **options)
    assert isinstance(found, Judgments)
    return found


def answered(*labels: str) -> Judgments:
    table = pl.DataFrame({"item": ["a"] * len(labels), "answer": [json.dumps(x) for x in labels]})
    return Judgments(ask("choose-one", sorted(set(labels))), table)


def pairs(*labels: str) -> set[frozenset[str]]:
    counts = class_counts(answered(*labels))
    return {frozenset((pair.often, pair.rare)) for pair in similar_classes(counts)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Eight", "eight"),
        ("9", "nine"),
        ("colour", "color"),
        ("airplane", "airplnae"),
        ("hate speech", "hate_speech"),
        ("cat", "cat."),
        ("Not sure", "not-sure"),
        ("automobile", "automobil"),
    ],
)
def test_spellings_of_one_class_are_pointed_out(first: str, second: str) -> None:
    assert pairs(first, second, "truck") == {frozenset((first, second))}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("cat", "car"),
        ("model_a", "model_b"),
        ("group 1", "group 2"),
        ("male", "female"),
        ("1", "10"),
        ("-1", "1"),
        ("C", "C++"),
        ("true", "false"),
    ],
)
def test_different_classes_are_left_alone(first: str, second: str) -> None:
    assert pairs(first, second, "truck") == set()


ROWS = [
    {"item": 1, "rater": "a", "label": "Eight"},
    {"item": 1, "rater": "b", "label": "eight"},
    {"item": 2, "rater": "a", "label": "eight"},
    {"item": 2, "rater": "b", "label": "nine"},
    {"item": 3, "rater": "b", "label": "9"},
]


def test_casefold_keeps_the_commonest_spelling_and_counts() -> None:
    found = read_texts(ROWS, casefold=True)

    assert found.question.classes == ("9", "eight", "nine")
    assert {remark.what: remark.count for remark in found.remarks}["classes renamed"] == 1
    assert found.provenance[-1].settings == {"renames": {"Eight": "eight"}, "answers": 1}


def test_renames_join_and_may_meet_named_classes(tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("9=nine\neight=Eight\n")

    found = read_texts(ROWS, rename=file, classes=["nine", "Eight", "ten"])

    assert found.question.classes == ("nine", "Eight", "ten")
    assert [json.loads(answer) for answer in found.table["answer"]] == [
        *("Eight", "Eight", "Eight", "nine", "nine")
    ]
    with pytest.raises(DataError, match=r"No class is called 'eigth'. Did you mean 'eight'"):
        read_texts(ROWS, rename={"eigth": "Eight"})
    with pytest.raises(DataError, match="only the class 'x' is left"):
        read_texts(ROWS, rename=dict.fromkeys(("Eight", "eight", "nine", "9"), "x"))


def test_shares_of_joined_classes_are_added() -> None:
    rows = [
        {"item": "a", "rater": "x", "cat": 0.25, "Cat": 0.25, "dog": 0.5},
        {"item": "a", "rater": "y", "cat": 0.0, "Cat": 0.1, "dog": 0.9},
    ]

    found = read_texts(rows, rename={"Cat": "cat"})

    assert [json.loads(answer) for answer in found.table["answer"]] == [
        {"cat": 0.5, "dog": 0.5},
        {"cat": 0.1, "dog": 0.9},
    ]


def test_a_number_scale_without_its_order_is_remarked_upon() -> None:
    rows = [{"item": 1, "rater": who, "rating": n} for n, who in enumerate("abcde", start=1)]

    told = [remark.what for remark in read_texts(rows).remarks]

    assert "classes are numbers (1 to 5), read without their order (a scale: 'rating')" in told


@pytest.mark.parametrize("text", ["a=b\nc = d\n", "a,b\nc,d\n", "a;b\nc;d\n", "a\tb\nc\td\n"])
def test_a_file_of_renames_has_lines_or_columns(text: str, tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text(text)

    assert read_renames(path) == {"a": "b", "c": "d"}


def test_a_file_of_renames_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("a=b\na=c\n")

    with pytest.raises(DataError, match=r"names\.txt, line 2: 'a' is to be called 'c' here"):
        read_renames(path)


@given(st.lists(st.sampled_from(["a", "B", "b", "C", "c"]), min_size=2))
def test_folding_never_changes_how_many_answered(labels: list[str]) -> None:
    rows = [{"item": 1, "rater": str(n), "label": x} for n, x in enumerate([*labels, "a", "z"])]

    found = read_texts(rows, casefold=True)

    assert len(found) == len(rows)
    assert len({name.casefold() for name in found.question.classes}) == len(found.question.classes)
