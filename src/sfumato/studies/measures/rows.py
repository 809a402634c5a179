"""What several measures share: which arms are held against each other, what was believed, rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.labels.labelset import LabelSet
from sfumato.provenance import is_simulated
from sfumato.scores import Estimate, source_text, with_interval
from sfumato.stats import share_interval, student_interval
from sfumato.studies.data import Predictions, StudyData, TrainingRun
from sfumato.studies.measures.trials import Venue, whole_seeds
from sfumato.studies.study import Arm

LEARNT_ORIGINAL = Arm(labels="original").name
LEARNT_VOTE = Arm(labels="majority").name
LEARNT_SOFT = Arm(labels="soft").name
"""What softness is told apart from a shifted mode by (S4-45)."""

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]


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
