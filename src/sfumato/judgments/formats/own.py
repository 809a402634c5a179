"""Read and write our own files: a judgments table as Parquet, JSONL or CSV, the question beside it.

``answers.csv`` has the columns of ``COLUMNS`` (``item`` and ``answer`` are needed), and
``answers.question.json`` says what was asked and what was done to the answers so far.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.choices import PSEUDONYMS, classes_among
from sfumato.judgments.formats.fields import set_aside, typed_fields
from sfumato.judgments.formats.json_text import is_utf8
from sfumato.judgments.formats.question_file import (
    kind_of,
    question_without_file,
    read_question,
    write_question,
)
from sfumato.judgments.formats.reading import (
    CHUNK,
    ReadOptions,
    Rows,
    open_text,
    pseudonymous,
    read_csv_rows,
)
from sfumato.judgments.formats.writing import refuse_platform_ids, whole_file
from sfumato.judgments.judgments import COLUMNS, Judgments, Rejected, Remark, judgments_from
from sfumato.judgments.question import Question
from sfumato.provenance import Step, fingerprint_file

__all__ = ["read_own", "write_own"]

NEEDED = ("item", "answer")


def read_own(path: Path, options: ReadOptions) -> Judgments:
    """Read a judgments table; the suffix says whether it is Parquet, JSONL or CSV.

    Without a question beside it, the options say what was asked; a choose-one question with
    unknown classes has the different answers as its classes, and its answers may be written
    ``cat`` as well as ``"cat"``.
    """
    asked = read_question(path, options)
    kind = kind_of(asked, options)
    rows = _rows(path, options)
    table, remarks = _known_columns(rows.table)
    people, replaced = pseudonymous(table["annotator"], options.key)
    table = table.with_columns(people.alias("annotator"))
    if replaced:
        remarks.append(Remark(PSEUDONYMS, replaced))
    if kind == "choose-one":
        table = table.with_columns(_as_json(table[name]) for name in ("answer", "repaired"))
    if asked is not None:
        question, steps = asked.question, asked.provenance
    elif kind == "choose-one":
        labels = pl.Series(_labels(table["answer"]), dtype=pl.String)
        classes = classes_among(labels, options.classes, file=path.name)
        question, steps = question_without_file(path, kind, classes), ()
    else:
        question, steps = question_without_file(path, kind, options.classes), ()
    fields = typed_fields(table)
    sound = fields.sound
    kept = fields.table.filter(sound)
    return judgments_from(
        question,
        kept,
        file=path.name,
        lines=pl.Series(rows.lines, dtype=pl.Int64).filter(sound).to_numpy(),
        rejected=[
            *rows.rejected,
            *set_aside(table, fields.faults, file=path.name, lines=rows.lines),
        ],
        remarks=[*remarks, *_unknown_gold(kept, question)],
        provenance=(*steps, Step("read sfumato", {}, {path.name: fingerprint_file(path)})),
    )
