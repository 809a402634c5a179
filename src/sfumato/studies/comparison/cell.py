"""One training of a comparison: learn, and believe something about every test."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.attacks import Attack, run_attack
from sfumato.evaluation.corruptions import corrupt
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples, NormalisedNetwork, probabilities
from sfumato.learn.fit import WEIGHTS, fit
from sfumato.learn.folds import Split
from sfumato.learn.sweep import CellResult
from sfumato.learn.targets import fixed_targets
from sfumato.learn.train import Recipe, Weights, restore_network, train, weights_of
from sfumato.studies.cell import attack_name, corruption_name
from sfumato.studies.comparison.setting import Target

__all__ = ["pretrain", "spoilt_name", "train_and_test"]


def train_and_test(
    recipe: Recipe,
    examples: Examples,
    target: Target,
    split: Split,
    parts: Mapping[str, tuple[str, ...]],
    attacked: Mapping[str, LabelSet],
    attacks: Sequence[Attack],
    corruptions: Sequence[str],
    strength: int,
    start: Weights | None = None,
) -> CellResult:
    """Train on the split and predict ``parts``, items by name; then attacked and corrupted ones.

    ``attacked`` are the labels that attacks drive the model away from, by the part that their
    items are of. Beliefs are kept under the part's name and under ``spoilt_name``, those of PGD
    after every iteration (S0-F4).
    """
    network, history = _network(recipe, examples, target, split, start)
    arrays: dict[str, NDArray[Any]] = {
        part: probabilities(network, examples.take(items)) for part, items in parts.items()
    }
    for part, labels in attacked.items():
        images = examples.take(labels.items).images
        for attack in attacks:
            found = run_attack(network, images, labels, attack, trained_items=split.train)
            for step, beliefs in enumerate(found.beliefs[1:], start=1):
                name = attack_name(attack)
                name = name if attack.kind == "fgsm" else f"{name}/{step}"
                arrays[spoilt_name(part, name)] = beliefs.probs.astype(np.float32)
        for name in corruptions:
            rng = np.random.default_rng(0)  # the same damage for every arm and seed
            spoilt = corrupt(images, name, strength, rng=rng).astype(np.uint8)
            shown = Examples(labels.items, spoilt)
            arrays[spoilt_name(part, corruption_name(name))] = probabilities(network, shown)
    return CellResult({"history": history}, arrays, work=len(history))


def _network(
    recipe: Recipe, examples: Examples, target: Target, split: Split, start: Weights | None
) -> tuple[NormalisedNetwork, list[dict[str, float]]]:
    """The network to be tested, and what was seen while it learnt."""
    match target.use:
        case "learnt":
            trained = fit(
                recipe,
                examples,
                target.labels,
                split,
                target.presentation,
                start=start,
                mixing=target.mixing,
                augmenting=target.augmenting,
            )
            return trained.network, list(trained.history)
        case "as pretrained":
            if start is None:
                raise DataError(
                    "An arm is tested as pretrained, but the comparison has no pretraining; give "
                    "it one, or leave the arm out."
                )
            return restore_network(recipe, examples, target.labels.classes, start), []
        case _:
            assert_never(target.use)


def pretrain(recipe: Recipe, examples: Examples, labels: LabelSet) -> CellResult:
    """Train a network to go on from; its weights are kept."""
    trained = train(recipe, examples, fixed_targets(labels, examples.items))
    state = weights_of(trained.network)
    arrays = {WEIGHTS + name: array for name, array in state.items()}
    return CellResult({"history": list(trained.history)}, arrays, work=len(trained.history))


def spoilt_name(part: str, how: str) -> str:
    """The name of the array that holds beliefs about images of a part that were spoilt.

    >>> spoilt_name("test", "fgsm/4")
    'test/fgsm/4'
    """
    return f"{part}/{how}"
