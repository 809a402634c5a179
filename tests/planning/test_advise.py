"""Advice: right where the answer is known, as sure as it may be, clear about what is missing."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats.datasets import read_cifar10h, read_cifar10s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.planning.advise import (
    Advice,
    Task,
    advise,
    items_first,
    needed_per_class,
    plan_json,
    rule_of_thumb,
)
from sfumato.planning.cost import PUBLISHED_SECONDS, Cost, given_costs
from sfumato.planning.information import FORMS
from sfumato.planning.pilot import ErrorRate, How, PilotStudy, pilot
from sfumato.planning.weigh import (
    Candidate,
    Draws,
    Spending,
    WeighingDraws,
    expect,
    people_grid,
    probabilities,
)
from sfumato.provenance import Step

Array = NDArray[np.float64]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def simulated(
    rho: dict[str, list[float]], disagreed: tuple[float, float] = (0.0, 0.4), worlds: int = 2
) -> WeighingDraws:
    """What a simulation might have said: ρ of each form at noise 0 and 1, the same everywhere."""
    named = [Candidate(form, 2 if form == "sparse" else None) for form in rho]
    table = np.tile(np.array(list(rho.values())), (worlds, 1, 1))
    apart = np.tile(np.array(disagreed), (len(rho), 1))
    return WeighingDraws(
        tuple(named), np.array([0.0, 1.0]), table, apart, items=50, dimensions=(5, 5)
    )


def piloted(
    form: str,
    rate: float = 0.1,
    seconds: float | None = 2.0,
    spread: float = 0.0,
    how: How = "agreement",
) -> PilotStudy:
    """A pilot that measured ``rate`` contradictions and ``seconds`` an answer."""
    kept = 2 if form == "sparse" else None
    error = ErrorRate(how, rate, rate + spread * np.linspace(-1, 1, 101), items=5, comparisons=45)
    votes = np.eye(3)[[0, 1, 0, 0]]
    item, person = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    crowd = CrowdLabels(("a", "b"), ("p", "q"), ("x", "y", "z"), item, person, votes)
    cost = None
    if seconds is not None:
        cost = Cost(form, seconds, kept=kept, answers=10, people=5, source="measured")
    return PilotStudy(form, kept, error, cost, crowd, 2.0)


def told(**options: object) -> Advice:
    """Hard against soft: soft recovers more, and costs ten times as much."""
    expected = simulated({"hard": [0.3, 0.1], "soft": [0.9, 0.5]})
    pilots = [piloted("hard", 0.0), piloted("soft", 0.0, seconds=20.0)]
    task = Task(100, 10, **{"beta": 1e-4, **options})  # type: ignore[arg-type]
    return advise(task, pilots=pilots, simulation=expected, rng=rng())


def test_the_loss_is_weight_times_cost_minus_correlation() -> None:
    soft, hard = told().alternatives

    assert (soft.form, hard.form) == ("soft", "hard")
    assert soft.cost == pytest.approx(100 * 20)
    assert soft.loss == pytest.approx(1e-4 * 2000 - 0.9)
    assert hard.loss == pytest.approx(1e-4 * 200 - 0.3)
    assert (soft.low, soft.high) == pytest.approx((soft.loss, soft.loss))


@pytest.mark.parametrize(("beta", "form"), [(1e-5, "soft"), (3e-4, "soft"), (4e-4, "hard")])
def test_the_choice_turns_where_both_are_equally_good(beta: float, form: str) -> None:
    given = told(beta=beta)

    assert given.form == form
    weight = next(change for change in given.changes if change.what == "weight of the cost")
    assert weight.at == pytest.approx(0.6 / 1800)  # (0.9 - 0.3) / (2000 - 200)
    assert weight.then != form


def test_people_an_item_multiply_the_cost() -> None:
    assert told(people=3).alternatives[0].cost == pytest.approx(3 * told().alternatives[0].cost)


def test_a_noisier_pilot_turns_the_advice() -> None:
    expected = simulated({"hard": [0.5, 0.5], "soft": [0.9, 0.1]})
    forms = [
        advise(
            Task(100, 10, beta=0.0),
            pilots=[piloted("hard", 0.05), piloted("soft", rate)],
            simulation=expected,
            rng=rng(),
        ).form
        for rate in (0.1, 0.3)  # noise 0.25 and 0.75: ρ of soft is 0.7 and 0.3
    ]

    assert forms == ["soft", "hard"]


def test_the_probability_is_the_share_of_the_pilots_uncertainty_in_which_a_form_wins() -> None:
    expected = simulated({"hard": [0.5, 0.5], "soft": [0.9, 0.1]})  # soft wins below δ = 0.2
    pilots = [piloted("hard"), piloted("soft", 0.15, spread=0.1)]  # even from 0.05 to 0.25

    given = advise(Task(100, 10, beta=0.0), pilots=pilots, simulation=expected, rng=rng())

    assert given.form == "soft"
    assert given.probability == pytest.approx(0.75, abs=0.04)
    assert sum(each.probability for each in given.alternatives) == pytest.approx(1)


def test_a_given_error_rate_sets_the_noise_at_which_two_people_contradict_as_often() -> None:
    given = advise(
        Task(100, 10, beta=0.0),
        costs=given_costs({"hard": 1, "soft": 1}),
        errors={"hard": 0.0, "soft": 0.2},  # δ = 2 · 0.2 · 0.8 = 0.32, which is noise 0.8
        simulation=simulated({"hard": [0.3, 0.1], "soft": [0.9, 0.5]}),
        rng=rng(),
    )

    soft, hard = given.alternatives
    assert soft.rho == pytest.approx(0.9 - 0.8 * 0.4)
    assert hard.rho == pytest.approx(0.3)


def test_worlds_are_shared_by_all_forms() -> None:
    expected = simulated({"hard": [0.2, 0.2], "soft": [0.3, 0.3]})
    easy = expected.rho + np.array([0.0, 0.5])[:, None, None]  # one world is easy for everybody
    shared = WeighingDraws(
        expected.candidates, expected.noises, easy, expected.disagreed, 50, (5, 5)
    )

    given = advise(
        Task(100, 10, beta=0.0),
        errors={"hard": 0.1, "soft": 0.1},
        costs=given_costs({"hard": 1, "soft": 1}),
        simulation=shared,
        rng=rng(),
    )

    assert given.probability is not None
    assert given.probability > 0.99


def test_probabilities_are_never_quite_nought_or_one() -> None:
    drawn = Draws(np.zeros((10, 2)), np.ones((10, 2)), np.tile([0.0, 1.0], (10, 1)))

    assert probabilities(drawn) == pytest.approx([10.5 / 11, 0.5 / 11])


def test_a_budget_buys_people_and_the_default_is_one_answer_of_the_dearest() -> None:
    prices = np.array([2.0, 20.0])

    assert Spending(budget="dearest").people_for(prices).tolist() == [10, 1]
    assert Spending(budget=5).people_for(prices).tolist() == [2.5, 0]
    assert Spending(beta=0.1, people=3).people_for(prices).tolist() == [3, 3]
    given = told(beta=None)
    assert given.criterion == "budget"
    assert {each.form: each.people for each in given.alternatives} == {"soft": 1, "hard": 10}
    assert given.sources["budget"] == "assumed"


def test_the_simulated_numbers_of_people_span_what_the_budget_may_buy() -> None:
    costs = [Cost("hard", 2), Cost("soft", 20, low=10, high=40, people=5, source="measured")]

    hard, soft = people_grid(costs, Spending(budget="dearest"))

    assert hard[0] <= 5
    assert hard[-1] >= 20
    assert soft == (1,)


def test_given_numbers_go_before_measured_ones_and_each_says_where_it_is_from() -> None:
    given = advise(
        Task(100, 10, beta=1e-4),
        pilots=[piloted("hard"), piloted("soft", how="repeats")],
        costs={"hard": Cost("hard", 1.8)},
        errors={"hard": 0.2},
        simulation=simulated({"hard": [0.3, 0.1], "soft": [0.9, 0.5]}),
        rng=rng(),
    )

    assert given.sources["cost of hard"] == "given"
    assert given.sources["cost of soft"] == "measured"
    assert given.sources["error of hard"] == "given"
    assert given.sources["error of soft"] == "measured (repeats of 5 people)"
    assert given.sources["dimensions"] == "assumed"
    assert any("1.8 seconds (given)" in reason for reason in given.reasons)
    assert any("repeats of 5 people" in reason for reason in given.reasons)


def test_changes_name_a_price_and_a_noise_at_which_another_form_wins() -> None:
    found = {change.what: change for change in told().changes}

    assert found["cost of a soft answer"].at == pytest.approx(100)  # above 76 s hard is better
    assert found["cost of a soft answer"].then == "hard"
    assert "hard would be better" in found["cost of a soft answer"].sentence
    assert "noise of soft answers" not in found  # even noisy, soft recovers more than hard


def test_another_utility_that_changes_the_choice_is_named() -> None:
    expected = simulated({"hard": [0.9, 0.9], "soft": [0.98, 0.98]})
    pilots = [piloted("hard"), piloted("soft", seconds=20.0)]

    given = advise(Task(100, 10, beta=1e-4), pilots=pilots, simulation=expected, rng=rng())

    assert given.form == "hard"
    assert [c.then for c in given.changes if "inverse-sigmoid" in c.sentence] == ["soft"]


def test_people_and_items_to_begin_with_come_with_the_advice() -> None:
    known = LabelSet(("a", "b", "c"), ("x", "y"), np.array([[0.5, 0.5], [1, 0], [0.99, 0.01]]))
    given = advise(
        Task(100, 10, beta=1e-4),
        pilots=[piloted("hard"), piloted("soft")],
        simulation=simulated({"hard": [0.3, 0.1], "soft": [0.9, 0.5]}),
        known=known,
        rng=rng(),
    )

    assert given.first == ("a",)
    assert given.enough is not None
    assert given.enough.M >= 1


@pytest.mark.parametrize(("items", "form"), [(5, "soft"), (20, "soft"), (2000, "hard")])
def test_with_nothing_known_the_rule_of_thumb_speaks(items: int, form: str) -> None:
    given = advise(Task(items, 20), rng=rng())

    assert (given.form, given.criterion, given.probability) == (form, "rule of thumb", None)
    assert given == rule_of_thumb(items, 20)


@pytest.mark.parametrize("given", [rule_of_thumb(80, 20), told(beta=None), told()])
def test_the_plan_is_json_of_the_promised_shape(given: Advice) -> None:
    plan = json.loads(json.dumps(plan_json(Task(80, 20), given), allow_nan=False))

    assert set(plan) == {"information", "advice"}
    assert set(plan["information"]) == set(FORMS)
    assert plan["information"]["hard"] == {"constraints": 7600, "ratio": 7600 / 485100}
    assert plan["information"]["soft"]["constraints"] == 78400
    assert plan["advice"]["form"] == given.form
    assert len(plan["advice"]["alternatives"]) == len(given.alternatives)


def test_simulated_worlds_know_that_soft_tells_more_and_noise_less() -> None:
    asked = [Candidate("hard"), Candidate("soft"), Candidate("hard", people=12)]

    found = expect(
        asked, items=20, classes=5, dimensions=(5,), worlds=3, noises=(0.0, 0.6, 3.0), rng=rng()
    )

    hard, soft, many = found.rho.mean(axis=0)
    assert soft[0] > hard[0] + 0.15
    assert soft[0] > soft[1] > soft[2]
    assert many[1] > hard[1] + 0.1  # votes of people who err differently say how sure they are
    assert (np.diff(found.disagreed, axis=1) > 0).all()
    assert found.disagreed[:2, 0] == pytest.approx([0, 0])


def test_a_real_pilot_says_what_equal_time_buys(data_folder: Path) -> None:
    options = ReadOptions(key=lambda: "key")
    soft = read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", options)
    votes = read_cifar10h(data_folder / "cifar10h" / "cifar10h-counts.npy", options)
    some = soft.table["item"].unique().sort().to_list()[:50]  # 5 % of the items
    pilots = [
        pilot(each.take(each.table["item"].is_in(some), Step("pilot")), rng=rng())
        for each in (soft, votes)
    ]
    costs = {
        "hard": Cost("hard", PUBLISHED_SECONDS["cifar10h-s3"][1]),
    }
    people = people_grid([pilots[0].cost or costs["hard"], costs["hard"]], Spending(budget=192))
    asked = [Candidate("sparse", 2, M) for M in people[0]]
    asked += [Candidate("hard", None, M) for M in people[1]]
    expected = expect(
        asked, items=15, classes=10, dimensions=(25,), worlds=2, noises=(0, 0.5, 2), rng=rng()
    )

    given = advise(Task(1000, 10, budget=192), pilots=pilots, costs=costs, simulation=expected,
                   rng=rng())  # fmt: skip

    bought = {each.form: each for each in given.alternatives}
    assert bought["hard"].people == pytest.approx(192 / 1.8)
    assert 5 < bought["sparse"].people < 7  # about six people, as were asked
    assert bought["sparse"].cost_source == "measured"
    assert bought["sparse"].error_from == "agreement between people on 50 items"
    assert given.probability is not None
    assert 0.5 <= given.probability <= 1
    assert any("(measured, " in reason for reason in given.reasons)


def test_votes_without_times_need_a_price() -> None:
    with pytest.raises(DataError, match="hard answers have no times"):
        advise(Task(100, 10), pilots=[piloted("hard", seconds=None), piloted("soft")], rng=rng())


def test_a_form_without_data_is_one_sentence() -> None:
    task = Task(100, 10, forms=("hard", "soft"), beta=1e-4)

    with pytest.raises(DataError, match="holds no answers of the form 'soft'"):
        advise(task, pilots=[piloted("hard")], rng=rng())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"items": 2}, "number of items is 2"),
        ({"classes": 2}, "number of classes is 2"),
        ({"kept": (11,)}, "11 classes an answer"),
        ({"dimensions": 0}, "0 dimensions"),
    ],
)
def test_an_impossible_task_is_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Task(**{"items": 100, "classes": 10, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("price", [0, -1, float("nan")])
def test_a_cost_of_nothing_or_less_is_refused(price: float) -> None:
    with pytest.raises(DataError, match="give a cost above zero"):
        advise(Task(100, 10), costs=given_costs({"hard": price, "soft": 3}), rng=rng())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0.0, "beta": None}, "budget an item is 0"),
        ({"budget": 1.0, "beta": None}, "pays for no answer; the cheapest, hard, costs 2"),
        ({"beta": -1.0}, "weight of the cost"),
        ({"beta": 1.0, "budget": 5.0}, "either a weight of the cost"),
        ({"people": 0}, "0 people per item"),
    ],
)
def test_spending_that_makes_no_sense_is_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        told(**options)


def test_one_form_or_two_pilots_of_one_or_two_units_are_refused() -> None:
    with pytest.raises(DataError, match="needs two forms"):
        advise(Task(100, 10), pilots=[piloted("hard")], rng=rng())
    with pytest.raises(DataError, match="Two pilots hold answers of the same form"):
        advise(Task(100, 10), pilots=[piloted("hard"), piloted("hard")], rng=rng())
    mixed = {"hard": Cost("hard", 1.0, "euros"), "soft": Cost("soft", 20.0)}
    with pytest.raises(DataError, match="all costs in one unit"):
        advise(Task(100, 10), costs=mixed, rng=rng())


def test_names_nobody_knows_and_forms_nobody_simulates_are_refused() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'hard'"):
        Task(100, 10, forms=("herd", "soft"))
    with pytest.raises(DataError, match="counted but not simulated"):
        advise(Task(100, 10, forms=("hard", "triplets"), beta=1.0), rng=rng())
    with pytest.raises(DataError, match=r"error rate of hard answers is 0\.7"):
        advise(Task(100, 10, beta=1.0), costs=given_costs({"hard": 1, "soft": 2}),
               errors={"hard": 0.7}, rng=rng(),
               simulation=simulated({"hard": [0.3, 0.1], "soft": [0.9, 0.5]}))  # fmt: skip


# Which items first: the uncertain ones, enough of each class, and how many a class needs.


CLASSES = ("cat", "dog", "deer")


def labels(*rows: tuple[float, ...]) -> LabelSet:
    return LabelSet(tuple(f"i{at}" for at in range(len(rows))), CLASSES, np.array(rows))


def test_uncertain_items_come_first_until_they_carry_the_share() -> None:
    known = labels((0.5, 0.5, 0), (1, 0, 0), (0.9, 0.1, 0), (0, 0.5, 0.5))

    order = items_first(known, carries=0.8)

    assert order["item"].to_list() == ["i0", "i3", "i2", "i1"]
    assert order["why"].to_list() == ["uncertain", "uncertain", "rest", "rest"]
    assert order["carried"][-1] == pytest.approx(1)


def test_a_class_without_uncertain_items_gets_its_floor_before_the_rest() -> None:
    known = labels((0.5, 0.5, 0), (1, 0, 0), (0.98, 0.02, 0), (0, 0, 1), (0, 0, 1))

    order = items_first(known, carries=0.5, per_class=1)

    assert order["item"].to_list()[:2] == ["i0", "i3"]
    assert order["why"].to_list() == ["uncertain", "class", "rest", "rest", "rest"]


def test_without_any_uncertainty_nothing_is_called_uncertain() -> None:
    order = items_first(labels((1, 0, 0), (0, 1, 0)), per_class=1)

    assert order["why"].to_list() == ["class", "class"]
    assert order["carried"].to_list() == [0, 0]


@given(st.lists(st.tuples(*[st.floats(0.01, 1)] * 3), min_size=1, max_size=12), st.integers(0, 4))
def test_every_item_has_one_place(rows: list[tuple[float, ...]], per_class: int) -> None:
    known = labels(*(tuple(np.array(row) / sum(row)) for row in rows))

    order = items_first(known, per_class=per_class)

    assert sorted(order["item"]) == sorted(known.items)
    assert order["place"].to_list() == list(range(1, len(rows) + 1))
    for name in CLASSES:  # the floor is reached, or the class has no more items
        mine = order.filter(order["class"] == name)
        assert (mine["why"] != "rest").sum() >= min(per_class, len(mine))


def test_thirty_per_cent_of_cifar10h_carry_most_of_its_entropy(data_folder: Path) -> None:
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    classes = tuple(map(str, range(10)))
    probs = counts / counts.sum(axis=1, keepdims=True)
    known = LabelSet(tuple(map(str, range(len(probs)))), classes, probs)

    order = items_first(known)

    assert order["carried"][2999] == pytest.approx(0.826, abs=5e-4)  # S0-14
    assert (order["why"] == "uncertain").sum() < 3000


@pytest.mark.parametrize("truth", [(0.9, 2.0, 1.0), (0.95, 1.0, 0.5)])
def test_a_learning_curve_is_read_where_it_reaches_the_target(
    truth: tuple[float, float, float],
) -> None:
    a, b, c = truth
    sizes = np.array([5, 10, 20, 50, 100])

    needed = needed_per_class(sizes.tolist(), (a - b * sizes**-c).tolist(), target=a - b * 200**-c)

    assert abs(needed - 200) <= 1


@pytest.mark.parametrize(
    ("sizes", "scores", "message"),
    [
        ([10, 20], [0.5, 0.6], "three numbers of items"),
        ([0, 10, 20], [0.1, 0.5, 0.6], "above zero"),
        ([10, 20, 40], [0.7, 0.8, 0.85], r"levels off at 0\.9"),
    ],
)
def test_a_curve_that_cannot_answer_says_so(
    sizes: list[float], scores: list[float], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        needed_per_class(sizes, scores, target=0.99)


def test_a_share_or_floor_out_of_range_is_refused() -> None:
    with pytest.raises(DataError, match=r"share of uncertainty is 0"):
        items_first(labels((1, 0, 0)), carries=0)
    with pytest.raises(DataError, match=r"-1 items a class"):
        items_first(labels((1, 0, 0)), per_class=-1)


def beliefs(items: int = 40, classes: int = 5) -> LabelSet:
    """What a made-up model believes: softmax of random logits."""
    logits = np.random.default_rng(3).normal(size=(items, classes))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return LabelSet(tuple(map(str, range(items))), tuple("abcde"[:classes]), probs)


def test_a_model_that_answers_tells_a_pupil_more_by_soft_answers() -> None:
    task = Task(items=40, classes=5, beta=1e-9)

    advice = advise(task, oracle=beliefs(), rng=np.random.default_rng(0))

    rho = {(one.form, one.kept): one.rho for one in advice.alternatives}
    assert rho["soft", None] > rho["sparse", 2] > rho["hard", None]
    assert rho["soft", None] > 0.8  # all that it believes, as it believes it
    assert advice.form == "soft"
    assert advice.sources["rho"] == "a model's answers"
    assert any("what a pupil could learn" in reason for reason in advice.reasons)
    assert {one.error for one in advice.alternatives} == {0.0}


def test_beliefs_about_other_classes_are_refused() -> None:
    with pytest.raises(DataError, match="believes in 4 classes and the task has 5"):
        advise(Task(items=9, classes=5), oracle=beliefs(classes=4), rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="something of 2 items; give 3 or more"):
        advise(Task(items=9, classes=5), oracle=beliefs(items=2), rng=np.random.default_rng(0))
