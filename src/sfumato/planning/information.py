"""Turn a form of answer, n items and k classes into what it tells: a number of triplet constraints.

A triplet constraint says "a is closer to b than to c"; it is one bit about where things lie
(S1-21). Answers about classes fix two kinds of them: an item is closer to one class centroid
than to another (found in a row of the labels), and a centroid is closer to one item than to
another (found in a column). Whatever is unequal in a row or a column is a constraint; ties
and classes that were not asked about are none. All counts are whole numbers, exact for any
n and k of 3 or more.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Literal, TypedDict, Unpack, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import entr

from sfumato.errors import DataError
from sfumato.names import find

FEWEST = 3
"""Items and classes from which a comparison of distances is a question at all."""

Unasked = Literal["silent", "zero"]
"""What classes outside a top-class question say: nothing, or (S1-05, literally) zero."""

Beside = Literal["class", "nothing"]
"""What is known beside a typicality: the item's class, as in CIFAR-10T, or nothing."""

Columns = Sequence[tuple[int | Fraction, int]]
"""How many items mark a class, and how many classes are marked by so many."""


class Options(TypedDict, total=False):
    """What can be said beside the numbers of items and classes; see ``AskedForm``."""

    kept: int
    sizes: Sequence[int] | None
    yes: int
    unsure: int
    unasked: Unasked
    beside: Beside
    answers: int | None
    levels: int | None


@dataclass(frozen=True)
class AskedForm:
    """How much is asked, and of how many items and classes."""

    items: int
    classes: int
    kept: int = 2
    """k̂, the classes scored in a sparse or a top-class answer."""
    sizes: Sequence[int] | None = None
    """How many items mark each class: class sizes for hard labels and typicality, summing to the
    items; for sparse answers summing to kept times the items. Left out: dealt evenly. Forms in
    which every item says the same number of things about each class do not need it."""
    yes: int = 1
    unsure: int = 1
    """Classes an item gets a yes and an unsure for."""
    unasked: Unasked = "silent"
    beside: Beside = "class"
    answers: int | None = None
    """Pairs or triplets asked about; left out: all of them."""
    levels: int | None = None
    """Points of the rating scale of pairs, used equally often; left out: no two ratings tie."""

    def __post_init__(self) -> None:
        for count, what in ((self.items, "items"), (self.classes, "classes")):
            if count < FEWEST:
                raise DataError(f"The number of {what} is {count}; a plan needs 3 or more {what}.")
        if not 1 <= self.kept <= self.classes:
            raise DataError(
                f"{self.kept} classes an answer were asked for; choose 1 to {self.classes}, the "
                "number of classes."
            )
        if self.yes < 0 or self.unsure < 0 or not 1 <= self.yes + self.unsure <= self.classes:
            raise DataError(
                f"{self.yes} yes and {self.unsure} unsure answers per item do not fit "
                f"{self.classes} classes; together they are 1 to {self.classes}."
            )
        if self.levels is not None and self.levels < 2:
            raise DataError(f"The rating scale has {self.levels} points; give 2 or more.")


@dataclass(frozen=True)
class Form:
    """A form of answer: what an annotator gives, and how its constraints are counted."""

    about: str
    count: Callable[[AskedForm, Columns], int | Fraction]
    marks: Callable[[AskedForm], int]
    """How many classes one item marks; 0 where marks say nothing or there are no classes."""
    places: Literal["items and classes", "items"] = "items and classes"
    """What the answers lay out in space, and all possible constraints are counted over."""


@dataclass(frozen=True)
class Information:
    """What one form of answer tells about one task."""

    form: str
    constraints: int
    possible: int
    """All constraints there are among what the answers lay out (S1-23)."""

    @property
    def ratio(self) -> Fraction:
        """The information ratio, constraints over all that are possible (S1-24)."""
        return Fraction(self.constraints, self.possible)


def constraints(form: str, *, items: int, classes: int, **options: Unpack[Options]) -> int:
    """How many triplet constraints a form's answers fix (S1-21, S1-22); options: ``AskedForm``.

    Classes are dealt as evenly as whole items allow, or have the given ``sizes`` (C18).

    >>> [constraints(form, items=80, classes=20) for form in ("hard", "soft")]
    [7600, 78400]
    >>> constraints("hard", items=80, classes=20, sizes=[61, *19 * [1]])
    4180
    """
    how = find(FORMS, form, what="form of answer")
    asked = AskedForm(items, classes, **options)
    counted = how.count(asked, _columns(form, asked))
    assert counted == int(counted)
    return int(counted)


