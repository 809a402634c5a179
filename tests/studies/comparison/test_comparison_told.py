"""Verdicts: when a claim is reproduced, and when only its direction is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.scores import Difference
from sfumato.studies.comparison.told import Claim, judge
from sfumato.studies.verdicts import VERDICTS

CLAIM = Claim("table 1", "Soft is lower.", "1 against 2", "cross_entropy", "soft", "hard")


def apart(
    value: float, low: float | None, high: float | None, network: str = "lenet", **other: str
) -> Difference:
    named = {"metric": "cross_entropy", "first": "soft", "second": "hard", "against": ""} | other
    return Difference(value=value, low=low, high=high, network=network, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (apart(-1, -2, -0.5), "reproduced"),
        (apart(-1, -2, 0.5), "same direction"),
        (apart(-1, -2, 0.0), "same direction"),
        (apart(-1, None, None), "same direction"),
        (apart(0, -1, 1), "not reproduced"),
        (apart(1, 0.5, 2), "not reproduced"),
        (apart(-1, -2, -0.5, metric="accuracy"), "not testable here"),
        (apart(-1, -2, -0.5, first="hard", second="soft"), "not testable here"),
        (apart(-1, -2, -0.5, against="people"), "not testable here"),
        (apart(-1, -2, -0.5, stratum="fgsm/4"), "not testable here"),
    ],
)
def test_verdict_needs_the_whole_interval_on_the_claimed_side(
    found: Difference, verdict: str
) -> None:
    assert judge(CLAIM, [found]).verdict == verdict


def test_every_network_must_agree_and_each_is_told() -> None:
    one, other = apart(-1, -2, -0.5, "lenet"), apart(-0.25, -1, 0.5, "vgg-11")

    judged = judge(CLAIM, [one, other])

    assert judged.verdict == "same direction"
    assert judged.ours.startswith("lenet: ") and "; vgg-11: " in judged.ours
    assert judge(CLAIM, [one, apart(0.1, 0, 0.2, "vgg-11")]).verdict == "not reproduced"


def test_claim_without_a_metric_cannot_be_tested() -> None:
    judged = judge(
        Claim("text", "It is nice.", "–", note="No number is given."), [apart(-1, -2, 0)]
    )

    assert (judged.verdict, judged.ours) == ("not testable here", "")


@st.composite
def intervals(draw: st.DrawFn) -> list[Difference]:
    """One to three networks, each with an estimate inside its interval or without one."""
    numbers = st.floats(-3, 3).map(lambda number: round(number, 3))
    found = []
    for network in range(draw(st.integers(1, 3))):
        low, value, high = sorted(draw(st.tuples(numbers, numbers, numbers)))
        known = draw(st.booleans())
        found.append(apart(value, low if known else None, high if known else None, str(network)))
    return found


@given(intervals())
def test_verdicts_are_ordered_and_never_reproduced_with_zero_inside(
    found: list[Difference],
) -> None:
    lower = judge(CLAIM, found).verdict

    assert lower in VERDICTS
    certain = all(one.high is not None and one.high < 0 for one in found)
    assert (lower == "reproduced") == certain
    assert (lower == "not reproduced") == any(one.value >= 0 for one in found)


@given(intervals())
def test_claim_of_the_opposite_is_judged_as_the_mirror_image(found: list[Difference]) -> None:
    higher = Claim("", "", "", "cross_entropy", "soft", "hard", "higher")
    mirrored = [
        apart(
            -one.value,
            None if one.high is None else -one.high,
            None if one.low is None else -one.low,
            one.network,
        )
        for one in found
    ]

    assert judge(higher, mirrored).verdict == judge(CLAIM, found).verdict
