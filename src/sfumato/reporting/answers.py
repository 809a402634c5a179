"""Turn people's answers into one page, without any training: who, how long, agreement, oddities.

Doubt and disagreement are kept apart everywhere. *Doubt* is what people are unsure of by their own
answers; *disagreement* is how far their answers are from each other. Answers that are all the same
are not disputed, however much they hedge.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import entr

from sfumato.evaluation.cartography import bars
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.quality import rule_with, times
from sfumato.labels.agreement import between_pairs
from sfumato.labels.build import DEFAULT_RECIPE, EACH_CLASS, build_classes, build_units
from sfumato.labels.describe import describe
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.labels.signals import Spread, spread_of
from sfumato.labels.verbs import to_judgments
from sfumato.labels.votes import Votes, counts, votes_of
from sfumato.names import short_names
from sfumato.provenance import is_simulated
from sfumato.reporting import figures
from sfumato.reporting.contents import ItemContents, label_words, load_contents
from sfumato.reporting.datasheet import question_asked
from sfumato.reporting.draw import Basis
from sfumato.reporting.page import (
    Bar,
    Block,
    Chart,
    Lead,
    Origin,
    Page,
    Section,
    Table,
    Text,
    duration,
    write,
)
from sfumato.reporting.text import Finding, count, interval, number

MOST_PEOPLE = 30
"""The busiest people are shown one by one; the others are counted."""
MOST_COLUMNS = 12
"""People that stand beside each other in a table."""
MOST_ITEMS = 12
"""Items that are shown one by one."""
MOST_ANSWERS = 8
"""Answers that are told in words for one item."""


@dataclass(frozen=True, eq=False)
class _Answers:
    """What the sections of the page are about."""

    judgments: Judgments
    chosen: Judgments
    """First views, each person once per item: what labels are made of."""
    crowd: CrowdLabels
    """Annotators by their short names; where each class is asked about on its own, its items are
    pairs of an item and a class."""
    told: Mapping[str, Any]
    """What ``describe`` counted."""
    contents: ItemContents

    @cached_property
    def labels(self) -> LabelSet:
        return self.crowd.mean()

    @cached_property
    def spread(self) -> Spread:
        return spread_of(self.crowd)

    @cached_property
    def votes(self) -> Votes:
        return votes_of(self.crowd)

    @cached_property
    def people(self) -> list[int]:
        """Codes of the people who are known, the busiest first."""
        known = self.crowd.annotator[self.crowd.annotator != NOT_RECORDED]
        answers = np.bincount(known, minlength=len(self.crowd.annotators))
        order = np.argsort(-answers, kind="stable")
        return [int(person) for person in order if answers[person]]

    @property
    def each_class(self) -> bool:
        """Whether several classes may apply, and people say of each whether it does."""
        return DEFAULT_RECIPE[self.judgments.question.kind] in EACH_CLASS

    @property
    def simulated(self) -> bool:
        return is_simulated(self.judgments.provenance)

    def basis(self) -> Basis:
        return Basis(self.simulated, items=len(self.labels), people=len(self.people))


def report(
    answers: object,
    path: str | Path | None = None,
    *,
    text: object = None,
    pictures: str | Path | Mapping[str, NDArray[np.generic]] | None = None,
    title: str | None = None,
    seed: int = 0,
    **reading: Any,
) -> Page:
    """One page about people's answers; written as HTML where a ``path`` is given.

    ``answers`` are judgments, or whatever ``read`` reads with the options of ``reading``. ``text``
    is the name of a column of the answers, or a file or table of items and texts; ``pictures`` is a
    folder or zip archive. Both are shown beside the items that people dispute most.

    >>> from sfumato.judgments.question import ask
    >>> rows = [("a", "ann", '"cat"'), ("a", "ben", '"dog"'), ("b", "ann", '"dog"')]
    >>> table = pl.DataFrame(rows, schema=["item", "annotator", "answer"], orient="row")
    >>> page = report(Judgments(ask("choose-one", ["cat", "dog"]), table))
    >>> [section.title for section in page.sections][:3]
    ['Most disputed items', 'Agreement', 'Doubt and disagreement']
    """
    judgments = to_judgments(answers, **reading)
    chosen = select(judgments)
    crowd = build_units(chosen, DEFAULT_RECIPE[judgments.question.kind])
    short = short_names(judgments.annotators)
    crowd = replace(crowd, annotators=tuple(short[name] for name in crowd.annotators))
    rules = [rule_with("too-fast")]
    told = describe(judgments, rules=rules, rng=np.random.default_rng(seed))
    items = chosen.coded.coded("item").used().to_list()
    contents = load_contents(items, text=text, pictures=pictures, answers=answers)
    found = _Answers(judgments, chosen, crowd, told, contents)
    if found.each_class:
        found = replace(found, contents=_of_pairs(contents, judgments.question.classes))
    page = answers_page(found, title or _title(answers))
    if path is not None:
        write(page, Path(path))
    return page


def _of_pairs(contents: ItemContents, classes: Sequence[str]) -> ItemContents:
    """What belongs to an item, for each pair of it and a class."""
    return ItemContents(
        {f"{item}: {name}": one for item, one in contents.pictures.items() for name in classes},
        {f"{item}: {name}": one for item, one in contents.texts.items() for name in classes},
    )


def answers_page(found: _Answers, title: str) -> Page:
    """The page; sections without anything to tell are left out."""
    sections = [
        Section("Most disputed items", "", tuple(_disputed(found))),
        Section("Most doubted items", "", tuple(_doubted(found))),
        Section("Agreement", AGREEMENT, tuple(_agreement(found))),
        Section("Doubt and disagreement", DOUBT, tuple(_doubt(found))),
        Section("Who answered", "", tuple(_who(found))),
        Section("Oddities", "", tuple(_oddities(found))),
    ]
    appendix = [
        Section("How long", "", tuple(_how_long(found))),
        Section("Classes", "", tuple(_classes(found))),
        Section("Labels", _labels_text(found), tuple(_labels(found))),
    ]
    return Page(
        title,
        _lead(found),
        f"What people were asked: {question_asked(found.judgments)}",
        tuple(_findings(found)),
        sections=tuple(section for section in sections if section.blocks),
        appendix=tuple(section for section in appendix if section.blocks),
        how=Origin(path=_path(found), provenance=found.crowd.provenance),
        alone=True,
    )


AGREEMENT = (
    "How far people agree beyond chance, in brackets the 95 % interval over items. Below, each two "
    "people on the items that both answered: the share of items with the same top choice."
)
DOUBT = (
    "The entropy of an item's mean label is the sum of two numbers. Doubt is the mean entropy of "
    "each person's own answer: how unsure people are, whether or not they agree. Disagreement is "
    "the rest: how far their answers are from each other. People who name a single class show no "
    "doubt; people who all say the same show no disagreement."
)


def _title(answers: object) -> str:
    return f"Answers of {Path(answers).name}" if isinstance(answers, str | Path) else "Answers"


SHARES = ("all say the same", "at least ¾ do", "more than half do", "at most half do")
"""Items by the share of people who chose the most frequent class."""


def _lead(found: _Answers) -> Lead:
    """How often two people say the same."""
    several = bool((found.spread.answers > 1).any())
    same = _same_choice(found)
    answer = "Nobody knows: no item has answers of two people."
    if same is not None:
        about = "one class of the same item" if found.each_class else "the same item"
        answer = (
            f"Two people who answer about {about} say the same in "
            f"{100 * same['value']:.0f} of 100 cases."
        )
    elif several:
        answer = _disputed_text(found)
    return Lead(
        "How far do people agree?",
        answer,
        _agreement_chart(found) if several else None,
        tuple(_basis_lines(found)),
        tuple(_speaks_against(found)),
        Origin((SAME, DISAGREE), path=_path(found)),
    )


SAME = (
    "Percent agreement: of all pairs of answers about one item, the share with the same first "
    "choice, Σₖ nₖ(nₖ − 1) / n(n − 1) with n answers of which nₖ choose class k; then the mean "
    "over items with two answers or more."
)
DISAGREE = (
    "People disagree on an item where not all its answers are the same: where the mean divergence "
    "of the answers from their mean, H(mean) − mean of H(answer), is above zero. An item with "
    "one answer counts neither way."
)


def _same_choice(found: _Answers) -> Mapping[str, Any] | None:
    """Percent agreement with its interval, where two people answered about an item."""
    known = {measure["name"]: measure for measure in found.told["agreement"]}
    measure = known.get("percent agreement")
    return None if measure is None or measure["value"] is None else measure


def _disputed_text(found: _Answers) -> str:
    several, disputed = int((found.spread.answers > 1).sum()), int(found.spread.disputed.sum())
    what = "pairs of item and class" if found.each_class else "items"
    return (
        f"People disagree on {disputed:,} of {several:,} {what} that two or more answered "
        f"({disputed / several:.0%})."
    )


def _agreement_chart(found: _Answers) -> Chart:
    table = counts(found.votes)
    total = table.sum(axis=1)
    share = table.max(axis=1)[total > 1] / total[total > 1]
    place = np.where(share == 1, 0, np.where(share >= 0.75, 1, np.where(share > 0.5, 2, 3)))
    amounts = np.bincount(place, minlength=len(SHARES))
    bars = tuple(
        Bar(name, float(amount / len(share)), strong=True, text=f"{amount / len(share):.0%}")
        for name, amount in zip(SHARES, amounts, strict=True)
    )
    caption = f"By first choices on {count(len(share), 'item')} with two answers or more."
    return Chart("Share of items on which", bars, caption, from_zero=True, most=1.0)


def _path(found: _Answers) -> tuple[str, ...]:
    kind = "simulated annotator" if found.simulated else "annotator"
    who = f" of {count(len(found.people), kind)}" if found.people else ""
    return (
        f"labels of {count(len(found.labels), 'item')}",
        f"{count(len(found.chosen if found.each_class else found.crowd), 'answer')}{who} that make "
        "labels",
        f"{count(found.told['judgments'], 'answer')} in the file",
    )


def _basis_lines(found: _Answers) -> Iterator[str]:
    told = found.told
    people = "people not recorded" if told["people"] is None else count(told["people"], "annotator")
    yield (
        f"{count(told['judgments'], 'answer')} about {count(told['items'], 'item')}, {people}; "
        f"{number(float(found.spread.answers.mean())).rstrip('0').rstrip('.')} answers per item."
    )
    if found.each_class:
        yield (
            "Several classes may apply, so that each is a question of its own, yes or no; from "
            "here on “items” are pairs of an item and a class."
        )
    same = _same_choice(found)
    if same is not None:
        ends = interval(same["low"], same["high"])
        yield f"Percent agreement {number(same['value'])}, 95 % interval over items {ends}."


def _speaks_against(found: _Answers) -> Iterator[str]:
    if found.simulated:
        yield "The answers were made by a program, not by people."
    if _same_choice(found) is not None:
        total = counts(found.votes).sum(axis=0)
        chance = float(((total / total.sum()) ** 2).sum())
        what = "yes and no said as often as they are"
        if not found.each_class:
            what = "each class chosen as often as it is"
        yield (f"By chance alone, were {what}, it would be {100 * chance:.0f} of 100.")
    if found.each_class:
        yield "Intervals take the classes of an item for independent; if not, they are too narrow."
    alone = int((found.spread.answers == 1).sum())
    if alone:
        yield f"{count(alone, 'item')} with a single answer: nothing is known of disagreement."
    few = found.spread.answers[found.spread.answers > 1]
    if few.size and few.mean() < FEW_ANSWERS:
        yield (
            f"With {few.mean():.1f} answers per item some disagreement stays unseen: more answers "
            "can only add disputed items."
        )
    if not question_asked(found.judgments).startswith("“"):
        yield "The wording of the question is not recorded."
    if found.told["rejected"]["count"]:
        yield f"{count(found.told['rejected']['count'], 'row')} could not be read; see Oddities."
    yield "That people agree does not make them right."


FEW_ANSWERS = 10


def _findings(found: _Answers) -> Iterator[Finding]:
    if (found.spread.answers > 1).any():
        yield Finding(_disputed_text(found), "found")
    yield from _beyond_chance(found)
    yield from _doubt_finding(found)
    yield from _confused(found)
    yield from _apart(found)
    yield from _fast(found)


def _beyond_chance(found: _Answers) -> Iterator[Finding]:
    for measure in found.told["agreement"]:
        if measure["name"] == "Krippendorff's alpha (nominal)" and measure["value"] is not None:
            value = measure["value"]
            text = (
                f"Beyond chance people agree by {value:.2f}, where 1 is always and 0 as often as "
                "by chance (Krippendorff's alpha)."
            )
            behind = f"{number(value)} {interval(measure['low'], measure['high'])}"
            yield Finding(text, "found", f"{behind} on {count(measure['n'], 'item')}.")


def _doubt_finding(found: _Answers) -> Iterator[Finding]:
    several = found.spread.answers > 1
    if not several.any():
        return
    doubt = float(found.spread.doubt[several].mean())
    apart = float(np.nanmean(found.spread.disagreement[several]))
    if doubt < 1e-9:
        text = "All of the uncertainty is between people: no answer states a doubt of its own."
    else:
        more = "is doubt within answers" if doubt > apart else "is disagreement between people"
        text = f"{max(doubt, apart) / (doubt + apart):.0%} of the uncertainty {more}."
    behind = f"Doubt {number(doubt)} nats, disagreement {number(apart)} nats per item on average."
    yield Finding(text, "found", behind)


def _confused(found: _Answers) -> Iterator[Finding]:
    """The two classes that people name for the same items most often."""
    table = counts(found.votes)
    if table.shape[1] < 2 or found.each_class:
        return
    together = np.minimum(table[:, :, None], table[:, None, :]) if table.shape[1] <= 60 else None
    if together is None:
        return
    pairs = np.triu((together > 0).sum(axis=0), 1)
    first, second = np.unravel_index(int(pairs.argmax()), pairs.shape)
    amount = int(pairs[first, second])
    if amount:
        names = found.votes.classes
        text = (
            f"The two classes that divide people most often are {names[first]} and "
            f"{names[second]}: both were chosen on {count(amount, 'item')}."
        )
        yield Finding(text, "found", f"{amount:,} of {len(table):,} items.")


def _apart(found: _Answers) -> Iterator[Finding]:
    """The person whose choices differ most from those of others."""
    same = _same_as_others(found.votes)
    answers = np.bincount(found.votes.annotator[found.votes.annotator >= 0])
    busy = {one: share for one, share in same.items() if answers[one] >= FEW_ANSWERS}
    if len(busy) < 3:
        return
    least = min(busy, key=lambda one: busy[one])
    middle = float(np.median(list(busy.values())))
    text = (
        f"The annotator least like the others, {found.crowd.annotators[least]}, made "
        f"{busy[least]:.0%} of the others' choices; the middle one made {middle:.0%}."
    )
    yield Finding(text, "found", f"{len(busy):,} annotators with {FEW_ANSWERS} answers or more.")


def _fast(found: _Answers) -> Iterator[Finding]:
    seconds = found.chosen.table["seconds"].drop_nulls()
    fast = int((seconds < 0.4).sum())
    if fast:
        text = f"{fast / len(seconds):.1%} of the answers took less than 0.4 seconds."
        yield Finding(text, "caution", f"{fast:,} of {len(seconds):,} answers.")


# People.


def _who(found: _Answers) -> Iterator[Block]:
    if not found.people:
        yield Text("The answers do not say who gave them.")
        return
    shown = found.people[:MOST_PEOPLE]
    same = _same_as_others(found.votes)
    own = entropy_by_person(found.crowd)
    short = short_names(found.judgments.annotators)
    medians = times(found.chosen).people.select("annotator", "median").iter_rows()
    seconds = {short[name]: median for name, median in medians}
    answers = np.bincount(found.crowd.annotator[found.crowd.annotator >= 0])
    names = [found.crowd.annotators[person] for person in shown]
    table = pl.DataFrame(
        {
            "annotator": names,
            "yes or no" if found.each_class else "answers": [
                f"{answers[person]:,}" for person in shown
            ],
            "median seconds": [_seconds(seconds.get(name)) for name in names],
            "same choice as the others": [number(same.get(person)) for person in shown],
            "own doubt (nats)": [number(own[person]) for person in shown],
        }
    )
    if not seconds:
        table = table.drop("median seconds")
    rest = len(found.people) - len(shown)
    more = f" {count(rest, 'annotator')} with fewer answers are not listed." if rest else ""
    caption = (
        "“Same choice as the others”: of all other people's choices on the items that a person "
        f"answered, the share that is the same.{more}"
    )
    yield Table("Annotators, the busiest first", table, caption, simulated=found.simulated)


def entropy_by_person(crowd: CrowdLabels) -> dict[int, float]:
    """Mean entropy of each person's own answers, by code."""
    doubt = entr(crowd.answers).sum(axis=1)[crowd.said]
    known = crowd.annotator >= 0
    sums = np.bincount(crowd.annotator[known], weights=doubt[known])
    answers = np.bincount(crowd.annotator[known])
    return {int(one): float(sums[one] / answers[one]) for one in np.flatnonzero(answers)}


