"""What people's labels and judgments tell, alone and beside the original labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation import alignment, strata
from sfumato.evaluation.metrics import top_class
from sfumato.judgments.judgments import select
from sfumato.labels import signals
from sfumato.labels.agreement import Agreement, krippendorff_nominal, percent_agreement
from sfumato.labels.alter import TIE_TOLERANCE
from sfumato.labels.labelset import LabelSet
from sfumato.labels.votes import counts, votes_of
from sfumato.names import sorted_names
from sfumato.reporting.text import Finding, count
from sfumato.stats import bootstrap_interval
from sfumato.studies.audit_files.found import AuditedFiles
from sfumato.studies.audit_files.reading import Given
from sfumato.studies.audit_files.sentences import NAMED, between, finding, first_named, share_of
from sfumato.studies.audit_files.sources import AuditSettings
from sfumato.studies.sources import time_signals

__all__ = [
    "PerItem",
    "about_original",
    "about_people",
    "agreement_of",
    "told_by_judgments",
    "unsure_share",
]

PerItem = NDArray[np.float64]  # (items,)

TOP_SHARE = 0.3
"""The share of the items whose part in all doubt is told, as in paper 1 (S0-47)."""


def about_people(
    given: Given, settings: AuditSettings, found: AuditedFiles, rng: np.random.Generator
) -> None:
    """Strata of label variation, and in how few items the doubt lies."""
    if given.people is None:
        return
    people = given.people
    doubt = signals.entropy(people)
    masks = {**strata.strata_of(people), **strata.disputed_thirds(people)}
    unsure = unsure_share(given)
    if unsure is not None:
        masks |= strata.hlv_strata(people, unsure)
    rows = [
        {"stratum": name, **share_of(mask, rng, settings.draws)} for name, mask in masks.items()
    ]
    found.tables["strata"] = pl.DataFrame(rows)
    mean_low, mean_high = bootstrap_interval(doubt, rng=rng, draws=settings.draws)
    mean = {"value": float(doubt.mean()), "low": mean_low, "high": mean_high}
    found.tables["concentration"] = alignment.concentration_curve({"people": doubt})
    top = alignment.share_in_top(doubt, TOP_SHARE, rng=rng, draws=settings.draws)
    agreement = agreement_of(given, settings)
    found.facts["people"] = {
        "items": len(people),
        "classes": list(people.classes),
        "judgments": float(people.weight.sum()) or None,
        "one_judgment": int((people.weight == 1).sum()),
        "strata": rows,
        "mean_entropy": mean,
        "in_top": {"share": TOP_SHARE, "value": top.value, "low": top.low, "high": top.high},
        "agreement": [
            {
                "name": one.name,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "items": one.n,
            }
            for one in agreement
        ],
    }
    found.findings["People"] = _told_of_people(found.facts["people"])


def _told_of_people(people: Mapping[str, Any]) -> list[Finding]:
    disputed = next(row for row in people["strata"] if row["stratum"] == "disputed")
    mean, top, single = people["mean_entropy"], people["in_top"], people["one_judgment"]
    texts = [
        f"People dispute {disputed['items']:,} of {disputed['of']:,} items "
        f"({between(disputed)}); the mean entropy is {mean['value']:.3f} nats "
        f"[{mean['low']:.3f}, {mean['high']:.3f}]."
    ]
    if mean["value"]:
        texts.append(
            f"The {top['share']:.0%} most doubtful items hold {top['value']:.1%} "
            f"[{top['low']:.1%}, {top['high']:.1%}] of all doubt."
        )
    texts += [
        f"{one['name'].capitalize()} between people: {one['value']:.3f} "
        f"[{one['low']:.3f}, {one['high']:.3f}] on {one['items']:,} items."
        for one in people["agreement"]
    ]
    told_so = [Finding(text, "found") for text in texts]
    if single:
        text = f"{count(single, 'item')} with a single judgment cannot be disputed by it."
        told_so.append(Finding(text, "caution"))
    return told_so


def agreement_of(given: Given, settings: AuditSettings) -> list[Agreement]:
    """How far people agree, by each measure that their votes allow; nothing without judgments."""
    rng = np.random.default_rng(settings.seed)  # the same numbers wherever they are told
    found: list[Agreement] = []
    if given.made is None:
        return found
    votes = counts(votes_of(given.made.crowd))
    for measure in (percent_agreement, krippendorff_nominal):
        try:
            found.append(measure(votes, rng=rng))
        except DataError:  # fewer than two votes on every item: nothing to agree about
            continue
    return found


def about_original(
    given: Given, settings: AuditSettings, found: AuditedFiles, rng: np.random.Generator
) -> None:
    """How often the most frequent human class is the original label, and where it is not."""
    if given.people is None or given.original is None:
        return
    people, original = _both(given.people, given.original)
    agreement = strata.original_agreement(people, original)
    masks = strata.agreement_strata(people, original)
    first, other = top_class(people), top_class(original)
    rows = np.arange(len(people))
    names = np.array(people.classes, dtype=object)
    table = pl.DataFrame(
        {
            "item": people.items,
            "original": names[other].tolist(),
            "people": names[first].tolist(),
            "share_of_people": people.probs[rows, first],
            "share_of_original": people.probs[rows, other],
            "tied": np.ptp(np.sort(people.probs, axis=1)[:, -2:], axis=1) <= TIE_TOLERANCE,
            "entropy": signals.entropy(people),
        }
    ).filter(pl.Series(masks["mode shifted"]))
    order = {item: place for place, item in enumerate(sorted_names(table["item"].to_list()))}
    table = table.sort(pl.col("item").replace_strict(order, return_dtype=pl.Int64))
    found.tables["differs"] = table
    share = share_of(agreement.agrees, rng, settings.draws)
    found.facts["original"] = {
        "items": len(people),
        "differ": agreement.differ,
        "differ_by_tie": int(table["tied"].sum()),
        "tied": agreement.tied,
        "agreement": {name: share[name] for name in ("share", "low", "high")},
        "first_that_differ": table["item"].head(NAMED).to_list(),
    }
    ties = (
        f" People tie on {count(agreement.tied, 'item')}, where the first class counts; "
        f"{int(table['tied'].sum()):,} of those that differ are ties."
        if agreement.tied
        else ""
    )
    found.findings["Original labels"] = [
        finding(
            f"The most frequent human class is the original label on {share['items']:,} of "
            f"{share['of']:,} items ({between(share)}); it is another on {agreement.differ:,}"
            f"{first_named(table['item'].to_list())}.{ties}",
            bool(agreement.differ),
        )
    ]


def _both(people: LabelSet, original: LabelSet) -> tuple[LabelSet, LabelSet]:
    known = set(original.items)
    items = [item for item in people.items if item in known]
    return people.take(items), original.take(items)


def told_by_judgments(given: Given) -> dict[str, PerItem]:
    """What labels do not keep: times, unsure marks, exclusions; a number an item of people."""
    if given.judgments is None or given.people is None:
        return {}
    chosen, people = select(given.judgments), given.people
    place = {item: row for row, item in enumerate(people.items)}
    item = np.array([place.get(name, -1) for name in chosen.table["item"]], dtype=np.int64)
    counted, stated = item >= 0, chosen.statements
    found = dict(time_signals(chosen, people.items))
    if stated.unsure.any():
        unsure = stated.unsure[stated.index][counted]
        found["share of unsure annotators"] = signals.unsure_proportion(
            unsure, item[counted], len(people)
        )
        found["share of classes unsure"] = signals.mean_uncertainty(
            unsure, item[counted], len(people)
        )
    if stated.ruled_out.any():
        found["classes not ruled out"] = signals.possible_labels(
            stated.ruled_out[stated.index][counted], item[counted], len(people)
        )
    return found


def unsure_share(given: Given) -> PerItem | None:
    """The share of annotators who marked a class as unsure, an item; None if nobody could."""
    return told_by_judgments(given).get("share of unsure annotators")
