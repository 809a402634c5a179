"""Sections about trained networks, on scores that are made up."""

from dataclasses import replace
from pathlib import Path

from sfumato.reporting.page import Table
from sfumato.scores import Estimate, Estimates, source_text
from sfumato.studies.data import RunFolder
from sfumato.studies.sections import trained
from sfumato.studies.study import Study, read_study

MADE = source_text(note="made up")


def made_run(study: Study, *scores: Estimate) -> RunFolder:
    run = RunFolder(Path("made"), study, {"simulated": False, "timing": {}})
    vars(run)["estimates"] = Estimates.of(scores)  # as if they had been read
    return run


def test_best_value_of_a_grid_is_marked_in_its_family_alone() -> None:
    study = read_study("grid-labels")
    against = study.tests[0].against[0]
    losses = dict(zip(study.arm_names, (1.3, 1.1, 1.2, 2.0, 2.1, 2.2), strict=True))
    row = Estimate(
        "cross_entropy", 0.0, source=MADE, network="cnn-3", against=against, part=against
    )
    run = made_run(study, *(replace(row, arm=arm, value=loss) for arm, loss in losses.items()))

    section = trained.grids(run)

    assert section is not None
    (table,) = section.blocks
    assert isinstance(table, Table)
    assert table.table["value"].to_list() == ["γ=0", "γ=0.1", "γ=0.4", "β=0", "β=0.05", "β=0.4"]
    assert table.table[""].to_list() == ["", "best", "", "best", "", ""]
    assert trained.grids(made_run(read_study("cifar10s-few"), row)) is None


def test_forms_have_the_seconds_of_their_inputs() -> None:
    study = read_study("cifar10s-ablation")
    row = Estimate(
        "cross_entropy", 1.0, source=MADE, network="cnn-3", against="CIFAR-10H", part="test"
    )
    arms = ("hard", "T1 uniform separate", "T1 clamp separate", "T2 uniform separate",
            "T2 clamp separate", "select top 2 separate")  # fmt: skip
    run = made_run(study, *(replace(row, arm=arm) for arm in arms))

    table = trained.scores_table(run, run.estimates)

    told = dict(zip(table["arm"], table["seconds per answer"], strict=True))
    assert [told[arm] for arm in arms] == ["", "12.8", "19.2", "25.6", "32", "12.8"]  # S3-03
    image = dict(zip(table["arm"], table["seconds per image"], strict=True))
    assert [image[arm] for arm in arms[1:]] == ["76.8", "115.2", "153.6", "192", "76.8"]  # S3-T4
    assert "seconds per answer" not in trained.scores_table(
        made_run(read_study("cifar10s-time"), row), Estimates.of([row])
    )
