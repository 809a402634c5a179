"""Turn a study and its data into trainings: arms, splits, tests, targets, cells of a sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import DataError
from sfumato.judgments.mixed import Mix, mixed_images
from sfumato.labels.alter import (
    class_level,
    in_fill,
    majority_labels,
    matched_smoothing,
    random_labels,
    smooth,
    subsample_annotators,
    temperature,
    uniform_labels,
)
from sfumato.labels.build import build
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.mixing import (
    GAMMA,
    Baseline,
    Curves,
    Percepts,
    baseline_labels,
    fit_curves,
    human_matched,
    human_matched_crowd,
    identity_curves,
    percepts_within,
    pooled_curves,
    shuffled_curves,
    shuffled_percepts,
)
from sfumato.labels.signals import entropy
from sfumato.learn.folds import (
    NESTED_SHARE,
    Selection,
    Split,
    class_of,
    elicited_only,
    k_folds,
    seventy_thirty_with_held_out,
    small_data,
    stratified_split,
    with_validation,
)
from sfumato.learn.recipe import Mixing, published_mixing
from sfumato.learn.sweep import Cell, FailedCell, FinishedCell
from sfumato.names import find
from sfumato.provenance import Step
from sfumato.studies.data import (
    MAJORITY,
    ORIGINAL,
    PEOPLE,
    StudyData,
    Target,
    TestSet,
    TrainingKey,
    TrainingRun,
)
from sfumato.studies.study import Arm, Head, Presentation, Study, TestSpec

if TYPE_CHECKING:
    from sfumato.learn.examples import Examples
    from sfumato.learn.train import Weights
    from sfumato.studies.cell import TextExamples


# Turn an arm into what a network learns: labels, how they are shown, mixed and thinned.
#
# An arm is a few fields (``study.Arm``), and they are worked off in turn: which labels, of how many
# people, their mode or not, how shown, of which items, mixed how. Whatever an arm leaves out of the
# training items keeps its original label where the data has a part of elicited items.


BETA = 0.05
"""Of label smoothing, as the papers chose it (S2-25)."""

Items = tuple[str, ...]
Rng = np.random.Generator
Labels = Callable[[StudyData, Items, Rng], LabelSet]

PERSONS: dict[str, tuple[str, Presentation]] = {
    "sampled": ("a label drawn afresh from people's distribution at each presentation", "sampled"),
    "one-annotator": ("one annotator's own answer, drawn afresh each time", "one annotator"),
    "one annotator": ("one annotator's own answer, drawn afresh each time", "one annotator"),
}
"""Arms that show people's labels in another way."""


def _as_soft_as_people(data: StudyData, items: Items) -> LabelSet:
    """Original labels smoothed as much as people are soft.

    In folds every item is tested once, so only people's labels of items that are learnt count.
    """
    matched = items if data.study.split.kind == "folds" else data.people.items
    people = data.people.take(matched)
    return matched_smoothing(data.original.take(matched), people).take(items)


LABELS: dict[str, tuple[str, Labels]] = {
    "hard": ("the original labels", lambda data, items, rng: data.original.take(items)),
    "soft": ("people's distribution", lambda data, items, rng: data.people.take(items)),
    "majority": (
        "the most frequent answer of the same people as a hard label; ties share it",
        lambda data, items, rng: majority_labels(data.people.take(items), "share"),
    ),
    "smoothed": (
        "original labels smoothed until they leave as much off the top class as people do",
        lambda data, items, rng: _as_soft_as_people(data, items),
    ),
    "class-level": (
        "for each original class, the mean of people's distributions",
        lambda data, items, rng: class_level(
            data.people, data.original.take(data.people.items)
        ).take(items),
    ),
    "category": (
        "for each original class, the mean of people's labels of the items that are learnt (S0-08)",
        lambda data, items, rng: class_level(data.people.take(items), data.original.take(items)),
    ),
    "random": (
        "random distributions (S2-23)",
        lambda data, items, rng: random_labels(items, data.original.classes, rng=rng),
    ),
    "uniform": (
        "uniform distributions",
        lambda data, items, rng: uniform_labels(items, data.original.classes),
    ),
    "label smoothing": (
        f"the original labels of all items smoothed by {BETA} (S2-25)",
        lambda data, items, rng: smooth(data.original.take(items), BETA),
    ),
    "label smoothing of the 900": (
        f"the original labels of the elicited items alone smoothed by {BETA}",
        lambda data, items, rng: smooth(data.original.take(items), BETA),
    ),
}
"""Labels that any data with people and original labels has, besides its own sets and recipes."""
WHOLE = ("hard", "label smoothing", ORIGINAL)
"""Labels that are about all training items, also where some were elicited."""

