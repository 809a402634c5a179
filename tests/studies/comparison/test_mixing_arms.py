"""What the arms of the mixing studies learn from, computed a second time by hand."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from numpy.typing import NDArray

from sfumato.judgments.mixed import Mix
from sfumato.labels.labelset import CrowdLabels, LabelSet, hard_labels
from sfumato.labels.mixing import Curves, Percepts
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.learn.mixing import mix_targets
from sfumato.learn.targets import one_annotator
from sfumato.learn.train import Recipe
from sfumato.provenance import Step
from sfumato.scores import read_scores
from sfumato.studies.comparison import families, mixing
from sfumato.studies.comparison.mixing import ARMS, AUGMENTING, BENDS, MAJORITY, PEOPLE_H, SOFT
from sfumato.studies.comparison.mixing_tables import COMPARISONS
from sfumato.studies.comparison.page import read_comparison
from sfumato.studies.comparison.run import run_comparison
from sfumato.studies.comparison.setting import Known, Target

CLASSES = ("cat", "dog", "frog")
TRAIN = tuple(f"a{place}" for place in range(24))
TEST = tuple(f"z{place}" for place in range(9))
ITEMS = (*TRAIN, *TEST)
GAMMA = 0.005
LEAKING = Mix("a0", "z1", "cat", "dog", 0.5)
"""A mix of an image that is tested, which nobody may learn from."""


def class_at(item: str) -> str:
    return CLASSES[ITEMS.index(item) % 3]


def made_up_percepts() -> Percepts:
    """Two people about 18 mixes of training images, and one about the mix that leaks."""
    rng = np.random.default_rng(3)
    ends = [(first, second) for first in range(3) for second in range(first + 1, 3)]
    mixes = [
        Mix(f"a{3 * row + first}", f"a{3 * row + second}", CLASSES[first], CLASSES[second], share)
        for first, second in ends
        for row in (0, 1)
        for share in (0.25, 0.5, 0.75)
    ]
    about = [place for place in range(len(mixes)) for _ in range(2)]
    seen = np.array([mixes[place].coefficient for place in about])
    seen = np.clip(seen + rng.normal(0, 0.1, size=len(about)), 0, 1)
    return Percepts(
        (LEAKING, *mixes),
        ("p", "q"),
        np.array([0, *(place + 1 for place in about)]),
        np.array([0, *([0, 1] * len(mixes))]),
        np.array([0.9, *seen]),
        np.array([0.3, *rng.random(len(about))]),
    )


@pytest.fixture(scope="module")
def known() -> Known:
    """24 small images to learn and 9 to test, of three classes, with labels of all kinds."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(len(ITEMS), 16, 16, 3)).astype(np.uint8)
    original = hard_labels(ITEMS, CLASSES, np.array([CLASSES.index(class_at(i)) for i in ITEMS]))
    votes = LabelSet(ITEMS, CLASSES, rng.dirichlet((1, 1, 1), size=len(ITEMS)))
    simulated = (Step("answers of nobody", simulated=True),)
    soft = LabelSet(TRAIN, CLASSES, rng.dirichlet((1, 1, 1), len(TRAIN)), provenance=simulated)
    modes = hard_labels(TRAIN, CLASSES, soft.probs.argmax(axis=1))
    return Known(
        Examples(ITEMS, images),
        labels={
            "original": original,
            PEOPLE_H: votes,
            SOFT: soft,
            MAJORITY: replace(modes, provenance=simulated),
        },
        parts={"train": TRAIN, "test": TEST},
        percepts=made_up_percepts(),
    )


@pytest.fixture(scope="module")
def split(known: Known) -> Split:
    """The only split there is."""
    (only,) = mixing.splits(known, COMPARISONS["mixing-augment"][0], seed=5)
    return only


def mixes_of(target: Target) -> LabelSet | CrowdLabels:
    assert target.augmenting is not None
    return target.augmenting.labels


def curves_of(target: Target) -> Curves:
    assert target.mixing is not None
    assert isinstance(target.mixing.target, Curves)
    return target.mixing.target


def answers(percepts: Percepts) -> dict[str, list[tuple[float, float]]]:
    """The coefficient and confidence of every answer, by mix."""
    found = defaultdict(list)
    for place, seen, sure in zip(
        percepts.mix, percepts.coefficient, percepts.confidence, strict=True
    ):
        found[percepts.items[place]].append((float(seen), float(sure)))
    return found


def two_class(mix: Mix, share: float, smoothed: float = 0.0) -> list[float]:
    """The label of a mix, written out class by class."""
    plain = dict.fromkeys(CLASSES, 0.0)
    plain[mix.first_class] += share
    plain[mix.second_class] += 1 - share
    return [(1 - smoothed) * value + smoothed / len(CLASSES) for value in plain.values()]


