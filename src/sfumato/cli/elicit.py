"""The commands that make, run and end a collection of answers."""

import json
import os
import secrets
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import elicit_data
from sfumato.cli import options as given
from sfumato.cli.elicit_data import need_packages
from sfumato.cli.progress import progress, say
from sfumato.errors import DataError, UnknownName

__all__ = ["elicit_app"]

elicit_app = typer.Typer(help="Ask people: make, run and end a collection of answers.")
for command in (
    elicit_data.export,
    elicit_data.status,
    elicit_data.withdraw,
    elicit_data.close,
    elicit_data.copy,
    elicit_data.backup,
    elicit_data.restore,
):
    elicit_app.command()(command)

SERVED = "SFUMATO_SERVED"
"""Environment variable by which processes of one server learn what to serve."""

StudyFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the study.")]


@elicit_app.command("new")
def new(
    folder: StudyFolder,
    images: Annotated[
        Path | None, typer.Option("--images", help="Folder or zip archive of images.")
    ] = None,
    classes: given.Classes = None,
    question: Annotated[
        str | None, typer.Option("--question", help="What is asked: a preset (docs/elicit.md).")
    ] = None,
    settings: Annotated[
        Path | None, typer.Option("--from", help="TOML file of settings; it names the preset.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="A working study of handwritten digits.")
    ] = False,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="CSV image,class: the known classes.")
    ] = None,
    allocation: Annotated[
        Path | None, typer.Option("--allocation", help="CSV image,batch or JSON: the batches.")
    ] = None,
    checks: Annotated[
        Path | None, typer.Option("--checks", help="CSV image,class: attention checks.")
    ] = None,
    practice: Annotated[
        Path | None, typer.Option("--practice", help="CSV image,class: images to practise with.")
    ] = None,
    comparisons: Annotated[
        Path | None,
        typer.Option("--comparisons", help="CSV first,second (pairs) or item,first,second."),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", help="How many pairs, triplets or mixes to draw.")
    ] = None,
    per_item: Annotated[
        int | None, typer.Option("--per-item", help="How many people answer about an item.")
    ] = None,
    trials: Annotated[int | None, typer.Option("--trials", help="Main trials a person.")] = None,
    mode: Annotated[str | None, typer.Option("--mode", help="faithful or guarded.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="What people read on top.")] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other setting, as layout.repeats=3; repeatable."),
    ] = None,
    database: Annotated[
        str | None, typer.Option("--database", help="postgresql://… instead of a file.")
    ] = None,
    seed: given.Seed = 0,
) -> None:
    """Make a study from a folder of images, a list of labels and a question."""
    tables = (images, classes, settings, labels, allocation, checks, practice, comparisons)
    if demo and (any(tables) or count or database):
        raise typer.BadParameter("--demo brings images, classes and tables of its own.")
    need_packages("pydantic", "sqlalchemy", "psycopg")
    from sfumato.elicit.making.make import demo_study, new_study
    from sfumato.judgments.formats.reading import read_classes

    changes = _changes(settings, assign or [])
    shortcuts = {"per_item": per_item, "mode": mode, "title": title}
    changes |= {key: value for key, value in shortcuts.items() if value is not None}
    if trials is not None:
        changes["layout"] = {**changes.get("layout", {}), "trials_per_person": trials}
    if classes is not None:
        changes["classes"] = read_classes(classes)
    preset = question or changes.get("preset")
    changes.pop("preset", None)
    if demo:
        demo_study(folder, preset=preset or "distribution", seed=seed, **_digits(), **changes)
    elif images is None or preset is None:
        raise typer.BadParameter("A study needs --images and --question (or --from or --demo).")
    else:
        with progress("Preparing images") as advance:
            new_study(
                folder,
                images=images,
                preset=preset,
                labels=labels,
                allocation=allocation,
                checks=checks,
                practice=practice,
                comparisons=comparisons,
                count=count,
                database=database,
                seed=seed,
                advance=advance,
                where="" if settings is None else settings.name,
                **changes,
            )
    _tell(folder)


