import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.alter import (
    class_level,
    in_fill,
    majority_labels,
    matched_smoothing,
    random_labels,
    smooth,
    temperature,
    uniform_labels,
)
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet, hard_labels
from sfumato.learn.targets import (
    Targets,
    distil,
    fixed_targets,
    in_fill_crowd,
    judgments_on,
    one_annotator,
    one_of_pool,
    sampled_targets,
    votes_of_m,
    with_extra_class,
)
from sfumato.provenance import Step, is_simulated

CLASSES = ("cat", "dog", "frog")


def labels_of(items: str, seed: int = 0) -> LabelSet:
    """Random labels; about a third of the probabilities are zero."""
    rng = np.random.default_rng(seed)
    probs = rng.random((len(items), 3)) * (rng.random((len(items), 3)) < 0.7)
    probs[:, rng.integers(3)] += 0.1
    return LabelSet(tuple(items), CLASSES, probs / probs.sum(axis=1, keepdims=True))


def labels_with(
    items: tuple[str, ...],
    classes: tuple[str, ...],
    rows: list[list[float]],
    weight: tuple[float, ...] = (),
) -> LabelSet:
    return LabelSet(items, classes, np.array(rows), np.array(weight))


def crowd_of(item: list[int], items: str) -> CrowdLabels:
    """Judgment n is by person n, and its first probability says which one it is."""
    top = np.linspace(0.5, 0.9, len(item))
    return CrowdLabels(
        tuple(items),
        tuple(f"p{n}" for n in range(len(item))),
        CLASSES,
        np.array(item, dtype=np.int64),
        np.arange(len(item)),
        np.stack([top, 1 - top, np.zeros(len(item))], axis=1),
    )


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draws(targets: Targets, epochs: int, seed: int = 0) -> NDArray[np.float32]:
    """Shape (epochs, items, classes)."""
    source = generator(seed)
    return torch.stack([targets.draw(source) for _ in range(epochs)]).numpy()


