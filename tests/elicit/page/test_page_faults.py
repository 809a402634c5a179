"""The page through real outages and long times without a network, and without the rest of it."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.elicit.conftest import on_both
from tests.elicit.outages import OUTAGES, Outage
from tests.elicit.page.conftest import Place, Visitor

ADMIN_KEY = "a long key for tests only"
WARNS = """() => {
    const leaving = new Event("beforeunload", { cancelable: true });
    window.dispatchEvent(leaving);
    return leaving.defaultPrevented;
}"""


def stored(place: Place) -> list[tuple[Any, ...]]:
    return place.rows("SELECT answer FROM answer")


@pytest.mark.parametrize(
    "kind", ["sqlite, disk full", "sqlite, file removed", "postgresql, server stopped"]
)
def test_r8_answer_is_kept_through_an_outage_and_delivered_after_it(
    request: pytest.FixtureRequest,
    open_place: Callable[..., Place],
    visit: Callable[..., Visitor],
    kind: str,
) -> None:
    outages: list[Outage] = []

    def store(folder: Any) -> str:
        outages.append(OUTAGES[kind](request, folder))
        return outages[0].url

    place = open_place("choose-one", layout={"shuffle_classes": False}, store=store)
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    outages[0].begin()
    try:
        ann.press("4")
        ann.page.get_by_text("kept here but not sent yet").wait_for()
        assert ann.page.evaluate(WARNS)
    finally:
        outages[0].end()
    ann.page.get_by_role("button", name="Try now").click()
    ann.wait_for_trial(2)

    assert stored(place) == [('"cat"',)]
    assert not ann.page.evaluate(WARNS)


@on_both
def test_r2_ten_minutes_offline_lose_nothing_and_double_nothing(
    open_place: Callable[..., Place],
    visit: Callable[..., Visitor],
    place_of_study: Callable[..., str],
) -> None:
    place = open_place("choose-one", layout={"shuffle_classes": False}, store=place_of_study)
    ann = visit("about:blank")
    page = ann.page
    page.clock.install()
    page.goto(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(urlsplit(request.url).path))

    page.context.set_offline(True)
    ann.press("4")
    page.get_by_text("kept here but not sent yet").wait_for()
    for _ in range(60):
        page.clock.run_for(10_000)
    attempts = failed.count("/api/answer")
    before = stored(place)
    page.context.set_offline(False)
    ann.wait_for_trial(2)

    assert 15 <= attempts <= 40  # at least every 30 seconds, but not without pause
    assert before == []
    assert stored(place) == [('"cat"',)]


@on_both
def test_r3_reload_in_a_second_browser_goes_on_at_the_same_trial(
    open_place: Callable[..., Place],
    visit: Callable[..., Visitor],
    place_of_study: Callable[..., str],
) -> None:
    place = open_place("choose-one", layout={"shuffle_classes": False}, store=place_of_study)
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.press("4")
    ann.wait_for_trial(2)
    ann.page.reload()
    ann.wait_for_trial(2)
    image = ann.page.locator(".images img").get_attribute("src")
    elsewhere = visit(f"{place.url}/?participant=ann")
    elsewhere.wait_for_trial(2)

    assert elsewhere.page.locator(".images img").get_attribute("src") == image
    assert len(stored(place)) == 1


@on_both
def test_s17_page_and_dashboard_work_with_every_other_host_blocked(
    open_place: Callable[..., Place],
    visit: Callable[..., Visitor],
    place_of_study: Callable[..., str],
) -> None:
    place = open_place("distribution", welcome=True, store=place_of_study, admin_key=ADMIN_KEY)
    ours = urlsplit(place.url).netloc
    asked: set[str] = set()

    def only_ours(route: Any) -> None:
        host = urlsplit(route.request.url).netloc
        asked.add(host)
        if host == ours:
            route.continue_()
        else:
            route.abort()

    ann = visit("about:blank")
    ann.page.context.route("**/*", only_ours)
    ann.page.goto(f"{place.url}/?participant=ann")
    ann.page.get_by_role("button", name="I agree").click()
    ann.page.get_by_role("heading", name="What you will do").wait_for()
    ann.page.goto(f"{place.url}/admin/")
    ann.page.fill("#key", ADMIN_KEY)
    ann.page.click("main button")
    ann.page.wait_for_selector("nav")

    assert asked == {ours}
