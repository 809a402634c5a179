import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import read_cifar10s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, judgments_from, select
from sfumato.judgments.question import ask
from sfumato.labels.build import build
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.simulate.crowd import Beta, route_items
from sfumato.labels.simulate.top_two import (
    CIFAR10S_HABITS,
    HABITS,
    Habits,
    HabitsName,
    TopTwoModel,
    _written,
    cifar10s_top_two,
    compare_marginals,
    draw_choices,
    fit_top_two,
    simulate_top_two,
    two_choices,
)
from sfumato.provenance import Step, is_simulated

CLASSES = ("cat", "deer", "dog", "frog")
SURE = Habits(Beta(1e6, 1), (1.0, 0.0, 0.0, 0.0), 0.0, None, 0)
DISTANCES = np.array([[0, 3, 1, 2], [1, 0, 2, 3], [1, 2, 0, 3], [3, 2, 1, 0]], dtype=float)


def answer(
    first: str, percent: str, second: str | None = None, percent2: str = "", *, out: str = ""
) -> str:
    return json.dumps(
        {
            "first": first,
            "first_percent": percent,
            "second": second,
            "second_percent": percent2,
            "ruled_out": out.split(),
        }
    )


def judgments(*rows: tuple[str, str]) -> Judgments:
    table = pl.DataFrame(rows, schema=["item", "answer"], orient="row")
    return Judgments(ask("top-two", CLASSES), table)


class BothHabits(NamedTuple):
    high: Habits
    low: Habits


def habits_of(model: TopTwoModel) -> BothHabits:
    """The habits of a model that draws its numbers independently."""
    assert isinstance(model.high, Habits)
    assert isinstance(model.low, Habits)
    return BothHabits(model.high, model.low)


@pytest.fixture(scope="module")
def cifar10s(data_folder: Path) -> Judgments:
    return read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", ReadOptions())


@pytest.fixture(scope="module")
def cifar10h(data_folder: Path, cifar10s: Judgments) -> LabelSet:
    probs = np.load(data_folder / "cifar10h" / "cifar10h-probs.npy")
    return LabelSet(tuple(map(str, range(10_000))), cifar10s.question.classes, probs)


def test_fit_counts_what_was_said_by_route() -> None:
    reference = LabelSet(("a", "b"), CLASSES, np.array([[1.0, 0, 0, 0], [0.5, 0, 0.5, 0]]))
    real = judgments(
        ("a", answer("cat", "100", out="deer dog frog")),
        ("a", answer("cat", "90", out="deer frog")),
        ("b", answer("dog", "60", "cat", "30", out="deer frog")),
        ("b", answer("cat", "80", "dog", "10")),
        ("b", answer("cat", "70", out="frog")),
    )

    model = habits_of(fit_top_two(real, reference))

    assert (model.low.answers, model.high.answers) == (2, 3)
    assert model.low.possible == (0.5, 0.5, 0.0, 0.0)
    assert model.high.possible == pytest.approx((0, 1 / 3, 1 / 3, 1 / 3))
    assert model.low.naming == 0.0
    assert model.low.top2 is None
    assert model.high.naming == pytest.approx(2 / 3)
    assert model.high.top1.mean == pytest.approx(0.7)
    assert model.high.top2 is not None
    assert model.high.top2.mean == pytest.approx(0.2)


def test_classes_named_together_are_near_and_the_reference_decides_the_rest() -> None:
    reference = LabelSet(("a",), CLASSES, np.array([[0.6, 0.0, 0.1, 0.3]]))
    real = judgments(
        ("a", answer("cat", "60", "dog", "30")),
        ("a", answer("cat", "60", "dog", "30")),
        ("a", answer("deer", "60", "frog", "30")),
    )

    distances = fit_top_two(real, reference).distances

    # cat and dog twice; cat and frog only by the reference; cat and deer never
    assert distances[0].argsort().tolist() == [0, 2, 3, 1]
    assert distances[1].argmin() == 1
    assert distances[1, 3] < distances[1, 0] == distances[1, 2]
    # shares of (named + confused + 1/3), in all 2 + 1 + 1 answers
    assert distances[0, 2] == pytest.approx(-np.log((2 + 0.1 / 0.4 + 1 / 3) / 4))


