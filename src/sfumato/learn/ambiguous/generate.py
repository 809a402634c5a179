"""Turn images with labels into ambiguous images with label distributions, all synthetic.

The method of Ambiguous-MNIST (Mukhoti et al. 2023) as paper 5 tells it (S4-28): decode a linear
mix of the latents of two images of different classes, label it by the mean of several networks,
leave out what they disagree on (mutual information), take as many of each range of entropy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.ambiguous.choice import Strata, choose, entropy_strata
from sfumato.learn.ambiguous.committee import (
    Beliefs,
    Committee,
    beliefs_of,
    default_network,
    train_committee,
)
from sfumato.learn.ambiguous.pairs import Pairs, draw_pairs, mixed_latents
from sfumato.learn.ambiguous.recipe import REAL_SHARE, AmbiguousRecipe
from sfumato.learn.ambiguous.vae import TrainedVae, Vae, decode, encode, train_vae
from sfumato.learn.device import best_device, repeatable
from sfumato.learn.examples import Examples
from sfumato.learn.folds import class_of, k_folds
from sfumato.names import find
from sfumato.provenance import Step

__all__ = ["AmbiguousImages", "generate"]

AT_ONCE = 4096
"""Candidates that are decoded and labelled together."""

LEAST = 20
"""Images that each mixed class must have, so that networks can learn it and some are held out."""

FOLDS = 5
"""One fifth of the images is held out from the networks, to see how good they are; the VAE learns
from all."""

Advance = Callable[[str, int, int], None]
"""Called with what is being done, and how many parts of it are done and in all."""


@dataclass(frozen=True, eq=False)
class AmbiguousImages:
    """Synthetic images with what networks believe about them and where they come from."""

    images: NDArray[np.uint8]  # (items, height, width, channels)
    labels: LabelSet
    """The mean of the networks' beliefs; items are called "synthetic-00000" and on."""
    drawn: tuple[str, ...]
    """One class an item, drawn from its label: what paper 5 calls the assigned label."""
    first_item: tuple[str, ...]
    second_item: tuple[str, ...]
    first_class: tuple[str, ...]
    second_class: tuple[str, ...]
    coefficient: NDArray[np.float64]  # (items,): share of the first latent
    entropy: NDArray[np.float64]  # (items,): of the label, in nats
    information: NDArray[np.float64]  # (items,): mutual information, in nats
    stratum: tuple[str, ...]
    facts: Mapping[str, Any]
    """What came of it, in plain numbers: how good the networks are, how many candidates were
    left out and why, candidates by stratum."""

    @property
    def items(self) -> tuple[str, ...]:
        """Their ids."""
        return self.labels.items

    @property
    def examples(self) -> Examples:
        """The images as networks take them."""
        return Examples(self.items, self.images)


def generate(
    recipe: AmbiguousRecipe,
    examples: Examples,
    labels: LabelSet,
    *,
    members: Sequence[Any] | None = None,
    advance: Advance = lambda what, done, total: None,
) -> AmbiguousImages:
    """Ambiguous images from images and their labels, hard or soft; one seed, one result.

    ``members`` are networks that were trained elsewhere, over ``labels.classes``; without them
    the recipe's are trained on ``labels``. Labels are joined to images by id.
    """
    labels = labels.take(examples.items)
    rng = np.random.default_rng(recipe.seed)
    with repeatable(best_device(), recipe.seed):
        learnt = _sample(recipe, examples, labels, rng)
        examples, labels = examples.take(learnt), labels.take(learnt)
        _check(recipe, labels)
        seeds = rng.integers(2**31, size=recipe.members + 1).tolist()
        committee = None
        if members is None:
            committee = _committee(recipe, examples, labels, seeds[1:], advance, rng)
            members = committee.members
        limit = _limit(recipe, committee)
        vae = train_vae(
            replace(recipe.vae, seed=seeds[0]),
            examples,
            after_step=lambda done, total: advance("Learning a latent space", done, total),
        )
        pairs = draw_pairs(labels, recipe.candidates, between=recipe.between, rng=rng)
        images, beliefs = _candidates(vae.vae, members, examples, pairs, advance)
    made = _chosen(recipe, limit, images, beliefs, pairs, labels, rng)
    learning = _facts_of_learning(limit, committee, vae, labels)
    return replace(made, facts={**learning, **made.facts})


