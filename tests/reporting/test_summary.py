import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.reporting.text import (
    Contrast,
    Finding,
    cautions,
    choose_findings,
    contrasts,
    mode_shift,
    references,
    said,
)
from sfumato.scores import Estimate


def difference(value: float, low: float | None, high: float | None, **more: object) -> Estimate:
    given = {"metric": "accuracy", "arm": "soft", "second": "hard", "over": "seeds",
             "items": 400, "seeds": (0, 1, 2), **more}  # fmt: skip
    return Estimate(value=value, low=low, high=high, **given)  # type: ignore[arg-type]


def only(rows: list[Estimate]) -> Finding:
    (contrast,) = contrasts(rows)
    return contrast.finding()


numbers = st.floats(-1, 1) | st.sampled_from([0.0, -0.0, 1e-12, -1e-12])


@st.composite
def some_differences(draw: st.DrawFn) -> list[Estimate]:
    rows = []
    for network in draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True)):
        low, value, high = sorted(draw(st.tuples(numbers, numbers, numbers)))
        bounds = draw(st.sampled_from([(low, high), (low, high), (None, None), (math.nan, high)]))
        rows.append(
            difference(value, *bounds, network=network, p=draw(st.none() | st.floats(0, 1)))
        )
    return rows


@given(some_differences())
def test_nothing_is_found_where_an_interval_contains_zero(rows: list[Estimate]) -> None:
    finding = only(rows)

    certain = [
        one.low is not None
        and one.high is not None
        and not math.isnan(one.low)
        and (one.low > 0 or one.high < 0)
        and (one.p is None or one.p < 0.05)
        for one in rows
    ]
    same_side = len({(one.low or 0) > 0 for one in rows}) == 1
    assert (finding.kind == "found") == (all(certain) and same_side)
    assert bool(finding.way) == (finding.kind == "found")


@given(some_differences())
def test_number_said_is_that_of_the_network_with_the_least_difference(
    rows: list[Estimate],
) -> None:
    finding = only(rows)

    if finding.kind == "found":
        least = min(rows, key=lambda one: abs(one.value))
        assert f"{said(least.value, 'accuracy')} {'lower' if least.value < 0 else 'higher'}" in (
            finding.text
        )


@given(some_differences(), some_differences(), some_differences())
def test_no_share_of_a_gain_is_found_in_doubt(
    whole: list[Estimate], part: list[Estimate], rest: list[Estimate]
) -> None:
    def between(one: Estimate, first: str, second: str) -> Estimate:
        return difference(one.value, one.low, one.high, arm=first, second=second, p=one.p)

    rows = [
        between(whole[0], "soft", "original"),
        between(part[0], "majority", "original"),
        between(rest[0], "soft", "majority"),
    ]

    (shift,) = mode_shift(rows, "original", "majority", "soft")

    clear = [
        one.low is not None and not math.isnan(one.low) and (one.low > 0 or (one.high or 0) < 0)
        for one in (rows[0], rows[2])
    ]
    if not all(clear):
        assert shift.kind == "not found"
    if "%" in shift.text:
        assert 0 <= part[0].value / whole[0].value <= 1


@given(numbers, numbers, numbers, numbers)
def test_no_reference_is_passed_inside_the_interval(
    a: float, b: float, c: float, line: float
) -> None:
    low, value, high = sorted((a, b, c))
    scores = [
        Estimate("cross_entropy", value, "soft", low=low, high=high, over="items"),
        Estimate("class_oracle", line),
    ]

    (finding,) = references(scores)

    assert (finding.kind == "found") == (not low <= line <= high)


@pytest.mark.parametrize(
    ("metric", "value", "words", "way"),
    [
        (
            "accuracy",
            0.1,
            "They found the first choice of people more often: accuracy 10",
            "better",
        ),
        ("accuracy", -0.1, "They found the first choice of people less often: accuracy", "worse"),
        ("cross_entropy", -0.1, "They predicted people better: cross-entropy 0.1 nats", "better"),
        ("cross_entropy", 0.1, "They predicted people worse: cross-entropy 0.1 nats", "worse"),
        ("rms_calibration", 0.1, "further from how often it is right", "worse"),
        ("brier", 0.1, "They did worse: Brier score 0.1 higher.", "worse"),
        ("entropy", 0.1, "They were not the same: entropy of the model 0.1", ""),
    ],
)
def test_direction_words_follow_the_metric(metric: str, value: float, words: str, way: str) -> None:
    finding = only([difference(value, value - 0.05, value + 0.05, metric=metric)])

    assert words in finding.text
    assert finding.way == way


