"""What a network is asked to do with mixes: believe their label, or doubt."""

import math
from collections.abc import Callable
from typing import assert_never

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sfumato.labels.mixing import Curves
from sfumato.learn.mixing.batch import draw_coefficients, mix_images, mix_targets
from sfumato.learn.mixing.mixing import Mixing, Weight

__all__ = [
    "clamped_weights",
    "entropy",
    "entropy_weighted_loss",
    "max_entropy_loss",
    "mixed_loss",
]


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
