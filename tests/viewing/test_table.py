"""What the page sorts and filters by is what the library computes, item by item."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.viewing.conftest import CLASSES, make_beliefs, make_crowd

from sfumato.errors import DataError, UnknownName
from sfumato.labels.compare import total_variation
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.running import change_by_one_more
from sfumato.labels.signals import disputed_thirds, entropy, spread_of
from sfumato.viewing import table as tables
from sfumato.viewing.table import ItemTable, Query, ViewedSets


def make_table() -> ItemTable:
    """Forty items, people and two models, one of which knows every second item only."""
    crowd = make_crowd(40, np.random.default_rng(0))
    people = crowd.mean()
    rng = np.random.default_rng(1)
    return ItemTable(
        ViewedSets(
            "test",
            {
                "people": people,
                "model": make_beliefs(people, rng),
                "some": make_beliefs(people, rng).take(people.items[::2]),
            },
            crowd,
            rng.gamma(2.0, size=len(crowd)),
            {item: "train" if place % 4 else "test" for place, item in enumerate(people.items)},
            dict.fromkeys(people.items[1::2], "odd"),
            {item: f"{item}, ÜBER {place % 7}" for place, item in enumerate(people.items)},
        )
    )


TABLE = make_table()


@pytest.fixture
def table() -> ItemTable:
    return TABLE


@pytest.fixture
def crowd() -> CrowdLabels:
    assert TABLE.viewed.crowd is not None
    return TABLE.viewed.crowd


def test_numbers_are_those_of_the_library(table: ItemTable, crowd: CrowdLabels) -> None:
    spread, people = spread_of(crowd), table.viewed.sets["people"]
    whole = change_by_one_more(crowd.item, crowd.probs, len(crowd.items))

    assert np.allclose(table.values("disagreement"), spread.disagreement)
    assert np.allclose(table.values("doubt"), spread.doubt)
    assert np.allclose(table.values("entropy"), entropy(people))
    assert np.allclose(table.values("change"), whole)
    model = table.viewed.sets["model"]
    assert np.allclose(table.values("distance", "people", "model"), total_variation(people, model))


def test_change_is_the_same_in_blocks(crowd: CrowdLabels, monkeypatch: pytest.MonkeyPatch) -> None:
    viewed = ViewedSets("test", {"people": crowd.mean()}, crowd)
    whole = ItemTable(viewed).values("change")

    monkeypatch.setattr(tables, "BLOCK", 40)

    assert np.array_equal(ItemTable(viewed).values("change"), whole)


def test_median_times_are_per_item(table: ItemTable, crowd: CrowdLabels) -> None:
    seconds = table.viewed.seconds
    assert seconds is not None
    expected = [np.median(seconds[crowd.item == row]) for row in range(len(crowd.items))]

    assert np.allclose(table.values("seconds"), expected)


@given(
    sort=st.sampled_from(["item", "disagreement", "doubt", "entropy", "distance", "change"]),
    down=st.booleans(),
    first=st.sampled_from(["people", "model", "some"]),
    top=st.sampled_from(["", *CLASSES]),
    split=st.sampled_from(["", "train", "test"]),
    stratum=st.sampled_from(["", "odd", "disputed"]),
    text=st.sampled_from(["", "ITEM 1", "über 3", "nothing like it"]),
)
def test_order_holds_exactly_what_is_asked_for_sorted_with_unknown_last(
    sort: str, down: bool, first: str, top: str, split: str, stratum: str, text: str
) -> None:
    table = TABLE
    tops = ((first, top),) if top else ()
    query = Query(sort, down, first, "model", tops, "", stratum, split, text)

    rows = table.order(query).tolist()

    def fits(row: int) -> bool:
        item, viewed = table.items[row], table.viewed
        beliefs = viewed.sets[first]
        told = f"{item}\n{viewed.texts[item]}".lower()
        return (
            (not top or (item in beliefs and beliefs[item].top == top))
            and (not split or viewed.splits[item] == split)
            and (stratum != "odd" or viewed.strata.get(item) == "odd")
            and (stratum != "disputed" or max(viewed.sets["people"][item].values()) < 1)
            and text.lower() in told
        )

    assert sorted(rows) == [row for row in range(len(table.items)) if fits(row)]
    values = table.values(sort, first, "model")[rows]
    known = values[np.isfinite(values)]
    assert np.isnan(values[len(known) :]).all()
    steps = np.diff(known)
    assert (steps <= 0).all() if down != (sort == "item") else (steps >= 0).all()


def test_person_leads_to_the_items_they_answered(table: ItemTable, crowd: CrowdLabels) -> None:
    query = Query(person="p3")
    code = crowd.annotators.index("p3")

    rows = table.order(query)

    assert set(rows.tolist()) == set(crowd.item[crowd.annotator == code].tolist())
    shown = table.shown_rows(rows[:1], query, ["people"])[0]["said"]
    row = int(np.flatnonzero((crowd.annotator == code) & (crowd.item == rows[0]))[0])
    assert dict(shown) == pytest.approx(
        {at: share for at, share in enumerate(crowd.probs[row]) if share >= 0.005}, abs=1e-4
    )


def test_strata_are_those_of_the_library_and_where_models_differ(table: ItemTable) -> None:
    people, model = table.viewed.sets["people"], table.viewed.sets["model"]

    assert np.array_equal(table.strata["most disputed"], disputed_thirds(people)["most disputed"])
    differ = [people[item].top != model[item].top for item in people.items]
    assert table.strata["model puts another class first"].tolist() == differ


def test_item_is_told_in_full(table: ItemTable, crowd: CrowdLabels) -> None:
    told = table.shown_item(1)

    assert told["item"] == "item 1"
    assert told["sets"]["some"] is None  # it is about every second item
    rows = np.flatnonzero(crowd.item == 1)
    assert {answer["who"] for answer in told["answers"]} == {
        crowd.annotators[code] for code in crowd.annotator[rows]
    }
    assert all(answer["seconds"] > 0 for answer in told["answers"])
    shares = [told["sets"]["people"][told["classes"].index(at)] for at in told["classes"]]
    assert shares == sorted(shares, reverse=True)


def test_the_same_answers_of_unknown_people_are_counted() -> None:
    crowd = CrowdLabels(("a",), (), ("cat", "dog"), [0, 0, 0], [-1, -1, -1], said=[1, 0, 1])

    told = ItemTable(ViewedSets("votes", {"people": crowd.mean()}, crowd)).shown_item(0)

    assert [(answer["who"], answer["count"], answer["bar"]) for answer in told["answers"]] == [
        (None, 2, [[1, 1.0]]),
        (None, 1, [[0, 1.0]]),
    ]


def test_sets_with_other_classes_and_items_stand_side_by_side() -> None:
    people = LabelSet(("a", "b"), ("cat", "dog"), np.array([[1, 0], [0, 1]]))
    model = LabelSet(("b", "c"), ("dog", "fox"), np.array([[0.25, 0.75], [1, 0]]))

    table = ItemTable(ViewedSets("pets", {"people": people, "model": model}))

    assert table.classes == ("cat", "dog", "fox")
    assert table.items == ("a", "b")
    assert np.isnan(table.sets["model"][0]).all()
    assert table.sets["model"][1].tolist() == [0, 0.25, 0.75]
    assert table.tops("model").tolist() == [-1, 2]


def test_what_does_not_fit_is_a_sentence(table: ItemTable) -> None:
    people = LabelSet(("a",), ("cat", "dog"), np.array([[1, 0]]))
    elsewhere = LabelSet(("z",), ("cat", "dog"), np.array([[1, 0]]))
    other = LabelSet(("a",), ("ship", "plane"), np.array([[1, 0]]))

    with pytest.raises(DataError, match="about no item of pets: it has 'z'"):
        ItemTable(ViewedSets("pets", {"people": people, "model": elsewhere}))
    with pytest.raises(DataError, match="shares no class with people"):
        ItemTable(ViewedSets("pets", {"people": people, "model": other}))
    with pytest.raises(UnknownName, match="annotator"):
        table.order(Query(person="nobody"))
    with pytest.raises(UnknownName, match="label set"):
        table.order(Query("entropy", first="modle"))
