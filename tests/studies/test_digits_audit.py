"""Paper 5's study on a made-up file in the layout of soft-digits, from the file to its page."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.reporting.page import Table
from sfumato.studies import pages
from sfumato.studies.claims import read_claims
from sfumato.studies.data import RunFolder
from sfumato.studies.run import Runner, run_study
from sfumato.studies.study import Study, read_study

EACH = 60
"""Digits of each source."""


def row(place: int, source: str) -> dict[str, object]:
    """A digit that is a bright column; every third one is disputed, the last few by all."""
    rng = np.random.default_rng(place)
    digit = place % 10
    pixels = rng.integers(0, 60, size=(28, 28))
    pixels[:, 2 * digit : 2 * digit + 3] += 150
    weighted, equal = np.eye(11)[digit], np.eye(11)[digit]
    if place % 3 == 0:
        other = (digit + 1) % 10
        strays = 0.1 + 0.1 * (place % 4)
        weighted = (1 - strays) * weighted + strays * np.eye(11)[other]
        equal = 0.7 * equal + 0.3 * np.eye(11)[other]
    told = np.eye(10)[digit]
    if source == "mukhoti":
        told = 0.6 * told + 0.4 * np.eye(10)[(digit + 5) % 10]
    return {
        "images": pixels.tolist(),
        "original_labels": told.tolist(),
        "indices": place,
        "human_uncert_mean": 0.1 * (place % 3 == 0),
        "pct_ann_unsure": 0.4 * (place % 3 == 0),
        "soft_label": weighted.tolist(),
        "soft_label_yes_unc_equal": equal.tolist(),
        "split": ("train", "train", "train", "val", "test")[place // 10 % 5],
        "source": source,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "soft_digits").mkdir()
    rows = [row(place, "mnist" if place < EACH else "mukhoti") for place in range(2 * EACH)]
    pl.DataFrame(rows).write_parquet(folder / "soft_digits" / "soft-digits.parquet")
    return folder


def small(name: str) -> Study:
    changes = {
        "networks": ["simple-ffn"],
        "seeds": 2,
        "training.epochs": 2,
        "dynamics.epochs": 3,
        "corruptions": [],
        "draws": 100,
    }
    return read_study(name, changes=changes)


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A finished run, without its page: that is drawn from the folder in a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.studies.run.write_report", lambda run: run.folder)
        place = tmp_path_factory.mktemp("run") / "digits"
        return run_study(small("digits-audit-synthetic"), place, Runner(data=folder))


def test_claims_of_paper_5_that_can_be_tested_all_find_their_estimates(run: RunFolder) -> None:
    found = {one.claim.id: one for one in run.claims}

    assert len(found) == 36
    assert all(one.claim.metric and one.found for one in found.values())


def test_labels_made_by_a_model_are_those_the_pictures_came_with(run: RunFolder) -> None:
    """They lead on their own labels, whatever people saw: two digits five apart."""
    found = {one.claim.id: one for one in run.claims}

    for name in ("digits-audit-synthetic-01", "digits-audit-synthetic-03"):
        assert {found[name].claim.arm, found[name].claim.second} & {"original"}
        assert found[name].verdict != "not testable here"
    assert "nobody could say unsure" not in str([one.claim.note for one in run.claims])


def test_signals_of_the_file_are_correlated_with_doubt(run: RunFolder) -> None:
    signals = run.estimates.filter(metric="spearman").table

    assert "unsure proportion" in {*signals["arm"], *signals["against"]}
    assert "failed" not in run.tables


def test_models_are_scored_by_the_distributions_that_pictures_came_with(run: RunFolder) -> None:
    """The upper half of table 10; strata are people's."""
    found = run.estimates.scores.filter(metric="brier", against="original distribution", arm="soft")
    people = run.estimates.scores.filter(metric="brier", against="people", arm="soft")

    assert {one.stratum: one.items for one in found} == {one.stratum: one.items for one in people}
    assert {"unanimous", "disputed"} < {one.stratum for one in found}


def test_another_training_is_watched_than_the_one_that_is_scored(run: RunFolder) -> None:
    assert run.tables["history"]["epoch"].max() == 2
    assert run.tables["convergence"]["epoch"].max() == 3
    assert run.timing.work == 4 * 2 * (2 + 3)  # arms, seeds, epochs of both


def test_page_tells_every_part_from_the_folder_alone(run: RunFolder) -> None:
    page = pages.study_page(RunFolder.open(run.folder))

    titles = [section.title for section in (*page.sections, *page.appendix)]
    assert titles[0] == "Next to the paper"
    assert titles.index("Softness or a shifted mode?") < titles.index("How it was learnt")
    assert {"Calibration", "People's doubt", "Single items", "The pictures"} <= set(titles)
    claims = page.sections[0].blocks[0]
    assert isinstance(claims, Table)
    assert len(claims.table) == 36
    assert "MNIST -0.518" in claims.table["paper"][0]  # its table 3, soft less majority


def test_numbers_of_the_paper_are_those_of_its_text() -> None:
    printed = {claim.id: claim.printed for claim in read_claims("digits-audit")}

    assert printed["digits-audit-01"] == (
        "MNIST -0.518 · -0.498 · -0.996; synthetic -0.369 · -0.375 · -0.431"
    )
    assert printed["digits-audit-10"].startswith("in all MNIST +0.011 · +0.024 · +0.017;")
    assert printed["digits-audit-11"].endswith("synthetic -0.184 · -0.208 · -0.272")
