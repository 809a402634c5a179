"""Read what somebody wants to look at, a file, a run, a dataset or data in memory, as one table."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.data import ImageSet, load, load_judgments, load_labels, parts
from sfumato.data.images import ReadPixels, match_pictures
from sfumato.data.registry import DATASETS, data_folder
from sfumato.errors import DataError, SfumatoError
from sfumato.evaluation.predictions import Kind, load_predictions, other_class_order
from sfumato.frames import is_table, to_frame
from sfumato.items.items import Items
from sfumato.items.load import load_items
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import NoAnswers, ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.build import DEFAULT_RECIPE, build
from sfumato.labels.files import load_labels as load_label_file
from sfumato.labels.labelset import CrowdLabels, LabelSet, align
from sfumato.labels.tables import find_items, read_frame
from sfumato.labels.verbs import to_judgments
from sfumato.names import find
from sfumato.provenance import is_simulated
from sfumato.reporting.contents import load_contents
from sfumato.studies.data import RunFolder
from sfumato.viewing.table import ItemTable, ViewedSets

PEOPLE, SIMULATED, LABELS = "people", "simulated people", "labels"
"""What the first label set is called: by whose it is, where that is known."""

GROUPS = ("split", "stratum")
"""Columns of a table that say to which group an item belongs."""


@dataclass(frozen=True)
class ViewSettings:
    """What is shown beside the source, and how it is read."""

    predictions: Mapping[str, object] = field(default_factory=dict)
    """Beliefs of models by name: label sets, files, tables or arrays."""
    kind: Kind = "probabilities"
    images: object = None
    """A folder or zip archive, a dataset (``NAME`` or ``NAME/PART``), ``Items``, arrays by item."""
    text: object = None
    """A column of the source, or a file or table of items and texts, or texts by item."""
    title: str = ""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Options of ``read``."""


def open_table(source: object, settings: ViewSettings | None = None) -> ItemTable:
    """The table of whatever is to be looked at.

    >>> open_table([{"item": 1, "cat": 0.5, "dog": 0.5}]).items
    ('1',)
    """
    wanted = settings or ViewSettings()
    viewed = _of_source(source, wanted)
    viewed = _with_predictions(viewed, wanted)
    items = next(iter(viewed.sets.values())).items
    if wanted.images is not None:
        viewed = replace(viewed, pictures=_pictures(wanted.images, items))
    if wanted.text is not None:
        texts = load_contents(items, text=wanted.text, answers=source, longest=sys.maxsize).texts
        viewed = replace(viewed, texts=texts)
    return ItemTable(replace(viewed, title=wanted.title or viewed.title))


def _of_source(source: object, wanted: ViewSettings) -> ViewedSets:
    if isinstance(source, RunFolder):
        return _of_run(source)
    if isinstance(source, str | Path):
        path = Path(source)
        if path.is_dir() and (path / "run.json").is_file():
            return _of_run(RunFolder.open(path))
        if not path.exists():
            return _of_dataset(str(source))
        return _of_table(path, path.name, read_columns(path), wanted)
    if isinstance(source, LabelSet | CrowdLabels | Judgments):
        return _of_people(source, "labels in memory")
    if not is_table(source):
        raise DataError(
            f"A {type(source).__name__} cannot be looked at; give labels, answers, a file, the "
            "folder of a run, a table, or the name of a dataset."
        )
    return _of_table(source, "a table", to_frame(source), wanted)


def _of_table(source: object, title: str, table: pl.DataFrame, wanted: ViewSettings) -> ViewedSets:
    """Answers if the source holds answers, otherwise labels; with the groups that it names."""
    try:
        viewed = _of_people(to_judgments(source, **wanted.reading), title)
    except NoAnswers:
        about = [name for name in (*GROUPS, wanted.text) if name in table.columns]
        viewed = _of_label_table(table.drop(about) if about else source, title, wanted)
    return _with_groups(viewed, table)


def _of_label_table(source: object, title: str, wanted: ViewSettings) -> ViewedSets:
    options = wanted.reading.get("options") or ReadOptions()
    loaded = load_label_file(
        source,
        classes=wanted.reading.get("classes", options.classes),
        item=wanted.reading.get("item", options.item),
    )
    return replace(_of_people(loaded.labels, title), remarks=loaded.remarks)


def _of_people(labels: LabelSet | CrowdLabels | Judgments, title: str) -> ViewedSets:
    """The labels, those that follow from answers by the usual recipe with these answers."""
    if isinstance(labels, Judgments):
        return _of_answers(labels, title)
    crowd = labels if isinstance(labels, CrowdLabels) else labels.crowd
    mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
    simulated = is_simulated(mean.provenance)
    people = PEOPLE if crowd is not None or mean.weight.any() else LABELS
    return ViewedSets(title, {SIMULATED if simulated else people: mean}, crowd, simulated=simulated)


