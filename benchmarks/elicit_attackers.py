"""Attackers of a study on this machine: bounded in number and time, and they stop by themselves.

    python benchmarks/elicit_attackers.py ATTACK PORT SECONDS

Everything goes to 127.0.0.1, from 127.0.0.2, by one process on one core. Prints what was done.
"""

import asyncio
import json
import os
import resource
import secrets
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from elicit_line import request_of

__all__ = ["ATTACKS"]

TARGET, SOURCE = "127.0.0.1", "127.0.0.2"
HELD, FLOODING = 1_100, 64
"""Connections at once, of those that wait and of those that ask."""
MOST = 200_000
"""Connections and requests at most, whatever the time."""
LONGEST_SECONDS = 60.0
BOMB_BYTES = 500_000_000

done: Counter[str] = Counter()


async def _connect(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if done["connections"] >= MOST:
        await asyncio.sleep(LONGEST_SECONDS)
    done["connections"] += 1
    return await asyncio.open_connection(TARGET, port, local_addr=(SOURCE, 0))


async def _hold(port: int, begin: bytes, drip: bytes) -> None:
    """Connections that send a beginning and then hardly anything; closed ones come again."""

    async def one() -> None:
        while True:
            with suppress(OSError):
                reader, writer = await _connect(port)
                writer.write(begin)
                while not reader.at_eof():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(1024), 2)
                    writer.write(drip)
                done["closed by the server"] += 1
                writer.close()
            await asyncio.sleep(0.2)

    await asyncio.gather(*(one() for _ in range(HELD)))


async def _flood(port: int, make: Callable[[], bytes]) -> None:
    """Connections that ask as fast as they are answered."""

    async def one() -> None:
        while done["requests"] < MOST:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                reader, writer = await _connect(port)
                while done["requests"] < MOST:
                    done["requests"] += 1
                    writer.write(make())
                    head = await reader.readuntil(b"\r\n\r\n")
                    done[f"status {head[9:12].decode()}"] += 1
                    length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
                    await reader.readexactly(int(length or 0))
                    if b"connection: close" in head.lower():
                        break
                writer.close()
            await asyncio.sleep(0.01)

    await asyncio.gather(*(one() for _ in range(FLOODING)))


def _forged(path: str, method: str = "GET", body: object = None) -> bytes:
    bearer = {"Authorization": f"Bearer {secrets.token_urlsafe(32)}"}
    return request_of(method, path, headers=bearer, body=body)


def _squat() -> bytes:
    entry = {"parameters": {"participant": secrets.token_hex(12)}, "consent_version": "1"}
    return request_of("POST", "/api/enter", body=entry)


def _guess() -> bytes:
    return request_of("POST", "/admin/login", body=f"key={secrets.token_hex()}")


async def _unpack(_port: int) -> None:
    """Make studies from an archive that says 1,000 bytes and holds 500 MB."""
    with tempfile.TemporaryDirectory() as scratch:
        bomb = Path(scratch) / "bomb.zip"
        with (
            zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            archive.open("a.png", "w") as entry,
        ):
            for _ in range(BOMB_BYTES // 1_000_000):
                entry.write(bytes(1_000_000))
        lie = bomb.read_bytes().replace(struct.pack("<I", BOMB_BYTES), struct.pack("<I", 1_000))
        bomb.write_bytes(lie)
        (Path(scratch) / "classes").write_text("cat\ndog\n")
        command = [sys.executable, "-c", "from sfumato.cli import main; main()", "elicit", "new"]
        command += [f"{scratch}/study", f"--images={bomb}", f"--classes={scratch}/classes"]
        while True:
            made = await asyncio.to_thread(
                subprocess.run, [*command, "--question=distribution"], capture_output=True
            )
            done["archives refused" if made.returncode else "archives TAKEN"] += 1
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
            done["MB at most"] = max(done["MB at most"], peak)


HALF_HEAD = b"POST /api/answer HTTP/1.1\r\nHost: x\r\n"


def _half_body() -> bytes:
    return request_of("POST", "/api/answer", body={"trial": 1})[:-4]


ATTACKS: dict[str, Callable[[int], Awaitable[None]]] = {
    "half-sent heads": lambda port: _hold(port, HALF_HEAD, b"X: y\r\n"),
    "half-sent bodies": lambda port: _hold(port, _half_body(), b""),
    "silent connections": lambda port: _hold(port, b"", b""),
    "flood of pages": lambda port: _flood(port, lambda: request_of("GET", "/")),
    "flood of health": lambda port: _flood(port, lambda: request_of("GET", "/health")),
    "forged tokens": lambda port: _flood(port, lambda: _forged("/api/screen")),
    "forged answers of 16 KB": lambda port: _flood(
        port, lambda: _forged("/api/answer", "POST", {"answer": "x" * 15_000})
    ),
    "header bombs": lambda port: _flood(
        port, lambda: request_of("GET", "/", headers={"X-Long": "a" * 200_000})
    ),
    "squatting": lambda port: _flood(port, _squat),
    "guessing the admin key": lambda port: _flood(port, _guess),
    "zip bombs": _unpack,
}


async def _for_a_while(name: str, port: int, seconds: float) -> None:
    attack: asyncio.Future[None] = asyncio.ensure_future(ATTACKS[name](port))
    orders = asyncio.create_task(asyncio.to_thread(sys.stdin.read))  # ends with whoever started it
    await asyncio.wait({attack, orders}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    if attack.done():
        attack.result()
    print(json.dumps(done), flush=True)
    os._exit(0)


def main() -> None:
    name, port, seconds = sys.argv[1], int(sys.argv[2]), min(float(sys.argv[3]), LONGEST_SECONDS)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    asyncio.run(_for_a_while(name, port, seconds))


if __name__ == "__main__":
    main()
