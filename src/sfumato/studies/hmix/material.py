"""Turn the files of H-Mix, CIFAR-10 and CIFAR-10H into the tables that are analysed."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy

from sfumato.data import ImageSet, load, load_split, locate
from sfumato.judgments.formats.datasets import CIFAR10, read_hmix, read_hmix_labels
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.formats.tables import load_array
from sfumato.judgments.mixed import Mix, mix_named, mixes_of
from sfumato.labels.files import read_crowd_labels
from sfumato.labels.labelset import CrowdLabels
from sfumato.labels.make import LabelSettings, make_labels
from sfumato.provenance import Provenance
from sfumato.studies.hmix.study import LATER, THESIS

__all__ = ["OF_THESIS", "Material", "read_material"]

OF_THESIS = pl.col("shown").n_unique().over("first_item", "second_item") > 1
"""Which answers of ``hmix_infer_mixing_factor.csv`` are the thesis's: it mixes its 270 pairs of
images with three coefficients each (S2-09), the later collection its 1,260 with one."""

MIDPOINTS = ("hmix_construct_midpoint.csv", "hmix_select_shuffled_midpoint.csv")


@dataclass(frozen=True, eq=False)
class Material:
    """All answers about mixed images, and the images they are made of."""

    inferred: pl.DataFrame
    """An answer a row: mix, part, shown, perceived, confidence, error, view …, and the entropy of
    people's votes on both endpoints (``first_entropy``, ``second_entropy``)."""
    midpoints: pl.DataFrame
    """An answer a row: mix (the pair of images), perceived (the coefficient chosen), task."""
    labels: pl.DataFrame
    """An answer a row: mix, annotator, and the released label, a column a class."""
    consistent: pl.DataFrame
    """The same answers as labels of ours (top2-clamp)."""
    mixes: dict[str, Mix]
    """By the names of their files."""
    images: ImageSet
    """The test images of CIFAR-10."""
    training_items: frozenset[str]
    """The 7,000 test images that the thesis trains on."""
    provenance: Provenance


def read_material(folder: Path | None) -> Material:
    """Read everything; a missing file is an error that says where to get it."""
    answers = read_hmix(locate("hmix", "hmix_infer_mixing_factor.csv", folder), ReadOptions())
    midpoints = [read_hmix(locate("hmix", name, folder), ReadOptions()) for name in MIDPOINTS]
    released, consistent = _soft_labels(folder)
    images = load("cifar10", "test", folder)
    split = load_split("cifar10s", folder)
    steps = (*answers.provenance, *(one.provenance[0] for one in midpoints), *images.provenance)
    return Material(
        inferred=_with_endpoints(_in_parts(answers.table), folder),
        midpoints=pl.concat([one.table for one in midpoints]),
        labels=released,
        consistent=consistent,
        mixes=mixes_of(answers),
        images=images,
        training_items=frozenset(item for item, part in split.items() if part == "train"),
        provenance=steps,
    )


def _in_parts(table: pl.DataFrame) -> pl.DataFrame:
    """Answers with the ``part`` they belong to and how far they are off (``error``).

    ``OF_THESIS`` tells mixes, and by them people, apart.
    """
    return table.with_columns(
        part=pl.when(OF_THESIS).then(pl.lit(THESIS)).otherwise(pl.lit(LATER)),
        error=(pl.col("perceived") - pl.col("shown")).abs(),
        pair=pl.format("{} + {}", "first_class", "second_class"),
    )


def _with_endpoints(table: pl.DataFrame, folder: Path | None) -> pl.DataFrame:
    counts = load_array(locate("cifar10h", "cifar10h-counts.npy", folder), dimensions=2)
    entropies = pl.Series(entropy(counts, axis=1))  # nats; the rows are normalised
    return table.with_columns(
        entropies.gather(table[f"{which}_item"].cast(pl.Int64)).alias(f"{which}_entropy")
        for which in ("first", "second")
    )


def _soft_labels(folder: Path | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The released labels of mixed images with their authors, and ours of the same answers."""
    answers = read_hmix_labels(
        locate("hmix", "hmix_categorical_soft_labels.csv", folder), ReadOptions()
    )
    wanted = [
        LabelSettings("top2-clamp", rule=rule, keep=("repeats",))
        for rule in ("released", "consistent")
    ]
    near, ours = (make_labels(answers, settings).crowd for settings in wanted)
    stored = read_crowd_labels(
        locate("hmix", "hmix_individ_soft_labels.json", folder), classes=CIFAR10
    )
    return _table(_authored(stored, near)), _table(ours)


def _authored(released: CrowdLabels, near: CrowdLabels) -> CrowdLabels:
    """Released labels with their annotators, which the file leaves out.

    Each label of a mix belongs to the answer whose label by our recipe is nearest, each to one.
    """
    annotator = np.empty(len(released), dtype=np.int64)
    for place, item in enumerate(released.items):
        theirs = np.flatnonzero(released.item == place)
        ours = np.flatnonzero(near.item == near.items.index(item))
        apart = np.abs(released.probs[theirs][:, None] - near.probs[ours][None]).sum(axis=2)
        rows, columns = linear_sum_assignment(apart)
        annotator[theirs[rows]] = near.annotator[ours[columns]]
    return CrowdLabels(
        released.items,
        near.annotators,
        released.classes,
        released.item,
        annotator,
        released.probs,
        released.provenance,
    )


def _table(labels: CrowdLabels) -> pl.DataFrame:
    items = [labels.items[place] for place in labels.item]
    mixes = [mix_named(item) for item in items]
    at = np.arange(len(labels))
    ends = [_mass(labels, at, [mix.first_class for mix in mixes])]
    ends.append(_mass(labels, at, [mix.second_class for mix in mixes]))
    return pl.DataFrame(
        {
            "mix": items,
            "annotator": [labels.annotators[place] for place in labels.annotator],
            "shown": [mix.coefficient for mix in mixes],
            "first_mass": ends[0],
            "second_mass": ends[1],
            "other_mass": 1 - ends[0] - ends[1],
        }
    ).hstack(pl.DataFrame(labels.probs, schema=list(labels.classes)))


def _mass(labels: CrowdLabels, at: NDArray[np.int64], classes: list[str]) -> NDArray[np.float64]:
    places = [labels.classes.index(name) for name in classes]
    return labels.probs[at, places]
