"""How networks that learnt different labels do on tests, and what they learnt."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import xlogy

from sfumato.evaluation.alignment import correlate
from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.metrics import reliability as reliability_bins
from sfumato.evaluation.score import evaluate
from sfumato.evaluation.trials import ArmTrials, compare_arms, score_arm, steps_behind
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import build
from sfumato.labels.compare import total_variation
from sfumato.labels.labelset import LabelSet, align
from sfumato.labels.signals import (
    disputed_thirds,
    entropy,
    possible_labels,
    strata_of,
    top_probability,
)
from sfumato.provenance import is_simulated
from sfumato.scores import Estimate, source_text, with_interval
from sfumato.studies.arms import arm_words
from sfumato.studies.data import (
    CLEAN,
    ORIGINAL,
    Condition,
    Findings,
    Predictions,
    StudyData,
    Target,
    TrainingRun,
    conditions,
)
from sfumato.studies.measures.trials import Venue, arm_trials, pairs, venues, whole_seeds
from sfumato.studies.study import Study
from sfumato.studies.trainings import first_targets

SPOILT = ("accuracy", "cross_entropy")
"""What is measured of attacked and corrupted items."""
CORRUPTED = "corrupted"
"""The stratum of numbers that are the mean over all corruptions (S2-77)."""
ATTACKED = "attacked items"
"""The stratum of the items that are attacked and corrupted, before anything is done to them."""
TRAINING = "training"
"""The part of the items that are learnt."""

TOP, POSSIBLE = "top probability", "possible labels"
REFERENCE = "reference entropy"


def scores(data: StudyData, predictions: Predictions) -> Findings:
    """Every arm on every test against every label set: numbers, and paired differences.

    Untouched items by all metrics and strata of the study; attacked and corrupted ones by
    accuracy and cross-entropy, after every step of PGD (S0-F4).
    """
    study = data.study
    rng = np.random.default_rng(study.seed)
    metrics = study.metrics or tuple(METRICS)
    found: list[Estimate] = []
    for venue in venues(data, predictions):
        arms = arm_trials(data, predictions, venue, metrics, stratified=True)
        found += _estimates(study, arms, venue, rng)
    for venue in venues(data, predictions):
        for case in _spoilt_cases(study, predictions, venue):
            arms = arm_trials(
                data, predictions, venue, SPOILT, case.conditions, first=study.attacked_items
            )
            found += [case.named(row) for row in _estimates(study, arms, venue, rng)]
    return Findings(found)


@dataclass(frozen=True)
class _Case:
    """What is done to the items of a test, and how its numbers are told."""

    conditions: tuple[Condition, ...]
    told: Condition
    stratum: str = "all"

    def named(self, row: Estimate) -> Estimate:
        told = self.told
        return replace(
            row, stratum=self.stratum, attack=told.attack, bound=told.bound, step=told.step
        )


def _spoilt_cases(study: Study, predictions: Predictions, venue: Venue) -> Iterator[_Case]:
    done = conditions(study.attacks, study.corruptions, study.strength)
    tests = [test for run in predictions.runs for test in run.tests if test.part == venue.part]
    if not done or not tests[0].attacked:
        return
    yield _Case((CLEAN,), CLEAN, ATTACKED)
    for condition in done:
        if condition.step == 1:  # the same items before the first step
            yield _Case((CLEAN,), replace(condition, step=0))
        yield _Case((condition,), condition)
    corrupted = tuple(condition for condition in done if condition.attack in study.corruptions)
    if corrupted:
        yield _Case(corrupted, CLEAN, CORRUPTED)


def _estimates(
    study: Study, arms: Mapping[str, ArmTrials], venue: Venue, rng: np.random.Generator
) -> list[Estimate]:
    how: dict[str, Any] = {
        "network": venue.network, "interval": study.interval, "rng": rng, "draws": study.draws
    }  # fmt: skip
    rows = [row for arm in arms.values() for row in score_arm(arm, **how)]
    for first, second in pairs(study, tuple(arms)):
        rows += compare_arms(arms[first], arms[second], **how)
    return [replace(row, part=venue.part) for row in rows]


def references(data: StudyData, predictions: Predictions) -> Findings:
    """The lines that cross-entropy is read against: its floor, and a cheap rival (C20).

    For every set of labels that is not hard; the items of all folds of a seed are put together.
    """
    if not predictions.runs:
        return Findings()
    rng = np.random.default_rng(data.study.seed)
    original = data.labels.get(ORIGINAL)
    found: list[Estimate] = []
    for (part, against), human in _tested_labels(predictions).items():
        if against not in data.labels or not strata_of(human)["disputed"].any():
            continue
        known = original is not None and set(human.items) <= set(original.items)
        rows = evaluate(
            human,
            human,
            original=original if known else None,
            metrics=("entropy_floor", "class_oracle") if known else ("entropy_floor",),
            strata={**strata_of(human), **disputed_thirds(human)},
            rng=rng,
            draws=data.study.draws,
        )
        sets = [human, original] if original is not None and known else [human]
        steps = steps_behind([labels.provenance for labels in sets])
        found += [
            replace(
                row, part=part, against=against, source=source_text(labels=steps, note=row.note)
            )
            for row in rows
        ]
    return Findings(found)


def _tested_labels(predictions: Predictions) -> dict[tuple[str, str], LabelSet]:
    """The labels of every test, with the items of all folds of the first seed."""
    head = predictions.runs[0].key
    tests = [
        test
        for run in predictions.runs
        if (run.key.arm, run.key.network, run.key.seed) == (head.arm, head.network, head.seed)
        for test in run.tests
    ]
    sets: dict[tuple[str, str], list[LabelSet]] = {}
    for test in tests:
        for against, labels in test.labels.items():
            sets.setdefault((test.part, against), []).append(labels)
    return {key: _together(labels) for key, labels in sets.items()}


def _together(sets: Sequence[LabelSet]) -> LabelSet:
    """All items of several sets, each once."""
    rows = {
        item: row for labels in sets for item, row in zip(labels.items, labels.probs, strict=True)
    }
    return LabelSet(
        tuple(rows), sets[0].classes, np.stack(list(rows.values())), provenance=sets[0].provenance
    )


def arms(data: StudyData, predictions: Predictions) -> Findings:
    """What the arms' labels look like on the training items of the first split.

    The distance to the first control is over the items that both learn.
    """
    first = first_targets(data, predictions.runs)
    control = next((name for name in data.study.controls if name in first), None)
    found: list[Estimate] = []
    rows = []
    for name, (arm, run) in first.items():
        numbers = dict(_label_numbers(data, run, None if control is None else first[control][1]))
        found += [
            Estimate(
                metric,
                value,
                arm=name,
                part=TRAINING,
                against=against,
                items=len(run.split.train),
                simulated=run.target.simulated,
                source=source_text(model=run.target.labels.provenance, note=arm_words(arm, data)),
            )
            for (metric, against), value in numbers.items()
        ]
        told = {"arm": name, "what": arm_words(arm, data), "shown": run.target.presentation}
        rows.append({**told, **{metric: value for (metric, _), value in numbers.items()}})
    return Findings(found, {"arms": pl.DataFrame(rows, infer_schema_length=None)})


def _label_numbers(
    data: StudyData, run: TrainingRun, control: TrainingRun | None
) -> Iterator[tuple[tuple[str, str], float]]:
    """Numbers about what an arm learns, by metric and whose labels it is about."""
    mean = run.target.mean.take(run.split.train)
    yield ("label_entropy", ""), float(entropy(mean).mean())
    if control is not None:
        learnt = control.target.mean.take(control.split.train)
        yield from _distance("distance_to_control", control.key.arm, mean, learnt)
    if data.study.tests:
        people = data.study.tests[0].against[0]
        yield from _distance("distance_to_people", people, mean, data.labels.get(people))
    original = data.labels.get(ORIGINAL)
    if original is not None and set(mean.items) <= set(original.items):
        own, other = align(mean, original)
        same = own.probs.argmax(axis=1) == other.probs.argmax(axis=1)
        yield ("mode_is_original", ORIGINAL), float(same.mean())
    yield ("items_learnt", ""), len(mean)
    yield from _mixes(run.target)


def _distance(
    metric: str, name: str, labels: LabelSet, other: LabelSet | None
) -> Iterator[tuple[tuple[str, str], float]]:
    known = set() if other is None else set(other.items)
    shared = [item for item in labels.items if item in known]
    if other is not None and shared:
        both = align(labels.take(shared), other.take(shared))
        yield (metric, name), float(total_variation(*both).mean())


def _mixes(target: Target) -> Iterator[tuple[tuple[str, str], float]]:
    """How many mixed images an arm adds, and how undecided their labels are."""
    if target.augmenting is not None:
        rows = target.augmenting.labels.probs  # of every person, where they are shown one by one
        yield ("mixes", ""), len(target.augmenting)
        yield ("mixes_entropy", ""), float(-xlogy(rows, rows).sum(axis=1).mean())


def history(data: StudyData, predictions: Predictions) -> Findings:
    """The losses of every training after each epoch."""
    rows = [
        {
            "arm": run.key.arm,
            "network": run.key.network,
            "seed": run.key.seed,
            "fold": run.key.fold,
            "epoch": int(row["epoch"]),
            "loss": row["loss"],
            **({"validation_loss": row["validation_loss"]} if "validation_loss" in row else {}),
        }
        for run in predictions.done
        for row in run.history
    ]
    return Findings(tables={"history": pl.DataFrame(rows, infer_schema_length=None)})


def reliability(data: StudyData, predictions: Predictions) -> Findings:
    """One diagram per arm and network on the first test, the seeds' predictions pooled."""
    if not predictions.runs:
        return Findings()
    test = predictions.runs[0].tests[0]
    against = next(iter(test.labels))
    tables = []
    for network in data.study.networks:
        venue = Venue(test.part, against, network)
        for arm in data.study.arm_names:
            runs = [run for mine in whole_seeds(predictions, arm, venue).values() for run in mine]
            if runs:
                table = reliability_bins(*_pooled(runs, venue))
                who = (pl.lit(arm).alias("arm"), pl.lit(network).alias("network"))
                tables.append(table.with_columns(*who))
    return Findings(tables={"reliability": pl.concat(tables)} if tables else {})


