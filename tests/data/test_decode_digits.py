"""The digits of scikit-learn arrive unchanged but for their range."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sfumato.data import load
from sfumato.errors import MissingPackage


def test_digits_are_those_of_scikit_learn_on_a_scale_to_255() -> None:
    stored = load_digits()

    images = load("digits")

    assert images.images.shape == (1797, 8, 8, 1)
    assert images.images.max() == 255
    assert np.array_equal(np.rint(images.images[..., 0] * (16 / 255)), stored.images)
    assert np.array_equal(images.labels, stored.target)
    assert images.classes == tuple("0123456789")


def test_without_scikit_learn_the_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)

    with pytest.raises(MissingPackage, match=r"pip install 'sfumato\[learn\]'"):
        load("digits")
