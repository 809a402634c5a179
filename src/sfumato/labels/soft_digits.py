"""Labels and uncertainties in the columns of the soft-digits dataset (S4-55).

Reads such a file into two ``LabelSet``s and the human uncertainty of each item, and writes
the same columns from yes/no/unsure judgments, so that either side can use the other's tools.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.build import build, codes
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import mean_uncertainty, unsure_proportion
from sfumato.provenance import Step, fingerprint_file

WEIGHTINGS = ("yes-unsure-weighted", "yes-unsure-equal")
"""The recipes of the two kinds of label: an unsure answer counts half, or like a yes."""

NEEDED = ("indices", "soft_label", "soft_label_yes_unc_equal")


@dataclass(frozen=True, eq=False)
class SoftDigits:
    """What people saw in each image, in both weightings, and how unsure they were."""

    weighted: LabelSet
    """Column ``soft_label``: an unsure answer counts half."""
    equal: LabelSet
    """Column ``soft_label_yes_unc_equal``: it counts like a yes."""
    uncertainty: NDArray[np.float64]
    """Column ``human_uncert_mean``: mean share of classes an annotator was unsure about."""
    unsure: NDArray[np.float64]
    """Column ``pct_ann_unsure``: share of annotators who were unsure at all, from 0 to 1."""
    original: tuple[str | None, ...] = ()
    """Column ``original_labels``, where known; of a distribution its most probable class."""
    response: NDArray[np.float64] | None = None
    """Column ``response_time``, which the release has not: the mean logarithm of seconds."""


def from_judgments(judgments: Judgments) -> SoftDigits:
    """Both weightings and uncertainties from yes/no/unsure answers (S4-09, S4-10, S4-46…48)."""
    chosen = select(judgments)
    weighted, equal = (build(chosen, name).crowd.mean() for name in WEIGHTINGS)
    stated = chosen.statements
    items, item = codes(chosen.table["item"])
    unsure = stated.unsure[stated.index]
    everywhere = [place for place, name in enumerate(items) if name in set(weighted.items)]
    return SoftDigits(
        weighted,
        equal,
        mean_uncertainty(unsure, item, len(items))[everywhere],
        unsure_proportion(unsure, item, len(items))[everywhere],
        response=response_times(chosen, weighted.items),
    )


def response_times(judgments: Judgments, items: Sequence[str]) -> NDArray[np.float64] | None:
    """The mean logarithm of the seconds that answers about each item took; None without times.

    Times are skewed, so the mean is that of their logarithms; NaN where an item has none.
    """
    timed = judgments.table.filter(pl.col("seconds") > 0)
    means = timed.group_by("item", maintain_order=True).agg(pl.col("seconds").log().mean())
    known = dict(zip(means["item"], means["seconds"], strict=True))
    return np.array([known.get(item, np.nan) for item in items]) if known else None


def write_soft_digits(
    labels: SoftDigits,
    path: Path,
    *,
    images: Mapping[str, NDArray[np.uint8]] | None = None,
    original: LabelSet | None = None,
    split: Mapping[str, str] | None = None,
    source: str | None = None,
) -> None:
    """Write the columns as Parquet (lists) or CSV (lists as JSON text).

    ``images`` (height × width, grey), the ``original`` labels, the ``split`` ("train", "val" or
    "test") of each item and the ``source`` of all ("mnist" or "mukhoti") are written too where they
    are given: the study ``digits-audit`` needs all but the split.
    """
    items = labels.weighted.items
    top = labels.weighted.probs.argmax(axis=1)
    columns: dict[str, Any] = {"images": None, "original_labels": None}
    if images is not None:
        columns["images"] = [np.squeeze(images[item]).tolist() for item in items]
    if original is not None:
        columns["original_labels"] = original.take(items).probs.tolist()
    elif labels.original:
        columns["original_labels"] = list(labels.original)
    columns |= {
        "indices": items,
        "file_name": [f"{item}.png" for item in items],
        "human_uncert_mean": labels.uncertainty,
        "pct_ann_unsure": labels.unsure,
        "soft_label_yes_unc_equal": labels.equal.probs.tolist(),
        "soft_label": labels.weighted.probs.tolist(),
        "soft_label_argmax": np.eye(len(labels.weighted.classes))[top].tolist(),
        "split": None if split is None else [split[item] for item in items],
        "source": None if source is None else [source] * len(items),
        "response_time": labels.response,
    }
    found = pl.DataFrame({name: values for name, values in columns.items() if values is not None})
    match path.suffix:
        case ".parquet":
            found.write_parquet(path)
        case ".csv":
            texts = [
                pl.Series(name, [json.dumps(row) for row in found[name].to_list()])
                for name, kind in found.schema.items()
                if kind == pl.List
            ]
            found.with_columns(texts).write_csv(path)
        case _:
            raise DataError(
                f"soft-digits columns are written as .parquet or .csv, not {path.name!r}."
            )


def read_soft_digits(path: Path, *, classes: tuple[str, ...] | None = None) -> SoftDigits:
    """Read the columns; classes default to the digits and, with eleven columns, "none of these"."""
    read = read_table(path)
    table = read.columns
    missing = [name for name in NEEDED if name not in table.columns]
    if missing:
        raise DataError(
            f"{path.name} has no column {missing[0]!r}; soft-digits files need {NEEDED}."
        )
    items = [str(name) for name in table["indices"].to_list()]
    step = Step("read soft-digits", {}, {path.name: read.fingerprint})
    sets = []
    for column in ("soft_label", "soft_label_yes_unc_equal"):
        rows = np.array(
            [_row(path, at, column, row) for at, row in enumerate(table[column].to_list())]
        )
        names = classes or _default_classes(rows.shape[1])
        sets.append(LabelSet(tuple(items), names, rows, provenance=(step,)))
    numbers = [
        table[name].cast(pl.Float64).to_numpy()
        if name in table.columns
        else np.full(len(items), np.nan)
        for name in ("human_uncert_mean", "pct_ann_unsure")
    ]
    known = (
        [_original(value) for value in table["original_labels"].to_list()]
        if "original_labels" in table.columns
        else []
    )
    response = None
    if "response_time" in table.columns:
        response = table["response_time"].cast(pl.Float64).to_numpy()
    return SoftDigits(sets[0], sets[1], numbers[0], numbers[1], tuple(known), response)


@dataclass(frozen=True, eq=False)
class DigitsTable:
    """The columns of a file, whatever they are, and the SHA-256 of its content."""

    columns: pl.DataFrame
    fingerprint: str


def read_table(path: Path) -> DigitsTable:
    """All columns of a Parquet or CSV file, read once as long as the file does not change.

    Pictures, sources and labels are taken from it one after the other.
    """
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    known = path.stat()
    return _read_once(path.resolve(), known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=1)
def _read_once(path: Path, modified: int, size: int) -> DigitsTable:
    try:
        with path.open("rb") as file:
            is_parquet = path.suffix == ".parquet" or file.read(4) == b"PAR1"
        columns = pl.read_parquet(path) if is_parquet else pl.read_csv(path)
        return DigitsTable(columns, fingerprint_file(path))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path.name} cannot be read: {str(error).splitlines()[0]}.") from None


def _original(value: Any) -> str | None:
    if isinstance(value, list):  # the distribution of a synthetic picture
        return str(int(np.argmax(value)))
    return None if value is None else str(value)


def _row(path: Path, at: int, column: str, value: Any) -> list[float]:
    if not isinstance(value, str):
        return list(value)
    try:
        return [float(number) for number in value.strip("[] \n").replace(",", " ").split()]
    except ValueError:
        raise DataError(
            f"{path.name}, row {at + 1}, column {column!r}: {value[:40]!r} is no list of numbers."
        ) from None


def _default_classes(width: int) -> tuple[str, ...]:
    digits = tuple(map(str, range(10)))
    return (*digits, "none of these") if width == 11 else tuple(map(str, range(width)))
