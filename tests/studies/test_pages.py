"""Which sections a report has, and that it is written whatever was left out of the study."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sfumato.studies.data import RunFolder
from sfumato.studies.measures import MEASURES
from sfumato.studies.pages import OF_MEASURE, SECTIONS, sections_of, study_page
from sfumato.studies.run import run_study
from sfumato.studies.study import read_study, shipped_names, with_arms

pytestmark = pytest.mark.check


@pytest.mark.parametrize("name", shipped_names())
def test_sections_are_those_of_the_kind_of_study(name: str) -> None:
    study = read_study(name)

    asked = sections_of(study)

    assert {OF_MEASURE[each] for each in asked if each in OF_MEASURE} <= set(study.measures)
    assert set(SECTIONS) - set(asked) <= OF_MEASURE.keys()
    assert set(OF_MEASURE.values()) <= MEASURES.keys()


def test_sections_that_a_study_names_are_asked_whatever_they_are_of() -> None:
    study = read_study("digits-table", changes={"sections": ["arms", "leaderboard"]})

    assert sections_of(study) == ("arms", "leaderboard")


def test_files_about_other_kinds_of_study_are_not_entered(own_run: Path) -> None:
    run = RunFolder.open(own_run)
    entered: set[str] = set()

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and "/studies/sections/" in frame.f_code.co_filename:
            entered.add(Path(frame.f_code.co_filename).stem)

    sys.setprofile(watch)
    try:
        study_page(run)
    finally:
        sys.setprofile(None)

    assert entered == {"audit", "trained"}


def test_nothing_is_lost_by_not_asking(own_run: Path) -> None:
    run = RunFolder.open(own_run)
    every = RunFolder(run.folder, run.study.model_copy(update={"sections": (*SECTIONS,)}), run.info)

    titles = [[each.title for each in study_page(one).sections] for one in (run, every)]

    assert titles[0] == titles[1]


def test_report_is_written_without_models_and_without_the_arms_it_compares_with(
    own_study: Path, tmp_path: Path
) -> None:
    changes = {
        "keep_models": False,
        "seeds": 1,
        "ladders": [["people", "original"]],
        "measures": [*read_study(own_study).measures, "ladder", "wins", "resonance", "levels"],
        "levels": [0.5],
        "crossed": ["original", "soft"],
    }
    study = with_arms(read_study(own_study, changes=changes), ["soft"])

    run = run_study(study, tmp_path / "run")

    assert study.controls == ()
    assert not (run.folder / "models").exists()
    assert set(run.estimates.filter(part="test").table["arm"]) == {"soft", ""}
    titles = [section.title for section in study_page(run).sections]
    assert "How close to people and to labels" in titles
    assert "Further and further away" in titles
    assert (run.folder / "report.html").is_file()
