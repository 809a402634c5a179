"""The commands. Each parses its options, calls one function of the library and prints."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli import options as given
from sfumato.cli.ambiguous import ambiguous
from sfumato.cli.audit import audit
from sfumato.cli.elicit import elicit_app
from sfumato.cli.evaluate import evaluate
from sfumato.cli.mix import mix
from sfumato.cli.plan import plan
from sfumato.cli.progress import progress
from sfumato.cli.reading import assigned, read_any, read_judgments, read_options
from sfumato.cli.results import results
from sfumato.cli.run import report, run
from sfumato.cli.simulate import simulate
from sfumato.errors import DataError

if TYPE_CHECKING:
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
app.command()(ambiguous)
app.command()(audit)
app.command()(evaluate)
app.command()(mix)
app.command()(plan)
app.command()(run)
app.command()(report)
app.command()(results)
app.command()(simulate)


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

    found = read_any(file, format_, read_options(classes, question, key), strict)
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
    words: given.Words = None,
    distances: given.Distances = None,
    confusions: given.Confusions = None,
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
    from sfumato.labels.build.distances import confusion_distances, write_distances
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
    for path in (output, intervals, left_out, confusions):
        check_output(path or output)
    find(RECIPES, recipe, what="recipe")
    find({**AGGREGATORS, "auto": None}, aggregate or "mean", what="aggregator")
    settings = LabelSettings(
        recipe,
        gamma=gamma,
        rule=_reading(rule),
        vectors=vectors,
        words=words,
        distances=distances,
        keep=_names(keep),
        exclude=_rules(exclude),
        aggregate=aggregate or "mean",
        interval="default" if intervals else "none",
        seed=seed,
    )
    judgments = read_judgments(file, format_, read_options(classes, question, key), strict)
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
        if confusions:
            write_distances(confusion_distances(made.labels), confusions)
    summary = show.summary_of(judgments, made, per_annotator=per_annotator)
    _print({"written": str(output), **summary}, as_json, show.labelled)


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

    found = read_any(file, format_, read_options(classes, question, key), strict)
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


def _rules(text: str) -> "tuple[Rule, ...]":
    """Rules by name, settings after a colon: ``checks,too-fast:seconds=0.3:share=0.2``."""
    from sfumato.judgments.quality import rule_with

    found = []
    for part in _names(text):
        name, *settings = part.split(":")
        found.append(rule_with(name, **assigned(settings, what=f"the rule {name!r}")))
    return tuple(found)


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
