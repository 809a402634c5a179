"""Turn labels into where people doubt, what goes with it, and whether models doubt as much."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.alignment import (
    concentration_curve,
    correlation_matrix,
    entropy_distances,
    entropy_table,
    share_in_top,
)
from sfumato.evaluation.metrics import top_class
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels import signals
from sfumato.labels.build import NONE_OF_THESE, build
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.signals import (
    TIE_TOLERANCE,
    agreement_strata,
    disputed_thirds,
    hlv_strata,
    original_agreement,
    strata_of,
)
from sfumato.labels.soft_digits import WEIGHTINGS, response_times
from sfumato.learn.folds import Split
from sfumato.names import sorted_names
from sfumato.provenance import is_simulated
from sfumato.scores import IN_MEMORY, Estimate, source_text, with_interval
from sfumato.stats import bootstrap_interval
from sfumato.studies.data import (
    ORIGINAL,
    Findings,
    Predictions,
    StudyData,
    TrainingRun,
    blank_row,
    mean_row,
    share_row,
    shared_items,
)
from sfumato.studies.study import Arm
from sfumato.studies.trainings import target_of

PerItem = NDArray[np.float64]  # (items,), NaN where unknown

TOP_SHARE = 0.3
"""The share of the items whose part in all doubt is told, as in paper 1 (S0-47)."""
TOP = "top 30 %"
ENTROPY = "entropy of people"
SPREAD = "spread between people"
UNSURE = "unsure proportion"
UNCERTAINTY = "mean uncertainty"
UNCERTAINTIES = {UNCERTAINTY: "mean_uncertainty", UNSURE: "unsure_proportion"}
"""What people say of their own doubt where they may be unsure (S4-47, S4-48), and its metric."""


def doubt(data: StudyData, predictions: Predictions) -> Findings:
    """Strata of label variation, in how few items the doubt lies, and where modes shifted."""
    people = data.people
    found = label_doubt(people, signals_of(data), rng=data.rng("doubt"), draws=data.study.draws)
    if ORIGINAL not in data.labels:
        return found
    shifted = shifted_modes(people, data.original.take(people.items))
    return Findings([*found.estimates, *shifted.estimates], {**found.tables, **shifted.tables})


def label_doubt(
    people: LabelSet,
    known: Mapping[str, PerItem] | None = None,
    *,
    rng: np.random.Generator,
    draws: int,
) -> Findings:
    """How many items are disputed, mean entropy, and the part of it in the most doubtful items.

    Of the ``known`` signals, those of annotators who could say that they were unsure are told too;
    so is, where they could reject every class, how often that is the most frequent answer (S4-T1).
    """
    blank, known = people_row(people), known or {}
    values = signals.entropy(people)
    masks = {**strata_of(people), **disputed_thirds(people)}
    if UNSURE in known:
        masks |= hlv_strata(people, known[UNSURE])
    if NONE_OF_THESE in people.classes:
        rejected = people.classes.index(NONE_OF_THESE)
        masks[NONE_OF_THESE] = top_class(people) == rejected
    rows = [replace(blank, metric="items", value=len(people))]
    for stratum, mask in masks.items():
        inside = replace(blank, stratum=stratum)
        rows.append(replace(inside, metric="items", value=int(mask.sum())))
        rows.append(share_row(inside, "share_of_items", mask))
    if people.weight.sum():
        rows.append(replace(blank, metric="judgments", value=float(people.weight.sum())))
        single = int((people.weight == 1).sum())
        rows.append(replace(blank, metric="items", value=single, stratum="one judgment"))
    if NONE_OF_THESE in people.classes:
        rows.append(mean_row(blank, "none_of_these_mass", people.probs[:, rejected]))
    rows += [
        mean_row(blank, metric, known[name][np.isfinite(known[name])])
        for name, metric in UNCERTAINTIES.items()
        if name in known
    ]
    mean = replace(blank, metric="mean_entropy", value=float(values.mean()))
    rows.append(with_interval(mean, *bootstrap_interval(values, rng=rng, draws=draws), "items"))
    if values.any():
        top = share_in_top(values, TOP_SHARE, rng=rng, draws=draws)
        row = replace(blank, metric="entropy_share", value=top.value, stratum=TOP)
        rows.append(with_interval(row, top.low, top.high, "items"))
    return Findings(rows, {"concentration": concentration_curve({"people": values})})


def people_row(people: LabelSet) -> Estimate:
    """A row about all items of people's labels, to be filled."""
    return Estimate(
        "",
        0.0,
        items=len(people),
        simulated=is_simulated(people.provenance),
        source=source_text(labels=people.provenance or IN_MEMORY),
    )


