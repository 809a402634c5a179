"""From the trainings of a study to trials: what each network believes about each test.

Every measure of trained networks begins here, so that all of them leave out the same seeds and
pair the same arms.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import assert_never

from sfumato.evaluation.strata import agreement_strata, disputed_thirds, strata_of
from sfumato.evaluation.trials import ArmTrials, Mask, Trial, metric_rows, stratum_places
from sfumato.labels.labelset import LabelSet, align
from sfumato.names import find
from sfumato.studies.data import CLEAN, ORIGINAL, Condition, Predictions, StudyData, TrainingRun
from sfumato.studies.study import Study


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

    Those of all arms, or those to the controls, each pair once (``scores.turned``).
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
    folds = len({run.key.fold for run in predictions.runs})
    tested = {
        seed: [
            run
            for run in runs
            if any(test.part == venue.part and venue.against in test.labels for test in run.tests)
        ]
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
