"""Faults that an attack on the running server found: none may come back."""

import contextlib
import resource
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

HALF = b"POST /api/answer HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def few_files() -> Iterator[Callable[[], None]]:
    """Let what is started now open 1,024 files as usual, and this process more when told so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, hard))
    yield lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
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


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"], ids=["same", "other address"])
def test_fault_03_half_sent_requests_cut_nobody_off(
    study_folder: Path, start: Any, few_files: Callable[[], None], source: str
) -> None:
    _, address, _ = start(study_folder)
    few_files()
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
