"""Scores and differences of a study, from beliefs made so that the numbers are known."""

import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import spearmanr
from tests.studies.measures.made import (
    CLASSES,
    LEARNT,
    data_of,
    failed,
    found_by,
    only,
    study,
    surprised,
    trained,
)

from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.mixing import Augmenting
from sfumato.provenance import Step
from sfumato.studies.data import (
    Predictions,
    StudyData,
    TestSet,
    TrainingRun,
    keep_best_seeds,
    pairs,
)
from sfumato.studies.measures.trained import (
    ATTACKED,
    CORRUPTED,
    POSSIBLE,
    TOP,
    arms,
    history,
    references,
    reliability,
    scores,
    tracking,
    tracking_table,
)
from sfumato.studies.study import study_from


def test_score_is_the_mean_over_seeds_with_students_interval() -> None:
    found = found_by(
        scores, *(trained("soft", seed, nats, nats) for seed, nats in enumerate((4, 5, 6)))
    )

    one = only(found, arm="soft")

    reach = stats.t.ppf(0.975, 2) / np.sqrt(3)
    assert one.value == pytest.approx(5, abs=1e-6)
    assert (one.low, one.high) == pytest.approx((5 - reach, 5 + reach), abs=1e-6)
    assert (one.seeds, one.items, one.over) == ((0, 1, 2), 2, "seeds")
    assert (one.part, one.network, one.against) == ("test", "lenet", "people")
    assert only(found, arm="soft", metric="accuracy").value == 0  # e⁻¹ is below one half


def test_difference_is_paired_by_seed_and_tested_as_scipy_does() -> None:
    soft, hard = (1, 2, 3), (1, 1, 2.5)
    found = found_by(
        scores,
        *(trained("hard", seed, nats, nats) for seed, nats in enumerate(hard)),
        *(trained("soft", seed, nats, nats) for seed, nats in enumerate(soft)),
    )

    one = only(found, arm="soft", second="hard")

    expected = stats.ttest_rel(soft, hard)
    interval = expected.confidence_interval()
    assert one.value == pytest.approx(0.5, abs=1e-6)
    assert (one.low, one.high) == pytest.approx((interval.low, interval.high), abs=1e-5)
    assert one.p == pytest.approx(expected.pvalue, abs=1e-6)
    assert one.test == "paired t"
    kept = {(each.arm, each.second) for each in found.estimates if each.second}
    assert kept == {("soft", "hard")}  # one of the two ways


def test_folds_of_a_seed_are_averaged_and_count_as_one_value() -> None:
    found = found_by(
        scores,
        trained("soft", 0, 1, 1, fold=0),
        trained("soft", 0, 2, 2, fold=1),
        trained("soft", 1, 2, 4, fold=0),
        trained("soft", 1, 4, 4, fold=1),
        folds=2,
    )

    one = only(found, arm="soft")

    assert one.value == pytest.approx((1.5 + 3.5) / 2, abs=1e-6)
    assert (one.seeds, one.items) == ((0, 1), 2)  # both folds were tested on the same two


def test_seed_that_lacks_a_fold_is_left_out() -> None:
    found = found_by(
        scores,
        trained("soft", 0, 1, 1, fold=0),
        trained("soft", 0, 2, 2, fold=1),
        trained("soft", 1, 9, 9, fold=0),
        failed(trained("soft", 1, 9, 9, fold=1)),
        folds=2,
    )

    one = only(found, arm="soft")

    assert one.value == pytest.approx(1.5, abs=1e-6)
    assert one.seeds == (0,)
    assert (one.low, one.high) == (None, None)  # a single seed says nothing about others


def test_difference_is_over_the_seeds_that_both_arms_have() -> None:
    found = found_by(
        scores,
        *(trained("hard", seed, nats, nats) for seed, nats in ((0, 1), (1, 2), (2, 5))),
        *(trained("soft", seed, nats, nats) for seed, nats in ((1, 1), (2, 3), (3, 9))),
    )

    one = only(found, arm="soft", second="hard")

    assert one.seeds == (1, 2)
    assert one.value == pytest.approx(((1 - 2) + (3 - 5)) / 2, abs=1e-6)


