import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.learn.folds import (
    Selection,
    Split,
    class_of,
    elicited_only,
    given_split,
    k_folds,
    learning_curve,
    require_classes,
    role_swap,
    seventy_thirty_with_held_out,
    small_data,
    stratified_split,
    with_validation,
)

ITEMS = tuple(map(str, range(60)))
STRATA = {item: "abc"[int(item) % 3] for item in ITEMS}
LABELS = hard_labels(ITEMS, "abc", np.arange(60) % 3)
WHOLE = Split(ITEMS[:48], (), ITEMS[48:], selection="none")


def rng_of(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def mixed(items: Iterable[str], seed: int) -> list[str]:
    return rng_of(seed + 1000).permutation(list(items)).tolist()


def counts_of(items: Iterable[str], strata: dict[str, str]) -> Counter[str]:
    return Counter(strata[item] for item in items)


@st.composite
def strata_of_items(draw: st.DrawFn, smallest: int = 1) -> dict[str, str]:
    """Up to five strata of some items each, under names in no order."""
    sizes = draw(st.lists(st.integers(smallest, 25), min_size=1, max_size=5))
    names = [f"s{stratum}" for stratum, size in enumerate(sizes) for _ in range(size)]
    ids = mixed(map(str, range(len(names))), draw(st.integers(0, 99)))
    return dict(zip(ids, names, strict=True))


SPLITTERS: dict[str, Callable[[list[str], np.random.Generator], Any]] = {
    "k folds": lambda items, rng: k_folds(items, 4, strata=STRATA, rng=rng),
    "k folds without strata": lambda items, rng: k_folds(items, 4, rng=rng),
    "stratified": lambda items, rng: stratified_split(items, STRATA, (0.6, 0.2, 0.2), rng=rng),
    "given": lambda items, rng: given_split(items, ["x", "y"], rng=rng),
    "role swap": lambda items, rng: role_swap(items, ["x", "y"], strata=STRATA, rng=rng),
    "70/30": lambda items, rng: seventy_thirty_with_held_out(
        items, ["x", "y"], sorted(items)[:30], held_out=10, rng=rng
    ),
    "small data": lambda items, rng: small_data(
        Split(tuple(items), (), ("x",), selection="none"), LABELS, 5, rng=rng
    ),
    "elicited only": lambda items, rng: elicited_only(
        Split(tuple(items), (), ("x",), selection="none"), sorted(items)[:30], 12, rng=rng
    ),
}


@pytest.mark.parametrize("name", SPLITTERS)
@given(st.integers(0, 99))
def test_order_of_items_does_not_matter_and_the_same_seed_gives_the_same_split(
    name: str, seed: int
) -> None:
    first = SPLITTERS[name](mixed(ITEMS, seed), rng_of(seed))
    second = SPLITTERS[name](mixed(ITEMS, seed + 1), rng_of(seed))

    assert first == second


@pytest.mark.parametrize("name", SPLITTERS)
def test_another_seed_gives_another_split(name: str) -> None:
    assert SPLITTERS[name](list(ITEMS), rng_of(0)) != SPLITTERS[name](list(ITEMS), rng_of(1))


@pytest.mark.parametrize("name", SPLITTERS)
def test_an_item_given_twice_is_named(name: str) -> None:
    with pytest.raises(DataError, match=r"[Ii]tem '7' (occurs more than once|is in the training)"):
        SPLITTERS[name]([*ITEMS, "7"], rng_of())


@given(strata_of_items(), st.integers(2, 12), st.integers(0, 99))
def test_test_parts_of_folds_have_every_item_once(
    strata: dict[str, str], k: int, seed: int
) -> None:
    assume(len(strata) >= max(k, 4))

    folds = k_folds(list(strata), k, rng=rng_of(seed))

    assert sorted(item for fold in folds for item in fold.test) == sorted(strata)
    sizes = [len(fold.test) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    for fold in folds:
        assert sorted((*fold.train, *fold.validation, *fold.test)) == sorted(strata)
        assert fold.selection == "nested"


@given(strata_of_items(smallest=3), st.integers(2, 8), st.integers(0, 99))
def test_strata_are_dealt_to_folds_evenly(strata: dict[str, str], k: int, seed: int) -> None:
    assume(len(strata) >= k)

    folds = k_folds(list(strata), k, strata=strata, selection="none", rng=rng_of(seed))

    table = [counts_of(fold.test, strata) for fold in folds]
    for stratum in set(strata.values()):
        assert max(row[stratum] for row in table) - min(row[stratum] for row in table) <= 1
    sizes = [len(fold.test) for fold in folds]
    assert max(sizes) - min(sizes) <= 1


def test_ten_folds_of_cifar10h_are_nine_thousand_and_one_thousand() -> None:
    items = tuple(map(str, range(10_000)))

    folds = k_folds(items, 10, selection="none", rng=rng_of())

    assert {(len(fold.train), len(fold.test)) for fold in folds} == {(9000, 1000)}


def test_every_pair_of_items_meets_in_a_fold_equally_often() -> None:
    met = Counter(
        fold.test
        for seed in range(3000)
        for fold in k_folds("abcd", 2, selection="none", rng=rng_of(seed))
    )

    assert len(met) == 6
    assert [count / 3000 for count in met.values()] == pytest.approx([1 / 3] * 6, abs=0.035)


def test_test_parts_do_not_depend_on_the_selection() -> None:
    options: tuple[Selection, ...] = ("nested", "on-test-part", "none")

    by_option = [
        k_folds(ITEMS, 5, strata=STRATA, selection=selection, rng=rng_of()) for selection in options
    ]

    tests = [[fold.test for fold in folds] for folds in by_option]
    assert tests[0] == tests[1] == tests[2]


def test_selection_as_published_is_on_the_very_items_that_are_reported() -> None:
    folds = k_folds(ITEMS, 5, selection="on-test-part", rng=rng_of())

    assert all(fold.validation == fold.test and len(fold.train) == 48 for fold in folds)
    assert {fold.selection for fold in folds} == {"on-test-part"}


def test_nested_selection_takes_a_tenth_of_each_stratum_of_the_training_part() -> None:
    folds = k_folds(ITEMS, 2, strata=STRATA, rng=rng_of())

    assert [counts_of(fold.validation, STRATA) for fold in folds] == [{"a": 1, "b": 1, "c": 1}] * 2


@pytest.mark.parametrize("k", [-1, 0, 1, 4])
def test_a_number_of_folds_that_cannot_be_is_refused(k: int) -> None:
    with pytest.raises(DataError, match=f"3 items cannot be dealt to {k} folds"):
        k_folds("abc", k, rng=rng_of())


def test_a_class_that_is_only_in_a_test_fold_is_named() -> None:
    strata = {**STRATA, "60": "rare"}

    with pytest.raises(DataError, match=r"No item of 'rare' is in the training part of fold \d"):
        k_folds([*ITEMS, "60"], 5, strata=strata, rng=rng_of())


def test_an_item_without_a_stratum_is_named() -> None:
    with pytest.raises(DataError, match=r"Item '60' has no stratum \(1 of 61 without one\)"):
        k_folds([*ITEMS, "60"], 5, strata=STRATA, rng=rng_of())


SHARES = st.tuples(*[st.integers(1, 20)] * 3).map(
    lambda parts: (parts[0] / sum(parts), parts[1] / sum(parts), parts[2] / sum(parts))
)


@given(strata_of_items(smallest=4), SHARES, st.integers(0, 99))
def test_stratified_parts_are_disjoint_cover_and_are_balanced_within_one(
    strata: dict[str, str], shares: tuple[float, float, float], seed: int
) -> None:
    try:
        split = stratified_split(list(strata), strata, shares, rng=rng_of(seed))
    except DataError as error:
        assert re.search("is empty|is in the training part", str(error))
        assume(False)

    parts = (split.train, split.validation, split.test)
    assert sorted(item for part in parts for item in part) == sorted(strata)
    for part, share in zip(parts, shares, strict=True):
        assert abs(len(part) - share * len(strata)) < 1
        for stratum, size in Counter(strata.values()).items():
            assert abs(counts_of(part, strata)[stratum] - share * size) <= 1 + 1e-6


@pytest.mark.parametrize(
    ("size", "published"), [(3045, (2131, 457, 457)), (2484, (1738, 373, 373))]
)
def test_stratified_split_has_the_sizes_of_paper_five(
    size: int, published: tuple[int, int, int]
) -> None:
    strata = {str(n): str(n**2 % 7) for n in range(size)}

    split = stratified_split(list(strata), strata, (0.7, 0.15, 0.15), rng=rng_of())

    assert (len(split.train), len(split.validation), len(split.test)) == published


@pytest.mark.parametrize("shares", [(0.7, 0.3, 0.0), (0.7, 0.2, 0.2), (1.2, -0.1, -0.1)])
def test_shares_that_are_no_shares_are_refused(shares: tuple[float, float, float]) -> None:
    with pytest.raises(DataError, match="must be above 0 and they must sum to 1"):
        stratified_split(ITEMS, STRATA, shares, rng=rng_of())


def test_a_share_that_divides_is_met_although_its_product_is_rounded() -> None:
    strata = dict.fromkeys(map(str, range(100)), "s")

    split = stratified_split(list(strata), strata, (0.465, 0.465, 0.07), rng=rng_of())

    assert 0.07 * 100 > 7
    assert (len(split.train), len(split.validation), len(split.test)) == (46, 47, 7)


def test_a_stratum_that_is_not_trained_on_is_named() -> None:
    strata = {**dict.fromkeys("abcdefgh", "common"), "i": "rare"}

    with pytest.raises(DataError, match="No item of 'rare' is in the training part, but item 'i'"):
        stratified_split(list(strata), strata, (0.5, 0.25, 0.25), rng=rng_of())


def test_a_part_that_gets_no_item_is_named() -> None:
    with pytest.raises(DataError, match="The validation part of the split is empty"):
        stratified_split("abc", dict.fromkeys("abc", "s"), (0.9, 0.01, 0.09), rng=rng_of())


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"train": "ab", "validation": "c", "test": "bd"},
            "'b' is in the training part and in the test",
        ),
        (
            {"train": "ab", "validation": "c", "test": "c"},
            "'c' is in the validation part and in the tes",
        ),
        (
            {"train": "ab", "validation": "a", "test": "d"},
            "'a' is in the training part and in the vali",
        ),
        (
            {"train": "aa", "validation": "b", "test": "c"},
            "'a' is in the training part and in the train",
        ),
        ({"train": "", "validation": "b", "test": "c"}, "The training part of the split is empty"),
        (
            {"train": "a", "validation": "", "test": "c"},
            "The validation part of the split is empty",
        ),
        ({"train": "a", "validation": "b", "test": ""}, "The test part of the split is empty"),
        (
            {"train": "a", "validation": "b", "test": "c", "second_test": "a"},
            "'a' is in the training part and in the second test",
        ),
        (
            {"train": "a", "validation": "b", "test": "c", "selection": "none"},
            "Nothing is selected, but item 'b' is in the validation part",
        ),
        (
            {"train": "a", "validation": "b", "test": "c", "selection": "on-test-part"},
            "the validation part is another one",
        ),
        (
            {"train": "ab", "validation": "bc", "test": "bc", "selection": "on-test-part"},
            "'b' is in the training part and in the test part",
        ),
    ],
)
def test_a_split_that_is_none_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        Split(**parts)


def test_role_swap_learns_from_the_test_items() -> None:
    split = role_swap(ITEMS, ["x", "y"], validation_share=0.25, rng=rng_of())

    assert sorted((*split.train, *split.validation)) == sorted(ITEMS)
    assert len(split.validation) == 15
    assert split.test == ("x", "y")


def test_items_with_a_same_name_in_both_parts_are_refused() -> None:
    with pytest.raises(DataError, match="Item '0' is in the training part and in the test part"):
        role_swap(["0", "1"], ["0", "2"], rng=rng_of())


@pytest.mark.parametrize("share", [-0.1, 0, 1])
def test_a_validation_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(DataError, match=f"The share to choose on is {share}; it must be above 0"):
        with_validation(WHOLE, share, rng=rng_of())


def test_a_split_with_a_selection_gets_no_second_one() -> None:
    split = with_validation(WHOLE, 0.1, rng=rng_of())

    with pytest.raises(DataError, match=r"has a selection already \('nested'\)"):
        with_validation(split, 0.1, rng=rng_of())


def test_a_validation_share_keeps_the_second_test_set() -> None:
    split = Split(ITEMS[:40], (), ITEMS[40:50], second_test=ITEMS[50:], selection="none")

    chosen = with_validation(split, 0.5, rng=rng_of())

    assert (chosen.test, chosen.second_test) == (split.test, split.second_test)
    assert (len(chosen.train), len(chosen.validation)) == (20, 20)


