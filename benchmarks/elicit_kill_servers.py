"""Servers that can be killed and started again: ``sfumato elicit serve``, and PostgreSQL."""

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

__all__ = [
    "PATIENCE",
    "PostgreSQL",
    "Relay",
    "Server",
    "free_port",
    "ready_server",
    "running_postgresql",
    "wait_for",
]

PATIENCE = 60.0
"""Seconds until something that should have happened counts as hung."""


def breed() -> None:
    """For each line of arguments run ``sfumato`` in a new process, and print its number.

    The code is read once here: a hundred starts of Python would take longer than everything else.
    """
    import sfumato.elicit.serve  # noqa: F401
    from sfumato.cli import main as sfumato_command

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead leave nothing behind
    while line := sys.stdin.readline():
        if (number := os.fork()) == 0:
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.setsid()
                os.dup2(2, 1)  # what the command says goes to the log
                sys.argv = ["sfumato", *json.loads(line)]
                sfumato_command()
            finally:
                os._exit(1)
        print(number, flush=True)


@dataclass
class Server:
    """``sfumato elicit serve``, which can be killed and started again."""

    folder: Path
    port: int
    database: str | None
    log: Path
    breeder: "subprocess.Popen[str]"
    workers: int = 1
    process: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        assert self.breeder.stdin is not None and self.breeder.stdout is not None
        options = [f"--port={self.port}", "--entries-per-minute=1000000"]
        options += [] if self.database is None else [f"--database={self.database}"]
        options += [] if self.workers == 1 else [f"--workers={self.workers}"]
        self.breeder.stdin.write(json.dumps(["elicit", "serve", str(self.folder), *options]) + "\n")
        self.breeder.stdin.flush()
        self.process = int(self.breeder.stdout.readline())

    def wait(self) -> None:
        wait_for(self.answers, "the server to start")

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        wait_for(lambda: not self._lives(), "the server to die")
        wait_for(lambda: not self._listens(), "the workers of a killed server to end")

    def kill_worker(self, rng: random.Random) -> None:
        """Kill one of several processes; the supervisor starts another."""
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()
        workers = [
            int(child)
            for child in children
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        with suppress(ProcessLookupError):
            os.kill(rng.choice(workers), signal.SIGKILL)

    def answers(self) -> bool:
        """Whether it could store an answer now."""
        if not self._lives():
            raise SystemExit(f"The server did not start:\n{self.log.read_text()}")
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.address}/health", timeout=5).status_code == 200
        return False

    def _listens(self) -> bool:
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _lives(self) -> bool:
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        return True


@contextmanager
def ready_server(
    folder: Path, database: str | None, log: Path, workers: int = 1
) -> Iterator[Server]:
    """A server that is not yet started, and is not running afterwards."""
    command = [sys.executable, __file__]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (
        log.open("ab") as written,
        subprocess.Popen(command, **pipes, stderr=written, text=True, env=environment) as breeder,
    ):
        server = Server(folder, free_port(), database, log, breeder, workers)
        try:
            yield server
        finally:
            if server.process:
                server.kill()
            breeder.kill()


@dataclass
class Relay:
    """A proxy that hands on what comes, byte by byte, in a process that can be killed."""

    port: int
    target: int
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        command = [sys.executable, __file__, str(self.port), str(self.target)]
        self.process = subprocess.Popen(command)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


async def relay(port: int, target: int) -> None:
    """Hand on every connection to another port of this machine."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            onward = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, onward[1]), pump(onward[0], writer))

    server = await asyncio.start_server(join, "127.0.0.1", port)
    await server.serve_forever()


@dataclass(frozen=True)
class PostgreSQL:
    """A PostgreSQL server in a folder, reached by a socket there."""

    folder: Path
    tools: Path

    @property
    def url(self) -> str:
        return f"postgresql://bench@/postgres?host={self.folder}"

    def create(self) -> None:
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-U", "bench", "-A", "trust", "-N", "--data-checksums")

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses=''"
        self.run("pg_ctl", "-l", str(self.folder / "log"), "-w", "-o", options, "start")

    def stop(self) -> None:
        """At once, as in a crash: nothing is finished, and the next start recovers."""
        self.run("pg_ctl", "-m", "immediate", "-w", "stop")

    def run(self, tool: str, *arguments: str) -> None:
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        place = [] if tool == "pg_amcheck" else ["-D", str(self.folder / "data")]
        command = [*as_user, str(self.tools / tool), *place, *arguments]
        said = subprocess.run(command, capture_output=True, cwd=self.folder, timeout=120)
        if said.returncode:
            raise SystemExit(f"{tool} failed: {said.stdout.decode()}{said.stderr.decode()}")


@contextmanager
def running_postgresql() -> Iterator[PostgreSQL]:
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # as Debian has them
    tools = installed[-1] if installed else Path(shutil.which("initdb") or "").parent
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as folder:  # short, for its socket
        made = PostgreSQL(Path(folder), tools)
        made.create()
        made.start()
        try:
            yield made
        finally:
            made.stop()


def wait_for(happened: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > until:
            raise SystemExit(f"Waited {PATIENCE:.0f} seconds for {what}.")
        time.sleep(0.02)


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(relay(int(sys.argv[1]), int(sys.argv[2])))
    else:
        breed()
