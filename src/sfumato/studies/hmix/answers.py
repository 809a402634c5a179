"""Turn a finished analysis into answers to what the thesis says: numbers, intervals, a verdict.

Every question is asked of a part of the release: the thesis's own 810 mixes and 33 people, what was
added later, or all of it. Verdicts follow from 95 % intervals alone.
"""

from collections.abc import Callable
from typing import Any

import polars as pl
from scipy.stats import binom

from sfumato.reporting.text import interval, number, signed
from sfumato.studies.answers import Found, decided, missing
from sfumato.studies.hmix.analysis import RELEASED
from sfumato.studies.hmix.curves import BEND
from sfumato.studies.hmix.measured import FOLLOWS, MIDDLE, OTHER_MASS
from sfumato.studies.hmix.stored import HMixRun
from sfumato.studies.hmix.study import ALL, THESIS
from sfumato.studies.verdicts import Verdict, overall, side, within

__all__ = [
    "Answer",
    "answers_deviate",
    "confidence_lowest_at_half",
    "curves_bend",
    "endpoints_make_no_difference",
    "endpoints_matter",
    "figure_examples",
    "mass_follows",
    "medians_close",
    "off_the_diagonal",
    "other_mass",
    "soft_labels_collected",
    "stimuli",
]

Answer = Callable[[HMixRun, str], Found | None]
"""From a run and a part; None where a part has nothing to say."""

COEFFICIENTS = (0.1, 0.25, 0.5, 0.75, 0.9)


def stimuli(run: HMixRun, part: str) -> Found | None:
    """Whether people, mixes and how they were made are as many as the thesis says."""
    if part != THESIS:
        return None
    facts = run.facts[THESIS]
    text = (
        f"{facts['mixes']} mixes of {facts['image_pairs']} pairs of images, "
        f"{facts['images_of_the_7000']} of {facts['images']} of them among the 7,000; "
        f"{facts['people']} people with {facts['fewest_of_a_person']} to "
        f"{facts['most_of_a_person']} answers; at least {facts['fewest_people_of_a_mix']} people "
        "a mix"
    )
    right = (
        (facts["mixes"], facts["image_pairs"], facts["people"]) == (810, 45 * 6, 33)
        and (facts["fewest_of_a_person"], facts["most_of_a_person"]) == (59, 60)
        and facts["fewest_people_of_a_mix"] >= 2
        and facts["images_of_the_7000"] == facts["images"]
    )
    return Found(text, "reproduced" if right else "not reproduced")


def soft_labels_collected(run: HMixRun, part: str) -> Found | None:
    """Whether as many people gave soft labels of as many mixes as the thesis says."""
    if part != THESIS:
        return None
    facts = run.facts["labels"]
    shown = ", ".join(f"{value:g}" for value in facts["coefficients"])
    text = (
        f"{facts['people']} people, {facts['mixes']} mixes, {facts['mixes_of_the_thesis']} of them "
        f"among the 810, coefficients {shown}"
    )
    right = (facts["people"], facts["mixes"], facts["mixes_of_the_thesis"]) == (8, 100, 100)
    right = right and facts["coefficients"] == [0.25, 0.5, 0.75]
    return Found(text, "reproduced" if right else "not reproduced")


def medians_close(run: HMixRun, part: str) -> Found:
    """Whether the median answer at every coefficient lies near it, with its whole interval."""
    close, shown, verdicts = run.study["close"], [], []
    for value in COEFFICIENTS:
        row = run.measured(part, "median", f"{value:g}")
        if row is None:
            return missing(f"no mixes with {value:g}")
        shown.append(f"{number(row['value'])} {interval(row['low'], row['high'])}")
        off, low, high = (row[end] - value for end in ("value", "low", "high"))
        verdicts.append(within(off, low, high, close))
    return Found(" · ".join(shown), overall(verdicts))


def answers_deviate(run: HMixRun, part: str) -> Found:
    """Whether single answers are farther from the coefficient than what counts as close."""
    row = run.measured(part, "error", ALL)
    quartiles = [run.measured(part, f"{which} quartile", "0.5") for which in ("lower", "upper")]
    if row is None or quartiles[0] is None or quartiles[1] is None:
        return missing("no answers")
    text = (
        f"{_shown(row)} on average; at 0.5 half of the answers lie outside "
        f"{number(quartiles[0]['value'])} to {number(quartiles[1]['value'])}"
    )
    close = run.study["close"]
    further, low, high = (row[end] - close for end in ("value", "low", "high"))
    return decided(text, further, low, high, "higher")


def off_the_diagonal(run: HMixRun, part: str) -> Found | None:
    """How many mean answers of a class pair and coefficient miss the coefficient, and by chance."""
    if part != ALL:
        return None
    points = run.tables["points"].filter(pl.col("low").is_not_nan())
    off = points.filter((pl.col("low") > pl.col("shown")) | (pl.col("high") < pl.col("shown")))
    chance = int(binom.ppf(0.975, len(points), 0.05))
    text = (
        f"{len(off)} of {len(points)} intervals of a class pair's mean answer miss the "
        f"coefficient; chance gives up to {chance}; "
        f"{len(run.tables['points']) - len(points)} means have no interval. "
        f"{_off_middle(run)} of 45 midpoints of fitted curves miss 0.5"
    )
    return Found(text, "reproduced" if len(off) > chance else "not reproduced", len(off))


