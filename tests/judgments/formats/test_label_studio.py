import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats.platforms import read_label_studio
from sfumato.judgments.formats.reading import ReadOptions

PLAIN = ReadOptions()


def at(folder: Path, tasks: Any) -> Path:
    path = folder / "project-3-at-2024-11-01.json"
    path.write_text(json.dumps(tasks, indent=1), encoding="utf-8")
    return path


def choice(*labels: str, name: str = "sentiment") -> dict[str, Any]:
    return {
        "id": "Dx_aB91ISN",
        "type": "choices",
        "value": {"choices": list(labels)},
        "origin": "manual",
        "to_name": "text",
        "from_name": name,
    }


def annotation(*results: dict[str, Any], by: Any = 10, **more: Any) -> dict[str, Any]:
    return {
        "id": 1001,
        "completed_by": by,
        "result": list(results),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2021-03-09T22:16:08.728353Z",
        "lead_time": 4.288,
    } | more


def task(number: int, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "annotations": list(annotations),
        "data": {"text": "It was fine."},
        "predictions": [{"result": [choice("Neutral")]}],
        "drafts": [],
    } | more


def test_choices_become_choose_one_judgments(tmp_path: Path) -> None:
    tasks = [
        task(17, annotation(choice("Positive"), by=1), annotation(choice("Negative"), by=2)),
        task(18, annotation(choice("Positive"), by={"id": 1, "email": "someone@example.org"})),
    ]

    found = read_label_studio(at(tmp_path, tasks), PLAIN)

    assert found.question.kind == "choose-one"
    assert found.question.classes == ("Negative", "Positive")
    assert found.table.select("item", "annotator", "answer", "seconds", "at").row(0) == (
        "17",
        "1",
        '"Positive"',
        4.288,
        "2021-03-09T22:16:08.728353Z",
    )
    assert found.annotators == ["1", "2"]
    assert found.table["item"].to_list() == ["17", "17", "18"]
    assert found.provenance[-1].settings == {"question": "sentiment"}


def test_several_choices_make_it_a_likely_set(tmp_path: Path) -> None:
    tasks = [task(1, annotation(choice("b", "a", "b"))), task(2, annotation(choice("c")))]
    path = at(tmp_path, tasks)

    found = read_label_studio(path, PLAIN)
    single = read_label_studio(path, ReadOptions(question="choose-one", classes=("a", "b", "c")))

    assert found.question.kind == "likely-set"
    assert found.table["answer"].to_list() == ['["b", "a"]', '["c"]']
    assert single.table["answer"].to_list() == ['"c"']
    [row] = single.rejected
    assert row.reason == "several labels are marked where one was asked for"


def test_what_cannot_be_read_is_set_aside_with_its_line(tmp_path: Path) -> None:
    box = {"type": "rectanglelabels", "from_name": "tag", "value": {"x": 5.0}}
    tasks = [
        task(1, annotation(choice("a")), annotation(choice("b"))),
        task(2, annotation(choice("a"), was_cancelled=True), annotation(result=None, skipped=True)),
        task(3, annotation(box), annotation()),
        task(4, annotation(choice("a"), choice("b"))),
        task(5, annotation(choice("a"), lead_time="soon")),
        task(6, annotation({"type": "choices", "from_name": "sentiment", "value": {}})),
        {"annotations": [annotation(choice("a"))]},
        {"id": 8},
        "task",
    ]

    found = read_label_studio(at(tmp_path, tasks), PLAIN)

    text = at(tmp_path, tasks).read_text().splitlines()
    assert len(found) == 2
    assert [(row.field, row.reason) for row in found.rejected] == [
        ("was_cancelled", "skipped by the annotator"),
        ("result", "skipped by the annotator"),
        ("result", "no result of type 'choices'"),
        ("result", "no result of type 'choices'"),
        ("sentiment", "choices for several regions of the item"),
        ("lead_time", "'soon' is not a number of seconds"),
        ("sentiment", "the choices are not a list of texts"),
        ("id", "the task has no id"),
        ("annotations", "the task has no list of annotations"),
        ("", "not a task"),
    ]
    assert text[found.rejected[-1].line - 1].strip() == '"task"'
    assert text[found.rejected[-2].line].strip() == '"id": 8'


