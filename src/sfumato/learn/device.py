"""Choose where a network runs and with how many digits: by the device, not by options."""

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import torch

__all__ = ["best_device", "device_name", "keep_freed_memory", "precision", "repeatable"]

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""What ``malloc.h`` of the GNU C library calls these settings."""

KEPT_BYTES = 2**28
"""So much freed memory stays with a process that trains on a CPU."""


def best_device() -> torch.device:
    """The first GPU if there is one, else the CPU."""
    return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")


def device_name() -> str:
    """The kind of device, which decides in which order sums are rounded: ``"x86_64 AVX512"``."""
    device = best_device()
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def precision(device: torch.device) -> AbstractContextManager[object]:
    """bfloat16 where the GPU computes it itself, float32 elsewhere: on a CPU it is slower.

    bfloat16 has float32's range, so gradients need no scaling.
    """
    if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()


@contextmanager
def repeatable(device: torch.device, seed: int) -> Iterator[None]:
    """Seeded generators, one thread and fixed algorithms inside; all as before afterwards.

    The bits of a result depend on the number of threads: alone as in a sweep, it is one.
    """
    gpu = [device] if device.type == "cuda" else []
    threads = torch.get_num_threads()
    with (
        torch.random.fork_rng(devices=gpu),
        torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True),
    ):
        torch.default_generator.manual_seed(seed)  # for networks that draw themselves
        if gpu:
            torch.cuda.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@cache
def keep_freed_memory() -> bool:
    """Have this process use freed memory again instead of giving it back; True if it will.

    Each step of a training frees what the next one asks for. The GNU C library returns larger
    blocks to the system, which hands them out again page by page, all zeros: a tenth of the time
    of a small network. Elsewhere nothing is done.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    return all(mallopt(setting, KEPT_BYTES) for setting in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD))
