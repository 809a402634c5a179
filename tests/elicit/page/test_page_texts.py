"""Texts in the place of images, on every form that can show them."""

import json
from collections.abc import Callable

import pytest
from tests.elicit.page.conftest import NARROW, WIDE, Place, Visitor
from tests.elicit.page.look import no_violations, targets_are_large
from tests.elicit.page.test_page_forms import KEYS

from sfumato.items.load import load_items

SAID = "A man plays <b>guitar</b> & sings.\nLoudly."
LONG = "Nobody knows why the bridge was closed, and nobody asked. " * 12
PAIRS = load_items(
    {f"pair-{place}": {"premise": SAID, "hypothesis": f"Music {place}."} for place in range(6)}
)
TALK = [{"role": "USER", "content": "Hi <script>."}, {"role": "BOT", "content": LONG}]
TALKS = load_items([{"item": f"talk-{n}", "conversation": TALK} for n in range(6)])
FORMS = sorted(set(KEYS) - {"mix"})


@pytest.fixture(scope="module")
def places(open_place: Callable[..., Place]) -> Callable[[str], Place]:
    made: dict[str, Place] = {}

    def place(preset: str) -> Place:
        if preset not in made:
            made[preset] = open_place(
                preset, images=PAIRS, mode="faithful", layout={"shuffle_classes": False}
            )
        return made[preset]

    return place


@pytest.mark.parametrize("preset", FORMS)
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_texts_are_shown_as_text(
    preset: str,
    size: dict[str, int],
    places: Callable[[str], Place],
    visit: Callable[..., Visitor],
) -> None:
    place = places(preset)
    visitor = visit(f"{place.url}/?participant=w{size['width']}", size=size)
    visitor.wait_for_trial(1)
    shown = visitor.page.locator(".text")
    assert shown.count() == {"pairs": 2, "preference": 2, "triplets": 3}.get(preset, 1)
    assert [one.strip() for one in shown.first.locator("b").all_inner_texts()] == [
        "premise",
        "hypothesis",
    ]
    assert shown.first.locator(".said").first.inner_text() == SAID
    targets_are_large(visitor.page)
    no_violations(visitor.page)
    keys, expected = KEYS[preset]
    visitor.press(*keys)
    visitor.wait_for_trial(2)
    *_, (stored,) = place.rows("SELECT answer FROM answer ORDER BY trial")
    answer = json.loads(stored)
    if preset == "triplets":  # sides may have changed places
        assert answer["closer"] in ("first", "second")
    elif preset == "typicality":
        assert answer["typicality"] == expected["typicality"]
    else:
        assert answer == expected


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_long_conversation_scrolls_by_itself(
    size: dict[str, int], open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place("distribution", images=TALKS)
    page = visit(f"{place.url}/?participant=one", size=size).page
    text = page.locator(".text")
    text.wait_for()
    assert text.inner_text().startswith("USER: Hi <script>.\nBOT: Nobody")
    assert page.locator(".text b").count() == 0
    fits = "one => one.getBoundingClientRect().bottom <= innerHeight"
    assert text.evaluate(fits)
    assert page.locator("button.main").evaluate(fits)
    if size is NARROW:
        assert text.evaluate("one => one.scrollHeight > one.clientHeight")
    no_violations(page)
