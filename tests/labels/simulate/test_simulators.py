from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.simulate import SIMULATORS, load_model, save_model, simulate
from sfumato.labels.simulate.people import NoisyChannel, UnsurePeople
from sfumato.labels.simulate.top_two import TopTwoModel
from sfumato.provenance import Step

LABELS = LabelSet(
    tuple("abcd"),
    ("cat", "dog", "frog"),
    np.array([[0.6, 0.3, 0.1], [1, 0, 0], [0.1, 0.1, 0.8], [0, 1, 0]]),
    provenance=(Step("read labels"),),
)


def test_registry_defaults_are_those_of_the_types() -> None:
    assert UnsurePeople(**SIMULATORS["yes-no-unsure"].parameters) == UnsurePeople()  # type: ignore[arg-type]
    assert NoisyChannel(**SIMULATORS["triplets"].parameters) == NoisyChannel()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["voters", "top-two", "yes-no-unsure"])
def test_people_fitted_to_answers_give_such_answers(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    answers = simulate(name, LABELS, per_item=40, rng=rng)
    fit = SIMULATORS[name].fit
    assert fit is not None

    save_model(fit(answers, LABELS), tmp_path / "people.json")  # type: ignore[arg-type]
    people = load_model(tmp_path / "people.json")
    again = simulate(name, LABELS, people=people, per_item=40, annotators=50, rng=rng)

    assert again.question == answers.question
    assert len(again) == 160
    assert again.table["annotator"].n_unique() == 50


@pytest.mark.parametrize(
    ("name", "parameters", "wrong"),
    [
        ("voters", {"skill_a": 1e6, "skill_b": 1.0}, 0.0),
        ("voters", {"spammers": 1.0}, 2 / 3),
        ("triplets", {"flip": 1.0}, 1.0),
    ],
)
def test_parameters_do_what_they_say(name: str, parameters: dict[str, float], wrong: float) -> None:
    labels = hard_labels([f"i{number}" for number in range(900)], "abc", np.arange(900) % 3)
    rng = np.random.default_rng(0)

    answers = simulate(name, labels, parameters=parameters, per_item=2, rng=rng)

    if name == "voters":
        truth = np.repeat(np.arange(900) % 3, 2)
        said = answers.table["answer"].str.strip_chars('"').to_list()
        missed = np.mean([letter != "abc"[true] for letter, true in zip(said, truth, strict=True)])
    else:
        kind = {item: number % 3 for number, item in enumerate(labels.items)}
        table = answers.table.with_columns(
            *(answers.table[name].replace_strict(kind) for name in ("item", "first", "second"))
        )
        clear = table.filter((table["item"] == table["first"]) & (table["item"] != table["second"]))
        missed = (clear["closer"] == "second").mean()
    assert missed == pytest.approx(wrong, abs=0.05)


def test_thresholds_of_yes_no_unsure_and_top_two_are_parameters() -> None:
    rng = np.random.default_rng(0)

    yes = simulate(
        "yes-no-unsure", LABELS, parameters={"no_below": -9, "yes_from": -8}, per_item=1, rng=rng
    )
    model = SIMULATORS["top-two"].by_parameters(
        LABELS, {"high_entropy": 9.0, "low_entropy": 8.0}, 1, rng
    )

    assert set(yes.table["answer"]) == {'{"cat": "yes", "dog": "yes", "frog": "yes"}'}
    assert isinstance(model, TopTwoModel)
    assert (model.thresholds.high, model.thresholds.low) == (9.0, 8.0)


def test_wrong_names_and_wrong_people_are_sentences() -> None:
    rng = np.random.default_rng(0)

    with pytest.raises(UnknownName, match="Did you mean 'voters'"):
        simulate("voter", LABELS, per_item=1, rng=rng)
    with pytest.raises(UnknownName, match=r"parameter of the simulator 'voters'.*'spammers'"):
        simulate("voters", LABELS, parameters={"spamers": 1}, per_item=1, rng=rng)
    with pytest.raises(DataError, match=r"'voters' takes either .* of the kind NoisyChannel"):
        simulate("voters", LABELS, people=NoisyChannel(), per_item=1, rng=rng)
    with pytest.raises(DataError, match=r"parameters \['flip'\]"):
        simulate(
            "triplets", LABELS, people=NoisyChannel(), parameters={"flip": 1}, per_item=1, rng=rng
        )
