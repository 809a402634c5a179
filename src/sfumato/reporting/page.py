"""Turn a question, its answer, findings, figures and tables into one page, in HTML or Markdown.

Every page begins with its ``Lead``: the question, the answer in a sentence, one picture, how sure
it is and on what, what speaks against it. Findings follow, then sections and an appendix, folded.
An HTML page is one file that needs nothing else: figures are inline SVG whose ink takes the colour
of the page. It reads without scripts; the one it holds sorts tables, and a content policy in the
head forbids any other and every remote address, should a name ever slip through the escaping.
"""

import html
import json
import math
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.provenance import Provenance, Setting, Step, from_json, to_json
from sfumato.reporting.draw import (
    FAINT,
    INK,
    MARKED,
    Drawing,
    Made,
    legend_entries,
    panel_boxes,
)
from sfumato.reporting.text import Finding, number, with_ends
from sfumato.scores import Estimate, metric_words

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


@dataclass(frozen=True)
class Origin:
    """How something was computed: in words, by which steps, from which rows."""

    meaning: tuple[str, ...] = ()
    """Sentences with the formula, one per metric."""
    provenance: Provenance = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    """What it came from, step by step back to people's answers, in a few words each."""
    rows: str = ""
    """The address of the rows behind it, a file beside the page."""

    def __bool__(self) -> bool:
        return bool(self.meaning or self.path or self.provenance or self.settings)

    @property
    def back(self) -> tuple[str, ...]:
        """The path; where none is given, the names of the steps from the last to the first."""
        return self.path or tuple(map(_step_words, reversed(self.provenance)))

    @property
    def raw(self) -> str:
        """Steps and settings as JSON; empty where there are none."""
        told = {"steps": to_json(self.provenance), **self.settings}
        kept = {name: value for name, value in told.items() if value}
        return json.dumps(kept, indent=1, ensure_ascii=False, default=str) if kept else ""


def _step_words(step: Step) -> str:
    files = f" {', '.join(step.inputs)}" if step.inputs else ""
    return f"{step.name}{files}{' (simulated)' if step.simulated else ''}"


@dataclass(frozen=True, eq=False)
class Table:
    """A table for the page; numbers are formatted when it is shown, text is shown as it is."""

    title: str
    table: pl.DataFrame
    caption: str = ""
    how: Origin = field(default_factory=Origin)
    simulated: bool = False
    made: Made = "annotators"


