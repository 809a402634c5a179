"""Judge the quality of answers: measures, named rules, and the ledger of what they drop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments, mark_duplicates
from sfumato.judgments.quality.rules import (
    RULES,
    Accuracy,
    Repeats,
    Rule,
    RuleFindings,
    Times,
    accuracy,
    choices,
    copies,
    repeats,
    rule_by_hand,
    rule_with,
    times,
)
from sfumato.names import find
from sfumato.provenance import Setting, Step

__all__ = [
    "RULES",
    "Accuracy",
    "Ledger",
    "Repeats",
    "Rule",
    "RuleFindings",
    "Times",
    "accuracy",
    "apply_rules",
    "copies",
    "refuse_pay",
    "repeats",
    "rule_by_hand",
    "rule_with",
    "times",
    "what_if",
]


# Turn judgments and rules into the judgments that stay and a ledger of what went, and why.
#
# Leaving somebody's answers out of the data and refusing to pay them are two things. A rule only
# ever does the first. Everybody in the ledger is to be paid unless a person is refused by name and
# with a reason (``refuse_pay``), whether or not their answers were left out.


ENTRY = pl.Schema(
    {
        "rule": pl.String(),
        "version": pl.String(),
        "what": pl.String(),  # "person" or "answer"
        "annotator": pl.String(),
        "item": pl.String(),  # of a single answer
        "reason": pl.String(),
        "evidence": pl.List(pl.Int64()),  # rows of the judgments before
        "answers": pl.Int64(),  # how many it drops
    }
)
"""The columns of a ledger's entries."""

ALL_TOGETHER = "all together"
"""The row of ``what_if`` for every rule at once."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Who and what was left out, by which rule and why; and, apart from that, who is paid."""

    entries: pl.DataFrame
    """One row a finding, with the columns of ``ENTRY``. Who breaks two rules is in two rows."""
    rules: pl.DataFrame
    """One row per rule, also if it found nothing: ``rule``, ``version``, ``looked_at`` (answers it
    could judge), ``people`` and ``answers`` it drops alone."""
    people: pl.DataFrame
    """One row per person: ``annotator``, ``answers`` given, ``dropped`` of them, and
    ``excluded_by``, the rules that left the whole person out."""
    answers: int
    """Answers before."""
    dropped: int
    """Answers left out by all rules together, each counted once."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Person to the reason why they are not paid."""

    @property
    def table(self) -> pl.DataFrame:
        """The entries with the columns ``pay`` ("pay" or "refused") and ``pay_reason``."""
        return _with_pay(self.entries, self.refused)

    @property
    def payments(self) -> pl.DataFrame:
        """Everybody with ``pay`` and ``pay_reason``, those included whose answers all stay."""
        return _with_pay(self.people, self.refused)


def apply_rules(judgments: Judgments, rules: Sequence[Rule]) -> tuple[Judgments, Ledger]:
    """Leave out what any of the rules finds.

    Every rule sees all the judgments, so their order does not matter and whoever breaks several
    is recorded under each.

    >>> from sfumato.judgments.question import ask
    >>> from sfumato.judgments.quality.rules import rule_with
    >>> table = pl.DataFrame({
    ...     "item": ["1", "2", "1"], "annotator": ["ann", "ann", "bob"],
    ...     "answer": ['"cat"', '"cat"', '"dog"'], "view": ["first", "check", "first"],
    ...     "gold": [None, "dog", None],
    ... })
    >>> answers = Judgments(ask("choose-one", ["cat", "dog"]), table)
    >>> kept, ledger = apply_rules(answers, [rule_with("gold")])
    >>> kept.annotators, ledger.table.select("annotator", "reason", "answers", "pay").rows()
    (['bob'], [('ann', 'failed 1 of 1 checks, more than 0', 2, 'pay')])
    """
    found = [rule.finds(judgments, rule.settings) for rule in rules]
    drops = [_dropped(judgments, findings) for findings in found]
    gone = _any(drops, len(judgments))
    ledger = Ledger(
        _entries(judgments, rules, found),
        _per_rule(rules, found, drops),
        _per_person(judgments, rules, found, gone),
        answers=len(judgments),
        dropped=int(gone.sum()),
    )
    step = Step("exclude", _settings(rules, ledger))
    return judgments.take(~gone, step), ledger


