"""Label a million simulated judgments by one command; print seconds and peak memory.

``python benchmarks/million_rows.py`` writes the files to a temporary folder, runs
``sfumato label`` on each and prints what it took. The bar: 60 s and 4 GB on two cores.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

ROWS, ITEMS, PEOPLE = 1_000_000, 50_000, 3_000
CLASSES = [f"class{place}" for place in range(10)]


def main() -> None:
    """Measure each kind of file."""
    print(
        f"{ROWS:,} simulated judgments, {ITEMS:,} items, {PEOPLE:,} people, {len(CLASSES)} classes"
    )
    print(f"{'file':24} {'recipe':12} {'seconds':>8} {'CPU s':>8} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, recipe, options in (
            ("crowd.csv", "votes", ["--format", "crowd"]),
            ("votes.parquet", "votes", []),
            ("top-two.csv", "top2-clamp", []),
        ):
            path = Path(folder) / name
            with ProcessPoolExecutor(1, get_context("spawn")) as other:
                # here, its memory would be counted as that of the command
                other.submit(_write, path, np.random.default_rng(0)).result()
            seconds, processor, peak = _label(path, recipe, options)
            print(f"{name:24} {recipe:12} {seconds:8.1f} {processor:8.1f} {peak:8.0f}", flush=True)


def _write(path: Path, rng: np.random.Generator) -> None:
    item = np.arange(ROWS) % ITEMS
    who = rng.integers(PEOPLE, size=ROWS)
    chosen = rng.choice(CLASSES, size=ROWS)
    ids = {"item": [f"item{i}" for i in item], "annotator": [f"p{w}" for w in who]}
    if path.name == "crowd.csv":
        table = pl.DataFrame({**ids, "label": chosen})
        table.rename({"item": "task", "annotator": "worker"}).write_csv(path)
        return
    kind = "top-two" if path.name.startswith("top-two") else "choose-one"
    if kind == "top-two":
        answers = _top_two(chosen, rng)
    else:
        answers = [json.dumps(name) for name in chosen.tolist()]
    table = pl.DataFrame({**ids, "answer": answers, "seconds": rng.gamma(2, 4, size=ROWS)})
    if path.suffix == ".csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    question = {"kind": kind, "classes": CLASSES}
    path.with_suffix(".question.json").write_text(json.dumps(question))


def _top_two(
    chosen: np.ndarray[tuple[int], np.dtype[np.str_]], rng: np.random.Generator
) -> list[str]:
    """Answers that hardly repeat, so that nothing is won by reading equal ones once."""
    first = rng.uniform(40, 100, size=ROWS).round(2)
    second = rng.uniform(0, 40, size=ROWS).round(2)
    others = rng.choice(CLASSES, size=ROWS)
    return [
        json.dumps(
            {
                "first": name,
                "first_percent": one,
                "second": None if other == name else other,
                "second_percent": two,
                "ruled_out": [CLASSES[0], CLASSES[1]],
            }
        )
        for name, other, one, two in zip(
            chosen.tolist(), others.tolist(), first.tolist(), second.tolist(), strict=True
        )
    ]


def _label(path: Path, recipe: str, options: list[str]) -> tuple[float, float, float]:
    """Seconds, CPU seconds and the most megabytes of one command."""
    command = [str(Path(sys.executable).parent / "sfumato"), "label", str(path), "--recipe", recipe]
    output = ["-o", str(path.with_suffix(".labels.parquet")), "--quiet"]
    started = time.monotonic()
    process = subprocess.Popen([*command, *options, *output], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"sfumato label ended with {status}.")
    return time.monotonic() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
