"""How many inputs, and how long by the keystroke-level model, the same real answers take.

    python benchmarks/inputs.py DATA

For every answer of CIFAR-10S that makes a label: what its person had to click and type in the
published form, and what says the same in the distribution builder (chips of 5 %).

The published form: choose the first class and type its percentage, choose the second or "no
alternative" and type its percentage, tick every class it is definitely not, send. The builder:
click a bar where it should end, for the first and the second class; what is left to 100 % is
spread over the classes that are neither named nor ruled out, as the labels are built. Either the
others are marked as "not" and one click spreads the rest, or each of these classes gets its chips
by a click; people will do what is shorter. Answers of more than 100 % are scaled to 100.

Times are those of Card, Moran and Newell (1980): pointing 1.1 s, a button pressed and let go
0.2 s, a key 0.2 s, moving a hand between mouse and keys 0.4 s, and 1.35 s to think before each
thing that is said. They foretell practised hands, not doubt: they compare forms, not people.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.question import Statements

POINT, PRESS, KEY, HAND, THINK = 1.1, 0.2, 0.2, 0.4, 1.35
CLICK = POINT + PRESS
CHIP = 5


@dataclass(frozen=True)
class Said:
    """One answer: percentages of the named classes, and how many others there are of each kind."""

    named: tuple[float, ...]
    ruled_out: int
    """Classes said to be impossible that are not named."""
    silent: int
    """Classes that are neither named nor ruled out."""

    @property
    def rest(self) -> float:
        """What is left to 100 %, in whole chips."""
        return max(0.0, 100 - CHIP * sum(round(p / CHIP) for p in self.named))


@dataclass(frozen=True)
class Work:
    """Inputs (a typed number is one), and seconds with and without thinking."""

    inputs: int
    acting: float
    thinking: float


def main(data: Path) -> None:
    """Count and print."""
    judgments = read(data / "cifar10s" / "raw_human_data.csv", "cifar10s", ReadOptions())
    assert isinstance(judgments, Judgments)
    answers = [said(select(judgments).statements, row) for row in range(len(select(judgments)))]
    forms = {"published form": published, "distribution builder": builder}
    work = {name: [form(each) for each in answers] for name, form in forms.items()}
    print(f"{len(answers):,} answers of CIFAR-10S\n")
    print(f"{'':22}{'inputs':>8}{'median':>8}{'acting':>9}{'with thinking':>15}")
    for name, each in work.items():
        table = np.array([(one.inputs, one.acting, one.acting + one.thinking) for one in each])
        inputs, acting, whole = table.mean(axis=0)
        print(f"{name:22}{inputs:8.1f}{np.median(table[:, 0]):8.0f}{acting:7.1f} s{whole:13.1f} s")
    first, second = (
        np.array([(one.inputs, one.acting, one.acting + one.thinking) for one in each]).mean(axis=0)
        for each in work.values()
    )
    ratio = second / first
    print(f"{'builder / published':22}{ratio[0]:8.2f}{'':8}{ratio[1]:9.2f}{ratio[2]:15.2f}")


def said(stated: Statements, row: int) -> Said:
    at = stated.index[row]
    mass, rank, out = stated.mass[at], stated.rank[at], stated.ruled_out[at]
    order = [int(np.flatnonzero(rank == place)[0]) for place in (1, 2) if (rank == place).any()]
    percent = [float(np.nan_to_num(mass[place], nan=0.0)) * 100 for place in order]
    scale = max(1.0, sum(percent) / 100)
    others = np.ones(len(mass), dtype=bool)
    others[order] = False
    return Said(
        tuple(p / scale for p in percent),
        int((out & others).sum()),
        int((~out & others).sum()),
    )


def published(answer: Said) -> Work:
    clicks = 2 + answer.ruled_out + 1  # first, second or no alternative, ticks, send
    digits = [len(f"{p:.0f}") for p in answer.named]
    typed = sum(CLICK + HAND + KEY * count + HAND for count in digits)
    inputs = clicks + len(digits)
    # Each class was looked at before it was ticked or not.
    thoughts = 2 + len(digits) + answer.ruled_out + answer.silent
    return Work(inputs, CLICK * clicks + typed, THINK * thoughts)


def builder(answer: Said) -> Work:
    bars = sum(round(p / CHIP) > 0 for p in answer.named)
    if not answer.rest:
        spread, thoughts = 0, 0
    elif not answer.silent:
        spread, thoughts = 1, 1  # over the named ones
    else:
        marked = answer.ruled_out + 1  # each "not", then "rest evenly"
        spread = min(marked, answer.silent)
        thoughts = answer.ruled_out + answer.silent
    inputs = bars + spread + 1
    return Work(inputs, CLICK * inputs, THINK * (bars + thoughts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
