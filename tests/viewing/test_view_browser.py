"""The page in a real browser: right, by keyboard alone, on a phone, at 100,000 items."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.elicit.page.look import no_violations
from tests.studies.conftest import own_run, own_study  # noqa: F401
from tests.viewing.conftest import (
    CLASSES,
    NARROW,
    WIDE,
    Serve,
    Visit,
    make_beliefs,
    make_crowd,
    settled,
    shot,
    shown_items,
)

from sfumato.evaluation.predictions import read_predictions
from sfumato.labels.compare import total_variation
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import spread_of
from sfumato.labels.verbs import to_labels
from sfumato.viewing.server import Viewer

HOSTILE = "<img src=x onerror=alert(1)>"
NETWORKS = ("wrn_28_10", "vgg_15_BN_64")


@pytest.fixture(scope="module")
def votes(serve: Serve) -> Viewer:
    """Votes about short texts, without pictures; names and texts are markup."""
    rows = [
        {
            "item": f"{HOSTILE} {number}",
            "annotator": f"</script>{HOSTILE} {person}",
            "label": f"{HOSTILE} {'yes' if (number * person) % 3 else 'no'}",
            "text": f"Text {number}: {HOSTILE} {'long ' * (number * 7)}",
            "seconds": 1 + number + person / 10,
        }
        for number in range(25)
        for person in range(1, 5)
    ]
    return serve(rows, text="text", title=f"{HOSTILE} votes")


@pytest.fixture(scope="module")
def many(serve: Serve) -> Viewer:
    crowd = make_crowd(1000, np.random.default_rng(0))
    return serve(crowd, {"model": make_beliefs(crowd.mean(), np.random.default_rng(1))})


def looks(page: Any, name: str, size: Mapping[str, int]) -> None:
    """Nothing is beyond the edge, nothing is wrong by the rules of WCAG."""
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    no_violations(page)
    shot(page, f"{name}-{size['width']}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_votes_without_pictures_look_right_and_nothing_in_them_runs(
    votes: Viewer, visit: Visit, size: Mapping[str, int], scheme: str
) -> None:
    page = visit(votes, "&sort=disagreement", size, bypass_csp=True, color_scheme=scheme)

    looks(page, f"votes-{scheme}", size)
    assert page.locator(".row img, #top img").count() == 0
    page.locator(".row a").first.click()
    page.wait_for_selector("#item:not([hidden])")
    looks(page, f"votes-item-{scheme}", size)
    assert page.inner_text("#item-title").startswith(HOSTILE)
    assert HOSTILE in page.inner_text(".answers")
    page.keyboard.press("x")
    page.keyboard.press("m")
    looks(page, f"votes-marks-{scheme}", size)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_menus_and_keys_look_right(many: Viewer, visit: Visit, size: Mapping[str, int]) -> None:
    page = visit(many, "&sort=distance&person=p1", size, bypass_csp=True)

    if size is NARROW:
        page.click("#more")
    page.click("#columns summary")
    looks(page, "menus", size)
    page.keyboard.press("?")
    looks(page, "keys", size)


def test_server_that_ended_is_told(serve: Serve, visit: Visit) -> None:
    viewer = serve([{"item": "a", "cat": 0.5, "dog": 0.5}])
    page = visit(viewer)

    viewer.stop()
    page.select_option("#sort", "entropy")

    told = page.locator("#count", has_text="The page is not served any more.")
    told.wait_for()


def test_policy_is_kept(votes: Viewer, visit: Visit) -> None:
    page = visit(votes, "&sort=seconds")

    page.locator(".row a").first.click()
    page.wait_for_selector("#item:not([hidden])")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")  # ``visit`` fails where the policy was broken


def test_rows_are_sorted_and_filtered_as_the_table_is(many: Viewer, visit: Visit) -> None:
    table, crowd = many.table, many.table.viewed.crowd
    assert crowd is not None
    page = visit(many)
    assert shown_items(page)[:3] == list(table.items[:3])

    page.select_option("#sort", "disagreement")
    settled(page)
    expected = np.argsort(-spread_of(crowd).disagreement, kind="stable")
    assert shown_items(page)[:8] == [crowd.items[row] for row in expected[:8]]

    page.click("#way")
    settled(page)
    assert shown_items(page)[:8] == [
        crowd.items[row] for row in np.argsort(spread_of(crowd).disagreement, kind="stable")[:8]
    ]

    page.select_option("#sort", "distance")
    page.click("#way")
    settled(page)
    people, model = (table.viewed.sets[name] for name in ("people", "model"))
    far = np.argsort(-total_variation(people, model), kind="stable")
    assert shown_items(page)[:8] == [people.items[row] for row in far[:8]]

    page.select_option("#top-0", CLASSES[0])
    page.select_option("#top-1", CLASSES[2])
    settled(page)
    confused = [
        item
        for item in (people.items[row] for row in far)
        if people[item].top == CLASSES[0] and model[item].top == CLASSES[2]
    ]
    assert shown_items(page)[:8] == confused[:8]
    assert page.inner_text("#count").startswith(f"{len(confused)} of 1,000")

    page.click("#clear")
    page.fill("#person", "p4")
    page.press("#person", "Tab")
    page.fill("#q", "ITEM 99")
    page.wait_for_url("**q=ITEM*")
    settled(page)
    code = crowd.annotators.index("p4")
    answered = {crowd.items[row] for row in crowd.item[crowd.annotator == code]}
    assert set(shown_items(page)) == {item for item in answered if "item 99" in item}
    assert "p4:" in page.locator(".row .by").first.inner_text()


def test_what_does_not_exist_is_told(many: Viewer, visit: Visit) -> None:
    page = visit(many, "&q=nothing+like+it")

    assert "No item fits" in page.inner_text("#count")
    page.goto(page.url.partition("?")[0] + "?item=unknown")
    page.wait_for_function(
        "() => document.querySelector('#count').textContent === 'There is no item called unknown.'"
    )


def test_every_view_has_a_link(many: Viewer, visit: Visit) -> None:
    page = visit(many)
    page.select_option("#sort", "entropy")
    page.select_option("#first", "model")
    page.select_option("#top-0", CLASSES[1])
    page.fill("#q", "item 1")
    page.wait_for_url("**q=item*")
    settled(page)
    page.locator(".row a").nth(2).click()
    page.wait_for_selector("#item:not([hidden])")
    before = shown_items(page)[:5], page.inner_text("#item-title"), page.inner_text("#count")

    assert "token" not in page.url
    other = page.context.new_page()
    other.goto(page.url)
    settled(other)
    other.wait_for_selector("#item:not([hidden])")

    assert (
        shown_items(other)[:5],
        other.inner_text("#item-title"),
        other.inner_text("#count"),
    ) == (before)
    page.go_back()
    page.wait_for_selector("#item", state="hidden")


def test_keyboard_alone_is_enough(many: Viewer, visit: Visit) -> None:
    page = visit(many, "&sort=disagreement")
    names = shown_items(page)

    def focused() -> str:
        found: str = page.evaluate("document.activeElement.textContent")
        return found

    page.keyboard.press("ArrowDown")
    assert focused() == names[0]
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert focused() == names[1]
    page.keyboard.press("Enter")
    page.wait_for_selector("#item:not([hidden])")
    assert page.inner_text("#item-title") == names[1]
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "(name) => document.querySelector('#item-title').textContent === name", arg=names[2]
    )
    assert page.evaluate("document.activeElement.closest('#item') !== null")
    page.keyboard.press("f")
    page.keyboard.press("r")
    page.keyboard.type('for "figure 2", left')
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.wait_for_selector("#item", state="hidden")
    assert focused() == names[2]
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert page.locator(".row .mark").all_inner_texts() == ["Figure", "Exclude"]
    page.keyboard.press("o")
    settled(page)
    assert shown_items(page)[0] != names[0]
    page.keyboard.press("/")
    page.keyboard.type("item 77")
    page.wait_for_url("**q=item+77*")
    settled(page)
    assert all("item 77" in name for name in shown_items(page))
    page.keyboard.press("Enter")
    assert "item 77" in focused()


def test_tab_reaches_everything_and_is_never_caught(many: Viewer, visit: Visit) -> None:
    page = visit(many)
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.className"))

    for wanted in (
        "show-marks",
        "show-keys",
        "q",
        "sort",
        "way",
        "stratum",
        "person",
        "top-0",
        "list",
    ):
        assert wanted in seen
    assert seen.count("show-marks") > 1  # once round, and on


def test_marks_last_and_leave_as_csv(many: Viewer, votes: Viewer, visit: Visit) -> None:
    page = visit(many)
    for item, kind, reason in (("item 3", "again", 'ünclear, "both"'), ("item 5", "exclude", "")):
        page.goto(f"{page.url.partition('?')[0]}?item={item}")
        page.wait_for_selector("#item:not([hidden])")
        page.click(f"#mark-{kind}")
        if reason:
            page.fill("#reason", reason)
            page.press("#reason", "Enter")
    page.reload()
    settled(page)
    assert page.inner_text("#marked") == "2"

    page.click("#show-marks")
    with page.expect_download() as waiting:
        page.click("text=Download CSV")
    content = Path(waiting.value.path()).read_text(encoding="utf-8")

    assert list(csv.reader(io.StringIO(content))) == [
        ["item", "mark", "reason"],
        ["item 3", "again", 'ünclear, "both"'],
        ["item 5", "exclude", ""],
    ]
    page.click("[aria-label='Remove the mark on item 5']")
    assert page.inner_text("#marked") == "1"
    other = page.context.new_page()
    other.goto(votes.url)
    settled(other)
    assert other.inner_text("#marked") == "0"


def test_hundred_thousand_items_are_walked_with_few_elements(serve: Serve, visit: Visit) -> None:
    rng = np.random.default_rng(0)
    names = tuple(f"n{number}" for number in range(100_000))
    labels = LabelSet(names, CLASSES, rng.dirichlet(np.ones(3), size=len(names)))
    page = visit(serve(labels), "&sort=entropy")
    order = np.argsort(-labels.entropy(), kind="stable")

    assert shown_items(page)[0] == names[order[0]]
    for share in (0.25, 0.5, 1.0):
        page.evaluate("(share) => { const list = document.querySelector('#list');"
                      " list.scrollTop = share * list.scrollHeight; }", share)  # fmt: skip
        page.wait_for_timeout(50)
        settled(page)
        places = [int(one) for one in page.locator(".row").evaluate_all(
            "(rows) => rows.map((row) => row.dataset.place)")]  # fmt: skip
        assert len(places) < 60
        assert shown_items(page) == [names[order[place]] for place in places]
    assert places[-1] == 99_999
    inside = page.evaluate("""() => {
        const box = document.querySelector("#list").getBoundingClientRect();
        const last = [...document.querySelectorAll(".row")].at(-1).getBoundingClientRect();
        return last.bottom <= box.bottom + 1 && last.top >= box.top;
    }""")
    assert inside
    page.keyboard.press("j")


def test_half_a_million_rows_are_within_reach(serve: Serve, visit: Visit) -> None:
    count = 500_000  # taller than a browser can scroll through by pixels
    labels = LabelSet(tuple(map(str, range(count))), ("a", "b"), np.tile([0.5, 0.5], (count, 1)))
    page = visit(serve(labels))

    page.evaluate("document.querySelector('#list').scrollTop = 1e9")
    page.wait_for_timeout(50)
    settled(page)

    assert shown_items(page)[-1] == str(count - 1)


@pytest.mark.check
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_cifar10h_with_two_networks(
    data_folder: Path, serve: Serve, visit: Visit, size: Mapping[str, int], scheme: str
) -> None:
    folder = data_folder / "cifar10h-predictions"
    viewer = _cifar10h(serve, folder)
    page = visit(viewer, "&sort=distance", size, bypass_csp=True, color_scheme=scheme)

    people = to_labels(viewer.table.viewed.sets["people"])
    model = read_predictions(folder / f"{NETWORKS[0]}.npz", classes=people.classes)
    far = np.argsort(-total_variation(people, model), kind="stable")
    assert shown_items(page)[:5] == [people.items[row] for row in far[:5]]
    page.wait_for_function(
        """() => [...document.querySelectorAll(".row img")].slice(0, 3)
            .every((one) => one.naturalWidth === 32)"""
    )
    looks(page, f"cifar10h-{scheme}", size)
    page.locator(".row a").first.click()
    page.wait_for_selector("#item:not([hidden])")
    page.wait_for_function("() => document.querySelector('.picture').naturalWidth === 32")
    looks(page, f"cifar10h-item-{scheme}", size)


_SERVED: dict[str, Viewer] = {}


def _cifar10h(serve: Serve, folder: Path) -> Viewer:
    """Served once for all four looks at it."""
    if "cifar10h" not in _SERVED:
        beliefs = {name: folder / f"{name}.npz" for name in NETWORKS}
        _SERVED["cifar10h"] = serve("cifar10h", beliefs)
    return _SERVED["cifar10h"]


@pytest.mark.check
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_finished_run(own_run: Path, serve: Serve, visit: Visit, size: Mapping[str, int]) -> None:  # noqa: F811
    viewer = serve(own_run)
    page = visit(viewer, "&sort=disagreement&split=test", size, bypass_csp=True)

    assert page.inner_text("#count") == "12 of 60 items"
    looks(page, "run", size)
    page.locator(".row a").first.click()
    page.wait_for_selector("#item:not([hidden])")
    looks(page, "run-item", size)
    assert "soft, simple-ffn" in page.inner_text(".beliefs")
    assert "w0" in page.inner_text(".answers")
