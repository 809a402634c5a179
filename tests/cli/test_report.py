from functools import partial
from pathlib import Path

import pytest
from tests.cli.conftest import Run

VOTES = "task,worker,label,words\na,ann,cat,one\na,ben,dog,one\nb,ann,cat,two\nb,ben,cat,two\n"


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``sfumato report`` in a folder with a table of votes."""
    Path("votes.csv").write_text(VOTES)
    return partial(run, "report")


def test_answers_become_a_page(run: Run) -> None:
    code, out, _ = run("votes.csv", "--format", "crowd", "--text", "words", "-o", "r.html")

    assert (code, out) == (0, "Report: r.html\n")
    text = Path("r.html").read_text()
    assert "Answers of votes.csv" in text
    assert "Most disputed items" in text
    assert ">one</td>" in text
    assert "The wording of the question is not recorded." in text


def test_foreign_table_needs_no_format(run: Run) -> None:
    Path("odd.csv").write_text(
        "image_name;rater;category;timestamp\n1;x;Eight;1700000000\n1;y;nine;1700000009\n"
        "2;x;nine;1700000020\n2;y;nine;1700000031\n"
    )

    code, out, err = run("odd.csv")

    assert (code, out) == (0, "Report: odd-report.html\n"), err
    text = Path("odd-report.html").read_text()
    assert "4 answers about 2 items, 2 annotators" in text
    assert "The wording of the question is not recorded." in text
    run("odd.csv", "--rename", "Eight=eight", "--overwrite")
    assert "Eight" not in Path("odd-report.html").read_text().partition("Oddities")[0]


def test_page_is_called_after_the_file_and_is_not_overwritten(run: Run) -> None:
    first, again = run("votes.csv", "--format", "crowd"), run("votes.csv", "--format", "crowd")

    assert first[1] == "Report: votes-report.html\n"
    assert again[0] == 1
    assert "votes-report.html exists already" in again[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("votes.csv", "--trace", "3"), "--trace walks back a number of a run"),
        (("votes.csv", "--format", "crowd", "-o", "r.txt"), "written as .html"),
        (("votes.csv", "--format", "crowd", "--text", "wrds"), "no column of that name"),
        (("votes.csv", "--format", "crowd", "--pictures", "none"), "There is no folder or archive"),
        (("empty",), "study"),
    ],
)
def test_wrong_request_is_one_sentence(run: Run, words: tuple[str, ...], message: str) -> None:
    Path("empty").mkdir()

    code, out, err = run(*words)

    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
