"""``sfumato label`` on a folder that is read share after share: the same labels, in less memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run


def write_parts(folder: Path, *, parts: int, rows: int, items: int) -> Path:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number in range(parts):
        pl.DataFrame(
            {
                "item": rng.integers(items, size=rows),
                "annotator": "p" + pl.Series(rng.integers(5_000, size=rows)).cast(pl.String),
                "answer": "c" + pl.Series(rng.integers(5, size=rows)).cast(pl.String),
            }
        ).write_parquet(folder / f"part{number}.parquet")
    return folder


@pytest.mark.parametrize("aggregator", ["mean", "majority", "shrunk-shares"])
def test_shares_give_the_bytes_of_the_whole_and_tell_all(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, aggregator: str
) -> None:
    folder = write_parts(tmp_path / "votes", parts=3, rows=300, items=90)
    odd = pl.DataFrame(
        [("7", "p", "c1"), (None, "p", "c2"), ("8", "p", None), ("9", "p", "C1")],
        schema=dict.fromkeys(("item", "annotator", "answer"), pl.String),
        orient="row",
    )
    odd.write_parquet(folder / "part3.parquet")
    told = []
    for name, free in (("whole", 10**9), ("shares", 20_000)):
        monkeypatch.setattr("sfumato.errors.free_memory", lambda free=free: free)
        found = run("label", str(folder), "--aggregate", aggregator, "-o", f"{name}.csv")
        assert found.code == 0
        told.append((found.out.replace(f"{name}.csv", "labels.csv"), found.err))

    assert Path("shares.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert Path("shares.csv.json").read_bytes() == Path("whole.csv.json").read_bytes()
    assert "Rows set aside: 2, the first in part3.parquet, line 2" in told[1][1]
    assert "Classes 'c1' (" in told[1][1]
    assert told[1] == told[0]


def test_distributions_are_averaged_in_shares(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    (tmp_path / "answers.question.json").write_text(
        '{"kind": "sliders", "version": "1", "classes": ["cat", "dog"], "text": "Which?"}'
    )
    rng = np.random.default_rng(1)
    for part in range(2):
        given = rng.integers(1, 100, size=(60, 2)).tolist()
        pl.DataFrame(
            {
                "item": rng.integers(20, size=60).astype(str),
                "answer": [f'{{"cat": {cat}, "dog": {dog}}}' for cat, dog in given],
            }
        ).write_parquet(folder / f"part{part}.parquet")
    for name, free in (("whole", 10**9), ("shares", 3_000)):
        monkeypatch.setattr("sfumato.errors.free_memory", lambda free=free: free)
        assert run("label", str(folder), "-o", f"{name}.csv").code == 0

    whole, shares = pl.read_csv("whole.csv"), pl.read_csv("shares.csv")
    assert shares["item"].equals(whole["item"])
    assert np.allclose(shares[:, 1:].to_numpy(), whole[:, 1:].to_numpy(), rtol=0, atol=1e-15)


@pytest.mark.check
def test_memory_follows_items_and_not_votes(tmp_path: Path) -> None:
    """Twice the votes on the same items add what reading a part takes, not a label per vote."""
    peaks = []
    for parts in (2, 6):
        folder = write_parts(tmp_path / f"votes{parts}", parts=parts, rows=1_000_000, items=20_000)
        script = (
            "import resource, sys; import sfumato.errors as memory; "
            "memory.free_memory = lambda: 100_000_000; "
            "from sfumato.cli import main\n"
            f"sys.argv = ['sfumato', 'label', {str(folder)!r}, '--quiet', '-o', "
            f"{str(tmp_path / f'{parts}.parquet')!r}]\n"
            "try: main()\nexcept SystemExit: pass\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        )
        peaks.append(int(done.stdout.splitlines()[-1]))

    assert peaks[1] - peaks[0] < 4_000_000 * 12  # the codes alone would take as much
