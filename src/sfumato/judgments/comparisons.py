"""Answers about pairs and triples of items, and about mixes: how similar, which, how much."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.judgments import VIEWS, RejectedRow, Remark
from sfumato.names import find
from sfumato.provenance import Provenance

ComparisonKind = Literal["pairs", "triplets", "preference"]

TIE = "tie"

_ABOUT_THE_ANSWER: dict[str, pl.DataType] = {
    "annotator": pl.String(),  # null: not recorded
    "seconds": pl.Float64(),
    "order": pl.Int64(),  # place in the session, from 1
    "view": pl.String(),
}

COMPARISON_COLUMNS: dict[ComparisonKind, dict[str, pl.DataType]] = {
    "pairs": {
        "first": pl.String(),
        "second": pl.String(),
        "rating": pl.Float64(),
        **_ABOUT_THE_ANSWER,
    },
    "triplets": {
        "item": pl.String(),
        "first": pl.String(),
        "second": pl.String(),
        "closer": pl.String(),  # "first" or "second"
        **_ABOUT_THE_ANSWER,
    },
    "preference": {
        "first": pl.String(),
        "second": pl.String(),
        "preferred": pl.String(),  # "first", "second" or, where the question allows it, "tie"
        **_ABOUT_THE_ANSWER,
        "note": pl.String(),  # what the person wrote beside the answer
    },
}
"""The columns of a table of comparisons, by kind."""


@dataclass(frozen=True)
class ComparisonQuestion:
    """What was asked about items side by side."""

    kind: ComparisonKind
    """The form of the answer: a rating of two items, which of two is closer to a third, or which
    of two is better."""
    wording: str
    scale: tuple[float, float] | None
    """Lowest and highest rating of a pair; None for the others."""
    version: str = "1"
    """Changes whenever wording or scale change."""
    tie: bool = False
    """Whether a preference may be a tie."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(ComparisonKind):
            find(COMPARISON_QUESTIONS, self.kind, what="kind of comparison")
        if (self.kind == "pairs") != (self.scale is not None):
            raise DataError("Pairs are rated on a scale, triplets and preferences have none.")
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise DataError(f"The scale of a rating must go up, not from {self.scale}.")

    def to_json(self) -> dict[str, Any]:
        """The question as a dict ready for ``json.dumps``, to be stored beside the answers."""
        return {
            "kind": self.kind,
            "version": self.version,
            "wording": self.wording,
            "scale": None if self.scale is None else list(self.scale),
            **({"tie": self.tie} if self.kind == "preference" else {}),
        }

    @property
    def sides(self) -> tuple[str, ...]:
        """The words that an answer chooses from; none where it is a rating."""
        if self.scale is not None:
            return ()
        return ("first", "second", TIE) if self.tie else ("first", "second")

    @property
    def answer(self) -> str:
        """The column, and the field of the answer as JSON, that holds what was said.

        >>> [COMPARISON_QUESTIONS[kind].answer for kind in ("pairs", "triplets", "preference")]
        ['rating', 'closer', 'preferred']
        """
        return {"pairs": "rating", "triplets": "closer", "preference": "preferred"}[self.kind]


COMPARISON_QUESTIONS: dict[str, ComparisonQuestion] = {
    "pairs": ComparisonQuestion(
        "pairs",
        "How similar are these two images, from 0 (not at all) to 6 (completely)?",
        (0, 6),
    ),
    "triplets": ComparisonQuestion(
        "triplets", "Is this image closer to the first one than to the second?", None
    ),
    "preference": ComparisonQuestion("preference", "Which of the two is better?", None, tie=True),
}
"""The preset of each kind: similarity ratings (S1-03), triplets (S1-04), preferences."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """A table with the columns of its kind in ``COMPARISON_COLUMNS``, one row per answer."""

    question: ComparisonQuestion
    table: pl.DataFrame
    rejected: tuple[RejectedRow, ...] = ()
    remarks: tuple[Remark, ...] = ()
    provenance: Provenance = field(default=())

    def __post_init__(self) -> None:
        columns = COMPARISON_COLUMNS[self.kind]
        missing = [
            pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in columns.items()
            if name not in self.table.columns
        ]
        table = self.table.with_columns(missing).select(
            pl.col(name).cast(dtype) for name, dtype in columns.items()
        )
        table = table.with_columns(pl.col("view").fill_null("first"))
        object.__setattr__(self, "table", table)
        assert set(table["view"]) <= set(VIEWS), "an unknown view"
        if self.question.scale is not None:
            low, high = self.question.scale
            on_scale = table["rating"].is_between(low, high).fill_null(False)
            assert on_scale.all(), "a rating off the scale"
        else:
            said = set(table[self.question.answer])
            assert said <= set(self.question.sides), "an answer that is no side"

    def __len__(self) -> int:
        return len(self.table)

    @property
    def kind(self) -> ComparisonKind:
        """Whether these are ratings of pairs, triplets or preferences."""
        return self.question.kind

    @property
    def items(self) -> list[str]:
        """Everything that was compared, sorted."""
        compared = [name for name in ("item", "first", "second") if name in self.table.columns]
        return sorted({item for name in compared for item in self.table[name]})


def comparison_question_from_json(stored: Mapping[str, Any], *, where: str) -> ComparisonQuestion:
    """The inverse of ``to_json``; ``where`` names the file in errors."""
    try:
        preset = find(COMPARISON_QUESTIONS, stored["kind"], what="kind of comparison")
        scale = stored.get("scale", preset.scale)
        return ComparisonQuestion(
            preset.kind,
            stored.get("wording", preset.wording),
            None if scale is None else (float(scale[0]), float(scale[1])),
            str(stored.get("version", preset.version)),
            bool(stored.get("tie", preset.tie)),
        )
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        raise DataError(
            f"{where} holds no question about comparisons: it needs an object with at least "
            '{"kind": "pairs", "scale": [0, 6]}, {"kind": "triplets"} or {"kind": "preference"}.'
        ) from None


# Answers about mixed images: how much of each source a person sees, and how sure they are.


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
