"""Read and write our own files: a judgments table as Parquet, JSONL or CSV, the question beside it.

``answers.csv`` has the columns of ``COLUMNS`` (``item`` and ``answer`` are needed), and
``answers.question.json`` says what was asked and what was done to the answers so far.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from sfumato.errors import DataError, SfumatoError
from sfumato.judgments.coded import NULL, Coded, CodedTable, encode
from sfumato.judgments.comparisons import (
    COMPARISON_COLUMNS,
    COMPARISON_QUESTIONS,
    MIX_COLUMNS,
    MIX_TASKS,
    ComparisonQuestion,
    Comparisons,
    MixJudgments,
    comparison_question_from_json,
)
from sfumato.judgments.formats.reading import (
    CHUNK,
    PSEUDONYMS,
    Flaw,
    Key,
    PartColumns,
    ReadOptions,
    Rows,
    UnclearSource,
    by_line,
    classes_among,
    flag_empty,
    flag_no_number,
    flag_no_whole_number,
    flag_unknown_word,
    is_utf8,
    members,
    open_text,
    people,
    pseudonymous,
    read_csv_rows,
    read_json_text,
    refuse_platform_ids,
    sound_rows,
    whole_file,
)
from sfumato.judgments.formats.scan import CodedRows, code_rows, inputs_of, scan
from sfumato.judgments.formats.texts import bytes_done, open_table_text
from sfumato.judgments.judgments import (
    CODED,
    COLUMNS,
    VIEWS,
    Judgments,
    Places,
    RejectedRow,
    Remark,
    judgments_from,
)
from sfumato.judgments.question import BARE, QUESTIONS, SCALES, Question, ask, question_from_json
from sfumato.names import find
from sfumato.provenance import Provenance, Step, fingerprint_file, from_json, to_json

WRITTEN = 1_000_000
"""So many rows are written out at a time."""

# Turn the text columns of a judgments table into typed ones, and say which rows do not fit.

NEEDED = {"item": "the id of what was judged", "answer": "what the annotator said, as JSON"}
"""The columns that every row fills, and with what."""


@dataclass(frozen=True)
class Fault:
    """Why a field cannot be read."""

    field: str
    found: str
    """What stands there, as it is shown; empty for nothing."""
    expected: str

    @property
    def reason(self) -> str:
        """What is wrong, as half a sentence."""
        return f"{self.found} is not {self.expected}" if self.found else "empty"


@dataclass(frozen=True)
class Fields:
    """The columns of ``COLUMNS`` in their types, and the faults of each unsound row."""

    table: CodedTable
    faults: dict[int, list[Fault]]

    @property
    def sound(self) -> NDArray[np.bool_]:
        """Whether each row can be read."""
        sound = np.ones(len(self.table), dtype=bool)
        sound[list(self.faults)] = False
        return sound


def typed_fields(table: CodedTable) -> Fields:
    """Check every field of a table with our columns; texts may stand for numbers.

    >>> from sfumato.judgments.coded import encode_table
    >>> row = {"item": ["a"], "answer": ['"cat"'], "seconds": ["3 s"]}
    >>> typed_fields(encode_table(pl.DataFrame(row), ["item", "answer"])).faults
    {0: [Fault(field='seconds', found="'3 s'", expected='a number of seconds')]}
    """
    faults: dict[int, list[Fault]] = {}
    for name, expected in NEEDED.items():
        for row in np.flatnonzero(table.coded(name).code == NULL).tolist():
            faults.setdefault(row, []).append(Fault(name, "", expected))
    typed: dict[str, Coded | pl.Series] = {}
    for name, (read, expected) in _READ.items():
        if (given := table.columns.get(name)) is None:
            continue
        held = given.values if isinstance(given, Coded) else given
        values = read(held).alias(held.name)
        wrong = (held.is_not_null() & values.is_null()).to_numpy()
        if isinstance(given, Coded):
            typed[name] = given.map(values)
            wrong = np.append(wrong, False)[given.code]
        else:
            typed[name] = values
        for row in np.flatnonzero(wrong).tolist():
            found = given.decode([row])[0] if isinstance(given, Coded) else given[row]
            faults.setdefault(row, []).append(Fault(name, _shown(found), expected))
    return Fields(table.change(**typed), faults)


def set_aside(
    table: CodedTable, faults: dict[int, list[Fault]], places: Places
) -> list[RejectedRow]:
    """The rows with faults, as they stood in the file; the first fault of a row counts."""
    rows = sorted(faults)
    aside = []
    for row, held in zip(rows, table.decode(rows).iter_rows(named=True), strict=True):
        fields = {name: value for name, value in held.items() if value}
        text, fault = json.dumps(fields, ensure_ascii=False, default=str), faults[row][0]
        aside.append(RejectedRow(*places[row], fault.field, fault.reason, text[:200]))
    return aside


def _numbers(values: pl.Series) -> pl.Series:
    if values.dtype.is_numeric():
        return values.cast(pl.Float64)
    return values.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)


def _seconds(values: pl.Series) -> pl.Series:
    numbers = _numbers(values)
    return numbers.set(~(numbers.is_finite() & (numbers >= 0)), None)


def _order(values: pl.Series) -> pl.Series:
    text = values.cast(pl.String).str.strip_chars().str.replace(r"^(\d+)\.0*$", "$1")
    whole = text.cast(pl.Int64, strict=False)
    return whole.set(whole < 0, None)


def _view(values: pl.Series) -> pl.Series:
    text = values.cast(pl.String).str.strip_chars()
    return text.set(~text.is_in(VIEWS), None)


def _true_or_false(values: pl.Series) -> pl.Series:
    text = values.cast(pl.String).str.strip_chars().str.to_lowercase()
    meaning = {"true": True, "1": True, "false": False, "0": False}
    return text.replace_strict(meaning, default=None, return_dtype=pl.Boolean)


def _input_seconds(values: pl.Series) -> pl.Series:
    text = values.cast(pl.String)
    wrong = [given for given in text.drop_nulls().unique() if not _holds_seconds(given)]
    return text.set(text.is_in(wrong), None)


def _holds_seconds(text: str) -> bool:
    try:
        held: Any = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(held, dict) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        for value in held.values()
    )


_READ: dict[str, tuple[Callable[[pl.Series], pl.Series], str]] = {
    "seconds": (_seconds, "a number of seconds"),
    "order": (_order, "a place in the session"),
    "view": (_view, f"one of {', '.join(VIEWS)}"),
    "completed": (_true_or_false, "true or false"),
    "simulated": (_true_or_false, "true or false"),
    "input_seconds": (_input_seconds, "a JSON object from inputs to seconds"),
}


def _shown(value: Any) -> str:
    text = str(value)
    return repr(text if len(text) <= 60 else text[:57] + "…")


# Read and write our own files: a judgments table as Parquet, JSONL or CSV, the question beside it.

_OPENINGS = '"-0123456789'
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # JSON escapes can spell half a character


def read_own(path: Path, options: ReadOptions) -> Judgments:
    """Read a judgments table; the suffix says whether it is Parquet, JSONL or CSV.

    Without a question beside it, the options say what was asked; a choose-one question with
    unknown classes has the different answers as its classes, and its answers may be written
    ``cat`` as well as ``"cat"``.
    """
    stored, steps = read_beside(path)
    question = _named_question(path, stored, options) or stored_question(path, stored, options)
    rows = scan_own(path, options) or code_rows(read_rows(path, options), path.name)
    inputs = inputs_of(path)
    if options.question_file is not None:
        inputs |= inputs_of(options.question_file)
    read = Step("read sfumato", {}, inputs)
    return judgments_of_rows(
        rows, options, file=path.name, question=question, provenance=(*steps, read)
    )


def scan_own(path: Path, options: ReadOptions) -> CodedRows | None:
    """Our columns of a file or folder that can be scanned; None where it cannot."""
    source = scan(path, options) if path.is_dir() or _suffix(path) != ".jsonl" else None
    if source is None or not NEEDED.keys() <= source.schema.keys():
        return None
    ours = [name for name in COLUMNS if name in source.schema]
    if any(source.schema[name].is_nested() or source.schema[name] == pl.Binary for name in ours):
        return None
    rows = source.read(PartColumns(tuple(ours), CODED), options)
    if rows is None:
        return None
    unused = source.count(name for name in source.schema if name not in COLUMNS)
    options.progress(source.rows, source.rows)
    return replace(rows, unused=unused)


def judgments_of_rows(
    rows: CodedRows,
    options: ReadOptions,
    *,
    file: str,
    question: Question | None,
    provenance: Provenance,
) -> Judgments:
    """Judgments from rows with the columns of a judgments table, whatever they were read from.

    Without a question the options say what was asked.
    """
    kind = kind_of(question, options)
    table, remarks = our_columns(rows, options.key)
    if kind in BARE:
        table = quote_answers(table, numbers=kind == "choose-one")
    guessed: list[Remark] = []
    if question is None:
        question = options.asked or _preset(file, kind, table.coded("answer"), options)
        guessed = _on_scale(question, options)
    fields = typed_fields(table)
    kept = fields.table.take(fields.sound)
    aside = set_aside(table, fields.faults, rows.places)
    return judgments_from(
        question,
        kept,
        file=file,
        lines=rows.places.take(fields.sound),
        rejected=[*rows.rejected, *aside],
        remarks=[*rows.remarks, *remarks, *guessed, *_unknown_gold(kept, question)],
        provenance=provenance,
    )


def write_own(judgments: Judgments, path: Path) -> None:
    """Write the table as the suffix says, and the question with the provenance beside it.

    Columns in which nothing is recorded are left out. An answer is written as the JSON text
    that it is.
    """
    suffix = _suffix(path)
    refuse_platform_ids(judgments.coded.coded("annotator").used())
    item = judgments.coded.coded("item")
    nameless = item.null_count() + int(item.times()[(item.values == "").to_numpy()].sum())
    if nameless:
        raise DataError(
            f"Judgments without an item cannot be written: {nameless} of {len(judgments)}."
        )
    with whole_file(path) as part:
        frame = _written(judgments)
        match suffix:
            case ".parquet":
                frame.sink_parquet(part)
            case ".jsonl":
                frame.sink_ndjson(part)
            case _:
                frame.sink_csv(part)
    write_beside(path, json.loads(judgments.question.to_json()), judgments.provenance)


def _written(judgments: Judgments) -> pl.LazyFrame:
    """The columns in which something stands, decoded while they are written."""
    held = {
        name
        for name, column in judgments.coded.columns.items()
        if (column if isinstance(column, Coded) else _no_nan(column)).null_count() < len(judgments)
    }
    shown = [name for name in COLUMNS if name in NEEDED or name in held or name == "view"]

    def decode(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        for start in range(0, max(len(judgments), 1), WRITTEN):
            some = np.arange(start, min(start + WRITTEN, len(judgments)))
            table = judgments.decode(some).with_columns(pl.col("seconds").fill_nan(None))
            yield table.select(columns or shown)

    if not len(judgments):
        shown = list(NEEDED)
    return register_io_source(decode, schema={name: COLUMNS[name] for name in shown})


def _no_nan(column: pl.Series) -> pl.Series:
    return column.fill_nan(None) if column.dtype.is_float() else column


def _named_question(path: Path, stored: Mapping[str, Any], options: ReadOptions) -> Question | None:
    """The question of the file that the user names; None where they name none."""
    file = options.question_file
    if file is None:
        return None
    if stored:
        raise DataError(
            f"{question_file(path).name} lies beside {path.name}, and {file} is named as its "
            "question too. Leave one of them out."
        )
    if not file.is_file():
        raise DataError(f"There is no file {file}, which is named as the question of {path.name}.")
    with open_text(file) as text:
        return question_from_json(text.read(), where=file.name)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".parquet", ".jsonl", ".csv"):
        raise DataError(
            f"{path.name} ends in {path.suffix!r}; judgments are kept as .parquet, .jsonl or .csv. "
            "Rename the file, or name its format."
        )
    return suffix


def read_rows(path: Path, options: ReadOptions) -> Rows:
    """The rows of a judgments table as they stand in the file, with their lines."""
    match _suffix(path):
        case ".parquet":
            rows = read_parquet_rows(path)
        case ".jsonl":
            rows = read_jsonl_rows(path, options)
        case _:
            return read_csv_rows(
                path, needed=tuple(NEEDED), progress=options.progress, delimiter=options.delimiter
            )
    missing = [name for name in NEEDED if name not in rows.table.columns]
    if missing:
        found = ", ".join(map(repr, rows.table.columns[:20])) or "none"
        raise DataError(f"{path.name} has no column {missing[0]!r}; its columns are {found}.")
    return rows


def read_parquet_rows(path: Path) -> Rows:
    """The number of a row stands for its line."""
    try:
        table = pl.read_parquet(path)
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else "it is damaged"
        raise DataError(f"{path.name} cannot be read as Parquet ({reason}).") from None
    for name in set(table.columns) & set(COLUMNS):
        dtype = table.schema[name]
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            raise DataError(f"Column {name!r} of {path.name} holds {dtype}; expected texts.")
    return Rows(table, list(range(1, len(table) + 1)), [])


def read_jsonl_rows(path: Path, options: ReadOptions) -> Rows:
    """One JSON object per line as text columns; a line that holds none is set aside."""
    lines: list[int] = []
    rejected: list[RejectedRow] = []
    frames = []
    total = path.stat().st_size if path.is_file() else 0
    with open_table_text(path) as file:
        chunk: list[dict[str, Any]] = []
        for number, fields in _objects(path, file, rejected):
            chunk.append(fields)
            lines.append(number)
            if len(chunk) == CHUNK:
                frames.append(_frame(chunk))
                chunk = []
                options.progress(min(bytes_done(file), total), total)
        frames.append(_frame(chunk))
    options.progress(total, total)
    if not lines:
        first = f" The first: {rejected[0]}" if rejected else ""
        raise DataError(f"{path.name} holds no JSON object, expected one per line.{first}")
    return Rows(pl.concat(frames, how="diagonal"), lines, rejected)


def _objects(
    path: Path, file: Iterator[str], rejected: list[RejectedRow]
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        reason = ""
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            reason = "not JSON"
        else:
            if not isinstance(fields, dict):
                reason = "not a JSON object"
            elif _SURROGATE.search(line) and not is_utf8("".join(map(str, fields.values()))):
                reason = "half of a character (a lone surrogate)"
        if reason:
            rejected.append(RejectedRow(path.name, number, "", reason, line.strip()[:200]))
        else:
            yield number, fields


def _frame(chunk: list[dict[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(name for fields in chunk for name in fields)
    return pl.DataFrame(
        {
            name: pl.Series([_text(fields.get(name)) for fields in chunk], dtype=pl.String)
            for name in names
        }
    )


def _text(value: Any) -> str | None:
    """A JSON value as the text that a CSV file would hold."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def our_columns(rows: CodedRows, key: Key) -> tuple[CodedTable, list[Remark]]:
    """The columns of ``COLUMNS``, texts as texts, people under pseudonyms."""
    remarks = [
        Remark(f"column {name!r} is not one of ours and was left out", count)
        for name, count in rows.unused
        if name not in COLUMNS
    ]
    given = rows.table.columns
    ours: dict[str, Coded | pl.Series] = {}
    for name, dtype in COLUMNS.items():
        column = given.get(name)
        if isinstance(column, Coded):
            ours[name] = column.map(_ours(column.values, dtype))
        elif column is not None:
            values = _ours(column, dtype)
            ours[name] = encode(values) if name in CODED else values
    if (named := ours.get("annotator")) is not None:
        assert isinstance(named, Coded)
        people, replaced = pseudonymous(named.values, key)
        ours["annotator"] = named.map(people)
        if replaced:
            remarks.append(Remark(PSEUDONYMS, replaced))
    return CodedTable(ours, len(rows.table)), remarks