def refuse_pay(ledger: Ledger, reasons: Mapping[str, str]) -> Ledger:
    """The ledger with these people refused pay, each for the reason given."""
    people = dict.fromkeys(ledger.people["annotator"].to_list())
    for annotator, reason in reasons.items():
        find(people, annotator, what="annotator of this ledger")
        if not reason.strip():
            raise DataError(
                f"Pay can only be refused with a reason, and there is none for {annotator!r}. "
                "Say what they did; being left out of the data is no reason."
            )
    return replace(ledger, refused={**ledger.refused, **reasons})


def what_if(judgments: Judgments, rules: Sequence[Rule]) -> pl.DataFrame:
    """What each rule alone, and all together, would drop and change; nothing is dropped.

    One row per rule, the last for all together: ``rule``, ``version``, ``looked_at``, ``people``
    and ``answers`` dropped; and about the judgments that labels are made from (first views, each
    person once an item): ``items`` there are, how many would have ``fewer`` judgments and how
    many of these none (``emptied``), judgments per item ``least_before``, ``mean_before``,
    ``least_after``, ``mean_after``, and on how many items with judgments left the class or tied
    classes that most people put first change (``majority_changed``).
    """
    found = [rule.finds(judgments, rule.settings) for rule in rules]
    drops = [_dropped(judgments, findings) for findings in found]
    counts = _per_rule(rules, found, drops)
    gone = _any(drops, len(judgments))
    together = pl.DataFrame(
        {
            "rule": ALL_TOGETHER,
            "version": None,
            "looked_at": None,
            "people": len(_excluded(found)),
            "answers": int(gone.sum()),
        },
        schema=counts.schema,
    )
    tally = _tally(judgments)
    effects = pl.DataFrame([_effect(judgments, tally, drop) for drop in [*drops, gone]])
    return pl.concat([pl.concat([counts, together]), effects], how="horizontal")


@dataclass(frozen=True, eq=False)
class _Tally:
    """What counting votes needs, made once for all rules."""

    labelled: NDArray[np.bool_]  # (judgments,) a label is made from it
    item: NDArray[np.int64]  # (judgments,) place of its item
    cell: NDArray[np.int64]  # (judgments,) place of its item and top choice; -1: no single one
    starts: NDArray[np.int64]  # (items with a top choice,) first cell of each; cells are sorted
    has_repetition: bool


def _dropped(judgments: Judgments, findings: RuleFindings) -> NDArray[np.bool_]:
    people = findings.table.filter(pl.col("what") == "person")["annotator"]
    named = judgments.coded.coded("annotator")
    rows = np.append(named.values.is_in(people.implode()).to_numpy(), False)[named.code]
    single = findings.table.filter(pl.col("what") == "answer")["evidence"]
    rows[single.explode().to_numpy()] = True
    return rows


def _any(drops: Sequence[NDArray[np.bool_]], count: int) -> NDArray[np.bool_]:
    return np.logical_or.reduce([np.zeros(count, dtype=bool), *drops])


def _excluded(found: Sequence[RuleFindings]) -> set[str]:
    """The people whom some rule leaves out altogether."""
    return {
        name
        for findings in found
        for name in findings.table.filter(pl.col("what") == "person")["annotator"]
    }


def _entries(
    judgments: Judgments, rules: Sequence[Rule], found: Sequence[RuleFindings]
) -> pl.DataFrame:
    if not rules:
        return pl.DataFrame(schema=ENTRY)
    given = judgments.table["annotator"].drop_nulls().value_counts(name="given")
    is_person = pl.col("what") == "person"
    tables = [
        findings.table.with_columns(rule=pl.lit(rule.name), version=pl.lit(rule.version))
        for rule, findings in zip(rules, found, strict=True)
    ]
    entries = pl.concat(tables).join(given, on="annotator", how="left", maintain_order="left")
    about = judgments.table["item"].gather(entries["evidence"].list.first())
    return entries.with_columns(
        pl.when(~is_person).then(about).alias("item"),
        pl.when(is_person).then("given").otherwise(1).alias("answers"),
    ).select(pl.col(name).cast(dtype) for name, dtype in ENTRY.items())


def _per_rule(
    rules: Sequence[Rule], found: Sequence[RuleFindings], drops: Sequence[NDArray[np.bool_]]
) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (rule.name, rule.version, findings.looked_at, len(_excluded([findings])), drop.sum())
            for rule, findings, drop in zip(rules, found, drops, strict=True)
        ],
        schema={
            "rule": pl.String,
            "version": pl.String,
            "looked_at": pl.Int64,
            "people": pl.Int64,
            "answers": pl.Int64,
        },
        orient="row",
    )