def test_the_id_in_the_data_serves_where_the_task_has_none(tmp_path: Path) -> None:
    without = {"data": {"id": "img_7"}, "completions": [annotation(choice("a"))]}

    found = read_label_studio(at(tmp_path, [without]), ReadOptions(classes=("a", "b")))

    assert found.table["item"].to_list() == ["img_7"]


def test_ground_truth_says_what_is_right_for_its_task(tmp_path: Path) -> None:
    tasks = [
        task(1, annotation(choice("a")), annotation(choice("b"), ground_truth=True)),
        task(2, annotation(choice("a"))),
    ]

    found = read_label_studio(at(tmp_path, tasks), PLAIN)

    assert found.table["gold"].to_list() == ["b", "b", None]


def test_several_questions_are_told_apart_by_their_classes(tmp_path: Path) -> None:
    both = annotation(choice("Positive"), choice("Sports", name="topic"))
    path = at(tmp_path, [task(1, both), task(2, annotation(choice("Politics", name="topic")))])

    found = read_label_studio(path, ReadOptions(classes=("Sports", "Politics")))

    assert found.table["answer"].to_list() == ['"Sports"', '"Politics"']
    assert [(remark.what, remark.count) for remark in found.remarks] == [
        ("question 'sentiment' left out", 1)
    ]
    with pytest.raises(DataError, match="answers to 2 questions: 'sentiment', 'topic'"):
        read_label_studio(path, PLAIN)
    with pytest.raises(DataError, match="answers to 2 questions"):
        read_label_studio(path, ReadOptions(classes=("Positive", "Sports", "Politics")))
    with pytest.raises(DataError, match="those given fit none"):
        read_label_studio(path, ReadOptions(classes=("Sport", "Politics")))


def test_a_class_not_in_the_list_names_the_nearest(tmp_path: Path) -> None:
    path = at(tmp_path, [task(1, annotation(choice("Positiv")))])

    with pytest.raises(DataError, match=r"json, line 2, field 'sentiment'.*mean 'Positive'"):
        read_label_studio(path, ReadOptions(classes=("Positive", "Negative")))


def test_other_questions_are_unknown_here(tmp_path: Path) -> None:
    path = at(tmp_path, [task(1, annotation(choice("a")))])

    with pytest.raises(UnknownName, match="'label-studio' is called 'ranking'"):
        read_label_studio(path, ReadOptions(question="ranking"))


def minimal(number: int, answer: Any, **more: Any) -> dict[str, Any]:
    return {
        "text": "It was fine.",
        "id": number,
        "sentiment": answer,
        "annotator": 1,
        "annotation_id": number,
        "created_at": "2021-03-09T22:16:08.728353Z",
        "updated_at": "2021-03-09T22:16:08.728378Z",
        "lead_time": 4.288,
    } | more


def test_json_min_is_read_with_the_classes_named(tmp_path: Path) -> None:
    records = [minimal(1, "Positive"), minimal(2, "Negative", annotator="a@example.org")]
    path = at(tmp_path, [*records, {"text": "no answer", "id": 3, "annotation_id": 9}])

    found = read_label_studio(path, ReadOptions(classes=("Positive", "Negative"), key=lambda: "k"))

    assert found.table["item"].to_list() == ["1", "2"]
    assert found.table["answer"].to_list() == ['"Positive"', '"Negative"']
    assert found.table["annotator"][1].startswith("person-")
    assert [(row.field, row.reason) for row in found.rejected] == [("sentiment", "no answer")]
    with pytest.raises(DataError, match=r"which of its fields \('text', 'sentiment'\)"):
        read_label_studio(path, PLAIN)


def test_several_choices_betray_the_field_in_json_min(tmp_path: Path) -> None:
    path = at(tmp_path, [minimal(1, {"choices": ["a", "b"]}), minimal(2, "b")])

    found = read_label_studio(path, PLAIN)

    assert found.table["answer"].to_list() == ['["a", "b"]', '["b"]']
