"""Second looks: what is kept is counted, what nobody looked at again tells nothing."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.data import load_texts
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.labels.second_looks import look_lines, second_looks


def answers(*rows: tuple[str, str, str, str]) -> Judgments:
    table = pl.DataFrame(rows, schema=["item", "annotator", "view", "answer"], orient="row")
    quoted = table.with_columns(answer=pl.format('"{}"', "answer"))
    return Judgments(ask("choose-one", ("cat", "dog")), quoted)


def test_kept_answers_are_counted_by_whether_others_share_them() -> None:
    found = second_looks(
        answers(
            ("1", "ann", "first", "cat"), ("1", "ben", "first", "dog"),
            ("1", "eve", "first", "dog"), ("2", "ann", "first", "cat"),
            ("2", "ben", "first", "dog"),
            ("1", "ann", "repeat", "cat"), ("1", "ben", "repeat", "dog"),
            ("2", "ann", "repeat", "dog"), ("2", "ben", "repeat", "dog"),
        ),
        rng=np.random.default_rng(0),
    )  # fmt: skip

    assert (found["unshared"]["answers"], found["unshared"]["kept"]) == (3, pytest.approx(2 / 3))
    assert (found["shared"]["answers"], found["shared"]["kept"]) == (1, 1.0)
    assert found["classes"]["cat"]["kept"] == 0.5
    assert found["shared"]["low"] < 0.9  # one answer shows little
    assert "their givers kept 67%" in found["sentence"]
    assert "2 people only" in found["sentence"]


@pytest.mark.parametrize(
    "rows",
    [
        [("1", "ann", "first", "cat"), ("1", "ben", "first", "dog")],
        [("1", "ann", "first", "cat"), ("1", "ann", "repeat", "cat")],
    ],
)
def test_without_second_looks_or_others_nothing_is_said(
    rows: list[tuple[str, str, str, str]],
) -> None:
    found = second_looks(answers(*rows), rng=np.random.default_rng(0))

    assert found["unshared"] == {"answers": 0, "kept": None, "low": None, "high": None}
    assert "nothing can be said" in found["sentence"]
    assert list(look_lines(found)) == []


def test_varierr_has_as_many_as_its_file_says(data_folder: Path) -> None:
    found = load_texts("varierr", "both rounds", data_folder).judgments.describe()
    looks = found["second_looks"]

    # counted in the file itself: 171 of 295 labels of one person alone, 1,537 of 1,634 shared ones
    assert (looks["unshared"]["answers"], looks["shared"]["answers"]) == (295, 1634)
    assert looks["unshared"]["kept"] == pytest.approx(171 / 295)
    assert looks["shared"]["kept"] == pytest.approx(1537 / 1634)
    assert looks["unshared"]["low"] < 0.5 < looks["unshared"]["high"] < looks["shared"]["low"]
    assert len(load_texts("varierr", folder=data_folder).judgments) == 1856
