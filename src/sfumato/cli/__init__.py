"""The command line, all commands under one name: each parses, calls one function, prints.

Nothing heavy is imported before a command runs, so that ``sfumato --help`` answers at once.
"""

import sys
from typing import Annotated

import typer

# As modules: functions of these names would hide the modules that they are in.
from sfumato.cli import audit, check, data, elicit, evaluate, images, label, plan, run
from sfumato.errors import SfumatoError

__all__ = ["app", "main"]

app = typer.Typer(
    name="sfumato",
    help="Learn from the full distribution of human judgment.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(data.data_app, name="data", no_args_is_help=True)
app.add_typer(elicit.elicit_app, name="elicit", no_args_is_help=True)
app.command()(images.ambiguous)
app.command()(audit.audit)
app.command()(evaluate.evaluate)
app.command()(label.label)
app.command()(images.mix)
app.command()(plan.plan)
app.command()(run.run)
app.command()(run.report)
app.command()(run.results)
app.command()(label.simulate)
app.command()(data.describe)
app.command()(data.convert)
app.command()(check.check)


@app.callback(invoke_without_command=True)
def start(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Learn from the full distribution of human judgment."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(installed("sfumato"))
        raise typer.Exit


def main() -> None:
    """Run the command line; a mistake in the input is one sentence and exit code 1."""
    try:
        app()
    except SfumatoError as error:
        sys.stderr.write(f"sfumato: {error}\n")
        raise SystemExit(1) from None
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stderr.close()
        raise SystemExit(0) from None
