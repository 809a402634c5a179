"""``sfumato plan``: which labels to collect, before money is spent."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.options import names_in, refuse_filled
from sfumato.cli.printing import print_json, print_line, print_table, progress
from sfumato.errors import DataError, require_packages

if TYPE_CHECKING:
    from sfumato.judgments.judgments import Judgments
    from sfumato.planning.advise import Advice
    from sfumato.planning.plans import Plan
    from sfumato.planning.power import PowerPlan

Items = Annotated[int, typer.Option("--items", help="How many items are to be labelled.")]
Classes = Annotated[int, typer.Option("--classes", help="How many classes there are.")]
Dimensions = Annotated[
    int | None, typer.Option("--dimensions", help="Of the space behind the items, where known.")
]
Forms = Annotated[
    str, typer.Option("--forms", help="Forms of answers to choose among, with commas.")
]
Kept = Annotated[str, typer.Option("--kept", help="Classes a sparse answer names, with commas.")]
Costs = Annotated[
    list[str] | None,
    typer.Option("--cost", metavar="FORM=SECONDS", help="Of one answer; repeatable."),
]
Errors = Annotated[
    list[str] | None,
    typer.Option("--error", metavar="FORM=SHARE", help="Comparisons an answer gets wrong."),
]
Pilots = Annotated[
    list[str] | None,
    typer.Option(
        "--pilot", metavar="[FORMAT=]FILE", help="Judgments of a pilot, one form per file."
    ),
]
Ratings = Annotated[
    Path | None,
    typer.Option("--ratings", help="Rated pairs of the pilot's items: errors are by them."),
]
Subset = Annotated[
    int | None,
    typer.Option("--subset", min=1, help="Which so many classes tell most, by the pilot."),
]
Oracle = Annotated[
    Path | None,
    typer.Option("--oracle", help="A model's beliefs about items: it answers, not people."),
]
Shared = Annotated[bool, typer.Option("--shared", help="Only items that all pilots are about.")]
Beta = Annotated[
    float | None, typer.Option("--beta", help="What a unit of cost is worth in utility.")
]
Budget = Annotated[float | None, typer.Option("--budget", help="What may be spent on an item.")]
People = Annotated[int, typer.Option("--people", min=1, help="People per item, with --beta.")]
Utility = Annotated[str, typer.Option("--utility", help="How recovered similarity is valued.")]
Known = Annotated[
    Path | None,
    typer.Option("--known", help="Cheap labels of the items: says which to ask about first."),
]
Effect = Annotated[
    float | None,
    typer.Option("--effect", help="Smallest difference that matters: how much will show it."),
]
Between = Annotated[
    str, typer.Option("--between", help="Compare two kinds of items, or two groups of people.")
]
Outcome = Annotated[
    str | None, typer.Option("--outcome", help="The class whose share is compared.")
]
NewPeople = Annotated[
    bool, typer.Option("--new-people", help="New people answer each item, not the same ones.")
]
Clusters = Annotated[
    Path | None,
    typer.Option("--clusters", help="Table of item and cluster: items that belong together."),
]
Worth = Annotated[
    list[str] | None,
    typer.Option("--worth", metavar="FORM=ANSWERS", help="One answer in answers of the pilot."),
]
Alpha = Annotated[float, typer.Option("--alpha", help="Of the test that shall show it.")]
Power = Annotated[float, typer.Option("--power", help="How surely it shall show.")]
SHOWN = 8
"""Designs that are printed; JSON has all."""

Folder = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for the plan as a page, figures and JSON."),
]


def plan(
    items: Items,
    classes: Classes,
    dimensions: Dimensions = None,
    forms: Forms = "",
    kept: Kept = "2",
    cost: Costs = None,
    error: Errors = None,
    pilot: Pilots = None,
    ratings: Ratings = None,
    shared: Shared = False,
    beta: Beta = None,
    budget: Budget = None,
    people: People = 1,
    utility: Utility = "linear",
    known: Known = None,
    subset: Subset = None,
    oracle: Oracle = None,
    effect: Effect = None,
    between: Between = "items",
    outcome: Outcome = None,
    new_people: NewPeople = False,
    clusters: Clusters = None,
    worth: Worth = None,
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    output: Folder = None,
    overwrite: given.Overwrite = False,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> None:
    """Which labels to collect for so many items and classes, at what cost."""
    from sfumato.planning import plans

    refuse_filled(output, "plan.json", "plan.html", overwrite=overwrite)
    if output is not None:
        require_packages("Drawing a plan", "matplotlib", "jinja2")
        from sfumato.studies.planned import plan_folder

        plan_folder(output)  # what cannot be written into is refused before any long work
    with progress("Weighing the forms"):
        made = plans.plan(
            items,
            classes,
            dimensions=dimensions,
            forms=names_in(forms),
            kept=[_whole(text) for text in names_in(kept)],
            cost=_numbers(cost or [], "--cost"),
            error=_numbers(error or [], "--error"),
            pilot=[_judged(text) for text in pilot or []],
            ratings=ratings,
            shared=shared,
            beta=beta,
            budget=budget,
            people=people,
            utility=utility,
            known=known,
            subset=subset,
            oracle=oracle,
            effect=effect,
            between=between,
            outcome=outcome,
            new_people=new_people,
            clusters=clusters,
            worth=_numbers(worth or [], "--worth"),
            alpha=alpha,
            power=power,
            seed=seed,
        )
    page = None if output is None else _draw(made, output)
    found = made.to_json()
    if as_json:
        print_json(found)
        return
    if made.power is not None:
        _show_power(made.power)
    _show(found, made.advice)
    if page is not None:
        typer.echo(f"\nPlan: {page}")


def _draw(made: "Plan", output: Path) -> Path:
    from sfumato.studies.planned import write_plan

    with progress("Drawing the plan") as advance:
        return write_plan(made, output, advance=advance)


def _format_and_name(text: str) -> tuple[str | None, str]:
    format_name, _, name = text.rpartition("=")
    return format_name or None, name


def _judged(text: str) -> "Judgments":
    from sfumato.judgments.formats import read
    from sfumato.judgments.formats.reading import ReadOptions
    from sfumato.judgments.judgments import Judgments

    format_name, name = _format_and_name(text)
    found = read(Path(name), format_name, ReadOptions())
    if not isinstance(found, Judgments):
        raise DataError(f"{name} holds no judgments of single items, which a pilot needs.")
    return found


def _numbers(texts: Sequence[str], option: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in texts:
        form, _, number = text.partition("=")
        try:
            found[form] = float(number)
        except ValueError:
            raise DataError(f"{option} takes FORM=NUMBER, such as soft=15, not {text!r}.") from None
    return found


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"--kept takes whole numbers with commas, not {text!r}.") from None


def _show_power(power: "PowerPlan") -> None:
    for line in power.lines():
        print_line(line)
    rows = [
        (each.form, f"{each.items:,}", f"{each.people:,}", f"{each.answers:,}",
         "–" if each.price is None else f"{each.price:,.0f} {each.unit}",
         f"{each.power:.2f} [{each.low:.2f}, {each.high:.2f}]")
        for each in power.designs[:SHOWN]
    ]  # fmt: skip
    header = ("form", "items", "people", "answers", "price", "power")
    print_table("Designs that are expected to show it", header, rows)
    if len(power.rates) > 1:
        rates = [(form, f"{rate:.2f}") for form, rate in power.rates.items()]
        first = next(iter(power.rates))
        print_table(f"Worth of one answer in {first} answers, here", ("form", "worth"), rates)
    print_line("")


def _show(found: dict[str, Any], advice: "Advice") -> None:
    kept = "" if advice.kept is None else f" with {advice.kept} classes per answer"
    sure = "" if advice.probability is None else f" (probability {advice.probability:.2f})"
    print_line(f"Collect {advice.form} answers{kept}{sure}.")
    for reason in advice.reasons:
        print_line(f"- {reason}")
    rows = [
        (
            each.form if each.kept is None else f"{each.form} ({each.kept} classes)",
            f"{each.probability:.2f}",
            f"{each.people:.1f}",
            f"{each.rho:.2f} [{each.rho_low:.2f}, {each.rho_high:.2f}]",
            f"{each.cost:,.0f} {each.unit} ({each.cost_source})",
        )
        for each in advice.alternatives
    ]
    header = ("form", "probability", "people per item", "similarity recovered", "cost of all")
    print_table("Alternatives, by simulated people", header, rows)
    information = [
        (form, f"{each['constraints']:,}", f"{each['ratio']:.4f}")
        for form, each in found["information"].items()
    ]
    print_table("What an answer tells", ("form", "comparisons fixed", "share of all"), information)
    if "telling" in found:
        told = [(name, f"{nats:.3f}") for name, nats in found["telling"].items()]
        print_table("Ask about these classes: what each tells", ("class", "nats"), told)
    if advice.first:
        shown = ", ".join(advice.first[:10])
        print_line(f"\nAsk first about {len(advice.first)} items: {shown} …")
