"""A small VAE: its lower bound, what it learns, and that a seed decides it."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import log

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import entr
from torch import Tensor, nn
from torch.distributions import Independent, Normal, kl_divergence

from sfumato.data import load
from sfumato.errors import DataError, UnknownName
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.learn.ambiguous import (
    AmbiguousImages,
    AmbiguousRecipe,
    Pairs,
    TrainedVae,
    VaeRecipe,
    beliefs_of,
    choose,
    decode,
    default_network,
    draw_pairs,
    encode,
    entropy_strata,
    gaussian_kl,
    generate,
    mixed_latents,
    mutual_information,
    negative_log_likelihood,
    train_committee,
    train_vae,
)
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.provenance import is_simulated

QUICK_VAE = VaeRecipe(steps=300, hidden=128, batch_size=64, learning_rate=4e-3, seed=3)


@pytest.fixture(scope="module")
def examples() -> Examples:
    pictures = load("digits")
    return Examples(pictures.items[:400], pictures.images[:400])


@pytest.fixture(scope="module")
def trained(examples: Examples) -> TrainedVae:
    return train_vae(QUICK_VAE, examples)


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

    barely = train_vae(replace(QUICK_VAE, steps=2), examples)
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

    again = encode(train_vae(QUICK_VAE, examples).vae, examples)
    other = encode(train_vae(replace(QUICK_VAE, seed=4), examples).vae, examples)

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
        train_vae(QUICK_VAE, examples.take(("0",)))


# Mutual information between networks, and networks that label together.


def exact_entropy(row: list[Fraction]) -> float:
    return -sum(float(p) * log(p) for p in row if p)


def test_mutual_information_is_that_of_exact_shares() -> None:
    members = [
        [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
        [Fraction(1), Fraction(0), Fraction(0)],
        [Fraction(1, 8), Fraction(3, 8), Fraction(1, 2)],
    ]
    mean = [sum(column) / 3 for column in zip(*members, strict=True)]
    exact = exact_entropy(mean) - sum(map(exact_entropy, members)) / 3

    found = mutual_information(np.array([[[float(p) for p in row]] for row in members]))

    assert found == pytest.approx([exact], rel=1e-12)


@given(arrays(np.float64, (3, 4, 5), elements=st.floats(0.01, 1)))
def test_mutual_information_lies_between_0_and_the_entropy_of_the_mean(raw: np.ndarray) -> None:
    probs = raw / raw.sum(axis=2, keepdims=True)
    mean = probs.mean(axis=0)

    found = mutual_information(probs)

    assert (found >= 0).all()
    assert (found <= -(mean * np.log(mean)).sum(axis=1) + 1e-12).all()
    assert mutual_information(probs[[0, 0]]) == pytest.approx(np.zeros(4), abs=1e-12)


class Always(nn.Module):
    """A network that believes the same of every image."""

    def __init__(self, *logits: float) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, images: Tensor) -> Tensor:
        return self.logits.expand(len(images), -1)


def test_any_networks_can_label_together_but_not_one_alone() -> None:
    examples = Examples(("a", "b"), np.zeros((2, 4, 4, 1), dtype=np.uint8))

    found = beliefs_of([Always(0.0, 0.0), Always(0.0, log(3))], examples)

    assert found.probs == pytest.approx(np.array([[3 / 8, 5 / 8]] * 2))
    assert found.entropy == pytest.approx(exact_entropy([Fraction(3, 8), Fraction(5, 8)]))
    inside = (log(2) + exact_entropy([Fraction(1, 4), Fraction(3, 4)])) / 2
    assert found.information == pytest.approx(found.entropy - inside)
    with pytest.raises(DataError, match="at least 2 networks"):
        beliefs_of([Always(0.0, 0.0)], examples)


def test_accuracy_is_that_on_images_held_out() -> None:
    items = tuple(map(str, range(40)))
    images = np.zeros((40, 4, 4, 1), dtype=np.uint8)
    images[20:] = 255  # bright ones are of the second class, but for two of those held out
    truth = np.repeat([0, 1], 20)
    truth[[18, 19]] = 1
    labels = hard_labels(items, ("dark", "bright"), truth, ())
    split = Split(items[:14] + items[20:34], (), items[14:20] + items[34:], selection="none")
    told: list[tuple[int, int]] = []

    found = train_committee(
        Examples(items, images),
        labels,
        split,
        network="simple-ffn",
        steps=60,
        seeds=(0, 1),
        after_member=lambda done, total: told.append((done, total)),
    )

    assert found.accuracy == pytest.approx(10 / 12)
    assert found.held_out.probs.shape == (12, 2)
    assert told == [(1, 2), (2, 2)]


def test_default_network_fits_the_images() -> None:
    assert default_network((8, 8, 1)) == "simple-ffn"
    assert default_network((28, 28, 1)) == "lenet"


# Choosing equally many images of every degree of doubt.


def chosen(
    *, count: int = 40, strata: int = 4, limit: float = 0.5, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows, entropies, information and predicted classes of 2,000 candidates."""
    rng = np.random.default_rng(1)
    entropy, information = rng.uniform(0, 1, 2000), rng.uniform(0, 1, 2000)
    predicted = rng.choice(5, size=2000, p=[0.9, 0.04, 0.03, 0.02, 0.01])
    rows = choose(
        entropy_strata(strata),
        entropy=entropy,
        information=information,
        predicted=predicted,
        most_information=limit,
        count=count,
        rng=np.random.default_rng(seed),
    )
    return rows, entropy, information, predicted