def _check(recipe: AmbiguousRecipe, labels: LabelSet) -> None:
    of = class_of(labels)
    counts = dict.fromkeys(labels.classes, 0)
    for name in of.values():
        counts[name] += 1
    for name in recipe.between:
        find(counts, name, what="class")
    twice = [name for name in recipe.between if recipe.between.count(name) > 1]
    if twice:
        raise DataError(f"The class {twice[0]!r} is named twice; name each once.")
    mixed = recipe.between or tuple(name for name, number in counts.items() if number)
    if len(mixed) < 2:
        raise DataError(
            f"All images to be mixed are of one class, {mixed[0]!r}; ambiguity is between at "
            "least 2."
        )
    scarce = min(mixed, key=lambda name: counts[name])
    if counts[scarce] < LEAST:
        raise DataError(
            f"There are {counts[scarce]} images of the class {scarce!r}; at least {LEAST} of each "
            "mixed class are needed. Add images, or name the classes to mix."
        )


def _sample(
    recipe: AmbiguousRecipe, examples: Examples, labels: LabelSet, rng: np.random.Generator
) -> tuple[str, ...]:
    """Items to learn from: all, or ``learn_from`` of them with the same mix of classes."""
    if len(examples) <= recipe.learn_from:
        return examples.items
    top = labels.probs.argmax(axis=1)
    shuffled = rng.permutation(len(examples))
    turn = np.empty(len(examples))
    for place in np.unique(top):
        mine = shuffled[top[shuffled] == place]
        turn[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
    taken = np.sort(np.argsort(turn, kind="stable")[: recipe.learn_from])
    return tuple(examples.items[row] for row in taken)


def _committee(
    recipe: AmbiguousRecipe,
    examples: Examples,
    labels: LabelSet,
    seeds: Sequence[int],
    advance: Advance,
    rng: np.random.Generator,
) -> Committee:
    return train_committee(
        examples,
        labels,
        k_folds(labels.items, FOLDS, strata=class_of(labels), selection="none", rng=rng)[0],
        network=recipe.network or default_network(examples.image_shape),
        steps=recipe.network_steps,
        seeds=seeds,
        after_member=lambda done, total: advance("Training networks", done, total),
    )


def _limit(recipe: AmbiguousRecipe, committee: Committee | None) -> float:
    if recipe.most_information is not None:
        return recipe.most_information
    if committee is None:
        raise DataError(
            "Networks that were trained elsewhere have no held-out images here; give the most "
            "mutual information that an image may have."
        )
    return float(np.quantile(committee.held_out.information, REAL_SHARE))


def _candidates(
    vae: Vae, members: Sequence[Any], examples: Examples, pairs: Pairs, advance: Advance
) -> tuple[NDArray[np.uint8], Beliefs]:
    """Every candidate as it would be written, and what the networks believe about just that."""
    latents = mixed_latents(encode(vae, examples), pairs)
    images, beliefs = [], []
    for start in range(0, len(latents), AT_ONCE):
        part = decode(vae, latents[start : start + AT_ONCE])
        names = tuple(map(str, range(len(part))))
        images.append(part)
        beliefs.append(beliefs_of(members, Examples(names, part)))
        advance("Labelling candidates", min(start + AT_ONCE, len(latents)), len(latents))
    joined = Beliefs(
        np.concatenate([one.probs for one in beliefs]),
        np.concatenate([one.entropy for one in beliefs]),
        np.concatenate([one.information for one in beliefs]),
    )
    return np.concatenate(images), joined


def _chosen(
    recipe: AmbiguousRecipe,
    limit: float,
    images: NDArray[np.uint8],
    beliefs: Beliefs,
    pairs: Pairs,
    labels: LabelSet,
    rng: np.random.Generator,
) -> AmbiguousImages:
    """The candidates that are kept, with ids that tell nothing of their stratum."""
    strata = entropy_strata(recipe.strata)
    once = _first_of_equals(images)
    rows = once[
        choose(
            strata,
            entropy=beliefs.entropy[once],
            information=beliefs.information[once],
            predicted=beliefs.probs[once].argmax(axis=1),
            most_information=limit,
            count=recipe.count,
            rng=rng,
        )
    ]
    of = labels.probs.argmax(axis=1)
    first, second = pairs.first[rows], pairs.second[rows]
    made = LabelSet(
        tuple(f"synthetic-{number:05d}" for number in range(len(rows))),
        labels.classes,
        beliefs.probs[rows],
        provenance=(*labels.provenance, _step(recipe)),
    )
    ends = made.probs.cumsum(axis=1)
    drawn = (rng.uniform(size=(len(rows), 1)) * ends[:, -1:] >= ends).sum(axis=1)
    return AmbiguousImages(
        images=images[rows],
        labels=made,
        drawn=tuple(labels.classes[place] for place in drawn),
        first_item=tuple(labels.items[row] for row in first),
        second_item=tuple(labels.items[row] for row in second),
        first_class=tuple(labels.classes[place] for place in of[first]),
        second_class=tuple(labels.classes[place] for place in of[second]),
        coefficient=pairs.coefficient[rows].astype(np.float64),
        entropy=beliefs.entropy[rows],
        information=beliefs.information[rows],
        stratum=tuple(strata.names[place] for place in strata.of(beliefs.entropy[rows])),
        facts=_facts_of_choice(recipe, limit, strata, beliefs, once),
    )


def _first_of_equals(images: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Rows of images that no earlier one equals (S4-38: 1,392 of Ambiguous-MNIST do)."""
    flat = images.reshape(len(images), -1)
    return np.sort(np.unique(flat, axis=0, return_index=True)[1])


def _step(recipe: AmbiguousRecipe) -> Step:
    settings = {**asdict(recipe), "between": list(recipe.between)}
    return Step("generate synthetic ambiguous images", settings, simulated=True)


def _facts_of_choice(
    recipe: AmbiguousRecipe,
    limit: float,
    strata: Strata,
    beliefs: Beliefs,
    once: NDArray[np.int64],
) -> dict[str, Any]:
    kept = beliefs.information[once] <= limit
    stratum = strata.of(beliefs.entropy[once])
    return {
        "candidates": len(beliefs.entropy),
        "duplicates": len(beliefs.entropy) - len(once),
        "most_information": limit,
        "kept": int(kept.sum()),
        "share_kept": float(kept.mean()),
        "by_stratum": [
            {
                "stratum": name,
                "candidates": int((stratum == at).sum()),
                "kept": int((kept & (stratum == at)).sum()),
                "chosen": recipe.count // len(strata),
            }
            for at, name in enumerate(strata.names)
        ],
    }


def _facts_of_learning(
    limit: float, committee: Committee | None, vae: TrainedVae, labels: LabelSet
) -> dict[str, Any]:
    """How good the networks and the VAE are; what is not known of others' networks is left out."""
    known: dict[str, Any] = {
        "learnt_from": len(labels),
        "squared_error": vae.history[-1]["squared_error"],
        "kl": vae.history[-1]["kl"],
    }
    if committee is not None:
        real = committee.held_out.information <= limit
        known |= {
            "held_out": len(real),
            "accuracy": committee.accuracy,
            "real_share_kept": float(real.mean()),
        }
    return known
