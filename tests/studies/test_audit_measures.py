"""Measures of paper 5 on planted data: what they find is known, whatever trained before."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, spearmanr, ttest_1samp
from statsmodels.stats.proportion import confint_proportions_2indep

from sfumato.data import ImageSet
from sfumato.evaluation.cartography import data_map, steadiness
from sfumato.labels.alter import majority_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet, hard_labels
from sfumato.labels.signals import strata_of
from sfumato.learn.folds import Split
from sfumato.learn.sweep import FailedCell, FinishedCell
from sfumato.provenance import Step
from sfumato.scores import Estimate, Estimates
from sfumato.studies.data import (
    Findings,
    Predictions,
    StudyData,
    Target,
    TestSet,
    TrainingKey,
    TrainingRun,
    apart_row,
    join_findings,
    mean_row,
    share_row,
)
from sfumato.studies.measures import MEASURES as ALL_MEASURES
from sfumato.studies.measures.doubt import spread_between
from sfumato.studies.measures.dynamics import (
    EARLY,
    EARLY_EPOCHS,
    map_beliefs,
    map_rows,
    movement_findings,
    watched_runs,
)
from sfumato.studies.study import study_from

CLASSES = ("cat", "dog", "fox")
ITEMS = tuple(f"i{place:03}" for place in range(120))
TRAIN, CHOSEN, TEST = ITEMS[:60], ITEMS[60:70], ITEMS[70:]
ARMS = ("original", "majority", "soft")
EPOCHS = 12
MEASURES = {
    name: ALL_MEASURES[name]
    for name in (
        *("duplicates", "doubt", "correlations", "modes", "data_maps", "convergence"),
        *("entropies", "items_of_interest"),
    )
}
"""Those of paper 5."""

Floats = NDArray[np.float64]


class Kept(FinishedCell):
    """A finished cell whose arrays are at hand."""

    def __init__(self, arrays: Mapping[str, NDArray[np.floating]]) -> None:
        object.__setattr__(self, "kept", dict(arrays))
        object.__setattr__(self, "scores", {"history": []})
        object.__setattr__(self, "fingerprint", "0" * 8)

    def arrays(self) -> dict[str, NDArray[np.floating]]:
        return self.kept  # type: ignore[attr-defined]


def step(name: str) -> tuple[Step, ...]:
    return (Step("labels", {"file": f"labels/{name}.parquet"}),)


@pytest.fixture
def data() -> StudyData:
    """Every second item is disputed, every eighth item's mode is another class; 30 copies."""
    rng = np.random.default_rng(0)
    first = rng.integers(3, size=len(ITEMS))
    probs = np.eye(3)[first]
    probs[::8] = np.roll(probs[::8], 1, axis=1)
    probs[::2] = 0.7 * probs[::2] + 0.3 * np.roll(probs[::2], 1, axis=1)
    people = LabelSet(ITEMS, CLASSES, probs, np.full(len(ITEMS), 10.0), step("people"))
    original = replace(hard_labels(ITEMS, CLASSES, first), provenance=step("original"))
    images = rng.integers(256, size=(len(ITEMS), 8, 8, 1), dtype=np.uint8)
    images[70:100] = images[:30]  # tested items that were learnt
    study = study_from(
        {
            "name": "planted",
            "title": "Planted",
            "data": "own",
            "arms": list(ARMS),
            "networks": ["lenet"],
            "seeds": 3,
            "draws": 100,
        }
    )
    split = ("train",) * len(ITEMS)
    pictures = ImageSet(ITEMS, images, first, CLASSES, split)
    return StudyData(study, labels={"people": people, "original": original}, pictures=pictures)


def target(data: StudyData, arm: str) -> LabelSet:
    labels = {
        "original": data.original,
        "majority": majority_labels(data.people, "share"),
        "soft": data.people,
    }
    return labels[arm]


def believed(labels: LabelSet, rng: np.random.Generator, noise: float) -> Floats:
    return (1 - noise) * labels.probs + noise * rng.dirichlet(np.ones(3), len(labels))


@pytest.fixture
def predictions(data: StudyData) -> Predictions:
    """Networks that believe what they learnt, but for a little noise that fades over epochs."""
    return trained(data, [TEST] * 3)


