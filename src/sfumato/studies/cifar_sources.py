"""Load what studies of CIFAR-10 images work on: images, votes, soft answers, answers about mixes.

The 10,000 test images have about 51 votes each (CIFAR-10H), 1,000 of them soft answers of about six
people (CIFAR-10S), and mixes of them were judged too (H-Mix). Only those label sets are made that
the arms and tests of a study name, and every file is read once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy

from sfumato.data import DATASETS, ImageSet, load, load_split, locate, official_archive
from sfumato.errors import DataError
from sfumato.evaluation.corruptions import corrupt
from sfumato.evaluation.predictions import read_predictions
from sfumato.judgments.formats.datasets import CIFAR10, read_hmix, read_hmix_labels
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.formats.tables import load_array
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.mixed import mix_named
from sfumato.labels.alter import in_fill, majority_labels, smooth, sparse
from sfumato.labels.build import RECIPES, build
from sfumato.labels.build.distances import (
    ClassDistances,
    confusion_distances,
    vector_distances,
)
from sfumato.labels.files import read_crowd_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.make import LabelSettings, make_labels
from sfumato.labels.mixing import percepts_of
from sfumato.labels.simulate import SimulationSettings, run_simulation
from sfumato.studies.data import (
    ORIGINAL,
    PEOPLE,
    StudyData,
    needed_folder,
    read_as,
    read_judgments,
    read_own_set,
)
from sfumato.studies.study import FurtherSets, Study

if TYPE_CHECKING:
    from sfumato.learn.examples import Examples

PEOPLE_H, PEOPLE_S = "CIFAR-10H", "CIFAR-10S"
"""About 51 votes per image, or soft labels of about six people."""
RELEASED_S = "CIFAR-10S as released"
"""The soft labels as the papers' released code reads them for its tests: asked to share out what
people left unsaid, it shares out nothing (C1)."""
POOL = 6
"""Soft answers per image that are drawn from, where there are so many (S2-22)."""
VARIETIES = {
    PEOPLE_S: "top2-clamp",
    "T1 uniform": "top1-uniform",
    "T1 clamp": "top1-clamp",
    "T2 uniform": "top2-uniform",
    "T2 clamp": "top2-clamp",
    "T1 semantic": "top1-semantic",
    "T2 semantic": "top2-semantic",
    "select top 2": "select-top2",
    # Uniform and clamp alike (C1): one choice without a share for others is a hard label.
    "T1 as released": "votes",
    "T2 as released": "top2-stated",
    RELEASED_S: "top2-stated",
}
"""Recipes, by the papers' names for the labels that they make of the soft answers."""

TRAINED_ON, EVERY_IMAGE = "original, images trained on", "original, all 10,000 images"
"""The original labels of images that the network learnt, nine tenths of what paper 1 attacks (C3),
and of all that it attacks (S0-36). They have names of their own because numbers about them are no
numbers about held-out images."""
NEAR = "CIFAR-10 training images"
V6, V4 = "CIFAR-10.1 v6", "CIFAR-10.1 v4"
CINIC = "CINIC-10, ImageNet part"
IMAGENET_FAR = "ImageNet-Far"
CORRUPTED = {f"corrupted at {strength}": strength for strength in (1, 3, 5)}
"""A ladder of ours, for want of the paper's collections: sets of near images by strength."""
FAR_SETS = (NEAR, *CORRUPTED, V6, V4, CINIC, IMAGENET_FAR)
"""Images ever further away; the paper's own in its order (S0-40 to S0-43)."""
KINDS = ("gaussian_noise", "gaussian_blur", "contrast", "pixelate")
CORRUPTED_IMAGES = 2_000
TRAINING_IMAGES = 50_000

