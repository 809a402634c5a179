"""Read and write ``MixJudgments`` as a CSV file with the columns of ``MIX_COLUMNS``."""

import math
from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.beside import read_beside, write_beside
from sfumato.judgments.formats.checking import (
    by_line,
    empty,
    no_number,
    no_whole_number,
    no_word,
    people,
    sound_rows,
)
from sfumato.judgments.formats.reading import ReadOptions, read_csv_rows
from sfumato.judgments.formats.writing import refuse_platform_ids, whole_file
from sfumato.judgments.judgments import VIEWS
from sfumato.judgments.mixes import MIX_COLUMNS, MIX_TASKS, MixJudgments
from sfumato.provenance import Step, fingerprint_file

__all__ = ["read_mixes", "write_mixes"]

SHARES = ("shown", "perceived", "confidence")
NEEDED = ("mix", "perceived", "task")


def read_mixes(path: Path, options: ReadOptions) -> MixJudgments:
    """Read mix judgments; columns besides mix, perceived and task may be missing or empty."""
    rows = read_csv_rows(path, needed=NEEDED, progress=options.progress)
    absent = [name for name in MIX_COLUMNS if name not in rows.table.columns]
    given = rows.table.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
    flaws = [
        *(empty(given, name) for name in NEEDED),
        *(no_number(given, name, low=0, high=1) for name in SHARES),
        no_number(given, "seconds", low=0, high=math.inf),
        no_whole_number(given, "order"),
        no_word(given, "view", VIEWS),
        no_word(given, "task", list(MIX_TASKS)),
    ]
    names, remarks = people(given["annotator"], options.key)
    kept, _, rejected = sound_rows(
        given.with_columns(names.alias("annotator")), flaws, lines=rows.lines, file=path.name
    )
    _, earlier = read_beside(path)
    step = Step("read mixes", {}, {path.name: fingerprint_file(path)})
    return MixJudgments(
        kept.select(*MIX_COLUMNS),
        by_line(rows.rejected, rejected),
        tuple(remarks),
        (*earlier, step),
    )


def write_mixes(mixes: MixJudgments, path: Path) -> None:
    """Write mix judgments as CSV, and beside it as JSON what was asked and the provenance.

    Rows that were set aside are not written.
    """
    if path.suffix.lower() != ".csv":
        raise DataError(f"Mix judgments are written as .csv, not as {path.name!r}.")
    refuse_platform_ids(mixes.table)
    with whole_file(path) as part:
        mixes.table.write_csv(part)
    asked = {task: MIX_TASKS[task] for task in mixes.table["task"].unique().sort()}
    write_beside(path, {"kind": "mixes", "wording": asked}, mixes.provenance)
