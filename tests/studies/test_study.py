"""What a study's file may say, what is answered if it is wrong, and what shipped ones keep to."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from sfumato.errors import DataError, SfumatoError, UnknownName
from sfumato.learn.recipe import published_recipe
from sfumato.studies.run import run_study
from sfumato.studies.sources import load_data
from sfumato.studies.study import (
    HEADS,
    Arm,
    Size,
    Study,
    read_study,
    shipped_names,
    study_from,
    study_settings,
    study_text,
    with_arms,
)

SHIPPED = shipped_names()
FROZEN = [name for name in SHIPPED if name.startswith("frozen-")]
NO_PAPER = {
    "cover-people", "digits", "digits-table", "few-votes", "forms-worth", "judges", "lewidi-2023",
    "lewidi-2025", "lewidi-2025-nli", *FROZEN,
}  # fmt: skip
"""Studies of ours, which no paper describes."""
SIZES: tuple[Size, ...] = ("cpu", "paper")
BOTH_SIZES = [(name, size) for name in SHIPPED if name not in NO_PAPER for size in SIZES]
TRAINING = [name for name in SHIPPED if read_study(name).networks]
CIFAR10S = [name for name in SHIPPED if name.startswith("cifar10s-")]
CIFAR10H = ["cifar10h-shift", "cifar10h-alternatives", "cifar10h-attacks"]
MIXING = ["mixing-augment", "mixing-full", "mixing-logistic"]
SMALL = {
    "name": "small",
    "title": "Two arms",
    "data": "cifar10s",
    "arms": ["hard", "soft"],
    "controls": ["hard"],
    "networks": ["lenet"],
}


def write(folder: Path, text: str, name: str = "s.toml") -> Path:
    path = folder / name
    path.write_text(f'name = "s"\ntitle = "S"\n{text}\n', encoding="utf-8")
    return path


def test_study_of_ones_own_has_what_its_file_says(own_study: Path) -> None:
    study = read_study(own_study)

    assert (study.name, study.networks, study.seeds) == ("lights", ("simple-ffn",), 2)
    assert study.own.images == str(own_study.parent / "pictures")
    assert (study.training.epochs, study.training.weights) == (2, "best")
    assert study.fgsm == (8.0,)
    assert study.size == "own"


def test_what_a_file_of_version_0_1_leaves_out_is_as_it_was_then(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, "[own]\nimages = 'p'"))

    assert study.data == "own"
    assert study.arm_names == ("original", "majority", "soft")
    assert study.controls == ("original", "majority")
    assert study.networks == ("simple-ffn", "deeper-ffn", "lenet")
    assert (study.seeds, study.draws, study.attacked_items) == (6, 1000, 100)
    assert study.split.shares == (0.7, 0.15, 0.15)
    recipe = study.training
    assert (recipe.epochs, recipe.schedule, recipe.patience) == (60, "plateau", 3)
    assert (recipe.stop_after, recipe.weights) == (10, "best")


def test_split_seed_of_version_0_1_is_the_seed_of_all_that_is_no_training(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, "split = [0.6, 0.2, 0.2]\nsplit_seed = 7"))

    assert (study.split.seed, study.seed) == (7, 7)
    assert study.split.shares == (0.6, 0.2, 0.2)
    with pytest.raises(DataError, match="give the seed of the split once"):
        read_study(write(tmp_path, "split_seed = 7\nsplit = { seed = 3 }"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("netwoks = ['lenet']", "Did you mean 'networks'"),
        ("networks = 'lenet'", "networks must be a list, not 'lenet'"),
        ("seeds = 'six'", "seeds must be a whole number, not 'six'"),
        ("seeds = true", "seeds must be a whole number, not True"),
        ("networks = ['lenett']", "Did you mean 'lenet'"),
        ("corruptions = ['contrst']", "Did you mean 'contrast'"),
        ("recipe = 'vote'", "Did you mean 'votes'"),
        ("split = [0.5, 0.5]", "three shares"),
        ("split = { kind = 'folded' }", "'stratified', 'difficulty', 'given', 'folds' or 'held"),
        ("arms = ['soft', 'soft']", "names an arm twice"),
        ("arms = [3]", "arms.0 must be a table, not 3"),
        ("arms = [{ label = 'soft' }]", r"key of \[arms\] is called 'label'. Did you mean 'label"),
        ("arms = [{ labels = 'soft', shown = 'once' }]", "'fixed', 'sampled' or 'one annotator'"),
        ("controls = ['orignal']", "Did you mean 'original'"),
        ("tests = [{ attacked = 'peple' }]", "held against (.*), not from 'peple'"),
        ("[training]\nepoch = 3", "Did you mean 'epochs'"),
        ("[training]\noptimizer = 'adamm'", "Did you mean 'adam'"),
        ("[training]\naugment = ['flop']", "Did you mean 'flip'"),
        ("[training]\nepochs = 'many'", "training.epochs must be a whole number"),
        ("[training]\nepochs = 0", "epochs must be at least 1"),
        ("[training]\npublished = 'umma'", "Did you mean 'uma'"),
        ("[training]\nseed = 3", "cannot set 'seed'; the study has seeds"),
        ("[training]\nnetwork = 'lenet'", "cannot set 'network'"),
        (
            "[own]\nimage = 'x'",
            r"s.toml: No key of \[own\] is called 'image'. Did you mean 'images",
        ),
        ("[own]\nformat = 'crwd'", "Did you mean 'crowd'"),
        ("[own]\nexclude = ['too-fats']", "Did you mean 'too-fast'"),
        ("[own]\npeople = 0", "own.people: Input should be greater than or equal to 1, not 0"),
        ("[simulated]\nkind = 'toptwo'", "Did you mean 'top-two'"),
        ("[learning_rates]\nlenett = 0.1", "Did you mean 'lenet'"),
        ("own = 3", "own must be a table"),
        ("networks = ['eficientnet linear']", "Did you mean 'efficientnet linear'"),
        ("[heads.a]\nnetwork = 'cnn-3'", "No network for vectors is called 'cnn-3'"),
        ("[heads.a]\nepoch = 3", r"key of \[heads\] is called 'epoch'. Did you mean 'epochs'"),
        ("extends = 'cifar10s-fw'", "Did you mean 'cifar10s-few'"),
        ("extends = ['digits', 'cifar10s-fw']", "Did you mean 'cifar10s-few'"),
        ("extends = 'other.toml'", "no study file"),
        ("title = ", "is not TOML"),
    ],
)
def test_wrong_line_is_answered_with_what_would_be_right(
    tmp_path: Path, line: str, says: str
) -> None:
    with pytest.raises(SfumatoError, match=says):
        read_study(write(tmp_path, line))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("arms = ['sofft']", "for the data 'own' is called 'sofft'. Did you mean 'soft'"),
        ("arms = [{ mix = 'mxup' }]", "Did you mean 'mixup'"),
        ("arms = [{ curve = 'tau' }]", "No curve for mixes is called 'tau'"),
        ("arms = [{ added = 'mean' }]", "No kind of added mixes is called 'mean'"),
        ("tests = [{ against = ['peple'] }]", "Did you mean 'people'"),
        ("ladders = [['people', 'orignal']]", "Did you mean 'original'"),
        ("data = 'mnits'", "No data source of studies is called 'mnits'. Did you mean 'mnist'"),
    ],
)
def test_names_that_the_data_lacks_are_told_before_anything_is_read(
    tmp_path: Path, line: str, says: str
) -> None:
    study = read_study(write(tmp_path, line))

    with pytest.raises(UnknownName, match=says):
        load_data(study, None)


def test_study_needs_a_name_and_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('title = "S"\n', encoding="utf-8")

    with pytest.raises(DataError, match="'name' is missing"):
        read_study(path)
    with pytest.raises(DataError, match="no study file"):
        read_study(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"arms": ["hard", "soft", "hard"]}, "names an arm twice: hard, soft, hard"),
        ({"arms": [], "controls": []}, "needs an arm and a network at least"),
        ({"networks": []}, "needs an arm and a network at least"),
        ({"seeds": 0}, "seeds: Input should be greater than or equal to 1"),
        ({"folds": 0}, "folds: Input should be greater than or equal to 1"),
        ({"draws": 99}, "draws: Input should be greater than or equal to 100"),
        ({"strength": 6}, "strength: Input should be less than or equal to 5"),
        ({"name": "a b"}, "no spaces or slashes"),
        ({"networks": ["lenett"]}, "No network is called 'lenett'. Did you mean 'lenet'?"),
        ({"controls": ["hart"]}, "No arm of the study is called 'hart'. Did you mean 'hard'?"),
        ({"crossed": ["sofft"]}, "No arm of the study is called 'sofft'. Did you mean 'soft'?"),
    ],
)
def test_impossible_study_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(SfumatoError, match=re.escape(told)):
        study_from({**SMALL, **change})


def test_head_is_known_by_its_name_and_what_a_study_says_of_it_comes_on_top() -> None:
    networks = ["cnn-3", "efficientnet linear", "efficientnet mlp"]
    study = read_study(
        "cifar10h-alternatives",
        changes={
            "networks": networks,
            "heads.efficientnet linear.epochs": 7,
            "training.augment": ["crop", "flip"],
        },
    )

    linear, mlp = (study.recipe_of(name, 3) for name in networks[1:])

    assert study.heads["efficientnet linear"].encoder == "efficientnet-lite0"
    assert (linear.network, linear.epochs, linear.seed) == ("linear", 7, 3)
    assert (mlp.network, mlp.epochs) == ("mlp", HEADS["efficientnet mlp"].epochs)
    before = study.pretraining_recipe("efficientnet linear")
    assert before is not None and (before.network, before.augment) == ("linear", linear.augment)
    assert linear.augment == ()
    assert study.recipe_of("cnn-3", 0).augment == ("crop", "flip")
    assert read_study("cifar10h-alternatives").heads == {}


def test_later_bases_come_on_top(tmp_path: Path) -> None:
    write(tmp_path, "seeds = 4\narms = ['soft', 'hard']\ncontrols = ['hard']", "a.toml")
    write(tmp_path, "seeds = 5\nextends = ''\n[cpu]\ndraws = 200", "b.toml")

    study = read_study(write(tmp_path, "extends = ['a.toml', 'b.toml']"))

    assert (study.seeds, study.draws, study.controls) == (5, 200, ("hard",))
    assert study.networks == ("simple-ffn", "deeper-ffn", "lenet")  # of the first one's own base


@pytest.mark.parametrize("name", FROZEN)
def test_frozen_study_has_what_the_study_beside_it_has(name: str) -> None:
    study = read_study(name)
    other = read_study(name.removeprefix("frozen-"))

    assert study.beside == other.name
    assert set(study.arms) <= set(other.arms) and set(study.controls) == set(other.controls)
    left_out = {arm.name for arm in set(other.arms) - set(study.arms)}
    assert left_out == ({"pretrained", "mixup, hard"} if "alternatives" in name else set())
    for field in ("data", "tests", "split", "folds", "metrics", "strata", "measures", "ladders"):
        assert getattr(study, field) == getattr(other, field)
    assert set(study.networks) == set(study.heads) == set(HEADS)
    assert study.seeds == 30 and not study.attacks and study.pretraining is None


def test_there_are_46_studies_and_bases_are_none() -> None:
    assert len(SHIPPED) == 46
    assert all(read_study(name).name == name for name in SHIPPED)
    with pytest.raises(UnknownName):
        read_study("_cifar10s")


def test_every_study_of_a_paper_has_the_papers_size() -> None:
    for name in SHIPPED:
        if name not in NO_PAPER:
            assert read_study(name, "paper").size == "paper"
            continue
        with pytest.raises(DataError, match=f"'{name}' has no size 'paper'; it has cpu only"):
            read_study(name, "paper")
    with pytest.raises(DataError, match="has no size 'lab'; it has cpu and paper only"):
        read_study("hmix", "lab")


@pytest.mark.parametrize("name", sorted(set(TRAINING) - NO_PAPER))
def test_trained_study_of_a_paper_has_a_middle_size_with_the_papers_epochs(name: str) -> None:
    lab, paper = read_study(name, "lab"), read_study(name, "paper")

    assert lab.size == "lab"
    assert lab.training.epochs == paper.training.epochs
    assert lab.arms == paper.arms
    assert set(lab.networks) <= set(paper.networks)
    assert (lab.seeds, lab.folds) <= (paper.seeds, paper.folds)


def test_size_may_extend_another(tmp_path: Path) -> None:
    text = """
        [cpu]
        seeds = 1
        [lab]
        extends = "paper"
        seeds = 2
        [paper]
        seeds = 5
        networks = ["lenet"]
        training.epochs = 9
    """
    study = read_study(write(tmp_path, text), "lab")

    assert (study.seeds, study.networks, study.training.epochs) == (2, ("lenet",), 9)
    with pytest.raises(UnknownName, match=r"size to extend in \[lab\] is called 'papers'"):
        read_study(write(tmp_path, text.replace('"paper"', '"papers"')), "lab")
    with pytest.raises(UnknownName, match=r"size to extend in \[paper\] is called 'lab'"):
        read_study(write(tmp_path, f"{text}\n        extends = 'lab'"), "lab")


@pytest.mark.parametrize(
    ("arm", "name"),
    [
        (Arm(), "original"),
        (Arm(labels="T2 clamp", shown="one annotator"), "T2 clamp separate"),
        (Arm(labels="T2 clamp", shown="one annotator", people=2), "T2 clamp M=2"),
        (Arm(labels="T2 clamp", shown="one annotator", items=250), "T2 clamp N'=250"),
        (Arm(labels="CIFAR-10H", people=6, majority=True), "CIFAR-10H M=6 majority"),
        (Arm(labels="CIFAR-10S", majority=True, items=900), "CIFAR-10S majority N'=900"),
        (Arm(labels="CIFAR-10H", per_class=8), "CIFAR-10H, 8 a class"),
        (Arm(per_class=1000), "1,000 a class"),
        (Arm(mix="mixup"), "mixup"),
        (Arm(mix="mixup", labels="hard"), "mixup, hard"),
        (Arm(added="mean λ_h + ω"), "mean λ_h + ω"),
        (Arm(curve="τ", mix="mixup"), "τ"),
        (Arm(curve="τ", mix="Ent-WC"), "τ + Ent-WC"),
        (Arm(use="as pretrained"), "pretrained"),
        (Arm(labels="T2 clamp", gamma=0.05, shown="one annotator"), "T2 clamp separate γ=0.05"),
        (Arm(labels="hard", beta=0.0001), "hard β=0.0001"),
        (Arm(mix="Ent-WC", alpha=0.2, kappa=0), "Ent-WC α=0.2 κ=0"),
    ],
)
def test_name_of_an_arm_follows_from_its_fields(arm: Arm, name: str) -> None:
    assert arm.name == name


def test_lists_in_an_arm_are_an_arm_each() -> None:
    arms = [
        {"labels": ["hard", "soft"], "per_class": [80, 8]},
        {"people": [1, 2], "shown": "sampled"},
    ]

    study = study_from({**SMALL, "arms": arms, "controls": []})

    assert study.arm_names == (
        "hard, 80 a class", "hard, 8 a class", "soft, 80 a class", "soft, 8 a class",
        "original M=1", "original M=2",
    )  # fmt: skip


def test_arms_of_a_grid_are_of_one_family() -> None:
    study = read_study("grid-labels", "paper")

    families = {arm.family for arm in study.arms}
    assert families == {"T2 clamp separate", "hard"}
    assert len(study.arms) == 7 + 9  # S2-18, S2-25
    assert len(read_study("grid-mixing", "paper").arms) == 4 + 6 + 4  # S2-62, S2-63
    assert set(study.controls) < set(study.arm_names)


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ({"alpha": 0.2}, "alpha says how batches are mixed; the arm needs a mix"),
        ({"labels": "soft", "kappa": 0.2}, "kappa says how batches are mixed"),
        ({"added": "uniform", "beta": 0.1}, "beta changes the labels of `labels`"),
        ({"labels": "soft", "beta": 1.5}, "less than or equal to 1"),
    ],
)
def test_numbers_that_an_arm_has_no_use_for_are_refused(
    arm: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        study_from({**SMALL, "arms": [arm], "controls": []})


def test_a_file_wins_over_what_it_extends_in_every_size(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
extends = "cifar10s-few"
arms = ["hard", { labels = "CIFAR-10S", majority = true }]
training = { epochs = 3 }

[paper]
seeds = 2
""",
    )

    cpu, paper = read_study(path, "cpu"), read_study(path, "paper")

    for study in (cpu, paper):
        assert study.arm_names == ("hard", "CIFAR-10S majority")
        assert study.controls == ("hard", "CIFAR-10S majority")  # those of the base that are left
        assert (study.name, study.data, study.training.epochs) == ("s", "cifar10s", 3)
    assert (cpu.training.optimizer, cpu.training.schedule, cpu.seeds) == ("sgd", "cosine", 5)
    assert (paper.training.schedule, paper.training.milestones) == ("multistep", (50, 55))
    assert paper.seeds == 2


