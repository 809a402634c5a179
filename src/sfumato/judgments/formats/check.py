"""Check a file of judgments against our format: every kind of mistake, how often, and where first.

A reader sets a wrong row aside at its first mistake. Here nothing is set aside: whoever publishes
a file wants to know all that is wrong with it, and what would be right.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, assert_never

import polars as pl

from sfumato.errors import DataError, SfumatoError, UnknownName
from sfumato.judgments.coded import CodedTable
from sfumato.judgments.formats import ID_IN_TEXT
from sfumato.judgments.formats.own import (
    answers_as_json,
    our_columns,
    question_file,
    quote_answers,
    read_beside,
    read_rows,
    stored_question,
    typed_fields,
)
from sfumato.judgments.formats.reading import (
    PLATFORM_ID,
    ReadOptions,
    Rows,
    classes_among,
    parse_json,
    read_json_text,
)
from sfumato.judgments.formats.scan import code_rows
from sfumato.judgments.judgments import COLUMNS, Judgments, mark_duplicates
from sfumato.judgments.question import BARE, OffScale, Question, ask, read_answers
from sfumato.names import format_count

Contents = Literal["judgments", "labels", "predictions"]

BY_ROW = (".parquet", ".npz", ".npy")
"""Files without lines; places in them are row numbers, from 1."""

QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d+")
"""What differs between two mistakes of one kind: the texts and numbers that are quoted."""

PSEUDONYM_WANTED = (
    "a pseudonym such as person-9d139fc064, never the id of a crowd platform or an e-mail address"
)


@dataclass(frozen=True)
class Problem:
    """One kind of mistake: where it occurs first, what is there, what would be right."""

    file: str
    row: int | None
    """The line of a text file, the row of another; None where the file as a whole is wrong."""
    field: str
    """The column, or the field of a JSON file; empty where the row as a whole is wrong."""
    found: str
    """What is there, or what is wrong with it."""
    expected: str
    """What would be right; empty where ``found`` says it."""
    count: int

    def __str__(self) -> str:
        row = "row" if Path(self.file).suffix.lower() in BY_ROW else "line"
        place = self.file if self.row is None else f"{self.file}, {row} {self.row}"
        place += f", field {self.field!r}" if self.field else ""
        often = f" ({self.count:,} times)" if self.count > 1 else ""
        right = f"; expected {self.expected}" if self.expected else ""
        return f"{place}{often}: {self.found.rstrip('.')}{right}."


@dataclass
class Problems:
    """The kinds of mistakes seen so far."""

    seen: dict[tuple[str, str, str], Problem] = field(default_factory=dict)

    def note(
        self,
        file: str,
        row: int | None,
        name: str,
        *,
        found: str,
        expected: str,
        kind: str = "",
        count: int = 1,
    ) -> None:
        """Count a mistake with those of its kind; the first place stands for all."""
        key = (file, name, kind or expected)
        known = self.seen.get(key)
        if known is None:
            self.seen[key] = Problem(file, row, name, _without_ids(found), expected, count)
        elif row is not None and known.row is not None and row < known.row:
            self.seen[key] = Problem(
                file, row, name, _without_ids(found), expected, known.count + count
            )
        else:
            self.seen[key] = replace(known, count=known.count + count)

    def note_file(self, file: str, error: SfumatoError) -> None:
        """A mistake after which nothing more of a file can be read."""
        said = str(error).removeprefix(f"{file}: ")
        self.note(file, None, "", found=said, expected="", kind=said)

    def in_order(self) -> tuple[Problem, ...]:
        """All kinds, those of whole files first, then in the order of the rows."""
        return tuple(
            sorted(self.seen.values(), key=lambda problem: (problem.row or 0, problem.file))
        )


@dataclass(frozen=True)
class FileCheck:
    """What a file holds, and whether it keeps to the format."""

    file: str
    holds: Contents
    rows: int
    items: int
    people: int
    """Different annotators; 0 where none is recorded."""
    classes: int
    simulated: bool
    """Whether any row is an answer of a simulated person."""
    problems: tuple[Problem, ...]
    advice: tuple[str, ...]
    """What a valid file should do better: sentences."""

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """One line: valid and what it holds, or not valid and how much is wrong."""
        if self.valid:
            return f"valid: {self._contents()}"
        mistakes = sum(problem.count for problem in self.problems)
        kinds = f" of {len(self.problems)} kinds" if len(self.problems) > 1 else ""
        return f"not valid: {format_count(mistakes, 'mistake')}{kinds} in {self.file}"

    def to_json(self) -> dict[str, Any]:
        """Everything as plain dicts and lists."""
        return {"valid": self.valid, "verdict": self.verdict, **asdict(self)}

    def _contents(self) -> str:
        who = f" of {format_count(self.people, 'person', 'people')}" if self.people else ""
        mark = " (simulated answers)" if self.simulated else ""
        items = format_count(self.items, "item")
        classes = format_count(self.classes, "class", "classes")
        match self.holds:
            case "judgments":
                said = format_count(self.rows, "judgment")
                return f"{said}{who} about {items}{mark}" + ("" if who else ", people not recorded")
            case "labels":
                said = "labels" if self.rows == self.items else format_count(self.rows, "label")
                return f"{said}{who} for {items} over {classes}{mark}"
            case "predictions":
                return f"predictions for {items} over {classes}"
            case _:
                assert_never(self.holds)


def check_judgments(path: Path) -> FileCheck:
    """Check every row of a judgments table and the question beside it."""
    problems, advice = Problems(), list[str]()
    question = _stored(path, problems)
    try:
        rows = read_rows(path, ReadOptions())
    except DataError as error:
        problems.note_file(path.name, error)
        return _checked(path, pl.DataFrame(), question, problems, advice)
    for row in rows.rejected:
        problems.note(
            row.file,
            row.line,
            row.field,
            found=row.reason,
            expected="a row with a value, if only an empty one, for every column"
            if path.suffix.lower() == ".csv"
            else "one JSON object per line",
            kind=QUOTED.sub("…", row.reason),
        )
    note_platform_ids(rows.table, rows.lines, path.name, problems)
    coded, _ = our_columns(code_rows(rows, path.name), lambda: "")
    advice += [
        f"The column {name!r} is none of the format; readers leave it out."
        for name in rows.table.columns
        if name not in COLUMNS
    ]
    if not len(coded):
        problems.note(path.name, None, "", found="no row", expected="one row per answer")
        return _checked(path, pl.DataFrame(), question, problems, advice)
    question = question or _question_of(path, _written_out(coded), problems, advice)
    if question is not None and question.kind in BARE:
        coded = quote_answers(coded, numbers=question.kind == "choose-one")
    fields = typed_fields(coded)
    for at, faults in sorted(fields.faults.items()):
        for fault in faults:
            found = fault.found or "nothing"
            problems.note(
                path.name, rows.lines[at], fault.field, found=found, expected=fault.expected
            )
    if question is not None:
        _note_answers(path, _written_out(coded), rows, question, problems)
        _advise(_written_out(fields.table), question, advice)
    return _checked(path, _written_out(fields.table), question, problems, advice)


def _written_out(table: CodedTable) -> pl.DataFrame:
    """All columns of ours, those included that hold nothing."""
    return pl.DataFrame([table.series(name, dtype) for name, dtype in COLUMNS.items()])


def note_platform_ids(
    table: pl.DataFrame, lines: Sequence[int], file: str, problems: Problems
) -> None:
    """Worker ids of a platform and e-mail addresses in the column ``annotator`` are a mistake."""
    if "annotator" not in table.columns or table["annotator"].dtype != pl.String:
        return
    people = table["annotator"]
    known = [name for name in people.drop_nulls().unique() if PLATFORM_ID.fullmatch(name)]
    rows = people.is_in(known).arg_true() if known else pl.Series(dtype=pl.UInt32)
    if len(rows):
        problems.note(
            file,
            lines[rows[0]],
            "annotator",
            found=repr(people[rows[0]]),
            expected=PSEUDONYM_WANTED,
            count=len(rows),
        )


def note_steps(stored: Any, file: str, problems: Problems) -> None:
    """The provenance in a JSON file is a list of steps, each with what it is."""
    forms = {"name": str, "settings": dict, "inputs": dict, "simulated": bool}
    expected = 'a list of steps such as {"name": "label votes", "settings": {}, "inputs": {}, '
    expected += '"simulated": false}'
    if not isinstance(stored, list):
        problems.note(file, None, "provenance", found=show_value(stored), expected=expected)
        return
    for step in stored:
        sound = isinstance(step, dict) and "name" in step and set(step) <= set(forms)
        if not sound or not all(isinstance(held, forms[name]) for name, held in step.items()):
            problems.note(file, None, "provenance", found=show_value(step), expected=expected)


def show_value(value: Any) -> str:
    """A JSON value as a message shows it: one line, not too long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return repr(text if len(text) <= 60 else text[:57] + "…")


