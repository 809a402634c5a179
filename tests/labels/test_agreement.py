import csv
import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from sfumato.errors import DataError
from sfumato.labels.agreement import (
    Agreement,
    Scale,
    between_pairs,
    between_people,
    fleiss_kappa,
    krippendorff_interval,
    krippendorff_nominal,
    krippendorff_scale,
    percent_agreement,
    within_person,
)
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.votes import Votes, counts

Table = NDArray[np.int64]

TEXTBOOK = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ]
)
"""Krippendorff's example of four observers and twelve units; 0 is "did not answer"."""

FLEISS_1971 = np.array(
    [
        *([0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0]),
        *([2, 0, 4, 0, 0], [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6]),
        *([1, 0, 0, 5, 0], [1, 1, 0, 4, 0], [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1]),
        *([0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0], [0, 2, 0, 4, 0], [1, 0, 2, 0, 3]),
        *([0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0], [1, 0, 0, 4, 1]),
        *([0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6]),
    ]
)
"""Fleiss' thirty patients and six psychiatrists."""


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def tabled(answers: Table) -> Table:
    """Votes of each unit for each class, from a row an observer."""
    return np.stack([(answers == k).sum(axis=0) for k in range(1, answers.max() + 1)], axis=1)


def answered(classes: str, *answers: tuple[str, str, list[float]]) -> CrowdLabels:
    """Judgments as (item, person, probabilities); nobody knows who "?" is."""
    items = sorted({item for item, _, _ in answers})
    people = sorted({person for _, person, _ in answers} - {"?"})
    return CrowdLabels(
        tuple(items),
        tuple(people),
        tuple(classes),
        np.array([items.index(item) for item, _, _ in answers]),
        np.array([NOT_RECORDED if who == "?" else people.index(who) for _, who, _ in answers]),
        np.array([probs for _, _, probs in answers]),
    )


@st.composite
def answers_with_gaps(draw: st.DrawFn) -> Table:
    """A row an observer, a column a unit; 0 is no answer. At least two classes share a pair."""
    n_units = draw(st.integers(2, 6))
    row = st.lists(st.integers(0, 3), min_size=n_units, max_size=n_units)
    answers = np.array(draw(st.lists(row, min_size=2, max_size=4)))
    table = tabled(np.append(answers, [[3] * n_units], axis=0))
    table[:, 2] -= 1  # the added observer only fixed the width
    paired = table[table.sum(axis=1) > 1]
    assume((paired.sum(axis=0) > 0).sum() > 1)
    return answers


@st.composite
def crowds(draw: st.DrawFn) -> CrowdLabels:
    mass = st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any)
    judgment = st.tuples(st.sampled_from("abc"), st.sampled_from("pqrs?"), mass)
    rows = draw(st.lists(judgment, min_size=1, max_size=12))
    return answered(
        "xyz", *((item, who, [m / sum(mass) for m in mass]) for item, who, mass in rows)
    )


@given(answers_with_gaps())
def test_nominal_alpha_equals_the_library_with_missing_answers(answers: Table) -> None:
    expected = krippendorff.alpha(
        np.where(answers == 0, np.nan, answers), level_of_measurement="nominal"
    )

    alpha = krippendorff_nominal(tabled(answers), rng=rng(), draws=2)

    assert alpha.value == pytest.approx(expected, abs=1e-12)


@given(answers_with_gaps(), st.floats(-100, 100), st.floats(0.01, 100))
def test_interval_alpha_equals_the_library_with_missing_answers_on_any_scale(
    answers: Table, shift: float, scale: float
) -> None:
    observer, unit = np.nonzero(answers)
    values = np.float64(scale) * answers[observer, unit] + np.float64(shift)
    expected = krippendorff.alpha(
        np.where(answers == 0, np.nan, answers), level_of_measurement="interval"
    )

    alpha = krippendorff_interval(values, unit, rng=rng(), draws=2)

    assert alpha.value == pytest.approx(expected, abs=1e-9)


