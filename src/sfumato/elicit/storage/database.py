"""Open the database of a collection, and run prepared statements on it without detours.

Statements are written once in SQLAlchemy Core and compiled once for each dialect into SQL
text with named parameters. The hot path hands that text to the driver's own cursor, which costs
a fifth of what Core's execution does.
"""

import os
import sqlite3
from collections import namedtuple
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, assert_never

import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from sfumato.elicit.refusals import Unavailable
from sfumato.errors import DataError

Dialect = Literal["sqlite", "postgresql"]

BUSY_SECONDS = 10
"""How long SQLite waits for a lock that another process holds."""

PATIENCE: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""How soon a PostgreSQL server that went away without a word is noticed."""

MEMORY = ":memory:"
"""What SQLite calls a database without a file."""

DATABASE_ERRORS = (sqlite3.DatabaseError, psycopg.Error)


@dataclass(frozen=True, eq=False)
class Statement:
    """A Core statement and its text on each dialect."""

    statement: sa.sql.ClauseElement
    _texts: dict[Dialect, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    _row: list[Any] = field(default_factory=list)

    def text(self, dialect: Dialect) -> tuple[str, dict[str, Any]]:
        """The SQL, and the values of the parameters that are always the same."""
        if dialect not in self._texts:
            compiled = self.statement.compile(dialect=compiler_of(dialect))
            fixed = {name: value for name, value in compiled.params.items() if value is not None}
            self._texts[dialect] = (str(compiled), fixed)
        return self._texts[dialect]

    def row(self, description: Any) -> Any:
        """Make a row with named fields from a tuple."""
        if not self._row:
            names = [column[0] for column in description]
            made: Any = namedtuple("Row", names)  # type: ignore[misc]  # names known only here
            self._row.append(made._make)
        return self._row[0]


def prepare(statement: sa.sql.ClauseElement) -> Statement:
    """A statement to be run with ``Connection``; parameters are ``sqlalchemy.bindparam``."""
    return Statement(statement)


class Connection:
    """One connection of the driver, for one thread at a time; transactions are begun by hand."""

    def __init__(self, driver: Any, dialect: Dialect, file: Path | None = None) -> None:
        self.driver = driver
        self.dialect: Dialect = dialect
        self._cursor = driver.cursor()
        self._file = file
        self._identity = _identity(file)

    def all(self, prepared: Statement, **values: Any) -> list[Any]:
        """All rows, with named fields."""
        text, fixed = prepared.text(self.dialect)
        cursor = self._cursor
        cursor.execute(text, {**fixed, **values} if fixed else values)
        found = cursor.fetchall()
        if not found:
            return found
        make = prepared.row(cursor.description)
        return [make(row) for row in found]

    def one(self, prepared: Statement, **values: Any) -> Any:
        """The first row, or None."""
        # All of them: an unfinished statement of SQLite would keep its lock.
        found = self.all(prepared, **values)
        return found[0] if found else None

    def do(self, prepared: Statement, **values: Any) -> None:
        """Run a statement that gives no rows."""
        text, fixed = prepared.text(self.dialect)
        self._cursor.execute(text, {**fixed, **values} if fixed else values)

    def many(self, prepared: Statement, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a statement once for each row of values."""
        text, fixed = prepared.text(self.dialect)
        self._cursor.executemany(text, ({**fixed, **row} for row in rows))

    def plain(self, sql: str) -> None:
        """Run a fixed text without values: BEGIN, COMMIT, SAVEPOINT."""
        self._cursor.execute(sql)

    def begin(self) -> None:
        """Begin a transaction; on SQLite the one that may write."""
        self._check_in_place()
        self.plain("BEGIN IMMEDIATE" if self.dialect == "sqlite" else "BEGIN")

    def commit(self) -> None:
        """Commit; on return the changes are on disk, in the file that is in its place."""
        self.plain("COMMIT")
        self._check_in_place()

    def rollback(self) -> None:
        """Undo the transaction, where there is one."""
        if self.in_transaction:
            self.plain("ROLLBACK")

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is under way."""
        if self.dialect == "sqlite":
            return bool(self.driver.in_transaction)
        idle = psycopg.pq.TransactionStatus.IDLE
        return bool(self.driver.info.transaction_status != idle)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.driver.close()

    def _check_in_place(self) -> None:
        """Refuse a file that was removed or replaced: it can be written to, but is lost (R8)."""
        if self._identity is not None and _identity(self._file) != self._identity:
            raise Unavailable(f"{self._file} was removed or replaced while it was in use.")


@dataclass(frozen=True)
class Database:
    """Where a collection is stored; every thread takes connections of its own."""

    url: str
    dialect: Dialect

    def connect(self) -> Connection:
        """A connection that may write; an SQLite file that is not there is made."""
        match self.dialect:
            case "sqlite":
                return Connection(_open_sqlite(self.path), "sqlite", self.path)
            case "postgresql":
                try:
                    driver = psycopg.connect(self.url, autocommit=True, **PATIENCE)
                except psycopg.OperationalError as error:
                    raise Unavailable(f"The database cannot be reached: {_line(error)}.") from None
                return Connection(driver, "postgresql")
            case _:
                assert_never(self.dialect)

    def rejoin(self) -> Connection:
        """The same for a database that must be there: a file that was removed is not made anew."""
        if self.dialect == "sqlite" and str(self.path) != MEMORY and not self.path.exists():
            raise Unavailable(f"{self.path} is not there.")
        return self.connect()

    def reader(self) -> Connection:
        """A connection that cannot write, for reports beside the running collection."""
        connection = self.rejoin()
        if self.dialect == "sqlite":
            connection.plain("PRAGMA query_only = ON")
        else:
            connection.driver.read_only = True
            connection.plain("SET default_transaction_read_only = on")
        return connection

    @property
    def path(self) -> Path:
        """The file of an SQLite database."""
        assert self.dialect == "sqlite"
        return Path(self.url.removeprefix("sqlite:///"))

    @cached_property
    def engine(self) -> sa.Engine:
        """SQLAlchemy's engine, for reads in Core that are not in a hurry."""
        match self.dialect:
            case "sqlite":
                return sa.create_engine(
                    "sqlite://", creator=lambda: _open_sqlite(self.path), poolclass=sa.NullPool
                )
            case "postgresql":
                url = sa.make_url(self.url).set(drivername="postgresql+psycopg")
                return sa.create_engine(url, poolclass=sa.NullPool)
            case _:
                assert_never(self.dialect)


