"""Turn one's own images into ambiguous ones, labelled by networks and marked as synthetic (S4-28).

Two models are trained: a latent space of the images, and a committee that says
what networks believe and where they disagree. ``generate`` picks images of every degree of doubt.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import entr
from torch import Tensor, nn

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples, as_tensor, best_device, probabilities, repeatable
from sfumato.learn.folds import Split, class_of, k_folds
from sfumato.learn.networks import NETWORKS, ImageShape
from sfumato.learn.recipe import Recipe
from sfumato.learn.targets import fixed_targets
from sfumato.learn.train import DivergenceError, train
from sfumato.names import find
from sfumato.provenance import Step

# Turn labelled images into what ambiguous images are made with: a latent space and a committee.


# Turn images into a latent space, and points of it back into images: a small VAE.
#
# A variational autoencoder (Kingma and Welling 2014) of fully connected layers. Images of any size,
# grey or in colour, are scaled to 0 to 1.

IMAGES_AT_ONCE = 2048
"""Images that are encoded or decoded together."""

WARM_UP = 0.3
"""Share of the steps during which the weight of the KL term rises to 1 (Bowman et al. 2016): at
full weight from the start, a VAE may learn to ignore its latents."""

AfterStep = Callable[[int, int], None]
"""Called with the steps done and in all."""


@dataclass(frozen=True)
class VaeRecipe:
    """Everything about a VAE except its images; the defaults were chosen by looking at digits."""

    latents: int = 8
    """Few, so that between two images there are images and not nothing."""
    hidden: int = 384
    """Units of each of the two hidden layers of both halves."""
    steps: int = 1500
    """Batches it learns from, whatever the number of images: this is what it costs."""
    batch_size: int = 128
    learning_rate: float = 2e-3
    """At the start; it falls to 0 along a cosine."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("latents", "hidden", "steps", "batch_size"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} of a VAE must be at least 1, not {getattr(self, name)}.")
        if not self.learning_rate > 0:
            raise DataError(f"The learning rate must be above 0, not {self.learning_rate}.")


