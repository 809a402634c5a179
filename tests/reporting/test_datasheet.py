import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest

from sfumato.errors import UnknownName
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import (
    ABOUT_COLUMNS,
    COLUMNS,
    Judgments,
    RejectedRow,
    Remark,
    select,
)
from sfumato.judgments.quality import apply_rules, rule_with
from sfumato.judgments.question import ask
from sfumato.labels.agreement import Agreement
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.provenance import Step
from sfumato.reporting.datasheet import (
    OPEN,
    QUESTIONS_TO_THE_OWNER,
    SIMULATED,
    Datasheet,
    Entry,
    SectionName,
    datasheet_of,
    open_questions,
    to_markdown,
)

LABELS = LabelSet(
    ("x", "y", "z"),
    ("cat", "dog"),
    np.array([[1, 0], [0.5, 0.5], [0.25, 0.75]]),
    np.array([4.0, 2, 8]),
    (
        Step("read votes", {}, {"votes.csv": "ab12"}),
        Step("label votes", {"gamma": 0.1, "keep": ["repeats"]}),
    ),
)

JUDGMENTS = Judgments(
    ask("choose-one", ["cat", "dog"]),
    pl.DataFrame(
        {
            "item": ["x", "y", "x", "y"],
            "annotator": ["ann", "ann", "bob", "cleo"],
            "answer": ['"cat"', '"cat"', '"dog"', '"dog"'],
            "seconds": [1.0, 3.0, 5.0, 7.0],
            "view": ["first", "check", "first", "first"],
            "gold": [None, "dog", None, None],
        }
    ),
    rejected=(RejectedRow("votes.csv", 7, "answer", "no class", "?"),),
    remarks=(Remark("one session twice", 2),),
)


def answer_to(sheet: Datasheet, section: SectionName, question: str) -> str:
    entries: tuple[Entry, ...] = getattr(sheet, section)
    found = [entry for entry in entries if question in entry.question]
    assert len(found) == 1
    assert found[0].counted
    assert found[0].answer is not None
    return found[0].answer


def test_composition_is_counted() -> None:
    sheet = datasheet_of("pets", LABELS, splits={"train": 2, "test": 1})

    assert answer_to(sheet, "composition", "What is in it") == "3 items, 2 classes: cat, dog."
    assert answer_to(sheet, "composition", "behind a label") == (
        "14 in all; 2 to 8 per item, median 4."
    )
    assert "33.3% of the items are unanimous" in answer_to(sheet, "composition", "uncertain")
    assert answer_to(sheet, "composition", "most probable") == "cat 2, dog 1."
    assert answer_to(sheet, "composition", "split") == "train 2, test 1."


def test_collection_is_counted_from_judgments() -> None:
    agreement = Agreement("Fleiss' kappa", 0.4074, 0.1, 0.62, 3, 0.95)

    sheet = datasheet_of("pets", LABELS, judgments=JUDGMENTS, agreement=[agreement])

    assert answer_to(sheet, "collection", "answered how often") == (
        "3 annotators gave 4 answers about 2 items (check views 1, first views 3)."
    )
    assert answer_to(sheet, "collection", "How long").startswith("Median 4.0 s, mean 4.0 s (4")
    assert "choose-one, version 1" in answer_to(sheet, "collection", "asked")
    assert answer_to(sheet, "collection", "kappa") == (
        "0.407, 95% interval 0.100 to 0.620 (n = 3)."
    )
    assert "busiest 10 %" in answer_to(sheet, "bias", "dominate")


def test_exclusions_come_with_their_reasons() -> None:
    _, ledger = apply_rules(JUDGMENTS, [rule_with("gold")])

    sheet = datasheet_of("pets", LABELS, judgments=JUDGMENTS, ledger=ledger)

    assert answer_to(sheet, "cleaning", "left out") == "2 of 4 answers (50.0%), by 1 rule."
    assert answer_to(sheet, "cleaning", "Rule gold") == (
        "could judge 1 answer; left out 1 annotator and 2 answers: "
        "failed 1 of 1 checks, more than 0 (1)."
    )
    assert answer_to(sheet, "cleaning", "could not be read") == "no class (1)."
    assert answer_to(sheet, "cleaning", "notice") == "one session twice: 2."
    assert answer_to(sheet, "cleaning", "labels made") == "read votes → label votes (gamma=0.1)"
    assert "ann" not in [name.strip() for name in to_markdown(sheet).split()]  # nobody is named


