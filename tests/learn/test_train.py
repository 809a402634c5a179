from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.learn.examples import Examples, predict
from sfumato.learn.recipe import Recipe
from sfumato.learn.targets import fixed_targets, sampled_targets
from sfumato.learn.train import TrainedNetwork, train

CLASSES = ("light", "dark")
FAST = Recipe("simple-ffn", epochs=5, batch_size=16, learning_rate=0.01)


def two_kinds(count: int = 64, seed: int = 0) -> tuple[Examples, LabelSet]:
    """Images that are light or dark, with their labels."""
    rng = np.random.default_rng(seed)
    chosen = np.arange(count) % 2
    pixels = rng.integers(128, size=(count, 6, 6, 1)) + 120 * (1 - chosen)[:, None, None, None]
    items = tuple(f"{seed}-{place}" for place in range(count))
    return Examples(items, pixels.astype(np.uint8)), hard_labels(items, CLASSES, chosen)


def fit(recipe: Recipe = FAST, **options: Any) -> TrainedNetwork:
    examples, labels = two_kinds()
    return train(recipe, examples, fixed_targets(labels, examples.items), **options)


def weights(trained: TrainedNetwork) -> list[np.ndarray[Any, Any]]:
    return [tensor.numpy() for tensor in trained.network.state_dict().values()]


def same(first: TrainedNetwork, second: TrainedNetwork) -> bool:
    pairs = zip(weights(first), weights(second), strict=True)
    return all(np.array_equal(one, two) for one, two in pairs)


def test_network_learns_what_can_be_learnt() -> None:
    unseen, labels = two_kinds(seed=1)

    found = predict(fit().network, unseen, CLASSES)

    assert (found.probs.argmax(axis=1) == labels.probs.argmax(axis=1)).mean() > 0.95


def test_network_learns_the_distribution_and_not_only_its_mode() -> None:
    examples, labels = two_kinds()
    soft = LabelSet(labels.items, CLASSES, 0.4 * labels.probs + 0.3)  # 0.7 and 0.3

    recipe = replace(FAST, epochs=60)
    found = predict(
        train(recipe, examples, fixed_targets(soft, examples.items)).network, examples, CLASSES
    )

    assert np.abs(found.probs - soft.probs).mean() < 0.06


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("kind", [fixed_targets, sampled_targets])
def test_same_seed_gives_the_same_weights_and_another_seed_others(
    optimizer: Any, kind: Any
) -> None:
    recipe = replace(FAST, optimizer=optimizer, epochs=2, augment=("crop", "flip"))
    examples, labels = two_kinds()
    soft = LabelSet(labels.items, CLASSES, 0.4 * labels.probs + 0.3)

    first = train(recipe, examples, kind(soft, examples.items))
    torch.manual_seed(99)  # nothing outside may matter
    again = train(recipe, examples, kind(soft, examples.items))
    other = train(replace(recipe, seed=1), examples, kind(soft, examples.items))

    assert same(first, again)
    assert not same(first, other)


def test_training_leaves_the_outside_randomness_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)

    fit(replace(FAST, epochs=1))

    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(
    ("schedule", "milestones", "expected"),
    [
        ("constant", (), [1, 1, 1, 1]),
        ("step", (2,), [1, 1, 0.1, 0.1]),
        ("multistep", (1, 3), [1, 0.1, 0.1, 0.01]),
        ("cosine", (), [1, 0.8535534, 0.5, 0.1464466]),
    ],
)
def test_learning_rate_follows_its_schedule(
    schedule: Any, milestones: tuple[int, ...], expected: list[float]
) -> None:
    recipe = replace(FAST, epochs=4, learning_rate=0.01, schedule=schedule, milestones=milestones)

    rates = [row["learning_rate"] / 0.01 for row in fit(recipe).history]

    assert rates == pytest.approx(expected)


def test_plateau_lowers_the_rate_and_early_stopping_ends_the_run() -> None:
    examples, labels = two_kinds(seed=1)
    flipped = LabelSet(labels.items, CLASSES, labels.probs[:, ::-1])  # learning makes this worse
    recipe = replace(FAST, epochs=40, schedule="plateau", patience=1, stop_after=6, weights="best")

    found = fit(recipe, validation=(examples, flipped))

    assert found.best_epoch == 1
    assert len(found.history) == 7
    assert found.history[-1]["learning_rate"] < 0.01


def test_best_weights_are_those_of_the_best_epoch() -> None:
    examples, labels = two_kinds(seed=1)
    flipped = LabelSet(labels.items, CLASSES, labels.probs[:, ::-1])
    recipe = replace(FAST, epochs=4)

    best = fit(replace(recipe, weights="best"), validation=(examples, flipped))
    first = fit(replace(recipe, epochs=1))

    assert same(best, first)


def test_what_each_epoch_believes_is_kept_when_asked() -> None:
    examples, _ = two_kinds(seed=2)

    found = fit(watch=examples)

    assert found.watched.shape == (5, 64, 2)
    last = predict(found.network, examples, CLASSES).probs
    assert np.allclose(found.watched[-1], last, atol=1e-6)
    assert fit().watched.size == 0


def test_after_epoch_is_called_once_an_epoch() -> None:
    seen: list[int] = []

    fit(after_epoch=lambda epoch, network: seen.append(epoch))

    assert seen == [1, 2, 3, 4, 5]


def test_diverged_model_is_told_in_a_sentence() -> None:
    with pytest.raises(DataError, match=r"diverged. Lower the learning rate \(1e\+30\)"):
        fit(replace(FAST, learning_rate=1e30, optimizer="sgd", epochs=9))


def test_clipping_and_peer_loss_change_what_is_learnt() -> None:
    plain = fit()

    assert not same(plain, fit(replace(FAST, clip=1e-3)))
    assert not same(plain, fit(replace(FAST, peer=0.5)))


@pytest.mark.parametrize(
    "change", [{"schedule": "plateau"}, {"stop_after": 3}, {"weights": "best"}]
)
def test_what_needs_a_validation_part_says_so(change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="validation part is needed"):
        fit(replace(FAST, **change))


@pytest.mark.parametrize(
    "change", [{"epochs": 0}, {"batch_size": 0}, {"learning_rate": 0}, {"schedule": "step"}]
)
def test_impossible_recipe_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        replace(FAST, **change)


def test_targets_of_other_items_are_refused() -> None:
    examples, _ = two_kinds()
    _, labels = two_kinds(seed=1)

    with pytest.raises(DataError, match="different items"):
        train(FAST, examples, fixed_targets(labels, labels.items))


def test_number_of_threads_outside_changes_nothing_and_stays() -> None:
    before = torch.get_num_threads()
    lenet = replace(FAST, network="lenet", epochs=1)
    rng = np.random.default_rng(0)
    items = tuple(map(str, range(64)))
    examples = Examples(items, rng.integers(256, size=(64, 28, 28, 1), dtype=np.uint8))
    labels = hard_labels(items, CLASSES, np.arange(64) % 2)
    try:
        torch.set_num_threads(1)
        one = train(lenet, examples, fixed_targets(labels, items))
        torch.set_num_threads(2)
        two = train(lenet, examples, fixed_targets(labels, items))

        assert same(one, two)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
