import numpy as np
import pytest
import torch
from torch import nn

from sfumato.errors import DataError
from sfumato.learn.examples import Examples, NormalisedNetwork, as_tensor, predict, probabilities


def some(count: int = 3) -> Examples:
    rng = np.random.default_rng(0)
    pixels = rng.integers(256, size=(count, 4, 5, 2), dtype=np.uint8)
    return Examples(tuple(map(str, range(count))), pixels)


def test_pixels_become_numbers_from_0_to_1_with_channels_first() -> None:
    examples = some()

    found = as_tensor(examples)

    assert found.shape == (3, 2, 4, 5)
    assert found[1, 0, 2, 3].item() == pytest.approx(examples.images[1, 2, 3, 0] / 255)


def test_nan_names_the_item() -> None:
    images = np.zeros((2, 4, 4, 1), dtype=np.float32)
    images[1, 0, 0, 0] = np.nan

    with pytest.raises(DataError, match="item 'b' holds NaN"):
        Examples(("a", "b"), images)


@pytest.mark.parametrize("shape", [(2, 4, 4), (1, 4, 4, 1)])
def test_images_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"shape \(2, height"):
        Examples(("a", "b"), np.zeros(shape, dtype=np.uint8))


def test_floats_must_be_from_0_to_1() -> None:
    with pytest.raises(DataError, match="from 0 to 1"):
        Examples(("a",), np.full((1, 2, 2, 1), 3, dtype=np.float32))


def test_taking_an_unknown_item_names_it() -> None:
    assert some().take(("2", "0")).items == ("2", "0")
    with pytest.raises(DataError, match="'x' has no image"):
        some().take(("x",))


def test_network_normalises_by_the_training_part() -> None:
    examples = some(50)

    network = NormalisedNetwork.fitted(nn.Identity(), examples)
    normal = network(as_tensor(examples))

    assert torch.allclose(normal.mean(dim=(0, 2, 3)), torch.zeros(2), atol=1e-5)
    assert torch.allclose(normal.std(dim=(0, 2, 3), correction=0), torch.ones(2), atol=1e-4)


def test_predictions_are_a_label_set_and_leave_the_mode_alone() -> None:
    inner = nn.Sequential(nn.Flatten(), nn.Linear(40, 3), nn.Dropout(0.9))
    network = NormalisedNetwork.fitted(inner, some()).train()

    labels = predict(network, some(), ("a", "b", "c"))

    assert labels.items == ("0", "1", "2")
    assert network.training
    assert np.array_equal(probabilities(network, some()), probabilities(network, some()))


def test_images_of_a_data_set_are_read_only_and_stay_so() -> None:
    examples = some()
    examples.images.flags.writeable = False

    found = as_tensor(examples)
    found += 1

    assert examples.images.max() <= 255
    assert not examples.images.flags.writeable
