"""``sfumato evaluate`` and ``cover``: hold stored predictions against people."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

import sfumato.cli.options as given
from sfumato.cli.options import check_output
from sfumato.cli.printing import (
    format_interval,
    notify,
    null_for_nan,
    print_json,
    print_leaderboard,
    print_line,
    print_table,
    progress,
)
from sfumato.errors import DataError, require_packages
from sfumato.names import format_count

if TYPE_CHECKING:
    from sfumato.evaluation.coverage import Coverage
    from sfumato.evaluation.models import Evaluation
    from sfumato.evaluation.predictions import Kind

PeoplesLabels = Annotated[Path, typer.Option("--labels", help="People's label distributions.")]
StoredPredictions = Annotated[
    list[str],
    typer.Option(
        "--predictions",
        metavar="[NAME=]FILE",
        help="A model's stored predictions; repeatable.",
    ),
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", help="Only this metric; repeatable.")
]
Strata = Annotated[
    list[str] | None,
    typer.Option("--stratum", help="Only this stratum, beside all items; repeatable."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="[NAME=]KIND",
        help="What the predictions are: probabilities, hard (one class per item) or logits.",
    ),
]
Ids = Annotated[
    Path | None,
    typer.Option("--ids", help="Text file with the ids of the rows of arrays, one per line."),
]
ItemColumn = Annotated[
    str | None, typer.Option("--item", help="The column of the items, where it is not 'item'.")
]
UnsharedName = Literal["auto", "leave-out", "zero", "error"]
UnsharedClasses = Annotated[
    UnsharedName,
    typer.Option("--unshared", help="What happens to classes that only one side has."),
]
Ensemble = Annotated[
    bool, typer.Option("--ensemble", help="Also score the mean of the given models.")
]
ScoresOutput = Annotated[
    Path | None, typer.Option("--output", "-o", help="Also write all scores (.parquet or .csv).")
]
ReportOutput = Annotated[
    Path | None, typer.Option("--report", metavar="FILE.html", help="Also draw one HTML page.")
]
OnePrediction = Annotated[
    Path, typer.Option("--predictions", help="A model's stored predictions, also of new items.")
]
Level = Annotated[
    float, typer.Option("--level", help="The share of people's answers that sets shall hold.")
]
ScoreName = Literal["probability", "adaptive"]
ScoreOption = Annotated[
    ScoreName,
    typer.Option("--score", help="What orders the classes: probability (small sets) or adaptive."),
]
Groups = Annotated[
    Path | None,
    typer.Option("--groups", help="A table item, group: coverage is also told by group."),
]
Splits = Annotated[int, typer.Option("--splits", help="How often the items are halved.")]
SetsOutput = Annotated[
    Path | None,
    typer.Option("--out", help="Write the sets of items without labels (.csv or .parquet)."),
]


def evaluate(
    labels: PeoplesLabels,
    predictions: StoredPredictions,
    original: given.Original = None,
    metric: Metrics = None,
    stratum: Strata = None,
    kind: Kinds = None,
    logits: given.Logits = False,
    ensemble: Ensemble = False,
    shared_items: given.SharedItems = False,
    unshared: UnsharedClasses = "auto",
    classes: given.Classes = None,
    item: ItemColumn = None,
    ids: Ids = None,
    draws: given.Draws = 1000,
    seed: given.Seed = 0,
    output: ScoresOutput = None,
    report: ReportOutput = None,
    text: Annotated[
        Path | None,
        typer.Option("--text", metavar="FILE", help="Texts of the items, for the report."),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", help="Folder or zip of the items' pictures.")
    ] = None,
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """Every metric on stored predictions, by stratum, with floors and intervals."""
    from sfumato.evaluation import models
    from sfumato.judgments.formats.reading import read_classes

    check_output(output, (".parquet", ".csv"), what="Scores are", overwrite=overwrite)
    check_output(report, (".html",), what="The report is", overwrite=overwrite)
    if report is not None:
        require_packages("Drawing a report", "matplotlib", "jinja2")
    elif text is not None or pictures is not None:
        raise typer.BadParameter("--text and --pictures are shown on the page of --report.")
    sources = _sources(predictions, ids)
    with progress("Scoring") as advance, _options_named():
        done = models.evaluate(
            labels,
            sources,
            original=original,
            metrics=metric or None,
            strata=stratum or models.STRATA,
            classes=None if classes is None else read_classes(classes),
            kind=_kinds(kind or [], logits, sources),
            item=item,
            missing="leave out" if shared_items else "error",
            unshared="leave out" if unshared == "leave-out" else unshared,
            ensemble=ensemble,
            draws=draws,
            seed=seed,
            advance=advance,
        )
    for remark in done.remarks:
        notify(remark)
    if output is not None:
        done.write(output)
    if report is not None:
        _draw(done, report, text, pictures)
    found = null_for_nan(_found(labels, done))
    if as_json:
        print_json(found)
        return
    _print_evaluation(found, metric or [])
    if output is not None:
        typer.echo(f"\nWrote {len(done):,} scores to {output}.")
    if report is not None:
        typer.echo(f"Report: {report}")


def _sources(texts: Sequence[str], ids: Path | None) -> dict[str, Any]:
    """The models by name; arrays with the ids of their rows."""
    from sfumato.evaluation.models import ENSEMBLE
    from sfumato.studies.audit_sources import named_predictions

    pairs = named_predictions(texts)
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"Two models are called {name!r}; give them names: NAME=FILE.")
    if ENSEMBLE in names and len(names) > 1:
        raise DataError(f"A model is called {ENSEMBLE!r} as the mean of all; name it: NAME=FILE.")
    if ids is None:
        return dict(pairs)
    rows = _read_ids(ids)
    arrays = (".npy", ".npz")
    return {name: (path, rows) if path.suffix in arrays else path for name, path in pairs}


def _read_ids(path: Path) -> list[str]:
    from sfumato.judgments.formats.reading import open_text

    with open_text(path) as file:
        return [line.strip() for line in file if line.strip()]


def _kinds(texts: Sequence[str], logits: bool, sources: Mapping[str, Any]) -> "dict[str, Kind]":
    """What each model's numbers are; a kind without a name is that of all."""
    from sfumato.evaluation.predictions import Kind
    from sfumato.names import find

    known: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
    found = dict.fromkeys(sources, known["logits" if logits else "probabilities"])
    for text in sorted(texts, key=lambda text: "=" in text):  # names come after all
        name, _, kind = text.rpartition("=")
        chosen = find(known, kind, what="kind of predictions")
        for arm in [name] if name else list(sources):
            find(sources, arm, what="model")
            found[arm] = chosen
    return found


