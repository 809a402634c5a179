"""What holds for every network: its size, its shapes, its gradients, its seed."""

import pickle
from collections.abc import Iterator
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from sfumato.errors import DataError
from sfumato.learn.networks import NETWORKS, ImageShape, Network, build_network, features
from sfumato.learn.networks.blocks import PreActivated

# Published or measured with the published code: trainable parameters.
PARAMETERS = {
    "logistic": (28 * 28 + 1) * 10,
    "linear": (28 * 28 + 1) * 10,
    "simple-ffn": 101_899,
    "mlp": 101_899,
    "deeper-ffn": 235_275,
    "lenet": 61_791,
    "vgg_15_BN_64": 14_728_266,
    "resnet_basic_110": 1_730_714,
    "wrn_28_10": 36_479_194,
    "resnet_preact_bottleneck_164": 1_619_290,
    "resnext_29_8x64d": 34_426_698,
    "densenet_BC_100_12": 769_162,
    "pyramidnet_basic_110_270": 28_485_477,
    "shake_shake_26_2x64d_SSI_cutout16": 11_709_514,
    "resnet-34a": 660_170,
    "resnet-50": 23_520_842,
    "vgg-11": 9_231_114,
    "preact-resnet-18": 11_171_274,
    # ResNet-18's, and a block of 2 · 9c² + 4c more or less often: 1, 2, 4 and 1 more of c
    "preact-resnet-34": 11_171_274
    + sum(more * (18 * c**2 + 4 * c) for more, c in [(1, 64), (2, 128), (4, 256), (1, 512)]),
    # convolutions, scales and shifts of batch normalisation, the linear layer
    "cnn-3": 9 * (3 * 16 + 16 * 32 + 32 * 64) + 2 * (16 + 32 + 64) + (64 * 4 + 1) * 10,
    "resnet-8": 78_042,
    "resnet-20": 272_474,
    "wrn-16-1": 175_066,
    "wrn-16-2": 691_674,
}

# Measured with the published code on one image of 32×32: millions of multiply-adds.
MILLION_MULTIPLY_ADDS = {
    # convolutions on sides of 32, 16 and 8, the linear layer: 5,975,808 by hand
    "cnn-3": (27 * 16 * 32**2 + 144 * 32 * 16**2 + 288 * 64 * 8**2 + 64 * 4 * 10) / 1e6,
    "resnet-8": 12.5,
    "resnet-20": 41,
    "wrn-16-2": 101,
    "resnet-34a": 97,
    "vgg-11": 153,
    "resnet_preact_bottleneck_164": 169,
    "resnet_basic_110": 253,
    "vgg_15_BN_64": 313,
    "preact-resnet-18": 555,
    "densenet_BC_100_12": 288,
    "resnet-50": 1298,
    "shake_shake_26_2x64d_SSI_cutout16": 1742,
    "wrn_28_10": 5243,
    "resnext_29_8x64d": 5387,
    "pyramidnet_basic_110_270": 4718,
}

SMALL = [name for name, kind in NETWORKS.items() if kind.parameters < 2_000_000]


@cache
def counted(name: str, classes: int, image_shape: ImageShape) -> Network:
    """A network without memory for its weights."""
    with torch.device("meta"):
        return NETWORKS[name].build(classes, image_shape)


def some_images(number: int, image_shape: ImageShape) -> Tensor:
    height, width, channels = image_shape
    shape = (number, channels, height, width)
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def weights(network: Network) -> Tensor:
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])


