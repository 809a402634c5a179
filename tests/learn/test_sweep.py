"""Sweeps, with the processes they are made for: some of them are killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError, MissingPackage
from sfumato.labels.labelset import LabelSet
from sfumato.learn.sweep import (
    Cell,
    CellResult,
    EncodedCell,
    FailedCell,
    FinishedCell,
    Progress,
    attempt,
    fingerprint,
    run_sweep,
    seconds_left,
    work_per_second,
)
from sfumato.provenance import Step

KILL_SWEEP = Path(__file__).parent.parent.parent / "benchmarks" / "kill_sweep.py"
PATIENCE = 180.0


# --- cells -------------------------------------------------------------------------------------


def draw(seed: int, count: int = 5) -> CellResult:
    values = np.random.default_rng(seed).normal(size=count)
    return CellResult(
        {"mean": float(values.mean()), "count": np.int64(count)}, {"values": values}, work=count
    )


def counted(seed: int, log: str) -> CellResult:
    with Path(log).open("a") as file:
        file.write(f"{seed}\n")
    return draw(seed)


def unlucky(seed: int) -> CellResult:
    if seed == 1:
        raise DataError("The model diverged in epoch 3.")
    if seed == 2:
        return CellResult({"ratio": seed / 0})
    if seed == 3:
        sys.exit("stop")
    return draw(seed)


def cured(seed: int, remedy: str) -> CellResult:
    if not Path(remedy).exists():
        raise DataError("There is no remedy.")
    return draw(seed)


def deadly(seed: int) -> CellResult:
    if seed == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(seed)


def grows(seed: int) -> CellResult:
    """Leaves more behind than joblib lets a process grow by; it looks once a second."""
    vars(sys).setdefault("left_behind", []).append(np.ones(40_000_000))
    time.sleep(1.1)
    return draw(seed)


def threads(library: str) -> CellResult:
    import torch

    wait_policy = os.environ["OMP_WAIT_POLICY"]
    return CellResult({"threads": torch.get_num_threads(), "wait": wait_policy, "of": library})


def number(seed: int) -> Any:
    return seed


def objects(seed: int) -> CellResult:
    return CellResult(arrays={"values": np.array([{"seed": seed}], dtype=object)})


def array_as_score(seed: int) -> CellResult:
    return CellResult({"values": np.arange(seed)})


@dataclass(frozen=True)
class Settings:
    rate: float = 0.1
    layers: tuple[int, ...] = (8, 4)


@pytest.fixture(autouse=True, scope="module")
def cells_travel_by_value() -> Iterator[None]:
    """Workers cannot import this file, whose name pytest made up."""
    pytest.importorskip("joblib")
    picklers = [pytest.importorskip("cloudpickle")]
    if find_spec("joblib.externals.cloudpickle"):  # before 1.6, joblib brought one of its own
        picklers.append(import_module("joblib.externals.cloudpickle"))
    for pickler in picklers:
        pickler.register_pickle_by_value(sys.modules[__name__])
    yield
    for pickler in picklers:
        pickler.unregister_pickle_by_value(sys.modules[__name__])


def one(**inputs: Any) -> Cell:
    return Cell("one", draw, inputs)


def seeds(function: Any, count: int, **inputs: Any) -> list[Cell]:
    return [Cell(f"seed {seed}", function, {"seed": seed, **inputs}) for seed in range(count)]


def done(result: FinishedCell | FailedCell) -> FinishedCell:
    assert isinstance(result, FinishedCell), result
    return result


def failed(result: FinishedCell | FailedCell) -> FailedCell:
    assert isinstance(result, FailedCell), result
    return result


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- fingerprints ------------------------------------------------------------------------------

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def strictly(value: object) -> str:
    """A text that tells 1, 1.0, True, "1" and −0.0 apart, but not the order of dictionaries."""
    if isinstance(value, dict):
        return f"{{{sorted((strictly(key), strictly(part)) for key, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{[strictly(part) for part in value]}]"
    return repr(value)


@given(PLAIN, PLAIN)
def test_fingerprints_are_equal_exactly_where_inputs_are(first: object, second: object) -> None:
    same = fingerprint(one(value=first)) == fingerprint(one(value=second))

    assert same == (strictly(first) == strictly(second))


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_fingerprint_does_not_depend_on_the_order_of_a_mapping(values: dict[str, int]) -> None:
    backwards = dict(reversed(values.items()))

    assert fingerprint(one(value=values)) == fingerprint(one(value=backwards))


def test_fingerprint_is_the_same_in_a_process_with_other_hashes() -> None:
    code = """
