import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from polars.testing import assert_frame_equal
from tests.judgments.strategies import judgments

from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.check import check
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.make import Average, LabelSettings, make_labels, publish

VOTES = Judgments(
    ask("choose-one", ["cat", "dog"]),
    pl.DataFrame(
        {
            "item": ["a", "a", "b"],
            "annotator": ["p", "q", "p"],
            "answer": ['"cat"', '"dog"', '"dog"'],
        }
    ),
)


def test_labels_are_the_mean_of_the_answers_unless_given(tmp_path: Path) -> None:
    own = LabelSet(("a", "b"), ("cat", "dog"), np.array([[0.9, 0.1], [0.2, 0.8]]))

    assert publish(VOTES, tmp_path / "made") == ["judgments", "labels", "annotators"]
    publish(VOTES, tmp_path / "given", labels=own)

    made = read_labels(tmp_path / "made" / "data" / "labels.parquet")
    assert made.take(["a", "b"]).probs.tolist() == [[0.5, 0.5], [0, 1]]
    assert made.take(["a", "b"]).weight.tolist() == [2, 1]
    given_back = read_labels(tmp_path / "given" / "data" / "labels.parquet")
    assert given_back.take(["a", "b"]).probs.tolist() == own.probs.tolist()
    assert "Recipe votes" in (tmp_path / "made" / "croissant.json").read_text(encoding="utf-8")
    assert "Recipe" not in (tmp_path / "given" / "croissant.json").read_text(encoding="utf-8")


def test_judgments_that_make_no_label_are_published_without(tmp_path: Path) -> None:
    practice = Judgments(VOTES.question, VOTES.table.with_columns(view=pl.lit("practice")))

    assert publish(practice, tmp_path / "folder") == ["judgments", "annotators"]
    assert check(tmp_path / "folder").valid


def test_platform_ids_are_refused_and_nothing_is_left(tmp_path: Path) -> None:
    careless = Judgments(VOTES.question, VOTES.table.with_columns(annotator=pl.lit("a@b.org")))

    with pytest.raises(DataError, match="never written"):
        publish(careless, tmp_path / "folder")

    assert list(tmp_path.iterdir()) == []


@given(original=judgments())
def test_whatever_is_published_is_valid_and_comes_back(
    original: Judgments, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("published") / "folder"

    publish(original, path)

    assert check(path).problems == ()
    again = read(path, "hf", ReadOptions())
    assert isinstance(again, Judgments)
    assert_frame_equal(again.table, original.table)
    assert again.question == original.question


def sliders(*scores: list[float]) -> Judgments:
    """One item, the scores of one person after the other."""
    classes = ["cat", "dog", "frog"]
    answers = [json.dumps(dict(zip(classes, row, strict=True))) for row in scores]
    people = [f"p{place}" for place in range(len(scores))]
    table = pl.DataFrame({"item": ["a"] * len(scores), "annotator": people, "answer": answers})
    return Judgments(ask("sliders", classes), table)


def test_scores_are_averaged_before_or_after_they_are_normalised() -> None:
    said = sliders([1, 0, 0], [0.2, 0.2, 0])

    after = make_labels(said, LabelSettings()).labels
    before = make_labels(said, LabelSettings(average="scores")).labels

    assert after.probs[0].tolist() == pytest.approx([0.75, 0.25, 0])
    assert before.probs[0].tolist() == pytest.approx([1.2 / 1.4, 0.2 / 1.4, 0])  # S1-14
    assert before.weight.tolist() == after.weight.tolist() == [2]
    assert "average scores" in [step.name for step in before.provenance]


@given(arrays(float, st.tuples(st.integers(1, 6), st.just(3)), elements=st.floats(0.01, 1)))
def test_average_scores_are_their_sum_over_everything(scores: np.ndarray) -> None:
    said = sliders(*scores.round(6).tolist(), [0, 0, 0])  # who moves no slider says nothing

    found = make_labels(said, LabelSettings(average="scores")).labels.probs[0]

    total = scores.round(6).sum(axis=0)
    assert found == pytest.approx(total / total.sum())


def test_scores_that_sum_to_the_same_are_averaged_the_same_way() -> None:
    said = sliders([0.5, 0.5, 0], [0.1, 0.2, 0.7])

    both = [make_labels(said, LabelSettings(average=way)).labels.probs for way in WAYS]

    assert both[0] == pytest.approx(both[1])


WAYS: tuple[Average, ...] = ("labels", "scores")


def test_only_scores_are_averaged_as_scores() -> None:
    with pytest.raises(DataError, match="recipe 'sliders' and the aggregator 'mean', not by"):
        make_labels(VOTES, LabelSettings(average="scores"))
    with pytest.raises(DataError, match="and 'log-pool'"):
        make_labels(sliders([1, 0, 0]), LabelSettings(aggregate="log-pool", average="scores"))


def test_an_average_of_scores_has_an_interval_over_people() -> None:
    said = sliders([1, 0, 0], [0.2, 0.2, 0], [0, 0.9, 0.1])

    made = make_labels(said, LabelSettings(average="scores", interval="default")).aggregation

    assert made.interval is not None
    inside = (made.interval.low <= made.labels.probs) & (made.labels.probs <= made.interval.high)
    assert inside.all()
