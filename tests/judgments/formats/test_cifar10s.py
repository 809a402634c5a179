"""CIFAR-10S: the published numbers on the real export, and each trap on a small one."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import read_cifar10s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, mark_duplicates, select
from sfumato.judgments.repairs import repair_table

COLUMNS = (
    "",
    "trial_type",
    "trial_index",
    "time_elapsed",
    "subject",
    "condition",
    "rt",
    "view_history",
    "response",
    "filename",
    "task",
    "label",
    "img_id",
)


@pytest.fixture(scope="module")
def export(data_folder: Path) -> Judgments:
    return read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", ReadOptions())


@pytest.fixture(scope="module")
def released(data_folder: Path) -> Judgments:
    return read_cifar10s(data_folder / "cifar10s" / "human_soft_labels_data.json", ReadOptions())


def remarks(judgments: Judgments) -> dict[str, int]:
    return {remark.what: remark.count for remark in judgments.remarks}


def how_often(judgments: Judgments, oddity: str) -> int:
    stated = judgments.statements
    return int(stated.oddities[oddity][stated.index].sum())


def test_export_holds_6723_answers_of_248_people(export: Judgments) -> None:
    assert len(export) == 6723
    assert len(export.annotators) == 248
    assert export.table["item"].n_unique() == 1000
    assert export.rejected == ()


def test_cleaned_it_gives_6200_first_views(export: Judgments) -> None:
    assert Counter(export.table["view"]) == {"first": 6225, "repeat": 498}
    assert mark_duplicates(export).sum() == 25
    assert len(select(export)) == 6200


def test_every_answer_equals_the_released_one_as_a_multiset_per_image(
    export: Judgments, data_folder: Path
) -> None:
    file = data_folder / "cifar10s" / "human_soft_labels_data.json"
    published = {
        image: Counter(map(_published, records))
        for image, records in json.loads(file.read_text()).items()
    }
    table = export.table.with_columns(
        said=export.table["repaired"].fill_null(export.table["answer"])
    )

    parsed = {
        image: Counter(_parsed(json.loads(text)) for text in rows["said"])
        for (image,), rows in table.group_by("item")
    }

    assert parsed == published


def test_released_json_states_what_the_export_states(
    export: Judgments, released: Judgments
) -> None:
    assert Counter(_stated(released)) == Counter(_stated(export))
    assert released.annotators == []
    assert remarks(released) == {"answers of unknown people, repeats not marked": 6723}


def test_traps_of_the_export_are_reported_one_by_one(export: Judgments) -> None:
    noticed = remarks(export)

    assert noticed["pages that are no answers"] == 8494 - 6723
    assert noticed["ids written as floats"] == 6723
    assert noticed["people with more than one session"] == 1
    assert noticed["repeats among first views"] == 498
    assert [count for what, count in noticed.items() if "repairs 'cifar10s'" in what] == [6, 1]
    assert how_often(export, "not-a-number") == 1  # p\\\ for no alternative
    assert how_often(export, "percent-without-class") == 1090
    assert how_often(export, "same-class-twice") == 153
    assert how_often(export, "chosen-and-ruled-out") == 40
    assert how_often(export, "everything-ruled-out") == 5


def test_typed_mass_is_over_100_in_10_percent_and_under_in_26_6(export: Judgments) -> None:
    stated = export.statements
    again = np.nan_to_num(stated.said_again)  # both numbers count if a class was chosen twice
    typed = (np.nan_to_num(stated.mass).sum(axis=1) + again)[stated.index]

    assert round(100 * float((typed > 1 + 1e-9).mean()), 1) == 10.0
    assert round(100 * float((typed < 1 - 1e-9).mean()), 1) == 26.6


def test_sessions_have_27_answers_and_a_debrief(export: Judgments) -> None:
    assert export.table["completed"].all()
    orders = export.table.group_by("order").len().sort("order")
    assert orders["order"].to_list() == list(range(1, 28))
    assert set(orders["len"]) == {249}


def test_median_answer_takes_32_seconds(export: Judgments) -> None:
    assert export.table["seconds"].median() == pytest.approx(31.96, abs=0.005)


def test_top_choices_hit_the_label_in_84_35_percent(export: Judgments) -> None:
    cleaned = select(export).table
    first = [json.loads(answer)["first"] for answer in cleaned["answer"]]
    right = np.array(first) == cleaned["gold"].to_numpy()

    assert round(100 * float(right.mean()), 2) == 84.35


def test_every_item_has_the_official_label_as_gold(export: Judgments, data_folder: Path) -> None:
    official = np.load(data_folder / "cifar10" / "test_labels.npy")
    names = np.array((data_folder / "cifar10" / "classes.txt").read_text().split())

    assert tuple(names) == export.question.classes
    assert (
        names[official[export.table["item"].cast(int)]] == export.table["gold"].to_numpy()
    ).all()


def test_log_of_the_repairs_can_be_had_again(export: Judgments) -> None:
    log = repair_table(export.table.drop("repaired"), "cifar10s").log

    assert len(log) == export.table["repaired"].count() == 7
    assert {entry.item for entry in log if "8p" in entry.given} == {"6334"}


def test_file_of_label_distributions_is_refused(data_folder: Path) -> None:
    path = data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json"

    with pytest.raises(DataError, match="label distributions, not what people said"):
        read_cifar10s(path, ReadOptions())


def test_session_in_the_file_twice_is_flagged(tmp_path: Path) -> None:
    session = [page(index, item="7.0") if index else consent() for index in range(2)]
    other = [consent("q"), page(1, subject="q", item="7.0")]

    judgments = read(tmp_path, [*session, *other, debrief(2), *session, debrief(2)])

    assert mark_duplicates(judgments).tolist() == [False, False, True]
    assert judgments.table["order"].to_list() == [1, 1, 1]
    assert judgments.table["completed"].to_list() == [True, False, True]
    assert remarks(judgments)["people with more than one session"] == 1
    assert remarks(judgments)["answers from sessions that did not reach the debrief"] == 1


def test_broken_off_session_is_incomplete_though_the_next_one_is_not(tmp_path: Path) -> None:
    judgments = read(tmp_path, [page(6, item="1"), page(6, item="2"), page(4), debrief(5)])

    assert judgments.table["completed"].to_list() == [False, False, True]


def test_interleaved_sessions_are_told_apart(tmp_path: Path) -> None:
    rows = [page(6, item="1"), page(6, subject="q", item="1"), page(7, item="2"), debrief(8)]

    judgments = read(tmp_path, rows)

    assert judgments.table["order"].to_list() == [1, 1, 2]
    assert judgments.table["completed"].to_list() == [True, False, True]


def test_repeats_are_no_first_views(tmp_path: Path) -> None:
    judgments = read(tmp_path, [page(6), page(7, task="rerun_spec_conf")])

    assert judgments.table["view"].to_list() == ["first", "repeat"]
    assert len(select(judgments)) == 1


def test_text_in_a_number_field_is_kept_and_reported(tmp_path: Path) -> None:
    judgments = read(tmp_path, [page(6, prob="p\\\\\\"), page(7, prob=" 80")])

    assert [json.loads(answer)["first_percent"] for answer in judgments.table["answer"]] == [
        "p\\\\\\",
        " 80",
    ]
    assert how_often(judgments, "not-a-number") == 1


def test_probability_for_no_alternative_is_ignored(tmp_path: Path) -> None:
    judgments = read(tmp_path, [page(6, prob="90", second="secondProbNo", prob2="10")])

    assert json.loads(judgments.table["answer"][0])["second_percent"] == "10"
    assert np.nansum(judgments.statements.mass) == pytest.approx(0.9)
    assert how_often(judgments, "percent-without-class") == 1


@pytest.mark.parametrize(
    ("fields", "oddity"),
    [
        ({"second": "secondProbDeer", "prob2": "20"}, "same-class-twice"),
        ({"improbClassSelectDeer": "1"}, "chosen-and-ruled-out"),
        ({"prob": "80", "second": "secondProbDog", "prob2": "30"}, "mass-over"),
        ({"prob": "80", "second": "secondProbDog", "prob2": "10"}, "mass-under"),
    ],
)
def test_contradictions_are_kept_and_reported(
    tmp_path: Path, fields: dict[str, str], oddity: str
) -> None:
    judgments = read(tmp_path, [page(6, **fields)])

    assert len(judgments) == 1
    assert how_often(judgments, oddity) == 1


def test_everything_ruled_out_is_kept_and_reported(tmp_path: Path) -> None:
    classes = read(tmp_path, [page(6)]).question.classes
    ruled_out = {f"improbClassSelect{name.capitalize()}": "1" for name in classes}

    judgments = read(tmp_path, [page(6, **ruled_out)])

    assert how_often(judgments, "everything-ruled-out") == 1


def test_ids_written_as_floats_become_numbers(tmp_path: Path) -> None:
    judgments = read(tmp_path, [page(6, item="1128.0"), page(7, item="1129")])

    assert judgments.table["item"].to_list() == ["1128", "1129"]
    assert remarks(judgments)["ids written as floats"] == 1


def test_line_breaks_inside_json_are_read(tmp_path: Path) -> None:
    broken = page(6)
    broken["response"] = broken["response"].replace('"100"', '"100\n"')

    judgments = read(tmp_path, [broken, page(7, item="8")])

    assert json.loads(judgments.table["answer"][0])["first_percent"] == "100\n"
    assert np.nanmax(judgments.statements.mass) == 1.0
    assert remarks(judgments)["line breaks inside JSON"] == 1


@pytest.mark.parametrize(
    ("column", "text", "field", "reason"),
    [
        ("response", '{"classSelect":"mostProbDe', "response", "not JSON"),
        ("response", "", "response", "not JSON"),
        ("response", "[1]", "response", "not an object"),
        ("response", "[" * 100_000, "response", "not JSON"),
        ("response", '{"prob":"80"}', "response", "classSelect2 is None"),
        ("response", '{"classSelect2":"secondProbNo"}', "response", "classSelect is None"),
        (
            "response",
            '{"classSelect":"mostProbDeer","classSelect2":"secondProbNo","prob":"\\ud800"}',
            "response",
            "not Unicode",
        ),
        ("img_id", "", "img_id", "empty"),
        ("img_id", "cat.png", "img_id", "not the index"),
        ("label", "Zebra", "label", "not a class"),
    ],
)
def test_malformed_answer_is_set_aside_with_its_line(
    tmp_path: Path, column: str, text: str, field: str, reason: str
) -> None:
    judgments = read(tmp_path, [consent(), page(6), {**page(7), column: text}])

    assert len(judgments) == 1
    [row] = judgments.rejected
    assert (row.file, row.line, row.field) == ("raw.csv", 4, field)
    assert reason in row.reason


def test_lines_count_breaks_inside_fields(tmp_path: Path) -> None:
    broken = page(6)
    broken["response"] = broken["response"].replace('"100"', '"10\n0\n"')

    judgments = read(tmp_path, [broken, {**page(7), "response": "{"}])

    assert [row.line for row in judgments.rejected] == [5]


def test_unknown_class_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"raw\.csv, line 2.*'zebra'"):
        read(tmp_path, [page(6, first="mostProbZebra")])


def test_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("trial_type,subject\n")

    with pytest.raises(DataError, match="no column 'trial_index'"):
        read_cifar10s(path, ReadOptions())


def test_platform_ids_are_replaced(tmp_path: Path) -> None:
    judgments = read(tmp_path, [page(6, subject="5f2a9c0b1d3e4f5a6b7c8d9e")])

    assert judgments.annotators[0].startswith("person-")
    assert remarks(judgments)["platform ids replaced by pseudonyms"] == 1


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ends in '\.xlsx'"):
        read_cifar10s(tmp_path / "raw.xlsx", ReadOptions())


RECORD = {
    "Most Probable Class": "Cat",
    "Most Probable Class Prob": 95.0,
    "Second Most Probable Class": "Dog",
    "Second Most Probable Class Prob": None,
    "Impossible Class(es)": ["Frog"],
}


def read_json(tmp_path: Path, stored: Any) -> Judgments:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(stored, indent=1))
    return read_cifar10s(path, ReadOptions())


def test_released_record_becomes_an_answer(tmp_path: Path) -> None:
    judgments = read_json(tmp_path, {"5": [RECORD]})

    assert judgments.table["item"].to_list() == ["5"]
    assert json.loads(judgments.table["answer"][0]) == {
        "first": "cat",
        "first_percent": 95.0,
        "second": "dog",
        "second_percent": "",
        "ruled_out": ["frog"],
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("Most Probable Class", None),
        ("Most Probable Class Prob", "95"),
        ("Second Most Probable Class", 3),
        ("Impossible Class(es)", None),
    ],
)
def test_released_record_without_use_is_set_aside(
    tmp_path: Path, field: str, value: object
) -> None:
    judgments = read_json(tmp_path, {"4": [RECORD], "5": [{**RECORD, field: value}]})

    assert judgments.table["item"].to_list() == ["4"]
    [row] = judgments.rejected
    assert row.field == field
    assert row.line > 10


def test_json_of_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a JSON object"):
        read_json(tmp_path, [RECORD])
    with pytest.raises(DataError, match="image '5' has no list"):
        read_json(tmp_path, {"5": RECORD})


def page(
    index: int,
    *,
    subject: str = "p",
    item: str = "7.0",
    task: str = "spec_conf",
    first: str = "mostProbDeer",
    prob: str = "100",
    second: str = "secondProbNo",
    prob2: str = "",
    **ruled_out: str,
) -> dict[str, str]:
    form = {"classSelect": first, "prob": prob, "classSelect2": second, "prob2": prob2}
    return {
        "trial_type": "survey-html-form",
        "trial_index": str(index),
        "subject": subject,
        "rt": "32000.5",
        "response": json.dumps({**form, **ruled_out}),
        "task": task,
        "label": "Deer",
        "img_id": item,
    }


def consent(subject: str = "p") -> dict[str, str]:
    return {"trial_type": "external-html", "trial_index": "0", "subject": subject, "rt": "1"}


def debrief(index: int) -> dict[str, str]:
    comment = json.dumps({"Q0": "fun,\nthanks"})
    return {
        "trial_type": "survey-text",
        "trial_index": str(index),
        "subject": "p",
        "response": comment,
    }


def read(tmp_path: Path, rows: list[dict[str, str]]) -> Judgments:
    path = tmp_path / "raw.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return read_cifar10s(path, ReadOptions())


def _published(record: dict[str, Any]) -> tuple[Any, ...]:
    return (
        record["Most Probable Class"].lower(),
        record["Most Probable Class Prob"],
        record["Second Most Probable Class"].lower(),
        record["Second Most Probable Class Prob"],
        frozenset(name.lower() for name in record["Impossible Class(es)"]),
    )


def _parsed(answer: dict[str, Any]) -> tuple[Any, ...]:
    """What the release kept of an answer: the probability of no alternative is dropped."""
    second = answer["second"]
    percent = answer["second_percent"] if second else ""
    return (
        answer["first"],
        float(answer["first_percent"]),
        second or "no",
        float(percent) if percent else None,
        frozenset(answer["ruled_out"]),
    )


def _stated(judgments: Judgments) -> list[tuple[str, bytes, bytes, bytes]]:
    stated = judgments.statements
    rows = zip(judgments.table["item"], stated.index, strict=True)
    return [
        (
            item,
            np.nan_to_num(stated.mass[row], nan=-1).tobytes(),
            stated.ruled_out[row].tobytes(),
            stated.rank[row].tobytes(),
        )
        for item, row in rows
    ]
