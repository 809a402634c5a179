"""Turn beliefs of networks that learnt original, majority and soft labels into what softness gave.

A gain of soft labels may be owed to modes that people shifted; the majority vote of the same people
takes these out (S4-45, C15).
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation import mode_shift
from sfumato.evaluation.metrics import metric_named
from sfumato.evaluation.mode_shift import ModeShift
from sfumato.labels.labelset import LabelSet
from sfumato.scores import Estimate, with_interval
from sfumato.stats import bootstrap_interval, item_influence, table_by_item, two_way_t
from sfumato.studies.data import (
    LEARNT_ORIGINAL,
    LEARNT_SOFT,
    LEARNT_VOTE,
    ORIGINAL,
    PEOPLE,
    Findings,
    Predictions,
    StudyData,
    apart_row,
    beliefs_by_seed,
    blank_row,
)

Runs = Mapping[str, Mapping[int, LabelSet]]
"""Beliefs by arm and seed; with one seed all arms have the same items."""

STEPS = {"total": "in all", "by_mode": "by the vote", "by_softness": "by softness"}
"""The steps of a gain, and what they are called."""
TESTED_ON = {"original": ORIGINAL, "majority": "majority", "soft": PEOPLE}
"""Whose labels the kinds of label are."""


def modes(data: StudyData, predictions: Predictions) -> Findings:
    """Every arm on original, majority and soft labels, and the gains by vote and by softness.

    Each pair of arms is compared on the seeds that both finished.
    """
    study, part = data.study, data.study.tests[0].part
    if not {LEARNT_ORIGINAL, LEARNT_VOTE} <= set(study.arm_names) or ORIGINAL not in data.labels:
        return Findings()
    rng, rows, tables = data.rng("modes"), [], []
    for network in study.networks:
        believed = {
            arm: beliefs_by_seed(data, predictions, arm, network) for arm in study.arm_names
        }
        runs = [run for arm in believed.values() for run in arm.values()]
        if not runs:
            continue
        items = tuple(dict.fromkeys(item for run in runs for item in run.items))
        human, original = (one.take(items) for one in (data.people, data.original))
        shift = mode_shift.mode_shift(
            believed, original=original, human=human, network=network, rng=rng, draws=study.draws
        )
        behind = [run for run in predictions.done if run.key.network == network]
        blank = replace(blank_row(data, behind, part=part), network=network, items=len(runs[0]))
        tables.append(mode_shift.mode_shift_table(shift))
        rows += gain_rows(shift, blank)
        rows += _relabelled(shift, blank)
        rows += _vote_rows(believed, human, blank, rng=rng, draws=study.draws)
    return Findings(rows, {"modes": pl.concat(tables)} if tables else {})


def gain_rows(shift: ModeShift, blank: Estimate) -> list[Estimate]:
    """What arms gained over original labels (positive is better), and in which step.

    ``against`` is what was tested on; ``stratum`` is the step: in all, by the vote, by softness.
    """
    differ = replace(blank, metric="modes_differ", value=shift.modes_differ, items=shift.items)
    rows = [replace(differ, seeds=(), against=ORIGINAL)]
    for gain in shift.gains:
        whole = replace(blank, arm=gain.target, against=TESTED_ON[gain.tested_on])
        for step, words in STEPS.items():
            one = getattr(gain, step)
            row = replace(whole, metric=f"{gain.metric}_gain", value=one.value, stratum=words)
            rows.append(_with(row, one))
        if not np.isnan(gain.share_by_mode.value):
            share = replace(
                whole,
                metric=f"{gain.metric}_gain_share",
                value=gain.share_by_mode.value,
                stratum=STEPS["by_mode"],
            )
            rows.append(_with(share, gain.share_by_mode))
    return rows


def _with(row: Estimate, one: mode_shift.StepEstimate) -> Estimate:
    return with_interval(replace(row, seeds=one.seeds), one.low, one.high, one.over)


def _relabelled(shift: ModeShift, blank: Estimate) -> list[Estimate]:
    """The same network tested on people's modes instead of the original labels, by accuracy."""
    scores = {
        (row.trained_on, row.tested_on): _with(replace(blank, value=row.score.value), row.score)
        for row in shift.rows
        if row.metric == "accuracy"
    }
    return [
        apart_row(
            scores[arm, "majority"],
            scores[arm, "original"],
            replace(blank, metric="accuracy_gain_by_relabelling", arm=arm, seeds=before.seeds),
        )
        for (arm, on), before in scores.items()
        if on == "original"
    ]


def _vote_rows(
    believed: Runs, human: LabelSet, blank: Estimate, *, rng: np.random.Generator, draws: int
) -> list[Estimate]:
    """Whether soft labels gain accuracy on people's labels, and whether the vote's part of it is
    larger than what softness adds: then their intervals do not overlap."""
    blank = replace(blank, metric="accuracy_gain_by_vote")
    pairs = (
        (LEARNT_SOFT, LEARNT_ORIGINAL),
        (LEARNT_VOTE, LEARNT_ORIGINAL),
        (LEARNT_SOFT, LEARNT_VOTE),
    )
    if not all(believed.get(arm) for pair in pairs for arm in pair):
        return []
    found = []
    for first, second in pairs:
        seeds = tuple(seed for seed in believed[first] if seed in believed[second])
        if not seeds:
            return []
        apart = [
            _hits(human, believed[first][s]) - _hits(human, believed[second][s]) for s in seeds
        ]
        means = np.array([values.mean() for values in apart])
        row = replace(blank, value=float(means.mean()), seeds=seeds)
        if len(seeds) > 1:
            table = table_by_item([believed[first][seed].items for seed in seeds], apart)
            ends, _ = two_way_t(means, item_influence(table))
            found.append(with_interval(row, *ends, "seeds and items"))
        else:
            ends = bootstrap_interval(apart[0], rng=rng, draws=draws)
            found.append(with_interval(row, *ends, "items"))
    whole, vote, rest = found
    between = replace(blank, stratum="vote - softness", seeds=vote.seeds)
    return [replace(whole, stratum="soft - original"), apart_row(vote, rest, between)]


def _hits(human: LabelSet, model: LabelSet) -> NDArray[np.float64]:
    per_item = metric_named("accuracy").per_item
    assert per_item is not None
    return per_item(human.take(model.items), model)
