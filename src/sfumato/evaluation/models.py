"""Score any number of models, given as files, tables or arrays, against people's labels.

``evaluate`` brings everything to the same items and classes and says what it did to get there;
the numbers are those of ``score``. What it gives is a table of estimates that also holds what was
compared, so that it can be drawn.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.multilabel import as_units, score_multi_labels
from sfumato.evaluation.predictions import (
    Kind,
    LoadedPredictions,
    load_original,
    load_predictions,
    other_class_order,
    require_same_classes,
)
from sfumato.evaluation.score import (
    Missing,
    MissingPredictions,
    Place,
    compare_models,
    ensemble,
    join,
    leaderboard,
    score_model,
)
from sfumato.evaluation.trials import Mask
from sfumato.frames import is_table
from sfumato.judgments.formats.columns import item_rank
from sfumato.judgments.judgments import Judgments
from sfumato.labels.files import is_each_class, load_labels, read_multi_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.multilabel import MultiLabelSet
from sfumato.labels.signals import agreement_strata, disputed_thirds, strata_of
from sfumato.labels.verbs import label
from sfumato.names import find, quote_names
from sfumato.provenance import Setting, Step
from sfumato.scores import Estimate, Estimates

ENSEMBLE = "ensemble"
"""The name of the models' mean."""

STRATA = ("unanimous", "disputed")
"""The strata that are scored beside "all" unless others are asked for."""

AGAINST_ORIGINAL = (
    "top2_accuracy",
    "worst_class_accuracy",
    "brier",
    "confidence_right",
    "confidence_wrong",
    "rms_calibration",
    "ece",
    "classwise_calibration",
)
"""What is measured against the original labels too where they are given, as accuracy and
cross-entropy are: metrics that ask which class is right."""

Unshared = Literal["auto", "leave out", "zero", "error"]
"""What happens to a class that only the labels have, or only a model.

"leave out": labels and models are compared given that it is one of the shared classes; each row is
divided by its mass on them. "zero": who lacks the class gives it nothing. "auto": as "leave out" if
only one side has such classes, and an error if both have, because then a name is probably spelled
in two ways."""

Advance = Callable[[int, int], None]

NO_ITEMS = " The file names no items, so its rows are taken as '0', '1', …; give their ids."


class UnsharedClasses(DataError):
    """Labels and predictions have different classes, and nobody said what to do with them."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Estimates):
    """The scores of one or more models, with what was compared."""

    labels: LabelSet = field(kw_only=True)
    """People's labels as they were scored: shared items and classes only."""
    models: Mapping[str, LabelSet] = field(kw_only=True)
    """Each model on the items and classes of ``labels``."""
    original: LabelSet | None = field(kw_only=True)
    places: tuple[Place, ...] = field(kw_only=True)
    """The leaderboard by cross-entropy; empty for a single model, or where it was not asked for."""
    remarks: tuple[str, ...] = field(kw_only=True)
    """How everything was read, and all cautions: sentences."""
    cautions: tuple[str, ...] = field(kw_only=True)
    """What changes the meaning of the numbers: classes and items left out, doubtful orders."""


