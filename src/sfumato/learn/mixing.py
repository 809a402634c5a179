"""Learn from mixes: every batch mixed or augmented anew, or mixed images among the rest.

``Mixing`` says how batches are mixed and is handed to ``train``; ``Augmenting`` holds mixed
images that people judged and is handed to ``fit``. Labels of mixes come from
``sfumato.labels.mixing``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet, align
from sfumato.labels.mixing import Curves
from sfumato.learn.examples import Examples
from sfumato.learn.recipe import Augmentation, Mixing, Per, Weight
from sfumato.learn.targets import Targets, fixed_targets, one_annotator
from sfumato.provenance import Provenance, Step, is_simulated, to_json

# Mix a batch: the input policy f of images and the target policy g of labels (S2-57).


def draw_coefficients(
    mixing: Mixing, count: int, *, rng: np.random.Generator
) -> NDArray[np.float64]:
    """λ_f ~ Beta(α, α) for each of ``count`` images: the same for all, or one each (S2-55)."""
    match mixing.per:
        case "batch":
            return np.full(count, rng.beta(mixing.alpha, mixing.alpha))
        case "item":
            return rng.beta(mixing.alpha, mixing.alpha, size=count)
        case _:
            assert_never(mixing.per)


def mix_images(first: Tensor, second: Tensor, coefficient: NDArray[np.float64]) -> Tensor:
    """f(x_i, x_j, λ_f) = λ_f x_i + (1 − λ_f) x_j.

    Of normalised images it is the normalised mix, because shares add up to one.

    >>> light, dark = torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1)
    >>> mix_images(light, dark, np.array([0.25])).item()
    0.25
    """
    share = _like(coefficient, first).reshape(-1, *[1] * (first.ndim - 1))
    return share * first + (1 - share) * second


def mix_targets(
    first: Tensor,
    second: Tensor,
    coefficient: NDArray[np.float64],
    policy: Curves | None = None,
) -> Tensor:
    """g(y_i, y_j, λ_g) with λ_g = λ_f, or τ_ij(λ_f) with curves, in the order of their classes.

    As ``labels.mixing.mixed_rows`` and ``mixed_by_curves``, for tensors.

    >>> cat, dog = torch.eye(2)[:1], torch.eye(2)[1:]
    >>> mix_targets(cat, dog, np.array([0.25]))
    tensor([[0.2500, 0.7500]])
    """
    if policy is None:
        share = _like(coefficient, first)[:, None]
        return share * first + (1 - share) * second
    table = _like(policy.at(coefficient), first)  # (images, classes, classes)
    of_first = torch.einsum("nj,nij->ni", second, table)
    of_second = torch.einsum("ni,nij->nj", first, 1 - table)
    return first * of_first + second * of_second


def mixup(
    inputs: Tensor,
    targets: Tensor,
    alpha: float,
    *,
    per: Per = "batch",
    rng: np.random.Generator,
) -> tuple[Tensor, Tensor]:
    """A batch mixed with itself in another order, inputs and distributions alike (S0-30).

    Inputs may have any shape after the batch: images, vectors, embeddings.

    >>> inputs, targets = mixup(torch.eye(2), torch.eye(2), 1.0, rng=np.random.default_rng(1))
    >>> bool(torch.equal(inputs, targets)), targets.sum(dim=1)
    (True, tensor([1., 1.]))
    """
    partner = torch.from_numpy(rng.permutation(len(inputs))).to(inputs.device)
    coefficient = draw_coefficients(Mixing(alpha, per=per), len(inputs), rng=rng)
    return (
        mix_images(inputs, inputs[partner], coefficient),
        mix_targets(targets, targets[partner], coefficient),
    )


def cutmix(
    images: Tensor, targets: Tensor, alpha: float, *, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """One box of each image is another's; distributions are mixed by area (Yun et al., 2019).

    The box has the share 1 − λ of the image, λ ~ Beta(α, α), around a random point, and is cut
    off at the border; targets are mixed by what is left of it. One box serves the whole batch.
    """
    if images.ndim != 4:
        raise DataError(
            f"CutMix needs images of shape (images, channels, height, width), not "
            f"{tuple(images.shape)}; vectors can be mixed by mixup."
        )
    partner = torch.from_numpy(rng.permutation(len(images))).to(images.device)
    height, width = images.shape[2:]
    side = math.sqrt(1 - draw_coefficients(Mixing(alpha), 1, rng=rng)[0])
    top, bottom = _stretch(height, side, rng)
    left, right = _stretch(width, side, rng)
    mixed = images.clone()
    mixed[:, :, top:bottom, left:right] = images[partner, :, top:bottom, left:right]
    kept = 1 - (bottom - top) * (right - left) / (height * width)
    return mixed, mix_targets(targets, targets[partner], np.full(len(images), kept))


def _stretch(length: int, share: float, rng: np.random.Generator) -> tuple[int, int]:
    """Where a stretch of a side begins and ends: the given share around a random pixel."""
    centre, half = int(rng.integers(length)), int(length * share) // 2
    return max(centre - half, 0), min(centre + half, length)


def _like(values: NDArray[np.float64], tensor: Tensor) -> Tensor:
    return torch.from_numpy(values).to(tensor)  # its type and its device


# What a network is asked to do with mixes: believe their label, or doubt.


def mixed_loss(
    network: Callable[[Tensor], Tensor],
    images: Tensor,
    targets: Tensor,
    mixing: Mixing,
    *,
    rng: np.random.Generator,
) -> Tensor:
    """The loss of one batch that is mixed with itself in another order.

    ``network`` gives logits. Everything that is drawn comes from ``rng``: first the order of
    the partners, then the coefficients.
    """
    partner = torch.from_numpy(rng.permutation(len(images))).to(images.device)
    coefficient = draw_coefficients(mixing, len(images), rng=rng)
    others, other_targets = images.index_select(0, partner), targets.index_select(0, partner)
    mixes = mix_images(images, others, coefficient)
    if mixing.loss == "max-entropy":
        # In one pass, so that both are normalised by the same statistics of the batch.
        real, mixed = network(torch.cat([images, mixes])).chunk(2)
        different = targets.argmax(dim=1) != other_targets.argmax(dim=1)
        return max_entropy_loss(real, targets, mixed[different], mixing.entropy_weight)
    curves = mixing.target if isinstance(mixing.target, Curves) else None
    mixed_targets = mix_targets(targets, other_targets, coefficient, curves)
    logits = network(mixes)
    match mixing.loss:
        case "cross-entropy":
            return F.cross_entropy(logits, mixed_targets)
        case "clamped-entropy":
            return entropy_weighted_loss(logits, mixed_targets, mixing.kappa, mixing.weight)
        case _:
            assert_never(mixing.loss)


def entropy(logits: Tensor) -> Tensor:
    """H_θ(x) = −Σ_c q(c|x) log q(c|x) of each row, in nats.

    >>> entropy(torch.zeros(1, 2))
    tensor([0.6931])
    """
    logs = logits.float().log_softmax(dim=1)
    return -(logs.exp() * logs).sum(dim=1)


def clamped_weights(logits: Tensor, kappa: float) -> Tensor:
    """log 2 / H_θ(x̃) of each row, at most 1 and at least κ (S2-63).

    An image that the network finds no more uncertain than a coin weighs 1; so with two classes
    all do.

    >>> clamped_weights(torch.tensor([[9.0, 0, 0, 0], [0, 0, 0, 0]]), kappa=0.2)
    tensor([1.0000, 0.5000])
    """
    # The entropy is clamped first: a slope of 1/H² at H = 0 would spoil the gradient.
    return (math.log(2) / entropy(logits).clamp_min(math.log(2))).clamp(kappa, 1)


def entropy_weighted_loss(
    logits: Tensor, targets: Tensor, kappa: float, weight: Weight = "differentiated"
) -> Tensor:
    """Ent-WC: the mean of w_n · CE_n, w as in ``clamped_weights`` (S2-63).

    The thesis does not say whether the gradient goes through w. That κ = 0 "leads the model to
    predict uniform labels" can only be if it does: a constant w has the minima of plain
    cross-entropy, while with a differentiated one a uniform belief costs log 2 whatever the
    label is, as much as an even mix that is believed exactly. So it is the default.
    """
    weights = clamped_weights(logits, kappa)
    match weight:
        case "differentiated":
            pass
        case "constant":
            weights = weights.detach()
        case _:
            assert_never(weight)
    return (weights * F.cross_entropy(logits, targets, reduction="none")).mean()


def max_entropy_loss(
    real: Tensor, targets: Tensor, mixed: Tensor, entropy_weight: float = 1.0
) -> Tensor:
    """Mix-MaxEnt: cross-entropy of real images − β · mean entropy of mixes (S2-62).

    The mixes are of two classes, as Pinto et al. (2021) make them: those of one class are left
    out, and a batch without others has no second term. The thesis does not state β; it is 1
    unless said otherwise.
    """
    loss = F.cross_entropy(real, targets)
    if not len(mixed):
        return loss
    return loss - entropy_weight * entropy(mixed).mean()


# A set of mixed images, labelled by people or by rule, that joins the training part (S2-54).


@dataclass(frozen=True, eq=False)
class Augmenting:
    """Mixed images and their labels.

    A ``LabelSet`` is shown as it is in every epoch (averaged over people, or a baseline);
    of ``CrowdLabels`` one person's label is drawn afresh at each presentation (S2-59).
    """

    examples: Examples
    labels: LabelSet | CrowdLabels

    def __post_init__(self) -> None:
        _targets(self)  # joins images and labels by item, or names the one that is missing

    def __len__(self) -> int:
        return len(self.examples)


def with_augmenting(
    examples: Examples, targets: Targets, augmenting: Augmenting
) -> tuple[Examples, Targets]:
    """The training part followed by the augmenting set: 7,000 images and 810 mixes (S2-54).

    Each part keeps its own targets: what was fixed stays, what is drawn is drawn afresh in every
    epoch, of the training part first.
    """
    twice = set(examples.items) & set(augmenting.examples.items)
    if twice:
        raise DataError(
            f"The item {min(twice)!r} is in the training part and in the augmenting set; give "
            "mixes names of their own."
        )
    one, two = examples.images, augmenting.examples.images
    if one.shape[1:] != two.shape[1:] or one.dtype != two.dtype:
        raise DataError(
            f"Images are {one.dtype} of shape {one.shape[1:]} and mixes {two.dtype} of shape "
            f"{two.shape[1:]}; make both alike."
        )
    items = (*examples.items, *augmenting.examples.items)
    # One kind of the two by now, which the type does not know.
    images = np.concatenate([one, two])
    return type(examples)(items, images), _Joined(targets, _over(targets.classes, augmenting))


@dataclass(frozen=True, eq=False)
class _Joined:
    """Two sets of targets, one after the other."""

    first: Targets
    second: Targets

    @property
    def items(self) -> tuple[str, ...]:
        return (*self.first.items, *self.second.items)

    @property
    def classes(self) -> tuple[str, ...]:
        return self.first.classes

    @property
    def provenance(self) -> Provenance:
        step = Step(
            "add augmenting set",
            {"items": len(self.second.items), "labels": to_json(self.second.provenance)},
            simulated=is_simulated(self.second.provenance),
        )
        return (*self.first.provenance, step)

    def draw(self, generator: torch.Generator) -> torch.Tensor:
        return torch.cat([self.first.draw(generator), self.second.draw(generator)])


def _targets(augmenting: Augmenting) -> Targets:
    labels, items = augmenting.labels, augmenting.examples.items
    if isinstance(labels, CrowdLabels):
        return one_annotator(labels, items)
    return fixed_targets(labels, items)


def _over(classes: tuple[str, ...], augmenting: Augmenting) -> Targets:
    """The augmenting set's targets with its classes in the given order."""
    labels = augmenting.labels
    if labels.classes == classes:
        return _targets(augmenting)
    if set(labels.classes) != set(classes):
        odd = sorted(set(labels.classes) ^ set(classes))
        raise DataError(
            f"The training part and the augmenting set have different classes: {odd[0]!r} is in "
            "one and not in the other."
        )
    columns = [labels.classes.index(name) for name in classes]
    if isinstance(labels, LabelSet):
        flat = np.full((len(labels), len(classes)), 1 / len(classes))
        labels = align(LabelSet(labels.items, classes, flat), labels)[1]
    else:
        labels = CrowdLabels(
            labels.items,
            labels.annotators,
            classes,
            labels.item,
            labels.annotator,
            labels.probs[:, columns],
            labels.provenance,
        )
    return _targets(Augmenting(augmenting.examples, labels))


