from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import DataError, SfumatoError, UnknownName
from sfumato.studies.shipped import STUDIES, shipped_study
from sfumato.studies.study import Study, read_study, study_to_json


def test_study_of_ones_own_has_what_its_file_says(own_study: Path) -> None:
    study = read_study(own_study)

    assert (study.name, study.networks, study.seeds) == ("lights", ("simple-ffn",), 2)
    assert study.own.images == str(own_study.parent / "pictures")
    assert (study.training.epochs, study.training.weights) == (2, "best")
    assert study.fgsm == (8.0,)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("netwoks = ['lenet']", "Did you mean 'networks'"),
        ("networks = 'lenet'", "networks of the study must be a list"),
        ("seeds = 'six'", "seeds of the study must be int"),
        ("seeds = true", "seeds of the study must be int"),
        ("arms = ['sofft']", "Did you mean 'soft'"),
        ("networks = ['lenett']", "Did you mean 'lenet'"),
        ("corruptions = ['contrst']", "Did you mean 'contrast'"),
        ("recipe = 'vote'", "Did you mean 'votes'"),
        ("data = 'mnits'", "No data source"),
        ("split = [0.5, 0.5]", "three shares"),
        ("arms = ['soft', 'soft']", "twice"),
        ("[training]\nepoch = 3", "Did you mean 'epochs'"),
        ("[training]\noptimizer = 'adamm'", "Did you mean 'adam'"),
        ("[training]\nseed = 3", "cannot set 'seed'"),
        ("[own]\nimage = 'x'", "Did you mean 'images'"),
        ("own = 3", "must be a table"),
        ("title = ", "is not TOML"),
    ],
)
def test_wrong_line_is_answered_with_what_would_be_right(
    tmp_path: Path, line: str, says: str
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'name = "s"\ntitle = "S"\n{line}\n', encoding="utf-8")

    with pytest.raises(SfumatoError, match=says):
        read_study(path)


def test_study_needs_a_name_and_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('title = "S"\n', encoding="utf-8")

    with pytest.raises(DataError, match="'name' is missing"):
        read_study(path)
    with pytest.raises(DataError, match="no study file"):
        read_study(tmp_path / "none.toml")


@pytest.mark.parametrize("change", [{"seeds": 0}, {"arms": ()}, {"name": "a b"}])
def test_impossible_study_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        replace(STUDIES["digits"].cpu, **change)


def test_settings_are_told_in_full(own_study: Path) -> None:
    told = study_to_json(read_study(own_study))

    assert set(told) == {*Study.__dataclass_fields__}
    assert told["training"]["learning_rate"] == 0.001


def test_shipped_studies_answer_to_their_names() -> None:
    assert all(shipped_study(name).name == name for name in STUDIES)
    with pytest.raises(UnknownName, match="digits"):
        shipped_study("digit")


def test_every_study_of_a_paper_has_the_papers_size() -> None:
    of_none = {"digits", "digits-table"}

    assert all(shipped_study(name, "paper").name == name for name in STUDIES.keys() - of_none)
    for name in of_none:
        with pytest.raises(DataError, match="one size only"):
            shipped_study(name, "paper")
