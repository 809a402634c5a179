"""What every kind of run tells its page: claims, scores and tables."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.reporting.text import interval, number
from sfumato.scores import Score
from sfumato.studies.answers import Found
from sfumato.studies.comparison.told import NOT_RUN, Judged
from sfumato.studies.results.result import CONTROLS, ClaimTold, Estimate, Part

__all__ = ["Told", "estimates", "found_text", "judged_claim", "score_rows", "with_ends", "work_of"]

SCORE_FIELDS = ("arm", "network", "against", "stratum", "metric", "value", "low", "high", "items")


@dataclass(frozen=True, eq=False)
class Told:
    """The parts of a ``Result`` that depend on the kind of study."""

    claims: tuple[ClaimTold, ...]
    scores: Sequence[Mapping[str, Any]]
    parts: tuple[Part, ...]
    figures: tuple[str, ...] = ()
    """Beginnings of the names of the run's figures that its page shows, the first first; none of
    pictures, which belong to others."""


def work_of(source: str) -> str:
    """The paper that a source names first.

    >>> work_of("paper 4 table 1, thesis table 3.1"), work_of("thesis, table 4.1")
    ('paper 4', 'thesis')
    """
    found = re.match(r"paper \d|thesis", source)
    return found.group() if found else source


def judged_claim(one: Judged) -> ClaimTold:
    """A claim that paired differences were held against."""
    claim = one.claim
    found = tuple(Estimate(each.network, each.value, each.low, each.high) for each in one.found)
    return ClaimTold(
        CONTROLS if claim.paper == NOT_RUN else work_of(claim.source),
        claim.source,
        claim.says,
        claim.paper,
        one.ours or claim.note,
        one.verdict,
        claim.note,
        found,
    )


def score_rows(scores: Iterable[Score]) -> list[dict[str, Any]]:
    """Scores as plain dicts, with how many seeds are behind each."""
    return [
        {name: getattr(one, name) for name in SCORE_FIELDS} | {"seeds": len(one.seeds)}
        for one in scores
    ]


def estimates(found: Iterable[tuple[str, Found]]) -> tuple[Estimate, ...]:
    """The numbers that decided, where answers have one."""
    return tuple(
        Estimate(where, one.value, one.low, one.high)
        for where, one in found
        if one.value is not None
    )


def found_text(found: Sequence[tuple[str, Found]]) -> str:
    """What was found, one after the other; the same text once."""
    texts = {text: None for _, one in found for text in [one.text]}
    if len(texts) == 1:
        return next(iter(texts))
    return "; ".join(f"{where}: {one.text}" for where, one in found)


def with_ends(row: Mapping[str, Any], name: str = "value") -> str:
    """A number of a table with its interval behind it."""
    return f"{number(row[name])} {interval(row['low'], row['high'])}".rstrip()
