"""Make the application that serves one study."""

import asyncio
import contextlib
import gc
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.elicit.design.places import IMAGES
from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.refusals import Refusal, Unavailable
from sfumato.elicit.session import commands
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage.database import DATABASE_ERRORS
from sfumato.elicit.web import api
from sfumato.elicit.web.api import Words, image_files, read_words, words_for
from sfumato.elicit.web.bodies import http_reply, reply_to_refusal
from sfumato.elicit.web.security import Limits, guard, headers_for, make_throttle, path_in_study

ROOM = Path(__file__).parent.parent
TEMPLATES, STATIC = ROOM / "templates", ROOM / "static"
TEXTS = STATIC / "texts"
ANSWER = "/api/answer"
RIGHT_TO_LEFT = {"ar", "fa", "he", "ur"}
"""Languages that are written so."""
EXPIRE_SECONDS = 30
"""How often places that nobody used are given back."""
BOARD_SECONDS = 3
"""How soon everybody sees a message, or that the study is paused."""
SWITCH_SECONDS = 0.001
"""How long the writer, which gives up Python's lock at every statement, may have to wait for it
while requests are read; Python's own 5 ms would hold up an answer a dozen times."""
YOUNG_OBJECTS = 20_000
"""After how many new objects Python looks for cycles among them; its own 700 are those of a few
requests, which would all be looked at before they are done."""


def make_app(
    folder: Path,
    *,
    writer: Writer,
    admin: ASGIApp | None = None,
    webhook_secret: str | None = None,
    metrics_key: str | None = None,
    limits: Limits | None = None,
    clock: Callable[[], float] = time.monotonic,
    preview: bool = False,
) -> Starlette:
    """The application for the study in ``folder``; its lifespan starts and stops the writer.

    ``admin`` is the researcher's own application under ``/admin``. ``webhook_secret`` is what
    Prolific signs its messages with, ``metrics_key`` what ``/metrics`` asks for. ``clock`` is only
    for the rates in ``limits``. A ``preview`` is marked as such on every screen.
    """
    with writer.database.reader() as connection:
        files = image_files(connection)
    words = read_words(TEXTS)
    service = api.Service(
        writer=writer,
        throttle=make_throttle(limits or Limits(), clock=clock),
        page=_page(writer.collection.study, words, preview=preview),
        folder=folder / IMAGES,
        files=files,
        words=words,
        webhook_secret=webhook_secret,
        metrics_key=metrics_key,
        pulse=api.Pulse(clock),
    )
    collection = writer.collection
    headers = headers_for(collection.study.recruiting.platform)
    app = Starlette(
        routes=_routes(service, admin),
        middleware=[
            Middleware(
                guard,
                headers=headers,
                metrics=service.metrics,
                answer_bytes=collection.answer_bytes,
            ),
            Middleware(_straight_to, path=ANSWER, act=partial(api.take_answer, service)),
        ],
        exception_handlers={Refusal: reply_to_refusal, HTTPException: http_reply},
        lifespan=partial(_while_served, writer, service.board),
    )
    app.router.redirect_slashes = False  # it would repeat whatever host a request names
    return app


def _routes(service: api.Service, admin: ASGIApp | None) -> list[BaseRoute]:
    gets = {
        "/image/{image}": api.give_image,
        "/api/screen": api.give_screen,
        "/": api.give_page,
        "/texts/{language}.json": api.give_texts,
        "/consent": api.give_consent,
        "/instructions": api.give_instructions,
        "/look.css": api.give_look,
        "/logo.png": api.give_logo,
        "/health": api.give_health,
        "/healthz": api.give_life,
        "/metrics": api.give_metrics,
    }
    posts = {
        ANSWER: api.take_answer,
        "/api/enter": api.let_in,
        "/api/proceed": api.leave_stage,
        "/api/back": api.go_back,
        "/webhook/prolific": api.take_webhook,
    }
    routes: list[BaseRoute] = [
        *(Route(path, partial(act, service), methods=["POST"]) for path, act in posts.items()),
        *(Route(path, partial(give, service), methods=["GET"]) for path, give in gets.items()),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    if admin is not None:
        routes += [Route("/admin", _to_dashboard, methods=["GET"]), Mount("/admin", admin)]
    return routes


async def _to_dashboard(_request: Request) -> Response:
    return RedirectResponse("admin/")  # relative: whatever path leads here


def _straight_to(
    app: ASGIApp, *, path: str, act: Callable[[Request], Awaitable[Response]]
) -> ASGIApp:
    """The application, with a way past routing for posts to one path.

    Nearly all requests are answers, and routing is a third of what one costs before it is stored.
    What is refused goes on to the guard.
    """

    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or path_in_study(scope) != path:
            await app(scope, receive, send)
            return
        response = await act(Request(scope, receive, send))
        await response(scope, receive, send)

    return called


def _page(study: ElicitStudy, words: Mapping[str, Words], *, preview: bool) -> str:
    """The HTML of the page, with the modules that it will need named for the browser."""
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True)
    modules = [path.stem for path in sorted(STATIC.glob("*.js")) if path.stem != "main"]
    if (STATIC / "forms" / f"{study.form}.js").is_file():
        modules.append(f"forms/{study.form}")
    return templates.get_template("page.html.j2").render(
        study=study,
        words=words_for(words, study.language),
        scripts=modules,
        preview=preview,
        direction="rtl" if study.language.partition("-")[0] in RIGHT_TO_LEFT else "ltr",
    )


@contextlib.asynccontextmanager
async def _while_served(writer: Writer, board: api.Board, _app: Starlette) -> AsyncIterator[None]:
    usual_switch, usual_objects = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(YOUNG_OBJECTS, *usual_objects[1:])
    gc.freeze()  # what is there now stays: modules, settings, names of images
    writer.start()
    tasks = [
        asyncio.create_task(task)
        for task in (_expire_for_ever(writer), _read_for_ever(writer, board))
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await run_in_threadpool(writer.stop)
        gc.unfreeze()
        gc.set_threshold(*usual_objects)
        sys.setswitchinterval(usual_switch)


async def _read_for_ever(writer: Writer, board: api.Board) -> None:
    def read() -> None:
        with (
            contextlib.suppress(Unavailable, *DATABASE_ERRORS),
            writer.database.reader() as connection,
        ):
            board.read(connection)

    while True:
        await run_in_threadpool(read)
        await asyncio.sleep(BOARD_SECONDS)


async def _expire_for_ever(writer: Writer) -> None:
    while True:
        await asyncio.sleep(EXPIRE_SECONDS)
        with contextlib.suppress(Unavailable):  # the next round will do
            await writer.run(commands.expire)
