"""Turn labelled images into what ambiguous images are made with: a latent space and a committee."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import entr
from torch import Tensor, nn

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples, as_tensor, best_device, probabilities, repeatable
from sfumato.learn.folds import Split
from sfumato.learn.networks import NETWORKS, ImageShape
from sfumato.learn.recipe import Recipe
from sfumato.learn.targets import fixed_targets
from sfumato.learn.train import DivergenceError, train

# Turn images into a latent space, and points of it back into images: a small VAE.
#
# A variational autoencoder (Kingma and Welling 2014) of fully connected layers. Images of any size,
# grey or in colour, are scaled to 0 to 1.

AT_ONCE = 2048
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
        batches = as_tensor(examples).contiguous().split(AT_ONCE)
        return torch.cat([vae.posterior(batch.to(device))[0] for batch in batches]).cpu().numpy()


def decode(vae: Vae, latents: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The images at these latents, rounded to grey levels: (n, height, width, channels)."""
    device = next(vae.parameters()).device
    with torch.inference_mode():
        parts = [
            (vae.pixels(part.to(device)) * 255).round().to(torch.uint8).cpu()
            for part in torch.from_numpy(np.ascontiguousarray(latents)).split(AT_ONCE)
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
