"""The parts of a folder are read once each, here or on a cluster, whatever comes between."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.learn.parts import read_parts_through

SFUMATO = str(Path(sys.executable).parent / "sfumato")


def write_parts(folder: Path, *, parts: int, rows: int) -> Path:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number in range(parts):
        pl.DataFrame(
            {
                "item": rng.integers(rows, size=rows),
                "annotator": "p" + pl.Series(rng.integers(50, size=rows)).cast(pl.String),
                "answer": "c" + pl.Series(rng.integers(5, size=rows)).cast(pl.String),
            }
        ).write_parquet(folder / f"part{number}.parquet")
    return folder


def test_a_finished_part_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_parts(tmp_path / "votes", parts=2, rows=20)
    options = ReadOptions(parts=read_parts_through(tmp_path / "kept"))
    first = read(folder, options=options)
    (folder / "part1.parquet").touch()  # the same content at another time is the same part
    monkeypatch.setattr("sfumato.learn.parts.code_part", None)

    again = read(folder, options=options)

    assert again.table.equals(first.table)


def test_a_part_that_changed_is_read_again(tmp_path: Path) -> None:
    folder = write_parts(tmp_path / "votes", parts=2, rows=20)
    options = ReadOptions(parts=read_parts_through(tmp_path / "kept"))
    read(folder, options=options)
    changed = pl.read_parquet(folder / "part1.parquet").with_columns(item=pl.lit(99))
    changed.write_parquet(folder / "part1.parquet")

    found = read(folder, options=options)

    assert found.table["item"].to_list().count("99") == 20


def test_a_cluster_reads_what_one_process_reads(tmp_path: Path, scheduler: str) -> None:
    folder = write_parts(tmp_path / "votes", parts=3, rows=50)
    through = read_parts_through(tmp_path / "kept", engine="dask", scheduler=scheduler)

    found = read(folder, options=ReadOptions(parts=through))

    here = read(folder, options=ReadOptions(parts=read_parts_through(tmp_path / "here")))
    assert found.table.equals(here.table)
    kept, local = tmp_path / "kept", tmp_path / "here"
    assert {file.name: file.read_bytes() for file in kept.iterdir()} == {
        file.name: file.read_bytes() for file in local.iterdir()
    }


def test_a_killed_command_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    folder = write_parts(tmp_path / "votes", parts=6, rows=200_000)
    whole, output = tmp_path / "whole.parquet", tmp_path / "labels.parquet"
    kept = tmp_path / "labels.parquet.parts"
    subprocess.run([SFUMATO, "label", folder, "-o", whole, "--quiet"], check=True)

    process = subprocess.Popen([SFUMATO, "label", folder, "-o", output, "--quiet"])
    while process.poll() is None and len(list(kept.glob("*.json"))) < 2:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    finished = {file.name: file.stat().st_mtime_ns for file in kept.glob("*.json")}
    assert 2 <= len(finished) < 6
    assert not output.exists()
    subprocess.run([SFUMATO, "label", folder, "-o", output, "--quiet"], check=True)

    assert output.read_bytes() == whole.read_bytes()
    assert output.with_name("labels.parquet.json").read_text() == (
        whole.with_name("whole.parquet.json").read_text()
    )
    assert not kept.exists()