@pytest.fixture(scope="module", params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Iterator[Network]:
    """Each network, built once for the smallest colour images that it takes."""
    side = NETWORKS[request.param].smallest_side
    yield build_network(request.param, classes=3, image_shape=(side, side, 3), seed=0)


@pytest.mark.parametrize("name", NETWORKS)
def test_parameters_are_as_many_as_published(name: str) -> None:
    kind = NETWORKS[name]

    built = counted(name, kind.classes, kind.image_shape)

    assert sum(weight.numel() for weight in built.parameters()) == PARAMETERS[name]
    assert kind.parameters == PARAMETERS[name]


@pytest.mark.parametrize("name", MILLION_MULTIPLY_ADDS)
def test_work_an_image_is_as_much_as_published(name: str) -> None:
    built = counted(name, 10, (32, 32, 3))

    with FlopCounterMode(display=False) as counter:
        built(torch.zeros(1, 3, 32, 32, device="meta"))

    assert counter.get_total_flops() / 2e6 == pytest.approx(MILLION_MULTIPLY_ADDS[name], abs=0.5)


def test_lenet_for_ten_digits_has_61706_parameters() -> None:
    built = counted("lenet", 10, (28, 28, 1))

    assert sum(weight.numel() for weight in built.parameters()) == 61_706


@pytest.mark.parametrize(
    ("name", "image_shape"),
    [
        (name, shape)
        for name, kind in NETWORKS.items()
        for shape in [(28, 28, 1), (32, 32, 3)]
        if min(shape[:2]) >= kind.smallest_side
    ],
)
def test_logits_have_one_column_a_class(name: str, image_shape: ImageShape) -> None:
    logits = counted(name, 10, image_shape)(some_images(2, image_shape).to("meta"))

    assert logits.shape == (2, 10)


def test_gradients_reach_every_parameter(network: Network) -> None:
    network.train()

    logits = network(some_images(4, network.image_shape))
    human = torch.tensor([[0.5, 0.5, 0], [0, 0.2, 0.8], [1, 0, 0], [0, 1, 0]])
    F.cross_entropy(logits, human).backward()

    unreached = [
        name
        for name, weight in network.named_parameters()
        if weight.grad is None or not weight.grad.isfinite().all() or not weight.grad.any()
    ]
    network.zero_grad(set_to_none=True)
    assert unreached == []


def test_evaluation_is_deterministic_and_image_by_image(network: Network) -> None:
    network.eval()
    images = some_images(2, network.image_shape)

    with torch.no_grad():
        together, again = network(images), network(images)
        alone = torch.cat([network(images[:1]), network(images[1:])])

    assert torch.equal(together, again)
    assert torch.allclose(together, alone, rtol=1e-3, atol=1e-4)


def test_features_are_what_the_head_consumes(network: Network) -> None:
    network.eval()
    images = some_images(2, network.image_shape)
    consumed: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        consumed.append(inputs[0])

    hook = network.head.register_forward_hook(keep)
    with torch.no_grad():
        network(images)
        found = features(network, images)
    hook.remove()

    assert found.shape == (2, network.head.in_features)
    assert torch.equal(found, consumed[0])


def test_memory_layout_does_not_change_the_function(network: Network) -> None:
    network.eval()
    images = some_images(1, network.image_shape)

    with torch.no_grad():
        expected = network(images)
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        found = network(images.contiguous(memory_format=torch.channels_last))

    assert torch.allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_seed_decides_the_weights(name: str) -> None:
    kind = NETWORKS[name]

    first, again, other = (
        build_network(name, classes=kind.classes, image_shape=kind.image_shape, seed=seed)
        for seed in (7, 7, 8)
    )

    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))


def test_generator_gives_a_new_network_each_time_and_the_same_series_again() -> None:
    def series() -> list[Tensor]:
        seed = torch.Generator().manual_seed(3)
        return [
            weights(build_network("lenet", classes=10, image_shape=(28, 28, 1), seed=seed))
            for _ in range(2)
        ]

    first, second = series()

    assert not torch.equal(first, second)
    assert all(map(torch.equal, series(), [first, second]))


def test_building_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()

    build_network("resnet-8", classes=10, image_shape=(32, 32, 3), seed=0)

    assert torch.equal(torch.get_rng_state(), before)


def test_global_generator_does_not_change_the_weights() -> None:
    built = []
    with torch.random.fork_rng():
        for unrelated in (1, 2):
            torch.manual_seed(unrelated)
            built.append(build_network("resnet-8", classes=10, image_shape=(32, 32, 3), seed=0))

    assert torch.equal(*map(weights, built))


@pytest.mark.parametrize("name", ["simple-ffn", "lenet", "resnet-8", "wrn-16-1"])
def test_network_survives_the_way_to_another_process(name: str) -> None:
    side = NETWORKS[name].smallest_side
    built = build_network(name, classes=2, image_shape=(side, side, 1), seed=0).eval()
    images = some_images(1, (side, side, 1))

    arrived = pickle.loads(pickle.dumps(built))

    assert torch.equal(arrived(images), built(images))


