"""From a file, a table or a dict to what an aggregator is told: weights, truths, confusions."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.frames import is_table, to_frame
from sfumato.labels.tables import read_frame, with_numbers

ITEM, ANNOTATOR = ("item", "task"), ("annotator", "worker")
TRUTH = ("truth", "label", "class")


def read_gold(source: object) -> dict[str, str]:
    """Item to true label, from the columns ``item`` and ``truth`` (or ``task``, ``label``).

    >>> read_gold([{"item": 7, "truth": "cat"}]), read_gold({7: "cat"})
    ({'7': 'cat'}, {'7': 'cat'})
    """
    if isinstance(source, Mapping) and not is_table(source):
        return {str(item): str(label) for item, label in source.items()}
    name, table = _table(source, "known labels")
    found: dict[str, str] = {}
    for row, (item, label) in _rows(name, table, (ITEM, TRUTH)):
        if found.setdefault(item, label) != label:
            raise DataError(
                f"{name}, row {row}: item {item!r} is {label!r} here and {found[item]!r} in an "
                "earlier row; keep one."
            )
    return found


def read_weights(source: object) -> dict[str, float]:
    """Annotator to weight, from the columns ``annotator`` and ``weight`` (``worker``, ``skill``).

    >>> read_weights([{"annotator": "ann", "weight": 2}])
    {'ann': 2.0}
    """
    if isinstance(source, Mapping) and not is_table(source):
        return {str(name): weight for name, weight in source.items()}
    name, table = _table(source, "weights")
    found: dict[str, float] = {}
    for row, (annotator, weight) in _rows(
        name, table, (ANNOTATOR, ("weight", "skill")), number=True
    ):
        if annotator in found:
            raise DataError(f"{name}, row {row}: {annotator!r} has a weight already; keep one.")
        found[annotator] = float(weight)
    return found


def read_confusions(source: object) -> dict[str, dict[str, dict[str, float]]]:
    """Confusions by annotator, true label and label said; columns ``annotator, true, said, count``.

    >>> read_confusions([{"annotator": "ann", "true": "cat", "said": "dog", "count": 3}])
    {'ann': {'cat': {'dog': 3.0}}}
    """
    if isinstance(source, Mapping) and not is_table(source):
        return {str(name): matrix for name, matrix in source.items()}
    name, table = _table(source, "confusions")
    columns = (ANNOTATOR, ("true", "truth"), ("said", "label"), ("count", "probability"))
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row, (annotator, true, said, count) in _rows(name, table, columns, number=True):
        matrix = found.setdefault(annotator, {}).setdefault(true, {})
        if said in matrix:
            raise DataError(
                f"{name}, row {row}: how often {annotator!r} says {said!r} of {true!r} stands in "
                "an earlier row; keep one."
            )
        matrix[said] = float(count)
    return found


def _table(source: object, what: str) -> tuple[str, pl.DataFrame]:
    if isinstance(source, str | Path):
        return Path(source).name, read_frame(Path(source))
    return f"The table of {what}", to_frame(source, what=f"table of {what}")


def _rows(
    name: str,
    table: pl.DataFrame,
    columns: Sequence[tuple[str, ...]],
    *,
    number: bool = False,
) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of each row as texts; the last one a number where it must be."""
    chosen = [_column(name, table, names) for names in columns]
    if number:
        table = with_numbers(name, table, chosen[-1:])
    for row, fields in enumerate(table.select(chosen).iter_rows(), start=1):
        empty = [
            column for column, field in zip(chosen, fields, strict=True) if field in (None, "")
        ]
        if empty:
            raise DataError(f"{name}, row {row}: column {empty[0]!r} is empty.")
        yield row, [str(field).strip() for field in fields]


def _column(name: str, table: pl.DataFrame, names: tuple[str, ...]) -> str:
    found = [column for column in names if column in table.columns]
    if not found:
        raise DataError(
            f"{name} needs a column {' or '.join(map(repr, names))}; it has "
            f"{', '.join(map(repr, table.columns[:20]))}."
        )
    return found[0]


GIVEN_READERS = {
    "gold": read_gold,
    "weights": read_weights,
    "initial_confusions": read_confusions,
}
"""Options of aggregators that may be a file or a table, and who reads them."""


def read_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of an aggregator, with files and tables read."""
    return {
        name: GIVEN_READERS[name](value) if name in GIVEN_READERS and value is not None else value
        for name, value in options.items()
    }
