"""A copy has every row, and goes on where the original stopped."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sfumato.elicit.refusals import Unavailable
from sfumato.elicit.session import commands
from sfumato.elicit.session.screen import ProceedGiven
from sfumato.elicit.storage import backup as copying
from sfumato.elicit.storage import store
from sfumato.elicit.storage.backup import contents_of, copy_collection, snapshot
from sfumato.elicit.storage.database import Connection, Database, open_database
from sfumato.errors import DataError


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """A new empty database beside the one of ``database_url``."""
    if request.param == "sqlite":
        return open_database(f"sqlite:///{tmp_path / 'copy.sqlite'}")
    server: str = request.getfixturevalue("postgresql_server")
    url = server.format(name="postgres") + "&options=-csearch_path%3Dcopied"
    with psycopg.connect(server.format(name="postgres"), autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS copied CASCADE")
        connection.execute("CREATE SCHEMA copied")
    return open_database(url)


def rows_of(connection: Connection) -> dict[str, list[Any]]:
    """Everything that is stored, by means other than those of the copy."""
    found = {}
    for name, table in store.tables.tables.items():
        columns = ", ".join(f'"{column.name}"' for column in table.columns)
        cursor = connection.driver.cursor()
        cursor.execute(f'SELECT {columns} FROM "{name}"')
        # The first column is the key. True equals 1, so the databases need no translation here.
        found[name] = sorted(cursor.fetchall(), key=lambda row: str(row[0]))
    return found


def busy(open_desk: Callable[..., Any], a_study: Callable[..., Any]) -> Any:
    """A collection with something in nearly every table."""
    welcome = {"consent": ["Agree?"], "debrief": ["Anything? – ü"]}
    study = a_study(welcome=welcome, layout={"trials_per_person": 6, "repeats": 1})
    desk = open_desk(study, checks=1)
    for person in ("ann", "bob", "cem"):
        token = desk.enter(person, consent_version="1", address="10.0.0.1")
        desk.answer(token, desk.screen(token).trial.id, timing={"seconds": 0.1})  # too fast: a flag
        assert desk.finish(token).stage == "debrief"
        said = ProceedGiven(stage="debrief", answers=("nothing – ü",))
        desk.run(commands.leave_stage, token=token, given=said)
    desk.run(commands.exclude, participant=1, rule="checks", who="test")
    desk.run(commands.withdraw, participant=3, who="test")  # the greatest id, gone for good
    return desk


def test_r7_copy_has_every_row_of_the_original(
    open_desk: Callable[..., Any], a_study: Callable[..., Any], target: Database
) -> None:
    desk = busy(open_desk, a_study)

    copied = copy_collection(desk.database, target)

    with target.connect() as connection:
        assert rows_of(connection) == rows_of(desk.connection)
        with snapshot(connection):
            assert contents_of(connection) == copied
    assert copied["answer"].rows == 14
    assert {name for name, held in copied.items() if held.rows == 0} == {"webhook_event"}


def test_r7_copied_collection_goes_on_with_ids_never_given_before(
    open_desk: Callable[..., Any], a_study: Callable[..., Any], target: Database
) -> None:
    desk = busy(open_desk, a_study)
    copy_collection(desk.database, target)
    greatest = desk.rows("SELECT max(id) FROM trial")[0][0]

    with target.connect() as connection:
        there = type(desk)(target, connection, desk.collection, desk.rng, now=desk.now)
        there.finish(there.enter("dan", consent_version="1"))

        assert there.rows("SELECT max(id) FROM participant") == [(4,)]  # 3 withdrew
        assert there.rows("SELECT max(id) FROM session") == [(4,)]
        assert there.rows("SELECT min(id) FROM trial WHERE session = 4")[0][0] > greatest
        there.check_counters()


def test_r7_copy_is_of_one_moment_while_people_answer(
    open_desk: Callable[..., Any],
    a_study: Callable[..., Any],
    target: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = busy(open_desk, a_study)
    before = desk.count("answer")
    insert, arrived = copying._insert, threading.Event()

    def insert_after_an_answer(connection: Connection, table: Any, rows: Any) -> None:
        if not arrived.is_set():  # the first table is under way: somebody answers
            arrived.set()
            token = desk.enter("eva", consent_version="1")
            desk.answer(token, desk.screen(token).trial.id)
        insert(connection, table, rows)

    monkeypatch.setattr(copying, "_insert", insert_after_an_answer)
    copied = copy_collection(desk.database, target)

    assert arrived.is_set()
    assert desk.count("answer") == before + 1
    assert copied["answer"].rows == before
    assert copied["participant"].rows == 2


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_r7_target_that_is_not_empty_is_refused(
    open_desk: Callable[..., Any], a_study: Callable[..., Any], target: Database
) -> None:
    desk = busy(open_desk, a_study)
    copied = copy_collection(desk.database, target)

    with pytest.raises(DataError, match="is not empty"):
        copy_collection(desk.database, target)

    with target.connect() as connection, snapshot(connection):
        assert contents_of(connection) == copied


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("lost", "sentence"), [("answer_event", "copied wrongly"), ("stimulus", "The copy failed")]
)
def test_r7_copy_that_went_wrong_is_removed(
    open_desk: Callable[..., Any],
    a_study: Callable[..., Any],
    target: Database,
    monkeypatch: pytest.MonkeyPatch,
    lost: str,
    sentence: str,
) -> None:
    desk = busy(open_desk, a_study)
    insert = copying._insert

    def insert_some(connection: Connection, table: Any, rows: Any) -> None:
        insert(connection, table, rows[:5] if table.name == lost else rows)

    monkeypatch.setattr(copying, "_insert", insert_some)

    with pytest.raises(DataError, match=sentence):
        copy_collection(desk.database, target)

    monkeypatch.undo()
    assert copy_collection(desk.database, target)["answer"].rows == 14


def test_source_without_a_collection_is_refused(target: Database, tmp_path: Path) -> None:
    empty = open_database(f"sqlite:///{tmp_path / 'empty.sqlite'}")

    with pytest.raises(Unavailable, match="is not there"):
        copy_collection(empty, target)
    assert not empty.path.exists()
    empty.connect().close()
    with pytest.raises(DataError, match="holds no collection"):
        copy_collection(empty, target)


def test_checksum_sees_a_single_changed_letter(desk: Any) -> None:
    desk.finish(desk.enter())
    with snapshot(desk.connection):
        before = contents_of(desk.connection)["answer"]
    desk.connection.plain("UPDATE answer SET answer = '\"car\"' WHERE trial = 1")

    with snapshot(desk.connection):
        after = contents_of(desk.connection)["answer"]

    assert (before.rows, before.checksum != after.checksum) == (after.rows, True)
