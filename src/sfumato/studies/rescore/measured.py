"""From people's labels and stored predictions to scores, paired differences and tables."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.alignment import concentration_curve, share_in_top
from sfumato.evaluation.cartography import bars, same_top_other_rest
from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.references import class_oracle, class_oracle_labels, entropy_floor
from sfumato.evaluation.score import ensemble, evaluate
from sfumato.evaluation.strata import original_agreement, strata_of
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.provenance import Setting
from sfumato.scores import Difference, Score
from sfumato.stats import paired_items
from sfumato.studies.rescore.stored import BEST, CLOSEST
from sfumato.studies.rescore.study import RescoreStudy

__all__ = [
    "ANOTHER",
    "ENSEMBLE",
    "HALF",
    "ONE",
    "ORACLE",
    "ORIGINAL",
    "PEOPLE",
    "THREE",
    "TOP",
    "Rescored",
    "rescore",
]

PEOPLE, ORIGINAL = "people", "original"
ENSEMBLE, ORACLE = "ensemble", "class-level oracle"
ONE, ANOTHER, THREE = "a network", "another network", "the three closest"
TOP, HALF = "entropy in the top 30 % of images", "half of it"
TOP_SHARE = 0.3
"""The share of images that holds the bulk of uncertainty, says the paper (S0-14)."""
SHOWN = 8
"""Images in the gallery (S0-F1)."""
SCORED = (
    "cross_entropy",
    "kl",
    "accuracy",
    "second_best_accuracy",
    "second_best_accuracy_all",
    "confidence_right",
    "confidence_wrong",
    "entropy",
)


@dataclass(frozen=True, eq=False)
class Rescored:
    """Everything that the report is drawn from."""

    scores: list[Score]
    differences: list[Difference]
    tables: Mapping[str, pl.DataFrame]
    facts: Mapping[str, Setting]


def rescore(
    people: LabelSet, original: LabelSet, networks: Mapping[str, LabelSet], study: RescoreStudy
) -> Rescored:
    """Score every network, their ensemble and the oracle that knows the class only (C20)."""
    models = {
        **networks,
        ENSEMBLE: ensemble(networks),
        ORACLE: class_oracle_labels(people, original),
    }
    rng = np.random.default_rng(study.seed)
    scores = [
        score
        for name, model in models.items()
        for score in evaluate(
            people,
            model,
            original=original,
            metrics=SCORED,
            strata=strata_of(people),
            arm=name,
            rng=rng,
            draws=study.draws,
        )
    ]
    shown = same_top_other_rest(people, models[BEST], count=SHOWN)["item"].to_list()
    return Rescored(
        scores,
        _differences(people, original, models, list(networks), study),
        {
            "concentration": concentration_curve({"CIFAR-10H": entropy(people)}),
            "gallery": bars({"people": people, BEST: models[BEST]}, shown),
        },
        {
            "entropy_floor": entropy_floor(people),
            "class_oracle": class_oracle(people, original),
            "modes_that_differ": original_agreement(people, original).differ,
            "items": len(people),
        },
    )


def _differences(
    people: LabelSet,
    original: LabelSet,
    models: Mapping[str, LabelSet],
    networks: list[str],
    study: RescoreStudy,
) -> list[Difference]:
    """What claims are judged by; ``network`` says which one, where a claim is about each."""
    rng = np.random.default_rng([study.seed, 1])
    fit = {name: _per_item("cross_entropy", people, model) for name, model in models.items()}
    loss = {name: _per_item("cross_entropy", original, models[name]) for name in networks}
    right = {name: _per_item("accuracy", original, models[name]) for name in networks}

    def apart(
        metric: str, values: NDArray[np.float64], first: str, second: str, network: str, by: str
    ) -> Difference:
        (low, high), p = paired_items(values, rng=rng, draws=study.draws)
        return Difference(
            metric,
            float(values.mean()),
            first,
            second,
            network=network,
            against=by,
            low=low,
            high=high,
            interval="items",
            p=p,
            test="sign flips",
            items=len(values),
        )

    close, others = "cross_entropy", [name for name in networks if name != BEST]
    return [
        *(apart(close, fit[ENSEMBLE] - fit[n], ENSEMBLE, ONE, n, PEOPLE) for n in networks),
        *(apart(close, fit[n] - fit[ORACLE], ONE, ORACLE, n, PEOPLE) for n in networks),
        *(apart(close, loss[n] - fit[n], ORIGINAL, PEOPLE, n, ORIGINAL) for n in networks),
        *(apart("accuracy", right[BEST] - right[n], BEST, ANOTHER, n, ORIGINAL) for n in others),
        *(apart(close, fit[BEST] - fit[n], BEST, THREE, n, PEOPLE) for n in CLOSEST),
        _concentrated(people, study),
    ]


def _per_item(metric: str, labels: LabelSet, model: LabelSet) -> NDArray[np.float64]:
    per_item = METRICS[metric].per_item
    assert per_item is not None
    return per_item(labels, model)


def _concentrated(people: LabelSet, study: RescoreStudy) -> Difference:
    rng = np.random.default_rng([study.seed, 2])
    share = share_in_top(entropy(people), TOP_SHARE, rng=rng, draws=study.draws)
    return Difference(
        "share",
        share.value - 0.5,
        TOP,
        HALF,
        against=PEOPLE,
        low=share.low - 0.5,
        high=share.high - 0.5,
        interval="items",
        items=len(people),
    )