@given(st.integers(1, 6), st.integers(1, 8), st.integers(0, 3))
def test_strata_are_of_one_size_and_nothing_is_above_the_limit(
    strata: int, each: int, seed: int
) -> None:
    rows, entropy, information, _ = chosen(count=strata * each, strata=strata, seed=seed)

    inside = entropy_strata(strata).of(entropy[rows])
    assert np.bincount(inside, minlength=strata).tolist() == [each] * strata
    assert (information[rows] <= 0.5).all()
    assert len(set(rows.tolist())) == strata * each
    assert (np.diff(rows) > 0).all()


def test_strata_are_of_one_width_and_the_last_is_open() -> None:
    strata = entropy_strata(5)

    assert np.diff([*strata.edges, np.log(2)]) == pytest.approx(np.log(2) / 5)
    assert strata.of(np.array([0, np.log(2) / 5, 0.5, np.log(2), 2.3])).tolist() == [0, 1, 3, 4, 4]
    assert strata.names[-1] == "entropy 0.55 and more"


def test_rare_classes_take_turns_with_frequent_ones() -> None:
    rows, _, _, predicted = chosen(count=20, strata=1)

    assert Counter(predicted[rows].tolist()) == dict.fromkeys(range(5), 4)


def test_seed_decides_which() -> None:
    first = chosen(seed=0)[0]

    np.testing.assert_array_equal(first, chosen(seed=0)[0])
    assert first.tolist() != chosen(seed=1)[0].tolist()


def test_too_few_in_a_stratum_says_which_and_how_many_can_be_had() -> None:
    with pytest.raises(
        DataError,
        match=r"Of 2,000 candidates \d+ have entropy 0\.\d\d.* and a mutual information of at "
        r"most 0\.02, but 25 are needed\. Ask for at most \d+ images",
    ):
        chosen(count=100, limit=0.02)
    with pytest.raises(DataError, match="10 images cannot be divided equally among 4 strata"):
        chosen(count=10)


# Ambiguous images from digits: reproducible, marked, in equal strata.


QUICK = AmbiguousRecipe(
    count=20,
    candidates=1500,
    members=2,
    most_information=0.3,
    network_steps=200,
    learn_from=600,
    vae=VaeRecipe(steps=300, hidden=128, batch_size=64, learning_rate=4e-3),
    seed=5,
)
PICTURES = load("digits")
EXAMPLES = Examples(PICTURES.items, PICTURES.images)


@pytest.fixture(scope="module")
def made() -> AmbiguousImages:
    return generate(QUICK, EXAMPLES, PICTURES.original())


def test_labels_are_of_synthetic_items_and_say_so(made: AmbiguousImages) -> None:
    assert made.items == tuple(f"synthetic-{number:05d}" for number in range(20))
    assert made.labels.classes == PICTURES.classes
    assert is_simulated(made.labels.provenance)
    assert made.labels.provenance[-1].name == "generate synthetic ambiguous images"
    assert made.labels.provenance[-1].settings["seed"] == 5
    assert made.images.shape == (20, 8, 8, 1)
    assert made.images.dtype == np.uint8


def test_strata_hold_equally_many_and_fit_the_entropy_of_the_labels(made: AmbiguousImages) -> None:
    assert set(Counter(made.stratum).values()) == {4}
    np.testing.assert_allclose(made.entropy, entr(made.labels.probs).sum(axis=1))
    by_name = sorted(zip(made.stratum, made.entropy, strict=True))
    assert [entropy for _, entropy in by_name] == pytest.approx(
        sorted(made.entropy), abs=np.log(2) / 5
    )
    assert (made.information <= 0.3).all()


def test_sources_are_two_images_of_different_classes(made: AmbiguousImages) -> None:
    of = dict(zip(PICTURES.items, (PICTURES.classes[k] for k in PICTURES.labels), strict=True))

    assert tuple(of[item] for item in made.first_item) == made.first_class
    assert tuple(of[item] for item in made.second_item) == made.second_class
    assert all(a != b for a, b in zip(made.first_class, made.second_class, strict=True))
    assert ((made.coefficient >= 0) & (made.coefficient <= 1)).all()


def test_drawn_label_has_mass(made: AmbiguousImages) -> None:
    place = [made.labels.classes.index(name) for name in made.drawn]

    assert (made.labels.probs[np.arange(20), place] > 0).all()


