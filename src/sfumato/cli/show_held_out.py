"""Print how true to life simulated people are."""

import math
from collections.abc import Mapping
from typing import Any

from sfumato.cli.printing import print_line, print_table

__all__ = ["held_out"]


def held_out(found: Mapping[str, Any]) -> None:
    """How true to life each kind of habits is."""
    first = found["checks"][0]
    print_line(
        f"Fitted to {first['fitted_answers']:,} answers, compared with {first['tested_answers']:,} "
        f"of {first['tested_people']:,} people: half of the {found['held_out']} is held out."
    )
    for check in found["checks"]:
        rows = [
            (
                row["marginal"],
                f"{row['real']:.3f} [{row['low']:.3f}, {row['high']:.3f}]",
                f"{row['simulated']:.3f}",
                "yes" if row["reproduced"] else "NO",
                f"[{row['difference_low']:.3f}, {row['difference_high']:.3f}]",
                f"{row['p_holm']:.3f}",
            )
            if math.isfinite(row["real"] + row["simulated"])
            else (row["marginal"], "–", "–", "–", "–", "–")  # nobody says anything of the kind
            for row in check["marginals"]
        ]
        header = ("", "real [95 %]", "simulated", "within", "difference", "p")
        print_table(f"Habits {check['habits']}", header, rows)
    print_line(
        "\nwithin: the simulated value lies in the interval of the real one, over people. "
        "difference: 95 %\nof simulated − real, both halves' people resampled. p: "
        "Kolmogorov–Smirnov distance (spread: its\ndifference), people swapped with their "
        "simulated doubles, adjusted for the table's tests (Holm)."
    )
