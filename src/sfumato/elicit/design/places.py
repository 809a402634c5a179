"""Where the parts of a study are in its folder."""

import os
import secrets
from pathlib import Path

from sfumato.elicit.design.study import ElicitStudy, read_study
from sfumato.errors import DataError

SETTINGS = "study.toml"
IMAGES = "images"
KEY = "key"
LOGO = "logo.png"
DATABASE = "study.sqlite"
WITHDRAWN = "withdrawn"
"""Who is to be erased again from a backup that was made before: keyed hashes, one a line."""

KEY_BYTES = 32


def open_study(folder: Path) -> ElicitStudy:
    """The settings of the study in a folder."""
    if not (folder / SETTINGS).is_file():
        raise DataError(f"{folder} holds no study; make one with 'sfumato elicit new'.")
    return read_study(folder / SETTINGS)


def database_url(folder: Path) -> str:
    """The address of the database in the folder."""
    return f"sqlite:///{(folder / DATABASE).absolute()}"


def new_key() -> bytes:
    """A random key."""
    return secrets.token_bytes(KEY_BYTES)


def write_key(folder: Path, key: bytes) -> None:
    """Store the key so that only its owner can read it."""
    # The mode is given when the file is made: a moment later would be too late.
    place = os.open(folder / KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(place, "wb") as file:
        file.write(key)


def note_withdrawn(folder: Path, mark: str) -> None:
    """Add a mark to the list of those who withdrew, and have it on disk."""
    place = os.open(folder / WITHDRAWN, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(place, "a", encoding="ascii") as file:
        file.write(f"{mark}\n")
        file.flush()
        os.fsync(file.fileno())


def read_withdrawn(folder: Path) -> set[str]:
    """The marks of those who withdrew."""
    try:
        return set((folder / WITHDRAWN).read_text(encoding="ascii").split())
    except FileNotFoundError:
        return set()


def read_key(folder: Path) -> bytes:
    """The key of the study in a folder."""
    try:
        key = (folder / KEY).read_bytes()
    except OSError as error:
        raise DataError(f"{folder / KEY} cannot be read: {error.strerror}.") from None
    if len(key) != KEY_BYTES:
        raise DataError(f"{folder / KEY} holds {len(key)} bytes; a key has {KEY_BYTES}.")
    return key
