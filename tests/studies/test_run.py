import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sfumato.errors import DataError
from sfumato.evaluation.score import evaluate
from sfumato.labels.files import read_labels
from sfumato.learn.sweep import Progress
from sfumato.studies.folder import Timing
from sfumato.studies.run import Run, Runner, _timed, run_study
from sfumato.studies.sources import load_data
from sfumato.studies.study import read_study
from sfumato.studies.trainings import splits_of


@pytest.fixture
def folder(own_run: Path) -> Path:
    """A finished run."""
    return own_run


def test_run_leaves_what_it_found_in_its_folder(folder: Path) -> None:
    run = Run.open(folder)

    assert run.study.name == "lights"
    assert {"python", "torch", "sfumato", "device"} <= run.info["versions"].keys()
    assert {"original", "majority", "soft"} <= set(run.estimates.table["arm"])
    assert not run.estimates.table["simulated"].any()
    assert len(list((folder / "models").rglob("*.safetensors"))) == 6
    assert len(list((folder / "predictions").rglob("test.parquet"))) == 6
    assert "60 items" in (folder / "datasheet.md").read_text(encoding="utf-8")
    assert "Light and dark" in (folder / "report.html").read_text(encoding="utf-8")


def test_scores_are_those_of_the_stored_predictions(own_study: Path, folder: Path) -> None:
    data = load_data(read_study(own_study), None)
    human = data.people.take(splits_of(data, 0)[0].test)
    rng = np.random.default_rng(0)

    values = []
    for seed in (0, 1):
        path = folder / "predictions" / "simple-ffn" / "soft" / f"seed-{seed}" / "test.parquet"
        found = evaluate(human, read_labels(path), metrics=["cross_entropy"], rng=rng, draws=10)
        values.append(found[0].value)

    score = Run.open(folder).estimates.scores.filter(
        arm="soft", metric="cross_entropy", against="people", stratum="all", attack=""
    )
    assert score.table["value"].to_list() == [pytest.approx(np.mean(values))]


def test_attack_raises_the_loss_of_a_nearly_linear_model(folder: Path) -> None:
    scores = Run.open(folder).estimates.scores.filter(
        metric="cross_entropy", against="people", stratum="all", attack="fgsm"
    )

    assert set(scores.table["items"]) == {10}
    clean = Run.open(folder).estimates.scores.filter(
        metric="cross_entropy", against="people", stratum="all", attack="", arm="soft"
    )
    attacked = scores.filter(arm="soft", bound=8.0)
    assert attacked.table["value"][0] >= clean.table["value"][0] - 0.5


def test_report_is_drawn_again_from_files_alone(folder: Path) -> None:
    before = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()

    Run.open(folder).report()

    assert (folder / "report.html").read_bytes() == before


def test_second_run_trains_nothing_again_and_finds_the_same(own_study: Path, folder: Path) -> None:
    before = pl.read_parquet(folder / "estimates.parquet")
    seen: list[Progress] = []

    run_study(read_study(own_study), folder, Runner(progress=seen.append))

    assert (seen[0].found, seen[0].total) == (6, 6)
    assert_frame_equal(pl.read_parquet(folder / "estimates.parquet"), before, check_exact=True)


def test_networks_that_cannot_take_the_pictures_are_told_and_the_rest_is_reported(
    own_study: Path, tmp_path: Path
) -> None:
    study = read_study(own_study, changes={"networks": ["simple-ffn", "lenet"]})

    run = run_study(study, tmp_path)

    assert len(run.tables["failed"]) == 6
    assert all("lenet" in cell for cell in run.tables["failed"]["cell"])
    assert set(run.estimates.scores.table["network"]) - {""} == {"simple-ffn"}
    assert "6 cells failed" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_run_in_which_everything_fails_is_an_error(own_study: Path, tmp_path: Path) -> None:
    study = read_study(own_study, changes={"networks": ["lenet"]})

    with pytest.raises(DataError, match="Every training failed"):
        run_study(study, tmp_path)


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
