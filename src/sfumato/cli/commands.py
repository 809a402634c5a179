"""The commands. Each parses its options, calls one function of the library and prints."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfumato.cli.progress import progress, say
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

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of judgments.")]
Format = Annotated[str, typer.Option("--format", help="What kind of file it is (docs/formats.md).")]
Classes = Annotated[
    Path | None, typer.Option("--classes", help="Text file with the classes in order, one a line.")
]
QuestionKind = Annotated[
    str | None, typer.Option("--question", help="What was asked, where the file does not say.")
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
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn.")]
DatasetName = Annotated[str, typer.Argument(help="A data set of `sfumato data list`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


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
    file: File,
    format_: Format = "sfumato",
    classes: Classes = None,
    question: QuestionKind = None,
    rules: Annotated[
        str,
        typer.Option("--what-if", help="Quality rules to try, comma-separated (docs/quality.md)."),
    ] = "",
    compare: Annotated[
        bool,
        typer.Option("--compare-aggregators", help="Score aggregators by held-out vote log-loss."),
    ] = False,
    strict: Strict = False,
    key: Key = None,
    seed: Seed = 0,
    as_json: AsJson = False,
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
    file: File,
    recipe: Annotated[
        str, typer.Option("--recipe", help="How one answer becomes a distribution (docs/label.md).")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write: .parquet or .csv.")
    ],
    format_: Format = "sfumato",
    gamma: Annotated[
        float | None,
        typer.Option("--gamma", help="Mass kept back for classes not ruled out (clamp; 0.1)."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option("--rule", help="How contradictions are read: consistent or released."),
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option("--vectors", help="File of word vectors (semantic recipes).")
    ] = None,
    keep: Annotated[
        str,
        typer.Option("--keep", help="Leave in: repeats, duplicates, checks, practice."),
    ] = "",
    exclude: Annotated[
        str, typer.Option("--exclude", help="Quality rules to apply first, comma-separated.")
    ] = "",
    per_annotator: Annotated[
        bool, typer.Option("--per-annotator", help="One row a judgment instead of an item.")
    ] = False,
    aggregate: Annotated[
        str | None,
        typer.Option("--aggregate", help="How people become one label (docs/aggregate.md; mean)."),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", help="A classifier's predictions (crowdlab)."),
    ] = None,
    classes: Classes = None,
    question: QuestionKind = None,
    strict: Strict = False,
    key: Key = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Turn judgments into label distributions."""
    from sfumato.cli import show
    from sfumato.labels.build import RECIPES
    from sfumato.labels.files import check_output, read_labels, write_labels
    from sfumato.labels.make import LabelSettings, make_labels
    from sfumato.names import find

    if per_annotator and aggregate:
        raise typer.BadParameter("--per-annotator and --aggregate exclude each other.")
    check_output(output)
    find(RECIPES, recipe, what="recipe")
    settings = LabelSettings(
        recipe,
        gamma=gamma,
        rule=_reading(rule),
        vectors=vectors,
        keep=_names(keep),
        exclude=_rules(exclude),
        aggregate=aggregate or "mean",
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
    summary = show.summary_of(judgments, made, per_annotator=per_annotator)
    _print({"written": str(output), **summary}, as_json, show.labelled)


@app.command()
def simulate(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="Who is simulated (docs/simulate.md).")
    ],
    labels: Annotated[
        Path, typer.Option("--labels", help="The label distributions that people would see.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write: .parquet, .jsonl or .csv.")
    ],
    per_item: Annotated[int, typer.Option("--per-item", help="Answers an item.")] = 6,
    people: Annotated[
        int | None, typer.Option("--people", help="How many simulated people take turns.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, as name=number; repeatable.")
    ] = None,
    fit: Annotated[
        Path | None, typer.Option("--fit", help="Real judgments to fit the simulated people to.")
    ] = None,
    format_: Format = "sfumato",
    model: Annotated[
        Path | None, typer.Option("--model", help="A model saved before, instead of --fit.")
    ] = None,
    save_model: Annotated[
        Path | None, typer.Option("--save-model", help="Where to keep what was fitted (.json).")
    ] = None,
    classes: Classes = None,
    key: Key = None,
    seed: Seed = 0,
    as_json: AsJson = False,
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
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")],
    to: Annotated[str, typer.Option("--to", help="The format to write (docs/formats.md).")],
    format_: Format = "sfumato",
    classes: Classes = None,
    question: QuestionKind = None,
    strict: Strict = False,
    key: Key = None,
) -> None:
    """Read judgments in one format and write them in another."""
    from sfumato.judgments.formats import write

    found = _read(file, format_, _options(classes, question, key), strict)
    write(found, output, to)
    typer.echo(f"Wrote {len(found):,} judgments to {output}.")


@data_app.command("list")
def data_list(as_json: AsJson = False) -> None:
    """The data sets, with their licences and whether they are here."""
    from sfumato.cli import show
    from sfumato.data import list_datasets

    _print({"datasets": list_datasets()}, as_json, show.datasets)


@data_app.command("get")
def data_get(
    name: DatasetName,
) -> None:
    """Fetch the files of a data set that are missing, and check them."""
    from sfumato.data import get, path_of

    with progress(f"Fetching {name}") as advance:
        get(name, advance)
    typer.echo(f"{name} is in {path_of(name)}.")


@data_app.command("check")
def data_check(
    name: DatasetName,
    as_json: AsJson = False,
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
    name: DatasetName,
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
