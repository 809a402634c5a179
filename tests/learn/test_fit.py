from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet, hard_labels
from sfumato.learn.examples import Examples
from sfumato.learn.fit import (
    Presentation,
    fit_and_predict,
    fit_with_best_rate,
    kept_weights,
)
from sfumato.learn.folds import Split
from sfumato.learn.recipe import Optimizer, Recipe
from sfumato.learn.sweep import Cell, FailedCell, FinishedCell, run_sweep

CLASSES = ("light", "dark")
RECIPE = Recipe("simple-ffn", epochs=3, batch_size=16, learning_rate=0.01, weights="best")


def problem() -> tuple[Examples, LabelSet, Split]:
    """Light and dark images; the second half of the items is for choosing and testing."""
    rng = np.random.default_rng(0)
    chosen = np.arange(60) % 2
    pixels = rng.integers(128, size=(60, 6, 6, 1)) + 120 * (1 - chosen)[:, None, None, None]
    items = tuple(map(str, range(60)))
    labels = hard_labels(items, CLASSES, chosen)
    return (
        Examples(items, pixels.astype(np.uint8)),
        labels,
        Split(items[:30], items[30:40], items[40:]),
    )


def people(labels: LabelSet) -> CrowdLabels:
    """Two people per item: one is sure, the other is half in doubt."""
    item = np.repeat(np.arange(len(labels)), 2)
    annotator = np.tile([0, 1], len(labels))
    probs = np.where(annotator[:, None] == 0, labels.probs[item], 0.5 * labels.probs[item] + 0.25)
    return CrowdLabels(labels.items, ("ann", "bob"), CLASSES, item, annotator, probs)


def test_predictions_of_the_test_part_are_in_the_order_of_the_split() -> None:
    examples, labels, split = problem()

    found = fit_and_predict(RECIPE, examples, labels, split)

    right = labels.take(split.test).probs.argmax(axis=1)
    assert (found.arrays["predictions"].argmax(axis=1) == right).mean() > 0.9
    assert found.work == 3


def test_what_each_epoch_believes_of_the_training_part_is_kept_when_asked() -> None:
    examples, labels, split = problem()

    watched = fit_and_predict(RECIPE, examples, labels, split, keep=("watched",))
    plain = fit_and_predict(RECIPE, examples, labels, split)

    assert watched.arrays["watched"].shape == (3, 30, 2)
    assert np.array_equal(watched.arrays["predictions"], plain.arrays["predictions"])
    assert "watched" not in plain.arrays


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("presentation", ["fixed", "sampled", "one annotator"])
def test_same_seed_gives_the_same_numbers_alone_on_cores_and_on_a_cluster(
    tmp_path: Path, scheduler: str, presentation: Presentation, optimizer: Optimizer
) -> None:
    examples, labels, split = problem()
    inputs: dict[str, Any] = {
        "examples": examples,
        "labels": people(labels),
        "split": split,
        "presentation": presentation,
        "keep": ("watched",),
    }
    recipes = [replace(RECIPE, seed=seed, optimizer=optimizer) for seed in range(2)]
    cells = [Cell(f"seed {r.seed}", fit_and_predict, {"recipe": r, **inputs}) for r in recipes]

    alone = [fit_and_predict(recipe, **inputs) for recipe in recipes]
    on_cores = run_sweep(cells, tmp_path / "cores", workers=2)
    on_cluster = run_sweep(cells, tmp_path / "cluster", engine="dask", scheduler=scheduler)

    assert not np.array_equal(alone[0].arrays["predictions"], alone[1].arrays["predictions"])
    for swept in (on_cores, on_cluster):
        for one, other in zip(swept, alone, strict=True):
            assert isinstance(one, FinishedCell)
            assert one.scores == other.scores
            for name, array in one.arrays().items():
                assert np.array_equal(array, other.arrays[name]), name


def test_one_annotator_at_a_time_is_learnt_unlike_their_mean() -> None:
    examples, labels, split = problem()

    single = fit_and_predict(RECIPE, examples, people(labels), split, "one annotator")
    mean = fit_and_predict(RECIPE, examples, people(labels), split)

    assert not np.array_equal(single.arrays["predictions"], mean.arrays["predictions"])
    with pytest.raises(DataError, match="CrowdLabels"):
        fit_and_predict(RECIPE, examples, labels, split, "one annotator")


