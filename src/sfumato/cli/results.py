"""``sfumato results``: finished runs as pages, and a scoreboard of the papers' claims."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["results"]


def results(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN", help="Folders of finished runs.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the pages.")] = Path(
        "docs/results"
    ),
) -> None:
    """Write runs as pages and JSON, and the scoreboard of everything in the folder."""
    from sfumato.studies.results.write import write_results

    for path in write_results(runs or [], output):
        typer.echo(f"Wrote {path}.")
