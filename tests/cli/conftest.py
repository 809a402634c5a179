"""What tests of commands share: ``sfumato``, run in an empty folder."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sfumato.cli import main


class Outcome(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``sfumato`` with the given words, in an empty folder and with a key of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def call(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["sfumato", *words])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call
