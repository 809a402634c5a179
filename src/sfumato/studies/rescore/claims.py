"""What paper 1 claims about its networks before they learn from people."""

from sfumato.studies.comparison.told import Claim
from sfumato.studies.rescore.measured import (
    ANOTHER,
    ENSEMBLE,
    HALF,
    ONE,
    ORACLE,
    ORIGINAL,
    PEOPLE,
    THREE,
    TOP,
)
from sfumato.studies.rescore.paper1 import ENSEMBLE as PRINTED
from sfumato.studies.rescore.paper1 import TABLE_1
from sfumato.studies.rescore.stored import BEST, CLOSEST

__all__ = ["CLAIMS"]

ALL_IMAGES = "Stored predictions of all 10,000 images; the paper's table has held-out folds."
NOT_STORED = (
    "The authors' working repository has fold by fold predictions, temperatures and attacked "
    "images; the data set has only what networks believe before tuning."
)


def _range(place: int) -> str:
    found = [table["pretrained"][place] for table in TABLE_1.values()]
    return f"{min(found):.2f} to {max(found):.2f}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "paper 1, section 6.3",
        "The ensemble of all eight networks is more like people than any one of them.",
        f"cross-entropy {PRINTED} against {_range(0)}",
        "cross_entropy",
        ENSEMBLE,
        ONE,
        "lower",
        PEOPLE,
        note=ALL_IMAGES,
    ),
    Claim(
        "paper 1, section 6.3",
        "Cross-entropy to original labels is always lower than to people's.",
        f"{_range(1)} against {_range(0)}",
        "cross_entropy",
        ORIGINAL,
        PEOPLE,
        "lower",
        ORIGINAL,
        note=ALL_IMAGES,
    ),
    Claim(
        "paper 1, section 6.3",
        f"{BEST} is the state of the art of the eight: the most accurate.",
        "not printed",
        "accuracy",
        BEST,
        ANOTHER,
        "higher",
        ORIGINAL,
    ),
    Claim(
        "paper 1, section 6.3",
        f"{BEST} is not one of the three networks that are most like people.",
        f"cross-entropy {TABLE_1[BEST]['pretrained'][0]} against "
        + ", ".join(f"{TABLE_1[name]['pretrained'][0]} ({name})" for name in CLOSEST),
        "cross_entropy",
        BEST,
        THREE,
        "higher",
        PEOPLE,
        note=f"The three are those of the paper's table 1, not chosen here. {ALL_IMAGES}",
    ),
    Claim(
        "paper 1, abstract",
        "Networks fail to exhibit human-like uncertainty on their own.",
        f"cross-entropy {_range(0)}",
        "cross_entropy",
        ONE,
        ORACLE,
        "higher",
        PEOPLE,
        note=(
            "The rival is ours (C20): it is told each image's class and answers with the mean of "
            "people's labels of the class."
        ),
    ),
    Claim(
        "paper 1, section 8",
        "The bulk of human uncertainty is in about 30 % of the images.",
        "about 30 %",
        "share",
        TOP,
        HALF,
        "higher",
        PEOPLE,
        note="The bulk is read as more than half of the summed entropy.",
    ),
    Claim(
        "paper 1, section 5",
        "Every network on every data set is more accurate after people's labels, fold by fold.",
        "stored folds: 8 of 8 networks on 50k, CINIC-10 and ImageNet-Far, 7 of 8 on CIFAR-10.1",
        note=f"{NOT_STORED} `cifar10h-shift` trains instead.",
    ),
    Claim(
        "paper 1, section 7",
        "Cross-entropy after FGSM is lower after people's labels for every network.",
        "5.7 → 2.8 on average",
        note=f"{NOT_STORED} `cifar10h-attacks` trains instead.",
    ),
)
