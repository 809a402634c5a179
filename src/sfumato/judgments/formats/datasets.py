"""Turn the files that well-known datasets were released as into judgments."""

import ast
import json
import math
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.comparisons import MIX_COLUMNS, MixJudgments
from sfumato.judgments.formats.platforms import in_sessions, read_top_two_pages
from sfumato.judgments.formats.reading import (
    Flaw,
    ReadOptions,
    by_line,
    clean_id,
    flag_empty,
    flag_no_number,
    is_utf8,
    members,
    parse_column,
    people,
    read_csv_rows,
    read_json_text,
    sound_rows,
)
from sfumato.judgments.formats.tables import (
    chosen_answers,
    load_array,
    load_arrays,
    read_count_table,
)
from sfumato.judgments.judgments import Judgments, RejectedRow, Remark, judgments_from
from sfumato.judgments.question import ask
from sfumato.judgments.repairs import REPAIRS, repair_table
from sfumato.names import sorted_names
from sfumato.provenance import Step, fingerprint_file

# The classes of well-known datasets, in the order of their label numbers.

CIFAR10 = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)

FASHION_MNIST = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)

LABELME = (
    "highway",
    "insidecity",
    "tallbuilding",
    "street",
    "forest",
    "coast",
    "mountain",
    "opencountry",
)


# Turn the released CIFAR-10H files into judgments: the counts, or the raw annotator rows.

CIFAR10H_COLUMNS = (
    "annotator_id",
    "trial_index",
    "is_attn_check",
    "true_category",
    "chosen_category",
    "cifar10_test_test_idx",
    "image_filename",
    "reaction_time",
)
"""The columns of ``cifar10h-raw.csv`` that are read."""


def read_cifar10h(path: Path, options: ReadOptions) -> Judgments:
    """Read ``cifar10h-counts.npy``, ``cifar10h-raw.csv`` or the zip archive of the latter.

    An item is the official index of an image of the CIFAR-10 test set. In the raw rows an
    attention check has no index; its item is "check/" and the name of its image.
    """
    named = replace(options, classes=options.classes or CIFAR10)
    match path.suffix.lower():
        case ".npy":
            return read_count_table(path, named, name="cifar10h")
        case ".csv":
            return _read_rows(path, named, archive=path)
        case ".zip":
            return _read_archive(path, named)
        case other:
            raise DataError(
                f"{path.name} ends in {other!r}; CIFAR-10H comes as cifar10h-counts.npy, "
                "cifar10h-raw.csv or cifar10h-raw.zip."
            )


def _read_archive(path: Path, options: ReadOptions) -> Judgments:
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
            tables = [
                name
                for name in archive.namelist()
                if name.endswith(".csv") and not name.startswith("__MACOSX")
            ]
            if len(tables) != 1:
                raise DataError(f"{path.name} holds {len(tables)} CSV files; expected one.")
            return _read_rows(Path(archive.extract(tables[0], folder)), options, archive=path)
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror or error}.") from None
    except zipfile.BadZipFile as error:
        raise DataError(f"{path.name} is not a zip archive: {error}.") from None


def _read_rows(path: Path, options: ReadOptions, *, archive: Path) -> Judgments:
    rows = read_csv_rows(path, needed=CIFAR10H_COLUMNS, progress=options.progress)
    annotators, replaced = people(rows.table["annotator_id"], options.key)
    index, _ = clean_id(rows.table["cifar10_test_test_idx"])
    check = pl.col("is_attn_check").str.to_lowercase().is_in(["1", "1.0", "true"])
    chosen = pl.col("chosen_category").str.to_lowercase()
    gold = pl.col("true_category").str.to_lowercase()
    seconds = pl.col("reaction_time").cast(pl.Float64, strict=False) / 1000
    table = rows.table.with_columns(index.alias("index")).select(
        pl.when(check).then("check/" + pl.col("image_filename")).otherwise("index").alias("item"),
        annotators.alias("annotator"),
        ('"' + chosen + '"').alias("answer"),
        pl.when(seconds > 0).then(seconds).alias("seconds"),
        (pl.col("trial_index").cast(pl.Int64, strict=False) + 1).alias("order"),
        pl.when(check).then(pl.lit("check")).otherwise(pl.lit("first")).alias("view"),
        pl.when(gold.is_in(list(options.classes or ()))).then(gold).alias("gold"),
    )
    impossible = rows.table.select(seconds <= 0).to_series().sum()
    unknown = ~table["item"].str.contains(r"^([0-9]+$|check/)").fill_null(False)
    flaws = [
        Flaw("cifar10_test_test_idx", "not the index of an image", index, unknown),
        flag_empty(rows.table, "chosen_category"),
    ]
    table, lines, rejected = sound_rows(table, flaws, lines=rows.lines, file=path.name)
    remarks = [
        Remark("attention checks among first views", int((table["view"] == "check").sum())),
        Remark("reaction times of 0 or less, left out", int(impossible)),
        *replaced,
    ]
    return judgments_from(
        ask("choose-one", options.classes or CIFAR10),
        table,
        file=path.name,
        lines=lines,
        rejected=[*rows.rejected, *rejected],
        remarks=[remark for remark in remarks if remark.count],
        provenance=(Step("read cifar10h", {}, {archive.name: fingerprint_file(archive)}),),
    )


