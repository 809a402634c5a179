"""What the arms of the mixing studies learn from, computed a second time by hand."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.items.load import load_items
from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.judgments.mixed import Mix, mix_named
from sfumato.labels.labelset import CrowdLabels, LabelSet, hard_labels
from sfumato.labels.mixing import Curves, Percepts
from sfumato.learn.encoders import encode
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.learn.mixing import mix_targets
from sfumato.learn.recipe import Mixing
from sfumato.learn.targets import one_annotator
from sfumato.provenance import Step
from sfumato.studies.cell import train_and_test
from sfumato.studies.cifar_sources import PEOPLE_H, SIMULATED_MAJORITY, SIMULATED_SOFT
from sfumato.studies.data import StudyData, Target
from sfumato.studies.sources import load_data
from sfumato.studies.study import Arm, read_study, study_from, study_settings
from sfumato.studies.trainings import (
    ADDED,
    CURVES,
    MIXES,
    plan_trainings,
    splits_of,
    target_of,
    training_cell,
)

ENDPOINTS = ["original", SIMULATED_SOFT, SIMULATED_MAJORITY, PEOPLE_H]
STUDY = read_study(
    "mixing-full",
    changes={
        "arms": [
            {"added": list(ADDED)},
            {"mix": list(MIXES), "labels": ENDPOINTS},
            {"mix": ["mixup", "Ent-WC"], "curve": list(CURVES)},
        ]
    },
)
"""Every arm of the thesis's chapters 4, 5 and C, and their controls."""
SEEN = "Predicted Mixing Factor"
"""What H-Mix calls the coefficients that people saw."""
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
def data() -> StudyData:
    """24 small images to learn and 9 to test, of three classes, with labels of all kinds."""
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(len(ITEMS), 16, 16, 3)).astype(np.uint8)
    original = hard_labels(ITEMS, CLASSES, np.array([CLASSES.index(class_at(i)) for i in ITEMS]))
    votes = LabelSet(ITEMS, CLASSES, rng.dirichlet((1, 1, 1), size=len(ITEMS)))
    simulated = (Step("answers of nobody", simulated=True),)
    soft = LabelSet(TRAIN, CLASSES, rng.dirichlet((1, 1, 1), len(TRAIN)), provenance=simulated)
    modes = hard_labels(TRAIN, CLASSES, soft.probs.argmax(axis=1))
    return StudyData(
        STUDY,
        Examples(ITEMS, images),
        labels={
            "original": original,
            PEOPLE_H: votes,
            SIMULATED_SOFT: soft,
            SIMULATED_MAJORITY: replace(modes, provenance=simulated),
        },
        parts={"train": TRAIN, "test": TEST},
        percepts=made_up_percepts(),
    )


@pytest.fixture(scope="module")
def split(data: StudyData) -> Split:
    """The only split there is."""
    (only,) = splits_of(data, seed=5)
    return only


def learnt(data: StudyData, split: Split, arm: str, seed: int = 0) -> Target:
    return target_of(STUDY.arm(arm), data, split, seed)


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


@pytest.mark.parametrize("arm", ADDED)
def test_no_mix_of_a_tested_image_is_learnt(data: StudyData, split: Split, arm: str) -> None:
    target = learnt(data, split, arm, 0)

    assert target.augmenting is not None
    mixed = target.augmenting.examples.items
    assert LEAKING.item not in mixed
    assert len(mixed) == 18
    assert set(mixes_of(target).items) == set(mixed)
    assert target.labels.items == TRAIN


def test_mixed_pictures_are_the_mixed_pixels(data: StudyData, split: Split) -> None:
    target = learnt(data, split, "uniform", 0)

    assert target.augmenting is not None and data.examples is not None
    place = target.augmenting.examples.items.index("0.25 a3 + a4")
    first, second = (data.examples.take((item,)).images[0].astype(float) for item in ("a3", "a4"))
    assert np.array_equal(
        target.augmenting.examples.images[place], np.rint(first / 4 + 3 * second / 4)
    )


