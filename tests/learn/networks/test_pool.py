import pytest
import torch
from torch import Tensor, nn

from sfumato.learn.networks.pool import MaxPool2


def pooled(pool: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """Its output, and the gradient of a weighted sum of it."""
    images = images.clone().requires_grad_()
    found = pool(images)
    weight = torch.arange(found.numel(), dtype=torch.float32).reshape(found.shape)
    (found * weight).sum().backward()
    assert images.grad is not None
    return found.detach(), images.grad


@pytest.mark.parametrize("shape", [(3, 6, 28, 28), (2, 1, 4, 6), (2, 3, 7, 9), (1, 16, 2, 2)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_values_and_gradients_are_those_of_torch(
    shape: tuple[int, int, int, int], layout: torch.memory_format
) -> None:
    images = torch.randn(shape, generator=torch.Generator().manual_seed(0)).contiguous(
        memory_format=layout
    )

    ours, torchs = pooled(MaxPool2(), images), pooled(nn.MaxPool2d(2), images)
    with torch.no_grad():
        quick = MaxPool2()(images)

    assert all(torch.equal(one, two) for one, two in zip(ours, torchs, strict=True))
    assert torch.equal(quick, torchs[0])


def test_of_equal_values_exactly_one_gets_the_gradient() -> None:
    _, gradient = pooled(MaxPool2(), torch.ones(1, 2, 4, 4))

    assert torch.equal(gradient.count_nonzero(), torch.tensor(7))  # the first weight is 0
    assert gradient.sum() == sum(range(8))
