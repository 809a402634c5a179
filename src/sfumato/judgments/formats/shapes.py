"""Find out what the columns of a wide table are: people, or classes with votes, shares or marks.

A table with one row per item may have a column for each person, holding their answers, or a
column for each class, holding numbers of votes, shares, or yes, no and unsure. Names tell it
where they can; otherwise how numbers go together does: people who answer the same question
tend to say the same, while the classes of one item compete for its votes. A table for which
neither speaks clearly is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.columns import compact, is_summary, numbered_people
from sfumato.judgments.formats.reading import NoAnswers, ReadOptions, UnclearSource

Shape = Literal["people", "counts", "shares", "choices", "sets", "marks"]
"""A column per person; or per class, with votes, shares of one, one 1, several 1s, yes or no."""

MARKS: dict[str, str] = {
    **dict.fromkeys(("yes", "y", "true", "ja", "oui", "si", "sí"), "yes"),
    **dict.fromkeys(("no", "n", "false", "nein", "non"), "no"),
    **dict.fromkeys(("unsure", "maybe", "?", "not sure", "don't know", "dont know"), "unsure"),
    **dict.fromkeys(("unclear", "cannot tell", "can't tell", "idk", "partly"), "unsure"),
}
"""What stands for yes, no and unsure, in small letters."""

AGREE = 0.1
"""Columns whose values go together at least so much (intraclass correlation) are people's."""

COMPETE = -0.3
"""Columns that exclude each other by this share of what is possible are classes."""

_COUNTED = re.compile(
    r"(?i)^(?:n|num|count|counts|votes?)[_ .-]+(.+)$|^(.+?)[_ .-]+(?:n|counts?|votes?)$"
)
_SHARED = re.compile(
    r"(?i)^(?:p|prob|probability|share)[_ .-]+(.+)$|^(.+?)[_ .-]+(?:prob|probability|share)$"
)
_DESCRIBED = re.compile(
    r"label|class|categor|answer|predict|guess|score|logit|prob|confidence|conf$|original|url|uid"
)
_FEATURE = re.compile(
    r"(age|gender|sex|height|weight|width|length|size|year|price|cost|income|education|country"
    r"|nationality|language|lang|ethnicity|race|native|occupation|duration|speed|temperature"
    r"|area|depth|volume|latitude|longitude|lat|lon|feature.*|f\d+|x\d+|dim\d+|pixel\d+|emb.*)"
)


@dataclass(frozen=True)
class Wide:
    """What the columns of a wide table are, and what their classes or people are called."""

    shape: Shape
    columns: tuple[str, ...]
    names: tuple[str, ...]
    """The person or class that each column stands for."""
    scale: float = 1.0
    """What the shares of a row sum to."""


def to_numbers(values: pl.Series) -> pl.Series:
    """Texts as numbers, with a decimal comma where all of them have one; null for other texts.

    >>> to_numbers(pl.Series(["0,25", "1", None, "x"])).to_list()
    [0.25, 1.0, None, None]
    """
    if values.dtype.is_numeric():
        return values.cast(pl.Float64)
    texts = values.cast(pl.String, strict=False).str.strip_chars().str.strip_suffix("%")
    points = texts.str.contains(".", literal=True).any()
    if not points:
        texts = texts.str.replace(",", ".", literal=True)
    return texts.cast(pl.Float64, strict=False)


