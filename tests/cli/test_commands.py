import json
import math
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run

VOTES = "task,worker,label\nimg1,ann,cat\nimg1,bob,cat\nimg1,eve,dog\nimg2,ann,dog\nimg2,bob,dog\n"


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``sfumato`` with the given words in a folder that holds votes.csv."""
    Path("votes.csv").write_text(VOTES)
    return run


def test_votes_become_shares(run: Run) -> None:
    done = run("label", "votes.csv", "--format", "crowd", "--recipe", "votes", "-o", "labels.csv")

    assert done.code == 0, done.err
    assert pl.read_csv("labels.csv").rows() == [("img1", 2 / 3, 1 / 3), ("img2", 0, 1)]


def test_rows_per_annotator_name_the_annotator(run: Run) -> None:
    words = ["label", "votes.csv", "--format", "crowd", "--recipe", "votes", "--per-annotator"]

    done = run(*words, "-o", "rows.parquet")

    assert done.code == 0, done.err
    table = pl.read_parquet("rows.parquet")
    assert table.columns == ["item", "annotator", "cat", "dog"]
    assert table["annotator"].to_list() == ["ann", "bob", "eve", "ann", "bob"]


def test_every_step_can_be_walked_back(run: Run) -> None:
    run("label", "votes.csv", "--format", "crowd", "--recipe", "votes", "-o", "labels.csv")

    beside = json.loads(Path("labels.csv.json").read_text())

    names = [step["name"] for step in beside["provenance"]]
    assert names[0] == "read crowd"
    assert "label votes" in names
    assert names[-1] == "aggregate mean"
    assert len(beside["provenance"][0]["inputs"]["votes.csv"]) == 64
    assert beside["judgments"] == [3, 2]


@pytest.mark.parametrize("name", ["vote-shares", "shrunk-shares", "dawid-skene", "auto"])
def test_labels_say_what_they_estimate(run: Run, name: str) -> None:
    words = ["label", "votes.csv", "--format", "crowd", "--recipe", "votes", "-o", "x.csv"]

    found = json.loads(run(*words, "--aggregate", name, "--json").out)

    expected = "which label is true" if name == "dawid-skene" else "what people say"
    assert found["estimand"] == expected
    assert found["aggregate"] == ("informed" if name == "auto" else name)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "crowd", "--recipe", "vote"], "No recipe is called 'vote'. Did you mean"),
        (["--format", "crowds", "--recipe", "votes"], "No format is called 'crowds'"),
        (["--format", "sfumato"], "votes.csv has no column 'item'"),
        (["--answer", "lable"], "no column 'lable', named as the answer. Did you mean 'label'?"),
        (["--rename", "cta=dog"], "No class is called 'cta'. Did you mean 'cat'?"),
        (["--rename", "nowhere.txt"], "--rename takes a=b, or a file"),
        (["--format", "crowd", "--recipe", "votes", "--keep", "all"], "nothing called 'all'"),
        (["--format", "crowd", "--recipe", "votes", "--gamma", "0.1"], "takes no gamma"),
        (["--format", "crowd", "--recipe", "votes", "--rule", "paper"], "No rule is called"),
        (["--format", "crowd", "--recipe", "top2-clamp"], "the question was choose-one"),
        (["--format", "crowd", "--recipe", "votes", "--exclude", "fast"], "No quality rule is"),
        (
            ["--format", "crowd", "--recipe", "votes", "--exclude", "too-fast:seconds=x"],
            "name=number; found 'seconds=x'",
        ),
        (
            ["--format", "crowd", "--recipe", "votes", "--aggregate", "medoid"],
            "No aggregator is called 'medoid'",
        ),
        (
            ["--format", "crowd", "--recipe", "votes", "--classes", "classes.txt"],
            "votes.csv, line 4, field",
        ),
    ],
)
def test_wrong_request_is_one_sentence_and_exit_code_1(
    run: Run, words: list[str], message: str
) -> None:
    Path("classes.txt").write_text("cat\nfox\n")

    done = run("label", "votes.csv", *words, "-o", "x.csv")

    assert done.code == 1
    assert message in done.err
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    assert not Path("x.csv").exists()


@pytest.mark.parametrize("name", ["x.txt", "nowhere/x.csv"])
def test_output_that_cannot_be_written_is_refused_before_any_work(run: Run, name: str) -> None:
    done = run("label", "missing.csv", "--recipe", "votes", "-o", name)

    assert done.code == 1
    assert "missing.csv" not in done.err


def test_missing_file_is_named(run: Run) -> None:
    done = run("label", "missing.csv", "--recipe", "votes", "-o", "x.csv")

    assert done.code == 1
    assert "missing.csv" in done.err


def test_unknown_option_is_a_usage_error(run: Run) -> None:
    assert run("label", "votes.csv", "--colour").code == 2


def test_malformed_row_is_counted_and_strict_makes_it_an_error(run: Run) -> None:
    Path("votes.csv").write_text(VOTES + "img3,ann\n")
    words = ["label", "votes.csv", "--format", "crowd", "--recipe", "votes", "-o", "x.csv"]

    lenient, strict = run(*words), run(*words, "--strict", "--overwrite")

    assert lenient.code == 0
    assert "Rows set aside: 1, the first in votes.csv, line 7" in lenient.err
    assert strict.code == 1
    assert "line 7" in strict.err


def test_describe_prints_one_json_object(run: Run) -> None:
    done = run("describe", "votes.csv", "--format", "crowd", "--what-if", "too-fast", "--json")

    found = json.loads(done.out)

    assert (found["judgments"], found["people"], found["items"]) == (5, 3, 2)
    assert found["per_item"]["histogram"] == {"2": 1, "3": 1}
    assert found["exclusions"][0]["rule"] == "too-fast"
    assert found["labels"]["recipe"] == "votes"


def test_describe_as_text_names_people_and_items(run: Run) -> None:
    done = run("describe", "votes.csv", "--format", "crowd")

    assert "5 answers, 3 people, 2 items" in done.out


def test_doubt_and_disagreement_are_two_numbers(run: Run) -> None:
    rows = "item,annotator,cat,dog\na,ann,{0},{1}\na,bob,{2},{3}\nb,ann,1,0\n"
    Path("unsure.csv").write_text(rows.format(0.8, 0.2, 0.8, 0.2))
    Path("apart.csv").write_text(rows.format(1, 0, 0, 1))
    names = "doubt_within_answers", "disagreement_between_answers", "items_with_different_answers"

    unsure, apart = (
        json.loads(run("describe", f"{name}.csv", "--question", "sliders", "--json").out)["labels"]
        for name in ("unsure", "apart")
    )

    entropy = -(0.8 * math.log(0.8) + 0.2 * math.log(0.2))  # of the one item with two answers
    assert [unsure[name] for name in names] == pytest.approx([entropy, 0, 0])
    assert [apart[name] for name in names] == pytest.approx([0, math.log(2), 1])
    assert "doubt within answers (votes)" in run("describe", "votes.csv").out


def test_simulated_answers_are_called_simulated_to_the_end(run: Run) -> None:
    run("label", "votes.csv", "--format", "crowd", "--recipe", "votes", "-o", "labels.csv")

    made = run("simulate", "voters", "--labels", "labels.csv", "--per-item", "4", "-o", "sim.csv")
    labelled = run("label", "sim.csv", "--recipe", "votes", "-o", "again.csv")

    assert made.code == 0, made.err
    assert "SIMULATED" in made.out
    assert "SIMULATED" in labelled.out
    assert "SIMULATED" in run("describe", "sim.csv").out


def test_convert_writes_another_format(run: Run) -> None:
    done = run(
        "convert", "votes.csv", "--format", "crowd", "--to", "peerannot", "-o", "answers.json"
    )

    assert done.code == 0, done.err
    assert run("describe", "answers.json", "--format", "peerannot", "--json").code == 0


def test_platform_ids_never_leave(run: Run) -> None:
    worker = "5f2a9c0b1d3e4f5a6b7c8d9e"
    Path("votes.csv").write_text(VOTES.replace("ann", worker))
    words = ["label", "votes.csv", "--format", "crowd", "--recipe", "votes", "--per-annotator"]

    run(*words, "-o", "x.csv")
    run(*words, "-o", "y.csv")

    written = Path("x.csv").read_text()
    assert worker not in written
    assert "person-" in written
    assert written == Path("y.csv").read_text()


def test_data_sets_are_listed(run: Run) -> None:
    names = [row["name"] for row in json.loads(run("data", "list", "--json").out)["datasets"]]

    assert "cifar10h" in names


def test_unknown_data_set_is_an_error(run: Run) -> None:
    done = run("data", "get", "cifar11h")

    assert done.code == 1
    assert "Did you mean 'cifar10h'" in done.err


def test_version_is_printed(run: Run) -> None:
    assert run("--version").out.strip()


def test_everything_that_made_no_label_is_written_with_its_reason(run: Run) -> None:
    Path("votes.csv").write_text(VOTES + "img3,ann\nimg1,ann,dog\n")
    words = ["label", "votes.csv", "--format", "crowd", "--recipe", "votes", "-o", "x.csv"]

    done = run(*words, "--left-out", "left.csv", "--exclude", "straight-lining:run=2:always=2")

    assert done.code == 0, done.err
    left = pl.read_csv("left.csv")
    assert set(left["stage"]) == {"reading", "quality rules"}
    assert left.filter(pl.col("stage") == "reading")["line"].to_list() == [7]

    run(*words, "--left-out", "left.csv", "--overwrite")

    left = pl.read_csv("left.csv")
    assert left.filter(pl.col("stage") == "selection")["reason"].to_list() == [
        "the same person judged the item before"
    ]


def test_an_aggregator_is_told_what_is_known(run: Run) -> None:
    words = ["label", "votes.csv", "--format", "crowd", "-o", "x.csv", "--overwrite"]
    Path("truth.csv").write_text("item,truth\nimg1,dog\nimg9,cat\n")
    Path("weights.csv").write_text("annotator;weight\neve;3\n")
    Path("before.csv").write_text("annotator,true,said,count\nann,cat,dog,9\nann,dog,cat,9\n")
    told = ["--gold", "truth.csv", "--weights", "weights.csv", "--initial-confusions", "before.csv"]

    done = run(*words, "--aggregate", "dawid-skene", *told, "--set", "iterations=1", "--json")
    weighted = run(*words, "--aggregate", "vote-shares", "--weights", "weights.csv")

    assert done.code == 0 == weighted.code, done.err + weighted.err
    assert "dawid-skene has not converged after 1 iteration" in json.loads(done.out)["remarks"][0]
    assert pl.read_csv("x.csv").rows() == [("img1", 2 / 5, 3 / 5), ("img2", 0, 1)]
    assert run(*words, "--aggregate", "dawid-skene", *told).code == 0
    assert pl.read_csv("x.csv").row(0) == ("img1", 0, 1)
    settings = json.loads(Path("x.csv.json").read_text())["provenance"][-1]["settings"]
    assert settings["gold"]["entries"] == 2 and len(settings["gold"]["sha256"]) == 64
    assert settings["weights"]["entries"] == 1 == settings["initial_confusions"]["entries"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "gold=1"], "'mean' takes no option 'gold'. Its options: none. 'gold' is"),
        (["--aggregate", "glad", "--gold", "no.csv"], "There is no file no.csv"),
        (["--aggregate", "glad", "--set", "iterations"], "written name=value; found 'iterations'"),
        (["--aggregate", "glad", "--set", "iterations=many"], "'iterations' of 'glad' is 'many'"),
        (["--aggregate", "majority", "--set", "ties=last"], "'ties' is 'last'; it must be one of"),
    ],
)
def test_what_an_aggregator_cannot_be_told_is_a_sentence(
    run: Run, words: list[str], message: str
) -> None:
    done = run("label", "votes.csv", "--format", "crowd", "-o", "x.csv", *words)

    assert done.code == 1
    assert message in done.err


def test_intervals_hold_the_probabilities(run: Run) -> None:
    words = ["label", "votes.csv", "--format", "crowd", "--recipe", "votes", "-o", "x.csv"]

    done = run(*words, "--aggregate", "vote-shares", "--intervals", "sure.csv")

    assert done.code == 0, done.err
    table = pl.read_csv("sure.csv")
    assert len(table) == 4
    assert (table["low"] <= table["probability"]).all()
    assert (table["probability"] <= table["high"]).all()


def test_a_table_from_anywhere_is_one_command(run: Run) -> None:
    rows = [
        "picture;coder;vote;mood",
        "a;ann;Eight;1",
        "a;bob; eight;1",
        "b;ann;Nine;2",
        "b;bob;9;2",
    ]
    Path("own.csv").write_text("\n".join(rows))

    told = run("label", "own.csv", "-o", "labels.csv")
    words = ["-o", "labels.csv", "--overwrite", "--casefold", "--rename", "9=Nine"]
    joined = run("label", "own.csv", *words)

    assert told.code == joined.code == 0, told.err
    assert "column 'picture' is read as the item" in told.err
    assert "columns not used: 1 (mood)" in told.err
    assert "--rename eight=Eight or --casefold" in told.err
    assert pl.read_csv("labels.csv").rows() == [("a", 1, 0), ("b", 0, 1)]


def test_what_is_unclear_names_the_options(run: Run) -> None:
    Path("own.csv").write_text("item,rater,label,category\n1,a,x,y\n1,b,y,y\n2,b,y,x\n")

    done = run("describe", "own.csv")

    assert done.code == 1
    assert "both columns 'label' and 'category' could be the answer" in done.err
    assert "--answer" in done.err


def test_describe_lists_classes_and_who_gave_them(run: Run) -> None:
    found = json.loads(run("describe", "votes.csv", "--json").out)

    assert [(row["class"], row["answers"]) for row in found["classes"]] == [("cat", 2), ("dog", 3)]
    assert found["classes_by_person"][0] == {
        "person": "ann",
        "answers": 2,
        "classes": {"cat": 1, "dog": 1},
    }
    assert "Classes by person" in run("describe", "votes.csv").out
