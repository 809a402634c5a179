"""Find in any table which column is the item and what it says of the classes, by name.

Tables come with one column per class (``cat``, ``prob_cat``, ``p(cat)``, ``cat_score``), with one
row per item and class, or with one class per item. What was guessed, and every column that was not
used, is said in a remark; what fits two readings is refused.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.frames import to_frame
from sfumato.judgments.formats.columns import item_rank
from sfumato.judgments.formats.texts import (
    HEAD,
    content_suffix,
    find_delimiter,
    open_table_text,
    stated_delimiter,
)
from sfumato.labels.labelset import SUM_TOLERANCE
from sfumato.names import quote_names

# Tell rounding from error: rows of probabilities that miss one by what their digits explain.
#
# A number stored with three decimals stands for anything within half a thousandth of it, and one
# stored as float16 for anything within a two-thousandth part of it. A row is rounded if some
# distribution within these bounds sums to one; its rounding is undone by dividing by its sum. Any
# other row is no distribution, however close to one its sum may be.


Rows = NDArray[np.float64]  # (rows, classes)

MOST_DECIMALS = 7
"""Numbers with more decimals than this are not rounded for a reader's sake."""

EXACT = 1e-14
"""A sum this close to one is one: dividing by it would change digits that somebody wrote."""

COMPUTED = 4
"""A softmax computed in a narrow type is off by a few of its roundings, not by one."""

FLOATS: dict[str, int] = {"bfloat16": 8, "float16": 11, "float32": 24}
"""Narrow floating-point types by the bits of their significand."""


@dataclass(frozen=True)
class Precision:
    """How finely the numbers of a file are stored."""

    name: str
    """"3 decimals", "float16"; empty for numbers in full."""
    step: float = 0.0
    """Half a unit in the last decimal."""
    share: float = 0.0
    """How far a number may be off as a part of itself."""


@dataclass(frozen=True, eq=False)
class NormalisedRows:
    """Rows that sum to one, and what was done to get there."""

    probs: Rows
    wrong: NDArray[np.bool_]  # (rows,): no distribution; these are left as they are
    rounded: int
    """How many rows missed one by rounding."""
    words: str
    """What was done, for a remark; empty where every row summed to one."""


@dataclass(frozen=True)
class Digits:
    """How many digits the numbers of a text have at most."""

    decimals: int
    """Behind the point."""
    significant: int
    """From the first that is not zero."""


def count_digits(texts: pl.Series | Sequence[str]) -> Digits:
    """The most digits of any number, behind the point and significant.

    >>> count_digits(["0.125", "1", "2.5e-3"])
    Digits(decimals=4, significant=3)
    """
    plain = pl.Series("text", texts, dtype=pl.String).str.strip_chars().str.to_lowercase()
    parts = plain.str.replace(",", ".", literal=True).str.split_exact("e", 1).struct.unnest()
    mantissa, power = pl.col("field_0").str.strip_chars_start("+-"), pl.col("field_1")
    behind = mantissa.str.len_bytes() - mantissa.str.find(".", literal=True) - 1
    digits = mantissa.str.strip_chars_start("0.").str.replace(".", "", literal=True)
    decimals, significant = (
        parts.select(
            behind.cast(pl.Int64).fill_null(0) - power.cast(pl.Int64, strict=False).fill_null(0),
            digits.str.len_bytes().alias("significant"),
        )
        .max()
        .row(0)
    )
    return Digits(max(decimals or 0, 0), significant or 0)


def normalise(values: Rows, *, digits: Digits | None = None) -> NormalisedRows:
    """Divide each row by its sum where rounding explains that it is not one.

    ``digits`` are those of the text that the numbers were read from; without, the decimals are
    found from the numbers themselves.

    >>> done = normalise(np.array([[0.333, 0.333, 0.333], [0.5, 0.25, 0.25]]))
    >>> done.rounded, done.words
    (1, '1 of 2 rows is rounded to 3 decimals and does not sum to one (0.999); divided by its sum')
    >>> normalise(np.array([[0.333, 0.333, 0.4]])).wrong
    array([ True])
    """
    sums = values.sum(axis=1)
    explained = np.abs(sums - 1) <= SUM_TOLERANCE
    why = Precision("")
    for precision in _precisions(values, digits):
        if explained.all():
            break
        more = ~explained & _explains(precision, values)
        why = precision if more.any() else why
        explained |= more
    explained &= (values >= 0).all(axis=1)
    divided = explained & (np.abs(sums - 1) > EXACT)
    probs = np.where(divided[:, None], values / np.where(sums > 0, sums, 1)[:, None], values)
    off = explained & (np.abs(sums - 1) > SUM_TOLERANCE)
    return NormalisedRows(probs, ~explained, int(off.sum()), _words(why, sums[off], len(values)))


