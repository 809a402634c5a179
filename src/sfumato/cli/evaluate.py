"""``sfumato evaluate``: score stored predictions against people."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.printing import print_json
from sfumato.cli.printing import progress, notify
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.evaluation.predictions import Evaluated

__all__ = ["evaluate"]


def evaluate(
    labels: given.PeoplesLabels,
    predictions: given.StoredPredictions,
    original: given.Original = None,
    metric: given.Metrics = None,
    stratum: given.Strata = None,
    logits: given.Logits = False,
    ensemble: given.Ensemble = False,
    shared_items: given.SharedItems = False,
    classes: given.Classes = None,
    draws: given.Draws = 1000,
    seed: given.Seed = 0,
    output: given.ScoresOutput = None,
    as_json: given.AsJson = False,
) -> None:
    """Every metric on stored predictions, by stratum, with floors and intervals."""
    import sfumato.cli.printing as show
    from sfumato.evaluation.predictions import STRATA, EvaluationSettings, evaluate_files
    from sfumato.judgments.formats.reading import read_classes
    from sfumato.scores import Estimates

    _check_output(output)
    settings = EvaluationSettings(
        metrics=None if not metric else tuple(metric),
        strata=STRATA if not stratum else tuple(stratum),
        classes=None if classes is None else tuple(read_classes(classes)),
        scale="logits" if logits else "probabilities",
        missing="leave out" if shared_items else "error",
        ensemble=ensemble,
        draws=draws,
        seed=seed,
    )
    with progress("Scoring") as advance:
        done = evaluate_files(
            labels, predictions, original=original, settings=settings, advance=advance
        )
    for remark in done.remarks:
        notify(remark)
    if output is not None:
        Estimates.of(done.scores).write(output)
    found = _found(labels, done)
    if as_json:
        print_json(found)
    else:
        show.evaluation(found)
        if output is not None:
            typer.echo(f"\nWrote {len(done.scores):,} scores to {output}.")


def _check_output(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix not in (".parquet", ".csv"):
        raise DataError(f"Scores are written as .parquet or .csv, not as {path.name!r}.")
    if not path.parent.is_dir():
        raise DataError(f"There is no folder {path.parent} to write {path.name} into.")


def _found(labels: Path, done: "Evaluated") -> dict[str, Any]:
    """What is printed, as plain numbers; what is not a number is null."""
    from sfumato.evaluation.score import leaderboard_table

    return {
        "labels": labels.name,
        "simulated": any(score.simulated for score in done.scores),
        "scores": [
            {
                "arm": score.arm,
                # unique in a stratum: whoever reads "accuracy" gets that to people
                "metric": score.metric
                if score.against == "people"
                else f"{score.metric}_{score.against}",
                "stratum": score.stratum,
                "value": _finite(score.value),
                "low": _finite(score.low),
                "high": _finite(score.high),
                "items": score.items,
                "note": score.note,
            }
            for score in done.scores
        ],
        "leaderboard": _plain(leaderboard_table(done.places).to_dicts() if done.places else []),
        "remarks": done.remarks,
    }


def _plain(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: _finite(value) if isinstance(value, float) else value for name, value in row.items()}
        for row in rows
    ]


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) < float("inf") else None
