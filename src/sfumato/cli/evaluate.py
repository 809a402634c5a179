"""``sfumato evaluate``: score stored predictions against people."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.printing import (
    format_count,
    format_interval,
    notify,
    null_for_nan,
    print_json,
    print_leaderboard,
    print_line,
    print_table,
    progress,
)
from sfumato.cli.writing import refuse_existing
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.evaluation.predictions import FileEvaluation

PeoplesLabels = Annotated[Path, typer.Option("--labels", help="People's label distributions.")]
StoredPredictions = Annotated[
    list[Path],
    typer.Option("--predictions", help="A model's stored predictions; repeatable."),
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", help="Only this metric; repeatable.")
]
Strata = Annotated[
    list[str] | None,
    typer.Option("--stratum", help="Only this stratum, beside all items; repeatable."),
]
Ensemble = Annotated[
    bool, typer.Option("--ensemble", help="Also score the mean of the given models.")
]
ScoresOutput = Annotated[
    Path | None, typer.Option("--output", "-o", help="Also write all scores (.parquet or .csv).")
]


def evaluate(
    labels: PeoplesLabels,
    predictions: StoredPredictions,
    original: given.Original = None,
    metric: Metrics = None,
    stratum: Strata = None,
    logits: given.Logits = False,
    ensemble: Ensemble = False,
    shared_items: given.SharedItems = False,
    classes: given.Classes = None,
    draws: given.Draws = 1000,
    seed: given.Seed = 0,
    output: ScoresOutput = None,
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """Every metric on stored predictions, by stratum, with floors and intervals."""
    from sfumato.evaluation.predictions import STRATA, EvaluationSettings, evaluate_files
    from sfumato.judgments.formats.reading import read_classes
    from sfumato.scores import Estimates

    _check_output(output)
    refuse_existing(output, overwrite=overwrite)
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
    found = null_for_nan(_found(labels, done))
    if as_json:
        print_json(found)
    else:
        _print_evaluation(found)
        if output is not None:
            typer.echo(f"\nWrote {len(done.scores):,} scores to {output}.")


def _check_output(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix not in (".parquet", ".csv"):
        raise DataError(f"Scores are written as .parquet or .csv, not as {path.name!r}.")
    if not path.parent.is_dir():
        raise DataError(f"There is no folder {path.parent} to write {path.name} into.")


def _found(labels: Path, done: "FileEvaluation") -> dict[str, Any]:
    """What is printed, as plain numbers."""
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
                "value": score.value,
                "low": score.low,
                "high": score.high,
                "items": score.items,
                "note": score.note,
            }
            for score in done.scores
        ],
        "leaderboard": leaderboard_table(done.places).to_dicts() if done.places else [],
        "remarks": done.remarks,
    }


def _print_evaluation(found: Mapping[str, Any]) -> None:
    """The scores of one model, or the leaderboard of several."""
    scores = found["scores"]
    arms = list(dict.fromkeys(score["arm"] for score in scores))
    whole = [score for score in scores if score["stratum"] == "all" and score["arm"] == arms[0]]
    mark = " (SIMULATED people or models)" if found["simulated"] else ""
    print_line(
        f"{found['labels']}: people's labels of {format_count(whole[0]['items'], 'item')}{mark}"
    )
    if len(arms) == 1:
        _scores(arms[0], scores)
        return
    print_leaderboard(found["leaderboard"])
    for score in whole:
        if score["metric"] in ("entropy_floor", "class_oracle"):
            line = format_interval(score["value"], score["low"], score["high"])
            note = f" ({score['note']})" if score["note"] else ""
            print_line(f"{score['metric']}: {line}{note}")
    print_line(f"{format_count(len(scores), 'score')} in all: --json prints them, -o writes them.")


def _scores(arm: str, scores: Sequence[Mapping[str, Any]]) -> None:
    strata = list(dict.fromkeys(score["stratum"] for score in scores))
    cells: dict[str, dict[str, str]] = {}
    for score in scores:
        shown = format_interval(score["value"], score["low"], score["high"])
        cells.setdefault(score["metric"], {})[score["stratum"]] = shown
    rows = [(name, *(row[stratum] for stratum in strata)) for name, row in cells.items()]
    print_table(f"{arm}, with 95 % intervals over items", ("metric", *strata), rows)
    notes: dict[str, list[str]] = {}
    for score in scores:
        if score["note"]:
            notes.setdefault(f"{score['metric']}: {score['note']}", []).append(score["stratum"])
    for note, places in notes.items():
        print_line(f"{note} ({', '.join(places)})")
