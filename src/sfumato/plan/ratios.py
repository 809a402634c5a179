"""Turn constraint counts into what to expect of them: regimes, noise, several modes, maps.

The information ratio behaves differently with many items a class, one, and fewer than one
(S1-25). Wrong answers make it smaller (S1-26, S1-27), classes with several modes leave more
to find out (S1-63).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, Unpack, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import entr

from sfumato.errors import DataError
from sfumato.names import find
from sfumato.plan.information import (
    FORMS,
    Asked,
    Information,
    Options,
    all_constraints,
    constraints,
    information,
)

__all__ = [
    "NOISE",
    "Named",
    "Regime",
    "asymptote",
    "multimodal",
    "noisy",
    "noisy_ratio",
    "ratio_table",
    "regime",
    "stochastic_ratio",
]

Regime = Literal["many-shot", "one-shot", "less-than-one-shot"]
"""More items than classes, as many, fewer (S1-25)."""

Named = Literal["mode", "class"]
"""What people name where a class has several modes: the mode itself, or only its class."""


def regime(items: int, classes: int) -> Regime:
    """In which of the three regimes a task lies (S1-25).

    >>> regime(80, 20), regime(20, 20), regime(10, 20)
    ('many-shot', 'one-shot', 'less-than-one-shot')
    """
    if items == classes:
        return "one-shot"
    return "many-shot" if items > classes else "less-than-one-shot"


def asymptote(
    form: str, where: Regime, *, items: int, classes: int, **options: Unpack[Options]
) -> float:
    """What the information ratio tends to in a regime: n → ∞, n = k → ∞, or k → ∞ (S1-25).

    Soft: k/n, 1/4, n/k. Hard: 2(1-1/k)/n, 1/(2n), 2n/k². Others follow from the share of unequal
    pairs in a column (many-shot) or from the s classes an item marks: s/(2n), 2ns/k². Pairs and
    triplets of items know no regimes: their ratio itself.

    >>> asymptote("soft", "one-shot", items=90, classes=90)
    0.25
    """
    how = find(FORMS, form, what="form of answer")
    asked = Asked(items, classes, **options)
    if how.places == "items":
        return float(information(form, items=items, classes=classes, **options).ratio)
    match where:
        case "many-shot":  # columns win: k · n² · share/2 of n³/2
            return float(classes * _unequal_share(form, asked) / items)
        case "one-shot":
            return _one_shot(form, asked)
        case "less-than-one-shot":
            return _less_than_one_shot(form, asked)
        case _:
            assert_never(where)


def noisy(count: float, flipped: float, rule: str = "linear") -> float:
    """Constraints that are left when a share of the answers is flipped (S1-27).

    ``rule`` is a name of ``NOISE``: the paper's (1-ε)·T, or the bits that get through a channel
    which flips with chance ε, (1-H₂(ε))·T. At ε = 1/2 nothing is told, and only the second
    says so: it is also the one that goes with measured embeddings.

    >>> noisy(7600, 0.1), round(noisy(7600, 0.1, "capacity"))
    (6840.0, 4036)
    """
    if not 0 <= flipped <= 0.5:
        raise DataError(
            f"The share of flipped answers is {flipped}; give 0 to 0.5, where answers are guesses."
        )
    return float(count * find(NOISE, rule, what="noise rule")(flipped))


def noisy_ratio(known: Information, flipped: float, rule: str = "linear") -> float:
    """The information ratio with a share of the answers flipped."""
    return noisy(known.constraints, flipped, rule) / known.possible


def stochastic_ratio(chances: NDArray[np.float64], possible: int) -> float:
    """1 - H/H_max, with answers known only by chance (S1-26).

    ``chances`` holds for each answered comparison the probability that it goes one way; all
    others of the ``possible`` ones stay a whole bit each.

    >>> stochastic_ratio(np.array([1.0, 0.0, 0.5]), 4)
    0.5
    """
    told = np.asarray(chances, dtype=np.float64)
    if not ((told >= 0) & (told <= 1)).all():
        bad = int(np.flatnonzero(~((told >= 0) & (told <= 1)))[0])
        raise DataError(f"Chance {bad} is {told[bad]}; a probability is from 0 to 1.")
    if len(told) > possible or possible < 1:
        raise DataError(f"{len(told)} comparisons were answered of only {possible} possible ones.")
    left = possible - len(told) + float(_bits(told).sum())
    return 1 - left / possible


def multimodal(
    form: str,
    *,
    items: int,
    modes: Sequence[int],
    named: Named = "mode",
    **options: Unpack[Options],
) -> Information:
    """What answers tell where class c has ``modes[c]`` centroids to be found (S1-63).

    The paper treats such classes as several classes of one mode each: people name the mode.
    Where they name only the class the constraints are those of the classes, and what is to be
    found out still grows with the number of modes.

    >>> multimodal("soft", items=80, modes=[2] * 10) == information("soft", items=80, classes=20)
    True
    >>> multimodal("soft", items=80, modes=[2] * 10, named="class").constraints
    35200
    """
    for place, count in enumerate(modes):
        if count < 1:
            raise DataError(f"Class {place} has {count} modes; give 1 or more.")
    centroids = sum(modes)
    match named:
        case "mode":
            return information(form, items=items, classes=centroids, **options)
        case "class":
            counted = constraints(form, items=items, classes=len(modes), **options)
            among = centroids if FORMS[form].places == "items and classes" else 0
            return Information(form, counted, all_constraints(items, among))
        case _:
            assert_never(named)


def ratio_table(
    forms: Sequence[str],
    *,
    items: Sequence[int],
    classes: Sequence[int],
    kept: Sequence[int] = (),
) -> pl.DataFrame:
    """Ratios over n and k: a row a form (with k̂ where it has one), number of items and of classes.

    Columns ``form``, ``kept`` (null where the form has none), ``items``, ``classes``, ``rho``:
    the ratio stands in for the ρ of an embedding (S1-33), so that the table can be handed to
    ``cost.losses``. k̂ above the number of classes is left out.
    """
    rows = []
    for form in forms:
        find(FORMS, form, what="form of answer")
        keeps: Sequence[int | None] = (kept or (2,)) if form in ("sparse", "top-class") else (None,)
        for n in items:
            for k in classes:
                for h in keeps:
                    if h is not None and h > k:
                        continue
                    extra = Options() if h is None else Options(kept=h)
                    told = information(form, items=n, classes=k, **extra)
                    rows.append((form, h, n, k, float(told.ratio)))
    schema = {
        "form": pl.String(),
        "kept": pl.Int64(),
        "items": pl.Int64(),
        "classes": pl.Int64(),
        "rho": pl.Float64(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _linear(flipped: float) -> float:
    """The share that is not flipped, as the paper counts (S1-27)."""
    return 1 - flipped


def _capacity(flipped: float) -> float:
    """The capacity of a binary symmetric channel, 1 - H₂(ε); it makes S1-26 exact."""
    return 1 - float(_bits(np.array([flipped]))[0])


NOISE: dict[str, Callable[[float], float]] = {"linear": _linear, "capacity": _capacity}
"""Which share of the constraints flipped answers leave."""


def _bits(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    return (entr(chances) + entr(1 - chances)) / np.log(2)


def _unequal_share(form: str, asked: Asked) -> Fraction:
    """Twice the share of unequal pairs in a column, averaged over classes, as n → ∞.

    A column of strictly ordered items counts 1; for marked ones see each form.
    """
    k = asked.classes
    match form:
        case "soft":
            return Fraction(1)
        case "top-class":
            return Fraction(asked.kept, k)
        case "sparse":
            return _ordered_share(Fraction(asked.kept, k))
        case "typicality" if asked.beside == "class":
            return _ordered_share(Fraction(1, k))
        case "typicality":
            return Fraction(1, k**2)
        case "hard":
            return 1 - Fraction(1, k) ** 2 - Fraction(k - 1, k) ** 2
        case "yes-no-unsure":
            levels = (asked.yes, asked.unsure, k - asked.yes - asked.unsure)
            return 1 - sum((Fraction(level, k) ** 2 for level in levels), Fraction(0))
        case _:
            raise AssertionError(f"no asymptote for {form}")


def _ordered_share(share: Fraction) -> Fraction:
    return 1 - (1 - share) ** 2  # all pairs but those that both lack the class


def _one_shot(form: str, asked: Asked) -> float:
    """Rows and columns are alike; of all constraints there are 4n³."""
    n, h = asked.items, asked.kept
    match form:
        case "soft":
            return 1 / 4
        case "top-class":  # columns hn²/2, and rows hn² if the classes not asked about are below
            return (3 if asked.unasked == "zero" else 1) * h / (8 * n)
        case _:
            return _marked(form, asked) / (2 * n)


def _less_than_one_shot(form: str, asked: Asked) -> float:
    """Rows win, with k²/2 or sk constraints an item; of all constraints there are k³/2."""
    n, k, h = asked.items, asked.classes, asked.kept
    match form:
        case "soft":
            return n / k
        case "top-class" if asked.unasked == "silent":  # the same few, however many classes
            return n * h * (n + h - 2) / k**3
        case "top-class":
            return 2 * n * h / k**2
        case _:
            return 2 * n * _marked(form, asked) / k**2


def _marked(form: str, asked: Asked) -> int:
    """How many classes of an item stand out from all the others."""
    if form == "typicality" and asked.beside == "nothing":
        return 0
    return FORMS[form].marks(asked)
