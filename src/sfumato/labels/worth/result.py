"""Turn people's answers and judges into numbers of people: ``worth`` and what it finds.

Evidence about an item is worth k people if it predicts the answer of a person who was not seen as
well as the answers of k other people do. No truth is needed, only answers that were held out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import entr

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.tables import read_pairs
from sfumato.labels.verbs import label, to_judgments
from sfumato.labels.worth.judges import (
    EPSILON,
    USUAL,
    Judge,
    expected_gains,
    read_judge,
    usual_numbers,
)
from sfumato.labels.worth.panel import FEWEST, Panel, draw_people, end_of_scale, make_panel
from sfumato.labels.worth.predictor import EvidenceSource, Values, floor
from sfumato.labels.worth.scale import EvidenceMix, Losses, View, fall, lose, people_for
from sfumato.names import find, format_count, load_name
from sfumato.provenance import Provenance, is_simulated
from sfumato.scores import IN_MEMORY, Estimate, Estimates, source_text
from sfumato.stats import Interval, percentile_interval
from sfumato.tabular import Tabular

TOGETHER = "all judges together"
BEST = "best judge"
NOBODY = "people"
"""The names of what is no single judge."""

BESIDE = 2
"""So many people at most are measured beside a judge."""

MANY = 10
"""Answers per item (median) from which the floor of the curve is told."""

NO_SCALE = "people do not predict one another here"
"""Said instead of worths, where one more person tells nothing about the next."""

PREDICTORS = (
    "smoothed tables of what people say given each answer; several answers pooled by a conditional "
    "logit over their tables and joined in one table; strengths from held-out items"
)


class Row(NamedTuple):
    """One kind of evidence on some items: what it loses, and how many people it is worth."""

    judge: str
    people: int
    stratum: str
    worth: float | None
    low: float | None
    high: float | None
    capped: bool
    log_loss: float
    excess: float
    items: int


@dataclass(frozen=True, eq=False, repr=False)
class Worth(Tabular):
    """How many people each judge is worth, alone, with people and together.

    ``table`` has a row for each kind of evidence and stratum, ``people`` the scale itself,
    ``usual`` the numbers that judges are otherwise told by, ``needs`` the items ranked by what
    asking one more person would gain.
    """

    table: pl.DataFrame
    people: pl.DataFrame
    usual: pl.DataFrame
    needs: pl.DataFrame
    estimates: Estimates
    scale: int
    """Up to how many people can be told apart."""
    floor: float | None
    """What would be lost if everything about an item were known; None with few answers."""
    over: str
    """What the intervals are over."""
    remarks: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)

    def to_polars(self) -> pl.DataFrame:
        """One row per judge, alone on all items, with the usual numbers; ``table`` has the rest."""
        return self.judges

    @property
    def judges(self) -> pl.DataFrame:
        """Each judge alone on all items, and the usual numbers."""
        alone = (pl.col("people") == 0) & (pl.col("stratum") == "all")
        rows = self.table.filter(alone & ~pl.col("judge").is_in([TOGETHER, BEST, NOBODY]))
        return rows.drop("people", "stratum", "last_person").join(
            self.usual, on="judge", how="left"
        )

    def cost(
        self, quality: float, *, person: float = 1.0, judge: float = 0.0, stratum: str = "all"
    ) -> pl.DataFrame:
        """What it costs per item to know as much as ``quality`` people tell.

        ``person`` and ``judge`` are the prices of one answer. The next person is asked about a
        share of the items where a whole one is not needed. Nothing is given where it cannot be
        reached with the people that were measured. ``stratum`` is one of the strata or groups.
        """
        find(dict.fromkeys(self.table["stratum"]), stratum, what="stratum or group")
        if not 0 <= quality <= self.scale:
            raise DataError(f"The scale goes from 0 to {self.scale} people, not to {quality:g}.")
        here = self.table.filter(pl.col("stratum") == stratum)
        curve = fall(here.filter(judge=NOBODY).sort("people")["log_loss"].to_numpy())
        wanted = float(np.interp(quality, np.arange(len(curve)), curve))
        rows = [{"judge": NOBODY, "people": quality, "price": quality * person}]
        judges_here = here.filter(pl.col("judge") != NOBODY)
        for (name,), part in judges_here.group_by("judge", maintain_order=True):
            mixed = fall(part.sort("people")["log_loss"].to_numpy())
            asked = float(people_for(np.array(wanted), mixed))
            known, judges = np.isfinite(asked), len(self.usual) if name == TOGETHER else 1
            rows.append(
                {
                    "judge": name,
                    "people": asked if known else None,
                    "price": judges * judge + asked * person if known else None,
                }
            )
        return pl.DataFrame(
            rows, schema={"judge": pl.String, "people": pl.Float64, "price": pl.Float64}
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name, as the command prints them in JSON."""
        others = self.table.filter(
            (pl.col("stratum") == "all") & (pl.col("judge") != NOBODY)
            & ((pl.col("people") > 0) | pl.col("judge").is_in([TOGETHER, BEST]))
        )  # fmt: skip
        return {
            "judges": self.judges.to_dicts(),
            "people": self.people.to_dicts(),
            "with_people": others.drop("stratum").to_dicts(),
            "strata": self.table.filter(pl.col("stratum") != "all").to_dicts(),
            "needs": self.needs.head(20).to_dicts(),
            "scale": self.scale,
            "floor": self.floor,
            "over": self.over,
            "remarks": list(self.remarks),
            **self.notes,
        }

    def lines(self) -> list[str]:
        """The main numbers in words."""
        items = self.notes["items"]
        told = [
            f"{format_count(items, 'item')}, a scale of up to "
            f"{format_count(self.scale, 'person', 'people')}"
        ]
        told += [f"{row['judge']}: {worth_words(row)}" for row in self.judges.to_dicts()]
        return [*told, *self.remarks]

    def _summary(self) -> str:
        return "Worth in people: " + "; ".join(self.lines())

    def __repr__(self) -> str:
        return "\n".join(["Worth in people", *self.lines()])

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{escape(line)}</li>" for line in self.lines())
        return f"<p>Worth in people</p><ul>{rows}</ul>"

    def report(self, path: str | Path) -> Path:
        """All of it as one HTML page."""
        return load_name("sfumato.reporting.worth:report_worth")(self, path)


