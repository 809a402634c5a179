"""``sfumato worth``: how many people a judge is worth."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.options import check_output, read_judgments, read_options
from sfumato.cli.printing import (
    format_number,
    notify,
    null_for_nan,
    print_json,
    print_line,
    print_table,
    progress,
    simulation_mark,
)
from sfumato.errors import DataError, require_packages
from sfumato.names import format_count

Answers = Annotated[Path, typer.Argument(metavar="ANSWERS", help="What people said.")]
Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="NAME=FILE",
        help="What a judge said: item and answer, or label distributions; repeatable.",
    ),
]
Strata = Annotated[
    Path | None, typer.Option("--strata", help="Table item, stratum: worth on each of them.")
]
Groups = Annotated[
    Path | None,
    typer.Option("--groups", help="Table annotator, group: worth for predicting each group."),
]
Clusters = Annotated[
    Path | None,
    typer.Option("--clusters", help="Table item, cluster: items that belong together."),
]
EachPerson = Annotated[
    bool, typer.Option("--each-person", help="Also hold every annotator against the others.")
]
Epsilon = Annotated[
    float,
    typer.Option("--epsilon", help="What the alternative-annotator test grants to a judge."),
]
Most = Annotated[int, typer.Option("--most", help="Where the scale ends at the latest.")]
Quality = Annotated[
    float | None,
    typer.Option("--quality", help="Say what it costs to know as much as so many people tell."),
]
PersonPrice = Annotated[float, typer.Option("--person-price", help="Of one answer of a person.")]
JudgePrice = Annotated[float, typer.Option("--judge-price", help="Of one answer of a judge.")]
NeedsOutput = Annotated[
    Path | None,
    typer.Option("--needs", help="Also write which items need a person (.csv, .parquet)."),
]
ScoresOutput = Annotated[
    Path | None, typer.Option("--output", "-o", help="Also write all numbers (.parquet or .csv).")
]
ReportOutput = Annotated[
    Path | None, typer.Option("--report", metavar="FILE.html", help="Also draw one HTML page.")
]


def worth(
    answers: Answers,
    judge: Judges = None,
    format_: given.Format = None,
    *,
    table_options: given.TableOptions,
    classes: given.Classes = None,
    strata: Strata = None,
    groups: Groups = None,
    clusters: Clusters = None,
    each_person: EachPerson = False,
    epsilon: Epsilon = 0.2,
    most: Most = 5,
    quality: Quality = None,
    person_price: PersonPrice = 1.0,
    judge_price: JudgePrice = 0.0,
    draws: given.Draws = 1000,
    seed: given.Seed = 0,
    key: given.Key = None,
    needs: NeedsOutput = None,
    output: ScoresOutput = None,
    report: ReportOutput = None,
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """How many people a judge is worth, alone and beside people."""
    from sfumato.labels.files import write_table
    from sfumato.labels.worth import worth as measure

    for path in (needs, output):
        check_output(path, (".parquet", ".csv"), what="Tables are", overwrite=overwrite)
    check_output(report, (".html",), what="The report is", overwrite=overwrite)
    if report is not None:
        require_packages("Drawing a report", "matplotlib", "jinja2")
    judges = _named(judge or [])
    people = read_judgments(answers, format_, read_options(table_options, classes, key=key), False)
    with progress("Measuring"):
        done = measure(
            people, judges, strata=strata, groups=groups, clusters=clusters,
            each_person=each_person, epsilon=epsilon, most=most, resamples=draws, seed=seed,
        )  # fmt: skip
    for remark in done.remarks:
        notify(remark)
    if needs is not None:
        write_table(done.needs, needs)
    if output is not None:
        done.estimates.write(output)
    if report is not None:
        done.report(report)
    found = null_for_nan({"file": answers.name, **done.to_dict()})
    if quality is not None:
        costs = done.cost(quality, person=person_price, judge=judge_price)
        found["costs"] = costs.to_dicts()
        found["costs_by_stratum"] = [
            {"stratum": stratum, **row}
            for stratum in dict.fromkeys(row["stratum"] for row in found["strata"])
            for row in done.cost(
                quality, person=person_price, judge=judge_price, stratum=stratum
            ).to_dicts()
        ]
    if as_json:
        print_json(found)
        return
    _print(found, quality)
    for path in (needs, output, report):
        if path is not None:
            print_line(f"Wrote {path}.")


def _named(texts: Sequence[str]) -> dict[str, Path]:
    """Judges by name; the same file may stand for two."""
    found: dict[str, Path] = {}
    for text in texts:
        name, _, file = text.partition("=")
        if not (name.strip() and file.strip()):
            raise DataError(f"A judge is given as NAME=FILE; found {text!r}.")
        if name.strip() in found:
            raise DataError(f"Two judges are called {name.strip()!r}; give each its own name.")
        found[name.strip()] = Path(file.strip())
    return found


def _print(found: Mapping[str, Any], quality: float | None) -> None:
    print_line(
        f"{found['file']}: {format_count(found['items'], 'item')}, "
        f"{format_count(len(found['classes']), 'class', 'classes')}; the scale ends at "
        f"{format_count(found['scale'], 'person', 'people')}{simulation_mark(found)}"
    )
    over = f"95 % intervals over {found['over']}"
    numbers = ("accuracy", "cohen_kappa", "winning_rate")
    print_table(
        f"Judges alone, {over}",
        ("judge", "worth in people", "log-loss", "accuracy", "kappa", "winning rate"),
        [
            (row["judge"], _worth(row), _loss(row), *(format_number(row[one]) for one in numbers))
            for row in found["judges"]
        ],
    )
    print_table(
        "People: what is lost on the next one, in nats",
        ("answers known", "log-loss"),
        [(str(row["answers"]), _loss(row)) for row in found["people"]],
    )
    if found["floor"] is not None:
        print_line(f"floor, were everything about an item known: {found['floor']:.3f}")
    print_table(
        "Judges with people and together",
        ("evidence", "worth in people", "the last person adds", "log-loss"),
        [
            (_evidence(row), _worth(row), _step(row["last_person"]), _loss(row))
            for row in found["with_people"]
        ],
    )
    print_table(
        f"By stratum and group, {over}",
        ("stratum", "judge", "worth in people", "log-loss"),
        [
            (row["stratum"], _evidence(row), _worth(row), _loss(row))
            for row in found["strata"]
            if row["people"] == 0 and row["judge"] != "people"
        ],
        names=2,
    )
    print_table(
        "Items that need a person most, given the judges",
        ("item", "expected gain, nats", "expected answer"),
        [(row["item"], f"{row['gain']:.3f}", row["expected"]) for row in found["needs"][:5]],
    )
    print_table(
        f"What it costs to know as much as {quality or 0:g} people tell",
        ("judge", "people per item", "price per item"),
        [
            (row["judge"], format_number(row["people"]), format_number(row["price"]))
            for row in found.get("costs", [])
        ],
    )
    print_table(
        "The same by stratum and group: as much as people tell there",
        ("stratum", "judge", "people per item", "price per item"),
        [
            (
                row["stratum"],
                row["judge"],
                format_number(row["people"]),
                format_number(row["price"]),
            )
            for row in found.get("costs_by_stratum", [])
        ],
        names=2,
    )


def _step(added: float | None) -> str:
    return "–" if added is None else f"{added:.2f}"


def _loss(row: Mapping[str, Any]) -> str:
    return f"{row['log_loss']:.3f}"


def _evidence(row: Mapping[str, Any]) -> str:
    if not row["people"]:
        return str(row["judge"])
    return f"{row['judge']} + {format_count(row['people'], 'person', 'people')}"


def _worth(row: Mapping[str, Any]) -> str:
    """A worth with its interval, short enough for a table."""
    if row["worth"] is None:
        return "–"
    value = f"≥ {row['worth']:g}" if row["capped"] else f"{row['worth']:.2f}"
    high = "beyond" if row["high"] is None else f"{row['high']:.2f}"
    return f"{value} [{row['low']:.2f}, {high}]"
