"""Load what a study works on: ``SOURCES`` names the data, ``load_data`` gives a ``StudyData``.

Handwritten digits with simulated people, FashionMNIST-H, soft-digits, MNIST and files of one's own
are read here, everything on CIFAR-10 images in ``cifar_sources``. A study of simulated worlds needs
no data at all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.data import ImageSet, load, load_own, locate
from sfumato.data.decode import (
    label_by_neighbours,
    read_digit_images,
    read_digit_sources,
    read_original_labels,
)
from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.quality import apply_rules, rule_with
from sfumato.labels.build import RECIPES
from sfumato.labels.build.distances import ClassDistances, choose_distances
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate import simulate
from sfumato.labels.soft_digits import WEIGHTINGS, read_soft_digits
from sfumato.learn.examples import Examples
from sfumato.names import find
from sfumato.planning.pilot import to_ratings
from sfumato.provenance import Step
from sfumato.studies.cifar_sources import (
    EVERY_IMAGE,
    FAR_SETS,
    LABEL_SETS,
    PEOPLE_H,
    SIMULATED_MAJORITY,
    SIMULATED_SOFT,
    TRAINED_ON,
    VARIETIES,
    load_cifar10h,
    load_cifar10s,
    load_hmix,
    load_label_sets,
    load_mixing,
    load_stored_predictions,
)
from sfumato.studies.data import (
    MAJORITY,
    ORIGINAL,
    ORIGINAL_DISTRIBUTION,
    PEOPLE,
    StudyData,
    needed_folder,
    read_as,
    read_judgments,
    read_own_set,
)
from sfumato.studies.judge_sources import load_judged_sets
from sfumato.studies.measures.doubt import UNCERTAINTY, UNSURE, entropies_beside
from sfumato.studies.study import Own, Study, own_options
from sfumato.studies.text_sources import SYNTHETIC, load_chaosnli, load_lewidi, load_own_texts
from sfumato.studies.trainings import ADDED, CURVES, LABELS, MIXES, PERSONS

PARTS = {"train": "train", "validation": "validation", "val": "validation", "test": "test"}
"""What the parts of a division are called in files, and here."""


@dataclass(frozen=True)
class Source:
    """Data that a study can be about."""

    about: str
    load: Callable[[Study, Path | None], StudyData]
    labels: tuple[str, ...] = (PEOPLE, ORIGINAL)
    """The label sets that arms and tests may name."""
    judged: bool = False
    """Whether they may name recipes too, for there are judgments to read by them."""


def load_data(study: Study, folder: Path | None) -> StudyData:
    """What the study works on; ``folder`` holds the datasets.

    Names that the data does not have are errors before anything is read.
    """
    source = find(SOURCES, study.data, what="data source of studies")
    _check_names(study, source)
    data = source.load(study, folder)
    return _with_own_sets(data) if study.own.sets or study.own.ratings else data


def _with_own_sets(data: StudyData) -> StudyData:
    """The data with the label sets and rated pairs that its study gives as files."""
    own, like = data.study.own, next(iter(data.labels.values()), None)
    if like is None:
        raise DataError(f"The data {data.study.data!r} has no labels for others to stand beside.")
    given = {
        name: read_own_set(file, like) for name, file in own.sets.items() if name not in data.labels
    }
    ratings = to_ratings(own.ratings) if own.ratings else None
    return replace(data, labels={**data.labels, **given}, ratings=ratings)


def _check_names(study: Study, source: Source) -> None:
    recipes = RECIPES if source.judged else {}
    sets = dict.fromkeys((*source.labels, *recipes, *study.own.sets))
    learnable = {**sets, **dict.fromkeys((*LABELS, *PERSONS))}
    for arm in study.arms:
        find(learnable, arm.labels, what=f"label set or arm for the data {study.data!r}")
        for name, table, what in (
            (arm.mix, MIXES, "way of mixing"),
            (arm.added, ADDED, "kind of added mixes"),
            (arm.curve, CURVES, "curve for mixes"),
        ):
            if name:
                find(table, name, what=what)
    held = {**sets, MAJORITY: None}  # of the people that a test is held against first
    tested = [name for test in study.tests for name in test.against]
    for name in (*tested, *(name for ladder in study.ladders for name in ladder)):
        find(held, name, what=f"label set to test against for the data {study.data!r}")


def _judged(
    study: Study,
    pictures: ImageSet,
    judgments: Judgments,
    distances: ClassDistances | None = None,
) -> StudyData:
    """Pictures that people judged, in one order, with their labels by every recipe named."""
    judgments = select(judgments)  # repeats, checks and practice make no labels (C12)
    recipes = {PEOPLE: study.recipe}
    recipes |= {name: name for name in study.label_names if name in RECIPES}
    crowds = read_as(judgments, recipes, distances)
    means = {name: crowd.mean() for name, crowd in crowds.items()}
    people = means[PEOPLE]
    known = set(pictures.items)
    items = tuple(item for item in people.items if item in known)
    if not items:
        raise DataError(
            f"No judged item is among the pictures: people judged {people.items[0]!r}, the first "
            f"picture is {pictures.items[0]!r}."
        )
    pictures = pictures.take(items)
    tested = {name for test in study.tests for name in test.against}
    return StudyData(
        study,
        Examples(pictures.items, pictures.images),
        labels={
            PEOPLE: people.take(items),
            ORIGINAL: _over(pictures.original(), people.classes),
            **{name: means[name].take(items) for name in means if name in tested - {PEOPLE}},
        },
        crowds=crowds,
        recipes=recipes,
        judgments=judgments,
        pictures=pictures,
    )


def _over(labels: LabelSet, classes: tuple[str, ...]) -> LabelSet:
    """The same labels with the classes that people could choose, in their order."""
    missing = [name for name in labels.classes if name not in classes]
    if missing:
        raise DataError(
            f"The pictures have a class {missing[0]!r} that people were not asked about; their "
            f"classes are {', '.join(classes)}."
        )
    probs = np.zeros((len(labels), len(classes)))
    for place, name in enumerate(labels.classes):
        probs[:, classes.index(name)] = labels.probs[:, place]
    return replace(labels, classes=classes, probs=probs)


def _load_digits(study: Study, folder: Path | None) -> StudyData:
    """1,797 real handwritten digits; nobody annotated them, so people are simulated."""
    pictures = load("digits")
    people = simulate(
        study.simulated.kind,
        label_by_neighbours(pictures),
        per_item=study.simulated.per_item,
        annotators=study.simulated.annotators,
        rng=np.random.default_rng(study.seed),
    )
    if not isinstance(people, Judgments):
        raise DataError(
            f"Simulated people of the kind {study.simulated.kind!r} do not judge single items, "
            "which a study needs; choose another kind."
        )
    return _judged(study, pictures, people)


def _load_fashion(study: Study, folder: Path | None) -> StudyData:
    folder = needed_folder(folder, "FashionMNIST-H")
    counts = locate("fashion-mnist-h", "fmh-counts.npy", folder)
    return _judged(
        study, load("fashion-mnist-h", folder=folder), read_judgments(counts, "fashion-mnist-h")
    )


def _load_soft_digits(source: str, study: Study, folder: Path | None) -> StudyData:
    """The digits of one source, with the labels and parts that are published (S4-55)."""
    path = locate("soft-digits", "soft-digits.parquet", needed_folder(folder, "soft-digits"))
    known = read_soft_digits(path)
    made = dict(zip(WEIGHTINGS, (known.weighted, known.equal), strict=True))
    if study.recipe not in made:
        raise DataError(
            f"soft-digits holds labels by {' and '.join(made)}, not by {study.recipe!r}, and no "
            "single judgments to make others of."
        )
    origin = read_digit_sources(path)
    items = tuple(item for item in known.weighted.items if origin[item] == source)
    if not items:
        raise DataError(f"{path.name} has no picture of the source {source!r}.")
    pictures = read_digit_images(path).take(items)
    people = made[study.recipe].take(items)
    place = {item: row for row, item in enumerate(known.weighted.items)}
    rows = [place[item] for item in items]
    told = {UNCERTAINTY: known.uncertainty, UNSURE: known.unsure}
    if known.response is not None:
        told["response time"] = known.response
    signals = {
        name: values[rows] for name, values in told.items() if np.isfinite(values[rows]).any()
    }
    distributions = _over(read_original_labels(path).take(items), people.classes)
    parts = _given_parts(pictures)
    return StudyData(
        study,
        Examples(pictures.items, pictures.images),
        labels={
            PEOPLE: people,
            ORIGINAL: _over(pictures.original(), people.classes),
            ORIGINAL_DISTRIBUTION: distributions,
            **{name: made[name].take(items) for name in made if name in study.label_names},
        },
        soft_original=distributions,
        pictures=pictures,
        signals=signals | entropies_beside(people, made),
        parts=parts if len(parts) == len(set(PARTS.values())) else {},
    )


def _given_parts(pictures: ImageSet) -> dict[str, tuple[str, ...]]:
    """The items of each part that came with the data and has any."""
    found: dict[str, list[str]] = {}
    for item, name in zip(pictures.items, pictures.split, strict=True):
        if name in PARTS:
            found.setdefault(PARTS[name], []).append(item)
    return {name: tuple(items) for name, items in found.items()}


def _load_mnist(study: Study, folder: Path | None) -> StudyData:
    """All digits; those to learn and those to test have names of their own: both count from 0."""
    folder = needed_folder(folder, "MNIST")
    parts = {"train": load("mnist", "train", folder), "test": load("mnist", "test", folder)}
    items = {
        name: tuple(f"{name}/{item}" for item in images.items) for name, images in parts.items()
    }
    first, second = (images.original() for images in parts.values())
    every = (*items["train"], *items["test"])
    return StudyData(
        study,
        Examples(every, np.concatenate([images.images for images in parts.values()])),
        labels={
            ORIGINAL: LabelSet(
                every,
                first.classes,
                np.concatenate([first.probs, second.probs]),
                provenance=(*first.provenance[:-1], *second.provenance),
            )
        },
        parts=items,
    )


def _load_own(study: Study, folder: Path | None) -> StudyData:
    """Pictures, their labels so far and judgments, from files of one's own."""
    given = study.own
    if given.texts:
        judgments = _own_judgments(study)
        data = load_own_texts(study, judgments, _own_distances(study, judgments))
        return _with_original(data)
    for name in ("images", "table", "judgments"):
        if not getattr(given, name):
            raise DataError(f"The study {study.name!r} needs `{name}` in its table [own].")
    if len(given.size) not in (0, 2):
        raise DataError(
            f"`size` in [own] is height and width, such as [32, 32], not {list(given.size)}."
        )
    size = (given.size[0], given.size[1]) if given.size else None
    pictures = load_own(Path(given.images), Path(given.table), size=size)
    judgments = _own_judgments(study)
    data = _judged(study, pictures, judgments, _own_distances(study, judgments))
    assert data.pictures is not None
    parts = _own_parts(given, data.pictures) if study.split.kind == "given" else {}
    return replace(_with_original(data), parts=parts)


