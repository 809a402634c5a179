"""Files, runs, datasets and data in memory all become the same table; no file is changed."""

import hashlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from tests.studies.conftest import own_run, own_study  # noqa: F401

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats import read
from sfumato.labels.labelset import LabelSet
from sfumato.labels.verbs import label, simulate
from sfumato.viewing.sources import ViewSettings, open_table

VOTES = """photo,rater,category,rt,sentence,split
a,ann,cat,1.5,"<i>small</i>, grey",train
a,ben,dog,2.5,"<i>small</i>, grey",train
b,ann,dog,4,barks,test
b,ben,dog,6,barks,test
b,eve,cat,5,barks,test
"""


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return path


def test_answers_of_a_file_with_texts_times_and_splits(votes: Path) -> None:
    table = open_table(votes, ViewSettings(text="sentence", reading={"seconds": "rt"}))

    assert table.items == ("a", "b")
    assert table.names == ["people"]
    assert table.values("seconds").tolist() == [2, 5]
    assert table.viewed.texts == {"a": "<i>small</i>, grey", "b": "barks"}
    assert {name: mask.tolist() for name, mask in table.splits.items()} == {
        "train": [True, False],
        "test": [False, True],
    }
    assert table.people == ["ann", "ben", "eve"]


def test_long_texts_are_searched_to_their_end(tmp_path: Path) -> None:
    rows = pl.DataFrame({"item": ["a", "a"], "annotator": ["x", "y"], "label": ["yes", "no"]})
    path = tmp_path / "long.parquet"
    rows.with_columns(text=pl.lit("w " * 999 + "needle")).write_parquet(path)

    table = open_table(path, ViewSettings(text="text"))

    assert table.viewed.texts["a"].endswith("needle")


def test_labels_of_a_file_and_of_a_table_are_labels(tmp_path: Path) -> None:
    rows = pl.DataFrame({"item": ["x", "y"], "cat": [0.5, 1.0], "dog": [0.5, 0.0]})
    path = tmp_path / "labels.csv"
    rows.write_csv(path)

    for source in (path, str(path), rows):
        table = open_table(source)
        assert table.items == ("x", "y")
        assert table.names == ["labels"]
        assert table.sorts == ["item", "entropy"]


