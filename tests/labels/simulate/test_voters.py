import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.simulate.crowd import Beta
from sfumato.labels.simulate.people import Voters, fit_voters, simulate_votes, skilled_voters
from sfumato.provenance import is_simulated

CLASSES = ("cat", "deer", "dog")


def shares(judgments: Judgments) -> np.ndarray:
    """Share of votes for each class, by item in order of appearance."""
    answers = judgments.table["answer"].str.json_decode(pl.String)
    table = judgments.table.select("item", said=answers)
    items = table["item"].unique(maintain_order=True).to_list()
    return np.array(
        [
            [
                (table.filter(item=item)["said"] == name).mean()
                for name in judgments.question.classes
            ]
            for item in items
        ]
    )


def test_votes_of_exact_voters_converge_to_the_distribution() -> None:
    labels = LabelSet(("a", "b"), CLASSES, np.array([[0.2, 0.5, 0.3], [0.0, 0.9, 0.1]]))
    voters = Voters(CLASSES, np.tile(np.eye(3), (40_000, 1, 1)))

    votes = simulate_votes(voters, labels, per_item=40_000, rng=np.random.default_rng(0))

    # four standard errors of a share from 40,000 votes are 0.01
    np.testing.assert_allclose(shares(votes), labels.probs, atol=0.01)


def test_votes_converge_to_the_distribution_times_the_confusion() -> None:
    labels = LabelSet(("a",), CLASSES, np.array([[0.2, 0.5, 0.3]]))
    confusion = np.array([[0.8, 0.2, 0.0], [0.1, 0.6, 0.3], [0.0, 0.0, 1.0]])
    voters = Voters(CLASSES, np.tile(confusion, (40_000, 1, 1)))

    drawn = simulate_votes(voters, labels, per_item=40_000, rng=np.random.default_rng(0))
    from_label = simulate_votes(
        voters, labels, per_item=40_000, seen="label", rng=np.random.default_rng(0)
    )

    np.testing.assert_allclose(shares(drawn), labels.probs @ confusion, atol=0.01)
    np.testing.assert_allclose(shares(from_label), confusion[[1]], atol=0.01)


@given(
    chosen=st.lists(st.integers(0, 2), min_size=1, max_size=20),
    people=st.integers(3, 9),
    seen=st.sampled_from(["distribution", "label"]),
    seed=st.integers(0, 1000),
)
def test_identity_confusion_and_one_hot_labels_give_the_label(
    chosen: list[int], people: int, seen: str, seed: int
) -> None:
    items = [f"i{number}" for number in range(len(chosen))]
    labels = hard_labels(items, CLASSES, np.array(chosen))
    rng = np.random.default_rng(seed)
    voters = skilled_voters(CLASSES, people, skill=1.0, rng=rng)

    votes = simulate_votes(voters, labels, per_item=3, seen=seen, rng=rng)  # type: ignore[arg-type]

    assert (shares(votes) == labels.probs).all()
    pairs = votes.table.select("item", "annotator")
    assert pairs.is_unique().all()


def test_skill_is_the_share_of_right_votes_and_spammers_vote_evenly() -> None:
    rng = np.random.default_rng(0)
    voters = skilled_voters(CLASSES, 1000, skill=Beta(16, 4), spammers=0.25, rng=rng)

    right = np.diagonal(voters.confusion, axis1=1, axis2=2)[:, 0]

    spam = np.isclose(voters.confusion, 1 / 3).all(axis=(1, 2))
    assert spam.sum() == 250
    assert right[~spam].mean() == pytest.approx(0.8, abs=0.015)  # Beta(16, 4) has sd 0.087


def test_fitted_voters_recover_known_confusions() -> None:
    rng = np.random.default_rng(3)
    items = [f"i{number:04d}" for number in range(6000)]
    labels = hard_labels(items, CLASSES, np.arange(6000) % 3)
    confusion = rng.dirichlet([2, 1, 1], size=(4, 3))
    votes = simulate_votes(Voters(CLASSES, confusion), labels, per_item=4, rng=rng)

    fitted = fit_voters(votes, labels)

    np.testing.assert_allclose(fitted.confusion, confusion, atol=0.05)  # 2,000 votes a row


