"""All commands under one name. Each parses its options, calls one function and prints."""

from typing import Annotated

import typer

from sfumato.cli.audit import audit
from sfumato.cli.check import check
from sfumato.cli.data import convert, data_app, describe
from sfumato.cli.elicit import elicit_app
from sfumato.cli.evaluate import evaluate
from sfumato.cli.images import ambiguous, mix
from sfumato.cli.label import label, simulate
from sfumato.cli.plan import plan
from sfumato.cli.run import report, results, run
from sfumato.cli.train import predict, train

app = typer.Typer(
    name="sfumato",
    help="Learn from the full distribution of human judgment.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(data_app, name="data", no_args_is_help=True)
app.add_typer(elicit_app, name="elicit", no_args_is_help=True)
app.command()(ambiguous)
app.command()(audit)
app.command()(evaluate)
app.command()(label)
app.command()(mix)
app.command()(plan)
app.command()(predict)
app.command()(run)
app.command()(report)
app.command()(results)
app.command()(simulate)
app.command()(train)
app.command()(describe)
app.command()(check)
app.command()(convert)


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Learn from the full distribution of human judgment."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(installed("sfumato"))
        raise typer.Exit