def test_arms_without_a_common_seed_have_no_difference() -> None:
    found = found_by(scores, trained("hard", 0, 1, 1), trained("soft", 1, 1, 1))

    assert not any(one.second for one in found.estimates)
    assert {one.arm for one in found.estimates} == {"hard", "soft"}


def test_controls_are_subtracted_from_other_arms_and_earlier_from_later_ones() -> None:
    runs = [trained(arm, 0, 1, 1) for arm in ("original", "majority", "soft")]

    found = found_by(scores, *runs, pairs="controls", controls=["original", "majority"])

    assert {(one.arm, one.second) for one in found.estimates if one.second} == {
        ("majority", "original"),
        ("soft", "original"),
        ("soft", "majority"),
    }


def test_attacked_images_are_told_by_their_attack() -> None:
    spoilt = {"test/fgsm/4": surprised(3, 5)}
    found = found_by(
        scores,
        trained("soft", 0, 1, 1, 1, beliefs=spoilt, tests=three()),
        fgsm=[4],
        attacked_items=2,
    )

    one = only(found, arm="soft", attack="fgsm")

    assert one.value == pytest.approx(4, abs=1e-6)
    assert (one.items, one.bound, one.step) == (2, 4.0, None)
    spoilt_by = {each.metric for each in found.estimates if each.attack == "fgsm"}
    assert spoilt_by == {"cross_entropy", "accuracy"}


def three() -> list[TestSet]:
    labels = LabelSet(("x", "y", "z"), CLASSES, np.eye(2)[[0, 0, 0]])
    return [TestSet("test", {"people": labels}, attacked="people")]


def test_every_step_of_pgd_is_told_and_step_0_is_the_same_items_before() -> None:
    steps = {f"test/pgd/4/{step}": surprised(step, 3 * step) for step in (1, 2)}
    found = found_by(
        scores,
        trained("soft", 0, 0.5, 1.5, 9, beliefs=steps, tests=three()),
        pgd=[4],
        pgd_iterations=2,
        attacked_items=2,
    )

    by_step = {
        one.step: one.value
        for one in found.estimates
        if one.attack == "pgd" and one.metric == "cross_entropy"
    }
    before = only(found, arm="soft", stratum=ATTACKED)

    assert by_step == pytest.approx({0: 1, 1: 2, 2: 4}, abs=1e-6)
    assert before.value == pytest.approx(1, abs=1e-6)
    assert before.items == 2


def test_corruptions_are_told_each_and_averaged() -> None:
    spoilt = {"test/contrast/3": surprised(2, 2), "test/pixelate/3": surprised(4, 4)}
    found = found_by(
        scores,
        trained("soft", 0, 1, 1, beliefs=spoilt),
        corruptions=["contrast", "pixelate"],
        attacked_items=2,
    )

    mean = only(found, arm="soft", stratum=CORRUPTED)

    assert mean.value == pytest.approx(3, abs=1e-6)
    assert (mean.items, mean.attack, mean.bound) == (2, "", None)
    assert only(found, arm="soft", attack="contrast").value == pytest.approx(2, abs=1e-6)
    assert only(found, arm="soft", attack="pixelate").bound == 3


def test_tests_that_are_not_attacked_have_no_such_numbers() -> None:
    tests = [TestSet("test", three()[0].labels)]

    found = found_by(scores, trained("soft", 0, 1, 1, 1, tests=tests), fgsm=[4])

    assert {(one.attack, one.stratum) for one in found.estimates} == {("", "all")}


def disputed(**others: LabelSet) -> list[TestSet]:
    """People agree on two items and differ about two; the first are cats."""
    rows = np.array([[1, 0], [1, 0], [0.9, 0.1], [0.6, 0.4]])
    people = LabelSet(tuple("wxyz"), CLASSES, rows)
    return [TestSet("test", {"people": people, **others})]


