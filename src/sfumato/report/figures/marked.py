"""Mark a cell of the maps that ``grid_maps`` drew, so that a reader finds their own task."""

from collections.abc import Iterable
from dataclasses import replace

from matplotlib.text import Text

from sfumato.report.drawing import MARKED, Drawing

__all__ = ["mark_cell"]


def mark_cell(drawing: Drawing, *, x: float, y: float, what: str) -> Drawing:
    """A cross in a frame at ``x`` and ``y`` on every map that has such a cell, said in the caption.

    The figure of ``drawing`` itself is drawn on.
    """
    across, up = f"{x:g}", f"{y:g}"
    found = False
    for axes in drawing.figure.axes:
        columns = _places(axes.get_xticklabels(), axes.get_xticks())
        rows = _places(axes.get_yticklabels(), axes.get_yticks())
        if not axes.images or across not in columns or up not in rows:
            continue
        at = columns[across], rows[up]
        axes.plot(*at, "s", mfc="none", mec="white", markersize=15, mew=3.2)
        axes.plot(*at, "s", mfc="none", mec=MARKED, markersize=15, mew=1.6)
        axes.plot(*at, "x", color="white", markersize=7, mew=3.2)
        axes.plot(*at, "x", color=MARKED, markersize=7, mew=1.6)
        found = True
    if not found:
        return drawing
    return replace(drawing, caption=f"{drawing.caption} The framed cross is {what}.")


def _places(labels: Iterable[Text], ticks: Iterable[float]) -> dict[str, float]:
    return {label.get_text(): float(at) for label, at in zip(labels, ticks, strict=True)}
