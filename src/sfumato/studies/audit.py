"""The audit of a study: duplicates, leakage, shifted modes, data maps, doubt shared with people."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from sfumato.evaluation.alignment import (
    concentration_curve,
    correlation_matrix,
    entropy_distances,
    entropy_table,
    nearest_labels,
    share_in_top,
    uncertainty_alignment,
)
from sfumato.evaluation.cartography import (
    DataMap,
    bars,
    convergence_table,
    data_map,
    data_map_table,
    kinds_of_interest,
    same_top_other_rest,
    samples_of_interest,
    steadiness,
)
from sfumato.evaluation.duplicates import Pictures, find_duplicates, groups_table, leakage_table
from sfumato.evaluation.mode_shift import mode_shift, mode_shift_table
from sfumato.evaluation.strata import original_agreement, strata_of
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.signals import entropy, non_max_mass
from sfumato.learn.targets import distilled
from sfumato.studies.trainings import Trained, Trainings

__all__ = ["Audited", "audit_tables"]

LAST_EPOCHS = 5
"""Data maps are over the last epochs of every seed (S4-22)."""

SPREAD = "spread between people"
TOP_SHARE = 0.3
"""The share of the items whose part in all doubt is told, as in paper 1 (S0-47)."""

SHOWN = 8
"""Pictures in a gallery."""


@dataclass(frozen=True, eq=False)
class Audited:
    """The tables of the audit, the pictures its galleries show, and what it counted."""

    tables: dict[str, pl.DataFrame]
    images: dict[str, NDArray[np.uint8]]
    facts: dict[str, object]


def audit_tables(trainings: Trainings, *, rng: np.random.Generator) -> Audited:
    """Everything the audit finds about the data and about what the networks made of it."""
    tables: dict[str, pl.DataFrame] = {}
    facts: dict[str, object] = {}
    _about_pictures(trainings, tables, facts)
    _about_people(trainings, tables, facts, rng)
    _about_modes(trainings, tables, facts, rng)
    maps = _about_dynamics(trainings, tables, rng)
    _about_entropies(trainings, tables, rng)
    images = _about_single_items(trainings, maps, tables)
    return Audited(tables, images, facts)


def _about_pictures(
    trainings: Trainings, tables: dict[str, pl.DataFrame], facts: dict[str, object]
) -> None:
    material, split = trainings.material, trainings.split
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    names = np.array(material.pictures.classes, dtype=object)
    pictures = []
    for part, items in parts.items():
        taken = material.pictures.take(items)
        labels = tuple(names[taken.labels].tolist())
        pictures.append(Pictures(trainings.study.data, part, items, taken.images, labels))
    found = (
        find_duplicates(pictures)
        if trainings.study.near_duplicates
        else find_duplicates(pictures, near=None)
    )
    level = "near" if trainings.study.near_duplicates else "exact"
    groups = groups_table(found, level)  # type: ignore[arg-type]
    leaks = leakage_table(found)
    tables["duplicates"], tables["leakage"] = groups, leaks
    facts["pictures"] = len(material.pictures)
    facts["duplicated"] = len(groups)
    facts["leaked"] = len(leaks)


def _about_people(
    trainings: Trainings,
    tables: dict[str, pl.DataFrame],
    facts: dict[str, object],
    rng: np.random.Generator,
) -> None:
    material, draws = trainings.material, trainings.study.draws
    people = material.people
    doubt = entropy(people)
    agreement = original_agreement(people, material.original)
    masks = strata_of(people)
    facts["items"] = len(people)
    facts["strata"] = {name: int(mask.sum()) for name, mask in masks.items()}
    facts["modes_differ"] = agreement.differ
    facts["mode_agreement"] = agreement.share
    tables["concentration"] = concentration_curve({"people": doubt})
    if doubt.any():
        top = share_in_top(doubt, TOP_SHARE, rng=rng, draws=draws)
        facts["share_in_top"] = {
            "share": TOP_SHARE,
            "value": top.value,
            "low": top.low,
            "high": top.high,
        }
    signals = {
        "entropy of people": doubt,
        "mass off the top": non_max_mass(people),
        **({} if material.crowd is None else {SPREAD: _spread(material.crowd, people)}),
        **material.signals,
    }
    varied = {name: values for name, values in signals.items() if np.nanstd(values) > 0}
    if len(varied) > 1:
        tables["correlations"] = correlation_matrix(varied, rng=rng, draws=draws)


def _spread(crowd: CrowdLabels, people: LabelSet) -> NDArray[np.float64]:
    """Mean total variation between single answers and their mean, an item each."""
    place = {item: row for row, item in enumerate(people.items)}
    row = np.array([place.get(item, -1) for item in crowd.items])[crowd.item]
    known = row >= 0
    apart = 0.5 * np.abs(crowd.probs[known] - people.probs[row[known]]).sum(axis=1)
    total = np.bincount(row[known], apart, minlength=len(people))
    count = np.bincount(row[known], minlength=len(people))
    return np.divide(total, count, out=np.full(len(people), np.nan), where=count > 0)


def _about_modes(
    trainings: Trainings,
    tables: dict[str, pl.DataFrame],
    facts: dict[str, object],
    rng: np.random.Generator,
) -> None:
    """Soft labels against their own majority vote, on original and on people's labels (C15)."""
    if not {"original", "majority"} <= set(trainings.study.arms):
        return
    test = trainings.split.test
    found, sentences = [], []
    for network in trainings.study.networks:
        by_arm = {arm: trainings.beliefs(arm, network) for arm in trainings.study.arms}
        shared = set.intersection(*(set(models) for models in by_arm.values()))
        if not shared:
            continue
        shift = mode_shift(
            {arm: [models[seed] for seed in sorted(shared)] for arm, models in by_arm.items()},
            original=trainings.material.original.take(test),
            human=trainings.material.people.take(test),
            network=network,
            rng=rng,
            draws=trainings.study.draws,
        )
        found.append(mode_shift_table(shift))
        sentences.append({"network": network, "sentence": shift.sentence})
    if found:
        tables["modes"] = pl.concat(found)
        facts["mode_shift"] = sentences