def quote_answers(table: CodedTable, *, numbers: bool = True) -> CodedTable:
    """The table with bare labels as JSON texts; ``numbers`` says whether these are labels too."""
    held = {name: table.coded(name) for name in ("answer", "repaired") if name in table.columns}
    return table.change(
        **{
            name: column.map(answers_as_json(column.values, numbers=numbers))
            for name, column in held.items()
        }
    )


def _ours(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.String and values.dtype != pl.String:
        if values.dtype.is_float() and (values.drop_nulls() % 1 == 0).all():
            values = values.cast(pl.Int64)  # pandas turns whole numbers with gaps into floats
        if values.dtype == pl.Datetime:
            return values.dt.to_string("iso:strict")
        values = values.cast(pl.String)
    return values.set(values == "", None) if values.dtype == pl.String else values


def answers_as_json(answers: pl.Series, *, numbers: bool = True) -> pl.Series:
    """Bare labels as JSON texts; what is a JSON text already stays as it is."""
    kept = str if numbers else str | int | float
    bare = [text for text in answers.drop_nulls().unique() if not _is_json(text, kept)]
    labels = [
        json.dumps(text.strip(), ensure_ascii=False) if text.strip() else None for text in bare
    ]
    return answers.replace(bare, pl.Series(labels, dtype=pl.String)) if bare else answers


def _is_json(text: str, form: type | UnionType) -> bool:
    try:
        return text.lstrip()[:1] in _OPENINGS and isinstance(json.loads(text), form)
    except ValueError:
        return False


def _preset(file: str, kind: str, answers: Coded, options: ReadOptions) -> Question:
    classes = options.classes
    if kind in SCALES and classes is None:
        classes = _scale_points(file, kind, answers)
    if kind == "choose-one" and classes is None:
        labels = [json.loads(text) for text in answers.values]
        storable = [label for label in labels if is_utf8(label)]
        count = len(answers) - answers.null_count()
        classes = classes_among(
            pl.Series(storable, dtype=pl.String), None, file=file, answers=count
        )
    return preset_question(file, kind, classes)


def _scale_points(file: str, kind: str, answers: Coded) -> tuple[str, ...]:
    """The points of a rating, from the lowest to the highest number that somebody gave."""
    if kind == "number":
        raise UnclearSource(
            f"The answers in {file} are numbers between two ends that nobody says. Name the ends, "
            "or all points with a name, from the lowest to the highest.",
            "classes",
        )
    try:
        numbers = sorted({float(json.loads(text)) for text in answers.values})
    except ValueError:
        raise UnclearSource(
            f"The answers in {file} are words, and nobody says in which order they stand. Name the "
            "points of the scale from the lowest to the highest.",
            "classes",
        ) from None
    if numbers and all(one.is_integer() for one in numbers) and numbers[-1] - numbers[0] <= 100:
        numbers = [float(one) for one in range(int(numbers[0]), int(numbers[-1]) + 1)]
    return tuple(f"{one:g}" for one in numbers)


def _on_scale(question: Question, options: ReadOptions) -> list[Remark]:
    if question.kind not in SCALES or options.asked or options.classes:
        return []
    ends = f"{question.classes[0]} to {question.classes[-1]}"
    return [Remark("the scale is taken from the answers; name its points if it goes on", 1, ends)]


def _unknown_gold(table: CodedTable, question: Question) -> list[Remark]:
    gold = table.coded("gold")
    strange = np.append(~gold.values.is_in(list(question.classes)).to_numpy(), False)[gold.code]
    if not strange.any():
        return []
    first = gold.decode([int(strange.argmax())])[0]
    return [Remark("gold is none of the classes", int(strange.sum()), first)]


# Read and write ``Comparisons`` as CSV or Parquet, with their question as JSON beside it.


def read_comparisons(path: Path, options: ReadOptions) -> Comparisons:
    """Read ratings of pairs, triplets or preferences from a CSV or Parquet file.

    Pairs need the columns first, second and rating; triplets item, first, second and closer,
    which says "first" or "second"; preferences first, second and preferred, which may also say
    "tie". Without ``NAME.question.json`` beside the table its
    columns tell the kind, and the question is the preset's.
    """
    rows = _comparison_rows(path, options)
    stored, earlier = read_beside(path)
    question = _question(path, stored, rows.table.columns)
    columns = COMPARISON_COLUMNS[question.kind]
    needed = [name for name in columns if name in ("item", "first", "second", question.answer)]
    missing = [name for name in needed if name not in rows.table.columns]
    if missing:
        raise DataError(
            f"{path.name} has no column {missing[0]!r}; comparisons of the kind "
            f"{question.kind!r} need {', '.join(needed)}."
        )
    absent = [name for name in columns if name not in rows.table.columns]
    given = rows.table.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
    names, remarks = people(given["annotator"], options.key)
    kept, _, rejected = sound_rows(
        given.with_columns(names.alias("annotator")),
        [*(flag_empty(given, name) for name in needed), *_flaws(given, question)],
        lines=rows.lines,
        file=path.name,
    )
    step = Step("read comparisons", {"kind": question.kind}, {path.name: fingerprint_file(path)})
    return Comparisons(
        question,
        kept.select(*columns),
        by_line(rows.rejected, rejected),
        tuple(remarks),
        (*earlier, step),
    )


def write_comparisons(comparisons: Comparisons, path: Path) -> None:
    """Write comparisons as CSV or Parquet, and their question beside them."""
    refuse_platform_ids(comparisons.table["annotator"])
    match path.suffix.lower():
        case ".csv":
            with whole_file(path) as part:
                comparisons.table.write_csv(part)
        case ".parquet":
            with whole_file(path) as part:
                comparisons.table.write_parquet(part)
        case other:
            raise DataError(f"Comparisons are written as .csv or .parquet, not as {other!r}.")
    write_beside(path, comparisons.question.to_json(), comparisons.provenance)


def _comparison_rows(path: Path, options: ReadOptions) -> Rows:
    if path.suffix.lower() != ".parquet":
        return read_csv_rows(path, needed=("first", "second"), progress=options.progress)
    try:
        table = pl.read_parquet(path).cast(pl.String)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}.") from None
    options.progress(len(table), len(table))
    return Rows(table, list(range(1, len(table) + 1)), [])


