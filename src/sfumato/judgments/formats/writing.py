"""What all writers share: whole files or none, no platform ids, the question beside the table."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError, SfumatoError
from sfumato.judgments.formats.reading import (
    PLATFORM_ID,
    ReadOptions,
    UnclearSource,
    members,
    read_json_text,
)
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import QUESTIONS, Question, ask, question_from_json
from sfumato.judgments.statements import top_choice
from sfumato.names import find
from sfumato.provenance import Provenance, from_json, to_json


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write to that takes the place of ``path`` once everything is written."""
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)


def refuse_platform_ids(table: pl.DataFrame) -> None:
    """Worker ids of a platform are never exported."""
    people = table["annotator"].drop_nulls().unique().sort().to_list()
    found = [name for name in people if PLATFORM_ID.fullmatch(name)]
    if found:
        raise DataError(
            f"{len(found)} annotator ids look like those of a crowd platform, such as "
            f"{found[0][:4]}…; they are never written. Replace them by pseudonyms first."
        )


def choices_of(judgments: Judgments, format_name: str) -> pl.DataFrame:
    """Columns item, annotator and label of choose-one judgments; anything else is refused.

    A format with one label per judgment would turn repeats and checks into ordinary answers.
    """
    refuse_platform_ids(judgments.table)
    if judgments.question.kind != "choose-one":
        raise DataError(
            f"The format {format_name!r} holds one label per judgment and cannot hold answers to "
            f"the question {judgments.question.kind!r}. Write them as 'sfumato'."
        )
    other = judgments.table.filter(pl.col("view") != "first")
    if len(other):
        raise DataError(
            f"The format {format_name!r} cannot say that {len(other)} of {len(judgments)} "
            f"judgments are not first views (the first is a {other['view'][0]!r}). Leave them "
            "out, or write 'sfumato'."
        )
    chosen = top_choice(judgments.statements)[judgments.statements.index]
    labels = pl.Series(judgments.question.classes, dtype=pl.String).gather(chosen)
    return judgments.table.select("item", "annotator").with_columns(labels.alias("label"))


def refuse_second_labels(table: pl.DataFrame, format_name: str) -> None:
    """For formats with one place for each person's label of an item."""
    nameless = int(table["annotator"].null_count())
    if nameless:
        raise DataError(
            f"The format {format_name!r} needs the annotator of every judgment; {nameless} of "
            f"{len(table)} are not recorded. Write 'crowd' or 'sfumato'."
        )
    again = table.filter(~pl.struct("item", "annotator").is_first_distinct())
    if len(again):
        item, annotator = again.select("item", "annotator").row(0)
        raise DataError(
            f"The format {format_name!r} has one place for an annotator's label of an item, but "
            f"{annotator!r} judged item {item!r} more than once. Leave duplicates out first."
        )


# Find out what was asked: from the JSON beside a judgments table, or from the user.


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


def preset_question(file: str, kind: str, classes: Sequence[str] | None) -> Question:
    """The preset question; for most kinds somebody has to say what the classes are."""
    if classes is None:
        example = json.dumps({"kind": kind, "classes": ["cat", "dog"]})
        raise UnclearSource(
            f"It is not known which classes the answers in {file} are about. Name them, or "
            f"write {question_file(Path(file)).name} beside it, as in {example}.",
            "classes",
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


# Keep what a table cannot hold, its question and provenance, in a JSON file beside it.


def write_beside(path: Path, about: Mapping[str, Any], provenance: Provenance) -> None:
    """Write ``about`` and the provenance beside the table ``path``.

    Without it, answers that were made up would look like answers of people.
    """
    stored = {**about, "provenance": to_json(provenance)}
    with whole_file(question_file(path)) as part:
        text = json.dumps(stored, indent=1, ensure_ascii=False)
        part.write_text(text + "\n", encoding="utf-8")


def read_beside(path: Path) -> tuple[dict[str, Any], Provenance]:
    """What is written beside the table ``path``, and its provenance; both empty without a file."""
    beside = question_file(path)
    if not beside.is_file():
        return {}, ()
    found = members(read_json_text(beside), file=beside.name)
    stored = {member.name: member.value for member in found}
    try:
        return stored, from_json(stored.pop("provenance", []))
    except TypeError:
        raise DataError(
            f"{beside.name}: 'provenance' is not a list of steps. Remove it if it was not "
            "written here."
        ) from None