MixLabels = Callable[[Percepts, LabelSet, Rng], LabelSet | CrowdLabels]
"""Labels of the mixes that people judged, from their answers and the labels of the images."""
Bend = Callable[[Percepts, tuple[str, ...], Rng], Curves]
"""A curve for each pair of classes, from people's answers or without them."""


def _baseline(name: Baseline) -> MixLabels:
    def make(percepts: Percepts, ends: LabelSet, rng: Rng) -> LabelSet:
        found = baseline_labels(name, percepts.mixes, ends, rng=rng)
        assert found is not None
        return found

    return make


def _averaged(gamma: float | None) -> MixLabels:
    return lambda percepts, ends, rng: human_matched(percepts, ends, gamma=gamma)


def _separate(gamma: float | None) -> MixLabels:
    return lambda percepts, ends, rng: human_matched_crowd(percepts, ends, gamma=gamma)


def _shuffled(gamma: float | None) -> MixLabels:
    return lambda percepts, ends, rng: human_matched_crowd(
        shuffled_percepts(percepts, rng=rng), ends, gamma=gamma
    )


ADDED: dict[str, tuple[str, MixLabels]] = {
    "uniform": ("uniform labels (S2-61)", _baseline("uniform")),
    "random": ("random distributions (S2-61)", _baseline("random")),
    "mixup labels": (
        "the coefficient of the pixels as that of the label (S2-61)",
        _baseline("classic"),
    ),
    "mean λ_h": ("the mean of the coefficients that people saw (S2-58)", _averaged(None)),
    "separate λ_h": (
        "the coefficient that one person saw, drawn afresh each time (S2-59)",
        _separate(None),
    ),
    "mean λ_h + ω": (
        "the mean coefficient, smoothed by the mean confidence (S2-60)",
        _averaged(GAMMA),
    ),
    "separate λ_h + ω": (
        "one person's coefficient, smoothed by their confidence, drawn afresh each time (S2-60)",
        _separate(GAMMA),
    ),
    "shuffled λ_h": (
        "as separate λ_h, with the answers about another mix of the same coefficient; the thesis "
        "lacks it",
        _shuffled(None),
    ),
    "shuffled λ_h + ω": (
        "as separate λ_h + ω, with the answers about another mix of the same coefficient; the "
        "thesis lacks it",
        _shuffled(GAMMA),
    ),
}
"""Labels of mixed images that join the training items (S2-54), by the arm's ``added``."""


def _people_curves(percepts: Percepts, classes: tuple[str, ...], rng: Rng) -> Curves:
    """A pair whose answers no curve describes gets that of all pairs; so far none does."""
    return fit_curves(percepts, classes).filled(pooled_curves(percepts, classes))


CURVES: dict[str, tuple[str, Bend]] = {
    "τ": ("a curve for each pair of classes, fitted to people (S2-65)", _people_curves),
    "identity τ": (
        "one curve, nearest to the coefficient itself: no people (S2-66)",
        lambda percepts, classes, rng: identity_curves(
            [mix.coefficient for mix in percepts.mixes], classes
        ),
    ),
    "pooled τ": (
        "one curve, fitted to people's answers about all pairs (S2-66)",
        lambda percepts, classes, rng: pooled_curves(percepts, classes),
    ),
    "shuffled τ": (
        "people's curves, each for another pair of classes (S2-66)",
        lambda percepts, classes, rng: shuffled_curves(
            _people_curves(percepts, classes, rng), rng=rng
        ),
    ),
}
"""How the labels of mixes are bent (S2-65), by the arm's ``curve``."""

MIXES: dict[str, Mixing | None] = {
    "no mixing": None,
    "mixup": published_mixing("mixup"),
    "Mix-MaxEnt": published_mixing("mix-maxent"),
    "Ent-WC": published_mixing("ent-wc"),
}
"""How every batch is mixed, by the arm's ``mix``."""


