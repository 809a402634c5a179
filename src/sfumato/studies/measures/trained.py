"""How networks that learnt different labels do on tests, and what they learnt."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import xlogy
from scipy.stats import wasserstein_distance

from sfumato.evaluation.alignment import correlate
from sfumato.evaluation.metrics import reliability as reliability_bins
from sfumato.evaluation.metrics import usual_metrics
from sfumato.evaluation.score import score_model
from sfumato.evaluation.trials import (
    ArmTrials,
    MetricRows,
    Trial,
    added_influence,
    compare_arms,
    pair_seeds,
    score_arm,
    steps_behind,
    value_of,
)
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
from sfumato.provenance import is_simulated, to_json
from sfumato.scores import Estimate, metric_words, source_text, with_interval
from sfumato.stats import student_interval
from sfumato.studies.data import (
    CLEAN,
    CONSTANT,
    ORIGINAL,
    Condition,
    Findings,
    Predictions,
    StudyData,
    Target,
    TrainingRun,
    Venue,
    arm_trials,
    conditions,
    every_pair,
    pairs,
    venues,
    whole_seeds,
)
from sfumato.studies.study import Study
from sfumato.studies.trainings import arm_words, first_targets

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
    metrics = study.metrics or usual_metrics(data.people)
    found: list[Estimate] = []
    for venue in venues(data, predictions):
        arms = arm_trials(data, predictions, venue, metrics, stratified=True)
        found += trial_estimates(study, arms, venue, rng)
    for venue in venues(data, predictions):
        for case in _spoilt_cases(study, predictions, venue):
            arms = arm_trials(
                data, predictions, venue, SPOILT, case.conditions, first=study.attacked_items
            )
            found += [case.named(row) for row in trial_estimates(study, arms, venue, rng)]
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
    if not done or not tests[0].attacked or venue.network in study.heads:
        return
    yield _Case((CLEAN,), CLEAN, ATTACKED)
    for condition in done:
        if condition.step == 1:  # the same items before the first step
            yield _Case((CLEAN,), replace(condition, step=0))
        yield _Case((condition,), condition)
    corrupted = tuple(condition for condition in done if condition.attack in study.corruptions)
    if corrupted:
        yield _Case(corrupted, CLEAN, CORRUPTED)


def trial_estimates(
    study: Study, arms: Mapping[str, ArmTrials], venue: Venue, rng: np.random.Generator
) -> list[Estimate]:
    """Every arm with its interval, and the differences of pairs, at one venue."""
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
        rows = score_model(
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


def constant(data: StudyData, predictions: Predictions) -> Findings:
    """Cross-entropy of giving every item the mean label of those that were learnt.

    Distances that the study measures are told of it too, as of an arm.
    """
    if not predictions.runs:
        return Findings()
    rng = np.random.default_rng(data.study.seed)
    found: list[Estimate] = []
    learnt = {
        test.part: run.split.train for run in reversed(predictions.runs) for test in run.tests
    }
    for (part, against), human in _tested_labels(predictions).items():
        if against not in data.labels:
            continue
        mean = data.labels[against].take(learnt[part]).probs.mean(axis=0)
        model = LabelSet(human.items, human.classes, np.tile(mean, (len(human), 1)))
        also = [name for name in ("manhattan", "wasserstein") if name in data.study.metrics]
        rows = score_model(
            human, model, metrics=("cross_entropy", *also), rng=rng, draws=data.study.draws
        )
        as_reference = {"cross_entropy": ("constant_predictor", "")}
        for row in rows:
            if row.against == "people" and row.metric in ("cross_entropy", *also):
                metric, arm = as_reference.get(row.metric, (row.metric, CONSTANT))
                source = source_text(labels=human.provenance)
                found.append(
                    replace(row, metric=metric, arm=arm, part=part, against=against, source=source)
                )
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
    first, probs = sets[0], np.stack(list(rows.values()))
    return LabelSet(
        tuple(rows), first.classes, probs, provenance=first.provenance, values=first.values
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
    """The losses of every training after each epoch, and whether its items were memorised."""
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
    table = pl.DataFrame(rows, infer_schema_length=None)
    return Findings(list(_memorised(data.study, predictions)), {"history": table})


def _memorised(study: Study, predictions: Predictions) -> Iterator[Estimate]:
    """How well the networks of each arm know, at the end, what they learnt."""
    for arm, network in product(study.arm_names, study.networks):
        seeds = predictions.of(arm, network)
        if not all(run.training for runs in seeds.values() for run in runs):
            continue
        for metric in ("training_accuracy", "training_cross_entropy") if seeds else ():
            means = np.array(
                [np.mean([run.training[metric] for run in runs]) for runs in seeds.values()]
            )
            first = next(iter(seeds.values()))[0]
            row = Estimate(
                metric,
                float(means.mean()),
                arm=arm,
                network=network,
                part=TRAINING,
                against="own labels",
                items=len(first.target.items or first.split.train),
                seeds=tuple(seeds),
                simulated=first.target.simulated,
                source=source_text(labels=first.target.mean.provenance),
            )
            yield with_interval(row, *student_interval(means), "seeds")


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


# Whether gaps between arms grow, reach a level or are won: what is told beyond the scores. All of
# it is paired by seed and item: both arms had the same items, first weights and order.

RATIO = "cross_entropy_ratio"
"""First arm's cross-entropy as a share of the second's (S0-44: −29 % near, −38 % far)."""
BY_TRAINING = ("accuracy", "cross_entropy")
"""The metrics of ladders and wins."""
OWN = "own labels"
"""What is held against: the label set that the arm learnt, on items that it did not learn."""


def growth(steps: Sequence[str]) -> str:
    """The name under which the growth of a gap along a ladder is kept.

    >>> growth(("near", "farther", "far"))
    'from near to far'
    """
    return f"from {steps[0]} to {steps[-1]}"


def gap_name(pair: tuple[str, str]) -> str:
    """The name under which the gap of two arms stands where an arm would.

    >>> gap_name(("soft", "hard"))
    'soft minus hard'
    """
    return f"{pair[0]} minus {pair[1]}"


def level_name(level: float) -> str:
    """What stands in place of a second arm.

    >>> level_name(0.945)
    'an accuracy of 0.945'
    """
    return f"an accuracy of {level:g}"


def ladder(data: StudyData, predictions: Predictions) -> Findings:
    """The gap at the far end of each ladder minus that at the near end, paired (S0-44).

    Steps that were not tested are left out; a ladder of one step has no growth.
    """
    tested = {(venue.against, venue.network): venue for venue in venues(data, predictions)}
    both_ways = data.study.interval == "seeds and items"
    found: list[Estimate] = []
    for steps in data.study.ladders:
        for network in data.study.networks:
            known = [step for step in steps if (step, network) in tested]
            if len(known) < 2:
                continue
            near, far = (
                arm_trials(data, predictions, tested[step, network], BY_TRAINING)
                for step in (known[0], known[-1])
            )
            rows: list[Estimate] = []
            for first, second in pairs(data.study, [arm for arm in near if arm in far]):
                ends = (near[first], near[second]), (far[first], far[second])
                rows += [*_growth_rows(*ends, both_ways=both_ways), *_ratio_rows(*ends)]
                if data.study.pairs == "all":  # a ratio says another thing the other way round
                    rows += _ratio_rows(*(end[::-1] for end in ends))
            found += [replace(one, network=network, against=growth(known)) for one in rows]
    return Findings(found)


def _growth_rows(
    near: tuple[ArmTrials, ArmTrials], far: tuple[ArmTrials, ArmTrials], *, both_ways: bool
) -> Iterator[Estimate]:
    """The growth of the difference by both metrics, ``both_ways`` over seeds and items."""
    mine, theirs = zip(near, far, strict=True)
    for at, metric in enumerate(BY_TRAINING):
        sides, signs = (*far, *near), (1, -1, -1, 1)
        apart = _sums_by_seed(sides, signs, at)
        influence = added_influence(sides, signs, apart, "all", at) if both_ways else None
        yield from _paired(metric, (near[0].arm, near[1].arm), mine, theirs, at, apart, influence)


def _ratio_rows(
    near: tuple[ArmTrials, ArmTrials], far: tuple[ArmTrials, ArmTrials]
) -> Iterator[Estimate]:
    """The growth of the ratio of both arms' cross-entropies."""
    mine, theirs = zip(near, far, strict=True)
    at = BY_TRAINING.index("cross_entropy")
    shares = {
        seed: far_first / far_second - first / second
        for seed, (first, second, far_first, far_second) in _by_seed((*near, *far), at)
    }
    yield from _paired(RATIO, (near[0].arm, near[1].arm), mine, theirs, at, shares)


