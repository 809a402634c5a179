"""``sfumato run``, ``report`` and ``results``: a study end to end, its report, its pages."""

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import sfumato.cli.options as given
from sfumato.cli.options import check_output, explain_unclear, names_in, read_options, refuse_filled
from sfumato.cli.printing import notify, progress
from sfumato.errors import DataError, require_packages

if TYPE_CHECKING:
    from sfumato.learn.sweep import Progress
    from sfumato.studies.dry import DryRun, NetworkCost
    from sfumato.studies.run import Runner
    from sfumato.studies.study import Study

SizeName = Literal["cpu", "lab", "paper"]
StudyOrPaper = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="A shipped study (digits, fashion-h, hmix …), a TOML file, or a whole paper "
        "(paper-1, paper-2, thesis, paper-4, paper-5).",
    ),
]
SharedTrainings = Annotated[
    Path | None,
    typer.Option(
        help="Folder of finished trainings that several runs share; by default the run's own."
    ),
]
PaperPages = Annotated[
    Path | None,
    typer.Option(help="Of a paper: its pages go to results and papers in it; by default docs."),
]


def run(
    study: StudyOrPaper,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder of the run; by default runs/STUDY. Of a paper: runs."
        ),
    ] = None,
    size: Annotated[SizeName, typer.Option(help="The study's size, where it has several.")] = "cpu",
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Trainings of each arm and network, or worlds of each size."),
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(help="Only these arms, or label sets and recipes to learn, comma-separated."),
    ] = None,
    networks: Annotated[
        str | None, typer.Option(help="These networks instead, comma-separated.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="So many epochs of training.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any setting, such as training.batch_size=32."
        ),
    ] = None,
    engine: Annotated[
        Literal["local", "dask"], typer.Option(help="This machine's cores, or a Dask cluster.")
    ] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of the cluster's scheduler.")
    ] = None,
    trainings: SharedTrainings = None,
    pages: PaperPages = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the settings, try a few images through everything, tell the cost.",
        ),
    ] = False,
    measured: Annotated[
        Path | None, typer.Option(help="With --dry-run: a finished run, whose pace tells the cost.")
    ] = None,
) -> None:
    """Run a study end to end: labels, trainings, evaluation, audit, report."""
    from sfumato.data import data_folder
    from sfumato.studies.papers import read_papers
    from sfumato.studies.run import Runner, choose_study

    runner = Runner(data_folder(), engine, scheduler, stage=notify, trainings=trainings)
    if study in read_papers():
        for name, one in {"arms": arms, "networks": networks, "epochs": epochs, "set": settings,
                          "measured": measured}.items():  # fmt: skip
            if one:
                raise DataError(f"--{name} is for one study; a paper has several. Run that study.")
        _run_paper(study, size, seeds, output or Path("runs"), pages, runner, dry=dry_run)
        return
    if pages is not None:
        raise DataError("--pages is for papers; `sfumato results` writes the pages of a study.")
    chosen = choose_study(
        study,
        size=size,
        seeds=seeds,
        arms=None if arms is None else names_in(arms),
        networks=None if networks is None else names_in(networks),
        epochs=epochs,
        settings=_settings(settings or []),
    )
    if dry_run:
        _print_dry_run(chosen, measured)
        return
    if measured is not None:
        raise DataError("--measured is for --dry-run: a run takes the time it takes.")
    _run_study(chosen, output or Path("runs") / chosen.name, runner)


def _run_study(study: "Study", folder: Path, runner: "Runner") -> None:
    from sfumato.reporting.text import count
    from sfumato.studies.data import compute_text
    from sfumato.studies.run import run as run_chosen

    with _shown(study) as show:
        done = run_chosen(study, folder, runner=replace(runner, progress=show))
    if "failed" in done.tables:
        notify(f"{count(len(done.tables['failed']), 'cell')} failed; see the report.")
    notify(compute_text([done]))
    typer.echo(f"Report: {done.folder / 'report.html'}")


def report(
    source: Annotated[
        Path, typer.Argument(metavar="RUN_OR_FILE", help="Folder of a run, or a file of answers.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE.html", help="The page; by default FILE-report.html."
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|FILE", help="Texts of the items: a column of the answers, or a table."
        ),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Folder or zip archive of the items' pictures.")
    ] = None,
    format_: given.Format = None,
    *,
    table_options: given.TableOptions,
    classes: given.Classes = None,
    question: given.QuestionKind = None,
    key: given.Key = None,
    seed: given.Seed = 0,
    overwrite: given.Overwrite = False,
    trace: Annotated[
        int | None,
        typer.Option(
            metavar="ROW",
            help="Of a run: walk this row of estimates.parquet (from 0) back to people's answers.",
        ),
    ] = None,
) -> None:
    """Draw answers, or a finished run, as one page; nothing is trained."""
    if source.is_dir() and format_ is None:
        _report_run(source, output, trace, overwrite=overwrite)
        return
    if trace is not None:
        raise DataError("--trace walks back a number of a run; give the folder of a run.")
    page = output or Path(f"{source.name.partition('.')[0]}-report.html")
    check_output(page, (".html",), what="The report is", overwrite=overwrite)
    options = read_options(table_options, classes, question, key)
    _report_answers(
        source, page, text=text, pictures=pictures, seed=seed, title=f"Answers of {source.name}",
        format=format_, options=options,
    )  # fmt: skip
    typer.echo(f"Report: {page}")


