"""One training as a cell of a sweep: learn, and believe something about every test."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.evaluation.attacks import Attack, run_attack
from sfumato.evaluation.corruptions import corrupt
from sfumato.items.items import Items
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.encoders import make_encoder
from sfumato.learn.examples import Examples, NormalisedNetwork, predict, probabilities
from sfumato.learn.fit import WEIGHTS, best_of, fit
from sfumato.learn.folds import Split
from sfumato.learn.model import as_examples
from sfumato.learn.people import fit_offsets
from sfumato.learn.recipe import Mixing, Recipe
from sfumato.learn.sweep import CellResult
from sfumato.learn.targets import fixed_targets
from sfumato.learn.train import TrainedNetwork, Weights, restore_network, train, weights_of
from sfumato.studies.data import CLEAN, OFFSETS, WATCHED, Condition, Target
from sfumato.studies.study import Searched


@dataclass(frozen=True)
class TextExamples:
    """Texts that are encoded where they are learnt: tf-idf knows only the items of its split."""

    items: tuple[str, ...]
    fields: tuple[str, ...]
    texts: tuple[str, ...]
    """Field by field of each item."""
    encoder: str

    @classmethod
    def of(cls, texts: Items, encoder: str) -> "TextExamples":
        """The texts, to be encoded later."""
        return cls(texts.ids, texts.columns, tuple(texts.contents.reshape(-1).tolist()), encoder)

    def vectors(self, learnt: tuple[str, ...], wanted: Sequence[str]) -> Items:
        """The wanted items as vectors, by an encoder that was fitted to those that are learnt.

        Fields that are empty in all of those, as of another set, do not count.
        """
        texts = np.array(self.texts, dtype=object).reshape(len(self.items), -1)
        items = Items(self.items, texts, "texts", self.fields)
        known = items.take(learnt)
        filled = [place for place, column in enumerate(known.contents.T) if any(column)]
        fields = tuple(self.fields[place] for place in filled)
        known = replace(known, contents=known.contents[:, filled], columns=fields)
        return make_encoder(self.encoder, known).encode(items.take(wanted))


@lru_cache(maxsize=2)
def _vectors(texts: TextExamples, learnt: tuple[str, ...], wanted: tuple[str, ...]) -> Examples:
    """Arms and seeds of one split share them."""
    return as_examples(texts.vectors(learnt, wanted))


def image_vectors(images: Examples, encoder: str) -> Items:
    """Images as an encoder sees them, which are kept between runs."""
    items = Items(images.items, images.images, "images")
    return make_encoder(encoder, items).encode(items)


@lru_cache(maxsize=8)
def encoded_images(images: Examples, encoder: str) -> Examples:
    """The same as a network takes them; all trainings of a study share them."""
    return as_examples(image_vectors(images, encoder))


def encoded(
    examples: "Examples | TextExamples", split: Split, parts: Mapping[str, tuple[str, ...]]
) -> Examples:
    """What a network takes of the items of a split and of the parts that it is tested on."""
    if isinstance(examples, Examples):
        return examples
    tested = (item for items in parts.values() for item in items)
    every = (*split.train, *split.validation, *split.test, *split.second_test, *tested)
    return _vectors(examples, split.train, tuple(dict.fromkeys(every)))


def train_and_test(
    recipe: Recipe,
    examples: Examples | TextExamples,
    target: Target,
    split: Split,
    parts: Mapping[str, tuple[str, ...]],
    attacked: Mapping[str, LabelSet],
    attacks: Sequence[Attack],
    corruptions: Sequence[str],
    strength: int,
    watch: bool,
    keep_weights: bool,
    start: Weights | None = None,
    crowd: CrowdLabels | None = None,
    dynamics: Recipe | None = None,
    search: Mapping[Searched, Sequence[float]] | None = None,
    corrupted: Mapping[str, Examples] | None = None,
) -> CellResult:
    """Train on the split and predict ``parts``, items by name; then attacked and corrupted ones.

    ``attacked`` are the labels that attacks drive the network away from, by the part that their
    items are of. Beliefs are kept under ``Condition.array``, those of PGD after every step (S0-F4).
    Of the answers of a ``crowd`` about the items learnt, each person's offset is kept. ``dynamics``
    is a second training to be watched in place of the first; ``search`` has settings to choose from
    on the validation part, as ``study.Search``. Images that are ``corrupted`` already are shown as
    they are; others are corrupted here.
    """
    arrays: dict[str, NDArray[Any]] = {}
    examples, work = encoded(examples, split, parts), 0
    chosen: dict[str, Any] = {}
    if target.pretrained:
        network, history = _as_pretrained(recipe, examples, target, start), []
    else:
        given = (examples, target.labels, split, target.presentation)

        def learn(recipe: Recipe, mixing: Mixing | None) -> TrainedNetwork:
            watched = watch and dynamics in (None, recipe)
            return fit(recipe, *given, watched, start, mixing, target.augmenting)

        if search:
            trained, chosen, work = _fit_best(recipe, target.mixing, search, learn, split)
        else:
            trained = learn(recipe, target.mixing)
            work = len(trained.history)
        network, history = trained.network, list(trained.history)
        if watch:
            seen = trained if dynamics is None else learn(dynamics, target.mixing)
            arrays[WATCHED] = seen.watched.astype(np.float16)  # enough for data maps
            work += 0 if dynamics is None else len(seen.history)
    for part, items in parts.items():
        arrays[CLEAN.array(part)] = probabilities(network, examples.take(items))
    if crowd is not None:
        beliefs = predict(network, examples.take(split.train), target.labels.classes)
        arrays[OFFSETS] = fit_offsets(beliefs, crowd).offsets
    for part, labels in attacked.items():
        arrays |= _attacked(network, part, labels, examples, split, attacks)
        shown = corrupted or _corrupted(examples.take(labels.items), corruptions, strength)
        for name in corruptions:
            array = Condition(name, float(strength)).array(part)
            arrays[array] = probabilities(network, shown[name].take(labels.items))
    if keep_weights:
        arrays |= {WEIGHTS + name: array for name, array in weights_of(network).items()}
    learnt = target.items or split.train
    scores = {"history": history, "training": _training_scores(network, examples, target, learnt)}
    if chosen:
        scores["chosen"] = chosen
    return CellResult(scores, arrays, work=work)


def _fit_best(
    recipe: Recipe,
    mixing: Mixing | None,
    search: Mapping[Searched, Sequence[float]],
    learn: Callable[[Recipe, Mixing | None], TrainedNetwork],
    split: Split,
) -> tuple[TrainedNetwork, dict[str, Any], int]:
    """The network with the best settings, one after the other: of a rate (S0-25), then of an α at
    that rate (S0-29). With what was chosen from what, and the epochs that it took."""
    chosen: dict[str, Any] = {}
    work, trained = 0, None
    for what, values in search.items():
        tried = {value: _with_setting(recipe, mixing, what, value) for value in values}
        best = best_of(what, tried, lambda setting: learn(*setting), split, recipe.weights)
        (recipe, mixing), trained = tried[best.value], best.trained
        chosen, work = {**chosen, **best.told}, work + best.work
    assert trained is not None
    return trained, chosen, work


def _with_setting(
    recipe: Recipe, mixing: Mixing | None, what: Searched, value: float
) -> tuple[Recipe, Mixing | None]:
    match what:
        case "rate":
            return replace(recipe, learning_rate=value), mixing
        case "alpha":
            assert mixing is not None
            return recipe, replace(mixing, alpha=value)
        case _:
            assert_never(what)


def _training_scores(
    network: NormalisedNetwork, examples: Examples, target: Target, learnt: Sequence[str]
) -> dict[str, float]:
    """How well the network knows, at the end, what it learnt: whether it memorised its items."""
    labels = target.mean
    known = set(labels.items)
    labels = labels.take([item for item in learnt if item in known])
    beliefs = probabilities(network, examples.take(labels.items)).astype(np.float64)
    logs = np.log(np.maximum(beliefs, np.finfo(np.float32).tiny))
    right = beliefs.argmax(axis=1) == labels.probs.argmax(axis=1)
    loss = -(labels.probs * logs).sum(axis=1).mean()
    return {"training_accuracy": float(right.mean()), "training_cross_entropy": float(loss)}


def pretrain(recipe: Recipe, examples: Examples, labels: LabelSet) -> CellResult:
    """Train a network to go on from; its weights are kept."""
    trained = train(recipe, examples, fixed_targets(labels, examples.items))
    state = weights_of(trained.network)
    arrays = {WEIGHTS + name: array for name, array in state.items()}
    return CellResult({"history": list(trained.history)}, arrays, work=len(trained.history))


def _as_pretrained(
    recipe: Recipe, examples: Examples, target: Target, start: Weights | None
) -> NormalisedNetwork:
    if start is None:
        raise DataError(
            "An arm is tested as pretrained, but the study has no pretraining; give it one, or "
            "leave the arm out."
        )
    return restore_network(recipe.network, examples.image_shape, target.labels.classes, start)


def _attacked(
    network: NormalisedNetwork,
    part: str,
    labels: LabelSet,
    examples: Examples,
    split: Split,
    attacks: Sequence[Attack],
) -> dict[str, NDArray[np.float32]]:
    """Beliefs about attacked images, rows in the order of the labels."""
    images = examples.take(labels.items).images
    arrays = {}
    for attack in attacks:
        found = run_attack(network, images, labels, attack, trained_items=split.train)
        for step, beliefs in enumerate(found.beliefs[1:], start=1):
            condition = Condition(
                attack.kind, attack.epsilon_255, None if attack.kind == "fgsm" else step
            )
            arrays[condition.array(part)] = beliefs.probs.astype(np.float32)
    return arrays


def _corrupted(
    examples: Examples, corruptions: Sequence[str], strength: int
) -> dict[str, Examples]:
    """The images under every corruption; the same damage for every arm and seed."""
    found = {}
    for name in corruptions:
        rng = np.random.default_rng(0)
        spoilt = corrupt(examples.images, name, strength, rng=rng).astype(np.uint8)
        found[name] = Examples(examples.items, spoilt)
    return found
