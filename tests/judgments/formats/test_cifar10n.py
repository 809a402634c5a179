"""CIFAR-10N: the published labels and side information, and small files with mistakes."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import SIDE_FILE, read_cifar10n
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments

HEADER = (
    "Image-batch,Worker1-id,Work-time-in-seconds-1,Worker2-id,Work-time-in-seconds-2,"
    "Worker3-id,Work-time-in-seconds-3\n"
)


@pytest.fixture(scope="module")
def released(data_folder: Path) -> Judgments:
    return read_cifar10n(data_folder / "cifar10n" / "cifar10n-labels.npz", ReadOptions())


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.npz"
    numbers = np.arange(4, dtype=np.uint8)
    np.savez(
        path,
        clean_label=numbers,
        random_label1=numbers,
        random_label2=numbers + 1,
        random_label3=numbers + 2,
    )
    return path


def test_release_holds_three_judgments_an_image_of_747_workers(released: Judgments) -> None:
    assert len(released) == 150_000
    assert set(released.table.group_by("item").len()["len"]) == {3}
    assert len(released.annotators) == 747
    assert released.table["seconds"].null_count() == 0


def test_single_labels_are_wrong_as_often_as_published(released: Judgments) -> None:
    wrong = released.table["answer"].str.strip_chars('"') != released.table["gold"]
    rates = wrong.to_numpy().reshape(-1, 3).mean(axis=0)

    assert (100 * rates).round(2).tolist() == [17.23, 18.12, 17.64]


def test_released_workers_do_not_explain_the_errors(released: Judgments) -> None:
    """Why the reader warns: variance between workers is what dealing them out would give.

    Among people whose error rates differ by three points the ratio would be about 7.
    """
    wrong = released.table["answer"].str.strip_chars('"') != released.table["gold"]
    workers = (
        released.table.select("annotator", wrong.cast(pl.Float64).alias("wrong"))
        .group_by("annotator")
        .agg(pl.len(), pl.col("wrong").mean())
        .filter(pl.col("len") >= 200)
    )
    rate = float(wrong.mean())  # type: ignore[arg-type]
    by_chance = rate * (1 - rate) / workers["len"]
    ratio = float((((workers["wrong"] - rate) ** 2) / by_chance).mean())  # type: ignore[arg-type]

    assert len(workers) > 150
    assert ratio == pytest.approx(1, abs=0.3)
    assert "do not line up" in released.remarks[0].what


def test_side_file_gives_workers_and_a_share_of_the_seconds(labels: Path) -> None:
    labels.with_name(SIDE_FILE).write_text(HEADER + "0--1,7,20,8,30,9,40\n2--3,8,2,7,4,5,6\n")

    judgments = read_cifar10n(labels, ReadOptions())

    assert judgments.table.select("item", "annotator", "answer", "seconds").rows()[2:7] == [
        ("0", "9", '"bird"', 20.0),
        ("1", "7", '"automobile"', 10.0),
        ("1", "8", '"bird"', 15.0),
        ("1", "9", '"cat"', 20.0),
        ("2", "8", '"bird"', 1.0),
    ]
    assert set(judgments.provenance[0].inputs) == {"labels.npz", SIDE_FILE}


def test_without_side_file_nobody_is_named(labels: Path) -> None:
    judgments = read_cifar10n(labels, ReadOptions())

    assert judgments.annotators == []
    assert judgments.remarks == ()
    assert judgments.table["gold"].to_list()[::3] == ["airplane", "automobile", "bird", "cat"]


def test_malformed_batches_are_set_aside(labels: Path) -> None:
    rows = ["0--1,7,20,8,fast,9,40", "2-3,7,20,8,30,9,40", "2--4,7,20,8,30,9,40", "2--3,7"]
    labels.with_name(SIDE_FILE).write_text(HEADER + "\n".join(rows) + "\n")

    judgments = read_cifar10n(labels, ReadOptions())

    assert [(row.line, row.field) for row in judgments.rejected] == [
        (3, "Image-batch"),
        (4, "Image-batch"),
        (5, ""),
    ]
    assert len(judgments) == 12
    assert judgments.table["annotator"].null_count() == 6
    assert judgments.table["seconds"][1] is None


def test_numbers_of_no_class_are_set_aside(labels: Path) -> None:
    stored = dict(np.load(labels))
    stored["random_label2"][3] = 10
    np.savez(labels, **stored)

    judgments = read_cifar10n(labels, ReadOptions())

    assert len(judgments) == 11
    [row] = judgments.rejected
    assert (row.line, row.field, row.text) == (4, "random_label2", "10")


def test_missing_array_is_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.npz"
    np.savez(path, clean_label=np.zeros(3, dtype=int))

    with pytest.raises(DataError, match="no array 'random_label1'"):
        read_cifar10n(path, ReadOptions())


def test_arrays_must_fit_each_other(labels: Path) -> None:
    stored = dict(np.load(labels)) | {"random_label3": np.zeros(2, dtype=int)}
    np.savez(labels, **stored)

    with pytest.raises(DataError, match="lists of class numbers of one length"):
        read_cifar10n(labels, ReadOptions())


def test_single_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.npy"
    np.save(path, np.zeros(3))

    with pytest.raises(DataError, match="holds one array; expected clean_label"):
        read_cifar10n(path, ReadOptions())