def open_database(url: str) -> Database:
    """The database at ``sqlite:///FILE`` or ``postgresql://…``; connecting is the first test of it.

    >>> open_database("sqlite:////tmp/digits.sqlite").dialect
    'sqlite'
    >>> open_database("mysql://localhost/digits")
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: A database is sqlite:///FILE or postgresql://USER@HOST/NAME, not ...
    """
    if url.startswith("sqlite:///"):
        return Database(url, "sqlite")
    if url.startswith(("postgresql://", "postgres://")):
        return Database(url, "postgresql")
    # The address may hold a password: only its scheme is repeated.
    scheme = url.split(":")[0]
    raise DataError(
        f"A database is sqlite:///FILE or postgresql://USER@HOST/NAME, not {scheme!r}:…"
    )


def _open_sqlite(path: Path) -> sqlite3.Connection:
    try:
        if str(path) != MEMORY and not path.exists():  # SQLite gives its log the same mode
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        reason = error.strerror
        raise Unavailable(f"The database {path} cannot be opened: {reason}.") from None
    try:
        driver = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        driver.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        raise Unavailable(f"The database {path} cannot be opened: {_line(error)}.") from None
    except sqlite3.DatabaseError as error:
        raise DataError(
            f"{path} is damaged, or no SQLite database ({_line(error)}); put a backup in its "
            "place with 'sfumato elicit restore'."
        ) from None
    driver.execute("PRAGMA synchronous = FULL")  # NORMAL may lose the last commits at power loss
    driver.execute("PRAGMA foreign_keys = ON")
    driver.execute("PRAGMA trusted_schema = OFF")
    driver.execute("PRAGMA secure_delete = ON")  # what a person withdraws is overwritten (S14)
    driver.execute("PRAGMA cache_size = -32000")
    # What a command may have to take back outgrows the memory that SQLite allows it by itself.
    driver.execute("PRAGMA temp_store = MEMORY")
    # A busy group touches hundreds of pages, many of them again in the next: copy them back seldom.
    driver.execute("PRAGMA wal_autocheckpoint = 8000")
    return driver


def compiler_of(dialect: Dialect) -> sa.Dialect:
    """SQLAlchemy's dialect with the named parameters that the driver takes."""
    match dialect:
        case "sqlite":
            return sqlite.dialect(paramstyle="named")
        case "postgresql":
            return postgresql.psycopg.dialect()  # type: ignore[no-untyped-call]
        case _:
            assert_never(dialect)


def _identity(file: Path | None) -> tuple[int, int] | None:
    """Which file is at a path; None where there is none."""
    try:
        found = os.stat(file) if file is not None else None  # noqa: PTH116  # twice a transaction
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)


def _line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")
