"""Back a collection up while it runs, and put a backup in place again (R6).

A backup is one SQLite file, also of a collection on PostgreSQL.
"""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from sfumato.elicit.design.places import DATABASE
from sfumato.elicit.storage.copy import Contents, contents_of, copy_collection, snapshot
from sfumato.elicit.storage.database import DATABASE_ERRORS, Connection, Database, open_database
from sfumato.elicit.storage.schema import check
from sfumato.errors import DataError


def back_up(database: Database, path: Path) -> dict[str, Contents]:
    """Write a backup of one moment and check it; contents by table.

    The file appears only when it is whole, and only its owner can read it: it holds the ids that
    people have on their platform.
    """
    part = path.with_name(f".{path.name}.part")
    _forget(part)
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        match database.dialect:
            case "sqlite":
                contents = _copy_pages(database, part)
            case "postgresql":
                contents = copy_collection(database, open_database(f"sqlite:///{part}"))
        _drill(part, contents)
        part.replace(path)
    except DATABASE_ERRORS as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise DataError(f"The backup failed and was removed: {reason}.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        _forget(part)
    return contents


def restore(path: Path, folder: Path) -> dict[str, Contents]:
    """Put a backup in the place of a study's database; contents by table.

    A database that is there already is not touched.
    """
    place = folder / DATABASE
    there = [name for name in _files_of(place) if name.exists()]
    if there:
        raise DataError(
            f"{there[0]} is there; stop the server and move {DATABASE}, {DATABASE}-wal and "
            f"{DATABASE}-shm elsewhere first."
        )
    if not path.is_file():
        raise DataError(f"There is no backup {path}.")
    part = place.with_name(f".{DATABASE}.part")
    _forget(part)
    try:
        shutil.copyfile(path, part)
        part.chmod(0o600)
        with open_database(f"sqlite:///{part}").connect() as connection:
            check_integrity(connection, path.name)
            check(connection)
            contents = contents_of(connection)
            _close_log(connection)
        part.replace(place)
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path.name} is not a sound SQLite database: {error}.") from None
    except OSError as error:
        raise DataError(f"{place} cannot be written: {error.strerror or error}.") from None
    finally:
        _forget(part)
    return contents


def check_integrity(connection: Connection, name: str) -> None:
    """Refuse an SQLite database that is damaged; ``name`` is what it is called in the error."""
    _check_pages(connection, name, "PRAGMA integrity_check")
    orphans = connection.driver.execute("PRAGMA foreign_key_check").fetchall()
    if orphans:
        raise DataError(f"{name} is damaged: rows of {orphans[0][0]!r} refer to rows not there.")


def check_pages(connection: Connection, name: str) -> None:
    """The same but faster, for every start: rows are not compared with their indexes (R6)."""
    _check_pages(connection, name, "PRAGMA quick_check")


def _check_pages(connection: Connection, name: str, pragma: str) -> None:
    try:
        problems = [row[0] for row in connection.driver.execute(pragma) if row[0] != "ok"]
    except sqlite3.DatabaseError as error:
        problems = [str(error)]
    if problems:
        raise DataError(f"{name} is damaged: {problems[0].strip().splitlines()[-1]}.")


def _copy_pages(database: Database, part: Path) -> dict[str, Contents]:
    """SQLite's own online backup, inside the transaction in which the rows are counted."""
    with database.reader() as connection, snapshot(connection):
        contents = contents_of(connection)
        with closing(sqlite3.connect(part)) as copy:
            # All pages in one step: in smaller ones every answer would start it again.
            connection.driver.backup(copy, pages=-1)
    return contents


def _drill(part: Path, expected: dict[str, Contents]) -> None:
    """Open the backup as if to restore it."""
    with open_database(f"sqlite:///{part}").connect() as connection:
        check_integrity(connection, "The backup")
        check(connection)
        found = contents_of(connection)
        _close_log(connection)
    for name, contents in expected.items():
        if found[name] != contents:
            raise DataError(
                f"The backup has other rows in {name!r} than the database had; it was not kept."
            )


def _close_log(connection: Connection) -> None:
    """Put everything into the one file."""
    connection.driver.execute("PRAGMA journal_mode = DELETE")


def _files_of(place: Path) -> list[Path]:
    return [place, *(place.with_name(f"{place.name}-{end}") for end in ("wal", "shm", "journal"))]


def _forget(part: Path) -> None:
    for file in _files_of(part):
        file.unlink(missing_ok=True)
