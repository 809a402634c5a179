import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate.crowd import allocate, annotator_names, draw_columns, in_class_order


@given(
    n_items=st.integers(1, 40),
    per_item=st.integers(1, 9),
    more=st.integers(0, 12),
    seed=st.integers(0, 2**32 - 1),
)
def test_nobody_answers_an_item_twice_and_all_answer_equally_often(
    n_items: int, per_item: int, more: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)

    seats = allocate(n_items=n_items, per_item=per_item, n_annotators=per_item + more, rng=rng)

    assert all(len(set(row)) == per_item for row in seats.tolist())
    load = np.bincount(seats.ravel(), minlength=per_item + more)
    assert load.max() - load.min() <= 1


def test_people_meet_in_ever_new_groups() -> None:
    rng = np.random.default_rng(0)

    seats = allocate(n_items=2000, per_item=3, n_annotators=10, rng=rng)

    met = {frozenset(row) for row in seats.tolist()}
    assert len(met) == 120  # every one of the 10 over 3 groups


def test_more_answers_than_people_is_refused() -> None:
    with pytest.raises(DataError, match="3 annotators cannot give 4 answers per item"):
        allocate(n_items=1, per_item=4, n_annotators=3, rng=np.random.default_rng(0))


def test_names_say_that_people_are_simulated() -> None:
    names = annotator_names(12000)

    assert names[0] == "simulated-0001"
    assert len(set(names)) == 12000
    assert all(name.startswith("simulated-") for name in names)


def test_draws_follow_their_row() -> None:
    probs = np.array([[0.2, 0.5, 0.3], [0.9, 0.0, 0.1]])
    rows = np.repeat([0, 1], 100_000)

    drawn = draw_columns(probs, rows, rng=np.random.default_rng(0))

    shares = np.stack([np.bincount(drawn[rows == row], minlength=3) / 100_000 for row in (0, 1)])
    # four standard errors of a share from 100,000 draws are at most 0.0064
    np.testing.assert_allclose(shares, probs, atol=0.0064)


@given(
    weights=st.lists(
        st.lists(st.sampled_from([0.0, 1e-12, 0.3, 1.0, 7.0]), min_size=4, max_size=4).filter(any),
        min_size=1,
        max_size=5,
    ),
    seed=st.integers(0, 1000),
)
def test_a_column_of_mass_zero_is_never_drawn(weights: list[list[float]], seed: int) -> None:
    probs = np.array(weights)
    rows = np.repeat(np.arange(len(probs)), 50)

    drawn = draw_columns(probs, rows, rng=np.random.default_rng(seed))

    assert (probs[rows, drawn] > 0).all()


@pytest.mark.parametrize("extreme", [0.0, np.nextafter(1.0, 0.0)])
def test_a_draw_at_the_very_end_of_a_row_stays_where_mass_is(extreme: float) -> None:
    class Extreme(np.random.Generator):
        def random(self, size: int) -> np.ndarray:  # type: ignore[override]
            return np.full(size, extreme)

    probs = np.tile([0.0, 0.5, 0.5, 0.0], (5000, 1))

    drawn = draw_columns(probs, np.arange(5000), rng=Extreme(np.random.PCG64()))

    assert (drawn == (1 if extreme == 0 else 2)).all()


def test_other_classes_are_refused_and_the_same_reordered() -> None:
    labels = LabelSet(("a",), ("cat", "dog"), np.array([[0.75, 0.25]]), np.array([4.0]))

    turned = in_class_order(labels, ("dog", "cat"))

    assert turned.probs.tolist() == [[0.25, 0.75]]
    assert turned.weight.tolist() == [4.0]
    with pytest.raises(DataError, match="'deer' is in one and not in the other"):
        in_class_order(labels, ("cat", "deer", "dog"))
