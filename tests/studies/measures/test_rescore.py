"""The stored predictions give the published numbers, and the report says what is not stored."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import DataError, SfumatoError
from sfumato.scores import Estimate
from sfumato.studies.cifar_sources import BEST, CLOSEST, STORED
from sfumato.studies.claims import read_printed
from sfumato.studies.data import ORIGINAL, PEOPLE
from sfumato.studies.judge_sources import LANGUAGE_MODELS, ORIGINAL_LABEL, load_judged_sets
from sfumato.studies.measures.rescore import ENSEMBLE, ORACLE
from sfumato.studies.run import Run, Runner, run_study
from sfumato.studies.sections.trained import clean, networks_table
from sfumato.studies.study import read_study


@pytest.fixture(scope="module")
def run(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    place = tmp_path_factory.mktemp("rescore")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.reporting.draw.png_bytes", lambda drawing: b"")  # slow, and as SVG
        study = read_study("cifar10h-rescore", changes={"draws": 100})
        return run_study(study, place, Runner(data=data_folder))


def estimate(run: Run, arm: str, metric: str, against: str, stratum: str = "all") -> Estimate:
    (found,) = run.estimates.filter(
        arm=arm, second="", metric=metric, against=against, stratum=stratum
    )
    return found


def value(run: Run, arm: str, metric: str, against: str, stratum: str = "all") -> float:
    one = estimate(run, arm, metric, against, stratum)
    assert one.low is not None
    assert one.high is not None
    assert one.low <= one.value <= one.high
    return one.value


def test_ensemble_and_class_oracle_are_the_recomputed_ones(run: Run) -> None:
    assert value(run, ENSEMBLE, "cross_entropy", PEOPLE) == pytest.approx(0.407, abs=5e-4)
    assert value(run, ORACLE, "cross_entropy", PEOPLE) == pytest.approx(0.2565, abs=5e-5)
    assert value(run, BEST, "class_oracle", PEOPLE) == pytest.approx(0.2565, abs=5e-5)
    assert value(run, BEST, "entropy_floor", PEOPLE) == pytest.approx(0.1545, abs=5e-5)


def test_pretrained_networks_are_as_close_to_people_as_recomputed(run: Run) -> None:
    told = {"ResNext": 0.47, "Wide ResNet": 0.47, "Shake-Shake": 0.60}

    found = {name: round(value(run, name, "cross_entropy", PEOPLE), 2) for name in told}

    assert found == told


def test_scores_are_those_of_a_few_lines_of_numpy(run: Run, data_folder: Path) -> None:
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    people = counts / counts.sum(axis=1, keepdims=True)
    truth = np.load(data_folder / "cifar10" / "test_labels.npy")
    for name, file in STORED.items():
        stored = np.load(data_folder / "cifar10h-predictions" / f"{file}.npz")["probs"]
        fit = -(people * np.log(np.maximum(stored.astype(float), 1e-30))).sum(axis=1).mean()
        assert value(run, name, "cross_entropy", PEOPLE) == pytest.approx(fit, abs=1e-3)
        right = (stored.argmax(axis=1) == truth).mean()
        assert value(run, name, "accuracy", ORIGINAL) == pytest.approx(right)


def test_modes_differ_from_79_original_labels(run: Run) -> None:
    one = estimate(run, "", "modes_differ", ORIGINAL)

    assert (one.value, one.items) == (79, 10_000)


def test_thirty_percent_of_the_images_hold_83_percent_of_the_entropy(run: Run) -> None:
    curve = run.tables["concentration"]
    row = curve.filter((curve["share_of_items"] - 0.3).abs() < 1e-9)

    assert row["share_of_uncertainty"][0] == pytest.approx(0.826, abs=5e-4)
    assert value(run, "", "entropy_share", PEOPLE, "top 30 %") == row["share_of_uncertainty"][0]


def test_claims_that_stored_predictions_can_test_are_reproduced(run: Run) -> None:
    verdicts = {one.claim.id: one.verdict for one in run.claims}

    testable = {one.claim.id for one in run.claims if one.claim.metric}
    assert len(testable) == 6
    assert {verdicts[name] for name in testable} == {"reproduced"}
    assert {v for name, v in verdicts.items() if name not in testable} == {"not testable here"}


def test_claim_about_every_network_is_judged_on_every_network(run: Run) -> None:
    judged = {(one.claim.arm, one.claim.metric): one.found for one in run.claims}

    assert {one.network for one in judged[ENSEMBLE, "cross_entropy"]} == set(STORED)
    assert {one.network for one in judged[BEST, "accuracy"]} == set(STORED) - {BEST}
    assert {one.network for one in judged[BEST, "cross_entropy"]} == set(CLOSEST)


def test_three_closest_are_those_of_the_printed_table() -> None:
    printed = {
        row["arm"]: float(row["printed"])
        for row in read_printed("cifar10h-rescore")
        if row["against"] == PEOPLE and row["arm"] in STORED
    }

    assert printed.keys() == STORED.keys()
    assert set(sorted(printed, key=printed.__getitem__)[:3]) == set(CLOSEST)


def test_table_shows_the_papers_number_behind_ours(run: Run) -> None:
    table = networks_table(run, clean(run.estimates.scores))

    row = table.row(by_predicate=pl.col("network") == ENSEMBLE, named=True)
    assert row["cross-entropy, people"].startswith("0.407")
    assert row["cross-entropy, people"].endswith("| paper 0.41")


def test_difference_names_the_predictions_behind_it(run: Run) -> None:
    (one,) = run.estimates.filter(arm=BEST, second="another network", network="VGG")

    assert "vgg_15_BN_64.npz" in one.source
    assert "shake_shake_26_2x64d_SSI_cutout16.npz" in one.source
    assert "resnet_basic_110.npz" not in one.source
    assert "labels/original.parquet" in one.source


def test_report_says_what_cannot_be_tested(run: Run) -> None:
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    names = {path.stem for path in (run.folder / "figures").glob("*.png")}

    assert {"leaderboard", "agreement", "concentration", "alternatives"} <= names
    assert "class-level oracle" in page
    assert "not testable here" in page.lower()


def test_nothing_is_trained_so_there_are_no_seeds() -> None:
    with pytest.raises(SfumatoError, match="trains nothing"):
        CliRunner().invoke(app, ["run", "cifar10h-rescore", "--seeds", "2"], catch_exceptions=False)


def test_few_draws_are_refused() -> None:
    with pytest.raises(DataError, match=r"draws.* 100"):
        read_study("cifar10h-rescore", changes={"draws": 10})


# The study of judges: a folder with a small set gives worths, tables and a page.


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder of data sets that has one set of judges only, of simulated people."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=100)
    said = np.where(rng.random((5, 100)) < 0.2, rng.integers(3, size=(5, 100)), truth)
    place = tmp_path / "judges" / "framing"
    place.mkdir(parents=True)
    answers = [{f"i{at}": "abc"[code] for at, code in enumerate(row)} for row in said]
    people = {f"p{who}": row for who, row in enumerate(answers[:4])}
    (place / "human_annotations.json").write_text(json.dumps(people))
    (place / "llm_annotations.json").write_text(json.dumps({"model": answers[4]}))
    return tmp_path


def test_a_run_tells_what_judges_are_worth(small: Path) -> None:
    study = read_study("judges", changes={"draws": 100})

    run = run_study(study, small / "run", Runner(data=small))

    (found,) = run.estimates.filter(metric="worth", arm="model", part="framing of news")
    assert 0.5 < found.value <= 3
    assert found.over == "items and people"
    page = (small / "run" / "report.html").read_text(encoding="utf-8")
    for words in ("What is each judge worth?", "The scales", "What kappa says"):
        assert words in page


def test_sets_that_are_not_there_are_said(small: Path) -> None:
    data = load_judged_sets(read_study("judges"), small)

    assert list(data.judged) == ["framing of news"]
    assert "aspects of reviews: there is no llm_annotations.json." in data.missing
    with pytest.raises(DataError, match="No set with people's and judges' answers"):
        load_judged_sets(read_study("judges"), small / "judges")


def test_every_set_at_hand_is_read(data_folder: Path) -> None:
    data = load_judged_sets(read_study("judges"), data_folder)

    assert data.missing == ()
    for name in LANGUAGE_MODELS:
        assert len(data.judged[name].judges) == 6
    snli = data.judged["ChaosNLI, SNLI"]
    assert (len(snli.people.items), len(snli.people)) == (1514, 151_400)
    assert list(snli.judges) == ["roberta-base", "bert-base-uncased", ORIGINAL_LABEL]
    assert len(data.judged["CIFAR-10H"].judges) == 9
    statements = data.judged["CIFAR-10S against clicks"]
    assert len(statements.judges["statement 1"]) + len(statements.judges["statement 2"]) == 6723
    assert len(data.judged["ReaL, questions"].people) == 78 * 1135
    assert len(data.judged["DICES-350"].people.annotators) == 123
