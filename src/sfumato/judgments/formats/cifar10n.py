"""Turn CIFAR-10N, three hard labels for each CIFAR-10 training image, into judgments."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.arrays import chosen_answers, load_arrays
from sfumato.judgments.formats.checking import people
from sfumato.judgments.formats.class_names import CIFAR10
from sfumato.judgments.formats.reading import ReadOptions, read_csv_rows
from sfumato.judgments.judgments import Judgments, Rejected, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.provenance import Step, fingerprint_file

__all__ = ["SIDE_FILE", "read_cifar10n"]

SIDE_FILE = "side_info_cifar10N.csv"
"""Who labelled which batch of ten images, and how long it took; read when it lies beside."""

BATCH = 10
LABELLERS = (1, 2, 3)


def read_cifar10n(path: Path, options: ReadOptions) -> Judgments:
    """Read ``cifar10n-labels.npz`` and, when it lies beside, ``side_info_cifar10N.csv``.

    An item is the official index of a training image. The side file gives each judgment a
    worker and a tenth of the seconds of its batch, as the release describes it.

    Careful with the workers: in the release their errors are spread as if workers had been
    dealt out at random (747 workers, yet no more variance between workers or batches than
    chance gives), so the batches cannot be in the order of the labels. Do not rest a claim
    about single workers on them; the reader repeats this as a remark.
    """
    classes = options.classes or CIFAR10
    given, truth = _labels(path)
    n_items = len(given)
    image = np.repeat(np.arange(n_items), len(LABELLERS))  # (judgments,)
    chosen = given.ravel()  # (judgments,)
    good = np.isin(chosen, np.arange(len(classes)))
    beside = path.with_name(SIDE_FILE)
    side = _read_side(beside, n_items, options) if beside.exists() else _Side(pl.DataFrame())
    table = pl.DataFrame(
        {"item": pl.Series(image).cast(pl.String), "gold": _names(classes, truth).gather(image)}
    ).with_columns(side.columns)
    return judgments_from(
        ask("choose-one", classes),
        table.filter(pl.Series(good)).with_columns(answer=chosen_answers(classes, chosen[good])),
        file=path.name,
        lines=image[good] + 1,
        rejected=[*side.rejected, *_unknown_classes(path, chosen, good)],
        remarks=side.remarks,
        provenance=(
            Step(
                "read cifar10n",
                {},
                {file.name: fingerprint_file(file) for file in (path, beside) if file.exists()},
            ),
        ),
    )


@dataclass(frozen=True)
class _Side:
    """What the side file adds: ``annotator`` and ``seconds`` of each judgment."""

    columns: pl.DataFrame
    remarks: tuple[Remark, ...] = ()
    rejected: tuple[Rejected, ...] = ()


def _labels(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    needed = ["clean_label", *(f"random_label{place}" for place in LABELLERS)]
    arrays = load_arrays(path, needed=needed)
    shapes = {array.shape for array in arrays.values()}
    numbers = all(array.dtype.kind in "iu" and array.ndim == 1 for array in arrays.values())
    if len(shapes) > 1 or not numbers:
        raise DataError(
            f"The arrays {', '.join(needed)} of {path.name} must be lists of class numbers of "
            "one length."
        )
    truth, *given = (arrays[name].astype(np.int64) for name in needed)
    return np.stack(given, axis=1), truth  # (items, labellers), (items,)


def _names(classes: Sequence[str], numbers: NDArray[np.int64]) -> pl.Series:
    known = dict(enumerate(classes))
    return pl.Series([known.get(number) for number in numbers.tolist()], dtype=pl.String)


def _unknown_classes(
    path: Path, chosen: NDArray[np.int64], good: NDArray[np.bool_]
) -> list[Rejected]:
    rejected = []
    for at in np.flatnonzero(~good):
        image, place = divmod(int(at), len(LABELLERS))
        field, text = f"random_label{place + 1}", str(chosen[at])
        rejected.append(Rejected(path.name, image + 1, field, "not the number of a class", text))
    return rejected


def _read_side(path: Path, n_items: int, options: ReadOptions) -> _Side:
    fields = [(f"Worker{place}-id", f"Work-time-in-seconds-{place}") for place in LABELLERS]
    needed = ["Image-batch", *(name for pair in fields for name in pair)]
    rows = read_csv_rows(path, needed=needed, progress=options.progress)
    annotator = np.full((n_items, len(LABELLERS)), None, dtype=object)
    seconds = np.full((n_items, len(LABELLERS)), np.nan)
    rejected = list(rows.rejected)
    for line, row in zip(rows.lines, rows.table.iter_rows(named=True), strict=True):
        batch = _batch(row["Image-batch"], n_items)
        if batch is None:
            reason = f"not a range of images such as 0--{BATCH - 1}"
            rejected.append(
                Rejected(path.name, line, "Image-batch", reason, row["Image-batch"] or "")
            )
            continue
        for place, (worker, time) in enumerate(fields):
            annotator[batch, place] = row[worker]
            seconds[batch, place] = _seconds(row[time]) / (batch.stop - batch.start)
    workers, replaced = people(pl.Series(annotator.ravel(), dtype=pl.String), options.key)
    columns = pl.DataFrame(
        {"annotator": workers, "seconds": pl.Series(seconds.ravel(), nan_to_null=True)}
    )
    unlike = Remark(
        "workers of batches that, in the release, do not line up with the labels",
        len(workers) - workers.null_count(),
    )
    return _Side(columns, (unlike, *replaced), tuple(rejected))


def _batch(text: str | None, n_items: int) -> slice | None:
    ends = re.fullmatch(r"([0-9]+)--([0-9]+)", text or "")
    if ends is None or not int(ends[1]) <= int(ends[2]) < n_items:
        return None
    return slice(int(ends[1]), int(ends[2]) + 1)


def _seconds(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan
