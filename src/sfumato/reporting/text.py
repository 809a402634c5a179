"""Turn numbers, metrics and differences into the words and sentences that a reader sees."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato.errors import DataError
from sfumato.scores import Estimate, Metric, metric_words, swap_arms

BOTH = "seeds and items"
"""What most intervals are over; some are over one of the two."""

# Turn numbers into the text that a reader sees: three decimals, intervals in brackets.

UNDEFINED = "not defined"
MISSING = "–"
ROUNDING = 1e-12
"""A difference below this comes from the order of a sum."""


def number(value: float | int | None) -> str:
    """Three decimals; whole numbers as they are; tiny ones so that they do not read as zero.

    >>> number(0.41249), number(2134), number(-0.00021), number(None), number(float("nan"))
    ('0.412', '2,134', '-0.0002', '–', 'not defined')
    """
    if value is None:
        return MISSING
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0.000"
    if abs(value) < 0.0005:  # three decimals would show 0.000 and hide the sign
        return f"{value:.1g}"
    return f"{value:,.3f}"


def signed_number(value: float | None) -> str:
    """A difference: as ``number``, with a plus where it is above zero.

    >>> signed_number(0.25), signed_number(-0.25), signed_number(4e-17)
    ('+0.250', '-0.250', '0.000')
    """
    if value is not None and abs(value) < ROUNDING:
        value = 0.0
    text = number(value)
    return f"+{text}" if value is not None and value > 0 else text


def interval(low: float | None, high: float | None) -> str:
    """The interval in brackets, or nothing where there is none.

    >>> interval(0.1, 0.25), interval(None, None)
    ('[0.100, 0.250]', '')
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    return f"[{number(low)}, {number(high)}]"


def count(amount: int, thing: str) -> str:
    """An amount with its noun.

    >>> count(1, "item"), count(1000, "seed")
    ('1 item', '1,000 seeds')
    """
    return f"{amount:,} {thing}" if amount == 1 else f"{amount:,} {thing}s"


def seeds_text(seeds: Iterable[int]) -> str:
    """How many seeds and which; a run of neighbours as a range.

    >>> seeds_text((0, 1, 2)), seeds_text([4]), seeds_text((1, 5))
    ('3 seeds (0 to 2)', '1 seed (4)', '2 seeds (1, 5)')
    """
    known = sorted(set(seeds))
    if not known:
        return "no seeds"
    run = len(known) > 2 and known[-1] - known[0] == len(known) - 1
    named = f"{known[0]} to {known[-1]}" if run else ", ".join(map(str, known))
    return f"{count(len(known), 'seed')} ({named})"


# Turn scores and differences into plain sentences, never more certain than their intervals.
#
# The rules: a difference is *found* only where its 95 % interval lies wholly on one side of zero,
# for every network it speaks of, and the test given with it, if any, agrees (p < 0.05). Everything
# else is *not found*, with its numbers, or a *caution*. "Not found" is never "equal".

Kind = Literal["found", "not found", "caution"]
LEVEL = 0.05
FEW_SEEDS = 2
MANY = 20
"""Comparisons from which at least one excludes zero by chance more often than not, about."""

REFERENCES: dict[str, str] = {
    "entropy_floor": "the entropy of people's labels, which no model can go below",
    "class_oracle": "what knowing only the class of an item would reach",
}
"""Scores that are lines to hold the cross-entropy against (C20), in words."""


def over_text(over: Iterable[str]) -> str:
    """What the intervals of several numbers are over; empty where none has one.

    >>> over_text(["seeds", "", "seeds and items", "seeds"]), over_text(["seeds", "items"])
    ('seeds and items, some over seeds alone', 'items, some over seeds')
    """
    first, *others = sorted(set(over) - {""}, key=lambda one: (one != BOTH, one)) or [""]
    alone = " alone" if first == BOTH else ""
    return first + "".join(f", some over {one}{alone}" for one in others)


