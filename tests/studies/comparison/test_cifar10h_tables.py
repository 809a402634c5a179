"""The comparisons of paper 1 and its claims hang together, and its numbers are as printed."""

import pytest

from sfumato.studies.comparison.cifar10h import ARMS, FAMILIES
from sfumato.studies.comparison.cifar10h_tables import COMPARISONS, PAPERS
from sfumato.studies.comparison.ladder import growth
from sfumato.studies.comparison.measured import AGREEMENT, MEASURED
from sfumato.studies.comparison.setting import attacks_of
from sfumato.studies.rescore.paper1 import TABLE_1
from sfumato.studies.rescore.stored import STORED
from sfumato.studies.shipped import shipped_study


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_name_arms_and_families_that_exist(name: str) -> None:
    for size in ("cpu", "paper"):
        one = shipped_study(name, size)
        assert one in COMPARISONS[name]
        assert set(one.arms) <= ARMS.keys()
        assert one.family in FAMILIES
        assert one.seeds >= 3


@pytest.mark.parametrize("name", COMPARISONS)
def test_every_comparison_has_the_majority_vote_as_a_control(name: str) -> None:
    assert all({"hard", "majority"} <= set(one.controls) for one in COMPARISONS[name])


@pytest.mark.parametrize("name", COMPARISONS)
def test_papers_size_is_eight_networks_and_ten_folds(name: str) -> None:
    cpu, paper = COMPARISONS[name]

    assert (len(paper.networks), paper.folds, paper.training.epochs) == (8, 10, 150)
    assert (cpu.networks, cpu.folds) == (("cnn-3",), 3)
    assert (cpu.seeds, paper.seeds) == (6, 3)


def test_table_1_has_its_six_ways_of_training() -> None:
    printed = {"pretrained", "hard", "hard + mixup", "category", "soft", "sampled"}

    assert all(set(rows) == printed for rows in TABLE_1.values())
    assert TABLE_1.keys() == STORED.keys()
    assert printed < set(COMPARISONS["cifar10h-alternatives"][0].arms)


def test_attacks_are_the_papers() -> None:
    found = [
        (one.kind, one.epsilon_255, one.step_255, one.iterations)
        for one in attacks_of(COMPARISONS["cifar10h-attacks"][0])
    ]

    assert found == [("fgsm", 4, 0, 1), ("fgsm", 8, 0, 1), ("pgd", 4, 1, 9)]


@pytest.mark.parametrize("name", COMPARISONS)
def test_claims_are_about_what_is_measured(name: str) -> None:
    comparison, _ = COMPARISONS[name]
    strata = {"all", *AGREEMENT, "fgsm/4", "fgsm/8", "pgd/4/9"}
    grown = {growth(ladder) for ladder in comparison.ladders}

    for claim in PAPERS[name].claims:
        assert {claim.first, claim.second} <= set(comparison.arms)
        assert claim.stratum in strata
        assert claim.metric in MEASURED or claim.against in grown
        assert claim.note


def test_claims_of_table_1_are_its_own_numbers() -> None:
    claims = PAPERS["cifar10h-alternatives"].claims
    told = {(one.first, one.second, one.against): one.paper for one in claims}

    # .35 .35 .34 .32 .28 .29 .27 .26 and .57 .65 .54 .59 .51 .46 .42 .51, as printed
    assert told["soft", "hard", "CIFAR-10H"].startswith("0.31 against 0.53 on average")
    assert told["category", "hard + mixup", "CIFAR-10H"].endswith("lower in 5 of 8 networks")


def test_numbers_beside_ours_are_means_and_ranges_of_table_1() -> None:
    numbers = PAPERS["cifar10h-alternatives"].numbers

    assert numbers["soft", "CIFAR-10H", "all", "cross_entropy"] == "0.31, from 0.26 to 0.35"
    assert numbers["pretrained", "original", "all", "cross_entropy"] == "0.16, from 0.09 to 0.26"