def test_seventy_thirty_holds_a_hundred_of_the_published_elicited_items_out(
    data_folder: Path,
) -> None:
    folder = data_folder / "cifar10s"
    train, test = (
        list(map(str, np.load(folder / f"{part}_indices.npy"))) for part in ("train", "test")
    )
    elicited = re.findall(r'"(\d+)":', (folder / "cifar10s_t2clamp_redist10.json").read_text())

    split, other = (
        seventy_thirty_with_held_out(train, test, elicited, rng=rng_of(seed)) for seed in (0, 1)
    )

    assert len(elicited) == 1000
    assert (len(split.train), len(split.test), len(split.second_test)) == (6900, 3000, 100)
    assert set(split.second_test) <= set(elicited)
    assert len(set(split.train) & set(elicited)) == 900
    assert split.second_test != other.second_test
    assert split.selection == "none"


def test_elicited_items_outside_the_training_items_are_named() -> None:
    with pytest.raises(DataError, match=r"'z' is not among the training items \(1 of 2 are not\)"):
        seventy_thirty_with_held_out("ab", "c", "az", held_out=1, rng=rng_of())


@pytest.mark.parametrize("held_out", [0, 3])
def test_holding_out_more_than_there_are_or_nothing_is_refused(held_out: int) -> None:
    with pytest.raises(
        DataError, match=f"{held_out} elicited items were asked for, but there are 2"
    ):
        seventy_thirty_with_held_out("abc", "d", "ab", held_out=held_out, rng=rng_of())


