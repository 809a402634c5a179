"""Turn a function and its inputs into a cell of a sweep, and a cell into a fingerprint.

The fingerprint is a tree of SHA-256 sums: every value is hashed with the name of its kind, and
what holds other values is hashed from their sums. It is the same in every process and on every
machine, in whatever order a dictionary was filled.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.provenance import fingerprint_file

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
