from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.evaluation.predictions import load_original, read_predictions
from sfumato.evaluation.score import ensemble, leaderboard, leaderboard_table
from sfumato.labels.files import read_labels
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.provenance import Step, is_simulated

ITEMS = tuple(map(str, range(120)))
CLASSES = ("x", "y", "z")


def setting() -> tuple[LabelSet, dict[str, LabelSet]]:
    """A sharp model that names the mode, and a soft one that is closer but less accurate."""
    rng = np.random.default_rng(0)
    beliefs = rng.dirichlet([2, 1, 1], size=len(ITEMS))
    mode = np.eye(3)[beliefs.argmax(axis=1)]
    blurred = 0.6 * beliefs + 0.4 * rng.dirichlet([4, 4, 4], size=len(ITEMS))
    models = {
        "sharp": LabelSet(ITEMS, CLASSES, 0.97 * mode + 0.01),
        "soft": LabelSet(ITEMS, CLASSES, blurred),
        "flat": LabelSet(ITEMS, CLASSES, np.full((len(ITEMS), 3), 1 / 3)),
    }
    return LabelSet(ITEMS, CLASSES, beliefs), models


def test_closest_to_people_is_first_and_accuracy_has_its_own_rank() -> None:
    human, models = setting()

    places = leaderboard(human, models, rng=np.random.default_rng(1), draws=200)

    assert [place.arm for place in places] == ["soft", "flat", "sharp"]
    assert [place.rank for place in places] == [1, 2, 3]
    assert [place.accuracy_rank for place in places] == [2, 3, 1]


def test_every_other_model_is_compared_with_the_first() -> None:
    human, models = setting()

    first, *others = leaderboard(human, models, rng=np.random.default_rng(1), draws=200)

    assert first.behind is None
    for place in others:
        assert place.behind is not None
        assert (place.behind.arm, place.behind.second) == (place.arm, "soft")
        assert place.behind.value == pytest.approx(
            place.cross_entropy.value - first.cross_entropy.value
        )
        assert place.behind.low is not None
        assert 0 < place.behind.low < place.behind.value
        assert place.behind.p == pytest.approx(2 / 201)  # the least, times two comparisons
        assert place.behind.test == "sign-flip over items, Holm"


def test_equal_models_share_a_rank() -> None:
    human, models = setting()
    twins = {"a": models["soft"], "b": models["soft"]}

    places = leaderboard(human, twins, rng=np.random.default_rng(1), draws=50)

    assert [place.rank for place in places] == [1, 1]
    assert places[1].behind is not None
    assert (places[1].behind.value, places[1].behind.p) == (0, 1)


def test_accuracy_is_to_the_original_labels_where_there_are_some() -> None:
    human, models = setting()
    original = hard_labels(ITEMS, CLASSES, np.zeros(len(ITEMS), dtype=np.int64))

    places = leaderboard(human, models, original=original, rng=np.random.default_rng(1), draws=20)

    assert {place.accuracy.against for place in places} == {"original"}
    assert next(place for place in places if place.arm == "flat").accuracy.value == 1


def test_all_models_are_ranked_on_the_same_items() -> None:
    human, models = setting()
    models["soft"] = models["soft"].take(ITEMS[10:])
    rng = np.random.default_rng(1)

    with pytest.raises(DataError, match="Item '0'"):
        leaderboard(human, models, rng=rng, draws=20)
    places = leaderboard(human, models, rng=rng, draws=20, missing="leave out")

    assert {place.cross_entropy.items for place in places} == {110}


def test_table_has_a_row_a_model() -> None:
    human, models = setting()

    table = leaderboard_table(leaderboard(human, models, rng=np.random.default_rng(1), draws=50))

    assert table["arm"].to_list() == ["soft", "flat", "sharp"]
    assert table["behind"].is_null().to_list() == [True, False, False]
    assert (table["cross_entropy_low"] <= table["cross_entropy"]).all()
    alone = leaderboard(human, {"soft": models["soft"]}, rng=np.random.default_rng(1), draws=50)
    assert leaderboard_table(alone).schema == table.schema


def test_no_models_make_no_list() -> None:
    human, _ = setting()

    with pytest.raises(DataError, match="no models to rank"):
        leaderboard(human, {}, rng=np.random.default_rng(1))
    with pytest.raises(DataError, match="no models"):
        ensemble({})


def test_ensemble_is_the_mean_by_names_and_remembers_its_members() -> None:
    one = LabelSet(
        ("a", "b"),
        ("x", "y"),
        np.array([[1, 0], [0.5, 0.5]]),
        provenance=(Step("simulate", simulated=True),),
    )
    other = LabelSet(("b", "a"), ("y", "x"), np.array([[1, 0], [0.5, 0.5]]))

    mean = ensemble({"one": one, "other": other})

    assert mean.items == ("a", "b")
    assert mean.probs == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]))
    assert is_simulated(mean.provenance)
    assert list(mean.provenance[-1].settings["models"]) == ["one", "other"]  # type: ignore[arg-type]


def test_published_networks_are_as_close_to_people_as_published(data_folder: Path) -> None:
    human = read_labels(data_folder / "cifar10h" / "cifar10h-probs.npy")
    folder = data_folder / "cifar10h-predictions"
    original = load_original(
        folder / "test_labels.npy", name="test_labels.npy", classes=human.classes
    )
    models = {
        path.stem: read_predictions(path, classes=human.classes)
        for path in sorted(folder.glob("*.npz"))
    }
    models["ensemble"] = ensemble(models)

    places = leaderboard(human, models, original=original, rng=np.random.default_rng(0), draws=50)

    found = {place.arm: place.cross_entropy.value for place in places}
    assert len(found) == 9
    assert found["ensemble"] == pytest.approx(0.407, abs=5e-4)
    assert found["wrn_28_10"] == pytest.approx(0.468, abs=5e-4)
    assert found["resnext_29_8x64d"] == pytest.approx(0.470, abs=5e-4)
    assert found["shake_shake_26_2x64d_SSI_cutout16"] == pytest.approx(0.604, abs=5e-4)
    assert places[0].arm == "ensemble"
    most_accurate = next(place for place in places if place.accuracy_rank == 1)
    assert most_accurate.arm == "shake_shake_26_2x64d_SSI_cutout16"
    assert most_accurate.rank > 3
