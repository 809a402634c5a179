"""Read the files and options that several commands take."""

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.printing import progress, notify
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.judgments.formats import Readable
    from sfumato.judgments.formats.reading import ReadOptions
    from sfumato.judgments.judgments import Judgments
    from sfumato.judgments.quality import Rule

__all__ = [
    "assigned",
    "names_in",
    "quality_rules",
    "read_any",
    "read_judgments",
    "read_options",
]


def read_any(file: Path, format_: str, options: "ReadOptions", strict: bool) -> "Readable":
    """What a file holds; says how many rows were set aside."""
    from dataclasses import replace

    from sfumato.judgments.formats import read
    from sfumato.judgments.formats import strict as refuse_rejected

    with progress(f"Reading {file.name}") as advance:
        found = read(file, format_, replace(options, progress=advance))
    if strict:
        refuse_rejected(found)
    if found.rejected:
        notify(
            f"Rows set aside: {len(found.rejected):,}, the first in {found.rejected[0]}. "
            "`sfumato describe` lists the reasons; --strict makes this an error."
        )
    return found


def read_judgments(file: Path, format_: str, options: "ReadOptions", strict: bool) -> "Judgments":
    """The judgments of a file; one that holds something else is an error."""
    from sfumato.judgments.judgments import Judgments

    found = read_any(file, format_, options, strict)
    if not isinstance(found, Judgments):
        raise DataError(
            f"{file.name} holds {type(found).__name__}, which are not about the classes of single "
            "items; labels are made from judgments."
        )
    return found


def read_options(classes: Path | None, question: str | None, key: str | None) -> "ReadOptions":
    """What a user says about a file."""
    from sfumato.cli.reading import study_key
    from sfumato.judgments.formats.reading import ReadOptions, read_classes

    named = None if classes is None else read_classes(classes)
    return ReadOptions(classes=named, question=question, key=lambda: study_key(key))


def assigned(texts: list[str], *, what: str) -> dict[str, float]:
    """Numbers by name, from texts such as ``name=0.5``."""
    values = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            values[name.strip()] = float(number)
        except ValueError:
            raise DataError(
                f"A setting of {what} is written name=number; found {text!r}."
            ) from None
    return values


def names_in(text: str) -> tuple[str, ...]:
    """The parts of a text between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def quality_rules(text: str) -> "tuple[Rule, ...]":
    """Rules by name, settings after a colon: ``checks,too-fast:seconds=0.3:share=0.2``."""
    from sfumato.judgments.quality import rule_with

    found = []
    for part in names_in(text):
        name, *settings = part.split(":")
        found.append(rule_with(name, **assigned(settings, what=f"the rule {name!r}")))
    return tuple(found)