def test_only_elicited_items_are_learnt_from_the_fewer_among_the_more() -> None:
    few, more = (elicited_only(WHOLE, ITEMS[:20], n, rng=rng_of(3)) for n in (5, 12))

    assert len(few.train) == 5
    assert len(more.train) == 12
    assert set(few.train) < set(more.train) < set(ITEMS[:20])
    assert few.test == WHOLE.test


def test_elicited_items_that_are_not_trained_on_stay_out() -> None:
    split = elicited_only(WHOLE, ITEMS[40:], 8, rng=rng_of())

    assert split.train == ITEMS[40:48]
    with pytest.raises(DataError, match="9 elicited items for training were asked for, but there"):
        elicited_only(WHOLE, ITEMS[40:], 9, rng=rng_of())


@given(st.integers(1, 16), st.integers(0, 99))
def test_small_data_has_as_many_of_each_class_as_asked_for(per_class: int, seed: int) -> None:
    split = small_data(WHOLE, LABELS, per_class, rng=rng_of(seed))

    assert counts_of(split.train, STRATA) == dict.fromkeys("abc", per_class)
    assert set(split.train) <= set(WHOLE.train)
    assert split.test == WHOLE.test


def test_the_largest_size_of_a_learning_curve_must_be_there() -> None:
    with pytest.raises(DataError, match="has 16 items of class 'a', fewer than the 17 asked for"):
        learning_curve(WHOLE, LABELS, [1, 17, 2], rng=rng_of())


def test_small_data_of_more_than_there_are_names_the_class() -> None:
    with pytest.raises(DataError, match="has 16 items of class 'a', fewer than the 17 asked for"):
        small_data(WHOLE, LABELS, 17, rng=rng_of())


def test_small_data_of_a_class_without_items_names_it() -> None:
    wider = LabelSet(ITEMS, (*"abc", "none"), np.eye(4)[np.arange(60) % 3])

    with pytest.raises(DataError, match="has 0 items of class 'none', fewer than the 1 asked for"):
        small_data(WHOLE, wider, 1, rng=rng_of())


@given(st.lists(st.integers(1, 16), min_size=1, max_size=6, unique=True), st.integers(0, 99))
def test_learning_curve_is_nested_and_in_the_order_asked_for(sizes: list[int], seed: int) -> None:
    splits = learning_curve(WHOLE, LABELS, sizes, rng=rng_of(seed))

    assert [len(split.train) for split in splits] == [3 * n for n in sizes]
    by_size = sorted((set(split.train) for split in splits), key=len)
    assert all(small < large for small, large in itertools.pairwise(by_size))
    assert splits[0] == small_data(WHOLE, LABELS, sizes[0], rng=rng_of(seed))


@pytest.mark.parametrize("sizes", [[], [0], [3, -1]])
def test_a_learning_curve_of_no_items_is_refused(sizes: list[int]) -> None:
    with pytest.raises(DataError, match=re.escape(f"asked for are {sizes}; ask for 1 or more")):
        learning_curve(WHOLE, LABELS, sizes, rng=rng_of())


def test_a_training_item_without_a_label_is_named() -> None:
    with pytest.raises(DataError, match="Item '47' has no label"):
        small_data(WHOLE, LABELS.take(ITEMS[:47]), 1, rng=rng_of())


def test_a_tie_belongs_to_the_first_class() -> None:
    labels = LabelSet(("i",), ("x", "y", "z"), np.array([[0.2, 0.4, 0.4]]))

    assert class_of(labels) == {"i": "y"}


def test_a_class_missing_in_training_is_named_wherever_it_is_asked_about() -> None:
    labels = hard_labels("abcd", ("x", "y"), np.array([0, 0, 0, 1]))

    require_classes(Split(("a", "d"), ("b",), ("c",)), labels)
    for split in (
        Split(("a",), ("b",), ("d",)),
        Split(("a",), ("d",), ("b",)),
        Split(("a",), (), ("b",), second_test=("d",), selection="none"),
    ):
        with pytest.raises(
            DataError, match=r"No item of 'y' is in the training part, but item 'd'"
        ):
            require_classes(split, labels)


def test_classes_are_also_checked_where_selection_is_on_the_test_part() -> None:
    labels = hard_labels("abc", ("x", "y"), np.array([0, 1, 1]))
    split = Split(("a",), ("b", "c"), ("b", "c"), selection="on-test-part")

    with pytest.raises(DataError, match="No item of 'y' is in the training part"):
        require_classes(split, labels)
