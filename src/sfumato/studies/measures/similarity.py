"""How well labels and networks know which items people find alike (paper 2, figures 4, 8, 10)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import pearsonr

from sfumato.errors import DataError
from sfumato.evaluation.representations import FEWEST, likeness, softness, vectors_of
from sfumato.labels.labelset import LabelSet
from sfumato.planning.embed import gnmds_rankings, rank_scores
from sfumato.planning.embed.gnmds import TIE_WIDTH, tie_groups
from sfumato.planning.pilot import similarity_table
from sfumato.planning.weigh import item_errors
from sfumato.provenance import is_simulated
from sfumato.scores import Estimate, source_text, with_interval
from sfumato.stats import cosines, dense_codes, spearman_of_codes, student_interval
from sfumato.studies.data import (
    Findings,
    Predictions,
    StudyData,
    TrainingRun,
    apart_row,
    blank_row,
    every_pair,
)

RATED, NOT_LEARNT = "rated", "rated, not learnt"
"""All images that people rated, as in the paper, and those of them that a network did not learn."""

Matrix = NDArray[np.float64]  # (items, items)


@dataclass(frozen=True, eq=False)
class _Rated:
    """Items with rated pairs, and the mean rating of each pair; NaN where nobody rated it."""

    items: tuple[str, ...]
    similarity: Matrix
    source: str

    def take(self, items: Sequence[str]) -> Matrix:
        place = {item: row for row, item in enumerate(self.items)}
        rows = [place[item] for item in items]
        return self.similarity[np.ix_(rows, rows)]


def similarity(data: StudyData, predictions: Predictions) -> Findings:
    """What label sets recover of rated similarities, and what networks that learnt them know.

    Nothing where the study has no ratings. Label sets are embedded (GNMDS) and compared over pairs
    of rated items, with intervals over items (S1-45, S1-46, S1-53); of networks the cosines of
    what their last layer reads are, with intervals over seeds (S1-51, S1-52).
    """
    rated = _rated(data)
    if rated is None:
        return Findings()
    sets = {name: labels.take(rated.items) for name, labels in _learnt_sets(data).items()}
    recovered, wrong = _recovered(data, sets, rated)
    found = [*recovered.values(), *wrong.values(), *_differences(data, recovered)]
    found += _error_line(recovered, wrong)
    found += _networks(data, predictions, rated)
    rho = {name: row.value for name, row in recovered.items()}
    errors = pl.DataFrame({"labels": list(wrong), "wrong": [row.value for row in wrong.values()]})
    table = softness(sets, rho).join(errors, on="labels", maintain_order="left")
    return Findings(found, {"similarity": table})


def _learnt_sets(data: StudyData) -> dict[str, LabelSet]:
    """The label sets that arms learn, by name."""
    names = dict.fromkeys(arm.labels for arm in data.study.arms)
    return {name: data.labels[name] for name in names if name in data.labels}


def _rated(data: StudyData) -> _Rated | None:
    """Items with ratings and with labels of every set that is learnt."""
    if data.ratings is None:
        return None
    named = {*data.ratings.table["first"], *data.ratings.table["second"]}
    sets = [
        set(data.labels[arm.labels].items) for arm in data.study.arms if arm.labels in data.labels
    ]
    items = tuple(
        item for item in data.original.items if all(item in one for one in (named, *sets))
    )
    if len(items) < FEWEST:
        raise DataError(
            f"{len(items)} items with rated pairs have a label in every set that is learnt; "
            f"{FEWEST} or more are needed. The first rated item is {min(named, default='none')!r}."
        )
    source = source_text(labels=data.ratings.provenance)
    return _Rated(items, similarity_table(data.ratings, items), source)


def _recovered(
    data: StudyData, sets: Mapping[str, LabelSet], rated: _Rated
) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
    """Spearman's ρ of recovered and rated similarities, and the share of wrong comparisons."""
    recovered, wrong = {}, {}
    for name, labels in sets.items():
        scores = rank_scores(labels.probs.round(12))
        gram = gnmds_rankings(scores, rng=data.rng("similarity")).gram
        close = _tied(gram[: len(labels), : len(labels)])
        found = likeness(close, rated.similarity, rng=data.rng("likeness"), draws=data.study.draws)
        blank = Estimate(
            "recovered_similarity",
            found.spearman,
            arm=name,
            part=RATED,
            items=found.items,
            p=found.p,
            test=found.test,
            simulated=is_simulated(labels.provenance),
            source=source_text(labels=labels.provenance, second=rated.source),
        )
        recovered[name] = with_interval(blank, found.spearman_low, found.spearman_high, "items")
        wrong[name] = replace(
            blank,
            metric="similarity_error_rate",
            value=item_errors(close, rated.similarity),
            p=None,
            test="",
        )
    return recovered, wrong


