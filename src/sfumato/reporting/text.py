"""Turn numbers, metrics and differences into the words and sentences that a reader sees."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato.errors import DataError
from sfumato.scores import Estimate, metric_words, swap_arms

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


def with_ends(one: Estimate) -> str:
    """A value with its interval, signed where it is a difference.

    >>> with_ends(Estimate("accuracy", 0.5, low=0.25, high=0.75))
    '0.500 [0.250, 0.750]'
    """
    shown = signed_number(one.value) if one.is_difference else number(one.value)
    return f"{shown} {interval(one.low, one.high)}".rstrip()


def count(amount: int, thing: str) -> str:
    """An amount with its noun.

    >>> count(1, "item"), count(1000, "seed")
    ('1 item', '1,000 seeds')
    """
    return f"{amount:,} {thing}" if amount == 1 else f"{amount:,} {thing}s"


SPELT = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def spelt(amount: int) -> str:
    """A small number as a word.

    >>> spelt(3), spelt(12)
    ('three', '12')
    """
    return SPELT[amount] if amount < len(SPELT) else f"{amount:,}"


def said(value: float, metric: str = "") -> str:
    """An amount as one says it aloud, without its sign: two digits, shares in percentage points.

    >>> said(-0.2264, "cross_entropy"), said(0.187, "accuracy"), said(12.34)
    ('0.23 nats', '19 percentage points', '12')
    """
    words = metric_words(metric)
    share = (words.low, words.high) == (0, 1)
    amount = abs(value) * (100 if share else 1)
    digits = f"{amount:,.0f}" if amount >= 9.95 else f"{amount:.2g}"
    unit = f"percentage point{'' if digits == '1' else 's'}" if share else words.unit
    return f"{digits} {unit}".strip()


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


def over_text(over: Iterable[str]) -> str:
    """What the intervals of several numbers are over; empty where none has one.

    >>> over_text(["seeds", "", "seeds and items", "seeds"]), over_text(["seeds", "items"])
    ('seeds and items, some over seeds alone', 'items, some over seeds')
    """
    first, *others = sorted(set(over) - {""}, key=lambda one: (one != BOTH, one)) or [""]
    alone = " alone" if first == BOTH else ""
    return first + "".join(f", some over {one}{alone}" for one in others)


def condition_words(one: Estimate) -> str:
    """What was done to the items that a number is about, or which they are.

    >>> condition_words(Estimate("accuracy", 0.5, attack="fgsm", bound=4.0))
    'FGSM within 4/255'
    """
    if not one.attack:
        return one.stratum
    if one.attack in ("fgsm", "pgd"):
        return f"{one.attack.upper()} within {one.bound:g}/255"
    return f"{one.attack.replace('_', ' ')}, strength {one.bound:g}"


# Turn differences into plain sentences, never more certain than their intervals.
#
# The rules: a difference is *found* only where its 95 % interval lies wholly on one side of zero,
# for every network it speaks of, and the test given with it, if any, agrees (p < 0.05). Everything
# else is *not found*, or a *caution*. "Not found" is never "equal".

Kind = Literal["found", "not found", "caution"]
Way = Literal["better", "worse", ""]
LEVEL = 0.05
FEW_SEEDS = 2
MANY = 20
"""Comparisons from which at least one excludes zero by chance more often than not, about."""
EACH_WAY = 3
"""Findings that a page begins with, at most, in either direction."""
LEAST = 3
"""Findings that a page begins with where fewer are clear: the others are told as not found."""

FOUND_BY = (
    *("cross_entropy", "accuracy", "second_best_accuracy", "rms_calibration"),
    *("classwise_calibration", "entropy_correlation"),
)
"""Metrics that findings are chosen from: one for each thing that a model can be better at."""

VERBS: dict[str, tuple[str, str, str]] = {
    "cross_entropy": ("predicted {whose}", "better", "worse"),
    "kl": ("predicted {whose}", "better", "worse"),
    "accuracy": ("found the first choice of {whose}", "more often", "less often"),
    "second_best_accuracy": ("found the second choice of {whose}", "more often", "less often"),
    "rms_calibration": (
        *("had a confidence in the first choice", "closer to how often it is right"),
        "further from how often it is right",
    ),
    "classwise_calibration": (
        *("gave each class a probability", "closer to how often {whose} choose it"),
        "further from how often {whose} choose it",
    ),
    "entropy_correlation": ("doubted", "more of what {whose} doubt", "less of what {whose} doubt"),
}
"""A metric as a verb, and how one does it better and worse."""

REFERENCES: dict[str, tuple[str, str, str]] = {
    "entropy_floor": (
        "The closest, {name}, was {apart} above what no model can go below, the entropy of the "
        "labels",
        "The closest, {name}, was {apart} below the entropy of the labels, which cannot be",
        "Whether the closest, {name}, is above the entropy of the labels is open",
    ),
    "class_oracle": (
        "Knowing only the class of each item would predict people better than {name}, by {apart}",
        "The closest, {name}, predicted people better than knowing only the class of each item "
        "would, by {apart}",
        "Whether the closest, {name}, is better than knowing only the class of each item is open",
    ),
}
"""Scores that are lines to hold the cross-entropy against (C20): what is said above and below one,
and where it is open."""


@dataclass(frozen=True)
class Finding:
    """One plain sentence for the top of a report, and the number behind it."""

    text: str
    kind: Kind
    behind: str = ""
    """The number with its interval and what it rests on."""
    way: Way = ""
    """Whether what was found is good or bad news, where it is either."""
    rows: tuple[Estimate, ...] = ()
    """The estimates that it tells."""


@dataclass(frozen=True)
class Contrast:
    """One question asked of two arms, answered by every network."""

    rows: tuple[Estimate, ...]
    """Differences that tell only the network apart."""
    scores: tuple[tuple[Estimate, Estimate], ...] = ()
    """What was subtracted from what, network by network, where it is known."""

    @property
    def head(self) -> Estimate:
        """The network with the least difference, which the sentence is about."""
        return min(self.rows, key=lambda one: (abs(one.value), one.network))

    @property
    def verdicts(self) -> set[str]:
        """What the networks say: lower, higher, none, disputed or unknown."""
        return {verdict(one) for one in self.rows}

    @property
    def clear(self) -> bool:
        """Whether all networks found the same."""
        return self.verdicts in ({"lower"}, {"higher"})

    @property
    def way(self) -> Way:
        """Whether the first arm did better."""
        better = metric_words(self.head.metric).better
        if not self.clear or better == "neither":
            return ""
        return "better" if self.verdicts == {better} else "worse"

    @property
    def size(self) -> float:
        """The least difference as a part of the larger of the two scores, or of its interval."""
        if len(self.scores) == len(self.rows):
            sizes = [
                abs(first.value - second.value) / (max(abs(first.value), abs(second.value)) or 1)
                for first, second in self.scores
            ]
            return min(sizes)
        wide = max((one.high or 0) - (one.low or 0) for one in self.rows)
        return abs(self.head.value) / wide if wide else 0.0

    def finding(self, subject: str = "they", than: str = "", *, named: bool = False) -> Finding:
        """The sentence with what is behind it; ``than`` names the second arm.

        A sentence does not begin with a capital letter where the subject is a ``named`` model.
        """
        kind, told = self._found(subject, than) if self.clear else self._open(subject, than)
        condition = _condition(self.head)
        text = f"{condition}{told}."
        text = text if named and not condition else text[:1].upper() + text[1:]
        return Finding(text, kind, self.behind(), self.way, self.rows)

    def _found(self, subject: str, than: str) -> tuple[Kind, str]:
        verb, how = self._verb("lower" if self.head.value < 0 else "higher")
        several = len(self.rows) > 1
        least = "at least " if several else ""
        every = "both" if len(self.rows) == 2 else f"all {spelt(len(self.rows))}"
        where = f" in {every} networks" if several else ""
        told = f"{metric_words(self.head.metric).title} {least}{_apart(self.head)}{where}"
        return "found", f"{subject} {verb} {how}{than}: {told}"

    def _open(self, subject: str, than: str) -> tuple[Kind, str]:
        kind: Kind = "caution"
        if {"lower", "higher"} <= self.verdicts:
            reason = "by the network"
        elif self.verdicts == {"unknown"}:
            reason = "without a usable interval"
        elif self.verdicts == {"disputed"}:
            reason = "but the interval and the test disagree"
        else:
            every = self.verdicts == {"none"}
            reason = f"and {'the' if every else 'not every'} interval "
            reason, kind = reason + ("includes zero" if every else "excludes zero"), "not found"
        ranked = sorted(self.rows, key=lambda one: one.value)
        ends = dict.fromkeys(map(_apart, (ranked[0], ranked[-1])))
        told = f"from {' to '.join(ends)}" if len(ends) > 1 else next(iter(ends))
        title = metric_words(self.head.metric).title
        verb, _ = self._verb("lower")
        whether = f"whether {subject} {verb} better or worse{than} is open"
        return kind, f"{whether}: {title} {told}, {reason}"

    def _verb(self, way: str) -> tuple[str, str]:
        metric, whose = metric_words(self.head.metric), whose_words(self.head.against)
        if metric.better == "neither":
            return "were", "not the same"
        verb, better, worse = VERBS.get(metric.name, ("did", "better", "worse"))
        how = better if way == metric.better else worse
        return verb.format(whose=whose), how.format(whose=whose)

    def behind(self) -> str:
        """Every network's numbers, and what they rest on."""
        pairs = self.scores or (None,) * len(self.rows)
        told = []
        for one, both in zip(self.rows, pairs, strict=True):
            name = f"{one.network} " if len(self.rows) > 1 else ""
            scores = f" ({number(both[0].value)} against {number(both[1].value)})" if both else ""
            alone = len(self.rows) == 1 and one.p is not None
            test = f", p = {one.p:.2g} by {one.test or 'an unnamed test'}" if alone else ""
            ends = interval(one.low, one.high) or "(no interval)"
            told.append(f"{name}{signed_number(one.value)} {ends}{test}{scores}")
        return f"{'; '.join(told)}. {basis_text(self.rows)}"