# Turn CIFAR-10N, three hard labels for each CIFAR-10 training image, into judgments.

SIDE_FILE = "side_info_cifar10N.csv"
"""Who labelled which batch of ten images, and how long it took; read when it lies beside."""

BATCH = 10
LABELLERS = (1, 2, 3)


def read_cifar10n(path: Path, options: ReadOptions) -> Judgments:
    """Read ``cifar10n-labels.npz`` and, when it lies beside, ``side_info_cifar10N.csv``.

    An item is the official index of a training image. The side file gives each judgment a
    worker and a tenth of the seconds of its batch, as the release describes it.

    Careful with the workers: in the release their errors are spread as if workers had been
    dealt out at random (747 workers, yet no more variance between workers or batches than
    chance gives), so the batches cannot be in the order of the labels. Do not rest a claim
    about single workers on them; the reader repeats this as a remark.
    """
    classes = options.classes or CIFAR10
    given, truth = _labels(path)
    n_items = len(given)
    image = np.repeat(np.arange(n_items), len(LABELLERS))  # (judgments,)
    chosen = given.ravel()  # (judgments,)
    good = np.isin(chosen, np.arange(len(classes)))
    beside = path.with_name(SIDE_FILE)
    side = _read_side(beside, n_items, options) if beside.exists() else _Side(pl.DataFrame())
    table = pl.DataFrame(
        {"item": pl.Series(image).cast(pl.String), "gold": _names(classes, truth).gather(image)}
    ).with_columns(side.columns)
    return judgments_from(
        ask("choose-one", classes),
        table.filter(pl.Series(good)).with_columns(answer=chosen_answers(classes, chosen[good])),
        file=path.name,
        lines=image[good] + 1,
        rejected=[*side.rejected, *_unknown_classes(path, chosen, good)],
        remarks=side.remarks,
        provenance=(
            Step(
                "read cifar10n",
                {},
                {file.name: fingerprint_file(file) for file in (path, beside) if file.exists()},
            ),
        ),
    )


