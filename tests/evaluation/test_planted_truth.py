"""The audit of a made-up dataset finds what was planted in it, all of it and nothing else.

600 simulated digits in two sources and two splits. Planted: 20 exact duplicates, 20 near ones
(10 shifted by a pixel, 10 noisy), of which known ones lie across train and test and some have
another label; 45 of 300 labelled items whose mode differs from the original; and watched
probabilities that make 40 items easy, 40 ambiguous and 40 hard.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from sfumato.evaluation.cartography import data_map, steadiness
from sfumato.evaluation.duplicates import (
    NEAR,
    Duplicates,
    Pictures,
    find_duplicates,
    groups_table,
    keep_one_each,
    leakage_table,
    pairs_table,
)
from sfumato.evaluation.mode_shift import mode_shift
from sfumato.labels.alter import majority_labels
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.signals import agreement_strata, original_agreement, strata_of

Place = tuple[str, str, str]

CLASSES = tuple("0123456789")
NOISE = 0.1
"""Standard deviation of the planted noise, as a share of the picture's own: the limit is 0.14."""


@dataclass(frozen=True, eq=False)
class Planted:
    parts: list[Pictures]
    exact: set[frozenset[Place]]
    near: set[frozenset[Place]]
    leaks: dict[str, tuple[str, str, bool]]
    """Item of the test split: its twin in the training split, the kind, whether labels agree."""


