"""Turn the scores of a run into answers to claims: a number a network, its interval, a verdict.

Each question here is asked of every network. Verdicts follow from 95 % intervals alone. Where only
the intervals of two numbers are known and not that of their difference, the two must not overlap,
which is stricter than needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sfumato.reporting.text import interval, number, signed
from sfumato.scores import Difference
from sfumato.studies.analysis import Findings
from sfumato.studies.verdicts import Claimed, End, Verdict, overall, side, within

__all__ = [
    "FEW_ITEMS",
    "Answer",
    "Claim",
    "Found",
    "brackets",
    "decided",
    "difference",
    "missing",
    "mostly_by_vote",
    "no_overlap",
    "only_shown",
    "relabelled",
]

FEW_ITEMS = 30
"""An interval over seeds says nothing about other items; with fewer of them than this it is not
taken for an answer about people and networks, only shown."""


@dataclass(frozen=True)
class Found:
    """What one network says about a claim."""

    text: str
    verdict: Verdict
    value: End = None
    """The number that decided, where one did; for a difference, the difference."""
    low: End = None
    high: End = None


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
        estimate = (one.value, one.low, one.high)
        if one.items < FEW_ITEMS:
            text = f"{_shown(one)}, on {one.items} items only"
            return Found(text, "not testable here", *estimate)
        if isinstance(claimed, float):
            return Found(_shown(one), within(*estimate, claimed), *estimate)
        return decided(_shown(one), *estimate, claimed)

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
        gain = side(whole.value, whole.low, whole.high, "higher")
        if gain != "reproduced":
            text += "; no clear gain to divide"
        parted = no_overlap(
            text, (vote.value, vote.low, vote.high), (rest.value, rest.low, rest.high), "higher"
        )
        return replace(parted, verdict=overall([gain, parted.verdict]))

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
        text = " to ".join(f"{number(row['value'])} {brackets(row)}" for row in (before, after))
        parts = [(row["value"], row["low"], row["high"]) for row in (after, before)]
        return no_overlap(text, parts[0], parts[1], "higher")

    return answer


def only_shown(other: Answer) -> Answer:
    """The numbers of another answer, which decide nothing about the claim."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        return replace(other(findings, network, rng), verdict="not testable here")

    return answer


def decided(text: str, value: End, low: End, high: End, claimed: Claimed) -> Found:
    """What an estimate with its interval says of a side of zero."""
    return Found(text, side(value, low, high, claimed), value, low, high)


Estimate = tuple[End, End, End]
"""A number with the ends of its interval."""


def no_overlap(text: str, first: Estimate, second: Estimate, claimed: Claimed) -> Found:
    """Of two numbers with an interval each: the claimed one, if these do not overlap."""
    value = _minus(first[0], second[0])
    low, high = _minus(first[1], second[2]), _minus(first[2], second[1])
    return decided(text, value, low, high, claimed)


def _minus(first: End, second: End) -> End:
    return None if first is None or second is None else first - second


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


def brackets(row: Mapping[str, float]) -> str:
    """The interval of a row of a table, or that there is none."""
    return interval(row["low"], row["high"]) or "(no interval)"


def missing(why: str) -> Found:
    """The answer of a run that lacks what is needed."""
    return Found(why, "not testable here")