HARD, IN_FILLED = "hard", "CIFAR-10S+hard"
MODES, MODES_S = "CIFAR-10H majority", "CIFAR-10S majority+hard"
"""The modes of both kinds of people as hard labels, which paper 2 lacks (C15)."""
EPSILON = {"label smoothing, low": 0.05, "label smoothing, high": 0.2}
"""What smoothing leaves off the top class: as much as CIFAR-10H does, and the dense set (S1-16)."""
DENSE, TYPICALITY = "CIFAR-10DS", "CIFAR-10T"
"""A number for every class, and how typical an image is of its class: never published (S1-59), so
that they come from files of one's own."""
DENSE_FILLED = {
    "CIFAR-10S+dense": 2,
    "CIFAR-10S+dense, 3 classes": 3,
    "CIFAR-10S+dense, 4 classes": 4,
    "CIFAR-10S+dense, 10 classes": 10,
}
"""Soft answers filled in with dense labels that keep so many classes (S1-18, S1-44)."""
MAPPED = "CIFAR-10S+mapped"
"""The same with dense labels turned into sparse ones by a map that is learnt (S1-61)."""
OF_FILES = {**dict.fromkeys((DENSE, *DENSE_FILLED, MAPPED), DENSE), TYPICALITY: TYPICALITY}
"""Label sets that somebody's files bring, by the file that each needs."""
LABEL_SETS = (HARD, IN_FILLED, PEOPLE_H, *EPSILON, MODES, MODES_S, PEOPLE_S, *OF_FILES)

SIMULATED_SOFT, SIMULATED_MAJORITY = "simulated soft", "simulated majority"
"""Soft labels of 7,000 images, those of CIFAR-10S for 1,000 and of simulated people for 6,000; and
their modes."""
JPEG_COPY = (
    "The official archive of CIFAR-10 is not here: mixes of the JPEG copy are nearly, not exactly, "
    "what people saw."
)

NO_GLOVE = (
    "GloVe (dataset 'glove') is not in the folder of datasets: which classes are similar is what "
    "people confuse in CIFAR-10H. Get it, or name a file of word vectors: --set own.vectors=FILE."
)
OWN_CORRUPTIONS = (
    "CIFAR-10-C (dataset 'cifar10c') is not in the folder of datasets: images are corrupted by our "
    "own versions of its corruptions."
)

THESIS, LATER = "thesis", "later"
"""The 810 mixes and 33 people of the thesis; the 1,260 and 48 that the release of H-Mix adds."""
OF_THESIS = pl.col("shown").n_unique().over("first_item", "second_item") > 1
"""Which answers of ``hmix_infer_mixing_factor.csv`` are the thesis's: it mixes its 270 pairs of
images with three coefficients each (S2-09), the later collection its 1,260 with one."""
INFERRED = "hmix_infer_mixing_factor.csv"
MIDPOINTS = ("hmix_construct_midpoint.csv", "hmix_select_shuffled_midpoint.csv")

STORED: dict[str, str] = {
    "VGG": "vgg_15_BN_64",
    "DenseNet": "densenet_BC_100_12",
    "PyramidNet": "pyramidnet_basic_110_270",
    "ResNet": "resnet_basic_110",
    "ResNext": "resnext_29_8x64d",
    "Wide ResNet": "wrn_28_10",
    "ResNet preact": "resnet_preact_bottleneck_164",
    "Shake-Shake": "shake_shake_26_2x64d_SSI_cutout16",
}
"""Paper 1's names for its networks, in the order of its table 2, and those of their files."""
BEST = "Shake-Shake"
"""The most accurate of them."""
CLOSEST = ("Wide ResNet", "ResNext", "PyramidNet")
"""The three that are closest to people before fine-tuning, by the paper's table 1."""