@dataclass(frozen=True)
class Bar:
    """One number of a chart."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    group: str = ""
    """What stands as a heading above it, together with the others of the group."""
    strong: bool = False
    """Whether the sentence above is about it."""
    text: str = ""
    """The value in words, where three decimals do not say it well."""

    @property
    def shown(self) -> str:
        """The value beside the bar."""
        return self.text or number(self.value)


LONG_MARK = 4
"""Characters of a number on a scale, of which seven still stand apart on a phone."""


@dataclass(frozen=True)
class Chart:
    """A few numbers as a picture: a table whose middle column is drawn, so that it fits a phone."""

    title: str
    bars: tuple[Bar, ...]
    caption: str = ""
    from_zero: bool = False
    """Bars from zero on; otherwise dots on a scale that holds them all."""
    most: float | None = None
    """The end of the scale, where it is known, such as 1 for shares."""

    @property
    def scale(self) -> tuple[float, float]:
        """The least and the largest number of the scale."""
        ends = [end for bar in self.bars for end in (bar.value, bar.low, bar.high)]
        known = [end for end in ends if end is not None and math.isfinite(end)]
        low = 0.0 if self.from_zero else min(known, default=0.0)
        high = max(known, default=1.0) if self.most is None else self.most
        margin = 0.0 if self.from_zero else 0.06 * ((high - low) or abs(high) or 1.0)
        return low - margin, high + margin if high + margin > low - margin else low + 1

    def at(self, value: float | None) -> str:
        """Where on the scale a number lies, in percent."""
        low, high = self.scale
        inside = low if value is None or math.isnan(value) else min(max(value, low), high)
        return f"{100 * (inside - low) / (high - low):.2f}%"

    @property
    def ticks(self) -> list[tuple[str, str]]:
        """Round numbers on the scale with their places: seven at most, four where they are long."""
        marks = self._marks(6)
        if max(len(self._mark_text(mark)) for mark in marks) > LONG_MARK:
            marks = self._marks(3)  # so that they stand apart on a phone
        return [(self.at(mark), self._mark_text(mark)) for mark in marks]

    def _marks(self, most: int) -> list[float]:
        low, high = self.scale
        step = 10.0 ** math.floor(math.log10((high - low) / most))
        step *= next(each for each in (1, 2, 5, 10) if (high - low) / (each * step) <= most)
        first = math.ceil(low / step - 1e-9)
        return [step * at for at in range(first, math.floor(high / step + 1e-9) + 1)]

    def _mark_text(self, mark: float) -> str:
        if all(bar.text.endswith("%") for bar in self.bars):
            return f"{100 * mark:.10g}%"
        return f"{mark:,.10g}"

    @property
    def table(self) -> pl.DataFrame:
        """What is drawn, as text."""
        rows = [
            {"": bar.label, "of": bar.group, "value": bar.shown, "95 % interval": _ends(bar)}
            for bar in self.bars
        ]
        table = pl.DataFrame(rows) if rows else pl.DataFrame()
        empty = [name for name in table.columns if name and set(table[name]) == {""}]
        return table.drop(empty)


def _ends(bar: Bar) -> str:
    return "" if bar.low is None or bar.high is None else f"{number(bar.low)} to {number(bar.high)}"


@dataclass(frozen=True)
class Text:
    """A paragraph; an empty line begins a new one."""

    text: str


Block = Drawing | Chart | Table | Text


@dataclass(frozen=True)
class Section:
    """A heading, what it is about, and its figures and tables."""

    title: str
    text: str = ""
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Lead:
    """The first screen of a page."""

    question: str
    answer: str
    """One sentence with one number that a person can say aloud."""
    figure: Chart | None = None
    """The picture that shows it."""
    basis: tuple[str, ...] = ()
    """How sure it is and on what: people, items, seeds."""
    against: tuple[str, ...] = ()
    """What speaks against it."""
    how: Origin = field(default_factory=Origin)
    rows: tuple[Estimate, ...] = ()
    """The estimates that the answer tells."""
    of_people: bool = False
    """Whether the answer rests on people alone, though other parts of the page are simulated."""


@dataclass(frozen=True, repr=False)
class Page:
    """A whole report."""

    title: str
    lead: Lead | None = None
    about: str = ""
    """What was studied, in a sentence or two."""
    findings: tuple[Finding, ...] = ()
    compared: str = ""
    """What the findings are about, said once before them."""
    sections: tuple[Section, ...] = ()
    appendix: tuple[Section, ...] = ()
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
    def blocks(self) -> Iterator[Block]:
        """Every figure, table and paragraph of the sections and the appendix."""
        for section in (*self.sections, *self.appendix):
            yield from section.blocks

    @property
    def drawings(self) -> list[Drawing]:
        """Every figure that has files of its own."""
        return [block for block in self.blocks if isinstance(block, Drawing)]

    @property
    def rows(self) -> list[Estimate]:
        """The estimates behind the answer and the findings."""
        told = [row for one in self.findings for row in one.rows]
        return [*(self.lead.rows if self.lead else ()), *told]

    @property
    def made(self) -> tuple[Made, ...]:
        """What was simulated, where anything was."""
        marked = (
            block.made
            for block in self.blocks
            if isinstance(block, Drawing | Table) and block.simulated
        )
        return tuple(dict.fromkeys(marked))

    @property
    def made_text(self) -> str:
        """The sentence that says so, once on a page."""
        kinds = " and ".join(self.made)
        if self.lead is not None and self.lead.of_people:
            return f"Simulated {kinds} are behind later parts of this page, not behind the answer."
        return f"Simulated {kinds}: these numbers rest on made-up answers, not on people."


# Turn scores into tables for a reader: values with intervals, and how each was computed.


def score_table(
    scores: Sequence[Estimate],
    *,
    rows: Sequence[str] = ("network",),
    columns: str = "arm",
    title: str = "Scores",
) -> Table:
    """One value with its interval per cell, rows and columns named by fields (S0-T1, S4-T2).

    Where several scores fall into one cell they all stand in it: nothing is averaged here.
    """
    cells: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for one in scores:
        row = cells.setdefault(tuple(str(getattr(one, name)) for name in rows), {})
        row.setdefault(str(getattr(one, columns)), []).append(with_ends(one))
    across = list(dict.fromkeys(str(getattr(one, columns)) for one in scores))
    shown = [
        {
            **dict(zip(rows, key, strict=True)),
            **{name: "; ".join(row.get(name, ["–"])) for name in across},
        }
        for key, row in cells.items()
    ]
    notes = " ".join(dict.fromkeys(f"{one.metric}: {one.note}." for one in scores if one.note))
    return Table(
        title,
        pl.DataFrame(shown),
        notes,
        Origin(meaning_of(scores), provenance_of(scores)),
        any(one.simulated for one in scores),
    )


def meaning_of(scores: Sequence[Estimate]) -> tuple[str, ...]:
    """What each metric means, once."""
    words = (metric_words(metric) for metric in dict.fromkeys(one.metric for one in scores))
    return tuple(f"{each.axis}: {each.meaning}".rstrip(": ") for each in words)


def provenance_of(scores: Sequence[Estimate]) -> Provenance:
    """Every step behind any of the scores, once, in the order of first appearance."""
    steps: list[Step] = []
    for source in dict.fromkeys(one.source for one in scores if one.source):
        told = json.loads(source)
        for step in from_json([*told.get("model", []), *told.get("labels", [])]):
            if step not in steps:
                steps.append(step)
    return tuple(steps)


# Render a page as HTML.

TEMPLATES = Path(__file__).parent / "templates"
ROWS_SHOWN = 24
"""Rows of a drawing's numbers on the page; the whole is in the CSV beside the figure."""
BROAD = 460.0
"""Pixels from which a figure is scrolled on a phone rather than shrunk until nobody can read it."""
POINTS = 96 / 72
"""Pixels of a screen in a point of a figure."""


