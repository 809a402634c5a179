"""Files that version 0.1 wrote are read as they were meant."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.evaluation.predictions import read_predictions
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import build
from sfumato.labels.files import read_crowd_labels, read_labels
from sfumato.provenance import is_simulated

SAMPLES = Path(__file__).parent / "samples" / "0.1"
CLASSES = ("cat", "dog", "bird")
ITEMS = ("1", "2", "10")
LABELS = np.array(
    [
        [0.600825557055, 0.319174442945, 0.08],
        [0.181899, 0.768101, 0.05],
        [0.170079, 0.362614, 0.467308],
    ]
)  # (items, classes)
PREDICTIONS = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def judgments_in(path: Path) -> Judgments:
    found = read(path, "sfumato", ReadOptions())
    assert isinstance(found, Judgments)
    return found


@pytest.mark.parametrize("name", ["judgments.parquet", "judgments.jsonl"])
def test_judgments_with_their_question_beside_them(name: str) -> None:
    judgments = judgments_in(SAMPLES / name)

    assert len(judgments) == 12
    assert not judgments.rejected
    assert judgments.table["item"].unique(maintain_order=True).to_list() == list(ITEMS)
    assert judgments.table["annotator"].n_unique() == 6
    assert judgments.table["simulated"].all() and is_simulated(judgments.provenance)
    assert (judgments.question.kind, judgments.question.classes) == ("top-two", CLASSES)
    assert judgments.question.options == {"scale": 100}
    assert json.loads(judgments.table["answer"][1]) == {
        "first": "dog",
        "first_percent": "92",
        "second": "cat",
        "second_percent": "17",
        "ruled_out": [],
    }


def test_judgments_still_make_the_labels_that_they_made() -> None:
    crowd = build(judgments_in(SAMPLES / "judgments.parquet"), "top2-clamp").crowd

    stored = read_crowd_labels(SAMPLES / "crowd.csv")
    assert np.abs(crowd.probs - stored.probs).max() < 1e-9
    assert np.abs(crowd.mean().probs - LABELS).max() < 1e-6


def test_labels_with_what_is_known_beside_them() -> None:
    labels = read_labels(SAMPLES / "labels.parquet")

    assert (labels.items, labels.classes) == (ITEMS, CLASSES)
    assert np.abs(labels.probs - LABELS).max() < 1e-6
    steps = [step.name for step in labels.provenance]
    assert steps[-3:] == ["label top2-clamp", "aggregate mean", "read labels"]
    assert is_simulated(labels.provenance)
    assert labels.weight.tolist() == [4.0, 4.0, 4.0]


def test_labels_of_votes_as_text() -> None:
    labels = read_labels(SAMPLES / "votes.csv")

    assert labels.probs.tolist() == [[0.75, 0.25, 0.0], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]]
    assert is_simulated(labels.provenance)


def test_labels_without_anything_beside_them() -> None:
    labels = read_labels(SAMPLES / "seen.csv")

    assert labels.probs.tolist() == [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.34, 0.33, 0.33]]


def test_labels_of_single_annotators() -> None:
    crowd = read_crowd_labels(SAMPLES / "crowd.csv")

    assert (crowd.items, crowd.classes) == (ITEMS, CLASSES)
    assert len(crowd.probs) == 12
    assert sorted(crowd.annotators) == [f"simulated-000{place}" for place in range(1, 7)]
    assert crowd.annotators[crowd.annotator[3]] == "simulated-0001"
    assert crowd.probs[3].tolist() == pytest.approx([0.66, 0.32, 0.02])
    assert is_simulated(crowd.provenance)


@pytest.mark.parametrize("name", ["predictions.parquet", "predictions.csv", "predictions.npz"])
def test_predictions(name: str) -> None:
    found = read_predictions(SAMPLES / name, classes=CLASSES)

    assert found.items == ITEMS
    assert np.abs(found.probs - PREDICTIONS).max() < 1e-9


def test_predictions_are_scored_against_labels() -> None:
    told = run(
        "evaluate",
        "--labels",
        str(SAMPLES / "labels.parquet"),
        "--predictions",
        str(SAMPLES / "predictions.npz"),
        "--json",
    )

    scores = {row["metric"]: row for row in json.loads(told)["scores"] if row["stratum"] == "all"}
    assert scores["accuracy"]["value"] == 1.0
    loss = -(LABELS * np.log(PREDICTIONS)).sum(axis=1).mean()
    assert scores["cross_entropy"]["value"] == pytest.approx(loss, abs=1e-4)


@pytest.fixture
def elicited(tmp_path: Path) -> Path:
    """The folder of a collection in which two people finished and one left after two answers."""
    return Path(shutil.copytree(SAMPLES / "elicit", tmp_path / "elicit"))


def test_collection_tells_how_far_it_is(elicited: Path) -> None:
    told = run("elicit", "status", str(elicited))

    assert "top-two, closed" in told
    assert "3 entered" in told and "2 finished, 1 away" in told
    assert "10 first, 2 repeat" in told


def test_collection_gives_its_answers(elicited: Path, tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"

    run("elicit", "export", str(elicited), "-o", str(path), "--with", "repeats")

    judgments = judgments_in(path)
    assert len(judgments) == 12
    assert judgments.question.classes == CLASSES
    assert judgments.table["annotator"].n_unique() == 3
    assert judgments.table["view"].value_counts().sort("view").rows() == [
        ("first", 10),
        ("repeat", 2),
    ]
    assert judgments.table.filter(pl.col("completed"))["annotator"].n_unique() == 2
    first = judgments.table.filter(order=1, item="d")
    assert set(first["seconds"]) == {2.5}
    assert json.loads(first["answer"][0]) == {
        "first": "dog",
        "first_percent": 70,
        "second": "bird",
        "second_percent": 20,
        "ruled_out": ["cat"],
    }
