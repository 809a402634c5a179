from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import entr
from scipy.stats import hypergeom

from sfumato.errors import DataError
from sfumato.labels.alter import checked_counts, subsample_annotators, subsample_counts
from sfumato.labels.labelset import CrowdLabels

PUBLISHED = {1: 0.0, 2: 0.054, 4: 0.087, 6: 0.100, 8: 0.113, 16: 0.132, 32: 0.147}
"""Mean entropy of CIFAR-10H with fewer people (S3-11)."""


def crowd_of(item: list[int], n_items: int) -> CrowdLabels:
    """Judgment n is by person n, whose first probability says which one it is."""
    top = np.linspace(0.5, 1, len(item))
    return CrowdLabels(
        tuple(map(str, range(n_items))),
        tuple(f"p{n}" for n in range(len(item))),
        ("x", "y"),
        np.array(item, dtype=np.int64),
        np.arange(len(item)),
        np.stack([top, 1 - top], axis=1),
    )


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 6), st.integers(0, 99))
def test_each_item_keeps_as_many_judgments_as_asked_for_or_all_it_has(
    item: list[int], M: int, seed: int
) -> None:
    crowd = crowd_of(item, 5)

    fewer = subsample_annotators(crowd, M, fewer="keep", rng=np.random.default_rng(seed))

    sizes = np.bincount(crowd.item, minlength=5)
    assert np.bincount(fewer.item, minlength=5).tolist() == np.minimum(sizes, M).tolist()
    assert len(set(fewer.annotator.tolist())) == len(fewer)  # nobody is drawn twice
    assert (fewer.item == crowd.item[fewer.annotator]).all()
    assert (fewer.probs == crowd.probs[fewer.annotator]).all()


def test_every_judgment_is_drawn_equally_often() -> None:
    crowd = crowd_of([0, 1, 0, 1, 0, 1, 0, 1, 1], 2)
    rng = np.random.default_rng(0)

    drawn = np.concatenate([subsample_annotators(crowd, 2, rng=rng).annotator for _ in range(4000)])

    often = np.bincount(drawn) / 4000
    assert often == pytest.approx(np.where(crowd.item == 0, 2 / 4, 2 / 5), abs=0.04)


def test_an_item_with_too_few_judgments_is_named() -> None:
    crowd = crowd_of([0, 0, 0, 2], 4)

    with pytest.raises(DataError, match=r"Item '2' has 1 judgments, fewer than the 2 asked for"):
        subsample_annotators(crowd, 2, rng=np.random.default_rng(0))


def test_the_step_says_how_many_were_kept() -> None:
    fewer = subsample_annotators(crowd_of([0, 0], 1), 1, rng=np.random.default_rng(0))

    assert fewer.provenance[-1].settings == {"M": 1, "fewer": "error"}


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=6),
    st.integers(1, 12),
    st.integers(0, 99),
)
def test_sub_sampled_counts_never_exceed_the_votes_that_were_cast(
    votes: list[list[int]], M: int, seed: int
) -> None:
    table = np.array(votes)

    drawn = subsample_counts(table, M, fewer="keep", rng=np.random.default_rng(seed))

    assert ((drawn >= 0) & (drawn <= table)).all()
    assert drawn.sum(axis=1).tolist() == np.minimum(table.sum(axis=1), M).tolist()


def test_sub_sampled_counts_follow_the_hypergeometric_distribution() -> None:
    table = np.tile([7, 4, 1], (20_000, 1))

    drawn = subsample_counts(table, 5, rng=np.random.default_rng(0))

    for k, votes in enumerate([7, 4, 1]):
        seen = np.bincount(drawn[:, k], minlength=6) / len(drawn)
        assert seen == pytest.approx(hypergeom.pmf(range(6), 12, votes, 5), abs=0.015)


def test_a_row_with_too_few_votes_is_named() -> None:
    with pytest.raises(DataError, match="Row 1 of the table has 2 judgments"):
        subsample_counts(np.array([[3, 0], [1, 1]]), 3, rng=np.random.default_rng(0))


def test_asking_for_nobody_is_refused() -> None:
    with pytest.raises(DataError, match="ask for 1 or more"):
        subsample_counts(np.array([[3, 0]]), 0, rng=np.random.default_rng(0))


@pytest.mark.parametrize("bad", [-1, 0.5, np.nan])
def test_counts_that_are_no_whole_numbers_are_refused_with_their_place(bad: float) -> None:
    with pytest.raises(DataError, match="Row 1, column 0 of the counts"):
        checked_counts(np.array([[1.0, 2.0], [bad, 1.0]]))


def test_counts_that_are_no_table_are_refused() -> None:
    with pytest.raises(DataError, match="expected a row per item"):
        checked_counts(np.array([1, 2]))


@pytest.mark.parametrize("M", PUBLISHED)
def test_cifar10h_with_fewer_people_has_the_expected_and_the_published_entropy(
    data_folder: Path, M: int
) -> None:
    table = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    rng = np.random.default_rng(0)

    drawn = [subsample_counts(table, M, rng=rng) / M for _ in range(10)]

    # The mean over all possible draws is known exactly; one draw is within about 0.0016 of it.
    votes = np.arange(M + 1)[:, None, None]
    chance = hypergeom.pmf(votes, table.sum(axis=1)[:, None], table, M)
    expected = (entr(votes / M) * chance).sum(axis=(0, 2)).mean()
    assert np.mean([entr(probs).sum(axis=1).mean() for probs in drawn]) == pytest.approx(
        expected, abs=0.002
    )
    assert expected == pytest.approx(PUBLISHED[M], abs=0.003)
