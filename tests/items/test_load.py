"""Whatever holds pictures or vectors becomes items, or an error says what is wrong where."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from sfumato.data import load
from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.items.load import load_items

VECTORS = np.array([[0.5, 1.0], [2.0, 3.25]])
ROWS = {"item": [7, 8], "age": [0.5, 2.0], "height": [1.0, 3.25]}


def draw(path: Path, grey: int, size: tuple[int, int] = (6, 4)) -> Path:
    """A picture of one shade; ``size`` is width and height as Pillow has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, grey).save(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw(tmp_path / "pictures" / "b.png", 200)
    draw(tmp_path / "pictures" / "set" / "a.PNG", 100)
    return tmp_path / "pictures"


def same(items: Items, ids: tuple[str, ...] = ("7", "8")) -> None:
    assert items.kind == "vectors"
    assert items.ids == ids
    assert items.contents.tolist() == VECTORS.tolist()


def test_folder_of_pictures_is_called_by_paths(folder: Path) -> None:
    items = load_items(folder)

    assert items.ids == ("b.png", "set/a.PNG")
    assert items.shape == (4, 6, 1)
    assert items["b.png"][0, 0, 0] == 200
    assert load_items(str(folder), naming="stem").ids == ("b", "a")


def test_zip_is_read_like_its_folder(folder: Path, tmp_path: Path) -> None:
    archive = tmp_path / "pictures.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.mkdir("set")
        for name in ("b.png", "set/a.PNG"):
            file.write(folder / name, name)

    assert load_items(archive).fingerprint == load_items(folder).fingerprint
    assert load_items(archive).provenance[-1].inputs.keys() == {"pictures.zip"}


def test_files_that_are_no_pictures_are_told(folder: Path) -> None:
    (folder / "labels.csv").write_text("item,label\n")
    (folder / "c.webp").write_bytes(b"")
    (folder / ".hidden").write_bytes(b"")

    (remark,) = load_items(folder).remarks

    assert "2 files are left out of pictures" in remark
    assert ".webp: 1" in remark and ".csv: 1" in remark


def test_pictures_of_several_sizes_need_a_size(folder: Path) -> None:
    draw(folder / "c.png", 10, (9, 9))

    with pytest.raises(DataError, match=r"c\.png has 9 × 9 pixels.*Name a size"):
        load_items(folder)
    items = load_items(folder, size=5)
    assert items.shape == (5, 5, 1) and items.size == (5, 5)
    assert load_items(folder, size=(2, 3)).shape == (2, 3, 1)


@pytest.mark.parametrize(
    "source",
    [
        ROWS,
        [{"item": 7, "age": 0.5, "height": 1.0}, {"item": 8, "age": 2.0, "height": 3.25}],
        pl.DataFrame(ROWS),
        pl.LazyFrame(ROWS),
        pl.DataFrame(ROWS).to_arrow(),
        {7: [0.5, 1.0], 8: [2.0, 3.25]},
        {"7": VECTORS[0], "8": VECTORS[1]},
    ],
    ids=["columns", "records", "polars", "lazy", "arrow", "dict", "dict of arrays"],
)
def test_tables_and_dicts_of_vectors(source: Any) -> None:
    same(load_items(source))


def test_pandas_frames_have_ids_in_a_column_or_in_their_index() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS)

    same(load_items(frame))
    same(load_items(frame.set_index("item")))
    same(load_items(frame.set_index("item").rename_axis("picture")))
    same(load_items(frame.set_index("item").rename_axis(None)))
    same(load_items(frame.rename(columns={"item": "name"}), item="name"))
    same(load_items(frame.drop(columns="item")), ("0", "1"))


