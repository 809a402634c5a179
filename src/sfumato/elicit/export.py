"""Get the answers of a study out: as judgments, or as jsPsych, Label Studio and Potato have them.

People go by their pseudonyms; the table of platform ids is never read here (S13). jsPsych has one
row per page: top-two answers have the form fields of the released CIFAR-10S export, which
``judgments.formats`` reads back; all other answers are the fields of an HTML form, and a choice is
a button. Label Studio and Potato hold a choice, or a number for each class; neither can say that a
trial was a check. A spreadsheet must not run what stands in a table (S7).
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, assert_never

import numpy as np
import polars as pl
import sqlalchemy as sa

from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.live.live import Live
from sfumato.elicit.session.answers import MixQuestion, question_of
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.elicit.storage.schema import check_study
from sfumato.errors import DataError
from sfumato.judgments.comparisons import ComparisonQuestion, Comparisons, MixJudgments
from sfumato.judgments.formats import Readable, write
from sfumato.judgments.formats.reading import refuse_platform_ids, whole_file
from sfumato.judgments.judgments import Judgments, Remark
from sfumato.judgments.question import RULED_OUT, Question
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
        **({"note": notes} if any(notes := _notes(rows)) else {}),
    }


def _of_comparisons(rows: list[Any], question: ComparisonQuestion) -> dict[str, list[Any]]:
    items = [_secret(row, question.kind) for row in rows]
    given = [json.loads(row.answer) for row in rows]
    names = _NEEDED[question.kind]
    notes = {"note": _notes(rows)} if question.kind == "preference" else {}
    return {
        **{name: [one[name] for one in items] for name in names},
        question.answer: [one[question.answer] for one in given],
        **notes,
    }


def _notes(rows: list[Any]) -> list[str | None]:
    """What people wrote beside their answers."""
    return [None if row.note is None else json.loads(row.note).get("text") for row in rows]


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
    "preference": ("first", "second"),
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


_NOTE = (
    sa.select(store.answer_event.c.data)
    .where(store.answer_event.c.trial == store.trial.c.id, store.answer_event.c.kind == "note")
    .order_by(store.answer_event.c.id.desc())
    .limit(1)
    .scalar_subquery()
    .label("note")
)
"""The last thing that somebody wrote beside an answer."""

_ANSWERS = prepare(
    sa.select(
        _NOTE,
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


GUARD = "'"
"""Put before a text that a spreadsheet would take for a formula."""

_FORMULA = r"^[\s\x{200B}-\x{200F}\x{FEFF}]*[=+\-@＝＋－＠﹦﹢﹣﹫]|^[\t\r]"
"""Also in full width, and behind what nobody sees: some spreadsheets take these for the signs."""


def mark_formulas(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The table with a mark before every text that begins like a formula, and how many there were.

    >>> mark_formulas(pl.DataFrame({"item": ["=1+1", "a-b"], "order": [-1, 2]}))[0].rows()
    [("'=1+1", -1), ('a-b', 2)]
    """
    texts = [name for name in table.columns if table.schema[name] == pl.String]
    risky = {name: table[name].str.contains(_FORMULA).fill_null(False) for name in texts}
    changed = sum(int(rows.sum()) for rows in risky.values())
    marked = table.with_columns(
        pl.when(rows).then(pl.lit(GUARD) + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name, rows in risky.items()
    )
    return marked, changed


_TASKS = {"first": "spec_conf", "repeat": "rerun_spec_conf"}
"""What the two kinds of main trials are called in the CIFAR-10S export."""

_COLUMNS = (
    "trial_type",
    "trial_index",
    "subject",
    "rt",
    "response",
    "choices",
    "task",
    "label",
    "img_id",
)


def write_jspsych(answers: Readable, path: Path) -> None:
    """Write a CSV file with one row a page; the last page of a finished session is its debrief."""
    if not isinstance(answers, Judgments):
        raise DataError(
            "jsPsych rows hold answers about single images; write comparisons and mixes with "
            "--format judgments."
        )
    if path.suffix.lower() != ".csv":
        raise DataError(f"jsPsych rows are written as .csv, not as {path.name!r}.")
    refuse_platform_ids(answers.table["annotator"])
    pages = pl.DataFrame(
        list(_pages(answers)), schema=dict.fromkeys(_COLUMNS, pl.String()), orient="row"
    )
    table, _ = mark_formulas(pages)
    with whole_file(path) as part:
        table.write_csv(part)


def _pages(answers: Judgments) -> Iterator[tuple[str | None, ...]]:
    rows = list(answers.table.iter_rows(named=True))
    for row, following in pairwise([*rows, None]):
        assert row is not None
        yield _page(answers, row)
        goes_on = (
            following is not None
            and following["annotator"] == row["annotator"]
            and following["order"] > row["order"]
        )
        if row["completed"] and not goes_on:
            index = str(row["order"] + 1)
            yield ("survey-text", index, row["annotator"], None, "{}", None, "debrief", None, None)


def _page(answers: Judgments, row: dict[str, Any]) -> tuple[str | None, ...]:
    question = answers.question
    given = json.loads(row["answer"])
    trial_type, choices, task = "survey-html-form", None, row["view"]
    match question.kind:
        case "choose-one":
            trial_type = "html-button-response"
            response = str(question.classes.index(given))
            choices = json.dumps(question.classes, ensure_ascii=False)
        case "top-two":
            response = json.dumps(_form(given), ensure_ascii=False)
            task = _TASKS.get(row["view"], row["view"])
        case _:
            response = row["answer"]
    seconds = row["seconds"]
    return (
        trial_type,
        str(row["order"]),
        row["annotator"],
        None if seconds is None else f"{1000 * seconds:.0f}",
        response,
        choices,
        task,
        row["gold"],
        row["item"],
    )


def _form(given: dict[str, Any]) -> dict[str, str]:
    """The fields of the paper's page: two lists of buttons, two numbers, a box a class."""
    second = given.get("second")
    return {
        "classSelect": f"mostProb{given['first']}",
        "prob": _typed(given.get("first_percent")),
        "classSelect2": f"secondProb{'no' if second is None else second}",
        "prob2": _typed(given.get("second_percent")),
        **{f"improbClassSelect{name}": "on" for name in given.get("ruled_out", [])},
    }


def _typed(value: Any) -> str:
    return "" if value is None else str(value)


CONTROL = "label"
"""What the one question is called in both tools."""

_NUMBERS = ("sliders", "top-class", "sparse", "distribution")
"""Kinds of question whose answer is a number for each class."""


def write_label_studio(answers: Readable, path: Path) -> None:
    """Write tasks with their annotations: a choice, or one number a class."""
    judgments = _holdable(answers, "label-studio")
    if path.suffix.lower() != ".json":
        raise DataError(f"Label Studio's tasks are written as .json, not as {path.name!r}.")
    tasks = [
        {
            "data": {"id": item, "image": item},
            "annotations": [_annotation(judgments, row) for row in rows.iter_rows(named=True)],
            "predictions": [],
        }
        for (item,), rows in judgments.table.group_by("item", maintain_order=True)
    ]
    with whole_file(path) as part:
        part.write_text(json.dumps(tasks, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_potato(answers: Readable, path: Path) -> None:
    """Write one line an answer: a marked label, or one number a class."""
    judgments = _holdable(answers, "potato")
    if path.suffix.lower() != ".jsonl":
        raise DataError(f"Potato's instances are written as .jsonl, not as {path.name!r}.")
    with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
        for line in _instances(judgments):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _holdable(answers: Readable, format_name: str) -> Judgments:
    able = ("choose-one", *_NUMBERS)
    if not isinstance(answers, Judgments) or answers.question.kind not in able:
        raise DataError(
            f"The format {format_name!r} holds a choice or one number a class, so only answers to "
            f"{', '.join(able)}; write these with --format judgments."
        )
    other = answers.table.filter(pl.col("view") != "first")
    if len(other):
        raise DataError(
            f"The format {format_name!r} cannot say that {len(other):,} of {len(answers):,} "
            f"answers are no first views (the first is a {other['view'][0]!r}); leave them out, "
            "or write --format judgments."
        )
    refuse_platform_ids(answers.table["annotator"])
    return answers


def _annotation(judgments: Judgments, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "completed_by": row["annotator"],
        "lead_time": row["seconds"],
        "created_at": row["at"],
        "was_cancelled": False,
        "ground_truth": False,
        "result": _results(judgments, json.loads(row["answer"])),
    }


def _results(judgments: Judgments, given: Any) -> list[dict[str, Any]]:
    if judgments.question.kind == "choose-one":
        value = {"choices": [given]}
        return [{"from_name": CONTROL, "to_name": "image", "type": "choices", "value": value}]
    ruled_out = given.pop(RULED_OUT, [])
    numbers = [
        {"from_name": name, "to_name": "image", "type": "number", "value": {"number": number}}
        for name, number in given.items()
    ]
    if not ruled_out:
        return numbers
    marked = {"choices": ruled_out}
    return [
        *numbers,
        {"from_name": RULED_OUT, "to_name": "image", "type": "choices", "value": marked},
    ]


def _instances(judgments: Judgments) -> Iterator[dict[str, Any]]:
    one_choice = judgments.question.kind == "choose-one"
    for row in judgments.table.iter_rows(named=True):
        given = json.loads(row["answer"])
        ruled_out = [] if one_choice else given.pop(RULED_OUT, [])
        labels = {given: "true"} if one_choice else {name: str(given[name]) for name in given}
        said = {CONTROL: labels}
        if ruled_out:
            said[RULED_OUT] = dict.fromkeys(ruled_out, "true")
        yield {
            "id": row["item"],
            "user_id": row["annotator"],
            "label_annotations": said,
            "behavioral_data": {
                "total_time_ms": round(1000 * row["seconds"]),
                "session_start": row["at"],
            },
        }


def write_judgments(answers: Readable, path: Path) -> None:
    """Write our own files: answers about items, comparisons or mixes, the question beside them."""
    if path.suffix.lower() == ".csv":
        table = mark_formulas(answers.table)[0]
        answers = (
            answers.with_table(table)
            if isinstance(answers, Judgments)
            else replace(answers, table=table)
        )
    match answers:
        case Judgments():
            write(answers, path, "sfumato")
        case Comparisons():
            write(answers, path, "comparisons")
        case MixJudgments():
            write(answers, path, "mixes")
        case _:
            assert_never(answers)


DOWNLOADS = {
    "labels": "the label of every item, as it is now",
    "words": "what people wrote at the end",
    "flags": "signs of trouble, by person and time",
    "events": "everything that happened during trials",
}
"""Tables beside the answers."""


def download_labels(live: Live) -> str:
    """The label of each main item as CSV, with how many answers it was made from."""
    tally = live.known
    main = [place for place, is_main in enumerate(tally.units.is_main) if is_main]
    count = tally.count[main]
    with np.errstate(invalid="ignore", divide="ignore"):
        probs = tally.sums[main] / count[:, None]
    columns: dict[str, Any] = {
        "item": [tally.units.items[place] for place in main],
        "answers": count,
        "change_by_one_more": tally.change[main],
    }
    shares = {name: probs[:, at] for at, name in enumerate(tally.outcomes)}
    table = pl.DataFrame(columns | shares).fill_nan(None)
    return mark_formulas(table)[0].write_csv()


def download_rows(connection: Connection, what: str) -> str:
    """The words, flags or events of people under their pseudonyms, as CSV."""
    rows = connection.all(_ROWS[what])
    names = [column.name for column in _ROWS[what].statement.selected_columns]  # type: ignore[attr-defined]
    table = pl.DataFrame(
        {name: [getattr(row, name) for row in rows] for name in names},
        strict=False,
        infer_schema_length=None,
    )
    return mark_formulas(table)[0].write_csv()


_PEOPLE = store.participant.join(
    store.session, store.session.c.participant == store.participant.c.id
)
_ROWS = {
    "words": prepare(
        sa.select(
            store.participant.c.pseudonym, store.reply.c.stage, store.reply.c.at, store.reply.c.data
        )
        .select_from(_PEOPLE.join(store.reply, store.reply.c.session == store.session.c.id))
        .order_by(store.reply.c.id)
    ),
    "flags": prepare(
        sa.select(
            store.participant.c.pseudonym, store.flag.c.kind, store.flag.c.at, store.flag.c.data
        )
        .select_from(_PEOPLE.join(store.flag, store.flag.c.session == store.session.c.id))
        .order_by(store.flag.c.id)
    ),
    "events": prepare(
        sa.select(
            store.participant.c.pseudonym,
            store.stimulus.c.item,
            store.trial.c.number,
            store.answer_event.c.kind,
            store.answer_event.c.at,
            store.answer_event.c.data,
        )
        .select_from(
            _PEOPLE.join(store.trial, store.trial.c.session == store.session.c.id)
            .join(store.stimulus, store.stimulus.c.id == store.trial.c.stimulus)
            .join(store.answer_event, store.answer_event.c.trial == store.trial.c.id)
        )
        .order_by(store.answer_event.c.id)
    ),
}


SHAPES: dict[str, Callable[[Readable, Path], None]] = {
    "judgments": write_judgments,
    "jspsych": write_jspsych,
    "label-studio": write_label_studio,
    "potato": write_potato,
}
"""What files can be written, by the name that a person types."""


def export(
    connection: Connection,
    study: ElicitStudy,
    path: Path,
    *,
    shape: str = "judgments",
    keep: Iterable[str] = (),
) -> AnswerExport:
    """Write the answers of a study to a file; what was written, and what was left out and why."""
    writer = find(SHAPES, shape, what="format of an export")
    check_study(connection, study)
    found = collect_answers(connection, study, keep=keep)
    if not len(found.answers):
        others = sum(found.left_out.values())
        raise DataError(
            f"The study {study.name!r} has no answers to export yet"
            + (f"; {others:,} were left out: {_listed(found.left_out)}." if others else ".")
        )
    writer(found.answers, path)
    in_a_spreadsheet = path.suffix.lower() == ".csv"
    return replace(found, marked=mark_formulas(found.answers.table)[1] if in_a_spreadsheet else 0)


def _listed(left_out: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in left_out.items())
