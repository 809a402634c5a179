import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.simulate.top_two import compare_marginals, two_choices

CLASSES = ("cat", "deer", "dog")
SAME_TWICE = '{"first": "cat", "first_percent": "80", "second": "cat", "second_percent": "20"}'
CHOSEN_AND_OUT = (
    '{"first": "dog", "first_percent": "0", "second": "cat", "second_percent": "", '
    '"ruled_out": ["cat", "deer"]}'
)
PLAIN = (
    '{"first": "cat", "first_percent": "70", "second": "dog", "second_percent": "40", '
    '"ruled_out": ["deer"]}'
)


def answers(kind: str, *texts: str, items: str = "abcdef", people: str = "pqrstu") -> Judgments:
    table = pl.DataFrame(
        {
            "item": list(items[: len(texts)]),
            "annotator": list(people[: len(texts)]),
            "answer": texts,
        }
    )
    return Judgments(ask(kind, CLASSES), table)


def as_dict(table: pl.DataFrame) -> dict[str, float]:
    return dict(table.select("marginal", "real").iter_rows())


def test_consistent_reading_takes_no_class_twice_and_no_choice_for_impossible() -> None:
    choices = two_choices(answers("top-two", SAME_TWICE, CHOSEN_AND_OUT, PLAIN))

    assert choices.first.tolist() == [0, 2, 0]
    assert choices.second.tolist() == [-1, 0, 2]
    assert choices.named.tolist() == [False, True, True]
    assert choices.possible.tolist() == [3, 2, 2]
    np.testing.assert_array_equal(choices.top1, [0.8, np.nan, 0.7])
    np.testing.assert_array_equal(choices.top2, [np.nan, np.nan, 0.4])


def test_released_reading_counts_every_second_number_and_every_exclusion() -> None:
    choices = two_choices(answers("top-two", SAME_TWICE, CHOSEN_AND_OUT, PLAIN), "released")

    assert choices.named.tolist() == [True, True, True]
    assert choices.possible.tolist() == [3, 1, 2]
    np.testing.assert_array_equal(choices.top2, [0.2, np.nan, 0.4])


def test_marginals_of_two_choices_by_hand() -> None:
    real = answers("top-two", SAME_TWICE, CHOSEN_AND_OUT, PLAIN)

    found = as_dict(compare_marginals(real, real))

    assert found["top-1 probability, mean"] == pytest.approx(0.75)
    assert found["top-1 probability, 50 % quantile"] == pytest.approx(0.75)
    assert found["share naming an alternative"] == pytest.approx(2 / 3)
    assert found["top-2 probability, mean"] == pytest.approx(0.4)
    assert found["possible classes, mean"] == pytest.approx(7 / 3)
    assert found["share with 2 possible"] == pytest.approx(2 / 3)
    assert found["share stating more than 100 %"] == pytest.approx(1 / 3)


def test_marginals_of_votes_by_hand() -> None:
    votes = answers("choose-one", '"cat"', '"cat"', '"dog"', '"dog"', items="aaab")

    found = as_dict(compare_marginals(votes, votes))

    assert found["share of votes for dog"] == 0.5
    assert found["share of the most voted class, mean"] == pytest.approx((2 / 3 + 1) / 2)
    assert found["chance that two votes on an item agree"] == pytest.approx(1 / 3)
    assert found["share of items with one class only"] == 0.5


def test_marginals_of_yes_no_unsure_by_hand() -> None:
    real = answers(
        "yes-no-unsure",
        '{"cat": "yes", "deer": "unsure", "dog": "unsure"}',
        '{"cat": "no", "deer": "no", "dog": "no"}',
    )

    found = as_dict(compare_marginals(real, real))

    assert found["rate of unsure"] == pytest.approx(1 / 3)
    assert found["share of none of these"] == 0.5
    assert found["unsure rate, standard deviation between people"] == pytest.approx(1 / 3)


def test_what_cannot_be_compared_is_refused() -> None:
    votes = answers("choose-one", '"cat"')
    other = Judgments(
        ask("choose-one", ["cat", "horse"]), pl.DataFrame({"item": ["a"], "answer": ['"cat"']})
    )
    sets = answers("likely-set", '["cat"]')

    with pytest.raises(DataError, match="choose-one cannot be compared"):
        compare_marginals(votes, answers("top-two", PLAIN))
    with pytest.raises(DataError, match="'deer' is in one and not in the other"):
        compare_marginals(votes, other)
    with pytest.raises(DataError, match="Nobody simulates answers to likely-set"):
        compare_marginals(sets, sets)
