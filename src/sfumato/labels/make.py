"""The whole way from judgments to labels: exclude, select, build, aggregate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.sparse import csr_array, vstack

from sfumato.errors import DataError
from sfumato.judgments.coded import encode, natural_order
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
from sfumato.labels.build import DEFAULT_RECIPE, RECIPES, build
from sfumato.labels.build.distances import choose_distances
from sfumato.labels.build.top_two import Rule as Reading
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.names import find
from sfumato.provenance import Step

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
    if name == "auto":
        name = default_aggregator(built.crowd, predictions)
    counting = (
        name == "mean"
        and settings.interval == "none"
        and predictions is None
        and not settings.options
    )
    aggregation = (average_votes(built.crowd) if counting else None) or aggregate(
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


def join_labels(parts: Sequence[LabelSet]) -> LabelSet:
    """Labels of different items as one set; what each left out on the way is added up.

    >>> first = LabelSet(("9",), ("cat", "dog"), [[1, 0]])
    >>> join_labels([LabelSet(("10",), ("cat", "dog"), [[0, 1]]), first]).items
    ('9', '10')
    """
    items, code = natural_order(
        encode(pl.Series([item for part in parts for item in part.items], dtype=pl.String))
    )
    order = np.argsort(code)
    if any(part.sparse is not None for part in parts):
        rows: Any = vstack(
            [csr_array(part.sparse if part.sparse is not None else part.probs) for part in parts],
            format="csr",
        )
    else:
        rows = np.concatenate([part.probs for part in parts])
    weight = np.concatenate([part.weight for part in parts])
    steps = tuple(_add_up(same) for same in zip(*(part.provenance for part in parts), strict=True))
    return LabelSet(items, parts[0].classes, rows[order], weight[order], steps)


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
