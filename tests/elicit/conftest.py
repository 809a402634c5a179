"""What tests of the elicitation server share: both databases, a small study, a desk to run it."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from sfumato.elicit.design.places import database_url as file_url
from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.session import commands
from sfumato.elicit.session.collection import Collection, collection_of
from sfumato.elicit.session.screen import AnswerGiven, TrialScreen
from sfumato.elicit.session.writer import run_once
from sfumato.elicit.storage import schema
from sfumato.elicit.storage.backup import copy_collection
from sfumato.elicit.storage.database import Connection, Database, open_database
from sfumato.elicit.storage.schema import Picture, Stimulus

KEY = b"a key only for tests, 32 bytes.."
CLASSES = ("cat", "dog", "deer", "horse")


@pytest.fixture
def study() -> ElicitStudy:
    """Six trials of choosing one of four classes, three people per item."""
    return make_study()


@pytest.fixture
def a_study() -> Callable[..., ElicitStudy]:
    """A study with some settings changed."""
    return make_study


def make_study(**changes: Any) -> ElicitStudy:
    settings: dict[str, Any] = {
        "name": "animals",
        "title": "Animals",
        "preset": "choose-one",
        "form": "choose-one",
        "classes": CLASSES,
        "wording": "Choose the label that fits.",
        "per_item": 3,
        "layout": {"trials_per_person": 6},
        **changes,
    }
    if settings["form"] in ("pairs", "triplets", "preference"):
        settings["classes"] = ()
    return ElicitStudy(**settings)


def stimuli_of(
    study: ElicitStudy, items: int, *, checks: int = 0, practice: int = 0, batches: int = 0
) -> list[Stimulus]:
    images = {"pairs": 2, "preference": 2, "triplets": 3}.get(study.form, 1)
    by_form: dict[str, dict[str, Any]] = {
        "typicality": {"class": "cat"},
        "mix": {"classes": ["cat", "dog"]},
    }
    shown = by_form.get(study.form, {})
    made = []
    for role, number in (("main", items), ("check", checks), ("practice", practice)):
        for place in range(number):
            made.append(
                Stimulus(
                    key=f"{role}{place}",
                    item=f"item-{role}-{place}",
                    images=tuple(f"p{role}{place}x{side}" for side in range(images)),
                    target=study.per_item,
                    shown=shown,
                    stratum=CLASSES[place % 4],
                    batch=f"batch{place % batches}" if batches and role == "main" else None,
                    role=role,  # type: ignore[arg-type]
                    gold="GOLD-deer" if role == "check" else None,
                    secret={"hidden": "SECRET-source"},
                )
            )
    return made


@dataclass
class Desk:
    """A filled database and a clock; runs one command at a time, as the writer does."""

    database: Database
    connection: Connection
    collection: Collection
    rng: np.random.Generator
    now: float = 1_000_000.0
    keys: Iterator[int] = field(default_factory=count)

    def run(self, command: Callable[..., Any], **request: Any) -> Any:
        return run_once(
            self.connection, self.collection, command, now=self.now, rng=self.rng, **request
        )

    def enter(self, person: str = "ann", **more: Any) -> str:
        entry = {"platform": "link", "platform_id": person, **more}
        token: str = self.run(commands.enter, **entry).token
        return token

    def screen(self, token: str) -> Any:
        return self.run(commands.screen, token=token)

    def given(self, trial: int, answer: Any = "cat", **more: Any) -> AnswerGiven:
        body = {"key": f"testkey{next(self.keys)}", "timing": {"seconds": 1.0}, **more}
        return AnswerGiven(trial=trial, answer=answer, **body)

    def answer(self, token: str, trial: int, answer: Any = "cat", **more: Any) -> Any:
        self.now += 1.5
        return self.run(commands.answer, token=token, given=self.given(trial, answer, **more))

    def finish(self, token: str, answer: Any = "cat") -> Any:
        """Answer everything; the last screen."""
        shown = self.screen(token)
        while isinstance(shown, TrialScreen):
            shown = self.answer(token, shown.trial.id, answer)
        return shown

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.driver.cursor()
        cursor.execute(sql)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found

    def count(self, table: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])

    def check_counters(self) -> None:
        """finished and reserved agree with the trials, and never exceed the target."""
        for id_, role, target, finished, reserved in self.rows(
            "SELECT id, role, target, finished, reserved FROM stimulus"
        ):
            states = self.rows(
                f"SELECT state, counted FROM trial WHERE stimulus = {id_} AND view <> 'repeat'"
            )
            assert finished == sum(bool(counted) for _, counted in states)
            assert reserved == sum(state in ("ahead", "open") for state, _ in states)
            assert role != "main" or finished + reserved <= target


@dataclass(frozen=True)
class Cluster:
    """A PostgreSQL server in a folder, which can be stopped and started again."""

    folder: Path
    tools: Path

    def run(self, tool: str, *arguments: str) -> None:
        # The server refuses to run as root.
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        subprocess.run(
            [*as_user, str(self.tools / tool), "-D", str(self.folder / "data"), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            timeout=120,
        )

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c max_connections=60"
        self.run("pg_ctl", "-l", str(self.folder / "log"), "-w", "-o", options, "start")

    def stop(self) -> None:
        """At once, as in a crash."""
        self.run("pg_ctl", "-m", "immediate", "-w", "stop")


@pytest.fixture(scope="session")
def cluster(needs: Callable[[str, str], None]) -> Iterator[Cluster]:
    """A PostgreSQL server started for these tests."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # as Debian has them
    tools = installed[-1] if installed else Path(shutil.which("initdb") or "").parent
    if not (tools / "initdb").exists():
        needs("postgres", "PostgreSQL is not installed (no initdb).")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    made = Cluster(folder, tools)
    made.run("initdb", "-U", "tester", "-A", "trust", "-N")
    made.start()
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_server(cluster: Cluster) -> str:
    """The address of a PostgreSQL server started for these tests, without a database name."""
    return f"postgresql://tester@/{{name}}?host={cluster.folder}"


