"""Turn findings, drawings and tables into one HTML file that needs nothing else.

Figures are inline SVG with real text; their ink takes the colour of the page, so that they read in
light and in dark mode and on paper. No script, no remote address; a content policy in the head
forbids both, should a name ever slip through the escaping, which is on for everything.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Literal

import polars as pl

from sfumato.provenance import Provenance, Setting, Step, from_json
from sfumato.reporting.draw import FAINT, INK, MARKED, Drawing, Made
from sfumato.reporting.text import (
    Finding,
    interval,
    number,
    over_text,
    seeds_text,
    signed_number,
)
from sfumato.scores import Estimate, metric_words

if TYPE_CHECKING:
    from markupsafe import Markup

# Turn scores into tables for a reader: values with intervals, and how each was computed.

Across = Literal["arm", "network", "stratum", "against"]


@dataclass(frozen=True)
class Origin:
    """How something was computed: what it means, the steps, the settings."""

    meaning: tuple[str, ...] = ()
    """Sentences, one a metric."""
    provenance: Provenance = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.meaning or self.provenance or self.settings)


@dataclass(frozen=True, eq=False)
class Table:
    """A table for the page; numbers are formatted when it is shown, text is shown as it is."""

    title: str
    table: pl.DataFrame
    caption: str = ""
    how: Origin = field(default_factory=Origin)
    simulated: bool = False
    made: Made = "annotators"


def scores_shown(scores: Sequence[Estimate], *, title: str = "Scores") -> Table:
    """One row per score, with interval, items and seeds."""
    rows = [
        {
            "arm": one.arm,
            "network": one.network,
            "metric": metric_words(one.metric).title,
            "against": one.against,
            "stratum": one.stratum,
            "value": number(one.value),
            "95 % interval": interval(one.low, one.high),
            "over": one.over,
            "items": number(one.items),
            "seeds": number(len(one.seeds)),
            "note": one.note,
        }
        for one in scores
    ]
    return _made(title, rows, scores, _provenance(scores))


def differences_shown(
    differences: Sequence[Estimate], *, title: str = "Paired differences"
) -> Table:
    """One row per difference, with interval, the named test, items and seeds."""
    rows = [
        {
            "first - second": f"{one.arm} - {one.second}",
            "network": one.network,
            "metric": metric_words(one.metric).title,
            "against": one.against,
            "stratum": one.stratum,
            "difference": signed_number(one.value),
            "95 % interval": interval(one.low, one.high),
            "over": one.over,
            "p": "" if one.p is None else f"{one.p:.2g}",
            "test": one.test,
            "items": number(one.items),
            "seeds": number(len(one.seeds)),
            "note": one.note,
        }
        for one in differences
    ]
    return _made(title, rows, differences, ())


def score_matrix(
    scores: Sequence[Estimate],
    *,
    metric: str,
    rows: Across = "network",
    columns: Across = "arm",
    title: str = "",
) -> Table:
    """One metric with a row a network and a column an arm, or as named (S0-T1, S4-T2).

    Where several scores fall into one cell they all stand in it: nothing is averaged here.
    """
    mine = [one for one in scores if one.metric == metric]
    across = list(dict.fromkeys(str(getattr(one, columns)) for one in mine))
    cells: dict[str, dict[str, list[str]]] = {}
    for one in mine:
        row = cells.setdefault(str(getattr(one, rows)), {})
        shown = f"{number(one.value)} {interval(one.low, one.high)}".rstrip()
        row.setdefault(str(getattr(one, columns)), []).append(shown)
    shown_rows = [
        {rows: name, **{f"{one}": "; ".join(row.get(one, ["–"])) for one in across}}
        for name, row in cells.items()
    ]
    heading = title or metric_words(metric).axis.capitalize()
    return _made(heading, shown_rows, mine, _provenance(mine), whole=True)


def _made(
    title: str,
    rows: list[dict[str, str]],
    behind: Sequence[Estimate],
    provenance: Provenance,
    *,
    whole: bool = False,
) -> Table:
    table = pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame()
    repeats = table.height > 1 and not whole  # a column that only repeats itself is said once
    same = [name for name in table.columns if repeats and table[name].n_unique() == 1]
    everywhere = "; ".join(f"{name} {table[name][0]}" for name in same if table[name][0])
    metrics = dict.fromkeys(one.metric for one in behind)
    meaning = [
        f"{metric_words(metric).axis}: {metric_words(metric).meaning}".rstrip(": ")
        for metric in metrics
    ]
    return Table(
        title,
        table.drop(same),
        caption=" ".join(
            part
            for part in (f"In all rows: {everywhere}." if everywhere else "", _basis(behind))
            if part
        ),
        how=Origin(tuple(meaning), provenance),
        simulated=any(one.simulated for one in behind),
    )


def _basis(behind: Sequence[Estimate]) -> str:
    items = sorted({one.items for one in behind if one.items})
    seeds = {seed for one in behind for seed in one.seeds}
    over = over_text(one.over for one in behind)
    parts = []
    if items:
        most = f"{items[-1]:,}"
        parts.append(
            f"n = {most} items" if len(items) == 1 else f"n = {items[0]:,} to {most} items"
        )
    if seeds:
        parts.append(seeds_text(seeds))
    if over:
        parts.append(f"in brackets the 95 % interval over {over}")
    return f"{'; '.join(parts)}." if parts else ""


def _provenance(scores: Sequence[Estimate]) -> Provenance:
    """Every step behind any of the scores, once, in the order of first appearance."""
    steps: list[Step] = []
    for source in dict.fromkeys(one.source for one in scores if one.source):
        told = json.loads(source)
        for step in from_json([*told.get("model", []), *told.get("labels", [])]):
            if step not in steps:
                steps.append(step)
    return tuple(steps)


# Turn blocks into a page.

TEMPLATES = Path(__file__).parent / "templates"
BROAD = 5.6
"""Inches from which a figure is scrolled on a phone rather than shrunk until nobody can read it."""
ROWS_SHOWN = 24
"""Rows of a drawing's numbers on the page; the whole is in the CSV beside the figure."""


