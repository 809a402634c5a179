"""The dashboard in a real browser: wide and narrow, by itself up to date, nothing runs in it."""

import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from tests.elicit.admin.conftest import ADMIN_KEY, Office, attend, make_office

PAGES = ("", "items", "item/1", "people", "person/1", "pairs", "rules", "words", "log")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Office, str]]:
    """A dashboard that is being served, and its address."""
    found: list[uvicorn.Server] = []
    office = make_office(
        tmp_path_factory.mktemp("office"), people=5,
        stopping=lambda: found[0].should_exit, event_seconds=0.5,
    )  # fmt: skip
    config = uvicorn.Config(office.app, port=0, log_level="error", ws="none", lifespan="off")
    found.append(uvicorn.Server(config))
    thread = threading.Thread(target=found[0].run, daemon=True)
    thread.start()
    while not found[0].started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield office, f"http://127.0.0.1:{found[0].servers[0].sockets[0].getsockname()[1]}/admin"
    found[0].should_exit = True
    thread.join(20)
    office.writer.stop()


def open_page(browser: Any, url: str, width: int, **more: Any) -> tuple[Any, list[str]]:
    """A page of somebody who logged in, and a list of what must not happen in it."""
    page = browser.new_context(viewport={"width": width, "height": 800}, **more).new_page()
    wrongs: list[str] = []

    def dismiss(dialog: Any) -> None:
        wrongs.append(dialog.message)
        dialog.dismiss()

    def note(said: Any) -> None:
        if said.type == "error" and "401" not in said.text:  # the page before logging in
            wrongs.append(said.text)

    page.on("dialog", dismiss)
    page.on("pageerror", lambda error: wrongs.append(str(error)))
    page.on("console", note)
    page.goto(f"{url}/")
    page.fill("#key", ADMIN_KEY)
    page.click("main button")
    page.wait_for_selector("nav")
    return page, wrongs


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_readable_and_accessible(
    place: tuple[Office, str], chromium: Any, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # The tool that looks for violations is a script of its own, which the policy would refuse.
    page, wrongs = open_page(chromium, place[1], width, bypass_csp=True)

    for name in PAGES:
        page.goto(f"{place[1]}/{name}")
        for closed in page.query_selector_all("details:not([open]) > summary")[:3]:
            closed.click()
        found = axe.run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width  # tables scroll inside their own box
        if folder := os.environ.get("SFUMATO_SHOTS"):
            page.screenshot(
                path=f"{folder}/{name.replace('/', '-') or 'overview'}-{width}.png", full_page=True
            )
    assert wrongs == []
    page.context.close()


def test_s5_nothing_that_people_typed_runs(place: tuple[Office, str], chromium: Any) -> None:
    page, wrongs = open_page(chromium, place[1], 1280)
    for name in PAGES:
        page.goto(f"{place[1]}/{name}")
        page.wait_for_timeout(100)

    assert wrongs == []
    page.context.close()


def test_page_updates_itself_and_forms_pass_the_origin_check(
    place: tuple[Office, str], chromium: Any
) -> None:
    office, url = place
    page, wrongs = open_page(chromium, url, 1280)
    entered = page.locator("dt", has_text="Entered").locator("+ dd")
    before = int(entered.inner_text())
    page.evaluate("window.stays = true")
    office.desk.now += 10
    attend(office.desk, f"new {before}", said="dog")
    office.desk.now += 10
    page.wait_for_function(
        "(count) => [...document.querySelectorAll('dt')].find((one) => one.textContent === "
        "'Entered').nextElementSibling.textContent === String(count)",
        arg=before + 1,
        timeout=10_000,
    )
    assert page.evaluate("window.stays")  # not by loading it again

    page.click("button[value=close]")
    assert "Nobody new is let in" in page.inner_text("main")
    page.click("main a")
    page.click("button[value=reopen]")
    assert "let in again" in page.inner_text("main")
    assert wrongs == []
    page.context.close()


def test_pages_work_without_scripts(place: tuple[Office, str], chromium: Any) -> None:
    page, _ = open_page(chromium, place[1], 390, java_script_enabled=False)
    page.goto(f"{place[1]}/items?sort=answers")

    assert "leading outcomes" in page.inner_text("main")
    page.context.close()