def test_a_file_beside_it_can_be_extended(tmp_path: Path) -> None:
    write(tmp_path, "seeds = 4\narms = ['soft']\nnetworks = ['lenet']", "base.toml")
    path = write(tmp_path, "extends = 'base.toml'\nseeds = 5")

    study = read_study(path)

    assert (study.seeds, study.arm_names, study.networks) == (5, ("soft",), ("lenet",))


def test_any_setting_can_be_changed_by_its_dotted_name() -> None:
    study = read_study(
        "cifar10h-attacks",
        "paper",
        changes={"training.epochs": 5, "networks": ["cnn-3"], "pgd": [2]},
    )

    assert (study.training.epochs, study.training.optimizer) == (5, "sgd")
    assert (study.networks, study.pgd) == (("cnn-3",), (2.0,))
    other = read_study("cifar10h-attacks", changes={"arms": ["hard", "soft", "category"]})
    assert (other.arm_names, other.controls) == (("hard", "soft", "category"), ("hard",))
    with pytest.raises(UnknownName, match="Did you mean 'training'"):
        read_study("digits", changes={"trainng.epochs": 5})


def test_a_network_can_be_left_out_although_it_has_a_rate_of_its_own() -> None:
    study = read_study("cifar10s-few", "paper", changes={"networks": ["resnet-34a"]})

    assert study.recipe_of("resnet-34a", 0).learning_rate == 0.1
    both = read_study("cifar10s-few", "paper")
    assert both.recipe_of("resnet-50", 3).learning_rate == 0.4
    assert both.recipe_of("resnet-50", 3).seed == 3


