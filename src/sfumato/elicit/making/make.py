"""Make a study: images or texts and some settings become a folder that can be served."""

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.elicit.design.places import DATABASE, IMAGES, LOGO, SETTINGS, new_key, write_key
from sfumato.elicit.design.presets import PRESETS, StudyPreset, preset_study
from sfumato.elicit.design.study import ElicitStudy, Form, ask_experts, write_study
from sfumato.elicit.making import stimuli as build
from sfumato.elicit.making.pictures import (
    Advance,
    Images,
    Pictures,
    PictureSource,
    Source,
    TextSource,
    mix,
    open_images,
    read_texts,
    write_logo,
    write_pictures,
)
from sfumato.elicit.making.stimuli import fit_study
from sfumato.elicit.making.tables import (
    Names,
    Table,
    item_of,
    names_of,
    read_allocation,
    read_classes_of,
    read_comparisons,
    read_mixes_of,
    read_names,
    read_views,
)
from sfumato.elicit.session.answers import check_length, question_of
from sfumato.elicit.session.collection import keyed_hash
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.storage.schema import Stimulus, create_all, fill
from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.judgments.mixed import Mix, choose_mixes
from sfumato.names import find

CHECKABLE: frozenset[Form] = frozenset(
    {
        "choose-one",
        "top-two",
        "sliders",
        "yes-no-unsure",
        "top-class",
        "sparse",
        "likely-set",
        "ranking",
        "confidence",
        "distribution",
        "rating",
    }
)
"""Forms whose answers can be compared with a known class."""


@dataclass(frozen=True)
class _Given:
    """The files that come with the images."""

    allocation: Table | None
    labels: Table | None
    checks: Table | None
    practice: Table | None
    comparisons: Path | None
    mixes: Path | None
    views: Path | None
    count: int | None
    only: Path | None


def new_study(
    folder: Path,
    *,
    images: Images | Items,
    preset: str,
    classes: Sequence[str] = (),
    allocation: Table | None = None,
    labels: Table | None = None,
    checks: Table | None = None,
    practice: Table | None = None,
    comparisons: Path | None = None,
    mixes: Path | None = None,
    views: Path | None = None,
    count: int | None = None,
    only: Path | None = None,
    experts: int | None = None,
    database: str | None = None,
    seed: int,
    advance: Advance | None = None,
    where: str = "",
    **changes: Any,
) -> Path:
    """Make a study in a new folder, and return the folder.

    ``images`` is a folder, a zip archive, arrays by item, or ``Items`` that are texts. The table
    ``allocation`` gives images their batches (S3-04), ``labels`` their known classes; ``checks``
    and ``practice`` name images with a class beyond doubt, which are then shown only as that.
    ``comparisons`` lists pairs or triplets, ``mixes`` is a table that `sfumato mix` wrote;
    ``count`` says how many pairs, triplets or mixes are drawn otherwise. ``only`` is a table that
    names the images to ask about, as `sfumato elicit choose` writes it. With ``experts`` so many
    known people answer about every item, without checks and repeats, in as many sittings as they
    like. ``changes`` replace settings of the preset, whose layout is made to fit fewer images;
    ``where`` names the file they come from in errors. ``database`` is the address of one
    elsewhere. If anything is wrong, no folder is left behind.
    """
    _check_new(folder)
    protocol = find(PRESETS, preset, what="preset")
    named = {"name": _slug(folder.name) or preset, **changes}
    texts = isinstance(images, Items)
    study = preset_study(preset, classes, where=where, texts=texts, **named)
    if experts is not None:
        study = ask_experts(study, experts, given=changes)
    check_length(question_of(study))
    given = _Given(allocation, labels, checks, practice, comparisons, mixes, views, count, only)
    _check_given(study, protocol, given)
    if texts and protocol.shows == "mix":
        raise DataError(f"The preset {preset!r} mixes images; texts cannot be mixed.")
    rng, key = np.random.default_rng(seed), new_key()
    if isinstance(images, Items):
        opened: AbstractContextManager[Mapping[str, Source]] = nullcontext(read_texts(images))
    else:
        opened = open_images(images)
    with opened as sources, _made_whole(folder) as place:
        stimuli, pictures = _stimuli(study, protocol, sources, given, key=key, rng=rng)
        study = fit_study(study, stimuli, changes.get("layout", {}))
        if study.page.logo:
            write_logo(Path(study.page.logo), place)
            page = study.page.model_copy(update={"logo": LOGO})
            study = study.model_copy(update={"page": page})
        write_study(study, place / SETTINGS)
        write_key(place, key)
        written = write_pictures(place / IMAGES, pictures, advance, pixels=study.page.pixels)
        with open_database(database or f"sqlite:///{place / DATABASE}").connect() as connection:
            create_all(connection)
            fill(connection, study, written, stimuli, now=time.time(), rng=rng)
    return folder