def _same_as_others(votes: Votes) -> dict[int, float]:
    """Of the other choices on the items that a person answered, the share that is the same."""
    table = counts(votes)
    others = table.sum(axis=1)[votes.item] - 1
    same = table[votes.item, votes.label] - 1
    known = (others > 0) & (votes.annotator != NOT_RECORDED)
    person = votes.annotator[known]
    sums = np.bincount(person, weights=same[known] / others[known])
    answers = np.bincount(person)
    return {int(one): float(sums[one] / answers[one]) for one in np.flatnonzero(answers)}


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _how_long(found: _Answers) -> Iterator[Block]:
    taken = found.told["times"]
    if taken is None:
        return
    fast = found.told["exclusions"][0] if found.told["exclusions"] else {}
    seconds = found.chosen.table["seconds"].drop_nulls()
    rows = [
        ("answers with a time", f"{taken['answers']:,}"),
        ("median seconds per answer", f"{taken['median']:.1f}"),
        ("mean seconds per answer", f"{taken['mean']:.1f}"),
        ("all answers together", duration(float(seconds.sum()))),
        ("answers under 0.4 s", f"{int((seconds < 0.4).sum()):,}"),
    ]
    if fast.get("people"):
        rows.append(("annotators with mostly such answers", f"{fast['people']:,}"))
    rows += [
        (f"median seconds on {name}", f"{median:.1f}")
        for name, median in taken["median_by_input"].items()
    ]
    yield Table("Time", pl.DataFrame(rows, schema=["what", "value"], orient="row"))
    cut = float(seconds.quantile(0.99) or 0)
    kept = seconds.filter(seconds <= cut)
    if kept.n_unique() > 1:
        table = pl.DataFrame({"group": "answers", "value": kept})
        yield figures.histograms(
            table,
            Basis(found.simulated),
            xlabel="seconds, without the slowest hundredth",
            counted="answers",
            name="seconds",
            title="How long an answer took",
        )