def test_arms_join_where_the_file_of_their_labels_is_given() -> None:
    plain = read_study("informativeness-labels")
    given = read_study("informativeness-labels", changes={"own.sets.CIFAR-10DS": "dense.csv"})
    small = read_study("informativeness-small-data", changes={"own.sets.CIFAR-10T": "t.csv"})
    chosen = read_study(
        "informativeness-labels",
        changes={"own.sets.CIFAR-10DS": "dense.csv", "arms": ["hard", "CIFAR-10DS"]},
    )

    joined = tuple(arm.name for arm in plain.further["CIFAR-10DS"])
    assert joined[:2] == ("CIFAR-10DS", "CIFAR-10S+dense")
    assert given.arm_names == (*plain.arm_names, *joined)
    assert given.crossed == (*plain.crossed, *joined)
    assert small.arm_names[-2:] == ("CIFAR-10T, 80 a class", "CIFAR-10T, 8 a class")
    assert small.crossed == ()
    assert chosen.arm_names == ("hard", "CIFAR-10DS")  # whoever names arms has named them all


def test_files_of_label_sets_are_found_from_wherever_the_study_is_read(tmp_path: Path) -> None:
    text = "arms = ['mine', 'soft']\nnetworks = ['lenet']\n[own]\nratings = 'r.csv'\n"
    path = write(tmp_path, text + "[own.sets]\nmine = 'crowd=mine.csv'\nother = 'other.csv'\n")
    study = read_study(path)

    again = tmp_path / "again.toml"
    again.write_text(study_text(study, tmp_path), encoding="utf-8")

    assert study.own.ratings == str(tmp_path / "r.csv")
    assert study.own.sets["mine"] == f"crowd={tmp_path / 'mine.csv'}"
    assert read_study(again) == study
    assert "crowd=mine.csv" in study_text(study, tmp_path)


