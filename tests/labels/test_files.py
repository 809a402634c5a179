from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.labels.files import read_crowd_labels, read_labels, write_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.provenance import Step

LABELS = LabelSet(
    ("10", "9"),
    ("cat", "dog, small"),
    np.array([[0.1, 0.9], [1 / 3, 2 / 3]]),
    np.array([3.0, 6.0]),
    (Step("label votes", {"gamma": 0.1}),),
)


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet"])
def test_labels_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    write_labels(LABELS, tmp_path / name)

    back = read_labels(tmp_path / name)

    assert back.classes == LABELS.classes
    assert back.take(LABELS.items).probs.tolist() == LABELS.probs.tolist()
    assert back.take(LABELS.items).weight.tolist() == [3, 6]
    assert back.provenance[0] == LABELS.provenance[0]


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet"])
def test_label_files_have_item_and_one_column_a_class(tmp_path: Path, name: str) -> None:
    write_labels(LABELS, tmp_path / name)

    read = pl.read_csv if name.endswith("csv") else pl.read_parquet
    assert read(tmp_path / name).columns == ["item", "cat", "dog, small"]


def test_rows_per_annotator_keep_who_gave_them(tmp_path: Path) -> None:
    crowd = CrowdLabels(
        ("i",), ("ann",), ("a", "b"), np.array([0, 0]), np.array([0, -1]), np.eye(2)
    )
    write_labels(crowd, tmp_path / "crowd.csv")

    back = read_crowd_labels(tmp_path / "crowd.csv")

    assert (tmp_path / "crowd.csv").read_text().splitlines()[1:] == ["i,ann,1.0,0.0", "i,,0.0,1.0"]
    assert back.annotator.tolist() == [0, -1]
    assert read_labels(tmp_path / "crowd.csv").probs.tolist() == [[0.5, 0.5]]


def test_rounding_of_float32_predictions_is_undone(tmp_path: Path) -> None:
    probs = np.full((2, 3), 1 / 3, dtype=np.float32)
    np.savez(tmp_path / "model.npz", probs=probs)

    read = read_labels(tmp_path / "model.npz", classes=["a", "b", "c"])

    assert read.items == ("0", "1")
    assert np.allclose(read.probs.sum(axis=1), 1, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "cat,dog\n1,0\n", "no column 'item'"),
        (
            "x.csv",
            "item,cat,dog\ni,1,zero\n",
            r"row 1 \(item 'i'\), column 'dog': 'zero' is no number",
        ),
        ("x.csv", "item,cat,dog\ni,1,0.5\n", r"x.csv: .* item 'i' by somebody sum to 1.5"),
        ("x.json", '{"i": [1], "j": [1, 0]}', "rows of one length"),
        ("x.json", "[1]", "holds no labels"),
        ("x.txt", "", "is not a label file"),
        ("x.npy", "text", "cannot be read"),
        ("x.npy", "", "cannot be read"),
        ("x.npz", "PK\x03\x04", "cannot be read"),
        ("x.parquet", "text", "cannot be read"),
    ],
)
def test_broken_label_file_is_told_in_a_sentence(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)

    with pytest.raises(DataError, match=message):
        read_labels(tmp_path / name)


def test_class_called_item_cannot_be_written(tmp_path: Path) -> None:
    odd = LabelSet(("i",), ("item", "b"), np.array([[1, 0]]))
    with pytest.raises(DataError, match="cannot be called 'item'"):
        write_labels(odd, tmp_path / "x.csv")


def test_labels_into_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder"):
        write_labels(LABELS, tmp_path / "nowhere" / "x.csv")


def test_released_predictions_and_probabilities_are_read(data_folder: Path) -> None:
    human = read_labels(data_folder / "cifar10h" / "cifar10h-probs.npy")
    model = read_labels(data_folder / "cifar10h-predictions" / "wrn_28_10.npz")

    assert len(human) == len(model) == 10_000
