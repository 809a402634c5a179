"""Turn a list of cells into their results: on all cores or on a cluster, each computed once.

A sweep may be stopped at any moment, by Ctrl-C or by a power cut, and started again: cells that
are finished stay finished, and the results in the end are the same. Nothing here knows about
training; a cell is any pure function.
"""

import hashlib
import io
import json
import os
import pickle
import struct
import sys
import threading
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, assert_never
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, SfumatoError, missing_package
from sfumato.provenance import fingerprint_file

# Turn a function and its inputs into a cell of a sweep, and a cell into a fingerprint.
#
# The fingerprint is a tree of SHA-256 sums: every value is hashed with the name of its kind, and
# what holds other values is hashed from their sums. It is the same in every process and on every
# machine, in whatever order a dictionary was filled.


SCHEME = "sfumato cell 1"
"""Part of every fingerprint; counted up when values are hashed in another way."""

PLAIN_KINDS = "biufcSUMmV"
"""Kinds of NumPy arrays whose bytes are all there is to them."""

UNSEEN_FIELD = "provenance"
"""The field of a dataclass that tells how a value was made, not what it is."""


@dataclass(frozen=True, eq=False)
class CellResult:
    """What a cell found out.

    Scores come back as JSON gives them: tuples are lists, keys are text. NaN and infinity are kept.
    """

    scores: Mapping[str, Any] = field(default_factory=dict)
    """Numbers, texts, lists and dictionaries of them."""
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    work: float = 0.0
    """How much was done, for the speed that is shown: model-epochs for a training."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One unit of work: a function of a module, called with ``inputs`` by name.

    The function must be pure: whatever it uses is in ``inputs``, random seeds included, and the
    same inputs give the same result. It returns a ``CellResult``.
    """

    name: str
    """What people call it: "lenet, soft, seed 3"."""
    function: Callable[..., CellResult]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    version: str = "1"
    """To be changed together with the function, so that results of the old one are not used."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", dict(self.inputs))
        if "<" in getattr(self.function, "__qualname__", "<"):  # <lambda>, <locals>, partial
            raise DataError(
                f"The cell {self.name!r} calls {self.function!r}, which has no name of its own. "
                "Define it with `def` at the top level of a module, and pass what it needs as "
                "inputs."
            )


def function_name(cell: Cell) -> str:
    """Module and name of the function that a cell calls.

    >>> function_name(Cell("a", fingerprint_file, {}))
    'sfumato.provenance.fingerprint_file'
    """
    return f"{cell.function.__module__}.{cell.function.__qualname__}"


def fingerprint(cell: Cell) -> str:
    """SHA-256 over what decides a cell's result: function, version and inputs; not its name.

    Arrays count with their bytes, type and shape; dataclasses with their fields except
    ``provenance``; files and folders with their content, wherever they are.

    >>> first = Cell("a", fingerprint_file, {"seed": 1, "rate": 0.1})
    >>> fingerprint(first) == fingerprint(Cell("b", fingerprint_file, {"rate": 0.1, "seed": 1}))
    True
    >>> fingerprint(Cell("c", fingerprint_file, {"seed": np.random.default_rng(1)}))
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: The input 'seed' of the cell 'c' holds a Generator, which ...
    """
    parts = [_sum("text", part.encode()) for part in (SCHEME, function_name(cell), cell.version)]
    inputs = {
        _text(name): _value(value, f"input {name!r} of the cell {cell.name!r}")
        for name, value in cell.inputs.items()
    }
    return _sum("cell", *parts, *_in_order(inputs)).hex()


def _value(value: object, where: str) -> bytes:
    match value:
        case None | bool():
            return _sum("constant", str(value).encode())
        case np.generic():  # before float, which np.float64 also is
            return _array(np.asarray(value), where)
        case int():
            return _sum("int", str(int(value)).encode())
        case float():
            return _sum("float", struct.pack("<d", value))
        case str():
            return _text(value)
        case bytes():
            return _sum("bytes", value)
        case np.ndarray():
            return _array(value, where)
        case list() | tuple():
            return _sequence(value, where)
        case Mapping():
            return _mapping(value, where)
        case Path():
            return _path(value, where)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _dataclass(value, where)
    raise _unknown(value, where)


def _text(value: str) -> bytes:
    return _sum("text", value.encode(errors="surrogatepass"))


def _array(value: NDArray[Any], where: str) -> bytes:
    # a masked array or matrix is more than its bytes
    if type(value) not in (np.ndarray, np.memmap) or value.dtype.kind not in PLAIN_KINDS:
        raise _unknown(value, where)
    if value.dtype.hasobject:
        raise _unknown(value, where)
    kind = repr((value.dtype.descr, value.shape)).encode()
    flat = np.ascontiguousarray(value).reshape(-1)
    return _sum("array", _sum("kind", kind), _sum("bytes", flat.view(np.uint8).data))


def _sequence(value: list[Any] | tuple[Any, ...], where: str) -> bytes:
    kind = "list" if isinstance(value, list) else "tuple"
    if all(type(part) is str for part in value):  # ids: fifty thousand of them in a label set
        return _sum(f"{kind} of texts", json.dumps(value).encode())
    return _sum(kind, *(_value(part, f"{where}[{place}]") for place, part in enumerate(value)))


def _mapping(value: Mapping[Any, Any], where: str) -> bytes:
    sums = {_value(key, where): _value(part, f"{where}[{key!r}]") for key, part in value.items()}
    return _sum("mapping", *_in_order(sums))


def _dataclass(value: Any, where: str) -> bytes:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    sums = {
        _text(part.name): _value(getattr(value, part.name), f"{where}.{part.name}")
        for part in fields(value)
        if part.name != UNSEEN_FIELD
    }
    return _sum("dataclass", _text(kind), *_in_order(sums))


def _path(path: Path, where: str) -> bytes:
    if path.is_dir():
        files = {
            _text(file.relative_to(path).as_posix()): _file(file)
            for file in path.rglob("*")
            if file.is_file()
        }
        return _sum("folder", *_in_order(files))
    if not path.is_file():
        raise DataError(
            f"The {where} names {path}, which is neither a file nor a folder. "
            "A cell depends on the content of its files, so they must exist before it runs."
        )
    return _file(path)


def _file(path: Path) -> bytes:
    state = path.stat()
    return _sum("file", _content(path.resolve(), state.st_size, state.st_mtime_ns).encode())


@lru_cache(maxsize=1024)
def _content(path: Path, size: int, changed: int) -> str:
    """All cells of a sweep read the same files: hash them once while they stay the same."""
    return fingerprint_file(path)


def _in_order(sums: Mapping[bytes, bytes]) -> Iterable[bytes]:
    return (key + sums[key] for key in sorted(sums))


def _sum(kind: str, *parts: bytes | memoryview) -> bytes:
    total = hashlib.sha256(f"{kind}\0".encode())
    for part in parts:
        total.update(part)
    return total.digest()


def _unknown(value: object, where: str) -> DataError:
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        kind += f" of {value.dtype}"
    return DataError(
        f"The {where} holds a {kind}, which has no fingerprint. Pass numbers, texts, plain NumPy "
        "arrays, lists, dictionaries, paths or dataclasses of them, and a seed instead of a "
        "random generator."
    )


# Turn finished cells into files, and files into what a cell found out.
#
# A finished cell is ``<fingerprint>.json``, readable by people, and ``<fingerprint>.npz`` where it
# has arrays. Both are written under another name, flushed to the disk and then renamed, arrays
# first; the JSON holds the sums of both. So a file is there and whole, or the cell is not done. A
# cell that failed leaves ``<fingerprint>.failed.json`` with the reason until it succeeds.


UNFINISHED = ".part"
STALE_SECONDS = 3600.0
"""An unfinished file this old belongs to nobody who is still writing."""


@dataclass(frozen=True, eq=False)
class FinishedCell:
    """A finished cell. Arrays stay on the disk until asked for: a sweep's may not fit in memory."""

    cell: Cell
    fingerprint: str
    folder: Path
    scores: dict[str, Any]
    work: float
    arrays_sum: str = field(repr=False)
    """SHA-256 of the file of arrays; empty without arrays."""
    seconds: float = 0.0
    """What it took in this run; nothing where it was found finished."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The cell's arrays by name."""
        if not self.arrays_sum:
            return {}
        path = self.folder / f"{self.fingerprint}.npz"
        try:
            stored = path.read_bytes()
        except FileNotFoundError:
            stored = b""
        if _checksum(stored) != self.arrays_sum:
            raise DataError(
                f"The arrays of the cell {self.cell.name!r} in {path} are no longer the ones it "
                "wrote. Run the sweep again: it redoes this cell."
            )
        with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}