def contrasts(differences: Iterable[Estimate], scores: Iterable[Estimate] = ()) -> list[Contrast]:
    """Differences that ask the same of different networks, together, with the scores behind."""
    groups: dict[tuple[object, ...], list[Estimate]] = {}
    for one in differences:
        groups.setdefault((one.metric, one.arm, one.second, *_setting(one)), []).append(one)
    known = {(one.metric, one.arm, one.network, *_setting(one)): one for one in scores}
    found = []
    for rows in groups.values():
        pairs = [
            tuple(
                known.get((one.metric, arm, one.network, *_setting(one)))
                for arm in (one.arm, one.second)
            )
            for one in rows
        ]
        whole = tuple((first, second) for first, second in pairs if first and second)
        found.append(Contrast(tuple(rows), whole if len(whole) == len(rows) else ()))
    return found


def choose_findings(
    known: Sequence[Contrast], subject: str = "they", than: str = "", *, named: bool = False
) -> list[Finding]:
    """The largest clear differences in either direction, by the same rule for good and bad.

    Of the same metric on untouched, attacked and corrupted items only the largest each counts.
    Where fewer than three are clear, the largest of the others follow as not found.
    """
    ranked = sorted(known, key=lambda one: -one.size)
    chosen: list[Contrast] = []
    for way in ("better", "worse", ""):
        seen: set[tuple[str, str]] = set()
        for one in ranked:
            topic = (one.head.metric, _treatment(one.head))
            enough = len(seen) >= EACH_WAY if way else len(chosen) >= LEAST
            if one.way == way and topic not in seen and not enough:
                chosen.append(one)
                seen.add(topic)
    return [one.finding(subject, than, named=named) for one in chosen]


