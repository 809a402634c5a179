"""Turn findings, drawings and tables into one HTML file that needs nothing else.

Figures are inline SVG with real text; their ink takes the colour of the page, so that they read in
light and in dark mode and on paper. No script, no remote address; a content policy in the head
forbids both, should a name ever slip through the escaping, which is on for everything.
"""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import polars as pl

from sfumato.reporting.draw import FAINT, INK, MARKED, Drawing, Made
from sfumato.reporting.tables import Origin, Table
from sfumato.reporting.text import Finding, number

if TYPE_CHECKING:
    from markupsafe import Markup

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


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    subtitle: str = ""
    summary: tuple[Finding, ...] = ()
    sections: tuple[Section, ...] = ()
    how: Origin = field(default_factory=Origin)

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
