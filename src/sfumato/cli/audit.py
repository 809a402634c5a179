"""``sfumato audit``: what inherited annotations tell about themselves, without any training."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.options import explain_unclear, read_options, refuse_filled
from sfumato.cli.printing import (
    format_interval,
    notify,
    print_json,
    print_leaderboard,
    print_line,
    print_table,
    progress,
)
from sfumato.errors import require_packages

if TYPE_CHECKING:
    from sfumato.studies.audit import Audit
    from sfumato.studies.audit_sources import AuditSettings, AuditSources


Labels = Annotated[Path | None, typer.Option("--labels", help="People's label distributions.")]
JudgmentsInstead = Annotated[
    Path | None, typer.Option("--judgments", help="The judgments, instead of --labels.")
]
Recipe = Annotated[
    str | None,
    typer.Option("--recipe", help="How one judgment becomes a distribution (see below)."),
]
Images = Annotated[
    Path | None, typer.Option("--images", help="Folder or zip archive of the pictures.")
]
PictureTable = Annotated[
    Path | None, typer.Option("--table", help="CSV of the pictures: item, label[, split].")
]
NamedPredictions = Annotated[
    list[str] | None,
    typer.Option(
        "--predictions",
        metavar="[NAME=]FILE",
        help="A model's stored predictions; repeatable. original=, majority= and soft= name "
        "what it learnt from.",
    ),
]
Dynamics = Annotated[
    Path | None,
    typer.Option("--dynamics", help="What models believed after each epoch (.npz)."),
]
Near = Annotated[
    bool, typer.Option("--near/--no-near", help="Whether to seek near duplicates too.")
]
AuditFolder = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for all tables and the datasheet draft."),
]
AlsoDrawn = Annotated[
    bool, typer.Option("--report", help="Also draw one HTML page into the folder.")
]


def audit(
    labels: Labels = None,
    judgments: JudgmentsInstead = None,
    format_: given.Format = None,
    recipe: Recipe = None,
    original: given.Original = None,
    images: Images = None,
    table: PictureTable = None,
    predictions: NamedPredictions = None,
    dynamics: Dynamics = None,
    near: Near = True,
    logits: given.Logits = False,
    shared_items: given.SharedItems = False,
    *,
    table_options: given.TableOptions,
    question: given.QuestionKind = None,
    classes: given.Classes = None,
    draws: given.Draws = 1000,
    seed: given.Seed = 0,
    output: AuditFolder = None,
    report: AlsoDrawn = False,
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """Duplicates, leakage, label variation, mode shift, data maps, alignment of models."""
    from sfumato.judgments.formats.reading import read_classes
    from sfumato.studies.audit_sources import AuditSettings, AuditSources, named_predictions

    if report and output is None:
        raise typer.BadParameter("--report needs a folder to draw into: -o FOLDER.")
    refuse_filled(output, "audit.json", "report.html", overwrite=overwrite)
    if report:
        require_packages("Drawing a report", "matplotlib", "jinja2")
    sources = AuditSources(
        labels=labels,
        judgments=judgments,
        format=format_,
        reading=read_options(table_options, question=question),
        recipe=recipe,
        original=original,
        images=images,
        table=table,
        predictions=named_predictions(predictions or []),
        dynamics=dynamics,
    )
    settings = AuditSettings(
        classes=None if classes is None else read_classes(classes),
        kind="logits" if logits else "probabilities",
        missing="leave out" if shared_items else "error",
        near=near,
        draws=draws,
        seed=seed,
    )
    audited = _audited(sources, settings)
    written = [] if output is None else _write(audited, sources, output, report=report)
    _tell(audited, written, output, as_json=as_json)


def _audited(sources: "AuditSources", settings: "AuditSettings") -> "Audit":
    from sfumato.studies import audit as audits

    with progress("Auditing") as advance, explain_unclear():
        audited = audits.audit(sources, settings, advance=advance)
    for remark in audited.remarks:
        notify(remark)
    return audited


def _write(audited: "Audit", sources: "AuditSources", folder: Path, *, report: bool) -> list[str]:
    """Write the tables, and the page where it is asked for; the names of what was written."""
    from sfumato.studies.audit import draw_audit, write_audit

    written = write_audit(audited, folder)
    if report:
        files = (sources.labels, sources.judgments, sources.images, sources.dynamics, folder)
        of = next(file for file in files if isinstance(file, Path))
        written.append(draw_audit(audited, folder, title=f"Audit of {of.stem}").name)
    return written


def _tell(audited: "Audit", written: Sequence[str], folder: Path | None, *, as_json: bool) -> None:
    from sfumato.studies.audit import audit_values

    if as_json:
        print_json({**audit_values(audited), "written": None if folder is None else str(folder)})
        return
    _show(audited)
    if folder is not None:
        typer.echo(f"\nWrote {', '.join(written)} to {folder}.")


def _show(audited: "Audit") -> None:
    rows = {
        name: audited.tables[name].to_dicts() if name in audited.tables else []
        for name in ("strata", "leaderboard", "correlations")
    }
    if audited.simulated:
        print_line("SIMULATED people or models are behind these numbers.\n")
    for number, (part, findings) in enumerate(audited.findings.items()):
        print_line(f"\n{part}" if number else part)
        for one in findings:
            print_line(f"- {one.text}")
        if part == "People":
            _strata(rows["strata"])
        if part == "Models" and rows["leaderboard"]:
            print_leaderboard(rows["leaderboard"])
    _correlations(rows["correlations"])


def _strata(rows: Sequence[Mapping[str, Any]]) -> None:
    print_table(
        "Strata of label variation, with 95 % intervals over items",
        ("stratum", "items", "share"),
        [
            (
                row["stratum"],
                f"{row['items']:,}",
                format_interval(row["share"], row["low"], row["high"]),
            )
            for row in rows
        ],
    )


def _correlations(rows: Sequence[Mapping[str, Any]]) -> None:
    print_table(
        "Signals of ambiguity: rank correlations with 95 % intervals over items",
        ("first", "second", "rho", "items"),
        [
            (
                row["first"],
                row["second"],
                format_interval(row["rho"], row["low"], row["high"]),
                f"{row['items']:,}",
            )
            for row in rows
        ],
    )
