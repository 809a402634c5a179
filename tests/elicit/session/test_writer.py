"""The writer: groups, errors of one and of all, acknowledgement after the commit, stopping."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.elicit.refusals import Conflict, Unavailable
from sfumato.elicit.session import commands
from sfumato.elicit.session.screen import DoneScreen, TrialScreen
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage.database import Connection, open_database
from sfumato.elicit.storage.schema import get_meta, set_meta


@pytest.fixture
def writer(desk: Any) -> Iterator[Writer]:
    made = Writer(desk.database, desk.collection, rng=np.random.default_rng(1)).start()
    yield made
    made.stop()


def note(connection: Connection, collection: Any, *, now: float, rng: Any, key: str) -> str:
    set_meta(connection, key, "here")
    return key


def note_and_fail(
    connection: Connection, collection: Any, *, now: float, rng: Any, key: str
) -> None:
    set_meta(connection, key, "here")
    raise Conflict("no")


def note_and_break(
    connection: Connection, collection: Any, *, now: float, rng: Any, key: str
) -> None:
    set_meta(connection, key, "here")
    raise ZeroDivisionError


def test_r1_result_comes_after_the_commit(writer: Writer, desk: Any) -> None:
    assert writer.run_and_wait(note, key="a") == "a"

    with desk.database.reader() as reader:
        assert get_meta(reader, "a") == "here"


def test_error_of_one_command_undoes_only_that_command(writer: Writer, desk: Any) -> None:
    async def several() -> list[Any]:
        jobs = [
            writer.run(note, key="a"),
            writer.run(note_and_fail, key="b"),
            writer.run(note_and_break, key="c"),
            writer.run(note, key="d"),
        ]
        return await asyncio.gather(*jobs, return_exceptions=True)

    results = asyncio.run(several())

    assert (results[0], results[3]) == ("a", "d")
    assert isinstance(results[1], Conflict)
    assert isinstance(results[2], ZeroDivisionError)
    stored = [get_meta(desk.connection, key) for key in "abcd"]
    assert stored == ["here", None, None, "here"]


def test_commands_that_keep_coming_share_a_transaction(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if desk.database.dialect == "postgresql":
        pytest.skip("Only SQLite's writer gathers commands.")
    monkeypatch.setattr("sfumato.elicit.session.writer.GATHER_SECONDS", 60.0)
    groups: list[int] = []

    class Counted(Writer):
        def _run_group(self, connection: Any, jobs: Any, rng: Any) -> None:
            groups.append(len(jobs))
            super()._run_group(connection, jobs, rng)

    writer = Counted(desk.database, desk.collection, rng=np.random.default_rng(1))
    first = [writer.run(note, key=f"a{n}") for n in range(4)]

    async def in_quick_succession() -> None:
        waiting = asyncio.gather(*first)
        await asyncio.sleep(0)  # all four are queued before the writer begins
        writer.start()
        await waiting
        later = []
        for number in range(4):
            later.append(asyncio.create_task(writer.run(note, key=f"b{number}")))
            await asyncio.sleep(0.02)  # longer than a flush
        await asyncio.gather(*later)

    asyncio.run(in_quick_succession())
    writer.stop()

    assert groups == [4, 4]  # as many as in the group before were waited for


def test_one_person_alone_is_not_kept_waiting(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.elicit.session.writer.GATHER_SECONDS", 60.0)
    writer = Writer(desk.database, desk.collection, rng=np.random.default_rng(1)).start()

    keys = [writer.run_and_wait(note, key=f"k{number}") for number in range(3)]
    stopped = writer.stop(timeout=10)

    assert keys == ["k0", "k1", "k2"]
    assert stopped


def test_s3_fifty_parallel_copies_of_one_answer_make_one_row(writer: Writer, desk: Any) -> None:
    token = writer.run_and_wait(commands.enter, platform="link", platform_id="ann").token
    shown: Any = writer.run_and_wait(commands.screen, token=token)
    given = desk.given(shown.trial.id)

    async def copies() -> list[Any]:
        jobs = (writer.run(commands.answer, token=token, given=given) for _ in range(50))
        return await asyncio.gather(*jobs)

    screens = asyncio.run(copies())

    assert len({screen.model_dump_json() for screen in screens}) == 1
    assert desk.count("answer") == 1
    assert desk.count("answer_event") == 1
    desk.check_counters()


def test_fifty_parallel_entries_of_one_person_make_one_session(writer: Writer, desk: Any) -> None:
    def enter(_: int) -> str:
        return writer.run_and_wait(commands.enter, platform="link", platform_id="ann").token

    with ThreadPoolExecutor(16) as pool:
        tokens = set(pool.map(enter, range(50)))

    assert len(tokens) == 50
    assert (desk.count("participant"), desk.count("session")) == (1, 1)


def test_many_simulated_people_at_once_never_exceed_the_cap(open_desk: Any, a_study: Any) -> None:
    study = a_study(per_item=4, layout={"trials_per_person": 4})
    desk = open_desk(study, items=8)
    first = Writer(desk.database, desk.collection, rng=np.random.default_rng(1)).start()
    # On PostgreSQL a second process has a writer of its own.
    second = (
        first
        if desk.database.dialect == "sqlite"
        else Writer(desk.database, desk.collection, rng=np.random.default_rng(2)).start()
    )

    def person(number: int) -> Any:
        writer = (first, second)[number % 2]
        entered = writer.run_and_wait(commands.enter, platform="link", platform_id=f"p{number}")
        shown: Any = writer.run_and_wait(commands.screen, token=entered.token)
        while isinstance(shown, TrialScreen):
            given = desk.given(shown.trial.id)
            shown = writer.run_and_wait(commands.answer, token=entered.token, given=given)
        return shown

    with ThreadPoolExecutor(6) as pool:
        ends = list(pool.map(person, range(6)))
    first.stop()
    second.stop()

    assert all(isinstance(end, DoneScreen) for end in ends)
    assert desk.rows("SELECT sum(finished), sum(reserved) FROM stimulus") == [(24, 0)]
    desk.check_counters()


def test_r9_stop_finishes_what_waits_and_takes_nothing_more(writer: Writer, desk: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(writer.run_and_wait, note, key=f"k{n}") for n in range(40)]
        for job in waiting[:8]:
            job.result()
        done = [job.result() for job in waiting]

    assert writer.stop(timeout=10)
    assert len(done) == 40
    with pytest.raises(Unavailable):
        writer.run_and_wait(note, key="late")
    assert get_meta(desk.connection, "k39") == "here"
    assert get_meta(desk.connection, "late") is None


class BrokenCommit:
    """A connection whose commit fails, as on a full disk."""

    def __init__(self, inner: Connection) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def commit(self) -> None:
        raise sqlite3.OperationalError("database or disk is full")


def test_r8_failing_commit_acknowledges_nothing_and_the_next_group_works(
    tmp_path: Path, desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = type(desk.database).connect
    opened: list[int] = []

    def broken_first(database: Any) -> Any:
        opened.append(1)
        made = connect(database)
        return BrokenCommit(made) if len(opened) == 1 else made

    monkeypatch.setattr(type(desk.database), "connect", broken_first)
    writer = Writer(desk.database, desk.collection, rng=np.random.default_rng(1))
    monkeypatch.setattr("sfumato.elicit.session.writer.POSTGRESQL_THREADS", 1)
    writer._threads = writer._threads[:1]
    writer.start()

    async def group() -> list[Any]:
        jobs = [writer.run(note, key="a"), writer.run(note_and_fail, key="b")]
        return await asyncio.gather(*jobs, return_exceptions=True)

    failed = asyncio.run(group())
    after = writer.run_and_wait(note, key="c")
    writer.stop()

    assert isinstance(failed[0], Unavailable)
    assert failed[0].status == 503
    assert after == "c"
    assert [get_meta(desk.connection, key) for key in "abc"] == [None, None, "here"]


def test_r8_database_gone_is_unavailable(tmp_path: Path, desk: Any) -> None:
    gone = open_database("sqlite:////nowhere/gone.sqlite")
    writer = Writer(gone, desk.collection, rng=np.random.default_rng(1)).start()

    with pytest.raises(Unavailable):
        writer.run_and_wait(note, key="a")

    assert writer.stop()


def test_full_disk_within_a_command_fails_the_whole_group(tmp_path: Path, study: Any) -> None:
    from sfumato.elicit.session.collection import collection_of
    from sfumato.elicit.storage import schema

    database = open_database(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with database.connect() as connection:
        schema.create_all(connection)

        def full(connection: Connection, collection: Any, **more: Any) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        writer = Writer(database, collection_of(study, b"k" * 32), rng=np.random.default_rng(1))
        jobs = []

        async def group() -> list[Any]:
            jobs.extend([writer.run(note, key="a"), writer.run(full), writer.run(note, key="b")])
            waiting = asyncio.gather(*jobs, return_exceptions=True)
            await asyncio.sleep(0.01)
            writer.start()
            return await waiting

        failed = asyncio.run(group())
        writer.stop()

        assert all(isinstance(error, Unavailable) for error in failed)
        assert get_meta(connection, "a") is None


def test_groups_share_a_flush_on_sqlite(tmp_path: Path, study: Any) -> None:
    from sfumato.elicit.session.collection import collection_of
    from sfumato.elicit.storage import schema

    database = open_database(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with database.connect() as connection:
        schema.create_all(connection)
    writer = Writer(database, collection_of(study, b"k" * 32), rng=np.random.default_rng(1))
    flushed: list[int] = []
    run_group = writer._run_group

    def counted(connection: Connection, jobs: list[Any], rng: Any) -> None:
        flushed.append(len(jobs))
        run_group(connection, jobs, rng)

    writer._run_group = counted  # type: ignore[method-assign]

    async def many() -> None:
        waiting = asyncio.gather(*(writer.run(note, key=f"k{n}") for n in range(600)))
        await asyncio.sleep(0.01)
        writer.start()
        await waiting

    asyncio.run(many())
    writer.stop()

    assert flushed == [512, 88]


def test_caller_that_went_away_disturbs_nobody(writer: Writer, desk: Any) -> None:
    async def impatient() -> str:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.run(slow, key="slow"), 0.01)
        return await writer.run(note, key="after")

    def slow(connection: Connection, collection: Any, *, now: float, rng: Any, key: str) -> None:
        threading.Event().wait(0.1)
        set_meta(connection, key, "here")

    assert asyncio.run(impatient()) == "after"
    assert writer.stop()
    assert get_meta(desk.connection, "slow") == "here"


CHILD = """
import sys
import numpy as np
from sfumato.elicit.session import commands
from sfumato.elicit.session.collection import collection_of
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.session.screen import AnswerGiven, TrialScreen
from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.session.writer import Writer
from concurrent.futures import ThreadPoolExecutor

