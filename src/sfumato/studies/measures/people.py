"""What few answers, sets of classes and statements tell of people: on real answers, held out."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.coverage import cover
from sfumato.labels.aggregate import AGGREGATORS, aggregate
from sfumato.labels.aggregate.evidence import evidence_of_distributions
from sfumato.labels.aggregate.recalibrated import StatementRows, pool_statements, recalibrate
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.labels.votes import Votes
from sfumato.labels.worth.panel import draw_people, end_of_scale, make_panel
from sfumato.labels.worth.predictor import EvidenceSource, floor
from sfumato.labels.worth.result import NOBODY, Measured, measure
from sfumato.labels.worth.scale import EvidenceMix, Losses, View, lose
from sfumato.scores import Estimate, source_text
from sfumato.stats import bootstrap_interval, percentile_interval
from sfumato.studies.data import Findings, JudgedSet, Predictions, StudyData

Floats = NDArray[np.float64]

VOTES = (1, 2, 3, 5, 10)
"""Votes per item that labels are made from, as far as half of an item's votes goes."""

ENOUGH = 0.9
"""The share of a set's items that must have so many votes in one half; the others are left out."""

SHRUNK, WITH_MODEL = "shrunk-shares", "informed + model"
"""What every aggregator is compared with, and ``informed`` with a model as its prior."""

HALVINGS = 200
STATEMENTS = (1, 2, 3, 4, 6)
CLICK_SECONDS = 1.8
"""What one vote of CIFAR-10H took, as paper 4 reports it; the release holds no times here."""

FOLDS = 5
DRAWS = 10
READINGS = ("as stated", "recalibrated", "read as clicks teach")
"""How a pool of statements is read: as it is; as other statements teach; as clicks teach."""


def few_votes(data: StudyData, predictions: Predictions) -> Findings:
    """KL divergence of labels from few votes to what the other half of the people said."""
    rows = [row for name, judged in data.judged.items() for row in _few_votes(name, judged, data)]
    return Findings(rows)


def _few_votes(name: str, judged: JudgedSet, data: StudyData) -> Iterator[Estimate]:
    people, model = judged.people, _model(judged)
    rng = data.rng(f"few votes {name}")
    found = divergences(people, model, draws=data.study.seeds, rng=rng)
    source = source_text(labels=people.provenance, model=() if model is None else model.provenance)
    for (arm, votes), values in found.items():
        blank = Estimate(
            "kl", float(values.mean()), arm, part=name, step=votes, over="items",
            items=len(values), seeds=tuple(range(data.study.seeds)), source=source,
        )  # fmt: skip
        low, high = bootstrap_interval(values, rng=rng, draws=data.study.draws)
        yield replace(blank, low=low, high=high)
        for second in (SHRUNK, "majority"):
            if arm != second:
                apart = values - found[second, votes]
                low, high = bootstrap_interval(apart, rng=rng, draws=data.study.draws)
                yield replace(blank, value=float(apart.mean()), second=second, low=low, high=high)


def _model(judged: JudgedSet) -> LabelSet | None:
    """The first judge that states distributions over people's classes."""
    return next(iter(_models(judged).values()), None)


def _models(judged: JudgedSet) -> dict[str, LabelSet]:
    return {
        name: one
        for name, one in judged.judges.items()
        if isinstance(one, LabelSet)
        and set(one.classes) == set(judged.people.classes)
        and not ((one.probs == 0) | (one.probs == 1)).all()
    }


