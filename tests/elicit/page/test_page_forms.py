"""Every form in a real browser: by keyboard on a wide screen, by touch on a narrow one."""

import io
import json
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.elicit.page.conftest import CLASSES, NARROW, WIDE, Place, Visitor
from tests.elicit.page.look import no_violations, nothing_scrolls, targets_are_large

from sfumato.errors import DataError

Answer = Any
ZEROS = dict.fromkeys(CLASSES, 0)
NO = dict.fromkeys(CLASSES, "no")
TOP_TWO = {
    "first": "cat",
    "first_percent": "70",
    "second": "dog",
    "second_percent": "20",
    "ruled_out": ["airplane", "automobile"],
}

KEYS: dict[str, tuple[list[str], Answer]] = {
    "choose-one": (["4"], "cat"),
    "top-two": (["4", "7", "0", "Enter", "6", "2", "0", "Enter", "1", "2", "Enter"], TOP_TWO),
    "sliders": (["4", "PageUp", "ArrowRight", "Enter"], {**ZEROS, "cat": 0.11}),
    "typicality": (["ArrowRight", "Enter"], {"typicality": 0.51}),
    "yes-no-unsure": (
        [*"yun", *"nnnnnnn", "Enter"],
        {**NO, "airplane": "yes", "automobile": "unsure"},
    ),
    "top-class": (
        ["2", "End", "Enter"],
        {"airplane": 0, "automobile": 1, "bird": 0, "cat": 0},
    ),
    "sparse": (["4", "End", "6", "Home", "Enter"], {"cat": 1, "dog": 0}),
    "distribution": (
        ["4", "4", "6", "6", "Shift+6", "x", "1", "t", "Enter"],
        {"cat": 95, "dog": 5, "ruled_out": ["airplane"]},
    ),
    "likely-set": (["4", "6", "1", "1", "Enter"], ["cat", "dog"]),
    "ranking": (["6", "4", "1", "1", "Enter"], ["dog", "cat"]),
    "confidence": (["4", "p", "Enter"], {"choice": "cat", "confidence": "probably"}),
    "rating": (["4", "Enter"], "cat"),
    "number": (["ArrowRight", "Enter"], 1.51),
    "multi-label": (["y", "u", "r", "Enter"], {**NO, "airplane": "yes", "automobile": "unsure"}),
    "three-point": (
        ["1", "Home", "2", "PageUp", "3", "End", "Enter"],
        {"lower": 0, "best": 60, "upper": 100},
    ),
    "own-and-others": (
        ["6", "4", "4", "x", "1", "t", "Enter"],
        {"own": "dog", "others": {"cat": 100, "ruled_out": ["airplane"]}},
    ),
    "pairs": (["4", "Enter"], {"rating": 4}),
    "triplets": (["ArrowLeft"], {"closer": "first"}),
    "preference": (["ArrowDown"], {"preferred": "tie"}),
    "mix": (["1", "End", "2", "Home", "Enter"], {"perceived": 0, "confidence": 0}),
}
"""What a person presses, and what is stored."""


def _tap_top_two(page: Any) -> None:
    page.locator(".column.first label.option", has_text="cat").tap()
    page.locator("[name=first_percent]").fill("70")
    page.locator(".column.second label.option", has_text="dog").tap()
    page.locator("[name=second_percent]").fill("20")
    for name in ("airplane", "automobile"):
        page.locator(".column.ruled_out label.option", has_text=name).tap()


def _tap_middle(page: Any, name: str) -> None:
    page.get_by_role("slider", name=name).tap()


def _tap_three(page: Any) -> None:
    for place, said in enumerate(["Yes", "Unsure", *["No"] * 8]):
        page.locator("fieldset.three").nth(place).get_by_text(said, exact=True).tap()


def _tap_sparse(page: Any) -> None:
    for name in ("cat", "dog"):
        page.locator("button.choice", has_text=name).tap()
        _tap_middle(page, name)


