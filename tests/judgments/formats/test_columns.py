from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.judgments.formats import read
from sfumato.judgments.formats.columns import to_iso, to_seconds


@given(st.integers(200_000_000, 4_000_000_000), st.sampled_from([1, 1_000, 1_000_000]))
def test_seconds_since_1970_in_any_unit_are_one_moment(second: int, unit: int) -> None:
    found = to_iso(pl.Series([str(second * unit)]))[0]

    assert datetime.fromisoformat(found) == datetime.fromtimestamp(second, UTC)


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("2021-03-09T22:16:08Z", "2021-03-09T22:16:08Z"),
        ("2021-03-09 22:16:08.5+01:00", "2021-03-09T22:16:08.5+01:00"),
        ("2021-03-09", "2021-03-09"),
        ("9.3.2021 7:16", "2021-03-09T07:16"),
        ("12/31/2021", "2021-12-31"),
        ("03/04/2021", None),  # March or April
        ("2021-13-09", None),
        ("soon", None),
    ],
)
def test_times_are_iso_or_nothing(given_text: str, expected: str | None) -> None:
    assert to_iso(pl.Series([given_text]))[0] == expected


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("seconds", ["2,5", "10"], [2.5, 10.0]),
        ("duration", ["250", "400"], [250.0, 400.0]),
        ("rt", ["650", "900", "1200"], [0.65, 0.9, 1.2]),
        ("rt", ["0.65", "0.9"], [0.65, 0.9]),
        ("duration_ms", ["5", "9"], [0.005, 0.009]),
        ("lead_time", ["1:30", "01:00:01"], [90.0, 3601.0]),
        ("seconds", ["-1", "long"], [None, None]),
    ],
)
def test_durations_are_seconds(name: str, values: list[str], expected: list[float]) -> None:
    assert to_seconds(pl.Series(values), name)[0].to_list() == expected


def test_what_is_no_time_is_left_out_and_told() -> None:
    rows = [
        {"item": 1, "rater": "a", "label": "x", "created_at": "2021-03-09", "rt": 700},
        {"item": 1, "rater": "b", "label": "y", "created_at": "soon", "rt": 900},
    ]

    found = read(rows)

    assert found.table["at"].to_list() == ["2021-03-09", None]
    assert found.table["seconds"].to_list() == [0.7, 0.9]
    told = {remark.what: remark.count for remark in found.remarks}
    assert told["times that cannot be read, left out"] == 1
    assert told["column 'rt' is in milliseconds, read as seconds"] == 2
