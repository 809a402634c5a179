"""Time the page of ``sfumato view`` in a real browser, with the votes of simulated people.

    python benchmarks/view.py [ITEMS]
    python benchmarks/view.py shots RUN FOLDER

Prints, for 100,000 items with five votes each and two models: how long the table takes to make,
when the first rows are on the screen after the page was asked for, how long another order takes
from the change of a control to its rows on the screen, and how long a jump to a place far down.
``shots`` takes the pictures of the documentation from a run of the digits.
"""

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Playwright, sync_playwright

from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.viewing.server import view

CLASSES = tuple(f"class {number}" for number in range(10))
BROWSER = Path("/usr/bin/chromium")
VOTES = 5
TIMES = 7
SORTS = ("disagreement", "entropy", "distance", "change", "answers", "item")
CHANGE = """async ([selector, value]) => {
    const control = document.querySelector(selector);
    const began = performance.now();
    performance.clearMarks("rows");
    control.value = value;
    control.dispatchEvent(new Event(control.id === "q" ? "input" : "change", { bubbles: true }));
    while (!performance.getEntriesByName("rows").length) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - began;
}"""
JUMP = """async (share) => {
    const list = document.querySelector("#list");
    const began = performance.now();
    list.scrollTop = share * list.scrollHeight;
    do await new Promise(requestAnimationFrame);
    while (document.querySelector(".row[data-empty]"));
    return performance.now() - began;
}"""
FIRST = "performance.getEntriesByName('rows')[0].startTime"


def main(items: int) -> None:
    """Make the table, serve it, and look at it."""
    crowd, models = make_data(items, np.random.default_rng(0))
    began = time.perf_counter()
    page = view(crowd, models)
    print(f"{items:,} items, {VOTES} votes each, {len(models)} models")
    print(f"table made and served        {time.perf_counter() - began:6.2f} s")
    with sync_playwright() as running:
        opened = open_browser(running)
        firsts = [first_rows(opened, page.url) for _ in range(TIMES)]
        print(f"first rows on the screen     {spread(firsts)}")
        tab = opened.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(page.url)
        tab.wait_for_selector(".row:not([data-empty])")
        for sort in SORTS:
            other = "item" if sort != "item" else "entropy"
            times = [changed(tab, "#sort", other, sort) for _ in range(TIMES)]
            print(f"sort by {sort:20} {spread(times)}  first {times[0]:5.0f} ms")
        found = [changed(tab, "#q", "", f"{number}7") for number in range(TIMES)]
        print(f"search (waits 150 ms)        {spread(found)}")
        jumps = [tab.evaluate(JUMP, share) for share in np.linspace(0.1, 0.9, TIMES).tolist()]
        print(f"jump to a place far down     {spread(jumps)}")
        opened.close()
    page.stop()


def open_browser(running: Playwright) -> Browser:
    """The browser of this machine."""
    arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
    return running.chromium.launch(executable_path=str(BROWSER), args=arguments)


def take_shots(run: Path, folder: Path) -> None:
    """The pictures of docs/view.md: the list, and one item beside it."""
    page = view(run)
    with sync_playwright() as running:
        tab = open_browser(running).new_page(viewport={"width": 1280, "height": 760})
        tab.goto(f"{page.url}&sort=distance&split=test")
        tab.wait_for_selector(".row:not([data-empty])")
        tab.wait_for_timeout(500)
        tab.screenshot(path=str(folder / "list.png"))
        tab.set_viewport_size({"width": 1280, "height": 940})
        tab.locator(".row a").nth(2).click()
        tab.wait_for_selector("#item:not([hidden])")
        tab.wait_for_timeout(500)
        tab.screenshot(path=str(folder / "item.png"))
    page.stop()
    print(f"{folder / 'list.png'}, {folder / 'item.png'}")


def make_data(items: int, rng: np.random.Generator) -> tuple[CrowdLabels, dict[str, object]]:
    """Votes of a thousand simulated people, and what two models might believe."""
    names = tuple(f"item {number}" for number in range(items))
    probs = rng.dirichlet(np.full(len(CLASSES), 0.2), size=items)
    item = np.repeat(np.arange(items), VOTES)
    chance = rng.random(len(item))[:, None]
    said = (chance > probs.cumsum(axis=1)[item]).sum(axis=1).clip(max=len(CLASSES) - 1)
    people = tuple(f"simulated {number}" for number in range(1000))
    crowd = CrowdLabels(names, people, CLASSES, item, rng.integers(1000, size=len(item)), said=said)
    models: dict[str, object] = {
        f"model {number}": LabelSet(
            names, CLASSES, (probs + rng.dirichlet(np.ones(len(CLASSES)), size=items)) / 2
        )
        for number in (1, 2)
    }
    return crowd, models


def first_rows(browser: Any, url: str) -> float:
    """Milliseconds from asking for the page to its first rows, in a browser without a cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.goto(url)
    tab.wait_for_selector(".row:not([data-empty])")
    took: float = tab.evaluate(FIRST)
    context.close()
    return took


def changed(tab: Any, selector: str, before: str, value: str) -> float:
    """Milliseconds until the rows that a control asks for are on the screen."""
    tab.evaluate(CHANGE, [selector, before])
    took: float = tab.evaluate(CHANGE, [selector, value])
    return took


def spread(times: list[float]) -> str:
    """Median and largest."""
    return f"{statistics.median(times):6.0f} ms, at most {max(times):5.0f} ms"


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["shots"]:
        take_shots(Path(given[1]), Path(given[2]))
    else:
        main(int(given[0]) if given else 100_000)