KINDS: dict[str, Callable[[LabelSet], Targets]] = {
    "fixed": lambda labels: fixed_targets(labels, labels.items),
    "sampled": lambda labels: sampled_targets(labels, labels.items),
    "one annotator": lambda labels: one_annotator(
        in_fill_crowd(crowd_of([0, 0, 1], "".join(labels.items[:2])), labels), labels.items
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@given(st.integers(2, 20), st.integers(0, 99))
def test_every_target_is_rows_of_float32_that_sum_to_one(kind: str, size: int, seed: int) -> None:
    labels = labels_of("abcdefghijklmnopqrst"[:size], seed)

    targets = KINDS[kind](labels)
    rows = targets.draw(generator(seed))

    assert rows.dtype == torch.float32
    assert rows.shape == (len(targets.items), len(targets.classes))
    assert (rows >= 0).all()
    assert rows.sum(dim=1).numpy() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_gives_the_same_rows_also_after_pickling(kind: str) -> None:
    targets = KINDS[kind](labels_of("abcdefgh"))

    sent = pickle.loads(pickle.dumps(targets))

    assert (draws(targets, 5, seed=3) == draws(sent, 5, seed=3)).all()


@pytest.mark.parametrize("kind", ["sampled", "one annotator"])
def test_drawn_rows_differ_between_epochs(kind: str) -> None:
    rows = draws(KINDS[kind](labels_of("abcdefgh")), 20)

    assert (rows != rows[0]).any()


def test_fixed_targets_are_the_labels_and_use_no_randomness() -> None:
    labels = labels_of("abc")
    source = generator()

    targets = fixed_targets(labels, "cab")
    rows = targets.draw(source)

    assert rows.numpy() == pytest.approx(labels.probs[[2, 0, 1]], abs=1e-7)
    assert (source.get_state() == generator().get_state()).all()
    assert targets.items == ("c", "a", "b")
    assert targets.classes == CLASSES


def test_sampled_targets_are_one_hot_and_converge_to_the_labels() -> None:
    labels = labels_of("abcdefgh")

    rows = draws(sampled_targets(labels, "hgfedcba"), 4000)

    assert set(np.unique(rows)) == {0, 1}
    assert (rows.sum(axis=2) == 1).all()
    # Four standard errors of a share of 4,000 draws are at most 0.032.
    assert rows.mean(axis=0)[::-1] == pytest.approx(labels.probs, abs=0.032)


def test_sampled_targets_never_show_a_class_without_mass() -> None:
    labels = labels_of("abcdefghijklmnop", 5)

    rows = draws(sampled_targets(labels, labels.items), 500)

    assert (labels.probs == 0).any()
    assert not rows[:, labels.probs == 0].any()


def test_sampled_targets_draw_items_independently() -> None:
    labels = labels_with(("a", "b"), ("x", "y"), [[0.5, 0.5], [0.5, 0.5]])

    rows = draws(sampled_targets(labels, "ab"), 4000)

    assert (rows[:, 0, 0] * rows[:, 1, 0]).mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(("number", "chosen"), [(0.0, 1), (0.5, 2), (1 - 2**-53, 2)])
def test_the_ends_of_a_class_are_drawn_right_also_in_a_row_short_of_one(
    number: float, chosen: int
) -> None:
    labels = labels_with(("a",), (*CLASSES, "none"), [[0, 0.4999998, 0.4999998, 0]])
    drawn = torch.tensor([number], dtype=torch.float64)

    row = sampled_targets(labels, "a").choose(torch.tensor([0]), drawn)

    assert row.argmax() == chosen


@given(st.lists(st.integers(0, 4), min_size=5, max_size=40), st.integers(0, 99))
def test_one_annotator_rows_are_always_among_the_items_own(item: list[int], seed: int) -> None:
    crowd = judgments_on(crowd_of(item, "abcde"), {"abcde"[i] for i in item})
    order = sorted({"abcde"[i] for i in item}, reverse=True)

    rows = draws(one_annotator(crowd, order), 5, seed)

    for place, name in enumerate(order):
        own = crowd.probs[crowd.item == crowd.items.index(name)].astype(np.float32)
        assert all((row == own).all(axis=1).any() for row in rows[:, place])


def test_each_of_an_items_judgments_is_drawn_equally_often() -> None:
    crowd = crowd_of([0, 1, 0, 1, 1, 0, 0, 2], "abc")

    rows = draws(one_annotator(crowd, "cba"), 4000)

    for place, name in enumerate("cba"):
        own = crowd.probs[crowd.item == "abc".index(name)].astype(np.float32)
        often = (rows[:, place, None] == own).all(axis=2).mean(axis=0)
        assert often == pytest.approx(1 / len(own), abs=0.032)


def test_a_pool_is_chosen_once_and_stays() -> None:
    crowd = crowd_of([0] * 10 + [1] * 10, "ab")

    rows = draws(one_of_pool(crowd, "ab", 3, rng=np.random.default_rng(0)), 300)

    assert [len(np.unique(rows[:, item], axis=0)) for item in (0, 1)] == [3, 3]


def test_another_seed_chooses_another_pool() -> None:
    crowd = crowd_of([0] * 50, "a")

    pools = [
        np.unique(draws(one_of_pool(crowd, "a", 3, rng=np.random.default_rng(s)), 100), axis=0)
        for s in (0, 1)
    ]

    assert pools[0].tolist() != pools[1].tolist()


def test_a_pool_larger_than_an_items_judgments_is_an_error_or_keeps_them() -> None:
    crowd = crowd_of([0, 0, 0, 1], "ab")
    rng = np.random.default_rng(0)

    kept = draws(one_of_pool(crowd, "ab", 2, fewer="keep", rng=rng), 50)

    assert (kept[:, 1] == crowd.probs[3].astype(np.float32)).all()
    with pytest.raises(DataError, match=r"Item 'b' has 1 judgments, fewer than the 2 asked for"):
        one_of_pool(crowd, "ab", 2, rng=rng)


MAKE: dict[str, Callable[[str], Targets]] = {
    "fixed": lambda items: fixed_targets(labels_of("abc"), items),
    "sampled": lambda items: sampled_targets(labels_of("abc"), items),
    "one annotator": lambda items: one_annotator(crowd_of([0, 1, 2], "abcd"), items),
}


@pytest.mark.parametrize("kind", MAKE)
def test_an_item_without_a_label_is_named(kind: str) -> None:
    with pytest.raises(DataError, match=r"Item 'd' has no label \(1 of 4 items without one\)"):
        MAKE[kind]("abcd")


@pytest.mark.parametrize("kind", MAKE)
def test_a_label_without_an_item_is_named(kind: str) -> None:
    with pytest.raises(DataError, match=r"a label for 'b' but no such item \(2 of 3 labelled"):
        MAKE[kind]("a")


@pytest.mark.parametrize("kind", MAKE)
def test_an_item_given_twice_is_named(kind: str) -> None:
    with pytest.raises(DataError, match=r"The item 'b' occurs more than once"):
        MAKE[kind]("abcb")


def test_an_item_that_nobody_judged_may_be_listed_in_the_crowd() -> None:
    targets = one_annotator(crowd_of([0, 2], "abc"), "ca")

    assert targets.items == ("c", "a")


@pytest.mark.parametrize(
    ("make", "last"),
    [
        (MAKE["fixed"], "target fixed"),
        (MAKE["sampled"], "target sampled"),
        (MAKE["one annotator"], "target one annotator"),
    ],
)
def test_targets_say_where_they_came_from(make: Callable[[str], Targets], last: str) -> None:
    assert make("abc").provenance[-1] == Step(last)


ORIGINAL = hard_labels("abcdef", CLASSES, np.array([0, 1, 2, 0, 1, 2]))
PEOPLE = labels_of("abcdef")

ALTERED: dict[str, LabelSet] = {
    "hard": ORIGINAL,
    "majority": majority_labels(PEOPLE, "share"),
    "random": random_labels("abcdef", CLASSES, rng=np.random.default_rng(0)),
    "uniform": uniform_labels("abcdef", CLASSES),
    "smoothed": smooth(ORIGINAL, 0.1),
    "matched smoothing": matched_smoothing(ORIGINAL, PEOPLE),
    "smoothed people": smooth(PEOPLE, 0.1),
    "sharpened": temperature(PEOPLE, 0.5),
    "class-level": class_level(PEOPLE, ORIGINAL),
    "in-filled": in_fill(labels_of("bd"), ORIGINAL),
    "distilled": distil([PEOPLE, ORIGINAL]),
    "none of these": with_extra_class(PEOPLE, "none"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_every_altered_label_set_is_a_target(name: str) -> None:
    labels = ALTERED[name]

    rows = fixed_targets(labels, "fedcba").draw(generator())

    assert rows.sum(dim=1).numpy() == pytest.approx(1, abs=1e-6)
    assert rows.flip(0).numpy() == pytest.approx(labels.probs, abs=1e-7)
    assert fixed_targets(labels, "fedcba").provenance[:-1] == labels.provenance


def test_an_extra_class_has_no_mass_and_a_name_of_its_own() -> None:
    wider = with_extra_class(PEOPLE, "none")

    assert wider.classes == (*CLASSES, "none")
    assert (wider.probs[:, :3] == PEOPLE.probs).all()
    assert not sampled_targets(wider, wider.items).draw(generator())[:, 3].any()
    with pytest.raises(DataError, match="have a class 'dog' already"):
        with_extra_class(PEOPLE, "dog")


def test_distilled_labels_are_the_mean_joined_by_item_and_class() -> None:
    other = labels_with(("b", "a"), ("frog", "cat", "dog"), [[1, 0, 0], [0, 0.5, 0.5]])
    first = labels_with(("a", "b"), CLASSES, [[1, 0, 0], [0, 1, 0]])

    mean = distil([first, other])

    assert mean.items == ("a", "b")
    assert mean.probs.tolist() == [[0.75, 0.25, 0], [0, 0.5, 0.5]]
    assert not mean.weight.any()
    assert not is_simulated(mean.provenance)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([], "no predictions to distil"),
        ([labels_of("ab"), labels_of("a")], "Item 'b' has no label"),
        ([labels_of("a"), labels_of("ab")], "a label for 'b' but no such item"),
        ([labels_of("a"), labels_with(("a",), ("x",), [[1]])], "different classes"),
    ],
)
def test_predictions_that_do_not_match_are_refused(
    predictions: list[LabelSet], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        distil(predictions)


def test_judgments_on_items_are_theirs_and_an_unjudged_item_is_named() -> None:
    crowd = crowd_of([0, 1, 0, 2], "abcd")

    kept = judgments_on(crowd, "ca")

    assert kept.annotator.tolist() == [0, 2, 3]
    with pytest.raises(DataError, match=r"Item 'd' has no label \(1 of 2"):
        judgments_on(crowd, "ad")


def test_in_filled_crowd_has_peoples_judgments_or_one_from_the_base() -> None:
    crowd = crowd_of([1, 0, 1], "cax")

    filled = in_fill_crowd(crowd, labels_of("abc"))

    assert filled.items == ("a", "b", "c")
    assert filled.item.tolist() == [0, 2, 0, 1]
    assert filled.annotator.tolist() == [0, 1, 2, NOT_RECORDED]
    assert (filled.probs[:3] == crowd.probs).all()
    assert (filled.probs[3] == labels_of("abc").probs[1]).all()


def test_in_filled_crowd_matches_classes_by_name() -> None:
    base = labels_with(("a", "b"), ("frog", "cat", "dog"), [[1, 0, 0], [0, 1, 0]])

    filled = in_fill_crowd(crowd_of([0], "a"), base)

    assert filled.classes == base.classes
    assert filled.probs.tolist() == [[0, 0.5, 0.5], [0, 1, 0]]


def test_in_filling_with_a_base_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="a label for 'c' but no such item"):
        in_fill_crowd(crowd_of([0, 2], "abc"), labels_of("ab"))
    with pytest.raises(DataError, match="different classes: 'frog' is in one"):
        in_fill_crowd(crowd_of([0], "a"), labels_with(("a",), ("cat", "dog"), [[1, 0]]))


def test_in_filled_mean_is_the_in_filled_label_set() -> None:
    crowd, base = crowd_of([1, 0, 1, 1], "ba"), labels_of("abcd")

    mean = in_fill_crowd(crowd, base).mean()

    assert mean.items == base.items
    assert mean.probs == pytest.approx(in_fill(crowd.mean(), base).probs)


def test_votes_of_m_are_shares_of_m_votes_that_were_cast() -> None:
    labels = labels_with(("a", "b"), CLASSES, [[0.8, 0.2, 0], [0, 1 / 3, 2 / 3]], (50, 51))

    few = votes_of_m(labels, 6, rng=np.random.default_rng(0))

    assert few.weight.tolist() == [6, 6]
    assert few.probs * 6 == pytest.approx(np.rint(few.probs * 6))
    assert not few.probs[labels.probs == 0].any()
    assert few.provenance[-1].settings["M"] == 6


def test_votes_of_all_are_the_labels() -> None:
    labels = labels_with(("a",), CLASSES, [[0.8, 0.2, 0]], (50,))

    assert votes_of_m(labels, 50, rng=np.random.default_rng(0)).probs.tolist() == [[0.8, 0.2, 0]]


@pytest.mark.parametrize("weight", [0, 3])
def test_labels_that_are_no_votes_cannot_be_sub_sampled(weight: int) -> None:
    labels = labels_with(("a",), CLASSES, [[0.5, 0.5, 0]], (weight,))

    with pytest.raises(DataError, match=re.escape("item 'a' is not a share of votes")):
        votes_of_m(labels, 1, rng=np.random.default_rng(0))


def test_mean_of_the_eight_networks_is_as_far_from_people_as_recomputed(data_folder: Path) -> None:
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    items, classes = tuple(map(str, range(10_000))), tuple(map(str, range(10)))
    human = counts / counts.sum(axis=1, keepdims=True)
    networks = [
        LabelSet(items, classes, np.load(path)["probs"].astype(np.float64))
        for path in sorted((data_folder / "cifar10h-predictions").glob("*.npz"))
    ]

    mean = distil(networks)

    assert len(networks) == 8
    assert -(human * np.log(mean.probs)).sum(axis=1).mean() == pytest.approx(0.407, abs=5e-4)


def test_two_votes_of_cifar10h_disagree_as_often_as_the_counts_say(data_folder: Path) -> None:
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    number = counts.sum(axis=1)
    items, classes = tuple(map(str, range(10_000))), tuple(map(str, range(10)))
    labels = LabelSet(items, classes, counts / number[:, None], number)

    few = votes_of_m(labels, 2, rng=np.random.default_rng(0))

    differ = 1 - (counts * (counts - 1)).sum(axis=1) / (number * (number - 1))
    spread = np.sqrt((differ * (1 - differ)).sum()) / 10_000
    assert (few.probs == 0.5).any(axis=1).mean() == pytest.approx(differ.mean(), abs=4 * spread)
    assert few.probs.mean(axis=0) == pytest.approx(labels.probs.mean(axis=0), abs=2e-3)
