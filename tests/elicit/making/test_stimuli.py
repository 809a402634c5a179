import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.elicit.making.stimuli import (
    choose_pairs,
    choose_triplets,
    compared_images,
    images_with_class,
    known_images,
    mixed_images,
    single_images,
)
from sfumato.errors import DataError
from sfumato.judgments.mixed import Mix


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def names(count: int) -> list[str]:
    return [f"i{place}" for place in range(count)]


def ids(items: list[str]) -> dict[str, str]:
    return {item: f"opaque-{item}" for item in items}


def test_one_image_has_its_class_as_gold_and_stratum_but_shows_nothing_of_it() -> None:
    (made,) = single_images(
        ["a"], {"a": "x"}, target=6, labels={"a": "cat"}, batches={"a": "batch 1"}
    )

    assert (made.item, made.images, made.target) == ("a", ("x",), 6)
    assert (made.gold, made.stratum, made.batch) == ("cat", "cat", "batch 1")
    assert made.shown == {}
    assert made.role == "main"


def test_typicality_shows_the_known_class_or_every_class() -> None:
    known = images_with_class(["a"], {"a": "x"}, ["cat", "dog"], target=1, labels={"a": "dog"})
    every = images_with_class(["a"], {"a": "x"}, ["cat", "dog"], target=1)

    assert [one.shown for one in known] == [{"class": "dog"}]
    assert [one.shown for one in every] == [{"class": "cat"}, {"class": "dog"}]
    assert len({one.key for one in every}) == 2


def test_checks_have_gold_no_target_and_their_own_role() -> None:
    (made,) = known_images({"a": "cat"}, {"a": "x"}, role="check")

    assert (made.role, made.gold, made.target, made.shown) == ("check", "cat", 0, {})


def test_comparisons_keep_the_names_of_their_items_secret() -> None:
    pair, triplet = compared_images([("a", "b"), ("c", "a", "b")], ids(["a", "b", "c"]), target=5)

    assert pair.secret == {"first": "a", "second": "b"}
    assert triplet.secret == {"item": "c", "first": "a", "second": "b"}
    assert triplet.images == ("opaque-c", "opaque-a", "opaque-b")
    assert (pair.shown, triplet.shown) == ({}, {})


def test_hundred_images_make_the_4950_pairs_of_the_paper() -> None:
    pairs = choose_pairs(names(100), count=None, rng=rng())

    assert len(pairs) == 4_950
    assert len({frozenset(pair) for pair in pairs}) == 4_950


def test_no_image_is_always_the_first_of_its_pairs() -> None:
    pairs = choose_pairs(names(60), count=None, rng=rng())

    times = Counter(first for first, _ in pairs)
    assert 10 < times["i0"] < 50


@given(st.integers(2, 12), st.integers(1, 80), st.integers(0, 5))
def test_drawn_pairs_differ_and_are_as_many_as_asked_for(items: int, count: int, seed: int) -> None:
    pairs = choose_pairs(names(items), count=count, rng=rng(seed))

    assert len(pairs) == min(count, math.comb(items, 2))
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    assert all(first != second for first, second in pairs)


@given(st.integers(3, 9), st.integers(1, 300), st.integers(0, 5))
def test_drawn_triplets_differ_whichever_of_the_two_comes_first(
    items: int, count: int, seed: int
) -> None:
    triplets = choose_triplets(names(items), count=count, rng=rng(seed))

    assert len(triplets) == min(count, 3 * math.comb(items, 3))
    assert len({(item, frozenset(two)) for item, *two in triplets}) == len(triplets)
    assert all(len(set(triplet)) == 3 for triplet in triplets)


def test_same_seed_draws_the_same_triplets() -> None:
    first, again, other = (
        choose_triplets(names(30), count=50, rng=rng(seed)) for seed in (3, 3, 4)
    )

    assert first == again
    assert first != other


@pytest.mark.parametrize("choose", [choose_pairs, choose_triplets])
def test_too_few_images_to_compare_are_refused(choose: object) -> None:
    assert callable(choose)
    with pytest.raises(DataError, match=r"need at least t.* images; found 1"):
        choose(["a"], count=None, rng=rng())


def test_billions_of_pairs_are_refused_before_they_are_made() -> None:
    with pytest.raises(DataError, match="1,799,970,000 pairs"):
        choose_pairs(names(60_000), count=None, rng=rng())


def test_mix_shows_its_classes_but_not_its_sources() -> None:
    mix = Mix("a", "b", "cat", "dog", 0.25)

    (made,) = mixed_images([mix], {mix.item: "x"}, target=2, name_classes=True)
    (unnamed,) = mixed_images([mix], {mix.item: "x"}, target=2, name_classes=False)

    assert made.shown == {"classes": ["cat", "dog"]}
    assert unnamed.shown == {}
    assert made.secret is not None
    assert made.secret["coefficient"] == 0.25
    assert (made.secret["first_item"], made.secret["second_item"]) == ("a", "b")