def test_sentence_can_be_read_aloud_and_has_its_numbers_behind_it() -> None:
    row = difference(-0.21, -0.25, -0.15, metric="cross_entropy", p=0.003, test="paired t")
    scores = [
        Estimate("cross_entropy", value, arm, items=400)
        for arm, value in (("soft", 0.6), ("hard", 0.81))
    ]

    (contrast,) = contrasts([row], scores)
    finding = contrast.finding("networks that learnt everybody's answers", " than the others")

    assert finding.text == (
        "Networks that learnt everybody's answers predicted people better than the others: "
        "cross-entropy 0.21 nats lower."
    )
    assert finding.behind == (
        "-0.210 [-0.250, -0.150], p = 0.003 by paired t (0.600 against 0.810). 400 items and 3 "
        "seeds; paired by seed, on the same items; 95 % interval over seeds."
    )
    assert finding.rows == (row,)


def test_attack_is_named_and_the_least_of_the_networks_is_said() -> None:
    rows = [
        difference(-value, -value - 0.02, -value + 0.02, network=network, attack="pgd", bound=32.0)
        for network, value in (("a", 0.27), ("b", 0.19), ("c", 0.26))
    ]

    assert only(rows).text == (
        "Under PGD attacks of 32/255 they found the first choice of people less often: accuracy "
        "at least 19 percentage points lower in all three networks."
    )


def test_no_difference_is_said_with_its_numbers() -> None:
    finding = only([difference(0.01, -0.02, 0.03)])

    assert finding.kind == "not found"
    assert finding.text == (
        "Whether they found the first choice of people better or worse is open: accuracy 1 "
        "percentage point higher, and the interval includes zero."
    )
    assert "+0.010 [-0.020, 0.030]" in finding.behind


def test_networks_that_disagree_give_a_caution() -> None:
    rows = [
        difference(0.1, 0.05, 0.15, network="a"),
        difference(-0.1, -0.15, -0.05, network="b"),
    ]

    assert only(rows).kind == "caution"
    assert "from 10 percentage points lower to 10 percentage points higher, by the network" in (
        only(rows).text
    )


def test_one_network_of_three_is_no_consistent_difference() -> None:
    rows = [difference(0.1, 0.05 if n == "a" else -0.05, 0.15, network=n) for n in "abc"]

    assert only(rows).kind == "not found"
    assert "10 percentage points higher, and not every interval excludes zero" in only(rows).text


def test_test_that_disagrees_with_the_interval_gives_a_caution() -> None:
    finding = only([difference(0.1, 0.05, 0.15, p=0.2, test="sign test")])

    assert finding.kind == "caution"
    assert "p = 0.2 by sign test" in finding.behind


def test_difference_without_interval_says_nothing() -> None:
    assert only([difference(0.5, None, None)]).kind == "caution"


def test_interval_the_wrong_way_round_is_refused() -> None:
    with pytest.raises(DataError, match=r"'soft' minus 'hard' by 'accuracy' runs from 0.2 down"):
        only([difference(0.1, 0.2, 0.1)])


def planted(metric: str, first: float, second: float, **more: object) -> Contrast:
    value = first - second
    row = difference(value, value - 1e-4, value + 1e-4, metric=metric, **more)
    scores = (
        Estimate(metric, first, "soft", **more),  # type: ignore[arg-type]
        Estimate(metric, second, "hard", **more),  # type: ignore[arg-type]
    )
    return Contrast((row,), (scores,))


