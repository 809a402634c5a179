"""The commands. Each parses its options, calls one function of the library and prints."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli import options as given
from sfumato.cli.audit import audit
from sfumato.cli.elicit import elicit_app
from sfumato.cli.evaluate import evaluate
from sfumato.cli.plan import plan
from sfumato.cli.progress import progress, say
from sfumato.cli.run import report, run
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.judgments.formats import Readable
    from sfumato.judgments.formats.reading import ReadOptions
    from sfumato.judgments.judgments import Judgments
    from sfumato.judgments.quality import Rule

__all__ = ["app"]

app = typer.Typer(
    name="sfumato",
    help="Learn from the full distribution of human judgment.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(help="Data sets: where from, licence, checksum, what is here.")
app.add_typer(data_app, name="data", no_args_is_help=True)
app.add_typer(elicit_app, name="elicit", no_args_is_help=True)
app.command()(audit)
app.command()(evaluate)
app.command()(plan)
app.command()(run)
app.command()(report)


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Learn from the full distribution of human judgment."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(installed("sfumato"))
        raise typer.Exit


@app.command()
def describe(
    file: given.File,
    format_: given.Format = "sfumato",
    classes: given.Classes = None,
    question: given.QuestionKind = None,
    rules: given.WhatIf = "",
    compare: given.CompareAggregators = False,
    strict: given.Strict = False,
    key: given.Key = None,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> None:
    """What was collected: people, times, agreement, repeats, oddities, exclusions."""
    import numpy as np

    from sfumato.cli import show
    from sfumato.judgments.judgments import Judgments
    from sfumato.labels.describe import describe as describe_judgments
    from sfumato.labels.describe import describe_other, score_aggregators

    found = _read(file, format_, _options(classes, question, key), strict)
    if not isinstance(found, Judgments):
        _print(describe_other(found), as_json, show.other)
        return
    rng = np.random.default_rng(seed)
    description = describe_judgments(found, rules=_rules(rules), rng=rng)
    if compare:
        with progress("Scoring aggregators"):
            description["aggregators"] = score_aggregators(found, rng=rng)
    _print({"file": file.name, **description}, as_json, show.description)


@app.command()
def label(
    file: given.File,
    recipe: given.Recipe,
    output: given.LabelOutput,
    format_: given.Format = "sfumato",
    gamma: given.Gamma = None,
    rule: given.Reading = None,
    vectors: given.Vectors = None,
    keep: given.Keep = "",
    exclude: given.Exclude = "",
    per_annotator: given.PerAnnotator = False,
    aggregate: given.Aggregate = None,
    predictions: given.Predictions = None,
    intervals: given.Intervals = None,
    left_out: given.LeftOut = None,
    classes: given.Classes = None,
    question: given.QuestionKind = None,
    strict: given.Strict = False,
    key: given.Key = None,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> None:
    """Turn judgments into label distributions."""
    from sfumato.cli import show
    from sfumato.labels.aggregate import AGGREGATORS
    from sfumato.labels.build import RECIPES
    from sfumato.labels.files import check_output, read_labels, write_labels, write_table
    from sfumato.labels.make import (
        LabelSettings,
        everything_left_out,
        interval_table,
        make_labels,
    )
    from sfumato.names import find

    if per_annotator and aggregate:
        raise typer.BadParameter("--per-annotator and --aggregate exclude each other.")
    if per_annotator and intervals:
        raise typer.BadParameter("--per-annotator has nothing to give --intervals of.")
    for path in (output, intervals, left_out):
        check_output(path or output)
    find(RECIPES, recipe, what="recipe")
    find({**AGGREGATORS, "auto": None}, aggregate or "mean", what="aggregator")
    settings = LabelSettings(
        recipe,
        gamma=gamma,
        rule=_reading(rule),
        vectors=vectors,
        keep=_names(keep),
        exclude=_rules(exclude),
        aggregate=aggregate or "mean",
        interval="default" if intervals else "none",
        seed=seed,
    )
    judgments = _read_judgments(file, format_, _options(classes, question, key), strict)
    model = None
    if predictions is not None:
        model = read_labels(predictions, classes=judgments.question.classes)
    with progress("Labelling"):
        made = make_labels(judgments, settings, predictions=model)
    with progress("Writing"):
        write_labels(made.crowd if per_annotator else made.labels, output)
        if intervals:
            write_table(interval_table(made.aggregation), intervals)
        if left_out:
            write_table(everything_left_out(judgments, made), left_out)
    summary = show.summary_of(judgments, made, per_annotator=per_annotator)
    _print({"written": str(output), **summary}, as_json, show.labelled)


@app.command()
def simulate(
    kind: given.SimulatorName,
    labels: given.SeenLabels,
    output: given.AnswersOutput,
    per_item: given.PerItem = 6,
    people: given.People = None,
    settings: given.Parameters = None,
    fit: given.FitTo = None,
    format_: given.Format = "sfumato",
    model: given.SavedModel = None,
    save_model: given.SaveModel = None,
    classes: given.Classes = None,
    key: given.Key = None,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> None:
    """Simulated annotators, fitted to real ones or by parameters."""
    import numpy as np

    from sfumato.cli import show
    from sfumato.judgments.formats import write
    from sfumato.labels.files import read_labels
    from sfumato.labels.simulate.run import SimulationSettings, run_simulation

    if fit and model:
        raise typer.BadParameter("--fit and --model exclude each other.")
    options = _options(classes, None, key)
    simulation = SimulationSettings(
        kind,
        per_item=per_item,
        annotators=people,
        parameters=_assigned(settings or [], what=f"the simulator {kind!r}"),
        model=model,
        save_model=save_model,
    )
    seen = read_labels(labels, classes=options.classes)
    real = None if fit is None else _read_judgments(fit, format_, options, strict=False)
    made = run_simulation(simulation, seen, real=real, rng=np.random.default_rng(seed))
    write(made.answers, output, made.format)
    _print({"written": str(output), **made.summary()}, as_json, show.simulated)


@app.command()
def convert(
    file: given.File,
    output: given.AnyOutput,
    to: given.ToFormat,
    format_: given.Format = "sfumato",
    classes: given.Classes = None,
    question: given.QuestionKind = None,
    strict: given.Strict = False,
    key: given.Key = None,
) -> None:
    """Read judgments in one format and write them in another."""
    from sfumato.judgments.formats import write

    found = _read(file, format_, _options(classes, question, key), strict)
    write(found, output, to)
    typer.echo(f"Wrote {len(found):,} judgments to {output}.")


@data_app.command("list")
def data_list(as_json: given.AsJson = False) -> None:
    """The data sets, with their licences and whether they are here."""
    from sfumato.cli import show
    from sfumato.data import list_datasets

    _print({"datasets": list_datasets()}, as_json, show.datasets)


@data_app.command("get")
def data_get(
    name: given.DatasetName,
) -> None:
    """Fetch the files of a data set that are missing, and check them."""
    from sfumato.data import get, path_of

    with progress(f"Fetching {name}") as advance:
        fetched = get(name, advance)
    typer.echo(f"{name} is in {path_of(name)}. {fetched.note}")


@data_app.command("check")
def data_check(
    name: given.DatasetName,
    as_json: given.AsJson = False,
) -> None:
    """Compare the files of a data set with their checksums."""
    from sfumato.cli import show
    from sfumato.data import check

    rows = check(name)
    _print({"files": rows}, as_json, show.files)
    if any(row["state"] != "present" for row in rows):
        raise DataError(f"Some files of {name} are missing or changed (see above).")


@data_app.command("path")
def data_path(
    name: given.DatasetName,
) -> None:
    """Where the files of a data set are, or would be."""
    from sfumato.data import path_of

    typer.echo(str(path_of(name)))


def _read(file: Path, format_: str, options: "ReadOptions", strict: bool) -> "Readable":
    from dataclasses import replace

    from sfumato.judgments.formats import read
    from sfumato.judgments.formats import strict as refuse_rejected

    with progress(f"Reading {file.name}") as advance:
        found = read(file, format_, replace(options, progress=advance))
    if strict:
        refuse_rejected(found)
    if found.rejected:
        say(
            f"Rows set aside: {len(found.rejected):,}, the first in {found.rejected[0]}. "
            "`sfumato describe` lists the reasons; --strict makes this an error."
        )
    return found


def _read_judgments(file: Path, format_: str, options: "ReadOptions", strict: bool) -> "Judgments":
    from sfumato.judgments.judgments import Judgments

    found = _read(file, format_, options, strict)
    if not isinstance(found, Judgments):
        raise DataError(
            f"{file.name} holds {type(found).__name__}, which are not about the classes of single "
            "items; labels are made from judgments."
        )
    return found


def _options(classes: Path | None, question: str | None, key: str | None) -> "ReadOptions":
    from sfumato.cli.key import study_key
    from sfumato.judgments.formats.reading import ReadOptions, read_classes

    named = None if classes is None else read_classes(classes)
    return ReadOptions(classes=named, question=question, key=lambda: study_key(key))


def _rules(text: str) -> "tuple[Rule, ...]":
    """Rules by name, settings after a colon: ``checks,too-fast:seconds=0.3:share=0.2``."""
    from sfumato.judgments.quality import rule_with

    found = []
    for part in _names(text):
        name, *settings = part.split(":")
        found.append(rule_with(name, **_assigned(settings, what=f"the rule {name!r}")))
    return tuple(found)


def _assigned(texts: list[str], *, what: str) -> dict[str, float]:
    values = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            values[name.strip()] = float(number)
        except ValueError:
            raise DataError(
                f"A setting of {what} is written name=number; found {text!r}."
            ) from None
    return values


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _reading(name: str | None) -> Literal["consistent", "released"] | None:
    from sfumato.names import find

    rules: dict[str, Literal["consistent", "released"]] = {
        "consistent": "consistent",
        "released": "released",
    }
    return None if name is None else find(rules, name, what="rule")


def _print(found: dict[str, Any], as_json: bool, show: Any) -> None:
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))
    else:
        show(found)