def test_interval_alpha_of_sliders_equals_the_library_to_the_last_digits() -> None:
    sliders = np.random.default_rng(1).random((4, 12)) + np.linspace(0, 1, 12)
    sliders[0, 3] = sliders[2, 7] = np.nan
    observer, unit = np.nonzero(np.isfinite(sliders))

    alpha = krippendorff_interval(sliders[observer, unit], unit, rng=rng())

    expected = krippendorff.alpha(sliders, level_of_measurement="interval")
    assert alpha.value == pytest.approx(expected, abs=1e-12)


def test_interval_alpha_rates_each_slider_of_an_item_on_its_own() -> None:
    generator = np.random.default_rng(2)
    sliders = generator.random((9, 3)) + np.array([0, 1, 5])  # three people, three items
    sliders[4, 1] = np.nan
    item = np.repeat([7, 10**12, -4], 3)  # positions need not be dense

    alpha = krippendorff_interval(sliders, item, rng=rng())

    by_observer = sliders.reshape(3, 3, 3).transpose(1, 0, 2).reshape(3, 9)
    expected = krippendorff.alpha(by_observer, level_of_measurement="interval")
    assert alpha.value == pytest.approx(expected, abs=1e-12)
    assert alpha.n == 3


def test_interval_alpha_does_not_care_where_the_scale_begins() -> None:
    generator = np.random.default_rng(3)
    item = np.repeat(np.arange(20), 3)
    values = generator.random(60) + item

    alpha, shifted = (krippendorff_interval(v, item, rng=rng()) for v in (values, values + 1e7))

    assert shifted.value == pytest.approx(alpha.value, abs=1e-9)
    assert shifted.low == pytest.approx(alpha.low, abs=1e-9)


def test_the_textbook_example_gives_its_published_coefficients() -> None:
    table = tabled(TEXTBOOK)

    assert krippendorff_nominal(table, rng=rng()).value == pytest.approx(0.743, abs=5e-4)
    assert percent_agreement(table, rng=rng()).value == pytest.approx(0.81818, abs=5e-6)
    assert fleiss_kappa(table, rng=rng()).value == pytest.approx(0.76117, abs=5e-6)


def test_the_patients_of_1971_give_the_published_kappa() -> None:
    assert fleiss_kappa(FLEISS_1971, rng=rng()).value == pytest.approx(0.430, abs=5e-4)


WIKIPEDIA = np.array(  # what krippendorff's own tests compute alpha of; 0 is no answer
    [
        [0, 0, 0, 0, 0, 3, 4, 1, 2, 1, 1, 3, 3, 0, 3],
        [1, 0, 2, 1, 3, 3, 4, 3, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 2, 1, 3, 4, 4, 0, 2, 1, 1, 3, 3, 0, 4],
    ]
)


def test_krippendorff_s_own_cases_give_its_values() -> None:
    observer, unit = np.nonzero(WIKIPEDIA)
    words = np.array([[1, 2, 3, 0], [1, 2, 3, 1], [1, 2, 1, 1]])  # pos, neg, neu
    agreed = np.tile([1, 2, 3, 4], (3, 1))

    assert round(krippendorff_nominal(tabled(WIKIPEDIA), rng=rng()).value, 6) == 0.691358
    alpha = krippendorff_interval(WIKIPEDIA[observer, unit].astype(float), unit, rng=rng())
    assert round(alpha.value, 6) == 0.810845
    assert round(krippendorff_nominal(tabled(words), rng=rng()).value, 6) == 0.722222
    assert krippendorff_nominal(tabled(agreed), rng=rng()).value == 1
    alpha = krippendorff_interval(agreed.ravel().astype(float), np.tile(range(4), 3), rng=rng())
    assert alpha.value == 1


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        (
            [
                [0, 0, 0, 0, 14],
                [0, 2, 6, 4, 2],
                [0, 0, 3, 5, 6],
                [0, 3, 9, 2, 0],
                [2, 2, 8, 1, 1],
                [7, 7, 0, 0, 0],
                [3, 2, 6, 3, 0],
                [2, 5, 3, 2, 2],
                [6, 5, 2, 1, 0],
                [0, 2, 2, 3, 7],
            ],
            0.209931,
        ),
        ([[7, 1], [3, 5]], 0.161905),
        ([[7, 0], [0, 7]], 1),
        ([[6, 1, 0], [0, 7, 0]], 0.708333),
    ],
)
def test_statsmodels_own_cases_give_its_values(table: list[list[int]], kappa: float) -> None:
    assert fleiss_kappa(np.array(table), rng=rng()).value == pytest.approx(kappa, abs=6e-6)


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(2, 5))
def test_kappa_of_equal_counts_equals_statsmodels(seed: int, n_votes: int, n_classes: int) -> None:
    table = np.random.default_rng(seed).multinomial(n_votes, np.ones(n_classes) / n_classes, 6)
    assume((table.sum(axis=0) > 0).sum() > 1)

    kappa = fleiss_kappa(table, rng=rng(), draws=2)

    assert kappa.value == pytest.approx(statsmodels_fleiss(table), abs=1e-12)


