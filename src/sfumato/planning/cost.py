"""Turn prices into what answers cost, and costs and correlations into a loss.

A cost is that of one answer by one person about one item, in any unit: seconds, money, or
hard labels, as the paper counts (S1-31). A label of M people costs M times as much (S2-39).
The loss of a form of answer is L = β·c - u(ρ) (S1-33): c is what the whole collection costs,
u what a correlation ρ of recovered and true similarities is worth, β how much of that one
gives up for a unit of cost. With the paper's costs a hard label is the unit, so c is n for
hard and n·k for soft labels. The information ratio may stand in for ρ.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, isfinite
from typing import Literal, TypeVar, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit, logit

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.question import Kind
from sfumato.names import find
from sfumato.planning.information import FORMS, AskedForm
from sfumato.stats import Interval, bootstrap_statistics, percentile_interval

Utility = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""What correlations are worth; only differences count, so any constant may be added."""

CLIP = 0.01
"""The inverse sigmoid is endless at 0 and 1; correlations are kept this far from both."""


WITH_ALL = ("soft", "yes-no-unsure")
"""Forms whose answers name every class, so that they cost more where there are more."""

WITH_KEPT = ("sparse", "top-class")
"""The forms of answer that have a k̂."""


@dataclass(frozen=True)
class Cost:
    """What one answer of a form costs, and how that is known."""

    form: str
    value: float
    unit: str = "seconds"
    low: float | None = None
    high: float | None = None
    """95 % interval over people; None where the cost was not measured on several."""
    kept: int | None = None
    """The k̂ of the answer that costs this much; other k̂ then cost in proportion (S1-31)."""
    answers: int = 0
    people: int = 0
    source: Literal["given", "assumed", "measured"] = "given"
    classes: int | None = None
    """The k of the answer that costs this much, if it names all classes; others in proportion."""

    def __post_init__(self) -> None:
        find(FORMS, self.form, what="form of answer")
        if not (isfinite(self.value) and self.value > 0):
            raise DataError(
                f"An answer of the form {self.form!r} costs {self.value:g} {self.unit}; give a "
                "cost above zero."
            )


def given_costs(
    prices: Mapping[str, float], *, unit: str = "seconds", kept: int | None = None
) -> dict[str, Cost]:
    """Costs as somebody states them; each must be above zero.

    ``kept`` is the k̂ that the prices of sparse and top-class answers are for.

    >>> given_costs({"hard": 1.8, "sparse": 32})["sparse"].value
    32.0
    """
    return {
        form: Cost(form, float(price), unit, kept=kept if form in WITH_KEPT else None)
        for form, price in prices.items()
    }


def assumed_cost(form: str, *, classes: int, kept: int = 2, each: float = 1.0) -> Cost:
    """The paper's assumption: an answer costs as much as the numbers or choices in it (S1-31).

    One for a hard label, a typicality, a pair or a triplet, k for soft labels and yes/no/unsure,
    k̂ for sparse and top-class ones, each times ``each``.

    >>> assumed_cost("soft", classes=20).value, assumed_cost("sparse", classes=20, kept=3).value
    (20.0, 3.0)
    """
    find(FORMS, form, what="form of answer")
    inputs = {"soft": classes, "yes-no-unsure": classes, "sparse": kept, "top-class": kept}
    at = kept if form in WITH_KEPT else None
    return Cost(form, inputs.get(form, 1) * each, "hard labels", kept=at, source="assumed")


def total_cost(cost: Cost, *, items: int, people: int = 1, answers: int | None = None) -> float:
    """What a whole collection costs: cost · answers · M (S1-31, S2-39).

    Labels need one answer an item; ratings of pairs n(n-1)/2 and triplets 3·C(n, 3), or as many
    as ``answers`` says.

    >>> total_cost(Cost("sparse", 32), items=1000, people=6)
    192000.0
    """
    AskedForm(items, classes=3)  # the check of the number of items
    if people < 1:
        raise DataError(f"{people} people per item were planned; plan 1 or more.")
    match cost.form:
        case "pairs":
            needed = comb(items, 2)
        case "triplets":
            needed = 3 * comb(items, 3)
        case _:
            needed = items
    return float(cost.value * (needed if answers is None else answers) * people)


def linear(rho: NDArray[np.float64]) -> NDArray[np.float64]:
    """u(ρ) = ρ."""
    return np.asarray(rho, dtype=np.float64)