def _own_judgments(study: Study) -> Judgments:
    """What people said, without what the quality rules find, and of so many people per item."""
    given = study.own
    if given.question and given.format != "sfumato":
        raise DataError(
            f"`question` in [own] is for judgments in the format 'sfumato'; files in the format "
            f"{given.format!r} say themselves what was asked."
        )
    found = read_judgments(Path(given.judgments), given.format, own_options(given))
    found, _ = apply_rules(found, [rule_with(name) for name in given.exclude])
    if not len(found):
        raise DataError(
            f"No judgment is left: the rules {', '.join(given.exclude)} leave out everybody."
        )
    if given.people is None:
        return found
    rng = np.random.default_rng(study.seed)
    return _fewer_people(select(found), given.people, rng=rng)


def _fewer_people(judgments: Judgments, most: int, *, rng: np.random.Generator) -> Judgments:
    """So many judgments per item at most, drawn without replacement."""
    drawn = judgments.table.select("item", draw=pl.Series(rng.random(len(judgments))))
    kept = drawn.select(pl.col("draw").rank("ordinal").over("item") <= most)["draw"]
    return judgments.take(kept, Step("sub-sample annotators", {"M": most, "fewer": "keep"}))


def _own_distances(study: Study, judgments: Judgments) -> ClassDistances | None:
    """How far classes are apart by their word vectors, where a recipe has to know."""
    named = (study.recipe, *sorted(study.label_names & RECIPES.keys()))
    needy = [name for name in named if "distances" in RECIPES[name].takes]
    if not needy:
        return None
    if not study.own.vectors:
        raise DataError(
            f"The recipe {needy[0]!r} shares mass out by how similar classes are: give a file of "
            "word vectors as `vectors` in [own]."
        )
    return choose_distances(judgments.question.classes, vectors=Path(study.own.vectors))


