"""From the trainings of a study to its scores, and to the tables that its report is drawn from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.metrics import reliability
from sfumato.evaluation.score import compare, evaluate_seeds
from sfumato.evaluation.strata import disputed_thirds, strata_of
from sfumato.labels.compare import total_variation
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.scores import Difference, Score
from sfumato.studies.audit import audit_tables
from sfumato.studies.cell import attack_name, corruption_name
from sfumato.studies.trainings import Trainings, attacks_of

__all__ = ["Findings", "analyse"]

ROBUSTNESS = ("accuracy", "cross_entropy")
CONTROLS = ("original", "majority")
"""Arms that every other arm is compared with: the second takes the shifted mode out (S4-45)."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What a study found, as tables only: enough to draw its report again."""

    scores: list[Score]
    differences: list[Difference]
    tables: Mapping[str, pl.DataFrame]
    images: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    """The pictures that galleries show, by item."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Sentences and counts that belong in the report."""


def analyse(trainings: Trainings) -> Findings:
    """Scores of every arm and network on the part that nobody trained or chose on, and the audit.

    Intervals are over seeds and items; differences are paired by seed, each arm minus the
    original labels and minus the majority vote of the same people.
    """
    rng = np.random.default_rng(trainings.study.split_seed)
    scores, differences = _scores(trainings, rng)
    audited = audit_tables(trainings, rng=rng)
    tables = {
        "labels": _labels_table(trainings),
        "history": _history(trainings),
        "reliability": _reliability(trainings),
        "robustness": _robustness(trainings, rng),
        "corruptions": _corruptions(trainings, rng),
        "failed": _failed(trainings),
        **audited.tables,
    }
    kept = {name: table for name, table in tables.items() if len(table)}
    return Findings(scores, differences, kept, audited.images, audited.facts)


def _scores(trainings: Trainings, rng: np.random.Generator) -> tuple[list[Score], list[Difference]]:
    study = trainings.study
    people = trainings.material.people.take(trainings.split.test)
    original = trainings.material.original.take(trainings.split.test)
    strata = {**strata_of(people), **disputed_thirds(people)}
    scores: list[Score] = []
    differences: list[Difference] = []
    for network in study.networks:
        found = {arm: trainings.beliefs(arm, network) for arm in study.arms}
        found = {arm: models for arm, models in found.items() if models}
        for arm, models in found.items():
            scores += evaluate_seeds(
                people,
                models,
                original=original,
                strata=strata,
                arm=arm,
                network=network,
                interval="seeds and items",
                rng=rng,
                draws=study.draws,
            )
        pairs = [
            (arm, control)
            for arm, control in product(found, CONTROLS)
            if _is_pair(arm, control, found)
        ]
        for first, second in pairs:
            both = _same_seeds(found[first], found[second])
            if both is None:
                continue
            differences += compare(
                people,
                {second: both[1], first: both[0]},
                pairs=[(first, second)],
                original=original,
                strata=strata,
                network=network,
                rng=rng,
                draws=study.draws,
            )
    return scores, differences


def _is_pair(arm: str, control: str, found: Mapping[str, object]) -> bool:
    return arm != control and control in found and (arm, control) != ("original", "majority")


def _same_seeds(
    first: Mapping[int, LabelSet], second: Mapping[int, LabelSet]
) -> tuple[dict[int, LabelSet], dict[int, LabelSet]] | None:
    """Both arms over the seeds that neither failed with."""
    shared = [seed for seed in first if seed in second]
    if not shared:
        return None
    return {seed: first[seed] for seed in shared}, {seed: second[seed] for seed in shared}


def _labels_table(trainings: Trainings) -> pl.DataFrame:
    """What the arms' labels look like beside people's, over all items."""
    material = trainings.material
    mode = material.original.probs.argmax(axis=1)
    rows = []
    for arm, (_, presentation) in trainings.targets.items():
        mean = trainings.mean_target(arm)
        rows.append(
            {
                "arm": arm,
                "shown": presentation,
                "mean_entropy": float(entropy(mean).mean()),
                "distance_to_people": float(total_variation(material.people, mean).mean()),
                "mode_is_original": float((mean.probs.argmax(axis=1) == mode).mean()),
                "items": len(mean),
            }
        )
    return pl.DataFrame(rows)


