"""Sets that cover people's answers: thresholds by hand, guarantees by simulation, real answers."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.evaluation.coverage import MAJORITY, _scores, _threshold, cover, read_groups
from sfumato.labels.labelset import LabelSet

Rows = NDArray[np.float64]


def label_set(rows: Rows, first: int = 0) -> LabelSet:
    items = tuple(map(str, range(first, first + len(rows))))
    classes = tuple("abcdefgh"[: rows.shape[1]])
    return LabelSet(items, classes, rows / rows.sum(axis=1, keepdims=True))


def made_up(items: int, *, answers: int = 10, seed: int = 0) -> tuple[LabelSet, LabelSet]:
    """Answers drawn from true shares, and a model that is half noise."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet([0.5] * 4, items)
    votes = np.array([rng.multinomial(answers, row) for row in true], float)
    return label_set(votes), label_set(true + rng.dirichlet([0.5] * 4, items))


@given(
    scores=st.lists(st.floats(0, 1), min_size=3, max_size=40, unique=True),
    level=st.floats(0.05, 0.99),
)
def test_threshold_of_one_answer_each_is_the_usual_conformal_quantile(
    scores: list[float], level: float
) -> None:
    table = np.stack([scores, np.full(len(scores), 5.0)], axis=1)
    answers = np.tile([1.0, 0.0], (len(scores), 1))
    place = math.ceil(level * (1 - 1e-12) * (len(scores) + 1))

    expected = sorted(scores)[place - 1] if place <= len(scores) else math.inf

    assert _threshold(table, answers, level) == expected


def test_threshold_divides_an_item_by_the_shares_of_its_answers() -> None:
    scores = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]])
    shares = np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]])

    # masses of 1/4 an item: 0.1 has 1/4, then 0.2, 0.3, 0.7 and 0.8 have 1/8 each
    assert _threshold(scores, shares, 0.25) == 0.1
    assert _threshold(scores, shares, 0.3) == 0.2
    assert _threshold(scores, shares, 0.5) == 0.3
    assert _threshold(scores, shares, 0.625) == 0.7
    assert _threshold(scores, shares, 0.75) == 0.8
    assert _threshold(scores, shares, 0.76) == math.inf


def test_adaptive_scores_are_the_mass_before_a_class_and_a_part_of_its_own() -> None:
    probs = np.array([[0.2, 0.5, 0.3]])

    scores = _scores(probs, "adaptive", np.random.default_rng(0))

    own = 1 - np.random.default_rng(0).random()
    assert np.allclose(scores, [[0.8 + 0.2 * own, 0.5 * own, 0.5 + 0.3 * own]])


@pytest.mark.parametrize("score", ["probability", "adaptive"])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
def test_held_out_answers_are_covered_as_often_as_asked_for(score: str, level: float) -> None:
    people, model = made_up(1500)

    found = cover(people, model, level=level, score=score, draws=100)  # type: ignore[arg-type]

    assert found.coverage.value == pytest.approx(level, abs=0.01)
    assert found.coverage.low is not None and found.coverage.low < found.coverage.value


def test_answers_of_new_items_are_covered_too() -> None:
    people, model = made_up(4000)
    known = [item for item in people.items if int(item) < 2000]
    rest = people.take([item for item in people.items if int(item) >= 2000])

    sets = cover(people.take(known), model, level=0.8, draws=100).sets

    assert sets["item"].to_list() == list(rest.items)
    inside = sets.drop("item").to_numpy()
    assert (rest.probs * inside).sum(axis=1).mean() == pytest.approx(0.8, abs=0.015)


def test_majority_labels_promise_too_much_where_people_disagree() -> None:
    people, model = made_up(1500)

    found = cover(people, model, draws=100)
    majority = next(iter(found.filter(metric="people_coverage", arm=MAJORITY, stratum="all")))

    assert majority.value < 0.85 < found.coverage.value


def test_without_disagreement_majority_labels_are_the_same() -> None:
    people, model = made_up(400, answers=1)

    found = cover(people, model, draws=100).to_json()

    assert found["majority"]["coverage"] == pytest.approx(found["coverage"], abs=0.01)


def test_order_of_rows_changes_nothing_and_numbers_are_reproducible() -> None:
    people, model = made_up(200)
    turned = people.take(people.items[::-1]), model.take(model.items[::-1])

    first, again, other = cover(people, model), cover(people, model), cover(*turned)

    assert first.table.equals(again.table)
    assert other.coverage.value == pytest.approx(first.coverage.value, abs=0.005)
    assert other.threshold == first.threshold


def test_columns_go_by_name_not_by_place() -> None:
    human, model = made_up(200)
    turned = LabelSet(model.items, model.classes[::-1], model.probs[:, ::-1])

    assert cover(human, turned).to_json() == cover(human, model).to_json()


def test_coverage_is_told_by_stratum_group_and_size() -> None:
    people, model = made_up(300)
    groups = {item: "even" if int(item) % 2 == 0 else "odd" for item in people.items}

    found = cover(people, model, groups=groups, draws=100)
    told = {
        row.stratum: row for row in found.filter(metric="people_coverage", arm="people's answers")
    }

    assert told["group even"].items == told["group odd"].items == 150
    assert {"disputed", "most disputed", "sets of 1", "sets of 2"} <= set(told)
    both = (told["group even"].value + told["group odd"].value) / 2
    assert both == pytest.approx(told["all"].value)


def test_too_few_items_for_the_level_give_sets_of_all_classes() -> None:
    people, model = made_up(6)

    found = cover(people, model, level=0.9)

    assert (found.threshold, found.size.value) == (math.inf, 4)
    assert found.to_json()["threshold"] is None


def test_wrong_requests_are_told() -> None:
    people, model = made_up(10)

    with pytest.raises(DataError, match="level is 90"):
        cover(people, model, level=90)
    with pytest.raises(DataError, match="10 splits are too few"):
        cover(people, model, splits=10)
    with pytest.raises(UnknownName, match="adaptive"):
        cover(people, model, score="adaptiv")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="one model, but 2"):
        cover(people, {"one": model, "two": model})
    with pytest.raises(DataError, match="9 items have no group"):
        cover(people, model, groups={"0": "a"})
    with pytest.raises(DataError, match="Every item of the predictions has a label"):
        cover(people, model).write_sets(Path("sets.csv"))


def test_groups_are_read_from_a_table_of_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text("image,source\n1,web\n2,book\n", encoding="utf-8")

    assert read_groups(path) == {"1": "web", "2": "book"}
    path.write_text("image,source,size\n1,web,3\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"groups\.csv has the columns"):
        read_groups(path)


def test_cifar10h_is_covered_and_majority_labels_fall_short(data_folder: Path) -> None:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy").astype(float)
    stored = data_folder / "cifar10h-predictions" / "vgg_15_BN_64.npz"
    model = np.load(stored)["probs"].astype(float)
    few = slice(0, 3000)

    found = cover(label_set_of_ten(votes[few]), label_set_of_ten(model[few]), draws=100).to_json()

    assert found["coverage"] == pytest.approx(0.9, abs=0.01)
    assert found["majority"]["coverage"] < 0.88


def label_set_of_ten(rows: Rows) -> LabelSet:
    items = tuple(map(str, range(len(rows))))
    return LabelSet(items, tuple(map(str, range(10))), rows / rows.sum(axis=1, keepdims=True))