@pytest.fixture
def each_its_own(data: StudyData) -> Predictions:
    """The same, but every seed is tested on items of its own, a few of which others share."""
    return trained(data, [TEST[:25], TEST[15:40], TEST[20:]])


def trained(data: StudyData, tested: Sequence[tuple[str, ...]]) -> Predictions:
    runs = []
    for seed, items in enumerate(tested):
        sets = {"people": data.people.take(items), "original": data.original.take(items)}
        tests = [TestSet("test", sets)]
        for arm in ARMS:
            rng = np.random.default_rng([seed, len(arm)])
            learnt = target(data, arm)
            watched = [
                believed(learnt.take(TRAIN), rng, 0.4 / epoch) for epoch in range(1, EPOCHS + 1)
            ]
            arrays: dict[str, NDArray[np.floating]] = {
                "test": believed(learnt.take(items), rng, 0.02).astype(np.float32),
                "watched": np.stack(watched).astype(np.float16),
            }
            runs.append(
                TrainingRun(
                    TrainingKey(arm, "lenet", seed),
                    Split(TRAIN, CHOSEN, items),
                    Target(learnt.take((*TRAIN, *CHOSEN))),
                    tests,
                    Kept(arrays),
                    f"predictions/lenet/{arm}/seed-{seed}",
                )
            )
    return Predictions(tuple(runs))


def without(predictions: Predictions, *keys: tuple[str, int]) -> Predictions:
    """The same predictions with some cells failed."""
    failed = [
        run.with_result(FailedCell(None, "", "out of memory"))  # type: ignore[arg-type]
        if (run.key.arm, run.key.seed) in keys
        else run
        for run in predictions.runs
    ]
    return Predictions(tuple(failed))


def only(found: Findings, metric: str, **wanted: str) -> Estimate:
    (one,) = Estimates.of(found.estimates).filter(metric=metric, **wanted)
    return one


def test_all_measures_together_have_a_source_for_every_number(
    data: StudyData, predictions: Predictions
) -> None:
    found = join_findings([measure(data, predictions) for measure in MEASURES.values()], "planted")

    estimates = Estimates.of(found.estimates)
    keys = [name for name in estimates.table.columns if name not in ("value", "low", "high", "p")]
    assert not estimates.table.select(keys).is_duplicated().any()
    for one in estimates:
        assert json.loads(one.source)
        assert one.low is None or one.high is None or one.low <= one.value <= one.high


def test_same_data_give_the_same_numbers(data: StudyData, predictions: Predictions) -> None:
    for name, measure in MEASURES.items():
        first, second = (Estimates.of(measure(data, predictions).estimates) for _ in range(2))
        assert first.table.equals(second.table), name


def test_tested_pictures_that_were_learnt_have_leaked(
    data: StudyData, predictions: Predictions
) -> None:
    found = MEASURES["duplicates"](data, predictions)

    assert only(found, "pictures", part="").value == 120
    assert only(found, "duplicated_pictures", stratum="exact").value == 60
    assert only(found, "leaked_pictures", part="test", against="train", stratum="all").value == 30
    assert only(found, "leaked_pictures", part="validation", stratum="all").value == 0
    share = only(found, "leaked_share", part="test", against="train")
    ends = binomtest(30, 50).proportion_ci(method="exact")
    assert (share.low, share.high) == pytest.approx((ends.low, ends.high))


def test_doubt_counts_strata_and_shifted_modes(data: StudyData, predictions: Predictions) -> None:
    found = MEASURES["doubt"](data, predictions)

    assert only(found, "items", stratum="disputed").value == 60
    assert only(found, "share_of_items", stratum="unanimous").value == 0.5
    assert only(found, "modes_differ", stratum="all").value == 15
    assert only(found, "mode_agreement").value == pytest.approx(105 / 120)
    entropy = -(0.7 * np.log(0.7) + 0.3 * np.log(0.3)) / 2
    assert only(found, "mean_entropy").value == pytest.approx(entropy)
    assert only(found, "entropy_share").value == pytest.approx(36 / 60)  # 30 % of 120, of 60
    assert found.tables["differs"]["item"].to_list() == list(ITEMS[::8])


