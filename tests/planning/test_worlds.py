import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import cosine_similarity

from sfumato.errors import DataError, UnknownName
from sfumato.labels.labelset import LabelSet
from sfumato.planning.embed import rank_scores
from sfumato.planning.information import FORMS, constraints
from sfumato.planning.worlds import (
    LABELS,
    Ask,
    Point,
    World,
    draw_world,
    scores_of,
    stream,
    world_at,
)


def a_world(items: int = 12, classes: int = 5, dimensions: int = 4, seed: int = 0) -> World:
    rng = np.random.default_rng(seed)
    return draw_world(items=items, classes=classes, dimensions=dimensions, rng=rng)


def by_distance(world: World) -> NDArray[np.int64]:
    return np.argsort(cdist(world.items, world.classes), axis=1)


def test_truth_is_the_cosine_between_items_and_classes_seen_from_the_origin() -> None:
    world = a_world()

    expected = cosine_similarity(np.concatenate([world.items, world.classes]))
    np.testing.assert_allclose(world.similarity, expected, atol=1e-12)


def test_hard_label_is_the_nearest_class_not_the_one_an_item_was_drawn_around() -> None:
    world = a_world(items=60, dimensions=2)

    hard = scores_of(world, "hard")

    assert (hard.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(hard.argmax(axis=1), by_distance(world)[:, 0])


def test_soft_labels_fall_off_exponentially_with_distance() -> None:
    world = a_world()

    odds = np.exp(-cdist(world.items, world.classes))

    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scores_of(world, "soft"), expected)


@given(
    items=st.integers(3, 15),
    classes=st.integers(3, 15),
    dimensions=st.integers(2, 30),  # on a line, items beyond all centres have equal labels
    seed=st.integers(0, 99),
)
@settings(max_examples=30, deadline=None)
def test_soft_labels_hold_as_many_constraints_as_the_closed_form_says(
    items: int, classes: int, dimensions: int, seed: int
) -> None:
    world = a_world(items, classes, dimensions, seed)

    told = rank_scores(scores_of(world, "soft")).constraints

    assert told == constraints("soft", items=items, classes=classes)


@pytest.mark.parametrize("kept", [1, 2, 3, 5])
def test_forms_hold_as_many_constraints_as_counting_by_class_sizes_says(kept: int) -> None:
    world = a_world()
    n, k = 12, 5
    sizes = {form: (scores_of(world, form, kept) > 0).sum(axis=0).tolist() for form in LABELS}

    told = {form: rank_scores(scores_of(world, form, kept)).constraints for form in LABELS}

    for form in ("hard", "typicality"):
        assert told[form] == constraints(form, items=n, classes=k, sizes=sizes[form])
    assert told["sparse"] == constraints(
        "sparse", items=n, classes=k, kept=kept, sizes=sizes["sparse"]
    )
    assert told["top-class"] == constraints("top-class", items=n, classes=k, kept=kept)
    assert told["top-class-zero"] == constraints(
        "top-class", items=n, classes=k, kept=kept, unasked="zero"
    )


def test_sparse_labels_keep_the_nearest_classes_with_their_numbers() -> None:
    world = a_world()

    sparse = scores_of(world, "sparse", 2)

    kept = np.sort(by_distance(world)[:, :2], axis=1)
    np.testing.assert_array_equal(np.nonzero(sparse)[1].reshape(-1, 2), kept)
    np.testing.assert_array_equal(sparse[sparse > 0], world.soft.probs[sparse > 0])


@pytest.mark.parametrize("form", ["sparse", "top-class", "top-class-zero"])
def test_labels_that_keep_every_class_are_soft_labels(form: str) -> None:
    world = a_world()

    np.testing.assert_array_equal(scores_of(world, form, 5), world.soft.probs)


