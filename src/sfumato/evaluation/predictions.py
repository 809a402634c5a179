"""Read what any model believes, stored by anybody, as a ``LabelSet``.

Tables (``.csv``, ``.parquet``) hold ``item``, then one column a class. Arrays (``.npy``, and
``.npz`` under the name ``probs`` or ``logits``) hold a row an item; an ``.npz`` may name its
``items`` and ``classes``. Columns are matched by name where there are names. What a file does
not name is taken by position, and the provenance says so. Probabilities are expected unless
logits are announced: a file never decides that by looking like one or the other.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from sfumato.errors import DataError
from sfumato.evaluation.score import Missing, Place, ensemble, evaluate, join, leaderboard
from sfumato.labels.files import read_arrays, read_item_table, read_labels, with_numbers
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import agreement_strata, disputed_thirds, strata_of
from sfumato.names import find
from sfumato.provenance import Provenance, Step, fingerprint_file, from_json
from sfumato.scores import Estimate

Scale = Literal["probabilities", "logits"]
"""What the stored numbers are. Logits become probabilities by a softmax."""

ROUNDED_SUM = 1e-3
"""Rows this close to one are rounded (float16, or four digits in a text); the rounding is undone
by dividing by the sum, not more."""

SUFFIXES = (".csv", ".parquet", ".npz", ".npy")

LABEL_COLUMNS = ("label", "class", "original")
"""A table of hard labels has one of these beside ``item``, holding class names."""


@dataclass(frozen=True)
class _Stored:
    """What a file holds, before anything is believed."""

    values: NDArray[np.generic]  # (rows, columns), or (rows,) for class numbers
    items: tuple[str, ...] | None
    classes: tuple[str, ...] | None
    scale: Scale | None = None


def read_predictions(
    path: Path,
    *,
    classes: Sequence[str],
    unnamed: Sequence[str] | None = None,
    scale: Scale = "probabilities",
) -> LabelSet:
    """The predictions of a file over the given classes, in their order.

    ``classes`` are those of the labels the predictions will be compared with. Named columns are
    brought into their order; columns without names are in the order ``unnamed``, or in that of
    ``classes`` too. Rows without names are the items "0", "1", … A wrong row is an error that
    names the file, the row and the remedy.
    """
    stored = _read(path)
    if stored.values.ndim != 2:
        raise DataError(
            f"{path.name} holds an array of shape {stored.values.shape}; predictions are a row "
            "of probabilities for each item."
        )
    return _labels(path, stored, classes, unnamed, scale)


def read_original(
    path: Path, *, classes: Sequence[str], unnamed: Sequence[str] | None = None
) -> LabelSet:
    """Original (hard) labels as one-hot rows: class numbers in an array, class names in a table
    with the columns ``item`` and ``label``, or any file that ``read_predictions`` reads.

    Numbers count from 0 in the order ``unnamed``, or in that of ``classes``.
    """
    stored = _read(path)
    if stored.values.ndim == 2:
        return _labels(path, stored, classes, unnamed, "probabilities")
    order = tuple(unnamed or classes)
    rows = np.eye(len(order))[_class_positions(path, stored.values, order)]
    one_hot = _Stored(rows, stored.items, order)
    return _labels(path, one_hot, classes, None, "probabilities")


def other_class_order(human: LabelSet, model: LabelSet) -> str:
    """A sentence if the model agrees with people far better under another order of its columns.

    Columns without names are taken by position, and a file in another order gives a model that
    seems to know nothing. If matching each column to the class it picks best more than doubles
    the agreement, and takes it over a half, the order is in doubt; otherwise the text is empty.
    """
    pairs = np.zeros((len(human.classes), len(human.classes)))
    np.add.at(pairs, (human.probs.argmax(axis=1), model.probs.argmax(axis=1)), 1 / len(human))
    rows, columns = linear_sum_assignment(pairs, maximize=True)
    agree, best = float(np.trace(pairs)), float(pairs[rows, columns].sum())
    if best < 0.5 or best < 2 * agree:
        return ""
    order = sorted(zip(columns, rows, strict=True))
    names = ", ".join(human.classes[row] for _, row in order)
    return (
        f"The most probable class agrees with people on {agree:.1%} of the items, but on "
        f"{best:.1%} if the columns are {names}. If the classes are in that order, name them in "
        "the file or give their order."
    )


def _read(path: Path) -> _Stored:
    if not path.is_file():
        raise DataError(f"There is no file {path}. Check the name and the folder.")
    match path.suffix:
        case ".csv" | ".parquet":
            return _read_table(path)
        case ".npz" | ".npy":
            return _read_array(path)
        case _:
            raise DataError(
                f"{path.name} is no file of predictions: expected {', '.join(SUFFIXES[:-1])} "
                f"or {SUFFIXES[-1]}."
            )


def _read_table(path: Path) -> _Stored:
    table = read_item_table(path, what="A file of predictions")
    items = tuple(table["item"].to_list())
    if None in items:
        raise DataError(f"{path.name}, row {items.index(None) + 1}, column 'item' is empty.")
    names = [name for name in table.columns if name not in ("item", "annotator")]
    if len(names) == 1 and names[0] in LABEL_COLUMNS:
        return _Stored(table[names[0]].cast(pl.String).to_numpy(), items, None)
    numbers = with_numbers(path, table, names).select(names)
    return _Stored(numbers.to_numpy(), items, tuple(names))


def _read_array(path: Path) -> _Stored:
    stored = read_arrays(path)
    named: tuple[Literal["probs", "logits"], ...] = ("probs", "logits")
    present = [name for name in named if name in stored]
    if len(present) != 1:
        found = ", ".join(sorted(stored)) or "nothing"
        raise DataError(
            f"{path.name} holds {found}; predictions are one array called 'probs' or 'logits', "
            "of shape (items, classes)."
        )
    values = stored[present[0]]
    if values.ndim not in (1, 2) or values.dtype.kind not in "fiu":
        raise DataError(
            f"{path.name}: {present[0]!r} has shape {values.shape} and type {values.dtype}; "
            "expected numbers of shape (items, classes)."
        )
    return _Stored(
        values,
        _names(path, stored, "items", len(values)),
        _names(path, stored, "classes", values.shape[-1]) if values.ndim == 2 else None,
        "logits" if present[0] == "logits" else None,
    )


def _names(
    path: Path, stored: dict[str, NDArray[np.generic]], which: str, count: int
) -> tuple[str, ...] | None:
    if which not in stored:
        return None
    names = tuple(map(str, stored[which].tolist()))
    if len(names) != count:
        raise DataError(f"{path.name} names {len(names)} {which}, but its array has {count}.")
    return names


def _labels(
    path: Path,
    stored: _Stored,
    classes: Sequence[str],
    unnamed: Sequence[str] | None,
    scale: Scale,
) -> LabelSet:
    values = stored.values.astype(np.float64)
    items = stored.items or tuple(map(str, range(len(values))))
    names = stored.classes or tuple(unnamed or classes)
    columns = _columns(path, names, values.shape[1], classes)
    _refuse_not_a_number(path, values, items, names)
    read_as = stored.scale or scale
    match read_as:
        case "probabilities":
            probs = _probabilities(path, values, items)
        case "logits":
            probs = softmax(values, axis=1)
        case _:
            assert_never(read_as)
    settings: dict[str, str] = {
        "scale": read_as,
        "items": "by name" if stored.items else "by position",
        "classes": "by name" if stored.classes else "by position",
    }
    provenance = _provenance(path, settings)
    try:
        return LabelSet(items, tuple(classes), probs[:, columns], provenance=provenance)
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None


def _columns(path: Path, names: Sequence[str], width: int, classes: Sequence[str]) -> list[int]:
    """Where each of the classes is among the named columns."""
    if width != len(names):
        raise DataError(
            f"{path.name} has {width} columns, but there are {len(names)} classes: "
            f"{', '.join(names)}."
        )
    odd = sorted(set(names) ^ set(classes))
    if odd:
        where = path.name if odd[0] in names else "the labels"
        raise DataError(
            f"{path.name} and the labels do not have the same classes: {odd[0]!r} is in {where} "
            f"only ({len(odd)} such names). Rename the columns as the classes of the labels."
        )
    return [names.index(name) for name in classes]


def _refuse_not_a_number(
    path: Path, values: NDArray[np.float64], items: Sequence[str], names: Sequence[str]
) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"{path.name}, row {row + 1} (item {items[row]!r}), class {names[column]!r}: found "
            f"{values[row, column]}, expected a number ({int(bad.any(axis=1).sum())} of "
            f"{len(values)} rows are like this)."
        )


def _probabilities(
    path: Path, values: NDArray[np.float64], items: Sequence[str]
) -> NDArray[np.float64]:
    sums = values.sum(axis=1)
    wrong = (np.abs(sums - 1) > ROUNDED_SUM) | (values < 0).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        negative = values[row].min() < 0
        found = f"holds {values[row].min():.4g}" if negative else f"sums to {sums[row]:.4g}, not 1"
        raise DataError(
            f"{path.name}, row {row + 1} (item {items[row]!r}) {found}, so it is no distribution "
            f"({int(wrong.sum())} of {len(values)} rows are none). If these are scores before the "
            "softmax, read them as logits (--logits)."
        )
    return values / sums[:, None]


def _class_positions(
    path: Path, stored: NDArray[np.generic], classes: Sequence[str]
) -> NDArray[np.int64]:
    if stored.dtype.kind not in "iu":  # names, or numbers that were written as text
        position = {name: place for place, name in enumerate(classes)}
        unknown = [(row, name) for row, name in enumerate(stored.tolist()) if name not in position]
        if unknown:
            row, name = unknown[0]
            raise DataError(
                f"{path.name}, row {row + 1}: no class is called {name!r}; the labels have "
                f"{', '.join(classes)}."
            )
        return np.array([position[name] for name in stored.tolist()], dtype=np.int64)
    chosen = stored.astype(np.int64)
    wrong = (chosen < 0) | (chosen >= len(classes))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{path.name}, row {row + 1}: found class number {chosen[row]}, expected 0 to "
            f"{len(classes) - 1}."
        )
    return chosen


def _provenance(path: Path, settings: dict[str, str]) -> Provenance:
    """What is known of how the file came about, and that it was read."""
    beside = path.with_name(path.name + ".json")
    before: Provenance = ()
    if beside.is_file():
        stored = json.loads(beside.read_text(encoding="utf-8"))
        before = from_json(stored.get("provenance", []))
    return (*before, Step("read predictions", {**settings}, {path.name: fingerprint_file(path)}))


# Score files: people's labels and any number of models' stored predictions, as one function.

ENSEMBLE = "ensemble"
"""The name of the models' mean."""

