"""Turn answers about mixed images into what people see, how sure they are, and how steadily.

Other people might have answered, about other mixes, so both are resampled, and an interval is over
"people and mixes" (thesis, chapters 4 and 5). A part of the release is the thesis's own, a part
was added later, and "all" is both. In an estimate ``items`` counts mixes; the answers and people
behind it are estimates of their own, with the same part, arm and stratum.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.judgments.mixed import Mix, mix_named, mix_pixels
from sfumato.labels.mixing import logistic
from sfumato.scores import Estimate, source_text, with_interval
from sfumato.stats import (
    Interval,
    crossed_weights,
    group_means,
    pearson,
    sample_and_interval,
    share_interval,
    times_drawn,
    weighted_mean,
    weighted_quantile,
)
from sfumato.studies.cifar_sources import LATER, THESIS
from sfumato.studies.data import Findings, Predictions, StudyData
from sfumato.studies.study import MixAnswers

Values = NDArray[np.float64]

# Turn answers about mixes into a logistic curve for each class pair, with its uncertainty.
#
# The least-squares curve through all answers is the one through the mean answer at each
# coefficient, weighted by the number of answers. There are five coefficients, so a thousand
# resamples of all pairs are fitted at once.


INNER, OUTER = (0.25, 0.75), (0.1, 0.9)
"""Coefficients between which answers rise inside, and those up to which they rise outside."""
LARGEST = 100.0
"""A steepness from which on a curve is a step: nothing was fitted."""
STEPS = 80
DRAWN_AT = np.linspace(0, 1, 41)


@dataclass(frozen=True, eq=False)
class PairCurves:
    """Of each class pair: mean answers by coefficient, the curve, and its parameters."""

    points: pl.DataFrame
    """One row per class pair and coefficient: pair, shown, value, low, high, answers."""
    lines: pl.DataFrame
    """One row per class pair and place on the axis: pair, shown, value, low, high."""
    parameters: dict[tuple[str, str], tuple[float, Interval]]
    """By class pair and name, ``midpoint``, ``steepness`` or ``bend``."""


def fit_class_pairs(table: pl.DataFrame, weights: Values) -> PairCurves:
    """A curve for each ``pair``; ``weights`` say how often each row counts in each draw.

    The first draw is the sample itself.
    """
    points, lines = [], []
    parameters: dict[tuple[str, str], tuple[float, Interval]] = {}
    numbered = table.with_row_index("row")
    for pair in table["pair"].unique().sort():
        part = numbered.filter(pl.col("pair") == pair)
        mine = weights[:, part["row"].to_numpy()]
        coefficients = part["shown"].unique().sort().to_numpy()
        groups = np.searchsorted(coefficients, part["shown"].to_numpy())
        seen = group_means(part["perceived"].to_numpy(), groups, mine)
        counted = mine @ np.eye(len(coefficients))[groups]
        points += [
            (pair, float(shown), *_row(seen[:, place]), int(counted[0, place]))
            for place, shown in enumerate(coefficients)
        ]
        middle, steep = fit_logistics(coefficients, seen, counted)
        drawn = {"midpoint": middle, "steepness": steep, "bend": bend(coefficients, seen)}
        parameters |= {(pair, name): sample_and_interval(one) for name, one in drawn.items()}
        curves = logistic(DRAWN_AT[None], middle[:, None], steep[:, None])
        lines += [(pair, float(at), *_row(curves[:, place])) for place, at in enumerate(DRAWN_AT)]
    columns = ["pair", "shown", "value", "low", "high"]
    return PairCurves(
        pl.DataFrame(points, schema=[*columns, "answers"], orient="row"),
        pl.DataFrame(lines, schema=columns, orient="row"),
        parameters,
    )


def fit_logistics(coefficients: Values, means: Values, weights: Values) -> tuple[Values, Values]:
    """Midpoint and steepness of 1 / (1 + exp(−k(λ − m))), least squares (S2-65).

    ``means`` and ``weights`` are (fits, coefficients). NaN where fewer than three coefficients
    have answers, or no rising curve describes them. Found by damped Gauss–Newton steps (Levenberg
    and Marquardt), each taken only where it brings the curve nearer.
    """
    means = np.where(weights > 0, means, 0.0)
    middle, steep = np.full(len(means), 0.5), np.full(len(means), 5.0)
    damping = np.full(len(means), 1e-3)
    off = _off(coefficients, means, weights, middle, steep)
    for _ in range(STEPS):
        new_middle, new_steep = _stepped(coefficients, means, weights, middle, steep, damping)
        new_off = _off(coefficients, means, weights, new_middle, new_steep)
        nearer = new_off < off
        middle, steep = np.where(nearer, new_middle, middle), np.where(nearer, new_steep, steep)
        off = np.where(nearer, new_off, off)
        damping = np.clip(np.where(nearer, damping / 5, damping * 4), 1e-12, 1e12)
    sound = ((weights > 0).sum(axis=1) >= 3) & (steep > 0) & (steep < LARGEST)
    sound &= (middle > -1) & (middle < 2)
    return np.where(sound, middle, np.nan), np.where(sound, steep, np.nan)


def bend(coefficients: Values, means: Values) -> Values:
    """How much steeper mean answers rise inside than outside, in every draw.

    The slope between 0.25 and 0.75 less that outside, from 0.1 to 0.25 and from 0.75 to 0.9: zero
    for every straight line, whatever its slope; above zero for a curve that is steeper in the
    middle, as at a category boundary. NaN where one of these coefficients has no answers.
    """
    at = {float(shown): means[:, place] for place, shown in enumerate(coefficients)}
    if not {*INNER, *OUTER} <= at.keys():
        return np.full(len(means), np.nan)
    inner = (at[INNER[1]] - at[INNER[0]]) / (INNER[1] - INNER[0])
    left = (at[INNER[0]] - at[OUTER[0]]) / (INNER[0] - OUTER[0])
    right = (at[OUTER[1]] - at[INNER[1]]) / (OUTER[1] - INNER[1])
    return inner - (left + right) / 2


def _row(drawn: Values) -> tuple[float, float, float]:
    value, (low, high) = sample_and_interval(drawn)
    return value, low, high


def _off(
    coefficients: Values, means: Values, weights: Values, middle: Values, steep: Values
) -> Values:
    curve = logistic(coefficients[None], middle[:, None], steep[:, None])
    return (weights * (means - curve) ** 2).sum(axis=1)


def _stepped(
    coefficients: Values,
    means: Values,
    weights: Values,
    middle: Values,
    steep: Values,
    damping: Values,
) -> tuple[Values, Values]:
    away = coefficients[None] - middle[:, None]
    curve = logistic(coefficients[None], middle[:, None], steep[:, None])
    flat = curve * (1 - curve)
    by_middle, by_steep, off = -steep[:, None] * flat, away * flat, means - curve
    a = (weights * by_middle**2).sum(axis=1) * (1 + damping) + 1e-15
    b = (weights * by_middle * by_steep).sum(axis=1)
    c = (weights * by_steep**2).sum(axis=1) * (1 + damping) + 1e-15
    u, v = (weights * by_middle * off).sum(axis=1), (weights * by_steep * off).sum(axis=1)
    size = a * c - b * b  # above zero: the diagonal was raised
    size = np.where(size > 0, size, np.inf)
    moved = np.clip(middle + (c * u - b * v) / size, -3, 4)
    turned = np.clip(steep + (a * v - b * u) / size, 0, 2 * LARGEST)
    return moved, turned


ALL = "all"
PARTS = (THESIS, LATER, ALL)
OVER = "people and mixes"
AMBIGUOUS, CLEAR = "both endpoints ambiguous", "both endpoints clear"
SAME, ANOTHER = "the same person again", "another person"
FIRST_VIEWS = "first views only"
SOFT_LABELS = "soft labels"
CONSISTENT = "top2-clamp, consistent"
"""Labels of ours, of the answers behind the released ones, which have no name."""
MIDDLE = 0.5
NEAR_MIDDLE = 0.15
"""Within one step of the middle, where people choose in steps of 0.1."""
QUANTILES = {"lower_quartile_answer": 0.25, "median_answer": 0.5, "upper_quartile_answer": 0.75}
SHOWN = 6
"""Mixes in a gallery."""
BARS = 4
LEAST_ANSWERS = 3

FIGURE_4_3 = {
    "mixed_0.75_Airplane_74_Dog_3610.png": 0.58,
    "mixed_0.5_Bird_7348_Cat_6202.png": 0.99,
    "mixed_0.5_Automobile_9830_Bird_5118.png": 0.87,
}
"""The three mixes of figure 4.3 and its λ_h: of its class pairs and coefficients, those with that
mean answer."""
FIGURE_5_1 = ("horse", "ship", 0.5)
STATED = {
    "mixes": 810,
    "image pairs": 45 * 6,
    "images outside the 7,000": 0,
    "people": 33,
    "fewest answers of a person": 59,
    "most answers of a person": 60,
}
"""What the thesis says of its part (S2-09); it has two people or more per mix."""
STATED_LABELS = {"people": 8, "mixes": 100, "mixes of the thesis": 100}
STATED_COEFFICIENTS = {0.25, 0.5, 0.75}
"""What it says of the soft labels (S2-11)."""


def mixed_answers(data: StudyData, predictions: Predictions) -> Findings:
    """Everything that the release of H-Mix says; the same study and files give the same numbers."""
    tables, study = data.tables, data.study
    if "inferred" not in tables:
        return Findings()
    rng, draws = np.random.default_rng(study.seed), study.draws
    blank = Estimate("", 0.0, against="", source=source_text(labels=data.provenance))
    rows: list[Estimate] = []
    for part in PARTS:
        of_part = replace(blank, part=part)
        mine = answers_of(tables["inferred"], part)
        weights = _crossed(mine, "annotator", rng=rng, draws=draws)
        rows += _counts(mine, of_part, frozenset(data.parts["train"]))
        rows += _by_coefficient(mine, weights, of_part)
        rows += _by_endpoints(mine, weights, of_part, study.mixes)
        rows += _repeats(mine, of_part, rng=rng, draws=draws)
    # The last part is all answers: class pairs are curved with everything there is.
    curves = fit_class_pairs(mine, weights)
    rows += _class_pairs(curves, replace(blank, part=ALL))
    rows += _midpoints(tables["midpoints"], replace(blank, part=ALL), rng=rng, draws=draws)
    of_thesis = replace(blank, part=THESIS)
    for arm, name in (("", "released"), (CONSISTENT, "consistent")):
        rows += _labels(tables[name], replace(of_thesis, arm=arm), rng=rng, draws=draws)
    rows += _figure_examples(tables["inferred"], of_thesis)
    rows += _against_thesis(rows, tables["released"], tables["inferred"], of_thesis)
    return Findings(rows, _figure_tables(data, curves), _pictures(data))


def answers_of(table: pl.DataFrame, part: str) -> pl.DataFrame:
    """The answers of a part; of "all", every one."""
    return table if part == ALL else table.filter(pl.col("part") == part)


def _crossed(table: pl.DataFrame, *people: str, rng: np.random.Generator, draws: int) -> Values:
    names = [table[name].to_numpy() for name in people]
    return crossed_weights([table["mix"].to_numpy()], names, rng=rng, draws=draws)


def _estimate(
    blank: Estimate,
    metric: str,
    drawn: Values,
    rows: pl.DataFrame,
    *,
    arm: str = "",
    second: str = "",
    stratum: str = "all",
) -> Estimate:
    """What was drawn as an estimate about the mixes of ``rows``."""
    value, ends = sample_and_interval(drawn)
    row = replace(
        blank,
        metric=metric,
        value=value,
        arm=arm or blank.arm,
        second=second,
        stratum=stratum,
        items=rows["mix"].n_unique(),
    )
    return with_interval(row, *ends, OVER)


def _count(
    blank: Estimate, metric: str, value: float, *, arm: str = "", stratum: str = "all"
) -> Estimate:
    return replace(blank, metric=metric, value=float(value), arm=arm, stratum=stratum)


def _answers_and_people(
    blank: Estimate, rows: pl.DataFrame, *, arm: str = "", stratum: str = "all"
) -> list[Estimate]:
    """How many answers estimates rest on, of how many people."""
    columns = [rows[name] for name in ("annotator", "annotator_other") if name in rows.columns]
    people = pl.concat([column.alias("who") for column in columns]).n_unique()
    blank = replace(blank, items=rows["mix"].n_unique())
    return [
        _count(blank, "answers", len(rows), arm=arm, stratum=stratum),
        _count(blank, "people", people, arm=arm, stratum=stratum),
    ]


def _counts(
    table: pl.DataFrame, blank: Estimate, training_items: frozenset[str]
) -> Iterator[Estimate]:
    """Whole numbers about a part: people, mixes, answers, and how they were asked."""
    per_person = table.group_by("annotator").len()["len"].to_numpy()
    first = table.filter(view="first")
    people_per_mix = first.group_by("mix").agg(pl.col("annotator").n_unique())["annotator"]
    mixes = table.unique("mix")
    images = {*mixes["first_item"], *mixes["second_item"]}
    yield from _answers_and_people(blank, table)
    counts = {
        "items": len(mixes),
        "repeats": len(table) - len(first),
        "fewest_answers": per_person.min(),
        "most_answers": per_person.max(),
        "fewest_people": people_per_mix.to_numpy().min(),
        "image_pairs": mixes.select("first_item", "second_item").n_unique(),
        "images": len(images),
        "training_images": len(images & training_items),
    }
    for metric, value in counts.items():
        yield _count(replace(blank, items=len(mixes)), metric, value)


def _by_coefficient(table: pl.DataFrame, weights: Values, blank: Estimate) -> Iterator[Estimate]:
    """Medians, spread and confidence by what was mixed."""
    shown, perceived, sure, error = (
        table[name].to_numpy() for name in ("shown", "perceived", "confidence", "error")
    )
    confidence: dict[float, Values] = {}
    for value in np.unique(shown).tolist():
        at = np.flatnonzero(shown == value)
        mine, rows, name = weights[:, at], table[at], f"{value:g}"
        seen = perceived[at]
        confidence[value] = weighted_mean(sure[at], mine)
        drawn = {
            **{metric: weighted_quantile(seen, mine, q) for metric, q in QUANTILES.items()},
            "mean_answer": weighted_mean(seen, mine),
            "coefficient_error": weighted_mean(error[at], mine),
            "confidence": confidence[value],
        }
        drawn["median_less_coefficient"] = drawn["median_answer"] - value
        if value != MIDDLE:  # as where a person takes the ends of the slider for each other
            turned = (seen - MIDDLE) * (value - MIDDLE) < 0
            drawn["other_side"] = weighted_mean(turned.astype(np.float64), mine)
        yield from _answers_and_people(blank, rows, stratum=name)
        for metric, draws in drawn.items():
            yield _estimate(blank, metric, draws, rows, stratum=name)
    for value, draws in confidence.items():
        if value != MIDDLE and MIDDLE in confidence:
            less = confidence[MIDDLE] - draws
            metric = "confidence_at_half_less_elsewhere"
            yield _estimate(blank, metric, less, table, stratum=f"{value:g}")
    yield _estimate(blank, "coefficient_error", weighted_mean(error, weights), table)
    coefficients, groups = np.unique(shown, return_inverse=True)
    means = group_means(perceived, groups, weights)
    yield _estimate(blank, "bend", bend(coefficients, means), table)


def _by_endpoints(
    table: pl.DataFrame, weights: Values, blank: Estimate, cut: MixAnswers
) -> Iterator[Estimate]:
    """Whether it matters that people's votes about both images were divided (S2-68)."""
    first, second = (table[f"{which}_entropy"].to_numpy() for which in ("first", "second"))
    places = {
        AMBIGUOUS: np.flatnonzero((first >= cut.high) & (second >= cut.high)),
        CLEAR: np.flatnonzero((first <= cut.low) & (second <= cut.low)),
    }
    for arm, at in places.items():
        yield from _answers_and_people(blank, table[at], arm=arm)
    either = table[np.concatenate(list(places.values()))]
    metrics = {
        "confidence": ("confidence", "pearson_confidence_entropy"),
        "error": ("coefficient_error", "pearson_error_entropy"),
    }
    for column, (metric, along) in metrics.items():
        values = table[column].to_numpy()
        drawn = {arm: weighted_mean(values[at], weights[:, at]) for arm, at in places.items()}
        for arm, at in places.items():
            yield _estimate(blank, metric, drawn[arm], table[at], arm=arm)
        apart = drawn[AMBIGUOUS] - drawn[CLEAR]
        yield _estimate(blank, metric, apart, either, arm=AMBIGUOUS, second=CLEAR)
        yield _estimate(blank, along, pearson(values, first + second, weights), table)