def test_head_learns_vectors_of_the_mixed_pictures(
    data: StudyData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("efficientnet_lite_pytorch")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    head = "efficientnet linear"
    stated = {**study_settings(STUDY), "networks": [head], "seeds": 2, "arms": [
        {"added": ["mean λ_h", "separate λ_h"]}
    ], "controls": []}  # fmt: skip
    study = study_from({**stated, "heads": {head: {"epochs": 1}}})

    cells = [
        training_cell(replace(data, study=study), run, None)
        for run in plan_trainings(replace(data, study=study))
    ]

    added = [cell.inputs["target"].augmenting.examples for cell in cells]
    assert len(cells) == 4 and len({id(one) for one in added}) == 1  # all share them
    pictures = learnt(data, splits_of(data, seed=5)[0], "mean λ_h").augmenting
    assert pictures is not None
    expected = encode(load_items(pictures.examples.images), "efficientnet-lite0").contents
    assert np.abs(added[0].images[:, 0, 0] - expected).max() < 1e-4
    assert not cells[0].inputs["corruptions"] and study.corruptions
    result = cells[0].function(**cells[0].inputs)
    assert result.arrays["test"].shape == (len(TEST), len(CLASSES))


def test_baselines_know_nothing_of_people(data: StudyData, split: Split) -> None:
    made = {arm: mixes_of(learnt(data, split, arm, 0)) for arm in ADDED}
    again = mixes_of(learnt(data, split, "random", 1))

    assert np.allclose(made["uniform"].probs, 1 / 3)
    expected = [two_class(mix, mix.coefficient) for mix in made_up_percepts().mixes[1:]]
    assert np.allclose(made["mixup labels"].probs, expected)
    assert np.ptp(made["random"].probs, axis=1).min() > 0
    assert not np.allclose(made["random"].probs, again.probs)  # another draw for another seed


@pytest.mark.parametrize(("arm", "gamma"), [("mean λ_h", None), ("mean λ_h + ω", GAMMA)])
def test_averaged_arms_average_before_they_smooth(
    data: StudyData, split: Split, arm: str, gamma: float | None
) -> None:
    labels = mixes_of(learnt(data, split, arm, 0))
    percepts = made_up_percepts()

    for mix, row in zip(percepts.mixes[1:], labels.probs, strict=True):
        seen, sure = np.array(answers(percepts)[mix.item]).T
        smoothed = 0.0 if gamma is None else gamma ** sure.mean()
        assert np.allclose(row, two_class(mix, seen.mean(), smoothed))


@pytest.mark.parametrize(("arm", "gamma"), [("separate λ_h", None), ("separate λ_h + ω", GAMMA)])
def test_separate_arms_show_one_persons_label_at_a_time(
    data: StudyData, split: Split, arm: str, gamma: float | None
) -> None:
    target = learnt(data, split, arm, 0)
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
    data: StudyData, split: Split
) -> None:
    mixes = {mix.item: mix for mix in made_up_percepts().mixes[1:]}
    true, wrong, again = (
        shares_of_first(mixes_of(learnt(data, split, arm, seed)), mixes)
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


@pytest.mark.parametrize("ends", [SIMULATED_SOFT, PEOPLE_H, SIMULATED_MAJORITY, "original"])
def test_endpoints_are_the_labels_that_are_mixed(data: StudyData, split: Split, ends: str) -> None:
    arm = "mixup" if ends == "original" else f"mixup, {ends}"
    target = learnt(data, split, arm, 0)
    assert isinstance(target.labels, LabelSet)
    rows = torch.tensor(target.labels.probs)

    assert np.array_equal(target.labels.probs, data.labels[ends].take(TRAIN).probs)
    assert target.simulated == (ends in (SIMULATED_SOFT, SIMULATED_MAJORITY))
    for share, whole in ((1.0, rows), (0.0, rows.flip(0))):
        assert torch.equal(mix_targets(rows, rows.flip(0), np.full(len(rows), share)), whole)


def test_methods_of_chapter_5_are_the_published_ones(data: StudyData, split: Split) -> None:
    made = {
        arm: learnt(data, split, arm, 0).mixing
        for arm in ("no mixing", "mixup", "Mix-MaxEnt", "Ent-WC", f"Ent-WC, {SIMULATED_SOFT}")
    }
    said = {
        arm: mixing and (mixing.alpha, mixing.loss, mixing.kappa) for arm, mixing in made.items()
    }

    assert said["no mixing"] is None
    assert said["mixup"] == (1.0, "cross-entropy", 0.7)
    assert said["Mix-MaxEnt"] == (10.0, "max-entropy", 0.7)
    assert said["Ent-WC"] == said[f"Ent-WC, {SIMULATED_SOFT}"] == (0.2, "clamped-entropy", 0.7)


@pytest.mark.parametrize("bend", CURVES)
@pytest.mark.parametrize(
    ("suffix", "loss"), [("", "cross-entropy"), (" + Ent-WC", "clamped-entropy")]
)
def test_curves_are_fitted_to_mixes_of_training_images_alone(
    data: StudyData, split: Split, bend: str, suffix: str, loss: str
) -> None:
    people = made_up_percepts()
    seen = people.coefficient.copy()
    seen[0] = 0.0  # what was said of the mix that leaks
    other = replace(data, percepts=replace(people, coefficient=seen))
    target = learnt(data, split, f"{bend}{suffix}", 0)
    changed = learnt(other, split, f"{bend}{suffix}", 0)

    assert target.mixing is not None
    assert target.mixing.loss == loss
    assert np.array_equal(curves_of(target).steepness, curves_of(changed).steepness, equal_nan=True)
    assert np.array_equal(curves_of(target).midpoint, curves_of(changed).midpoint, equal_nan=True)
    assert not curves_of(target).missing


def test_controls_of_the_curves_keep_what_they_should(data: StudyData, split: Split) -> None:
    curves = {bend: curves_of(learnt(data, split, bend, 0)) for bend in CURVES}

    def above(table: NDArray[np.float64]) -> list[float]:
        return [round(float(value), 9) for value in table[np.triu_indices(3, k=1)]]

    assert len(set(above(curves["identity τ"].steepness))) == 1
    assert set(above(curves["pooled τ"].midpoint)) == {0.5}
    people, shuffled = above(curves["τ"].steepness), above(curves["shuffled τ"].steepness)
    assert len(set(people)) == 3
    assert sorted(people) == sorted(shuffled)
    assert all(one != two for one, two in zip(people, shuffled, strict=True))


@pytest.fixture(scope="module")
def real(data_folder: Path) -> StudyData:
    """What the studies work on."""
    return load_data(STUDY, data_folder)


@pytest.fixture(scope="module")
def published(real: StudyData) -> Split:
    """The published split, the same for every seed."""
    return splits_of(real, 0)[0]


def test_all_810_mixes_are_of_images_that_are_learnt(real: StudyData, published: Split) -> None:
    assert real.percepts is not None
    ends = [(mix.first_item, mix.second_item) for mix in real.percepts.mixes]
    original = dict(zip(real.labels["original"].items, real.labels["original"].probs, strict=True))

    assert (len(published.train), len(published.test)) == (7000, 3000)
    assert (len(ends), len(real.percepts.annotators)) == (810, 33)
    assert {item for pair in ends for item in pair} <= set(published.train)
    target = learnt(real, published, "mixup labels", 0)
    assert target.augmenting is not None
    assert len(target.augmenting) == 810
    for mix in real.percepts.mixes:  # the classes that people were told are the endpoints' labels
        told = [CIFAR10.index(name) for name in (mix.first_class, mix.second_class)]
        assert told == [original[mix.first_item].argmax(), original[mix.second_item].argmax()]


def test_labels_of_mixes_are_what_the_authors_processed_file_says(
    real: StudyData, published: Split, data_folder: Path
) -> None:
    released = json.loads((data_folder / "hmix" / "processed_hmix_inferences.json").read_bytes())
    target = learnt(real, published, "separate λ_h", 0)
    assert target.augmenting is not None
    labels = target.augmenting.labels
    assert isinstance(labels, CrowdLabels)
    ours: dict[str, Counter[float]] = defaultdict(Counter)
    for place, row in zip(labels.item, labels.probs, strict=True):
        ours[labels.items[place]][round(float(row.max()), 6)] += 1

    left = Counter[int]()
    for name, entry in released.items():
        if (mix := mix_named(name)).item in ours:
            theirs = Counter(round(max(value, 1 - value), 6) for value in entry[SEEN])
            assert not ours[mix.item] - theirs
            left[(theirs - ours[mix.item]).total()] += 1
    assert left.total() == 810
    assert left.total() - left[0] <= 66  # the repeats, which labels leave out
    assert sum(times * number for times, number in left.items()) == 66


def test_soft_endpoints_are_elicited_where_they_can_be_and_simulated_elsewhere(
    real: StudyData, published: Split, data_folder: Path
) -> None:
    soft, votes = real.labels[SIMULATED_SOFT], real.labels[PEOPLE_H]
    released = json.loads(
        (data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json").read_bytes()
    )
    asked = np.array([item in released for item in soft.items])
    theirs = np.array([np.mean(released[item], axis=0) for item in soft.items if item in released])
    step = next(one for one in soft.provenance if one.name == "extend by simulated answers")

    assert soft.items == published.train  # nothing about the 3,000
    assert asked.sum() == 1000
    assert np.abs(soft.probs[asked] - theirs).mean() < 0.005  # theirs count repeats (C12)
    assert (step.settings["items of people"], step.settings["simulated items"]) == (1000, 6000)
    agree = soft.probs.argmax(axis=1) == votes.take(soft.items).probs.argmax(axis=1)
    assert agree[~asked].mean() > 0.97  # simulated people see the votes of the image
    assert learnt(real, published, f"mixup, {SIMULATED_SOFT}", 0).simulated


def test_alpha_and_kappa_of_an_arm_take_the_place_of_the_published(data: StudyData) -> None:
    (split,) = splits_of(data, 0)

    def mixing(**fields: object) -> Mixing | None:
        return target_of(Arm(**fields), data, split, 0).mixing  # type: ignore[arg-type]

    published = mixing(mix="Ent-WC")
    assert published == MIXES["Ent-WC"]
    assert published is not None
    assert mixing(mix="Ent-WC", alpha=5, kappa=0) == replace(published, alpha=5, kappa=0)
    bent = mixing(mix="Ent-WC", curve="identity τ", alpha=5)
    assert bent is not None
    assert (bent.alpha, bent.kappa) == (5, 0.7)
    with pytest.raises(DataError, match="'mixup' has no kappa"):
        mixing(mix="mixup", kappa=0.2)
    with pytest.raises(DataError, match="'no mixing' has no alpha"):
        mixing(mix="no mixing", alpha=0.2)


def test_corrupted_images_of_others_are_shown_to_networks_as_they_are(data: StudyData) -> None:
    changes = {"corruptions": ["fog"], "attacked_items": 4, "fgsm": []}
    study = STUDY.model_copy(update=changes)
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(len(TEST), 16, 16, 3), dtype=np.uint8)
    foggy = replace(data, study=study, corrupted={"fog": Examples(TEST, images)})
    run = next(one for one in plan_trainings(foggy) if one.key.arm == "no mixing")

    with_files = training_cell(foggy, run, None).inputs
    without = training_cell(replace(foggy, corrupted={}), run, None).inputs

    shown = with_files["corrupted"]["fog"]
    attacked = with_files["attacked"]["test"].items
    assert shown.items == attacked
    assert (shown.images == Examples(TEST, images).take(attacked).images).all()
    assert "corrupted" not in without  # trainings of earlier runs are found again
    small = {**with_files, "recipe": replace(with_files["recipe"], network="cnn-3", epochs=1)}
    found = train_and_test(**small)
    again = train_and_test(**{**small, "corrupted": None})
    assert found.arrays["test/fog/3"].shape == (4, 3)
    assert (found.arrays["test"] == again.arrays["test"]).all()
    assert (found.arrays["test/fog/3"] != again.arrays["test/fog/3"]).any()