import numpy as np
from sfumato.labels.labelset import LabelSet
from sfumato.learn.sweep import Cell, fingerprint
from sfumato.provenance import fingerprint_file
labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.75, 0.25], [0, 1]])
print(fingerprint(Cell("x", fingerprint_file, {"b": {"q": 1, "p": [2.5, None]}, "a": labels})))
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(found) == 1


ARRAY = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "other",
    [
        ARRAY.reshape(3, 2),
        ARRAY.astype(np.float32),
        ARRAY.astype(np.int64),
        ARRAY.astype(">f8"),
        ARRAY + 1e-15,
        ARRAY.tolist(),
        ARRAY.tobytes(),
    ],
)
def test_fingerprint_sees_values_type_and_shape_of_an_array(other: object) -> None:
    assert fingerprint(one(value=ARRAY)) != fingerprint(one(value=other))


def test_fingerprint_does_not_see_how_an_array_lies_in_memory() -> None:
    expected = fingerprint(one(value=ARRAY))

    assert fingerprint(one(value=np.asfortranarray(ARRAY))) == expected
    assert fingerprint(one(value=np.repeat(ARRAY, 2, axis=1)[:, ::2])) == expected


def test_fingerprint_of_a_label_set_is_of_its_labels_not_of_their_history() -> None:
    labels = LabelSet(("a", "b"), ("cat", "dog"), np.array([[0.75, 0.25], [0, 1]]))
    expected = fingerprint(one(labels=labels))

    assert fingerprint(one(labels=replace(labels, provenance=(Step("read"),)))) == expected
    assert fingerprint(one(labels=replace(labels, items=("a", "c")))) != expected
    assert fingerprint(one(labels=replace(labels, classes=("cat", "cow")))) != expected
    assert fingerprint(one(labels=replace(labels, probs=labels.probs[::-1]))) != expected
    assert fingerprint(one(labels=replace(labels, weight=np.ones(2)))) != expected


def test_fingerprint_sees_function_version_and_fields_but_not_the_name() -> None:
    cell = one(settings=Settings())
    expected = fingerprint(cell)

    assert fingerprint(replace(cell, name="two")) == expected
    assert fingerprint(replace(cell, version="2")) != expected
    assert fingerprint(replace(cell, function=unlucky)) != expected
    assert fingerprint(one(settings=Settings(rate=0.2))) != expected
    assert fingerprint(one(settings={"rate": 0.1, "layers": (8, 4)})) != expected


def test_fingerprint_of_a_path_is_of_its_content(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "labels.csv").write_text("item,cat\n")
    file, copy = tmp_path / "first" / "labels.csv", tmp_path / "second" / "labels.csv"
    before = fingerprint(one(file=file)), fingerprint(one(file=file.parent))

    assert (fingerprint(one(file=copy)), fingerprint(one(file=copy.parent))) == before
    copy.write_text("item,dog\n\n")
    assert fingerprint(one(file=copy)) != before[0]
    assert fingerprint(one(file=copy.parent)) != before[1]
    with pytest.raises(DataError, match=r"'file' of the cell 'one' names .*nothing, which is nei"):
        fingerprint(one(file=tmp_path / "nothing"))


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (np.random.default_rng(0), r"input 'value' of the cell 'one' holds a Generator"),
        ([1, {2}], r"'value' of the cell 'one'\[1\] holds a set"),
        ({"by": draw}, r"'value' of the cell 'one'\['by'\] holds a function"),
        (Settings(layers=(1j,)), r"'one'\.layers\[0\] holds a complex"),  # type: ignore[arg-type]
        (np.array([None]), r"holds a ndarray of object"),
        (np.ma.masked_array([1.0], [True]), r"holds a MaskedArray"),
        (Settings, r"holds a type"),
    ],
)
def test_input_without_fingerprint_is_named(value: object, where: str) -> None:
    with pytest.raises(DataError, match=where):
        fingerprint(one(value=value))


