"""Turn the raw files of H-Mix, what people see in mixed images, into judgments.

Three files are about how two images were mixed and become ``MixJudgments``; the fourth
holds soft labels of mixed images, given like those of CIFAR-10S.
"""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.checking import (
    by_line,
    empty,
    no_number,
    parsed,
    people,
    sound_rows,
)
from sfumato.judgments.formats.class_names import CIFAR10
from sfumato.judgments.formats.jspsych import in_sessions, read_top_two_pages
from sfumato.judgments.formats.reading import ReadOptions, read_csv_rows
from sfumato.judgments.judgments import Judgments, Remark, judgments_from
from sfumato.judgments.mixes import MIX_COLUMNS, MixJudgments
from sfumato.judgments.question import ask
from sfumato.provenance import Step, fingerprint_file

__all__ = ["pair_of", "read_hmix", "read_hmix_labels"]

PAIR = re.compile(r"([A-Za-z]+)_([0-9]+)_([A-Za-z]+)_([0-9]+)(\.png)?")
"""How H-Mix writes two test images of CIFAR-10: Dog_2205_Frog_6908."""


def read_hmix(path: Path, options: ReadOptions) -> MixJudgments:
    """Read what people said about how two test images of CIFAR-10 were mixed (S2-08, S2-10).

    ``hmix_infer_mixing_factor.csv`` (task ``infer``): 4,950 answers of 81 people, 162 of
    them repeats. The slider runs from 0, all first class, to 100, all second class;
    ``perceived`` is 1 − slider / 100, as in ``processed_hmix_inferences.json``.
    ``hmix_construct_midpoint.csv`` and ``hmix_select_shuffled_midpoint.csv``: the coefficient
    that seemed half and half. The coefficient from which somebody set out is not kept.
    """
    rows = read_csv_rows(path, needed=("subject", "trial_index", "rt"), progress=options.progress)
    form = _form_of(path, rows.table.columns)
    pages = in_sessions(rows.table.with_columns(line=pl.Series(rows.lines, dtype=pl.Int64)))
    views = {form.page: "first", f"rerun_{form.page}": "repeat"}
    answers = pages.filter(pl.col("task").is_in(list(views)))
    said, unread = parsed(answers, form.field, form.read)
    pairs, unnamed = parsed(answers, "class_pair", pair_of)
    names, remarks = people(answers["subject"], options.key)
    shown = pl.col(form.shown).cast(pl.Float64, strict=False) if form.shown else pl.lit(None)
    table = answers.select(
        pl.col(form.mix).alias("mix"),
        shown.alias("shown"),
        *_columns(("first_class", "first_item", "second_class", "second_item"), pairs),
        names.alias("annotator"),
        *_columns(("perceived", "confidence"), said),
        (pl.col("rt").cast(pl.Float64, strict=False) / 1000).alias("seconds"),
        pl.col("trial_index").rank("ordinal").over("subject", "session").alias("order"),
        pl.col("task").replace_strict(views, return_dtype=pl.String).alias("view"),
        pl.lit(form.task).alias("task"),
    )
    flaws = [*unread, *unnamed, empty(answers, form.mix)]
    if form.shown is not None:
        flaws += [empty(answers, form.shown), no_number(answers, form.shown, low=0, high=1)]
    table, _, rejected = sound_rows(table, flaws, lines=answers["line"].to_list(), file=path.name)
    if len(answers) < len(pages):
        remarks.append(Remark("pages that are no answers", len(pages) - len(answers)))
    step = Step("read hmix", {"task": form.task}, {path.name: fingerprint_file(path)})
    return MixJudgments(table, by_line(rows.rejected, rejected), tuple(remarks), (step,))


def read_hmix_labels(path: Path, options: ReadOptions) -> Judgments:
    """Read ``hmix_categorical_soft_labels.csv``: 216 top-two answers about 100 mixes (S2-11).

    An item is the file name of a mixed image, which tells its sources and coefficient.
    """
    pages = read_top_two_pages(path, options, item="filename", gold=None)
    return judgments_from(
        ask("top-two", options.classes or CIFAR10),
        pages.table,
        file=path.name,
        lines=pages.lines,
        rejected=pages.rejected,
        remarks=pages.remarks,
        provenance=(Step("read hmix-labels", {}, {path.name: fingerprint_file(path)}),),
    )


def pair_of(text: str) -> tuple[str, str, str, str]:
    """Class and item of the first image, class and item of the second.

    >>> pair_of("Dog_2205_Frog_6908.png")
    ('dog', '2205', 'frog', '6908')
    """
    found = PAIR.fullmatch(text)
    if found is None:
        raise ValueError("not two images such as Dog_2205_Frog_6908")
    return found[1].lower(), found[2], found[3].lower(), found[4]


@dataclass(frozen=True)
class _Form:
    """Where one of the three files keeps its answers."""

    task: str  # our name of it
    page: str  # the file's name of it
    field: str  # the column with the answer
    read: Callable[[str], tuple[float, float | None]]  # from there to perceived, confidence
    mix: str  # the column that names what was shown
    shown: str | None  # the column with its coefficient


def _form_of(path: Path, columns: list[str]) -> _Form:
    for form in _FORMS:
        if {form.field, form.mix, "class_pair", "task"} <= set(columns):
            return form
    if "filename" in columns and "response" in columns:
        raise DataError(
            f"{path.name} holds labels of mixed images, not answers about how they were mixed. "
            "Read it as 'hmix-labels'."
        )
    raise DataError(
        f"{path.name} is no file of H-Mix: it needs the columns 'class_pair', 'task' and one of "
        f"{', '.join(repr(form.field) for form in _FORMS)}."
    )


def _columns(names: tuple[str, ...], values: Sequence[tuple[Any, ...] | None]) -> list[pl.Series]:
    rows = [(None,) * len(names) if value is None else value for value in values]
    return [
        pl.Series(name, [row[place] for row in rows], MIX_COLUMNS[name])
        for place, name in enumerate(names)
    ]


def _sliders(text: str) -> tuple[float, float]:
    try:
        stored = json.loads(text, strict=False)
        slider, confidence = float(stored["mixingcoeff"]), float(stored["confidence"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise ValueError("not JSON with the numbers 'mixingcoeff' and 'confidence'") from None
    if not (0 <= slider <= 100 and 0 <= confidence <= 100):
        raise ValueError("a slider stands outside 0 to 100")
    return 1 - slider / 100, confidence / 100


def _coefficient(text: str) -> tuple[float, None]:
    try:
        value = round(float(text), 6)  # steps of .1 added up in floating point
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise ValueError("not a coefficient from 0 to 1")
    return value, None


def _selected(text: str) -> tuple[float, None]:
    try:
        chosen = json.loads(text, strict=False)["select"]
        return _coefficient(chosen.removeprefix("select"))
    except (json.JSONDecodeError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("not JSON with the field 'select'") from None


_FORMS = (
    _Form("infer", "rate_mixture", "responses", _sliders, "filename", "mixtureCoeff"),
    _Form("construct-midpoint", "select_create", "final_value", _coefficient, "class_pair", None),
    _Form("select-midpoint", "select_shuffled", "response", _selected, "class_pair", None),
)
