"""One number about one arm, with its interval; a list of them is a tidy table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TypeVar

import polars as pl

from sfumato.errors import DataError
from sfumato.provenance import Provenance, from_json, to_json


@dataclass(frozen=True)
class Score:
    """One number: how an arm does by a metric, against some labels, on a stratum of the items."""

    metric: str
    """A name of ``evaluate.METRICS``."""
    value: float
    """NaN where the metric is not defined on these items; ``note`` says why."""
    arm: str = ""
    """What is scored: the labels a network learnt from, or a model's name."""
    network: str = ""
    """The network, where several were trained."""
    against: str = "people"
    """The labels it is compared with: people, majority, original …"""
    stratum: str = "all"
    low: float | None = None
    high: float | None = None
    interval: str = ""
    """What the interval is over: "items", "seeds", "seeds and items"; empty without one."""
    items: int = 0
    seeds: tuple[int, ...] = ()
    simulated: bool = False
    """Whether simulated people are behind the labels of the arm or those it is compared with."""
    note: str = ""
    """A remark that belongs beside the number."""
    provenance: Provenance = ()


@dataclass(frozen=True)
class Difference:
    """``first`` minus ``second`` by one metric, paired over items or seeds."""

    metric: str
    value: float
    first: str
    second: str
    """Arms, as in ``Score.arm``."""
    network: str = ""
    against: str = "people"
    stratum: str = "all"
    low: float | None = None
    high: float | None = None
    interval: str = ""
    p: float | None = None
    test: str = ""
    """The name of the test that gave ``p``."""
    items: int = 0
    seeds: tuple[int, ...] = ()
    simulated: bool = False
    note: str = ""


Row = TypeVar("Row", Score, Difference)

_TYPES: dict[str, pl.DataType] = {
    **dict.fromkeys(("value", "low", "high", "p"), pl.Float64()),
    "items": pl.Int64(),
    "seeds": pl.List(pl.Int64()),
    "simulated": pl.Boolean(),
}


def scores_table(scores: Sequence[Score]) -> pl.DataFrame:
    """A row a score, in the given order; provenance as JSON text."""
    return _table(scores, Score)


def differences_table(differences: Sequence[Difference]) -> pl.DataFrame:
    """A row a difference, in the given order."""
    return _table(differences, Difference)


def write_scores(scores: Sequence[Score], path: Path) -> None:
    """Write a Parquet file that ``read_scores`` reads."""
    scores_table(scores).write_parquet(path)


def write_differences(differences: Sequence[Difference], path: Path) -> None:
    """Write a Parquet file that ``read_differences`` reads."""
    differences_table(differences).write_parquet(path)


def read_scores(path: Path) -> list[Score]:
    """The inverse of ``write_scores``."""
    return _read(path, Score)


def read_differences(path: Path) -> list[Difference]:
    """The inverse of ``write_differences``."""
    return _read(path, Difference)


def _table(rows: Sequence[Row], kind: type[Row]) -> pl.DataFrame:
    names = [field.name for field in fields(kind)]
    columns = {name: [_plain(getattr(row, name), name) for row in rows] for name in names}
    return pl.DataFrame(columns, schema={name: _TYPES.get(name, pl.String()) for name in names})


def _plain(value: object, name: str) -> object:
    match name:
        case "provenance":
            return json.dumps(to_json(value))  # type: ignore[arg-type]
        case "seeds":
            return list(value)  # type: ignore[call-overload]
        case _:
            return value


def _read(path: Path, kind: type[Row]) -> list[Row]:
    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    table = pl.read_parquet(path)
    needed = [field.name for field in fields(kind)]
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise DataError(f"{path} lacks the column {missing[0]!r}; is it a table of scores?")
    rows = []
    for row in table.select(needed).iter_rows(named=True):
        row["seeds"] = tuple(row["seeds"])
        if "provenance" in row:
            row["provenance"] = from_json(json.loads(row["provenance"]))
        rows.append(kind(**row))
    return rows