def test_function_without_a_name_of_its_own_is_refused() -> None:
    def inner() -> CellResult:
        return CellResult()

    for function in (inner, lambda: CellResult()):
        with pytest.raises(DataError, match=r"The cell 'a' calls .* at the top level of a module"):
            Cell("a", function)


# --- files -------------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_cells_and_equal_a_plain_loop(tmp_path: Path) -> None:
    cells = seeds(draw, 5)[::-1]

    results = [done(result) for result in run_sweep(cells, tmp_path, workers=2)]

    assert [result.cell for result in results] == cells
    for cell, result in zip(cells, results, strict=True):
        alone = cell.function(**cell.inputs)
        assert result.scores == alone.scores
        assert np.array_equal(result.arrays()["values"], alone.arrays["values"])
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".npz"}


def test_finished_cells_are_not_computed_again(tmp_path: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "cells"
    cells = seeds(counted, 4, log=str(log))
    run_sweep(cells[:2], folder, workers=2)

    again = [done(result) for result in run_sweep(cells, folder, workers=2)]

    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
    assert [result.scores["mean"] for result in again] == [
        draw(seed).scores["mean"] for seed in range(4)
    ]


def test_cells_of_an_earlier_folder_are_found_and_nothing_is_written_to_it(tmp_path: Path) -> None:
    log, old, new = tmp_path / "log", tmp_path / "old", tmp_path / "new"
    cells = seeds(counted, 3, log=str(log))
    run_sweep(cells[:2], old, workers=2)
    before = content(old)

    results = [done(result) for result in run_sweep(cells, new, workers=2, earlier=(old,))]

    assert sorted(log.read_text().split()) == ["0", "1", "2"]
    assert [result.folder for result in results] == [old, old, new]
    assert content(old) == before
    assert np.array_equal(results[0].arrays()["values"], draw(0).arrays["values"])


def test_cell_that_another_sweep_finishes_meanwhile_is_not_begun(tmp_path: Path) -> None:
    log, folder, other = tmp_path / "log", tmp_path / "cells", tmp_path / "other"
    cells = seeds(counted, 6, log=str(log))
    run_sweep(cells[3:], other, workers=2)
    log.unlink()
    states: list[Progress] = []

    def other_sweep_ends(state: Progress) -> None:
        if not states:
            shutil.copytree(other, folder, dirs_exist_ok=True)
        states.append(state)

    results = run_sweep(cells, folder, workers=2, progress=other_sweep_ends)

    assert sorted(log.read_text().split()) == ["0", "1", "2"]
    assert [done(one).scores["mean"] for one in results] == [
        draw(seed).scores["mean"] for seed in range(6)
    ]
    assert (states[0].found, states[-1].found, states[-1].done) == (0, 3, 6)


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "flipped", "other"])
def test_damaged_file_counts_as_not_done(tmp_path: Path, suffix: str, damage: str) -> None:
    cells = seeds(draw, 2)
    run_sweep(cells, tmp_path, workers=1)
    whole = content(tmp_path)
    path, other = (tmp_path / f"{fingerprint(cell)}.{suffix}" for cell in cells)
    spoilt = path.read_bytes()
    middle = spoilt.index(b"0.") + 3 if suffix == "json" else len(spoilt) // 2
    flipped = spoilt[:middle] + bytes([spoilt[middle] ^ 1]) + spoilt[middle + 1 :]
    table = {"cut": spoilt[:-9], "empty": b"", "flipped": flipped, "other": other.read_bytes()}
    path.unlink() if damage == "gone" else path.write_bytes(table[damage])
    seen: list[Progress] = []

    run_sweep(cells, tmp_path, workers=1, progress=seen.append)

    assert seen[0].found == 1
    assert content(tmp_path) == whole


