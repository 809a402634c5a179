import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments, Remark
from sfumato.judgments.question import Question, ask
from sfumato.provenance import Step
from sfumato.reporting.answers import report
from sfumato.reporting.datasheet import question_asked
from sfumato.reporting.page import Page, Table, render

CLASSES = ["cat", "dog", "<frog>"]


def votes(rows: Sequence[tuple[str, str | None, object]], kind: str = "choose-one") -> Judgments:
    table = pl.DataFrame(
        {
            "item": [row[0] for row in rows],
            "annotator": pl.Series([row[1] for row in rows], dtype=pl.String),
            "answer": [json.dumps(row[2]) for row in rows],
            "seconds": [0.2 + place for place in range(len(rows))],
        }
    )
    return Judgments(ask(kind, CLASSES), table, remarks=(Remark("ids written as floats", 3),))


VOTES = votes(
    [
        ("a", "ann", "cat"),
        ("a", "ben", "cat"),
        ("a", "cid", "dog"),
        ("b", "ann", "dog"),
        ("b", "ben", "dog"),
        ("c", "ann", "cat"),
        ("c", "ben", "<frog>"),
        ("c", "ben", "cat"),
        ("d", "ann", "dog"),
    ]
)


def section(page: Page, title: str) -> list[object]:
    everything = (*page.sections, *page.appendix)
    return next([*one.blocks] for one in everything if one.title == title)


def table_of(page: Page, title: str, named: str) -> pl.DataFrame:
    return next(
        block.table
        for block in section(page, title)
        if isinstance(block, Table) and block.title == named
    )


def test_page_tells_who_how_long_agreement_and_oddities() -> None:
    page = report(VOTES)

    assert [one.title for one in page.sections] == [
        "Most disputed items",
        "Agreement",
        "Doubt and disagreement",
        "Who answered",
        "Oddities",
    ]
    assert [one.title for one in page.appendix] == ["How long", "Classes", "Labels"]
    who = table_of(page, "Who answered", "Annotators, the busiest first")
    assert who["annotator"].to_list() == ["ann", "ben", "cid"]
    assert who["answers"].to_list() == ["4", "3", "1"]
    pairs = table_of(page, "Agreement", "Pair by pair")
    both = pairs.filter((pl.col("first") == "ann") & (pl.col("second") == "ben"))
    assert both.select("items", "same choice").row(0) == ("3", "0.667")
    noticed = table_of(page, "Oddities", "Noticed")["what"].to_list()
    assert "ids written as floats" in noticed
    assert "answers by somebody who had judged the item before; left out" in noticed
    assert "answers given in less than 0.4 seconds" in noticed


def test_classes_are_counted_over_all_and_by_person() -> None:
    found = table_of(report(VOTES), "Classes", "Classes")

    assert found.select("class", "all", "ann", "ben").rows() == [
        ("cat", "3", "2", "1"),
        ("dog", "4", "2", "1"),
        ("<frog>", "1", "0", "1"),
    ]


def test_text_of_people_is_escaped() -> None:
    text = render(report(VOTES, text={"c": "<script>alert(1)</script>"}))

    assert "<script>alert" not in text
    assert "<frog>" not in text


def test_answers_that_agree_are_not_disputed_however_unsure() -> None:
    same = {"cat": 80, "dog": 20}
    rows = [(item, who, same) for item in "ab" for who in ("ann", "ben", "cid")]

    page = report(votes(rows, "distribution"))

    assert any("People disagree on 0 of 2 items" in one.text for one in page.findings)
    assert [type(one).__name__ for one in section(page, "Most disputed items")] == ["Text"]
    parts = table_of(page, "Doubt and disagreement", "Two parts")
    assert parts.select("in nats", "mean", "items above zero").rows() == [
        ("doubt", "0.500", "2"),
        ("disagreement", "0.000", "0"),
        ("both together", "0.500", "2"),
    ]
    doubted = table_of(page, "Most doubted items", "Where people are least sure themselves")
    assert doubted["item"].to_list() == ["a", "b"]