@dataclass(frozen=True)
class Text:
    """A paragraph; an empty line begins a new one."""

    text: str


Block = Drawing | Table | Text


@dataclass(frozen=True)
class Section:
    """A heading, what it is about, and its figures and tables."""

    title: str
    text: str = ""
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, repr=False)
class Page:
    """A whole report."""

    title: str
    subtitle: str = ""
    summary: tuple[Finding, ...] = ()
    sections: tuple[Section, ...] = ()
    how: Origin = field(default_factory=Origin)
    alone: bool = False
    """Whether no files of the figures lie beside the page."""

    def __repr__(self) -> str:
        return f"<Page {self.title!r}: {', '.join(section.title for section in self.sections)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in a frame of its own, so that styles do not mix."""
        page = html.escape(render(self), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:40rem;border:0"></iframe>'

    @property
    def simulated(self) -> bool:
        """Whether any figure or table on the page is."""
        return any(
            block.simulated
            for section in self.sections
            for block in section.blocks
            if not isinstance(block, Text)
        )

    @property
    def made(self) -> tuple[Made, ...]:
        """What was simulated, where anything was."""
        marked = (
            block.made
            for section in self.sections
            for block in section.blocks
            if not isinstance(block, Text) and block.simulated
        )
        return tuple(dict.fromkeys(marked))


def render(page: Page) -> str:
    """The page as one self-contained HTML text; the same page gives the same text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "kind": _kind,
        "paragraphs": _paragraphs,
        "cells": _cells,
        "plain": _plain,
        "figure": lambda drawing, number: _inline(drawing, f"f{number}"),
        "alt": _alt,
    }
    return environment.get_template("report.html.j2").render(page=page, rows_shown=ROWS_SHOWN)


def write(page: Page, path: Path) -> None:
    """Write the page, UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(page), encoding="utf-8")


WIDTH = 120
"""Characters in a line of Markdown."""


