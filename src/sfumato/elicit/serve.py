"""Run the server of a study until it is told to stop."""

import secrets
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette

from sfumato.elicit.admin.app import admin_app
from sfumato.elicit.design.places import database_url, open_study, read_key
from sfumato.elicit.live.live import Live
from sfumato.elicit.session.collection import collection_of
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage import schema
from sfumato.elicit.storage.backup import check_pages
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.web.app import make_app
from sfumato.elicit.web.security import Limits
from sfumato.errors import DataError

KEEP_ALIVE_SECONDS = 75
"""Longer than people think about an image; uvicorn's own 5 s would close most connections."""
STOP_SECONDS = 8
"""For requests under way; the writer then has the rest of R9's ten seconds."""


def served_app(
    folder: Path,
    *,
    database: str | None = None,
    webhook_secret: str | None = None,
    limits: Limits | None = None,
    admin_key: str | None = None,
) -> Starlette:
    """The application for the study in a folder, with a writer of its own.

    With an ``admin_key``, or the argon2id hash of one, it has a dashboard under ``/admin``.
    """
    study = open_study(folder)
    stored = open_database(database or database_url(folder))
    with stored.rejoin() as connection:
        if stored.dialect == "sqlite":
            check_pages(connection, str(stored.path))
        schema.check(connection)
        schema.check_study(connection, study)
    # Nobody may foresee who sees what: the numbers are not from a seed that is written anywhere.
    rng = np.random.default_rng(secrets.randbits(128))
    writer = Writer(stored, collection_of(study, read_key(folder)), rng=rng)
    return make_app(
        folder,
        writer=writer,
        admin=None if admin_key is None else dashboard(writer, admin_key),
        webhook_secret=webhook_secret,
        limits=limits,
    )


def dashboard(writer: Writer, admin_key: str) -> Starlette:
    """The researcher's pages about what a writer stores."""
    return admin_app(writer, Live(writer.database, writer.collection), admin_key=admin_key)


def check_workers(workers: int, database: str | None) -> None:
    """Refuse several processes on one SQLite file: they would only wait for each other."""
    if workers > 1 and open_database(database or "sqlite:///").dialect == "sqlite":
        raise DataError(
            f"{workers} processes need PostgreSQL: give --database postgresql://…, or leave "
            "--workers out."
        )


def run_server(
    app: Starlette | str, *, host: str, port: int, workers: int = 1, proxy: str | None = None
) -> None:
    """Serve until SIGTERM or SIGINT; then finish what was begun (R9).

    ``app`` is the name of a factory where there are several processes. ``proxy`` is the address
    of a reverse proxy, whose word about the address of a browser is taken.
    """
    uvicorn.run(
        app, host=host, port=port, factory=isinstance(app, str), workers=workers,
        **server_settings(proxy),
    )  # fmt: skip


def server_settings(proxy: str | None = None) -> dict[str, Any]:
    """How every server of ours is run, whatever it serves."""
    return {
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": STOP_SECONDS,
        "access_log": False,  # addresses hold the ids of people (S13)
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": proxy is not None,
        "forwarded_allow_ips": proxy,
        "ws": "none",
        "lifespan": "on",
    }
