"""The answers of people as one tidy table: one row per answer, the question beside it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.coded import (
    NULL,
    Coded,
    CodedTable,
    Rows,
    encode,
    encode_table,
    mark_again,
)
from sfumato.judgments.question import BARE, OffScale, Question, Statements, read_answers
from sfumato.names import load_name
from sfumato.provenance import Provenance, Step
from sfumato.tabular import Tabular

VIEWS = ("first", "repeat", "check", "practice")
"""Why an item was shown: for its label, again, as an attention check, to practise."""

COLUMNS: dict[str, pl.DataType] = {
    "item": pl.String(),
    "annotator": pl.String(),  # null: not recorded
    "answer": pl.String(),  # JSON, as it was given
    "repaired": pl.String(),  # JSON, where a named repair applies; the answer stays
    "seconds": pl.Float64(),
    "input_seconds": pl.String(),  # JSON: input to seconds, where known
    "order": pl.Int64(),  # place in the session, from 1
    "at": pl.String(),  # ISO 8601
    "view": pl.String(),
    "gold": pl.String(),  # the class known to be right, where one is known
    "completed": pl.Boolean(),  # whether the session reached its end
    "simulated": pl.Boolean(),  # true: made up by a simulated person; null: given by a person
    "note": pl.String(),  # what the person wrote beside the answer, such as a reason
}
"""The columns of a judgments table. ``item`` and ``answer`` are required, the rest may be null."""

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
    "note": "what the annotator wrote beside the answer, such as a reason",
}
"""What the columns of judgments hold."""


@dataclass(frozen=True)
class RejectedRow:
    """A row that could not be read, kept with the reason."""

    file: str
    line: int
    field: str
    """Empty where the row as a whole is at fault."""
    reason: str
    text: str

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" + (f", field {self.field!r}" if self.field else "")
        return f"{place}: {self.reason}"


@dataclass(frozen=True)
class Remark:
    """Something a reader noticed and dealt with, and how often."""

    what: str
    count: int
    example: str = ""


CODED = ("item", "annotator", "answer", "repaired", "view", "gold")
"""The columns whose texts repeat."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Judgments(Tabular):
    """A table with the columns of ``COLUMNS``, all about one question.

    Inside, texts that repeat are codes (``coded``); ``table`` writes them out, which takes four
    times the memory.
    """

    question: Question
    coded: CodedTable
    rejected: tuple[RejectedRow, ...]
    remarks: tuple[Remark, ...]
    provenance: Provenance

    def __init__(
        self,
        question: Question,
        table: pl.DataFrame | None = None,
        rejected: tuple[RejectedRow, ...] = (),
        remarks: tuple[Remark, ...] = (),
        provenance: Provenance = (),
        *,
        coded: CodedTable | None = None,
    ) -> None:
        """``table`` counts where both it and ``coded`` are given."""
        set_field = partial(object.__setattr__, self)
        if table is not None:
            given = {name: table[name].cast(COLUMNS[name]) for name in table.columns}
            coded = encode_table(pl.DataFrame(given), CODED)
        assert coded is not None
        unknown = [name for name in coded.columns if name not in COLUMNS]
        assert not unknown, f"not a column of judgments: {unknown}"
        set_field("question", question)
        set_field("coded", coded)
        set_field("rejected", rejected)
        set_field("remarks", remarks)
        set_field("provenance", provenance)
        views = coded.coded("view").used().to_list()
        assert set(views) <= set(VIEWS), f"unknown views {views}"

    def __len__(self) -> int:
        return len(self.coded)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per answer with the columns of ``COLUMNS``."""
        return self.decode()

    def decode(self, rows: Rows | None = None) -> pl.DataFrame:
        """The table, or some of its rows, written out."""
        table = self.coded.decode(rows)
        missing = [
            pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in COLUMNS.items()
            if name not in table.columns
        ]
        if not table.columns:  # not a single field is filled
            table = pl.DataFrame({"item": pl.Series([None] * len(self), dtype=pl.String)})
        return (
            table.with_columns(missing)
            .select(list(COLUMNS))
            .with_columns(pl.col("view").fill_null("first"))
        )

    @cached_property
    def statements(self) -> Statements:
        """What each answer states, read from the repaired answer where there is one."""
        stated, wrong = read_answers(self.question, self.stated.values.to_list())
        index = self.stated.code
        for row, error in wrong.items():
            rows = np.flatnonzero(index == row)
            if len(rows):
                item = self.coded.coded("item").decode(rows[:1])[0]
                raise DataError(f"The answer about item {item!r} cannot be read: {error}.")
        return replace(stated, index=index)

    @property
    def stated(self) -> Coded:
        """The repaired answer where there is one, otherwise the answer as given."""
        return _stated(self.coded)

    @property
    def annotators(self) -> list[str]:
        """The people, sorted; those not recorded are not among them."""
        return self.coded.coded("annotator").used().to_list()

    @cached_property
    def doubled(self) -> NDArray[np.intp]:
        """The rows in which a person judges an item again, in first views all."""
        item, annotator = self.coded.coded("item").code, self.coded.coded("annotator").code
        of_somebody = self.in_view("first") & (annotator != NULL)
        if of_somebody.all():
            return np.flatnonzero(mark_again(item, annotator))
        rows = np.flatnonzero(of_somebody)
        return rows[mark_again(item[rows], annotator[rows])]

    def in_view(self, *views: str) -> NDArray[np.bool_]:
        """Which answers were given in one of these views."""
        shown = self.coded.coded("view")
        wanted = np.append(shown.values.is_in(views).to_numpy(), "first" in views)
        return wanted[shown.code]

    def describe(self, **options: Any) -> Any:
        """Classes with counts, people, times, agreement, oddities (``sfumato.describe``)."""
        return load_name("sfumato.labels.verbs:describe")(self, **options)

    def label(self, recipe: str | None = None, **options: Any) -> Any:
        """The label distributions that follow from the answers (``sfumato.label``)."""
        return load_name("sfumato.labels.verbs:label")(self, recipe, **options)

    def to_polars(self) -> pl.DataFrame:
        """One row per answer; columns that hold nothing are left out.

        An answer is the class where one was chosen, otherwise JSON as it was given.
        """
        empty = [name for name in self.table.columns if not self.table[name].count()]
        table = self.table.drop([name for name in empty if name not in ("item", "answer")])
        if self.question.kind not in BARE:
            return table
        given = table["answer"].unique().to_list()
        plain = [_plain_choice(answer) for answer in given]
        return table.with_columns(
            pl.col("answer").replace_strict(given, plain, return_dtype=pl.String)
        )

    def _summary(self) -> str:
        people = f"{len(self.annotators):,} people" if self.annotators else "people not recorded"
        aside = f", {len(self.rejected):,} rows set aside" if self.rejected else ""
        return (
            f"Judgments: {len(self):,} answers about {self.table['item'].n_unique():,} items, "
            f"{people}, {self.question.kind} of {len(self.question.classes):,} classes{aside}"
        )

    def with_table(self, table: pl.DataFrame) -> "Judgments":
        """Other answers in the place of these."""
        return Judgments(self.question, table, self.rejected, self.remarks, self.provenance)

    def take(self, rows: NDArray[np.bool_] | pl.Series, step: Step) -> "Judgments":
        """The judgments for which ``rows`` is true, one step later."""
        mask = np.asarray(rows)
        coded = self.coded.take(mask)
        taken = replace(self, coded=coded, provenance=(*self.provenance, step))
        if "statements" in self.__dict__:  # reading answers is the slow part: do not repeat it
            taken.__dict__["statements"] = replace(self.statements, index=taken.stated.code)
        if coded is self.coded and "doubled" in self.__dict__:
            taken.__dict__["doubled"] = self.doubled
        return taken


def judgments_from(
    question: Question,
    table: pl.DataFrame | CodedTable,
    *,
    file: str,
    lines: "Sequence[int] | NDArray[np.int64] | Places",
    rejected: Sequence[RejectedRow] = (),
    remarks: Sequence[Remark] = (),
    provenance: Provenance = (),
) -> Judgments:
    """Check a table row by row; rows that cannot be read are set aside with their reason.

    ``lines`` says in which line of ``file`` each row stands, or in which file and line.
    """
    coded = table if isinstance(table, CodedTable) else Judgments(question, table).coded
    places = lines if isinstance(lines, Places) else Places.of(file, lines)
    given = _stated(coded)
    stated, wrong = read_answers(question, given.values.to_list())
    for code, error in wrong.items():
        rows = np.flatnonzero(given.code == code)
        if isinstance(error, OffScale) and len(rows):
            who = _who(coded, int(rows[0]))
            where, line = places[int(rows[0])]
            raise DataError(
                f"{where}, line {line}, field 'answer': {who} is {error.found}; expected "
                f"{error.expected}. Correct the row, or name the scale that people used."
            )
        if isinstance(error, UnknownName) and len(rows):
            where, line = places[int(rows[0])]
            raise DataError(
                f"{where}, line {line}, field 'answer': {error} Add it to the classes of "
                "the question, or correct the row."
            )
    bad = np.isin(given.code, list(wrong)) if wrong else np.zeros(len(coded), dtype=bool)
    rows = np.flatnonzero(bad)
    aside = [
        RejectedRow(*places[int(row)], "answer", str(wrong[int(given.code[row])]), answer)
        for row, answer in zip(rows, coded.coded("answer").decode(rows), strict=True)
    ]
    kept = Judgments(
        question,
        None,
        in_order_of_files([*rejected, *aside], places),
        tuple(remarks),
        provenance,
        coded=coded.take(~bad),
    )
    kept.__dict__["statements"] = replace(stated, index=kept.stated.code)
    return kept


@dataclass(frozen=True, eq=False)
class Places:
    """In which file and line each row of a table stands."""

    files: tuple[str, ...]
    starts: NDArray[np.int64]  # (files,) the row at which each file begins
    line: NDArray[np.int64] | range  # (rows,) counted over all files
    first: int = 1
    """The line in which the first row of a file stands; 2 below the names of columns."""

    @classmethod
    def of(cls, file: str, lines: Sequence[int] | NDArray[np.int64]) -> "Places":
        """The lines of one file."""
        return cls((file,), np.zeros(1, dtype=np.int64), np.asarray(lines, dtype=np.int64), 0)

    def __getitem__(self, row: int) -> tuple[str, int]:
        at = int(self.line[row])
        file = int(np.searchsorted(self.starts, at, side="right")) - 1
        return self.files[file], at - int(self.starts[file]) + self.first

    def take(self, rows: NDArray[np.bool_]) -> "Places":
        """The places of the rows for which ``rows`` is true."""
        if rows.all():
            return self
        return replace(self, line=np.asarray(self.line, dtype=np.int64)[rows])


def in_order_of_files(rejected: Sequence[RejectedRow], places: Places) -> tuple[RejectedRow, ...]:
    """Rows set aside for different reasons, by file and line."""
    order = {file: place for place, file in enumerate(places.files)}
    return tuple(sorted(rejected, key=lambda row: (order.get(row.file, -1), row.line)))


def mark_duplicates(judgments: Judgments) -> NDArray[np.bool_]:
    """First views of an item that its annotator had already judged, as when a session is run twice.

    The earliest row of the file stands. Judgments whose author is unknown are never duplicates.
    """
    again = np.zeros(len(judgments), dtype=bool)
    again[judgments.doubled] = True
    return again


def select(judgments: Judgments, keep: Sequence[str] = ()) -> Judgments:
    """The judgments that labels are made from: first views, each person once per item.

    ``keep`` may name ``repeats``, ``checks``, ``practice`` and ``duplicates`` to leave them in.
    """
    rows = mark_selected(judgments, keep)
    step = Step("select", {"keep": list(keep), "left_out": int((~rows).sum())})
    return judgments.take(rows, step)


def mark_selected(judgments: Judgments, keep: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Which rows ``select`` takes."""
    views = {"repeats": "repeat", "checks": "check", "practice": "practice"}
    unknown = [name for name in keep if name not in (*views, "duplicates")]
    if unknown:
        raise DataError(
            f"There is nothing called {unknown[0]!r} to keep. Known: checks, duplicates, "
            "practice, repeats."
        )
    wanted = {"first", *(views[name] for name in keep if name in views)}
    rows = judgments.in_view(*wanted)
    if "duplicates" not in keep:
        rows &= ~mark_duplicates(judgments)
    return rows


def _plain_choice(answer: str) -> str:
    """A class or point without JSON's quotes; any other answer as it is."""
    choice = json.loads(answer)
    return choice if isinstance(choice, str) else answer


def _who(coded: CodedTable, row: int) -> str:
    """Whose answer about what stands in a row, for errors."""
    item, person = (coded.coded(name).decode([row])[0] for name in ("item", "annotator"))
    return f"the answer of {'somebody' if person is None else repr(person)} about item {item!r}"


def _stated(coded: CodedTable) -> Coded:
    answer = coded.coded("answer")
    if "repaired" not in coded.columns:
        return answer
    repaired = coded.coded("repaired")
    given = encode(pl.concat([answer.values, repaired.values]))
    shift = np.int32(len(answer.values))
    place = np.where(repaired.code == NULL, answer.code, repaired.code + shift)
    return Coded(given.values, np.append(given.code, np.int32(NULL))[place])
