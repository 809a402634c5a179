"""The mixing studies as they are shipped: real data, arms, claims and the thesis's numbers."""

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.judgments.mixed import mix_named
from sfumato.labels.labelset import CrowdLabels
from sfumato.learn.folds import Split
from sfumato.studies.comparison import mixing
from sfumato.studies.comparison.mixing import ARMS, MAJORITY, PEOPLE_H, SOFT
from sfumato.studies.comparison.mixing_tables import COMPARISONS, PAPERS
from sfumato.studies.comparison.setting import Known

STUDIES = ("mixing-augment", "mixing-full", "mixing-logistic")
SEEN = "Predicted Mixing Factor"
"""What H-Mix calls the coefficients that people saw."""


@pytest.fixture(scope="module")
def known(data_folder: Path) -> Known:
    """What the studies work on."""
    return mixing.load(data_folder)


@pytest.fixture(scope="module")
def split(known: Known) -> Split:
    """The published one."""
    return mixing.splits(known, COMPARISONS["mixing-full"][0], 0)[0]


def test_all_810_mixes_are_of_images_that_are_learnt(known: Known, split: Split) -> None:
    assert known.percepts is not None
    ends = [(mix.first_item, mix.second_item) for mix in known.percepts.mixes]
    original = dict(
        zip(known.labels["original"].items, known.labels["original"].probs, strict=True)
    )

    assert (len(split.train), len(split.test)) == (7000, 3000)
    assert (len(ends), len(known.percepts.annotators)) == (810, 33)
    assert {item for pair in ends for item in pair} <= set(split.train)
    target = ARMS["mixup labels"].make(known, split, 0)
    assert target.augmenting is not None
    assert len(target.augmenting) == 810
    for mix in known.percepts.mixes:  # the classes that people were told are the endpoints' labels
        told = [CIFAR10.index(name) for name in (mix.first_class, mix.second_class)]
        assert told == [original[mix.first_item].argmax(), original[mix.second_item].argmax()]


def test_labels_of_mixes_are_what_the_authors_processed_file_says(
    known: Known, split: Split, data_folder: Path
) -> None:
    released = json.loads((data_folder / "hmix" / "processed_hmix_inferences.json").read_bytes())
    target = ARMS["separate λ_h"].make(known, split, 0)
    assert target.augmenting is not None
    labels = target.augmenting.labels
    assert isinstance(labels, CrowdLabels)
    ours: dict[str, Counter[float]] = defaultdict(Counter)
    for place, row in zip(labels.item, labels.probs, strict=True):
        ours[labels.items[place]][round(float(row.max()), 6)] += 1

    left = Counter[int]()
    for name, entry in released.items():
        if (mix := mix_named(name)).item in ours:
            theirs = Counter(round(max(value, 1 - value), 6) for value in entry[SEEN])
            assert not ours[mix.item] - theirs
            left[(theirs - ours[mix.item]).total()] += 1
    assert left.total() == 810
    assert left.total() - left[0] <= 66  # the repeats, which labels leave out
    assert sum(times * number for times, number in left.items()) == 66


def test_soft_endpoints_are_elicited_where_they_can_be_and_simulated_elsewhere(
    known: Known, split: Split, data_folder: Path
) -> None:
    soft, votes = known.labels[SOFT], known.labels[PEOPLE_H]
    released = json.loads(
        (data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json").read_bytes()
    )
    asked = np.array([item in released for item in soft.items])
    theirs = np.array([np.mean(released[item], axis=0) for item in soft.items if item in released])
    step = next(one for one in soft.provenance if one.name == "extend by simulated answers")

    assert soft.items == split.train  # nothing about the 3,000
    assert asked.sum() == 1000
    assert np.abs(soft.probs[asked] - theirs).mean() < 0.005  # theirs count repeats (C12)
    assert (step.settings["items of people"], step.settings["simulated items"]) == (1000, 6000)
    agree = soft.probs.argmax(axis=1) == votes.take(soft.items).probs.argmax(axis=1)
    assert agree[~asked].mean() > 0.97  # simulated people see the votes of the image
    assert ARMS[f"mixup, {SOFT}"].make(known, split, 0).simulated


@pytest.mark.parametrize("name", STUDIES)
def test_shipped_studies_name_arms_that_exist(name: str) -> None:
    for study in COMPARISONS[name]:
        assert set(study.arms) <= set(ARMS)
        assert study.seeds >= 3
        assert not study.training.augment  # no crops, no mirror images, as in the thesis


def test_the_papers_size_is_the_theses() -> None:
    augment, full, logistic = (COMPARISONS[name][1] for name in STUDIES)

    assert augment.networks == ("preact-resnet-18",)
    assert full.networks == logistic.networks == ("preact-resnet-34",)
    for study in (augment, full, logistic):
        assert (study.training.epochs, study.training.milestones, study.seeds) == (
            200,
            (100, 150),
            5,
        )


@pytest.mark.parametrize("name", STUDIES)
def test_every_claim_is_about_arms_of_its_study_and_agrees_with_the_printed_numbers(
    name: str,
) -> None:
    paper, (study, _) = PAPERS[name], COMPARISONS[name]

    assert {arm for arm, *_ in paper.numbers} <= set(study.arms)
    for claim in paper.claims:
        if not claim.metric:
            assert claim.note
            continue
        assert {claim.first, claim.second} <= set(study.arms)
        numbers = [float(text) for text in re.findall(r"([0-9.]+)±", claim.paper)]
        assert len(numbers) == 2 or claim.paper == "not run"
        if numbers:
            assert (numbers[0] < numbers[1]) == (claim.claimed == "lower")
    told = Counter(
        (one.first, one.second, one.metric, one.stratum) for one in paper.claims if one.metric
    )
    assert max(told.values()) == 1


def test_every_study_has_its_controls() -> None:
    augment, full, logistic = (set(COMPARISONS[name][0].arms) for name in STUDIES)

    assert {"no mixing", "shuffled λ_h", "shuffled λ_h + ω"} <= augment
    assert {"no mixing", f"mixup, {MAJORITY}", f"mixup, {PEOPLE_H}"} <= full
    assert {
        f"{kind} τ{loss}"
        for kind in ("identity", "pooled", "shuffled")
        for loss in ("", " + Ent-WC")
    } <= logistic
