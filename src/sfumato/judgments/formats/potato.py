"""Turn what Potato stores, ``annotated_instances.jsonl`` or ``user_state.json``, into judgments.

Each annotator has a folder with one of them (the second since version 2), and the folder
above may be read as a whole. The answers about an item are kept by schema, as ``{label:
value}`` or as pairs ``[{"schema": …, "name": label}, value]``; the value of a label that was
marked is ``true``, the label itself or the key that was pressed.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.judgments.formats.json_text import members, plain_text, read_json_text
from sfumato.judgments.formats.marks import Mark, iso_time, judgments_of_marks
from sfumato.judgments.formats.reading import PLATFORM_ID, Key, ReadOptions, open_text, pseudonym
from sfumato.judgments.judgments import Judgments, Rejected, Remark
from sfumato.provenance import fingerprint_file

__all__ = ["read_potato"]

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
    rejected: list[Rejected] = field(default_factory=list)
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


def _instances(source: _Source, rejected: list[Rejected]) -> Iterator[_Record]:
    with open_text(source.path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                stored = json.loads(line)
            except (ValueError, RecursionError):
                rejected.append(Rejected(source.name, number, "", "not JSON", line[:200]))
                continue
            item = None
            if isinstance(stored, dict):
                item = plain_text(stored.get("id", stored.get("instance_id")))
            if item is None:
                rejected.append(Rejected(source.name, number, "id", "no id", line[:200]))
                continue
            yield _Record(
                item,
                plain_text(stored.get("user_id", stored.get("user"))) or source.person,
                stored.get("label_annotations", stored.get("labels")),
                number,
                stored.get("behavioral_data"),
            )


def _state(source: _Source, rejected: list[Rejected]) -> Iterator[_Record]:
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
            rejected.append(Rejected(source.name, line, "id", "no id", ""))
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
        found.rejected.append(Rejected(source.name, record.line, "label_annotations", reason, text))
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
