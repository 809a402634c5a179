"""Turn what networks believed after every epoch into data maps, and into how far they still moved.

Seeds are pooled in a data map, so intervals of what is read from it are over items only. Trainings
that stopped early have different lengths: what is said of an epoch is aligned at the start, what is
said of the end at each training's own end (S4-51).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.alignment import correlate
from sfumato.evaluation.cartography import (
    LAST_EPOCHS,
    REGIONS,
    DataMap,
    convergence_table,
    data_map,
    data_map_table,
    steadiness,
)
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import Mask, disputed_thirds, strata_of
from sfumato.scores import Estimate, with_interval
from sfumato.stats import (
    bootstrap_statistics,
    dense_codes,
    percentile_interval,
    share_interval,
    spearman_of_codes,
)
from sfumato.studies.data import (
    LEARNT_SOFT,
    LEARNT_VOTE,
    WATCHED,
    Findings,
    Predictions,
    StudyData,
    TrainingRun,
    apart_row,
    blank_row,
    mean_row,
    share_row,
)
from sfumato.studies.measures.doubt import ENTROPY, UNCERTAINTY, UNSURE, at_items, signals_of

SIGNALS = ("confidence", "variability")
"""What a data map tells of an item."""

DOUBTS = {"entropy": ENTROPY, "uncertainty": UNCERTAINTY, "unsure": UNSURE}
"""Signals of people's doubt that a data map is held against, by their part in a metric's name:
``spearman_DOUBT_SIGNAL`` (S4-35). The last two are paper 5's own, where people may be unsure."""

GAPS = (("disputed", "unanimous"), ("most disputed", "least disputed"))
"""Strata of which the first should hold more items that are not easy (S4-35)."""

DRAWS = 300
"""Resamples behind the difference of two rank correlations."""

EARLY = "early_movement"
EARLY_EPOCHS = 10
"""Of the paper's 40."""

TRAINING = "training"


@dataclass(frozen=True, eq=False)
class WatchedRuns:
    """Beliefs of all seeds about what an arm's networks learnt."""

    runs: Sequence[TrainingRun]
    items: tuple[str, ...]
    beliefs: Sequence[NDArray[np.floating]]  # of each seed, (epochs, items, classes)

    @property
    def from_start(self) -> NDArray[np.float32]:
        """The epochs that every seed has, from the first: (seeds, epochs, items, classes)."""
        return np.stack([each[: self._epochs] for each in self.beliefs]).astype(np.float32)

    @property
    def from_end(self) -> NDArray[np.float32]:
        """As many epochs, to the last of each seed."""
        return np.stack([each[-self._epochs :] for each in self.beliefs]).astype(np.float32)

    @property
    def _epochs(self) -> int:
        return min(len(each) for each in self.beliefs)

    @property
    def target(self) -> LabelSet:
        """What was learnt; of labels that differ by seed, the first's."""
        return self.runs[0].target.mean.take(self.items)


def watched_runs(
    data: StudyData, predictions: Predictions, arm: str, network: str
) -> WatchedRuns | None:
    """What every seed's network believed after each epoch; None where nothing was watched.

    Items that people did not label, and seeds that learnt other items than the first, are left out.
    """
    runs = [each[0] for each in predictions.of(arm, network).values()]
    found = [(run, beliefs) for run in runs if (beliefs := run.large(WATCHED)) is not None]
    found = [(run, beliefs) for run, beliefs in found if run.split.train == found[0][0].split.train]
    if not found:
        return None
    known = set(data.people.items)
    learnt = found[0][0].split.train
    rows = np.flatnonzero([item in known for item in learnt])
    return WatchedRuns(
        [run for run, _ in found],
        tuple(learnt[row] for row in rows),
        [beliefs[:, rows] for _, beliefs in found],
    )


def data_maps(data: StudyData, predictions: Predictions) -> Findings:
    """A data map for each arm and network, its regions by stratum, and whether it follows people;
    and what soft labels change in it against the majority vote."""
    rng, draws = data.rng("data_maps"), data.study.draws
    told = signals_of(data)
    rows: list[Estimate] = []
    maps: dict[tuple[str, str], tuple[DataMap, Estimate]] = {}
    tables = []
    for network in data.study.networks:
        for arm in data.study.arm_names:
            seen = watched_runs(data, predictions, arm, network)
            if seen is None or not seen.items:
                continue
            found = map_beliefs(seen.from_end, seen.target)
            blank = replace(blank_row(data, seen.runs, part=TRAINING), arm=arm, network=network)
            people = data.people.take(seen.items)
            doubts = doubts_at(seen.items, data.people.items, told)
            tables.append(
                data_map_table(
                    found,
                    arm=arm,
                    network=network,
                    human=people,
                    uncertainty=doubts.get(UNCERTAINTY),
                )
            )
            rows += map_rows(found, people, blank, doubts, rng=rng, draws=draws)
            maps[arm, network] = found, blank
    rows += _changes(data, maps, told)
    return Findings(rows, {"data_map": pl.concat(tables)} if tables else {})


