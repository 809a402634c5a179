"""Texts are read alike from wherever they come, keep their fields, and are shown short."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.items.join import join_labels
from sfumato.items.load import load_items
from sfumato.items.texts import show_text

PAIRS = {
    "uid": ["7", "8"],
    "premise": ["It rains.", "Two <b>dogs</b> run."],
    "hypothesis": ["It is wet.", "Animals move."],
}


def same(items: Items) -> None:
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
        same(
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

    same(load_items(pandas.DataFrame(PAIRS), text=["premise", "hypothesis"]))
    same(load_items(pandas.DataFrame(PAIRS).set_index("uid"), text=["premise", "hypothesis"]))
    same(load_items(datasets.Dataset.from_dict(PAIRS), text=["premise", "hypothesis"]))


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

    same(load_items(items.to_polars(), text=["premise", "hypothesis"]))
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