def target_of(arm: Arm, data: StudyData, split: Split, seed: int) -> Target:
    """What a network of the arm learns in one split and seed.

    Each kind of chance has a stream of its own, so that arms of one seed share what they can:
    the same people, the same items.
    """
    if arm.items is not None:
        rng = np.random.default_rng([seed, 3])  # fewer items are among the more (S2-53)
        fewer = elicited_only(split, data.parts["elicited"], arm.items, rng=rng)
        found = _target(arm, data, fewer, seed)
        return replace(found, items=fewer.train)
    if arm.per_class is not None:
        rng = np.random.default_rng([seed, 2])  # the same items for all labels of a seed
        kept = small_data(split, data.original, arm.per_class, rng=rng).train
        return replace(_target(arm, data, replace(split, train=kept), seed), items=kept)
    return _target(arm, data, split, seed)


def arm_words(arm: Arm, data: StudyData) -> str:
    """What the arm's networks learn, in a sentence's words."""
    if arm.use == "as pretrained":
        return "the network as pretraining left it (S0-27)"
    if arm.added:
        return f"hard labels of all images; mixes have {ADDED[arm.added][0]}"
    if arm.curve:
        words = f"{CURVES[arm.curve][0]}; batches mixed as in {arm.mix}"
        return f"{words}; {arm.grid_values}" if arm.grid_values else words
    known = LABELS.get(arm.labels) or PERSONS.get(arm.labels)
    words = known[0] if known else f"the labels {arm.labels!r}"
    if arm.labels in data.crowds and not known:
        words = f"answers read as {arm.labels!r}"
    if arm.people is not None:
        words += f", of {arm.people} annotators per item"
    if arm.temperature is not None:
        words += f", raised to the power 1/{arm.temperature:g} and renormalised (S0-13)"
    if arm.majority:
        words += ", their mode as a hard label"
    if arm.shown != "fixed":
        words += ", one drawn afresh each time"
    if arm.items is not None:
        words += f"; {arm.items} elicited items only"
    if arm.per_class is not None:
        words += f"; {arm.per_class:,} items of each class only"
    words = f"{words}; every batch mixed ({arm.mix})" if MIXES.get(arm.mix) else words
    return f"{words}; {arm.grid_values}" if arm.grid_values else words


def _target(arm: Arm, data: StudyData, split: Split, seed: int) -> Target:
    if arm.use == "as pretrained":
        return Target(data.original.take((*split.train, *split.validation)), pretrained=True)
    if arm.added:
        return _with_mixes(arm, data, split, seed)
    if arm.curve:
        return _bent(arm, data, split, seed)
    found = _shown(arm, data, split, seed)
    return replace(found, mixing=_mixing(arm) if arm.mix else None)


def _mixing(arm: Arm) -> Mixing | None:
    """How the arm's batches are mixed: as published, with the arm's own α and κ."""
    mixing = find(MIXES, arm.mix or "mixup", what="way of mixing")
    own = {name: getattr(arm, name) for name in ("alpha", "kappa")}
    stated = {name: value for name, value in own.items() if value is not None}
    if not stated:
        return mixing
    if mixing is None or (arm.kappa is not None and mixing.loss != "clamped-entropy"):
        raise DataError(f"{arm.mix!r} has no {' and no '.join(stated)}; leave it out of the arm.")
    return replace(mixing, **stated)


def _shown(arm: Arm, data: StudyData, split: Split, seed: int) -> Target:
    """The arm's labels for all items that are learnt or chosen on, and how they are shown."""
    from sfumato.learn.targets import in_fill_crowd

    items = (*split.train, *split.validation)
    if arm.labels in PERSONS:
        shown = PERSONS[arm.labels][1]
        arm = arm.model_copy(update={"labels": _people_name(data), "shown": shown})
    elicited = _elicited(arm, data, items)
    base = data.labels.get(ORIGINAL)
    fills = base is not None and set(elicited) < set(items)
    if arm.labels in data.crowds and (arm.shown == "one annotator" or arm.people is not None):
        crowd = _pool(_crowd(arm, data), arm, elicited, data, seed)
        if arm.majority or arm.shown == "fixed":
            labels = _reading(arm, crowd.mean(), np.random.default_rng([seed, 1]))
            return Target(in_fill(labels, base.take(items)) if fills and base else labels)
        if arm.beta is not None:
            crowd = smooth(crowd, arm.beta)
        if fills and base is not None:
            crowd = in_fill_crowd(crowd, base.take(items))
        return Target(crowd, "one annotator")
    if arm.shown == "one annotator":
        raise DataError(
            f"The data holds the labels {arm.labels!r} averaged, not those of each annotator, so "
            "nothing can be learnt from one annotator at a time; leave out the arm."
        )
    labels = _labels(arm, data, elicited, seed)
    return Target(in_fill(labels, base.take(items)) if fills and base else labels, arm.shown)


