"""Data maps have the mean, spread and correctness of their definitions, and splits keep the mix."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.cartography import (
    REGIONS,
    Bounds,
    DataMap,
    Region,
    data_map,
    data_map_table,
    difficulty_split,
)
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.signals import entropy

Watched = NDArray[np.float64]


def named(probs: NDArray[np.float64]) -> LabelSet:
    return LabelSet(
        tuple(f"i{n}" for n in range(len(probs))), tuple("abcdef"[: probs.shape[1]]), probs
    )


def beliefs(seed: int, shape: tuple[int, ...] = (3, 4, 5), classes: int = 3) -> Watched:
    return np.random.default_rng(seed).dirichlet(np.ones(classes), size=shape)


def placed(regions: list[Region], classes: list[int]) -> tuple[DataMap, LabelSet]:
    """A map with given regions, and hard targets."""
    items = tuple(map(str, range(len(regions))))
    flat = np.full(len(items), 0.5)
    found = DataMap(items, flat, flat, flat, tuple(regions), "top class", Bounds(), (1, 1), 1)
    return found, hard_labels(items, "abc", np.array(classes))


def test_a_map_has_the_values_of_a_hand_worked_case() -> None:
    said = [[Fraction(9, 10), Fraction(1, 2)], [Fraction(4, 10), Fraction(2, 10)]]  # seeds, epochs
    watched = np.array([[[[float(p), 1 - float(p)]] for p in run] for run in said])

    found = data_map(watched, named(np.array([[0.7, 0.3]])))

    values = [p for run in said for p in run]
    mean = sum(values) / 4
    assert found.confidence[0] == pytest.approx(float(mean))
    assert found.variability[0] == pytest.approx(
        float(sum((p - mean) ** 2 for p in values) / 4) ** 0.5
    )
    assert found.correctness[0] == 0.5  # 0.9, and the tie at 0.5 goes to the first class
    assert (found.epochs, found.seeds) == ((1, 2), 2)


@given(st.integers(0, 1000), st.integers(1, 4))
def test_the_last_epochs_are_those_that_count(seed: int, last: int) -> None:
    watched = beliefs(seed)
    target = named(np.eye(3)[[0, 1, 2, 0, 1]])

    found = data_map(watched, target, last=last)
    alone = data_map(watched[:, 4 - last :], target)

    assert found.confidence == pytest.approx(alone.confidence)
    assert found.variability == pytest.approx(alone.variability)
    assert found.epochs == (5 - last, 4)


@given(st.integers(0, 1000))
def test_both_readings_of_gold_are_one_for_hard_targets(seed: int) -> None:
    watched = beliefs(seed)
    target = named(np.eye(3)[[0, 1, 2, 0, 1]])

    top, expected = data_map(watched, target), data_map(watched, target, gold="expected")

    assert top.confidence == pytest.approx(expected.confidence)
    assert top.variability == pytest.approx(expected.variability)


def test_the_expected_reading_weighs_the_classes_of_a_soft_target() -> None:
    watched = np.array([[[[0.6, 0.3, 0.1]], [[0.2, 0.8, 0.0]]]])
    target = named(np.array([[0.5, 0.25, 0.25]]))

    found = data_map(watched, target, gold="expected")

    steps = [0.6 * 0.5 + 0.4 * 0.25, 0.2 * 0.5 + 0.8 * 0.25]
    assert found.confidence[0] == pytest.approx(np.mean(steps))
    assert found.variability[0] == pytest.approx(abs(steps[0] - steps[1]) / 2)


@given(st.integers(0, 1000), st.permutations(range(3)))
def test_maps_do_not_care_about_the_order_of_seeds_epochs_and_classes(
    seed: int, order: list[int]
) -> None:
    watched = beliefs(seed, (3, 3, 5))
    target = named(beliefs(seed + 1, (5,)))

    found = data_map(watched, target, gold="expected")
    turned = LabelSet(target.items, target.classes, target.probs[:, order])
    other = data_map(watched[order][:, order][..., order], turned, gold="expected")

    assert other.confidence == pytest.approx(found.confidence)
    assert other.variability == pytest.approx(found.variability)
    assert other.correctness == pytest.approx(found.correctness)


def test_half_precision_is_enough_for_a_map() -> None:
    watched = beliefs(0, (6, 5, 40))
    target = named(beliefs(1, (40,)))

    exact, kept = (data_map(seen, target) for seen in (watched, watched.astype(np.float16)))

    assert kept.confidence == pytest.approx(exact.confidence, abs=1e-3)
    assert kept.variability == pytest.approx(exact.variability, abs=1e-3)


@pytest.mark.parametrize(
    ("values", "region"),
    [
        ([0.8, 0.8], "easy"),
        ([0.75, 0.75], "easy"),
        ([0.2, 0.2], "hard"),
        ([0.25, 0.25], "hard"),
        ([0.5, 0.5], "ambiguous"),  # steadily in the middle
        ([1.0, 0.55], "ambiguous"),  # high on average, but moving
        ([0.0, 0.45], "ambiguous"),
        ([1.0, 0.625], "easy"),  # a spread of 0.1875 is still steady
    ],
)
def test_regions_follow_their_bounds(values: list[float], region: Region) -> None:
    watched = np.array([[[[p, 1 - p]] for p in values]])

    assert data_map(watched, named(np.array([[1.0, 0]]))).region == (region,)


def test_bounds_can_be_told() -> None:
    watched = np.array([[[[0.8, 0.2]], [[0.6, 0.4]]]])
    strict = Bounds(easy_confidence=0.9, hard_confidence=0.8, steady_variability=0.11)

    assert data_map(watched, named(np.array([[1.0, 0]])), bounds=strict).region == ("hard",)


def test_the_table_has_a_row_an_item_and_peoples_entropy() -> None:
    watched, target = beliefs(0), named(beliefs(1, (5,)))
    human = LabelSet(target.items[::-1], target.classes, target.probs[::-1])

    table = data_map_table(data_map(watched, target), arm="soft", network="lenet", human=human)

    assert table.columns == [
        "item",
        "arm",
        "network",
        "confidence",
        "variability",
        "correctness",
        "region",
        "stratum",
        "human_entropy",
        "human_uncertainty",
    ]
    assert set(table["stratum"]) == {"disputed"}
    assert table["item"].to_list() == list(target.items)
    assert table["human_entropy"].to_numpy() == pytest.approx(entropy(target))
    assert data_map_table(data_map(watched, target))["human_entropy"].null_count() == 5


@pytest.mark.parametrize(
    ("watched", "last", "says"),
    [
        (np.ones((2, 2, 2)), None, r"shape \(2, 2, 2\)"),
        (np.full((1, 1, 3, 2), 0.5), None, "3 items were watched, but there are targets of 2"),
        (np.full((1, 1, 2, 4), 0.25), None, "4 classes were watched, but the target has 2"),
        (np.array([[[[0.5, 0.5], [0.5, 0.4]]]]), None, "item 'i1' in epoch 1 of run 1"),
        (np.array([[[[0.5, 0.5], [np.nan, 0.4]]]]), None, "item 'i1' in epoch 1 of run 1"),
        (np.array([[[[1.5, -0.5], [0.5, 0.5]]]]), None, "item 'i0' in epoch 1 of run 1"),
        (np.full((1, 3, 2, 2), 0.5), 4, "last 4 epochs were asked for; 3 were watched"),
        (np.full((1, 3, 2, 2), 0.5), 0, "last 0 epochs"),
    ],
)
def test_watched_probabilities_of_the_wrong_form_are_refused(
    watched: Watched, last: int | None, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        data_map(watched, named(np.eye(2)), last=last)


@pytest.mark.parametrize(
    ("bounds", "says"),
    [((0.4, 0.6, 0.1), "hard not above easy"), ((0.9, 0.1, -1), "it must be 0 or more")],
)
def test_bounds_that_cross_are_refused(bounds: tuple[float, float, float], says: str) -> None:
    with pytest.raises(DataError, match=says):
        Bounds(*bounds)


@given(st.integers(0, 10_000), st.integers(3, 80))
def test_every_part_has_its_share_of_every_class_in_every_region(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    regions = [REGIONS[k] for k in rng.integers(3, size=count)]
    classes = rng.integers(3, size=count).tolist()
    found, target = placed(regions, classes)

    parts = difficulty_split(found, target, rng=rng)

    named_parts = (parts.train, parts.validation, parts.test)
    assert sorted(int(item) for part in named_parts for item in part) == list(range(count))
    assert parts.moved == 0
    kinds = list(zip(regions, classes, strict=True))
    for part, share in zip(named_parts, (0.7, 0.15, 0.15), strict=True):
        assert abs(len(part) - share * count) < 1
        inside = Counter(kinds[int(item)] for item in part)
        for kind, total in Counter(kinds).items():
            assert abs(inside[kind] - share * total) <= 1 + 1e-9


@pytest.mark.parametrize(("count", "sizes"), [(3045, (2131, 457, 457)), (2484, (1738, 373, 373))])
def test_parts_have_the_published_sizes(count: int, sizes: tuple[int, int, int]) -> None:
    """S4-41."""
    rng = np.random.default_rng(0)
    regions = [REGIONS[k] for k in rng.integers(3, size=count)]
    found, target = placed(regions, rng.integers(3, size=count).tolist())

    parts = difficulty_split(found, target, rng=rng)

    assert (len(parts.train), len(parts.validation), len(parts.test)) == sizes


def test_training_gets_its_floor_of_easy_items_and_says_what_it_cost() -> None:
    """S4-42."""
    regions = [REGIONS[0]] * 30 + [REGIONS[2]] * 30
    found, target = placed(regions, [0, 1, 2] * 20)

    plain = difficulty_split(found, target, rng=np.random.default_rng(0))
    floored = difficulty_split(found, target, easy_floor=9, rng=np.random.default_rng(0))

    def easy_in(items: tuple[str, ...]) -> Counter[int]:
        return Counter(int(item) % 3 for item in items if int(item) < 30)

    assert min(easy_in(plain.train).values()) == 7
    assert easy_in(floored.train) == {0: 9, 1: 9, 2: 9}
    assert floored.moved == len(floored.train) - len(plain.train) == 6
    assert set(plain.train) < set(floored.train)
    assert len(floored.validation) == len(floored.test) == 6  # the cost is shared
    together = (*floored.train, *floored.validation, *floored.test)
    assert sorted(map(int, together)) == list(range(60))


def test_a_floor_that_a_class_cannot_reach_is_refused() -> None:
    found, target = placed(["easy", "easy", "hard"], [0, 1, 2])

    with pytest.raises(DataError, match="Class 'c' has 0 easy items, fewer than the 1"):
        difficulty_split(found, target, easy_floor=1, rng=np.random.default_rng(0))


def test_splits_do_not_depend_on_the_order_of_items() -> None:
    found, target = placed(["easy", "hard"] * 20, [0, 1] * 20)
    back = DataMap(
        found.items[::-1],
        found.confidence,
        found.variability,
        found.correctness,
        found.region[::-1],
        found.gold,
        found.bounds,
        found.epochs,
        found.seeds,
    )

    one, other = (
        difficulty_split(each, target, rng=np.random.default_rng(3)) for each in (found, back)
    )

    assert one == other


def test_shares_that_are_none_are_refused() -> None:
    found, target = placed(["easy"], [0])

    with pytest.raises(DataError, match="they must sum to 1"):
        difficulty_split(found, target, shares=(0.5, 0.4, 0.2), rng=np.random.default_rng(0))
