"""The tables: made on both databases, checked at start, filled fast."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa

from sfumato.elicit.storage import backup, schema, store
from sfumato.elicit.storage.database import DATABASE_ERRORS, Connection, open_database
from sfumato.elicit.storage.schema import Picture, Stimulus
from sfumato.errors import DataError


def test_all_tables_are_made(database_url: str) -> None:
    database = open_database(database_url)
    with database.connect() as connection:
        schema.create_all(connection)
        schema.check(connection)

    found = set(sa.inspect(database.engine).get_table_names())

    assert found >= set(store.tables.tables)


def test_r6_newer_schema_is_refused_with_one_sentence(desk: Any) -> None:
    schema.set_meta(desk.connection, "schema_version", "99")

    with pytest.raises(DataError, match=r"schema version 99, .* up to 2; update Sfumato\."):
        schema.check(desk.connection)


def test_database_without_a_collection_is_refused(database_url: str) -> None:
    with (
        open_database(database_url).connect() as connection,
        pytest.raises(DataError, match="holds no collection"),
    ):
        schema.check(connection)


def test_older_schema_is_brought_up_to_date_step_by_step(desk: Any) -> None:
    steps: list[int] = []

    def step(number: int) -> Callable[[Connection], None]:
        return lambda connection: steps.append(number)

    schema.set_meta(desk.connection, "schema_version", "1")
    schema.check(desk.connection, migrations=[step(1), step(2)])
    schema.check(desk.connection, migrations=[step(1), step(2)])

    assert steps == [1, 2]
    assert schema.get_meta(desk.connection, "schema_version") == "3"


def test_failing_migration_leaves_the_old_schema(desk: Any) -> None:
    def fails(connection: Connection) -> None:
        schema.set_meta(connection, "half", "done")
        raise DataError("broken")

    schema.set_meta(desk.connection, "schema_version", "1")
    with pytest.raises(DataError, match="broken"):
        schema.check(desk.connection, migrations=[fails])

    assert schema.get_meta(desk.connection, "schema_version") == "1"
    assert schema.get_meta(desk.connection, "half") is None


def test_sixty_thousand_stimuli_are_filled_in_two_seconds(database_url: str, study: Any) -> None:
    stimuli = [
        Stimulus(f"k{number}", f"i{number}", (f"p{number}",), 6, stratum=str(number % 10))
        for number in range(60_000)
    ]
    pictures = [Picture("p", "p.png", 160, 160, "0" * 64)]
    with open_database(database_url).connect() as connection:
        schema.create_all(connection)
        begin = time.process_time()
        schema.fill(connection, study, pictures, stimuli, now=1.0, rng=np.random.default_rng(0))
        seconds = time.process_time() - begin  # of this process: the machine may be shared
        cursor = connection.driver.cursor()
        cursor.execute("SELECT count(*), min(lot), max(lot) FROM stimulus")
        count, low, high = cursor.fetchone()

    assert count == 60_000
    assert 0 <= low < 0.01 < 0.99 < high < 1
    assert seconds < 2


def test_fill_is_all_or_nothing(database_url: str, study: Any) -> None:
    twice = [Stimulus("same", "i", ("p",), 6)] * 2
    with open_database(database_url).connect() as connection:
        schema.create_all(connection)
        with pytest.raises(DATABASE_ERRORS):
            schema.fill(connection, study, [], twice, now=1.0, rng=np.random.default_rng(0))
        cursor = connection.driver.cursor()
        cursor.execute("SELECT count(*) FROM stimulus")

        assert cursor.fetchone() == (0,)
        assert schema.get_meta(connection, "study") is None


def test_study_and_strata_are_noted(desk: Any) -> None:
    stored = json.loads(schema.get_meta(desk.connection, "study") or "")

    assert stored["name"] == "animals"
    assert json.loads(schema.get_meta(desk.connection, "strata") or "") == [
        "cat",
        "deer",
        "dog",
        "horse",
    ]


def test_one_trial_has_one_answer_even_behind_the_commands_back(desk: Any) -> None:
    token = desk.enter()
    desk.answer(token, desk.screen(token).trial.id)

    cursor = desk.connection.driver.cursor()
    with pytest.raises(DATABASE_ERRORS) as refused:
        cursor.execute(
            "INSERT INTO answer SELECT trial, answer, mode, faults, key, received, seconds, "
            "input_seconds, late, changed FROM answer"
        )

    assert "unique" in str(refused.value).lower()
    assert not isinstance(refused.value, psycopg.OperationalError)


FIRST = Path(__file__).with_name("study-0.1.sql")
"""A study with the answers of three people, made by version 0.1 before there was any migration."""


def load_first(connection: Connection) -> None:
    script = FIRST.read_text(encoding="utf-8")  # in which rows come before what they refer to
    connection.driver.executescript(
        f"PRAGMA foreign_keys = OFF; {script}; PRAGMA foreign_keys = ON;"
    )


@pytest.fixture
def first_version(database_url: str) -> Connection:
    """The database of 0.1, on PostgreSQL its rows in the tables of that time."""
    connection = open_database(database_url).connect()
    if connection.dialect == "sqlite":
        load_first(connection)
        return connection
    schema.create_all(connection)
    connection.plain("DROP INDEX audit_who")
    with open_database("sqlite:///:memory:").connect() as old:
        load_first(old)
        connection.begin()
        connection.plain("DELETE FROM meta")
        for table in store.tables.sorted_tables:
            for chunk in backup._chunks(old, table):
                backup._insert(connection, table, chunk)
        connection.commit()
    return connection


def test_upgrade_from_the_first_version_keeps_every_row(first_version: Connection) -> None:
    with first_version as connection:
        with backup.snapshot(connection):
            before = backup.contents_of(connection)
        schema.check(connection)
        with backup.snapshot(connection):
            after = backup.contents_of(connection)
        version = schema.get_meta(connection, "schema_version")
        if connection.dialect == "sqlite":
            backup.check_tables(connection, "The database")
            backup.check_integrity(connection, "The database")

    assert before.pop("meta").rows == after.pop("meta").rows
    assert before == after
    assert (after["answer"].rows, after["participant"].rows) == (10, 3)
    assert version == str(schema.SCHEMA_VERSION) == "2"


def test_upgrade_and_a_new_database_have_the_same_tables(tmp_path: Path) -> None:
    made = {}
    for name in ("old", "new"):
        with open_database(f"sqlite:///{tmp_path / name}").connect() as connection:
            if name == "new":
                schema.create_all(connection)
            else:
                load_first(connection)
                schema.check(connection)
            made[name] = backup._schema(connection)

    assert made["old"] == made["new"]


def test_downgrade_is_refused_in_a_sentence(desk: Any) -> None:
    with pytest.raises(DataError, match=r"schema version 2, but .* only up to 1; update Sfumato\."):
        schema.check(desk.connection, migrations=())