study = ElicitStudy.model_validate_json(sys.argv[2])
writer = Writer(
    open_database(sys.argv[1]), collection_of(study, b"k" * 32), rng=np.random.default_rng(0)
).start()

def person(number):
    token = writer.run_and_wait(commands.enter, platform="link", platform_id=f"p{number}").token
    shown = writer.run_and_wait(commands.screen, token=token)
    while isinstance(shown, TrialScreen):
        trial = shown.trial.id
        given = AnswerGiven(
            trial=trial, key=f"testkey{trial}", answer="cat", timing={"seconds": 1.0}
        )
        shown = writer.run_and_wait(commands.answer, token=token, given=given)
        sys.stdout.write(f"{trial}\\n")
        sys.stdout.flush()

with ThreadPoolExecutor(8) as pool:
    list(pool.map(person, range(100)))
"""


def test_r1_no_acknowledged_answer_is_lost_when_the_process_is_killed(
    open_desk: Any, a_study: Any
) -> None:
    study = a_study(per_item=50, layout={"trials_per_person": 40})
    desk = open_desk(study, items=100)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, desk.database.url, study.model_dump_json()],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    acknowledged = [int(child.stdout.readline()) for _ in range(60)]

    child.kill()
    rest = child.communicate()[0].split("\n")[:-1]  # the last line may be cut
    acknowledged += [int(line) for line in rest if line]

    while desk.database.dialect == "postgresql" and desk.rows(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
        "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    ):
        threading.Event().wait(0.02)  # the server notices that its client is gone
    stored = {row[0] for row in desk.rows("SELECT trial FROM answer")}
    assert set(acknowledged) <= stored
    assert len(stored) - len(acknowledged) <= 8  # stored, but killed before saying so
    desk.check_counters()
    if desk.database.dialect == "sqlite":
        assert desk.rows("PRAGMA integrity_check") == [("ok",)]
