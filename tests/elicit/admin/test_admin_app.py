"""The dashboard lets only the researcher in, shows text as text, and writes down what is done."""

import asyncio
import json
import re
import signal
from pathlib import Path
from typing import Any

import argon2
import httpx
import pytest
import uvicorn
from tests.elicit.admin.conftest import (
    ADMIN_KEY,
    SITE,
    Office,
    attend,
    browsing,
    form_of,
    log_in,
    make_office,
    office_on_both,
    visit,
)

from sfumato.elicit.admin.app import admin_app, server_is_stopping
from sfumato.errors import DataError

PAGES = ("", "items", "people", "rules", "words", "log")


@pytest.mark.parametrize("page", [*PAGES, "data.json", "events", "export.csv"])
def test_s10_nobody_sees_anything_without_the_key(office: Office, page: str) -> None:
    async def run() -> None:
        async with browsing(office) as client:
            reply = await client.get(f"/admin/{page}")
            assert reply.status_code == 401
            assert "cat" not in reply.text and "person" not in reply.text

            client.cookies.set("sfumato_admin", "9999999999.forged.signature", path="/admin")
            assert (await client.get(f"/admin/{page}")).status_code == 401

    asyncio.run(run())


@office_on_both
def test_s10_login_gives_a_strict_cookie_and_is_logged(office: Office) -> None:
    async def run() -> None:
        async with browsing(office) as client:
            assert (await log_in(client, "wrong")).status_code == 403
            reply = await log_in(client)
            cookie = reply.headers["set-cookie"].lower()
            assert reply.status_code == 303 and reply.headers["location"] == "/admin/"
            assert "httponly" in cookie and "samesite=strict" in cookie and "secure" not in cookie
            assert "path=/admin" in cookie
        async with browsing(office, "https://site") as client:
            assert "secure" in (await log_in(client)).headers["set-cookie"].lower()

    asyncio.run(run())
    logged = [row[0] for row in office.desk.rows("SELECT what FROM audit ORDER BY id")]
    assert logged == ["login refused", "login", "login"]


def test_s10_argon2_hash_of_the_key_opens_as_well(tmp_path: Path) -> None:
    hashed = argon2.PasswordHasher(time_cost=1, memory_cost=1024).hash(ADMIN_KEY)
    office = make_office(tmp_path, people=0, admin_key=hashed)

    visit(office, lambda client: client.get("/admin/"))  # type: ignore[arg-type,return-value]
    office.writer.stop()


def test_s10_guessing_is_slowed_down(office: Office) -> None:
    async def run() -> None:
        async with browsing(office) as client:
            replies = [await log_in(client, f"guess {n}") for n in range(8)]
            assert [reply.status_code for reply in replies] == [403] * 5 + [429] * 3
            assert int(replies[-1].headers["retry-after"]) >= 1
            assert (await log_in(client)).status_code == 429

    asyncio.run(run())


def test_s10_there_is_no_default_key(office: Office) -> None:
    with pytest.raises(DataError, match="needs an admin key"):
        admin_app(office.writer, office.live, admin_key="")


