"""The one way in: names, options, provenance, and what is refused."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.aggregate import AGGREGATORS, aggregate
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.labels.votes import Votes
from sfumato.provenance import Step, to_json

VOTES = Votes(
    ("b", "a", "unseen"),
    ("q", "p", "silent"),
    ("y", "x"),
    np.array([0, 0, 1, 1]),
    np.array([0, 1, 0, 1]),
    np.array([0, 0, 1, 0]),
    (Step("read crowd"),),
)


def test_results_come_in_the_order_of_the_crowd() -> None:
    result = aggregate(VOTES, "dawid-skene", rng=np.random.default_rng(0))

    assert result.labels.items == ("b", "a")
    assert result.labels.classes == ("y", "x")
    assert result.annotators == ("q", "p")
    assert result.labels.probs[0, 0] > 0.9
    assert result.labels.weight.tolist() == [2, 2]
    assert result.quality is not None and list(result.quality) == ["q", "p"]
    assert result.confusion is not None and result.confusion.shape == (2, 2, 2)
    assert np.allclose(result.confusion[1, :, 0], 1)  # p only ever says y


@pytest.mark.parametrize(
    "name", [name for name, known in AGGREGATORS.items() if not known.needs_scale]
)
def test_provenance_holds_estimand_and_every_setting(name: str) -> None:
    found = AGGREGATORS[name]
    uniform = LabelSet(
        VOTES.items, VOTES.classes, np.full((3, 2), 0.5), provenance=(Step("train"),)
    )
    given = uniform if found.reads == "votes and predictions" else None

    result = aggregate(VOTES, name, rng=np.random.default_rng(0), predictions=given)

    assert result.estimand == found.estimand
    first, *_, last = result.labels.provenance
    assert (first.name, last.name) == ("read crowd", f"aggregate {name}")
    assert last.settings["estimand"] == found.estimand
    assert set(found.options) <= set(last.settings)
    assert "interval" in last.settings
    assert ("predictions" in last.settings) == (given is not None)
    assert to_json(result.labels.provenance)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_about_says_what_quality_means(name: str) -> None:
    assert "uality" in AGGREGATORS[name].about


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mean", {"iterations": 3}, "'mean' takes no option 'iterations'. Its options: none"),
        ("one-coin", {"floor": 3}, "Its options: 'iterations', 'tolerance'"),
        ("one-coin", {"iterations": 0}, "'iterations' of 'one-coin' is 0; it must be a whole"),
        ("one-coin", {"iterations": 2.5}, "is 2.5; it must be a whole number"),
        ("one-coin", {"tolerance": "small"}, "'tolerance' of 'one-coin' is 'small'; .* a number"),
        ("majority", {"ties": 3}, "'ties' of 'majority' is 3; it must be a word"),
    ],
)
def test_wrong_options_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        aggregate(VOTES, name, rng=np.random.default_rng(0), **options)


def test_predictions_for_a_method_that_reads_none_are_refused() -> None:
    uniform = LabelSet(VOTES.items, VOTES.classes, np.full((3, 2), 0.5))

    with pytest.raises(DataError, match="'mean' reads no predictions"):
        aggregate(VOTES, "mean", rng=np.random.default_rng(0), predictions=uniform)


@pytest.mark.parametrize("name", [name for name, found in AGGREGATORS.items() if found.needs_names])
def test_methods_that_model_people_refuse_unknown_authors(name: str) -> None:
    crowd = CrowdLabels(
        ("a",),
        ("p",),
        ("x", "y"),
        np.array([0, 0]),
        np.array([0, NOT_RECORDED]),
        np.full((2, 2), 0.5),
    )
    votes = Votes(("a",), ("p",), ("x", "y"), *np.array([[0, 0], [0, NOT_RECORDED], [0, 1]]))
    reads_distributions = AGGREGATORS[name].reads == "distributions"

    with pytest.raises(DataError, match=f"'{name}' models each annotator, but 1 of 2"):
        aggregate(crowd if reads_distributions else votes, name, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, found in AGGREGATORS.items()
        if not found.needs_names and found.estimand == "what people say"
    ],
)
def test_people_s_distribution_needs_no_names(name: str) -> None:
    votes = Votes(
        ("a", "b"),
        (),
        ("x", "y"),
        np.array([0, 0, 1]),
        np.full(3, NOT_RECORDED),
        np.array([0, 1, 1]),
    )

    result = aggregate(votes, name, rng=np.random.default_rng(0), interval="default", replicates=20)

    assert result.annotators == ()
    assert np.isclose(result.labels.probs[0, 0], result.labels.probs[0, 1], atol=0.35)
    assert result.interval is not None
    assert result.interval.high[0, 0] > result.interval.low[0, 0]


def test_aggregation_imports_neither_polars_nor_an_optimiser() -> None:
    asked = (
        "import sys, sfumato.labels.aggregate.heldout\n"
        "print('polars' in sys.modules, 'scipy.optimize' in sys.modules)"
    )

    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert said.stdout.split() == ["False", "False"]