def evaluate(
    labels: object,
    predictions: object,
    *,
    metrics: Sequence[str] | None = None,
    original: object = None,
    strata: Sequence[str] | Mapping[str, Collection[str]] = STRATA,
    kind: Kind | Mapping[str, Kind] = "probabilities",
    classes: Sequence[str] | None = None,
    item: str | None = None,
    missing: Missing = "error",
    unshared: Unshared = "auto",
    ensemble: bool = False,
    draws: int = 1000,
    seed: int = 0,
    advance: Advance = lambda done, total: None,
) -> Evaluation:
    """Every score of every model against people's labels, with 95 % intervals over items.

    ``labels`` are a ``LabelSet``, answers, a path or a table; ``predictions`` one model or several
    by name, each a ``LabelSet``, a path, a table, an array, or an array with its ids. ``metrics``
    are names of ``METRICS`` and of the reference lines (all by default). ``strata`` are names, or
    the ids of items by a name of one's own. ``kind`` says what the numbers are, of all models or by
    model. ``classes`` are the order of what a source does not name, ``item`` is the column of the
    items, ``missing`` what happens to items without a prediction, ``unshared`` to classes that one
    side lacks. With ``ensemble`` the mean of the models is scored as one more. Labels of each class
    on its own (``MultiLabelSet``) are scored by metrics of their own, one model beside the other.

    >>> labels = {"item": ["a", "b", "c"], "cat": [1, 0.5, 0], "dog": [0, 0.5, 1]}
    >>> ours = {"item": ["a", "b", "c"], "cat": [0.9, 0.6, 0.2], "dog": [0.1, 0.4, 0.8]}
    >>> found = evaluate(labels, {"ours": ours}, metrics=["brier"], strata=())
    >>> [(row.arm, row.metric, round(row.value, 4)) for row in found]
    [('ours', 'brier', 0.04)]
    """
    given = _labelled(labels)
    if isinstance(given, MultiLabelSet) or (
        isinstance(given, str | Path) and is_each_class(Path(given))
    ):
        models = {arm: read_multi_labels(source) for arm, source in _by_arm(predictions).items()}
        return _scored_classes(read_multi_labels(given), models, metrics, draws, seed)
    compared = load_compared(
        given, predictions, original=original, kind=kind, classes=classes, item=item,
        missing=missing, unshared=unshared,
    )  # fmt: skip
    return _scored(
        compared, metrics, strata, together=ensemble, draws=draws, seed=seed, advance=advance
    )


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """People's labels and models on the same items and classes."""

    human: LabelSet
    models: Mapping[str, LabelSet]
    original: LabelSet | None = None
    unlabelled: Mapping[str, LabelSet] = field(default_factory=dict)
    """What each model believes about items that have no label, where there are such."""
    remarks: tuple[str, ...] = ()
    """How everything was read, and all cautions."""
    cautions: tuple[str, ...] = ()


def load_compared(
    labels: object,
    predictions: object,
    *,
    original: object = None,
    kind: Kind | Mapping[str, Kind] = "probabilities",
    classes: Sequence[str] | None = None,
    item: str | None = None,
    missing: Missing = "error",
    unshared: Unshared = "auto",
) -> ModelComparison:
    """Read labels and predictions, and bring them to the same items and classes.

    The arguments are those of ``evaluate``.
    """
    people = load_labels(_labelled(labels), classes=classes, item=item)
    sources = _by_arm(predictions)
    loaded = {
        arm: load_predictions(
            source,
            name=_name(arm, source),
            classes=people.labels.classes,
            items=people.labels.items,
            unnamed=classes,
            kind=_kind_of(arm, kind, sources),
            item=item,
        )
        for arm, source in sources.items()
    }
    remarks = [*people.remarks, *(said for one in loaded.values() for said in one.remarks)]
    truth = None
    if original is not None:
        truth = load_original(
            original,
            name=_name("the original labels", original),
            classes=people.labels.classes,
            items=people.labels.items,
            unnamed=classes,
        )
    names = {arm: _name(arm, source) for arm, source in sources.items()}
    compared = _on_shared_items(people.labels, loaded, names, missing)
    if truth is not None:
        hint = NO_ITEMS if LoadedPredictions(truth).by_position("items") else ""
        human = _join(_name("the original labels", original), compared.human, truth, "error", hint)
        compared = replace(compared, original=truth.take(human.items))
    cautions = [*_left_out(people.labels, compared), *_doubtful_orders(compared, loaded, names)]
    compared, said = _on_shared_classes(compared, names, unshared)
    cautions += said
    return replace(
        compared,
        unlabelled=_unlabelled(people.labels, loaded, compared.human.classes),
        remarks=(*remarks, *cautions),
        cautions=tuple(cautions),
    )


def _unlabelled(
    people: LabelSet, loaded: Mapping[str, LoadedPredictions], classes: tuple[str, ...]
) -> dict[str, LabelSet]:
    known, found = set(people.items), {}
    for arm, one in loaded.items():
        rest = [item for item in one.labels.items if item not in known]
        if rest and set(classes) <= set(one.labels.classes):
            found[arm] = _divided(one.labels, classes, rest)
    return found


