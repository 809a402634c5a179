import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.labels.simulate.top_two import NOBODY, Habits, SeenHabits, TwoChoices, fit_habits

DRAWN = np.array([[100, NOBODY, 1], [60, 30, 2], [50, np.nan, 3], [90, 10, 4]])


def choices(*rows: tuple[float, float, bool, int]) -> TwoChoices:
    top1, top2, named, possible = map(np.array, zip(*rows, strict=True))
    nobody = np.zeros(len(rows), dtype=np.int64)
    return TwoChoices(nobody, nobody, top1, top2, named, possible)


SAID = choices(
    (1.0, np.nan, False, 1),
    (0.6, 0.3, True, 2),
    (np.nan, 0.2, True, 2),
    (0.5, np.nan, True, 3),
)
EVERY = np.ones(4, dtype=bool)


@given(st.integers(0, 1000), st.integers(1, 50))
def test_seen_habits_only_ever_say_whole_real_answers(seed: int, count: int) -> None:
    seen = SeenHabits(DRAWN, np.zeros(4, dtype=np.int64))

    drawn = seen.draw(np.zeros(count, dtype=np.int64), rng=np.random.default_rng(seed))

    assert drawn.shape == (3, count)
    whole = {str(row) for row in DRAWN.tolist()}
    assert {str(row) for row in drawn.T.tolist()} <= whole


def test_all_answers_are_drawn_equally_often() -> None:
    seen = SeenHabits(DRAWN, np.zeros(4, dtype=np.int64))

    drawn = seen.draw(np.zeros(40_000, dtype=np.int64), rng=np.random.default_rng(0))

    shares = [(drawn[2] == possible).mean() for possible in (1, 2, 3, 4)]
    np.testing.assert_allclose(shares, 0.25, atol=0.009)  # four standard errors


def test_personal_habits_are_one_persons_and_anybodys_for_who_has_none() -> None:
    seen = SeenHabits(DRAWN, np.array([7, 2, 7, 2]))

    drawn = seen.draw(np.repeat([7, 2, 5], 300), rng=np.random.default_rng(0))

    of_seven, of_two, of_nobody = (set(part.tolist()) for part in np.split(drawn[2], 3))
    assert of_seven == {1, 3}
    assert of_two == {2, 4}
    assert of_nobody == {1, 2, 3, 4}


def test_joint_habits_keep_answers_whole_and_leave_numberless_ones_out() -> None:
    found = fit_habits(SAID, np.array([3, 3, 4, 4]), EVERY, width=3, habits="joint")
    personal = fit_habits(SAID, np.array([3, 3, 4, 4]), EVERY, width=3, habits="personal")

    assert isinstance(found, SeenHabits)
    assert isinstance(personal, SeenHabits)
    expected = [[100, NOBODY, 1], [60, 30, 2], [50, np.nan, 3]]
    np.testing.assert_array_equal(found.drawn, expected)
    assert found.person.tolist() == [0, 0, 0]
    assert personal.person.tolist() == [3, 3, 4]
    assert found.answers == 3


def test_named_alternative_is_possible_even_if_it_was_ruled_out() -> None:
    found = fit_habits(
        choices((0.6, 0.3, True, 0)), np.zeros(1, int), EVERY[:1], width=3, habits="joint"
    )

    assert isinstance(found, SeenHabits)
    assert found.drawn.tolist() == [[60, 30, 2]]


def test_kind_without_usable_answers_takes_those_of_all() -> None:
    rows = np.array([False, False, True, False])  # the answer without a first number

    for name in ("independent", "published", "joint"):
        found = fit_habits(SAID, np.zeros(4, int), rows, width=3, habits=name)
        everywhere = fit_habits(SAID, np.zeros(4, int), EVERY, width=3, habits=name)
        if isinstance(found, Habits):
            assert isinstance(everywhere, Habits)
            assert found.top1 == everywhere.top1
            assert found.answers == 1
        else:
            assert isinstance(everywhere, SeenHabits)
            np.testing.assert_array_equal(found.drawn, everywhere.drawn)


def test_wrong_habits_are_sentences() -> None:
    with pytest.raises(DataError, match=r"Personal habits need to know who .* 'joint'"):
        fit_habits(SAID, np.array([0, 0, -1, 0]), EVERY, width=3, habits="personal")
    with pytest.raises(DataError, match="answers seen for high entropy need from 1"):
        SeenHabits(DRAWN, np.zeros(4, int)).check(3, "high")
    with pytest.raises(DataError, match="for low entropy"):
        SeenHabits(np.array([[50, 40, 1]]), np.zeros(1, int)).check(3, "low")
    with pytest.raises(DataError, match="for low entropy"):
        SeenHabits(np.empty((0, 3)), np.zeros(0, int)).check(3, "low")
