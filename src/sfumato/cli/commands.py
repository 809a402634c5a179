"""The commands. Each parses its options, calls one function of the library and prints."""

from typing import Annotated

import typer

import sfumato.cli.options as given
from sfumato.cli.images import ambiguous
from sfumato.cli.audit import audit
from sfumato.cli.elicit import elicit_app
from sfumato.cli.evaluate import evaluate
from sfumato.cli.label import label
from sfumato.cli.images import mix
from sfumato.cli.plan import plan
from sfumato.cli.printing import print_result
from sfumato.cli.printing import progress
from sfumato.cli.reading import quality_rules, read_any, read_options
from sfumato.cli.run import report, results, run
from sfumato.cli.label import simulate
from sfumato.errors import DataError

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
app.command()(label)
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

    import sfumato.cli.printing as show
    from sfumato.judgments.judgments import Judgments
    from sfumato.labels.describe import describe as describe_judgments
    from sfumato.labels.describe import describe_other, score_aggregators

    found = read_any(file, format_, read_options(classes, question, key), strict)
    if not isinstance(found, Judgments):
        print_result(describe_other(found), as_json, show.other)
        return
    rng = np.random.default_rng(seed)
    description = describe_judgments(found, rules=quality_rules(rules), rng=rng)
    if compare:
        with progress("Scoring aggregators"):
            description["aggregators"] = score_aggregators(found, rng=rng)
    print_result({"file": file.name, **description}, as_json, show.description)


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
    import sfumato.cli.printing as show
    from sfumato.data import listing

    print_result({"datasets": listing()}, as_json, show.datasets)


@data_app.command("get")
def data_get(
    name: given.DatasetName,
) -> None:
    """Fetch the files of a data set that are missing, and check them."""
    from sfumato.data import get, path

    with progress(f"Fetching {name}") as advance:
        fetched = get(name, advance)
    typer.echo(f"{name} is in {path(name)}. {fetched.note}")


@data_app.command("check")
def data_check(
    name: given.DatasetName,
    as_json: given.AsJson = False,
) -> None:
    """Compare the files of a data set with their checksums."""
    import sfumato.cli.printing as show
    from sfumato.data import check

    rows = check(name)
    print_result({"files": rows}, as_json, show.files)
    if any(row["state"] != "present" for row in rows):
        raise DataError(f"Some files of {name} are missing or changed (see above).")


@data_app.command("path")
def data_path(
    name: given.DatasetName,
) -> None:
    """Where the files of a data set are, or would be."""
    from sfumato.data import path

    typer.echo(str(path(name)))