def _explains(precision: Precision, values: Rows) -> NDArray[np.bool_]:
    """Where a distribution lies within the bounds of every number of the row."""
    off = precision.step + precision.share * np.abs(values)
    least, most = np.maximum(values - off, 0).sum(axis=1), np.minimum(values + off, 1).sum(axis=1)
    slack = SUM_TOLERANCE
    return (least <= 1 + slack) & (most >= 1 - slack) & (values.sum(axis=1) > 0)


def _precisions(values: Rows, digits: Digits | None) -> Iterator[Precision]:
    """The ways of storing in which every one of the numbers can be stored, as it is."""
    decimals = _fewest_decimals(values) if digits is None else digits.decimals
    if decimals is not None and 0 < decimals <= MOST_DECIMALS:  # whole numbers are no rounding
        words = "1 decimal" if decimals == 1 else f"{decimals} decimals"
        yield Precision(words, step=0.5 * 10.0**-decimals)
    elif digits is not None and 1 < digits.significant < MOST_DECIMALS < digits.decimals:
        words = f"{digits.significant} significant digits"
        yield Precision(words, share=5 * 10.0**-digits.significant)
    for name, bits in FLOATS.items():
        if np.array_equal(_narrowed(values, bits), values):
            yield Precision(name, share=COMPUTED * 2.0**-bits)


def _fewest_decimals(values: Rows) -> int | None:
    """With how few decimals the numbers can be written; None if not with a few."""
    narrow = np.array_equal(_narrowed(values, FLOATS["float32"]), values)
    for decimals in range(MOST_DECIMALS if not narrow else 6):
        scaled = np.abs(values) * 10.0**decimals
        spare = scaled * (2.0**-23 if narrow else 2.0**-50) + 1e-9
        if (np.abs(scaled - np.rint(scaled)) <= spare).all():
            return decimals
    return None


def _narrowed(values: Rows, bits: int) -> Rows:
    """The numbers rounded to so many binary digits."""
    fraction, power = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(fraction, bits)), power - bits)


def _words(precision: Precision, sums: NDArray[np.float64], rows: int) -> str:
    if not len(sums):
        return ""
    verb, whose = ("is", "its sum") if len(sums) == 1 else ("are", "their sums")
    does = "does" if len(sums) == 1 else "do"
    low, high = f"{sums.min():.6g}", f"{sums.max():.6g}"
    span = low if low == high else f"{low} to {high}"
    return (
        f"{len(sums):,} of {rows:,} rows {verb} rounded to {precision.name} and {does} not sum to "
        f"one ({span}); divided by {whose}"
    )


# Read the tables and arrays that labels and predictions are stored in, before they mean anything.
#
# What cannot be read is one sentence that names the file, the row and the column.

TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
"""Endings of tables; those of text may be compressed."""

DECIMAL_COMMA = r"^\s*-?\d+,\d+\s*$"


def table_ending(path: Path) -> str:
    """The ending that says what kind of table a file is; empty if it is none."""
    ending = content_suffix(path)
    return ending if ending in TABLES else ""


def read_frame(path: Path) -> pl.DataFrame:
    """The table of a file as it is; the cells of a CSV are text, so that no name is a number."""
    if not path.is_file():
        raise DataError(f"There is no file {path}. Check the name and the folder.")
    try:
        if table_ending(path) == ".parquet":
            return pl.read_parquet(path)
        text = _text(path)
        if table_ending(path) in (".jsonl", ".ndjson"):
            return pl.read_ndjson(text.encode(), infer_schema_length=None)
        stated = stated_delimiter(text[:HEAD])
        body = text.partition("\n")[2] if stated else text
        delimiter = stated or find_delimiter(body[:HEAD])
        table = pl.read_csv(body.encode(), infer_schema=False, separator=delimiter)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path.name} cannot be read: {str(error).splitlines()[0]}.") from None
    return table.rename({name: name.strip() for name in table.columns})