def test_signals_that_never_change_are_not_correlated(
    data: StudyData, predictions: Predictions
) -> None:
    signals = {"seconds": np.arange(120.0), "constant": np.ones(120)}

    found = MEASURES["correlations"](replace(data, signals=signals), predictions)

    pairs = {(one.arm, one.against) for one in found.estimates}
    assert ("entropy of people", "seconds") in pairs
    assert not any("constant" in pair for pair in pairs)


def test_spread_between_people_is_the_mean_distance_to_their_mean(data: StudyData) -> None:
    crowd = CrowdLabels(
        ("a", "b"), ("p", "q"), CLASSES, np.array([0, 0, 1]), np.array([0, 1, 0]), np.eye(3)
    )

    assert spread_between(crowd, crowd.mean()).tolist() == [0.5, 0.0]


def test_gain_of_soft_labels_is_the_votes(data: StudyData, predictions: Predictions) -> None:
    found = MEASURES["modes"](data, predictions)

    shifted = sum(item in TEST for item in ITEMS[::8]) / len(TEST)
    steps = {
        stratum: only(found, "accuracy_gain", against="majority", stratum=stratum).value
        for stratum in ("in all", "by the vote", "by softness")
    }
    assert steps == {
        "in all": pytest.approx(shifted),
        "by the vote": pytest.approx(shifted),
        "by softness": pytest.approx(0),
    }
    whole = only(found, "accuracy_gain_by_vote", stratum="soft - original")
    rest = only(found, "accuracy_gain_by_vote", stratum="vote - softness")
    assert (whole.value, rest.value) == pytest.approx((shifted, shifted))
    assert (whole.over, whole.seeds, rest.seeds) == ("seeds and items", (0, 1, 2), (0, 1, 2))
    relabelled = only(found, "accuracy_gain_by_relabelling", arm="original")
    assert relabelled.value == pytest.approx(-shifted)
    assert only(found, "accuracy_gain_by_relabelling", arm="soft").value == pytest.approx(shifted)


def test_failed_cells_take_their_own_seeds_only(data: StudyData, predictions: Predictions) -> None:
    some = without(predictions, ("soft", 0), ("majority", 1))

    found = MEASURES["modes"](data, some)

    def seeds(stratum: str) -> tuple[int, ...]:
        return only(found, "kl_gain", against="people", stratum=stratum).seeds

    assert (seeds("in all"), seeds("by the vote"), seeds("by softness")) == ((1, 2), (0, 2), (2,))
    one = only(found, "accuracy_gain_by_vote", stratum="soft - original")
    assert one.seeds == (1, 2)


def test_seeds_with_tests_of_their_own_are_not_mixed(
    data: StudyData, each_its_own: Predictions
) -> None:
    some = without(each_its_own, ("soft", 0), ("majority", 1))

    found = MEASURES["modes"](data, some)

    def step(stratum: str) -> Estimate:
        return only(found, "accuracy_gain", against="majority", stratum=stratum)

    shifted = [
        np.mean([item in ITEMS[::8] for item in items])
        for items in (TEST[:25], TEST[15:40], TEST[20:])
    ]
    whole, vote, rest = step("in all"), step("by the vote"), step("by softness")
    assert (whole.seeds, vote.seeds, rest.seeds) == ((1, 2), (0, 2), (2,))
    assert (whole.over, rest.over) == ("seeds and items", "items")
    assert whole.value == pytest.approx((shifted[1] + shifted[2]) / 2)
    assert vote.value == pytest.approx((shifted[0] + shifted[2]) / 2)
    assert rest.value == pytest.approx(0)
    one = only(found, "accuracy_gain_by_vote", stratum="soft - original")
    assert one.value == pytest.approx(whole.value)
    assert one.seeds == (1, 2)
    assert only(found, "modes_differ").items == len(TEST)


def test_arms_side_by_side_are_about_the_same_items(
    data: StudyData, each_its_own: Predictions
) -> None:
    some = without(each_its_own, ("soft", 0), ("majority", 1))  # only seed 2 has all three

    entropies = MEASURES["entropies"](data, some)
    pictures = MEASURES["items_of_interest"](data, some)

    counted = entropies.tables["entropy"].group_by("source").len()
    assert dict(counted.iter_rows()) == dict.fromkeys(
        ["people", *(f"learnt from {arm}" for arm in ARMS)], len(TEST[20:])
    )
    doubtful = pictures.tables["doubtful"]
    assert set(doubtful["item"]) <= set(TEST[20:])
    assert doubtful["source"].n_unique() == 4


