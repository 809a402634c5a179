"""``sfumato describe``, ``convert`` and ``data``: what a file holds, and the datasets."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.options import (
    quality_rules,
    read_any,
    read_options,
    refuse_existing,
    tell_guesses,
    tell_joins,
)
from sfumato.cli.printing import (
    format_number,
    notify,
    print_line,
    print_result,
    print_table,
    progress,
    simulation_mark,
)
from sfumato.errors import DataError
from sfumato.names import format_count, short_names

if TYPE_CHECKING:
    from sfumato.judgments.formats.hf import Publication
    from sfumato.judgments.judgments import Judgments

MOST_CLASSES = 20
"""So many classes are listed on a screen, the most frequent first."""
MOST_ACROSS = 10
"""So many stand side by side in the table by person."""
MOST_PEOPLE = 20
"""A table by person is printed for at most so many people; --json has all."""

data_app = typer.Typer(help="Datasets: where from, licence, checksum, what is here.")

WhatIf = Annotated[
    str,
    typer.Option("--what-if", help="Quality rules to try, comma-separated (see below)."),
]
CompareAggregators = Annotated[
    bool,
    typer.Option("--compare-aggregators", help="Score aggregators by held-out vote log-loss."),
]
AnyOutput = Annotated[Path, typer.Option("--output", "-o", help="Where to write.")]
ToFormat = Annotated[str, typer.Option("--to", help="The format to write (see below).")]
Title = Annotated[str | None, typer.Option("--title", help="Name of the dataset (--to hf).")]
License = Annotated[
    str | None, typer.Option("--license", help="Its licence, such as cc-by-4.0 (--to hf).")
]
Creator = Annotated[str | None, typer.Option("--creator", help="Who made it (--to hf).")]
Url = Annotated[str | None, typer.Option("--url", help="Where it is published (--to hf).")]
DatasetName = Annotated[str, typer.Argument(help="A dataset of `sfumato data list`.")]


def describe(
    file: given.File,
    format_: given.Format = None,
    *,
    table_options: given.TableOptions,
    classes: given.Classes = None,
    question: given.QuestionKind = None,
    rules: WhatIf = "",
    compare: CompareAggregators = False,
    strict: given.Strict = False,
    key: given.Key = None,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> None:
    """What was collected: people, times, agreement, repeats, oddities, exclusions."""
    import numpy as np

    from sfumato.judgments.formats import class_counts
    from sfumato.judgments.judgments import Judgments
    from sfumato.labels.describe import describe as describe_judgments
    from sfumato.labels.describe import describe_other, score_aggregators

    options = read_options(table_options, classes, question, key)
    found = read_any(file, format_, options, strict)
    if not isinstance(found, Judgments):
        print_result(describe_other(found), as_json, _print_other)
        return
    rng = np.random.default_rng(seed)
    description = describe_judgments(found, rules=quality_rules(rules), rng=rng)
    if compare:
        with progress("Scoring aggregators"):
            description["aggregators"] = score_aggregators(found, rng=rng)
    print_result({"file": file.name, **description}, as_json, _print_description)
    tell_joins(class_counts(found))


def convert(
    file: given.File,
    output: AnyOutput,
    to: ToFormat,
    format_: given.Format = None,
    *,
    table_options: given.TableOptions,
    classes: given.Classes = None,
    question: given.QuestionKind = None,
    strict: given.Strict = False,
    key: given.Key = None,
    overwrite: given.Overwrite = False,
    title: Title = None,
    license_: License = None,
    creator: Creator = None,
    url: Url = None,
) -> None:
    """Read judgments in one format and write them in another."""
    from sfumato.judgments.formats import write
    from sfumato.judgments.formats.hf import Publication
    from sfumato.judgments.judgments import Judgments

    refuse_existing(output, overwrite=overwrite)
    about = Publication(title, license_, creator, url, date.today().isoformat())
    if to != "hf" and any((title, license_, creator, url)):
        raise DataError("--title, --license, --creator and --url belong to --to hf.")
    options = read_options(table_options, classes, question, key)
    found = read_any(file, format_, options, strict)
    tell_guesses(found, format_)
    if to == "hf" and isinstance(found, Judgments):
        _publish(found, output, about)
    else:
        write(found, output, to)
        typer.echo(f"Wrote {len(found):,} judgments to {output}.")


@data_app.command("list")
def data_list(as_json: given.AsJson = False) -> None:
    """The datasets, with their licences and whether they are here."""
    from sfumato.data import listing

    print_result({"datasets": listing()}, as_json, _print_datasets)


@data_app.command("get")
def data_get(
    name: DatasetName,
) -> None:
    """Fetch the files of a dataset that are missing, and check them."""
    from sfumato.data import get, path

    with progress(f"Fetching {name}") as advance:
        fetched = get(name, advance)
    typer.echo(f"{name} is in {path(name)}. {fetched.note}")


@data_app.command("check")
def data_check(
    name: DatasetName,
    as_json: given.AsJson = False,
) -> None:
    """Compare the files of a dataset with their checksums."""
    from sfumato.data import check

    rows = check(name)
    print_result({"files": rows}, as_json, _print_files)
    if any(row["state"] != "present" for row in rows):
        raise DataError(f"Some files of {name} are missing or changed (see above).")


@data_app.command("path")
def data_path(
    name: DatasetName,
) -> None:
    """Where the files of a dataset are, or would be."""
    from sfumato.data import path

    typer.echo(str(path(name)))


def _publish(judgments: "Judgments", folder: Path, about: "Publication") -> None:
    """Write a folder with labels, and say what is left for its publisher to say."""
    from sfumato.labels.make import publish

    tables = publish(judgments, folder, about)
    typer.echo(f"Wrote {len(judgments):,} judgments to {folder}: {', '.join(tables)}.")
    if "labels" not in tables:
        notify("No labels are among them: the answers make none.")
    if judgments.rejected:
        aside = format_count(len(judgments.rejected), "row")
        verbs = "that was set aside is" if len(judgments.rejected) == 1 else "set aside are"
        notify(f"{aside} {verbs} not among them.")
    unsaid = about.unsaid()
    if unsaid:
        options = ", ".join(f"--{name}" for name in unsaid)
        notify(f"Croissant asks every dataset for {', '.join(unsaid)}: give {options}.")


def _print_description(found: Mapping[str, Any]) -> None:
    """Everything ``describe`` found out about judgments."""
    question = found["question"]
    classes = f"{len(question['classes'])} classes"
    print_line(f"{found['file']}: {question['kind']}, {classes}{simulation_mark(found)}")
    who = f"{found['people']:,} people" if found["people"] else "people not recorded"
    print_line(f"{found['judgments']:,} answers, {who}, {found['items']:,} items")
    views = ", ".join(f"{name} {count:,}" for name, count in found["views"].items())
    print_line(f"views: {views}; {found['selected']:,} answers make labels")
    _print_classes(found)
    print_table(
        "Spread",
        ("", "min", "median", "mean", "max"),
        [
            (name, *(format_number(spread[key]) for key in ("min", "median", "mean", "max")))
            for name, spread in _spreads(found)
        ],
    )
    print_table("Numbers", ("", "value", "95 % interval"), _numbers(found))
    _oddities(found)
    _set_aside(found)
    _exclusions(found)
    if "aggregators" in found:
        _aggregators(found["aggregators"])


def _print_classes(found: Mapping[str, Any]) -> None:
    """How often each class was given, and by whom."""
    classes = sorted(found["classes"], key=lambda row: -row["answers"])
    shown = classes[:MOST_CLASSES]
    rows = [(row["class"], f"{row['answers']:,}", f"{row['share']:.1%}") for row in shown]
    print_table("Classes", ("class", "answers", "share of answers"), rows)
    if len(classes) > len(shown):
        print_line(f"and {len(classes) - len(shown):,} more; --json lists all")
    people = found["classes_by_person"]
    across = [row["class"] for row in shown[:MOST_ACROSS]]
    if not people or len(people) > MOST_PEOPLE:
        return
    short = short_names(row["person"] for row in people)
    by_person = [
        (
            short[row["person"]],
            f"{row['answers']:,}",
            *(f"{row['classes'][name]:,}" for name in across),
        )
        for row in people
    ]
    print_table("Classes by person", ("person", "answers", *across), by_person)


def _print_other(found: Mapping[str, Any]) -> None:
    """A description of comparisons or mixes: names and numbers."""
    print_line(f"{found['what']}: {found['judgments']:,} answers, {found['people']:,} people")
    print_table(
        "Numbers", ("", "value"), [(name, format_number(value)) for name, value in found["numbers"]]
    )
    _set_aside(found)


def _print_datasets(found: Mapping[str, Any]) -> None:
    """The table of datasets."""
    rows = [
        (row["name"], row["present"], row["licence"], row["about"]) for row in found["datasets"]
    ]
    print_table("Datasets", ("name", "here", "licence", "what"), rows)


def _print_files(found: Mapping[str, Any]) -> None:
    """The files of one dataset and their state."""
    if not found["files"]:
        print_line("There are no files to check: the data come with a package.")
    print_table("Files", ("file", "state"), [(row["file"], row["state"]) for row in found["files"]])


def _spreads(found: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    taken = found["times"] or {}
    named = [
        ("answers per item", found["per_item"]),
        ("answers per person", found["per_person"]),
        ("median seconds per person", taken.get("median_by_person")),
        ("median seconds per item", taken.get("median_by_item")),
    ]
    return [(name, spread) for name, spread in named if spread]


MOST_INPUTS = 12
"""Inputs whose seconds are printed; forms with one for each class have hundreds."""


def _numbers(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    from sfumato.labels.second_looks import look_lines

    rows: list[tuple[str, str, str]] = []
    taken, right, again = found["times"], found["accuracy"], found["repeats"]
    if taken:
        rows.append(("median seconds per answer", format_number(taken["median"]), ""))
        rows += [
            (f"median seconds on {name}", format_number(median), "")
            for name, median in list(taken["median_by_input"].items())[:MOST_INPUTS]
        ]
    if right:
        rows.append(("top choice equals the known class", f"{right['top1']:.2%}", ""))
        rows.append(("known class among the top two", f"{right['top2']:.2%}", ""))
    if again:
        rows.append(
            (f"changed top choice in {again['pairs']} repeats", _share(again["changed"]), "")
        )
        rows.append(("change of probability, points", format_number(again["points"]), ""))
        rows.append(_measured(again["within_person"]))
    rows.extend(
        (f"{name} ({answers:,})", f"{kept:.2%}", f"{low:.2%} to {high:.2%}")
        for name, kept, low, high, answers in look_lines(found["second_looks"])
    )
    rows.extend(_measured(measure) for measure in found["agreement"])
    labels = found["labels"]
    rows.extend(
        (f"{name.replace('_', ' ')} ({labels['recipe']})", format_number(value), "")
        for name, value in labels.items()
        if name != "recipe"
    )
    return rows


def _measured(measure: Mapping[str, Any]) -> tuple[str, str, str]:
    low, high = format_number(measure["low"]), format_number(measure["high"])
    return measure["name"], format_number(measure["value"]), f"{low} to {high}"


def _oddities(found: Mapping[str, Any]) -> None:
    rows = [
        (row["name"], f"{row['count']:,}", f"item {row['examples'][0]['item']}", row["about"])
        for row in found["oddities"]
    ]
    print_table("Oddities", ("name", "answers", "for example", "what"), rows)


def _set_aside(found: Mapping[str, Any]) -> None:
    rejected = found["rejected"]
    if rejected["count"]:
        rows = [(f"{row['count']:,}", row["field"], row["reason"]) for row in rejected["reasons"]]
        print_table("Rows set aside", ("rows", "field", "reason"), rows)
        for example in rejected["examples"]:
            print_line(f"  {example}")
    rows = [(f"{row['count']:,}", row["what"], row["example"]) for row in found["remarks"]]
    print_table("Noticed while reading", ("times", "what", "for example"), rows)


def _exclusions(found: Mapping[str, Any]) -> None:
    if not found["exclusions"]:
        return
    named = {
        "rule": "rule",
        "people": "people dropped",
        "answers": "answers dropped",
        "fewer": "items with fewer answers",
        "emptied": "with none",
        "mean_before": "answers per item",
        "mean_after": "after",
        "majority_changed": "majority changed",
    }
    rows = [tuple(_cell(row[name]) for name in named) for row in found["exclusions"]]
    print_table("What if these rules were applied", list(named.values()), rows)


def _aggregators(scored: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        (
            row["aggregator"],
            row["estimand"],
            format_number(row["log_loss"]),
            f"{format_number(row['low'])} to {format_number(row['high'])}",
        )
        for row in scored
    ]
    header = ("aggregator", "estimates", "held-out log-loss", "over splits")
    print_table("Aggregators by how well they predict votes they have not seen", header, rows)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else format_number(value)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"
