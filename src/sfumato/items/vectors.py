"""Keep vectors that took long to compute in the user's cache folder, by fingerprint."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def cache_folder() -> Path:
    """Where the user's system keeps what can be computed or fetched again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".cache"


def kept_vectors(
    fingerprint: str, compute: Callable[[], NDArray[Any]], rows: int
) -> NDArray[np.float32]:
    """The vectors of that fingerprint, computed only where the cache folder does not hold them.

    What cannot be written is computed again next time; a damaged file is replaced.
    """
    path = cache_folder() / "sfumato" / "vectors" / f"{fingerprint}.npy"
    with suppress(OSError, ValueError, EOFError):
        stored = np.load(path, allow_pickle=False)
        if stored.ndim == 2 and len(stored) == rows and stored.dtype == np.float32:
            return stored
    vectors = np.ascontiguousarray(compute(), dtype=np.float32)
    part = path.with_name(f".{fingerprint}.{os.getpid()}.npy")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(part, vectors)
        part.replace(path)
    return vectors
