"""Whatever a researcher or a stranger writes is shown as text (S5)."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.elicit.page.conftest import Place, Visitor

import sfumato.elicit

STATIC = Path(sfumato.elicit.__file__).parent / "static"
EVIL = "<img src=x onerror=alert(1)>"
SCRIPT = "<script>alert(2)</script>"
CLASSES = [EVIL, SCRIPT, "a & b", "{name}", '" onfocus="alert(3)']
FORMS = ["choose-one", "top-two", "yes-no-unsure", "distribution"]


@pytest.mark.parametrize("form", FORMS)
def test_markup_is_shown_as_text(
    form: str, open_place: Callable[..., Place], visit: Callable[..., Visitor]
) -> None:
    texts = [f"{EVIL} {SCRIPT}"]
    place = open_place(
        form,
        classes=CLASSES,
        title=f"{EVIL} title",
        wording=f"{SCRIPT} {EVIL}",
        prompts={"first": EVIL, "first_percent": SCRIPT},
        welcome={
            "consent": texts,
            "instructions": texts,
            "comprehension": [{"question": EVIL, "choices": [EVIL, SCRIPT], "right": EVIL}],
            "debrief": texts,
        },
    )
    ann = visit(f"{place.url}/?participant={EVIL}&x={SCRIPT}")
    page = ann.page
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Continue").click()
    page.locator("label.option", has_text=EVIL).click()
    page.get_by_role("button", name="Continue").click()
    ann.wait_for_trial(1)
    assert EVIL in page.locator("h1").inner_text()
    for name in CLASSES:
        assert name in page.locator(".answer").inner_text()
    assert page.locator("script:not([src]), img[src=x], [onfocus], [onerror]").count() == 0
    # visit() fails where a dialog opened or the policy had to stop something


def test_scripts_hold_no_way_to_make_markup_or_code() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    )
    for path in STATIC.rglob("*.js"):
        assert not forbidden.search(path.read_text()), path.name


def test_every_language_has_the_same_words() -> None:
    words = {path.stem: json.loads(path.read_text()) for path in (STATIC / "texts").glob("*.json")}
    assert set(words) >= {"en", "de", "fr", "es", "pt", "ar", "zh"}
    for language, texts in words.items():
        assert set(texts) == set(words["en"]), language
        for name, text in texts.items():
            places = re.findall(r"\{\w+\}", text)
            assert sorted(places) == sorted(re.findall(r"\{\w+\}", words["en"][name])), name


def test_every_word_that_is_asked_for_exists() -> None:
    known = json.loads((STATIC / "texts" / "en.json").read_text())
    for path in [*STATIC.glob("*.js"), *STATIC.glob("forms/*.js")]:
        for name in re.findall(
            r'\b(?:t|word|button|submit|notice)\("([a-z_-]+)"', path.read_text()
        ):
            assert name in known, (path.name, name)


def test_page_is_small() -> None:
    shared = sum(path.stat().st_size for path in STATIC.glob("*.js"))
    form = max(path.stat().st_size for path in (STATIC / "forms").glob("*.js"))
    assert shared + form <= 56_000
    words = max(path.stat().st_size for path in (STATIC / "texts").glob("*.json"))
    others = (STATIC / "page.css").stat().st_size + (STATIC / "icon.png").stat().st_size + words
    assert shared + form + others <= 100_000 - 2_000  # and the page itself
