"""Turn judgments into a description: people, times, agreement, repeats, oddities, exclusions.

Everything is plain lists, dicts and numbers, ready to be printed as JSON or as text. A
number that the judgments cannot tell is None.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import coo_array, csr_array

from sfumato.errors import DataError
from sfumato.judgments.coded import natural_order
from sfumato.judgments.comparisons import Comparisons, MixJudgments
from sfumato.judgments.formats import class_counts, named_classes
from sfumato.judgments.judgments import VIEWS, Judgments, mark_duplicates, select
from sfumato.judgments.quality import Rule, accuracy, repeats, times, what_if
from sfumato.judgments.question import ODDITIES
from sfumato.labels.aggregate import AGGREGATORS
from sfumato.labels.aggregate.heldout import held_out_log_loss
from sfumato.labels.agreement import (
    Agreement,
    Counts,
    Scale,
    between_people,
    fleiss_kappa,
    krippendorff_nominal,
    krippendorff_scale,
    percent_agreement,
    within_person,
)
from sfumato.labels.build import DEFAULT_RECIPE, build_units
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.second_looks import second_looks
from sfumato.labels.signals import (
    concentration,
    deviation,
    entropy,
    mean_uncertainty,
    non_max_mass,
    possible_labels,
    spread_of,
    support_size,
    unsure_proportion,
    variance_of_top,
)
from sfumato.labels.votes import counts, votes_of
from sfumato.provenance import Step, is_simulated

EXAMPLES = 3
"""How many examples of an oddity or a rejected row are shown."""


def describe(
    judgments: Judgments, *, rules: Sequence[Rule] = (), rng: np.random.Generator
) -> dict[str, Any]:
    """What was collected, and what the named quality rules would change."""
    chosen = select(judgments)
    recipe = DEFAULT_RECIPE[judgments.question.kind]
    crowd = build_units(chosen, recipe)
    question = judgments.question
    return {
        "simulated": is_simulated(judgments.provenance),
        "question": {
            "kind": question.kind,
            "version": question.version,
            "classes": list(question.classes),
        },
        "judgments": len(judgments),
        "people": len(judgments.annotators) or None,
        "items": len(judgments.coded.coded("item").used()),
        "classes": _classes(judgments),
        "classes_by_person": _classes_by_person(judgments),
        "views": _views(judgments),
        "selected": len(chosen),
        "per_item": _spread(_per_name(chosen, "item"), histogram=True),
        "per_person": _spread(_per_name(chosen, "annotator")),
        "times": _times(chosen),
        "accuracy": _accuracy(chosen),
        "repeats": _repeats(judgments, recipe, rng),
        "second_looks": second_looks(judgments, rng=np.random.default_rng(0)),
        "agreement": _agreement(crowd, rng),
        "labels": _labels(chosen, crowd, recipe),
        "oddities": _oddities(judgments),
        "rejected": _rejected(judgments),
        "remarks": _remarks(judgments),
        "exclusions": what_if(judgments, rules).to_dicts() if rules else [],
    }


def describe_other(found: Comparisons | MixJudgments) -> dict[str, Any]:
    """What was collected of judgments that are not about the classes of single items."""
    table = found.table
    numbers: list[tuple[str, Any]] = [
        (f"{view} views", count) for view, count in sorted(Counter(table["view"].to_list()).items())
    ]
    if "seconds" in table.columns and table["seconds"].drop_nulls().len():
        numbers.append(("median seconds per answer", table["seconds"].median()))
    if isinstance(found, MixJudgments):
        numbers.extend(_by_shown(found))
    return {
        "what": type(found).__name__,
        "judgments": len(found),
        "people": table["annotator"].drop_nulls().n_unique(),
        "numbers": numbers,
        "rejected": _rejected(found),
        "remarks": _remarks(found),
    }


def score_aggregators(judgments: Judgments, *, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Every aggregator that fits, by the log-loss of votes it has not seen (no truth needed)."""
    crowd = build_units(select(judgments), DEFAULT_RECIPE[judgments.question.kind])
    anonymous = bool((crowd.annotator == NOT_RECORDED).any())
    names = [
        name
        for name, known in AGGREGATORS.items()
        if known.reads != "votes and predictions"
        and not (known.needs_names and anonymous)
        and not (known.needs_scale and crowd.values is None)
    ]
    scored = held_out_log_loss(crowd, names, rng=rng)
    return [asdict(row) for row in sorted(scored, key=lambda row: row.log_loss)]