def test_bad_news_is_chosen_by_the_rule_that_chooses_good_news() -> None:
    good = [planted("cross_entropy", 0.5, 0.8), planted("second_best_accuracy", 0.8, 0.3)]
    attacked = {"attack": "fgsm", "bound": 32.0}
    bad = [planted("rms_calibration", 0.12, 0.02), planted("accuracy", 0.61, 0.79, **attacked)]
    small = [planted("entropy_correlation", 0.64, 0.63), planted("accuracy", 0.94, 0.95)]

    findings = choose_findings([*small, *good, *bad])

    assert [(one.way, one.rows[0].metric) for one in findings] == [
        ("better", "second_best_accuracy"),
        ("better", "cross_entropy"),
        ("better", "entropy_correlation"),
        ("worse", "rms_calibration"),
        ("worse", "accuracy"),
        ("worse", "accuracy"),
    ]
    assert "FGSM attacks of 32/255" in findings[4].text


def test_swapping_the_arms_swaps_good_and_bad() -> None:
    pairs = [("cross_entropy", 0.5, 0.8), ("accuracy", 0.6, 0.8), ("rms_calibration", 0.2, 0.1)]
    ways = {"better": "worse", "worse": "better"}

    there = choose_findings([planted(*pair) for pair in pairs])
    back = choose_findings([planted(metric, b, a) for metric, a, b in pairs])

    turned = {(ways[one.way], one.rows[0].metric) for one in there}
    assert {(one.way, one.rows[0].metric) for one in back} == turned


def test_of_one_metric_under_several_attacks_the_largest_difference_is_told() -> None:
    known = [
        planted("accuracy", 0.9 - 0.01 * bound, 0.9, attack=attack, bound=float(bound))
        for attack in ("fgsm", "pgd")
        for bound in (4, 8, 16)
    ]

    (finding,) = choose_findings(known)

    assert "FGSM attacks of 16/255" in finding.text


def test_where_little_is_clear_the_rest_is_told_as_open() -> None:
    rows = [difference(0.01, -0.02, 0.03, metric=each) for each in ("accuracy", "cross_entropy")]

    findings = choose_findings(contrasts(rows))

    assert [one.kind for one in findings] == ["not found", "not found"]


def modes(rest_low: float) -> list[Estimate]:
    return [
        difference(0.10, 0.06, 0.14, arm="soft", second="original"),
        difference(-0.06, -0.08, -0.04, arm="original", second="majority"),
        difference(0.04, rest_low, 0.07, arm="soft", second="majority"),
    ]


def test_part_of_the_gain_that_is_the_majority_vote() -> None:
    (finding,) = mode_shift(modes(0.01), "original", "majority", "soft")

    assert finding.kind == "found"
    assert "raised accuracy" in finding.text
    assert "the majority vote alone accounts for about 60% of it" in finding.text
    assert "+0.060 [0.040, 0.080] by the majority vote" in finding.behind


def test_gain_that_is_only_the_majority_vote_is_not_owed_to_softness() -> None:
    (finding,) = mode_shift(modes(-0.01), "original", "majority", "soft")

    assert finding.kind == "not found"
    assert "beyond the majority vote no difference was found" in finding.text


def test_references_are_held_against_the_best_arm_of_the_same_stratum() -> None:
    scores = [
        Estimate("cross_entropy", 0.5, "hard", low=0.45, high=0.55),
        Estimate("cross_entropy", 0.4, "soft", low=0.35, high=0.45),
        Estimate("cross_entropy", 0.1, "soft", low=0.05, high=0.15, stratum="unanimous"),
        Estimate("entropy_floor", 0.2),
        Estimate("class_oracle", 0.3),
    ]

    floor, oracle = references(scores)

    assert floor.text.startswith("The closest, soft, was 0.2 nats above what no model can go below")
    assert floor.behind.startswith("0.400 [0.350, 0.450] against 0.200.")
    assert oracle.way == "worse"
    assert oracle.text == (
        "Knowing only the class of each item would predict people better than soft, by 0.1 nats."
    )


def test_many_comparisons_few_seeds_and_undefined_scores_bring_cautions() -> None:
    rows = [difference(0.1, 0.05, 0.15, arm=f"arm {n}", seeds=(0, 1)) for n in range(40)]

    many, few, undefined = cautions(rows, [Estimate("accuracy", math.nan)])

    assert "about 2 would exclude zero by chance" in many
    assert "rest on 2 seeds or fewer" in few
    assert undefined == "Not defined for some arms or strata: accuracy."
