"""``sfumato check``: does a file keep to our format, and if not, what is wrong where."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.options import refuse_existing
from sfumato.cli.printing import notify, print_line, print_result
from sfumato.errors import DataError

CheckedFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="Judgments, labels or predictions, or a folder that was published."
    ),
]
HeldContents = Annotated[
    str | None,
    typer.Option("--as", help="What it should be: judgments, labels or predictions."),
]
Badge = Annotated[
    Path | None, typer.Option("--badge", help="Also draw a badge with the verdict (.svg).")
]


def check(
    file: CheckedFile,
    held: HeldContents = None,
    badge: Badge = None,
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """Check a file against the format: what is wrong, where, what would be right."""
    from sfumato.labels.check import check as check_file
    from sfumato.labels.check import draw_badge

    if badge is not None and badge.suffix.lower() != ".svg":
        raise DataError(f"A badge is a picture in SVG: call it .svg, not {badge.name!r}.")
    refuse_existing(badge, overwrite=overwrite)
    checked = check_file(file, held)
    print_result(checked.to_json(), as_json, _print_check)
    if badge is not None:
        _write(badge, draw_badge(checked))
        notify(f"Wrote {badge}.")
    if not checked.valid:
        raise typer.Exit(1)


def _print_check(found: Mapping[str, Any]) -> None:
    from sfumato.judgments.formats.check import Problem

    print_line(found["verdict"])
    for problem in found["problems"]:
        print_line(f"  {Problem(**problem)}")
    for sentence in found["advice"]:
        print_line(f"  (should) {sentence}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}.") from None
