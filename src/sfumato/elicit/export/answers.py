"""Turn the answers in a database into judgments, comparisons or mix judgments.

People go by their pseudonyms; the table of platform ids is never read here (S13).
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, assert_never

import polars as pl
import sqlalchemy as sa

from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.session.answers import MixQuestion, question_of
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.errors import DataError
from sfumato.judgments.comparisons import ComparisonQuestion, Comparisons
from sfumato.judgments.formats import Readable
from sfumato.judgments.judgments import Judgments, Remark
from sfumato.judgments.mixes import MixJudgments
from sfumato.judgments.question import Question
from sfumato.names import find
from sfumato.provenance import Setting, Step

BESIDE: dict[str, str] = {
    "repeats": "main trials that the same person saw again",
    "checks": "attention checks",
    "practice": "trials to practise with",
    "excluded": "answers of people whose data were excluded",
}
"""What is left out unless it is asked for."""

_VIEW_CALLED = {"repeat": "repeats", "check": "checks", "practice": "practice"}


@dataclass(frozen=True, eq=False)
class AnswerExport:
    """The answers that were asked for, and how many others there are."""

    answers: Readable
    left_out: dict[str, int]
    """Why to how many: "repeats", "checks", "practice", "excluded by RULE"."""
    late: int
    """Answers among those exported that came after their place had been given up (R4)."""
    marked: int = 0
    """Cells of a CSV file that got a mark, because they begin like a formula (S7)."""

    @property
    def people(self) -> int:
        """How many people gave the exported answers."""
        return self.answers.table["annotator"].n_unique()


def collect_answers(
    connection: Connection, study: ElicitStudy, *, keep: Iterable[str] = ()
) -> AnswerExport:
    """The answers of a study; ``keep`` may name what is in ``BESIDE``.

    One statement reads everything, so the answers are those of one moment also while people
    give more of them. Those who withdrew are not in the database any more.
    """
    wanted = set(keep)
    for name in wanted:
        find(BESIDE, name, what="kind of answer to keep")
    rows: list[tuple[int, Any]] = []
    left_out: Counter[str] = Counter()
    for place, row in _numbered(connection.all(_ANSWERS)):
        reason = _why_left_out(row, wanted)
        if reason is None:
            rows.append((place, row))
        else:
            left_out[reason] += 1
    late = sum(bool(row.late) for _, row in rows)
    told: dict[str, Setting] = {
        "study": study.name,
        "form": study.form,
        "mode": study.mode,
        "wording": study.wording,
        "version": study.version,
        "kept": [*sorted(wanted)],
        "left_out": {**left_out},
        "late": late,
    }
    remarks = (Remark("late answers: their place had been given up", late),) if late else ()
    answers = _answers(study, rows, remarks, Step("collect answers", told))
    return AnswerExport(answers, dict(sorted(left_out.items())), late)


def _numbered(rows: Sequence[Any]) -> Iterable[tuple[int, Any]]:
    """Each row with its place in its session, from 1, whatever is left out later."""
    place, session = 0, None
    for row in rows:
        place = place + 1 if row.session == session else 1
        session = row.session
        yield place, row


def _why_left_out(row: Any, wanted: set[str]) -> str | None:
    if row.excluded is not None and "excluded" not in wanted:
        return f"excluded by {row.excluded}"
    beside = _VIEW_CALLED.get(row.view)
    return None if beside is None or beside in wanted else beside


def _answers(
    study: ElicitStudy, rows: list[tuple[int, Any]], remarks: tuple[Remark, ...], step: Step
) -> Readable:
    question = question_of(study)
    about = {
        "annotator": [row.pseudonym for _, row in rows],
        "seconds": [row.seconds for _, row in rows],
        "order": [place for place, _ in rows],
        "view": [row.view for _, row in rows],
    }
    match question:
        case Question():
            columns = _of_items([row for _, row in rows], question) | about
            return Judgments(question, _table(columns), (), remarks, (step,))
        case ComparisonQuestion():
            columns = _of_comparisons([row for _, row in rows], question) | about
            return Comparisons(question, _table(columns), (), remarks, (step,))
        case MixQuestion():
            columns = _of_mixes([row for _, row in rows]) | about
            return MixJudgments(_table(columns), (), remarks, (step,))
        case _:
            assert_never(question)


def _of_items(rows: list[Any], question: Question) -> dict[str, list[Any]]:
    known = set(question.classes)
    return {
        "item": [row.item for row in rows],
        "answer": [row.answer for row in rows],
        "input_seconds": [None if row.input_seconds == "{}" else row.input_seconds for row in rows],
        "at": [datetime.fromtimestamp(row.received, UTC).isoformat() for row in rows],
        "gold": [row.gold if row.gold in known else None for row in rows],
        "completed": [row.ended == "finished" for row in rows],
    }


def _of_comparisons(rows: list[Any], question: ComparisonQuestion) -> dict[str, list[Any]]:
    items = [_secret(row, question.kind) for row in rows]
    given = [json.loads(row.answer) for row in rows]
    match question.kind:
        case "pairs":
            names: tuple[str, ...] = ("first", "second")
            answer = {"rating": [one["rating"] for one in given]}
        case "triplets":
            names = ("item", "first", "second")
            answer = {"closer": [one["closer"] for one in given]}
        case _:
            assert_never(question.kind)
    return {name: [one[name] for one in items] for name in names} | answer


def _of_mixes(rows: list[Any]) -> dict[str, list[Any]]:
    sources = [_secret(row, "mix") for row in rows]
    given = [json.loads(row.answer) for row in rows]
    names = ("first_item", "second_item", "first_class", "second_class")
    return {
        "mix": [row.item for row in rows],
        **{name: [one[name] for one in sources] for name in names},
        "shown": [one["coefficient"] for one in sources],
        "perceived": [one["perceived"] for one in given],
        "confidence": [one.get("confidence") for one in given],
        "task": ["infer"] * len(rows),
    }


_NEEDED = {
    "pairs": ("first", "second"),
    "triplets": ("item", "first", "second"),
    "mix": ("first_item", "second_item", "first_class", "second_class", "coefficient"),
}


def _secret(row: Any, form: str) -> dict[str, Any]:
    """What the page was never told about a stimulus: the items behind its pictures."""
    known: dict[str, Any] = json.loads(row.secret or "{}")
    missing = [name for name in _NEEDED[form] if name not in known]
    if missing:
        raise DataError(
            f"The database does not say the {missing[0]!r} of the stimulus {row.item!r}; it was "
            "not made by 'sfumato elicit new'."
        )
    return known


def _table(columns: dict[str, list[Any]]) -> pl.DataFrame:
    # The types are given by the class that takes the table; here a column may be all null.
    return pl.DataFrame(columns, strict=False, infer_schema_length=None)


_ANSWERS = prepare(
    sa.select(
        store.session.c.id.label("session"),
        store.session.c.ended,
        store.participant.c.pseudonym,
        store.participant.c.excluded,
        store.stimulus.c.item,
        store.stimulus.c.gold,
        store.stimulus.c.secret,
        store.trial.c.view,
        store.answer.c.answer,
        store.answer.c.seconds,
        store.answer.c.input_seconds,
        store.answer.c.received,
        store.answer.c.late,
    )
    .select_from(
        store.answer.join(store.trial, store.trial.c.id == store.answer.c.trial)
        .join(store.session, store.session.c.id == store.trial.c.session)
        .join(store.participant, store.participant.c.id == store.session.c.participant)
        .join(store.stimulus, store.stimulus.c.id == store.trial.c.stimulus)
    )
    .order_by(store.session.c.id, store.trial.c.slot, store.trial.c.number)
)
