import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.cli.conftest import Run

LABELS = "item,cat,dog\na,1,0\nb,0.75,0.25\nc,0.25,0.75\nd,0,1\n"
MODEL = "item,dog,cat\nd,0.9,0.1\nc,0.4,0.6\nb,0.3,0.7\na,0.2,0.8\n"
VOTES = "task,worker,label\n" + "".join(
    f"{item},{worker},{label}\n"
    for item, labels in {"a": ("cat", "cat"), "b": ("cat", "dog"), "c": ("dog", "dog")}.items()
    for worker, label in zip("pq", labels, strict=True)
)


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``sfumato audit`` in a folder with labels, votes, predictions and four pictures."""
    for name, content in {"labels": LABELS, "model": MODEL, "votes": VOTES}.items():
        Path(f"{name}.csv").write_text(content)
    Path("original.csv").write_text("item,label\na,cat\nb,cat\nc,cat\nd,dog\n")
    Path("pictures").mkdir()
    pixels = np.random.default_rng(0).integers(256, size=(4, 8, 8)).astype(np.uint8)
    pixels[3] = pixels[0]
    for item, picture in zip("abcd", pixels, strict=True):
        Image.fromarray(picture).save(f"pictures/{item}.png")
    Path("table.csv").write_text(
        "item,label,split\na,cat,train\nb,cat,train\nc,cat,test\nd,dog,test\n"
    )
    watched = np.full((2, 3, 4, 2), 0.5)
    np.savez("dynamics.npz", watched=watched, items=list("abcd"))
    return partial(run, "audit", "--draws", "20")


def test_all_that_is_found_is_in_the_json(run: Run) -> None:
    done = run(
        *("--labels", "labels.csv", "--original", "original.csv", "--json"),
        *("--images", "pictures", "--table", "table.csv", "--dynamics", "dynamics.npz"),
        *("--predictions", "model.csv", "--predictions", "better=labels.csv"),
    )

    assert done.code == 0, done.err
    found = json.loads(done.out)
    numbers = {
        (row["metric"], row["arm"], row["part"], row["stratum"]): row["value"]
        for row in found["estimates"]
        if not row["second"]
    }
    assert numbers["items", "", "", "all"] == 4
    assert numbers["modes_differ", "", "", "all"] == 1
    assert numbers["leaked_pictures", "", "test", "all"] == 1
    assert numbers["ambiguous_share", "dynamics", "training", "all"] == 1
    assert (
        numbers["cross_entropy", "better", "", "all"] < numbers["cross_entropy", "model", "", "all"]
    )
    doubts = {arm for metric, arm, *_ in numbers if metric == "spearman_entropy_confidence"}
    assert doubts == {"model", "better", "dynamics"}
    assert found["simulated"] is False and found["written"] is None


def test_person_reads_counts_with_intervals(run: Run) -> None:
    done = run("--labels", "labels.csv", "--original", "original.csv")

    assert done.code == 0, done.err
    assert "The labels of 2 of 4 items have mass on several classes (50.0% [" in done.out
    assert "it is another on 1 (c)." in done.out
    assert "unanimous" in done.out


def test_judgments_are_read_by_format_and_recipe(run: Run) -> None:
    done = run("--judgments", "votes.csv", "--format", "crowd", "--recipe", "votes")

    assert done.code == 0, done.err
    assert "People's answers differ on 1 of 3 items" in done.out
    assert "0.000 nats are doubt within single answers" in done.out
    assert "Percent agreement between people: 0.667" in done.out


def test_folder_is_written_with_tables_datasheet_and_page(run: Run) -> None:
    done = run("--labels", "labels.csv", "-o", "out", "--report")

    assert done.code == 0, done.err
    assert "report.html to out." in done.out
    for name in ("tables/strata.csv", "tables/kinds.parquet", "datasheet.md", "report.html"):
        assert (Path("out") / name).is_file()
    assert "Audit of labels" in Path("out/report.html").read_text()


def test_page_without_a_folder_is_a_usage_error(run: Run) -> None:
    done = run("--labels", "labels.csv", "--report")

    assert done.code == 2
    assert "-o FOLDER" in done.err


def test_simulated_is_said_first(run: Run) -> None:
    step = {"name": "simulate voters", "settings": {}, "inputs": {}, "simulated": True}
    Path("labels.csv.json").write_text(json.dumps({"provenance": [step], "judgments": [4] * 4}))

    done = run("--labels", "labels.csv")

    assert done.out.startswith("SIMULATED people or models")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "There is nothing to audit."),
        (["--labels", "none.csv"], "There is no file none.csv."),
        (
            ["--labels", "labels.csv", "--predictions", "table.csv"],
            "table.csv holds one class per item",
        ),
        (["--images", "pictures"], "Images and a table go together"),
        (["--judgments", "votes.csv", "--format", "crwd"], "Did you mean 'crowd'?"),
        (["--labels", "labels.csv", "--dynamics", "model.csv"], "model.csv cannot be read as .npz"),
    ],
)
def test_bad_input_is_one_sentence_and_code_1(run: Run, words: list[str], sentence: str) -> None:
    done = run(*words)

    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("sfumato: ") and sentence in done.err
    assert done.err.count("\n") == 1
