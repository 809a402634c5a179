"""The real release of H-Mix gives the thesis's numbers, and says where it does not."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import DataError, SfumatoError
from sfumato.judgments.formats.datasets import CIFAR10, read_hmix
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.mixed import mix_named
from sfumato.labels.mixing import fit_curves, logistic, percepts_of
from sfumato.scores import Estimate
from sfumato.studies.cifar_sources import LATER, THESIS
from sfumato.studies.data import StudyData
from sfumato.studies.measures.mixed_answers import (
    ALL,
    AMBIGUOUS,
    CLEAR,
    FIGURE_4_3,
    FIRST_VIEWS,
    SOFT_LABELS,
    bend,
    fit_class_pairs,
    fit_logistics,
    mix_words,
)
from sfumato.studies.run import Run, Runner, run_study
from sfumato.studies.sections.mixed_answers import coefficient_rows, part_rows
from sfumato.studies.sources import load_data
from sfumato.studies.study import read_study

COEFFICIENTS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@given(st.floats(0.2, 0.8), st.floats(1, 15), st.integers(0, 4))
def test_points_on_a_curve_give_that_curve(middle: float, steep: float, seed: int) -> None:
    means = logistic(COEFFICIENTS, middle, steep)[None]
    weights = np.random.default_rng(seed).integers(1, 20, size=(1, 5)).astype(float)

    found = fit_logistics(COEFFICIENTS, means, weights)

    assert found[0][0] == pytest.approx(middle, abs=1e-3)
    assert found[1][0] == pytest.approx(steep, rel=1e-2)


def test_curves_of_real_answers_are_those_of_scipy(data_folder: Path) -> None:
    answers = read_hmix(data_folder / "hmix" / "hmix_infer_mixing_factor.csv", ReadOptions())
    table = answers.table.filter(view="first").with_columns(
        pair=pl.format("{} + {}", "first_class", "second_class")
    )

    curves = fit_class_pairs(table, np.ones((11, len(table))))

    wanted = fit_curves(percepts_of(answers), CIFAR10)
    assert len(wanted.fits) == 45
    for fit in wanted.fits:
        pair = " + ".join(fit.pair)
        assert curves.parameters[pair, "midpoint"][0] == pytest.approx(fit.midpoint, abs=1e-4)
        assert curves.parameters[pair, "steepness"][0] == pytest.approx(fit.steepness, rel=1e-3)
    assert curves.points["answers"].sum() == len(table)
    assert len(curves.lines) == 45 * 41


def test_too_few_coefficients_or_falling_answers_give_no_curve() -> None:
    means = np.array([[0.1, 0.2, 0, 0, 0], [0.9, 0.8, 0.5, 0.2, 0.1]])
    weights = np.array([[3.0, 3, 0, 0, 0], [3.0] * 5])

    middle, steep = fit_logistics(COEFFICIENTS, means, weights)

    assert np.isnan(middle[0])
    assert np.isnan(steep[0])
    assert np.isnan(steep[1])


@given(st.floats(-2, 2), st.floats(-1, 1))
def test_no_straight_line_bends(slope: float, start: float) -> None:
    assert bend(COEFFICIENTS, (start + slope * COEFFICIENTS)[None])[0] == pytest.approx(0, abs=1e-9)


def test_steep_middle_bends_upwards_and_flat_middle_downwards() -> None:
    steep = logistic(COEFFICIENTS, 0.5, 12)

    assert bend(COEFFICIENTS, steep[None])[0] > 0.5
    assert bend(COEFFICIENTS, np.array([[0.0, 0.45, 0.5, 0.55, 1.0]]))[0] < -1
    assert np.isnan(bend(COEFFICIENTS[:3], np.zeros((1, 3)))[0])


def test_bend_is_the_inner_slope_less_the_mean_of_both_outer_ones() -> None:
    means = np.array([[0.0, 0.3, 0.5, 0.7, 0.7]])  # slopes 2, 0.8 and 0

    assert bend(COEFFICIENTS, means)[0] == pytest.approx(0.8 - 1.0)


SHOWN = ("0.1", "0.25", "0.5", "0.75", "0.9")


@pytest.fixture(scope="module")
def run(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    place = tmp_path_factory.mktemp("hmix")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.reporting.draw.png_bytes", lambda drawing: b"")  # slow, and as SVG
        study = read_study("hmix", changes={"draws": 100})
        return run_study(study, place, Runner(data=data_folder))


@pytest.fixture(scope="module")
def data(data_folder: Path) -> StudyData:
    return load_data(read_study("hmix"), data_folder)


def estimate(run: Run, part: str, metric: str, **where: str) -> Estimate:
    wanted = {"arm": "", "second": "", "stratum": "all"} | where
    (found,) = run.estimates.filter(part=part, metric=metric, **wanted)
    return found


def value(run: Run, part: str, metric: str, **where: str) -> float:
    found = estimate(run, part, metric, **where)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high
    assert found.over == "people and mixes"
    return found.value


def test_medians_and_confidence_are_those_of_the_release(run: Run) -> None:
    medians = [value(run, ALL, "median_answer", stratum=shown) for shown in SHOWN]
    sure = [value(run, ALL, "confidence", stratum=shown) for shown in SHOWN]

    assert medians == pytest.approx([0.08, 0.14, 0.50, 0.83, 0.92])
    assert [round(one, 2) for one in sure] == [0.80, 0.72, 0.63, 0.72, 0.78]
    assert min(sure) == sure[2]


def test_mass_on_other_classes_and_its_correlation_are_those_of_the_thesis(run: Run) -> None:
    mass = value(run, THESIS, "other_mass")
    averaged = value(run, THESIS, "pearson_mass_coefficient")
    single = value(run, THESIS, "pearson_mass_coefficient_by_answer")

    assert f"{mass:.2%}" == "38.34%"
    assert f"{averaged:.2f} {single:.2f}" == "0.52 0.50"


def test_parts_are_the_collections_that_the_raw_file_tells_apart(
    data: StudyData, data_folder: Path
) -> None:
    raw = pl.read_csv(data_folder / "hmix" / "hmix_infer_mixing_factor.csv", infer_schema=False)
    collections = raw.group_by("study_id").agg(pl.col("filename").unique(), "subject")
    later = {name for row in collections.to_dicts() if len(row["filename"]) == 1260
             for name in row["filename"]}  # fmt: skip

    inferred = data.tables["inferred"]
    parts = inferred.group_by("part").agg(pl.col("mix").unique()).rows_by_key("part")

    assert raw["study_id"].n_unique() == 3
    assert set(parts[LATER][0][0]) == later
    assert len(parts[THESIS][0][0]) == 810


def test_parts_share_neither_people_nor_mixes(run: Run) -> None:
    for metric in ("people", "items", "answers", "image_pairs"):
        thesis, later, both = (estimate(run, part, metric).value for part in (THESIS, LATER, ALL))
        assert thesis + later == both
    assert estimate(run, THESIS, "people").value == 33
    assert estimate(run, THESIS, "items").value == 810


def test_released_labels_get_back_their_authors(data: StudyData) -> None:
    released, consistent = data.tables["released"], data.tables["consistent"]
    given = released["annotator"].value_counts()["count"].to_list()
    ours = consistent.sort("mix", "annotator")["other_mass"].to_numpy()
    theirs = released.sort("mix", "annotator")["other_mass"].to_numpy()

    assert given == [27] * 8  # 25 mixes and two repeats each
    assert np.corrcoef(ours, theirs)[0, 1] > 0.97


def test_mixes_of_figure_4_3_have_its_means_only_with_repeats(run: Run) -> None:
    for name, printed in FIGURE_4_3.items():
        words = mix_words(mix_named(name))
        mean = estimate(run, THESIS, "mean_answer", stratum=words).value
        assert abs(mean - printed) < 0.0051
        less = estimate(run, THESIS, "mean_less_printed", stratum=words)
        assert less.value == less.low == less.high == pytest.approx(mean - printed)
    first = estimate(run, THESIS, "mean_answer", arm=FIRST_VIEWS, stratum=words).value
    assert abs(first - printed) > 0.0051


def test_every_claim_has_a_verdict_on_the_thesis_s_own_answers(run: Run) -> None:
    judged = {one.claim.id: one for one in run.claims}

    assert len(judged) == 12
    assert {one.claim.paper for one in run.claims} == {"thesis"}
    verdicts = {name: one.verdict for name, one in judged.items()}
    assert verdicts["hmix-03"] == "reproduced"  # single answers are often far off
    close, lowest = judged["hmix-02"], judged["hmix-07"]
    assert (close.verdict, close.elsewhere) == ("undecided", {})
    assert {one.verdict for one in lowest.found if one.part == ALL} == {"reproduced"}
    exact = ("hmix-01", "hmix-04", "hmix-10")  # counted, not estimated
    assert [verdicts[name] for name in exact] == ["reproduced"] * 3


def test_few_mixes_are_of_two_ambiguous_images_and_people_are_less_sure_of_them(run: Run) -> None:
    ambiguous, clear = (estimate(run, THESIS, "confidence", arm=arm) for arm in (AMBIGUOUS, CLEAR))
    answers = [estimate(run, THESIS, "answers", arm=arm).value for arm in (AMBIGUOUS, CLEAR)]

    assert (ambiguous.items, clear.items) == (6, 309)
    assert answers == [16, 745]
    assert ambiguous.value < clear.value - 0.2


def test_class_pairs_that_miss_are_counted_with_an_exact_interval(run: Run) -> None:
    shares = {
        metric: estimate(run, ALL, metric)
        for metric in ("share_off_coefficient", "share_off_half", "share_bent")
    }

    assert shares["share_off_half"].items == shares["share_bent"].items == 45
    for share in shares.values():
        assert share.low is not None
        assert share.low <= share.value
        assert share.value * share.items == pytest.approx(round(share.value * share.items))


def test_soft_labels_are_counted(run: Run) -> None:
    found = [(estimate(run, THESIS, metric, arm=SOFT_LABELS)) for metric in ("people", "answers")]

    assert [one.value for one in found] == [8, 216]
    assert found[0].items == 100


def test_every_estimate_leads_back_to_the_files(run: Run) -> None:
    for one in run.estimates:
        for name in ("hmix_infer_mixing_factor.csv", "hmix_individ_soft_labels.json"):
            assert name in one.source


def test_report_has_all_figures_and_nothing_is_called_simulated(run: Run) -> None:
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    names = {path.stem for path in (run.folder / "figures").glob("*.png")}

    assert {"seen-thesis", "mixes-figure", "pair-curves", "confidence", "labels-figure"} <= names
    assert "38.34%" in page
    assert "undecided in the part &#39;" in page
    assert "simulated annotators" not in page.lower()


def test_tables_have_the_parts_and_every_coefficient(run: Run) -> None:
    last = coefficient_rows(run).row(-1, named=True)

    assert (last["part"], last["coefficient"], last["answers"]) == ("whole release", "0.9", "852")
    assert last["median seen"].startswith("0.920 ")
    assert part_rows(run)["mixes"].to_list() == ["810", "1,260", "2,070"]


def test_seeds_are_refused_because_nothing_is_trained() -> None:
    with pytest.raises(SfumatoError, match="trains nothing"):
        CliRunner().invoke(app, ["run", "hmix", "--seeds", "3"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("changes", "told"), [({"mixes.low": 0.6}, "low < high"), ({"draws": 10}, "draws.* 100")]
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, float], told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_study("hmix", changes=changes)
