"""The dashboard's pages of one person, one item and pairs; downloads, messages, pause, preview."""

import asyncio
import csv
import io
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.elicit.admin.conftest import ADMIN_KEY, Office, browsing, form_of, log_in, visit
from tests.elicit.web.conftest import make_study as study_in

from sfumato.elicit.live.detail import over_time, pairs_of_people, person_detail
from sfumato.elicit.serve import served_app
from sfumato.elicit.web import app as web_app


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_person_page_sets_their_answers_beside_those_of_others(office: Office) -> None:
    office.live.refresh()
    found = person_detail(office.live, 2)  # always dog; others cat, a script, cat
    first = [one for one in found["answers"] if one["view"] == "first"]

    assert len(first) == 6
    assert {tuple(one["probs"]) for one in first} == {(0.0, 1.0, 0.0)}
    apart = {one["far"] for one in first} - {None}
    assert apart == {1.0}  # nobody else ever said dog
    assert {one["right"] for one in found["answers"] if one["view"] == "check"} == {False}

    async def steps(client: httpx.AsyncClient) -> None:
        text = (await client.get("/admin/person/2")).text
        assert "6. " in text or "item-main" in text
        assert "<script>alert" not in text
        assert (await client.get("/admin/person/99")).status_code == 404

    visit(office, steps)


