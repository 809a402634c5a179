"""``schema.json`` and ``docs/format.md`` say what the code does."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import jsonschema
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judgments.strategies import judgments

from sfumato.judgments.formats.own import write_own
from sfumato.judgments.judgments import COLUMNS, VIEWS, Judgments
from sfumato.judgments.question import QUESTIONS, Kind, ask, read_answers
from sfumato.labels.check import check
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import SUM_TOLERANCE, LabelSet

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "tests" / "samples" / "0.1"
SCHEMA: dict[str, Any] = json.loads((ROOT / "src/sfumato/schema.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
SHOWN = re.compile(r"^`([\w.]+)`:\n\n```(?:csv|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A file of the page, below its name."""


SHOWN_ABOUT = {
    "rating": ["bad", "fair", "good"],
    "number": ["0", "100"],
    "three-point": ["cat", "dog"],
}
"""What the answers that the page shows are about, where not cats, dogs and ships."""


def valid(what: str, value: Any) -> bool:
    schema = {"$ref": f"#/$defs/{what}", "$defs": SCHEMA["$defs"]}
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


def rows_of(path: Path) -> list[dict[str, Any]]:
    match path.suffix:
        case ".parquet":
            table = pl.read_parquet(path)
        case ".jsonl":
            table = pl.read_ndjson(path)
        case _:
            table = pl.read_csv(path)
    return table.with_columns(pl.col("item").cast(pl.String)).to_dicts()


def test_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_schema_knows_every_kind_column_and_view() -> None:
    defs = SCHEMA["$defs"]

    assert tuple(defs["question"]["properties"]["kind"]["enum"]) == get_args(Kind)
    assert {f"answer-{kind}" for kind in get_args(Kind)} <= defs.keys()
    assert {f"judgment-{kind}" for kind in get_args(Kind)} <= defs.keys()
    assert tuple(defs["judgment"]["properties"]) == tuple(COLUMNS)
    assert defs["judgment"]["properties"]["view"]["enum"] == [*VIEWS, None]
    assert defs["label"]["additionalProperties"]["maximum"] == 1 + SUM_TOLERANCE
    assert defs["prediction"]["additionalProperties"]["maximum"] == 1 + SUM_TOLERANCE
    options = defs["question"]["properties"]["options"]["properties"]
    assert {name for preset in QUESTIONS.values() for name in preset.options} == options.keys()


def test_page_knows_every_kind_column_and_option() -> None:
    options = [name for preset in QUESTIONS.values() for name in preset.options]

    assert [name for name in (*COLUMNS, *get_args(Kind), *options) if f"`{name}`" not in PAGE] == []


def test_examples_of_the_page_are_valid(tmp_path: Path) -> None:
    files = dict(SHOWN.findall(PAGE))
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    found = {name: check(tmp_path / name) for name in files if name.endswith(".csv")}

    assert {name: each.problems for name, each in found.items()} == dict.fromkeys(found, ())
    assert found["answers.csv"].verdict == "valid: 3 judgments of 2 people about 1 item"
    assert found["labels.csv"].holds == "labels"
    assert valid("question", json.loads(files["answers.question.json"]))
    assert valid("labels-beside", json.loads(files["labels.csv.json"]))


def test_form_of_each_answer_on_the_page_is_right() -> None:
    for kind in get_args(Kind):
        cell = re.search(rf"^\| `{kind}` \| `(.*?)`", PAGE, re.MULTILINE)
        if kind in ("top-class", "sparse"):  # as sliders, the page says
            assert cell is None
            continue
        assert cell is not None
        question = ask(kind, SHOWN_ABOUT.get(kind, ["cat", "dog", "ship"]))
        assert read_answers(question, [cell[1]])[1] == {}
        assert valid(f"answer-{kind}", json.loads(cell[1]))


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("judgment", "judgments.jsonl"),
        ("judgment", "judgments.parquet"),
        ("label", "labels.parquet"),
        ("label", "crowd.csv"),
        ("label", "votes.csv"),
        ("prediction", "predictions.csv"),
        ("prediction", "predictions.parquet"),
    ],
)
def test_rows_of_real_files_are_valid(what: str, name: str) -> None:
    rows = rows_of(SAMPLES / name)

    assert rows and all(valid(what, row) for row in rows)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.name)
