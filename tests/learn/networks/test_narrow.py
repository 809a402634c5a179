import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from sfumato.learn.networks.blocks import NarrowConv, PooledConv

SHAPES = [(3, 1, 28, 28), (2, 3, 12, 16), (2, 1, 13, 15), (1, 3, 12, 12)]


def layer(channels: int) -> PooledConv:
    torch.manual_seed(0)
    return PooledConv(channels, 6, 5, padding=2)


def drawn(shape: tuple[int, int, int, int]) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def plain(pooled: PooledConv, images: Tensor) -> Tensor:
    """A convolution, and then a pool of its own."""
    return F.max_pool2d(F.conv2d(images, pooled.weight, pooled.bias, padding=2), 2)


def gradients(found: Tensor, *inputs: Tensor) -> list[Tensor]:
    weight = torch.linspace(-1, 1, found.numel()).reshape(found.shape)
    return list(torch.autograd.grad((found * weight).sum(), inputs))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_values_and_gradients_are_those_of_a_convolution_and_a_pool(
    shape: tuple[int, int, int, int], layout: torch.memory_format
) -> None:
    pooled = layer(shape[1])
    images = drawn(shape).contiguous(memory_format=layout).requires_grad_()
    assert pooled.bias is not None
    inputs = (images, pooled.weight, pooled.bias)

    ours, theirs = pooled(images), plain(pooled, images)
    with torch.no_grad():
        quick = pooled(images)

    assert torch.allclose(ours, theirs, atol=1e-5)
    assert torch.equal(quick, ours)
    for one, other in zip(gradients(ours, *inputs), gradients(theirs, *inputs), strict=True):
        assert torch.allclose(one, other, atol=1e-4)


def test_blank_picture_gives_its_gradient_to_one_place_of_each_square() -> None:
    pooled = layer(1)
    images = torch.zeros(1, 1, 12, 12, requires_grad=True)

    ours = gradients(pooled(images), images, pooled.weight)
    theirs = gradients(plain(pooled, images), images, pooled.weight)

    assert all(torch.allclose(one, two, atol=1e-5) for one, two in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_narrow_convolution_has_the_values_and_gradients_of_torch(
    layout: torch.memory_format,
) -> None:
    torch.manual_seed(0)
    narrow = NarrowConv(6, 16, 5)
    narrow.weight.data = narrow.weight.data.contiguous(memory_format=layout)
    images = drawn((3, 6, 14, 15)).contiguous(memory_format=layout).requires_grad_()
    assert narrow.bias is not None
    inputs = (images, narrow.weight, narrow.bias)

    ours, theirs = narrow(images), F.conv2d(images, narrow.weight, narrow.bias)

    assert torch.equal(ours, theirs)
    for one, other in zip(gradients(ours, *inputs), gradients(theirs, *inputs), strict=True):
        assert torch.allclose(one, other, atol=1e-4)


def test_narrow_convolution_learns_from_images_that_need_no_gradient() -> None:
    narrow = NarrowConv(6, 16, 5)

    narrow(drawn((2, 6, 14, 14))).sum().backward()

    assert narrow.weight.grad is not None
