"""What paper 2 claims in its section 7, sentence by sentence, with the numbers of its table 1."""

from sfumato.studies.comparison.cifar10h_sets import CINIC, CORRUPTED, IMAGENET_FAR, NEAR, V4, V6
from sfumato.studies.comparison.label_sets import (
    HARD,
    IN_FILLED,
    LS_HIGH,
    LS_LOW,
    PEOPLE,
    PER_CLASS,
    few,
)
from sfumato.studies.comparison.ladder import growth
from sfumato.studies.comparison.resonance import DISTANCE, OWN
from sfumato.studies.comparison.told import Claim

__all__ = ["LABELS_CLAIMS", "OUR_LADDER", "PAPER_LADDER", "SMALL_CLAIMS", "TABLE_1", "TESTED"]

PAPER_LADDER = (NEAR, V6, V4, CINIC, IMAGENET_FAR)
OUR_LADDER = (NEAR, *CORRUPTED)
TESTED = PEOPLE
"""What small-data arms are held against; the paper does not say what it did."""
TABLE_1: dict[str, tuple[float, float]] = {
    HARD: (1.80, 2.20),
    IN_FILLED: (1.68, 2.15),
    PEOPLE: (1.67, 2.15),
    LS_LOW: (1.73, 2.19),
    LS_HIGH: (1.71, 2.13),
}
"""Cross-entropy with 80 and with 8 images of each class, of the label sets that can be had."""

FIGURE = "paper 2, section 7.2, figure 5"
DRAWN = "shown as points only"
U_SHAPE = (
    "A U over five label sets: people's votes lie in its middle, hard labels and strong smoothing "
    "at its ends. A small network and 20 epochs instead of five large ones and chosen rates."
)
OUR_STEPS = (
    "The paper goes from CIFAR-10 to ImageNet; here from clean to corrupted CIFAR-10 images, a "
    "ladder of ours."
)
NO_DENSE = "The dense labels CIFAR-10DS were never published (S1-59)."
NO_TYPICAL = "The typicality labels CIFAR-10T were never published (S1-59)."
NO_RATINGS = "The similarity ratings were never published (S1-59)."
UNSAID = (
    f"The paper does not say which labels it tests against; here {TESTED}. A small network and "
    "fixed epochs instead of the best of several seeds and rates."
)


def _where(data: str) -> str:
    return f"Tested only where the folder of data sets has {data}."


def _u(against: str, end: str, *, source: str = FIGURE, note: str = U_SHAPE) -> Claim:
    """One side of the U: people's votes in its middle against one of its ends."""
    return Claim(
        source,
        f"Tested on {against}, cross-entropy is lower after learning {PEOPLE} than after learning "
        f"{'hard labels' if end == HARD else end}.",
        DRAWN,
        "cross_entropy",
        PEOPLE,
        end,
        "lower",
        against,
        note=note,
    )


def _further(first: str, ladder: tuple[str, ...], note: str) -> Claim:
    return Claim(
        "paper 2, section 7.3, figure 5",
        f"The further away the images ({ladder[0]} to {ladder[-1]}), the more {first} gains over "
        "hard labels in cross-entropy.",
        DRAWN,
        "cross_entropy",
        first,
        HARD,
        "lower",
        growth(ladder),
        note=note,
    )


def _resonates(other: str) -> Claim:
    return Claim(
        "paper 2, appendix C, figure 7",
        f"Models are closer to their labels in entropy after learning {IN_FILLED} than after "
        f"learning {'hard labels' if other == HARD else other}.",
        "“a remarkable alignment” for the CIFAR-10S varieties; shown as histograms only",
        DISTANCE,
        IN_FILLED,
        other,
        "lower",
        OWN,
        note="Closer: Wasserstein's distance of the two histograms of entropy on held-out images.",
    )


def _untestable(source: str, says: str, note: str, paper: str = DRAWN) -> Claim:
    return Claim(source, says, paper, note=note)


