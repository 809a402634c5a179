from pathlib import Path

import pytest

from sfumato.cli.reading import study_key


def test_given_key_stands() -> None:
    assert study_key("mine") == "mine"


def test_own_key_is_drawn_once_and_kept_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    first = study_key(None)

    assert len(first) == 64
    assert study_key(None) == first
    assert (tmp_path / "sfumato" / "key").stat().st_mode & 0o077 == 0
