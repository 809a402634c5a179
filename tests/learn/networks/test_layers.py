import pytest
import torch
from torch import nn

from sfumato.learn.networks.blocks import GlobalMean, PadChannels, PreActivated, Sum, stage


def test_global_mean_is_the_mean_of_each_channel() -> None:
    images = torch.tensor([[[[1.0, 2.0], [3.0, 6.0]], [[0.0, 0.0], [0.0, 2.0]]]])

    assert GlobalMean()(images).tolist() == [[3.0, 0.5]]


def test_padded_channels_are_zero_and_come_last() -> None:
    images = torch.ones(2, 3, 4, 4)

    padded = PadChannels(2)(images)

    assert torch.equal(padded[:, :3], images)
    assert padded.shape == (2, 5, 4, 4) and not padded[:, 3:].any()


def test_sum_adds_path_and_shortcut() -> None:
    doubled = Sum(nn.Identity(), nn.Identity())(torch.tensor([-1.0, 3.0]))

    assert doubled.tolist() == [-2.0, 6.0]


@pytest.mark.parametrize(("sees", "expected"), [("input", -3.0), ("activated", 0.0)])
def test_shortcut_sees_the_input_or_the_activated_input(sees: str, expected: float) -> None:
    block = PreActivated(1, nn.Identity(), nn.Identity(), shortcut_sees=sees)  # type: ignore[arg-type]
    image = torch.full((1, 1, 1, 1), -3.0)

    found = block.eval()(image)  # untouched batch statistics: mean 0, variance 1; then ReLU

    assert found.item() == expected
    assert image.item() == -3


def test_only_the_first_block_of_a_stage_changes_channels_and_size() -> None:
    made: list[tuple[int, int, int]] = []

    def block(channels_in: int, channels_out: int, stride: int) -> nn.Module:
        made.append((channels_in, channels_out, stride))
        return nn.Identity()

    stage(block, 4, 8, blocks=3, stride=2)

    assert made == [(4, 8, 2), (8, 8, 1), (8, 8, 1)]