def _tap_chips(page: Any) -> None:
    page.get_by_role("button", name="One chip more: dog").tap()
    for _ in range(2):
        page.get_by_role("button", name="cat: add a chip").tap()
    page.get_by_role("button", name="Definitely not: airplane").tap()
    page.get_by_role("button", name="Rest to top").tap()


def _tap_mix(page: Any) -> None:
    for slider in page.get_by_role("slider").all():
        slider.tap()


def _tap_choices(page: Any, *names: str) -> None:
    for name in names:
        page.locator("button.choice", has_text=name).tap()


def _tap_ranking(page: Any) -> None:
    _tap_choices(page, "dog", "cat")
    page.get_by_role("button", name="Up: cat").tap()


def _tap_confidence(page: Any) -> None:
    _tap_choices(page, "cat")
    page.locator("label.point", has_text="guessing").tap()


def _tap_own_and_others(page: Any) -> None:
    _tap_choices(page, "dog")
    _tap_chips(page)


HALF_OF_100 = pytest.approx(50, abs=2)
HALF = pytest.approx(0.5, abs=0.02)  # a tap hits the middle of a slider to a pixel or two

TAPS: dict[str, tuple[Callable[[Any], None], Answer]] = {
    "choose-one": (lambda page: page.locator("button", has_text="cat").tap(), "cat"),
    "top-two": (_tap_top_two, TOP_TWO),
    "sliders": (lambda page: _tap_middle(page, "cat"), {**ZEROS, "cat": HALF}),
    "typicality": (lambda page: page.get_by_role("slider").tap(), {"typicality": HALF}),
    "yes-no-unsure": (_tap_three, {**NO, "airplane": "yes", "automobile": "unsure"}),
    "top-class": (
        lambda page: _tap_middle(page, "cat"),
        {"airplane": 0, "automobile": 0, "bird": 0, "cat": HALF},
    ),
    "sparse": (_tap_sparse, {"cat": HALF, "dog": HALF}),
    "distribution": (_tap_chips, {"cat": 95, "dog": 5, "ruled_out": ["airplane"]}),
    "likely-set": (lambda page: _tap_choices(page, "dog", "cat"), ["cat", "dog"]),
    "ranking": (_tap_ranking, ["cat", "dog"]),
    "confidence": (_tap_confidence, {"choice": "cat", "confidence": "guessing"}),
    "rating": (lambda page: page.locator("label.point", has_text="deer").tap(), "deer"),
    "number": (lambda page: page.get_by_role("slider").tap(), pytest.approx(1.5, abs=0.02)),
    "multi-label": (_tap_three, {**NO, "airplane": "yes", "automobile": "unsure"}),
    "three-point": (_tap_mix, dict.fromkeys(("lower", "best", "upper"), HALF_OF_100)),
    "own-and-others": (
        _tap_own_and_others,
        {"own": "dog", "others": {"cat": 95, "dog": 5, "ruled_out": ["airplane"]}},
    ),
    "preference": (
        lambda page: page.locator("button.choice").nth(1).tap(),
        {"preferred": "second"},
    ),
    "pairs": (lambda page: page.locator("label.point", has_text="4").tap(), {"rating": 4}),
    "triplets": (lambda page: page.locator("button.choice").first.tap(), {"closer": "first"}),
    "mix": (_tap_mix, {"perceived": HALF, "confidence": HALF}),
}