def _treatment(one: Estimate) -> str:
    if one.attack in ("fgsm", "pgd"):
        return "attacked"
    return "corrupted" if one.attack else one.stratum


def _apart(one: Estimate) -> str:
    """A difference as one says it: "0.2 nats lower"."""
    return f"{said(one.value, one.metric)} {'lower' if one.value < 0 else 'higher'}"


def _condition(one: Estimate) -> str:
    match _treatment(one):
        case "all":
            return ""
        case "attacked":
            return f"under {one.attack.upper()} attacks of {one.bound:g}/255 "
        case "corrupted" if one.attack:
            return f"under the corruption ‘{one.attack.replace('_', ' ')}’ "
        case stratum:
            return f"on {stratum} items "


def whose_words(against: str) -> str:
    """Whose labels are held against, in a sentence.

    >>> whose_words("people"), whose_words("original"), whose_words("CIFAR-10H")
    ('people', 'the original labels', 'CIFAR-10H')
    """
    return {"original": "the original labels", "majority": "the majority"}.get(against, against)


def basis_text(rows: Sequence[Estimate]) -> str:
    """How many items and seeds stand behind differences, how they are paired, and the interval."""
    items = sorted({one.items for one in rows if one.items})
    over = over_text(one.over for one in rows)
    seeds = sorted({len(one.seeds) for one in rows}) if over != "items" else []
    parts = []
    if items:
        parts.append(
            count(items[0], "item") if len(items) == 1 else f"{items[0]:,} to {items[-1]:,} items"
        )
    if seeds and seeds[-1]:
        parts.append(
            count(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
        )
    text = f"{' and '.join(parts)}" if parts else "number of items and seeds not given"
    if any(one.is_difference for one in rows):
        text += f"; {paired_words(over)}"
    return f"{text}; 95 % interval over {over}." if over else f"{text}."


def paired_words(over: str) -> str:
    """How differences are paired, by what their intervals are over.

    >>> paired_words("seeds"), paired_words("seeds and items")
    ('paired by seed, on the same items', 'paired by seed and item')
    """
    if over.startswith(BOTH):
        return "paired by seed and item"
    if "seeds" in over:
        return "paired by seed, on the same items"
    return "paired by item" if "items" in over else "paired"


PAIRING = {
    BOTH: "The difference is taken seed by seed and item by item. Its interval allows for other "
    "seeds and for other items (two-way analysis of variance, Student's t).",
    "seeds": "The difference is taken seed by seed, on the same items. Its interval allows for "
    "other seeds and not for other items (Student's t).",
    "items": "The difference is taken item by item. Its interval allows for other items and not "
    "for another training (bootstrap).",
}
"""How differences are paired, by what their interval is over."""


def pairing_of(rows: Iterable[Estimate]) -> tuple[str, ...]:
    """Sentences on how differences are paired and what their intervals allow for.

    >>> pairing_of([Estimate("kl", 0.1, arm="soft", second="hard", over="seeds")])[0][:42]
    'The difference is taken seed by seed, on t'
    """
    over = dict.fromkeys(one.over for one in rows if one.is_difference)
    return tuple(PAIRING[each] for each in over if each in PAIRING)


def _setting(one: Estimate) -> tuple[object, ...]:
    """Which items, what was done to them and whose labels they are held against."""
    return (one.part, one.against, one.stratum, one.attack, one.bound, one.step)


Verdict = Literal["lower", "higher", "none", "unknown", "disputed"]


def verdict(one: Estimate) -> Verdict:
    """On which side of zero a difference lies, by its interval and its test."""
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


def mode_shift(
    differences: Sequence[Estimate], original: str, majority: str, soft: str
) -> list[Finding]:
    """How much of the gain of soft over original labels their majority vote has already."""
    groups: dict[tuple[object, ...], list[Estimate]] = {}
    for one in differences:
        groups.setdefault((one.metric, one.network, *_setting(one)), []).append(one)
    findings = []
    for group in groups.values():
        whole = _between(group, soft, original)
        part = _between(group, majority, original)
        rest = _between(group, soft, majority)
        if whole is not None and part is not None and rest is not None:
            findings.append(_decoupled(whole, part, rest))
    return findings


def _decoupled(whole: Estimate, part: Estimate, rest: Estimate) -> Finding:
    network = f" with {whole.network}" if whole.network else ""
    about = f"{metric_words(whole.metric).title} against {whose_words(whole.against)}{network}"
    moved = "lowered" if whole.value < 0 else "raised"
    behind = (
        f"{with_ends(whole)} in all, {with_ends(part)} by the majority vote of the same answers, "
        f"{with_ends(rest)} beyond it. {basis_text([whole, part, rest])}"
    )
    begin = f"training on soft instead of original labels {moved} {about}"
    if verdict(whole) not in ("lower", "higher"):
        begin = f"no difference between soft and original labels was found in {about}"
        text, kind = f"{begin}, so there is none to divide into vote and softness", "not found"
    elif verdict(rest) not in ("lower", "higher"):
        text, kind = f"{begin}, but beyond the majority vote no difference was found", "not found"
    elif verdict(part) in ("lower", "higher") and 0 <= part.value / whole.value <= 1:
        share = f"about {part.value / whole.value:.0%} of it"
        text = f"{begin}; the majority vote alone accounts for {share}, and a difference remains"
        kind = "found"
    else:  # a percentage is only said where the vote's part is beyond doubt, and a part
        text, kind = f"{begin}, also compared with the majority vote", "found"
    return Finding(_sentence(f"{text}."), kind, behind, "", (whole, part, rest))  # type: ignore[arg-type]


def _between(group: Sequence[Estimate], first: str, second: str) -> Estimate | None:
    """First minus second, also where it was computed the other way round."""
    for one in group:
        if (one.arm, one.second) == (first, second):
            return one
        if (one.arm, one.second) == (second, first):
            return swap_arms(one)
    return None


def references(scores: Sequence[Estimate]) -> list[Finding]:
    """The arm with the lowest cross-entropy held against the floor and the class-level oracle."""
    findings = []
    known = [one for one in scores if one.metric in REFERENCES and math.isfinite(one.value)]
    lines = {(one.metric, one.against, one.stratum): one for one in known}
    for (_, against, stratum), line in lines.items():
        rivals = [
            one
            for one in scores
            if one.metric == "cross_entropy"
            and (one.against, one.stratum) == (against, stratum)
            and math.isfinite(one.value)
        ]
        if rivals:
            best = min(rivals, key=lambda one: one.value)
            findings.append(_against_line(best, line))
    return findings


def _against_line(best: Estimate, line: Estimate) -> Finding:
    name = " in ".join(part for part in (best.arm, best.network) if part) or "the model"
    behind = f"{with_ends(best)} against {number(line.value)}. {basis_text([best])}"
    apart = said(best.value - line.value, best.metric)
    above, below, open_ = REFERENCES[line.metric]
    kind: Kind = "found"
    way: Way = ""
    if best.low is None or best.high is None or math.isnan(best.low) or math.isnan(best.high):
        text, kind = f"{open_}: there is no interval", "caution"
    elif best.low > line.value:
        text, way = above, "worse" if line.metric == "class_oracle" else ""
    elif best.high < line.value:
        text, way = below, "better"
    else:
        text, kind = open_, "not found"
    return Finding(f"{text.format(name=name, apart=apart)}.", kind, behind, way, (best, line))


def cautions(chosen: Sequence[Estimate], scores: Iterable[Estimate] = ()) -> list[str]:
    """What anybody who reads the differences must know: how many, how few seeds, what is not."""
    told = []
    if len(chosen) >= MANY:
        told.append(
            f"{len(chosen):,} comparisons were made, each with a 95 % interval: about "
            f"{len(chosen) * LEVEL:.0f} would exclude zero by chance. No interval allows for this."
        )
    few = [one for one in chosen if "seeds" in one.over and len(one.seeds) <= FEW_SEEDS]
    if few:
        told.append(
            f"{count(len(few), 'comparison')} over seeds rest on {FEW_SEEDS} seeds or fewer; "
            "such intervals are rough."
        )
    undefined = dict.fromkeys(one.metric for one in scores if math.isnan(one.value))
    if undefined:
        titles = ", ".join(metric_words(metric).title for metric in undefined)
        told.append(f"Not defined for some arms or strata: {titles}.")
    return told


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
