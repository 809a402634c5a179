"""Turn items, annotators and one label each into choose-one judgments."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.reading import ReadOptions, clean_id, pseudonymous
from sfumato.judgments.judgments import Judgments, Rejected, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.names import sorted_names
from sfumato.provenance import Step, fingerprint_file

__all__ = ["MOST_CLASSES", "PSEUDONYMS", "classes_among", "judgments_of_choices", "tidy_ids"]

PSEUDONYMS = "platform ids replaced by pseudonyms"
"""What a remark says when people's ids were replaced; its count is people."""

MOST_CLASSES = 5_000
"""More different labels than this are free text, unless the user names the classes."""


def judgments_of_choices(
    path: Path,
    table: pl.DataFrame,
    *,
    lines: Sequence[int] | pl.Series,
    rejected: Sequence[Rejected],
    remarks: Sequence[Remark],
    options: ReadOptions,
    format_name: str,
) -> Judgments:
    """Choose-one judgments from the text columns item, annotator and label.

    A row without item or label is set aside, one without annotator stays: its vote counts.
    """
    if options.question not in (None, "choose-one"):
        raise DataError(
            f"The format {format_name!r} holds one label a judgment, so its question is "
            f"'choose-one', not {options.question!r}."
        )
    place = pl.Series(lines, dtype=pl.Int64)
    table, noted = _tidy(table, options)
    whole = table["item"].is_not_null() & table["label"].is_not_null()
    aside = [
        Rejected(path.name, line, "item" if item is None else "label", "empty", _shown(item, label))
        for line, item, label in zip(
            place.filter(~whole), *table.filter(~whole).select("item", "label"), strict=True
        )
    ]
    table = table.filter(whole)
    question = ask("choose-one", classes_among(table["label"], options.classes, file=path.name))
    return judgments_from(
        question,
        table.select("item", "annotator", answer=_as_json(table["label"])),
        file=path.name,
        lines=place.filter(whole).to_numpy(),
        rejected=[*rejected, *aside],
        remarks=[*remarks, *noted],
        provenance=(Step(f"read {format_name}", {}, {path.name: fingerprint_file(path)}),),
    )


def classes_among(labels: pl.Series, named: Sequence[str] | None, *, file: str) -> tuple[str, ...]:
    """The classes that the user named, otherwise the different labels in natural order."""
    if named is not None:
        return tuple(named)
    found = labels.drop_nulls().unique()
    if len(found) > MOST_CLASSES:
        raise DataError(
            f"{file} holds {len(found):,} different labels, such as {found.min()!r} and "
            f"{found.max()!r}: too many to be taken for classes. Name the classes (--classes)."
        )
    if len(found) < 2:
        only = f"only the label {found[0]!r}" if len(found) else "no label"
        raise DataError(f"{file} holds {only}; name all classes (--classes).")
    return tuple(sorted_names(found.to_list()))


def tidy_ids(values: pl.Series) -> tuple[pl.Series, int]:
    """Ids without spaces around them; back as integers if a spreadsheet made all of them floats.

    >>> tidy_ids(pl.Series([" 4.0", None, "17.0"]))[0].to_list()
    ['4', None, '17']
    >>> tidy_ids(pl.Series(["1.0", "1.1"]))[0].to_list()
    ['1.0', '1.1']
    """
    stripped = values.str.strip_chars()
    stripped = stripped.set(stripped == "", None)
    floats = stripped.drop_nulls().str.contains(r"^\d+\.0+$")
    if floats.all() and len(floats):
        return clean_id(stripped)
    return stripped, 0


def _tidy(table: pl.DataFrame, options: ReadOptions) -> tuple[pl.DataFrame, list[Remark]]:
    remarks = []
    for name in ("item", "annotator", "label"):
        values, floats = tidy_ids(table[name])
        if name == "label" and floats and table["label"].is_in(list(options.classes or ())).any():
            continue  # the user says that these are the names
        table = table.with_columns(values.alias(name))
        if floats:
            remarks.append(Remark(f"{name} written as a float, read as an integer", floats))
    nameless = table["annotator"].null_count()
    if nameless:
        remarks.append(Remark("no annotator recorded", nameless))
    people, replaced = pseudonymous(table["annotator"], options.key)
    if replaced:
        remarks.append(Remark(PSEUDONYMS, replaced))
    return table.with_columns(people.alias("annotator")), remarks


def _as_json(labels: pl.Series) -> pl.Series:
    found = labels.unique().to_list()
    as_json = [json.dumps(label, ensure_ascii=False) for label in found]
    return labels.replace_strict(found, as_json, return_dtype=pl.String)


def _shown(item: str | None, label: str | None) -> str:
    return f"item {item!r}, label {label!r}"
