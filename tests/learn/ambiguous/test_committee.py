"""Mutual information between networks, and networks that label together."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor, nn

from sfumato.errors import DataError
from sfumato.labels.labelset import hard_labels
from sfumato.learn.ambiguous.models import (
    beliefs_of,
    default_network,
    mutual_information,
    train_committee,
)
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split


def exact_entropy(row: list[Fraction]) -> float:
    return -sum(float(p) * log(p) for p in row if p)


def test_mutual_information_is_that_of_exact_shares() -> None:
    members = [
        [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)],
        [Fraction(1), Fraction(0), Fraction(0)],
        [Fraction(1, 8), Fraction(3, 8), Fraction(1, 2)],
    ]
    mean = [sum(column) / 3 for column in zip(*members, strict=True)]
    exact = exact_entropy(mean) - sum(map(exact_entropy, members)) / 3

    found = mutual_information(np.array([[[float(p) for p in row]] for row in members]))

    assert found == pytest.approx([exact], rel=1e-12)


@given(arrays(np.float64, (3, 4, 5), elements=st.floats(0.01, 1)))
def test_mutual_information_lies_between_0_and_the_entropy_of_the_mean(raw: np.ndarray) -> None:
    probs = raw / raw.sum(axis=2, keepdims=True)
    mean = probs.mean(axis=0)

    found = mutual_information(probs)

    assert (found >= 0).all()
    assert (found <= -(mean * np.log(mean)).sum(axis=1) + 1e-12).all()
    assert mutual_information(probs[[0, 0]]) == pytest.approx(np.zeros(4), abs=1e-12)


class Always(nn.Module):
    """A network that believes the same of every image."""

    def __init__(self, *logits: float) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, images: Tensor) -> Tensor:
        return self.logits.expand(len(images), -1)


def test_any_networks_can_label_together_but_not_one_alone() -> None:
    examples = Examples(("a", "b"), np.zeros((2, 4, 4, 1), dtype=np.uint8))

    found = beliefs_of([Always(0.0, 0.0), Always(0.0, log(3))], examples)

    assert found.probs == pytest.approx(np.array([[3 / 8, 5 / 8]] * 2))
    assert found.entropy == pytest.approx(exact_entropy([Fraction(3, 8), Fraction(5, 8)]))
    inside = (log(2) + exact_entropy([Fraction(1, 4), Fraction(3, 4)])) / 2
    assert found.information == pytest.approx(found.entropy - inside)
    with pytest.raises(DataError, match="at least 2 networks"):
        beliefs_of([Always(0.0, 0.0)], examples)


def test_accuracy_is_that_on_images_held_out() -> None:
    items = tuple(map(str, range(40)))
    images = np.zeros((40, 4, 4, 1), dtype=np.uint8)
    images[20:] = 255  # bright ones are of the second class, but for two of those held out
    truth = np.repeat([0, 1], 20)
    truth[[18, 19]] = 1
    labels = hard_labels(items, ("dark", "bright"), truth, ())
    split = Split(items[:14] + items[20:34], (), items[14:20] + items[34:], selection="none")
    told: list[tuple[int, int]] = []

    found = train_committee(
        Examples(items, images),
        labels,
        split,
        network="simple-ffn",
        steps=60,
        seeds=(0, 1),
        after_member=lambda done, total: told.append((done, total)),
    )

    assert found.accuracy == pytest.approx(10 / 12)
    assert found.held_out.probs.shape == (12, 2)
    assert told == [(1, 2), (2, 2)]


def test_default_network_fits_the_images() -> None:
    assert default_network((8, 8, 1)) == "simple-ffn"
    assert default_network((28, 28, 1)) == "lenet"
