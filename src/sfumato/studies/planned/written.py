"""Write a plan as a folder: plan.json, plan.html and the figures."""

import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.planning.advise import plan_json
from sfumato.planning.pilot import Piloted
from sfumato.reporting.draw import save
from sfumato.reporting.page import write
from sfumato.studies.planned.asked import Planned
from sfumato.studies.planned.figures import draw_figures
from sfumato.studies.planned.page import plan_page
from sfumato.studies.planned.simulated import Advance

__all__ = ["plan_folder", "write_plan"]

PACKAGES = ("sfumato", "numpy", "scipy", "polars")


def plan_folder(path: Path) -> Path:
    """The folder to write into, made where it is not there; a file in its place is refused."""
    if path.exists() and not path.is_dir():
        raise DataError(f"{path} is a file; give a folder to write the plan into.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"The folder {path} cannot be made: {error.strerror or error}.") from None
    return path


def write_plan(
    planned: Planned, folder: Path, *, advance: Advance = lambda done, total: None
) -> Path:
    """Write ``plan.json``, ``plan.html`` and ``figures/``; returns the path of the page."""
    folder = plan_folder(folder)
    figures = draw_figures(planned, advance=advance)
    forget_figures(folder / "figures")
    for drawing in figures.every():
        save(drawing, folder / "figures")
    facts = _settings(planned)
    found = {**plan_json(planned.task, planned.advice), **facts}
    text = json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "plan.json").write_text(text + "\n", encoding="utf-8")
    path = folder / "plan.html"
    write(plan_page(planned, figures, facts), path)
    return path


def forget_figures(folder: Path) -> None:
    """Remove those of an earlier plan, which may have drawn more, and nothing else."""
    for name in NAMES:
        for ending in ("svg", "png", "csv"):
            (folder / f"{name}.{ending}").unlink(missing_ok=True)


NAMES = (
    "information-ratio",
    "rho",
    "effective-dimensionality",
    "components",
    "kept",
    "equal-spending",
    "preference",
    "loss",
    "annotators",
)
"""The figures of a plan, by file name."""


def _settings(planned: Planned) -> dict[str, Any]:
    task = {
        name: list(v) if isinstance(v, tuple) else v for name, v in asdict(planned.task).items()
    }
    costs = {
        form: {"value": cost.value, "unit": cost.unit, "kept": cost.kept}
        for form, cost in planned.costs.items()
    }
    return {
        "settings": {
            **task,
            "costs": costs,
            "errors": dict(planned.errors),
            "pilots": [_piloted(each) for each in planned.pilots],
            "files": dict(planned.files),
        },
        "seed": planned.seed,
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
    }


def _piloted(piloted: Piloted) -> dict[str, Any]:
    cost, error = piloted.cost, piloted.error
    return {
        "form": piloted.form,
        "kept": piloted.kept,
        "items": len(piloted.crowd.items),
        "answers": len(piloted.crowd),
        "answers_an_item": piloted.people,
        "cost": None if cost is None else cost.value,
        "cost_low": None if cost is None else cost.low,
        "cost_high": None if cost is None else cost.high,
        "contradicted": error.value,
        "low": error.low,
        "high": error.high,
        "by": error.how,
    }
