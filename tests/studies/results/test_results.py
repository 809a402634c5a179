"""Pages and scoreboard of runs: of a small study of one's own, and of results made by hand."""

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sfumato.studies.comparison.told import Claim, judge
from sfumato.studies.files import read_settings
from sfumato.studies.results.gather import read_result
from sfumato.studies.results.page import markdown_table, page_of
from sfumato.studies.results.result import (
    CONTROLS,
    ClaimTold,
    Estimate,
    Part,
    Result,
    result_to_json,
)
from sfumato.studies.results.scoreboard import scoreboard
from sfumato.studies.results.settings import configuration_fingerprint, size_of
from sfumato.studies.results.told import judged_claim
from sfumato.studies.results.write import write_results
from sfumato.studies.shipped import STUDIES
from typer.testing import CliRunner

from sfumato.cli.commands import app
from sfumato.errors import DataError, SfumatoError
from sfumato.scores import Difference
from sfumato.studies.study import study_to_json
from sfumato.studies.verdicts import Verdict


@pytest.fixture
def folder(own_run: Path) -> Path:
    """A finished run."""
    return own_run


def a_claim(work: str, says: str, verdict: Verdict, **other: Any) -> ClaimTold:
    return ClaimTold(work, f"{work}, table 1", says, "0.8", "+0.1 [0.0, 0.2]", verdict, **other)


def a_result(name: str, claims: Sequence[ClaimTold] = ()) -> Result:
    return Result(
        name=name,
        title=f"Title of {name}",
        about="About it.",
        size="cpu",
        seeds=3,
        seconds=61.0,
        simulated=False,
        fingerprint="0123456789abcdef" * 4,
        versions={"python": "3.11"},
        claims=tuple(claims),
        scores=[{"arm": "soft", "value": 0.5}],
        parts=(Part("Scores", "Of a sort.", (pl.DataFrame({"arm": ["soft"], "x|y": [0.5]}),)),),
    )


def test_page_has_scores_and_says_how_it_was_made(folder: Path) -> None:
    result = read_result(folder)
    page = page_of(result)

    assert page.startswith("# Light and dark\n")
    assert f"`{result.fingerprint[:12]}`" in page
    assert re.search(r"\| simple-ffn \| soft \| \d\.\d{3} \[", page)
    assert "## Softness or a shifted mode?" in page
    assert "fgsm 8/255" in page
    assert "| soft - majority |" in page
    assert page_of(read_result(folder)) == page
    assert str(folder.parent) not in page


def test_record_holds_the_scores_of_the_run(folder: Path, tmp_path: Path) -> None:
    write_results([folder], tmp_path)

    record = json.loads((tmp_path / "lights.json").read_text(encoding="utf-8"))
    stored = pl.read_parquet(folder / "scores.parquet").filter(
        arm="soft", metric="brier", stratum="all", against="people"
    )
    mine = [
        one["value"]
        for one in record["scores"]
        if (one["arm"], one["metric"], one["stratum"], one["against"])
        == ("soft", "brier", "all", "people")
    ]
    assert mine == pytest.approx(stored["value"].to_list(), rel=1e-5)
    assert len(mine) == 1
    assert (record["name"], record["size"], record["seeds"]) == ("lights", "other", 2)
    assert (record["claims"], record["simulated"]) == ([], False)
    assert record["seconds"] > 0


