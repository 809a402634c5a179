"""Turn files into judgments and back: formats by name or guessed, classes as they are meant."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.frames import is_nested, to_frame
from sfumato.judgments.comparisons import Comparisons, MixJudgments
from sfumato.judgments.formats.columns import ROLES
from sfumato.judgments.formats.datasets import (
    CIFAR10H_COLUMNS,
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
from sfumato.judgments.formats.foreign import judgments_of_frame, judgments_of_nested, read_table
from sfumato.judgments.formats.hf import DATA, JUDGMENTS, read_hf, write_hf
from sfumato.judgments.formats.own import (
    question_file,
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
    NoAnswers,
    ReadOptions,
    UnclearSource,
    elements,
    members,
    open_text,
    pseudonym,
    pseudonymous,
    read_classes,
    read_csv_head,
    read_json_text,
)
from sfumato.judgments.formats.records import read_lewidi
from sfumato.judgments.formats.scan import parts_of, scan
from sfumato.judgments.formats.tables import (
    read_cleanlab,
    read_counts,
    read_crowd,
    write_cleanlab,
    write_crowd,
)
from sfumato.judgments.formats.texts import (
    content_suffix,
    delimiter_named,
    find_delimiter,
    open_bytes,
)
from sfumato.judgments.judgments import COLUMNS, Judgments, RejectedRow, Remark
from sfumato.judgments.question import Question, question_from_json
from sfumato.names import find, sorted_names
from sfumato.provenance import Step

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
    >>> len(read({"7": {"ann": "cat", "bob": "dog"}, "8": {"ann": "cat"}}))
    3
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
            if said.some_rows:  # whoever reads all of them looks at the classes
                return joined
            return _remarked(joined, look_at_classes(joined.question, class_counts(joined)))
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
    if format is None:
        if not options.some_rows:
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
    if is_nested(source) and format in (None, "table"):
        return judgments_of_nested(source, _before_renaming(options))
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


# Guess the format of a file from what is in it; the ending of its name counts little.


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


# Look at the names of classes: join those that are one, point out those that may be.
#
# A class spelled two ways is two classes to every number that follows. Nothing is joined
# unasked; what may belong together is named, with how often each spelling was given.


NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)

LONG_WORD = 5
"""Shorter words that differ in one letter are different words: cat and car."""

MOST_PAIRS = 10
"""So many pairs of similar classes are named one by one."""


@dataclass(frozen=True)
class Similar:
    """Two classes that may be one; the first was given more often."""

    often: str
    rare: str
    answers: tuple[int, int]
    """How often each was given."""


def read_renames(path: Path) -> dict[str, str]:
    """Classes and what they are to be called, from lines ``a=b`` or a table of two columns."""
    with open_text(path) as file:
        lines = [line.strip() for line in file if line.strip()]
    split = "=" if all("=" in line for line in lines) else find_delimiter("\n".join(lines))
    renames: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        old, new = (part.strip().strip('"') for part in line.partition(split)[::2])
        if not old or not new:
            raise DataError(
                f"{path.name}, line {number}: expected a class and its new name, as in "
                f"eight=Eight; found {line!r}."
            )
        if renames.setdefault(old, new) != new:
            raise DataError(
                f"{path.name}, line {number}: {old!r} is to be called {new!r} here and "
                f"{renames[old]!r} above."
            )
    return renames


def joined_classes(judgments: Judgments, options: ReadOptions) -> Judgments:
    """The judgments with classes renamed and folded as the options say."""
    if not options.rename and not options.casefold:
        return judgments
    counts = class_counts(judgments)
    renames = _renames(judgments.question, counts, options)
    if not renames:
        return judgments
    answer, gold = judgments.coded.coded("answer"), judgments.coded.coded("gold")
    marks = judgments.question.kind == "yes-no-unsure"
    new = [_renamed_text(text, renames, only_names=marks) for text in answer.values]
    renamed = pl.Series(new, dtype=pl.String)
    coded = judgments.coded.change(answer=answer.map(renamed))
    if "gold" in coded.columns:
        coded = coded.change(gold=gold.map(gold.values.replace(renames)))
    touched = int(answer.times()[(renamed != answer.values).to_numpy()].sum())
    classes = _classes(judgments.question, renames, options, judgments)
    remark = Remark(
        "classes renamed", touched, ", ".join(f"{a} → {b}" for a, b in renames.items())[:200]
    )
    step = Step("rename classes", {"renames": dict(renames), "answers": touched})
    return replace(
        judgments,
        question=replace(judgments.question, classes=classes),
        coded=coded,
        remarks=(*judgments.remarks, remark),
        provenance=(*judgments.provenance, step),
    )


def class_counts(judgments: Judgments) -> dict[str, int]:
    """How many answers name each class: choose it, give it mass, list it or say yes to it."""
    times = np.bincount(judgments.statements.index, minlength=len(judgments.statements.mass))
    times = times @ named_classes(judgments)
    return dict(zip(judgments.question.classes, times.tolist(), strict=True))


def named_classes(judgments: Judgments) -> NDArray[np.int64]:
    """1 where a distinct answer names a class, (answers, classes)."""
    stated = judgments.statements
    named = (stated.mass > 0) | (stated.rank > 0) | stated.unsure
    return named.astype(np.int64)


def look_at_classes(question: Question, counts: Mapping[str, int]) -> list[Remark]:
    """Remarks on classes that are spelled almost alike, and on numbers without their order."""
    pairs = similar_classes(counts)
    remarks = [
        Remark(
            f"classes {pair.often!r} and {pair.rare!r} may be one, spelled in two ways",
            min(pair.answers),
            f"{pair.answers[0]:,} and {pair.answers[1]:,} answers",
        )
        for pair in pairs[:MOST_PAIRS]
    ]
    if len(pairs) > MOST_PAIRS:
        remarks.append(Remark("further pairs of classes that may be one", len(pairs) - MOST_PAIRS))
    classes = question.classes
    numbers = [name for name in classes if re.fullmatch(r"-?\d+([.,]\d+)?", name)]
    if len(numbers) == len(classes) > 2 and question.kind == "choose-one":
        ends = f"{classes[0]} to {classes[-1]}"
        remarks.append(
            Remark(
                f"classes are numbers ({ends}), read without their order (a scale: 'rating')",
                len(classes),
            )
        )
    return remarks


def similar_classes(counts: Mapping[str, int]) -> list[Similar]:
    """Pairs of classes that differ in capitals, signs, a letter, or as 9 and nine do.

    ``counts`` says how many answers name each class.

    >>> similar_classes({"Eight": 2, "eight": 1, "9": 0})
    [Similar(often='Eight', rare='eight', answers=(2, 1))]
    """
    alike: dict[tuple[str, str], None] = {}
    groups: dict[str, list[str]] = defaultdict(list)
    for name in counts:
        groups[_plain(name)].append(name)
    for names in groups.values():
        alike |= dict.fromkeys(combinations(names, 2))
    for first, second in _one_letter_apart(list(groups)):
        alike[groups[first][0], groups[second][0]] = None
    pairs = []
    for first, second in alike:
        often, rare = sorted((first, second), key=lambda name: -counts[name])
        pairs.append(Similar(often, rare, (counts[often], counts[rare])))
    return pairs


def _plain(name: str) -> str:
    """A name without capitals and signs, numbers as digits."""
    words = re.sub(r"[^\w+-]|_|(?<=\w)-(?=\w)", " ", name.casefold()).split()
    if not words:
        return name
    return "".join(str(NUMBER_WORDS.index(w)) if w in NUMBER_WORDS else w for w in words)


def _one_letter_apart(names: Sequence[str]) -> list[tuple[str, str]]:
    """Long words that differ in one letter, not being the last: model a and model b are two."""
    long = [name for name in names if len(name) >= LONG_WORD and name.isalpha()]
    shorter: dict[str, set[str]] = defaultdict(set)
    for name in long:
        shorter[name].add(name)
        for place in range(len(name)):
            shorter[name[:place] + name[place + 1 :]].add(name)
    found: dict[tuple[str, str], None] = {}
    for group in shorter.values():
        for first, second in combinations(sorted(group), 2):
            if abs(len(first) - len(second)) <= 1 and _is_typo(first, second):
                found[first, second] = None
    return list(found)


def _is_typo(first: str, second: str) -> bool:
    if len(first) != len(second):
        return True
    differ = [place for place, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    swapped = (
        len(differ) == 2
        and differ[1] == differ[0] + 1
        and first[differ[0]] == second[differ[1]]
        and first[differ[1]] == second[differ[0]]
    )
    return swapped or (len(differ) == 1 and 0 < differ[0] < len(first) - 1)


def _renames(question: Question, counts: Mapping[str, int], options: ReadOptions) -> dict[str, str]:
    """Each class that changes its name, and the new one."""
    known = dict.fromkeys(question.classes)
    for old in options.rename:
        try:
            find(known, old, what="class")
        except UnknownName as error:
            raise DataError(f"{error} It cannot be renamed.") from None
    new = {name: options.rename.get(name, name) for name in question.classes}
    if options.casefold:
        times: Counter[str] = Counter()
        for name in question.classes:
            times[new[name]] += counts[name]
        wanted = set(options.classes or ()) | set(options.rename.values())
        # Of spellings that differ in capitals, the one the user wrote stands, then the commonest.
        best: dict[str, str] = {}
        for name in sorted(times, key=lambda one: (one not in wanted, -times[one], one)):
            best.setdefault(name.casefold(), name)
        for name in options.classes or ():
            best[name.casefold()] = name
        new = {name: best[called.casefold()] for name, called in new.items()}
    return {old: called for old, called in new.items() if old != called}


def _classes(
    question: Question, renames: Mapping[str, str], options: ReadOptions, judgments: Judgments
) -> tuple[str, ...]:
    left = list(dict.fromkeys(renames.get(name, name) for name in question.classes))
    if options.classes is None:
        kept = [name for name in question.classes if name not in renames]
        natural = list(question.classes) == sorted_names(question.classes)
        names = tuple(sorted_names(left)) if natural else tuple(dict.fromkeys([*kept, *left]))
    else:
        names = tuple(options.classes)
        for name in left:
            find(dict.fromkeys(names), name, what="class")
    if len(names) < 2:
        raise DataError(f"After renaming only the class {names[0]!r} is left; two are needed.")
    return names


def _renamed_text(text: str, renames: Mapping[str, str], *, only_names: bool) -> str:
    renamed = _renamed(json.loads(text), renames, only_names)
    return json.dumps(renamed, ensure_ascii=False)


def _renamed(value: Any, renames: Mapping[str, str], only_names: bool) -> Any:
    match value:
        case str():
            return value if only_names else renames.get(value, value)
        case list():
            return list(dict.fromkeys(_renamed(one, renames, only_names) for one in value))
        case dict():
            joined: dict[str, Any] = {}
            for name, held in value.items():
                called, inner = renames.get(name, name), _renamed(held, renames, only_names)
                if called in joined and isinstance(joined[called], int | float):
                    inner = joined[called] + inner
                elif called in joined and joined[called] != inner:
                    raise DataError(
                        f"One answer says {joined[called]!r} and {inner!r} about classes that are "
                        f"to be one, {called!r}; they cannot be joined."
                    )
                joined[called] = inner
            return joined
        case _:
            return value
