import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import read_cifar10s
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.question import ask
from sfumato.labels.build import build
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.build.top_two import Rule
from sfumato.labels.files import read_crowd_labels
from sfumato.labels.signals import entropy

CLASSES = ("cat", "dog", "deer", "frog")
APART = np.array([[0, 0.4, 0.8, 1.5], [0.4, 0, 1, 1], [0.8, 1, 0, 1], [1.5, 1, 1, 0]])
CLAMP_AND_UNIFORM = ("top1-uniform", "top1-clamp", "top2-uniform", "top2-clamp")


def asked(*answers: dict[str, Any], classes: Sequence[str] = CLASSES) -> Judgments:
    table = pl.DataFrame(
        {
            "item": [str(place) for place in range(len(answers))],
            "answer": [json.dumps(answer) for answer in answers],
        }
    )
    return Judgments(ask("top-two", classes), table)


def says(
    first: str, percent: object, second: str | None = None, more: object = "", no: str = ""
) -> dict[str, Any]:
    return {
        "first": first,
        "first_percent": percent,
        "second": second,
        "second_percent": more,
        "ruled_out": no.split(),
    }


def row(answer: dict[str, Any], recipe: str, **options: Any) -> list[float]:
    return build(asked(answer), recipe, **options).crowd.probs[0].round(6).tolist()


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    percent = st.sampled_from(["", "0", "5", "33.3", "70", "100"])
    named = st.sampled_from(CLASSES)
    return says(
        draw(named),
        draw(percent),
        draw(st.none() | named),
        draw(percent),
        " ".join(draw(st.sets(named))),
    )


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("top1-uniform", [0.7, 0.1, 0.1, 0.1]),
        ("top1-clamp", [0.7, 0.15, 0.15, 0.0]),
        ("top2-uniform", [0.7, 0.2, 0.05, 0.05]),
        ("top2-clamp", [0.7, 0.2, 0.1, 0.0]),
        ("select-top2", [0.5, 0.5, 0.0, 0.0]),
    ],
)
def test_each_variety_completes_the_answer_of_the_paper_its_own_way(
    recipe: str, expected: list[float]
) -> None:
    assert row(says("cat", 70, "dog", 20, no="frog"), recipe) == expected


def test_full_mass_keeps_gamma_for_classes_that_were_not_ruled_out() -> None:
    answer = says("cat", 100, no="frog")

    assert row(answer, "top2-clamp", gamma=0.1) == [0.9, 0.05, 0.05, 0.0]
    assert row(answer, "top2-clamp", gamma=0.0) == [1.0, 0.0, 0.0, 0.0]
    assert row(answer, "top2-uniform") == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (says("cat", 60, "dog", 20, no="frog"), [0.75, 0.25, 0.0, 0.0]),
        (says("cat", 60, no="frog"), [1.0, 0.0, 0.0, 0.0]),
        (says("cat", 90, "dog", 30), [0.75, 0.25, 0.0, 0.0]),
        (says("cat", 0, "dog", 0), [1.0, 0.0, 0.0, 0.0]),
    ],
)
def test_stated_mass_alone_is_divided_by_its_sum_and_nothing_is_shared_out(
    answer: dict[str, Any], expected: list[float]
) -> None:
    assert row(answer, "top2-stated") == expected


def test_mass_over_100_is_divided_by_its_sum() -> None:
    answer = says("cat", 100, "dog", 100, no="deer frog")

    assert row(answer, "top2-clamp") == [0.5, 0.5, 0.0, 0.0]


def test_chosen_class_is_never_impossible_under_consistent() -> None:
    answer = says("cat", 60, "dog", 40, no="cat dog deer frog")

    assert row(answer, "top2-clamp") == [0.6, 0.4, 0.0, 0.0]


def test_zero_that_was_said_stays_zero_under_consistent_and_not_under_released() -> None:
    answer = says("cat", 100, "dog", 0, no="deer frog")

    assert row(answer, "top2-clamp") == [1.0, 0.0, 0.0, 0.0]
    assert row(answer, "top2-clamp", rule="released") == [0.9, 0.1, 0.0, 0.0]


def test_class_chosen_twice_keeps_its_first_number_under_consistent() -> None:
    answer = says("cat", 75, "cat", 25, no="deer frog")

    assert row(answer, "top2-clamp") == [0.75, 0.25, 0.0, 0.0]
    assert row(answer, "top2-clamp", rule="released") == [0.25, 0.75, 0.0, 0.0]


def test_second_choice_without_a_number_shares_what_is_left() -> None:
    assert row(says("cat", 90, "dog", "", no="frog"), "top2-clamp") == [0.9, 0.05, 0.05, 0.0]


