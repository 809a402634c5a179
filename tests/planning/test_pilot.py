"""What a pilot says: contradictions, repeats, ratings, times, and pilots that say nothing."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, Comparisons
from sfumato.judgments.formats.datasets import read_cifar10s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.labels.running import numbered_crowd
from sfumato.planning.information import constraints
from sfumato.planning.pilot import (
    answer_information,
    error_rate,
    flip_rate,
    of_shared_items,
    pilot,
    telling_classes,
    to_ratings,
)
from sfumato.planning.weigh import contradictions, item_errors, perceive, state_answers

Array = NDArray[np.float64]
CLASSES = ("cat", "dog", "deer")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def votes(*rows: tuple[str, str | None, str, str], seconds: float | None = 2.0) -> Judgments:
    """Item, annotator, class, view."""
    items, people, answers, views = zip(*rows, strict=True)
    table = pl.DataFrame(
        {
            "item": items,
            "annotator": people,
            "answer": [json.dumps(answer) for answer in answers],
            "view": views,
            "seconds": [seconds] * len(rows),
        },
        schema_overrides={"annotator": pl.String, "seconds": pl.Float64},
    )
    return Judgments(ask("choose-one", CLASSES), table)


def crowd(answers: Array) -> CrowdLabels:
    """(people, items, classes) as one row an answer."""
    people, items, classes = answers.shape
    return CrowdLabels(
        tuple(map(str, range(items))),
        tuple(f"p{person}" for person in range(people)),
        tuple(map(str, range(classes))),
        np.tile(np.arange(items), people),
        np.repeat(np.arange(people), items),
        answers.reshape(-1, classes),
    )


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.2, 0.5, np.nan])] * 8), min_size=1))
def test_contradictions_are_those_counted_pair_by_pair(rows: list[tuple[float, ...]]) -> None:
    first, second = np.array(rows)[:, :4], np.array(rows)[:, 4:]

    both, against = contradictions(first, second)

    for row in range(len(rows)):
        signs = [
            (np.sign(first[row, a] - first[row, b]), np.sign(second[row, a] - second[row, b]))
            for a, b in combinations(range(4), 2)
        ]
        ordered = [(x, y) for x, y in signs if x * y == x * y and x * y != 0]
        assert both[row] == len(ordered)
        assert against[row] == sum(x != y for x, y in ordered)


def test_votes_that_differ_contradict_one_comparison_and_votes_that_agree_state_all() -> None:
    differ = (("a", "p", "cat", "first"), ("a", "q", "dog", "first"))
    agree = (("b", "p", "deer", "first"), ("b", "q", "deer", "first"))

    told = pilot(votes(*differ, *agree), rng=rng())

    assert (told.form, told.kept, told.people) == ("hard", None, 2)
    assert told.error.value == pytest.approx(1 / 3)  # of 1 + 2 comparisons
    assert told.error.how == "agreement"
    assert told.error.items == 2
    assert told.cost is not None
    assert told.cost.value == 2


def test_ranking_keeps_as_many_classes_as_people_name_and_its_cost_is_for_that_many() -> None:
    rows = [("a", "p", ["cat"]), ("a", "q", ["dog", "cat", "deer"]), ("b", "p", ["deer", "cat"])]
    table = pl.DataFrame(
        [(item, who, json.dumps(named), "first", 4.0) for item, who, named in rows],
        schema=["item", "annotator", "answer", "view", "seconds"],
        orient="row",
    )

    told = pilot(Judgments(ask("ranking", CLASSES), table), rng=rng(), draws=5)

    assert told.cost is not None
    assert (told.form, told.kept, told.cost.kept) == ("sparse", 2, 2)


def test_repeats_compare_people_with_themselves_only() -> None:
    told = pilot(
        votes(("a", "p", "cat", "first"), ("a", "p", "cat", "repeat"), ("a", "q", "dog", "first"),
              ("a", "q", "deer", "repeat"), ("b", "q", "dog", "repeat")),
        how="repeats", rng=rng(),
    )  # fmt: skip

    assert told.error.how == "repeats"
    assert told.error.value == pytest.approx(1 / 3)


def test_answers_of_unknown_people_count_as_different_people() -> None:
    told = pilot(votes(("a", None, "cat", "first"), ("a", None, "dog", "first")), rng=rng())

    assert told.error.value == 1


def test_an_error_rate_is_recovered_from_how_often_two_people_contradict() -> None:
    epsilon = np.linspace(0, 0.5, 11)

    assert flip_rate(2 * epsilon * (1 - epsilon)) == pytest.approx(epsilon)
    assert flip_rate(np.array(0.7)) == 0.5


def test_noisier_people_contradict_one_another_more_and_the_interval_narrows_with_items() -> None:
    logits = rng(1).normal(size=(200, 5))
    rates = [
        error_rate(crowd(perceive(logits, noise, people=3, rng=rng(2))), "agreement", rng=rng(3))
        for noise in (0.1, 0.5, 2.0)
    ]
    few = error_rate(
        crowd(perceive(logits[:10], 0.5, people=3, rng=rng(2))), "agreement", rng=rng(3)
    )

    assert rates[0].value < rates[1].value < rates[2].value
    assert rates[1].low < rates[1].value < rates[1].high
    assert few.high - few.low > 2 * (rates[1].high - rates[1].low)


def test_the_interval_holds_the_true_rate_about_as_often_as_it_says() -> None:
    logits = rng(1).normal(size=(4000, 4))
    whole = error_rate(crowd(perceive(logits, 0.6, people=2, rng=rng(2))), "agreement", rng=rng(3))
    held = 0
    for seed in range(60):
        some = rng(seed).choice(4000, 20)
        part = crowd(perceive(logits[some], 0.6, people=2, rng=rng(seed + 100)))
        rate = error_rate(part, "agreement", draws=200, rng=rng(seed))
        held += rate.low <= whole.value <= rate.high

    assert held >= 51  # 85 % of 60; 95 % is meant


def ratings(similar: Array) -> Comparisons:
    pairs = list(combinations(range(len(similar)), 2))
    table = pl.DataFrame(
        {
            "first": [str(a) for a, _ in pairs],
            "second": [str(b) for _, b in pairs],
            "rating": [float(similar[pair]) for pair in pairs],
        }
    )
    return Comparisons(COMPARISON_QUESTIONS["pairs"], table)


def test_ratings_contradict_noisy_labels_more() -> None:
    logits = 2 * rng(1).normal(size=(20, 6))
    true = np.asarray(np.corrcoef(logits))
    rated = ratings(3 + 3 * true)
    rates = [
        error_rate(crowd(perceive(logits, noise, people=2, rng=rng(2))), "ratings",
                   ratings=rated, rng=rng(3))
        for noise in (0.0, 3.0)
    ]  # fmt: skip

    assert rates[0].how == "ratings"
    assert rates[0].value < 0.25 < rates[1].value
    assert rates[0].flipped == rates[0].value


def test_item_errors_are_none_for_the_truth_all_for_its_opposite_and_half_for_ties() -> None:
    true = rng().normal(size=(6, 6))
    true = true + true.T

    assert item_errors(true, true) == 0
    assert item_errors(-true, true) == 1
    assert item_errors(np.zeros((6, 6)), true) == 0.5


def test_simulated_answers_say_what_their_form_allows() -> None:
    probs = np.array([[0.1, 0.6, 0.3]])

    assert state_answers(probs, "hard").tolist() == [[0, 1, 0]]
    assert state_answers(probs, "yes-no-unsure").tolist() == [[0, 1, 0.5]]
    assert state_answers(probs, "sparse", 2).tolist() == [[0, 0.6, 0.3]]
    assert np.isnan(state_answers(probs, "top-class", 2)).tolist() == [[False, False, True]]


def test_a_pilot_without_times_has_no_cost() -> None:
    told = pilot(
        votes(("a", "p", "cat", "first"), ("a", "q", "cat", "first"), seconds=None), rng=rng()
    )

    assert told.cost is None
    assert told.error.resampled.min() > 0  # no pilot shows that nobody errs


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "p", "cat", "first"), ("b", "p", "cat", "first")], "by one person, 'p'"),
        ([("a", "p", "cat", "first"), ("b", "q", "cat", "first")], "answered by two people"),
        ([("a", "p", "cat", "practice")], "no first answers of the form 'hard'"),
    ],
)
def test_a_pilot_that_shows_no_differences_is_refused(
    rows: list[tuple[str, str | None, str, str]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        pilot(votes(*rows), rng=rng())


def test_asking_for_repeats_or_ratings_that_are_not_there_is_refused() -> None:
    told = votes(("a", "p", "cat", "first"), ("a", "q", "dog", "first"))

    with pytest.raises(DataError, match="holds no repeats"):
        pilot(told, how="repeats", rng=rng())
    with pytest.raises(DataError, match="no similarity ratings"):
        pilot(told, how="ratings", rng=rng())
    with pytest.raises(DataError, match="Only 0 items"):
        pilot(told, ratings=ratings(np.ones((3, 3))), rng=rng())


def test_cifar10s_is_sparse_takes_32_seconds_and_people_agree_less_than_with_themselves(
    data_folder: Path,
) -> None:
    path = data_folder / "cifar10s" / "raw_human_data.csv"
    judgments = read_cifar10s(path, ReadOptions(key=lambda: "key"))

    told, again = (pilot(judgments, how=how, rng=rng()) for how in ("agreement", "repeats"))

    assert (told.form, told.kept) == ("sparse", 2)
    assert told.cost is not None
    assert told.cost.value == pytest.approx(32, abs=1)
    assert told.error.items == 1000
    assert again.error.high < told.error.low
    assert NOT_RECORDED not in told.crowd.annotator


def test_a_persons_own_answers_are_no_agreement_between_people() -> None:
    alone = np.zeros(3, dtype=np.int64)
    same = CrowdLabels(("a",), ("p", "q"), CLASSES, alone, alone, np.eye(3))

    with pytest.raises(DataError, match="answered by two people"):
        error_rate(same, "agreement", rng=rng())


def test_pilots_are_cut_to_the_items_all_are_about() -> None:
    first = votes(
        ("a", "p", "cat", "first"), ("b", "p", "dog", "first"), ("b", "q", "cat", "first")
    )
    second = votes(("b", "r", "cat", "first"), ("c", "r", "dog", "first"))

    cut = of_shared_items([first, second])

    assert [each.table["item"].to_list() for each in cut] == [["b", "b"], ["b"]]
    assert of_shared_items([first])[0].table.equals(first.table)
    with pytest.raises(DataError, match="No item is in all pilots"):
        of_shared_items([first, votes(("z", "p", "cat", "first"))])


# What an answer tells: constraints, less what people's contradictions take away.


FOUR_CLASSES = ("cat", "dog", "deer", "horse")


def crowd_of(probs: Any, item: list[int]) -> Any:
    return numbered_crowd(FOUR_CLASSES, np.array(item), np.arange(len(item)), np.array(probs))


def test_people_who_agree_lose_no_bits() -> None:
    crowd = crowd_of([[0.4, 0.3, 0.2, 0.1]] * 2, [0, 0])

    told = answer_information(ask("distribution", FOUR_CLASSES), crowd, items=5)

    assert told is not None
    assert told.contradicted == 0
    assert told.bits == told.constraints == constraints("soft", items=5, classes=4)


def test_contradiction_in_one_of_six_pairs_takes_bits_away() -> None:
    crowd = crowd_of([[0.4, 0.3, 0.2, 0.1], [0.3, 0.4, 0.2, 0.1]], [0, 0])

    told = answer_information(ask("distribution", FOUR_CLASSES), crowd, items=4)

    assert told is not None
    assert told.contradicted == pytest.approx(1 / 6)
    flipped = (1 - np.sqrt(1 - 2 / 6)) / 2
    left = 1 + flipped * np.log2(flipped) + (1 - flipped) * np.log2(1 - flipped)
    assert told.constraints == 4 * 4 * (4 + 4 - 2) // 2  # kn(k+n-2)/2 (S1-22)
    assert told.bits == pytest.approx(told.constraints * left)


@pytest.mark.parametrize(
    ("kind", "options", "form", "kept"),
    [
        ("top-two", {}, "sparse", 2),
        ("sparse", {"count": 3}, "sparse", 3),
        ("top-class", {"subset": ["cat", "dog", "deer"]}, "top-class", 3),
    ],
)
def test_forms_that_ask_about_some_classes_count_those(
    kind: Any, options: dict[str, Any], form: str, kept: int
) -> None:
    crowd = crowd_of([[0.4, 0.3, 0.2, 0.1]] * 2, [0, 0])

    told = answer_information(ask(kind, FOUR_CLASSES, **options), crowd, items=6)

    assert told is not None
    assert told.constraints == constraints(form, items=6, classes=4, kept=kept)


def test_nothing_is_told_before_two_people_answered_about_one_item() -> None:
    question = ask("distribution", FOUR_CLASSES)
    alone = crowd_of([[1.0, 0, 0, 0], [0, 1.0, 0, 0]], [0, 1])

    assert answer_information(question, alone, items=5) is None
    assert answer_information(question, crowd_of([[1.0, 0, 0, 0]] * 2, [0, 0]), items=2) is None


def test_the_most_telling_classes_of_a_pilot_are_those_that_split_its_items() -> None:
    one, other = [0.1, 0.6, 0.1, 0.2], [0.1, 0.2, 0.1, 0.6]  # b and d differ by group
    rows = np.array([one] * 10 + [other] * 10)
    labels = LabelSet(tuple(map(str, range(20))), tuple("abcd"), rows)
    pairs = [
        {"first": str(a), "second": str(b), "rating": 6.0 if (a < 10) == (b < 10) else 0.0}
        for a in range(20)
        for b in range(a + 1, 20)
    ]
    columns = {"annotator": pl.String, "seconds": pl.Float64, "order": pl.Int64}
    table = pl.DataFrame(pairs).with_columns(
        *(pl.lit(None, kind).alias(name) for name, kind in columns.items()), view=pl.lit("first")
    )
    rated = Comparisons(COMPARISON_QUESTIONS["pairs"], table)
    some = Comparisons(rated.question, table.filter(pl.int_range(pl.len()) % 3 == 0))

    by_ratings, by_some, by_labels = (
        telling_classes(labels, ratings, rng=np.random.default_rng(0))
        for ratings in (rated, some, None)
    )

    for told in (by_ratings, by_some, by_labels):
        assert list(told)[:2] == ["b", "d"]
        assert told["b"] > 0.3
        assert told["a"] == pytest.approx(0)


def test_ratings_are_read_from_a_file_or_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("first,second,rating\na,b,3\n", encoding="utf-8")

    rated = to_ratings(path)

    assert to_ratings(rated) is rated
    assert rated.table["rating"].to_list() == [3]
