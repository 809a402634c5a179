"""The protocols of the papers, in ``presets.toml``, as settings to begin a study with."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from sfumato.elicit.design.study import (
    Check,
    ElicitStudy,
    Form,
    FrozenSettings,
    Layout,
    Mode,
    Recruiting,
    Text,
    Whose,
    fit_layout,
    study_from,
)
from sfumato.errors import DataError
from sfumato.names import find

Shows = Literal["image", "image-and-class", "pair", "triplet", "mix"]
"""What one trial shows: see ``stimuli``."""


class ViewWords(FrozenSettings):
    """What people read when they are asked for the one view or the other."""

    title: str
    wording: str
    instructions: tuple[Text, ...]
    comprehension: tuple[Check, ...]
    prompts: dict[str, Text] = Field(default_factory=dict)


class StudyPreset(FrozenSettings):
    """One protocol: what is asked, in which words, and how a session is laid out."""

    form: Form
    about: str
    """What people do, for the table in the documentation."""
    rows: str
    """The features it follows; empty where no paper has it."""
    title: str
    """What people read on top of the page."""
    wording: str
    instructions: tuple[Text, ...]
    comprehension: tuple[Check, ...]
    layout: Layout
    per_item: int
    shows: Shows = "image"
    whose: Whose = "own"
    """Whether people say what they see, or what they think others would (S2-03), where a study does
    not say so itself."""
    own: "ViewWords | None" = None
    others: "ViewWords | None" = None
    """The words for that view, where those of the preset are for the other."""
    mode: Mode = "guarded"
    prompts: dict[str, Text] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    rules: tuple[str, ...] = ()
    """Exclusion rules that belong to it, names in ``judgments.quality.RULES``."""
    recruiting: Recruiting = Recruiting()
    coefficients: tuple[tuple[float, ...], ...] = ()
    """For mixes: of each tuple one is drawn for every pair of images (S2-09)."""
    stimuli: int | None = None
    """How many stimuli are drawn from the possible ones; None: all."""


def preset_study(
    name: str, classes: Sequence[str], /, *, where: str = "", texts: bool = False, **changes: Any
) -> ElicitStudy:
    """The study of a preset about the given classes; ``changes`` replace single settings.

    Tables such as ``layout`` may be given in part. ``where`` names in errors the file that the
    changes come from. Where ``texts`` are shown, the words speak of texts and not of images.

    >>> study = preset_study("top-two", ["cat", "dog"], layout={"repeats": 3})
    >>> study.layout.trials_per_person, study.layout.repeats
    (25, 3)
    """
    settings = preset_settings(name, classes, texts=texts, **changes)
    return study_from(settings, where=where or f"The preset {name!r}")


def preset_settings(
    name: str, classes: Sequence[str], /, *, texts: bool = False, **changes: Any
) -> dict[str, Any]:
    """The settings of that study before they are checked."""
    preset = find(PRESETS, name, what="preset")
    told = preset.model_dump(mode="json", exclude_unset=True)
    whose = changes.get("whose", preset.whose)
    words = words_for(name, whose, changes.get("classes", classes), texts=texts)
    speak = _speak_of_texts if texts else str
    settings: dict[str, Any] = {
        "name": name,
        "title": words.title,
        "preset": name,
        "form": preset.form,
        "whose": whose,
        "classes": list(classes),
        "wording": words.wording,
        "prompts": dict(words.prompts),
        "options": told.get("options", {}),
        "mode": preset.mode,
        "per_item": preset.per_item,
        "rules": list(preset.rules),
        "welcome": {
            "consent": [speak(text) for text in _FILE.consent],
            "instructions": list(words.instructions),
            "comprehension": [check.model_dump() for check in words.comprehension],
            "debrief": [speak(text) for text in _FILE.debrief],
        },
        "layout": told["layout"],
        "recruiting": told.get("recruiting", {}),
    }
    settings = merge_settings(settings, changes)
    given = changes.get("layout")
    if isinstance(given, Mapping):
        settings["layout"] = fit_layout(settings["layout"], given)
    return settings


def words_for(name: str, whose: str, classes: Sequence[str], *, texts: bool = False) -> ViewWords:
    """The words of a preset for one view, with a class of the study where they need an example.

    >>> words_for("distribution", "own", ["melanoma", "naevus"]).comprehension[1].right
    'Give all chips to melanoma.'
    """
    preset = find(PRESETS, name, what="preset")
    words = find({"own": preset.own, "others": preset.others}, whose, what="view")
    if words is None:
        if whose != preset.whose and preset.own is None and preset.others is None:
            raise DataError(
                f"The preset {name!r} asks people for {_VIEWS[preset.whose]} only; take another "
                "preset, or write wording, instructions and questions about them yourself."
            )
        words = ViewWords.model_validate(
            preset.model_dump(include=set(ViewWords.model_fields), mode="json")
        )
    example = json.dumps(classes[0])[1:-1] if classes else ""
    told = words.model_dump_json()
    if texts:
        told = _speak_of_texts(told)
    return ViewWords.model_validate_json(told.replace("{example}", example))


def _speak_of_texts(words: str) -> str:
    """The words of a preset where people are shown texts.

    >>> _speak_of_texts("Images are hard to make out. Is an image in the image?")
    'Texts are hard to understand. Is a text in the text?'
    """
    for said, instead in _OF_TEXTS.items():
        words = re.sub(rf"\b{said}\b", instead, words)
    return words


_OF_TEXTS = {
    "an image": "a text",
    "An image": "A text",
    "images": "texts",
    "image": "text",
    "Images": "Texts",
    "hard to make out": "hard to understand",
    "each shows": "each means",
    "text shows": "text belongs to",
    "people see": "people read",
    "see images": "read texts",
    "You will see": "You will read",
}


_VIEWS = {"own": "their own view", "others": "what others would say"}


def merge_settings(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with changes; a table may be given in part.

    >>> merge_settings({"layout": {"repeats": 2, "practice": 1}}, {"layout": {"repeats": 3}})
    {'layout': {'repeats': 3, 'practice': 1}}
    """
    merged = dict(settings)
    for key, value in changes.items():
        in_part = isinstance(value, Mapping) and isinstance(settings.get(key), Mapping)
        merged[key] = {**settings[key], **value} if in_part else value
    return merged


class _PresetFile(FrozenSettings):
    consent: tuple[Text, ...]
    debrief: tuple[Text, ...]
    presets: dict[str, StudyPreset]


def _read_presets() -> _PresetFile:
    path = Path(__file__).with_name("presets.toml")
    held = tomllib.loads(path.read_text(encoding="utf-8"))
    presets: dict[str, Any] = {}
    for name, preset in held["presets"].items():
        base = presets[preset.pop("extends")] if "extends" in preset else {}
        presets[name] = merge_settings(base, preset)
    return _PresetFile.model_validate({**held, "presets": presets})


_FILE = _read_presets()
PRESETS: dict[str, StudyPreset] = _FILE.presets