def find_wide(
    table: pl.DataFrame,
    free: Sequence[str],
    *,
    item: str | None,
    annotator: str | None,
    options: ReadOptions,
    file: str,
    wanted: Shape | None = None,
) -> Wide:
    """What the ``free`` columns of a table are, which has no column of answers."""
    columns = [name for name in free if table[name].null_count() < len(table)]
    named = _named_classes(columns, options.classes)
    if named:
        return _by_class(table, named, item=item, annotator=annotator, options=options, file=file)
    people = [name for name in numbered_people(columns) if not is_summary(name)]
    if people and annotator is None and wanted in (None, "people"):
        return Wide("people", tuple(people), tuple(people))
    for pattern in (_COUNTED, _SHARED):
        parts = {name: pattern.match(name) for name in columns}
        affixed = [(name, found[1] or found[2]) for name, found in parts.items() if found]
        if len(affixed) > 1 and all(_is_numeric(table[name]) for name, _ in affixed):
            if pattern is _SHARED and annotator is None and options.question is None:
                raise NoAnswers(
                    f"{file} holds probabilities of classes ({_listed([n for n, _ in affixed])}), "
                    "and no column says who gave them. That is a table of labels or of a model's "
                    "predictions, not of answers; read it as labels."
                )
            return _by_class(
                table, affixed, item=item, annotator=annotator, options=options, file=file
            )
    columns = _without_descriptions(columns)
    marked = [name for name in columns if _is_marked(table[name])]
    numeric = [name for name in columns if _is_numeric(table[name])]
    alike = _share_words(
        table, [name for name in columns if name not in numeric and not is_summary(name)]
    )
    if len(marked) > 1 and set(marked) >= set(alike):
        return _marked(table, marked, item, annotator, options, file, wanted)
    if len(alike) > 1 and wanted in (None, "people"):
        if annotator is not None:
            raise DataError(
                f"{file} names a person in each row (column {annotator!r}) and holds answers in "
                f"several columns ({_listed(alike)}). Say which of them is the answer."
            )
        return Wide("people", tuple(alike), tuple(alike))
    if len(numeric) > 1:
        pairs = [(name, name) for name in numeric if not is_summary(name)]
        if wanted == "people":
            return Wide("people", tuple(name for name, _ in pairs), tuple(n for n, _ in pairs))
        if wanted == "counts" or annotator is not None:
            return _by_class(
                table, pairs, item=item, annotator=annotator, options=options, file=file
            )
        return _numbers_of_nobody(table, pairs, item, options, file)
    raise UnclearSource(
        f"{file} holds no answers of people that could be told: no column is named like an answer, "
        "and no two columns hold the same kind of answers (one column per person or per class). "
        f"Its columns are {_listed(table.columns)}. Say which column is the answer; a file "
        "without names of columns in its first row needs them.",
        "answer",
        "classes",
    )


def _without_descriptions(columns: Sequence[str]) -> list[str]:
    """Columns without those whose names speak of labels, scores and models.

    Where all have such a word in common (``label_ann``, ``label_bob``) it tells nothing.
    """
    described = [name for name in columns if _DESCRIBED.search(compact(name))]
    alike = {_DESCRIBED.sub("", compact(name)) for name in described}
    start = _common(described)
    if len(described) > 1 and len(alike) == len(described) and _DESCRIBED.search(compact(start)):
        return described
    return [name for name in columns if name not in described]


def _common(names: Sequence[str]) -> str:
    """What all names begin with, or else end with."""
    for step in (1, -1):
        letters = zip(*(name[::step] for name in names), strict=False)
        same = list(takewhile(lambda each: len(set(each)) == 1, letters))
        if same:
            return "".join(each[0] for each in same)[::step]
    return ""


def _named_classes(
    columns: Sequence[str], classes: tuple[str, ...] | None
) -> list[tuple[str, str]]:
    """The columns of the classes that the user named, if all of them are there."""
    if not classes:
        return []
    held = {name: name for name in columns}
    for name in columns:
        for pattern in (_COUNTED, _SHARED):
            if (found := pattern.match(name)) is not None:
                held.setdefault(found[1] or found[2], name)
    if not set(classes) <= held.keys():
        return []
    return [(held[name], name) for name in classes]


