"""Print a finished grid as a page of the documentation, with the claims of paper 2.

``python -m sfumato.studies.informativeness.claims FOLDER > docs/results/informativeness-grid.md``
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

import polars as pl

from sfumato.errors import DataError
from sfumato.report.numbers import count
from sfumato.studies.informativeness.paper2 import Compared, compare_claims, counted
from sfumato.studies.informativeness.stored import GridRun, read_run
from sfumato.studies.informativeness.tables import (
    correlation_rows,
    noise_rows,
    noise_shown,
    rho_rows,
)

__all__ = ["main", "results_page"]

HEAD = """\
# How much labels of each form tell, in simulated worlds

The simulation of paper 2. Nobody was asked anything: items and classes are points drawn at
random, labels follow from their distances, and ρ says how well what is true is found again from
the labels alone ([plan-grid.md](../plan-grid.md)).

```sh
sfumato run {name} -o FOLDER
python -m sfumato.studies.informativeness.claims FOLDER  # prints this page
```

{worlds:,} worlds, {labels:,} sets of labels, {seeds}{took}. In brackets 95 % intervals
over seeds (Student's t); with few seeds they are wide.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page of a finished run; 1 where the folder is none."""
    parser = argparse.ArgumentParser(
        prog="python -m sfumato.studies.informativeness.claims",
        description="What paper 2 says and what a grid found, as a page in Markdown.",
    )
    parser.add_argument("folder", type=Path, help="folder of a finished run")
    folder: Path = parser.parse_args(arguments).folder
    try:
        page = results_page(read_run(folder))
    except DataError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(page)
    return 0


def results_page(run: GridRun) -> str:
    """The page in Markdown; the same run gives the same page."""
    grid, sizes = run.told.grid, run.study["curve_sizes"]
    compared = compare_claims(run.told)
    worlds = grid.select("items", "classes", "dimensions", "flipped", "seed").unique()
    head = HEAD.format(
        name=run.study["name"],
        worlds=len(worlds),
        labels=len(grid),
        seeds=count(run.study["seeds"], "seed"),
        took="" if run.seconds is None else f"; the grid took {run.seconds:.0f} s",
    )
    parts = [
        head,
        "## ρ of soft labels\n",
        _markdown(rho_rows(grid, "soft", sizes)),
        "## ρ of hard labels\n",
        _markdown(rho_rows(grid, "hard", sizes)),
        "## Information ratio and effective dimensionality\n",
        _markdown(correlation_rows(run.told)),
        *_noise(run),
        "## What paper 2 says, and what was found\n",
        f"{counted(compared)} Intervals do not allow for the number of comparisons.\n",
        "\n\n".join(_printed(one) for one in compared) + "\n",
    ]
    return "\n".join(parts)


def _noise(run: GridRun) -> list[str]:
    rows = noise_rows(run.told)
    if not len(rows):
        return []
    size, deep = run.study["flipped_at"]
    where = f"ρ of soft labels of {size} items and {size} classes in {deep} dimensions.\n"
    return ["## Wrong answers\n", where, _markdown(noise_shown(rows))]


def _printed(one: Compared) -> str:
    verdict = f"**{one.verdict}**" + (f" ({one.where})" if one.where else "")
    lines = [_folded("", f"{one.claim.says} ({one.claim.source}): {verdict}.")]
    lines += [""] if one.found else []
    lines += [_folded("- ", f"{name}: {found.text}") for name, found in one.found]
    return "\n".join([*lines, *(["", _folded("", one.claim.note)] if one.claim.note else [])])


def _folded(head: str, text: str) -> str:
    return fill(text, 120, initial_indent=head, subsequent_indent=" " * len(head))


def _markdown(table: pl.DataFrame) -> str:
    head = f"| {' | '.join(table.columns)} |\n|{'---|' * table.width}\n"
    cells = [["" if value is None else str(value) for value in row] for row in table.iter_rows()]
    return head + "".join(f"| {' | '.join(row)} |\n" for row in cells)


if __name__ == "__main__":
    raise SystemExit(main())
