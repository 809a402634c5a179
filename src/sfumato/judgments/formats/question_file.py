"""Find out what was asked: from the JSON beside a judgments table, or from the user.

The JSON also holds the provenance, so that simulated answers stay known as simulated.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, SfumatoError
from sfumato.judgments.formats.json_text import read_json_text, whole
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.formats.writing import whole_file
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import QUESTIONS, Question, ask, question_from_json
from sfumato.names import find
from sfumato.provenance import Provenance, from_json, to_json

__all__ = [
    "Asked",
    "kind_of",
    "preset_question",
    "question_file",
    "read_question",
    "write_question",
]


@dataclass(frozen=True)
class Asked:
    """A question and what was done to its answers so far."""

    question: Question
    provenance: Provenance


def question_file(path: Path) -> Path:
    """Where the question of a judgments table is.

    >>> question_file(Path("answers.csv")).name
    'answers.question.json'
    """
    return path.with_suffix(".question.json")


def read_question(path: Path, options: ReadOptions) -> Asked | None:
    """The question stored beside a table, if there is one; the options must not contradict it."""
    beside = question_file(path)
    if not beside.is_file():
        return None
    text = read_json_text(beside)
    stored = whole(text, file=beside.name)
    _check_stored(stored, beside.name)
    try:
        question = question_from_json(text, where=beside.name)
    except SfumatoError as error:
        raise DataError(f"{beside.name}: {error}") from None
    if options.question not in (None, question.kind):
        raise DataError(
            f"{beside.name} says that the question is {question.kind!r}, not {options.question!r}. "
            "Leave the option out, or correct the file."
        )
    return Asked(_in_order(question, options.classes, beside.name), _steps(stored, beside.name))


def kind_of(asked: Asked | None, options: ReadOptions) -> str:
    """The kind of question: as stored, as the user says, otherwise choose-one."""
    if asked is not None:
        return asked.question.kind
    kind = options.question or "choose-one"
    find(QUESTIONS, kind, what="question")
    return kind


def preset_question(path: Path, kind: str, classes: Sequence[str] | None) -> Question:
    """The preset question; for most kinds somebody has to say what the classes are."""
    if classes is None:
        example = json.dumps({"kind": kind, "classes": ["cat", "dog"]})
        raise DataError(
            f"It is not known which classes the answers in {path.name} are about. Name them "
            f"(--classes), or write {question_file(path).name} beside it, as in {example}."
        )
    return ask(kind, classes)


def write_question(judgments: Judgments, path: Path) -> None:
    """Write the question and the provenance beside the table ``path``."""
    stored = {
        **json.loads(judgments.question.to_json()),
        "provenance": to_json(judgments.provenance),
    }
    with whole_file(question_file(path)) as part:
        text = json.dumps(stored, indent=1, ensure_ascii=False)
        part.write_text(text + "\n", encoding="utf-8")


def _check_stored(stored: Any, file: str) -> None:
    classes = stored.get("classes") if isinstance(stored, dict) else None
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise DataError(
            f"{file} holds no question: it needs an object whose 'classes' is a list of texts, as "
            'in {"kind": "choose-one", "classes": ["cat", "dog"]}.'
        )


def _in_order(question: Question, classes: Sequence[str] | None, file: str) -> Question:
    """The user may put the classes into another order, not replace them."""
    if classes is None or tuple(classes) == question.classes:
        return question
    if set(classes) != set(question.classes):
        odd = sorted(set(classes) ^ set(question.classes))
        raise DataError(
            f"The classes given and those in {file} differ, first in {odd[0]!r}. Leave the option "
            "out, or correct the file."
        )
    return replace(question, classes=tuple(classes))


def _steps(stored: dict[str, Any], file: str) -> Provenance:
    try:
        return from_json(stored.get("provenance", []))
    except TypeError:
        raise DataError(
            f"{file}: 'provenance' is not a list of steps. Remove it if it was not written here."
        ) from None
