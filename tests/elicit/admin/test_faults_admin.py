"""Faults that an attack on the dashboard found: none may come back."""

from pathlib import Path
from typing import Any

import httpx
from tests.elicit.admin.conftest import (
    ADMIN_KEY,
    Office,
    browsing,
    form_of,
    log_in,
    make_office,
    office_on_both,
    visit,
)

from sfumato.elicit.admin.app import admin_app
from sfumato.elicit.web.app import make_app


def cookies_of(client: httpx.AsyncClient) -> dict[str, str]:
    return dict(client.cookies.items())


@office_on_both
def test_fault_06_logout_ends_the_session_everywhere(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        kept = cookies_of(client)
        assert (await client.get("/admin/data.json")).status_code == 200
        await client.post("/admin/logout", data={"form": await form_of(client)})
        async with browsing(office) as thief:
            thief.cookies.update(kept)
            assert (await thief.get("/admin/data.json")).status_code == 401
            assert (await log_in(thief)).status_code == 303  # the key still opens

    visit(office, steps)


def test_fault_06_another_admin_key_ends_all_sessions(office: Office, tmp_path: Path) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        other = admin_app(office.writer, office.live, admin_key="another long key for tests")
        app = make_app(tmp_path, writer=office.writer, admin=other)
        transport = httpx.ASGITransport(app=app, client=("198.51.100.7", 4))
        async with httpx.AsyncClient(transport=transport, base_url="http://site") as changed:
            changed.cookies.update(cookies_of(client))
            assert (await changed.get("/admin/data.json")).status_code == 401

    visit(office, steps)


def test_fault_07_withdrawal_on_the_dashboard_leaves_no_trace_in_the_files(
    office: Office, tmp_path: Path
) -> None:
    office.desk.enter("CANARY-platform-id")
    ((person,),) = office.desk.rows("SELECT max(id) FROM participant")
    office.desk.connection.close()  # nobody else reads
    told: list[str] = []

    async def steps(client: httpx.AsyncClient) -> None:
        form = {"act": "withdraw", "participant": person, "sure": "yes"}
        reply = await client.post("/admin/act", data={**form, "form": await form_of(client)})
        told.append(reply.text)

    visit(office, steps)

    assert "erased" in told[0]
    for file in tmp_path.glob("study.sqlite*"):
        assert b"CANARY" not in file.read_bytes(), file.name


async def try_to_log_in(office: Office, address: str, key: str) -> int:
    transport = httpx.ASGITransport(app=office.app, client=(address, 4))
    async with httpx.AsyncClient(transport=transport, base_url="http://site") as client:
        return (await client.post("/admin/login", data={"key": key})).status_code


def test_fault_20_guessing_elsewhere_does_not_keep_the_researcher_out(office: Office) -> None:
    async def steps(client: httpx.AsyncClient) -> None:
        tried = [
            await try_to_log_in(office, f"203.0.113.{host}", "a wrong guess")
            for host in range(12)
            for _ in range(6)
        ]
        assert set(tried) == {403, 429}  # each address is slowed down
        assert await try_to_log_in(office, "192.0.2.77", ADMIN_KEY) == 303

    visit(office, steps)


def test_fault_21_studies_of_one_host_have_cookies_of_their_own(tmp_path: Path) -> None:
    offices = [make_office(folder, people=0) for folder in two_folders(tmp_path)]
    names: list[Any] = []

    async def steps(client: httpx.AsyncClient) -> None:
        names.append(set(client.cookies))

    for office in offices:
        study = office.desk.collection
        object.__setattr__(study, "key", bytes([len(names)]) * 32)
        app = make_app(
            Path(office.desk.database.path).parent,
            writer=office.writer,
            admin=admin_app(office.writer, office.live, admin_key=ADMIN_KEY),
        )
        visit(Office(office.desk, office.writer, office.live, app), steps)
        office.writer.stop()
        office.desk.connection.close()

    assert len(names[0]) == len(names[1]) == 1
    assert names[0] != names[1]


def two_folders(place: Path) -> list[Path]:
    folders = [place / "one", place / "two"]
    for folder in folders:
        folder.mkdir()
    return folders