def _question(path: Path, stored: dict[str, Any], columns: list[str]) -> ComparisonQuestion:
    if stored:
        return comparison_question_from_json(stored, where=question_file(path).name)
    asked = COMPARISON_QUESTIONS.values()
    found = [each for each in asked if each.answer in columns]
    return found[0] if found else COMPARISON_QUESTIONS["pairs"]


def _flaws(given: pl.DataFrame, question: ComparisonQuestion) -> list[Flaw]:
    flaws = [
        flag_no_number(given, "seconds", low=0, high=math.inf),
        flag_no_whole_number(given, "order"),
        flag_unknown_word(given, "view", VIEWS),
        Flaw(
            "second",
            "an item compared with itself",
            given["second"],
            given["first"] == given["second"],
        ),
    ]
    if question.scale is None:
        return [*flaws, flag_unknown_word(given, question.answer, question.sides)]
    low, high = question.scale
    return [*flaws, flag_no_number(given, "rating", low=low, high=high)]


# Read and write ``MixJudgments`` as a CSV file with the columns of ``MIX_COLUMNS``.

SHARES = ("shown", "perceived", "confidence")
MIX_NEEDED = ("mix", "perceived", "task")


def read_mixes(path: Path, options: ReadOptions) -> MixJudgments:
    """Read mix judgments; columns besides mix, perceived and task may be missing or empty."""
    rows = read_csv_rows(path, needed=MIX_NEEDED, progress=options.progress)
    absent = [name for name in MIX_COLUMNS if name not in rows.table.columns]
    given = rows.table.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
    flaws = [
        *(flag_empty(given, name) for name in MIX_NEEDED),
        *(flag_no_number(given, name, low=0, high=1) for name in SHARES),
        flag_no_number(given, "seconds", low=0, high=math.inf),
        flag_no_whole_number(given, "order"),
        flag_unknown_word(given, "view", VIEWS),
        flag_unknown_word(given, "task", list(MIX_TASKS)),
    ]
    names, remarks = people(given["annotator"], options.key)
    kept, _, rejected = sound_rows(
        given.with_columns(names.alias("annotator")), flaws, lines=rows.lines, file=path.name
    )
    _, earlier = read_beside(path)
    step = Step("read mixes", {}, {path.name: fingerprint_file(path)})
    return MixJudgments(
        kept.select(*MIX_COLUMNS),
        by_line(rows.rejected, rejected),
        tuple(remarks),
        (*earlier, step),
    )


def write_mixes(mixes: MixJudgments, path: Path) -> None:
    """Write mix judgments as CSV, and beside it as JSON what was asked and the provenance.

    Rows that were set aside are not written.
    """
    if path.suffix.lower() != ".csv":
        raise DataError(f"Mix judgments are written as .csv, not as {path.name!r}.")
    refuse_platform_ids(mixes.table["annotator"])
    with whole_file(path) as part:
        mixes.table.write_csv(part)
    asked = {task: MIX_TASKS[task] for task in mixes.table["task"].unique().sort()}
    write_beside(path, {"kind": "mixes", "wording": asked}, mixes.provenance)


# Find out what was asked: from the JSON beside a judgments table, or from the user.


def question_file(path: Path) -> Path:
    """Where the question of a judgments table is.

    >>> question_file(Path("answers.csv")).name
    'answers.question.json'
    """
    return path.with_suffix(".question.json")


def stored_question(path: Path, stored: Mapping[str, Any], options: ReadOptions) -> Question | None:
    """The question stored beside a table, None if nothing is; the options must not contradict."""
    if not stored:
        return None
    beside = question_file(path).name
    _check_classes(stored, beside)
    try:
        question = question_from_json(json.dumps(stored), where=beside)
    except SfumatoError as error:
        raise DataError(f"{beside}: {error}") from None
    if options.question not in (None, question.kind):
        raise DataError(
            f"{beside} says that the question is {question.kind!r}, not {options.question!r}. "
            "Leave the option out, or correct the file."
        )
    return _in_order(question, options.classes, beside)


