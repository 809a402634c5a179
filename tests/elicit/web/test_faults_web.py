"""Faults that an attack on the running server found: none may come back."""

import contextlib
import os
import resource
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.responses import Response
from tests.elicit.conftest import empty_postgresql

from sfumato.elicit.design.places import database_url as file_url
from sfumato.elicit.design.presets import preset_study
from sfumato.elicit.storage.backup import copy_collection
from sfumato.elicit.storage.database import open_database

HALF = b"POST /api/answer HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process open the files of an attack, whatever it has open already."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8_192)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def attack(address: str, count: int, sent: bytes, *, source: str) -> Iterator[list[socket.socket]]:
    """So many connections that each send something and then wait."""
    place = urlsplit(address)
    opened: list[socket.socket] = []
    try:
        for _ in range(count):
            with contextlib.suppress(OSError):
                one = socket.create_connection(
                    (place.hostname, place.port), timeout=5, source_address=(source, 0)
                )
                opened.append(one)
                one.sendall(sent)
        yield opened
    finally:
        for one in opened:
            one.close()


def ended(one: socket.socket, seconds: float) -> bytes | None:
    """What was received until the other side closed; None where it did not."""
    one.settimeout(seconds)
    received = b""
    with contextlib.suppress(ConnectionError):
        while True:
            try:
                some = one.recv(65_536)
            except TimeoutError:
                return None
            if not some:
                break
            received += some
    return received


@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"], ids=["same", "other address"])
def test_fault_03_half_sent_requests_cut_nobody_off(
    study_folder: Path, start: Any, source: str
) -> None:
    _, address, _ = start(study_folder, files=1_024)
    with attack(address, 1_100, HALF, source=source):
        begun = time.monotonic()
        page = httpx.get(f"{address}/", timeout=10)
        entry = {"parameters": {"participant": "honest"}}
        entered = httpx.post(f"{address}/api/enter", json=entry, timeout=10)

        assert (page.status_code, entered.status_code) == (200, 200)
        assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        HALF,
        b"\r\n",
        b"POST /api/answer HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "an empty line", "half a body"],
)
def test_fault_03_request_that_does_not_come_is_not_waited_for(
    study_folder: Path, start: Any, sent: bytes
) -> None:
    _, address, _ = start(study_folder, "--request-seconds", 1)
    with attack(address, 1, sent, source="127.0.0.1") as (one,):
        begun = time.monotonic()
        assert ended(one, 10) is not None
        assert 0.5 < time.monotonic() - begun < 5


def test_fault_03_slow_but_steady_body_is_taken(study_folder: Path, start: Any) -> None:
    _, address, _ = start(study_folder)
    body = b'{"parameters":{"participant":"slow"}}'
    head = (
        f"POST /api/enter HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with attack(address, 1, head.encode(), source="127.0.0.1") as (one,):
        for place in range(0, len(body), 8):
            time.sleep(0.2)
            one.sendall(body[place : place + 8])
        assert (ended(one, 10) or b"").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "headers",
    [b"X-Long: " + b"a" * 200_000 + b"\r\n", b"".join(b"X-%d: a\r\n" % n for n in range(20_000))],
    ids=["200 KB", "20,000 headers"],
)
def test_fault_14_long_heads_are_refused(study_folder: Path, start: Any, headers: bytes) -> None:
    _, address, _ = start(study_folder)
    head = b"GET / HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n"
    with attack(address, 1, b"", source="127.0.0.1") as (one,):
        with contextlib.suppress(OSError):
            one.sendall(head)
        received = ended(one, 5)
        assert received is not None and b" 200 " not in received
    assert httpx.get(f"{address}/").status_code == 200


def test_fault_16_body_that_breaks_off_is_no_error(study_folder: Path, start: Any) -> None:
    _, address, log = start(study_folder)
    half = (
        b"POST /api/enter HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 500\r\n\r\n{"
    )
    with attack(address, 5, half, source="127.0.0.1"):
        time.sleep(0.3)
    time.sleep(0.5)

    assert httpx.get(f"{address}/").status_code == 200
    written = log.read_text()
    assert "Traceback" not in written and "Disconnect" not in written


def entry(person: str, **more: str) -> dict[str, Any]:
    return {"parameters": {"participant": person, **more}}


def test_fault_05_unsigned_or_changed_links_open_nothing(visit: Any, change_study: Any) -> None:
    change_study(recruiting={"entry": "signed"})

    async def story(site: Any) -> None:
        collection = site.writer.collection
        right = collection.link_signature("p17")
        for person, more in (
            ("p17", {}),
            ("p17", {"signature": ""}),
            ("p17", {"signature": right[:-1] + ("0" if right[-1] != "0" else "1")}),
            ("p18", {"signature": right}),
            ("p17", {"signature": "ä" * 32}),
        ):
            reply = await site.post("/api/enter", entry(person, **more))
            assert reply.status_code == 403, (person, more)
            assert "link" in reply.json()["error"]
        assert site.count("participant") == 0

        reply = await site.post("/api/enter", entry("p17", signature=right))
        assert reply.status_code == 200
        _, last = await site.finish(reply.json()["token"])
        again = await site.post("/api/enter", entry("p17", signature=right))
        assert (await site.screen(again.json()["token"]))["code"] == last["code"]

    visit(story)


