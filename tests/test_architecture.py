"""The direction of imports and the length of functions are tests, not wishes."""

import ast
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "sfumato"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "names", "provenance", "frames", "tabular", "stats", "scores"),
    ("judgments",),
    ("labels",),
    ("items",),
    ("planning", "data", "learn", "evaluation"),
    ("reporting",),
    ("elicit", "studies"),
    ("viewing",),
    ("cli",),
)
"""A room may import any room of a lower layer; rooms of one layer do not know each other, but the
first seven, which are files of the ground floor."""

HEAVY_ONLY_IN: dict[str, set[str]] = {
    "torch": {"learn", "evaluation", "labels", "items"},  # labels, items: to_torch
    "matplotlib": {"reporting"},
    "joblib": {"learn"},
    "dask": {"learn"},
    "distributed": {"learn"},
    "starlette": {"elicit", "viewing"},
    "uvicorn": {"elicit", "viewing"},
    "sqlalchemy": {"elicit"},
    "anywidget": {"elicit"},
    "sklearn": {"data", "learn"},
    "lightgbm": {"learn"},
    "sentence_transformers": {"learn"},
    "xgboost": {"learn"},
    "typer": {"cli"},
    "rich": {"cli"},
}

LONGEST = 80
"""Lines of a function; nine in ten have at most ``USUAL``."""
USUAL = 30


def modules_read_by(path: Path) -> set[str]:
    """Full names of all modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def imports_of(path: Path) -> set[str]:
    """As ``modules_read_by``, with the modules that names are imported from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


ROOMS = [room for layer in LAYERS for room in layer]


@pytest.mark.parametrize("room", ROOMS)
def test_room_imports_only_lower_layers(room: str) -> None:
    place = next(at for at, layer in enumerate(LAYERS) if room in layer)
    lower = {each for layer in LAYERS[:place] for each in layer}
    siblings = set(LAYERS[0]) if place == 0 else set()
    files = [path for path in SRC.rglob("*.py") if room_of(path) == room]

    found = {
        name.split(".")[1]
        for path in files
        for name in modules_read_by(path)
        if name.startswith("sfumato.")
    }

    assert files
    assert found <= lower | siblings | {room}


def test_nothing_imports_from_the_front_door() -> None:
    users = [
        str(path.relative_to(SRC))
        for path in SRC.rglob("*.py")
        if any(
            name.split(".")[0] == "sfumato" and "." not in name for name in modules_read_by(path)
        )
    ]

    assert users == []


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
    rooms = {room_of(path) for path in SRC.rglob("*.py")} - {"__init__", "__main__"}

    assert rooms == set(ROOMS)


def test_modules_do_not_import_in_circles() -> None:
    names = {
        ".".join(("sfumato", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in SRC.rglob("*.py")
    }
    edges = {name: imports_of(path) & names.keys() - {name} for name, path in names.items()}
    settled: set[str] = set()
    while True:  # a module is settled when all that it imports is
        more = {name for name in edges.keys() - settled if edges[name] <= settled}
        if not more:
            break
        settled |= more

    assert sorted(edges.keys() - settled) == []


def test_functions_are_short() -> None:
    lengths = {
        f"{path.relative_to(SRC)}: {node.name}": node.end_lineno - node.lineno + 1
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    }

    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}
    assert sorted(lengths.values())[int(0.9 * len(lengths))] <= USUAL


def test_public_names_are_listed_in_packages_only() -> None:
    listing = re.compile(r"^__all__\b", re.MULTILINE)

    found = [
        str(path.relative_to(SRC))
        for path in SRC.rglob("*.py")
        if path.name != "__init__.py" and listing.search(path.read_text(encoding="utf-8"))
    ]

    assert found == []