def _about_dynamics(
    trainings: Trainings, tables: dict[str, pl.DataFrame], rng: np.random.Generator
) -> dict[tuple[str, str], DataMap]:
    train = trainings.split.train
    people = trainings.material.people.take(train)
    maps: dict[tuple[str, str], DataMap] = {}
    mapped, moved, aligned, steady = [], [], [], []
    for network, arm in product(trainings.study.networks, trainings.study.arms):
        watched = _watched(trainings, arm, network)
        if watched is None:
            continue
        target = trainings.mean_target(arm).take(train)
        found = data_map(watched, target, last=min(LAST_EPOCHS, watched.shape[1]))
        maps[network, arm] = found
        mapped.append(data_map_table(found, arm=arm, network=network, human=people))
        if watched.shape[1] > 1:
            moved.append(convergence_table(watched, arm=arm, network=network))
            if len(watched) > 1:
                steady.append(_steady(watched, arm, network))
        aligned.append(
            uncertainty_alignment(
                {"entropy of people": entropy(people)},
                {"confidence": found.confidence, "variability": found.variability},
                rng=rng,
                draws=trainings.study.draws,
            ).with_columns(pl.lit(arm).alias("arm"), pl.lit(network).alias("network"))
        )
    for name, parts in (("data_map", mapped), ("convergence", moved), ("alignment", aligned)):
        if parts:
            tables[name] = pl.concat(parts)
    if steady:
        tables["steadiness"] = pl.DataFrame(steady)
    return maps