def test_one_seed_one_result_and_the_order_of_labels_does_not_matter(made: AmbiguousImages) -> None:
    original = PICTURES.original()
    again = generate(QUICK, EXAMPLES, original.take(original.items[::-1]))
    other = generate(replace(QUICK, seed=6), EXAMPLES, original)

    np.testing.assert_array_equal(again.images, made.images)
    np.testing.assert_array_equal(again.labels.probs, made.labels.probs)
    assert (again.first_item, again.drawn) == (made.first_item, made.drawn)
    assert again.facts == made.facts
    assert other.first_item != made.first_item


def test_facts_add_up(made: AmbiguousImages) -> None:
    facts = made.facts

    assert facts["learnt_from"] == 600
    assert facts["held_out"] == 120
    assert facts["candidates"] == 1500
    by_stratum = facts["by_stratum"]
    assert sum(row["candidates"] for row in by_stratum) == 1500 - facts["duplicates"]
    assert sum(row["kept"] for row in by_stratum) == facts["kept"]
    assert facts["accuracy"] > 0.6


def test_limit_is_by_default_what_nine_tenths_of_real_images_stay_below() -> None:
    found = generate(replace(QUICK, most_information=None, count=5), EXAMPLES, PICTURES.original())

    assert found.facts["real_share_kept"] == pytest.approx(0.9, abs=0.01)
    assert (found.information <= found.facts["most_information"]).all()


def test_colour_and_other_shapes_work() -> None:
    grey = PICTURES.images[:, :, 1:7].repeat(3, axis=3)
    tinted = (grey * np.array([1, 0.5, 0.25])).astype(np.uint8)

    recipe = replace(QUICK, strata=1)
    found = generate(recipe, Examples(PICTURES.items, tinted), PICTURES.original())

    assert found.images.shape == (20, 8, 6, 3)
    assert found.images[..., 0].mean() > 1.5 * found.images[..., 1].mean()


def test_networks_trained_elsewhere_can_label(made: AmbiguousImages) -> None:
    from sfumato.learn.networks import build_network

    members = [
        build_network("simple-ffn", classes=10, image_shape=(8, 8, 1), seed=seed)
        for seed in range(2)
    ]

    recipe = replace(QUICK, count=1, strata=1, most_information=9.0)
    found = generate(recipe, EXAMPLES, PICTURES.original(), members=members)

    assert "accuracy" not in found.facts
    assert found.entropy[0] > 2  # networks that learnt nothing believe nothing
    with pytest.raises(DataError, match="trained elsewhere have no held-out images"):
        generate(
            replace(recipe, most_information=None), EXAMPLES, PICTURES.original(), members=members
        )


def test_pairs_are_of_the_named_classes_all_equally_often() -> None:
    labels = LabelSet(tuple("abcdef"), ("x", "y", "z"), np.eye(3)[[0, 0, 0, 1, 2, 2]])
    rng = np.random.default_rng(0)

    pairs = draw_pairs(labels, 6000, rng=rng)
    classes = labels.probs.argmax(axis=1)
    seen = Counter(zip(classes[pairs.first], classes[pairs.second], strict=True))
    named = draw_pairs(labels, 50, between=("x", "z"), rng=rng)

    assert sorted(seen) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert min(seen.values()) > 900
    assert Counter(pairs.first.tolist())[3] > 1900  # the only one of its class
    assert 3 not in {*named.first.tolist(), *named.second.tolist()}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"between": ("4", "9")}, None),
        ({"between": ("4",)}, "of one class, '4'"),
        ({"between": ("4", "4")}, "'4' is named twice"),
        ({"learn_from": 100}, "images of the class '.'; at least 20 of each"),
    ],
)
def test_mistakes_are_told(change: dict[str, object], told: str | None) -> None:
    recipe = replace(QUICK, **change)  # type: ignore[arg-type]
    if told is None:
        found = generate(replace(recipe, count=4, strata=1), EXAMPLES, PICTURES.original())
        assert {*found.first_class, *found.second_class} == {"4", "9"}
        return
    with pytest.raises(DataError, match=told):
        generate(recipe, EXAMPLES, PICTURES.original())


def test_unknown_class_and_one_class_only_are_told() -> None:
    original = PICTURES.original()
    fours = tuple(item for item, k in zip(original.items, PICTURES.labels, strict=True) if k == 4)

    with pytest.raises(UnknownName, match="No class is called 'four'"):
        generate(replace(QUICK, between=("four", "9")), EXAMPLES, original)
    with pytest.raises(DataError, match="of one class, '4'"):
        generate(QUICK, EXAMPLES.take(fours), original)


def test_wrong_recipes_are_refused() -> None:
    with pytest.raises(DataError, match="501 images cannot be divided equally among 5"):
        AmbiguousRecipe(count=501)
    with pytest.raises(DataError, match="at least 2 networks, not 1"):
        AmbiguousRecipe(members=1)
    with pytest.raises(DataError, match="at least 0"):
        AmbiguousRecipe(most_information=float("nan"))
