"""Disks that are full, files that are gone, servers that stop or are killed: nothing is lost."""

import asyncio
import contextlib
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.elicit.conftest import SmallDisk, empty_postgresql, on_both
from tests.elicit.outages import OUTAGES, Outage

from sfumato.elicit.design.places import database_url as file_url
from sfumato.elicit.design.places import open_study, read_key
from sfumato.elicit.refusals import Unavailable
from sfumato.elicit.serve import served_app
from sfumato.elicit.session.collection import collection_of
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage.database import open_database
from sfumato.errors import DataError

ELICIT_KILL = Path(__file__).parents[3] / "benchmarks" / "elicit_kill.py"


@pytest.fixture(params=sorted(OUTAGES))
def outage(request: pytest.FixtureRequest, study_folder: Path) -> Outage:
    return OUTAGES[request.param](request, study_folder)


def a_long_answer(site: Any, trial: int) -> dict[str, Any]:
    """An answer with events that no compression makes small: it needs new pages on the disk."""
    noise = [{"kind": "hint", "at": 1.0, "data": {"x": secrets.token_hex(1500)}} for _ in range(4)]
    body: dict[str, Any] = site.body_of(trial, events=noise)
    return body


def test_r8_outage_is_a_503_and_everything_is_stored_when_it_is_over(
    visit: Any, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(site: Any) -> None:
        tokens = [await site.enter(f"person{number}") for number in range(3)]
        trials = [(await site.screen(token))["trial"]["id"] for token in tokens]
        bodies = [a_long_answer(site, trial) for trial in trials]

        outage.begin()
        try:
            refused = [
                await site.post("/api/answer", body, token)
                for body, token in zip(bodies, tokens, strict=True)
            ]
            health = await site.get("/health")
        finally:
            outage.end()
        site.wait(5)
        # The page sends everything again that was not acknowledged, with the same key.
        again = [
            await site.post("/api/answer", body, token)
            for body, token in zip(bodies, tokens, strict=True)
        ]
        # On PostgreSQL each thread finds a connection of its own broken.
        again += [await site.post("/api/answer", bodies[0], tokens[0]) for _ in range(3)]

        assert refused[-1].status_code == 503
        # What /health writes finds room on its own page of PostgreSQL.
        assert health.status_code == (200 if "tablespace" in outage.url else 503)
        for reply in refused:
            if reply.status_code != 200:  # a page with room left may have taken the first
                assert reply.status_code == 503
                assert int(reply.headers["retry-after"]) > 0
                assert "will be sent again" in reply.json()["error"]
                assert "/" not in reply.json()["error"]  # nor where the database is
        assert {reply.status_code for reply in again} == {200}
        assert sorted(row[0] for row in site.rows("SELECT trial FROM answer")) == sorted(trials)
        assert (await site.get("/health")).status_code == 200

    visit(story, database=outage.url)
    logged = [record.getMessage() for record in caplog.records if record.name == "sfumato.elicit"]
    assert logged[0].startswith("Nothing can be stored: ")
    assert logged[-1] == "Answers are stored again."
    assert len(logged) <= 4  # once an outage, not once a request


def test_r8_read_only_disk_is_a_503(visit: Any, study_folder: Path, small_disk: SmallDisk) -> None:
    shutil.copyfile(study_folder / "study.sqlite", small_disk.folder / "study.sqlite")

    async def story(site: Any) -> None:
        assert small_disk.mount("-o", "remount,ro")
        refused = await site.post("/api/enter", {"parameters": {"participant": "ann"}})
        assert small_disk.mount("-o", "remount,rw")

        assert refused.status_code == 503
        assert (await site.screen(await site.enter()))["stage"] == "trials"

    visit(story, database=f"sqlite:///{small_disk.folder / 'study.sqlite'}")


def test_r8_file_that_was_replaced_is_not_written_to(visit: Any, study_folder: Path) -> None:
    file, old = study_folder / "study.sqlite", study_folder / "old.sqlite"

    async def story(site: Any) -> None:
        token = await site.enter()
        trial = (await site.screen(token))["trial"]["id"]
        file.rename(old)
        shutil.copyfile(old, file)  # as somebody does who puts a backup in its place
        refused = await site.answer(token, trial)

        assert refused.status_code == 503
        assert (await site.enter("ben")) is not None  # the file that is there now is used

    visit(story)
    with contextlib.closing(open_database(f"sqlite:///{old}").connect()) as connection:
        assert connection.driver.execute("SELECT count(*) FROM answer").fetchone() == (0,)


def damage_head(file: Path) -> None:
    file.write_bytes(b"no database " * 1000)


def damage_middle(file: Path) -> None:
    content = bytearray(file.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [damage_head, damage_middle])
def test_r6_damaged_file_is_named_at_the_start(
    study_folder: Path, damage: Callable[[Path], None]
) -> None:
    damage(study_folder / "study.sqlite")

    with pytest.raises(DataError, match=r"study\.sqlite is damaged"):
        served_app(study_folder)


def test_r8_file_damaged_while_serving_is_unavailable(study_folder: Path) -> None:
    collection = collection_of(open_study(study_folder), read_key(study_folder))
    database = open_database(file_url(study_folder))
    damage_head(study_folder / "study.sqlite")
    writer = Writer(database, collection, rng=np.random.default_rng(0)).start()

    with pytest.raises(Unavailable, match="sent again"):
        writer.run_and_wait(lambda *arguments, **more: None)
    assert writer.stop()


@on_both
def test_settings_that_the_database_was_not_filled_for_are_refused(
    study_folder: Path, change_study: Any, place_of_study: Callable[[Path], str]
) -> None:
    url = place_of_study(study_folder)
    change_study(title="Another title", layout={"trials_per_person": 3}, recruiting={"places": 7})
    served_app(study_folder, database=url)

    change_study(per_item=7)

    with pytest.raises(DataError, match="gives per_item as 7, but the database was filled for 50"):
        served_app(study_folder, database=url)


@pytest.fixture
def kill_database(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "sqlite":
        yield "sqlite"
        return
    server: str = request.getfixturevalue("postgresql_server")
    yield empty_postgresql(server)
    empty_postgresql(server)


@pytest.mark.parametrize("kill_database", ["sqlite", "postgresql"], indirect=True)
def test_r1_killed_servers_lose_no_acknowledged_answer_and_store_none_twice(
    kill_database: str,
) -> None:
    options = ["--kills=3", "--people=12", f"--database={kill_database}"]

    said = subprocess.run(
        [sys.executable, str(ELICIT_KILL), *options],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert said.returncode == 0, said.stdout + said.stderr
    figures = dict(line.rsplit(maxsplit=1) for line in said.stdout.splitlines())
    assert figures["kill -9 of the server"] == "3"
    assert int(figures["answers acknowledged"].replace(",", "")) > 30
    assert figures["acknowledged but lost"] == figures["stored twice"] == "0"
    assert figures["integrity check"] == "ok"


def test_comprehension_sent_again_after_a_lost_reply_uses_no_attempt(
    visit: Any, change_study: Any
) -> None:
    check = {"question": "What?", "choices": ("a", "b"), "right": "a"}
    change_study(welcome={"comprehension": (check, check), "comprehension_tries": 2})

    async def story(site: Any) -> None:
        token = await site.enter()
        wrong = {"stage": "comprehension", "answers": ["a", "b"], "tries": 0}
        replies = [(await site.post("/api/proceed", wrong, token)).json() for _ in range(3)]
        guessed = {**wrong, "answers": ["b", "b"]}
        replies.append((await site.post("/api/proceed", guessed, token)).json())
        right = {"stage": "comprehension", "answers": ["a", "a"], "tries": 1}
        after = (await site.post("/api/proceed", right, token)).json()

        assert [reply["tries"] for reply in replies] == [1] * 4
        assert [reply["wrong"] for reply in replies] == [[1]] * 4  # of the first, not of a guess
        assert site.count("reply") == 2
        assert after["stage"] == "trials"

    visit(story)


def test_requests_wait_for_a_database_that_is_only_slow(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        trial = (await site.screen(token))["trial"]["id"]
        with site.writer.database.connect() as other:
            other.begin()
            waiting = asyncio.create_task(site.answer(token, trial))
            await asyncio.sleep(0.3)
            early = waiting.done()
            other.rollback()

        assert not early
        assert (await waiting).status_code == 200

    visit(story)
