"""The papers as data: their studies, every number that their tables print, and a page for each."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import pairwise, product
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

from sfumato.learn.sweep import Progress
from sfumato.studies.claims import Claim, PrintedNumber, every_claim, read_numbers
from sfumato.studies.data import RunFolder
from sfumato.studies.papers import (
    NUMBERS_CSV,
    claims_about,
    number_rows,
    numbers_page,
    paper_page,
    paper_studies,
    read_papers,
    write_papers,
)
from sfumato.studies.results import CONTROLS, NOT_LOOKED_AT
from sfumato.studies.run import Runner, run_paper
from sfumato.studies.study import Study, read_study, shipped_names

PRINTED = {
    ("paper 1", "table 1"): 8 * 6 * 4,
    ("paper 1", "table 2"): 8 * 4,
    ("paper 2", "table 1"): 8 * 2,
    ("paper 2", "table 3"): 4 * 5,
    ("paper 4", "table 1"): 2 * 5 * 3,
    ("paper 4", "table 2"): 2 * 2 * 3,
    ("paper 4", "table 3"): 2 * 2 * 6,
    ("paper 4", "table 4"): 2 * 4 * 4,
    ("paper 4", "table 5"): 2 * 3 * 4,
    ("paper 4", "table 6"): 2 * 3 * 3,
    ("thesis", "table 3.4"): 2 * 4 * 4,
    ("thesis", "table 4.1"): 5 * 3,
    ("thesis", "table 4.2"): 3 * 3,
    ("thesis", "table 4.3"): 5 * 3,
    ("thesis", "table 5.1"): 3 * 4,
    ("thesis", "table 5.2"): 6 * 4,
    ("thesis", "table B.2"): 4 * 3,
    ("thesis", "table B.3"): 4 * 3,
    ("thesis", "table C.1"): 4 * 3,
    ("paper 5", "table 2"): 84,
    ("paper 5", "table 3"): 2 * 4 * 6,
    ("paper 5", "table 9"): 4 * 4 * 3,
    ("paper 5", "table 10"): 84,
}
"""Rows times columns, counted in the papers."""


def test_papers_name_studies_that_exist_and_no_claim_is_left_without_a_paper() -> None:
    papers = read_papers()
    listed = {study for paper in papers.values() for study in paper.studies}
    called = {paper.called for paper in papers.values()}

    assert list(papers) == ["paper-1", "paper-2", "thesis", "paper-4", "paper-5"]
    assert listed <= set(shipped_names())
    for claim in every_claim():
        if claim.paper in called:
            assert set(claim.studies) <= listed, claim.id


def test_seeds_are_for_studies_that_train_or_simulate() -> None:
    studies = paper_studies("paper-1", seeds=1)

    own = [study.name for study in studies if not study.beside]
    assert own == list(read_papers()["paper-1"].studies)
    assert all(one.beside in (None, last.name, last.beside) for last, one in pairwise(studies))
    trained = {study.seeds for study in studies if study.networks}
    assert trained == {1}
    assert studies[0] == read_study("cifar10h-rescore")


def test_every_printed_number_is_in_a_claim_that_exists_or_has_a_reason() -> None:
    known = {claim.id for claim in every_claim()}

    for row in number_rows():
        assert row["claims"] or row["reason"], row
        assert set(row["claims"].split()) <= known, row


def test_tables_have_as_many_numbers_as_rows_times_columns() -> None:
    found = Counter((row["paper"], row["table"]) for row in number_rows())

    assert {table: found[table] for table in PRINTED} == PRINTED


Printed = dict[tuple[Any, ...], dict[str, list[float]]]
"""By study, arm and the score that it stands beside: each paper's numbers, one per network."""


@pytest.fixture(scope="module")
def claims() -> list[Claim]:
    return every_claim()


@pytest.fixture(scope="module")
def printed() -> Printed:
    found: Printed = {}
    for one in read_numbers():
        if not one.studies or one.printed == "lost":
            continue
        value = float(one.printed.partition("±")[0].partition(" ")[0])
        for study in one.studies:
            rows = found.setdefault((study, one.arm, *score(one)), {})
            rows.setdefault(f"{one.paper}, {one.table}", []).append(value)
    return found


