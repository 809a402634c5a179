"""Draw whether stated confidence is earned: reliability diagrams."""

import numpy as np
import polars as pl

from sfumato.report.drawing import INK, Basis, Drawing, finished, panels, styles
from sfumato.report.figures.columns import NUMBER, TEXT, Kind, checked, groups, not_drawn, values
from sfumato.report.figures.marks import heading, legend

__all__ = ["reliability"]

LARGEST = 90.0
"""Area in points² of the dot of the fullest bin."""


def reliability(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "reliability",
    title: str = "Is the confidence earned?",
) -> Drawing:
    """Accuracy of each bin against its mean confidence; area of a dot is its items (S2-71)."""
    needed: dict[str, Kind] = {
        "arm": TEXT, "network": TEXT, "bin": NUMBER, "confidence": NUMBER, "accuracy": NUMBER,
        "items": NUMBER,
    }  # fmt: skip
    found = checked(table, needed, what="a reliability diagram")
    known = styles(found["arm"])
    parts = groups(found, "network")
    most = max(float(np.nanmax(values(found, "items"), initial=1.0)), 1.0)
    figure, axes = panels(len(parts), height=3.1)
    for one, (text, part) in zip(axes, parts, strict=True):
        one.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
        for arm, mine in groups(part, "arm"):
            mine = mine.sort("confidence")
            colour, marker, dash = known[arm]
            x, y = values(mine, "confidence"), values(mine, "accuracy")
            area = LARGEST * np.nan_to_num(values(mine, "items")) / most
            one.plot(x, y, dash, color=colour, linewidth=1.0)
            one.scatter(x, y, s=np.maximum(area, 6), c=colour, marker=marker, alpha=0.85, lw=0)
        heading(one, text)
        one.set(xlabel="mean confidence in the bin", ylabel="accuracy in the bin")
        one.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    legend(figure, known)
    caption = (
        "On the dashed line confidence is earned; below it the model is too sure. The area of a "
        f"dot is the number of items in its bin. {not_drawn(found, 'confidence', 'accuracy')}"
    ).strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis)