def test_items_on_which_people_agree_are_scored_apart() -> None:
    found = found_by(
        scores, *(trained("soft", seed, 1, 2, 0.1, 0.5, tests=disputed()) for seed in (0, 1))
    )

    assert only(found, arm="soft", stratum="unanimous").value == pytest.approx(1.5, abs=1e-6)
    rows = surprised(0.1, 0.5).astype(float)
    expected = -(np.array([[0.9, 0.1], [0.6, 0.4]]) * np.log(rows)).sum(axis=1).mean()
    one = only(found, arm="soft", stratum="disputed")
    assert one.value == pytest.approx(expected, abs=1e-6)
    assert one.items == 2


def test_hard_labels_are_divided_by_the_people_they_stand_beside() -> None:
    original = LabelSet(tuple("wxyz"), CLASSES, np.eye(2)[[0, 0, 0, 1]])
    tests = disputed(original=original)

    found = found_by(scores, trained("soft", 0, 1, 2, 0.1, 0.5, tests=tests))

    assert only(found, arm="soft", against="original", stratum="unanimous").value == pytest.approx(
        1.5, abs=1e-6
    )


def test_strata_of_the_study_are_the_ones_that_are_scored() -> None:
    run = trained("soft", 0, 1, 2, 0.1, 0.5, tests=disputed())

    every = {one.stratum for one in found_by(scores, run, strata=[]).estimates}
    few = {one.stratum for one in found_by(scores, run, strata=["most disputed"]).estimates}

    assert every == {
        "all", "unanimous", "disputed", "least disputed", "middle disputed", "most disputed"
    }  # fmt: skip
    assert few == {"all", "most disputed"}


def test_interval_over_items_too_is_that_of_the_study() -> None:
    runs = [trained("soft", seed, 1, 2 + seed, 0.1, 0.5, tests=disputed()) for seed in (0, 1)]

    found = found_by(scores, *runs, interval="seeds and items")
    alone = found_by(scores, runs[0], interval="seeds and items", draws=100)

    assert only(found, arm="soft").over == "seeds and items"
    assert only(alone, arm="soft").over == "items"


def test_failed_training_is_left_out_and_the_others_count() -> None:
    found = found_by(scores, trained("soft", 0, 1, 1), failed(trained("soft", 1, 1, 1)))

    assert only(found, arm="soft").seeds == (0,)


def test_numbers_of_simulated_people_are_marked() -> None:
    made_up = LEARNT.with_probs(LEARNT.probs, Step("made up", simulated=True))
    found = found_by(scores, trained("hard", 0, 1, 1), trained("soft", 0, 1, 1, labels=made_up))

    assert not only(found, arm="hard").simulated
    assert only(found, arm="soft").simulated
    assert only(found, arm="soft", second="hard").simulated


ARMS = ("soft", "hard", "vote", "smooth")


@given(
    controls=st.lists(st.sampled_from(ARMS), unique=True),
    arms=st.lists(st.sampled_from(ARMS), unique=True),
)
def test_every_two_arms_are_paired_once_and_controls_are_subtracted(
    controls: list[str], arms: list[str]
) -> None:
    made = {"name": "n", "title": "t", "arms": list(ARMS), "networks": ["lenet"]}
    paired = study_from({**made, "controls": controls, "pairs": "all"})

    found = pairs(paired, arms)
    few = pairs(paired.model_copy(update={"pairs": "controls"}), arms)

    assert sorted(map(sorted, found)) == sorted(map(sorted, combinations(arms, 2)))
    assert few == [pair for pair in found if set(pair) & set(controls)]
    assert all(first not in controls or second in controls for first, second in found)


def test_number_leads_to_the_files_of_its_predictions() -> None:
    found = found_by(scores, trained("soft", 0, 1, 1), trained("soft", 1, 1, 1))

    source = only(found, arm="soft").source

    assert "predictions/lenet/soft/seed-0 fold-0/test.parquet" in source
    assert "predictions/lenet/soft/seed-1 fold-0/test.parquet" in source


