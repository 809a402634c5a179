"""Read and write ``Comparisons`` as CSV or Parquet, with their question as JSON beside it."""

import math
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.comparisons import (
    COMPARISON_COLUMNS,
    COMPARISON_QUESTIONS,
    ComparisonQuestion,
    Comparisons,
    comparison_question_from_json,
)
from sfumato.judgments.formats.beside import read_beside, write_beside
from sfumato.judgments.formats.checking import (
    Flaw,
    by_line,
    empty,
    no_number,
    no_whole_number,
    no_word,
    people,
    sound_rows,
)
from sfumato.judgments.formats.question_file import question_file
from sfumato.judgments.formats.reading import ReadOptions, Rows, read_csv_rows
from sfumato.judgments.formats.writing import refuse_platform_ids, whole_file
from sfumato.judgments.judgments import VIEWS
from sfumato.provenance import Step, fingerprint_file

__all__ = ["read_comparisons", "write_comparisons"]


def read_comparisons(path: Path, options: ReadOptions) -> Comparisons:
    """Read ratings of pairs, or triplets, from a CSV or Parquet file.

    Pairs need the columns first, second and rating; triplets item, first, second and closer,
    which says "first" or "second". Without ``NAME.question.json`` beside the table its
    columns tell the kind, and the question is the preset's.
    """
    rows = _rows(path, options)
    stored, earlier = read_beside(path)
    question = _question(path, stored, rows.table.columns)
    columns = COMPARISON_COLUMNS[question.kind]
    needed = [name for name in columns if name in ("item", "first", "second", "rating", "closer")]
    missing = [name for name in needed if name not in rows.table.columns]
    if missing:
        raise DataError(
            f"{path.name} has no column {missing[0]!r}; comparisons of the kind "
            f"{question.kind!r} need {', '.join(needed)}."
        )
    absent = [name for name in columns if name not in rows.table.columns]
    given = rows.table.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
    names, remarks = people(given["annotator"], options.key)
    kept, _, rejected = sound_rows(
        given.with_columns(names.alias("annotator")),
        [*(empty(given, name) for name in needed), *_flaws(given, question)],
        lines=rows.lines,
        file=path.name,
    )
    step = Step("read comparisons", {"kind": question.kind}, {path.name: fingerprint_file(path)})
    return Comparisons(
        question,
        kept.select(*columns),
        by_line(rows.rejected, rejected),
        tuple(remarks),
        (*earlier, step),
    )


def write_comparisons(comparisons: Comparisons, path: Path) -> None:
    """Write comparisons as CSV or Parquet, and their question beside them."""
    refuse_platform_ids(comparisons.table)
    match path.suffix.lower():
        case ".csv":
            with whole_file(path) as part:
                comparisons.table.write_csv(part)
        case ".parquet":
            with whole_file(path) as part:
                comparisons.table.write_parquet(part)
        case other:
            raise DataError(f"Comparisons are written as .csv or .parquet, not as {other!r}.")
    write_beside(path, comparisons.question.to_json(), comparisons.provenance)


def _rows(path: Path, options: ReadOptions) -> Rows:
    if path.suffix.lower() != ".parquet":
        return read_csv_rows(path, needed=("first", "second"), progress=options.progress)
    try:
        table = pl.read_parquet(path).cast(pl.String)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}.") from None
    options.progress(len(table), len(table))
    return Rows(table, list(range(1, len(table) + 1)), [])


def _question(path: Path, stored: dict[str, Any], columns: list[str]) -> ComparisonQuestion:
    if stored:
        return comparison_question_from_json(stored, where=question_file(path).name)
    return COMPARISON_QUESTIONS["triplets" if "closer" in columns else "pairs"]


def _flaws(given: pl.DataFrame, question: ComparisonQuestion) -> list[Flaw]:
    flaws = [
        no_number(given, "seconds", low=0, high=math.inf),
        no_whole_number(given, "order"),
        no_word(given, "view", VIEWS),
        Flaw(
            "second",
            "an item compared with itself",
            given["second"],
            given["first"] == given["second"],
        ),
    ]
    if question.scale is None:
        return [*flaws, no_word(given, "closer", ("first", "second"))]
    low, high = question.scale
    return [*flaws, no_number(given, "rating", low=low, high=high)]