def test_json_beside_real_files_is_valid(path: Path) -> None:
    what = "question" if path.name.endswith("question.json") else "labels-beside"

    assert valid(what, json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
@given(original=judgments())
def test_whatever_is_written_is_valid(
    suffix: str, original: Judgments, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("schema") / f"answers{suffix}"
    write_own(original, path)
    kind = original.question.kind

    stored = json.loads(path.with_suffix(".question.json").read_text(encoding="utf-8"))
    assert valid("question", stored)
    for row in rows_of(path):
        assert valid("judgment", row)
        assert valid(f"judgment-{kind}", {**row, "answer": json.loads(row["answer"])})


@given(seed=st.integers(0, 2**31), classes=st.integers(1, 5))
def test_whatever_labels_are_written_are_valid(
    seed: int, classes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = np.random.default_rng(seed).dirichlet(np.full(classes, 0.1), 3)
    path = tmp_path_factory.mktemp("schema") / "labels.parquet"

    write_labels(LabelSet(("a", "b", "c"), tuple("vwxyz"[:classes]), rows), path)

    assert all(valid("label", row) and valid("prediction", row) for row in rows_of(path))
    assert valid("labels-beside", json.loads((path.parent / "labels.parquet.json").read_text()))


leaves = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["cat", "dog", "yes", ""])
fields = st.sampled_from(
    ["cat", "dog", "first", "second", "first_percent", "ruled_out", "class", "typicality",
     "choice", "confidence"]
)  # fmt: skip
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=4),
    max_leaves=6,
)


@pytest.mark.parametrize("kind", get_args(Kind))
@given(answer=anything)
def test_schema_takes_every_answer_that_the_reader_takes(kind: str, answer: Any) -> None:
    options = {"subset": ["cat", "dog"]} if kind == "top-class" else {}
    question = ask(kind, ["cat", "dog"], **options)

    _, wrong = read_answers(question, [json.dumps(answer)])

    if not wrong:
        assert valid(f"answer-{kind}", answer)


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("question", {"kind": "chose-one", "classes": ["cat", "dog"]}),
        ("question", {"kind": "choose-one", "classes": ["cat"]}),
        ("question", {"kind": "choose-one", "classes": ["cat", "cat"]}),
        ("question", {"kind": "choose-one"}),
        ("answer-choose-one", 3),
        ("answer-top-two", {"second": "cat"}),
        ("answer-top-two", {"first": "cat", "ruled_out": "dog"}),
        ("answer-yes-no-unsure", {"cat": "maybe"}),
        ("answer-ranking", ["cat", "cat"]),
        ("answer-confidence", {"choice": "cat"}),
        ("answer-typicality", {"typicality": 1}),
        ("judgment", {"item": "a"}),
        ("judgment", {"item": "", "answer": "cat"}),
        ("judgment", {"item": "a", "answer": "cat", "seconds": -1}),
        ("judgment", {"item": "a", "answer": "cat", "view": "again"}),
        ("judgment-top-two", {"item": "a", "answer": "cat"}),
        ("label", {"item": "a"}),
        ("label", {"item": "a", "cat": 1.5}),
        ("label", {"item": "a", "cat": "1"}),
        ("prediction", {"cat": 1}),
        ("labels-beside", {"judgments": [1]}),
        ("labels-beside", {"provenance": [{"settings": {}}]}),
    ],
)
def test_schema_refuses_what_the_page_forbids(what: str, value: Any) -> None:
    assert not valid(what, value)