def gains(data: StudyData, predictions: Predictions) -> Findings:
    """The gap of one pair of arms minus that of another, paired, by every metric.

    Pairs of which an arm was not trained are left out.
    """
    metrics = data.study.metrics or usual_metrics(data.people)
    both_ways = data.study.interval == "seeds and items"
    found: list[Estimate] = []
    for venue in venues(data, predictions) if data.study.gains else ():
        arms = arm_trials(data, predictions, venue, metrics)
        for both in data.study.gains:
            if not all(arm in arms for pair in both for arm in pair):
                continue
            mine, theirs = ([arms[arm] for arm in pair] for pair in both)
            names = (gap_name(both[0]), gap_name(both[1]))
            sides, signs = (*mine, *theirs), (1, -1, -1, 1)
            for at, metric in enumerate(metrics):
                apart = _sums_by_seed(sides, signs, at)
                influence = added_influence(sides, signs, apart, "all", at) if both_ways else None
                found += [
                    replace(one, part=venue.part, network=venue.network, against=venue.against)
                    for one in _paired(metric, names, mine, theirs, at, apart, influence)
                ]
    return Findings(found)


def _by_seed(sides: Sequence[ArmTrials], at: int) -> Iterator[tuple[int, tuple[float, ...]]]:
    """The values of all sides on all items, for every seed that each of them has."""
    values = [side.values["all", at] for side in sides]
    for seed in values[0]:
        if all(seed in value for value in values):
            yield seed, tuple(value[seed] for value in values)


