from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels
from sfumato.labels.signals import non_max_mass
from sfumato.studies.arms import ARMS, labels_of
from sfumato.studies.shipped import TRAININGS
from sfumato.studies.sources import load_material
from sfumato.studies.study import read_study


def test_own_pictures_and_votes_are_joined_by_name(own_study: Path) -> None:
    material = load_material(read_study(own_study), None)

    assert len(material.people) == 60
    assert material.original.items == material.people.items == material.pictures.items
    row = material.people.items.index("p5")
    assert material.people.probs[row].max() == pytest.approx(2 / 3)
    assert not material.simulated


def test_digits_have_simulated_people_and_say_so() -> None:
    study = replace(TRAININGS["digits"].cpu, recipe="votes")

    material = load_material(study, None)

    assert material.simulated
    assert material.judgments is not None
    assert material.judgments.table["annotator"].str.starts_with("simulated").all()
    assert material.people.weight.max() == 6


def test_missing_parts_of_own_data_are_named(own_study: Path) -> None:
    study = read_study(own_study)

    with pytest.raises(DataError, match="needs `judgments`"):
        load_material(replace(study, own=replace(study.own, judgments="")), None)
    with pytest.raises(DataError, match="SFUMATO_DATA"):
        load_material(TRAININGS["fashion-h"].cpu, None)


@pytest.mark.parametrize("arm", [*ARMS, "votes"])
def test_every_arm_labels_every_item(own_study: Path, arm: str) -> None:
    material = load_material(read_study(own_study), None)

    labels, presentation = labels_of(arm, material)

    mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
    assert set(mean.items) == set(material.people.items)
    assert presentation == {"sampled": "sampled", "one-annotator": "one annotator"}.get(
        arm, "fixed"
    )


def test_smoothed_labels_leave_as_much_off_the_top_as_people(own_study: Path) -> None:
    material = load_material(read_study(own_study), None)

    labels, _ = labels_of("smoothed", material)

    assert not isinstance(labels, CrowdLabels)
    assert np.isclose(non_max_mass(labels).mean(), non_max_mass(material.people).mean())
