import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax

from sfumato.errors import DataError
from sfumato.evaluation.predictions import (
    Kind,
    LoadedPredictions,
    WrongKind,
    load_original,
    load_predictions,
    other_class_order,
    read_predictions,
)
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.provenance import Step, is_simulated

CLASSES = ("cat", "dog", "frog")
PROBS = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
TABLE = "item,cat,dog,frog\na,0.7,0.2,0.1\nb,0.1,0.1,0.8\n"


def stored(folder: Path, name: str, **arrays: object) -> Path:
    path = folder / name
    np.savez(path, **arrays)
    return path


def text(folder: Path, content: str) -> Path:
    path = folder / "model.csv"
    path.write_text(content)
    return path


def test_table_of_predictions_is_read_by_names(tmp_path: Path) -> None:
    path = text(tmp_path, "item,frog,cat,dog\na,0.1,0.7,0.2\nb,0.8,0.1,0.1\n")

    model = read_predictions(path, classes=CLASSES)

    assert (model.items, model.classes) == (("a", "b"), CLASSES)
    assert model.probs == pytest.approx(PROBS)


def test_parquet_with_numbers_as_items_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.parquet"
    pl.DataFrame({"item": [10, 11], "cat": [1.0, 0.5], "dog": [0.0, 0.5]}).write_parquet(path)

    assert read_predictions(path, classes=("cat", "dog")).items == ("10", "11")


def test_what_sfumato_writes_is_read_with_its_history(tmp_path: Path) -> None:
    labels = LabelSet(
        ("a", "b"), CLASSES, PROBS, provenance=(Step("simulate voters", simulated=True),)
    )
    write_labels(labels, tmp_path / "x.csv")

    model = read_predictions(tmp_path / "x.csv", classes=CLASSES)

    assert is_simulated(model.provenance)
    assert len(model.provenance[-1].inputs["x.csv"]) == 64


def test_array_may_name_its_items_and_classes(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        "m.npz",
        probs=PROBS[:, [2, 0, 1]],
        items=["a", "b"],
        classes=["frog", "cat", "dog"],
    )

    model = read_predictions(path, classes=CLASSES)

    assert model.items == ("a", "b")
    assert model.probs == pytest.approx(PROBS)
    assert model.provenance[-1].settings["classes"] == "by name"