def _tied(gram: Matrix) -> Matrix:
    """Recovered similarities as whole numbers, equal where a solver cannot tell them apart."""
    row, column = np.triu_indices(len(gram), k=1)
    values = gram[row, column]
    tied = np.zeros_like(gram)
    tied[row, column] = tie_groups(values, TIE_WIDTH * float(np.abs(values).max(initial=0.0)))
    return tied + tied.T


def _differences(data: StudyData, recovered: Mapping[str, Estimate]) -> Iterator[Estimate]:
    """Every two label sets; the interval excludes zero where theirs do not overlap."""
    for first, second in every_pair(data.study, tuple(recovered)):
        mine, theirs = recovered[first], recovered[second]
        blank = replace(mine, second=second, p=None, test="", low=None, high=None, over="")
        yield apart_row(mine, theirs, blank)


def _error_line(
    recovered: Mapping[str, Estimate], wrong: Mapping[str, Estimate]
) -> Iterator[Estimate]:
    """Pearson's r of both over label sets (S1-F4): they are few, and were drawn from nothing."""
    x, y = ([one.value for one in rows.values()] for rows in (wrong, recovered))
    if len(set(x)) < FEWEST or len(set(y)) < 2:
        return
    found = pearsonr(x, y)
    blank = replace(
        next(iter(recovered.values())), metric="pearson_error_recovered", arm="", p=None, test=""
    )
    row = replace(blank, value=float(found.statistic), low=None, high=None, over="")
    ends = found.confidence_interval()
    yield with_interval(row, float(ends.low), float(ends.high), "label sets")


def _networks(data: StudyData, predictions: Predictions, rated: _Rated) -> Iterator[Estimate]:
    """ρ of cosines in the last layer and ratings, by arm and network, over seeds."""
    for arm, network in product(data.study.arm_names, data.study.networks):
        seeds = predictions.of(arm, network)
        for part in (RATED, NOT_LEARNT):
            known = {
                seed: [one for run in runs if (one := _network(data, run, rated, part)) is not None]
                for seed, runs in seeds.items()
            }
            values = np.array([np.mean(folds) for folds in known.values() if folds])
            if not len(values):
                continue  # no weights were kept, or a split learns nearly all that was rated
            runs = [run for folds in seeds.values() for run in folds]
            row = replace(
                blank_row(data, runs, part=part),
                metric="network_similarity",
                value=float(values.mean()),
                arm=arm,
                network=network,
                against=RATED,
                items=len(rated.items),
            )
            yield with_interval(row, *student_interval(values), "seeds")


def _network(data: StudyData, run: TrainingRun, rated: _Rated, part: str) -> float | None:
    from sfumato.learn.examples import as_tensor
    from sfumato.learn.networks import features
    from sfumato.learn.train import restore_network

    learnt = set(run.split.train) if part == NOT_LEARNT else set()
    items = tuple(item for item in rated.items if item not in learnt)
    weights = run.weights()
    if not weights or data.examples is None or len(items) < FEWEST:
        return None
    kind = data.study.recipe_of(run.key.network, run.key.seed).network
    shape, classes = data.examples.image_shape, run.target.labels.classes
    network = restore_network(kind, shape, classes, weights).cpu().eval()
    vectors = vectors_of(
        lambda images: features(network.network, network.normalised(images)),  # type: ignore[arg-type]
        as_tensor(data.examples.take(items)),
    )
    human = rated.take(items)
    row, column = np.nonzero(np.triu(~np.isnan(human), k=1))
    if len(row) < FEWEST:
        return None
    codes = dense_codes(cosines(vectors)[row, column]), dense_codes(human[row, column])
    return float(spearman_of_codes(*codes))
