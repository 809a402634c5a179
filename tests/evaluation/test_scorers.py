"""Metrics as scikit-learn and torchmetrics call them."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch
import torchmetrics
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from sfumato.errors import DataError, UnknownName
from sfumato.evaluation.metrics import METRICS, metric_named
from sfumato.evaluation.scorers import SoftMetric, soft_scorer
from sfumato.labels.labelset import LabelSet

Array = NDArray[np.float64]


def rows(number: int = 250, classes: int = 3, seed: int = 0) -> Array:
    return np.random.default_rng(seed).dirichlet(np.ones(classes), number)


def labels(probs: Array) -> LabelSet:
    return LabelSet(tuple(map(str, range(len(probs)))), tuple("xyz"), probs)


class Stored:
    """A model whose beliefs are its features."""

    classes_ = np.array(["x", "y", "z"])

    def predict_proba(self, X: Any) -> Any:
        return np.asarray(X)


OF_CLASSES = [name for name in METRICS if not METRICS[name].scale]
"""Rows alone do not say what the points of a scale count."""


@pytest.mark.parametrize("name", [name for name in OF_CLASSES if METRICS[name].better != "neither"])
def test_a_scorer_is_its_metric_with_higher_as_better(name: str) -> None:
    human, model = rows(seed=0), rows(seed=1)
    metric = metric_named(name)
    value = metric.overall(labels(human), labels(model))

    score = soft_scorer(name.replace("_", "-"))
    found = [score(Stored(), model, targets) for targets in (human, labels(human))]

    assert found == pytest.approx([value if metric.better == "higher" else -value] * 2)


def test_metrics_that_only_describe_and_unknown_ones_are_refused() -> None:
    with pytest.raises(DataError, match="does not judge it"):
        soft_scorer("entropy")
    with pytest.raises(UnknownName, match="Did you mean 'cross_entropy'"):
        soft_scorer("cross-entrpy")


def test_searches_choose_by_it_and_it_travels_to_other_processes() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    scorer = pickle.loads(pickle.dumps(soft_scorer("cross-entropy")))

    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 10.0]}, scoring=scorer, cv=3).fit(X, y)

    assert search.best_params_ == {"C": 10.0}
    assert cross_val_score(DummyClassifier(), X, y, scoring=scorer, cv=3).max() < 0


@pytest.mark.parametrize("name", OF_CLASSES)
def test_a_running_metric_is_the_metric_of_all_batches_together(name: str) -> None:
    human, model = rows(seed=0), rows(seed=1)
    expected = METRICS[name].overall(labels(human), labels(model))
    metric = SoftMetric(name)

    for part in np.array_split(np.arange(len(human)), 4):
        metric.update(torch.from_numpy(model[part]), torch.from_numpy(human[part]))

    assert metric.compute() == pytest.approx(expected, nan_ok=True)
    metric.reset()
    with pytest.raises(DataError, match="no rows yet"):
        metric.compute()


def test_logits_class_numbers_and_low_precision_are_taken() -> None:
    logits = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    hard = torch.tensor([0, 1, 1, 0, 0, 1, 0, 1])
    metric = SoftMetric("cross-entropy", given="logits")

    first = metric(logits[:4], hard[:4])
    metric.update(logits[4:], hard[4:])

    expected = torch.nn.functional.cross_entropy
    assert first == pytest.approx(expected(logits[:4], hard[:4]).item(), abs=1e-6)
    assert metric.compute() == pytest.approx(expected(logits, hard).item(), abs=1e-6)
    soft = SoftMetric("kl")
    soft.update(logits.softmax(1).bfloat16(), torch.from_numpy(rows(8)).float())
    assert soft.compute() > 0
    with pytest.raises(DataError, match=r"give \(items, classes\)"):
        soft.update(hard, hard)


def test_running_metrics_keep_to_the_contract_of_torchmetrics() -> None:
    believed, wanted = torch.from_numpy(rows(40, seed=1)), torch.from_numpy(rows(40))
    pairs: list[tuple[Any, Any, Any]] = [
        (
            SoftMetric("accuracy"),
            torchmetrics.classification.MulticlassAccuracy(3, average="micro"),
            lambda probs, labels: (probs, labels.argmax(dim=1)),
        ),
        (
            SoftMetric("kl"),
            torchmetrics.KLDivergence(),
            lambda probs, labels: (labels, probs),
        ),
    ]
    for ours, theirs, order in pairs:
        for part in (slice(15), slice(15, 40)):
            target = order(believed[part], wanted[part])
            assert ours(believed[part], wanted[part]) == pytest.approx(float(theirs(*target)))
        assert ours.compute() == pytest.approx(float(theirs.compute()))
        ours.reset()
        theirs.reset()
        ours.update(believed[:9], wanted[:9])
        theirs.update(*order(believed[:9], wanted[:9]))
        assert ours.compute() == pytest.approx(float(theirs.compute()))
