"""Turn a JSON text into its elements one by one, each with the line it starts in."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import open_text

__all__ = ["Member", "elements", "is_utf8", "members", "plain_text", "read_json_text", "whole"]

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


class Member(NamedTuple):
    """A member of a JSON object, and where its value begins."""

    line: int
    name: str
    value: Any
    start: int


def read_json_text(path: Path) -> str:
    """The text of a JSON file; an empty one is an error."""
    with open_text(path) as file:
        text = file.read()
    if not text.strip():
        raise DataError(f"{path.name} is empty; expected JSON.")
    return text


def whole(text: str, *, file: str) -> Any:
    """The value of a JSON text."""
    value, end = _decode(text, _skip(text, 0), file)
    _expect_end(text, end, file)
    return value


def elements(text: str, *, file: str) -> Iterator[tuple[int, Any]]:
    """Line and value of each element of a list; of the whole text if it is no list.

    >>> list(elements('[1,\\n {"a": 2}]', file="example.json"))
    [(1, 1), (2, {'a': 2})]
    """
    at = _skip(text, 0)
    line = 1 + text.count("\n", 0, at)
    if not text.startswith("[", at):
        yield line, whole(text, file=file)
        return
    seen, end = at, _skip(text, at + 1)
    while not text.startswith("]", end):
        line += text.count("\n", seen, end)
        seen = end
        value, end = _decode(text, end, file)
        yield line, value
        end = _next(text, end, "]", file)
    _expect_end(text, end + 1, file)


def members(text: str, *, file: str, start: int = 0) -> Iterator[Member]:
    """The members of the object that begins at ``start``; a name that occurs twice comes twice.

    >>> [(line, name) for line, name, value, start in members('{"a": 1,\\n"a": 2}', file="x.json")]
    [(1, 'a'), (2, 'a')]
    """
    seen = _skip(text, start)
    line = 1 + text.count("\n", 0, seen)
    if not text.startswith("{", seen):
        raise _broken(text, seen, file, "expected a JSON object")
    at = _skip(text, seen + 1)
    while not text.startswith("}", at):
        line += text.count("\n", seen, at)
        seen = at
        name, at = _decode(text, at, file)
        at = _skip(text, at)
        if not isinstance(name, str) or not text.startswith(":", at):
            raise _broken(text, at, file, "not JSON (expected a name and a colon)")
        begins = _skip(text, at + 1)
        value, at = _decode(text, begins, file)
        yield Member(line, name, value, begins)
        at = _next(text, at, "}", file)
    if start == 0:
        _expect_end(text, at + 1, file)


def plain_text(value: Any) -> str | None:
    """An id or label as text: texts stay, whole numbers lose a ``.0``; None for anything else.

    >>> plain_text("cat"), plain_text(3), plain_text(3.0), plain_text([3]), plain_text(True)
    ('cat', '3', '3', None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str) and value.strip() and is_utf8(value):
        return value.strip()
    return None


def is_utf8(text: str) -> bool:
    """Whether a text can be stored: JSON escapes can spell half a surrogate pair.

    >>> is_utf8("\\u00e9"), is_utf8("\\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decode(text: str, at: int, file: str) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise DataError(f"{file}, line {error.lineno}: not JSON ({error.msg}).") from None
    except (ValueError, RecursionError):  # a number or a nesting beyond what Python reads
        raise _broken(text, at, file, "a number too large or a nesting too deep") from None


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def _next(text: str, at: int, close: str, file: str) -> int:
    """From the end of an element to the next one, or to the closing bracket."""
    at = _skip(text, at)
    if text.startswith(close, at):
        return at
    if not text.startswith(",", at):
        raise _broken(text, at, file, f"not JSON (expected ',' or {close!r})")
    at = _skip(text, at + 1)
    if text.startswith(close, at):
        raise _broken(text, at, file, f"not JSON (a comma before {close!r})")
    return at


def _expect_end(text: str, at: int, file: str) -> None:
    at = _skip(text, at)
    if at < len(text):
        raise _broken(text, at, file, "not JSON (text after the end)")


def _broken(text: str, at: int, file: str, what: str) -> DataError:
    return DataError(f"{file}, line {1 + text.count(chr(10), 0, at)}: {what}.")