def divergences(
    people: CrowdLabels, model: LabelSet | None, *, draws: int, rng: np.random.Generator
) -> dict[tuple[str, int], Floats]:
    """The mean divergence of each item, by aggregator and number of votes.

    Each item's votes are halved; from one half a few are drawn and made a label, which is held
    against the other half. A label keeps a thousandth for all classes, or it would be infinitely
    far from people who say what nobody said before.
    """
    if model is not None:
        people = people.of_items([item for item in people.items if item in set(model.items)])
    assert people.votes is not None
    half = np.bincount(people.item, minlength=len(people.items)) // 2
    levels = [votes for votes in VOTES if (half >= votes).mean() >= ENOUGH]
    people = people.of_items([people.items[at] for at in np.flatnonzero(half >= levels[-1])])
    named = bool((people.annotator != NOT_RECORDED).all())
    ways: dict[str, LabelSet | None] = {
        name: None
        for name, one in AGGREGATORS.items()
        if one.reads in ("votes", "votes and perhaps predictions")
        and (named or not one.needs_names)
        and not one.needs_scale
    }
    if model is not None:
        ways[WITH_MODEL] = model.take(people.items)
    found: dict[tuple[str, int], list[Floats]] = {}
    for _ in range(draws):
        turn = _turns(people.item, rng)
        size = np.bincount(people.item)[people.item] // 2
        rest = _shares(people, turn >= size)
        for votes in levels:
            few = _take(people, turn < votes)
            for way, prior in ways.items():
                labels = aggregate(few, way.partition(" ")[0], rng=rng, predictions=prior).labels
                probs = floor(labels.take(people.items).probs)
                logs = np.log(np.where(rest > 0, rest, 1.0)) - np.log(probs)
                found.setdefault((way, votes), []).append((rest * logs).sum(axis=1))
    return {key: np.mean(parts, axis=0) for key, parts in found.items()}