@dataclass(frozen=True, eq=False)
class FailedCell:
    """A cell that could not be done, and why."""

    cell: Cell
    fingerprint: str
    reason: str


@dataclass(frozen=True)
class EncodedCell:
    """The content of the files of a finished cell."""

    record: bytes  # JSON
    arrays: bytes  # npz; empty without arrays
    seconds: float = 0.0  # not in the files, whose bytes are the same whoever writes them


def open_folder(folder: Path) -> None:
    """Make the folder if need be, and clear what a sweep that was killed left half-written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"The folder {folder} for finished cells cannot be made: {error}."
        ) from None
    for path in folder.glob(f".*{UNFINISHED}"):
        try:
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                path.unlink()
        except FileNotFoundError:
            continue  # another sweep was faster


def encode(cell: Cell, fingerprint: str, result: CellResult) -> EncodedCell:
    """The same bytes for the same result, whoever writes them and when."""
    arrays = _npz(result.arrays) if result.arrays else b""
    content = {
        "name": cell.name,
        "function": function_name(cell),
        "version": cell.version,
        "fingerprint": fingerprint,
        "scores": dict(result.scores),
        "work": result.work,
        "arrays": _checksum(arrays) if arrays else "",
    }
    text = json.dumps(content, default=_plain)
    record = {"sum": _checksum(text.encode()), **json.loads(text)}
    return EncodedCell(json.dumps(record, indent=1).encode(), arrays)


def read(cell: Cell, fingerprint: str, folder: Path) -> FinishedCell | None:
    """A finished cell, or None where there is none or its files are damaged."""
    try:
        record = json.loads((folder / f"{fingerprint}.json").read_bytes())
        expected = record.pop("sum")
        whole = _checksum(json.dumps(record).encode()) == expected
        done = FinishedCell(
            cell, fingerprint, folder, record["scores"], record["work"], record["arrays"]
        )
        if not whole or record["fingerprint"] != fingerprint:
            return None
        done.arrays()
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, DataError):
        return None
    return done


def write(encoded: EncodedCell, cell: Cell, fingerprint: str, folder: Path) -> FinishedCell:
    """Put a finished cell on the disk. The record comes last: it says that the cell is done."""
    if encoded.arrays:
        _replace(folder / f"{fingerprint}.npz", encoded.arrays)
    _replace(folder / f"{fingerprint}.json", encoded.record)
    (folder / f"{fingerprint}.failed.json").unlink(missing_ok=True)
    record = json.loads(encoded.record)
    return FinishedCell(
        cell,
        fingerprint,
        folder,
        record["scores"],
        record["work"],
        record["arrays"],
        encoded.seconds,
    )


def write_failure(failed: FailedCell, folder: Path) -> None:
    """Put on the disk why a cell failed."""
    content = {
        "name": failed.cell.name,
        "function": function_name(failed.cell),
        "version": failed.cell.version,
        "fingerprint": failed.fingerprint,
        "reason": failed.reason,
    }
    _replace(folder / f"{failed.fingerprint}.failed.json", json.dumps(content, indent=1).encode())


def _npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """As ``np.savez``, which cannot store an array called "file" and would pickle objects."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")  # dated 1980: bytes do not depend on the clock
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()


