"""Turn a grid of simulated worlds into whether a well chosen k̂ is worth it (S1-35)."""

import polars as pl

from sfumato.planning.cost import losses
from sfumato.reporting.text import interval, signed
from sfumato.stats import student_interval
from sfumato.studies.answers import Found, decided, missing
from sfumato.studies.informativeness.answers import SMALL, Told

__all__ = ["SPARSE_BETAS", "best_sparsity_gains"]

SPARSE_BETAS = (1e-4, 3e-4, 1e-3)
"""What a hard label's cost is worth, around where k̂ matters."""
CASE = ["dimensions", "items", "classes", "beta"]
OFTEN = 0.5


def best_sparsity_gains(told: Told, dimensions: int | None) -> Found:
    """Whether sparse labels with the best k̂ lose less than hard ones and than dense soft ones.

    The k̂ of a world is that of least mean loss in the other seeds' worlds of its size: chosen on
    itself it could only win, for k̂ = k are soft labels. What it saves is held against whichever
    of the two others is better in that very world.
    """
    priced = _priced(told, dimensions)
    if priced["seed"].n_unique() < 2 or not {"hard", "soft", "sparse"} <= set(priced["form"]):
        return missing("fewer than two seeds, or not all of hard, soft and sparse labels")
    saved = _saved(priced)
    by_seed = saved.group_by("seed").agg(pl.col("gain").mean()).sort("seed")["gain"].to_numpy()
    mean, ends = float(by_seed.mean()), student_interval(by_seed)
    cases = saved.group_by(CASE).agg(pl.col("gain").mean())["gain"]
    won = int((cases > 0).sum())
    text = (
        f"{signed(mean)} {interval(*ends) or '(no interval)'} on average; less loss than both in "
        f"{won} of {len(cases)} cases"
    )
    if won <= OFTEN * len(cases):
        return Found(text, "not reproduced", mean, *ends)
    return decided(text, mean, *ends, "higher")


def _priced(told: Told, dimensions: int | None) -> pl.DataFrame:
    """The loss of hard, soft and sparse labels in every world that has sparse ones."""
    grid = told.grid.filter(
        pl.col("form").is_in(["hard", "soft", "sparse"]),
        pl.col("items") > SMALL,
        pl.col("classes") > SMALL,
        flipped=0.0,
    )
    mine = grid if dimensions is None else grid.filter(dimensions=dimensions)
    sizes = mine.filter(form="sparse").select("items", "classes", "dimensions").unique()
    return losses(
        mine.join(sizes, on=["items", "classes", "dimensions"], how="semi"), betas=SPARSE_BETAS
    )


def _saved(priced: pl.DataFrame) -> pl.DataFrame:
    """``gain`` of every size, β and seed: the better other form's loss less that of sparse."""
    sparse = priced.filter(form="sparse").select(*CASE, "seed", "kept", "loss")
    others = (pl.col("loss").sum() - pl.col("loss")) / (pl.len() - 1)
    chosen = (
        sparse.with_columns(elsewhere=others.over([*CASE, "kept"]))
        .sort("elsewhere", "kept", maintain_order=True)
        .unique([*CASE, "seed"], keep="first", maintain_order=True)
    )
    rivals = priced.filter(pl.col("form") != "sparse").group_by(*CASE, "seed")
    both = chosen.join(rivals.agg(rival=pl.col("loss").min()), on=[*CASE, "seed"])
    return both.with_columns(gain=pl.col("rival") - pl.col("loss"))