@pytest.mark.parametrize("measure", [percent_agreement, fleiss_kappa, krippendorff_nominal])
@given(answers=answers_with_gaps(), data=st.data())
def test_agreement_on_votes_depends_on_neither_order(
    measure: Callable[..., Agreement], answers: Table, data: st.DataObject
) -> None:
    table = tabled(answers)
    rows = data.draw(st.permutations(range(len(table))))
    columns = data.draw(st.permutations(range(table.shape[1])))

    there = measure(table[np.ix_(rows, columns)], rng=rng(), draws=2)

    assert there.value == pytest.approx(measure(table, rng=rng(), draws=2).value, abs=1e-12)


def test_agreement_reads_the_counts_of_votes() -> None:
    votes = Votes(
        ("a", "b"), ("p", "q"), ("x", "y"), *np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]])
    )

    assert percent_agreement(counts(votes), rng=rng()).value == 0.5


@pytest.mark.parametrize("measure", [fleiss_kappa, krippendorff_nominal])
def test_chance_corrected_agreement_of_a_single_class_is_undefined(
    measure: Callable[..., Agreement],
) -> None:
    with pytest.raises(DataError, match="undefined: all answers are the same"):
        measure(np.array([[3, 0], [2, 0]]), rng=rng())


@pytest.mark.parametrize("n_items", range(2, 30))
def test_interval_alpha_of_a_single_value_is_undefined_however_it_rounds(n_items: int) -> None:
    with pytest.raises(DataError, match="undefined: all answers are the same"):
        krippendorff_interval(
            np.full(2 * n_items, 0.1), np.repeat(np.arange(n_items), 2), rng=rng()
        )


@pytest.mark.parametrize("measure", [percent_agreement, fleiss_kappa, krippendorff_nominal])
def test_agreement_without_any_pair_is_refused(measure: Callable[..., Agreement]) -> None:
    with pytest.raises(DataError, match="needs an item with two answers"):
        measure(np.array([[1, 0], [0, 1], [0, 0]]), rng=rng())


def test_interval_alpha_without_any_pair_is_refused() -> None:
    with pytest.raises(DataError, match="needs an item with two answers"):
        krippendorff_interval(np.array([1.0, 2.0]), np.array([0, 1]), rng=rng())