def people_words(row: Mapping[str, Any]) -> str:
    """A worth as one says it aloud.

    >>> people_words({"worth": 1.37, "capped": False}), people_words({"worth": 2.0, "capped": True})
    ('1.4 people', 'at least 2 people')
    """
    value = f"{row['worth']:g}" if row["capped"] else f"{row['worth']:.1f}"
    noun = "person" if value in ("1", "1.0") else "people"
    return f"at least {value} {noun}" if row["capped"] else f"{value} {noun}"


def worth_words(row: Mapping[str, Any]) -> str:
    """A worth with its interval in words.

    >>> worth_words({"worth": 2.0, "low": 0.9, "high": None, "capped": True, "scale": 2})
    'at least 2 people (0.90 to beyond the scale)'
    """
    if row["worth"] is None:
        return f"none: {NO_SCALE}"
    value = f"at least {row['worth']:g}" if row["capped"] else f"{row['worth']:.2f}"
    high = "beyond the scale" if row["high"] is None else f"{row['high']:.2f}"
    noun = "person" if row["worth"] == 1 else "people"
    return f"{value} {noun} ({row['low']:.2f} to {high})"


def worth(
    answers: object,
    judges: Mapping[str, object] | None = None,
    *,
    strata: object = None,
    groups: object = None,
    clusters: object = None,
    each_person: bool = False,
    epsilon: float = EPSILON,
    most: int = 5,
    draws: int = 10,
    resamples: int = 1000,
    seed: int = 0,
    **reading: Any,
) -> Worth:
    """How many people a judge is worth: how well it predicts a person who was not asked.

    ``judges`` are by name: files or tables with the columns ``item`` and ``answer``, label
    distributions, or dicts from item to answer; a judge's words need not be people's. ``strata``
    names a stratum for each item, ``groups`` one for each annotator who is predicted, ``clusters``
    items that belong together (``item`` or ``annotator`` and a second column, or a dict).
    ``each_person`` also holds every annotator against the others. ``epsilon`` belongs to the
    alternative-annotator test; ``most`` is where the scale ends at the latest.

    >>> said = {"ann": "ccddcdcdccdd", "ben": "ccddcdcdcddd", "eve": "ccddcdddccdd"}
    >>> table = [{"item": f"{n:02}", "annotator": who, "answer": one}
    ...          for who, all_said in said.items() for n, one in enumerate(all_said * 4)]
    >>> judge = {f"{n:02}": one for n, one in enumerate("yynnynynyynn" * 4)}
    >>> found = worth(table, {"model": judge})
    >>> found.judges["capped"].to_list(), found.scale
    ([True], 2)
    """
    crowd = _crowd(answers, reading)
    panel = make_panel(crowd)
    known = [read_judge(name, given) for name, given in (judges or {}).items()]
    end = end_of_scale(panel.counts, most)
    inside = panel.take(panel.counts > end)
    _check(inside, known, draws=draws, resamples=resamples)
    views = _views(inside, read_pairs(strata, "item"), read_pairs(groups, "annotator"))
    order = draw_people(
        inside,
        end,
        rng=np.random.default_rng(seed),
        draws=draws,
        clusters=read_pairs(clusters, "item"),
    )  # fmt: skip
    sources = [
        judge.source(inside.items, draws=draws, rng=np.random.default_rng([seed, 1]))
        for judge in known
    ]
    losses = lose(order, sources, _mixes(len(known), end))
    names = [judge.name for judge in known]
    measured = measure(losses, names, views, resamples=resamples, seed=seed)
    rows = list(measured.rows())
    if each_person:
        rows += _each_person(panel, most=most, draws=draws, resamples=resamples, seed=seed)
    usual = [
        {"judge": judge.name, **usual_numbers(panel, judge, epsilon=epsilon),
         "as_stated": _as_stated(judge, inside)}
        for judge in known
    ]  # fmt: skip
    needs = expected_gains(inside, known, rng=np.random.default_rng([seed, 3])) if known else None
    return _result(measured, rows, usual, needs, known, crowd.provenance, seed=seed)


