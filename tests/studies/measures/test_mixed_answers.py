"""The real release of H-Mix gives the thesis's numbers, and says where it does not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli.commands import app
from sfumato.errors import DataError, SfumatoError
from sfumato.studies.hmix.material import Material, read_material
from sfumato.studies.hmix.stored import HMixRun, read_run
from sfumato.studies.hmix.study import ALL, LATER, THESIS, HMixStudy
from sfumato.studies.hmix.thesis import compare_claims
from sfumato.studies.page import draw_report
from sfumato.studies.results.gather import read_result
from sfumato.studies.results.page import page_of
from sfumato.studies.run import run_study
from sfumato.studies.shipped import shipped_study

SHOWN = ("0.1", "0.25", "0.5", "0.75", "0.9")


@pytest.fixture(scope="module")
def folder(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = shipped_study("hmix")
    assert isinstance(study, HMixStudy)
    place = tmp_path_factory.mktemp("hmix")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.reporting.draw.png_bytes", lambda drawing: b"")  # slow, and as SVG
        done = run_study(replace(study, draws=100), place, data=data_folder)
    assert (done.done, done.failed, done.report) == (1, 0, place / "report.html")
    return place


@pytest.fixture(scope="module")
def run(folder: Path) -> HMixRun:
    return read_run(folder)


@pytest.fixture(scope="module")
def material(data_folder: Path) -> Material:
    return read_material(data_folder)


def value(run: HMixRun, *what: str) -> float:
    row = run.measured(*what)
    assert row is not None, what
    assert row["low"] <= row["value"] <= row["high"]
    return float(row["value"])


def test_medians_and_confidence_are_those_of_the_release(run: HMixRun) -> None:
    medians = [value(run, ALL, "median", shown) for shown in SHOWN]
    sure = [value(run, ALL, "confidence", shown) for shown in SHOWN]

    assert medians == pytest.approx([0.08, 0.14, 0.50, 0.83, 0.92])
    assert [round(one, 2) for one in sure] == [0.80, 0.72, 0.63, 0.72, 0.78]
    assert min(sure) == sure[2]


def test_mass_on_other_classes_and_its_correlation_are_those_of_the_thesis(run: HMixRun) -> None:
    mass = value(run, THESIS, "mass on other classes", "as released")
    averaged = value(run, THESIS, "correlation of mass and coefficient", "as released")
    single = value(run, THESIS, "correlation of mass and coefficient, answers", "as released")

    assert f"{mass:.2%}" == "38.34%"
    assert f"{averaged:.2f} {single:.2f}" == "0.52 0.50"


def test_parts_are_the_collections_that_the_raw_file_tells_apart(
    material: Material, data_folder: Path
) -> None:
    raw = pl.read_csv(data_folder / "hmix" / "hmix_infer_mixing_factor.csv", infer_schema=False)
    collections = raw.group_by("study_id").agg(pl.col("filename").unique(), "subject")
    later = {name for row in collections.to_dicts() if len(row["filename"]) == 1260
             for name in row["filename"]}  # fmt: skip

    parts = material.inferred.group_by("part").agg(pl.col("mix").unique()).rows_by_key("part")

    assert raw["study_id"].n_unique() == 3
    assert set(parts[LATER][0][0]) == later
    assert len(parts[THESIS][0][0]) == 810


def test_parts_share_neither_people_nor_mixes(run: HMixRun) -> None:
    facts = run.facts

    for what in ("people", "mixes", "answers", "image_pairs"):
        assert facts[THESIS][what] + facts[LATER][what] == facts[ALL][what]
    assert (facts[THESIS]["people"], facts[THESIS]["mixes"]) == (33, 810)


def test_released_labels_get_back_their_authors(material: Material) -> None:
    given = material.labels["annotator"].value_counts()["count"].to_list()
    ours = material.consistent.sort("mix", "annotator")["other_mass"].to_numpy()
    theirs = material.labels.sort("mix", "annotator")["other_mass"].to_numpy()

    assert given == [27] * 8  # 25 mixes and two repeats each
    assert np.corrcoef(ours, theirs)[0, 1] > 0.97


def test_mixes_of_figure_4_3_have_its_means_only_with_repeats(run: HMixRun) -> None:
    rows = run.tables["examples"].to_dicts()

    for row in rows:
        assert abs(row["all answers"] - row["figure 4.3"]) < 0.0051
    assert abs(rows[2]["first views only"] - rows[2]["figure 4.3"]) > 0.0051


def test_every_claim_has_a_verdict_on_the_thesis_s_own_answers(run: HMixRun) -> None:
    compared = {one.claim.says: one for one in compare_claims(run)}

    assert len(compared) == 12
    verdicts = {says: one.verdict for says, one in compared.items()}
    assert verdicts["Single answers are often far from it"] == "reproduced"
    close = compared["The median answer is close to the coefficient that was mixed"]
    assert (close.verdict, close.found[ALL].verdict) == ("same direction", "not reproduced")
    lowest = compared["Confidence is lowest at 0.5"]
    assert lowest.found[ALL].verdict == "reproduced"
    exact = ("810 mixes", "8 people give", "Mean answers about three")
    assert [one for says, one in verdicts.items() if says.startswith(exact)] == ["reproduced"] * 3


def test_few_mixes_are_of_two_ambiguous_images_and_people_are_less_sure_of_them(
    run: HMixRun,
) -> None:
    ambiguous = run.measured(THESIS, "confidence", "both endpoints ambiguous")
    clear = run.measured(THESIS, "confidence", "both endpoints clear")

    assert ambiguous is not None
    assert clear is not None
    assert (ambiguous["mixes"], ambiguous["answers"]) == (6, 16)
    assert (clear["mixes"], clear["answers"]) == (309, 745)
    assert ambiguous["value"] < clear["value"] - 0.2


def test_report_has_all_figures_and_nothing_is_called_simulated(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    names = {path.stem for path in (folder / "figures").glob("*.png")}

    assert {"seen-thesis", "mixes-figure", "pair-curves", "confidence", "labels-figure"} <= names
    assert "38.34%" in page
    assert "simulated annotators" not in page.lower()


def test_report_of_a_folder_is_drawn_by_its_kind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.studies.page.draw_hmix_report", lambda folder: folder / "drawn")

    assert draw_report(folder) == folder / "drawn"


def test_results_page_has_the_parts_and_every_claim(folder: Path) -> None:
    result = read_result(folder)
    page = page_of(result)

    assert "12 claims: " in page
    assert "| whole release | 0.9 | 852 | 0.920 " in page
    assert {one.work for one in result.claims} == {"thesis"}
    assert result.seeds is None


def test_seeds_are_refused_because_nothing_is_trained() -> None:
    with pytest.raises(SfumatoError, match="trains nothing"):
        CliRunner().invoke(app, ["run", "hmix", "--seeds", "3"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("changes", "told"), [({"low": 0.6}, "low < high"), ({"draws": 10}, "100 draws at least")]
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, float], told: str) -> None:
    make: Callable[..., HMixStudy] = HMixStudy
    with pytest.raises(DataError, match=told):
        make("x", "y", **changes)