def sigmoid(rho: NDArray[np.float64]) -> NDArray[np.float64]:
    """u(ρ) = 1/(1 + exp(-ρ))."""
    return np.asarray(expit(rho), dtype=np.float64)


def inverse_sigmoid(rho: NDArray[np.float64]) -> NDArray[np.float64]:
    """u(ρ) = log(ρ/(1-ρ)), with ρ kept between 0.01 and 0.99: the last per cent are dear."""
    return np.asarray(logit(np.clip(rho, CLIP, 1 - CLIP)), dtype=np.float64)


UTILITIES: dict[str, Utility] = {
    "linear": linear,
    "sigmoid": sigmoid,
    "inverse-sigmoid": inverse_sigmoid,
}
"""What a correlation is worth (S1-32); the paper's scale b is part of β."""


def loss(
    rho: float | NDArray[np.float64],
    cost: float | NDArray[np.float64],
    *,
    beta: float,
    utility: str | Utility = "linear",
) -> NDArray[np.float64]:
    """L = β·c - u(ρ); the less the better (S1-33).

    >>> loss(0.9, 1600, beta=1e-4).round(3), loss(0.3, 80, beta=1e-4).round(3)
    (np.float64(-0.74), np.float64(-0.292))
    """
    if not (np.isfinite(beta) and beta >= 0):
        raise DataError(f"The weight of the cost (β) is {beta:g}; give zero or more.")
    _, worth = utility_named(utility)
    return beta * np.asarray(cost, dtype=np.float64) - worth(np.asarray(rho, dtype=np.float64))


def break_even(
    rho_first: float,
    rho_second: float,
    *,
    cost_first: float,
    cost_second: float,
    utility: str | Utility = "linear",
) -> float:
    """The β at which two forms are equally good: (u(ρ₁) - u(ρ₂)) / (c₁ - c₂).

    Below it the dearer form is better, above it the cheaper one. Zero or less: the dearer form
    never is. Not defined for equal costs.

    >>> round(break_even(0.9, 0.3, cost_first=1600, cost_second=80), 6)  # soft and hard, n=80, k=20
    0.000395
    """
    if cost_first == cost_second:
        raise DataError(f"Both cost {cost_first:g}, so no weight of the cost decides between them.")
    _, worth = utility_named(utility)
    gain = worth(np.array([rho_first])) - worth(np.array([rho_second]))
    return float(gain[0] / (cost_first - cost_second))


def utility_named(utility: str | Utility) -> tuple[str, Utility]:
    """The name and the function of a utility: one of ``UTILITIES``, or one's own."""
    if isinstance(utility, str):
        return utility, find(UTILITIES, utility, what="utility")
    return getattr(utility, "__name__", "own"), utility


# Turn the times people took into what answers cost, and into an axis for scores.

Middle = Literal["median", "mean"]
"""The median is not moved by people who left the room; totals of bills are means."""

FORM_OF_QUESTION: dict[Kind, str] = {
    "choose-one": "hard",
    "top-two": "sparse",
    "sliders": "soft",
    "typicality": "typicality",
    "yes-no-unsure": "yes-no-unsure",
    "top-class": "top-class",
    "sparse": "sparse",
    "likely-set": "yes-no-unsure",
    "ranking": "sparse",
    "confidence": "sparse",
    "distribution": "soft",
    "rating": "hard",
    "number": "soft",
    "multi-label": "yes-no-unsure",
    "three-point": "soft",
    "own-and-others": "hard",
}
"""Which form of answer a question asks for."""

PUBLISHED_SECONDS: dict[str, tuple[str, float, str]] = {
    "cifar10s": ("sparse", 32.0, "S2, S3: median for two probabilities and what is impossible"),
    "cifar10h-s2": ("hard", 2.5, "S2: a vote of CIFAR-10H"),
    "cifar10h-s3": ("hard", 1.8, "S3: the same vote; the two papers differ (C9)"),
}
"""Seconds an answer that the papers report: form, seconds, where."""


def measured_cost(
    answers: Judgments | Comparisons,
    *,
    by: Middle = "median",
    rng: np.random.Generator,
    draws: int = 1000,
) -> Cost:
    """Seconds an answer took, with an interval over people (answers of a person go together).

    Of judgments the ones labels are made from count: first views, each person once an item.
    """
    form = _form_of(answers)
    chosen = select(answers) if isinstance(answers, Judgments) else _first(answers)
    table = chosen.table
    timed = table.select("annotator", "seconds").drop_nulls("seconds")
    if not len(timed):
        raise DataError(
            f"None of the {len(table)} answers of the form {form!r} has a time, so what they cost "
            "cannot be measured; give a cost instead."
        )
    who = timed["annotator"].fill_null("").to_numpy()
    seconds = timed["seconds"].to_numpy()
    people = timed["annotator"].drop_nulls().n_unique()
    low, high = _interval(seconds, who, by, rng=rng, draws=draws) if people > 1 else (None, None)
    value = float(_middle(seconds, by))
    kept = kept_classes(chosen) if isinstance(chosen, Judgments) else None
    return Cost(form, value, "seconds", low, high, kept, len(timed), people, source="measured")


