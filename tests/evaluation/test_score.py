import json
from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sfumato.errors import DataError, UnknownName
from sfumato.evaluation.metrics import METRICS, usual_metrics
from sfumato.evaluation.score import compare_models, score_model, score_seeds
from sfumato.evaluation.trials import SEED_TESTS
from sfumato.labels.alter import majority_labels
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.provenance import Step
from sfumato.scores import Estimate, Estimates
from sfumato.stats import two_way_interval

CLASSES = ("cat", "dog", "frog")
NOBODY = np.random.default_rng(99)


def people(n_items: int = 60, seed: int = 0) -> LabelSet:
    """Shares of five votes per item; about a third of the items is unanimous."""
    rng = np.random.default_rng(seed)
    beliefs = rng.dirichlet([0.5, 0.3, 0.2], size=n_items)
    votes = rng.multinomial(5, beliefs)
    return LabelSet(tuple(f"i{k}" for k in range(n_items)), CLASSES, votes / 5)


def guess(human: LabelSet, seed: int, noise: float = 0.4) -> LabelSet:
    """A model that has seen the labels through noise."""
    rng = np.random.default_rng(seed)
    mixed = (1 - noise) * human.probs + noise * rng.dirichlet([1, 1, 1], size=len(human))
    return LabelSet(human.items, human.classes, mixed, provenance=(Step("train"),))


def by_name(scores: list[Estimate], stratum: str = "all") -> Mapping[tuple[str, str], Estimate]:
    return {(each.metric, each.against): each for each in scores if each.stratum == stratum}


def halves(human: LabelSet) -> dict[str, NDArray[np.bool_]]:
    first = np.arange(len(human)) < len(human) // 2
    return {"first": first, "second": ~first}


def test_every_metric_is_there_and_has_the_value_of_its_function() -> None:
    human = people()
    model = guess(human, 1)

    scores = by_name(score_model(human, model, rng=NOBODY, draws=20))

    for name in usual_metrics(human):
        metric = METRICS[name]
        assert scores[name, "people"].value == pytest.approx(
            metric.overall(human, model), nan_ok=True
        )


def test_accuracy_and_cross_entropy_are_also_to_the_majority_and_the_original() -> None:
    human, rng = people(), np.random.default_rng(3)
    model = guess(human, 1)
    original = hard_labels(human.items, CLASSES, rng.integers(3, size=len(human)))

    scores = by_name(score_model(human, model, original=original, rng=rng, draws=20))

    labels = {"majority": majority_labels(human, "share"), "original": original}
    for against, other in labels.items():
        for name in ("accuracy", "cross_entropy"):
            assert scores[name, against].value == METRICS[name].overall(other, model)
    assert {key for key in scores if key[1] == "original"} == {
        ("accuracy", "original"),
        ("cross_entropy", "original"),
    }


def test_items_are_joined_by_name_and_classes_too() -> None:
    human = people()
    model = guess(human, 1)
    order = np.random.default_rng(4).permutation(len(human))
    shuffled = LabelSet(
        tuple(model.items[place] for place in order),
        ("frog", "cat", "dog"),
        model.probs[order][:, [2, 0, 1]],
    )

    first = score_model(human, model, rng=np.random.default_rng(5), draws=30)
    second = score_model(human, shuffled, rng=np.random.default_rng(5), draws=30)

    for what in ("value", "low", "high"):
        assert [getattr(each, what) for each in first] == pytest.approx(
            [getattr(each, what) for each in second]
        )


def test_stratum_is_scored_as_if_it_were_all() -> None:
    human = people()
    model = guess(human, 1)
    strata = halves(human)

    within = by_name(score_model(human, model, strata=strata, rng=NOBODY, draws=20), "second")
    alone = human.take(human.items[30:])
    apart = by_name(score_model(alone, model, rng=NOBODY, draws=20))

    for key, score in within.items():
        if key[0] not in ("class_oracle", "entropy_correlation_spearman"):  # these see all items
            assert score.value == pytest.approx(apart[key].value, nan_ok=True), key
        assert score.items == 30


def test_interval_of_a_stratum_is_of_its_own_items() -> None:
    human = people()
    strata = halves(human)
    blurred = guess(human, 1, 0.9).probs
    model = LabelSet(human.items, CLASSES, np.where(strata["first"][:, None], human.probs, blurred))

    scores = score_model(human, model, metrics=["brier"], strata=strata, rng=NOBODY, draws=50)

    found = {score.stratum: (score.low, score.high) for score in scores}
    assert found["first"] == (0, 0)
    low, high = found["second"]
    assert low is not None
    assert high is not None
    assert low > 0.9 * scores[0].value
    assert low < 2 * scores[0].value < high  # the mean over all is half that of the second half


