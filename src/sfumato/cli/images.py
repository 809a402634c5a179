"""``sfumato mix`` and ``ambiguous``: images made from two others, for people and for networks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.printing import print_json, print_line, print_table, progress
from sfumato.errors import DataError

if TYPE_CHECKING:
    from sfumato.data import ImageSet
    from sfumato.labels.labelset import LabelSet
    from sfumato.learn.ambiguous import AmbiguousImages, AmbiguousRecipe
    from sfumato.provenance import Setting

PictureData = Annotated[
    str | None, typer.Option("--data", help="A dataset of pictures, such as digits or mnist.")
]
OwnPictures = Annotated[
    Path | None, typer.Option("--images", help="Folder or zip archive of one's own pictures.")
]
PictureTable = Annotated[
    Path | None, typer.Option("--table", help="CSV of the pictures: item, label[, split].")
]
PictureSplit = Annotated[
    str | None, typer.Option("--split", help="Only pictures of this split of the table.")
]
Folder = Annotated[
    Path, typer.Option("--output", "-o", help="New folder for images, labels and table.")
]
Taught = Annotated[
    Path | None,
    typer.Option("--labels", help="Distributions to teach the networks, not the own labels."),
]
Count = Annotated[int, typer.Option("--count", min=1, help="How many images to make.")]
Between = Annotated[
    list[str] | None,
    typer.Option("--between", help="Mix images of this class; repeatable. All by default."),
]
Strata = Annotated[
    int, typer.Option("--strata", min=1, help="Ranges of entropy, equally many images each.")
]
MostInformation = Annotated[
    float | None,
    typer.Option("--most-information", help="Nats by which networks may disagree on one."),
]
Candidates = Annotated[int, typer.Option("--candidates", min=1, help="Mixes to choose from.")]
NetworkName = Annotated[str | None, typer.Option("--network", help="What labels them (see below).")]
Members = Annotated[int, typer.Option("--members", min=2, help="Networks that label together.")]
NetworkSteps = Annotated[
    int, typer.Option("--network-steps", min=1, help="Batches each network learns from.")
]
VaeSteps = Annotated[int, typer.Option("--vae-steps", min=1, help="Batches the VAE learns from.")]
Latents = Annotated[
    int, typer.Option("--latents", min=1, help="Dimensions of the VAE's latent space.")
]
LearnFrom = Annotated[
    int, typer.Option("--learn-from", min=1, help="Pictures at most to learn from and mix.")
]


def mix(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="New folder for mixes.csv and images/.")
    ],
    data: PictureData = None,
    images: OwnPictures = None,
    table: PictureTable = None,
    split: PictureSplit = None,
    items: Annotated[
        Path | None, typer.Option("--items", help="Text file: only these items, one per line.")
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
    from sfumato.studies.ambiguous import check_new, labels_of, load_pictures, write_mixed

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


def ambiguous(
    output: Folder,
    data: PictureData = None,
    images: OwnPictures = None,
    table: PictureTable = None,
    split: PictureSplit = None,
    labels: Taught = None,
    count: Count = 500,
    between: Between = None,
    strata: Strata = 5,
    most_information: MostInformation = None,
    candidates: Candidates = 20_000,
    network: NetworkName = None,
    members: Members = 5,
    network_steps: NetworkSteps = 1000,
    vae_steps: VaeSteps = 1500,
    latents: Latents = 8,
    learn_from: LearnFrom = 10_000,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> None:
    """Make synthetic ambiguous images: decoded mixes of two, labelled by networks."""
    from sfumato.learn.ambiguous import AmbiguousRecipe, VaeRecipe
    from sfumato.studies.ambiguous import (
        check_folder,
        load_pictures,
        taught_labels,
        write_ambiguous,
    )

    recipe = AmbiguousRecipe(
        count=count,
        strata=strata,
        most_information=most_information,
        candidates=candidates,
        between=tuple(between or ()),
        network=network,
        members=members,
        network_steps=network_steps,
        learn_from=learn_from,
        vae=VaeRecipe(latents=latents, steps=vae_steps),
        seed=seed,
    )
    check_folder(output)
    pictures = load_pictures(data, images=images, table=table, split=split)
    made = _made(recipe, pictures, taught_labels(pictures, labels))
    written = write_ambiguous(made, output)
    if as_json:
        found = {"synthetic": True, **made.facts, "written": str(output)}
        print_json(found)
        return
    _show(made.facts, given_pictures=len(pictures))
    typer.echo(f"\nWrote {', '.join(written)} to {output}. Look at sheet.png before you use them.")


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


def _made(recipe: "AmbiguousRecipe", pictures: "ImageSet", labels: "LabelSet") -> "AmbiguousImages":
    from sfumato.learn.ambiguous import generate
    from sfumato.learn.examples import Examples

    with progress("Making ambiguous images") as advance:
        return generate(
            recipe,
            Examples(pictures.items, pictures.images),
            labels,
            advance=lambda what, done, total: advance(done, total, what.lower()),
        )


def _show(facts: Mapping[str, Any], *, given_pictures: int) -> None:
    print_line(
        f"SYNTHETIC images. Learnt from {facts['learnt_from']:,} of {given_pictures:,} pictures; "
        f"the networks are right on {facts['accuracy']:.1%} of {facts['held_out']:,} held out."
    )
    twice = facts["duplicates"]
    print_line(
        f"Of {facts['candidates']:,} mixes {facts['kept']:,} ({facts['share_kept']:.1%}) have a "
        f"mutual information of at most {facts['most_information']:.2g} nats"
        + f", as {facts['real_share_kept']:.1%} of the held-out pictures have."
        + (f" Mixes that equal another were left out: {twice:,}." if twice else "")
    )
    print_table(
        "By entropy of the label, in nats",
        ("stratum", "mixes", "kept", "chosen"),
        [
            (row["stratum"], f"{row['candidates']:,}", f"{row['kept']:,}", f"{row['chosen']:,}")
            for row in facts["by_stratum"]
        ],
    )
