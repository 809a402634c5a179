"""CIFAR-10H: the published counts, and raw rows of the published shape."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import read_cifar10h
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import select

# The columns of cifar10h-raw.csv as its repository describes them; the file itself is too
# large for the shared data. An attention check has the index -99999.
HEADER = (
    "annotator_id,trial_index,is_attn_check,true_category,chosen_category,true_label,chosen_label,"
    "correct_guess,cifar10_test_test_idx,image_filename,subcategory,reaction_time,time_elapsed\n"
)
FIRST = "0,0,0,airplane,ship,0,8,0,3,seaplane_s_000978.png,seaplane,1500.5,2000\n"
CHECK = "0,1,1,cat,cat,3,3,1,-99999,cat_check.png,cat,900,4000\n"
NEGATIVE = "1,0,0,frog,frog,6,6,1,4,green_frog_s_001384.png,green_frog,-44,300\n"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "cifar10h-raw.csv"
    path.write_text(HEADER + FIRST + CHECK + NEGATIVE)
    return path


def test_counts_hold_511000_judgments(data_folder: Path) -> None:
    judgments = read_cifar10h(data_folder / "cifar10h" / "cifar10h-counts.npy", ReadOptions())

    per_item = judgments.table.group_by("item").len()
    assert len(judgments) == 511_000
    assert len(per_item) == 10_000
    assert (per_item["len"].min(), per_item["len"].max()) == (47, 63)
    assert judgments.annotators == []
    assert judgments.provenance[0].name == "read cifar10h"


def test_counts_are_in_official_order(data_folder: Path) -> None:
    judgments = read_cifar10h(data_folder / "cifar10h" / "cifar10h-counts.npy", ReadOptions())
    labels = np.load(data_folder / "cifar10" / "test_labels.npy")

    names = np.array(judgments.question.classes)[labels[judgments.table["item"].cast(int)]]
    right = judgments.table["answer"].str.strip_chars('"').to_numpy() == names

    assert round(100 * float(right.mean()), 1) == 95.2


def test_probabilities_are_refused(data_folder: Path) -> None:
    with pytest.raises(DataError, match=r"holds probabilities.*no judgments.*as labels"):
        read_cifar10h(data_folder / "cifar10h" / "cifar10h-probs.npy", ReadOptions())


def test_raw_rows_have_people_times_and_places(raw: Path) -> None:
    judgments = read_cifar10h(raw, ReadOptions())

    row = judgments.table.row(0, named=True)
    assert row["item"] == "3"
    assert row["annotator"] == "0"
    assert row["answer"] == '"ship"'
    assert row["seconds"] == pytest.approx(1.5005)
    assert row["order"] == 1
    assert row["gold"] == "airplane"


def test_attention_checks_are_checks(raw: Path) -> None:
    judgments = read_cifar10h(raw, ReadOptions())

    assert judgments.table["view"].to_list() == ["first", "check", "first"]
    assert judgments.table["item"].to_list() == ["3", "check/cat_check.png", "4"]
    assert judgments.table["gold"][1] == "cat"
    assert len(select(judgments)) == 2
    assert judgments.remarks[0].count == 1


def test_impossible_reaction_times_are_left_out(raw: Path) -> None:
    judgments = read_cifar10h(raw, ReadOptions())

    assert judgments.table["seconds"][2] is None
    assert judgments.remarks[1].what == "reaction times of 0 or less, left out"


def test_archive_of_the_rows_is_read(raw: Path) -> None:
    archive = raw.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as file:
        file.write(raw, "cifar10h-raw.csv")
        file.writestr("__MACOSX/._cifar10h-raw.csv", "")

    judgments = read_cifar10h(archive, ReadOptions())

    assert judgments.table.equals(read_cifar10h(raw, ReadOptions()).table)
    assert list(judgments.provenance[0].inputs) == ["cifar10h-raw.zip"]


def test_archive_must_hold_one_table(tmp_path: Path) -> None:
    empty, broken = tmp_path / "empty.zip", tmp_path / "broken.zip"
    with zipfile.ZipFile(empty, "w") as file:
        file.writestr("readme.txt", "")
    broken.write_text("PK")

    with pytest.raises(DataError, match="0 CSV files; expected one"):
        read_cifar10h(empty, ReadOptions())
    with pytest.raises(DataError, match="not a zip archive"):
        read_cifar10h(broken, ReadOptions())


def test_malformed_rows_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    no_index = FIRST.replace(",3,seaplane", ",-99999,seaplane")
    no_choice = FIRST.replace("airplane,ship", "airplane,")
    path.write_text(HEADER + no_index + FIRST + no_choice + "1,2,3\n")

    judgments = read_cifar10h(path, ReadOptions())

    assert len(judgments) == 1
    assert [(row.line, row.field) for row in judgments.rejected] == [
        (2, "cifar10_test_test_idx"),
        (4, "chosen_category"),
        (5, ""),
    ]


def test_unknown_class_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text(HEADER + FIRST.replace("airplane,ship", "airplane,boat"))

    with pytest.raises(DataError, match=r"line 2.*'boat'"):
        read_cifar10h(path, ReadOptions())


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"comes as cifar10h-counts\.npy"):
        read_cifar10h(tmp_path / "a.txt", ReadOptions())