def _per_person(
    judgments: Judgments,
    rules: Sequence[Rule],
    found: Sequence[RuleFindings],
    gone: NDArray[np.bool_],
) -> pl.DataFrame:
    named = judgments.coded.coded("annotator")
    people = pl.DataFrame(
        {
            "annotator": named.values,
            "answers": named.times(),
            "dropped": named.take(gone).times(),
        }
    ).filter(pl.col("answers") > 0)
    by: dict[str, list[str]] = {name: [] for name in people["annotator"]}
    for rule, findings in zip(rules, found, strict=True):
        for name in sorted(_excluded([findings])):
            by[name].append(rule.name)
    excluded_by = pl.Series("excluded_by", list(by.values()), dtype=pl.List(pl.String))
    return people.with_columns(excluded_by)


def _settings(rules: Sequence[Rule], ledger: Ledger) -> dict[str, Setting]:
    listed: list[Setting] = [
        {**row, "settings": dict(rule.settings)}
        for rule, row in zip(rules, ledger.rules.to_dicts(), strict=True)
    ]
    people = int((ledger.people["excluded_by"].list.len() > 0).sum())
    return {"rules": listed, "people": people, "answers": ledger.dropped}


def _with_pay(table: pl.DataFrame, refused: Mapping[str, str]) -> pl.DataFrame:
    reason = pl.col("annotator").replace_strict(refused, default=None, return_dtype=pl.String)
    return table.with_columns(
        pl.when(reason.is_null()).then(pl.lit("pay")).otherwise(pl.lit("refused")).alias("pay"),
        reason.alias("pay_reason"),
    )


def _tally(judgments: Judgments) -> _Tally:
    again = mark_duplicates(judgments)
    labelled = judgments.in_view("first") & ~again
    item = judgments.coded.coded("item").code.astype(np.int64)
    choice, n_classes = choices(judgments), len(judgments.question.classes)
    voted = choice >= 0
    cells, which = np.unique(item[voted] * n_classes + choice[voted], return_inverse=True)
    cell = np.full(len(judgments), -1)
    cell[voted] = which
    starts = np.flatnonzero(np.diff(cells // n_classes, prepend=-1))
    return _Tally(labelled, item, cell, starts, bool(again.any()))


def _effect(judgments: Judgments, tally: _Tally, drop: NDArray[np.bool_]) -> dict[str, float]:
    stay = _still_labelled(judgments, tally, drop)
    before = np.bincount(tally.item[tally.labelled])
    after = np.bincount(tally.item[stay], minlength=len(before))[before > 0]
    before = before[before > 0]  # items shown only as checks or for practice get no label
    return {
        "items": len(before),
        "fewer": int((after < before).sum()),
        "emptied": int((after == 0).sum()),
        "least_before": int(before.min()) if len(before) else 0,
        "mean_before": float(before.mean()) if len(before) else float("nan"),
        "least_after": int(after.min()) if len(after) else 0,
        "mean_after": float(after.mean()) if len(after) else float("nan"),
        "majority_changed": _changed_majorities(tally, stay),
    }


def _still_labelled(
    judgments: Judgments, tally: _Tally, drop: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    if not tally.has_repetition:
        return tally.labelled & ~drop
    left = judgments.take(~drop, Step("what if"))  # a second view stands where the first is gone
    stay = np.zeros_like(drop)
    stay[~drop] = left.in_view("first") & ~mark_duplicates(left)
    return stay


def _changed_majorities(tally: _Tally, stay: NDArray[np.bool_]) -> int:
    if len(tally.starts) == 0:
        return 0
    before, after = _leading(tally, tally.labelled), _leading(tally, stay)
    changed = np.logical_or.reduceat(before != after, tally.starts)
    return int((changed & np.logical_or.reduceat(after, tally.starts)).sum())


def _leading(tally: _Tally, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether a cell holds the most votes of its item, alone or tied."""
    n_cells = int(tally.cell.max()) + 1
    votes = np.bincount(tally.cell[rows & (tally.cell >= 0)], minlength=n_cells)
    most = np.maximum.reduceat(votes, tally.starts)
    lengths = np.diff(tally.starts, append=n_cells)
    return (votes > 0) & (votes == np.repeat(most, lengths))
