"""The table that needs no data, alone and on a cluster of two worker processes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sfumato.provenance import is_simulated
from sfumato.studies.comparison.digits import FAMILY, PEOPLE, TABLE
from sfumato.studies.comparison.setting import Known
from sfumato.studies.results.gather import read_result
from sfumato.studies.run import run_study

SMALL = replace(
    TABLE,
    arms=("original", "majority", "soft"),
    training=replace(TABLE.training, epochs=1),
    seeds=2,
    attacked_items=20,
)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[str]:
    """The address of a scheduler with two worker processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def known() -> Known:
    return FAMILY.load(None)


def test_cluster_of_two_processes_gives_identical_scores(
    two_workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.studies.comparison.run.draw_comparison", lambda folder: folder)
    alone, cluster = tmp_path / "alone", tmp_path / "cluster"

    run_study(SMALL, alone, data=None)
    done = run_study(SMALL, cluster, data=None, engine="dask", scheduler=two_workers)

    assert (done.done, done.failed) == (6, 0)
    for name in ("scores", "differences"):
        tables = [pl.read_parquet(folder / f"{name}.parquet") for folder in (alone, cluster)]
        assert len(tables[0]) > 10
        assert_frame_equal(*tables, check_exact=True)
    cells = [{p.name: p.read_bytes() for p in (f / "cells").iterdir()} for f in (alone, cluster)]
    assert cells[0] == cells[1]
    results = [read_result(folder) for folder in (alone, cluster)]
    assert results[0].fingerprint == results[1].fingerprint
    assert (results[0].size, results[0].seeds) == ("other", 2)


def test_people_are_simulated_and_said_to_be(known: Known) -> None:
    split = FAMILY.splits(known, TABLE, 0)[0]

    targets = {arm: kind.make(known, split, 0) for arm, kind in FAMILY.arms.items()}

    assert "simulated" in PEOPLE
    assert is_simulated(known.labels[PEOPLE].provenance)
    learnt = {arm for arm, target in targets.items() if target.simulated}
    assert learnt == {"majority", "soft", "one annotator", "smoothed"}  # as soft as they are


def test_seeds_divide_the_digits_differently_and_test_on_nothing_learnt(known: Known) -> None:
    splits = [FAMILY.splits(known, TABLE, seed)[0] for seed in (0, 1)]

    assert splits[0].test != splits[1].test
    for split in splits:
        held = {item for test in FAMILY.tests(known, split) for item in test.items}
        assert not held & {*split.train, *split.validation}
        assert len(split.train) + len(split.validation) + len(held) == 1797