@pytest.mark.parametrize("arm", AUGMENTING)
def test_no_mix_of_a_tested_image_is_learnt(known: Known, split: Split, arm: str) -> None:
    target = ARMS[arm].make(known, split, 0)

    assert target.augmenting is not None
    learnt = target.augmenting.examples.items
    assert LEAKING.item not in learnt
    assert len(learnt) == 18
    assert set(mixes_of(target).items) == set(learnt)
    assert target.labels.items == TRAIN


def test_mixed_pictures_are_the_mixed_pixels(known: Known, split: Split) -> None:
    target = ARMS["uniform"].make(known, split, 0)

    assert target.augmenting is not None
    place = target.augmenting.examples.items.index("0.25 a3 + a4")
    first, second = (known.examples.take((item,)).images[0].astype(float) for item in ("a3", "a4"))
    assert np.array_equal(
        target.augmenting.examples.images[place], np.rint(first / 4 + 3 * second / 4)
    )


def test_baselines_know_nothing_of_people(known: Known, split: Split) -> None:
    made = {arm: mixes_of(ARMS[arm].make(known, split, 0)) for arm in AUGMENTING}
    again = mixes_of(ARMS["random"].make(known, split, 1))

    assert np.allclose(made["uniform"].probs, 1 / 3)
    expected = [two_class(mix, mix.coefficient) for mix in made_up_percepts().mixes[1:]]
    assert np.allclose(made["mixup labels"].probs, expected)
    assert np.ptp(made["random"].probs, axis=1).min() > 0
    assert not np.allclose(made["random"].probs, again.probs)  # another draw for another seed


@pytest.mark.parametrize(("arm", "gamma"), [("mean λ_h", None), ("mean λ_h + ω", GAMMA)])
def test_averaged_arms_average_before_they_smooth(
    known: Known, split: Split, arm: str, gamma: float | None
) -> None:
    labels = mixes_of(ARMS[arm].make(known, split, 0))
    percepts = made_up_percepts()

    for mix, row in zip(percepts.mixes[1:], labels.probs, strict=True):
        seen, sure = np.array(answers(percepts)[mix.item]).T
        smoothed = 0.0 if gamma is None else gamma ** sure.mean()
        assert np.allclose(row, two_class(mix, seen.mean(), smoothed))


@pytest.mark.parametrize(("arm", "gamma"), [("separate λ_h", None), ("separate λ_h + ω", GAMMA)])
def test_separate_arms_show_one_persons_label_at_a_time(
    known: Known, split: Split, arm: str, gamma: float | None
) -> None:
    target = ARMS[arm].make(known, split, 0)
    labels, percepts = mixes_of(target), made_up_percepts()
    assert isinstance(labels, CrowdLabels)
    targets = one_annotator(labels, labels.items)
    generator = torch.Generator().manual_seed(0)
    drawn = np.stack(
        [targets.draw(generator).numpy() for _ in range(40)]
    )  # (draws, mixes, classes)

    for place, mix in enumerate(percepts.mixes[1:]):
        own = [
            two_class(mix, seen, 0.0 if gamma is None else gamma**sure)
            for seen, sure in answers(percepts)[mix.item]
        ]
        whose = [[bool(np.allclose(row, one, atol=1e-6)) for one in own] for row in drawn[:, place]]
        assert all(sum(hits) == 1 for hits in whose)
        assert all(any(hits[person] for hits in whose) for person in (0, 1))


def test_shuffled_answers_are_the_same_about_other_mixes_of_the_same_coefficient(
    known: Known, split: Split
) -> None:
    mixes = {mix.item: mix for mix in made_up_percepts().mixes[1:]}
    true, wrong, again = (
        shares_of_first(mixes_of(ARMS[arm].make(known, split, seed)), mixes)
        for arm, seed in (("separate λ_h", 0), ("shuffled λ_h", 0), ("shuffled λ_h", 1))
    )

    for value in (0.25, 0.5, 0.75):
        same = [item for item, mix in mixes.items() if mix.coefficient == value]
        assert sorted(true[item] for item in same) == sorted(wrong[item] for item in same)
        assert all(true[item] != wrong[item] for item in same)
    assert wrong != again


def shares_of_first(
    labels: LabelSet | CrowdLabels, mixes: dict[str, Mix]
) -> dict[str, tuple[float, ...]]:
    """What each person gives the first class of a mix."""
    assert isinstance(labels, CrowdLabels)
    found = defaultdict(list)
    for place, row in zip(labels.item, labels.probs, strict=True):
        mix = mixes[labels.items[place]]
        found[mix.item].append(round(float(row[CLASSES.index(mix.first_class)]), 9))
    return {item: tuple(sorted(shares)) for item, shares in found.items()}