def demo_study(
    folder: Path,
    *,
    images: Mapping[str, NDArray[np.uint8]],
    labels: Mapping[str, str],
    classes: Sequence[str],
    preset: str = "distribution",
    seed: int,
    **changes: Any,
) -> Path:
    """A small working study from images in memory: 60 of them, ten trials a person."""
    form = find(PRESETS, preset, what="preset").form
    order = np.random.default_rng(seed).permutation(len(images))
    items = [list(images)[place] for place in order[:64]]
    shown = {item: images[item] for item in items}
    layout = {"trials_per_person": 10, **changes.pop("layout", {})}
    tables: dict[str, Any] = {}
    if form in CHECKABLE:
        tables["checks"] = {item: labels[item] for item in items[:2]}
        tables["practice"] = {item: labels[item] for item in items[2:4]}
        items = items[4:]
        layout = {"checks_every": min(5, layout["trials_per_person"]), **layout}
    if form == "top-class":
        changes.setdefault("options", {"subset": list(classes[:3])})
    if form == "three-point":
        changes["classes"] = (classes[0], f"not {classes[0]}")
    elif form not in ("pairs", "triplets", "preference"):
        changes["classes"] = classes
        tables["labels"] = {item: labels[item] for item in items}
    return new_study(
        folder,
        images=shown,
        preset=preset,
        seed=seed,
        layout=layout,
        **tables,
        **changes,
    )


def _check_new(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} exists already; name a folder that does not.")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].rstrip("-")


def _check_given(study: ElicitStudy, preset: StudyPreset, given: _Given) -> None:
    if study.form != preset.form:
        raise DataError(
            f"The form is {study.form!r}, but the preset {study.preset!r} is {preset.form!r}; "
            "change the preset."
        )
    about_comparisons = preset.shows in ("pair", "triplet")
    if given.comparisons is not None and not about_comparisons:
        raise DataError(f"The preset {study.preset!r} compares nothing; leave comparisons out.")
    if given.allocation is not None and preset.shows not in ("image", "image-and-class"):
        raise DataError(
            f"The preset {study.preset!r} does not show the images one by one; leave the "
            "allocation to batches out."
        )
    if given.views is not None and preset.shows not in ("image", "image-and-class"):
        raise DataError(f"The preset {study.preset!r} shows one image of an item; leave views out.")
    if given.labels is not None and about_comparisons:
        raise DataError(f"The preset {study.preset!r} is about no classes; leave labels out.")
    if given.mixes is not None and preset.shows != "mix":
        raise DataError(f"The preset {study.preset!r} mixes nothing; leave the mixes out.")
    if given.labels is None and given.mixes is None and preset.shows == "mix":
        raise DataError(
            f"The preset {study.preset!r} mixes images of different classes; give their classes in "
            "a table of labels (columns image and class), or a table of mixes."
        )
    if given.checks is not None and study.form not in CHECKABLE:
        raise DataError(
            f"An answer of the form {study.form!r} cannot be held against a known class; leave the "
            "checks out."
        )
    if given.practice is not None and study.form not in {*CHECKABLE, "typicality"}:
        raise DataError(f"The form {study.form!r} has no practice; leave it out.")


