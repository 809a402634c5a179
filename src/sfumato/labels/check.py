"""Check any file of our format: recognise what it holds, and say all that is wrong with it.

Labels and predictions are the same table, ``item`` and one column per class. Labels stand for
what people said and sum to one exactly; predictions may be rounded, and may be arrays.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.check import (
    Contents,
    FileCheck,
    Problems,
    check_judgments,
    note_platform_ids,
    note_steps,
    show_value,
)
from sfumato.judgments.formats.hf import DATA, JUDGMENTS, LABELS
from sfumato.judgments.formats.own import question_file
from sfumato.judgments.formats.reading import open_text, read_csv_rows
from sfumato.labels.files import is_each_class, is_sparse
from sfumato.labels.labelset import SUM_TOLERANCE
from sfumato.labels.tables import digits_of, normalise, read_arrays
from sfumato.names import find, format_count

IDS = ("item", "annotator")
"""The columns of a table of labels that are not classes."""

HEAD = 100
"""Rows that are looked at to recognise a file."""


def check(path: str | Path, holds: str | None = None) -> FileCheck:
    """Check a file of judgments, labels or predictions, or a folder that was published.

    What the file holds is recognised unless ``holds`` says it, a name of ``CHECKS``. What cannot
    be read at all is a problem too; only a file that is not there, or of an unknown kind, is an
    error.
    """
    path = Path(path)
    if path.is_dir():
        return _check_folder(path)
    if not path.is_file():
        raise DataError(f"There is no file {path}. Check the name and the folder.")
    return find(CHECKS, holds or recognise(path), what="kind of contents")(path)


def check_labels(path: Path) -> FileCheck:
    """Check a table of labels, one row per item or per judgment, and the JSON beside it."""
    return _check_rows(path, "labels")


def check_predictions(path: Path) -> FileCheck:
    """Check what a model believes, a table or an archive of arrays."""
    return _check_rows(path, "predictions")


CHECKS: dict[str, Callable[[Path], FileCheck]] = {
    "judgments": check_judgments,
    "labels": check_labels,
    "predictions": check_predictions,
}
"""What a file can be checked as."""


def recognise(path: Path) -> Contents:
    """What a file holds, by its ending, by what lies beside it, and by its columns."""
    match path.suffix.lower():
        case ".npz" | ".npy":
            return "predictions"
        case ".jsonl":
            return "judgments"
        case ".csv" | ".parquet":
            pass
        case other:
            raise DataError(
                f"{path.name} ends in {other!r}; judgments are .parquet, .jsonl or .csv, labels "
                ".parquet or .csv, predictions .parquet, .csv or .npz."
            )
    if question_file(path).is_file():
        return "judgments"
    if _beside(path).is_file():
        return "labels" if _stands_for_people(path) else "predictions"
    head = _head(path)
    if "answer" in head.columns or "item" not in head.columns:
        return "judgments"
    return "labels" if any(_has_numbers(head[name]) for name in head.columns) else "judgments"


def draw_badge(checked: FileCheck) -> str:
    """A small picture (SVG) that says whether the file is valid, to be shown beside it."""
    word, colour = ("valid", "#2e7d32") if checked.valid else ("not valid", "#b3261e")
    left, right = 58, 12 + 7 * len(word)
    title = escape(f"sfumato: {checked.verdict}")
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" \
role="img" aria-label="{title}">
<title>{title}</title>
<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)">
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
</g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{left / 2}" y="14">sfumato</text>
<text x="{left + right / 2}" y="14">{word}</text>
</g>
</svg>
"""


@dataclass(frozen=True)
class _Table:
    """The rows of a table of labels as they stand in the file."""

    table: pl.DataFrame
    lines: Sequence[int]
    classes: tuple[str, ...]