def shifted_modes(people: LabelSet, original: LabelSet) -> Findings:
    """How often people's most frequent class is the original label, and the items where not.

    Both are about the same items.
    """
    agreement = original_agreement(people, original)
    blank = replace(
        people_row(people),
        against=ORIGINAL,
        source=source_text(
            labels=original.provenance or IN_MEMORY, model=people.provenance or IN_MEMORY
        ),
    )
    first, other = top_class(people), top_class(original)
    place = np.arange(len(people))
    names = np.array(people.classes, dtype=object)
    table = pl.DataFrame(
        {
            "item": people.items,
            "original": names[other].tolist(),
            "people": names[first].tolist(),
            "share_of_people": people.probs[place, first],
            "share_of_original": people.probs[place, other],
            "tied": np.ptp(np.sort(people.probs, axis=1)[:, -2:], axis=1) <= TIE_TOLERANCE,
            "entropy": signals.entropy(people),
        }
    ).filter(pl.Series(agreement_strata(people, original)["mode shifted"]))
    order = {item: at for at, item in enumerate(sorted_names(table["item"].to_list()))}
    table = table.sort(pl.col("item").replace_strict(order, return_dtype=pl.Int64))
    rows = [
        share_row(blank, "mode_agreement", agreement.agrees),
        replace(blank, metric="modes_differ", value=agreement.differ),
        replace(blank, metric="modes_differ", value=int(table["tied"].sum()), stratum="tied"),
        replace(blank, metric="modes_tied", value=agreement.tied),
    ]
    return Findings(rows, {"differs": table})


def correlations(data: StudyData, predictions: Predictions) -> Findings:
    """Every signal of people's doubt against every other (S4-49)."""
    return correlated_signals(
        signals_of(data),
        people_row(data.people),
        rng=data.rng("correlations"),
        draws=data.study.draws,
    )


def correlated_signals(
    known: Mapping[str, PerItem], blank: Estimate, *, rng: np.random.Generator, draws: int
) -> Findings:
    """Rank correlations of all pairs of signals that vary: of ``arm`` with ``against``."""
    varied = {
        name: values
        for name, values in known.items()
        if np.isfinite(values).any() and np.nanmax(values) - np.nanmin(values) > TIE_TOLERANCE
    }
    rows = []
    for row in correlation_matrix(varied, rng=rng, draws=draws).iter_rows(named=True):
        pair = {"arm": row["first"], "against": row["second"], "items": row["items"]}
        one = replace(blank, metric="spearman", value=row["rho"], **pair)
        rows.append(with_interval(one, row["low"], row["high"], "items"))
    return Findings(rows)


def signals_of(data: StudyData) -> dict[str, PerItem]:
    """All that tells of people's doubt about an item: one number per item each."""
    people, name = data.people, data.study.tests[0].against[0]
    crowd = data.crowds.get(name)
    return {
        **label_signals(people),
        **({} if crowd is None else {SPREAD: spread_between(crowd, people)}),
        **({} if data.judgments is None else judgment_signals(data.judgments, people)),
        **data.signals,
    }


def label_signals(people: LabelSet) -> dict[str, PerItem]:
    """What labels alone tell of doubt."""
    return {
        ENTROPY: signals.entropy(people),
        "mass off the top": signals.non_max_mass(people),
    }


def spread_between(crowd: CrowdLabels, people: LabelSet) -> PerItem:
    """Mean total variation between single answers and their mean, per item."""
    place = {item: row for row, item in enumerate(people.items)}
    row = np.array([place.get(item, -1) for item in crowd.items])[crowd.item]
    known = row >= 0
    apart = 0.5 * np.abs(crowd.probs[known] - people.probs[row[known]]).sum(axis=1)
    total = np.bincount(row[known], apart, minlength=len(people))
    count = np.bincount(row[known], minlength=len(people))
    return np.divide(total, count, out=np.full(len(people), np.nan), where=count > 0)


