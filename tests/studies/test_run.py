import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sfumato.studies.page import draw_report

from sfumato.errors import DataError
from sfumato.evaluation.score import evaluate
from sfumato.labels.files import read_labels
from sfumato.learn.sweep import Progress
from sfumato.scores import read_differences, read_scores
from sfumato.studies.run import run_study
from sfumato.studies.sources import load_material
from sfumato.studies.study import read_study
from sfumato.studies.trainings import run_trainings, split_of


@pytest.fixture
def folder(own_run: Path) -> Path:
    """A finished run."""
    return own_run


def test_run_leaves_what_it_found_in_its_folder(folder: Path) -> None:
    told = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    scores = read_scores(folder / "scores.parquet")

    assert told["study"]["name"] == "lights"
    assert {"python", "torch", "sfumato", "device"} <= told["versions"].keys()
    assert {score.arm for score in scores} == {"original", "majority", "soft"}
    assert all(score.seeds == (0, 1) for score in scores)
    assert not any(score.simulated for score in scores)
    assert len(list((folder / "predictions").rglob("*.parquet"))) == 6
    assert (folder / "figures" / "scores.svg").is_file()
    assert "60 items" in (folder / "datasheet.md").read_text(encoding="utf-8")
    assert "Light and dark" in (folder / "report.html").read_text(encoding="utf-8")


def test_scores_are_those_of_the_stored_predictions(own_study: Path, folder: Path) -> None:
    study = read_study(own_study)
    material = load_material(study, None)
    human = material.people.take(split_of(study, material).test)
    rng = np.random.default_rng(0)

    values = []
    for seed in (0, 1):
        path = folder / "predictions" / "simple-ffn" / "soft" / f"seed-{seed}.parquet"
        model = read_labels(path)
        found = evaluate(human, model, metrics=["cross_entropy"], rng=rng, draws=10)
        values.append(found[0].value)

    score = next(
        score
        for score in read_scores(folder / "scores.parquet")
        if (score.arm, score.metric, score.against, score.stratum)
        == ("soft", "cross_entropy", "people", "all")
    )
    assert score.value == pytest.approx(np.mean(values))


def test_differences_are_between_the_scores(folder: Path) -> None:
    scores = {
        (score.arm, score.metric, score.against, score.stratum): score.value
        for score in read_scores(folder / "scores.parquet")
    }
    differences = [
        one for one in read_differences(folder / "differences.parquet") if one.metric == "brier"
    ]

    pairs = {(one.first, one.second) for one in differences}
    assert pairs == {("majority", "original"), ("soft", "original"), ("soft", "majority")}
    for one in differences:
        place = (one.metric, one.against, one.stratum)
        apart = scores[one.first, *place] - scores[one.second, *place]
        assert one.value == pytest.approx(apart, nan_ok=True)


def test_clean_rows_of_robustness_are_the_attacked_items_only(folder: Path) -> None:
    table = pl.read_parquet(folder / "tables" / "robustness.parquet")

    assert set(table["epsilon"]) == {0.0, 8.0}
    assert set(table["items"]) == {10}
    loss = table.filter(metric="cross_entropy").sort("arm", "epsilon")["value"].to_numpy()
    assert (loss[1::2] >= loss[::2]).all()  # FGSM on a nearly linear model


def test_report_is_drawn_again_from_files_alone(folder: Path) -> None:
    before = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()

    draw_report(folder)

    assert (folder / "report.html").read_bytes() == before


def test_second_run_trains_nothing_again_and_finds_the_same(own_study: Path, folder: Path) -> None:
    before = pl.read_parquet(folder / "scores.parquet")
    seen: list[Progress] = []

    run_study(read_study(own_study), folder, data=None, progress=seen.append)

    assert (seen[0].found, seen[0].total) == (6, 6)
    assert_frame_equal(pl.read_parquet(folder / "scores.parquet"), before, check_exact=True)


def test_folder_of_another_study_is_refused(own_study: Path, folder: Path) -> None:
    other = replace(read_study(own_study), name="other")

    with pytest.raises(DataError, match="holds the study 'lights'"):
        run_study(other, folder, data=None)
    with pytest.raises(DataError, match="not the folder of a run"):
        draw_report(folder / "figures")


def test_failed_trainings_are_told_and_the_rest_is_reported(
    own_study: Path, tmp_path: Path
) -> None:
    study = read_study(own_study)
    # a learning rate so high that one arm diverges would be luck; a network that cannot take
    # pictures of this size fails for sure
    done = run_study(replace(study, networks=("simple-ffn", "lenet")), tmp_path, data=None)

    failed = pl.read_parquet(tmp_path / "tables" / "failed.parquet")
    assert (done.done, done.failed) == (6, 6)
    assert set(failed["network"]) == {"lenet"}
    assert "6 trainings failed" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_run_in_which_everything_fails_is_an_error(own_study: Path, tmp_path: Path) -> None:
    study = replace(read_study(own_study), networks=("lenet",))

    with pytest.raises(DataError, match="Every training failed"):
        run_trainings(study, tmp_path, data=None)
