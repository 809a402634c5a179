import math

from hypothesis import given
from hypothesis import strategies as st

from sfumato.reporting.text import Kind
from sfumato.studies.verdicts import (
    KINDS,
    VERDICTS,
    Claimed,
    Verdict,
    counts_text,
    overall,
    side,
    within,
)

numbers = st.integers(-64, 64).map(lambda n: n / 64)  # sums of such are exact
estimates = st.tuples(numbers, numbers, numbers).map(sorted)
directions = st.sampled_from(["lower", "higher"])
STRENGTH = {"reproduced": 2, "same direction": 1, "not reproduced": 0}


@given(estimates, directions)
def test_reproduced_needs_an_interval_that_excludes_zero(
    ends: list[float], claimed: Claimed
) -> None:
    low, value, high = ends

    verdict = side(value, low, high, claimed)

    beyond = low > 0 if claimed == "higher" else high < 0
    assert (verdict == "reproduced") == beyond


@given(estimates, directions)
def test_same_direction_is_the_estimate_on_the_claimed_side(
    ends: list[float], claimed: Claimed
) -> None:
    low, value, high = ends

    verdict = side(value, low, high, claimed)

    there = value > 0 if claimed == "higher" else value < 0
    assert (verdict == "not reproduced") == (not there)


@given(estimates, directions)
def test_mirrored_numbers_say_the_same_of_the_mirrored_claim(
    ends: list[float], claimed: Claimed
) -> None:
    low, value, high = ends
    other: Claimed = "lower" if claimed == "higher" else "higher"

    assert side(value, low, high, claimed) == side(-value, -high, -low, other)


@given(estimates, st.sampled_from([0.125, 0.25, 0.5, 1]), directions)
def test_narrower_interval_never_weakens_a_verdict(
    ends: list[float], part: float, claimed: Claimed
) -> None:
    low, value, high = ends
    narrow = (value - part * (value - low), value + part * (high - value))

    before, after = side(value, low, high, claimed), side(value, *narrow, claimed)

    assert STRENGTH[after] >= STRENGTH[before]


@given(estimates, directions, st.floats(0.001, 1))
def test_margin_only_spares_a_loss_that_the_whole_interval_rules_out(
    ends: list[float], claimed: Claimed, margin: float
) -> None:
    low, value, high = ends

    strict = side(value, low, high, claimed)
    spared = side(value, low, high, claimed, margin=margin)

    ruled_out = low > -margin if claimed == "higher" else high < margin
    if strict == "not reproduced" and ruled_out:
        assert spared == "same direction"
    else:
        assert spared == strict


def test_estimate_without_an_interval_is_never_reproduced() -> None:
    for low, high in ((None, None), (math.nan, math.nan), (0.1, None)):
        assert side(0.2, low, high, "higher") == "same direction"
        assert side(-0.2, low, high, "higher", margin=0.5) == "not reproduced"
        assert within(0.1, low, high, 0.2) == "same direction"
    assert side(math.nan, 0.1, 0.3, "higher") == "not testable here"
    assert within(None, None, None, 0.2) == "not testable here"


@given(st.lists(st.sampled_from(VERDICTS)))
def test_overall_is_the_weakest_that_could_be_tested(verdicts: list[Verdict]) -> None:
    tested = [STRENGTH[one] for one in verdicts if one in STRENGTH]

    found = overall(verdicts)

    assert STRENGTH.get(found) == (min(tested) if tested else None)


def test_counts_name_every_verdict_and_reports_mark_each() -> None:
    assert counts_text(["not reproduced", "reproduced", "reproduced"]) == (
        "3 claims: 2 reproduced, 0 same direction, 1 not reproduced, 0 not testable here."
    )
    marks: dict[Verdict, Kind] = KINDS
    assert list(marks) == list(VERDICTS)
