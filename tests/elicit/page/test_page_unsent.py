"""Nothing that a person answered is lost or stored twice, whatever browser and network do."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.elicit.page.conftest import NARROW, WIDE, Place, Visitor
from tests.elicit.page.look import no_violations


@pytest.fixture(scope="module")
def place(open_place: Callable[..., Place]) -> Place:
    return open_place("choose-one", layout={"trials_per_person": 6, "shuffle_classes": False})


def answers_of(place: Place) -> int:
    ((number,),) = place.rows(
        "SELECT count(*) FROM answer JOIN trial ON trial.id = answer.trial WHERE session = "
        "(SELECT max(id) FROM session)"
    )
    return int(number)


def shown_image(page: Any) -> str:
    return str(page.locator(".images img").get_attribute("src"))


def test_r2_answer_given_offline_is_kept_shown_as_unsent_and_sent_once(
    place: Place, visit: Callable[..., Visitor]
) -> None:
    ann = visit(f"{place.url}/?participant=offline")
    ann.wait_for_trial(1)
    ann.page.context.set_offline(True)
    ann.press("4")
    ann.page.get_by_text("kept here but not sent yet").wait_for()
    for size in (NARROW, WIDE):
        ann.page.set_viewport_size(size)
        no_violations(ann.page)
    ann.press("5")  # nothing else can be answered meanwhile
    ann.page.wait_for_timeout(1500)  # a second attempt fails too
    assert answers_of(place) == 0
    ann.page.context.set_offline(False)
    ann.wait_for_trial(2)
    assert ann.page.locator("#notice").inner_text() == ""
    assert answers_of(place) == 1
    assert place.rows("SELECT answer FROM answer ORDER BY trial DESC LIMIT 1") == [('"cat"',)]


def test_r2_answer_survives_a_closed_page_and_a_lost_reply(
    place: Place, visit: Callable[..., Visitor]
) -> None:
    ann = visit(f"{place.url}/?participant=closed")
    ann.wait_for_trial(1)
    ann.page.route("**/api/answer", lambda route: route.abort())
    ann.press("4")
    ann.page.get_by_text("kept here but not sent yet").wait_for()
    again = ann.page.context.new_page()
    ann.page.close(run_before_unload=False)
    again.goto(place.url)
    Visitor(again, []).wait_for_trial(2)
    assert answers_of(place) == 1

    def lose_reply(route: Any) -> None:
        route.fetch()  # the server stores it
        route.abort()

    again.route("**/api/answer", lose_reply, times=1)
    again.wait_for_selector(".answer:not([inert])")
    again.keyboard.press("4")
    Visitor(again, []).wait_for_trial(3)
    assert answers_of(place) == 2


def test_r8_server_that_cannot_store_is_asked_again(
    place: Place, visit: Callable[..., Visitor]
) -> None:
    ann = visit(f"{place.url}/?participant=full")
    ann.wait_for_trial(1)
    refusal = {"status": 503, "json": {"error": "full", "faults": []}}
    ann.page.route("**/api/answer", lambda route: route.fulfill(**refusal), times=1)
    ann.press("4")
    ann.page.get_by_text("kept here but not sent yet").wait_for()
    ann.page.get_by_role("button", name="Try now").click()
    ann.wait_for_trial(2)
    assert answers_of(place) == 1


def test_r3_reload_and_back_button_show_the_same_trial_and_the_other_tab_is_told(
    place: Place, visit: Callable[..., Visitor]
) -> None:
    ann = visit(f"{place.url}/?participant=tabs")
    page = ann.page
    ann.wait_for_trial(1)
    ann.press("4")
    ann.wait_for_trial(2)
    image = shown_image(page)
    page.reload()
    ann.wait_for_trial(2)
    assert shown_image(page) == image
    page.goto("about:blank")
    page.go_back()
    ann.wait_for_trial(2)
    assert shown_image(page) == image
    other = page.context.new_page()
    other.goto(place.url)
    other.wait_for_selector(".answer:not([inert])")
    assert shown_image(other) == image
    other.keyboard.press("4")
    Visitor(other, []).wait_for_trial(3)
    page.get_by_role("heading", name="The study goes on in another tab").wait_for()
    no_violations(page)
    page.get_by_role("button", name="Continue here").click()
    ann.wait_for_trial(3)
    assert answers_of(place) == 2


def test_double_click_answers_once(place: Place, visit: Callable[..., Visitor]) -> None:
    ann = visit(f"{place.url}/?participant=double")
    ann.wait_for_trial(1)
    label = ann.page.locator("button.choice", has_text="cat")
    label.dblclick()
    ann.wait_for_trial(2)
    box = label.bounding_box()
    assert box is not None
    # The second half comes when the next trial is already there.
    ann.page.mouse.move(box["x"] + 20, box["y"] + 20)
    ann.page.mouse.down(click_count=2)
    ann.page.mouse.up(click_count=2)
    ann.page.wait_for_timeout(200)
    assert answers_of(place) == 1


def test_nobody_answers_about_an_image_that_is_not_there(
    place: Place, visit: Callable[..., Visitor]
) -> None:
    ann = visit("about:blank")
    ann.page.route("**/image/*", lambda route: route.abort(), times=1)
    ann.page.goto(f"{place.url}/?participant=blind")
    ann.page.get_by_text("An image could not be loaded").wait_for()
    ann.press("4")
    assert answers_of(place) == 0
    ann.page.get_by_role("button", name="Try now").click()
    ann.wait_for_trial(1)
    ann.press("4")
    ann.wait_for_trial(2)