def test_files_can_be_checked() -> None:
    assert answer_to(datasheet_of("pets", LABELS), "maintenance", "votes.csv") == "ab12"


def test_fields_are_those_that_hold_something() -> None:
    sheet = datasheet_of("pets", LABELS, judgments=JUDGMENTS)

    names = [entry.question for entry in sheet.fields]
    assert "seconds (judgments)" in names
    assert "at (judgments)" not in names
    assert set(ABOUT_COLUMNS) == set(COLUMNS)


def test_what_cannot_be_known_is_asked() -> None:
    sheet = datasheet_of("pets", LABELS)

    assert open_questions(sheet) == [question for _, question in QUESTIONS_TO_THE_OWNER.values()]
    page = to_markdown(sheet)
    assert page.count(f"**{OPEN}**") == len(QUESTIONS_TO_THE_OWNER)


def test_answers_of_the_owner_close_their_questions() -> None:
    sheet = datasheet_of("pets", LABELS, answers={"licence": "CC BY 4.0", "purpose": " "})

    assert [(entry.answer, entry.counted) for entry in sheet.licence] == [
        ("CC BY 4.0", False),
        (None, False),
    ]
    assert len(open_questions(sheet)) == len(QUESTIONS_TO_THE_OWNER) - 1  # a blank is no answer
    with pytest.raises(UnknownName, match="Did you mean 'licence'"):
        datasheet_of("pets", LABELS, answers={"license": "CC BY 4.0"})


def test_simulated_annotators_are_called_simulated() -> None:
    made = LABELS.with_probs(LABELS.probs, Step("simulate voters", simulated=True))

    sheet = datasheet_of("pets", made, judgments=JUDGMENTS)

    assert SIMULATED in to_markdown(sheet)
    assert "3 simulated annotators" in answer_to(sheet, "collection", "answered how often")
    assert "simulate voters [simulated]" in answer_to(sheet, "cleaning", "labels made")
    assert SIMULATED not in to_markdown(datasheet_of("pets", LABELS))


def test_page_has_every_section_in_order() -> None:
    page = to_markdown(datasheet_of("pets", LABELS, judgments=JUDGMENTS))

    headings = [line[3:] for line in page.splitlines() if line.startswith("## ")]

    assert headings == [name.capitalize() for name in get_args(SectionName)]


def test_text_of_others_is_no_markup() -> None:
    labels = LabelSet(("x",), ("<b>cat</b>", "a*b\n# dog"), np.array([[1.0, 0]]))

    page = to_markdown(datasheet_of("[pets](x)", labels))

    assert r"\<b\>cat\</b\>, a\*b \# dog" in page
    assert page.startswith(r"# Datasheet: \[pets\](x)")


def test_labels_without_people_behind_say_so() -> None:
    sheet = datasheet_of("model", LabelSet(("x",), ("a", "b"), np.array([[0.5, 0.5]])))

    assert answer_to(sheet, "composition", "behind a label") == "Not recorded with the labels."
    assert answer_to(sheet, "cleaning", "labels made") == "Not recorded."


def test_datasheet_of_cifar10s_tells_its_known_numbers(data_folder: Path) -> None:
    found = read(data_folder / "cifar10s" / "raw_human_data.csv", "cifar10s", ReadOptions())
    assert isinstance(found, Judgments)
    labels = build(select(found), "top2-clamp").crowd.mean()

    sheet = datasheet_of("CIFAR-10S", labels, judgments=found)

    assert answer_to(sheet, "composition", "behind a label").startswith("6,200 in all; 6 to 7")
    often = answer_to(sheet, "collection", "answered how often")
    assert often.startswith("248 annotators gave 6,723 answers about 1,000 items")
    assert "Median 32.0 s" in answer_to(sheet, "collection", "How long")
    assert not sheet.simulated


@pytest.mark.parametrize("module", ["datasheet", "text"])
def test_what_draws_nothing_does_not_load_the_figures(module: str) -> None:
    code = f"import sys, sfumato.reporting.{module}; print('matplotlib' in sys.modules)"

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout == "False\n"
