"""Turn what was marked in an annotation tool into judgments about one of its questions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats.choices import PSEUDONYMS, classes_among
from sfumato.judgments.formats.reading import Key, ReadOptions, pseudonymous
from sfumato.judgments.judgments import Judgments, Rejected, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.names import find
from sfumato.provenance import Step

__all__ = ["Mark", "iso_time", "judgments_of_marks"]


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
    rejected: Sequence[Rejected],
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
        raise DataError(
            f"{path.name} holds answers to {len(used)} questions: "
            f"{', '.join(map(repr, sorted(used)))}. Name the classes of one of them (--classes)"
            + ("; those given fit none." if classes is not None and not fitting else ".")
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


def _misfit(mark: Mark, kind: str) -> Rejected:
    several = kind == "choose-one" and len(mark.choices) > 1
    reason = "several labels are marked where one was asked for" if several else "no answer"
    text = f"item {mark.item!r}: {', '.join(mark.choices)}"
    return Rejected(mark.file, mark.line, mark.asked, reason, text[:200])


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
