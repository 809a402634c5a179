import pytest
import torch

from sfumato.learn.device import best_device, precision, repeatable


def test_without_a_gpu_it_is_the_cpu_in_full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    device = best_device()

    with precision(device):
        product = torch.ones(2, 2) @ torch.ones(2, 2)

    assert (device.type, product.dtype) == ("cpu", torch.float32)


def test_gpu_is_taken_when_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)

    assert best_device() == torch.device("cuda", 0)


def test_inside_the_seed_rules_and_outside_nothing_changed() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    draws = []

    for _ in range(2):
        with repeatable(torch.device("cpu"), 3):
            assert torch.get_num_threads() == 1
            draws.append(torch.rand(2))

    assert torch.equal(draws[0], draws[1])
    assert torch.equal(torch.rand(3), expected)
