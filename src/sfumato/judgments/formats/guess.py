"""Guess the format of a file from what is in it; the ending of its name counts little."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import CIFAR10H_COLUMNS
from sfumato.judgments.formats.hf import DATA, JUDGMENTS
from sfumato.judgments.formats.own import question_file
from sfumato.judgments.formats.reading import (
    NoAnswers,
    ReadOptions,
    elements,
    members,
    read_csv_head,
    read_json_text,
)
from sfumato.judgments.formats.scan import parts_of, scan
from sfumato.judgments.formats.texts import content_suffix, open_bytes
from sfumato.judgments.judgments import COLUMNS

_SIGNATURES: dict[str, set[str]] = {
    "cifar10h": set(CIFAR10H_COLUMNS),
    "cifar10s": {"trial_type", "trial_index", "subject", "rt", "response", "task", "img_id"},
    "cub-s": {"subject", "img_id", "concept_group"},
    "hmix-labels": {"trial_type", "trial_index", "subject", "rt", "response", "task", "filename"},
    "mixes": {"mix", "perceived", "task"},
}
"""Columns that no other format has together."""


def guess_format(path: Path) -> str:
    """The name of the format whose reader should read ``path``; "table" for anybody's table."""
    if path.is_dir():
        if (path / DATA / JUDGMENTS).is_file():
            return "hf"
        parts = parts_of(path)
        return _of_columns(path, _parquet_columns(parts[0])) if parts else "potato"
    suffix = path.suffix.lower()
    if suffix in (".npy", ".npz"):
        return _of_arrays(path)
    with open_bytes(path) as file:
        start = file.read(4096)
    if not start.strip():
        raise DataError(f"{path.name} is empty; expected a table of answers.")
    if start.startswith(b"PAR1"):
        return _of_columns(path, _parquet_columns(path))
    opening = start.lstrip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n")[:1]
    if opening in (b"{", b"[") and content_suffix(path) not in (".csv", ".tsv", ".tab"):
        return _of_json(path)
    return _of_columns(path, read_csv_head(path))


def _parquet_columns(path: Path) -> list[str]:
    source = scan(path, ReadOptions())
    assert source is not None
    return list(source.schema)


def _of_arrays(path: Path) -> str:
    try:
        stored = np.load(path, allow_pickle=False)
        names = [] if isinstance(stored, np.ndarray) else list(stored)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path.name} is not a NumPy file of numbers: {error}.") from None
    if {"clean_label", "random_label1"} <= set(names):
        return "cifar10n"
    if {"tensor", "info", "ids"} <= set(names):
        return "real"
    if names:
        raise NoAnswers(
            f"{path.name} holds the arrays {', '.join(names[:8])}, which do not say who answered "
            "what. Expected one array of votes, a row per item and a column per class."
        )
    if stored.ndim == 2 and stored.dtype.kind in "iu" and stored.min() < 0:
        raise DataError(
            f"{path.name} holds negative numbers, so it is no array of votes. If a column is a "
            "person and -1 means not asked, name the format 'labelme'."
        )
    return "counts"


def _of_columns(path: Path, columns: list[str]) -> str:
    names = set(columns)
    ours = path.suffix.lower() in (".csv", ".parquet", ".jsonl") or path.is_dir()
    if {"class_pair", "task"} <= names and names & {"responses", "final_value", "response"}:
        return "hmix"
    for name, needed in _SIGNATURES.items():
        if needed <= names:
            return name
    if {"first", "second"} <= names and (
        {"rating"} <= names or {"item", "closer"} <= names or {"preferred"} <= names
    ):
        return "comparisons"
    if (
        ours
        and {"item", "answer"} <= names
        and (names <= COLUMNS.keys() or question_file(path).is_file())
    ):
        return "sfumato"
    return "table"


def _of_json(path: Path) -> str:
    text = read_json_text(path)
    first, _, rest = text.strip().partition("\n")
    record = _object(first)
    if record is not None and rest.strip() and first.startswith("{"):
        return _of_lines(path, record)
    if text.lstrip().startswith("["):
        tasks = [value for _, value in elements(text, file=path.name)]
        return "label-studio" if tasks and all(map(_is_task, tasks)) else "table"
    held = {member.name: member.value for member in members(text, file=path.name)}
    if "instance_id_to_label_to_value" in held:
        return "potato"
    lewidi = [
        isinstance(value, dict) and {"annotations", "annotators"} <= value.keys()
        for value in held.values()
    ]
    top_two = [
        isinstance(value, list) and all(map(_is_released_top_two, value)) for value in held.values()
    ]
    if top_two and all(top_two):
        return "cifar10s"
    return "lewidi" if lewidi and all(lewidi) else "table"


def _is_released_top_two(record: Any) -> bool:
    return isinstance(record, dict) and "Most Probable Class" in record


def _of_lines(path: Path, record: dict[str, Any]) -> str:
    if "label_annotations" in record or ("id" in record and "behavioral_data" in record):
        return "potato"
    return _of_columns(path, list(record))


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_task(task: Any) -> bool:
    """Whether a record is a task, or a minimal annotation, of Label Studio."""
    if not isinstance(task, dict):
        return False
    listed = task.get("annotations", task.get("completions"))
    if isinstance(listed, list):
        return all(isinstance(one, dict) and "result" in one for one in listed)
    return "annotation_id" in task and "id" in task
