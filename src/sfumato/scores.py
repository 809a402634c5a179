"""Numbers about models and people, with their intervals: one tidy table for all of them.

An ``Estimate`` is one number: of an arm, or of the difference between two arms where ``second`` is
given. ``Estimates`` is many of them as one table, the only one that results are kept in. A
``Metric`` says what a number means: its words, its direction, the range it cannot leave; they are
read from ``metrics.toml``.
"""

import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self, assert_never

import polars as pl

from sfumato.errors import DataError
from sfumato.names import find, load_name
from sfumato.provenance import Provenance, Setting, Step, to_json
from sfumato.tabular import Tabular

Better = Literal["lower", "higher", "neither"]
"""Which way is good; "neither" describes rather than judges."""


@dataclass(frozen=True)
class Metric:
    """What a number means to a reader."""

    name: str
    title: str
    """"cross-entropy"."""
    better: Better = "neither"
    meaning: str = ""
    """One sentence with the formula in words."""
    unit: str = ""
    """"nats", "bits", "seconds"; empty for shares and plain numbers."""
    low: float = -math.inf
    high: float = math.inf
    """The range that no value and no interval leaves."""
    one_way: bool = False
    """Whether a number of two arms is no difference between them, such as a ratio: the other way
    round it is not the same with another sign."""

    @property
    def axis(self) -> str:
        """The title with its direction, for an axis.

        >>> Metric("accuracy", "accuracy", "higher").axis
        'accuracy (higher is better)'
        """
        match self.better:
            case "lower" | "higher":
                return f"{self.title} ({self.better} is better)"
            case "neither":
                return self.title
            case _:
                assert_never(self.better)

    def clip(self, low: float | None, high: float | None) -> tuple[float | None, float | None]:
        """An interval cut to the range of the metric.

        >>> Metric("accuracy", "accuracy", low=0, high=1).clip(0.97, 1.02)
        (0.97, 1.0)
        """
        if low is None or high is None:
            return low, high
        return float(max(low, self.low)), float(min(high, self.high))


@cache
def metrics() -> dict[str, Metric]:
    """Every metric that a result can be told by, by name."""
    text = files("sfumato").joinpath("metrics.toml").read_text(encoding="utf-8")
    return {name: Metric(name, **words) for name, words in tomllib.loads(text).items()}


def metric_words(name: str) -> Metric:
    """What is said of a metric; of an unknown one only its name, and it judges nothing.

    >>> metric_words("accuracy").better, metric_words("my_own").title
    ('higher', 'my own')
    """
    return metrics().get(name) or Metric(name, name.replace("_", " "))


@dataclass(frozen=True)
class Estimate:
    """One number with its interval; all that tells it from other numbers stands beside it."""

    metric: str
    value: float
    """NaN where the metric is not defined on these items; ``source`` says why."""
    arm: str = ""
    """What is scored: the labels that a network learnt from, a model, a group of people."""
    second: str = ""
    """The arm that is subtracted, where the number is a difference, paired by seed or item."""
    network: str = ""
    part: str = ""
    """The items it is about: "test", "held out", "training" …"""
    against: str = "people"
    """The labels that are held against: people, majority, original …"""
    stratum: str = "all"
    attack: str = ""
    """"fgsm", "pgd" or the name of a corruption; empty for untouched items."""
    bound: float | None = None
    """Of an attack in units of 1/255; of a corruption its strength."""
    step: int | None = None
    """Of an attack that has several; 0 is before the first."""
    low: float | None = None
    high: float | None = None
    over: str = ""
    """What the 95 % interval is over: "items", "seeds", "seeds and items" …; empty without one."""
    items: int = 0
    seeds: tuple[int, ...] = ()
    p: float | None = None
    test: str = ""
    """The name of the test that gave ``p``."""
    simulated: bool = False
    """Whether simulated people are behind any of the labels."""
    source: str = ""
    """JSON that leads back to labels, predictions and judgments; ``source_text`` makes it."""
    study: str = ""

    @property
    def is_difference(self) -> bool:
        """Whether it is one arm minus another."""
        return bool(self.second)

    @property
    def note(self) -> str:
        """The remark that belongs beside the number, if any."""
        return str(json.loads(self.source).get("note", "")) if self.source else ""


