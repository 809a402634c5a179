import numpy as np
import polars as pl

from sfumato.reporting.draw import MARKED, Basis, Drawing
from sfumato.reporting.figures import grid_maps
from sfumato.reporting.figures.scores import mark_cell


def maps() -> Drawing:
    rows = [
        (panel, x, y, float(x + y))
        for panel, across in (("few", (3, 6)), ("many", (60, 1000)))
        for x in across
        for y in (5, 10)
    ]
    table = pl.DataFrame(rows, schema=["panel", "x", "y", "value"], orient="row")
    return grid_maps(table, Basis(False), xlabel="n", ylabel="k", text="value")


def crosses(drawn: Drawing) -> list[list[tuple[float, ...]]]:
    return [
        [tuple(np.asarray(line.get_xydata())[0].tolist()) for line in axes.lines]
        for axes in drawn.figure.axes
        if axes.images
    ]


def test_cell_is_marked_where_a_map_has_it_and_nowhere_else() -> None:
    drawn = mark_cell(maps(), x=1000, y=10, what="the task")

    few, many = crosses(drawn)
    assert few == []
    assert set(many) == {(1.0, 0.0)}  # the right column, the upper row
    assert any(line.get_markeredgecolor() == MARKED for line in drawn.figure.axes[1].lines)
    assert drawn.caption.endswith("The framed cross is the task.")


def test_nothing_is_said_where_no_map_has_the_cell() -> None:
    plain = maps()

    drawn = mark_cell(plain, x=7, y=10, what="the task")

    assert drawn is plain
    assert crosses(drawn) == [[], []]
