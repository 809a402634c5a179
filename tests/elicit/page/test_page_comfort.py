"""What makes hours at the page bearable, and a page that is one's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.elicit.page.conftest import NARROW, Place, Visitor
from tests.elicit.page.look import no_violations, nothing_scrolls

from sfumato.elicit.design.places import open_study
from sfumato.elicit.design.presets import preset_study
from sfumato.elicit.design.study import LANGUAGES
from sfumato.errors import DataError

Open = Callable[..., Place]
Visit = Callable[..., Visitor]


def background(page: Any) -> str:
    return str(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))


def test_dark_page_follows_the_computer_and_the_person(open_place: Open, visit: Visit) -> None:
    place = open_place("distribution")
    ann = visit(f"{place.url}/?participant=ann", color_scheme="dark")
    ann.wait_for_trial(1)
    dark = background(ann.page)
    ann.page.get_by_role("button", name="Light or dark").click()
    light = background(ann.page)
    ann.page.reload()
    ann.wait_for_trial(1)
    assert dark != light == background(ann.page)

    fixed = open_place("distribution", page={"theme": "light"})
    ben = visit(f"{fixed.url}/?participant=ben", color_scheme="dark")
    ben.wait_for_trial(1)
    assert background(ben.page) == light
    assert ben.page.get_by_role("button", name="Light or dark").count() == 0


@pytest.mark.parametrize("pixels", ["smooth", "sharp"])
def test_images_are_enlarged_to_the_screen_and_sharp_on_request(
    pixels: str, open_place: Open, visit: Visit
) -> None:
    place = open_place("distribution", page={"pixels": pixels})
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.press("z")
    large = ann.page.locator("dialog img")
    large.wait_for()
    ann.page.wait_for_function("() => document.querySelector('dialog img').width > 400")
    assert large.bounding_box()["height"] <= 720
    rendering = "getComputedStyle(document.querySelector('dialog img')).imageRendering"
    assert (ann.page.evaluate(rendering) == "pixelated") == (pixels == "sharp")
    ann.page.get_by_label("Sharp pixels").click()
    assert (ann.page.evaluate(rendering) == "pixelated") == (pixels == "smooth")
    no_violations(ann.page)
    ann.press("Escape")
    assert ann.page.locator("dialog").count() == 0


def test_sharp_pixels_are_squares_of_one_colour(open_place: Open) -> None:
    place = open_place("distribution", page={"pixels": "sharp"})
    for path in (place.folder / "images").iterdir():
        shown = np.asarray(Image.open(path))
        assert shown.shape[:2] == (160, 160)
        blocks = shown.reshape(32, 5, 32, 5, -1)
        assert (blocks == blocks[:, :1, :, :1]).all()


def test_instructions_can_be_read_again_after_a_reload(open_place: Open, visit: Visit) -> None:
    place = open_place(
        "distribution",
        welcome={
            "consent": [], "comprehension": [], "debrief": [], "instructions": ["Look closely."],
        },
    )  # fmt: skip
    ann = visit(f"{place.url}/?participant=ann")
    ann.page.get_by_role("button", name="Continue").click()
    ann.wait_for_trial(1)
    ann.page.reload()
    ann.wait_for_trial(1)
    ann.press("?")
    ann.page.get_by_text("Look closely.").wait_for()
    no_violations(ann.page)
    ann.press("4")  # a key for the form: it must not reach it
    ann.page.get_by_role("button", name="Close").click()
    assert ann.page.locator(".class.some").count() == 0


def test_time_and_pay_are_told_after_some_trials(open_place: Open, visit: Visit) -> None:
    place = open_place(
        "pairs", layout={"trials_per_person": 8}, recruiting={"pay": 2.5, "currency": "GBP"}
    )
    ann = visit(f"{place.url}/?participant=ann")
    for number in range(1, 4):
        ann.wait_for_trial(number)
        assert "min left" not in ann.page.locator("#progress").inner_text()
        ann.press("3", "Enter")
    ann.wait_for_trial(4)
    assert "about 1 min left, 2.5 GBP in all" in ann.page.locator("#progress").inner_text()
    nothing_scrolls(ann.page)


def test_code_is_copied_by_a_button(open_place: Open, visit: Visit) -> None:
    place = open_place("pairs", layout={"trials_per_person": 1})
    ann = visit(f"{place.url}/?participant=ann", permissions=["clipboard-read", "clipboard-write"])
    ann.wait_for_trial(1)
    ann.press("3", "Enter")
    ann.page.get_by_role("button", name="Copy the code").click()
    ann.page.get_by_text("Copied.").wait_for()
    held = ann.page.evaluate("navigator.clipboard.readText()")
    assert held == ann.page.locator(".code").inner_text()
    no_violations(ann.page)


def test_own_colours_logo_and_title(open_place: Open, visit: Visit, tmp_path: Path) -> None:
    logo = tmp_path / "clinic.png"
    Image.new("RGB", (900, 300), "teal").save(logo)
    page = {"accent": "#7a1f5c", "logo": str(logo)}
    place = open_place("distribution", title="Skin clinic", page=page)
    ann = visit(f"{place.url}/?participant=ann", NARROW)
    ann.wait_for_trial(1)
    send = ann.page.get_by_role("button", name="Send")
    colour = send.evaluate("(one) => getComputedStyle(one).backgroundColor")
    assert colour == "rgb(122, 31, 92)"
    assert ann.page.locator("#logo").evaluate("(one) => one.naturalHeight") == 160
    assert ann.page.title() == "Skin clinic"
    assert open_study(place.folder).page.logo == "logo.png"
    nothing_scrolls(ann.page)
    no_violations(ann.page)


def test_colour_that_white_text_cannot_be_read_on_is_refused() -> None:
    with pytest.raises(DataError, match=r"accent #ffcc00 is too light: .* 1\.5, and 4\.5"):
        preset_study("distribution", ["cat", "dog"], page={"accent": "#ffcc00"})


@pytest.mark.parametrize("language", [*LANGUAGES, "de-AT", "zh-Hans"])
def test_page_speaks_its_language(language: str, open_place: Open, visit: Visit) -> None:
    place = open_place("yes-no-unsure", language=language)
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    root = ann.page.locator("html")
    assert root.get_attribute("lang") == language
    assert root.get_attribute("dir") == ("rtl" if language == "ar" else "ltr")
    assert (ann.page.get_by_role("button", name="Send", exact=True).count() == 1) == (
        language == "en"
    )
    nothing_scrolls(ann.page)


@pytest.mark.parametrize(("language", "near"), [("fe", "fr"), ("sp", "es"), ("jp", "pt")])
def test_unknown_language_is_refused_with_a_near_name(language: str, near: str) -> None:
    with pytest.raises(DataError, match=f"language of the page is called '{language}'.*{near}"):
        preset_study("distribution", ["cat", "dog"], language=language)


def test_groups_must_be_of_the_classes_and_apart() -> None:
    with pytest.raises(DataError, match="'dogg'"):
        preset_study("distribution", ["cat", "dog"], groups={"pets": ["dogg"]})
    with pytest.raises(DataError, match="in the groups 'a' and 'b'"):
        preset_study("distribution", ["cat", "dog"], groups={"a": ["cat"], "b": ["cat"]})
