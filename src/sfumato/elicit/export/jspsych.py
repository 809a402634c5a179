"""Write judgments as the rows that a jsPsych experiment saves, one page a row.

Top-two answers have the form fields of the released CIFAR-10S export, which ``judgments.formats``
reads back. All other answers are the fields of an HTML form, and a choice is a button.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.elicit.export.guard import guarded
from sfumato.errors import DataError
from sfumato.judgments.formats import Readable
from sfumato.judgments.formats.writing import refuse_platform_ids, whole_file
from sfumato.judgments.judgments import Judgments

_TASKS = {"first": "spec_conf", "repeat": "rerun_spec_conf"}
"""What the two kinds of main trials are called in the CIFAR-10S export."""

_COLUMNS = (
    "trial_type",
    "trial_index",
    "subject",
    "rt",
    "response",
    "choices",
    "task",
    "label",
    "img_id",
)


def write_jspsych(answers: Readable, path: Path) -> None:
    """Write a CSV file with one row a page; the last page of a finished session is its debrief."""
    if not isinstance(answers, Judgments):
        raise DataError(
            "jsPsych rows hold answers about single images; write comparisons and mixes with "
            "--format judgments."
        )
    if path.suffix.lower() != ".csv":
        raise DataError(f"jsPsych rows are written as .csv, not as {path.name!r}.")
    refuse_platform_ids(answers.table)
    pages = pl.DataFrame(
        list(_pages(answers)), schema=dict.fromkeys(_COLUMNS, pl.String()), orient="row"
    )
    table, _ = guarded(pages)
    with whole_file(path) as part:
        table.write_csv(part)


def _pages(answers: Judgments) -> Iterator[tuple[str | None, ...]]:
    rows = list(answers.table.iter_rows(named=True))
    for row, following in pairwise([*rows, None]):
        assert row is not None
        yield _page(answers, row)
        goes_on = (
            following is not None
            and following["annotator"] == row["annotator"]
            and following["order"] > row["order"]
        )
        if row["completed"] and not goes_on:
            index = str(row["order"] + 1)
            yield ("survey-text", index, row["annotator"], None, "{}", None, "debrief", None, None)


def _page(answers: Judgments, row: dict[str, Any]) -> tuple[str | None, ...]:
    question = answers.question
    given = json.loads(row["answer"])
    trial_type, choices, task = "survey-html-form", None, row["view"]
    match question.kind:
        case "choose-one":
            trial_type = "html-button-response"
            response = str(question.classes.index(given))
            choices = json.dumps(question.classes, ensure_ascii=False)
        case "top-two":
            response = json.dumps(_form(given), ensure_ascii=False)
            task = _TASKS.get(row["view"], row["view"])
        case _:
            response = row["answer"]
    seconds = row["seconds"]
    return (
        trial_type,
        str(row["order"]),
        row["annotator"],
        None if seconds is None else f"{1000 * seconds:.0f}",
        response,
        choices,
        task,
        row["gold"],
        row["item"],
    )


def _form(given: dict[str, Any]) -> dict[str, str]:
    """The fields of the paper's page: two lists of buttons, two numbers, a box a class."""
    second = given.get("second")
    return {
        "classSelect": f"mostProb{given['first']}",
        "prob": _typed(given.get("first_percent")),
        "classSelect2": f"secondProb{'no' if second is None else second}",
        "prob2": _typed(given.get("second_percent")),
        **{f"improbClassSelect{name}": "on" for name in given.get("ruled_out", [])},
    }


def _typed(value: Any) -> str:
    return "" if value is None else str(value)