ITEMS = ("a", "b", "c", "d")
PEOPLE = LabelSet(ITEMS, CLASSES, np.array([[0.5, 0.5], [1, 0], [0, 1], [0, 1]]))
ORIGINAL = LabelSet(ITEMS, CLASSES, np.eye(2)[[0, 0, 1, 1]])


def folds(*parts: tuple[str, ...]) -> list[TrainingRun]:
    return [
        trained(
            "soft", 0, *[1.0] * len(part), fold=fold,
            tests=[TestSet("test", {"people": PEOPLE.take(part), "original": ORIGINAL.take(part)})],
        )
        for fold, part in enumerate(parts)
    ]  # fmt: skip


def lines(*runs: TrainingRun, original: LabelSet = ORIGINAL) -> dict[tuple[str, str], float]:
    labels = {"people": PEOPLE, "original": original}
    found = found_by(references, *runs, labels=labels, draws=100)
    return {(one.against, one.metric): one.value for one in found.estimates if one.stratum == "all"}


def test_lines_are_the_floor_and_the_class_oracle_over_all_folds() -> None:
    against = lines(*folds(ITEMS[:2], ITEMS[2:]))

    # cats are half unsure: class mean (3/4, 1/4)
    oracle = (-0.5 * math.log(3 / 4) - 0.5 * math.log(1 / 4) - math.log(3 / 4)) / 4
    assert against == pytest.approx(
        {("people", "entropy_floor"): math.log(2) / 4, ("people", "class_oracle"): oracle}
    )


def test_hard_labels_have_no_lines() -> None:
    assert {against for against, _ in lines(*folds(ITEMS))} == {"people"}


def test_oracle_needs_the_class_of_every_item() -> None:
    found = lines(*folds(ITEMS), original=ORIGINAL.take(ITEMS[:3]))

    assert set(found) == {("people", "entropy_floor")}


def test_labels_learnt_are_told_with_their_distances() -> None:
    half = LabelSet(("a", "b"), CLASSES, np.array([[0.5, 0.5], [0, 1]]))
    learnt = {"people": half.take(("b", "a")), "original": LEARNT}

    found = found_by(
        arms, trained("hard", 0, 1, 1), trained("soft", 0, 1, 1, labels=half), labels=learnt
    )

    def number(arm: str, metric: str) -> float:
        return only(found, arm=arm, metric=metric).value

    assert number("hard", "label_entropy") == 0
    assert number("soft", "label_entropy") == pytest.approx(np.log(2) / 2)
    assert number("soft", "distance_to_control") == pytest.approx(0.25)
    assert number("hard", "distance_to_people") == pytest.approx(0.25)
    assert number("hard", "mode_is_original") == 1
    assert number("soft", "items_learnt") == 2
    rows = {row["arm"]: row for row in found.tables["arms"].iter_rows(named=True)}
    assert rows["soft"]["what"] == "people's distribution"
    assert rows["soft"]["label_entropy"] == pytest.approx(np.log(2) / 2)


def test_arms_that_add_mixes_tell_how_many_and_how_undecided() -> None:
    mixes = LabelSet(("m", "n"), CLASSES, np.array([[0.5, 0.5], [1, 0]]))
    added = Augmenting(Examples(("m", "n"), np.zeros((2, 2, 2, 1), np.uint8)), mixes)

    found = found_by(arms, trained("hard", 0, 1, 1), trained("soft", 0, 1, 1, augmenting=added))

    assert only(found, arm="soft", metric="mixes").value == 2
    assert only(found, arm="soft", metric="mixes_entropy").value == pytest.approx(np.log(2) / 2)
    assert not [one for one in found.estimates if (one.arm, one.metric) == ("hard", "mixes")]


