"""What a paper's table claims, number by number and sentence by sentence, next to ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.reporting.text import interval, signed
from sfumato.scores import Difference
from sfumato.studies.verdicts import Claimed, Verdict, overall, side

__all__ = ["NOT_RUN", "Claim", "Judged", "Paper", "judge"]

NOT_RUN = "not run"
"""In the place of a paper's numbers: a control of ours, which no paper claims anything about."""


@dataclass(frozen=True)
class Claim:
    """``first`` is lower or higher than ``second`` by a metric, says a paper."""

    source: str
    """Where it says so: "paper 4, table 1"."""
    says: str
    paper: str
    """Its own numbers."""
    metric: str = ""
    """Empty: nothing here can test it, and ``note`` says why."""
    first: str = ""
    second: str = ""
    claimed: Claimed = "lower"
    against: str = ""
    stratum: str = "all"
    note: str = ""
    """What is not the same here."""
    margin: float = 0.0
    """Where no loss is claimed: how much on the other side would be one."""


@dataclass(frozen=True)
class Judged:
    """A claim with what was found."""

    claim: Claim
    verdict: Verdict
    ours: str
    """The difference with its interval, network by network where there are several."""
    found: tuple[Difference, ...] = ()
    """The same as numbers."""


@dataclass(frozen=True)
class Paper:
    """What a comparison is held against."""

    claims: tuple[Claim, ...] = ()
    numbers: Mapping[tuple[str, str, str, str], str] = field(default_factory=dict)
    """What the paper prints for an arm: (arm, against, stratum, metric) to its text."""


def judge(claim: Claim, differences: list[Difference]) -> Judged:
    """Reproduced where the interval of every network lies on the claimed side of zero.

    *Same direction*: every estimate lies there, but an interval includes zero; or no loss is
    claimed and no interval has one of the margin. *Not reproduced*: an estimate lies on the other
    side. *Not testable here*: nothing to decide it with.
    """
    wanted = (claim.metric, claim.first, claim.second, claim.against, claim.stratum)
    found = [
        one
        for one in differences
        if (one.metric, one.first, one.second, one.against, one.stratum) == wanted
    ]
    if not found:
        return Judged(claim, "not testable here", "")
    shown = [
        f"{f'{one.network}: ' if len(found) > 1 else ''}{signed(one.value)} "
        f"{interval(one.low, one.high) or '(no interval)'}"
        for one in found
    ]
    verdict = overall(
        side(one.value, one.low, one.high, claim.claimed, margin=claim.margin) for one in found
    )
    return Judged(claim, verdict, "; ".join(shown), tuple(found))