def render(page: Page) -> str:
    """The page as one self-contained HTML text; the same page gives the same text."""
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return _template().render(page=page, rows_shown=ROWS_SHOWN, script=script, digest=digest)


@cache
def _template() -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "paragraphs": _paragraphs,
        "cells": _cells,
        "figure": lambda drawing, number: _inline(drawing, f"f{number}"),
    }
    return environment.get_template("report.html.j2")


def write(page: Page, path: Path) -> None:
    """Write the page, UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(page), encoding="utf-8")


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


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
    """The SVG inside a page: identifiers of its own, colours from the page, no namespace.

    A figure of several panels is held once and shown panel by panel, each as broad as the column
    allows, so that a phone has them below each other.
    """
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
    label = html.escape(f"{drawing.title}. {drawing.caption}", quote=True)
    named = f'role="img" aria-label="{label}"'
    boxes = panel_boxes(drawing)
    if not boxes:
        wide = drawing.figure.get_figwidth() * 96
        kind = "broad" if wide > BROAD else "narrow"
        svg = text.replace("<svg ", f'<svg {named} class="{kind}" style="width:{wide:.0f}px" ', 1)
        box = f'<div class="wide" tabindex="0" role="region" aria-label="Figure {prefix[1:]}">'
        return Markup(f"{box}{svg}</div>")
    least = max(width for _, _, width, _ in boxes) * POINTS
    held = text.replace("<svg ", f'<svg {named} class="held" ', 1)
    shown = "".join(
        f'<svg aria-hidden="true" viewBox="{x:.1f} {y:.1f} {width:.1f} {height:.1f}" '
        f'style="max-width:{1.7 * width * POINTS:.0f}px"><use href="#{prefix}-figure_1"/></svg>'
        for x, y, width, height in boxes
    )
    names = "".join(
        f'<li><span style="color:{colour}">{sign}</span> {html.escape(name)}</li>'
        for sign, colour, name in legend_entries(drawing)
    )
    list_ = f'<ul class="legend">{names}</ul>' if names else ""
    columns = f"repeat(auto-fill, minmax(min(100%, {0.88 * least:.0f}px), 1fr))"
    style = f'style="grid-template-columns:{columns}"'
    return Markup(f'{list_}<div class="panels" {style}>{held}{shown}</div>')


def _paper_removed(text: str) -> str:
    """Without the white sheet behind the figure, which is its first patch."""
    return re.sub(
        r'(id="[^"]*patch_1">\s*<path[^>]*style="fill: )#ffffff', r"\1none", text, count=1
    )


# Render a page as Markdown.

WIDTH = 120
"""Characters in a line of Markdown."""


def render_markdown(page: Page) -> str:
    """The page as Markdown. Drawings are left out: they are files of their own."""
    parts = [*_markdown_lead(page)]
    if page.findings:
        told = [_folded(_with_behind(one), head="- ") for one in page.findings]
        parts += ["## Findings\n", *([f"{_folded(page.compared)}\n"] if page.compared else [])]
        parts.append("\n".join(told) + "\n")
    for section in page.sections:
        parts += _markdown_section(section, "##")
    if page.appendix:
        parts.append("## Appendix\n")
    for section in page.appendix:
        parts += _markdown_section(section, "###")
    return "\n".join(parts)


def _markdown_lead(page: Page) -> Iterator[str]:
    lead = page.lead
    yield f"# {lead.question if lead else page.title}\n"
    if page.about:
        yield f"{_folded(page.about)}\n"
    if lead is None:
        return
    yield f"**{lead.answer}**\n"
    if page.made:
        yield f"{_folded(page.made_text)}\n"
    if lead.figure is not None:
        yield _markdown_block(lead.figure)
    for title, lines in (
        ("How sure, and on what", lead.basis),
        ("What speaks against it", lead.against),
    ):
        if lines:
            yield f"**{title}**\n"
            yield "\n".join(_folded(line, head="- ") for line in lines) + "\n"


def _with_behind(one: Finding) -> str:
    return f"{one.text} *{one.behind}*" if one.behind else one.text


def _markdown_section(section: Section, mark: str) -> list[str]:
    blocks = [text for block in section.blocks if (text := _markdown_block(block))]
    if not blocks and not section.text:
        return []
    told = [f"{_folded(each)}\n" for each in _paragraphs(section.text)]
    return [f"{mark} {section.title}\n", *told, *blocks]


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
        case Table() | Chart():
            caption = f"\n{_folded(block.caption)}\n" if block.caption else ""
            title = f"**{block.title}**\n\n" if block.title else ""
            return f"{title}{markdown_table(block.table)}{caption}"
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


def _markdown_cell(value: Any) -> str:
    if value is None:
        return ""
    text = number(value) if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
