"""How well the answer of each person is predicted by an offset of theirs on top of a network."""

from dataclasses import replace

import numpy as np

from sfumato.errors import DataError
from sfumato.evaluation.people import person_metrics, person_trial
from sfumato.evaluation.trials import ArmTrials, score_arm
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.people import PersonOffsets
from sfumato.scores import Estimate
from sfumato.studies.data import (
    CONSTANT,
    OFFSETS,
    PEOPLE,
    Findings,
    Predictions,
    StudyData,
    TrainingRun,
    venues,
    whole_seeds,
)
from sfumato.studies.measures.trained import trial_estimates


def people(data: StudyData, predictions: Predictions) -> Findings:
    """Single answers about tested items: what was expected of this person.

    Offsets were fitted to the answers about the items that were learnt.
    """
    crowd = data.crowds[PEOPLE]
    if crowd.votes is None:
        raise DataError(
            f"The study {data.study.name!r} predicts people's answers, but some of them are "
            "distributions; take a recipe of votes, or leave the measure 'people' out."
        )
    rng, found = np.random.default_rng(data.study.seed), list[Estimate]()
    metrics = person_metrics(crowd)
    for venue in venues(data, predictions):
        if venue.against != PEOPLE:
            continue
        arms = {}
        for arm in data.study.arm_names:
            trials = {
                seed: [
                    person_trial(arm, *_answers(crowd, run, venue.part), metrics) for run in runs
                ]
                for seed, runs in whole_seeds(predictions, arm, venue).items()
            }
            if trials:
                arms[arm] = ArmTrials(arm, trials)
        found += trial_estimates(data.study, arms, venue, rng)
        if venue.network == data.study.networks[0] and arms:
            found += _of_constant(data, predictions, venue.part, metrics, rng)
    return Findings(found)


def _of_constant(
    data: StudyData,
    predictions: Predictions,
    part: str,
    metrics: list[str],
    rng: np.random.Generator,
) -> list[Estimate]:
    """What everybody is expected to say by the mean label of the items that were learnt."""
    from sfumato.learn.targets import judgments_on

    run = next(run for run in predictions.runs if any(test.part == part for test in run.tests))
    items = run.test(part).items
    mean = data.people.take(run.split.train).probs.mean(axis=0)
    model = LabelSet(items, data.people.classes, np.tile(mean, (len(items), 1)))
    trial = person_trial(CONSTANT, judgments_on(data.crowds[PEOPLE], items), model, metrics)
    rows = score_arm(ArmTrials(CONSTANT, {0: [trial]}), rng=rng, draws=data.study.draws)
    return [replace(row, part=part, seeds=()) for row in rows]


def _answers(crowd: CrowdLabels, run: TrainingRun, part: str) -> tuple[CrowdLabels, CrowdLabels]:
    """What people said of a test, and what was expected of each of them."""
    from sfumato.learn.targets import judgments_on

    offsets = run.large(OFFSETS)
    assert offsets is not None
    beliefs = run.beliefs(part)
    said = judgments_on(crowd, beliefs.items)
    known = PersonOffsets(crowd.annotators, crowd.classes, offsets, spread=float("nan"))
    return said, known.predict(beliefs, said)