STRATA = ("unanimous", "disputed")
"""The strata that are scored beside "all" unless others are asked for."""

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class EvaluationSettings:
    """What is scored, and how; everything but the files."""

    metrics: tuple[str, ...] | None = None
    """Names of ``METRICS`` and of the reference lines; None for all."""
    strata: tuple[str, ...] = STRATA
    classes: tuple[str, ...] | None = None
    """The order of columns and class numbers that a file does not name."""
    scale: Scale = "probabilities"
    missing: Missing = "error"
    ensemble: bool = False
    """Whether the mean of the models is scored as one more."""
    draws: int = 1000
    seed: int = 0


@dataclass(frozen=True)
class FileEvaluation:
    """What ``evaluate_files`` found."""

    scores: list[Estimate]
    places: list[Place]
    """The leaderboard; empty for a single model."""
    remarks: list[str]
    """What a person should look at: sentences."""


def evaluate_files(
    labels: Path,
    predictions: Sequence[Path],
    *,
    original: Path | None = None,
    settings: EvaluationSettings,
    advance: Advance = lambda done, total: None,
) -> FileEvaluation:
    """Every score of every file of predictions against the labels, and who is closest to people."""
    human = read_labels(labels, classes=settings.classes)
    truth = None
    if original is not None:
        truth = read_original(original, classes=human.classes, unnamed=settings.classes)
        _joined(original, human, truth, "error")
    models = {
        name: read_predictions(
            path, classes=human.classes, unnamed=settings.classes, scale=settings.scale
        )
        for name, path in _arms(predictions).items()
    }
    for path, model in zip(predictions, models.values(), strict=True):
        human = _joined(path, human, model, settings.missing)
    remarks = [
        f"{path.name}: {doubt}"
        for path, model in zip(predictions, models.values(), strict=True)
        if _by_position(model, "classes") and (doubt := other_class_order(*join(human, model)))
    ]
    if settings.ensemble:
        models[ENSEMBLE] = ensemble({name: join(human, each)[1] for name, each in models.items()})
    strata = _chosen(settings.strata, human, truth)
    rng = np.random.default_rng(settings.seed)
    scores: list[Estimate] = []
    for done, (arm, model) in enumerate(models.items()):
        advance(done, len(models))
        scores += evaluate(
            human,
            model,
            original=truth,
            metrics=settings.metrics,
            strata=strata,
            arm=arm,
            rng=rng,
            draws=settings.draws,
        )
    places = []
    if len(models) > 1:
        places = leaderboard(human, models, original=truth, rng=rng, draws=settings.draws)
    return FileEvaluation(scores, places, remarks)


