"""What a comparison refuses, and what every shipped one keeps to."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.learn.train import Recipe
from sfumato.studies.comparison.families import FAMILIES
from sfumato.studies.comparison.ladder import gap
from sfumato.studies.comparison.measured import MEASURED, SPOILT
from sfumato.studies.comparison.papers import COMPARISONS, PAPERS
from sfumato.studies.comparison.setting import Axis, Comparison, attacks_of
from sfumato.studies.comparison.tracking import POSSIBLE, RANK_CORRELATION, REFERENCE, TOP
from sfumato.studies.study import study_to_json

SMALL = Comparison(
    name="small",
    title="Two arms",
    about="",
    family="cifar10s",
    arms=("hard", "soft"),
    controls=("hard",),
    networks=("lenet",),
    training=Recipe("lenet", epochs=1),
)
CIFAR10S = [name for name in COMPARISONS if name.startswith("cifar10s-")]
BOTH_SIZES = [
    pytest.param(one, id=f"{name}-{size}")
    for name, sizes in COMPARISONS.items()
    for size, one in zip(("cpu", "paper"), sizes, strict=True)
]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"networks": ("lenett",)}, "No network is called 'lenett'. Did you mean 'lenet'?"),
        ({"corruptions": ("contrst",)}, "'contrst'. Did you mean 'contrast'?"),
        ({"controls": ("hart",)}, "No arm of 'small' is called 'hart'. Did you mean 'hard'?"),
        (
            {"learning_rates": {"resnet-50": 0.4}},
            "No network of 'small' is called 'resnet-50'. Known: lenet.",
        ),
        (
            {"axes": (Axis("seconds", {"votes": {"hard": 1, "sofft": 2}}, "Time"),)},
            "No arm of 'small' is called 'sofft'. Did you mean 'soft'?",
        ),
    ],
)
def test_unknown_name_is_answered_with_the_nearest(change: dict[str, object], told: str) -> None:
    with pytest.raises(UnknownName, match=re.escape(told)):
        replace(SMALL, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"arms": ("hard", "soft", "hard")}, "'small' names an arm twice"),
        ({"arms": (), "controls": ()}, "'small' needs an arm, a network and a seed"),
        ({"networks": ()}, "'small' needs an arm, a network and a seed"),
        ({"seeds": 0}, "'small' needs an arm, a network and a seed"),
        ({"folds": 0}, "'small' needs an arm, a network and a seed"),
    ],
)
def test_comparison_of_nothing_is_refused(change: dict[str, object], told: str) -> None:
    with pytest.raises(DataError, match=told):
        replace(SMALL, **change)  # type: ignore[arg-type]


def test_attacks_are_fgsm_then_pgd_in_steps_of_a_quarter() -> None:
    attacks = attacks_of(replace(SMALL, fgsm=(4, 8), pgd=(2,), pgd_iterations=7))

    assert [(one.kind, one.epsilon_255) for one in attacks] == [
        ("fgsm", 4),
        ("fgsm", 8),
        ("pgd", 2),
    ]
    assert (attacks[2].step_255, attacks[2].iterations) == (0.5, 7)


def test_axes_survive_the_way_into_the_settings_file() -> None:
    axis = Axis("annotators", {"votes": {"hard": 1, "soft": 6}}, "People")

    told = study_to_json(replace(SMALL, axes=(axis,), learning_rates={"lenet": 0.5}))

    assert told["axes"] == [
        {"over": "annotators", "series": {"votes": {"hard": 1, "soft": 6}}, "title": "People"}
    ]
    assert told["learning_rates"] == {"lenet": 0.5}
    assert told["training"]["epochs"] == 1


@pytest.mark.parametrize("one", BOTH_SIZES)
def test_shipped_comparison_names_arms_of_its_family_and_trains_each_three_times(
    one: Comparison,
) -> None:
    assert set(one.arms) <= set(FAMILIES[one.family].arms)
    assert one.seeds * one.folds >= 3


@pytest.mark.parametrize("name", CIFAR10S)
def test_claims_are_about_what_is_trained_and_measured(name: str) -> None:
    cpu, _ = COMPARISONS[name]
    bounds = {f"fgsm/{bound:g}" for bound in cpu.fgsm}
    pairs = (pair for both in FAMILIES[cpu.family].gains for pair in both)
    gaps = {gap(pair) for pair in pairs if {*pair} <= {*cpu.arms}}

    for claim in PAPERS[name].claims:
        assert claim.source and claim.says and claim.paper
        if not claim.metric:
            assert claim.note
            continue
        if claim.metric == RANK_CORRELATION:  # of the answers, not of networks
            assert claim.first in (TOP, POSSIBLE)
            assert (claim.second, name) == (REFERENCE, "cifar10s-aggregate")
            continue
        assert {claim.first, claim.second} <= {*cpu.arms, *gaps}
        if claim.stratum == "all":
            assert claim.metric in MEASURED
        else:
            assert claim.metric in SPOILT
            assert claim.stratum in bounds


@pytest.mark.parametrize("name", CIFAR10S)
def test_page_of_the_study_states_claim_command_and_time(name: str) -> None:
    docs = Path(__file__).parents[3] / "docs" / "studies" / f"{name}.md"

    text = docs.read_text(encoding="utf-8")

    assert f"sfumato run {name}" in text
    for part in ("**The claim.**", "**What the papers did.**", "**What we do", "minutes"):
        assert part in text
