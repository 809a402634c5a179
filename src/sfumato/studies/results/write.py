"""Write finished runs as pages and JSON into a folder, and the scoreboard of all that it holds."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.studies.results.gather import read_result
from sfumato.studies.results.page import figure_name, page_of
from sfumato.studies.results.result import Result, result_to_json
from sfumato.studies.results.scoreboard import scoreboard

__all__ = ["write_results"]


def write_results(runs: Sequence[Path], folder: Path) -> list[Path]:
    """Write NAME.md, its figures and NAME.json of each run, then README.md; returns the texts.

    Every run is read before anything is written. README.md is made of the JSON files of the folder,
    also those of earlier runs.
    """
    results = [read_result(run) for run in runs]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for result in results:
        page, record = folder / f"{result.name}.md", folder / f"{result.name}.json"
        page.write_text(page_of(result), encoding="utf-8")
        record.write_text(_text(_plain(result_to_json(result))), encoding="utf-8")
        _copy_figures(result, folder)
        written += [page, record]
    board = folder / "README.md"
    board.write_text(scoreboard(folder), encoding="utf-8")
    return [*written, board]


def _copy_figures(result: Result, folder: Path) -> None:
    """Those of an earlier run of the study go."""
    wanted = {folder / figure_name(result, path): path for path in result.figures}
    for old in (folder / "figures" / result.name).glob("*.svg"):
        if old not in wanted:
            old.unlink()
    for target, path in wanted.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())


def _text(record: Any) -> str:
    """JSON with a line a score, so that a change of one is a change of one line."""
    head = {key: value for key, value in record.items() if key != "scores"}
    rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in record["scores"])
    opened = json.dumps(head, indent=1, ensure_ascii=False).removesuffix("\n}")
    return f'{opened},\n "scores": [\n  {rows}\n ]\n}}\n'


def _plain(value: object) -> object:
    """The same with six digits of every number, and null for what JSON cannot hold."""
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case float():
            return float(f"{value:.6g}") if math.isfinite(value) else None
        case _:
            return value
