"""The whole way from judgments to labels: exclude, select, build, aggregate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments, mark_duplicates, mark_selected, select
from sfumato.judgments.quality import Ledger, Rule, apply_rules
from sfumato.labels.aggregate import Aggregation, aggregate
from sfumato.labels.build import RECIPES, build
from sfumato.labels.build.distances import choose_distances
from sfumato.labels.build.top_two import Rule as Reading
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.names import find

FEW_VOTES = 20
"""Below this many votes per item (median), shares are better shrunk towards a fitted prior."""


@dataclass(frozen=True)
class LabelSettings:
    """Everything about making labels except the judgments."""

    recipe: str
    """How one answer becomes a distribution."""
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
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the aggregator is told: weights, true labels of some items, iterations …"""
    interval: Literal["none", "default"] = "none"
    """Whether to say how sure each probability is (posterior or bootstrap over annotators)."""
    seed: int = 0
    """For aggregators that draw (random ties, restarts) and for bootstraps."""


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
    find(RECIPES, settings.recipe, what="recipe")  # before any work
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
        settings.recipe,
        gamma=settings.gamma,
        rule=settings.rule,
        distances=distances,
    )
    name = settings.aggregate
    if name == "auto":
        name = default_aggregator(built.crowd, predictions)
    aggregation = aggregate(
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
    table = judgments.table.with_columns(again=pl.Series(mark_duplicates(judgments)))
    return table.filter(pl.Series(~mark_selected(judgments, keep))).select(
        "item",
        "annotator",
        "answer",
        reason=pl.when("again")
        .then(pl.lit("the same person judged the item before"))
        .otherwise(pl.format("view is {}", "view")),
    )
