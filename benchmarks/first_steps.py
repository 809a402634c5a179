"""Time three first steps of a newcomer from ``git clone``: commands typed, and seconds.

    python benchmarks/first_steps.py [--repository PATH_OR_ADDRESS]

Each task starts in an empty folder that holds only what a person would bring along (a CSV of votes,
or pictures and classes) and runs the commands as they would be typed, with a virtual environment of
its own. A task ends when its result was checked. How fast packages arrive depends on the network,
so the seconds of installing stand apart.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

ROOT = Path(__file__).parents[1]
VOTES = (
    "image,rater,category\nimg1,ann,cat\nimg1,bob,cat\nimg1,eve,dog\nimg2,ann,dog\nimg2,bob,dog\n"
)
MODEL = """\
import numpy as np, sfumato as sf
from sklearn.linear_model import LogisticRegression
X = np.random.default_rng(0).normal(size=(60, 4))
p = 1 / (1 + np.exp(-X[:, 0]))
labels = sf.LabelSet([f"item-{n}" for n in range(60)], ("cat", "dog"), np.stack([p, 1 - p], axis=1))
model = sf.SoftTargets(LogisticRegression()).fit(X[:40], labels[:40])
probs = model.predict_proba(X[40:])
ours = sf.LabelSet(labels.items[40:], labels.classes, probs)
for row in sf.evaluate(labels[40:], {"ours": ours}, metrics=["cross_entropy"]):
    print(row.metric, row.stratum, round(row.value, 3))
"""
INSTALL = "pip install -q -c sfumato/constraints.txt './sfumato{}'"


class Task(NamedTuple):
    """What a newcomer wants, brings along and types; and what must be there at the end."""

    title: str
    bring: Callable[[Path], None]
    extra: str
    commands: tuple[str, ...]
    proof: str


def bring_votes(folder: Path) -> None:
    (folder / "votes.csv").write_text(VOTES, encoding="utf-8")


def bring_pictures(folder: Path) -> None:
    rng = np.random.default_rng(0)
    (folder / "pictures").mkdir()
    for number in range(20):
        pixels = rng.integers(256, size=(64, 64, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "pictures" / f"{number}.png")
    (folder / "classes.txt").write_text("cat\ndog\n", encoding="utf-8")


def bring_script(folder: Path) -> None:
    (folder / "model.py").write_text(MODEL, encoding="utf-8")


TASKS = (
    Task(
        "first label from your own CSV", bring_votes, "",
        ("sfumato label votes.csv -o labels.csv",),
        "grep -q img1 labels.csv",
    ),
    Task(
        "first running form", bring_pictures, "[elicit]",
        ("sfumato elicit new study --images pictures --classes classes.txt --question top-two",
         "sfumato elicit serve study --port 8927 &"),
        "for n in $(seq 600); do curl -sf -o form.html http://127.0.0.1:8927/ && break; sleep 0.1;"
        " done; kill %1; grep -q '<html' form.html",
    ),
    Task(
        "first scored model", bring_script, "[boost]",
        ("python model.py > scores.txt",),
        "grep -q cross_entropy scores.txt",
    ),
)  # fmt: skip


def run(task: Task, repository: str) -> tuple[int, float, float]:
    """Commands typed, seconds until packages are there, and seconds of the rest."""
    setup = (
        f"git clone -q {repository} sfumato",
        "python -m venv venv && . venv/bin/activate",
        INSTALL.format(task.extra),
    )
    with tempfile.TemporaryDirectory() as name:
        task.bring(Path(name))
        began = time.monotonic()
        shell("; ".join(setup), Path(name))
        installed = time.monotonic()
        shell("\n".join((". venv/bin/activate", *task.commands, task.proof)), Path(name))
        done = time.monotonic()
    return len(setup) + len(task.commands), installed - began, done - installed


def shell(commands: str, folder: Path) -> None:
    """Run commands in one shell, and stop where one fails."""
    done = subprocess.run(
        ["bash", "-c", f"set -em\n{commands}"], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{commands}\n{done.stdout}{done.stderr}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repository", default=str(ROOT))
    repository = parser.parse_args().repository
    print("task                              commands  seconds to install  seconds after that")
    for task in TASKS:
        typed, install, rest = run(task, repository)
        print(f"{task.title:32}  {typed:8}  {install:18.1f}  {rest:18.1f}")


if __name__ == "__main__":
    main()
