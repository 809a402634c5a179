"""Turn anybody's table of answers into judgments, whatever its columns are called.

The table is long (one row per answer) or wide (one column per person, or one per class). What
each column was taken for is said in a remark, and so are the columns that are not used.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.coded import Coded, CodedTable, encode, encode_table
from sfumato.judgments.formats.columns import (
    MARKS,
    MEANING,
    Columns,
    Role,
    Shape,
    Wide,
    compact,
    find_columns,
    find_wide,
    numbered_people,
    to_iso,
    to_numbers,
    to_seconds,
)
from sfumato.judgments.formats.own import judgments_of_rows, read_parquet_rows
from sfumato.judgments.formats.reading import (
    PartColumns,
    ReadOptions,
    Rows,
    UnclearSource,
    read_csv_rows,
    tidy_ids,
)
from sfumato.judgments.formats.records import Extract, read_json_rows
from sfumato.judgments.formats.scan import BLANK, CodedRows, Scan, code_rows, inputs_of, scan
from sfumato.judgments.formats.tables import MISSING, VoteTable, judgments_of_counts
from sfumato.judgments.formats.texts import content_suffix, open_bytes
from sfumato.judgments.judgments import COLUMNS, Judgments, Places, Remark
from sfumato.judgments.question import Question, ask
from sfumato.provenance import Provenance, Step

SEVERAL_QUESTIONS = re.compile(
    r"(?i)(question|element|aspect|criterion|criteria|dimension|metric|attribute|measure|variable"
    r"|trait|facet|subtask|scale|concept)(_?(id|name|type))?"
)
"""Names of a column that tells apart what people were asked about one item."""

PREDICTIONS = re.compile(
    r"logits?|probs?|probabilit(y|ies)|pred(iction|icted)?s?|conf(idence)?|softmax"
)
"""Names of what a model gives out."""

TABLE, NESTED = "the table", "the dict"
"""What a table or a dict of dicts that comes from no file is called in errors."""


def read_table(path: Path, options: ReadOptions, wanted: str | None = None) -> Judgments:
    """Read a table in a text, JSON, JSONL or Parquet file, plain or compressed.

    ``wanted`` is its shape where it is not to be guessed: "long", "people" or "counts".
    """
    source = scan(path, options) if wanted in (None, "long") else None
    if source is not None:
        found = _read_scan(source, options, path, wanted)
        if found is not None:
            return found
    if path.is_dir():
        raise DataError(
            f"The parts in {path.name} are not long tables, one row per answer; join them first."
        )
    loaded = _load(path, options)
    inputs = inputs_of(path)
    return judgments_of_table(loaded, options, file=path.name, inputs=inputs, wanted=wanted)


def judgments_of_frame(frame: pl.DataFrame, options: ReadOptions, shape: str | None) -> Judgments:
    """Judgments from a table of another library."""
    if frame.is_empty():
        raise DataError(f"{TABLE.capitalize()} has no rows.")
    found = _of_frame(frame, list(range(1, len(frame) + 1)), options, TABLE)
    digest = hashlib.sha256(found.rows.table.write_csv().encode()).hexdigest()
    return judgments_of_table(found, options, file=TABLE, inputs={TABLE: digest}, wanted=shape)


def judgments_of_nested(source: Mapping[Any, Any], options: ReadOptions) -> Judgments:
    """Judgments from a dict of dicts such as ``{item: {person: answer}}``, read as JSON is."""
    text = json.dumps(
        {
            str(name): {str(one): said for one, said in inner.items()}
            for name, inner in source.items()
        },
        default=str,
        ensure_ascii=False,
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    found = read_json_rows(text, options, file=NESTED)
    return judgments_of_table(found, options, file=NESTED, inputs={NESTED: digest})


def judgments_of_table(
    found: Extract,
    options: ReadOptions,
    *,
    file: str,
    inputs: Mapping[str, str],
    wanted: str | None = None,
) -> Judgments:
    """Judgments from rows of texts; ``wanted`` is a shape that the user asked for by name."""
    if found.question is not None:
        step = Step("read table", {"shape": "records"}, inputs)
        return _judged(code_rows(found.rows, file), found.question, options, file, (step,))
    rows = _without_empty_rows(found.rows, file)
    if not found.long and _is_ours(rows.table.columns, options) and wanted in (None, "long"):
        step = Step("read sfumato", {}, inputs)
        coded = code_rows(rows, file)
        return judgments_of_rows(coded, options, file=file, question=None, provenance=(step,))
    columns = find_columns(rows.table, _renamed(options) if found.long else options, file=file)
    if wanted == "long" or (wanted is None and _is_long(rows.table, columns, options)):
        columns = _only_column_left(rows.table, columns)
        coded = replace(code_rows(rows, file), table=encode_table(rows.table, rows.table.columns))
        return _read_long(coded, rows.table, columns, options, file, inputs)
    return _read_wide(rows, columns, options, file, inputs, wanted)


def _is_long(table: pl.DataFrame, columns: Columns, options: ReadOptions) -> bool:
    """Whether there is one column of answers, and no column per person."""
    used = [name for role in ("item", "annotator", "at", "seconds") if (name := columns.get(role))]
    several = [
        name for name in numbered_people(table.columns) if name not in (*used, options.answer)
    ]
    return columns.get("answer") is not None and (
        "answer" not in columns.guessed or not several or columns.get("annotator") is not None
    )


def _read_scan(
    source: Scan,
    options: ReadOptions,
    path: Path,
    wanted: str | None,
) -> Judgments | None:
    """A long table, read as it streams by; None if it is wide, nested or not so plain."""
    file = path.name
    if not source.rows or any(dtype.is_nested() for dtype in source.schema.values()):
        return None
    head = as_texts(source.head())
    ours = _is_ours(list(source.schema), options)
    columns = find_columns(head, options, file=file)
    if ours:
        columns = Columns({}, ())
    elif wanted is None and not _is_long(head, columns, options):
        return None
    else:
        columns = _only_column_left(head, columns)
    used = list(columns.named.values()) or list(source.schema)
    left = [name for name in source.schema if name not in used]
    item = columns.get("item") or "item"
    rows = source.read(PartColumns(tuple(used), tuple(used), tuple(left), item), options)
    if rows is None:
        return None
    texts = {
        name: column if isinstance(column, Coded) or name == BLANK else _as_text(column)
        for name, column in rows.table.columns.items()
    }
    rows = _without_blank_rows(replace(rows, table=CodedTable(texts, len(rows.table))), file)
    inputs = inputs_of(path)
    options.progress(source.rows, source.rows)
    if ours:
        step = Step("read sfumato", {}, inputs)
        return judgments_of_rows(rows, options, file=file, question=None, provenance=(step,))
    return _read_long(rows, head, columns, options, file, inputs)


def _without_blank_rows(rows: CodedRows, file: str) -> CodedRows:
    columns = dict(rows.table.columns)
    left = columns.pop(BLANK, None)
    blank = np.ones(len(rows.table), dtype=bool)
    if isinstance(left, pl.Series):
        blank = left.to_numpy().copy()
    for column in columns.values():
        if not blank.any():
            break
        if isinstance(column, Coded):
            blank &= np.append((column.values.str.strip_chars() == "").to_numpy(), True)[
                column.code
            ]
        else:
            blank &= (column.str.strip_chars().fill_null("") == "").to_numpy()
    table = CodedTable(columns, len(rows.table))
    if blank.all():
        raise DataError(f"{file} holds no row of data below the names of its columns.")
    if not blank.any():
        return replace(rows, table=table)
    remark = Remark("empty rows left out", int(blank.sum()))
    return replace(
        rows,
        table=table.take(~blank),
        places=rows.places.take(~blank),
        remarks=(*rows.remarks, remark),
    )


def _renamed(options: ReadOptions) -> ReadOptions:
    """The columns that the user named have our names by now."""
    return replace(options, item=None, annotator=None, answer=None, at=None, seconds=None)


def as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Every column as text: whole floats as integers, times in ISO 8601, "" as null.

    >>> as_texts(pl.DataFrame({"item": [1.0, None], "late": [True, False]})).rows()
    [('1', 'true'), (None, 'false')]
    """
    return pl.DataFrame([_as_text(frame[name]) for name in frame.columns])


