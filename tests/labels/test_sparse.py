"""Labels over many classes are the same labels, whether all probabilities are held or few."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import sfumato.labels.labelset
from sfumato.errors import DataError
from sfumato.labels.aggregate import aggregate
from sfumato.labels.check import check
from sfumato.labels.files import read_crowd_labels, read_labels, write_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.make import average_votes

CLASSES = ("ape", "bee", "cat", "dog", "eel")


@st.composite
def crowds(draw: st.DrawFn) -> CrowdLabels:
    votes = draw(
        st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 3), st.integers(0, 4)), min_size=1)
    )
    item, annotator, said = np.array(votes).T
    names = tuple(f"i{place}" for place in range(6)), tuple("pqrs"), CLASSES
    return CrowdLabels(*names, item, annotator, said=said)


def sparse_mean(crowd: CrowdLabels) -> LabelSet:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sfumato.labels.labelset, "MANY_SHARES", 0)
        patch.setattr(sfumato.labels.labelset, "SPARSE_SHARE", 0)
        return crowd.mean()


@given(crowds())
def test_sparse_labels_say_what_dense_ones_say(crowd: CrowdLabels) -> None:
    dense, sparse = crowd.mean(), sparse_mean(crowd)

    assert dense.sparse is None
    assert sparse.sparse is not None
    assert sparse.entropy() == pytest.approx(dense.entropy())
    assert (sparse.items, sparse.top(), dict(sparse)) == (dense.items, dense.top(), dict(dense))
    assert sparse[[dense.items[0]]].sparse is not None
    assert "probs" not in sparse.__dict__  # nothing so far has written all rows out
    assert (sparse.probs == dense.probs).all()
    assert (sparse.weight == dense.weight).all()


@given(crowds())
def test_sparse_labels_come_back_from_the_disk(crowd: CrowdLabels) -> None:
    sparse = sparse_mean(crowd)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "labels.parquet"
        write_labels(sparse, file)

        found, checked, people = read_labels(file), check(file), read_crowd_labels(file)

    assert checked.valid
    assert (checked.rows, checked.classes) == (len(sparse), len(CLASSES))
    assert found.sparse is not None
    assert (found.items, found.classes) == (sparse.items, CLASSES)
    assert (found.probs == sparse.probs).all()
    assert (found.weight == sparse.weight).all()
    assert found.provenance[:-1] == sparse.provenance
    assert (people.probs == sparse.probs).all()


@given(crowds())
def test_counted_votes_are_the_mean_of_the_aggregator(crowd: CrowdLabels) -> None:
    counted = average_votes(crowd)
    expected = aggregate(crowd, "mean", rng=np.random.default_rng(0))

    assert counted is not None
    assert (counted.labels.probs == expected.labels.probs).all()
    assert (counted.labels.weight == expected.labels.weight).all()
    assert counted.labels.items == expected.labels.items
    assert counted.labels.provenance == expected.labels.provenance
    assert (counted.annotators, counted.estimand) == (expected.annotators, expected.estimand)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[0.5, 0.4, 0, 0, 0]], r"item 'a' sum to 0\.9, not 1"),
        ([[1.5, -0.5, 0, 0, 0]], "class 'bee' for item 'a' is -0.5"),
        ([[1, 0]], "shape"),
    ],
)
def test_wrong_sparse_rows_are_refused(rows: list[list[float]], said: str) -> None:
    with pytest.raises(DataError, match=said):
        LabelSet(("a",), CLASSES, csr_array(np.array(rows, dtype=float)))


@pytest.mark.parametrize(
    ("classes", "probs", "said"),
    [
        (["ape", "ape"], [0.5, 0.5], "a class twice in one row"),
        (["ape"], [0.5, 0.5], "lists differ in length"),
        (["ape", "bee"], [0.5, 0.4], "do not sum to 1"),
        (["ape", "bee"], [1.5, -0.5], "outside 0 to 1"),
        (["ape", "yak"], [0.5, 0.5], "does not name"),
    ],
)
def test_check_tells_what_is_wrong_with_a_sparse_row(
    classes: list[str], probs: list[float], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "labels.parquet"
    pl.DataFrame({"item": ["a"], "classes": [classes], "probs": [probs]}).write_parquet(file)
    file.with_name("labels.parquet.json").write_text(
        '{"provenance": [], "classes": ["ape", "bee"]}'
    )

    found = check(file)

    assert said in " ".join(problem.found for problem in found.problems)


def test_rows_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = LabelSet(("a",), CLASSES, csr_array(np.eye(1, 5)))
    monkeypatch.setattr("sfumato.errors.free_memory", lambda: 10)

    with pytest.raises(DataError, match=r"All 5 probabilities of 1 items need about .* GB"):
        _ = labels.probs