COLUMNS: dict[str, pl.DataType] = {
    "study": pl.String(),
    "arm": pl.String(),
    "second": pl.String(),
    "network": pl.String(),
    "part": pl.String(),
    "against": pl.String(),
    "stratum": pl.String(),
    "attack": pl.String(),
    "bound": pl.Float64(),
    "step": pl.Int64(),
    "metric": pl.String(),
    "value": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "over": pl.String(),
    "items": pl.Int64(),
    "seeds": pl.List(pl.Int64()),
    "p": pl.Float64(),
    "test": pl.String(),
    "simulated": pl.Boolean(),
    "source": pl.String(),
}
"""The columns of a table of estimates, in order."""


PLACE = (
    *("study", "arm", "second", "network", "part", "against", "stratum", "attack", "bound", "step"),
    "metric",
)
"""The columns that tell a number from all others."""

IN_MEMORY: Provenance = (Step("given in memory"),)
"""Stands for labels or predictions that nothing is known of."""


def source_text(
    *,
    labels: Provenance = (),
    model: Provenance = (),
    note: str = "",
    **others: Setting,
) -> str:
    """Where a number comes from, as the JSON text that stands beside it.

    ``labels`` are the steps behind what is held against, ``model`` those behind what is scored;
    ``others`` are what a measure adds, such as the files of predictions.
    """
    told: dict[str, Setting] = {"labels": to_json(labels), "model": to_json(model), **others}
    if note:
        told["note"] = note
    return json.dumps({name: value for name, value in told.items() if value}, ensure_ascii=False)


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Tabular):
    """Numbers with intervals, one row each; every row has a source."""

    table: pl.DataFrame

    def __post_init__(self) -> None:
        missing = [name for name in COLUMNS if name not in self.table.columns]
        if missing:
            raise DataError(f"The table lacks the column {missing[0]!r}; is it one of estimates?")
        table = self.table.select(list(COLUMNS)).cast(dict(COLUMNS))  # type: ignore[arg-type]
        bare = table.filter(pl.col("source").is_null() | pl.col("source").is_in(["", "{}"]))
        if len(bare):
            raise DataError(
                f"The estimate of {bare['metric'][0]!r} for {bare['arm'][0]!r} has no source; say "
                "which labels and predictions it came from."
            )
        object.__setattr__(self, "table", table)

    @classmethod
    def of(cls, rows: Iterable[Estimate]) -> Self:
        """A table of the given estimates, in their order."""
        kept = list(rows)
        columns = {
            name: [list(row.seeds) if name == "seeds" else getattr(row, name) for row in kept]
            for name in COLUMNS
        }
        return cls(pl.DataFrame(columns, schema=dict(COLUMNS)))

    @classmethod
    def read(cls, path: Path) -> Self:
        """The table of a Parquet file."""
        if not path.is_file():
            raise DataError(f"There is no file {path}.")
        return cls(pl.read_parquet(path))

    def write(self, path: Path) -> None:
        """Write a Parquet or, by the ending of the path, a CSV file."""
        if path.suffix == ".csv":
            seeds = pl.col("seeds").list.eval(pl.element().cast(pl.String)).list.join(" ")
            self.table.with_columns(seeds).write_csv(path)
        else:
            self.table.write_parquet(path)

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Estimate]:
        names = [field.name for field in fields(Estimate)]
        for row in self.table.select(names).iter_rows(named=True):
            yield Estimate(**{**row, "seeds": tuple(row["seeds"])})

    def to_polars(self) -> pl.DataFrame:
        """The whole table; ``source`` is JSON."""
        return self.table

    def _summary(self) -> str:
        arms = self.table["arm"].n_unique()
        metrics = self.table["metric"].n_unique()
        return f"Estimates: {len(self):,} numbers of {metrics:,} metrics and {arms:,} arms"

    def _repr_html_(self) -> str:
        told = [
            name
            for name in COLUMNS
            if name not in ("source", "study") and self.table[name].drop_nulls().n_unique() > 1
        ]
        kept = [name for name in COLUMNS if name in {*told, "metric", "value", "low", "high"}]
        with pl.Config(tbl_rows=20, tbl_hide_dataframe_shape=True, tbl_cols=len(kept)):
            return f"<p>{self._summary()}</p>{self.table.select(kept).head(20)._repr_html_()}"

    def plot(self, plot: str = "reliability") -> Any:
        """A figure of an evaluation: reliability, strata, leaderboard or worst items."""
        return load_name("sfumato.reporting.evaluation:plot_evaluation")(self, plot)

    def report(self, path: str | Path, **options: Any) -> Path:
        """An evaluation as one HTML page (``sfumato.report``)."""
        return load_name("sfumato.reporting.evaluation:report_evaluation")(self, path, **options)

    def filter(self, **wanted: Any) -> "Estimates":
        """The rows whose columns have the given values; a list of values means any of them."""
        mask = pl.lit(value=True)
        for name, value in wanted.items():
            find(COLUMNS, name, what="column of estimates")
            if isinstance(value, list | tuple | set):
                mask &= pl.col(name).is_in(list(value))
            else:
                mask &= pl.col(name).is_null() if value is None else pl.col(name) == value
        return Estimates(self.table.filter(mask))

    def minus(self, *seconds: str) -> "Estimates":
        """All differences from the given arms, also those that are kept the other way round."""
        found: dict[tuple[Any, ...], Estimate] = {}
        for one in self.differences:
            if one.second not in seconds and one.arm in seconds:
                one = swap_arms(one)
            if one.second in seconds:
                found.setdefault(tuple(getattr(one, name) for name in PLACE), one)
        return Estimates.of(found.values())

    @property
    def scores(self) -> "Estimates":
        """The rows that are about one arm."""
        return Estimates(self.table.filter(pl.col("second") == ""))

    @property
    def differences(self) -> "Estimates":
        """The rows that are one arm minus another."""
        return Estimates(self.table.filter(pl.col("second") != ""))


