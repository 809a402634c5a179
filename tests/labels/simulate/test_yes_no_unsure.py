import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate.people import (
    Rates,
    UnsurePeople,
    answer_rates,
    draw_thresholds,
    expected_rates,
    fit_unsure_people,
    simulate_yes_no_unsure,
)
from sfumato.provenance import is_simulated

CLASSES = ("cat", "deer", "dog")


def some_labels(count: int) -> LabelSet:
    probs = np.random.default_rng(0).dirichlet([0.3, 0.3, 0.3], count)
    return LabelSet(tuple(f"i{number}" for number in range(count)), CLASSES, probs)


def test_without_noise_thresholds_alone_decide() -> None:
    labels = LabelSet(("a",), CLASSES, np.array([[0.6, 0.3, 0.1]]))
    people = UnsurePeople(no_below=0.2, yes_from=0.5, shift=0.0, width=0.0, noise=0.0)

    answers = simulate_yes_no_unsure(
        people, labels, per_item=2, annotators=3, rng=np.random.default_rng(0)
    )

    said = [json.loads(answer) for answer in answers.table["answer"]]
    assert said == [{"cat": "yes", "deer": "unsure", "dog": "no"}] * 2


def test_rates_of_alike_people_are_normal_probabilities() -> None:
    labels = LabelSet(("a",), ("cat", "dog"), np.array([[0.7, 0.3]]))
    people = UnsurePeople(no_below=0.2, yes_from=0.6, shift=0.12, width=0.0, noise=0.16)

    rates = expected_rates(people, labels)

    # √(0.12² + 0.16²) = 0.2
    yes = (norm.cdf(0.1 / 0.2) + norm.cdf(-0.3 / 0.2)) / 2
    no = (norm.cdf(-0.5 / 0.2) + norm.cdf(-0.1 / 0.2)) / 2
    assert rates == pytest.approx((yes, 1 - yes - no, no))


@settings(max_examples=20, deadline=None)
@given(
    yes=st.floats(0.05, 0.6),
    unsure=st.floats(0.0, 0.35),
    shift=st.floats(0, 0.3),
    width=st.floats(0, 1),
    noise=st.floats(0.02, 0.4),
)
def test_fitted_people_are_expected_to_give_the_wanted_rates(
    yes: float, unsure: float, shift: float, width: float, noise: float
) -> None:
    labels = some_labels(40)
    wanted = Rates(yes, unsure, 1 - yes - unsure)

    fitted = fit_unsure_people(
        labels, wanted, people=UnsurePeople(shift=shift, width=width, noise=noise)
    )

    assert expected_rates(fitted, labels) == pytest.approx(wanted, abs=1e-6)
    assert (fitted.shift, fitted.width, fitted.noise) == (shift, width, noise)


def test_simulated_rates_are_close_to_the_fitted_ones() -> None:
    labels = some_labels(1500)
    wanted = Rates(0.30, 0.12, 0.58)
    people = fit_unsure_people(labels, wanted)

    answers = simulate_yes_no_unsure(
        people, labels, per_item=4, annotators=1500, rng=np.random.default_rng(1)
    )

    assert answer_rates(answers) == pytest.approx(wanted, abs=0.012)


def test_people_differ_in_how_often_they_are_unsure() -> None:
    labels = some_labels(600)
    people = UnsurePeople(width=1.0, noise=0.05)

    answers = simulate_yes_no_unsure(
        people, labels, per_item=5, annotators=10, rng=np.random.default_rng(1)
    )

    stated = answers.statements
    unsure = pl.DataFrame(
        {
            "who": answers.table["annotator"],
            "rate": stated.unsure[stated.index].mean(axis=1),
        }
    )
    by_person = unsure.group_by("who").mean()["rate"]
    assert by_person.std() > 3 * np.sqrt(0.1 * 0.9 / (300 * 3))  # far beyond chance


def test_thresholds_are_in_order_and_spread_as_asked() -> None:
    people = UnsurePeople(no_below=0.2, yes_from=0.6, shift=0.1, width=0.5)

    drawn = draw_thresholds(people, 100_000, rng=np.random.default_rng(0))

    assert (drawn[:, 0] <= drawn[:, 1]).all()
    assert drawn.mean(axis=0) == pytest.approx([0.2, 0.6], abs=0.003)
    assert np.log(drawn[:, 1] - drawn[:, 0]).std() == pytest.approx(0.5, abs=0.005)


def test_no_to_everything_is_none_of_these() -> None:
    labels = some_labels(5)
    people = UnsurePeople(no_below=9, yes_from=9)

    answers = simulate_yes_no_unsure(
        people, labels, per_item=1, annotators=1, rng=np.random.default_rng(1)
    )

    assert answers.statements.none_of_these.all()


def test_rates_count_yes_unsure_and_no_of_real_answers() -> None:
    table = pl.DataFrame(
        {
            "item": ["a", "b", "b"],
            "answer": [
                '{"cat": "yes", "deer": "no", "dog": "unsure"}',
                '{"cat": "unsure", "deer": "no"}',
                '{"cat": "unsure", "deer": "no"}',
            ],
        }
    )

    rates = answer_rates(Judgments(ask("yes-no-unsure", CLASSES), table))

    assert rates == pytest.approx((1 / 7, 3 / 7, 3 / 7))


def test_same_seed_same_answers_and_all_are_called_simulated() -> None:
    first, second = (
        simulate_yes_no_unsure(
            UnsurePeople(), some_labels(9), per_item=2, annotators=4, rng=np.random.default_rng(3)
        )
        for _ in range(2)
    )

    assert first.table.equals(second.table)
    assert is_simulated(first.provenance)
    assert all(name.startswith("simulated-") for name in first.annotators)


def test_wrong_parameters_are_sentences() -> None:
    with pytest.raises(DataError, match=r"no below 0\.6 and yes from 0\.5"):
        UnsurePeople(no_below=0.6)
    with pytest.raises(DataError, match="noise -1"):
        UnsurePeople(noise=-1)
    with pytest.raises(DataError, match=r"yes 0\.5, unsure 0\.6, no 0\.2"):
        fit_unsure_people(some_labels(3), Rates(0.5, 0.6, 0.2))
    with pytest.raises(DataError, match=r"unsure in 0\.98 of their answers"):
        fit_unsure_people(some_labels(3), Rates(0.01, 0.98, 0.01), people=UnsurePeople(width=6))
    with pytest.raises(DataError, match="noise or a shift"):
        expected_rates(UnsurePeople(shift=0, noise=0), some_labels(3))
    votes = Judgments(
        ask("choose-one", CLASSES), pl.DataFrame({"item": ["a"], "answer": ['"cat"']})
    )
    with pytest.raises(DataError, match="the question was choose-one"):
        answer_rates(votes)
