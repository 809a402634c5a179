"""Pages and scoreboard of runs: of a small study of one's own, and of records made by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import DataError
from sfumato.reporting.page import Table, markdown_table, render_markdown
from sfumato.studies.claims import Verdict
from sfumato.studies.results import CONTROLS, result_page, run_size, scoreboard, write_results
from sfumato.studies.run import Run
from sfumato.studies.study import read_study

pytestmark = pytest.mark.check


@pytest.fixture
def folder(own_run: Path) -> Path:
    """A finished run."""
    return own_run


def a_claim(work: str, says: str, verdict: Verdict) -> dict[str, Any]:
    return {
        "work": work,
        "source": f"{work}, table 1",
        "says": says,
        "paper": "0.8",
        "ours": "+0.1 [0.0, 0.2]",
        "verdict": verdict,
        "note": "",
        "found": [],
    }


def write_record(folder: Path, name: str, claims: Sequence[dict[str, Any]] = ()) -> None:
    record = {
        "name": name,
        "title": f"Title of {name}",
        "about": "About it.",
        "size": "cpu",
        "seeds": 3,
        "seconds": 61.0,
        "simulated": False,
        "fingerprint": "0123456789abcdef" * 4,
        "versions": {"python": "3.11"},
        "claims": list(claims),
        "scores": [{"arm": "soft", "value": 0.5}],
    }
    (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")


def test_page_has_scores_and_says_how_it_was_made(folder: Path) -> None:
    run = Run.open(folder)

    page = render_markdown(result_page(run))

    assert page.startswith("# Light and dark\n")
    assert run.info["fingerprint"][:12] in page
    assert "FGSM within 8/255" in page
    assert "| soft | simple-ffn |" in page
    assert render_markdown(result_page(Run.open(folder))) == page
    assert str(folder.parent) not in page


def tables_of_scores(folder: Path) -> list[Table]:
    (section,) = (
        each
        for each in result_page(Run.open(folder)).sections
        if each.title == "How close to people and to labels"
    )
    return [block for block in section.blocks if isinstance(block, Table)]


def test_rows_of_all_items_have_every_metric_that_others_have(folder: Path) -> None:
    for table in tables_of_scores(folder):
        whole = table.table.filter(pl.col("images") == "all")

        assert len(whole) == 3
        assert not [name for name in whole.columns if "" in whole[name].to_list()]
        assert {"cross-entropy", "accuracy"} <= set(whole.columns)
    assert "KL divergence" in tables_of_scores(folder)[0].table.columns


def test_caption_says_what_each_interval_is_over(folder: Path) -> None:
    first = tables_of_scores(folder)[0]

    whole, others = first.caption.split("; ")
    assert whole == "Means over seeds with 95 % intervals over seeds and items"
    assert others.endswith("those of RMS calibration error are over seeds.")
    assert " or " not in others


def test_record_holds_the_scores_of_the_run(folder: Path, tmp_path: Path) -> None:
    write_results([folder], tmp_path)

    record = json.loads((tmp_path / "lights.json").read_text(encoding="utf-8"))
    stored = Run.open(folder).estimates.scores.filter(
        arm="soft", metric="brier", stratum="all", against="people", attack=""
    )
    mine = [
        one["value"]
        for one in record["scores"]
        if (one["arm"], one["metric"], one["stratum"], one["against"])
        == ("soft", "brier", "all", "people")
    ]
    assert mine == pytest.approx(stored.table["value"].to_list(), rel=1e-5)
    assert len(mine) == 1
    assert (record["name"], record["size"], record["seeds"]) == ("lights", "other", 2)
    assert (record["claims"], record["simulated"]) == ([], False)
    assert record["seconds"] > 0


def test_page_shows_figures_of_the_run_and_drops_those_of_an_earlier_one(
    folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "figures" / "lights"
    place.mkdir(parents=True)
    (place / "old.svg").write_text("<svg/>", encoding="utf-8")

    page, _, _ = write_results([folder], tmp_path)

    shown = sorted(path.name for path in place.glob("*.svg"))
    assert shown
    assert "old.svg" not in shown
    text = page.read_text(encoding="utf-8")
    assert all(f"(figures/lights/{name})" in text for name in shown)


def test_unfinished_run_writes_nothing(folder: Path, tmp_path: Path) -> None:
    unfinished = tmp_path / "run"
    unfinished.mkdir()
    for name in ("study.toml", "run.json"):
        (unfinished / name).write_bytes((folder / name).read_bytes())

    with pytest.raises(DataError, match="not finished"):
        write_results([folder, unfinished], tmp_path / "pages")

    assert not (tmp_path / "pages").exists()


@pytest.mark.parametrize("name", ["digits-table", "cifar10s-few", "hmix", "informativeness-grid"])
def test_size_is_found_from_settings_whatever_seeds(name: str, folder: Path) -> None:
    study = read_study(name).model_copy(update={"seeds": 17})

    assert run_size(Run(folder, study, {})) == "cpu"
    assert run_size(Run(folder, study.model_copy(update={"draws": 123}), {})) == "other"


def test_scoreboard_has_a_row_per_claim_and_counts_by_paper(tmp_path: Path) -> None:
    write_record(
        tmp_path,
        "one",
        [a_claim("paper 1", "A.", "reproduced"), a_claim("thesis", "B.", "undecided")],
    )
    write_record(tmp_path, "two", [a_claim("paper 1", "C.", "contradicted")])

    board = scoreboard(tmp_path)

    assert "3 claims: 1 reproduced, 1 undecided, 1 contradicted" in board
    assert "| paper 1 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 2 |" in board
    assert (
        "| paper 1, table 1 | A. | 0.8 | +0.1 [0.0, 0.2] | – | reproduced | [one](one.md) |"
        in board
    )
    assert board == scoreboard(tmp_path)


def test_controls_of_ours_have_answers_and_are_no_claims_of_a_paper(tmp_path: Path) -> None:
    write_record(
        tmp_path,
        "one",
        [a_claim("paper 1", "A.", "reproduced"), a_claim(CONTROLS, "B.", "reproduced")],
    )

    board = scoreboard(tmp_path)

    assert "1 claim: 1 reproduced" in board
    assert "| B. | +0.1 [0.0, 0.2] | yes | [one](one.md) |" in board


def test_scoreboard_is_made_again_by_the_command(tmp_path: Path) -> None:
    write_record(tmp_path, "one", [a_claim("paper 1", "A.", "reproduced")])

    result = CliRunner().invoke(app, ["results", "-o", str(tmp_path)])

    assert result.exit_code == 0
    assert "A." in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_file_that_is_no_result_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text("[]", encoding="utf-8")

    with pytest.raises(DataError, match=r"odd\.json is no result of a study"):
        scoreboard(tmp_path)


def test_table_in_markdown_leaves_out_what_is_missing_and_escapes_bars() -> None:
    table = pl.DataFrame({"a|b": ["x|y", None], "c": [0.5, None]})

    assert markdown_table(table) == "| a\\|b | c |\n|---|---|\n| x\\|y | 0.500 |\n|  |  |\n"


def test_no_run_and_no_earlier_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no run was given, and .*empty holds no earlier results"):
        write_results([], tmp_path / "empty")

    assert not (tmp_path / "empty").exists()
