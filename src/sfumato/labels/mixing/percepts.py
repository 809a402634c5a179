"""Turn what people saw in mixed images into labels: their coefficients and their confidence."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.mixed import Mix, mixes_of
from sfumato.judgments.mixes import MixJudgments
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.labels.mixing.labels import endpoint_rows, mixed_rows
from sfumato.provenance import Provenance, Setting, Step

__all__ = [
    "GAMMA",
    "Percepts",
    "SmoothingForm",
    "human_matched",
    "human_matched_crowd",
    "percepts_of",
    "percepts_within",
    "shuffled_percepts",
    "smoothing_share",
]

GAMMA = 0.005
"""The thesis's γ: only the very unsure are smoothed much (S2-60)."""

SmoothingForm = Literal["published", "exact"]
"""How confidence becomes smoothing; they differ by at most γ."""


@dataclass(frozen=True, eq=False)
class Percepts:
    """What people said of mixed images, one entry a judgment.

    ``mix`` and ``annotator`` are positions in ``mixes`` and ``annotators``; the annotator is
    ``NOT_RECORDED`` where nobody wrote down whose judgment it was.
    """

    mixes: tuple[Mix, ...]
    annotators: tuple[str, ...]
    mix: NDArray[np.int64]  # (judgments,)
    annotator: NDArray[np.int64]  # (judgments,)
    coefficient: NDArray[
        np.float64
    ]  # (judgments,), λ_h: the share of the first image that was seen
    confidence: NDArray[np.float64]  # (judgments,), ω from 0 to 1; NaN: not asked
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "mixes", tuple(self.mixes))
        object.__setattr__(self, "annotators", tuple(self.annotators))
        for name in ("mix", "annotator", "coefficient", "confidence"):
            dtype = np.int64 if name in ("mix", "annotator") else np.float64
            column = np.array(getattr(self, name), dtype=dtype)  # a copy: ours to freeze
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        sizes = {len(getattr(self, name)) for name in ("mix", "annotator", "confidence")}
        assert sizes == {len(self.coefficient)}, "columns of different lengths"
        _check_stated(self)

    def __len__(self) -> int:
        return len(self.mix)

    @property
    def items(self) -> tuple[str, ...]:
        """The names of the mixes."""
        return tuple(mix.item for mix in self.mixes)


