"""Copy a collection to another database (R7), back it up while it runs and put it back (R6).

A row is compared by a checksum that is the same on SQLite and PostgreSQL; the checksum of a table
is the sum over its rows, so it does not depend on their order. A backup is one SQLite file, also of
a collection on PostgreSQL.
"""

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sfumato.elicit.design.places import DATABASE
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import (
    DATABASE_ERRORS,
    MEMORY,
    Connection,
    Database,
    open_database,
)
from sfumato.elicit.storage.schema import SCHEMA_VERSION, check, create_all, get_meta
from sfumato.errors import DataError

CHUNK = 5_000
"""Rows that are held in memory at a time."""

_MODULUS = 2**256


@dataclass(frozen=True)
class Contents:
    """How much is in a table, and a checksum of it."""

    rows: int
    checksum: str


def copy_collection(source: Database, target: Database) -> dict[str, Contents]:
    """Copy everything as it is at one moment, also while people answer; contents by table.

    The target must not hold a collection. If anything goes wrong, it is left without one.
    """
    with source.reader() as giving, target.connect() as taking:
        _check_source(giving)
        _check_target(taking)
        create_all(taking)
        try:
            with snapshot(giving):
                copied = _copy_rows(giving, taking)
            with snapshot(taking):
                arrived = contents_of(taking)
            for name, contents in copied.items():
                if arrived[name] != contents:
                    raise DataError(
                        f"The table {name!r} was copied wrongly: {contents.rows:,} rows were read "
                        f"and {arrived[name].rows:,} found, or their checksums differ; the copy "
                        "was removed."
                    )
        except DATABASE_ERRORS as error:
            _remove(taking)
            reason = str(error).strip().split("\n")[0].rstrip(".")
            raise DataError(f"The copy failed and was removed: {reason}.") from None
        except BaseException:
            _remove(taking)
            raise
    return copied


def copy_stimuli(source: Database, target: Database) -> None:
    """Copy what can be shown, and nothing of anybody who answered, to a new database."""
    shown = ("meta", "image", "stimulus")
    with source.reader() as giving, target.connect() as taking:
        _check_source(giving)
        create_all(taking)
        taking.begin()
        taking.plain("DELETE FROM meta")
        for name in shown:
            for chunk in _chunks(giving, store.tables.tables[name]):
                _insert(taking, store.tables.tables[name], chunk)
        taking.plain("DELETE FROM meta WHERE key IN ('closed', 'halted', 'message')")
        taking.plain("UPDATE stimulus SET finished = 0, reserved = 0, paused = false")
        taking.commit()


def contents_of(connection: Connection) -> dict[str, Contents]:
    """Rows and checksum of every table; inside a ``snapshot`` all of one moment."""
    return {table.name: _summed(_chunks(connection, table)) for table in store.tables.sorted_tables}


@contextlib.contextmanager
def snapshot(connection: Connection) -> Iterator[None]:
    """Let everything that is read be of one moment, without keeping anybody from writing."""
    begin = "BEGIN" if connection.dialect == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ"
    connection.plain(begin)
    try:
        yield
    finally:
        connection.rollback()


def _check_source(connection: Connection) -> None:
    try:
        version = get_meta(connection, "schema_version")
    except DATABASE_ERRORS:
        version = None
    if version is None:
        raise DataError("The database to copy from holds no collection.")
    if version != str(SCHEMA_VERSION):
        raise DataError(
            f"The database to copy from has schema version {version}, this program {SCHEMA_VERSION}"
            "; serve the study once with this program, which brings it up to date."
        )


def _check_target(connection: Connection) -> None:
    if connection.dialect == "sqlite":
        rows = connection.driver.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    else:
        rows = connection.driver.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
        )
    there = sorted({name for (name,) in rows.fetchall()} & set(store.tables.tables))
    if there:
        raise DataError(
            f"The database to copy to is not empty: it has a table {there[0]!r} already. Name a "
            "new database."
        )


def _copy_rows(giving: Connection, taking: Connection) -> dict[str, Contents]:
    copied = {}
    taking.begin()
    try:
        taking.plain("DELETE FROM meta")  # the version, which comes along with the rows
        for table in store.tables.sorted_tables:
            sums = _Sum()
            for chunk in _chunks(giving, table):
                sums.add(chunk)
                _insert(taking, table, chunk)
            copied[table.name] = sums.contents
            _set_last_id(taking, table, _last_id(giving, table))
    except BaseException:
        taking.rollback()
        raise
    taking.commit()
    return copied