def test_without_any_vote_other_arms_are_still_told(
    data: StudyData, predictions: Predictions
) -> None:
    none = without(predictions, *(("majority", seed) for seed in range(3)))

    found = {name: measure(data, none) for name, measure in MEASURES.items()}

    whole = only(found["modes"], "accuracy_gain", against="people", stratum="in all")
    assert np.isfinite(whole.value)
    assert not [o for o in found["modes"].estimates if o.metric == "accuracy_gain_by_vote"]
    assert set(found["modes"].tables["modes"]["trained_on"]) == {"original", "soft"}
    assert set(found["data_maps"].tables["data_map"]["arm"]) == {"original", "soft"}
    assert {one.arm for one in found["convergence"].estimates} == {"original", "soft"}


def planted_map(confidence: Floats, people: LabelSet) -> Findings:
    """The rows of a map whose items have the given confidence and no variability."""
    beliefs = np.zeros((1, 1, len(confidence), 2))
    beliefs[..., 0], beliefs[..., 1] = confidence, 1 - confidence
    learnt = hard_labels(people.items, people.classes, np.zeros(len(people), dtype=np.int64))
    blank = Estimate("", 0.0, arm="soft", network="lenet", source='{"a": 1}')
    rng = np.random.default_rng(0)
    return Findings(map_rows(map_beliefs(beliefs, learnt), people, blank, {}, rng=rng, draws=50))


def two_classes(off_top: Floats) -> LabelSet:
    items = tuple(f"i{place:03}" for place in range(len(off_top)))
    return LabelSet(items, ("a", "b"), np.stack([1 - off_top, off_top], axis=1))


def test_most_of_a_stratum_is_an_exact_binomial_question() -> None:
    confidence = np.repeat([0.9, 0.1, 0.1], [19, 1, 30])
    people = two_classes(np.repeat([0.0, 0.2], [20, 30]))

    found = planted_map(confidence, people)

    ends = binomtest(19, 20).proportion_ci(method="exact")
    share = only(found, "easy_share", stratum="unanimous")
    assert (share.value, share.low, share.high) == pytest.approx((0.95, ends.low, ends.high))
    assert (share.items, share.over) == (20, "items")
    assert only(found, "hard_share", stratum="disputed").value == 1


def test_gap_between_strata_has_newcombes_interval() -> None:
    confidence = np.repeat([0.1, 0.9, 0.9], [30, 70, 20])
    people = two_classes(np.repeat([0.2, 0.0], [100, 20]))

    gap = only(
        planted_map(confidence, people), "not_easy_share_gap", stratum="disputed - unanimous"
    )

    low, high = confint_proportions_2indep(30, 100, 0, 20, method="newcomb", compare="diff")
    assert (gap.value, gap.low, gap.high) == pytest.approx((0.3, low, high))


def test_thirds_are_of_the_disputed_items_only() -> None:
    people = two_classes(np.repeat([0.0, 0.01, 0.2, 0.4], [50, 30, 30, 30]))
    confidence = np.repeat([0.1, 0.9, 0.1, 0.5], [50, 30, 30, 30])

    found = planted_map(confidence, people)

    wanted = "most disputed - least disputed"
    assert only(found, "not_easy_share_gap", stratum=wanted).value == pytest.approx(1)


def test_change_of_confidence_is_paired_by_item(data: StudyData, predictions: Predictions) -> None:
    found = MEASURES["data_maps"](data, predictions)

    table = found.tables["data_map"]
    soft, vote = (table.filter(arm=arm) for arm in ("soft", "majority"))
    disputed = (soft["human_entropy"] > 0.1).to_numpy()
    apart = (soft["confidence"] - vote["confidence"]).to_numpy()[disputed]
    ends = ttest_1samp(apart, 0).confidence_interval()
    change = only(found, "map_confidence", arm="soft", second="majority", stratum="disputed")
    assert (change.value, change.low, change.high) == pytest.approx(
        (apart.mean(), ends.low, ends.high)
    )
    assert change.value < -0.2  # people left 0.3 off the class that most of them chose