def _check_folder(folder: Path) -> FileCheck:
    """The files of a published folder, with the judgments' verdict for all."""
    data = folder / DATA
    if not (data / JUDGMENTS).is_file():
        raise DataError(
            f"{folder.name} holds no {DATA}/{JUDGMENTS}; a published folder has one. Check the "
            "name, or check its files one by one."
        )
    judgments = check_judgments(data / JUDGMENTS)
    problems = judgments.problems
    if (data / LABELS).is_file():
        problems += check_labels(data / LABELS).problems
    return replace(judgments, file=folder.name, problems=problems)


def _check_rows(path: Path, holds: Contents) -> FileCheck:
    problems = Problems()
    weights, simulated = _check_beside(path, problems)
    try:
        stored = _read(path, problems)
    except DataError as error:
        problems.note_file(path.name, error)
        stored = _Table(pl.DataFrame(schema={"item": pl.String}), (), ())
    else:
        _note_items(path, stored, holds, problems)
        note_platform_ids(stored.table, stored.lines, path.name, problems)
        _note_rows(path, stored, holds, problems)
        if weights is not None and weights != len(stored.table):
            problems.note(
                _beside(path).name,
                None,
                "judgments",
                found=format_count(weights, "number"),
                expected=f"one number per row of {path.name}, {len(stored.table):,}",
            )
    table = stored.table
    return FileCheck(
        file=path.name,
        holds=holds,
        rows=len(table),
        items=table["item"].drop_nulls().n_unique(),
        people=table["annotator"].drop_nulls().n_unique() if "annotator" in table.columns else 0,
        classes=len(stored.classes),
        simulated=simulated,
        problems=problems.in_order(),
        advice=(),
    )


def _read(path: Path, problems: Problems) -> _Table:
    match path.suffix.lower():
        case ".npz" | ".npy":
            return _read_array(path)
        case ".csv":
            rows = read_csv_rows(path, needed=("item",), progress=lambda done, total: None)
            for row in rows.rejected:
                expected = "a row with a value for every column"
                problems.note(row.file, row.line, "", found=row.reason, expected=expected)
            table, lines = rows.table, rows.lines
        case ".parquet":
            table = _read_parquet(path)
            lines = list(range(1, len(table) + 1))
        case other:
            raise DataError(f"{path.name} ends in {other!r}; expected .parquet, .csv or .npz.")
    if is_sparse(table):
        named = _read_beside(path, Problems()).get("classes") if _beside(path).is_file() else None
        held = table["classes"].explode().drop_nulls().unique().sort().to_list()
        return _Table(table, lines, tuple(named or held))
    for name in table.columns:
        if table.schema[name].is_nested() or table.schema[name] in (pl.Binary, pl.Object):
            raise DataError(
                f"Column {name!r} of {path.name} holds {table.schema[name]}; expected texts in "
                "item and annotator, and numbers in all others."
            )
    ids = [pl.col(name).cast(pl.String) for name in IDS if name in table.columns]
    classes = tuple(name for name in table.columns if name not in IDS)
    return _Table(table.with_columns(ids), lines, classes)


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error) or "it is damaged").splitlines()[0][:200]
        raise DataError(f"{path.name} cannot be read as Parquet ({reason}).") from None
    if "item" not in table.columns:
        found = ", ".join(map(repr, table.columns[:20])) or "none"
        raise DataError(f"{path.name} has no column 'item'; its columns are {found}.")
    return table


def _read_array(path: Path) -> _Table:
    """An archive as the table that it stands for; it has to name its items and classes."""
    stored = read_arrays(path)
    probs = stored.get("probs")
    if probs is None or probs.ndim != 2 or probs.dtype.kind not in "fiu":
        raise DataError(
            f"{path.name} holds {', '.join(sorted(stored)) or 'nothing'}; expected numbers 'probs' "
            "of shape (items, classes), and the names 'items' and 'classes'."
        )
    for name, count in zip(("items", "classes"), probs.shape, strict=True):
        if name not in stored or stored[name].shape != (count,):
            found = f"{name} of shape {stored[name].shape}" if name in stored else f"no {name!r}"
            raise DataError(
                f"{path.name} holds {found}; expected {count:,} names in {name!r}: a published "
                "array says which item each row is, and which class each column."
            )
    classes = tuple(map(str, stored["classes"].tolist()))
    twice = [name for name in classes if classes.count(name) > 1 or name in IDS]
    if twice:
        raise DataError(f"{path.name} has a class {twice[0]!r}, which is there twice or reserved.")
    columns = {name: probs[:, place] for place, name in enumerate(classes)}
    table = pl.DataFrame({"item": list(map(str, stored["items"].tolist())), **columns})
    return _Table(table, range(1, len(table) + 1), classes)


