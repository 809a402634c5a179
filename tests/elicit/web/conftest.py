"""What tests of the server share: small studies, a site to visit, simulated annotators."""

import asyncio
import itertools
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from starlette.applications import Starlette

from sfumato.elicit.design.places import database_url as file_url
from sfumato.elicit.design.places import open_study, read_key
from sfumato.elicit.design.presets import PRESETS
from sfumato.elicit.design.study import ElicitStudy, write_study
from sfumato.elicit.making.make import CHECKABLE, demo_study
from sfumato.elicit.session.collection import collection_of
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.web.app import make_app

CLASSES = ("cat", "dog", "<img src=x onerror=alert(1)>")
NOW = 1_800_000_000.0
ADMIN_KEY = "a long key for tests only"


def make_study(folder: Path, preset: str = "choose-one", **changes: Any) -> Path:
    """A study of 16 noise images in three classes, four trials a person."""
    rng = np.random.default_rng(0)
    items = [f"item{place:02d}" for place in range(16)]
    images = {item: rng.integers(0, 255, (8, 8), np.uint8) for item in items}
    labels = {item: CLASSES[place % 3] for place, item in enumerate(items)}
    if preset in ("pairs", "preference", "triplets", "mix", "top-two-mixed"):
        changes.setdefault("count", 12)
    if preset == "top-class":
        changes.setdefault("options", {"subset": [CLASSES[0], CLASSES[2]], "scale": 1})
    checked = PRESETS[preset].form in CHECKABLE
    layout = {"trials_per_person": 4, "checks_every": 2 * checked, **changes.pop("layout", {})}
    return demo_study(
        folder,
        images=images,
        labels=labels,
        classes=CLASSES,
        preset=preset,
        seed=0,
        layout=layout,
        recruiting={"entry": "open", **changes.pop("recruiting", {})},
        **changes,
    )


@pytest.fixture(scope="session")
def plain_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; tests take copies."""
    folder = tmp_path_factory.mktemp("studies") / "animals"
    bare: dict[str, list[str]] = {
        "consent": [],
        "instructions": [],
        "comprehension": [],
        "debrief": [],
    }
    make_study(folder, welcome=bare, per_item=50)
    study = open_study(folder)
    layout = study.layout.model_copy(update={"checks_every": 0, "practice": 0})
    write_study(study.model_copy(update={"layout": layout}), folder / "study.toml")
    return folder


@pytest.fixture
def study_folder(plain_study: Path, tmp_path: Path) -> Path:
    """A study without consent and instructions: entering leads to the first trial."""
    return Path(shutil.copytree(plain_study, tmp_path / "study"))


@pytest.fixture
def change_study(study_folder: Path) -> Callable[..., ElicitStudy]:
    """Replace settings of the study in its folder; tables are given in part."""

    def change(**changes: Any) -> ElicitStudy:
        settings = open_study(study_folder).model_dump()
        for key, value in changes.items():
            settings[key] = {**settings[key], **value} if isinstance(value, dict) else value
        study = ElicitStudy(**settings)
        write_study(study, study_folder / "study.toml")
        return study

    return change


def an_answer(question: Any, trial: dict[str, Any], pick: int) -> Any:
    """What a simulated annotator says; ``pick`` varies it."""
    form, classes = trial["question"]["form"], trial["classes"]
    named = classes or ["", "", ""]
    first, second, third = (named[(pick + step) % len(named)] for step in range(3))
    options = getattr(question, "options", {})
    scale = options.get("scale", 1)
    match form:
        case "choose-one":
            return first
        case "top-two":
            more = {"second": second, "second_percent": 20, "ruled_out": [third]}
            return {"first": first, "first_percent": 70, **more}
        case "sliders" | "top-class":
            return dict.fromkeys(options.get("subset") or classes, scale * 0.5)
        case "sparse":
            return {first: scale * 0.9, second: scale * 0.1}
        case "distribution":
            return {first: scale * 0.75, second: scale * 0.25}
        case "typicality":
            return {"class": trial["shown"]["class"], "typicality": scale * 0.5}
        case "likely-set" | "ranking":
            return [first, second]
        case "confidence":
            return {"choice": first, "confidence": "probably"}
        case "rating":
            return first
        case "number":
            return 1.25
        case "three-point":
            return {"lower": 10, "best": 10 + pick, "upper": 80}
        case "own-and-others":
            return {"own": first, "others": {first: scale * 0.25, second: scale * 0.75}}
        case "preference":
            return {"preferred": ("first", "second", "tie")[pick % 3]}
        case "yes-no-unsure" | "multi-label":
            return {first: "yes", second: "no", third: "unsure"}
        case "pairs":
            return {"rating": pick % 7}
        case "triplets":
            return {"closer": ("first", "second")[pick % 2]}
        case "mix":
            return {"perceived": 0.25, "confidence": 0.5}
    raise AssertionError(form)


@dataclass
class Site:
    """A running application without a network, and the time that it believes it is."""

    app: Starlette
    writer: Writer
    client: httpx.AsyncClient
    time: list[float]
    keys: Iterator[int] = field(default_factory=itertools.count)

    def wait(self, seconds: float) -> None:
        self.time[0] += seconds

    async def get(self, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        return await self.client.get(path, headers=bearer(token), **more)

    async def post(
        self, path: str, body: Any, token: str | None = None, **headers: str
    ) -> httpx.Response:
        given = {**bearer(token), **{name.replace("_", "-"): headers[name] for name in headers}}
        if isinstance(body, bytes | str):
            given = {"content-type": "application/json", **given}
            return await self.client.post(path, content=body, headers=given)
        return await self.client.post(path, json=body, headers=given)

    async def raw(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        chunks: tuple[bytes, ...] = (b"",),
        query: bytes = b"",
    ) -> tuple[int, dict[str, str], bytes]:
        """A request that no client would send: the path is not tidied, bodies have no length."""
        sent: list[Any] = []
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "root_path": "",
            "scheme": "http",
            "http_version": "1.1",
            "headers": [(n.lower().encode(), v.encode()) for n, v in (headers or {}).items()],
            "client": ("192.0.2.1", 1),
            "server": ("site", 80),
            "asgi": {"version": "3.0"},
        }
        rest = list(chunks)

        async def receive() -> Any:
            if not rest:  # the browser waits for its response
                await asyncio.Event().wait()
            body = rest.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(rest)}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:])

    async def enter(self, person: str = "ann", **more: Any) -> str:
        body = {"parameters": {"participant": person}, **more}
        self.wait(10)
        reply = await self.post("/api/enter", body)
        assert reply.status_code == 200, reply.text
        token: str = reply.json()["token"]
        return token

    async def screen(self, token: str) -> dict[str, Any]:
        self.wait(1)
        reply = await self.get("/api/screen", token)
        assert reply.status_code == 200, reply.text
        shown: dict[str, Any] = reply.json()
        return shown

    def body_of(self, trial: int, answer: Any = "cat", **more: Any) -> dict[str, Any]:
        key = f"testkey{next(self.keys)}"
        return {"trial": trial, "key": key, "answer": answer, "timing": {"seconds": 1.0}, **more}

    async def answer(self, token: str, trial: int, answer: Any = "cat") -> httpx.Response:
        self.wait(1)
        return await self.post("/api/answer", self.body_of(trial, answer), token)

    async def finish(self, token: str, pick: int = 0) -> tuple[list[int], dict[str, Any]]:
        """Go through the whole session; the trials that were acknowledged, and the last screen."""
        study, acknowledged = self.writer.collection.study, []
        shown = await self.screen(token)
        while shown["stage"] not in ("done", "closed"):
            self.wait(1)
            if shown["stage"] == "trials":
                trial = shown["trial"]
                said = an_answer(self.writer.collection.question, trial, pick + trial["number"])
                reply = await self.answer(token, trial["id"], said)
                assert reply.status_code == 200, reply.text
                acknowledged.append(trial["id"])
            else:
                right = [check.right for check in study.welcome.comprehension]
                said = right if shown["stage"] == "comprehension" else []
                body = {"stage": shown["stage"], "answers": said}
                reply = await self.post("/api/proceed", body, token)
                assert reply.status_code == 200, reply.text
            shown = reply.json()
        return acknowledged, shown

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Read with a connection of its own: only what is committed."""
        with self.writer.database.reader() as connection:
            cursor = connection.driver.cursor()
            cursor.execute(sql)
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found

    def count(self, table: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])


def bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"authorization": f"Bearer {token}"}


@asynccontextmanager
async def open_site(
    folder: Path,
    *,
    address: str = "198.51.100.7",
    database: str | None = None,
    make_admin: Callable[[Writer], Any] | None = None,
    **settings: Any,
) -> AsyncIterator[Site]:
    moment = [NOW]
    writer = Writer(
        open_database(database or file_url(folder)),
        collection_of(open_study(folder), read_key(folder)),
        rng=np.random.default_rng(0),
        clock=lambda: moment[0],
    )
    if make_admin is not None:
        settings["admin"] = make_admin(writer)
    app = make_app(folder, writer=writer, clock=lambda: moment[0], **settings)
    transport = httpx.ASGITransport(app=app, client=(address, 1))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://site") as client,
    ):
        yield Site(app, writer, client, moment)


async def _visit(
    folder: Path, story: Callable[[Site], Awaitable[None]], settings: dict[str, Any]
) -> None:
    async with open_site(folder, **settings) as site:
        await story(site)


@pytest.fixture
def visit(study_folder: Path, place_of_study: Callable[[Path], str]) -> Callable[..., None]:
    """Tell a story about a site that serves the study."""

    def run(story: Callable[[Site], Awaitable[None]], **settings: Any) -> None:
        folder = settings.pop("folder", study_folder)
        settings.setdefault("database", place_of_study(folder))
        asyncio.run(_visit(folder, story, settings))

    return run


def command(*arguments: object) -> list[str]:
    """The command ``sfumato elicit serve`` in a process of its own."""
    start = "from sfumato.cli import main; main()"
    return [sys.executable, "-c", start, "elicit", "serve", *map(str, arguments)]


def with_files(files: int | None) -> list[str]:
    """What stands before a command that may open so many files at once."""
    return [] if files is None else ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[bytes], str, Path]]]:
    """Start a server on a free port, which may open so many ``files``; the process, its address,
    its log."""
    started: list[subprocess.Popen[bytes]] = []

    def run(
        folder: Path, *options: object, files: int | None = None
    ) -> tuple[subprocess.Popen[bytes], str, Path]:
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = tmp_path / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*with_files(files), *command(folder, "--port", port, *options)],
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, "OMP_NUM_THREADS": "1", "SFUMATO_ADMIN_KEY": ADMIN_KEY},
            )
        started.append(process)
        address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            try:
                if httpx.get(f"{address}/health").status_code == 200:
                    return process, address, log
            except httpx.TransportError:
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    yield run
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def site_of() -> Any:
    """Open the site of a folder, for tests with an event loop of their own."""
    return open_site


@pytest.fixture(scope="session")
def study_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Make a study from a preset."""
    return lambda preset, **changes: make_study(
        tmp_path_factory.mktemp("preset") / preset, preset, **changes
    )


@pytest.fixture(scope="session")
def simulated_answer() -> Any:
    return partial(an_answer)
