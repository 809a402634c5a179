"""Start the servers that are measured, and read their CPU time and memory from /proc."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

__all__ = ["SFUMATO", "Server", "free_port", "postgresql", "sfumato_server", "started"]

SFUMATO = (sys.executable, "-c", "from sfumato.cli import main; main()")
PATIENCE = 180.0
"""Seconds until a server that does not answer counts as broken; Potato may take half a minute."""


@dataclass(frozen=True)
class Server:
    """A running server with the processes it started."""

    port: int
    pid: int
    seconds_to_start: float
    """From the start of the process until the first answer over HTTP."""

    def cpu_seconds(self) -> float:
        """Used so far by the process, its threads and its children."""
        ticks = sum(_ticks(pid) for pid in _family(self.pid))
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """Resident, of the process and its children."""
        return sum(_status_kb(pid, "VmRSS") for pid in _family(self.pid)) / 1024

    def peak_memory_mb(self) -> float:
        """The most that was resident at any time."""
        return sum(_status_kb(pid, "VmHWM") for pid in _family(self.pid)) / 1024


@contextmanager
def sfumato_server(
    folder: Path, *, database: str | None = None, workers: int = 1
) -> Iterator[Server]:
    """``sfumato elicit serve`` on a port of its own."""
    port = free_port()
    command = [*SFUMATO, "elicit", "serve", str(folder), f"--port={port}"]
    command += ["--entries-per-minute=1000000"]  # everybody comes from one address
    if database is not None:
        command += [f"--database={database}", f"--workers={workers}"]
    with started(command, port, "/health") as server:
        yield server


@contextmanager
def started(
    command: Sequence[str], port: int, path: str, *, folder: Path | None = None
) -> Iterator[Server]:
    """A server process, from its first answer until it is told to stop."""
    with tempfile.TemporaryFile() as log:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder
        )
        try:
            while not _answers(port, path):
                if process.poll() is not None or time.perf_counter() - begun > PATIENCE:
                    log.seek(0)
                    told = log.read()[-2_000:].decode(errors="replace")
                    raise RuntimeError(f"{command[0]} does not answer at {path}:\n{told}")
                time.sleep(0.005)
            yield Server(port, process.pid, time.perf_counter() - begun)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def postgresql() -> Iterator[str | None]:
    """The address of a PostgreSQL server made for this run, which flushes; None if there is none.

    It listens on a socket in a folder of its own.
    """
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # as Debian has them
    tools = installed[-1] if installed else Path(shutil.which("initdb") or "nowhere").parent
    if not (tools / "initdb").exists():
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
    as_user: list[str] = []
    if os.geteuid() == 0:  # it refuses to run as root
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    cluster = folder / "data"

    def run(*command: str) -> None:
        whole = [*as_user, *command]
        subprocess.run(whole, check=True, cwd=folder, timeout=120, stdout=subprocess.DEVNULL)

    run(str(tools / "initdb"), "-D", str(cluster), "-U", "bench", "-A", "trust")
    control = [str(tools / "pg_ctl"), "-D", str(cluster), "-w", "-l", str(folder / "log")]
    try:
        run(*control, "-o", f"-k {folder} -c listen_addresses=''", "start")
        yield f"postgresql://bench@/postgres?host={folder}"
    finally:
        run(*control, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int, path: str) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


def _family(pid: int) -> list[int]:
    """The process and all that it started."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            children = (task / "children").read_text().split()
            found += [member for child in children for member in _family(int(child))]
    return found


def _ticks(pid: int) -> int:
    # The name in the second field may hold blanks; utime and stime are fields 14 and 15.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _status_kb(pid: int, name: str) -> int:
    for row in Path(f"/proc/{pid}/status").read_text().splitlines():
        if row.startswith(name + ":"):
            return int(row.split()[1])
    return 0
