"""The options that several commands take, and the files and names that are read from them."""

import os
import secrets
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfumato.cli.printing import notify, progress
from sfumato.errors import DataError

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


# Read the files and options that several commands take.
#
# The secret under which platform worker ids become pseudonyms is given by ``--key`` or
# ``SFUMATO_KEY``; otherwise one is drawn when first needed and kept in the user's configuration
# folder, readable only by them, so that pseudonyms stay the same from one import to the next and
# nobody else can test a guess.


MOST_JOINS = 10
"""So many pairs of similar classes are told."""

if TYPE_CHECKING:
    from sfumato.judgments.formats import Readable
    from sfumato.judgments.formats.reading import ReadOptions
    from sfumato.judgments.judgments import Judgments, RejectedRow, Remark
    from sfumato.judgments.quality import Rule
    from sfumato.judgments.question import Question


def read_any(
    file: Path, format_: str | None, options: "ReadOptions", strict: bool, *, tell: bool = True
) -> "Readable":
    """What a file holds; says how many rows were set aside, if it shall ``tell`` it."""
    from sfumato.judgments.formats import read
    from sfumato.judgments.formats import strict as refuse_rejected

    with progress(f"Reading {file.name}") as advance, explain_unclear():
        found = read(file, format_, replace(options, progress=advance))
    if strict:
        refuse_rejected(found)
    if tell:
        _tell_rejected(found.rejected)
    return found


def _tell_rejected(rejected: "Sequence[RejectedRow]") -> None:
    if rejected:
        notify(
            f"Rows set aside: {len(rejected):,}, the first in {rejected[0]}. "
            "`sfumato describe` lists the reasons; --strict makes this an error."
        )


@contextmanager
def explain_unclear() -> Iterator[None]:
    """Where something is unclear, the options that would settle it stand behind the sentence."""
    from sfumato.judgments.formats.reading import UnclearSource

    try:
        yield
    except UnclearSource as error:
        named = ", ".join(f"--{name}" for name in error.options)
        raise DataError(f"{error} ({named})") from None


def tell_guesses(found: "Readable", format_: str | None) -> None:
    """What was guessed about a file, and how to join classes that may be one."""
    from sfumato.judgments.formats import class_counts
    from sfumato.judgments.judgments import Judgments

    if format_ is None:
        _tell_remarks(found.remarks)
    if isinstance(found, Judgments):
        tell_joins(class_counts(found))


@dataclass(frozen=True)
class ReadShare:
    """What there is to tell about one share of the items, without its answers."""

    rejected: "tuple[RejectedRow, ...]"
    remarks: "tuple[Remark, ...]"
    question: "Question"
    classes: Mapping[str, int]

    @classmethod
    def of(cls, judgments: "Judgments") -> "ReadShare":
        """What reading these judgments found."""
        from sfumato.judgments.formats import class_counts

        counts = class_counts(judgments)
        return cls(judgments.rejected, judgments.remarks, judgments.question, counts)


def tell_shares(shares: Sequence[ReadShare], format_: str | None) -> None:
    """What ``read_any`` and ``tell_guesses`` tell, once for all shares of a folder.

    A remark with the same count in every share is about the folder; otherwise it is about rows.
    """
    from sfumato.judgments.formats import look_at_classes

    rejected = [row for share in shares for row in share.rejected]
    _tell_rejected(sorted(rejected, key=lambda row: (row.file, row.line)))
    counts: dict[str, int] = {}
    for name, count in (pair for share in shares for pair in share.classes.items()):
        counts[name] = counts.get(name, 0) + count
    if format_ is None:
        remarks: dict[str, list[Remark]] = {}
        for remark in (remark for share in shares for remark in share.remarks):
            remarks.setdefault(remark.what, []).append(remark)
        joined = [_join_remarks(same, len(shares)) for same in remarks.values()]
        _tell_remarks([*joined, *look_at_classes(shares[0].question, counts)])
    tell_joins(counts)


def _join_remarks(same: "Sequence[Remark]", shares: int) -> "Remark":
    counts = [remark.count for remark in same]
    of_folder = len(counts) == shares and len({*counts}) == 1
    return replace(same[0], count=counts[0] if of_folder else sum(counts))


def _tell_remarks(remarks: "Sequence[Remark]") -> None:
    for remark in remarks:
        example = f" ({remark.example})" if remark.example else ""
        notify(f"{remark.what}: {remark.count:,}{example}")


def tell_joins(classes: Mapping[str, int]) -> None:
    """The options that join classes which are spelled almost alike, given their answers."""
    from sfumato.judgments.formats import similar_classes

    for pair in similar_classes(classes)[:MOST_JOINS]:
        rename = f"--rename {shlex.quote(f'{pair.rare}={pair.often}')}"
        folded = pair.often.casefold() == pair.rare.casefold()
        notify(
            f"Classes {pair.often!r} ({pair.answers[0]:,} answers) and {pair.rare!r} "
            f"({pair.answers[1]:,}) may be one: {rename}" + (" or --casefold" if folded else "")
        )


