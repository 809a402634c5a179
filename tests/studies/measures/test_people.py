"""Few votes, sets and statements: what the measures give on answers that are known."""

from pathlib import Path

import numpy as np
import pytest

from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet
from sfumato.scores import Estimates
from sfumato.studies.claims import judge, read_claims
from sfumato.studies.data import JudgedSet, Predictions, StudyData
from sfumato.studies.judge_sources import LOADERS
from sfumato.studies.measures.people import (
    READINGS,
    SHRUNK,
    STATEMENTS,
    WITH_MODEL,
    cover_people,
    divergences,
    few_votes,
    forms_worth,
    statement_pools,
)
from sfumato.studies.pages import LEADS
from sfumato.studies.study import read_study

CLASSES = ("a", "b", "c")


def crowd(items: int, votes: int, seed: int = 0) -> tuple[CrowdLabels, LabelSet]:
    """Simulated votes of named people, and the shares they were drawn from."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([0.4] * 3, items)
    said = np.array([rng.choice(3, votes, p=row) for row in shares])
    item, who = np.indices(said.shape)
    names = tuple(f"{at:03}" for at in range(items))
    people = tuple(f"p{at}" for at in range(votes))
    found = CrowdLabels(names, people, CLASSES, item.ravel(), who.ravel(), said=said.ravel())
    return found, LabelSet(names, CLASSES, shares)


def test_the_shares_that_votes_were_drawn_from_are_the_best_prior() -> None:
    people, truth = crowd(300, 20)

    found = divergences(people, truth, draws=2, rng=np.random.default_rng(0))

    assert {votes for _, votes in found} == {1, 2, 3, 5, 10}
    mean = {way: values.mean() for (way, votes), values in found.items() if votes == 3}
    assert mean[WITH_MODEL] < mean[SHRUNK] < mean["vote-shares"] < mean["majority"]
    assert found["informed", 10].mean() < found["informed", 1].mean()


def test_votes_of_nobody_in_particular_leave_models_of_people_out() -> None:
    people, _ = crowd(100, 10)
    nobody = CrowdLabels(
        people.items, (), CLASSES, people.item, np.full(len(people), NOT_RECORDED), said=people.said
    )

    found = divergences(nobody, None, draws=1, rng=np.random.default_rng(0))

    assert {way for way, _ in found} == {"vote-shares", SHRUNK, "informed", "majority"}


def test_estimates_have_differences_to_what_claims_name() -> None:
    people, truth = crowd(120, 12)
    study = read_study("few-votes", changes={"draws": 100, "seeds": 1})
    data = StudyData(study, judged={"made up": JudgedSet(people, {"truth": truth})})

    rows = few_votes(data, Predictions()).estimates

    apart = {(row.arm, row.second) for row in rows if row.second}
    assert {("vote-shares", "majority"), (WITH_MODEL, SHRUNK)} <= apart
    assert all(row.source and row.step for row in rows)


def test_sets_of_the_true_shares_cover_people() -> None:
    people, truth = crowd(400, 10)
    hard = LabelSet(people.items, CLASSES, np.eye(3)[truth.probs.argmax(axis=1)])
    study = read_study("cover-people", changes={"draws": 100})
    judged = {"made up": JudgedSet(people, {"truth": truth, "hard": hard})}

    rows = cover_people(StudyData(study, judged=judged), Predictions()).estimates

    (found,) = (
        row for row in rows
        if row.metric == "people_coverage" and row.stratum == "all" and row.arm[0] == "p"
    )  # fmt: skip
    assert (found.part, found.network) == ("made up", "truth")  # hard labels make no sets
    assert found.value == pytest.approx(0.9, abs=0.02)


def too_sure(items: int = 200, people: int = 6) -> tuple[CrowdLabels, CrowdLabels]:
    """Simulated clicks, and statements of people who put all on what they would click."""
    clicks, shares = crowd(items, 20)
    rng = np.random.default_rng(1)
    said = np.array([rng.choice(3, people, p=row) for row in shares.probs])
    item, who = np.indices(said.shape)
    names = tuple(f"s{at}" for at in range(people))
    sure = np.eye(3)[said.ravel()] * 0.98 + 0.01
    stated = CrowdLabels(
        clicks.items, names, CLASSES, item.ravel(), who.ravel(), sure / sure.sum(1, keepdims=True)
    )
    return clicks, stated


def test_people_who_are_too_sure_are_worth_more_once_recalibrated() -> None:
    clicks, stated = too_sure()
    study = read_study("forms-worth", changes={"draws": 100})
    judged = {"made up": JudgedSet(clicks, {"statements": stated}, most=3, seconds=30.0)}

    found = forms_worth(StudyData(study, judged=judged), Predictions())

    worth = {row.arm: row for row in found.estimates if row.metric == "worth"}
    raw, read, taught = (worth[f"1 statement, {reading}"].value for reading in READINGS)
    assert raw < 0.7 < read < 1.3
    assert 0.8 < taught < 1.2  # a click by another name
    (price,) = (
        row for row in found.estimates
        if row.metric == "seconds_per_worth" and row.arm == "1 statement, recalibrated"
    )  # fmt: skip
    assert price.value == pytest.approx(30 / read)


def test_pools_are_distributions_over_the_callers_classes() -> None:
    clicks, stated = too_sure(50)

    pools = statement_pools(stated, clicks.items, rng=np.random.default_rng(0))

    assert set(pools) == {(many, reading) for many in STATEMENTS for reading in READINGS}
    for rows in pools.values():
        assert rows.shape == (10, 50, 3)
        assert np.allclose(rows.sum(axis=2), 1)


@pytest.mark.parametrize("name", ["few-votes", "cover-people", "forms-worth"])
def test_every_set_is_there_and_every_claim_can_be_looked_up(name: str, data_folder: Path) -> None:
    for _, load in LOADERS[name]():
        assert len(load(data_folder).people)
    assert name.replace("-", "_") in LEADS
    claims = read_claims(name)
    assert {one.kind for one in claims} == {"claim", "control"}
    assert all(one.found == () for one in judge(claims, Estimates.of([]).table))
