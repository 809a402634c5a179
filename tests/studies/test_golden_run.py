"""One run of a shipped study from beginning to end, held against stored numbers."""

import json
import re
import shutil
from collections.abc import Generator, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.learn import sweep
from sfumato.learn.recipe import Recipe
from sfumato.learn.sweep import Cell, CellResult, Outcome, Progress, attempt
from sfumato.reporting.page import Page
from sfumato.reporting.text import said
from sfumato.scores import COLUMNS
from sfumato.studies.cell import train_and_test
from sfumato.studies.data import RunFolder, Target
from sfumato.studies.pages import main_contrast, study_page
from sfumato.studies.run import Run, Runner, run_study
from sfumato.studies.study import read_study
from sfumato.studies.trace import trace_lines

GOLDEN = Path(__file__).parent / "golden" / "digits-table.csv"
PLACE = (
    "arm", "network", "part", "against", "stratum", "attack", "bound", "step", "metric",
)  # fmt: skip
EXACT = [*PLACE, "over", "items", "seeds", "p", "test", "simulated"]
NUMBERS = ["value", "low", "high"]
UNTRAINED, TRAINED, FEW_ITEMS = 1e-5, 0.02, 0.05
"""How far numbers may be off: without a training; with one, which another CPU rounds otherwise;
and in means over the few items that a network gets wrong."""


def in_this_process(
    waiting: dict[str, Cell], *_how: object
) -> Generator[tuple[str, Outcome], None, None]:
    """Cells one after the other: what processes do with them is tested elsewhere."""
    for fingerprint, cell in waiting.items():
        yield fingerprint, attempt(cell, fingerprint)