def test_route_without_answers_takes_the_habits_of_all() -> None:
    reference = LabelSet(("a",), CLASSES, np.array([[0.5, 0, 0.5, 0]]))
    real = judgments(("a", answer("cat", "80", "dog", "10")), ("a", answer("cat", "60")))

    model = habits_of(fit_top_two(real, reference))

    assert model.low.answers == 0
    assert model.low.top1 == model.high.top1


def test_who_rules_everything_out_leaves_the_own_choice_possible() -> None:
    reference = hard_labels(["a"], CLASSES, np.array([0]))
    real = judgments(("a", answer("cat", "100", out="cat deer dog frog")))

    model = habits_of(fit_top_two(real, reference, rule="released"))

    assert model.low.possible == (1.0, 0.0, 0.0, 0.0)


def test_sure_people_with_one_hot_labels_give_the_label() -> None:
    labels = hard_labels(["a", "b", "c"], CLASSES, np.array([2, 0, 3]))
    model = TopTwoModel(CLASSES, SURE, SURE, DISTANCES)

    answers = simulate_top_two(model, labels, per_item=4, rng=np.random.default_rng(0))

    built = build(answers, "top2-clamp").crowd.mean()
    assert (built.take(labels.items).probs == labels.probs).all()


def test_the_nearest_class_is_the_alternative_and_the_farthest_are_ruled_out() -> None:
    labels = hard_labels(["a"], CLASSES, np.array([3]))
    habits = Habits(Beta(7e5, 3e5), (0.0, 0.0, 1.0, 0.0), 1.0, Beta(2e5, 8e5), 0)
    model = TopTwoModel(CLASSES, habits, habits, DISTANCES)

    answers = simulate_top_two(model, labels, per_item=1, rng=np.random.default_rng(0))

    # from frog: dog 1, deer 2, cat 3; three classes stay possible
    assert json.loads(answers.table["answer"][0]) == {
        "first": "frog",
        "first_percent": "70",
        "second": "dog",
        "second_percent": "20",
        "ruled_out": ["cat"],
    }
    assert build(answers, "top2-clamp").crowd.probs == pytest.approx(
        np.array([[0, 0.1, 0.2, 0.7]])  # the rest goes to deer, the class left possible (S2-35)
    )


@settings(max_examples=30)
@given(
    probs=st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), min_size=1),
    per_item=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_every_simulated_answer_can_be_read_and_contradicts_nothing(
    probs: list[list[int]], per_item: int, seed: int
) -> None:
    rows = np.array(probs) / np.sum(probs, axis=1, keepdims=True)
    labels = LabelSet(tuple(map(str, range(len(rows)))), CLASSES, rows)

    simulated = simulate_top_two(
        cifar10s_top_two(labels), labels, per_item=per_item, rng=np.random.default_rng(seed)
    )

    lines = range(len(simulated))
    again = judgments_from(simulated.question, simulated.table, file="x", lines=lines)
    assert not again.rejected
    odd = {name for name, where in again.statements.oddities.items() if where.any()}
    assert odd <= {"mass-over", "mass-under", "second-above-first"}
    chosen = two_choices(simulated).first
    item = simulated.table["item"].cast(pl.Int64).to_numpy()
    assert (rows[item, chosen] > 0).all()


def test_first_choices_converge_to_the_reference() -> None:
    labels = LabelSet(("a",), CLASSES, np.array([[0.5, 0.3, 0.2, 0.0]]))

    simulated = simulate_top_two(
        cifar10s_top_two(labels), labels, per_item=20_000, rng=np.random.default_rng(0)
    )

    shares = np.bincount(two_choices(simulated).first, minlength=4) / 20_000
    np.testing.assert_allclose(shares, labels.probs[0], atol=0.0142)  # four standard errors