@dataclass(frozen=True, eq=False)
class Measured:
    """Resampled losses by stratum, and what they say."""

    losses: Losses
    names: Sequence[str]
    views: Mapping[str, View]
    resampled: Mapping[str, Values]  # (1 + resamples, mixes)
    steps: Mapping[str, Interval]
    """By how much one person lowers the loss on the next."""

    @property
    def end(self) -> int:
        """The end of the scale."""
        return self.losses.draws.people

    def name(self, mix: EvidenceMix) -> str:
        """What the evidence is called."""
        if mix.best:
            return BEST
        if not mix.judges:
            return NOBODY
        return self.names[mix.judges[0]] if len(mix.judges) == 1 else TOGETHER

    def has_scale(self, stratum: str = "all") -> bool:
        """Whether one person tells anything about the next."""
        return bool(self.steps[stratum].low > 0)

    def worths(self, place: int, stratum: str = "all") -> Values:
        """The worth of a mix in the sample and in all resamples."""
        drawn = self.resampled[stratum]
        return people_for(drawn[:, place], fall(drawn[:, : self.end + 1]))

    def rows(self) -> Iterator[Row]:
        """One row for each kind of evidence and stratum."""
        for stratum, drawn in self.resampled.items():
            known = self.has_scale(stratum)
            for place, mix in enumerate(self.losses.mixes):
                worths = self.worths(place, stratum)
                low, high = percentile_interval(worths[1:])
                yield Row(
                    self.name(mix), mix.people, stratum,
                    float(min(worths[0], self.end)) if known else None,
                    float(min(low, self.end)) if known else None,
                    float(high) if known and np.isfinite(high) else None,
                    bool(known and np.isinf(worths[0])),
                    float(drawn[0, place]), float(drawn[0, place] - drawn[0, 0]),
                    self._items(stratum),
                )  # fmt: skip

    def _items(self, stratum: str) -> int:
        items = self.views[stratum].items
        return len(self.losses.draws.panel.items) if items is None else int(items.sum())

    def scale(self) -> pl.DataFrame:
        """The people's curve, which never rises: how many answers, and what is lost."""
        drawn = fall(self.resampled["all"][:, : self.end + 1])
        ends = [percentile_interval(column) for column in drawn[1:].T]
        return pl.DataFrame(
            {
                "answers": np.arange(self.end + 1),
                "log_loss": drawn[0],
                "low": [one.low for one in ends],
                "high": [one.high for one in ends],
            }
        )

    def differences(self) -> Iterator[tuple[str, str, str, float, Interval]]:
        """Judges against each other, resample by resample: in nats, and in people up to the end."""
        alone = [place for place, mix in enumerate(self.losses.mixes)
                 if len(mix.judges) == 1 and not mix.people and not mix.best]  # fmt: skip
        loss = self.resampled["all"]
        for at, first in enumerate(alone):
            for second in alone[at + 1 :]:
                names = self.name(self.losses.mixes[first]), self.name(self.losses.mixes[second])
                apart = loss[:, first] - loss[:, second]
                yield (*names, "log_loss", float(apart[0]), percentile_interval(apart[1:]))
                if self.has_scale():
                    ends = [np.minimum(self.worths(one), self.end) for one in (first, second)]
                    apart = ends[0] - ends[1]
                    yield (*names, "worth", float(apart[0]), percentile_interval(apart[1:]))