# Agreement.


def _agreement(found: _Answers) -> Iterator[Block]:
    rows = [
        {
            "measure": one["name"],
            "value": f"{number(one['value'])} {interval(one['low'], one['high'])}".rstrip(),
            "items": f"{one['n']:,}",
        }
        for one in found.told["agreement"]
    ]
    if not rows:
        yield Text("No item has answers of two people, so that nothing is known of agreement.")
        return
    yield Table("All together", pl.DataFrame(rows), simulated=found.simulated)
    pairs = between_pairs(found.crowd, most=MOST_PEOPLE)
    if pairs.is_empty():
        return
    shown = pairs.sort("same", "first", "second", nulls_last=True).head(MOST_PEOPLE)
    table = shown.select(
        "first",
        "second",
        items=pl.col("items").map_elements(number, pl.String),
        **{
            "same choice": pl.Series([number(one) for one in shown["same"]]),
            "Cohen's kappa": pl.Series([number(one) for one in shown["kappa"]]),
            "divergence (nats)": pl.Series([number(one) for one in shown["divergence"]]),
        },
    )
    caption = (
        "The least alike first. Kappa is what they agree beyond chance; the divergence is that of "
        f"their whole answers. {len(pairs):,} pairs have items in common"
        f"{_of_the_busiest(found)}."
    )
    yield Table("Pair by pair", table, caption, simulated=found.simulated)


