"""The form in a notebook: its Python side alone, and its JavaScript in a real browser."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.elicit.notebook import STATIC
from sfumato.errors import DataError, UnknownName

PICTURES = {f"scan-{n}": np.full((8, 8, 3), 80 * n, np.uint8) for n in range(3)}
CLASSES = ["cat", "dog", "deer"]


def answer(form: Any, said: Any) -> None:
    form.take({"kind": "answer", "item": form.trial["id"], "answer": said, "seconds": 1.5})


def test_answers_become_judgments_that_can_be_labelled() -> None:
    form = sf.ask(PICTURES, CLASSES, "distribution")
    answer(form, {"cat": 60, "dog": 40})
    answer(form, {"deer": 100})
    form.take({"kind": "back"})
    assert form.trial["draft"] == {"deer": 100}
    answer(form, {"dog": 100})
    answer(form, {"cat": 100})

    assert form.trial is None
    labels = sf.label(form.judgments)
    assert labels.probs.tolist() == [[0.6, 0.4, 0], [0, 1, 0], [1, 0, 0]]
    assert form.judgments.table["annotator"].unique().to_list() == ["me"]


def test_answers_are_checked_as_the_server_does() -> None:
    form = sf.ask(PICTURES, CLASSES, "distribution")
    said: list[Any] = []
    form.send = said.append
    answer(form, {"cat": 60})
    form.take({"kind": "answer", "item": "scan-2", "answer": {"cat": 100}, "seconds": 1})

    assert said == [{"problem": "The probabilities sum to less than 100."}]
    assert form.trial["id"] == "scan-0" and len(form.judgments) == 0


def test_texts_and_folders_can_be_asked_about(tmp_path: Path) -> None:
    texts = sf.Items(
        ("1", "2"), np.array([["It rains.", "Wet."], ["Sun.", "Dry."]]), "texts", ("a", "b")
    )
    form = sf.ask(texts, ["yes", "no"])
    assert form.trial["texts"] == [[["a", "It rains."], ["b", "Wet."]]]
    with pytest.raises(DataError, match="neither a folder"):
        sf.ask(str(tmp_path / "none"), ["yes", "no"])


def test_what_cannot_be_asked_is_a_sentence() -> None:
    with pytest.raises(DataError, match="shows a class with each item"):
        sf.ask(PICTURES, CLASSES, "typicality")
    with pytest.raises(UnknownName, match="distribution"):
        sf.ask(PICTURES, CLASSES, "distributon")
    with pytest.raises(UnknownName, match="language"):
        sf.ask(PICTURES, CLASSES, language="xx")


KEYS: dict[str, tuple[list[str], Any]] = {
    "choose-one": (["2"], "dog"),
    "distribution": (["1", "1", "x", "3", "t", "Enter"], {"cat": 100, "ruled_out": ["deer"]}),
    "yes-no-unsure": (["y", "r", "Enter"], {"cat": "yes", "dog": "no", "deer": "no"}),
    "ranking": (["3", "1", "Enter"], ["deer", "cat"]),
}
FAKE = """async ([source, state]) => {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const { default: widget } = await import(url);
    const heard = {};
    window.sent = [];
    window.model = {
        get: (name) => state[name],
        send: (message) => window.sent.push(message),
        on: (name, act) => (heard[name] = act),
    };
    const el = document.body.appendChild(document.createElement("div"));
    await widget.render({ model: window.model, el });
}"""


@pytest.mark.parametrize("kind", KEYS)
def test_form_in_a_browser_sends_what_python_takes(kind: str, chromium: Any) -> None:
    form = sf.ask(PICTURES, CLASSES, kind)
    names = ("modules", "style", "words", "form", "trial", "told")
    state = {name: getattr(form, name) for name in names}
    context = chromium.new_context(viewport={"width": 1000, "height": 640})
    page = context.new_page()
    wrongs: list[str] = []
    page.on("pageerror", lambda error: wrongs.append(str(error)))
    page.route("**/*", lambda route: route.fulfill(body="<!doctype html><body>"))
    page.goto("http://notebook.test/")
    page.evaluate(FAKE, [(STATIC / "notebook" / "form.js").read_text(), state])
    keys, expected = KEYS[kind]
    for key in keys:
        page.keyboard.press(key)
    sent = page.evaluate("() => window.sent")
    context.close()

    assert wrongs == []
    assert [message["answer"] for message in sent] == [expected]
    form.take(sent[0])
    assert json.loads(form.judgments.table["answer"][0]) == expected
