"""Turn what people answered into habits, and habits into what simulated people answer.

A top-two answer is drawn as three numbers: the percent of the first choice, the percent of
the alternative (or that none is named), and how many classes stay possible. Three kinds of
habits draw them:

``published`` follows the thesis, appendix B.5: a Beta for each probability and a histogram,
drawn independently (S2-31, S2-33, S2-34). Every marginal is met but for its round numbers;
but real people who are sure name no alternative, and those drawn independently state more
than 100 % four times as often.

``joint`` draws all three numbers together, as one real answer had them. ``personal`` does so
too, but each simulated person answers as one real person did, so that people differ.
"""

from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import NOT_RECORDED
from sfumato.labels.simulate.beta import Beta, fit_beta
from sfumato.labels.simulate.crowd import draw_columns
from sfumato.labels.simulate.marginals import TwoChoices

__all__ = ["HABITS", "Habits", "HabitsName", "SeenHabits", "fit_habits"]

HabitsName = Literal["published", "joint", "personal"]

HABITS: dict[str, HabitsName] = {
    "published": "published",
    "joint": "joint",
    "personal": "personal",
}
"""The kinds of habits, by the name a user types."""

NOBODY = -1.0
"""The percent of an alternative that is not named; NaN: named without a number."""


@dataclass(frozen=True)
class Habits:
    """How people answer about items of one kind, in the terms of the thesis (``published``)."""

    top1: Beta
    """Probability of the first choice (S2-31)."""
    possible: tuple[float, ...]
    """Share of answers that leave 1, 2, 3, … classes possible, the first choice among them."""
    naming: float
    """Share of answers that name an alternative."""
    top2: Beta | None
    """Probability of the alternative where one is named (S2-34); None: nobody named one."""
    answers: int
    """How many answers these were fitted to."""

    def check(self, width: int, name: str) -> None:
        """Refuse a histogram that is not one over 1 to ``width`` classes."""
        if len(self.possible) != width or not np.isclose(sum(self.possible), 1):
            raise DataError(
                f"The numbers of possible classes for {name} entropy need one share for each "
                f"of 1 to {width} classes, summing to 1; found {list(self.possible)}."
            )

    def draw(self, person: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Percent of the first choice, of the second, number possible; shape (3, answers)."""
        count = len(person)
        percent1 = _typed(self.top1.draw(count, rng=rng))  # S2-31
        shares = np.array([self.possible])
        possible = 1 + draw_columns(shares, np.zeros(count, dtype=np.int64), rng=rng)  # S2-33
        several = 1 - self.possible[0]
        # An alternative can only be named among several, so that naming keeps its overall share.
        naming = min(self.naming / several, 1.0) if several > 0 else 0.0
        named = (possible >= 2) & (rng.random(count) < naming)
        top2 = self.top2.draw(count, rng=rng) if self.top2 else np.zeros(count)  # S2-34
        return np.stack([percent1, np.where(named, _typed(top2), NOBODY), possible])


@dataclass(frozen=True, eq=False)
class SeenHabits:
    """Real answers about items of one kind, of which whole ones are drawn."""

    drawn: NDArray[np.float64]  # (answers, 3) percent of first, of second (NOBODY), possible
    person: NDArray[np.int64]  # (answers,) whose answer it is; all 0: anybody draws any

    def __post_init__(self) -> None:
        # sorted by person, so that one person's answers lie together
        order = np.argsort(self.person, kind="stable")
        drawn = np.array(self.drawn, dtype=np.float64).reshape(-1, 3)[order]
        person = np.array(self.person, dtype=np.int64)[order]
        for array in (drawn, person):
            array.flags.writeable = False
        object.__setattr__(self, "drawn", drawn)
        object.__setattr__(self, "person", person)

    @property
    def answers(self) -> int:
        """How many answers there are to draw from."""
        return len(self.drawn)

    def check(self, width: int, name: str) -> None:
        """Refuse answers that leave no class, or more than ``width``, possible."""
        possible = self.drawn[:, 2]
        least = np.where(self.drawn[:, 1] == NOBODY, 1, 2)
        if not len(possible) or (possible < least).any() or possible.max() > width:
            raise DataError(
                f"The answers seen for {name} entropy need from 1 (2 with an alternative) to "
                f"{width} possible classes; found {sorted(set(possible.tolist()))}."
            )

    def draw(self, person: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.float64]:
        """For each entry one of that person's answers; shape (3, answers).

        Who has none about items of this kind answers as anybody does.
        """
        start = np.searchsorted(self.person, person, side="left")
        count = np.searchsorted(self.person, person, side="right") - start
        start, count = np.where(count, start, 0), np.where(count, count, self.answers)
        at = np.minimum((rng.random(len(person)) * count).astype(np.int64), count - 1)
        return self.drawn[start + at].T


def fit_habits(
    choices: TwoChoices,
    person: NDArray[np.int64],
    rows: NDArray[np.bool_],
    *,
    width: int,
    habits: HabitsName,
) -> Habits | SeenHabits:
    """The habits shown in the given answers; where they show none, those of all answers."""
    usable = ~np.isnan(choices.top1)
    kept = rows if (rows & usable).any() else np.ones_like(rows)
    of_kind, whose = choices.take(kept), person[kept]
    match habits:
        case "published":
            return _published(of_kind, width, answers=int(rows.sum()))
        case "joint":
            return _seen(of_kind, np.zeros_like(whose))
        case "personal":
            if (whose == NOT_RECORDED).any():
                raise DataError(
                    "Personal habits need to know who gave each answer, but these judgments do "
                    "not all say so. Use the habits 'joint'."
                )
            return _seen(of_kind, whose)
        case _:
            assert_never(habits)


def _published(choices: TwoChoices, width: int, *, answers: int) -> Habits:
    second = choices.top2[choices.named & ~np.isnan(choices.top2)]
    counted = np.bincount(np.maximum(choices.possible, 1), minlength=width + 1)[1:]
    return Habits(
        fit_beta(choices.top1[~np.isnan(choices.top1)]),
        tuple((counted / counted.sum()).tolist()),
        float(choices.named.mean()) if len(second) else 0.0,
        fit_beta(second) if len(second) else None,
        answers,
    )


def _seen(choices: TwoChoices, person: NDArray[np.int64]) -> SeenHabits:
    """Whole answers; one without a usable number for its first choice cannot be given again."""
    usable = ~np.isnan(choices.top1)
    kept = choices.take(usable)
    named = kept.named
    percent2 = np.where(named, 100 * kept.top2, NOBODY)
    # as released, a chosen class may count as impossible; what is said again contradicts nothing
    possible = np.maximum(kept.possible, np.where(named, 2, 1))
    drawn = np.stack([100 * kept.top1, percent2, possible], axis=1).round(9)
    return SeenHabits(drawn, person[usable])


def _typed(probs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole percents; at least one, for nobody names a class and says 0 % on purpose."""
    return np.clip(np.rint(100 * probs), 1, 100)
