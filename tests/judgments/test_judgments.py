import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments, judgments_from, mark_duplicates, select
from sfumato.judgments.question import ask

QUESTION = ask("choose-one", ["cat", "dog"])


def judged(*rows: tuple[str, str | None, str], answer: str = '"cat"') -> Judgments:
    table = pl.DataFrame(
        {
            "item": [item for item, _, _ in rows],
            "annotator": [who for _, who, _ in rows],
            "view": [view for _, _, view in rows],
            "answer": [answer] * len(rows),
        },
        schema_overrides={"annotator": pl.String},
    )
    return Judgments(QUESTION, table)


def test_session_in_the_file_twice_is_a_duplicate_the_second_time() -> None:
    both = judged(*[(item, "ann", "first") for item in "123123"])

    assert mark_duplicates(both).tolist() == [False] * 3 + [True] * 3


def test_anonymous_answers_are_never_duplicates() -> None:
    assert not mark_duplicates(judged(("1", None, "first"), ("1", None, "first"))).any()


def test_only_first_views_make_labels_unless_more_is_asked_for() -> None:
    everything = judged(
        ("1", "ann", "first"),
        ("1", "ann", "first"),
        ("1", "ann", "repeat"),
        ("2", "ann", "check"),
        ("3", "ann", "practice"),
    )

    assert len(select(everything)) == 1
    assert len(select(everything, ["repeats"])) == 2
    assert len(select(everything, ["duplicates", "repeats", "checks", "practice"])) == 5
    assert select(everything).provenance[-1].settings["left_out"] == 4


def test_unknown_thing_to_keep_is_an_error() -> None:
    with pytest.raises(DataError, match="nothing called 'repeat' to keep"):
        select(judged(("1", "ann", "first")), ["repeat"])


def test_malformed_answer_is_set_aside_with_its_place() -> None:
    table = pl.DataFrame({"item": ["1", "2", "3"], "answer": ['"cat"', "{oops", '"dog"']})

    kept = judgments_from(QUESTION, table, file="a.csv", lines=[2, 3, 4])

    assert kept.table["item"].to_list() == ["1", "3"]
    assert str(kept.rejected[0]).startswith("a.csv, line 3, field 'answer': the answer '{oops'")
    assert len(kept.statements) == 2


def test_unknown_class_is_an_error_that_names_line_and_remedy() -> None:
    table = pl.DataFrame({"item": ["1", "2"], "answer": ['"cat"', '"dgo"']})

    with pytest.raises(
        DataError, match=r"a\.csv, line 9, field 'answer': .*'dgo'.*Did you mean 'dog'.*Add it to"
    ):
        judgments_from(QUESTION, table, file="a.csv", lines=[8, 9])


def test_repair_is_read_and_the_raw_answer_stays() -> None:
    table = pl.DataFrame({"item": ["1"], "answer": ['"cat"'], "repaired": ['"dog"']})

    found = Judgments(QUESTION, table)

    assert found.table["answer"].to_list() == ['"cat"']
    assert found.statements.mass[found.statements.index].tolist()[0][1] == 1


def test_taking_rows_keeps_what_was_read() -> None:
    found = judged(("1", "ann", "first"), ("2", "bob", "repeat"))
    assert len(found.statements) == 2

    assert len(select(found).statements) == 1
