"""Read NumPy files, and turn class numbers into choose-one answers."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError

__all__ = ["chosen_answers", "load_array", "load_arrays"]


def load_array(path: Path, *, dimensions: int) -> NDArray[Any]:
    """The array in a ``.npy`` file; pickled objects are refused, they could run code."""
    array = _load(path)
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path.name} holds several arrays; expected one (.npy).")
    if array.ndim != dimensions or array.dtype.kind not in "biuf":
        raise DataError(
            f"{path.name} holds an array of {array.dtype} of shape {array.shape}; "
            f"expected numbers in {dimensions} dimension{'s' if dimensions > 1 else ''}."
        )
    return array


def load_arrays(path: Path, *, needed: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a ``.npz`` file by name."""
    stored = _load(path)
    if isinstance(stored, np.ndarray):
        raise DataError(f"{path.name} holds one array; expected {', '.join(needed)} (.npz).")
    missing = [name for name in needed if name not in stored]
    if missing:
        raise DataError(
            f"{path.name} has no array {missing[0]!r}. Its arrays are {', '.join(stored)}."
        )
    return {name: stored[name] for name in needed}


def chosen_answers(classes: Sequence[str], chosen: NDArray[np.integer[Any]]) -> pl.Series:
    """The choose-one answers that pick ``classes[k]`` for each ``k`` in ``chosen``."""
    texts = pl.Series([json.dumps(name, ensure_ascii=False) for name in classes], dtype=pl.String)
    return texts.gather(chosen)


def _load(path: Path) -> Any:
    try:
        stored = np.load(path, allow_pickle=False)
        return stored if isinstance(stored, np.ndarray) else dict(stored)
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path.name} is not a NumPy file of numbers: {error}.") from None
