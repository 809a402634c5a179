"""Answers about mixed images: how much of each source a person sees, and how sure they are."""

from dataclasses import dataclass, field

import polars as pl

from sfumato.judgments.judgments import VIEWS, RejectedRow, Remark
from sfumato.provenance import Provenance

MIX_TASKS: dict[str, str] = {
    "infer": "What combination of the two classes would 100 crowdsourced workers say is used to "
    "make this image, and how confident would they be?",
    "construct-midpoint": "Step through the mixes from one image to the other and stop at the one "
    "that 100 crowdsourced workers would see as half and half.",
    "select-midpoint": "Pick, from shuffled mixes of the two images, the one that 100 crowdsourced "
    "workers would see as half and half.",
}
"""What was asked, by name of the task (S2-08; the midpoint tasks are H-Mix's other two)."""

MIX_COLUMNS: dict[str, pl.DataType] = {
    "mix": pl.String(),  # the mixed image, or the pair where it is searched for
    "first_item": pl.String(),
    "second_item": pl.String(),
    "first_class": pl.String(),
    "second_class": pl.String(),
    "shown": pl.Float64(),  # coefficient of the first image; null: the person searched for it
    "annotator": pl.String(),  # null: not recorded
    "perceived": pl.Float64(),  # 0 to 1, share of the first class
    "confidence": pl.Float64(),  # 0 to 1, null: not asked
    "seconds": pl.Float64(),
    "order": pl.Int64(),  # place in the session, from 1
    "view": pl.String(),
    "task": pl.String(),  # a name in MIX_TASKS
}
"""The columns of a table of mix judgments."""


@dataclass(frozen=True, eq=False)
class MixJudgments:
    """A table with the columns of ``MIX_COLUMNS``, one row per answer.

    A mix is ``shown`` × first image + (1 − ``shown``) × second image, in pixels. In the
    task ``infer`` people see it and state the share they ``perceived``. In the midpoint
    tasks they look for the mix that seems half and half; then ``shown`` is null and
    ``perceived`` is the coefficient they settled on.
    """

    table: pl.DataFrame
    rejected: tuple[RejectedRow, ...] = ()
    remarks: tuple[Remark, ...] = ()
    provenance: Provenance = field(default=())

    def __post_init__(self) -> None:
        missing = [
            pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in MIX_COLUMNS.items()
            if name not in self.table.columns
        ]
        table = self.table.with_columns(missing).select(
            pl.col(name).cast(dtype) for name, dtype in MIX_COLUMNS.items()
        )
        table = table.with_columns(pl.col("view").fill_null("first"))
        object.__setattr__(self, "table", table)
        assert set(table["view"]) <= set(VIEWS), "an unknown view"
        assert set(table["task"]) <= set(MIX_TASKS), "an unknown task"
        for name in ("shown", "perceived", "confidence"):
            assert table[name].drop_nulls().is_between(0, 1).all(), f"{name} outside 0 to 1"

    def __len__(self) -> int:
        return len(self.table)

    @property
    def annotators(self) -> list[str]:
        """The people, sorted; those not recorded are not among them."""
        return self.table["annotator"].drop_nulls().unique().sort().to_list()
