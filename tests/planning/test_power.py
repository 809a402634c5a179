"""Power: variances are those of the analysis of variance, the null gives α, more never harms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import sfumato as sf
from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels
from sfumato.planning.power import (
    Comparison,
    FormScores,
    PilotScores,
    Variances,
    plan_power,
    power_of,
    score_answers,
)


def scores(table: NDArray[np.float64]) -> PilotScores:
    """From (items, people); NaN where nobody answered."""
    item, person = np.nonzero(np.isfinite(table))
    return PilotScores(table[item, person], item, person)


def made_up(items: int, people: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    rest = rng.normal(size=(items, people))
    return rng.normal(0, 0.8, (items, 1)) + rng.normal(0, 0.5, people) + rest


def known(item: float, person: float, rest: float) -> Variances:
    return Variances(*(np.array([value]) for value in (item, person, rest)))


def test_variances_of_a_complete_table_are_those_of_two_way_anova() -> None:
    table = made_up(40, 6)
    mean, n, k = table.mean(), *table.shape
    rows, columns = table.mean(axis=1) - mean, table.mean(axis=0) - mean
    left = table - mean - rows[:, None] - columns
    rest = (left**2).sum() / ((n - 1) * (k - 1))
    item = (k * (rows**2).sum() / (n - 1) - rest) / k
    person = (n * (columns**2).sum() / (k - 1) - rest) / n

    found = scores(table).variances()

    assert (found.item[0], found.person[0], found.rest[0]) == pytest.approx((item, person, rest))


def test_variances_are_unbiased_where_answers_are_missing() -> None:
    found = []
    for seed in range(200):
        table = made_up(30, 8, seed)
        table[np.random.default_rng(seed).random(table.shape) < 0.4] = np.nan
        one = scores(table).variances()
        found.append((one.item[0], one.person[0], one.rest[0]))

    assert np.mean(found, axis=0) == pytest.approx([0.64, 0.25, 1.0], abs=0.06)


@pytest.mark.parametrize("between", ["items", "people"])
def test_power_is_that_of_the_t_test_and_the_null_gives_alpha(between: str) -> None:
    comparison = Comparison(0.4, between)  # type: ignore[arg-type]
    variances = known(0.3, 0.2, 1.0)
    square = 2 * (0.3 + 1 / 5) / 20 if between == "items" else 2 * (0.2 + 1 / 20) / 5
    freedom = 38 if between == "items" else 8
    end = stats.t.ppf(0.975, freedom)
    away = 0.4 / np.sqrt(square)
    expected = stats.nct.sf(end, freedom, away) + stats.nct.cdf(-end, freedom, away)

    assert power_of(variances, comparison, 20, 5)[0] == pytest.approx(expected, abs=1e-6)
    nothing = Comparison(1e-9, between)  # type: ignore[arg-type]
    assert power_of(variances, nothing, 20, 5)[0] == pytest.approx(0.05, abs=1e-6)


@given(
    items=st.integers(3, 500), people=st.integers(2, 100), effect=st.floats(0.01, 2),
    new=st.booleans(),
)  # fmt: skip
def test_more_items_people_and_effect_never_harm(
    items: int, people: int, effect: float, new: bool
) -> None:
    variances = known(0.3, 0.2, 1.0)
    base = power_of(variances, Comparison(effect, new_people=new), items, people)[0]

    for more in (
        (items + 1, people, effect),
        (items, people + 1, effect),
        (items, people, effect * 1.1),
    ):
        comparison = Comparison(more[2], new_people=new)
        assert power_of(variances, comparison, more[0], more[1])[0] >= base - 1e-6


def test_the_cheapest_form_wins_and_worth_is_an_exchange_rate() -> None:
    drawn = scores(made_up(50, 5)).draw(np.random.default_rng(0))
    click = FormScores("hard", drawn, 2.0, "seconds")
    statement = FormScores("soft", drawn.per_answer(1.3), 32.0, "seconds")

    found = plan_power([click, statement], Comparison(0.5), outcome="mean", most_items=1000)

    assert found.best is not None
    assert found.best.form == "hard"
    assert {one.form for one in found.designs} == {"hard", "soft"}
    assert found.rates["soft"] == pytest.approx(1.3)
    assert all(one.power >= 0.8 and one.low <= one.power <= one.high for one in found.designs)
    assert all(one.answers == 2 * one.items * one.people for one in found.designs)


def test_what_cannot_be_reached_is_said() -> None:
    drawn = scores(made_up(50, 5)).draw(np.random.default_rng(0))

    found = plan_power([FormScores("hard", drawn)], Comparison(0.01), outcome="x", most_items=20)

    assert found.best is None
    assert "No design in reach" in next(found.lines())
    assert "the power would be" in found.remarks[-1]


def votes(rows: NDArray[np.int64]) -> CrowdLabels:
    item, who = np.indices(rows.shape)
    return CrowdLabels(
        [f"i{at}" for at in range(len(rows))], [f"p{at}" for at in range(rows.shape[1])],
        ("no", "yes"), item.ravel(), who.ravel(), said=rows.ravel(),
    )  # fmt: skip


def test_clusters_count_as_one_item() -> None:
    crowd = votes(np.array([[1, 0], [0, 0], [1, 1], [1, 0]]))

    found, told = score_answers(crowd, "yes", {"i0": "a", "i1": "a"})

    assert told == "share of 'yes'"
    assert len(np.unique(found.item)) == 3
    assert sorted(found.score.tolist()) == [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]


def test_plan_tells_items_people_and_price_from_a_pilot() -> None:
    rng = np.random.default_rng(0)
    said = rng.random((50, 5)) < rng.random((50, 1))
    rows = [
        {"item": f"{item:02}", "annotator": f"p{who}", "answer": "yes" if one else "no"}
        for (item, who), one in np.ndenumerate(said)
    ]

    made = sf.plan(1000, 3, pilot=rows, effect=0.15, outcome="yes", cost={"hard": 2})
    told = made.to_json()["power"]

    assert made.power is not None
    assert told["designs"][0]["price"] == 2 * told["designs"][0]["answers"]
    assert (told["effect"], told["between"], told["outcome"]) == (0.15, "items", "share of 'yes'")
    with pytest.raises(DataError, match="from a pilot only"):
        sf.plan(1000, 3, effect=0.1)
    with pytest.raises(DataError, match="above 0"):
        sf.plan(1000, 3, pilot=rows, effect=-1)


def test_the_rule_of_thumb_never_jumps() -> None:
    from sfumato.planning.advise import rule_of_thumb

    for classes in (3, 5, 10, 20, 50):
        before: tuple[int, int] | None = None
        for items in range(3, classes**2 + 60):
            advice = rule_of_thumb(items, classes)
            named = {"soft": classes, "hard": 1}.get(advice.form, advice.kept)
            assert named is not None
            if before is not None:  # never more classes, and never many fewer at once
                assert named <= before[0]
                assert before[0] - named <= 0.2 * classes + 1
            before = named, items
        assert before is not None
        assert before[0] == 1
    assert rule_of_thumb(20, 20).form == rule_of_thumb(21, 20).form == "soft"
