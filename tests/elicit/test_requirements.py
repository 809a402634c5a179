"""Every requirement has tests named after it, on both databases, and a row in the documentation."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.elicit.web.app import STATIC, TEMPLATES
from sfumato.elicit.web.platforms import MTURK_HOSTS

ROOT = Path(__file__).parents[2]
PLACES = (ROOT / "tests" / "elicit", ROOT / "tests" / "cli")
"""Where the tests of requirements are."""
PAGE = ROOT / "docs" / "elicit-requirements.md"
IDS = [f"S{number}" for number in range(1, 19)] + [f"R{number}" for number in range(1, 10)]
ROW = re.compile(r"^\| ([SR]\d+) \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)
BOTH = ("sqlite", "postgresql")
NAME = re.compile(r"::(test_([sr]\d+)_\w+)(\[.*\])?$")
ELSEWHERE = re.compile(r"(?:https?:)?//([\w.-]+\.\w+)")
NAMESPACE = "http://www.w3.org/"

Found = dict[str, dict[str, set[str]]]
"""By id of the requirement, the names of its tests with the databases that they run on."""


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> Found:
    """Taken from the tests of this run where they are all there; otherwise they are collected."""
    nodes = [item.nodeid for item in request.session.items]
    files = {path.name for place in PLACES for path in place.rglob("test_*.py")}
    if not files <= {Path(node.partition("::")[0]).name for node in nodes}:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
        said = subprocess.run(
            [*command, *map(str, PLACES)], capture_output=True, text=True, cwd=ROOT, check=True
        )
        nodes = said.stdout.splitlines()
    made: Found = {id_: {} for id_ in IDS}
    for node in nodes:
        if match := NAME.search(node):
            databases = made[match[2].upper()].setdefault(match[1], set())
            databases |= {name for name in BOTH if name in (match[3] or "")}
    return made


@pytest.mark.parametrize("id_", IDS)
def test_requirement_is_tested_on_both_databases(found: Found, id_: str) -> None:
    databases = set().union(*found[id_].values())

    assert databases == set(BOTH), f"{id_}: {sorted(found[id_])}"


def test_page_lists_the_tests_of_every_requirement(found: Found) -> None:
    text = PAGE.read_text(encoding="utf-8")
    expected = ROW.sub(lambda row: _row(row[1], row[2], found), text)
    if os.environ.get("SFUMATO_UPDATE_DOCS"):
        PAGE.write_text(expected, encoding="utf-8")
        text = expected

    assert [row[1] for row in ROW.finditer(text)] == IDS
    assert expected == text


def _row(id_: str, requirement: str, found: Found) -> str:
    tests = [
        f"`{name}`{' (both)' if databases == set(BOTH) else ''}"
        for name, databases in sorted(found[id_].items())
    ]
    where = set().union(*found[id_].values())
    named = ", ".join(
        name for key, name in (("sqlite", "SQLite"), ("postgresql", "PostgreSQL")) if key in where
    )
    return f"| {id_} | {requirement} | {', '.join(tests)} | {named} |"


def test_s17_nothing_in_page_or_dashboard_names_another_host() -> None:
    files = [path for folder in (STATIC, TEMPLATES) for path in folder.rglob("*") if path.is_file()]
    texts = {path: path.read_text(encoding="utf-8") for path in files if path.suffix != ".png"}
    named = [
        f"{path.name}: {match[0]}"
        for path, text in texts.items()
        for match in ELSEWHERE.finditer(text.replace(NAMESPACE, ""))
        if match[1] not in MTURK_HOSTS  # where a finished session of MTurk is sent
    ]

    assert len(texts) > 20
    assert named == []


def test_s17_everything_that_is_installed_has_one_exact_version() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    loose = [
        line for line in pinned if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+", line)
    ]
    names = {re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in pinned}
    wanted = re.findall(r'^\s+"([A-Za-z0-9._-]+)\S*>=', (ROOT / "pyproject.toml").read_text(), re.M)

    assert loose == []
    assert len(wanted) > 20
    known = {re.sub(r"[-_.]+", "-", name).lower() for name in wanted}
    assert known - {"xgboost"} <= names  # macOS takes xgboost where others take xgboost-cpu