def empty_postgresql(server: str, *, schema: str = "public") -> str:
    """The address of an empty database on a server.

    One that is emptied each time: making and dropping many takes the disk minutes.
    """
    url = server.format(name="postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = 'postgres' AND pid <> pg_backend_pid()"
        )
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        connection.execute(f"CREATE SCHEMA {schema}")
    return url if schema == "public" else f"{url}&options=-csearch_path%3D{schema}"


@dataclass(frozen=True)
class SmallDisk:
    """A disk of a few megabytes, which can be full."""

    folder: Path

    def fill(self) -> None:
        with (
            contextlib.suppress(OSError),
            (self.folder / "filler").open("wb", buffering=0) as file,
        ):
            while file.write(b"x" * 4096):
                pass

    def free(self) -> None:
        (self.folder / "filler").unlink()

    def mount(self, *options: str) -> bool:
        command = ["mount", "-t", "tmpfs", *options, "tmpfs", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(needs: Callable[[str, str], None]) -> Iterator[SmallDisk]:
    """A file system of its own, so that writing to it fails as on any disk that is full."""
    disk = SmallDisk(Path(tempfile.mkdtemp(prefix="disk-", dir="/tmp")))
    if not disk.mount("-o", "size=8m"):
        disk.folder.rmdir()
        needs("mount", "this user may not mount a small disk.")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk.folder)], check=True)
    disk.folder.rmdir()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new empty database, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.sqlite'}"
    return empty_postgresql(request.getfixturevalue("postgresql_server"))


on_both = pytest.mark.parametrize("place_of_study", ["sqlite", "postgresql"], indirect=True)
"""For tests of whole servers, which otherwise use the SQLite file of the study."""


@pytest.fixture
def place_of_study(request: pytest.FixtureRequest) -> Callable[[Path], str]:
    """The address of the database of a study in a folder, on PostgreSQL a copy of it."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return file_url
    url = empty_postgresql(request.getfixturevalue("postgresql_server"))

    def copied(folder: Path) -> str:
        copy_collection(open_database(file_url(folder)), open_database(url))
        return url

    return copied


def fill_desk(database: Database, study: ElicitStudy, items: int, roles: dict[str, int]) -> Desk:
    rng = np.random.default_rng(0)
    connection = database.connect()
    schema.create_all(connection)
    stimuli = stimuli_of(study, items, **roles)
    names = sorted({name for one in stimuli for name in one.images})
    pictures = [Picture(name, f"{name}.png", 160, 160, "0" * 64) for name in names]
    schema.fill(connection, study, pictures, stimuli, now=999_000.0, rng=rng)
    return Desk(database, connection, collection_of(study, KEY), rng)


@pytest.fixture
def open_desk(database_url: str) -> Iterator[Callable[..., Desk]]:
    """Make a desk from a study; ``items``, ``checks``, ``practice`` and ``batches`` are counts."""
    with ExitStack() as stack:

        def make(study: ElicitStudy, items: int = 12, **roles: int) -> Desk:
            desk = fill_desk(open_database(database_url), study, items, roles)
            stack.enter_context(desk.connection)
            return desk

        yield make


@pytest.fixture(scope="session")
def desk_in_memory() -> Callable[..., Desk]:
    """Make a desk without a file, for tests that need many."""

    def make(items: int, *, roles: dict[str, int], **changes: Any) -> Desk:
        return fill_desk(open_database("sqlite:///:memory:"), make_study(**changes), items, roles)

    return make


@pytest.fixture
def desk(open_desk: Callable[..., Desk], study: ElicitStudy) -> Desk:
    """The small study with twelve items."""
    return open_desk(study)
