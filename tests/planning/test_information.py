"""Counts against brute force over generated labels, the paper's numbers, and the limits."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.planning.embed import rank_scores
from sfumato.planning.information import (
    FORMS,
    Regime,
    Unasked,
    all_constraints,
    asymptote,
    closed_form,
    constraints,
    information,
    multimodal,
    noisy,
    ratio,
    ratio_table,
    regime,
    stochastic_ratio,
)

Labels = NDArray[np.float64]
sizes = st.integers(3, 9)


def enumerated(labels: Labels) -> int:
    """Every triplet written down one by one: (anchor; nearer, farther)."""
    n, k = labels.shape
    found = set()
    for i, (a, b) in product(range(n), combinations(range(k), 2)):
        if labels[i, a] > labels[i, b]:
            found.add((("item", i), a, b))
        elif labels[i, b] > labels[i, a]:
            found.add((("item", i), b, a))
    for c, (i, j) in product(range(k), combinations(range(n), 2)):
        if labels[i, c] > labels[j, c]:
            found.add((("class", c), i, j))
        elif labels[j, c] > labels[i, c]:
            found.add((("class", c), j, i))
    return len(found)  # NaN compares as neither, so what was not asked about is silent


def scattered(n: int, k: int, seed: int = 0) -> tuple[Labels, Labels]:
    """Soft labels of points around centroids (S1-22), and the distances behind them."""
    rng = np.random.default_rng(seed)
    centroids, points = rng.normal(size=(k, 4)), rng.normal(size=(n, 4))
    apart = np.linalg.norm(points[:, None] - centroids, axis=2)
    soft = np.exp(-apart)
    return soft / soft.sum(axis=1, keepdims=True), apart


def dealt(n: int, k: int, each: int) -> NDArray[np.bool_]:
    """Marks dealt round the classes like cards: every class gets as many as possible alike."""
    marks = np.zeros((n, k), dtype=bool)
    for card in range(n * each):
        marks[card // each, card % k] = True
    return marks


def test_the_papers_task_has_the_papers_counts() -> None:
    assert constraints("hard", items=80, classes=20) == 7600
    assert constraints("soft", items=80, classes=20) == 78400
    assert all_constraints(80, 20) == 485100
    assert float(ratio("hard", items=80, classes=20)) == pytest.approx(0.0157, abs=5e-5)
    assert float(ratio("soft", items=80, classes=20)) == pytest.approx(0.1616, abs=5e-5)


@given(sizes, sizes, st.integers(0, 9))
def test_mined_counts_equal_the_soft_form_exactly(n: int, k: int, seed: int) -> None:
    soft, _ = scattered(n, k, seed)

    assert (
        rank_scores(soft).constraints == enumerated(soft) == constraints("soft", items=n, classes=k)
    )
    assert closed_form("soft", items=n, classes=k) == Fraction(k * n * (k + n - 2), 2)


@given(st.integers(3, 8), st.integers(1, 4))
def test_mined_counts_equal_the_hard_form_where_classes_are_even(k: int, each: int) -> None:
    n = k * each
    hard = np.eye(k)[np.arange(n) % k]

    formula = n * (k - 1) + Fraction(n**2 * (k - 1), k)
    assert enumerated(hard) == constraints("hard", items=n, classes=k) == formula
    assert closed_form("hard", items=n, classes=k) == formula


@given(st.integers(3, 7), st.lists(st.integers(0, 6), min_size=3, max_size=14))
def test_uneven_hard_labels_are_counted_exactly_and_stay_below_the_formula(
    k: int, drawn: list[int]
) -> None:
    chosen = np.array(drawn) % k
    hard, n = np.eye(k)[chosen], len(drawn)

    counted = constraints(
        "hard", items=n, classes=k, sizes=np.bincount(chosen, minlength=k).tolist()
    )

    assert counted == enumerated(hard) == rank_scores(hard).constraints
    assert (
        counted
        <= constraints("hard", items=n, classes=k)
        <= closed_form("hard", items=n, classes=k)
    )


@given(st.integers(1, 500), st.integers(3, 500))
def test_the_hard_formula_is_reached_only_if_the_classes_divide_the_items(n: int, k: int) -> None:
    n += 2
    reached = constraints("hard", items=n, classes=k) == closed_form("hard", items=n, classes=k)

    assert reached == (n % k == 0)


@given(sizes, sizes, st.integers(1, 9), st.integers(0, 9))
def test_sparse_labels_count_what_their_largest_entries_say(
    n: int, k: int, kept: int, seed: int
) -> None:
    soft, _ = scattered(n, k, seed)
    kept = min(kept, k)
    rank = (-soft).argsort(axis=1).argsort(axis=1)
    sparse = np.where(rank < kept, soft, 0)
    marked = (sparse > 0).sum(axis=0)

    counted = constraints("sparse", items=n, classes=k, kept=kept, sizes=marked.tolist())

    assert counted == enumerated(sparse) == rank_scores(sparse).constraints


@given(sizes, sizes, st.integers(1, 9), st.integers(0, 9))
def test_sparse_labels_dealt_evenly_are_counted_without_their_sizes(
    n: int, k: int, kept: int, seed: int
) -> None:
    kept = min(kept, k)
    soft, _ = scattered(n, k, seed)
    sparse = np.where(dealt(n, k, kept), soft, 0)

    assert constraints("sparse", items=n, classes=k, kept=kept) == enumerated(sparse)


@given(sizes, sizes)
def test_sparse_labels_lie_between_hard_and_soft_ones(n: int, k: int) -> None:
    steps = [constraints("sparse", items=n, classes=k, kept=kept) for kept in range(1, k + 1)]

    assert steps == sorted(steps)
    assert steps[-1] == constraints("soft", items=n, classes=k)
    assert steps[0] >= constraints("hard", items=n, classes=k)


@given(sizes, sizes, st.integers(1, 9), st.integers(0, 9))
def test_top_class_labels_are_silent_or_zero_elsewhere(
    n: int, k: int, kept: int, seed: int
) -> None:
    soft, _ = scattered(n, k, seed)
    kept = min(kept, k)
    silent, zero = soft.copy(), soft.copy()
    silent[:, kept:], zero[:, kept:] = np.nan, 0

    assert constraints("top-class", items=n, classes=k, kept=kept) == enumerated(silent)
    assert rank_scores(silent).constraints == enumerated(silent)
    literal = constraints("top-class", items=n, classes=k, kept=kept, unasked="zero")
    assert literal == enumerated(zero)


@given(sizes, sizes, st.integers(0, 4), st.integers(0, 4))
def test_yes_no_unsure_answers_have_three_levels(n: int, k: int, yes: int, unsure: int) -> None:
    yes, unsure = max(min(yes, k), int(unsure == 0)), min(unsure, k - min(yes, k))
    if yes + unsure == 0:
        return
    deck = np.zeros((n, k))
    for card in range(n * yes):
        deck[card // yes, card % k] = 2
    # Round the classes again from where yes ended; columns alone decide, so rows need not be real.
    for card in range(n * unsure):
        column = (n * yes + card) % k
        deck[np.flatnonzero(deck[:, column] == 0)[0], column] = 1
    columns = enumerated(deck) - rows_of(deck)

    counted = constraints("yes-no-unsure", items=n, classes=k, yes=yes, unsure=unsure)

    rows = n * (yes * unsure + (yes + unsure) * (k - yes - unsure))
    assert counted == rows + columns


def test_one_yes_and_one_unsure_an_item_are_counted_exactly() -> None:
    labels = 2 * np.eye(6) + np.roll(np.eye(6), 1, axis=1)

    assert (
        constraints("yes-no-unsure", items=6, classes=6)
        == enumerated(labels)
        == rank_scores(labels).constraints
    )


def rows_of(labels: Labels) -> int:
    return sum(len(set(map(float, pair))) - 1 for row in labels for pair in combinations(row, 2))


@given(sizes, sizes)
def test_one_yes_and_nothing_unsure_is_a_hard_label(n: int, k: int) -> None:
    asked = constraints("yes-no-unsure", items=n, classes=k, yes=1, unsure=0)

    assert asked == constraints("hard", items=n, classes=k)


@given(st.integers(3, 6), st.lists(st.integers(0, 5), min_size=3, max_size=12))
def test_typicality_orders_the_items_of_a_class(k: int, drawn: list[int]) -> None:
    chosen, n = np.array(drawn) % k, len(drawn)
    typical = np.linspace(0.5, 0.9, n)
    beside_class = np.zeros((n, k))
    beside_class[np.arange(n), chosen] = typical
    alone = np.where(beside_class > 0, beside_class, np.nan)
    marked = np.bincount(chosen, minlength=k).tolist()

    known = constraints("typicality", items=n, classes=k, sizes=marked)
    unknown = constraints("typicality", items=n, classes=k, sizes=marked, beside="nothing")

    assert known == enumerated(beside_class)
    assert unknown == enumerated(alone)


@given(st.integers(3, 8), st.integers(0, 9))
def test_all_pairs_and_all_triplets_tell_everything_about_the_items(n: int, seed: int) -> None:
    rated = np.random.default_rng(seed).random((n, n))
    rated = np.triu(rated, 1) + np.triu(rated, 1).T
    compared = sum(
        rated[a, b] != rated[a, c]
        for a in range(n)
        for b, c in combinations([other for other in range(n) if other != a], 2)
    )

    for form in ("pairs", "triplets"):
        assert constraints(form, items=n, classes=3) == compared == all_constraints(n)
        assert ratio(form, items=n, classes=3) == 1


def test_some_pairs_compare_the_neighbours_that_were_rated() -> None:
    # a ring of six items: two neighbours each, one comparison around each item
    assert constraints("pairs", items=6, classes=3, answers=6) == 6
    assert constraints("triplets", items=6, classes=3, answers=6) == 6


def test_ratings_on_few_points_tie() -> None:
    # eight neighbours on a scale of two: four and four, so 16 unequal of 28 pairs
    assert constraints("pairs", items=9, classes=3, levels=2) == 9 * 16
    assert constraints("pairs", items=9, classes=3, levels=100) == all_constraints(9)


@given(st.integers(3, 10**6), st.integers(3, 10**6), st.sampled_from(sorted(FORMS)))
def test_every_form_at_any_n_and_k_is_a_whole_number_below_all_constraints(
    n: int, k: int, form: str
) -> None:
    known = information(form, items=n, classes=k)

    assert isinstance(known.constraints, int)
    assert 0 < known.ratio <= 1
    assert known.constraints <= closed_form(form, items=n, classes=k)


def test_closed_ratios_of_the_notes_hold() -> None:
    for n, k in product([3, 10, 40, 90], repeat=2):
        soft = Fraction(k * n, (n + k) * (n + k - 1))
        hard = Fraction(2 * n * (k - 1), k * (n + k - 1) * (n + k - 2))
        assert ratio("soft", items=n, classes=k) == soft
        assert closed_form("hard", items=n, classes=k) / all_constraints(n, k) == hard


FAR = 10**7
REGIMES: dict[Regime, tuple[int, int]] = {
    "many-shot": (FAR, 12),
    "one-shot": (FAR, FAR),
    "less-than-one-shot": (12, FAR),
}


@pytest.mark.parametrize("form", ["hard", "soft", "sparse", "yes-no-unsure", "typicality"])
@pytest.mark.parametrize("where", REGIMES)
def test_the_ratio_tends_to_its_asymptote(form: str, where: Regime) -> None:
    n, k = REGIMES[where]

    assert regime(n, k) == where
    assert float(ratio(form, items=n, classes=k)) == pytest.approx(
        asymptote(form, where, items=n, classes=k), rel=1e-4
    )


@pytest.mark.parametrize("unasked", ["silent", "zero"])
@pytest.mark.parametrize("where", REGIMES)
def test_the_ratio_of_top_class_labels_tends_to_its_asymptote(
    where: Regime, unasked: Unasked
) -> None:
    n, k = REGIMES[where]

    found = float(ratio("top-class", items=n, classes=k, kept=3, unasked=unasked))

    limit = asymptote("top-class", where, items=n, classes=k, kept=3, unasked=unasked)
    assert found == pytest.approx(limit, rel=1e-4)


def test_soft_labels_have_the_three_limits_of_the_paper_and_hard_ones_two() -> None:
    assert asymptote("soft", "many-shot", items=1000, classes=10) == 10 / 1000
    assert asymptote("soft", "one-shot", items=90, classes=90) == 1 / 4
    assert asymptote("soft", "less-than-one-shot", items=10, classes=1000) == 10 / 1000
    assert asymptote("hard", "many-shot", items=1000, classes=10) == pytest.approx(1.8 / 1000)
    assert asymptote("hard", "one-shot", items=90, classes=90) == 1 / 180
    assert asymptote("pairs", "one-shot", items=9, classes=9) == 1
    alone = asymptote("typicality", "many-shot", items=FAR, classes=10, beside="nothing")
    assert alone == pytest.approx(
        float(ratio("typicality", items=FAR, classes=10, beside="nothing")), rel=1e-4
    )
    assert asymptote("typicality", "one-shot", items=9, classes=9, beside="nothing") == 0


def test_flipped_answers_leave_fewer_constraints() -> None:
    assert noisy(78_400, 0.25) == 0.75 * 78_400
    assert noisy(100, 0) == noisy(100, 0, "capacity") == 100
    assert noisy(100, 0.5, "capacity") == 0
    assert noisy(100, 0.5) == 50
    # 1 - H2(0.11) is one half, the textbook example of a noisy channel
    assert noisy(100, 0.11, "capacity") == pytest.approx(50, abs=0.02)


@given(st.floats(0.001, 0.499))
def test_the_channel_never_promises_more_than_the_papers_rule(flipped: float) -> None:
    assert noisy(1, flipped, "capacity") < noisy(1, flipped)


@given(st.integers(1, 50), st.floats(0, 0.5))
def test_the_stochastic_ratio_of_flipped_answers_is_the_channels(told: int, flipped: float) -> None:
    known = information("triplets", items=10, classes=3, answers=told)

    found = stochastic_ratio(np.full(told, 1 - flipped), known.possible)

    assert found == pytest.approx(
        noisy(known.constraints, flipped, "capacity") / known.possible, abs=1e-12
    )


def test_modes_are_classes_of_their_own_if_people_name_them() -> None:
    named = multimodal("hard", items=80, modes=[1, 2, 3, 4])
    not_named = multimodal("hard", items=80, modes=[1, 2, 3, 4], named="class")

    assert named == information("hard", items=80, classes=10)
    assert not_named.constraints == constraints("hard", items=80, classes=4)
    assert not_named.possible == all_constraints(80, 10)
    assert not_named.ratio < named.ratio
    assert multimodal("pairs", items=80, modes=[2, 2, 2], named="class").ratio == 1


def test_the_table_of_ratios_has_a_row_a_form_and_task() -> None:
    table = ratio_table(["hard", "sparse"], items=[10, 20], classes=[3, 5], kept=[1, 4])

    assert len(table) == 4 + 2 * (1 + 2)  # four of three classes cannot be kept
    assert table.filter(form="hard")["kept"].null_count() == 4
    found = table.filter(kept=4, items=20)["rho"].to_list()
    assert found == [float(ratio("sparse", items=20, classes=5, kept=4))]


@pytest.mark.parametrize(("n", "k", "what"), [(2, 5, "items is 2"), (5, 2, "classes is 2")])
@pytest.mark.parametrize("form", FORMS)
def test_fewer_than_three_of_anything_is_one_sentence(form: str, n: int, k: int, what: str) -> None:
    with pytest.raises(DataError, match=f"^The number of {what}; a plan needs 3 or more"):
        constraints(form, items=n, classes=k)


def test_what_cannot_be_counted_is_said_in_a_sentence() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'sparse'"):
        constraints("spars", items=5, classes=5)
    with pytest.raises(DataError, match="6 classes an answer were asked for; choose 1 to 5"):
        constraints("sparse", items=5, classes=5, kept=6)
    with pytest.raises(DataError, match="sizes sum to 4; 5 items mark 1 classes each"):
        constraints("hard", items=5, classes=3, sizes=[2, 2, 0])
    with pytest.raises(DataError, match="3 classes but sizes of 2"):
        constraints("hard", items=5, classes=3, sizes=[2, 3])
    with pytest.raises(DataError, match="Class 1 is marked by 6 items"):
        constraints("sparse", items=5, classes=3, sizes=[2, 6, 2])
    with pytest.raises(DataError, match="use mined"):
        constraints("yes-no-unsure", items=5, classes=3, sizes=[2, 3, 0])
    with pytest.raises(DataError, match="2 yes and 4 unsure"):
        constraints("yes-no-unsure", items=5, classes=5, yes=2, unsure=4)
    with pytest.raises(DataError, match="11 pairs were asked for; 5 items have 10"):
        constraints("pairs", items=5, classes=5, answers=11)
    with pytest.raises(DataError, match="scale has 1 points"):
        constraints("pairs", items=5, classes=5, levels=1)
    with pytest.raises(DataError, match=r"flipped answers is 0\.6"):
        noisy(5, 0.6)
    with pytest.raises(UnknownName, match="noise rule"):
        noisy(5, 0.1, "quadratic")
    with pytest.raises(DataError, match=r"Chance 1 is 1\.5"):
        stochastic_ratio(np.array([0.5, 1.5]), 4)
    with pytest.raises(DataError, match="3 comparisons were answered of only 2"):
        stochastic_ratio(np.ones(3), 2)
    with pytest.raises(DataError, match="Class 1 has 0 modes"):
        multimodal("hard", items=5, modes=[1, 0, 4])