def test_texts_and_splits_of_a_table_of_labels_are_no_classes(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,cat,dog,told,split\na,0.5,0.5,hello,train\nb,1,0,bye,test\n")

    table = open_table(path, ViewSettings(text="told"))

    assert table.classes == ("cat", "dog")
    assert table.viewed.texts == {"a": "hello", "b": "bye"}
    assert list(table.splits) == ["train", "test"]
    assert table.viewed.remarks == ()


def test_arrays_of_shares_take_the_classes_that_are_given(tmp_path: Path) -> None:
    path = tmp_path / "shares.npy"
    np.save(path, np.array([[0.25, 0.75], [1.0, 0.0]]))

    table = open_table(path, ViewSettings(reading={"classes": ("cat", "dog")}))

    assert table.classes == ("cat", "dog")
    assert table.items == ("0", "1")


def test_labels_in_memory_bring_their_answers(votes: Path) -> None:
    labels = label(votes)

    table = open_table(labels)

    assert table.people == ["ann", "ben", "eve"]
    assert "disagreement" in table.sorts


def test_simulated_people_are_called_so() -> None:
    seen = LabelSet(("a", "b"), ("cat", "dog"), np.array([[0.9, 0.1], [0.5, 0.5]]))

    table = open_table(simulate("voters", seen, per_item=3))

    assert table.names == ["simulated people"]
    assert table.viewed.simulated


def test_predictions_stand_beside_with_their_remarks(votes: Path) -> None:
    beliefs = {"soft": [{"item": "a", "cat": 0.5, "dog": 0.5}], "hard": np.eye(2)}

    table = open_table(votes, ViewSettings(beliefs))

    assert table.names == ["people", "soft", "hard"]
    assert np.isnan(table.sets["soft"][1]).all()
    assert any("order of the labels" in remark for remark in table.viewed.remarks)
    with pytest.raises(DataError, match="Two label sets are called 'people'"):
        open_table(votes, ViewSettings({"people": np.eye(2)}))


def test_repeats_are_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("item,annotator,answer\na,x,cat\na,x,dog\na,y,dog\n")

    table = open_table(path)

    assert table.values("answers").tolist() == [2]
    assert table.viewed.remarks == (
        "Not shown: 1 (repeats, checks, practice trials or duplicates).",
    )


def test_pictures_are_read_when_they_are_looked_at(votes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    Image.fromarray(np.full((4, 6), 9, np.uint8)).save(folder / "a.png")

    table = open_table(votes, ViewSettings(images=folder))

    assert list(table.viewed.pictures) == ["a"]
    (folder / "a.png").write_bytes(b"no picture any more")
    with pytest.raises(DataError, match=r"a\.png in pictures is no readable picture"):
        table.viewed.pictures["a"]()


def test_pictures_in_memory(votes: Path) -> None:
    pixels = {"a": np.zeros((2, 2, 3), np.uint8), "b": np.full((2, 2, 3), 7, np.uint8)}

    table = open_table(votes, ViewSettings(images=pixels))

    assert table.viewed.pictures["b"]().max() == 7


@pytest.mark.check
def test_dataset_comes_with_its_pictures(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_DATA", str(data_folder))

    table = open_table("cifar10s")

    assert len(table.items) == 1000
    assert table.viewed.pictures[table.items[0]]().shape == (32, 32, 3)
    assert "seconds" in table.sorts


def test_unknown_sources_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file or folder .*none\.csv"):
        open_table(tmp_path / "none.csv")
    with pytest.raises(UnknownName, match="cifar10h"):
        open_table("cifar1Oh")
    with pytest.raises(DataError, match="A float cannot be looked at"):
        open_table(0.5)


@pytest.mark.check
def test_run_has_its_labels_predictions_answers_and_pictures(own_run: Path) -> None:  # noqa: F811
    before = _fingerprints(own_run)

    table = open_table(own_run)

    arms = [f"{arm}, simple-ffn" for arm in ("soft", "original", "majority")]
    assert table.names == ["people", *arms, "original"]
    assert len(table.items) == 60
    assert len(table.viewed.pictures) == 60
    assert table.people == ["w0", "w1", "w2"]
    tested = table.splits["test"]
    assert np.array_equal(np.isfinite(table.sets["soft, simple-ffn"][:, 0]), tested)
    assert _fingerprints(own_run) == before


@pytest.mark.check
def test_beliefs_of_a_run_are_the_mean_over_its_seeds(own_run: Path) -> None:  # noqa: F811
    table = open_table(own_run)
    files = sorted((own_run / "predictions").glob("**/soft/**/test.parquet"))
    frames = [pl.read_parquet(file).sort("item") for file in files]
    mean = sum(frame.drop("item").to_numpy() for frame in frames) / len(frames)

    rows = [table.row_of[item] for item in frames[0]["item"]]

    assert len(files) == 2
    assert np.allclose(table.sets["soft, simple-ffn"][rows], mean)


def test_files_stay_as_they_are(votes: Path) -> None:
    before = _fingerprints(votes.parent)

    open_table(votes, ViewSettings(text="sentence"))

    assert _fingerprints(votes.parent) == before


def test_reader_of_answers_tells_labels_by_type(tmp_path: Path) -> None:
    from sfumato.judgments.formats.reading import NoAnswers

    np.savez(tmp_path / "p.npz", probs=np.eye(2))
    tables = [
        tmp_path / "p.npz",
        pl.DataFrame({"item": ["a"], "cat": [0.5], "dog": [0.5]}),
        pl.DataFrame({"item": ["a"], "prob_cat": [0.5], "prob_dog": [0.5]}),
    ]
    for source in tables:
        with pytest.raises(NoAnswers):
            read(source)


def _fingerprints(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
