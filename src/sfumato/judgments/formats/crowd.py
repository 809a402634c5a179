"""Read and write the tidy table of crowd-kit: one row a vote, ``task, worker, label``.

The classical crowdsourcing sets call the task ``item``; cleanlab calls the worker
``annotator``.
"""

from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.choices import judgments_of_choices, tidy_ids
from sfumato.judgments.formats.reading import ReadOptions, read_csv_rows
from sfumato.judgments.formats.writing import choices_of, whole_file
from sfumato.judgments.judgments import Judgments

__all__ = ["read_crowd", "read_truth", "write_crowd"]

ITEM = ("task", "item")
WORKER = ("worker", "annotator")
TRUTH = ("truth", "label")


def read_crowd(path: Path, options: ReadOptions) -> Judgments:
    """Read ``task, worker, label`` as choose-one judgments; ``.tsv`` is tab-separated.

    The classes are those of the options, otherwise the different labels in natural order.
    """
    rows = read_csv_rows(
        path, needed=["label"], progress=options.progress, delimiter=_delimiter(path)
    )
    table = rows.table.select(
        pl.col(_named(path, rows.table, ITEM)).alias("item"),
        pl.col(_named(path, rows.table, WORKER)).alias("annotator"),
        pl.col("label"),
    )
    return judgments_of_choices(
        path,
        table,
        lines=rows.lines,
        rejected=rows.rejected,
        remarks=(),
        options=options,
        format_name="crowd",
    )


def write_crowd(judgments: Judgments, path: Path) -> None:
    """Write choose-one judgments as ``task,worker,label``; times and order do not fit in."""
    table = choices_of(judgments, "crowd").rename({"item": "task", "annotator": "worker"})
    with whole_file(path) as part:
        table.write_csv(part, separator=_delimiter(path))


def read_truth(path: Path) -> dict[str, str]:
    """Item to true class, from the columns ``item, truth`` (or ``task, label``)."""
    rows = read_csv_rows(
        path, needed=(), progress=lambda done, total: None, delimiter=_delimiter(path)
    )
    items, _ = tidy_ids(rows.table[_named(path, rows.table, ITEM)])
    truths, _ = tidy_ids(rows.table[_named(path, rows.table, TRUTH)])
    found: dict[str, str] = {}
    for line, item, truth in zip(rows.lines, items, truths, strict=True):
        if item is None or truth is None:
            raise DataError(f"{path.name}, line {line}: the item or its truth is empty.")
        if found.setdefault(item, truth) != truth:
            raise DataError(
                f"{path.name}, line {line}: item {item!r} is {truth!r} here and {found[item]!r} "
                "in an earlier line; keep one."
            )
    return found


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() in (".tsv", ".tab") else ","


def _named(path: Path, table: pl.DataFrame, names: tuple[str, ...]) -> str:
    found = [name for name in names if name in table.columns]
    if len(found) != 1:
        state = "both columns" if found else "neither a column"
        joined = " and ".join(map(repr, names)) if found else " nor ".join(map(repr, names))
        raise DataError(
            f"{path.name} has {state} {joined}; it needs one of them. Its columns are "
            f"{', '.join(map(repr, table.columns[:20]))}."
        )
    return found[0]
