"""Get the answers of a study out: as judgments, or in the shape of another tool's files."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.export.answers import BESIDE, Exported, collected
from sfumato.elicit.export.guard import guarded
from sfumato.elicit.export.jspsych import write_jspsych
from sfumato.elicit.export.tools import write_label_studio, write_potato
from sfumato.elicit.storage.database import Connection
from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.formats import Readable, write
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.mixes import MixJudgments
from sfumato.names import find

__all__ = ["BESIDE", "SHAPES", "Exported", "collected", "export", "write_judgments"]


def write_judgments(answers: Readable, path: Path) -> None:
    """Write our own files: answers about items, comparisons or mixes, the question beside them."""
    if path.suffix.lower() == ".csv":
        answers = replace(answers, table=guarded(answers.table)[0])
    match answers:
        case Judgments():
            write(answers, path, "sfumato")
        case Comparisons():
            write(answers, path, "comparisons")
        case MixJudgments():
            write(answers, path, "mixes")
        case _:
            assert_never(answers)


SHAPES: dict[str, Callable[[Readable, Path], None]] = {
    "judgments": write_judgments,
    "jspsych": write_jspsych,
    "label-studio": write_label_studio,
    "potato": write_potato,
}
"""What files can be written, by the name that a person types."""


def export(
    connection: Connection,
    study: ElicitStudy,
    path: Path,
    *,
    shape: str = "judgments",
    keep: Iterable[str] = (),
) -> Exported:
    """Write the answers of a study to a file; what was written, and what was left out and why."""
    writer = find(SHAPES, shape, what="format of an export")
    found = collected(connection, study, keep=keep)
    if not len(found.answers):
        others = sum(found.left_out.values())
        raise DataError(
            f"The study {study.name!r} has no answers to export yet"
            + (f"; {others:,} were left out: {_listed(found.left_out)}." if others else ".")
        )
    writer(found.answers, path)
    in_a_spreadsheet = path.suffix.lower() == ".csv"
    return replace(found, marked=guarded(found.answers.table)[1] if in_a_spreadsheet else 0)


def _listed(left_out: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in left_out.items())
