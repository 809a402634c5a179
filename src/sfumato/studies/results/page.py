"""Write a result as a page in Markdown: the same result gives the same page."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill

import polars as pl

from sfumato.studies.results.result import CONTROLS, ClaimTold, Part, Result
from sfumato.studies.verdicts import CONTROL_ANSWERS, counted

__all__ = ["CONTROLS_TOLD", "figure_name", "markdown_table", "page_of", "took"]

WIDTH = 120
NAMED = 3
"""So many claims are named beside a note that is about all of them."""
VERDICTS_TOLD = (
    "Reproduced: the 95 % interval lies wholly on the claimed side, in every network or number of "
    "dimensions. Same direction: only the estimates do. Not reproduced: an estimate does not. "
    "Intervals do not allow for the number of comparisons."
)
CONTROLS_TOLD = (
    "Yes: the 95 % interval lies wholly on that side. Not clearly: only the estimate does. No: the "
    "estimate does not."
)


def page_of(result: Result) -> str:
    """Title, how it was run, claims, then the tables of the study."""
    parts = [
        f"# {result.title}\n",
        f"{_folded(result.about)}\n" if result.about else "",
        _command(result),
        markdown_table(pl.DataFrame(_facts(result))),
        *_claims(result.claims),
        _figures(result),
        *(_part(part) for part in result.parts),
    ]
    return "\n".join(part for part in parts if part)


def took(seconds: float | None) -> str:
    """A time in words.

    >>> took(42), took(400), took(9000), took(None)
    ('42 s', '7 min', '2.5 h', 'not noted')
    """
    if seconds is None:
        return "not noted"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _command(result: Result) -> str:
    what = result.name if result.size != "other" else "STUDY"
    size = " --size paper" if result.size == "paper" else ""
    lines = [
        f"sfumato run {what}{size} -o runs/{result.name}",
        f"sfumato results runs/{result.name} -o docs/results  # writes this page",
    ]
    return "\n".join(["```sh", *lines, "```\n"])


def _facts(result: Result) -> list[dict[str, str]]:
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    rows = {
        "size": result.size,
        "seeds": "–" if result.seeds is None else str(result.seeds),
        "time": took(result.seconds),
        "people": "simulated" if result.simulated else "real",
        "configuration": f"`{result.short_fingerprint}` (SHA-256 of settings and data)",
        "versions": versions,
    }
    return [{"this run": name, "": value} for name, value in rows.items()]


def _claims(told: Sequence[ClaimTold]) -> Iterable[str]:
    claims = [one for one in told if one.work != CONTROLS]
    if claims:
        yield from _claims_of_paper(claims)
    controls = [one for one in told if one.work == CONTROLS]
    if controls:
        yield "## Controls that the paper lacks\n"
        yield f"{_folded(CONTROLS_TOLD)}\n"
        rows = [
            {"is it so?": one.says, "ours (95 %)": one.ours, "answer": CONTROL_ANSWERS[one.verdict]}
            for one in controls
        ]
        yield markdown_table(pl.DataFrame(rows))


def _claims_of_paper(claims: Sequence[ClaimTold]) -> Iterable[str]:
    yield "## What the paper says, and what was found\n"
    yield f"{_folded(f'{counted(one.verdict for one in claims)} {VERDICTS_TOLD}')}\n"
    rows = [
        {
            "claim": one.says,
            "where": one.source,
            "paper": one.paper or "–",
            "ours (95 %)": one.ours or "–",
            "verdict": f"**{one.verdict}**",
        }
        for one in claims
    ]
    yield markdown_table(pl.DataFrame(rows))
    notes: dict[str, list[str]] = {}
    for one in claims:
        if one.note and one.note != one.ours:
            notes.setdefault(one.note, []).append(one.says)
    if notes:
        yield "Notes:\n"
        told = (f"{_named(says)} {note}" for note, says in notes.items())
        yield "\n".join(_folded(each, head="- ") for each in told) + "\n"


def _part(part: Part) -> str:
    text = [f"{_folded(part.text)}\n"] if part.text else []
    return "\n".join([f"## {part.title}\n", *text, *map(markdown_table, part.tables)])


def _folded(text: str, head: str = "") -> str:
    return fill(
        text,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _figures(result: Result) -> str:
    if not result.figures:
        return ""
    shown = [
        f"![{path.stem.replace('-', ' ')}]({figure_name(result, path)})\n"
        for path in result.figures
    ]
    return "\n".join(["## Figures\n", "The report of the run has more.\n", *shown])


def figure_name(result: Result, path: Path) -> str:
    """Where a figure of a result lies beside its page."""
    return f"figures/{result.name}/{path.name}"


def _named(claims: Sequence[str]) -> str:
    """The claims that a note is about; of many the first."""
    if len(claims) <= NAMED:
        return " / ".join(claims)
    return f"{len(claims)} claims, the first of which is “{claims[0].rstrip('.')}”:"


def markdown_table(table: pl.DataFrame) -> str:
    """The rows as they are; what is missing is empty."""
    head = f"| {' | '.join(map(_cell, table.columns))} |\n|{'---|' * table.width}\n"
    return head + "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in table.iter_rows())


def _cell(value: object) -> str:
    return "" if value is None else str(value).replace("|", "\\|").replace("\n", " ")