def _steady(watched: NDArray[np.float32], arm: str, network: str) -> dict[str, object]:
    """Movement inside a run against spread between seeds, in the last epochs (S4-51)."""
    found = steadiness(watched, last=min(LAST_EPOCHS, watched.shape[1] - 1))
    apart = found.spread - found.movement
    ends = ttest_1samp(apart, 0).confidence_interval()
    return {
        "arm": arm,
        "network": network,
        "movement": float(found.movement.mean()),
        "spread": float(found.spread.mean()),
        "ratio": found.ratio,
        "apart": float(apart.mean()),
        "low": float(ends.low),
        "high": float(ends.high),
    }


def _watched(trainings: Trainings, arm: str, network: str) -> NDArray[np.float32] | None:
    """Beliefs of all seeds about the training part, shape (seeds, epochs, items, classes); as
    many epochs, the last ones, as every seed has."""
    found = [
        trainings.done[Trained(arm, network, seed)].arrays()["watched"]
        for seed in range(trainings.study.seeds)
        if Trained(arm, network, seed) in trainings.done
    ]
    if not found:
        return None
    epochs = min(len(each) for each in found)
    return np.stack([each[-epochs:] for each in found]).astype(np.float32)


def _about_entropies(
    trainings: Trainings, tables: dict[str, pl.DataFrame], rng: np.random.Generator
) -> None:
    """Whether a model doubts as much as the labels it learnt from (S1-56), on the last network."""
    network, test = trainings.last_network, trainings.split.test
    models, labels = {}, {}
    for arm in trainings.study.arms:
        beliefs = trainings.beliefs(arm, network)
        if beliefs:
            models[arm] = beliefs[min(beliefs)]
            labels[arm] = trainings.mean_target(arm).take(test)
    people = trainings.material.people.take(test)
    tables["entropy"] = entropy_table(
        {"people": people, **{f"learnt from {arm}": model for arm, model in models.items()}}
    )
    apart = entropy_distances(labels, models, rng=rng, draws=trainings.study.draws)
    tables["entropy_distances"] = apart
    tables["resonance"] = nearest_labels(apart, {arm: arm for arm in models})


def _about_single_items(
    trainings: Trainings, maps: dict[tuple[str, str], DataMap], tables: dict[str, pl.DataFrame]
) -> dict[str, NDArray[np.uint8]]:
    """Pictures with people's and models' bars: the most doubtful ones, and those where only the
    first guess agrees; kinds of interest in the training part."""
    study, material, test = trainings.study, trainings.material, trainings.split.test
    network = trainings.last_network
    people = material.people.take(test)
    sources = {"people": people}
    for arm in study.arms[:3]:
        beliefs = trainings.beliefs(arm, network)
        if beliefs:
            sources[f"learnt from {arm}"] = distilled(list(beliefs.values()))
    most = np.argsort(-entropy(people), kind="stable")[:SHOWN]
    doubtful = [test[row] for row in most]
    tables["doubtful"] = bars(sources, doubtful)
    shown = list(doubtful)
    if len(sources) > 1:
        last = list(sources.values())[-1]
        alternative = same_top_other_rest(people, last, count=SHOWN)["item"].to_list()
        tables["alternatives"] = bars(sources, alternative)
        shown += alternative
    arm = "soft" if (network, "soft") in maps else study.arms[-1]
    if (network, arm) in maps:
        found = maps[network, arm]
        kinds = kinds_of_interest(
            material.people.take(trainings.split.train),
            confidence=found.confidence,
            variability=found.variability,
        )
        samples = samples_of_interest(kinds, count=4)
        tables["interest"] = samples
        tables["interest_counts"] = (
            kinds.filter(pl.col("kind").is_not_null()).group_by("kind").len("items").sort("kind")
        )
        tables["interest_bars"] = bars({"people": material.people}, samples["item"].to_list())
        shown += samples["item"].to_list()
    unique = tuple(dict.fromkeys(shown))
    return dict(zip(unique, material.pictures.take(unique).images, strict=True))
