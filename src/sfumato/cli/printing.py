"""Print what a command found and how far it is.

Results go to standard output: one JSON object, or lines and tables for people. Everything else
goes to standard error: remarks, and the progress of long work, as a bar on a terminal and as
plain lines elsewhere.
"""

import json
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import Any, Protocol

import typer

WIDTH, NARROW = 100, 80
"""Tables are as wide as the screen, but not wider than the first; elsewhere than on a terminal as
wide as the second."""
QUIET_SECONDS = 3.0
"""Elsewhere than on a terminal, a line is written this often at most, and none for short work."""

_quiet = False


def set_quiet(quiet: bool) -> None:
    """Whether remarks and progress are left out; results and errors are printed all the same."""
    global _quiet
    _quiet = quiet


def print_json(found: Mapping[str, Any]) -> None:
    """One line and nothing else; a number that JSON does not know is an error."""
    typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))


def print_result(
    found: dict[str, Any], as_json: bool, show: Callable[[dict[str, Any]], None]
) -> None:
    """As the user asked for it."""
    if as_json:
        print_json(found)
    else:
        show(found)


def null_for_nan(value: Any) -> Any:
    """The same with null for what is not a number, which JSON cannot say."""
    match value:
        case dict():
            return {name: null_for_nan(held) for name, held in value.items()}
        case list():
            return [null_for_nan(held) for held in value]
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def print_line(text: str) -> None:
    """A line of text."""
    typer.echo(text)


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, names: int = 1
) -> None:
    """A titled table, numbers to the right; nothing where there are no rows.

    The first ``names`` columns say which row it is; a table too wide for the screen repeats them.
    """
    if not rows:
        return
    typer.echo(f"\n{title}")
    for line in table_lines(header, rows, width=_screen_width(), names=names):
        typer.echo(line)


def print_leaderboard(places: Sequence[Mapping[str, Any]]) -> None:
    """Models by their cross-entropy to people, with the test that compares them."""

    def cell(row: Mapping[str, Any], name: str) -> str:
        return format_interval(row[name], row[f"{name}_low"], row[f"{name}_high"])

    rows = [
        (
            str(row["rank"]),
            row["arm"],
            cell(row, "cross_entropy"),
            f"{row['accuracy']:.4f} ({row['accuracy_rank']})",
            cell(row, "behind"),
            "–" if row["p"] is None else f"{row['p']:.3f}",
        )
        for row in places
    ]
    header = ("", "model", "cross-entropy", "accuracy (rank)", "behind the first", "p")
    print_table("Closest to people first, with 95 % intervals over items", header, rows, names=2)
    tests = {row["test"] for row in places if row["test"]}
    for test in tests:
        print_line(f"p: {test}")


def format_interval(value: float | None, low: float | None, high: float | None) -> str:
    """A value and its interval in brackets; a dash where there is no value."""
    if value is None:
        return "–"
    if low is None or high is None:
        return f"{value:.4f}"
    return f"{value:.4f} [{low:.3f}, {high:.3f}]"


def format_number(value: float | int | None) -> str:
    """Whole numbers whole, others with two or four decimals; a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.2f}" if abs(value) >= 10 else f"{value:.4f}"


def simulation_mark(found: Mapping[str, Any]) -> str:
    """What stands behind numbers that simulated people are part of."""
    return " (SIMULATED answers)" if found["simulated"] else ""


def notify(text: str) -> None:
    """A line for the person at the screen, if they want any; standard output is for results."""
    if not _quiet:
        sys.stderr.write(f"{text}\n")


class Advance(Protocol):
    """Shows that so much is done; the note says more, such as the pace."""

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Move the bar, or write a line if the last was long ago."""


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """A function of (done, total) that shows how far ``what`` is."""
    if _quiet or not sys.stderr.isatty():
        yield _lines(what)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)

        def move(done: int, total: int, note: str = "") -> None:
            described = f"{what} ({note})" if note else what
            bar.update(task, completed=done, total=total, description=described)

        yield move