def score(one: Claim | PrintedNumber) -> tuple[Any, ...]:
    return one.against, one.stratum, one.attack, one.bound, one.metric


def printed_mean(numbers: list[float]) -> float:
    """A number as printed, or the mean of several networks in as many digits as they have."""
    return numbers[0] if len(numbers) == 1 else round(fmean(numbers), 2)


def test_effects_of_claims_are_differences_of_printed_numbers(
    claims: list[Claim], printed: Printed
) -> None:
    looked = 0
    for claim in claims:
        arms = [
            printed.get((study, arm, *score(claim)), {})
            for study in claim.studies[:1]
            for arm in (claim.arm, claim.second)
        ]
        if claim.printed_effect is None or not all(arms):
            continue
        looked += 1
        near = []
        for first, second in product(arms[0].values(), arms[1].values()):
            # Means of several networks are rounded before they are subtracted.
            rounding = 1e-9 if len(first) == 1 else 0.101 if claim.attack else 0.0101
            near.append(abs(claim.printed_effect - (fmean(first) - fmean(second))) < rounding)
        assert any(near), claim.id
    assert looked > 200


def test_no_column_of_a_comparison_is_left_out_of_the_claims(
    claims: list[Claim], printed: Printed
) -> None:
    """Two arms that a claim compares in a table are compared in all of its columns."""
    judged = [claim for claim in claims if claim.metric and claim.kind == "claim"]
    sides = [(claim, {claim.arm, claim.second}) for claim in judged]
    left_out = []
    for (study, arm, *mine), rows in printed.items():
        pairs = {
            claim.second
            for claim in judged
            if claim.arm == arm and study in claim.studies and claim.printed_effect is not None
        }
        for second in pairs - {""}:
            others = printed.get((study, second, *mine), {})
            same = [table for table in rows if table in others]
            if all(printed_mean(rows[one]) == printed_mean(others[one]) for one in same):
                continue  # printed alike, or not in one table
            if not any(
                {arm, second} == pair and score(claim)[1:] == tuple(mine[1:])
                and claim.against in ("", mine[0], *SAME_NUMBERS.get(mine[0], ()))
                for claim, pair in sides
            ):  # fmt: skip
                left_out.append((study, arm, second, *mine))
    assert left_out == []


SAME_NUMBERS = {"original, all 10,000 images": ("original, images trained on",)}
"""Labels whose printed numbers are those of others: paper 1 attacks images of both kinds."""


def test_number_is_found_in_claims_about_either_arm(claims: list[Claim]) -> None:
    (one,) = (
        number
        for number in read_numbers()
        if (number.table, number.row, number.column) == ("table 2", "10S: CIFAR-10H", "FGSM Loss")
    )

    ids = claims_about(one, claims)

    assert ids
    for claim in (claim for claim in claims if claim.id in ids):
        assert "CIFAR-10H separate" in (claim.arm, claim.second)
        assert (claim.attack, claim.against) == ("fgsm", "CIFAR-10S")


def test_list_counts_every_table_and_says_why_numbers_are_no_claim() -> None:
    page = numbers_page(number_rows())

    assert "| paper 1 | table 1 | – | 192 |" in page
    assert "thesis, table 3.1" in page
    assert "6.4 for each input" in page


def result(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name, "title": f"Title of {name}", "size": "cpu", "seeds": 3, "seconds": 60.0,
        "simulated": False, "remark": "", "beside": "", "regime": pl.DataFrame(), "claims": [],
        **changes,
    }  # fmt: skip


def claimed(name: str, verdict: str, **changes: str) -> dict[str, str]:
    return {
        "id": name, "work": "paper 4", "source": "paper 4, table 1", "says": f"Sentence {name}.",
        "paper": "1 against 2", "ours": "ours", "weakest": f"found {name}", "ratio": "0.4",
        "excess": "0.3", "verdict": verdict, "changes": NOT_LOOKED_AT, "note": "", **changes,
    }  # fmt: skip


