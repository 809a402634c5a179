"""How the label of a mix bends with its coefficient: a logistic curve for each pair of classes."""

from dataclasses import dataclass, replace
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.provenance import Provenance, Step

__all__ = ["CurveForm", "Curves", "logistic", "mixed_by_curves"]

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
