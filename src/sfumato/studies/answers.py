"""Turn the scores of a run into answers to claims: a number a network, its interval, a verdict.

Each question here is asked of every network. Verdicts follow from 95 % intervals alone. Where only
the intervals of two numbers are known and not that of their difference, the two must not overlap,
which is stricter than needed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, assert_never

import numpy as np

from sfumato.report.numbers import interval, number, signed
from sfumato.scores import Difference
from sfumato.studies.analysis import Findings

__all__ = [
    "FEW_ITEMS",
    "VERDICTS",
    "Answer",
    "Claim",
    "Claimed",
    "Found",
    "Verdict",
    "brackets",
    "difference",
    "missing",
    "mostly_by_vote",
    "no_overlap",
    "only_shown",
    "relabelled",
    "side",
    "within",
]

Verdict = Literal["as claimed", "not found", "the opposite", "cannot be said"]
VERDICTS: tuple[Verdict, ...] = ("as claimed", "not found", "the opposite", "cannot be said")
Claimed = Literal["lower", "higher"]

FEW_ITEMS = 30
"""An interval over seeds says nothing about other items; with fewer of them than this it is not
taken for an answer about people and networks, only shown."""


@dataclass(frozen=True)
class Found:
    """What one network says about a claim."""

    text: str
    verdict: Verdict


Answer = Callable[[Findings, str, np.random.Generator], Found]
"""From the findings and a network's name; ``rng`` is for those that resample."""


@dataclass(frozen=True)
class Claim:
    """Something a paper says, and how a run can answer it."""

    source: str
    """Where the paper says it."""
    says: str
    """In the words of the run: unanimous is the paper's NoHLV, disputed its HLV."""
    measured: Answer | None
    """What answers it for one network; None where no run of ours can."""
    paper: str = ""
    """Its own numbers, networks in the order of ``paper5.NETWORKS``, or why there are none."""
    note: str = ""
    """What is not the same here, or why nothing answers it."""


def difference(
    metric: str,
    first: str,
    second: str,
    stratum: str,
    *,
    claimed: Claimed | float,
    against: str = "people",
) -> Answer:
    """``first`` minus ``second``, paired by seed: lower, higher, or not further apart than a
    number (comparable)."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        one = _between(findings, metric, first, second, network, against, stratum)
        if one is None:
            return missing(f"no {first} - {second} on {stratum} items")
        if one.items < FEW_ITEMS:
            return Found(f"{_shown(one)}, on {one.items} items only", "cannot be said")
        if isinstance(claimed, float):
            return Found(_shown(one), within(one.low, one.high, claimed))
        return Found(_shown(one), side(one.low, one.high, claimed))

    return answer


def mostly_by_vote() -> Answer:
    """Whether, in accuracy on people's labels, the majority vote's part of what soft labels gain
    over original ones is larger than what softness adds: their intervals must not overlap."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        parts = [("soft", "original"), ("majority", "original"), ("soft", "majority")]
        found = [
            _between(findings, "accuracy", first, second, network, "people", "all")
            for first, second in parts
        ]
        whole, vote, rest = found
        if whole is None or vote is None or rest is None:
            return missing("not all three arms")
        text = f"{_shown(whole)} in all: {_shown(vote)} by the vote, {_shown(rest)} by softness"
        ends = (whole.low, whole.high, vote.low, vote.high, rest.low, rest.high)
        if any(end is None or math.isnan(end) for end in ends):
            return Found(text, "cannot be said")
        if whole.low <= 0:  # type: ignore[operator]
            return Found(f"{text}; no gain to divide", "not found")
        return Found(text, no_overlap((vote.low, vote.high), (rest.low, rest.high), "higher"))

    return answer


def relabelled(arm: str) -> Answer:
    """Whether accuracy is higher on people's labels than on the original ones, same model."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        if "modes" not in findings.tables:
            return missing("no table of modes")
        rows = findings.tables["modes"].filter(network=network, trained_on=arm, metric="accuracy")
        on = {row["tested_on"]: row for row in rows.iter_rows(named=True)}
        if not {"original", "majority"} <= on.keys():
            return missing(f"no rows of {arm}")
        before, after = on["original"], on["majority"]
        shown = [f"{number(row['value'])} {brackets(row)}" for row in (before, after)]
        ends = [(row["low"], row["high"]) for row in (after, before)]
        return Found(" to ".join(shown), no_overlap(ends[0], ends[1], "higher"))

    return answer


def only_shown(other: Answer) -> Answer:
    """The numbers of another answer, which decide nothing about the claim."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        return replace(other(findings, network, rng), verdict="cannot be said")

    return answer


End = float | None


def side(low: End, high: End, claimed: Claimed) -> Verdict:
    """On which side of zero an interval lies, against the claimed one.

    >>> side(-0.3, -0.1, "lower"), side(-0.3, 0.1, "lower"), side(0.1, 0.3, "lower")
    ('as claimed', 'not found', 'the opposite')
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return "cannot be said"
    if low <= 0 <= high:
        return "not found"
    match claimed:
        case "lower":
            return "as claimed" if high < 0 else "the opposite"
        case "higher":
            return "as claimed" if low > 0 else "the opposite"
        case _:
            assert_never(claimed)


def within(low: End, high: End, margin: float) -> Verdict:
    """Whether an interval lies within a margin around zero, or wholly outside it.

    >>> within(-0.1, 0.1, 0.2), within(-0.3, 0.1, 0.2), within(0.3, 0.4, 0.2)
    ('as claimed', 'not found', 'the opposite')
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return "cannot be said"
    if -margin <= low and high <= margin:
        return "as claimed"
    return "the opposite" if low > margin or high < -margin else "not found"


def no_overlap(first: tuple[End, End], second: tuple[End, End], claimed: Claimed) -> Verdict:
    """Of two numbers with an interval each: the claimed one, if these do not overlap."""
    ends = (*first, *second)
    if any(end is None or math.isnan(end) for end in ends):
        return "cannot be said"
    low, high = first[0] - second[1], first[1] - second[0]  # type: ignore[operator]
    return side(low, high, claimed)


def _between(
    findings: Findings,
    metric: str,
    first: str,
    second: str,
    network: str,
    against: str,
    stratum: str,
) -> Difference | None:
    wanted = (metric, first, second, network, against, stratum)
    for one in findings.differences:
        if (one.metric, one.first, one.second, one.network, one.against, one.stratum) == wanted:
            return one
    return None


def _shown(one: Difference) -> str:
    return f"{signed(one.value)} {interval(one.low, one.high) or '(no interval)'}"


def brackets(row: dict[str, float]) -> str:
    """The interval of a row of a table, or that there is none."""
    return interval(row["low"], row["high"]) or "(no interval)"


def missing(why: str) -> Found:
    """The answer of a run that lacks what is needed."""
    return Found(why, "cannot be said")
