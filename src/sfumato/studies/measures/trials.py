"""From the trainings of a study to trials: what each network believes about each test.

Every measure of trained networks begins here, so that all of them leave out the same seeds, pair
the same arms and make their rows alike.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.trials import ArmTrials, Mask, Trial, metric_rows, stratum_places
from sfumato.labels.labelset import LabelSet, align
from sfumato.labels.signals import agreement_strata, disputed_thirds, strata_of
from sfumato.names import find
from sfumato.provenance import is_simulated
from sfumato.scores import Estimate, source_text, with_interval
from sfumato.stats import share_interval, student_interval
from sfumato.studies.data import CLEAN, ORIGINAL, Condition, Predictions, StudyData, TrainingRun
from sfumato.studies.study import Arm, Study


@dataclass(frozen=True)
class Venue:
    """Where arms meet: the items of a test, whose labels are held against, and a network."""

    part: str
    against: str
    network: str


def venues(data: StudyData, predictions: Predictions) -> Iterator[Venue]:
    """Every test and label set in the order of the study, each with all networks."""
    tests = {test.part: test for run in predictions.runs for test in run.tests}
    for part, test in tests.items():
        for against, network in product(test.labels, data.study.networks):
            yield Venue(part, against, network)


def pairs(study: Study, arms: Sequence[str]) -> list[tuple[str, str]]:
    """The arms whose differences are told, (first, second) for first minus second.

    Those of all arms, or those to the controls, each pair once (``scores.swap_arms``).
    """
    every = every_pair(study, arms)
    match study.pairs:
        case "all":
            return every
        case "controls":
            return [pair for pair in every if pair[1] in study.controls]
        case _:
            assert_never(study.pairs)


def every_pair(study: Study, arms: Sequence[str]) -> list[tuple[str, str]]:
    """Every two arms once: an arm minus a control, else the later minus the earlier one."""
    controls = [control for control in study.controls if control in arms]
    ordered = [*controls, *(arm for arm in arms if arm not in controls)]
    place = {arm: at for at, arm in enumerate(ordered)}
    return [(arm, second) for arm, second in product(arms, ordered) if place[arm] > place[second]]


def arm_trials(
    data: StudyData,
    predictions: Predictions,
    venue: Venue,
    metrics: Sequence[str],
    conditions: Sequence[Condition] = (CLEAN,),
    *,
    first: int | None = None,
    stratified: bool = False,
) -> dict[str, ArmTrials]:
    """What every arm measured at a venue with the seeds that have all of their folds.

    Several ``conditions``, such as all corruptions, are averaged as folds are. ``first`` keeps so
    many items. ``stratified`` adds the strata that the study asks for.
    """
    found = {}
    for arm in data.study.arm_names:
        trials = {
            seed: [
                _trial(data, run, venue, metrics, condition, first, stratified)
                for run, condition in product(runs, conditions)
            ]
            for seed, runs in whole_seeds(predictions, arm, venue).items()
        }
        if trials:
            found[arm] = ArmTrials(arm, trials)
    return found


def whole_seeds(predictions: Predictions, arm: str, venue: Venue) -> dict[int, list[TrainingRun]]:
    """The trainings of an arm that were tested at a venue, of seeds of which no fold failed."""

    def meets(run: TrainingRun) -> bool:
        return any(test.part == venue.part and venue.against in test.labels for test in run.tests)

    folds = len({run.key.fold for run in predictions.runs if meets(run)})
    tested = {
        seed: [run for run in runs if meets(run)]
        for seed, runs in predictions.of(arm, venue.network).items()
    }
    return {seed: runs for seed, runs in tested.items() if len(runs) == folds}


def _trial(
    data: StudyData,
    run: TrainingRun,
    venue: Venue,
    metrics: Sequence[str],
    condition: Condition,
    first: int | None,
    stratified: bool,
) -> Trial:
    model = run.beliefs(venue.part, condition)
    if first is not None:
        model = model.take(model.items[:first])
    labels = run.test(venue.part).labels
    human, model = align(labels[venue.against].take(model.items), model)
    strata = _strata(data, labels, venue.against, human) if stratified else {}
    return Trial(
        human.items,
        metric_rows({venue.against: human}, model, metrics),
        stratum_places(human, human, strata),
        model.provenance,
    )


def _strata(
    data: StudyData, labels: Mapping[str, LabelSet], against: str, human: LabelSet
) -> dict[str, Mask]:
    """By the labels that are held against, if people agree on some items and not on others; else
    by those that the test is held against first."""
    first = next(iter(labels.values())).take(human.items)
    own = human if against in data.labels else first  # a majority has the strata of its people
    for one in (own, first):
        agreed = strata_of(one)
        if all(mask.any() for mask in agreed.values()):
            known = {**agreed, **disputed_thirds(one)}
            wanted = data.study.strata or tuple(known)
            original = data.labels.get(ORIGINAL)
            if original is not None and set(one.items) <= set(original.items):
                known |= agreement_strata(one, original.take(one.items))
            return {name: find(known, name, what="stratum") for name in wanted}
    return {}


# What measures beyond the scores share: the arms of a decoupling, beliefs by seed, and rows.

LEARNT_ORIGINAL = Arm(labels="original").name
LEARNT_VOTE = Arm(labels="majority").name
LEARNT_SOFT = Arm(labels="soft").name
"""What softness is told apart from a shifted mode by (S4-45)."""

Values = NDArray[np.float64]


def beliefs_by_seed(
    data: StudyData, predictions: Predictions, arm: str, network: str
) -> dict[int, LabelSet]:
    """What an arm's networks believe of the first test, by seed, the folds of each together.

    Seeds of which a fold failed are left out. Every seed may have been tested on other items.
    """
    test = data.study.tests[0]
    venue = Venue(test.part, test.against[0], network)
    return {
        seed: _joined([run.beliefs(test.part) for run in runs])
        for seed, runs in whole_seeds(predictions, arm, venue).items()
    }


def shared_items(tested: Iterable[Iterable[tuple[str, ...]]]) -> tuple[str, ...]:
    """The test that most arms have, given the tests of each arm's trainings; the earliest of
    several.

    Where every seed has a test of its own and some trainings failed, what shows arms side by side
    is about these: the first training of one arm may have seen other items than that of another.
    """
    counted = Counter(items for arm in tested for items in dict.fromkeys(arm))
    return max(counted, key=lambda items: counted[items], default=())


def _joined(folds: Sequence[LabelSet]) -> LabelSet:
    if len(folds) == 1:
        return folds[0]
    return LabelSet(
        tuple(item for fold in folds for item in fold.items),
        folds[0].classes,
        np.concatenate([fold.probs for fold in folds]),
        provenance=tuple(step for fold in folds for step in fold.provenance),
    )


def blank_row(data: StudyData, runs: Sequence[TrainingRun], *, part: str) -> Estimate:
    """A row about what some trainings made of a part, to be filled; it names their files."""
    source = source_text(
        labels=data.people.provenance,
        predictions=[run.file for run in runs],
    )
    people = is_simulated(data.people.provenance)
    simulated = people or any(run.target.simulated for run in runs)
    seeds = tuple(dict.fromkeys(run.key.seed for run in runs))
    return Estimate("", 0.0, part=part, seeds=seeds, simulated=simulated, source=source)


def share_row(blank: Estimate, metric: str, mask: Mask) -> Estimate:
    """The share of items in a mask, with the exact binomial interval (Clopper and Pearson)."""
    hits, count = int(mask.sum()), len(mask)
    row = replace(blank, metric=metric, value=hits / count, items=count)
    return with_interval(row, *share_interval(hits, count), "items")


def mean_row(blank: Estimate, metric: str, values: Values) -> Estimate:
    """The mean over items with Student's t interval; none where all values are the same."""
    row = replace(blank, metric=metric, value=float(values.mean()), items=len(values))
    if len(values) < 2 or not values.std():
        return row
    return with_interval(row, *student_interval(values), "items")


def apart_row(first: Estimate, second: Estimate, blank: Estimate) -> Estimate:
    """First minus second of which only the own intervals are known.

    The interval excludes zero where the two do not overlap, which is stricter than needed.
    """
    row = replace(blank, value=first.value - second.value)
    ends = (first.low, first.high, second.low, second.high)
    if any(end is None for end in ends):
        return row
    low, high, other_low, other_high = (float(end) for end in ends if end is not None)
    return with_interval(row, low - other_high, high - other_low, first.over)