@pytest.mark.parametrize("ends", [SOFT, PEOPLE_H, MAJORITY, "original"])
def test_endpoints_are_the_labels_that_are_mixed(known: Known, split: Split, ends: str) -> None:
    arm = "mixup" if ends == "original" else f"mixup, {ends}"
    target = ARMS[arm].make(known, split, 0)
    assert isinstance(target.labels, LabelSet)
    rows = torch.tensor(target.labels.probs)

    assert np.array_equal(target.labels.probs, known.labels[ends].take(TRAIN).probs)
    assert target.simulated == (ends in (SOFT, MAJORITY))
    for share, whole in ((1.0, rows), (0.0, rows.flip(0))):
        assert torch.equal(mix_targets(rows, rows.flip(0), np.full(len(rows), share)), whole)


def test_methods_of_chapter_5_are_the_published_ones(known: Known, split: Split) -> None:
    made = {
        arm: ARMS[arm].make(known, split, 0).mixing
        for arm in ("no mixing", "mixup", "Mix-MaxEnt", "Ent-WC", f"Ent-WC, {SOFT}")
    }
    said = {
        arm: mixing and (mixing.alpha, mixing.loss, mixing.kappa) for arm, mixing in made.items()
    }

    assert said["no mixing"] is None
    assert said["mixup"] == (1.0, "cross-entropy", 0.7)
    assert said["Mix-MaxEnt"] == (10.0, "max-entropy", 0.7)
    assert said["Ent-WC"] == said[f"Ent-WC, {SOFT}"] == (0.2, "clamped-entropy", 0.7)


@pytest.mark.parametrize("bend", BENDS)
@pytest.mark.parametrize(
    ("suffix", "loss"), [("", "cross-entropy"), (" + Ent-WC", "clamped-entropy")]
)
def test_curves_are_fitted_to_mixes_of_training_images_alone(
    known: Known, split: Split, bend: str, suffix: str, loss: str
) -> None:
    people = made_up_percepts()
    seen = people.coefficient.copy()
    seen[0] = 0.0  # what was said of the mix that leaks
    other = replace(known, percepts=replace(people, coefficient=seen))
    target = ARMS[f"{bend}{suffix}"].make(known, split, 0)
    changed = ARMS[f"{bend}{suffix}"].make(other, split, 0)

    assert target.mixing is not None
    assert target.mixing.loss == loss
    assert np.array_equal(curves_of(target).steepness, curves_of(changed).steepness, equal_nan=True)
    assert np.array_equal(curves_of(target).midpoint, curves_of(changed).midpoint, equal_nan=True)
    assert not curves_of(target).missing


def test_controls_of_the_curves_keep_what_they_should(known: Known, split: Split) -> None:
    curves = {bend: curves_of(ARMS[bend].make(known, split, 0)) for bend in BENDS}

    def above(table: NDArray[np.float64]) -> list[float]:
        return [round(float(value), 9) for value in table[np.triu_indices(3, k=1)]]

    assert len(set(above(curves["identity τ"].steepness))) == 1
    assert set(above(curves["pooled τ"].midpoint)) == {0.5}
    people, shuffled = above(curves["τ"].steepness), above(curves["shuffled τ"].steepness)
    assert len(set(people)) == 3
    assert sorted(people) == sorted(shuffled)
    assert all(one != two for one, two in zip(people, shuffled, strict=True))


@pytest.mark.parametrize(
    ("name", "arms", "simulated"),
    [
        ("mixing-augment", ("mixup labels", "separate λ_h + ω"), set()),
        ("mixing-full", (f"Mix-MaxEnt, {SOFT}", "τ + Ent-WC"), {f"Mix-MaxEnt, {SOFT}"}),
    ],
)
def test_a_small_study_runs_to_its_report(
    known: Known,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arms: tuple[str, ...],
    simulated: set[str],
) -> None:
    family = replace(mixing.FAMILY, load=lambda folder: known)
    monkeypatch.setitem(families.FAMILIES, "mixing", family)
    study = replace(
        COMPARISONS[name][0],
        arms=arms,
        controls=arms[:1],
        training=Recipe("cnn-3", epochs=1, batch_size=8),
        seeds=2,
        corruptions=("contrast",),
        attacked_items=4,
    )

    finished = run_comparison(study, tmp_path, data=None)
    scores = read_scores(tmp_path / "scores.parquet")

    assert (finished.done, finished.failed) == (2 * len(arms), 0)
    assert {one.stratum for one in scores} == {"all", "fgsm/4", "corrupted"}
    assert {one.arm for one in scores} == set(arms)
    assert {one.arm for one in scores if one.simulated} == simulated
    assert read_comparison(tmp_path).simulated == bool(simulated)
    table = pl.read_parquet(tmp_path / "tables" / "labels.parquet")
    assert ("mixes" in table.columns) == (name == "mixing-augment")
    page = finished.report.read_text(encoding="utf-8")
    assert ('class="mark">simulated' in page) == bool(simulated)