@pytest.mark.parametrize(
    ("values", "item", "says"),
    [
        (np.array([1.0, np.inf]), np.array([0, 0]), "infinite"),
        (np.array([1.0, 2.0]), np.array([0, 0, 0]), "one item position for each"),
    ],
)
def test_ratings_of_the_wrong_form_are_refused(
    values: NDArray[np.float64], item: Table, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        krippendorff_interval(values, item, rng=rng())


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_that_is_no_probability_is_refused(level: float) -> None:
    with pytest.raises(DataError, match="between 0 and 1"):
        percent_agreement(FLEISS_1971, rng=rng(), level=level)


def test_an_interval_without_draws_is_refused() -> None:
    with pytest.raises(DataError, match="ask for 1 or more"):
        percent_agreement(FLEISS_1971, rng=rng(), draws=0)


def test_intervals_hold_the_value_of_the_population_about_as_often_as_they_say() -> None:
    generator = np.random.default_rng(4)
    population = generator.multinomial(5, [0.6, 0.3, 0.1], size=4000)
    population[::2] = generator.multinomial(5, [0.1, 0.1, 0.8], size=2000)
    truth = krippendorff_nominal(population, rng=rng(), draws=2).value

    held = 0
    for _ in range(200):
        sample = population[generator.integers(4000, size=80)]
        alpha = krippendorff_nominal(sample, rng=generator, level=0.8, draws=200)
        held += alpha.low <= truth <= alpha.high

    assert 0.7 < held / 200 < 0.9


def test_intervals_are_repeatable_and_narrow_with_more_items() -> None:
    few = percent_agreement(FLEISS_1971, rng=rng())
    many = percent_agreement(np.tile(FLEISS_1971, (25, 1)), rng=rng())

    assert few == percent_agreement(FLEISS_1971, rng=rng())
    assert few.low < few.value < few.high
    assert (many.high - many.low) / (few.high - few.low) == pytest.approx(1 / 5, abs=0.05)


def test_a_resample_without_variation_is_left_out_of_the_interval() -> None:
    alpha = krippendorff_nominal(np.array([[2, 0], [2, 0], [1, 1]]), rng=rng())

    assert np.isfinite([alpha.low, alpha.high]).all()


@pytest.mark.parametrize("common", np.random.default_rng(6).random(8))
def test_a_resample_of_one_slider_value_is_left_out_however_it_rounds(common: float) -> None:
    values = np.array([common, common, common, common, 2.0, 3.0])

    alpha = krippendorff_interval(values, np.array([0, 0, 1, 1, 2, 2]), rng=rng())

    assert alpha.high < 1  # the third item, which disagrees, is in every draw that has a value


@given(crowds())
def test_distance_between_people_is_the_mean_over_pairs_then_items(crowd: CrowdLabels) -> None:
    per_item: dict[int, list[tuple[float, float]]] = {}
    for i, j in combinations(range(len(crowd)), 2):
        one_person = crowd.annotator[i] == crowd.annotator[j] != NOT_RECORDED
        if crowd.item[i] == crowd.item[j] and not one_person:
            p, q = crowd.probs[i], crowd.probs[j]
            far = (jensenshannon(p, q) ** 2, np.abs(p - q).sum() / 2)
            per_item.setdefault(int(crowd.item[i]), []).append(far)
    assume(per_item)

    js, tv = np.mean([np.mean(pairs, axis=0) for pairs in per_item.values()], axis=0)
    measured = between_people(crowd, rng=rng(), draws=2)
    assert measured.value == pytest.approx(js, abs=1e-9)
    assert measured.n == len(per_item)
    assert between_people(crowd, "total-variation", rng=rng(), draws=2).value == pytest.approx(tv)


@given(st.integers(0, 2**32 - 1))
def test_distance_between_voters_is_their_disagreement(seed: int) -> None:
    generator = np.random.default_rng(seed)
    item, label = generator.integers(4, size=30), generator.integers(3, size=30)
    crowd = CrowdLabels(
        tuple("abcd"),
        tuple(map(str, range(30))),
        tuple("xyz"),
        item,
        np.arange(30),
        np.eye(3)[label],
    )
    votes = Votes(crowd.items, crowd.annotators, crowd.classes, item, np.arange(30), label)

    apart = between_people(crowd, "total-variation", rng=rng(), draws=2)

    percent = percent_agreement(counts(votes), rng=rng(), draws=2)
    assert apart.value == pytest.approx(1 - percent.value)


def test_two_answers_by_one_person_are_no_pair() -> None:
    crowd = answered("xy", ("a", "p", [1, 0]), ("a", "p", [0, 1]))

    with pytest.raises(DataError, match="needs an item with two answers"):
        between_people(crowd, rng=rng())


def test_repeats_are_matched_by_the_names_of_item_person_and_class() -> None:
    first = answered(
        "xy",
        ("a", "p", [0.9, 0.1]),
        ("b", "p", [0.8, 0.2]),
        ("a", "q", [0.6, 0.4]),
        ("c", "?", [1, 0]),
    )
    repeat = answered(
        "yx",
        ("z", "q", [1, 0]),
        ("a", "p", [0.3, 0.7]),
        ("b", "p", [0.9, 0.1]),
        ("a", "q", [0.4, 0.6]),
        ("c", "?", [1, 0]),
    )

    within = within_person(first, repeat, "total-variation", rng=rng())

    assert within.divergence.value == pytest.approx((0.2 + 0.7 + 0) / 3)
    assert within.changed_top.value == pytest.approx(1 / 3)
    assert within.top_change is not None
    assert within.top_change.value == pytest.approx((0.2 + 0) / 2)
    assert within.divergence.n == 2


def test_a_tie_at_the_top_that_holds_the_old_choice_is_no_change() -> None:
    first = answered("xyz", ("a", "p", [0.2, 0.8, 0]))
    repeat = answered("xyz", ("a", "p", [0.5, 0.5, 0]))

    within = within_person(first, repeat, rng=rng())

    assert within.changed_top.value == 0
    assert within.top_change is not None
    assert within.top_change.value == pytest.approx(0.3)


def test_a_tie_at_the_top_may_be_rounded() -> None:
    first = answered("xyz", ("a", "p", [0.1 + 0.3, 0.4 + 1e-16, 0.2]))
    repeat = answered("xyz", ("a", "p", [0.6, 0.2, 0.2]))

    assert within_person(first, repeat, rng=rng()).changed_top.value == 0


def test_change_of_top_probability_is_none_when_every_choice_changed() -> None:
    first = answered("xy", ("a", "p", [1, 0]))
    repeat = answered("xy", ("a", "p", [0, 1]))

    within = within_person(first, repeat, rng=rng())

    assert within.top_change is None
    assert within.changed_top.value == 1
    assert within.divergence.value == pytest.approx(np.log(2))


def test_two_first_answers_by_one_person_are_refused_by_name() -> None:
    crowd = answered("xy", ("a", "p", [1, 0]), ("a", "p", [0, 1]))

    with pytest.raises(DataError, match="'a' has two first answers by 'p'"):
        within_person(crowd, crowd, rng=rng())


def test_repeats_of_other_people_or_classes_are_refused() -> None:
    first = answered("xy", ("a", "p", [1, 0]))

    with pytest.raises(DataError, match="No repeated answer has a first answer"):
        within_person(first, answered("xy", ("a", "q", [1, 0])), rng=rng())
    with pytest.raises(DataError, match="Class 'y' is in the first answers or the repeats"):
        within_person(first, answered("xz", ("a", "p", [1, 0])), rng=rng())


def test_agreement_on_cifar10h_equals_the_library(data_folder: Path) -> None:
    table = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")

    alpha = krippendorff_nominal(table, rng=rng(), draws=20)

    expected = krippendorff.alpha(value_counts=table, level_of_measurement="nominal")
    assert alpha.value == pytest.approx(expected, abs=1e-12)
    assert alpha.n == 10_000


def test_repeats_of_cifar10s_change_about_as_published(data_folder: Path) -> None:
    first, repeat = (
        stated_top(data_folder, task=task) for task in ("spec_conf", "rerun_spec_conf")
    )

    within = within_person(first, repeat, rng=rng())

    # Published with one session counted twice: 7.03 % and 6.10 points.
    assert within.top_change is not None
    assert within.changed_top.n == 248
    assert within.changed_top.value == pytest.approx(0.07, abs=0.005)
    assert within.top_change.value == pytest.approx(0.061, abs=0.002)
    assert within.changed_top.low < 0.0703 < within.changed_top.high


def stated_top(data_folder: Path, *, task: str) -> CrowdLabels:
    """The first choice and its probability as typed; the rest is spread evenly."""
    classes = (data_folder / "cifar10" / "classes.txt").read_text().split()
    seen: dict[tuple[str, str], NDArray[np.float64]] = {}
    with (data_folder / "cifar10s" / "raw_human_data.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["task"] != task:
                continue
            answer = json.loads(row["response"], strict=False)
            if not answer["prob"].isdigit():  # somebody typed "8p"
                continue
            top = float(answer["prob"]) / 100
            probs = np.full(len(classes), (1 - top) / (len(classes) - 1))
            probs[classes.index(answer["classSelect"].removeprefix("mostProb").lower())] = top
            seen.setdefault((row["filename"], row["subject"]), probs)
    items, item = np.unique([key[0] for key in seen], return_inverse=True)
    people, person = np.unique([key[1] for key in seen], return_inverse=True)
    return CrowdLabels(
        tuple(items.tolist()),
        tuple(people.tolist()),
        tuple(classes),
        item,
        person,
        np.array(list(seen.values())),
    )


@pytest.mark.parametrize("scale", ["ordinal", "interval", "ratio"])
@given(data=st.data())
def test_alpha_on_a_scale_equals_the_package(scale: Scale, data: st.DataObject) -> None:
    values = data.draw(
        st.lists(st.integers(0, 20), min_size=2, max_size=5, unique=True).map(sorted)
    )
    row = st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values))
    table = np.array(data.draw(st.lists(row, min_size=2, max_size=6)))
    paired = table[table.sum(axis=1) > 1]
    assume(len(paired) and (paired.sum(axis=0) > 0).sum() > 1)

    found = krippendorff_scale(table, values, scale, rng=rng(), draws=2)

    expected = krippendorff.alpha(
        value_counts=paired, value_domain=values, level_of_measurement=scale
    )
    assert found.value == pytest.approx(expected)
    order = np.arange(len(values))[::-1]
    turned = krippendorff_scale(
        table[::-1, order], [values[k] for k in order], scale, rng=rng(), draws=2
    )
    assert turned.value == pytest.approx(found.value)
    assert found.value <= 1 + 1e-12