@dataclass(frozen=True)
class Finding:
    """One sentence for the top of a report."""

    text: str
    kind: Kind


def summarise(
    scores: Sequence[Estimate],
    differences: Sequence[Estimate],
    *,
    metrics: Collection[str] = (),
    strata: Collection[str] = ("all",),
    modes: tuple[str, str, str] | None = None,
) -> list[Finding]:
    """Findings about the chosen metrics and strata (all metrics where none is named).

    ``modes`` names the arms trained on the original labels, on the majority vote and on the soft
    labels, and asks how much of the gain is the vote (S4-45, C15).
    """
    chosen = [one for one in differences if _wanted(one, metrics, strata)]
    held = [one for one in scores if one.stratum in strata]
    findings = _simulation(scores, differences)
    findings += [_comparison(group) for group in _by_question(chosen)]
    if modes is not None:
        findings += mode_shift(chosen, *modes)
    findings += references(held)
    return findings + _cautions(chosen, scores)


def mode_shift(
    differences: Sequence[Estimate], original: str, majority: str, soft: str
) -> list[Finding]:
    """How much of the gain of soft over original labels their majority vote has already."""
    findings = []
    for group in _by_place(differences):
        whole = _between(group, soft, original)
        part = _between(group, majority, original)
        rest = _between(group, soft, majority)
        if whole is not None and part is not None and rest is not None:
            findings.append(_decoupled(whole, part, rest))
    return findings


def references(scores: Sequence[Estimate]) -> list[Finding]:
    """The arm with the lowest cross-entropy held against the floor and the class-level oracle."""
    findings = []
    known = [one for one in scores if one.metric in REFERENCES and math.isfinite(one.value)]
    lines = {(one.metric, one.against, one.stratum): one.value for one in known}
    for (metric, against, stratum), line in lines.items():
        rivals = [
            one
            for one in scores
            if one.metric == "cross_entropy"
            and (one.against, one.stratum) == (against, stratum)
            and math.isfinite(one.value)
        ]
        if rivals:
            best = min(rivals, key=lambda one: one.value)
            findings.append(_against_line(best, line, REFERENCES[metric]))
    return findings


def _wanted(one: Estimate, metrics: Collection[str], strata: Collection[str]) -> bool:
    return (not metrics or one.metric in metrics) and one.stratum in strata


def _by_question(differences: Sequence[Estimate]) -> list[list[Estimate]]:
    """Those that ask the same thing of different networks, together."""
    groups: dict[tuple[object, ...], list[Estimate]] = {}
    for one in differences:
        key = (one.metric, one.arm, one.second, *_setting(one))
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _by_place(differences: Sequence[Estimate]) -> list[list[Estimate]]:
    groups: dict[tuple[object, ...], list[Estimate]] = {}
    for one in differences:
        key = (one.metric, one.network, *_setting(one))
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _setting(one: Estimate) -> tuple[object, ...]:
    """Which items, what was done to them and whose labels they are held against."""
    return (one.part, one.against, one.stratum, one.attack, one.bound, one.step)


def _comparison(group: list[Estimate]) -> Finding:
    head = group[0]
    measure = metric_words(head.metric)
    verdicts = {_verdict(one) for one in group}
    numbers = "; ".join(_numbers(one, named=len(group) > 1) for one in group)
    where = _place(head, measure)
    tail = f"({numbers}; {_basis(group)}){_mark(group)}."
    pair = f"{_arm(head.arm)} and {_arm(head.second)}"
    everywhere = f" in all {len(group)} networks" if len(group) > 1 else ""
    nowhere = f" in any of {len(group)} networks" if len(group) > 1 else ""
    if verdicts in ({"lower"}, {"higher"}):
        way = verdicts.pop()
        text = f"{_arm(head.arm)} had {way} {measure.title} than {_arm(head.second)}{where}"
        return Finding(_sentence(f"{text}{everywhere}{_judged(way, measure)} {tail}"), "found")
    if verdicts == {"none"}:
        text = f"no difference was found between {pair} in {measure.title}{where}{nowhere} {tail}"
        return Finding(_sentence(text), "not found")
    if verdicts == {"unknown"}:
        text = (
            f"nothing can be said about {pair} in {measure.title}{where}: no usable interval {tail}"
        )
        return Finding(_sentence(text), "caution")
    if {"lower", "higher"} <= verdicts:
        text = f"which of {pair} has lower {measure.title}{where} depends on the network {tail}"
        return Finding(_sentence(text), "caution")
    if verdicts == {"disputed"}:
        text = f"the interval and the test disagree about {pair} in {measure.title}{where} {tail}"
        return Finding(_sentence(text), "caution")
    text = f"no consistent difference was found between {pair} in {measure.title}{where} {tail}"
    return Finding(_sentence(text), "not found")


