"""Turn judgments into one distribution per judgment: recipes decide what silence meant.

A judgment states some things and leaves others unsaid. ``RECIPES`` names the ways to
complete it to a distribution; ``build`` applies one to every distinct answer and hands
the rows back as ``CrowdLabels``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.coded import encode, natural_order
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import forms, top_two
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.names import find, sorted_names
from sfumato.provenance import Provenance, Setting, Step

__all__ = [
    "DEFAULT_GAMMA",
    "DEFAULT_RECIPE",
    "EACH_CLASS",
    "NONE_OF_THESE",
    "NO_YES",
    "RECIPES",
    "BuiltLabels",
    "LabelRecipe",
    "build",
    "build_classes",
    "build_units",
    "codes",
    "complete",
]

NONE_OF_THESE = "none of these"
"""The extra class of yes/no/unsure labels (S4-11)."""

DEFAULT_GAMMA = 0.1
"""The mass kept back for classes that were not ruled out (S2-18), as chosen in the paper."""

Option = Literal["gamma", "rule", "distances"]


@dataclass(frozen=True)
class LabelRecipe:
    """A way from one answer to one distribution."""

    kinds: tuple[str, ...]
    """The questions whose answers it reads."""
    complete: Callable[..., NDArray[np.float64]]
    """``Statements`` (and its options) to rows; a row of NaN where an answer states too little."""
    about: str
    takes: tuple[Option, ...] = ()


@dataclass(frozen=True, eq=False)
class BuiltLabels:
    """The labels, and the judgments that state too little to become one."""

    crowd: CrowdLabels
    left_out: pl.DataFrame  # item, annotator, answer, reason
    used: NDArray[np.bool_]
    """Which of the judgments are in ``crowd``, which keeps their order."""


_WITH_TOP = ("choose-one", "top-two", "sliders", "top-class", "sparse", "ranking", "confidence",
             "distribution", "yes-no-unsure", "likely-set", "rating", "number", "three-point",
             "own-and-others")  # fmt: skip

RECIPES: dict[str, LabelRecipe] = {
    "votes": LabelRecipe(_WITH_TOP, forms.votes, "all mass on the top choice (S0-06)"),
    "top1-uniform": LabelRecipe(
        ("top-two",), top_two.top1_uniform,
        "mass of the first choice, the rest over all other classes (S2-16)", ("rule",),
    ),
    "top1-clamp": LabelRecipe(
        ("top-two",), top_two.top1_clamp,
        "mass of the first choice, the rest over classes not ruled out (S2-17)", ("gamma", "rule"),
    ),
    "top2-uniform": LabelRecipe(
        ("top-two",), top_two.top2_uniform,
        "mass of both choices, the rest over all other classes (S2-16)", ("rule",),
    ),
    "top2-clamp": LabelRecipe(
        ("top-two",), top_two.top2_clamp,
        "mass of both choices, the rest over classes not ruled out (S2-17)", ("gamma", "rule"),
    ),
    "top1-semantic": LabelRecipe(
        ("top-two",), top_two.top1_semantic,
        "mass of the first choice, the rest by similarity to it (S2-20)", ("distances",),
    ),
    "top2-semantic": LabelRecipe(
        ("top-two",), top_two.top2_semantic,
        "mass of both choices, the rest by similarity to the first (S2-20)", ("distances",),
    ),
    "top2-stated": LabelRecipe(
        ("top-two",), top_two.top2_stated,
        "mass of both choices divided by its sum, nothing elsewhere (C1)",
    ),
    "select-top2": LabelRecipe(
        ("top-two",), top_two.select_top2, "half on each of the two choices, no numbers (S3-08)"
    ),
    "sliders": LabelRecipe(
        ("sliders", "top-class", "sparse", "distribution"), forms.sliders,
        "scores divided by their sum (S1-14)",
    ),
    "typicality": LabelRecipe(
        ("typicality",), forms.typicality,
        "typicality on the class shown, the rest over the others (S1-15)",
    ),
    "yes-unsure-equal": LabelRecipe(
        ("yes-no-unsure", "multi-label"), forms.yes_unsure_equal,
        "yes and unsure count 1, no counts 0 (S4-09)",
    ),
    "yes-unsure-weighted": LabelRecipe(
        ("yes-no-unsure", "multi-label"), forms.yes_unsure_weighted,
        "yes counts 1, unsure a half (S4-10)",
    ),
    "likely-set": LabelRecipe(
        ("likely-set",), forms.likely_set, "equal mass on every label of the set (S2-01)"
    ),
    "ranking": LabelRecipe(
        ("ranking",), forms.ranking, "rank-order-centroid weights of the ordered labels (S2-01)"
    ),
    "confidence": LabelRecipe(
        ("confidence",), forms.confidence,
        "the level's mass on the choice, the rest over the others (S2-01)",
    ),
    "between-points": LabelRecipe(
        ("number",), forms.sliders,
        "a number as mass on the two points beside it, whose mean it is",
    ),
    "three-point": LabelRecipe(
        ("three-point",), forms.three_point,
        "the mean of a PERT distribution: (lowest + 4 × best + highest) / 6",
    ),
    "best-guess": LabelRecipe(
        ("three-point",), forms.sliders, "the best guess alone, without its bounds"
    ),
    "predicted-others": LabelRecipe(
        ("own-and-others",), forms.sliders, "what people expect others to say"
    ),
    "per-class": LabelRecipe(
        ("multi-label", "yes-no-unsure"), forms.per_class,
        "each class on its own: yes 1, unsure a half, no 0; rows need not sum to one",
    ),
}  # fmt: skip

NO_YES = ("no", "yes")
"""The classes of a label that is about one class alone."""

EACH_CLASS = ("per-class",)
"""The recipes whose rows are one number for each class, not a distribution over them."""


DEFAULT_RECIPE: dict[str, str] = {
    "choose-one": "votes",
    "top-two": "top2-clamp",
    "sliders": "sliders",
    "typicality": "typicality",
    "yes-no-unsure": "yes-unsure-weighted",
    "top-class": "sliders",
    "sparse": "sliders",
    "likely-set": "likely-set",
    "ranking": "ranking",
    "confidence": "confidence",
    "distribution": "sliders",
    "rating": "votes",
    "number": "between-points",
    "multi-label": "per-class",
    "three-point": "three-point",
    "own-and-others": "votes",
}
"""The recipe that uses all that a question asks for."""


@dataclass(frozen=True, eq=False)
class CompletedAnswers:
    """What a recipe makes of the distinct answers of some judgments."""

    rows: NDArray[np.float64]  # (answers, classes); NaN where an answer states too little
    classes: tuple[str, ...]
    steps: Provenance
    """The last one is the recipe."""


def complete(
    judgments: Judgments,
    recipe: str,
    *,
    gamma: float | None = None,
    rule: top_two.Rule | None = None,
    distances: ClassDistances | None = None,
) -> CompletedAnswers:
    """One distribution for each distinct answer, by a named recipe.

    ``gamma`` and ``rule`` belong to the top-two recipes, ``distances`` of the classes to the
    semantic ones, which need them; an option that the recipe does not take is an error.
    """
    chosen = find(RECIPES, recipe, what="recipe")
    _check_kind(judgments, recipe, chosen)
    if recipe in EACH_CLASS:
        raise DataError(
            f"The recipe {recipe!r} gives each class a probability of its own; there is no one "
            "distribution of an answer. Build the classes one by one."
        )
    given = {"gamma": gamma, "rule": rule, "distances": distances}
    options = _options(recipe, chosen, given)
    classes = judgments.question.classes
    rows = _complete(judgments, chosen, options)  # (answers, classes)
    if rows.shape[1] > len(classes):
        if judgments.question.options.get("none_of_these"):
            classes = (*classes, NONE_OF_THESE)
        rows = rows[:, : len(classes)]
    settings: dict[str, Setting] = {
        name: value for name, value in options.items() if isinstance(value, str | float)
    }
    told: Provenance = ()
    if distances is not None:
        told = distances.provenance
        settings["similarity by"] = distances.origin
    return CompletedAnswers(rows, classes, (*told, Step(f"label {recipe}", settings)))


def build(
    judgments: Judgments,
    recipe: str,
    *,
    gamma: float | None = None,
    rule: top_two.Rule | None = None,
    distances: ClassDistances | None = None,
) -> BuiltLabels:
    """One distribution for each judgment, by a named recipe; the options are of ``complete``."""
    done = complete(judgments, recipe, gamma=gamma, rule=rule, distances=distances)
    return _gather(judgments, done.rows, done.classes, done.steps)


def build_classes(judgments: Judgments, recipe: str = EACH_CLASS[0]) -> dict[str, BuiltLabels]:
    """Labels "no" and "yes" of each class on its own; a class that nobody was asked about has none.

    >>> from sfumato.judgments.question import ask
    >>> said = pl.DataFrame({"item": ["a", "a"], "answer": ['["cat"]', '["cat", "dog"]']})
    >>> found = build_classes(Judgments(ask("multi-label", ["cat", "dog"]), said))
    >>> {name: built.crowd.mean().probs.tolist() for name, built in found.items()}
    {'cat': [[0.0, 1.0]], 'dog': [[0.5, 0.5]]}
    """
    chosen = find(RECIPES, recipe, what="recipe")
    _check_kind(judgments, recipe, chosen)
    rows = chosen.complete(judgments.statements)  # (answers, classes)
    asked = np.isfinite(rows[judgments.statements.index]).any(axis=0)
    return {
        name: _gather(
            judgments,
            np.stack([1 - share, share], axis=1),
            NO_YES,
            (Step(f"label {recipe}", {"class": name}),),
        )
        for name, share, some in zip(judgments.question.classes, rows.T, asked, strict=True)
        if some
    }


def build_units(judgments: Judgments, recipe: str) -> CrowdLabels:
    """What describes any answers: rows of ``build``, or "no" and "yes" of each item and class."""
    if recipe not in EACH_CLASS:
        return build(judgments, recipe).crowd
    crowds = {name: each.crowd for name, each in build_classes(judgments, recipe).items()}
    units = [(f"{item}: {name}", name) for name, crowd in crowds.items() for item in crowd.items]
    ends = np.cumsum([0, *(len(crowd.items) for crowd in crowds.values())])
    people = sorted_names(list({one for each in crowds.values() for one in each.annotators}))
    place = {name: at for at, name in enumerate(people)}
    who = [np.array([*(place[one] for one in crowd.annotators), NOT_RECORDED])[crowd.annotator]
           for crowd in crowds.values()]  # fmt: skip
    return CrowdLabels(
        [unit for unit, _ in units],
        people,
        NO_YES,
        np.concatenate(
            [crowd.item + end for crowd, end in zip(crowds.values(), ends, strict=False)]
        ),
        np.concatenate(who),
        np.concatenate([crowd.probs for crowd in crowds.values()]),
        next(iter(crowds.values())).provenance,
    )


def codes(names: pl.Series) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Distinct names in natural order, and each row's place among them; null is NOT_RECORDED.

    >>> codes(pl.Series(["10", "9", None]))
    (('9', '10'), array([ 1,  0, -1]))
    """
    distinct, place = natural_order(encode(names))
    return distinct, place.astype(np.int64)