@pytest.mark.parametrize("form", list(KEYS))
def test_form_works_by_keyboard_and_by_touch(
    form: str, open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place(form, layout={"trials_per_person": 2, "shuffle_classes": False})
    keys, typed = KEYS[form]
    tap, tapped = TAPS[form]

    wide = visit(f"{place.url}/?participant=wide", WIDE)
    wide.wait_for_trial(1)
    nothing_scrolls(wide.page)
    wide.press(*keys)
    wide.wait_for_trial(2)
    wide.press(*keys[:-1] if keys[-1] == "Enter" else [])
    nothing_scrolls(wide.page)
    no_violations(wide.page)
    wide.press(keys[-1])
    wide.page.wait_for_selector(".code")

    narrow = visit(f"{place.url}/?participant=narrow", NARROW, has_touch=True, is_mobile=True)
    narrow.wait_for_trial(1)
    nothing_scrolls(narrow.page)
    targets_are_large(narrow.page)
    no_violations(narrow.page)
    tap(narrow.page)
    if form not in ("choose-one", "triplets", "preference"):
        nothing_scrolls(narrow.page)
        narrow.page.get_by_role("button", name="Send").tap()
    narrow.wait_for_trial(2)

    stored = place.rows(
        "SELECT answer.answer, trial.shown, stimulus.shown FROM answer JOIN trial ON "
        "trial.id = answer.trial JOIN stimulus ON stimulus.id = trial.stimulus ORDER BY trial.id"
    )
    for expected, row in zip([typed, typed, tapped], stored, strict=True):
        assert _seen(*row) == _about(expected, *row)


def _seen(answer: str, trial_shown: str, _shown: str) -> Answer:
    """The answer as the person saw it: stored ones are in the stimulus' own order."""
    given = json.loads(answer)
    if json.loads(trial_shown).get("swapped"):
        for field in {"closer", "preferred"} & set(given):
            given[field] = {"first": "second", "second": "first"}.get(given[field], "tie")
        if "perceived" in given:
            given["perceived"] = 1 - given["perceived"]
    return given


def _about(expected: Answer, _answer: str, _trial_shown: str, shown: str) -> Answer:
    if isinstance(expected, dict) and "typicality" in expected:
        return {**expected, "class": json.loads(shown)["class"]}
    return expected


def test_chips_always_sum_to_the_whole(
    open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place("distribution", layout={"trials_per_person": 4, "shuffle_classes": False})
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.press("4", "Enter")
    assert "95 %" in ann.page.locator("#status").inner_text()
    ann.press("e", "Enter")
    ann.wait_for_trial(2)
    ann.press(*"x1x2x3x4x5x6x7", "i", "Enter")  # a third each is no multiple of a chip
    ann.wait_for_trial(3)
    bar = ann.page.get_by_role("slider", name="cat")
    box = bar.bounding_box()
    ann.page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    ann.page.mouse.down()
    ann.page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2, steps=4)
    ann.page.mouse.up()
    ann.page.get_by_role("slider", name="dog").press("End")  # more than is left
    ann.press("Enter")
    ann.wait_for_trial(4)
    stored = [json.loads(row[0]) for row in place.rows("SELECT answer FROM answer ORDER BY trial")]
    assert stored[1].pop("ruled_out") == CLASSES[:7]
    assert all(abs(sum(answer.values()) - 100) < 1e-7 for answer in stored)
    assert stored[0]["cat"] == 5 and stored[0]["ship"] == pytest.approx(95 / 9)
    assert stored[1]["horse"] == pytest.approx(100 / 3) and "cat" not in stored[1]
    assert stored[2] == {"cat": 60, "dog": 40}


def test_guarded_form_points_contradictions_out_and_going_back_shows_the_answer(
    open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place("top-two-guarded", layout={"shuffle_classes": False})
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.press("4", *"70", "Enter", "6", *"40", "Enter", "4", "Enter")
    status = ann.page.locator("#status").inner_text()
    assert "more than the whole" in status and "also marked as definitely not" in status
    for size in (NARROW, WIDE):
        ann.page.set_viewport_size(size)
        nothing_scrolls(ann.page)
        no_violations(ann.page)
    assert place.rows("SELECT count(*) FROM answer") == [(0,)]
    ann.press("4")
    ann.page.locator("[name=second_percent]").fill("3O")  # a letter
    ann.press("Tab", "Enter")
    assert "must be a number" in ann.page.locator("#status").inner_text()
    ann.page.locator("[name=second_percent]").fill("30")
    ann.page.get_by_role("button", name="Send").click()
    ann.wait_for_trial(2)
    ann.page.get_by_role("button", name="Back").click()
    ann.wait_for_trial(1)
    assert ann.page.locator("[name=first_percent]").input_value() == "70"
    assert ann.page.locator("[name=second]:checked").get_attribute("value") == "5"
    ann.page.locator("[name=first_percent]").fill("60")
    ann.page.get_by_role("button", name="Send").click()
    ann.wait_for_trial(2)
    ((answer, changed),) = place.rows("SELECT answer, changed FROM answer")
    assert json.loads(answer)["first_percent"] == "60" and changed == 1


def test_use_of_each_input_is_recorded(
    open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place("top-two", layout={"shuffle_classes": False})
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    ann.page.wait_for_timeout(300)
    ann.press("4", *"70", "Enter")
    ann.page.evaluate("window.dispatchEvent(new Event('blur'))")
    ann.press("n", "Enter")
    ann.wait_for_trial(2)
    ((seconds, spent),) = place.rows("SELECT seconds, input_seconds FROM answer")
    events = place.rows("SELECT kind, data FROM answer_event ORDER BY id")
    inputs = [json.loads(data) for kind, data in events if kind == "inputs"]
    percent = next(data for data in inputs if data["input"] == "first_percent")
    assert percent["changes"] == 2 and 0.3 <= percent["first"] <= percent["last"] <= seconds
    assert set(json.loads(spent)) == {"first", "first_percent", "second", "ruled_out"}
    assert [json.loads(data)["lost"] for kind, data in events if kind == "focus"] == [True]


def test_many_classes_scroll_beside_the_image(
    open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place("distribution", classes=[f"class number {n}" for n in range(30)])
    ann = visit(f"{place.url}/?participant=ann", NARROW)
    ann.wait_for_trial(1)
    last = ann.page.get_by_role("slider").last
    last.press("ArrowRight")
    for shown in (
        last,
        ann.page.locator("img"),
        ann.page.get_by_role("button", name="Rest to top"),
    ):
        box = shown.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= NARROW["height"]
    no_violations(ann.page)


def test_nothing_is_answered_before_its_image_is_there(
    open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    place = open_place("choose-one", layout={"trials_per_person": 2, "shuffle_classes": False})
    ann = visit(f"{place.url}/?participant=early")
    ann.wait_for_trial(1)
    held: list[Any] = []
    ann.page.route("**/image/*", lambda route: held.append(route))
    ann.page.reload()
    ann.page.locator(".answer[inert]").wait_for()

    ann.press("4")
    ann.page.route("**/image/*", lambda route: route.continue_())
    for image in held:
        image.continue_()
    ann.wait_for_trial(1)

    assert ann.page.locator("[aria-pressed=true]").count() == 0
    ann.press("4")
    ann.wait_for_trial(2)


def wave_file(seconds: float) -> bytes:
    """A tone of 440 Hz."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        times = np.arange(int(8000 * seconds)) / 8000
        file.writeframes((8000 * np.sin(2 * np.pi * 440 * times)).astype("<i2").tobytes())
    return written.getvalue()


def test_recordings_have_a_player_and_can_be_wound(
    open_place: Callable[..., Place], visit: Callable[..., Visitor], tmp_path: Path
) -> None:
    sounds = tmp_path / "sounds"
    sounds.mkdir()
    for number in range(3):
        (sounds / f"tone-{number}.wav").write_bytes(wave_file(2 + number))
    place = open_place("choose-one", images=sounds, layout={"shuffle_classes": False})
    ann = visit(f"{place.url}/?participant=ann")
    ann.wait_for_trial(1)
    player = ann.page.locator("audio")
    assert player.evaluate("(one) => one.duration") >= 2
    player.evaluate("(one) => { one.currentTime = 1.5; }")
    assert player.evaluate("(one) => one.currentTime") == 1.5
    no_violations(ann.page)
    nothing_scrolls(ann.page)
    ann.press("4")
    ann.wait_for_trial(2)

    (sounds / "tone-3.mp3").write_bytes(b"<html>no sound</html>")
    with pytest.raises(DataError, match=r"tone-3\.mp3 is no \.mp3 file"):
        open_place("choose-one", images=sounds)
