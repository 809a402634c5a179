"""Turn evidence about items into what the next person will say, all evidence in one way.

A source (a person, a judge, a form) is a column of answers, or of distributions over its own words.
One source alone is a smoothed table of what people say given its answer. Several are pooled: a
conditional logit over the logarithms of their tables and of the mean of them, and on top of it the
table of the answers that they gave together, which backs off to the pool. Strengths are chosen by
the likelihood of training items that are left out one by one. Words are nowhere compared, so that
renaming a source's answers changes nothing.

Everything is fitted for all draws and folds at once: ``believed[r, f, i]`` is what the model of
fold f in draw r believes about item i, which it has not seen, or which was taken out again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Codes = NDArray[np.int64]

STRENGTHS = (0.5, 2.0, 8.0, 32.0, 128.0)
"""How many items a table's prior counts as, where the prior alone is not better still."""

SHARPNESS = (1.0, 0.5, 0.25)
"""Powers to which a distribution enters: networks are often too sure."""

RIDGE = 1.0
"""How many items the plain mean of the sources counts as, against learnt weights."""

STEPS = 12
"""Newton steps of the pool at most."""

CLOSE = 1e-3
"""Weights of the pool that change by less are found."""

FLOOR = 1e-3
"""The share of every belief that is spread over all classes."""

TINY = 1e-12


@dataclass(frozen=True, eq=False)
class EvidenceSource:
    """What was said about each item: codes of answers, or rows over the source's own words."""

    codes: Codes | None = None  # (items,) or (draws, items)
    rows: Values | None = None  # (1 or draws, items, words)

    def take(self, draws: slice) -> "EvidenceSource":
        """What it said in some of the draws; what is fixed was said in all."""
        if self.codes is not None and self.codes.ndim > 1:
            return EvidenceSource(codes=self.codes[draws])
        if self.rows is not None and len(self.rows) > 1:
            return EvidenceSource(rows=self.rows[draws])
        return self


@dataclass(frozen=True, eq=False)
class Lesson:
    """What people said who are to be predicted, by draw, and which items are left out together."""

    targets: Values  # (draws, items, classes); a row sums to the weight of its item
    fold: Codes  # (draws, items)
    folds: int

    @cached_property
    def learnt(self) -> Values:
        """What each fold's model learns from, (draws, folds, items, classes)."""
        seen = self.fold[:, None, :] != np.arange(self.folds)[:, None]
        return np.where(seen[..., None], self.targets[:, None], 0.0)


@dataclass(frozen=True, eq=False)
class Belief:
    """What each fold's model believes about each item, and how likely training items were."""

    believed: Values  # (draws, folds, items, classes)
    likelihood: Values  # (draws, folds)

    def held_out(self, lesson: Lesson) -> Values:
        """The beliefs about items that were left out, (draws, items, classes)."""
        draws, items = np.indices(lesson.fold.shape)
        return self.believed[draws, lesson.fold, items]


def believe_nothing(lesson: Lesson) -> Belief:
    """What people say on the whole, without any evidence."""
    classes = lesson.targets.shape[2]
    codes = np.zeros(lesson.targets.shape[1], dtype=np.int64)
    counts, weight = _count(codes, lesson)
    believed = (counts + 1 / classes) / (weight[..., None] + 1)
    return Belief(believed, _likelihood(believed, lesson))


def believe_one(source: EvidenceSource, lesson: Lesson, nothing: Belief) -> Belief:
    """What people say given one source: its table, or, of distributions, tables of its powers."""
    if source.codes is not None:
        if (source.codes == source.codes.flat[0]).all():  # it says nothing
            return nothing
        return _smooth(*_count(source.codes, lesson), lesson, nothing)
    assert source.rows is not None
    powers = [_sharpen(source.rows, power) for power in SHARPNESS]
    tables = [_mix(rows, lesson, nothing) for rows in powers]
    return _pool([nothing, *tables], lesson, start=1)


def believe_all(
    sources: Sequence[EvidenceSource], alone: Sequence[Belief], lesson: Lesson, nothing: Belief
) -> Belief:
    """What people say given several sources; a source that says the same as another is one."""
    kept = _different(alone)
    if len(kept) == 1:
        return alone[kept[0]]
    beliefs = [alone[place] for place in kept]
    mean = np.mean([belief.believed for belief in beliefs], axis=0)
    pooled = _pool([nothing, Belief(mean, nothing.likelihood), *beliefs], lesson, start=1)
    hard = [codes for place in kept if (codes := sources[place].codes) is not None]
    if len(hard) < 2:
        return pooled
    return _smooth(*_count(join_codes(hard, lesson.fold.shape), lesson), lesson, pooled)


def join_codes(codes: Sequence[Codes], shape: tuple[int, ...]) -> Codes:
    """One code for each combination of answers that occurs, (draws, items)."""
    joint = np.zeros(shape, dtype=np.int64)
    for each in codes:
        joint = joint * (int(each.max()) + 1) + each
        joint = np.unique(joint, return_inverse=True)[1].reshape(shape)
    return joint


def floor(believed: Values) -> Values:
    """Beliefs of which none is nought."""
    return (1 - FLOOR) * believed + FLOOR / believed.shape[-1]


