import json
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import DataError
from sfumato.judgments.formats.platforms import read_potato
from sfumato.judgments.formats.reading import ReadOptions

PLAIN = ReadOptions()


def instance(number: str, labels: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "displayed_text": "Is the Local Group of Galaxy bigger than the Sesame seed?",
        "label_annotations": labels,
        "span_annotations": {},
        "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 5s "},
    } | more


def instances(folder: Path, records: list[Any], name: str = "annotated_instances.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def state(folder: Path, labels: Any, **more: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "user_state.json"
    stored = {"user_id": folder.name, "instance_id_to_label_to_value": labels} | more
    path.write_text(json.dumps(stored, indent=2), encoding="utf-8")
    return path


def test_instances_of_version_1_are_read(tmp_path: Path) -> None:
    records = [
        instance("60", {"affordance": {"Yes": "true"}}),
        instance("61", {"affordance": {"No": "2"}}),
        instance("62", {"affordance": {"No": "No"}}, behavioral_data={}),
    ]
    path = instances(tmp_path / "alice", records)
    (path.parent / "annotation_order.txt").write_text("60\n61\n62\n")

    found = read_potato(path, PLAIN)

    assert found.question.kind == "choose-one"
    assert found.table.select("item", "annotator", "answer", "seconds").rows() == [
        ("60", "alice", '"Yes"', 65.0),
        ("61", "alice", '"No"', 65.0),
        ("62", "alice", '"No"', None),
    ]


def test_everybodys_file_of_version_1_does_not_say_who(tmp_path: Path) -> None:
    records = [instance("60", {"q": {"Yes": "true"}}), instance("60", {"q": {"No": "true"}})]

    found = read_potato(instances(tmp_path / "annotation_output", records), PLAIN)

    assert found.table["annotator"].to_list() == [None, None]
    assert [(remark.what, remark.count) for remark in found.remarks] == [
        ("no annotator recorded", 2)
    ]


def test_states_of_version_2_are_read_with_order_and_time(tmp_path: Path) -> None:
    labels = {
        "item_1": [[{"schema": "sentiment", "name": "positive"}, True]],
        "item_2": {"sentiment": {"negative": "true"}},
    }
    path = state(
        tmp_path / "someone",
        labels,
        user_id="u7",
        instance_id_ordering=["item_2", "item_9", "item_1"],
        instance_id_to_behavioral_data={
            "item_1": {"session_start": 1706500000.0, "total_time_ms": 45000},
            "item_2": {"total_time_ms": 0},
        },
    )

    found = read_potato(path, PLAIN)

    assert found.table.select("item", "annotator", "answer", "seconds", "order", "at").rows() == [
        ("item_1", "u7", '"positive"', 45.0, 3, "2024-01-29T03:46:40+00:00"),
        ("item_2", "u7", '"negative"', None, 1, None),
    ]


def test_a_folder_holds_everybody_and_names_nobody(tmp_path: Path) -> None:
    output = tmp_path / "annotation_output"
    state(output / "5f2a9c0b1d3e4f5a6b7c8d9e", {"i": {"q": {"a": "true"}}, "j": [[1, 2]]})
    state(output / "bob", {"i": {"q": {"b": "true"}}})

    found = read_potato(output, ReadOptions(key=lambda: "study 1"))

    assert found.annotators == ["bob", "person-9d139fc064"]
    assert [(remark.what, remark.count) for remark in found.remarks] == [
        ("platform ids replaced by pseudonyms", 1)
    ]
    [row] = found.rejected
    assert (row.file, row.line, row.reason) == (
        "person-9d139fc064/user_state.json",
        9,
        "not labels by schema",
    )
    assert set(found.provenance[-1].inputs) == {
        "bob/user_state.json",
        "person-9d139fc064/user_state.json",
    }


def test_a_folder_of_version_1_is_read_too(tmp_path: Path) -> None:
    for person, label in (("ann", "a"), ("bob", "b")):
        instances(tmp_path / person, [instance("1", {"q": {label: "true"}})])

    assert read_potato(tmp_path, PLAIN).annotators == ["ann", "bob"]


def test_check_boxes_are_likely_sets(tmp_path: Path) -> None:
    records = [
        instance("1", {"q": {"joy": "true", "fear": "true", "free_response": "mixed feelings"}}),
        instance("2", {"q": {"joy": True, "fear": False, "anger": "false"}}),
    ]

    found = read_potato(instances(tmp_path, records), PLAIN)

    assert found.question.kind == "likely-set"
    assert found.table["answer"].to_list() == ['["joy", "fear"]', '["joy"]']


def test_zero_is_the_tenth_label_unless_it_stands_beside_one(tmp_path: Path) -> None:
    tenth = instances(
        tmp_path, [instance("1", {"q": {"tenth": "0"}}), instance("2", {"q": {"first": "1"}})]
    )
    assert read_potato(tenth, PLAIN).table["answer"].to_list() == ['"tenth"', '"first"']

    beside = instances(tmp_path, [instance("1", {"q": {"yes": "1", "no": "0"}})])
    options = ReadOptions(classes=("yes", "no"))
    assert read_potato(beside, options).table["answer"].to_list() == ['"yes"']


def test_texts_and_lone_labels_are_left_out_and_counted(tmp_path: Path) -> None:
    records = [
        instance("1", {"q": {"a": "true"}, "why": {"text_box": "because"}, "seen": {"ok": "true"}}),
        instance("2", {"q": {"b": "true"}, "seen": {"ok": "true"}}),
        instance("consent.html", {"I agree": {"Yes": "true"}}),
    ]

    found = read_potato(instances(tmp_path, records), PLAIN)

    assert found.table["answer"].to_list() == ['"a"', '"b"']
    assert {remark.what: remark.count for remark in found.remarks} == {
        "pages of the survey left out": 1,
        "schema 'why' left out: not of the kind asked for": 1,
        "schema 'seen' left out: only one label in use": 2,
        "no annotator recorded": 2,
    }


def test_soft_labels_are_distributions(tmp_path: Path) -> None:
    records = [
        instance("1", {"soft": {"cat": "70", "dog": 30}, "q": {"cat": "true"}}),
        instance("2", {"soft": {"cat": "100", "dog": "0"}}),
    ]

    found = read_potato(instances(tmp_path, records), ReadOptions(question="distribution"))

    assert found.question.classes == ("cat", "dog")
    assert found.statements.mass.tolist() == [[1.0, 0.0], [0.7, 0.3]]


def test_exported_annotations_are_read(tmp_path: Path) -> None:
    records = [
        {"instance_id": "1", "user_id": "ann", "labels": {"q": {"a": "a"}}, "spans": {}},
        {"instance_id": "1", "user_id": "bob", "labels": {"q": {"b": "b"}}, "spans": {}},
    ]

    found = read_potato(instances(tmp_path, records, "annotations.jsonl"), PLAIN)

    assert found.annotators == ["ann", "bob"]


def test_lines_that_cannot_be_read_are_set_aside(tmp_path: Path) -> None:
    records = [
        instance("1", {"q": {"a": "true"}}),
        "{oops",
        "[1]",
        {"label_annotations": {"q": {"a": "true"}}},
        instance("2", {}),
        instance("3", {"q": "a"}),
        instance("4", {"q": {"b": "true"}}),
        instance("5", {"q": {"a": "false"}}),
    ]

    found = read_potato(instances(tmp_path, records), PLAIN)

    assert found.table["item"].to_list() == ["1", "4"]
    assert [(row.line, row.field, row.reason) for row in found.rejected] == [
        (2, "", "not JSON"),
        (3, "id", "no id"),
        (4, "id", "no id"),
        (5, "label_annotations", "no label"),
        (6, "label_annotations", "not labels by schema"),
        (8, "q", "no answer"),
    ]


def test_several_schemas_are_told_apart_by_their_classes(tmp_path: Path) -> None:
    records = [
        instance("1", {"q": {"a": "true"}, "r": {"c": "true"}}),
        instance("2", {"q": {"b": "true"}, "r": {"d": "true"}}),
    ]
    path = instances(tmp_path, records)

    assert read_potato(path, ReadOptions(classes=("c", "d"))).question.classes == ("c", "d")
    with pytest.raises(DataError, match="answers to 2 questions: 'q', 'r'"):
        read_potato(path, PLAIN)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("user_state.json", "{}", "has no object 'instance_id_to_label_to_value'"),
        ("user_state.json", "[]", "expected a JSON object"),
        ("annotated_instances.csv", "user,instance_id\n", "ends in '.csv'"),
    ],
)
def test_other_files_are_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(DataError, match=message):
        read_potato(path, PLAIN)


def test_a_folder_without_annotators_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no annotator's folder with user_state\.json"):
        read_potato(tmp_path, PLAIN)
