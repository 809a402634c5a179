from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
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
from sfumato.labels.make import publish

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
