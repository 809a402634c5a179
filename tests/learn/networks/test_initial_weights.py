"""Initial weights are drawn as published: who starts how, to what spread."""

from math import sqrt

import pytest
import torch
from torch import nn

from sfumato.learn.networks import NETWORKS, Network, build_network

FAN_OUT = ["resnet_basic_110", "resnet_preact_bottleneck_164", "densenet_BC_100_12"]
FAN_OUT_LARGE = ["resnext_29_8x64d", "shake_shake_26_2x64d_SSI_cutout16"]
UNIFORM_SCALES = ["vgg_15_BN_64", "wrn-16-2"]
TORCHS_OWN = ["resnet-34a", "vgg-11", "preact-resnet-18"]


def built(name: str) -> Network:
    side = max(NETWORKS[name].smallest_side, 8)
    return build_network(name, classes=10, image_shape=(side, side, 3), seed=0)


def convolutions(network: Network) -> list[nn.Conv2d]:
    found = [module for module in network.modules() if isinstance(module, nn.Conv2d)]
    return [layer for layer in found if layer.weight.numel() > 5000]  # enough to see a spread


def norms(network: Network) -> list[nn.BatchNorm2d]:
    return [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]


@pytest.mark.parametrize("name", [*FAN_OUT, *FAN_OUT_LARGE])
def test_convolutions_start_normal_by_fan_out_and_scales_at_one(name: str) -> None:
    network = built(name)

    for layer in convolutions(network):
        # torch counts the fan-out of a grouped convolution over all groups
        expected = sqrt(2 / (layer.out_channels * layer.kernel_size[0] ** 2))
        assert layer.weight.std().item() == pytest.approx(expected, rel=0.06)
        assert layer.weight.abs().max().item() > 3 * expected  # normal, not uniform
    assert all(torch.all(norm.weight == 1) for norm in norms(network))


def test_wide_resnet_starts_by_fan_in() -> None:
    for layer in convolutions(built("wrn-16-2")):
        expected = sqrt(2 / (layer.in_channels * layer.kernel_size[0] ** 2))
        assert layer.weight.std().item() == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("name", UNIFORM_SCALES)
def test_scales_of_vgg_and_wide_resnet_start_uniform(name: str) -> None:
    scales = torch.cat([norm.weight.detach() for norm in norms(built(name))])

    assert scales.min() >= 0 and scales.max() < 1
    assert scales.mean().item() == pytest.approx(1 / 2, abs=0.05)
    assert scales.var().item() == pytest.approx(1 / 12, abs=0.02)


@pytest.mark.parametrize("name", [*FAN_OUT, *UNIFORM_SCALES])
def test_biases_of_paper_1_start_at_zero(name: str) -> None:
    network = built(name)

    biases = [weight for name, weight in network.named_parameters() if name.endswith("bias")]

    assert biases and not any(bias.any() for bias in biases)


@pytest.mark.parametrize("name", [*TORCHS_OWN, "lenet", "deeper-ffn"])
def test_others_start_as_torch_does(name: str) -> None:
    large = {key: weight for key, weight in built(name).named_parameters() if weight.ndim > 1}

    for key, weight in large.items():
        bound = 1 / sqrt(weight[0].numel())  # uniform in ± 1 / √ fan-in
        assert weight.abs().max().item() <= bound * (1 + 1e-6), key
        if weight.numel() > 5000:
            assert weight.std().item() == pytest.approx(bound / sqrt(3), rel=0.05), key
