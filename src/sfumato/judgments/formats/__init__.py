"""Turn files into judgments and back: the registry of the names of formats."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from sfumato.errors import DataError
from sfumato.frames import to_frame
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.formats.columns import ROLES
from sfumato.judgments.formats.datasets import (
    read_cifar10h,
    read_cifar10n,
    read_cifar10s,
    read_cub_s,
    read_fashion_mnist_h,
    read_hmix,
    read_hmix_labels,
    read_labelme,
    read_real,
)
from sfumato.judgments.formats.foreign import judgments_of_frame, read_table
from sfumato.judgments.formats.guess import guess_format
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
    UnclearSource,
    open_text,
    pseudonym,
    pseudonymous,
    read_classes,
)
from sfumato.judgments.formats.records import read_lewidi
from sfumato.judgments.formats.spelling import joined_classes, look_at_classes, read_renames
from sfumato.judgments.formats.tables import (
    read_cleanlab,
    read_counts,
    read_crowd,
    write_cleanlab,
    write_crowd,
)
from sfumato.judgments.formats.texts import delimiter_named
from sfumato.judgments.judgments import Judgments, RejectedRow, Remark
from sfumato.judgments.mixes import MixJudgments
from sfumato.judgments.question import Question, question_from_json
from sfumato.names import find

__all__ = ["FORMATS", "Format", "Readable", "asked_as", "read", "strict", "write"]

Readable = Judgments | Comparisons | MixJudgments
"""What a file can hold."""

Contents = Literal["judgments", "comparisons", "mixes"]

U = TypeVar("U", Comparisons, MixJudgments)


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
    "table": Format(
        read_table,
        None,
        "judgments",
        "anybody's table of answers, long or wide, as text, JSON, JSONL or Parquet; its columns "
        "are named or guessed; read only",
    ),
    "lewidi": Format(
        read_lewidi,
        None,
        "judgments",
        "LeWiDi's JSON: items with annotators and annotations; read only",
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
    "real": Format(
        read_real,
        None,
        "judgments",
        "ReaL: answers no, maybe or yes about a class in a picture (raters.npz); read only",
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
        "our own: .csv or .parquet of rated pairs, of triplets, or of preferences",
        ("S1-03", "S1-04"),
    ),
}
"""Every format by the name that a person types."""


def read(
    source: str | Path | object,
    format: str | None = None,
    options: ReadOptions | None = None,
    *,
    item: str | None = None,
    annotator: str | None = None,
    answer: str | None = None,
    at: str | None = None,
    seconds: str | None = None,
    classes: Sequence[str] | str | Path | None = None,
    question: str | Path | Question | None = None,
    delimiter: str | None = None,
    rename: Mapping[str, str] | str | Path | None = None,
    casefold: bool = False,
) -> Readable:
    """Read answers from a file or from any table: pandas, polars, Arrow, datasets, dicts.

    Without a ``format`` what the source holds tells it, and ``remarks`` say what was guessed.
    ``item``, ``annotator``, ``answer``, ``at`` and ``seconds`` name columns. ``classes`` are the
    label columns in order, or a file with one class on each line. ``rename`` calls classes
    otherwise (a dict, or a file of lines ``a=b``); ``casefold`` joins those that differ in
    capitals only. ``question`` is a kind, such as "rating", a ``Question``, or a file that holds
    one: the points of a scale in order, and what they count. ``options`` says the same as one
    object; arguments replace its fields.

    Platform ids and e-mail addresses of people never get past this point. A source in which no
    row can be read is an error with the reason of the first.

    >>> votes = [{"photo": 7, "rater": "ann", "category": "cat"},
    ...          {"photo": 7, "rater": "bob", "category": "dog"}]
    >>> found = read(votes)
    >>> found.question.classes, found.table["item"].to_list()
    (('cat', 'dog'), ['7', '7'])
    >>> print(found.remarks[0].what)
    column 'photo' is read as the item
    """
    given: dict[str, Any] = {
        "item": item,
        "annotator": annotator,
        "answer": answer,
        "at": at,
        "seconds": seconds,
        **asked_as(question),
        "delimiter": None if delimiter is None else delimiter_named(delimiter),
        "rename": None if rename is None else _named_renames(rename),
        "casefold": casefold or None,
    }
    if classes is not None:
        given["classes"] = _named_classes(classes)
    changes = {name: value for name, value in given.items() if value is not None}
    said = replace(options or ReadOptions(), **changes)
    if isinstance(source, str | Path):
        found = _read_file(Path(source), format, said)
    else:
        found = _read_frame(source, format, said)
    match found:
        case Judgments():
            joined = joined_classes(_judgments_without_ids(found, said.key), said)
            return _remarked(joined, look_at_classes(joined))
        case Comparisons():
            return _without_ids(found, said.key)
        case MixJudgments():
            return _without_ids(found, said.key)


def _read_file(path: Path, format: str | None, options: ReadOptions) -> Readable:
    if format is not None:
        find(FORMATS, format, what="format")
    if not path.exists():
        raise DataError(f"There is no file {path}. Check the name and the folder.")
    try:
        name = format or _guessed(path, options)
        found = _reader(name, options)(path, _before_renaming(options))
    except UnclearSource as error:
        raise (
            error
            if path.stem in str(error)
            else UnclearSource(f"{path.name}: {error}", *error.options)
        ) from None
    except DataError as error:
        if path.stem in str(error):
            raise
        raise DataError(f"{path.name}: {error}") from None
    if not len(found):
        first = f", the first: {found.rejected[0]}" if found.rejected else ""
        raise DataError(
            f"{path.name} holds nothing that can be read as {name!r}: "
            f"rows set aside: {len(found.rejected):,}{first}."
        )
    if format is None and not options.some_rows:
        _refuse_misread(found, path.name, name)
        if name not in ("table", "sfumato") and isinstance(found, Judgments):
            return _remarked(found, [Remark(f"read as {name!r}, guessed from what it holds", 1)])
    return found


def _read_frame(source: object, format: str | None, options: ReadOptions) -> Readable:
    shapes = {"table": None, "sfumato": "long", "crowd": "long", **_SHAPES}
    if format is not None and find(FORMATS, format, what="format") and format not in shapes:
        raise DataError(
            f"The format {format!r} is one of files, not of tables. A table is read as one of "
            f"{', '.join(sorted(shapes))}, or without a format."
        )
    frame = to_frame(source, what="table of answers")
    shape = None if format is None else shapes[format]
    return judgments_of_frame(frame, _before_renaming(options), shape)


_SHAPES = {"cleanlab": "people", "counts": "counts"}


def _guessed(path: Path, options: ReadOptions) -> str:
    """The format of a file; what the user says about columns is about a plain table."""
    return "table" if _names_columns(options) and not path.is_dir() else guess_format(path)


def _names_columns(options: ReadOptions) -> bool:
    return any(getattr(options, role) is not None for role in ROLES)


def _reader(name: str, options: ReadOptions) -> Callable[[Path, ReadOptions], Readable]:
    """The reader of a format; one that knows its own columns takes no others."""
    if not _names_columns(options) or name == "table":
        return FORMATS[name].read
    if name in ("sfumato", "crowd"):
        return lambda path, said: read_table(path, said, "long")
    if name in _SHAPES:
        return lambda path, said: read_table(path, said, _SHAPES[name])
    raise DataError(
        f"The format {name!r} knows its own columns; columns are named for plain tables only."
    )


def _before_renaming(options: ReadOptions) -> ReadOptions:
    """Classes that others are renamed to are checked afterwards."""
    if options.question in (None, "choose-one") and (options.rename or options.casefold):
        return replace(options, classes=None)
    return options


def _refuse_misread(found: Readable, file: str, name: str) -> None:
    """A guess under which most rows make no sense was wrong."""
    wrong = [row for row in found.rejected if row.reason not in ("empty", "no answer", "no label")]
    if len(wrong) > len(found):
        raise DataError(
            f"{file} was taken for {name!r}, but {len(wrong):,} of "
            f"{len(wrong) + len(found):,} rows do not fit, the first: {wrong[0]}. It is probably "
            "something else; name its format."
        )


def _remarked(found: Judgments, remarks: Sequence[Remark]) -> Judgments:
    if not remarks:
        return found
    noted = replace(found, remarks=(*found.remarks, *remarks))
    if "statements" in found.__dict__:  # reading answers is the slow part: do not repeat it
        noted.__dict__["statements"] = found.__dict__["statements"]
    return noted


def asked_as(question: str | Path | Question | None) -> dict[str, Any]:
    """The fields of ``ReadOptions`` that say what was asked; a name that ends in .json is a file.

    >>> asked_as("rating")
    {'question': 'rating'}
    """
    if isinstance(question, Path) or (question is not None and str(question).endswith(".json")):
        path = Path(str(question))
        if not path.is_file():
            raise DataError(f"There is no file {path} that holds the question.")
        with open_text(path) as file:
            question = question_from_json(file.read(), where=path.name)
    if isinstance(question, Question):
        return {"asked": question, "question": question.kind, "classes": question.classes}
    return {"question": question}


def _named_classes(classes: Sequence[str] | str | Path | None) -> tuple[str, ...] | None:
    if classes is None:
        return None
    if isinstance(classes, str | Path):
        return read_classes(Path(classes))
    return tuple(str(name) for name in classes)


def _named_renames(rename: Mapping[str, str] | str | Path) -> dict[str, str]:
    if isinstance(rename, str | Path):
        return read_renames(Path(rename))
    return {str(old): str(new) for old, new in rename.items()}


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
            "Correct them, or let them be set aside."
        )


_HOLDS: dict[type, Contents] = {
    Judgments: "judgments",
    Comparisons: "comparisons",
    MixJudgments: "mixes",
}

ID_IN_TEXT = re.compile(rf"(?<![\w.+-])(?:{PLATFORM_ID.pattern})(?!\w)")
"""Where the id of a platform or an e-mail address stands in a longer text."""


def _without_ids(found: U, key: Key) -> U:
    """People under pseudonyms, in the table and in the rows that were set aside."""
    rejected = tuple(_masked(row, key) for row in found.rejected)
    people, replaced = pseudonymous(found.table["annotator"], key)
    if not replaced and rejected == found.rejected:
        return found
    noted: tuple[Remark, ...] = (Remark(PSEUDONYMS, replaced),) if replaced else ()
    return replace(
        found,
        table=found.table.with_columns(people.alias("annotator")),
        rejected=rejected,
        remarks=(*found.remarks, *noted),
    )


def _judgments_without_ids(found: Judgments, key: Key) -> Judgments:
    rejected = tuple(_masked(row, key) for row in found.rejected)
    named = found.coded.coded("annotator")
    people, replaced = pseudonymous(named.values, key)
    if not replaced and rejected == found.rejected:
        return found
    noted: tuple[Remark, ...] = (Remark(PSEUDONYMS, replaced),) if replaced else ()
    masked = replace(
        found,
        coded=found.coded.change(annotator=named.map(people)),
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