def test_fine_tuning_goes_on_from_the_weights_of_another_training() -> None:
    examples, labels, split = problem()
    before = fit_and_predict(RECIPE, examples, labels, split, keep=("weights",))
    still = replace(RECIPE, epochs=1, learning_rate=1e-12, weights="last")

    tuned = fit_and_predict(still, examples, labels, split, start=kept_weights(before.arrays))

    assert np.allclose(tuned.arrays["predictions"], before.arrays["predictions"], atol=1e-6)
    with pytest.raises(DataError, match="kept no weights"):
        kept_weights(tuned.arrays)


def test_weights_of_another_network_are_no_start() -> None:
    examples, labels, split = problem()
    before = fit_and_predict(RECIPE, examples, labels, split, keep=("weights",))

    with pytest.raises(DataError, match="not those of 'deeper-ffn' for 2 classes"):
        fit_and_predict(
            replace(RECIPE, network="deeper-ffn"),
            examples,
            labels,
            split,
            start=kept_weights(before.arrays),
        )


def test_rate_with_the_least_validation_loss_is_chosen_and_reported() -> None:
    examples, labels, split = problem()
    rates = (1e-6, 0.01, 1e30)

    found = fit_with_best_rate(RECIPE, rates, examples, labels, split)
    alone = fit_and_predict(RECIPE, examples, labels, split)

    assert found.scores["rate"] == 0.01
    assert [row["rate"] for row in found.scores["rates"]] == list(rates)
    assert found.scores["rates"][2]["validation_loss"] == float("inf")
    assert np.array_equal(found.arrays["predictions"], alone.arrays["predictions"])


def test_loss_of_a_rate_is_that_of_the_weights_that_are_kept() -> None:
    examples, labels, split = problem()
    chance = np.random.default_rng(0).permutation(labels.probs)  # nothing to learn but by heart
    labels = LabelSet(labels.items, labels.classes, chance)
    best = replace(RECIPE, epochs=8)
    last = replace(best, weights="last")
    losses = [
        row["validation_loss"]
        for row in fit_and_predict(last, examples, labels, split).scores["history"]
    ]

    (kept,) = fit_with_best_rate(last, (0.01,), examples, labels, split).scores["rates"]
    (least,) = fit_with_best_rate(best, (0.01,), examples, labels, split).scores["rates"]

    assert kept["validation_loss"] == losses[-1] > min(losses) == least["validation_loss"]


@pytest.mark.parametrize("selection", ["nested", "on-test-part"])
def test_where_a_rate_was_chosen_stays_written(
    selection: Literal["nested", "on-test-part"],
) -> None:
    examples, labels, split = problem()
    if selection == "on-test-part":
        split = Split(split.train, split.test, split.test, selection=selection)

    found = fit_with_best_rate(RECIPE, (0.01,), examples, labels, split)

    assert found.scores["selection"] == selection


def test_rate_cannot_be_chosen_without_a_validation_part() -> None:
    examples, labels, split = problem()
    split = Split(split.train, (), split.test, selection="none")

    with pytest.raises(DataError, match="validation part"):
        fit_with_best_rate(replace(RECIPE, weights="last"), (0.1,), examples, labels, split)


def test_bad_cells_are_recorded_with_their_reason_and_the_rest_goes_on(tmp_path: Path) -> None:
    examples, labels, split = problem()
    light = tuple(item for item in split.train if int(item) % 2 == 0)
    wide = Examples(examples.items[:1], np.zeros((1, 9, 9, 1), dtype=np.uint8))
    bad: dict[str, dict[str, Any]] = {
        "diverged": {"recipe": replace(RECIPE, learning_rate=1e30, optimizer="sgd")},
        "has no label": {"labels": labels.take(labels.items[:20])},
        "has no image": {"examples": examples.take(examples.items[:50])},
        "No item of 'dark'": {"split": Split(light, split.validation, split.test)},
        "No network": {"recipe": replace(RECIPE, network="lennet")},
        "has no image ": {"examples": wide},
    }
    good = {"recipe": RECIPE, "examples": examples, "labels": labels, "split": split}
    cells = [Cell(name, fit_and_predict, {**good, **change}) for name, change in bad.items()]

    results = run_sweep([*cells, Cell("good", fit_and_predict, good)], tmp_path, workers=2)

    for name, result in zip(bad, results, strict=False):
        assert isinstance(result, FailedCell)
        assert name.strip() in result.reason
    assert isinstance(results[-1], FinishedCell)