def _with_original(data: StudyData) -> StudyData:
    """The data with the original distributions of a file, where one is named (S4-13)."""
    if not data.study.own.original:
        return data
    path, people = Path(data.study.own.original), data.labels[PEOPLE]
    try:
        found = _over(read_labels(path).take(people.items), people.classes)
    except DataError as error:
        raise DataError(f"{path.name}: {error}") from None
    labels = {**data.labels, ORIGINAL_DISTRIBUTION: found}
    return replace(data, soft_original=found, labels=labels)


def _own_parts(given: Own, pictures: ImageSet) -> Mapping[str, tuple[str, ...]]:
    """The items of every part that the column ``split`` of the table names."""
    name = Path(given.table).name
    unknown = sorted(set(pictures.split) - PARTS.keys())
    if unknown:
        raise DataError(
            f"The split is to be given, but the column `split` of {name} says {unknown[0]!r} of "
            "some item; it says train, validation or test of each."
        )
    parts = _given_parts(pictures)
    for needed in ("train", "test"):
        if needed not in parts:
            raise DataError(f"No judged item has {needed!r} in the column `split` of {name}.")
    return parts


def _load_nothing(study: Study, folder: Path | None) -> StudyData:
    return StudyData(study)


SOURCES: dict[str, Source] = {
    "own": Source(
        "files of one's own, named in [own]",
        _load_own,
        (PEOPLE, ORIGINAL, ORIGINAL_DISTRIBUTION),
        judged=True,
    ),
    "digits": Source(
        "handwritten digits that scikit-learn brings along, simulated people",
        _load_digits,
        judged=True,
    ),
    "fashion-mnist-h": Source(
        "the test images of Fashion-MNIST, about 67 votes each", _load_fashion, judged=True
    ),
    "soft-digits": Source(
        "digits of MNIST from easy to ambiguous, judged by six people each (paper 5)",
        partial(_load_soft_digits, "mnist"),
        (PEOPLE, ORIGINAL, ORIGINAL_DISTRIBUTION, *WEIGHTINGS),
    ),
    "soft-digits-synthetic": Source(
        "synthetic ambiguous digits, judged by six people each (paper 5)",
        partial(_load_soft_digits, "mukhoti"),
        (PEOPLE, ORIGINAL, ORIGINAL_DISTRIBUTION, *WEIGHTINGS),
    ),
    "mnist": Source("MNIST, without people", _load_mnist, (ORIGINAL,)),
    "cifar10s": Source(
        "CIFAR-10 test images with votes, 1,000 of them with soft answers (papers 3 and 4)",
        load_cifar10s,
        (ORIGINAL, PEOPLE_H, *VARIETIES, *FAR_SETS),
        judged=True,
    ),
    "cifar10h": Source(
        "CIFAR-10 test images with about 51 votes each, and images further away (paper 1)",
        load_cifar10h,
        (PEOPLE_H, ORIGINAL, TRAINED_ON, EVERY_IMAGE, "distilled", "ensemble", *FAR_SETS),
    ),
    "label-sets": Source(
        "the same images with label sets of several kinds (paper 2)",
        load_label_sets,
        (ORIGINAL, *LABEL_SETS, *FAR_SETS),
    ),
    "mixing": Source(
        "CIFAR-10 test images and what people saw in mixes of them (thesis, chapters 4, 5, C)",
        load_mixing,
        (PEOPLE_H, ORIGINAL, SIMULATED_SOFT, SIMULATED_MAJORITY, *FAR_SETS),
    ),
    "lewidi-2023": Source(
        "tweets and dialogues judged by three to eight people (LeWiDi 2023)",
        load_lewidi,
        judged=True,
    ),
    "lewidi-2025": Source(
        "pairs of texts judged by four people (LeWiDi 2025)", load_lewidi, judged=True
    ),
    "chaosnli": Source(
        "pairs of sentences with 100 votes each, and stored predictions",
        load_chaosnli,
        labels=(PEOPLE, ORIGINAL, SYNTHETIC),
        judged=True,
    ),
    "hmix": Source("answers about mixed images, without labels", load_hmix),
    "cifar10h-predictions": Source(
        "stored beliefs of paper 1's networks about CIFAR-10 test images", load_stored_predictions
    ),
    "judges": Source("people's and judges' answers about the same items", load_judged_sets),
    "few-votes": Source("items with many votes, and models of some", load_judged_sets),
    "cover-people": Source("people's answers and models that did not see them", load_judged_sets),
    "forms-worth": Source("statements of CIFAR-10S and clicks of CIFAR-10H", load_judged_sets),
    "worlds": Source("no data: worlds are simulated", _load_nothing),
}
"""Where a study's data can come from, by the name in its key ``data``."""