def _note_items(path: Path, stored: _Table, holds: Contents, problems: Problems) -> None:
    """Every row has an item; an item has one row, unless the rows are people's."""
    table, lines = stored.table, stored.lines
    if not len(table):
        problems.note(path.name, None, "", found="no row", expected="one row per item")
    empty = (table["item"].is_null() | (table["item"] == "")).arg_true()
    if len(empty):
        line = lines[empty[0]]
        expected = "the id of an item"
        problems.note(path.name, line, "item", found="nothing", expected=expected, count=len(empty))
    if holds == "labels" and "annotator" in table.columns:
        return
    again = (~table["item"].is_first_distinct() & table["item"].is_not_null()).arg_true()
    if len(again):
        expected = "one row per item"
        if holds == "labels":
            expected += ", or a column 'annotator' if the rows are labels of single people"
        found = f"{table['item'][again[0]]!r}, which has a row already"
        line = lines[again[0]]
        problems.note(path.name, line, "item", found=found, expected=expected, count=len(again))


def _note_rows(path: Path, stored: _Table, holds: Contents, problems: Problems) -> None:
    """Every cell is a number from 0 to 1, and every row sums to one unless classes stand alone."""
    if not stored.classes:
        problems.note(path.name, None, "", found="no class", expected="one column per class")
        return
    table = stored.table
    if is_sparse(table):
        _note_sparse(path, stored, problems)
        return
    held = [table[name] for name in stored.classes]  # by name: a class may be called '*'
    numbers = pl.DataFrame([column.cast(pl.Float64, strict=False) for column in held])
    sound = np.ones(len(table), dtype=np.bool_)
    alone = is_each_class(path)
    for name in stored.classes:
        right = (numbers[name].is_between(-0.0, 1 + SUM_TOLERANCE)).fill_null(False).to_numpy()
        if alone:  # nobody need have been asked
            right |= table[name].is_null().to_numpy()
        sound &= right
        wrong = np.flatnonzero(~right)
        if len(wrong):
            given = table[name][int(wrong[0])]
            found = "nothing" if given is None else repr(given)
            line = stored.lines[int(wrong[0])]
            expected = "a number from 0 to 1"
            problems.note(path.name, line, name, found=found, expected=expected, count=len(wrong))
    if not alone:
        _note_sums(path, stored, numbers.to_numpy(), sound, holds, problems)


def _note_sparse(path: Path, stored: _Table, problems: Problems) -> None:
    """Each class with mass stands once in a row's list, and their mass sums to one."""
    table = stored.table
    mass, known = pl.col("probs"), list(stored.classes)
    flaws = {
        "a row whose lists differ in length": (
            pl.col("classes").list.len() != mass.list.len(),
            "as many numbers in 'probs' as names in 'classes'",
        ),
        "a class twice in one row": (
            pl.col("classes").list.n_unique() != pl.col("classes").list.len(),
            "each class once",
        ),
        "a class that the file beside does not name": (
            pl.col("classes").list.eval(~pl.element().is_in(known)).list.any(),
            "a class of 'classes'",
        ),
        "a number outside 0 to 1": (
            mass.list.eval(~pl.element().is_between(0, 1 + SUM_TOLERANCE)).list.any(),
            "a number from 0 to 1",
        ),
        "probabilities that do not sum to 1": (
            (mass.list.sum() - 1).abs() > SUM_TOLERANCE,
            f"a sum of 1, within {SUM_TOLERANCE:g}",
        ),
    }
    for found, (wrong, expected) in flaws.items():
        rows = table.select(wrong.fill_null(True)).to_series().arg_true()
        if len(rows):
            line = stored.lines[rows[0]]
            problems.note(path.name, line, "", found=found, expected=expected, count=len(rows))


