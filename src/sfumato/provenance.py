"""Remember what was done to what, so that a number can be walked back to the answers.

A provenance is a tuple of steps in the order they were taken. Each step names what was
done, with which settings, and the fingerprints of what was read.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Setting = str | int | float | bool | None | list["Setting"] | dict[str, "Setting"]


@dataclass(frozen=True)
class Step:
    """One thing that was done."""

    name: str
    """What was done: "read cifar10s", "label top2-clamp", "simulate voters"."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """Everything the step was told, defaults included."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """File name to the SHA-256 of its content."""
    simulated: bool = False
    """Whether answers were made up here rather than given by people."""


Provenance = tuple[Step, ...]


def fingerprint_file(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_simulated(provenance: Provenance) -> bool:
    """Whether any step made answers up.

    >>> is_simulated((Step("simulate voters", simulated=True), Step("label votes")))
    True
    """
    return any(step.simulated for step in provenance)


def to_json(provenance: Provenance) -> list[Setting]:
    """The steps as plain lists and dicts, ready for ``json.dumps``."""
    return [
        {
            "name": step.name,
            "settings": dict(step.settings),
            "inputs": dict(step.inputs),
            "simulated": step.simulated,
        }
        for step in provenance
    ]


def from_json(steps: list[dict[str, Setting]]) -> Provenance:
    """The inverse of ``to_json``."""
    return tuple(Step(**step) for step in steps)  # type: ignore[arg-type]
