"""Take the pictures of the page and the dashboard that the documentation shows.

    python docs/elicit/screenshots.py [FOLDER]

Makes a study of handwritten digits with every preset, serves it, walks it in Chromium at 1280 × 720
and 390 × 844 and writes one PNG a screen, by default beside this file. Whoever answers here is
simulated, and the pages of the dashboard say so.
"""

import io
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import typer
import uvicorn
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from sfumato.cli.elicit import demo_digits
from sfumato.elicit.admin.app import admin_app
from sfumato.elicit.design.places import database_url, open_study, read_key
from sfumato.elicit.design.presets import PRESETS
from sfumato.elicit.live.live import Live
from sfumato.elicit.making.make import demo_study
from sfumato.elicit.session import commands
from sfumato.elicit.session.collection import Collection, collection_of
from sfumato.elicit.session.screen import (
    AnswerGiven,
    AnswerTiming,
    DebriefScreen,
    ProceedGiven,
    ShownTrial,
    TrialScreen,
)
from sfumato.elicit.session.writer import Writer, run_once
from sfumato.elicit.storage.database import Connection, open_database
from sfumato.elicit.web.app import make_app
from sfumato.elicit.web.security import Limits

CHROMIUM = "/usr/bin/chromium"
SIZES: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1280, "height": 720}},
    "narrow": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
TALLEST = 860
"""Of a page of the dashboard, in pixels: what is below is more of the same."""
KEY = "only for pictures, of no use elsewhere"
LIMITS = Limits(answers_per_second=1000, answer_burst=1000, calls_per_second=1000, call_burst=1000)
QUIET: dict[str, Any] = {"consent": [], "instructions": [], "comprehension": [], "debrief": []}
NOW = 1_700_000_000.0
PEOPLE = 33

ALIKE = {
    "zero": "six", "one": "seven", "two": "seven", "three": "eight", "four": "nine",
    "five": "three", "six": "zero", "seven": "one", "eight": "three", "nine": "four",
}  # fmt: skip
"""What a digit is most easily taken for; only the pictures need it."""

Keys = list[str]


