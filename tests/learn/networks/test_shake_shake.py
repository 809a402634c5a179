import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sfumato.learn.networks import Network, build_network
from sfumato.learn.networks.models import _ShakeBlock, _TwoGrids, shake

NAME = "shake_shake_26_2x64d_SSI_cutout16"


def column(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64).reshape(-1, 1, 1, 1)


def small_block() -> _ShakeBlock:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return _ShakeBlock(2, 2, 1)


unit = st.floats(0, 1, exclude_max=True)


@given(st.lists(st.tuples(unit, unit), min_size=1, max_size=4))
def test_forward_mixes_by_alpha_and_backward_by_beta_image_by_image(
    draws: list[tuple[float, float]],
) -> None:
    alpha, beta = column([a for a, _ in draws]), column([b for _, b in draws])
    shape = (len(draws), 2, 3, 3)
    left, right, came_back = (torch.randn(shape, dtype=torch.float64) for _ in range(3))
    left.requires_grad_(), right.requires_grad_()

    mixed = shake(left, right, forward=alpha, backward=beta)
    mixed.backward(came_back)

    assert left.grad is not None and right.grad is not None
    for image, (a, b) in enumerate(draws):
        assert torch.allclose(mixed[image], a * left[image] + (1 - a) * right[image])
        assert torch.allclose(left.grad[image], b * came_back[image])
        assert torch.allclose(right.grad[image], (1 - b) * came_back[image])


def test_training_draws_afresh_for_every_image_and_pass() -> None:
    block = small_block().train()
    left, right = torch.ones(1000, 1, 1, 1), torch.zeros(1000, 1, 1, 1)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        first, second = block._mixed(left, right).flatten(), block._mixed(left, right).flatten()

    assert len(first.unique()) > 990  # one α an image
    assert not torch.equal(first, second)
    assert abs(first.mean() - 1 / 2) < 0.03 and abs(first.var() - 1 / 12) < 0.01  # uniform


def test_backward_draws_are_independent_of_forward_draws() -> None:
    block = small_block().train()
    left = torch.ones(1000, 1, 1, 1, requires_grad=True)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        alpha = block._mixed(left, torch.zeros(1000, 1, 1, 1))
    alpha.sum().backward()

    assert left.grad is not None
    both = torch.stack([alpha.detach().flatten(), left.grad.flatten()])
    assert abs(torch.corrcoef(both)[0, 1]) < 0.1


def test_evaluation_counts_both_paths_half_and_draws_nothing() -> None:
    block = small_block().eval()
    images = torch.randn(3, 2, 4, 4)
    before = torch.get_rng_state()

    with torch.no_grad():
        found = block(images)
        expected = images + 0.5 * block.left(images) + 0.5 * block.right(images)

    assert torch.allclose(found, expected)
    assert torch.equal(torch.get_rng_state(), before)


def test_seeded_training_pass_repeats() -> None:
    network: Network = build_network(NAME, classes=2, image_shape=(8, 8, 1), seed=0).train()
    images = torch.randn(2, 1, 8, 8)

    def seeded(seed: int) -> Tensor:
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(seed)
            return network(images)

    assert torch.equal(seeded(1), seeded(1))
    assert not torch.equal(seeded(1), seeded(2))


def test_shortcut_of_half_the_size_sees_even_and_odd_pixels() -> None:
    shortcut = _TwoGrids(1, 2).eval()
    for convolution in (shortcut.even, shortcut.odd):
        torch.nn.init.ones_(convolution.weight)
    image = torch.arange(16.0).reshape(1, 1, 4, 4)

    with torch.no_grad():
        even, odd = shortcut(image)[0]

    assert torch.allclose(even, torch.tensor([[0.0, 2.0], [8.0, 10.0]]), rtol=1e-4)
    assert torch.allclose(odd, torch.tensor([[5.0, 7.0], [13.0, 15.0]]), rtol=1e-4)
