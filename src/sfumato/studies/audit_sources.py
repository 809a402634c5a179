"""Read the files that somebody was handed, all of them optional, over the same classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sfumato.data import ImageSet, load_own
from sfumato.errors import DataError, SfumatoError
from sfumato.evaluation.cartography import check_watched
from sfumato.evaluation.models import over_shared_classes
from sfumato.evaluation.predictions import (
    Kind,
    load_original,
    load_predictions,
    other_class_order,
)
from sfumato.evaluation.score import Missing, join
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import DEFAULT_RECIPE
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.make import LabellingResult, LabelSettings, make_labels
from sfumato.labels.verbs import to_judgments

Watched = NDArray[np.floating]  # (seeds, epochs, items, classes)

TARGETS = ("original", "majority", "soft")
"""Predictions of these names are of models that learnt from these labels."""


@dataclass(frozen=True)
class AuditSources:
    """The files; all are optional, but one must be there.

    Labels, judgments, original labels and predictions may also be in memory, as what they are or
    as tables.
    """

    labels: object = None
    judgments: object = None
    """Instead of ``labels``, with what only judgments tell: times, unsure marks."""
    format: str | None = None
    """What kind of file the judgments are; guessed where nobody says."""
    reading: ReadOptions = field(default_factory=ReadOptions)
    """What is said about the file of judgments: columns, question, renames."""
    recipe: str | None = None
    """How one judgment becomes a label; by default the one that uses all that was asked."""
    original: object = None
    images: Path | None = None
    table: Path | None = None
    predictions: tuple[tuple[str, object], ...] = ()
    """Name and source; several of one name are seeds."""
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
    people = sources.labels is not None or sources.judgments is not None
    dynamics = sources.dynamics is not None
    if not people and sources.images is None and not dynamics:
        held = {"Original labels": sources.original, "Predictions": sources.predictions}
        given = [name for name, source in held.items() if source]
        raise DataError(
            (
                f"{' and '.join(given)} need something to be held against. "
                if given
                else "There is nothing to audit. "
            )
            + "Give people's labels or judgments, images with their table, or dynamics: what "
            "models believed while they learnt."
        )
    if sources.labels is not None and sources.judgments is not None:
        raise DataError("Labels and judgments are both given; labels are made from judgments.")
    if (sources.images is None) != (sources.table is None):
        raise DataError("Images and a table go together: pictures, and their items and labels.")
    if sources.predictions and not people:
        raise DataError("Predictions are held against people's labels; give labels or judgments.")
    if sources.recipe and sources.judgments is None:
        raise DataError("A recipe makes labels from judgments; give the judgments.")
    if sources.original is not None and not people and not dynamics:
        raise DataError(
            "Original labels are held against people's labels, or are the target of a data map; "
            "give labels, judgments or dynamics."
        )


def source_name(source: object, what: str) -> str:
    """The name of a file; of anything in memory ``what`` it is."""
    return Path(source).name if isinstance(source, str | Path) else what


@dataclass(frozen=True, eq=False)
class GivenFiles:
    """The files, read and brought to the same classes."""

    people: LabelSet | None
    held: LabelSet | None
    """People's labels as models are held against them: given the classes that all of these have."""
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
        raise DataError(f"{source_name(sources.labels, 'The table of labels')} holds no items.")
    classes = settings.classes if people is None else people.classes
    pictures = _read_pictures(sources, classes)
    classes = classes or (None if pictures is None else pictures.classes)
    watched, items, classes = _read_dynamics(sources.dynamics, classes)
    original = None if pictures is None else pictures.original()
    if sources.original is not None:
        assert classes is not None  # people or dynamics are there
        name = source_name(sources.original, "original labels")
        original = load_original(
            sources.original, name=name, classes=classes, unnamed=settings.classes
        )
    if original is not None and people is not None:
        place = source_name(
            sources.table if sources.original is None else sources.original, "original labels"
        )
        strict = settings.missing if sources.original is not None else "leave out"
        _require_shared(place, people, original, strict, remarks)
    held, models = people, _read_models(sources, settings, people, remarks)
    if held is not None:
        held, models, said = over_shared_classes(held, models)
        remarks += said
    targets = _targets([name for name, _ in sources.predictions], models)
    source = "" if sources.images is None else sources.images.name
    return GivenFiles(
        people,
        held,
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
) -> dict[str, LabelSet]:
    """Every model by its name, those of several seeds numbered, over classes of its own."""
    models: dict[str, LabelSet] = {}
    names = [name for name, _ in sources.predictions]
    for at, (name, source) in enumerate(sources.predictions):
        assert people is not None
        told = source_name(source, name)
        loaded = load_predictions(
            source,
            name=told,
            classes=people.classes,
            items=people.items,
            unnamed=settings.classes,
            kind=settings.kind,
        )
        remarks += loaded.remarks
        same = {*loaded.labels.classes} == {*people.classes}
        among = people if same else _over(people, loaded.labels.classes)
        human, model = _joined(told, among, loaded.labels, settings.missing)
        if len(human) < len(people):
            remarks.append(f"{told} covers {len(human):,} of {len(people):,} labelled items.")
        by_place = same and loaded.by_position("classes")
        if by_place and (doubt := other_class_order(human, model)):
            remarks.append(f"{told}: {doubt}")
        models[called_at(names, at)] = model
    return models


def _over(labels: LabelSet, classes: tuple[str, ...]) -> LabelSet:
    """Labels with any rows over other classes; only the items are looked at."""
    rows = np.full((len(labels), len(classes)), 1 / len(classes))
    return LabelSet(labels.items, classes, rows, labels.weight, labels.provenance)


def called_at(names: Sequence[str], at: int) -> str:
    """What the model at a place is called: seeds of one name are numbered.

    >>> called_at(["soft", "vote", "soft"], 2)
    'soft 2'
    """
    name = names[at]
    return name if names.count(name) == 1 else f"{name} {names[: at + 1].count(name)}"


def _targets(names: Sequence[str], models: Mapping[str, LabelSet]) -> dict[str, list[LabelSet]]:
    """The seeds of the models that say what they learnt from."""
    found: dict[str, list[LabelSet]] = {}
    for at, name in enumerate(names):
        if name in TARGETS:
            found.setdefault(name, []).append(models[called_at(names, at)])
    return found


def _read_judgments(
    sources: AuditSources, settings: AuditSettings, remarks: list[str]
) -> Judgments:
    assert sources.judgments is not None
    if isinstance(sources.judgments, Judgments):
        found = sources.judgments
    else:
        found = to_judgments(
            sources.judgments,
            format=sources.format,
            options=replace(sources.reading, classes=settings.classes),
        )
    if found.rejected:
        remarks.append(
            f"Rows set aside: {len(found.rejected):,}, the first in {found.rejected[0]}."
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
    name: str, people: LabelSet, original: LabelSet, missing: Missing, remarks: list[str]
) -> None:
    known = set(original.items)
    lacking = [item for item in people.items if item not in known]
    if lacking and (missing == "error" or len(lacking) == len(people)):
        raise DataError(
            f"{name}: item {lacking[0]!r} has no original label ({len(lacking)} of "
            f"{len(people)} have none). Add it, or compare the shared items only."
        )
    if lacking:
        remarks.append(f"{name} has no original label of {len(lacking):,} labelled items.")


def _joined(
    name: str, people: LabelSet, model: LabelSet, missing: Missing
) -> tuple[LabelSet, LabelSet]:
    try:
        return join(people, model, missing)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
