"""Find what a typed name means, or say which names there are."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from sfumato.errors import UnknownName

__all__ = ["find"]

T = TypeVar("T")


def find(table: Mapping[str, T], name: str, *, what: str) -> T:
    """Return ``table[name]``, or say which names there are.

    >>> find({"mean": 1, "median": 2}, "mean", what="aggregator")
    1
    >>> find({"mean": 1, "median": 2}, "medan", what="aggregator")
    Traceback (most recent call last):
        ...
    sfumato.errors.UnknownName: No aggregator is called 'medan'. Did you mean 'median'? ...
    """
    if name in table:
        return table[name]
    near = get_close_matches(name, table, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UnknownName(f"No {what} is called {name!r}.{hint} Known: {', '.join(sorted(table))}.")