def map_beliefs(beliefs: NDArray[np.floating], target: LabelSet) -> DataMap:
    """The data map over the last epochs of every seed (S4-22)."""
    return data_map(beliefs, target, last=min(LAST_EPOCHS, beliefs.shape[1]))


def doubts_at(
    items: Sequence[str], known: Sequence[str], told: Mapping[str, NDArray[np.float64]]
) -> dict[str, NDArray[np.float64]]:
    """The signals of ``DOUBTS`` that are told of the known items, at the places of others."""
    return {name: at_items(items, known, told[name]) for name in DOUBTS.values() if name in told}


def map_rows(
    found: DataMap,
    people: LabelSet | None,
    blank: Estimate,
    doubts: Mapping[str, NDArray[np.float64]],
    *,
    rng: np.random.Generator,
    draws: int,
) -> list[Estimate]:
    """Shares of the regions and means of the signals by stratum, and rank correlations of the
    signals with people's doubts; without people over all items only."""
    region = np.array(found.region)
    strata = {"all": np.ones(len(region), dtype=np.bool_)}
    if people is not None:
        strata |= {**strata_of(people), **disputed_thirds(people)}
    rows = []
    for stratum, inside in strata.items():
        if not inside.any():
            continue
        here = replace(blank, stratum=stratum)
        rows += [share_row(here, f"{name}_share", region[inside] == name) for name in REGIONS]
        rows += [mean_row(here, f"map_{name}", getattr(found, name)[inside]) for name in SIGNALS]
    if people is None:
        return rows
    rows += [
        _gap(
            region != "easy", strata[more], strata[less], replace(blank, stratum=f"{more} - {less}")
        )
        for more, less in GAPS
        if strata[more].any() and strata[less].any()
    ]
    for doubt, name in product(DOUBTS, SIGNALS):
        if DOUBTS[doubt] in doubts:
            pair = doubts[DOUBTS[doubt]], getattr(found, name)
            known = correlate(*pair, rng=rng, draws=draws)
            metric = f"spearman_{doubt}_{name}"
            row = replace(blank, metric=metric, value=known.rho, items=known.items)
            rows.append(with_interval(row, known.low, known.high, "items"))
    return rows


def _gap(outside: Mask, more: Mask, less: Mask, blank: Estimate) -> Estimate:
    """How much larger a share of stratum ``more`` than of ``less`` is ambiguous or hard.

    Newcombe's interval from the two Wilson intervals (1998, method 10): it doubts a share of
    nought or all too.
    """
    (p, low_p, high_p), (q, low_q, high_q) = (_wilson(outside[inside]) for inside in (more, less))
    row = replace(
        blank, metric="not_easy_share_gap", value=p - q, items=int(more.sum() + less.sum())
    )
    low = p - q - math.hypot(p - low_p, high_q - q)
    return with_interval(row, low, p - q + math.hypot(high_p - p, q - low_q), "items")


def _wilson(mask: Mask) -> tuple[float, float, float]:
    hits, count = int(mask.sum()), len(mask)
    return hits / count, *share_interval(hits, count, method="wilson")


def _changes(
    data: StudyData,
    maps: Mapping[tuple[str, str], tuple[DataMap, Estimate]],
    told: Mapping[str, NDArray[np.float64]],
) -> list[Estimate]:
    """Learnt soft minus by the majority vote, item by item."""
    rng = np.random.default_rng(0)  # as the published comparison with paper 5 drew
    both = {
        network: (maps[LEARNT_SOFT, network], maps[LEARNT_VOTE, network])
        for network in data.study.networks
        if (LEARNT_SOFT, network) in maps and (LEARNT_VOTE, network) in maps
    }
    rows = []
    for name in SIGNALS:
        for (soft, blank), (vote, _) in both.values():
            items = [item for item in soft.items if item in set(vote.items)]
            learnt, voted = (_values_at(found, name, items) for found in (soft, vote))
            people = data.people.take(items)
            pair = replace(blank, second=LEARNT_VOTE)
            for stratum, inside in {**strata_of(people), **disputed_thirds(people)}.items():
                apart = (learnt - voted)[inside]
                if len(apart) > 1 and apart.std():
                    rows.append(mean_row(replace(pair, stratum=stratum), f"map_{name}", apart))
            doubts = doubts_at(items, data.people.items, told)
            for doubt, signal in DOUBTS.items():
                if signal in doubts:
                    pair = replace(pair, metric=f"spearman_{doubt}_{name}")
                    rows.append(_correlations_apart(doubts[signal], learnt, voted, pair, rng=rng))
    return rows