def _by_class(
    table: pl.DataFrame,
    pairs: Sequence[tuple[str, str]],
    *,
    item: str | None,
    annotator: str | None,
    options: ReadOptions,
    file: str,
) -> Wide:
    """Columns that are classes for sure: what stands in them says what was asked."""
    columns, names = tuple(name for name, _ in pairs), tuple(name for _, name in pairs)
    if all(_is_marked(table[name]) for name in columns):
        return Wide("marks", columns, names)
    cells = _matrix(table, columns)
    wrong = [name for name in columns if not _is_numeric(table[name])]
    if wrong:
        raise DataError(
            f"{file}: column {wrong[0]!r} of a class holds neither numbers nor yes, no or unsure, "
            f"such as {table[wrong[0]].drop_nulls()[0]!r}."
        )
    filled = np.where(np.isnan(cells), 0, cells)
    of_one = annotator is not None or options.question is not None
    scale = _scale(filled)
    whole = not (filled % 1).any()
    if not of_one and not whole and scale is not None:
        raise NoAnswers(
            f"{file} holds probabilities: each row sums to {scale:g}, and no column says who gave "
            "them. That is a table of labels or of a model's predictions, not of answers; read it "
            "as labels, or take the votes."
        )
    if not of_one and whole and (filled >= 0).all():
        return Wide("counts", columns, names)
    if options.question in ("sliders", "distribution"):
        return Wide("shares", columns, names, scale or _top(filled))
    if of_one and set(np.unique(filled)) <= {0.0, 1.0}:
        single = bool((filled.sum(axis=1) == 1).all())
        return Wide("choices" if single else "sets", columns, names)
    if of_one and scale is not None and (filled >= 0).all():
        return Wide("shares", columns, names, scale)
    low, high = np.nanmin(cells), np.nanmax(cells)
    raise UnclearSource(
        f"{file} holds numbers from {low:g} to {high:g} in the columns {_listed(columns)}, which "
        "are neither votes (whole numbers, one row per item) nor shares that sum to 1 or 100 (one "
        "row per item and person). If people gave these numbers, say which question they answered, "
        "such as 'sliders'; measurements and features are no answers.",
        "question",
    )


def _numbers_of_nobody(
    table: pl.DataFrame,
    pairs: Sequence[tuple[str, str]],
    item: str | None,
    options: ReadOptions,
    file: str,
) -> Wide:
    """Numbers without a person: votes per class, a person's number per column, or features."""
    columns = tuple(name for name, _ in pairs)
    cells = _matrix(table, columns)
    filled = np.where(np.isnan(cells), 0, cells)
    if (filled % 1).any() or options.question is not None:
        return _by_class(table, pairs, item=item, annotator=None, options=options, file=file)
    features = [name for name in columns if _FEATURE.fullmatch(compact(name))]
    if features:
        raise UnclearSource(
            f"{file} is a table of properties ({_listed(columns)}), not of answers: no column is "
            "named like an answer or a class. Say which column is the answer, or which the classes "
            "are.",
            "answer",
            "classes",
        )
    gaps, zeros = bool(np.isnan(cells).any()), bool((cells == 0).any())
    together = _together(filled)
    competing = together < COMPETE / (len(columns) - 1)
    if (gaps and zeros) or (together > AGREE and _same_words(table, columns)):
        return Wide("people", columns, columns)
    if competing and (filled >= 0).all() and _plausible_votes(filled):
        return Wide("counts", columns, columns)
    raise UnclearSource(
        f"{file} holds whole numbers in the columns {_listed(columns)}, and it cannot be told "
        "whether a column is a class and its numbers are votes, or a column is a person and its "
        "numbers are answers. Name the classes, or the format: 'counts' for votes, 'cleanlab' for "
        "one column per person.",
        "classes",
        "format",
    )


