"""Labels of each class on its own: made, kept, checked and scored; and scales in files."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, hamming_loss, log_loss

from sfumato.errors import DataError
from sfumato.evaluation.models import evaluate
from sfumato.evaluation.multilabel import MULTI_LABEL_METRICS, score_multi_labels
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.check import check
from sfumato.labels.compare import farthest_pairs, label_distance
from sfumato.labels.files import read_labels, read_multi_labels, write_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.multilabel import MultiLabelSet
from sfumato.labels.verbs import label

CLASSES = ("cat", "dog", "cow")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def judged(people: int = 5, items: int = 12, seed: int = 0) -> Judgments:
    draws = rng(seed)
    rows = []
    for item in range(items):
        true = draws.random(3) < 0.5
        for person in range(people):
            said = true ^ (draws.random(3) < 0.15)
            ticked = [name for name, one in zip(CLASSES, said, strict=True) if one]
            rows.append((f"i{item}", f"p{person}", json.dumps(ticked)))
    table = pl.DataFrame(rows, schema=["item", "annotator", "answer"], orient="row")
    return Judgments(ask("multi-label", CLASSES), table)


def sets(items: int, seed: int) -> MultiLabelSet:
    names = tuple(f"i{n}" for n in range(items))
    return MultiLabelSet(names, CLASSES, rng(seed).random((items, 3)))


def test_shares_and_dawid_skene_are_of_each_class() -> None:
    answers = judged()
    shares = label(answers)
    assert isinstance(shares, MultiLabelSet)
    said = [json.loads(text) for text in answers.table.filter(item="i0")["answer"]]
    expected = {name: np.mean([name in one for one in said]) for name in CLASSES}
    assert shares["i0"] == pytest.approx(expected)
    assert shares.weight.tolist() == [[5] * 3] * 12

    skilled = label(answers, "per-class", "dawid-skene")
    majority = label(answers, "per-class", "majority")
    assert np.mean((skilled.probs > 0.5) == (majority.probs > 0.5)) > 0.9
    assert not np.allclose(skilled.probs.sum(axis=1), 1)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_they_are_written_checked_and_read_back(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"labels{suffix}"
    shares = sets(4, 1)
    holed = MultiLabelSet(shares.items, CLASSES, np.where(shares.probs > 0.8, np.nan, shares.probs))
    write_labels(holed, path)

    again = read_multi_labels(path)

    assert np.array_equal(again.probs, holed.probs, equal_nan=True)
    assert (again.items, again.classes) == (holed.items, holed.classes)
    assert check(path).valid
    with pytest.raises(DataError, match="a probability of its own"):
        read_labels(path)


def test_a_number_outside_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"class 'dog' applies to item 'a' is 1\.5"):
        MultiLabelSet(("a",), ("cat", "dog"), np.array([[1, 1.5]]))
    path = tmp_path / "labels.csv"
    path.write_text("item,cat,dog\na,1,1.5\n")
    (tmp_path / "labels.csv.json").write_text('{"provenance": [], "each_class": true}')
    assert [problem.field for problem in check(path).problems] == ["dog"]


@given(st.integers(2, 9), st.integers(0, 2**31))
def test_scores_equal_scikit_learn(items: int, seed: int) -> None:
    model = sets(items, seed)
    hard = MultiLabelSet(
        model.items, CLASSES, (rng(seed + 1).random((items, 3)) < 0.5).astype(np.float64)
    )
    found = {
        row.metric: row.value for row in score_multi_labels(hard, {"m": model}, rng=rng(), draws=5)
    }
    said, believed = hard.probs.ravel(), model.probs.ravel()
    assert found["multi_label_cross_entropy"] == pytest.approx(
        log_loss(said, believed, labels=[0, 1])
    )
    if len(set(said)) > 1:
        assert found["multi_label_brier"] == pytest.approx(brier_score_loss(said, believed))
    assert found["multi_label_error"] == pytest.approx(hamming_loss(hard.probs, model.probs >= 0.5))
    assert found["multi_label_manhattan"] == pytest.approx(2 * np.abs(said - believed).mean())


@given(st.integers(2, 6), st.integers(0, 2**31), st.permutations(range(3)))
def test_laws(items: int, seed: int, order: list[int]) -> None:
    human, model = sets(items, seed), sets(items, seed + 1)

    def scored(people: MultiLabelSet, other: MultiLabelSet) -> dict[str, float]:
        rows = score_multi_labels(people, {"m": other}, rng=rng(), draws=5)
        return {row.metric: row.value for row in rows}

    names = [CLASSES[k] for k in order]
    turned = scored(human.take(human.items[::-1], names), model)
    assert turned == pytest.approx(scored(human, model))
    best = scored(human, human)
    for name in MULTI_LABEL_METRICS:
        assert best[name] <= scored(human, model)[name] + 1e-9
    assert best["multi_label_cross_entropy"] == pytest.approx(best["multi_label_entropy_floor"])
    assert best["multi_label_brier"] == best["multi_label_manhattan"] == 0


def test_evaluate_takes_them_from_answers_and_files(tmp_path: Path) -> None:
    answers = judged()
    write_labels(label(answers), tmp_path / "labels.parquet")
    table = label(answers).to_polars()

    found = evaluate(answers, {"same": table}, draws=20)
    of_file = evaluate(tmp_path / "labels.parquet", {"same": table}, draws=20)

    values = {row.metric: row.value for row in found}
    assert values["multi_label_brier"] == 0
    assert {row.metric: row.value for row in of_file} == pytest.approx(values)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_scale_survives_its_file_and_decides_how_labels_are_compared(
    suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"labels{suffix}"
    near = LabelSet(("a", "b"), ("1", "2", "5"), np.eye(3)[[0, 0]], values=(1, 2, 5))
    write_labels(near, path)

    again = read_labels(path)
    far = LabelSet(("a", "b"), ("1", "2", "5"), np.eye(3)[[1, 2]])

    assert again.values == (1, 2, 5)
    assert check(path).valid
    assert label_distance(again, far).tolist() == [1, 4]
    assert farthest_pairs(again, far, 1)[0].item == "b"
    bare = LabelSet(far.items, far.classes, near.probs)
    assert label_distance(bare, far).tolist() == [1, 1]
    metrics = {row.metric for row in evaluate(again, {"far": far}, draws=20, strata=())}
    assert {"wasserstein", "wasserstein_of_mean", "mean_error"} <= metrics


def test_the_command_line_labels_checks_and_scores_them(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text('{"kind": "multi-label", "classes": ["cat", "dog"]}')
    table = {"item": ["a", "a", "b"], "annotator": list("xyx")}
    said = ['["cat"]', '["cat", "dog"]', "[]"]
    pl.DataFrame({**table, "answer": said}).write_csv(tmp_path / "m.csv")
    labels = str(tmp_path / "labels.csv")

    def run(*words: str) -> int:
        return subprocess.run([sys.executable, "-m", "sfumato", *words], check=False).returncode

    asked = ("--question", str(tmp_path / "q.json"))
    assert run("label", str(tmp_path / "m.csv"), *asked, "-o", labels) == 0
    assert pl.read_csv(labels).rows() == [("a", 1.0, 0.5), ("b", 0.0, 0.0)]
    assert run("check", labels) == 0
    assert run("evaluate", "--labels", labels, "--predictions", f"ours={labels}", "--json") == 0