def test_stratum_with_too_few_items_stays_with_a_note() -> None:
    human = people()
    one = np.arange(len(human)) == 0

    scores = score_model(
        human, guess(human, 1), strata={"one": one, "none": ~(one | ~one)}, rng=NOBODY, draws=20
    )

    for stratum, count in {"one": 1, "none": 0}.items():
        found = by_name(scores, stratum)
        assert set(found) == set(by_name(scores))
        assert all(np.isnan(each.value) and each.low is None for each in found.values())
        assert {each.note for each in found.values()} == {
            f"too few items: {count}, at least 2 are needed"
        }


def test_metric_without_a_value_says_so() -> None:
    human = majority_labels(people(), "share")
    model = guess(human, 1)
    hard = human.take(
        [i for i, row in zip(human.items, human.probs, strict=True) if row.max() == 1]
    )

    score = by_name(score_model(hard, model, rng=NOBODY, draws=20))[
        "second_best_accuracy", "people"
    ]

    assert np.isnan(score.value)
    assert (score.low, score.high, score.over) == (None, None, "")
    assert score.note == "not defined on these items"


def test_intervals_hold_their_values_and_narrow_with_items() -> None:
    few, many = people(60), people(2000)

    wide = by_name(score_model(few, guess(few, 1), rng=np.random.default_rng(6), draws=200))
    narrow = by_name(score_model(many, guess(many, 1), rng=np.random.default_rng(6), draws=200))

    for key, score in narrow.items():
        assert score.low is not None, key
        assert score.high is not None
        assert score.low <= score.value <= score.high
        assert score.over == "items"
        other = wide[key]
        if other.low is not None and other.high is not None:
            assert score.high - score.low < other.high - other.low


def test_interval_of_a_mean_agrees_with_scipy() -> None:
    human = people(300)
    model = guess(human, 1)

    found = score_model(human, model, metrics=["brier"], rng=np.random.default_rng(7), draws=5000)[
        0
    ]

    values = ((human.probs - model.probs) ** 2).sum(axis=1)
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=5000, rng=8)
    limits = theirs.confidence_interval
    assert (found.low, found.high) == pytest.approx((limits.low, limits.high), rel=0.01)


def test_model_that_is_always_right_is_not_certain_to_be() -> None:
    human = people(40)

    score = score_model(human, human, metrics=["accuracy"], rng=NOBODY, draws=20)[0]

    theirs = stats.binomtest(40, 40).proportion_ci(method="exact")
    assert (score.low, score.high) == pytest.approx((theirs.low, theirs.high))


def test_calibration_interval_covers_what_other_items_give() -> None:
    # The plain percentiles would not: resampling by itself raises a calibration error.
    rng = np.random.default_rng(9)

    def calibrated() -> tuple[LabelSet, LabelSet]:
        sure = rng.uniform(0.5, 1, size=300)
        rows = np.stack([sure, 1 - sure], axis=1)
        items = tuple(map(str, range(300)))
        chosen = (rng.random(300) > sure).astype(np.int64)
        return hard_labels(items, ("x", "y"), chosen), LabelSet(items, ("x", "y"), rows)

    typical = np.mean([METRICS["ece"].overall(*calibrated()) for _ in range(300)])
    held = []
    for _ in range(60):
        score = score_model(*calibrated(), metrics=["ece"], rng=rng, draws=250)[0]
        assert score.low is not None
        assert score.high is not None
        held.append(score.low <= typical <= score.high)

    assert np.mean(held) >= 0.85


def test_reference_lines_come_with_cross_entropy_and_by_name() -> None:
    human = people()
    model = guess(human, 1)

    def names(*metrics: str) -> set[str]:
        found = score_model(human, model, metrics=metrics, rng=NOBODY, draws=5)
        return {score.metric for score in found}

    assert names("cross_entropy") == {"cross_entropy", "entropy_floor", "class_oracle"}
    assert names("brier") == {"brier"}
    assert names("entropy_floor", "brier") == {"entropy_floor", "brier"}


def test_perfect_model_reaches_the_floor() -> None:
    human = people()

    scores = by_name(score_model(human, human, rng=NOBODY, draws=20))

    assert scores["cross_entropy", "people"].value == pytest.approx(
        scores["entropy_floor", "people"].value
    )
    assert scores["class_oracle", "people"].value > scores["entropy_floor", "people"].value


