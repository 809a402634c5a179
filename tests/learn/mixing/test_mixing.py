"""The setting, the batch and the losses of mixing."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.mixing import Curves, mixed_by_curves, mixed_rows
from sfumato.learn.mixing import (
    clamped_weights,
    draw_coefficients,
    entropy,
    entropy_weighted_loss,
    max_entropy_loss,
    mix_images,
    mix_targets,
    mixed_loss,
)
from sfumato.learn.recipe import Mixing

logits_of = st.integers(0, 999).map(
    lambda seed: 10 ** (seed % 3) * torch.randn(6, 5, generator=torch.Generator().manual_seed(seed))
)
kappas = st.floats(0, 1)


def curves(classes: int = 4) -> Curves:
    rng = np.random.default_rng(0)
    middle, steep = np.full((2, classes, classes), 0.5)
    for row, column in itertools.combinations(range(classes), 2):
        middle[row, column] = rng.uniform(0.2, 0.8)
        middle[column, row] = 1 - middle[row, column]
        steep[row, column] = steep[column, row] = rng.uniform(0, 20)
    return Curves(tuple("abcdefgh"[:classes]), middle, steep)


def rows_of(seed: int, count: int = 6, classes: int = 4) -> torch.Tensor:
    rows = np.random.default_rng(seed).dirichlet(np.full(classes, 0.3), size=count)
    return torch.from_numpy(rows).float()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0}, "above 0, not 0"),
        ({"alpha": math.inf}, "not inf"),
        ({"kappa": 1.5}, r"κ must be from 0 to 1, not 1\.5"),
        ({"kappa": math.nan}, "not nan"),
        ({"entropy_weight": -1}, "not -1"),
        ({"loss": "cross"}, "'cross'; it must be one of 'cross-entropy', 'clamped-entropy'"),
        ({"per": "epoch"}, "'batch', 'item'"),
        ({"weight": "none"}, "'differentiated', 'constant'"),
        ({"target": "linear"}, "'classic' or curves"),
        ({"target": curves(), "loss": "max-entropy"}, "takes no curves"),
        (
            {"target": Curves(("a", "b"), np.full((2, 2), np.nan), np.full((2, 2), np.nan))},
            r"'a', 'b' has no curve \(1 without one\)",
        ),
    ],
)
def test_impossible_setting_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Mixing(**{"alpha": 1.0, **change})


def test_one_coefficient_is_drawn_for_a_batch_or_one_for_each_image() -> None:
    rng = np.random.default_rng(0)

    batch = draw_coefficients(Mixing(0.5), 100, rng=rng)
    each = draw_coefficients(Mixing(0.5, per="item"), 100, rng=rng)

    assert len(np.unique(batch)) == 1
    assert len(np.unique(each)) == 100


@pytest.mark.parametrize("per", ["batch", "item"])
@pytest.mark.parametrize("alpha", [0.2, 1.0, 10.0])
def test_coefficients_have_the_moments_of_the_beta(per: Any, alpha: float) -> None:
    mixing, rng = Mixing(alpha, per=per), np.random.default_rng(1)

    drawn = np.array([draw_coefficients(mixing, 1, rng=rng)[0] for _ in range(4000)])

    assert drawn.mean() == pytest.approx(0.5, abs=0.03)
    assert drawn.var() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.1)


@given(seed=st.integers(0, 99))
def test_images_mix_as_their_coefficients_say_and_end_at_the_endpoints(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    first, second = torch.rand((2, 3, 2, 4, 4), generator=generator)

    mixed = mix_images(first, second, np.array([1.0, 0.0, 0.25]))

    assert torch.equal(mixed[0], first[0])
    assert torch.equal(mixed[1], second[1])
    assert torch.allclose(mixed[2], 0.25 * first[2] + 0.75 * second[2])


@given(seed=st.integers(0, 99), coefficient=st.floats(0, 1))
def test_targets_mix_as_labels_do(seed: int, coefficient: float) -> None:
    first, second, shares = rows_of(seed), rows_of(seed + 1000), np.full(6, coefficient)

    classic = mix_targets(first, second, shares)
    bent = mix_targets(first, second, shares, curves())

    pair = first.double().numpy(), second.double().numpy()
    assert np.allclose(classic.numpy(), mixed_rows(*pair, shares), atol=1e-6)
    assert np.allclose(bent.numpy(), mixed_by_curves(*pair, shares, curves()), atol=1e-6)
    for rows in (classic, bent):
        assert rows.dtype == torch.float32
        assert torch.allclose(rows.sum(dim=1), torch.ones(6), atol=1e-5)


def test_entropy_is_that_of_the_softmax() -> None:
    logits = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))

    expected = torch.distributions.Categorical(logits=logits).entropy()

    assert torch.allclose(entropy(logits), expected, atol=1e-6)
    assert entropy(torch.tensor([[1e4, 0.0]])).item() == 0


@given(logits=logits_of, kappa=kappas)
def test_weights_lie_between_kappa_and_one(logits: torch.Tensor, kappa: float) -> None:
    weights = clamped_weights(logits, kappa).double()

    assert (weights >= kappa - 1e-7).all()  # float32's rounding of κ
    assert (weights <= 1).all()


@given(logits=logits_of, kappa=kappas)
def test_weights_are_log_two_over_entropy_in_between(logits: torch.Tensor, kappa: float) -> None:
    probs = logits.double().softmax(dim=1).numpy()
    doubt = -(probs * np.log(np.maximum(probs, 1e-300))).sum(axis=1)

    expected = (math.log(2) / np.maximum(doubt, 1e-300)).clip(kappa, 1)

    assert np.allclose(clamped_weights(logits, kappa).numpy(), expected, atol=1e-4)


@pytest.mark.parametrize("weight", ["differentiated", "constant"])
@given(logits=logits_of, seed=st.integers(0, 99))
def test_kappa_of_one_is_plain_cross_entropy(weight: Any, logits: torch.Tensor, seed: int) -> None:
    targets = rows_of(seed, classes=5)
    one, two = (logits.clone().requires_grad_() for _ in range(2))

    weighted, plain = (
        entropy_weighted_loss(one, targets, 1.0, weight),
        F.cross_entropy(two, targets),
    )
    weighted.backward()
    plain.backward()

    assert torch.allclose(weighted, plain, rtol=1e-5)
    assert one.grad is not None and two.grad is not None
    assert torch.allclose(one.grad, two.grad, atol=1e-6)


@given(logits=logits_of, kappa=kappas, seed=st.integers(0, 99))
def test_gradients_are_numbers_even_where_the_network_is_certain(
    logits: torch.Tensor, kappa: float, seed: int
) -> None:
    certain = torch.cat([logits, torch.tensor([[1e4, 0, 0, 0, 0], [0, 0, 0, 0, 0]])])
    certain.requires_grad_()

    entropy_weighted_loss(certain, rows_of(seed, 8, 5), kappa).backward()

    assert certain.grad is not None
    assert torch.isfinite(certain.grad).all()


def test_constant_weights_scale_the_gradient_and_differentiated_ones_ask_for_doubt() -> None:
    logits = torch.tensor([[1.0, 0.5, 0, 0]])
    target = logits.softmax(dim=1)  # cross-entropy is at its least: its gradient is zero
    constant, through = (logits.clone().requires_grad_() for _ in range(2))

    entropy_weighted_loss(constant, target, 0.0, "constant").backward()
    entropy_weighted_loss(through, target, 0.0, "differentiated").backward()

    assert constant.grad is not None and through.grad is not None
    assert constant.grad.abs().max() < 1e-6
    softer = logits - through.grad
    assert entropy(softer) > entropy(logits)


def test_uniform_belief_costs_log_two_whatever_the_label() -> None:
    found = entropy_weighted_loss(torch.zeros(6, 4), rows_of(0), 0.0)

    assert found.item() == pytest.approx(math.log(2), abs=1e-6)


def test_max_entropy_is_cross_entropy_less_the_entropy_of_mixes() -> None:
    real, mixed = torch.randn((2, 6, 4), generator=torch.Generator().manual_seed(0))
    targets = rows_of(0)

    found = max_entropy_loss(real, targets, mixed, entropy_weight=0.3)

    expected = F.cross_entropy(real, targets) - 0.3 * entropy(mixed).mean()
    assert torch.allclose(found, expected)
    assert torch.equal(max_entropy_loss(real, targets, mixed[:0]), F.cross_entropy(real, targets))


def test_mixes_of_one_class_are_not_made_uncertain() -> None:
    seen: list[torch.Tensor] = []

    def network(images: torch.Tensor) -> torch.Tensor:
        seen.append(images)
        return images.flatten(1)[:, :2]

    images = torch.rand((5, 1, 2, 2), generator=torch.Generator().manual_seed(0))
    same = torch.eye(2)[[0, 0, 0, 0, 0]]
    mixing = Mixing(10.0, loss="max-entropy")

    found = mixed_loss(network, images, same, mixing, rng=np.random.default_rng(0))

    assert torch.equal(found, F.cross_entropy(images.flatten(1)[:, :2], same))
    assert len(seen) == 1
    assert torch.equal(seen[0][:5], images)  # the real images and their mixes in one pass


def test_batch_is_mixed_with_itself_in_another_order() -> None:
    kept: list[torch.Tensor] = []

    def network(images: torch.Tensor) -> torch.Tensor:
        kept.append(images)
        return torch.zeros(len(images), 4)

    images, targets = torch.arange(6.0)[:, None, None, None], rows_of(0)

    mixed_loss(network, images, targets, Mixing(1.0), rng=np.random.default_rng(3))

    rng = np.random.default_rng(3)
    order, share = rng.permutation(6), rng.beta(1, 1)
    expected = share * np.arange(6) + (1 - share) * order
    assert np.allclose(kept[0].flatten().numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("policy", ["classic", curves()])
def test_loss_of_a_batch_is_the_cross_entropy_of_mixed_images_and_mixed_targets(
    policy: Any,
) -> None:
    images = torch.rand((6, 1, 2, 2), generator=torch.Generator().manual_seed(0))
    targets = rows_of(1)

    found = mixed_loss(
        lambda batch: batch.flatten(1),
        images,
        targets,
        Mixing(0.7, target=policy, per="item"),
        rng=np.random.default_rng(5),
    )

    rng = np.random.default_rng(5)
    order, share = rng.permutation(6), rng.beta(0.7, 0.7, size=6)
    pair = targets.double().numpy(), targets.double().numpy()[order]
    rows = (
        mixed_rows(*pair, share)
        if isinstance(policy, str)
        else mixed_by_curves(*pair, share, policy)
    )
    mixed = (
        share[:, None] * images.flatten(1).numpy()
        + (1 - share)[:, None] * (images.flatten(1).numpy()[order])
    )
    logs = mixed - np.log(np.exp(mixed).sum(axis=1, keepdims=True))
    assert found.item() == pytest.approx(-(rows * logs).sum(axis=1).mean(), abs=1e-5)