def example_answer(question: Question) -> str:
    """An answer of the form that a question asks for, over its own classes.

    >>> example_answer(ask("confidence", ["cat", "dog"]))
    '{"choice": "cat", "confidence": "guessing"}'
    """
    first, second = question.classes[:2]
    scale = question.options.get("scale", 1)
    most, less = (float(f"{share * scale:g}") for share in (0.7, 0.3))
    scores = {first: most, second: less}
    if question.kind == "top-class":
        scores = dict(zip(question.options["subset"], scores.values(), strict=False))
    forms: dict[str, Any] = {
        "choose-one": first,
        "top-two": {
            "first": first,
            "first_percent": most,
            "second": second,
            "second_percent": less,
            "ruled_out": [],
        },
        "sliders": scores,
        "typicality": {"class": first, "typicality": most},
        "yes-no-unsure": {first: "yes", second: "unsure"},
        "top-class": scores,
        "sparse": dict(list(scores.items())[: question.options.get("count", 2)]),
        "likely-set": [first, second],
        "ranking": [first, second],
        "confidence": {
            "choice": first,
            "confidence": next(iter(question.options.get("levels", {})), ""),
        },
        "distribution": scores,
        "rating": first,
        "number": sum(question.values or ()) / len(question.classes),
        "multi-label": {name: "yes" if name == first else "no" for name in question.classes},
        "three-point": {"lower": less, "best": 0.5 * scale, "upper": most},
        "own-and-others": {"own": first, "others": scores},
    }
    return json.dumps(forms[question.kind], ensure_ascii=False)


