"""``sfumato mix``: mixed images for people to judge and for networks to learn from."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import sfumato.cli.options as given
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.data import ImageSet
    from sfumato.provenance import Setting

__all__ = ["mix"]


def mix(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="New folder for mixes.csv and images/.")
    ],
    data: given.PictureData = None,
    images: given.OwnPictures = None,
    table: given.PictureTable = None,
    split: given.PictureSplit = None,
    items: Annotated[
        Path | None, typer.Option("--items", help="Text file: only these items, one a line.")
    ] = None,
    mixes: Annotated[
        Path | None, typer.Option("--mixes", help="Make the mixes of this table, draw none.")
    ] = None,
    coefficients: Annotated[
        str,
        typer.Option(
            "--coefficients",
            help="Groups with '/', in them numbers with ','; of each group one is drawn.",
        ),
    ] = "0.5/0.1,0.25/0.75,0.9",
    pairs: Annotated[
        int, typer.Option("--pairs", min=1, help="Pairs of images for each pair of classes.")
    ] = 6,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="Keep so many of all mixes, by chance.")
    ] = None,
    side: Annotated[
        int | None, typer.Option("--side", min=1, help="Pixels of the longer side; else as it is.")
    ] = None,
    seed: given.Seed = 0,
) -> None:
    """Mix pairs of images of different classes, reproducibly, with the table that says how."""
    import numpy as np

    from sfumato.judgments.mixed import choose_mixes, read_mixes
    from sfumato.studies.ambiguous import load_pictures
    from sfumato.studies.mixed_pictures import check_new, labels_of, write_mixed

    check_new(output)
    groups = _groups(coefficients)
    pictures = load_pictures(data, images=images, table=table, split=split)
    if items is not None:
        pictures = _only(pictures, items)
    if mixes is not None:
        chosen = read_mixes(mixes)
        settings: dict[str, Setting] = {"from": mixes.name}
    else:
        rng = np.random.default_rng(seed)
        chosen = choose_mixes(
            labels_of(pictures), pictures.classes, groups, pairs=pairs, count=count, rng=rng
        )
        settings = {"coefficients": coefficients, "pairs": pairs, "count": count, "seed": seed}
    write_mixed(chosen, pictures, output, side=side, settings=settings)
    classes = {name for one in chosen for name in (one.first_class, one.second_class)}
    typer.echo(
        f"Wrote {len(chosen):,} mixes of {len(classes)} classes to {output}: mixes.csv, images/ "
        "and, beside the table, how they were made."
    )


def _groups(text: str) -> list[list[float]]:
    try:
        return [[float(part) for part in group.split(",")] for group in text.split("/")]
    except ValueError:
        raise DataError(
            f"--coefficients takes numbers such as 0.5/0.1,0.25/0.75,0.9, not {text!r}."
        ) from None


def _only(pictures: "ImageSet", path: Path) -> "ImageSet":
    from sfumato.judgments.formats.reading import open_text

    with open_text(path) as file:
        wanted: Sequence[str] = [line.strip() for line in file if line.strip()]
    try:
        return pictures.take(wanted)
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None
