"""What holds for every recipe, whatever the question."""

import json
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import SCALES, ask
from sfumato.labels.build import EACH_CLASS, NONE_OF_THESE, RECIPES, build, build_classes
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.labelset import CrowdLabels, LabelSet

CLASSES = ("cat", "dog", "deer", "frog")
SIMILARITY = {frozenset(pair): 0.1 + 0.2 * place for place, pair in enumerate(
    [("cat", "dog"), ("cat", "deer"), ("dog", "deer"), ("cat", "frog"), ("dog", "frog")]
)}  # fmt: skip
FORMS = [
    (kind, recipe)
    for recipe, known in RECIPES.items()
    for kind in known.kinds
    if recipe not in EACH_CLASS
]
ORDERED = (*SCALES, "three-point")
"""Kinds in which the place of a class means something."""

names = st.sampled_from(CLASSES)
scores = st.sampled_from([0, 0.1, 0.25, 0.5, 1])
ANSWERS: dict[str, st.SearchStrategy[Any]] = {
    "choose-one": names,
    "top-two": st.fixed_dictionaries(
        {
            "first": names,
            "first_percent": st.sampled_from([0, 10, 55.5, 100]),
            "second": st.none() | names,
            "second_percent": st.sampled_from(["", 0, 20, 100]),
            "ruled_out": st.lists(names, unique=True),
        }
    ),
    "sliders": st.fixed_dictionaries(dict.fromkeys(CLASSES, scores)),
    "top-class": st.fixed_dictionaries({"cat": scores, "dog": scores}),
    "sparse": st.dictionaries(names, scores, max_size=2),
    "distribution": st.dictionaries(names, st.integers(0, 100)),
    "typicality": st.fixed_dictionaries({"class": names, "typicality": scores}),
    "yes-no-unsure": st.fixed_dictionaries(
        dict.fromkeys(CLASSES, st.sampled_from(["yes", "no", "unsure"]))
    ),
    "likely-set": st.lists(names, unique=True),
    "ranking": st.lists(names, unique=True),
    "confidence": st.fixed_dictionaries(
        {"choice": names, "confidence": st.sampled_from(["guessing", "probably", "definitely"])}
    ),
    "rating": names | st.integers(1, 4),
    "number": st.floats(1, 4) | st.integers(1, 4),
    "multi-label": st.lists(names, unique=True)
    | st.dictionaries(names, st.sampled_from(["yes", "no", "unsure"])),
    "three-point": st.lists(st.integers(0, 100), min_size=3, max_size=3).map(
        lambda points: dict(zip(("lower", "best", "upper"), sorted(points), strict=True))
    ),
    "own-and-others": st.fixed_dictionaries(
        {"own": names, "others": names | st.dictionaries(names, st.integers(0, 100))}
    ),
}


def certain(kind: str, name: str) -> Any:
    """The answer of somebody who is sure and says so in every way the question allows."""
    others = [other for other in CLASSES if other != name]
    match kind:
        case "top-two":
            return {"first": name, "first_percent": 100, "ruled_out": others}
        case "sliders":
            return {**dict.fromkeys(others, 0), name: 1}
        case "top-class" | "sparse":
            return {name: 1}
        case "distribution":
            return {name: 100}
        case "typicality":
            return {"class": name, "typicality": 1}
        case "number":
            return CLASSES.index(name) + 1
        case "three-point":
            return dict.fromkeys(("lower", "best", "upper"), 100 * (name == CLASSES[0]))
        case "own-and-others":
            return {"own": name, "others": name}
        case "yes-no-unsure" | "multi-label":
            return {**dict.fromkeys(others, "no"), name: "yes"}
        case "likely-set" | "ranking":
            return [name]
        case "confidence":
            return {"choice": name, "confidence": "definitely"}
        case _:
            return name


def built(
    form: tuple[str, str], answers: Sequence[Any], classes: Sequence[str] = CLASSES
) -> CrowdLabels | None:
    """The labels of answers about two items in turn; None if none states enough."""
    kind, recipe = form
    classes = classes[: 2 if kind == "three-point" else None]
    options = {"subset": ["cat", "dog"]} if kind == "top-class" else {}
    table = pl.DataFrame(
        {
            "item": [str(place % 2) for place in range(len(answers))],
            "answer": [json.dumps(answer) for answer in answers],
        }
    )
    distances = None
    if "distances" in RECIPES[recipe].takes:
        apart = [
            [0 if a == b else 1 - SIMILARITY.get(frozenset((a, b)), 0.5) for b in classes]
            for a in classes
        ]
        distances = ClassDistances(tuple(classes), np.array(apart))
    judgments = Judgments(ask(kind, classes, **options), table)
    if not np.isfinite(_complete(judgments, recipe, distances)).all(axis=1).any():
        return None
    return build(judgments, recipe, distances=distances).crowd