def test_item_page_shows_every_answer_about_it(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        data = (await client.get("/admin/data.json?items=all")).json()
        busiest = max(data["items"]["items"], key=lambda one: one["answers"])
        text = (await client.get(f"/admin/item/{busiest['stimulus']}")).text
        assert text.count('href="/admin/person/') == busiest["answers"]
        assert (await client.get("/admin/item/999")).status_code == 404

    visit(office, steps)


def test_filters_leave_others_out(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        whole = (await client.get("/admin/items?sort=item")).text
        some = (await client.get("/admin/items?search=MAIN-7")).text
        assert "item-main-7" in some and "item-main-8" in whole and "item-main-8" not in some
        assert "0 items" in (await client.get("/admin/items?state=paused")).text
        assert "4 people" in (await client.get("/admin/people?state=finished")).text
        assert "0 people" in (await client.get("/admin/people?state=left+out")).text
        assert "1 people" in (await client.get("/admin/people?search=2")).text
        assert (await client.get("/admin/people?state=nonsense")).status_code == 400

    visit(office, steps)


def test_pairs_are_compared_on_what_both_answered(office: Office) -> None:
    office.live.refresh()
    pairs = {
        frozenset((one["first_id"], one["second_id"])): one
        for one in pairs_of_people(office.live).to_dicts()
    }

    alike = frozenset((1, 4))  # both always cat
    assert len(pairs) > 2
    assert {who: one["same"] for who, one in pairs.items()} == {
        who: float(who == alike) for who in pairs
    }

    async def steps(client: httpx.AsyncClient) -> None:
        assert "/admin/person/4" in (await client.get("/admin/pairs")).text

    visit(office, steps)


def test_bars_over_time_hold_every_answer(office: Office) -> None:
    office.live.refresh()
    found = over_time(office.live)

    assert sum(one["answers"] for one in found["bins"]) == office.desk.count("answer")


def test_tables_are_handed_out_without_platform_ids_and_noted(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        for what, rows in (("labels", 12), ("words", 4), ("events", 4 * 10)):
            reply = await client.get(f"/admin/download/{what}.csv")
            assert reply.headers["content-disposition"].endswith(f'animals-{what}.csv"')
            assert len(rows_of(reply.text)) == rows
            assert "person0" not in reply.text
        labels = rows_of((await client.get("/admin/download/labels.csv")).text)
        assert {float(row["cat"]) for row in labels if row["cat"]} <= {0, 1 / 3, 0.5, 2 / 3, 1.0}
        assert (await client.get("/admin/download/flags.csv")).status_code == 200
        assert (await client.get("/admin/download/key.csv")).status_code == 404
        assert "download" in (await client.get("/admin/log")).text

    visit(office, steps)


def test_pay_list_asks_for_the_key_again(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        form = await form_of(client)
        refused = await client.post("/admin/pay", data={"form": form, "key": "guessed key"})
        assert refused.status_code == 403
        assert "person0" not in refused.text
        given = await client.post("/admin/pay", data={"form": form, "key": ADMIN_KEY})
        assert [row["platform_id"] for row in rows_of(given.text)] == [
            f"person{n}" for n in range(4)
        ]
        assert (await client.get("/admin/pay")).status_code == 405
        assert "person0" not in (await client.get("/admin/log")).text

    visit(office, steps)


def test_message_and_pause_reach_people_and_no_answer_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_app, "BOARD_SECONDS", 0.05)
    bare: dict[str, Any] = {name: [] for name in ("consent", "instructions", "comprehension")}
    folder = study_in(tmp_path / "study", welcome=bare)
    app = served_app(folder, admin_key=ADMIN_KEY)

    async def story() -> None:
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://site") as client,
        ):
            entry = {"parameters": {"participant": "ann"}}
            token = (await client.post("/api/enter", json=entry)).json()["token"]
            head = {"authorization": f"Bearer {token}"}
            shown = (await client.get("/api/screen", headers=head)).json()
            await log_in(client)
            form = await form_of(client)
            message = {"form": form, "act": "announce", "message": "Back at 14:00 – thanks"}
            await client.post("/admin/act", data=message)
            await client.post("/admin/act", data={"form": form, "act": "halt"})
            await asyncio.sleep(0.5)

            body = {"trial": shown["trial"]["id"], "key": "key00001", "answer": "cat"}
            body["timing"] = {"seconds": 1.0}
            reply = await client.post("/api/answer", json=body, headers=head)
            assert reply.json() == {"stage": "closed", "reason": "halted"}
            assert reply.headers["x-message"] == "Back%20at%2014%3A00%20%E2%80%93%20thanks"
            other = {"parameters": {"participant": "bob"}}
            assert (await client.post("/api/enter", json=other)).status_code == 410

            await client.post("/admin/act", data={"form": form, "act": "go-on"})
            await client.post("/admin/act", data={"form": form, "act": "announce", "message": ""})
            await asyncio.sleep(0.5)
            again = await client.get("/api/screen", headers=head)
            assert again.json()["trial"]["number"] == 2  # the answer was stored
            assert "x-message" not in again.headers

    asyncio.run(story())


def test_preview_is_for_researchers_and_stores_nothing(tmp_path: Path) -> None:
    folder = study_in(tmp_path / "study", recruiting={"entry": "signed"})
    app = served_app(folder, admin_key=ADMIN_KEY)

    async def story() -> None:
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://site") as client,
        ):
            assert (await client.get("/admin/preview/?participant=1")).status_code == 401
            await log_in(client)
            page = await client.get("/admin/preview/?participant=1")
            assert 'id="preview"' in page.text and 'src="static/main.js"' in page.text
            version = (await client.get("/admin/preview/consent")).json()["version"]
            entry = {"parameters": {"participant": "1"}, "consent_version": version}
            entered = await client.post("/admin/preview/api/enter", json=entry)
            assert entered.status_code == 200
            assert (await client.get("/admin/data.json")).json()["people"]["all"] == 0

    asyncio.run(story())


def test_named_admins_each_have_their_key(office: Office) -> None:
    from sfumato.elicit.admin.app import admin_app

    keys = {"ann": "ann's own long key", "bob": "bob's own long key"}
    office.app.router.routes.pop()
    office.app.mount("/admin", admin_app(office.writer, office.live, admins=keys))

    async def story() -> None:
        async with browsing(office) as client:
            assert "username" in (await client.get("/admin/")).text
            for wrong in ({"key": keys["ann"]}, {"name": "ann", "key": keys["bob"]}, {"name": "x"}):
                assert (await client.post("/admin/login", data=wrong)).status_code == 403
            right = {"name": "bob", "key": keys["bob"]}
            assert (await client.post("/admin/login", data=right)).status_code == 303
            form = await form_of(client)
            await client.post("/admin/act", data={"form": form, "act": "close"})
            assert "bob " in (await client.get("/admin/log")).text

    asyncio.run(story())