def main(folder: Path) -> None:
    """Write all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as place,
        sync_playwright() as running,
        running.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        ) as browser,
    ):
        for preset in PRESETS:
            study = _study(Path(place) / preset, preset, welcome=QUIET)
            with _served(study) as url:
                _shoot_trial(browser, url, study, preset, folder)
        study = _study(Path(place) / "session", "top-two-guarded", layout={"trials_per_person": 2})
        with _served(study) as url:
            _shoot_session(browser, url, study, folder)
        study = _study(
            Path(place) / "simulated", "distribution", welcome={**QUIET, "debrief": DEBRIEF},
            title="Digits (simulated answers)", per_item=6, layout={"repeats": 1},
            recruiting={"currency": "GBP", "pay": 0.6, "hourly": 9.0},
        )  # fmt: skip
        _answer_all(study)
        with _served(study) as url:
            _shoot_dashboard(browser, f"{url}/admin/", folder)
    sizes = [path.stat().st_size for path in folder.glob("*.png")]
    typer.echo(
        f"{len(sizes)} pictures in {folder}: {sum(sizes) / 1e6:.2f} MB, the largest "
        f"{max(sizes) / 1e3:.0f} KB."
    )


DEBRIEF = ["Was anything unclear?"]


def _study(folder: Path, preset: str, **changes: Any) -> Path:
    """A study of digits in which all see the classes in one order, without practice."""
    layout = {"shuffle_classes": False, "practice": 0, **changes.pop("layout", {})}
    digits = demo_digits()
    if PRESETS[preset].form == "top-class":
        changes["options"] = {"subset": ["three", "five", "eight", "nine"]}
    recruiting = {"entry": "open", **changes.pop("recruiting", {})}
    return demo_study(
        folder, preset=preset, seed=3, layout=layout, recruiting=recruiting, **digits, **changes
    )


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """The address of a study while it is served; everything drawn is drawn from one seed."""
    collection = collection_of(open_study(folder), read_key(folder))
    database = open_database(database_url(folder))
    writer = Writer(database, collection, rng=np.random.default_rng(5))
    live = Live(database, collection, clock=lambda: NOW)
    admin = admin_app(writer, live, admin_key=KEY, stopping=lambda: server.should_exit)
    app = make_app(folder, writer=writer, admin=admin, limits=LIMITS)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


@contextmanager
def _visit(browser: Browser, url: str, size: str) -> Iterator[Page]:
    context = browser.new_context(**SIZES[size])
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.goto(url)
    try:
        yield page
    finally:
        context.close()


def _save(page: Page, path: Path, **how: Any) -> None:
    """A picture with at most 48 colours, so that many of them stay small."""
    page.wait_for_timeout(150)
    taken = Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide", **how)))
    flat = taken.convert("RGB").quantize(48, dither=Image.Dither.NONE)
    flat.save(path, optimize=True)


def _shoot_trial(browser: Browser, url: str, study: Path, preset: str, folder: Path) -> None:
    for size in SIZES:
        with _visit(browser, f"{url}/?participant={size}", size) as page:
            page.wait_for_selector(".answer:not([inert])")
            for key in _keys(study, PRESETS[preset].form):
                page.keyboard.press(key)
            _save(page, folder / f"{preset}-{size}.png")


def _open_trial(study: Path) -> tuple[str | None, dict[str, Any]]:
    """The known class of the image that is being shown, and what is shown with it."""
    with open_database(database_url(study)).connect() as connection:
        cursor = connection.driver.cursor()
        cursor.execute(
            "SELECT stimulus.gold, stimulus.shown FROM trial JOIN stimulus ON stimulus.id = "
            "trial.stimulus WHERE trial.state = 'open' ORDER BY trial.id DESC LIMIT 1"
        )
        gold, shown = cursor.fetchone()
    return gold, json.loads(shown)


def _keys(study: Path, form: str) -> Keys:
    """What a simulated person presses before the picture is taken."""
    gold, _ = _open_trial(study)
    classes = list(open_study(study).classes)
    first = gold or "three"
    second = ALIKE[first]

    def key(name: str) -> str:
        return str((classes.index(name) + 1) % 10)

    others = [name for name in classes if name not in (first, second)]
    answers: dict[str, Callable[[], Keys]] = {
        "choose-one": list,
        "top-two": lambda: [
            key(first), *"70", "Enter", key(second), *"20", "Enter", *map(key, others[:6]),
        ],
        "distribution": lambda: [
            *[key(first)] * 13, *[key(second)] * 5, key(others[1]), key(others[1]),
            *(press for name in others[3:6] for press in ("x", key(name))),
        ],
        "sliders": lambda: [
            key(first), *["PageUp"] * 8, key(second), *["PageUp"] * 4, key(others[0]), "PageUp",
        ],
        "top-class": lambda: ["1", *["PageUp"] * 2, "3", *["PageUp"] * 8],
        "sparse": lambda: [key(first), *["PageUp"] * 4, key(second), *["PageDown"] * 2],
        "typicality": lambda: ["ArrowRight", "PageUp", "PageUp"],
        "yes-no-unsure": lambda: [
            "y" if name == first else "u" if name == second else "n" for name in classes[:-2]
        ],
        "likely-set": lambda: [key(first), key(second)],
        "ranking": lambda: [key(first), key(second), key(others[0])],
        "confidence": lambda: [key(first), "p"],
        "rating": lambda: [key(first)],
        "number": lambda: ["ArrowRight", "PageUp"],
        "multi-label": lambda: ["y" if name == first else "n" for name in classes[:-3]],
        "three-point": lambda: ["1", "PageDown", "2", "ArrowRight", "3", *["PageUp"] * 2],
        "own-and-others": lambda: [key(first), *[key(first)] * 12, *[key(second)] * 4],
        "preference": list,
        "pairs": lambda: ["4"],
        "triplets": list,
        "mix": lambda: ["1", *["PageDown"] * 2, "2", *["PageUp"] * 2],
    }  # fmt: skip
    return answers[form]()


def _shoot_session(browser: Browser, url: str, study: Path, folder: Path) -> None:
    """What lies around the trials, an answer that contradicts itself and one not yet sent."""
    for size in SIZES:
        with _visit(browser, f"{url}/?participant={size}", size) as page:

            def save(name: str, page: Page = page, size: str = size) -> None:
                _save(page, folder / f"{name}-{size}.png")

            page.get_by_role("button", name="I agree").wait_for()
            save("consent")
            page.get_by_role("button", name="I agree").click()
            page.get_by_role("heading", name="What you will do").wait_for()
            save("instructions")
            page.get_by_role("button", name="Continue").click()
            page.get_by_role("heading", name="Before you begin").wait_for()
            for check in open_study(study).welcome.comprehension:
                page.locator("label.option", has_text=check.right).click()
            save("comprehension")
            page.get_by_role("button", name="Continue").click()
            page.wait_for_selector(".answer:not([inert])")
            _press(page, [*"4", *"70", "Enter", *"9", *"60", "Enter", *"1", *"4"])
            save("contradiction")
            _press(page, ["4"])
            page.locator("[name=second_percent]").fill("30")
            page.context.set_offline(True)
            page.get_by_role("button", name="Send").click()
            page.get_by_text("not sent yet").wait_for()
            save("unsent")
            page.context.set_offline(False)
            _finish(page)
            save("debrief")
            page.get_by_role("button", name="Finish").click()
            page.locator(".code").wait_for()
            save("done")


def _press(page: Page, keys: Keys) -> None:
    for key in keys:
        page.keyboard.press(key)


def _finish(page: Page) -> None:
    """Answer whatever is still asked."""
    debrief = page.get_by_role("heading", name="Thank you: a few last questions")
    shown = page.locator(".images img")
    while True:
        page.wait_for_function(
            "() => !document.documentElement.ariaBusy && (document.querySelector('textarea')"
            " || document.querySelector('.answer:not([inert])'))"
        )
        if debrief.count():
            return
        before = shown.get_attribute("src")
        _press(page, [*"4", *"100", "Enter", "n", "Enter"])
        page.wait_for_function(
            "(before) => document.querySelector('.images img')?.getAttribute('src') !== before",
            arg=before,
        )


def _answer_all(folder: Path) -> None:
    """Simulated people answer by what digits look like; one of them does not look."""
    collection = collection_of(open_study(folder), read_key(folder))
    sight = _sight()
    rng = np.random.default_rng(1)
    with open_database(database_url(folder)).connect() as connection:
        items = {row[0]: row[1] for row in _rows(connection, "SELECT id, item FROM stimulus")}
        for person in range(PEOPLE):
            began = NOW - 3600 + 100 * person
            _attend(connection, collection, person, began, items, sight, rng)


def _attend(
    connection: Connection,
    collection: Collection,
    person: int,
    now: float,
    items: dict[int, str],
    sight: dict[str, np.ndarray[Any, np.dtype[np.float64]]],
    rng: np.random.Generator,
) -> None:
    looks = person != 7

    def run(command: Callable[..., Any], **request: Any) -> Any:
        return run_once(connection, collection, command, now=now, rng=rng, **request)

    entry = {"platform": "link", "platform_id": f"simulated {person}"}
    token = run(commands.enter, **entry).token
    shown = run(commands.screen, token=token)
    while isinstance(shown, TrialScreen):
        if person >= PEOPLE - 2 and shown.trial.number > 4:  # they are still at it
            return
        probs = sight[items[_stimulus(connection, shown.trial)]]
        seconds = float(rng.lognormal(2.4 - 0.05 * min(shown.trial.number, 8), 0.4))
        if not looks:
            probs, seconds = np.full(10, 0.1), 0.3 + seconds / 20
        answer = _chips(probs, shown.trial.classes, rng)
        now += seconds
        given = AnswerGiven(
            trial=shown.trial.id, key=f"simulated{shown.trial.id}", answer=answer,
            timing=AnswerTiming(seconds=seconds),
        )  # fmt: skip
        shown = run(commands.answer, token=token, given=given)
    if isinstance(shown, DebriefScreen):
        said = ("Some digits could be two things at once." if person % 9 == 0 else "",)
        run(commands.leave_stage, token=token, given=ProceedGiven(stage="debrief", answers=said))


def _chips(
    probs: np.ndarray[Any, Any], classes: tuple[str, ...], rng: np.random.Generator
) -> dict[str, float]:
    """A distribution near ``probs`` in chips of 5 %."""
    chips = rng.multinomial(20, rng.dirichlet(9 * probs + 0.02))
    return {name: 5.0 * int(chip) for name, chip in zip(classes, chips, strict=True) if chip}


def _stimulus(connection: Connection, trial: ShownTrial) -> int:
    ((stimulus,),) = _rows(connection, f"SELECT stimulus FROM trial WHERE id = {trial.id:d}")
    return int(stimulus)


def _rows(connection: Connection, statement: str) -> list[Any]:
    cursor = connection.driver.cursor()
    cursor.execute(statement)
    found: list[Any] = cursor.fetchall()
    return found


def _sight() -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    from sfumato.data import load
    from sfumato.data.decode import label_by_neighbours

    seen = label_by_neighbours(load("digits"))
    return dict(zip(seen.items, seen.probs, strict=True))


def _shoot_dashboard(browser: Browser, url: str, folder: Path) -> None:
    for size in SIZES:
        with _visit(browser, url, size) as page:
            page.fill("#key", KEY)
            page.click("main button")
            page.wait_for_selector("nav")
            for name in ("overview", "items", "people", "rules"):
                page.goto(url + ("" if name == "overview" else name))
                page.wait_for_selector("#live")
                height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
                width = SIZES[size]["viewport"]["width"]
                clip = {"x": 0, "y": 0, "width": width, "height": height}
                _save(page, folder / f"dashboard-{name}-{size}.png", full_page=True, clip=clip)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
