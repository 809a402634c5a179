"""Turn stored beliefs and judges into how close they are to people, and worth how many people."""

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.cartography import bars, same_top_other_rest
from sfumato.evaluation.metrics import accuracy, cross_entropy
from sfumato.evaluation.score import ensemble, score_model
from sfumato.evaluation.trials import class_oracle_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import strata_of
from sfumato.labels.worth import worth
from sfumato.scores import Estimate, source_text, with_interval
from sfumato.stats import paired_items
from sfumato.studies.cifar_sources import BEST, CLOSEST
from sfumato.studies.data import ORIGINAL, PEOPLE, Findings, Predictions, StudyData

ENSEMBLE, ORACLE = "ensemble", "class-level oracle"
ONE, ANOTHER, THREE = "a network", "another network", "the three closest"
"""What a claim about each of several networks is subtracted from; ``network`` says which it is."""
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


def rescore(data: StudyData, predictions: Predictions) -> Findings:
    """Score every network, their ensemble and the oracle that knows the class only (C20)."""
    if not data.predictions:
        return Findings()
    people, original, study = data.people, data.original, data.study
    models = {
        **data.predictions,
        ENSEMBLE: ensemble(data.predictions),
        ORACLE: class_oracle_labels(people, original),
    }
    rng = np.random.default_rng(study.seed)
    scores = [
        score
        for name, model in models.items()
        for score in score_model(
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
    assert data.pictures is not None
    return Findings(
        [*scores, *_differences(data, models)],
        {"alternatives_bars": bars({"people": people, BEST: models[BEST]}, shown)},
        dict(zip(shown, data.pictures.take(shown).images, strict=True)),
    )


def _differences(data: StudyData, models: dict[str, LabelSet]) -> list[Estimate]:
    """What claims are judged by, item by item."""
    people, original, study = data.people, data.original, data.study
    rng = np.random.default_rng([study.seed, 1])
    networks = list(data.predictions)
    fit = {name: cross_entropy(people, model) for name, model in models.items()}
    loss = {name: cross_entropy(original, models[name]) for name in networks}
    right = {name: accuracy(original, models[name]) for name in networks}

    def apart(
        metric: str,
        values: NDArray[np.float64],
        pair: tuple[str, str],
        network: str,
        against: LabelSet,
    ) -> Estimate:
        ends, p = paired_items(values, rng=rng, draws=study.draws)
        behind = dict.fromkeys((network, *pair))  # of the pair those that are models
        row = Estimate(
            metric,
            float(values.mean()),
            arm=pair[0],
            second=pair[1],
            network=network,
            against=ORIGINAL if against is original else PEOPLE,
            items=len(values),
            p=p,
            test="sign-flip over items",
            source=source_text(
                labels=against.provenance,
                model=tuple(
                    step for name in behind if name in models for step in models[name].provenance
                ),
            ),
        )
        return with_interval(row, *ends, "items")

    close, others = "cross_entropy", [name for name in networks if name != BEST]
    return [
        *(apart(close, fit[ENSEMBLE] - fit[n], (ENSEMBLE, ONE), n, people) for n in networks),
        *(apart(close, fit[n] - fit[ORACLE], (ONE, ORACLE), n, people) for n in networks),
        *(apart(close, loss[n] - fit[n], (ORIGINAL, PEOPLE), n, original) for n in networks),
        *(apart("accuracy", right[BEST] - right[n], (BEST, ANOTHER), n, original) for n in others),
        *(apart(close, fit[BEST] - fit[n], (BEST, THREE), n, people) for n in CLOSEST),
    ]


# What judges are worth in people, on every set that people and judges spoke about.


def judges(data: StudyData, predictions: Predictions) -> Findings:
    """The worth of every judge alone, beside a person and together, with the usual numbers."""
    rows: list[Estimate] = []
    tables: dict[str, list[pl.DataFrame]] = {"worths": [], "scales": [], "usual": []}
    for name, judged in data.judged.items():
        found = worth(
            judged.people, judged.judges, epsilon=judged.epsilon, most=judged.most,
            clusters=judged.clusters, resamples=data.study.draws, seed=data.study.seed,
        )  # fmt: skip
        rows += [replace(row, part=name) for row in found.estimates]
        parts = {"worths": found.table, "scales": found.people, "usual": found.usual}
        for kind, table in parts.items():
            told = table.insert_column(0, pl.lit(name).alias("set"))
            tables[kind].append(told.with_columns(over=pl.lit(found.over)))
    return Findings(rows, {kind: pl.concat(parts) for kind, parts in tables.items() if parts})