def _off_middle(run: HMixRun) -> int:
    """Class pairs that are seen half and half elsewhere than at 0.5, by their interval."""
    middles = run.tables["parameters"].filter(pl.col("low").is_not_nan(), parameter="midpoint")
    return len(middles.filter((pl.col("low") > MIDDLE) | (pl.col("high") < MIDDLE)))


def curves_bend(run: HMixRun, part: str) -> Found:
    """Whether mean answers rise more steeply in the middle than outside, as no line does."""
    row = run.measured(part, BEND, "all class pairs")
    if row is None:
        return missing("not all coefficients")
    text = f"{signed(row['value'])} {interval(row['low'], row['high'])}"
    if part == ALL:
        pairs = run.tables["parameters"].filter(parameter=BEND)
        bent = pairs.filter(pl.col("low") > 0, pl.col("low").is_not_nan())  # NaN sorts above all
        first, second = run.study["example"]
        mine = pairs.filter(pair=f"{first} + {second}").row(0, named=True)
        text += (
            f"; by itself in {len(bent)} of {len(pairs)} class pairs; {first} + {second}: "
            f"{signed(mine['value'])} {interval(mine['low'], mine['high'])}"
        )
    return decided(text, row["value"], row["low"], row["high"], "higher")


def confidence_lowest_at_half(run: HMixRun, part: str) -> Found:
    """Whether people are less sure at 0.5 than at each of the other coefficients."""
    shown = [run.measured(part, "confidence", f"{value:g}") for value in COEFFICIENTS]
    less = [
        run.measured(part, "confidence at 0.5 less elsewhere", f"{value:g}")
        for value in COEFFICIENTS
        if value != MIDDLE
    ]
    if None in shown or None in less:
        return missing("not all coefficients")
    verdicts = [
        side(row["value"], row["low"], row["high"], "lower") for row in less if row is not None
    ]
    text = " · ".join(number(row["value"]) for row in shown if row is not None)
    ends = "; ".join(
        f"{row['group']}: {signed(row['value'])} {interval(row['low'], row['high'])}"
        for row in less
        if row is not None
    )
    return Found(f"{text}; at 0.5 less than at {ends}", overall(verdicts))


def endpoints_matter(run: HMixRun, part: str) -> Found:
    """Whether people are less sure where both images are ambiguous (S2-68)."""
    text, row = _endpoints(run, part, "confidence")
    if row is None:
        return missing(text)
    return decided(text, row["value"], row["low"], row["high"], "lower")


def endpoints_make_no_difference(run: HMixRun, part: str) -> Found:
    """Whether no difference of |λ_h − λ_f| is found; that is not to find that there is none."""
    text, row = _endpoints(run, part, "error")
    if row is None:
        return missing(text)
    if not row["low"] <= 0 <= row["high"]:
        return Found(text, "not reproduced", row["value"], row["low"], row["high"])
    return Found(text, "same direction", row["value"], row["low"], row["high"])


def figure_examples(run: HMixRun, part: str) -> Found | None:
    """The mean answers behind figure 4.3, which has two decimals."""
    if part != THESIS:
        return None
    rows = run.tables["examples"].iter_rows(named=True)
    pairs = [(row["all answers"], row["figure 4.3"]) for row in rows]
    text = ", ".join(number(ours) for ours, _ in pairs)
    right = all(ours is not None and abs(ours - told) < 0.0051 for ours, told in pairs)
    return Found(text, "reproduced" if right else "not reproduced")


def other_mass(run: HMixRun, part: str) -> Found | None:
    """Mass on classes that were not mixed: whether the thesis's number lies in the interval."""
    return _published(run, part, OTHER_MASS, 0.383)


def mass_follows(run: HMixRun, part: str) -> Found | None:
    """Correlation of mass and coefficient: whether the thesis's number lies in the interval."""
    return _published(run, part, FOLLOWS, 0.52)


def _published(run: HMixRun, part: str, measure: str, told: float) -> Found | None:
    if part != THESIS:
        return None
    row = run.measured(part, measure, RELEASED)
    alone = run.measured(part, f"{measure}, answers", RELEASED)
    if row is None or alone is None:
        return missing("no soft labels")
    text = f"{row['value']:.4f} {interval(row['low'], row['high'])}"
    text += f"; {number(alone['value'])} where each answer counts by itself"
    verdict: Verdict = "reproduced" if row["low"] <= told <= row["high"] else "not reproduced"
    return Found(text, verdict, row["value"], row["low"], row["high"])


def _endpoints(run: HMixRun, part: str, measure: str) -> tuple[str, dict[str, Any] | None]:
    row = run.measured(part, measure, "ambiguous less clear")
    high = run.measured(part, measure, "both endpoints ambiguous")
    low = run.measured(part, measure, "both endpoints clear")
    along = run.measured(part, f"correlation of {measure} with the endpoints' entropy", ALL)
    if row is None or high is None or low is None or along is None:
        return "no such endpoints", None
    text = (
        f"{number(high['value'])} ({high['answers']} answers about {high['mixes']} mixes) against "
        f"{number(low['value'])} ({low['answers']} about {low['mixes']}): {signed(row['value'])} "
        f"{interval(row['low'], row['high']) or '(no interval)'}; over all mixes r = "
        f"{_shown(along)}"
    )
    return text, row


def _shown(row: dict[str, Any]) -> str:
    return f"{number(row['value'])} {interval(row['low'], row['high']) or '(no interval)'}"
