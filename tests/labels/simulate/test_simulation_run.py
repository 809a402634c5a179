from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate import (
    SimulationSettings,
    check_habits,
    load_model,
    run_simulation,
    simulate,
)
from sfumato.labels.simulate.top_two import HABITS, SeenHabits, TopTwoModel
from sfumato.provenance import Step

CLASSES = ("cat", "dog", "frog")
LABELS = LabelSet(
    tuple(map(str, range(16))),
    CLASSES,
    np.array([[0.6, 0.3, 0.1], [1, 0, 0], [0.1, 0.1, 0.8], [0, 1, 0]] * 4),
)
APART = ClassDistances(CLASSES, np.ones((3, 3)) - np.eye(3))


def real(kind: str = "top-two", *, items: int = 8, annotators: int = 5) -> Judgments:
    """Answers that pass for those of people."""
    made = simulate(
        kind,
        LABELS.take(LABELS.items[:items]),
        per_item=3,
        annotators=annotators,
        rng=np.random.default_rng(0),
    )
    assert isinstance(made, Judgments)
    table = made.table.drop("simulated").with_columns(
        annotator=made.table["annotator"].str.replace("simulated", "person")
    )
    return Judgments(made.question, table)


def run(settings: SimulationSettings, judgments: Judgments | None = None) -> dict[str, object]:
    return run_simulation(settings, LABELS, real=judgments, rng=np.random.default_rng(0)).summary()


@pytest.mark.parametrize("kind", ["top-two", "voters", "yes-no-unsure"])
def test_every_kind_that_can_be_fitted_can_extend(kind: str) -> None:
    judgments = real(kind)
    settings = SimulationSettings(kind, per_item=2, items="without answers")

    made = run_simulation(settings, LABELS, real=judgments, rng=np.random.default_rng(0))

    assert isinstance(made.answers, Judgments)
    assert made.answers.table.head(24).equals(judgments.table)
    summary = made.summary()
    assert (summary["judgments"], summary["items"]) == (16, 8)
    assert summary["people"] == 5  # as many as there are real people
    assert summary["elicited"] == {"judgments": 24, "items": 8}
    assert summary["marginals"] == []


def test_personal_habits_have_as_many_people_as_were_real() -> None:
    personal = run(SimulationSettings("top-two", per_item=2, habits="personal"), real())
    joint = run(SimulationSettings("top-two", per_item=2, habits="joint"), real())
    told = run(SimulationSettings("top-two", per_item=2, annotators=3, habits="personal"), real())

    assert (personal["people"], joint["people"], told["people"]) == (5, 2, 3)
    assert personal["marginals"]


def test_what_orders_the_classes_is_told() -> None:
    learned = run(SimulationSettings("top-two", per_item=1))
    given = run(SimulationSettings("top-two", per_item=1, distances=APART))
    votes = run(SimulationSettings("voters", per_item=1))

    assert learned["order"] == "which the answers name together and the labels confuse"
    assert given["order"] is None  # a table made by hand says nothing of itself
    assert votes["order"] is None


def test_fitted_habits_are_saved_and_used_again(tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    fit = SimulationSettings("top-two", per_item=2, habits="personal", annotators=5)
    saved = run_simulation(
        SimulationSettings(**{**vars(fit), "save_model": path}),
        LABELS,
        real=real(),
        rng=np.random.default_rng(3),
    )
    again = run_simulation(
        SimulationSettings("top-two", per_item=2, annotators=5, model=path),
        LABELS,
        real=None,
        rng=np.random.default_rng(3),
    )

    assert saved.answers.table.equals(again.answers.table)
    people = load_model(path)
    assert isinstance(people, TopTwoModel)
    assert isinstance(people.high, SeenHabits)
    assert len(np.unique(people.high.person)) == 5


def test_thresholds_and_routing_reach_the_fit() -> None:
    def answers(**settings: object) -> tuple[int, int]:
        chosen = SimulationSettings("top-two", per_item=1, habits="joint", **settings)  # type: ignore[arg-type]
        made = run_simulation(chosen, LABELS, real=real(), rng=np.random.default_rng(0))
        assert isinstance(made.people, TopTwoModel)
        return made.people.high.answers, made.people.low.answers

    turned = LABELS.with_probs(LABELS.probs[[1, 0, 3, 2] * 4], Step("turn"))
    assert answers() == (12, 12)
    assert answers(parameters={"high_entropy": 0.8, "low_entropy": 0.7}) == (6, 18)
    assert answers(routing="none") == (24, 24)
    assert answers(routing=turned.take(LABELS.items)) == (12, 12)
    with pytest.raises(DataError, match="route by lack item"):
        answers(routing=turned.take(LABELS.items[:9]))


def test_check_compares_all_habits_or_the_named() -> None:
    settings = SimulationSettings("top-two", per_item=1)
    judgments = real(items=16, annotators=8)

    every = check_habits(settings, judgments, LABELS, hold_out="items", draws=10)
    one = check_habits(
        SimulationSettings("top-two", per_item=1, habits="joint"),
        judgments,
        LABELS,
        hold_out="items",
        draws=10,
    )

    assert [check.habits for check in every] == list(HABITS)
    assert one == [check for check in every if check.habits == "joint"]
    with pytest.raises(DataError, match="takes no other kind"):
        check_habits(SimulationSettings("voters", per_item=1), judgments, LABELS, hold_out="items")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "voters", "habits": "joint", "distances": APART}, "habits and distances of cl"),
        ({"kind": "triplets", "routing": "none"}, "takes a routing, not 'triplets'"),
        ({"habits": "published"}, "orders alternatives by word vectors: give vectors or distances"),
        ({"habits": "joint"}, "'joint' are real people's answers"),
        ({"routing": "none"}, "decided when people are fitted"),
        ({"items": "without answers"}, "nothing to extend: give the judgments"),
        ({"model": Path("x.json"), "distances": APART}, "its own order of classes"),
        ({"save_model": Path("x.json")}, "There is no model to save"),
    ],
)
def test_options_without_effect_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        run(SimulationSettings(**{"kind": "top-two", "per_item": 1, **settings}))  # type: ignore[arg-type]


def test_wrong_parameters_of_fitted_people_are_named() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'high_entropy'"):
        run(SimulationSettings("top-two", per_item=1, parameters={"high_entropi": 1}), real())