def _of_the_busiest(found: _Answers) -> str:
    return f" among the {MOST_PEOPLE} busiest people" if len(found.people) > MOST_PEOPLE else ""


def _doubt(found: _Answers) -> Iterator[Block]:
    spread = found.spread
    several = spread.answers > 1  # the two parts of one answer cannot be told apart
    kept = several if several.any() else np.ones(len(spread.items), dtype=np.bool_)
    parts = {
        "doubt": spread.doubt[kept],
        "disagreement": spread.disagreement[kept],
        "both together": spread.total[kept],
    }
    rows = [
        {
            "in nats": name,
            "mean": number(float(np.nanmean(values))) if np.isfinite(values).any() else "–",
            "largest": number(float(np.nanmax(values))) if np.isfinite(values).any() else "–",
            "items above zero": f"{int((np.nan_to_num(values) > 1e-9).sum()):,}",
        }
        for name, values in parts.items()
    ]
    most = number(float(np.log(len(found.crowd.classes))))
    caption = (
        f"At most {most} nats, the logarithm of {len(found.crowd.classes)} classes. Over "
        f"{count(int(kept.sum()), 'item')}{' with two answers or more' if several.any() else ''}."
    )
    yield Table("Two parts", pl.DataFrame(rows), caption, simulated=found.simulated)
    drawn = {name: values for name, values in parts.items() if name != "both together"}
    table = pl.concat(
        pl.DataFrame({"group": name, "value": values[np.isfinite(values)]})
        for name, values in drawn.items()
    )
    if len(table) and table["value"].n_unique() > 1:
        yield figures.histograms(
            table,
            found.basis(),
            xlabel="nats",
            name="doubt-and-disagreement",
            title="Doubt and disagreement of the items",
        )