def _repeats(
    table: pl.DataFrame, blank: Estimate, *, rng: np.random.Generator, draws: int
) -> Iterator[Estimate]:
    """How much an answer moves when the same person sees the mix again, or another one does."""
    on = ["annotator", "mix"]
    first = table.filter(view="first").unique(on, keep="first", maintain_order=True)
    again = table.filter(view="repeat").join(
        first.select(*on, perceived_before="perceived", confidence_before="confidence"), on=on
    )
    weights = _crossed(again, "annotator", rng=rng, draws=draws)
    seen, seen_before, sure, sure_before = (
        again[name].to_numpy()
        for name in ("perceived", "perceived_before", "confidence", "confidence_before")
    )
    others = first.join(first, on="mix", suffix="_other").filter(
        pl.col("annotator") < pl.col("annotator_other")
    )
    pairs = _crossed(others, "annotator", "annotator_other", rng=rng, draws=draws)
    one, two = others["perceived"].to_numpy(), others["perceived_other"].to_numpy()
    # Neither of two people is the first: every pair counts both ways round.
    both_ways = np.concatenate([one, two]), np.concatenate([two, one]), np.hstack([pairs, pairs])
    drawn = {
        ("coefficient_change", SAME): weighted_mean(np.abs(seen - seen_before), weights),
        ("coefficient_change", ANOTHER): weighted_mean(np.abs(one - two), pairs),
        ("confidence_change", SAME): weighted_mean(np.abs(sure - sure_before), weights),
        ("pearson_two_answers", SAME): pearson(seen_before, seen, weights),
        ("pearson_two_answers", ANOTHER): pearson(*both_ways),
    }
    rows = {SAME: again, ANOTHER: others}
    for arm, behind in rows.items():
        yield from _answers_and_people(blank, behind, arm=arm)
    for (metric, arm), values in drawn.items():
        yield _estimate(blank, metric, values, rows[arm], arm=arm)