@contextmanager
def _options_named() -> Iterator[None]:
    """Say which option is the remedy, where the library says what it is."""
    from sfumato.evaluation.models import UnsharedClasses
    from sfumato.evaluation.predictions import WrongKind
    from sfumato.evaluation.score import MissingPredictions

    try:
        yield
    except WrongKind as error:
        raise DataError(f"{error} Options: --logits, --kind hard.") from None
    except MissingPredictions as error:
        raise DataError(f"{error} Option: --shared-items.") from None
    except UnsharedClasses as error:
        raise DataError(f"{error} Option: --unshared.") from None


def _draw(done: "Evaluation", report: Path, text: Path | None, pictures: Path | None) -> None:
    from sfumato.reporting.evaluation import report_evaluation

    title = f"Evaluation of {', '.join(done.models)}"
    report_evaluation(done, report, title=title, text=text, pictures=pictures)


def _found(labels: Path, done: "Evaluation") -> dict[str, Any]:
    """What is printed, as plain numbers."""
    from sfumato.evaluation.score import leaderboard_table

    scores = list(done.scores)
    return {
        "labels": labels.name,
        "simulated": any(score.simulated for score in scores),
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
            for score in scores
        ],
        "leaderboard": leaderboard_table(list(done.places)).to_dicts() if done.places else [],
        "remarks": list(done.remarks),
    }


