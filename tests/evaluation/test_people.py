"""How well each person's own answer is predicted."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from sfumato.errors import DataError
from sfumato.evaluation.people import WITHOUT_NAMES, score_people
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.provenance import Step
from sfumato.scores import Estimate

VALUES = (1.0, 2.0, 3.0)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def crowd(
    said: list[int], people: int = 3, values: tuple[float, ...] | None = VALUES
) -> CrowdLabels:
    """Everybody's answer about one item after the other."""
    items = len(said) // people
    item, person = np.divmod(np.arange(items * people), people)
    names = [f"i{n}" for n in range(items)], [f"p{n}" for n in range(people)]
    return CrowdLabels(*names, "abc", item, person, said=said[: items * people], values=values)


def values_of(found: list[Estimate], arm: str) -> dict[str, float]:
    return {row.metric: row.value for row in found if row.arm == arm and row.against == "people"}


answers = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.integers(0, 2), min_size=3 * n + 3, max_size=3 * n + 3)
)


@given(answers)
def test_whoever_knows_each_answer_is_perfect(said: list[int]) -> None:
    people = crowd(said)
    assert values_of(score_people(people, {"all": people}, rng=rng(), draws=20), "all") == {
        "person_log_loss": 0,
        "error_rate": 0,
        "normalised_distance": 0,
    }


@given(answers, st.integers(0, 2**31))
def test_bounds_order_and_names(said: list[int], seed: int) -> None:
    people = crowd(said)
    rows = np.random.default_rng(seed).dirichlet(np.ones(3), len(people.items))
    model = LabelSet(people.items, people.classes, rows)
    found = score_people(people, {"ours": model}, rng=rng(), draws=20)

    turned = CrowdLabels(
        people.items, people.annotators, people.classes, people.item[::-1],
        people.annotator[::-1], said=people.said[::-1], values=VALUES,
    )  # fmt: skip
    renamed = CrowdLabels(
        people.items, people.annotators, "xyz", people.item, people.annotator,
        said=people.said, values=VALUES,
    )  # fmt: skip
    ours, best = values_of(found, "ours"), values_of(found, WITHOUT_NAMES)
    again = score_people(turned, {"ours": model}, rng=rng(), draws=20)
    other = LabelSet(model.items, tuple("xyz"), model.probs)
    assert values_of(again, "ours") == pytest.approx(ours)
    new = score_people(renamed, {"ours": other}, rng=rng(), draws=20)
    assert values_of(new, "ours") == pytest.approx(ours)
    assert all(0 <= ours[name] <= 1 for name in ("error_rate", "normalised_distance"))
    assert all(ours[name] >= best[name] - 1e-9 for name in ours)
    assert ours["person_log_loss"] == pytest.approx(
        log_loss(people.said, rows[people.item], labels=[0, 1, 2])
    )


def test_each_person_can_stand_alone() -> None:
    people = crowd([0, 1, 2, 0, 1, 0])
    model = LabelSet(people.items, people.classes, np.eye(3)[[0, 0]])
    found = score_people(people, {"ours": model}, metrics=["error_rate"], by_person=True, rng=rng())
    of = {row.against: row.value for row in found if row.arm == "ours"}
    assert of == {"people": pytest.approx(0.5), "p0": 0, "p1": 1, "p2": 0.5}


def test_what_cannot_be_scored_is_refused() -> None:
    people = crowd([0, 1, 2, 0, 1, 0])
    with pytest.raises(DataError, match="predicts nothing of 'p2' about item 'i1'"):
        some = people.take(np.arange(5), Step("some"))
        score_people(people, {"ours": some}, rng=rng())
    with pytest.raises(DataError, match="on a scale"):
        bare = crowd([0, 1, 2], values=None)
        score_people(bare, {}, metrics=["normalised_distance"], rng=rng())


def test_the_published_baseline_of_paraphrase(data_folder: Path) -> None:
    """Each annotator's most frequent answer: .362 in the shared task's table."""
    folder = data_folder / "lewidi" / "2025" / "Paraphrase"
    train, test = (
        json.loads((folder / f"Paraphrase_{part}.json").read_text()) for part in ("train", "test")
    )
    points = [str(value) for value in range(-5, 6)]
    people = sorted({name for one in test.values() for name in one["annotations"]})
    usual = {
        name: Counter(
            one["annotations"][name] for one in train.values() if name in one["annotations"]
        )
        for name in people
    }
    rows = [
        (item, name, said)
        for item, one in test.items()
        for name, said in one["annotations"].items()
    ]
    names = list(test), people, points
    where = (
        [list(test).index(item) for item, _, _ in rows],
        [people.index(who) for _, who, _ in rows],
    )
    values = tuple(map(float, points))
    truth = CrowdLabels(
        *names, *where, said=[points.index(said) for *_, said in rows], values=values
    )
    guess = [points.index(usual[who].most_common(1)[0][0]) for _, who, _ in rows]
    baseline = CrowdLabels(*names, *where, said=guess)

    found = values_of(score_people(truth, {"usual": baseline}, rng=rng(), draws=20), "usual")

    assert found["normalised_distance"] == pytest.approx(0.362, abs=0.0005)