def _stored(path: Path, problems: Problems) -> Question | None:
    """The question beside the table; what is wrong with it is noted."""
    beside = question_file(path)
    expected = 'an object such as {"kind": "choose-one", "classes": ["cat", "dog"]}'
    try:
        stored, _ = read_beside(path)
        if stored:
            whole = parse_json(read_json_text(beside), file=beside.name)
            note_steps(whole.get("provenance", []), beside.name, problems)
        return stored_question(path, stored, ReadOptions())
    except SfumatoError as error:
        said = str(error).removeprefix(f"{beside.name}: ")
        problems.note(beside.name, None, "", found=said, expected=expected)
        return None


def _question_of(
    path: Path, table: pl.DataFrame, problems: Problems, advice: list[str]
) -> Question | None:
    """Choose-one where nothing lies beside and every answer can be a class."""
    beside = question_file(path)
    if beside.exists():  # and is wrong, which is noted already
        return None
    wanted = f'{beside.name} beside it, such as {{"kind": "top-two", "classes": ["cat", "dog"]}}'
    objects = [text for text in table["answer"].drop_nulls().unique() if _is_compound(text)]
    if objects:
        problems.note(
            path.name,
            None,
            "answer",
            found=f"{show_value(min(objects))}, and no question that it answers",
            expected=wanted,
        )
        return None
    labels = answers_as_json(table["answer"]).drop_nulls().unique()
    try:
        named = pl.Series([json.loads(text) for text in labels], dtype=pl.String)
        classes = classes_among(named, None, file=path.name)
    except DataError:
        number = format_count(len(labels), "different answer")
        found = f"{number}, and no question that names the classes"
        problems.note(path.name, None, "answer", found=found, expected=wanted)
        return None
    advice.append(
        f"No question lies beside it: the answers are read as choose-one, and the {len(classes)} "
        f"different answers are the classes. Write {beside.name} with kind, wording and classes."
    )
    return ask("choose-one", classes)


