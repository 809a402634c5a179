"""Turn the material of H-Mix into everything the report is drawn from: tables, facts, pictures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.judgments.mixed import Mix, mix_named, mix_pixels
from sfumato.provenance import Setting
from sfumato.studies.hmix.curves import class_pairs
from sfumato.studies.hmix.material import Material
from sfumato.studies.hmix.measured import (
    measured_answers,
    measured_labels,
    measured_midpoints,
    measured_repeats,
)
from sfumato.studies.hmix.resampling import crossed_weights
from sfumato.studies.hmix.study import ALL, PARTS, THESIS, HMixStudy

__all__ = ["RELEASED", "Analysis", "analyse"]

RELEASED = "as released"
CONSISTENT = "top2-clamp, consistent"
FIRST_VIEWS = "first views only"
SHOWN = 6
"""Mixes in a gallery."""
LEAST_ANSWERS = 3

FIGURE_4_3 = {
    "mixed_0.75_Airplane_74_Dog_3610.png": 0.58,
    "mixed_0.5_Bird_7348_Cat_6202.png": 0.99,
    "mixed_0.5_Automobile_9830_Bird_5118.png": 0.87,
}
"""The three mixes of figure 4.3 and its λ_h: of its class pairs and coefficients, those with that
mean answer."""
FIGURE_5_1 = ("horse", "ship", 0.5)


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was found, by names that are file names."""

    tables: dict[str, pl.DataFrame]
    facts: dict[str, Setting]
    pictures: dict[str, NDArray[np.uint8]]
    """Mixes and their images, of those that are drawn."""


def analyse(material: Material, study: HMixStudy) -> Analysis:
    """All numbers with their intervals; the same study and files give the same numbers."""
    rng = np.random.default_rng(study.seed)
    measured, draws = [], study.draws
    for part in PARTS:
        mine = _part(material.inferred, part)
        weights = crossed_weights(mine, "annotator", rng=rng, draws=draws)
        measured.append(measured_answers(mine, weights, study, part=part))
        measured.append(measured_repeats(mine, part=part, rng=rng, draws=draws))
    # The last part is all answers: class pairs are curved with everything there is.
    points, parameters, lines = class_pairs(mine, weights)
    measured.append(measured_midpoints(material.midpoints, rng=rng, draws=draws))
    for made, labels in ((RELEASED, material.labels), (CONSISTENT, material.consistent)):
        measured.append(measured_labels(labels, made=made, rng=rng, draws=draws))
    galleries = _galleries(material)
    tables = {
        "measured": pl.concat(measured),
        "inferred": material.inferred,
        "midpoints": material.midpoints,
        "points": points,
        "parameters": parameters,
        "lines": lines,
        "examples": _examples(material.inferred),
        "label_masses": material.labels.select(
            "mix", "annotator", "shown", "first_mass", "second_mass", "other_mass"
        ),
        **galleries,
    }
    return Analysis(tables, _facts(material), _pictures(material, galleries.values()))


def _part(table: pl.DataFrame, part: str) -> pl.DataFrame:
    return table if part == ALL else table.filter(pl.col("part") == part)


def _facts(material: Material) -> dict[str, Setting]:
    """Whole numbers about each part: people, mixes, answers, and how they were asked."""
    facts: dict[str, Setting] = {}
    for part in PARTS:
        mine = _part(material.inferred, part)
        per_person = mine.group_by("annotator").len()["len"]
        first = mine.filter(view="first")
        mixes = mine.unique("mix")
        images = pl.concat([mixes["first_item"], mixes["second_item"].alias("first_item")]).unique()
        facts[part] = {
            "people": len(per_person),
            "mixes": len(mixes),
            "answers": len(mine),
            "repeats": len(mine) - len(first),
            "fewest_of_a_person": _whole(per_person.min()),
            "most_of_a_person": _whole(per_person.max()),
            "fewest_people_of_a_mix": _whole(
                first.group_by("mix").agg(pl.col("annotator").n_unique())["annotator"].min()
            ),
            "class_pairs": mixes["pair"].n_unique(),
            "image_pairs": mixes.select("first_item", "second_item").n_unique(),
            "images": len(images),
            "images_of_the_7000": sum(item in material.training_items for item in images),
        }
    thesis = set(_part(material.inferred, THESIS)["mix"])
    labels = material.labels
    facts["labels"] = {
        "people": labels["annotator"].n_unique(),
        "mixes": labels["mix"].n_unique(),
        "answers": len(labels),
        "coefficients": labels["shown"].unique().sort().to_list(),
        "mixes_of_the_thesis": len(set(labels["mix"]) & thesis),
    }
    return facts


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