def _count(codes: Codes, lesson: Lesson) -> tuple[Values, Values]:
    """What people said where the source gave the same answer, without the item itself.

    Counts are (draws, folds, items, classes), their weight (draws, folds, items).
    """
    draws, items, classes = lesson.targets.shape
    codes = np.broadcast_to(codes, (draws, items))
    symbols = int(codes.max()) + 1
    place = (np.arange(draws)[:, None] * lesson.folds + lesson.fold) * symbols + codes
    size = draws * lesson.folds * symbols
    by_fold = np.stack(
        [
            np.bincount(place.ravel(), said.ravel(), size)
            for said in np.moveaxis(lesson.targets, 2, 0)
        ],
        axis=-1,
    ).reshape(draws, lesson.folds, symbols, classes)
    learnt = by_fold.sum(axis=1, keepdims=True) - by_fold
    seen = learnt[np.arange(draws)[:, None, None], np.arange(lesson.folds)[:, None], codes[:, None]]
    counts = np.maximum(seen - lesson.learnt, 0.0)
    return counts, counts.sum(axis=-1)


def _smooth(counts: Values, weight: Values, lesson: Lesson, prior: Belief) -> Belief:
    """Counts and the prior, as many items strong as is best for items that are left out."""

    def smooth(strength: Values | float) -> Values:
        strong = np.reshape(strength, (*np.shape(strength), 1, 1))
        return (counts + strong * prior.believed) / (weight[..., None] + strong)

    tried = [prior.likelihood + TINY, *(_likelihood(smooth(one), lesson) for one in STRENGTHS)]
    best = np.argmax(tried, axis=0)
    if not best.any():
        return prior
    strength = np.array([1.0, *STRENGTHS])[best]
    believed = np.where((best == 0)[..., None, None], prior.believed, smooth(strength))
    return Belief(believed, np.max(tried, axis=0))


def _mix(rows: Values, lesson: Lesson, nothing: Belief) -> Belief:
    """q(y) = Σ_c p_c T(y | c): the table of a source that gives distributions.

    Without an item of mass t and targets T, a word's row θ = (C + s π) / (N + s) changes by
    p (θ t - T) / (N + s - p t), so that no table is made anew for each item.
    """
    learnt, (draws, items) = lesson.learnt, lesson.fold.shape
    rows = np.broadcast_to(rows, (draws, items, rows.shape[2]))
    counts = np.einsum("rnc,rfny->rfcy", rows, learnt)
    weight, mass = counts.sum(axis=-1), learnt.sum(axis=-1)
    overall = counts.sum(axis=2, keepdims=True) + 1 / learnt.shape[-1]
    overall /= overall.sum(axis=-1, keepdims=True)
    best = nothing
    for strength in STRENGTHS[1::2]:
        table = (counts + strength * overall) / (weight + strength)[..., None]
        own = rows[:, None] ** 2 / (
            weight[:, :, None] + strength - rows[:, None] * mass[..., None]
        )  # (draws, folds, items, words)
        believed = np.einsum("rnc,rfcy->rfny", rows, table)
        believed += np.einsum("rfnc,rfcy->rfny", own, table) * mass[..., None]
        believed -= own.sum(axis=-1)[..., None] * learnt
        believed = np.maximum(believed, 0.0)
        likelihood = _likelihood(believed, lesson)
        better = (likelihood > best.likelihood + TINY)[..., None, None]
        best = Belief(
            np.where(better, believed, best.believed), np.maximum(likelihood, best.likelihood)
        )
    return best


def _pool(beliefs: Sequence[Belief], lesson: Lesson, *, start: int) -> Belief:
    """log q(y) = Σ_j w_j log q_j(y) + constant, with the weights that suit training items best."""
    draws, folds, items, classes = beliefs[0].believed.shape
    problems = draws * folds
    logs = np.stack([np.log(np.maximum(belief.believed, TINY)) for belief in beliefs])
    logs = logs.reshape(len(beliefs), problems, items, classes).swapaxes(0, 1)
    said = lesson.learnt.reshape(problems, items, classes)
    mass = said.sum(axis=-1)
    centre = np.zeros(len(beliefs))
    centre[start] = 1.0
    weights = np.tile(centre, (problems, 1))
    for _ in range(STEPS):
        believed = _softmax(np.einsum("pm,pmiy->piy", weights, logs))
        rest = said - mass[..., None] * believed
        slope = np.einsum("piy,pmiy->pm", rest, logs) - RIDGE * (weights - centre)
        expected = np.einsum("piy,pmiy->pmi", believed, logs)
        # by einsum, not by BLAS: its threads cost more here than they save
        bend = np.einsum("pmiy,pliy->pml", logs * (mass[..., None] * believed)[:, None], logs)
        bend -= np.einsum("pmi,pli->pml", expected * mass[:, None], expected)
        bend += RIDGE * np.eye(len(beliefs))
        step = np.linalg.solve(bend, slope[..., None])[..., 0]
        weights = weights + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < CLOSE:
            break
    believed = _softmax(np.einsum("pm,pmiy->piy", weights, logs))
    believed = believed.reshape(draws, folds, items, classes)
    return Belief(believed, _likelihood(believed, lesson))


def _softmax(logits: Values) -> Values:
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def _likelihood(believed: Values, lesson: Lesson) -> Values:
    """The log-likelihood of what was said about training items, (draws, folds)."""
    return np.einsum("rfiy,rfiy->rf", np.log(floor(believed)), lesson.learnt)


def _sharpen(rows: Values, power: float) -> Values:
    raised = rows**power
    return raised / raised.sum(axis=-1, keepdims=True)


def _different(alone: Sequence[Belief]) -> list[int]:
    """The places of sources that say something that no earlier one says."""
    kept: list[int] = []
    for place, belief in enumerate(alone):
        if all(np.abs(belief.believed - alone[other].believed).max() > 1e-9 for other in kept):
            kept.append(place)
    return kept
