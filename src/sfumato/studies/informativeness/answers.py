"""Turn what a grid of simulated worlds found into answers to the claims of paper 2.

Every question is asked in each number of dimensions. Numbers are means over tasks (n, k, and k̂
where there is one); their 95 % intervals are Student's over seeds, each seed giving one mean.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.stats import spearmanr

from sfumato.errors import DataError
from sfumato.planning.grid import PAPER, means, ratio_correlation
from sfumato.planning.information import NOISE
from sfumato.planning.worlds import PCA
from sfumato.reporting.text import interval, number, signed
from sfumato.stats import Interval, student_interval
from sfumato.studies.answers import Found, decided, missing
from sfumato.studies.informativeness.study import SUBJECTS, Subject
from sfumato.studies.verdicts import Claimed

__all__ = [
    "Answer",
    "Told",
    "at_least",
    "correlated",
    "correlations",
    "falls_with_classes",
    "falls_with_items",
    "grows_on_the_diagonal",
    "hard_wins_as_tasks_grow",
    "linear_loss_of_flips",
    "much_better_with_few_items",
    "soft_stays_when_cheap",
    "soft_ties_when_small",
]

BETAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""What a hard label's cost is worth, from next to nothing to a tenth of a perfect ρ."""
MUCH = 2.0
"""How many times as much must be recovered to be called much."""
SMALL = 5
"""Up to so many items or classes there are few."""
TASK = ["dimensions", "items", "classes", "kept"]
DEARER = pl.col("items") * (pl.col("classes") - 1)
"""How much more soft labels cost than hard ones: nk answers against n."""
WORLD = ["items", "classes", "dimensions", "spread", "flipped", "seed"]


@dataclass(frozen=True, eq=False)
class Told:
    """The tables of a run."""

    grid: pl.DataFrame
    thinned: pl.DataFrame
    map_sizes: tuple[int, ...]
    subjects: tuple[Subject, ...] = SUBJECTS
    """What the study asked, which decides the claims that it answers."""


Answer = Callable[[Told, int | None], Found | None]
"""From the tables and a number of dimensions, or None for all of them together; None where
nothing was simulated in them that could answer."""


def much_better_with_few_items(told: Told, dimensions: int | None) -> Found:
    """Soft labels at tasks with n ≤ k: at least twice as much on average, nowhere clearly less."""
    gaps = _gaps(told, "soft", "hard", dimensions)
    gaps = gaps.filter(pl.col("items") <= pl.col("classes"))
    if not len(gaps):
        return missing("no task with n ≤ k")
    tasks = _by_task(gaps)
    soft, hard = float(gaps["first"].mean()), float(gaps["second"].mean())  # type: ignore[arg-type]
    text = f"{number(soft)} against {number(hard)}, {_shown(*_mean(gaps))}; {_counts(tasks)}"
    found = _decided(text, _mean(gaps), "higher")
    return _less_sure(found, _clearly_less(tasks) > 0 or soft < MUCH * hard)


def at_least(first: str, second: str, *, everywhere: bool) -> Answer:
    """Whether one form recovers at least as much as another: at every task, or on average."""

    def answer(told: Told, dimensions: int | None) -> Found:
        known = set(told.grid["form"])
        if not {first, second} <= known:
            return missing(f"no labels of the form {second if first in known else first}")
        gaps = _gaps(told, first, second, dimensions)
        tasks = _by_task(gaps)
        worst = tasks.sort("gap").row(0, named=True)
        text = f"{_shown(*_mean(gaps))} on average; {_counts(tasks)}"
        if worst["gap"] < 0:
            at = f"n = {worst['items']}, k = {worst['classes']}, k̂ = {worst['kept']}"
            text += f", the worst {signed(worst['gap'])} at {at}"
        found = _decided(text, _mean(gaps), "higher")
        return _less_sure(found, everywhere and worst["gap"] < 0)

    return answer


def falls_with_classes(told: Told, dimensions: int | None) -> Found:
    """ρ of soft labels with the most classes, less that with as many classes as items (n ≪ k)."""
    return _phase(told, dimensions, long="classes")


def falls_with_items(told: Told, dimensions: int | None) -> Found:
    """ρ of soft labels with the most items, less that with as many items as classes (n ≫ k)."""
    return _phase(told, dimensions, long="items")


def grows_on_the_diagonal(told: Told, dimensions: int | None) -> Found:
    """ρ of soft labels at the largest n = k less that at the smallest above ``SMALL``."""
    soft = _of(told.grid, dimensions).filter(form="soft", flipped=0.0)
    diagonal = soft.filter(pl.col("items") == pl.col("classes"), pl.col("items") > SMALL)
    sizes = diagonal["items"].unique().sort().to_list()
    if len(sizes) < 2:
        return missing("fewer than two sizes with n = k")
    on = ["dimensions", "seed"]
    start = diagonal.filter(items=sizes[0]).select(*on, start="rho")
    end = diagonal.filter(items=sizes[-1]).join(start, on=on)
    mean = _mean(end.with_columns(gap=pl.col("rho") - pl.col("start")))
    text = f"{_shown(*mean)} from n = k = {sizes[0]} to {sizes[-1]}"
    return _decided(text, mean, "higher")