def _of_answers(judgments: Judgments, title: str) -> ViewedSets:
    chosen = select(judgments)
    if not len(chosen):
        raise DataError(f"{title} holds no answer that makes a label.")
    built = build(chosen, DEFAULT_RECIPE[judgments.question.kind])
    seconds = chosen.table["seconds"].to_numpy().astype(np.float64)[built.used]
    told = _left_out(len(judgments) - len(chosen), len(built.left_out), judgments)
    return replace(_of_people(built.crowd, title), seconds=seconds, remarks=tuple(told))


def _left_out(repeated: int, unclear: int, judgments: Judgments) -> list[str]:
    told = {
        "repeats, checks, practice trials or duplicates": repeated,
        "too little said for a label": unclear,
        "rows that could not be read": len(judgments.rejected),
    }
    return [f"Not shown: {number:,} ({what})." for what, number in told.items() if number]


# A dataset of the registry.


def _of_dataset(source: str) -> ViewedSets:
    """Answers or labels of a dataset, with its pictures where they are here."""
    name, _, wanted = source.partition("/")
    if name not in DATASETS and any(sign in source for sign in "./\\"):
        raise DataError(f"There is no file or folder {source}, and no dataset of that name.")
    dataset = find(DATASETS, name, what="file, folder or data set")
    if dataset.judgments:
        found = load_judgments(name, wanted or next(iter(dataset.judgments)))
        if not isinstance(found, Judgments):
            raise DataError(
                f"{name} holds {type(found).__name__}, which are not about the classes of single "
                "items."
            )
        viewed = _of_people(found, name)
    elif dataset.labels:
        names = [wanted] if wanted else list(dataset.labels)
        sets = {part: load_labels(name, part) for part in names}
        viewed = ViewedSets(name, sets)
    elif dataset.images:
        images = load(name, wanted or parts(name)[-1])
        return ViewedSets(source, {"original": images.original()}, pictures=_of_arrays(images))
    else:
        raise DataError(f"{name} holds neither answers nor labels; there is nothing to look at.")
    items = next(iter(viewed.sets.values())).items
    shown = dataset.pictures or (name if dataset.images else None)
    if shown is None:
        return viewed
    try:
        return replace(viewed, pictures=_pictures(shown, items))
    except SfumatoError as error:  # its pictures may lie elsewhere, or nowhere
        return replace(viewed, remarks=(*viewed.remarks, f"Without pictures: {error}"))


# A finished run.


def _of_run(run: RunFolder) -> ViewedSets:
    """Labels and predictions of a run's files; answers and pictures where its data is here."""
    named = run.study.tests[0].against[0] if run.study.tests else PEOPLE
    files = sorted((run.folder / "labels").glob("*.parquet"))
    labels = {path.stem: run.label_set(path.stem) for path in files}
    if not labels:
        raise DataError(f"{run.folder} holds no labels: there are no items to look at.")
    first = named if named in labels else next(iter(labels))
    people = labels.pop(first)
    simulated = is_simulated(people.provenance)
    called = SIMULATED if simulated and first == PEOPLE else first
    beliefs = _run_beliefs(run)
    sets = {called: people} | beliefs | labels
    part = run.study.tests[0].part if run.study.tests else ""
    tested = {item: part for believed in beliefs.values() for item in believed.items}
    viewed = ViewedSets(
        run.study.title or run.study.name, sets, splits=tested, simulated=run.simulated
    )
    return _with_study_data(viewed, run, people)


def _run_beliefs(run: RunFolder) -> dict[str, LabelSet]:
    """What the networks of each arm believe about untouched test items, the mean over seeds.

    Network by network, what the study is about before its controls.
    """
    path = run.folder / "trainings.parquet"
    if not path.is_file() or not run.study.tests:
        return {}
    part = run.study.tests[0].part
    table = pl.read_parquet(path).filter(pl.col("failed") == "")
    groups = table.group_by("arm", "network", maintain_order=True)
    files = {key: list(group["predictions"]) for key, group in groups}
    networks, controls = list(run.study.networks), run.study.controls
    found = {}
    for arm, network in sorted(files, key=lambda one: (networks.index(one[1]), one[0] in controls)):
        paths = [run.folder / file / f"{part}.parquet" for file in files[arm, network]]
        seeds = [load_label_file(path).labels for path in paths if path.is_file()]
        if seeds:
            found[f"{arm}, {network}"] = _mean_of(seeds)
    return found


