"""The addresses that a browser uses; tests named after requirements carry their id."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.elicit.conftest import on_both

from sfumato.elicit.design.presets import PRESETS
from sfumato.elicit.refusals import Unavailable
from sfumato.elicit.storage.database import Connection, Database

CHECK = {"question": "What?", "choices": ("a", "b"), "right": "a"}


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_simulated_annotators_finish_every_preset_and_rows_equal_acknowledgements(
    preset: str, study_of: Any, visit: Any
) -> None:
    folder = study_of(preset, per_item=3)

    async def story(site: Any) -> None:
        version = (await site.get("/consent")).json()["version"]
        acknowledged: list[int] = []
        for pick, person in enumerate(("ann", "ben")):
            token = await site.enter(person, consent_version=version)
            done, last = await site.finish(token, pick)
            assert last["stage"] == "done"
            assert last["code"]
            acknowledged += done

        stored = site.rows("SELECT trial FROM answer ORDER BY trial")
        assert [row[0] for row in stored] == sorted(acknowledged)
        assert len(acknowledged) >= 8
        assert site.rows("SELECT count(*) FROM session WHERE ended = 'finished'") == [(2,)]

    visit(story, folder=folder)


@on_both
def test_s1_forged_truncated_and_missing_tokens_are_refused_and_store_nothing(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        trial = (await site.screen(token))["trial"]["id"]

        for forged in (None, "x", token[:-1], token + "x", "A" * 43, "' OR 1=1 --" + "A" * 30):
            reply = await site.post("/api/answer", site.body_of(trial), forged)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"] == "Bearer"
            assert reply.json()["faults"] == []
        in_address = await site.post(f"/api/answer?token={token}", site.body_of(trial))
        assert in_address.status_code == 401
        assert site.count("answer") == 0

    visit(story)


@on_both
def test_s1_token_of_a_session_left_for_too_long_is_refused(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        site.wait(25 * 3600)

        assert (await site.get("/api/screen", token)).status_code == 401

    visit(story)


@on_both
def test_s2_trials_of_others_and_of_nobody_are_refused(visit: Any) -> None:
    async def story(site: Any) -> None:
        ann, ben = await site.enter("ann"), await site.enter("ben")
        of_ben = (await site.screen(ben))["trial"]["id"]
        await site.screen(ann)

        assert (await site.answer(ann, of_ben)).status_code == 404
        assert (await site.answer(ann, 4711)).status_code == 404
        assert site.count("answer") == 0

    visit(story)


@on_both
def test_s3_fifty_copies_of_one_answer_are_one_row(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        body = site.body_of((await site.screen(token))["trial"]["id"])

        async def send() -> Any:
            site.wait(1)
            return await site.post("/api/answer", body, token)

        replies = await asyncio.gather(*(send() for _ in range(50)))

        assert {reply.status_code for reply in replies} == {200}
        assert len({reply.text for reply in replies}) == 1
        assert site.count("answer") == 1
        other = await site.post("/api/answer", {**body, "answer": "dog"}, token)
        assert other.status_code == 409

    visit(story)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 8_000, 400),
        (b'{"trial": NaN}', 400),
        (b'{"trial": Infinity}', 400),
        (b'{"trial": 1e999}', 400),
        (b'{"trial": ' + b"9" * 5_000 + b"}", 400),
        (b'{"trial": 1, "trial": 1}', 400),
        (b"null", 422),
        (b"[]", 422),
        (b'{"trial": "1"}', 422),
        (b'{"trial": 1, "key": "\\ud800aaaaaaaa", "answer": 1, "timing": {"seconds": 1}}', 422),
        (b'{"trial": 1, "key": "aaaaaaaa", "answer": 1, "timing": {"seconds": 1}, "x": 1}', 422),
    ],
)
def test_s4_body_that_is_no_answer_is_refused(visit: Any, body: bytes, status: int) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        await site.screen(token)

        reply = await site.post("/api/answer", body, token)

        assert reply.status_code == status
        assert reply.json()["error"]
        assert site.count("answer") == 0

    visit(story)


@on_both
@pytest.mark.parametrize("answer", ["unicorn", 5, None, {"cat": 1}, ["cat"], "cat\x00", "\ud800"])
def test_s4_answer_that_the_question_does_not_allow_names_its_faults(
    visit: Any, answer: Any
) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        trial = (await site.screen(token))["trial"]["id"]

        reply = await site.post("/api/answer", json.dumps(site.body_of(trial, answer)), token)

        assert reply.status_code == 422
        assert reply.json()["faults"][0]["fault"] == "malformed"
        assert set(reply.json()["faults"][0]) == {"field", "fault", "sentence"}
        assert site.count("answer") == 0

    visit(story)


def test_s4_long_body_is_refused_by_its_length_and_while_it_comes(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        body = site.body_of((await site.screen(token))["trial"]["id"], "x" * 17_000)
        head = {"authorization": f"Bearer {token}", "content-type": "application/json"}

        announced = await site.post("/api/answer", body, token)
        status, _, text = await site.raw(
            "/api/answer", method="POST", headers=head, chunks=(b" " * 9_000, b" " * 9_000, b"")
        )

        assert announced.status_code == 413
        assert status == 413
        assert b"longer than" in text

    visit(story)


@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": "text/plain"},
        {"content_type": "application/x-www-form-urlencoded"},
        {"content_type": "application/json; charset=utf-16"},
        {"content_type": ""},
        {"content_encoding": "gzip"},
    ],
)
def test_s4_other_content_types_are_refused(visit: Any, headers: dict[str, str]) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        body = json.dumps(site.body_of((await site.screen(token))["trial"]["id"]))

        assert (await site.post("/api/answer", body, token, **headers)).status_code == 415
        right = await site.post(
            "/api/answer", body, token, content_type="application/json; charset=UTF-8"
        )
        assert right.status_code == 200

    visit(story)


@on_both
def test_s15_nothing_is_stored_for_somebody_who_does_not_agree(
    visit: Any, change_study: Callable[..., Any]
) -> None:
    change_study(welcome={"consent": ("Do you agree?",), "consent_version": "7"})

    async def story(site: Any) -> None:
        offered = (await site.get("/consent")).json()
        entry = {"parameters": {"participant": "ann"}}

        for version in (None, "6"):
            reply = await site.post("/api/enter", {**entry, "consent_version": version})
            assert reply.status_code == 403
        assert offered == {"text": ["Do you agree?"], "version": "7"}
        assert site.count("participant") == 0
        assert await site.enter(consent_version="7")

    visit(story)


@on_both
def test_s16_role_gold_source_and_item_never_reach_the_browser(visit: Any, study_of: Any) -> None:
    folder = study_of("choose-one", layout={"checks_every": 2, "practice": 2}, per_item=3)
    hidden = ("gold", "secret", "role", '"view', "stimulus", "item", "excluded", "check")

    async def story(site: Any) -> None:
        token = await site.enter(consent_version="1")
        shown = await site.screen(token)
        texts = []
        while shown["stage"] != "done":
            texts.append(json.dumps(shown))
            if shown["stage"] == "trials":
                reply = await site.answer(token, shown["trial"]["id"])
            else:
                right = [
                    check.right for check in site.writer.collection.study.welcome.comprehension
                ]
                answers = right if shown["stage"] == "comprehension" else []
                site.wait(1)
                body = {"stage": shown["stage"], "answers": answers}
                reply = await site.post("/api/proceed", body, token)
            shown = reply.json()
        trials = [text for text in texts if '"trials"' in text]

        views = {row[0] for row in site.rows("SELECT view FROM trial")}
        assert views == {"first", "check", "practice"}
        assert len(trials) == 8
        assert not [word for word in hidden for text in trials if word in text]
        fields = {tuple(sorted(json.loads(text)["trial"])) for text in trials}
        assert len(fields) == 1  # a check looks like any other

    visit(story, folder=folder)


@on_both
def test_s16_right_answers_to_the_comprehension_questions_are_not_sent(
    visit: Any, change_study: Callable[..., Any]
) -> None:
    change_study(
        welcome={"comprehension": (CHECK,), "comprehension_tries": 2},
        recruiting={"screened_out_code": "OUT", "completion_url": "https://p.example/?cc={code}"},
    )

    async def story(site: Any) -> None:
        token = await site.enter()
        wrong = {"stage": "comprehension", "answers": ["b"]}

        first = await site.screen(token)
        again = (await site.post("/api/proceed", wrong, token)).json()
        last = (await site.post("/api/proceed", wrong, token)).json()

        assert first["questions"] == [{"question": "What?", "choices": ["a", "b"]}]
        assert again["wrong"] == [0]
        assert (last["code"], last["screened_out"]) == ("OUT", True)
        assert last["redirect"] == "https://p.example/?cc=OUT"

    visit(story)


def test_back_shows_the_answer_again_and_takes_another(visit: Any, change_study: Any) -> None:
    change_study(layout={"allow_back": True})

    async def story(site: Any) -> None:
        token = await site.enter()
        first = (await site.screen(token))["trial"]["id"]
        second = (await site.answer(token, first, "cat")).json()["trial"]["id"]

        shown = (await site.post("/api/back", {"trial": second}, token)).json()
        changed = await site.answer(token, first, "dog")

        assert (shown["trial"]["id"], shown["trial"]["draft"]) == (first, "cat")
        assert changed.json()["trial"]["id"] == second
        assert site.rows("SELECT answer, changed FROM answer") == [('"dog"', 1)]

    visit(story)


@on_both
def test_r1_answer_is_acknowledged_only_after_its_commit(
    visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    commit = Connection.commit

    def held(connection: Connection) -> None:
        gate.wait(5)
        commit(connection)

    async def story(site: Any) -> None:
        token = await site.enter()
        trial = (await site.screen(token))["trial"]["id"]
        monkeypatch.setattr(Connection, "commit", held)

        sending = asyncio.create_task(site.answer(token, trial))
        await asyncio.sleep(0.2)
        early, rows_early = sending.done(), site.count("answer")
        gate.set()
        reply = await sending

        assert not early
        assert rows_early == 0
        assert reply.status_code == 200
        assert site.count("answer") == 1

    visit(story)


@on_both
def test_r3_reload_and_second_tab_get_the_same_open_trial(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()

        assert await site.screen(token) == await site.screen(token)
        other_browser = await site.enter()
        assert other_browser != token
        assert await site.screen(other_browser) == await site.screen(token)

    visit(story)


def test_r8_full_disk_is_a_503_and_the_same_answer_can_be_sent_again(
    visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(connection: Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    async def story(site: Any) -> None:
        token = await site.enter()
        body = site.body_of((await site.screen(token))["trial"]["id"])
        with monkeypatch.context() as broken:
            broken.setattr(Connection, "commit", full)
            refused = await site.post("/api/answer", body, token)
            health = await site.get("/health")
        rows = site.count("answer")
        site.wait(1)
        again = await site.post("/api/answer", body, token)

        assert (refused.status_code, health.status_code) == (503, 503)
        assert int(refused.headers["retry-after"]) > 0
        assert "sent again" in refused.json()["error"]
        assert rows == 0
        assert (again.status_code, site.count("answer")) == (200, 1)
        assert (await site.get("/health")).json()["status"] == "ok"

    visit(story)


def test_r8_database_that_is_gone_is_a_503(visit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(database: Database) -> Connection:
        raise Unavailable("The database cannot be reached.")

    async def story(site: Any) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(Database, "connect", gone)
            entry = {"parameters": {"participant": "ann"}}
            refused = await site.post("/api/enter", entry)
        token = await site.enter()

        assert refused.status_code == 503
        assert (await site.screen(token))["stage"] == "trials"

    visit(story)


def test_unused_places_are_given_back_while_serving(
    visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.elicit.web.app.EXPIRE_SECONDS", 0.02)

    async def story(site: Any) -> None:
        await site.screen(await site.enter())
        before = site.rows("SELECT sum(reserved) FROM stimulus")
        site.wait(3600)
        await asyncio.sleep(0.3)

        assert before == [(2,)]
        assert site.rows("SELECT sum(reserved) FROM stimulus") == [(0,)]

    visit(story)


def test_mistake_of_ours_is_a_plain_500_and_logs_no_values(
    visit: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: Any, **more: Any) -> None:
        raise KeyError("CANARY-in-a-message")

    async def story(site: Any) -> None:
        monkeypatch.setattr("sfumato.elicit.session.commands.enter", broken)
        entry = {"parameters": {"participant": "CANARY-person"}}
        reply = await site.post("/api/enter", entry)

        assert reply.status_code == 500
        assert "CANARY" not in reply.text
        assert reply.headers["x-content-type-options"] == "nosniff"

    visit(story)
    assert "KeyError" in caplog.text
    assert "CANARY" not in caplog.text.replace('CANARY-in-a-message")', "")


def test_page_texts_and_health_are_served(visit: Any, study_folder: Path) -> None:
    async def story(site: Any) -> None:
        page = await site.get("/?participant=ann")
        words = await site.get("/texts/xx-YY.json")

        assert page.headers["content-type"].startswith("text/html")
        assert 'src="static/main.js"' in page.text
        assert "participant" not in page.text
        assert words.json() == (await site.get("/texts/en.json")).json()
        assert (await site.get("/health")).status_code == 200
        for path, status in (("/nothing", 404), ("/static/nothing.js", 404), ("/api/answer", 405)):
            reply = await site.get(path)
            assert reply.status_code == status
            assert set(reply.json()) == {"error", "faults"}

    visit(story)


def test_r9_end_of_serving_finishes_what_waits_and_stops_the_writer(
    study_folder: Path, site_of: Any
) -> None:
    async def serve() -> tuple[Any, Any]:
        async with site_of(study_folder) as site:
            token = await site.enter()
            body = site.body_of((await site.screen(token))["trial"]["id"])
            waiting = asyncio.create_task(site.post("/api/answer", body, token))
            await asyncio.sleep(0)
        return site, await waiting

    site, reply = asyncio.run(serve())

    assert reply.status_code == 200
    assert site.count("answer") == 1
    with pytest.raises(Unavailable, match="stopping"):
        site.writer.run_and_wait(lambda *arguments, **more: None)
