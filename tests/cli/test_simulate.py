import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run

from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet

CLASSES = ("cat", "dog", "frog")


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``sfumato`` in a folder with labels of 20 items and top-two answers about 10."""
    labels = LabelSet(
        tuple(map(str, range(20))),
        CLASSES,
        np.array([[0.6, 0.3, 0.1], [1, 0, 0], [0.1, 0.1, 0.8], [0, 1, 0]] * 5),
    )
    write_labels(labels, Path("labels.csv"))
    write_labels(labels.take(labels.items[:10]), Path("half.csv"))

    run("simulate", "top-two", "--labels", "half.csv", "--per-item", "4", "-o", "made.csv")
    table = pl.read_csv("made.csv", infer_schema=False).drop("simulated")
    table.with_columns(pl.col("annotator").str.replace("simulated", "person")).write_csv("real.csv")
    beside = json.loads(Path("made.question.json").read_text())
    beside.pop("provenance", None)
    Path("real.question.json").write_text(json.dumps(beside))
    return run


FIT = ("simulate", "top-two", "--labels", "labels.csv", "--fit", "real.csv")


def test_extended_answers_keep_peoples_and_mark_the_rest(run: Run) -> None:
    done = run(*FIT, "--extend", "--habits", "joint", "--per-item", "3", "-o", "all.csv")

    assert done.code == 0, done.err
    assert "30 SIMULATED answers of 4 simulated people about 10 items" in done.out
    assert "Before them stand 40 answers of people about 10 items, untouched." in done.out
    assert "Alternatives are ordered by which the answers name together" in done.out
    table = pl.read_csv("all.csv", infer_schema=False)
    real = pl.read_csv("real.csv", infer_schema=False)
    assert (
        table.head(40)
        .select("item", "annotator", "answer")
        .equals(real.select("item", "annotator", "answer"))
    )
    assert table["simulated"].to_list() == [None] * 40 + ["true"] * 30
    labelled = run("label", "all.csv", "--recipe", "top2-clamp", "-o", "labels-all.csv")
    assert "SIMULATED" in labelled.out
    again = run(*FIT[:-1], "all.csv", "--extend", "-o", "again.csv")
    assert (again.code, "hold simulated answers already" in again.err) == (1, True)


def test_check_prints_every_kind_of_habits_and_writes_nothing(run: Run) -> None:
    before = sorted(Path().iterdir())

    done = run(*FIT, "--check", "items", "--draws", "20", "--json")
    text = run(*FIT, "--check", "people", "--draws", "20", "--habits", "joint")

    assert done.code == 0, done.err
    checks = json.loads(done.out)["checks"]
    assert [check["habits"] for check in checks] == [
        "independent",
        "published",
        "joint",
        "personal",
    ]
    assert {row["marginal"] for row in checks[0]["marginals"]} >= {"top-1 probability"}
    assert "Habits joint" in text.out
    assert "Habits published" not in text.out
    assert "half of the people is held out" in text.out
    assert sorted(Path().iterdir()) == before


def test_items_are_routed_by_a_file_and_one_that_lacks_items_is_an_error(run: Run) -> None:
    whole = run(*FIT, "--route", "labels.csv", "-o", "a.csv")
    lacking = run(*FIT, "--route", "half.csv", "-o", "b.csv")
    nowhere = run(*FIT, "--route", "model", "-o", "b.csv")
    nobody = run(*FIT, "--route", "none", "-o", "c.csv")

    assert (whole.code, nobody.code) == (0, 0)
    assert lacking.code == 1
    assert "The labels to route by lack item '10' (10 of 20 items are missing)" in lacking.err
    assert "routed by human, by none or by a file" in nowhere.err
    steps = json.loads(Path("c.question.json").read_text())["provenance"]
    assert any(step["settings"].get("routed by") == "nothing" for step in steps)


def test_distances_are_written_from_confusions_and_used_by_both_commands(run: Run) -> None:
    votes = ["task,worker,label"]
    for item in range(6):
        own, other = CLASSES[item % 3], CLASSES[(item + 1) % 3]
        votes += [f"{item},ann,{own}", f"{item},bob,{own}", f"{item},eve,{other}"]
    Path("votes.csv").write_text("\n".join(votes) + "\n")
    words = ["--format", "crowd", "--recipe", "votes", "-o", "v.csv", "--confusions", "d.csv"]

    made = run("label", "votes.csv", *words)
    semantic = ["label", "real.csv", "--recipe", "top2-semantic", "-o", "s.csv"]
    used = run(*semantic, "--distances", "d.csv")
    ordered = run(*FIT, "--distances", "d.csv", "-o", "o.csv")

    assert made.code == 0, made.err
    # shares (2, 1, 0)/3, (0, 2, 1)/3, (1, 0, 2)/3: every two columns have 2/9 in common of 5/9
    table = pl.read_csv("d.csv")
    assert table.columns == ["class", *CLASSES]
    np.testing.assert_allclose(table.select(CLASSES).to_numpy(), 0.6 * (1 - np.eye(3)), atol=1e-9)
    assert "Recipe top2-semantic, similarity by distances of d.csv" in used.out
    assert "Alternatives are ordered by distances of d.csv." in ordered.out
    neither = run(*semantic, "--overwrite")
    assert (neither.code, "a table of distances" in neither.err) == (1, True)


def test_word_vectors_and_words_serve_both_commands(run: Run) -> None:
    Path("v.txt").write_text("cat 1 0\nhound 3 4\nfrog 4 3\n")
    Path("w.csv").write_text("class,word\ndog,hound\n")
    semantic = ["label", "real.csv", "--recipe", "top1-semantic", "-o", "s.csv"]

    without = run(*semantic, "--vectors", "v.txt")
    used = run(*semantic, "--vectors", "v.txt", "--words", "w.csv")
    ordered = run(*FIT, "--vectors", "v.txt", "--words", "w.csv", "-o", "o.csv")

    assert without.code == 1
    assert "no vector for ['dog'], needed for class 'dog'" in without.err
    assert "dog,WORD" in without.err
    assert "similarity by word vectors of v.txt" in used.out
    assert "Alternatives are ordered by word vectors of v.txt." in ordered.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Missing option '--output'"),
        (("--check", "items", "-o", "x.csv"), "--check writes nothing"),
        (("--model", "m.json", "-o", "x.csv"), "--fit and --model exclude each other"),
    ],
)
def test_usage_that_contradicts_itself_is_refused(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    done = run(*FIT, *words)

    assert done.code == 2
    assert message in done.err


def test_extending_nothing_and_unknown_names_are_refused(run: Run) -> None:
    assert run(*FIT[:4], "--extend", "-o", "x.csv").code == 2
    assert "Did you mean 'joint'" in run(*FIT, "--habits", "jont", "-o", "x.csv").err
    assert "Did you mean 'items'" in run(*FIT, "--check", "item").err
