"""``train`` and ``predict`` on files, as a person would type them."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.cli.conftest import Run

from sfumato.labels.files import read_labels
from sfumato.learn.model import Model

LIGHT, DARK = 200, 60


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``sfumato`` in a folder with pictures, vectors, and labels of both."""
    rng = np.random.default_rng(0)
    Path("pictures").mkdir()
    labels, hard, vectors = ["item,light,dark"], ["item,label"], ["picture,x,y,note"]
    for place in range(30):
        shade = LIGHT if place % 2 else DARK
        pixels = (shade + rng.integers(-30, 30, size=(6, 6))).astype(np.uint8)
        Image.fromarray(pixels).save(f"pictures/p{place}.png")
        share = 0.9 if place % 2 else 0.2
        labels.append(f"p{place},{share},{1 - share}")
        hard.append(f"p{place},{'light' if place % 2 else 'dark'}")
        vectors.append(f"p{place},{shade},{rng.normal()},text")
    for name, rows in {"labels": labels, "hard": hard, "vectors": vectors}.items():
        Path(f"{name}.csv").write_text("\n".join(rows) + "\n")
    return run


TRAIN = ("train", "pictures", "--labels", "labels.csv", "--network", "logistic", "-o", "model")


def test_from_pictures_to_scores(run: Run) -> None:
    trained = run(*TRAIN)
    predicted = run("predict", "model", "pictures", "-o", "beliefs.csv")
    scored = run(
        "evaluate", "--labels", "labels.csv", "--predictions", "beliefs.csv", "--json",
        "--draws", "20",
    )  # fmt: skip

    assert trained.code == predicted.code == scored.code == 0, trained.err + predicted.err
    assert "Trained logistic on 30 items, 2 classes: cross-entropy 0." in trained.out
    assert "The model is in model." in trained.out
    assert "too few to set some aside" in trained.err
    assert "30 items to beliefs.csv" in predicted.out
    values = {
        row["metric"]: row["value"]
        for row in json.loads(scored.out)["scores"]
        if row["stratum"] == "all"
    }
    assert values["accuracy"] > 0.9


def test_json_is_one_object(run: Run) -> None:
    found = json.loads(run(*TRAIN, "--validation", "0.2", "--epochs", "4", "--json").out)
    told = json.loads(run("predict", "model", "pictures", "-o", "b.parquet", "--json").out)

    assert (found["trained_on"], found["validated_on"]) == (24, 6)
    assert found["epochs"] <= 4 and found["validation_loss"] > 0
    assert found["classes"] == ["light", "dark"]
    assert told["items"] == 30 and told["predictions"] == "b.parquet"


def test_validation_figures_are_printed(run: Run) -> None:
    out = run(*TRAIN, "--validation", "0.2", "--epochs", "3").out

    assert "On 6 items set aside, on which the epoch was chosen: cross-entropy" in out


def test_hard_labels_and_vectors_under_other_names(run: Run) -> None:
    done = run(
        "train", "vectors.csv", "--item", "picture", "--columns", "x,y", "--labels", "hard.csv",
        "-o", "v.safetensors",
    )  # fmt: skip
    predicted = run("predict", "v.safetensors", "vectors.csv", "--item", "picture", "-o", "v.csv")

    beliefs = read_labels(Path("v.csv"))
    assert done.code == predicted.code == 0, done.err + predicted.err
    assert Model.load("v").columns == ("x", "y")
    assert beliefs.classes == ("dark", "light")
    assert beliefs.probs[beliefs.items.index("p1")].argmax() == 1


def test_what_is_left_out_is_told(run: Run) -> None:
    Path("some.csv").write_text("item,light,dark\np1,1,0\np2,0,1\np99,0,1\n")
    Path("pictures/notes.txt").write_text("x")

    done = run("train", "pictures", "--labels", "some.csv", "-o", "m", "--epochs", "1")

    assert "28 items have no label and are left out: 'p0.png'" in done.err
    assert "1 label has no item and is left out: 'p99'" in done.err
    assert "1 file is left out of pictures" in done.err


