"""One offset per annotator on top of any head."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

import sfumato as sf
from sfumato.errors import DataError
from sfumato.evaluation.people import score_people
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.people import PersonOffsets, fit_offsets
from sfumato.provenance import Step

CLASSES = ("no", "unsure", "yes")


def simulated(
    people: int = 6, items: int = 200, spread: float = 1.0, seed: int = 0
) -> tuple[LabelSet, CrowdLabels, NDArray[np.float64]]:
    """Simulated annotators whose offsets are known, and a model that knows the average."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (items, 3))
    offsets = rng.normal(0, spread, (people, 3))
    offsets -= offsets.mean(axis=1, keepdims=True)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    row, who = np.repeat(np.arange(items), people), np.tile(np.arange(people), items)
    each = np.exp(logits[row] + offsets[who])
    each /= each.sum(axis=1, keepdims=True)
    said = (each.cumsum(axis=1) > rng.random(len(row))[:, None]).argmax(axis=1)
    names = tuple(f"i{number}" for number in range(items))
    annotators = tuple(f"p{number}" for number in range(people))
    crowd = CrowdLabels(names, annotators, CLASSES, row, who, said=said)
    return LabelSet(names, CLASSES, probs), crowd, offsets


def test_offsets_of_simulated_annotators_are_found() -> None:
    beliefs, crowd, offsets = simulated(items=4000)
    found = fit_offsets(beliefs, crowd)
    assert np.abs(found.offsets - offsets).max() < 0.12
    assert found.spread == pytest.approx(offsets.std() * np.sqrt(3 / 2), rel=0.25)
    assert np.allclose(found.offsets.sum(axis=1), 0, atol=1e-4)


def test_offsets_are_the_most_probable_ones_under_their_prior() -> None:
    beliefs, crowd, _ = simulated(people=2, items=30)
    found = fit_offsets(beliefs, crowd)
    mine = crowd.annotator == 1
    rows, said = np.log(beliefs.probs)[crowd.item[mine]], crowd.probs[mine]

    def loss(offset: NDArray[np.float64]) -> float:
        logits = rows + offset
        log_q = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
        return float(-(said * log_q).sum() + (offset**2).sum() / (2 * found.spread**2))

    best = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-6})
    assert loss(found.offsets[1]) <= best.fun + 1e-3


def test_people_who_do_not_differ_get_hardly_any_offset() -> None:
    beliefs, crowd, _ = simulated(items=2000, spread=0)
    assert np.abs(fit_offsets(beliefs, crowd).offsets).max() < 0.1


@given(seed=st.integers(0, 50), people=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_laws(seed: int, people: int) -> None:
    beliefs, crowd, _ = simulated(people=people, items=20, seed=seed)
    found = fit_offsets(beliefs, crowd)
    stranger = found.predict(beliefs, ["nobody knows me"])
    assert np.allclose(stranger.probs, beliefs.probs, atol=1e-6)  # the average
    each = found.predict(beliefs)
    assert len(each) == 20 * people and np.allclose(each.probs.sum(axis=1), 1)
    order = np.random.default_rng(seed).permutation(len(crowd))
    shuffled = CrowdLabels(
        crowd.items, crowd.annotators, CLASSES, crowd.item[order], crowd.annotator[order],
        said=crowd.said[order], answers=crowd.answers,
    )  # fmt: skip
    assert np.allclose(fit_offsets(beliefs, shuffled).offsets, found.offsets, atol=1e-3)
    again = PersonOffsets.of_settings(found.settings(), CLASSES)
    assert np.array_equal(again.predict(beliefs).probs, each.probs)


def test_known_people_are_predicted_better_than_by_the_average() -> None:
    beliefs, crowd, _ = simulated(items=400)
    learnt = crowd.take(crowd.item < 200, Step("take"))
    asked = crowd.take(crowd.item >= 200, Step("take"))
    offsets = fit_offsets(beliefs, learnt)
    predictions: dict[str, LabelSet | CrowdLabels] = {
        "each": offsets.predict(beliefs, asked),
        "average": beliefs,
    }
    rng = np.random.default_rng(0)
    rows = score_people(asked, predictions, metrics=["person_log_loss"], rng=rng)
    loss = {row.arm: row.value for row in rows}
    assert loss["each"] < loss["average"] - 0.1


def test_bad_input_is_a_sentence() -> None:
    beliefs, crowd, _ = simulated(items=4)
    nameless = CrowdLabels(crowd.items, (), CLASSES, [0], [-1], said=[0])
    with pytest.raises(DataError, match="No answer names its annotator"):
        fit_offsets(beliefs, nameless)
    offsets = fit_offsets(beliefs, crowd)
    with pytest.raises(DataError, match="nobody to predict"):
        offsets.predict(beliefs, [])
    with pytest.raises(DataError, match="'i3' was answered, but the model was not asked"):
        offsets.predict(beliefs.take(("i0", "i1", "i2")), crowd)


def test_a_model_learns_people_and_keeps_them(tmp_path: Path) -> None:
    texts = {f"t{n}": ("good " if n % 2 else "bad ") * 3 + f"film {n}" for n in range(40)}
    answers = [
        {"item": item, "annotator": who, "answer": "yes" if harsh < (number % 2) else "no"}
        for number, item in enumerate(texts)
        for who, harsh in (("kind", -1), ("fair", 0))
    ]
    model = sf.train(texts, sf.read(answers), network="linear", epochs=20, people=True)
    assert model.people is not None and repr(model).endswith("last was kept.>")
    each = model.predict_people(texts, ["kind", "fair", "stranger"])
    yes = each.probs[:, each.classes.index("yes")].reshape(40, 3)
    assert (yes[:, 0] > yes[:, 1]).all()
    assert np.allclose(yes[:, 2], model.predict(texts).probs[:, each.classes.index("yes")])
    model.save(tmp_path / "model")
    again = sf.Model.load(tmp_path / "model").predict_people(texts)
    assert np.array_equal(again.probs, model.predict_people(texts).probs)
    plain = sf.train(texts, sf.read(answers), network="linear", epochs=2)
    with pytest.raises(DataError, match="did not learn to tell people apart"):
        plain.predict_people(texts)
