"""A backup of a running collection is whole, is checked, and can be put back."""

import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.elicit.design.places import database_url
from sfumato.elicit.session import commands
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage.backup import back_up, contents_of, restore_backup, snapshot
from sfumato.elicit.storage.database import open_database
from sfumato.errors import DataError


def test_r6_backup_while_the_server_writes_is_whole(
    open_desk: Callable[..., Any], a_study: Callable[..., Any], tmp_path: Path
) -> None:
    desk = open_desk(a_study(per_item=50), 12)
    writer = Writer(desk.database, desk.collection, rng=np.random.default_rng(1)).start()
    stop, acknowledged = threading.Event(), [0]

    def answer_on() -> None:
        person = 0
        while not stop.is_set():
            person += 1
            entry = {"platform": "link", "platform_id": f"p{person}"}
            token = writer.run_and_wait(commands.enter, **entry).token
            shown: Any = writer.run_and_wait(commands.screen, token=token)
            while shown.stage == "trials" and not stop.is_set():
                given = desk.given(shown.trial.id)
                shown = writer.run_and_wait(commands.answer, token=token, given=given)
                acknowledged[0] += 1

    thread = threading.Thread(target=answer_on)
    thread.start()
    try:
        sizes = []
        for number in range(3):
            while acknowledged[0] < 5 * (number + 1):
                time.sleep(0.01)
            promised = acknowledged[0]
            held = back_up(desk.database, tmp_path / f"b{number}.sqlite")
            sizes.append((promised, held["answer"].rows))
    finally:
        stop.set()
        thread.join()
        writer.stop()

    assert all(rows >= promised for promised, rows in sizes)  # what was acknowledged is in it
    assert not list(tmp_path.glob(".*part*"))
    for number, (_, rows) in enumerate(sizes):
        copy = sqlite3.connect(tmp_path / f"b{number}.sqlite")
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copy.execute("SELECT count(*) FROM answer").fetchone() == (rows,)
        copy.close()


def test_r6_drill_a_lost_database_comes_back_from_its_backup(
    open_desk: Callable[..., Any], a_study: Callable[..., Any], tmp_path: Path
) -> None:
    desk = open_desk(a_study())
    desk.finish(desk.enter("ann"))
    token = desk.enter("bob")
    desk.answer(token, desk.screen(token).trial.id)
    held = back_up(desk.database, tmp_path / "backup.sqlite")
    folder = tmp_path / "again"
    folder.mkdir()

    restored = restore_backup(tmp_path / "backup.sqlite", folder)

    assert restored == held
    database = open_database(database_url(folder))
    with database.connect() as connection:
        with snapshot(connection):
            assert contents_of(connection) == held
        there = type(desk)(database, connection, desk.collection, desk.rng, now=desk.now)
        assert there.finish(token).stage == "done"  # bob goes on where he was
        assert there.count("answer") == 12


def test_r6_database_in_place_is_not_overwritten(desk: Any, tmp_path: Path) -> None:
    back_up(desk.database, tmp_path / "b.sqlite")
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "study.sqlite-wal").write_bytes(b"of a running server")

    with pytest.raises(DataError, match=r"move study\.sqlite"):
        restore_backup(tmp_path / "b.sqlite", folder)

    assert (folder / "study.sqlite-wal").read_bytes() == b"of a running server"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("damage", ["no database", "cut", "newer"])
def test_r6_damaged_or_newer_backup_is_refused(desk: Any, tmp_path: Path, damage: str) -> None:
    backup, folder = tmp_path / "b.sqlite", tmp_path / "study"
    folder.mkdir()
    back_up(desk.database, backup)
    content = bytearray(backup.read_bytes())
    match damage:
        case "no database":
            backup.write_bytes(b"not a database at all, but long enough to be looked at" * 99)
        case "cut":
            backup.write_bytes(content[: len(content) // 2])
        case _:
            with sqlite3.connect(backup) as copy:
                copy.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
            copy.close()

    with pytest.raises(DataError):
        restore_backup(backup, folder)

    assert list(folder.iterdir()) == []


def test_only_the_owner_can_read_a_backup(desk: Any, tmp_path: Path) -> None:
    back_up(desk.database, tmp_path / "b.sqlite")

    assert stat.S_IMODE((tmp_path / "b.sqlite").stat().st_mode) == 0o600


def test_backup_that_cannot_be_written_is_one_sentence(desk: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written: No such file or directory"):
        back_up(desk.database, tmp_path / "nowhere" / "b.sqlite")