def test_nothing_is_overwritten_unasked(run: Run) -> None:
    run(*TRAIN, "--epochs", "1")
    run("predict", "model", "pictures", "-o", "b.csv")

    again, twice = run(*TRAIN), run("predict", "model", "pictures", "-o", "b.csv")

    assert (again.code, twice.code) == (1, 1)
    assert (
        again.err
        == "sfumato: model/model.safetensors exists already; give another name, or --overwrite.\n"
    )
    assert "b.csv exists already" in twice.err
    assert run(*TRAIN, "--epochs", "2", "--overwrite").code == 0
    assert run("predict", "model", "pictures", "-o", "b.csv", "--overwrite").code == 0
    assert len(Model.load("model").history) == 2


def test_options_reach_the_training(run: Run) -> None:
    words = (
        "--epochs", "2", "--batch-size", "7", "--learning-rate", "0.05", "--seed", "3",
        "--augment", "flip", "--augment", "cutout", "--presentation", "sampled", "--size", "5",
        "--validation", "0.3", "--patience", "4", "--device", "cpu",
    )  # fmt: skip

    done = run(*TRAIN, *words)

    model = Model.load("model")
    assert done.code == 0, done.err
    assert model.shape == (5, 5, 1) and model.size == (5, 5)
    assert {
        name: model.recipe[name]
        for name in ("epochs", "batch_size", "learning_rate", "seed", "augment", "stop_after")
    } == {
        "epochs": 2, "batch_size": 7, "learning_rate": 0.05, "seed": 3,
        "augment": ["flip", "cutout"], "stop_after": 4,
    }  # fmt: skip
    assert model.recipe["presentation"] == "sampled"
    assert run("predict", "model", "pictures", "-o", "b.csv").code == 0  # resized as well


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--network", "resnet8"), "Did you mean 'resnet-8'?"),
        (("--network", "resnet-8"), "at least 8×8 pixels"),
        (("--labels", "nothing.csv"), "There is no file nothing.csv"),
        (("--labels", "vectors.csv"), "it must be a number from 0 to 1"),
        (("--augment", "flop"), "Did you mean 'flip'?"),
        (("--presentation", "one-annotator", "--labels", "hard.csv", "--device", "x"), "device"),
        (("--columns", "x"), "columns are chosen from tables only"),
    ],
)
def test_mistakes_are_one_sentence(run: Run, words: tuple[str, ...], says: str) -> None:
    done = run(*TRAIN, *words)

    assert done.code == 1
    assert says in done.err and done.err.startswith("sfumato: ")
    assert len(done.err.splitlines()) == 1
    assert not Path("model").exists()


def test_without_torch_one_sentence_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*TRAIN, "--epochs", "1")
    monkeypatch.setitem(sys.modules, "torch", None)

    for words in (
        (*TRAIN, "--overwrite"),
        ("predict", "model", "pictures", "-o", "b.csv"),
    ):
        done = run(*words)
        assert done.code == 1
        assert "needs torch, which is not installed" in done.err
        assert "pip install 'sfumato[learn]'" in done.err and len(done.err.splitlines()) == 1


def test_predictions_for_what_is_no_model(run: Run) -> None:
    done = run("predict", "pictures", "pictures", "-o", "b.csv")

    assert done.code == 1
    assert "There is no model pictures" in done.err


def test_backbone_is_fine_tuned_and_other_networks_are_not(run: Run) -> None:
    pytest.importorskip("efficientnet_lite_pytorch")
    Path("few.csv").write_text("item,light,dark\np0,0,1\np1,1,0\n")
    given = ("--labels", "few.csv", "--fine-tune", "--epochs", "1")

    tuned = run(
        "train", "pictures", *given, "--encoder", "efficientnet-lite0", "--encoder-rate", "1e-4",
        "--network", "linear", "-o", "tuned",
    )  # fmt: skip
    refused = run("train", "pictures", *given, "-o", "plain")

    assert "Trained linear with fine-tuned efficientnet-lite0 on 2 items" in tuned.out, tuned.err
    assert Model.load("tuned").recipe["encoder_rate"] == 1e-4
    assert run("predict", "tuned", "pictures", "-o", "beliefs.csv").code == 0
    assert refused.code == 1 and "Only the network of an encoder is fine-tuned" in refused.err