def measure(
    losses: Losses, names: Sequence[str], views: Mapping[str, View], *, resamples: int, seed: int
) -> Measured:
    """Resample the losses of every view."""
    chosen = list(views.values())
    drawn = losses.resample(chosen, rng=np.random.default_rng([seed, 2]), draws=resamples)
    steps = losses.first_steps(chosen, rng=np.random.default_rng([seed, 4]))
    return Measured(
        losses, names, views,
        dict(zip(views, drawn, strict=True)), dict(zip(views, steps, strict=True)),
    )  # fmt: skip


def _crowd(answers: object, reading: Mapping[str, Any]) -> CrowdLabels:
    """One row per answer, from whatever answers are given as."""
    match answers:
        case CrowdLabels():
            return answers
        case LabelSet(crowd=CrowdLabels() as crowd):
            return crowd
        case LabelSet():
            raise DataError("These labels have no people behind them; give the answers themselves.")
    return label(to_judgments(answers, **reading), per_annotator=True)


def _check(panel: Panel, judges: Sequence[Judge], *, draws: int, resamples: int) -> None:
    if len(panel.items) < FEWEST:
        raise DataError(
            f"Only {format_count(len(panel.items), 'item')} with answers of enough people; worth "
            f"needs at least {FEWEST}."
        )
    for count in (draws, resamples):
        if count < 1:
            raise DataError(f"{count} draws were asked for; ask for 1 or more.")
    names = [judge.name for judge in judges]
    for judge in judges:
        if judge.name in (TOGETHER, BEST, NOBODY) or names.count(judge.name) > 1:
            raise DataError(f"No judge can be called {judge.name!r}; give it another name.")
        if not set(judge.crowd.items) & set(panel.items):
            raise DataError(
                f"Judge {judge.name!r} says nothing about any of the {len(panel.items):,} items; "
                f"its first is {judge.crowd.items[0]!r}, people's first is {panel.items[0]!r}."
            )


def _mixes(judges: int, end: int) -> list[EvidenceMix]:
    """All evidence that is measured; people alone come first."""
    beside = range(min(BESIDE, end) + 1)
    found = [EvidenceMix((), people) for people in range(end + 1)]
    found += [EvidenceMix((judge,), people) for judge in range(judges) for people in beside]
    if judges > 1:
        everyone = tuple(range(judges))
        found += [
            EvidenceMix(everyone, people, best) for best in (True, False) for people in beside
        ]
    return found


