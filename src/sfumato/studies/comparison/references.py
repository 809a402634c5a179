"""The lines that cross-entropy to people is read against: its floor, and a cheap rival (C20)."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.evaluation.references import class_oracle, entropy_floor
from sfumato.evaluation.strata import strata_of
from sfumato.labels.labelset import LabelSet
from sfumato.studies.comparison.setting import Known, Test

__all__ = ["lines_against", "references_table"]

ORIGINAL = "original"
"""The family's name for original labels, from which the oracle knows the class."""


def references_table(known: Known, tests: Sequence[Test]) -> pl.DataFrame:
    """The floor and the class oracle for every set of labels that is not hard.

    ``tests`` are those of all folds of one seed, whose items are put together.
    """
    rows = []
    for against in dict.fromkeys(name for test in tests for name in test.labels):
        parts = [test.labels[against] for test in tests if against in test.labels]
        items = tuple(dict.fromkeys(item for part in parts for item in part.items))
        human = _together(parts, items)
        if not strata_of(human)["disputed"].any():
            continue
        rows.append((against, "entropy of the labels", entropy_floor(human)))
        original = known.labels.get(ORIGINAL)
        if original is not None and set(items) <= set(original.items):
            oracle = class_oracle(human, original.take(items))
            rows.append((against, "class-level oracle", oracle))
    schema = {"against": pl.String(), "line": pl.String(), "cross_entropy": pl.Float64()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def lines_against(table: pl.DataFrame | None, against: str) -> dict[str, dict[str, float]]:
    """The lines of one set of labels, as figures of scores take them."""
    if table is None:
        return {}
    mine = table.filter(pl.col("against") == against)
    return {"cross_entropy": dict(zip(mine["line"], mine["cross_entropy"], strict=True))}


def _together(parts: Sequence[LabelSet], items: tuple[str, ...]) -> LabelSet:
    row = {
        item: probs for part in parts for item, probs in zip(part.items, part.probs, strict=True)
    }
    return LabelSet(items, parts[0].classes, np.stack([row[item] for item in items]))
