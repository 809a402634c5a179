"""The answers of people as one tidy table: one row per answer, the question beside it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.question import Question
from sfumato.judgments.statements import Statements, read_answers
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


@dataclass(frozen=True, eq=False, repr=False)
class Judgments(Tabular):
    """A table with the columns of ``COLUMNS``, all about one question."""

    question: Question
    table: pl.DataFrame
    rejected: tuple[RejectedRow, ...] = ()
    remarks: tuple[Remark, ...] = ()
    provenance: Provenance = field(default=())

    def __post_init__(self) -> None:
        unknown = [name for name in self.table.columns if name not in COLUMNS]
        assert not unknown, f"not a column of judgments: {unknown}"
        missing = [
            pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in COLUMNS.items()
            if name not in self.table.columns
        ]
        table = self.table.with_columns(missing).select(
            pl.col(name).cast(dtype) for name, dtype in COLUMNS.items()
        )
        table = table.with_columns(pl.col("view").fill_null("first"))
        object.__setattr__(self, "table", table)
        views = table["view"].unique().to_list()
        assert set(views) <= set(VIEWS), f"unknown views {views}"

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def statements(self) -> Statements:
        """What each answer states, read from the repaired answer where there is one."""
        distinct, index = _distinct(self.table)
        stated, wrong = read_answers(self.question, distinct)
        if wrong:
            row, error = next(iter(wrong.items()))
            item = self.table["item"][int(np.flatnonzero(index == row)[0])]
            raise DataError(f"The answer about item {item!r} cannot be read: {error}.")
        return replace(stated, index=index)

    @property
    def annotators(self) -> list[str]:
        """The people, sorted; those not recorded are not among them."""
        return self.table["annotator"].drop_nulls().unique().sort().to_list()

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
        if self.question.kind != "choose-one":
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

    def take(self, rows: NDArray[np.bool_] | pl.Series, step: Step) -> "Judgments":
        """The judgments for which ``rows`` is true, one step later."""
        mask = pl.Series(rows)
        taken = replace(self, table=self.table.filter(mask), provenance=(*self.provenance, step))
        if "statements" in self.__dict__:  # reading answers is the slow part: do not repeat it
            kept = replace(self.statements, index=self.statements.index[mask.to_numpy()])
            taken.__dict__["statements"] = kept
        return taken


def judgments_from(
    question: Question,
    table: pl.DataFrame,
    *,
    file: str,
    lines: Sequence[int] | NDArray[np.int64],
    rejected: Sequence[RejectedRow] = (),
    remarks: Sequence[Remark] = (),
    provenance: Provenance = (),
) -> Judgments:
    """Check a table row by row; rows that cannot be read are set aside with their reason.

    ``lines`` says in which line of ``file`` each row stands.
    """
    distinct, index = _distinct(table)
    stated, wrong = read_answers(question, distinct)
    for row, error in wrong.items():
        if isinstance(error, UnknownName):
            at = int(np.flatnonzero(index == row)[0])
            raise DataError(
                f"{file}, line {lines[at]}, field 'answer': {error} Add it to the classes of "
                "the question, or correct the row."
            )
    reasons = {row: str(error) for row, error in wrong.items()}
    bad = np.isin(index, list(reasons)) if reasons else np.zeros(len(index), dtype=bool)
    aside = [
        RejectedRow(
            file, int(lines[int(at)]), "answer", reasons[int(index[at])], table["answer"][int(at)]
        )
        for at in np.flatnonzero(bad)
    ]
    kept = Judgments(
        question,
        table.filter(pl.Series(~bad)),
        tuple(sorted([*rejected, *aside], key=lambda row: row.line)),
        tuple(remarks),
        provenance,
    )
    kept.__dict__["statements"] = replace(stated, index=index[~bad])
    return kept


def mark_duplicates(judgments: Judgments) -> NDArray[np.bool_]:
    """First views of an item that its annotator had already judged, as when a session is run twice.

    The earliest row of the file stands. Judgments whose author is unknown are never duplicates.
    """
    keys = judgments.table.select("item", "annotator", "view")
    again = ~pl.struct("item", "annotator", "view").is_first_distinct()
    of_somebody = pl.col("annotator").is_not_null() & (pl.col("view") == "first")
    return keys.select((again & of_somebody).alias("again"))["again"].to_numpy()


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
    rows = judgments.table["view"].is_in(list(wanted)).to_numpy().copy()
    if "duplicates" not in keep:
        rows &= ~mark_duplicates(judgments)
    return rows


def _plain_choice(answer: str) -> str:
    """A chosen class without JSON's quotes; any other answer as it is."""
    choice = json.loads(answer)
    return choice if isinstance(choice, str) else answer


def _distinct(table: pl.DataFrame) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct answers in sorted order, and the place of each row's among them."""
    if "repaired" in table.columns:
        answers = table.select(pl.coalesce("repaired", "answer").alias("answer"))["answer"]
    else:
        answers = table["answer"]
    distinct = answers.unique().sort()
    places = pl.DataFrame({"answer": distinct}).with_row_index("place")
    index = pl.DataFrame({"answer": answers}).join(
        places, on="answer", how="left", maintain_order="left"
    )["place"]
    return distinct.to_list(), index.to_numpy().astype(np.int64)