def test_most_disputed_items_come_with_their_pictures_and_texts(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("a", "c"):
        Image.fromarray(np.full((4, 4), 90, dtype=np.uint8)).save(folder / f"{name}.png")
    (tmp_path / "texts.csv").write_text("uid;text\nc;the words of c\na;those of a\n")

    page = report(VOTES, text=tmp_path / "texts.csv", pictures=folder)

    kinds = [type(one).__name__ for one in section(page, "Most disputed items")]
    assert kinds == ["Drawing", "Table"]
    found = table_of(page, "Most disputed items", "Where people disagree most")
    assert found["item"].to_list() == ["c", "a"]
    assert found["text"].to_list() == ["the words of c", "those of a"]
    assert found["answers"].to_list()[0] == "ann: cat; ben: <frog>"


def test_page_is_written_and_shown_in_a_notebook(tmp_path: Path) -> None:
    page = report(VOTES, tmp_path / "r.html", title="Ours")

    assert (tmp_path / "r.html").read_text() == render(page)
    assert repr(page).startswith("<Page 'Ours': Most disputed items")
    assert page._repr_html_().startswith("<iframe srcdoc=")


def test_people_that_are_not_recorded_are_no_table_of_people() -> None:
    page = report(votes([("a", None, "cat"), ("a", None, "dog"), ("b", None, "cat")]))

    assert page.lead is not None
    assert "people not recorded" in page.lead.basis[0]
    assert [type(one).__name__ for one in section(page, "Who answered")] == ["Text"]


def test_single_answers_are_told_and_not_called_agreement() -> None:
    page = report(votes([("a", "ann", "cat"), ("b", "ben", "dog")]))

    assert page.lead is not None
    assert page.lead.answer == "Nobody knows: no item has answers of two people."
    assert any("nothing is known of disagreement" in line for line in page.lead.against)
    assert [type(one).__name__ for one in section(page, "Agreement")] == ["Text"]


def test_pictures_and_texts_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no folder or archive"):
        report(VOTES, pictures=tmp_path / "none")
    with pytest.raises(DataError, match=r"no picture .* that is called as an item"):
        report(VOTES, pictures=tmp_path)
    with pytest.raises(DataError, match="There is no file 'words', and the answers are no table"):
        report(VOTES, text="words")


def test_wording_of_a_table_from_elsewhere_is_not_invented() -> None:
    question = ask("choose-one", CLASSES)
    table = VOTES.table
    outside = Judgments(question, table, provenance=(Step("read crowd"),))
    silent = Judgments(Question("choose-one", tuple(CLASSES), ""), table)
    ours = Judgments(question, table, provenance=(Step("read sfumato"),))
    told = Judgments(Question("choose-one", tuple(CLASSES), "Which?"), table)

    assert question_asked(outside) == question_asked(silent)
    assert question_asked(silent) == "Not recorded; the answers are of the form choose-one."
    assert question_asked(ours).startswith("“Choose the label that fits the image")
    assert question_asked(told) == "“Which?” (choose-one, version 1)."
    lead = report(outside).lead
    assert lead is not None
    assert any("wording" in line for line in lead.against)


def test_answer_is_the_share_of_pairs_that_say_the_same() -> None:
    lead = report(VOTES).lead

    # a: 1 of 3 pairs, b: 1 of 1, c: 0 of 1 (the second answer of ben is left out)
    assert lead is not None
    assert lead.answer == (
        "Two people who answer about the same item say the same in 44 of 100 cases."
    )
    # cat 3, dog 4, <frog> 1 of 8 choices
    assert lead.against[0].endswith("it would be 41 of 100.")
    assert lead.figure is not None
    assert [bar.text for bar in lead.figure.bars] == ["33%", "0%", "33%", "33%"]


def test_classes_that_may_apply_together_are_each_a_question(tmp_path: Path) -> None:
    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    page = report(
        votes(
            [
                ("a", "ann", ["cat", "dog"]),
                ("a", "ben", ["dog"]),
                ("b", "ann", []),
                ("b", "ben", []),
            ],
            "multi-label",
        ),
        pictures=tmp_path,
    )

    assert page.lead.answer == (
        "Two people who answer about one class of the same item say the same in 83 of 100 cases."
    )
    classes = table_of(page, "Classes", "Classes")
    assert classes.sort("class").select("class", "yes", "disputed items").rows() == [
        ("<frog>", "0.0%", 0),
        ("cat", "25.0%", 1),
        ("dog", "50.0%", 0),
    ]
    disputed = table_of(page, "Most disputed items", "Where people disagree most")
    assert disputed["item"].to_list() == ["a: cat"]
    assert disputed["answers"].to_list() == ["ann: yes; ben: no"]
    assert len(section(page, "Most disputed items")) == 2  # the picture of a
    assert "1 of 6 pairs of item and class" in page.findings[0].text
    assert not any("divide people most" in one.text for one in page.findings)


def test_long_pseudonyms_are_shown_by_their_beginning() -> None:
    people = ("0123456789abcdef" * 2, "0123456789abcdee" + "0" * 16, "f" * 32)
    page = report(votes([("a", person, "cat") for person in people] + [("a", "ann", "dog")]))

    assert set(table_of(page, "Who answered", "Annotators, the busiest first")["annotator"]) == {
        *people, "ann",
    }  # fmt: skip
    other = ("0123456789abcdef" * 2, "0123456788abcdee" + "0" * 16, "f" * 32)
    page = report(votes([("a", person, "cat") for person in other] + [("a", "ann", "dog")]))
    who = table_of(page, "Who answered", "Annotators, the busiest first")
    assert set(who["annotator"]) == {"0123456789", "0123456788", "f" * 10, "ann"}
    assert "–" not in set(who["median seconds"])
    assert (
        "0123456789: cat"
        in table_of(page, "Most disputed items", "Where people disagree most")["answers"][0]
    )
    assert other[0] not in render(page)