Verdict = Literal["lower", "higher", "none", "unknown", "disputed"]


def _verdict(one: Estimate) -> Verdict:
    if one.low is None or one.high is None or not math.isfinite(one.value):
        return "unknown"
    if math.isnan(one.low) or math.isnan(one.high):
        return "unknown"
    if one.low > one.high:
        raise DataError(
            f"The interval of {one.arm!r} minus {one.second!r} by {one.metric!r} runs from "
            f"{one.low} down to {one.high}; give the lower end first."
        )
    if one.low <= 0 <= one.high:
        return "none"
    if one.p is not None and not one.p < LEVEL:
        return "disputed"
    return "higher" if one.low > 0 else "lower"


def _decoupled(whole: Estimate, part: Estimate, rest: Estimate) -> Finding:
    measure = metric_words(whole.metric)
    numbers = (
        f"{_short(whole)} in all, {_short(part)} by the majority vote of the same answers, "
        f"{_short(rest)} beyond it"
    )
    network = f" with {whole.network}" if whole.network else ""
    about = f"{measure.title}{_place(whole, measure)}{network}"
    moved = "lowered" if whole.value < 0 else "raised"
    tail = f"({numbers}; {_basis([whole, part, rest])}){_mark([whole, part, rest])}."
    if _verdict(whole) not in ("lower", "higher"):
        text = f"no difference between soft and original labels was found in {about}"
        return Finding(
            _sentence(f"{text}, so there is none to divide into vote and softness {tail}"),
            "not found",
        )
    share = part.value / whole.value
    said = f"about {share:.0%} of it" if _is_share(share, part) else "a part"
    if _verdict(rest) not in ("lower", "higher"):
        text = (
            f"training on soft instead of original labels {moved} {about}, but beyond the "
            f"majority vote no difference was found {tail}"
        )
        return Finding(_sentence(text), "not found")
    text = (
        f"training on soft instead of original labels {moved} {about}; the majority vote alone "
        f"accounts for {said}, and a difference remains beyond it {tail}"
    )
    if not _is_share(share, part):
        text = (
            f"training on soft instead of original labels {moved} {about}, also compared with "
            f"the majority vote {tail}"
        )
    return Finding(_sentence(text), "found")


def _is_share(share: float, part: Estimate) -> bool:
    """A percentage is only said where the vote's part is itself beyond doubt, and a part."""
    return _verdict(part) in ("lower", "higher") and 0 <= share <= 1


def _between(group: Sequence[Estimate], first: str, second: str) -> Estimate | None:
    """First minus second, also where it was computed the other way round."""
    for one in group:
        if (one.arm, one.second) == (first, second):
            return one
        if (one.arm, one.second) == (second, first):
            return swap_arms(one)
    return None


