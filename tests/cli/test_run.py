"""``sfumato run``, ``report`` and ``results``: what is typed reaches the study."""

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app
from sfumato.errors import SfumatoError
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Step, to_json
from sfumato.scores import Estimate, Estimates, source_text
from sfumato.studies.run import Runner, choose_study
from sfumato.studies.study import Study, read_study, study_text


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def study_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Study]:
    """The study that ``sfumato run digits-table`` would run with further words."""
    asked: list[tuple[Study, Path, Runner]] = []

    def note(study: Study, folder: Path, runner: Runner) -> SimpleNamespace:
        asked.append((study, folder, runner))
        timing = SimpleNamespace(cell_seconds=0.0)
        return SimpleNamespace(tables={}, folder=folder, info={}, timing=timing)

    monkeypatch.setattr("sfumato.studies.run.run_study", note)
    monkeypatch.chdir(tmp_path)

    def study(*words: object) -> Study:
        told = run("run", "digits-table", *words)
        assert told == f"Report: {Path('runs') / 'digits-table' / 'report.html'}\n"
        assert asked[-1][1] == Path("runs") / "digits-table"
        return asked[-1][0]

    return study


def test_without_options_a_study_runs_as_it_is(study_of: Callable[..., Study]) -> None:
    assert study_of() == read_study("digits-table")


def test_settings_are_set_by_dotted_keys(study_of: Callable[..., Study]) -> None:
    found = study_of(
        "--set", "training.batch_size=32", "--set", "simulated.per_item=3", "--set", "fgsm=[4, 8]",
        "--set", "recipe=votes", "--set", "split.seed=each", "--set", 'title="Other words"',
    )  # fmt: skip

    assert found.training.batch_size == 32
    assert (found.simulated.per_item, found.simulated.annotators) == (3, 60)
    assert found.fgsm == (4.0, 8.0)
    assert (found.recipe, found.title) == ("votes", "Other words")
    assert found.split.seed == "each"
    assert found.split.shares == read_study("digits-table").split.shares  # of the same table


def test_seeds_epochs_and_networks_have_options_of_their_own(
    study_of: Callable[..., Study],
) -> None:
    found = study_of("--seeds", 2, "--epochs", 4, "--networks", "simple-ffn, resnet-8")

    assert (found.seeds, found.training.epochs) == (2, 4)
    assert found.networks == ("simple-ffn", "resnet-8")
    assert found.training.learning_rate == read_study("digits-table").training.learning_rate


def test_epochs_are_those_of_the_training_that_is_watched_too() -> None:
    found = choose_study("digits-audit", epochs=2)

    assert found.dynamics is not None
    assert (found.training.epochs, found.dynamics.epochs) == (2, 2)
    assert choose_study("digits", epochs=2).dynamics is None


def test_arms_are_chosen_by_name_and_recipes_can_be_added(study_of: Callable[..., Study]) -> None:
    found = study_of("--arms", "soft,majority,votes")

    assert found.arm_names == ("soft", "majority", "votes")
    assert found.controls == ("majority",)  # "original" is not among them
    assert found.arm("soft") == read_study("digits-table").arm("soft")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--set", "trainig.epochs=3"], "No setting of a study is called 'trainig'.*'training'"),
        (["--set", "training.epoch=3"], "No key of a training is called 'epoch'.*'epochs'"),
        (["--set", "simulated.peritem=3"], r"No key of \[simulated\] is called 'peritem'"),
        (["--set", "split.shares=[0.5, 0.5]"], "three shares above 0 that sum to 1"),
        (["--set", "seeds=many"], "seeds must be a whole number, not 'many'"),
        (["--set", "draws=3"], "draws: .*100"),
        (["--set", "watch=perhaps"], "watch must be true or false, not 'perhaps'"),
        (["--set", "recipe=top2-clam"], "No recipe is called 'top2-clam'.*'top2-clamp'"),
        (["--set", "training.network=lenet"], r"\[training\] cannot set 'network'"),
        (["--set", "seeds"], "written KEY=VALUE, such as seeds=3; found 'seeds'"),
        (["--set", "=3"], "written KEY=VALUE"),
        (["--networks", "simple-fn"], "No network is called 'simple-fn'.*'simple-ffn'"),
        (["--networks", "simple-ffn,simple-ffn"], "names a network twice"),
        (["--arms", "soft,soft"], "names an arm twice"),
        (["--size", "lab"], "'digits-table' has no size 'lab'; it has cpu only"),
        (["--size", "paper"], "'digits-table' has no size 'paper'"),
        (["--measured", "runs/other"], "--measured is for --dry-run"),
    ],
)
def test_what_does_not_fit_is_told_in_a_sentence(
    study_of: Callable[..., Study], words: list[str], told: str
) -> None:
    with pytest.raises(SfumatoError, match=told) as error:
        study_of(*words)

    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_arm_that_the_data_lacks_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match=r"No label set or arm .*'sof'.*Did you mean 'soft'"):
        run("run", "digits-table", "--arms", "sof", "-o", tmp_path)

    assert not any(tmp_path.iterdir())


def test_unknown_study_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match="Did you mean 'digits-table'"):
        run("run", "digits-tabel", "-o", tmp_path)


def test_study_that_trains_nothing_has_no_seeds(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match="'hmix' trains nothing, so it has no seeds"):
        run("run", "hmix", "--seeds", 3, "-o", tmp_path)


def test_file_of_ones_own_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match=r"There is no study file .*mine\.toml"):
        run("run", tmp_path / "mine.toml")


def test_dry_run_prints_the_resolved_settings_as_toml_and_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    told = run(
        "run", "digits-table", "--dry-run", "--seeds", 1, "--arms", "original,soft",
        "--set", "training.batch_size=32",
    )  # fmt: skip

    settings, rest = told.split("\nTried ")
    stated = tomllib.loads(settings)
    assert stated["seeds"] == 1
    assert stated["training"]["batch_size"] == 32
    assert [arm["labels"] for arm in stated["arms"]] == ["original", "soft"]
    (tmp_path / "same.toml").write_text(settings, encoding="utf-8")
    assert read_study(tmp_path / "same.toml").arm_names == ("original", "soft")  # it can be run
    assert rest.startswith("2 trainings of one batch")
    assert "simple-ffn: 2 trainings, 20 epochs" in rest
    assert [path.name for path in tmp_path.iterdir()] == ["same.toml"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small finished run, written by hand: one score, one difference, their files."""
    folder = tmp_path / "run"
    study = read_study("digits-table", changes={"seeds": 1})
    (folder / "labels").mkdir(parents=True)
    (folder / "tables").mkdir()
    (folder / "study.toml").write_text(study_text(study, folder), encoding="utf-8")
    info = {
        "versions": {"python": "3.11", "sfumato": "0.1"},
        "simulated": False,
        "fingerprint": "0" * 64,
        "missing": ["The images further away are not in the folder of datasets."],
        "timing": {"seconds": 3.0, "cell_seconds": 2.0, "work": 20.0},
    }
    (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    read = Step("read crowd", {"rule": "all"}, {"votes.csv": "abc123"})
    write_labels(
        LabelSet(("1", "2"), ("cat", "dog"), np.array([[0.5, 0.5], [1, 0]]), provenance=(read,)),
        folder / "labels" / "people.parquet",
    )
    pointed = (Step("labels", {"file": "labels/people.parquet"}),)
    rows = []
    for arm in ("soft", "majority"):
        file = f"predictions/simple-ffn/{arm}/seed-0"
        rows.append(
            {
                "arm": arm, "network": "simple-ffn", "seed": 0, "fold": 0, "predictions": file,
                "cell": arm * 5, "failed": "", "learnt": json.dumps(to_json(pointed)),
            }
        )  # fmt: skip
    pl.DataFrame(rows).write_parquet(folder / "trainings.parquet")
    model, second = (
        (Step("predict", {"file": f"{row['predictions']}/test.parquet"}),) for row in rows
    )
    score = Estimate(
        "accuracy", 0.75, arm="soft", network="simple-ffn", part="test", items=2, seeds=(0,),
        source=source_text(labels=pointed, model=model), study=study.name,
    )  # fmt: skip
    apart = source_text(labels=pointed, model=model, second=to_json(second))
    difference = replace(score, value=0.25, second="majority", source=apart)
    Estimates.of([score, difference]).write(folder / "estimates.parquet")
    return folder


def test_report_is_drawn_from_the_files_of_a_run(folder: Path) -> None:
    told = run("report", folder)

    assert told == f"Report: {folder / 'report.html'}\n"
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "Soft labels of simulated people as a table" in html
    assert "The images further away are not in the folder" in html


def test_trace_walks_a_row_to_files_people_and_training(folder: Path) -> None:
    lines = run("report", folder, "--trace", 0).splitlines()

    assert lines[0] == (
        "row 0: accuracy = 0.750 (soft, simple-ffn, test, against people, all; 2 items, 1 seed)"
    )
    assert "  labels/people.parquet: labels of 2 items" in lines
    assert "    read crowd: rule all" in lines
    assert any("votes.csv, SHA-256 abc123" in line for line in lines)
    assert any("of the training soft, simple-ffn, seed 0" in line for line in lines)
    assert not (folder / "report.html").exists()


def test_trace_of_a_difference_names_both_trainings(folder: Path) -> None:
    told = run("report", folder, "--trace", 1)

    assert "soft - majority" in told
    assert "scored:" in told and "subtracted:" in told
    assert "of the training majority" in told


def test_trace_of_a_row_that_is_not_there_says_which_are(folder: Path) -> None:
    with pytest.raises(SfumatoError, match=r"There is no row 2 .*there are rows 0 to 1\."):
        run("report", folder, "--trace", 2)


def test_report_of_a_run_can_be_named_as_it_is_called_anyway(folder: Path) -> None:
    page = folder / "report.html"
    for more in ((), ("--overwrite",)):
        assert run("report", folder, "-o", page, *more) == f"Report: {page}\n"
    assert sf.report(folder, page) == page
    copy = folder.parent / "copy.html"
    assert run("report", folder, "-o", copy) == f"Report: {copy}\n"
    assert copy.read_bytes() == page.read_bytes()


def test_folder_without_a_run_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match="it is not a run's folder"):
        run("report", tmp_path)


def test_results_are_a_page_its_numbers_and_a_scoreboard(folder: Path, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    run("report", folder)

    told = run("results", folder, "-o", pages)

    written = [pages / name for name in ("digits-table.md", "README.md")]
    *wrote, compute = told.splitlines()
    assert wrote == [f"Wrote {path}." for path in written]
    assert re.fullmatch(r"Compute: [\d.]+ (s|min|h) of .+ in 1 run; each core of .+\.", compute)
    record = json.loads((pages / "digits-table.json").read_text(encoding="utf-8"))
    assert record["name"] == "digits-table"
    assert 0.75 in pl.read_csv(pages / "digits-table" / "estimates.csv")["value"]
    assert all("digits-table" in path.read_text(encoding="utf-8") for path in written)


def test_paper_runs_all_its_studies_and_writes_its_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {}

    def note(
        studies: list[Study], folder: Path, results: Path, runner: Runner, watch: object
    ) -> dict[str, str]:
        asked.update(names=[one.name for one in studies], seeds={one.seeds for one in studies})
        asked.update(folder=folder, results=results)
        return {}

    monkeypatch.setattr("sfumato.studies.run.run_paper", note)
    written = tmp_path / "docs" / "papers" / "paper-4.md"
    monkeypatch.setattr(
        "sfumato.studies.papers.write_papers", lambda results, folder, names: [written]
    )

    told = run("run", "paper-4", "--seeds", 2, "-o", tmp_path, "--pages", tmp_path / "docs")

    assert asked["names"][0] == "cifar10s-aggregate"
    assert "frozen-cifar10s-aggregate" in asked["names"]
    assert asked["folder"] == tmp_path
    assert asked["results"] == tmp_path / "docs" / "results"
    assert told == f"Wrote {written}.\n"


def test_options_for_one_study_are_refused_for_a_paper(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match="--arms is for one study; a paper has several"):
        run("run", "paper-1", "--arms", "soft", "-o", tmp_path)
    with pytest.raises(SfumatoError, match="--pages is for papers"):
        run("run", "digits-table", "--pages", tmp_path)