def test_history_has_a_row_per_epoch_of_every_training_that_ended() -> None:
    found = found_by(history, trained("soft", 0, 1, 1), failed(trained("soft", 1, 1, 1)))

    assert found.tables["history"].rows(named=True) == [
        {"arm": "soft", "network": "lenet", "seed": 0, "fold": 0, "epoch": 1, "loss": 0.5}
    ]


def test_reliability_pools_the_predictions_of_all_seeds() -> None:
    found = found_by(reliability, *(trained("soft", seed, 0.1, 2) for seed in range(3)))

    table = found.tables["reliability"]

    assert table["items"].sum() == 6
    assert set(table["arm"]) == {"soft"}


TOP_TWO = ["cat", "dog", "fox", "ship"]


def answer(first: int, second: int, ruled_out: str) -> str:
    return (
        f'{{"first": "cat", "first_percent": {first}, "second": "dog", '
        f'"second_percent": {second}, "ruled_out": [{ruled_out}]}}'
    )


def answers(count: int = 2) -> Judgments:
    sure, torn = answer(90, 5, '"fox", "ship"'), answer(50, 40, "")
    rows = [
        {"item": item, "annotator": who, "answer": said}
        for item, first in zip(
            "ba" if count == 2 else map(str, range(count)), (sure, torn) * 50, strict=False
        )
        for who, said in (("ann", first), ("bob", sure))
    ]
    return Judgments(ask("top-two", TOP_TWO), pl.DataFrame(rows))


def test_row_of_an_item_holds_what_was_said_of_it() -> None:
    votes = LabelSet(("b", "a"), tuple(TOP_TWO), np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0]]))
    said = answers()
    labels = build(said, "top2-clamp").crowd.mean()

    rows = {row["item"]: row for row in tracking_table(said, labels, votes).to_dicts()}

    assert rows["b"]["possible_labels"] == 2  # two of four are ruled out, by both
    assert rows["a"]["possible_labels"] == 3  # four and two
    assert rows["b"]["top_probability"] > rows["a"]["top_probability"]
    assert (rows["b"]["reference_entropy"], rows["a"]["reference_entropy"]) == pytest.approx(
        (0, np.log(2))
    )


def test_rank_correlations_are_those_of_scipy() -> None:
    said = answers(60)
    rng = np.random.default_rng(3)
    votes = LabelSet(tuple(map(str, range(60))), tuple(TOP_TWO), rng.dirichlet(np.ones(4), 60))
    run = trained("soft", 0, 1, 1)
    data = StudyData(study(run, recipe="top2-clamp"), labels={"people": votes}, judgments=said)

    found = tracking(data, Predictions((run,)))

    table = found.tables["tracking"]
    for name, column in ((TOP, "top_probability"), (POSSIBLE, "possible_labels")):
        one = only(found, arm=name, second="reference entropy", metric="rank_correlation")
        expected = spearmanr(table[column], table["reference_entropy"]).statistic
        assert one.value == pytest.approx(expected)
        assert one.low < one.value < one.high  # type: ignore[operator]
        assert (one.items, one.over, one.against) == (60, "items", "people")


def test_without_judgments_nothing_is_tracked() -> None:
    run = trained("soft", 0, 1, 1)

    found = tracking(data_of(run), Predictions((run,)))

    assert not found.estimates
    assert not found.tables


def test_the_best_seed_of_a_network_is_kept_for_all_arms() -> None:
    runs = (
        trained("hard", 0, 0.1, 0.3), trained("soft", 0, 0.9, 0.9),
        trained("hard", 1, 0.3, 0.3), trained("soft", 1, 0.2, 0.2),
        failed(trained("hard", 2, 0.0, 0.0)), trained("soft", 2, 0.0, 0.0),
    )  # fmt: skip
    one = study(*runs, seeds=3)

    kept = keep_best_seeds(StudyData(one), Predictions(runs))

    # seed 0 has the best arm and seed 2 lost one; over both arms seed 1 is the best
    assert [(run.key.arm, run.key.seed) for run in kept.runs] == [("hard", 1), ("soft", 1)]