def _views(
    panel: Panel, strata: Mapping[str, str] | None, groups: Mapping[str, str] | None
) -> dict[str, View]:
    """All items, each stratum of them, and each group of the people who are predicted."""
    found = {"all": View()}
    if strata is not None:
        names = np.array([strata.get(item, "") for item in panel.items], dtype=object)
        found |= {name: View(items=names == name) for name in sorted(set(names) - {""})}
        if not set(names) - {""}:
            raise DataError("No item that people answered about enough is in any of the strata.")
    if groups is not None:
        if not panel.named:
            raise DataError("Groups of people need answers that say who gave them.")
        names = np.array([groups.get(who, "") for who in panel.annotators], dtype=object)
        here = sorted(set(names[np.unique(panel.who[panel.said >= 0])]) - {""})
        if twice := sorted(set(here) & set(found)):
            raise DataError(f"A stratum and a group are both called {twice[0]!r}; rename one.")
        found |= {name: View(people=names == name) for name in here}
    return found


EACH = 50
"""Items that a person needs to be held against the others."""


def _each_person(panel: Panel, *, most: int, draws: int, resamples: int, seed: int) -> list[Row]:
    """Every annotator on the items they answered, against the others: habits of one person can
    be learnt, so that a named person need not be worth 1."""
    if not panel.named:
        raise DataError("Nobody can be told from the others: the answers do not say who gave them.")
    rows: list[Row] = []
    for code, name in sorted(enumerate(panel.annotators), key=lambda pair: pair[1]):
        mine = panel.who == code
        column = mine.argmax(axis=1)
        order = np.argsort(mine | (panel.said < 0), axis=1, kind="stable")[:, :-1]
        said = np.take_along_axis(np.where(mine, -1, panel.said), order, 1)
        who = np.take_along_axis(np.where(mine, -1, panel.who), order, 1)
        others = replace(panel, said=said, who=who)
        about = mine.any(axis=1) & (others.counts > 1)
        if about.sum() < EACH:
            continue
        end = end_of_scale(others.counts[about], most)
        about &= others.counts > end
        inside, own = others.take(about), panel.said[np.arange(len(column)), column][about]
        order_of = draw_people(inside, end, rng=np.random.default_rng(seed), draws=draws)
        mixes = [*(EvidenceMix((), people) for people in range(end + 1)), EvidenceMix((0,), 0)]
        losses = lose(order_of, [EvidenceSource(codes=own)], mixes)
        measured = measure(losses, [name], {"all": View()}, resamples=resamples, seed=seed)
        rows += [row for row in measured.rows() if row.judge == name]
    return rows


def _as_stated(judge: Judge, panel: Panel) -> float | None:
    """The log-loss of a judge's distributions as they are, without learning from people."""
    stated = judge.stated(panel.items, panel.classes)
    if stated is None:
        return None
    votes = panel.votes() / panel.counts[:, None]
    return float(-(votes * np.log(floor(stated))).sum(axis=1).mean())


def _floor_of(panel: Panel) -> float | None:
    """People's mean entropy, with Miller and Madow's correction; None with few answers."""
    counts = panel.counts
    if np.median(counts) < MANY:
        return None
    votes = panel.votes()
    seen = (votes > 0).sum(axis=1)
    return float((entr(votes / counts[:, None]).sum(axis=1) + (seen - 1) / (2 * counts)).mean())


def _remarks(measured: Measured, judges: Sequence[Judge]) -> Iterator[str]:
    panel = measured.losses.draws.panel
    if not measured.has_scale():
        yield f"{NO_SCALE}: an answer does not lower the loss beyond chance, and no worth is given."
    if not panel.named:
        yield "The answers do not say who gave them: intervals are over items, for these people."
    for judge in judges:
        silent = len(set(panel.items) - set(judge.crowd.items))
        if silent:
            yield (
                f"{judge.name} says nothing about {format_count(silent, 'item')} of "
                f"{len(panel.items):,}; there its evidence is that it said nothing."
            )