@dataclass(frozen=True)
class _Side:
    """What the side file adds: ``annotator`` and ``seconds`` of each judgment."""

    columns: pl.DataFrame
    remarks: tuple[Remark, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()


def _labels(path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    needed = ["clean_label", *(f"random_label{place}" for place in LABELLERS)]
    arrays = load_arrays(path, needed=needed)
    shapes = {array.shape for array in arrays.values()}
    numbers = all(array.dtype.kind in "iu" and array.ndim == 1 for array in arrays.values())
    if len(shapes) > 1 or not numbers:
        raise DataError(
            f"The arrays {', '.join(needed)} of {path.name} must be lists of class numbers of "
            "one length."
        )
    truth, *given = (arrays[name].astype(np.int64) for name in needed)
    return np.stack(given, axis=1), truth  # (items, labellers), (items,)


def _names(classes: Sequence[str], numbers: NDArray[np.int64]) -> pl.Series:
    known = dict(enumerate(classes))
    return pl.Series([known.get(number) for number in numbers.tolist()], dtype=pl.String)


def _unknown_classes(
    path: Path, chosen: NDArray[np.int64], good: NDArray[np.bool_]
) -> list[RejectedRow]:
    rejected = []
    for at in np.flatnonzero(~good):
        image, place = divmod(int(at), len(LABELLERS))
        field, text = f"random_label{place + 1}", str(chosen[at])
        rejected.append(RejectedRow(path.name, image + 1, field, "not the number of a class", text))
    return rejected


def _read_side(path: Path, n_items: int, options: ReadOptions) -> _Side:
    fields = [(f"Worker{place}-id", f"Work-time-in-seconds-{place}") for place in LABELLERS]
    needed = ["Image-batch", *(name for pair in fields for name in pair)]
    rows = read_csv_rows(path, needed=needed, progress=options.progress)
    annotator = np.full((n_items, len(LABELLERS)), None, dtype=object)
    seconds = np.full((n_items, len(LABELLERS)), np.nan)
    rejected = list(rows.rejected)
    for line, row in zip(rows.lines, rows.table.iter_rows(named=True), strict=True):
        batch = _batch(row["Image-batch"], n_items)
        if batch is None:
            reason = f"not a range of images such as 0--{BATCH - 1}"
            rejected.append(
                RejectedRow(path.name, line, "Image-batch", reason, row["Image-batch"] or "")
            )
            continue
        for place, (worker, time) in enumerate(fields):
            annotator[batch, place] = row[worker]
            seconds[batch, place] = _seconds(row[time]) / (batch.stop - batch.start)
    workers, replaced = people(pl.Series(annotator.ravel(), dtype=pl.String), options.key)
    columns = pl.DataFrame(
        {"annotator": workers, "seconds": pl.Series(seconds.ravel(), nan_to_null=True)}
    )
    unlike = Remark(
        "workers of batches that, in the release, do not line up with the labels",
        len(workers) - workers.null_count(),
    )
    return _Side(columns, (unlike, *replaced), tuple(rejected))


def _batch(text: str | None, n_items: int) -> slice | None:
    ends = re.fullmatch(r"([0-9]+)--([0-9]+)", text or "")
    if ends is None or not int(ends[1]) <= int(ends[2]) < n_items:
        return None
    return slice(int(ends[1]), int(ends[2]) + 1)


def _seconds(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


# Turn the released CIFAR-10S files into judgments: the raw jsPsych export or the JSON of answers.
#
# The export mixes first views and repeats and has one person's batch twice; all of it is
# kept, flagged as what it is, and ``select`` leaves out what labels should not rest on.


def read_cifar10s(path: Path, options: ReadOptions) -> Judgments:
    """Read ``raw_human_data.csv`` or ``human_soft_labels_data.json``.

    From the export come 6,723 answers of 248 people about 1,000 images, 6,200 of them first
    views by different people. The two repairs of the release (S3-07) are applied. The JSON
    holds the same answers without people, order or time. An item is the official index of
    an image of the CIFAR-10 test set.
    """
    match path.suffix.lower():
        case ".csv":
            return _read_export(path, options)
        case ".json":
            return _read_released(path, options)
        case other:
            raise DataError(
                f"{path.name} ends in {other!r}; CIFAR-10S comes as raw_human_data.csv or "
                "human_soft_labels_data.json."
            )


def _read_export(path: Path, options: ReadOptions) -> Judgments:
    pages = read_top_two_pages(path, options, item="img_id", gold="label")
    question = ask("top-two", options.classes or CIFAR10)
    item, gold = pages.table["item"], pages.table["gold"]
    known = gold.is_in(list(question.classes)).fill_null(False)
    flaws = [
        Flaw("img_id", "not the index of an image", item, ~item.str.contains(r"^[0-9]+$")),
        Flaw("label", "not a class of CIFAR-10", gold, ~known),
    ]
    table, lines, rejected = sound_rows(pages.table, flaws, lines=pages.lines, file=path.name)
    mended = repair_table(table, "cifar10s")
    settings = {"repairs": f"cifar10s {REPAIRS['cifar10s'].version}"}
    return judgments_from(
        question,
        mended.table,
        file=path.name,
        lines=lines,
        rejected=[*pages.rejected, *rejected],
        remarks=[*pages.remarks, *mended.remarks],
        provenance=(Step("read cifar10s", settings, {path.name: fingerprint_file(path)}),),
    )


def _read_released(path: Path, options: ReadOptions) -> Judgments:
    items, answers, lines, rejected = [], [], [], []
    for image, record, line in _records(path):
        try:
            answers.append(_answer(record))
        except ValueError as error:
            shown = ascii(record)[:200]
            rejected.append(RejectedRow(path.name, line, str(error), "missing or of no use", shown))
            continue
        items.append(image)
        lines.append(line)
    options.progress(len(answers), len(answers))
    return judgments_from(
        ask("top-two", options.classes or CIFAR10),
        pl.DataFrame({"item": items, "answer": answers}, {"item": pl.String, "answer": pl.String}),
        file=path.name,
        lines=lines,
        rejected=rejected,
        remarks=[Remark("answers of unknown people, repeats not marked", len(answers))],
        provenance=(Step("read cifar10s", {}, {path.name: fingerprint_file(path)}),),
    )


def _records(path: Path) -> Iterator[tuple[str, Any, int]]:
    """Image, answer, and the line in which the answers about the image begin."""
    for member in members(read_json_text(path), file=path.name):
        if not isinstance(member.value, list):
            raise DataError(
                f"{path.name}, line {member.line}: image {member.name!r} has no list of answers."
            )
        for record in member.value:
            if isinstance(record, list):
                raise DataError(
                    f"{path.name} holds label distributions, not what people said. Read it as "
                    "labels, or take human_soft_labels_data.json for the answers."
                )
            yield member.name, record, member.line


def _answer(record: Any) -> str:
    """The answer in a released record; an error names the field that cannot be used."""
    second = _field(record, "Second Most Probable Class", str)
    percent = _field(record, "Second Most Probable Class Prob", int | float | None)
    answer = {
        "first": _field(record, "Most Probable Class", str).lower(),
        "first_percent": _field(record, "Most Probable Class Prob", int | float),
        "second": None if second == "No" else second.lower(),
        "second_percent": "" if percent is None else percent,
        "ruled_out": [str(name).lower() for name in _field(record, "Impossible Class(es)", list)],
    }
    return json.dumps(answer)


def _field(record: Any, name: str, form: type | UnionType) -> Any:
    if not isinstance(record, dict) or not isinstance(record.get(name, ...), form):
        raise ValueError(name)
    return record[name]


# Turn the votes of Fashion-MNIST-H into judgments.


def read_fashion_mnist_h(path: Path, options: ReadOptions) -> Judgments:
    """Read ``fmh-counts.npy``: 667,020 votes, 53 to 79 an image of the Fashion-MNIST test set.

    An item is the official index of a test image.
    """
    named = replace(options, classes=options.classes or FASHION_MNIST)
    return read_count_table(path, named, name="fashion-mnist-h")


# Turn the raw export of CUB-S, soft concept labels of bird images, into slider judgments.
#
# One row of the export is one person's answer about one group of concepts (such as the
# colour of the wing) of one image: the options they marked, each with a value from 0 to 100.

CUB_S_COLUMNS = ("time_elapsed", "rt", "subject", "concept_group", "evalAttrUncs", "img_id")


def read_cub_s(path: Path, options: ReadOptions) -> Judgments:
    """Read ``raw_cub-s_human_data.csv``: 4,984 answers of 89 people about 28 concept groups.

    An item is the CUB image and the group, "4081/wing color"; a class is the group and an
    option, "wing color: Black". An answer speaks of its own group only and of the options
    the person marked, so every answer is reported as ``unanswered`` for the rest: silence
    about another group says nothing, silence about an option of the group means that it was
    not marked. The file does not list the options: one that nobody marked is not among the
    classes (301 of the 312 concepts of CUB are); name all of them in the options if needed.
    """
    rows = read_csv_rows(path, needed=CUB_S_COLUMNS, progress=options.progress)
    images, floats = clean_id(rows.table["img_id"])
    annotators, replaced = people(rows.table["subject"], options.key)
    elapsed = pl.col("time_elapsed").cast(pl.Float64, strict=False)
    bars, unread = parse_column(rows.table, "evalAttrUncs", _bars)
    table = rows.table.select(
        (images + "/" + pl.col("concept_group")).alias("item"),
        annotators.alias("annotator"),
        pl.Series("answer", _answers(rows.table["concept_group"], bars), pl.String),
        (pl.col("rt").cast(pl.Float64, strict=False) / 1000).alias("seconds"),
        elapsed.rank("ordinal").over("subject").alias("order"),
    )
    flaws = [flag_empty(rows.table, "img_id"), flag_empty(rows.table, "concept_group"), *unread]
    table, lines, rejected = sound_rows(table, flaws, lines=rows.lines, file=path.name)
    named = {name for answer in table["answer"] for name in json.loads(answer)}
    classes = options.classes or sorted_names(sorted(named))
    remarks = [*replaced, *([Remark("ids written as floats", floats)] if floats else [])]
    return judgments_from(
        ask("sliders", classes, scale=100),
        table,
        file=path.name,
        lines=lines,
        rejected=[*rows.rejected, *rejected],
        remarks=remarks,
        provenance=(Step("read cub-s", {}, {path.name: fingerprint_file(path)}),),
    )


def _bars(text: str) -> dict[str, Any]:
    try:
        # Written by Python's str(), with single quotes: no JSON.
        bars = [(bar["label"], bar["y"]) for bar in ast.literal_eval(text)]
        usable = all(is_utf8(label) and isinstance(y, int | float) for label, y in bars)
    except (ValueError, SyntaxError, TypeError, KeyError, AttributeError, RecursionError):
        usable = False
    if not usable:
        raise ValueError("not a list of options with 'label' and a number 'y'")
    if len(dict(bars)) < len(bars):
        raise ValueError("an option is marked twice")
    return dict(bars)


def _answers(groups: pl.Series, bars: Sequence[dict[str, Any] | None]) -> list[str | None]:
    return [
        None
        if marked is None
        else json.dumps({f"{group}: {label}": y for label, y in marked.items()}, ensure_ascii=False)
        for group, marked in zip(groups, bars, strict=True)
    ]


# Turn the raw files of H-Mix, what people see in mixed images, into judgments.
#
# Three files are about how two images were mixed and become ``MixJudgments``; the fourth
# holds soft labels of mixed images, given like those of CIFAR-10S.

PAIR = re.compile(r"([A-Za-z]+)_([0-9]+)_([A-Za-z]+)_([0-9]+)(\.png)?")
"""How H-Mix writes two test images of CIFAR-10: Dog_2205_Frog_6908."""


def read_hmix(path: Path, options: ReadOptions) -> MixJudgments:
    """Read what people said about how two test images of CIFAR-10 were mixed (S2-08, S2-10).

    ``hmix_infer_mixing_factor.csv`` (task ``infer``): 4,950 answers of 81 people, 162 of
    them repeats. The slider runs from 0, all first class, to 100, all second class;
    ``perceived`` is 1 − slider / 100, as in ``processed_hmix_inferences.json``.
    ``hmix_construct_midpoint.csv`` and ``hmix_select_shuffled_midpoint.csv``: the coefficient
    that seemed half and half. The coefficient from which somebody set out is not kept.
    """
    rows = read_csv_rows(path, needed=("subject", "trial_index", "rt"), progress=options.progress)
    form = _form_of(path, rows.table.columns)
    pages = in_sessions(rows.table.with_columns(line=pl.Series(rows.lines, dtype=pl.Int64)))
    views = {form.page: "first", f"rerun_{form.page}": "repeat"}
    answers = pages.filter(pl.col("task").is_in(list(views)))
    said, unread = parse_column(answers, form.field, form.read)
    pairs, unnamed = parse_column(answers, "class_pair", pair_of)
    names, remarks = people(answers["subject"], options.key)
    shown = pl.col(form.shown).cast(pl.Float64, strict=False) if form.shown else pl.lit(None)
    table = answers.select(
        pl.col(form.mix).alias("mix"),
        shown.alias("shown"),
        *_columns(("first_class", "first_item", "second_class", "second_item"), pairs),
        names.alias("annotator"),
        *_columns(("perceived", "confidence"), said),
        (pl.col("rt").cast(pl.Float64, strict=False) / 1000).alias("seconds"),
        pl.col("trial_index").rank("ordinal").over("subject", "session").alias("order"),
        pl.col("task").replace_strict(views, return_dtype=pl.String).alias("view"),
        pl.lit(form.task).alias("task"),
    )
    flaws = [*unread, *unnamed, flag_empty(answers, form.mix)]
    if form.shown is not None:
        flaws += [
            flag_empty(answers, form.shown),
            flag_no_number(answers, form.shown, low=0, high=1),
        ]
    table, _, rejected = sound_rows(table, flaws, lines=answers["line"].to_list(), file=path.name)
    if len(answers) < len(pages):
        remarks.append(Remark("pages that are no answers", len(pages) - len(answers)))
    step = Step("read hmix", {"task": form.task}, {path.name: fingerprint_file(path)})
    return MixJudgments(table, by_line(rows.rejected, rejected), tuple(remarks), (step,))


def read_hmix_labels(path: Path, options: ReadOptions) -> Judgments:
    """Read ``hmix_categorical_soft_labels.csv``: 216 top-two answers about 100 mixes (S2-11).

    An item is the file name of a mixed image, which tells its sources and coefficient.
    """
    pages = read_top_two_pages(path, options, item="filename", gold=None)
    return judgments_from(
        ask("top-two", options.classes or CIFAR10),
        pages.table,
        file=path.name,
        lines=pages.lines,
        rejected=pages.rejected,
        remarks=pages.remarks,
        provenance=(Step("read hmix-labels", {}, {path.name: fingerprint_file(path)}),),
    )


def pair_of(text: str) -> tuple[str, str, str, str]:
    """Class and item of the first image, class and item of the second.

    >>> pair_of("Dog_2205_Frog_6908.png")
    ('dog', '2205', 'frog', '6908')
    """
    found = PAIR.fullmatch(text)
    if found is None:
        raise ValueError("not two images such as Dog_2205_Frog_6908")
    return found[1].lower(), found[2], found[3].lower(), found[4]


@dataclass(frozen=True)
class _Form:
    """Where one of the three files keeps its answers."""

    task: str  # our name of it
    page: str  # the file's name of it
    field: str  # the column with the answer
    read: Callable[[str], tuple[float, float | None]]  # from there to perceived, confidence
    mix: str  # the column that names what was shown
    shown: str | None  # the column with its coefficient


def _form_of(path: Path, columns: list[str]) -> _Form:
    for form in _FORMS:
        if {form.field, form.mix, "class_pair", "task"} <= set(columns):
            return form
    if "filename" in columns and "response" in columns:
        raise DataError(
            f"{path.name} holds labels of mixed images, not answers about how they were mixed. "
            "Read it as 'hmix-labels'."
        )
    raise DataError(
        f"{path.name} is no file of H-Mix: it needs the columns 'class_pair', 'task' and one of "
        f"{', '.join(repr(form.field) for form in _FORMS)}."
    )


def _columns(names: tuple[str, ...], values: Sequence[tuple[Any, ...] | None]) -> list[pl.Series]:
    rows = [(None,) * len(names) if value is None else value for value in values]
    return [
        pl.Series(name, [row[place] for row in rows], MIX_COLUMNS[name])
        for place, name in enumerate(names)
    ]


def _sliders(text: str) -> tuple[float, float]:
    try:
        stored = json.loads(text, strict=False)
        slider, confidence = float(stored["mixingcoeff"]), float(stored["confidence"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise ValueError("not JSON with the numbers 'mixingcoeff' and 'confidence'") from None
    if not (0 <= slider <= 100 and 0 <= confidence <= 100):
        raise ValueError("a slider stands outside 0 to 100")
    return 1 - slider / 100, confidence / 100


def _coefficient(text: str) -> tuple[float, None]:
    try:
        value = round(float(text), 6)  # steps of .1 added up in floating point
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise ValueError("not a coefficient from 0 to 1")
    return value, None


def _selected(text: str) -> tuple[float, None]:
    try:
        chosen = json.loads(text, strict=False)["select"]
        return _coefficient(chosen.removeprefix("select"))
    except (json.JSONDecodeError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("not JSON with the field 'select'") from None


_FORMS = (
    _Form("infer", "rate_mixture", "responses", _sliders, "filename", "mixtureCoeff"),
    _Form("construct-midpoint", "select_create", "final_value", _coefficient, "class_pair", None),
    _Form("select-midpoint", "select_shuffled", "response", _selected, "class_pair", None),
)


# Turn the crowd labels of LabelMe, one row per image and one column per person, into judgments.

NOT_ASKED = -1


def read_labelme(path: Path, options: ReadOptions) -> Judgments:
    """Read ``answers.npy``: 2,547 labels of 59 people for 1,000 images, 8 classes.

    Items and annotators are called by their row and column, classes by their names in
    the dataset unless the options rename them. ``labels_train.npy`` beside it, when there,
    gives ``gold``.
    """
    answers = load_array(path, dimensions=2)  # (items, annotators)
    classes = options.classes or LABELME
    row, person = np.nonzero(answers != NOT_ASKED)
    chosen = answers[row, person]
    good = (chosen >= 0) & (chosen < len(classes)) & (chosen % 1 == 0)
    rejected = [
        RejectedRow(
            path.name,
            int(row[at]) + 1,
            f"column {person[at]}",
            f"not a class number, 0 to {len(classes) - 1}",
            f"{chosen[at]:g}",
        )
        for at in np.flatnonzero(~good)
    ]
    row, person, chosen = row[good], person[good], chosen[good].astype(np.int64)
    inputs = {path.name: fingerprint_file(path)}
    columns = {
        "item": pl.Series(row).cast(pl.String),
        "annotator": pl.Series(person).cast(pl.String),
        "answer": chosen_answers(classes, chosen),
    }
    beside = path.with_name("labels_train.npy")
    if beside.exists():
        columns["gold"] = _gold(beside, len(answers), classes).gather(row)
        inputs[beside.name] = fingerprint_file(beside)
    options.progress(len(answers), len(answers))
    return judgments_from(
        ask("choose-one", classes),
        pl.DataFrame(columns),
        file=path.name,
        lines=row + 1,
        rejected=rejected,
        provenance=(Step("read labelme", {}, inputs),),
    )


def _gold(path: Path, n_items: int, classes: tuple[str, ...]) -> pl.Series:
    truth = load_array(path, dimensions=1)
    if len(truth) != n_items or not np.isin(truth, np.arange(len(classes))).all():
        raise DataError(
            f"{path.name} beside the answers holds {len(truth)} labels from {truth.min()} to "
            f"{truth.max()}; expected {n_items} from 0 to {len(classes) - 1}."
        )
    return pl.Series(classes, dtype=pl.String).gather(truth.astype(np.int64))


# ReaL: whether a class is in a picture, answered no, maybe or yes.

REAL = ("no", "maybe", "yes")


def read_real(path: Path, options: ReadOptions) -> Judgments:
    """Read ``raters.npz`` or ``raters_golden.npz``: people's answers to "is this class in it?".

    An item is a picture and a class, such as ``00030153-class-101``. The tensor of people,
    questions and answers is read person by person: it is 400 MB of zeros but for one in a hundred.
    """
    stored = load_arrays(path, needed=["info", "ids"])
    pictures = pl.Series(stored["info"][:, 0], dtype=pl.String).str.extract(r"(\d+)\.\w+$")
    items = pictures + "-class-" + pl.Series(stored["info"][:, 1], dtype=pl.String)
    people = pl.Series(stored["ids"]).cast(pl.String)
    if pictures.null_count() or items.n_unique() < len(items):
        raise DataError(f"{path.name}: 'info' does not name a picture and a class per question.")
    asked = [np.nonzero(block) for block in _people(path, (len(people), len(items), len(REAL)))]
    question = np.concatenate([rows for rows, _ in asked])
    person = np.repeat(np.arange(len(people)), [len(rows) for rows, _ in asked])
    order = np.argsort(question, kind="stable")
    table = {
        "item": items.gather(question[order]),
        "annotator": ("rater-" + people).gather(person[order]),
        "answer": chosen_answers(REAL, np.concatenate([said for _, said in asked])[order]),
    }
    options.progress(len(people), len(people))
    return judgments_from(
        ask("choose-one", REAL),
        pl.DataFrame(table),
        file=path.name,
        lines=question[order] + 1,
        provenance=(Step("read real", {}, {path.name: fingerprint_file(path)}),),
    )


def _people(path: Path, shape: tuple[int, int, int]) -> Iterator[NDArray[np.float64]]:
    """The answers of one person after the other, (questions, answers), one-hot or zero."""
    with zipfile.ZipFile(path) as archive, archive.open("tensor.npy") as file:
        np.lib.format.read_magic(file)
        found, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        if found != shape or fortran or dtype != np.float64:
            raise DataError(f"{path.name}: 'tensor' is {dtype} {found}; expected float64 {shape}.")
        for _ in range(shape[0]):
            block = np.frombuffer(file.read(8 * shape[1] * shape[2]))
            yield block.reshape(shape[1:])