def load_cifar10s(study: Study, folder: Path | None) -> StudyData:
    """Papers 3 and 4: the test images with votes, of which 1,000 have soft answers (S2-29)."""
    from sfumato.learn.examples import Examples

    folder = needed_folder(folder, "CIFAR-10S")
    pictures, votes = _test_images(folder), _vote_shares(folder)
    answers = _soft_answers(folder)
    named = study.label_names
    recipes = {PEOPLE_S: VARIETIES[PEOPLE_S]}  # which items are elicited follows from it
    recipes |= {name: recipe for name, recipe in VARIETIES.items() if name in named}
    recipes |= {name: name for name in named if name in RECIPES}
    semantic = any("distances" in RECIPES[recipe].takes for recipe in recipes.values())
    similar = _similarity(study, votes, folder) if semantic else _Similarity(None)
    crowds = read_as(answers, recipes, similar.distances)
    far, _, missing = _further_images(study.collection, folder)
    tested = {name for test in study.tests for name in test.against}
    soft = crowds[PEOPLE_S].mean()
    return StudyData(
        study,
        _together(Examples(pictures.items, pictures.images), far),
        labels={
            ORIGINAL: pictures.original().take(votes.items),
            PEOPLE_H: votes,
            PEOPLE_S: soft,
            **{name: crowd.mean() for name, crowd in crowds.items() if name in tested - {PEOPLE_S}},
            **{name: one.labels for name, one in far.items()},
        },
        crowds=crowds,
        recipes=recipes,
        judgments=answers,
        pictures=pictures,
        pool=POOL,
        parts={
            **_published_parts(folder),
            "elicited": soft.items,
            **{name: one.labels.items for name, one in far.items()},
        },
        missing=(*similar.missing, *missing),
    )


def load_cifar10h(study: Study, folder: Path | None) -> StudyData:
    """Paper 1: the test images with votes, and further sets that the study's collection names."""
    from sfumato.learn.examples import Examples

    folder = needed_folder(folder, "CIFAR-10H")
    pictures = _test_images(folder)
    original = pictures.original()
    far, before, missing = _further_images(study.collection, folder)
    return StudyData(
        study,
        _together(Examples(pictures.items, pictures.images), far),
        labels={
            PEOPLE_H: _vote_shares(folder).take(original.items),
            ORIGINAL: original,
            **{name: original for name in (TRAINED_ON, EVERY_IMAGE) if name in study.label_names},
            **_beliefs_of_networks(study, folder, original),
            **{name: one.labels for name, one in far.items()},
        },
        pictures=pictures,
        parts={name: one.labels.items for name, one in far.items()},
        pretraining=None if before is None else (before.examples, before.labels),
        missing=missing,
    )


def load_label_sets(study: Study, folder: Path | None) -> StudyData:
    """Paper 2: images as for paper 1, with several label sets of the test images."""
    known = load_cifar10h(study, folder)
    answers = _soft_answers(needed_folder(folder, "CIFAR-10S"))
    soft = build(answers, VARIETIES[PEOPLE_S]).crowd.mean()
    made = label_sets(known.original, known.labels[PEOPLE_H], soft)
    given = {
        name: read_own_set(study.own.sets[name], known.original)
        for name in (DENSE, TYPICALITY)
        if name in study.own.sets
    }
    wanted = study.label_names - made.keys()
    made |= given | (filled_sets(given[DENSE], soft, wanted) if DENSE in given else {})
    for arm in study.arms:
        if arm.labels in OF_FILES and arm.labels not in made:
            file = OF_FILES[arm.labels]
            raise DataError(
                f"The arm {arm.name!r} needs {file}, which was never published: give its file as "
                f"own.sets.{file}=FILE, or leave the arm out."
            )
    named = {name: made[name] for name in made if name in study.label_names}
    return replace(known, labels={**known.labels, **named})


def filled_sets(dense: LabelSet, soft: LabelSet, wanted: Collection[str]) -> dict[str, LabelSet]:
    """Those of ``DENSE_FILLED`` and ``MAPPED`` that are wanted: soft answers about some items, and
    dense labels of all, thinned or mapped, for the others (S1-18, S1-61)."""
    from sfumato.learn.soft_targets import map_labels

    made = {
        name: in_fill(soft, sparse(dense, keep))
        for name, keep in DENSE_FILLED.items()
        if name in wanted
    }
    return made | ({MAPPED: in_fill(soft, map_labels(dense, soft))} if MAPPED in wanted else {})


def label_sets(original: LabelSet, votes: LabelSet, soft: LabelSet) -> dict[str, LabelSet]:
    """Whatever of ``LABEL_SETS`` needs no file of one's own: from original labels, shares of votes,
    and soft answers about some.

    Smoothing by β leaves β(K - 1)/K off the top class, so that β = εK/(K - 1) (S1-16).
    """
    classes = len(original.classes)
    return {
        HARD: original,
        IN_FILLED: in_fill(soft, original),
        PEOPLE_H: votes,
        **{
            name: smooth(original, epsilon * classes / (classes - 1))
            for name, epsilon in EPSILON.items()
        },
        MODES: majority_labels(votes, "share"),
        MODES_S: in_fill(majority_labels(soft, "share"), original),
        PEOPLE_S: soft,
    }