# Change a batch of images at random: shifted crops, mirror images, cut-out squares.
#
# Images are float tensors from 0 to 1, shape (images, channels, height, width). Every call
# draws anew from the generator, so each presentation of an image differs.


CROP_PADDING = 4
"""Black pixels added on each side before a crop of the old size is taken, as published."""

CUTOUT_SIDE = 16
"""Side of the black square, as in shake_shake_26_2x64d_SSI_cutout16."""


def augment(
    images: Tensor, kinds: tuple[Augmentation, ...], *, generator: torch.Generator
) -> Tensor:
    """The images after each kind of change, in the given order."""
    for kind in kinds:
        match kind:
            case "crop":
                images = _crop(images, generator)
            case "flip":
                images = _flip(images, generator)
            case "cutout":
                images = _cutout(images, generator)
            case _:
                assert_never(kind)
    return images


def _crop(images: Tensor, generator: torch.Generator) -> Tensor:
    count, channels, height, width = images.shape
    padded = F.pad(images, [CROP_PADDING] * 4)
    shift = torch.randint(2 * CROP_PADDING + 1, (2, count), generator=generator)
    rows = shift[0][:, None] + torch.arange(height)  # (images, height)
    columns = shift[1][:, None] + torch.arange(width)  # (images, width)
    image = torch.arange(count)[:, None, None, None]
    channel = torch.arange(channels)[None, :, None, None]
    return padded[image, channel, rows[:, None, :, None], columns[:, None, None, :]]


def _flip(images: Tensor, generator: torch.Generator) -> Tensor:
    mirrored = torch.rand(len(images), generator=generator) < 0.5
    return torch.where(mirrored[:, None, None, None], images.flip(3), images)


def _cutout(images: Tensor, generator: torch.Generator) -> Tensor:
    """A black square around a random pixel; at the border it is cut off, as published."""
    count, _, height, width = images.shape
    row = torch.randint(height, (count, 1), generator=generator)
    column = torch.randint(width, (count, 1), generator=generator)
    half = CUTOUT_SIDE // 2
    in_rows = _within(torch.arange(height), row, half)  # (images, height)
    in_columns = _within(torch.arange(width), column, half)  # (images, width)
    black = in_rows[:, None, :, None] & in_columns[:, None, None, :]
    return images.masked_fill(black, 0.0)


def _within(places: Tensor, centre: Tensor, half: int) -> Tensor:
    return (places >= centre - half) & (places < centre + half)
