"""Mix a batch: the input policy f of images and the target policy g of labels (S2-57)."""

from typing import assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfumato.labels.mixing import Curves
from sfumato.learn.mixing.mixing import Mixing

__all__ = ["draw_coefficients", "mix_images", "mix_targets"]


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
    share = _like(coefficient, first)[:, None, None, None]
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


def _like(values: NDArray[np.float64], tensor: Tensor) -> Tensor:
    return torch.from_numpy(values).to(tensor)  # its type and its device
