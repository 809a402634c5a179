"""The laws of worth: what must hold whatever people and judges said."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.worth import Worth, worth
from sfumato.labels.worth.result import BEST, NOBODY, TOGETHER
from sfumato.labels.worth.scale import fall, people_for

Said = NDArray[np.int64]  # (people, items)


def make_people(
    rng: np.random.Generator, *, people: int = 6, items: int = 300, classes: int = 3
) -> Said:
    """People who often see what there is, and now and then something else."""
    truth = rng.integers(classes, size=items)
    wrong = rng.random((people, items)) < rng.uniform(0.1, 0.45, size=items)
    return np.where(wrong, rng.integers(classes, size=(people, items)), truth)


def as_crowd(said: Said, *, named: bool = True) -> CrowdLabels:
    people, items = said.shape
    who, item = np.indices(said.shape)
    names = [f"p{place}" for place in range(people)]
    return CrowdLabels(
        [f"i{place:04}" for place in range(items)],
        names if named else [],
        [f"c{place}" for place in range(int(said.max()) + 1)],
        item.ravel(),
        who.ravel() if named else np.full(said.size, -1),
        said=said.ravel(),
    )


def as_answers(codes: NDArray[np.int64], words: str = "abcdefgh") -> dict[str, str]:
    return {f"i{place:04}": words[code] for place, code in enumerate(codes)}


def of(found: Worth, judge: str, people: int = 0) -> Mapping[str, Any]:
    table = found.table
    (row,) = table.filter(
        (table["judge"] == judge) & (table["people"] == people) & (table["stratum"] == "all")
    ).to_dicts()
    return row


def redraw(said: Said, rng: np.random.Generator, count: int = 1) -> tuple[Said, Said]:
    """People without those who are drawn anew for each item, and the latter."""
    order = np.argsort(rng.random(said.shape), axis=0)
    mixed = np.take_along_axis(said, order, axis=0)
    return mixed[count:], mixed[:count]


def test_a_person_redrawn_for_each_item_is_worth_one() -> None:
    worths = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rest, (judge,) = redraw(make_people(rng), rng)
        found = worth(as_crowd(rest, named=False), {"j": as_answers(judge)}, most=2, resamples=200)
        row = of(found, "j")
        worths.append(row["worth"])
        assert row["low"] <= 1

    assert 0.9 < np.median(worths) < 1.1


def test_two_such_people_as_two_judges_are_worth_two() -> None:
    worths = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rest, judges = redraw(make_people(rng, people=8, items=400), rng, 2)
        given = {f"j{place}": as_answers(judge) for place, judge in enumerate(judges)}
        found = worth(as_crowd(rest, named=False), given, most=3, resamples=20)
        worths.append(of(found, TOGETHER)["worth"])

    assert found.scale == 3
    assert 1.8 < np.median(worths) < 2.2


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000), classes=st.integers(2, 4))
def test_a_constant_judge_is_worth_nothing_and_a_shuffled_one_next_to_nothing(
    seed: int, classes: int
) -> None:
    rng = np.random.default_rng(seed)
    said = make_people(rng, classes=classes)
    judges = {
        "constant": as_answers(np.zeros(said.shape[1], dtype=np.int64)),
        "shuffled": as_answers(rng.permutation(said[0])),
    }

    found = worth(as_crowd(said), judges, most=2, resamples=20)

    assert of(found, "constant")["worth"] == 0
    assert of(found, "constant")["excess"] == pytest.approx(0, abs=1e-6)
    assert of(found, "shuffled")["worth"] < 0.05


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_renaming_the_order_of_rows_and_a_second_copy_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    said = make_people(rng, people=4, items=150)
    crowd, judge = as_crowd(said), np.where(rng.random(150) < 0.3, 0, said[1])
    shuffled = rng.permutation(len(crowd))
    moved = CrowdLabels(
        crowd.items, crowd.annotators, crowd.classes,
        crowd.item[shuffled], crowd.annotator[shuffled], said=crowd.said[shuffled],
    )  # fmt: skip
    first = as_answers(judge)
    second = dict(sorted(as_answers(judge, "zyxw").items(), key=lambda pair: pair[0], reverse=True))

    one = worth(crowd, {"j": first}, most=2, resamples=50, seed=seed)
    other = worth(moved, {"j": second}, most=2, resamples=50, seed=seed)
    both = worth(moved, {"j": second, "k": first}, most=2, resamples=50, seed=seed)

    for found, name in ((other, "j"), (both, "j"), (both, "k"), (both, TOGETHER), (both, BEST)):
        for people in (0, 1):
            for number in ("worth", "log_loss"):
                assert of(found, name, people)[number] == pytest.approx(
                    of(one, "j", people)[number], abs=1e-3
                )
    assert of(other, "j")["low"] == pytest.approx(of(one, "j")["low"], abs=1e-3)


def test_random_answers_do_not_raise_a_worth() -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rest, (judge,) = redraw(make_people(rng), rng)
        spoilt = np.where(rng.random(len(judge)) < 0.3, rng.integers(3, size=len(judge)), judge)
        given = {"spoilt": as_answers(spoilt), "whole": as_answers(judge)}

        found = worth(as_crowd(rest), given, most=2, resamples=200)

        (change,) = found.estimates.differences.filter(metric="worth")
        assert (change.arm, change.second) == ("spoilt", "whole")
        assert change.low is not None
        assert change.low <= 0
        assert change.value < 0


def test_beside_a_person_a_judge_is_worth_more_than_either() -> None:
    rng = np.random.default_rng(5)
    rest, (judge,) = redraw(make_people(rng, items=600), rng)

    found = worth(as_crowd(rest), {"j": as_answers(judge)}, resamples=50)

    both = of(found, "j", 1)["log_loss"]
    assert both < of(found, "j")["log_loss"]
    assert both < of(found, NOBODY, 1)["log_loss"]
    assert 1.8 < of(found, "j", 1)["worth"] < 2.2


def test_a_distribution_that_is_certain_is_an_answer() -> None:
    rng = np.random.default_rng(0)
    said = make_people(rng, people=4)
    judge = said[0]
    items = tuple(as_answers(judge))
    hard = worth(as_crowd(said), {"j": as_answers(judge)}, resamples=20)

    soft = worth(
        as_crowd(said), {"j": LabelSet(items, ("x", "y", "z"), np.eye(3)[judge])}, resamples=20
    )

    assert of(soft, "j") == of(hard, "j")


def test_a_distribution_tells_more_than_its_first_choice() -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.full(3, 0.5), size=500)
    said = np.stack(
        [(probs.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1) for _ in range(5)]
    )
    items = tuple(as_answers(said[0]))
    judges = {
        "soft": LabelSet(items, ("c0", "c1", "c2"), probs),
        "hard": as_answers(probs.argmax(axis=1)),
    }

    found = worth(as_crowd(said, named=False), judges, resamples=20)

    assert of(found, "soft")["log_loss"] < of(found, "hard")["log_loss"] - 0.05
    assert of(found, "soft")["capped"]
    stated = found.usual.filter(found.usual["judge"] == "soft")["as_stated"][0]
    assert of(found, "soft")["log_loss"] == pytest.approx(stated, abs=0.03)


def test_people_who_do_not_predict_one_another_give_no_scale() -> None:
    rng = np.random.default_rng(0)
    said = rng.integers(3, size=(4, 100))

    found = worth(as_crowd(said), {"j": as_answers(said[0])}, resamples=200)

    assert of(found, "j")["worth"] is None
    assert any("do not predict one another" in remark for remark in found.remarks)


def test_silence_of_a_judge_is_an_answer_of_its_own() -> None:
    rng = np.random.default_rng(0)
    said = make_people(rng, items=400)
    partly = {item: one for item, one in as_answers(said[0]).items() if item < "i0200"}

    found = worth(as_crowd(said[1:]), {"j": partly, "whole": as_answers(said[0])}, resamples=20)

    assert 0.2 < of(found, "j")["worth"] < of(found, "whole")["worth"]
    assert "j says nothing about 200 items of 400" in " ".join(found.remarks)


def test_strata_and_groups_are_views_of_the_same_losses() -> None:
    rng = np.random.default_rng(3)
    said = make_people(rng, items=300)
    judge = said[0].copy()
    judge[150:] = rng.integers(3, size=150)
    strata = {item: "known" if item < "i0150" else "guessed" for item in as_answers(judge)}
    groups = {f"p{place}": "first" if place < 2 else "rest" for place in range(5)}

    found = worth(
        as_crowd(said[1:]),
        {"j": as_answers(judge)},
        strata=strata,
        groups=groups,
        most=2,
        resamples=50,
    )

    rows = {
        row["stratum"]: row
        for row in found.table.to_dicts()
        if row["judge"] == "j" and not row["people"]
    }
    assert rows["guessed"]["worth"] < 0.2 < 0.6 < rows["known"]["worth"]
    assert (rows["guessed"]["items"], rows["all"]["items"]) == (150, 300)
    assert {"first", "rest"} < set(rows)


def test_items_about_which_judges_disagree_need_a_person() -> None:
    rng = np.random.default_rng(0)
    said = make_people(rng, people=6, items=500)
    rest, judges = redraw(said, rng, 2)
    given = {f"j{place}": as_answers(judge) for place, judge in enumerate(judges)}
    given["j0"]["new"] = "a"
    given["j1"]["new"] = "b"

    needs = worth(as_crowd(rest), given, resamples=20).needs

    gain = dict(zip(needs["item"], needs["gain"], strict=True))
    apart = [f"i{place:04}" for place in np.flatnonzero(judges[0] != judges[1])]
    same = [f"i{place:04}" for place in np.flatnonzero(judges[0] == judges[1])]
    assert min(gain[item] for item in apart) > max(gain[item] for item in same)
    assert gain["new"] > 0
    assert needs["gain"].is_sorted(descending=True)


def test_a_mix_costs_what_its_people_cost() -> None:
    rng = np.random.default_rng(0)
    rest, (judge,) = redraw(make_people(rng, items=800), rng)

    costs = worth(as_crowd(rest), {"j": as_answers(judge)}, resamples=20).cost(
        2, person=0.5, judge=0.1
    )

    people, with_judge = costs.to_dicts()
    assert people == {"judge": NOBODY, "people": 2, "price": 1}
    assert with_judge["people"] == pytest.approx(1, abs=0.2)
    assert with_judge["price"] == pytest.approx(0.1 + 0.5 * with_judge["people"])


def test_a_mix_costs_less_where_the_judge_is_good() -> None:
    rng = np.random.default_rng(0)
    rest, (judge,) = redraw(make_people(rng, items=800), rng)
    items = [f"i{place:04}" for place in range(800)]
    half = {item: "good" if place < 400 else "bad" for place, item in enumerate(items)}
    judge[400:] = rng.permutation(judge[400:])

    found = worth(as_crowd(rest), {"j": as_answers(judge)}, strata=half, resamples=20)

    asked = {name: found.cost(2, stratum=name)["people"].to_list() for name in ("good", "bad")}
    assert asked["good"][0] == asked["bad"][0] == 2
    assert asked["good"][1] < 1.6  # one table for both halves: a good judge loses by a bad one
    assert asked["bad"][1] is None or asked["bad"][1] > 1.9
    with pytest.raises(UnknownName, match="stratum or group"):
        found.cost(2, stratum="ugly")


def test_people_named_one_by_one_are_held_against_the_others() -> None:
    rng = np.random.default_rng(0)
    said = make_people(rng, people=9, items=400)
    said[5] = rng.integers(3, size=400)

    found = worth(as_crowd(said), each_person=True, most=2, resamples=100)

    worths = {row["judge"]: row["worth"] for row in found.judges.to_dicts()}
    assert worths["p5"] < 0.05
    assert all(
        worths[f"p{place}"] > 1 for place in (0, 1, 2, 3, 4, 6, 7, 8)
    )  # than one who may guess


def test_curves_fall_and_worth_is_linear_between_people() -> None:
    fallen = fall(np.array([1.0, 0.4, 0.6, 0.2]))
    assert fallen.tolist() == pytest.approx([1.0, 0.5, 0.5, 0.2])
    curve = np.array([1.0, 0.5, 0.5, 0.2])

    found = people_for(np.array([1.5, 1.0, 0.75, 0.5, 0.35, 0.2, 0.1]), curve)

    assert found.tolist() == pytest.approx([0, 0, 0.5, 1, 2.5, 3, np.inf])


def test_what_cannot_be_measured_is_said_in_a_sentence() -> None:
    said = make_people(np.random.default_rng(0), people=3, items=60)
    crowd = as_crowd(said)

    with pytest.raises(DataError, match="says nothing about any of the 60 items"):
        worth(crowd, {"j": {"elsewhere": "a"}})
    with pytest.raises(DataError, match="answers of two people or more"):
        worth(as_crowd(said[:1]))
    with pytest.raises(DataError, match="No judge can be called 'best judge'"):
        worth(crowd, {"best judge": as_answers(said[0])})
    with pytest.raises(DataError, match="Judge 'j' is a int"):
        worth(crowd, {"j": 3})
    with pytest.raises(DataError, match="scale goes from 0 to 2"):
        worth(crowd, resamples=20).cost(3)
    with pytest.raises(DataError, match="at least 10"):
        worth(as_crowd(said[:, :8]))
    with pytest.raises(DataError, match="one class each"):
        worth(CrowdLabels(("a",), ("p",), ("x", "y"), [0], [0], [[0.5, 0.5]]))


def test_every_number_is_plain_json() -> None:
    said = make_people(np.random.default_rng(0), people=4, items=80)

    found = worth(as_crowd(said), {"j": as_answers(said[0])}, resamples=50).to_dict()

    told = json.loads(json.dumps(found, allow_nan=False))
    assert {"judge", "worth", "low", "high", "log_loss", "capped"} <= set(told["judges"][0])
    losses = [row["log_loss"] for row in told["people"]]
    assert losses == sorted(losses, reverse=True)
