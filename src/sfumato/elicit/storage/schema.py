"""Make the tables of a collection, bring them up to date, and fill in what can be shown."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.schema import CreateIndex, CreateTable

from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.storage.database import DATABASE_ERRORS, Connection, compiler_of, prepare
from sfumato.elicit.storage.store import (
    answer,
    image,
    meta,
    stimulus,
    tables,
)
from sfumato.errors import DataError

Role = Literal["main", "check", "practice"]


def _index_audit(connection: Connection) -> None:
    connection.plain("CREATE INDEX audit_who ON audit (who, what)")


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_index_audit,)
"""The step from version n to n + 1 stands at place n - 1; the first database was of version 1."""
SCHEMA_VERSION = len(MIGRATIONS) + 1

FIXED = ("name", "form", "classes", "options", "per_item")
"""Settings of a study that its stimuli, its tokens or its stored answers depend on."""
ASKED = ("whose", "wording", "prompts", "version")
"""What people read when they answered: fixed from the first answer on."""


@dataclass(frozen=True)
class Picture:
    """An image file under its opaque name."""

    id: str
    file: str
    width: int
    height: int
    sha256: str


@dataclass(frozen=True)
class Stimulus:
    """What is shown in one trial."""

    key: str
    item: str
    images: tuple[str, ...]
    """Ids of pictures: one, two for pairs, three for triplets (the one compared first)."""
    target: int
    shown: Mapping[str, Any] = field(default_factory=dict)
    stratum: str | None = None
    batch: str | None = None
    role: Role = "main"
    gold: str | None = None
    secret: Mapping[str, Any] | None = None


SET_META = {
    dialect: prepare(
        insert(meta)
        .values(key=sa.bindparam("key"), value=sa.bindparam("value"))
        .on_conflict_do_update(index_elements=["key"], set_={"value": sa.bindparam("value")})
    )
    for dialect, insert in (("sqlite", sqlite_insert), ("postgresql", postgresql_insert))
}
GET_META = prepare(sa.select(meta.c.value).where(meta.c.key == sa.bindparam("key")))
_ANSWERS = prepare(sa.select(sa.func.count().label("answers")).select_from(answer))
_STIMULUS_COLUMNS = [
    column.name
    for column in stimulus.columns
    if column.name not in ("id", "finished", "reserved", "paused")
]


def get_meta(connection: Connection, key: str) -> str | None:
    """What is stored under a key of the table meta, or None."""
    row = connection.one(GET_META, key=key)
    return None if row is None else row.value


def set_meta(connection: Connection, key: str, value: str) -> None:
    """Store a text under a key of the table meta."""
    connection.do(SET_META[connection.dialect], key=key, value=value)


def create_all(connection: Connection) -> None:
    """Make all tables and indexes, and note the version of the schema."""
    compiler = compiler_of(connection.dialect)
    connection.begin()
    for table in tables.sorted_tables:
        connection.plain(str(CreateTable(table).compile(dialect=compiler)))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            connection.plain(str(CreateIndex(index).compile(dialect=compiler)))
    set_meta(connection, "schema_version", str(SCHEMA_VERSION))
    connection.commit()


def check(
    connection: Connection,
    *,
    migrations: Sequence[Callable[[Connection], None]] = MIGRATIONS,
) -> None:
    """Bring an older schema up to date; refuse one that is newer than this program (R6)."""
    newest = len(migrations) + 1
    try:
        stored = get_meta(connection, "schema_version")
    except DATABASE_ERRORS:
        stored = None
    if stored is None or not stored.isdecimal():
        raise DataError("The database holds no collection; make one with 'sfumato elicit new'.")
    if int(stored) > newest:
        raise DataError(
            f"The database has schema version {stored}, but this program knows only up to "
            f"{newest}; update Sfumato."
        )
    for version in range(int(stored), newest):
        connection.begin()
        try:
            migrations[version - 1](connection)
            set_meta(connection, "schema_version", str(version + 1))
        except BaseException:
            connection.rollback()
            raise
        connection.commit()


def take_study(connection: Connection, study: ElicitStudy) -> None:
    """Check the settings that are to be served, and keep them as those that people will answer."""
    check_study(connection, study)
    if connection.one(_ANSWERS).answers == 0:
        connection.begin()
        set_meta(connection, "study", study.model_dump_json())
        connection.commit()


def check_study(connection: Connection, study: ElicitStudy) -> None:
    """Refuse settings that the database was not filled with, or a question that was answered in
    other words; other texts, layout and pay may change.
    """
    stored = json.loads(get_meta(connection, "study") or "{}")
    given = study.model_dump(mode="json")
    for name in FIXED:
        if name in stored and given[name] != stored[name]:
            raise DataError(
                f"study.toml gives {name} as {_short(given[name])}, but the database was filled "
                f"for {_short(stored[name])}; change it back, or make another study."
            )

    answers: int = connection.one(_ANSWERS).answers
    for name in ASKED if answers else ():
        if name in stored and given[name] != stored[name]:
            count = "1 answer was" if answers == 1 else f"{answers:,} answers were"
            raise DataError(
                f"study.toml gives {name} as {_short(given[name])}, but {count} given to "
                f"{_short(stored[name])}; change it back, or make another study."
            )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}…"


def fill(
    connection: Connection,
    study: ElicitStudy,
    images: Iterable[Picture],
    stimuli: Sequence[Stimulus],
    *,
    now: float,
    rng: np.random.Generator,
) -> None:
    """Store what can be shown, in one transaction."""
    connection.begin()
    try:
        picture_columns = [column.name for column in image.columns]
        _insert_rows(connection, image, picture_columns, map(_picture_row, images))
        lots = rng.random(len(stimuli)).tolist()
        rows = (_stimulus_row(one, lot) for one, lot in zip(stimuli, lots, strict=True))
        _insert_rows(connection, stimulus, _STIMULUS_COLUMNS, rows)
        strata = sorted({one.stratum for one in stimuli if one.role == "main" and one.stratum})
        set_meta(connection, "strata", json.dumps(strata))
        set_meta(connection, "study", study.model_dump_json())
        set_meta(connection, "created", repr(now))
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _picture_row(picture: Picture) -> tuple[Any, ...]:
    return (picture.id, picture.file, picture.width, picture.height, picture.sha256)


def _stimulus_row(one: Stimulus, lot: float) -> tuple[Any, ...]:
    return (
        one.key,
        one.item,
        json.dumps(one.images),
        json.dumps(dict(one.shown), ensure_ascii=False),
        one.stratum,
        one.batch,
        one.role,
        one.gold,
        None if one.secret is None else json.dumps(dict(one.secret), ensure_ascii=False),
        one.target,
        lot,
    )


def _insert_rows(
    connection: Connection, table: sa.Table, columns: Sequence[str], rows: Iterator[tuple[Any, ...]]
) -> None:
    """Insert tuples as fast as the driver can; the names come from the tables above."""
    names = ", ".join(f'"{name}"' for name in columns)
    cursor = connection.driver.cursor()
    if connection.dialect == "sqlite":
        places = ", ".join("?" * len(columns))
        cursor.executemany(f'INSERT INTO "{table.name}" ({names}) VALUES ({places})', rows)
        return
    with cursor.copy(f'COPY "{table.name}" ({names}) FROM STDIN') as copy:
        for row in rows:
            copy.write_row(row)
