"""Read and write peerannot's ``answers.json``: task to worker to label."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.choices import judgments_of_choices
from sfumato.judgments.formats.json_text import members, plain_text, read_json_text
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.formats.writing import choices_of, refuse_second_labels, whole_file
from sfumato.judgments.judgments import Judgments, Rejected

__all__ = ["read_peerannot", "write_peerannot"]


def read_peerannot(path: Path, options: ReadOptions) -> Judgments:
    """Read ``{task: {worker: label}}`` as choose-one judgments; a label may be a number."""
    text = read_json_text(path)
    votes: list[tuple[str, str, str]] = []
    lines: list[int] = []
    rejected: list[Rejected] = []
    for line, task, answers, _ in members(text, file=path.name):
        if not isinstance(answers, dict):
            raise DataError(
                f"{path.name}, line {line}: task {task!r} holds {json.dumps(answers)[:60]}, "
                'expected workers and their labels as in {"3": 1, "17": 0}.'
            )
        for worker, label in answers.items():
            if (named := plain_text(label)) is None:
                rejected.append(_unusable(path, line, task, worker, label))
            else:
                votes.append((task, worker, named))
                lines.append(line)
    options.progress(len(text), len(text))
    return judgments_of_choices(
        path,
        pl.DataFrame(
            votes, schema=dict.fromkeys(("item", "annotator", "label"), pl.String()), orient="row"
        ),
        lines=lines,
        rejected=rejected,
        remarks=(),
        options=options,
        format_name="peerannot",
    )


def write_peerannot(judgments: Judgments, path: Path) -> None:
    """Write choose-one judgments; labels become numbers if all classes are whole numbers.

    peerannot itself works with class numbers 0, 1, …, so give it classes named so.
    """
    table = choices_of(judgments, "peerannot")
    refuse_second_labels(table, "peerannot")
    numbers = all(
        name.isdecimal() and str(int(name)) == name for name in judgments.question.classes
    )
    answers: dict[str, dict[str, str | int]] = {}
    for item, annotator, label in table.iter_rows():
        answers.setdefault(item, {})[annotator] = int(label) if numbers else label
    with whole_file(path) as part:
        part.write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")


def _unusable(path: Path, line: int, task: str, worker: str, label: Any) -> Rejected:
    shown = json.dumps(label)[:60]
    reason = "no label" if label is None else f"{shown} is neither a text nor a whole number"
    return Rejected(path.name, line, "label", reason, f"task {task!r}, worker {worker!r}: {shown}")