def _check_kind(judgments: Judgments, name: str, recipe: LabelRecipe) -> None:
    kind = judgments.question.kind
    if kind not in recipe.kinds:
        fitting = sorted(other for other, known in RECIPES.items() if kind in known.kinds)
        raise DataError(
            f"The recipe {name!r} reads answers to {' or '.join(recipe.kinds)}, but the question "
            f"was {kind}. Recipes for {kind}: {', '.join(fitting)}."
        )


def _options(name: str, recipe: LabelRecipe, given: Mapping[str, object]) -> dict[str, object]:
    for option, value in given.items():
        if value is not None and option not in recipe.takes:
            takes = ", ".join(recipe.takes) or "no options"
            raise DataError(f"The recipe {name!r} takes no {option} (it takes {takes}).")
    defaults: dict[str, object] = {"gamma": DEFAULT_GAMMA, "rule": "consistent"}
    options: dict[str, object] = {
        option: defaults.get(option) if given[option] is None else given[option]
        for option in recipe.takes
    }
    gamma = options.get("gamma", 0.0)
    assert isinstance(gamma, int | float)
    if not 0 <= gamma < 1:
        raise DataError(f"gamma is the share of mass kept back: 0 or more, below 1, not {gamma}.")
    if "distances" in options and options["distances"] is None:
        raise DataError(
            f"The recipe {name!r} needs to know how far the classes are apart: give a file of "
            "word vectors, or a table of distances, which can be made from what people confuse."
        )
    return options