def with_interval(estimate: Estimate, low: float | None, high: float | None, over: str) -> Estimate:
    """The estimate with its interval, cut to the metric's range; none where it is not a number.

    A difference has no range of its own: only numbers of one arm are cut.
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return estimate
    if math.isnan(estimate.value):
        return estimate
    if not estimate.is_difference:
        low, high = metric_words(estimate.metric).clip(low, high)
    return replace(estimate, low=low, high=high, over=over)


def swap_arms(one: Estimate) -> Estimate:
    """A difference the other way round: tables keep one of the two ways.

    What is no difference, such as a ratio of two arms, stays as it is.

    >>> swap_arms(Estimate("accuracy", 0.25, arm="soft", second="hard", low=0.125, high=0.5)).low
    -0.5
    """
    if not one.is_difference or metric_words(one.metric).one_way:
        return one
    low, high = (None if end is None else 0.0 - end for end in (one.high, one.low))
    source = json.loads(one.source or "{}")
    if "second" in source:  # the steps behind both arms
        source |= {"model": source["second"], "second": source.get("model", [])}
    return replace(
        one,
        arm=one.second,
        second=one.arm,
        value=0.0 - one.value,  # a zero stays one: "-0.0" would be printed
        low=low,
        high=high,
        source=json.dumps(source, ensure_ascii=False) if one.source else "",
    )


def as_rows(estimates: Iterable[Estimate]) -> list[Mapping[str, Any]]:
    """Estimates as plain dicts in the order of ``COLUMNS``, ready for a table or JSON."""
    return [
        {name: getattr(row, name) for name in COLUMNS} | {"seeds": list(row.seeds)}
        for row in estimates
    ]