def _history(trainings: Trainings) -> pl.DataFrame:
    rows = [
        {
            "arm": which.arm,
            "network": which.network,
            "seed": which.seed,
            "epoch": int(row["epoch"]),
            "loss": row["loss"],
            "validation_loss": row.get("validation_loss"),
        }
        for which, done in trainings.done.items()
        for row in done.scores["history"]
    ]
    return pl.DataFrame(rows)


def _reliability(trainings: Trainings) -> pl.DataFrame:
    """One diagram an arm and network: the seeds' predictions pooled."""
    people = trainings.material.people.take(trainings.split.test)
    tables = []
    for network, arm in product(trainings.study.networks, trainings.study.arms):
        models = trainings.beliefs(arm, network)
        if not models:
            continue
        pooled = [_renamed(people, models[seed], seed) for seed in models]
        human = _joined([each[0] for each in pooled])
        model = _joined([each[1] for each in pooled])
        table = reliability(human, model)
        tables.append(
            table.with_columns(pl.lit(arm).alias("arm"), pl.lit(network).alias("network"))
        )
    return pl.concat(tables)


def _renamed(human: LabelSet, model: LabelSet, seed: int) -> tuple[LabelSet, LabelSet]:
    items = tuple(f"{seed}/{item}" for item in human.items)
    return replace(human, items=items), replace(model, items=items)


def _joined(parts: list[LabelSet]) -> LabelSet:
    return LabelSet(
        tuple(item for part in parts for item in part.items),
        parts[0].classes,
        np.concatenate([part.probs for part in parts]),
        provenance=parts[0].provenance,
    )


def _robustness(trainings: Trainings, rng: np.random.Generator) -> pl.DataFrame:
    attacks = {attack_name(attack): attack for attack in attacks_of(trainings.study)}
    rows = []
    for network, arm in product(trainings.study.networks, trainings.study.arms):
        clean = _clean(trainings, arm, network)
        if not clean or not attacks:
            continue
        by_kind = {attack.kind for attack in attacks.values()}
        for kind in sorted(by_kind):
            rows += [
                {"attack": kind, "epsilon": 0.0, **row}
                for row in _scored(trainings, clean, arm, network, rng)
            ]
        for name, attack in attacks.items():
            models = trainings.beliefs(arm, network, name)
            rows += [
                {"attack": attack.kind, "epsilon": attack.epsilon_255, **row}
                for row in _scored(trainings, models, arm, network, rng)
            ]
    return pl.DataFrame(rows)


def _corruptions(trainings: Trainings, rng: np.random.Generator) -> pl.DataFrame:
    rows = []
    for network, arm in product(trainings.study.networks, trainings.study.arms):
        clean = _clean(trainings, arm, network)
        if not clean or not trainings.study.corruptions:
            continue
        conditions = {"untouched": clean} | {
            name: trainings.beliefs(arm, network, corruption_name(name))
            for name in trainings.study.corruptions
        }
        for name, models in conditions.items():
            rows += [
                {"corruption": name, "strength": trainings.study.strength, **row}
                for row in _scored(trainings, models, arm, network, rng)
            ]
    return pl.DataFrame(rows)


def _clean(trainings: Trainings, arm: str, network: str) -> dict[int, LabelSet]:
    """Beliefs about the untouched images of the items that are attacked."""
    return {
        seed: labels.take(trainings.attacked.items)
        for seed, labels in trainings.beliefs(arm, network).items()
    }


def _scored(
    trainings: Trainings,
    models: Mapping[int, LabelSet],
    arm: str,
    network: str,
    rng: np.random.Generator,
) -> list[dict[str, object]]:
    scores = evaluate_seeds(
        trainings.attacked,
        models,
        metrics=ROBUSTNESS,
        arm=arm,
        network=network,
        interval="seeds and items",
        rng=rng,
        draws=trainings.study.draws,
    )
    return [
        {
            "arm": arm,
            "network": network,
            "metric": score.metric,
            "value": score.value,
            "low": score.low,
            "high": score.high,
            "items": score.items,
        }
        for score in scores
        if score.against == "people" and score.metric in ROBUSTNESS
    ]


def _failed(trainings: Trainings) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "arm": which.arm,
                "network": which.network,
                "seed": which.seed,
                "reason": failed.reason,
            }
            for which, failed in trainings.failed.items()
        ]
    )