def load_mixing(study: Study, folder: Path | None) -> StudyData:
    """Thesis, chapters 4, 5 and C: images and votes, and what arms need besides them.

    That is soft labels extended by simulated people, and what people saw in mixes.
    """
    from sfumato.learn.examples import Examples

    folder = needed_folder(folder, "CIFAR-10H")
    pictures, votes = _test_images(folder), _vote_shares(folder)
    parts = _published_parts(folder)
    labels = {ORIGINAL: pictures.original().take(votes.items), PEOPLE_H: votes}
    missing = () if official_archive(folder) else (JPEG_COPY,)
    if {SIMULATED_SOFT, SIMULATED_MAJORITY} & study.label_names:
        soft, lacking = _extended(study, votes.take(parts["train"]), folder)
        missing = (*missing, *lacking)
        made = {SIMULATED_SOFT: soft, SIMULATED_MAJORITY: majority_labels(soft, "share")}
        labels |= {name: made[name] for name in made if name in study.label_names}
    percepts = None
    if any(arm.added or arm.curve for arm in study.arms):
        seen = read_hmix(locate("hmix", INFERRED, folder), ReadOptions())
        percepts = percepts_of(replace(seen, table=seen.table.filter(OF_THESIS)))
    far, _, further = _further_images(study.collection, folder)
    corrupted = _released_corruptions(study, parts["test"], folder)
    if study.corruptions and not corrupted:
        missing = (*missing, OWN_CORRUPTIONS)
    return StudyData(
        study,
        _together(Examples(pictures.items, pictures.images), far),
        labels={**labels, **{name: one.labels for name, one in far.items()}},
        pictures=pictures,
        parts={**parts, **{name: one.labels.items for name, one in far.items()}},
        percepts=percepts,
        corrupted=corrupted,
        missing=(*missing, *further),
    )


def _released_corruptions(
    study: Study, items: tuple[str, ...], folder: Path
) -> "dict[str, Examples]":
    """The tested images as CIFAR-10-C has them, by corruption; none where it is not there."""
    from sfumato.learn.examples import Examples

    if not (folder / "cifar10c").is_dir():
        return {}
    spoilt = {
        name: load("cifar10c", name, folder, severity=study.strength).take(items)
        for name in study.corruptions
    }
    return {name: Examples(one.items, one.images) for name, one in spoilt.items()}


def load_hmix(study: Study, folder: Path | None) -> StudyData:
    """All answers about mixed images, as tables with one row per answer.

    ``inferred``: the columns of ``MixJudgments``, then ``part`` (thesis or later), ``error``,
    ``pair``, and the entropy of the votes on both endpoints (``first_entropy``,
    ``second_entropy``). ``midpoints``: people looked for the mix that is half and half.
    ``released`` and ``consistent``: soft labels of mixes, as their authors made them and as we do,
    one column per class. The part ``train`` has the 7,000 images that the thesis trains on.
    """
    folder = needed_folder(folder, "H-Mix")
    answers = read_hmix(locate("hmix", INFERRED, folder), ReadOptions())
    midpoints = [read_hmix(locate("hmix", name, folder), ReadOptions()) for name in MIDPOINTS]
    released, consistent = _labels_of_mixes(folder)
    pictures = _test_images(folder)
    return StudyData(
        study,
        pictures=pictures,
        parts={"train": _published_parts(folder)["train"]},
        tables={
            "inferred": _with_endpoints(_in_parts(answers.table), folder),
            "midpoints": pl.concat([one.table for one in midpoints]),
            "released": _table_of_mixes(released),
            "consistent": _table_of_mixes(consistent),
        },
        provenance=(
            *answers.provenance,
            *(one.provenance[0] for one in midpoints),
            *released.provenance,
            *consistent.provenance,
            *pictures.provenance,
        ),
        missing=() if official_archive(folder) else (JPEG_COPY,),
    )


