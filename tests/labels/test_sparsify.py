from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.metrics import mutual_info_score

from sfumato.errors import DataError
from sfumato.labels.alter import class_information, majority_labels, pca_codes, sparse, top_classes
from sfumato.labels.labelset import LabelSet


@st.composite
def label_sets(draw: st.DrawFn, min_items: int = 1) -> LabelSet:
    n_items, n_classes = draw(st.integers(min_items, 6)), draw(st.integers(2, 4))
    row = st.lists(st.integers(0, 5), min_size=n_classes, max_size=n_classes).filter(any)
    votes = np.array(draw(st.lists(row, min_size=n_items, max_size=n_items)))
    probs = votes / votes.sum(axis=1, keepdims=True)
    return LabelSet(tuple("abcdef"[:n_items]), tuple("wxyz"[:n_classes]), probs)


def labelled(items: str, classes: str, *rows: list[float]) -> LabelSet:
    return LabelSet(tuple(items), tuple(classes), np.array(rows, dtype=np.float64))


def reordered(labels: LabelSet, rows: list[int], columns: list[int]) -> LabelSet:
    return LabelSet(
        tuple(labels.items[row] for row in rows),
        tuple(labels.classes[column] for column in columns),
        labels.probs[np.ix_(rows, columns)],
    )


@given(label_sets(), st.data())
def test_sparse_rows_are_the_mean_over_all_ways_to_keep_the_largest(
    labels: LabelSet, data: st.DataObject
) -> None:
    keep = data.draw(st.integers(1, len(labels.classes)))

    expected = []
    for row in labels.probs:
        largest = sum(sorted(row)[-keep:])
        ways = [
            [p if k in kept else 0 for k, p in enumerate(row)]
            for kept in combinations(range(len(row)), keep)
            if abs(sum(row[list(kept)]) - largest) < 1e-9
        ]
        expected.append(np.mean(ways, axis=0) / largest)

    assert sparse(labels, keep).probs == pytest.approx(np.array(expected))


@given(label_sets(), st.data())
def test_sparse_does_not_depend_on_the_order_of_classes(
    labels: LabelSet, data: st.DataObject
) -> None:
    keep = data.draw(st.integers(1, len(labels.classes)))
    columns = data.draw(st.permutations(range(len(labels.classes))))

    moved = sparse(reordered(labels, [*range(len(labels))], columns), keep)

    assert moved.probs == pytest.approx(sparse(labels, keep).probs[:, columns])


@given(label_sets())
def test_keeping_one_entry_is_the_majority_and_keeping_all_changes_nothing(
    labels: LabelSet,
) -> None:
    assert sparse(labels, 1).probs == pytest.approx(majority_labels(labels, "share").probs)
    assert sparse(labels, len(labels.classes)).probs == pytest.approx(labels.probs)


def test_probabilities_that_differ_by_rounding_alone_share_the_last_place() -> None:
    labels = labelled("a", "xyz", [0.1 + 0.2, 0.3, 0.4])

    assert labels.probs[0, 0] != labels.probs[0, 1]
    assert sparse(labels, 2).probs == pytest.approx(np.array([[0.15, 0.15, 0.4]]) / 0.7)


def test_sparse_counts_the_rows_with_a_tie_at_the_cut() -> None:
    labels = labelled("abc", "xyz", [0.6, 0.2, 0.2], [0.5, 0.3, 0.2], [1, 0, 0])

    assert sparse(labels, 2).provenance[-1].settings == {"keep": 2, "tied": 1}


@pytest.mark.parametrize("keep", [0, 4])
def test_keeping_no_or_too_many_entries_is_refused(keep: int) -> None:
    labels = labelled("a", "xyz", [1, 0, 0])

    with pytest.raises(DataError, match="keep from 1 to 3"):
        sparse(labels, keep)
    with pytest.raises(DataError, match="keep from 1 to 3"):
        pca_codes(labels, keep)


def test_information_equals_that_of_another_library_on_values_with_few_levels() -> None:
    rng = np.random.default_rng(0)
    labels = LabelSet(
        tuple(map(str, range(40))), ("x", "y", "z"), np.eye(3)[rng.integers(3, size=40)]
    )
    similarity = np.floor(4 * labels.probs @ labels.probs.T + rng.random((40, 40)))
    similarity = np.maximum(similarity, similarity.T)  # three levels or fewer

    first, second = np.triu_indices(40, k=1)
    expected = [
        mutual_info_score(column[first] * column[second], similarity[first, second])
        for column in labels.probs.T
    ]

    assert class_information(labels, similarity) == pytest.approx(expected)


