"""Print a finished analysis of H-Mix as tables in Markdown, for the documentation.

``python -m sfumato.studies.hmix.claims FOLDER``
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

import polars as pl

from sfumato.errors import DataError
from sfumato.studies.hmix.page import coefficient_rows, part_rows
from sfumato.studies.hmix.stored import HMixRun, read_run
from sfumato.studies.hmix.thesis import PART_NAMES, Compared, compare_claims, counted

__all__ = ["main", "results"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found; 1 where the folder is no finished run of this study."""
    parser = argparse.ArgumentParser(
        prog="python -m sfumato.studies.hmix.claims",
        description="What the thesis says of mixed images and what was found, in Markdown.",
    )
    parser.add_argument("folder", type=Path, help="folder of a finished run")
    folder: Path = parser.parse_args(arguments).folder
    try:
        text = results(read_run(folder))
    except DataError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(text)
    return 0


def results(run: HMixRun) -> str:
    """The parts of the release, answers by coefficient, and every claim with its verdict."""
    compared = compare_claims(run)
    parts = [
        _markdown(part_rows(run)),
        _markdown(coefficient_rows(run)),
        f"{counted(compared)}\n",
        "\n\n".join(_printed(one) for one in compared) + "\n",
    ]
    return "\n".join(parts)


def _printed(one: Compared) -> str:
    verdict = f"**{one.verdict}**" + (f" ({one.elsewhere})" if one.elsewhere else "")
    told = f"{one.claim.says} ({one.claim.source}): {verdict}."
    lines = [_folded("", told), ""]
    lines += [_folded("- ", f"thesis: {one.claim.paper}")] if one.claim.paper else []
    lines += [_folded("- ", f"{PART_NAMES[part]}: {f.text}") for part, f in one.found.items()]
    return "\n".join([*lines, *(["", _folded("", one.claim.note)] if one.claim.note else [])])


def _folded(head: str, text: str) -> str:
    return fill(text, 120, initial_indent=head, subsequent_indent=" " * len(head))


def _markdown(table: pl.DataFrame) -> str:
    head = f"| {' | '.join(_cell(name) for name in table.columns)} |\n|{'---|' * table.width}\n"
    return head + "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in table.iter_rows())


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")


if __name__ == "__main__":
    raise SystemExit(main())
