"""Ambiguous images from digits: reproducible, marked, in equal strata."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import entr

from sfumato.data import load
from sfumato.errors import DataError, UnknownName
from sfumato.labels.labelset import LabelSet
from sfumato.learn.ambiguous import AmbiguousImages, AmbiguousRecipe, VaeRecipe, generate
from sfumato.learn.ambiguous.generate import draw_pairs
from sfumato.learn.examples import Examples
from sfumato.provenance import is_simulated

QUICK = AmbiguousRecipe(
    count=20,
    candidates=1500,
    members=2,
    most_information=0.3,
    network_steps=200,
    learn_from=600,
    vae=VaeRecipe(steps=300, hidden=128, batch_size=64, learning_rate=4e-3),
    seed=5,
)
PICTURES = load("digits")
EXAMPLES = Examples(PICTURES.items, PICTURES.images)


@pytest.fixture(scope="module")
def made() -> AmbiguousImages:
    return generate(QUICK, EXAMPLES, PICTURES.original())


def test_labels_are_of_synthetic_items_and_say_so(made: AmbiguousImages) -> None:
    assert made.items == tuple(f"synthetic-{number:05d}" for number in range(20))
    assert made.labels.classes == PICTURES.classes
    assert is_simulated(made.labels.provenance)
    assert made.labels.provenance[-1].name == "generate synthetic ambiguous images"
    assert made.labels.provenance[-1].settings["seed"] == 5
    assert made.images.shape == (20, 8, 8, 1)
    assert made.images.dtype == np.uint8


def test_strata_hold_equally_many_and_fit_the_entropy_of_the_labels(made: AmbiguousImages) -> None:
    assert set(Counter(made.stratum).values()) == {4}
    np.testing.assert_allclose(made.entropy, entr(made.labels.probs).sum(axis=1))
    by_name = sorted(zip(made.stratum, made.entropy, strict=True))
    assert [entropy for _, entropy in by_name] == pytest.approx(
        sorted(made.entropy), abs=np.log(2) / 5
    )
    assert (made.information <= 0.3).all()


def test_sources_are_two_images_of_different_classes(made: AmbiguousImages) -> None:
    of = dict(zip(PICTURES.items, (PICTURES.classes[k] for k in PICTURES.labels), strict=True))

    assert tuple(of[item] for item in made.first_item) == made.first_class
    assert tuple(of[item] for item in made.second_item) == made.second_class
    assert all(a != b for a, b in zip(made.first_class, made.second_class, strict=True))
    assert ((made.coefficient >= 0) & (made.coefficient <= 1)).all()


def test_drawn_label_has_mass(made: AmbiguousImages) -> None:
    place = [made.labels.classes.index(name) for name in made.drawn]

    assert (made.labels.probs[np.arange(20), place] > 0).all()


def test_one_seed_one_result_and_the_order_of_labels_does_not_matter(made: AmbiguousImages) -> None:
    original = PICTURES.original()
    again = generate(QUICK, EXAMPLES, original.take(original.items[::-1]))
    other = generate(replace(QUICK, seed=6), EXAMPLES, original)

    np.testing.assert_array_equal(again.images, made.images)
    np.testing.assert_array_equal(again.labels.probs, made.labels.probs)
    assert (again.first_item, again.drawn) == (made.first_item, made.drawn)
    assert again.facts == made.facts
    assert other.first_item != made.first_item


def test_facts_add_up(made: AmbiguousImages) -> None:
    facts = made.facts

    assert facts["learnt_from"] == 600
    assert facts["held_out"] == 120
    assert facts["candidates"] == 1500
    by_stratum = facts["by_stratum"]
    assert sum(row["candidates"] for row in by_stratum) == 1500 - facts["duplicates"]
    assert sum(row["kept"] for row in by_stratum) == facts["kept"]
    assert facts["accuracy"] > 0.6


def test_limit_is_by_default_what_nine_tenths_of_real_images_stay_below() -> None:
    found = generate(replace(QUICK, most_information=None, count=5), EXAMPLES, PICTURES.original())

    assert found.facts["real_share_kept"] == pytest.approx(0.9, abs=0.01)
    assert (found.information <= found.facts["most_information"]).all()


def test_colour_and_other_shapes_work() -> None:
    grey = PICTURES.images[:, :, 1:7].repeat(3, axis=3)
    tinted = (grey * np.array([1, 0.5, 0.25])).astype(np.uint8)

    recipe = replace(QUICK, strata=1)
    found = generate(recipe, Examples(PICTURES.items, tinted), PICTURES.original())

    assert found.images.shape == (20, 8, 6, 3)
    assert found.images[..., 0].mean() > 1.5 * found.images[..., 1].mean()


def test_networks_trained_elsewhere_can_label(made: AmbiguousImages) -> None:
    from sfumato.learn.networks import build_network

    members = [
        build_network("simple-ffn", classes=10, image_shape=(8, 8, 1), seed=seed)
        for seed in range(2)
    ]

    recipe = replace(QUICK, count=1, strata=1, most_information=9.0)
    found = generate(recipe, EXAMPLES, PICTURES.original(), members=members)

    assert "accuracy" not in found.facts
    assert found.entropy[0] > 2  # networks that learnt nothing believe nothing
    with pytest.raises(DataError, match="trained elsewhere have no held-out images"):
        generate(
            replace(recipe, most_information=None), EXAMPLES, PICTURES.original(), members=members
        )


def test_pairs_are_of_the_named_classes_all_equally_often() -> None:
    labels = LabelSet(tuple("abcdef"), ("x", "y", "z"), np.eye(3)[[0, 0, 0, 1, 2, 2]])
    rng = np.random.default_rng(0)

    pairs = draw_pairs(labels, 6000, rng=rng)
    classes = labels.probs.argmax(axis=1)
    seen = Counter(zip(classes[pairs.first], classes[pairs.second], strict=True))
    named = draw_pairs(labels, 50, between=("x", "z"), rng=rng)

    assert sorted(seen) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert min(seen.values()) > 900
    assert Counter(pairs.first.tolist())[3] > 1900  # the only one of its class
    assert 3 not in {*named.first.tolist(), *named.second.tolist()}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"between": ("4", "9")}, None),
        ({"between": ("4",)}, "of one class, '4'"),
        ({"between": ("4", "4")}, "'4' is named twice"),
        ({"learn_from": 100}, "images of the class '.'; at least 20 of each"),
    ],
)
def test_mistakes_are_told(change: dict[str, object], told: str | None) -> None:
    recipe = replace(QUICK, **change)  # type: ignore[arg-type]
    if told is None:
        found = generate(replace(recipe, count=4, strata=1), EXAMPLES, PICTURES.original())
        assert {*found.first_class, *found.second_class} == {"4", "9"}
        return
    with pytest.raises(DataError, match=told):
        generate(recipe, EXAMPLES, PICTURES.original())


def test_unknown_class_and_one_class_only_are_told() -> None:
    original = PICTURES.original()
    fours = tuple(item for item, k in zip(original.items, PICTURES.labels, strict=True) if k == 4)

    with pytest.raises(UnknownName, match="No class is called 'four'"):
        generate(replace(QUICK, between=("four", "9")), EXAMPLES, original)
    with pytest.raises(DataError, match="of one class, '4'"):
        generate(QUICK, EXAMPLES.take(fours), original)


def test_wrong_recipes_are_refused() -> None:
    with pytest.raises(DataError, match="501 images cannot be divided equally among 5"):
        AmbiguousRecipe(count=501)
    with pytest.raises(DataError, match="at least 2 networks, not 1"):
        AmbiguousRecipe(members=1)
    with pytest.raises(DataError, match="at least 0"):
        AmbiguousRecipe(most_information=float("nan"))
