"""The words of the page: one file a language, with English for whatever it leaves out."""

import json
from collections.abc import Mapping
from pathlib import Path

from sfumato.errors import DataError

Words = dict[str, str]
ENGLISH = "en"


def read_words(folder: Path) -> dict[str, Words]:
    """The words in all files ``LANGUAGE.json`` of a folder."""
    return {path.stem: _read(path) for path in sorted(folder.glob("*.json"))}


def words_for(known: Mapping[str, Words], language: str) -> Words:
    """The words in a language, or in the nearest that is known.

    >>> words_for({"en": {"next": "Next", "back": "Back"}, "de": {"next": "Weiter"}}, "de-AT")
    {'next': 'Weiter', 'back': 'Back'}
    """
    plain = language.partition("-")[0]
    return {**known.get(ENGLISH, {}), **known.get(plain, {}), **known.get(language, {})}


def _read(path: Path) -> Words:
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path.name} is not JSON: {error}.") from None
    if not isinstance(words, dict) or not all(isinstance(text, str) for text in words.values()):
        raise DataError(f"{path.name} must give one text for each name.")
    return words