def kept_classes(judgments: Judgments) -> int | None:
    """The k̂ of the form; of a ranking, as many classes as people put in order on average."""
    question = judgments.question
    match question.kind:
        case "top-two":
            return 2
        case "confidence":
            return 1
        case "sparse":
            return int(question.options["count"])
        case "top-class":
            return len(question.options["subset"])
        case "ranking":
            named = (judgments.statements.rank > 0).sum(axis=1)[judgments.statements.index]
            return max(1, round(float(named.mean())))
        case _:
            return None


def _form_of(answers: Judgments | Comparisons) -> str:
    if isinstance(answers, Judgments):
        return FORM_OF_QUESTION[answers.question.kind]
    return answers.question.kind


def _first(answers: Comparisons) -> Comparisons:
    return Comparisons(answers.question, answers.table.filter(pl.col("view") == "first"))


def _middle(seconds: NDArray[np.float64], by: Middle) -> float:
    match by:
        case "median":
            return float(np.median(seconds))
        case "mean":
            return float(np.mean(seconds))
        case _:
            assert_never(by)


def _interval(
    seconds: NDArray[np.float64],
    who: NDArray[np.generic],
    by: Middle,
    *,
    rng: np.random.Generator,
    draws: int,
) -> Interval:
    _, code = np.unique(who, return_inverse=True)
    order = np.argsort(code, kind="stable")
    of_person = np.split(seconds[order], np.cumsum(np.bincount(code))[:-1])

    def middle(picked: NDArray[np.int64]) -> list[float]:
        return [_middle(np.concatenate([of_person[person] for person in picked]), by)]

    drawn = bootstrap_statistics(middle, len(of_person), rng=rng, draws=draws)
    return percentile_interval(drawn[:, 0])


# Turn how well answers recover a space, and what they cost, into a preference.

TASK = ["items", "classes", "utility", "beta"]

Value = TypeVar("Value")


def losses(
    recovered: pl.DataFrame,
    *,
    betas: Sequence[float],
    utilities: Sequence[str | Utility] = ("linear",),
    costs: Mapping[str, Cost] | None = None,
    people: int | Mapping[str, int] = 1,
) -> pl.DataFrame:
    """The loss of every row of ``recovered``, for every β and utility.

    ``recovered`` has the columns ``form``, ``kept`` (k̂ or null), ``items``, ``classes`` and
    ``rho``, as ``information.ratio_table`` gives it. Without ``costs`` the paper's hold, which grow
    with the number of inputs (S1-31); ``people`` is M, for all or by form. A cost that names
    its k̂, or the k of an answer about all classes, is taken in proportion at others. Adds ``cost``,
    ``utility``, ``beta``, ``loss``.
    """
    for name in ("form", "kept", "items", "classes", "rho"):
        if name not in recovered.columns:
            raise DataError(f"The table of correlations lacks the column {name!r}.")
    spent = [
        total_cost(
            _cost(row["form"], row["classes"], row["kept"], costs),
            items=row["items"],
            people=people if isinstance(people, int) else _of(people, row["form"]),
        )
        for row in recovered.iter_rows(named=True)
    ]
    priced = recovered.with_columns(pl.Series("cost", spent, dtype=pl.Float64))
    rho, cost = priced["rho"].to_numpy(), priced["cost"].to_numpy()
    parts = [
        priced.with_columns(
            pl.lit(name).alias("utility"),
            pl.lit(float(beta)).alias("beta"),
            pl.Series("loss", loss(rho, cost, beta=beta, utility=worth)),
        )
        for name, worth in map(utility_named, utilities)
        for beta in betas
    ]
    return pl.concat(parts)


