"""Turn images into stimuli: what one trial shows, and what nobody is shown about it.

``shown`` may reach the page: the class of a typicality rating, the two classes of a mix. ``gold``
and ``secret`` never do: the known class, the sources and the coefficient of a mix, the items
behind the pictures of a comparison. The layout of a session is made to fit the stimuli there are.
"""

import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.elicit.design.study import ElicitStudy, fit_layout, study_from
from sfumato.elicit.storage.schema import Role, Stimulus
from sfumato.errors import DataError
from sfumato.judgments.mixed import Mix

MOST_STIMULI = 1_000_000
TRIPLETS_PER_ITEM = 20

ImageIds = Mapping[str, str | tuple[str, ...]]
"""The id of the picture of each item, or of all its pictures."""


def single_images(
    items: Sequence[str],
    images: ImageIds,
    *,
    target: int,
    labels: Mapping[str, str] | None = None,
    batches: Mapping[str, str] | None = None,
) -> list[Stimulus]:
    """One stimulus an image; its known class, if any, is its stratum."""
    labels, batches = labels or {}, batches or {}
    return [
        Stimulus(
            key=_key("main", item),
            item=item,
            images=_all(images[item]),
            target=target,
            stratum=labels.get(item),
            batch=batches.get(item),
            gold=labels.get(item),
        )
        for item in items
    ]


def images_with_class(
    items: Sequence[str],
    images: ImageIds,
    classes: Sequence[str],
    *,
    target: int,
    labels: Mapping[str, str] | None = None,
    batches: Mapping[str, str] | None = None,
) -> list[Stimulus]:
    """Each image with its known class (S1-02), or with every class where none is known."""
    batches = batches or {}
    return [
        Stimulus(
            key=_key("main", item, name),
            item=item,
            images=_all(images[item]),
            target=target,
            shown={"class": name},
            stratum=name,
            batch=batches.get(item),
            gold=None if labels is None else labels[item],
        )
        for item in items
        for name in (classes if labels is None else [labels[item]])
    ]


def known_images(
    answers: Mapping[str, str], images: ImageIds, *, role: Role, show_class: bool = False
) -> list[Stimulus]:
    """Checks or practice: images whose class is beyond doubt. They have no target to reach."""
    return [
        Stimulus(
            key=_key(role, item),
            item=item,
            images=_all(images[item]),
            target=0,
            shown={"class": name} if show_class else {},
            role=role,
            gold=name,
        )
        for item, name in answers.items()
    ]


def compared_images(
    comparisons: Sequence[tuple[str, ...]], images: Mapping[str, str], *, target: int
) -> list[Stimulus]:
    """Pairs (S1-03), or triplets with the image that is compared first (S1-04)."""
    return [
        Stimulus(
            key=_key("main", *items),
            item=" | ".join(items),
            images=tuple(images[item] for item in items),
            target=target,
            secret=dict(zip(_columns(items), items, strict=True)),
        )
        for items in comparisons
    ]


def mixed_images(
    mixes: Sequence[Mix], images: Mapping[str, str], *, target: int, name_classes: bool
) -> list[Stimulus]:
    """Mixed images, with the names of their two classes (S2-08) or without (S2-11)."""
    return [
        Stimulus(
            key=_key("main", mix.item),
            item=mix.item,
            images=(images[mix.item],),
            target=target,
            shown={"classes": [mix.first_class, mix.second_class]} if name_classes else {},
            stratum=f"{mix.first_class} + {mix.second_class}",
            secret={
                "first_item": mix.first_item,
                "second_item": mix.second_item,
                "first_class": mix.first_class,
                "second_class": mix.second_class,
                "coefficient": mix.coefficient,
            },
        )
        for mix in mixes
    ]


def choose_pairs(
    items: Sequence[str], *, count: int | None, rng: np.random.Generator
) -> list[tuple[str, ...]]:
    """All pairs, or ``count`` of them at random; which is first is left to chance."""
    possible = math.comb(len(items), 2)
    if possible == 0:
        raise DataError(f"Pairs need at least two images; found {len(items)}.")
    count = possible if count is None else min(count, possible)
    _check_count(count, "pairs")
    chosen: list[tuple[str, ...]]
    if count == possible:
        chosen = list(itertools.combinations(items, 2))
    else:
        chosen = _draw(items, 2, count, rng)
    turned = rng.random(len(chosen)) < 0.5
    return [pair[::-1] if turn else pair for pair, turn in zip(chosen, turned, strict=True)]