def _disputed(found: _Answers) -> Iterator[Block]:
    order = np.argsort(-np.nan_to_num(found.spread.disagreement), kind="stable")
    places = [int(place) for place in order[:MOST_ITEMS] if found.spread.disputed[place]]
    if not places:
        yield Text("No two answers about an item differ.")
        return
    yield from _items(found, places, "disputed", "Where people disagree most")


def _doubted(found: _Answers) -> Iterator[Block]:
    order = np.argsort(-found.spread.doubt, kind="stable")
    places = [int(place) for place in order[:MOST_ITEMS] if found.spread.doubt[place] > 1e-9]
    if places:
        yield from _items(found, places, "doubted", "Where people are least sure themselves")


def _items(found: _Answers, places: Sequence[int], name: str, title: str) -> Iterator[Block]:
    spread, labels = found.spread, found.labels
    items = [spread.items[place] for place in places]
    if found.contents.pictures:
        yield figures.gallery(
            bars({"people": labels}, items),
            found.contents.pictures,
            found.basis(),
            name=name,
            title=title,
        )
    table = pl.DataFrame(
        {
            "item": items,
            **found.contents.column(items),
            "label": [label_words(labels, item) for item in items],
            "answers": [_answers_of(found, item) for item in items],
            "disagreement": [number(float(spread.disagreement[place])) for place in places],
            "doubt": [number(float(spread.doubt[place])) for place in places],
        }
    )
    caption = "Disagreement and doubt in nats; the label is the mean of the answers."
    yield Table(title, table, caption, simulated=found.simulated)


