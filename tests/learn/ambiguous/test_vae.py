"""A small VAE: its lower bound, what it learns, and that a seed decides it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.distributions import Independent, Normal, kl_divergence

from sfumato.data import load
from sfumato.errors import DataError
from sfumato.learn.ambiguous.generate import Pairs, mixed_latents
from sfumato.learn.ambiguous.models import (
    TrainedVae,
    VaeRecipe,
    decode,
    encode,
    gaussian_kl,
    negative_log_likelihood,
    train_vae,
)
from sfumato.learn.examples import Examples

QUICK = VaeRecipe(steps=300, hidden=128, batch_size=64, learning_rate=4e-3, seed=3)


@pytest.fixture(scope="module")
def examples() -> Examples:
    pictures = load("digits")
    return Examples(pictures.items[:400], pictures.images[:400])


@pytest.fixture(scope="module")
def trained(examples: Examples) -> TrainedVae:
    return train_vae(QUICK, examples)


def test_kl_term_is_that_of_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(50, 7, generator=generator, dtype=torch.float64)
    log_variance = torch.randn(50, 7, generator=generator, dtype=torch.float64)
    posterior = Independent(Normal(mean, (log_variance / 2).exp()), 1)
    prior = Independent(Normal(torch.zeros_like(mean), torch.ones_like(mean)), 1)

    torch.testing.assert_close(gaussian_kl(mean, log_variance), kl_divergence(posterior, prior))


def test_likelihood_is_gaussian_at_the_best_variance_up_to_a_constant() -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(6, 3, 4, 5, generator=generator, dtype=torch.float64)
    pixels = images[0].numel()

    def apart(scale: float) -> float:
        decoded = images + scale * torch.rand(images.shape, generator=generator).double()
        best = (decoded - images).square().mean().sqrt()
        exact = -Normal(decoded, best).log_prob(images).flatten(1).sum(dim=1).mean()
        return float(exact - negative_log_likelihood(decoded, images))

    assert apart(0.1) == pytest.approx(pixels / 2 * (1 + np.log(2 * np.pi)))
    assert apart(0.5) == pytest.approx(apart(0.1))


def test_reconstruction_improves_with_training(examples: Examples, trained: TrainedVae) -> None:
    def error(vae_of: TrainedVae) -> float:
        again = decode(vae_of.vae, encode(vae_of.vae, examples))
        return float(np.square(again / 255 - examples.images / 255).mean())

    barely = train_vae(replace(QUICK, steps=2), examples)
    spread = float(np.square(examples.images / 255 - (examples.images / 255).mean(axis=0)).mean())

    assert error(trained) < 0.75 * spread < error(barely)
    assert [row["step"] for row in trained.history] == list(range(30, 301, 30))
    assert trained.history[-1]["squared_error"] < trained.history[0]["squared_error"]


def test_mixes_at_0_and_1_are_the_reconstructions_of_the_ends(
    examples: Examples, trained: TrainedVae
) -> None:
    latents = encode(trained.vae, examples)
    first, second = np.array([3, 9, 11]), np.array([5, 2, 40])

    for share, ends in ((1, first), (0, second)):
        pairs = Pairs(first, second, np.full(3, share, dtype=np.float32))
        mixed = decode(trained.vae, mixed_latents(latents, pairs))
        np.testing.assert_array_equal(mixed, decode(trained.vae, latents[ends]))


def test_coefficient_is_the_share_of_the_first() -> None:
    latents = np.array([[4.0, 0.0], [0.0, 8.0]], dtype=np.float32)
    pairs = Pairs(np.array([0]), np.array([1]), np.array([0.25], dtype=np.float32))

    np.testing.assert_allclose(mixed_latents(latents, pairs), [[1, 6]])


def test_same_seed_same_vae_and_another_another(examples: Examples, trained: TrainedVae) -> None:
    latents = encode(trained.vae, examples)
    before = torch.random.get_rng_state()

    again = encode(train_vae(QUICK, examples).vae, examples)
    other = encode(train_vae(replace(QUICK, seed=4), examples).vae, examples)

    np.testing.assert_array_equal(again, latents)
    assert not np.allclose(other, latents)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_pixels_keep_their_place_in_images_of_any_shape() -> None:
    rng = np.random.default_rng(0)
    one = rng.integers(256, size=(6, 9, 3)).astype(np.uint8)
    examples = Examples(tuple("abcd"), np.stack([one] * 4))

    vae = train_vae(VaeRecipe(steps=300, hidden=32, latents=2), examples).vae
    decoded = decode(vae, encode(vae, examples))

    assert decoded.shape == (4, 6, 9, 3)
    assert decoded.dtype == np.uint8
    assert np.abs(decoded.astype(int) - one).mean() < 12


def test_wrong_settings_are_refused(examples: Examples) -> None:
    with pytest.raises(DataError, match="latents of a VAE must be at least 1, not 0"):
        VaeRecipe(latents=0)
    with pytest.raises(DataError, match="only 1"):
        train_vae(QUICK, examples.take(("0",)))
