"""Try a comparison out: a batch of a few images through every arm and network."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.cost import TrainingCost, training_cost
from sfumato.learn.examples import Examples
from sfumato.learn.fit import kept_weights
from sfumato.learn.mixing import Augmenting
from sfumato.learn.train import Weights
from sfumato.names import find
from sfumato.studies.comparison.cell import pretrain
from sfumato.studies.comparison.families import FAMILIES
from sfumato.studies.comparison.measured import Trained
from sfumato.studies.comparison.run import cell_of, planned_trainings
from sfumato.studies.comparison.setting import Comparison, Known, Target, Test
from sfumato.studies.trial import FEW, DryRun, Planned, few_items, small_recipe

__all__ = ["dry_run_comparison", "plan_comparison"]


def dry_run_comparison(
    comparison: Comparison,
    *,
    data: Path | None,
    stage: Callable[[str], None] = lambda name: None,
) -> DryRun:
    """Pretrain, train, test, attack and corrupt on a few images, every arm with every network."""
    family = find(FAMILIES, comparison.family, what="family of comparisons")
    stage("Images and labels")
    known = family.load(data)
    first = planned_trainings(replace(comparison, seeds=1), family, known)
    few = [_few(plan) for plan in first if plan.training.fold == 0]
    small = replace(
        comparison,
        training=small_recipe(comparison.training),
        attacked_items=FEW,
        pgd_iterations=min(comparison.pgd_iterations, FEW),
    )
    for network in comparison.networks:
        stage(f"A batch through {network}")
        start = _started(comparison, known, network)
        for plan in (plan for plan in few if plan.training.network == network):
            cell = cell_of(small, known, plan, start)
            cell.function(**cell.inputs)
    return DryRun(len(few), _all_planned(comparison, known, first), known.missing)


def plan_comparison(comparison: Comparison, *, data: Path | None) -> tuple[Planned, ...]:
    """The trainings that a run has, without trying any."""
    family = find(FAMILIES, comparison.family, what="family of comparisons")
    known = family.load(data)
    first = planned_trainings(replace(comparison, seeds=1), family, known)
    return _all_planned(comparison, known, first)


def _all_planned(
    comparison: Comparison, known: Known, first_seed: list[Trained]
) -> tuple[Planned, ...]:
    return tuple(
        _planned(
            comparison,
            known,
            network,
            [plan for plan in first_seed if plan.training.network == network],
        )
        for network in comparison.networks
    )


def _started(comparison: Comparison, known: Known, network: str) -> Weights | None:
    if comparison.pretraining is None or known.pretraining is None:
        return None
    examples, labels = known.pretraining
    few = examples.items[:FEW]
    recipe = small_recipe(replace(comparison.pretraining, network=network))
    return kept_weights(pretrain(recipe, examples.take(few), labels.take(few)).arrays)


def _few(plan: Trained) -> Trained:
    split = few_items(plan.split, plan.target.labels)
    return replace(
        plan,
        split=split,
        target=_few_mixes(plan.target),
        tests=[_few_tested(test) for test in plan.tests],
    )


def _few_tested(test: Test) -> Test:
    items = test.items[:FEW]
    return replace(test, labels={name: held.take(items) for name, held in test.labels.items()})


def _few_mixes(target: Target) -> Target:
    """The target with a few of the mixed images that join the training part."""
    if target.augmenting is None:
        return target
    mixes, labels = target.augmenting.examples, target.augmenting.labels
    few = mixes.items[:FEW]
    kept = labels.take(few) if isinstance(labels, LabelSet) else _about(labels, few)
    return replace(target, augmenting=Augmenting(mixes.take(few), kept))


def _about(crowd: CrowdLabels, items: tuple[str, ...]) -> CrowdLabels:
    """The judgments of a few items, and no other items."""
    place = np.full(len(crowd.items), -1)
    place[[crowd.items.index(item) for item in items]] = np.arange(len(items))
    rows = place[crowd.item] >= 0
    return replace(
        crowd,
        items=items,
        item=place[crowd.item[rows]],
        annotator=crowd.annotator[rows],
        probs=crowd.probs[rows],
    )


def _planned(
    comparison: Comparison, known: Known, network: str, first_seed: list[Trained]
) -> Planned:
    """What a full run shows one network, from the trainings of the first seed."""
    learning = [plan for plan in first_seed if plan.target.use == "learnt"]
    epochs = comparison.training.epochs
    shown = sum(len(plan.split.train) + _mixes(plan.target) for plan in learning)
    before = comparison.pretraining
    extra = before.epochs if before is not None and known.pretraining is not None else 0
    images = len(known.pretraining[0]) if known.pretraining is not None else 0
    return Planned(
        network,
        trainings=comparison.seeds * len(learning) + (1 if extra else 0),
        epochs=comparison.seeds * len(learning) * epochs + extra,
        presentations=comparison.seeds * shown * epochs + extra * images,
        cost=_cost(known.examples, known, network),
    )


def _mixes(target: Target) -> int:
    return 0 if target.augmenting is None else len(target.augmenting)


def _cost(examples: Examples, known: Known, network: str) -> TrainingCost:
    classes = len(next(iter(known.labels.values())).classes)
    return training_cost(network, classes=classes, image_shape=examples.image_shape)
