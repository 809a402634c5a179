import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.build import NONE_OF_THESE, build

CLASSES = ("cat", "dog", "deer", "frog")


def built(kind: str, recipe: str, *answers: Any, **options: Any) -> np.ndarray[Any, Any]:
    table = pl.DataFrame(
        {
            "item": [str(place) for place in range(len(answers))],
            "answer": [json.dumps(answer) for answer in answers],
        }
    )
    return build(Judgments(ask(kind, CLASSES, **options), table), recipe).crowd.probs


def test_vote_puts_all_mass_on_the_choice() -> None:
    assert built("choose-one", "votes", "dog").tolist() == [[0, 1, 0, 0]]


def test_sliders_are_divided_by_their_sum() -> None:
    answer = {"cat": 0.8, "dog": 0.2, "deer": 0.0, "frog": 0.6}

    assert built("sliders", "sliders", answer).round(4).tolist() == [[0.5, 0.125, 0, 0.375]]


def test_typicality_leaves_the_rest_to_the_other_classes() -> None:
    rows = built("typicality", "typicality", {"class": "dog", "typicality": 0.7})

    assert rows.round(4).tolist() == [[0.1, 0.7, 0.1, 0.1]]


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [("yes-unsure-equal", [0.5, 0.5, 0, 0, 0]), ("yes-unsure-weighted", [2 / 3, 1 / 3, 0, 0, 0])],
)
def test_unsure_counts_fully_or_half(recipe: str, expected: list[float]) -> None:
    answer = {"cat": "yes", "dog": "unsure", "deer": "no", "frog": "no"}

    assert np.allclose(built("yes-no-unsure", recipe, answer), np.array([expected]))


def test_only_unsure_still_makes_a_distribution() -> None:
    answer = {"cat": "no", "dog": "unsure", "deer": "unsure", "frog": "no"}

    assert built("yes-no-unsure", "yes-unsure-weighted", answer).tolist() == [[0, 0.5, 0.5, 0, 0]]


def test_all_no_goes_to_the_extra_class() -> None:
    table = pl.DataFrame({"item": ["a"], "answer": [json.dumps(dict.fromkeys(CLASSES, "no"))]})
    crowd = build(Judgments(ask("yes-no-unsure", CLASSES), table), "yes-unsure-equal").crowd

    assert crowd.classes == (*CLASSES, NONE_OF_THESE)
    assert crowd.probs.tolist() == [[0, 0, 0, 0, 1]]


def test_without_the_extra_class_all_no_states_too_little() -> None:
    sure = {**dict.fromkeys(CLASSES, "no"), "cat": "yes"}
    answers = [dict.fromkeys(CLASSES, "no"), sure]

    rows = built("yes-no-unsure", "yes-unsure-equal", *answers, none_of_these=False)

    assert rows.tolist() == [[1, 0, 0, 0]]


def test_set_shares_its_mass() -> None:
    assert built("likely-set", "likely-set", ["dog", "frog"]).tolist() == [[0, 0.5, 0, 0.5]]


def test_ranking_uses_rank_order_centroids() -> None:
    rows = built("ranking", "ranking", ["frog", "cat", "dog"], ["deer"])

    # Barron & Barrett (1996), n = 3: 11/18, 5/18, 2/18
    assert np.allclose(rows, np.array([[5, 2, 0, 11], [0, 0, 18, 0]]) / 18)


def test_confidence_level_decides_the_mass_of_the_choice() -> None:
    rows = built("confidence", "confidence", {"choice": "cat", "confidence": "probably"})

    assert np.allclose(rows, np.array([[0.75, 1 / 12, 1 / 12, 1 / 12]]))


def test_drawn_distribution_is_kept() -> None:
    assert built("distribution", "sliders", {"cat": 70, "dog": 30}).tolist() == [[0.7, 0.3, 0, 0]]
