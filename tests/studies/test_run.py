"""A study of one's own end to end: what its folder holds is what its files say."""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from polars.testing import assert_frame_equal

from sfumato.errors import DataError
from sfumato.evaluation.metrics import metric_named
from sfumato.items.load import load_items
from sfumato.labels.files import read_labels
from sfumato.learn import encoders
from sfumato.learn.model import Model
from sfumato.learn.sweep import FailedCell, Progress
from sfumato.scores import Estimates
from sfumato.studies.claims import looked_at, read_claims
from sfumato.studies.data import Predictions, RunFolder, Timing, compute_text
from sfumato.studies.dry import dry_run
from sfumato.studies.run import Run, Runner, _timed, _write_datasheet, run_study
from sfumato.studies.sources import load_data
from sfumato.studies.study import HEADS, Study, read_study, study_settings
from sfumato.studies.trace import trace_lines
from sfumato.studies.trainings import plan_trainings, run_trainings, splits_of


@pytest.fixture
def run(own_run: Path) -> Run:
    return Run.open(own_run)


CLAIMS = """\
id,study,paper,place,sentence,metric,arm,second,network,part,against,stratum,attack,bound,step,\
kind,claimed,printed,printed_effect,printed_error,yardstick,printed_yardstick,effect,note
one,lights,paper 1,table 1,Soft is closer.,cross_entropy,soft,original,,,people,all,,,,claim,lower,\
,-0.1,0.02,original,1.0,,
two,lights,paper 1,table 1,Under attack too.,accuracy,soft,original,,,people,all,fgsm,8,,claim,\
higher,,,,,,,
"""


