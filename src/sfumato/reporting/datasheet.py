"""Turn what is known about a data set into a datasheet, with questions where nothing is known.

The sections are those of S4-54 (appendix G of the soft-digits paper, after Gebru et al. 2021).
What can be counted is counted; what only the owner of the data can say is asked, and says so,
rather than filled with a guess.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl

from sfumato.judgments.judgments import ABOUT_COLUMNS, COLUMNS, Judgments
from sfumato.judgments.quality import Ledger, times
from sfumato.judgments.question import QUESTIONS
from sfumato.labels.agreement import Agreement
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import concentration, entropy
from sfumato.names import find
from sfumato.provenance import Provenance, Setting, Step, is_simulated
from sfumato.reporting.text import count

# Turn labels, judgments and exclusions into the entries of a datasheet that can be counted.

SectionName = Literal[
    "motivation",
    "composition",
    "fields",
    "collection",
    "bias",
    "cleaning",
    "licence",
    "maintenance",
]

MOST_REASONS = 5
"""How many reasons are listed one by one; the rest are counted together."""


@dataclass(frozen=True)
class Entry:
    """One question and its answer, or the lack of one."""

    question: str
    answer: str | None
    """None: to be filled by the owner."""
    counted: bool = False
    """Whether the answer was counted from the data rather than told by the owner."""


def counted_entries(
    labels: LabelSet,
    judgments: Judgments | None,
    *,
    ledger: Ledger | None,
    agreement: Sequence[Agreement],
    splits: Mapping[str, int] | None,
) -> dict[SectionName, list[Entry]]:
    """What is counted, by section; of motivation and licence only the owner can tell."""
    history = history_of(labels, judgments)
    whose = "simulated " if is_simulated(history) else ""
    return {
        "composition": _composition(labels, splits),
        "fields": _fields(labels, judgments),
        "collection": _collection(judgments, agreement, whose),
        "bias": _bias(judgments),
        "cleaning": _cleaning(labels, judgments, ledger),
        "maintenance": _files(history),
    }


def history_of(labels: LabelSet, judgments: Judgments | None) -> Provenance:
    """The steps behind the judgments, then those behind the labels."""
    return (*(judgments.provenance if judgments else ()), *labels.provenance)


def _composition(labels: LabelSet, splits: Mapping[str, int] | None) -> list[Entry]:
    doubt = entropy(labels)
    classes = ", ".join(labels.classes)
    found = [
        _counted(
            "What is in it?", f"{len(labels):,} items, {len(labels.classes)} classes: {classes}."
        ),
        _counted("How many judgments are behind a label?", _per_item(labels)),
    ]
    if len(labels):
        unanimous = (labels.probs.max(axis=1) >= 1 - 1e-12).mean()
        top = Counter(labels.classes[k] for k in labels.probs.argmax(axis=1))
        spread = ", ".join(f"{name} {top[name]:,}" for name in labels.classes)
        found += [
            _counted(
                "How uncertain are the labels?",
                f"Mean entropy {doubt.mean():.3f} nats of at most "
                f"{np.log(len(labels.classes)):.3f}; {unanimous:.1%} of the items are unanimous; "
                f"the most uncertain 30 % carry {concentration(doubt, 0.3):.1%} of the entropy.",
            ),
            _counted("How often is each class the most probable?", f"{spread}."),
        ]
    if splits:
        parts = ", ".join(f"{name} {size:,}" for name, size in splits.items())
        found.append(_counted("How is it split?", f"{parts}."))
    return found


def _per_item(labels: LabelSet) -> str:
    if not labels.weight.any():
        return "Not recorded with the labels."
    low, middle, high = np.quantile(labels.weight, [0, 0.5, 1])
    total = f"{labels.weight.sum():,.0f} in all"
    return f"{total}; {low:,.0f} to {high:,.0f} per item, median {middle:,.0f}."


def _fields(labels: LabelSet, judgments: Judgments | None) -> list[Entry]:
    found = [
        _counted("item", "id of the item."),
        _counted(
            f"{labels.classes[0]} … {labels.classes[-1]}",
            f"probability of each of the {len(labels.classes)} classes; a row sums to 1.",
        ),
    ]
    if judgments is None:
        return found
    known = [name for name in COLUMNS if judgments.table[name].drop_nulls().len()]
    return found + [_counted(f"{name} (judgments)", f"{ABOUT_COLUMNS[name]}.") for name in known]


def _collection(
    judgments: Judgments | None, agreement: Sequence[Agreement], simulated: str
) -> list[Entry]:
    found = []
    if judgments is not None:
        table = judgments.table
        found.append(_counted("What was asked?", question_asked(judgments)))
        people = f"{len(judgments.annotators):,}" if judgments.annotators else "Not recorded which"
        shown = ", ".join(
            f"{view} views {number:,}" for view, number in sorted(Counter(table["view"]).items())
        )
        found.append(
            _counted(
                "How many answered how often?",
                f"{people} {simulated}annotators gave {len(judgments):,} answers about "
                f"{table['item'].n_unique():,} items ({shown}).",
            )
        )
        taken = times(judgments)
        if taken.answers:
            found.append(
                _counted(
                    "How long did an answer take?",
                    f"Median {taken.median:.1f} s, mean {taken.mean:.1f} s "
                    f"({taken.answers:,} answers with a time).",
                )
            )
    for measure in agreement:
        value = f"{measure.value:.3f}, {measure.level:.0%} interval {measure.low:.3f} to "
        found.append(
            _counted(
                f"Agreement: {measure.name}", f"{value}{measure.high:.3f} (n = {measure.n:,})."
            )
        )
    return found


WITHOUT_WORDING = ("crowd", "peerannot", "cleanlab", "label-studio", "potato", "counts")
"""Formats of others that hold answers and not the words of the question."""


def question_asked(judgments: Judgments) -> str:
    """What annotators were asked, in the words they read, or that nobody wrote it down.

    A file from elsewhere tells the form of the answers alone; the preset that stands for the form
    inside is not what people read.
    """
    question = judgments.question
    read = {f"read {name}" for name in WITHOUT_WORDING}
    foreign = bool(judgments.provenance) and judgments.provenance[0].name in read
    preset = question.wording == QUESTIONS[question.kind].wording
    if not question.wording or (foreign and preset):
        return f"Not recorded; the answers are of the form {question.kind}."
    return f"“{question.wording}” ({question.kind}, version {question.version})."


def _bias(judgments: Judgments | None) -> list[Entry]:
    if judgments is None or not judgments.annotators:
        return []
    per_person = judgments.table["annotator"].drop_nulls().value_counts()["count"].to_numpy()
    share = concentration(per_person.astype(np.float64), 0.1)
    return [
        _counted(
            "Do a few annotators dominate?",
            f"The busiest 10 % of annotators gave {share:.1%} of the answers.",
        )
    ]


def _cleaning(labels: LabelSet, judgments: Judgments | None, ledger: Ledger | None) -> list[Entry]:
    found = []
    if judgments is not None:
        reasons = Counter(row.reason for row in judgments.rejected)
        told = _listed(reasons, "No row was set aside.")
        found.append(_counted("Which rows could not be read?", told))
        found += [
            _counted("What did the reader notice?", f"{remark.what}: {remark.count:,}.")
            for remark in judgments.remarks
        ]
    if ledger is not None:
        found += _exclusions(ledger)
    made_from = labels.provenance or (judgments.provenance if judgments else ())
    steps = " → ".join(_told(step) for step in made_from) or "Not recorded."
    return [*found, _counted("How were the labels made?", steps)]


def _exclusions(ledger: Ledger) -> list[Entry]:
    share = ledger.dropped / ledger.answers if ledger.answers else 0.0
    found = [
        _counted(
            "What was left out?",
            f"{ledger.dropped:,} of {ledger.answers:,} answers ({share:.1%}), by "
            f"{count(len(ledger.rules), 'rule')}.",
        )
    ]
    for rule in ledger.rules.iter_rows(named=True):
        of_rule = ledger.entries.filter(pl.col("rule") == rule["rule"])
        told = _listed(Counter(of_rule["reason"].to_list()), "nothing found.")
        dropped = f"{count(rule['people'], 'annotator')} and {count(rule['answers'], 'answer')}"
        counts = f"could judge {count(rule['looked_at'], 'answer')}; left out {dropped}"
        found.append(
            _counted(f"Rule {rule['rule']}, version {rule['version']}", f"{counts}: {told}")
        )
    return found


def _files(history: Provenance) -> list[Entry]:
    files = {name: sha for step in history for name, sha in step.inputs.items()}
    return [_counted(f"SHA-256 of {name}", sha) for name, sha in files.items()]


def _told(step: Step) -> str:
    # Lists and tables of settings are told elsewhere, rule by rule, or are too long to read.
    plain = [(name, value) for name, value in step.settings.items() if not _nested(value)]
    settings = ", ".join(f"{name}={value}" for name, value in plain)
    mark = " [simulated]" if step.simulated else ""
    return f"{step.name} ({settings}){mark}" if settings else f"{step.name}{mark}"


def _nested(value: Setting) -> bool:
    return isinstance(value, (list, dict))


def _listed(reasons: Counter[str], nothing: str) -> str:
    if not reasons:
        return nothing
    shown = reasons.most_common(MOST_REASONS)
    rest = reasons.total() - sum(number for _, number in shown)
    told = [f"{reason} ({number:,})" for reason, number in shown]
    return "; ".join([*told, f"other reasons ({rest:,})"] if rest else told) + "."


def _counted(question: str, answer: str) -> Entry:
    return Entry(question, answer, counted=True)


# Turn what is known about a data set into a datasheet, with questions where nothing is known.

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