def load_stored_predictions(study: Study, folder: Path | None) -> StudyData:
    """What paper 1's networks believe about the test images, and people's votes (S0-52)."""
    folder = needed_folder(folder, "CIFAR-10H")
    pictures, votes = _test_images(folder), _vote_shares(folder)
    return StudyData(
        study,
        labels={PEOPLE: votes, ORIGINAL: pictures.original().take(votes.items)},
        pictures=pictures,
        predictions=read_stored(folder, votes.classes),
    )


def read_stored(folder: Path | None, classes: Sequence[str]) -> dict[str, LabelSet]:
    """By the paper's names: what each network believes after training on the 50,000.

    A missing file is an error that says how to get it.
    """
    return {
        name: read_predictions(
            locate("cifar10h-predictions", f"{file}.npz", folder), classes=classes
        )
        for name, file in STORED.items()
    }


def _test_images(folder: Path | None) -> ImageSet:
    return load("cifar10", "test", folder)


def _vote_shares(folder: Path | None) -> LabelSet:
    path = locate("cifar10h", "cifar10h-counts.npy", folder)
    return build(read_judgments(path, "cifar10h"), "votes").crowd.mean()


def _all_soft_answers(folder: Path | None) -> Judgments:
    return read_judgments(locate("cifar10s", "raw_human_data.csv", folder), "cifar10s")


def _soft_answers(folder: Path | None) -> Judgments:
    """CIFAR-10S without the repeated answers (C12)."""
    return select(_all_soft_answers(folder))


def _published_parts(folder: Path | None) -> dict[str, tuple[str, ...]]:
    split = load_split("cifar10s", folder)
    return {
        name: tuple(item for item, part in split.items() if part == name)
        for name in ("train", "test")
    }


def _extended(study: Study, votes: LabelSet, folder: Path) -> tuple[LabelSet, tuple[str, ...]]:
    """Averaged soft labels, of simulated people for the items that nobody was asked about (S2-37).

    Simulated people have the study's habits, ``published`` those of the thesis (B.5); they are as
    many per item as real ones answered, and the same for all seeds. They see the votes of items
    that are learnt, no others. Also says what is missing.
    """
    habits = study.simulated.habits
    ordered = habits == "published" or study.similar_by == "word vectors"
    similar = _similarity(study, votes, folder) if ordered else _Similarity(None)
    settings = SimulationSettings(
        "top-two",
        per_item=POOL,
        items="without answers",
        habits=habits,
        distances=similar.distances,
    )
    real = _all_soft_answers(folder)
    made = run_simulation(settings, votes, real=real, rng=np.random.default_rng(0)).answers
    assert isinstance(made, Judgments)
    labels = build(select(made), VARIETIES[PEOPLE_S]).crowd.mean().take(votes.items)
    return labels, similar.missing


@dataclass(frozen=True, eq=False)
class _Similarity:
    """How far classes are apart, and what is missing to know it as the paper does."""

    distances: ClassDistances | None
    missing: tuple[str, ...] = ()


def _similarity(study: Study, votes: LabelSet, folder: Path) -> _Similarity:
    """By word vectors (S2-20, S2-82), or by what people confuse in CIFAR-10H."""
    named = Path(study.own.vectors) if study.own.vectors else None
    if study.similar_by == "confusions" and named is None:
        return _Similarity(confusion_distances(votes))
    path = named or folder / DATASETS["glove"].files[0].path
    if named is None and not path.is_file():
        return _Similarity(confusion_distances(votes), (NO_GLOVE,))
    return _Similarity(vector_distances(path, votes.classes))


def _beliefs_of_networks(study: Study, folder: Path, original: LabelSet) -> dict[str, LabelSet]:
    """What the published networks believe about the test images: the best one, and all together."""
    from sfumato.learn.targets import distil

    named = [name for name in ("distilled", "ensemble") if name in study.label_names]
    if not named:
        return {}
    try:
        stored = read_stored(folder, CIFAR10)
    except DataError as error:
        raise DataError(
            f"The arm {named[0]!r} learns what published networks believe; put "
            f"cifar10h-predictions into the folder of datasets, or leave the arm out. {error}"
        ) from error
    made = {"distilled": stored[BEST], "ensemble": distil(list(stored.values()))}
    return {name: made[name].take(original.items) for name in named}


