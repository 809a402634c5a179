import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from sfumato.studies.took import Took, read_took, timekeeping

from sfumato.learn.sweep import Progress


def state(*, found: int, done: int, total: int = 4) -> Progress:
    return Progress(total=total, found=found, done=done, failed=0, seconds=0.0, work=0.0)


def seconds(folder: Path) -> float:
    took = read_took(folder)
    assert took is not None
    return took.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock shows; the test moves it."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_stopped_run_is_counted_and_the_next_adds_to_it(tmp_path: Path, clock: list[float]) -> None:
    assert read_took(tmp_path) is None
    with pytest.raises(KeyboardInterrupt), timekeeping(tmp_path, lambda seen: None) as watch:
        watch(state(found=0, done=0))
        clock[0] += 10
        watch(state(found=0, done=1))
        raise KeyboardInterrupt
    assert seconds(tmp_path) == 10

    with timekeeping(tmp_path, lambda seen: None) as watch:
        watch(state(found=1, done=1))
        clock[0] += 5
        watch(state(found=1, done=4))
        clock[0] += 1  # report

    assert seconds(tmp_path) == 16


def test_run_that_finds_everything_finished_adds_nothing(
    tmp_path: Path, clock: list[float]
) -> None:
    (tmp_path / "took.json").write_text(json.dumps({"seconds": 7.0}), encoding="utf-8")
    seen: list[Progress] = []

    with timekeeping(tmp_path, seen.append) as watch:
        watch(state(found=4, done=4))
        clock[0] += 30

    assert seconds(tmp_path) == 7
    assert seen == [state(found=4, done=4)]


def test_study_without_cells_is_timed_too(tmp_path: Path, clock: list[float]) -> None:
    with timekeeping(tmp_path, lambda seen: None):
        clock[0] += 3

    assert seconds(tmp_path) == 3


def test_cells_of_all_sweeps_and_sittings_are_added_up(tmp_path: Path) -> None:
    def told(done: int, cell_seconds: float) -> Progress:
        return replace(state(found=0, done=done), work=10.0 * done, cell_seconds=cell_seconds)

    for _ in range(2):  # sittings
        with timekeeping(tmp_path, lambda seen: None) as watch:
            for _ in range(2):  # pretraining, trainings
                watch(told(0, 0.0))
                watch(told(1, 3.0))
                watch(told(2, 7.0))

    took = read_took(tmp_path)
    assert took is not None
    assert (took.cell_seconds, took.work) == (28.0, 80.0)
    assert Took(**json.loads((tmp_path / "took.json").read_text("utf-8"))) == took