def test_page_shows_figures_of_the_run_and_drops_those_of_an_earlier_one(
    folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "figures" / read_result(folder).name
    place.mkdir(parents=True)
    (place / "old.svg").write_text("<svg/>", encoding="utf-8")

    page, _, _ = write_results([folder], tmp_path)

    drawn = (folder / "figures" / "scores.svg").read_bytes()
    assert (place / "scores.svg").read_bytes() == drawn
    assert f"(figures/{place.name}/scores.svg)" in page.read_text(encoding="utf-8")
    assert not (place / "old.svg").exists()


def test_unfinished_run_writes_nothing(folder: Path, tmp_path: Path) -> None:
    unfinished = tmp_path / "run"
    unfinished.mkdir()
    (unfinished / "study.json").write_bytes((folder / "study.json").read_bytes())

    with pytest.raises(DataError, match="not the folder of a finished run"):
        write_results([folder, unfinished], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_fingerprint_is_of_settings_and_data_not_of_texts_and_places(folder: Path) -> None:
    settings = read_settings(folder)
    before = configuration_fingerprint(settings)

    def changed(*keys: str, value: object) -> str:
        other: Any = deepcopy(settings)
        inner = other
        for key in keys[:-1]:
            inner = inner[int(key)] if key.isdigit() else inner[key]
        inner[keys[-1]] = value
        return configuration_fingerprint(other)

    assert changed("study", "title", value="Another") == before
    assert changed("study", "own", "images", value="/elsewhere/pictures") == before
    assert changed("versions", "torch", value="9") == before
    assert changed("study", "seeds", value=9) != before
    assert changed("study", "training", "epochs", value=9) != before
    assert changed("study", "own", "format", value="sfumato") != before
    inputs = settings["provenance"]["people"][0]["inputs"]
    assert (
        changed("provenance", "people", "0", "inputs", value=dict.fromkeys(inputs, "x")) != before
    )


def test_fingerprint_of_data_as_a_whole_counts(folder: Path) -> None:
    settings = read_settings(folder)
    prints = {
        configuration_fingerprint({**settings, "provenance": {"data": text}}) for text in "ab"
    }

    assert len(prints) == 2


@pytest.mark.parametrize("name", ["digits", "digits-table"])
def test_size_is_found_from_settings_whatever_seeds(name: str) -> None:
    study = study_to_json(STUDIES[name].cpu)

    assert size_of(study) == "cpu"
    assert size_of({**study, "seeds": 99, "title": "x"}) == "cpu"
    assert size_of({key: value for key, value in study.items() if key != "strength"}) == "cpu"
    assert size_of({**study, "arms": ["soft"]}) == "other"
    assert size_of({**study, "name": "mine"}) == "other"


def test_sizes_of_a_table_are_told_apart() -> None:
    shipped = STUDIES["cifar10s-aggregate"]
    assert shipped.paper is not None

    assert size_of(study_to_json(shipped.paper)) == "paper"
    assert size_of(study_to_json(shipped.cpu)) == "cpu"


def test_claim_keeps_the_numbers_of_every_network() -> None:
    claim = Claim("paper 4 table 1, thesis 3.1", "Lower.", "0.8", "kl", "soft", "hard", note="n")
    found = [
        Difference("kl", -0.2, "soft", "hard", network, "", low=-0.3, high=-0.1)
        for network in ("lenet", "cnn-3")
    ]

    told = judged_claim(judge(claim, found))

    assert (told.work, told.verdict) == ("paper 4", "reproduced")
    assert told.found[1] == Estimate("cnn-3", -0.2, -0.3, -0.1)
    assert judged_claim(judge(replace(claim, metric=""), found)).ours == "n"


def test_scoreboard_has_a_row_a_claim_and_counts_by_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = {
        "one": a_result("one", [a_claim("paper 4", "First.", "reproduced")]),
        "two": a_result(
            "two",
            [
                a_claim("paper 1", "Second.", "not reproduced", note="Why | so."),
                a_claim("paper 4", "Third.", "same direction"),
            ],
        ),
    }
    monkeypatch.setattr("sfumato.studies.results.write.read_result", lambda run: results[run.name])
    written = write_results([Path("one"), Path("two")], tmp_path)

    board = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in written] == [
        "one.md", "one.json", "two.md", "two.json", "README.md",
    ]  # fmt: skip
    assert "3 claims: 1 reproduced, 1 same direction, 1 not reproduced, 0 not testable" in board
    assert "| paper 4 | 1 | 1 | 0 | 0 | 2 |" in board
    assert "| paper 1 | 0 | 0 | 1 | 0 | 1 |" in board
    row = "| paper 1, table 1 | Second. | 0.8 | +0.1 [0.0, 0.2] | not reproduced | [two](two.md) |"
    assert row in board
    assert board.index("Second.") < board.index("First.") < board.index("Third.")
    assert "examples.md" not in board


def test_scoreboard_is_made_again_from_the_records_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = a_result("one", [a_claim("thesis", "First.", "reproduced")])
    monkeypatch.setattr("sfumato.studies.results.write.read_result", lambda run: result)
    write_results([Path("one")], tmp_path)
    before = (tmp_path / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text("By hand.", encoding="utf-8")
    (tmp_path / "one.md").unlink()

    done = CliRunner().invoke(app, ["results", "-o", str(tmp_path)])

    assert done.exit_code == 0
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == before
    assert not (tmp_path / "one.md").exists()


def test_file_that_is_no_result_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('{"a": 1}', encoding="utf-8")

    with pytest.raises(SfumatoError, match=r"odd\.json is no result of a study"):
        scoreboard(tmp_path)


def test_page_shows_claims_their_notes_once_and_escapes_bars() -> None:
    claims = [
        a_claim("paper 4", says, "reproduced", note="Smaller network.")
        for says in ("First.", "Second.")
    ]
    page = page_of(a_result("one", claims))

    assert "| First. | paper 4, table 1 | 0.8 | +0.1 [0.0, 0.2] | **reproduced** |" in page
    assert page.count("Smaller network.") == 1
    assert "First. / Second. Smaller network." in page
    assert "| arm | x\\|y |" in page
    assert "time | 61 s" in page


def test_table_in_markdown_leaves_out_what_is_missing() -> None:
    table = pl.DataFrame({"a": [1, None], "b": ["x", "y\nz"]})

    assert markdown_table(table) == "| a | b |\n|---|---|\n| 1 | x |\n|  | y z |\n"


def test_note_about_many_claims_names_the_first() -> None:
    claims = [a_claim("paper 1", f"Claim {n}.", "reproduced", note="Few seeds.") for n in range(5)]

    page = page_of(a_result("many", claims))

    assert "- 5 claims, the first of which is “Claim 0”: Few seeds." in page


def test_controls_of_ours_have_answers_and_are_no_claims_of_a_paper(tmp_path: Path) -> None:
    claims = [
        a_claim("paper 4", "Soft is better.", "reproduced"),
        a_claim(CONTROLS, "Soft is better than a vote.", "not reproduced"),
    ]
    result = a_result("table", claims)
    record = json.dumps(result_to_json(result))
    (tmp_path / "table.json").write_text(record, encoding="utf-8")

    for text in (page_of(result), scoreboard(tmp_path)):
        assert "1 claim: 1 reproduced" in text
        assert "| Soft is better than a vote. | +0.1 [0.0, 0.2] | no |" in text
        assert "not reproduced |" not in text.replace("same direction | not reproduced |", "")
