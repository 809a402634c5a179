"""LabelMe: the published answers, and arrays with mistakes."""

from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import LABELME, read_labelme
from sfumato.judgments.formats.reading import ReadOptions


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.npy"
    np.save(path, np.array([[0, -1, 7], [-1, 3, -1]], dtype=np.int8))
    return path


def test_released_answers(data_folder: Path) -> None:
    judgments = read_labelme(data_folder / "labelme_crowd" / "answers.npy", ReadOptions())

    per_item = judgments.table.group_by("item").len()
    assert len(judgments) == 2547
    assert sorted(judgments.annotators, key=int) == [str(person) for person in range(59)]
    assert (len(per_item), per_item["len"].min(), per_item["len"].max()) == (1000, 1, 3)
    assert judgments.question.classes == LABELME
    assert judgments.table["gold"].null_count() == 0


def test_minus_one_means_not_asked(answers: Path) -> None:
    judgments = read_labelme(answers, ReadOptions())

    assert judgments.table.select("item", "annotator", "answer").rows() == [
        ("0", "0", '"highway"'),
        ("0", "2", '"opencountry"'),
        ("1", "1", '"street"'),
    ]
    assert judgments.table["gold"].null_count() == 3


def test_classes_can_be_named(answers: Path) -> None:
    judgments = read_labelme(answers, ReadOptions(classes=tuple("abcdefgh")))

    assert judgments.table["answer"].to_list() == ['"a"', '"h"', '"d"']


def test_labels_beside_give_gold(answers: Path) -> None:
    np.save(answers.with_name("labels_train.npy"), np.array([4, 3], dtype=np.uint8))

    judgments = read_labelme(answers, ReadOptions())

    assert judgments.table["gold"].to_list() == ["forest", "forest", "street"]
    assert set(judgments.provenance[0].inputs) == {"answers.npy", "labels_train.npy"}


@pytest.mark.parametrize("labels", [[1], [1, 8]])
def test_labels_beside_must_fit(answers: Path, labels: list[int]) -> None:
    np.save(answers.with_name("labels_train.npy"), np.array(labels))

    with pytest.raises(DataError, match="expected 2 from 0 to 7"):
        read_labelme(answers, ReadOptions())


def test_numbers_of_no_class_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "answers.npy"
    np.save(path, np.array([[0, 8], [-2, 1]]))

    judgments = read_labelme(path, ReadOptions())

    assert len(judgments) == 2
    assert [(row.line, row.field, row.text) for row in judgments.rejected] == [
        (1, "column 1", "8"),
        (2, "column 0", "-2"),
    ]