def _as_text(values: pl.Series) -> pl.Series:
    if values.dtype == pl.Datetime:
        return values.dt.to_string("iso:strict")
    if values.dtype.is_float():
        values = values.fill_nan(None)
        if (values.drop_nulls() % 1 == 0).all() and (values.abs().max() or 0) < 2**53:  # type: ignore[operator]
            values = values.cast(pl.Int64)
    if values.dtype == pl.Object:
        held = [None if value is None else str(value) for value in values]
        values = pl.Series(values.name, held, dtype=pl.String)
    texts = values.cast(pl.String)
    return texts.set(texts == "", None)


def _load(path: Path, options: ReadOptions) -> Extract:
    with open_bytes(path) as file:
        start = file.read(4096)
    if start.startswith(b"PAR1"):
        rows = read_parquet_rows(path)
        return _of_frame(rows.table, rows.lines, options, path.name)
    opening = start.lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n")[:1]
    if opening in (b"{", b"[") and content_suffix(path) not in (".csv", ".tsv", ".tab"):
        return read_json_rows(path, options, file=path.name)
    return Extract(
        read_csv_rows(path, needed=(), progress=options.progress, delimiter=options.delimiter)
    )


def _of_frame(frame: pl.DataFrame, lines: list[int], options: ReadOptions, file: str) -> Extract:
    """A typed table as texts; one with lists or records inside is read as JSON is."""
    if any(dtype.is_nested() for dtype in frame.dtypes):
        text = json.dumps(frame.to_dicts(), default=str, ensure_ascii=False)
        return read_json_rows(text, options, file=file)
    return Extract(Rows(as_texts(frame), lines, []))


