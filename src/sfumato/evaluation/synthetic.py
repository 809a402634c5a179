"""Turn model-made label distributions and people's own into distances and a cross-table of scores.

A synthetic label is a distribution that a model or a rule wrote, not people: do the two agree
(``audit_synthetic``), and does a network that learnt from one do well by the other
(``cross_scores``, ``leads``)? S4-53.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.alignment import correlate
from sfumato.evaluation.metrics import TIE, is_right
from sfumato.labels.compare import jensen_shannon, kl, total_variation
from sfumato.labels.labelset import LabelSet, align
from sfumato.labels.signals import entropy
from sfumato.provenance import is_simulated
from sfumato.scores import IN_MEMORY, Estimate, source_text, with_interval
from sfumato.stats import bootstrap_interval, mean_of_defined, paired_items

PerItem = NDArray[np.float64]  # (items,)
Masks = Mapping[str, NDArray[np.bool_]]

PerItemMetric = Callable[[LabelSet, LabelSet], PerItem]
"""A number an item from the labels that count and what a model believes, in this order."""

DRAWS = 1000

UNDEFINED = "Undefined: fewer than three items, or one of the two is equally uncertain everywhere."


def agreement_of_modes(labels: LabelSet, model: LabelSet) -> PerItem:
    """1 where both have the same most probable class, else 0; among equals the first class counts.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.6, 0.4], [0, 1]])
    >>> agreement_of_modes(labels, LabelSet(("a", "b"), ("cat", "dog"), [[0.4, 0.6], [0, 1]]))
    array([0., 1.])
    """
    return is_right(labels, model).astype(np.float64)


def audit_synthetic(
    human: LabelSet,
    synthetic: LabelSet,
    *,
    name: str = "synthetic",
    strata: Masks | None = None,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> list[Estimate]:
    """How far made-up distributions are from people's, by stratum, with intervals over items.

    Metrics, in this order: ``total_variation``, ``jensen_shannon`` (nats, at most log 2), ``kl``
    of the synthetic from the human label (infinite where it excludes a class that somebody chose)
    and ``kl_infinite``, the share of items on which it is; ``mode_agreement``;
    ``entropy_excess``, the mean of H(synthetic) - H(human); and ``entropy_rank_correlation``,
    whether both find the same items uncertain. ``strata`` are masks over the items of ``human``;
    "all" is always there. ``synthetic`` may hold more items and other class order. A class that
    only one side has, such as people's "none of these", has no probability on the other.
    """
    classes = (*human.classes, *(name for name in synthetic.classes if name not in human.classes))
    human, synthetic = align(_over(human, classes), _over(synthetic, classes))
    distance = kl(human, synthetic)
    doubts = entropy(human), entropy(synthetic)
    measures: dict[str, PerItem] = {
        "total_variation": total_variation(human, synthetic),
        "jensen_shannon": jensen_shannon(human, synthetic),
        "kl": distance,
        "kl_infinite": np.isinf(distance).astype(np.float64),
        "mode_agreement": agreement_of_modes(human, synthetic),
        "entropy_excess": doubts[1] - doubts[0],
    }
    tied = _tied(human) | _tied(synthetic)
    found = []
    for stratum, inside in _with_all(strata, len(human)).items():
        made = partial(
            Estimate,
            arm=name,
            stratum=stratum,
            items=int(inside.sum()),
            simulated=is_simulated(human.provenance) or is_simulated(synthetic.provenance),
        )
        source = partial(_source, human, synthetic)
        for metric, values in measures.items():
            ends = bootstrap_interval(values[inside], rng=rng, draws=draws)
            note = _tie_note(int(tied[inside].sum())) if metric == "mode_agreement" else ""
            estimate = made(metric, mean_of_defined(values[inside]), source=source(note))
            found.append(with_interval(estimate, *ends, "items"))
        rank = correlate(doubts[0][inside], doubts[1][inside], rng=rng, draws=draws)
        note = UNDEFINED if np.isnan(rank.rho) else ""
        estimate = made("entropy_rank_correlation", rank.rho, source=source(note))
        found.append(with_interval(estimate, rank.low, rank.high, "items"))
    return found


def cross_scores(
    predictions: Mapping[str, Sequence[LabelSet]],
    labels: Mapping[str, LabelSet],
    *,
    metric: PerItemMetric = agreement_of_modes,
    metric_name: str = "accuracy",
    network: str = "",
    strata: Masks | None = None,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> pl.DataFrame:
    """Every training target scored on every kind of label: the table of S4-53 and S4-45.

    ``predictions`` holds, by what a network was trained on, one label set a seed; ``labels`` the
    kinds of label to score on, for example "human" and "synthetic". The items are those of the
    first kind of label, in its order; the masks of ``strata`` too. A value is the mean over seeds
    and items, its interval is over items: other images, the same trained networks. Columns
    ``network``, ``trained_on``, ``tested_on``, ``metric``, ``value``, ``low``, ``high``,
    ``stratum``, ``items``, ``seeds``.
    """
    cells = _cells(predictions, labels, metric)
    size = len(next(iter(labels.values())))
    rows = []
    for stratum, inside in _with_all(strata, size).items():
        for (trained_on, tested_on), values in cells.items():
            low, high = bootstrap_interval(values[inside], rng=rng, draws=draws)
            value = mean_of_defined(values[inside])
            where = (stratum, int(inside.sum()), len(predictions[trained_on]))
            rows.append((network, trained_on, tested_on, metric_name, value, low, high, *where))
    text = dict.fromkeys(("network", "trained_on", "tested_on", "metric"), pl.String())
    numbers = dict.fromkeys(("value", "low", "high"), pl.Float64())
    counts = dict.fromkeys(("items", "seeds"), pl.Int64())
    columns = {**text, **numbers, "stratum": pl.String(), **counts}
    return pl.DataFrame(rows, schema=columns, orient="row")


def leads(
    predictions: Mapping[str, Sequence[LabelSet]],
    labels: Mapping[str, LabelSet],
    *,
    metric: PerItemMetric = agreement_of_modes,
    metric_name: str = "accuracy",
    network: str = "",
    strata: Masks | None = None,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> list[Estimate]:
    """By how much one training target leads another on each kind of label, paired over items.

    S4 finds that networks trained on synthetic labels lead by 28 points on their own disputed
    labels and trail by 7 on people's: each is one estimate here. Its ``against`` is the kind
    of label; ``p`` is of the sign-flip permutation test over items.
    """
    cells = _cells(predictions, labels, metric)
    size = len(next(iter(labels.values())))
    simulated = any(is_simulated(known.provenance) for known in labels.values()) or any(
        is_simulated(seed.provenance) for seeds in predictions.values() for seed in seeds
    )
    found = []
    for stratum, inside in _with_all(strata, size).items():
        for tested_on in labels:
            for first, second in combinations(predictions, 2):
                apart = (cells[first, tested_on] - cells[second, tested_on])[inside]
                ends, p = paired_items(apart, rng=rng, draws=draws)
                estimate = Estimate(
                    metric=metric_name,
                    value=mean_of_defined(apart),
                    arm=first,
                    second=second,
                    network=network,
                    against=tested_on,
                    stratum=stratum,
                    p=p,
                    test="sign-flip permutation over items",
                    items=int(inside.sum()),
                    simulated=simulated,
                    source=_source(labels[tested_on], predictions[first][0]),
                )
                found.append(with_interval(estimate, *ends, "items"))
    return found


def _cells(
    predictions: Mapping[str, Sequence[LabelSet]],
    labels: Mapping[str, LabelSet],
    metric: PerItemMetric,
) -> dict[tuple[str, str], PerItem]:
    if not predictions or not labels:
        raise DataError("A cross-table needs at least one training target and one kind of label.")
    for trained_on, seeds in predictions.items():
        if not len(seeds):
            raise DataError(f"There is no prediction of networks trained on {trained_on!r}.")
    first = next(iter(labels.values()))
    aligned = {name: align(first, known)[1] for name, known in labels.items()}
    return {
        (trained_on, tested_on): np.mean(
            [metric(known, align(first, seed)[1]) for seed in seeds], axis=0
        )
        for trained_on, seeds in predictions.items()
        for tested_on, known in aligned.items()
    }


def _over(labels: LabelSet, classes: tuple[str, ...]) -> LabelSet:
    """The labels over more classes, of which the further ones have no probability."""
    if labels.classes == classes:
        return labels
    probs = np.zeros((len(labels), len(classes)))
    probs[:, [classes.index(name) for name in labels.classes]] = labels.probs
    return LabelSet(labels.items, classes, probs, labels.weight, labels.provenance)


def _source(labels: LabelSet, model: LabelSet, note: str = "") -> str:
    return source_text(
        labels=labels.provenance or IN_MEMORY,
        model=model.provenance or IN_MEMORY,
        note=note,
    )


def _with_all(strata: Masks | None, size: int) -> dict[str, NDArray[np.bool_]]:
    masks = {"all": np.ones(size, dtype=np.bool_), **(strata or {})}
    for stratum, inside in masks.items():
        if np.shape(inside) != (size,) or np.asarray(inside).dtype != np.bool_:
            raise DataError(
                f"Stratum {stratum!r} has shape {np.shape(inside)} and type "
                f"{np.asarray(inside).dtype}; expected true or false for each of {size} items."
            )
    return masks


def _tied(labels: LabelSet) -> NDArray[np.bool_]:
    best = labels.probs.max(axis=1, keepdims=True)
    return (labels.probs >= best * (1 - TIE)).sum(axis=1) > 1


def _tie_note(tied: int) -> str:
    return f"On {tied} items several classes are equally probable; the first counts." * (tied > 0)
