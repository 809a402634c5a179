import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.build import build, codes


def votes(*answers: tuple[str, str | None, str]) -> Judgments:
    table = pl.DataFrame(
        {
            "item": [item for item, _, _ in answers],
            "annotator": [who for _, who, _ in answers],
            "answer": [f'"{chosen}"' for _, _, chosen in answers],
        },
        schema_overrides={"annotator": pl.String},
    )
    return Judgments(ask("choose-one", ["cat", "dog"]), table)


def test_recipe_for_another_question_says_which_fit() -> None:
    with pytest.raises(DataError, match=r"the question was choose-one\. Recipes for .*: votes"):
        build(votes(("1", "ann", "cat")), "top2-clamp")


def test_option_that_does_nothing_is_an_error() -> None:
    with pytest.raises(DataError, match="'votes' takes no gamma"):
        build(votes(("1", "ann", "cat")), "votes", gamma=0.1)


def test_items_are_in_their_natural_order() -> None:
    crowd = build(votes(("10", "ann", "cat"), ("9", "ann", "dog")), "votes").crowd

    assert crowd.items == ("9", "10")
    assert crowd.mean().probs.tolist() == [[0, 1], [1, 0]]


def test_unknown_annotators_stay_unknown() -> None:
    crowd = build(votes(("1", None, "cat"), ("1", "ann", "dog")), "votes").crowd

    assert crowd.annotators == ("ann",)
    assert crowd.annotator.tolist() == [-1, 0]


def test_codes_of_no_names() -> None:
    names, places = codes(pl.Series([None, None], dtype=pl.String))

    assert names == ()
    assert places.tolist() == [-1, -1]
