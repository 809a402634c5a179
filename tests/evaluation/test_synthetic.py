from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy
from scipy.stats import spearmanr

from sfumato.errors import DataError
from sfumato.evaluation.synthetic import agreement_of_modes, audit_synthetic, cross_scores, leads
from sfumato.labels.compare import total_variation
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.provenance import Step
from sfumato.scores import Estimate


def seeded() -> np.random.Generator:
    return np.random.default_rng(5)


def named(probs: NDArray[np.float64]) -> LabelSet:
    items = tuple(f"i{n}" for n in range(len(probs)))
    return LabelSet(items, tuple("abcdefghij"[: probs.shape[1]]), probs)


def rows(count: int, *, rng: np.random.Generator) -> LabelSet:
    return named(rng.dirichlet(np.ones(3), count))


def by_name(scores: list[Estimate], stratum: str = "all") -> dict[str, Estimate]:
    return {score.metric: score for score in scores if score.stratum == stratum}


def test_measures_are_scipys() -> None:
    rng = seeded()
    human, synthetic = rows(40, rng=rng), rows(40, rng=rng)
    p, q = human.probs, synthetic.probs

    found = by_name(audit_synthetic(human, synthetic, rng=rng, draws=100))

    doubts = scipy_entropy(p, axis=1), scipy_entropy(q, axis=1)
    expected = {
        "total_variation": np.abs(p - q).sum(axis=1).mean() / 2,
        "jensen_shannon": (jensenshannon(p, q, axis=1) ** 2).mean(),
        "kl": scipy_entropy(p, q, axis=1).mean(),
        "kl_infinite": 0,
        "mode_agreement": (p.argmax(axis=1) == q.argmax(axis=1)).mean(),
        "entropy_excess": (doubts[1] - doubts[0]).mean(),
        "entropy_rank_correlation": spearmanr(*doubts).statistic,
    }
    assert {name: score.value for name, score in found.items()} == pytest.approx(expected)
    for score in found.values():
        assert score.low is not None
        assert score.high is not None
        assert score.low <= score.value <= score.high
        assert (score.over, score.items, score.arm) == ("items", 40, "synthetic")


def test_labels_that_people_gave_pass_the_audit() -> None:
    human = rows(20, rng=seeded())

    found = by_name(audit_synthetic(human, human, rng=seeded(), draws=50))

    values = {name: score.value for name, score in found.items()}
    assert values == pytest.approx(
        {
            "total_variation": 0,
            "jensen_shannon": 0,
            "kl": 0,
            "kl_infinite": 0,
            "mode_agreement": 1,
            "entropy_excess": 0,
            "entropy_rank_correlation": 1,
        },
        abs=1e-12,
    )


def test_class_that_the_synthetic_label_excludes_is_counted() -> None:
    human = named(np.array([[0.5, 0.5], [1, 0], [0.9, 0.1], [1, 0]]))
    hard = named(np.array([[1.0, 0], [1, 0], [1, 0], [1, 0]]))

    found = by_name(audit_synthetic(human, hard, rng=seeded(), draws=50))

    assert found["kl"].value == np.inf
    assert found["kl_infinite"].value == 0.5
    assert "equally uncertain everywhere" in found["entropy_rank_correlation"].note
    assert "On 1 items" in found["mode_agreement"].note


def test_audit_is_by_stratum_and_remembers_simulated_people() -> None:
    human = named(np.array([[1.0, 0], [0.8, 0.2], [0.6, 0.4]]))
    made = LabelSet(
        human.items[::-1],
        ("b", "a"),
        np.array([[0.0, 1], [0.2, 0.8], [1, 0]]),
        provenance=(Step("simulate voters", simulated=True),),
    )
    strata = {"disputed": np.array([False, True, True])}

    found = audit_synthetic(human, made, name="vae", strata=strata, rng=seeded(), draws=20)

    assert by_name(found)["total_variation"].value == pytest.approx((1 + 0 + 0.4) / 3)
    assert by_name(found, "disputed")["total_variation"].value == pytest.approx(0.2)
    assert by_name(found, "disputed")["total_variation"].items == 2
    assert all(score.simulated and score.arm == "vae" for score in found)
    with pytest.raises(DataError, match="'disputed' has shape"):
        audit_synthetic(human, made, strata={"disputed": np.ones(3)}, rng=seeded())  # type: ignore[dict-item]


