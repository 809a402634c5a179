"""Turn the released CIFAR-10H files into judgments: the counts, or the raw annotator rows."""

import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.checking import Flaw, empty, people, sound_rows
from sfumato.judgments.formats.class_names import CIFAR10
from sfumato.judgments.formats.counts import read_count_table
from sfumato.judgments.formats.reading import ReadOptions, clean_id, read_csv_rows
from sfumato.judgments.judgments import Judgments, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.provenance import Step, fingerprint_file

__all__ = ["read_cifar10h"]

COLUMNS = (
    "annotator_id",
    "trial_index",
    "is_attn_check",
    "true_category",
    "chosen_category",
    "cifar10_test_test_idx",
    "image_filename",
    "reaction_time",
)
"""The columns of ``cifar10h-raw.csv`` that are read."""


def read_cifar10h(path: Path, options: ReadOptions) -> Judgments:
    """Read ``cifar10h-counts.npy``, ``cifar10h-raw.csv`` or the zip archive of the latter.

    An item is the official index of an image of the CIFAR-10 test set. In the raw rows an
    attention check has no index; its item is "check/" and the name of its image.
    """
    named = replace(options, classes=options.classes or CIFAR10)
    match path.suffix.lower():
        case ".npy":
            return read_count_table(path, named, name="cifar10h")
        case ".csv":
            return _read_rows(path, named, archive=path)
        case ".zip":
            return _read_archive(path, named)
        case other:
            raise DataError(
                f"{path.name} ends in {other!r}; CIFAR-10H comes as cifar10h-counts.npy, "
                "cifar10h-raw.csv or cifar10h-raw.zip."
            )


def _read_archive(path: Path, options: ReadOptions) -> Judgments:
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
            tables = [
                name
                for name in archive.namelist()
                if name.endswith(".csv") and not name.startswith("__MACOSX")
            ]
            if len(tables) != 1:
                raise DataError(f"{path.name} holds {len(tables)} CSV files; expected one.")
            return _read_rows(Path(archive.extract(tables[0], folder)), options, archive=path)
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
    except zipfile.BadZipFile as error:
        raise DataError(f"{path.name} is not a zip archive: {error}.") from None


def _read_rows(path: Path, options: ReadOptions, *, archive: Path) -> Judgments:
    rows = read_csv_rows(path, needed=COLUMNS, progress=options.progress)
    annotators, replaced = people(rows.table["annotator_id"], options.key)
    index, _ = clean_id(rows.table["cifar10_test_test_idx"])
    check = pl.col("is_attn_check").str.to_lowercase().is_in(["1", "1.0", "true"])
    chosen = pl.col("chosen_category").str.to_lowercase()
    gold = pl.col("true_category").str.to_lowercase()
    seconds = pl.col("reaction_time").cast(pl.Float64, strict=False) / 1000
    table = rows.table.with_columns(index.alias("index")).select(
        pl.when(check).then("check/" + pl.col("image_filename")).otherwise("index").alias("item"),
        annotators.alias("annotator"),
        ('"' + chosen + '"').alias("answer"),
        pl.when(seconds > 0).then(seconds).alias("seconds"),
        (pl.col("trial_index").cast(pl.Int64, strict=False) + 1).alias("order"),
        pl.when(check).then(pl.lit("check")).otherwise(pl.lit("first")).alias("view"),
        pl.when(gold.is_in(list(options.classes or ()))).then(gold).alias("gold"),
    )
    impossible = rows.table.select(seconds <= 0).to_series().sum()
    unknown = ~table["item"].str.contains(r"^([0-9]+$|check/)").fill_null(False)
    flaws = [
        Flaw("cifar10_test_test_idx", "not the index of an image", index, unknown),
        empty(rows.table, "chosen_category"),
    ]
    table, lines, rejected = sound_rows(table, flaws, lines=rows.lines, file=path.name)
    remarks = [
        Remark("attention checks among first views", int((table["view"] == "check").sum())),
        Remark("reaction times of 0 or less, left out", int(impossible)),
        *replaced,
    ]
    return judgments_from(
        ask("choose-one", options.classes or CIFAR10),
        table,
        file=path.name,
        lines=lines,
        rejected=[*rows.rejected, *rejected],
        remarks=[remark for remark in remarks if remark.count],
        provenance=(Step("read cifar10h", {}, {archive.name: fingerprint_file(archive)}),),
    )