def test_a_seed_that_is_left_out_might_as_well_not_have_been_run(
    run: Run, own_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the third of three seeds claims look at what a run of two seeds finds."""
    (tmp_path / "ours.csv").write_text(CLAIMS, encoding="utf-8")
    claims = read_claims("lights", tmp_path)
    for module in ("run", "data"):
        monkeypatch.setattr(f"sfumato.studies.{module}.read_claims", lambda study: claims)

    three = run_study(read_study(own_study, changes={"seeds": 3}), tmp_path / "three")

    left_out = three.tables["left_out"]
    found = left_out.filter(left_out=2).drop("left_out")
    two = looked_at(claims, run.estimates.table).select(found.columns)
    by = ["metric", "arm", "second", "attack", "stratum"]
    assert_frame_equal(found.sort(by), two.sort(by), rel_tol=1e-9)
    assert set(left_out["left_out"]) == {0, 1, 2}
    assert [len(one.left_out) for one in three.claims] == [3, 3]
    assert three.claims[0].found[0].overlaps is not None
    assert "left_out" not in run.tables  # of two seeds none can be spared


def with_networks(study: Path, *names: str) -> Study:
    return read_study(study, changes={"networks": list(names)})


def test_run_leaves_what_it_found_in_its_folder(run: Run) -> None:
    rows = run.estimates.filter(part="test", metric="accuracy").table

    assert run.study.name == "lights"
    assert set(rows["arm"]) >= {"original", "majority", "soft"}
    assert not run.simulated and not run.estimates.table["simulated"].any()
    assert not (run.folder / "judgments.parquet").exists()  # people's answers lie where they did
    assert len(list((run.folder / "predictions").rglob("*.parquet"))) == 6 * 3  # and two spoilt
    assert len(list((run.folder / "models").rglob("*.safetensors"))) == 6
    assert list((run.folder / "figures").glob("scores-*.svg"))
    assert "60 items" in (run.folder / "datasheet.md").read_text(encoding="utf-8")
    assert "Light and dark" in (run.folder / "report.html").read_text(encoding="utf-8")


def test_study_in_the_folder_finds_the_files_of_ones_own_again(run: Run, own_study: Path) -> None:
    again = read_study(run.folder / "study.toml")

    assert again == run.study
    assert Path(again.own.images) == own_study.parent / "pictures"
    assert (
        load_data(again, None).people.items == load_data(read_study(own_study), None).people.items
    )


def test_study_beside_another_is_held_against_its_claims(run: Run) -> None:
    beside = run.study.model_copy(update={"beside": "mnist-curve"})

    judged = Run(run.folder, beside, run.info).claims

    assert [one.claim for one in judged] == read_claims("mnist-curve") != []
    assert run.claims == [] and "beside" not in study_settings(run.study)


@pytest.mark.parametrize(("tested", "told"), [("people", True), ("original", False)])
def test_datasheet_tells_of_answers_that_its_labels_are_made_of(
    own_study: Path, tmp_path: Path, tested: str, told: bool
) -> None:
    data = load_data(read_study(own_study, changes={"tests": [{"against": [tested]}]}), None)

    _write_datasheet(data, Predictions(tuple(plan_trainings(data))), tmp_path)

    sheet = (tmp_path / "datasheet.md").read_text(encoding="utf-8")
    assert ("180 answers about 60 items" in sheet) == told
    assert ("votes.csv" in sheet) == told


def test_datasheet_names_the_steps_that_made_the_labels(run: Run) -> None:
    sheet = (run.folder / "datasheet.md").read_text(encoding="utf-8")

    assert "read crowd" in sheet and "label votes" in sheet
    assert "labels/people.parquet" not in sheet


@pytest.mark.parametrize("arm", ["original", "soft"])
def test_kept_models_predict_what_is_stored(own_study: Path, run: Run, arm: str) -> None:
    place = Path("simple-ffn") / arm / "seed-1"
    stored = read_labels(run.folder / "predictions" / place / "test.parquet")
    pictures = load_items(own_study.parent / "pictures", naming="stem")

    model = Model.load(run.folder / "models" / place)
    beliefs = model.predict(pictures.take(stored.items))

    assert np.abs(beliefs.probs - stored.probs).max() < 1e-6
    assert beliefs.classes == stored.classes
    assert (model.network, model.trained_on) == ("simple-ffn", 36)
    assert model.recipe["epochs"] == 2 and model.loss is not None
    assert model.provenance[-1].settings["arm"] == arm


def test_head_learns_vectors_of_pictures_beside_a_network_that_is_attacked(
    own_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("efficientnet_lite_pytorch")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    head = "efficientnet linear"
    computed: list[Any] = []
    monkeypatch.setattr(encoders, "_in_batches", spied(encoders._in_batches, computed))
    changes = {"networks": ["simple-ffn", head], "arms": ["soft"], "measures": ["scores"]}
    study = read_study(own_study, changes={**changes, f"heads.{head}.epochs": 2, "draws": 100})

    run = run_study(study, tmp_path / "run")

    assert [len(inputs) for _, _, inputs in computed] == [60, 1]  # once for both seeds
    assert "failed" not in run.tables
    clean = run.estimates.filter(metric="accuracy", stratum="all", attack="", second="", arm="soft")
    assert {one.network for one in clean} == {"simple-ffn", head}
    spoilt = [one for one in run.estimates if one.attack or one.stratum == "attacked items"]
    assert {one.network for one in spoilt} == {"simple-ffn"}
    stored = read_labels(run.folder / "predictions" / head / "soft/seed-1/test.parquet")
    pictures = load_items(own_study.parent / "pictures", naming="stem").take(stored.items)
    model = Model.load(run.folder / "models" / head / "soft/seed-1")
    assert np.abs(model.predict(pictures).probs - stored.probs).max() < 1e-5


def spied(function: Callable[..., Any], calls: list[Any]) -> Callable[..., Any]:
    def noted(*given: Any) -> Any:
        calls.append(given)
        return function(*given)

    return noted


def test_dry_run_encodes_a_few_pictures_only(
    own_study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("efficientnet_lite_pytorch")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    computed: list[Any] = []
    monkeypatch.setattr(encoders, "_in_batches", spied(encoders._in_batches, computed))
    study = read_study(own_study, changes={"networks": ["efficientnet mlp"]})

    tried = dry_run(study, data=None)

    assert tried.tried == 3 and sum(len(inputs) for _, _, inputs in computed) < 12
    (cost,) = tried.planned
    assert cost.epochs == 2 * 3 * HEADS["efficientnet mlp"].epochs  # type: ignore[operator]


def test_folder_of_a_run_is_no_model_but_names_one(run: Run) -> None:
    with pytest.raises(DataError, match=r"It holds models, such as .*seed-0\.safetensors"):
        Model.load(run.folder)


def test_scores_are_those_of_the_stored_predictions(own_study: Path, run: Run) -> None:
    study = read_study(own_study)
    data = load_data(study, None)
    human = data.people.take(splits_of(data, 0)[0].test)

    for metric in ("cross_entropy", "accuracy"):
        values = []
        for seed in (0, 1):
            path = run.folder / "predictions" / "simple-ffn" / "soft" / f"seed-{seed}"
            model = read_labels(path / "test.parquet").take(human.items)
            values.append(metric_named(metric).overall(human, model))

        (found,) = run.estimates.filter(
            arm="soft", second="", part="test", attack="", metric=metric, against="people",
            stratum="all",
        )  # fmt: skip
        assert found.value == pytest.approx(np.mean(values))
        assert found.seeds == (0, 1)


def test_differences_are_between_the_scores(run: Run) -> None:
    columns = ("part", "against", "stratum", "attack", "bound", "step", "metric", "network")
    brier = run.estimates.filter(metric="brier")
    scores = {(one.arm, *(getattr(one, name) for name in columns)): one for one in brier.scores}

    differences = list(brier.differences)

    pairs = {(one.arm, one.second) for one in differences}
    assert pairs == {("majority", "original"), ("soft", "original"), ("soft", "majority")}
    for one in differences:
        place = tuple(getattr(one, name) for name in columns)
        apart = scores[one.arm, *place].value - scores[one.second, *place].value
        assert one.value == pytest.approx(apart, nan_ok=True)


def test_attacked_items_are_compared_with_themselves_before(run: Run) -> None:
    known = run.estimates.filter(part="test", against="people", metric="cross_entropy", second="")
    attacked = known.filter(attack="fgsm", bound=8.0)
    before = {one.arm: one for one in known.filter(stratum="attacked items")}

    assert {one.items for one in attacked} == {10}
    for one in attacked:
        assert before[one.arm].items == 10
        assert one.value >= before[one.arm].value  # FGSM on a nearly linear model


def test_trace_leads_to_answers_in_files_of_ones_own(run: Run) -> None:
    lines = trace_lines(run, 0, None)

    text = "\n".join(lines)
    assert "read crowd" in text and "votes.csv, SHA-256" in text
    assert "180 answers about 60 items; the first:" in text
    assert "item p0, annotator w0, answer " in text


def test_trace_finds_every_file_of_ones_own(
    own_study: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own_study.parent.parent)  # wherever the command is typed
    table = run.estimates.table.with_row_index("row")
    rows = table.filter(against="original", metric="accuracy", second="")["row"]

    text = "\n".join(trace_lines(run, int(rows[0]), None))

    assert "labels.csv, SHA-256" in text
    assert "the file is not where it was" not in text


def test_trace_says_where_a_file_of_answers_has_changed(
    own_study: Path, run: Run, tmp_path: Path
) -> None:
    shutil.copytree(own_study.parent, tmp_path / "own")
    with (tmp_path / "own" / "votes.csv").open("a", encoding="utf-8") as votes:
        votes.write("p1,w3,light\n")
    own = run.study.own.model_copy(update={"judgments": str(tmp_path / "own" / "votes.csv")})
    moved = Run(run.folder, run.study.model_copy(update={"own": own}), run.info)

    text = "\n".join(trace_lines(moved, 0, None))

    assert "or has changed" in text


def test_network_that_cannot_take_the_pictures_fails_and_the_rest_is_reported(
    own_study: Path, own_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "two"
    shutil.copytree(own_run, folder)
    seen: list[Progress] = []

    # a learning rate so high that one arm diverges would be luck; a network that cannot take
    # pictures of this size fails for sure
    study = with_networks(own_study, "simple-ffn", "lenet")
    run = run_study(study, folder, Runner(progress=seen.append))

    assert (seen[0].found, seen[0].total, seen[-1].failed) == (6, 12, 6)
    assert all("lenet" in name for name in run.tables["failed"]["cell"])
    assert set(run.estimates.table["network"]) - {""} == {"simple-ffn"}
    assert "6 training runs failed" in (folder / "report.html").read_text(encoding="utf-8")


def test_run_in_which_everything_fails_is_an_error(own_study: Path) -> None:
    data = load_data(with_networks(own_study, "lenet"), None)

    with pytest.raises(DataError, match=r"Every training failed; the first, original, lenet.*no"):
        run_trainings(data, lambda cells: [FailedCell(cell, "", "no") for cell in cells])


def test_runs_that_share_trainings_do_each_once_and_remember_where(
    own_study: Path, tmp_path: Path
) -> None:
    shared, first, second = tmp_path / "shared", tmp_path / "first", tmp_path / "second"
    runner = Runner(trainings=shared)
    few = read_study(own_study, changes={"arms": ["original", "soft"], "name": "few"})
    found: list[Progress] = []
    run_study(few, first, runner)

    whole = run_study(read_study(own_study), second, replace(runner, progress=found.append))
    again = run_study(read_study(own_study), second, Runner(progress=found.append))

    assert (found[0].total, found[0].found) == (6, 4)
    assert (whole.timing.found, whole.trainings.resolve()) == (4, shared)
    assert (found[-1].total, found[-1].found) == (6, 6)  # the folder is remembered
    assert again.estimates.table.equals(whole.estimates.table)
    assert not (first / "cells").exists() and not (second / "cells").exists()


def test_run_with_trainings_of_its_own_goes_on_in_a_shared_folder(
    own_study: Path, own_run: Path, tmp_path: Path
) -> None:
    folder, shared = tmp_path / "run", tmp_path / "shared"
    shutil.copytree(own_run, folder)
    lost = sorted((folder / "cells").glob("*.json"))[:2]
    for path in lost:
        path.unlink()
    states: list[Progress] = []

    run_study(read_study(own_study), folder, Runner(trainings=shared, progress=states.append))

    assert (states[0].total, states[0].found) == (6, 4)
    assert {path.stem for path in shared.glob("*.json")} == {path.stem for path in lost}


def test_estimates_of_an_unfinished_run_say_how_to_finish_it(run: Run, tmp_path: Path) -> None:
    for name in ("study.toml", "run.json"):
        shutil.copy(run.folder / name, tmp_path / name)

    with pytest.raises(DataError, match="the run is not finished"):
        assert isinstance(Run.open(tmp_path).estimates, Estimates)


def state(*, found: int, done: int, total: int = 4) -> Progress:
    return Progress(total=total, found=found, done=done, failed=0, seconds=0.0, work=0.0)


def test_compute_is_added_up_by_device() -> None:
    def of(device: str, seconds: float) -> RunFolder:
        info = {"versions": {"device": device}, "timing": {"cell_seconds": seconds}}
        return RunFolder(Path("run"), read_study("digits-table"), info)

    cpu = "x86_64 AVX512"
    runs = [of(cpu, 3600), of("NVIDIA A100", 900), of(cpu, 5400)]

    assert compute_text(runs) == (
        "Compute: 15 min of NVIDIA A100 and 2.5 h of x86_64 AVX512 in 3 runs; "
        "each core of a CPU counts as a device."
    )


def timing(folder: Path) -> Timing:
    info = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return Timing(**info["timing"])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock shows; the test moves it."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_stopped_run_is_counted_and_the_next_adds_to_it(tmp_path: Path, clock: list[float]) -> None:
    with pytest.raises(KeyboardInterrupt), _timed(tmp_path, Runner()) as runner:
        runner.progress(state(found=0, done=0))
        clock[0] += 10
        runner.progress(state(found=0, done=1))
        raise KeyboardInterrupt
    assert timing(tmp_path).seconds == 10

    with _timed(tmp_path, Runner()) as runner:
        runner.progress(state(found=1, done=1))
        clock[0] += 5
        runner.progress(state(found=1, done=4))
        clock[0] += 1  # report

    assert timing(tmp_path).seconds == 16


def test_run_that_finds_everything_finished_adds_nothing(
    tmp_path: Path, clock: list[float]
) -> None:
    known = {"timing": {"seconds": 7.0}}
    (tmp_path / "run.json").write_text(json.dumps(known), encoding="utf-8")
    seen: list[Progress] = []

    with _timed(tmp_path, Runner(progress=seen.append)) as runner:
        runner.progress(state(found=4, done=4))
        clock[0] += 30

    assert timing(tmp_path).seconds == 7
    assert seen == [state(found=4, done=4)]


def test_study_without_cells_is_timed_too(tmp_path: Path, clock: list[float]) -> None:
    with _timed(tmp_path, Runner()):
        clock[0] += 3

    assert timing(tmp_path).seconds == 3


def test_cells_of_all_sweeps_and_sittings_are_added_up(tmp_path: Path) -> None:
    def told(done: int, cell_seconds: float) -> Progress:
        return replace(state(found=0, done=done), work=10.0 * done, cell_seconds=cell_seconds)

    for _ in range(2):  # sittings
        with _timed(tmp_path, Runner()) as runner:
            for _ in range(2):  # pretraining, trainings
                runner.progress(told(0, 0.0))
                runner.progress(told(1, 3.0))
                runner.progress(told(2, 7.0))

    assert (timing(tmp_path).cell_seconds, timing(tmp_path).work) == (28.0, 80.0)


def test_rate_and_alpha_that_each_training_chose_are_told(own_study: Path, tmp_path: Path) -> None:
    changes = {
        "arms": ["original", {"labels": "soft", "mix": "mixup"}],
        "search.rates": [1e-9, 0.01],
        "search.alphas": [0.1, 1.0],
        "training_of.simple-ffn.batch_size": 8,
        "corruptions": [],
    }

    run = run_study(read_study(own_study, changes=changes), tmp_path / "searched")

    tried = run.tables["chosen"]
    chosen = tried.filter("chosen").select("arm", "seed", "setting", "value")
    rates = chosen.filter(setting="rate")
    assert rates.rows() == [
        (arm, seed, "rate", 0.01) for seed in (0, 1) for arm in ("original", "mixup, soft")
    ]
    assert set(chosen.filter(setting="alpha")["arm"]) == {"mixup, soft"}
    least = tried.sort("validation_loss").unique(["arm", "seed", "setting"], keep="first")
    assert least["chosen"].all() and len(tried) == 2 * (2 + 4)
    model = Model.load(run.folder / "models" / "simple-ffn" / "original" / "seed-0.safetensors")
    assert (model.recipe["learning_rate"], model.recipe["batch_size"]) == (0.01, 8)
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "Settings that were searched" in page


def test_searched_training_is_the_one_with_that_rate(own_study: Path, tmp_path: Path) -> None:
    shared = {"arms": ["soft"], "seeds": 1, "corruptions": [], "fgsm": []}
    several = read_study(own_study, changes={**shared, "search.rates": [1e-9, 0.01]})
    alone = read_study(own_study, changes={**shared, "training.learning_rate": 0.01})

    found = [
        run_study(study, tmp_path / str(place)).folder / "predictions/simple-ffn/soft/seed-0"
        for place, study in enumerate((several, alone))
    ]

    first, second = (read_labels(folder / "test.parquet") for folder in found)
    assert (first.probs == second.probs).all()
