"""The studies that come with Sfumato, by name and size."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, assert_never

from sfumato.errors import DataError
from sfumato.learn.train import Recipe
from sfumato.names import find
from sfumato.studies.informativeness.study import GridStudy
from sfumato.studies.study import Study

__all__ = ["GRIDS", "STUDIES", "TRAININGS", "Shipped", "Size", "shipped_study"]

Size = Literal["cpu", "paper"]


AnyStudy = TypeVar("AnyStudy", Study, GridStudy)


@dataclass(frozen=True)
class Shipped(Generic[AnyStudy]):
    """A study in the size of a laptop and, where a paper has one, in the paper's."""

    cpu: AnyStudy
    paper: AnyStudy | None = None


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
    "fashion-h": Shipped(
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
            # 40 epochs for everybody, so that dynamics can be compared (S4-22); the best epoch on
            # the validation part is what is scored (S4-21).
            training=Recipe("lenet", epochs=40, schedule="plateau", patience=3, weights="best"),
            fgsm=(1, 2, 4, 8),
            pgd=(2, 4, 8),
            attacked_items=500,
            corruptions=("gaussian_noise", "gaussian_blur", "contrast", "pixelate"),
        )
    ),
}
"""Studies in which networks learn from labels."""

GRIDS: dict[str, Shipped[GridStudy]] = {
    "informativeness-grid": Shipped(
        GridStudy(
            name="informativeness-grid",
            title="How much do labels of each form tell about a world?",
            about=(
                "The simulation of paper 2: worlds of 3 to 90 items and classes in 5, 25 and 125 "
                "dimensions, labelled in every form and found again from the labels alone. "
                "Nobody was asked anything: whether your items lie as they do in these worlds is "
                "an assumption."
            ),
        )
    ),
}
"""Studies of simulated worlds, in which nothing is trained."""

STUDIES: dict[str, Shipped[Study] | Shipped[GridStudy]] = {**TRAININGS, **GRIDS}


def shipped_study(name: str, size: Size = "cpu") -> Study | GridStudy:
    """The named study in the given size; an unknown name is answered with the nearest."""
    found = find(STUDIES, name, what="study")
    match size:
        case "cpu":
            return found.cpu
        case "paper":
            if found.paper is None:
                raise DataError(f"The study {name!r} has one size only: cpu.")
            return found.paper
        case _:
            assert_never(size)
