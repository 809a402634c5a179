"""Turn files into judgments and back: the registry of the names of formats."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.formats.datasets import (
    read_cifar10h,
    read_cifar10n,
    read_cifar10s,
    read_cub_s,
    read_fashion_mnist_h,
    read_hmix,
    read_hmix_labels,
    read_labelme,
)
from sfumato.judgments.formats.hf import read_hf, write_hf
from sfumato.judgments.formats.own import (
    read_comparisons,
    read_mixes,
    read_own,
    write_comparisons,
    write_mixes,
    write_own,
)
from sfumato.judgments.formats.platforms import (
    read_label_studio,
    read_peerannot,
    read_potato,
    write_peerannot,
)
from sfumato.judgments.formats.reading import (
    PLATFORM_ID,
    PSEUDONYMS,
    Key,
    ReadOptions,
    pseudonym,
    pseudonymous,
)
from sfumato.judgments.formats.tables import (
    read_cleanlab,
    read_counts,
    read_crowd,
    write_cleanlab,
    write_crowd,
)
from sfumato.judgments.judgments import Judgments, RejectedRow, Remark
from sfumato.judgments.mixes import MixJudgments
from sfumato.names import find

__all__ = ["FORMATS", "Format", "Readable", "read", "strict", "write"]

Readable = Judgments | Comparisons | MixJudgments
"""What a file can hold."""

Contents = Literal["judgments", "comparisons", "mixes"]

T = TypeVar("T", Judgments, Comparisons, MixJudgments)


@dataclass(frozen=True)
class Format:
    """How files of one kind are read and written."""

    read: Callable[[Path, ReadOptions], Readable]
    write: Callable[[Any, Path], None] | None
    """Takes what the format holds; None for formats that are only read."""
    holds: Contents
    about: str
    """What the files look like, for the list of formats in the documentation."""
    rows: tuple[str, ...] = ()
    """The feature rows of the papers that the format belongs to."""


FORMATS: dict[str, Format] = {
    "sfumato": Format(
        read_own,
        write_own,
        "judgments",
        "our own: .parquet, .jsonl or .csv with the columns of a judgments table, and the "
        "question as JSON beside it",
    ),
    "hf": Format(
        read_hf,
        write_hf,
        "judgments",
        "a Hugging Face dataset folder: our own Parquet tables in data, the question beside them, "
        "README.md and croissant.json; holds everything but rows set aside and remarks",
    ),
    "crowd": Format(
        read_crowd,
        write_crowd,
        "judgments",
        "crowd-kit's table task, worker, label (also item, worker, label), .csv or .tsv; holds "
        "one label per judgment and nothing else",
    ),
    "peerannot": Format(
        read_peerannot,
        write_peerannot,
        "judgments",
        "peerannot's answers.json, {task: {worker: label}}; holds one label per person and item",
    ),
    "cleanlab": Format(
        read_cleanlab,
        write_cleanlab,
        "judgments",
        "cleanlab's wide table: a row per item, a column per annotator, empty where not asked; "
        "holds one label per person and item",
    ),
    "label-studio": Format(
        read_label_studio,
        None,
        "judgments",
        "Label Studio's JSON or JSON-MIN export: its choices; read only",
    ),
    "potato": Format(
        read_potato,
        None,
        "judgments",
        "Potato's annotated_instances.jsonl or user_state.json, or the folder of all "
        "annotators: radio buttons, check boxes, distributions; read only",
    ),
    "counts": Format(
        read_counts,
        None,
        "judgments",
        "votes for each class, a row per item, .npy or .csv; nobody's name is known; read only",
        ("S0-01",),
    ),
    "cifar10h": Format(
        read_cifar10h,
        None,
        "judgments",
        "CIFAR-10H: the counts, or the raw rows of all 2,571 people; read only",
        ("S0-01", "S0-03", "S0-05"),
    ),
    "cifar10s": Format(
        read_cifar10s,
        None,
        "judgments",
        "CIFAR-10S: the raw jsPsych export, or the released JSON of answers; read only",
        ("S2-02", "S3-05", "S3-07"),
    ),
    "cifar10n": Format(
        read_cifar10n,
        None,
        "judgments",
        "CIFAR-10N: three people's labels of every training image; read only",
    ),
    "fashion-mnist-h": Format(
        read_fashion_mnist_h,
        None,
        "judgments",
        "FashionMNIST-H: votes for each test image; read only",
    ),
    "labelme": Format(
        read_labelme,
        None,
        "judgments",
        "LabelMe: the array of images and annotators; read only",
    ),
    "cub-s": Format(
        read_cub_s,
        None,
        "judgments",
        "CUB-S: the raw answers about concepts of birds; read only",
    ),
    "hmix-labels": Format(
        read_hmix_labels,
        None,
        "judgments",
        "H-Mix: top-two answers about mixed images; read only",
        ("S2-11",),
    ),
    "hmix": Format(
        read_hmix,
        None,
        "mixes",
        "H-Mix: how people say that two images were mixed; read only",
        ("S2-08", "S2-10"),
    ),
    "mixes": Format(
        read_mixes,
        write_mixes,
        "mixes",
        "our own: .csv of mixing coefficients and confidences",
        ("S2-08",),
    ),
    "comparisons": Format(
        read_comparisons,
        write_comparisons,
        "comparisons",
        "our own: .csv or .parquet of rated pairs, or of triplets",
        ("S1-03", "S1-04"),
    ),
}
"""Every format by the name that a person types."""


def read(path: Path, format: str, options: ReadOptions) -> Readable:
    """Read a file; platform ids and e-mail addresses of people never get past this point.

    A file in which no row can be read is an error with the reason of the first.
    """
    entry = find(FORMATS, format, what="format")
    if not path.exists():
        raise DataError(f"There is no file {path}. Check the name and the folder.")
    try:
        found = entry.read(path, options)
    except DataError as error:
        if path.stem in str(error):
            raise
        raise DataError(f"{path.name}: {error}") from None
    if not len(found):
        first = f", the first: {found.rejected[0]}" if found.rejected else ""
        raise DataError(
            f"{path.name} holds nothing that can be read as {format!r}: "
            f"rows set aside: {len(found.rejected):,}{first}."
        )
    match found:
        case Judgments():
            return _without_ids(found, options.key)
        case Comparisons():
            return _without_ids(found, options.key)
        case MixJudgments():
            return _without_ids(found, options.key)


def write(judgments: Readable, path: Path, format: str) -> None:
    """Write to a file, if the format can hold it."""
    entry = find(FORMATS, format, what="format")
    if entry.write is None:
        able = ", ".join(sorted(name for name in FORMATS if FORMATS[name].write is not None))
        raise DataError(f"The format {format!r} is only read. Formats that are written: {able}.")
    held = _HOLDS[type(judgments)]
    if entry.holds != held:
        able = ", ".join(
            sorted(name for name, known in FORMATS.items() if known.write and known.holds == held)
        )
        raise DataError(f"The format {format!r} holds {entry.holds}, not {held}. Write as: {able}.")
    entry.write(judgments, path)


def strict(judgments: Readable) -> None:
    """Refuse what was read if any row had to be set aside."""
    if judgments.rejected:
        raise DataError(
            f"Rows that cannot be read: {len(judgments.rejected):,}, the first in "
            f"{judgments.rejected[0]}. "
            "Correct them, or read without --strict to set them aside."
        )


_HOLDS: dict[type, Contents] = {
    Judgments: "judgments",
    Comparisons: "comparisons",
    MixJudgments: "mixes",
}

ID_IN_TEXT = re.compile(rf"(?<![\w.+-])(?:{PLATFORM_ID.pattern})(?!\w)")
"""Where the id of a platform or an e-mail address stands in a longer text."""


def _without_ids(found: T, key: Key) -> T:
    """People under pseudonyms, in the table and in the rows that were set aside."""
    rejected = tuple(_masked(row, key) for row in found.rejected)
    people, replaced = pseudonymous(found.table["annotator"], key)
    if not replaced and rejected == found.rejected:
        return found
    noted: tuple[Remark, ...] = (Remark(PSEUDONYMS, replaced),) if replaced else ()
    masked = replace(
        found,
        table=found.table.with_columns(people.alias("annotator")),
        rejected=rejected,
        remarks=(*found.remarks, *noted),
    )
    if "statements" in found.__dict__:  # reading answers is the slow part: do not repeat it
        masked.__dict__["statements"] = found.__dict__["statements"]
    return masked


def _masked(row: RejectedRow, key: Key) -> RejectedRow:
    def stand_in(found: re.Match[str]) -> str:
        return pseudonym(found[0], key())

    return replace(
        row,
        reason=ID_IN_TEXT.sub(stand_in, row.reason),
        text=ID_IN_TEXT.sub(stand_in, row.text),
    )