def planted() -> tuple[dict[str, list[LabelSet]], dict[str, LabelSet]]:
    """Ten items; synthetic labels differ from people's on the last four."""
    items = [f"i{n}" for n in range(10)]
    people = np.zeros(10, dtype=np.int64)
    synthetic = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    off_one = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1])  # a second seed with one mistake

    def hard(chosen: NDArray[np.int64]) -> LabelSet:
        return hard_labels(items, ["a", "b"], chosen)

    trained = {"human": [hard(people), hard(off_one)], "synthetic": [hard(synthetic)] * 2}
    return trained, {"human": hard(people), "synthetic": hard(synthetic)}


def test_each_target_wins_on_its_own_labels() -> None:
    trained, labels = planted()

    found = cross_scores(trained, labels, network="lenet", rng=seeded(), draws=200)

    assert found.select("trained_on", "tested_on", "value").rows() == [
        ("human", "human", pytest.approx(0.95)),
        ("human", "synthetic", pytest.approx(0.65)),
        ("synthetic", "human", pytest.approx(0.6)),
        ("synthetic", "synthetic", 1),
    ]
    assert found.columns[:7] == [
        "network",
        "trained_on",
        "tested_on",
        "metric",
        "value",
        "low",
        "high",
    ]
    assert set(found["seeds"]) == {2}
    between = found.filter(trained_on="synthetic", tested_on="human").row(0, named=True)
    assert 0.2 < between["low"] < 0.5 < 0.7 < between["high"] < 1


def test_leads_are_paired_over_items() -> None:
    trained, labels = planted()
    strata = {"differing": np.arange(10) >= 6}

    found = leads(trained, labels, strata=strata, rng=seeded(), draws=200)

    values = {(lead.stratum, lead.against): lead.value for lead in found}
    assert values == pytest.approx(
        {
            ("all", "human"): 0.35,
            ("all", "synthetic"): -0.35,
            ("differing", "human"): 0.875,
            ("differing", "synthetic"): -0.875,
        }
    )
    assert {(lead.arm, lead.second) for lead in found} == {("human", "synthetic")}
    first = found[0]
    assert first.low is not None
    assert first.high is not None
    assert first.low < 0.35 < first.high
    assert first.p == pytest.approx(2 / 2**4)  # four items differ, all the same way
    assert first.test == "sign-flip permutation over items"


def test_cross_table_takes_any_metric_of_items() -> None:
    trained, labels = planted()

    found = cross_scores(
        trained, labels, metric=total_variation, metric_name="tv", rng=seeded(), draws=20
    )

    assert found.filter(trained_on="synthetic", tested_on="human")["value"][0] == pytest.approx(0.4)
    assert set(found["metric"]) == {"tv"}


def test_predictions_may_come_in_other_order() -> None:
    trained, labels = planted()
    turned = {name: [one.take(one.items[::-1]) for one in sets] for name, sets in trained.items()}

    found = cross_scores(turned, labels, rng=seeded(), draws=10)

    assert found["value"].to_list() == pytest.approx([0.95, 0.65, 0.6, 1])


def test_target_without_predictions_is_named() -> None:
    _, labels = planted()

    with pytest.raises(DataError, match="trained on 'human'"):
        cross_scores({"human": []}, labels, rng=seeded())
    with pytest.raises(DataError, match="at least one training target"):
        leads({}, labels, rng=seeded())


def test_cross_validated_network_is_no_substitute_for_people(data_folder: Path) -> None:
    votes = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    human = named(votes / votes.sum(axis=1, keepdims=True))
    stored = np.load(data_folder / "label_errors" / "cifar10_test_crossval_probs.npy")
    made = named(stored.astype(np.float64) / stored.astype(np.float64).sum(axis=1, keepdims=True))
    unanimous = human.probs.max(axis=1) == 1
    strata = {"unanimous": unanimous, "disputed": ~unanimous}

    found = audit_synthetic(human, made, strata=strata, rng=seeded(), draws=100)

    whole, sure, torn = (by_name(found, name) for name in ("all", "unanimous", "disputed"))
    assert sure["total_variation"].value < torn["total_variation"].value
    assert torn["mode_agreement"].value < sure["mode_agreement"].value
    assert whole["mode_agreement"].value == pytest.approx(agreement_of_modes(human, made).mean())
    assert 0 < whole["entropy_rank_correlation"].value < 0.6
