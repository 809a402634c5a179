"""Every form on every kind of screen: wide, narrow, dark and from right to left, by keyboard."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.elicit.page.conftest import NARROW, WIDE, Place, Visitor
from tests.elicit.page.look import no_violations, nothing_scrolls, targets_are_large
from tests.elicit.page.test_page_forms import KEYS

SCREENS: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "wide": (WIDE, {}),
    "narrow": (NARROW, {"has_touch": True, "is_mobile": True}),
    "dark": (WIDE, {"color_scheme": "dark"}),
}


def tab_to(page: Any, name: str) -> None:
    """Go to a button with nothing but the Tab key."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('main')"):
            return
    raise AssertionError(f"{name} cannot be reached with the Tab key")


@pytest.mark.check
@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("form", list(KEYS))
def test_every_form_on_every_screen(
    form: str, language: str, open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    layout = {"trials_per_person": 2, "shuffle_classes": False}
    place = open_place(form, layout=layout, language=language)
    keys = KEYS[form][0]
    screens = list(SCREENS) if language == "en" else ["wide", "narrow"]
    for name in screens:
        size, more = SCREENS[name]
        ann = visit(f"{place.url}/?participant={name}", size, **more)
        ann.wait_for_trial(1)
        no_violations(ann.page)
        nothing_scrolls(ann.page)
        targets_are_large(ann.page)
        if keys[-1] == "Enter":  # else one key is the answer, and the next trial comes
            ann.press(*keys[:-1])
            no_violations(ann.page)
            nothing_scrolls(ann.page)
            if name == "wide":
                tab_to(ann.page, "Send")
                ann.press("Enter")
                ann.wait_for_trial(2)
        else:
            ann.press(*keys)
            ann.wait_for_trial(2)
        ann.page.context.close()
    said = place.rows("SELECT count(*) FROM answer")[0][0]
    assert said == (1 if keys[-1] == "Enter" else len(screens))


@pytest.mark.check
@pytest.mark.parametrize("language", ["en", "ar"])
def test_screens_around_the_trials(
    language: str, open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place(
        "distribution", welcome=True, language=language, layout={"trials_per_person": 1}
    )
    for name, (size, more) in SCREENS.items():
        ann = visit(f"{place.url}/?participant={name}", size, **more)
        page = ann.page
        page.locator("button.main").wait_for()
        no_violations(page)
        page.locator("button.main").click()  # consent, then instructions
        page.wait_for_function("() => document.querySelectorAll('.actions button').length === 1")
        no_violations(page)
        page.locator("button.main").click()
        page.locator("fieldset.asked").first.wait_for()
        no_violations(page)
        for right in ("My own.", "Give all chips to airplane."):
            page.locator("label.option", has_text=right).click()
        page.locator("button.main").click()
        ann.wait_for_trial(1)
        ann.press("1", "t", "Enter")
        page.locator("textarea").first.wait_for()
        no_violations(page)
        page.locator("button.main").click()
        page.locator(".code").wait_for()
        no_violations(page)
        page.context.close()