def kind_of(question: Question | None, options: ReadOptions) -> str:
    """The kind of question: as stored, as the user says, otherwise choose-one."""
    if question is not None:
        return question.kind
    kind = options.question or "choose-one"
    find(QUESTIONS, kind, what="question")
    return kind


def preset_question(file: str, kind: str, classes: Sequence[str] | None) -> Question:
    """The preset question; for most kinds somebody has to say what the classes are."""
    if classes is None:
        example = json.dumps({"kind": kind, "classes": ["cat", "dog"]})
        raise UnclearSource(
            f"It is not known which classes the answers in {file} are about. Name them, or "
            f"write {question_file(Path(file)).name} beside it, as in {example}.",
            "classes",
        )
    return ask(kind, classes)


def _check_classes(stored: Mapping[str, Any], file: str) -> None:
    classes = stored.get("classes")
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise DataError(
            f"{file} holds no question: it needs an object whose 'classes' is a list of texts, as "
            'in {"kind": "choose-one", "classes": ["cat", "dog"]}.'
        )


def _in_order(question: Question, classes: Sequence[str] | None, file: str) -> Question:
    """The user may put the classes into another order, not replace them."""
    if classes is None or tuple(classes) == question.classes:
        return question
    if set(classes) != set(question.classes):
        odd = sorted(set(classes) ^ set(question.classes))
        raise DataError(
            f"The classes given and those in {file} differ, first in {odd[0]!r}. Leave the option "
            "out, or correct the file."
        )
    return replace(question, classes=tuple(classes))


# Keep what a table cannot hold, its question and provenance, in a JSON file beside it.


def write_beside(path: Path, about: Mapping[str, Any], provenance: Provenance) -> None:
    """Write ``about`` and the provenance beside the table ``path``.

    Without it, answers that were made up would look like answers of people.
    """
    stored = {**about, "provenance": to_json(provenance)}
    with whole_file(question_file(path)) as part:
        text = json.dumps(stored, indent=1, ensure_ascii=False)
        part.write_text(text + "\n", encoding="utf-8")


def read_beside(path: Path) -> tuple[dict[str, Any], Provenance]:
    """What is written beside the table ``path``, and its provenance; both empty without a file."""
    beside = question_file(path)
    if not beside.is_file():
        return {}, ()
    found = members(read_json_text(beside), file=beside.name)
    stored = {member.name: member.value for member in found}
    try:
        return stored, from_json(stored.pop("provenance", []))
    except TypeError:
        raise DataError(
            f"{beside.name}: 'provenance' is not a list of steps. Remove it if it was not "
            "written here."
        ) from None
