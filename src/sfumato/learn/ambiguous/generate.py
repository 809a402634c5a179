"""Turn images with labels into ambiguous images with label distributions, all synthetic.

The method of Ambiguous-MNIST (Mukhoti et al. 2023) as paper 5 tells it (S4-28): decode a linear
mix of the latents of two images of different classes, label it by the mean of several networks,
leave out what they disagree on (mutual information), take as many of each range of entropy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.ambiguous.models import (
    Beliefs,
    Committee,
    TrainedVae,
    Vae,
    VaeRecipe,
    beliefs_of,
    decode,
    default_network,
    encode,
    train_committee,
    train_vae,
)
from sfumato.learn.examples import Examples, best_device, repeatable
from sfumato.learn.folds import class_of, k_folds
from sfumato.names import find
from sfumato.provenance import Step

# Turn entropy and disagreement of many candidates into as many of each degree of doubt.

PerItem = NDArray[np.float64]  # (candidates,)


@dataclass(frozen=True)
class Strata:
    """Ranges of entropy in nats: each from an edge to below the next, the last without end."""

    edges: tuple[float, ...]
    """Where each begins; the first is 0."""

    def __len__(self) -> int:
        return len(self.edges)

    def of(self, entropy: PerItem) -> NDArray[np.int64]:
        """The position of each entropy's stratum."""
        return np.searchsorted(self.edges, entropy, side="right").astype(np.int64) - 1

    @property
    def names(self) -> tuple[str, ...]:
        """In words.

        >>> entropy_strata(2).names
        ('entropy 0.00 to 0.35', 'entropy 0.35 and more')
        """
        ends = [f" to {edge:.2f}" for edge in self.edges[1:]]
        return tuple(
            f"entropy {edge:.2f}{end}"
            for edge, end in zip(self.edges, [*ends, " and more"], strict=True)
        )


def entropy_strata(number: int) -> Strata:
    """Equal widths up to log 2, an even choice between two classes; the last takes what is above.

    >>> [round(edge, 3) for edge in entropy_strata(4).edges]
    [0.0, 0.173, 0.347, 0.52]
    """
    if number < 1:
        raise DataError(f"There must be at least 1 stratum of entropy, not {number}.")
    return Strata(tuple(float(edge) for edge in np.linspace(0, np.log(2), number + 1)[:-1]))


