"""Read and write our own files: a judgments table as Parquet, JSONL or CSV, the question beside it.

``answers.csv`` has the columns of ``COLUMNS`` (``item`` and ``answer`` are needed), and
``answers.question.json`` says what was asked and what was done to the answers so far.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.beside import read_beside, write_beside
from sfumato.judgments.formats.choices import PSEUDONYMS, classes_among
from sfumato.judgments.formats.fields import set_aside, typed_fields
from sfumato.judgments.formats.json_text import is_utf8
from sfumato.judgments.formats.question_file import (
    kind_of,
    preset_question,
    question_file,
    stored_question,
)
from sfumato.judgments.formats.reading import (
    CHUNK,
    Key,
    ReadOptions,
    Rows,
    open_text,
    pseudonymous,
    read_csv_rows,
)
from sfumato.judgments.formats.writing import refuse_platform_ids, whole_file
from sfumato.judgments.judgments import COLUMNS, Judgments, Rejected, Remark, judgments_from
from sfumato.judgments.question import Question, question_from_json
from sfumato.provenance import Step, fingerprint_file

__all__ = ["read_own", "write_own"]

NEEDED = ("item", "answer")

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # JSON escapes can spell half a character


def read_own(path: Path, options: ReadOptions) -> Judgments:
    """Read a judgments table; the suffix says whether it is Parquet, JSONL or CSV.

    Without a question beside it, the options say what was asked; a choose-one question with
    unknown classes has the different answers as its classes, and its answers may be written
    ``cat`` as well as ``"cat"``.
    """
    stored, steps = read_beside(path)
    question = _named_question(path, stored, options) or stored_question(path, stored, options)
    kind = kind_of(question, options)
    rows = _rows(path, options)
    table, remarks = _our_columns(rows.table, options.key)
    if kind == "choose-one":
        table = table.with_columns(_as_json(table[name]) for name in ("answer", "repaired"))
    question = question or _preset(path, kind, table["answer"], options)
    fields = typed_fields(table)
    kept = fields.table.filter(fields.sound)
    aside = set_aside(table, fields.faults, file=path.name, lines=rows.lines)
    files = [file for file in (path, options.question_file) if file is not None]
    read = Step("read sfumato", {}, {file.name: fingerprint_file(file) for file in files})
    return judgments_from(
        question,
        kept,
        file=path.name,
        lines=pl.Series(rows.lines, dtype=pl.Int64).filter(fields.sound).to_numpy(),
        rejected=[*rows.rejected, *aside],
        remarks=[*remarks, *_unknown_gold(kept, question)],
        provenance=(*steps, read),
    )


def write_own(judgments: Judgments, path: Path) -> None:
    """Write the table as the suffix says, and the question with the provenance beside it.

    Columns in which nothing is recorded are left out. An answer is written as the JSON text
    that it is.
    """
    suffix = _suffix(path)
    refuse_platform_ids(judgments.table)
    nameless = judgments.table["item"].is_null() | (judgments.table["item"] == "")
    if nameless.any():
        raise DataError(f"{int(nameless.sum())} judgments have no item; they cannot be written.")
    table = judgments.table.with_columns(pl.col("seconds").fill_nan(None))
    table = table.select(
        name for name in COLUMNS if name in NEEDED or table[name].null_count() < len(table)
    )
    with whole_file(path) as part:
        match suffix:
            case ".parquet":
                table.write_parquet(part)
            case ".jsonl":
                table.write_ndjson(part)
            case _:
                table.write_csv(part)
    write_beside(path, json.loads(judgments.question.to_json()), judgments.provenance)


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
            "Rename the file, or name its format (--format)."
        )
    return suffix


def _rows(path: Path, options: ReadOptions) -> Rows:
    match _suffix(path):
        case ".parquet":
            rows = _parquet_rows(path)
        case ".jsonl":
            rows = _jsonl_rows(path, options)
        case _:
            return read_csv_rows(path, needed=NEEDED, progress=options.progress)
    missing = [name for name in NEEDED if name not in rows.table.columns]
    if missing:
        found = ", ".join(map(repr, rows.table.columns[:20])) or "none"
        raise DataError(f"{path.name} has no column {missing[0]!r}; its columns are {found}.")
    return rows


def _parquet_rows(path: Path) -> Rows:
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


def _jsonl_rows(path: Path, options: ReadOptions) -> Rows:
    lines: list[int] = []
    rejected: list[Rejected] = []
    frames = []
    total = path.stat().st_size if path.is_file() else 0
    with open_text(path) as file:
        chunk: list[dict[str, Any]] = []
        for number, fields in _objects(path, file, rejected):
            chunk.append(fields)
            lines.append(number)
            if len(chunk) == CHUNK:
                frames.append(_frame(chunk))
                chunk = []
                options.progress(file.buffer.tell(), total)
        frames.append(_frame(chunk))
    options.progress(total, total)
    if not lines:
        first = f" The first: {rejected[0]}" if rejected else ""
        raise DataError(f"{path.name} holds no JSON object, expected one a line.{first}")
    return Rows(pl.concat(frames, how="diagonal"), lines, rejected)


def _objects(
    path: Path, file: Iterator[str], rejected: list[Rejected]
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
            rejected.append(Rejected(path.name, number, "", reason, line.strip()[:200]))
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


def _our_columns(table: pl.DataFrame, key: Key) -> tuple[pl.DataFrame, list[Remark]]:
    """The columns of ``COLUMNS``, texts as texts, people under pseudonyms."""
    remarks = [
        Remark(f"column {name!r} is not one of ours and was left out", table[name].count())
        for name in table.columns
        if name not in COLUMNS
    ]
    nothing = pl.Series([None], dtype=pl.String)
    ours = pl.DataFrame(
        {
            name: _ours(table[name], dtype)
            if name in table.columns
            else nothing.new_from_index(0, len(table))
            for name, dtype in COLUMNS.items()
        }
    )
    people, replaced = pseudonymous(ours["annotator"], key)
    if replaced:
        remarks.append(Remark(PSEUDONYMS, replaced))
    return ours.with_columns(people.alias("annotator")), remarks


def _ours(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.String and values.dtype != pl.String:
        if values.dtype.is_float() and (values.drop_nulls() % 1 == 0).all():
            values = values.cast(pl.Int64)  # pandas turns whole numbers with gaps into floats
        if values.dtype == pl.Datetime:
            return values.dt.to_string("iso:strict")
        values = values.cast(pl.String)
    return values.set(values == "", None) if values.dtype == pl.String else values


def _as_json(answers: pl.Series) -> pl.Series:
    """Bare labels as JSON texts; what is a JSON text already stays as it is."""
    bare = [text for text in answers.drop_nulls().unique() if not _is_json_text(text)]
    labels = [
        json.dumps(text.strip(), ensure_ascii=False) if text.strip() else None for text in bare
    ]
    return answers.replace(bare, pl.Series(labels, dtype=pl.String)) if bare else answers


def _is_json_text(text: str) -> bool:
    if not text.lstrip().startswith('"'):
        return False
    try:
        return isinstance(json.loads(text), str)
    except ValueError:
        return False


def _preset(path: Path, kind: str, answers: pl.Series, options: ReadOptions) -> Question:
    classes = options.classes
    if kind == "choose-one" and classes is None:
        labels = [json.loads(text) for text in answers.drop_nulls().unique()]
        storable = [label for label in labels if is_utf8(label)]
        classes = classes_among(pl.Series(storable, dtype=pl.String), None, file=path.name)
    return preset_question(path, kind, classes)


def _unknown_gold(table: pl.DataFrame, question: Question) -> list[Remark]:
    unknown = table["gold"].drop_nulls()
    unknown = unknown.filter(~unknown.is_in(list(question.classes)))
    if unknown.is_empty():
        return []
    return [Remark("gold is none of the classes", len(unknown), unknown[0])]
