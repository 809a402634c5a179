"""The options that several files of commands take; what one command alone takes stands there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of judgments.")]
Format = Annotated[
    str | None,
    typer.Option("--format", help="What kind of file it is, where it is not to be guessed."),
]
Engine = Annotated[
    Literal["local", "dask"],
    typer.Option("--engine", help="Read the parts of a folder here, or on a Dask cluster."),
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", help="Address of the cluster's scheduler.")
]
Item = Annotated[str | None, typer.Option("--item", help="The column that names the item.")]
Annotator = Annotated[
    str | None, typer.Option("--annotator", help="The column that names the person.")
]
Answer = Annotated[str | None, typer.Option("--answer", help="The column that holds the answer.")]
At = Annotated[str | None, typer.Option("--at", help="The column with the time of the answer.")]
Seconds = Annotated[
    str | None, typer.Option("--seconds", help="The column that says how long it took.")
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="What separates fields: ; or semicolon, tab, pipe."),
]
Rename = Annotated[
    list[str] | None,
    typer.Option(
        "--rename", metavar="FILE|a=b", help="Call class a b; or a file of such lines; repeatable."
    ),
]
Casefold = Annotated[
    bool, typer.Option("--casefold", help="Classes that differ in capitals only are one.")
]
Classes = Annotated[
    Path | None,
    typer.Option("--classes", help="Text file with the classes in order, one per line."),
]
QuestionKind = Annotated[
    str | None,
    typer.Option("--question", help="What was asked: a kind, or a .json file of a question."),
]
Strict = Annotated[bool, typer.Option("--strict", help="A malformed row is an error.")]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="SFUMATO_KEY",
        help="Secret of the study: the same key gives the same pseudonyms.",
        show_envvar=True,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No remarks and no progress; results and errors only.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Original = Annotated[
    Path | None, typer.Option("--original", help="The dataset's own (hard) labels.")
]
Draws = Annotated[int, typer.Option("--draws", help="How often items are resampled.")]
Logits = Annotated[
    bool, typer.Option("--logits", help="The predictions are scores before the softmax.")
]
SharedItems = Annotated[
    bool, typer.Option("--shared-items", help="Leave out items without a prediction.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist already.")]


Weights = Annotated[
    Path | None,
    typer.Option("--weights", help="Table annotator,weight: how much each annotator counts."),
]
Gold = Annotated[
    Path | None,
    typer.Option("--gold", help="Table item,truth: items whose true label is known."),
]
InitialConfusions = Annotated[
    Path | None,
    typer.Option(
        "--initial-confusions",
        help="Table annotator,true,said,count: how people answered before (dawid-skene).",
    ),
]
AggregatorSettings = Annotated[
    list[str] | None,
    typer.Option("--set", help="An option of the aggregator, as name=value; repeatable."),
]


@dataclass(frozen=True)
class TableOptions:
    """How a table of answers is to be read; a command that takes one has each as an option."""

    item: Item = None
    annotator: Annotator = None
    answer: Answer = None
    at: At = None
    seconds: Seconds = None
    delimiter: Delimiter = None
    rename: Rename = None
    casefold: Casefold = False


@dataclass(frozen=True)
class AggregatorOptions:
    """What an aggregator is told; a command that takes one has each as an option."""

    weights: Weights = None
    gold: Gold = None
    initial_confusions: InitialConfusions = None
    settings: AggregatorSettings = None


GATHERED = (TableOptions, AggregatorOptions)
"""Options that commands take together."""
