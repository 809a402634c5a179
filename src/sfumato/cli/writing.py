"""Check the files that a command will write, before any work is done."""

from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import DataError


def check_output(
    path: Path | None, endings: Sequence[str], *, what: str, overwrite: bool = False
) -> None:
    """Refuse a name of another ending, a folder that is not there, and a file that is.

    ``what`` begins the sentence: "Scores are".
    """
    if path is None:
        return
    if path.suffix not in endings:
        raise DataError(f"{what} written as {' or '.join(endings)}, not as {path.name!r}.")
    if not path.parent.is_dir():
        raise DataError(f"There is no folder {path.parent} to write {path.name} into.")
    refuse_existing(path, overwrite=overwrite)


def refuse_existing(*paths: Path | None, overwrite: bool) -> None:
    """Refuse to replace any of the files that are there, unless that is wanted."""
    for path in paths:
        if path is not None and path.exists() and not overwrite:
            raise DataError(f"{path} exists already; give another name, or --overwrite.")


def refuse_filled(folder: Path | None, *names: str, overwrite: bool) -> None:
    """Refuse a folder that already holds files of these names, unless that is wanted."""
    if folder is not None:
        refuse_existing(*(folder / name for name in names), overwrite=overwrite)