def _values_at(found: DataMap, name: str, items: Sequence[str]) -> NDArray[np.float64]:
    place = {item: row for row, item in enumerate(found.items)}
    values: NDArray[np.float64] = getattr(found, name)
    return values[[place[item] for item in items]]


def _correlations_apart(
    people: NDArray[np.float64],
    soft: NDArray[np.float64],
    vote: NDArray[np.float64],
    blank: Estimate,
    *,
    rng: np.random.Generator,
) -> Estimate:
    """Spearman's rho with people's doubt, learnt soft minus by the majority vote: percentiles
    over resampled items, the same for both."""
    known = np.isfinite(people)
    people, soft, vote = people[known], soft[known], vote[known]
    codes = [dense_codes(values) for values in (people, soft, vote)]

    def apart(rows: NDArray[np.int64]) -> list[float]:
        doubt, first, second = (each[rows] for each in codes)
        return [float(spearman_of_codes(doubt, first) - spearman_of_codes(doubt, second))]

    value = apart(np.arange(len(people)))[0]
    row = replace(blank, value=value, items=len(people))
    if math.isnan(value):
        return row
    drawn = bootstrap_statistics(apart, len(people), rng=rng, draws=DRAWS)
    return with_interval(row, *percentile_interval(drawn[:, 0]), "items")


def convergence(data: StudyData, predictions: Predictions) -> Findings:
    """How far beliefs move from epoch to epoch (S4-33), early on and in the end, against how far
    seeds are apart (S4-51); of all items and by stratum."""
    rows: list[Estimate] = []
    tables = []
    for network in data.study.networks:
        early: dict[tuple[str, str], Estimate] = {}
        for arm in data.study.arm_names:
            seen = watched_runs(data, predictions, arm, network)
            if seen is None or min(map(len, seen.beliefs)) < 2:
                continue
            blank = replace(blank_row(data, seen.runs, part=TRAINING), arm=arm, network=network)
            strata = strata_of(data.people.take(seen.items))
            found = movement_findings(seen.from_start, blank, strata, late=seen.from_end)
            tables.append(found.tables["convergence"])
            rows += found.estimates
            early |= {(arm, one.stratum): one for one in found.estimates if one.metric == EARLY}
        for (arm, stratum), soft in early.items():
            vote = early.get((LEARNT_VOTE, stratum))
            if arm == LEARNT_SOFT and vote is not None:
                rows.append(apart_row(soft, vote, replace(soft, second=LEARNT_VOTE)))
    return Findings(rows, {"convergence": pl.concat(tables)} if tables else {})


def movement_findings(
    beliefs: NDArray[np.floating],
    blank: Estimate,
    strata: Mapping[str, Mask] | None = None,
    *,
    late: NDArray[np.floating] | None = None,
) -> Findings:
    """Divergence from epoch to epoch of two or more, of all items and by stratum: the curve, its
    early mean, and with several seeds the late one against the spread between them.

    ``late`` are the ends of the trainings, where these differ in length; by default ``beliefs``.
    """
    late = beliefs if late is None else late
    rows, tables = [], []
    everything = np.ones(beliefs.shape[2], dtype=np.bool_)
    for stratum, inside in {"all": everything, **(strata or {})}.items():
        if inside.any():
            here = replace(blank, stratum=stratum, items=int(inside.sum()))
            table = convergence_table(
                beliefs, arm=blank.arm, network=blank.network, stratum=inside
            ).with_columns(stratum=pl.lit(stratum))
            rows += [_early(table, here), *_late(late[:, :, inside], here)]
            tables.append(table)
    return Findings(rows, {"convergence": pl.concat(tables)})


def _early(table: pl.DataFrame, blank: Estimate) -> Estimate:
    """Mean divergence of early epochs; the ends of their intervals are averaged too: the interval
    of a mean is never wider."""
    early = table.filter(pl.col("epoch") <= EARLY_EPOCHS)
    means = {name: early[name].mean() for name in ("jsd", "low", "high")}
    row = replace(blank, metric=EARLY, value=means["jsd"])  # type: ignore[arg-type]
    return with_interval(row, means["low"], means["high"], "seeds")  # type: ignore[arg-type]


def _late(beliefs: NDArray[np.floating], blank: Estimate) -> list[Estimate]:
    """Movement inside a run against spread between seeds, in the last epochs (S4-51); nothing of a
    single seed."""
    if len(beliefs) < 2:
        return []
    found = steadiness(beliefs, last=min(LAST_EPOCHS, beliefs.shape[1] - 1))
    return [
        mean_row(blank, "late_movement", found.movement),
        mean_row(blank, "late_seed_spread", found.spread),
        mean_row(blank, "late_seed_spread_less_movement", found.spread - found.movement),
    ]