@dataclass(frozen=True, eq=False)
class _Further:
    """Images to test on or to learn before, and what they are called."""

    examples: "Examples"
    labels: LabelSet


def _further_images(
    collection: FurtherSets, folder: Path
) -> tuple[dict[str, _Further], _Further | None, tuple[str, ...]]:
    """What is tested on beside held-out images, what is learnt before, and what could not be had.

    The first ``near`` training images of one fixed random order are near, the next ones are for
    pretraining.
    """
    order = np.random.default_rng(0).permutation(TRAINING_IMAGES)
    near = order[: collection.near] if NEAR in collection.sets else order[:0]
    before = order[collection.near : collection.near + collection.pretraining]
    found: dict[str, _Further] = {}
    pretraining = None
    if len(near) or len(before):
        rows = [str(row) for row in (*near, *before)]
        images = load("cifar10", "train", folder, items=rows)
        if len(near):
            found[NEAR] = _renamed(images.take(rows[: len(near)]), "train")
            found |= _corrupted(found[NEAR], collection.sets)
        if len(before):
            pretraining = _renamed(images.take(rows[len(near) :]), "train")
    others, missing = _other_collections(folder, collection)
    return found | others, pretraining, missing


def _together(test: "Examples", far: Mapping[str, _Further]) -> "Examples":
    """The test images, then those of the sets further away."""
    from sfumato.learn.examples import Examples

    if not far:
        return test
    parts = (test, *(one.examples for one in far.values()))
    images = np.concatenate([np.asarray(one.images, np.uint8) for one in parts])
    items = (*test.items, *(item for one in far.values() for item in one.labels.items))
    return Examples(items, images)


def _renamed(images: ImageSet, prefix: str) -> _Further:
    """Images under names that the test images of CIFAR-10 do not have."""
    from sfumato.learn.examples import Examples

    items = tuple(f"{prefix}/{item}" for item in images.items)
    labels = replace(images.original(), items=items)
    return _Further(Examples(items, images.images), labels)


def _corrupted(near: _Further, wanted: Sequence[str]) -> dict[str, _Further]:
    """The same near images at every strength, each spoilt in one of four ways in turn."""
    from sfumato.learn.examples import Examples

    items = near.labels.items[:CORRUPTED_IMAGES]
    clean = near.examples.take(items).images
    labels = near.labels.take(items)
    found = {}
    for name, strength in CORRUPTED.items():
        if name not in wanted:
            continue
        images = np.empty_like(clean)
        for place, kind in enumerate(KINDS):
            rows = np.arange(place, len(items), len(KINDS))
            rng = np.random.default_rng([strength, place])
            if len(rows):
                images[rows] = corrupt(clean[rows], kind, strength, rng=rng)
        renamed = tuple(f"{item}/strength {strength}" for item in items)
        found[name] = _Further(Examples(renamed, images), replace(labels, items=renamed))
    return found


def _other_collections(
    folder: Path, collection: FurtherSets
) -> tuple[dict[str, _Further], tuple[str, ...]]:
    """Whichever of the wanted collections are there, and a sentence for each that is not."""
    found, missing = {}, []
    for name, (dataset, parts) in _collections(collection).items():
        if name not in collection.sets:
            continue
        subset = "imagenet" if name == CINIC else None
        if DATASETS[dataset].presence(folder) == "all":
            images = {part: load(dataset, part, folder, subset=subset) for part in parts}
            found[name] = _sampled(_joined(images), collection.most, name)
        else:
            made = DATASETS[dataset].made
            remedy = f"Its files go into {dataset}: {made}" if made else f"Get {dataset!r} first."
            missing.append(
                f"{name} is not in the folder of datasets, so nothing is tested on it. {remedy}"
            )
    return found, tuple(missing)


