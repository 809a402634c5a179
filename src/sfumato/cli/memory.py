"""Turn the many ways in which memory runs out into one sentence with what to do about it."""

import errno
import re

SIGNS = re.compile(
    r"not enough memory|out of memory|can(?:no|')t allocate memory|memory allocation of"
    r"|failed to map segment|capacity overflow",
    re.IGNORECASE,
)
"""What torch, polars and the loader of shared libraries say, none of which raises MemoryError."""
WHAT_TO_DO = (
    "Try a part of the items or a smaller setting (--per-item, --draws, --candidates, batch size), "
    "close other programs, or use a machine with more memory."
)


def explain_shortage(error: BaseException) -> str | None:
    """One sentence on what ran out and one on what helps; None if the error is of another kind.

    >>> print(explain_shortage(MemoryError("Unable to allocate 8.00 GiB for an array")))
    The memory of this machine ran out (Unable to allocate 8.00 GiB for an array). Try a part ...
    >>> explain_shortage(ValueError("no number"))
    """
    if not _is_shortage(error):
        return None
    first = str(error).strip().partition("\n")[0].rstrip(".")
    said = f" ({first})" if first else ""
    what = "the GPU" if "CUDA" in first else "this machine"
    return f"The memory of {what} ran out{said}. {WHAT_TO_DO}"


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, RuntimeError | ImportError) and bool(SIGNS.search(str(error)))