def test_fault_05_signed_links_are_the_default() -> None:
    assert preset_study("choose-one", ["cat", "dog"]).recruiting.entry == "signed"


def test_fault_05_open_entry_shows_nobody_the_code_of_another(
    visit: Any, change_study: Any
) -> None:
    change_study(recruiting={"entry": "open"})

    async def story(site: Any) -> None:
        await site.finish(await site.enter("p17"))
        reply = await site.post("/api/enter", entry("p17"))
        assert reply.status_code == 409

    visit(story)


def test_fault_15_redirect_does_not_repeat_the_host(visit: Any) -> None:
    async def story(site: Any) -> None:
        for path in ("/admin", "/static", "/api/screen/"):
            status, headers, _ = await site.raw(path, headers={"host": "evil.example"})
            assert "evil.example" not in headers.get("location", "")
            assert status in (303, 307, 308, 401, 404)

    async def office(scope: Any, receive: Any, send: Any) -> None:
        await Response("office")(scope, receive, send)

    visit(story, admin=office)


def test_fault_22_browsers_are_told_to_stay_with_tls(visit: Any) -> None:
    async def story(site: Any) -> None:
        plain = await site.client.get("http://site/")
        safe = await site.client.get("https://site/")
        assert "strict-transport-security" not in plain.headers
        assert "max-age=" in safe.headers["strict-transport-security"]

    visit(story)


def test_fault_13_health_is_shared_and_the_light_one_writes_nothing(visit: Any) -> None:
    async def story(site: Any) -> None:
        ran: list[str] = []
        run = site.writer.run

        async def counted(command: Any, **request: Any) -> Any:
            ran.append(command.__name__)
            return await run(command, **request)

        site.writer.run = counted
        for _ in range(50):
            assert (await site.get("/healthz")).status_code == 200
        assert ran == []
        for _ in range(50):
            assert (await site.get("/health")).status_code == 200
        assert len(ran) == 1
        site.wait(1.5)
        assert (await site.get("/health")).status_code == 200
        assert len(ran) == 2

    visit(story)


def test_fault_13_forged_tokens_are_limited_and_known_ones_are_not(visit: Any) -> None:
    async def story(site: Any) -> None:
        token = await site.enter()
        shown = await site.screen(token)
        forged = [
            (await site.get("/api/screen", f"forged-token-number-{number:06d}")).status_code
            for number in range(300)
        ]
        posts = await site.post("/api/answer", site.body_of(1), "forged-token-number-x00000")
        assert set(forged) == {401, 429}
        assert forged.count(401) <= 100
        assert posts.status_code == 429
        reply = await site.answer(token, shown["trial"]["id"])  # same address, known token
        assert reply.status_code == 200

    visit(story)


def test_fault_09_workers_end_with_their_supervisor(
    study_folder: Path, start: Any, postgresql_server: str
) -> None:
    url = empty_postgresql(postgresql_server)
    copy_collection(open_database(file_url(study_folder)), open_database(url))
    process, address, _ = start(study_folder, "--database", url, "--workers", 2)
    process.kill()
    process.wait()
    until = time.monotonic() + 12
    while time.monotonic() < until:
        try:
            httpx.get(f"{address}/healthz", timeout=2)
        except httpx.ConnectError:
            break
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz", timeout=2)


def test_fault_08_hung_database_is_a_503(
    study_folder: Path, cluster: Any, postgresql_server: str, start: Any
) -> None:
    url = empty_postgresql(postgresql_server)
    copy_collection(open_database(file_url(study_folder)), open_database(url))
    _, address, _ = start(study_folder, "--database", url)
    token = httpx.post(f"{address}/api/enter", json=entry("ann")).json()["token"]
    head = {"authorization": f"Bearer {token}"}
    trial = httpx.get(f"{address}/api/screen", headers=head).json()["trial"]["id"]
    said = {"trial": trial, "key": "testkey1", "answer": "cat", "timing": {"seconds": 1.0}}
    servers = processes_of(cluster)
    for pid in servers:
        os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(1.2)  # what was found before is shared for a second
        begun = time.monotonic()
        health = httpx.get(f"{address}/health", timeout=30)
        answer = httpx.post(f"{address}/api/answer", json=said, headers=head, timeout=30)
        light = httpx.get(f"{address}/healthz", timeout=30)
        seconds = time.monotonic() - begun
    finally:
        for pid in servers:
            os.kill(pid, signal.SIGCONT)
    again = httpx.post(f"{address}/api/answer", json=said, headers=head, timeout=30)

    assert (health.status_code, answer.status_code, light.status_code) == (503, 503, 200)
    assert seconds < 25
    assert again.status_code == 200
    with open_database(url).reader() as connection:
        (count,) = connection.driver.execute("SELECT count(*) FROM answer").fetchone()
    assert count == 1


def processes_of(cluster: Any) -> list[int]:
    """PostgreSQL's own process and all that it started."""
    first = int((cluster.folder / "data" / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, children)]