def test_class_oracle_knows_the_original_class_and_says_when_it_does_not() -> None:
    human = LabelSet(("a", "b", "c"), ("x", "y"), np.array([[0.5, 0.5], [1, 0], [0.2, 0.8]]))
    original = hard_labels(human.items, human.classes, np.array([0, 1, 1]))

    told = by_name(score_model(human, human, original=original, rng=NOBODY, draws=5))
    not_told = by_name(score_model(human, human, rng=NOBODY, draws=5))

    means = np.array([[0.5, 0.5], [0.6, 0.4], [0.6, 0.4]])
    expected = -(human.probs * np.log(means)).sum(axis=1).mean()
    assert told["class_oracle", "people"].value == pytest.approx(expected)
    assert told["class_oracle", "people"].note == ""
    assert "majority" in not_told["class_oracle", "people"].note


def test_score_can_be_walked_back_to_both_sides() -> None:
    human = people()
    marked = LabelSet(
        human.items, CLASSES, human.probs, provenance=(Step("simulate voters", simulated=True),)
    )

    scores = score_model(marked, guess(human, 1), metrics=["kl"], rng=NOBODY, draws=5)

    assert scores[0].simulated
    source = json.loads(scores[0].source)
    assert [step["name"] for step in source["model"]] == ["train"]
    assert [step["name"] for step in source["labels"]] == ["simulate voters"]
    assert not score_model(human, guess(human, 1), metrics=["kl"], rng=NOBODY, draws=5)[0].simulated


def test_missing_item_is_named() -> None:
    human = people()
    model = guess(human, 1).take([item for item in human.items if item != "i7"])

    with pytest.raises(DataError, match="Item 'i7' of the labels has no prediction"):
        score_model(human, model, rng=NOBODY)


def test_items_without_prediction_can_be_left_out_of_strata_too() -> None:
    human = people()
    kept = [item for item in human.items if item != "i7"]
    model = guess(human, 1).take(kept)

    found = score_model(
        human, model, strata=halves(human), missing="leave out", rng=NOBODY, draws=10
    )

    assert by_name(found)["brier", "people"].items == 59
    assert by_name(found, "first")["brier", "people"].items == 29
    expected = METRICS["brier"].overall(human.take(kept[:29]), model.take(kept[:29]))
    assert by_name(found, "first")["brier", "people"].value == pytest.approx(expected)


def test_nothing_in_common_is_an_error() -> None:
    human = people()
    other = LabelSet(("x",), CLASSES, np.eye(3)[:1])

    with pytest.raises(DataError, match="no item in common"):
        score_model(human, other, missing="leave out", rng=NOBODY)


def test_unknown_metric_gets_the_nearest_name() -> None:
    human = people()

    with pytest.raises(UnknownName, match="Did you mean 'cross_entropy'"):
        score_model(human, human, metrics=["crossentropy"], rng=NOBODY)


def test_stratum_of_another_length_is_refused() -> None:
    human = people()

    with pytest.raises(DataError, match="stratum 'odd' has shape"):
        score_model(human, human, strata={"odd": np.ones(3, dtype=np.bool_)}, rng=NOBODY)


def test_seeds_are_averaged_with_a_t_interval() -> None:
    human = people()
    models = {seed: guess(human, seed) for seed in range(6)}

    scores = score_seeds(human, models, metrics=["kl"], arm="soft", interval="seeds", rng=NOBODY)

    values = [METRICS["kl"].overall(human, model) for model in models.values()]
    limits = stats.ttest_1samp(values, 0).confidence_interval()
    assert scores[0].value == pytest.approx(np.mean(values))
    assert (scores[0].low, scores[0].high) == pytest.approx((limits.low, limits.high))
    assert (scores[0].over, scores[0].seeds) == ("seeds", (0, 1, 2, 3, 4, 5))


def test_other_items_widen_the_interval_over_seeds() -> None:
    human = people()
    models = {seed: guess(human, seed) for seed in range(6)}

    over = score_seeds(human, models, interval="seeds", rng=NOBODY)
    both = score_seeds(human, models, interval="seeds and items", rng=NOBODY)

    kinds = {score.metric: score.over for score in both}
    assert {score.over for score in over if not np.isnan(score.value)} == {"seeds"}
    assert kinds["kl"] == "seeds and items"
    assert kinds["ece"] == "seeds"  # no value for each item
    assert kinds["confidence_wrong"] == "seeds and items"  # other items are wrong for each seed
    wide = by_name(both)["kl", "people"]
    narrow = by_name(over)["kl", "people"]
    assert wide.value == pytest.approx(narrow.value)
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.low < narrow.low


