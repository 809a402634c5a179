"""Habits of people: known habits are found, unseen people are like others, the check can fail."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.aggregate import Aggregation, aggregate
from sfumato.labels.aggregate.habits import _line_tables
from sfumato.labels.votes import Votes

CLASSES = ("no", "maybe", "yes")


def names(number: int) -> tuple[str, ...]:
    return tuple(f"{row:04}" for row in range(number))


def votes_of(answers: NDArray[np.int64], seen: NDArray[np.bool_]) -> Votes:
    person, item = np.nonzero(seen)
    people, items = (names(size) for size in seen.shape)
    return Votes(items, people, CLASSES, item, person, answers[seen])


def keep(shape: tuple[int, int], number: int, seed: int = 0) -> NDArray[np.bool_]:
    luck = np.random.default_rng(seed).random(shape)
    return np.argsort(np.argsort(luck, axis=0), axis=0) < number


def made_up(people: int = 20, items: int = 300) -> NDArray[np.int64]:
    """Items on a line; every second person says maybe where others decide."""
    rng = np.random.default_rng(0)
    place = rng.normal(0, 2, items)
    width = np.where(np.arange(people) % 2 == 0, 0.1, 2.0)[:, None]
    felt = place + rng.normal(0, 0.3, (people, items))
    return np.where(felt < -width, 0, np.where(felt < width, 1, 2))


def fit(votes: Votes, *, ordered: bool = False) -> Aggregation:
    return aggregate(votes, "habits", rng=np.random.default_rng(0), ordered=ordered)


def loss(result: Aggregation, answers: NDArray[np.int64], unseen: NDArray[np.bool_]) -> float:
    probs = np.stack([result.answers_of(person) for person in result.annotators])
    given = np.take_along_axis(probs, answers[..., None], axis=2)[..., 0]
    return float(-np.log(np.maximum(given, 1e-3))[unseen].mean())


@pytest.mark.parametrize("ordered", [False, True])
def test_unseen_answers_of_named_people_are_predicted_better_than_by_the_crowd(
    ordered: bool,
) -> None:
    answers, seen = made_up(), keep((20, 300), 5)
    votes = votes_of(answers, seen)

    result = fit(votes, ordered=ordered)

    crowd = aggregate(votes, "shrunk-shares", rng=np.random.default_rng(0)).labels.probs
    given = np.take_along_axis(np.broadcast_to(crowd, (20, 300, 3)), answers[..., None], 2)[..., 0]
    anybody = float(-np.log(np.maximum(given, 1e-3))[~seen].mean())
    assert loss(result, answers, ~seen) < anybody - 0.1
    assert np.allclose(result.labels.probs.sum(axis=1), 1)


def test_labels_are_what_all_people_would_say_not_only_those_who_were_asked() -> None:
    answers = made_up()
    asked = keep((20, 300), 4)
    asked[::2, :150] = False  # the first items are judged by the doubtful only
    everybody = np.eye(3)[answers].mean(axis=0)

    votes = votes_of(answers, asked)
    ours = fit(votes, ordered=True).labels.probs
    shares = aggregate(votes, "vote-shares", rng=np.random.default_rng(0)).labels
    judged = [int(item) for item in shares.items]

    first = np.array(judged) < 150
    error = np.abs(ours - everybody[judged]).sum(axis=1)[first].mean()
    naive = np.abs(shares.probs - everybody[judged]).sum(axis=1)[first].mean()
    assert error < 0.7 * naive


def test_thresholds_are_in_order_and_tables_are_distributions() -> None:
    tables = _line_tables(np.array([50.0, 20.0, 10.0, 40.0]))

    assert tables.shape[2] == 4
    assert (tables > 0).all()
    assert np.allclose(tables.sum(axis=2), 1)
    assert (np.diff(tables[:, :, 0], axis=1) <= 1e-12).all()  # the first class fades along the line
    assert (np.diff(tables[:, :, 3], axis=1) >= -1e-12).all()


def test_the_check_tells_a_model_that_fits_from_one_that_does_not() -> None:
    answers = made_up(people=12, items=400)
    copied = answers.copy()
    copied[1::2] = answers[::2]  # people who copy their neighbour: no habits explain that
    seen = np.zeros((12, 400), dtype=bool)
    seen[(np.arange(400) * 2 % 12), np.arange(400)] = True
    seen[(np.arange(400) * 2 % 12) + 1, np.arange(400)] = True

    fits = fit(votes_of(answers, keep((12, 400), 4)), ordered=True).fitted["fits"]
    does_not = fit(votes_of(copied, seen), ordered=True).fitted["fits"]

    assert isinstance(fits, dict) and isinstance(does_not, dict)
    assert 0.02 < float(fits["agreement"]) < 0.98  # type: ignore[arg-type]
    assert float(does_not["agreement"]) < 0.02  # type: ignore[arg-type]


def test_who_has_no_name_or_too_many_tables_is_told() -> None:
    votes = votes_of(made_up(), keep((20, 300), 3))
    nobody = Votes(votes.items, (), votes.classes, votes.item, np.full(len(votes), -1), votes.label)
    classes = names(400)
    many = Votes(names(3), names(300), classes, np.zeros(300, int), np.arange(300), np.arange(300))

    with pytest.raises(DataError, match="annotator"):
        fit(nobody)
    with pytest.raises(DataError, match="dawid-skene-next"):
        fit(many)
    with pytest.raises(DataError, match="No annotator is called 'zoe'"):
        fit(votes).answers_of("zoe")
    with pytest.raises(DataError, match="'habits' does"):
        aggregate(votes, "mean", rng=np.random.default_rng(0)).answers_of("0000")


def test_real_people_are_predicted_by_name(data_folder: Path) -> None:
    tensor = np.load(data_folder / "real_imagenet" / "raters_golden.npz")["tensor"]
    answers = tensor.argmax(axis=-1)
    seen = keep(answers.shape, 5)

    assert loss(fit(votes_of(answers, seen), ordered=True), answers, ~seen) < 0.406
