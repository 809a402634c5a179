"""Score models and arms on one test: every metric, stratum and interval; and rank models.

All functions give estimates, tidy rows of ``scores``. Tests that differ from seed to seed, and
several folds of a seed, are what ``trials`` is for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, assert_never

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.evaluation.trials import (
    ArmTrials,
    Mask,
    SeedInterval,
    Trial,
    compare_arms,
    measure,
    score_arm,
    stratum_places,
)
from sfumato.labels.labelset import LabelSet, align
from sfumato.provenance import Step, is_simulated, to_json
from sfumato.scores import Estimate
from sfumato.stats import holm

Missing = Literal["error", "leave out"]
"""What happens to an item of the labels that has no prediction."""


class MissingPredictions(DataError):
    """Items of the labels have no prediction."""


def score_model(
    human: LabelSet,
    model: LabelSet,
    *,
    original: LabelSet | None = None,
    metrics: Sequence[str] | None = None,
    strata: Mapping[str, Mask] | None = None,
    arm: str = "",
    network: str = "",
    rng: np.random.Generator,
    draws: int = 1000,
    missing: Missing = "error",
) -> list[Estimate]:
    """Every score of one model, with 95 % bootstrap intervals over items.

    All ``metrics`` (default: all there are) against people; accuracy and cross-entropy also
    against people's majority and, where given, the ``original`` labels; the reference lines of
    cross-entropy as scores of their own. ``strata`` are masks over the items of ``human``; "all"
    is always there. For means the interval lies between percentiles of the resampled means. For
    other metrics the percentiles are moved so that their middle is the value: repeated items by
    themselves raise a calibration error, and lower the worst class.

    >>> human = LabelSet(("a", "b"), ("cat", "dog"), [[0.5, 0.5], [0, 1]])
    >>> model = LabelSet(("b", "a"), ("cat", "dog"), [[0.1, 0.9], [0.6, 0.4]])
    >>> scores = score_model(human, model, metrics=["brier"], rng=np.random.default_rng(0))
    >>> scores[0].metric, round(scores[0].value, 3), scores[0].items
    ('brier', 0.02, 2)
    """
    scores = score_seeds(
        human,
        {0: model},
        original=original,
        metrics=metrics,
        strata=strata,
        arm=arm,
        network=network,
        rng=rng,
        draws=draws,
        missing=missing,
    )
    return [replace(score, seeds=()) for score in scores]


def score_seeds(
    human: LabelSet,
    models: Mapping[int, LabelSet],
    *,
    original: LabelSet | None = None,
    metrics: Sequence[str] | None = None,
    strata: Mapping[str, Mask] | None = None,
    arm: str = "",
    network: str = "",
    interval: SeedInterval = "seeds and items",
    rng: np.random.Generator,
    draws: int = 1000,
    missing: Missing = "error",
) -> list[Estimate]:
    """Every score of one arm trained with several seeds: the mean over seeds (S2-74).

    The interval is over ``interval``: "seeds" is Student's t over the seeds' values; "seeds and
    items" also lets the items have been others, where the metric is a mean over items. With a
    single seed the second is what ``score_model`` gives, over items; the first does not exist.
    """
    found = _on_one_test(human, {arm: models}, original, metrics, strata, missing)
    return score_arm(found[arm], network=network, interval=interval, rng=rng, draws=draws)


def compare_models(
    human: LabelSet,
    arms: Mapping[str, Mapping[int, LabelSet]],
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    original: LabelSet | None = None,
    metrics: Sequence[str] | None = None,
    strata: Mapping[str, Mask] | None = None,
    network: str = "",
    interval: SeedInterval = "seeds and items",
    test: str = "paired t",
    rng: np.random.Generator,
    draws: int = 1000,
    missing: Missing = "error",
) -> list[Estimate]:
    """Paired differences between arms, each with an interval and a named test (S4-36).

    ``arms`` are predictions by arm and seed. ``pairs`` are (first, second) for first minus
    second; by default every later arm minus every earlier one. Pairs are over the seeds that both
    arms have, and one that has no seed in common is an error. With several seeds the interval is
    over ``interval``, as in ``score_seeds``, with the ``test`` of ``SEED_TESTS``. With one seed the
    pairs are items: paired bootstrap and sign-flip permutation, where the metric is a mean.
    """
    asked = pairs or [(later, earlier) for earlier, later in combinations(arms, 2)]
    _check_pairs(arms, asked)
    prepared = _on_one_test(human, arms, original, metrics, strata, missing)
    return [
        difference
        for first, second in asked
        for difference in compare_arms(
            prepared[first],
            prepared[second],
            network=network,
            interval=interval,
            test=test,
            rng=rng,
            draws=draws,
        )
    ]


def join(human: LabelSet, model: LabelSet, missing: Missing = "error") -> tuple[LabelSet, LabelSet]:
    """Both sets over the same items and classes, in the order of the labels.

    Items that only the model has are left out: predictions often cover more than was judged.
    """
    if human.items == model.items:
        return align(human, model)
    known = set(model.items)
    match missing:
        case "error":
            lacking = [item for item in human.items if item not in known]
            if lacking:
                raise MissingPredictions(
                    f"Item {lacking[0]!r} of the labels has no prediction ({len(lacking)} of "
                    f"{len(human)} have none; the predictions are of {_span(model.items)}). "
                    "Predict it, or leave out the items that have none."
                )
        case "leave out":
            kept = [item for item in human.items if item in known]
            if not kept:
                raise DataError(
                    f"The labels ({_span(human.items)}) and the predictions "
                    f"({_span(model.items)}) have no item in common."
                )
            human = human.take(kept)
        case _:
            assert_never(missing)
    return align(human, model)


def _on_one_test(
    human: LabelSet,
    arms: Mapping[str, Mapping[int, LabelSet]],
    original: LabelSet | None,
    metrics: Sequence[str] | None,
    strata: Mapping[str, Mask] | None,
    missing: Missing,
) -> dict[str, ArmTrials]:
    """What every arm measured with every seed, each arm on the items that all its seeds have."""
    found = {}
    for arm, models in arms.items():
        kept = human
        for model in models.values():
            kept, _ = join(kept, model, missing)
        places = stratum_places(human, kept, strata or {})
        trials = {
            seed: [
                Trial(
                    kept.items,
                    measure(*join(kept, model), original=original, metrics=metrics),
                    places,
                    model.provenance,
                )
            ]
            for seed, model in models.items()
        }
        found[arm] = ArmTrials(arm, trials)
    return found


def _check_pairs(
    arms: Mapping[str, Mapping[int, LabelSet]], pairs: Sequence[tuple[str, str]]
) -> None:
    for name in {name for pair in pairs for name in pair}:
        if name not in arms:
            raise DataError(f"No arm is called {name!r}; there are {', '.join(arms)}.")
    for first, second in pairs:
        if not set(arms[first]) & set(arms[second]):
            raise DataError(
                f"The arms {first!r} and {second!r} cannot be paired: they have no seed in "
                "common. Train both with the same seeds."
            )


def _span(items: Sequence[str]) -> str:
    """A few words on which items there are."""
    if len(items) < 2:
        return f"{len(items)} item" + (f", {items[0]!r}" if items else "s")
    return f"{len(items)} items, {items[0]!r} to {items[-1]!r}"


# Rank models by how close they are to people, next to how accurate they are (S0-48).
#
# The two orders differ: of the eight published networks the most accurate one is not among the
# closest to people. Every model is also compared with the closest, item by item, so that a rank
# says whether it means anything.


@dataclass(frozen=True)
class Place:
    """One model on the list."""

    rank: int
    """By cross-entropy to people, the lowest first; equal models share the better rank."""
    accuracy_rank: int
    """By accuracy, the highest first."""
    cross_entropy: Estimate
    accuracy: Estimate
    """Against the original labels where they were given, otherwise against people."""
    behind: Estimate | None
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
    """One row per model: rank, arm, cross-entropy and accuracy with their intervals, and the
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
) -> tuple[Estimate, Estimate]:
    scores = score_model(
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
) -> dict[str, Estimate]:
    if len(order) < 2:
        return {}
    differences = [
        difference
        for difference in compare_models(
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
            (each.arm for each in tested),
            holm([each.p for each in tested if each.p is not None]),
            strict=True,
        )
    )
    return {
        each.arm: replace(each, seeds=(), p=adjusted[each.arm], test=f"{each.test}, Holm")
        if each.arm in adjusted
        else replace(each, seeds=())
        for each in differences
    }


def _columns(name: str, number: Estimate | None) -> dict[str, float | None]:
    if number is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}
