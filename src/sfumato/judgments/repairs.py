"""Turn answers that were plainly mistyped into what was meant, by named rules and with a log.

A repair never touches the raw ``answer``: it fills the column ``repaired``, from which
what an answer states is then read. Each set of rules has a name and a version, so that a
label can say which repairs it rests on (S3-07).
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.judgments.judgments import Judgments, Remark
from sfumato.names import find
from sfumato.provenance import Step

Answer = dict[str, Any]


@dataclass(frozen=True)
class Repair:
    """A named set of rules about mistyped answers."""

    about: str
    """What the rules read as what."""
    version: str
    """Changes whenever a rule changes."""
    function: Callable[[Answer], tuple[Answer, str] | None]
    """From an answer to the repaired answer and the reason; None where nothing is to repair."""


@dataclass(frozen=True)
class RepairedAnswer:
    """One answer that was repaired: whose, about what, from what to what, and why."""

    item: str
    annotator: str | None
    given: str
    repaired: str
    reason: str


@dataclass(frozen=True, eq=False)
class RepairedTable:
    """A table with its column ``repaired`` filled, and the log of what was done."""

    table: pl.DataFrame
    log: tuple[RepairedAnswer, ...]
    remarks: tuple[Remark, ...]


def repair_table(table: pl.DataFrame, name: str) -> RepairedTable:
    """Apply the repairs called ``name`` to the raw answers of a judgments table.

    Answers that an earlier set has repaired are repaired further. Answers that are not JSON
    objects are left alone: whoever checks the table sets them aside.

    >>> answer = '{"first": "cat", "first_percent": "8p", "second": "dog", "second_percent": "20"}'
    >>> mended = repair_table(pl.DataFrame({"item": ["6334"], "answer": [answer]}), "cifar10s")
    >>> json.loads(mended.table["repaired"][0])["first_percent"]
    '80'
    >>> mended.log[0].reason
    "'8p' is read as 80: p lies next to 0 on the keyboard"
    """
    rules = find(REPAIRS, name, what="set of repairs")
    if "repaired" not in table.columns:
        table = table.with_columns(repaired=pl.lit(None, dtype=pl.String))
    so_far = table.select(pl.coalesce("repaired", "answer").alias("text"))["text"]
    texts: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for text in so_far.drop_nulls().unique(maintain_order=True):
        outcome = rules.function(_fields(text))
        if outcome is not None:
            texts[text] = json.dumps(outcome[0])
            reasons[text] = outcome[1]
    mended = so_far.replace_strict(texts, default=None, return_dtype=pl.String)
    why = so_far.replace_strict(reasons, default=None, return_dtype=pl.String)
    log = _log(table.with_columns(mended.alias("repaired"), why.alias("reason")))
    filled = table.with_columns(pl.coalesce(mended.alias("repaired"), pl.col("repaired")))
    return RepairedTable(filled, log, _remarks(log, f"repairs {name!r}, version {rules.version}"))


def repair(judgments: Judgments, name: str) -> tuple[Judgments, tuple[RepairedAnswer, ...]]:
    """Apply the repairs called ``name``; the judgments one step later, and the log."""
    mended = repair_table(judgments.table, name)
    step = Step(
        "repair", {"name": name, "version": REPAIRS[name].version, "answers": len(mended.log)}
    )
    after = Judgments(
        judgments.question,
        mended.table,
        judgments.rejected,
        (*judgments.remarks, *mended.remarks),
        (*judgments.provenance, step),
    )
    return after, mended.log


def _cifar10s(answer: Answer) -> tuple[Answer, str] | None:
    """The two repairs by hand behind the released CIFAR-10S files (S3-07).

    A probability typed although no alternative was chosen is not repaired: it is ignored
    when the answer is read, and reported as the oddity it is.
    """
    repaired, reasons = dict(answer), []
    for field in ("first_percent", "second_percent"):
        typed = answer.get(field)
        slip = re.fullmatch(r"([1-9]|10)p", typed.strip()) if isinstance(typed, str) else None
        if slip:
            repaired[field] = f"{slip[1]}0"
            reasons.append(f"{typed!r} is read as {slip[1]}0: p lies next to 0 on the keyboard")
    if _is_zero(repaired.get("first_percent")):
        repaired["first_percent"] = "100"
        reasons.append("0 typed for the most probable class is read as 100")
    return (repaired, "; ".join(reasons)) if reasons else None


REPAIRS: dict[str, Repair] = {
    "cifar10s": Repair(
        "0 typed for the most probable class is read as 100, and a p behind digits, next to 0 "
        "on the keyboard, as 0",
        "1",
        _cifar10s,
    ),
}
"""Sets of repairs by name."""


def _fields(given: str) -> Answer:
    try:
        answer = json.loads(given)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _is_zero(typed: Any) -> bool:
    try:
        return float(str(typed).strip().removesuffix("%")) == 0
    except ValueError:
        return False


def _log(mended: pl.DataFrame) -> tuple[RepairedAnswer, ...]:
    if "annotator" not in mended.columns:
        mended = mended.with_columns(annotator=pl.lit(None, dtype=pl.String))
    rows = mended.filter(pl.col("reason").is_not_null())
    wanted = rows.select("item", "annotator", "answer", "repaired", "reason")
    return tuple(RepairedAnswer(*row) for row in wanted.iter_rows())


def _remarks(log: tuple[RepairedAnswer, ...], source: str) -> tuple[Remark, ...]:
    counts = Counter(entry.reason for entry in log)
    first = {entry.reason: entry for entry in reversed(log)}
    return tuple(
        Remark(f"{reason} ({source})", count, f"item {first[reason].item}: {first[reason].given}")
        for reason, count in counts.items()
    )