@given(st.integers(-3, 1))
def test_fewer_than_two_classes_are_refused(classes: int) -> None:
    with pytest.raises(DataError, match=rf"at least 2 classes, not {classes}\."):
        build_network("lenet", classes=classes, image_shape=(28, 28, 1), seed=0)


@pytest.mark.parametrize(
    "name", [name for name, kind in NETWORKS.items() if kind.smallest_side > 1]
)
def test_images_smaller_than_the_least_side_are_refused(name: str) -> None:
    side = NETWORKS[name].smallest_side

    for height, width in [(side - 1, side), (side, side - 1)]:
        with pytest.raises(
            DataError, match=f"at least {side}×{side} pixels, not .*{height}×{width}"
        ):
            build_network(name, classes=10, image_shape=(height, width, 3), seed=0)


def test_channels_in_front_are_refused_with_a_hint() -> None:
    with pytest.raises(
        DataError, match=r"1×28 pixels with 28 channels \(height and width come fir"
    ):
        build_network("resnet-8", classes=10, image_shape=(1, 28, 28), seed=0)


def test_shape_without_three_whole_numbers_is_refused() -> None:
    for shape in [(28, 28), (28, 28, 0), (28, -28, 1)]:
        with pytest.raises(DataError, match=r"must be \(height, width, channels\)"):
            build_network("lenet", classes=10, image_shape=shape, seed=0)  # type: ignore[arg-type]


def test_pyramidnet_refuses_sides_that_do_not_halve_twice() -> None:
    with pytest.raises(DataError, match="multiples of 4, not images of 30×32"):
        build_network("pyramidnet_basic_110_270", classes=10, image_shape=(30, 32, 3), seed=0)


@pytest.mark.parametrize(
    "name", [name for name, kind in NETWORKS.items() if kind.side_multiple == 1]
)
def test_odd_sides_are_no_trouble(name: str) -> None:
    side = max(11, NETWORKS[name].smallest_side + 1) | 1

    logits = counted(name, 10, (side, side + 2, 1))(
        torch.zeros(2, 1, side, side + 2, device="meta")
    )

    assert logits.shape == (2, 10)


def test_images_of_another_shape_than_built_for_are_refused() -> None:
    built = build_network("resnet-8", classes=10, image_shape=(32, 32, 3), seed=0)

    for shape in [(2, 1, 32, 32), (2, 3, 28, 28), (3, 32, 32)]:
        with pytest.raises(DataError, match=r"built for batches of shape \(n, 3, 32, 32\)"):
            built(torch.zeros(shape))


@pytest.mark.parametrize(
    ("name", "expected"),
    [  # "a" for blocks whose shortcut sees the activated input, "i" for the others
        ("wrn_28_10", "aiii" * 3),  # where channels change
        ("resnet_preact_bottleneck_164", ("a" + "i" * 17) * 3),  # at the start of a stage
        ("preact-resnet-18", "a" * 8),  # everywhere
        ("preact-resnet-34", "a" * 16),
    ],
)
def test_shortcuts_see_what_they_see_in_the_published_code(name: str, expected: str) -> None:
    blocks = [
        module
        for module in counted(name, 10, (32, 32, 3)).modules()
        if isinstance(module, PreActivated)
    ]

    assert "".join(block.shortcut_sees[0] for block in blocks) == expected


def test_only_shake_shake_was_published_with_cutout() -> None:
    found = {name: kind.cutout for name, kind in NETWORKS.items() if kind.cutout is not None}

    assert found == {"shake_shake_26_2x64d_SSI_cutout16": 16}


def test_every_network_of_the_papers_is_there() -> None:
    expected = {f"S0-{number}" for number in range(15, 23)} | {"S1-40"}
    expected |= {f"S2-{number}" for number in range(41, 46)}
    expected |= {f"S4-{number}" for number in range(17, 21)}

    assert {row for kind in NETWORKS.values() for row in kind.rows} == expected
