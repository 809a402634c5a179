"""Find out what was asked: from the JSON beside a judgments table, or from the user."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.errors import DataError, SfumatoError
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.question import QUESTIONS, Question, ask, question_from_json
from sfumato.names import find

__all__ = ["kind_of", "preset_question", "question_file", "stored_question"]


def question_file(path: Path) -> Path:
    """Where the question of a judgments table is.

    >>> question_file(Path("answers.csv")).name
    'answers.question.json'
    """
    return path.with_suffix(".question.json")


def stored_question(path: Path, stored: Mapping[str, Any], options: ReadOptions) -> Question | None:
    """The question stored beside a table, None if nothing is; the options must not contradict."""
    if not stored:
        return None
    beside = question_file(path).name
    _check_classes(stored, beside)
    try:
        question = question_from_json(json.dumps(stored), where=beside)
    except SfumatoError as error:
        raise DataError(f"{beside}: {error}") from None
    if options.question not in (None, question.kind):
        raise DataError(
            f"{beside} says that the question is {question.kind!r}, not {options.question!r}. "
            "Leave the option out, or correct the file."
        )
    return _in_order(question, options.classes, beside)


def kind_of(question: Question | None, options: ReadOptions) -> str:
    """The kind of question: as stored, as the user says, otherwise choose-one."""
    if question is not None:
        return question.kind
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


def _check_classes(stored: Mapping[str, Any], file: str) -> None:
    classes = stored.get("classes")
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
