"""Turn what is known about a data set into a datasheet, with questions where nothing is known.

The sections are those of S4-54 (appendix G of the soft-digits paper, after Gebru et al. 2021).
What can be counted is counted; what only the owner of the data can say is asked, and says so,
rather than filled with a guess.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from sfumato.judgments.judgments import Judgments
from sfumato.judgments.quality import Ledger
from sfumato.labels.agreement import Agreement
from sfumato.labels.labelset import LabelSet
from sfumato.names import find
from sfumato.provenance import is_simulated
from sfumato.report.datasheet_facts import (
    ABOUT_COLUMNS,
    Entry,
    SectionName,
    counted_entries,
    history_of,
)
from sfumato.report.numbers import count

__all__ = [
    "ABOUT_COLUMNS",
    "OPEN",
    "QUESTIONS_TO_THE_OWNER",
    "SIMULATED",
    "Datasheet",
    "Entry",
    "SectionName",
    "datasheet_of",
    "open_questions",
    "to_markdown",
    "to_structure",
]

OPEN = "To be filled by the data set's owner:"

SIMULATED = (
    "Simulated: the answers behind these labels were made by a program. No person gave them, and "
    "nothing here says what people would see in the items."
)

QUESTIONS_TO_THE_OWNER: dict[str, tuple[SectionName, str]] = {
    "purpose": ("motivation", "For what purpose was the data set made?"),
    "makers": ("motivation", "Who made it, and who paid for it?"),
    "unsuitable_uses": ("motivation", "What should it not be used for?"),
    "sources": ("composition", "Where do the items come from, and how were they chosen?"),
    "sensitive": ("composition", "Can items show or identify people, or offend?"),
    "recruitment": ("collection", "Who were the annotators, and how were they found?"),
    "pay": ("collection", "What were they paid an hour?"),
    "consent": ("collection", "What did they agree to, and who reviewed the ethics?"),
    "period": ("collection", "When were the answers collected?"),
    "annotator_bias": (
        "bias",
        "Which countries, languages, ages and professions do the annotators come from, and who "
        "is missing?",
    ),
    "source_bias": ("bias", "Which biases do the items inherit from their sources?"),
    "other_cleaning": ("cleaning", "Was anything removed or changed before the files read here?"),
    "licence": ("licence", "Under which licence are the labels?"),
    "source_licences": ("licence", "Under which licences are the items and earlier labels?"),
    "maintainer": ("maintenance", "Who answers questions and corrects errors?"),
    "hosting": ("maintenance", "Where is it kept, and how are versions named?"),
    "withdrawal": ("maintenance", "How can an annotator have their answers removed?"),
}
"""What a program cannot know, by the name under which an answer is handed in."""


@dataclass(frozen=True)
class Datasheet:
    """What is known about a data set, and what is not."""

    title: str
    motivation: tuple[Entry, ...]
    composition: tuple[Entry, ...]
    fields: tuple[Entry, ...]
    collection: tuple[Entry, ...]
    bias: tuple[Entry, ...]
    cleaning: tuple[Entry, ...]
    licence: tuple[Entry, ...]
    maintenance: tuple[Entry, ...]
    simulated: bool = False
    """Whether simulated annotators are behind the labels."""


def datasheet_of(
    title: str,
    labels: LabelSet,
    *,
    judgments: Judgments | None = None,
    ledger: Ledger | None = None,
    agreement: Sequence[Agreement] = (),
    splits: Mapping[str, int] | None = None,
    answers: Mapping[str, str] | None = None,
) -> Datasheet:
    """A datasheet of what can be counted, with the owner's ``answers`` and open questions.

    ``judgments`` are those that were collected, before anything was left out; ``ledger`` is what
    quality rules left out; ``agreement`` the measures to report; ``splits`` the number of items of
    each split. ``answers`` are by the names of ``QUESTIONS_TO_THE_OWNER``; an empty one stays an
    open question.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.75, 0.25], [0, 1]], [4, 4])
    >>> sheet = datasheet_of("pets", labels, answers={"licence": "CC BY 4.0"})
    >>> sheet.composition[0].answer
    '2 items, 2 classes: cat, dog.'
    >>> [entry.answer for entry in sheet.licence]
    ['CC BY 4.0', None]
    """
    told = dict(answers or {})
    for name in told:
        find(QUESTIONS_TO_THE_OWNER, name, what="question to the owner")
    counted = counted_entries(labels, judgments, ledger=ledger, agreement=agreement, splits=splits)
    sections = {
        section: (*counted.get(section, []), *_asked(section, told))
        for section in get_args(SectionName)
    }
    return Datasheet(title, **sections, simulated=is_simulated(history_of(labels, judgments)))


def open_questions(sheet: Datasheet) -> list[str]:
    """What the owner still has to answer, section by section."""
    return [
        entry.question
        for section in get_args(SectionName)
        for entry in getattr(sheet, section)
        if entry.answer is None
    ]


def to_structure(sheet: Datasheet) -> dict[str, Any]:
    """The sheet as plain dicts and lists, ready for JSON or an HTML template that escapes text.

    ``title``, ``simulated``, ``warning`` (a sentence or empty), ``open`` (how many questions),
    ``sections``: ``name``, ``title``, ``entries``: ``question``, ``answer`` or None, ``counted``.
    """
    return {
        "title": sheet.title,
        "simulated": sheet.simulated,
        "warning": SIMULATED if sheet.simulated else "",
        "open": len(open_questions(sheet)),
        "sections": [
            {
                "name": section,
                "title": section.capitalize(),
                "entries": [
                    {"question": entry.question, "answer": entry.answer, "counted": entry.counted}
                    for entry in getattr(sheet, section)
                ],
            }
            for section in get_args(SectionName)
        ],
    }


def to_markdown(sheet: Datasheet) -> str:
    """The sheet as a Markdown page; what is open is marked with ``OPEN``."""
    lines = [f"# Datasheet: {_plain(sheet.title)}", ""]
    if sheet.simulated:
        lines += [f"> **{SIMULATED}**", ""]
    still = len(open_questions(sheet))
    if still:
        lines += [f"{count(still, 'question')} to answer, each marked “{OPEN}”.", ""]
    for section in get_args(SectionName):
        lines += [f"## {section.capitalize()}", ""]
        for entry in getattr(sheet, section):
            if entry.answer is None:
                lines.append(f"- **{OPEN}** {_plain(entry.question)}")
            else:
                colon = "" if entry.question.endswith("?") else ":"
                lines.append(f"- **{_plain(entry.question)}{colon}** {_plain(entry.answer)}")
        lines.append("")
    return "\n".join(lines)


def _asked(section: SectionName, told: Mapping[str, str]) -> list[Entry]:
    return [
        Entry(question, told.get(name, "").strip() or None)
        for name, (of_section, question) in QUESTIONS_TO_THE_OWNER.items()
        if of_section == section
    ]


def _plain(text: str) -> str:
    """One line in which nothing is Markdown or HTML."""
    line = " ".join(text.split())
    for sign in ("\\", "`", "*", "_", "[", "]", "<", ">", "|", "#"):
        line = line.replace(sign, f"\\{sign}")
    return line
