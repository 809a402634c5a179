"""Find what a typed name means, or say which there are; put names in order, in sentences."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, TypeVar

from sfumato.errors import UnknownName, explain_missing

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


def sorted_names(names: Sequence[str]) -> list[str]:
    """Names in their natural order: as numbers if all are integers, otherwise as text.

    >>> sorted_names(["10", "9"]), sorted_names(["b", "10"])
    (['9', '10'], ['10', 'b'])
    """
    if all(re.fullmatch(r"-?\d{1,18}", name) for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)


def short_names(names: Iterable[str], least: int = 8) -> dict[str, str]:
    """What each name is shown as: a long hexadecimal one by its beginning, which no other has.

    >>> list(short_names(["ann", "1234567812345678", "1234567887654321"]).values())
    ['ann', '123456781', '123456788']
    """
    names = list(dict.fromkeys(names))
    for length in range(least, 16):
        cut = [name[:length] if re.fullmatch("[0-9a-f]{16,}", name) else name for name in names]
        if len(set(cut)) == len(names):
            return dict(zip(names, cut, strict=True))
    return dict(zip(names, names, strict=True))


def quote_names(names: Sequence[str], most: int = 8) -> str:
    """Names in quotes, the first few.

    >>> quote_names(["a", "b"]), quote_names(["a", "b", "c"], 2)
    ("'a', 'b'", "'a', 'b' and 1 more")
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(repr(str(name)[:60]) for name in names[:most]) + more


def format_count(number: int, what: str, several: str = "") -> str:
    """A number and its noun, in the plural but for one.

    >>> format_count(1, "row"), format_count(2000, "row"), format_count(2, "person", "people")
    ('1 row', '2,000 rows', '2 people')
    """
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def load_name(target: str) -> Any:
    """What stands at "module:name", imported when asked for.

    The front door finds its names this way, and so do methods that are verbs of a higher layer
    (``labels.describe()``), because no module imports upwards. A package of an extra that is not
    installed is an error with the line that installs it.

    >>> load_name("math:sqrt")(9.0)
    3.0
    """
    module, _, name = target.partition(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise explain_missing(error, f"`{name}`") or error from None