def _turns(item: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A random order of each item's answers: 0 is the first."""
    order = np.lexsort((rng.random(len(item)), item))
    turn = np.empty(len(item), dtype=np.int64)
    turn[order] = np.arange(len(item)) - np.searchsorted(item[order], item[order])
    return turn


def _take(people: CrowdLabels, rows: NDArray[np.bool_]) -> Votes:
    assert people.votes is not None
    return Votes(
        people.items, people.annotators, people.classes,
        people.item[rows], people.annotator[rows], people.votes[rows],
    )  # fmt: skip


def _shares(people: CrowdLabels, rows: NDArray[np.bool_]) -> Floats:
    assert people.votes is not None
    counts = np.zeros((len(people.items), len(people.classes)))
    np.add.at(counts, (people.item[rows], people.votes[rows]), 1.0)
    return counts / counts.sum(axis=1, keepdims=True)


def cover_people(data: StudyData, predictions: Predictions) -> Findings:
    """Coverage of people's answers by sets of classes, calibrated on them and on majorities."""
    rows: list[Estimate] = []
    for name, judged in data.judged.items():
        for model, labels in _models(judged).items():
            people = judged.people.of_items(list(labels.items)).mean()
            found = cover(
                people, labels, splits=HALVINGS, draws=data.study.draws, seed=data.study.seed
            )
            rows += [replace(row, part=name, network=model) for row in found]
    return Findings(rows)


def forms_worth(data: StudyData, predictions: Predictions) -> Findings:
    """What statements of CIFAR-10S are worth in clicks, and in seconds, by how they are read."""
    rows: list[Estimate] = []
    tables: list[pl.DataFrame] = []
    for name, judged in data.judged.items():
        assert judged.seconds is not None
        measured = _measure_forms(judged, data)
        table = _forms_table(measured, judged.seconds)
        tables.append(table.insert_column(0, pl.lit(name).alias("set")))
        rows += _forms_rows(name, measured, table, judged, data.study.seed)
    return Findings(rows, {"forms": pl.concat(tables)} if tables else {})


def _measure_forms(judged: JudgedSet, data: StudyData) -> Measured:
    """Losses of clicks, and of pools of statements in each reading, on the same clicks."""
    panel = make_panel(judged.people)
    end = end_of_scale(panel.counts, judged.most)
    inside = panel.take(panel.counts > end)
    order = draw_people(inside, end, rng=data.rng("clicks"), draws=DRAWS)
    (stated,) = judged.judges.values()
    assert isinstance(stated, CrowdLabels)
    pools = statement_pools(stated, inside.items, rng=data.rng("statements"))
    mixes = [EvidenceMix((), people) for people in range(end + 1)]
    stacked = list(pools.values())
    sources = [EvidenceSource(rows=rows) for rows in stacked]
    names = [f"{many} statement{'s' * (many > 1)}, {reading}" for many, reading in pools]
    mixes += [EvidenceMix((place,)) for place in range(len(sources))]
    taught = [mix for mix, (_, reading) in zip(mixes[end + 1 :], pools, strict=True)
              if reading == READINGS[2]]  # fmt: skip
    learnt = lose(order, sources, [*mixes[: end + 1], *taught])
    of = dict(zip(learnt.mixes, learnt.values, strict=True))
    values = [
        of[mix] if mix in of else -np.log(floor(stacked[mix.judges[0]])).astype(np.float32)
        for mix in mixes
    ]
    losses = Losses(order, tuple(sources), tuple(mixes), np.stack(values))
    return measure(losses, names, {"all": View()}, resamples=data.study.draws, seed=data.study.seed)


def statement_pools(
    stated: CrowdLabels, items: tuple[str, ...], *, rng: np.random.Generator
) -> dict[tuple[int, str], Floats]:
    """Pools of so many statements in each reading, (draws, items, classes).

    How people's statements are to be read is learnt from their statements about other items.
    """
    evidence = evidence_of_distributions(stated)
    assert evidence.items == items
    told, classes = StatementRows.of(evidence), evidence.class_order
    own, instead = np.empty_like(told.probs), np.empty_like(told.probs)
    fold = rng.permutation(np.arange(told.items) % FOLDS)[told.item]
    for part in range(FOLDS):
        fitted = recalibrate(told.take(fold != part), np.ones(told.people))
        own[fold == part], instead[fold == part] = fitted.read(told.take(fold == part))
    found: dict[tuple[int, str], list[Floats]] = {}
    for _ in range(DRAWS):
        turn = _turns(told.item, rng)
        for many in STATEMENTS:
            few = turn < many
            some = told.take(few)
            mean = some.sums(some.probs) / np.bincount(some.item)[:, None]
            read = pool_statements(some, own[few], instead[few], np.ones(told.people))
            for reading, pool in zip(READINGS, (mean, read, mean), strict=True):
                found.setdefault((many, reading), []).append(pool[:, classes])
    return {key: np.stack(pools) for key, pools in found.items()}


def _forms_table(measured: Measured, seconds: float) -> pl.DataFrame:
    """One row per pool and reading, clicks first."""
    rows = []
    for row in measured.rows():
        clicks = row.judge == NOBODY
        many = row.people if clicks else int(row.judge.partition(" ")[0])
        told = row._asdict() | {"answers": many, "form": "clicks" if clicks else "statements"}
        told["reading"] = "" if clicks else row.judge.partition(", ")[2]
        told["seconds"] = many * (CLICK_SECONDS if clicks else seconds)
        told["seconds_per_worth"] = told["seconds"] / row.worth if row.worth else None
        rows.append(told)
    return pl.DataFrame(rows, infer_schema_length=None).drop("people", "stratum", "excess")


def _forms_rows(
    name: str, measured: Measured, table: pl.DataFrame, judged: JudgedSet, seed: int
) -> Iterator[Estimate]:
    """Loss, worth and price of every pool, and the loss beside that of the last clicks."""
    (stated,) = judged.judges.values()
    source = source_text(labels=judged.people.provenance, model=stated.provenance)
    drawn, end = measured.resampled["all"], measured.end
    for place, row in enumerate(table.to_dicts()):
        clicks = row["form"] == "clicks"
        arm = f"{row['answers']} click{'s' * (row['answers'] != 1)}" if clicks else row["judge"]
        blank = Estimate(
            "log_loss", row["log_loss"], arm, part=name, over="items", items=row["items"],
            seeds=(seed,), source=source,
        )  # fmt: skip
        yield with_ends(blank, drawn[1:, place])
        if not clicks:
            apart = drawn[:, place] - drawn[:, end]
            yield with_ends(
                replace(blank, value=float(apart[0]), second=f"{end} clicks"), apart[1:]
            )
        if not clicks and row["worth"] is not None:
            high = np.inf if row["high"] is None else row["high"]
            note = f"at least {row['worth']:g}" if row["capped"] else ""
            told = source_text(labels=judged.people.provenance, model=stated.provenance, note=note)
            yield replace(blank, metric="worth", value=row["worth"], low=row["low"], high=high,
                          source=told)  # fmt: skip
        if not clicks and row["worth"]:
            yield replace(
                blank, metric="seconds_per_worth", value=row["seconds_per_worth"],
                low=row["seconds"] / high, high=row["seconds"] / max(row["low"], 1e-9),
            )  # fmt: skip


def with_ends(row: Estimate, drawn: Floats) -> Estimate:
    """The estimate with the percentile interval of its resamples."""
    low, high = percentile_interval(drawn)
    return replace(row, low=low, high=high)