def read_judgments(
    file: Path, format_: str | None, options: "ReadOptions", strict: bool, *, tell: bool = True
) -> "Judgments":
    """The judgments of a file; one that holds something else is an error."""
    from sfumato.judgments.judgments import Judgments

    found = read_any(file, format_, options, strict, tell=tell)
    if tell:
        tell_guesses(found, format_)
    if not isinstance(found, Judgments):
        raise DataError(
            f"{file.name} holds {type(found).__name__}, which are not about the classes of single "
            "items; labels are made from judgments."
        )
    return found


def read_options(
    table: TableOptions,
    classes: Path | None = None,
    question: str | None = None,
    key: str | None = None,
) -> "ReadOptions":
    """What a user says about a file, checked."""
    from sfumato.judgments.formats import asked_as
    from sfumato.judgments.formats.reading import ReadOptions, read_classes
    from sfumato.judgments.formats.texts import delimiter_named

    said = asked_as(question)
    if classes is not None:
        said["classes"] = read_classes(classes)
    return ReadOptions(
        **said,
        item=table.item,
        annotator=table.annotator,
        answer=table.answer,
        at=table.at,
        seconds=table.seconds,
        delimiter=None if table.delimiter is None else delimiter_named(table.delimiter),
        rename=parse_renames(table.rename or ()),
        casefold=table.casefold,
        key=lambda: study_key(key),
    )


def parse_renames(texts: Sequence[str]) -> dict[str, str]:
    """Classes and what they are to be called, from ``a=b`` or files of such lines."""
    from sfumato.judgments.formats import read_renames

    renames: dict[str, str] = {}
    for text in texts:
        old, sign, new = (part.strip() for part in text.partition("="))
        if Path(text).is_file():
            renames |= read_renames(Path(text))
        elif sign and old and new:
            renames[old] = new
        else:
            raise DataError(
                f"--rename takes a=b, or a file of such lines; found {text!r}, which is neither."
            )
    return renames


def parse_numbers(texts: list[str], *, what: str) -> dict[str, float]:
    """Numbers by name, from texts such as ``name=0.5``."""
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


def names_in(text: str) -> tuple[str, ...]:
    """The parts of a text between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def quality_rules(text: str) -> "tuple[Rule, ...]":
    """Rules by name, settings after a colon: ``checks,too-fast:seconds=0.3:share=0.2``."""
    from sfumato.judgments.quality import rule_with

    found = []
    for part in names_in(text):
        name, *settings = part.split(":")
        found.append(rule_with(name, **parse_numbers(settings, what=f"the rule {name!r}")))
    return tuple(found)


def study_key(given: str | None) -> str:
    """The given key, or this user's own."""
    if given:
        return given
    path = _place()
    try:
        if not path.is_file():
            _draw(path)
        return path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise DataError(
            f"The key for pseudonyms cannot be kept in {path} ({error.strerror}); "
            "give one with --key or SFUMATO_KEY."
        ) from None


def _place() -> Path:
    configuration = os.environ.get("XDG_CONFIG_HOME")
    return Path(configuration or Path.home() / ".config") / "sfumato" / "key"


def _draw(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp makes a file that only its owner can read; the link appears whole or not at all.
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32))
    try:
        path.hardlink_to(name)
    except FileExistsError:
        pass  # another process drew one in the meantime: that one stands
    finally:
        Path(name).unlink()


# Check the files that a command will write, before any work is done.


def check_output(
    path: Path | None, endings: Sequence[str], *, what: str, overwrite: bool = False
) -> None:
    """Refuse a name of another ending, a folder that is not there, and a file that is.

    ``what`` begins the sentence: "Scores are".
    """
    if path is None:
        return
    if path.suffix not in endings:
        raise DataError(f"{what} written as {' or '.join(endings)}, not as {path.name!r}.")
    if not path.parent.is_dir():
        raise DataError(f"There is no folder {path.parent} to write {path.name} into.")
    refuse_existing(path, overwrite=overwrite)


def refuse_existing(*paths: Path | None, overwrite: bool) -> None:
    """Refuse to replace any of the files that are there, unless that is wanted."""
    for path in paths:
        if path is not None and path.exists() and not overwrite:
            raise DataError(f"{path} exists already; give another name, or --overwrite.")


def refuse_filled(folder: Path | None, *names: str, overwrite: bool) -> None:
    """Refuse a folder that already holds files of these names, unless that is wanted."""
    if folder is not None:
        refuse_existing(*(folder / name for name in names), overwrite=overwrite)