def _class_pairs(curves: PairCurves, blank: Estimate) -> Iterator[Estimate]:
    """The curve of every class pair, and how many are off what was mixed."""
    metrics = {"midpoint": "curve_midpoint", "steepness": "curve_steepness", "bend": "bend"}
    per_pair = dict(curves.points.group_by("pair").agg(pl.col("answers").sum()).iter_rows())
    for pair, answers in sorted(per_pair.items()):
        yield _count(blank, "answers", answers, stratum=pair)
    for (pair, name), (value, ends) in curves.parameters.items():
        row = replace(blank, metric=metrics[name], value=value, stratum=pair)
        yield with_interval(row, *ends, OVER)
    points = curves.points.filter(pl.col("low").is_not_nan())
    off = (points["low"] > points["shown"]) | (points["high"] < points["shown"])
    yield _share(blank, "share_off_coefficient", off.to_numpy())
    middles, bends = (
        [ends for (_, each), (_, ends) in curves.parameters.items() if each == name]
        for name in ("midpoint", "bend")
    )
    known = [ends for ends in middles if not np.isnan(ends.low)]
    off_half = np.array([ends.low > MIDDLE or ends.high < MIDDLE for ends in known])
    yield _share(blank, "share_off_half", off_half)
    yield _share(blank, "share_bent", np.array([ends.low > 0 for ends in bends]))


