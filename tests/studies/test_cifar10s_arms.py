"""What the arms of papers 3 and 4 learn, against labels computed from the files by hand."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import build
from sfumato.labels.build.distances import vector_distances
from sfumato.labels.labelset import CrowdLabels
from sfumato.learn.folds import Split
from sfumato.learn.sweep import fingerprint
from sfumato.studies import trainings
from sfumato.studies.cifar_sources import PEOPLE_H, PEOPLE_S, RELEASED_S, VARIETIES
from sfumato.studies.data import Predictions, StudyData, Target
from sfumato.studies.measures.interest import label_pairs
from sfumato.studies.sources import load_data
from sfumato.studies.study import Arm, read_study, with_arms
from sfumato.studies.trainings import plan_trainings, splits_of, target_of, training_cell

VOTES = (1, 2, 4, 6, 8, 16, 32)
SOFT_ANSWERS = (1, 2, 3, 4, 5)
ITEMS = (250, 500, 750, 900)
READINGS = [name for name in VARIETIES if name not in (PEOPLE_S, RELEASED_S)]
NOT_ONLY_THE_900 = ("hard", "label smoothing")
PLAIN = ["hard", "random", "uniform", "label smoothing", "label smoothing of the 900", PEOPLE_H]
STUDY = read_study(
    "cifar10s-aggregate",
    changes={
        "arms": [
            {"labels": [*PLAIN, *READINGS]},
            {"labels": [PEOPLE_H, PEOPLE_S], "majority": True},
            {"labels": PEOPLE_H, "shown": "sampled"},
            {"labels": READINGS, "shown": "one annotator"},
            {"labels": "T2 clamp", "people": list(SOFT_ANSWERS), "shown": "one annotator"},
            {"labels": PEOPLE_H, "people": list(VOTES), "shown": "sampled"},
            {"labels": PEOPLE_S, "people": list(SOFT_ANSWERS), "majority": True},
            {"labels": PEOPLE_H, "people": list(VOTES), "majority": True},
            {"labels": "hard", "items": list(ITEMS)},
            {"labels": PEOPLE_H, "items": list(ITEMS), "shown": "sampled"},
            {"labels": "T2 clamp", "items": list(ITEMS), "shown": "one annotator"},
            {"labels": PEOPLE_S, "items": list(ITEMS), "majority": True},
        ]
    },
)
"""Every arm of the papers' tables and curves, and their controls."""
WHOLE = [arm.name for arm in STUDY.arms if arm.items is None]
FEW = [arm.name for arm in STUDY.arms if arm.items is not None]


@pytest.fixture(scope="module")
def data(data_folder: Path) -> StudyData:
    return load_data(STUDY, data_folder)


@pytest.fixture(scope="module")
def split(data: StudyData) -> Split:
    (only,) = splits_of(data, 0)
    return only


@pytest.fixture(scope="module")
def counts(data_folder: Path) -> NDArray[np.int64]:
    """The released votes, one row per test image."""
    return np.load(data_folder / "cifar10h" / "cifar10h-counts.npy").astype(np.int64)


def learnt(data: StudyData, split: Split, arm: str, seed: int = 0) -> Target:
    return target_of(STUDY.arm(arm), data, split, seed)


def elicited(data: StudyData, split: Split) -> tuple[str, ...]:
    known = set(data.parts["elicited"])
    return tuple(item for item in split.train if item in known)


def test_arms_have_the_papers_names() -> None:
    assert len(WHOLE) == 9 + 9 + 9 + 5 + 7 + 5 + 7
    assert {"CIFAR-10H separate", "T2 as released separate", "T2 clamp M=5"} <= set(WHOLE)
    assert {"CIFAR-10H M=32 majority", "CIFAR-10S M=1 majority"} <= set(WHOLE)
    assert {"hard N'=250", "CIFAR-10S majority N'=900"} <= set(FEW)