def choose_triplets(
    items: Sequence[str], *, count: int | None, rng: np.random.Generator
) -> list[tuple[str, ...]]:
    """``count`` different triplets at random out of 3·C(n, 3), by default 20 an image."""
    possible = 3 * math.comb(len(items), 3)
    if possible == 0:
        raise DataError(f"Triplets need at least three images; found {len(items)}.")
    count = min(TRIPLETS_PER_ITEM * len(items) if count is None else count, possible)
    _check_count(count, "triplets")
    if 2 * count < possible:
        return _draw(items, 3, count, rng)
    chosen = [
        (item, *others)
        for item in items
        for others in itertools.combinations([other for other in items if other != item], 2)
    ]
    kept = np.sort(rng.choice(len(chosen), size=count, replace=False))
    return [chosen[place] for place in kept]


def _draw(
    items: Sequence[str], size: int, count: int, rng: np.random.Generator
) -> list[tuple[str, ...]]:
    """Different comparisons at random; the last two of each are in no order of meaning."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    while len(found) < count:
        places = rng.choice(len(items), size=size, replace=False).tolist()
        drawn = tuple(items[place] for place in places)
        found.setdefault((*drawn[:-2], *sorted(drawn[-2:])), drawn)
    return list(found.values())


def _all(ids: str | tuple[str, ...]) -> tuple[str, ...]:
    return (ids,) if isinstance(ids, str) else ids


def _columns(items: tuple[str, ...]) -> tuple[str, ...]:
    return ("first", "second") if len(items) == 2 else ("item", "first", "second")


def _check_count(count: int, what: str) -> None:
    if not 1 <= count <= MOST_STIMULI:
        raise DataError(
            f"{count:,} {what} are not between 1 and {MOST_STIMULI:,}; say how many to draw, or "
            "give a list of them."
        )


def _key(role: Role, *parts: str) -> str:
    return json.dumps([role, *parts], ensure_ascii=False)


def fit_study(
    study: ElicitStudy, stimuli: Sequence[Stimulus], given: Mapping[str, Any]
) -> ElicitStudy:
    """The study with a layout for these stimuli; what was ``given`` is kept or refused.

    Sessions get shorter where there are fewer stimuli, whole batches where there are batches, and
    all the practice there is.
    """
    by_role = {
        role: [one for one in stimuli if one.role == role] for role in ("main", "check", "practice")
    }
    layout = study.layout.model_dump()
    if any(one.batch for one in by_role["main"]):
        layout["whole_batches"] = given.get("whole_batches", True)
    if by_role["practice"]:
        layout["practice"] = given.get("practice", len(by_role["practice"]))
    layout["trials_per_person"] = _trials(layout, by_role["main"], given)
    layout = fit_layout(layout, given)
    fitted = study_from({**study.model_dump(), "layout": layout}, where="The layout")
    _check(fitted, by_role)
    return fitted


def _trials(layout: Mapping[str, Any], main: Sequence[Stimulus], given: Mapping[str, Any]) -> int:
    wanted: int = layout["trials_per_person"]
    if layout["whole_batches"]:
        sizes = Counter(one.batch for one in main if one.batch)
        if not sizes:
            raise DataError(
                "layout.whole_batches needs an allocation of the images to batches; give one, or "
                "set it to false."
            )
        batch, largest = sizes.most_common(1)[0]
        if "trials_per_person" in given and wanted != largest:
            raise DataError(
                f"layout.trials_per_person is {wanted}, but people get whole batches, and batch "
                f"{batch!r} has {largest} trials; leave it out, or set layout.whole_batches to "
                "false."
            )
        return largest
    if wanted > len(main) and "trials_per_person" in given:
        raise DataError(
            f"layout.trials_per_person is {wanted}, but there are only {len(main)} things to show "
            "a person; it can be at most that."
        )
    return min(wanted, len(main))


def _check(study: ElicitStudy, by_role: Mapping[str, Sequence[Stimulus]]) -> None:
    layout = study.layout
    checks, practice = len(by_role["check"]), len(by_role["practice"])
    met = layout.trials_per_person // layout.checks_every if layout.checks_every else 0
    if met > checks:
        raise DataError(
            f"A person meets {met} attention checks, one every {layout.checks_every} trials, but "
            f"{checks} are given; name images with an obvious class in a table of checks (columns "
            "image and class), or set layout.checks_every to 0."
        )
    if checks and not met:
        raise DataError(
            "The images in the table of checks would never be shown; say with layout.checks_every "
            "after how many trials."
        )
    if layout.practice > practice:
        raise DataError(
            f"layout.practice is {layout.practice}, but {practice} images to practise with are "
            "given; name them in a table of practice images (columns image and class)."
        )
    if layout.per_class and not all(one.stratum for one in by_role["main"]):
        raise DataError(
            "layout.per_class spreads the trials of a person over the known classes of the images; "
            "give them in a table of labels (columns image and class), or set it to false."
        )
