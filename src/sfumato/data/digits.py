"""Digits: turn the handwritten digits that scikit-learn brings along into an image set."""

import numpy as np

from sfumato.data.fetch import Dataset
from sfumato.data.images import ImageSet
from sfumato.errors import MissingPackage
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Step

__all__ = ["DATASET", "INSTALL", "load", "what_people_would_see"]

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


def what_people_would_see(pictures: ImageSet, neighbours: int = 15) -> LabelSet:
    """Simulated sight: class shares of the most similar other images.

    Ambiguous digits have mixed neighbours. Each image is compared with the nine tenths of the
    images that it is not among. Nobody annotated these digits; the step is marked as simulated.
    """
    try:
        from sklearn.model_selection import cross_val_predict
        from sklearn.neighbors import KNeighborsClassifier
    except ImportError:
        raise MissingPackage(INSTALL) from None
    flat = pictures.images.reshape(len(pictures), -1)
    nearest = KNeighborsClassifier(n_neighbors=neighbours)
    shares = cross_val_predict(nearest, flat, pictures.labels, cv=10, method="predict_proba")
    step = Step("simulate what people see", {"neighbours": neighbours}, simulated=True)
    return LabelSet(
        pictures.items, pictures.classes, shares, provenance=(*pictures.provenance, step)
    )
