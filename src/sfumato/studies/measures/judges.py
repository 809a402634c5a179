"""What judges are worth in people, on every set that people and judges spoke about."""

from dataclasses import replace

import polars as pl

from sfumato.labels.worth import worth
from sfumato.scores import Estimate
from sfumato.studies.data import Findings, Predictions, StudyData


def judges(data: StudyData, predictions: Predictions) -> Findings:
    """The worth of every judge alone, beside a person and together, with the usual numbers."""
    rows: list[Estimate] = []
    tables: dict[str, list[pl.DataFrame]] = {"worths": [], "scales": [], "usual": []}
    for name, judged in data.judged.items():
        found = worth(
            judged.people, judged.judges, epsilon=judged.epsilon, most=judged.most,
            clusters=judged.clusters, resamples=data.study.draws, seed=data.study.seed,
        )  # fmt: skip
        rows += [replace(row, part=name) for row in found.estimates]
        parts = {"worths": found.table, "scales": found.people, "usual": found.usual}
        for kind, table in parts.items():
            told = table.insert_column(0, pl.lit(name).alias("set"))
            tables[kind].append(told.with_columns(over=pl.lit(found.over)))
    return Findings(rows, {kind: pl.concat(parts) for kind, parts in tables.items() if parts})