def _pooled(runs: Iterable[TrainingRun], venue: Venue) -> tuple[LabelSet, LabelSet]:
    """Labels and beliefs of several trainings; an item is another one with every training."""
    sides = []
    for run in runs:
        model = run.beliefs(venue.part)
        human = run.test(venue.part).labels[venue.against].take(model.items)
        items = tuple(f"{run.key.seed}/{run.key.fold}/{item}" for item in human.items)
        sides.append([replace(one, items=items) for one in align(human, model)])
    first, second = (_together([pair[side] for pair in sides]) for side in (0, 1))
    return first, second


def tracking(data: StudyData, predictions: Predictions) -> Findings:
    """Whether soft answers follow the ambiguity that others' votes show (S3-18, S3-F5).

    The answers, read by the study's recipe, are held against the labels that its networks are
    tested by first; that these come from other people is for the study to know.
    """
    if data.judgments is None:
        return Findings()
    labels = build(data.judgments, data.study.recipe).crowd.mean()
    table = tracking_table(data.judgments, labels, data.people)
    made = source_text(labels=data.people.provenance, model=labels.provenance)
    simulated = is_simulated(labels.provenance) or is_simulated(data.people.provenance)
    found = []
    for name, column in ((TOP, "top_probability"), (POSSIBLE, "possible_labels")):
        rank = correlate(
            table[column].to_numpy(),
            table["reference_entropy"].to_numpy(),
            rng=np.random.default_rng(0),
        )
        estimate = Estimate(
            "rank_correlation",
            rank.rho,
            arm=name,
            second=REFERENCE,
            items=rank.items,
            simulated=simulated,
            source=made,
        )
        found.append(with_interval(estimate, rank.low, rank.high, "items"))
    return Findings(found, {"tracking": table})


def tracking_table(answers: Judgments, labels: LabelSet, reference: LabelSet) -> pl.DataFrame:
    """One row per item: its label's top probability, how many classes people left possible on
    average, and the entropy of its reference label. ``labels`` are made of ``answers``."""
    row = {item: number for number, item in enumerate(labels.items)}
    codes = np.array([row[item] for item in answers.table["item"]])
    stated = answers.statements
    return pl.DataFrame(
        {
            "item": labels.items,
            "top_probability": top_probability(labels),
            "possible_labels": possible_labels(
                stated.ruled_out[stated.index], codes, len(labels.items)
            ),
            "reference_entropy": entropy(reference.take(labels.items)),
        }
    )