def _by_shown(mixes: MixJudgments) -> list[tuple[str, float | None]]:
    shown = (
        mixes.table.filter(pl.col("shown").is_not_null())
        .group_by("shown")
        .agg(pl.col("perceived").median(), pl.col("confidence").mean())
        .sort("shown")
    )
    return [
        pair
        for row in shown.iter_rows(named=True)
        for pair in (
            (f"median perceived share at {row['shown']:g}", row["perceived"]),
            (f"mean confidence at {row['shown']:g}", row["confidence"]),
        )
    ]


def _classes(judgments: Judgments) -> list[dict[str, Any]]:
    """How many answers name each class: choose it, give it mass, list it or are unsure of it."""
    counts = class_counts(judgments)
    return [
        {"class": name, "answers": count, "share": count / len(judgments)}
        for name, count in counts.items()
    ]


def _classes_by_person(judgments: Judgments) -> list[dict[str, Any]]:
    """The same for each person, those with most answers first; nothing where nobody is named."""
    people, index = judgments.coded.coded("annotator"), judgments.statements.index
    known = people.code >= 0
    named = csr_array(named_classes(judgments))  # (answers, classes)
    shape = len(people.values), named.shape[0]
    given = coo_array((known[known], (people.code[known], index[known])), shape=shape, dtype=int)
    counted = given.tocsr() @ named  # (people, classes)
    answers, classes = people.times(), judgments.question.classes
    return [
        {
            "person": people.values[place],
            "answers": int(answers[place]),
            "classes": dict(zip(classes, counted[[place]].toarray()[0].tolist(), strict=True)),
        }
        for place in np.argsort(-answers, kind="stable").tolist()
        if answers[place]
    ]


def _views(judgments: Judgments) -> dict[str, int]:
    found = {view: int(judgments.in_view(view).sum()) for view in VIEWS}
    known = {view: count for view, count in found.items() if count}
    return {**known, "duplicates": int(mark_duplicates(judgments).sum())}


def _per_name(judgments: Judgments, column: str) -> pl.Series:
    times = judgments.coded.coded(column).times()
    return pl.Series(times[times > 0])


def _spread(values: pl.Series, *, histogram: bool = False) -> dict[str, Any] | None:
    if not len(values):
        return None
    found: dict[str, Any] = {
        "min": values.min(),
        "median": values.median(),
        "mean": values.mean(),
        "max": values.max(),
    }
    if histogram:
        counts, items = np.unique(values.to_numpy(), return_counts=True)
        found["histogram"] = dict(zip(map(str, counts.tolist()), items.tolist(), strict=True))
    return found


def _times(judgments: Judgments) -> dict[str, Any] | None:
    if "seconds" not in judgments.coded.columns:
        return None
    taken = times(judgments)
    if not taken.answers:
        return None
    return {
        "answers": taken.answers,
        "median": taken.median,
        "mean": taken.mean,
        "median_by_person": _spread(taken.people["median"]),
        "median_by_item": _spread(taken.items["median"]),
        "median_by_position": dict(
            zip(map(str, taken.places["order"]), taken.places["median"], strict=True)
        ),
        "median_by_input": dict(taken.inputs.select("input", "median").iter_rows()),
    }


def _accuracy(judgments: Judgments) -> dict[str, Any] | None:
    if "gold" not in judgments.coded.columns:
        return None
    seen = accuracy(judgments)
    if not seen.answers:
        return None
    return {"answers": seen.answers, "top1": seen.top1, "top2": seen.top2}


def _repeats(judgments: Judgments, recipe: str, rng: np.random.Generator) -> dict[str, Any] | None:
    if not judgments.in_view("repeat").any():
        return None
    found = repeats(judgments)
    if not len(found.pairs):
        return None
    seen_again = judgments.in_view("repeat")
    first = build_units(select(judgments), recipe)
    again = build_units(judgments.take(seen_again, Step("select repeats")), recipe)
    return {
        "pairs": len(found.pairs),
        "unpaired": found.unpaired,
        "changed": _number(found.changed),
        "points": _number(found.points),
        "within_person": _interval(within_person(first, again, rng=rng).divergence),
    }


