"""CUB-S: the published answers, and small exports with mistakes."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import read_cub_s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments

HEADER = ",time_elapsed,rt,subject,concept_group,filename,evalAttrUncs,img_id\n"


@pytest.fixture(scope="module")
def released(data_folder: Path) -> Judgments:
    return read_cub_s(data_folder / "cub_s" / "raw_cub-s_human_data.csv", ReadOptions())


def export(folder: Path, *rows: tuple[str, str, str]) -> Path:
    """An export of rows of time elapsed, marked options and image."""
    path = folder / "raw.csv"
    lines = [f'{n},{t},2500,p,wing color,f.jpg,"{bars}",{i}' for n, (t, bars, i) in enumerate(rows)]
    path.write_text(HEADER + "\n".join(lines) + "\n")
    return path


def test_release_holds_4984_answers_about_28_groups(released: Judgments) -> None:
    groups = {item.split("/")[1] for item in released.table["item"]}

    assert len(released) == 4984
    assert len(released.annotators) == 89
    assert len(groups) == 28
    assert len(released.question.classes) == 301
    assert released.rejected == ()


def test_marked_values_are_those_of_the_released_vectors(
    released: Judgments, data_folder: Path
) -> None:
    """Per image and person, as multisets; the release writes a marked 0 as .05."""
    vectors = json.loads((data_folder / "cub_s" / "cub-s_labels.json").read_text())
    published = {
        image: Counter(tuple(sorted(value for value in vector if value)) for vector in people)
        for image, people in vectors.items()
    }
    marked: dict[str, dict[str, list[float]]] = {}
    for item, person, answer in released.table.select("item", "annotator", "answer").rows():
        values = [value / 100 or 0.05 for value in json.loads(answer).values()]
        marked.setdefault(item.split("/")[0], {}).setdefault(person, []).extend(values)

    read = {
        image: Counter(tuple(sorted(values)) for values in people.values())
        for image, people in marked.items()
    }

    assert read == published


def test_each_person_answers_in_order(released: Judgments) -> None:
    orders = released.table.group_by("annotator").agg(pl.col("order").sort())

    assert {tuple(places) for places in orders["order"]} == {tuple(range(1, 57))}


def test_answer_speaks_of_its_own_group(tmp_path: Path) -> None:
    bars = "[{'label': 'Black', 'x': 0, 'y': 93}, {'label': 'Grey', 'x': 1, 'y': 61}]"

    judgments = read_cub_s(export(tmp_path, ("9.0", bars, "4081.0")), ReadOptions())

    assert judgments.table["item"].to_list() == ["4081/wing color"]
    assert json.loads(judgments.table["answer"][0]) == {
        "wing color: Black": 93,
        "wing color: Grey": 61,
    }
    assert judgments.statements.mass.tolist() == [[0.93, 0.61]]
    assert judgments.table["seconds"].to_list() == [2.5]
    assert judgments.remarks[0].what == "ids written as floats"


def test_order_follows_the_clock(tmp_path: Path) -> None:
    black, grey = "[{'label': 'Black', 'y': 1}]", "[{'label': 'Grey', 'y': 1}]"

    judgments = read_cub_s(export(tmp_path, ("20", black, "1"), ("10", grey, "2")), ReadOptions())

    assert judgments.table["order"].to_list() == [2, 1]


@pytest.mark.parametrize(
    "bars",
    [
        "",
        "[{'label': 'Black'",
        "{'label': 'Black'}",
        "[{'label': 'Black'}]",
        "[{'label': 3, 'y': 3}]",
        "[{'label': 'Black', 'y': {1, 2}}]",
        "[{'label': '\\ud800', 'y': 1}]",
        "__import__('os').getcwd()",
        "(" * 5000,
        "[{'label': 'Black', 'y': 1}, {'label': 'Black', 'y': 2}]",
    ],
)
def test_malformed_answers_are_set_aside(tmp_path: Path, bars: str) -> None:
    good = "[{'label': 'Black', 'y': 1}, {'label': 'Grey', 'y': 2}]"

    judgments = read_cub_s(export(tmp_path, ("1", good, "1"), ("2", bars, "1")), ReadOptions())

    assert len(judgments) == 1
    assert [(row.line, row.field) for row in judgments.rejected] == [(3, "evalAttrUncs")]


def test_row_without_image_is_set_aside(tmp_path: Path) -> None:
    good = "[{'label': 'Black', 'y': 1}, {'label': 'Grey', 'y': 2}]"

    judgments = read_cub_s(export(tmp_path, ("1", good, ""), ("2", good, "1")), ReadOptions())

    assert [(row.line, row.field) for row in judgments.rejected] == [(2, "img_id")]


def test_named_classes_must_hold_every_option(tmp_path: Path) -> None:
    bars = "[{'label': 'Black', 'y': 1}]"
    path = export(tmp_path, ("1", bars, "1"))

    named = read_cub_s(path, ReadOptions(classes=("wing color: Black", "wing color: Pink")))

    assert named.question.classes == ("wing color: Black", "wing color: Pink")
    with pytest.raises(DataError, match="'wing color: Black'"):
        read_cub_s(path, ReadOptions(classes=("wing color: Red", "wing color: Pink")))