def test_the_class_that_makes_items_alike_is_ranked_first() -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(4), size=60)
    labels = LabelSet(tuple(map(str, range(60))), tuple("wxyz"), probs)

    for k in range(4):
        best = top_classes(labels, 1, np.outer(probs[:, k], probs[:, k]))
        assert best.provenance[-1].settings["classes"] == [labels.classes[k]]


@given(label_sets(min_items=3), st.data())
def test_top_classes_depend_on_neither_order(labels: LabelSet, data: st.DataObject) -> None:
    keep = data.draw(st.integers(1, len(labels.classes)))
    rows = data.draw(st.permutations(range(len(labels))))
    columns = data.draw(st.permutations(range(len(labels.classes))))
    levels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=6, max_size=6)))
    similarity = -np.abs(levels[:, None] - levels)[: len(labels), : len(labels)].astype(float)

    expected = top_classes(labels, keep, similarity, emptied="others").probs
    moved = top_classes(
        reordered(labels, rows, columns), keep, similarity[np.ix_(rows, rows)], emptied="others"
    )

    assert moved.probs == pytest.approx(expected[np.ix_(rows, columns)])
    assert moved.probs.sum(axis=1) == pytest.approx(1)


def test_items_without_mass_on_the_kept_classes_are_an_error_or_go_to_the_others() -> None:
    labels = labelled("abcd", "xyz", [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1])
    alike = np.outer([1, 1, 0, 0], [1, 1, 0, 0]).astype(float)

    with pytest.raises(DataError, match=r"'c' has no mass on the classes that are kept \(2 of 4"):
        top_classes(labels, 1, alike)
    spread = top_classes(labels, 1, alike, emptied="others")

    assert spread.probs.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]]


@pytest.mark.parametrize(
    ("similarity", "says"),
    [
        (np.zeros((2, 3)), "shape"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), "same from either item"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "must be numbers"),
    ],
)
def test_similarities_of_the_wrong_form_are_refused(
    similarity: np.ndarray[tuple[int, int], np.dtype[np.float64]], says: str
) -> None:
    labels = labelled("ab", "xy", [1, 0], [0, 1])

    with pytest.raises(DataError, match=says):
        class_information(labels, similarity)


def test_information_in_a_single_bin_is_refused() -> None:
    with pytest.raises(DataError, match="needs 2 or more"):
        class_information(labelled("ab", "xy", [1, 0], [0, 1]), np.eye(2), bins=1)


def test_pca_codes_equal_those_of_another_library_up_to_sign() -> None:
    probs = np.random.default_rng(2).dirichlet([5, 2, 1, 0.5], size=100)
    labels = LabelSet(tuple(map(str, range(100))), tuple("wxyz"), probs)

    codes = pca_codes(labels, 3)

    expected = PCA(3, svd_solver="full").fit_transform(probs)
    assert np.abs(codes) == pytest.approx(np.abs(expected), abs=1e-9)
    assert ((codes**3).sum(axis=0) > 0).all()


def test_pca_codes_depend_on_neither_order() -> None:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([5, 2, 1, 0.5], size=50)
    labels = LabelSet(tuple(map(str, range(50))), tuple("wxyz"), probs)
    rows, columns = rng.permutation(50).tolist(), [2, 0, 3, 1]

    moved = pca_codes(reordered(labels, rows, columns), 3)

    assert moved == pytest.approx(pca_codes(labels, 3)[rows], abs=1e-9)


def test_all_but_one_pca_code_keep_every_distance() -> None:
    probs = np.random.default_rng(4).dirichlet(np.ones(4), size=20)
    labels = LabelSet(tuple(map(str, range(20))), tuple("wxyz"), probs)

    codes = pca_codes(labels, 3)

    far = np.linalg.norm(codes[:, None] - codes, axis=-1)
    assert far == pytest.approx(np.linalg.norm(probs[:, None] - probs, axis=-1), abs=1e-9)
