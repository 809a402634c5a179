"""Turn what annotation tools export into judgments: Label Studio, Potato, peerannot, jsPsych."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats.reading import (
    PLATFORM_ID,
    PSEUDONYMS,
    Flaw,
    Key,
    ReadOptions,
    UnclearSource,
    choices_of,
    classes_among,
    clean_id,
    elements,
    is_utf8,
    judgments_of_choices,
    members,
    open_text,
    parse_column,
    people,
    plain_text,
    pseudonym,
    pseudonymous,
    read_csv_rows,
    read_json_text,
    refuse_second_labels,
    sound_rows,
    whole_file,
)
from sfumato.judgments.formats.records import check_crossing
from sfumato.judgments.judgments import Judgments, RejectedRow, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.names import find
from sfumato.provenance import Step, fingerprint_file

# Turn what was marked in an annotation tool into judgments about one of its questions.


@dataclass(frozen=True)
class Mark:
    """One person's answer about one item to one of the questions on the page."""

    asked: str
    """The tool's name for the question."""
    item: str
    annotator: str | None
    choices: tuple[str, ...]
    """The labels that were marked."""
    file: str
    line: int
    amounts: Mapping[str, Any] | None = None
    """Label to number, where numbers were given instead."""
    seconds: float | None = None
    order: int | None = None
    at: str | None = None
    gold: str | None = None


def judgments_of_marks(
    path: Path,
    marks: Sequence[Mark],
    *,
    kinds: Sequence[str],
    inputs: Mapping[str, str],
    rejected: Sequence[RejectedRow],
    remarks: Sequence[Remark],
    options: ReadOptions,
    format_name: str,
) -> Judgments:
    """Choose-one judgments, or likely sets if somebody marked several labels.

    The option ``question`` decides otherwise; ``classes`` picks one of several questions.
    """
    marks, left_out = _about_one(path, marks, options.classes)
    several = any(len(mark.choices) > 1 for mark in marks)
    kind = options.question or ("likely-set" if several else "choose-one")
    find(dict.fromkeys(kinds), kind, what=f"question in the format {format_name!r}")
    aside = [_misfit(mark, kind) for mark in marks if not _fits(mark, kind)]
    marks = [mark for mark in marks if _fits(mark, kind)]
    labels = pl.Series([name for mark in marks for name in _labels(mark, kind)], dtype=pl.String)
    classes = classes_among(labels, options.classes, file=path.name)
    _refuse_unknown(marks, kind, classes)
    table, noted = _table(marks, kind, options.key)
    settings = {"question": marks[0].asked if marks else ""}
    return judgments_from(
        ask(kind, classes),
        table,
        file=path.name,
        lines=[mark.line for mark in marks],
        rejected=[*rejected, *aside],
        remarks=[*remarks, *left_out, *noted],
        provenance=(Step(f"read {format_name}", settings, inputs),),
    )


def iso_time(given: Any) -> str | None:
    """A time as ISO 8601: texts stay, numbers are seconds since 1970.

    >>> iso_time("2021-03-09T22:16:08Z"), iso_time(1706500000.0)
    ('2021-03-09T22:16:08Z', '2024-01-29T03:46:40+00:00')
    """
    if isinstance(given, str):
        return given.strip() or None
    if isinstance(given, int | float) and not isinstance(given, bool):
        try:
            return datetime.fromtimestamp(given, UTC).isoformat()
        except (ValueError, OverflowError, OSError):
            return None
    return None


def _about_one(
    path: Path, marks: Sequence[Mark], classes: Sequence[str] | None
) -> tuple[list[Mark], list[Remark]]:
    """The answers to one question; the user picks among several by naming its classes."""
    used: dict[str, set[str]] = {}
    for mark in marks:
        used.setdefault(mark.asked, set()).update(mark.amounts or mark.choices)
    fitting = [name for name in used if classes is not None and used[name] <= set(classes)]
    if len(used) <= 1:
        return list(marks), []
    if len(fitting) != 1:
        raise UnclearSource(
            f"{path.name} holds answers to {len(used)} questions: "
            f"{', '.join(map(repr, sorted(used)))}. Name the classes of one of them"
            + ("; those given fit none." if classes is not None and not fitting else "."),
            "classes",
        )
    remarks = [
        Remark(f"question {name!r} left out", sum(mark.asked == name for mark in marks))
        for name in used
        if name != fitting[0]
    ]
    return [mark for mark in marks if mark.asked == fitting[0]], remarks


