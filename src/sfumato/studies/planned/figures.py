"""Turn a plan into figures for the task's own numbers: S1-F1, F2, F3, F6, and error against M."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from sfumato.planning.advise import Task
from sfumato.planning.annotators import expected_error
from sfumato.planning.worlds import Point
from sfumato.reporting.draw import Basis, Drawing
from sfumato.reporting.figures import against_annotators
from sfumato.reporting.figures.scores import mark_cell
from sfumato.studies.informativeness.components import component_curves
from sfumato.studies.informativeness.figures import (
    dimension_maps,
    information_maps,
    kept_figure,
    pca_curves,
    rho_maps,
)
from sfumato.studies.planned.asked import Planned
from sfumato.studies.planned.simulated import (
    Advance,
    Sizes,
    around,
    dimensions_of,
    part_of,
    right_labels,
    sizes_of,
    stands_for,
)
from sfumato.studies.planned.weighed import draw_weighed

__all__ = ["Figures", "draw_figures"]

ERROR = "total-variation"
LEAST_PEOPLE = 20
"""The curve of error against people goes on at least so far."""


@dataclass(frozen=True, eq=False)
class Figures:
    """The drawings of a plan, by what they are about; a part may be empty."""

    told: tuple[Drawing, ...]
    recovered: tuple[Drawing, ...]
    weighed: tuple[Drawing, ...]
    people: tuple[Drawing, ...]

    def every(self) -> tuple[Drawing, ...]:
        """All of them, in the order of the page."""
        return (*self.told, *self.recovered, *self.weighed, *self.people)


def draw_figures(planned: Planned, *, advance: Advance) -> Figures:
    """Simulate around the task and draw; ``advance`` is told how far that is."""
    sizes = sizes_of(planned.task)
    return Figures(
        (_information(planned.task),),
        _recovered(planned, sizes, part_of(advance, 0.0, 0.6)),
        draw_weighed(planned, sizes, advance=part_of(advance, 0.6, 1.0)),
        _people(planned),
    )


def _information(task: Task) -> Drawing:
    drawn = information_maps(
        around(task.items, most=2 * task.items),
        around(task.classes, most=2 * task.classes),
        forms=("hard", "sparse", "soft"),
        title="How much answers tell: information ratio, by formula",
    )
    drawn = mark_cell(drawn, x=task.items, y=task.classes, what="the task")
    return _said(drawn, "Sparse answers name 2 classes. Each map has colours of its own.")


def _recovered(planned: Planned, sizes: Sizes, advance: Advance) -> tuple[Drawing, ...]:
    dims = dimensions_of(planned.task)
    labels = right_labels(sizes, dims, seed=planned.seed, advance=advance)
    own = labels.filter(items=sizes.n, classes=sizes.k)
    curves = component_curves([Point(sizes.n, sizes.k, d, planned.seed, ()) for d in dims])
    without = f"Labels without any error.{stands_for(planned.task, sizes)}"
    maps = [
        _said(mark_cell(drawn, x=sizes.n, y=sizes.k, what="the task"), without)
        for drawn in (rho_maps(labels), dimension_maps(labels))
    ]
    lines = "Hard and soft labels have no k̂ and are level lines; pca bounds what k̂ numbers tell."
    return (
        *maps,
        _said(pca_curves(curves), without),
        _said(kept_figure(own, interval=""), f"{without} {lines}"),
    )


def _people(planned: Planned) -> tuple[Drawing, ...]:
    """The expected error of a label against M, by form of the pilot (S3-11)."""
    if not planned.pilots:
        return ()
    plans = {each.form: each.people for each in planned.advice.alternatives}
    up_to = max([LEAST_PEOPLE, *(int(1.5 * plans.get(each.form, 1)) for each in planned.pilots)])
    curves = [
        expected_error(each.crowd, ERROR, up_to=up_to, draws=100, rng=_rng(planned, at)).table(
            each.form
        )
        for at, each in enumerate(planned.pilots)
    ]
    items = max(len(each.crowd.items) for each in planned.pilots)
    drawn = against_annotators(
        pl.concat(curves).with_columns(metric=pl.lit("label_error")),
        Basis(simulated=False, items=items, interval="items"),
        title="What is left of a label's error with M people an item",
    )
    said = (
        "Fitted to the pilot: the mass of a label that would lie elsewhere if everybody were asked."
    )
    return (_said(drawn, said),)


def _rng(planned: Planned, place: int) -> np.random.Generator:
    return np.random.default_rng([planned.seed, place])


def _said(drawn: Drawing, text: str) -> Drawing:
    return replace(drawn, caption=f"{drawn.caption} {text}")
