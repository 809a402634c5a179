"""Trainings whose batches are mixed, and trainings with an augmenting set."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet, hard_labels
from sfumato.labels.mixing import Curves
from sfumato.learn.examples import Examples, predict
from sfumato.learn.fit import fit_and_predict, fit_with_best_rate
from sfumato.learn.folds import Split
from sfumato.learn.mixing import Augmenting, with_augmenting
from sfumato.learn.recipe import (
    ALPHAS,
    KAPPAS,
    MIXINGS,
    Mixing,
    Recipe,
    published_mixing,
    published_recipe,
)
from sfumato.learn.sweep import Cell, FinishedCell, fingerprint, run_sweep
from sfumato.learn.targets import fixed_targets, one_annotator, sampled_targets
from sfumato.learn.train import TrainedNetwork, train

CLASSES = ("top", "middle", "bottom")
RECIPE = Recipe("simple-ffn", epochs=3, batch_size=16, learning_rate=0.01)
STEEP = Curves(CLASSES, np.full((3, 3), 0.5), np.full((3, 3), 12.0))
KINDS = {
    "mixup": Mixing(1.0),
    "per item": Mixing(1.0, per="item"),
    "curves": Mixing(1.0, target=STEEP),
    "ent-wc": Mixing(0.2, loss="clamped-entropy", kappa=0.2),
    "constant": Mixing(0.2, loss="clamped-entropy", kappa=0.2, weight="constant"),
    "mix-maxent": Mixing(10.0, loss="max-entropy"),
}


def problem(count: int = 48, seed: int = 0) -> tuple[Examples, LabelSet]:
    """Noise with a bright band at the top, in the middle or at the bottom."""
    rng = np.random.default_rng(seed)
    chosen = np.arange(count) % 3
    pixels = rng.integers(128, size=(count, 6, 6, 1))
    for place, code in enumerate(chosen):
        pixels[place, 2 * code : 2 * code + 2] += 100
    items = tuple(f"{seed}-{place}" for place in range(count))
    return Examples(items, pixels.astype(np.uint8)), hard_labels(items, CLASSES, chosen)


def fit(mixing: Mixing | None, recipe: Recipe = RECIPE) -> TrainedNetwork:
    examples, labels = problem()
    return train(recipe, examples, fixed_targets(labels, examples.items), mixing=mixing)


def same(first: TrainedNetwork, second: TrainedNetwork) -> bool:
    one, two = first.network.state_dict(), second.network.state_dict()
    return all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_gives_the_same_weights_and_another_seed_others(kind: str) -> None:
    recipe = replace(RECIPE, augment=("crop", "flip"))

    first = fit(KINDS[kind], recipe)
    torch.manual_seed(99)  # nothing outside may matter

    assert same(first, fit(KINDS[kind], recipe))
    assert not same(first, fit(KINDS[kind], replace(recipe, seed=1)))


def test_every_way_of_mixing_learns_otherwise() -> None:
    trained = [fit(None), *(fit(mixing) for mixing in KINDS.values())]

    for place, one in enumerate(trained):
        assert not any(same(one, other) for other in trained[place + 1 :])


@pytest.mark.parametrize("kind", KINDS)
def test_what_can_be_learnt_is_learnt_from_mixes_too(kind: str) -> None:
    unseen, labels = problem(seed=1)

    found = predict(fit(KINDS[kind], replace(RECIPE, epochs=12)).network, unseen, CLASSES)

    assert (found.probs.argmax(axis=1) == labels.probs.argmax(axis=1)).mean() > 0.9


def test_mixing_draws_from_numbers_of_its_own() -> None:
    """A mixed training has the same batches and the same drawn targets as a plain one."""
    examples, labels = problem()
    soft = LabelSet(labels.items, CLASSES, 0.4 * labels.probs + 0.2)
    drawn: dict[str, list[torch.Tensor]] = {"plain": [], "mixed": []}

    for name, mixing in (("plain", None), ("mixed", Mixing(1.0))):
        targets = sampled_targets(soft, examples.items)
        listening = _Listening(targets, drawn[name])
        train(RECIPE, examples, listening, mixing=mixing)

    assert len(drawn["plain"]) == 3
    assert all(map(torch.equal, drawn["plain"], drawn["mixed"]))


class _Listening:
    """Targets that remember what was drawn."""

    def __init__(self, targets: Any, heard: list[torch.Tensor]) -> None:
        self.targets, self.heard = targets, heard
        self.items, self.classes = targets.items, targets.classes
        self.provenance = targets.provenance

    def draw(self, generator: torch.Generator) -> torch.Tensor:
        self.heard.append(self.targets.draw(generator))
        return self.heard[-1]


def test_tiny_alpha_is_training_without_mixing_on_batches_in_some_order() -> None:
    """With λ of 0 or 1 every mix is one of the images, with its own label."""
    assert fit(Mixing(1e-300)).history[-1]["loss"] == pytest.approx(
        fit(None).history[-1]["loss"], rel=0.3
    )


def test_mixes_are_believed_as_their_labels_say() -> None:
    examples, _ = problem()
    trained = fit(Mixing(1.0, per="item"), replace(RECIPE, epochs=60))
    first, second = examples.images[:2].astype(np.float32) / 255
    mixes = np.stack([share * first + (1 - share) * second for share in (0.25, 0.5, 0.75)])

    found = predict(trained.network, Examples(("a", "b", "c"), mixes), CLASSES).probs

    assert np.abs(found[:, 0] - [0.25, 0.5, 0.75]).max() < 0.2
    assert found[:, 2].max() < 0.2


def test_ent_wc_and_mix_maxent_make_the_network_doubt_mixes() -> None:
    examples, _ = problem()
    half = examples.images[:12:3] // 2 + examples.images[1:12:3] // 2

    def doubt(mixing: Mixing | None) -> float:
        trained = fit(mixing, replace(RECIPE, epochs=40))
        rows = predict(trained.network, Examples(tuple("abcd"), half), CLASSES).probs
        return float(-(rows * np.log(np.maximum(rows, 1e-12))).sum(axis=1).mean())

    mixup, entropy_weighted = Mixing(1.0), Mixing(1.0, loss="clamped-entropy", kappa=0.0)
    assert doubt(None) < doubt(mixup) < doubt(entropy_weighted) < doubt(KINDS["mix-maxent"])
    assert doubt(KINDS["mix-maxent"]) > 0.95 * np.log(3)


def test_curves_are_taken_in_the_order_of_the_labels_classes() -> None:
    middle = np.array([[0.5, 0.2, 0.3], [0.8, 0.5, 0.4], [0.7, 0.6, 0.5]])
    there = Curves(CLASSES, middle, np.full((3, 3), 9.0))
    back = Curves(CLASSES[::-1], middle[::-1, ::-1], np.full((3, 3), 9.0))
    other = Curves(("top", "middle", "side"), middle, np.full((3, 3), 9.0))

    assert same(fit(Mixing(1.0, target=there)), fit(Mixing(1.0, target=back)))
    assert not same(fit(Mixing(1.0, target=there)), fit(Mixing(1.0, target=STEEP)))
    with pytest.raises(DataError, match="different classes"):
        fit(Mixing(1.0, target=other))


def test_peer_loss_and_mixing_do_not_go_together() -> None:
    with pytest.raises(DataError, match="peer loss"):
        fit(Mixing(1.0), replace(RECIPE, peer=0.5))


def parts() -> tuple[Examples, LabelSet, Split]:
    examples, labels = problem(60)
    items = examples.items
    return examples, labels, Split(items[:30], items[30:40], items[40:])


def mixed_set(count: int = 6) -> tuple[Examples, CrowdLabels]:
    """Mixes that two people see differently."""
    rng = np.random.default_rng(8)
    items = tuple(f"mix {place}" for place in range(count))
    images = rng.integers(256, size=(count, 6, 6, 1), dtype=np.uint8)
    rows = np.tile([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0]], (count, 1))
    people = np.tile([0, 1], count)
    crowd = CrowdLabels(items, ("p", "q"), CLASSES, np.repeat(np.arange(count), 2), people, rows)
    return Examples(items, images), crowd


def test_augmenting_set_follows_the_training_part_with_targets_of_its_own() -> None:
    examples, labels = problem()
    images, crowd = mixed_set()

    shown, targets = with_augmenting(
        examples, fixed_targets(labels, examples.items), Augmenting(images, crowd.mean())
    )

    assert shown.items == targets.items == (*examples.items, *images.items)
    assert np.array_equal(shown.images[-6:], images.images)
    drawn = targets.draw(torch.Generator()).numpy()
    assert np.allclose(drawn[:48], labels.probs)
    assert np.allclose(drawn[48:], [[0.625, 0.375, 0.0]] * 6)
    assert targets.provenance[-1].settings["items"] == 6


def test_each_presentation_of_a_mix_draws_a_person_afresh() -> None:
    examples, labels = problem()
    images, crowd = mixed_set()
    _, targets = with_augmenting(
        examples, fixed_targets(labels, examples.items), Augmenting(images, crowd)
    )
    generator = torch.Generator().manual_seed(0)

    drawn = torch.stack([targets.draw(generator) for _ in range(200)])

    first = drawn[:, 48:, 0]
    assert set(first.flatten().tolist()) == {1.0, 0.25}
    assert torch.allclose((first == 1).float().mean(dim=0), torch.tensor(0.5), atol=0.12)
    assert torch.equal(drawn[0, :48], drawn[-1, :48])


def test_classes_of_an_augmenting_set_may_come_in_another_order() -> None:
    examples, labels = problem()
    images, crowd = mixed_set()
    turned = CrowdLabels(
        crowd.items, ("p", "q"), CLASSES[::-1], crowd.item, crowd.annotator, crowd.probs[:, ::-1]
    )
    targets = fixed_targets(labels, examples.items)

    for straight, other in ((crowd, turned), (crowd.mean(), turned.mean())):
        drawn = [
            with_augmenting(examples, targets, Augmenting(images, one))[1].draw(
                torch.Generator().manual_seed(1)
            )
            for one in (straight, other)
        ]
        assert torch.equal(*drawn)


def test_augmenting_set_that_does_not_fit_is_refused() -> None:
    examples, labels = problem()
    images, crowd = mixed_set()
    targets = fixed_targets(labels, examples.items)
    wide = Examples(images.items, np.zeros((6, 9, 9, 1), dtype=np.uint8))
    clash = Augmenting(examples, labels)
    odd = replace(crowd.mean(), classes=("top", "middle", "side"))

    with pytest.raises(DataError, match="'mix 5' has no label"):
        Augmenting(images, crowd.mean().take(images.items[:5]))
    with pytest.raises(DataError, match=r"mixes uint8 of shape \(9, 9, 1\)"):
        with_augmenting(examples, targets, Augmenting(wide, crowd))
    with pytest.raises(DataError, match="'0-0' is in the training part and in the augmenting set"):
        with_augmenting(examples, targets, clash)
    with pytest.raises(DataError, match="different classes: 'bottom'"):
        with_augmenting(examples, targets, Augmenting(images, odd))


def test_training_sees_the_augmenting_set_and_watches_the_training_part_only() -> None:
    examples, labels, split = parts()
    images, crowd = mixed_set()

    plain = fit_and_predict(RECIPE, examples, labels, split)
    averaged = fit_and_predict(
        RECIPE, examples, labels, split, augmenting=Augmenting(images, crowd.mean())
    )
    single = fit_and_predict(
        RECIPE, examples, labels, split, keep=("watched",), augmenting=Augmenting(images, crowd)
    )

    rows = [found.arrays["predictions"] for found in (plain, averaged, single)]
    assert rows[0].shape == rows[1].shape == (20, 3)
    assert not np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[1], rows[2])
    assert single.arrays["watched"].shape == (3, 30, 3)


def test_mixed_trainings_are_cells_that_give_the_same_numbers_swept_or_not(tmp_path: Path) -> None:
    examples, labels, split = parts()
    images, crowd = mixed_set()
    inputs: dict[str, Any] = {
        "recipe": RECIPE,
        "examples": examples,
        "labels": labels,
        "split": split,
        "mixing": KINDS["curves"],
        "augmenting": Augmenting(images, crowd),
    }

    alone = fit_and_predict(**inputs)
    swept = run_sweep([Cell("one", fit_and_predict, inputs)], tmp_path, workers=1)[0]
    again = run_sweep([Cell("one", fit_and_predict, inputs)], tmp_path, workers=1)[0]

    assert isinstance(swept, FinishedCell) and isinstance(again, FinishedCell)
    assert np.array_equal(swept.arrays()["predictions"], alone.arrays["predictions"])
    assert np.array_equal(again.arrays()["predictions"], alone.arrays["predictions"])
    assert swept.scores == alone.scores


def test_fingerprint_of_a_cell_tells_every_setting_of_a_mixing() -> None:
    steeper = Curves(CLASSES, STEEP.midpoint, STEEP.steepness + 1)
    kinds = [*KINDS.values(), Mixing(2.0), Mixing(1.0, target=steeper), Mixing(1.0, kappa=0.1)]

    found = {fingerprint(Cell("a", fit_and_predict, {"mixing": kind})) for kind in kinds}

    assert len(found) == len(kinds)


def test_best_rate_is_chosen_with_the_mixing() -> None:
    examples, labels, split = parts()

    found = fit_with_best_rate(RECIPE, (1e-6, 0.01), examples, labels, split, mixing=Mixing(1.0))
    alone = fit_and_predict(RECIPE, examples, labels, split, mixing=Mixing(1.0))

    assert found.scores["rate"] == 0.01
    assert np.array_equal(found.arrays["predictions"], alone.arrays["predictions"])


def test_single_annotators_can_be_mixed() -> None:
    examples, labels = problem()
    item = np.repeat(np.arange(48), 2)
    who = np.tile([0, 1], 48)
    rows = np.where(who[:, None] == 0, labels.probs[item], 0.7 * labels.probs[item] + 0.1)
    crowd = CrowdLabels(labels.items, ("p", "q"), CLASSES, item, who, rows)

    found = train(RECIPE, examples, one_annotator(crowd, examples.items), mixing=KINDS["curves"])

    assert not same(found, fit(KINDS["curves"]))


def test_published_mixings_are_those_of_the_thesis() -> None:
    assert published_mixing("mix-maxent") == Mixing(10.0, loss="max-entropy")
    assert published_mixing("ent-wc").alpha == 0.2
    assert all(MIXINGS[name].alpha in values for name, values in ALPHAS.items())
    assert MIXINGS["ent-wc"].kappa in KAPPAS
    for name, network in (
        ("augmenting-set", "preact-resnet-18"),
        ("full-mixing", "preact-resnet-34"),
    ):
        recipe = published_recipe(name)
        assert (recipe.network, recipe.epochs, recipe.milestones) == (network, 200, (100, 150))
        assert (recipe.learning_rate, recipe.decay, recipe.augment) == (0.1, 0.1, ())
