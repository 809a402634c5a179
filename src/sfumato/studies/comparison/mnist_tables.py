"""Paper 5, table 5, at its own size, which is that of a CPU."""

from itertools import pairwise

from sfumato.learn.published import published_recipe
from sfumato.studies.comparison.levels import level_name
from sfumato.studies.comparison.mnist import ORIGINAL, PER_CLASS, arm
from sfumato.studies.comparison.setting import Axis, Comparison
from sfumato.studies.comparison.told import Claim, Paper

__all__ = ["COMPARISONS", "PAPERS", "PRINTED"]

PRINTED = {
    50: (89.584, 1.202),
    100: (93.982, 0.196),
    150: (95.272, 0.254),
    300: (96.590, 0.310),
    500: (97.324, 0.375),
    1000: (98.036, 0.259),
    2000: (98.548, 0.151),
}
"""Accuracy in per cent with what the paper writes after ±, by digits of each class (S4-T5)."""
ENOUGH, ABOUT_95 = 150, 0.945
"""How many are said to be enough, and the least accuracy that rounds to the 95 % that they give."""

TABLE = "paper 5, table 5"
OPEN = "The paper's learning rate is lost in our copy (C17); ours is Adam's own, 0.001."

CURVE = Comparison(
    name="mnist-curve",
    title="How many digits of each class does a small network need?",
    about=(
        "Table 5 of paper 5: LeNet learns 50 to 2,000 digits of each class of MNIST and is tested "
        "on its 10,000 test digits; the paper chose from it how many images people should judge."
    ),
    family="mnist",
    arms=tuple(map(arm, PER_CLASS)),
    controls=(arm(ENOUGH),),
    networks=("lenet",),
    training=published_recipe("paper5-sample-size"),
    seeds=5,
    axes=(
        Axis(
            "items",
            {"LeNet": {arm(count): 10.0 * count for count in PER_CLASS}},
            "Against the number of digits",
        ),
    ),
    levels=(ABOUT_95,),
)

COMPARISONS: dict[str, tuple[Comparison, Comparison]] = {CURVE.name: (CURVE, CURVE)}
"""By name: for a CPU, and at the paper's size; they are the same."""


def _more_is_better(fewer: int, more: int) -> Claim:
    return Claim(
        TABLE,
        f"Accuracy is higher with {more:,} digits of each class than with {fewer:,}.",
        f"{PRINTED[fewer][0]:.2f} → {PRINTED[more][0]:.2f} %",
        "accuracy",
        arm(more),
        arm(fewer),
        "higher",
        ORIGINAL,
        note=OPEN,
    )


PAPERS: dict[str, Paper] = {
    CURVE.name: Paper(
        claims=(
            Claim(
                "paper 5, appendix A, table 5",
                f"{ENOUGH} digits of each class are enough for an accuracy of about 95 %.",
                "95.27 ± 0.25 %",
                "accuracy",
                arm(ENOUGH),
                level_name(ABOUT_95),
                "higher",
                ORIGINAL,
                note="About 95 % are 94.5 % or more.",
            ),
            *(_more_is_better(fewer, more) for fewer, more in pairwise(PER_CLASS)),
        ),
        numbers={
            (arm(count), ORIGINAL, "all", "accuracy"): f"{mean / 100:.4f} ± {spread / 100:.4f}"
            for count, (mean, spread) in PRINTED.items()
        },
    )
}
"""What the comparison is held against."""
