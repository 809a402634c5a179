"""Ask oneself in a notebook: items and a question become a form there, and answers Judgments.

The form is the one of the page: its modules are handed to the notebook as they are. Answers are
checked as the server checks them, and stay in the memory of the notebook.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import polars as pl
import traitlets
from numpy.typing import NDArray
from PIL import Image

from sfumato.elicit.design.study import LANGUAGES, Mode
from sfumato.elicit.making.pictures import open_images, read_texts, scale_image
from sfumato.elicit.refusals import InvalidAnswer
from sfumato.elicit.session.answers import check_answer
from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import Question
from sfumato.judgments.question import ask as plain_question
from sfumato.names import find
from sfumato.provenance import Step

STATIC = Path(__file__).parent / "static"
NOT_HERE = {"typicality": "shows a class with each item"}
"""Kinds of questions that need more than an item, and why."""
STYLE = ".answer { max-height: 460px; } main { min-height: 420px; border: 1px solid var(--line); }"
"""Beside that of the page: a notebook has no height of its own."""


class AnswerForm(anywidget.AnyWidget):
    """A form that is shown where a notebook shows its value; ``judgments`` are its answers."""

    _esm = STATIC / "notebook" / "form.js"
    modules = traitlets.Dict().tag(sync=True)
    style = traitlets.Unicode().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)
    form = traitlets.Unicode().tag(sync=True)
    trial: Any = traitlets.Dict(allow_none=True).tag(sync=True)
    told = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        question: Question,
        shown: Mapping[str, Mapping[str, Any]],
        *,
        annotator: str,
        mode: Mode,
        language: str,
    ) -> None:
        self.question, self.annotator, self.mode = question, annotator, mode
        self._shown = dict(shown)
        self._items = list(self._shown)
        self._given: dict[str, tuple[str, float]] = {}
        self._place = 0
        words = json.loads((STATIC / "texts" / f"{language}.json").read_text(encoding="utf-8"))
        super().__init__(
            modules=_modules(), style=_style(), words=words, form=question.kind, told=""
        )
        self.on_msg(lambda _widget, message, _buffers: self.take(message))
        self._show()

    @property
    def judgments(self) -> Judgments:
        """What was answered so far."""
        table = pl.DataFrame(
            {
                "item": list(self._given),
                "annotator": [self.annotator] * len(self._given),
                "answer": [text for text, _ in self._given.values()],
                "seconds": [seconds for _, seconds in self._given.values()],
            },
            schema_overrides={"item": pl.String, "annotator": pl.String, "answer": pl.String},
        )
        step = Step("ask in a notebook", {"annotator": self.annotator, "mode": self.mode})
        return Judgments(self.question, table, provenance=(step,))

    def take(self, message: Mapping[str, Any]) -> None:
        """A message of the form: an answer, or that somebody goes back."""
        if message.get("kind") == "back":
            self._place = max(0, self._place - 1)
            self._show()
            return
        if message.get("item") != self._items[self._place]:  # a second click came late
            return
        try:
            checked = check_answer(self.question, message["answer"], mode=self.mode, shown={})
        except InvalidAnswer as refused:
            self.send({"problem": " ".join(fault.sentence for fault in refused.faults)})
            return
        self._given[message["item"]] = (checked.text, float(message["seconds"]))
        self._place += 1
        self._show()

    def _show(self) -> None:
        if self._place == len(self._items):
            self.told = f"{len(self._given)} / {len(self._items)}"
            self.trial = None
            return
        item = self._items[self._place]
        before = self._given.get(item)
        self.trial = {
            "id": item,
            "number": self._place + 1,
            "of": len(self._items),
            "classes": list(self.question.classes),
            "shown": {},
            "mode": self.mode,
            "draft": None if before is None else json.loads(before[0]),
            "question": {
                "form": self.question.kind,
                "wording": self.question.wording.replace("{class}", self.question.classes[0]),
                "options": dict(self.question.options),
                "groups": {},
            },
            **self._shown[item],
        }


def ask(
    items: Items | Mapping[str, NDArray[np.uint8]] | str | Path,
    classes: Sequence[str] = (),
    question: Question | str = "choose-one",
    *,
    annotator: str = "me",
    mode: Mode = "guarded",
    language: str = "en",
) -> AnswerForm:
    """A form about each of the items, to answer in a notebook: for one's own first fifty answers.

    ``items`` are images or texts: what ``sf.load_items`` gives, a folder or archive of images, or
    arrays by id. ``question`` is a kind of question about the ``classes``, or a ``Question``. The
    value shows itself in a notebook; its ``judgments`` are the answers so far.

    >>> import numpy as np
    >>> pictures = {"a": np.zeros((8, 8), np.uint8), "b": np.ones((8, 8), np.uint8)}
    >>> form = ask(pictures, ["cat", "dog"], "distribution")
    >>> form.take({"kind": "answer", "item": "a", "answer": {"cat": 80, "dog": 20}, "seconds": 3})
    >>> form.judgments.table["answer"].to_list(), form.trial["id"]
    (['{"cat":80,"dog":20}'], 'b')
    """
    asked = question if isinstance(question, Question) else plain_question(question, classes)
    if asked.kind in NOT_HERE:
        raise DataError(
            f"A question of the kind {asked.kind!r} {NOT_HERE[asked.kind]}; ask it in a study."
        )
    find(dict.fromkeys(LANGUAGES), language, what="language of the page")
    shown = _texts(items) if isinstance(items, Items) and items.kind == "texts" else _images(items)
    return AnswerForm(asked, shown, annotator=annotator, mode=mode, language=language)


def _texts(items: Items) -> dict[str, dict[str, Any]]:
    return {
        item: {"images": [], "texts": [[list(field) for field in source.fields]]}
        for item, source in read_texts(items).items()
    }


def _images(
    items: Items | Mapping[str, NDArray[np.uint8]] | str | Path,
) -> dict[str, dict[str, Any]]:
    if isinstance(items, Items):
        if items.kind != "images":
            raise DataError(f"People can be shown texts or images; these are {items.describe()}.")
        items = {item: _bytes(content) for item, content in items}
    elif isinstance(items, str):
        items = Path(items)
    with open_images(items) as sources:
        return {
            item: {"images": [_address(source.read())], "texts": []}
            for item, source in sources.items()
        }


def _bytes(content: NDArray[Any]) -> NDArray[np.uint8]:
    if content.dtype == np.uint8:
        return content
    return np.rint(content * 255).astype(np.uint8)


def _address(image: Image.Image) -> str:
    """The picture itself as an address, for a page without a server."""
    written = BytesIO()
    scale_image(image, "smooth").save(written, "PNG")
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode()


def _modules() -> dict[str, str]:
    names = [
        path.relative_to(STATIC) for path in [*STATIC.glob("*.js"), *STATIC.glob("forms/*.js")]
    ]
    return {name.as_posix(): (STATIC / name).read_text(encoding="utf-8") for name in names}


def _style() -> str:
    """The style of the page, for a part of another page."""
    style = (STATIC / "page.css").read_text(encoding="utf-8")
    for there, here in (
        (":root", ":host"),
        ('[data-theme="dark"] {', ':host([data-theme="dark"]) {'),
    ):
        style = style.replace(there, here)
    return style + STYLE