def choose(
    strata: Strata,
    *,
    entropy: PerItem,
    information: PerItem,
    predicted: NDArray[np.int64],
    most_information: float,
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """The rows of ``count`` candidates, equally many a stratum, in their order.

    Candidates whose mutual information is above ``most_information`` are junk to the networks and
    never chosen. Within a stratum the predicted classes take turns, so that a class that is often
    doubtful does not fill it; which candidates of a class come first is drawn with ``rng``.
    """
    if count < 1 or count % len(strata):
        raise DataError(
            f"{count} images cannot be divided equally among {len(strata)} strata of entropy; "
            f"ask for a multiple of {len(strata)}."
        )
    kept = information <= most_information
    stratum = strata.of(entropy)
    each = count // len(strata)
    found = np.bincount(stratum[kept], minlength=len(strata))
    if found.min() < each:
        scarce = int(found.argmin())
        fewer = f"Ask for at most {found[scarce] * len(strata):,} images, d" if found.min() else "D"
        raise DataError(
            f"Of {len(entropy):,} candidates {found[scarce]:,} have {strata.names[scarce]} and a "
            f"mutual information of at most {most_information:.3g}, but {each:,} are needed. "
            f"{fewer}raw more candidates, allow more mutual information, or let VAE and networks "
            "learn for longer."
        )
    shuffled = rng.permutation(len(entropy))
    chosen = []
    for at in range(len(strata)):
        rows = shuffled[(kept & (stratum == at))[shuffled]]
        turn = np.argsort(_place_in_class(predicted[rows]), kind="stable")
        chosen.append(rows[turn[:each]])
    return np.sort(np.concatenate(chosen))


def _place_in_class(predicted: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many rows of the same class come before each row."""
    order = np.argsort(predicted, kind="stable")
    _, starts, sizes = np.unique(predicted[order], return_index=True, return_counts=True)
    place = np.empty(len(predicted), dtype=np.int64)
    place[order] = np.arange(len(predicted)) - np.repeat(starts, sizes)
    return place


# Turn labelled images into pairs to mix, and pairs into points between their latents.


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which two images are mixed: ``coefficient`` × first + (1 - ``coefficient``) × second."""

    first: NDArray[np.int64]  # (mixes,): rows of the images
    second: NDArray[np.int64]  # (mixes,)
    coefficient: NDArray[np.float32]  # (mixes,): from 0 to 1


def draw_pairs(
    labels: LabelSet, count: int, *, between: Sequence[str] = (), rng: np.random.Generator
) -> Pairs:
    """Pairs of images of two different classes, every pair of classes as often, any coefficient.

    An image belongs to its label's most probable class. Coefficients are uniform from 0 to 1.
    ``between`` names the classes whose images are mixed; all that have images if it is empty.
    """
    places = {name: place for place, name in enumerate(labels.classes)}
    top = labels.probs.argmax(axis=1)
    wanted = [find(places, name, what="class") for name in between] or np.unique(top).tolist()
    rows = [np.flatnonzero(top == place) for place in wanted]
    if len(set(wanted)) < 2 or min(map(len, rows)) < 1:
        raise DataError("Images of at least 2 different classes are needed to mix them.")
    one = rng.integers(len(rows), size=count)
    other = (one + rng.integers(1, len(rows), size=count)) % len(rows)
    first, second = _drawn(rows, one, rng), _drawn(rows, other, rng)
    return Pairs(first, second, rng.uniform(size=count).astype(np.float32))


def mixed_latents(latents: NDArray[np.float32], pairs: Pairs) -> NDArray[np.float32]:
    """``coefficient`` × first + (1 - ``coefficient``) × second latent; 1 and 0 give the ends."""
    share = pairs.coefficient[:, None]
    return share * latents[pairs.first] + (1 - share) * latents[pairs.second]


def _drawn(
    rows: Sequence[NDArray[np.int64]], group: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """One of the rows of each group that is named, all equally probable."""
    sizes = np.array([len(one) for one in rows])
    starts = np.cumsum(sizes) - sizes
    return np.concatenate(rows)[starts[group] + rng.integers(sizes[group])]


# What a generation of ambiguous images is told besides the images.

REAL_SHARE = 0.9
"""Of held-out images, whose mutual information sets the limit where none is given. The limit
follows the networks: 0.1 nats is much between some and nothing between others."""


@dataclass(frozen=True)
class AmbiguousRecipe:
    """Everything about the generation except the images.

    Neither paper 5 nor Mukhoti et al. publish the limit of mutual information, the number of
    strata, the range of coefficients or the size of the VAE: these are ours.
    """

    count: int = 500
    strata: int = 5
    most_information: float | None = None
    """Nats of mutual information between the networks' beliefs that a kept image may have. By
    default what ``REAL_SHARE`` of the held-out images stay below: no stranger than real ones."""
    candidates: int = 20_000
    """Mixes to choose from."""
    between: tuple[str, ...] = ()
    """Classes whose images are mixed; all if none are named."""
    network: str | None = None
    """A name of ``NETWORKS``; by default LeNet, or one hidden layer for images under 12 pixels."""
    members: int = 5
    network_steps: int = 1000
    """Batches of 64 that each network learns from."""
    learn_from: int = 10_000
    """Images at most to learn from and to mix; of more, so many are drawn, evenly by class."""
    vae: VaeRecipe = field(default_factory=VaeRecipe)
    """Its seed is replaced by one drawn from ``seed``."""
    seed: int = 0

    def __post_init__(self) -> None:
        entropy_strata(self.strata)
        for name in ("count", "candidates", "network_steps", "learn_from"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.members < 2:
            raise DataError(
                f"There must be at least 2 networks, not {self.members}: one cannot disagree "
                "with itself."
            )
        if self.count % self.strata:
            raise DataError(
                f"{self.count} images cannot be divided equally among {self.strata} strata of "
                f"entropy; ask for a multiple of {self.strata}."
            )
        if self.most_information is not None and not self.most_information >= 0:
            raise DataError(
                f"The most mutual information is {self.most_information}; it is at least 0."
            )


# Turn images with labels into ambiguous images with label distributions, all synthetic.

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
    """One class per item, drawn from its label: what paper 5 calls the assigned label."""
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