def _sums_by_seed(sides: Sequence[ArmTrials], signs: Sequence[int], at: int) -> dict[int, float]:
    """The signed sum of all sides, for every seed that each of them has."""
    return {
        seed: sum(sign * value for sign, value in zip(signs, values, strict=True))
        for seed, values in _by_seed(sides, at)
    }


def _paired(
    metric: str,
    names: tuple[str, str],
    mine: Sequence[ArmTrials],
    theirs: Sequence[ArmTrials],
    at: int,
    apart: Mapping[int, float],
    influence: NDArray[np.float64] | None = None,
) -> Iterator[Estimate]:
    """What is apart by seed as one estimate; none without a common seed."""
    if not apart:
        return
    labels = steps_behind([side.rows[at].labels for side in mine])
    blank = Estimate(
        metric,
        float("nan"),
        arm=names[0],
        second=names[1],
        items=min(side.count("all") for side in (*mine, *theirs)),
        simulated=is_simulated(labels) or any(side.simulated for side in (*mine, *theirs)),
        source=source_text(
            labels=labels,
            model=steps_behind([model for side in mine for model in side.models]),
            second=to_json(steps_behind([model for side in theirs for model in side.models])),
        ),
    )
    yield pair_seeds(blank, apart, influence, rng=np.random.default_rng(0))


def levels(data: StudyData, predictions: Predictions) -> Findings:
    """Every arm's accuracy on untouched items minus each level that the study names (S4-15)."""
    study = data.study
    rng = np.random.default_rng(study.seed)
    found: list[Estimate] = []
    for venue in venues(data, predictions) if study.levels else ():
        for arm in arm_trials(data, predictions, venue, ("accuracy",)).values():
            (one,) = score_arm(
                arm, network=venue.network, interval=study.interval, rng=rng, draws=study.draws
            )
            found += [
                replace(
                    one,
                    part=venue.part,
                    second=level_name(level),
                    value=one.value - level,
                    low=None if one.low is None else one.low - level,
                    high=None if one.high is None else one.high - level,
                )
                for level in study.levels
            ]
    return Findings(found)


