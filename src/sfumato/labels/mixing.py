"""Turn mixed images, and what people said about them, into label distributions.

In this order: the labels of two images are mixed, and baselines made; what people saw takes the
place of the coefficient; a curve says how the label of a class pair bends with it, and is learnt
from people; Gaussians label mixes without people.
"""

import itertools
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import OptimizeWarning, curve_fit
from scipy.special import softmax

from sfumato.errors import DataError
from sfumato.judgments.comparisons import MixJudgments
from sfumato.judgments.mixed import Mix, mixes_of
from sfumato.labels.alter import random_labels, uniform_labels
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.provenance import Provenance, Setting, Step

# Turn the labels of two images and a coefficient into the label of their mix.

Baseline = Literal["none", "uniform", "random", "classic"]
"""Labels of an augmenting set that use no people (S2-61)."""


def mixed_rows(
    first: NDArray[np.float64], second: NDArray[np.float64], coefficient: NDArray[np.float64]
) -> NDArray[np.float64]:
    """g(y_i, y_j, λ_g) = λ_g·y_i + (1 − λ_g)·y_j, a row each (S0-30, S2-57).

    Whatever λ_g is (the coefficient of the pixels, what people saw, a curve of it), and
    whether y_i and y_j are hard or soft (S2-64): rows that sum to one give rows that do. A
    coefficient of 1 is the first row exactly, 0 the second.

    >>> mixed_rows(np.array([[1.0, 0]]), np.array([[0, 1.0]]), np.array([0.25]))
    array([[0.25, 0.75]])
    """
    share = coefficient[:, None]
    return share * first + (1 - share) * second


def classic_labels(mixes: Sequence[Mix], endpoints: LabelSet) -> LabelSet:
    """What classic mixup calls each mix: λ_g is the coefficient of the pixels (S0-30).

    ``endpoints`` are the labels of the images that were mixed, hard or soft.

    >>> ends = LabelSet(("a", "b"), ("cat", "dog"), [[1, 0], [0, 1]])
    >>> labels = classic_labels([Mix("a", "b", "cat", "dog", 0.75)], ends)
    >>> labels.items, labels.probs
    (('0.75 a + b',), array([[0.75, 0.25]]))
    """
    first, second = endpoint_rows(mixes, endpoints)
    coefficient = np.array([mix.coefficient for mix in mixes])
    return LabelSet(
        tuple(mix.item for mix in mixes),
        endpoints.classes,
        mixed_rows(first, second, coefficient),
        provenance=(*endpoints.provenance, Step("mix labels", {"mixes": len(mixes)})),
    )


def baseline_labels(
    baseline: Baseline, mixes: Sequence[Mix], endpoints: LabelSet, *, rng: np.random.Generator
) -> LabelSet | None:
    """The labels of an augmenting set without people (S2-61); None: train without the set.

    ``uniform`` is 1/K everywhere, ``random`` one uniform draw per class, normalised, made once
    (S2-23), ``classic`` the label of mixup.
    """
    items = [mix.item for mix in mixes]
    match baseline:
        case "none":
            return None
        case "uniform":
            return uniform_labels(items, endpoints.classes)
        case "random":
            return random_labels(items, endpoints.classes, rng=rng)
        case "classic":
            return classic_labels(mixes, endpoints)
        case _:
            assert_never(baseline)


