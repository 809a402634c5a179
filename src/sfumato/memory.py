"""Turn what a step will need into a sentence before it starts, where this machine has too little.

Only Linux says how much memory is free without further packages; elsewhere nothing is foreseen,
and what runs out is told afterwards.
"""

import os
from pathlib import Path

from sfumato.errors import DataError

SHARE = 0.9
"""How much of what is free may be asked for."""


def free_memory() -> int | None:
    """Bytes that a new array may take without another program losing its own; None: not known.

    >>> free_memory() is None or free_memory() > 0
    True
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        held = dict(line.split(":") for line in lines)
        free = int(held["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        try:
            return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return None
    limit = _limit()
    return free if limit is None else min(free, limit)


def require_memory(needed: float, *, what: str, instead: str) -> None:
    """Refuse a step that needs more bytes than there are, with what would help.

    >>> require_memory(1e18, what="Ten thousand votes", instead="Read a part of them.")
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: Ten thousand votes need about 1,000,000,000.0 GB of memory, and ...
    """
    free = free_memory()
    if free is not None and needed > SHARE * free:
        raise DataError(
            f"{what} need about {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are "
            f"free. {instead}"
        )


def _limit() -> int | None:
    """What a container may still take, where it has a limit of its own."""
    group = Path("/sys/fs/cgroup")
    try:
        most = (group / "memory.max").read_text(encoding="ascii").strip()
        used = int((group / "memory.current").read_text(encoding="ascii"))
        kept = dict(
            line.split() for line in (group / "memory.stat").read_text("ascii").splitlines()
        )
        return None if most == "max" else int(most) - used + int(kept.get("inactive_file", 0))
    except (OSError, ValueError):
        return None