def test_array_without_names_is_taken_by_position_and_says_so(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", PROBS.astype(np.float32))

    model = read_predictions(tmp_path / "m.npy", classes=CLASSES)

    assert model.items == ("0", "1")
    assert model.probs.sum(axis=1) == pytest.approx(1, abs=1e-15)
    assert model.provenance[-1].settings == {
        "kind": "probabilities",
        "items": "by position",
        "classes": "by position",
    }


def test_order_of_unnamed_columns_can_be_told(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", PROBS[:, [2, 0, 1]])

    model = read_predictions(tmp_path / "m.npy", classes=CLASSES, unnamed=("frog", "cat", "dog"))

    assert model.probs == pytest.approx(PROBS)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rounded_rows_are_put_right(tmp_path: Path, dtype: type) -> None:
    rows: NDArray[np.floating] = np.random.default_rng(0).dirichlet(np.ones(10), 50).astype(dtype)
    np.save(tmp_path / "m.npy", rows)

    model = read_predictions(tmp_path / "m.npy", classes=tuple("abcdefghij"))

    assert model.probs == pytest.approx(rows.astype(np.float64), rel=2e-3)


def test_logits_become_probabilities(tmp_path: Path) -> None:
    logits = np.random.default_rng(1).normal(scale=400, size=(5, 3))  # would overflow exp
    np.save(tmp_path / "m.npy", logits)
    named = stored(tmp_path, "m.npz", logits=logits)

    told = read_predictions(tmp_path / "m.npy", classes=CLASSES, kind="logits")
    by_name = read_predictions(named, classes=CLASSES)

    assert told.probs == pytest.approx(np.exp(log_softmax(logits, axis=1)))
    assert np.array_equal(told.probs, by_name.probs)
    assert by_name.provenance[-1].settings["kind"] == "logits"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            TABLE.replace("0.8", "0.91"),
            r"model.csv, row 2 \(item 'b'\) sums to 1.11, not 1.*say that they are logits",
        ),
        (TABLE.replace("0.2", "-0.2"), r"row 1 \(item 'a'\) holds -0.2, .*they are logits"),
        (TABLE.replace("0.8", "nan"), r"row 2 \(item 'b'\), class 'frog': found nan, expected a"),
        (TABLE.replace("0.8", "high"), r"row 2 \(item 'b'\), column 'frog': 'high' is no number"),
        (TABLE.replace("0.8", ""), r"row 2 \(item 'b'\), column 'frog': None is no number"),
        (TABLE.replace("frog", "fox"), "'fox' is in model.csv only"),
        (
            TABLE.replace(",frog", "").replace("0.2,0.1\n", "0.3\n").replace("0.1,0.8", "0.9"),
            "'frog' is in the labels only",
        ),
        (TABLE.replace("item,", "what,"), "has no column 'item'.*It has 'what', 'cat'"),
        (TABLE.replace("0.", ""), "row 1 .* sums to 10"),
        (TABLE.replace("0.7,0.2,0.1", "70,20,10").replace("0.1,0.1,0.8", "10,10,80"), "percent"),
        (TABLE.replace("b,", "a,"), "model.csv: The item 'a' occurs more than once"),
        (TABLE.replace("b,", ",", 1), "row 2, column 'item' is empty"),
    ],
)
def test_wrong_table_is_a_sentence_that_names_the_place(
    tmp_path: Path, content: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_predictions(text(tmp_path, content), classes=CLASSES)


def test_wrong_arrays_are_named(tmp_path: Path) -> None:
    wrong: dict[str, dict[str, object]] = {
        "holds weights": {"weights": PROBS},
        "has 2 columns, but there are 3 classes": {"probs": PROBS[:, :2]},
        "row 2 .*inf": {"logits": np.array([[1, 2, 3], [1, np.inf, 0]])},
        "names 3 items, but its array has 2": {"probs": PROBS, "items": ["a", "b", "c"]},
        "shape .*expected numbers": {"probs": PROBS[None]},
        "type <U1": {"probs": np.array([["a"]])},
        "holds logits, probs": {"probs": PROBS, "logits": PROBS},
    }
    for place, (message, arrays) in enumerate(wrong.items()):
        path = stored(tmp_path, f"m{place}.npz", **arrays)
        with pytest.raises(DataError, match=f"{path.name}.*{message}"):
            read_predictions(path, classes=CLASSES)


def test_class_numbers_are_no_predictions(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array([0, 1]))

    with pytest.raises(DataError, match="a row of probabilities for each item"):
        read_predictions(tmp_path / "m.npy", classes=CLASSES)


@pytest.mark.parametrize("name", ["m.npz", "m.npy", "m.parquet", "m.csv"])
def test_file_that_is_something_else_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x00\x01no such format")

    with pytest.raises(DataError, match=name):
        read_predictions(tmp_path / name, classes=CLASSES)


def test_missing_file_and_unknown_kind_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no file .*nowhere\.npz"):
        read_predictions(tmp_path / "nowhere.npz", classes=CLASSES)
    (tmp_path / "m.pkl").write_bytes(b"")
    with pytest.raises(DataError, match=r"expected \.csv, .*\.parquet, \.npz or \.npy"):
        read_predictions(tmp_path / "m.pkl", classes=CLASSES)


def test_original_labels_are_numbers_names_or_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([0, 2], dtype=np.uint8))
    (tmp_path / "o.csv").write_text("item,label\n0,cat\n1,frog\n")
    (tmp_path / "rows.csv").write_text("item,cat,dog,frog\n0,1,0,0\n1,0,0,1\n")

    found = [
        load_original(tmp_path / name, name=name, classes=CLASSES)
        for name in ("o.npy", "o.csv", "rows.csv")
    ]

    assert all(each.items == ("0", "1") for each in found)
    assert all(each.probs.tolist() == [[1, 0, 0], [0, 0, 1]] for each in found)


def test_original_numbers_count_in_the_told_order(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([0, 2]))

    labels = load_original(
        tmp_path / "o.npy", name="o.npy", classes=CLASSES, unnamed=("frog", "cat", "dog")
    )

    assert [labels.classes[row.argmax()] for row in labels.probs] == ["frog", "dog"]


def test_original_class_that_does_not_exist_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([0, 3]))
    (tmp_path / "o.csv").write_text("item,label\na,cat\nb,fox\n")

    with pytest.raises(DataError, match=r"o\.npy, row 2: found class number 3, expected 0 to 2"):
        load_original(tmp_path / "o.npy", name="o.npy", classes=CLASSES)
    with pytest.raises(DataError, match=r"o\.csv, row 2: no class is called 'fox'"):
        load_original(tmp_path / "o.csv", name="o.csv", classes=CLASSES)