def _share(blank: Estimate, metric: str, hits: NDArray[np.bool_]) -> Estimate:
    """A share of intervals that lie somewhere, with its exact interval over them."""
    row = replace(blank, metric=metric, value=float(hits.mean()), items=len(hits))
    return with_interval(row, *share_interval(int(hits.sum()), len(hits)), "class pairs")


def _midpoints(
    table: pl.DataFrame, blank: Estimate, *, rng: np.random.Generator, draws: int
) -> Iterator[Estimate]:
    """The coefficient that people call half and half, by task."""
    for (task,), part in table.group_by("task", maintain_order=True):
        weights = _crossed(part, "annotator", rng=rng, draws=draws)
        chosen = part["perceived"].to_numpy()
        near = (np.abs(chosen - MIDDLE) < NEAR_MIDDLE).astype(np.float64)
        drawn = {
            "mean_midpoint": weighted_mean(chosen, weights),
            "median_midpoint": weighted_quantile(chosen, weights),
            "share_near_half": weighted_mean(near, weights),
        }
        yield from _answers_and_people(blank, part, arm=str(task))
        for metric, values in drawn.items():
            yield _estimate(blank, metric, values, part, arm=str(task))


def _labels(
    labels: pl.DataFrame, blank: Estimate, *, rng: np.random.Generator, draws: int
) -> Iterator[Estimate]:
    """Mass on classes that were not mixed, and how mass on the others follows the coefficient.

    Labels of a mix are averaged first, as behind the thesis's 38.3 % and 0.52; in the metrics
    ``…_by_answer`` each answer counts by itself.
    """
    (people,) = times_drawn(labels["annotator"].to_numpy(), rng=rng, draws=draws)
    (by_mix,) = times_drawn(labels["mix"].to_numpy(), rng=rng, draws=draws)
    _, rows, groups = np.unique(labels["mix"].to_numpy(), return_index=True, return_inverse=True)
    shown, first_mass, other_mass = (
        labels[name].to_numpy() for name in ("shown", "first_mass", "other_mass")
    )
    other, first, second = (
        group_means(labels[name].to_numpy(), groups, people)
        for name in ("other_mass", "first_mass", "second_mass")
    )
    known = by_mix[:, rows] * ~np.isnan(other)  # a mix none of whose people were drawn is left out
    coefficient, both = shown[rows], by_mix * people
    mass, ends = np.hstack([first, second]), np.hstack([coefficient, 1 - coefficient])
    drawn = {
        "other_mass": weighted_mean(other, known),
        "other_mass_by_answer": weighted_mean(other_mass, both),
        "pearson_mass_coefficient": pearson(np.nan_to_num(mass), ends, np.hstack([known, known])),
        "pearson_mass_coefficient_by_answer": pearson(first_mass, shown, both),
    }
    for metric, values in drawn.items():
        yield _estimate(blank, metric, values, labels)
    for value in np.unique(shown).tolist():
        at = weighted_mean(other, known * (coefficient == value))
        mine = labels.filter(pl.col("shown") == value)
        yield _estimate(blank, "other_mass", at, mine, stratum=f"{value:g}")