def test_difference_of_correlations_is_that_of_scipys(
    data: StudyData, predictions: Predictions
) -> None:
    found = MEASURES["data_maps"](data, predictions)

    table = found.tables["data_map"]
    soft, vote = (table.filter(arm=arm) for arm in ("soft", "majority"))
    rho = [spearmanr(one["human_entropy"], one["confidence"]).statistic for one in (soft, vote)]
    name = "spearman_entropy_confidence"
    assert only(found, name, arm="soft", second="").value == pytest.approx(rho[0])
    apart = only(found, name, arm="soft", second="majority")
    assert apart.value == pytest.approx(rho[0] - rho[1])
    assert apart.low is not None and apart.high is not None
    assert apart.low < apart.value < apart.high < 0


def test_items_that_people_did_not_label_are_left_out(
    data: StudyData, predictions: Predictions
) -> None:
    known = [item for item in ITEMS if item != TRAIN[3]]
    fewer = replace(data, labels={**data.labels, "people": data.people.take(known)})

    found = MEASURES["data_maps"](fewer, predictions)

    assert found.tables["data_map"]["item"].n_unique() == len(TRAIN) - 1


def test_movement_is_of_early_epochs_only(data: StudyData, predictions: Predictions) -> None:
    found = MEASURES["convergence"](data, predictions)

    for stratum in ("all", "unanimous", "disputed"):
        curve = found.tables["convergence"].filter(arm="soft", stratum=stratum)
        early = curve.filter(pl.col("epoch") <= EARLY_EPOCHS)
        assert len(curve) == EPOCHS - 1 > len(early)
        row = only(found, EARLY, arm="soft", second="", stratum=stratum)
        assert row.value == pytest.approx(early["jsd"].mean())
    vote = only(found, EARLY, arm="majority", second="", stratum="disputed")
    apart = only(found, EARLY, arm="soft", second="majority", stratum="disputed")
    assert apart.value == pytest.approx(row.value - vote.value)
    assert row.low is not None and vote.high is not None
    assert apart.low == pytest.approx(row.low - vote.high)


def test_settled_is_spread_above_movement(data: StudyData, predictions: Predictions) -> None:
    found = MEASURES["convergence"](data, predictions)

    arrays = [run.large("watched") for run in predictions.runs if run.key.arm == "soft"]
    late = steadiness(np.stack([array for array in arrays if array is not None]), last=5)
    row = only(found, "late_seed_spread_less_movement", arm="soft", stratum="all")
    assert row.value == pytest.approx((late.spread - late.movement).mean(), abs=1e-6)
    moved = only(found, "late_movement", arm="soft", stratum="all")
    assert moved.value == pytest.approx(late.movement.mean())
    disputed = strata_of(data.people.take(TRAIN))["disputed"]
    moved = only(found, "late_movement", arm="soft", stratum="disputed")
    assert moved.value == pytest.approx(late.movement[disputed].mean())
    assert moved.items == disputed.sum()


def test_epochs_of_trainings_that_stopped_early_are_aligned_from_the_start(
    data: StudyData, predictions: Predictions
) -> None:
    def shortened(run: TrainingRun) -> TrainingRun:
        assert isinstance(run.result, Kept)
        arrays = run.result.arrays()
        watched = {"watched": arrays["watched"][: 9 + run.key.seed]}
        return replace(run, result=Kept(arrays | watched))

    fewer = replace(predictions, runs=tuple(shortened(run) for run in predictions.runs))

    found = MEASURES["convergence"](data, fewer).tables["convergence"].filter(stratum="all")
    maps = MEASURES["data_maps"](data, fewer).tables["data_map"].filter(arm="soft")

    whole = MEASURES["convergence"](data, predictions).tables["convergence"].filter(stratum="all")
    assert found["epoch"].max() == 9
    assert found["jsd"].to_numpy() == pytest.approx(
        whole.filter(pl.col("epoch") <= 9)["jsd"].to_numpy(), abs=1e-6
    )
    seen = watched_runs(data, fewer, "soft", "lenet")
    assert seen is not None
    last = [np.asarray(each[-5:], dtype=np.float32) for each in seen.beliefs]  # each one's own
    own = data_map(np.stack(last), seen.target)
    assert maps["confidence"].to_numpy() == pytest.approx(own.confidence)


