"""Faults that an attack on the page found, each in a real browser: none may come back."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.elicit.page.conftest import NARROW, WIDE, Place, Visitor

LONG = [f"{place:03d} Black throated Warbler of the {place:03d}th wood" for place in range(200)]
REFUSAL = {"status": 413, "json": {"error": "The body is too long.", "faults": []}}
CANNOT_REACH = """() => [...document.querySelectorAll("[data-input]")].filter((input) => {
    input.scrollIntoView({ block: "nearest" });
    const { left, top, width, height } = input.getBoundingClientRect();
    const found = document.elementFromPoint(left + width / 2, top + height / 2);
    const hits = found && (input.contains(found) || found.closest("label")?.contains(input));
    return !hits;
}).map((input) => input.dataset.input)"""
"""Inputs whose middle no mouse can get to, wherever their part of the page is scrolled."""


def say_no_to_all(page: Any) -> int:
    """Tick "no" for every class; how many were ticked."""
    return int(
        page.evaluate(
            """() => {
                const inputs = document.querySelectorAll('input[value="no"]');
                for (const input of inputs) input.click();
                return inputs.length;
            }"""
        )
    )


def ticks(page: Any) -> int:
    return int(page.locator('input[value="no"]:checked').count())


def test_fault_01_answer_about_200_long_classes_is_taken(
    open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place("yes-no-unsure", classes=LONG)
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)

    assert say_no_to_all(ann.page) == 200
    ann.page.get_by_role("button", name="Send").click()
    ann.wait_for_trial(2)
    ((answer,),) = place.rows("SELECT answer FROM answer")
    assert len(answer) > 10_000 and answer.count('"no"') == 200


def test_fault_01_refused_answer_stays_on_the_page_and_after_a_reload(
    open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place("yes-no-unsure", classes=LONG[:20])
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.page.route("**/api/answer", lambda route: route.fulfill(**REFUSAL))
    say_no_to_all(ann.page)
    ann.page.get_by_role("button", name="Send").click()

    ann.page.get_by_text("did not take this answer").wait_for()
    assert ticks(ann.page) == 20
    ann.page.reload()
    ann.wait_for_trial(1)
    assert ticks(ann.page) == 20
    ann.page.unroute("**/api/answer")
    ann.page.get_by_role("button", name="Send").click()
    ann.wait_for_trial(2)
    assert place.rows("SELECT count(*) FROM answer") == [(1,)]


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("count", [2, 20, 50, 100, 1000])
def test_fault_02_every_label_can_be_reached(
    open_place: Callable[..., Place],
    visit: Callable[..., Visitor],
    count: int,
    size: dict[str, int],
) -> None:
    place = open_place("choose-one", classes=[f"label {number}" for number in range(count)])
    ann = visit(f"{place.url}/?participant=ann", size)
    ann.wait_for_trial(1)

    assert ann.page.locator("[data-input]").count() == count
    assert ann.page.evaluate(CANNOT_REACH) == []


@pytest.mark.parametrize(
    "preset", ["top-two", "sliders", "yes-no-unsure", "distribution", "sparse"]
)
def test_fault_02_every_input_of_other_forms_can_be_reached(
    open_place: Callable[..., Place], visit: Callable[..., Visitor], preset: str
) -> None:
    place = open_place(preset, classes=[f"label {number}" for number in range(100)])
    for size in (WIDE, NARROW):
        ann = visit(f"{place.url}/?participant=ann{size['width']}", size)
        ann.wait_for_trial(1)
        assert ann.page.locator("[data-input]").count() >= 100
        assert ann.page.evaluate(CANNOT_REACH) == []


DRAFTS: dict[str, tuple[str, ...]] = {
    "top-two-guarded": ("1", "7", "0", "Enter", "n", "3"),
    "sliders": ("1", "ArrowRight", "ArrowRight"),
    "typicality": ("ArrowRight", "ArrowRight"),
    "pairs": ("3",),
    "yes-no-unsure": ("y", "n"),
    "distribution": ("1", "1", "2", "x", "3"),
    "sparse": ("2", "ArrowRight"),
    "top-class": ("2", "ArrowRight"),
    "mix": ("ArrowRight",),
}
STATE = """() => [...document.querySelectorAll(
    ".answer input, .answer [aria-pressed], .answer output"
)].map((one) => [
    one.type, one.value, one.checked, one.getAttribute("aria-pressed"), one.textContent,
    one.classList.contains("unset"),
])"""


@pytest.mark.parametrize("preset", DRAFTS)
def test_fault_24_reload_keeps_the_draft(
    open_place: Callable[..., Place], visit: Callable[..., Visitor], preset: str
) -> None:
    place = open_place(preset)
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    untouched = ann.page.evaluate(STATE)
    ann.press(*DRAFTS[preset])
    before = ann.page.evaluate(STATE)
    ann.page.reload()
    ann.wait_for_trial(1)

    assert before != untouched
    assert ann.page.evaluate(STATE) == before


def test_fault_24_next_trial_begins_empty_and_the_draft_is_forgotten(
    open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place("pairs")
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.press("3", "Enter")
    ann.wait_for_trial(2)

    assert ann.page.locator("input:checked").count() == 0
    stored = ann.page.evaluate("() => JSON.stringify(localStorage)")
    assert "draft" not in stored


@pytest.mark.parametrize("preset", ["top-two", "yes-no-unsure", "mix", "pairs"])
def test_fault_24_message_goes_when_the_mistake_is_mended(
    open_place: Callable[..., Place], visit: Callable[..., Visitor], preset: str
) -> None:
    place = open_place(preset)
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.page.get_by_role("button", name="Send").click()
    status = ann.page.locator("#status")
    assert status.text_content()

    first = ann.page.locator(".answer input").first
    if first.get_attribute("type") == "range":
        first.press("ArrowRight")
    else:
        first.check()
    assert status.text_content() == ""
    assert ann.page.locator("[data-fault]").count() == 0