def _figure_examples(inferred: pl.DataFrame, blank: Estimate) -> Iterator[Estimate]:
    """Mean answers about the mixes of figure 4.3, and how far they are from what is printed."""
    for name, printed in FIGURE_4_3.items():
        mine = inferred.filter(pl.col("mix") == name)
        row = replace(blank, stratum=mix_words(mix_named(name)), items=1)
        for arm, rows in (("", mine), (FIRST_VIEWS, mine.filter(view="first"))):
            mean = float(np.mean(rows["perceived"].to_numpy()))
            yield replace(row, metric="mean_answer", arm=arm, value=mean)
            yield replace(row, metric="answers", arm=arm, value=float(len(rows)))
        yield _fact(row, "mean_less_printed", float(mine["perceived"].to_numpy().mean()) - printed)


def mix_words(mix: Mix) -> str:
    """A mix by its classes.

    >>> mix_words(Mix("74", "3610", "airplane", "dog", 0.75))
    'airplane + dog at 0.75'
    """
    return f"{mix.first_class} + {mix.second_class} at {mix.coefficient:g}"


def _fact(blank: Estimate, metric: str, value: float) -> Estimate:
    """A number that is no estimate: its interval is itself."""
    return replace(blank, metric=metric, value=value, low=value, high=value)


