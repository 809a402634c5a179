"""Informed shares: formulas against scipy, a guard that holds, models that help or lie."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import dirichlet_multinomial

from sfumato.labels.aggregate import aggregate
from sfumato.labels.aggregate.informed import _fit_weights, _learn_table, _Votes, informed
from sfumato.labels.labelset import NOT_RECORDED, LabelSet
from sfumato.labels.votes import Votes

Rows = NDArray[np.float64]


def names(number: int) -> tuple[str, ...]:
    return tuple(f"{place:05}" for place in range(number))


def votes_of_counts(counts: Rows) -> Votes:
    item, label = np.nonzero(counts)
    times = counts[item, label].astype(int)
    items, classes = names(len(counts)), names(counts.shape[1])
    who = np.full(times.sum(), NOT_RECORDED)
    return Votes(items, (), classes, np.repeat(item, times), who, np.repeat(label, times))


def labels_of(counts: Rows, name: str, model: Rows | None = None) -> Rows:
    believed = None
    if model is not None:
        rows = model / model.sum(axis=1, keepdims=True)
        believed = LabelSet(names(len(counts)), names(counts.shape[1]), rows)
    votes, rng = votes_of_counts(counts), np.random.default_rng(0)
    return aggregate(votes, name, rng=rng, predictions=believed).labels.probs


def divergence(shares: Rows, labels: Rows) -> Rows:
    logs = np.log(np.maximum(shares, 1e-300)) - np.log(np.maximum(labels, 1e-12))
    return (shares * logs).sum(axis=1)


def made_up(items: int, votes: int, *, seed: int = 0) -> tuple[Rows, Rows]:
    """True shares, some clear and some not, and a few votes."""
    rng = np.random.default_rng(seed)
    clear = rng.dirichlet([0.05] * 3, items)
    unclear = rng.dirichlet([2.0] * 3, items)
    true = np.where(rng.random((items, 1)) < 0.6, clear, unclear)
    return true, np.array([rng.multinomial(votes, row) for row in true], np.float64)


@given(
    counts=st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any),
    alpha=st.lists(st.floats(0.05, 50), min_size=3, max_size=3),
)
def test_likelihood_of_a_component_is_that_of_scipy(counts: list[int], alpha: list[float]) -> None:
    table, parameters = np.array([counts], np.float64), np.array(alpha)
    arrangements = gammaln(sum(counts) + 1) - gammaln(np.array(counts) + 1).sum()
    every_order = dirichlet_multinomial(n=sum(counts), alpha=parameters).logpmf(counts)

    ours = _Votes.of(table).log_likelihood(parameters)[0]

    assert ours == pytest.approx(every_order - arrangements, abs=1e-8)


def test_weights_are_the_optimum_of_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(400, 6))

    weight = _fit_weights(logs, iterations=500, tolerance=-np.inf, pseudo_votes=1e-9).weight

    likelihoods = np.exp(logs)
    slope = (likelihoods / (likelihoods @ weight)[:, None]).mean(axis=0)
    used = weight > 1e-3
    assert np.allclose(slope[used], 1, atol=1e-3)  # first-order conditions of a concave problem
    assert (slope[~used] <= 1 + 1e-3).all()


def test_table_is_what_people_say_where_a_model_is_sure() -> None:
    counts = np.array([[8, 2], [6, 4], [1, 9]] * 200, np.float64)
    believed = np.array([[1, 0], [1, 0], [0, 1]] * 200, np.float64)

    table = _learn_table(counts, believed, np.array([0.5, 0.5]))

    assert np.allclose(table, [[0.7, 0.3], [0.1, 0.9]], atol=1e-3)


def test_a_model_helps_even_if_its_classes_are_called_otherwise() -> None:
    true, votes = made_up(600, 3)
    rng = np.random.default_rng(1)
    model = true + 0.3 * rng.dirichlet([1, 1, 1], 600)

    alone = divergence(true, labels_of(votes, "informed")).mean()
    helped = divergence(true, labels_of(votes, "informed", model)).mean()
    renamed = divergence(true, labels_of(votes, "informed", model[:, [2, 0, 1]])).mean()

    assert helped < 0.6 * alone
    assert renamed < 0.6 * alone


def test_a_model_that_knows_nothing_does_no_harm() -> None:
    true, votes = made_up(600, 3)
    noise = np.random.default_rng(2).dirichlet([0.2] * 3, 600)

    shrunk = divergence(true, labels_of(votes, "shrunk-shares")).mean()
    misled = divergence(true, labels_of(votes, "informed", noise)).mean()

    assert misled < shrunk + 0.005


@given(seed=st.integers(0, 1000), items=st.integers(12, 60), votes=st.integers(1, 6))
def test_labels_are_distributions_and_say_how_far_the_guard_trusts(
    seed: int, items: int, votes: int
) -> None:
    _, counts = made_up(items, votes, seed=seed)
    rng = np.random.default_rng(seed)

    result = aggregate(votes_of_counts(counts), "informed", rng=rng, interval="default")

    probs, interval = result.labels.probs, result.interval
    assert interval is not None
    assert np.allclose(probs.sum(axis=1), 1)
    assert (probs > 0).all()
    trust = result.fitted["weight_of_informed"]
    assert isinstance(trust, float) and 0 <= trust <= 1
    assert (interval.low >= 0).all() and (interval.high <= 1).all()
    assert (interval.low <= interval.high).all()


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    true, counts = made_up(800, 4)
    rng = np.random.default_rng(0)

    interval = aggregate(
        votes_of_counts(counts), "informed", rng=rng, interval="default", level=0.8
    ).interval

    assert interval is not None
    held = (interval.low - 1e-9 <= true) & (true <= interval.high + 1e-9)  # ends by bisection
    assert 0.75 < held.mean() < 0.9


def test_of_many_items_the_prior_is_fitted_to_some_and_all_are_labelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    true, counts = made_up(900, 3)
    whole = divergence(true, labels_of(counts, "informed")).mean()
    module = sys.modules[informed.__module__]
    monkeypatch.setattr(module, "MOST_ITEMS", 300)
    monkeypatch.setattr(module, "CHUNK", 250)

    part = labels_of(counts, "informed")

    assert len(part) == 900
    assert divergence(true, part).mean() == pytest.approx(whole, abs=0.02)


def test_many_classes_need_no_table_of_classes_by_classes() -> None:
    rng = np.random.default_rng(0)
    true = rng.dirichlet([0.02] * 60, 200)
    counts = np.array([rng.multinomial(3, row) for row in true], np.float64)
    model = 0.9 * true + 0.1 / 60

    alone = divergence(true, labels_of(counts, "informed")).mean()

    assert divergence(true, labels_of(counts, "informed", model)).mean() < 0.7 * alone


@pytest.mark.parametrize(("votes", "wanted"), [(3, 0.123), (5, 0.100)])
def test_few_votes_and_roberta_come_near_a_hundred_people(
    data_folder: Path, votes: int, wanted: float
) -> None:
    folder = data_folder / "chaosnli"
    lines = (folder / "chaosNLI_snli.jsonl").read_text(encoding="utf-8").splitlines()
    counts = {row["uid"]: row["label_counter"] for row in map(json.loads, lines)}
    believed: dict[str, list[float]] = {}
    for path in sorted(folder.glob("pred_SNLI_*_roberta-base_0.json")):
        stored = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        believed |= {row["uid"]: row["probs"] for row in stored}
    people = np.array([[counts[item].get(letter, 0) for letter in "ecn"] for item in counts])
    model = np.array([believed[item] for item in counts], np.float64)
    rng = np.random.default_rng(0)
    half = np.array([rng.multivariate_hypergeometric(row, row.sum() // 2) for row in people])
    few = np.array([rng.multivariate_hypergeometric(row, votes) for row in half], np.float64)
    rest = (people - half) / (people - half).sum(axis=1, keepdims=True)

    helped = divergence(rest, labels_of(few, "informed", model)).mean()

    assert helped < wanted + 0.005
    assert helped < divergence(rest, labels_of(few, "shrunk-shares")).mean() - 0.02