def _arms(predictions: Sequence[Path]) -> dict[str, Path]:
    """A name a file: its own, or with its folder where two files are called the same."""
    stems = [path.stem for path in predictions]
    named = {
        stem if stems.count(stem) == 1 else str(path.with_suffix("")): path
        for stem, path in zip(stems, predictions, strict=True)
    }
    if len(named) < len(predictions):
        twice = next(path for path in predictions if list(predictions).count(path) > 1)
        raise DataError(f"The predictions {twice} are given twice; give each file once.")
    if ENSEMBLE in named and len(named) > 1:
        raise DataError(f"{named[ENSEMBLE].name} is called as the mean of all; rename the file.")
    return named


def _joined(path: Path, human: LabelSet, model: LabelSet, missing: Missing) -> LabelSet:
    """The labels of the items that the file has; an error names the file."""
    try:
        return join(human, model, missing)[0]
    except DataError as error:
        hint = ""
        if _by_position(model, "items"):
            hint = " The file names no items, so its rows are taken as '0', '1', …; store 'items'."
        raise DataError(f"{path.name}: {error}{hint}") from None


def _by_position(model: LabelSet, what: str) -> bool:
    return model.provenance[-1].settings.get(what) == "by position"


def _chosen(
    names: Sequence[str], human: LabelSet, original: LabelSet | None
) -> dict[str, NDArray[np.bool_]]:
    known: Mapping[str, NDArray[np.bool_]] = {
        "all": np.ones(len(human), dtype=np.bool_),
        **strata_of(human),
        **disputed_thirds(human),
        **(agreement_strata(human, original) if original is not None else {}),
    }
    return {name: find(known, name, what="stratum") for name in names if name != "all"}
