"""Score files: people's labels and any number of models' stored predictions, as one function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluate.leaderboard import Place, ensemble, leaderboard
from sfumato.evaluate.measured import Missing, join
from sfumato.evaluate.predictions import Scale, other_class_order, read_original, read_predictions
from sfumato.evaluate.score import evaluate
from sfumato.evaluate.strata import agreement_strata, disputed_thirds, strata_of
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import LabelSet
from sfumato.names import find
from sfumato.scores import Score

__all__ = ["ENSEMBLE", "STRATA", "Evaluated", "EvaluationSettings", "evaluate_files"]

ENSEMBLE = "ensemble"
"""The name of the models' mean."""

STRATA = ("unanimous", "disputed")
"""The strata that are scored beside "all" unless others are asked for."""

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class EvaluationSettings:
    """What is scored, and how; everything but the files."""

    metrics: tuple[str, ...] | None = None
    """Names of ``METRICS`` and of the reference lines; None for all."""
    strata: tuple[str, ...] = STRATA
    classes: tuple[str, ...] | None = None
    """The order of columns and class numbers that a file does not name."""
    scale: Scale = "probabilities"
    missing: Missing = "error"
    ensemble: bool = False
    """Whether the mean of the models is scored as one more."""
    draws: int = 1000
    seed: int = 0


@dataclass(frozen=True)
class Evaluated:
    """What ``evaluate_files`` found."""

    scores: list[Score]
    places: list[Place]
    """The leaderboard; empty for a single model."""
    remarks: list[str]
    """What a person should look at: sentences."""


def evaluate_files(
    labels: Path,
    predictions: Sequence[Path],
    *,
    original: Path | None = None,
    settings: EvaluationSettings,
    advance: Advance = lambda done, total: None,
) -> Evaluated:
    """Every score of every file of predictions against the labels, and who is closest to people."""
    human = read_labels(labels, classes=settings.classes)
    truth = None
    if original is not None:
        truth = read_original(original, classes=human.classes, unnamed=settings.classes)
        _joined(original, human, truth, "error")
    models = {
        name: read_predictions(
            path, classes=human.classes, unnamed=settings.classes, scale=settings.scale
        )
        for name, path in _arms(predictions).items()
    }
    for path, model in zip(predictions, models.values(), strict=True):
        human = _joined(path, human, model, settings.missing)
    remarks = [
        f"{path.name}: {doubt}"
        for path, model in zip(predictions, models.values(), strict=True)
        if _by_position(model, "classes") and (doubt := other_class_order(*join(human, model)))
    ]
    if settings.ensemble:
        models[ENSEMBLE] = ensemble({name: join(human, each)[1] for name, each in models.items()})
    strata = _chosen(settings.strata, human, truth)
    rng = np.random.default_rng(settings.seed)
    scores: list[Score] = []
    for done, (arm, model) in enumerate(models.items()):
        advance(done, len(models))
        scores += evaluate(
            human,
            model,
            original=truth,
            metrics=settings.metrics,
            strata=strata,
            arm=arm,
            rng=rng,
            draws=settings.draws,
        )
    places = []
    if len(models) > 1:
        places = leaderboard(human, models, original=truth, rng=rng, draws=settings.draws)
    return Evaluated(scores, places, remarks)


def _arms(predictions: Sequence[Path]) -> dict[str, Path]:
    """A name a file: its own, or with its folder where two files are called the same."""
    stems = [path.stem for path in predictions]
    named = {
        stem if stems.count(stem) == 1 else str(path.with_suffix("")): path
        for stem, path in zip(stems, predictions, strict=True)
    }
    if len(named) < len(predictions):
        twice = next(path for path in predictions if list(predictions).count(path) > 1)
        raise DataError(f"The predictions {twice} are given twice; give each file once.")
    if ENSEMBLE in named and len(named) > 1:
        raise DataError(f"{named[ENSEMBLE].name} is called as the mean of all; rename the file.")
    return named


def _joined(path: Path, human: LabelSet, model: LabelSet, missing: Missing) -> LabelSet:
    """The labels of the items that the file has; an error names the file."""
    try:
        return join(human, model, missing)[0]
    except DataError as error:
        hint = ""
        if _by_position(model, "items"):
            hint = " The file names no items, so its rows are taken as '0', '1', …; store 'items'."
        raise DataError(f"{path.name}: {error}{hint}") from None


def _by_position(model: LabelSet, what: str) -> bool:
    return model.provenance[-1].settings.get(what) == "by position"


def _chosen(
    names: Sequence[str], human: LabelSet, original: LabelSet | None
) -> dict[str, NDArray[np.bool_]]:
    known: Mapping[str, NDArray[np.bool_]] = {
        "all": np.ones(len(human), dtype=np.bool_),
        **strata_of(human),
        **disputed_thirds(human),
        **(agreement_strata(human, original) if original is not None else {}),
    }
    return {name: find(known, name, what="stratum") for name in names if name != "all"}
