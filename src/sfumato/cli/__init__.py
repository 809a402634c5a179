"""The command line: parses, calls one function, prints.

Nothing heavy is imported before a command runs, so that ``sfumato --help`` answers at once.
"""

import errno
import re
import sys
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
from sfumato.errors import MissingDataset, SfumatoError, explain_missing
from sfumato.names import load_name

# Turn the many ways in which memory runs out into one sentence with what to do about it.


SIGNS = re.compile(
    r"not enough memory|out of memory|can(?:no|')t allocate memory|memory allocation of"
    r"|failed to map segment|capacity overflow",
    re.IGNORECASE,
)
"""What torch, polars and the loader of shared libraries say, none of which raises MemoryError."""
WHAT_TO_DO = (
    "Try a part of the items or a smaller setting (--per-item, --draws, --candidates, batch size), "
    "close other programs, or use a machine with more memory."
)


def explain_shortage(error: BaseException) -> str | None:
    """One sentence on what ran out and one on what helps; None if the error is of another kind.

    >>> print(explain_shortage(MemoryError("Unable to allocate 8.00 GiB for an array")))
    The memory of this machine ran out (Unable to allocate 8.00 GiB for an array). Try a part ...
    >>> explain_shortage(ValueError("no number"))
    """
    if not _is_shortage(error):
        return None
    first = str(error).strip().partition("\n")[0].rstrip(".")
    said = f" ({first})" if first else ""
    what = "the GPU" if "CUDA" in first else "this machine"
    return f"The memory of {what} ran out{said}. {WHAT_TO_DO}"


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, RuntimeError | ImportError) and bool(SIGNS.search(str(error)))


# All commands under one name, in the order of work, each loaded when it is asked for.


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


__all__ = ["main"]

INTERRUPTED = 130
"""What a shell expects of a program that was stopped with Ctrl-C."""


def main() -> None:
    """Run the command line; a mistake in the input is one sentence and exit code 1."""
    try:
        app()
    except MissingDataset as error:
        _end(f"{error} `sfumato data get {error.dataset}` fetches it or says how to make it.")
    except SfumatoError as error:
        _end(str(error))
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stderr.close()
        raise SystemExit(0) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        sentence = _explain(error)
        if sentence is None:  # our own mistake: the traceback says where
            raise
        _end(sentence)


def _end(sentence: str) -> None:
    sys.stderr.write(f"sfumato: {sentence}\n")
    raise SystemExit(1) from None


def _explain(error: Exception) -> str | None:
    """What to do about an error that no line of ours raised; None where it is our mistake."""

    if isinstance(error, ModuleNotFoundError):
        missing = explain_missing(error, f"`{_command()}`")
        return None if missing is None else str(missing)
    shortage = explain_shortage(error)
    if shortage is not None:
        return shortage
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return None


def _command() -> str:
    """The command that was typed, without its options."""

    typed = [word for word in sys.argv[1:] if word in COMMANDS]
    return " ".join(["sfumato", *typed[:1]])
