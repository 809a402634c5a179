import json

import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.judgments import Judgments, RejectedRow, select
from sfumato.judgments.question import ask
from sfumato.labels.build import build
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate import extend, items_without_answers, simulate, simulated_items
from sfumato.provenance import Step, is_simulated

CLASSES = ("cat", "dog", "frog")
LABELS = LabelSet(
    tuple(map(str, range(12))),
    CLASSES,
    np.array([[0.6, 0.3, 0.1], [1, 0, 0], [0.1, 0.1, 0.8], [0, 1, 0]] * 3),
    provenance=(Step("read labels"),),
)


def said(item: str, annotator: str | None, first: str, *, view: str = "first") -> dict[str, object]:
    answer = {"first": first, "first_percent": "80", "second": None, "second_percent": ""}
    text = json.dumps({**answer, "ruled_out": []})
    return {
        "item": item,
        "annotator": annotator,
        "answer": text,
        "repaired": text if first == "dog" else None,
        "seconds": 3.5,
        "view": view,
    }


ROWS = [
    said("2", "ann", "cat"),
    said("0", "bob", "dog"),
    said("2", "ann", "frog", view="repeat"),
    said("5", None, "cat"),
    said("7", "ann", "cat", view="check"),
]
REAL = Judgments(
    ask("top-two", CLASSES),
    pl.DataFrame(ROWS),
    (RejectedRow("a.csv", 9, "answer", "odd", "?"),),
    provenance=(Step("read sfumato"),),
)


def answers_of(kind: str, labels: LabelSet) -> Judgments | Comparisons:
    return simulate(kind, labels, per_item=3, annotators=4, rng=np.random.default_rng(0))


def answer(labels: LabelSet) -> Judgments | Comparisons:
    return answers_of("top-two", labels)


def test_what_people_said_stays_as_it_is_and_the_rest_is_marked() -> None:
    extended = extend(REAL, LABELS, answer)

    assert extended.table.head(5).equals(REAL.table)
    assert extended.rejected == REAL.rejected
    assert extended.question == REAL.question
    made = extended.table.tail(-5)
    assert made["simulated"].to_list() == [True] * 27
    assert made["annotator"].str.starts_with("simulated-").all()
    # item 7 was only an attention check: no label can be made of it
    assert sorted(set(made["item"])) == sorted(set(LABELS.items) - {"0", "2", "5"})
    assert len(made) == 9 * 3


def test_provenance_tells_both_histories_and_how_many_items_were_made_up() -> None:
    extended = extend(REAL, LABELS, answer)

    assert is_simulated(extended.provenance)
    assert not is_simulated(REAL.provenance)
    assert extended.provenance[0] == Step("read sfumato")
    assert Step("read labels") in extended.provenance
    told = extended.provenance[-1].settings
    assert (told["items of people"], told["simulated items"]) == (3, 9)
    assert (told["answers of people"], told["simulated answers"]) == (5, 27)
    other = extend(REAL, LABELS.take(LABELS.items[:9]), answer).provenance[-1].settings
    assert told["simulated items, SHA-256"] != other["simulated items, SHA-256"]


def test_items_of_simulated_people_can_be_told_in_answers_and_in_labels() -> None:
    extended = extend(REAL, LABELS, answer)
    crowd = build(select(extended), "top2-clamp").crowd

    # somebody real was asked about 7, if only as a check; its label is all simulated
    assert simulated_items(extended) == ("1", "3", "4", "6", "8", "9", "10", "11")
    assert simulated_items(crowd) == ("1", "3", "4", "6", "7", "8", "9", "10", "11")
    assert simulated_items(REAL) == ()
    own = build(select(REAL), "top2-clamp").crowd.mean()
    both = crowd.mean().take(own.items)
    assert (both.probs == own.probs).all()


def test_items_are_extended_in_the_order_of_the_reference() -> None:
    assert items_without_answers(REAL, LABELS.take(["9", "0", "1"])) == ["9", "1"]


def test_what_cannot_be_extended_is_a_sentence() -> None:
    extended = extend(REAL, LABELS, answer)
    unmarked = Judgments(extended.question, extended.table)

    with pytest.raises(DataError, match="All 2 items of the reference have answers"):
        extend(REAL, LABELS.take(["0", "2"]), answer)
    for again in (extended, unmarked):
        with pytest.raises(DataError, match="hold simulated answers already"):
            extend(again, LABELS, answer)
    with pytest.raises(DataError, match=r"top-two cannot be extended .* to choose-one"):
        extend(REAL, LABELS, lambda labels: answers_of("voters", labels))
    with pytest.raises(DataError, match=r"top-two cannot be extended .* to comparisons"):
        extend(REAL, LABELS, lambda labels: answers_of("triplets", labels))