def test_hugging_face_dataset_with_a_column_of_embeddings() -> None:
    datasets = pytest.importorskip("datasets")
    source = datasets.Dataset.from_dict({"item": ["7", "8"], "embedding": VECTORS.tolist()})

    same(load_items(source))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.csv", "item,age,height\n7,0.5,1\n8,2,3.25\n"),
        ("v.csv", "\ufeffitem,age,height\n7,0.5,1\n8,2,3.25\n"),
        ("v.csv", ",age,height\n7,0.5,1\n8,2,3.25\n"),
        ("v.csv", "item;age;height\n7;0,5;1\n8;2;3,25\n"),
        ("v.tsv", "item\tage\theight\n7\t0.5\t1\n8\t2\t3.25\n"),
    ],
    ids=["comma", "byte order mark", "index of pandas", "semicolon", "tab"],
)
def test_text_tables_of_vectors(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")

    items = load_items(path)

    same(items)
    assert items.columns == ("age", "height")
    packed = tmp_path / "v.csv.gz"
    packed.write_bytes(gzip.compress(text.replace("\t", ";").encode()))
    same(load_items(packed))


def test_parquet_and_arrays_in_files(tmp_path: Path) -> None:
    pl.DataFrame(ROWS).write_parquet(tmp_path / "v.parquet")
    np.save(tmp_path / "v.npy", VECTORS)
    np.savez(tmp_path / "v.npz", ids=[7, 8], features=VECTORS, labels=[0, 1])

    same(load_items(tmp_path / "v.parquet"))
    same(load_items(tmp_path / "v.npy", ids=[7, 8]))
    same(load_items(tmp_path / "v.npy"), ("0", "1"))
    same(load_items(tmp_path / "v.npz"))


def test_ids_are_found_in_a_column_of_a_usual_name_and_it_is_said() -> None:
    items = load_items([{"image_name": 7, "x": 0.5, "y": 1}, {"image_name": 8, "x": 2, "y": 3.25}])
    told = load_items({**ROWS, "name": ["a", "b"]}, item="name")

    same(items)
    assert items.remarks == ("The table: the items are taken from the column 'image_name'.",)
    same(told, ("a", "b"))
    assert told.remarks == ("The table: the column 'item' is not used.",)


def test_columns_are_those_named() -> None:
    items = load_items({**ROWS, "name": ["x", "y"]}, columns=["height"])

    assert items.columns == ("height",) and items.contents.tolist() == [[1.0], [3.25]]


def test_arrays_with_three_or_four_dimensions_are_images() -> None:
    assert load_items(np.zeros((2, 5, 4), np.uint8)).shape == (5, 4, 1)
    assert load_items(np.zeros((2, 5, 4, 3), np.float32), ids="ab").ids == ("a", "b")
    assert load_items({"a": np.zeros((5, 4), np.uint8)}).kind == "images"


def test_loaded_data_sets_are_items_already() -> None:
    digits = load("digits")

    items = load_items(digits)

    assert items.ids == digits.items and items.shape == (8, 8, 1)
    assert items.provenance[0].name == "load digits"
    assert load_items(items) is items


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        ({**ROWS, "age": [1.0, None]}, {}, r"row 2 \(item '8'\), column 'age': None is no number"),
        ({**ROWS, "age": ["1", "old"]}, {}, r"row 2 \(item '8'\), column 'age': 'old' is no"),
        ({**ROWS, "age": [1.0, float("inf")]}, {}, "item '8' has inf as 'age'"),
        ({**ROWS, "item": [7, 7]}, {}, "'7' occurs more than once"),
        ({**ROWS, "item": ["7", None]}, {}, "row 2: 'item' is empty"),
        ({**ROWS, "label": [0, 1]}, {}, "column 'label', which is hardly one of the numbers"),
        (pl.DataFrame(ROWS), {"item": "name"}, "no column 'name'. It has 'item', 'age'"),
        (ROWS, {"columns": ["width"]}, "no column 'width'"),
        (ROWS, {"ids": [1, 2]}, "A table cannot be read so: ids of rows are given for arrays only"),
        (VECTORS, {"ids": [1]}, "has 2 rows, but 1 ids"),
        (VECTORS, {"size": 8}, "An array cannot be read so: only files of pictures are resized"),
        (VECTORS[0], {}, r"has the shape \(2,\)"),
        ({"a": [1, 2], "b": [1]}, {}, "Item 'b' has the shape"),
        ({}, {}, "empty"),
        (object(), {}, "A object cannot be read as items; give a folder"),
        ("nowhere", {}, "There is no file or folder nowhere"),
    ],
)
def test_what_cannot_be_read_is_said(source: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        load_items(source, **options)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "broken.zip").write_bytes(b"PK")
    (tmp_path / "bad.csv").write_text("item,age\na,1\nb,\n")
    np.savez(tmp_path / "two.npz", train=VECTORS, test=VECTORS)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.png").write_bytes(b"no picture")

    for name, says in {
        "empty": "There are no pictures",
        "notes.txt": r"notes\.txt holds no items",
        "broken.zip": r"broken\.zip is no readable zip",
        "bad.csv": r"bad\.csv, row 2 \(item 'b'\), column 'age'",
        "two.npz": r"two\.npz holds train \(2, 2\), test \(2, 2\)",
        "bad": r"x\.png in bad is no readable picture",
    }.items():
        with pytest.raises(DataError, match=says):
            load_items(tmp_path / name)