def correlated(told: Told, dimensions: int | None) -> Found:
    """Pearson's r of information ratio and effective dimensionality over the tasks of the map."""
    try:
        rows = correlations(told).rows(named=True)
    except DataError as error:
        return missing(str(error))
    row = next((one for one in rows if one["dimensions"] == dimensions), None)
    if row is None:
        return missing("fewer than four tasks")
    where = "holds" if row["low"] <= PAPER <= row["high"] else "does not hold"
    text = (
        f"r = {number(row['r'])} {interval(row['low'], row['high'])} over {row['tasks']} tasks, "
        f"which {where} {PAPER}"
    )
    return decided(text, row["r"], row["low"], row["high"], "higher")


def correlations(told: Told) -> pl.DataFrame:
    """``plan.dimension.ratio_correlation`` over the evenly spaced tasks of the maps.

    The number depends on the grid: on one with many small tasks it is lower.
    """
    inside = pl.all_horizontal(pl.col("items", "classes").is_in(list(told.map_sizes)))
    return ratio_correlation(means(told.grid.filter(inside)))


def soft_ties_when_small(told: Told, dimensions: int | None) -> Found:
    """Whether soft labels clearly lose nowhere with few items or classes, at whatever β."""
    few = (pl.col("items") <= SMALL) | (pl.col("classes") <= SMALL)
    tasks = _break_evens(told, dimensions).filter(few)
    if not len(tasks):
        return missing(f"no task of at most {SMALL} items or classes")
    lost = {beta: int((tasks["high"] < beta * tasks["dearer"]).sum()) for beta in BETAS}
    counted = ", ".join(f"{count} at β = {beta:g}" for beta, count in lost.items() if count)
    low, high = float(tasks["even"].min()), float(tasks["even"].max())  # type: ignore[arg-type]
    text = (
        f"of {len(tasks)} tasks soft clearly loses {counted or 'none'}; losses are equal at β from "
        f"{low:.2g} to {high:.2g}"
    )
    if tasks["high"].is_nan().any():
        return Found(text, "not testable here")
    # To lose nowhere clearly is not to tie: that has no interval of its own.
    return Found(text, "not reproduced" if counted else "same direction")


def hard_wins_as_tasks_grow(told: Told, dimensions: int | None) -> Found:
    """Whether the β from which hard labels win falls as n·k grows (Spearman's ρ over tasks)."""
    tasks = _break_evens(told, dimensions)
    if len(tasks) < 4:
        return missing("fewer than four tasks")
    size = tasks["items"].to_numpy() * tasks["classes"].to_numpy()
    rho = float(spearmanr(size, tasks["even"].to_numpy()).statistic)
    reach = 1.96 / np.sqrt(len(tasks) - 3)  # Fisher's
    ends = np.tanh(np.arctanh(np.clip(rho, -1 + 1e-9, 1 - 1e-9)) + np.array([-reach, reach]))
    won = ", ".join(
        f"{int((tasks['gap'] < beta * tasks['dearer']).sum())} at β = {beta:g}" for beta in BETAS
    )
    text = (
        f"ρ of n·k and the β of equal loss {number(rho)} "
        f"{interval(float(ends[0]), float(ends[1]))}; of {len(tasks)} tasks hard wins {won}"
    )
    return decided(text, rho, float(ends[0]), float(ends[1]), "lower")


def soft_stays_when_cheap(told: Told, dimensions: int | None) -> Found:
    """Whether soft labels win on average at the lowest β, and clearly lose nowhere."""
    beta = BETAS[0]
    worth = pl.col("gap") - beta * DEARER
    saved = _gaps(told, "soft", "hard", dimensions).with_columns(gap=worth)
    if not len(saved):
        return missing("no task with soft and hard labels")
    tasks = _by_task(saved)
    wins, lost = int((tasks["gap"] > 0).sum()), _clearly_less(tasks)
    text = (
        f"{_shown(*_mean(saved))} on average; of {len(tasks)} tasks soft wins {wins} at "
        f"β = {beta:g}, clearly loses {lost}"
    )
    return _less_sure(_decided(text, _mean(saved), "higher"), lost > 0)


def linear_loss_of_flips(told: Told, dimensions: int | None) -> Found | None:
    """Whether wrong answers cost as much as leaving out as many, as (1 - ε)T has it (S1-27)."""
    wrong = _of(told.grid, dimensions).filter(pl.col("flipped") > 0, form="soft")
    fewer = {rule: told.thinned.filter(form="soft", rule=rule) for rule in NOISE}
    if not len(wrong) or not len(fewer["linear"]):
        return None
    rates = wrong["flipped"].unique().sort().to_list()
    on = ["items", "classes", "dimensions", "flipped", "seed"]
    both = wrong.join(fewer["linear"].select(*on, fewer="rho"), on=on)
    gaps = both.with_columns(gap=pl.col("rho") - pl.col("fewer"))
    ends = [_mean(gaps.filter(flipped=rate))[1] for rate in rates]
    text = (
        f"ρ = {_over(wrong, rates)} with ε = {', '.join(f'{rate:g}' for rate in rates)}; "
        f"(1 - ε)T right answers give {_over(fewer['linear'], rates)}, "
        f"(1 - H₂(ε))T give {_over(fewer['capacity'], rates)}"
    )
    if np.isnan(ends).any():
        return Found(text, "not testable here")
    apart = any(low > 0 or high < 0 for low, high in ends)
    # Intervals that hold zero do not show that nothing is there.
    return Found(text, "not reproduced" if apart else "same direction")


