import platform
import subprocess
import sys

import pytest
import torch

from sfumato.learn.examples import (
    best_device,
    device_name,
    keep_freed_memory,
    precision,
    repeatable,
)

USES_MEMORY_AGAIN = """
import resource
import torch
from sfumato.learn.examples import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        # of 40 MB: up to 32 the C library may have learnt to keep some by itself
        blocks = [torch.ones(10_000_000) for _ in range(4)]
        del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults(), keep_freed_memory(), min(faults(), faults()))
"""


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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library is told")
def test_freed_memory_is_used_again_without_asking_the_system_for_it() -> None:
    told = subprocess.run(
        [sys.executable, "-c", USES_MEMORY_AGAIN], check=True, capture_output=True, text=True
    )

    before, kept, after = told.stdout.split()
    assert kept == "True"
    assert int(after) * 10 < int(before)


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert not keep_freed_memory.__wrapped__()


def test_name_of_a_device_tells_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    cpu = device_name()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"GPU {device.index}")

    assert cpu == f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    assert device_name() == "GPU 0"