def test_maps_are_held_against_what_people_said_of_their_own_doubt(
    data: StudyData, predictions: Predictions
) -> None:
    rng = np.random.default_rng(4)
    told = {"mean uncertainty": rng.random(len(data.people)), "unsure proportion": np.full(
        len(data.people), np.nan)}  # fmt: skip
    told["unsure proportion"][::2] = rng.random(len(told["unsure proportion"][::2]))
    found = MEASURES["data_maps"](replace(data, signals=told), predictions)

    table = found.tables["data_map"].filter(arm="soft")
    assert table["human_uncertainty"].null_count() == 0
    rho = spearmanr(table["human_uncertainty"], table["variability"]).statistic
    row = only(found, "spearman_uncertainty_variability", arm="soft", second="")
    assert row.value == pytest.approx(rho)
    half = only(found, "spearman_unsure_confidence", arm="soft", second="")
    known = np.isfinite([told["unsure proportion"][ITEMS.index(item)] for item in TRAIN])
    assert half.items == known.sum() < row.items
    apart = only(found, "spearman_unsure_confidence", arm="soft", second="majority")
    assert apart.items == half.items and np.isfinite(apart.value)


def test_one_seed_has_no_spread(data: StudyData) -> None:
    beliefs = np.random.default_rng(0).dirichlet(np.ones(3), size=(1, 4, 5))
    found = movement_findings(beliefs, Estimate("", 0.0, source='{"a": 1}'))

    assert [one.metric for one in found.estimates] == ["early_movement"]
    assert found.estimates[0].low is None


def test_entropies_are_nearest_to_the_labels_learnt(
    data: StudyData, predictions: Predictions
) -> None:
    found = MEASURES["entropies"](data, predictions)

    apart = {
        (one.arm, one.against): one.value
        for one in found.estimates
        if one.metric == "entropy_distance"
    }
    assert apart["soft", "soft"] < apart["soft", "original"]
    assert apart["original", "original"] < apart["original", "soft"]
    assert set(found.tables["entropy"]["source"]) == {"people", *(f"learnt from {a}" for a in ARMS)}


def test_pictures_of_interest_are_kept_with_their_bars(
    data: StudyData, predictions: Predictions
) -> None:
    found = MEASURES["items_of_interest"](data, predictions)

    doubtful = found.tables["doubtful"]["item"].unique().to_list()
    assert set(doubtful) <= set(TEST) and len(doubtful) == 8
    assert set(found.tables["doubtful"]["item"]) <= set(found.pictures)
    kinds = {one.stratum: one.value for one in found.estimates}
    assert list(kinds) == ["few strays", "answers spread", "two readings"]
    assert sum(kinds.values()) == found.tables["kinds"]["kind"].drop_nulls().len()


def test_study_without_the_vote_has_no_modes(data: StudyData, predictions: Predictions) -> None:
    study = study_from({**data.study.model_dump(), "arms": ["original", "soft"]})

    assert not MEASURES["modes"](replace(data, study=study), predictions).estimates


def test_rows_of_shares_and_means_say_what_they_are_over() -> None:
    blank = Estimate("", 0.0, source='{"a": 1}')
    nothing = share_row(blank, "share_of_items", np.zeros(10, dtype=np.bool_))
    same = mean_row(blank, "map_confidence", np.full(4, 0.5))

    assert (nothing.value, nothing.low, nothing.items) == (0, 0, 10)
    assert nothing.high == pytest.approx(1 - 0.025 ** (1 / 10))
    assert (same.value, same.low, same.over) == (0.5, None, "")


def test_difference_of_two_numbers_excludes_zero_where_their_intervals_do_not_overlap() -> None:
    first = Estimate("a", 0.5, low=0.4, high=0.6, over="seeds")
    second = Estimate("a", 0.3, low=0.25, high=0.35, over="seeds")

    apart = apart_row(first, second, replace(first, second="b", low=None, high=None))

    assert (apart.value, apart.low, apart.high) == pytest.approx((0.2, 0.05, 0.35))
    assert apart_row(first, replace(second, low=None), replace(first, low=None)).low is None