def compare(
    labels: object,
    arms: Mapping[str, object],
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    original: object = None,
    metrics: Sequence[str] | None = None,
    strata: Sequence[str] | Mapping[str, Collection[str]] = STRATA,
    test: str = "paired t",
    missing: Missing = "error",
    draws: int = 1000,
    seed: int = 0,
) -> Estimates:
    """Paired differences between models or ways of training, each with an interval and a test.

    ``arms`` are predictions by name, in any form that ``evaluate`` takes; a list of them, or a dict
    by number, are seeds. ``pairs`` are (first, second) for first minus second; by default every
    later arm minus every earlier one. With several seeds the pairs are seeds, with one the items.

    >>> labels = {"item": ["a", "b", "c"], "cat": [1, 0.5, 0], "dog": [0, 0.5, 1]}
    >>> ours = {"item": ["a", "b", "c"], "cat": [0.9, 0.6, 0.2], "dog": [0.1, 0.4, 0.8]}
    >>> theirs = {"item": ["a", "b", "c"], "cat": [0.5, 0.5, 0.5], "dog": [0.5, 0.5, 0.5]}
    >>> found = compare(labels, {"theirs": theirs, "ours": ours}, metrics=["brier"], strata=())
    >>> [(row.arm, row.second, round(row.value, 4)) for row in found]
    [('ours', 'theirs', -0.2933)]
    """
    people = load_labels(_labelled(labels)).labels
    loaded = {
        arm: {number: _loaded(arm, one, people) for number, one in _seeds(source).items()}
        for arm, source in arms.items()
    }
    truth = None
    if original is not None:
        name = _name("the original labels", original)
        truth = load_original(original, name=name, classes=people.classes, items=people.items)
    return Estimates.of(
        compare_models(
            people,
            loaded,
            pairs=pairs,
            original=truth,
            metrics=metrics,
            strata=_masks(strata, people, truth),
            test=test,
            rng=np.random.default_rng(seed),
            draws=draws,
            missing=missing,
        )
    )


def _labelled(source: object) -> object:
    """People's answers as the labels that follow from them; anything else as it is."""
    return label(source) if isinstance(source, Judgments) else source


def _scored_classes(
    human: MultiLabelSet,
    models: Mapping[str, MultiLabelSet],
    metrics: Sequence[str] | None,
    draws: int,
    seed: int,
) -> Evaluation:
    rng = np.random.default_rng(seed)
    rows = score_multi_labels(human, models, metrics=metrics, rng=rng, draws=draws)
    said = "Each class is scored on its own; numbers are means over items and classes."
    return Evaluation(
        Estimates.of(rows).table,
        labels=as_units(human, human),
        models={arm: as_units(human, model) for arm, model in models.items()},
        original=None,
        places=(),
        remarks=(said,),
        cautions=(),
    )


def _seeds(source: Any) -> dict[int, Any]:
    """The trainings of an arm by seed; a single one is seed 0."""
    if isinstance(source, list) and source and not is_table(source):
        return dict(enumerate(source))
    if isinstance(source, Mapping) and all(isinstance(key, int) for key in source):
        return dict(source)
    return {0: source}


def _loaded(arm: str, source: object, people: LabelSet) -> LabelSet:
    name = _name(arm, source)
    found = load_predictions(source, name=name, classes=people.classes, items=people.items).labels
    require_same_classes(name, found, people.classes)
    return found


def _scored(
    compared: ModelComparison,
    metrics: Sequence[str] | None,
    strata: Sequence[str] | Mapping[str, Collection[str]],
    *,
    together: bool,
    draws: int,
    seed: int,
    advance: Advance,
) -> Evaluation:
    human, truth = compared.human, compared.original
    models = {arm: join(human, model)[1] for arm, model in compared.models.items()}
    if together:
        models[ENSEMBLE] = ensemble(models)
    masks = _masks(strata, human, truth)
    rng = np.random.default_rng(seed)
    rows: list[Estimate] = []
    for done, (arm, model) in enumerate(models.items()):
        advance(done, len(models))
        rows += score_model(
            human, model, original=truth, metrics=metrics, strata=masks, arm=arm, rng=rng,
            draws=draws,
        )  # fmt: skip
        if truth is not None:
            rows += _against_original(truth, model, metrics, masks, arm, rng, draws)
    places: list[Place] = []
    if len(models) > 1 and (metrics is None or "cross_entropy" in metrics):
        places = leaderboard(human, models, original=truth, rng=rng, draws=draws)
    rows += [place.behind for place in places if place.behind is not None]
    return Evaluation(
        Estimates.of(rows).table,
        labels=human,
        models=models,
        original=truth,
        places=tuple(places),
        remarks=compared.remarks,
        cautions=compared.cautions,
    )


def _against_original(
    truth: LabelSet,
    model: LabelSet,
    metrics: Sequence[str] | None,
    masks: Mapping[str, Mask],
    arm: str,
    rng: np.random.Generator,
    draws: int,
) -> Iterator[Estimate]:
    asked = [name for name in AGAINST_ORIGINAL if metrics is None or name in metrics]
    if not asked:
        return
    for row in score_model(
        truth, model, metrics=asked, strata=masks, arm=arm, rng=rng, draws=draws
    ):
        if row.against == "people":  # which the original labels stood in for
            yield replace(row, against="original")


