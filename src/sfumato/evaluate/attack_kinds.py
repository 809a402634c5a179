"""Which attacks on images there are: how far pixels may move, how, and as which paper did it.

Bounds and steps are numbers of grey levels, that is in units of 1/255, and are named so: a
published bound of 4 without a unit has been read in two ways (C3).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.names import find

__all__ = ["ATTACKS", "LEVELS", "Attack", "Attacked", "PublishedAttack", "attack_named"]

LEVELS = 255
"""A bound of 4 is 4/255 of the way from black to white."""


@dataclass(frozen=True)
class Attack:
    """How far pixels may move and how the way there is found."""

    kind: Literal["fgsm", "pgd"]
    epsilon_255: float
    """The bound on the change of any pixel, in units of 1/255."""
    step_255: float = 0.0
    """The change of a pixel in one iteration, in units of 1/255; FGSM goes the whole bound."""
    iterations: int = 1
    random_start: bool = False
    """Whether PGD begins at a uniformly random point within the bound."""
    seed: int = 0
    """Of the random start."""
    keep: Literal["best", "last"] = "best"
    """What PGD has reached after k steps: each item's image of the highest loss so far, the
    clean one included, so that the loss never falls; or the last image, as published."""

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon_255 <= LEVELS:
            raise DataError(
                f"The bound of an attack is {self.epsilon_255}/255; it goes from 0 to 255, "
                "in units of 1/255."
            )
        if self.kind == "fgsm" and (self.iterations != 1 or self.random_start or self.step_255):
            raise DataError(
                "FGSM is one step of the whole bound from the clean image; "
                'for steps, iterations or a random start take kind "pgd".'
            )
        if self.kind == "pgd" and (self.step_255 <= 0 or self.iterations < 1):
            raise DataError(
                f"PGD has a step of {self.step_255}/255 and {self.iterations} iterations; "
                "give a step above 0 and at least one iteration."
            )


@dataclass(frozen=True)
class PublishedAttack:
    """An attack as a paper reports it."""

    attack: Attack
    labels: Literal["original", "people"]
    """The labels whose cross-entropy is driven up."""
    most_items: int | None
    """How many items were attacked; None for all."""
    note: str


ATTACKS: dict[str, PublishedAttack] = {
    "paper-1-fgsm": PublishedAttack(
        Attack("fgsm", 4), "original", None, "The bound of the text (S0-36); see C3."
    ),
    "paper-1-fgsm-stored": PublishedAttack(
        Attack("fgsm", 8),
        "original",
        None,
        "The bound of the stored results, which agree with the printed table (S0-36, C3).",
    ),
    "paper-1-pgd": PublishedAttack(
        Attack("pgd", 4, step_255=1, iterations=9, keep="last"),
        "original",
        100,
        "Iterations 0 to 9 on 100 images (S0-37).",
    ),
    "paper-3-fgsm": PublishedAttack(
        Attack("fgsm", 4), "people", 1000, "FGSM loss on up to 1,000 items (S2-75)."
    ),
    "paper-3-pgd": PublishedAttack(
        Attack("pgd", 4, step_255=2, iterations=10, random_start=True, keep="last"),
        "people",
        1000,
        "Judged unstable and not reported (S2-76).",
    ),
}


def attack_named(name: str) -> PublishedAttack:
    """The published attack of that name; an unknown name is told the nearest."""
    return find(ATTACKS, name, what="attack")


@dataclass(frozen=True, eq=False)
class Attacked:
    """What a network believes while its images are attacked; every item's values are kept."""

    attack: Attack
    images: NDArray[np.float32]  # (items, height, width, channels), after the last iteration
    beliefs: tuple[LabelSet, ...]
    """About the clean images, then after each iteration."""
    trained_on: int
    """How many of the attacked items the network had been trained on (C3)."""

    @property
    def items(self) -> tuple[str, ...]:
        """The attacked items."""
        return self.beliefs[0].items
