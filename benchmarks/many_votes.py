"""Label many simulated votes beside polars and DuckDB that only count; print seconds and memory.

``python benchmarks/many_votes.py`` writes votes to a temporary folder and runs each contender in
a process of its own: ``sfumato label`` with all its checks, polars' streaming engine and DuckDB
with the same two queries, votes per item and class, and pairs of item and person that occur twice.
``--votes 100_000_000`` writes ten parts. Then it compares what they found.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

PART = 10_000_000
"""Votes per file."""


def main() -> None:
    """Measure the contenders, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=lambda text: int(text.replace("_", "")), default=PART)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--items", type=int, default=0, help="otherwise a twentieth of the votes")
    parser.add_argument("--only", default="sfumato,polars,duckdb")
    parser.add_argument("--folder", type=Path, help="where to write; otherwise a temporary one")
    parser.add_argument("--count", nargs=3, metavar=("WITH", "VOTES", "OUTPUT"))
    given = parser.parse_args()
    if given.count:
        name, votes, output = given.count
        COUNT[name](Path(votes), Path(output))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        _measure(given, Path(folder))


def _measure(given: argparse.Namespace, folder: Path) -> None:
    items = given.items or given.votes // 20
    people = max(given.votes // 1_000, 1_000)
    with ProcessPoolExecutor(1, get_context("spawn")) as other:
        # here, its memory would be counted as that of every process that is started later
        done = other.submit(_write, folder, given.votes, items, people, given.classes)
        votes = done.result()
    print(
        f"{given.votes:,} simulated votes, {items:,} items, {people:,} people, "
        f"{given.classes:,} classes, {os.cpu_count()} cores"
    )
    print(f"{'contender':10} {'seconds':>8} {'CPU s':>8} {'peak MB':>8}")
    for name in given.only.split(","):
        output = folder / name
        output.mkdir()
        seconds, processor, peak = _run(_command(name, votes, output), output)
        print(f"{name:10} {seconds:8.1f} {processor:8.1f} {peak:8.0f}", flush=True)
    if {"sfumato", "polars"} <= set(given.only.split(",")):
        _compare(folder)


def _write(folder: Path, votes: int, items: int, people: int, classes: int) -> Path:
    rng = np.random.default_rng(0)
    target = folder / "votes"
    target.mkdir()
    for number, start in enumerate(range(0, votes, PART)):
        size = min(PART, votes - start)
        columns = {"item": ("item", items), "annotator": ("p", people), "answer": ("c", classes)}
        pl.DataFrame(
            {
                name: word + pl.Series(rng.integers(many, size=size)).cast(pl.String)
                for name, (word, many) in columns.items()
            }
        ).write_parquet(target / f"part{number:03}.parquet")
    return target if votes > PART else target / "part000.parquet"


def _command(name: str, votes: Path, output: Path) -> list[str]:
    if name == "sfumato":
        script = Path(sys.executable).parent / "sfumato"
        return [str(script), "label", str(votes), "-o", str(output / "labels.parquet")]
    return [sys.executable, __file__, "--count", name, str(votes), str(output)]


def _run(command: list[str], output: Path) -> tuple[float, float, float]:
    """Seconds, CPU seconds and the most megabytes of a process."""
    started = time.monotonic()
    with (output / "said.txt").open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit((output / "said.txt").read_text())
    return time.monotonic() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _with_polars(votes: Path, output: Path) -> None:
    frame = pl.scan_parquet(votes / "*.parquet" if votes.is_dir() else votes)
    frame.group_by("item", "answer").len().sink_parquet(output / "counts.parquet")
    shares = 10 if votes.is_dir() else 1  # at once, ten parts would take 15 GB
    doubled = [
        frame.filter(pl.col("item").hash() % shares == share)
        .group_by("item", "annotator")
        .len()
        .filter(pl.col("len") > 1)
        .collect(engine="streaming")
        for share in range(shares)
    ]
    pl.concat(doubled).write_parquet(output / "doubled.parquet")


def _with_duckdb(votes: Path, output: Path) -> None:
    import duckdb

    source = f"'{votes / '*.parquet' if votes.is_dir() else votes}'"
    queries = {
        "counts": f"SELECT item, answer, count(*) AS len FROM {source} GROUP BY item, answer",
        "doubled": f"SELECT item, annotator, count(*) AS len FROM {source} "
        "GROUP BY item, annotator HAVING count(*) > 1",
    }
    duckdb.execute("SET memory_limit = '6GB'")  # beyond, it uses the disk
    duckdb.execute(f"SET temp_directory = '{output}'")
    for name, query in queries.items():
        duckdb.execute(f"COPY ({query}) TO '{output / name}.parquet' (FORMAT parquet)")


COUNT: dict[str, Callable[[Path, Path], None]] = {"polars": _with_polars, "duckdb": _with_duckdb}


def _compare(folder: Path) -> None:
    """Shares of every item without a doubled pair must be those of the group-by."""
    labels = pl.read_parquet(folder / "sfumato" / "labels.parquet")
    counts = pl.read_parquet(folder / "polars" / "counts.parquet")
    doubled = pl.read_parquet(folder / "polars" / "doubled.parquet")
    said = (folder / "sfumato" / "said.txt").read_text()
    aside = int(doubled["len"].sum() - len(doubled))
    assert f"{aside:,} not selected" in said or not aside, said
    plain = counts.join(doubled, on="item", how="anti")
    shares = plain.with_columns(share=pl.col("len") / pl.col("len").sum().over("item"))
    if "classes" in labels.columns:
        ours = labels.explode("classes", "probs").rename({"classes": "answer", "probs": "ours"})
    else:
        ours = labels.unpivot(index="item", variable_name="answer", value_name="ours")
        ours = ours.filter(pl.col("ours") > 0)
    both = shares.join(ours, on=["item", "answer"], how="left")
    assert both["ours"].null_count() == 0
    assert (both["share"] == both["ours"]).all()
    print(
        f"Equal: {len(plain):,} shares of {plain['item'].n_unique():,} items; {aside:,} answers "
        "of people who had judged the item before are left out by us."
    )


if __name__ == "__main__":
    main()
