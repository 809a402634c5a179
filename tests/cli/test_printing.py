import pytest

from sfumato.cli.printing import progress


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
