"""Aggregators say, with numbers, where they are likely to mislead."""

from pathlib import Path

import numpy as np
from tests.labels.aggregate.crowd_sets import run, simple, toy

from sfumato.labels.aggregate import aggregate
from sfumato.labels.files import read_gold
from sfumato.labels.labelset import LabelSet
from sfumato.labels.verbs import label


def accuracy(labels: LabelSet, truth: dict[str, str]) -> float:
    return float(
        np.mean([truth[item] == top for item, top in zip(labels.items, labels.top(), strict=True)])
    )


def test_one_coin_says_that_it_is_far_below_the_majority(data_folder: Path) -> None:
    crowd = label(data_folder / "crowd/bluebird_label.csv", per_annotator=True, format="crowd")
    truth = read_gold(data_folder / "crowd/bluebird_truth.csv")

    result = aggregate(crowd, "one-coin", rng=np.random.default_rng(0))
    majority = aggregate(crowd, "majority", rng=np.random.default_rng(0))

    assert len(result.remarks) == 1
    assert result.remarks[0].startswith(
        "one-coin agrees with 63.2% of the votes, the majority with 69.7%, and it contradicts the "
        "majority on 29 of 108 items"
    )
    # and it does mislead: the truth is known here
    assert accuracy(majority.labels, truth) - accuracy(result.labels, truth) > 0.15


def test_one_coin_is_silent_where_it_agrees() -> None:
    assert run(simple(), "one-coin").remarks == ()


def test_mace_says_that_it_is_at_an_end_point(data_folder: Path) -> None:
    crowd = label(data_folder / "crowd/rte_label.csv", per_annotator=True, format="crowd")

    remarks = aggregate(crowd, "mace", rng=np.random.default_rng(0)).remarks

    assert len(remarks) == 1
    assert "4 people with 26.5% of the votes never look" in remarks[0]
    assert "22 people with 5.8% of the votes always look" in remarks[0]


def test_mace_is_silent_where_nobody_is_at_an_end(data_folder: Path) -> None:
    crowd = label(data_folder / "crowd/face_label.csv", per_annotator=True, format="crowd")

    assert aggregate(crowd, "mace", rng=np.random.default_rng(0)).remarks == ()


def test_what_has_not_converged_says_so() -> None:
    result = run(toy(), "dawid-skene", iterations=2, tolerance=0.0)

    assert not result.converged
    gain = (result.trace[1] - result.trace[0]) / 24
    assert result.remarks == (
        "dawid-skene has not converged after 2 iterations: the last one gained "
        f"{gain:.1e} log-likelihood per judgment.",
    )
