"""Write judgments as Label Studio exports them, and as Potato stores them.

Both hold a choice, or a number for each class; neither can say that a trial was a check.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats import Readable
from sfumato.judgments.formats.writing import refuse_platform_ids, whole_file
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import RULED_OUT

CONTROL = "label"
"""What the one question is called in both tools."""

_NUMBERS = ("sliders", "top-class", "sparse", "distribution")
"""Kinds of question whose answer is a number for each class."""


def write_label_studio(answers: Readable, path: Path) -> None:
    """Write tasks with their annotations: a choice, or one number a class."""
    judgments = _holdable(answers, "label-studio")
    if path.suffix.lower() != ".json":
        raise DataError(f"Label Studio's tasks are written as .json, not as {path.name!r}.")
    tasks = [
        {
            "data": {"id": item, "image": item},
            "annotations": [_annotation(judgments, row) for row in rows.iter_rows(named=True)],
            "predictions": [],
        }
        for (item,), rows in judgments.table.group_by("item", maintain_order=True)
    ]
    with whole_file(path) as part:
        part.write_text(json.dumps(tasks, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_potato(answers: Readable, path: Path) -> None:
    """Write one line an answer: a marked label, or one number a class."""
    judgments = _holdable(answers, "potato")
    if path.suffix.lower() != ".jsonl":
        raise DataError(f"Potato's instances are written as .jsonl, not as {path.name!r}.")
    with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
        for line in _instances(judgments):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _holdable(answers: Readable, format_name: str) -> Judgments:
    able = ("choose-one", *_NUMBERS)
    if not isinstance(answers, Judgments) or answers.question.kind not in able:
        raise DataError(
            f"The format {format_name!r} holds a choice or one number a class, so only answers to "
            f"{', '.join(able)}; write these with --format judgments."
        )
    other = answers.table.filter(pl.col("view") != "first")
    if len(other):
        raise DataError(
            f"The format {format_name!r} cannot say that {len(other):,} of {len(answers):,} "
            f"answers are no first views (the first is a {other['view'][0]!r}); leave them out, "
            "or write --format judgments."
        )
    refuse_platform_ids(answers.table)
    return answers


def _annotation(judgments: Judgments, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "completed_by": row["annotator"],
        "lead_time": row["seconds"],
        "created_at": row["at"],
        "was_cancelled": False,
        "ground_truth": False,
        "result": _results(judgments, json.loads(row["answer"])),
    }


def _results(judgments: Judgments, given: Any) -> list[dict[str, Any]]:
    if judgments.question.kind == "choose-one":
        value = {"choices": [given]}
        return [{"from_name": CONTROL, "to_name": "image", "type": "choices", "value": value}]
    ruled_out = given.pop(RULED_OUT, [])
    numbers = [
        {"from_name": name, "to_name": "image", "type": "number", "value": {"number": number}}
        for name, number in given.items()
    ]
    if not ruled_out:
        return numbers
    marked = {"choices": ruled_out}
    return [
        *numbers,
        {"from_name": RULED_OUT, "to_name": "image", "type": "choices", "value": marked},
    ]


def _instances(judgments: Judgments) -> Iterator[dict[str, Any]]:
    one_choice = judgments.question.kind == "choose-one"
    for row in judgments.table.iter_rows(named=True):
        given = json.loads(row["answer"])
        ruled_out = [] if one_choice else given.pop(RULED_OUT, [])
        labels = {given: "true"} if one_choice else {name: str(given[name]) for name in given}
        said = {CONTROL: labels}
        if ruled_out:
            said[RULED_OUT] = dict.fromkeys(ruled_out, "true")
        yield {
            "id": row["item"],
            "user_id": row["annotator"],
            "label_annotations": said,
            "behavioral_data": {
                "total_time_ms": round(1000 * row["seconds"]),
                "session_start": row["at"],
            },
        }
