"""A real browser, a real server in a thread, and a study of each kind to walk through."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

from sfumato.elicit.design.places import database_url
from sfumato.elicit.design.presets import PRESETS
from sfumato.elicit.making.make import new_study
from sfumato.elicit.serve import served_app
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.web.security import Limits

WIDE = {"width": 1280, "height": 720}
NARROW = {"width": 390, "height": 844}
CLASSES = [
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
]
SHORTER = {"rating": 5, "number": 2, "three-point": 2}
"""Scales with so many points."""
FAST = Limits(answers_per_second=1000, answer_burst=1000, calls_per_second=1000, call_burst=1000)


@dataclass
class Visitor:
    """A person in front of a page; everything that must never happen is noted."""

    page: Any
    wrongs: list[str]

    def stage(self) -> str:
        return str(self.page.locator("#main").get_attribute("class"))

    def wait_for_trial(self, number: int) -> None:
        self.page.wait_for_function(
            """(number) => document.querySelector("#progress span")?.textContent
                .startsWith(number + " ") && document.querySelector(".answer:not([inert])")
                && !document.documentElement.ariaBusy""",
            arg=number,
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Visitor]]:
    """Open a page in a browser without history; fails on dialogs, errors and CSP reports."""
    with ExitStack() as stack:
        visitors: list[Visitor] = []

        def go(url: str, size: dict[str, int] = WIDE, **more: Any) -> Visitor:
            context = chromium.new_context(viewport=size, **more)
            context.set_default_timeout(45_000)  # the page itself gives a request 20 s
            stack.callback(context.close)
            return watched(context.new_page(), url)

        def watched(page: Any, url: str) -> Visitor:
            wrongs: list[str] = []
            page.on("dialog", lambda dialog: _dismiss(dialog, wrongs))
            page.on("pageerror", lambda error: wrongs.append(str(error)))
            page.on("console", lambda said: _note(said, wrongs))
            page.goto(url)
            visitors.append(Visitor(page, wrongs))
            return visitors[-1]

        yield go
        for visitor in visitors:
            assert visitor.wrongs == []


def _dismiss(dialog: Any, wrongs: list[str]) -> None:
    wrongs.append(dialog.message)
    dialog.dismiss()


def _note(said: Any, wrongs: list[str]) -> None:
    # A request that fails is part of some tests, and refusals are spoken in statuses.
    if said.type == "error" and "Failed to load resource" not in said.text:
        wrongs.append(said.text)


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of an application that runs in a thread."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


@dataclass(frozen=True)
class Place:
    """A study that is being served."""

    folder: Path
    url: str
    database: str

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with open_database(self.database).connect() as connection:
            cursor = connection.driver.cursor()
            cursor.execute(sql)
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def pictures(number: int) -> dict[str, Any]:
    """Soft blobs of different colours, so that screenshots can be told apart."""
    y, x = np.mgrid[0:32, 0:32] / 31
    made = {}
    for place in range(number):
        rng = np.random.default_rng(place)
        blob = np.exp(-((x - rng.random()) ** 2 + (y - rng.random()) ** 2) * 6)
        colours = rng.integers(40, 255, size=3)
        made[f"picture-{place}"] = (blob[..., None] * colours).astype(np.uint8)
    return made


@pytest.fixture(scope="session")
def open_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Place]]:
    """Make and serve a study of a preset; three trials a person and no welcome unless asked."""
    with ExitStack() as stack:

        def make(
            preset: str,
            *,
            store: Callable[[Path], str] = database_url,
            admin_key: str | None = None,
            **changes: Any,
        ) -> Place:
            folder = tmp_path_factory.mktemp("place") / preset
            images = changes.pop("images", None) or pictures(12)
            form = PRESETS[preset].form
            settings: dict[str, Any] = {
                "per_item": 100,
                "recruiting": {"entry": "open", **changes.pop("recruiting", {})},
                "layout": {
                    "shuffle_classes": form not in ("rating", "number"),
                    "trials_per_person": 3,
                    "repeats": 0,
                    "repeat_numbers": [],
                    "checks_every": 0,
                    "per_class": False,
                    **changes.pop("layout", {}),
                },
            }
            if form not in ("pairs", "triplets", "preference"):
                settings["classes"] = CLASSES[: SHORTER.get(form, 10)]
            if PRESETS[preset].shows in ("mix", "image-and-class"):
                settings["labels"] = {
                    name: CLASSES[place % 10] for place, name in enumerate(dict(images))
                }
            if PRESETS[preset].shows == "mix":
                settings["count"] = 6
            if form == "top-class":
                settings["options"] = {"subset": CLASSES[:4]}
            if changes.get("welcome") is True:
                changes.pop("welcome")
            elif "welcome" not in changes:
                settings["welcome"] = {
                    "consent": [],
                    "instructions": [],
                    "comprehension": [],
                    "debrief": [],
                }
            new_study(folder, images=images, preset=preset, seed=0, **(settings | changes))
            database = store(folder)
            app = served_app(folder, database=database, limits=FAST, admin_key=admin_key)
            return Place(folder, stack.enter_context(served(app)), database)

        yield make
