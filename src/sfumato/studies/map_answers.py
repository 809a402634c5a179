"""Turn the data maps and training curves of a run into answers to claims, as ``answers`` does.

Seeds are pooled in a data map, so intervals of what is read from it are over items only.
"""

import math
from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binomtest, rankdata, ttest_1samp

from sfumato.reporting.text import interval, number, signed
from sfumato.stats import bootstrap_statistics, percentile_interval
from sfumato.studies.analysis import Findings
from sfumato.studies.answers import (
    Answer,
    Found,
    brackets,
    decided,
    missing,
    no_overlap,
)
from sfumato.studies.verdicts import Claimed

__all__ = [
    "EARLY",
    "EXPECTED",
    "correlation",
    "map_change",
    "movement",
    "region_gap",
    "region_share",
    "settled",
    "stronger_correlation",
]

EXPECTED: Mapping[str, Claimed] = {"confidence": "lower", "variability": "higher"}
"""Which way signals of a data map go with people's uncertainty, by paper 5 (S4-35)."""

NO_ENTROPY = 1e-9
"""Entropy of people that still counts as none."""

DRAWS = 300
"""Resamples behind the difference of two rank correlations."""

EARLY = 10
"""Epochs that are called early, of the paper's 40."""

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]


def region_share(arm: str, stratum: str, region: str) -> Answer:
    """Whether more than half of a stratum lies in a region of the data map (exact binomial)."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        inside = _regions(findings, network, arm, stratum)
        if inside is None or not len(inside):
            return missing(f"no data map of {arm}")
        hits = int((inside == region).sum())
        ends = binomtest(hits, len(inside)).proportion_ci(method="exact")
        text = f"{hits / len(inside):.1%} of {len(inside):,} [{ends.low:.1%}, {ends.high:.1%}]"
        share = hits / len(inside)
        return decided(text, share - 0.5, ends.low - 0.5, ends.high - 0.5, "higher")

    return answer


def region_gap(arm: str, more: str, less: str) -> Answer:
    """Whether a larger share of stratum ``more`` than of ``less`` is ambiguous or hard.

    Newcombe's interval from the two Wilson intervals (1998, method 10): it doubts a share of
    nought or all too.
    """

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        strata = [_regions(findings, network, arm, name) for name in (more, less)]
        if any(inside is None or not len(inside) for inside in strata):
            return missing(f"no data map of {arm}")
        (p, low_p, high_p), (q, low_q, high_q) = (_not_easy(inside) for inside in strata)
        low = p - q - math.hypot(p - low_p, high_q - q)
        high = p - q + math.hypot(high_p - p, q - low_q)
        text = f"{p:.1%} against {q:.1%}: {signed(p - q)} {interval(low, high)}"
        return decided(text, p - q, low, high, "higher")

    return answer


def map_change(column: str, stratum: str, *, claimed: Claimed) -> Answer:
    """Mean ``confidence`` or ``variability`` of items learnt soft minus by the majority vote,
    paired by item (Student's t)."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        both = _both_maps(findings, network)
        if both is None:
            return missing("no data maps of soft and majority")
        kept = both.filter(pl.Series(_strata(both["human_entropy"].to_numpy())[stratum]))
        apart = (kept[column] - kept[f"{column}_majority"]).to_numpy()
        if len(apart) < 2 or not apart.std():
            return missing(f"too few {stratum} items")
        ends = ttest_1samp(apart, 0).confidence_interval()
        text = (
            f"{number(float(kept[f'{column}_majority'].mean()))} to "  # type: ignore[arg-type]
            f"{number(float(kept[column].mean()))}: "  # type: ignore[arg-type]
            f"{signed(float(apart.mean()))} {interval(ends.low, ends.high)}, {len(apart):,} items"
        )
        return decided(text, float(apart.mean()), ends.low, ends.high, claimed)

    return answer


def correlation(arm: str, column: str, *, claimed: Claimed) -> Answer:
    """Spearman's rho of people's entropy with a signal of the data map: below or above zero."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        table = findings.tables.get("alignment")
        rows = (
            []
            if table is None
            else table.filter(network=network, arm=arm, second=column, stratum="all").rows(
                named=True
            )
        )
        if not rows:
            return missing(f"no correlations of {arm}")
        text = f"{signed(rows[0]['rho'])} {brackets(rows[0])}"
        return decided(text, rows[0]["rho"], rows[0]["low"], rows[0]["high"], claimed)

    return answer


def stronger_correlation(column: str, *, claimed: Claimed) -> Answer:
    """Spearman's rho with people's entropy, learnt soft minus by the majority vote: percentiles
    over resampled items, the same for both."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        both = _both_maps(findings, network)
        if both is None:
            return missing("no data maps of soft and majority")
        people, soft, vote = (
            both[name].to_numpy() for name in ("human_entropy", column, f"{column}_majority")
        )

        def apart(rows: NDArray[np.int64]) -> list[float]:
            return [_rho(people[rows], soft[rows]) - _rho(people[rows], vote[rows])]

        value = apart(np.arange(len(people)))[0]
        if math.isnan(value):
            return missing("one of the signals does not vary")
        drawn = bootstrap_statistics(apart, len(people), rng=rng, draws=DRAWS)
        low, high = percentile_interval(drawn[:, 0])
        return decided(f"{signed(value)} {interval(low, high)}", value, low, high, claimed)

    return answer


def movement(*, claimed: Claimed) -> Answer:
    """Mean epoch-to-epoch divergence (bits) of early epochs, soft against the majority vote.

    The ends of the epochs' intervals are averaged too: the interval of a mean is never wider.
    """

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        table = findings.tables.get("convergence")
        if table is None:
            return missing("no table of convergence")
        early = table.filter((pl.col("network") == network) & (pl.col("epoch") <= EARLY))
        means = {
            row["arm"]: row
            for row in early.group_by("arm")
            .agg(pl.col("jsd").mean(), pl.col("low").mean(), pl.col("high").mean())
            .iter_rows(named=True)
        }
        if not {"soft", "majority"} <= means.keys():
            return missing("no soft and majority arms")
        soft, vote = means["soft"], means["majority"]
        text = " against ".join(f"{number(row['jsd'])} {brackets(row)}" for row in (soft, vote))
        parts = [(row["jsd"], row["low"], row["high"]) for row in (soft, vote)]
        return no_overlap(text, parts[0], parts[1], claimed)

    return answer


def settled(arm: str) -> Answer:
    """Whether late beliefs differ more between seeds than from epoch to epoch (bits), paired by
    item (Student's t)."""

    def answer(findings: Findings, network: str, rng: np.random.Generator) -> Found:
        table = findings.tables.get("steadiness")
        rows = [] if table is None else table.filter(network=network, arm=arm).rows(named=True)
        if not rows:
            return missing(f"no steadiness of {arm}")
        row = rows[0]
        text = (
            f"{number(row['spread'])} between seeds, {number(row['movement'])} between epochs: "
            f"{signed(row['apart'])} {brackets(row)}"
        )
        return decided(text, row["apart"], row["low"], row["high"], "higher")

    return answer


def _regions(findings: Findings, network: str, arm: str, stratum: str) -> NDArray[np.str_] | None:
    table = findings.tables.get("data_map")
    if table is None:
        return None
    mine = table.filter(network=network, arm=arm)
    mask = _strata(mine["human_entropy"].to_numpy())[stratum]
    return mine["region"].to_numpy().astype(np.str_)[mask]


def _both_maps(findings: Findings, network: str) -> pl.DataFrame | None:
    """A row an item, signals of soft beside those of the majority vote; None without both."""
    table = findings.tables.get("data_map")
    if table is None:
        return None
    soft, vote = (table.filter(network=network, arm=arm) for arm in ("soft", "majority"))
    if not len(soft) or not len(vote):
        return None
    columns = ("item", "confidence", "variability")
    return soft.join(vote.select(columns), on="item", suffix="_majority", maintain_order="left")


def _strata(entropy: Values) -> dict[str, Mask]:
    """As ``evaluate.strata`` has them, from the entropies that a data map keeps."""
    agreed = entropy <= NO_ENTROPY
    spread = entropy.round(12)
    low, high = (
        np.quantile(spread[~agreed], [1 / 3, 2 / 3], method="inverted_cdf")
        if (~agreed).any()
        else (0.0, 0.0)
    )
    return {
        "unanimous": agreed,
        "disputed": ~agreed,
        "least disputed": ~agreed & (spread <= low),
        "most disputed": ~agreed & (spread > high),
    }


def _not_easy(inside: NDArray[np.str_] | None) -> tuple[float, float, float]:
    assert inside is not None
    hits = int((inside != "easy").sum())
    ends = binomtest(hits, len(inside)).proportion_ci(method="wilson")
    return hits / len(inside), float(ends.low), float(ends.high)


def _rho(first: Values, second: Values) -> float:
    if not first.std() or not second.std():
        return float("nan")
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])