def _is_compound(text: str) -> bool:
    """Whether an answer is a JSON object or list, which no class is called."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _note_answers(
    path: Path, table: pl.DataFrame, rows: Rows, question: Question, problems: Problems
) -> None:
    given = (
        table.select(answer=pl.coalesce("repaired", "answer"))
        .with_row_index("at")
        .drop_nulls()
        .group_by("answer")
        .agg(pl.col("at").min(), pl.len())
        .sort("at")
    )
    _, wrong = read_answers(question, given["answer"].to_list())
    for place, error in wrong.items():
        answer, at, count = given.row(place)
        found, expected = str(error), f"an answer such as {example_answer(question)}"
        if isinstance(error, OffScale):
            who = table["annotator"][at]
            person = "somebody" if who is None else repr(who)
            found = f"{error.found}, said of item {table['item'][at]!r} by {person}"
            expected = error.expected
        if isinstance(error, UnknownName):
            found = f"{show_value(answer)}: {str(error).split(' Known: ')[0]}"
            expected = f"the classes of the question: {_some(question.classes)}"
        problems.note(
            path.name,
            rows.lines[at],
            "answer",
            found=found,
            expected=expected,
            kind=type(error).__name__ + QUOTED.sub("…", str(error))
            if not isinstance(error, UnknownName)
            else "unknown class",
            count=count,
        )


def _advise(table: pl.DataFrame, question: Question, advice: list[str]) -> None:
    """What the format asks for with "should"."""
    nameless = table["annotator"].null_count()
    if nameless:
        advice.append(
            f"{format_count(nameless, 'row')} without an annotator: nobody can tell who said it."
        )
    sound = table.with_columns(pl.col("view").fill_null("first"))
    again = int(mark_duplicates(Judgments(question, sound)).sum())
    if again:
        advice.append(
            f"{format_count(again, 'answer')} by somebody who had judged the item before: readers "
            "take the first. A second showing is marked by the view 'repeat'."
        )
    unknown = table["gold"].drop_nulls().filter(~table["gold"].drop_nulls().is_in(question.classes))
    if len(unknown):
        advice.append(
            f"{format_count(len(unknown), 'row')} with a gold that is no class, such as "
            f"{unknown[0]!r}."
        )
    odd = [text for text in table["at"].drop_nulls().unique().sort() if not _is_time(text)]
    if odd:
        advice.append(
            f"Times should be in ISO 8601, such as 2026-05-04T12:30:00Z; found {odd[0]!r}."
        )


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _checked(
    path: Path,
    table: pl.DataFrame,
    question: Question | None,
    problems: Problems,
    advice: Sequence[str],
) -> FileCheck:
    count = {
        name: table[name].drop_nulls().n_unique() if name in table.columns else 0
        for name in ("item", "annotator")
    }
    return FileCheck(
        file=path.name,
        holds="judgments",
        rows=len(table),
        items=count["item"],
        people=count["annotator"],
        classes=len(question.classes) if question else 0,
        simulated="simulated" in table.columns and bool(table["simulated"].any()),
        problems=problems.in_order(),
        advice=tuple(advice),
    )


def _without_ids(text: str) -> str:
    return ID_IN_TEXT.sub(lambda found: f"{found[0][:4]}…", text)


def _some(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