def _replace(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}{UNFINISHED}")
    try:
        with unfinished.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise DataError(
        f"A score is a {type(value).__name__}. Scores are numbers, texts, lists and dictionaries; "
        "put arrays into `arrays`."
    )


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# Turn cells into outcomes on the cores of this machine or on a Dask cluster.
#
# Both engines take cells by fingerprint and yield outcomes as they come, in any order: the content
# of a finished cell's files, or the reason why there is none. Workers write nothing; the one who
# asks does, so that a cluster needs no shared disk.


TRIES_TOGETHER = 2
"""How often a cell runs beside others before it runs alone."""

CLUSTER_WAITING = 64
"""At least so many cells are with the scheduler, so that a cluster knows when to grow; not all,
because it holds their inputs in memory."""

CLUSTER_RETRIES = 3
"""How often the cluster tries a cell again that it could not bring to an end."""

CONNECT_SECONDS = 10

WATCH_SECONDS = 1.0


@dataclass(frozen=True)
class Trouble:
    """Why a cell has no result."""

    reason: str


Outcome = EncodedCell | Trouble


def attempt(cell: Cell, fingerprint: str) -> Outcome:
    """Run a cell in a process that computes with one thread; whatever goes wrong is a reason."""
    _use_one_thread()
    started = time.perf_counter()
    try:
        result = cell.function(**cell.inputs)
        if not isinstance(result, CellResult):
            raise DataError(
                f"{function_name(cell)} returned a {type(result).__name__}, not a CellResult."
            )
        seconds = time.perf_counter() - started
        return replace(encode(cell, fingerprint, result), seconds=seconds)
    except (Exception, SystemExit) as error:
        return Trouble(_reason(error))


