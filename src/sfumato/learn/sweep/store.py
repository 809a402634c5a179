"""Turn finished cells into files, and files into what a cell found out.

A finished cell is ``<fingerprint>.json``, readable by people, and ``<fingerprint>.npz`` where it
has arrays. Both are written under another name, flushed to the disk and then renamed, arrays
first; the JSON holds the sums of both. So a file is there and whole, or the cell is not done. A
cell that failed leaves ``<fingerprint>.failed.json`` with the reason until it succeeds.
"""

import hashlib
import io
import json
import os
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.learn.sweep.cell import Cell, CellResult, function_name

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
        if _sum(stored) != self.arrays_sum:
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
        "arrays": _sum(arrays) if arrays else "",
    }
    text = json.dumps(content, default=_plain)
    record = {"sum": _sum(text.encode()), **json.loads(text)}
    return EncodedCell(json.dumps(record, indent=1).encode(), arrays)


def read(cell: Cell, fingerprint: str, folder: Path) -> FinishedCell | None:
    """A finished cell, or None where there is none or its files are damaged."""
    try:
        record = json.loads((folder / f"{fingerprint}.json").read_bytes())
        expected = record.pop("sum")
        whole = _sum(json.dumps(record).encode()) == expected
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


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
