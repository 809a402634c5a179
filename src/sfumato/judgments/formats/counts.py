"""Turn a table of votes, items by classes, into choose-one judgments of unknown people."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.arrays import chosen_answers, load_array
from sfumato.judgments.formats.reading import ReadOptions, read_csv_rows
from sfumato.judgments.judgments import Judgments, Rejected, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.provenance import Step, fingerprint_file

__all__ = ["read_count_table", "read_counts"]

MOST_VOTES = 200_000_000
"""More than this is something else: pixels, say."""


def read_counts(path: Path, options: ReadOptions) -> Judgments:
    """Read a ``.npy`` array of votes, or a CSV with a header of classes and a row an item.

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
    _refuse_probabilities(path, votes.counts)
    good, rejected = _set_aside(path, votes)
    counts = np.where(good[:, None], votes.counts, 0).astype(np.int64)  # (items, classes)
    if counts.sum() > MOST_VOTES:
        raise DataError(f"{path.name} would hold {counts.sum():,} votes; is it a table of votes?")
    row, column = np.nonzero(counts)
    times = counts[row, column]
    row, column = np.repeat(row, times), np.repeat(column, times)  # (votes,)
    options.progress(len(counts), len(counts))
    silent = votes.items.filter(pl.Series(good & ~counts.any(axis=1)))
    remarks = [
        Remark("votes of unknown people", len(row)),
        Remark("items without any vote", len(silent), f"item {silent[0]}" if len(silent) else ""),
    ]
    return judgments_from(
        ask("choose-one", votes.classes),
        pl.DataFrame(
            {"item": votes.items.gather(row), "answer": chosen_answers(votes.classes, column)}
        ),
        file=path.name,
        lines=votes.lines[row],
        rejected=[*votes.rejected, *rejected],
        remarks=[remark for remark in remarks if remark.count],
        provenance=(Step(f"read {name}", {}, {path.name: fingerprint_file(path)}),),
    )


@dataclass(frozen=True)
class _Votes:
    """What a file says, before it is checked."""

    items: pl.Series
    classes: tuple[str, ...]
    counts: NDArray[np.float64]  # (items, classes), NaN: no number
    lines: NDArray[np.int64]  # (items,) line, or row from 1 in an array
    rejected: list[Rejected]


def _from_array(path: Path, classes: Sequence[str] | None) -> _Votes:
    counts = load_array(path, dimensions=2).astype(np.float64)
    n_items, n_classes = counts.shape
    if classes is not None and len(classes) != n_classes:
        raise DataError(
            f"{path.name} has {n_classes} columns, but {len(classes)} classes are named: "
            f"{', '.join(classes)}."
        )
    return _Votes(
        _numbers(np.arange(n_items)),
        tuple(classes or map(str, range(n_classes))),
        counts,
        np.arange(1, n_items + 1),
        [],
    )


def _from_csv(path: Path, options: ReadOptions) -> _Votes:
    rows = read_csv_rows(path, needed=options.classes or (), progress=options.progress)
    header = rows.table.columns
    classes = options.classes or tuple(name for name in header if name != "item")
    if len(classes) < 2:
        raise DataError(
            f"{path.name} has {len(classes)} columns of votes; expected at least two, one a class."
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
    return _Votes(items, tuple(classes), counts, np.array(rows.lines, dtype=int), rows.rejected)


def _numbers(values: NDArray[np.int64]) -> pl.Series:
    return pl.Series(values).cast(pl.String)


def _refuse_probabilities(path: Path, counts: NDArray[np.float64]) -> None:
    parts = counts[np.isfinite(counts).all(axis=1)]
    if len(parts) and (parts % 1).any() and np.allclose(parts.sum(axis=1), 1, atol=1e-6):
        raise DataError(
            f"{path.name} holds probabilities: each row sums to 1. That says nothing about how "
            "many people judged, so it holds no judgments. Read it as labels, or take the votes."
        )


def _set_aside(path: Path, votes: _Votes) -> tuple[NDArray[np.bool_], list[Rejected]]:
    with np.errstate(invalid="ignore"):  # NaN and infinity fail the comparison, as they should
        whole = (votes.counts >= 0) & (votes.counts % 1 == 0)  # (items, classes)
    named = (votes.items != "").to_numpy()
    rejected = []
    for row in np.flatnonzero(~(whole.all(axis=1) & named)):
        if not named[row]:
            rejected.append(Rejected(path.name, int(votes.lines[row]), "item", "no item", ""))
            continue
        column = int(np.flatnonzero(~whole[row])[0])
        found = f"{votes.counts[row, column]:g}"
        reason = "not a number of votes, 0 or more"
        line, field = int(votes.lines[row]), votes.classes[column]
        rejected.append(Rejected(path.name, line, field, reason, found))
    return whole.all(axis=1) & named, rejected