# Which models there are.


def _by_arm(predictions: Any) -> dict[str, Any]:
    """The models by name; a single one is called as its file, or "model"."""
    if isinstance(predictions, Mapping) and not _is_one_table(predictions):
        if not predictions:
            raise DataError(
                "There are no predictions to evaluate; give those of one model or more."
            )
        return {str(name): source for name, source in predictions.items()}
    if isinstance(predictions, str | Path):
        return {Path(predictions).name.partition(".")[0] or "model": predictions}
    return {"model": predictions}


def _is_one_table(predictions: Mapping[Any, Any]) -> bool:
    """Whether a dict is a table of columns, one of them the items, and not models by name."""
    names_items = any(item_rank(str(name)) is not None for name in predictions)
    flat = all(getattr(column, "ndim", 1) == 1 for column in predictions.values())
    return is_table(predictions) and flat and names_items


def _name(arm: str, source: object) -> str:
    """What a source is called in messages."""
    if isinstance(source, tuple) and source and isinstance(source[0], str | Path):
        source = source[0]
    return Path(source).name if isinstance(source, str | Path) else arm


def _kind_of(arm: str, kind: Kind | Mapping[str, Kind], sources: Mapping[str, Any]) -> Kind:
    if isinstance(kind, str):
        return kind
    for name in kind:
        find(sources, name, what="model")
    return kind.get(arm, "probabilities")


# The same items for all.


def _on_shared_items(
    human: LabelSet,
    loaded: Mapping[str, LoadedPredictions],
    names: Mapping[str, str],
    missing: Missing,
) -> ModelComparison:
    for arm, one in loaded.items():
        hint = NO_ITEMS if one.by_position("items") else ""
        human = _join(names[arm], human, one.labels, missing, hint)
    return ModelComparison(
        human, {arm: one.labels.take(human.items) for arm, one in loaded.items()}
    )


def _join(
    name: str, human: LabelSet, model: LabelSet, missing: Missing, hint: str = ""
) -> LabelSet:
    """The labels of the items that the model has; an error names the source."""
    same = _over(model, human.classes)
    try:
        return join(human, same, missing)[0]
    except MissingPredictions as error:
        raise MissingPredictions(f"{name}: {error}{hint}") from None
    except DataError as error:
        raise DataError(f"{name}: {error}{hint}") from None


def _over(labels: LabelSet, classes: Sequence[str]) -> LabelSet:
    """Labels with any rows over other classes; only the items are looked at."""
    rows = np.full((len(labels), len(classes)), 1 / len(classes))
    return LabelSet(labels.items, tuple(classes), rows, labels.weight, labels.provenance)


def _left_out(human: LabelSet, compared: ModelComparison) -> Iterator[str]:
    lost = len(human) - len(compared.human)
    if lost:
        yield f"{lost:,} of {len(human):,} items have no prediction and are left out."


def _doubtful_orders(
    compared: ModelComparison, loaded: Mapping[str, LoadedPredictions], names: Mapping[str, str]
) -> Iterator[str]:
    for arm, model in compared.models.items():
        if loaded[arm].by_position("classes") and {*model.classes} == {*compared.human.classes}:
            doubt = other_class_order(*join(compared.human, model))
            if doubt:
                yield f"{names[arm]}: {doubt}"


# The same classes for all.


def _on_shared_classes(
    compared: ModelComparison, names: Mapping[str, str], unshared: Unshared
) -> tuple[ModelComparison, list[str]]:
    human, models = compared.human, compared.models
    lacking = {arm: _without(human, model) for arm, model in models.items()}
    extra = {arm: _without(model, human) for arm, model in models.items()}
    if not any(lacking.values()) and not any(extra.values()):
        return compared, []
    match unshared:
        case "error" | "auto":
            for arm in models:
                if unshared == "error" or (lacking[arm] and extra[arm]):
                    _refuse_classes(names[arm], lacking[arm], extra[arm], human.classes)
        case "leave out" | "zero":
            pass
        case _:
            assert_never(unshared)
    if unshared == "zero":
        return _with_all_classes(compared, lacking, extra, names)
    return _with_shared_classes(compared, lacking, extra, names)