def _against_thesis(
    rows: Sequence[Estimate], released: pl.DataFrame, inferred: pl.DataFrame, blank: Estimate
) -> Iterator[Estimate]:
    """What was counted less what the thesis states, and the counts of soft labels themselves."""
    counted = {
        row.metric: row.value
        for row in rows
        if (row.part, row.arm, row.stratum) == (THESIS, "", "all") and not row.over
    }
    found = {
        "mixes": counted["items"],
        "image pairs": counted["image_pairs"],
        "images outside the 7,000": counted["images"] - counted["training_images"],
        "people": counted["people"],
        "fewest answers of a person": counted["fewest_answers"],
        "most answers of a person": counted["most_answers"],
    }
    row = replace(blank, arm="mixes", items=int(counted["items"]))
    for name, stated in STATED.items():
        yield _fact(replace(row, stratum=name), "count_less_stated", found[name] - stated)
    too_few = min(0.0, counted["fewest_people"] - 2)
    yield _fact(replace(row, stratum="people per mix"), "count_less_stated", too_few)

    labelled = set(released["mix"])
    shared = labelled & set(answers_of(inferred, THESIS)["mix"])
    sizes = {
        "people": released["annotator"].n_unique(),
        "mixes": len(labelled),
        "mixes of the thesis": len(shared),
    }
    row = replace(blank, arm=SOFT_LABELS, items=len(labelled))
    for name, stated in STATED_LABELS.items():
        yield _fact(replace(row, stratum=name), "count_less_stated", sizes[name] - stated)
    odd = set(released["shown"]) ^ STATED_COEFFICIENTS
    yield _fact(replace(row, stratum="coefficients that differ"), "count_less_stated", len(odd))
    yield from _answers_and_people(blank, released, arm=SOFT_LABELS)
    for (value,), mine in released.sort("shown").group_by("shown", maintain_order=True):
        yield from _answers_and_people(blank, mine, arm=SOFT_LABELS, stratum=f"{value:g}")