def preferred_forms(found: pl.DataFrame) -> pl.DataFrame:
    """The form (and k̂) of least loss for every task, β and utility, and by how much (S1-34).

    ``margin`` is the loss of the next best form minus that of the best one; null with one form.
    """
    each = _least(found).sort("loss", maintain_order=True)
    return (
        each.group_by(TASK, maintain_order=True)
        .agg(
            pl.col("form", "kept", "rho", "cost", "loss").first(),
            (pl.col("loss").get(1, null_on_oob=True) - pl.col("loss").first()).alias("margin"),
        )
        .sort("utility", "beta", "items", "classes")
    )


def preference_map(
    found: pl.DataFrame, *, first: str = "soft", second: str = "hard"
) -> pl.DataFrame:
    """By how much ``first`` is preferred to ``second``, over n and k: a table to draw (S1-34).

    Columns ``panel`` (utility and β), ``x`` (items), ``y`` (classes), ``value``: the loss of
    ``second`` minus that of ``first``, above zero where ``first`` is better. A form with several
    k̂ is taken at its best one.
    """
    least = _least(found)
    sides = [_rows_of(least, form).select(*TASK, "loss") for form in (first, second)]
    # panels in the order they were asked for, not in that of their losses
    tasks = found.select(TASK).unique(maintain_order=True)
    both = tasks.join(sides[0], on=TASK, maintain_order="left").join(
        sides[1], on=TASK, suffix="_second", maintain_order="left"
    )
    return both.select(
        _panel(),
        pl.col("items").alias("x"),
        pl.col("classes").alias("y"),
        (pl.col("loss_second") - pl.col("loss")).alias("value"),
    )


def best_kept(found: pl.DataFrame, form: str = "sparse") -> pl.DataFrame:
    """The k̂ of least loss of a form, for every task, β and utility (S1-35).

    The smallest k̂ where several are as good.
    """
    mine = _rows_of(found, form)
    if mine["kept"].null_count():
        raise DataError(f"Answers of the form {form!r} have no k̂ to choose.")
    return _least(mine).sort("utility", "beta", "items", "classes")


def sparsity_curves(found: pl.DataFrame) -> pl.DataFrame:
    """Loss against k̂, with forms that have no k̂ as level lines: a table to draw (S1-35, S1-F6).

    Columns ``panel`` (task, utility and β, in the order of ``found``), ``series`` (form), ``x``
    (k̂), ``value`` (loss).
    """
    panel = pl.format("n = {}, k = {}, {}", "items", "classes", _panel())
    named = found.with_columns(panel.alias("panel"))
    curves = named.filter(pl.col("kept").is_not_null())
    if not len(curves):
        raise DataError("No form in the table has a k̂; add sparse or top-class answers.")
    ticks = curves.select("panel", "kept").unique(maintain_order=True)
    level = named.filter(pl.col("kept").is_null()).drop("kept")
    flat = level.join(ticks, on="panel", maintain_order="left")
    drawn = pl.concat(
        [part.select("panel", series="form", x="kept", value="loss") for part in (curves, flat)]
    )
    panels = named.select("panel").unique(maintain_order=True).with_row_index("place")
    placed = drawn.join(panels, on="panel", maintain_order="left")
    return placed.sort("place", "series", "x", maintain_order=True).drop("place")


def _cost(form: str, classes: int, kept: int | None, costs: Mapping[str, Cost] | None) -> Cost:
    if costs is None:
        return assumed_cost(form, classes=classes, kept=kept or 1)
    known = _of(costs, form)
    if form in WITH_ALL and known.classes is not None:
        return replace(known, value=known.value * classes / known.classes, classes=classes)
    if kept is None or known.kept is None:
        return known
    return replace(known, value=known.value * kept / known.kept, kept=kept)


def _of(table: Mapping[str, Value], form: str) -> Value:
    if form not in table:
        raise DataError(f"Nothing is said about the form {form!r}; known are {', '.join(table)}.")
    return table[form]


def _rows_of(found: pl.DataFrame, form: str) -> pl.DataFrame:
    mine = found.filter(form=form)
    if not len(mine):
        raise DataError(
            f"There are no losses of the form {form!r}; known are "
            f"{', '.join(found['form'].unique().sort())}."
        )
    return mine


def _least(found: pl.DataFrame) -> pl.DataFrame:
    """One row a task and form: the one of least loss, of the smallest k̂ among equals."""
    ordered = found.sort("loss", "kept", nulls_last=True, maintain_order=True)
    return ordered.unique([*TASK, "form"], keep="first", maintain_order=True)


def _panel() -> pl.Expr:
    weight = pl.col("beta").map_elements("{:g}".format, pl.String)
    return pl.format("{}, β = {}", "utility", weight).alias("panel")
