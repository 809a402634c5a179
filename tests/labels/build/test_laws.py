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
from sfumato.judgments.question import ask
from sfumato.labels.build import NONE_OF_THESE, RECIPES, build
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.labelset import CrowdLabels, LabelSet

CLASSES = ("cat", "dog", "deer", "frog")
SIMILARITY = {frozenset(pair): 0.1 + 0.2 * place for place, pair in enumerate(
    [("cat", "dog"), ("cat", "deer"), ("dog", "deer"), ("cat", "frog"), ("dog", "frog")]
)}  # fmt: skip
FORMS = [(kind, recipe) for recipe, known in RECIPES.items() for kind in known.kinds]

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
        case "yes-no-unsure":
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
    answers = [certain(form[0], name) for name in chosen for _ in range(2)]  # both items alike

    crowd = built(form, answers)

    assert crowd is not None
    shares = {name: [chosen.count(name) / len(chosen)] * 2 for name in CLASSES}
    assert set(crowd.classes) - set(CLASSES) <= {NONE_OF_THESE}
    found = by_name(crowd.mean())
    assert all(np.allclose(found[name], shares[name]) for name in CLASSES)
