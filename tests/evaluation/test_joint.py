import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import confusion_matrix

from sfumato.evaluation.metrics import (
    by_class,
    class_and_right,
    correlation_of,
    cross_entropy,
    entropies,
    entropy_codes,
    rank_correlation_of,
    worst_class_of,
)
from sfumato.labels.compare import entropy_correlation
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy


def named(rows: object) -> LabelSet:
    probs = np.array(rows, dtype=np.float64)
    return LabelSet(
        tuple(f"i{n}" for n in range(len(probs))), tuple("abcdefghij"[: probs.shape[1]]), probs
    )


def votes_of_five(n_items: int, seed: int) -> LabelSet:
    rng = np.random.default_rng(seed)
    return named(rng.multinomial(5, rng.dirichlet(np.ones(3), size=n_items)) / 5)


@given(st.integers(0, 2**32 - 1))
def test_entropy_correlations_equal_those_of_scipy_and_of_the_labels_room(seed: int) -> None:
    human, model = votes_of_five(40, seed), votes_of_five(40, seed + 1)
    x, y = entropy(human), entropy(model)

    pearson = correlation_of(entropies(human, model))
    spearman = rank_correlation_of(entropy_codes(human, model))

    assert pearson == pytest.approx(pearsonr(x, y).statistic)
    assert spearman == pytest.approx(spearmanr(x.round(12), y.round(12)).statistic)
    assert pearson == pytest.approx(entropy_correlation(human, model, "pearson"))
    assert spearman == pytest.approx(entropy_correlation(human, model, "spearman"))


@given(st.lists(st.integers(0, 29), min_size=30, max_size=30), st.integers(0, 2**32 - 1))
def test_ranks_of_a_resample_are_those_within_the_resample(rows: list[int], seed: int) -> None:
    human, model = votes_of_five(30, seed), votes_of_five(30, seed + 1)
    x, y = entropy(human).round(12)[rows], entropy(model).round(12)[rows]

    resampled = rank_correlation_of(entropy_codes(human, model)[rows])

    if np.ptp(x) > 0 and np.ptp(y) > 0:
        assert resampled == pytest.approx(spearmanr(x, y).statistic)
    else:
        assert np.isnan(resampled)


@pytest.mark.parametrize(
    "pairs",
    [np.empty((0, 2)), np.ones((1, 2)), np.array([[0.1 + 0.2, 1], [0.3, 2], [0.3, 3]])],
    ids=["none", "one", "rounding"],
)
def test_a_correlation_with_something_constant_is_not_defined(
    pairs: NDArray[np.float64],
) -> None:
    assert np.isnan(correlation_of(pairs))


def test_accuracy_by_class_is_the_diagonal_of_the_confusion_matrix() -> None:
    rng = np.random.default_rng(2)
    human = named(rng.dirichlet(np.ones(4), size=200))
    model = named((human.probs + rng.dirichlet(np.ones(4), size=200)) / 2)
    said, believed = human.probs.argmax(axis=1), model.probs.argmax(axis=1)
    table = confusion_matrix(said, believed)

    found = by_class(human, model)

    share = table.diagonal() / table.sum(axis=1)
    assert found["class"].to_list() == ["a", "b", "c", "d"]
    assert found["items"].to_list() == table.sum(axis=1).tolist()
    assert found["accuracy"].to_numpy() == pytest.approx(share)
    assert worst_class_of(class_and_right(human, model)) == pytest.approx(share.min())
    weighted = found["cross_entropy"].to_numpy() @ found["items"].to_numpy() / 200
    assert weighted == pytest.approx(cross_entropy(human, model).mean())


def test_a_class_that_nobody_chose_is_not_the_worst() -> None:
    human = named([[1, 0, 0], [0, 0, 1], [0, 0, 1]])
    model = named([[1, 0, 0], [0, 1, 0], [0, 0, 1]])

    assert worst_class_of(class_and_right(human, model)) == 0.5
    assert by_class(human, model)["accuracy"].to_list() == [1, None, 0.5]