def _is_ours(columns: Sequence[str], options: ReadOptions) -> bool:
    """Whether a table has our own columns, and none that the user renames or that we would miss."""
    names = set(columns)
    ours = {"item", "answer"} <= names and names <= COLUMNS.keys()
    return ours and all(
        getattr(options, role) in (None, role)
        for role in ("item", "annotator", "answer", "at", "seconds")
    )


def _without_empty_rows(rows: Rows, file: str) -> Rows:
    empty = rows.table.select(
        pl.all_horizontal(pl.all().str.strip_chars().fill_null("") == "")
    ).to_series()
    if rows.table.is_empty() or empty.all():
        raise DataError(f"{file} holds no row of data below the names of its columns.")
    if not empty.any():
        return rows
    kept = ~empty
    return replace(
        rows,
        table=rows.table.filter(kept),
        lines=pl.Series(rows.lines, dtype=pl.Int64).filter(kept).to_list(),
        remarks=(*rows.remarks, Remark("empty rows left out", int(empty.sum()))),
    )


# Long tables: one row per answer.


def _read_long(
    rows: CodedRows,
    head: pl.DataFrame,
    columns: Columns,
    options: ReadOptions,
    file: str,
    inputs: Mapping[str, str],
) -> Judgments:
    """``head`` are the rows, or the first of them, by which the table is understood."""
    item, answer = columns.get("item"), columns.get("answer")
    if answer is None:
        raise UnclearSource(
            f"{file} has no column that is named like an answer; its columns are "
            f"{_listed(head.columns)}. Say which column is the answer.",
            "answer",
        )
    if item is None:
        raise UnclearSource(
            f"{file} has no column that is named like an item; its columns are "
            f"{_listed(head.columns)}. Say which column is the item.",
            "item",
        )
    _refuse_several_questions(head, columns, file)
    _refuse_free_answers(rows.table.coded(answer), answer, options, file)
    table, remarks = _role_columns(rows.table, columns, options)
    noted = [*_on_columns(head.columns, len(rows.table), columns), *remarks]
    step = Step(
        "read table",
        {"shape": "long", "columns": {str(role): name for role, name in columns.named.items()}},
        inputs,
    )
    return _judged(
        replace(rows, table=table, remarks=(*rows.remarks, *noted), unused=()),
        None,
        options,
        file,
        (step,),
    )


def _only_column_left(table: pl.DataFrame, columns: Columns) -> Columns:
    """The item is the one column that is nothing else, whatever it is called."""
    left = [name for name in table.columns if name not in columns.named.values()]
    known = {"annotator", "answer"} <= columns.named.keys()
    if columns.get("item") is not None or not known or len(left) != 1:
        return columns
    return Columns({**columns.named, "item": left[0]}, (*columns.guessed, "item"))


def _judged(
    rows: CodedRows,
    question: Question | None,
    options: ReadOptions,
    file: str,
    provenance: Provenance,
) -> Judgments:
    """Judgments whose question nobody recorded the words of."""
    found = judgments_of_rows(rows, options, file=file, question=question, provenance=provenance)
    silent = replace(found, question=replace(found.question, wording=""))
    silent.__dict__["statements"] = found.__dict__["statements"]
    return silent


