"""``sfumato ambiguous``: ambiguous images from one's own, labelled by networks, all synthetic."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.printing import print_json
from sfumato.cli.printing import progress

if TYPE_CHECKING:
    from sfumato.data import ImageSet
    from sfumato.labels.labelset import LabelSet
    from sfumato.learn.ambiguous import AmbiguousImages, AmbiguousRecipe

__all__ = ["ambiguous"]

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
NetworkName = Annotated[
    str | None, typer.Option("--network", help="What labels them (docs/networks.md).")
]
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


def ambiguous(
    output: Folder,
    data: given.PictureData = None,
    images: given.OwnPictures = None,
    table: given.PictureTable = None,
    split: given.PictureSplit = None,
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
    import sfumato.cli.printing as show

    show.say(
        f"SYNTHETIC images. Learnt from {facts['learnt_from']:,} of {given_pictures:,} pictures; "
        f"the networks are right on {facts['accuracy']:.1%} of {facts['held_out']:,} held out."
    )
    twice = facts["duplicates"]
    show.say(
        f"Of {facts['candidates']:,} mixes {facts['kept']:,} ({facts['share_kept']:.1%}) have a "
        f"mutual information of at most {facts['most_information']:.2g} nats"
        + f", as {facts['real_share_kept']:.1%} of the held-out pictures have."
        + (f" Mixes that equal another were left out: {twice:,}." if twice else "")
    )
    show.tabulate(
        "By entropy of the label, in nats",
        ("stratum", "mixes", "kept", "chosen"),
        [
            (row["stratum"], f"{row['candidates']:,}", f"{row['kept']:,}", f"{row['chosen']:,}")
            for row in facts["by_stratum"]
        ],
    )
