"""Without any extra, every command works or says in one sentence which extra it wants.

The packages of the extras are installed where these tests run, so the commands run in a process in
which nothing can be imported but the core and what that depends on; all in one, as importing takes
most of their time.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, files, requires
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sfumato.cli import COMMANDS
from sfumato.cli.help import help_texts
from sfumato.errors import EXTRAS

pytestmark = pytest.mark.check

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

PRELUDE = """
import os, sys
from importlib.machinery import PathFinder

CORE = set(os.environ["SFUMATO_CORE"].split())

class OnlyCore(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
        foreign = any("site-packages" in str(place) for place in places)
        return None if foreign and name.partition(".")[0] not in CORE else spec

sys.meta_path[:] = [OnlyCore if finder is PathFinder else finder for finder in sys.meta_path]
"""
RUN_ALL = """
import contextlib, io, json
from pathlib import Path
from sfumato.cli import main

def run(words):
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["sfumato", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}

found = {name: run(words) for name, words in json.loads(Path("commands.json").read_text()).items()}
Path("found.json").write_text(json.dumps(found))
"""


def distributions(needed: list[str], known: set[str]) -> set[str]:
    """The names of what the core depends on, and of what that depends on."""
    for line in needed:
        match = re.match(r"[\w.-]+", line)
        if match is None or "extra ==" in line or match[0].lower() in known:
            continue
        try:
            more = requires(match[0]) or []
        except PackageNotFoundError:
            continue  # for another system or version
        known.add(match[0].lower())
        distributions(more, known)
    return known


def core_modules() -> set[str]:
    paths = [
        path for name in distributions(PROJECT["dependencies"], set()) for path in files(name) or ()
    ]
    return {"sfumato", *(path.parts[0].partition(".")[0] for path in paths)}


CORE = " ".join(sorted(core_modules()))


def run_plainly(code: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + code, *words],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": path,
            "SFUMATO_CORE": CORE,
            "SFUMATO_DATA": str(cwd / "data"),
            "XDG_CONFIG_HOME": str(cwd / "config"),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def make_inputs(folder: Path) -> None:
    answers = [
        f"i{n},p{p},{'cat' if (n + p) % 3 else 'dog'}\n" for n in range(12) for p in range(3)
    ]
    (folder / "votes.csv").write_text("task,worker,label\n" + "".join(answers))
    rows = "".join(f"i{n},{n / 5},{1 - n / 5}\n" for n in range(6))
    (folder / "labels.csv").write_text(f"item,cat,dog\n{rows}")
    (folder / "pictures").mkdir()
    table = "item,label\n"
    for number in range(6):
        pixels = np.full((8, 8), 40 * number, dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "pictures" / f"i{number}.png")
        table += f"i{number},{'cat' if number % 2 else 'dog'}\n"
    (folder / "table.csv").write_text(table)
    results = ROOT / "docs" / "results"
    shutil.copytree(results / "hmix", folder / "pages" / "hmix")
    shutil.copy(results / "hmix.json", folder / "pages")


CROWD = ("votes.csv", "--format", "crowd")
WORKS = {
    "list of commands": ("--help",),
    "version": ("--version",),
    "label": ("label", *CROWD, "--recipe", "votes", "-o", "new.csv"),
    "label with a model of annotators": (
        "label", *CROWD, "--recipe", "votes", "--aggregate", "dawid-skene", "-o", "new.parquet",
    ),
    "describe": ("describe", *CROWD, "--compare-aggregators", "--json"),
    "check": ("check", "labels.csv", "--as", "labels"),
    "convert": ("convert", *CROWD, "--to", "peerannot", "-o", "a.json"),
    "simulate": ("simulate", "voters", "--labels", "labels.csv", "-o", "s.csv"),
    "evaluate": (
        "evaluate", "--labels", "labels.csv", "--predictions", "labels.csv", "-o", "scores.csv",
    ),
    "cover": ("cover", "--labels", "labels.csv", "--predictions", "labels.csv"),
    "worth": ("worth", *CROWD, "--judge", "labels=labels.csv"),
    "audit": (
        "audit", "--labels", "labels.csv", "--images", "pictures", "--table", "table.csv",
        "--predictions", "labels.csv", "--original", "table.csv", "-o", "audited",
    ),
    "plan": ("plan", "--items", "20", "--classes", "3"),
    "mix": ("mix", "--images", "pictures", "--table", "table.csv", "--pairs", "1", "-o", "mixed"),
    "results of earlier runs": ("results", "-o", "pages"),
    "list of datasets": ("data", "list"),
    "place of a dataset": ("data", "path", "cifar10h"),
}  # fmt: skip
WANTS = {
    "run": (("run", "digits"), "learn"),
    "dry run": (("run", "digits", "--dry-run"), "learn"),
    "train": (("train", "pictures", "--labels", "labels.csv", "-o", "model"), "learn"),
    "predict": (("predict", "model", "pictures", "-o", "beliefs.csv"), "learn"),
    "report of a run": (("report", "pictures"), "report"),
    "report of answers": (("report", "votes.csv", "-o", "votes.html"), "report"),
    "report of an evaluation": (
        ("evaluate", "--labels", "labels.csv", "--predictions", "labels.csv", "--report", "e.html"),
        "report",
    ),
    "report of worth": (
        ("worth", "votes.csv", "--judge", "labels=labels.csv", "--report", "w.html"), "report",
    ),
    "view": (("view", "votes.csv"), "elicit"),
    "ambiguous": (
        ("ambiguous", "--images", "pictures", "--table", "table.csv", "-o", "between"), "learn",
    ),
    "digits of scikit-learn": (("mix", "--data", "digits", "-o", "digits"), "learn"),
    "page of an audit": (("audit", "--labels", "labels.csv", "-o", "a", "--report"), "report"),
    "page of a plan": (("plan", "--items", "9", "--classes", "3", "-o", "p"), "report"),
    "elicit new": (("elicit", "new", "study", "--demo"), "elicit"),
    "elicit serve": (("elicit", "serve", "study"), "elicit"),
    "elicit preview": (("elicit", "preview", "study"), "elicit"),
    "elicit pay": (("elicit", "pay", "study", "--simulate"), "elicit"),
    "elicit links": (("elicit", "links", "study", "--people", "2"), "elicit"),
    "elicit export": (("elicit", "export", "study", "-o", "x.csv"), "elicit"),
    "elicit status": (("elicit", "status", "study"), "elicit"),
    "elicit withdraw": (("elicit", "withdraw", "study", "person-1"), "elicit"),
    "elicit close": (("elicit", "close", "study"), "elicit"),
    "elicit copy": (("elicit", "copy", "study", "--to", "sqlite:///x"), "elicit"),
    "elicit backup": (("elicit", "backup", "study", "-o", "x"), "elicit"),
    "elicit restore": (("elicit", "restore", "study", "--from", "x"), "elicit"),
}  # fmt: skip


HELP = {f"help of {path}": (*path.split(), "--help") for path in help_texts()}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("plain")
    make_inputs(folder)
    commands = {**WORKS, **{name: words for name, (words, _) in WANTS.items()}, **HELP}
    (folder / "commands.json").write_text(json.dumps(commands))
    done = run_plainly(RUN_ALL, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "found.json").read_text())


@pytest.mark.parametrize("name", [*WORKS, *HELP])
def test_command_works(found: dict[str, dict[str, Any]], name: str) -> None:
    assert found[name]["code"] == 0, found[name]["err"]
    assert found[name]["out"]


@pytest.mark.parametrize("name", WANTS)
def test_command_says_which_extra_it_wants(found: dict[str, dict[str, Any]], name: str) -> None:
    told, extra = found[name]["err"], WANTS[name][1]

    assert found[name]["code"] == 1, found[name]["out"]
    assert told.count("\n") == 1, told
    assert f"which is not installed. Install it: pip install 'sfumato[{extra}]'" in told


def test_every_command_is_tried() -> None:
    tried = [*WORKS.values(), *(words for words, _ in WANTS.values())]

    assert {name for name in COMMANDS if not any(name in words for words in tried)} == set()


def test_pages_can_be_read_without_torch_and_matplotlib(tmp_path: Path) -> None:
    code = """
from sfumato.studies import ambiguous, audit, data, pages, results, trace
assert "torch" not in sys.modules and "matplotlib" not in sys.modules
print("imported")
"""
    assert run_plainly(code, cwd=tmp_path).stdout == "imported\n"


def test_hook_lets_only_the_core_in(tmp_path: Path) -> None:
    code = "import importlib.util as u; print([n for n in sys.argv[1:] if u.find_spec(n)])"

    assert (
        run_plainly(code, *EXTRAS, "numpy", "typer", cwd=tmp_path).stdout == "['numpy', 'typer']\n"
    )


def test_every_package_of_an_extra_that_is_imported_is_known() -> None:
    asked = {
        re.match(r"[\w.-]+", line)[0].lower()  # type: ignore[index]
        for name, lines in PROJECT["optional-dependencies"].items()
        if name not in ("all", "dev", "docs", "bench")
        for line in lines
    }
    not_imported_by_us = {"sfumato", "uvloop", "httptools", "xgboost-cpu"}
    named = {"scikit-learn": "sklearn", "argon2-cffi": "argon2"}

    imported = {named.get(name, name.replace("-", "_")) for name in asked - not_imported_by_us}
    assert imported <= set(EXTRAS)
    assert set(EXTRAS.values()) <= set(PROJECT["optional-dependencies"])
