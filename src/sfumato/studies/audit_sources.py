"""Read the files that somebody was handed, all of them optional, over the same classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sfumato.data import ImageSet, load_own
from sfumato.errors import DataError, SfumatoError
from sfumato.evaluation.cartography import check_watched
from sfumato.evaluation.predictions import (
    Kind,
    load_predictions,
    other_class_order,
    read_original,
    require_same_classes,
)
from sfumato.evaluation.score import Missing, MissingPredictions, join
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.describe import DEFAULT_RECIPE
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.make import LabellingResult, LabelSettings, make_labels

Watched = NDArray[np.floating]  # (seeds, epochs, items, classes)

TARGETS = ("original", "majority", "soft")
"""Predictions of these names are of models that learnt from these labels."""


@dataclass(frozen=True)
class AuditSources:
    """The files; all are optional, but one must be there."""

    labels: Path | None = None
    judgments: Path | None = None
    """Instead of ``labels``, with what only judgments tell: times, unsure marks."""
    format: str = "sfumato"
    recipe: str | None = None
    """How one judgment becomes a label; by default the one that uses all that was asked."""
    original: Path | None = None
    images: Path | None = None
    table: Path | None = None
    predictions: tuple[tuple[str, Path], ...] = ()
    """Name and file; several files of one name are seeds."""
    dynamics: Path | None = None


@dataclass(frozen=True)
class AuditSettings:
    """How the files are read and how much is drawn."""

    classes: tuple[str, ...] | None = None
    """The order of columns and class numbers that a file does not name."""
    kind: Kind = "probabilities"
    missing: Missing = "error"
    near: bool = True
    """Whether near duplicates are sought too."""
    draws: int = 1000
    seed: int = 0


def named_predictions(texts: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """Name and file of each ``NAME=FILE`` or ``FILE``, which is called as the file.

    >>> named_predictions(["soft=run-1.npz", "models/resnet.csv"])
    (('soft', PosixPath('run-1.npz')), ('resnet', PosixPath('models/resnet.csv')))
    """
    found: list[tuple[str, Path]] = []
    plain = [Path(text) for text in texts if not _is_named(text)]
    stems = [path.stem for path in plain]
    for text in texts:
        name, _, file = text.partition("=") if _is_named(text) else ("", "", text)
        if _is_named(text) and not (name.strip() and file.strip()):
            raise DataError(f"Predictions are given as FILE or NAME=FILE; found {text!r}.")
        path = Path(file.strip())
        unique = stems.count(path.stem) == 1
        called = name.strip() or (path.stem if unique else str(path.with_suffix("")))
        if any(path == other for _, other in found):
            raise DataError(f"The predictions {path} are given twice; give each file once.")
        found.append((called, path))
    return tuple(found)


def _is_named(text: str) -> bool:
    return "=" in text and not Path(text).is_file()


def check_sources(sources: AuditSources) -> None:
    """Refuse files that cannot be audited, alone or together, with what to give instead."""
    if not any((sources.labels, sources.judgments, sources.images, sources.dynamics)):
        more = " or ".join(
            name
            for name, given in (
                ("--original", sources.original),
                ("--predictions", sources.predictions),
            )
            if given
        )
        raise DataError(
            (
                f"{more} needs something to be held against. "
                if more
                else "There is nothing to audit. "
            )
            + "Give people's labels (--labels) or judgments (--judgments), pictures (--images with "
            "--table), or what models believed while they learnt (--dynamics)."
        )
    if sources.labels and sources.judgments:
        raise DataError("--labels and --judgments are both given; labels are made from judgments.")
    if (sources.images is None) != (sources.table is None):
        raise DataError("--images and --table go together: pictures, and their items and labels.")
    people = sources.labels or sources.judgments
    if sources.predictions and not people:
        raise DataError(
            "--predictions are held against people's labels; give them too (--labels, --judgments)."
        )
    if sources.recipe and not sources.judgments:
        raise DataError("--recipe makes labels from judgments; give the judgments (--judgments).")
    if sources.original and not people and not sources.dynamics:
        raise DataError(
            "--original is held against people's labels (--labels, --judgments) or is the target "
            "of a data map (--dynamics); give one of these."
        )


@dataclass(frozen=True, eq=False)
class GivenFiles:
    """The files, read and brought to the same classes."""

    people: LabelSet | None
    made: LabellingResult | None
    judgments: Judgments | None
    original: LabelSet | None
    pictures: ImageSet | None
    source: str
    """What the pictures are called."""
    models: dict[str, LabelSet]
    targets: dict[str, list[LabelSet]]
    """Models of the names ``TARGETS``, one per seed."""
    watched: Watched | None
    watched_items: tuple[str, ...]
    watched_file: str
    remarks: tuple[str, ...]
    """What was left out of the files, a sentence each."""


def read_files(sources: AuditSources, settings: AuditSettings) -> GivenFiles:
    """The files that are there, over the same classes."""
    remarks: list[str] = []
    judgments, made, people = None, None, None
    if sources.labels is not None:
        people = read_labels(sources.labels, classes=settings.classes)
    if sources.judgments is not None:
        judgments = _read_judgments(sources, settings, remarks)
        recipe = sources.recipe or DEFAULT_RECIPE[judgments.question.kind]
        made = make_labels(judgments, LabelSettings(recipe, seed=settings.seed))
        people = made.labels
    if people is not None and not len(people):
        raise DataError(f"{(sources.labels or sources.judgments)} holds no items.")
    classes = settings.classes if people is None else people.classes
    pictures = _read_pictures(sources, classes)
    classes = classes or (None if pictures is None else pictures.classes)
    watched, items, classes = _read_dynamics(sources.dynamics, classes)
    original = None if pictures is None else pictures.original()
    if sources.original is not None:
        assert classes is not None  # people or dynamics are there
        original = read_original(sources.original, classes=classes, unnamed=settings.classes)
    if original is not None and people is not None:
        place = sources.original or sources.table
        assert place is not None
        strict = settings.missing if sources.original else "leave out"
        _require_shared(place, people, original, strict, remarks)
    models, targets = _read_models(sources, settings, people, remarks)
    source = "" if sources.images is None else sources.images.name
    return GivenFiles(
        people,
        made,
        judgments,
        original,
        pictures,
        source,
        models,
        targets,
        watched,
        items,
        "" if sources.dynamics is None else sources.dynamics.name,
        tuple(remarks),
    )


def _read_models(
    sources: AuditSources, settings: AuditSettings, people: LabelSet | None, remarks: list[str]
) -> tuple[dict[str, LabelSet], dict[str, list[LabelSet]]]:
    """Every model by its name, and the seeds of those that say what they learnt from."""
    models: dict[str, LabelSet] = {}
    targets: dict[str, list[LabelSet]] = {}
    names = [name for name, _ in sources.predictions]
    for at, (name, path) in enumerate(sources.predictions):
        assert people is not None
        loaded = load_predictions(
            path,
            name=path.name,
            classes=people.classes,
            items=people.items,
            unnamed=settings.classes,
            kind=settings.kind,
        )
        require_same_classes(path.name, loaded.labels, people.classes)
        remarks += loaded.remarks
        human, model = _joined(path, people, loaded.labels, settings.missing)
        if len(human) < len(people):
            remarks.append(f"{path.name} covers {len(human):,} of {len(people):,} labelled items.")
        if loaded.by_position("classes") and (doubt := other_class_order(human, model)):
            remarks.append(f"{path.name}: {doubt}")
        called = name if names.count(name) == 1 else f"{name} {names[: at + 1].count(name)}"
        models[called] = model
        if name in TARGETS:
            targets.setdefault(name, []).append(model)
    return models, targets


def _read_judgments(
    sources: AuditSources, settings: AuditSettings, remarks: list[str]
) -> Judgments:
    assert sources.judgments is not None
    found = read(sources.judgments, sources.format, ReadOptions(classes=settings.classes))
    if not isinstance(found, Judgments):
        raise DataError(
            f"{sources.judgments.name} holds {type(found).__name__}, which are not about the "
            "classes of single items; an audit reads judgments of items."
        )
    if found.rejected:
        remarks.append(
            f"Rows set aside: {len(found.rejected):,}, the first in {found.rejected[0]}. "
            "`sfumato describe` lists the reasons."
        )
    return found


def _read_pictures(sources: AuditSources, classes: Sequence[str] | None) -> ImageSet | None:
    if sources.images is None or sources.table is None:
        return None
    try:
        return load_own(sources.images, sources.table, classes=classes)
    except SfumatoError as error:
        told_already = sources.table.name in str(error)
        raise DataError(str(error) if told_already else f"{sources.table.name}: {error}") from None


def _read_dynamics(
    path: Path | None, classes: tuple[str, ...] | None
) -> tuple[Watched | None, tuple[str, ...], tuple[str, ...] | None]:
    """What was watched, over the known classes, of which items; and the classes."""
    if path is None:
        return None, (), classes
    if not path.is_file():
        raise DataError(f"There is no file {path}. Check the name and the folder.")
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError, BadZipFile, AttributeError, TypeError) as error:
        raise DataError(f"{path.name} cannot be read as .npz: {error}.") from None
    for name in ("watched", "items"):
        if name not in arrays:
            raise DataError(
                f"{path.name} has no array {name!r}; it holds {', '.join(arrays) or 'nothing'}. "
                "Dynamics are `watched` (seeds, epochs, items, classes) and `items`."
            )
    watched, items = arrays["watched"], tuple(map(str, arrays["items"].tolist()))
    try:
        check_watched(watched, items)
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None
    width = watched.shape[3]
    named = tuple(map(str, arrays["classes"].tolist())) if "classes" in arrays else classes
    named = named or tuple(map(str, range(width)))
    known = classes or named
    if len(named) != width or set(named) != set(known) or len(set(items)) < len(items):
        raise DataError(
            f"{path.name}: {width} classes of {len(items)} items were watched; expected the "
            f"classes {', '.join(known)} and every item once."
        )
    return watched[..., [named.index(name) for name in known]], items, tuple(known)


def _require_shared(
    path: Path, people: LabelSet, original: LabelSet, missing: Missing, remarks: list[str]
) -> None:
    known = set(original.items)
    lacking = [item for item in people.items if item not in known]
    if lacking and (missing == "error" or len(lacking) == len(people)):
        raise DataError(
            f"{path.name}: item {lacking[0]!r} has no original label ({len(lacking)} of "
            f"{len(people)} have none). Add it, or compare the items that both have "
            "(--shared-items)."
        )
    if lacking:
        remarks.append(f"{path.name} has no original label of {len(lacking):,} labelled items.")


def _joined(
    path: Path, people: LabelSet, model: LabelSet, missing: Missing
) -> tuple[LabelSet, LabelSet]:
    try:
        return join(people, model, missing)
    except MissingPredictions as error:
        raise DataError(f"{path.name}: {error} (--shared-items does so.)") from None
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None
