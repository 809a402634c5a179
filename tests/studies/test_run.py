"""A study of one's own end to end: what its folder holds is what its files say."""

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.evaluation.metrics import metric_named
from sfumato.items.load import load_items
from sfumato.labels.files import read_labels
from sfumato.learn.model import Model
from sfumato.learn.sweep import FailedCell, Progress
from sfumato.scores import Estimates
from sfumato.studies.data import Predictions, Timing
from sfumato.studies.run import Run, Runner, _timed, _write_datasheet, run_study
from sfumato.studies.sources import load_data
from sfumato.studies.study import Study, read_study
from sfumato.studies.trace import trace_lines
from sfumato.studies.trainings import plan_trainings, run_trainings, splits_of


@pytest.fixture
def run(own_run: Path) -> Run:
    return Run.open(own_run)


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


def test_estimates_of_an_unfinished_run_say_how_to_finish_it(run: Run, tmp_path: Path) -> None:
    for name in ("study.toml", "run.json"):
        shutil.copy(run.folder / name, tmp_path / name)

    with pytest.raises(DataError, match="the run is not finished"):
        assert isinstance(Run.open(tmp_path).estimates, Estimates)


def state(*, found: int, done: int, total: int = 4) -> Progress:
    return Progress(total=total, found=found, done=done, failed=0, seconds=0.0, work=0.0)


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