def judgment_signals(judgments: Judgments, people: LabelSet) -> dict[str, PerItem]:
    """What labels do not keep: times, unsure marks, exclusions; one number per item of people."""
    chosen = select(judgments)
    place = {item: row for row, item in enumerate(people.items)}
    item = np.array([place.get(name, -1) for name in chosen.table["item"]], dtype=np.int64)
    counted, stated = item >= 0, chosen.statements
    response = response_times(chosen, people.items)
    found = {} if response is None else {"response time": response}
    if stated.unsure.any():
        unsure = stated.unsure[stated.index][counted]
        found[UNSURE] = signals.unsure_proportion(unsure, item[counted], len(people))
        found[UNCERTAINTY] = signals.mean_uncertainty(unsure, item[counted], len(people))
    if stated.ruled_out.any():
        found["classes not ruled out"] = signals.possible_labels(
            stated.ruled_out[stated.index][counted], item[counted], len(people)
        )
    if chosen.question.kind == "yes-no-unsure":
        read = {name: build(chosen, name).crowd.mean() for name in WEIGHTINGS}
        found |= entropies_beside(people, read)
    return found


def entropies_beside(people: LabelSet, others: Mapping[str, LabelSet]) -> dict[str, PerItem]:
    """The entropy of every other label of the same items that is not people's own."""
    own = signals.entropy(people)
    found = {
        f"entropy of {name}": at_items(people.items, labels.items, signals.entropy(labels))
        for name, labels in others.items()
    }
    return {name: values for name, values in found.items() if not np.allclose(values, own)}


def at_items(items: Sequence[str], known: Sequence[str], values: PerItem) -> PerItem:
    """Values of known items at the places of others; NaN where there is none."""
    by_item = dict(zip(known, values, strict=True))
    return np.array([by_item.get(item, np.nan) for item in items])


def entropies(data: StudyData, predictions: Predictions) -> Findings:
    """Whether a model doubts as much as the labels it learnt from (S1-56), on the last network.

    Of each arm the first training is taken, with the labels that the arm has for the tested items;
    all are about the same items.
    """
    study, part = data.study, data.study.tests[0].part
    network, models, labels, runs = study.networks[-1], {}, {}, []
    done = {
        arm: [folds[0] for folds in predictions.of(arm.name, network).values()]
        for arm in study.arms
        if not (arm.use == "as pretrained" or arm.added or arm.curve)
    }  # the others have no labels of their own for the tested items
    items = shared_items([run.test(part).items for run in each] for each in done.values())
    for arm, each in done.items():
        run = next((run for run in each if run.test(part).items == items), None)
        if run is not None:
            runs.append(run)
            models[arm.name] = run.beliefs(part)
            labels[arm.name] = _tested_labels(arm, data, run, items)
    if not models:
        return Findings()
    apart = entropy_distances(labels, models, rng=data.rng("entropies"), draws=study.draws)
    blank = replace(blank_row(data, runs, part=part), network=network)
    rows = []
    for row in apart.iter_rows(named=True):
        source = source_text(
            labels=labels[row["labels"]].provenance, model=models[row["model"]].provenance
        )
        pair = {"arm": row["model"], "against": row["labels"], "source": source}
        one = replace(blank, **pair, items=row["model_items"])
        distance = replace(one, metric="entropy_distance", value=row["distance"])
        rows.append(with_interval(distance, row["low"], row["high"], "items"))
        rows.append(replace(one, metric="entropy_above_labels", value=row["difference"]))
    people = data.people.take(items)
    sources = {"people": people, **{f"learnt from {arm}": one for arm, one in models.items()}}
    return Findings(rows, {"entropy": entropy_table(sources)})


def _tested_labels(arm: Arm, data: StudyData, run: TrainingRun, items: tuple[str, ...]) -> LabelSet:
    """The labels that the arm would have taught about tested items."""
    other = Split(items, (), run.split.train, selection="none")
    whole = arm.model_copy(update={"items": None, "per_class": None})
    return target_of(whole, data, other, run.key.seed).mean.take(items)