def test_first_choice_without_a_number_is_left_out_and_reported() -> None:
    built = build(asked(says("cat", ""), says("cat", "8p"), says("cat", 90)), "top2-clamp")

    assert built.crowd.items == ("2",)
    assert built.left_out["item"].to_list() == ["0", "1"]


def test_semantic_spreads_by_similarity_to_the_first_choice() -> None:
    apart = ClassDistances(CLASSES, APART)

    # similarities with cat .6, .2 and -.5, which counts as 0: .4 is shared 3 to 1
    assert row(says("cat", 60), "top1-semantic", distances=apart) == [0.6, 0.3, 0.1, 0.0]
    # the second choice has its number; what is left is shared by similarity to the first
    assert row(says("cat", 60, "dog", 20), "top2-semantic", distances=apart) == [0.6, 0.2, 0.2, 0]
    assert row(says("dog", 60, "frog", 20), "top2-semantic", distances=apart) == [0.2, 0.6, 0, 0.2]
    # everything is stated: nothing needs to be similar
    assert row(says("frog", 100), "top1-semantic", distances=apart) == [0, 0, 0, 1.0]


def test_semantic_recipe_without_distances_or_without_anything_similar_is_refused() -> None:
    apart = ClassDistances(CLASSES, APART)

    with pytest.raises(DataError, match="word vectors, or a table of distances"):
        row(says("cat", 60), "top1-semantic")
    with pytest.raises(DataError, match="any similarity to its first choice 'frog'"):
        row(says("frog", 60), "top1-semantic", distances=apart)
    with pytest.raises(DataError, match="lacks the class 'frog'"):
        row(
            says("cat", 60),
            "top2-semantic",
            distances=ClassDistances(CLASSES[:3], np.ones((3, 3)) - np.eye(3)),
        )
    with pytest.raises(DataError, match="takes no distances"):
        row(says("cat", 60), "top2-clamp", distances=apart)


@pytest.mark.parametrize("recipe", CLAMP_AND_UNIFORM)
@pytest.mark.parametrize("rule", ["consistent", "released"])
@given(answer=answers())
def test_completed_rows_are_distributions(recipe: str, rule: Rule, answer: dict[str, Any]) -> None:
    if answer["first_percent"] == "":
        return

    done = build(asked(answer), recipe, rule=rule).crowd.probs[0]

    assert np.isclose(done.sum(), 1)
    assert (done >= 0).all()


def as_multisets(items: tuple[str, ...], item: NDArray[np.int64], rows: NDArray[np.float64]):  # type: ignore[no-untyped-def]
    """Rows of each item in an order of their own: neither file says who gave which."""
    return {
        name: rows[item == place][np.lexsort(rows[item == place].round(9).T)]
        for place, name in enumerate(items)
    }


def test_released_rule_equals_the_published_label_file(data_folder: Path) -> None:
    raw = read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", ReadOptions())
    published = read_crowd_labels(data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json")
    everything = select(raw, ["repeats", "duplicates"])

    ours = build(everything, "top2-clamp", gamma=0.1, rule="released").crowd

    assert len(ours) == len(published) == 6723
    mine = as_multisets(ours.items, ours.item, ours.probs)
    theirs = as_multisets(published.items, published.item, published.probs)
    assert set(mine) == set(theirs)
    assert max(np.abs(mine[name] - theirs[name]).max() for name in mine) < 1e-12


def test_consistent_rule_differs_in_a_few_dozen_answers(data_folder: Path) -> None:
    raw = read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", ReadOptions())
    everything = select(raw, ["repeats", "duplicates"])

    released = build(everything, "top2-clamp", rule="released").crowd
    consistent = build(everything, "top2-clamp", rule="consistent").crowd
    differ = np.abs(released.probs - consistent.probs).max(axis=1) > 1e-12

    assert differ.sum() == 42
    stated = everything.statements
    odd = ("same-class-twice", "chosen-and-ruled-out", "class-without-percent")
    known = np.any([stated.oddities[name][stated.index] for name in odd], axis=0)
    said_zero = (stated.mass == 0).any(axis=1)[stated.index]
    assert not (differ & ~known & ~said_zero).any()


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("top1-uniform", 0.831),
        ("top1-clamp", 0.669),
        ("top2-uniform", 0.716),
        ("top2-clamp", 0.693),
    ],
)
def test_mean_entropies_equal_the_recomputed_ones(
    data_folder: Path, recipe: str, expected: float
) -> None:
    raw = read_cifar10s(data_folder / "cifar10s" / "raw_human_data.csv", ReadOptions())
    everything = select(raw, ["repeats", "duplicates"])

    labels = build(everything, recipe, rule="released").crowd.mean()

    assert entropy(labels).mean() == pytest.approx(expected, abs=5e-4)