def test_smoothing_is_pseudo_votes_cast_as_everybody_votes() -> None:
    table = pl.DataFrame(
        {
            "item": ["a", "a", "b"],
            "annotator": ["p", "q", "q"],
            "answer": ['"cat"', '"dog"', '"dog"'],
        }
    )
    votes = Judgments(ask("choose-one", ["cat", "dog"]), table)
    truth = hard_labels(["a", "b"], ["cat", "dog"], np.array([0, 1]))

    fitted = fit_voters(votes, truth, smoothing=2.0)

    # everybody on cat: (1 + ½, 1 + ½)/3; on dog: (½, 1 + ½)/2; p never saw a dog
    np.testing.assert_allclose(fitted.confusion[0], [[2 / 3, 1 / 3], [1 / 4, 3 / 4]])
    np.testing.assert_allclose(fitted.confusion[1], [[1 / 3, 2 / 3], [0.5 / 3, 2.5 / 3]])


def test_real_names_do_not_reach_simulated_votes() -> None:
    table = pl.DataFrame({"item": ["a"], "annotator": ["Ada"], "answer": ['"cat"']})
    real = Judgments(ask("choose-one", ["cat", "dog"]), table)
    truth = hard_labels(["a"], ["cat", "dog"], np.array([0]))

    votes = simulate_votes(fit_voters(real, truth), truth, per_item=1, rng=np.random.default_rng(0))

    assert votes.annotators == ["simulated-0001"]
    assert is_simulated(votes.provenance)
    assert not is_simulated(real.provenance)


def test_same_seed_same_votes() -> None:
    labels = LabelSet(("a", "b"), CLASSES, np.full((2, 3), 1 / 3))

    first, second = (
        simulate_votes(
            skilled_voters(CLASSES, 9, skill=Beta(2, 1), rng=rng), labels, per_item=5, rng=rng
        )
        for rng in (np.random.default_rng(5), np.random.default_rng(5))
    )

    assert first.table.equals(second.table)


def test_votes_at_the_size_of_cifar10h_are_balanced() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(10, 0.05), 10_000)
    classes = tuple("abcdefghij")
    labels = LabelSet(tuple(map(str, range(10_000))), classes, probs / probs.sum(1, keepdims=True))
    voters = skilled_voters(classes, 2571, skill=Beta(19, 1), rng=rng)

    votes = simulate_votes(voters, labels, per_item=51, rng=rng)

    assert len(votes) == 510_000
    load = votes.table["annotator"].value_counts()["count"]
    assert (load.min(), load.max()) == (198, 199)
    assert votes.table.select(pl.struct("item", "annotator").is_unique().all()).item()


@pytest.mark.parametrize(
    ("confusion", "sentence"),
    [
        (np.eye(3)[None], r"shape \(voters, 2, 2\); found \(1, 3, 3\)"),
        ([[[0.9, 0.2], [0, 1]]], r"voter 1 says when shown 'cat'.*\[0.9, 0.2\]"),
        ([[[1, 0], [-0.5, 1.5]]], "voter 1 says when shown 'dog'"),
    ],
)
def test_confusions_that_are_none_are_refused(confusion: np.ndarray, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        Voters(("cat", "dog"), confusion)


def test_wrong_requests_are_sentences() -> None:
    rng = np.random.default_rng(0)
    nameless = Judgments(
        ask("choose-one", CLASSES), pl.DataFrame({"item": ["a"], "answer": ['"cat"']})
    )
    truth = hard_labels(["a"], CLASSES, np.array([0]))

    with pytest.raises(DataError, match=r"from 0 to 1, not 1\.5"):
        skilled_voters(CLASSES, 3, skill=0.5, spammers=1.5, rng=rng)
    with pytest.raises(DataError, match="probability from 0 to 1, not -1"):
        skilled_voters(CLASSES, 3, skill=-1, rng=rng)
    with pytest.raises(DataError, match="do not all say who gave them"):
        fit_voters(nameless, truth)
    with pytest.raises(DataError, match="votes above 0, not 0"):
        fit_voters(nameless, truth, smoothing=0)
