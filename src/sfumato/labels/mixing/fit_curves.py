"""Turn what people saw in mixed images into a curve for each pair of classes, and into controls.

A pair with too few answers, or whose answers no rising curve describes, gets no curve and is
named with the reason; nothing takes its place unless it is asked for.
"""

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeWarning, curve_fit

from sfumato.errors import DataError
from sfumato.labels.mixing.curves import Curves, logistic
from sfumato.labels.mixing.percepts import Percepts
from sfumato.provenance import Provenance, Setting, Step

__all__ = [
    "FittedCurves",
    "PairFit",
    "bootstrap_curves",
    "fit_curves",
    "identity_curves",
    "pooled_curves",
    "shuffled_curves",
]

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
