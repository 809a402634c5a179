"""Serve an item table as a page on this machine, to whoever has the token; nothing is written.

The server of the elicitation lends its parts: headers and checks of every request, refusals,
sessions, settings of uvicorn. Browsers are let in by the token in the address, once; afterwards a
cookie stands for it, so that links to single views need not hold it.
"""

import io
import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import uvicorn
from PIL import Image
from starlette.applications import Starlette
from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.elicit.admin.login import Door, admin_key_matches, give_cookie, session_in
from sfumato.elicit.refusals import Forbidden, Refusal
from sfumato.elicit.serve import server_settings
from sfumato.elicit.web.app import STATIC as SHARED
from sfumato.elicit.web.bodies import as_json, http_reply, reply_to_refusal
from sfumato.elicit.web.security import guard, headers_for
from sfumato.errors import DataError, SfumatoError
from sfumato.evaluation.predictions import Kind
from sfumato.tabular import ShortRepr
from sfumato.viewing.sources import ViewSettings, open_table
from sfumato.viewing.table import SORTS, ItemTable, Query

STATIC = Path(__file__).parent / "static"
HOST = "127.0.0.1"
PORT = 8300
"""Where the page is, so that links stay the same from day to day; another where it is taken."""
OURS = (HOST, "localhost")
MOST_ROWS = 200
"""Rows that are given at a time."""
SIDES = {"small": 160, "large": 1024}
"""The longer side of a picture in the list and beside it, in pixels; smaller ones stay."""
KEPT_PICTURES = 2_000
MOST_PEOPLE = 300
"""Annotators whose names are offered; others can be typed."""
AN_HOUR = "private, max-age=3600"


@dataclass(frozen=True, eq=False)
class ViewPage:
    """What the addresses share."""

    table: ItemTable
    door: Door
    key: str = field(default_factory=lambda: secrets.token_hex(6))
    """Stands in the addresses of pictures: those of another day are others."""

    @cached_property
    def picture(self) -> Callable[[int, str], bytes | None]:
        """A picture as PNG, by row and size."""
        return lru_cache(KEPT_PICTURES)(self._picture)

    def _picture(self, row: int, size: str) -> bytes | None:
        read = self.table.viewed.pictures.get(self.table.items[row])
        return None if read is None else encode_picture(read(), SIDES[size])


def make_app(table: ItemTable, *, token: str, port: int) -> Starlette:
    """The page of a table, for whoever has the token."""
    cookie = f"sfumato_view_{port}"  # browsers do not tell the ports of a machine apart
    page = ViewPage(table, Door(token, secrets.token_bytes(32), cookie=cookie))
    gives: dict[str, Callable[[ViewPage, Request], Response]] = {
        "/": _give_page,
        "/about.json": _give_about,
        "/rows.json": _give_rows,
        "/item.json": _give_item,
        "/picture/{key}/{size}/{row:int}": _give_picture,
    }
    return Starlette(
        routes=[
            *(Route(path, partial(give, page), methods=["GET"]) for path, give in gives.items()),
            Mount("/static/view", StaticFiles(directory=STATIC)),
            Mount("/static", StaticFiles(directory=SHARED)),
        ],
        middleware=[
            Middleware(guard, headers=headers_for("link")),
            Middleware(_only_for_us, door=page.door),
        ],
        exception_handlers={
            Refusal: reply_to_refusal,
            SfumatoError: _reply_to_error,
            HTTPException: http_reply,
        },
    )


def _only_for_us(app: ASGIApp, *, door: Door) -> ASGIApp:
    """The application for browsers of this machine that once had the token."""

    async def call_checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            # A page of another site may have its name point to this machine.
            host = Headers(scope=scope).get("host", "").rpartition(":")[0]
            if host not in OURS:
                raise Forbidden("This page is only for browsers on the machine that serves it.")
            request = Request(scope, receive)
            typed = request.query_params.get("token")
            if typed is not None and admin_key_matches(door.admin_key, typed):
                await _let_in(door, request)(scope, receive, send)
                return
            shared = scope["path"].startswith("/static/")
            if not shared and (typed is not None or session_in(door, request) is None):
                raise Forbidden("Open the page by the address that was printed at its start.")
        await app(scope, receive, send)

    return call_checked


def _let_in(door: Door, request: Request) -> Response:
    """A cookie, and the same address without the token."""
    rest = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
    response = RedirectResponse(f"/?{urlencode(rest)}" if rest else "/", 303)
    give_cookie(door, request, response)
    return response


def _reply_to_error(_request: Request, error: Exception) -> Response:
    return as_json({"error": str(error), "faults": []}, status=422)


def _give_page(_page: ViewPage, _request: Request) -> Response:
    return FileResponse(STATIC / "view.html")


def _give_about(page: ViewPage, _request: Request) -> Response:
    table = page.table
    viewed = table.viewed
    return as_json(
        {
            "title": viewed.title,
            "items": len(table.items),
            "classes": list(table.classes),
            "sets": table.names,
            "simulated": viewed.simulated,
            "remarks": list(viewed.remarks),
            "sorts": {name: SORTS[name] for name in table.sorts},
            "strata": {name: int(mask.sum()) for name, mask in table.strata.items()},
            "splits": {name: int(mask.sum()) for name, mask in table.splits.items()},
            "people": table.people[:MOST_PEOPLE],
            "number of people": len(table.people),
            "answers": None if viewed.crowd is None else len(viewed.crowd),
            "pictures": bool(viewed.pictures),
            "texts": bool(viewed.texts),
            "key": page.key,
            "identity": table.identity,
        }
    )


