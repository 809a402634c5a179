"""Digits: turn the handwritten digits that scikit-learn brings along into an image set."""

import numpy as np

from sfumato.data.fetch import Dataset
from sfumato.data.images import ImageSet
from sfumato.errors import MissingPackage
from sfumato.provenance import Step

__all__ = ["DATASET", "INSTALL", "load"]

INSTALL = (
    "The digits are part of scikit-learn, which is not installed. "
    "Install it: pip install 'sfumato[learn]'"
)

DARKEST = 16
"""The largest grey level in the file, drawn as 255."""

DATASET = Dataset(
    name="digits",
    about="1,797 real handwritten digits of 8 × 8 pixels, part of scikit-learn",
    source=(
        "scikit-learn, `sklearn.datasets.load_digits`. Alpaydin, Kaynak, Optical Recognition of "
        "Handwritten Digits, UCI Machine Learning Repository, 1998."
    ),
    licence="CC BY 4.0 (UCI Machine Learning Repository)",
    package="sklearn",
)


def load() -> ImageSet:
    """The 1,797 digits; an item is its place in the file, all are in the split "all".

    Grey levels 0 to 16 become 0 to 255, so that they can be shown and scaled as any other.
    """
    try:
        from sklearn import __version__
        from sklearn.datasets import load_digits
    except ImportError:
        raise MissingPackage(INSTALL) from None
    stored = load_digits()
    grey = np.rint(stored.images * (255 / DARKEST)).astype(np.uint8)  # (items, 8, 8)
    return ImageSet(
        items=tuple(map(str, range(len(grey)))),
        images=grey[..., None],
        labels=stored.target,
        classes=tuple(map(str, stored.target_names)),
        split=("all",) * len(grey),
        provenance=(Step("load digits", {"scikit-learn": __version__}),),
    )