def _examples(inferred: pl.DataFrame) -> pl.DataFrame:
    """The mixes of figure 4.3: its mean answers, and ours with and without repeats."""
    means = inferred.group_by("mix").agg(
        pl.col("perceived").mean().alias("all answers"),
        pl.col("perceived").filter(pl.col("view") == "first").mean().alias(FIRST_VIEWS),
        pl.len().alias("answers"),
    )
    told = pl.DataFrame({"mix": list(FIGURE_4_3), "figure 4.3": list(FIGURE_4_3.values())})
    return told.join(means, on="mix", how="left", maintain_order="left")


def _galleries(material: Material) -> dict[str, pl.DataFrame]:
    """Answers about the mixes that are drawn, and bars of the soft labels that are."""
    inferred = material.inferred.select(
        "mix", "first_item", "second_item", "first_class", "second_class", "shown", "perceived",
        "confidence",
    )  # fmt: skip
    several = inferred.filter(pl.len().over("mix") >= LEAST_ANSWERS)
    means = several.group_by("mix", maintain_order=True).agg(
        (pl.col("perceived").mean() - pl.col("shown").first()).abs().alias("off"),
        pl.col("perceived").std().alias("spread"),
    )
    farthest = means.sort("off", "mix", descending=[True, False])["mix"].head(SHOWN).to_list()
    divided = means.sort("spread", "mix", descending=[True, False])["mix"].head(SHOWN).to_list()
    masses = material.labels.group_by("mix").agg(pl.col("other_mass").mean(), pl.len())
    others = masses.sort("other_mass", "mix", descending=[True, False])["mix"].to_list()
    figure = [name for name in sorted(others) if _is_figure(mix_named(name))]
    return {
        "gallery_figure": _answers_of(inferred, list(FIGURE_4_3)),
        "gallery_farthest": _answers_of(inferred, farthest),
        "gallery_divided": _answers_of(inferred, divided),
        "bars_figure": _bars(material.labels, figure),
        "bars_others": _bars(material.labels, others[:4]),
        "bars_mixed": _bars(material.labels, others[-4:]),
    }


def _is_figure(mix: Mix) -> bool:
    return (mix.first_class, mix.second_class, mix.coefficient) == FIGURE_5_1


def _answers_of(inferred: pl.DataFrame, mixes: Sequence[str]) -> pl.DataFrame:
    wanted = pl.DataFrame({"mix": mixes})
    return wanted.join(inferred, on="mix", maintain_order="left_right")


def _bars(labels: pl.DataFrame, mixes: Sequence[str]) -> pl.DataFrame:
    """A row a class and source: the mean of people's labels, and mixup's label (S2-F5.1).

    Items are called ``Mix.item``: names of files are too long to stand above a picture.
    """
    rows = []
    for name in mixes:
        mix, mine = mix_named(name), labels.filter(pl.col("mix") == name)
        mixup = {mix.first_class: mix.coefficient, mix.second_class: 1 - mix.coefficient}
        for label in CIFAR10:
            people = float(mine[label].mean())  # type: ignore[arg-type]
            rows.append((mix.item, "people", label, people))
            rows.append((mix.item, "mixup", label, mixup.get(label, 0.0)))
    return pl.DataFrame(rows, schema=["item", "source", "class", "probability"], orient="row")


def _pictures(
    material: Material, galleries: Iterable[pl.DataFrame]
) -> dict[str, NDArray[np.uint8]]:
    """What is drawn: mixes under the name they have in the galleries, and their images."""
    names = {
        name for table in galleries for name in table["mix" if "mix" in table.columns else "item"]
    }
    known = material.mixes | {mix.item: mix for mix in material.mixes.values()}
    pictures = dict(zip(material.images.items, material.images.images, strict=True))
    shown: dict[str, NDArray[np.uint8]] = {}
    for name in sorted(names):
        mix = known[name]
        first, second = pictures[mix.first_item], pictures[mix.second_item]
        shown |= {mix.first_item: first, mix.second_item: second}
        shown[name] = mix_pixels(first, second, mix.coefficient)
    return shown
