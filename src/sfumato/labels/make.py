"""The whole way from judgments to labels: exclude, select, build, aggregate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from sfumato.errors import DataError
from sfumato.judgments.coded import STEP, Coded, encode, natural_order, natural_places
from sfumato.judgments.formats.hf import (
    DATA,
    LABELS,
    Publication,
    new_folder,
    write_metadata,
    write_tables,
)
from sfumato.judgments.judgments import Judgments, mark_duplicates, mark_selected, select
from sfumato.judgments.quality import Ledger, Rule, apply_rules
from sfumato.labels.aggregate import AGGREGATORS, Aggregation, aggregate
from sfumato.labels.aggregate.evidence import evidence_of_counts, evidence_of_distributions
from sfumato.labels.build import (
    DEFAULT_RECIPE,
    EACH_CLASS,
    RECIPES,
    BuiltLabels,
    build,
    build_classes,
    complete,
)
from sfumato.labels.build.distances import choose_distances
from sfumato.labels.build.top_two import Rule as Reading
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import MANY_SHARES, SPARSE_SHARE, CrowdLabels, LabelSet
from sfumato.labels.multilabel import MultiLabelSet, join_classes
from sfumato.names import find
from sfumato.provenance import Provenance, Setting, Step

COUNTED = ("mean", "vote-shares", "majority", "shrunk-shares")
"""Aggregators that need to know of votes only how many each class of an item has."""

Average = Literal["labels", "scores"]
SCORED = "sliders"
"""The recipe whose answers are scores before they are distributions."""

FEW_VOTES = 20
"""Below this many votes per item (median), shares are better shrunk towards a fitted prior."""


@dataclass(frozen=True)
class LabelSettings:
    """Everything about making labels except the judgments."""

    recipe: str | None = None
    """How one answer becomes a distribution; left out, the one that uses all of the question."""
    gamma: float | None = None
    """Mass kept back for classes not ruled out (clamp recipes)."""
    rule: Reading | None = None
    """How contradictions are read (top-two recipes)."""
    vectors: Path | None = None
    """Word vectors (semantic recipes)."""
    words: Path | None = None
    """Which words stand for the classes, where their names do not."""
    distances: Path | None = None
    """A table of class distances, instead of word vectors."""
    keep: tuple[str, ...] = ()
    """What to leave in: repeats, duplicates, checks, practice."""
    exclude: tuple[Rule, ...] = ()
    """Quality rules to apply first."""
    aggregate: str = "mean"
    """How an item's distributions become one; ``auto`` decides by the number of votes."""
    average: Average = "labels"
    """What the mean is of: every person's distribution, so that people count alike, or their
    scores, which are divided by their sum afterwards (S1-14), so that large scores count more."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the aggregator is told: weights, true labels of some items, iterations …"""
    interval: Literal["none", "default"] = "none"
    """Whether to say how sure each probability is (posterior or bootstrap over annotators)."""
    seed: int = 0
    """For aggregators that draw (random ties, restarts) and for bootstraps."""

    @property
    def counts(self) -> bool:
        """Whether labels of votes follow from how many each class of an item has."""
        plain = self.average == "labels" and self.interval == "none" and not self.options
        return plain and self.aggregate in COUNTED


@dataclass(frozen=True, eq=False)
class LabellingResult:
    """The labels with everything that was left out on the way."""

    crowd: CrowdLabels
    """One row per judgment."""
    aggregation: Aggregation
    """One row per item, and what it estimates."""
    ledger: Ledger
    """Who and what the quality rules dropped."""
    left_out: pl.DataFrame
    """Answers that state too little for the recipe."""
    not_selected: pl.DataFrame
    """Repeats, checks, practice trials and duplicates left out."""

    @property
    def labels(self) -> LabelSet:
        """The aggregated labels."""
        return self.aggregation.labels


