"""The site: it builds without network, holds together, and is searched from a folder."""

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import sync_playwright

import sfumato

ROOT = Path(__file__).parents[1]
CHROMIUM = Path("/usr/bin/chromium")
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a browser fetches by itself."""

pytestmark = pytest.mark.check


class Links(HTMLParser):
    """Where a page leads, what it loads, and what can be led to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.leads: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if tag == "a" and "href" in named:
            self.leads.append(named["href"])
        elif tag in LOADED and LOADED[tag] in named:
            self.loads.append(named[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    nowhere = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    began = cpu_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, env={**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert cpu_seconds() - began < 180  # of the processor: other tests run beside
    return folder


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@cache
def links_of(page: Path) -> Links:
    return Links(page.read_text(encoding="utf-8"))


def pages_of(site: Path) -> Iterator[Path]:
    return (page for page in sorted(site.rglob("*.html")) if page.name != "404.html")


def led_to(page: Path, link: str) -> tuple[Path, str] | None:
    """The file and the anchor of a link that stays in the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return (path / "index.html" if path.is_dir() else path), unquote(parts.fragment)


def test_no_link_is_broken(site: Path) -> None:
    broken = []
    for page in pages_of(site):
        for link in (*links_of(page).leads, *links_of(page).loads):
            target = led_to(page, link)
            if target is None:
                continue
            path, anchor = target
            known = path.is_file() and (
                not anchor or path.suffix != ".html" or anchor in links_of(path).anchors
            )
            broken += [] if known else [(str(page.relative_to(site)), link)]
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    remote = {
        link
        for page in pages_of(site)
        for link in links_of(page).loads
        if urlsplit(link).netloc or urlsplit(link).scheme not in ("", "data")
    }
    sheets = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert remote == set()
    assert re.findall(r"url\(\s*[\"']?(?:https?:)?//", sheets) == []


def test_every_page_is_two_clicks_from_the_first(site: Path) -> None:
    reached = {site / "index.html"}
    for _ in range(2):
        reached |= {
            target[0]
            for page in list(reached)
            if page.suffix == ".html" and page.is_file()
            for link in links_of(page).leads
            if (target := led_to(page, link)) is not None
        }
    assert [page for page in pages_of(site) if page not in reached] == []


@pytest.mark.parametrize("name", sorted(set(sfumato.__all__) - {"__version__"}))
def test_every_public_name_has_a_page_with_its_docstring(site: Path, name: str) -> None:
    page = (site / "reference" / "api" / f"{name}.html").read_text(encoding="utf-8")
    words = re.findall(r"[a-z]+", getattr(sfumato, name).__doc__.split("\n\n")[0])
    assert words and all(word in page for word in words)


def test_language_models_get_a_list_of_all_pages(site: Path) -> None:
    listed = set(re.findall(r"\]\(([^)]+\.html)\)", (site / "llms.txt").read_text("utf-8")))
    assert listed == {str(page.relative_to(site)) for page in pages_of(site)}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("krippendorff", "krippendorff"),
        ("soft labels lightgbm", "lightgbm"),
        ("definitely not", "definitely"),
    ],
)
def test_search_from_a_folder_finds(site: Path, words: str, expected: str) -> None:
    with sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.locator(".md-search__input").first.click()
        page.keyboard.type(words)
        page.wait_for_selector(".md-search-result__link", timeout=60_000)  # a large index
        found = page.locator(".md-search-result__list").inner_text().lower()
        browser.close()
    assert expected in found
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


def test_search_index_holds_the_reference(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    places = {entry["location"] for entry in index["docs"]}
    assert {"reference/api/label.html", "reference/commands/label.html"} <= places
