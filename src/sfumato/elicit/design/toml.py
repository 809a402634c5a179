"""Settings as TOML text; Python can read TOML but not write it."""

import json
from collections.abc import Mapping
from typing import Any

from sfumato.errors import DataError


def as_toml(settings: Mapping[str, Any], name: str = "") -> str:
    """A table: first its values, then the tables in it.

    >>> print(as_toml({"title": "Cats", "layout": {"repeats": 2}}), end="")
    title = "Cats"
    <BLANKLINE>
    [layout]
    repeats = 2
    """
    values, tables = "", ""
    for key, value in settings.items():
        full = f"{name}.{_key(key)}" if name else _key(key)
        if isinstance(value, Mapping):
            tables += f"\n[{full}]\n{as_toml(value, full)}"
        elif value and isinstance(value, list) and all(isinstance(row, Mapping) for row in value):
            tables += "".join(f"\n[[{full}]]\n{as_toml(row, full)}" for row in value)
        else:
            values += f"{_key(key)} = {_value(value)}\n"
    return values + tables


def _key(key: str) -> str:
    plain = key.replace("-", "").replace("_", "")
    return key if plain.isascii() and plain.isalnum() else _value(key)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # A JSON text is a TOML text, but for this one character.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case list():
            inside = [_value(entry) for entry in value]
            if sum(map(len, inside)) < 80:
                return f"[{', '.join(inside)}]"
            return "[\n" + "".join(f"    {entry},\n" for entry in inside) + "]"
        case Mapping():  # inside a list
            return "{" + ", ".join(f"{_key(key)} = {_value(v)}" for key, v in value.items()) + "}"
        case _:
            raise DataError(f"A setting cannot be {value!r}: write a text, number, list or table.")
