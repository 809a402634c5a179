import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import read_cifar10s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.question import ask
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate.crowd import Beta
from sfumato.labels.simulate.held_out import (
    MARGINALS,
    SPREAD,
    HeldOutCheck,
    HoldOut,
    _Half,
    _weighted,
    held_out_check,
    held_out_table,
)
from sfumato.labels.simulate.top_two import (
    Habits,
    HabitsName,
    TopTwoModel,
    TwoChoices,
    simulate_top_two,
)

CLASSES = ("cat", "deer", "dog", "frog")
APART = np.ones((4, 4)) - np.eye(4)


def reference(count: int) -> LabelSet:
    probs = np.array([[0.6, 0.1, 0.2, 0.1], [1.0, 0, 0, 0]] * (count // 2))
    return LabelSet(tuple(map(str, range(count))), CLASSES, probs)


def as_people(simulated: Judgments) -> Judgments:
    """Answers of simulated people, taken for real ones."""
    return Judgments(simulated.question, simulated.table.drop("simulated"))


def reproduced(check: HeldOutCheck) -> dict[str, bool]:
    return {one.name: one.reproduced for one in check.marginals}


@pytest.fixture(scope="module")
def cifar10s(data_folder: Path) -> Judgments:
    return select(read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", ReadOptions()))


@pytest.fixture(scope="module")
def cifar10h(data_folder: Path, cifar10s: Judgments) -> LabelSet:
    probs = np.load(data_folder / "cifar10h" / "cifar10h-probs.npy")
    return LabelSet(tuple(map(str, range(10_000))), cifar10s.question.classes, probs)


@pytest.mark.parametrize("hold_out", ["items", "people"])
def test_people_of_the_independent_kind_are_found_reproduced(hold_out: HoldOut) -> None:
    labels = reference(100)
    high = Habits(Beta(4, 1), (0.3, 0.4, 0.2, 0.1), 0.5, Beta(2, 6), 0)
    low = Habits(Beta(9, 1), (0.7, 0.1, 0.1, 0.1), 0.1, Beta(1, 4), 0)
    model = TopTwoModel(CLASSES, high, low, APART)
    real = as_people(
        simulate_top_two(model, labels, per_item=8, annotators=40, rng=np.random.default_rng(0))
    )

    check = held_out_check(
        real, labels, hold_out=hold_out, draws=200, replicas=20, rng=np.random.default_rng(1)
    )

    assert check.fitted_answers + check.tested_answers == 800
    assert check.tested_people == (40 if hold_out == "items" else 20)
    for one in check.marginals:
        assert one.low < one.real < one.high
        assert one.difference_low < 0 < one.difference_high
        assert one.p_holm > 0.05
        assert one.test.p_value <= one.p_holm


def test_same_seed_gives_the_same_halves_and_intervals_whatever_the_habits() -> None:
    labels = reference(40)
    habits_of_all = Habits(Beta(4, 1), (0.3, 0.4, 0.2, 0.1), 0.5, Beta(2, 6), 0)
    model = TopTwoModel(CLASSES, habits_of_all, habits_of_all, APART)
    real = as_people(
        simulate_top_two(model, labels, per_item=4, annotators=8, rng=np.random.default_rng(0))
    )

    first, again, other = (
        held_out_check(
            real, labels, habits=habits, draws=20, replicas=2, rng=np.random.default_rng(5)
        )
        for habits in ("joint", "joint", "independent")
    )

    assert first == again
    for ours, theirs in zip(first.marginals, other.marginals, strict=True):
        assert (ours.real, ours.low, ours.high) == (theirs.real, theirs.low, theirs.high)
    table = held_out_table(first)
    assert table["marginal"].to_list() == [*MARGINALS, SPREAD]
    assert table["reproduced"].to_list() == [one.reproduced for one in first.marginals]


def test_somebody_drawn_twice_is_two_people_with_the_same_answers() -> None:
    count = np.arange(4)
    choices = TwoChoices(count, count, count / 10, count / 10, count > 1, count)
    half = _Half(choices, count, np.array([0, 2, 0, 1]), count > 2)

    drawn = _weighted(half, np.array([2, 1, 0]))  # person 0 twice, person 1 once, 2 not at all

    assert sorted(drawn.item.tolist()) == [0, 0, 2, 2, 3]
    whose = {
        who: drawn.item[drawn.person == who].tolist() for who in np.unique(drawn.person).tolist()
    }
    assert sorted(whose.values()) == [[0, 2], [0, 2], [3]]
    assert drawn.high is not None
    assert (drawn.high == (drawn.item > 2)).all()
    assert (drawn.choices.first == drawn.item).all()


def test_too_few_people_and_nameless_ones_are_sentences() -> None:
    said = json.dumps(
        {
            "first": "cat",
            "first_percent": "90",
            "second": None,
            "second_percent": "",
            "ruled_out": [],
        }
    )
    table = pl.DataFrame({"item": ["0", "1"], "annotator": ["ann", "bob"], "answer": [said] * 2})
    real = Judgments(ask("top-two", CLASSES), table)
    nameless = Judgments(ask("top-two", CLASSES), table.drop("annotator"))

    with pytest.raises(DataError, match="leaves fewer than two people to fit to"):
        held_out_check(real, reference(2), hold_out="people", rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="the check resamples people"):
        held_out_check(nameless, reference(2), rng=np.random.default_rng(0))


def test_independent_habits_fitted_to_half_of_cifar10s_meet_the_other_but_state_too_much(
    cifar10s: Judgments, cifar10h: LabelSet
) -> None:
    check = checked(cifar10s, cifar10h, "independent")

    found = reproduced(check)
    assert found == {
        "top-1 probability": True,
        "number of possible classes": True,
        "share without an alternative": True,
        "top-2 probability": True,
        "share stating more than 100 %": False,
        "top-1 probability, spread between people": False,
    }
    over = check.marginals[4]
    assert 3.5 < over.simulated / over.real < 4.5
    # a Beta has no round numbers: the means are met, the distributions are not
    assert check.marginals[0].p_holm < 0.05
    assert check.marginals[3].p_holm < 0.05


@pytest.mark.parametrize("habits", ["joint", "personal"])
def test_whole_answers_fitted_to_half_of_cifar10s_reproduce_the_other(
    cifar10s: Judgments, cifar10h: LabelSet, habits: HabitsName
) -> None:
    check = checked(cifar10s, cifar10h, habits)

    found = reproduced(check)
    assert found.pop(SPREAD) == (habits == "personal")
    assert all(found.values())
    assert all(one.p_holm > 0.05 for one in check.marginals[:-1])
    assert all(one.difference_low < 0 < one.difference_high for one in check.marginals[:-1])


def checked(judgments: Judgments, labels: LabelSet, habits: HabitsName) -> HeldOutCheck:
    return held_out_check(
        judgments, labels, habits=habits, draws=100, replicas=20, rng=np.random.default_rng(1)
    )
