"""The one way in: names, options, provenance, and what is refused."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.labels.aggregate.crowd_sets import (
    SIMPLE,
    SIMPLE_TRUTH,
    TOY,
    TOY_TRUTH,
    WORDS,
    run,
    simple,
    tops,
    toy,
)

from sfumato.errors import DataError
from sfumato.labels.aggregate import AGGREGATORS, aggregate
from sfumato.labels.aggregate.dawid_skene import climb, initial_counts
from sfumato.labels.aggregate.evidence import evidence_of_votes
from sfumato.labels.files import read_confusions, read_gold, read_weights
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.labels.verbs import aggregate as aggregate_answers
from sfumato.labels.verbs import label
from sfumato.labels.votes import Votes, votes_of_columns
from sfumato.provenance import Step, to_json

VOTES = Votes(
    ("b", "a", "unseen"),
    ("q", "p", "silent"),
    ("y", "x"),
    np.array([0, 0, 1, 1]),
    np.array([0, 1, 0, 1]),
    np.array([0, 0, 1, 0]),
    (Step("read crowd"),),
)


def test_results_come_in_the_order_of_the_crowd() -> None:
    result = aggregate(VOTES, "dawid-skene", rng=np.random.default_rng(0))

    assert result.labels.items == ("b", "a")
    assert result.labels.classes == ("y", "x")
    assert result.annotators == ("q", "p")
    assert result.labels.probs[0, 0] > 0.9
    assert result.labels.weight.tolist() == [2, 2]
    assert result.quality is not None and list(result.quality) == ["q", "p"]
    assert result.confusion is not None and result.confusion.shape == (2, 2, 2)
    assert np.allclose(result.confusion[1, :, 0], 1)  # p only ever says y


@pytest.mark.parametrize(
    "name", [name for name, known in AGGREGATORS.items() if not known.needs_scale]
)
def test_provenance_holds_estimand_and_every_setting(name: str) -> None:
    found = AGGREGATORS[name]
    uniform = LabelSet(
        VOTES.items, VOTES.classes, np.full((3, 2), 0.5), provenance=(Step("train"),)
    )
    given = uniform if found.reads == "votes and predictions" else None

    result = aggregate(VOTES, name, rng=np.random.default_rng(0), predictions=given)

    assert result.estimand == found.estimand
    first, *_, last = result.labels.provenance
    assert (first.name, last.name) == ("read crowd", f"aggregate {name}")
    assert last.settings["estimand"] == found.estimand
    assert set(found.options) <= set(last.settings)
    assert "interval" in last.settings
    assert ("predictions" in last.settings) == (given is not None)
    assert to_json(result.labels.provenance)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_about_says_what_quality_means(name: str) -> None:
    assert "uality" in AGGREGATORS[name].about


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mean", {"iterations": 3}, "'mean' takes no option 'iterations'. Its options: none"),
        ("one-coin", {"floor": 3}, "Its options: 'iterations', 'tolerance'"),
        ("one-coin", {"iterations": 0}, "'iterations' of 'one-coin' is 0; it must be a whole"),
        ("one-coin", {"iterations": 2.5}, "is 2.5; it must be a whole number"),
        ("one-coin", {"tolerance": "small"}, "'tolerance' of 'one-coin' is 'small'; .* a number"),
        ("majority", {"ties": 3}, "'ties' of 'majority' is 3; it must be a word"),
    ],
)
def test_wrong_options_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        aggregate(VOTES, name, rng=np.random.default_rng(0), **options)


def test_predictions_for_a_method_that_reads_none_are_refused() -> None:
    uniform = LabelSet(VOTES.items, VOTES.classes, np.full((3, 2), 0.5))

    with pytest.raises(DataError, match="'mean' reads no predictions"):
        aggregate(VOTES, "mean", rng=np.random.default_rng(0), predictions=uniform)


@pytest.mark.parametrize("name", [name for name, found in AGGREGATORS.items() if found.needs_names])
def test_methods_that_model_people_refuse_unknown_authors(name: str) -> None:
    crowd = CrowdLabels(
        ("a",),
        ("p",),
        ("x", "y"),
        np.array([0, 0]),
        np.array([0, NOT_RECORDED]),
        np.full((2, 2), 0.5),
    )
    votes = Votes(("a",), ("p",), ("x", "y"), *np.array([[0, 0], [0, NOT_RECORDED], [0, 1]]))
    reads_distributions = AGGREGATORS[name].reads == "distributions"

    with pytest.raises(DataError, match=f"'{name}' models each annotator, but 1 of 2"):
        aggregate(crowd if reads_distributions else votes, name, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, found in AGGREGATORS.items()
        if not found.needs_names and found.estimand == "what people say"
    ],
)
def test_people_s_distribution_needs_no_names(name: str) -> None:
    votes = Votes(
        ("a", "b"),
        (),
        ("x", "y"),
        np.array([0, 0, 1]),
        np.full(3, NOT_RECORDED),
        np.array([0, 1, 1]),
    )

    result = aggregate(votes, name, rng=np.random.default_rng(0), interval="default", replicates=20)

    assert result.annotators == ()
    assert np.isclose(result.labels.probs[0, 0], result.labels.probs[0, 1], atol=0.35)
    assert result.interval is not None
    assert result.interval.high[0, 0] > result.interval.low[0, 0]


def test_aggregation_imports_neither_polars_nor_an_optimiser() -> None:
    asked = (
        "import sys, sfumato.labels.aggregate.heldout\n"
        "print('polars' in sys.modules, 'scipy.optimize' in sys.modules)"
    )

    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert said.stdout.split() == ["False", "False"]


# What aggregators are told from outside: weights, true labels of some items, earlier confusions.
#
# Numbers called published are those of crowd-kit's own tests (version 1.4, Apache-2.0), on its two
# small sets of answers.


dawid_skene = import_module("sfumato.labels.aggregate.dawid_skene")  # not the function


def zeros(people: tuple[str, ...] = tuple(TOY)) -> dict[str, dict[str, dict[str, float]]]:
    return {who: {true: {"yes": 0.0, "no": 0.0} for true in ("yes", "no")} for who in people}


# --- earlier confusions: crowd-kit's sixteen checks -------------------------------------------

LIMITS = [{"iterations": 10, "tolerance": 0.0}, {"iterations": 1000, "tolerance": 1e-5}]


@pytest.mark.parametrize("initial", ["add", "assign"])
def test_a_way_to_start_without_confusions_changes_nothing(initial: str) -> None:
    assert tops(run(toy(), "dawid-skene", initial=initial, **LIMITS[0])) == TOY_TRUTH


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("people", [tuple(TOY), ("w1", "w2")])
def test_confusions_of_zeros_add_nothing_and_cannot_be_assigned(
    limits: dict[str, Any], people: tuple[str, ...]
) -> None:
    added = run(toy(), "dawid-skene", initial_confusions=zeros(people), **limits)

    plain = run(toy(), "dawid-skene", **limits)
    assert tops(added) == TOY_TRUTH
    assert np.allclose(added.labels.probs, plain.labels.probs, rtol=0, atol=1e-8)
    with pytest.raises(DataError, match="everybody's must be complete"):
        run(toy(), "dawid-skene", initial_confusions=zeros(people), initial="assign", **limits)


@pytest.mark.parametrize("limits", LIMITS)
def test_confusions_like_those_of_these_answers_change_no_label(limits: dict[str, Any]) -> None:
    earlier = zeros()
    earlier["w2"] = {"yes": {"yes": 99, "no": 1}, "no": {"yes": 1, "no": 99}}

    assert tops(run(toy(), "dawid-skene", initial_confusions=earlier, **limits)) == TOY_TRUTH


@pytest.mark.parametrize("limits", LIMITS)
def test_earlier_confusions_can_turn_a_label(limits: dict[str, Any]) -> None:
    earlier = zeros()
    for who, text in TOY.items():
        earlier[who]["no"][WORDS[text[1]]] = 99  # what they say of t2 is what they say of a "no"

    result = run(toy(), "dawid-skene", initial_confusions=earlier, **limits)

    assert tops(result)["t2"] == "no" != TOY_TRUTH["t2"]


def test_the_first_matrix_is_the_published_one() -> None:
    earlier = {"w2": {"no": {"yes": 1.1, "no": 0.6}, "yes": {"yes": 0.9, "no": 0.4}}}
    evidence = evidence_of_votes(toy())
    once = evidence.each_person_once()

    start = initial_counts(evidence, earlier, "add")
    matrix = climb(evidence, once, 0, 0.0, start).confusion_of(1)

    assert np.allclose(matrix, [[0.5, 0.5], [0.25, 0.75]], rtol=0, atol=1e-9)  # no, yes


def test_assigned_confusions_stand_in_for_the_first_ones() -> None:
    sure = {
        true: {said: 0.9 if said == true else 0.1 for said in ("yes", "no")} for true in WORDS_YN
    }
    earlier = dict.fromkeys(TOY, sure)
    evidence = evidence_of_votes(toy())

    start = initial_counts(evidence, earlier, "assign")
    state = climb(evidence, evidence.each_person_once(), 0, 0.0, start)

    for person in range(5):
        assert np.allclose(state.confusion_of(person), [[0.9, 0.1], [0.1, 0.9]])


WORDS_YN = ("yes", "no")


@pytest.mark.parametrize(
    ("iterations", "probs", "shares", "first"),
    [
        (0, [0.5, 0.6, 0.4, 1.0, 0.2], 0.54, [[0.22, 0.78], [0.19, 0.81]]),
        (1, [0.65, 0.74, 0.13, 1.0, 0.05], 0.51, [[0.14, 0.86], [0.25, 0.75]]),
    ],
)
def test_the_first_steps_are_the_published_ones(
    iterations: int, probs: list[float], shares: float, first: list[list[float]]
) -> None:
    evidence = evidence_of_votes(toy())

    state = climb(evidence, evidence.each_person_once(), iterations, -np.inf)

    assert np.allclose(state.posterior[:, 1], probs, rtol=0, atol=0.006)
    assert np.isclose(state.posterior[:, 1].mean(), shares, rtol=0, atol=0.005)
    assert np.allclose(state.confusion_of(0), first, rtol=0, atol=0.005)


def test_confusions_of_strangers_other_labels_and_below_zero_are_refused() -> None:
    with pytest.raises(DataError, match="matrix is given for 'w9', who judged nothing"):
        run(toy(), "dawid-skene", initial_confusions={"w9": {"yes": {"yes": 1}}})
    with pytest.raises(DataError, match="name 'maybe', which is no class here"):
        run(toy(), "dawid-skene", initial_confusions={"w1": {"maybe": {"yes": 1}}})
    with pytest.raises(DataError, match="hold -1; they must be numbers from 0 up"):
        run(toy(), "dawid-skene", initial_confusions={"w1": {"yes": {"yes": -1}}})
    with pytest.raises(DataError, match="must be 'add' or 'assign'"):
        run(toy(), "dawid-skene", initial="addition")


# --- true labels of some items ----------------------------------------------------------------

GOLD_TOY = {"t1": "yes", "t2": "yes"}
GOLD_SIMPLE = {"2": "goose", "3": "parrot", "1": "chicken"}
HIDDEN = [
    name
    for name, known in AGGREGATORS.items()
    if "gold" in known.given and known.estimand == "which label is true"
]


@pytest.mark.parametrize("limits", LIMITS)
def test_dawid_skene_with_known_labels_finds_the_published_ones(limits: dict[str, Any]) -> None:
    assert tops(run(toy(), "dawid-skene", gold=GOLD_TOY, **limits)) == TOY_TRUTH


@pytest.mark.parametrize("iterations", [1, 2, 10])
@pytest.mark.parametrize("name", HIDDEN)
def test_known_labels_stay_at_their_truth(name: str, iterations: int) -> None:
    wrong = {"t1": "no", "t4": "no", "t9": "yes"}  # everybody says "yes" of t4; nobody judged t9

    result = run(toy(), name, gold=wrong, iterations=iterations)

    assert result.labels["t1"] == {"no": 1.0, "yes": 0.0} == result.labels["t4"]
    assert np.allclose(result.labels.probs.sum(axis=1), 1)


@pytest.mark.parametrize("name", HIDDEN)
def test_known_labels_teach_who_is_to_be_trusted(name: str) -> None:
    # w5 is right about everything that is known, the others about less
    truth = {item: WORDS[said] for item, said in zip(TOY_TRUTH, TOY["w5"], strict=True)}

    result = run(toy(), name, gold=truth)

    assert result.quality is not None
    assert max(result.quality, key=result.quality.__getitem__) == "w5"
    assert tops(result) == truth


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_climbed_never_falls_with_known_labels_and_weights(name: str) -> None:
    result = run(
        simple(), name, gold=GOLD_SIMPLE, weights={"good1": 2.5}, iterations=30, tolerance=-np.inf
    )

    assert (np.diff(result.trace) >= -1e-9).all()


def test_wawa_by_known_labels_is_the_published_gold_majority() -> None:
    result = run(toy(), "wawa", gold=GOLD_TOY)
    other = run(simple(), "wawa", gold=GOLD_SIMPLE)

    assert result.quality == {"w1": 0.5, "w2": 1, "w3": 1, "w4": 0.5, "w5": 0}
    published = [0.75, 0.833333, 0.333333, 1, 0.166667]
    assert np.allclose(result.labels.probs[:, 1], published, atol=1e-5)
    assert other.quality is not None
    assert [other.quality[who] for who in ("parrot", "careless")] == [0.5, 0.5]
    assert np.allclose(other.labels.probs[4], [0.5, 0.25, 0.25])
    assert np.allclose(other.labels.probs[0], [0.8, 0, 0.2])
    assert np.allclose(other.labels.probs[1], [0.857143, 0.142857, 0], atol=1e-5)


def test_wawa_refuses_who_judged_no_known_label() -> None:
    with pytest.raises(DataError, match="'w3' judged no item with a known label"):
        run(toy(), "wawa", gold={"t1": "yes"})


def test_known_labels_of_other_items_or_classes_are_refused() -> None:
    with pytest.raises(DataError, match="No item with a known label was judged"):
        run(toy(), "dawid-skene", gold={"t9": "yes"})
    with pytest.raises(DataError, match="item 't1' is 'maybe', which is no class here"):
        run(toy(), "dawid-skene", gold={"t1": "maybe"})
    with pytest.raises(DataError, match="'gold' is for 'wawa'"):
        run(toy(), "majority", gold={"t1": "yes"})


# --- weights ----------------------------------------------------------------------------------


def test_majority_by_weights_is_the_published_one() -> None:
    skills = {"parrot": 1 / 3, "careless": 2 / 3}

    result = run(simple(), "majority", weights=skills)
    frauded = run(simple(), "majority", weights={"parrot": 1_000_000})

    truth = {item: WORDS[said] for item, said in SIMPLE_TRUTH.items()}
    assert tops(result) == truth
    assert result.quality is not None
    assert np.isclose(result.quality["parrot"], 1 / 3)
    assert np.isclose(result.quality["careless"], 2 / 3)
    assert {
        tops(frauded)[str(item)] for item, said in enumerate(SIMPLE["parrot"]) if said == "p"
    } == {"parrot"}


WEIGHTED = [
    name
    for name, known in AGGREGATORS.items()
    if "weights" in known.given and not known.needs_scale and "and pred" not in known.reads
]


@pytest.mark.parametrize("name", WEIGHTED)
@settings(max_examples=8)
@given(seed=st.integers(0, 1000), who=st.integers(0, 3))
def test_a_weight_of_two_is_every_vote_twice(name: str, seed: int, who: int) -> None:
    rng = np.random.default_rng(seed)
    item, annotator = np.divmod(np.arange(24), 4)
    label = np.where(rng.random(24) < 0.7, item % 3, rng.integers(3, size=24))
    columns = np.array([item, annotator, label])
    again = np.concatenate([columns, columns[:, annotator == who]], axis=1)
    one_start = {"restarts": 1} if name == "mace" else {}

    weighted = run(votes_of_columns(*columns), name, weights={str(who): 2}, **one_start)
    doubled = run(votes_of_columns(*again), name, **one_start)

    assert np.allclose(weighted.labels.probs, doubled.labels.probs, rtol=0, atol=1e-6)
    assert np.allclose(weighted.trace, doubled.trace, rtol=1e-9)


def test_weights_of_strangers_and_below_zero_are_refused() -> None:
    with pytest.raises(DataError, match="A weight is given for 'w9', who judged nothing"):
        run(toy(), "one-coin", weights={"w9": 1.0})
    with pytest.raises(DataError, match="weight of 'w1' is 0; it must be a number above zero"):
        run(toy(), "one-coin", weights={"w1": 0})


# --- confusions where they are needed ---------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gold": GOLD_SIMPLE, "weights": {"good1": 3.0}},
        {"initial_confusions": {"parrot": {"goose": {"chicken": 2.0, "parrot": 5.0}}}},
        {
            "initial": "assign",
            "initial_confusions": {
                who: {
                    true: {said: 1.0 + (said == true) for said in ("chicken", "goose", "parrot")}
                    for true in ("chicken", "goose", "parrot")
                }
                for who in SIMPLE
            },
        },
    ],
    ids=["plain", "gold and weights", "add", "assign"],
)
def test_sparse_confusions_give_the_same_numbers(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for iterations in (1, 2, 20):
        limits = {"iterations": iterations, "tolerance": -np.inf}
        monkeypatch.setattr(dawid_skene, "DENSE", 10**9)
        full = run(simple(), "dawid-skene", **options, **limits)
        monkeypatch.setattr(dawid_skene, "DENSE", 0)
        monkeypatch.setattr(dawid_skene, "BLOCK", 9)  # three items at a time
        sparse = run(simple(), "dawid-skene", **options, **limits)

        assert np.allclose(full.labels.probs, sparse.labels.probs, rtol=0, atol=1e-9)
        assert np.allclose(full.trace, sparse.trace, rtol=1e-10)
        for who in SIMPLE:
            assert np.allclose(full.confusion_of(who), sparse.confusion_of(who), atol=1e-9)


@settings(max_examples=15)
@given(seed=st.integers(0, 1000))
def test_sparse_confusions_give_the_same_numbers_for_many_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    item, annotator = np.divmod(np.arange(160), 4)
    label = np.where(rng.random(160) < 0.6, item % 12, rng.integers(12, size=160))
    votes = votes_of_columns(item, annotator, label)
    found = []

    for limit in (10**9, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dawid_skene, "DENSE", limit)
            found.append(run(votes, "dawid-skene-next", annotator="2"))

    assert np.allclose(found[0].trace, found[1].trace, rtol=1e-9)
    assert np.allclose(found[0].labels.probs, found[1].labels.probs, rtol=0, atol=1e-6)


def test_all_confusions_at_once_are_refused_where_they_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sfumato.labels.aggregate.result.MOST_CONFUSIONS", 10)
    result = run(toy(), "dawid-skene")

    assert result.confusion_of("w1").shape == (2, 2)
    with pytest.raises(DataError, match=r"5 annotators over 2 classes .* ask for one"):
        _ = result.confusion
    with pytest.raises(DataError, match="No annotator is called 'w9'"):
        result.confusion_of("w9")
    with pytest.raises(DataError, match="estimates no confusion matrices"):
        run(toy(), "majority").confusion_of("w1")


# --- files ------------------------------------------------------------------------------------


def test_files_and_tables_are_read(tmp_path: Path) -> None:
    path = tmp_path / "given.csv"

    path.write_text("task;label\n1;cat\n2;dog\n1;cat\n")
    assert read_gold(path) == {"1": "cat", "2": "dog"}
    path.write_text("worker,skill\nann,0.5\nbob,2\n")
    assert read_weights(path) == {"ann": 0.5, "bob": 2}
    path.write_text("annotator,true,said,count\nann,cat,dog,3\nann,cat,cat,4\n")
    assert read_confusions(path) == {"ann": {"cat": {"dog": 3, "cat": 4}}}


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_gold, "item,truth\na,cat\na,dog\n", "row 2: item 'a' is 'dog' here and 'cat'"),
        (read_gold, "item,truth\na,\n", "row 1: column 'truth' is empty"),
        (read_gold, "item,guess\na,cat\n", "needs a column 'truth' or 'label' or 'class'"),
        (read_weights, "annotator,weight\nann,much\n", "row 1, column 'weight': 'much' is no numb"),
        (read_weights, "annotator,weight\nann,1\nann,2\n", "row 2: 'ann' has a weight already"),
        (
            read_confusions,
            "annotator,true,said,count\nann,cat,dog,3\nann,cat,dog,4\n",
            "row 2: how often 'ann' says 'dog' of 'cat'",
        ),
    ],
)
def test_files_that_contradict_themselves_are_refused(
    read: Any, text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "given.csv"
    path.write_text(text)

    with pytest.raises(DataError, match=message):
        read(path)


def test_the_front_door_takes_what_is_known(tmp_path: Path) -> None:
    votes = toy()
    rows = [
        {"item": votes.items[i], "annotator": votes.annotators[w], "label": votes.classes[c]}
        for i, w, c in zip(votes.item, votes.annotator, votes.label, strict=True)
    ]
    path = tmp_path / "truth.csv"
    path.write_text("item,truth\nt4,no\n")

    by_label = label(rows, aggregate="one-coin", gold=path, weights={"w1": 2})
    by_name = aggregate_answers(rows, "one-coin", gold={"t4": "no"}, weights={"w1": 2})
    option = label(rows, aggregate="majority", options={"ties": "first"})

    assert by_label["t4"] == {"no": 1.0, "yes": 0.0}
    assert by_label.probs.tolist() == by_name.probs.tolist()
    assert option["t1"] == {"no": 1.0, "yes": 0.0}