def wins(data: StudyData, predictions: Predictions) -> Findings:
    """In how many trainings an arm is better than a control of the same seed and fold (C5).

    Means hide a network or a collection on which the other arm is better.
    """
    controls = data.study.controls
    rows = []
    for venue in venues(data, predictions) if controls else ():
        arms = arm_trials(data, predictions, venue, BY_TRAINING)
        kept = [name for name in arms if name not in controls]
        for at, metric in enumerate(BY_TRAINING):
            values = {name: _by_training(arm, at) for name, arm in arms.items()}
            for control in (name for name in controls if name in arms):
                rows += [
                    {
                        "arm": arm,
                        "control": control,
                        "network": venue.network,
                        "held against": venue.against,
                        "metric": metric,
                        **_count_wins(metric, values[arm], values[control]),
                    }
                    for arm in kept
                ]
    return Findings(tables={"wins": pl.DataFrame(rows)})


def _by_training(arm: ArmTrials, at: int) -> dict[tuple[int, int], float]:
    """The value of every seed and fold."""
    return {
        (seed, fold): value_of(trial.rows[at], trial.places["all"])
        for seed, trials in arm.trials.items()
        for fold, trial in enumerate(trials)
    }


def _count_wins(
    metric: str, mine: Mapping[tuple[int, int], float], theirs: Mapping[tuple[int, int], float]
) -> dict[str, int]:
    sign = -1.0 if metric_words(metric).better == "lower" else 1.0
    ahead = [sign * (value - theirs[key]) for key, value in mine.items() if key in theirs]
    return {"better": sum(gain > 0 for gain in ahead), "trainings": len(ahead)}


def resonance(data: StudyData, predictions: Predictions) -> Findings:
    """Whether a network is about as undecided as the labels that it learnt (S1-56, S1-F7).

    Both are looked at on the same held-out items: how the entropies of the labels are spread, and
    how those of the network are. Their distance is Wasserstein's, in nats. The table
    ``entropies`` has those of the first training of every arm.
    """
    study = data.study
    rng = np.random.default_rng(study.seed)
    found: list[Estimate] = []
    tables = []
    for network in study.networks:
        arms: dict[str, ArmTrials] = {}
        for name in study.crossed:
            labels = study.arm(name).labels
            venue = _venue_of(data, predictions, labels, network)
            seeds = {} if venue is None else whole_seeds(predictions, name, venue)
            if venue is None or not seeds:
                continue
            trials = {s: [_entropies(run, venue) for run in runs] for s, runs in seeds.items()}
            arms[name] = ArmTrials(name, trials)
            tables.append(_entropy_rows(next(iter(trials.values()))[0], name, network))
        how = {"network": network, "interval": study.interval, "rng": rng, "draws": study.draws}
        for arm in arms.values():
            found += score_arm(arm, **how)  # type: ignore[arg-type]
        for first, second in every_pair(study, tuple(arms)):
            found += compare_arms(arms[first], arms[second], **how)  # type: ignore[arg-type]
    return Findings(found, {"entropies": pl.concat(tables)} if tables else {})


def _venue_of(data: StudyData, predictions: Predictions, labels: str, network: str) -> Venue | None:
    """Where a network is tested against the named labels; None where it is not."""
    wanted = (labels, network)
    tested = venues(data, predictions)
    return next((venue for venue in tested if (venue.against, venue.network) == wanted), None)


def _entropies(run: TrainingRun, venue: Venue) -> Trial:
    """Entropies of the labels and of the network's beliefs, side by side."""
    own, model = align(run.test(venue.part).labels[venue.against], run.beliefs(venue.part))
    rows = MetricRows(
        "entropy_distance",
        OWN,
        np.stack([entropy(own), entropy(model)], axis=1),
        _entropy_distance,
        is_mean=False,
        labels=own.provenance,
    )
    return Trial(own.items, [rows], {"all": np.arange(len(own))}, model.provenance)


def _entropy_distance(rows: NDArray[np.float64]) -> float:
    return float(wasserstein_distance(rows[:, 0], rows[:, 1]))


def _entropy_rows(trial: Trial, arm: str, network: str) -> pl.DataFrame:
    """One row per item and source, "labels" or "model"."""
    return pl.concat(
        pl.DataFrame({"source": source, "entropy": trial.rows[0].rows[:, side]}).select(
            pl.lit(network).alias("network"), pl.lit(arm).alias("arm"), pl.all()
        )
        for side, source in enumerate(("labels", "model"))
    )
