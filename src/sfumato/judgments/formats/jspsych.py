"""Turn the pages of a jsPsych export into answers to the top-two question.

An export has one row for every page somebody saw: consent, instructions, quiz, the forms
with answers, debrief. Several sessions of one person may be in it.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.judgments.formats.checking import Flaw, parsed, people, sound_rows
from sfumato.judgments.formats.json_text import is_utf8
from sfumato.judgments.formats.reading import ReadOptions, clean_id, read_csv_rows
from sfumato.judgments.judgments import Rejected, Remark

__all__ = ["TopTwoPages", "in_sessions", "read_top_two_pages"]

FORM = "survey-html-form"
"""The trial type of the pages with answers."""

VIEW_OF_TASK = {"spec_conf": "first", "rerun_spec_conf": "repeat"}

DEBRIEF = "survey-text"
"""The trial type of the last page: who saw it went through to the end (S2-13)."""


@dataclass(frozen=True)
class TopTwoPages:
    """The answers in an export as columns of judgments, and what was noticed on the way."""

    table: pl.DataFrame
    lines: NDArray[np.int64]
    rejected: list[Rejected]
    remarks: list[Remark]


def read_top_two_pages(
    path: Path, options: ReadOptions, *, item: str, gold: str | None
) -> TopTwoPages:
    """Read the answers of an export; ``item`` and ``gold`` name the columns that hold these.

    ``order`` numbers the answers of a session by trial index, whether or not they can be
    read; ``completed`` says whether the session reached the debrief.
    """
    named = [name for name in (item, gold) if name is not None]
    needed = ["trial_type", "trial_index", "subject", "rt", "response", "task", *named]
    rows = read_csv_rows(path, needed=needed, progress=options.progress)
    pages = in_sessions(rows.table.with_columns(line=pl.Series(rows.lines, dtype=pl.Int64)))
    is_answer = (pl.col("trial_type") == FORM) & pl.col("task").is_in(list(VIEW_OF_TASK))
    forms = pages.with_columns(
        (pl.col("trial_type") == DEBRIEF).any().over("subject", "session").alias("completed")
    ).filter(is_answer)
    ids, floats = clean_id(forms[item])
    annotators, replaced = people(forms["subject"], options.key)
    forms = forms.select(
        "line",
        "session",
        "response",
        "completed",
        ids.alias("item"),
        annotators.alias("annotator"),
        pl.col("trial_index").rank("ordinal").over("subject", "session").alias("order"),
        pl.col("rt").cast(pl.Float64, strict=False).truediv(1000).alias("seconds"),
        pl.col("task").replace_strict(VIEW_OF_TASK).alias("view"),
        (pl.col(gold).str.to_lowercase() if gold else pl.lit(None, pl.String)).alias("gold"),
    )
    remarks = [
        Remark("pages that are no answers", len(pages) - len(forms), _commonest(pages)),
        Remark("ids written as floats", floats),
        *replaced,
        *_on_sessions(forms),
        _on_line_breaks(forms["response"]),
    ]
    answers, unread = parsed(forms, "response", _answer)
    table, lines, rejected = sound_rows(
        forms.with_columns(pl.Series("answer", answers, dtype=pl.String)),
        [*unread, Flaw(item, "empty", forms["item"], forms["item"].is_null())],
        lines=forms["line"].to_list(),
        file=path.name,
    )
    return TopTwoPages(
        table.drop("line", "session", "response"),
        lines,
        [*rows.rejected, *rejected],
        [remark for remark in remarks if remark.count],
    )


def in_sessions(pages: pl.DataFrame) -> pl.DataFrame:
    """Pages with their trial index as a number and the ``session`` of its subject they belong to.

    A new session begins where the trial index goes down: one person who took part twice is
    one subject in two sessions.
    """
    index = pl.col("trial_index").cast(pl.Int64, strict=False)
    goes_down = pl.col("trial_index").diff() < 0
    return pages.with_columns(index).with_columns(
        goes_down.fill_null(False).cum_sum().over("subject").alias("session")
    )


def _on_sessions(forms: pl.DataFrame) -> list[Remark]:
    several = forms.group_by("annotator", maintain_order=True).agg(pl.col("session").n_unique())
    several = several.filter(pl.col("annotator").is_not_null() & (pl.col("session") > 1))
    unfinished = forms.filter(~pl.col("completed"))
    return [
        Remark(
            "people with more than one session",
            len(several),
            f"annotator {several['annotator'][0]}" if len(several) else "",
        ),
        Remark("answers from sessions that did not reach the debrief", len(unfinished)),
        Remark("repeats among first views", int((forms["view"] == "repeat").sum())),
    ]


def _on_line_breaks(responses: pl.Series) -> Remark:
    broken = responses.filter(responses.str.contains(r"[\r\n]").fill_null(False))
    return Remark("line breaks inside JSON", len(broken), broken[0] if len(broken) else "")


def _commonest(pages: pl.DataFrame) -> str:
    kinds = pages.filter(pl.col("trial_type") != FORM)["trial_type"].value_counts()
    kinds = kinds.sort("count", "trial_type", descending=[True, False])
    return ", ".join(f"{count} {name}" for name, count in kinds.iter_rows())


def _answer(response: str) -> str:
    try:
        # Not strict: a line break typed into a field stands in the export as it is.
        form = json.loads(response, strict=False)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(form, dict):
        raise ValueError("not an object of form fields")
    second = _class(form, "classSelect2", "secondProb")
    answer = {
        "first": _class(form, "classSelect", "mostProb"),
        "first_percent": form.get("prob", ""),
        "second": None if second == "no" else second,
        "second_percent": form.get("prob2", ""),
        "ruled_out": [
            name.removeprefix("improbClassSelect").lower()
            for name in form
            if name.startswith("improbClassSelect")
        ],
    }
    text = json.dumps(answer, ensure_ascii=False)
    if not is_utf8(text):
        raise ValueError("not Unicode text")
    return text


def _class(form: dict[str, object], field: str, prefix: str) -> str:
    value = form.get(field)
    if not isinstance(value, str) or not value.startswith(prefix):
        raise ValueError(f"{field} is {value!r}, expected {prefix!r} and a class")
    return value.removeprefix(prefix).lower()