def make_labels(
    judgments: Judgments, settings: LabelSettings, *, predictions: LabelSet | None = None
) -> LabellingResult:
    """Judgments to labels; ``predictions`` are needed by aggregators that use a classifier."""
    recipe = settings.recipe or DEFAULT_RECIPE[judgments.question.kind]
    find(RECIPES, recipe, what="recipe")  # before any work
    kept, ledger = apply_rules(judgments, settings.exclude)
    chosen = select(kept, settings.keep)
    if not len(chosen):
        raise DataError("No judgment is left to make labels from: all were excluded or repeats.")
    distances = choose_distances(
        judgments.question.classes,
        vectors=settings.vectors,
        words=settings.words,
        distances=settings.distances,
    )
    built = build(
        chosen,
        recipe,
        gamma=settings.gamma,
        rule=settings.rule,
        distances=distances,
    )
    name = settings.aggregate
    asked_both = judgments.question.kind == "own-and-others"
    if predictions is None and asked_both and name == "surprisingly-popular":
        predictions = build(chosen, "predicted-others").crowd.mean()
    if name == "auto":
        name = default_aggregator(built.crowd, predictions)
    counting = name == "mean" and predictions is None and settings.counts
    aggregation = average_votes(built.crowd) if counting else None
    if settings.average == "scores":
        aggregation = _average_scores(chosen, built, recipe, settings)
    aggregation = aggregation or aggregate(
        built.crowd,
        name,
        rng=np.random.default_rng(settings.seed),
        interval=settings.interval,
        predictions=predictions,
        **settings.options,
    )
    return LabellingResult(
        built.crowd, aggregation, ledger, built.left_out, _not_selected(kept, settings.keep)
    )


def _average_scores(
    judgments: Judgments, built: BuiltLabels, recipe: str, settings: LabelSettings
) -> Aggregation:
    """The mean of each item's scores, divided by its sum: Σ_m s_mc / Σ_m Σ_c s_mc (S1-14)."""
    if recipe != SCORED or settings.aggregate != "mean":
        raise DataError(
            f"Scores are averaged by the recipe {SCORED!r} and the aggregator 'mean', not by "
            f"{recipe!r} and {settings.aggregate!r}; leave the average at 'labels' for these."
        )
    stated, crowd = judgments.statements, built.crowd
    total = np.nansum(stated.mass, axis=1)[stated.index][built.used]
    evidence = evidence_of_distributions(crowd, times=total)
    made = aggregate(
        replace(evidence, provenance=(*crowd.provenance, Step("average scores"))),
        "mean",
        rng=np.random.default_rng(settings.seed),
        interval=settings.interval,
        **settings.options,
    )
    judged = np.bincount(crowd.item).astype(np.float64)  # every item of the crowd has a judgment
    return replace(made, labels=replace(made.labels, weight=judged))


def make_multi_labels(judgments: Judgments, settings: LabelSettings) -> MultiLabelSet:
    """Judgments to labels of each class on its own; the aggregator is fitted to each class."""
    kept, _ = apply_rules(judgments, settings.exclude)
    chosen = select(kept, settings.keep)
    if not len(chosen):
        raise DataError("No judgment is left to make labels from: all were excluded or repeats.")
    rng = np.random.default_rng(settings.seed)
    recipe = settings.recipe or EACH_CLASS[0]
    name = "mean" if settings.aggregate == "auto" else settings.aggregate
    made = {
        one: aggregate(built.crowd, name, rng=rng, **settings.options).labels
        for one, built in build_classes(chosen, recipe).items()
    }
    if not made:
        raise DataError("No answer says anything about any class.")
    steps = next(iter(made.values())).provenance
    return join_classes(made, judgments.question.classes, steps)


@dataclass(frozen=True, eq=False)
class VoteCounts:
    """How many votes each class of each item has, and what became of all answers."""

    items: tuple[str, ...]
    classes: tuple[str, ...]
    votes: csr_array  # (items, classes); sums of distributions where they are no votes
    provenance: Provenance
    """Up to the recipe."""
    judgments: int
    """Answers, with those that could not be read."""
    left_out: tuple[int, int, int]
    """How many were set aside when reading, not selected, and state too little."""
    excluded: tuple[tuple[str, int, int], ...] = ()
    """For each quality rule how many people and answers it left out."""
    values: tuple[float, ...] | None = None
    """What the classes count, where they are the points of a scale."""

    @property
    def used(self) -> int:
        """How many answers are votes."""
        return round(float(self.votes.sum()))