class Vae(nn.Module):
    """An encoder to the mean and log variance of a Gaussian, and a decoder to pixels in 0 to 1."""

    def __init__(self, image_shape: ImageShape, *, latents: int, hidden: int) -> None:
        super().__init__()
        pixels = math.prod(image_shape)
        self.image_shape = image_shape
        self.latents = latents
        self.encoder = _layers(pixels, hidden, 2 * latents)
        self.decoder = _layers(latents, hidden, pixels)

    def posterior(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance of each image's latent, both (n, latents)."""
        mean, log_variance = self.encoder(images.flatten(1)).chunk(2, dim=1)
        return mean, log_variance

    def pixels(self, latents: Tensor) -> Tensor:
        """Images of shape (n, channels, height, width) from latents of shape (n, latents)."""
        height, width, channels = self.image_shape
        return self.decoder(latents).sigmoid().view(-1, channels, height, width)


@dataclass(frozen=True, eq=False)
class TrainedVae:
    """A VAE and what was seen while it learnt."""

    vae: Vae
    history: tuple[dict[str, float], ...]
    """One row for each tenth of the steps: ``step``, and the means since the last of ``kl``
    (nats) and ``squared_error`` (of a pixel, from 0 to 1)."""


def gaussian_kl(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(N(mean, variance) ‖ N(0, 1)) in nats, summed over latents: ½ Σ (m² + v - 1 - log v).

    >>> gaussian_kl(torch.tensor([[0.0, 2.0]]), torch.zeros(1, 2))
    tensor([2.])
    """
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=1)


def negative_log_likelihood(decoded: Tensor, images: Tensor) -> Tensor:
    """Mean over images of -log p(image | latent), up to a constant: D/2 · log(mean squared error).

    Gaussian pixels of one variance, which is set to its best value, the mean squared error
    (Rybkin, Daniilidis and Levine 2021): nothing has to be tuned to the size or contrast of images.
    """
    squared = (decoded - images).square().mean()
    # Images that are all alike are reproduced exactly; a grey level is 1/255.
    return 0.5 * images[0].numel() * squared.clamp_min(1e-6).log()


def train_vae(
    recipe: VaeRecipe, examples: Examples, *, after_step: AfterStep = lambda done, total: None
) -> TrainedVae:
    """Fit a VAE to images by the negative evidence lower bound; the same seed, the same weights."""
    if len(examples) < 2:
        raise DataError("A VAE learns from several images; there is only 1.")
    device = best_device()
    with repeatable(device, recipe.seed):
        vae = Vae(examples.image_shape, latents=recipe.latents, hidden=recipe.hidden).to(device)
        images = as_tensor(examples).contiguous().to(device)
        return TrainedVae(vae, _learnt(recipe, vae, images, after_step))


def _learnt(
    recipe: VaeRecipe, vae: Vae, images: Tensor, after_step: AfterStep
) -> tuple[dict[str, float], ...]:
    generator = torch.Generator().manual_seed(recipe.seed)  # on the CPU, whatever the device
    optimizer = torch.optim.Adam(vae.parameters(), lr=recipe.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, recipe.steps)
    history: list[dict[str, float]] = []
    since: list[tuple[float, float]] = []
    order = torch.empty(0, dtype=torch.long)
    size = min(recipe.batch_size, len(images))
    warm = WARM_UP * recipe.steps
    for step in range(1, recipe.steps + 1):
        if len(order) < size:
            order = torch.cat([order, torch.randperm(len(images), generator=generator)])
        batch, order = images[order[:size].to(images.device)], order[size:]
        mean, log_variance = vae.posterior(batch)
        noise = torch.randn(mean.shape, generator=generator).to(mean.device)
        decoded = vae.pixels(mean + noise * (log_variance / 2).exp())
        kl = gaussian_kl(mean, log_variance).mean()
        loss = negative_log_likelihood(decoded, batch) + min(1, step / warm) * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if not math.isfinite(loss.item()):
            raise DivergenceError(
                f"The loss of the VAE is {loss.item()} in step {step}: it diverged."
            )
        since.append((kl.item(), (decoded - batch).square().mean().item()))
        if step * 10 // recipe.steps > (step - 1) * 10 // recipe.steps:
            kls, errors = np.mean(since, axis=0).tolist()
            history.append({"step": step, "kl": kls, "squared_error": errors})
            since = []
        after_step(step, recipe.steps)
    return tuple(history)


def encode(vae: Vae, examples: Examples) -> NDArray[np.float32]:
    """The mean latent of each image, shape (items, latents)."""
    device = next(vae.parameters()).device
    with torch.inference_mode():
        batches = as_tensor(examples).contiguous().split(IMAGES_AT_ONCE)
        return torch.cat([vae.posterior(batch.to(device))[0] for batch in batches]).cpu().numpy()


def decode(vae: Vae, latents: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The images at these latents, rounded to grey levels: (n, height, width, channels)."""
    device = next(vae.parameters()).device
    with torch.inference_mode():
        parts = [
            (vae.pixels(part.to(device)) * 255).round().to(torch.uint8).cpu()
            for part in torch.from_numpy(np.ascontiguousarray(latents)).split(IMAGES_AT_ONCE)
        ]
    return np.ascontiguousarray(torch.cat(parts).permute(0, 2, 3, 1).numpy())


def _layers(size: int, hidden: int, result: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(size, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, result),
    )


# Turn labelled images into several networks, and their beliefs into doubt and disagreement.

PerItem = NDArray[np.float64]  # (items,)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What several networks believe together about each image."""

    probs: NDArray[np.float64]  # (items, classes): the mean of the members
    entropy: PerItem
    """Of the mean, in nats: how ambiguous the image is to the networks."""
    information: PerItem
    """Mutual information in nats: how far the members disagree."""


@dataclass(frozen=True, eq=False)
class Committee:
    """Networks of one kind that learnt from the same labels, from different initial weights."""

    members: tuple[nn.Module, ...]
    classes: tuple[str, ...]
    accuracy: float
    """Of their mean belief on the images that were held out."""
    held_out: Beliefs
    """On the same images."""


def mutual_information(probs: NDArray[np.floating]) -> PerItem:
    """H(mean p) - mean H(p) in nats, from the members' beliefs (members, items, classes).

    Zero where all members believe the same, however unsure; large where each is sure of something
    else, which is the mark of images unlike those they learnt from.

    >>> split = [[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]]
    >>> mutual_information(np.array(split)).round(4)
    array([0.6931, 0.    ])
    """
    probs = np.asarray(probs, dtype=np.float64)
    if probs.ndim != 3 or not len(probs):
        raise DataError(
            f"The beliefs have shape {probs.shape}; expected (members, items, classes)."
        )
    found = entr(probs.mean(axis=0)).sum(axis=1) - entr(probs).sum(axis=2).mean(axis=0)
    return np.maximum(found, 0)  # rounding can leave -1e-17


def beliefs_of(members: Sequence[nn.Module], examples: Examples) -> Beliefs:
    """What any trained networks, two or more, believe together about images."""
    if len(members) < 2:
        raise DataError(
            "Mutual information needs at least 2 networks: one alone cannot disagree with itself."
        )
    probs = np.stack([probabilities(one, examples) for one in members]).astype(np.float64)
    probs /= probs.sum(axis=2, keepdims=True)  # undo the rounding of float32
    mean = probs.mean(axis=0)
    return Beliefs(mean, entr(mean).sum(axis=1), mutual_information(probs))


def default_network(image_shape: ImageShape) -> str:
    """LeNet where images are large enough for it, otherwise one hidden layer."""
    large = min(image_shape[:2]) >= NETWORKS["lenet"].smallest_side
    return "lenet" if large else "simple-ffn"


def train_committee(
    examples: Examples,
    labels: LabelSet,
    split: Split,
    *,
    network: str,
    steps: int,
    seeds: Sequence[int],
    after_member: Callable[[int, int], None] = lambda done, total: None,
) -> Committee:
    """Train a network a seed on the split's training part, for about ``steps`` batches each."""
    if len(seeds) < 2:
        raise DataError(f"A committee needs at least 2 members, not {len(seeds)}.")
    learnt = examples.take(split.train)
    targets = fixed_targets(labels.take(split.train), split.train)
    batch_size = 64
    epochs = max(1, round(steps / -(-len(learnt) // batch_size)))
    members = []
    for seed in seeds:
        recipe = Recipe(network, epochs=epochs, batch_size=batch_size, seed=seed)
        members.append(train(recipe, learnt, targets).network)
        after_member(len(members), len(seeds))
    held_out = beliefs_of(members, examples.take(split.test))
    truth = labels.take(split.test).probs.argmax(axis=1)
    accuracy = float((held_out.probs.argmax(axis=1) == truth).mean())
    return Committee(tuple(members), labels.classes, accuracy, held_out)


# Turn images with labels into ambiguous images with label distributions, all synthetic.
#
# The method of Ambiguous-MNIST (Mukhoti et al. 2023) as paper 5 tells it (S4-28): decode a linear
# mix of the latents of two images of different classes, label it by the mean of several networks,
# leave out what they disagree on (mutual information), take as many of each range of entropy.


# Turn entropy and disagreement of many candidates into as many of each degree of doubt.


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