def render_markdown(page: Page, *, figures: Sequence[str] = ()) -> str:
    """The page as Markdown; ``figures`` are addresses of pictures, shown after the findings.

    Drawings themselves are left out: their tables are in files beside the page's own pictures.
    """
    parts = [f"# {page.title}\n"]
    if page.subtitle:
        parts.append(f"{_folded(page.subtitle)}\n")
    if page.summary:
        parts.append("\n".join(_folded(one.text, head="- ") for one in page.summary) + "\n")
    parts += [f"![{Path(each).stem.replace('-', ' ')}]({each})\n" for each in figures]
    for section in page.sections:
        blocks = [text for block in section.blocks if (text := _markdown_block(block))]
        if blocks or section.text:
            told = [f"{_folded(each)}\n" for each in _paragraphs(section.text)]
            parts += [f"## {section.title}\n", *told, *blocks]
    return "\n".join(parts)


def markdown_table(table: pl.DataFrame) -> str:
    """The rows as they are; what is missing is empty."""
    head = f"| {' | '.join(map(_markdown_cell, table.columns))} |\n|{'---|' * table.width}\n"
    rows = (f"| {' | '.join(map(_markdown_cell, row))} |\n" for row in table.iter_rows())
    return head + "".join(rows)


def duration(seconds: float | None) -> str:
    """A time in words.

    >>> duration(42), duration(400), duration(9000), duration(None)
    ('42 s', '7 min', '2.5 h', 'not noted')
    """
    if seconds is None:
        return "not noted"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _markdown_block(block: Block) -> str:
    match block:
        case Text():
            return "\n\n".join(_folded(each) for each in _paragraphs(block.text)) + "\n"
        case Table():
            caption = f"\n{_folded(block.caption)}\n" if block.caption else ""
            return f"**{block.title}**\n\n{markdown_table(block.table)}{caption}"
        case _:
            return ""


def _folded(text: str, head: str = "") -> str:
    return fill(
        text,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _markdown_cell(value: object) -> str:
    if value is None:
        return ""
    text = number(value) if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def _kind(block: Block) -> str:
    return type(block).__name__


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def _alt(drawing: Drawing) -> str:
    return f"{drawing.title}. {drawing.caption}"


def _plain(value: object) -> str:
    """A setting of a step as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cells(table: pl.DataFrame) -> list[list[tuple[str, bool]]]:
    """Rows of (text, whether it is a number and stands right)."""
    return [[_cell(value) for value in row] for row in table.iter_rows()]


SPARE = re.compile(r"(\.\d\d)\d+")
"""Decimals of a point that no screen and no printer shows."""

NUMERIC = re.compile(r"[+-]?[\d.,]+(e-?\d+)?( \[[^\]]*\])?|\[[^\]]*\]|[+-]?∞")


def _cell(value: object) -> tuple[str, bool]:
    if isinstance(value, bool):
        return ("yes" if value else "no"), False
    if value is None or isinstance(value, int | float):
        return number(value), True
    text = str(value)
    return text, NUMERIC.fullmatch(text) is not None


def _inline(drawing: Drawing, prefix: str) -> "Markup":
    """The SVG inside a page: identifiers of its own, colours from the page, no namespace."""
    from markupsafe import Markup

    text = drawing.svg[drawing.svg.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<title>.*?</title>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = text.replace("xlink:href=", "href=")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    text = _paper_removed(text)
    text = re.sub(r'\b(d|x|y)="[^"]*"', lambda found: SPARE.sub(r"\1", found[0]), text)
    for fixed, named in ((INK, "ink"), (FAINT, "faint"), (MARKED, "marked")):
        text = text.replace(fixed, f"var(--{named})")
    label = html.escape(_alt(drawing), quote=True)
    kind = "broad" if drawing.figure.get_figwidth() > BROAD else "narrow"
    named = f'<svg class="{kind}" role="img" aria-label="{label}" '
    return Markup(text.replace("<svg ", named, 1))


def _paper_removed(text: str) -> str:
    """Without the white sheet behind the figure, which is its first patch."""
    return re.sub(
        r'(id="[^"]*patch_1">\s*<path[^>]*style="fill: )#ffffff', r"\1none", text, count=1
    )