def _report_answers(source: Path, page: Path, **settings: Any) -> None:
    require_packages("Drawing a report", "matplotlib", "jinja2")
    from sfumato.reporting.answers import report as draw_answers

    with explain_unclear():
        draw_answers(source, page, **settings)


def _report_run(folder: Path, output: Path | None, trace: int | None, *, overwrite: bool) -> None:
    from sfumato.data import data_folder
    from sfumato.studies.data import RunFolder
    from sfumato.studies.pages import write_report
    from sfumato.studies.trace import trace_lines

    check_output(output, (".html",), what="The report is", overwrite=overwrite)
    if trace is None:
        require_packages("Drawing a report", "matplotlib", "jinja2")
    opened = RunFolder.open(folder)
    if trace is not None:
        for line in trace_lines(opened, trace, data_folder()):
            typer.echo(line)
        return
    typer.echo(f"Report: {write_report(opened, output)}")


def results(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN", help="Folders of finished runs.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the pages.")] = Path(
        "docs/results"
    ),
    papers: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Also write a page per paper, claim by claim, there."),
    ] = None,
    overwrite: given.Overwrite = False,
) -> None:
    """Write runs as short pages with all numbers as CSV, and the scoreboard of the folder."""
    from sfumato.studies.data import RunFolder, compute_text
    from sfumato.studies.papers import write_papers
    from sfumato.studies.results import write_results

    opened = [RunFolder.open(run) for run in runs or []]
    refuse_filled(output, *(f"{run.study.name}.md" for run in opened), overwrite=overwrite)
    written = write_results(runs or [], output)
    if papers is not None:
        written += write_papers(output, papers)
    for path in written:
        typer.echo(f"Wrote {path}.")
    if opened:
        typer.echo(compute_text(opened))


def _settings(texts: list[str]) -> dict[str, Any]:
    """Settings that differ from the study's file, by dotted name."""
    changes: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise DataError(f"A setting is written KEY=VALUE, such as seeds=3; found {text!r}.")
        changes[key.strip()] = _value(value.strip())
    return changes


def _value(text: str) -> Any:
    """A value as TOML has it; what is none is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _print_dry_run(study: "Study", measured: Path | None) -> "DryRun":
    from sfumato.data import data_folder
    from sfumato.studies.dry import dry_run

    found = dry_run(study, data=data_folder(), measured=measured, stage=notify)
    for line in found.lines():
        typer.echo(line)
    return found


def _run_paper(
    name: str,
    size: SizeName,
    seeds: int | None,
    folder: Path,
    pages: Path | None,
    runner: "Runner",
    *,
    dry: bool,
) -> None:
    from sfumato.studies.dry import total_line
    from sfumato.studies.papers import paper_studies, write_papers
    from sfumato.studies.run import run_paper

    studies = paper_studies(name, size=size, seeds=seeds)
    if dry:
        costs: list[NetworkCost] = []
        for study in studies:
            typer.echo(f"# {study.name}: {study.title}")
            costs += _print_dry_run(study, None).planned
        if costs:
            typer.echo(f"All studies. {total_line(costs)}. What they share is trained once.")
        return
    place = pages or Path("docs")
    failed = run_paper(studies, folder, place / "results", runner, _shown)
    if len(failed) < len(studies):
        for path in write_papers(place / "results", place / "papers", [name]):
            typer.echo(f"Wrote {path}.")
    if failed:
        told = " ".join(f"{study}: {why}" for study, why in failed.items())
        raise DataError(f"{len(failed)} of {len(studies)} studies could not run. {told}")


@contextmanager
def _shown(study: "Study") -> "Iterator[Callable[[Progress], None]]":
    """Cells done, work a second and time left, as a bar or as lines."""
    from sfumato.learn.sweep import seconds_left, work_per_second

    unit, what = ("worlds", "Simulating") if study.worlds else ("model-epochs", "Training")
    with progress(what) as bar:

        def show(state: "Progress") -> None:
            left = seconds_left(state)
            rest = "" if left is None else f", {left:.0f} s left"
            speed = f"{work_per_second(state):.1f} {unit} a second"
            bar(state.done + state.failed, state.total, f"{speed}{rest}")

        yield show
