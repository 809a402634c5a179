import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import DataError
from sfumato.judgments.formats.platforms import read_peerannot, write_peerannot
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask

PLAIN = ReadOptions()


def at(folder: Path, text: str) -> Path:
    path = folder / "answers.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_numbers_and_texts_are_labels(tmp_path: Path) -> None:
    path = at(tmp_path, '{"0": {"3": 1, "17": 0.0},\n "1": {"3": "10"}}')

    found = read_peerannot(path, PLAIN)

    assert found.question.classes == ("0", "1", "10")
    assert found.table.select("item", "annotator", "answer").rows() == [
        ("0", "3", '"1"'),
        ("0", "17", '"0"'),
        ("1", "3", '"10"'),
    ]


def test_what_is_no_label_is_set_aside_with_the_line_of_its_task(tmp_path: Path) -> None:
    path = at(
        tmp_path,
        '{\n "0": {"a": 1, "b": null},\n\n "1": {"a": [1], "b": 0, "c": true, "d": 1.5, "e": ""}}',
    )

    found = read_peerannot(path, PLAIN)

    assert len(found) == 2
    assert [(row.line, row.reason) for row in found.rejected] == [
        (2, "no label"),
        (4, "[1] is neither a text nor a whole number"),
        (4, "true is neither a text nor a whole number"),
        (4, "1.5 is neither a text nor a whole number"),
        (4, '"" is neither a text nor a whole number'),
    ]


def test_a_task_that_occurs_twice_keeps_all_its_answers(tmp_path: Path) -> None:
    path = at(tmp_path, '{"0": {"a": 1}, "0": {"b": 0}}')

    assert len(read_peerannot(path, PLAIN)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("[1]", "line 1: expected a JSON object"),
        ('{"0": {"a": 1},\n "1": 3}', "line 2: task '1' holds 3"),
        ('{"0": {"a": 1}\n', "line 2: not JSON"),
        ('{"0": {"a": 1},}', "a comma before '}'"),
        ('{"0": {"a": 1}} {}', "text after the end"),
        ('{"0"}', "expected a name and a colon"),
        ("[" * 9999, "expected a JSON object"),
        ('{"0": ' + "[" * 9999, "a nesting too deep"),
        ('{"0": {"a": ' + "9" * 9999 + "}}", "a number too large"),
        ("{}", "no label"),
    ],
)
def test_a_broken_file_names_the_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"answers\.json.*{message}"):
        read_peerannot(at(tmp_path, text), PLAIN)


# Spaces around an id and a ".0" after a whole number are spreadsheets' work and do not stay.
tidy = st.text(min_size=1, max_size=3).filter(lambda text: text == text.strip() and "." not in text)
votes = st.dictionaries(
    tidy,
    st.dictionaries(
        st.sampled_from(["w1", "w 2", "ü"]), st.sampled_from(["0", "1", "2"]), min_size=1
    ),
    min_size=1,
)


@pytest.mark.parametrize("classes", [("0", "1", "2"), ("2", "1", "0", "many")])
@given(answers=votes)
def test_writing_then_reading_gives_the_same_votes(
    classes: tuple[str, ...],
    answers: dict[str, dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    rows = [
        {"item": task, "annotator": worker, "answer": json.dumps(label)}
        for task, labels in answers.items()
        for worker, label in labels.items()
    ]
    path = tmp_path_factory.mktemp("peerannot") / "answers.json"

    write_peerannot(Judgments(ask("choose-one", classes), pl.DataFrame(rows)), path)
    again = read_peerannot(path, ReadOptions(classes=classes))

    expected = {(row["item"], row["annotator"], row["answer"]) for row in rows}
    assert set(again.table.select("item", "annotator", "answer").iter_rows()) == expected


def test_numbers_are_written_as_numbers_and_names_as_names(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    table = pl.DataFrame({"item": ["7"], "annotator": ["w"], "answer": ['"1"']})

    write_peerannot(Judgments(ask("choose-one", ["0", "1"]), table), path)
    assert json.loads(path.read_text()) == {"7": {"w": 1}}
    write_peerannot(Judgments(ask("choose-one", ["1", "01"]), table), path)
    assert json.loads(path.read_text()) == {"7": {"w": "1"}}


def test_two_labels_in_one_place_and_nameless_ones_are_refused(tmp_path: Path) -> None:
    question = ask("choose-one", ["a", "b"])
    twice = pl.DataFrame({"item": ["7", "7"], "annotator": ["w", "w"], "answer": ['"a"', '"b"']})
    nameless = pl.DataFrame({"item": ["7"], "answer": ['"a"']})

    with pytest.raises(DataError, match="'w' judged item '7' more than once"):
        write_peerannot(Judgments(question, twice), tmp_path / "a.json")
    with pytest.raises(DataError, match="1 of 1 are not recorded"):
        write_peerannot(Judgments(question, nameless), tmp_path / "a.json")
