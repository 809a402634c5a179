from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato.cli.commands import app
from sfumato.errors import SfumatoError


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_unknown_study_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match="Did you mean 'digits'"):
        run("run", "digit", "-o", str(tmp_path))


def test_size_is_not_for_files_of_ones_own(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match="says its own size"):
        run("run", "mine.toml", "--size", "paper")


def test_folder_without_a_run_has_no_report(tmp_path: Path) -> None:
    with pytest.raises(SfumatoError, match="not the folder of a run"):
        run("report", str(tmp_path))
