"""Turn a Label Studio export, JSON or JSON-MIN, into judgments.

JSON is a list of tasks, each with its ``annotations``; an annotation is one person's and
holds a ``result`` for every control on the page, of which those of type ``choices`` are read.
JSON-MIN has one record an annotation, with the answer under the control's name.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.judgments.formats.json_text import elements, plain_text, read_json_text
from sfumato.judgments.formats.marks import Mark, iso_time, judgments_of_marks
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, Rejected
from sfumato.provenance import fingerprint_file

__all__ = ["read_label_studio"]

_ABOUT = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement")
"""Fields of a JSON-MIN record that describe the annotation."""


def read_label_studio(path: Path, options: ReadOptions) -> Judgments:
    """Read the choices of a Label Studio export; an item is a task's id.

    Several choices in one annotation make the question a set of likely labels. A skipped
    annotation (``was_cancelled``) is set aside. An annotation marked as ground truth says
    which class is right for its task. In JSON-MIN only the user's classes can tell a single
    choice from any other text.
    """
    text = read_json_text(path)
    tasks = list(elements(text, file=path.name))
    controls = _controls(path, [task for _, task in tasks], options.classes)
    found: list[Mark | Rejected] = []
    for line, task in tasks:
        if not isinstance(task, dict):
            found.append(_aside(path, line, "", "not a task", task))
        elif _is_minimal(task):
            found.extend(_record(path, line, task, controls))
        else:
            found.extend(_task(path, line, task))
    options.progress(len(text), len(text))
    return judgments_of_marks(
        path,
        [mark for mark in found if isinstance(mark, Mark)],
        kinds=("choose-one", "likely-set"),
        inputs={path.name: fingerprint_file(path)},
        rejected=[row for row in found if isinstance(row, Rejected)],
        remarks=(),
        options=options,
        format_name="label-studio",
    )


def _task(path: Path, line: int, task: dict[str, Any]) -> Iterator[Mark | Rejected]:
    item = plain_text(task.get("id"))
    if item is None and isinstance(task.get("data"), dict):
        item = plain_text(task["data"].get("id"))
    annotations = task.get("annotations", task.get("completions"))  # the name until 2021
    if item is None:
        yield _aside(path, line, "id", "the task has no id", task)
        return
    if not isinstance(annotations, list):
        yield _aside(path, line, "annotations", "the task has no list of annotations", task)
        return
    found: list[Mark | Rejected] = []
    right: dict[str, str] = {}
    for annotation in annotations:
        for mark in _annotation(path, line, item, annotation):
            found.append(mark)
            if isinstance(mark, Mark) and annotation.get("ground_truth") is True:
                right |= {mark.asked: mark.choices[0]} if len(mark.choices) == 1 else {}
    for mark in found:
        yield replace(mark, gold=right.get(mark.asked)) if isinstance(mark, Mark) else mark


def _annotation(path: Path, line: int, item: str, annotation: Any) -> Iterator[Mark | Rejected]:
    if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
        skipped = isinstance(annotation, dict) and _skipped(annotation)
        reason = "skipped by the annotator" if skipped else "the annotation has no list of results"
        yield _aside(path, line, "result", reason, annotation)
        return
    if _skipped(annotation):
        yield _aside(path, line, "was_cancelled", "skipped by the annotator", annotation)
        return
    answers: dict[str, list[Any]] = {}
    for result in annotation["result"]:
        if isinstance(result, dict) and result.get("type") == "choices":
            answers.setdefault(str(result.get("from_name")), []).append(result.get("value"))
    if not answers:
        yield _aside(path, line, "result", "no result of type 'choices'", annotation)
    for asked, values in answers.items():
        value = values[0] if len(values) == 1 else values
        yield _mark(path, line, annotation, item=item, asked=asked, value=value)


def _record(
    path: Path, line: int, record: dict[str, Any], controls: Sequence[str]
) -> Iterator[Mark | Rejected]:
    item = plain_text(record.get("id"))
    given = [name for name in controls if record.get(name) not in (None, [])]
    if item is None:
        yield _aside(path, line, "id", "the task has no id", record)
    elif not given:
        yield _aside(path, line, controls[0], "no answer", record)
    else:
        for asked in given:
            yield _mark(path, line, record, item=item, asked=asked, value=record[asked])


def _mark(
    path: Path, line: int, annotation: dict[str, Any], *, item: str, asked: str, value: Any
) -> Mark | Rejected:
    if isinstance(value, list):
        return _aside(path, line, asked, "choices for several regions of the item", annotation)
    choices = value.get("choices") if isinstance(value, dict) else [value]
    labels = [plain_text(choice) for choice in choices] if isinstance(choices, list) else []
    if not labels or None in labels:
        return _aside(path, line, asked, "the choices are not a list of texts", annotation)
    seconds = annotation.get("lead_time")
    if seconds is not None and not _is_duration(seconds):
        return _aside(
            path, line, "lead_time", f"{seconds!r} is not a number of seconds", annotation
        )
    return Mark(
        asked=asked,
        item=item,
        annotator=_person(annotation.get("completed_by", annotation.get("annotator"))),
        choices=tuple(dict.fromkeys(label for label in labels if label is not None)),
        file=path.name,
        line=line,
        seconds=seconds,
        at=iso_time(annotation.get("created_at")),
    )


def _controls(path: Path, tasks: Sequence[Any], classes: Sequence[str] | None) -> list[str]:
    """Under which names the records of a JSON-MIN export hold answers."""
    records = [task for task in tasks if _is_minimal(task)]
    found: dict[str, list[Any]] = {}
    for record in records:
        for name, value in record.items():
            if name not in _ABOUT and value not in (None, []):
                found.setdefault(name, []).append(value)
    controls = [
        name
        for name, values in found.items()
        if any(isinstance(value, dict) and "choices" in value for value in values)
        or all(isinstance(value, str) and value in (classes or ()) for value in values)
    ]
    if records and not controls:
        raise DataError(
            f"{path.name} is a JSON-MIN export, which does not say which of its fields "
            f"({', '.join(map(repr, found))}) is the answer. Name the classes (--classes), or "
            "export as JSON."
        )
    return controls


def _is_minimal(task: Any) -> bool:
    return (
        isinstance(task, dict)
        and "annotations" not in task
        and "completions" not in task
        and "annotation_id" in task
    )


def _skipped(annotation: dict[str, Any]) -> bool:
    return bool(annotation.get("was_cancelled") or annotation.get("skipped"))


def _person(given: Any) -> str | None:
    """A user's number; the export may hold it with name and address, which are not wanted."""
    if isinstance(given, dict):
        return plain_text(given.get("id")) or plain_text(given.get("email"))
    return plain_text(given)


def _is_duration(given: Any) -> bool:
    return (
        isinstance(given, int | float)
        and not isinstance(given, bool)
        and math.isfinite(given)
        and given >= 0
    )


def _aside(path: Path, line: int, field: str, reason: str, found: Any) -> Rejected:
    """What could not be read: only its plain fields, as others may hold a person's account."""
    if isinstance(found, dict):
        found = {name: value for name, value in found.items() if not isinstance(value, dict | list)}
    return Rejected(path.name, line, field, reason, json.dumps(found, ensure_ascii=False)[:200])
