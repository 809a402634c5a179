"""One training of a study, and what becomes of its beliefs when images are attacked or spoilt."""

from collections.abc import Sequence

import numpy as np

from sfumato.evaluation.attacks import Attack, run_attack
from sfumato.evaluation.corruptions import corrupt
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.examples import Examples, probabilities
from sfumato.learn.fit import Presentation, fit, result_of
from sfumato.learn.folds import Split
from sfumato.learn.sweep import CellResult
from sfumato.learn.train import Recipe

__all__ = ["attack_name", "corruption_name", "train_and_examine"]


def train_and_examine(
    recipe: Recipe,
    examples: Examples,
    labels: LabelSet | CrowdLabels,
    split: Split,
    presentation: Presentation,
    attacked: LabelSet,
    attacks: Sequence[Attack],
    corruptions: Sequence[str],
    strength: int,
) -> CellResult:
    """Train, predict, watch; then predict attacked and corrupted images.

    ``attacked`` are the labels whose cross-entropy the attacks drive up; its items, all of the
    test part, are those that are attacked and corrupted. Beliefs are kept under
    ``attack_name`` and ``corruption_name``, rows in the order of ``attacked``.
    """
    trained = fit(recipe, examples, labels, split, presentation, watched=True)
    result = result_of(trained, examples, labels.classes, split, keep=("watched",))
    arrays = dict(result.arrays)
    images = examples.take(attacked.items).images  # uint8, as pictures are kept
    for attack in attacks:
        found = run_attack(trained.network, images, attacked, attack, trained_items=split.train)
        arrays[attack_name(attack)] = found.beliefs[-1].probs.astype(np.float32)
    for name in corruptions:
        rng = np.random.default_rng(0)  # the same damage for every arm and seed
        spoilt = corrupt(images, name, strength, rng=rng).astype(np.uint8)
        shown = Examples(attacked.items, spoilt)
        arrays[corruption_name(name)] = probabilities(trained.network, shown)
    return CellResult(result.scores, arrays, result.work)


def attack_name(attack: Attack) -> str:
    """The name of the array that holds beliefs under an attack.

    >>> attack_name(Attack("fgsm", 4))
    'fgsm/4'
    """
    return f"{attack.kind}/{attack.epsilon_255:g}"


def corruption_name(name: str) -> str:
    """The name of the array that holds beliefs about corrupted images."""
    return f"corruption/{name}"
