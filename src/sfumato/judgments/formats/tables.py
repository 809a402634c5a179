"""Read and write plain tables of votes: counts, a row per vote, or a column per annotator."""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import (
    NoAnswers,
    ReadOptions,
    choices_of,
    judgments_of_choices,
    read_csv_rows,
    refuse_second_labels,
    whole_file,
)
from sfumato.judgments.judgments import Judgments, RejectedRow, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.provenance import Provenance, Step, fingerprint_file

# Read NumPy files, and turn class numbers into choose-one answers.


def load_array(path: Path, *, dimensions: int) -> NDArray[Any]:
    """The array in a ``.npy`` file; pickled objects are refused, they could run code."""
    array = _load(path)
    if not isinstance(array, np.ndarray):
        raise DataError(f"{path.name} holds several arrays; expected one (.npy).")
    if array.ndim != dimensions or array.dtype.kind not in "biuf":
        raise DataError(
            f"{path.name} holds an array of {array.dtype} of shape {array.shape}; "
            f"expected numbers in {dimensions} dimension{'s' if dimensions > 1 else ''}."
        )
    return array


def load_arrays(path: Path, *, needed: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a ``.npz`` file by name."""
    stored = _load(path, needed)
    if isinstance(stored, np.ndarray):
        raise DataError(f"{path.name} holds one array; expected {', '.join(needed)} (.npz).")
    missing = [name for name in needed if name not in stored]
    if missing:
        raise DataError(
            f"{path.name} has no array {missing[0]!r}. Its arrays are {', '.join(stored)}."
        )
    return {name: stored[name] for name in needed}


def chosen_answers(classes: Sequence[str], chosen: NDArray[np.integer[Any]]) -> pl.Series:
    """The choose-one answers that pick ``classes[k]`` for each ``k`` in ``chosen``."""
    texts = pl.Series([json.dumps(name, ensure_ascii=False) for name in classes], dtype=pl.String)
    return texts.gather(chosen)


def _load(path: Path, needed: Sequence[str] = ()) -> Any:
    """One array, or those of an archive; where all that is needed is there, only that."""
    try:
        stored = np.load(path, allow_pickle=False)
        if isinstance(stored, np.ndarray):
            return stored
        with stored:
            wanted = needed if needed and set(needed) <= set(stored.files) else stored.files
            return {name: stored[name] for name in wanted}
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path.name} is not a NumPy file of numbers: {error}.") from None


# Turn a table of votes, items by classes, into choose-one judgments of unknown people.

MOST_VOTES = 200_000_000
"""More than this is something else: pixels, say."""


def read_counts(path: Path, options: ReadOptions) -> Judgments:
    """Read a ``.npy`` array of votes, or a CSV with a header of classes and a row per item.

    Without a column ``item``, items are called "0", "1", … in the order of the rows. The
    classes are those of the options, the CSV's header, or "0", "1", ….
    """
    return read_count_table(path, options, name="counts")


def read_count_table(path: Path, options: ReadOptions, *, name: str) -> Judgments:
    """Read votes as ``read_counts`` does, under the name of another format."""
    match path.suffix.lower():
        case ".npy":
            votes = _from_array(path, options.classes)
        case ".csv":
            votes = _from_csv(path, options)
        case other:
            raise DataError(f"{path.name} ends in {other!r}; a table of votes is .npy or .csv.")
    options.progress(len(votes.counts), len(votes.counts))
    step = Step(f"read {name}", {}, {path.name: fingerprint_file(path)})
    return judgments_of_counts(votes, file=path.name, provenance=(step,))


def judgments_of_counts(votes: "VoteTable", *, file: str, provenance: Provenance) -> Judgments:
    """Choose-one judgments of unknown people, as many as there are votes."""
    _refuse_probabilities(file, votes.counts)
    good, rejected = _set_aside(file, votes)
    counts = np.where(good[:, None], votes.counts, 0).astype(np.int64)  # (items, classes)
    if counts.sum() > MOST_VOTES:
        raise DataError(f"{file} would hold {counts.sum():,} votes; is it a table of votes?")
    row, column = np.nonzero(counts)
    times = counts[row, column]
    row, column = np.repeat(row, times), np.repeat(column, times)  # (votes,)
    silent = votes.items.filter(pl.Series(good & ~counts.any(axis=1)))
    remarks = [
        *votes.remarks,
        Remark("votes of unknown people", len(row)),
        Remark("items without any vote", len(silent), f"item {silent[0]}" if len(silent) else ""),
    ]
    return judgments_from(
        ask("choose-one", votes.classes),
        pl.DataFrame(
            {"item": votes.items.gather(row), "answer": chosen_answers(votes.classes, column)}
        ),
        file=file,
        lines=votes.lines[row],
        rejected=[*votes.rejected, *rejected],
        remarks=[remark for remark in remarks if remark.count],
        provenance=provenance,
    )


@dataclass(frozen=True)
class VoteTable:
    """What a table of votes says, before it is checked."""

    items: pl.Series
    classes: tuple[str, ...]
    counts: NDArray[np.float64]  # (items, classes), NaN: no number
    lines: NDArray[np.int64]  # (items,) line, or row from 1 in an array
    rejected: list[RejectedRow]
    remarks: tuple[Remark, ...] = ()


def _from_array(path: Path, classes: Sequence[str] | None) -> VoteTable:
    counts = load_array(path, dimensions=2).astype(np.float64)
    n_items, n_classes = counts.shape
    if classes is not None and len(classes) != n_classes:
        raise DataError(
            f"{path.name} has {n_classes} columns, but {len(classes)} classes are named: "
            f"{', '.join(classes)}."
        )
    return VoteTable(
        _numbers(np.arange(n_items)),
        tuple(classes or map(str, range(n_classes))),
        counts,
        np.arange(1, n_items + 1),
        [],
    )


def _from_csv(path: Path, options: ReadOptions) -> VoteTable:
    rows = read_csv_rows(
        path,
        needed=options.classes or (),
        progress=options.progress,
        delimiter=options.delimiter,
    )
    header = rows.table.columns
    classes = options.classes or tuple(name for name in header if name != "item")
    if len(classes) < 2:
        raise DataError(
            f"{path.name} has {len(classes)} columns of votes; "
            "expected at least two, one per class."
        )
    if "item" in header:
        items = rows.table["item"].fill_null("")
    else:
        # Rows that were set aside keep their number: an id never depends on other rows.
        every = np.sort([*rows.lines, *(row.line for row in rows.rejected)])
        items = _numbers(np.searchsorted(every, rows.lines))
    counts = rows.table.select(
        pl.col(name).cast(pl.Float64, strict=False).fill_null(np.nan) for name in classes
    ).to_numpy()
    lines = np.array(rows.lines, dtype=int)
    return VoteTable(items, tuple(classes), counts, lines, rows.rejected, rows.remarks)


def _numbers(values: NDArray[np.int64]) -> pl.Series:
    return pl.Series(values).cast(pl.String)


def _refuse_probabilities(file: str, counts: NDArray[np.float64]) -> None:
    parts = counts[np.isfinite(counts).all(axis=1)]
    if len(parts) and (parts % 1).any() and np.allclose(parts.sum(axis=1), 1, atol=1e-6):
        raise NoAnswers(
            f"{file} holds probabilities: each row sums to 1. That says nothing about how "
            "many people judged, so it holds no judgments. Read it as labels, or take the votes."
        )


def _set_aside(file: str, votes: VoteTable) -> tuple[NDArray[np.bool_], list[RejectedRow]]:
    with np.errstate(invalid="ignore"):  # NaN and infinity fail the comparison, as they should
        whole = (votes.counts >= 0) & (votes.counts % 1 == 0)  # (items, classes)
    named = (votes.items != "").to_numpy()
    rejected = []
    for row in np.flatnonzero(~(whole.all(axis=1) & named)):
        if not named[row]:
            rejected.append(RejectedRow(file, int(votes.lines[row]), "item", "no item", ""))
            continue
        column = int(np.flatnonzero(~whole[row])[0])
        found = f"{votes.counts[row, column]:g}"
        reason = "not a number of votes, 0 or more"
        line, field = int(votes.lines[row]), votes.classes[column]
        rejected.append(RejectedRow(file, line, field, reason, found))
    return whole.all(axis=1) & named, rejected


# Read and write the tidy table of crowd-kit: one row per vote, ``task, worker, label``.
#
# The classical crowdsourcing sets call the task ``item``; cleanlab calls the worker
# ``annotator``.

ITEM = ("task", "item")
WORKER = ("worker", "annotator")


def read_crowd(path: Path, options: ReadOptions) -> Judgments:
    """Read ``task, worker, label`` as choose-one judgments; ``.tsv`` is tab-separated.

    The classes are those of the options, otherwise the different labels in natural order.
    """
    rows = read_csv_rows(
        path, needed=["label"], progress=options.progress, delimiter=options.delimiter
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
        remarks=rows.remarks,
        options=options,
        format_name="crowd",
    )


def write_crowd(judgments: Judgments, path: Path) -> None:
    """Write choose-one judgments as ``task,worker,label``; times and order do not fit in."""
    table = choices_of(judgments, "crowd").rename({"item": "task", "annotator": "worker"})
    with whole_file(path) as part:
        table.write_csv(part, separator=_delimiter(path))


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


# Read and write cleanlab's wide table: one row per item, one column per annotator.

WIDE_ITEM = ("item", "task", "index", "column 0")
"""Names of the first column; pandas leaves that of its index empty."""

MISSING = ("nan", "NaN", "<NA>")
"""What pandas and NumPy write for a label that was not given, besides nothing."""

_ROW, _PERSON, _LABEL = "\0row", "\0person", "\0label"  # no annotator is called so


def read_cleanlab(path: Path, options: ReadOptions) -> Judgments:
    """Read a wide table as choose-one judgments; an empty field is a label not asked for."""
    rows = read_csv_rows(path, needed=(), progress=options.progress, delimiter=options.delimiter)
    first, *people = rows.table.columns
    if first not in WIDE_ITEM:
        raise DataError(
            f"The first column of {path.name} is {first!r}; expected the items, in a column called "
            "'item', 'task', 'index' or nothing, then one column per annotator."
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
        remarks=[*rows.remarks, *remarks],
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