def _labels(arm: Arm, data: StudyData, items: Items, seed: int) -> LabelSet:
    from sfumato.learn.targets import votes_of_m

    rng = np.random.default_rng([seed, 1])
    if arm.labels == ORIGINAL and data.soft_original is not None:
        labels = data.soft_original.take(items)
    elif arm.labels in data.labels and arm.gamma is None:
        labels = data.labels[arm.labels].take(items)
    elif arm.labels in data.crowds or arm.gamma is not None:
        labels = _crowd(arm, data).mean().take(items)
    elif arm.labels in LABELS:
        labels = LABELS[arm.labels][1](data, items, rng)
    else:
        known = dict.fromkeys((*data.labels, *data.crowds, *LABELS, *PERSONS))
        find(known, arm.labels, what=f"label set or arm for the data {data.study.data!r}")
        raise AssertionError(arm.labels)
    if arm.people is not None:
        labels = votes_of_m(labels, arm.people, rng=rng)
    return _reading(arm, labels, rng)


def _reading(arm: Arm, labels: LabelSet, rng: Rng) -> LabelSet:
    """The labels at the arm's temperature, or their mode as a hard label; smoothed at the end."""
    if arm.temperature is not None:
        labels = temperature(labels, arm.temperature)
    read = _hardened(labels, arm, rng) if arm.majority else labels
    return read if arm.beta is None else smooth(read, arm.beta)


def _crowd(arm: Arm, data: StudyData) -> CrowdLabels:
    """The labels of single annotators, with another γ where the arm has one (S2-18)."""
    if arm.gamma is None:
        return data.crowds[arm.labels]
    if arm.labels not in data.recipes or data.judgments is None:
        raise DataError(
            f"The labels {arm.labels!r} are not read from judgments by a recipe, so they have no "
            f"γ; leave `gamma` out of the arm {arm.name!r}."
        )
    return build(data.judgments, data.recipes[arm.labels], gamma=arm.gamma).crowd


def _hardened(labels: LabelSet, arm: Arm, rng: Rng) -> LabelSet:
    """The most probable class as a hard label; of few people's answers one drawn where some tie.

    With few people ties are many; to share them would be the soft label again.
    """
    modes = majority_labels(labels, "share")
    if arm.people is None:
        return modes
    return modes.with_probs(rng.multinomial(1, modes.probs).astype(np.float64), Step("break ties"))


def _people_name(data: StudyData) -> str:
    return data.study.tests[0].against[0] if data.study.tests else PEOPLE


def _elicited(arm: Arm, data: StudyData, items: Items) -> Items:
    """The items that get the arm's label: those that were elicited, where only some were."""
    if "elicited" not in data.parts or arm.labels in WHOLE:
        return items
    among = set(items)
    return tuple(item for item in data.parts["elicited"] if item in among)


def _pool(crowd: CrowdLabels, arm: Arm, items: Items, data: StudyData, seed: int) -> CrowdLabels:
    """The annotators whose answers are shown."""
    from sfumato.learn.targets import judgments_on

    chosen, most = judgments_on(crowd, items), arm.people or data.pool
    if most is None:
        return chosen
    return subsample_annotators(chosen, most, fewer="keep", rng=np.random.default_rng([seed, 2]))


def _percepts(data: StudyData, split: Split) -> Percepts:
    """What people saw in mixes of images that are learnt; no network sees a tested image in one."""
    if data.percepts is None:
        raise DataError(f"The data {data.study.data!r} has no answers about mixed images.")
    return percepts_within(data.percepts, split.train)


