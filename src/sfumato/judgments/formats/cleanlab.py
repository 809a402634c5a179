"""Read and write cleanlab's wide table: one row an item, one column an annotator."""

from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.choices import judgments_of_choices
from sfumato.judgments.formats.reading import ReadOptions, read_csv_rows
from sfumato.judgments.formats.writing import choices_of, refuse_second_labels, whole_file
from sfumato.judgments.judgments import Judgments, Remark

__all__ = ["read_cleanlab", "write_cleanlab"]

ITEM = ("item", "task", "index", "column 0")
"""Names of the first column; pandas leaves that of its index empty."""

MISSING = ("nan", "NaN", "<NA>")
"""What pandas and NumPy write for a label that was not given, besides nothing."""

_ROW, _PERSON, _LABEL = "\0row", "\0person", "\0label"  # no annotator is called so


def read_cleanlab(path: Path, options: ReadOptions) -> Judgments:
    """Read a wide table as choose-one judgments; an empty field is a label not asked for."""
    rows = read_csv_rows(path, needed=(), progress=options.progress)
    first, *people = rows.table.columns
    if first not in ITEM:
        raise DataError(
            f"The first column of {path.name} is {first!r}; expected the items, in a column called "
            "'item', 'task', 'index' or nothing, then one column an annotator."
        )
    if not people:
        raise DataError(f"{path.name} has no column of an annotator's labels after {first!r}.")
    missing = [text for text in MISSING if text not in (options.classes or ())]
    long = (
        rows.table.drop(first)
        .with_row_index(_ROW)
        .unpivot(index=_ROW, variable_name=_PERSON, value_name=_LABEL)
        .rename({_PERSON: "annotator", _LABEL: "label"})
        .filter(pl.col("label").is_not_null() & ~pl.col("label").str.strip_chars().is_in(missing))
        .sort(_ROW, maintain_order=True)
    )
    unlabelled = len(rows.table) - long[_ROW].n_unique()
    remarks = [Remark("items without any label", unlabelled)] if unlabelled else []
    return judgments_of_choices(
        path,
        long.select("annotator", "label", item=rows.table[first].gather(long[_ROW])),
        lines=pl.Series(rows.lines, dtype=pl.Int64).gather(long[_ROW]),
        rejected=rows.rejected,
        remarks=remarks,
        options=options,
        format_name="cleanlab",
    )


def write_cleanlab(judgments: Judgments, path: Path) -> None:
    """Write choose-one judgments, items in the order they first occur, annotators sorted.

    cleanlab itself works with class numbers 0, 1, …, so give it classes named so.
    """
    table = choices_of(judgments, "cleanlab")
    refuse_second_labels(table, "cleanlab")
    if "item" in judgments.annotators:
        raise DataError("An annotator called 'item' would hide the column of items; rename them.")
    wide = table.pivot("annotator", index="item", values="label", aggregate_function=None)
    with whole_file(path) as part:
        wide.select("item", *judgments.annotators).write_csv(part)
