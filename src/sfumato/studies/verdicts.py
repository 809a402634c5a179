"""How a claim of a paper came out: four words, decided by an estimate and its interval.

- *reproduced*: the 95 % interval lies wholly on the claimed side;
- *same direction*: the estimate does, but not the whole interval, or there is none;
- *not reproduced*: the estimate does not;
- *not testable here*: there is nothing to decide it with.

An interval that includes zero never makes a claimed difference reproduced. A claim of *no loss* has
a margin: an estimate just on the other side is in the same direction if its whole interval rules a
loss of the margin out.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Literal, assert_never

from sfumato.reporting.text import ROUNDING, Kind

Verdict = Literal["reproduced", "same direction", "not reproduced", "not testable here"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "same direction",
    "not reproduced",
    "not testable here",
)
Claimed = Literal["lower", "higher"]
End = float | None
"""A number that may not be known."""

KINDS: dict[Verdict, Kind] = {
    "reproduced": "found",
    "same direction": "caution",
    "not reproduced": "not found",
    "not testable here": "caution",
}
"""How a sentence about such a claim is marked in a report."""

CONTROL_ANSWERS: dict[Verdict, str] = {
    "reproduced": "yes",
    "same direction": "not clearly",
    "not reproduced": "no",
    "not testable here": "not testable here",
}
"""What a verdict says of a control that no paper ran: there is nothing to reproduce."""


def side(value: End, low: End, high: End, claimed: Claimed, *, margin: float = 0.0) -> Verdict:
    """On which side of zero an estimate and its interval lie, against the claimed one.

    ``margin`` is for claims of no loss: how much on the other side would be one. An estimate that
    is zero but for rounding lies on neither side.

    >>> side(-0.2, -0.3, -0.1, "lower"), side(-0.1, -0.3, 0.1, "lower")
    ('reproduced', 'same direction')
    >>> side(0.1, -0.1, 0.3, "lower"), side(None, None, None, "lower")
    ('not reproduced', 'not testable here')
    >>> side(-0.001, -0.007, 0.005, "higher", margin=0.01)
    'same direction'
    >>> side(1e-18, -0.004, 0.004, "higher")
    'not reproduced'
    """
    if not _known(value):
        return "not testable here"
    match claimed:
        case "lower":
            sign = -1.0
        case "higher":
            sign = 1.0
        case _:
            assert_never(claimed)
    there = sign * value > ROUNDING  # type: ignore[operator]
    if not _known(low, high):
        return "same direction" if there else "not reproduced"
    nearest = min(sign * low, sign * high)  # type: ignore[operator]
    if nearest > ROUNDING:
        return "reproduced"
    return "same direction" if there or nearest > -margin else "not reproduced"


def within(value: End, low: End, high: End, margin: float) -> Verdict:
    """Whether an estimate and its whole interval lie within a margin around zero.

    >>> within(0, -0.1, 0.1, 0.2), within(-0.1, -0.3, 0.1, 0.2), within(0.3, 0.1, 0.5, 0.2)
    ('reproduced', 'same direction', 'not reproduced')
    """
    if not _known(value):
        return "not testable here"
    if abs(value) > margin:  # type: ignore[arg-type]
        return "not reproduced"
    inside = _known(low, high) and -margin <= low and high <= margin  # type: ignore[operator]
    return "reproduced" if inside else "same direction"


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """The weakest of those that could be tested: what does not hold everywhere is not reproduced.

    >>> overall(["reproduced", "same direction", "not testable here"])
    'same direction'
    """
    found = set(verdicts)
    for weakest in ("not reproduced", "same direction", "reproduced"):
        if weakest in found:
            return weakest
    return "not testable here"


def counts_text(verdicts: Iterable[Verdict]) -> str:
    """How many claims came out how.

    >>> counts_text(["reproduced"])
    '1 claim: 1 reproduced, 0 same direction, 0 not reproduced, 0 not testable here.'
    """
    of = Counter(verdicts)
    told = ", ".join(f"{of[verdict]} {verdict}" for verdict in VERDICTS)
    return f"{of.total()} claim{'' if of.total() == 1 else 's'}: {told}."


def _known(*numbers: End) -> bool:
    return all(number is not None and not math.isnan(number) for number in numbers)
