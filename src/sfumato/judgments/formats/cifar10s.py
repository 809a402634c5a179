"""Turn the released CIFAR-10S files into judgments: the raw jsPsych export or the JSON of answers.

The export mixes first views and repeats and has one person's batch twice; all of it is
kept, flagged as what it is, and ``select`` leaves out what labels should not rest on.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.checking import Flaw, sound_rows
from sfumato.judgments.formats.class_names import CIFAR10
from sfumato.judgments.formats.json_text import members, read_json_text
from sfumato.judgments.formats.jspsych import read_top_two_pages
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, Rejected, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.judgments.repairs import REPAIRS, repair_table
from sfumato.provenance import Step, fingerprint_file

__all__ = ["read_cifar10s"]


def read_cifar10s(path: Path, options: ReadOptions) -> Judgments:
    """Read ``raw_human_data.csv`` or ``human_soft_labels_data.json``.

    From the export come 6,723 answers of 248 people about 1,000 images, 6,200 of them first
    views by different people. The two repairs of the release (S3-07) are applied. The JSON
    holds the same answers without people, order or time. An item is the official index of
    an image of the CIFAR-10 test set.
    """
    match path.suffix.lower():
        case ".csv":
            return _read_export(path, options)
        case ".json":
            return _read_released(path, options)
        case other:
            raise DataError(
                f"{path.name} ends in {other!r}; CIFAR-10S comes as raw_human_data.csv or "
                "human_soft_labels_data.json."
            )


def _read_export(path: Path, options: ReadOptions) -> Judgments:
    pages = read_top_two_pages(path, options, item="img_id", gold="label")
    question = ask("top-two", options.classes or CIFAR10)
    item, gold = pages.table["item"], pages.table["gold"]
    known = gold.is_in(list(question.classes)).fill_null(False)
    flaws = [
        Flaw("img_id", "not the index of an image", item, ~item.str.contains(r"^[0-9]+$")),
        Flaw("label", "not a class of CIFAR-10", gold, ~known),
    ]
    table, lines, rejected = sound_rows(pages.table, flaws, lines=pages.lines, file=path.name)
    mended = repair_table(table, "cifar10s")
    settings = {"repairs": f"cifar10s {REPAIRS['cifar10s'].version}"}
    return judgments_from(
        question,
        mended.table,
        file=path.name,
        lines=lines,
        rejected=[*pages.rejected, *rejected],
        remarks=[*pages.remarks, *mended.remarks],
        provenance=(Step("read cifar10s", settings, {path.name: fingerprint_file(path)}),),
    )


def _read_released(path: Path, options: ReadOptions) -> Judgments:
    items, answers, lines, rejected = [], [], [], []
    for image, record, line in _records(path):
        try:
            answers.append(_answer(record))
        except ValueError as error:
            shown = ascii(record)[:200]
            rejected.append(Rejected(path.name, line, str(error), "missing or of no use", shown))
            continue
        items.append(image)
        lines.append(line)
    options.progress(len(answers), len(answers))
    return judgments_from(
        ask("top-two", options.classes or CIFAR10),
        pl.DataFrame({"item": items, "answer": answers}, {"item": pl.String, "answer": pl.String}),
        file=path.name,
        lines=lines,
        rejected=rejected,
        remarks=[Remark("answers of unknown people, repeats not marked", len(answers))],
        provenance=(Step("read cifar10s", {}, {path.name: fingerprint_file(path)}),),
    )


def _records(path: Path) -> Iterator[tuple[str, Any, int]]:
    """Image, answer, and the line in which the answers about the image begin."""
    for member in members(read_json_text(path), file=path.name):
        if not isinstance(member.value, list):
            raise DataError(
                f"{path.name}, line {member.line}: image {member.name!r} has no list of answers."
            )
        for record in member.value:
            if isinstance(record, list):
                raise DataError(
                    f"{path.name} holds label distributions, not what people said. Read it as "
                    "labels, or take human_soft_labels_data.json for the answers."
                )
            yield member.name, record, member.line


def _answer(record: Any) -> str:
    """The answer in a released record; an error names the field that cannot be used."""
    second = _field(record, "Second Most Probable Class", str)
    percent = _field(record, "Second Most Probable Class Prob", int | float | None)
    answer = {
        "first": _field(record, "Most Probable Class", str).lower(),
        "first_percent": _field(record, "Most Probable Class Prob", int | float),
        "second": None if second == "No" else second.lower(),
        "second_percent": "" if percent is None else percent,
        "ruled_out": [str(name).lower() for name in _field(record, "Impossible Class(es)", list)],
    }
    return json.dumps(answer)


def _field(record: Any, name: str, form: type | UnionType) -> Any:
    if not isinstance(record, dict) or not isinstance(record.get(name, ...), form):
        raise ValueError(name)
    return record[name]
