"""Section 7 of paper 2: label sets, who learns what, and what models are held against."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import entropy as scipy_entropy

from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.signals import entropy, non_max_mass
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.learn.train import Recipe
from sfumato.reporting.page import Page
from sfumato.reporting.tables import Table
from sfumato.scores import Difference, read_differences, read_scores
from sfumato.studies.comparison import families, label_sets
from sfumato.studies.comparison.cifar10h import splits
from sfumato.studies.comparison.cifar10h_sets import FURTHER, NEAR
from sfumato.studies.comparison.label_sets import (
    ARMS,
    ELICITED,
    FAMILIES,
    HARD,
    IN_FILLED,
    LS_HIGH,
    LS_LOW,
    MODES,
    MODES_S,
    PEOPLE,
    PER_CLASS,
    SETS,
    few,
)
from sfumato.studies.comparison.label_sets_claims import OUR_LADDER
from sfumato.studies.comparison.label_sets_tables import COMPARISONS, LABELS, PAPERS, SMALL
from sfumato.studies.comparison.ladder import growth
from sfumato.studies.comparison.resonance import DISTANCE, OWN
from sfumato.studies.comparison.run import run_comparison
from sfumato.studies.comparison.setting import Known
from sfumato.studies.comparison.softness import crossed_rows

CLASSES = tuple("abcdefghij")
ITEMS = tuple(map(str, range(1500)))
"""Of which two thirds are learnt: 100 of each class."""
SOFT = ITEMS[:60]
"""Items with soft answers."""
NEAR_ITEMS = tuple(f"train/{place}" for place in range(20))


@pytest.fixture(scope="module")
def known() -> Known:
    """Pictures of one bright column, votes around the original label, some soft answers."""
    rng = np.random.default_rng(0)
    digit = np.arange(len(ITEMS)) % 10
    images = rng.integers(0, 60, size=(len(ITEMS) + 20, 12, 12, 3))
    for row in range(len(images)):
        images[row, :, row % 10] += 150
    original = hard_labels(ITEMS, CLASSES, digit)
    people = LabelSet(ITEMS, CLASSES, 0.9 * original.probs + 0.1 * rng.dirichlet([0.3] * 10, 1500))
    soft = LabelSet(SOFT, CLASSES, rng.dirichlet([0.5] * 10, size=len(SOFT)))
    near = hard_labels(NEAR_ITEMS, CLASSES, np.arange(20) % 10)
    return Known(
        Examples((*ITEMS, *NEAR_ITEMS), images.astype(np.uint8)),
        labels={
            "original": original,
            **label_sets.label_sets(original, people, soft),
            ELICITED: soft,
            NEAR: near,
        },
        parts={NEAR: NEAR_ITEMS},
    )


@pytest.fixture(scope="module")
def split(known: Known) -> Split:
    return splits(known, LABELS, 0)[0]


def target(known: Known, split: Split, name: str, seed: int = 0) -> LabelSet:
    labels = ARMS[name].make(known, split, seed).labels
    assert isinstance(labels, LabelSet)
    return labels


def test_smoothing_leaves_as_much_off_the_top_as_the_paper_says(known: Known) -> None:
    for name, epsilon in ((LS_LOW, 0.05), (LS_HIGH, 0.2)):
        labels = known.labels[name]

        assert non_max_mass(labels) == pytest.approx(np.full(len(labels), epsilon))
        assert (labels.probs.argmax(axis=1) == known.labels[HARD].probs.argmax(axis=1)).all()


def test_soft_answers_are_filled_in_with_hard_labels_and_their_modes_too(known: Known) -> None:
    filled, modes = known.labels[IN_FILLED], known.labels[MODES_S]

    assert filled.take(SOFT).probs.tolist() == known.labels[ELICITED].probs.tolist()
    assert (non_max_mass(filled.take(ITEMS[60:])) == 0).all()
    assert (non_max_mass(modes) == 0).all()
    assert (modes.probs.argmax(axis=1) == filled.probs.argmax(axis=1)).all()
    assert (non_max_mass(known.labels[MODES]) == 0).all()


@pytest.mark.parametrize("name", [*SETS, MODES, MODES_S])
def test_an_arm_learns_its_label_set_on_all_images_of_the_split(
    known: Known, split: Split, name: str
) -> None:
    labels = target(known, split, name)

    assert labels.items == split.train
    assert labels.probs.tolist() == known.labels[name].take(split.train).probs.tolist()


def test_small_data_are_the_same_images_for_every_label_set(known: Known, split: Split) -> None:
    by_size = {
        count: {ARMS[few(name, count)].make(known, split, 3).items for name in SETS}
        for count in PER_CLASS
    }
    (many,), (fewer,) = by_size[80], by_size[8]

    assert many is not None
    assert fewer is not None
    digits = [int(item) % 10 for item in fewer]
    assert (len(many), [digits.count(digit) for digit in range(10)]) == (800, [8] * 10)
    assert set(fewer) < set(many) < set(split.train)
    assert ARMS[few(HARD, 8)].make(known, split, 4).items != fewer


def test_every_label_set_is_tested_against_on_images_that_are_not_learnt(
    known: Known, split: Split
) -> None:
    held_out, elicited, near = label_sets.tests(known, split)

    assert tuple(held_out.labels) == SETS
    assert held_out.items == split.test
    assert not set(held_out.items) & set(split.train)
    assert set(elicited.items) == set(SOFT) & set(split.test)
    assert tuple(elicited.labels) == (ELICITED,)
    assert near.items == NEAR_ITEMS


def test_folds_without_soft_answers_are_not_tested_against_them(known: Known) -> None:
    without = Split(ITEMS[:100], (), ITEMS[900:], selection="none")

    assert [test.part for test in label_sets.tests(known, without)] == ["held out", NEAR]


def wasserstein(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Of as many values each: the mean distance of the sorted ones."""
    return float(np.abs(np.sort(first) - np.sort(second)).mean())


