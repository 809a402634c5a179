"""Print what a command found: as one JSON object, or as tables for people."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import typer

__all__ = ["print_found", "print_json"]


def print_json(found: Mapping[str, Any]) -> None:
    """One line and nothing else; a number that JSON does not know is an error."""
    typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False))


def print_found(
    found: dict[str, Any], as_json: bool, show: Callable[[dict[str, Any]], None]
) -> None:
    """As the user asked for it."""
    if as_json:
        print_json(found)
    else:
        show(found)
