"""Turn the raw export of CUB-S, soft concept labels of bird images, into slider judgments.

One row of the export is one person's answer about one group of concepts (such as the
colour of the wing) of one image: the options they marked, each with a value from 0 to 100.
"""

import ast
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.judgments.formats.checking import empty, parsed, people, sound_rows
from sfumato.judgments.formats.json_text import is_utf8
from sfumato.judgments.formats.reading import ReadOptions, clean_id, read_csv_rows
from sfumato.judgments.judgments import Judgments, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.names import sorted_names
from sfumato.provenance import Step, fingerprint_file

__all__ = ["read_cub_s"]

COLUMNS = ("time_elapsed", "rt", "subject", "concept_group", "evalAttrUncs", "img_id")


def read_cub_s(path: Path, options: ReadOptions) -> Judgments:
    """Read ``raw_cub-s_human_data.csv``: 4,984 answers of 89 people about 28 concept groups.

    An item is the CUB image and the group, "4081/wing color"; a class is the group and an
    option, "wing color: Black". An answer speaks of its own group only and of the options
    the person marked, so every answer is reported as ``unanswered`` for the rest: silence
    about another group says nothing, silence about an option of the group means that it was
    not marked. The file does not list the options: one that nobody marked is not among the
    classes (301 of the 312 concepts of CUB are); name all of them in the options if needed.
    """
    rows = read_csv_rows(path, needed=COLUMNS, progress=options.progress)
    images, floats = clean_id(rows.table["img_id"])
    annotators, replaced = people(rows.table["subject"], options.key)
    elapsed = pl.col("time_elapsed").cast(pl.Float64, strict=False)
    bars, unread = parsed(rows.table, "evalAttrUncs", _bars)
    table = rows.table.select(
        (images + "/" + pl.col("concept_group")).alias("item"),
        annotators.alias("annotator"),
        pl.Series("answer", _answers(rows.table["concept_group"], bars), pl.String),
        (pl.col("rt").cast(pl.Float64, strict=False) / 1000).alias("seconds"),
        elapsed.rank("ordinal").over("subject").alias("order"),
    )
    flaws = [empty(rows.table, "img_id"), empty(rows.table, "concept_group"), *unread]
    table, lines, rejected = sound_rows(table, flaws, lines=rows.lines, file=path.name)
    named = {name for answer in table["answer"] for name in json.loads(answer)}
    classes = options.classes or sorted_names(sorted(named))
    remarks = [*replaced, *([Remark("ids written as floats", floats)] if floats else [])]
    return judgments_from(
        ask("sliders", classes, scale=100),
        table,
        file=path.name,
        lines=lines,
        rejected=[*rows.rejected, *rejected],
        remarks=remarks,
        provenance=(Step("read cub-s", {}, {path.name: fingerprint_file(path)}),),
    )


def _bars(text: str) -> dict[str, Any]:
    try:
        # Written by Python's str(), with single quotes: no JSON.
        bars = [(bar["label"], bar["y"]) for bar in ast.literal_eval(text)]
        usable = all(is_utf8(label) and isinstance(y, int | float) for label, y in bars)
    except (ValueError, SyntaxError, TypeError, KeyError, AttributeError, RecursionError):
        usable = False
    if not usable:
        raise ValueError("not a list of options with 'label' and a number 'y'")
    if len(dict(bars)) < len(bars):
        raise ValueError("an option is marked twice")
    return dict(bars)


def _answers(groups: pl.Series, bars: Sequence[dict[str, Any] | None]) -> list[str | None]:
    return [
        None
        if marked is None
        else json.dumps({f"{group}: {label}": y for label, y in marked.items()}, ensure_ascii=False)
        for group, marked in zip(groups, bars, strict=True)
    ]
