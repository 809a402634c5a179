import re

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sfumato.cli.printing import progress, table_lines


def test_short_work_writes_nothing_elsewhere_than_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("Reading") as advance:
        advance(1, 2)

    assert capsys.readouterr().err == ""


def test_long_work_writes_plain_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.cli.printing.QUIET_SECONDS", 0.0)

    with progress("Reading") as advance:
        advance(1, 2)

    assert capsys.readouterr().err == "Reading: 50%\n"


WORD = st.text("abcdefghij_", min_size=1, max_size=14)
SENTENCE = st.lists(WORD, min_size=1, max_size=9).map(" ".join)
NUMBER = st.floats(-1, 1).map(lambda value: f"{value:.4f} [{value - 1:.3f}, {value + 1:.3f}]")


@given(
    st.lists(st.tuples(WORD, SENTENCE, NUMBER, NUMBER, NUMBER), min_size=1, max_size=6),
    st.sampled_from([40, 60, 80, 100]),
)
def test_table_fits_the_screen_and_breaks_no_word_and_no_number(
    rows: list[tuple[str, ...]], width: int
) -> None:
    lines = table_lines(("name", "what", "first", "second", "third"), rows, width=width)

    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for name, what, *numbers in rows:
        assert re.search(rf"^{name}\b", text, re.MULTILINE)
        assert all(word in text for word in what.split())
        assert all(number in text for number in numbers)


def test_wide_table_repeats_the_columns_that_name_its_rows() -> None:
    rows = [(str(rank), f"model-{rank}", *["0.1234 [0.100, 0.200]"] * 4) for rank in (1, 2)]
    header = ("", "model", "a", "b", "c", "d")

    lines = table_lines(header, rows, width=80, names=2)

    assert sum("model-2" in line for line in lines) == 2
    assert [line.split() for line in lines if "model" in line and "-" not in line] == [
        ["model", "a", "b"],
        ["model", "c", "d"],
    ]


def test_name_that_is_wider_than_the_screen_stays_whole() -> None:
    name = "shake_shake_26_2x64d_SSI_cutout16" * 3

    assert any(name in line for line in table_lines(("name", "n"), [(name, "1")], width=40))


@pytest.mark.parametrize("text", ["中文", "été", ""])
def test_columns_line_up_whatever_the_script(text: str) -> None:
    lines = table_lines(("name", "n"), [(text, "1"), ("abc", "22")], width=80)

    assert lines[-1].endswith("22")
