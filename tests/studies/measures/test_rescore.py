"""The stored predictions give the published numbers, and the report says what is not stored."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli.commands import app
from sfumato.errors import DataError, SfumatoError
from sfumato.studies.page import draw_report
from sfumato.studies.rescore.measured import ENSEMBLE, ORACLE, ORIGINAL, PEOPLE
from sfumato.studies.rescore.page import RescoreRun, networks_beside_paper, read_rescore
from sfumato.studies.rescore.paper1 import TABLE_1
from sfumato.studies.rescore.stored import BEST, CLOSEST, STORED
from sfumato.studies.rescore.study import RescoreStudy
from sfumato.studies.run import run_study
from sfumato.studies.shipped import shipped_study


@pytest.fixture(scope="module")
def folder(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = shipped_study("cifar10h-rescore")
    assert isinstance(study, RescoreStudy)
    place = tmp_path_factory.mktemp("rescore")
    with pytest.MonkeyPatch.context() as patch:
        drawn_later = place / "report.html"
        patch.setattr("sfumato.studies.rescore.run.draw_rescore_report", lambda _: drawn_later)
        done = run_study(replace(study, draws=100), place, data=data_folder)
    assert (done.done, done.failed, done.report) == (1, 0, place / "report.html")
    return place


@pytest.fixture(scope="module")
def run(folder: Path) -> RescoreRun:
    return read_rescore(folder)


def value(run: RescoreRun, *what: str) -> float:
    one = run.score(*what)
    assert one is not None, what
    assert one.low is not None
    assert one.high is not None
    assert one.low <= one.value <= one.high
    return one.value


def test_ensemble_and_class_oracle_are_the_recomputed_ones(run: RescoreRun) -> None:
    assert value(run, ENSEMBLE, "cross_entropy", PEOPLE) == pytest.approx(0.407, abs=5e-4)
    assert value(run, ORACLE, "cross_entropy", PEOPLE) == pytest.approx(0.2565, abs=5e-5)
    assert run.facts["class_oracle"] == pytest.approx(0.2565, abs=5e-5)
    assert run.facts["entropy_floor"] == pytest.approx(0.1545, abs=5e-5)


def test_pretrained_networks_are_as_close_to_people_as_recomputed(run: RescoreRun) -> None:
    told = {"ResNext": 0.47, "Wide ResNet": 0.47, "Shake-Shake": 0.60}

    found = {name: round(value(run, name, "cross_entropy", PEOPLE), 2) for name in told}

    assert found == told


def test_scores_are_those_of_a_few_lines_of_numpy(run: RescoreRun, data_folder: Path) -> None:
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    people = counts / counts.sum(axis=1, keepdims=True)
    truth = np.load(data_folder / "cifar10" / "test_labels.npy")
    for name, file in STORED.items():
        stored = np.load(data_folder / "cifar10h-predictions" / f"{file}.npz")["probs"]
        fit = -(people * np.log(np.maximum(stored.astype(float), 1e-30))).sum(axis=1).mean()
        assert value(run, name, "cross_entropy", PEOPLE) == pytest.approx(fit, abs=1e-3)
        right = (stored.argmax(axis=1) == truth).mean()
        assert value(run, name, "accuracy", ORIGINAL) == pytest.approx(right)


def test_modes_differ_from_79_original_labels(run: RescoreRun) -> None:
    assert (run.facts["modes_that_differ"], run.facts["items"]) == (79, 10_000)


def test_thirty_percent_of_the_images_hold_83_percent_of_the_entropy(run: RescoreRun) -> None:
    curve = run.tables["concentration"]
    row = curve.filter((curve["share_of_items"] - 0.3).abs() < 1e-9)

    assert row["share_of_uncertainty"][0] == pytest.approx(0.826, abs=5e-4)


def test_claims_that_stored_predictions_can_test_are_reproduced(run: RescoreRun) -> None:
    verdicts = {one.claim.says: one.verdict for one in run.judged}

    testable = {one.claim.says for one in run.judged if one.claim.metric}
    assert len(testable) == 6
    assert {verdicts[says] for says in testable} == {"reproduced"}
    assert {v for says, v in verdicts.items() if says not in testable} == {"not testable here"}


def test_claim_about_every_network_is_judged_on_every_network(run: RescoreRun) -> None:
    judged = {one.claim.first: one for one in run.judged if one.claim.metric}

    assert {one.network for one in judged[ENSEMBLE].found} == set(STORED)
    by_second = {(one.claim.first, one.claim.metric): one for one in run.judged}
    most_accurate = by_second[BEST, "accuracy"].found
    assert {one.network for one in most_accurate} == set(STORED) - {BEST}
    closer = by_second[BEST, "cross_entropy"].found
    assert {one.network for one in closer} == set(CLOSEST)


def test_three_closest_are_those_of_the_printed_table() -> None:
    printed = {name: rows["pretrained"][0] for name, rows in TABLE_1.items()}

    assert set(sorted(printed, key=printed.__getitem__)[:3]) == set(CLOSEST)


def test_table_shows_the_papers_number_behind_ours(run: RescoreRun) -> None:
    table = networks_beside_paper(run)

    row = table.row(by_predicate=pl.col("network") == ENSEMBLE, named=True)
    assert row["cross-entropy, people"].startswith("0.407")
    assert row["cross-entropy, people"].endswith("| paper 0.41")


def test_report_is_drawn_from_the_files_alone(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.reporting.draw.png_bytes", lambda drawing: b"")  # slow, and as SVG
        page = draw_report(folder).read_text(encoding="utf-8")

    assert "class-level oracle" in page
    assert "Not testable here" in page


def test_folder_of_another_study_is_refused(tmp_path: Path, folder: Path) -> None:
    text = (folder / "study.json").read_text(encoding="utf-8")
    (tmp_path / "study.json").write_text(text.replace('"rescore"', '"hmix"'), encoding="utf-8")

    with pytest.raises(DataError, match="not about predictions"):
        read_rescore(tmp_path)


def test_nothing_is_trained_so_there_are_no_seeds(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match="trains nothing"):
        CliRunner().invoke(app, ["run", "cifar10h-rescore", "--seeds", "2"], catch_exceptions=False)


def test_few_draws_are_refused() -> None:
    with pytest.raises(DataError, match="100 draws"):
        RescoreStudy("a", "A", draws=10)
