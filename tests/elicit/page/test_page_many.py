"""Ten, a hundred and a thousand classes: every one can be found, on any screen, by any means."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.elicit.page.conftest import NARROW, WIDE, Place, Visitor
from tests.elicit.page.look import no_violations
from tests.elicit.page.test_faults_page import CANNOT_REACH

Open = Callable[..., Place]
Visit = Callable[..., Visitor]
KINDS = ("fox", "wolf", "bear", "owl", "carp")
SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])


def names(count: int) -> list[str]:
    return [f"{KINDS[place % len(KINDS)]} {place}" for place in range(count)]


def groups(classes: list[str]) -> dict[str, list[str]]:
    return {kind: [name for name in classes if name.startswith(kind)] for kind in KINDS}


def stored(place: Place) -> list[Any]:
    return [json.loads(row[0]) for row in place.rows("SELECT answer FROM answer ORDER BY trial")]


FORMS = ["choose-one", "likely-set", "ranking", "confidence", "sparse", "yes-no-unsure"]


@pytest.mark.check
@SIZES
@pytest.mark.parametrize("form", [*FORMS, "sliders", "distribution", "top-two"])
def test_every_label_of_every_form_is_reachable(
    form: str, size: dict[str, int], open_place: Open, visit: Visit
) -> None:
    for count in (10, 100, 1000):
        place = open_place(form, classes=names(count))
        ann = visit(f"{place.url}/?participant=ann", size)
        ann.wait_for_trial(1)
        inputs = ann.page.locator("[data-input]").evaluate_all(
            "(all) => [...new Set(all.map((one) => one.dataset.input))]"
        )
        if form != "top-two":  # whose inputs are named after the column
            assert set(names(count)) <= set(inputs)
        assert ann.page.evaluate(CANNOT_REACH) == []
        ann.page.close()


@SIZES
@pytest.mark.parametrize("form", ["choose-one", "likely-set"])
def test_closed_groups_open_to_all_their_labels(
    form: str, size: dict[str, int], open_place: Open, visit: Visit
) -> None:
    classes = names(1000)
    place = open_place(form, classes=classes, groups=groups(classes))
    ann = visit(f"{place.url}/?participant=ann", size)
    ann.wait_for_trial(1)
    assert ann.page.locator(".choice:visible").count() == 0
    no_violations(ann.page)
    for heading in ann.page.locator("button.group").all():
        heading.click()
    assert ann.page.locator(".choice:visible").count() == 1000
    assert ann.page.evaluate(CANNOT_REACH) == []


def test_typing_searches_and_enter_chooses(open_place: Open, visit: Visit) -> None:
    place = open_place("choose-one", classes=names(1000), layout={"shuffle_classes": False})
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.press(*"owl 998")
    assert ann.page.locator(".choice:visible").all_inner_texts() == ["1\nowl 998"]
    ann.press("Enter")
    ann.wait_for_trial(2)
    # What was used last stands first, and one click is enough.
    ann.page.locator(".recent button", has_text="owl 998").click()
    ann.wait_for_trial(3)
    ann.press("Shift+Digit2")  # the twelfth
    ann.page.wait_for_selector(".code")
    assert stored(place) == ["owl 998", "owl 998", "wolf 11"]


def test_escape_ends_a_search_and_numbers_follow_what_is_shown(
    open_place: Open, visit: Visit
) -> None:
    place = open_place("likely-set", classes=names(100), layout={"shuffle_classes": False})
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.press(*"carp", "Tab")
    ann.press("2")
    ann.page.locator("input[type=search]").focus()
    ann.press("Escape", "1", "Enter")
    ann.wait_for_trial(2)
    assert stored(place) == [["fox 0", "carp 9"]]


def test_rest_is_no_and_groups_are_asked_first(open_place: Open, visit: Visit) -> None:
    classes = names(20)
    place = open_place(
        "yes-no-unsure",
        classes=classes,
        groups=groups(classes),
        layout={"shuffle_classes": False},
    )
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    assert ann.page.locator(".three:visible").count() == 5
    ann.press("y")  # a fox; its kinds are asked next
    assert ann.page.locator(".three:visible").count() == 5 + 4
    ann.press("y", "u", "r", "Enter")
    ann.wait_for_trial(2)
    (said,) = stored(place)
    assert said == dict.fromkeys(classes, "no") | {"fox 0": "yes", "fox 5": "unsure"}


def test_undo_takes_back_step_by_step(open_place: Open, visit: Visit) -> None:
    place = open_place("ranking", layout={"shuffle_classes": False})
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    for key in "463":
        ann.press(key)
        ann.page.wait_for_timeout(30)
    ann.press("Control+z")
    ann.page.get_by_role("button", name="Undo").click()
    ann.press("2", "Enter")
    ann.wait_for_trial(2)
    assert stored(place) == [["cat", "automobile"]]


def test_one_click_forms_undo_by_going_back(open_place: Open, visit: Visit) -> None:
    layout = {"shuffle_classes": False, "allow_back": True}
    place = open_place("choose-one", layout=layout)
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.press("4")
    ann.wait_for_trial(2)
    ann.press("Backspace")
    ann.wait_for_trial(1)
    ann.press("6", "Enter")
    ann.wait_for_trial(2)
    assert stored(place) == ["dog"]


def test_same_as_before_is_one_key_where_a_study_allows_it(open_place: Open, visit: Visit) -> None:
    layout = {"shuffle_classes": False}
    place = open_place("distribution", layout=layout, page={"same_as_before": True})
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.press("4", "4", "x", "1", "t", "Enter")
    ann.wait_for_trial(2)
    ann.press("=", "Enter")
    ann.wait_for_trial(3)
    assert stored(place) == [{"cat": 100, "ruled_out": ["airplane"]}] * 2

    other = open_place("distribution", layout=layout)
    ben = visit(f"{other.url}/?participant=ben")
    ben.wait_for_trial(1)
    assert ben.page.get_by_role("button", name="Same as before").count() == 0