def _agreement(crowd: CrowdLabels, rng: np.random.Generator) -> list[dict[str, Any]]:
    votes = counts(votes_of(crowd))
    measures = [percent_agreement, fleiss_kappa, krippendorff_nominal]
    found = []
    for measure in measures:
        try:
            found.append(_interval(measure(votes, rng=rng)))
        except DataError:  # fewer than two votes on every item: nothing to agree about
            continue
    if found:
        found += _along_the_scale(crowd, votes, rng)
        found.append(_interval(between_people(crowd, rng=rng)))
    return found


def _along_the_scale(
    crowd: CrowdLabels, votes: Counts, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """How far people agree on a scale, by its order and by its values; nothing without one."""
    scales: tuple[Scale, ...] = () if crowd.values is None else ("ordinal", "interval")
    found = []
    for scale in scales:
        try:
            found.append(_interval(krippendorff_scale(votes, crowd.values or (), scale, rng=rng)))
        except DataError:  # everybody said the same
            continue
    return found


def _labels(judgments: Judgments, crowd: CrowdLabels, recipe: str) -> dict[str, Any]:
    labels = crowd.mean()
    spread = entropy(labels)
    stated = judgments.statements
    items, item = natural_order(judgments.coded.coded("item"))
    n_items = len(items)
    found = {
        "recipe": recipe,
        "mean_entropy": float(spread.mean()),
        **_doubt_and_disagreement(crowd),
        "mean_non_max_mass": float(non_max_mass(labels).mean()),
        "variance_of_top": variance_of_top(labels),
        "at_most_two_labels": float((support_size(labels) <= 2).mean()),
        "zero_entropy": float((spread == 0).mean()),
        "entropy_in_top_30_percent": _number(concentration(spread, 0.3)),
    }
    if labels.values is not None:
        found["mean_on_scale"] = float(labels.means().mean())
        found["mean_deviation"] = float(deviation(labels).mean())
    if stated.ruled_out.any():
        possible = possible_labels(stated.ruled_out[stated.index], item, n_items)
        found["mean_possible_labels"] = float(possible.mean())
    if stated.unsure.any():
        unsure = stated.unsure[stated.index]
        found["mean_uncertainty"] = float(mean_uncertainty(unsure, item, n_items).mean())
        found["unsure_proportion"] = float(unsure_proportion(unsure, item, n_items).mean())
    return found


def _doubt_and_disagreement(crowd: CrowdLabels) -> dict[str, float]:
    """What the entropy of items with two or more answers is the sum of; empty if there are none."""
    spread = spread_of(crowd)
    several = spread.answers > 1
    if not several.any():
        return {}
    return {
        "doubt_within_answers": float(spread.doubt[several].mean()),
        "disagreement_between_answers": float(spread.disagreement[several].mean()),
        "items_with_different_answers": float(spread.disputed[several].mean()),
    }


def _oddities(judgments: Judgments) -> list[dict[str, Any]]:
    stated = judgments.statements
    found = []
    for name, about in ODDITIES.items():
        if not stated.oddities[name].any():
            continue
        rows = np.flatnonzero(stated.oddities[name][stated.index])
        if len(rows):
            examples = judgments.decode(rows[:EXAMPLES]).select("item", "annotator", "answer")
            found.append(
                {
                    "name": name,
                    "about": about,
                    "count": len(rows),
                    "examples": examples.to_dicts(),
                }
            )
    return found


def _remarks(found: Judgments | Comparisons | MixJudgments) -> list[dict[str, Any]]:
    return [asdict(remark) for remark in found.remarks]


def _rejected(judgments: Judgments | Comparisons | MixJudgments) -> dict[str, Any]:
    reasons = Counter((row.field, row.reason) for row in judgments.rejected)
    return {
        "count": len(judgments.rejected),
        "reasons": [
            {"field": field, "reason": reason, "count": count}
            for (field, reason), count in reasons.most_common(10)
        ],
        "examples": [str(row) for row in judgments.rejected[:EXAMPLES]],
    }


def _interval(measured: Agreement) -> dict[str, Any]:
    return {
        "name": measured.name,
        "value": _number(measured.value),
        "low": _number(measured.low),
        "high": _number(measured.high),
        "n": measured.n,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