def _collections(collection: FurtherSets) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The dataset of each collection, and the parts of it that are tested on."""
    return {
        V6: ("cifar10.1", ("v6",)),
        V4: ("cifar10.1", ("v4",)),
        CINIC: ("cinic10", collection.cinic10),
        IMAGENET_FAR: ("imagenet-far", ("all",)),
    }


def _joined(parts: Mapping[str, ImageSet]) -> ImageSet:
    """All parts as one; an item is named with its part where there are several."""
    first, *others = parts.values()
    if not others:
        return first
    return replace(
        first,
        items=tuple(f"{part}/{item}" for part, images in parts.items() for item in images.items),
        images=np.concatenate([images.images for images in parts.values()]),
        labels=np.concatenate([images.labels for images in parts.values()]),
        split=tuple(split for images in parts.values() for split in images.split),
        provenance=tuple(step for images in parts.values() for step in images.provenance),
    )


def _sampled(images: ImageSet, most: int | None, name: str) -> _Further:
    """So many images at most, at random and always the same."""
    rows = np.random.default_rng(0).permutation(len(images))[:most]
    return _renamed(images.take([images.items[row] for row in rows]), name)


def _in_parts(table: pl.DataFrame) -> pl.DataFrame:
    """Answers with the ``part`` they belong to and how far they are off (``error``)."""
    return table.with_columns(
        part=pl.when(OF_THESIS).then(pl.lit(THESIS)).otherwise(pl.lit(LATER)),
        error=(pl.col("perceived") - pl.col("shown")).abs(),
        pair=pl.format("{} + {}", "first_class", "second_class"),
    )


def _with_endpoints(table: pl.DataFrame, folder: Path | None) -> pl.DataFrame:
    counts = load_array(locate("cifar10h", "cifar10h-counts.npy", folder), dimensions=2)
    entropies = pl.Series(entropy(counts, axis=1))  # nats; the rows are normalised
    return table.with_columns(
        entropies.gather(table[f"{which}_item"].cast(pl.Int64)).alias(f"{which}_entropy")
        for which in ("first", "second")
    )


def _labels_of_mixes(folder: Path | None) -> tuple[CrowdLabels, CrowdLabels]:
    """The released labels of mixed images with their authors, and ours of the same answers."""
    answers = read_hmix_labels(
        locate("hmix", "hmix_categorical_soft_labels.csv", folder), ReadOptions()
    )
    near, ours = (
        make_labels(answers, LabelSettings("top2-clamp", rule=rule, keep=("repeats",))).crowd
        for rule in ("released", "consistent")
    )
    stored = read_crowd_labels(
        locate("hmix", "hmix_individ_soft_labels.json", folder), classes=CIFAR10
    )
    return _with_authors(stored, near), ours


def _with_authors(released: CrowdLabels, near: CrowdLabels) -> CrowdLabels:
    """Released labels with their annotators, which the file leaves out.

    Each label of a mix belongs to the answer whose label by our recipe is nearest, each to one.
    """
    annotator = np.empty(len(released), dtype=np.int64)
    for place, item in enumerate(released.items):
        theirs = np.flatnonzero(released.item == place)
        ours = np.flatnonzero(near.item == near.items.index(item))
        apart = np.abs(released.probs[theirs][:, None] - near.probs[ours][None]).sum(axis=2)
        rows, columns = linear_sum_assignment(apart)
        annotator[theirs[rows]] = near.annotator[ours[columns]]
    return replace(released, annotators=near.annotators, annotator=annotator)


def _table_of_mixes(labels: CrowdLabels) -> pl.DataFrame:
    items = [labels.items[place] for place in labels.item]
    mixes = [mix_named(item) for item in items]
    first = _mass(labels, [mix.first_class for mix in mixes])
    second = _mass(labels, [mix.second_class for mix in mixes])
    return pl.DataFrame(
        {
            "mix": items,
            "annotator": [labels.annotators[place] for place in labels.annotator],
            "shown": [mix.coefficient for mix in mixes],
            "first_mass": first,
            "second_mass": second,
            "other_mass": 1 - first - second,
        }
    ).hstack(pl.DataFrame(labels.probs, schema=list(labels.classes)))


def _mass(labels: CrowdLabels, classes: Sequence[str]) -> NDArray[np.float64]:
    """What each judgment gives the class named for it."""
    return labels.probs[np.arange(len(labels)), [labels.classes.index(name) for name in classes]]