def _stimuli(
    study: ElicitStudy,
    preset: StudyPreset,
    sources: Mapping[str, Source],
    given: _Given,
    *,
    key: bytes,
    rng: np.random.Generator,
) -> tuple[list[Stimulus], Pictures]:
    """All stimuli, and how to read the pictures they show."""
    names = names_of(sources)
    views = {} if given.views is None else read_views(given.views, names)
    inside = {image for images in views.values() for image in images}
    names = {name: item for name, item in names.items() if item not in inside}
    names |= {item: item for item in views}
    checks, practice = (
        {} if table is None else read_classes_of(table, names, study.classes)
        for table in (given.checks, given.practice)
    )
    both = sorted(checks.keys() & practice.keys())
    if both:
        raise DataError(f"The image {both[0]!r} is in the checks and in the practice; take it out.")
    asked = [*(item for item in sources if item not in inside), *views]
    items = [item for item in asked if item not in checks and item not in practice]
    if given.only is not None:
        wanted = read_names(given.only, names)
        items = [item for item in items if item in wanted]
    if not items:
        raise DataError("All images are checks or practice; there is nothing to ask about.")
    # A page sees by the ending that something is to be played.
    single = {
        item: keyed_hash(key, "image", item) + getattr(source, "ending", "")
        for item, source in sources.items()
    }
    ids: build.ImageIds = single | {
        item: tuple(single[image] for image in images) for item, images in views.items()
    }
    pictures = {item: one for item, one in sources.items() if isinstance(one, PictureSource)}
    readers: dict[str, Callable[[], Image.Image | bytes]] = {
        single[item]: source.record or source.read for item, source in pictures.items()
    }
    if preset.shows == "mix":
        mixes = _mixes(study, preset, items, names, given, rng)
        mixed = {one.item: keyed_hash(key, "mix", one.item) for one in mixes}
        for one in mixes:
            first, second = (
                pictures[item_of(name, names)] for name in (one.first_item, one.second_item)
            )
            readers[mixed[one.item]] = partial(mix, first, second, one.coefficient)
        main = build.mixed_images(
            mixes, mixed, target=study.per_item, name_classes=study.form == "mix"
        )
    else:
        main = _main(study, preset.shows, items, ids, names, given, rng)
    stimuli = [
        *main,
        *build.known_images(checks, ids, role="check"),
        *build.known_images(practice, ids, role="practice", show_class=study.form == "typicality"),
    ]
    texts = {single[item]: one for item, one in sources.items() if isinstance(one, TextSource)}
    if texts:
        return [_with_texts(one, texts) for one in stimuli], {}
    used = {image for one in stimuli for image in one.images}
    return stimuli, {image: read for image, read in readers.items() if image in used}


def _with_texts(stimulus: Stimulus, texts: Mapping[str, TextSource]) -> Stimulus:
    """The stimulus with its texts in the place of pictures."""
    shown = [texts[name].fields for name in stimulus.images]
    return replace(stimulus, images=(), shown={**stimulus.shown, "texts": shown})


def _main(
    study: ElicitStudy,
    shows: Literal["image", "image-and-class", "pair", "triplet"],
    items: Sequence[str],
    ids: build.ImageIds,
    names: Names,
    given: _Given,
    rng: np.random.Generator,
) -> list[Stimulus]:
    target = study.per_item
    single = {item: images for item, images in ids.items() if isinstance(images, str)}
    match shows:
        case "image" | "image-and-class":
            labels = batches = None
            if given.labels is not None:
                labels = _labels(study, items, names, given.labels)
            if given.allocation is not None:
                batches = _of_all(items, read_allocation(given.allocation, names), "batch")
            told = {"labels": labels, "batches": batches}
            if shows == "image":
                return build.single_images(items, ids, target=target, **told)
            return build.images_with_class(items, ids, study.classes, target=target, **told)
        case "pair":
            if given.comparisons is not None:
                chosen = read_comparisons(given.comparisons, names, ("first", "second"))
            else:
                chosen = build.choose_pairs(items, count=given.count, rng=rng)
            return build.compared_images(chosen, single, target=target)
        case "triplet":
            if given.comparisons is not None:
                chosen = read_comparisons(given.comparisons, names, ("item", "first", "second"))
            else:
                chosen = build.choose_triplets(items, count=given.count, rng=rng)
            return build.compared_images(chosen, single, target=target)
        case _:
            assert_never(shows)


def _mixes(
    study: ElicitStudy,
    preset: StudyPreset,
    items: Sequence[str],
    names: Names,
    given: _Given,
    rng: np.random.Generator,
) -> list[Mix]:
    if given.mixes is not None:
        return read_mixes_of(given.mixes, names, items, study.classes)
    assert given.labels is not None
    labels = _labels(study, items, names, given.labels)
    count = preset.stimuli if given.count is None else given.count
    return choose_mixes(labels, study.classes, preset.coefficients, count=count, rng=rng)


def _labels(study: ElicitStudy, items: Sequence[str], names: Names, table: Table) -> dict[str, str]:
    told = read_classes_of(table, names, study.classes)
    return _of_all(items, told, "class in the table of labels")


def _of_all(items: Sequence[str], told: Mapping[str, str], what: str) -> dict[str, str]:
    """What a table tells about the items that are asked about; it must leave none out."""
    missing = [item for item in items if item not in told]
    if missing:
        raise DataError(
            f"{len(missing):,} of {len(items):,} images have no {what}, the first is "
            f"{missing[0]!r}; add them to the table, or take them out of the folder."
        )
    return {item: told[item] for item in items}


@contextmanager
def _made_whole(folder: Path) -> Iterator[Path]:
    """A folder beside the wanted one, which takes its place only when all went well."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield place
        if folder.exists():
            folder.rmdir()  # it is empty
        place.replace(folder)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
