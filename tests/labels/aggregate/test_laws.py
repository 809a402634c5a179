"""Laws that hold for every aggregator, checked over the registry."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.labels.aggregate import AGGREGATORS, Aggregation, aggregate
from sfumato.labels.labelset import CrowdLabels, LabelSet

Probs = tuple[float, ...]


@dataclass(frozen=True)
class Crowd:
    """Judgments by name, before any order is given to items, annotators, classes or rows."""

    classes: int
    rows: tuple[tuple[str, str, Probs], ...]  # item, annotator, distribution


@st.composite
def crowds(draw: st.DrawFn) -> Crowd:
    """A few items judged by a few people, mostly with certainty; the first item at least twice."""
    classes = draw(st.integers(2, 4))
    annotators = draw(st.integers(2, 5))
    certain = draw(st.booleans())
    rows = []
    for item in range(draw(st.integers(1, 6))):
        fewest = 2 if item == 0 else 1
        for annotator in sorted(draw(st.sets(st.integers(0, annotators - 1), min_size=fewest))):
            chosen = draw(st.integers(0, classes - 1))
            probs = [0.0] * classes
            probs[chosen] = 1.0
            if not certain:
                mass = draw(st.sampled_from((0.05, 0.25, 0.4)))
                probs[chosen] -= mass
                probs[(chosen + 1) % classes] += mass
            rows.append((f"item{item}", f"person{annotator}", tuple(probs)))
    return Crowd(classes, tuple(rows))


def crowd_labels(
    crowd: Crowd,
    *,
    seed: int | None = None,
    person: tuple[str, str] = ("person", "person"),
    names: str = "abcd",
) -> CrowdLabels:
    """The crowd with names in order, or with rows, items, annotators and classes shuffled."""
    rows = [(item, who.replace(*person), probs) for item, who, probs in crowd.rows]
    items = sorted({item for item, _, _ in rows})
    annotators = sorted({who for _, who, _ in rows})
    columns = list(range(crowd.classes))
    if seed is not None:
        rng = np.random.default_rng(seed)
        for sequence in (rows, items, annotators, columns):
            rng.shuffle(sequence)
    return CrowdLabels(
        tuple(items),
        tuple(annotators),
        tuple(names[column] for column in columns),
        np.array([items.index(item) for item, _, _ in rows]),
        np.array([annotators.index(who) for _, who, _ in rows]),
        np.array([[probs[column] for column in columns] for _, _, probs in rows]),
        values=columns,
    )


def predictions_for(crowd: CrowdLabels, names: str) -> LabelSet:
    """A made-up classifier whose beliefs go by name, never tied."""
    item = np.array([int(name.removeprefix("item")) for name in crowd.items])[:, None]
    scores = np.exp(0.3 * ((7 * item + 5 * np.arange(len(crowd.classes))) % 11))
    probs = scores / scores.sum(axis=1, keepdims=True)
    return LabelSet(
        crowd.items, crowd.classes, probs[:, [names.index(name) for name in crowd.classes]]
    )


def run(
    name: str,
    crowd: CrowdLabels,
    names: str = "abcd",
    interval: Literal["none", "default"] = "none",
) -> Aggregation:
    reads = AGGREGATORS[name].reads
    given = predictions_for(crowd, names) if reads == "votes and predictions" else None
    return aggregate(
        crowd,
        name,
        rng=np.random.default_rng(5),
        predictions=given,
        interval=interval,
        replicates=3,
    )


def by_name(labels: LabelSet, classes: str) -> NDArray[np.float64]:
    """Probabilities with items in the order of names and the given classes."""
    columns = [labels.classes.index(name) for name in classes]
    return labels.take(sorted(labels.items)).probs[:, columns]


every_aggregator = pytest.mark.parametrize("name", AGGREGATORS)


@every_aggregator
@settings(max_examples=10)
@given(crowd=crowds())
def test_rows_are_distributions_within_their_intervals_bounds(name: str, crowd: Crowd) -> None:
    result = run(name, crowd_labels(crowd), interval="default")

    assert np.allclose(result.labels.probs.sum(axis=1), 1, atol=1e-9)
    assert result.interval is not None
    assert (result.interval.low >= 0).all()
    assert (result.interval.low <= result.interval.high + 1e-9).all()
    assert (result.interval.high <= 1 + 1e-6).all()


@every_aggregator
@settings(max_examples=10)
@given(crowd=crowds(), seed=st.integers(0, 99))
def test_order_of_rows_items_people_and_classes_changes_no_digit(
    name: str, crowd: Crowd, seed: int
) -> None:
    classes = "abcd"[: crowd.classes]

    plain = run(name, crowd_labels(crowd), interval="default")
    shuffled = run(name, crowd_labels(crowd, seed=seed), interval="default")

    assert np.array_equal(by_name(plain.labels, classes), by_name(shuffled.labels, classes))
    assert plain.quality == shuffled.quality
    assert plain.trace == shuffled.trace
    assert plain.interval is not None and shuffled.interval is not None
    widths = plain.interval.high.sum(), shuffled.interval.high.sum()
    assert np.isclose(*widths, rtol=0, atol=1e-9)


@every_aggregator
@settings(max_examples=10)
@given(crowd=crowds())
def test_renaming_annotators_changes_nothing(name: str, crowd: Crowd) -> None:
    plain = run(name, crowd_labels(crowd))
    # new names sort the other way round
    other = Crowd(
        crowd.classes,
        tuple((item, f"worker{9 - int(who[-1])}", probs) for item, who, probs in crowd.rows),
    )
    renamed = run(name, crowd_labels(other))

    assert np.allclose(plain.labels.probs, renamed.labels.probs, rtol=0, atol=1e-9)


@every_aggregator
@settings(max_examples=10)
@given(crowd=crowds())
def test_relabelling_classes_permutes_columns(name: str, crowd: Crowd) -> None:
    # the same columns under names that sort the other way round
    plain = run(name, crowd_labels(crowd))
    relabelled = run(name, crowd_labels(crowd, names="zyxw"), names="zyxw")

    assert relabelled.labels.classes == tuple("zyxw"[: crowd.classes])
    assert np.allclose(plain.labels.probs, relabelled.labels.probs, rtol=0, atol=1e-9)


NOT_CERTAIN_AFTER_ONE = {
    "habits": "shrinks each person's habits towards everybody's",
    "informed": "pulls even unanimous votes towards what other items look like",
    "shrunk-shares": "pulls even unanimous votes towards what other items look like",
    "dawid-skene-next": "the next person may differ from the one who answered",
    "glad": "a prior keeps every ability finite, so one vote is never proof",
    "mace": "a prior allows for anybody to have answered without looking",
    "surprisingly-popular": "needs what people predict of others",
    "crowdlab": "needs two judgments of an item, and mixes in a classifier",
}


@pytest.mark.parametrize("name", sorted(set(AGGREGATORS) - set(NOT_CERTAIN_AFTER_ONE)))
@given(chosen=st.lists(st.integers(0, 2), min_size=1, max_size=5))
def test_one_certain_annotator_gives_a_hard_label(name: str, chosen: list[int]) -> None:
    items = tuple(f"item{row}" for row in range(len(chosen)))
    one_hot = np.eye(3)[chosen]
    alone = CrowdLabels(
        items,
        ("person0",),
        tuple("abc"),
        np.arange(len(items)),
        np.zeros(len(items), dtype=int),
        one_hot,
        values=(1, 2, 3),
    )

    labels = aggregate(alone, name, rng=np.random.default_rng(0)).labels

    assert np.allclose(labels.probs, one_hot, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", NOT_CERTAIN_AFTER_ONE)
def test_the_exceptions_to_certainty_are_aggregators(name: str) -> None:
    assert name in AGGREGATORS


@pytest.mark.parametrize("name", ["mean", "vote-shares", "linear-pool"])
@given(votes=st.lists(st.integers(0, 2), min_size=1, max_size=9))
def test_everyone_certain_gives_vote_shares(name: str, votes: list[int]) -> None:
    people = tuple(f"person{row}" for row in range(len(votes)))
    crowd = CrowdLabels(
        ("item0",),
        people,
        tuple("abc"),
        np.zeros(len(votes), dtype=np.int64),
        np.arange(len(votes)),
        np.eye(3)[votes],
    )

    labels = aggregate(crowd, name, rng=np.random.default_rng(0)).labels

    shares = [votes.count(label) / len(votes) for label in range(3)]
    assert np.allclose(labels.probs, [shares], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name", [name for name, found in AGGREGATORS.items() if "iterations" in found.options]
)
@settings(max_examples=10)
@given(crowd=crowds())
def test_what_is_climbed_never_falls(name: str, crowd: Crowd) -> None:
    result = aggregate(
        crowd_labels(crowd), name, rng=np.random.default_rng(0), iterations=30, tolerance=-np.inf
    )

    assert len(result.trace) == 30
    assert (np.diff(result.trace) >= -1e-6).all()