@elicit_app.command("serve")
def serve(
    folder: StudyFolder,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65_535)] = 8000,
    database: Annotated[
        str | None, typer.Option("--database", help="postgresql://… instead of the study's file.")
    ] = None,
    admin_key_env: Annotated[
        str, typer.Option("--admin-key-env", help="Environment variable with the admin key.")
    ] = "SFUMATO_ADMIN_KEY",
    webhook_key_env: Annotated[
        str,
        typer.Option("--webhook-key-env", help="Environment variable with Prolific's secret."),
    ] = "SFUMATO_PROLIFIC_SECRET",
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes; more than one on PostgreSQL.")
    ] = 1,
    entries_per_minute: Annotated[
        int, typer.Option("--entries-per-minute", min=1, help="Sessions from one address.")
    ] = 30,
    proxy: Annotated[
        str | None, typer.Option("--proxy", help="Address of a reverse proxy to be believed.")
    ] = None,
) -> None:
    """Serve a study to the people who answer, until it is stopped."""
    need_packages("pydantic", "sqlalchemy", "psycopg", "starlette", "uvicorn", "jinja2", "argon2")
    from sfumato.elicit.web.security import check_address
    from sfumato.elicit.web.serve import check_workers, run_server

    check_address(host, os.environ.get(admin_key_env) or None)
    check_workers(workers, database)
    if is_new_key := not os.environ.get(admin_key_env):
        os.environ[admin_key_env] = secrets.token_urlsafe(24)
    os.environ[SERVED] = json.dumps(
        {
            "folder": str(folder),
            "database": database,
            "admin_key_env": admin_key_env,
            "webhook_key_env": webhook_key_env,
            "entries_per_minute": entries_per_minute,
        }
    )
    app = make_served_app()  # also where each process makes its own: mistakes are told before
    shown = f"[{host}]" if ":" in host else host
    say(f"Serving {folder} at http://{shown}:{port}/ (Ctrl-C stops it).")
    key = f"key {os.environ[admin_key_env]}" if is_new_key else f"key in {admin_key_env}"
    say(f"Dashboard: http://{shown}:{port}/admin/ ({key}).")
    factory = f"{__name__}:{make_served_app.__name__}"
    run_server(app if workers == 1 else factory, host=host, port=port, workers=workers, proxy=proxy)


def make_served_app() -> Any:
    """The application that ``serve`` described in the environment; each process makes one."""
    from sfumato.cli.elicit_live import dashboard_with
    from sfumato.elicit.web.limits import Limits
    from sfumato.elicit.web.serve import served_app

    wanted = json.loads(os.environ[SERVED])
    return served_app(
        Path(wanted["folder"]),
        database=wanted["database"],
        webhook_secret=os.environ.get(wanted["webhook_key_env"]) or None,
        limits=Limits(entries_per_minute=wanted["entries_per_minute"]),
        make_admin=dashboard_with(os.environ[wanted["admin_key_env"]]),
    )


def _changes(settings: Path | None, assigned: list[str]) -> dict[str, Any]:
    """What stands in the file, and over it what was set on the command line."""
    from sfumato.elicit.design.study import ElicitStudy, read_settings
    from sfumato.names import find

    where = "--set" if settings is None else settings.name
    changes = {} if settings is None else read_settings(settings)
    for text in assigned:
        key, equals, value = text.partition("=")
        *table, last = key.strip().split(".")
        if not equals or not last or len(table) > 1:
            raise DataError(f"--set is written key=value or table.key=value; found {text!r}.")
        inside = changes.setdefault(table[0], {}) if table else changes
        if not isinstance(inside, dict):
            raise DataError(f"{table[0]} is a table of settings, not {inside!r}.")
        inside[last] = _value(value)
    for key in changes:
        try:
            find(ElicitStudy.model_fields, key, what="setting")
        except UnknownName as error:
            raise DataError(f"{where}: {error}") from None
    return changes


def _value(text: str) -> Any:
    """A value as in TOML; anything else is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _digits() -> dict[str, Any]:
    from sfumato.data import digits

    pictures = digits.load()
    names = [pictures.classes[label] for label in pictures.labels]
    return {
        "images": dict(zip(pictures.items, pictures.images, strict=True)),
        "labels": dict(zip(pictures.items, names, strict=True)),
        "classes": pictures.classes,
    }


def _tell(folder: Path) -> None:
    from sfumato.elicit.design.places import IMAGES, SETTINGS, open_study

    study = open_study(folder)
    shown = len(list((folder / IMAGES).iterdir()))
    typer.echo(
        f"Made {folder}: {study.form} about {shown:,} images, {study.per_item} people each, "
        f"{study.layout.trials_per_person} trials a person."
    )
    typer.echo(
        f"Next: read {folder / SETTINGS} and replace its consent by your own, then\n"
        f"  sfumato elicit serve {folder}"
    )