def _refuse_several_questions(table: pl.DataFrame, columns: Columns, file: str) -> None:
    """One person who answers one item over and over was asked several things about it."""
    item, annotator = columns.get("item"), columns.get("annotator")
    if item is None or annotator is None:
        return
    again = table.select(pl.struct(item, annotator).is_duplicated().mean()).item() or 0
    if again < 0.2:
        return
    for name in table.columns:
        told_apart = SEVERAL_QUESTIONS.fullmatch(name) and name not in columns.named.values()
        if told_apart and 1 < table[name].n_unique() <= 200:
            raise DataError(
                f"{file} holds answers to {table[name].n_unique()} questions about each item "
                f"(column {name!r}: {_listed(table[name].drop_nulls().unique().sort().to_list())})."
                " Keep the rows of one of them."
            )


def _refuse_free_answers(column: Coded, name: str, options: ReadOptions, file: str) -> None:
    """Numbers with decimals that hardly repeat are measured or predicted, not chosen."""
    if options.classes is not None or options.question not in (None, "choose-one"):
        return
    known, times = column.values, column.times()
    nested = times[known.str.contains(r"^\s*[\[{]").to_numpy()].sum()
    if nested > 0.5 * times.sum():
        raise DataError(
            f"{file}: column {name!r} holds lists or objects, such as {_first(column)[:60]!r}, not "
            "one class per answer. Say which question they answer, if one of ours, or take one "
            "class out of each."
        )
    if len(known) <= 20:
        return
    numbers = to_numbers(known)
    if not numbers.null_count() and (numbers % 1 != 0).any():
        raise DataError(
            f"{file}: column {name!r} holds {len(known):,} different numbers with decimals, "
            f"such as {_first(column)!r}: scores, predictions or measurements, not classes that "
            "people chose. Say which column is the answer."
        )


def _first(column: Coded) -> str:
    return column.decode([int((column.code >= 0).argmax())])[0]


def _role_columns(
    table: CodedTable, columns: Columns, options: ReadOptions
) -> tuple[CodedTable, list[Remark]]:
    """The columns with a role under our names, tidy: ids, times in ISO 8601, seconds."""
    remarks: list[Remark] = []
    tidy: dict[str, Coded | pl.Series] = {}
    trimmed = 0
    for role, name in columns.named.items():
        match role:
            case "at":
                tidy[role], noted = _times(table.series(name))
            case "seconds":
                tidy[role], noted = _durations(table.series(name), name)
            case "item" | "annotator" | "answer":
                column = table.coded(name)
                tidy[role], noted = _tidied(column, role, options)
                trimmed += int(column.times()[_spaced(column.values)].sum())
            case _:
                assert_never(role)
        remarks += noted
    if trimmed:
        remarks.append(Remark("white space around values trimmed", trimmed))
    return CodedTable(tidy, len(table)), remarks


def _spaced(values: pl.Series) -> NDArray[np.bool_]:
    return (values != values.str.strip_chars()).fill_null(False).to_numpy()


def _tidied(column: Coded, role: Role, options: ReadOptions) -> tuple[Coded, list[Remark]]:
    values, classes = column.values, options.classes or ()
    comma = values.drop_nulls().str.contains(r"^\s*\d+,0+\s*$")
    dotted = values.str.replace(",", ".", literal=True) if len(comma) and comma.all() else values
    tidy, floats = tidy_ids(dotted)
    if role == "answer" and floats and values.is_in(list(classes)).any():
        tidy, floats = values.str.strip_chars(), 0  # the user says that these are the names
    missing = [word for word in MISSING if word not in classes]
    tidied = column.map(tidy.set(tidy.is_in(missing).fill_null(False), None))
    remarks = []
    if floats:
        written = int(column.times()[tidy.is_not_null().to_numpy()].sum())
        remarks.append(Remark(f"{role} written as a float, read as an integer", written))
    if role == "annotator" and tidied.null_count():
        remarks.append(Remark("no annotator recorded", tidied.null_count()))
    return tidied, remarks


def _times(values: pl.Series) -> tuple[pl.Series, list[Remark]]:
    moments = to_iso(values)
    lost = moments.is_null() & values.is_not_null()
    if not lost.any():
        return moments, []
    example = str(values.filter(lost)[0])[:60]
    return moments, [Remark("times that cannot be read, left out", int(lost.sum()), example)]


def _durations(values: pl.Series, name: str) -> tuple[pl.Series, list[Remark]]:
    seconds, unit = to_seconds(values, name)
    remarks = []
    if unit != "seconds":
        remarks.append(Remark(f"column {name!r} is in {unit}, read as seconds", seconds.count()))
    lost = seconds.is_null() & values.is_not_null()
    if lost.any():
        example = str(values.filter(lost)[0])[:60]
        remarks.append(Remark("durations that cannot be read, left out", int(lost.sum()), example))
    return seconds, remarks