def _complete(judgments: Judgments, recipe: str, distances: ClassDistances | None) -> Any:
    known = RECIPES[recipe]
    if distances is not None:
        return known.complete(judgments.statements, similarity=1 - distances.table)
    options = {"gamma": 0.1, "rule": "consistent"}
    return known.complete(judgments.statements, **{name: options[name] for name in known.takes})


def by_name(labels: LabelSet) -> dict[str, list[float]]:
    return {
        name: labels.probs[:, place].round(9).tolist() for place, name in enumerate(labels.classes)
    }


@pytest.mark.parametrize("form", FORMS, ids=" by ".join)
@settings(max_examples=20)
@given(data=st.data())
def test_rows_are_distributions(form: tuple[str, str], data: st.DataObject) -> None:
    crowd = built(form, data.draw(st.lists(ANSWERS[form[0]], min_size=1, max_size=6)))

    if crowd is not None:
        assert np.allclose(crowd.probs.sum(axis=1), 1)
        assert (crowd.probs >= 0).all()


@pytest.mark.parametrize("form", FORMS, ids=" by ".join)
@settings(max_examples=20)
@given(data=st.data())
def test_order_of_answers_does_not_matter(form: tuple[str, str], data: st.DataObject) -> None:
    answers = data.draw(st.lists(ANSWERS[form[0]], min_size=3, max_size=3))
    # about items 0, 1, 0: swapping the outer two keeps what is said of which
    forward, backward = built(form, answers), built(form, answers[::-1])

    if forward is None or backward is None:
        assert forward is backward
    else:
        assert by_name(forward.mean()) == by_name(backward.mean())


@pytest.mark.parametrize("form", FORMS, ids=" by ".join)
@settings(max_examples=20)
@given(data=st.data())
def test_relabelling_classes_permutes_columns(form: tuple[str, str], data: st.DataObject) -> None:
    answers = data.draw(st.lists(ANSWERS[form[0]], min_size=1, max_size=3))
    order = data.draw(st.sampled_from(list(permutations(CLASSES))))

    if form[0] in ORDERED:  # other names in the same order
        new = dict(zip(CLASSES, reversed(CLASSES), strict=True))
        plain = built(form, answers)
        renamed = [new.get(one, one) if isinstance(one, str) else one for one in answers]
        moved = built(form, renamed, [new[name] for name in CLASSES])
        assert (plain is None) == (moved is None)
        if plain is not None and moved is not None:
            assert np.array_equal(plain.probs, moved.probs)
        return

    plain, moved = built(form, answers), built(form, answers, order)

    if plain is None or moved is None:
        assert plain is moved
    else:
        assert by_name(plain.mean()) == by_name(moved.mean())


@pytest.mark.parametrize("form", FORMS, ids=" by ".join)
@settings(max_examples=20)
@given(chosen=st.lists(names, min_size=1, max_size=7))
def test_certain_people_give_hard_labels_and_vote_shares(
    form: tuple[str, str], chosen: list[str]
) -> None:
    if form[0] == "top-class":
        chosen = [name if name in ("cat", "dog") else "cat" for name in chosen]
    if form[0] == "three-point":
        chosen = [name if name == CLASSES[0] else CLASSES[1] for name in chosen]
    answers = [certain(form[0], name) for name in chosen for _ in range(2)]  # both items alike

    crowd = built(form, answers)

    assert crowd is not None
    shares = {name: [chosen.count(name) / len(chosen)] * 2 for name in CLASSES}
    assert set(crowd.classes) - set(CLASSES) <= {NONE_OF_THESE}
    found = by_name(crowd.mean())
    assert all(np.allclose(found.get(name, 0), shares[name]) for name in CLASSES)


@settings(max_examples=50)
@given(data=st.data())
def test_each_class_on_its_own(data: st.DataObject) -> None:
    answers = data.draw(st.lists(ANSWERS["multi-label"], min_size=1, max_size=6))
    order = data.draw(st.sampled_from(list(permutations(CLASSES))))

    def shares(said: Sequence[Any], classes: Sequence[str]) -> dict[str, Any]:
        rows = {"item": ["i"] * len(said), "answer": [json.dumps(one) for one in said]}
        found = build_classes(Judgments(ask("multi-label", classes), pl.DataFrame(rows)))
        return {name: float(each.crowd.mean().probs[0, 1]) for name, each in found.items()}

    plain = shares(answers, CLASSES)
    assert plain == pytest.approx(shares(answers[::-1], order))
    assert all(0 <= share <= 1 for share in plain.values())
    certain_of = {name: [certain("multi-label", name)] for name in CLASSES}
    assert shares(certain_of["cat"], CLASSES) == {name: name == "cat" for name in CLASSES}
