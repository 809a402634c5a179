"""Turn images into stimuli: what one trial shows, and what nobody is shown about it.

``shown`` may reach the page: the class of a typicality rating, the two classes of a mix. ``gold``
and ``secret`` never do: the known class, the sources and the coefficient of a mix, the items
behind the pictures of a comparison.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.elicit.storage.schema import Role, Stimulus
from sfumato.errors import DataError
from sfumato.judgments.mixed import Mix

MOST_STIMULI = 1_000_000
TRIPLETS_PER_ITEM = 20

ImageIds = Mapping[str, str]
"""The id of the picture of each item."""


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
            images=(images[item],),
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
            images=(images[item],),
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
            images=(images[item],),
            target=0,
            shown={"class": name} if show_class else {},
            role=role,
            gold=name,
        )
        for item, name in answers.items()
    ]


def compared(
    comparisons: Sequence[tuple[str, ...]], images: ImageIds, *, target: int
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
    mixes: Sequence[Mix], images: ImageIds, *, target: int, name_classes: bool
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