def strokes(count: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Simulated digits: a bright random stroke on black, away from the border."""
    images = np.zeros((count, 28, 28))
    for image in images:
        steps = np.cumsum(rng.normal(0, 1.5, (40, 2)), axis=0)
        path = np.clip(14 + steps - steps.mean(axis=0), 4, 23).round().astype(int)
        image[path[:, 0], path[:, 1]] = 1
    soft = gaussian_filter(images, (0, 0.8, 0.8))
    return (255 * soft / soft.max(axis=(1, 2), keepdims=True)).astype(np.uint8)


def noisy(image: NDArray[np.uint8], share: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    changed = image + rng.normal(0, share * image.std(), image.shape)
    return np.clip(changed, 0, 255).round().astype(np.uint8)


@pytest.fixture(scope="module")
def planted() -> Planted:
    rng = np.random.default_rng(2024)
    names = [("pens", "train"), ("pens", "test"), ("scans", "train"), ("scans", "test")]
    images = dict(zip(names, np.split(strokes(600, rng), 4), strict=True))
    labels = {name: rng.integers(10, size=150) for name in names}
    exact: set[frozenset[Place]] = set()
    near: set[frozenset[Place]] = set()
    leaks: dict[str, tuple[str, str, bool]] = {}
    # Copies go to the last 40 places of "scans"; 20 of them to its test split.
    for number in range(40):
        source = names[number % 2]  # from the training and the test split of "pens" in turn
        target = ("scans", "test") if number < 20 else ("scans", "train")
        picture = images[source][number]
        kind = "exact" if number % 4 < 2 else "near"
        if kind == "near" and number % 8 < 4:
            picture = np.roll(picture, (1, -1), axis=(0, 1))
        elif kind == "near":
            picture = noisy(picture, NOISE, rng)
        images[target][149 - number] = picture
        agree = number % 3 > 0
        label = labels[source][number]
        labels[target][149 - number] = label if agree else (label + 1) % 10
        here, there = (*source, str(number)), (*target, str(149 - number))
        (exact if kind == "exact" else near).add(frozenset((here, there)))
        if source[1] != target[1]:
            test, train = (there, here) if target[1] == "test" else (here, there)
            leaks["/".join(test)] = ("/".join(train), kind, agree)
    parts = [
        Pictures(*name, tuple(map(str, range(150))), images[name], tuple(map(str, labels[name])))
        for name in names
    ]
    return Planted(parts, exact, near, leaks)


@pytest.fixture(scope="module")
def found(planted: Planted) -> Duplicates:
    return find_duplicates(planted.parts)


def pairs_of(found: Duplicates, kind: str) -> set[frozenset[Place]]:
    rows = pairs_table(found).filter(kind=kind).iter_rows(named=True)
    return {
        frozenset(
            (row[f"{side}_source"], row[f"{side}_split"], row[f"{side}_item"])
            for side in ("first", "second")
        )
        for row in rows
    }


def test_exactly_the_planted_exact_duplicates_are_found(
    planted: Planted, found: Duplicates
) -> None:
    assert len(planted.exact) == 20
    assert pairs_of(found, "exact") == planted.exact
    assert found.exact_surplus == 20
    assert len(keep_one_each(found)) == 580


def test_exactly_the_planted_near_duplicates_are_found(planted: Planted, found: Duplicates) -> None:
    """Precision and recall 1 at the default limit, for noise of a tenth and shifts of one pixel."""
    assert len(planted.near) == 20
    assert pairs_of(found, "near") == planted.near
    assert found.distance.max() < NEAR
    assert (found.distance < 1e-5).sum() == 10  # the shifted ones; noise leaves a distance
    assert len(keep_one_each(found, "near")) == 560


def test_groups_are_the_planted_pairs(planted: Planted, found: Duplicates) -> None:
    table = groups_table(found)

    rows = table.group_by("group").agg("source", "split", "item").iter_rows(named=True)
    groups = {frozenset(zip(row["source"], row["split"], row["item"], strict=True)) for row in rows}
    assert groups == planted.exact | planted.near
    assert table["kind"].value_counts().sort("kind").rows() == [("exact", 40), ("near", 40)]


def test_exactly_the_planted_leaks_are_found_with_their_labels(
    planted: Planted, found: Duplicates
) -> None:
    table = leakage_table(found)

    seen = {
        f"{row['source']}/test/{row['item']}": (
            f"{row['twin_source']}/train/{row['twin']}",
            row["kind"],
            row["labels_agree"],
        )
        for row in table.iter_rows(named=True)
    }
    assert seen == planted.leaks
    assert len(seen) == 20
    assert not all(agree for _, _, agree in seen.values())


def test_keeping_one_each_leaves_no_leak(planted: Planted, found: Duplicates) -> None:
    kept = set(keep_one_each(found, "near"))
    parts = []
    for part in planted.parts:
        rows = [
            row for row, item in enumerate(part.items) if (part.source, part.split, item) in kept
        ]
        items = tuple(part.items[row] for row in rows)
        parts.append(Pictures(part.source, part.split, items, part.images[rows]))

    again = find_duplicates(parts)

    assert len(again.pictures) == 560
    assert groups_table(again).is_empty()
    assert leakage_table(again).is_empty()


def test_more_noise_needs_a_wider_limit_and_brings_in_nothing_else() -> None:
    """Noise of 0.3 of the contrast is a distance of about 1 - 1 / √1.09 = 0.042."""
    rng = np.random.default_rng(5)
    images = strokes(200, rng)
    names = tuple(map(str, range(200)))
    copies = np.stack([noisy(image, 0.3, rng) for image in images])
    parts = [Pictures("pens", "train", names, images), Pictures("pens", "test", names, copies)]

    strict, wide = find_duplicates(parts), find_duplicates(parts, near=0.06)

    assert len(strict.near) == 0
    assert wide.near.tolist() == [[n, n + 200] for n in range(200)]
    assert wide.distance.max() < 0.06


@pytest.fixture(scope="module")
def people() -> tuple[LabelSet, LabelSet]:
    """Original labels, and simulated people: 45 of 300 modes shifted, 120 items disputed."""
    rng = np.random.default_rng(7)
    original = rng.integers(10, size=300)
    mode = original.copy()
    mode[:45] = (mode[:45] + rng.integers(1, 10, size=45)) % 10
    human = np.eye(10)[mode]
    for row in range(120):  # the shifted ones are among the disputed
        other = original[row] if row < 45 else (mode[row] + 1) % 10
        human[row, [mode[row], other]] = 0.6, 0.4
    items = tuple(map(str, range(300)))
    return hard_labels(items, CLASSES, original), LabelSet(items, CLASSES, human)


def test_the_planted_shift_of_modes_is_counted(people: tuple[LabelSet, LabelSet]) -> None:
    original, human = people

    agreement = original_agreement(human, original)

    assert (agreement.differ, agreement.tied) == (45, 0)
    assert agreement.share == 0.85
    assert np.flatnonzero(agreement_strata(human, original)["mode shifted"]).tolist() == list(
        range(45)
    )
    assert np.flatnonzero(strata_of(human)["disputed"]).tolist() == list(range(120))


def test_the_planted_share_of_a_gain_is_recovered(people: tuple[LabelSet, LabelSet]) -> None:
    """Models that reproduce their targets, but for 15 items that only softness gets right."""
    original, human = people
    vote = majority_labels(human, "error")
    slips = np.arange(200, 215)  # of the models of hard labels, on every seed
    learnt = {}
    for name, labels in (("original", original), ("majority", vote), ("soft", human)):
        probs = labels.probs.copy()
        if name != "soft":
            probs[slips] = np.roll(probs[slips], 1, axis=1)
        learnt[name] = [LabelSet(labels.items, CLASSES, probs)] * 6

    found = mode_shift(
        learnt, original=original, human=human, metrics=["accuracy"], rng=np.random.default_rng(0)
    )

    on_people = next(one for one in found.gains if one.tested_on == "majority")
    on_original = next(one for one in found.gains if one.tested_on == "original")
    assert found.modes_differ == 45
    assert on_people.total.value == pytest.approx(60 / 300)
    assert on_people.by_mode.value == pytest.approx(45 / 300)
    assert on_people.by_softness.value == pytest.approx(15 / 300)
    assert on_people.share_by_mode.value == pytest.approx(0.75)
    assert on_people.share_by_mode.low < 0.75 < on_people.share_by_mode.high
    assert on_original.by_mode.value == pytest.approx(-45 / 300)
    assert on_original.by_softness.value == pytest.approx(15 / 300)


def test_the_planted_regions_are_recovered() -> None:
    """Easy learns its class, hard learns another, ambiguous differs from seed to seed."""
    rng = np.random.default_rng(3)
    kinds = np.repeat(["easy", "ambiguous", "hard"], 40)
    target = rng.integers(10, size=120)
    seeds, epochs = 6, 40
    learnt = np.empty((seeds, 120), dtype=np.int64)
    for seed in range(seeds):
        learnt[seed] = np.where(kinds == "hard", (target + 1) % 10, target)
        doubt = (kinds == "ambiguous") & (seed % 2 == 1)
        learnt[seed, doubt] = (target[doubt] + 2) % 10
    ramp = 1 - np.exp(-np.arange(1, epochs + 1) / 5)  # all start from nothing known
    watched = np.full((seeds, epochs, 120, 10), 0.1)
    watched += ramp[None, :, None, None] * 0.95 * (np.eye(10)[learnt][:, None] - 0.1)
    labels = hard_labels(tuple(map(str, range(120))), CLASSES, target)

    late = data_map(watched.astype(np.float16), labels, last=5)
    settled = steadiness(watched, last=5)

    assert late.region == tuple(kinds)
    assert late.epochs == (36, 40)
    assert late.confidence[:40] == pytest.approx(np.full(40, 0.955), abs=2e-3)
    assert late.variability[40:80] == pytest.approx(np.full(40, 0.475), abs=2e-3)
    assert late.correctness.tolist() == [1.0] * 40 + [0.5] * 40 + [0.0] * 40
    # What differs late is the seeds, and only where that was planted.
    assert settled.movement.max() < 1e-4
    assert settled.spread[40:80].min() > 0.4
    assert settled.spread[:40].max() == pytest.approx(0, abs=1e-12)