def test_split_is_the_published_one_with_100_held_out_that_differ_by_seed(
    data: StudyData, split: Split, data_folder: Path
) -> None:
    train, test = (
        np.load(data_folder / "cifar10s" / f"{part}_indices.npy").tolist()
        for part in ("train", "test")
    )
    soft = json.loads((data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json").read_text())

    assert (len(split.train), len(split.test), len(split.second_test)) == (6900, 3000, 100)
    assert set(split.test) == set(map(str, test))
    assert set(split.train) | set(split.second_test) == set(map(str, train))
    assert set(split.second_test) <= soft.keys()
    (other,) = splits_of(data, 1)
    assert set(other.second_test) != set(split.second_test)
    assert splits_of(data, 0) == [split]


@pytest.mark.parametrize("arm", WHOLE)
def test_arm_learns_the_6900_and_changes_at_most_the_900(
    data: StudyData, split: Split, arm: str
) -> None:
    target = learnt(data, split, arm)
    labels = target.mean.take(split.train)
    changed = (labels.probs != data.original.take(split.train).probs).any(axis=1)
    moved = {item for item, one in zip(split.train, changed, strict=True) if one}

    assert target.items is None
    assert set(target.mean.items) == set(split.train)
    if arm not in NOT_ONLY_THE_900:
        assert moved <= set(elicited(data, split))


def test_exactly_900_rows_change_where_every_label_is_soft(data: StudyData, split: Split) -> None:
    original = data.original.take(split.train).probs
    for arm in ("random", "uniform", "label smoothing of the 900"):
        changed = (learnt(data, split, arm).mean.take(split.train).probs != original).any(1)

        assert changed.sum() == 900
    smoothed = learnt(data, split, "label smoothing").mean
    assert np.array_equal(smoothed.probs, original * 0.95 + 0.005)


@pytest.mark.parametrize("arm", FEW)
def test_arm_with_few_items_learns_only_elicited_ones_and_fewer_are_among_the_more(
    data: StudyData, split: Split, arm: str
) -> None:
    count = STUDY.arm(arm).items
    target = learnt(data, split, arm)

    assert target.items is not None
    assert count is not None
    assert len(target.items) == count
    assert set(target.items) <= set(elicited(data, split))
    assert set(target.mean.items) == set(target.items)
    for more in (other for other in ITEMS if other > count):
        larger = learnt(data, split, arm.replace(f"={count}", f"={more}")).items
        assert set(target.items) <= set(larger or ())


def test_votes_are_the_shares_of_the_released_counts(
    data: StudyData, split: Split, counts: NDArray[np.int64]
) -> None:
    items = elicited(data, split)
    rows = counts[[int(item) for item in items]]
    shares = rows / rows.sum(axis=1, keepdims=True)

    assert np.allclose(learnt(data, split, PEOPLE_H).mean.take(items).probs, shares)
    separate = learnt(data, split, f"{PEOPLE_H} separate")
    assert separate.presentation == "sampled"
    assert np.allclose(separate.mean.take(items).probs, shares)


@pytest.mark.parametrize("M", VOTES)
def test_pool_of_votes_holds_m_that_were_cast_and_its_majority_is_of_the_same(
    data: StudyData, split: Split, counts: NDArray[np.int64], M: int
) -> None:
    items = elicited(data, split)
    target = learnt(data, split, f"{PEOPLE_H} M={M}")
    drawn = target.mean.take(items).probs * M

    assert target.presentation == "sampled"
    assert np.allclose(drawn, np.rint(drawn))
    assert drawn.sum(axis=1) == pytest.approx(M)
    assert (np.rint(drawn) <= counts[[int(item) for item in items]]).all()
    mode = learnt(data, split, f"{PEOPLE_H} M={M} majority").mean.take(items).probs
    assert set(np.unique(mode)) == {0.0, 1.0}
    assert np.allclose((mode * drawn).sum(axis=1), drawn.max(axis=1))


@pytest.mark.parametrize("M", [*SOFT_ANSWERS, 6])
def test_pool_of_soft_answers_holds_m_of_those_given(data: StudyData, split: Split, M: int) -> None:
    items = elicited(data, split)
    target = learnt(data, split, "T2 clamp separate" if M == 6 else f"T2 clamp M={M}")
    crowd = target.labels
    assert isinstance(crowd, CrowdLabels)
    given = data.crowds["T2 clamp"]
    said = {
        (given.items[item], given.annotators[person], row.tobytes())
        for item, person, row in zip(given.item, given.annotator, given.probs, strict=True)
    }

    sizes = np.bincount(crowd.item, minlength=len(crowd.items))
    by_item = dict(zip(crowd.items, sizes, strict=True))
    assert target.presentation == "one annotator"
    assert all(by_item[item] == M for item in items)
    assert sizes.sum() == 900 * M + 6000
    soft = crowd.annotator >= 0
    pool = zip(crowd.item[soft], crowd.annotator[soft], crowd.probs[soft], strict=True)
    assert all(
        (crowd.items[item], crowd.annotators[person], row.tobytes()) in said
        for item, person, row in pool
    )


def test_fewer_people_are_among_the_more(data: StudyData, split: Split) -> None:
    asked: set[tuple[str, str]] = set()
    for M in SOFT_ANSWERS:
        crowd = learnt(data, split, f"T2 clamp M={M}").labels
        assert isinstance(crowd, CrowdLabels)
        pairs = zip(crowd.item, crowd.annotator, strict=True)
        now = {(crowd.items[item], crowd.annotators[one]) for item, one in pairs if one >= 0}
        assert asked < now
        asked = now


@pytest.mark.parametrize("M", SOFT_ANSWERS)
def test_mode_of_few_soft_answers_is_that_of_the_same_answers(
    data: StudyData, split: Split, M: int
) -> None:
    items = elicited(data, split)
    pool = learnt(data, split, f"T2 clamp M={M}").mean.take(items).probs
    mode = learnt(data, split, f"{PEOPLE_S} M={M} majority").mean.take(items).probs

    assert set(np.unique(mode)) == {0.0, 1.0}
    assert np.allclose((mode * pool).sum(axis=1), pool.max(axis=1))


def test_majorities_differ_from_the_original_label_on_29_and_57_images(
    data: StudyData, data_folder: Path
) -> None:
    """Paper 4's own file, which mixes repeats into the labels (C12), says 62 (C15)."""
    items = data.parts["elicited"]
    original = data.original.take(items).probs.argmax(axis=1)
    file = json.loads((data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json").read_text())
    released = np.array([np.mean(file[item], axis=0).argmax() for item in items])

    differ = {
        name: int((data.labels[name].take(items).probs.argmax(axis=1) != original).sum())
        for name in (PEOPLE_H, PEOPLE_S)
    }
    assert differ == {PEOPLE_H: 29, PEOPLE_S: 57}
    assert int((released != original).sum()) == 62


def test_soft_answers_with_repeats_are_those_of_the_released_file(data_folder: Path) -> None:
    path = data_folder / "cifar10s" / "raw_human_data.csv"
    everything = read(path, "cifar10s", ReadOptions())
    assert isinstance(everything, Judgments)
    ours = build(everything, "top2-clamp", rule="released").crowd.mean()
    file = json.loads((data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json").read_text())

    theirs = np.array([np.mean(file[item], axis=0) for item in ours.items])
    assert np.abs(ours.probs - theirs).max() < 1e-12


def test_as_released_t1_is_hard_and_t2_shares_nothing_out(data: StudyData) -> None:
    one, both = data.crowds["T1 as released"], data.crowds["T2 as released"]
    clamp = data.crowds["T2 clamp"]

    assert set(np.unique(one.probs)) == {0.0, 1.0}
    assert ((both.probs > 0).sum(axis=1) <= 2).all()
    assert np.array_equal(both.item, clamp.item)
    # the two choices keep their ratio, whatever the others get
    said = both.probs > 0
    ratio = np.where(said, clamp.probs / np.where(said, both.probs, 1), np.nan)
    spread = np.nanmax(ratio, axis=1) - np.nanmin(ratio, axis=1)
    assert np.allclose(spread, 0)
    assert (clamp.probs[~said] > 0).any()
    released = data.labels[RELEASED_S]
    assert np.allclose(released.probs, both.mean().take(released.items).probs)


def test_models_are_held_against_votes_on_the_3000_and_soft_answers_on_the_100(
    data: StudyData, split: Split
) -> None:
    test, held_out = trainings.tests_of(data, split)

    assert set(test.labels) == {PEOPLE_H, "original"}
    assert test.items == split.test
    assert set(held_out.labels) == {PEOPLE_S, RELEASED_S}
    assert held_out.items == split.second_test
    assert (test.attacked, held_out.attacked) == (PEOPLE_H, PEOPLE_S)
    assert not set(split.train) & {*test.items, *held_out.items}


def test_every_variety_is_an_average_and_one_answer_at_a_time(
    data: StudyData, split: Split
) -> None:
    items = elicited(data, split)
    for variety in READINGS:
        averaged, separate = (
            learnt(data, split, name) for name in (variety, f"{variety} separate")
        )
        given = data.crowds[variety].mean().take(items).probs
        assert np.allclose(averaged.mean.take(items).probs, given)
        assert (averaged.presentation, separate.presentation) == ("fixed", "one annotator")


def test_same_seed_gives_the_same_target_and_another_another_one(
    data: StudyData, split: Split
) -> None:
    for arm in ("random", f"{PEOPLE_H} M=2", "T2 clamp M=1"):
        first, again, other = (
            learnt(data, split, arm, seed).mean.take(split.train).probs for seed in (0, 0, 1)
        )
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


def test_arms_that_studies_have_in_common_are_the_same_trainings(data_folder: Path) -> None:
    def cells(study: str, *arms: str) -> dict[str, str]:
        chosen = with_arms(read_study(f"cifar10s-{study}", changes={"seeds": 1}), arms)
        known = load_data(chosen, data_folder)
        planned = plan_trainings(known)
        return {run.key.arm: fingerprint(training_cell(known, run, None)) for run in planned}

    separate = cells("separate", "hard", "CIFAR-10S majority", "T2 clamp separate")
    few = cells("few", "hard", "CIFAR-10S majority", "T2 clamp separate", "T2 clamp M=1")
    time = cells("time", "T2 clamp M=1", "CIFAR-10H M=1")

    assert separate.items() <= few.items()
    assert few["T2 clamp M=1"] == time["T2 clamp M=1"] != time["CIFAR-10H M=1"]


@pytest.mark.parametrize("gamma", [0, 0.3])
def test_gamma_of_an_arm_is_that_of_the_recipe(data: StudyData, split: Split, gamma: float) -> None:
    assert data.judgments is not None
    arm = Arm(labels="T2 clamp", gamma=gamma)
    items = elicited(data, split)

    target = target_of(arm, data, split, 0)

    expected = build(data.judgments, "top2-clamp", gamma=gamma).crowd.mean().take(items)
    assert (target.mean.take(items).probs == expected.probs).all()
    usual = learnt(data, split, "T2 clamp").mean.take(items)
    assert (usual.probs != expected.probs).any()


@pytest.mark.parametrize("beta", [0, 0.05, 1])
def test_beta_smooths_hard_soft_and_single_labels(
    data: StudyData, split: Split, beta: float
) -> None:
    for arm in (
        Arm(labels="hard"),
        Arm(labels="T2 clamp"),
        Arm(labels="T2 clamp", shown="one annotator"),
        Arm(labels=PEOPLE_S, people=2, majority=True),
    ):
        plain = target_of(arm, data, split, 0)
        smoothed = target_of(arm.model_copy(update={"beta": beta}), data, split, 0)

        items = split.train if arm.labels == "hard" else elicited(data, split)
        expected = (1 - beta) * plain.mean.take(items).probs + beta / 10  # S2-25, S2-26
        assert smoothed.mean.take(items).probs == pytest.approx(expected, abs=1e-12)
        assert smoothed.presentation == plain.presentation
    assert (target_of(Arm(labels="hard", beta=0.05), data, split, 0).mean.probs).tolist() == (
        learnt(data, split, "label smoothing").mean.probs.tolist()
    )


def test_gamma_is_for_labels_that_are_read_by_a_recipe_that_has_one(
    data: StudyData, split: Split
) -> None:
    with pytest.raises(DataError, match="'CIFAR-10H' are not read from judgments by a recipe"):
        target_of(Arm(labels=PEOPLE_H, gamma=0.2), data, split, 0)
    with pytest.raises(DataError, match="'top1-uniform' takes no gamma"):
        target_of(Arm(labels="T1 uniform", gamma=0.2), data, split, 0)


def test_word_vectors_of_a_file_share_out_what_is_left(
    data: StudyData, data_folder: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    lines = [" ".join([name, *map(str, rng.random(5))]) for name in data.original.classes]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    changes = {"arms": ["T2 semantic"], "own.vectors": str(tmp_path / "v.txt")}

    by_words = load_data(read_study("cifar10s-ablation", changes=changes), data_folder)

    distances = vector_distances(tmp_path / "v.txt", data.original.classes)
    assert data.judgments is not None
    expected = build(data.judgments, "top2-semantic", distances=distances).crowd
    assert (by_words.crowds["T2 semantic"].probs == expected.probs).all()
    assert (expected.probs != data.crowds["T2 semantic"].probs).any()
    assert not by_words.missing


def test_study_of_the_papers_size_says_where_word_vectors_are_missing(
    data_folder: Path, tmp_path: Path
) -> None:
    for name in ("cifar10", "cifar10h", "cifar10s"):
        (tmp_path / name).symlink_to(data_folder / name)
    study = read_study("cifar10s-ablation", "paper", changes={"arms": ["T2 semantic"]})

    without = load_data(study, tmp_path)

    assert any("'glove'" in sentence and "own.vectors" in sentence for sentence in without.missing)
    assert without.crowds["T2 semantic"] is not None


def test_labels_of_two_kinds_of_people_are_paired_from_closest_to_farthest(
    data: StudyData,
) -> None:
    found = label_pairs(data, Predictions())

    table = found.tables["label_pairs"]
    pairs = table.unique("item", keep="first", maintain_order=True)
    assert pairs["group"].to_list() == ["closest"] * 3 + ["farthest"] * 3 + ["softened"] * 3
    soft = data.crowds["T2 clamp"].mean()
    votes = data.labels[PEOPLE_H].take(soft.items)
    apart = np.abs(votes.probs - soft.probs).sum(axis=1) / 2
    farthest = [soft.items[row] for row in np.argsort(-apart)[:3]]
    assert pairs.filter(group="farthest")["item"].to_list() == farthest
    assert pairs["distance"].to_list() == pytest.approx(
        [apart[soft.items.index(item)] for item in pairs["item"]]
    )
    for row in pairs.filter(group="softened").iter_rows(named=True):
        assert data.labels[PEOPLE_H].take([row["item"]]).probs.max() == 1
        assert row["distance"] > 0.1
    shown = table.filter(item=farthest[0], source=PEOPLE_H)
    assert shown["probability"].to_list() == votes.take(farthest[:1]).probs[0].tolist()
    assert set(found.pictures) >= set(pairs["item"])
    varieties = found.tables["varieties"]
    assert varieties["source"].unique(maintain_order=True).to_list() == READINGS[:6]
    sums = varieties.group_by("item", "source").agg(pl.col("probability").sum())
    assert sums["probability"].to_list() == pytest.approx([1] * (3 * 6))


def test_people_who_are_tested_by_themselves_have_no_pairs(own_study: Path) -> None:
    own = load_data(read_study(own_study), None)

    assert not label_pairs(own, Predictions()).tables