@pytest.fixture(scope="module", autouse=True)
def _cells_run_here() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "_outcomes", in_this_process)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """``sfumato run digits-table --seeds 1``."""
    folder = tmp_path_factory.mktemp("golden") / "digits-table"
    done = CliRunner().invoke(
        app, ["run", "digits-table", "--seeds", "1", "-o", str(folder)], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    assert f"Report: {folder / 'report.html'}" in done.stdout
    return Run.open(folder)


@pytest.fixture(scope="module")
def page(run: Run) -> Page:
    return study_page(run)


def golden_rows(run: RunFolder) -> pl.DataFrame:
    """The rows of single arms as they are stored: rounded, seeds as text."""
    seeds = pl.col("seeds").list.eval(pl.element().cast(pl.String)).list.join(" ")
    rows = run.estimates.scores.table.with_columns(seeds, pl.col(*NUMBERS).round(6))
    return rows.select(*EXACT, *NUMBERS)


def tolerance(row: dict[str, object]) -> float:
    if not row["seeds"]:
        return UNTRAINED
    return FEW_ITEMS if row["metric"] == "confidence_wrong" else TRAINED


def test_estimates_are_the_stored_ones(run: Run) -> None:
    # Stored again when intervals of studies came to be over seeds and items: with one seed they are
    # over items, where there were none before. Values are the same as ever.
    found = golden_rows(run)
    stored = pl.read_csv(GOLDEN, schema=found.schema).with_columns(cs.string().fill_null(""))

    assert run.estimates.table.columns == list(COLUMNS)
    assert_frame_equal(found.select(EXACT), stored.select(EXACT))
    for name in NUMBERS:
        for one, other in zip(
            found.iter_rows(named=True), stored.iter_rows(named=True), strict=True
        ):
            assert one[name] == pytest.approx(other[name], abs=tolerance(other), nan_ok=True), other


def test_differences_are_between_the_scores_of_every_pair(run: Run) -> None:
    table = run.estimates.table.filter(metric="accuracy")
    scores = {
        row[:-1]: row[-1]
        for row in table.filter(second="").select(*PLACE, "value").iter_rows()
        if row[PLACE.index("network")]
    }
    apart = {
        (row[: len(PLACE)], row[-2]): row[-1]
        for row in table.filter(pl.col("second") != "")
        .select(*PLACE, "second", "value")
        .iter_rows()
    }

    places = {place[1:] for place in scores}
    ordered = run.study.arm_names  # beginning with the controls, as a pair ends with them
    pairs = {(first, second) for second, first in combinations(ordered, 2)}
    assert {((first, *place), second) for first, second in pairs for place in places} == set(apart)
    for (place, second), value in apart.items():
        assert value == pytest.approx(scores[place] - scores[second, *place[1:]], abs=1e-12)


def test_every_number_leads_to_files_that_exist(run: Run) -> None:
    sources = run.estimates.table["source"].unique().to_list()

    files = {file for source in sources for file in named_files(json.loads(source))}

    assert all(json.loads(source) for source in sources)
    assert {"labels/people.parquet", "labels/original.parquet"} <= files
    assert sum(file.startswith("predictions/") for file in files) == 2 * 5  # as are, and attacked
    for file in files:
        assert (run.folder / file).is_file(), file


def named_files(value: object) -> Iterator[str]:
    match value:
        case {"file": str(file)}:
            yield file
        case dict():
            yield from (file for each in value.values() for file in named_files(each))
        case list():
            yield from (file for each in value for file in named_files(each))


def test_folder_holds_the_study_its_versions_and_what_it_took(run: Run) -> None:
    assert run.study == read_study("digits-table", changes={"seeds": 1})
    assert read_study(run.folder / "study.toml") == run.study  # it can be run again
    assert {"python", "torch", "sfumato", "device"} <= run.info["versions"].keys()
    assert run.simulated
    assert run.timing.work == 5 * 10  # arms times epochs
    assert run.label_set("people").items == run.label_set("original").items
    assert "1,797 items" in (run.folder / "datasheet.md").read_text(encoding="utf-8")
    models = list((run.folder / "models").rglob("*.safetensors"))
    assert len(models) == len(run.study.arms)


def test_report_has_every_section_and_its_figures(run: Run, page: Page) -> None:
    html = (run.folder / "report.html").read_text(encoding="utf-8")

    titles = [section.title for section in (*page.sections, *page.appendix)]
    assert "What was compared" in titles
    for text in (run.study.title, *titles):
        assert text.replace("'", "&#39;") in html
    assert html.count("Simulated annotators: these numbers rest on made-up answers") == 1
    assert len(list((run.folder / "figures").glob("*.svg"))) >= 4


def test_answer_and_findings_lead_to_their_rows(run: Run, page: Page) -> None:
    main = main_contrast(run)
    rows = pl.read_csv(run.folder / "figures" / "findings.csv")
    table = run.estimates.table

    assert main is not None
    assert page.lead is not None
    assert said(main.head.value, main.head.metric) in page.lead.answer
    assert any(one.value == pytest.approx(main.head.value) for one in run.estimates.differences)
    for row in rows.iter_rows(named=True):
        assert table["value"][row["row"]] == pytest.approx(row["value"])
    for finding in page.findings:
        (named,) = re.findall(r"Rows? ([\d, ]+) of estimates.parquet", finding.behind)
        told = [table.row(int(at), named=True) for at in named.split(", ")]
        assert {one["metric"] for one in told} == {finding.rows[0].metric}
        assert {abs(one["value"]) for one in told} == {abs(one.value) for one in finding.rows}


def test_second_run_computes_nothing_and_changes_nothing(run: Run) -> None:
    kept = ["study.toml", "trainings.parquet", "judgments.parquet", "datasheet.md", "report.html"]
    before = {name: (run.folder / name).read_bytes() for name in kept}
    (run.folder / "report.html").unlink()  # it is drawn again, from files alone
    seen: list[Progress] = []

    again = run_study(run.study, run.folder, Runner(progress=seen.append))

    assert [(state.found, state.total) for state in seen] == [(5, 5)]
    assert {name: (run.folder / name).read_bytes() for name in kept} == before
    assert again.info["fingerprint"] == run.info["fingerprint"]
    assert again.timing == run.timing
    assert_frame_equal(again.estimates.table, run.estimates.table, check_exact=True)


def test_simulated_answers_are_kept_and_marked(run: Run) -> None:
    answers = read(run.folder / "judgments.parquet", "sfumato", ReadOptions())

    assert len(answers.table) == 6 * 1797
    assert answers.table["simulated"].all()


def row_of(run: RunFolder, **wanted: str) -> int:
    """The first row with these values."""
    mask = pl.all_horizontal(*(pl.col(name) == value for name, value in wanted.items()))
    return int(run.estimates.table.with_row_index("row").filter(mask)["row"][0])


def test_trace_walks_a_score_to_single_answers(run: Run) -> None:
    row = row_of(run, arm="soft", second="", metric="cross_entropy", against="people")

    lines = trace_lines(run, row, None)

    text = "\n".join(lines)
    value = run.estimates.table["value"][row]
    assert lines[0].startswith(f"row {row}: cross_entropy = {value:.3g}")
    assert "360 items, 1 seed)" in lines[0]
    assert "labels/people.parquet: labels of 1,797 items" in text
    assert "simulate top-two: per_item 6, annotators 60" in text
    assert "(simulated people)" in text
    assert "10,782 answers about 1,797 items; the first:" in text
    assert "annotator simulated-" in text and '"first_percent"' in text
    assert "predictions/simple-ffn/soft/seed-0/test.parquet, of the training soft" in text
    assert text.count("held against:") == text.count("scored:") == 1


def test_trace_of_a_difference_walks_both_arms(run: Run) -> None:
    row = row_of(run, arm="soft", second="original", metric="accuracy")

    lines = trace_lines(run, row, None)

    assert "soft - original" in lines[0]
    scored, subtracted = lines.index("scored:"), lines.index("subtracted:")
    assert any("simple-ffn/soft/seed-0" in line for line in lines[scored:subtracted])
    assert any("simple-ffn/original/seed-0" in line for line in lines[subtracted:])


def test_trace_of_a_row_that_is_not_there_says_which_are(run: Run) -> None:
    with pytest.raises(DataError, match=f"no row 9999 .*rows 0 to {len(run.estimates) - 1}"):
        trace_lines(run, 9999, None)


def test_folder_of_another_study_is_refused(run: Run) -> None:
    other = run.study.model_copy(update={"name": "other"})

    with pytest.raises(DataError, match="holds the study 'digits-table'; give 'other' another"):
        run_study(other, run.folder)


def test_folder_of_version_0_1_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text('{"study": {"name": "digits"}}', encoding="utf-8")

    with pytest.raises(DataError, match=r"holds a run of version 0\.1"):
        Run.open(tmp_path)
    with pytest.raises(DataError, match=r"version 0\.1.*can still be read"):
        run_study(read_study("digits-table", changes={"seeds": 1}), tmp_path)


def test_folder_of_something_else_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no study\.toml and run\.json: it is not a run's folder"):
        Run.open(tmp_path)


def fail_with_soft_labels(recipe: Recipe, target: Target, **others: object) -> CellResult:
    """As ``train_and_test``, but seed 1 of the arm of soft labels runs out of memory."""
    if recipe.seed == 1 and (target.mean.probs.max(axis=1) < 0.9).any():
        raise MemoryError("no memory left")
    return train_and_test(recipe=recipe, target=target, **others)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of three arms and two seeds, one of whose six trainings failed."""
    changes = {
        "seeds": 2,
        "training.epochs": 2,
        "split.seed": 0,
        "draws": 100,
        "arms": ["original", "majority", "soft"],
        "measures": ["scores", "arms", "history", "modes"],
    }
    folder = tmp_path_factory.mktemp("broken")
    with pytest.MonkeyPatch.context() as patch:
        # under its own name, so that what ended well is found by the next run
        patch.setattr(fail_with_soft_labels, "__module__", train_and_test.__module__)
        patch.setattr(fail_with_soft_labels, "__qualname__", train_and_test.__qualname__)
        patch.setattr("sfumato.studies.cell.train_and_test", fail_with_soft_labels)
        return run_study(read_study("digits-table", changes=changes), folder)


@pytest.fixture(scope="module")
def broken_page(broken: Run) -> Page:
    return study_page(broken)


def test_failed_cell_is_told_with_its_reason(broken: Run, broken_page: Page) -> None:
    failed = broken.tables["failed"]

    assert failed["cell"].to_list() == ["soft, simple-ffn, seed 1"]
    assert failed["reason"][0].startswith("MemoryError: no memory left")
    assert broken_page.lead is not None
    assert any(line.startswith("1 training run failed") for line in broken_page.lead.against)
    assert broken_page.sections[-1].title == "What failed"
    assert "no memory left" in (broken.folder / "report.html").read_text(encoding="utf-8")


def test_failed_cell_makes_no_section_vanish(broken: Run, broken_page: Page, page: Page) -> None:
    titles = {section.title for section in broken_page.sections}

    assert {section.title for section in page.sections} <= titles
    assert set(broken.estimates.table["arm"]) >= {"original", "majority", "soft"}


def test_modes_are_told_of_tested_items_where_nobody_counted_all(broken_page: Page) -> None:
    (section,) = (s for s in broken_page.sections if s.title == "Softness or a shifted mode?")

    assert re.search(r"not the original label on \d+ of 360 tested items", section.text)


def test_pairs_are_compared_on_the_seeds_that_both_finished(broken: Run) -> None:
    differences = broken.estimates.differences
    gains = broken.estimates.filter(metric="cross_entropy_gain", against="people")

    for one in differences:
        assert one.seeds == ((0,) if "soft" in (one.arm, one.second) else (0, 1)), one
    assert {one.seeds for one in broken.estimates.scores.filter(arm="majority", part="test")} == {
        (0, 1)
    }
    assert {one.stratum: one.seeds for one in gains} == {
        "in all": (0,),
        "by the vote": (0, 1),  # majority against original labels
        "by softness": (0,),
    }


def test_next_run_tries_again_what_failed_and_nothing_else(broken: Run, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    shutil.copytree(broken.folder, folder)
    seen: list[Progress] = []

    again = run_study(broken.study, folder, Runner(progress=seen.append))

    assert (seen[0].found, seen[0].total, seen[-1].done) == (5, 6, 6)
    assert "failed" not in again.tables
    assert all(one.seeds == (0, 1) for one in again.estimates.differences)
    values = again.estimates.filter(second="", metric="accuracy", network="simple-ffn").table
    assert np.isfinite(values["value"].to_numpy()).all()
