"""``sfumato view``: a page on this machine to walk through items, answers and predictions."""

from typing import Annotated

import typer

import sfumato.cli.options as given
from sfumato.cli.options import explain_unclear, read_options
from sfumato.cli.printing import notify
from sfumato.errors import DataError, require_packages


def view(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_RUN",
            help="A file of labels or answers, the folder of a run, or the name of a dataset.",
        ),
    ],
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions",
            metavar="[NAME=]FILE",
            help="A model's stored predictions, shown beside people's labels; repeatable.",
        ),
    ] = None,
    logits: given.Logits = False,
    images: Annotated[
        str | None,
        typer.Option(
            "--images",
            metavar="FOLDER|ZIP|NAME",
            help="Pictures of the items; NAME or NAME/PART is a known dataset.",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text",
            metavar="COLUMN|FILE",
            help="Texts of the items: a column of the file, or a table.",
        ),
    ] = None,
    title: Annotated[
        str, typer.Option("--title", help="What stands on top; by default the file's name.")
    ] = "",
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65_535, help="By default 8300, or a free one."),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
    format_: given.Format = None,
    *,
    table_options: given.TableOptions,
    classes: given.Classes = None,
    question: given.QuestionKind = None,
    key: given.Key = None,
) -> None:
    """Walk through one's data: items with people's and models' bars, answers, times."""
    web = ("starlette", "uvicorn", "sqlalchemy", "psycopg", "jinja2", "argon2", "itsdangerous")
    require_packages("Looking around", *web, extra="elicit")
    from sfumato.studies.audit_sources import named_predictions
    from sfumato.viewing.server import view as serve_view

    named = named_predictions(predictions or [])
    if len({name for name, _ in named}) < len(named):
        raise DataError("Two models have the same name; give them others: NAME=FILE.")
    with explain_unclear():
        viewer = serve_view(
            source,
            dict(named),
            images,
            text=text,
            kind="logits" if logits else "probabilities",
            title=title,
            port=port,
            open=open_browser,
            format=format_,
            options=read_options(table_options, classes, question, key),
        )
    for remark in viewer.table.viewed.remarks:
        notify(remark)
    typer.echo(f"{len(viewer.table.items):,} items at {viewer.url} (Ctrl-C stops it).")
    viewer.wait()