def _note_sums(
    path: Path,
    stored: _Table,
    probs: NDArray[np.float64],  # (rows, classes)
    sound: NDArray[np.bool_],
    holds: Contents,
    problems: Problems,
) -> None:
    kept = np.flatnonzero(sound)
    digits = digits_of(stored.table[kept], stored.classes)
    rounded = ~normalise(probs[kept], digits=digits).wrong
    exact = np.abs(probs[kept].sum(axis=1) - 1) <= SUM_TOLERANCE
    wrong = ~exact if holds == "labels" else ~rounded
    if not wrong.any():
        return
    row = int(kept[wrong][0])
    if holds == "predictions":
        expected = "probabilities that sum to 1, but for the rounding of their last digits"
    elif rounded.all():
        expected = f"a sum of 1, within {SUM_TOLERANCE:g} (predictions may be rounded, labels not)"
    else:
        expected = f"probabilities that sum to 1, within {SUM_TOLERANCE:g}"
    found = f"the probabilities of item {stored.table['item'][row]!r} sum to {probs[row].sum():.6g}"
    line = stored.lines[row]
    problems.note(path.name, line, "", found=found, expected=expected, count=int(wrong.sum()))


def _check_beside(path: Path, problems: Problems) -> tuple[int | None, bool]:
    """How many rows the JSON beside counts judgments of, and whether people are simulated."""
    beside = _beside(path)
    if not beside.is_file():
        return None, False
    stored = _read_beside(path, problems)
    if "provenance" not in stored:
        expected = "a list of steps, if only an empty one"
        problems.note(beside.name, None, "provenance", found="nothing", expected=expected)
    steps = stored.get("provenance", [])
    note_steps(steps, beside.name, problems)
    simulated = isinstance(steps, list) and any(
        isinstance(step, dict) and step.get("simulated") is True for step in steps
    )
    weights = stored.get("judgments")
    if weights is None:
        return None, simulated
    wrong = weights if not isinstance(weights, list) else [
        number for number in weights if not _is_count(number)
    ]  # fmt: skip
    if wrong or not isinstance(weights, list):
        found = show_value(wrong[0] if isinstance(weights, list) else weights)
        expected = "a list of numbers from 0, the judgments behind each row"
        problems.note(beside.name, None, "judgments", found=found, expected=expected)
    return (len(weights) if isinstance(weights, list) else None), simulated


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _read_beside(path: Path, problems: Problems) -> dict[str, Any]:
    beside = _beside(path)
    try:
        with open_text(beside) as file:
            stored = json.load(file)
    except (ValueError, RecursionError, DataError) as error:
        problems.note(beside.name, None, "", found=f"no JSON ({error})", expected="a JSON object")
        return {"provenance": []}
    if not isinstance(stored, dict):
        problems.note(beside.name, None, "", found=show_value(stored), expected="a JSON object")
        return {"provenance": []}
    return stored


def _stands_for_people(path: Path) -> bool:
    """Whether the JSON beside a table counts judgments, or is silent about them."""
    weights = _read_beside(path, Problems()).get("judgments")
    return not isinstance(weights, list) or not weights or any(number != 0 for number in weights)


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _has_numbers(values: pl.Series) -> bool:
    if values.name in IDS or values.dtype.is_nested():
        return False
    return bool(values.cast(pl.String, strict=False).cast(pl.Float64, strict=False).count())


def _head(path: Path) -> pl.DataFrame:
    """The first rows; nothing where the file cannot be read."""
    try:
        if path.suffix.lower() == ".parquet":
            return pl.read_parquet(path, n_rows=HEAD)
        return pl.read_csv(path, n_rows=HEAD, infer_schema=False, truncate_ragged_lines=True)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return pl.DataFrame()
