"""The studies that come with Sfumato, by name and size."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, assert_never

from sfumato.errors import DataError
from sfumato.learn.train import Recipe
from sfumato.names import find
from sfumato.studies.comparison import digits
from sfumato.studies.comparison.papers import COMPARISONS
from sfumato.studies.comparison.setting import Comparison
from sfumato.studies.hmix.study import HMixStudy
from sfumato.studies.informativeness import grids
from sfumato.studies.informativeness.study import GridStudy
from sfumato.studies.rescore.study import RescoreStudy
from sfumato.studies.study import AnyStudy, Study

__all__ = [
    "ANSWERS",
    "GRIDS",
    "PREDICTIONS",
    "STUDIES",
    "TABLES",
    "TRAININGS",
    "Shipped",
    "Size",
    "shipped_study",
]

Size = Literal["cpu", "paper"]


Kind = TypeVar("Kind", Study, Comparison, GridStudy, HMixStudy, RescoreStudy)


@dataclass(frozen=True)
class Shipped(Generic[Kind]):
    """A study in the size of a laptop and, where a paper has one, in the paper's."""

    cpu: Kind
    paper: Kind | None = None


def _one_size(study: Kind) -> Shipped[Kind]:
    """A paper's study whose own size is that of a laptop."""
    return Shipped(study, study)


# 40 epochs for everybody, so that dynamics can be compared (S4-22); the best epoch on the
# validation part is what is scored (S4-21).
PAPER_5 = Recipe("lenet", epochs=40, schedule="plateau", patience=3, weights="best")


def _digits_audit(name: str, data: str, title: str, about: str) -> Shipped[Study]:
    """Paper 5 at its own size, which is that of a CPU; its own parts (S4-41) where they are known.

    Its two kinds of soft label are ``soft`` (unsure counts half) and ``yes-unsure-equal``.
    """
    study = Study(
        name=name,
        title=title,
        about=about,
        data=data,
        recipe="yes-unsure-weighted",
        arms=("original", "majority", "soft", "yes-unsure-equal"),
        split=(0.7, 0.15, 0.15),
        training=PAPER_5,
        corruptions=("gaussian_noise", "gaussian_blur", "contrast", "pixelate"),
    )
    return _one_size(study)


TRAININGS: dict[str, Shipped[Study]] = {
    "digits": Shipped(
        Study(
            name="digits",
            title="What are simulated people's doubts worth on real handwritten digits?",
            about=(
                "1,797 real handwritten digits of 8 by 8 pixels. Nobody annotated them: six "
                "simulated people answer about each image, after the classes of the images most "
                "like it. The study shows the whole chain, not what real people know."
            ),
            data="digits",
            recipe="top2-clamp",
            arms=("original", "majority", "soft", "one-annotator", "smoothed", "votes"),
            networks=("simple-ffn", "deeper-ffn", "resnet-8"),
            training=Recipe("simple-ffn", epochs=10, learning_rate=3e-3, weights="best"),
            fgsm=(4, 8, 16, 32),
            pgd=(8, 16, 32),
            corruptions=("gaussian_noise", "gaussian_blur", "contrast", "pixelate"),
            draws=400,
        )
    ),
    "fashion-h": _one_size(
        Study(
            name="fashion-h",
            title="What is people's disagreement worth on Fashion-MNIST?",
            about=(
                "The 10,000 test images of Fashion-MNIST, each judged by about 67 real people "
                "(FashionMNIST-H), analysed as paper 5 analyses its digits."
            ),
            data="fashion-mnist-h",
            arms=("original", "majority", "soft", "sampled", "smoothed"),
            split=(0.7, 0.1, 0.2),
            training=PAPER_5,
            fgsm=(1, 2, 4, 8),
            pgd=(2, 4, 8),
            attacked_items=500,
            corruptions=("gaussian_noise", "gaussian_blur", "contrast", "pixelate"),
        )
    ),
    "digits-audit": _digits_audit(
        "digits-audit",
        "soft-digits",
        "What are people's doubts worth on digits of MNIST?",
        "Paper 5 on its own data: digits of MNIST from easy to ambiguous, about which six people "
        "each said yes, no or unsure of every class.",
    ),
    "digits-audit-synthetic": _digits_audit(
        "digits-audit-synthetic",
        "soft-digits-synthetic",
        "Do labels made by a model tell what people see in synthetic digits?",
        "Paper 5 on its own data: synthetic ambiguous digits with the distributions that a model "
        "gave them as original labels, and what six people each saw in them.",
    ),
}
"""Studies in which networks learn from labels."""

GRIDS: dict[str, Shipped[GridStudy]] = {
    name: Shipped(cpu, paper) for name, (cpu, paper) in grids.GRIDS.items()
}
"""Studies of simulated worlds, in which nothing is trained."""

ANSWERS: dict[str, Shipped[HMixStudy]] = {
    "hmix": _one_size(
        HMixStudy(
            name="hmix",
            title="What do people see in mixed images?",
            about=(
                "The release of H-Mix: 81 real people on how 2,070 mixes of two CIFAR-10 test "
                "images were made and how sure they are, 70 who searched for the mix that is half "
                "one and half the other, and 8 who gave mixes soft labels; next to chapters 4 and "
                "5 of the thesis that collected a part of it."
            ),
        )
    ),
}
"""Studies of what people answered, in which nothing is trained or simulated."""

PREDICTIONS: dict[str, Shipped[RescoreStudy]] = {
    "cifar10h-rescore": _one_size(
        RescoreStudy(
            name="cifar10h-rescore",
            title="How close to people are networks that never learnt from them?",
            about=(
                "What the eight networks of paper 1 believe about the 10,000 CIFAR-10 test images "
                "after training on the 50,000 others, as its authors stored it, held against the "
                "votes of about 51 real people an image."
            ),
        )
    ),
}
"""Studies of stored predictions, in which nothing is trained."""

TABLES: dict[str, Shipped[Comparison]] = {
    **{name: Shipped(cpu, paper) for name, (cpu, paper) in COMPARISONS.items()},
    digits.TABLE.name: Shipped(digits.TABLE),
}
"""Tables of the papers, and one that needs no data: arms trained side by side."""

STUDIES: dict[
    str,
    Shipped[Study]
    | Shipped[Comparison]
    | Shipped[GridStudy]
    | Shipped[HMixStudy]
    | Shipped[RescoreStudy],
] = {
    **TRAININGS,
    **TABLES,
    **GRIDS,
    **ANSWERS,
    **PREDICTIONS,
}


def shipped_study(name: str, size: Size = "cpu") -> AnyStudy:
    """The named study in the given size; an unknown name is answered with the nearest."""
    found = find(STUDIES, name, what="study")
    match size:
        case "cpu":
            return found.cpu
        case "paper":
            if found.paper is None:
                raise DataError(f"The study {name!r} is of no paper and has one size only: cpu.")
            return found.paper
        case _:
            assert_never(size)
