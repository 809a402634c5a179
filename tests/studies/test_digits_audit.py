"""Paper 5's study on a made-up file in the layout of soft-digits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sfumato.studies.shipped import TRAININGS, shipped_study

from sfumato.errors import DataError, UnknownName
from sfumato.labels.labelset import LabelSet
from sfumato.learn.folds import Split
from sfumato.reporting.page import Page
from sfumato.reporting.tables import Table
from sfumato.scores import read_differences
from sfumato.studies.arms import labels_of
from sfumato.studies.run import run_study
from sfumato.studies.sources import load_material
from sfumato.studies.study import Study
from sfumato.studies.trainings import split_of

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
        weighted = 0.8 * weighted + 0.2 * np.eye(11)[other]
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
    study = TRAININGS[name].cpu
    return replace(
        study,
        networks=("simple-ffn",),
        seeds=2,
        training=replace(study.training, epochs=2),
        corruptions=(),
        draws=50,
    )


def test_labels_are_those_of_the_file_in_both_weightings(folder: Path) -> None:
    material = load_material(small("digits-audit"), folder)

    equal, presentation = labels_of("yes-unsure-equal", material)
    original, _ = labels_of("original", material)
    assert isinstance(equal, LabelSet)
    assert isinstance(original, LabelSet)
    assert material.people.items == tuple(map(str, range(EACH)))
    assert material.people.classes == (*"0123456789", "none of these")
    assert material.people.probs[3, 3:5] == pytest.approx([0.8, 0.2])
    assert equal.probs[3, 3:5] == pytest.approx([0.7, 0.3])
    assert original.probs[3].tolist() == np.eye(11)[3].tolist()
    assert presentation == "fixed"
    assert set(material.signals) == {"mean uncertainty", "unsure proportion"}
    assert material.signals["unsure proportion"][:4].tolist() == [0.4, 0, 0, 0.4]
    assert not material.simulated


def test_original_labels_of_synthetic_digits_are_the_models_distributions(folder: Path) -> None:
    material = load_material(small("digits-audit-synthetic"), folder)

    assert material.people.items[0] == str(EACH)
    learnt, _ = labels_of("original", material)
    assert isinstance(learnt, LabelSet)
    assert learnt.probs[1, [1, 6]] == pytest.approx([0.6, 0.4])
    assert material.original.probs[1, [1, 6]].tolist() == [1, 0]  # what models are tested on


def test_published_parts_are_kept_and_others_drawn_where_there_are_none(
    folder: Path, tmp_path: Path
) -> None:
    study = small("digits-audit")
    bare = tmp_path / "soft_digits" / "soft-digits.parquet"
    bare.parent.mkdir()
    table = pl.read_parquet(folder / "soft_digits" / "soft-digits.parquet")
    table.drop("split").write_parquet(bare)

    given = split_of(study, load_material(study, folder))
    drawn = split_of(study, load_material(study, tmp_path))

    assert isinstance(given, Split)
    assert given.validation == tuple(map(str, range(30, 40)))
    assert given.test == tuple(map(str, range(40, 50)))
    assert len(drawn.train) == 42


def test_study_runs_to_its_report_with_the_claims_of_paper_5(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[Page] = []
    monkeypatch.setattr("sfumato.studies.page.write_report", lambda page, at: pages.append(page))

    done = run_study(small("digits-audit-synthetic"), tmp_path, data=folder)

    section = next(one for one in pages[0].sections if one.title == "Next to paper 5")
    table = section.blocks[0]
    arms = {one.first for one in read_differences(tmp_path / "differences.parquet")}
    signals = pl.read_parquet(tmp_path / "tables" / "correlations.parquet")
    assert done.failed == 0
    assert isinstance(table, Table)
    assert "MNIST -0.518" in table.table["its numbers"][0]  # its table 3, soft less majority
    assert arms == {"majority", "soft", "yes-unsure-equal"}
    assert "unsure proportion" in str(signals.to_dict(as_series=False))


def test_missing_file_is_named_with_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"soft-digits\.parquet"):
        run_study(small("digits-audit"), tmp_path / "run", data=tmp_path)
    with pytest.raises(DataError, match="SFUMATO_DATA"):
        load_material(small("digits-audit"), None)


def test_what_averaged_labels_cannot_give_is_refused(folder: Path) -> None:
    material = load_material(small("digits-audit"), folder)

    with pytest.raises(DataError, match="one person at a time"):
        labels_of("one-annotator", material)
    with pytest.raises(UnknownName, match="recipe by which the data set holds labels"):
        labels_of("votes", material)
    with pytest.raises(DataError, match="not by 'votes'"):
        load_material(replace(small("digits-audit"), recipe="votes"), folder)


def test_source_that_nobody_knows_is_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "soft_digits" / "soft-digits.parquet"
    path.parent.mkdir()
    table = pl.read_parquet(folder / "soft_digits" / "soft-digits.parquet")
    table.with_columns(source=pl.lit("ardis")).write_parquet(path)

    with pytest.raises(DataError, match="source of item '0' is 'ardis'"):
        load_material(small("digits-audit"), tmp_path)


def test_papers_size_is_the_papers() -> None:
    study = shipped_study("digits-audit", "paper")

    assert isinstance(study, Study)
    assert (study.seeds, study.training.epochs, study.training.batch_size) == (6, 40, 64)
    assert study.networks == ("simple-ffn", "deeper-ffn", "lenet")