def over_shared_classes(
    human: LabelSet, models: Mapping[str, LabelSet]
) -> tuple[LabelSet, dict[str, LabelSet], list[str]]:
    """Labels and models, each about items of its own, given the classes that all of them have.

    Rows are divided by their mass on these; items without any are left out of the labels and the
    models. The sentences tell what was left out: nobody else is asked about "none of these".

    >>> human = LabelSet("ab", ("cat", "dog", "none of these"), [[0.5, 0, 0.5], [0, 0, 1]])
    >>> model = LabelSet("ab", ("cat", "dog"), np.eye(2))
    >>> given, models, said = over_shared_classes(human, {"m": model})
    >>> given.items, given.probs.tolist(), models["m"].items
    (('a',), [[1.0, 0.0]], ('a',))
    """
    lacking = {name: _without(human, model) for name, model in models.items()}
    extra = {name: _without(model, human) for name, model in models.items()}
    if not any(lacking.values()) and not any(extra.values()):
        return human, dict(models), []
    for name in models:
        if lacking[name] and extra[name]:
            _refuse_classes(name, lacking[name], extra[name], human.classes)
    without = {one for each in lacking.values() for one in each}
    shared = tuple(name for name in human.classes if name not in without)
    if len(shared) < 2:
        raise DataError(_too_few(shared, human.classes))
    given, known = _given_classes(human, shared), set(human.items)
    held = set(given.items) | (set().union(*(model.items for model in models.values())) - known)
    divided = {
        name: _given_classes(model.take([item for item in model.items if item in held]), shared)
        for name, model in models.items()
    }
    masses = {"the labels": _mass(human, shared)}
    masses |= {name: _mass(model, shared) for name, model in models.items()}
    kept = np.isin(human.items, given.items)
    names = {name: name for name in models}
    return given, divided, _told(human, shared, extra, names, masses, kept)


def _given_classes(labels: LabelSet, classes: tuple[str, ...]) -> LabelSet:
    kept = np.flatnonzero(_mass(labels, classes) > LEAST_MASS)
    if not len(kept):
        raise DataError(f"No item has mass on the shared classes, {quote_names(classes)}.")
    return _divided(labels, classes, [labels.items[row] for row in kept])


def _too_few(shared: Sequence[str], classes: Sequence[str]) -> str:
    return (
        f"The labels and the predictions have {len(shared)} classes in common, and at least "
        f"two are needed. The labels have {quote_names(classes)}."
    )


def _without(labels: LabelSet, other: LabelSet) -> list[str]:
    return [name for name in labels.classes if name not in other.classes]


def _refuse_classes(
    name: str, lacking: Sequence[str], extra: Sequence[str], classes: Sequence[str]
) -> None:
    if not lacking and not extra:
        return
    sides = [
        f"{quote_names(only)} is in {where} only"
        for only, where in ((lacking, "the labels"), (extra, name))
        if only
    ]
    raise UnsharedClasses(
        f"{name} and the labels do not have the same classes: {' and '.join(sides)}. If two names "
        "mean the same class, rename one; otherwise say what shall happen to classes that are not "
        f"shared. The labels have {quote_names(classes)}."
    )


def _with_all_classes(
    compared: ModelComparison,
    lacking: Mapping[str, Sequence[str]],
    extra: Mapping[str, Sequence[str]],
    names: Mapping[str, str],
) -> tuple[ModelComparison, list[str]]:
    more = [name for each in extra.values() for name in each]
    classes = (*compared.human.classes, *dict.fromkeys(more))
    said = [
        f"{names[arm]} has no class {quote_names(each)}, so it gives it the probability 0."
        for arm, each in lacking.items()
        if each
    ]
    said += [
        f"People were not asked about {quote_names(each)} of {names[arm]}; the labels give it 0."
        for arm, each in extra.items()
        if each
    ]
    original = compared.original
    filled = ModelComparison(
        _filled(compared.human, classes),
        {arm: _filled(model, classes) for arm, model in compared.models.items()},
        None if original is None else _filled(original, classes),
    )
    return filled, said


def _filled(labels: LabelSet, classes: tuple[str, ...]) -> LabelSet:
    probs = np.zeros((len(labels), len(classes)))
    probs[:, [classes.index(name) for name in labels.classes]] = labels.probs
    step = Step("give classes that are lacking 0", {"classes": list(classes)})
    return LabelSet(labels.items, classes, probs, labels.weight, (*labels.provenance, step))