def _result(
    measured: Measured,
    rows: Sequence[Row],
    usual: Sequence[Mapping[str, Any]],
    needs: pl.DataFrame | None,
    judges: Sequence[Judge],
    people: Provenance,
    *,
    seed: int,
) -> Worth:
    panel = measured.losses.draws.panel
    over = "items and people" if panel.named else "items"
    sources = {judge.name: judge.crowd.provenance for judge in judges}
    simulated = any(is_simulated(one) for one in (people, *sources.values()))
    schema = {"judge": pl.String, "accuracy": pl.Float64, "cohen_kappa": pl.Float64,
              "quadratic_kappa": pl.Float64, "winning_rate": pl.Float64,
              "advantage_probability": pl.Float64, "as_stated": pl.Float64}  # fmt: skip
    common = Common(over, people, sources, simulated, seed, len(panel.items))
    return Worth(
        _with_steps(pl.DataFrame(rows, schema=ROW_SCHEMA, orient="row")),
        measured.scale(),
        pl.DataFrame(list(usual), schema=schema),
        pl.DataFrame() if needs is None else needs,
        Estimates.of(_estimates(measured, rows, usual, common)),
        measured.end,
        _floor_of(panel),
        over,
        tuple(_remarks(measured, judges)),
        {
            "items": len(panel.items),
            "classes": list(panel.classes),
            "annotators": len(panel.annotators) if panel.named else None,
            "predictors": PREDICTORS,
            "simulated": simulated,
        },
    )


def _with_steps(table: pl.DataFrame) -> pl.DataFrame:
    """What the last of the people adds to the worth; nothing beyond the end of the scale."""
    before = pl.col("worth").shift(1).over("judge", "stratum")
    known = (pl.col("people") > 0) & ~pl.col("capped")
    return table.with_columns(last_person=pl.when(known).then(pl.col("worth") - before))


ROW_SCHEMA = {"judge": pl.String, "people": pl.Int64, "stratum": pl.String, "worth": pl.Float64,
              "low": pl.Float64, "high": pl.Float64, "capped": pl.Boolean, "log_loss": pl.Float64,
              "excess": pl.Float64, "items": pl.Int64}  # fmt: skip


class Common(NamedTuple):
    """What all estimates of one call share."""

    over: str
    people: Provenance
    sources: Mapping[str, Provenance]
    simulated: bool
    seed: int
    items: int

    def source(self, judge: str, note: str = "") -> str:
        """Where a number about a judge comes from."""
        return source_text(
            labels=self.people or IN_MEMORY, model=self.sources.get(judge, ()), note=note
        )


def _estimates(
    measured: Measured,
    rows: Sequence[Row],
    usual: Sequence[Mapping[str, Any]],
    common: Common,
) -> Iterator[Estimate]:
    """Every number as a row of the one table of numbers."""
    for row in rows:
        arm = row.judge if not row.people else f"{row.judge} + {row.people}"
        blank = Estimate("", 0.0, arm=arm, stratum=row.stratum, items=row.items,
                         seeds=(common.seed,), simulated=common.simulated)  # fmt: skip
        yield replace(blank, metric="log_loss", value=row.log_loss, source=common.source(row.judge))
        if row.worth is not None:
            high = np.inf if row.high is None else row.high
            note = f"at least {row.worth:g}" if row.capped else ""
            yield replace(blank, metric="worth", value=row.worth, low=row.low, high=high,
                          over=common.over, source=common.source(row.judge, note))  # fmt: skip
    for first, second, metric, value, interval in measured.differences():
        yield Estimate(metric, value, arm=first, second=second, low=interval.low,
                       high=interval.high, over=common.over, items=common.items,
                       seeds=(common.seed,), simulated=common.simulated,
                       source=common.source(first))  # fmt: skip
    for told in usual:
        for metric in USUAL:
            if (known := told[metric]) is not None:
                yield Estimate(metric, known, arm=told["judge"], against="majority",
                               items=common.items, simulated=common.simulated,
                               source=common.source(told["judge"]))  # fmt: skip
