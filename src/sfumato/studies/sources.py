"""Where a study's images and judgments come from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.data import ImageSet, load, load_own, locate
from sfumato.data.digits import (
    label_by_neighbours,
    read_digit_images,
    read_digit_sources,
    read_original_labels,
)
from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.build import build
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.simulate import simulate
from sfumato.labels.soft_digits import read_soft_digits
from sfumato.learn.folds import Split
from sfumato.provenance import is_simulated

if TYPE_CHECKING:
    from sfumato.studies.study import Study

__all__ = ["SOURCES", "Material", "load_material", "time_signals"]


@dataclass(frozen=True, eq=False)
class Material:
    """What a study works on: pictures that people judged, in one order."""

    pictures: ImageSet
    original: LabelSet
    people: LabelSet
    """What people believe: the labels that every arm is compared with."""
    judgments: Judgments | None = None
    """None for data sets that hold labels only."""
    crowd: CrowdLabels | None = None
    """What people believe, by judgment."""
    model_made: LabelSet | None = None
    """Original labels as the distributions of the model that made the pictures (S4-13)."""
    made: Mapping[str, LabelSet] = field(default_factory=dict)
    """Labels that a data set without judgments holds, by the recipe that made them."""
    signals: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Numbers about each item that tell of doubt, such as ``response time``."""
    split: Split | None = None
    """The parts that came with the data."""

    @property
    def simulated(self) -> bool:
        """Whether the people are simulated."""
        return is_simulated(self.people.provenance)


def load_material(study: "Study", data: Path | None) -> Material:
    """What a study works on; only pictures that people judged are kept."""
    return SOURCES[study.data](study, data)


def _judged(study: "Study", pictures: ImageSet, everything: Judgments) -> Material:
    judgments = select(everything)  # repeats, checks and practice make no labels (C12)
    crowd = build(judgments, study.recipe).crowd
    people = crowd.mean()
    original = pictures.original()
    missing = [name for name in original.classes if name not in people.classes]
    if missing:
        raise DataError(
            f"The pictures have a class {missing[0]!r} that people were not asked about; their "
            f"classes are {', '.join(people.classes)}."
        )
    known = set(pictures.items)
    items = tuple(item for item in people.items if item in known)
    if not items:
        raise DataError(
            f"No judged item is among the pictures: people judged {people.items[0]!r}, the first "
            f"picture is {pictures.items[0]!r}."
        )
    pictures = pictures.take(items)
    return Material(
        pictures=pictures,
        judgments=judgments,
        original=_over(pictures.original(), people.classes),
        people=people.take(items),
        crowd=crowd,
        signals=time_signals(judgments, items),
    )


def _over(labels: LabelSet, classes: tuple[str, ...]) -> LabelSet:
    """The same labels with the classes that people could choose, in their order."""
    probs = np.zeros((len(labels), len(classes)))
    for place, name in enumerate(labels.classes):
        probs[:, classes.index(name)] = labels.probs[:, place]
    return LabelSet(labels.items, classes, probs, labels.weight, labels.provenance)


def time_signals(judgments: Judgments, items: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
    """``response time`` of each item: the mean logarithm of seconds; nothing without times."""
    table = judgments.table
    # Times are skewed: the mean is that of their logarithms.
    means = table.filter(pl.col("seconds") > 0).group_by("item").agg(pl.col("seconds").log().mean())
    known = dict(zip(means["item"], means["seconds"], strict=True))
    if not known:
        return {}
    return {"response time": np.array([known.get(item, np.nan) for item in items])}


def _digits(study: "Study", data: Path | None) -> Material:
    pictures = load("digits")
    people = simulate(
        study.simulated.kind,
        label_by_neighbours(pictures),
        per_item=study.simulated.per_item,
        annotators=study.simulated.annotators,
        rng=np.random.default_rng(study.split_seed),
    )
    assert isinstance(people, Judgments)
    return _judged(study, pictures, people)


def _fashion_h(study: "Study", data: Path | None) -> Material:
    folder = _folder(data)
    counts = folder / "fashion_mnist_h" / "fmh-counts.npy"
    return _judged(study, load("fashion-mnist-h", folder=folder), _read(counts, "fashion-mnist-h"))


def _soft_digits(source: str, study: "Study", data: Path | None) -> Material:
    """The digits of one source, with the labels and parts that are published (S4-55)."""
    path = locate("soft-digits", "soft-digits.parquet", _folder(data))
    known = read_soft_digits(path)
    made = {"yes-unsure-weighted": known.weighted, "yes-unsure-equal": known.equal}
    if study.recipe not in made:
        raise DataError(
            f"soft-digits holds labels by {' and '.join(made)}, not by {study.recipe!r}, and no "
            "single judgments to make others of."
        )
    origin = read_digit_sources(path)
    items = tuple(item for item in known.weighted.items if origin[item] == source)
    if not items:
        raise DataError(f"{path.name} has no picture of the source {source!r}.")
    pictures = read_digit_images(path).take(items)
    people = made[study.recipe].take(items)
    place = {item: row for row, item in enumerate(known.weighted.items)}
    rows = [place[item] for item in items]
    told = {"mean uncertainty": known.uncertainty, "unsure proportion": known.unsure}
    return Material(
        pictures=pictures,
        original=_over(pictures.original(), people.classes),
        people=people,
        model_made=_over(read_original_labels(path).take(items), people.classes),
        made={recipe: labels.take(items) for recipe, labels in made.items()},
        signals={
            name: values[rows] for name, values in told.items() if np.isfinite(values[rows]).any()
        },
        split=_given_split(pictures),
    )


def _given_split(pictures: ImageSet) -> Split | None:
    """The parts of the data set, where it has the three that a study needs."""
    train, validation, test = (
        tuple(item for item, part in zip(pictures.items, pictures.split, strict=True) if part == of)
        for of in ("train", "val", "test")
    )
    return Split(train, validation, test) if train and validation and test else None


def _own(study: "Study", data: Path | None) -> Material:
    given = study.own
    for name in ("images", "table", "judgments"):
        if not getattr(given, name):
            raise DataError(f"The study {study.name!r} needs `{name}` in its table [own].")
    size = (given.size[0], given.size[1]) if given.size else None
    pictures = load_own(Path(given.images), Path(given.table), size=size)
    return _judged(study, pictures, _read(Path(given.judgments), given.format))


def _read(path: Path, format_name: str) -> Judgments:
    found = read(path, format_name, ReadOptions())
    if not isinstance(found, Judgments):
        raise DataError(f"{path} holds no judgments of single items, which a study needs.")
    return found


def _folder(data: Path | None) -> Path:
    if data is None:
        raise DataError("The study needs a data set: set SFUMATO_DATA to the folder of data sets.")
    return data


SOURCES: dict[str, Callable[["Study", Path | None], Material]] = {
    "digits": _digits,
    "fashion-mnist-h": _fashion_h,
    "soft-digits": partial(_soft_digits, "mnist"),
    "soft-digits-synthetic": partial(_soft_digits, "mukhoti"),
    "own": _own,
}