def _shown_mixes(inferred: pl.DataFrame) -> dict[str, list[str]]:
    """The mixes of each gallery of answers: those of a figure, the farthest off, most divided."""
    several = inferred.filter(pl.len().over("mix") >= LEAST_ANSWERS)
    means = several.group_by("mix", maintain_order=True).agg(
        (pl.col("perceived").mean() - pl.col("shown").first()).abs().alias("off"),
        pl.col("perceived").std().alias("spread"),
    )
    return {
        "figure": list(FIGURE_4_3),
        **{
            gallery: means.sort(by, "mix", descending=[True, False])["mix"].head(SHOWN).to_list()
            for gallery, by in (("farthest", "off"), ("divided", "spread"))
        },
    }


def _labelled_mixes(released: pl.DataFrame) -> dict[str, list[str]]:
    """The mixes of each gallery of labels: those of a figure, most and least on other classes."""
    masses = released.group_by("mix", maintain_order=True).agg(pl.col("other_mass").mean())
    ordered = masses.sort("other_mass", "mix", descending=[True, False])["mix"].to_list()
    known = {name: mix_named(name) for name in sorted(ordered)}
    figure = [
        name
        for name, mix in known.items()
        if (mix.first_class, mix.second_class, mix.coefficient) == FIGURE_5_1
    ]
    return {"figure": figure, "others": ordered[:BARS], "mixed": ordered[-BARS:]}


