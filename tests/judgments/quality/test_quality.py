"""What goes, what stays, who is paid, and what would change."""

import json
from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import DataError, UnknownName
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.quality import ALL_TOGETHER, apply_rules, refuse_pay, what_if
from sfumato.judgments.quality.rules import RULES, rule_by_hand, rule_with
from sfumato.judgments.question import ask
from sfumato.provenance import to_json

CLASSES = ("cat", "dog", "deer")


def votes(*rows: tuple[Any, ...], columns: tuple[str, ...] = ()) -> Judgments:
    names = ["annotator", "item", "answer", *columns]
    table = pl.DataFrame(list(rows), schema=names, orient="row").with_columns(
        pl.format('"{}"', "answer").alias("answer")
    )
    return Judgments(ask("choose-one", CLASSES), table)


def hasty() -> Judgments:
    """Ann fails a check and answers too fast; Bob is too fast once; nobody knows the third."""
    return votes(
        ("ann", "1", "cat", "first", None, 0.1),
        ("ann", "2", "cat", "check", "dog", 0.1),
        ("bob", "1", "dog", "first", None, 0.1),
        ("bob", "2", "dog", "check", "dog", 2.0),
        ("bob", "3", "dog", "first", None, 2.0),
        (None, "3", "deer", "first", None, 0.2),
        columns=("view", "gold", "seconds"),
    )


def test_whoever_breaks_two_rules_is_recorded_under_both_and_dropped_once() -> None:
    kept, ledger = apply_rules(hasty(), [RULES["gold"], RULES["too-fast"]])

    assert ledger.entries.drop("version", "evidence").rows() == [
        ("gold", "person", "ann", None, "failed 1 of 1 checks, more than 0", 2),
        (
            "too-fast",
            "person",
            "ann",
            None,
            "2 of 2 answers (100 %) under 0.4 s, more than 50 %",
            2,
        ),
        ("too-fast", "answer", "bob", "1", "answered in 0.1 s, under 0.4 s", 1),
        ("too-fast", "answer", None, "3", "answered in 0.2 s, under 0.4 s", 1),
    ]
    assert ledger.people.rows() == [("ann", 2, 2, ["gold", "too-fast"]), ("bob", 3, 1, [])]
    assert (ledger.answers, ledger.dropped, len(kept)) == (6, 4, 2)


def test_a_rule_that_finds_nothing_is_counted_and_says_how_much_it_could_judge() -> None:
    _, ledger = apply_rules(hasty(), [RULES["checks"], RULES["completed"]])

    assert ledger.rules.rows() == [("checks", "1", 2, 1, 2), ("completed", "1", 0, 0, 0)]


def test_the_step_tells_rules_versions_settings_and_counts() -> None:
    kept, _ = apply_rules(hasty(), [rule_with("gold", tolerated=0), RULES["too-fast"]])

    step = json.loads(json.dumps(to_json(kept.provenance)))[-1]
    assert step["name"] == "exclude"
    assert (step["settings"]["people"], step["settings"]["answers"]) == (1, 4)
    assert step["settings"]["rules"][0] == {
        "rule": "gold",
        "version": "1",
        "looked_at": 2,
        "people": 1,
        "answers": 2,
        "settings": {"tolerated": 0},
    }


def test_no_rules_drop_nothing() -> None:
    kept, ledger = apply_rules(hasty(), [])

    assert len(kept) == 6
    assert len(ledger.table) == 0


def test_only_the_answers_of_whoever_reported_a_fault_go() -> None:
    kept, ledger = apply_rules(hasty(), [rule_by_hand({"bob": "reported a display fault"})])

    assert kept.annotators == ["ann"]
    assert ledger.table["reason"].to_list() == ["reported a display fault"]


def test_whoever_is_left_out_of_the_data_is_paid() -> None:
    _, ledger = apply_rules(hasty(), [RULES["gold"], RULES["too-fast"]])

    assert set(ledger.table["pay"]) == {"pay"}
    assert ledger.payments.select("annotator", "pay", "pay_reason").rows() == [
        ("ann", "pay", None),
        ("bob", "pay", None),
    ]


def test_pay_is_refused_only_by_name_and_with_the_reason() -> None:
    _, ledger = apply_rules(hasty(), [RULES["gold"]])

    refused = refuse_pay(ledger, {"bob": "handed the link on"})

    assert refused.table.select("annotator", "pay").rows() == [("ann", "pay")]
    assert refused.payments.select("annotator", "excluded_by", "pay", "pay_reason").rows() == [
        ("ann", ["gold"], "pay", None),
        ("bob", [], "refused", "handed the link on"),
    ]
    assert set(ledger.payments["pay"]) == {"pay"}


def test_a_second_refusal_keeps_the_first() -> None:
    _, ledger = apply_rules(hasty(), [RULES["gold"]])

    refused = refuse_pay(refuse_pay(ledger, {"bob": "one"}), {"ann": "two"})

    assert refused.payments["pay_reason"].to_list() == ["two", "one"]


def test_refusing_without_a_reason_or_a_stranger_is_an_error() -> None:
    _, ledger = apply_rules(hasty(), [])

    with pytest.raises(DataError, match="refused with a reason, and there is none for 'ann'"):
        refuse_pay(ledger, {"ann": " "})
    with pytest.raises(UnknownName, match="No annotator of this ledger is called 'eve'"):
        refuse_pay(ledger, {"eve": "never came"})