def _chunks(connection: Connection, table: sa.Table) -> Iterator[list[tuple[Any, ...]]]:
    """All rows in pieces, their values as Python has them on either database."""
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    convert = [_conversion(column) for column in table.columns]
    named = {} if connection.dialect == "sqlite" else {"name": f"copy_{table.name}"}
    cursor = connection.driver.cursor(**named)  # one with a name leaves the rows on the server
    try:
        cursor.execute(f'SELECT {names} FROM "{table.name}"')
        while rows := cursor.fetchmany(CHUNK):
            yield [
                tuple(
                    None if value is None else as_python(value)
                    for value, as_python in zip(row, convert, strict=True)
                )
                for row in rows
            ]
    finally:
        cursor.close()


def _conversion(column: sa.Column[Any]) -> type:
    match column.type:
        case sa.Boolean():
            return bool  # SQLite has 0 and 1
        case sa.Double():
            return float
        case sa.Integer():
            return int
        case _:
            return str


class _Sum:
    """The running checksum of a table."""

    def __init__(self) -> None:
        self.rows = 0
        self.total = 0

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        for row in rows:
            digest = hashlib.sha256(json.dumps(row).encode()).digest()
            self.total = (self.total + int.from_bytes(digest)) % _MODULUS
            self.rows += 1

    @property
    def contents(self) -> Contents:
        return Contents(self.rows, f"{self.total:064x}"[:16])


def _summed(chunks: Iterable[list[tuple[Any, ...]]]) -> Contents:
    sums = _Sum()
    for chunk in chunks:
        sums.add(chunk)
    return sums.contents


def _insert(connection: Connection, table: sa.Table, rows: list[tuple[Any, ...]]) -> None:
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    cursor = connection.driver.cursor()
    if connection.dialect == "sqlite":
        places = ", ".join("?" * len(table.columns))
        cursor.executemany(f'INSERT INTO "{table.name}" ({names}) VALUES ({places})', rows)
        return
    with cursor.copy(f'COPY "{table.name}" ({names}) FROM STDIN') as copy:
        for row in rows:
            copy.write_row(row)


def _last_id(connection: Connection, table: sa.Table) -> int:
    """The greatest id that was ever given out, so that none is given twice; 0 for none."""
    column = table.autoincrement_column
    if column is None:
        return 0
    run = connection.driver.execute
    greatest = run(f'SELECT max("{column.name}") FROM "{table.name}"').fetchone()[0] or 0
    if connection.dialect == "sqlite":
        if not table.dialect_options["sqlite"]["autoincrement"]:
            return int(greatest)
        kept = run("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,)).fetchone()
        return max(int(greatest), 0 if kept is None else int(kept[0]))
    sequence = run(_SEQUENCE, (table.name, column.name)).fetchone()[0]
    last, is_called = run(f"SELECT last_value, is_called FROM {sequence}").fetchone()
    return max(int(greatest), int(last) if is_called else 0)


def _set_last_id(connection: Connection, table: sa.Table, last: int) -> None:
    column = table.autoincrement_column
    if column is None or last == 0:
        return
    run = connection.driver.execute
    if connection.dialect == "postgresql":
        run(f"SELECT setval(({_SEQUENCE})::regclass, %s)", (table.name, column.name, last))
    elif table.dialect_options["sqlite"]["autoincrement"]:
        run("DELETE FROM sqlite_sequence WHERE name = ?", (table.name,))
        run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table.name, last))


_SEQUENCE = "SELECT pg_get_serial_sequence(%s, %s)"


def _remove(connection: Connection) -> None:
    with contextlib.suppress(*DATABASE_ERRORS):  # why it failed matters more than what is left
        connection.rollback()
        for table in reversed(store.tables.sorted_tables):
            connection.plain(f'DROP TABLE IF EXISTS "{table.name}"')


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


def restore_backup(path: Path, folder: Path) -> dict[str, Contents]:
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
            check_tables(connection, path.name)
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


def check_tables(connection: Connection, name: str) -> None:
    """Refuse an SQLite database with triggers, views, tables or columns that are not ours.

    What stands in a file of somebody else's making would run with every answer.
    """
    with open_database(f"sqlite:///{MEMORY}").connect() as own:
        create_all(own)
        ours = _schema(own)
    found = _schema(connection)
    for what in found:
        if what not in ours:
            kind, called = what
            raise DataError(f"{name} holds a {kind} {called!r}, which is not of this program.")
    for (kind, called), columns in found.items():
        if ours[kind, called] != columns:
            raise DataError(f"{name} has other columns in the {kind} {called!r} than this program.")


def _schema(connection: Connection) -> dict[tuple[str, str], list[Any]]:
    """What a database is made of: kind and name to its columns."""
    run = connection.driver.execute
    things = run("SELECT type, name FROM sqlite_master WHERE substr(name, 1, 7) <> 'sqlite_'")
    return {
        (kind, name): run("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
        if kind == "table"
        else []
        for kind, name in things.fetchall()
    }


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