def test_other_arms_keep_what_is_said_of_those_that_stay() -> None:
    study = with_arms(read_study("informativeness-labels"), ["CIFAR-10H", "hard", "soft"])

    assert study.arm_names == ("CIFAR-10H", "hard", "soft")
    assert study.controls == ("hard",)
    assert set(study.crossed) == {"CIFAR-10H", "hard"}


def test_attacks_are_fgsm_then_pgd_in_steps_of_a_quarter() -> None:
    attacks = study_from({**SMALL, "fgsm": [4, 8], "pgd": [2], "pgd_iterations": 7}).attacks

    found = [(one.kind, one.epsilon_255) for one in attacks]
    assert found == [("fgsm", 4), ("fgsm", 8), ("pgd", 2)]
    assert (attacks[2].step_255, attacks[2].iterations, attacks[2].keep) == (0.5, 7, "best")
    published = study_from({**SMALL, "pgd": [2], "pgd_keeps": "last"}).attacks
    assert [one.keep for one in published] == ["last"]


def test_unknown_measure_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    for key, table in (("measures", "measure"), ("sections", "section of a report")):
        study = read_study("digits", changes={key: ["sccores"]})

        with pytest.raises(UnknownName, match=f"No {table} is called 'sccores'. Did you mean 'sco"):
            run_study(study, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", TRAINING)
def test_shipped_study_trains_every_arm_three_times_at_least(name: str) -> None:
    for size in ("cpu", "paper") if name not in NO_PAPER else ("cpu",):
        study = read_study(name, size)
        assert study.seeds * study.folds >= 3


@pytest.mark.parametrize("name", [*CIFAR10S, *CIFAR10H, "informativeness-labels"])
def test_peoples_labels_have_their_majority_as_a_control(name: str) -> None:
    for size in ("cpu", "paper"):
        controls = read_study(name, size).controls
        assert any("majority" in control for control in controls)
        assert any(control.startswith("hard") for control in controls)


@pytest.mark.parametrize("name", CIFAR10S)
def test_cifar10s_at_paper_size_has_the_papers_networks_rates_and_attacks(name: str) -> None:
    cpu, paper = read_study(name), read_study(name, "paper")

    assert paper.training.epochs == 65
    assert paper.training.milestones == (50, 55)
    assert paper.fgsm == cpu.fgsm == (4,)
    assert paper.attacked_items == 1000
    if name == "cifar10s-items":
        assert (paper.networks, paper.seeds) == (("resnet-34a",), 10)
    else:
        assert paper.networks == ("resnet-34a", "resnet-50", "vgg-11")
        assert (paper.seeds, paper.learning_rates) == (5, {"resnet-50": 0.4})


@pytest.mark.parametrize("name", CIFAR10S)
def test_cifar10s_at_cpu_size_fits_an_hour_on_two_cores(name: str) -> None:
    """At 2,300 images a second and core, less than was measured with this network."""
    cpu = read_study(name)
    images = sum(arm.items or 6900 for arm in cpu.arms)

    minutes = cpu.seeds * cpu.training.epochs * images / 2300 / 2 / 60

    assert minutes <= 60
    assert cpu.seeds >= 5


def test_seconds_are_people_times_seconds_of_one_answer_for_both_papers() -> None:
    curves = read_study("cifar10s-time", "paper").curves

    assert [curve.seconds["CIFAR-10H"] for curve in curves] == [1.8, 2.5]
    for curve in curves:
        assert (curve.seconds["T2 clamp"], curve.seconds["CIFAR-10S"]) == (32, 32)
        assert curve.everybody == {"CIFAR-10H": 51, "CIFAR-10S": 6, "T2 clamp": 6}


@pytest.mark.parametrize("name", CIFAR10H)
def test_paper_1_at_its_size_is_eight_networks_ten_folds_and_all_training_images(name: str) -> None:
    cpu, paper = read_study(name), read_study(name, "paper")

    assert (len(paper.networks), paper.folds, paper.training.epochs) == (8, 10, 150)
    assert (cpu.networks, cpu.folds) == (("cnn-3",), 3)
    assert (cpu.seeds, paper.seeds) == (5, 3)
    assert cpu.collection.near + cpu.collection.pretraining < 50_000
    assert paper.collection.near + paper.collection.pretraining == 50_000
    assert (paper.collection.pretraining > 0) == (paper.pretraining is not None)
    for study in (cpu, paper):
        for recipe in (study.training, study.pretraining):  # nothing is chosen on any part (C7)
            if recipe is not None:
                assert (recipe.weights, recipe.stop_after) == ("last", None)
                assert recipe.schedule != "plateau"


def test_attacks_of_paper_1_are_the_papers() -> None:
    found = [
        (one.kind, one.epsilon_255, one.step_255, one.iterations)
        for one in read_study("cifar10h-attacks").attacks
    ]

    assert found == [("fgsm", 4, 0, 1), ("fgsm", 8, 0, 1), ("pgd", 4, 1, 9)]


def test_label_sets_have_the_modes_of_both_kinds_of_people_as_controls() -> None:
    labels, small = read_study("informativeness-labels"), read_study("informativeness-small-data")

    assert {"CIFAR-10H majority", "CIFAR-10S majority+hard"} <= set(labels.controls)
    assert {"CIFAR-10H majority, 80 a class", "CIFAR-10S majority+hard, 8 a class"} <= set(
        small.controls
    )
    assert labels.ladders[1] == (
        "CIFAR-10 training images", "corrupted at 1", "corrupted at 3", "corrupted at 5"
    )  # fmt: skip
    assert read_study("informativeness-labels", "paper").folds == 10


@pytest.mark.parametrize("name", MIXING)
def test_mixing_at_paper_size_is_the_theses(name: str) -> None:
    cpu, paper = read_study(name), read_study(name, "paper")

    network = "preact-resnet-18" if name == "mixing-augment" else "preact-resnet-34"
    assert paper.networks == (network,)
    assert (paper.training.epochs, paper.training.milestones) == (200, (100, 150))
    assert paper.seeds == 5
    assert not paper.training.augment  # no crops, no mirror images, as in the thesis
    assert not cpu.training.augment


def test_every_mixing_study_has_its_controls() -> None:
    augment, full, logistic = (set(read_study(name).arm_names) for name in MIXING)

    assert {"no mixing", "shuffled λ_h", "shuffled λ_h + ω"} <= augment
    assert {"no mixing", "mixup, simulated majority", "mixup, CIFAR-10H"} <= full
    assert {
        f"{kind} τ{loss}"
        for kind in ("identity", "pooled", "shuffled")
        for loss in ("", " + Ent-WC")
    } <= logistic


def test_mnist_curve_and_its_training_are_the_papers() -> None:
    study = read_study("mnist-curve")

    assert study.model_copy(update={"size": "paper"}) == read_study("mnist-curve", "paper")
    assert [arm.per_class for arm in study.arms] == [50, 100, 150, 300, 500, 1000, 2000]
    recipe = study.recipe_of("lenet", 0)
    assert (recipe.optimizer, recipe.batch_size, recipe.epochs) == ("adam", 64, 25)
    assert (study.seeds, study.levels) == (5, (0.945,))


def test_paper_5_at_its_size_is_the_papers() -> None:
    study = read_study("digits-audit", "paper")

    assert isinstance(study, Study)
    scored, watched = study.training, study.dynamics
    assert (study.seeds, scored.epochs, scored.batch_size) == (6, 60, 64)
    assert (scored.schedule, scored.stop_after, scored.weights) == ("plateau", 10, "best")
    assert watched is not None
    assert (watched.epochs, watched.schedule, watched.stop_after) == (40, "constant", None)
    assert study.networks == ("simple-ffn", "deeper-ffn", "lenet")
    assert study.watch


def test_trainings_that_are_watched_are_those_of_their_network_and_seed() -> None:
    changes = {"learning_rates.lenet": 0.01, "dynamics.epochs": 7}
    study = read_study("digits-audit", changes=changes)

    recipe = study.recipe_of("lenet", 3, study.dynamics)

    assert (recipe.network, recipe.seed, recipe.epochs) == ("lenet", 3, 7)
    assert (recipe.learning_rate, recipe.schedule) == (0.01, "constant")
    with pytest.raises(DataError, match=r"\[dynamics\] is a training that is watched; set watch"):
        read_study("digits-audit", changes={"watch": False})
    with pytest.raises(DataError, match=r"\[dynamics\] cannot set 'seed'"):
        read_study("digits-audit", changes={"dynamics.seed": 1})


def test_worlds_of_both_sizes_are_the_same_with_more_seeds() -> None:
    for name in ("informativeness-grid", "informativeness-sparsity", "informativeness-costs"):
        cpu, paper = read_study(name), read_study(name, "paper")
        assert cpu.worlds == paper.worlds
        assert (cpu.seeds, paper.seeds) == (3, 10)


@pytest.mark.parametrize("name", CIFAR10S)
def test_page_of_the_study_states_claim_command_and_time(name: str) -> None:
    docs = Path(__file__).parents[2] / "docs" / "studies" / f"{name}.md"

    text = docs.read_text(encoding="utf-8")

    assert f"sfumato run {name}" in text
    for part in ("**The claim.**", "**What the papers did.**", "**What we do", "minutes"):
        assert part in text


def test_study_of_a_run_can_be_run_again_from_its_file(tmp_path: Path) -> None:
    study = read_study("cifar10h-attacks", "paper")
    path = tmp_path / "study.toml"
    path.write_text(tomli_w.dumps(study_settings(study)), encoding="utf-8")

    assert read_study(path) == study


def test_networks_have_recipes_of_their_own_to_learn_and_to_learn_before() -> None:
    study = read_study("cifar10h-alternatives", "paper")
    shake, wide = "shake_shake_26_2x64d_SSI_cutout16", "wrn_28_10"

    assert study.recipe_of("vgg_15_BN_64", 0).augment == ("crop", "flip")
    assert study.recipe_of(shake, 3).augment == ("crop", "flip", "cutout")
    assert {study.recipe_of(name, 0).epochs for name in study.networks} == {150}
    assert study.recipe_of(wide, 3) == replace(
        study.training, network=wide, seed=3, weight_decay=5e-4, milestones=(60, 120), decay=0.2
    )
    before = {name: study.pretraining_recipe(name) for name in study.networks}
    assert {name: one.epochs for name, one in before.items() if one} == {
        "vgg_15_BN_64": 160,
        "densenet_BC_100_12": 300,
        "pyramidnet_basic_110_270": 300,
        "resnet_basic_110": 160,
        "resnext_29_8x64d": 300,
        wide: 200,
        "resnet_preact_bottleneck_164": 160,
        shake: 300,
    }
    assert read_study("cifar10h-shift").pretraining_recipe("cnn-3") is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[training_of.lenett]\nepochs = 2", "Did you mean 'lenet'"),
        ("[training_of.lenet]\nepoch = 2", "Did you mean 'epochs'"),
        ("[training_of.lenet]\nseed = 2", r"\[training_of.lenet\] cannot set 'seed'"),
        ("[training_of.lenet]\noptimizer = 'adan'", "Did you mean 'adam'"),
        ("[training_of.lenet]\nepochs = 0", "epochs must be at least 1, not 0"),
        ("[pretraining_of.lenet]\nepochs = 2", r"\[pretraining\], which is missing"),
        ("[search]\nrates = 'paper-1'", "Did you mean 'paper1'"),
        ("[search]\nrates = [0.1, 0]", "search.rates.1: Input should be greater than 0, not 0"),
        ("[search]\nalpha = [0.1]", "Did you mean 'alphas'"),
        ("arms = [{ labels = 'soft', temperature = 0 }]", "greater than 0"),
        (
            "arms = [{ labels = 'people', shown = 'one annotator', temperature = 2 }]",
            "one distribution per item",
        ),
    ],
)
def test_recipe_search_or_temperature_that_cannot_be_is_a_sentence(
    text: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises((DataError, UnknownName), match=told):
        read_study(write(tmp_path, text))


def test_rates_and_alphas_that_papers_searched_have_names() -> None:
    shift, alternatives = (read_study(name, "paper").search for name in CIFAR10H[:2])

    assert shift.rates == (0.2, 0.1, 0.01, 0.001)
    assert alternatives.rates == (0.1, 0.01, 0.001)
    assert alternatives.alphas == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert alternatives.values(mixes=False) == {"rate": alternatives.rates}
    assert not any(read_study(name).search.values(mixes=True) for name in CIFAR10H)


@pytest.mark.parametrize("size", SIZES)
def test_published_training_from_the_command_line_is_meant_whole(size: Size) -> None:
    changes = {"training.epochs": 7, "training.published": "paper1-stated"}

    study = read_study("cifar10h-alternatives", size, changes=changes)

    stated = replace(published_recipe("paper1-stated"), network="lenet", epochs=7)
    assert study.training == stated


def test_temperatures_of_the_release_are_thirteen_arms() -> None:
    values = [0.25, 0.5, 0.75, *range(1, 11)]
    arms = [{"labels": "soft", "temperature": values}]

    study = read_study("cifar10h-shift", changes={"arms": arms})

    assert study.arm_names[:4] == ("soft T=0.25", "soft T=0.5", "soft T=0.75", "soft T=1")
    assert len(study.arms) == 13
    assert Arm(labels="soft", temperature=2, mix="mixup").name == "mixup, soft T=2"