def _on_columns(
    names: Sequence[str], rows: int, columns: Columns, used: Sequence[str] = ()
) -> list[Remark]:
    """What was guessed, and which columns nobody looked at."""
    remarks = [
        Remark(f"column {columns.named[role]!r} is read as {MEANING[role]}", rows)
        for role in columns.guessed
        if columns.named[role] != role
    ]
    taken = {*columns.named.values(), *used}
    unused = [name for name in names if name not in taken]
    if unused:
        remarks.append(Remark("columns not used", len(unused), ", ".join(unused)[:200]))
    if columns.get("annotator") is None and not used:
        remarks.append(Remark("no column says who answered", rows))
    return remarks


# Wide tables: one column per person, or one per class.


@dataclass(frozen=True)
class _Sheet:
    """A wide table whose columns are understood."""

    rows: Rows
    columns: Columns
    items: pl.Series
    wide: Wide
    file: str
    inputs: Mapping[str, str]

    def step(self) -> Step:
        """What was read, with which columns."""
        settings: dict[str, Any] = {
            "shape": self.wide.shape,
            "columns": dict(self.columns.named.items()),
            "read as": list(self.wide.columns),
        }
        return Step("read table", settings, self.inputs)


def _read_wide(
    rows: Rows,
    columns: Columns,
    options: ReadOptions,
    file: str,
    inputs: Mapping[str, str],
    wanted: str | None,
) -> Judgments:
    _refuse_predictions(rows.table, columns, file)
    columns = _item_column(rows.table, columns, file)
    named: dict[Role, str] = {
        role: name for role, name in columns.named.items() if role != "answer"
    }
    guessed = tuple(role for role in columns.guessed if role != "answer")
    columns = Columns(named, guessed)
    free = [name for name in rows.table.columns if name not in named.values()]
    shape: Shape | None = "people" if wanted == "people" else "counts" if wanted else None
    wide = find_wide(
        rows.table,
        free,
        item=named["item"],
        annotator=named.get("annotator"),
        options=options,
        file=file,
        wanted=shape,
    )
    items, _ = tidy_ids(rows.table[named["item"]])
    if wide.shape in ("people", "counts"):  # several people's answers share the row's times
        columns = Columns({"item": named["item"]}, tuple(r for r in guessed if r == "item"))
    noted = _on_columns(rows.table.columns, len(rows.table), columns, wide.columns)
    meaning = "people" if wide.shape == "people" else "classes"
    noted.append(Remark(f"columns read as {meaning}", len(wide.columns), _short(wide.columns)))
    sheet = _Sheet(
        replace(rows, remarks=(*rows.remarks, *noted)), columns, items, wide, file, inputs
    )
    match wide.shape:
        case "people":
            return _read_people(sheet, options)
        case "counts":
            return _read_counts(sheet)
        case "shares" | "choices" | "sets" | "marks":
            return _read_by_class(sheet, options)
        case _:
            assert_never(wide.shape)


def _refuse_predictions(table: pl.DataFrame, columns: Columns, file: str) -> None:
    """Fields that only models have, and nobody who answered."""
    words = [name for name in table.columns if PREDICTIONS.fullmatch(compact(name))]
    if len(words) > 1 and columns.get("annotator") is None:
        raise DataError(
            f"{file} holds a model's predictions (columns {_listed(words)}), not answers of people."
            " Read it as predictions."
        )


def _item_column(table: pl.DataFrame, columns: Columns, file: str) -> Columns:
    """Without a column named like one, the first is the item if no row repeats it."""
    if columns.get("item") is not None:
        return columns
    first = table.columns[0]
    values = table[first]
    numbers = to_numbers(values.drop_nulls())
    measured = not numbers.null_count() and bool((numbers % 1 != 0).any())
    if first in columns.named.values() or values.null_count() or measured:
        raise UnclearSource(
            f"{file} has no column that is named like an item; its columns are "
            f"{_listed(table.columns)}. Say which column is the item.",
            "item",
        )
    return Columns({**columns.named, "item": first}, (*columns.guessed, "item"))