def _answers_of(found: _Answers, item: str) -> str:
    """Who said what, in words."""
    crowd = found.crowd
    rows = np.flatnonzero(crowd.item == crowd.items.index(item))
    if len(rows) > MOST_ANSWERS or not found.people:
        top = Counter(
            crowd.classes[place] for place in crowd.answers[crowd.said[rows]].argmax(axis=1)
        )
        return ", ".join(f"{name} {times:,}" for name, times in top.most_common(5))
    told = []
    for row in rows:
        code = crowd.annotator[row]
        who = "somebody" if code == NOT_RECORDED else crowd.annotators[code]
        one = LabelSet((item,), crowd.classes, crowd.answers[crowd.said[[row]]])
        said = label_words(one, item)
        told.append(f"{who}: {said.removesuffix(' 1.00')}")
    return "; ".join(told)


# Classes, labels, oddities.


def _each_class(found: _Answers) -> Table:
    """How often each class was said to apply."""
    rows = []
    for name, built in build_classes(found.chosen).items():
        labels, spread = built.crowd.mean(), spread_of(built.crowd)
        share = float(built.crowd.probs[:, 1].mean())
        most = int((labels.probs[:, 1] > 0.5).sum())
        disputed = int(spread.disputed.sum())
        rows.append((name, len(labels), len(built.crowd), f"{share:.1%}", most, disputed))
    schema = ["class", "items", "answers", "yes", "items where most say yes", "disputed items"]
    table = pl.DataFrame(rows, schema=schema, orient="row").sort("disputed items", descending=True)
    caption = "Each class by itself, the most disputed first; “unsure” is half a yes."
    return Table("Classes", table, caption, simulated=found.simulated)