def on_cores(
    cells: Mapping[str, Cell], workers: int | None, needed: Callable[[str], bool]
) -> Iterator[tuple[str, Outcome]]:
    """One process per core, through joblib; ``needed`` is asked just before a cell begins.

    When a process dies (out of memory, say), nobody knows which of the running cells did it.
    They are set aside and tried again at the end, at last each alone, so that only the guilty
    one fails.
    """
    try:
        import joblib
    except ImportError:
        raise missing_package("Training on several cores", "joblib", "learn") from None
    workers = workers or joblib.cpu_count()
    # Joblib replaces a process that has grown between two cells. Nothing is lost by that, and
    # processes that keep what they free grow on purpose.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
    waiting = dict(cells)
    with _passive_waiting():
        for _ in range(TRIES_TOGETHER):
            suspects: dict[str, Cell] = {}
            while waiting:
                yield from _until_a_process_dies(waiting, suspects, workers, needed)
            waiting = suspects
        for fingerprint, cell in waiting.items():
            try:
                yield from _in_processes({fingerprint: cell}, {}, 1, needed)
            except Exception as error:
                yield fingerprint, Trouble(_reason(error))


def on_cluster(
    cells: Mapping[str, Cell], scheduler: str, needed: Callable[[str], bool]
) -> Iterator[tuple[str, Outcome]]:
    """All workers of the Dask cluster at an address.

    Dask gives the cells of a lost worker to another one; a cell that takes several workers with
    it fails.
    """
    try:
        import cloudpickle
        import dask
        from distributed import as_completed
    except ImportError:
        raise missing_package("Training on a cluster", "dask", "cluster") from None
    names: dict[str, str] = {}  # Dask's key to fingerprint
    refused: dict[str, Outcome] = {}

    def send() -> Iterator[Any]:
        for fingerprint, cell in cells.items():
            if not needed(fingerprint):
                continue
            try:
                # functions of a script or notebook go along; unpacking is part of the attempt,
                # so that a module that the worker lacks is this cell's reason
                packed = cloudpickle.dumps(cell)
            except Exception as error:
                refused[fingerprint] = Trouble(_reason(error))
                continue
            future = client.submit(
                _attempt_packed, packed, fingerprint, pure=False, retries=CLUSTER_RETRIES
            )
            names[future.key] = fingerprint
            yield future

    # images among the inputs are meant: no warning about a large graph
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}),
        _client(scheduler) as client,
    ):
        ahead = max(CLUSTER_WAITING, 2 * sum(client.nthreads().values()))
        sent = send()
        finished = as_completed(islice(sent, ahead), loop=client.loop)
        for future in finished:
            yield names.pop(future.key), _outcome(future)
            finished.update(list(islice(sent, 1)))
    yield from refused.items()


def _until_a_process_dies(
    waiting: dict[str, Cell],
    suspects: dict[str, Cell],
    workers: int,
    needed: Callable[[str], bool],
) -> Iterator[tuple[str, Outcome]]:
    running: dict[str, Cell] = {}
    try:
        yield from _in_processes(waiting, running, workers, needed)
    except Exception:  # of the processes: what goes wrong in a cell is an outcome
        if not running:  # they cannot even be started
            raise
        suspects.update(running)


