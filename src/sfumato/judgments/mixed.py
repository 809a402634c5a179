"""Turn pairs of images into mixed images that people judge and networks learn from.

A mix is ``coefficient`` × first image + (1 − ``coefficient``) × second image, in pixels. Everything
about it follows from its two items and its coefficient, so answers, labels and pictures of a mix
are joined by its name, ``Mix.item``, and no picture needs to be kept.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.comparisons import MixJudgments
from sfumato.judgments.formats.datasets import pair_of
from sfumato.judgments.formats.reading import (
    by_line,
    flag_empty,
    flag_no_number,
    read_csv_rows,
    sound_rows,
    whole_file,
)

Coefficients = Sequence[Sequence[float]]
"""Of every group one is drawn for each pair of images."""

THESIS_COEFFICIENTS: tuple[tuple[float, ...], ...] = ((0.5,), (0.1, 0.25), (0.75, 0.9))
"""Half and half, and one from each side (S2-09)."""
IMAGE_PAIRS = 6
"""Pairs of images that are mixed for each pair of classes (S2-09)."""
HMIX_NAME = re.compile(r"mixed_(0?\.[0-9]+|[01](?:\.0*)?)_(.+)")
"""How H-Mix calls a mixed image: mixed_0.5_Dog_2205_Frog_6908.png."""


@dataclass(frozen=True)
class Mix:
    """``coefficient`` × first image + (1 − ``coefficient``) × second image.

    >>> Mix("17", "403", "cat", "dog", 0.25).item
    '0.25 17 + 403'
    """

    first_item: str
    second_item: str
    first_class: str
    second_class: str
    coefficient: float

    def __post_init__(self) -> None:
        if not 0 <= self.coefficient <= 1:
            raise DataError(
                f"The mix of {self.first_item!r} and {self.second_item!r} has the coefficient "
                f"{self.coefficient:g}; it must be from 0 to 1."
            )

    @property
    def item(self) -> str:
        """What the mixed image is called."""
        return f"{self.coefficient:g} {self.first_item} + {self.second_item}"


FIELDS = tuple(field.name for field in fields(Mix))


def choose_mixes(
    labels: Mapping[str, str],
    classes: Sequence[str],
    coefficients: Coefficients = THESIS_COEFFICIENTS,
    *,
    pairs: int = IMAGE_PAIRS,
    count: int | None = None,
    rng: np.random.Generator,
) -> list[Mix]:
    """For each pair of classes six pairs of images, or all there are, each mixed several times.

    Of every group in ``coefficients`` one is drawn for each pair of images: 45 pairs of ten
    classes × 6 × 3 are the 810 stimuli of the thesis (S2-09). ``labels`` are the classes of the
    items; ``count`` keeps so many of all mixes, by chance.
    """
    _check_coefficients(coefficients)
    by_class = {name: [item for item, label in labels.items() if label == name] for name in classes}
    empty_classes = [name for name, items in by_class.items() if not items]
    if empty_classes:
        raise DataError(
            f"No image has the class {empty_classes[0]!r}; mixes need images of every class."
        )
    mixes = []
    for first, second in itertools.combinations(classes, 2):
        possible = len(by_class[first]) * len(by_class[second])
        drawn = rng.choice(possible, size=min(pairs, possible), replace=False)
        for place in drawn.tolist():
            one, two = divmod(place, len(by_class[second]))
            ends = (by_class[first][one], by_class[second][two], first, second)
            mixes += [Mix(*ends, float(rng.choice(among))) for among in coefficients]
    if count is None or count >= len(mixes):
        return mixes
    kept = np.sort(rng.choice(len(mixes), size=count, replace=False))
    return [mixes[place] for place in kept]


def mix_pixels(
    first: NDArray[np.uint8], second: NDArray[np.uint8], coefficient: float
) -> NDArray[np.uint8]:
    """``coefficient`` × first + (1 − ``coefficient``) × second, at the images' own size (S2-09).

    Both are height × width, with × channels for colour; grey mixed with colour becomes colour.
    Grey levels are rounded to the nearest. H-Mix stores no mixed images and does not say how it
    rounds: its pictures may differ from these by one grey level of 255.

    >>> mix_pixels(np.array([[200]], np.uint8), np.array([[100]], np.uint8), 0.25)
    array([[125]], dtype=uint8)
    """
    if first.shape[:2] != second.shape[:2]:
        sizes = [f"{one.shape[0]} × {one.shape[1]}" for one in (first, second)]
        raise DataError(
            f"An image of {sizes[0]} pixels and one of {sizes[1]} are to be mixed; only images "
            "of one size can be."
        )
    one, two = _alike(first, second)
    mixed = coefficient * one.astype(np.float64) + (1 - coefficient) * two.astype(np.float64)
    return np.rint(mixed).astype(np.uint8)


def mixed_images(
    mixes: Sequence[Mix], images: Mapping[str, NDArray[np.uint8]]
) -> NDArray[np.uint8]:
    """Mixed images, (mixes, height, width, channels), from the images of the items.

    Row for row they are called ``[mix.item for mix in mixes]``, as the examples of a training
    are and as the answers of people about them.
    """
    missing = {
        item for mix in mixes for item in (mix.first_item, mix.second_item) if item not in images
    }
    if missing:
        raise DataError(
            f"There is no image of item {min(missing)!r}, which is to be mixed "
            f"({len(missing)} without one)."
        )
    made = []
    for mix in mixes:
        try:
            made.append(
                mix_pixels(images[mix.first_item], images[mix.second_item], mix.coefficient)
            )
        except DataError as error:
            raise DataError(f"Mix {mix.item!r}: {error}") from None
    shapes = {one.shape for one in made}
    if len(shapes) > 1:
        raise DataError(
            f"Mixed images have {len(shapes)} different shapes, such as "
            f"{' and '.join(map(str, sorted(shapes)[:2]))}; make the images of one size and kind."
        )
    together = np.stack(made) if made else np.empty((0, 0, 0, 1), dtype=np.uint8)
    return together if together.ndim == 4 else together[..., None]


def mix_named(name: str) -> Mix:
    """The mix behind a file name of H-Mix, whose images are mixed as ours are.

    >>> mix_named("mixed_0.75_Cat_6126_Ship_2713.png").item
    '0.75 6126 + 2713'
    """
    found = HMIX_NAME.fullmatch(name)
    try:
        if found is None:
            raise ValueError
        first_class, first, second_class, second = pair_of(found[2])
    except ValueError:
        raise DataError(
            f"{name!r} names no mixed image; expected such as mixed_0.5_Dog_2205_Frog_6908.png."
        ) from None
    return Mix(first, second, first_class, second_class, float(found[1]))


def mixes_of(answers: MixJudgments) -> dict[str, Mix]:
    """Each mixed image that people judged, by its name in the answers, in order of appearance.

    In a study of ours the name is ``Mix.item``; in H-Mix it is the name of a file. Answers to
    tasks in which people look for a mix themselves are about none and are left out.
    """
    columns = ("mix", "first_item", "second_item", "first_class", "second_class", "shown")
    rows = answers.table.select(columns).filter(pl.col("shown").is_not_null())
    rows = rows.unique(maintain_order=True)
    twice = rows.filter(rows["mix"].is_duplicated())
    if len(twice):
        raise DataError(f"The mix {twice['mix'][0]!r} has different sources in different answers.")
    nameless = rows.filter(pl.any_horizontal(pl.all().is_null()))
    if len(nameless):
        raise DataError(
            f"The answers do not say which images and classes {nameless['mix'][0]!r} was mixed of."
        )
    return {name: Mix(*ends) for name, *ends in rows.iter_rows()}


def read_mixes(path: Path) -> list[Mix]:
    """Read the CSV file that ``write_mixes`` writes; what is wrong is said with line and field.

    The column ``mix`` may be missing; where it is not, it must be ``Mix.item``.
    """
    rows = read_csv_rows(path, needed=FIELDS, progress=lambda done, total: None)
    table = rows.table.with_columns(line=pl.Series(rows.lines, dtype=pl.Int64))
    flaws = [*(flag_empty(table, name) for name in FIELDS)]
    flaws.append(flag_no_number(table, "coefficient", low=0, high=1))
    table, _, wrong = sound_rows(table, flaws, lines=rows.lines, file=path.name)
    if rows.rejected or wrong:
        first = by_line(rows.rejected, wrong)[0]
        raise DataError(f"{first}; found {first.text!r}.")
    given = table.with_columns(pl.col("coefficient").cast(pl.Float64)).select(FIELDS)
    mixes = [Mix(*row) for row in given.iter_rows()]
    named = table["mix"] if "mix" in table.columns else [mix.item for mix in mixes]
    for line, name, mix in zip(table["line"], named, mixes, strict=True):
        if name != mix.item:
            raise DataError(
                f"{path.name}, line {line}, field 'mix': {name!r}, but the mix of that row is "
                f"called {mix.item!r}."
            )
    _check_different(mixes, path.name)
    return mixes


def write_mixes(mixes: Sequence[Mix], path: Path) -> None:
    """Write mixes as CSV: mix, first_item, second_item, first_class, second_class, coefficient."""
    _check_different(mixes, path.name)
    rows = [(mix.item, *(getattr(mix, name) for name in FIELDS)) for mix in mixes]
    columns = {"mix": pl.String} | dict.fromkeys(FIELDS, pl.String) | {"coefficient": pl.Float64}
    with whole_file(path) as part:
        pl.DataFrame(rows, schema=columns, orient="row").write_csv(part)


def _check_coefficients(coefficients: Coefficients) -> None:
    listed = [value for group in coefficients for value in group]
    if not listed or not all(coefficients):
        raise DataError("Mixes need at least one coefficient in every group of them.")
    twice = [value for value, times in Counter(listed).items() if times > 1]
    if twice:
        raise DataError(
            f"The coefficient {twice[0]:g} stands twice in {listed}; the same mix would be made "
            "twice."
        )


def _check_different(mixes: Iterable[Mix], file: str) -> None:
    twice = [name for name, times in Counter(mix.item for mix in mixes).items() if times > 1]
    if twice:
        raise DataError(f"{file}: the mix {twice[0]!r} stands there more than once.")


def _alike(
    first: NDArray[np.uint8], second: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Both with as many channels: grey as it is, or repeated where the other has colours."""
    if first.ndim == 2 and second.ndim == 2:
        return first, second
    one, two = (image if image.ndim == 3 else image[..., None] for image in (first, second))
    channels = max(one.shape[2], two.shape[2])
    if {one.shape[2], two.shape[2]} - {1, channels}:
        raise DataError(
            f"An image of {one.shape[2]} channels and one of {two.shape[2]} cannot be mixed."
        )
    return tuple(np.broadcast_to(each, (*each.shape[:2], channels)) for each in (one, two))  # type: ignore[return-value]
