"""A whole session from the first address to the completion code, and the ways out of it."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.elicit.page.conftest import NARROW, WIDE, Place, Visitor
from tests.elicit.page.look import no_violations, nothing_scrolls

ADMIN_KEY = "a long key for tests only"
RIGHT = [
    "The most likely category, or categories, of an image",
    "100 crowdsourced workers.",
]
WRONG = ["How much you like the image.", "Your own."]


@pytest.fixture(scope="module")
def place(open_place: Callable[..., Place]) -> Place:
    return open_place(
        "top-two",
        welcome=True,
        recruiting={
            "platform": "prolific",
            "completion_code": "C0DE42",
            "completion_url": "https://example.org/complete?cc={code}",
        },
        layout={"trials_per_person": 1, "shuffle_classes": False},
        admin_key=ADMIN_KEY,
    )


def address(place: Place, person: str) -> str:
    return f"{place.url}/?PROLIFIC_PID={person}&STUDY_ID=s1&SESSION_ID={person}-1"


def answer_questions(page: Any, answers: list[str]) -> None:
    for answer in answers:
        page.locator("label.option", has_text=answer).click()
    page.get_by_role("button", name="Continue").click()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_whole_session_ends_with_the_code(
    size: dict[str, int], place: Place, visit: Callable[..., Visitor]
) -> None:
    def check() -> None:
        nothing_scrolls(ann.page)
        no_violations(ann.page)

    ann = visit(address(place, f"ann{size['width']}"), size)
    page = ann.page
    page.get_by_role("heading", name="Taking part").wait_for()
    assert page.url == f"{place.url}/"  # the ids have left the address
    check()
    page.reload()  # and are still known
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("heading", name="What you will do").wait_for()
    check()
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="Before you begin").wait_for()
    check()
    answer_questions(page, WRONG)
    page.get_by_text("Attempt 2 of 2").wait_for()
    assert page.get_by_text("This was not right.").count() == 2
    check()
    answer_questions(page, RIGHT)
    ann.wait_for_trial(1)
    ann.press("4", *"100", "Enter", "n", "Enter")
    page.get_by_role("heading", name="Thank you: a few last questions").wait_for()
    check()
    page.get_by_role("textbox").first.fill("<b>fine</b>")
    page.get_by_role("button", name="Finish").click()
    page.get_by_text("C0DE42").wait_for()
    assert (
        page.get_by_role("link").get_attribute("href") == "https://example.org/complete?cc=C0DE42"
    )
    check()
    page.reload()
    page.get_by_text("C0DE42").wait_for()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_preview_of_the_dashboard_is_marked_and_accessible(
    size: dict[str, int], place: Place, visit: Callable[..., Visitor]
) -> None:
    ann = visit(f"{place.url}/admin/", size)
    page = ann.page
    page.fill("#key", ADMIN_KEY)
    page.click("main button")
    link = page.locator("a", has_text="Look at the study").get_attribute("href", timeout=5_000)
    page.goto(f"{place.url}{link}{size['width']}")  # somebody else for each width
    for heading, button in (("Taking part", "I agree"), ("What you will do", "Continue")):
        page.get_by_role("heading", name=heading).wait_for()
        assert page.get_by_text("Preview: nothing is stored").is_visible()
        nothing_scrolls(page)
        no_violations(page)
        page.get_by_role("button", name=button).click()
    page.get_by_role("heading", name="Before you begin").wait_for()
    answer_questions(page, RIGHT)
    ann.wait_for_trial(1)
    assert page.get_by_text("Preview: nothing is stored").is_visible()
    nothing_scrolls(page)
    no_violations(page)


def test_session_works_by_keyboard_alone(place: Place, visit: Callable[..., Visitor]) -> None:
    ann = visit(address(place, "keys"))
    page = ann.page
    page.get_by_role("button", name="I agree").wait_for()
    ann.press("Tab", "Enter")
    page.get_by_role("heading", name="What you will do").wait_for()
    ann.press("Tab", "Enter")
    page.get_by_role("heading", name="Before you begin").wait_for()
    ann.press("Tab", "Tab", "Space", *["ArrowDown"] * 2, "Tab", "Space", "Enter")
    ann.wait_for_trial(1)
    ann.press("4", *"100", "Enter", "n", "Enter")
    page.get_by_role("heading", name="Thank you: a few last questions").wait_for()
    ann.press("Tab", *"ok", "Tab", "Tab", "Tab", "Enter")
    page.get_by_text("C0DE42").wait_for()


def test_two_wrong_attempts_end_the_session(place: Place, visit: Callable[..., Visitor]) -> None:
    ann = visit(address(place, "wrong"))
    ann.page.get_by_role("button", name="I agree").click()
    ann.page.get_by_role("button", name="Continue").click()
    ann.page.get_by_role("heading", name="Before you begin").wait_for()
    answer_questions(ann.page, WRONG)
    ann.page.get_by_text("Attempt 2 of 2").wait_for()
    answer_questions(ann.page, WRONG)
    ann.page.get_by_role("heading", name="Thank you for your interest").wait_for()
    no_violations(ann.page)


def test_declining_stores_nothing(place: Place, visit: Callable[..., Visitor]) -> None:
    before = place.rows("SELECT count(*) FROM participant")
    ann = visit(address(place, "nobody"))
    ann.page.get_by_role("button", name="I do not agree").click()
    ann.page.get_by_text("Nothing about you was stored").wait_for()
    no_violations(ann.page)
    assert place.rows("SELECT count(*) FROM participant") == before
    assert ann.page.evaluate("localStorage.length + sessionStorage.length") == 0


def test_address_without_an_id_is_explained(place: Place, visit: Callable[..., Visitor]) -> None:
    ann = visit(place.url)
    ann.page.get_by_role("button", name="I agree").click()
    ann.page.get_by_text("The address lacks PROLIFIC_PID").wait_for()
    no_violations(ann.page)


def test_another_person_on_the_same_computer_begins_anew(
    place: Place, visit: Callable[..., Visitor]
) -> None:
    ann = visit(address(place, "first"))
    ann.page.get_by_role("button", name="I agree").click()
    ann.page.get_by_role("heading", name="What you will do").wait_for()
    ann.page.goto(address(place, "first"))  # the same link again goes on
    ann.page.get_by_role("heading", name="What you will do").wait_for()
    ann.page.goto(address(place, "second"))
    ann.page.get_by_role("heading", name="Taking part").wait_for()
