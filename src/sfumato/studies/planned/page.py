"""Turn a plan and its figures into one page: the answer first, then what it rests on."""

import polars as pl

from sfumato.planning.advise import plan_json
from sfumato.planning.information import noisy
from sfumato.provenance import Setting
from sfumato.reporting.page import Block, Page, Section, Text
from sfumato.reporting.tables import How, Table
from sfumato.studies.planned.asked import Planned, error_of, with_title
from sfumato.studies.planned.figures import Figures
from sfumato.studies.planned.sentences import enough_people, headline

__all__ = ["plan_page"]

FIRST_SHOWN = 30
"""Items to begin with that the page names; all are in plan.json."""


def plan_page(planned: Planned, figures: Figures, settings: dict[str, Setting]) -> Page:
    """The page of a plan; ``settings`` is said at its end."""
    task, advice = planned.task, planned.advice
    answer: list[Block] = [Text("\n\n".join(advice.reasons))]
    if advice.alternatives:
        answer.append(_alternatives(planned))
    sections = [
        Section("Why", "", tuple(answer)),
        _changes(planned),
        Section("How many people", enough_people(planned), figures.people),
        *_first(planned),
        Section("What an answer tells", TELLS, (_information(planned), *figures.told)),
        Section("What labels recover", RECOVERS, figures.recovered),
        Section("What it is worth for what it costs", WEIGHS, figures.weighed),
        Section("Where the numbers are from", "", (_sources(planned),)),
    ]
    return Page(
        title=f"Which labels to collect: {task.items:,} items, {task.classes:,} classes",
        subtitle="A plan made before money is spent.",
        summary=headline(planned),
        sections=tuple(section for section in sections if section.text or section.blocks),
        how=How(settings=settings),
    )


TELLS = (
    "An answer is worth the comparisons of distances it fixes, such as: this item is closer to cat "
    "than to dog. The information ratio is their share of all comparisons there are."
)
RECOVERS = (
    "Worlds of items and classes are simulated, labelled in each form and embedded again from the "
    "labels alone; ρ is the rank correlation of recovered and true similarities. Whether your "
    "items and classes lie as they do in these worlds is an assumption."
)
WEIGHS = (
    "The loss of a form is β times what the whole collection costs, minus what its ρ is worth; "
    "the least loss wins. β is what you would give up of that worth for one unit of cost, so it "
    "carries the unit of the cost. Utilities say how ρ is valued: as it is (linear), or with the "
    "last steps counting less (sigmoid) or more (inverse-sigmoid)."
)


def _alternatives(planned: Planned) -> Table:
    rows = [
        {
            "form": with_title(each.form, each.kept),
            "probability of being best": f"{each.probability:.2f}",
            "people an item": f"{each.people:.3g}",
            "similarity recovered (ρ)": f"{each.rho:.2f} [{each.rho_low:.2f}, {each.rho_high:.2f}]",
            "cost of all": f"{each.cost:,.0f} {each.unit}",
            "cost is": each.cost_source,
            "comparisons wrong": "–" if each.error is None else f"{each.error:.1%}",
            "errors are": each.error_source,
        }
        for each in planned.advice.alternatives
    ]
    caption = "Brackets hold 95 % of the draws of worlds, people's noise and prices."
    return Table("Alternatives", pl.DataFrame(rows), caption=caption, simulated=True)


def _changes(planned: Planned) -> Section:
    title = "What would change it"
    found = planned.advice.changes
    if found:
        return Section(title, "\n\n".join(each.sentence for each in found))
    if planned.advice.probability is None:
        return Section(title, "Prices, error rates or a pilot: then forms can be weighed.")
    return Section(title, "No other price, noise or weight within reach that was tried.")


def _first(planned: Planned) -> tuple[Section, ...]:
    first = planned.advice.first
    if not first:
        return ()
    more = f" … and {len(first) - FIRST_SHOWN:,} more, in plan.json" * (len(first) > FIRST_SHOWN)
    text = (
        f"{len(first):,} items carry four fifths of the doubt in the labels at hand. Ask about "
        f"them first: {', '.join(first[:FIRST_SHOWN])}{more}."
    )
    return (Section("Which items first", text),)


def _information(planned: Planned) -> Table:
    rows = []
    for form, told in plan_json(planned.task, planned.advice)["information"].items():
        error = error_of(planned, form)
        left = "–" if error is None else f"{noisy(told['ratio'], error[0], 'capacity'):.4f}"
        rows.append(
            {
                "form": form,
                "comparisons fixed": f"{told['constraints']:,}",
                "share of all": f"{told['ratio']:.4f}",
                "left by errors": left,
            }
        )
    caption = (
        "Left by errors: the bits that get through where a share ε of the comparisons is wrong, "
        "1 − H₂(ε); only for forms whose errors were given or measured. Pairs and triplets place "
        "only items, so their share is out of other comparisons."
    )
    return Table("Comparisons that one answer an item fixes", pl.DataFrame(rows), caption=caption)


def _sources(planned: Planned) -> Table:
    rows = [{"number": name, "is": source} for name, source in planned.advice.sources.items()]
    return Table("Given, measured, assumed or simulated", pl.DataFrame(rows))