def test_run_crosses_label_sets_and_tells_whose_entropy_models_have(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[Page] = []
    family = replace(FAMILIES["label-sets"], load=lambda folder: known)
    monkeypatch.setitem(families.FAMILIES, "label-sets", family)
    monkeypatch.setattr(
        "sfumato.studies.comparison.page.write_report", lambda page, folder: pages.append(page)
    )
    small = replace(
        LABELS,
        arms=(HARD, LS_HIGH, MODES),
        controls=(HARD, MODES),
        crossed=(HARD, LS_HIGH),
        networks=("simple-ffn",),
        training=Recipe("simple-ffn", epochs=2),
        seeds=2,
        ladders=(),
    )

    done = run_comparison(small, tmp_path, data=None)

    assert done.failed == 0
    scores = read_scores(tmp_path / "scores.parquet")
    loss = {
        (one.arm, one.against): one.value
        for one in scores
        if (one.metric, one.stratum) == ("cross_entropy", "all")
    }
    assert set(loss) == {
        (arm, against) for arm in small.arms for against in (*SETS, ELICITED, NEAR)
    }
    assert loss[LS_HIGH, LS_HIGH] < loss[HARD, LS_HIGH]
    matrix = crossed_rows(scores, "cross_entropy")
    assert matrix.columns == ["learnt", "network", *SETS, ELICITED, NEAR]
    assert matrix["learnt"].to_list() == [HARD, LS_HIGH, MODES]

    apart = {
        (one.first, one.second): one
        for one in read_differences(tmp_path / "differences.parquet")
        if one.metric == DISTANCE
    }
    entropies = pl.read_parquet(tmp_path / "tables" / "entropies.parquet")
    labels = entropies.filter(arm=LS_HIGH, source="labels")["entropy"].to_numpy()
    model = entropies.filter(arm=LS_HIGH, source="model")["entropy"].to_numpy()
    assert set(apart) == {(HARD, LS_HIGH), (LS_HIGH, HARD)}  # modes are no label set of the paper
    assert apart[HARD, LS_HIGH].against == OWN
    assert apart[HARD, LS_HIGH].value == pytest.approx(-apart[LS_HIGH, HARD].value)
    smoothed = [0.8, *[0.2 / 9] * 9]
    assert labels == pytest.approx(np.full(500, scipy_entropy(smoothed)))
    assert len(model) == 500
    assert _first_seed_distance(tmp_path, apart[HARD, LS_HIGH]) == pytest.approx(
        _distance(entropies, HARD) - _distance(entropies, LS_HIGH)
    )
    section = next(one for one in pages[0].sections if one.title == "Learnt and tested")
    assert [type(block) is Table for block in section.blocks] == [True, True, False, False, False]


def _distance(entropies: pl.DataFrame, arm: str) -> float:
    mine = [
        entropies.filter(arm=arm, source=source)["entropy"].to_numpy()
        for source in ("labels", "model")
    ]
    return wasserstein(*mine)


def _first_seed_distance(folder: Path, one: Difference) -> float:
    """From the mean and the interval of two seeds: t(0.975, 1) = 12.706 half ranges."""
    assert one.low is not None
    assert one.high is not None
    half = (one.high - one.low) / 2 / 12.7062047
    ends = (one.value - half, one.value + half)
    entropies = pl.read_parquet(folder / "tables" / "entropies.parquet")
    first = _distance(entropies, HARD) - _distance(entropies, LS_HIGH)
    return min(ends, key=lambda end: abs(end - first))


@pytest.mark.parametrize("name", COMPARISONS)
def test_claims_name_arms_and_labels_that_there_are(name: str) -> None:
    for comparison in COMPARISONS[name]:
        tested = {*SETS, ELICITED, NEAR, *FURTHER, OWN}
        tested |= {growth(ladder) for ladder in comparison.ladders}
        for claim in PAPERS[name].claims:
            if not claim.metric:
                assert claim.note
                continue
            assert {claim.first, claim.second} <= set(comparison.arms)
            assert claim.against in tested
        asked = [
            (one.metric, one.first, one.second, one.against)
            for one in PAPERS[name].claims
            if one.metric
        ]
        assert len(asked) == len(set(asked))


def test_every_comparison_has_the_modes_of_both_kinds_of_people() -> None:
    assert {MODES, MODES_S} <= set(LABELS.controls)
    assert {few(MODES, 80), few(MODES_S, 8)} <= set(SMALL.controls)
    assert min(LABELS.seeds, SMALL.seeds) >= 3
    assert OUR_LADDER in LABELS.ladders
    assert COMPARISONS["informativeness-labels"][1].folds == 10


def test_label_sets_of_the_data_folder_are_as_soft_as_the_papers(data_folder: Path) -> None:
    votes = read(data_folder / "cifar10h" / "cifar10h-counts.npy", "cifar10h", ReadOptions())
    answers = read(data_folder / "cifar10s" / "raw_human_data.csv", "cifar10s", ReadOptions())
    assert isinstance(votes, Judgments)
    assert isinstance(answers, Judgments)
    people = build(votes, "votes").crowd.mean()
    soft = build(select(answers), "top2-clamp").crowd.mean()
    labels = np.load(data_folder / "cifar10" / "test_labels.npy")
    original = hard_labels(tuple(map(str, range(10_000))), people.classes, labels)

    found = label_sets.label_sets(original, people.take(original.items), soft)

    assert entropy(soft).mean() == pytest.approx(0.69, abs=0.01)  # S1-18
    assert non_max_mass(found[PEOPLE]).mean() == pytest.approx(0.0456, abs=5e-5)  # S1-16
    assert found[IN_FILLED].take(soft.items).probs.tolist() == soft.probs.tolist()
    assert len(soft) == 1000
    by_softness = sorted(SETS, key=lambda name: float(entropy(found[name]).mean()))
    assert by_softness == [HARD, IN_FILLED, PEOPLE, LS_LOW, LS_HIGH]


def test_without_a_folder_of_data_sets_cifar10h_is_asked_for() -> None:
    with pytest.raises(DataError, match="SFUMATO_DATA"):
        FAMILIES["label-sets"].load(None)