LABELS_CLAIMS: tuple[Claim, ...] = (
    *(
        _u(against, end)
        for against in (PEOPLE, IN_FILLED, LS_LOW, LS_HIGH)
        for end in (HARD, LS_HIGH)
    ),
    *(
        _u(NEAR, end, source="paper 2, section 7.3, figure 5", note=U_SHAPE)
        for end in (HARD, LS_HIGH)
    ),
    *(
        _u(against, HARD, source="paper 2, section 7.3, figure 5", note=_where(against))
        for against in (V6, V4)
    ),
    _further(PEOPLE, OUR_LADDER, OUR_STEPS),
    _further(IN_FILLED, OUR_LADDER, OUR_STEPS),
    _further(PEOPLE, PAPER_LADDER, _where(IMAGENET_FAR)),
    *(_resonates(other) for other in (HARD, PEOPLE, LS_LOW, LS_HIGH)),
    _untestable(
        "paper 2, section 7.2, figure 4",
        "Similarities recovered from labels are closer to rated ones the softer labels are, up to "
        "a point, but not if hard labels are smoothed.",
        NO_RATINGS,
    ),
    _untestable(
        "paper 2, section 7.2, figure 4",
        "The share of wrong comparisons in labels and how much they recover go together linearly.",
        NO_RATINGS,
    ),
    _untestable(FIGURE, "Tested on CIFAR-10DS, softer labels are always better: no U.", NO_DENSE),
    _untestable(
        FIGURE,
        "Shake-Shake is the best network on every label set.",
        "One network here; at the paper's size the report shows all five side by side.",
    ),
    _untestable(
        "paper 2, section 7.3, figure 5",
        "On far images the gap between CIFAR-10DS and sparser labels closes.",
        NO_DENSE,
    ),
    _untestable(
        "paper 2, table 3",
        "Near images: numbers for more than two classes in an answer add little.",
        NO_DENSE,
        "0.46, 0.48, 0.49, 0.76 with 2, 3, 4, 10 classes on CIFAR-10 training images",
    ),
    _untestable(
        "paper 2, table 3",
        "Far images: numbers for three or four classes are better than for two.",
        NO_DENSE,
        "1.57, 1.51, 1.47, 1.60 with 2, 3, 4, 10 classes on ImageNet-Far",
    ),
    _untestable(
        "paper 2, appendix D.3, figure 8",
        "How similar networks find images correlates with how similar people rate them.",
        NO_RATINGS,
    ),
)


def _small(first: str, second: str, place: int) -> Claim:
    count = PER_CLASS[place]
    return Claim(
        "paper 2, table 1",
        f"With {count} images of each class, cross-entropy is lower with {first} than with "
        f"{'hard labels' if second == HARD else second}.",
        f"{TABLE_1[second][place]:.2f} → {TABLE_1[first][place]:.2f}",
        "cross_entropy",
        few(first, count),
        few(second, count),
        "lower",
        TESTED,
        note=UNSAID,
    )


SMALL_CLAIMS: tuple[Claim, ...] = (
    *(
        _small(first, HARD, place)
        for place in range(len(PER_CLASS))
        for first in (IN_FILLED, PEOPLE, LS_LOW, LS_HIGH)
    ),
    *(_small(LS_HIGH, LS_LOW, place) for place in range(len(PER_CLASS))),
    _untestable(
        "paper 2, table 1",
        "With few images, CIFAR-10DS and CIFAR-10S filled in with it are better than hard labels.",
        NO_DENSE,
        "1.80 → 1.70 and 1.69 with 80 a class, 2.20 → 2.12 and 2.12 with 8",
    ),
    _untestable(
        "paper 2, table 1",
        "With few images, CIFAR-10T is worse than all others.",
        NO_TYPICAL,
        "2.10 with 80 a class, 2.25 with 8",
    ),
)