def _decided(text: str, mean: tuple[float, Interval], claimed: Claimed) -> Found:
    return decided(text, mean[0], *mean[1], claimed)


def _less_sure(found: Found, doubt: bool) -> Found:
    """The average is on the claimed side, but the claim was about more than the average."""
    if doubt and found.verdict == "reproduced":
        return replace(found, verdict="same direction")
    return found


def _of(table: pl.DataFrame, dimensions: int | None) -> pl.DataFrame:
    return table if dimensions is None else table.filter(dimensions=dimensions)


def _gaps(told: Told, first: str, second: str, dimensions: int | None) -> pl.DataFrame:
    """``first``, ``second`` and their ``gap`` in the same world, with the same k̂ if both have one.

    Where k̂ = k, forms with a k̂ are the same soft labels; that is no comparison.
    """
    plain = _of(told.grid, dimensions).filter(flipped=0.0)
    sides = [
        plain.filter(form=form).select(*WORLD, "kept", pl.col("rho").alias(name))
        for form, name in ((first, "first"), (second, "second"))
    ]
    both = (
        sides[0]
        .join(sides[1], on=[*WORLD, "kept"], nulls_equal=True, maintain_order="left")
        .with_columns(gap=pl.col("first") - pl.col("second"))
    )
    if PCA in (first, second):
        return both
    return both.filter(pl.col("kept").is_null() | (pl.col("kept") < pl.col("classes")))


def _by_task(gaps: pl.DataFrame) -> pl.DataFrame:
    """Mean ``gap`` of each task with the ends of its interval over seeds."""
    rows = [
        {**dict(zip(TASK, task, strict=True)), "gap": mean, "high": ends.high}
        for task, part in gaps.group_by(TASK, maintain_order=True)
        for mean, ends in [_mean(part)]
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _mean(gaps: pl.DataFrame) -> tuple[float, Interval]:
    """Mean over seeds of each seed's mean ``gap``, with its interval."""
    by_seed = gaps.group_by("seed").agg(pl.col("gap").mean()).sort("seed")["gap"].to_numpy()
    return float(by_seed.mean()), student_interval(by_seed)


def _phase(told: Told, dimensions: int | None, *, long: str) -> Found:
    """ρ of soft labels at the most of one side, less that at n = k, with the other side as it is.

    The other side are all sizes above ``SMALL`` of which the most is at least three times.
    """
    soft = _of(told.grid, dimensions).filter(form="soft", flipped=0.0)
    other = "classes" if long == "items" else "items"
    most = int(soft[long].max())  # type: ignore[arg-type]
    inner = soft.filter((pl.col(other) > SMALL) & (3 * pl.col(other) <= most))
    on = [other, "dimensions", "seed"]
    start = inner.filter(pl.col("items") == pl.col("classes")).select(*on, start="rho")
    far = inner.filter(pl.col(long) == most).join(start, on=on)
    if not len(far):
        return missing("no such tasks")
    mean = _mean(far.with_columns(gap=pl.col("rho") - pl.col("start")))
    sizes = far[other].unique().sort()
    letter, fixed = ("n", "k") if long == "items" else ("k", "n")
    where = f"n = k to {letter} = {most}, {fixed} from {sizes[0]} to {sizes[-1]}"
    return _decided(f"{_shown(*mean)} from {where}", mean, "lower")


def _break_evens(told: Told, dimensions: int | None) -> pl.DataFrame:
    """Of every task the ``gap`` of soft and hard, its ``dearer`` cost, and ``even``, the β of equal
    loss with linear utility and the paper's costs (S1-31)."""
    gaps = _by_task(_gaps(told, "soft", "hard", dimensions))
    return gaps.with_columns(dearer=DEARER, even=pl.col("gap") / DEARER)


def _counts(tasks: pl.DataFrame) -> str:
    no_less = int((tasks["gap"] >= 0).sum())
    return f"no less at {no_less} of {len(tasks)} tasks, clearly less at {_clearly_less(tasks)}"


def _clearly_less(tasks: pl.DataFrame) -> int:
    """Tasks whose interval over seeds lies below zero; some do by chance where there are many."""
    return int((tasks["high"] < 0).sum())


def _over(table: pl.DataFrame, rates: Sequence[float]) -> str:
    found = [table.filter(flipped=rate)["rho"].mean() for rate in rates]
    return ", ".join(number(value) for value in found)  # type: ignore[arg-type]


def _shown(mean: float, ends: Interval) -> str:
    return f"{signed(mean)} {interval(*ends) or '(no interval)'}"