def endpoint_rows(
    mixes: Sequence[Mix], endpoints: LabelSet
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The labels of the first and of the second image of each mix, (mixes, classes) both."""
    place = {item: row for row, item in enumerate(endpoints.items)}
    for mix in mixes:
        for item in (mix.first_item, mix.second_item):
            if item not in place:
                raise DataError(
                    f"Item {item!r} of the mix {mix.item!r} has no label; give the labels of all "
                    "images that were mixed."
                )
    first = np.array([place[mix.first_item] for mix in mixes], dtype=np.int64)
    second = np.array([place[mix.second_item] for mix in mixes], dtype=np.int64)
    return endpoints.probs[first], endpoints.probs[second]


# Turn what people saw in mixed images into labels: their coefficients and their confidence.

GAMMA = 0.005
"""The thesis's γ: only the very unsure are smoothed much (S2-60)."""

SmoothingForm = Literal["published", "exact"]
"""How confidence becomes smoothing; they differ by at most γ."""


@dataclass(frozen=True, eq=False)
class Percepts:
    """What people said of mixed images, one entry per judgment.

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


# How the label of a mix bends with its coefficient: a logistic curve for each pair of classes.

CurveForm = Literal["logistic", "anchored"]
"""``logistic`` is the thesis's, ``anchored`` the same curve stretched to go from 0 to 1."""


@dataclass(frozen=True, eq=False)
class Curves:
    """τ_ij(λ), the share of class i in the label of a mix with λ of class i and 1 − λ of j (S2-65).

    NaN marks a pair of classes without a curve; the diagonal is not used, because a mix of one
    class with itself is that class. τ_ji(1 − λ) = 1 − τ_ij(λ), so that it does not matter which
    image is called the first: steepness is symmetric and midpoints add up to 1.
    """

    classes: tuple[str, ...]
    midpoint: NDArray[np.float64]  # (classes, classes): the λ at which both are seen alike
    steepness: NDArray[np.float64]  # (classes, classes), at least 0: curves never fall
    form: CurveForm = "logistic"
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        for name in ("midpoint", "steepness"):
            table = np.array(getattr(self, name), dtype=np.float64)
            if table.shape != (len(self.classes),) * 2:
                raise DataError(
                    f"There are {len(self.classes)} classes, but the {name} of the curves has the "
                    f"shape {table.shape}."
                )
            np.fill_diagonal(table, np.nan)
            table.flags.writeable = False
            object.__setattr__(self, name, table)
        _check(self)

    @property
    def missing(self) -> tuple[tuple[str, str], ...]:
        """The pairs of classes without a curve, each once."""
        rows, columns = np.nonzero(np.triu(np.isnan(self.steepness), k=1))
        return tuple(
            (self.classes[row], self.classes[column])
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        )

    def at(self, coefficient: NDArray[np.float64]) -> NDArray[np.float64]:
        """τ_ij of each coefficient, (coefficients, classes, classes); λ itself for i = j.

        >>> curves = Curves(("cat", "dog"), [[0, 0.5], [0.5, 0]], [[0, 8], [8, 0]])
        >>> curves.at(np.array([0.25]))[0].round(3)
        array([[0.25 , 0.119],
               [0.119, 0.25 ]])
        """
        shares = np.asarray(coefficient, dtype=np.float64)[:, None, None]
        bent = logistic(shares, self.midpoint, self.steepness, self.form)
        same = np.eye(len(self.classes), dtype=np.bool_)
        return np.where(same, shares, bent)

    def anchored(self) -> "Curves":
        """The same curves stretched, so that a mix of 0 or 1 has the label of one image alone."""
        step = Step("anchor curves")
        return replace(self, form="anchored", provenance=(*self.provenance, step))

    def over(self, classes: tuple[str, ...]) -> "Curves":
        """The same curves with the classes in another order."""
        if set(classes) != set(self.classes):
            odd = sorted(set(classes) ^ set(self.classes))
            raise DataError(
                f"Curves and labels have different classes: {odd[0]!r} is in one and not in the "
                "other."
            )
        order = np.array([self.classes.index(name) for name in classes])
        return Curves(
            classes,
            self.midpoint[np.ix_(order, order)],
            self.steepness[np.ix_(order, order)],
            self.form,
            self.provenance,
        )


def logistic(
    coefficient: NDArray[np.float64],
    midpoint: NDArray[np.float64] | float,
    steepness: NDArray[np.float64] | float,
    form: CurveForm = "logistic",
) -> NDArray[np.float64]:
    """τ(λ) = 1 / (1 + exp(−k(λ − m))) with midpoint m and steepness k.

    A mix of 0 or 1, one of the images itself, is not exactly that image's class in this form;
    the thesis has no word on that. ``anchored`` is (τ(λ) − τ(0)) / (τ(1) − τ(0)), which goes
    from 0 to 1 and becomes λ itself as k goes to 0.

    >>> logistic(np.array([0, 0.5, 1]), 0.5, 8).round(3)
    array([0.018, 0.5  , 0.982])
    >>> logistic(np.array([0, 0.5, 1]), 0.5, 8, "anchored")
    array([0. , 0.5, 1. ])
    """
    half = np.asarray(steepness) / 2
    match form:
        case "logistic":
            return (1 + np.tanh(half * (coefficient - midpoint))) / 2
        case "anchored":
            flat = np.asarray(steepness) < 1e-6  # sinh(0) / sinh(0); the limit is λ
            half = np.where(flat, 1.0, half)
            # From τ(a) − τ(b) = sinh(k(a−b)/2) / 2cosh(k(a−m)/2)cosh(k(b−m)/2): no cancellation.
            up = np.sinh(half * coefficient) * np.cosh(half * (1 - np.asarray(midpoint)))
            down = np.cosh(half * (coefficient - midpoint)) * np.sinh(half)
            return np.where(flat, coefficient, np.clip(up / down, 0, 1))
        case _:
            assert_never(form)


def mixed_by_curves(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    coefficient: NDArray[np.float64],
    curves: Curves,
) -> NDArray[np.float64]:
    """The label of each mix, λ_g = τ_ij(λ_f) for the classes i and j of its images (S2-65).

    The thesis needs hard endpoints to know i and j. Soft ones are read as not knowing them:
    Σ_ij y_i(i) y_j(j) (τ_ij e_i + (1 − τ_ij) e_j), which is the thesis's label for hard ones and
    classic mixup where τ_ij(λ) = λ.

    >>> curves = Curves(("cat", "dog"), [[0, 0.5], [0.5, 0]], [[0, 8], [8, 0]])
    >>> cat, dog = np.eye(2)[:1], np.eye(2)[1:]
    >>> mixed_by_curves(cat, dog, np.array([0.25]), curves).round(3)
    array([[0.119, 0.881]])
    """
    table = curves.at(coefficient)  # (mixes, classes, classes)
    return first * np.einsum("nj,nij->ni", second, table) + second * np.einsum(
        "ni,nij->nj", first, 1 - table
    )


def _check(curves: Curves) -> None:
    steep, middle = curves.steepness, curves.midpoint
    if (np.isnan(steep) != np.isnan(middle)).any():
        raise DataError("A pair of classes has a midpoint or a steepness, but not both.")
    if np.isinf(steep).any() or np.isinf(middle).any() or (steep < 0).any():
        raise DataError("The steepness of a curve must be a number of at least 0: curves rise.")
    agree = np.isclose(steep, steep.T, equal_nan=True)
    agree &= np.isclose(middle + middle.T, 1) | (np.isnan(middle) & np.isnan(middle.T))
    if not agree.all():
        row, column = np.argwhere(~agree)[0]
        raise DataError(
            f"The curves of {curves.classes[row]!r} with {curves.classes[column]!r} and the other "
            "way round disagree; the steepness must be the same and the midpoints add up to 1."
        )


# Turn what people saw in mixed images into a curve for each pair of classes, and into controls.
#
# A pair with too few answers, or whose answers no rising curve describes, gets no curve and is
# named with the reason; nothing takes its place unless it is asked for.

STEEPNESS = (0.0, 100.0)
"""Flat, and a step between neighbouring hundredths: a fit at a bound describes nothing."""
MIDPOINT = (-1.0, 2.0)
START = (0.5, 5.0)
"""Midpoint and steepness from which every fit sets out; 5 is about as steep as λ itself."""
FEWEST = 6
"""Answers that a pair needs: three for each of the two numbers that are fitted."""
FEWEST_COEFFICIENTS = 3

Resample = Literal["judgments", "images", "annotators"]
"""What is drawn anew: single answers, all about the same two images, or all of one person."""


@dataclass(frozen=True, eq=False)
class PairFit:
    """The curve of one pair of classes, or why there is none."""

    pair: tuple[str, str]
    judgments: int
    midpoint: float
    steepness: float
    covariance: NDArray[np.float64]  # (2, 2), of midpoint and steepness, by ``curve_fit``
    problem: str = ""
    """Empty if the fit is sound; numbers are NaN otherwise."""

    def at(self, coefficient: NDArray[np.float64]) -> NDArray[np.float64]:
        """τ(λ), the share of the pair's first class."""
        return logistic(coefficient, self.midpoint, self.steepness)

    def standard_error(self, coefficient: NDArray[np.float64]) -> NDArray[np.float64]:
        """The standard error of τ(λ), √(∇τᵀ C ∇τ) with the fit's covariance C.

        It takes answers for independent; ``bootstrap_curves`` need not.
        """
        slopes = []
        for bend in ((1e-5, 0.0), (0.0, 1e-5)):
            above = (self.midpoint + bend[0], self.steepness + bend[1])
            below = (self.midpoint - bend[0], self.steepness - bend[1])
            rise = logistic(coefficient, *above)
            slopes.append((rise - logistic(coefficient, *below)) / 2e-5)
        gradient = np.stack(slopes, axis=1)  # (coefficients, 2)
        return np.sqrt(np.einsum("ni,ij,nj->n", gradient, self.covariance, gradient))


@dataclass(frozen=True, eq=False)
class FittedCurves:
    """A fit for every pair of classes."""

    classes: tuple[str, ...]
    fits: tuple[PairFit, ...]
    provenance: Provenance = ()

    @property
    def problems(self) -> Mapping[tuple[str, str], str]:
        """The pairs of classes without a curve, and why."""
        return {fit.pair: fit.problem for fit in self.fits if fit.problem}

    @property
    def curves(self) -> Curves:
        """The curves; NaN for the pairs with problems."""
        parameters = {fit.pair: (fit.midpoint, fit.steepness) for fit in self.fits}
        return _curves(self.classes, parameters, self.provenance)

    def filled(self, instead: Curves) -> Curves:
        """The curves, with those of ``instead`` for the pairs with problems, which are recorded."""
        curves, instead = self.curves, instead.over(self.classes)
        hole = np.isnan(curves.steepness)
        settings: dict[str, Setting] = {"pairs": [f"{a}, {b}" for a, b in self.problems]}
        return Curves(
            self.classes,
            np.where(hole, instead.midpoint, curves.midpoint),
            np.where(hole, instead.steepness, curves.steepness),
            provenance=(*self.provenance, Step("fill in curves", settings)),
        )


def fit_curves(
    percepts: Percepts,
    classes: Sequence[str],
    *,
    fewest: int = FEWEST,
) -> FittedCurves:
    """Fit τ_ij to (λ_f, λ_h) of every pair of classes by least squares (S2-65).

    Done by ``scipy.optimize.curve_fit`` as in the thesis, with the steepness kept at 0 or more,
    so that curves never fall. A mix of j with i counts as one of i with j: both its coefficients
    are turned round. Mixes of two images of one class say nothing here and are counted in the
    provenance.
    """
    shown, seen, code, same = _by_pair(percepts, classes)
    pairs = list(itertools.combinations(classes, 2))
    fits = tuple(
        _fit_pair(pair, shown[code == place], seen[code == place], fewest)
        for place, pair in enumerate(pairs)
    )
    step = Step("fit curves", {"fewest": fewest, "judgments_of_one_class": same})
    return FittedCurves(tuple(classes), fits, (*percepts.provenance, step))


def bootstrap_curves(
    percepts: Percepts,
    classes: Sequence[str],
    *,
    resample: Resample = "images",
    draws: int = 200,
    fewest: int = FEWEST,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Midpoint and steepness of each pair in every draw, (draws, pairs, 2).

    Pairs are in the order of ``fit_curves(...).fits``; NaN where a draw could not be fitted, so
    that the share of NaN tells how fragile a pair's curve is.
    """
    shown, seen, code, _ = _by_pair(percepts, classes)
    groups = _groups(percepts, resample)[_informative(percepts)]
    pairs = list(itertools.combinations(classes, 2))
    found = np.full((draws, len(pairs), 2), np.nan)
    for place, pair in enumerate(pairs):
        mine = np.flatnonzero(code == place)
        members = [mine[groups[mine] == group] for group in np.unique(groups[mine])]
        if not members:
            continue
        for draw in range(draws):
            drawn = rng.integers(len(members), size=len(members))
            rows = np.concatenate([members[group] for group in drawn])
            fit = _fit_pair(pair, shown[rows], seen[rows], fewest)
            found[draw, place] = fit.midpoint, fit.steepness
    return found


def pooled_curves(percepts: Percepts, classes: Sequence[str]) -> Curves:
    """One curve for all pairs: what people see, but not what is special about a pair (S2-66).

    Which class is the first is arbitrary, so the midpoint is ½; the steepness is fitted.
    """
    shown, seen, _, _ = _by_pair(percepts, classes)
    step = Step("pool curves", {"judgments": len(shown)})
    return _one_curve(shown, seen, classes, (*percepts.provenance, step))


def identity_curves(coefficients: Sequence[float], classes: Sequence[str]) -> Curves:
    """The logistic that is nearest to λ_g = λ_f at these coefficients: no people at all (S2-66).

    What it does to a training is what the form of the curve does, without any person's eye.
    """
    shown = np.array(coefficients, dtype=np.float64)
    step = Step("fit curves to the coefficients themselves")
    return _one_curve(shown, shown, classes, (step,))


def shuffled_curves(curves: Curves, *, rng: np.random.Generator) -> Curves:
    """People's curves, each for another pair of classes than it was fitted to (S2-66).

    Turned round or not by chance, since the order of two classes means nothing.
    """
    if curves.missing:
        first, second = curves.missing[0]
        raise DataError(
            f"The pair {first!r}, {second!r} has no curve to shuffle; fill it in first."
        )
    pairs = _pairs(curves.classes)
    if len(pairs) < 2:
        raise DataError("Two classes have one curve only; there is no other to put in its place.")
    order = rng.permutation(len(pairs))
    turned = rng.random(len(pairs)) < 0.5
    parameters = {}
    for place, taken in zip(order, np.roll(order, 1), strict=True):
        row, column = (curves.classes.index(name) for name in pairs[taken])
        middle = float(curves.midpoint[row, column])
        middle = 1 - middle if turned[place] else middle
        parameters[pairs[place]] = (middle, float(curves.steepness[row, column]))
    step = Step("shuffle curves among class pairs")
    return _curves(curves.classes, parameters, (*curves.provenance, step))


def _fit_pair(
    pair: tuple[str, str],
    shown: NDArray[np.float64],
    seen: NDArray[np.float64],
    fewest: int,
) -> PairFit:
    number, kinds = len(shown), len(np.unique(shown))
    if number < fewest or kinds < FEWEST_COEFFICIENTS:
        problem = (
            f"{number} judgments of {kinds} coefficients; at least {fewest} of "
            f"{FEWEST_COEFFICIENTS} are needed"
        )
        return _without(pair, number, problem)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", OptimizeWarning)
            (middle, steep), covariance = curve_fit(
                logistic,
                shown,
                seen,
                p0=START,
                bounds=tuple(zip(MIDPOINT, STEEPNESS, strict=True)),
            )
    except (RuntimeError, OptimizeWarning) as error:
        return _without(pair, number, f"no curve was found: {error}")
    for name, value, bounds in (("midpoint", middle, MIDPOINT), ("steepness", steep, STEEPNESS)):
        if np.isclose(value, bounds, atol=1e-3).any():
            problem = f"the {name} runs off to {value:.3g}: no rising curve describes the answers"
            return _without(pair, number, problem)
    return PairFit(pair, number, float(middle), float(steep), covariance)


def _without(pair: tuple[str, str], number: int, problem: str) -> PairFit:
    return PairFit(pair, number, np.nan, np.nan, np.full((2, 2), np.nan), problem)


def _one_curve(
    shown: NDArray[np.float64],
    seen: NDArray[np.float64],
    classes: Sequence[str],
    provenance: Provenance,
) -> Curves:
    if len(np.unique(shown)) < FEWEST_COEFFICIENTS:
        raise DataError(
            f"A curve needs at least {FEWEST_COEFFICIENTS} different coefficients; there are "
            f"{len(np.unique(shown))}."
        )
    (steep,), _ = curve_fit(
        lambda x, k: logistic(x, 0.5, k), shown, seen, p0=START[1:], bounds=STEEPNESS
    )
    parameters = dict.fromkeys(_pairs(classes), (0.5, float(steep)))
    return _curves(classes, parameters, provenance)


def _pairs(classes: Sequence[str]) -> list[tuple[str, str]]:
    return list(itertools.combinations(classes, 2))


def _curves(
    classes: Sequence[str],
    parameters: Mapping[tuple[str, str], tuple[float, float]],
    provenance: Provenance,
) -> Curves:
    place = {name: code for code, name in enumerate(classes)}
    midpoint = np.full((len(classes), len(classes)), np.nan)
    steepness = midpoint.copy()
    for (first, second), (middle, steep) in parameters.items():
        row, column = place[first], place[second]
        midpoint[row, column], midpoint[column, row] = middle, 1 - middle
        steepness[row, column] = steepness[column, row] = steep
    return Curves(tuple(classes), midpoint, steepness, provenance=provenance)


def _by_pair(
    percepts: Percepts, classes: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], int]:
    """λ_f, λ_h and the place of the pair of each judgment of two classes; how many are of one."""
    place = {name: code for code, name in enumerate(classes)}
    for mix in percepts.mixes:
        for name in (mix.first_class, mix.second_class):
            if name not in place:
                raise DataError(f"The mix {mix.item!r} is of the class {name!r}, which is unknown.")
    ends = np.array([(place[m.first_class], place[m.second_class]) for m in percepts.mixes])
    kept = _informative(percepts)
    first, second = ends[percepts.mix[kept]].T
    shown = np.array([mix.coefficient for mix in percepts.mixes])[percepts.mix[kept]]
    seen, turned = percepts.coefficient[kept], first > second
    low, high = np.minimum(first, second), np.maximum(first, second)
    # Pairs in the order of itertools.combinations.
    code = low * (2 * len(classes) - low - 1) // 2 + high - low - 1
    return (
        np.where(turned, 1 - shown, shown),
        np.where(turned, 1 - seen, seen),
        code,
        int((~kept).sum()),
    )


def _informative(percepts: Percepts) -> NDArray[np.bool_]:
    two = np.array([mix.first_class != mix.second_class for mix in percepts.mixes])
    return two[percepts.mix]


def _groups(percepts: Percepts, resample: Resample) -> NDArray[np.int64]:
    match resample:
        case "judgments":
            return np.arange(len(percepts))
        case "annotators":
            return percepts.annotator
        case "images":
            names = [(mix.first_item, mix.second_item) for mix in percepts.mixes]
            codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
            return np.array([codes[name] for name in names], dtype=np.int64)[percepts.mix]
        case _:
            assert_never(resample)


# Label mixes without people: what Gaussians fitted to each class would call them.


def gaussian_labels(
    features: NDArray[np.float64],
    labels: LabelSet,
    items: Sequence[str],
    mixed_features: NDArray[np.float64],
    *,
    ridge: float = 1e-3,
) -> LabelSet:
    """p(c|x̃) ∝ N(x̃; μ_c, Σ_c), a Gaussian per class, classes equally likely beforehand.

    The control of S2-66 after Sohn et al. (2022), who call it GenLabel: ``features`` of the
    images behind ``labels`` (hard), row for row, describe the classes; ``mixed_features`` are
    those of the mixes ``items``. Pixels will do for small images; otherwise take what a network
    computes before its last layer. ``ridge``, in units of the features' mean variance, is added
    to the diagonal of every Σ_c, which a class with few images cannot fill.
    """
    if features.shape[0] != len(labels) or mixed_features.shape != (len(items), features.shape[1]):
        raise DataError(
            f"There are {len(labels)} labels and {len(items)} mixes, but features of shape "
            f"{features.shape} and {mixed_features.shape}."
        )
    if not ridge > 0:
        raise DataError(f"The ridge of the Gaussians is {ridge}; it must be above 0.")
    if (labels.probs.max(axis=1) < 1).any():
        raise DataError("Gaussians of classes need hard labels; use majority_labels first.")
    chosen = labels.probs.argmax(axis=1)
    floor = ridge * float(features.var(axis=0).mean()) * np.eye(features.shape[1])
    logs = np.empty((len(items), len(labels.classes)))
    for code, name in enumerate(labels.classes):
        rows = features[chosen == code]
        if not len(rows):
            raise DataError(f"No image is of the class {name!r}, so it has no Gaussian.")
        logs[:, code] = _log_density(mixed_features, rows, floor)
    step = Step("label by Gaussians", {"ridge": ridge, "images": len(labels)})
    return LabelSet(tuple(items), labels.classes, softmax(logs, axis=1), provenance=(step,))


def _log_density(
    points: NDArray[np.float64], rows: NDArray[np.float64], floor: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of the Gaussian fitted to ``rows``, but for a constant that all classes share."""
    centred = rows - rows.mean(axis=0)
    root = cholesky(centred.T @ centred / len(rows) + floor, lower=True)
    whitened = solve_triangular(root, (points - rows.mean(axis=0)).T, lower=True)
    return -0.5 * (whitened**2).sum(axis=0) - np.log(np.diag(root)).sum()