def _fits(mark: Mark, kind: str) -> bool:
    match kind:
        case "choose-one":
            return len(mark.choices) == 1
        case "likely-set":
            return bool(mark.choices)
        case _:
            return bool(mark.amounts)


def _misfit(mark: Mark, kind: str) -> RejectedRow:
    several = kind == "choose-one" and len(mark.choices) > 1
    reason = "several labels are marked where one was asked for" if several else "no answer"
    text = f"item {mark.item!r}: {', '.join(mark.choices)}"
    return RejectedRow(mark.file, mark.line, mark.asked, reason, text[:200])


def _labels(mark: Mark, kind: str) -> Sequence[str]:
    return list(mark.amounts or ()) if kind == "distribution" else mark.choices


def _refuse_unknown(marks: Sequence[Mark], kind: str, classes: Sequence[str]) -> None:
    known = dict.fromkeys(classes)
    for mark in marks:
        try:
            for name in _labels(mark, kind):
                find(known, name, what="class")
        except UnknownName as error:
            raise DataError(
                f"{mark.file}, line {mark.line}, field {mark.asked!r}: {error} Add it to the "
                "classes, or correct the answer."
            ) from None


def _table(marks: Sequence[Mark], kind: str, key: Key) -> tuple[pl.DataFrame, list[Remark]]:
    people, replaced = pseudonymous(
        pl.Series([mark.annotator for mark in marks], dtype=pl.String), key
    )
    table = pl.DataFrame(
        {
            "item": pl.Series([mark.item for mark in marks], dtype=pl.String),
            "annotator": people,
            "answer": pl.Series([_answer(mark, kind) for mark in marks], dtype=pl.String),
            "seconds": pl.Series([mark.seconds for mark in marks], dtype=pl.Float64),
            "order": pl.Series([mark.order for mark in marks], dtype=pl.Int64),
            "at": pl.Series([mark.at for mark in marks], dtype=pl.String),
            "gold": pl.Series([mark.gold for mark in marks], dtype=pl.String),
        }
    )
    nameless = people.null_count()
    remarks = [Remark(PSEUDONYMS, replaced)] if replaced else []
    if nameless:
        remarks.append(Remark("no annotator recorded", nameless))
    return table, remarks


def _answer(mark: Mark, kind: str) -> str:
    given: Any
    match kind:
        case "choose-one":
            given = mark.choices[0]
        case "likely-set":
            given = list(mark.choices)
        case _:
            given = dict(mark.amounts or {})
    return json.dumps(given, ensure_ascii=False)


# Turn a Label Studio export, JSON or JSON-MIN, into judgments.
#
# JSON is a list of tasks, each with its ``annotations``; an annotation is one person's and
# holds a ``result`` for every control on the page, of which those of type ``choices`` are read.
# JSON-MIN has one record an annotation, with the answer under the control's name.

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
    found: list[Mark | RejectedRow] = []
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
        rejected=[row for row in found if isinstance(row, RejectedRow)],
        remarks=(),
        options=options,
        format_name="label-studio",
    )


def _task(path: Path, line: int, task: dict[str, Any]) -> Iterator[Mark | RejectedRow]:
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
    found: list[Mark | RejectedRow] = []
    right: dict[str, str] = {}
    for annotation in annotations:
        for mark in _annotation(path, line, item, annotation):
            found.append(mark)
            if isinstance(mark, Mark) and annotation.get("ground_truth") is True:
                right |= {mark.asked: mark.choices[0]} if len(mark.choices) == 1 else {}
    for mark in found:
        yield replace(mark, gold=right.get(mark.asked)) if isinstance(mark, Mark) else mark