def _print_evaluation(found: Mapping[str, Any], asked: Sequence[str]) -> None:
    """The scores of one model, or the leaderboard of several and what else was asked for."""
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
    if found["leaderboard"]:
        print_leaderboard(found["leaderboard"])
    _print_asked(arms, scores, asked, ranked=bool(found["leaderboard"]))
    for score in whole:
        if score["metric"] in ("entropy_floor", "class_oracle"):
            line = format_interval(score["value"], score["low"], score["high"])
            note = f" ({score['note']})" if score["note"] else ""
            print_line(f"{score['metric']}: {line}{note}")
    print_line(f"{format_count(len(scores), 'score')} in all: --json prints them, -o writes them.")


def _print_asked(
    arms: Sequence[str], scores: Sequence[Mapping[str, Any]], asked: Sequence[str], *, ranked: bool
) -> None:
    """Every metric that was asked for, model by model; without those of the leaderboard."""
    shown = ("cross_entropy", "accuracy") if ranked else ()
    names = [name for name in asked if name not in (*shown, "entropy_floor", "class_oracle")]
    wanted = {f"{name}{ending}" for name in names for ending in ("", "_majority", "_original")}
    strata = list(dict.fromkeys(score["stratum"] for score in scores))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for score in scores:
        if score["metric"] in wanted:
            value = format_interval(score["value"], score["low"], score["high"])
            cells.setdefault((score["metric"], score["arm"]), {})[score["stratum"]] = value
    rows = [
        (metric, arm, *(cells[metric, arm].get(stratum, "–") for stratum in strata))
        for metric in dict.fromkeys(metric for metric, _ in cells)
        for arm in arms
    ]
    print_table(
        "What was asked for, with 95 % intervals over items", ("metric", "model", *strata), rows
    )


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


def cover(
    labels: PeoplesLabels,
    predictions: OnePrediction,
    level: Level = 0.9,
    score: ScoreOption = "probability",
    groups: Groups = None,
    classes: given.Classes = None,
    item: ItemColumn = None,
    splits: Splits = 100,
    draws: given.Draws = 1000,
    seed: given.Seed = 0,
    out: SetsOutput = None,
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """Sets of classes that hold what people answer, as often as you ask for."""
    from sfumato.evaluation import coverage
    from sfumato.judgments.formats.reading import read_classes

    check_output(out, (".parquet", ".csv"), what="Sets are", overwrite=overwrite)
    with _options_named():
        found = coverage.cover(
            labels,
            predictions,
            level=level,
            score=score,
            groups=None if groups is None else coverage.read_groups(groups),
            classes=None if classes is None else read_classes(classes),
            item=item,
            splits=splits,
            draws=draws,
            seed=seed,
        )
    for remark in found.remarks:
        notify(remark)
    if out is not None:
        found.write_sets(out)
    if as_json:
        print_json(null_for_nan(found.to_json()))
        return
    _print_coverage(found)
    if out is not None:
        print_line(f"Wrote the sets of {format_count(len(found.sets), 'item')} to {out}.")


def _print_coverage(found: "Coverage") -> None:
    told = found.to_json()
    print_line(
        f"{told['coverage']:.1%} of people's answers are in the sets of held-out items "
        f"[{told['low']:.1%}, {told['high']:.1%}], asked for {told['level']:.0%}."
    )
    print_line(
        f"A set holds {told['size']:.2f} of {told['classes']} classes; "
        f"{told['empty']:.1%} of the sets are empty."
    )
    print_line(
        f"Calibrated on majority labels, sets would hold {told['majority']['coverage']:.1%} of "
        f"people's answers ({told['majority']['size']:.2f} classes)."
    )
    rows = [
        (
            row["stratum"],
            f"{row['items']:,}",
            format_interval(row["value"], row["low"], row["high"]),
        )
        for row in told["strata"]
    ]
    print_table("Coverage of people's answers", ("where", "items", "share"), rows)
