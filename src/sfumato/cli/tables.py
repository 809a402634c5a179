"""Lay out a table of texts on a screen, so that no name, number or word is broken.

A table that is too wide has its sentences wrapped between words; if that is not enough, its
columns are shown in several blocks beneath each other, each beginning with the names of its rows.
"""

from collections.abc import Sequence
from textwrap import wrap

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
