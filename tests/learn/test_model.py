"""A model is a function of items, labels and a seed; files and orders change nothing."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from sfumato.data import load
from sfumato.data.decode import label_by_neighbours
from sfumato.errors import DataError, MissingPackage, UnknownName
from sfumato.items.items import Items
from sfumato.items.load import load_items
from sfumato.judgments.formats import read
from sfumato.judgments.judgments import Judgments
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.verbs import label
from sfumato.learn.examples import VectorExamples
from sfumato.learn.model import Model, train
from sfumato.provenance import is_simulated

CLASSES = ("cat", "dog", "owl")
N = 120


@pytest.fixture(scope="module")
def vectors() -> Items:
    """Three clouds; the last number never varies, and the first is on another scale."""
    rng = np.random.default_rng(0)
    place = rng.normal(size=(N, 3)) + 3 * np.eye(3)[np.arange(N) % 3]
    place[:, 0] = 1000 + 50 * place[:, 0]
    contents = np.concatenate([place, np.full((N, 1), 7.0)], axis=1)
    return Items(tuple(map(str, range(N))), contents, "vectors")


@pytest.fixture(scope="module")
def labels() -> LabelSet:
    rows = 0.8 * np.eye(3)[np.arange(N) % 3] + 0.2 / 3
    return LabelSet(tuple(map(str, range(N))), CLASSES, rows, np.full(N, 5.0))


@pytest.fixture(scope="module")
def model(vectors: Items, labels: LabelSet) -> Model:
    return train(vectors, labels, network="logistic", epochs=30)


def test_model_learns_what_people_believe(model: Model, vectors: Items, labels: LabelSet) -> None:
    beliefs = model.predict(vectors)

    assert (beliefs.probs.argmax(axis=1) == labels.probs.argmax(axis=1)).mean() > 0.9
    assert model.loss is not None and model.loss < np.log(3)
    assert model.validation_loss == pytest.approx(model.loss, abs=0.3)
    assert (model.trained_on, model.validated_on) == (108, 12)


def test_beliefs_have_no_weight_and_lead_back_to_model_and_items(
    model: Model, vectors: Items
) -> None:
    beliefs = model.predict(vectors)

    step = beliefs.provenance[-1]
    assert not beliefs.weight.any()
    assert step.settings["model"] == model.fingerprint
    assert step.settings["items"] == vectors.fingerprint
    assert [one.name for one in beliefs.provenance] == ["train", "predict"]


def test_same_seed_same_model_another_seed_another(
    model: Model, vectors: Items, labels: LabelSet
) -> None:
    again = train(vectors, labels, network="logistic", epochs=30)
    other = train(vectors, labels, network="logistic", epochs=30, seed=1)

    assert again.fingerprint == model.fingerprint
    assert other.fingerprint != model.fingerprint


def test_order_of_items_and_labels_does_not_matter(
    model: Model, vectors: Items, labels: LabelSet
) -> None:
    order = [str(row) for row in np.random.default_rng(1).permutation(N)]

    again = train(vectors.take(order), labels.take(order[::-1]), network="logistic", epochs=30)

    assert again.fingerprint == model.fingerprint


def test_ids_may_be_whole_numbers(model: Model, vectors: Items, labels: LabelSet) -> None:
    numbered = load_items(vectors.to_numpy(), ids=range(N))
    table = pl.DataFrame({"item": range(N), **dict(zip(CLASSES, labels.probs.T, strict=True))})

    again = train(numbered, table, network="logistic", epochs=30)

    assert again.fingerprint == model.fingerprint


def test_model_shows_itself_in_one_line_and_in_a_notebook(model: Model) -> None:
    assert repr(model) == "<Model: logistic, 3 classes, vectors of 4 numbers, trained on 108 items>"
    assert "<td>cat, dog, owl</td>" in model._repr_html_()


@pytest.mark.parametrize("place", ["folder", "one.safetensors", "some.where/model-1.2"])
def test_saved_model_predicts_the_same_bits(
    model: Model, vectors: Items, tmp_path: Path, place: str
) -> None:
    model.save(tmp_path / place)

    opened = Model.load(str(tmp_path / place))

    assert np.array_equal(opened.predict(vectors).probs, model.predict(vectors).probs)
    assert opened.fingerprint == model.fingerprint
    assert opened.provenance == model.provenance
    assert opened.history == model.history and opened.versions["torch"]
    assert not list(tmp_path.rglob("*.part"))


def test_model_is_opened_by_either_file_or_their_name(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m.safetensors")

    for name in ("m.safetensors", "m.json", "m"):
        assert Model.load(tmp_path / name).fingerprint == model.fingerprint


def test_nothing_in_the_files_is_pickled(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "m")

    told = json.loads((tmp_path / "m" / "model.json").read_text())
    assert {path.name for path in (tmp_path / "m").iterdir()} == {"model.json", "model.safetensors"}
    assert told["classes"] == list(CLASSES) and told["network"] == "logistic"
    assert "mean" in told["scaling"]


def edit(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "model.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


def swap_weights(folder: Path) -> None:
    Model.load(folder)  # as it is, it can be opened
    other = train(
        np.eye(4), {"item": range(4), "label": list("abcd")}, epochs=1, network="logistic"
    )
    other.save(folder / "other")
    (folder / "other" / "model.safetensors").replace(folder / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (edit(classes=["a", "b", "c"]), "do not belong together"),
        (edit(shape=[3]), "do not belong together"),
        (edit(network="simple-ffn"), "do not belong together"),
        (swap_weights, "do not belong together"),
        (edit(**{"sfumato model": 99}), "a model of form 99; this version reads form 1"),
        (edit(**{"sfumato model": None}), "does not describe a model"),
        (lambda folder: (folder / "model.json").write_text("{"), "cannot be read as JSON"),
        (lambda folder: (folder / "model.json").unlink(), "model.json is missing"),
        (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors is missing"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "not a complete safet"),
    ],
)
def test_files_that_do_not_match_are_refused(
    model: Model, tmp_path: Path, change: Callable[[Path], None], says: str
) -> None:
    model.save(tmp_path)
    change(tmp_path)

    with pytest.raises(DataError, match=says):
        Model.load(tmp_path)


def test_items_and_labels_without_counterpart_are_counted(vectors: Items, labels: LabelSet) -> None:
    more = LabelSet((*labels.items[20:], "x"), CLASSES, labels.probs[: N - 19])

    model = train(vectors, more, network="logistic", epochs=1)

    told = " ".join(model.remarks)
    assert "20 items have no label" in told and "1 label has no item" in told
    assert model.provenance[-1].settings["items_without_label"] == 20
    assert "20 items have no label" in repr(model)


def test_what_was_guessed_or_rounded_in_labels_is_told(vectors: Items) -> None:
    table = {"image_name": range(N), "cat": [0.33] * N, "dog": [0.33] * N, "owl": [0.33] * N}

    model = train(vectors, table, network="logistic", epochs=1)

    told = " ".join(model.remarks)
    assert "'image_name'" in told and "2 decimals" in told


def test_answers_are_labelled_on_the_way(vectors: Items) -> None:
    answers = read(
        [
            {"item": row, "annotator": who, "label": CLASSES[(row + shift) % 3]}
            for row in range(N)
            for who, shift in (("ann", 0), ("ben", 0), ("eve", 1))
        ]
    )
    assert isinstance(answers, Judgments)

    for presentation in ("fixed", "one annotator"):
        model = train(vectors, answers, network="logistic", epochs=1, presentation=presentation)
        made = train(
            vectors, label(answers), network="logistic", epochs=1, presentation=presentation
        )
        assert model.fingerprint == made.fingerprint


def test_columns_are_matched_by_name(vectors: Items, labels: LabelSet) -> None:
    table = pl.DataFrame(vectors.contents, schema=["a", "b", "c", "d"])
    table = table.with_columns(item=pl.Series(vectors.ids))
    model = train(table, labels, network="logistic", epochs=1)

    turned = table.select("d", "item", "c", "b", "a", note=pl.lit("more text"))

    assert np.array_equal(model.predict(turned).probs, model.predict(table).probs)
    assert np.array_equal(model.predict(vectors).probs, model.predict(table).probs)
    with pytest.raises(DataError, match="no column 'b'"):
        model.predict(table.drop("b"))
    with pytest.raises(DataError, match="lack the column 'b'"):
        model.predict(load_items(table.drop("b")))


def test_number_that_never_varied_does_not_swamp_the_rest(model: Model, vectors: Items) -> None:
    changed = vectors.to_numpy()
    changed[:, 3] += 0.5

    moved = model.predict(load_items(changed)).probs

    assert np.abs(moved - model.predict(vectors).probs).max() < 0.5


def test_validation_part_is_a_share_ids_or_nothing(vectors: Items, labels: LabelSet) -> None:
    def parts(**options: Any) -> tuple[int, int]:
        made = train(vectors, labels, network="logistic", epochs=2, **options)
        assert (made.validation_loss is None) == (made.validated_on == 0)
        return made.trained_on, made.validated_on

    assert parts(validation=0.25) == (90, 30)
    assert parts(validation=[0, 1, "2"]) == (117, 3)
    assert parts(validation=0) == (120, 0)


def test_few_items_are_all_learnt_from_and_it_is_said(vectors: Items, labels: LabelSet) -> None:
    model = train(vectors, labels.take(labels.items[:30]), network="logistic", epochs=2)

    assert (model.trained_on, model.validated_on, model.best_epoch) == (30, 0, 2)
    assert "30 labelled items are too few to set some aside" in " ".join(model.remarks)


def test_only_item_of_a_class_is_learnt_from() -> None:
    rows = np.eye(3)[[0] * 10 + [1] * 10 + [2]]
    labels = LabelSet(tuple(map(str, range(21))), CLASSES, rows)

    model = train(rows, labels, validation=0.2, epochs=1, network="logistic")

    assert (model.trained_on, model.validated_on) == (17, 4)


def test_training_stops_when_nothing_gets_better(vectors: Items, labels: LabelSet) -> None:
    model = train(vectors, labels, network="deeper-ffn", epochs=200, patience=3, learning_rate=0.05)

    assert len(model.history) == model.best_epoch + 3 < 200
    assert model.validation_loss == min(row["validation_loss"] for row in model.history)


def test_options_change_the_training(vectors: Items, labels: LabelSet) -> None:
    plain = train(vectors, labels, network="logistic", epochs=2)
    changes: list[dict[str, Any]] = [
        {"batch_size": 16},
        {"learning_rate": 0.1},
        {"optimizer": "sgd"},
        {"weight_decay": 0.1},
        {"presentation": "sampled"},
        {"network": "simple-ffn"},
        {"epochs": 3},
    ]

    found = {
        train(vectors, labels, **{"network": "logistic", "epochs": 2, **change}).fingerprint
        for change in changes
    }

    assert len({plain.fingerprint, *found}) == 1 + len(changes)


def test_progress_is_told_epoch_by_epoch(vectors: Items, labels: LabelSet) -> None:
    seen: list[tuple[int, int]] = []

    train(
        vectors, labels, network="logistic", epochs=3,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip

    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_labels_of_single_annotators(vectors: Items, tmp_path: Path) -> None:
    ids = tuple(map(str, range(N)))
    said = np.eye(3)[np.concatenate([np.arange(N) % 3, (np.arange(N) + 1) % 3])]
    crowd = CrowdLabels(
        ids, ("p", "q"), CLASSES, np.tile(np.arange(N), 2), np.repeat([0, 1], N), said
    )
    write_labels(crowd, tmp_path / "crowd.parquet")

    mean = train(vectors, crowd, network="logistic", epochs=2)
    one = train(vectors, crowd, network="logistic", epochs=2, presentation="one annotator")

    assert (
        mean.fingerprint == train(vectors, crowd.mean(), network="logistic", epochs=2).fingerprint
    )
    assert one.fingerprint != mean.fingerprint
    again = train(
        vectors, tmp_path / "crowd.parquet", network="logistic", epochs=2,
        presentation="one annotator",
    )  # fmt: skip
    assert again.fingerprint == one.fingerprint


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"network": "logstic"}, UnknownName, "Did you mean 'logistic'"),
        ({"network": "resnet-8"}, DataError, "learns images; these are vectors.*simple-ffn"),
        ({"augment": ["flip"]}, DataError, "Vectors cannot be changed by 'flip'"),
        ({"augment": "flop"}, UnknownName, "Did you mean 'flip'"),
        ({"presentation": "fixd"}, UnknownName, "Did you mean 'fixed'"),
        ({"optimizer": "adm"}, UnknownName, "Did you mean 'adam'"),
        ({"device": "cuda:99"}, DataError, "no device 'cuda:99'"),
        ({"device": "gpu"}, DataError, "no device 'gpu'"),
        ({"validation": 1.5}, DataError, "must be above 0 and below 1"),
        ({"validation": ["x"]}, DataError, "'x' of the validation part is not among"),
        ({"validation": range(N)}, DataError, "leave some to learn from"),
        ({"validation": "12"}, DataError, "give a share, or a list of ids"),
        ({"seed": -1}, DataError, "seed must be"),
        ({"patience": 0}, DataError, "patience must be"),
        ({"epochs": 0}, DataError, "epochs must be at least 1"),
        ({"presentation": "one annotator"}, DataError, "give the labels of each annotator"),
    ],
)
def test_wrong_options_are_sentences(
    vectors: Items, labels: LabelSet, options: dict[str, Any], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says):
        train(vectors, labels, **options)


def test_other_items_than_were_learnt_are_refused(model: Model) -> None:
    with pytest.raises(DataError, match="trained on vectors of 4 numbers; these are vectors of 2"):
        model.predict(np.eye(2))
    with pytest.raises(DataError, match="these are images of 8 × 8 pixels, grey"):
        model.predict(load("digits"))


def test_vector_too_large_for_training_is_named() -> None:
    with pytest.raises(DataError, match="item 'b' holds NaN, or a number too large"):
        VectorExamples(("a", "b"), np.array([1, np.inf], np.float32)[:, None, None, None])


# Pictures.


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits") / "pictures"
    folder.mkdir()
    for row, pixels in enumerate(load("digits").images[:150, ..., 0]):
        Image.fromarray(pixels).save(folder / f"d{row}.png")
    return folder


@pytest.mark.parametrize("ending", ["", ".png"])
def test_predictions_are_called_as_labels_called_the_pictures(pictures: Path, ending: str) -> None:
    digits = load("digits")
    rows = [{"item": f"d{row}{ending}", "label": str(digits.labels[row])} for row in range(150)]

    model = train(pictures, rows, epochs=5, network="simple-ffn")
    beliefs = model.predict(pictures)

    assert set(beliefs.items) == {row["item"] for row in rows}
    assert model.naming == ("path" if ending else "stem")


def test_pictures_are_brought_to_the_size_that_was_learnt(pictures: Path, tmp_path: Path) -> None:
    rows = [{"item": f"d{row}", "label": str(row % 2)} for row in range(150)]
    small = load_items(pictures, size=(6, 5))
    model = train(small, rows, epochs=1)  # too small for a ResNet
    Image.new("L", (30, 40), 128).save(tmp_path / "large.png")
    Image.new("RGB", (30, 40), (9, 9, 200)).save(tmp_path / "coloured.jpeg")

    model.save(tmp_path / "m")

    assert (model.network, model.shape) == ("simple-ffn", (6, 5, 1))
    with pytest.raises(DataError, match="grey; these are images of 6 × 5 pixels, in colour"):
        Model.load(tmp_path / "m").predict(tmp_path)
    (tmp_path / "coloured.jpeg").unlink()
    (tmp_path / "m" / "model.json").rename(tmp_path / "model.json")  # no picture
    assert model.predict(tmp_path).items == ("large",)


def test_grey_pictures_fill_the_colours_of_a_model() -> None:
    rng = np.random.default_rng(0)
    grey = rng.integers(256, size=(40, 8, 8, 1)).astype(np.uint8)
    labels = {"item": range(40), "label": ["a", "b"] * 20}
    model = train(np.repeat(grey, 3, axis=3), labels, epochs=1, network="simple-ffn")

    assert np.array_equal(
        model.predict(grey).probs, model.predict(np.repeat(grey, 3, axis=3)).probs
    )


def test_real_digits_and_people_who_are_simulated() -> None:
    digits = load("digits")
    labels = label_by_neighbours(digits)

    model = train(digits, labels, network="simple-ffn", epochs=8, augment="flip", device="cpu")
    beliefs = model.predict(digits)

    assert (beliefs.probs.argmax(axis=1) == digits.labels).mean() > 0.6
    assert is_simulated(beliefs.provenance)  # whoever scores it is told
    assert model.recipe["augment"] == ["flip"]


def test_default_network_of_images_is_a_small_resnet() -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(12, 8, 8)).astype(np.uint8)

    model = train(images, {"item": range(12), "label": ["a", "b"] * 6}, epochs=1)

    assert model.network == "resnet-8" and model.recipe["learning_rate"] == 1e-3


# ONNX, and what is not installed.


@pytest.mark.parametrize("kind", ["vectors", "images"])
def test_onnx_gives_the_same_probabilities(kind: str, model: Model, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    if kind == "images":
        images = rng.integers(256, size=(20, 16, 16, 3)).astype(np.uint8)
        labels = {"item": range(20), "label": ["a", "b"] * 10}
        model = train(images, labels, epochs=2, network="cnn-3")
        numbers = rng.random((5, 16, 16, 3), dtype=np.float32)
        expected, given = model.predict(numbers), np.moveaxis(numbers, 3, 1)
    else:
        given = rng.normal(size=(5, 4)).astype(np.float32)
        expected = model.predict(given)

    path = model.to_onnx(tmp_path / "m.onnx")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])

    for count in (5, 1):
        (found,) = session.run(["probabilities"], {kind: given[:count]})
        assert np.abs(found - expected.probs[:count]).max() < 1e-5
    told = session.get_modelmeta().custom_metadata_map
    assert json.loads(told["classes"]) == list(model.classes)
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("package", ["torch", "safetensors"])
def test_without_the_extra_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, vectors: Items, labels: LabelSet, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingPackage, match=rf"needs {package}.*pip install 'sfumato\[learn\]'"):
        train(vectors, labels)


def test_without_onnxscript_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, model: Model, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)

    with pytest.raises(MissingPackage, match=r"pip install 'sfumato\[onnx\]'"):
        model.to_onnx(tmp_path / "m.onnx")


def test_without_patience_the_best_epoch_is_still_kept(vectors: Items, labels: LabelSet) -> None:
    model = train(vectors, labels, network="logistic", epochs=3, patience=None)

    assert (model.recipe["weights"], model.recipe["stop_after"]) == ("best", None)
    assert len(model.history) == 3