def percepts_of(answers: MixJudgments) -> Percepts:
    """The first views of mixes whose coefficient people were asked for; the rest is counted.

    Mixes are called ``Mix.item``, as their images and labels are. Repeats are left out, as for
    all labels; the last step of the provenance says how many.
    """
    table = answers.table.filter(pl.col("task") == "infer", pl.col("view") == "first")
    mixes = mixes_of(MixJudgments(table))
    if table["perceived"].null_count():
        nameless = table.filter(pl.col("perceived").is_null())["mix"][0]
        raise DataError(f"An answer about the mix {nameless!r} states no coefficient.")
    people = table["annotator"].drop_nulls().unique().sort().to_list()
    place = {name: code for code, name in enumerate(mixes)}
    code_of = {name: code for code, name in enumerate(people)}
    settings: dict[str, Setting] = {"kept": len(table), "left_out": len(answers) - len(table)}
    return Percepts(
        tuple(mixes.values()),
        tuple(people),
        np.array([place[name] for name in table["mix"]], dtype=np.int64),
        np.array([code_of.get(name, NOT_RECORDED) for name in table["annotator"]], dtype=np.int64),
        table["perceived"].to_numpy(),
        table["confidence"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        (*answers.provenance, Step("first views of mixes", settings)),
    )


def percepts_within(percepts: Percepts, items: Collection[str]) -> Percepts:
    """What was said of mixes both of whose images are among ``items``, such as a training part.

    A mix of an image that is tested would show it to the network; the last step of the provenance
    says how many mixes were left out.
    """
    wanted = set(items)
    inside = np.array([{mix.first_item, mix.second_item} <= wanted for mix in percepts.mixes])
    place = np.cumsum(inside) - 1  # of a kept mix among those that are kept
    kept = inside[percepts.mix]
    settings: dict[str, Setting] = {
        "kept": int(inside.sum()),
        "left_out": int(inside.size - inside.sum()),
    }
    return Percepts(
        tuple(mix for mix, one in zip(percepts.mixes, inside, strict=True) if one),
        percepts.annotators,
        place[percepts.mix[kept]],
        percepts.annotator[kept],
        percepts.coefficient[kept],
        percepts.confidence[kept],
        (*percepts.provenance, Step("mixes of given images", settings)),
    )


def shuffled_percepts(percepts: Percepts, *, rng: np.random.Generator) -> Percepts:
    """The same answers, all those about a mix given to another with the same coefficient.

    A control: for each coefficient people say what they said, only never of the image that they
    saw. What is gained beyond it comes from what they saw.
    """
    coefficients = np.array([mix.coefficient for mix in percepts.mixes])
    given_to = np.empty(len(coefficients), dtype=np.int64)
    for value in np.unique(coefficients):
        order = rng.permutation(np.flatnonzero(coefficients == value))
        if len(order) < 2:
            raise DataError(
                f"Only {percepts.items[order[0]]!r} is mixed with the coefficient {value:g}; there "
                "is no other mix to give its answers to."
            )
        given_to[order] = np.roll(order, 1)
    step = Step("shuffle answers among mixes of the same coefficient")
    return replace(percepts, mix=given_to[percepts.mix], provenance=(*percepts.provenance, step))


def smoothing_share(
    confidence: NDArray[np.float64], gamma: float = GAMMA, form: SmoothingForm = "published"
) -> NDArray[np.float64]:
    """How much of a label becomes uniform for a confidence ω from 0 to 1 (S2-60).

    ``published`` is s = γ^ω. No confidence gives 1, a uniform label; but full confidence gives
    γ, not 0: the label then is (1 − γ) of the two-class label and γ of the uniform one, although
    the thesis says it is the two-class label. ``exact`` is s = (γ^ω − γ) / (1 − γ), which is 1
    and 0 at the ends and never more than γ below the published one.

    >>> smoothing_share(np.array([0, 0.5, 1])).round(4)
    array([1.    , 0.0707, 0.005 ])
    >>> smoothing_share(np.array([0, 0.5, 1]), form="exact").round(4)
    array([1.   , 0.066, 0.   ])
    """
    if not 0 < gamma < 1:
        raise DataError(f"The γ of confidence smoothing is {gamma}; it must be between 0 and 1.")
    power = gamma**confidence
    match form:
        case "published":
            return power
        case "exact":
            return (power - gamma) / (1 - gamma)
        case _:
            assert_never(form)


def human_matched(
    percepts: Percepts,
    endpoints: LabelSet,
    *,
    gamma: float | None = None,
    form: SmoothingForm = "published",
) -> LabelSet:
    """λ_g is the mean of what people saw, λ̄_h = Σ_m λ_h^m / M (S2-58).

    With ``gamma`` the label is smoothed by the mean confidence ω̄ (S2-60):
    (1 − s)·(λ̄_h y_i + (1 − λ̄_h) y_j) + s/K, s as in ``smoothing_share``.

    >>> mix = Mix("a", "b", "cat", "dog", 0.5)
    >>> people = Percepts([mix], ["p", "q"], [0, 0], [0, 1], [0.5, 1], [1, 0])
    >>> ends = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> human_matched(people, ends).probs
    array([[0.75, 0.25]])
    """
    number = np.bincount(percepts.mix, minlength=len(percepts.mixes)).astype(np.float64)
    mean = _mean(percepts.coefficient, percepts.mix, number)
    rows = mixed_rows(*endpoint_rows(percepts.mixes, endpoints), mean)
    if gamma is not None:
        _require_confidence(percepts)
        rows = _smoothed(rows, _mean(percepts.confidence, percepts.mix, number), gamma, form)
    step = _step("match coefficients to people, averaged", endpoints, gamma, form)
    return LabelSet(percepts.items, endpoints.classes, rows, number, (*percepts.provenance, step))


def human_matched_crowd(
    percepts: Percepts,
    endpoints: LabelSet,
    *,
    gamma: float | None = None,
    form: SmoothingForm = "published",
) -> CrowdLabels:
    """λ_g is what one person saw, a label each judgment (S2-59), smoothed by their own ω (S2-60).

    Shown with ``learn.targets.one_annotator``, a person is drawn afresh at each presentation.

    >>> mix = Mix("a", "b", "cat", "dog", 0.5)
    >>> people = Percepts([mix], ["p", "q"], [0, 0], [0, 1], [0.5, 1], [1, 0])
    >>> ends = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> human_matched_crowd(people, ends, gamma=0.005, form="exact").probs
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    first, second = endpoint_rows(percepts.mixes, endpoints)
    rows = mixed_rows(first[percepts.mix], second[percepts.mix], percepts.coefficient)
    if gamma is not None:
        _require_confidence(percepts)
        rows = _smoothed(rows, percepts.confidence, gamma, form)
    step = _step("match coefficients to people, each their own", endpoints, gamma, form)
    return CrowdLabels(
        percepts.items,
        percepts.annotators,
        endpoints.classes,
        percepts.mix,
        percepts.annotator,
        rows,
        (*percepts.provenance, step),
    )


def _smoothed(
    rows: NDArray[np.float64], confidence: NDArray[np.float64], gamma: float, form: SmoothingForm
) -> NDArray[np.float64]:
    flat = np.full_like(rows, 1 / rows.shape[1])
    return mixed_rows(flat, rows, smoothing_share(confidence, gamma, form))


def _mean(
    values: NDArray[np.float64], mix: NDArray[np.int64], number: NDArray[np.float64]
) -> NDArray[np.float64]:
    # Clipped, because a mean of ones may round to a little above one.
    return (np.bincount(mix, weights=values, minlength=len(number)) / number).clip(0, 1)


def _step(name: str, endpoints: LabelSet, gamma: float | None, form: SmoothingForm) -> Step:
    soft = bool((endpoints.probs.max(axis=1) < 1).any())
    settings: dict[str, Setting] = {"gamma": gamma, "soft_endpoints": soft}
    if gamma is not None:
        settings["form"] = form
    return Step(name, settings)


def _check_stated(percepts: Percepts) -> None:
    _check_different(percepts.items)
    for name, values in (
        ("coefficient", percepts.coefficient),
        ("confidence", percepts.confidence[~np.isnan(percepts.confidence)]),
    ):
        wrong = ~((values >= 0) & (values <= 1))
        if wrong.any():
            raise DataError(
                f"The {name} {values[wrong.argmax()]} is stated of a mix; it must be from 0 to 1."
            )
    unseen = np.bincount(percepts.mix, minlength=len(percepts.mixes)) == 0
    if unseen.any():
        raise DataError(
            f"Nobody judged the mix {percepts.items[int(unseen.argmax())]!r} "
            f"({int(unseen.sum())} of {len(percepts.mixes)}); leave it out."
        )


def _check_different(items: Sequence[str]) -> None:
    seen: set[str] = set()
    for item in items:
        if item in seen:
            raise DataError(f"The mix {item!r} occurs more than once; give each mix once.")
        seen.add(item)


def _require_confidence(percepts: Percepts) -> None:
    silent = np.isnan(percepts.confidence)
    if silent.any():
        item = percepts.items[percepts.mix[int(silent.argmax())]]
        raise DataError(
            f"A judgment of the mix {item!r} states no confidence ({int(silent.sum())} of "
            f"{len(percepts)} do not), so it cannot be smoothed by it. Leave gamma out."
        )
