import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.labelset import LabelSet
from sfumato.labels.soft_digits import from_judgments, read_soft_digits, write_soft_digits
from sfumato.studies.sources import load_data
from sfumato.studies.study import read_study

DIGITS = tuple(map(str, range(10)))


def seen(yes: str = "", unsure: str = "") -> str:
    answers = {
        name: "yes" if name in yes else "unsure" if name in unsure else "no" for name in DIGITS
    }
    return json.dumps(answers)


def judged() -> Judgments:
    table = pl.DataFrame(
        {
            "item": ["a", "a", "b"],
            "annotator": ["p", "q", "p"],
            "answer": [seen(yes="1"), seen(yes="1", unsure="7"), seen()],
        }
    )
    return Judgments(ask("yes-no-unsure", DIGITS), table)


def test_both_weightings_and_uncertainties_follow_the_paper() -> None:
    found = from_judgments(judged())

    assert found.weighted.probs[0, [1, 7]].round(4).tolist() == [0.8333, 0.1667]
    assert found.equal.probs[0, [1, 7]].tolist() == [0.75, 0.25]
    assert found.weighted.probs[1, 10] == 1
    assert found.uncertainty.tolist() == [0.05, 0]
    assert found.unsure.tolist() == [0.5, 0]


@pytest.mark.parametrize("name", ["digits.parquet", "digits.csv"])
def test_columns_survive_a_round_trip(tmp_path: Path, name: str) -> None:
    found = from_judgments(judged())
    write_soft_digits(found, tmp_path / name)

    back = read_soft_digits(tmp_path / name)

    assert back.weighted.classes[-1] == "none of these"
    assert np.allclose(back.weighted.probs, found.weighted.probs)
    assert np.allclose(back.equal.probs, found.equal.probs)
    assert back.unsure.tolist() == found.unsure.tolist()


def test_file_that_we_wrote_is_read_by_the_study_of_the_paper(tmp_path: Path) -> None:
    said = judged()
    timed = said.table.with_columns(seconds=pl.Series([1.0, float(np.exp(2)), 5.0]))
    found = from_judgments(Judgments(said.question, timed))
    path = tmp_path / "soft_digits" / "soft-digits.parquet"
    path.parent.mkdir()
    pixels = {item: np.full((28, 28), 7, dtype=np.uint8) for item in "ab"}
    model = LabelSet(("b", "a"), DIGITS, np.array([[0.1] * 10, [0.5, 0.5, *[0] * 8]]))

    write_soft_digits(
        found,
        path,
        images=pixels,
        original=model,
        split={"a": "train", "b": "test"},
        source="mukhoti",
    )
    data = load_data(read_study("digits-audit-synthetic"), tmp_path)

    assert data.people.items == ("a", "b")
    assert data.people.probs == pytest.approx(found.weighted.probs)
    assert data.soft_original is not None
    assert data.soft_original.probs[0, :2].tolist() == [0.5, 0.5]
    assert data.pictures is not None
    assert (data.pictures.images == 7).all() and data.pictures.split == ("train", "test")
    assert data.signals["response time"] == pytest.approx([1, np.log(5)])
    table = pl.read_parquet(path)
    assert table["soft_label_argmax"].to_list()[0] == np.eye(11)[1].tolist()
    assert table["file_name"].to_list() == ["a.png", "b.png"]


def test_numpy_text_of_a_row_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('indices,soft_label,soft_label_yes_unc_equal\n3,"[0.5 0.5]","[0.25, 0.75]"\n')

    back = read_soft_digits(path)

    assert back.weighted.probs.tolist() == [[0.5, 0.5]]
    assert back.equal.probs.tolist() == [[0.25, 0.75]]


def test_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("indices,soft_label\n3,[1]\n")

    with pytest.raises(DataError, match="no column 'soft_label_yes_unc_equal'"):
        read_soft_digits(path)
