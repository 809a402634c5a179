"""Pages, tables and scoreboard: of a small study of one's own, and of numbers made by hand."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import DataError
from sfumato.reporting.page import markdown_table
from sfumato.scores import Estimate, Estimates
from sfumato.studies.claims import judge, read_claims
from sfumato.studies.results import (
    CONTROLS,
    MOST_FIGURES,
    MOST_WORDS,
    read_estimates,
    read_results,
    run_size,
    scoreboard,
    small_estimates,
    write_results,
)
from sfumato.studies.run import Run
from sfumato.studies.study import read_study

DOCS = Path(__file__).parents[2] / "docs" / "results"
"""What is published."""


@pytest.fixture
def folder(own_run: Path) -> Path:
    """A finished run."""
    return own_run


STUDY = "cifar10h-alternatives"
"""Whose claims the numbers made by hand are held against."""


def row(
    metric: str, value: float, arm: str, second: str = "", ends: tuple[float, float] | None = None,
    against: str = "CIFAR-10H",
) -> Estimate:  # fmt: skip
    low, high = ends or (value - 0.01, value + 0.01)
    return Estimate(
        metric, value, arm=arm, second=second, network="net", part="test", against=against,
        low=low, high=high, over="seeds", items=1000, seeds=(0, 1, 2), source="{1}",
    )  # fmt: skip


def store(
    folder: Path, rows: Sequence[Estimate], name: str = STUDY, left: pl.DataFrame | None = None,
    **changed: Any,
) -> None:  # fmt: skip
    """A study as ``sfumato results`` keeps it, of these estimates."""
    record = {
        "name": name,
        "beside": "",
        "title": f"Title of {name}",
        "about": "About it.",
        "answer": "",
        "against": [],
        "people": "CIFAR-10H",
        "control": "hard",
        "size": "cpu",
        "seeds": 3,
        "seconds": 61.0,
        "simulated": False,
        "fingerprint": "0123456789abcdef",
        "versions": {"sfumato": "0.2"},
        "remark": "",
        "figures": {},
        "rows": [3, 3],
        **changed,
    }
    (folder / name).mkdir()
    Estimates.of(rows).write(folder / name / "estimates.csv")
    if left is not None:
        left.write_csv(folder / name / "left-out.csv")
    (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")


HARD = [
    row("cross_entropy", 0.60, "hard"),
    row("rms_calibration", 0.12, "hard"),
    row("accuracy", 0.84, "hard"),
    row("training_accuracy", 0.999, "hard", against="own labels"),
    row("training_cross_entropy", 0.003, "hard", against="own labels"),
]


# The published pages.


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_published_page_is_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    most = MOST_WORDS if page.with_suffix(".json").is_file() else 2500

    assert len(text.split()) <= most
    assert len(re.findall(r"!\[", text)) <= MOST_FIGURES


def test_folder_of_results_holds_studies_and_the_scoreboard_alone() -> None:
    names = {path.stem for path in DOCS.glob("*.json")}
    sizes = {path: path.stat().st_size for path in DOCS.rglob("*.csv")}

    assert {path.name for path in DOCS.iterdir()} == {
        *("README.md", "moved.md", "earlier.csv"),
        *names,
        *(f"{name}.{kind}" for name in names for kind in ("md", "json")),
    }
    assert {p: size for p, size in sizes.items() if size > 500_000} == {}


@pytest.mark.parametrize("name", sorted(path.stem for path in DOCS.glob("*.json")))
def test_published_verdicts_come_out_again(name: str) -> None:
    """A rule or a sentence that changed is not published yet: run ``sfumato results``."""
    (result,) = (one for one in read_results(DOCS) if one["name"] == name)
    claims = {one.id: one for one in read_claims(result["beside"] or name)}
    known = [one for one in result["claims"] if one["id"] in claims]

    table = read_estimates(DOCS / name / "estimates.csv")
    again = judge([claims[one["id"]] for one in known], table)

    assert [(one.claim.id, one.verdict) for one in again] == [
        (one["id"], one["verdict"]) for one in known
    ]
    assert [one.claim.sentence for one in again] == [one["says"] for one in known]


def test_moved_page_has_every_verdict_that_moved(tmp_path: Path) -> None:
    store(tmp_path, [*HARD, row("cross_entropy", -0.02, "soft", "hard")])
    (tmp_path / "earlier.csv").write_text(
        "study,id,ours,verdict\n"
        f"{STUDY},{STUDY}-02,-0.02,reproduced\n{STUDY},{STUDY}-13,,not testable here\n",
        encoding="utf-8",
    )

    write_results([], tmp_path)

    text = (tmp_path / "moved.md").read_text(encoding="utf-8")
    assert "1 of 2 verdicts moved." in text
    assert f"| {STUDY}-02 | reproduced | smaller | run again: the interval of the ratio" in text


# The page of a study.


def test_page_tells_regime_before_verdict(tmp_path: Path) -> None:
    store(tmp_path, [*HARD, row("cross_entropy", -0.22, "soft", "hard")])

    page, _ = write_results([], tmp_path)

    text = page.read_text(encoding="utf-8")
    assert text.index("| net | 0.999 | 0.003 | 0.840 | 0.120 | 0.600 |") < text.index("## Claims")
    assert "| the paper | – | – | – | – | 0.53" in text
    assert "-0.220 [-0.230, -0.210]" in text
    assert f"]({STUDY}/claims.csv)" in text


def test_page_stays_short_whatever_there_is_to_say(tmp_path: Path) -> None:
    store(
        tmp_path, HARD, about="Many words. " * 500, answer="It is so.", against=["But. " * 50] * 9,
        figures={"a.svg": "A", "b.svg": "B"}, remark="Run before.",
    )  # fmt: skip

    page, _ = write_results([], tmp_path)

    text = page.read_text(encoding="utf-8")
    assert MOST_WORDS * 0.7 < len(text.split()) <= MOST_WORDS
    assert "Run before." in text


def test_page_shows_bad_news_beside_good_news(tmp_path: Path) -> None:
    """Of many claims that hold and one that does not, the page has both."""
    arms = ("soft", "sampled", "category", "mixup, hard", "pretrained")
    pairs = [(first, second) for first in arms for second in arms if first != second]
    good = [row("cross_entropy", -0.3, first, second) for first, second in pairs]
    store(tmp_path, [*HARD, *good, row("cross_entropy", +0.3, "soft", "hard")])

    page, _ = write_results([], tmp_path)

    assert re.search(r"\+0\.300 .* contradicted \|", page.read_text(encoding="utf-8"))


def test_too_little_to_mend_says_how_little(tmp_path: Path) -> None:
    hard = [row("cross_entropy", 0.1, "hard")]
    store(tmp_path, [*hard, row("cross_entropy", -0.02, "soft", "hard")])

    page, _ = write_results([], tmp_path)

    text = " ".join(page.read_text(encoding="utf-8").split())
    assert "not testable at this size |" in text
    assert "our hard arm loses 0.189 of what the paper's does above the floor" in text  # .1 of .53


def test_an_earlier_run_is_judged_by_the_claims_it_knows(tmp_path: Path) -> None:
    rows = [*HARD, row("cross_entropy", -0.22, "soft", "hard")]
    store(tmp_path, rows, remark="An earlier run.")
    (tmp_path / STUDY / "claims.csv").write_text(f"id\n{STUDY}-02\n", encoding="utf-8")

    write_results([], tmp_path)

    (result,) = read_results(tmp_path)
    assert [one["id"] for one in result["claims"]] == [f"{STUDY}-02"]
    assert f"[{STUDY}]({STUDY}.md) †" in scoreboard(tmp_path)


def test_study_beside_another_is_shown_and_not_counted(tmp_path: Path) -> None:
    rows = [*HARD, row("cross_entropy", -0.22, "soft", "hard")]
    store(tmp_path, rows)
    store(tmp_path, rows, name="frozen", beside=STUDY)

    write_results([], tmp_path)

    claims = [one.kind for one in read_claims(STUDY)].count("claim")
    assert f"{claims} claims: 1 reproduced" in scoreboard(tmp_path)
    assert "[frozen](frozen.md) ‡" in scoreboard(tmp_path)


def test_verdict_that_one_seed_makes_is_marked(tmp_path: Path) -> None:
    rows = [*HARD, row("cross_entropy", -0.22, "soft", "hard")]
    apart = [*HARD, row("cross_entropy", -0.22, "soft", "hard", ends=(-0.6, 0.2))]
    left = pl.concat(
        Estimates.of(each).table.drop("seeds").with_columns(left_out=pl.lit(seed))
        for seed, each in enumerate([rows, rows, apart])
    )
    store(tmp_path, rows, left=left)

    page, board = write_results([], tmp_path)

    told = " ".join(page.read_text(encoding="utf-8").split())
    assert "| reproduced; changes when seed 2 is left out |" in told
    assert "Verdicts that change when one seed is left out: 1 of 1." in told
    assert "left out: 1 of 1." in board.read_text(encoding="utf-8")


# The scoreboard.


def test_scoreboard_has_regimes_and_counts(tmp_path: Path) -> None:
    store(tmp_path, [*HARD, row("cross_entropy", -0.22, "soft", "hard", ends=(-0.5, 0.1))])

    write_results([], tmp_path)

    board = scoreboard(tmp_path)
    assert "| 0.999 | 0.003 | 0.840 | 0.120 | 0.600 / 0.53" in board
    assert "1 of the 1 that could be tested stay undecided." in board
    assert board == scoreboard(tmp_path)


def test_controls_of_ours_have_answers_and_are_no_claims_of_a_paper(tmp_path: Path) -> None:
    store(tmp_path, [*HARD, row("cross_entropy", -0.22, "soft", "majority")])

    write_results([], tmp_path)

    (result,) = read_results(tmp_path)
    (control,) = (one for one in result["claims"] if one["work"] == CONTROLS)
    assert control["verdict"] == "reproduced"
    assert "| 1/0/0 |" in scoreboard(tmp_path)
    assert "0 of the 0 that could be tested" in scoreboard(tmp_path)


# A run.


@pytest.mark.check
def test_run_becomes_a_page_its_numbers_and_figures(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "lights"
    place.mkdir()
    (place / "old.svg").write_text("<svg/>", encoding="utf-8")

    page, _ = write_results([folder], tmp_path)

    text, run = page.read_text(encoding="utf-8"), Run.open(folder)
    assert text.startswith("# Light and dark\n")
    assert run.info["fingerprint"][:12] in text
    assert str(folder.parent) not in text
    shown = sorted(path.name for path in place.glob("*.svg"))
    assert 0 < len(shown) <= MOST_FIGURES
    assert all(f"(lights/{name})" in text for name in shown)
    stored = read_estimates(place / "estimates.csv")
    assert len(stored) == len(run.estimates)
    assert stored["value"].to_list() == pytest.approx(
        run.estimates.table["value"].to_list(), rel=1e-4, nan_ok=True
    )
    (result,) = read_results(tmp_path)
    assert (result["size"], result["seeds"], result["simulated"]) == ("other", 2, False)
    assert result["seconds"] > 0


@pytest.mark.check
def test_estimates_lose_what_nobody_needs_where_they_are_too_large(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run.open(folder)
    whole = small_estimates(run)
    monkeypatch.setattr("sfumato.studies.results.MOST_BYTES", 1)

    small = small_estimates(run)

    assert set(small["stratum"]) == {"all"} < set(whole["stratum"])
    assert set(small["second"]) == {""} < set(whole["second"])
    assert len(small) < len(whole) == len(run.estimates)


@pytest.mark.check
def test_unfinished_run_writes_nothing(folder: Path, tmp_path: Path) -> None:
    unfinished = tmp_path / "run"
    unfinished.mkdir()
    for name in ("study.toml", "run.json"):
        (unfinished / name).write_bytes((folder / name).read_bytes())

    with pytest.raises(DataError, match="not finished"):
        write_results([folder, unfinished], tmp_path / "pages")

    assert not (tmp_path / "pages").exists()


@pytest.mark.check
@pytest.mark.parametrize("name", ["digits-table", "cifar10s-few", "hmix", "informativeness-grid"])
def test_size_is_found_from_settings_whatever_seeds(name: str, folder: Path) -> None:
    study = read_study(name).model_copy(update={"seeds": 17})

    assert run_size(Run(folder, study, {})) == "cpu"
    assert run_size(Run(folder, study.model_copy(update={"draws": 123}), {})) == "other"


def test_scoreboard_is_made_again_by_the_command(tmp_path: Path) -> None:
    store(tmp_path, HARD)

    result = CliRunner().invoke(app, ["results", "-o", str(tmp_path)])

    assert result.exit_code == 0
    assert f"[{STUDY}]({STUDY}.md)" in (tmp_path / "README.md").read_text(encoding="utf-8")


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
