"""Where a study's images and judgments come from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.data import ImageSet, digits, fashion_mnist, own
from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import build
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.simulate import simulate
from sfumato.provenance import is_simulated

if TYPE_CHECKING:
    from sfumato.studies.study import Study

__all__ = ["SOURCES", "Material", "load_material", "time_signals"]


@dataclass(frozen=True, eq=False)
class Material:
    """What a study works on: pictures that people judged, in one order."""

    pictures: ImageSet
    judgments: Judgments
    original: LabelSet
    people: LabelSet
    """What people believe: the labels that every arm is compared with."""
    crowd: CrowdLabels
    """The same by judgment."""
    signals: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Numbers about each item that tell of doubt, such as ``response time``."""

    @property
    def simulated(self) -> bool:
        """Whether the people are simulated."""
        return is_simulated(self.people.provenance)


def load_material(study: "Study", data: Path | None) -> Material:
    """Pictures and judgments of a study; only items that have both are kept."""
    pictures, judgments = SOURCES[study.data](study, data)
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


def _digits(study: "Study", data: Path | None) -> tuple[ImageSet, Judgments]:
    pictures = digits.load()
    people = simulate(
        study.simulated.kind,
        digits.what_people_would_see(pictures),
        per_item=study.simulated.per_item,
        annotators=study.simulated.annotators,
        rng=np.random.default_rng(study.split_seed),
    )
    assert isinstance(people, Judgments)
    return pictures, people


def _fashion_h(study: "Study", data: Path | None) -> tuple[ImageSet, Judgments]:
    folder = _folder(data)
    counts = folder / "fashion_mnist_h" / "fmh-counts.npy"
    return fashion_mnist.load(folder), _read(counts, "fashion-mnist-h")


def _own(study: "Study", data: Path | None) -> tuple[ImageSet, Judgments]:
    given = study.own
    for name in ("images", "table", "judgments"):
        if not getattr(given, name):
            raise DataError(f"The study {study.name!r} needs `{name}` in its table [own].")
    size = (given.size[0], given.size[1]) if given.size else None
    pictures = own.load(Path(given.images), Path(given.table), size=size)
    return pictures, _read(Path(given.judgments), given.format)


def _read(path: Path, format_name: str) -> Judgments:
    found = read(path, format_name, ReadOptions())
    if not isinstance(found, Judgments):
        raise DataError(f"{path} holds no judgments of single items, which a study needs.")
    return found


def _folder(data: Path | None) -> Path:
    if data is None:
        raise DataError("The study needs a data set: set SFUMATO_DATA to the folder of data sets.")
    return data


SOURCES: dict[str, Callable[["Study", Path | None], tuple[ImageSet, Judgments]]] = {
    "digits": _digits,
    "fashion-mnist-h": _fashion_h,
    "own": _own,
}
