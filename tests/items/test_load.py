"""Whatever holds pictures or vectors becomes items, or an error says what is wrong where."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sfumato.data import load
from sfumato.errors import DataError
from sfumato.items.items import Items, join_labels
from sfumato.items.load import load_items, show_text

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


# Texts are read alike from wherever they come, keep their fields, and are shown short.


PAIRS = {
    "uid": ["7", "8"],
    "premise": ["It rains.", "Two <b>dogs</b> run."],
    "hypothesis": ["It is wet.", "Animals move."],
}


def same_texts(items: Items) -> None:
    assert items.kind == "texts"
    assert items.ids == ("7", "8")
    assert items.columns == ("premise", "hypothesis")
    assert items["8"] == {"premise": "Two <b>dogs</b> run.", "hypothesis": "Animals move."}


def test_pairs_are_read_alike_from_files_and_tables(tmp_path: Path) -> None:
    frame = pl.DataFrame(PAIRS)
    frame.write_csv(tmp_path / "p.csv")
    frame.write_ndjson(tmp_path / "p.jsonl")
    frame.write_parquet(tmp_path / "p.parquet")

    sources: list[Any] = [frame, frame.lazy(), PAIRS | {"item": PAIRS["uid"]}, frame.to_dicts()]
    sources += [tmp_path / name for name in ("p.csv", "p.jsonl", "p.parquet")]
    sources += [frame.to_arrow(), {row["uid"]: row for row in frame.to_dicts()}]
    for source in sources:
        same_texts(
            load_items(source, text=["premise", "hypothesis"])
            if not _by_id(source)
            else _of(source)
        )


def _by_id(source: object) -> bool:
    return isinstance(source, dict) and "7" in source


def _of(source: dict[str, dict[str, str]]) -> Items:
    return load_items(
        {item: {k: v for k, v in row.items() if k != "uid"} for item, row in source.items()}
    )


def test_pandas_and_hugging_face_give_the_same_texts() -> None:
    pandas = pytest.importorskip("pandas")
    datasets = pytest.importorskip("datasets")

    same_texts(load_items(pandas.DataFrame(PAIRS), text=["premise", "hypothesis"]))
    same_texts(load_items(pandas.DataFrame(PAIRS).set_index("uid"), text=["premise", "hypothesis"]))
    same_texts(load_items(datasets.Dataset.from_dict(PAIRS), text=["premise", "hypothesis"]))


def test_folder_and_archive_of_text_files_are_called_as_labels_call_them(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_bytes("Größe\n".encode())
    (folder / "b.txt").write_bytes("Größe".encode("latin-1"))
    (folder / "notes.md").write_text("not an item")
    with zipfile.ZipFile(tmp_path / "texts.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)

    items = load_items(folder)

    assert items.contents.tolist() == [["Größe"], ["Größe"]]
    assert items.describe() == "2 texts"
    assert "1 file is left out" in items.remarks[0] and "no TXT" in items.remarks[0]
    assert load_items(tmp_path / "texts.zip").fingerprint == items.fingerprint
    assert join_labels(items, ["b"]).items.ids == ("b",)


def test_columns_that_are_called_as_texts_are_taken_and_told() -> None:
    items = load_items([{"id": 1, "text": "Hello", "year": 3}])

    assert items["1"] == {"text": "Hello"}
    assert items.remarks[-1] == "The table: the text is taken from the column 'text'."
    assert load_items({"item": ["a"], "text": ["0.5"]}).kind == "vectors"


def test_conversation_becomes_one_line_per_turn(tmp_path: Path) -> None:
    turns = [{"speaker": "USER", "text": "Hi."}, {"speaker": "BOT", "text": "Hello."}]
    (tmp_path / "c.jsonl").write_text(json.dumps({"item": "a", "conversation": turns}) + "\n")

    assert load_items(tmp_path / "c.jsonl")["a"] == {"conversation": "USER: Hi.\nBOT: Hello."}
    with pytest.raises(DataError, match="holds a turn with who"):
        load_items([{"item": "a", "talk": [{"who": "x"}]}], text="talk")


def test_texts_go_out_as_they_came_in_and_any_change_changes_the_fingerprint() -> None:
    items = load_items(PAIRS | {"item": PAIRS["uid"]}, text=["premise", "hypothesis"])
    other = load_items({"7": "It rains.", "8": "Two <b>dogs</b> run."})

    same_texts(load_items(items.to_polars(), text=["premise", "hypothesis"]))
    assert items.take(["8", "7"]).ids == ("8", "7")
    assert len({items.fingerprint, other.fingerprint, items.take(["8", "7"]).fingerprint}) == 3
    assert repr(items) == "<Items: 2 texts (premise, hypothesis), 7, 8>"
    with pytest.raises(DataError, match="Texts are no numbers"):
        items.to_torch()


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ({"a": " "}, {}, "item 'a' has no text"),
        (PAIRS | {"item": PAIRS["uid"]}, {"text": "premisse"}, "no column 'premisse'"),
        (PAIRS | {"item": PAIRS["uid"]}, {"text": "uid", "columns": ["uid"]}, "not both"),
        (np.eye(2), {"text": "x"}, "fields of texts are chosen from tables only"),
    ],
)
def test_wrong_texts_are_refused(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_items(source, **options)


@given(
    st.dictionaries(st.text("abc", min_size=1), st.text(), min_size=1, max_size=4),
    st.integers(10, 300),
)
def test_shown_text_is_no_longer_than_its_room(fields: dict[str, str], longest: int) -> None:
    shown = show_text(fields, longest)

    names = sum(len(name) + 5 for name in fields)
    assert len(shown) <= longest + names