@office_on_both
def test_s9_forms_need_their_token_and_their_origin(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        form = await form_of(client)
        fields = {"act": "exclude", "participant": "1", "rule": "by hand"}
        elsewhere = {"origin": "https://elsewhere.example"}
        for data, headers in (
            (fields, {}),
            ({**fields, "form": "forged"}, {}),
            ({**fields, "form": form}, elsewhere),
            ({**fields, "form": form}, {"origin": "null"}),
        ):
            reply = await client.post("/admin/act", data=data, headers=headers)
            assert reply.status_code == 403
        body = json.dumps({**fields, "form": form})
        as_json = {"content-type": "application/json"}
        assert (await client.post("/admin/act", content=body, headers=as_json)).status_code == 400
        assert excluded(office) == [None] * 4

        reply = await client.post(
            "/admin/act", data={**fields, "form": form}, headers={"origin": SITE}
        )
        assert reply.status_code == 200
        assert excluded(office) == ["by hand", None, None, None]

    visit(office, steps)


def test_s9_pages_do_not_hide_the_origin_of_their_forms(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        headers = (await client.get("/admin/people")).headers
        assert headers["referrer-policy"] == "same-origin"  # no-referrer sends "Origin: null"
        assert "'unsafe-inline'" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"

    visit(office, steps)


@office_on_both
@pytest.mark.parametrize("page", [*PAGES, "data.json", "data.json?items=all"])
def test_s5_names_ids_and_words_are_shown_as_text(office: Office, page: str) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        text = (await client.get(f"/admin/{page}")).text
        for markup in ("<script>alert", "<img src=x", "<b>", "<i>", " style=", "javascript:"):
            assert markup not in text
        if page == "words":
            assert "&lt;script&gt;alert(&#39;words&#39;)&lt;/script&gt;" in text
            assert "&lt;b&gt;odd&lt;/b&gt;" in text
        if page == "items":
            assert "&lt;img src=x onerror" in text and "&lt;script&gt;alert" in text
        if page == "people":
            assert "&lt;b&gt;pseu" in text

    visit(office, steps)


@office_on_both
def test_acts_change_the_collection_and_are_in_the_log(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        form = await form_of(client)
        for fields in (
            {"act": "exclude", "participant": "2", "rule": "by hand"},
            {"act": "include", "participant": "2"},
            {"act": "refuse-pay", "participant": "3", "reason": "gave the code without answering"},
            {"act": "pay", "participant": "3"},
            {"act": "pause", "stimulus": "1"},
            {"act": "resume", "stimulus": "1"},
            {"act": "close"},
            {"act": "reopen"},
            {"act": "withdraw", "participant": "4", "sure": "yes"},
        ):
            reply = await client.post("/admin/act", data={**fields, "form": form})
            assert reply.status_code == 200, reply.text
        for fields, status in (
            ({"act": "withdraw", "participant": "1"}, 422),  # not ticked
            ({"act": "refuse-pay", "participant": "1", "reason": " "}, 422),
            ({"act": "exclude", "participant": "1 OR 1=1", "rule": "x"}, 422),
            ({"act": "exclude", "participant": "999", "rule": "x"}, 409),
            ({"act": "drop"}, 400),
        ):
            reply = await client.post("/admin/act", data={**fields, "form": form})
            assert reply.status_code == status
        assert (await client.get("/admin/export.csv")).text.startswith("item,annotator,answer,")
        assert (await client.get("/admin/export.exe")).status_code == 404

    visit(office, steps)
    rows = office.desk.rows("SELECT who, what FROM audit ORDER BY id")
    assert [what for _, what in rows] == [
        "login", "exclude", "include", "pay", "pay", "pause", "pause", "close", "reopen",
        "withdraw", "export",
    ]  # fmt: skip
    assert len({who for who, _ in rows}) == 1
    assert office.desk.count("participant") == 3


@office_on_both
def test_places_open_for_items_that_are_complete_and_have_not_converged(office: Office) -> None:
    # One person of each class answered about every item; now that is all that was wanted.
    office.desk.rows("UPDATE stimulus SET target = finished WHERE role = 'main' RETURNING id")
    before = dict(office.desk.rows("SELECT id, target FROM stimulus WHERE role = 'main'"))

    async def steps(client: httpx.AsyncClient) -> None:
        text = (await client.get("/admin/items")).text
        form = await form_of(client)
        shown = re.search(r"Open (\d+) places about (\d+) items", text)
        assert shown is not None
        reply = await client.post("/admin/act", data={"act": "open-places", "form": form})
        assert f"{shown[1]} places are open about {shown[2]} items" in reply.text
        assert "Open " + shown[1] not in (await client.get("/admin/items")).text

    visit(office, steps)
    after = dict(office.desk.rows("SELECT id, target FROM stimulus WHERE role = 'main'"))
    answered = [one for one, target in before.items() if target > 0]
    assert all(before[one] < after[one] <= 2 * before[one] for one in answered)
    assert office.desk.rows("SELECT count(*) FROM audit WHERE what = 'open places'") == [
        (len(answered),)
    ]
    office.desk.check_counters()


@office_on_both
def test_rules_are_previewed_applied_and_undone(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        text = (await client.get("/admin/rules")).text
        form = await form_of(client)
        assert "checks <small>(rule of this study)</small>" in text
        assert "Exclude 2 by checks" in text  # those who said dog and the script
        assert "right on 0 of 2 checks" in text
        assert excluded(office) == [None] * 4

        fields = {"act": "exclude-by-rule", "rule": "checks", "participants": "2", "form": form}
        await client.post("/admin/act", data=fields)
        assert excluded(office) == [None, "checks", None, None]  # only who was shown

        assert "Take back 1 excluded by checks" in (await client.get("/admin/rules")).text
        fields = {"act": "include-by-rule", "rule": "checks", "form": form}
        await client.post("/admin/act", data=fields)
        assert excluded(office) == [None] * 4
        office.desk.check_counters()

    visit(office, steps)


def test_pay_and_data_are_two_decisions(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        form = await form_of(client)
        fields = {"act": "exclude", "participant": "1", "rule": "checks", "form": form}
        await client.post("/admin/act", data=fields)
        people = (await client.get("/admin/data.json")).json()["people"]
        assert (people["excluded"], people["pay_refused"]) == (1, 0)

    visit(office, steps)
    assert office.desk.rows("SELECT paid FROM participant WHERE id = 1") == [(None,)]


def test_people_who_may_still_answer_are_not_found_by_rules(office: Office) -> None:
    attend(office.desk, "late", said="dog", end=False)

    async def steps(client: httpx.AsyncClient) -> None:
        text = (await client.get("/admin/rules")).text
        assert "Exclude 2 by checks" in text and "1 more may still answer" in text

    visit(office, steps)


@office_on_both
def test_data_json_is_whole_and_current(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        data = (await client.get("/admin/data.json?items=all")).json()
        assert data["progress"]["answers"] == office.desk.count("answer")
        assert len(data["items"]["items"]) == 12
        assert data["people"]["by_status"]["finished"] == 4

        attend(office.desk, "eve", said="cat")
        office.desk.now += 2
        data = (await client.get("/admin/data.json")).json()
        assert data["progress"]["answers"] == office.desk.count("answer")
        assert (await client.get("/admin/items?sort=nothing")).status_code == 400
        for sort in ("item", "answers", "change", "doubt"):
            assert (await client.get(f"/admin/items?sort={sort}&page=99")).status_code == 200
        for sort in ("latest", "checks", "time", "flags", "faults"):
            assert (await client.get(f"/admin/people?sort={sort}")).status_code == 200

    visit(office, steps)


def test_events_tell_of_changes_and_end_with_the_server(tmp_path: Path) -> None:
    stopping = [False]
    office = make_office(tmp_path, stopping=lambda: stopping[0], event_seconds=0.1)

    async def steps(client: httpx.AsyncClient) -> None:
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        heard: asyncio.Queue[str] = asyncio.Queue()
        listening = asyncio.create_task(listen(office, cookie, heard))
        assert "retry" in await asyncio.wait_for(heard.get(), 5)
        assert "event: changed" in await asyncio.wait_for(heard.get(), 5)
        await asyncio.sleep(0.5)
        assert heard.empty()  # nothing happened

        office.desk.now += 5
        attend(office.desk, "eve", said="cat")
        assert "event: changed" in await asyncio.wait_for(heard.get(), 5)
        stopping[0] = True
        await asyncio.wait_for(listening, 2)

    visit(office, steps)
    office.writer.stop()


async def listen(office: Office, cookie: str, heard: "asyncio.Queue[str]") -> None:
    """Open the stream as a server would: httpx waits for the end of what it reads."""
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": "/admin/events", "raw_path": b"/admin/events",
        "query_string": b"", "root_path": "", "scheme": "http", "http_version": "1.1",
        "headers": [(b"cookie", cookie.encode()), (b"host", b"site")],
        "client": ("198.51.100.7", 4), "server": ("site", 80),
        "asgi": {"version": "3.0", "spec_version": "2.4"},
    }  # fmt: skip

    async def receive() -> Any:
        await asyncio.sleep(3600)

    async def send(message: Any) -> None:
        if message.get("body"):
            heard.put_nowait(message["body"].decode())

    await office.app(scope, receive, send)


def test_stopping_server_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    server = uvicorn.Server(uvicorn.Config(app=lambda: None))
    monkeypatch.setattr(signal, "getsignal", lambda _: server.handle_exit)
    assert not server_is_stopping()

    server.should_exit = True
    assert server_is_stopping()


def excluded(office: Office) -> list[str | None]:
    return [row[0] for row in office.desk.rows("SELECT excluded FROM participant ORDER BY id")]
