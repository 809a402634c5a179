"""Connections and prepared statements on both databases."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from sfumato.elicit.refusals import Unavailable
from sfumato.elicit.storage import schema, sql, store
from sfumato.elicit.storage.database import (
    DATABASE_ERRORS,
    Statement,
    compiler_of,
    open_database,
    prepare,
)
from sfumato.errors import DataError

STATEMENTS = [
    one
    for value in vars(sql).values()
    for one in (value if isinstance(value, tuple) else (value,))
    if isinstance(one, Statement)
]


def test_sqlite_flushes_fully_and_checks_references(tmp_path: Path) -> None:
    with open_database(f"sqlite:///{tmp_path / 'a.sqlite'}").connect() as connection:
        pragmas = {
            name: connection.driver.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }

    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 10_000,
    }


def test_unknown_kind_of_database_is_refused_without_its_password() -> None:
    with pytest.raises(DataError, match="'mysql'") as refused:
        open_database("mysql://root:hunter2@localhost/x")

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["sqlite:////nowhere/at/all.sqlite", "postgresql://nobody@/x?host=/nowhere"]
)
def test_r8_database_that_is_gone_is_unavailable(url: str) -> None:
    with pytest.raises(Unavailable) as refused:
        open_database(url).connect()

    assert refused.value.status == 503


def test_r8_file_that_was_removed_is_neither_written_to_nor_made_anew(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with database.connect() as connection:
        schema.create_all(connection)
        database.path.unlink()

        with pytest.raises(Unavailable, match=r"a\.sqlite was removed or replaced"):
            connection.begin()
    for join in (database.rejoin, database.reader):
        with pytest.raises(Unavailable, match=r"a\.sqlite is not there"):
            join()
    assert not database.path.exists()


def test_r8_commit_into_a_removed_file_is_no_commit(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with database.connect() as connection:
        schema.create_all(connection)
        connection.begin()
        schema.set_meta(connection, "key", "value")
        database.path.unlink()

        with pytest.raises(Unavailable, match="was removed"):
            connection.commit()


def test_r6_what_is_no_database_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    file.write_bytes(b"no database " * 1000)

    with pytest.raises(DataError, match=r"a\.sqlite is damaged, or no SQLite database"):
        open_database(f"sqlite:///{file}").connect()


def test_reader_cannot_write(desk: Any) -> None:
    with desk.database.reader() as reader:
        assert reader.one(prepare(sa.select(store.meta.c.value))) is not None
        with pytest.raises(DATABASE_ERRORS):
            reader.do(prepare(sa.delete(store.meta)))


def test_engine_reads_the_same_rows(desk: Any) -> None:
    with desk.database.engine.connect() as connection:
        count = connection.execute(sa.select(sa.func.count()).select_from(store.stimulus)).scalar()

    assert count == 12


def test_rows_have_named_fields(desk: Any) -> None:
    statement = prepare(sa.select(store.stimulus.c.id, store.stimulus.c.item).order_by("id"))

    assert desk.connection.one(statement).item == "item-main-0"
    assert [row.id for row in desk.connection.all(statement)] == list(range(1, 13))


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_s8_statements_hold_no_values(dialect: Any) -> None:
    assert len(STATEMENTS) > 20
    for statement in STATEMENTS:
        text, fixed = statement.text(dialect)
        assert "%%" not in text
        assert all(isinstance(value, int) for value in fixed.values())
        assert str(statement.statement.compile(dialect=compiler_of(dialect))) == text


@pytest.mark.parametrize("choices", [sql.CHOOSE_MAIN, sql.CHOOSE_OF_STRATUM, sql.CHOOSE_OF_ROLE])
def test_choice_passes_over_rows_that_others_hold(choices: Any) -> None:
    assert choices[0].text("postgresql")[0].endswith("FOR UPDATE OF stimulus SKIP LOCKED")
    assert choices[1].text("postgresql")[0].endswith("FOR UPDATE OF stimulus")


@pytest.mark.parametrize(
    ("choice", "index"),
    [
        (sql.CHOOSE_MAIN[0], "stimulus_choice"),
        (sql.CHOOSE_OF_STRATUM[0], "stimulus_choice_by_stratum"),
    ],
)
def test_choice_on_sqlite_walks_its_index(
    tmp_path: Path, choice: Statement, index: str, study: Any
) -> None:
    from sfumato.elicit.storage import schema

    with open_database(f"sqlite:///{tmp_path / 'a.sqlite'}").connect() as connection:
        schema.create_all(connection)
        text, fixed = choice.text("sqlite")
        plan = connection.driver.execute(
            f"EXPLAIN QUERY PLAN {text}", {**fixed, "participant": 1, "stratum": "cat"}
        ).fetchall()

    steps = [row[3] for row in plan]
    assert any(f"USING INDEX {index}" in step for step in steps), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps
