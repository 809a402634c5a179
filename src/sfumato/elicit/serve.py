"""Run the server of a study until it is told to stop."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import secrets
import signal
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from sfumato.elicit.admin.app import admin_app
from sfumato.elicit.design.places import database_url, open_study, read_key
from sfumato.elicit.live.live import Live
from sfumato.elicit.session.collection import collection_of
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage import schema
from sfumato.elicit.storage.backup import check_pages, check_tables
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.web.app import make_app
from sfumato.elicit.web.connections import (
    FILES_KEPT,
    MOST_CONNECTIONS,
    PER_ADDRESS,
    REQUEST_SECONDS,
    Connections,
    bounded_protocol,
    raise_open_files,
)
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
    metrics_key: str | None = None,
    limits: Limits | None = None,
    admin_key: str | None = None,
    admins: Mapping[str, str] | None = None,
) -> Starlette:
    """The application for the study in a folder, with a writer of its own.

    With an ``admin_key``, or the argon2id hash of one, or those of ``admins`` by their names, it
    has a dashboard under ``/admin``.
    """
    study = open_study(folder)
    stored = open_database(database or database_url(folder))
    with stored.rejoin() as connection:
        if stored.dialect == "sqlite":
            check_pages(connection, str(stored.path))
        schema.check(connection)
        if stored.dialect == "sqlite":
            check_tables(connection, str(stored.path))
        schema.take_study(connection, study)
    # Nobody may foresee who sees what: the numbers are not from a seed that is written anywhere.
    rng = np.random.default_rng(secrets.randbits(128))
    writer = Writer(stored, collection_of(study, read_key(folder), folder), rng=rng)
    return make_app(
        folder,
        writer=writer,
        admin=dashboard(writer, admin_key or "", admins) if admin_key or admins else None,
        webhook_secret=webhook_secret,
        metrics_key=metrics_key,
        limits=limits,
    )


def serve_under(studies: Mapping[str, Starlette]) -> Starlette:
    """Studies under paths, such as ``/pets``; a proxy passes addresses on as they are."""

    @contextlib.asynccontextmanager
    async def while_served(_app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for app in studies.values():
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    async def add_slash(request: Request) -> Response:
        last, query = request.url.path.rpartition("/")[2], request.url.query
        return RedirectResponse(f"{last}/?{query}" if query else f"{last}/")

    routes: list[BaseRoute] = []
    for path, app in studies.items():
        routes += [Route(path, add_slash, methods=["GET"]), Mount(path, app)]
    whole = Starlette(routes=routes, lifespan=while_served)
    whole.router.redirect_slashes = False  # it would repeat whatever host a request names
    return whole


def dashboard(writer: Writer, admin_key: str, admins: Mapping[str, str] | None = None) -> Starlette:
    """The researcher's pages about what a writer stores."""
    live = Live(writer.database, writer.collection)
    return admin_app(writer, live, admin_key=admin_key, admins=admins)


def end_with_parent() -> None:
    """Stop this process when the one that started it dies, so that no worker keeps the port."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="elicit-parent", daemon=True).start()


def check_workers(workers: int, database: str | None) -> None:
    """Refuse several processes on one SQLite file: they would only wait for each other."""
    if workers > 1 and open_database(database or "sqlite:///").dialect == "sqlite":
        raise DataError(
            f"{workers} processes need PostgreSQL: give --database postgresql://…, or leave "
            "--workers out."
        )


def run_server(
    app: Starlette | str,
    *,
    host: str,
    port: int,
    workers: int = 1,
    proxy: str | None = None,
    per_address: int = PER_ADDRESS,
    request_seconds: float = REQUEST_SECONDS,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish what was begun (R9).

    ``app`` is the name of a factory where there are several processes. ``proxy`` is the address
    of a reverse proxy, whose word about the address of a browser is taken. A request must be there
    within ``request_seconds``; one address may hold ``per_address`` connections.
    """
    uvicorn.run(
        app, host=host, port=port, factory=isinstance(app, str), workers=workers,
        **server_settings(proxy, per_address=per_address, request_seconds=request_seconds),
    )  # fmt: skip


def server_settings(
    proxy: str | None = None,
    *,
    per_address: int = PER_ADDRESS,
    request_seconds: float = REQUEST_SECONDS,
) -> dict[str, Any]:
    """How every server of ours is run, whatever it serves."""
    total = min(MOST_CONNECTIONS, max(raise_open_files() - FILES_KEPT, FILES_KEPT))
    bounds = Connections(
        total=total,
        per_address=min(per_address, max(total // 2, 1)),
        seconds=request_seconds,
        trusted=tuple(proxy.replace(" ", "").split(",")) if proxy else (),
    )
    return {
        "http": bounded_protocol(bounds),
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": STOP_SECONDS,
        "access_log": False,  # addresses hold the ids of people (S13)
        "log_level": "error",  # its warnings are about what strangers send
        "server_header": False,
        "proxy_headers": proxy is not None,
        "forwarded_allow_ips": proxy,
        "ws": "none",
        "lifespan": "on",
    }