def _give_rows(page: ViewPage, request: Request) -> Response:
    """A window of the list; with ``item`` also its place in the list, or null."""
    given = request.query_params
    table, query = page.table, read_query(given)
    order = table.order(query)
    start, count = _number(given, "start", 0), min(_number(given, "count", 50), MOST_ROWS)
    names = given.getlist("set") or table.names[:1]
    row = table.row_of.get(given.get("item", ""), -1)
    place = np.flatnonzero(order == row)
    return as_json(
        {
            "total": len(order),
            "start": start,
            "place": int(place[0]) if len(place) else None,
            "rows": table.shown_rows(order[start : start + count], query, names),
        }
    )


def _give_item(page: ViewPage, request: Request) -> Response:
    row = page.table.row_of.get(request.query_params.get("item", ""))
    if row is None:
        raise HTTPException(404)
    return as_json(page.table.shown_item(row))


def _give_picture(page: ViewPage, request: Request) -> Response:
    given = request.path_params
    if given["key"] != page.key or given["size"] not in SIDES:
        raise HTTPException(404)
    known = given["row"] < len(page.table.items)
    content = page.picture(given["row"], given["size"]) if known else None
    if content is None:
        raise HTTPException(404)
    return Response(content, media_type="image/png", headers={"Cache-Control": AN_HOUR})


def read_query(given: QueryParams) -> Query:
    """What an address asks for.

    >>> read_query(QueryParams("sort=entropy&up=1&top.people=cat")).tops
    (('people', 'cat'),)
    """
    return Query(
        sort=given.get("sort", "item"),
        down="up" not in given,
        first=given.get("first", ""),
        second=given.get("second", ""),
        tops=tuple(
            (name.removeprefix("top."), wanted)
            for name, wanted in given.multi_items()
            if name.startswith("top.")
        ),
        person=given.get("person", ""),
        stratum=given.get("stratum", ""),
        split=given.get("split", ""),
        text=given.get("q", "").strip(),
    )


def _number(given: QueryParams, name: str, otherwise: int) -> int:
    text = given.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else otherwise


def encode_picture(pixels: np.ndarray[Any, Any], side: int) -> bytes:
    """Pixels as PNG, made smaller where they are larger than ``side``.

    >>> encode_picture(np.zeros((4, 4, 1), np.uint8), 160)[1:4]
    b'PNG'
    """
    image = Image.fromarray(
        np.ascontiguousarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    )
    image.thumbnail((side, side))
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


# Running it.


class Viewer(ShortRepr):
    """A page that is being served until it is stopped."""

    def __init__(self, table: ItemTable, *, port: int | None = None) -> None:
        self.table = table
        listening = _listen(port)
        self.port: int = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        self.url = f"http://{HOST}:{self.port}/?token={token}"
        app = make_app(table, token=token, port=self.port)
        self._server = uvicorn.Server(uvicorn.Config(app, **server_settings()))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, daemon=True
        )
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise DataError("The page could not be served.")
            time.sleep(0.005)

    def wait(self) -> None:
        """Serve until Ctrl-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """End the page; its address leads nowhere afterwards."""
        self._server.should_exit = True
        self._thread.join()

    def _summary(self) -> str:
        return f"Viewer of {len(self.table.items):,} items at {self.url}"

    def _repr_html_(self) -> str:
        return f'<p><a href="{self.url}" target="_blank">{len(self.table.items):,} items</a></p>'


def _listen(port: int | None) -> socket.socket:
    """A socket on this machine alone; a port that was asked for must be free."""
    for tried in (PORT, 0) if port is None else (port,):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, tried))
        except OSError as error:
            listening.close()
            if tried == port:
                raise DataError(f"Port {port} cannot be used: {error.strerror}.") from None
        else:
            return listening
    raise AssertionError("a port of the system's choice is always free")


def view(
    labels: object,
    beliefs: Mapping[str, object] | None = None,
    items: object = None,
    *,
    text: object = None,
    kind: Kind = "probabilities",
    title: str = "",
    port: int | None = None,
    open: bool = False,
    **reading: Any,
) -> Viewer:
    """Serve a page to walk through items: people's and models' labels, answers, pictures, texts.

    ``labels`` are labels, answers, a file or table of either, a run or its folder, or the name of
    a dataset. ``beliefs`` are models' predictions by name. ``items`` are pictures: a folder, a zip
    archive, ``Items``, the name of a dataset (``NAME/PART``), or arrays by id. ``text`` is a column
    of the answers, a table with the items, or texts by id. Further options are those of ``read``.
    The page is on this machine only, at the ``url`` of what is returned, until its ``stop()``, or
    as long as Python runs; ``wait()`` serves until Ctrl-C. No file is changed.

    >>> page = view([{"item": 1, "cat": 0.5, "dog": 0.5}])
    >>> page.url.startswith("http://127.0.0.1:")
    True
    >>> page.stop()
    """
    settings = ViewSettings(beliefs or {}, kind, items, text, title, reading)
    viewer = Viewer(open_table(labels, settings), port=port)
    if open:
        webbrowser.open(viewer.url)
    return viewer
