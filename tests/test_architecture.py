"""The direction of imports and the length of functions are tests, not wishes."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "sfumato"

BASE = {"errors", "names", "provenance", "scores"}

MAY_IMPORT: dict[str, set[str]] = {
    "judgments": set(),
    "labels": {"judgments"},
    "planning": {"judgments", "labels"},
    "data": {"judgments", "labels"},
    "learn": {"labels"},
    "evaluation": {"labels"},
    "elicit": {"judgments"},
    "reporting": {"judgments", "labels"},
    "studies": {"judgments", "labels", "planning", "data", "learn", "evaluation", "reporting"},
    "cli": {
        "judgments",
        "labels",
        "planning",
        "data",
        "learn",
        "evaluation",
        "elicit",
        "reporting",
        "studies",
    },
}

HEAVY_ONLY_IN: dict[str, set[str]] = {
    "torch": {"learn", "evaluation"},
    "matplotlib": {"reporting"},
    "joblib": {"learn"},
    "dask": {"learn"},
    "distributed": {"learn"},
    "starlette": {"elicit"},
    "uvicorn": {"elicit", "cli"},
    "sqlalchemy": {"elicit"},
    "sklearn": {"data", "learn"},
    "typer": {"cli"},
    "rich": {"cli"},
}


def modules_read_by(path: Path) -> set[str]:
    """Full names of all modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


ROOMS = sorted({room_of(path) for path in SRC.rglob("*.py")} & set(MAY_IMPORT))


@pytest.mark.parametrize("room", ROOMS)
def test_room_imports_only_what_it_may(room: str) -> None:
    files = list((SRC / room).rglob("*.py"))

    found = {
        name.split(".")[1]
        for path in files
        for name in modules_read_by(path)
        if name.startswith("sfumato.")
    }

    assert files
    assert found <= MAY_IMPORT[room] | BASE | {room}


def test_base_imports_nothing_else_of_ours() -> None:
    found = {
        (path.stem, name.split(".")[1])
        for path in SRC.glob("*.py")
        if path.stem in BASE
        for name in modules_read_by(path)
        if name.startswith("sfumato.")
    }

    assert {target for _, target in found} <= BASE


@pytest.mark.parametrize("package", HEAVY_ONLY_IN)
def test_heavy_package_stays_in_its_rooms(package: str) -> None:
    users = {
        room_of(path)
        for path in SRC.rglob("*.py")
        for name in modules_read_by(path)
        if name.split(".")[0] == package
    }

    assert users <= HEAVY_ONLY_IN[package]


def test_every_room_is_in_the_table() -> None:
    folders = {path.parent.relative_to(SRC).parts[0] for path in SRC.glob("*/__init__.py")}

    assert folders <= set(MAY_IMPORT)


def test_no_function_is_longer_than_sixty_lines() -> None:
    long = {
        f"{path.relative_to(SRC)}: {node.name}"
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= 60
    }

    assert not long
