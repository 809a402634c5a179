import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Outcome, Run

from sfumato.evaluation.metrics import METRICS
from sfumato.scores import Estimates

LABELS = "item,cat,dog\na,1,0\nb,0.75,0.25\nc,0.25,0.75\nd,0,1\n"
MODEL = "item,dog,cat\nd,0.9,0.1\nc,0.4,0.6\nb,0.3,0.7\na,0.2,0.8\n"
BETTER = "item,cat,dog\na,0.95,0.05\nb,0.75,0.25\nc,0.3,0.7\nd,0.05,0.95\n"


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``sfumato evaluate`` in a folder with labels and the predictions of two models."""
    for name, content in {"labels": LABELS, "model": MODEL, "better": BETTER}.items():
        Path(f"{name}.csv").write_text(content)
    np.save("original.npy", np.array([0, 0, 0, 1]))
    Path("original.csv").write_text("item,label\na,cat\nb,cat\nc,cat\nd,dog\n")
    return partial(run, "evaluate", "--labels", "labels.csv", "--draws", "20")


def scores(done: Outcome) -> dict[tuple[str, str], dict[str, float]]:
    assert done.code == 0, done.err
    found = json.loads(done.out)["scores"]
    by_key = {(row["metric"], row["stratum"]): row for row in found}
    assert len(by_key) == len(found)  # a metric and a stratum name one number
    return by_key


def test_every_metric_and_stratum_is_in_the_json(run: Run) -> None:
    found = scores(run("--predictions", "model.csv", "--json"))

    usual = {name for name, scorer in METRICS.items() if not scorer.scale}
    usual -= {"manhattan", "confidence_gap"}  # told only if asked for: others say the same
    names = {*usual, "entropy_floor", "class_oracle", "accuracy_majority"}
    for stratum in ("all", "unanimous", "disputed"):
        assert names <= {name for name, where in found if where == stratum}
    assert {"metric", "stratum", "value", "low", "high"} <= set(found["accuracy", "all"])


def test_numbers_are_those_worked_out_by_hand(run: Run) -> None:
    found = scores(run("--predictions", "model.csv", "--json", "--original", "original.csv"))

    q = {"a": (0.8, 0.2), "b": (0.7, 0.3), "c": (0.6, 0.4), "d": (0.1, 0.9)}
    p = {"a": (1, 0), "b": (0.75, 0.25), "c": (0.25, 0.75), "d": (0, 1)}
    cross = [-np.dot(p[item], np.log(q[item])) for item in "abcd"]
    assert found["cross_entropy", "all"]["value"] == pytest.approx(np.mean(cross))
    assert found["cross_entropy", "disputed"]["value"] == pytest.approx(np.mean(cross[1:3]))
    assert found["accuracy", "all"]["value"] == 0.75
    assert found["accuracy_original", "all"]["value"] == 1
    floor = -2 * (0.75 * np.log(0.75) + 0.25 * np.log(0.25)) / 4
    assert found["entropy_floor", "all"]["value"] == pytest.approx(floor)
    assert found["entropy_floor", "unanimous"]["value"] == 0


def test_what_is_not_a_number_is_null(run: Run) -> None:
    found = scores(run("--predictions", "model.csv", "--json"))

    missing = found["second_best_accuracy", "unanimous"]
    assert all(missing[name] is None for name in ("value", "low", "high"))
    assert missing["note"]


def test_same_seed_same_intervals(run: Run) -> None:
    words = ["--predictions", "model.csv", "--json"]

    first, second, other = run(*words), run(*words), run(*words, "--seed", "1")

    assert first.out == second.out != other.out


def test_several_models_make_a_leaderboard(run: Run) -> None:
    words = ["--predictions", "model.csv", "--predictions", "better.csv", "--ensemble"]

    found = json.loads(run(*words, "--json").out)
    shown = run(*words)

    assert [row["arm"] for row in found["leaderboard"]] == ["better", "ensemble", "model"]
    assert {row["arm"] for row in found["scores"]} == {"better", "ensemble", "model"}
    assert "Closest to people first" in shown.out
    assert "class_oracle" in shown.out


def test_metrics_and_strata_can_be_chosen(run: Run) -> None:
    found = scores(
        run("--predictions", "model.csv", "--metric", "kl", "--stratum", "most disputed", "--json")
    )

    assert set(found) == {("kl", "all"), ("kl", "most disputed")}


def test_scores_are_written_with_their_provenance(run: Run) -> None:
    done = run("--predictions", "model.csv", "-o", "scores.parquet")

    written = list(Estimates.read(Path("scores.parquet")))
    assert f"Wrote {len(written)} scores to scores.parquet." in done.out
    assert written[0].arm == "model"
    source = json.loads(written[0].source)
    assert [step["name"] for step in source["model"]] == ["read predictions"]
    assert source["labels"]


def test_scores_are_written_as_csv_too(run: Run) -> None:
    run("--predictions", "model.csv", "-o", "scores.csv")

    assert Path("scores.csv").read_text().startswith("study,arm,second,network,")


def test_text_names_metrics_strata_and_notes(run: Run) -> None:
    done = run("--predictions", "model.csv")

    assert "labels.csv: people's labels of 4 items" in done.out
    assert "second_best_accuracy: not defined on these items (unanimous)" in done.out
    assert done.err == ""


def test_simulated_labels_stay_marked(run: Run) -> None:
    step = {"name": "simulate voters", "settings": {}, "inputs": {}, "simulated": True}
    Path("labels.csv.json").write_text(json.dumps({"provenance": [step], "judgments": []}))

    assert "SIMULATED" in run("--predictions", "model.csv").out
    assert json.loads(run("--predictions", "model.csv", "--json").out)["simulated"]


def test_logits_are_read_when_told(run: Run) -> None:
    Path("logits.csv").write_text("item,cat,dog\na,2,0\nb,1,0\nc,0,1\nd,0,3\n")

    refused = run("--predictions", "logits.csv")
    done = run("--predictions", "logits.csv", "--logits", "--json")

    assert refused.code == 1
    assert "--logits" in refused.err
    assert scores(done)["accuracy", "all"]["value"] == 1


def test_unnamed_columns_in_another_order_are_remarked_and_can_be_told(run: Run) -> None:
    Path("labels.csv").write_text("item,cat,dog\n0,1,0\n1,1,0\n2,0,1\n3,0,1\n")
    np.save("m.npy", np.array([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3], [0.9, 0.1]]))
    Path("classes.txt").write_text("dog\ncat\n")

    wrong = run("--predictions", "m.npy", "--json")
    told = run("--predictions", "m.npy", "--classes", "classes.txt", "--json")

    assert "m.npy" in wrong.err
    assert "if the columns are dog, cat" in wrong.err
    assert scores(wrong)["accuracy", "all"]["value"] == 0
    assert told.err == ""
    assert scores(told)["accuracy", "all"]["value"] == 1


def test_items_without_prediction_are_an_error_unless_left_out(run: Run) -> None:
    Path("part.csv").write_text("item,cat,dog\na,0.9,0.1\nb,0.6,0.4\nd,0.1,0.9\n")

    refused = run("--predictions", "part.csv")
    done = run("--predictions", "part.csv", "--shared-items", "--json")

    assert refused.code == 1
    assert "part.csv: Item 'c' of the labels has no prediction" in refused.err
    assert scores(done)["accuracy", "all"]["items"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--predictions", "nowhere.npz"], "There is no file nowhere.npz"),
        (["--predictions", "model.csv", "--metric", "acuracy"], "Did you mean 'accuracy'"),
        (["--predictions", "model.csv", "--stratum", "dispute"], "Did you mean 'disputed'"),
        (["--predictions", "model.csv", "-o", "scores.txt"], "written as .parquet or .csv"),
        (["--predictions", "model.csv", "-o", "no/s.parquet"], "There is no folder no"),
        (["--predictions", "model.csv", "--draws", "0"], "0 draws were asked for"),
        (["--predictions", "model.csv", "--predictions", "model.csv"], "given twice"),
        (["--predictions", "unnamed.npy"], "names no items"),
        (["--predictions", "model.csv", "--original", "original.npy"], "original.npy: Item 'a'"),
    ],
)
def test_wrong_request_is_one_sentence_and_exit_code_1(
    run: Run, words: list[str], message: str
) -> None:
    np.save("unnamed.npy", np.full((4, 2), 0.5))

    done = run(*words)

    assert done.code == 1
    assert message in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_labels_or_predictions_left_out_is_a_usage_error(run: Run) -> None:
    assert run().code == 2


def test_published_predictions_are_scored_as_published(run: Run, data_folder: Path) -> None:
    folder = data_folder / "cifar10h-predictions"
    words = ["--labels", str(data_folder / "cifar10h" / "cifar10h-probs.npy"), "--json"]

    done = run(
        *words,
        *("--predictions", str(folder / "resnext_29_8x64d.npz")),
        *("--original", str(folder / "test_labels.npy")),
    )

    found = scores(done)
    assert found["cross_entropy", "all"]["value"] == pytest.approx(0.470, abs=5e-4)
    assert found["entropy_floor", "all"]["value"] == pytest.approx(0.1545, abs=5e-5)
    assert found["class_oracle", "all"]["value"] == pytest.approx(0.2565, abs=5e-5)
    assert found["accuracy", "unanimous"]["items"] == 4393


def test_models_have_names_and_every_metric_asked_for_is_shown(run: Run) -> None:
    words = ("--predictions", "ours=model.csv", "--predictions", "theirs=better.csv")

    done = run(*words, "--metric", "ece", "--metric", "kl", "--metric", "accuracy")

    assert done.code == 0, done.err
    for metric in ("ece", "kl", "accuracy"):
        for model in ("ours", "theirs"):
            assert [line for line in done.out.splitlines() if line.split()[:2] == [metric, model]]
    assert "Closest to people" not in done.out


def test_two_models_of_one_name_are_refused(run: Run) -> None:
    done = run("--predictions", "m=model.csv", "--predictions", "m=better.csv")

    assert done.code == 1
    assert "Two models are called 'm'" in done.err


def test_kinds_are_told_by_model(run: Run) -> None:
    Path("hard.csv").write_text("item,label\na,cat\nb,cat\nc,dog\nd,dog\n")
    words = ("--predictions", "model.csv", "--predictions", "hard.csv", "--json")

    refused = run(*words)
    done = run(*words, "--kind", "hard=hard")
    unknown = run(*words, "--kind", "hard=hart")

    assert refused.code == 1
    assert "--kind hard" in refused.err
    found = {
        row["arm"]: row for row in json.loads(done.out)["scores"] if row["metric"] == "accuracy"
    }
    assert found["hard"]["value"] == 1
    assert "Did you mean 'hard'" in unknown.err


def test_ids_name_the_rows_of_arrays(run: Run) -> None:
    np.save("m.npy", np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3], [0.8, 0.2]]))
    Path("ids.txt").write_text("d\nc\nb\na\n")

    found = scores(run("--predictions", "m.npy", "--ids", "ids.txt", "--json"))

    assert found["accuracy", "all"]["value"] == 0.75


def test_class_that_a_model_lacks_is_told_and_can_be_treated(run: Run) -> None:
    Path("labels.csv").write_text(
        "item,cat,dog,none of these\na,0.5,0,0.5\nb,0.75,0.25,0\nc,0,0.5,0.5\nd,0,1,0\n"
    )

    done = run("--predictions", "model.csv", "--json")
    zero = run("--predictions", "model.csv", "--unshared", "zero", "--json")
    refused = run("--predictions", "model.csv", "--unshared", "error")

    assert "Only the labels have the class 'none of these', with 25.00% of the mass" in done.err
    assert json.loads(done.out)["remarks"]
    assert scores(zero)["cross_entropy", "all"]["value"] > 20
    assert refused.code == 1


def test_report_is_one_page_and_is_not_overwritten_unasked(run: Run) -> None:
    words = ("--predictions", "model.csv", "--predictions", "better.csv", "--report", "r.html")

    done, again, forced = run(*words), run(*words), run(*words, "--overwrite")

    assert "Report: r.html" in done.out
    assert "Worst items" in Path("r.html").read_text()
    assert (again.code, forced.code) == (1, 0)
    assert "r.html exists already" in again.err


def test_column_of_items_can_be_named(run: Run) -> None:
    Path("odd.csv").write_text("who,what,cat,dog\na,1,0.9,0.1\nb,2,0.9,0.1\nc,3,0,1\nd,4,0,1\n")

    guessed = run("--predictions", "odd.csv", "--json")

    assert scores(guessed)["accuracy", "all"]["value"] == 1
    assert "the items are taken from the column 'who'" in guessed.err
