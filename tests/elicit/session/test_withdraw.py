"""Who withdraws is gone: from the tables, from the files, from the next backup."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.elicit.export import collect_answers
from sfumato.elicit.refusals import UnknownToken
from sfumato.elicit.session import people as module
from sfumato.elicit.session.people import Withdrawal, withdraw_person
from sfumato.elicit.storage.backup import back_up
from sfumato.errors import DataError

CANARY = "5f00aaaabbbbccccdddd0042"
MARK = "CANARYTEXT"


def leave(desk: Any, person: str, *, identity_only: bool = False) -> Withdrawal:
    return withdraw_person(
        desk.database,
        desk.collection,
        person,
        identity_only=identity_only,
        who="test",
        now=desk.now,
        rng=np.random.default_rng(0),
    )


def filled(open_desk: Callable[..., Any], a_study: Callable[..., Any]) -> Any:
    """Three people, of whom the second typed something that can be found again."""
    study = a_study(form="top-two", preset="top-two", mode="faithful")
    desk = open_desk(study)
    for person, typed in (("ann", "60"), (CANARY, MARK), ("bob", "70")):
        answer = {"first": "cat", "first_percent": typed}
        desk.finish(desk.enter(person, platform="prolific"), answer)
    return desk


def pseudonym_of(desk: Any, person: str) -> str:
    found: str = desk.collection.pseudonym("prolific", person)
    return found


def stored_bytes(desk: Any) -> bytes:
    """The database file and everything beside it, or all rows of the server."""
    if desk.database.dialect == "sqlite":
        path = desk.database.path
        return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    tables = desk.rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    return "".join(str(desk.rows(f'SELECT * FROM "{name}"')) for (name,) in tables).encode()


@pytest.mark.parametrize("by", ["pseudonym", "platform id"])
def test_s14_nothing_of_the_person_is_left_in_the_files_nor_the_next_backup(
    open_desk: Callable[..., Any], a_study: Callable[..., Any], tmp_path: Path, by: str
) -> None:
    desk = filled(open_desk, a_study)
    pseudonym = pseudonym_of(desk, CANARY)
    traces = [text.encode() for text in (CANARY, MARK, pseudonym)]
    assert all(trace in stored_bytes(desk) for trace in traces)

    done = leave(desk, CANARY if by == "platform id" else pseudonym)
    back_up(desk.database, tmp_path / "next.backup")

    assert done == Withdrawal(answers=6, scrubbed=True)
    for place in (stored_bytes(desk), (tmp_path / "next.backup").read_bytes()):
        assert not [trace for trace in traces if trace in place]
    assert desk.rows("SELECT answers FROM withdrawal") == [(6,)]  # the tombstone
    assert desk.count("participant") == 2
    assert len(collect_answers(desk.connection, desk.collection.study).answers) == 12
    desk.check_counters()


def test_s14_places_of_the_person_are_open_again(
    open_desk: Callable[..., Any], a_study: Callable[..., Any]
) -> None:
    desk = filled(open_desk, a_study)
    before = desk.rows("SELECT sum(finished) FROM stimulus")[0][0]

    leave(desk, CANARY)

    assert (before, desk.rows("SELECT sum(finished) FROM stimulus")[0][0]) == (18, 12)


def test_s14_identity_only_keeps_the_answers_but_no_way_to_the_person(
    open_desk: Callable[..., Any], a_study: Callable[..., Any]
) -> None:
    desk = filled(open_desk, a_study)
    pseudonym = pseudonym_of(desk, CANARY)

    done = leave(desk, pseudonym, identity_only=True)

    stored = stored_bytes(desk)
    assert done == Withdrawal(answers=6, scrubbed=True)
    assert CANARY.encode() not in stored
    assert pseudonym.encode() not in stored  # whoever has the key could compute it
    assert MARK.encode() in stored
    found = collect_answers(desk.connection, desk.collection.study)
    assert (len(found.answers), found.people) == (18, 3)
    assert desk.count("participant_identity") == 2
    assert desk.count("withdrawal") == 1
    desk.check_counters()


@pytest.mark.parametrize("identity_only", [True, False])
def test_s14_open_session_of_who_withdraws_cannot_go_on(desk: Any, identity_only: bool) -> None:
    token = desk.enter(CANARY)
    trial = desk.screen(token).trial.id

    leave(desk, CANARY, identity_only=identity_only)

    with pytest.raises(UnknownToken):
        desk.answer(token, trial)
    assert desk.rows("SELECT sum(reserved) FROM stimulus") == [(0,)]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_s14_files_that_somebody_reads_are_told_as_not_rewritten(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ATTEMPTS", 2)
    monkeypatch.setattr("sfumato.elicit.storage.database.BUSY_SECONDS", 0.1)
    desk.finish(desk.enter(CANARY))
    with desk.database.reader() as reading:
        reading.plain("BEGIN")
        reading.driver.execute("SELECT count(*) FROM answer").fetchall()

        busy = leave(desk, CANARY)
    desk.enter("bob")
    later = leave(desk, "bob")

    assert busy == Withdrawal(answers=6, scrubbed=False)
    assert later.scrubbed
    assert CANARY.encode() not in stored_bytes(desk)


def test_s13_unknown_person_is_not_repeated(desk: Any) -> None:
    with pytest.raises(DataError) as error:
        leave(desk, CANARY)

    assert "Nobody in this study" in str(error.value)
    assert CANARY not in str(error.value)