def test_page_tells_claims_bad_news_what_was_not_tested_and_controls() -> None:
    first = result(
        "cifar10s-aggregate",
        regime=pl.DataFrame({"'hard'": ["cnn-3"], "accuracy": ["0.61"]}),
        claims=[
            claimed("a", "reproduced", changes="2"),
            claimed("b", "contradicted"),
            claimed("c", "not testable at this size"),
            claimed("d", "not testable here", note="The word vectors are lost."),
            claimed("e", "contradicted", work=CONTROLS),
        ],
    )
    frozen = result("frozen", beside="cifar10s-aggregate", claims=[claimed("a", "undecided")])

    stored = {one["name"]: one for one in (first, frozen)}
    page = paper_page("paper-4", stored, [], "../results")

    lines = page.splitlines()
    assert "4 claims: 1 reproduced, 1 contradicted" in page
    assert "| [cifar10s-aggregate](../results/cifar10s-aggregate.md) | 1 | 0 |" in page
    assert "- Sentence a. *reproduced*: found a (paper 4, table 1)." in lines
    assert "- Sentence b. *contradicted*: found b (paper 4, table 1)." in lines
    assert "- Our control: Sentence e. *no*: found e." in lines
    assert any("Sentence a." in line and "| 2 | undecided |" in line for line in lines)
    assert any("Sentence c." in line and "our hard arm loses 0.3" in line for line in lines)
    assert any("Sentence d." in line and "word vectors are lost" in line for line in lines)
    assert "| cnn-3 | 0.61 |" in lines
    assert "[cifar10s-aggregate](../results/cifar10s-aggregate.md)" in page
    assert "Without results so far: `cifar10s-separate`" in page


def test_page_begins_with_the_first_claims_of_either_outcome() -> None:
    claims = [
        claimed(f"{kind}{place}", verdict)
        for kind, verdict in (("good", "reproduced"), ("bad", "contradicted"))
        for place in range(4)
    ]
    stored = {"cifar10s-aggregate": result("cifar10s-aggregate", claims=claims)}

    short, _, _ = paper_page("paper-4", stored, [], "..").partition("Without results so far")

    told = [line.split()[2].rstrip(".") for line in short.splitlines() if line.startswith("- ")]
    assert told == ["good0", "good1", "bad0", "bad1"]
    assert "Reproduced, or answered yes by a control: 4. The first 2 of each study:" in short


def test_pages_are_written_from_the_results_of_the_documentation(tmp_path: Path) -> None:
    results = Path(__file__).parents[2] / "docs" / "results"

    written = write_papers(results, tmp_path / "papers")

    names = [path.name for path in written]
    assert names[:5] == [f"{name}.md" for name in read_papers()]
    text = (tmp_path / "papers" / NUMBERS_CSV).read_text(encoding="utf-8")
    assert list(csv.DictReader(StringIO(text))) == number_rows()


@contextmanager
def unwatched(study: Study) -> Iterator[Callable[[Progress], None]]:
    yield lambda progress: None


def test_studies_of_a_paper_share_trainings_and_one_that_fails_stops_no_other(
    own_study: Path, tmp_path: Path
) -> None:
    def study(name: str, *arms: str, **changes: Any) -> Study:
        return read_study(own_study, changes={"name": name, "arms": list(arms), **changes})

    first, second = study("first", "original", "soft"), study("second", "soft", "majority")
    lost = study("lost", "original", **{"own.judgments": "nowhere.csv"})
    told: list[str] = []
    runner = Runner(stage=told.append)

    failed = run_paper([first, lost, second], tmp_path, tmp_path / "results", runner, unwatched)

    assert list(failed) == ["lost"]
    assert "nowhere.csv" in failed["lost"]
    assert RunFolder.open(tmp_path / "second").timing.found == 2  # two seeds of the arm "soft"
    assert len(list((tmp_path / "trainings").glob("*.json"))) == 6
    assert {path.stem for path in (tmp_path / "results").glob("*.json")} == {"first", "second"}
    assert told[0] == "first: Light and dark"
