"""Turn labels, judgments and exclusions into the entries of a datasheet that can be counted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from sfumato.judgments.judgments import COLUMNS, Judgments
from sfumato.judgments.quality import Ledger, times
from sfumato.labels.agreement import Agreement
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import concentration, entropy
from sfumato.provenance import Provenance, Setting, Step, is_simulated
from sfumato.report.numbers import count

__all__ = ["ABOUT_COLUMNS", "Entry", "SectionName", "counted_entries", "history_of"]

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

ABOUT_COLUMNS: dict[str, str] = {
    "item": "id of the item",
    "annotator": "pseudonym of who answered; empty where not recorded",
    "answer": "the answer as it was given, JSON",
    "repaired": "the answer after a named repair, JSON; the one as given stays",
    "seconds": "seconds the answer took",
    "input_seconds": "seconds to each input, JSON",
    "order": "place in the session, from 1",
    "at": "time of the answer, ISO 8601",
    "view": "why it was shown: first, repeat, check or practice",
    "gold": "the class known to be right, where one is",
    "completed": "whether the session reached its end",
    "simulated": "true where a simulated person answered; empty for people",
}
"""What the columns of judgments hold."""

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
    return f"{total}; {low:,.0f} to {high:,.0f} an item, median {middle:,.0f}."


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
        question, table = judgments.question, judgments.table
        found.append(
            _counted(
                "What was asked?",
                f"“{question.wording}” ({question.kind}, version {question.version}).",
            )
        )
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
