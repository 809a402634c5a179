"""The first screens of judges: of one set, and of a study of many."""

from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from sfumato.labels.worth.result import BEST, NOBODY, TOGETHER, Worth, worth
from sfumato.reporting.page import Chart
from sfumato.reporting.worth import worth_page
from sfumato.studies.data import RunFolder
from sfumato.studies.sections.judges import first_screen, worths

SAID = {"ann": "ccddcdcdccdd", "ben": "ccddcdcdcddd", "eve": "ccddcdddccdd", "joe": "ccddcddcccdd"}


@pytest.fixture(scope="module")
def found() -> Worth:
    rows = [
        {"item": f"{n:02}", "annotator": who, "answer": one}
        for who, said in SAID.items()
        for n, one in enumerate(said * 5)
    ]
    good = {f"{n:02}": one for n, one in enumerate("ccddcdcdccdd" * 5)}
    dull = dict.fromkeys(good, "c")
    return worth(rows, {"good": good, "dull": dull}, resamples=100)


def test_page_of_judges_answers_first_and_tells_good_and_bad(found: Worth) -> None:
    page = worth_page(found)

    assert page.lead is not None
    assert page.lead.answer.startswith("good is worth ")
    assert page.lead.answer.endswith("people, the most of 2 judges.")
    assert isinstance(page.lead.figure, Chart)
    assert [bar.label for bar in page.lead.figure.bars] == ["good", "dull"]
    assert page.lead.how.meaning
    assert 3 <= len(page.findings) <= 6
    assert any("dull is worth less than one person" in one.text for one in page.findings)
    assert {one.way for one in page.findings} >= {"better", "worse"}


def row(
    judge: str, worth: float, low: float, high: float | None, people: int = 0
) -> dict[str, Any]:
    capped, loss = high is None, 1 - worth / 10
    return {"set": "reviews", "judge": judge, "people": people, "stratum": "all", "worth": worth,
            "low": low, "high": high, "capped": capped, "excess": 0.0, "log_loss": loss,
            "items": 40, "over": "items"}  # fmt: skip


def test_study_of_judges_counts_who_is_worth_more_and_less_than_a_person() -> None:
    table = pl.DataFrame(
        [
            row("a", 2.0, 1.5, None),
            row("b", 0.5, 0.2, 0.8),
            row("c", 0.9, 0.6, 1.4),
            row(BEST, 1.2, 0.9, 1.5),
            row(BEST, 2.0, 1.9, 2.5, people=1),
            row(TOGETHER, 1.5, 0.9, 2.0),
            row(NOBODY, 1.0, 1.0, 1.0, people=1),
        ],
        infer_schema_length=None,
    )
    study = SimpleNamespace(title="How many people is a judge worth?")
    stand_in = SimpleNamespace(
        study=study, tables={"worths": table}, info={"missing": ["No cubs."]}
    )
    run = cast(RunFolder, stand_in)

    lead, findings, _ = first_screen(run)

    assert lead.answer == (
        "Of 3 judges on 1 dataset, 1 are worth less than one person, 1 more, and of the rest it "
        "is open."
    )
    assert lead.figure is not None
    assert [bar.value for bar in lead.figure.bars] == [1, 1, 1]
    assert "No cubs." in lead.against
    assert [one.way for one in findings[:2]] == ["better", "better"]  # one set: best and worst
    assert "adds 0.8 people in the median of 1 set" in findings[2].text
    assert "0.3 people more than the best" in findings[3].text
    section = worths(run)
    assert section is not None
    assert isinstance(section.blocks[0], Chart)
