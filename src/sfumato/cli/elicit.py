"""The commands that make, run and end a collection of answers."""

import json
import os
import secrets
from pathlib import Path
from typing import Annotated, Any, assert_never

import typer

from sfumato.cli import elicit_data, elicit_new
from sfumato.cli.elicit_data import need_packages
from sfumato.cli.elicit_new import StudyFolder
from sfumato.cli.progress import say

elicit_app = typer.Typer(help="Ask people: make, run and end a collection of answers.")
for command in (
    elicit_new.new,
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
    from sfumato.elicit.serve import check_workers, run_server
    from sfumato.elicit.web.security import check_address

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
    address = f"http://{shown}:{port}/"
    key = f"key {os.environ[admin_key_env]}" if is_new_key else f"key in {admin_key_env}"
    say(f"Serving {folder} at {address} (Ctrl-C stops it).")
    say(way_in(folder, address))
    say(f"Dashboard: {address}admin/ ({key}).")
    factory = f"{__name__}:{make_served_app.__name__}"
    run_server(app if workers == 1 else factory, host=host, port=port, workers=workers, proxy=proxy)


def make_served_app() -> Any:
    """The application that ``serve`` described in the environment; each process makes one."""
    from sfumato.elicit.serve import served_app
    from sfumato.elicit.web.security import Limits

    wanted = json.loads(os.environ[SERVED])
    return served_app(
        Path(wanted["folder"]),
        database=wanted["database"],
        webhook_secret=os.environ.get(wanted["webhook_key_env"]) or None,
        limits=Limits(entries_per_minute=wanted["entries_per_minute"]),
        admin_key=os.environ[wanted["admin_key_env"]],
    )


def way_in(folder: Path, address: str) -> str:
    """The address that leads people in, by where they come from."""
    from sfumato.elicit.design.places import open_study

    recruiting = open_study(folder).recruiting
    match recruiting.platform:
        case "link":
            return f"Answer yourself: {address}?{recruiting.id_parameter}=me"
        case "prolific":
            ids = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
            named = "&".join(f"{name}={{{{%{name}%}}}}" for name in ids)
            return f"Address for Prolific: {address}?{named}"
        case "mturk":
            return f"Address for MTurk: {address} (it adds who comes)."
        case _:
            assert_never(recruiting.platform)