def _read_people(sheet: _Sheet, options: ReadOptions) -> Judgments:
    table, names = sheet.rows.table, sheet.wide.columns
    missing = [word for word in MISSING if word not in (options.classes or ())]
    place = np.repeat(np.arange(len(table)), len(names))
    # Column by column would be simpler, but a row's answers belong together.
    cells = pl.concat([table[name].alias("answer") for name in names])
    answers = cells.gather(np.arange(len(cells)).reshape(len(names), -1).T.reshape(-1))
    trimmed = int(_spaced(answers).sum())
    answers, floats = tidy_ids(answers)
    given = answers.is_not_null() & ~answers.is_in(missing).fill_null(False)
    _refuse_free_answers(encode(answers.filter(given)), names[0], options, sheet.file)
    long = pl.DataFrame(
        {
            "item": sheet.items.gather(place),
            "annotator": pl.Series(list(names) * len(table), dtype=pl.String),
            "answer": answers,
        }
    ).filter(given)
    unlabelled = len(table) - int(pl.Series(place).filter(given).n_unique())
    extra = [
        Remark("items without any answer", unlabelled),
        Remark("white space around values trimmed", trimmed),
        Remark("answer written as a float, read as an integer", floats),
    ]
    lines = pl.Series(sheet.rows.lines, dtype=pl.Int64).gather(place).filter(given).to_list()
    noted = (*sheet.rows.remarks, *(remark for remark in extra if remark.count))
    rows = Rows(long, lines, sheet.rows.rejected, noted)
    return _judged(code_rows(rows, sheet.file), None, options, sheet.file, (sheet.step(),))


def _read_counts(sheet: _Sheet) -> Judgments:
    cells = [
        to_numbers(sheet.rows.table[name]).fill_null(0).to_numpy() for name in sheet.wide.columns
    ]
    votes = VoteTable(
        sheet.items.fill_null(""),
        sheet.wide.names,
        np.column_stack(cells),
        np.array(sheet.rows.lines, dtype=np.int64),
        sheet.rows.rejected,
        sheet.rows.remarks,
    )
    found = judgments_of_counts(votes, file=sheet.file, provenance=(sheet.step(),))
    silent = replace(found, question=replace(found.question, wording=""))
    silent.__dict__["statements"] = found.__dict__["statements"]
    return silent


def _read_by_class(sheet: _Sheet, options: ReadOptions) -> Judgments:
    """One row per answer, which says something about every class."""
    coded = encode_table(sheet.rows.table, sheet.columns.named.values())
    table, remarks = _role_columns(coded, sheet.columns, options)
    given = sheet.rows.table.select(sheet.wide.columns)
    names = sheet.wide.names
    silent = given.select(pl.all_horizontal(pl.all().is_null())).to_series()
    match sheet.wide.shape:
        case "marks":
            answers = _mark_answers(given, names)
            question = ask("yes-no-unsure", names)
        case "choices":
            cells = _numbers(given)
            chosen = [json.dumps(names[place], ensure_ascii=False) for place in cells.argmax(1)]
            answers, question = chosen, ask("choose-one", names)
        case "sets":
            cells = _numbers(given)
            answers = [
                json.dumps([name for name, on in zip(names, row, strict=True) if on])
                for row in cells
            ]
            question = ask("likely-set", names)
        case _:
            answers = _share_answers(_numbers(given), names)
            kind = options.question or "distribution"
            question = ask(kind, names, scale=sheet.wide.scale)
    column = pl.Series("answer", answers, dtype=pl.String).set(silent, None)
    rows = CodedRows(
        table.change(answer=encode(column)),
        Places.of(sheet.file, sheet.rows.lines),
        tuple(sheet.rows.rejected),
        (*sheet.rows.remarks, *remarks),
    )
    return _judged(rows, question, options, sheet.file, (sheet.step(),))


def _numbers(given: pl.DataFrame) -> Any:
    cells = [to_numbers(given[name]).fill_null(0).to_numpy() for name in given.columns]
    return np.column_stack(cells)  # (rows, classes)


def _mark_answers(given: pl.DataFrame, names: Sequence[str]) -> list[str]:
    words = given.select(
        pl.all().str.strip_chars().str.to_lowercase().replace_strict(MARKS, default=None)
    )
    return [
        json.dumps(
            {name: mark for name, mark in zip(names, row, strict=True) if mark is not None},
            ensure_ascii=False,
        )
        for row in words.iter_rows()
    ]


def _share_answers(cells: Any, names: Sequence[str]) -> list[str]:
    return [
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in cells.tolist()
    ]


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name[:40]) for name in names[:most]) + more


def _short(names: Sequence[str]) -> str:
    return _listed(names, 8)