def with_numbers(name: str, table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The table ``name`` with ``columns`` as numbers; a cell that is none is an error."""
    comma = [
        column
        for column in columns
        if table.schema[column] == pl.String and table[column].str.contains(DECIMAL_COMMA).any()
    ]
    plain = table.with_columns(pl.col(comma).str.replace(",", "."))
    texts = [column for column in columns if plain.schema[column] == pl.String]
    plain = plain.with_columns(pl.col(texts).str.strip_chars())
    numbers = plain.with_columns(pl.col(columns).cast(pl.Float64, strict=False))
    for column in columns:
        lost = numbers[column].is_null()
        if lost.any():
            row = int(lost.arg_max() or 0)
            of_item = f" (item {table['item'][row]!r})" if "item" in table.columns else ""
            raise DataError(
                f"{name}, row {row + 1}{of_item}, column {column!r}: "
                f"{table[column][row]!r} is no number."
            )
    return numbers


def digits_of(table: pl.DataFrame, columns: Sequence[str]) -> Digits | None:
    """How many digits the numbers of text columns have; None where they are no text."""
    if any(table.schema[column] != pl.String for column in columns):
        return None
    counted = [count_digits(table[column].drop_nulls()) for column in columns]
    decimals, significant = (
        max((getattr(one, name) for one in counted), default=0)
        for name in ("decimals", "significant")
    )
    return Digits(decimals, significant)


def _text(path: Path) -> str:
    with open_table_text(path) as file:
        return file.read()


def read_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """The arrays of an ``.npz`` by name; that of an ``.npy`` under the name "probs"."""
    try:
        with path.open("rb") as file:  # np.load leaves a broken archive open
            loaded = np.load(file, allow_pickle=False)
            return {"probs": loaded} if path.suffix == ".npy" else dict(loaded)
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise DataError(f"{path.name} cannot be read: {error}.") from None


# Which column is the item, and what is said of the classes.

CLASS_NAMES = ("class", "label", "category", "choice", "answer", "prediction", "predicted", "pred")
"""What a column of class names is usually called."""

VALUE_WORDS: dict[str, tuple[str, ...]] = {
    "probabilities": (
        "probability", "probabilities", "probs", "proba", "prob", "pr", "p", "softmax",
    ),
    "logits": ("logits", "logit", "scores", "score"),
}  # fmt: skip
"""Words that stand before or behind a class, or over a column of numbers, by what they mean."""

PREFIX = re.compile(
    r"^(?:prob(?:a|s|ability|abilities)?|pr|p|softmax|class|label)[\s_.:-]+(?=\S)", re.IGNORECASE
)
"""What is cut from the columns of a table that names its classes only so."""


class NoClasses(DataError):
    """A table without numbers for any class."""


@dataclass(frozen=True, eq=False)
class ItemRows:
    """What a table says, one row per item."""

    items: tuple[str, ...]
    classes: tuple[str, ...] | None
    """None where the columns are only numbered."""
    values: NDArray[np.float64]  # (items, classes)
    digits: Digits | None
    """Of the numbers as text."""
    remarks: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ItemChoices:
    """A table of one class per item."""

    items: tuple[str, ...]
    choices: tuple[str, ...]
    remarks: tuple[str, ...]


def find_items(
    table: pl.DataFrame, name: str, *, items: Collection[str] | None = None, item: str | None = None
) -> tuple[str, str]:
    """The column of items, and a remark where it was guessed.

    ``item`` is the column that was told. Otherwise it is the one called ``item``; or, of several
    that might be meant, the one that holds most of the known ``items``.
    """
    if item is not None:
        if item not in table.columns:
            raise DataError(f"{name} has no column {item!r}. It has {quote_names(table.columns)}.")
        return item, ""
    if "item" in table.columns:
        return "item", ""
    ranks = {column: item_rank(column) for column in table.columns}
    ranked = {column: rank for column, rank in ranks.items() if rank is not None}
    usual = sorted(ranked, key=ranked.__getitem__)
    if items is not None:
        known = set(items)
        held = {column: _held(table[column], known) for column in (*usual, *table.columns)}
        usual = [max(held, key=held.__getitem__)] if any(held.values()) else usual
    if not usual:
        raise DataError(
            f"{name} has no column 'item', and no other is called as items usually are. "
            f"It has {quote_names(table.columns)}; name the column of the items."
        )
    return usual[0], f"{name}: the items are taken from the column {usual[0]!r}."


def read_rows(
    table: pl.DataFrame,
    name: str,
    *,
    classes: Sequence[str] | None = None,
    items: Collection[str] | None = None,
    item: str | None = None,
    values: str = "probabilities",
) -> ItemRows:
    """One row of numbers per item; ``classes`` and ``items`` are those of the labels, if known.

    >>> table = pl.DataFrame({"uid": ["a"], "prob_cat": ["0.75"], "prob_dog": ["0.25"]})
    >>> found = read_rows(table, "model.csv", classes=("dog", "cat"), items=("a",))
    >>> found.classes, found.values.tolist(), found.remarks[0]
    (('dog', 'cat'), [[0.25, 0.75]], "model.csv: the items are taken from the column 'uid'.")
    """
    column, guessed = find_items(table, name, items=items, item=item)
    table = _with_items(table, name, column)
    others = [other for other in table.columns if other not in ("item", column, "annotator")]
    remarks = [guessed] if guessed else []
    long = _long_columns(table, others, classes)
    if long is not None:
        return _from_long(table, name, long, others, remarks)
    wide = _wide_columns(table, name, others, classes, values)
    used = list(wide.columns)
    if not used:
        raise NoClasses(_no_classes(name, others, classes))
    numbers = with_numbers(name, table, used).select(used).to_numpy()
    remarks += [*wide.remarks, *_unused(name, [other for other in others if other not in used])]
    return ItemRows(
        tuple(table["item"].to_list()),
        wide.classes,
        numbers,
        digits_of(table, used),
        tuple(remarks),
    )


def read_choices(
    table: pl.DataFrame,
    name: str,
    *,
    classes: Sequence[str],
    items: Collection[str] | None = None,
    item: str | None = None,
) -> ItemChoices | None:
    """One class per item, from the column that holds classes; None where no column does."""
    column, guessed = find_items(table, name, items=items, item=item)
    table = _with_items(table, name, column)
    others = [other for other in table.columns if other not in ("item", column, "annotator")]
    chosen = _choice_column(table, others, classes)
    if chosen is None:
        return None
    empty = table[chosen].is_null().arg_true()
    if len(empty):
        raise DataError(f"{name}, row {empty[0] + 1}, column {chosen!r} is empty.")
    remarks = [guessed] if guessed else []
    remarks += _unused(name, [other for other in others if other != chosen])
    texts = table[chosen].cast(pl.String).str.strip_chars()
    return ItemChoices(tuple(table["item"].to_list()), tuple(texts.to_list()), tuple(remarks))


# Which columns are classes.


@dataclass(frozen=True)
class _Wide:
    columns: tuple[str, ...]
    classes: tuple[str, ...] | None
    remarks: tuple[str, ...] = ()


def _wide_columns(
    table: pl.DataFrame, name: str, others: list[str], classes: Sequence[str] | None, values: str
) -> _Wide:
    if classes is None:
        return _own_classes(table, name, others)
    spelled = _by_spelling(others, classes)
    before, behind = _affixes(name, list(spelled), classes, values)
    matched = {one: spelled.get(f"{before}{one}{behind}", "") for one in classes}
    matched = {one: column for one, column in matched.items() if column}
    if not matched:
        numeric = [other for other in others if _is_numeric(table[other])]
        own = _own_classes(table, name, others) if len(numeric) > 1 else _Wide((), ())
        return _numbered(table, name, others, classes) or own
    more = {
        column[len(before) : len(column) - len(behind)]: column
        for column in others
        if column not in matched.values() and _has_affixes(column, before, behind)
    }
    more = {one: column for one, column in more.items() if one and _is_numeric(table[column])}
    if more and not _needs(table, name, list(matched.values()), list(more.values()), values):
        more = {}
    found = {**matched, **more}
    return _Wide(tuple(found.values()), tuple(found))


def _by_spelling(columns: Sequence[str], classes: Sequence[str]) -> dict[str, str]:
    """The columns by their names; as the class is spelled where only the case differs."""
    folded = {one.casefold(): one for one in classes if one not in columns}
    again = {folded.get(one.casefold(), one): one for one in columns}
    return again if len(again) == len(columns) else {one: one for one in columns}


def _needs(
    table: pl.DataFrame, name: str, matched: list[str], more: list[str], values: str
) -> bool:
    """Whether rows are distributions only together with columns that are no known classes."""
    if values != "probabilities":
        return False
    numbers = with_numbers(name, table, matched)

    def wrong(columns: list[str]) -> int:
        rows = numbers.with_columns(pl.col(more).cast(pl.Float64, strict=False)).select(columns)
        digits = digits_of(table, columns)
        return int(normalise(rows.fill_null(0.0).to_numpy(), digits=digits).wrong.sum())

    return wrong([*matched, *more]) < wrong(matched)


def _affixes(
    name: str, columns: Sequence[str], classes: Sequence[str], values: str
) -> tuple[str, str]:
    """What stands before and behind the class in the names of its columns, the same for all."""
    if any(one in columns for one in classes):
        return "", ""
    counted: dict[tuple[str, str], int] = {}
    for one in classes:
        for column in columns:
            at = column.find(one)
            while at >= 0:
                affix = column[:at], column[at + len(one) :]
                counted[affix] = counted.get(affix, 0) + 1
                at = column.find(one, at + 1)
    most = max(counted.values(), default=0)
    if most < min(2, len(classes)):
        return "", ""
    best = [affix for affix, count in counted.items() if count == most]
    if len(best) > 1:
        words = VALUE_WORDS.get(values, ())
        meant = [
            affix for affix in best if set(re.split(r"[\W_]+", "_".join(affix).lower())) & {*words}
        ]
        best = meant if len(meant) == 1 else best
    if len(best) > 1:
        shown = quote_names([f"{before}{classes[0]}{behind}" for before, behind in best])
        raise DataError(
            f"{name} has several columns for each class, such as {shown}. Keep those of one model."
        )
    return best[0]


def _has_affixes(column: str, before: str, behind: str) -> bool:
    long_enough = len(column) > len(before) + len(behind)
    return long_enough and column.startswith(before) and column.endswith(behind)


def _numbered(
    table: pl.DataFrame, name: str, others: list[str], classes: Sequence[str]
) -> _Wide | None:
    """Columns such as ``prob_0`` … ``prob_9``, as many as there are classes, in their order."""
    stems: dict[str, dict[int, str]] = {}
    for column in others:
        found = re.fullmatch(r"(.*?)(\d+)", column)
        if found and _is_numeric(table[column]):
            stems.setdefault(found[1], {})[int(found[2])] = column
    for places in stems.values():
        first = min(places)
        if first in (0, 1) and sorted(places) == list(range(first, first + len(classes))):
            columns = tuple(places[place] for place in sorted(places))
            remark = (
                f"{name}: the columns {columns[0]!r} to {columns[-1]!r} name no class and are "
                f"taken in the order {quote_names(classes)}."
            )
            return _Wide(columns, None, (remark,))
    return None


def _own_classes(table: pl.DataFrame, name: str, others: list[str]) -> _Wide:
    """All columns of numbers, but counts and the like without which every row is a distribution."""
    columns = [other for other in others if _is_numeric(table[other])]
    if not columns:
        return _Wide((), ())
    if len(columns) == 1:  # one class is none: the others should have been numbers
        columns = others
    numbers = with_numbers(name, table, columns)
    inside = [one for one in columns if numbers[one].is_between(0, 1).all()]
    if len(inside) < len(columns):
        rows, whole = numbers.select(inside).to_numpy(), digits_of(table, inside)
        if len(inside) > 1 and not normalise(rows, digits=whole).wrong.any():
            columns = inside
    bare = [PREFIX.sub("", one) for one in columns]
    cut = all(PREFIX.match(one) for one in columns) and len(set(bare)) == len(bare)
    classes = tuple(bare if cut else columns)
    remark = f"{name}: the classes are {quote_names(classes)}, from columns such as {columns[0]!r}."
    return _Wide(tuple(columns), classes, (remark,) if cut else ())


# One row per item and class, or one class per item.


@dataclass(frozen=True)
class _Long:
    classes: str
    values: str


def _long_columns(
    table: pl.DataFrame, others: list[str], classes: Sequence[str] | None
) -> _Long | None:
    named = _choice_column(table, others, classes)
    numeric = [other for other in others if other != named and _is_numeric(table[other])]
    words = [word for words in VALUE_WORDS.values() for word in (*words, "value", "share")]
    meant = [one for one in numeric if one.lower() in words] or numeric
    if named is None or len(meant) != 1 or (classes and set(numeric) & {*classes}):
        return None
    numbers = table[meant[0]].cast(pl.String).str.replace(",", ".").cast(pl.Float64, strict=False)
    if not table["item"].is_duplicated().any() and not (numbers == 1).all():
        return None
    return _Long(named, meant[0])


def _from_long(
    table: pl.DataFrame, name: str, long: _Long, others: list[str], remarks: list[str]
) -> ItemRows:
    table = table.with_columns(pl.col(long.classes).cast(pl.String).str.strip_chars())
    numbers = with_numbers(name, table, [long.values])
    for column in ("item", long.classes):
        empty = numbers[column].is_null().arg_true()
        if len(empty):
            raise DataError(f"{name}, row {empty[0] + 1}, column {column!r} is empty.")
    again = numbers.select("item", long.classes).is_duplicated().arg_true()
    if len(again):
        row = int(again[0])
        raise DataError(
            f"{name}, row {row + 1}: item {table['item'][row]!r} and class "
            f"{table[long.classes][row]!r} occur more than once; each pair needs one number."
        )
    wide = numbers.pivot(long.classes, index="item", values=long.values, maintain_order=True)
    classes = tuple(one for one in wide.columns if one != "item")
    left = [other for other in others if other not in (long.classes, long.values)]
    said = (
        f"{name}: read as one row per item and class, from the columns {long.classes!r} and "
        f"{long.values!r}; a class that an item does not list has 0."
    )
    return ItemRows(
        tuple(wide["item"].to_list()),
        classes,
        wide.select(classes).fill_null(0.0).to_numpy(),
        digits_of(table, [long.values]),
        (*remarks, said, *_unused(name, left)),
    )


def _choice_column(
    table: pl.DataFrame, others: list[str], classes: Sequence[str] | None
) -> str | None:
    """The column whose values are classes, by its name where several are."""
    usual = [other for other in others if other.lower() in CLASS_NAMES]
    if classes is None:
        return usual[0] if len(usual) == 1 else None
    known = {*classes}
    held = [other for other in others if _held(table[other], known, among=True) > 0.5]
    held = held if len(held) == 1 else [other for other in held if other in usual]
    numbers = [other for other in usual if not held and table[other].dtype != pl.Float64]
    return next(iter(held or numbers), None)


# What all of these need.


def _with_items(table: pl.DataFrame, name: str, column: str) -> pl.DataFrame:
    items = table[column].cast(pl.String).str.strip_chars()
    empty = (items.is_null() | (items == "")).arg_true()
    if len(empty):
        raise DataError(f"{name}, row {empty[0] + 1}, column {column!r} is empty.")
    return table.with_columns(items.alias("item"))


def _held(column: pl.Series, known: Collection[str], *, among: bool = False) -> float:
    """Which share of the known names a column holds, or which share of its values is known."""
    texts = column.drop_nulls().cast(pl.String, strict=False).str.strip_chars()
    values = texts.unique()
    shared = int(values.is_in(pl.Series(list(known), dtype=pl.String).implode()).sum())
    return shared / max(len(values) if among else len(known), 1)


def _is_numeric(column: pl.Series) -> bool:
    """Whether there is any number in it."""
    if column.dtype == pl.String:
        plain = column.str.strip_chars().str.replace(",", ".")
        return bool(plain.cast(pl.Float64, strict=False).is_not_null().any())
    return column.dtype.is_numeric()


def _unused(name: str, columns: Sequence[str]) -> Iterator[str]:
    if columns:
        what = "column is" if len(columns) == 1 else "columns are"
        yield f"{name}: {len(columns)} {what} not used: {quote_names(columns)}."


def _no_classes(name: str, columns: Sequence[str], classes: Sequence[str] | None) -> str:
    wanted = f", such as {quote_names(classes, 3)}" if classes else ""
    return (
        f"{name} has no column of numbers for a class. It has "
        f"{quote_names(columns) or 'only items'}; expected one column per class{wanted}, or one "
        "row per item and class."
    )


def read_pairs(given: object, key: str) -> dict[str, str] | None:
    """From a dict, or from a file or table with the column ``key`` and one more."""
    if given is None:
        return None
    if isinstance(given, Mapping) and all(isinstance(one, str | int) for one in given.values()):
        return {str(name): str(value) for name, value in given.items()}
    frame = (
        read_frame(Path(given)) if isinstance(given, str | Path) else to_frame(given, what="table")
    )
    others = [name for name in frame.columns if name != key]
    if key not in frame.columns or len(others) != 1:
        raise DataError(
            f"A table with the column {key!r} and one more is needed; this one has "
            f"{', '.join(map(repr, frame.columns))}."
        )
    values = frame.select(pl.all().cast(pl.String)).drop_nulls()
    return dict(zip(values[key], values[others[0]], strict=True))