def test_fitting_simulated_people_finds_what_they_were_made_of() -> None:
    rng = np.random.default_rng(0)
    probs = np.array([[0.6, 0.1, 0.2, 0.1], [1.0, 0, 0, 0]] * 200)
    labels = LabelSet(tuple(map(str, range(400))), CLASSES, probs)
    high = Habits(Beta(4, 1), (0.3, 0.4, 0.2, 0.1), 0.5, Beta(2, 6), 0)
    low = Habits(Beta(9, 1), (0.7, 0.1, 0.1, 0.1), 0.1, Beta(1, 4), 0)

    simulated = simulate_top_two(
        TopTwoModel(CLASSES, high, low, DISTANCES), labels, per_item=100, rng=rng
    )
    fitted = habits_of(fit_top_two(simulated, labels))

    for found, made in ((fitted.high, high), (fitted.low, low)):
        assert made.top2 is not None
        assert found.top2 is not None
        np.testing.assert_allclose(found.possible, made.possible, atol=0.015)
        assert found.naming == pytest.approx(made.naming, abs=0.015)
        assert (found.top1.a, found.top1.b) == pytest.approx((made.top1.a, made.top1.b), rel=0.05)
        assert found.top2.mean == pytest.approx(made.top2.mean, abs=0.01)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_published_people_name_the_nearest_class_whenever_one_is_possible(seed: int) -> None:
    labels = LabelSet(("a", "b"), CLASSES, np.array([[0.6, 0.1, 0.2, 0.1], [1.0, 0, 0, 0]]))
    given = ClassDistances(CLASSES, DISTANCES)
    people = {
        habits: cifar10s_top_two(labels, habits=habits, distances=given)
        for habits in ("independent", "published")
    }

    said = {
        habits: two_choices(
            simulate_top_two(model, labels, per_item=40, rng=np.random.default_rng(seed))
        )
        for habits, model in people.items()
    }

    thesis, ours = said["published"], said["independent"]
    nearest = np.where(np.eye(4, dtype=bool), np.inf, DISTANCES).argmin(axis=1)
    assert (thesis.named == (thesis.possible >= 2)).all()  # S2-34: if K_p ≥ 1
    assert (thesis.second[thesis.named] == nearest[thesis.first[thesis.named]]).all()  # S2-32
    assert (ours.possible >= 2)[ours.named].all()
    assert ours.named.sum() < (ours.possible >= 2).sum()  # as many as people did, not all


def test_published_people_are_fitted_as_the_others_but_for_naming(
    cifar10s: Judgments, cifar10h: LabelSet
) -> None:
    real = select(cifar10s)
    thesis, ours = (
        habits_of(fit_top_two(real, cifar10h, habits=habits))
        for habits in ("published", "independent")
    )

    for published, independent in zip(thesis, ours, strict=True):
        assert published == replace(independent, naming=1.0)
    assert ours.high.naming == pytest.approx(0.5567, abs=5e-5)


def test_same_seed_same_answers_by_simulated_people() -> None:
    labels = hard_labels(["a", "b", "c"], CLASSES, np.array([2, 0, 3]))
    model = cifar10s_top_two(labels)

    first, second = (
        simulate_top_two(model, labels, per_item=2, annotators=5, rng=np.random.default_rng(4))
        for _ in range(2)
    )

    assert first.table.equals(second.table)
    assert is_simulated(first.provenance)
    assert all(name.startswith("simulated-") for name in first.annotators)
    assert len(first) == 6


@pytest.mark.parametrize("width", [2, 4, 10, 13])
def test_habits_of_ten_classes_serve_any_number_of_classes(width: int) -> None:
    classes = tuple(f"c{number}" for number in range(width))
    labels = hard_labels(["a"], classes, np.array([1]))

    model = habits_of(cifar10s_top_two(labels))

    assert len(model.high.possible) == width
    assert sum(model.high.possible) == pytest.approx(1)
    assert model.high.possible[0] == CIFAR10S_HABITS["high"].possible[0]


def test_wrong_models_and_answers_are_sentences() -> None:
    labels = hard_labels(["a"], CLASSES, np.array([0]))
    votes = Judgments(
        ask("choose-one", CLASSES), pl.DataFrame({"item": ["a"], "answer": ['"cat"']})
    )

    with pytest.raises(DataError, match="4 × 4 finite numbers"):
        TopTwoModel(CLASSES, SURE, SURE, np.zeros((3, 3)))
    with pytest.raises(DataError, match="for low entropy need one share"):
        TopTwoModel(CLASSES, SURE, Habits(Beta(1, 1), (0.5,), 0, None, 0), DISTANCES)
    with pytest.raises(DataError, match="the question was choose-one"):
        fit_top_two(votes, labels)
    with pytest.raises(DataError, match="None of the 1 answers gives its first choice"):
        fit_top_two(judgments(("a", answer("cat", ""))), labels)
    with pytest.raises(DataError, match="'b' has no label"):
        fit_top_two(judgments(("b", answer("cat", "9"))), labels)