def test_one_seed_has_an_interval_over_items() -> None:
    human = people()

    scores = score_seeds(human, {3: guess(human, 3)}, metrics=["kl"], rng=NOBODY, draws=20)

    assert (scores[0].over, scores[0].seeds) == ("items", (3,))


def test_one_seed_says_nothing_about_others() -> None:
    human = people()
    model = {3: guess(human, 3)}

    score = score_seeds(human, model, metrics=["kl"], interval="seeds", rng=NOBODY)[0]
    apart = compare_models(
        human, {"a": model, "b": model}, metrics=["kl"], interval="seeds", rng=NOBODY
    )[0]

    assert (score.low, score.high, score.over) == (None, None, "")
    assert (apart.low, apart.p, apart.over, apart.seeds) == (None, None, "", (3,))


def test_interval_over_seeds_does_not_leave_the_range_of_the_metric() -> None:
    human = people(40)
    wrong = LabelSet(human.items, CLASSES, np.roll(human.probs, 1, axis=1))
    models = {0: human, 1: human, 2: wrong}

    found = score_seeds(human, models, metrics=["accuracy"], interval="seeds", rng=NOBODY)[0]

    assert (found.low, found.high) == (0, 1)  # Student's t alone would go far below and above


def test_every_row_has_a_source_also_of_labels_in_memory() -> None:
    human = people()
    bare = LabelSet(human.items, CLASSES, human.probs)

    rows = Estimates.of(score_model(bare, bare, rng=NOBODY, draws=5))

    assert len(rows)


def test_seed_on_which_a_metric_is_not_defined_is_left_out_and_named() -> None:
    human = people(40)
    models = {0: guess(human, 0), 1: guess(human, 1), 2: human}  # the last is never wrong

    found = by_name(score_seeds(human, models, interval="seeds", rng=NOBODY))

    wrong = found["confidence_wrong", "people"]
    by_seed = [METRICS["confidence_wrong"].overall(human, models[seed]) for seed in (0, 1)]
    assert wrong.value == pytest.approx(np.mean(by_seed))
    assert wrong.seeds == (0, 1)
    assert wrong.note == "not defined with seed 2, left out"
    assert found["kl", "people"].seeds == (0, 1, 2)


def arms(human: LabelSet, seeds: int) -> dict[str, dict[int, LabelSet]]:
    return {
        "hard": {seed: guess(human, seed, 0.5) for seed in range(seeds)},
        "soft": {seed: guess(human, seed, 0.3) for seed in range(seeds)},
    }


def difference(found: list[Estimate], metric: str) -> Estimate:
    return next(each for each in found if each.metric == metric and each.against == "people")


@pytest.mark.parametrize("name", SEED_TESTS)
def test_named_tests_do_not_care_which_arm_is_first(name: str) -> None:
    differences = np.random.default_rng(1).normal(0.5, 1, size=6)

    one, other = (SEED_TESTS[name](side, NOBODY) for side in (differences, -differences))

    assert one == pytest.approx(other)
    assert SEED_TESTS[name](np.zeros(6), NOBODY) == 1.0


def test_unknown_test_gets_the_nearest_name() -> None:
    human = people()
    both = {arm: {seed: guess(human, seed) for seed in range(3)} for arm in ("a", "b")}

    with pytest.raises(UnknownName, match="Did you mean 'wilcoxon'"):
        compare_models(human, both, metrics=["kl"], test="wilcoxen", rng=NOBODY)


def test_identical_arms_differ_by_exactly_nothing() -> None:
    human = people()
    model = guess(human, 1)

    found = compare_models(human, {"a": {0: model}, "b": {0: model}}, rng=NOBODY, draws=50)

    assert all((each.low, each.high) in {(0.0, 0.0), (None, None)} for each in found)


@pytest.mark.parametrize("test", ["paired t", "wilcoxon", "sign-flip"])
def test_arms_are_compared_seed_by_seed_with_a_named_test(test: str) -> None:
    human = people()
    both = arms(human, 6)

    found = difference(compare_models(human, both, interval="seeds", test=test, rng=NOBODY), "kl")

    first, second = (
        [METRICS["kl"].overall(human, model) for model in both[arm].values()]
        for arm in ("soft", "hard")
    )
    theirs = stats.ttest_rel(first, second)
    limits = theirs.confidence_interval()
    assert (found.arm, found.second) == ("soft", "hard")
    assert found.value == pytest.approx(np.mean(first) - np.mean(second))
    assert (found.low, found.high) == pytest.approx((limits.low, limits.high))
    assert found.test == test
    assert found.p == pytest.approx(theirs.pvalue if test == "paired t" else 1 / 32)
    assert (found.over, found.seeds) == ("seeds", tuple(range(6)))


