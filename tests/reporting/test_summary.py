import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.reporting.text import Finding, summarise
from sfumato.scores import Estimate


def difference(value: float, low: float | None, high: float | None, **more: object) -> Estimate:
    given = {"metric": "accuracy", "arm": "soft", "second": "hard", "over": "seeds",
             "items": 400, "seeds": (0, 1, 2), **more}  # fmt: skip
    return Estimate(value=value, low=low, high=high, **given)  # type: ignore[arg-type]


def only(findings: list[Finding]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


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
    finding = only(summarise([], rows))

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

    shift = summarise([], rows, modes=("original", "majority", "soft"))[3]

    clear = [
        one.low is not None and not math.isnan(one.low) and (one.low > 0 or (one.high or 0) < 0)
        for one in (rows[0], rows[2])
    ]
    if not all(clear):
        assert shift.kind == "not found"
    if "%" in shift.text.split("(")[0]:
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

    finding = only(summarise(scores, []))

    assert (finding.kind == "found") == (not low <= line <= high)


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("accuracy", 0.1, "higher accuracy than 'hard' against people, which is better"),
        ("accuracy", -0.1, "lower accuracy than 'hard' against people, which is worse"),
        ("cross_entropy", -0.1, "lower cross-entropy than 'hard' against people, which is better"),
        ("cross_entropy", 0.1, "higher cross-entropy than 'hard' against people, which is worse"),
        ("distance_to_people", 0.1, "higher distance to people's labels than 'hard' ("),
        ("entropy", 0.1, "higher entropy of the model than 'hard' against people ("),
    ],
)
def test_direction_words_follow_the_metric(metric: str, value: float, words: str) -> None:
    row = difference(value, value - 0.05, value + 0.05, metric=metric)

    assert words in only(summarise([], [row])).text


def test_sentence_shows_numbers_interval_items_and_seeds() -> None:
    row = difference(0.1, 0.05, 0.15, p=0.003, test="paired t test", simulated=True)

    finding = summarise([], [row])[1]

    assert finding == Finding(
        "'soft' had higher accuracy than 'hard' against people, which is better (+0.100 [0.050, "
        "0.150], p = 0.003 by paired t test; 95 % interval over seeds, 400 items, 3 seeds) "
        "[simulated annotators].",
        "found",
    )


def test_no_difference_is_said_with_its_numbers() -> None:
    finding = only(summarise([], [difference(0.01, -0.02, 0.03)]))

    assert finding.kind == "not found"
    assert finding.text.startswith("No difference was found between 'soft' and 'hard' in accuracy")
    assert "+0.010 [-0.020, 0.030]" in finding.text


def test_networks_that_disagree_give_a_caution() -> None:
    rows = [
        difference(0.1, 0.05, 0.15, network="a"),
        difference(-0.1, -0.15, -0.05, network="b"),
    ]

    finding = only(summarise([], rows))

    assert finding.kind == "caution"
    assert "depends on the network" in finding.text


def test_one_network_of_three_is_no_consistent_difference() -> None:
    rows = [difference(0.1, 0.05 if n == "a" else -0.05, 0.15, network=n) for n in "abc"]

    finding = only(summarise([], rows))

    assert finding.kind == "not found"
    assert "No consistent difference" in finding.text


def test_test_that_disagrees_with_the_interval_gives_a_caution() -> None:
    finding = only(summarise([], [difference(0.1, 0.05, 0.15, p=0.2, test="sign test")]))

    assert finding.kind == "caution"
    assert "p = 0.2 by sign test" in finding.text


def test_difference_without_interval_says_nothing() -> None:
    assert only(summarise([], [difference(0.5, None, None)])).kind == "caution"


def test_interval_the_wrong_way_round_is_refused() -> None:
    with pytest.raises(DataError, match=r"'soft' minus 'hard' by 'accuracy' runs from 0.2 down"):
        summarise([], [difference(0.1, 0.2, 0.1)])


def modes(rest_low: float) -> list[Estimate]:
    return [
        difference(0.10, 0.06, 0.14, arm="soft", second="original"),
        difference(-0.06, -0.08, -0.04, arm="original", second="majority"),
        difference(0.04, rest_low, 0.07, arm="soft", second="majority"),
    ]


def test_part_of_the_gain_that_is_the_majority_vote() -> None:
    findings = summarise([], modes(0.01), modes=("original", "majority", "soft"))

    assert findings[3].kind == "found"
    assert "raised accuracy" in findings[3].text
    assert "the majority vote alone accounts for about 60% of it" in findings[3].text
    assert "+0.060 [0.040, 0.080] by the majority vote" in findings[3].text


def test_gain_that_is_only_the_majority_vote_is_not_owed_to_softness() -> None:
    findings = summarise([], modes(-0.01), modes=("original", "majority", "soft"))

    assert findings[3].kind == "not found"
    assert "beyond the majority vote no difference was found" in findings[3].text


def test_references_are_held_against_the_best_arm_of_the_same_stratum() -> None:
    scores = [
        Estimate("cross_entropy", 0.5, "hard", low=0.45, high=0.55),
        Estimate("cross_entropy", 0.4, "soft", low=0.35, high=0.45),
        Estimate("cross_entropy", 0.1, "soft", low=0.05, high=0.15, stratum="unanimous"),
        Estimate("entropy_floor", 0.2),
    ]

    finding = only(summarise(scores, []))

    assert finding.kind == "found"
    assert "'soft': 0.400 [0.350, 0.450], above" in finding.text
    assert "(0.200;" in finding.text


def test_simulation_is_said_first() -> None:
    findings = summarise([Estimate("accuracy", 0.5, simulated=True)], [])

    assert findings[0].kind == "caution"
    assert findings[0].text.startswith("The annotators behind these numbers are simulated")


def test_partly_simulated_is_said_so() -> None:
    scores = [Estimate("accuracy", 0.5, simulated=True), Estimate("accuracy", 0.5)]

    assert summarise(scores, [])[0].text.startswith("Some of the annotators")


def test_many_comparisons_bring_a_caution() -> None:
    rows = [difference(0.1, 0.05, 0.15, arm=f"arm {n}") for n in range(40)]

    assert "about 2 would exclude zero by chance" in summarise([], rows)[-1].text


def test_few_seeds_and_undefined_scores_bring_cautions() -> None:
    findings = summarise(
        [Estimate("accuracy", math.nan)], [difference(0.1, 0.05, 0.15, seeds=(0, 1))]
    )

    assert "rest on 2 seeds or fewer" in findings[-2].text
    assert findings[-1].text == "Not defined for some arms or strata: accuracy."


def test_only_chosen_metrics_and_strata_are_spoken_of() -> None:
    rows = [
        difference(0.1, 0.05, 0.15),
        difference(0.1, 0.05, 0.15, metric="entropy"),
        difference(0.1, 0.05, 0.15, stratum="disputed"),
    ]

    assert len(summarise([], rows, metrics=["accuracy"])) == 1
    both = summarise([], rows, metrics=["accuracy"], strata=("all", "disputed"))
    assert "on disputed items" in both[1].text