def test_top_class_labels_ask_about_the_same_classes_and_more_of_them_with_more_kept() -> None:
    world = a_world()

    asked = [~np.isnan(scores_of(world, "top-class", kept)) for kept in (1, 2, 3)]

    for kept, one in zip((1, 2, 3), asked, strict=True):
        assert (one == one[0]).all()
        assert one[0].sum() == kept
    assert (asked[1] >= asked[0]).all()
    assert (asked[2] >= asked[1]).all()


def test_classes_that_split_the_items_as_similarity_does_are_the_most_telling() -> None:
    items = np.repeat([[5.0, 0.0], [-5.0, 0.1]], 10, axis=0)
    one, other = [0.1, 0.6, 0.1, 0.2], [0.1, 0.2, 0.1, 0.6]  # classes 1 and 3 differ by group
    names = tuple(f"item {number}" for number in range(20))
    soft = LabelSet(names, ("a", "b", "c", "d"), np.array(10 * [one] + 10 * [other]))

    world = World(items, np.ones((4, 2)), soft)

    assert world.telling.tolist() == [1, 3, 0, 2]


def test_every_form_that_can_be_asked_about_classes_can_be_simulated() -> None:
    about_classes = {name for name, form in FORMS.items() if form.places == "items and classes"}

    assert about_classes <= set(LABELS)


def test_a_world_does_not_depend_on_what_is_asked_of_it() -> None:
    first = Point(6, 4, 3, 7, (Ask("soft"),))
    second = Point(6, 4, 3, 7, (Ask("hard"), Ask("sparse", 2)), flipped=0.2)

    np.testing.assert_array_equal(world_at(first).points, world_at(second).points)


def test_seeds_sizes_and_purposes_have_streams_of_their_own() -> None:
    points = [Point(6, 4, 3, seed, ()) for seed in (0, 1)] + [Point(4, 6, 3, 0, ())]

    drawn = {stream(point, "world").random() for point in points}
    drawn |= {stream(points[0], "fit").random(), stream(points[0], "channel").random()}

    assert len(drawn) == 5


def test_a_wider_spread_moves_items_away_from_the_same_centres() -> None:
    near, far = (world_at(Point(6, 3, 4, 0, (), spread=spread)) for spread in (0.5, 2.0))

    np.testing.assert_array_equal(near.classes, far.classes)
    around = 0.5 * (far.items - near.items) / 1.5  # = spread 0.5 of the same draw
    assert np.abs(near.items - around - near.classes[:, None]).sum(axis=2).min(axis=0).max() < 1e-9


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"items": 2}, "number of items is 2"),
        ({"classes": 2}, "number of classes is 2"),
        ({"dimensions": 0}, "1 dimension or more, not 0"),
        ({"seed": -1}, "seed is -1"),
        ({"flipped": 0.6}, "0.6; give 0 to 0.5"),
        ({"asks": (Ask("sparse"),)}, "'sparse' keeps None of 4 classes"),
        ({"asks": (Ask("sparse", 5),)}, "'sparse' keeps 5 of 4 classes"),
        ({"asks": (Ask("soft", 2),)}, "'soft' has no k̂"),
        ({"asks": (Ask("pca", 2),), "flipped": 0.1}, "PCA's are no answers"),
    ],
)
def test_a_point_that_cannot_be_is_refused(wrong: dict[str, object], says: str) -> None:
    right: dict[str, object] = {"items": 5, "classes": 4, "dimensions": 2, "seed": 0, "asks": ()}

    with pytest.raises(DataError, match=says):
        Point(**(right | wrong))  # type: ignore[arg-type]


def test_a_wrong_form_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'sparse'"):
        scores_of(a_world(), "spars", 2)
    with pytest.raises(UnknownName, match="Did you mean 'soft'"):
        Point(5, 4, 2, 0, (Ask("sofd"),))


def test_scores_with_a_wrong_number_of_classes_kept_are_refused() -> None:
    with pytest.raises(DataError, match="keep 6 of 5 classes; give 1 to 5"):
        scores_of(a_world(), "sparse", 6)
