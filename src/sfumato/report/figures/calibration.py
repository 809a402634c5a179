"""Draw whether stated confidence is earned: reliability diagrams."""

import numpy as np
import polars as pl

from sfumato.report.drawing import INK, Basis, Drawing, finished, panels, styles
from sfumato.report.figures.columns import NUMBER, TEXT, Kind, checked, groups, not_drawn, values
from sfumato.report.figures.marks import heading, legend

__all__ = ["reliability"]

LARGEST = 90.0
"""Area in points² of the dot of the fullest bin."""
COLUMNS = 3


def reliability(
    table: pl.DataFrame,
    basis: Basis,
    *,
    name: str = "reliability",
    title: str = "Is the confidence earned?",
) -> Drawing:
    """Accuracy of each bin against its mean confidence, a panel an arm (S2-71).

    A network is a colour; the area of a dot is the number of its items.
    """
    needed: dict[str, Kind] = {
        "arm": TEXT, "network": TEXT, "bin": NUMBER, "confidence": NUMBER, "accuracy": NUMBER,
        "items": NUMBER,
    }  # fmt: skip
    found = checked(table, needed, what="a reliability diagram")
    known = styles(found["network"])
    alone = next(iter(known)) if len(known) == 1 else ""  # which no legend names
    parts = groups(found, "arm")
    most = max(float(np.nanmax(values(found, "items"), initial=1.0)), 1.0)
    figure, axes = panels(len(parts), columns=COLUMNS, height=2.6)
    for at, (one, (text, part)) in enumerate(zip(axes, parts, strict=True)):
        one.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
        for network, mine in part.group_by("network", maintain_order=True):
            mine = mine.sort("confidence")
            colour, marker, dash = known[str(network[0])]
            x, y = values(mine, "confidence"), values(mine, "accuracy")
            area = LARGEST * np.nan_to_num(values(mine, "items")) / most
            one.plot(x, y, dash, color=colour, linewidth=0.9, alpha=0.6)
            one.scatter(x, y, s=np.maximum(area, 6), c=colour, marker=marker, alpha=0.85, lw=0)
        heading(one, " · ".join(word for word in (text, alone) if word), width=30)
        one.set_xlabel("mean confidence in the bin")
        one.set_ylabel("" if at % COLUMNS else "accuracy in the bin")
        one.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    legend(figure, known)
    caption = (
        "On the dashed line confidence is earned; below it the model is too sure. The area of a "
        f"dot is the number of items in its bin. {not_drawn(found, 'confidence', 'accuracy')}"
    ).strip()
    return finished(name, title, caption, figure=figure, table=table, basis=basis)