def _annotation(path: Path, line: int, item: str, annotation: Any) -> Iterator[Mark | RejectedRow]:
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
) -> Iterator[Mark | RejectedRow]:
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
) -> Mark | RejectedRow:
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
        raise UnclearSource(
            f"{path.name} is a JSON-MIN export, which does not say which of its fields "
            f"({', '.join(map(repr, found))}) is the answer. Name the classes, or export "
            "as JSON.",
            "classes",
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


def _aside(path: Path, line: int, field: str, reason: str, found: Any) -> RejectedRow:
    """What could not be read: only its plain fields, as others may hold a person's account."""
    if isinstance(found, dict):
        found = {name: value for name, value in found.items() if not isinstance(value, dict | list)}
    return RejectedRow(path.name, line, field, reason, json.dumps(found, ensure_ascii=False)[:200])


# Turn what Potato stores, ``annotated_instances.jsonl`` or ``user_state.json``, into judgments.
#
# Each annotator has a folder with one of them (the second since version 2), and the folder
# above may be read as a whole. The answers about an item are kept by schema, as ``{label:
# value}`` or as pairs ``[{"schema": …, "name": label}, value]``; the value of a label that was
# marked is ``true``, the label itself or the key that was pressed.

STATE = "user_state.json"
INSTANCES = "annotated_instances.jsonl"
OF_ONE_PERSON = (STATE, "annotation_order.txt", "assigned_user_data.json")
"""Files that stand only in an annotator's own folder: its name is then the annotator's."""


@dataclass(frozen=True)
class _Source:
    """A file, the name it goes by in errors, and whose folder it is in."""

    path: Path
    name: str
    person: str | None


@dataclass(frozen=True)
class _Record:
    """What one person left about one item."""

    item: str
    annotator: str | None
    answers: Any
    line: int
    behaviour: Any = None
    order: int | None = None


@dataclass
class _Found:
    """What has been read so far."""

    marks: list[Mark] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def read_potato(path: Path, options: ReadOptions) -> Judgments:
    """Read one annotator's file, all annotators' file, or the folder of all annotators.

    Radio buttons give choose-one judgments, check boxes sets of likely labels; with the
    question ``distribution``, schemas with a number for every label are read.
    """
    found = _Found()
    sources = _sources(path, options.key)
    for done, source in enumerate(sources, start=1):
        read = _instances if source.path.suffix.lower() == ".jsonl" else _state
        for record in read(source, found.rejected):
            _keep(record, source, found, options)
        options.progress(done, len(sources))
    marks = _with_alternatives(found, options)
    return judgments_of_marks(
        path,
        marks,
        kinds=("choose-one", "likely-set", "distribution"),
        inputs={source.name: fingerprint_file(source.path) for source in sources},
        rejected=found.rejected,
        remarks=[Remark(what, count) for what, count in found.left_out.items()],
        options=options,
        format_name="potato",
    )


def _sources(path: Path, key: Key) -> list[_Source]:
    if not path.is_dir():
        if path.suffix.lower() not in (".json", ".jsonl"):
            raise DataError(
                f"{path.name} ends in {path.suffix!r}; Potato stores {INSTANCES} or {STATE}."
            )
        own = any((path.parent / name).is_file() for name in OF_ONE_PERSON)
        return [_Source(path, path.name, path.parent.name if own else None)]
    for name in (STATE, INSTANCES):
        files = sorted(path.glob(f"*/{name}")) or sorted(path.glob(name))
        if files:
            return [
                _Source(file, f"{_shown(file.parent.name, key)}/{name}", file.parent.name)
                for file in files
            ]
    raise DataError(
        f"{path} holds no annotator's folder with {STATE} or {INSTANCES}. Name the folder that "
        "Potato wrote its output to."
    )


def _shown(person: str, key: Key) -> str:
    return pseudonym(person, key()) if PLATFORM_ID.fullmatch(person) else person


def _instances(source: _Source, rejected: list[RejectedRow]) -> Iterator[_Record]:
    with open_text(source.path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                stored = json.loads(line)
            except (ValueError, RecursionError):
                rejected.append(RejectedRow(source.name, number, "", "not JSON", line[:200]))
                continue
            item = None
            if isinstance(stored, dict):
                item = plain_text(stored.get("id", stored.get("instance_id")))
            if item is None:
                rejected.append(RejectedRow(source.name, number, "id", "no id", line[:200]))
                continue
            yield _Record(
                item,
                plain_text(stored.get("user_id", stored.get("user"))) or source.person,
                stored.get("label_annotations", stored.get("labels")),
                number,
                stored.get("behavioral_data"),
            )


def _state(source: _Source, rejected: list[RejectedRow]) -> Iterator[_Record]:
    text = read_json_text(source.path)
    stored = {member.name: member for member in members(text, file=source.name)}
    labels = stored.get("instance_id_to_label_to_value")
    if labels is None or not isinstance(labels.value, dict):
        raise DataError(
            f"{source.name} has no object 'instance_id_to_label_to_value'; is it Potato's {STATE}?"
        )
    person = plain_text(stored["user_id"].value) if "user_id" in stored else None
    behaviour = _value(stored, "instance_id_to_behavioral_data", dict)
    order = _value(stored, "instance_id_ordering", list)
    places = {str(item): place for place, item in enumerate(order, start=1)}
    for line, item, answers, _ in members(text, file=source.name, start=labels.start):
        if not item.strip():
            rejected.append(RejectedRow(source.name, line, "id", "no id", ""))
            continue
        yield _Record(
            item.strip(),
            person or source.person,
            answers,
            line,
            behaviour.get(item),
            places.get(item),
        )


def _value(stored: dict[str, Any], name: str, kind: type) -> Any:
    value = stored[name].value if name in stored else None
    return value if isinstance(value, kind) else kind()


def _keep(record: _Record, source: _Source, found: _Found, options: ReadOptions) -> None:
    if record.item.endswith(".html"):
        found.left_out["pages of the survey left out"] += 1
        return
    schemas = _by_schema(record.answers)
    if not schemas:
        reason = "no label" if schemas is not None else "not labels by schema"
        text = json.dumps(record.answers, ensure_ascii=False)[:200]
        found.rejected.append(
            RejectedRow(source.name, record.line, "label_annotations", reason, text)
        )
    for schema, labels in (schemas or {}).items():
        amounts = _amounts(labels) if options.question == "distribution" else None
        choices = _marked(labels) if options.question != "distribution" else ()
        if choices is None or (options.question == "distribution" and amounts is None):
            found.left_out[f"schema {schema!r} left out: not of the kind asked for"] += 1
            continue
        found.marks.append(
            Mark(
                asked=schema,
                item=record.item,
                annotator=record.annotator,
                choices=choices,
                file=source.name,
                line=record.line,
                amounts=amounts,
                seconds=_seconds(record.behaviour),
                order=record.order,
                at=_began(record.behaviour),
            )
        )


def _by_schema(answers: Any) -> dict[str, dict[str, Any]] | None:
    """Schema to label to value; None if the answers have neither of the two forms."""
    found: dict[str, dict[str, Any]] = {}
    if isinstance(answers, dict):
        if not all(isinstance(labels, dict) for labels in answers.values()):
            return None
        found = {schema: dict(labels) for schema, labels in answers.items()}
    elif isinstance(answers, list):
        for pair in answers:
            match pair:
                case [{"schema": str(schema), "name": str(name)}, value]:
                    found.setdefault(schema, {})[name] = value
                case _:
                    return None
    else:
        return None
    for labels in found.values():
        labels.pop("free_response", None)  # a text box beside the labels
    return {schema: labels for schema, labels in found.items() if labels}


def _marked(labels: dict[str, Any]) -> tuple[str, ...] | None:
    """The labels that were marked; None if the values are texts or numbers rather than marks."""
    state = {name: _is_on(name, value) for name, value in labels.items()}
    if None in state.values() or any(plain_text(name) is None for name in labels):
        return None
    on = [name for name, marked in state.items() if marked]
    ones = [name for name in on if str(labels[name]) == "1"]
    zeros = [name for name in on if str(labels[name]) == "0"]
    if ones and len(ones) + len(zeros) == len(on):
        on = ones  # 0 is the key of a tenth label, but beside 1 it means "not marked"
    return tuple(name.strip() for name in on)


def _is_on(label: str, value: Any) -> bool | None:
    text = "" if value is None else str(value).strip()
    if text.lower() in ("", "false"):
        return False
    if text == label.strip() or text.lower() in ("true", "on") or len(text) == 1:
        return True
    return None


def _amounts(labels: dict[str, Any]) -> dict[str, Any] | None:
    try:
        finite = all(math.isfinite(float(value)) for value in labels.values())
    except (TypeError, ValueError, OverflowError):
        return None
    return labels if finite and all(plain_text(name) for name in labels) else None


def _with_alternatives(found: _Found, options: ReadOptions) -> Sequence[Mark]:
    """Without schemas in which only one label was ever used, if there are others."""
    used: dict[str, set[str]] = {}
    for mark in found.marks:
        used.setdefault(mark.asked, set()).update(mark.amounts or mark.choices)
    alone = {schema for schema, labels in used.items() if len(labels) < 2}
    if options.classes is not None or len(alone) == len(used):
        return found.marks
    for schema in sorted(alone):
        count = sum(mark.asked == schema for mark in found.marks)
        found.left_out[f"schema {schema!r} left out: only one label in use"] += count
    return [mark for mark in found.marks if mark.asked not in alone]


def _seconds(behaviour: Any) -> float | None:
    """Seconds on the page: in thousandths since version 2, as "Time spent: 0d 0h 0m 5s " before."""
    if not isinstance(behaviour, dict):
        return None
    spent = behaviour.get("total_time_ms")
    if isinstance(spent, int | float) and math.isfinite(spent) and spent > 0:
        return spent / 1000
    clock = re.search(r"(\d+)d (\d+)h (\d+)m (\d+)s", str(behaviour.get("time_string")))
    if clock is None:
        return None
    days, hours, minutes, seconds = map(int, clock.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _began(behaviour: Any) -> str | None:
    return iso_time(behaviour.get("session_start")) if isinstance(behaviour, dict) else None


# Read and write peerannot's ``answers.json``: task to worker to label.


def read_peerannot(path: Path, options: ReadOptions) -> Judgments:
    """Read ``{task: {worker: label}}`` as choose-one judgments; a label may be a number."""
    text = read_json_text(path)
    votes: list[tuple[str, str, str]] = []
    lines: list[int] = []
    rejected: list[RejectedRow] = []
    for line, task, answers, _ in members(text, file=path.name):
        if not isinstance(answers, dict):
            raise DataError(
                f"{path.name}, line {line}: task {task!r} holds {json.dumps(answers)[:60]}, "
                'expected workers and their labels as in {"3": 1, "17": 0}.'
            )
        if any(isinstance(label, dict) for label in answers.values()):
            raise DataError(
                f"{path.name}, line {line}: {task!r} is a record with the fields "
                f"{', '.join(repr(name[:30]) for name in list(answers)[:6])}, not a task with "
                'workers and their labels as in {"3": 1, "17": 0}. It is another format.'
            )
        for worker, label in answers.items():
            if (named := plain_text(label)) is None:
                rejected.append(_unusable(path, line, task, worker, label))
            else:
                votes.append((task, worker, named))
                lines.append(line)
    options.progress(len(text), len(text))
    check_crossing(votes, path.name)
    return judgments_of_choices(
        path,
        pl.DataFrame(
            votes, schema=dict.fromkeys(("item", "annotator", "label"), pl.String()), orient="row"
        ),
        lines=lines,
        rejected=rejected,
        remarks=(),
        options=options,
        format_name="peerannot",
    )


def write_peerannot(judgments: Judgments, path: Path) -> None:
    """Write choose-one judgments; labels become numbers if all classes are whole numbers.

    peerannot itself works with class numbers 0, 1, …, so give it classes named so.
    """
    table = choices_of(judgments, "peerannot")
    refuse_second_labels(table, "peerannot")
    numbers = all(
        name.isdecimal() and str(int(name)) == name for name in judgments.question.classes
    )
    answers: dict[str, dict[str, str | int]] = {}
    for item, annotator, label in table.iter_rows():
        answers.setdefault(item, {})[annotator] = int(label) if numbers else label
    with whole_file(path) as part:
        part.write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")


def _unusable(path: Path, line: int, task: str, worker: str, label: Any) -> RejectedRow:
    shown = json.dumps(label)[:60]
    reason = "no label" if label is None else f"{shown} is neither a text nor a whole number"
    return RejectedRow(
        path.name, line, "label", reason, f"task {task!r}, worker {worker!r}: {shown}"
    )


# Turn the pages of a jsPsych export into answers to the top-two question.
#
# An export has one row for every page somebody saw: consent, instructions, quiz, the forms
# with answers, debrief. Several sessions of one person may be in it.

FORM = "survey-html-form"
"""The trial type of the pages with answers."""

VIEW_OF_TASK = {"spec_conf": "first", "rerun_spec_conf": "repeat"}

DEBRIEF = "survey-text"
"""The trial type of the last page: who saw it went through to the end (S2-13)."""


@dataclass(frozen=True)
class TopTwoPages:
    """The answers in an export as columns of judgments, and what was noticed on the way."""

    table: pl.DataFrame
    lines: NDArray[np.int64]
    rejected: list[RejectedRow]
    remarks: list[Remark]


def read_top_two_pages(
    path: Path, options: ReadOptions, *, item: str, gold: str | None
) -> TopTwoPages:
    """Read the answers of an export; ``item`` and ``gold`` name the columns that hold these.

    ``order`` numbers the answers of a session by trial index, whether or not they can be
    read; ``completed`` says whether the session reached the debrief.
    """
    named = [name for name in (item, gold) if name is not None]
    needed = ["trial_type", "trial_index", "subject", "rt", "response", "task", *named]
    rows = read_csv_rows(path, needed=needed, progress=options.progress)
    pages = in_sessions(rows.table.with_columns(line=pl.Series(rows.lines, dtype=pl.Int64)))
    is_answer = (pl.col("trial_type") == FORM) & pl.col("task").is_in(list(VIEW_OF_TASK))
    forms = pages.with_columns(
        (pl.col("trial_type") == DEBRIEF).any().over("subject", "session").alias("completed")
    ).filter(is_answer)
    ids, floats = clean_id(forms[item])
    annotators, replaced = people(forms["subject"], options.key)
    forms = forms.select(
        "line",
        "session",
        "response",
        "completed",
        ids.alias("item"),
        annotators.alias("annotator"),
        pl.col("trial_index").rank("ordinal").over("subject", "session").alias("order"),
        pl.col("rt").cast(pl.Float64, strict=False).truediv(1000).alias("seconds"),
        pl.col("task").replace_strict(VIEW_OF_TASK).alias("view"),
        (pl.col(gold).str.to_lowercase() if gold else pl.lit(None, pl.String)).alias("gold"),
    )
    remarks = [
        Remark("pages that are no answers", len(pages) - len(forms), _commonest(pages)),
        Remark("ids written as floats", floats),
        *replaced,
        *_on_sessions(forms),
        _on_line_breaks(forms["response"]),
    ]
    answers, unread = parse_column(forms, "response", _form_answer)
    table, lines, rejected = sound_rows(
        forms.with_columns(pl.Series("answer", answers, dtype=pl.String)),
        [*unread, Flaw(item, "empty", forms["item"], forms["item"].is_null())],
        lines=forms["line"].to_list(),
        file=path.name,
    )
    return TopTwoPages(
        table.drop("line", "session", "response"),
        lines,
        [*rows.rejected, *rejected],
        [remark for remark in remarks if remark.count],
    )


def in_sessions(pages: pl.DataFrame) -> pl.DataFrame:
    """Pages with their trial index as a number and the ``session`` of its subject they belong to.

    A new session begins where the trial index goes down: one person who took part twice is
    one subject in two sessions.
    """
    index = pl.col("trial_index").cast(pl.Int64, strict=False)
    goes_down = pl.col("trial_index").diff() < 0
    return pages.with_columns(index).with_columns(
        goes_down.fill_null(False).cum_sum().over("subject").alias("session")
    )


def _on_sessions(forms: pl.DataFrame) -> list[Remark]:
    several = forms.group_by("annotator", maintain_order=True).agg(pl.col("session").n_unique())
    several = several.filter(pl.col("annotator").is_not_null() & (pl.col("session") > 1))
    unfinished = forms.filter(~pl.col("completed"))
    return [
        Remark(
            "people with more than one session",
            len(several),
            f"annotator {several['annotator'][0]}" if len(several) else "",
        ),
        Remark("answers from sessions that did not reach the debrief", len(unfinished)),
        Remark("repeats among first views", int((forms["view"] == "repeat").sum())),
    ]


def _on_line_breaks(responses: pl.Series) -> Remark:
    broken = responses.filter(responses.str.contains(r"[\r\n]").fill_null(False))
    return Remark("line breaks inside JSON", len(broken), broken[0] if len(broken) else "")


def _commonest(pages: pl.DataFrame) -> str:
    kinds = pages.filter(pl.col("trial_type") != FORM)["trial_type"].value_counts()
    kinds = kinds.sort("count", "trial_type", descending=[True, False])
    return ", ".join(f"{count} {name}" for name, count in kinds.iter_rows())


def _form_answer(response: str) -> str:
    try:
        # Not strict: a line break typed into a field stands in the export as it is.
        form = json.loads(response, strict=False)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(form, dict):
        raise ValueError("not an object of form fields")
    second = _class(form, "classSelect2", "secondProb")
    answer = {
        "first": _class(form, "classSelect", "mostProb"),
        "first_percent": form.get("prob", ""),
        "second": None if second == "no" else second,
        "second_percent": form.get("prob2", ""),
        "ruled_out": [
            name.removeprefix("improbClassSelect").lower()
            for name in form
            if name.startswith("improbClassSelect")
        ],
    }
    text = json.dumps(answer, ensure_ascii=False)
    if not is_utf8(text):
        raise ValueError("not Unicode text")
    return text


def _class(form: dict[str, object], field: str, prefix: str) -> str:
    value = form.get(field)
    if not isinstance(value, str) or not value.startswith(prefix):
        raise ValueError(f"{field} is {value!r}, expected {prefix!r} and a class")
    return value.removeprefix(prefix).lower()