def count_votes(
    judgments: Judgments, settings: LabelSettings, *, masses: bool = False
) -> VoteCounts | None:
    """The votes that a recipe makes of judgments, counted; None if some are no votes.

    With ``masses`` distributions that are to be averaged are summed, to the last digit but one.
    What ``make_labels`` leaves out is left out here. What it takes beside the judgments follows
    the items and classes.
    """
    recipe = settings.recipe or DEFAULT_RECIPE[judgments.question.kind]
    if recipe in EACH_CLASS:
        return None
    kept, ledger = apply_rules(judgments, settings.exclude)
    classes = judgments.question.classes
    distances = choose_distances(
        classes, vectors=settings.vectors, words=settings.words, distances=settings.distances
    )
    done = complete(kept, recipe, gamma=settings.gamma, rule=settings.rule, distances=distances)
    stated = np.isfinite(done.rows.sum(axis=1))  # (answers,)
    answer = kept.stated
    plain = bool(np.isin(done.rows[stated & (answer.times() > 0)], (0, 1)).all())
    if not plain and not (masses and settings.aggregate == "mean"):
        return None
    rows = mark_selected(kept, settings.keep)
    not_selected = len(rows) - int(rows.sum())
    rows &= stated[answer.code]
    too_little = len(kept) - not_selected - int(rows.sum())
    item = kept.coded.coded("item")
    times = item.times() if rows.all() else Coded(item.values, item.code[rows]).times()
    items, place = natural_places(item.values, times)
    label = np.nan_to_num(done.rows).argmax(axis=1) if plain else np.arange(len(done.rows))
    width = len(done.classes) if plain else len(done.rows)
    votes = _count(_Pairs(place, item.code, label, answer.code, rows), (len(items), width))
    if not plain:
        votes = csr_array(votes @ csr_array(np.nan_to_num(done.rows)))
    steps = (
        Step("select", {"keep": list(settings.keep), "left_out": not_selected}),
        *done.steps[:-1],
        replace(done.steps[-1], settings={**done.steps[-1].settings, "left_out": too_little}),
    )
    return VoteCounts(
        items,
        done.classes,
        votes,
        (*kept.provenance, *steps),
        len(judgments) + len(judgments.rejected),
        (len(judgments.rejected), not_selected, too_little),
        tuple(ledger.rules.select("rule", "people", "answers").rows()),
        kept.question.values if done.classes == classes else None,
    )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Of each row the place of its item and of its class; only those for which ``rows`` is true."""

    place: NDArray[np.int32]  # of each item
    item: NDArray[np.int32]  # (rows,)
    label: NDArray[np.integer]  # of each answer
    answer: NDArray[np.integer]  # (rows,)
    rows: NDArray[np.bool_]

    def keys(self, width: int, step: int) -> Iterator[NDArray[np.int64]]:
        """Both as one number, piece by piece."""
        for start in range(0, len(self.rows), step):
            part = slice(start, start + step)
            chosen = self.rows[part]
            key = self.place[self.item[part][chosen]].astype(np.int64)
            key *= width
            key += self.label[self.answer[part][chosen]]
            yield key


def _count(pairs: _Pairs, shape: tuple[int, int]) -> csr_array:
    """How often each pair occurs, without a table of all pairs where it would be large."""
    used, size = int(pairs.rows.sum()), shape[0] * shape[1]
    if size <= max(MANY_SHARES, SPARSE_SHARE * used):
        counted = np.zeros(size, dtype=np.int64)
        for key in pairs.keys(shape[1], max(STEP, size // 4)):
            counted += np.bincount(key, minlength=size)
        return csr_array(counted.reshape(shape))
    keys = np.empty(used, dtype=np.int64)
    done = 0
    for key in pairs.keys(shape[1], STEP):
        keys[done : done + len(key)] = key
        done += len(key)
    keys.sort()
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    row, column = np.divmod(keys[first], shape[1])
    return csr_array((np.diff(first, append=used), (row, column)), shape=shape)


def join_counts(parts: Sequence[VoteCounts]) -> VoteCounts:
    """Votes of different items as one; what each part left out on the way is added up."""
    first, *others = parts
    if not others:
        return first
    items, code = natural_order(encode(pl.Series([i for part in parts for i in part.items])))
    steps = tuple(_add_up(same) for same in zip(*(part.provenance for part in parts), strict=True))
    return VoteCounts(
        items,
        first.classes,
        vstack([part.votes for part in parts], format="csr")[np.argsort(code)],
        steps,
        sum(part.judgments for part in parts),
        tuple(map(sum, zip(*(part.left_out for part in parts), strict=True))),  # type: ignore[arg-type]
        values=first.values,
    )


def label_counts(counts: VoteCounts, settings: LabelSettings) -> Aggregation:
    """The labels that an aggregator of ``COUNTED`` makes of votes, those of ``make_labels``.

    Shares and majorities of many classes are sparse; shrunk shares give every class some mass.
    """
    if not counts.items:
        raise DataError("No judgment is left to make labels from: all were excluded or repeats.")
    votes, name = counts.votes, settings.aggregate
    weight = np.asarray(votes.sum(axis=1), dtype=np.float64).round()
    before = counts.provenance
    if name != "mean":
        told: dict[str, Setting] = {"judgments": counts.used, "tied_no_vote": 0}
        before = (*before, Step("take top choices", told))
    if name == "shrunk-shares":
        evidence = evidence_of_counts(counts.items, counts.classes, votes, before)
        made = aggregate(evidence, name, rng=np.random.default_rng(settings.seed))
        return replace(made, labels=made.labels.change(values=counts.values))
    found = AGGREGATORS[name]
    step = Step(
        f"aggregate {name}",
        {"estimand": found.estimand, **found.options, "interval": "none", "fitted": {}},
    )
    times = np.diff(votes.indptr)
    best = votes.data
    if name == "majority":
        most = np.maximum.reduceat(votes.data, votes.indptr[:-1])
        best = votes.data == np.repeat(most, times)
    rows = csr_array((best.astype(np.float64), votes.indices, votes.indptr), shape=votes.shape)
    rows.data /= np.repeat(np.asarray(rows.sum(axis=1)), times)
    many = votes.shape[0] * votes.shape[1] > max(MANY_SHARES, SPARSE_SHARE * counts.used)
    rows.eliminate_zeros()
    labels = LabelSet(
        counts.items,
        counts.classes,
        rows if many else rows.toarray(),
        weight,
        (*before, step),
        values=counts.values,
    )
    return Aggregation(labels=labels, estimand=found.estimand, annotators=())


def _add_up(steps: Sequence[Step]) -> Step:
    first = steps[0]
    if "left_out" not in first.settings:
        return first
    left_out = sum(int(str(step.settings["left_out"])) for step in steps)
    return replace(first, settings={**first.settings, "left_out": left_out})


def average_votes(crowd: CrowdLabels) -> Aggregation | None:
    """The same as the aggregator ``mean`` makes of votes, by counting; None if some are no votes.

    >>> crowd = CrowdLabels(("a",), ("p", "q"), ("cat", "dog"), [0, 0], [0, 1], said=[0, 1])
    >>> average_votes(crowd).labels.probs.tolist()
    [[0.5, 0.5]]
    """
    if crowd.votes is None:
        return None
    counted = crowd.mean()
    estimand = AGGREGATORS["mean"].estimand
    step = Step("aggregate mean", {"estimand": estimand, "interval": "none", "fitted": {}})
    judged = np.bincount(crowd.annotator + 1, minlength=len(crowd.annotators) + 1)[1:] > 0
    return Aggregation(
        labels=counted.change(provenance=(*crowd.provenance, step)),
        estimand=estimand,
        annotators=tuple(compress(crowd.annotators, judged)),
    )


def everything_left_out(judgments: Judgments, made: LabellingResult) -> pl.DataFrame:
    """One row for everything that did not become a label: when, what, by whom, and why.

    ``stage`` is "reading", "quality rules", "selection" or "recipe"; rows of the file that could
    not be read have ``line`` and ``text`` instead of item and annotator.
    """
    rejected = pl.DataFrame(
        [(row.line, row.reason, row.text) for row in judgments.rejected],
        schema={"line": pl.Int64, "reason": pl.String, "text": pl.String},
        orient="row",
    )
    stages = {
        "reading": rejected,
        "quality rules": made.ledger.entries.select("item", "annotator", "rule", "reason"),
        "selection": made.not_selected,
        "recipe": made.left_out,
    }
    return pl.concat(
        [table.with_columns(stage=pl.lit(stage)) for stage, table in stages.items()],
        how="diagonal",
    ).select("stage", "item", "annotator", "rule", "line", "reason", "answer", "text")


def interval_table(aggregation: Aggregation) -> pl.DataFrame:
    """How sure each probability is: ``item``, ``class``, ``probability``, ``low``, ``high``."""
    labels, interval = aggregation.labels, aggregation.interval
    if interval is None:
        raise DataError("No interval was asked for; set interval='default'.")
    n_items, n_classes = labels.probs.shape
    return pl.DataFrame(
        {
            "item": np.repeat(labels.items, n_classes),
            "class": np.tile(labels.classes, n_items),
            "probability": labels.probs.ravel(),
            "low": interval.low.ravel(),
            "high": interval.high.ravel(),
        }
    )


def default_aggregator(crowd: CrowdLabels, predictions: LabelSet | None = None) -> str:
    """The mean for distributions and for many votes; informed shares for few votes.

    What one person said, people's distributions and more than ``FEW_VOTES`` votes speak for
    themselves; a share of three votes does not, and a prior fitted to all items helps it, the more
    so if it also knows what a model predicts.
    """
    votes_per_item = np.bincount(crowd.item, minlength=len(crowd.items))
    few = float(np.median(votes_per_item)) < FEW_VOTES or predictions is not None
    return "informed" if few and crowd.votes is not None else "mean"


def _not_selected(judgments: Judgments, keep: Sequence[str]) -> pl.DataFrame:
    rows = np.flatnonzero(~mark_selected(judgments, keep))
    again = mark_duplicates(judgments)[rows] if len(rows) else np.empty(0, dtype=bool)
    return judgments.decode(rows).select(
        "item",
        "annotator",
        "answer",
        reason=pl.when(pl.Series(again))
        .then(pl.lit("the same person judged the item before"))
        .otherwise(pl.format("view is {}", "view")),
    )


# Publish judgments with the labels they make, as a Hugging Face dataset folder.


def publish(
    judgments: Judgments,
    folder: str | Path,
    about: Publication | None = None,
    *,
    labels: LabelSet | None = None,
) -> list[str]:
    """Write a new folder: judgments, annotators, labels, the card and Croissant metadata.

    Without ``labels`` they are the mean of each item's answers, read by the usual recipe of the
    question; judgments that make no label are published without any. Gives back the names of the
    tables.
    """
    folder, about = Path(folder), about or Publication()
    about = replace(about, title=about.title or folder.name)
    made = "Given by the publisher."
    if labels is None:
        labels, made = _usual_labels(judgments)
    with new_folder(folder) as part:
        write_tables(judgments, part)
        if labels is not None:
            write_labels(labels, part / DATA / LABELS)
        return write_metadata(judgments, part, about, labels_are=made)


def _usual_labels(judgments: Judgments) -> tuple[LabelSet | None, str]:
    recipe = DEFAULT_RECIPE[judgments.question.kind]
    made = f"Recipe {recipe}, mean over the annotators of an item (what people say)."
    try:
        return make_labels(judgments, LabelSettings(recipe)).labels, made
    except DataError:  # practice trials only, or answers that state nothing
        return None, ""