def test_alpha_of_krippendorffs_own_example() -> None:
    """The textbook's .815 (ordinal), .849 (interval) and .797 (ratio)."""
    table = tabled(TEXTBOOK)
    values = range(1, 6)
    found = [
        krippendorff_scale(table, list(values), scale, rng=rng(), draws=2).value
        for scale in ("ordinal", "interval", "ratio")
    ]
    assert found == pytest.approx([0.815, 0.849, 0.797], abs=0.0006)
    with pytest.raises(DataError, match="goes below"):
        krippendorff_scale(table, [-1, 0, 1, 2, 3], "ratio", rng=rng())


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=20))
def test_quadratic_kappa_equals_scikit_learn(answers: list[tuple[int, int]]) -> None:
    first, second = np.array(answers).T
    item = np.tile(np.arange(len(answers)), 2)
    crowd = CrowdLabels(
        [str(n) for n in range(len(answers))],
        ("p", "q"),
        "abcde",
        item,
        np.repeat([0, 1], len(answers)),
        said=np.concatenate([first, second]),
        values=(1, 2, 3, 4, 5),
    )
    row = between_pairs(crowd).row(0, named=True)
    if len(set(first) | set(second)) > 1:
        labels = list(range(5))
        for weights, name in ((None, "kappa"), ("quadratic", "quadratic_kappa")):
            expected = cohen_kappa_score(first, second, labels=labels, weights=weights)
            assert row[name] == pytest.approx(expected)
    bare = CrowdLabels(
        crowd.items, crowd.annotators, "12345", crowd.item, crowd.annotator, said=crowd.said
    )
    assert "quadratic_kappa" not in between_pairs(bare).columns
