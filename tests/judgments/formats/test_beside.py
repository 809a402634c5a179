"""What is kept beside a table."""

from pathlib import Path

import pytest

from sfumato.errors import DataError
from sfumato.judgments.formats.own import read_beside, write_beside
from sfumato.provenance import Step


def test_question_and_provenance_come_back(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    steps = (Step("simulate", {"seed": 3}, {"a.csv": "12ab"}, True), Step("read t"))

    write_beside(path, {"kind": "pairs", "wording": "Ähnlich?"}, steps)

    assert read_beside(path) == ({"kind": "pairs", "wording": "Ähnlich?"}, steps)
    assert (tmp_path / "t.question.json").is_file()


def test_nothing_beside_is_no_error(tmp_path: Path) -> None:
    assert read_beside(tmp_path / "t.csv") == ({}, ())


@pytest.mark.parametrize("text", ['{"provenance": [1]}', '{"provenance": 3}', "[1]", "{"])
def test_broken_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.question.json").write_text(text)

    with pytest.raises(DataError, match=r"t\.question\.json"):
        read_beside(tmp_path / "t.csv")