def _complete(
    judgments: Judgments, recipe: LabelRecipe, options: Mapping[str, object]
) -> NDArray[np.float64]:
    """What the recipe makes of each distinct answer."""
    distances = options.get("distances")
    if not isinstance(distances, ClassDistances):
        return recipe.complete(judgments.statements, **options)
    classes = judgments.question.classes
    rows = recipe.complete(judgments.statements, similarity=1 - distances.of(classes))
    stranded = np.flatnonzero(np.isinf(rows).any(axis=1))
    if len(stranded):
        first = classes[int((judgments.statements.rank[stranded[0]] == 1).argmax())]
        raise DataError(
            f"An answer leaves mass to classes that it does not name, but none of them has any "
            f"similarity to its first choice {first!r} (all are at a distance of 1 or more). Give "
            "other distances, or use a uniform recipe."
        )
    return rows


def _gather(
    judgments: Judgments, rows: NDArray[np.float64], classes: tuple[str, ...], steps: Provenance
) -> BuiltLabels:
    step = steps[-1]
    index = judgments.statements.index
    whole = np.isfinite(rows.sum(axis=1))  # (answers,)
    usable = whole[index]  # (judgments,)
    table = judgments.coded.take(usable)
    if not len(table):
        raise DataError(f"None of the {len(index)} answers states enough for {step.name!r}.")
    items, item = natural_order(table.coded("item"))
    annotators, annotator = natural_order(table.coded("annotator"))
    left_out = judgments.decode(np.flatnonzero(~usable)).select(
        "item", "annotator", "answer", reason=pl.lit(f"states too little for {step.name!r}")
    )
    step = Step(step.name, {**step.settings, "left_out": len(left_out)})
    crowd = CrowdLabels(
        items,
        annotators,
        classes,
        item,
        annotator,
        rows[whole],
        (*judgments.provenance, *steps[:-1], step),
        said=(np.cumsum(whole) - 1)[index[usable]],
        values=judgments.question.values if classes == judgments.question.classes else None,
    )
    return BuiltLabels(crowd, left_out, usable)