def _mean_of(sets: list[LabelSet]) -> LabelSet:
    """The mean of what each set says of an item; folds are about different items."""
    items = tuple(dict.fromkeys(item for labels in sets for item in labels.items))
    row = {item: at for at, item in enumerate(items)}
    total, count = np.zeros((len(items), len(sets[0].classes))), np.zeros(len(items))
    for labels in sets:
        rows = [row[item] for item in labels.items]
        total[rows] += labels.probs
        count[rows] += 1
    return LabelSet(items, sets[0].classes, total / count[:, None])


def _with_study_data(viewed: ViewedSets, run: RunFolder, people: LabelSet) -> ViewedSets:
    """The same with the study's own answers, pictures and splits."""
    from sfumato.studies.sources import load_data  # imports torch

    try:
        data = load_data(run.study, data_folder())
    except (SfumatoError, ModuleNotFoundError) as error:
        stored = {item: partial(np.asarray, pixels) for item, pixels in run.pictures.items()}
        told = f"Without answers and most pictures: the data of the study is not here ({error})."
        return replace(viewed, pictures=stored, remarks=(told,))
    pictures = {} if data.pictures is None else _of_arrays(data.pictures)
    splits = {item: part for part, items in data.parts.items() for item in items}
    viewed = replace(viewed, pictures=pictures, splits=splits | dict(viewed.splits))
    answers = data.judgments
    if run.judgments_file.is_file():
        answers = _stored_answers(run)
    if answers is None:
        return viewed
    shown = _of_people(answers, viewed.title)
    same = {*shown.sets[next(iter(shown.sets))].items} & {*people.items}
    if not same:
        return viewed
    return replace(viewed, crowd=shown.crowd, seconds=shown.seconds, remarks=shown.remarks)


def _stored_answers(run: RunFolder) -> Judgments | None:
    found = read(run.judgments_file, "sfumato")
    return found if isinstance(found, Judgments) else None


# What is shown beside it.


def _with_predictions(viewed: ViewedSets, wanted: ViewSettings) -> ViewedSets:
    people = next(iter(viewed.sets.values()))
    sets, remarks = dict(viewed.sets), list(viewed.remarks)
    for name, source in wanted.predictions.items():
        if name in sets:
            raise DataError(f"Two label sets are called {name!r}; give the model another name.")
        told = Path(source).name if isinstance(source, str | Path) else name
        loaded = load_predictions(
            source, name=told, classes=people.classes, items=people.items, kind=wanted.kind
        )
        remarks += loaded.remarks
        sets[name] = loaded.labels
        if loaded.by_position("classes") and {*loaded.labels.classes} == {*people.classes}:
            known = [item for item in people.items if item in loaded.labels]
            doubt = other_class_order(*align(people.take(known), loaded.labels)) if known else ""
            remarks += [f"{told}: {doubt}"] if doubt else []
    return replace(viewed, sets=sets, remarks=tuple(remarks))


def _pictures(images: object, items: tuple[str, ...]) -> Mapping[str, ReadPixels]:
    """How to read the picture of each item that has one."""
    if isinstance(images, str | Path):
        path = Path(images)
        name, _, part = str(images).partition("/")
        if not path.exists() and name in DATASETS:
            return _of_arrays(load(name, part or None))
        return match_pictures(path, items)
    if isinstance(images, ImageSet):
        return _of_arrays(images)
    found = load_items(images)
    if found.kind != "images":
        raise DataError(f"These items are {found.describe()}, which cannot be shown; give images.")
    return _of_items(found)


def _of_arrays(images: ImageSet) -> dict[str, ReadPixels]:
    return {
        item: partial(np.asarray, pixels)
        for item, pixels in zip(images.items, images.images, strict=True)
    }


def _of_items(images: Items) -> dict[str, ReadPixels]:
    def reader(pixels: NDArray[Any]) -> Callable[[], NDArray[np.uint8]]:
        whole = pixels.dtype == np.uint8
        return lambda: pixels if whole else (pixels * 255).round().astype(np.uint8)

    found = zip(images.ids, images.contents, strict=True)
    return {item: reader(pixels) for item, pixels in found}


def read_columns(path: Path) -> pl.DataFrame:
    """The columns of a table's file; none where the file is no table."""
    try:
        return read_frame(path)
    except DataError:
        return pl.DataFrame()


def _with_groups(viewed: ViewedSets, table: pl.DataFrame) -> ViewedSets:
    """The splits and strata of items that a table names in columns of these names."""
    if not {*GROUPS} & {*table.columns}:
        return viewed
    items = next(iter(viewed.sets.values())).items
    of_item, _ = find_items(table, viewed.title, items=items)
    found = {
        name: dict(table.select(pl.col(of_item, name).cast(pl.String)).drop_nulls().iter_rows())
        for name in GROUPS
        if name in table.columns and name != of_item
    }
    return replace(viewed, splits=found.get("split", {}), strata=found.get("stratum", {}))
