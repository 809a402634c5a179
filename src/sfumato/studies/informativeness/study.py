"""What a grid of simulated worlds is made of: everything a run is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sfumato.errors import DataError
from sfumato.planning.grid import (
    CURVE_SIZES,
    DIMENSIONS,
    FLIPPED_AT,
    FLIPS,
    KEPT,
    MAP_SIZES,
    default_points,
)
from sfumato.planning.worlds import PCA, Point

__all__ = ["SUBJECTS", "GridStudy", "Subject", "example_points", "points_of"]

Subject = Literal["information", "sparsity", "costs"]
"""What is asked of worlds: what hard and soft labels recover (sections 3, 4 and 6 of paper 2), what
thinned labels do (6), what labels are worth their cost (5 and 6)."""
SUBJECTS: tuple[Subject, ...] = ("information", "sparsity", "costs")
LABELLED: Mapping[Subject, tuple[str, ...]] = {
    "information": ("hard", "soft"),
    "sparsity": ("hard", "soft", "sparse", "top-class", "top-class-zero", PCA),
    "costs": ("hard", "soft", "sparse", "top-class"),
}
"""Forms of labels that a subject needs."""


@dataclass(frozen=True)
class GridStudy:
    """Numbers of items, classes and dimensions, and what labels are tried there (paper 2)."""

    name: str
    title: str
    about: str = ""
    """A sentence or two for the head of the report."""
    subjects: tuple[Subject, ...] = SUBJECTS
    """What is asked; nothing is simulated, claimed or drawn that none of them needs."""
    seeds: int = 3
    """Worlds of each n, k and d."""
    map_sizes: tuple[int, ...] = MAP_SIZES
    """Numbers of items and of classes for hard and soft labels."""
    curve_sizes: tuple[int, ...] = CURVE_SIZES
    """Numbers of items and of classes for all forms over k̂."""
    dimensions: tuple[int, ...] = DIMENSIONS
    kept: tuple[int, ...] = KEPT
    flips: tuple[float, ...] = FLIPS
    flipped_at: tuple[int, int] = FLIPPED_AT
    """Items and classes, and dimensions, of the task in which answers are flipped."""
    betas: tuple[float, ...] = (1e-4, 1e-3, 1e-2)
    """What a hard label's cost is worth, in maps of soft against hard."""
    loss_betas: tuple[float, ...] = (1e-4, 3e-4, 1e-3)
    """The same in curves over k̂, around where k̂ matters."""
    utilities: tuple[str, ...] = ("linear", "sigmoid", "inverse-sigmoid")

    def __post_init__(self) -> None:
        for name in (
            "subjects",
            "map_sizes",
            "curve_sizes",
            "dimensions",
            "kept",
            "flips",
            "betas",
            "loss_betas",
        ):
            if not getattr(self, name):
                raise DataError(f"The study {self.name!r} needs one of its {name} at least.")
        points_of(self)  # says what is wrong with the sizes

    @property
    def middle(self) -> int:
        """The number of dimensions for figures that have room for one."""
        return sorted(self.dimensions)[len(self.dimensions) // 2]


def points_of(study: GridStudy) -> list[Point]:
    """All worlds of a study, each once with everything that is asked of it."""
    everything = default_points(
        study.seeds,
        map_sizes=() if set(study.subjects) == {"sparsity"} else study.map_sizes,
        curve_sizes=study.curve_sizes,
        dimensions=study.dimensions,
        kept=study.kept,
        flips=study.flips if "information" in study.subjects else (),
        flipped_at=study.flipped_at,
    )
    needed = {form for subject in study.subjects for form in LABELLED[subject]}
    return [
        replace(point, asks=tuple(ask for ask in point.asks if ask.form in needed))
        for point in everything
    ]


def example_points(study: GridStudy) -> list[Point]:
    """Three worlds to look at closely: many items, as many as classes, many classes (S1-F2)."""
    sizes: Sequence[int] = sorted(study.curve_sizes)
    few, many = sizes[len(sizes) // 4], sizes[-1]
    tasks = dict.fromkeys([(many, few), (many, many), (few, many)])
    return [Point(n, k, study.middle, 0, ()) for n, k in tasks]