def test_released_figures_come_from_first_views_with_the_duplicated_session(
    cifar10s: Judgments, cifar10h: LabelSet
) -> None:
    first_views = select(cifar10s, keep=["duplicates"])

    model = habits_of(fit_top_two(first_views, cifar10h, rule="released"))

    # the figures of S2-31, S2-33 and S2-34 to the last printed digit
    assert len(first_views) == 6225
    high, low = model.high, model.low
    assert round(high.top1.mean, 3) == 0.837
    assert (round(high.top1.a, 2), round(high.top1.b, 2)) == (1.71, 0.33)
    assert round(low.top1.mean, 3) == 0.965
    assert (round(low.top1.a, 2), round(low.top1.b, 2)) == (2.97, 0.11)
    assert high.top2 is not None
    assert round(high.top2.mean, 3) == 0.243
    assert (round(high.top2.a, 2), round(high.top2.b, 2)) == (0.61, 1.90)
    possible = two_choices(first_views, "released").possible
    named = two_choices(first_views, "released").named
    assert round(1 - named.mean(), 2) == 0.46
    shares = np.bincount(possible)[1:5] / len(possible)
    np.testing.assert_allclose(shares, [0.35, 0.28, 0.11, 0.11], atol=0.01)
    assert np.dot(high.possible, np.arange(1, 11)) == pytest.approx(2.77, abs=0.01)
    assert np.dot(low.possible, np.arange(1, 11)) == pytest.approx(1.96, abs=0.005)


def test_shipped_habits_are_those_of_the_cleaned_answers(
    cifar10s: Judgments, cifar10h: LabelSet
) -> None:
    model = habits_of(fit_top_two(select(cifar10s), cifar10h))

    for found, shipped in (
        (model.high, CIFAR10S_HABITS["high"]),
        (model.low, CIFAR10S_HABITS["low"]),
    ):
        assert found.answers == shipped.answers
        assert found.possible == pytest.approx(shipped.possible, abs=1e-12)
        assert found.naming == pytest.approx(shipped.naming, abs=5e-5)
        assert found.top1.a == pytest.approx(shipped.top1.a, abs=5e-5)
        assert found.top1.b == pytest.approx(shipped.top1.b, abs=5e-5)
        assert found.top2 is not None
        assert shipped.top2 is not None
        assert found.top2.a == pytest.approx(shipped.top2.a, abs=5e-5)
        assert found.top2.b == pytest.approx(shipped.top2.b, abs=5e-5)


def test_simulated_marginals_are_close_to_the_real_ones(
    cifar10s: Judgments, cifar10h: LabelSet
) -> None:
    real = select(cifar10s)
    model = fit_top_two(real, cifar10h)
    judged = cifar10h.take(real.table["item"].unique(maintain_order=True).to_list())

    simulated = simulate_top_two(
        model, judged, per_item=25, annotators=248, rng=np.random.default_rng(0)
    )

    table = compare_marginals(real, simulated)
    by_name = {name: (ours, theirs) for name, ours, theirs in table.iter_rows()}
    for name in ("top-1 probability, mean", "top-2 probability, mean", "share with 1 possible"):
        assert by_name[name][1] == pytest.approx(by_name[name][0], abs=0.01)
    assert by_name["top-1 probability, 50 % quantile"] == (0.95, 0.95)
    ours, theirs = by_name["share naming an alternative"]
    assert theirs == pytest.approx(ours, abs=0.01)
    ours, theirs = by_name["possible classes, mean"]
    assert theirs == pytest.approx(ours, abs=0.03)
    # independent draws do not know that the two probabilities share 100 %
    ours, theirs = by_name["share stating more than 100 %"]
    assert 3.5 < theirs / ours < 4.5