def _in_processes(
    waiting: dict[str, Cell],
    running: dict[str, Cell],
    workers: int,
    needed: Callable[[str], bool],
) -> Iterator[tuple[str, Outcome]]:
    """Moves cells from ``waiting`` to ``running``, and from there to the caller when they end."""
    from joblib import Parallel, delayed, parallel_config

    def send() -> Iterator[Any]:
        while waiting:
            fingerprint = next(iter(waiting))
            cell = waiting.pop(fingerprint)
            if not needed(fingerprint):
                continue
            running[fingerprint] = cell
            yield delayed(_attempt_for)(cell, fingerprint)

    # From its very start: a process that has no cell yet when the sweep is killed would linger.
    watch = {"initializer": _watch, "initargs": (os.getpid(),)}
    with parallel_config("loky", inner_max_num_threads=1, **watch):
        parallel = Parallel(
            n_jobs=max(workers, 2),  # with one job, joblib would run it in this very process
            pre_dispatch=workers,  # as many cells at a time as workers
            batch_size=1,
            return_as="generator_unordered",
            max_nbytes=None,  # no memory maps, which a killed sweep would leave behind
        )
        outcomes = parallel(send())
        try:
            for fingerprint, outcome in outcomes:
                del running[fingerprint]
                yield fingerprint, outcome
        finally:
            outcomes.close()


def _attempt_for(cell: Cell, fingerprint: str) -> tuple[str, Outcome]:
    return fingerprint, attempt(cell, fingerprint)


def _watch(sweep: int) -> None:
    threading.Thread(target=_end_with, args=(sweep,), daemon=True).start()


def _end_with(sweep: int) -> None:
    """Joblib's processes outlive a sweep that was killed, by minutes; ours do not."""
    while os.getppid() == sweep:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def _attempt_packed(packed: bytes, fingerprint: str) -> Outcome:
    try:
        cell = pickle.loads(packed)
    except Exception as error:
        return Trouble(_reason(error))
    return attempt(cell, fingerprint)


def _outcome(future: Any) -> Outcome:
    try:
        return future.result()
    except Exception as error:
        return Trouble(_reason(error))


def _client(scheduler: str) -> Any:
    from distributed import Client

    try:
        return Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise DataError(
            f"No Dask scheduler answers at {scheduler!r} ({error}). Start one with "
            "`dask scheduler` and give the address that it prints, as tcp://host:port."
        ) from None


@contextmanager
def _passive_waiting() -> Iterator[None]:
    """Processes started here sleep while they wait; libraries read this when they are loaded."""
    before = os.environ.get("OMP_WAIT_POLICY")
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_WAIT_POLICY"]
        else:
            os.environ["OMP_WAIT_POLICY"] = before


