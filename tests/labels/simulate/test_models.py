import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError, UnknownName
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate import load_model, save_model
from sfumato.labels.simulate.crowd import Beta
from sfumato.labels.simulate.people import NoisyChannel, UnsurePeople, Voters, skilled_voters
from sfumato.labels.simulate.top_two import SeenHabits, TopTwoModel, cifar10s_top_two
from sfumato.provenance import Step

LABELS = LabelSet(
    tuple("abcd"),
    ("cat", "dog", "frog"),
    np.array([[0.6, 0.3, 0.1], [1, 0, 0], [0.1, 0.1, 0.8], [0, 1, 0]]),
    provenance=(Step("read labels"),),
)


def test_top_two_model_comes_back_as_it_was(tmp_path: Path) -> None:
    model = cifar10s_top_two(LABELS)

    save_model(model, tmp_path / "people.json")
    back = load_model(tmp_path / "people.json")

    assert isinstance(back, TopTwoModel)
    assert (back.classes, back.high, back.low) == (model.classes, model.high, model.low)
    assert back.thresholds == model.thresholds
    assert back.provenance == model.provenance
    assert (back.distances == model.distances).all()


def test_voters_come_back_as_they_were(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    voters = skilled_voters(LABELS.classes, 5, skill=Beta(3, 1), rng=rng)

    save_model(voters, tmp_path / "people.json")
    back = load_model(tmp_path / "people.json")

    assert isinstance(back, Voters)
    assert (back.confusion == voters.confusion).all()
    assert back.classes == voters.classes
    assert back.provenance == voters.provenance


@pytest.mark.parametrize(
    "people",
    [
        UnsurePeople(0.1, 0.7, 0.2, 0.3, 0.05, (Step("fit unsure people", {"yes": 0.1}),)),
        NoisyChannel(0.2, (Step("guess"),)),
    ],
)
def test_small_models_come_back_as_they_were(
    people: UnsurePeople | NoisyChannel, tmp_path: Path
) -> None:
    save_model(people, tmp_path / "people.json")

    assert load_model(tmp_path / "people.json") == people


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"model": "voters"}', '{"model": []}'])
def test_a_file_that_holds_no_people_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    path.write_text(text)

    with pytest.raises(DataError, match=r"people\.json holds no simulated people"):
        load_model(path)


def test_a_missing_file_and_an_unknown_kind_are_named(tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    path.write_text(json.dumps({"model": "voter"}))

    with pytest.raises(UnknownName, match="Did you mean 'voters'"):
        load_model(path)
    with pytest.raises(DataError, match=r"none\.json cannot be read: No such file"):
        load_model(tmp_path / "none.json")


def test_seen_answers_come_back_to_the_last_digit_even_without_a_number(tmp_path: Path) -> None:
    drawn = np.array([[100, -1, 1], [100 / 3, np.nan, 3], [60, 12.5, 2]])
    model = TopTwoModel(
        LABELS.classes,
        SeenHabits(drawn, np.array([4, 2, 4])),
        SeenHabits(drawn[:1], np.array([0])),
        np.ones((3, 3)),
    )

    save_model(model, tmp_path / "people.json")
    back = load_model(tmp_path / "people.json")

    assert isinstance(back, TopTwoModel)
    for found, made in ((back.high, model.high), (back.low, model.low)):
        assert isinstance(found, SeenHabits)
        assert isinstance(made, SeenHabits)
        np.testing.assert_array_equal(found.drawn, made.drawn)
        assert found.person.tolist() == made.person.tolist()
    assert "NaN" not in (tmp_path / "people.json").read_text()
