import json
import time
from pathlib import Path

import pytest

from sfumato.learn.sweep import Progress
from sfumato.studies.took import seconds_of, timekeeping


def state(*, found: int, done: int, total: int = 4) -> Progress:
    return Progress(total=total, found=found, done=done, failed=0, seconds=0.0, work=0.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock shows; the test moves it."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_stopped_run_is_counted_and_the_next_adds_to_it(tmp_path: Path, clock: list[float]) -> None:
    assert seconds_of(tmp_path) is None
    with pytest.raises(KeyboardInterrupt), timekeeping(tmp_path, lambda seen: None) as watch:
        watch(state(found=0, done=0))
        clock[0] += 10
        watch(state(found=0, done=1))
        raise KeyboardInterrupt
    assert seconds_of(tmp_path) == 10

    with timekeeping(tmp_path, lambda seen: None) as watch:
        watch(state(found=1, done=1))
        clock[0] += 5
        watch(state(found=1, done=4))
        clock[0] += 1  # report

    assert seconds_of(tmp_path) == 16


def test_run_that_finds_everything_finished_adds_nothing(
    tmp_path: Path, clock: list[float]
) -> None:
    (tmp_path / "took.json").write_text(json.dumps({"seconds": 7.0}), encoding="utf-8")
    seen: list[Progress] = []

    with timekeeping(tmp_path, seen.append) as watch:
        watch(state(found=4, done=4))
        clock[0] += 30

    assert seconds_of(tmp_path) == 7
    assert seen == [state(found=4, done=4)]


def test_study_without_cells_is_timed_too(tmp_path: Path, clock: list[float]) -> None:
    with timekeeping(tmp_path, lambda seen: None):
        clock[0] += 3

    assert seconds_of(tmp_path) == 3
