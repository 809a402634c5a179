"""Labels while answers still come in: expected change, convergence, intervals, agreement."""

import json
from typing import Any

import numpy as np
import pytest

from sfumato.judgments.comparisons import ComparisonQuestion
from sfumato.judgments.question import ask
from sfumato.labels.agreement import between_people, krippendorff_nominal
from sfumato.labels.build import NONE_OF_THESE
from sfumato.labels.running import (
    agreement_so_far,
    answers_to_converge,
    change_by_one_more,
    mean_intervals,
    numbered_crowd,
    outcomes_of,
    read_distributions,
    read_two_sided,
)

CLASSES = ("cat", "dog", "deer", "horse")


@pytest.mark.parametrize("people", [1, 2, 6, 20])
def test_change_by_one_more_is_the_mean_over_what_could_come(people: int) -> None:
    rng = np.random.default_rng(people)
    answers = rng.dirichlet(np.ones(4), people)
    mean = answers.mean(axis=0)

    possible = [*answers, *np.eye(4)]
    weights = [*np.ones(people), *np.full(4, 0.25)]
    moved = [abs((mean * people + one) / (people + 1) - mean).sum() / 2 for one in possible]
    expected = np.average(moved, weights=weights)
    found = change_by_one_more(np.zeros(people, dtype=np.int64), answers, 1)
    assert found[0] == pytest.approx(expected)


def test_six_who_agree_have_converged_and_two_have_not() -> None:
    sure = np.eye(10)[np.zeros(6, dtype=np.int64)]
    item = np.zeros(6, dtype=np.int64)

    assert change_by_one_more(item, sure, 1)[0] < 0.02
    assert change_by_one_more(item[:2], sure[:2], 1)[0] > 0.02


@pytest.mark.parametrize("people", [1, 2, 3, 6, 20])
@pytest.mark.parametrize("threshold", [0.005, 0.02, 0.1])
def test_answers_to_converge_is_where_the_expected_change_crosses_the_threshold(
    people: int, threshold: float
) -> None:
    answers = np.random.default_rng(people).dirichlet(np.ones(4), people)
    change = change_by_one_more(np.zeros(people, dtype=np.int64), answers, 1)
    apart = 0.5 * np.abs(answers - answers.mean(axis=0)).sum(axis=1).mean()

    (wanted,) = answers_to_converge(change, np.array([people]), outcomes=4, threshold=threshold)

    def expected(count: float) -> float:  # the change with so many answers as far apart
        return float((count * apart + 1 - 1 / 4) / (count + 1) ** 2)

    assert expected(wanted) <= threshold + 1e-12
    assert wanted == 1 or expected(wanted - 1) > threshold


def test_item_nobody_answered_about_needs_nobody_knows_how_many() -> None:
    found = answers_to_converge(np.array([np.nan]), np.array([0]), outcomes=4, threshold=0.02)

    assert np.isnan(found[0])


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("choose-one", "cat"),
        ("top-two", {"first": "cat", "first_percent": 100, "ruled_out": list(CLASSES[1:])}),
        ("sliders", {"cat": 1.0, "dog": 0, "deer": 0, "horse": 0}),
        ("distribution", {"cat": 100}),
        ("yes-no-unsure", {"cat": "yes", "dog": "no", "deer": "no", "horse": "no"}),
    ],
)
def test_sure_answer_is_all_mass_on_its_class(kind: Any, answer: Any) -> None:
    question = ask(kind, CLASSES)

    read = read_distributions(question, [json.dumps(answer)])

    assert read.probs.shape == (1, len(outcomes_of(question)))
    assert read.probs[0, 0] == pytest.approx(1)
    assert read.probs.sum() == pytest.approx(1)
    assert read.choice.tolist() == [0]


def test_answer_that_states_too_little_is_a_row_of_nan_without_a_choice() -> None:
    question = ask("sliders", CLASSES)

    read = read_distributions(question, ["{}", json.dumps({"dog": 1})])

    assert np.isnan(read.probs[0]).all()
    assert read.probs[1].tolist() == [0, 1, 0, 0]
    assert read.choice.tolist() == [-1, 1]


def test_none_of_these_is_an_outcome_where_the_question_offers_it() -> None:
    question = ask("yes-no-unsure", CLASSES, none_of_these=True)

    read = read_distributions(question, [json.dumps(dict.fromkeys(CLASSES, "no"))])

    assert outcomes_of(question) == (*CLASSES, NONE_OF_THESE)
    assert read.probs[0].tolist() == [0, 0, 0, 0, 1]


def test_comparisons_lie_between_two_sides() -> None:
    triplets, pairs = (
        ComparisonQuestion("triplets", "Which is closer?", None),
        ComparisonQuestion("pairs", "How similar?", (1, 5)),
    )

    closer = read_distributions(triplets, ['{"closer": "second"}'])
    rated = read_distributions(pairs, ['{"rating": 2}', '{"rating": 3}'])

    assert outcomes_of(triplets) == ("first", "second")
    assert closer.probs.tolist() == [[0, 1]]
    assert rated.probs.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert rated.choice.tolist() == [1, -1]
    assert read_two_sided([0.9]).choice.tolist() == [0]


def crowd_of(probs: Any, item: list[int]) -> Any:
    return numbered_crowd(
        ("cat", "dog"), np.array(item), np.arange(len(item)), np.array(probs, dtype=np.float64)
    )


def test_intervals_hold_the_mean_and_know_no_item_without_answers() -> None:
    crowd = crowd_of([[1, 0], [1, 0], [0, 1], [0.5, 0.5], [0.7, 0.3]], [0, 0, 0, 2, 2])

    low, high = mean_intervals(crowd, items=4)

    mean = np.array([[2 / 3, 1 / 3], [0.6, 0.4]])
    assert ((low[[0, 2]] <= mean) & (mean <= high[[0, 2]])).all()
    assert np.isnan(low[[1, 3]]).all()
    assert np.isnan(high[[1, 3]]).all()


def test_one_distribution_alone_leaves_everything_open_and_one_vote_does_not() -> None:
    spread, voted = (mean_intervals(crowd_of([row], [0]), items=1) for row in ([0.4, 0.6], [1, 0]))

    assert (spread[0] == 0).all()
    assert (spread[1] == 1).all()
    assert voted[0][0, 0] > 0  # Jeffreys' posterior
    assert mean_intervals(crowd_of(np.zeros((0, 2)), []), items=1)[0].shape == (1, 2)


def test_agreement_of_votes_is_that_of_the_measures() -> None:
    crowd = crowd_of([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0]], [0, 0, 1, 1, 1])

    alpha, between = agreement_so_far(crowd)

    table = np.array([[2.0, 0.0], [1.0, 2.0]])
    rng = np.random.default_rng(0)
    assert alpha.value == pytest.approx(krippendorff_nominal(table, rng=rng, draws=2).value)
    expected = between_people(crowd, "total-variation", rng=rng, draws=2).value
    assert between.value == pytest.approx(expected)
    assert len(agreement_so_far(crowd_of([[0.5, 0.5], [1, 0]], [0, 0]))) == 1
    assert agreement_so_far(crowd_of([[1, 0], [1, 0]], [0, 1])) == ()