def test_several_seeds_are_compared_over_items_too() -> None:
    human = people()
    both = arms(human, 6)

    found = compare_models(human, both, rng=NOBODY)

    kl, per_item = difference(found, "kl"), METRICS["kl"].per_item
    assert per_item is not None
    first, second = (
        np.array([per_item(human, model) for model in both[arm].values()])
        for arm in ("soft", "hard")
    )
    assert (kl.low, kl.high) == pytest.approx(two_way_interval(first - second))
    assert (kl.over, kl.test) == ("seeds and items", "paired t over seeds and items")
    assert difference(found, "ece").over == "seeds"
    named = difference(compare_models(human, both, test="sign-flip", rng=NOBODY), "kl")
    assert (named.low, named.test) == (kl.low, "sign-flip")
    assert named.p == pytest.approx(1 / 32)


def test_arms_of_one_seed_are_compared_item_by_item() -> None:
    human = people(200)

    found = compare_models(human, arms(human, 1), rng=np.random.default_rng(11), draws=400)

    kl = difference(found, "kl")
    assert (kl.over, kl.test) == ("items", "sign-flip over items")
    assert kl.low is not None
    assert kl.high is not None
    assert kl.low < kl.value < kl.high < 0
    assert kl.p == pytest.approx(1 / 401)
    ece = difference(found, "ece")
    assert (ece.p, ece.test, ece.over) == (None, "", "items")
    assert difference(found, "second_best_accuracy").p is not None
    assert difference(found, "confidence_wrong").p is None  # wrong on other items


def test_an_arm_does_not_differ_from_itself() -> None:
    human = people()
    models = {seed: guess(human, seed) for seed in range(4)}

    found = compare_models(human, {"a": models, "b": models}, rng=NOBODY)

    assert {each.value for each in found if not np.isnan(each.value)} == {0.0}
    assert {each.p for each in found if each.p is not None} == {1.0}


def test_reference_lines_are_not_compared() -> None:
    human = people()

    found = compare_models(human, arms(human, 2), rng=NOBODY)

    assert not {"entropy_floor", "class_oracle"} & {each.metric for each in found}


def test_pairs_can_be_chosen() -> None:
    human = people()

    found = compare_models(
        human, arms(human, 2), pairs=[("hard", "soft")], metrics=["kl"], rng=NOBODY
    )

    assert [(each.arm, each.second) for each in found] == [("hard", "soft")]
    with pytest.raises(DataError, match="No arm is called 'sofd'"):
        compare_models(human, arms(human, 2), pairs=[("hard", "sofd")], rng=NOBODY)


def test_pairs_are_over_the_seeds_that_both_arms_have() -> None:
    human = people()
    even, uneven = arms(human, 4), arms(human, 4)
    del uneven["soft"][1], uneven["hard"][3]

    found = difference(compare_models(human, uneven, rng=NOBODY), "kl")

    both = {arm: {seed: models[seed] for seed in (0, 2)} for arm, models in even.items()}
    alone = difference(compare_models(human, both, rng=NOBODY), "kl")
    assert found.seeds == (0, 2)
    assert (found.value, found.low, found.p) == (alone.value, alone.low, alone.p)


def test_arms_without_a_common_seed_cannot_be_paired() -> None:
    human = people()
    apart = arms(human, 2)
    del apart["soft"][1], apart["hard"][0]

    with pytest.raises(DataError, match="no seed in common"):
        compare_models(human, apart, rng=NOBODY)


def test_difference_on_a_stratum_with_too_few_items_stays_with_a_note() -> None:
    human = people()
    one = np.arange(len(human)) == 0

    for seeds in (1, 3):
        found = compare_models(
            human, arms(human, seeds), metrics=["kl"], strata={"one": one}, rng=NOBODY, draws=9
        )
        last = found[-1]
        assert (last.stratum, last.p, last.low, last.test) == ("one", None, None, "")
        assert "too few items" in last.note


def test_all_right_with_every_seed_is_not_certainty() -> None:
    human = people(12)
    models = {seed: LabelSet(human.items, CLASSES, human.probs) for seed in (0, 1)}

    found = score_seeds(
        human, models, metrics=["accuracy"], interval="seeds and items", rng=NOBODY
    )[0]

    assert (found.value, found.high, found.over) == (1.0, 1.0, "items")
    assert found.low == pytest.approx(0.025 ** (1 / 12))