def test_arrays_that_changed_on_the_disk_are_not_returned(tmp_path: Path) -> None:
    result = done(run_sweep(seeds(draw, 1), tmp_path, workers=1)[0])
    (tmp_path / f"{result.fingerprint}.npz").write_bytes(b"")

    with pytest.raises(DataError, match=r"arrays of the cell 'seed 0' .* Run the sweep again"):
        result.arrays()


def test_numbers_survive_the_file(tmp_path: Path) -> None:
    scores = {"third": 1 / 3, "never": float("inf"), "unknown": float("nan"), "tiny": 5e-324}

    result = done(run_sweep([Cell("echo", echo, {"scores": scores})], tmp_path, workers=1)[0])

    np.testing.assert_equal(result.scores, scores)


def echo(scores: dict[str, float]) -> CellResult:
    return CellResult(scores)


def test_cells_with_equal_inputs_are_computed_once(tmp_path: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "cells"
    first, second = (Cell(name, counted, {"seed": 0, "log": str(log)}) for name in "ab")

    results = run_sweep([first, second], folder, workers=2)

    assert log.read_text() == "0\n"
    assert [result.cell.name for result in results] == ["a", "b"]


def test_old_unfinished_files_are_cleared_and_fresh_ones_left(tmp_path: Path) -> None:
    old, fresh = tmp_path / ".a.json.0.part", tmp_path / ".b.json.0.part"
    for path in (old, fresh):
        path.write_text("{")
    os.utime(old, (0, 0))

    run_sweep([], tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == [fresh.name]


def test_folder_that_cannot_be_made_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "cells").write_text("a file")

    with pytest.raises(DataError, match=r"cells for finished cells cannot be made"):
        run_sweep(seeds(draw, 1), tmp_path / "cells")


# --- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_failed_cells_say_why_and_the_others_go_on(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    where: dict[str, Any] = {"workers": 2}
    if engine == "dask":
        where = {"engine": "dask", "scheduler": request.getfixturevalue("scheduler")}

    results = run_sweep(seeds(unlucky, 5), tmp_path, **where)

    assert [isinstance(result, FinishedCell) for result in results] == [
        True,
        False,
        False,
        False,
        True,
    ]
    assert failed(results[1]).reason == "The model diverged in epoch 3."
    assert failed(results[2]).reason.startswith("ZeroDivisionError: division by zero (")
    assert 'in unlucky: return CellResult({"ratio": seed / 0}))' in failed(results[2]).reason
    assert failed(results[3]).reason.startswith("SystemExit: stop (")
    record = json.loads((tmp_path / f"{results[1].fingerprint}.failed.json").read_text())
    assert (record["name"], record["reason"]) == ("seed 1", "The model diverged in epoch 3.")


def test_failed_cells_are_tried_again_and_then_forgotten(tmp_path: Path) -> None:
    remedy, folder = tmp_path / "remedy", tmp_path / "cells"
    cells = seeds(cured, 2, remedy=str(remedy))
    assert all(failed(result) for result in run_sweep(cells, folder, workers=1))
    remedy.touch()

    results = run_sweep(cells, folder, workers=1)

    assert all(done(result) for result in results)
    assert not list(folder.glob("*.failed.json"))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (number, r"\.number returned a int, not a CellResult"),
        (objects, r"ValueError: Object arrays cannot be saved"),
        (array_as_score, r"A score is a ndarray\. .* put arrays into `arrays`"),
    ],
)
def test_result_that_cannot_be_kept_is_a_failure(
    tmp_path: Path, function: Any, reason: str
) -> None:
    result = failed(run_sweep([Cell("a", function, {"seed": 1})], tmp_path, workers=1)[0])

    assert re.search(reason, result.reason)


