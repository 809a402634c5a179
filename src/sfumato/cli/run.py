"""``sfumato run`` and ``sfumato report``: a study end to end, and its report drawn again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfumato.cli.printing import notify, progress

if TYPE_CHECKING:
    from sfumato.learn.sweep import Progress
    from sfumato.studies.study import AnyStudy

__all__ = ["report", "run"]

StudyName = Annotated[
    str,
    typer.Argument(
        help="A shipped study (digits, fashion-h, informativeness-grid, hmix …) or a TOML file."
    ),
]
Folder = Annotated[
    Path | None, typer.Option("--output", "-o", help="Folder of the run; by default runs/STUDY.")
]
SizeName = Literal["cpu", "paper"]
Size = Annotated[SizeName, typer.Option(help="The study's size, where it has two.")]
Seeds = Annotated[
    int | None,
    typer.Option(min=1, help="Trainings of each arm and network, or worlds of each size."),
]
Engine = Annotated[
    Literal["local", "dask"], typer.Option(help="This machine's cores, or a Dask cluster.")
]
Scheduler = Annotated[str | None, typer.Option(help="Address of the cluster's scheduler.")]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Try a few images through everything, keep nothing, tell the cost."
    ),
]
Measured = Annotated[
    Path | None, typer.Option(help="With --dry-run: a finished run, whose pace tells the cost.")
]


def run(
    study: StudyName,
    output: Folder = None,
    size: Size = "cpu",
    seeds: Seeds = None,
    engine: Engine = "local",
    scheduler: Scheduler = None,
    dry_run: DryRun = False,
    measured: Measured = None,
) -> None:
    """Run a study end to end: labels, trainings, evaluation, audit, report."""
    from dataclasses import replace

    from sfumato.data import data_folder
    from sfumato.errors import DataError
    from sfumato.studies.hmix.study import HMixStudy
    from sfumato.studies.rescore.study import RescoreStudy
    from sfumato.studies.run import run_study

    chosen = _study(study, size)
    if seeds is not None:
        if isinstance(chosen, HMixStudy | RescoreStudy):
            raise DataError(f"The study {chosen.name!r} trains nothing, so it has no --seeds.")
        chosen = replace(chosen, seeds=seeds)
    if dry_run:
        _try(chosen, measured)
        return
    if measured is not None:
        raise DataError("--measured is for --dry-run: a run takes the time it takes.")
    folder = output or Path("runs") / chosen.name
    with _shown(chosen) as show:
        done = run_study(
            chosen,
            folder,
            data=data_folder(),
            engine=engine,
            scheduler=scheduler,
            progress=show,
            stage=notify,
        )
    if done.failed:
        notify(f"{done.failed} of {done.failed + done.done} cells failed; see the report.")
    typer.echo(f"Report: {done.report}")


def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
) -> None:
    """Draw the report of a run again, from its files alone."""
    from sfumato.studies.page import draw_report

    typer.echo(f"Report: {draw_report(folder)}")


def _try(study: "AnyStudy", measured: Path | None) -> None:
    from sfumato.data import data_folder
    from sfumato.studies.dry import dry_run

    found = dry_run(study, data=data_folder(), measured=measured, stage=notify)
    for line in found.lines():
        typer.echo(line)


def _study(name: str, size: SizeName) -> "AnyStudy":
    from sfumato.errors import DataError
    from sfumato.studies.shipped import shipped_study
    from sfumato.studies.study import read_study

    if not name.endswith(".toml"):
        return shipped_study(name, size)
    if size != "cpu":
        raise DataError(f"--size is for shipped studies; {name} says its own size.")
    return read_study(Path(name))


@contextmanager
def _shown(study: "AnyStudy") -> "Iterator[Callable[[Progress], None]]":
    """Cells done, work a second and time left, as a bar or as lines."""
    from sfumato.learn.sweep import seconds_left, work_per_second
    from sfumato.studies.informativeness.study import GridStudy

    grid = isinstance(study, GridStudy)
    unit = "worlds" if grid else "model-epochs"
    with progress("Simulating" if grid else "Training") as bar:

        def show(state: "Progress") -> None:
            left = seconds_left(state)
            rest = "" if left is None else f", {left:.0f} s left"
            speed = f"{work_per_second(state):.1f} {unit} a second"
            bar(state.done + state.failed, state.total, f"{speed}{rest}")

        yield show
