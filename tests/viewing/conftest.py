"""What tests of the page share: data to look at, and a browser that notes what must not happen."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.viewing.server import Viewer, view

CLASSES = ("cat", "dog", "<b>deer</b>")
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}

Serve = Callable[..., Viewer]
Visit = Callable[..., Any]


def make_crowd(items: int, rng: np.random.Generator, *, votes: int = 4) -> CrowdLabels:
    """Answers of ten simulated people, some of them distributions."""
    item = np.repeat(np.arange(items), votes)
    person = np.concatenate([rng.permutation(10)[:votes] for _ in range(items)])
    sure = rng.integers(0, 2, size=(len(item), 1))
    soft = rng.dirichlet(np.ones(len(CLASSES)), size=len(item))
    hard = np.eye(len(CLASSES))[rng.integers(len(CLASSES), size=len(item))]
    answers = np.where(sure == 1, hard, soft)
    people = tuple(f"p{number}" for number in range(10))
    names = tuple(f"item {number}" for number in range(items))
    return CrowdLabels(names, people, CLASSES, item, person, answers)


def make_beliefs(labels: LabelSet, rng: np.random.Generator) -> LabelSet:
    """What a model might believe about the same items."""
    noise = rng.dirichlet(np.ones(len(labels.classes)), size=len(labels))
    return LabelSet(labels.items, labels.classes, (labels.probs + noise) / 2)


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """Serve what is given to ``view``, until the tests of the file are done."""
    with ExitStack() as stack:

        def start(*sources: Any, **settings: Any) -> Viewer:
            viewer = view(*sources, **settings)
            stack.callback(viewer.stop)
            return viewer

        yield start


@pytest.fixture
def visit(chromium: Any) -> Iterator[Visit]:
    """Open a page and wait for its rows; errors, dialogs and CSP reports fail the test."""
    wrongs: list[str] = []
    with ExitStack() as stack:

        def go(viewer: Viewer, query: str = "", size: Mapping[str, int] = WIDE, **more: Any) -> Any:
            context = chromium.new_context(viewport=size, **more)
            stack.callback(context.close)
            page = context.new_page()
            page.on("dialog", lambda dialog: _dismiss(dialog, wrongs))
            page.on("pageerror", lambda error: wrongs.append(str(error)))
            page.on("console", lambda said: _note(said, wrongs))
            page.goto(f"{viewer.url}{query}")
            settled(page)
            return page

        yield go
    assert wrongs == []


def _dismiss(dialog: Any, wrongs: list[str]) -> None:
    wrongs.append(dialog.message)
    dialog.dismiss()


def _note(said: Any, wrongs: list[str]) -> None:
    # That there is no such item is spoken in a status.
    if said.type == "error" and "Failed to load resource" not in said.text:
        wrongs.append(said.text)


def settled(page: Any) -> None:
    """Wait until the rows that were asked for are drawn."""
    page.wait_for_function(
        """() => document.querySelector("#count").textContent
            && !document.querySelector("#rows").ariaBusy
            && !document.querySelector(".row[data-empty]")"""
    )


def shown_items(page: Any) -> list[str]:
    """The items that are drawn, from the top."""
    names: list[str] = page.locator(".row a").all_inner_texts()
    return names


def shot(page: Any, name: str) -> None:
    """Keep a picture of the page where ``SFUMATO_SHOTS`` says so."""
    import os

    if folder := os.environ.get("SFUMATO_SHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))