def closed_form(form: str, *, items: int, classes: int, **options: Unpack[Options]) -> Fraction:
    """The paper's formula, in which a class has n/k items even where that is no whole number.

    T_H = n(k-1) + n²(1-1/k) (S1-21), T_S = kn(k+n-2)/2 (S1-22); likewise for the other forms.
    For hard labels it is an upper bound, reached only if k divides n (C18).

    >>> closed_form("hard", items=10, classes=20), constraints("hard", items=10, classes=20)
    (Fraction(285, 1), 280)
    """
    how = find(FORMS, form, what="form of answer")
    asked = AskedForm(items, classes, **options)
    return Fraction(how.count(asked, [(Fraction(items * how.marks(asked), classes), classes)]))


def all_constraints(items: int, classes: int = 0) -> int:
    """All constraints among n items and k class centroids, 3·C(n+k, 3) (S1-23).

    >>> all_constraints(80, 20)
    485100
    """
    return 3 * comb(items + classes, 3)


def information(form: str, *, items: int, classes: int, **options: Unpack[Options]) -> Information:
    """The constraints of a form next to all that are possible; options as in ``AskedForm``.

    >>> information("soft", items=80, classes=20)
    Information(form='soft', constraints=78400, possible=485100)
    """
    counted = constraints(form, items=items, classes=classes, **options)
    among = classes if FORMS[form].places == "items and classes" else 0
    return Information(form, counted, all_constraints(items, among))


def ratio(form: str, *, items: int, classes: int, **options: Unpack[Options]) -> Fraction:
    """The information ratio: constraints over all that are possible (S1-24).

    >>> ratio("hard", items=3, classes=3), ratio("soft", items=3, classes=3)
    (Fraction(1, 5), Fraction(3, 10))
    """
    return information(form, items=items, classes=classes, **options).ratio


def _unequal(*groups: int | Fraction) -> int | Fraction:
    """Pairs from different groups: (m² - Σ g²)/2 among m = Σ g."""
    pairs = Fraction(sum(groups) ** 2 - sum(group**2 for group in groups), 2)
    return int(pairs) if pairs.denominator == 1 else pairs


def _dealt(total: int, over: int) -> list[tuple[int, int]]:
    """``total`` things over some places, as evenly as possible: sizes and how many have them."""
    size, more = divmod(total, over)
    return [(size + 1, more), (size, over - more)]


def _columns(form: str, asked: AskedForm) -> Columns:
    how = FORMS[form]
    total = asked.items * how.marks(asked)
    if asked.sizes is None or not total:
        return _dealt(total, asked.classes)
    if form == "yes-no-unsure":
        raise DataError(
            "Uneven classes of yes/no/unsure answers are counted from the labels: use mined."
        )
    if len(asked.sizes) != asked.classes:
        raise DataError(f"There are {asked.classes} classes but sizes of {len(asked.sizes)}.")
    for place, size in enumerate(asked.sizes):
        if not 0 <= size <= asked.items:
            raise DataError(
                f"Class {place} is marked by {size} items; there are {asked.items}, so give 0 to "
                f"{asked.items}."
            )
    if sum(asked.sizes) != total:
        raise DataError(
            f"The class sizes sum to {sum(asked.sizes)}; {asked.items} items mark "
            f"{how.marks(asked)} classes each, so they sum to {total}."
        )
    return sorted(Counter(asked.sizes).items())


def _hard(asked: AskedForm, columns: Columns) -> int | Fraction:
    rows = asked.items * (asked.classes - 1)
    return rows + sum(often * _unequal(size, asked.items - size) for size, often in columns)


def _soft(asked: AskedForm, columns: Columns) -> int | Fraction:
    return asked.items * asked.classes * (asked.items + asked.classes - 2) // 2


def _ordered(asked: AskedForm, columns: Columns, kept: int) -> int | Fraction:
    """Scored things are in order and before those that are not, in rows and in columns."""
    n, k = asked.items, asked.classes
    rows = n * (comb(kept, 2) + kept * (k - kept))
    return rows + sum(
        often * (size * (size - 1) / _TWO + size * (n - size)) for size, often in columns
    )


_TWO = Fraction(2)


def _sparse(asked: AskedForm, columns: Columns) -> int | Fraction:
    return _ordered(asked, columns, asked.kept)


def _top_class(asked: AskedForm, columns: Columns) -> int | Fraction:
    n, h = asked.items, asked.kept
    among = n * comb(h, 2) + h * comb(n, 2)
    return among + (n * h * (asked.classes - h) if asked.unasked == "zero" else 0)