def test_columns_in_another_order_are_suspected() -> None:
    rng = np.random.default_rng(2)
    items = tuple(map(str, range(90)))
    human = hard_labels(items, CLASSES, rng.integers(3, size=90))
    model = 0.8 * human.probs + 0.2 / 3
    turned = LabelSet(items, CLASSES, model[:, [2, 0, 1]])

    assert "if the columns are frog, cat, dog" in other_class_order(human, turned)
    assert other_class_order(human, LabelSet(items, CLASSES, model)) == ""
    guessing = LabelSet(items, CLASSES, rng.dirichlet(np.ones(3), size=90))
    assert other_class_order(human, guessing) == ""


def test_history_beside_a_file_that_is_no_history_is_ignored(tmp_path: Path) -> None:
    path = text(tmp_path, TABLE)
    path.with_name("model.csv.json").write_text(json.dumps({"note": "mine"}))

    assert [step.name for step in read_predictions(path, classes=CLASSES).provenance] == [
        "read predictions"
    ]


def loaded(
    folder: Path, content: str, name: str = "model.csv", kind: Kind = "probabilities"
) -> LoadedPredictions:
    path = folder / name
    path.write_bytes(content.encode())
    return load_predictions(path, name=name, classes=CLASSES, items=("a", "b"), kind=kind)


@pytest.mark.parametrize(
    "header",
    [
        "item,prob_cat,prob_dog,prob_frog",
        "item,p_cat,p_dog,p_frog",
        "item,proba_cat,proba_dog,proba_frog",
        "item,class_cat,class_dog,class_frog",
        "item,P(cat),P(dog),P(frog)",
        "item,prob class cat,prob class dog,prob class frog",
        "item,cat_probability,dog_probability,frog_probability",
        "item,Cat,DOG,frog ",
        "item, cat, dog, frog",
        "uid,cat,dog,frog",
        "image_name,prob_cat,prob_dog,prob_frog",
    ],
)
def test_columns_are_known_by_whatever_stands_around_the_class(tmp_path: Path, header: str) -> None:
    found = loaded(tmp_path, TABLE.replace("item,cat,dog,frog", header))

    assert found.labels.classes == CLASSES
    assert found.labels.items == ("a", "b")
    assert found.labels.probs == pytest.approx(PROBS)
    assert not found.by_position("classes")


def test_numbered_columns_are_taken_in_order_and_it_is_said(tmp_path: Path) -> None:
    found = loaded(tmp_path, TABLE.replace("cat,dog,frog", "class_0,class_1,class_2"))

    assert found.labels.probs == pytest.approx(PROBS)
    assert found.by_position("classes")
    assert "'class_0' to 'class_2' name no class and are taken in the order" in found.remarks[0]


def test_columns_of_two_models_are_refused(tmp_path: Path) -> None:
    content = "item,m_cat,m_dog,m_frog,n_cat,n_dog,n_frog\na,1,0,0,1,0,0\n"

    with pytest.raises(
        DataError, match=r"several columns for each class, such as 'm_cat', 'n_cat'"
    ):
        loaded(tmp_path, content)


def test_probabilities_are_taken_where_logits_stand_beside_them(tmp_path: Path) -> None:
    content = (
        "item,logit_cat,logit_dog,logit_frog,prob_cat,prob_dog,prob_frog\na,3,1,0,0.7,0.2,0.1\n"
    )

    assert loaded(tmp_path, content).labels.probs[0] == pytest.approx([0.7, 0.2, 0.1])


def test_columns_that_are_no_classes_are_named(tmp_path: Path) -> None:
    content = (
        "item,split,cat,dog,frog,pred,loss\na,test,0.7,0.2,0.1,cat,0.3\nb,test,0.1,0.1,0.8,frog,2\n"
    )

    found = loaded(tmp_path, content)

    assert found.labels.probs == pytest.approx(PROBS)
    assert found.remarks == ("model.csv: 3 columns are not used: 'split', 'pred', 'loss'.",)


def test_class_that_only_the_model_has_is_kept(tmp_path: Path) -> None:
    found = loaded(tmp_path, "item,cat,dog,frog,bat\na,0.5,0.2,0.1,0.2\nb,0.1,0.1,0.8,0\n")

    assert found.labels.classes == (*CLASSES, "bat")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_decimal_commas_and_marks_are_read(
    tmp_path: Path, delimiter: str, end: str
) -> None:
    content = TABLE.replace(",", delimiter).replace(".", ",").replace("\n", end)

    found = loaded(tmp_path, f"\ufeff{content}")

    assert found.labels.probs == pytest.approx(PROBS)