def _against_line(best: Estimate, line: float, words: str) -> Finding:
    measure = metric_words(best.metric)
    name = " · ".join(part for part in (best.arm, best.network) if part) or "the model"
    text = (
        f"the lowest {measure.title}{_place(best, measure)} was that of {_arm(name)}: "
        f"{number(best.value)} {interval(best.low, best.high)}".rstrip()
    )
    tail = f"{words} ({number(line)}; {_basis([best])}){_mark([best])}."
    if best.low is None or best.high is None or math.isnan(best.low) or math.isnan(best.high):
        return Finding(_sentence(f"{text}, without an interval, next to {tail}"), "caution")
    if best.low > line:
        return Finding(_sentence(f"{text}, above {tail}"), "found")
    if best.high < line:
        return Finding(_sentence(f"{text}, below {tail}"), "found")
    return Finding(_sentence(f"{text}, not told apart from {tail}"), "not found")


def _simulation(scores: Sequence[Estimate], differences: Sequence[Estimate]) -> list[Finding]:
    marks = [one.simulated for one in scores] + [one.simulated for one in differences]
    if not any(marks):
        return []
    who = "The annotators" if all(marks) else "Some of the annotators"
    text = (
        f"{who} behind these numbers are simulated: they show how the methods behave on made-up "
        "answers, and nothing about people."
    )
    return [Finding(text, "caution")]


def _cautions(chosen: Sequence[Estimate], scores: Sequence[Estimate]) -> list[Finding]:
    findings = []
    if len(chosen) >= MANY:
        text = (
            f"{len(chosen)} comparisons were made, each with a 95 % interval: about "
            f"{len(chosen) * LEVEL:.0f} would exclude zero by chance. No interval allows for this."
        )
        findings.append(Finding(text, "caution"))
    few = [one for one in chosen if "seeds" in one.over and len(one.seeds) <= FEW_SEEDS]
    if few:
        text = (
            f"{count(len(few), 'comparison')} over seeds rest on {FEW_SEEDS} seeds or fewer; "
            "such intervals are rough."
        )
        findings.append(Finding(text, "caution"))
    undefined = dict.fromkeys(one.metric for one in scores if math.isnan(one.value))
    if undefined:
        titles = ", ".join(metric_words(metric).title for metric in undefined)
        findings.append(Finding(f"Not defined for some arms or strata: {titles}.", "caution"))
    return findings


def _numbers(one: Estimate, *, named: bool) -> str:
    """With its test where there is one network; the table of differences has the others."""
    if named:
        return f"{one.network or 'no network named'}: {_short(one)}"
    test = f", p = {one.p:.2g} by {one.test or 'an unnamed test'}" if one.p is not None else ""
    return f"{_short(one)}{test}"


def _short(one: Estimate) -> str:
    return f"{signed_number(one.value)} {interval(one.low, one.high) or '(no interval)'}"


def _basis(rows: Sequence[Estimate]) -> str:
    """How many items and seeds, and what the interval is over."""
    over = over_text(one.over for one in rows)
    parts = [f"95 % interval over {over}"] if over else []
    items = sorted({one.items for one in rows if one.items})
    if items:
        parts.append(
            count(items[0], "item") if len(items) == 1 else f"{items[0]:,}–{items[-1]:,} items"
        )
    seeds = sorted({len(one.seeds) for one in rows})
    if seeds and seeds[-1]:
        parts.append(
            count(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]}–{seeds[-1]} seeds"
        )
    return ", ".join(parts) or "number of items and seeds not given"


def _place(one: Estimate, measure: Metric) -> str:
    stratum = "" if one.stratum == "all" else f" on {one.stratum} items"
    if one.against in measure.title:  # "distance to people" needs no "against people"
        return stratum
    return (
        f" against {one.against} labels{stratum}"
        if one.against != "people"
        else (f" against people{stratum}")
    )


def _judged(way: str, measure: Metric) -> str:
    if measure.better == "neither":
        return ""
    return ", which is better" if way == measure.better else ", which is worse"


def _mark(rows: Sequence[Estimate]) -> str:
    return " [simulated annotators]" if any(one.simulated for one in rows) else ""


def _arm(name: str) -> str:
    return f"'{name}'"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