def _with_shared_classes(
    compared: ModelComparison,
    lacking: Mapping[str, Sequence[str]],
    extra: Mapping[str, Sequence[str]],
    names: Mapping[str, str],
) -> tuple[ModelComparison, list[str]]:
    human, original = compared.human, compared.original
    without = {name for each in lacking.values() for name in each}
    shared = tuple(name for name in human.classes if name not in without)
    if len(shared) < 2:
        raise DataError(_too_few(shared, human.classes))
    given = {"the labels": human, **{names[arm]: one for arm, one in compared.models.items()}}
    if original is not None:
        given["the original labels"] = original
    masses = {name: _mass(one, shared) for name, one in given.items()}
    kept = np.all([mass > LEAST_MASS for mass in masses.values()], axis=0)
    if not kept.any():
        raise DataError(f"No item has mass on the shared classes, {quote_names(shared)}.")
    items = [human.items[row] for row in np.flatnonzero(kept)]
    divided = ModelComparison(
        _divided(human, shared, items),
        {arm: _divided(model, shared, items) for arm, model in compared.models.items()},
        None if original is None else _divided(original, shared, items),
    )
    return divided, _told(human, shared, extra, names, masses, kept)


LEAST_MASS = 1e-9
"""Less than this on the shared classes is rounding: nothing can be said given these classes."""


def _mass(labels: LabelSet, classes: Sequence[str]) -> NDArray[np.float64]:
    columns = [labels.classes.index(name) for name in classes]
    mass: NDArray[np.float64] = labels.probs[:, columns].sum(axis=1)
    return mass


def _divided(labels: LabelSet, classes: tuple[str, ...], items: Sequence[str]) -> LabelSet:
    """The rows of the given items over the given classes, divided by their mass on them."""
    if labels.classes == classes and list(labels.items) == list(items):
        return labels
    taken = labels.take(items)
    probs = taken.probs[:, [taken.classes.index(name) for name in classes]]
    left_out: list[Setting] = [name for name in labels.classes if name not in classes]
    step = Step("leave out classes that are not shared", {"classes": left_out})
    return LabelSet(
        taken.items,
        classes,
        probs / probs.sum(axis=1, keepdims=True),
        taken.weight,
        (*taken.provenance, step),
        values=None
        if taken.values is None
        else tuple(taken.values[taken.classes.index(name)] for name in classes),
    )


def _told(
    human: LabelSet,
    shared: Sequence[str],
    extra: Mapping[str, Sequence[str]],
    names: Mapping[str, str],
    masses: Mapping[str, NDArray[np.float64]],
    kept: NDArray[np.bool_],
) -> list[str]:
    """What was left out, and how much of whose mass it was."""
    only = [name for name in human.classes if name not in shared]
    found = []
    if only:
        found.append(_told_of("the labels", only, shared, masses["the labels"]))
    found += [
        _told_of(names[arm], each, shared, masses[names[arm]])
        for arm, each in extra.items()
        if each
    ]
    lost = int((~kept).sum())
    if lost:
        found.append(
            f"{lost:,} of {len(kept):,} items have no mass on the shared classes and are left out."
        )
    return found


def _told_of(
    whose: str, only: Sequence[str], shared: Sequence[str], mass: NDArray[np.float64]
) -> str:
    what = "class" if len(only) == 1 else "classes"
    return (
        f"Only {whose} {'have' if whose.startswith('the') else 'has'} the {what} "
        f"{quote_names(only)}, with {1 - mass.mean():.2%} of the mass. Everything is compared "
        f"given that it is one of the {len(shared)} shared classes: rows are divided by their mass "
        "on these."
    )


# Which items are scored on their own.


def _masks(
    strata: Sequence[str] | Mapping[str, Collection[str]],
    human: LabelSet,
    original: LabelSet | None,
) -> dict[str, Mask]:
    if isinstance(strata, Mapping):
        return {str(name): _mask(str(name), inside, human) for name, inside in strata.items()}
    if isinstance(strata, str):
        strata = (strata,)
    known: Mapping[str, Mask] = {
        "all": np.ones(len(human), dtype=np.bool_),
        **strata_of(human),
        **disputed_thirds(human),
        **(agreement_strata(human, original) if original is not None else {}),
    }
    return {name: find(known, name, what="stratum") for name in strata if name != "all"}


def _mask(name: str, inside: Collection[str], human: LabelSet) -> Mask:
    """A stratum of one's own: ids of items."""
    known = {*human.items}
    wanted = {str(one) for one in inside}
    if not wanted & known:
        raise DataError(
            f"No item of the stratum {name!r} is among those that are scored; give the ids of "
            "its items."
        )
    return np.array([item in wanted for item in human.items])