def _use_one_thread() -> None:
    """One process per core is faster than threads, and sums do not depend on how many there are."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for a torch that the cell itself loads
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def _reason(error: BaseException) -> str:
    if isinstance(error, SfumatoError):
        return str(error)
    reason = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return reason
    last = frames[-1]
    return f"{reason} ({last.filename}, line {last.lineno}, in {last.name}: {last.line})"


Engine = Literal["local", "dask"]


@dataclass(frozen=True)
class Progress:
    """How far a sweep is. Cells with equal fingerprints are one cell here."""

    total: int
    found: int
    """Cells that were finished before this run began."""
    done: int
    """Cells that are finished, the found ones included."""
    failed: int
    seconds: float
    """Since this run began."""
    work: float
    """What the cells of this run say they did: model-epochs for trainings."""
    cell_seconds: float = 0.0
    """What they took, one after the other."""


def seconds_left(progress: Progress) -> float | None:
    """Seconds until all cells are done at the pace so far; None before the first is.

    Cells found finished took no time and say nothing about the pace.

    >>> seconds_left(Progress(total=12, found=2, done=6, failed=1, seconds=20.0, work=0.0))
    20.0
    """
    tried = progress.done - progress.found + progress.failed
    remaining = progress.total - progress.done - progress.failed
    if not remaining:
        return 0.0
    return progress.seconds / tried * remaining if tried else None


def work_per_second(progress: Progress) -> float:
    """Units of work a second, all workers together.

    >>> work_per_second(Progress(total=9, found=0, done=3, failed=0, seconds=20.0, work=180.0))
    9.0
    """
    return progress.work / progress.seconds if progress.seconds else 0.0


def run_sweep(
    cells: Sequence[Cell],
    folder: Path,
    *,
    engine: Engine = "local",
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    earlier: Sequence[Path] = (),
) -> list[FinishedCell | FailedCell]:
    """What each cell found out, in the order of the cells; ``folder`` keeps what is finished.

    "local" runs on the cores of this machine (``workers`` of them, left out all), "dask" on the
    cluster whose ``scheduler`` has the given address. Cells with equal fingerprints are computed
    once. A cell that raises an error is a ``FailedCell`` with its reason, the others go on, and the
    next run tries it again. ``progress`` is called at the start and after every cell. Finished
    cells are also found in ``earlier`` folders, to which nothing is written. Several sweeps may
    share a folder: a cell that another has finished meanwhile is not begun.
    """
    _check_engine(engine, scheduler, workers)
    prints = [fingerprint(cell) for cell in cells]
    distinct = dict(zip(prints, cells, strict=True))
    open_folder(folder)
    results: dict[str, FinishedCell | FailedCell] = {}
    for each, cell in distinct.items():
        for place in (folder, *earlier):
            if done := read(cell, each, place):
                results[each] = done
                break
    waiting = {each: cell for each, cell in distinct.items() if each not in results}
    state = Progress(len(distinct), len(results), len(results), 0, 0.0, 0.0)
    progress(state)
    start = time.monotonic()
    meanwhile: dict[str, FinishedCell] = {}  # filled by threads of joblib

    def needed(each: str) -> bool:
        if done := read(distinct[each], each, folder):
            meanwhile[each] = done
        return each not in meanwhile

    with closing(_outcomes(waiting, engine, scheduler, workers, needed)) as outcomes:
        for each, outcome in outcomes:
            results[each] = _keep(outcome, waiting[each], each, folder)
            state = _after(state, results[each], time.monotonic() - start)
            progress(_with_found(state, len(meanwhile)))
    if meanwhile:
        progress(_with_found(state, len(meanwhile)))
        results |= meanwhile
    return [_named(results[each], cell) for each, cell in zip(prints, cells, strict=True)]


def _outcomes(
    waiting: Mapping[str, Cell],
    engine: Engine,
    scheduler: str | None,
    workers: int | None,
    needed: Callable[[str], bool],
) -> Generator[tuple[str, Outcome], None, None]:
    if not waiting:
        return
    match engine:
        case "local":
            yield from on_cores(waiting, workers, needed)
        case "dask":
            assert scheduler is not None
            yield from on_cluster(waiting, scheduler, needed)
        case _:
            assert_never(engine)


def _keep(outcome: Outcome, cell: Cell, each: str, folder: Path) -> FinishedCell | FailedCell:
    if not isinstance(outcome, Trouble):
        return write(outcome, cell, each, folder)
    failed = FailedCell(cell, each, outcome.reason)
    write_failure(failed, folder)
    return failed


def _after(state: Progress, result: FinishedCell | FailedCell, seconds: float) -> Progress:
    if isinstance(result, FailedCell):
        return replace(state, failed=state.failed + 1, seconds=seconds)
    return replace(
        state,
        done=state.done + 1,
        seconds=seconds,
        work=state.work + result.work,
        cell_seconds=state.cell_seconds + result.seconds,
    )


def _with_found(state: Progress, more: int) -> Progress:
    return replace(state, found=state.found + more, done=state.done + more)


def _named(result: FinishedCell | FailedCell, cell: Cell) -> FinishedCell | FailedCell:
    """The result under the name that this cell has in the list."""
    return replace(result, cell=cell)


def _check_engine(engine: Engine, scheduler: str | None, workers: int | None) -> None:
    match engine:
        case "local":
            if scheduler is not None:
                raise DataError(
                    f"A scheduler ({scheduler!r}) was given to a sweep on this machine. "
                    "Ask for engine='dask', or leave it out."
                )
            if workers is not None and workers < 1:
                raise DataError(f"A sweep needs at least one worker, not {workers}.")
        case "dask":
            if scheduler is None:
                raise DataError(
                    "A sweep on a Dask cluster needs the address of its scheduler, "
                    "such as tcp://127.0.0.1:8786."
                )
            if workers is not None:
                raise DataError("A Dask cluster decides itself how many workers it has.")
        case _:
            assert_never(engine)