def _typicality(asked: AskedForm, columns: Columns) -> int | Fraction:
    if asked.beside == "class":
        return _ordered(asked, columns, 1)
    return sum(often * size * (size - 1) / _TWO for size, often in columns)


def _yes_no_unsure(asked: AskedForm, columns: Columns) -> int | Fraction:
    """Three levels; yes is dealt round the classes first, unsure goes on where yes ended."""
    n, k, yes, unsure = asked.items, asked.classes, asked.yes, asked.unsure
    rows = n * _unequal(yes, unsure, k - yes - unsure)
    if len(columns) == 1:  # the paper's fractions of an item
        marked = [(Fraction(n * yes, k), Fraction(n * unsure, k), k)]
        return rows + sum(o * _unequal(y, u, n - y - u) for y, u, o in marked)
    (least, more), (some, others) = divmod(n * yes, k), divmod(n * unsure, k)
    both = max(0, more + others - k)
    cells = [
        (least + 1, some + 1, both),
        (least + 1, some, more - both),
        (least, some + 1, others - both),
        (least, some, k - more - others + both),
    ]
    return rows + sum(often * _unequal(y, u, n - y - u) for y, u, often in cells if often)


def _pairs(asked: AskedForm, columns: Columns) -> int | Fraction:
    """Around each item, its rated neighbours are in order; neighbours are dealt evenly."""
    rated = _answers(asked, comb(asked.items, 2), "pairs")
    around = _dealt(2 * rated, asked.items)
    if asked.levels is None:
        return sum(often * comb(others, 2) for others, often in around)
    return sum(
        often
        * _unequal(*(size for size, many in _dealt(others, asked.levels) for _ in range(many)))
        for others, often in around
    )


def _triplets(asked: AskedForm, columns: Columns) -> int | Fraction:
    return _answers(asked, 3 * comb(asked.items, 3), "triplets")


def _answers(asked: AskedForm, most: int, what: str) -> int:
    if asked.answers is None:
        return most
    if not 1 <= asked.answers <= most:
        raise DataError(
            f"{asked.answers} {what} were asked for; {asked.items} items have {most} different "
            f"{what}, so give 1 to {most}."
        )
    return asked.answers


FORMS: dict[str, Form] = {
    "hard": Form("one class per item", _hard, lambda asked: 1),
    "soft": Form("a different number for every class", _soft, lambda asked: 0),
    "sparse": Form(
        "numbers for the k̂ most relevant classes of each item, the others below them",
        _sparse,
        lambda asked: asked.kept,
    ),
    "top-class": Form("numbers for the same k̂ classes on every item", _top_class, lambda asked: 0),
    "yes-no-unsure": Form(
        "yes, unsure or no for every class: three levels",
        _yes_no_unsure,
        lambda asked: asked.yes + asked.unsure,
    ),
    "typicality": Form(
        "how typical an item is of its class: an order inside each class",
        _typicality,
        lambda asked: 1,
    ),
    "pairs": Form("a rated similarity for pairs of items", _pairs, lambda asked: 0, places="items"),
    "triplets": Form(
        "which of two items is closer to a third", _triplets, lambda asked: 0, places="items"
    ),
}
"""The forms of answers by the names a person types."""


# Turn constraint counts into what to expect of them: regimes, noise, several modes, maps.
#
# The information ratio behaves differently with many items a class, one, and fewer than one
# (S1-25). Wrong answers make it smaller (S1-26, S1-27), classes with several modes leave more
# to find out (S1-63).

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
    asked = AskedForm(items, classes, **options)
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


def _unequal_share(form: str, asked: AskedForm) -> Fraction:
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


def _one_shot(form: str, asked: AskedForm) -> float:
    """Rows and columns are alike; of all constraints there are 4n³."""
    n, h = asked.items, asked.kept
    match form:
        case "soft":
            return 1 / 4
        case "top-class":  # columns hn²/2, and rows hn² if the classes not asked about are below
            return (3 if asked.unasked == "zero" else 1) * h / (8 * n)
        case _:
            return _marked(form, asked) / (2 * n)


def _less_than_one_shot(form: str, asked: AskedForm) -> float:
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


def _marked(form: str, asked: AskedForm) -> int:
    """How many classes of an item stand out from all the others."""
    if form == "typicality" and asked.beside == "nothing":
        return 0
    return FORMS[form].marks(asked)