def test_what_if_shows_what_would_change_before_it_is_done() -> None:
    judgments = votes(
        ("ann", "1", "cat"),
        ("bob", "1", "dog"),
        ("eve", "1", "dog"),
        ("ann", "2", "cat"),
        ("bob", "2", "cat"),
        ("bob", "3", "deer"),
    )

    effects = what_if(judgments, [rule_by_hand({"bob": "a"}), rule_by_hand({"eve": "b"})])

    # Without Bob item 1 is a tie and item 3 has nobody; without Eve item 1 is a tie too.
    assert effects.drop("version", "looked_at", "mean_before").rows() == [
        ("reported", 1, 3, 3, 3, 1, 1, 0, pytest.approx(1), 1),
        ("reported", 1, 1, 3, 1, 0, 1, 1, pytest.approx(5 / 3), 1),
        (ALL_TOGETHER, 2, 4, 3, 3, 1, 1, 0, pytest.approx(2 / 3), 1),
    ]
    assert effects["mean_before"].to_list() == [pytest.approx(2)] * 3


def test_what_if_leaves_items_out_that_get_no_label() -> None:
    judgments = votes(
        ("ann", "check 1", "cat", "check"),
        ("ann", "1", "cat", "first"),
        ("bob", "1", "cat", "first"),
        columns=("view",),
    )

    effects = what_if(judgments, [rule_by_hand({"ann": "display fault"})]).row(-1, named=True)

    assert (effects["items"], effects["least_before"], effects["least_after"]) == (1, 2, 1)


def test_what_if_knows_that_a_second_view_stands_where_the_first_is_dropped() -> None:
    judgments = votes(
        ("ann", "1", "cat", 0.1),
        ("ann", "1", "dog", 3.0),
        ("ann", "2", "dog", 3.0),
        columns=("seconds",),
    )

    effects = what_if(judgments, [RULES["too-fast"]]).row(-1, named=True)

    assert (effects["answers"], effects["fewer"], effects["majority_changed"]) == (1, 0, 1)


def test_what_if_of_cifar10s_says_what_two_rules_would_cost(cifar10s: Judgments) -> None:
    effects = what_if(cifar10s, [RULES["too-slow"], RULES["repeat-consistency"]])

    assert effects["items"].to_list() == [1000] * 3
    assert effects["mean_before"].to_list() == [6.2] * 3
    assert effects["least_before"].to_list() == [6] * 3
    assert effects["answers"].to_list() == [13, 27, 40]
    assert effects["least_after"].to_list() == [5] * 3


rows = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "eve", None]),
        st.sampled_from(["1", "2", "3"]),
        st.sampled_from(CLASSES),
        st.sampled_from(["first", "first", "repeat", "check", "practice"]),
        st.sampled_from([*CLASSES, None]),
        st.sampled_from([0.1, 0.2, 5.0, 7.0, None]),
    ),
    min_size=1,
    max_size=20,
).map(lambda drawn: votes(*drawn, columns=("view", "gold", "seconds")))
RULES_FOR_VOTES = [
    rule_with("gold"),
    rule_with("too-fast", share=0.7),
    rule_with("straight-lining", run=3, always=3),
    rule_with("repeat-consistency", least=1),
]


def leaders(judgments: Judgments) -> dict[str, set[str]]:
    """Per item the classes with most votes, by plain counting."""
    counts: dict[str, Counter[str]] = {}
    for item, answer in select(judgments).table.select("item", "answer").rows():
        counts.setdefault(item, Counter())[answer] += 1
    return {
        item: {name for name, n in votes.items() if n == max(votes.values())}
        for item, votes in counts.items()
    }


@settings(max_examples=30)
@given(rows)
def test_what_if_foretells_exactly_what_applying_the_rules_does(judgments: Judgments) -> None:
    effects = what_if(judgments, RULES_FOR_VOTES).row(-1, named=True)
    kept, ledger = apply_rules(judgments, RULES_FOR_VOTES)

    before, after = leaders(judgments), leaders(kept)
    assert effects["answers"] == ledger.dropped == len(judgments) - len(kept)
    assert effects["people"] == ledger.people.filter(pl.col("excluded_by").list.len() > 0).height
    assert effects["items"] == len(before)
    assert effects["emptied"] == len(before.keys() - after.keys())
    assert effects["majority_changed"] == sum(before[item] != after[item] for item in after)
    if before:
        assert effects["mean_after"] == pytest.approx(len(select(kept)) / len(before))


@settings(max_examples=30)
@given(rows)
def test_the_order_of_rules_does_not_matter(judgments: Judgments) -> None:
    one, ledger = apply_rules(judgments, RULES_FOR_VOTES)
    other, again = apply_rules(judgments, RULES_FOR_VOTES[::-1])

    assert one.table.equals(other.table)
    assert sorted(ledger.entries["reason"]) == sorted(again.entries["reason"])


@settings(max_examples=30)
@given(rows)
def test_nobody_named_in_the_ledger_stays_and_everybody_else_does(judgments: Judgments) -> None:
    kept, ledger = apply_rules(judgments, RULES_FOR_VOTES)

    gone = set(ledger.entries.filter(pl.col("what") == "person")["annotator"])
    single = ledger.entries.filter(pl.col("what") == "answer")["evidence"].explode().to_list()
    stay = [
        row
        for number, row in enumerate(judgments.table.rows())
        if row[1] not in gone and number not in single
    ]
    assert kept.table.rows() == stay
