"""All commands under one name, in the order of work, each loaded when it is asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import sfumato.cli.options as given
from sfumato.cli.help import CommandWithHelp, GroupWithHelp
from sfumato.cli.options import GATHERED
from sfumato.cli.printing import set_quiet
from sfumato.names import load_name


@dataclass(frozen=True)
class CommandEntry:
    """Where a command is, and what the list of commands says of it."""

    target: str
    """``module:name`` of a function, or of a ``typer.Typer`` that holds several."""
    part: str
    """The part of the work it belongs to: a heading of the list."""
    about: str


ASKING = "Ask people"
LABELLING = "From answers to labels"
LEARNING = "From labels to models"
STUDYING = "Studies and reports"
MAKING = "Data and images"

# The sentences stand here and not only in docstrings: a list of commands loads none of them.
COMMANDS: dict[str, CommandEntry] = {
    "plan": CommandEntry(
        "sfumato.cli.plan:plan",
        ASKING,
        "Which labels to collect, of how many people, at what cost.",
    ),
    "elicit": CommandEntry(
        "sfumato.cli.elicit:elicit_app", ASKING, "Make, run and end a collection of answers."
    ),
    "describe": CommandEntry(
        "sfumato.cli.data:describe",
        LABELLING,
        "What was collected: people, times, agreement, oddities.",
    ),
    "check": CommandEntry(
        "sfumato.cli.check:check", LABELLING, "Whether a file keeps to the format, for publishing."
    ),
    "label": CommandEntry(
        "sfumato.cli.label:label", LABELLING, "Turn people's answers into label distributions."
    ),
    "view": CommandEntry(
        "sfumato.cli.view:view",
        LABELLING,
        "Walk through items, answers and predictions on a page of this machine.",
    ),
    "simulate": CommandEntry(
        "sfumato.cli.label:simulate", LABELLING, "Answers of simulated annotators, marked as such."
    ),
    "train": CommandEntry(
        "sfumato.cli.train:train", LEARNING, "Train a network on items and people's labels."
    ),
    "predict": CommandEntry(
        "sfumato.cli.train:predict", LEARNING, "What a trained model believes about items."
    ),
    "evaluate": CommandEntry(
        "sfumato.cli.evaluate:evaluate", LEARNING, "Score stored predictions against people."
    ),
    "worth": CommandEntry(
        "sfumato.cli.worth:worth",
        LEARNING,
        "How many people a judge, a model or a form is worth.",
    ),
    "cover": CommandEntry(
        "sfumato.cli.evaluate:cover", LEARNING, "Make sets of classes that hold people's answers."
    ),
    "audit": CommandEntry(
        "sfumato.cli.audit:audit",
        LEARNING,
        "Duplicates, leakage, disputed items and wrong labels of a dataset.",
    ),
    "run": CommandEntry(
        "sfumato.cli.run:run", STUDYING, "Run a study end to end: labels, training, evaluation."
    ),
    "report": CommandEntry(
        "sfumato.cli.run:report", STUDYING, "Draw answers, or a finished run, as one page."
    ),
    "results": CommandEntry(
        "sfumato.cli.run:results", STUDYING, "Write finished runs as pages, with a scoreboard."
    ),
    "data": CommandEntry(
        "sfumato.cli.data:data_app", MAKING, "Known datasets: list, fetch, check, find."
    ),
    "convert": CommandEntry(
        "sfumato.cli.data:convert", MAKING, "Read answers in one format, write them in another."
    ),
    "mix": CommandEntry(
        "sfumato.cli.images:mix", MAKING, "Mix pairs of images of different classes."
    ),
    "ambiguous": CommandEntry(
        "sfumato.cli.images:ambiguous", MAKING, "Make synthetic ambiguous images with soft labels."
    ),
}


class LoadedCommands(Mapping[str, "TyperCommand | TyperGroup"]):
    """The commands by name; one is imported when it is taken out."""

    def __getitem__(self, name: str) -> "TyperCommand | TyperGroup":
        return load_command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class AllCommands(GroupWithHelp):
    """The program ``sfumato``: commands by the part of the work they belong to."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = LoadedCommands()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of work."""
        return list(COMMANDS)

    def parts(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """Names and sentences by the part of the work, without loading a command."""
        parts: dict[str, list[tuple[str, str]]] = {}
        for name, entry in COMMANDS.items():
            parts.setdefault(entry.part, []).append((name, entry.about))
        return parts


def load_command(name: str) -> "TyperCommand | TyperGroup":
    """Import a command, or a group of them, and make it ready to be parsed."""
    entry = COMMANDS[name]
    found = load_name(entry.target)
    holder = typer.Typer(
        name=name,
        help=entry.about,
        cls=GroupWithHelp,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
    )
    if isinstance(found, typer.Typer):
        for info in found.registered_commands:
            assert info.callback is not None
            holder.command(info.name, cls=CommandWithHelp)(with_shared_options(info.callback))
    else:
        holder.command(name, cls=CommandWithHelp)(with_shared_options(found))
    made = typer.main.get_command(holder)
    assert isinstance(made, TyperCommand | TyperGroup)
    return made


def with_shared_options(function: Callable[..., None]) -> Callable[..., None]:
    """The same command with ``--quiet``, and with the options of ``GATHERED`` one by one."""
    own = signature(function)
    taken = {
        name: each.annotation
        for name, each in own.parameters.items()
        if each.annotation in GATHERED
    }

    @wraps(function)
    def call(*, quiet: bool, **options: Any) -> None:
        if quiet:
            set_quiet(True)
        for name, kind in taken.items():
            options[name] = kind(**{field.name: options.pop(field.name) for field in fields(kind)})
        function(**options)

    parameters = list(_spread(own.parameters.values()))
    call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _spread(parameters: Iterable[Parameter]) -> Iterator[Parameter]:
    """The parameters in their order, those of ``GATHERED`` in its place, and ``quiet``."""
    by_name = Parameter.KEYWORD_ONLY
    for parameter in parameters:
        if parameter.annotation in GATHERED:
            for field in fields(parameter.annotation):
                yield Parameter(field.name, by_name, default=field.default, annotation=field.type)
        else:
            yield parameter
    yield Parameter("quiet", by_name, default=False, annotation=given.Quiet)


app = typer.Typer(
    name="sfumato",
    cls=AllCommands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def start(
    quiet: given.Quiet = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Learn from the full distribution of human judgment.

    Every command says with -h what goes in, what comes out, and an example.
    """
    set_quiet(quiet)
    if version:
        from importlib.metadata import version as installed

        typer.echo(installed("sfumato"))
        raise typer.Exit