def test_compressed_and_other_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "m.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    rows = [{"item": "a", "cat": 0.7, "dog": 0.2, "frog": 0.1}]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    np.save(tmp_path / "m.npy", PROBS)
    sources = {
        "m.csv.gz": tmp_path / "m.csv.gz",
        "m.jsonl": str(tmp_path / "m.jsonl"),
        "npy and ids": (tmp_path / "m.npy", ["a", "b"]),
        "array and ids": (PROBS, ["a", "b"]),
        "ids and array": (["a", "b"], PROBS),
        "array": PROBS,
        "polars": pl.DataFrame(rows),
        "pandas": pl.DataFrame(rows).to_pandas(),
        "dicts": rows,
    }

    for name, source in sources.items():
        found = load_predictions(source, name=name, classes=CLASSES, items=("a", "b"))
        assert found.labels.probs[0] == pytest.approx(PROBS[0]), name
        assert found.labels.items[0] == "a", name


def test_array_of_other_length_than_the_labels_is_refused() -> None:
    with pytest.raises(DataError, match=r"ours has 2 rows, but there are 3 items\. Give the ids"):
        load_predictions(PROBS, name="ours", classes=CLASSES, items=("a", "b", "c"))


def test_long_table_is_turned(tmp_path: Path) -> None:
    rows = "item,class,probability\na,cat,0.7\na,dog,0.2\nb,frog,0.8\na,frog,0.1\nb,cat,0.2\n"

    found = loaded(tmp_path, rows)

    assert found.labels.probs == pytest.approx(np.array([[0.7, 0.2, 0.1], [0.2, 0, 0.8]]))
    assert "one row per item and class" in found.remarks[0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,cat,0.7\na,cat,0.3\n", "row 1: item 'a' and class 'cat' occur more than once"),
        ("a,cat,0.7\na,dog,0.2\n", "row 1 .item 'a'. sums to 0.9"),
        ("a,cat,0.75\na,dog,much\n", "row 2 .item 'a'., column 'p': 'much' is no number"),
    ],
)
def test_wrong_long_table_is_a_sentence(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        loaded(tmp_path, f"item,class,p\n{rows}b,cat,0.505\nb,dog,0.495\n")


def test_hard_predictions_are_read_only_when_asked_for(tmp_path: Path) -> None:
    content = "item,label,confidence\na,cat,0.7\nb,frog,0.9\n"

    with pytest.raises(WrongKind, match=r"one class per item, not a probability for each class"):
        loaded(tmp_path, content)
    found = loaded(tmp_path, content, kind="hard")

    assert found.labels.probs.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert found.remarks == ("model.csv: 1 column is not used: 'confidence'.",)


def test_hard_predictions_may_be_numbers_arrays_or_rows(tmp_path: Path) -> None:
    wanted = [[1, 0, 0], [0, 0, 1]]
    one_hot = "item,cat,dog,frog\na,1,0,0\nb,0,0,1\n"

    assert loaded(tmp_path, "item,pred\na,0\nb,2\n", kind="hard").labels.probs.tolist() == wanted
    assert loaded(tmp_path, one_hot, kind="hard").labels.probs.tolist() == wanted
    for source in (np.array([0, 2]), np.array(["cat", "frog"])):
        found = load_predictions(
            source, name="ours", classes=CLASSES, items=("a", "b"), kind="hard"
        )
        assert found.labels.probs.tolist() == wanted
    with pytest.raises(WrongKind, match="no hard predictions"):
        loaded(tmp_path, TABLE, kind="hard")
    with pytest.raises(DataError, match=r"row 2: no class is called 'forg'. Did you mean 'frog'"):
        loaded(tmp_path, "item,pred\na,cat\nb,forg\nc,dog\n", kind="hard")


def test_tensor_with_gradients_is_an_array() -> None:
    torch = pytest.importorskip("torch")
    rows = torch.tensor(PROBS, requires_grad=True)

    found = load_predictions(rows, name="ours", classes=CLASSES, items=("a", "b"))

    assert found.labels.probs == pytest.approx(PROBS)


def test_rounding_is_said_once_with_its_count(tmp_path: Path) -> None:
    content = "item,cat,dog,frog\na,0.334,0.334,0.333\nb,0.333,0.333,0.333\n"

    found = loaded(tmp_path, content)

    assert found.labels.probs.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert found.remarks == (
        "model.csv: 2 of 2 rows are rounded to 3 decimals and do not sum to one (0.999 to 1.001); "
        "divided by their sums.",
    )
    assert "3 decimals" in str(found.labels.provenance[-1].settings["rounded"])


def test_what_cannot_be_predictions_is_named() -> None:
    with pytest.raises(DataError, match="ours: predictions cannot be a dict"):
        load_predictions({"a": 3}, name="ours", classes=CLASSES)
