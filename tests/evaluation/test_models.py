import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.models import AGAINST_ORIGINAL, Evaluation, compare, evaluate
from sfumato.evaluation.score import score_model
from sfumato.labels.labelset import LabelSet
from sfumato.scores import Estimates

ITEMS = ("a", "b", "c", "d")


def label_set(items: Sequence[str], classes: Sequence[str], rows: Any) -> LabelSet:
    return LabelSet(tuple(items), tuple(classes), np.array(rows, dtype=np.float64))


HUMAN = label_set(ITEMS, ("cat", "dog"), [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
MODEL = label_set(ITEMS, ("cat", "dog"), [[0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.1, 0.9]])
WITH_NONE = label_set(
    (*ITEMS, "e"),
    ("cat", "dog", "none of these"),
    [[0.8, 0, 0.2], [0.6, 0.2, 0.2], [0.25, 0.75, 0], [0, 1, 0], [0, 0, 1]],
)


def value(found: Evaluation, metric: str, **where: str) -> float:
    rows = found.filter(metric=metric, **{"stratum": "all", "against": "people", **where})
    assert len(rows) == 1
    return float(rows.table["value"][0])


def test_scores_are_those_of_the_function_for_one_model() -> None:
    found = evaluate(HUMAN, MODEL, draws=20, strata=())

    wanted = score_model(HUMAN, MODEL, rng=np.random.default_rng(0), draws=20)
    assert isinstance(found, Estimates)
    assert [row.value for row in found] == pytest.approx([row.value for row in wanted], nan_ok=True)
    assert [row.low for row in found] == [row.low for row in wanted]
    assert {row.arm for row in found} == {"model"}
    assert found.remarks == ()


def test_labels_and_models_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    pl.DataFrame({"item": ITEMS, "cat": MODEL.probs[:, 0], "dog": MODEL.probs[:, 1]}).write_csv(
        path
    )
    table = pl.read_csv(path)
    labels = pl.DataFrame({"item": ITEMS, "cat": HUMAN.probs[:, 0], "dog": HUMAN.probs[:, 1]})
    models = {
        "set": MODEL,
        "path": path,
        "text": str(path),
        "polars": table,
        "pandas": table.to_pandas(),
        "columns": table.to_dict(as_series=False),
        "array": MODEL.probs,
        "ids": (MODEL.probs[::-1], ITEMS[::-1]),
    }

    found = evaluate(labels.to_pandas(), models, metrics=["kl"], draws=5)

    assert {row.arm for row in found} == set(models)
    assert len({round(row.value, 12) for row in found.filter(stratum="all")}) == 1
    assert evaluate(labels, path, metrics=["kl"], draws=5).table["arm"][0] == "theirs"
    single = evaluate(labels, table.to_dict(as_series=False), metrics=["kl"], draws=5)
    assert single.table["arm"][0] == "model"


def test_ids_may_be_numbers() -> None:
    labels = {"item": [10, 11], "cat": [1.0, 0.5], "dog": [0.0, 0.5]}
    theirs = {"uid": [11, 10], "prob_cat": [0.5, 1.0], "prob_dog": [0.5, 0.0]}

    found = evaluate(labels, {"theirs": theirs}, metrics=["total_variation"], draws=5, strata=())

    assert value(found, "total_variation") == 0


def test_extra_class_of_the_labels_is_left_out_and_told() -> None:
    model = label_set((*ITEMS, "e"), ("cat", "dog"), [*MODEL.probs, [0.5, 0.5]])

    found = evaluate(WITH_NONE, {"ours": model}, metrics=["total_variation"], draws=5, strata=())

    assert found.labels.items == ITEMS
    assert found.labels.probs.tolist() == [[1, 0], [0.6 / 0.8, 0.2 / 0.8], [0.25, 0.75], [0, 1]]
    assert value(found, "total_variation") == pytest.approx(np.mean([0.2, 0.05, 0.35, 0.1]))
    assert found.cautions == (
        "Only the labels have the class 'none of these', with 28.00% of the mass. Everything is "
        "compared given that it is one of the 2 shared classes: rows are divided by their mass on "
        "these.",
        "1 of 5 items have no mass on the shared classes and are left out.",
    )
    steps = json.loads(found.table["source"][0])["labels"]
    assert steps[-1]["settings"] == {"classes": ["none of these"]}


def test_extra_class_may_count_as_zero_or_be_refused() -> None:
    model = label_set((*ITEMS, "e"), ("cat", "dog"), [*MODEL.probs, [0.5, 0.5]])

    zero = evaluate(WITH_NONE, model, metrics=["total_variation"], unshared="zero", draws=5)

    assert len(zero.labels) == 5
    assert value(zero, "total_variation") == pytest.approx(np.mean([0.2, 0.2, 0.35, 0.1, 1]))
    assert "has no class 'none of these', so it gives it the probability 0" in zero.cautions[0]
    with pytest.raises(DataError, match="'none of these' is in the labels only"):
        evaluate(WITH_NONE, model, unshared="error")


def test_class_of_a_model_that_people_were_not_asked_about_is_left_out() -> None:
    model = label_set(ITEMS, ("cat", "dog", "bat"), [[0.4, 0.1, 0.5], *([[0.5, 0.5, 0]] * 3)])

    found = evaluate(HUMAN, {"ours": model}, metrics=["kl"], draws=5)

    assert found.models["ours"].probs[0] == pytest.approx([0.8, 0.2])
    assert "Only ours has the class 'bat', with 12.50% of the mass" in found.cautions[0]


def test_names_that_differ_on_both_sides_are_refused_unless_told() -> None:
    model = label_set(ITEMS, ("cat", "fox", "dog"), [[0.4, 0.1, 0.5]] * 4)
    human = label_set(ITEMS, ("cat", "dog", "fxo"), [[0.5, 0.25, 0.25]] * 4)

    with pytest.raises(DataError, match=r"'fxo' is in the labels only and 'fox' is in ours only"):
        evaluate(human, {"ours": model})
    found = evaluate(human, {"ours": model}, unshared="leave out", draws=5)
    assert found.labels.classes == ("cat", "dog")
    few = label_set(ITEMS, ("cat", "fox"), [[0.5, 0.5]] * 4)
    with pytest.raises(DataError, match="1 classes in common, and at least two are needed"):
        evaluate(human, few, unshared="leave out")


def test_models_of_different_classes_are_compared_on_what_all_share() -> None:
    whole = label_set((*ITEMS, "e"), WITH_NONE.classes, [[0.4, 0.4, 0.2]] * 5)
    part = label_set((*ITEMS, "e"), ("cat", "dog"), [[0.5, 0.5]] * 5)

    found = evaluate(WITH_NONE, {"whole": whole, "part": part}, metrics=["kl"], draws=5, strata=())

    assert value(found, "kl", arm="whole") == pytest.approx(value(found, "kl", arm="part"))


def test_original_labels_reach_every_metric_that_asks_what_is_right() -> None:
    original = {"item": ITEMS, "label": ["cat", "cat", "cat", "dog"]}

    found = evaluate(HUMAN, MODEL, original=original, draws=5)

    against = set(found.filter(against="original").table["metric"])
    assert against == {"accuracy", "cross_entropy", *AGAINST_ORIGINAL}
    assert value(found, "top2_accuracy", against="original") == 1
    assert value(found, "accuracy", against="original") == 1
    assert value(found, "worst_class_accuracy", against="original") == 1
    truth = label_set(ITEMS, ("cat", "dog"), [[1, 0], [1, 0], [1, 0], [0, 1]])
    expected = METRICS["brier"].overall(truth, MODEL)
    assert value(found, "brier", against="original") == pytest.approx(expected)


def test_confidence_is_split_by_original_labels_where_they_are_given() -> None:
    """S0-35: paper 1 calls right what is the original label, not what most people say."""
    original = {"item": ITEMS, "label": ["dog", "cat", "cat", "dog"]}
    top = MODEL.probs.max(axis=1)
    right = MODEL.probs.argmax(axis=1) == [1, 0, 0, 1]

    found = evaluate(HUMAN, MODEL, original=original, draws=5)

    for metric, mask in (("confidence_right", right), ("confidence_wrong", ~right)):
        assert value(found, metric, against="original") == pytest.approx(top[mask].mean())


def test_original_class_that_is_not_shared_leaves_the_item_out() -> None:
    model = label_set((*ITEMS, "e"), ("cat", "dog"), [*MODEL.probs, [0.5, 0.5]])
    original = {"item": WITH_NONE.items, "label": ["none of these", "cat", "dog", "dog", "dog"]}

    found = evaluate(WITH_NONE, model, original=original, metrics=["accuracy"], draws=5)

    assert found.labels.items == ("b", "c", "d")


def test_items_without_prediction_are_left_out_when_told_and_it_is_said() -> None:
    found = evaluate(HUMAN, MODEL.take(["a", "b"]), missing="leave out", draws=5)

    assert found.labels.items == ("a", "b")
    assert found.cautions == ("2 of 4 items have no prediction and are left out.",)
    with pytest.raises(DataError) as refused:
        evaluate(HUMAN, {"ours": MODEL.take(["a", "b"])})
    assert str(refused.value).startswith("ours: Item 'c' of the labels has no prediction")
    assert "--" not in str(refused.value)


def test_leaderboard_is_part_of_the_table() -> None:
    found = evaluate(HUMAN, {"ours": MODEL, "people": HUMAN}, draws=20, ensemble=True)

    assert [place.arm for place in found.places] == ["people", "ensemble", "ours"]
    behind = found.differences
    assert [(row.arm, row.second) for row in behind] == [("ensemble", "people"), ("ours", "people")]
    assert set(found.models) == {"ours", "people", "ensemble"}
    assert evaluate(HUMAN, {"a": MODEL, "b": MODEL}, metrics=["kl"], draws=5).places == ()


def test_strata_may_be_ids_under_ones_own_name() -> None:
    found = evaluate(HUMAN, MODEL, metrics=["accuracy"], strata={"mine": ["b", "c"]}, draws=5)

    assert value(found, "accuracy", stratum="mine") == 0.5
    with pytest.raises(DataError, match="No item of the stratum 'mine'"):
        evaluate(HUMAN, MODEL, strata={"mine": ["z"]})
    with pytest.raises(UnknownName, match="Did you mean 'disputed'"):
        evaluate(HUMAN, MODEL, strata=["dispute"])


def test_kind_is_that_of_all_models_or_of_one() -> None:
    hard = {"item": ITEMS, "label": ["cat", "cat", "dog", "dog"]}
    logits = {"item": ITEMS, "cat": [3.0, 1, -1, -3], "dog": [0.0, 0, 0, 0]}

    found = evaluate(
        HUMAN,
        {"hard": hard, "logits": logits, "plain": MODEL},
        kind={"hard": "hard", "logits": "logits"},
        metrics=["accuracy"],
        draws=5,
    )

    assert value(found, "accuracy", arm="hard") == value(found, "accuracy", arm="logits") == 1
    with pytest.raises(UnknownName, match="Did you mean 'hard'"):
        evaluate(HUMAN, {"hard": hard}, kind={"had": "hard"})


def test_same_seed_same_numbers() -> None:
    first, second = (evaluate(HUMAN, MODEL, seed=3, draws=20).table for _ in range(2))

    assert first.equals(second, null_equal=True)


def test_nothing_to_evaluate_is_a_sentence() -> None:
    with pytest.raises(DataError, match="no predictions to evaluate"):
        evaluate(HUMAN, {})
    with pytest.raises(DataError, match="Labels cannot be a int"):
        evaluate(3, MODEL)


def test_compare_pairs_seeds_and_takes_what_evaluate_takes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    items = [f"i{n}" for n in range(40)]
    human = LabelSet(items, ("cat", "dog"), rng.dirichlet([1, 1], 40))
    near = [LabelSet(items, ("cat", "dog"), 0.9 * human.probs + 0.05) for _ in range(3)]
    (tmp_path / "far.csv").write_text(
        "item;dog;cat\n" + "\n".join(f"{item};0.5;0.5" for item in items), encoding="utf-8"
    )

    one = compare(human, {"far": tmp_path / "far.csv", "near": near[0]}, metrics=["brier"])
    seeds = compare(
        human, {"far": [tmp_path / "far.csv"] * 3, "near": near}, metrics=["brier"], strata=()
    )

    (row,) = one.filter(stratum="all")
    assert (row.arm, row.second, row.over) == ("near", "far", "items")
    assert row.value < 0 and row.p is not None and row.p < 0.05
    (paired,) = seeds
    assert paired.seeds == (0, 1, 2) and paired.value == pytest.approx(row.value)
    assert compare(human, {"a": near[0], "b": near[1]}, seed=1).table.equals(
        compare(human, {"a": near[0], "b": near[1]}, seed=1).table
    )