def test_cell_that_kills_its_process_fails_alone(tmp_path: Path) -> None:
    results = run_sweep(seeds(deadly, 6), tmp_path, workers=2)

    assert [result.cell.name for result in results if isinstance(result, FailedCell)] == ["seed 1"]
    assert "TerminatedWorkerError" in failed(results[1]).reason


def test_process_that_grew_is_replaced_without_a_word(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        results = run_sweep(seeds(grows, 8), tmp_path, workers=2)

    assert all(isinstance(result, FinishedCell) for result in results)
    assert not seen


# --- engines -----------------------------------------------------------------------------------


def test_dask_and_joblib_leave_the_same_files(tmp_path: Path, scheduler: str) -> None:
    cells = seeds(draw, 6)

    run_sweep(cells, tmp_path / "joblib", workers=2)
    run_sweep(cells, tmp_path / "dask", engine="dask", scheduler=scheduler)

    assert content(tmp_path / "dask") == content(tmp_path / "joblib")
    assert len(content(tmp_path / "dask")) == 12


def test_large_inputs_travel_to_the_cluster(tmp_path: Path, scheduler: str) -> None:
    images = np.zeros((1500, 100, 100), np.uint8)  # beyond the size that Dask warns about

    result = run_sweep(
        [Cell("sum", total, {"images": images})], tmp_path, engine="dask", scheduler=scheduler
    )

    assert done(result[0]).scores == {"total": 0}


def total(images: np.ndarray[Any, Any]) -> CellResult:
    return CellResult({"total": images.sum()})


def test_workers_compute_with_one_thread_and_wait_asleep(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    before = os.environ.get("OMP_WAIT_POLICY")

    result = run_sweep([Cell("a", threads, {"library": "torch"})], tmp_path, workers=1)

    assert done(result[0]).scores == {"threads": 1, "wait": "PASSIVE", "of": "torch"}
    assert os.environ.get("OMP_WAIT_POLICY") == before


def test_cell_computes_with_one_thread_where_nobody_set_it_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    before = torch.get_num_threads()
    torch.set_num_threads(2)

    try:
        outcome = attempt(Cell("a", threads, {"library": "torch"}), "")
    finally:
        torch.set_num_threads(before)

    assert isinstance(outcome, EncodedCell)
    assert json.loads(outcome.record)["scores"]["threads"] == 1


def test_module_that_a_worker_lacks_is_the_reason_of_the_cell(
    tmp_path: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def work(): ...")
    monkeypatch.syspath_prepend(tmp_path)
    cells = [Cell("a", import_module("only_here").work), *seeds(draw, 1)]

    results = run_sweep(cells, tmp_path / "cells", engine="dask", scheduler=scheduler)

    assert failed(results[0]).reason.startswith("ModuleNotFoundError: No module named 'only_here'")
    assert done(results[1])


def test_wrong_address_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"No Dask scheduler answers at 'nowhere:port'"):
        run_sweep(seeds(draw, 1), tmp_path, engine="dask", scheduler="nowhere:port")


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"engine": "dask"}, "needs the address of its scheduler"),
        ({"engine": "dask", "scheduler": "tcp://127.0.0.1:1", "workers": 2}, "decides itself"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "Ask for engine='dask'"),
        ({"workers": 0}, "at least one worker, not 0"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, told: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        run_sweep(seeds(draw, 1), tmp_path, **told)


@pytest.mark.parametrize(
    ("package", "extra", "told"),
    [
        ("joblib", "learn", {}),
        ("distributed", "cluster", {"engine": "dask", "scheduler": "tcp://127.0.0.1:1"}),
    ],
)
def test_missing_package_is_an_error_with_the_install_line(
    tmp_path: Path, package: str, extra: str, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingPackage, match=rf"pip install 'sfumato\[{extra}\]'"):
        run_sweep(seeds(draw, 1), tmp_path, **told)


# --- progress ----------------------------------------------------------------------------------


def test_progress_counts_every_cell_once(tmp_path: Path) -> None:
    run_sweep(seeds(unlucky, 1), tmp_path, workers=1)
    seen: list[Progress] = []

    run_sweep(seeds(unlucky, 5), tmp_path, workers=1, progress=seen.append)

    assert (seen[0].total, seen[0].found, seen[0].done, seen[0].failed) == (5, 1, 1, 0)
    assert [step.done + step.failed for step in seen] == [1, 2, 3, 4, 5]
    assert (seen[-1].done, seen[-1].failed, seen[-1].work) == (2, 3, 5)
    assert all(early.seconds <= late.seconds for early, late in pairwise(seen))


def test_time_left_is_the_pace_of_this_run_times_what_remains() -> None:
    begun = Progress(total=10, found=4, done=4, failed=0, seconds=0.0, work=0.0)

    assert seconds_left(begun) is None
    assert work_per_second(begun) == 0
    assert seconds_left(replace(begun, done=5, failed=1, seconds=6.0)) == 12.0
    assert seconds_left(replace(begun, done=9, failed=1, seconds=6.0)) == 0.0
    assert seconds_left(Progress(3, 3, 3, 0, 0.0, 0.0)) == 0.0


# --- stopped and killed ------------------------------------------------------------------------


def start_sweep(folder: Path) -> "subprocess.Popen[bytes]":
    """Twelve short cells over two workers, in a group of processes of their own."""
    return subprocess.Popen(
        [sys.executable, str(KILL_SWEEP), f"--folder={folder}"],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)


def wait_for_a_finished_cell(folder: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not list(folder.glob("*.json")):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_ctrl_c_keeps_what_is_finished_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    sweep = start_sweep(tmp_path)
    try:
        wait_for_a_finished_cell(tmp_path)
        os.killpg(sweep.pid, signal.SIGINT)  # as a terminal does: to workers, too
        _, said = sweep.communicate(timeout=PATIENCE)
    finally:
        end(sweep)

    finished = len(list(tmp_path.glob("*.json")))
    assert b"KeyboardInterrupt" in said
    assert 0 < finished < 12
    assert finished <= len(list(tmp_path.glob("*.npz"))) <= finished + 1
    assert not list(tmp_path.glob(".*"))


def test_workers_do_not_outlive_a_killed_sweep(tmp_path: Path) -> None:
    sweep = start_sweep(tmp_path)
    try:
        wait_for_a_finished_cell(tmp_path)
        sweep.kill()  # not its workers

        sweep.communicate(timeout=PATIENCE)  # until the last one that holds the pipe has ended
    finally:
        with suppress(ProcessLookupError):
            os.killpg(sweep.pid, signal.SIGKILL)


def test_two_sweeps_on_one_folder_end_with_the_same_results(tmp_path: Path) -> None:
    sweeps = [start_sweep(tmp_path / name) for name in ("both", "both", "alone")]
    try:
        codes = [sweep.wait(timeout=PATIENCE) for sweep in sweeps]
    finally:
        for sweep in sweeps:
            end(sweep)

    assert codes == [0, 0, 0]
    assert content(tmp_path / "both") == content(tmp_path / "alone")
    assert len(content(tmp_path / "both")) == 24


@pytest.mark.check
def test_killed_sweeps_and_killed_workers_end_with_identical_results() -> None:
    command = [sys.executable, str(KILL_SWEEP), "--times=2"]

    said = subprocess.run(command, capture_output=True, text=True, timeout=4 * PATIENCE)

    assert said.stdout.splitlines() == [
        "joblib undisturbed: identical to a plain loop",
        "Dask undisturbed: identical to a plain loop",
        "sweep killed: 2 of 2 identical",
        "Dask worker killed: 2 of 2 identical",
    ], said.stderr
    assert said.returncode == 0