def test_alternatives_are_ordered_by_given_distances_and_the_provenance_says_so() -> None:
    reference = LabelSet(("a",), CLASSES, np.array([[0.6, 0.0, 0.1, 0.3]]))
    real = judgments(("a", answer("cat", "60", "dog", "30")))
    shuffled = CLASSES[::-1]
    given = ClassDistances(shuffled, DISTANCES[::-1, ::-1], (Step("order classes", {"by": "us"}),))

    fitted = fit_top_two(real, reference, distances=given)
    made = cifar10s_top_two(reference, distances=given)
    learned = fit_top_two(real, reference)

    assert (fitted.distances == DISTANCES).all()
    assert (made.distances == DISTANCES).all()
    assert given.provenance[0] in fitted.provenance
    assert given.provenance[0] in made.provenance
    orders = [step for step in learned.provenance if step.name == "order classes"]
    assert [step.settings["by"] for step in orders] == [
        "which the answers name together and the labels confuse"
    ]


def test_other_labels_can_route_and_none_gives_one_set_of_habits() -> None:
    reference = hard_labels(["a", "b"], CLASSES, np.array([0, 2]))
    predicted = LabelSet(("b", "a"), CLASSES, np.array([[1, 0, 0, 0], [0.5, 0, 0.5, 0]]))
    real = judgments(
        ("a", answer("cat", "60")), ("a", answer("cat", "70")), ("b", answer("dog", "99"))
    )

    by_reference = habits_of(fit_top_two(real, reference))
    by_model = habits_of(fit_top_two(real, reference, routing=predicted))
    by_none = habits_of(fit_top_two(real, reference, routing="none"))

    assert (by_reference.high.answers, by_reference.low.answers) == (0, 3)
    assert (by_model.high.answers, by_model.low.answers) == (2, 1)
    assert by_model.high.top1.mean == pytest.approx(0.65)
    assert by_none.high is by_none.low
    assert by_none.high.top1.mean == pytest.approx((0.6 + 0.7 + 0.99) / 3)
    with pytest.raises(DataError, match=r"labels to route by lack item 'b' \(1 of 2"):
        fit_top_two(real, reference, routing=predicted.take(["a"]))


def test_simulated_people_follow_the_routing_labels_not_the_reference() -> None:
    labels = hard_labels(["a", "b"], CLASSES, np.array([0, 2]))
    predicted = LabelSet(("b", "a"), CLASSES, np.array([[1, 0, 0, 0], [0.5, 0, 0.5, 0]]))
    torn = Habits(Beta(5e5, 5e5), (0.0, 1.0, 0.0, 0.0), 0.0, None, 0)
    model = TopTwoModel(CLASSES, torn, SURE, DISTANCES)

    simulated = simulate_top_two(
        model, labels, per_item=3, routing=predicted, rng=np.random.default_rng(0)
    )

    said = dict(zip(simulated.table["item"], two_choices(simulated).top1.tolist(), strict=True))
    assert said == {"a": 0.5, "b": 1.0}
    with pytest.raises(DataError, match="route by lack item 'b'"):
        simulate_top_two(
            model, labels, per_item=3, routing=predicted.take(["a"]), rng=np.random.default_rng(0)
        )


@pytest.mark.parametrize("habits", HABITS.values())
def test_reading_what_simulated_people_wrote_gives_what_was_drawn(habits: HabitsName) -> None:
    reference = LabelSet(("a", "b"), CLASSES, np.array([[0.6, 0.1, 0.2, 0.1], [1, 0, 0, 0]]))
    table = pl.DataFrame(
        [
            ("a", "ann", answer("cat", "33.3", "dog", "12.5", out="frog")),
            ("a", "bob", answer("dog", "60", "cat", "", out="frog deer")),
            ("b", "ann", answer("cat", "100", out="deer dog frog")),
            ("b", "bob", answer("cat", "90", "deer", "0")),
        ],
        schema=["item", "annotator", "answer"],
        orient="row",
    )
    model = fit_top_two(Judgments(ask("top-two", CLASSES), table), reference, habits=habits)
    item, annotator = np.arange(200) % 2, np.arange(200) // 2 % 5
    high = route_items(reference.items, reference)[item]

    drawn = draw_choices(model, reference, item, annotator, high=high, rng=np.random.default_rng(0))
    written = pl.DataFrame({"item": item.astype(str), "answer": _written(model, drawn)})
    read = two_choices(Judgments(ask("top-two", CLASSES), written))

    for ours, theirs in zip(drawn, read, strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-12, equal_nan=True)