def _with_mixes(arm: Arm, data: StudyData, split: Split, seed: int) -> Target:
    """Original labels, and mixed images with labels of their own (S2-54)."""
    from sfumato.learn.mixing import Augmenting

    percepts = _percepts(data, split)
    hard = data.original.take((*split.train, *split.validation))
    assert data.examples is not None
    _, make = find(ADDED, arm.added, what="kind of added mixes")
    labels = make(percepts, hard, np.random.default_rng([seed, 1]))
    return Target(hard, augmenting=Augmenting(_mixed(data.examples, percepts.mixes), labels))


@lru_cache(maxsize=2)
def _mixed(pictures: "Examples", mixes: tuple[Mix, ...]) -> "Examples":
    """The mixed images, which all arms and seeds of a split share."""
    from sfumato.learn.examples import Examples

    images = mixed_images(mixes, dict(zip(pictures.items, pictures.images, strict=True)))
    return Examples(tuple(mix.item for mix in mixes), images)


def _bent(arm: Arm, data: StudyData, split: Split, seed: int) -> Target:
    """Every batch mixed, towards λ_g = τ_ij(λ_f) (S2-65)."""
    hard = data.original.take((*split.train, *split.validation))
    _, bend = find(CURVES, arm.curve, what="curve for mixes")
    mixing = _mixing(arm)
    assert mixing is not None
    curves = bend(_percepts(data, split), hard.classes, np.random.default_rng([seed, 2]))
    return Target(hard, mixing=replace(mixing, target=curves))


LEARNT_SAMPLE = 500
"""How many items that were trained on are tested, where a study asks for them (C3)."""
FEWEST_FOLDS = 3
"""One fold is not cut out of others: a single fold stands for the first of so many."""

Sweep = Callable[[Sequence[Cell]], Sequence[FinishedCell | FailedCell]]


def plan_trainings(data: StudyData) -> list[TrainingRun]:
    """Every seed, fold, arm and network, with what is learnt and tested."""
    study, planned = data.study, []
    for seed in range(study.seeds):
        for (fold, split), arm in product(enumerate(splits_of(data, seed)), study.arms):
            target = target_of(arm, data, split, seed)
            tests = tests_of(data, split)
            learnt = split if target.items is None else replace(split, train=target.items)
            for network in study.networks:
                key = TrainingKey(arm.name, network, seed, fold)
                file = f"predictions/{folder_name(study, key)}"
                planned.append(TrainingRun(key, learnt, target, tests, file=file))
    return planned


def folder_name(study: Study, key: TrainingKey) -> str:
    """Where what belongs to one training lies inside a folder of a run."""
    fold = f" fold-{key.fold}" if study.folds > 1 else ""
    return f"{key.network}/{key.arm.replace('/', '-')}/seed-{key.seed}{fold}"


def splits_of(data: StudyData, seed: int) -> Sequence[Split]:
    """The folds of a seed; one, where items are not divided into folds.

    Where something is searched, some of the training items are set aside to choose on.
    """
    dealt = _dealt(data, seed)
    if not data.study.search.values(mixes=True):
        return dealt
    rng, original = np.random.default_rng([seed, 4]), data.labels.get(ORIGINAL)
    strata = None if original is None else class_of(original)
    return [
        with_validation(one, NESTED_SHARE, strata=strata, rng=rng)
        if one.selection == "none"
        else one
        for one in dealt
    ]


def _dealt(data: StudyData, seed: int) -> Sequence[Split]:
    study, parts = data.study, data.parts
    chosen = seed if study.split.seed == "each" else study.split.seed
    rng = np.random.default_rng(chosen)
    match study.split.kind:
        case "given":
            given = list(data.folds.values()) or [_given_split(parts)]
            if not study.split.learn_validation:
                return given
            return [
                Split((*one.train, *one.validation), (), one.test, selection="none")
                for one in given
            ]
        case "held out":
            return [
                seventy_thirty_with_held_out(
                    parts["train"],
                    parts["test"],
                    parts["elicited"],
                    held_out=study.split.held_out,
                    rng=np.random.default_rng(seed),
                )
            ]
        case "folds":
            original = data.original
            dealt = k_folds(
                original.items,
                max(study.folds, FEWEST_FOLDS),
                strata=class_of(original),
                selection="none",
                rng=np.random.default_rng(seed),
            )
            return dealt[: study.folds]
        case "stratified" | "difficulty":
            if {"train", "validation", "test"} <= parts.keys() and study.split.kind == "stratified":
                return [Split(parts["train"], parts["validation"], parts["test"])]
            training, choosing, reporting = study.split.shares
            return [
                stratified_split(
                    data.people.items,
                    _strata(data),
                    (training, choosing, reporting),
                    rng=rng,
                )
            ]