def _classes(found: _Answers) -> Iterator[Block]:
    if found.each_class:
        yield _each_class(found)
        return
    votes = found.votes
    width = len(votes.classes)
    total = np.bincount(votes.label, minlength=width)
    shown = found.people[:MOST_COLUMNS]
    columns = {
        votes.annotators[person]: np.bincount(
            votes.label[votes.annotator == person], minlength=width
        )
        for person in shown
    }
    table = pl.DataFrame(
        {
            "class": list(votes.classes),
            "all": [f"{one:,}" for one in total],
            "share": [f"{one / max(total.sum(), 1):.1%}" for one in total],
            **{name: [f"{one:,}" for one in column] for name, column in columns.items()},
        }
    )
    tied = len(found.crowd) - len(votes)
    told = f" {count(tied, 'answer')} with several top choices count nowhere." if tied else ""
    who = (
        f" The {len(shown)} busiest annotators are shown." if len(found.people) > len(shown) else ""
    )
    caption = f"How often each class was the top choice, over all and by annotator.{who}{told}"
    yield Table("Classes", table, caption, simulated=found.simulated)


def _labels_text(found: _Answers) -> str:
    recipe = found.told["labels"]["recipe"]
    return f"Each answer made a distribution by the recipe {recipe!r}; a label is their mean."


LABEL_WORDS = {
    "mean_entropy": "mean entropy (nats)",
    "mean_non_max_mass": "mean mass off the top class",
    "variance_of_top": "variance of the top probability",
    "at_most_two_labels": "share of items with at most two classes",
    "zero_entropy": "share of items with all mass on one class",
    "entropy_in_top_30_percent": "part of the entropy in the most uncertain 30 % of items",
    "mean_possible_labels": "mean number of classes that were not ruled out",
    "mean_uncertainty": "mean share of classes that were marked as unsure",
    "unsure_proportion": "share of annotators who marked a class as unsure",
}


def _labels(found: _Answers) -> Iterator[Block]:
    known = found.told["labels"]
    rows = [(words, number(known[name])) for name, words in LABEL_WORDS.items() if name in known]
    yield Table("Labels", pl.DataFrame(rows, schema=["what", "value"], orient="row"))
    if found.each_class:
        return
    mass = found.labels.probs.sum(axis=0)
    table = pl.DataFrame(
        {
            "class": list(found.labels.classes),
            "mean probability": [number(float(one)) for one in mass / len(found.labels)],
            "items where it is first": [
                f"{one:,}"
                for one in np.bincount(found.labels.probs.argmax(axis=1), minlength=len(mass))
            ],
        }
    )
    yield Table("Classes of the labels", table, simulated=found.simulated)


def _oddities(found: _Answers) -> Iterator[Block]:
    told = found.told
    rows = [(one["about"], one["count"], _example(one["examples"])) for one in told["oddities"]]
    rows += [(one["what"], one["count"], one["example"]) for one in told["remarks"]]
    again = told["views"]["duplicates"]
    if again:
        rows.append(("answers by somebody who had judged the item before; left out", again, ""))
    for view, shown in told["views"].items():
        if view not in ("first", "duplicates"):
            rows.append((f"answers that are {view} views; not in the labels", shown, ""))
    seconds = found.chosen.table["seconds"].drop_nulls()
    fast = int((seconds < 0.4).sum())
    if fast:
        rows.append(("answers given in less than 0.4 seconds", fast, ""))
    if rows:
        told_rows = [(what, f"{times:,}", example) for what, times, example in rows]
        schema = ["what", "times", "for example"]
        yield Table("Noticed", pl.DataFrame(told_rows, schema=schema, orient="row"))
    rejected = told["rejected"]
    if rejected["count"]:
        reasons = [
            (one["field"], one["reason"], f"{one['count']:,}") for one in rejected["reasons"]
        ]
        schema = ["field", "reason", "rows"]
        caption = (
            f"{count(rejected['count'], 'row')} set aside, the first: {rejected['examples'][0]}"
        )
        yield Table(
            "Rows that could not be read",
            pl.DataFrame(reasons, schema=schema, orient="row"),
            caption,
        )
    if not rows and not rejected["count"]:
        yield Text("Nothing odd was noticed.")


def _example(examples: Sequence[Mapping[str, Any]]) -> str:
    if not examples:
        return ""
    first = examples[0]
    return f"item {first['item']}: {first['answer']}"
