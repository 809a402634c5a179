"""What the generator of ambiguous images makes of real digits or clothes: shares, doubt, a gallery.

``python examples/ambiguous_images.py mnist FOLDER`` (or ``fashion-mnist-h``, ``digits``) makes 500
synthetic images, writes them to FOLDER with ``sheet.png``, and prints how many mixes were kept, the
doubt in each stratum, and how often the networks' two likeliest classes are the two that were
mixed: where they are not, the label is about something that nobody put there.
"""

import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.learn.ambiguous import AmbiguousImages, AmbiguousRecipe, generate
from sfumato.learn.examples import Examples
from sfumato.studies.ambiguous import ambiguous_table, load_pictures, write_ambiguous


def main(data: str, folder: Path) -> None:
    """Generate, write, and say what came out."""
    pictures = load_pictures(data, split=None)
    started = time.process_time()
    made = generate(
        AmbiguousRecipe(), Examples(pictures.items, pictures.images), pictures.original()
    )
    facts = made.facts
    print(f"SYNTHETIC images from {data}: {time.process_time() - started:.0f} s of one core")
    print(
        f"The networks are right on {facts['accuracy']:.1%} of held-out pictures. Kept are "
        f"{facts['share_kept']:.1%} of {facts['candidates']:,} mixes, those with a mutual "
        f"information of at most {facts['most_information']:.3f} nats."
    )
    with pl.Config(
        tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3
    ):
        print(by_stratum(made))
    write_ambiguous(made, folder)
    print(f"Gallery: {folder / 'sheet.png'}")


def by_stratum(made: AmbiguousImages) -> pl.DataFrame:
    """Means of each stratum."""
    likeliest = np.array(made.labels.classes)[np.argsort(-made.labels.probs, axis=1)[:, :2]]
    mixed = [
        {*two} == {first, second}
        for two, first, second in zip(likeliest, made.first_class, made.second_class, strict=True)
    ]
    return (
        ambiguous_table(made)
        .with_columns(mixed=pl.Series(mixed))
        .group_by("stratum")
        .agg(
            pl.col("entropy").mean(),
            pl.col("mutual_information").mean(),
            pl.col("mixed").mean().alias("top two are the mixed"),
        )
        .sort("stratum")
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
