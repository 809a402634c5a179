"""The whole way from judgments to labels: exclude, select, build, aggregate."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.quality import Ledger, Rule, apply_rules
from sfumato.labels.aggregate import Aggregation, aggregate
from sfumato.labels.build import RECIPES, build
from sfumato.labels.build.top_two import Rule as Reading
from sfumato.labels.build.vectors import class_similarity
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.names import find

__all__ = ["FEW_VOTES", "LabelSettings", "Made", "default_aggregator", "make_labels"]

FEW_VOTES = 20
"""Below this many votes an item (median), shares are better shrunk towards a fitted prior."""


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
    keep: tuple[str, ...] = ()
    """What to leave in: repeats, duplicates, checks, practice."""
    exclude: tuple[Rule, ...] = ()
    """Quality rules to apply first."""
    aggregate: str = "mean"
    """How an item's distributions become one; ``auto`` decides by the number of votes."""
    seed: int = 0
    """For aggregators that draw (random ties, restarts)."""


@dataclass(frozen=True, eq=False)
class Made:
    """The labels with everything that was left out on the way."""

    crowd: CrowdLabels
    """One row a judgment."""
    aggregation: Aggregation
    """One row an item, and what it estimates."""
    ledger: Ledger
    """Who and what the quality rules dropped."""
    left_out: pl.DataFrame
    """Answers that state too little for the recipe."""
    not_selected: int
    """Repeats, checks, practice trials and duplicates left out."""

    @property
    def labels(self) -> LabelSet:
        """The aggregated labels."""
        return self.aggregation.labels


def make_labels(
    judgments: Judgments, settings: LabelSettings, *, predictions: LabelSet | None = None
) -> Made:
    """Judgments to labels; ``predictions`` are needed by aggregators that use a classifier."""
    find(RECIPES, settings.recipe, what="recipe")  # before any work
    kept, ledger = apply_rules(judgments, settings.exclude)
    chosen = select(kept, settings.keep)
    if not len(chosen):
        raise DataError("No judgment is left to make labels from: all were excluded or repeats.")
    similarity = None
    if settings.vectors is not None:
        similarity = class_similarity(settings.vectors, judgments.question.classes)
    built = build(
        chosen,
        settings.recipe,
        gamma=settings.gamma,
        rule=settings.rule,
        similarity=similarity,
    )
    name = settings.aggregate
    if name == "auto":
        name = default_aggregator(built.crowd)
    aggregation = aggregate(
        built.crowd, name, rng=np.random.default_rng(settings.seed), predictions=predictions
    )
    return Made(built.crowd, aggregation, ledger, built.left_out, len(kept) - len(chosen))


def default_aggregator(crowd: CrowdLabels) -> str:
    """The mean for distributions and for many votes; shrunk shares for few votes.

    What one person said, people's distributions and more than ``FEW_VOTES`` votes speak for
    themselves; a share of three votes does not, and a prior fitted to all items helps it.
    """
    is_vote = bool(((crowd.probs == 0) | (crowd.probs == 1)).all())
    votes_per_item = np.bincount(crowd.item, minlength=len(crowd.items))
    few = float(np.median(votes_per_item)) < FEW_VOTES
    return "shrunk-shares" if is_vote and few else "mean"