def _given_split(parts: Mapping[str, tuple[str, ...]]) -> Split:
    validation = parts.get("validation", ())
    selection: Selection = "nested" if validation else "none"
    return Split(parts["train"], validation, parts["test"], selection=selection)


def _strata(data: StudyData) -> dict[str, str]:
    """Original classes, or thirds of people's doubt where the split is by difficulty."""
    if data.study.split.kind == "stratified":
        return class_of(data.original.take(data.people.items))
    doubt = entropy(data.people)
    ends = np.quantile(doubt, [1 / 3, 2 / 3])
    thirds = np.searchsorted(ends, doubt, side="left")
    return {item: f"third {third}" for item, third in zip(data.people.items, thirds, strict=True)}


def tests_of(data: StudyData, split: Split) -> list[TestSet]:
    """What a network is tested on, with all labels that the study holds against it."""
    found = []
    for spec in data.study.tests:
        items = _tested_items(spec, data, split)
        labels = _held_against(spec, data)
        if not labels or items is None:
            continue  # a set that is not there is told in ``data.missing``
        known = set(next(iter(labels.values())).items)
        kept = tuple(item for item in items if item in known)
        if kept:
            taken = {name: one.take(kept) for name, one in labels.items()}
            found.append(TestSet(spec.part, taken, spec.attacked))
    if not found:
        raise DataError(f"The study {data.study.name!r} has no labelled items to test on.")
    return found


def _held_against(spec: TestSpec, data: StudyData) -> dict[str, LabelSet]:
    """The label sets of a test; ``majority`` is that of the first, where the data has none."""
    known = {name: data.labels[name] for name in spec.against if name in data.labels}
    if known and MAJORITY in spec.against and MAJORITY not in known:
        known[MAJORITY] = majority_labels(next(iter(known.values())), "share")
    return {name: known[name] for name in spec.against if name in known}


def _tested_items(spec: TestSpec, data: StudyData, split: Split) -> tuple[str, ...] | None:
    match spec.items:
        case "test":
            return split.test
        case "second test":
            return split.second_test
        case "trained on":
            rows = np.random.default_rng(0).permutation(len(split.train))[:LEARNT_SAMPLE]
            return tuple(split.train[row] for row in rows)
        case "every item":  # in one order, whatever fold holds out which
            divided = {*split.train, *split.validation, *split.test}
            return tuple(item for item in data.original.items if item in divided)
        case name:
            items = data.parts.get(name)
            if items is None or not data.folds:
                return items
            own = set(split.test)  # of several sets, each is tested by those who learnt it
            return tuple(item for item in items if item in own)


def training_cell(data: StudyData, run: TrainingRun, start: "Weights | None") -> Cell:
    """One training as a cell of a sweep."""
    from sfumato.learn.targets import judgments_on
    from sfumato.studies.cell import train_and_test

    study, key = data.study, run.key
    fold = f", fold {key.fold}" if study.folds > 1 else ""
    pixels = key.network not in study.heads  # attacks and corruptions change them, not vectors
    inputs: dict[str, Any] = {
        "recipe": study.recipe_of(key.network, key.seed),
        "examples": examples_for(data, key.network),
        "target": _shown_to(study, key.network, _needed(run.target, run.split)),
        "split": run.split,
        "parts": {test.part: test.items for test in run.tests},
        "attacked": attacked_labels(study, run.tests) if pixels else {},
        "attacks": study.attacks if pixels else [],
        "corruptions": study.corruptions if pixels else (),
        "strength": study.strength,
        "watch": study.watch,
        "keep_weights": study.keep_models,
    }
    search = study.search.values(mixes=run.target.mixing is not None)
    if search:
        inputs["search"] = search
    if data.corrupted:
        shown = tuple(item for labels in inputs["attacked"].values() for item in labels.items)
        inputs["corrupted"] = {name: one.take(shown) for name, one in data.corrupted.items()}
    if study.dynamics is not None:
        inputs["dynamics"] = study.recipe_of(key.network, key.seed, study.dynamics)
    if "people" in study.measures:
        inputs["crowd"] = judgments_on(data.crowds[PEOPLE], run.split.train)
    return Cell(
        f"{key.arm}, {key.network}, seed {key.seed}{fold}",
        train_and_test,
        inputs if start is None else {**inputs, "start": start},
    )


