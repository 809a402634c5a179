"""Rank models by how close they are to people, next to how accurate they are (S0-48).

The two orders differ: of the eight published networks the most accurate one is not among the
closest to people. Every model is also compared with the closest, item by item, so that a rank
says whether it means anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.evaluate.intervals import holm
from sfumato.evaluate.measured import Missing, join
from sfumato.evaluate.score import compare, evaluate
from sfumato.labels.labelset import LabelSet, align
from sfumato.provenance import Step, is_simulated, to_json
from sfumato.scores import Difference, Score

__all__ = ["Place", "ensemble", "leaderboard", "leaderboard_table"]


@dataclass(frozen=True)
class Place:
    """One model on the list."""

    rank: int
    """By cross-entropy to people, the lowest first; equal models share the better rank."""
    accuracy_rank: int
    """By accuracy, the highest first."""
    cross_entropy: Score
    accuracy: Score
    """Against the original labels where they were given, otherwise against people."""
    behind: Difference | None
    """Cross-entropy above that of the first, paired over items; None for the first itself."""

    @property
    def arm(self) -> str:
        """The model's name."""
        return self.cross_entropy.arm


def leaderboard(
    human: LabelSet,
    models: Mapping[str, LabelSet],
    *,
    original: LabelSet | None = None,
    rng: np.random.Generator,
    draws: int = 1000,
    missing: Missing = "error",
) -> list[Place]:
    """The models in the order of their cross-entropy to people, all on the same items.

    The differences to the first are tested by sign flips over items; as there are several, the
    p-values are adjusted by Holm's rule.

    >>> human = LabelSet(("a", "b", "c"), ("cat", "dog"), [[0.5, 0.5], [0, 1], [0, 1]])
    >>> sure = LabelSet(human.items, human.classes, [[0.01, 0.99]] * 3)
    >>> unsure = LabelSet(human.items, human.classes, [[0.3, 0.7]] * 3)
    >>> rng = np.random.default_rng(0)
    >>> [place.arm for place in leaderboard(human, {"a": sure, "b": unsure}, rng=rng)]
    ['b', 'a']
    """
    if not models:
        raise DataError("There are no models to rank; give the predictions of one or more.")
    for model in models.values():
        human, _ = join(human, model, missing)
    against = "people" if original is None else "original"
    found = [
        _two_scores(human, model, original, arm, against, rng=rng, draws=draws)
        for arm, model in models.items()
    ]
    closeness = [close.value for close, _ in found]
    accuracies = [right.value for _, right in found]
    order = sorted(range(len(found)), key=closeness.__getitem__)
    behind = _behind(human, models, [found[at][0].arm for at in order], rng=rng, draws=draws)
    return [
        Place(
            rank=1 + sum(value < closeness[at] for value in closeness),
            accuracy_rank=1 + sum(value > accuracies[at] for value in accuracies),
            cross_entropy=found[at][0],
            accuracy=found[at][1],
            behind=behind.get(found[at][0].arm),
        )
        for at in order
    ]


def ensemble(models: Mapping[str, LabelSet]) -> LabelSet:
    """The mean of the models' probabilities, as one more model; items as in the first.

    >>> one, other = (LabelSet(("a",), ("cat", "dog"), [row]) for row in ([1, 0], [0.5, 0.5]))
    >>> ensemble({"one": one, "other": other}).probs
    array([[0.75, 0.25]])
    """
    if not models:
        raise DataError("An ensemble of no models has no mean; give one or more.")
    first, *others = models.values()
    aligned = [first, *(align(first, other)[1] for other in others)]
    step = Step(
        "ensemble mean",
        {"models": {name: to_json(model.provenance) for name, model in models.items()}},
        simulated=any(is_simulated(model.provenance) for model in models.values()),
    )
    mean = np.mean([model.probs for model in aligned], axis=0)
    return LabelSet(first.items, first.classes, mean, provenance=(step,))


def leaderboard_table(places: list[Place]) -> pl.DataFrame:
    """A row a model: rank, arm, cross-entropy and accuracy with their intervals, and the
    difference to the first with its interval and adjusted p-value (null for the first).
    """
    return pl.DataFrame(
        [
            {
                "rank": place.rank,
                "arm": place.arm,
                **_columns("cross_entropy", place.cross_entropy),
                **_columns("accuracy", place.accuracy),
                "accuracy_rank": place.accuracy_rank,
                **_columns("behind", place.behind),
                "p": None if place.behind is None else place.behind.p,
                "test": "" if place.behind is None else place.behind.test,
            }
            for place in places
        ],
        infer_schema_length=None,
        schema_overrides=dict.fromkeys(("behind", "behind_low", "behind_high", "p"), pl.Float64),
    )


def _two_scores(
    human: LabelSet,
    model: LabelSet,
    original: LabelSet | None,
    arm: str,
    against: str,
    *,
    rng: np.random.Generator,
    draws: int,
) -> tuple[Score, Score]:
    scores = evaluate(
        human,
        model,
        original=original,
        metrics=["cross_entropy", "accuracy"],
        arm=arm,
        rng=rng,
        draws=draws,
    )
    by_name = {(score.metric, score.against): score for score in scores}
    return by_name["cross_entropy", "people"], by_name["accuracy", against]


def _behind(
    human: LabelSet,
    models: Mapping[str, LabelSet],
    order: list[str],
    *,
    rng: np.random.Generator,
    draws: int,
) -> dict[str, Difference]:
    if len(order) < 2:
        return {}
    differences = [
        difference
        for difference in compare(
            human,
            {arm: {0: model} for arm, model in models.items()},
            pairs=[(arm, order[0]) for arm in order[1:]],
            metrics=["cross_entropy"],
            rng=rng,
            draws=draws,
        )
        if difference.against == "people"
    ]
    tested = [each for each in differences if each.p is not None]
    adjusted = dict(
        zip(
            (each.first for each in tested),
            holm([each.p for each in tested if each.p is not None]),
            strict=True,
        )
    )
    return {
        each.first: replace(each, seeds=(), p=adjusted[each.first], test=f"{each.test}, Holm")
        if each.first in adjusted
        else replace(each, seeds=())
        for each in differences
    }


def _columns(name: str, number: Score | Difference | None) -> dict[str, float | None]:
    if number is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}
