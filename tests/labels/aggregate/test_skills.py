"""Wawa and zero-based skill against crowd-kit's published numbers, and where they are undefined."""

import numpy as np
import pytest
from tests.labels.aggregate.crowd_sets import SIMPLE_TRUTH, WORDS, run, simple, tops, toy

from sfumato.labels.aggregate.columns import votes_of_columns

NAMES = ["wawa", "zero-based-skill"]


@pytest.mark.parametrize("name", NAMES)
def test_toy_numbers_are_the_published_ones(name: str) -> None:
    result = run(toy(), name, ties="first")

    assert result.estimand == "what people say"
    assert result.quality is not None
    assert np.allclose(list(result.quality.values()), [0.6, 0.8, 1.0, 0.4, 0.8], atol=1e-5)
    published = [0.461538, 0.666667, 0.277778, 1, 0.166667]
    assert np.allclose(result.labels.probs[:, 1], published, atol=1e-5)
    assert tops(result) == {"t1": "no", "t2": "yes", "t3": "no", "t4": "yes", "t5": "no"}


@pytest.mark.parametrize("name", NAMES)
def test_simple_numbers_are_the_published_ones(name: str) -> None:
    result = run(simple(), name, ties="first")

    assert result.quality is not None
    assert np.isclose(result.quality["parrot"], 1 / 3, atol=1e-5)
    assert np.isclose(result.quality["careless"], 2 / 3, atol=1e-5)
    published = np.zeros((10, 3))  # chicken, goose, parrot
    published[[0, 1, 4], 0] = 0.857143, 0.818182, 0.5
    published[[1, 2, 4, 6, 7], 1] = 0.181818, 0.9, 0.333333, 1, 0.857143
    published[[0, 2, 4, 7], 2] = 0.142857, 0.1, 0.166667, 0.142857
    published[[3, 5, 8, 9], 2] = 1
    assert np.allclose(result.labels.probs, published, atol=1e-5)
    assert tops(result) == {item: WORDS[said] for item, said in SIMPLE_TRUTH.items()}


@pytest.mark.parametrize("name", NAMES)
def test_an_item_whose_voters_have_no_skill_keeps_its_plain_shares(name: str) -> None:
    # "odd" is never with the majority, and alone on the last item
    item = [0, 0, 0, 1, 1, 1, 2]
    who = ["ann", "bob", "odd", "ann", "bob", "odd", "odd"]
    votes = votes_of_columns(item, who, ["x", "x", "y", "x", "x", "y", "y"])

    result = run(votes, name)

    assert result.labels["2"] == {"x": 0.0, "y": 1.0}
    assert np.allclose(result.labels.probs.sum(axis=1), 1)


def test_ties_go_to_the_first_class_by_name() -> None:
    assert run(toy(), "majority", ties="first").labels["t1"] == {"no": 1.0, "yes": 0.0}
    assert run(toy(), "majority").labels["t1"] == {"no": 0.5, "yes": 0.5}


def test_zero_based_skill_moves_by_smaller_and_smaller_steps() -> None:
    first = run(toy(), "zero-based-skill", rounds=1, rate=0.5, ties="first")

    # from 1/2 + 1e-5 half of the way to the agreement with the plain majority
    assert first.quality is not None
    expected = 0.5 * (0.50001 + np.array([0.6, 0.8, 1.0, 0.4, 0.8]))
    assert np.allclose(list(first.quality.values()), expected)