def examples_for(data: StudyData, network: str) -> "Examples | TextExamples | None":
    """What a network learns from: images, their vectors, or texts that it encodes itself."""
    from sfumato.studies.cell import TextExamples

    if data.texts is None:
        return None if data.examples is None else images_for(data.study, network, data.examples)
    head = data.study.heads.get(network, Head())
    return TextExamples.of(data.texts, head.encoder)


def images_for(study: Study, network: str, images: "Examples") -> "Examples":
    """Images as a network takes them; a head takes the vectors of its encoder."""
    from sfumato.studies.cell import encoded_images

    head = study.heads.get(network)
    return images if head is None else encoded_images(images, head.encoder)


def _shown_to(study: Study, network: str, target: Target) -> Target:
    """The target with added images as the network takes them."""
    added = target.augmenting
    if added is None:
        return target
    shown = images_for(study, network, added.examples)
    return replace(target, augmenting=replace(added, examples=shown))


def attacked_labels(study: Study, tests: Sequence[TestSet]) -> dict[str, LabelSet]:
    """The labels that attacks drive networks away from, by part."""
    if not (study.attacks or study.corruptions):
        return {}
    return {
        test.part: test.labels[test.attacked].take(test.items[: study.attacked_items])
        for test in tests
        if test.attacked
    }


def _needed(target: Target, split: Split) -> Target:
    """The target with labels of the items that are learnt and chosen on, no others."""
    if isinstance(target.labels, LabelSet):
        return replace(target, labels=target.labels.take((*split.train, *split.validation)))
    return target


def pretrained_weights(data: StudyData, sweep: Sweep) -> "dict[str, Weights]":
    """One network of each kind, which all arms and seeds go on from; none without pretraining."""
    from sfumato.learn.fit import kept_weights
    from sfumato.studies.cell import pretrain

    study = data.study
    if study.pretraining is None:
        return {}
    if data.pretraining is None:
        raise DataError(f"The data {study.data!r} has no images to pretrain on.")
    examples, labels = data.pretraining
    cells = [
        Cell(
            f"pretraining of {network}",
            pretrain,
            {
                "recipe": study.pretraining_recipe(network),
                "examples": images_for(study, network, examples),
                "labels": labels,
            },
        )
        for network in study.networks
    ]
    starts: dict[str, Weights] = {}
    for network, result in zip(study.networks, sweep(cells), strict=True):
        if isinstance(result, FailedCell):
            raise DataError(f"The {result.cell.name} failed: {result.reason}")
        starts[network] = kept_weights(result.arrays())
    return starts


def run_trainings(data: StudyData, sweep: Sweep) -> tuple[TrainingRun, ...]:
    """All trainings of a study, finished or failed; an error if none ended well."""
    planned = plan_trainings(data)
    if data.texts is not None:
        _encode_once(data, planned)
    starts = pretrained_weights(data, sweep)
    cells = [training_cell(data, run, starts.get(run.key.network)) for run in planned]
    results = sweep(cells)
    runs = tuple(run.with_result(result) for run, result in zip(planned, results, strict=True))
    if not any(run.done for run in runs):
        first = results[0]
        assert isinstance(first, FailedCell)
        raise DataError(f"Every training failed; the first, {first.cell.name}: {first.reason}")
    return runs


def _encode_once(data: StudyData, planned: Sequence[TrainingRun]) -> None:
    """Compute vectors that are kept before many processes do so at the same time."""
    from sfumato.studies.cell import encoded

    for run in planned:
        head = data.study.heads.get(run.key.network, Head())
        if head.encoder != "tf-idf" and run.key.seed == 0 and run.key.arm == planned[0].key.arm:
            examples = examples_for(data, run.key.network)
            assert examples is not None
            encoded(examples, run.split, {test.part: test.items for test in run.tests})


def first_targets(
    data: StudyData, runs: Sequence[TrainingRun]
) -> dict[str, tuple[Arm, TrainingRun]]:
    """The first training of every arm, by its name."""
    first = {run.key.arm: run for run in reversed(runs)}
    return {arm.name: (arm, first[arm.name]) for arm in data.study.arms if arm.name in first}