def _marked(
    table: pl.DataFrame,
    columns: Sequence[str],
    item: str | None,
    annotator: str | None,
    options: ReadOptions,
    file: str,
    wanted: Shape | None,
) -> Wide:
    """Yes, no and unsure: about a class each, or of a person each."""
    names = tuple(columns)
    if wanted == "people":
        return Wide("people", names, names)
    again = item is not None and table[item].n_unique() < len(table)
    if annotator is not None or again or options.question == "yes-no-unsure":
        return Wide("marks", names, names)
    value = {"yes": 1.0, "unsure": 0.5, "no": 0.0}
    codes = table.select(
        pl.col(name).str.strip_chars().str.to_lowercase().replace_strict(MARKS, default=None)
        for name in names
    )
    cells = codes.select(
        pl.all().replace_strict(value, default=np.nan, return_dtype=pl.Float64)
    ).to_numpy()
    if np.isnan(cells).any():  # not everybody was asked about everything
        return Wide("people", names, names)
    together = _together(cells)
    if together > AGREE:
        return Wide("people", names, names)
    if together < COMPETE / (len(names) - 1):
        return Wide("marks", names, names)
    raise UnclearSource(
        f"{file} holds yes and no in the columns {_listed(names)}, and it cannot be told whether "
        "a column is a class or a person. Name the classes, or the question 'yes-no-unsure', or "
        "the format 'cleanlab' for one column per person.",
        "classes",
        "question",
        "format",
    )


def _together(cells: NDArray[np.float64]) -> float:
    """Intraclass correlation of the columns: 1 all say the same, -1/(k-1) one excludes the rest."""
    rows, columns = cells.shape
    if rows < 2 or columns < 2:
        return 0.0
    between = columns * cells.mean(axis=1).var(ddof=1)
    within = cells.var(axis=1, ddof=1).mean()
    total = between + (columns - 1) * within
    return float((between - within) / total) if total > 0 else 0.0


def _plausible_votes(counts: NDArray[np.float64]) -> bool:
    """Votes: most items lack some class, and all were judged by similarly many people."""
    sums = counts.sum(axis=1)
    if np.ptp(sums) == 0:
        return bool(sums[0] > 0)
    some_zero = float((counts == 0).any(axis=1).mean())
    judged = sums[sums > 0]
    return some_zero >= 0.3 and len(judged) > 0 and bool(judged.max() <= 5 * judged.min())


def _scale(cells: NDArray[np.float64]) -> float | None:
    """What the rows sum to, 1 or 100, as far as the decimals that were kept allow."""
    sums = cells.sum(axis=1)
    judged = sums[sums != 0]
    for scale in (1.0, 100.0):
        slack = 0.006 * scale * max(1.0, cells.shape[1] / 2)
        if len(judged) and (np.abs(judged - scale) <= slack).mean() > 0.95:
            return scale
    return None


def _top(cells: NDArray[np.float64]) -> float:
    """The end of a scale that goes to 1, 10 or 100."""
    return next((top for top in (1.0, 10.0) if cells.max() <= top), 100.0)


def _share_words(table: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The columns whose values occur in one another, as the answers of several people do."""
    held = {
        name: table[name].drop_nulls().cast(pl.String).str.strip_chars().value_counts(name="times")
        for name in columns
    }
    kept = list(columns)
    while len(kept) > 1:
        words = pl.concat([held[name].select(pl.first().alias("word")) for name in kept])
        shared = words["word"].value_counts().filter(pl.col("count") > 1)["word"]
        fits = []
        for name in kept:
            counts = held[name].rename({held[name].columns[0]: "word"})
            total = int(counts["times"].sum())
            common = int(counts.filter(pl.col("word").is_in(shared.to_list()))["times"].sum())
            if total and common >= 0.5 * total:
                fits.append(name)
        if fits == kept:
            return kept
        kept = fits
    return []


def _same_words(table: pl.DataFrame, columns: Sequence[str]) -> bool:
    return len(_share_words(table, columns)) == len(columns)


def _is_marked(values: pl.Series) -> bool:
    if values.dtype != pl.String:
        return False
    words = values.drop_nulls().str.strip_chars().str.to_lowercase().unique().to_list()
    return bool(words) and set(words) <= MARKS.keys()


def _is_numeric(values: pl.Series) -> bool:
    known = values.drop_nulls()
    return bool(len(known)) and to_numbers(known).null_count() == 0


def _matrix(table: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.float64]:
    numbers = [to_numbers(table[name]).fill_null(np.nan).to_numpy() for name in columns]
    return np.column_stack(numbers)  # (rows, columns)


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name[:40]) for name in names[:most]) + more