def _lines(what: str) -> Advance:
    last = time.monotonic()

    def show(done: int, total: int, note: str = "") -> None:
        nonlocal last
        if time.monotonic() - last >= QUIET_SECONDS:
            last = time.monotonic()
            notify(f"{what}: {done / max(total, 1):.0%}" + (f", {note}" if note else ""))

    return show


def _screen_width() -> int:
    return min(shutil.get_terminal_size(fallback=(NARROW, 24)).columns, WIDTH)


# Lay out a table of texts on a screen, so that no name, number or word is broken.
#
# A table that is too wide has its sentences wrapped between words; if that is not enough, its
# columns are shown in several blocks beneath each other, each beginning with the names of its rows.


GAP = "   "
LEAST_TEXT = 20
"""A column of sentences is not wrapped to fewer characters than this."""


def table_lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int, names: int = 1
) -> list[str]:
    """The lines of a table with at least one row, which its first ``names`` columns name.

    >>> for line in table_lines(["what", "value"], [["mean", "0.5"], ["n", "12"]], width=80):
    ...     print(line)
    what   value
    ────────────
    mean     0.5
    n         12
    """
    columns = [[name, *(row[at] for row in rows)] for at, name in enumerate(header)]
    right = [at > 0 and _are_numbers(column[1:]) for at, column in enumerate(columns)]
    lines: list[str] = []
    for block in _blocks(columns, right, width, names):
        shown = [columns[at] for at in block]
        widths = _fitted(shown, [right[at] for at in block], width)
        if lines:
            lines.append("")
        lines += _block_lines(shown, widths, [right[at] for at in block])
    return lines


def _block_lines(
    columns: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]
) -> list[str]:
    lines: list[str] = []
    for number, row in enumerate(zip(*columns, strict=True)):
        cells = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        for at in range(max(map(len, cells))):
            parts = [
                _padded(cell[at] if at < len(cell) else "", width, to_right)
                for cell, width, to_right in zip(cells, widths, right, strict=True)
            ]
            lines.append(GAP.join(parts).rstrip())
        if not number:
            lines.append("─" * (sum(widths) + len(GAP) * (len(widths) - 1)))
    return lines


def _blocks(
    columns: Sequence[Sequence[str]], right: Sequence[bool], width: int, names: int
) -> list[list[int]]:
    """Which columns stand beside each other; those that name the rows in every block."""
    least = [_least(column, numbers) for column, numbers in zip(columns, right, strict=True)]
    blocks = [[*range(names)]]
    for at in range(names, len(columns)):
        taken = sum(least[each] for each in blocks[-1]) + len(GAP) * len(blocks[-1])
        if taken + least[at] > width and len(blocks[-1]) > names:
            blocks.append([*range(names)])
        blocks[-1].append(at)
    return blocks


def _fitted(columns: Sequence[Sequence[str]], right: Sequence[bool], width: int) -> list[int]:
    """Widths that fit; the widest column of sentences gives way first."""
    widths = [max(map(_length, column)) for column in columns]
    least = [_least(column, numbers) for column, numbers in zip(columns, right, strict=True)]
    over = sum(widths) + len(GAP) * (len(widths) - 1) - width
    while over > 0:
        widest = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        if widths[widest] <= least[widest]:
            break  # a single word is wider than the screen: it stays whole
        widths[widest] -= 1
        over -= 1
    return widths


def _least(column: Sequence[str], numbers: bool) -> int:
    """How narrow a column may become: a word stays whole, a number with its interval too."""
    whole = max(map(_length, column))
    if numbers:
        return whole
    words = max((_length(word) for cell in column for word in cell.split()), default=0)
    return min(whole, max(words, LEAST_TEXT))


def _are_numbers(cells: Sequence[str]) -> bool:
    return all(cell[:1] in "0123456789-–" for cell in cells)


def _wrapped(cell: str, width: int) -> list[str]:
    if _length(cell) <= width:
        return [cell]
    return wrap(cell, width, break_long_words=False, break_on_hyphens=False)


def _padded(cell: str, width: int, to_right: bool) -> str:
    space = " " * max(width - _length(cell), 0)
    return space + cell if to_right else cell + space


def _length(text: str) -> int:
    """Columns of a screen; signs of East Asian scripts take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