def _figure_tables(data: StudyData, curves: PairCurves) -> dict[str, pl.DataFrame]:
    """What figures need beyond estimates."""
    inferred, released = data.tables["inferred"], data.tables["released"]
    columns = ("shown", "perceived", "confidence")
    ends = ("first_item", "second_item", "first_class", "second_class")
    galleries = [
        pl.DataFrame({"mix": mixes}).with_columns(gallery=pl.lit(gallery))
        for gallery, mixes in _shown_mixes(inferred).items()
    ]
    return {
        "mix_answers": inferred.select(
            "part", *columns, "error", "first_entropy", "second_entropy"
        ),
        "mix_midpoints": data.tables["midpoints"].select("task", "annotator", "perceived"),
        "pair_points": curves.points,
        "pair_lines": curves.lines,
        "label_masses": released.group_by("mix", maintain_order=True).agg(
            pl.col("shown").first(), pl.col("other_mass").mean()
        ),
        "mix_gallery": pl.concat(galleries).join(
            inferred.select("mix", *ends, *columns), on="mix", maintain_order="left_right"
        ),
        "mix_bars": pl.concat(
            [
                _bars(released, mixes).with_columns(gallery=pl.lit(gallery))
                for gallery, mixes in _labelled_mixes(released).items()
            ]
        ),
    }


def _bars(released: pl.DataFrame, mixes: Sequence[str]) -> pl.DataFrame:
    """One row per class and source: the mean of people's labels, and mixup's label (S2-F5.1).

    Items are called ``Mix.item``: names of files are too long to stand above a picture.
    """
    rows = []
    for name in mixes:
        mix, mine = mix_named(name), released.filter(pl.col("mix") == name)
        mixup = {mix.first_class: mix.coefficient, mix.second_class: 1 - mix.coefficient}
        for label in CIFAR10:
            rows.append((mix.item, "people", label, float(mine[label].to_numpy().mean())))
            rows.append((mix.item, "mixup", label, mixup.get(label, 0.0)))
    schema = {
        "item": pl.String(),
        "source": pl.String(),
        "class": pl.String(),
        "probability": pl.Float64(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _pictures(data: StudyData) -> dict[str, NDArray[np.uint8]]:
    """What galleries show: mixes under the names they have there, and their images."""
    assert data.pictures is not None
    seen = _shown_mixes(data.tables["inferred"]).values()
    labelled = _labelled_mixes(data.tables["released"]).values()
    mixes = {name: mix_named(name) for names in seen for name in names}
    mixes |= {mix.item: mix for names in labelled for mix in map(mix_named, names)}
    items = sorted({item for mix in mixes.values() for item in (mix.first_item, mix.second_item)})
    images = dict(zip(items, data.pictures.take(items).images, strict=True))
    return images | {
        name: mix_pixels(images[mix.first_item], images[mix.second_item], mix.coefficient)
        for name, mix in mixes.items()
    }
