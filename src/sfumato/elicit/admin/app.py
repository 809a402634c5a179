"""The dashboard as an application of its own, to be mounted under ``/admin``.

Pages work without scripts; with them they bring themselves up to date when something changed.
Whatever people typed stands in them as text (S5).
"""

import atexit
import contextlib
import datetime
import json
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import anyio
import jinja2
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from sfumato.elicit.admin import acts, login
from sfumato.elicit.admin.login import admin_key_matches, form_token
from sfumato.elicit.export import DOWNLOADS, download_labels, download_rows, export
from sfumato.elicit.live.detail import item_detail, over_time, pairs_of_people, person_detail
from sfumato.elicit.live.live import LATEST_AUDIT, REPLIES, Live
from sfumato.elicit.live.views import (
    ITEM_SORTS,
    ITEM_STATES,
    PERSON_SORTS,
    PERSON_STATES,
    items_page,
    overview,
    people_page,
)
from sfumato.elicit.live.whatif import preview_rules
from sfumato.elicit.pay import pay_list, pay_table
from sfumato.elicit.preview import preview_app
from sfumato.elicit.refusals import Forbidden, Refusal, TooMany, Unavailable, UnknownToken
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage.database import DATABASE_ERRORS
from sfumato.elicit.storage.schema import get_meta
from sfumato.errors import DataError, SfumatoError

EVENT_SECONDS = 2.0
"""The page hears of changes at most this often."""
STEP_SECONDS = 0.25
"""How soon an open connection notices that the server stops."""
QUIET_SECONDS = 15.0
"""After so long without news a comment is sent, so that no proxy gives the connection up."""
LOG_LINES = 300
WORDS = 200
MOST_AT_ONCE = 2_000
"""People whom one form can name; their ids must fit into the longest body that is taken."""
MOST_FIELDS = 20
EXPORTS = ("csv", "jsonl", "parquet")
"""Endings of the files that the dashboard hands out."""
HEADERS = {
    # Not "no-referrer" as elsewhere: with it, browsers send forms with the origin "null".
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Office:
    """What the pages need."""

    writer: Writer
    live: Live
    door: login.Door
    stopping: Callable[[], bool]
    event_seconds: float
    previews: dict[str, Any] = field(default_factory=dict)
    """The study to look at, once somebody did."""


def admin_app(
    writer: Writer,
    live: Live,
    *,
    admin_key: str = "",
    admins: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.time,
    stopping: Callable[[], bool] | None = None,
    event_seconds: float = EVENT_SECONDS,
) -> Starlette:
    """The dashboard of a collection.

    ``admin_key`` is the key or its argon2id hash, ``admins`` those of admins with names; there is
    no default.
    """
    if not admin_key and not admins:
        raise DataError("The dashboard needs an admin key; there is none by default.")
    door = login.Door(admin_key, writer.collection.key, clock, named=admins or {})
    office = Office(writer, live, door, stopping or server_is_stopping, event_seconds)
    pages: dict[str, Callable[[Office, Request, str], Awaitable[Response]]] = {
        "/": _overview,
        "/items": _items,
        "/item/{number:int}": _item,
        "/person/{number:int}": _person,
        "/pairs": _pairs_of_people,
        "/download/{what}.csv": _download,
        "/people": _people,
        "/rules": _rules,
        "/words": _words,
        "/log": _log,
        "/data.json": _data,
        "/events": _events,
        "/export.{format}": _export,
    }
    return Starlette(
        routes=[
            *(
                Route(path, partial(_for_researcher, office, give), methods=["GET"])
                for path, give in pages.items()
            ),
            Route("/login", partial(_log_in, office), methods=["POST"]),
            Route("/logout", partial(_with_form, office, _log_out), methods=["POST"]),
            Route("/act", partial(_with_form, office, _act), methods=["POST"]),
            Route("/pay", partial(_with_form, office, _pay), methods=["POST"]),
            Mount("/preview", partial(_preview, office)),
        ],
        exception_handlers={
            SfumatoError: partial(_refusal, office),
            HTTPException: partial(_refusal, office),
        },
    )


def server_is_stopping() -> bool:
    """Whether uvicorn was told to stop; it waits for open connections and tells them nothing."""
    handler = signal.getsignal(signal.SIGTERM)
    server = getattr(handler, "__self__", None)
    return isinstance(server, uvicorn.Server) and server.should_exit


async def _for_researcher(
    office: Office, give: Callable[[Office, Request, str], Awaitable[Response]], request: Request
) -> Response:
    """The page for whoever has the key, the form to log in for others."""
    try:
        session = await _session(office, request)
        if session is not None:
            return await give(office, request, session)
    except DATABASE_ERRORS:
        raise Unavailable("The database cannot be read just now; load the page again.") from None
    if request.url.path.endswith((".json", "/events")) or "/export." in request.url.path:
        raise UnknownToken("Log in first.")
    return _login_page(office, request, status=401)


async def _session(office: Office, request: Request) -> str | None:
    """The session of a researcher who has not logged out."""
    session = login.session_in(office.door, request)
    if session is None or await run_in_threadpool(_is_logged_out, office, session):
        return None
    return session


def _is_logged_out(office: Office, session: str) -> bool:
    with office.live.database.reader() as connection:
        return login.is_logged_out(connection, session)


async def _with_form(
    office: Office,
    act: Callable[[Office, Request, str, Mapping[str, str]], Awaitable[Response]],
    request: Request,
) -> Response:
    """Do something only for a form that this session was given (S9)."""
    session = await _session(office, request)
    if session is None:
        raise UnknownToken("Log in first.")
    form = await _form(request)
    login.check_form(office.door, session, form.get("form", ""))
    return await act(office, request, session, form)


async def _log_in(office: Office, request: Request) -> Response:
    office.door.count_try(request)
    form = await _form(request)
    name, typed = form.get("name", "") if office.door.named else "", form.get("key", "")
    key = office.door.key_of(name)
    # In a thread: argon2id is slow on purpose, and people are answering meanwhile.
    if not key or not await run_in_threadpool(admin_key_matches, key, typed):
        await _note(office, "nobody", "login refused")
        return _login_page(office, request, status=403)
    reply = _redirect(request, "")
    await _note(office, login.give_cookie(office.door, request, reply, name=name), "login")
    return reply


def _login_page(office: Office, request: Request, *, status: int) -> Response:
    named, wrong = bool(office.door.named), status == 403
    return _html(request, "login", status=status, title="Log in", named=named, wrong=wrong)


async def _log_out(
    office: Office, request: Request, session: str, form: Mapping[str, str]
) -> Response:
    reply = _redirect(request, "")
    login.take_cookie(office.door, request, reply)
    await _note(office, login.name_of(session), "logout")
    return reply


async def _act(office: Office, request: Request, session: str, form: Mapping[str, str]) -> Response:
    sentence = await acts.perform(office.writer, office.live, form, who=login.name_of(session))
    with contextlib.suppress(Unavailable, *DATABASE_ERRORS):  # it is done, even if not shown yet
        await run_in_threadpool(office.live.refresh)
    return await _page(
        office, request, session, "message", title="Done", sentence=sentence,
        back=acts.ACTS[form["act"]].back,
    )  # fmt: skip


async def _overview(office: Office, request: Request, session: str) -> Response:
    data = await _fresh(office, overview)
    told = await run_in_threadpool(_told, office)
    series = await run_in_threadpool(over_time, office.live)
    return await _page(
        office, request, session, "overview", title="Overview", data=data, told_all=told,
        exports=EXPORTS, series=series, downloads=DOWNLOADS,
    )  # fmt: skip


async def _items(office: Office, request: Request, session: str) -> Response:
    name = request.query_params.get("sort", "change")
    view = partial(items_page, sort=name, page=_page_number(request), **_filters(request))
    data = await _fresh(office, view)
    return await _page(
        office, request, session, "items", title="Items", data=data, sorts=ITEM_SORTS,
        states=ITEM_STATES, threshold=office.live.threshold,
    )  # fmt: skip


async def _item(office: Office, request: Request, session: str) -> Response:
    data = await _fresh(office, partial(item_detail, stimulus=request.path_params["number"]))
    return await _page(office, request, session, "item", title="Item", data=data)


async def _person(office: Office, request: Request, session: str) -> Response:
    number = request.path_params["number"]
    data = await _fresh(office, partial(person_detail, participant=number))
    return await _page(office, request, session, "person", title=f"Person {number}", data=data)


async def _pairs_of_people(office: Office, request: Request, session: str) -> Response:
    pairs = await _fresh(office, pairs_of_people)
    rows = pairs.to_dicts()
    return await _page(office, request, session, "pairs", title="Pairs", pairs=rows)


def _filters(request: Request) -> dict[str, Any]:
    asked = request.query_params
    return {"state": asked.get("state", "all"), "search": asked.get("search", "")[:100]}


async def _people(office: Office, request: Request, session: str) -> Response:
    name = request.query_params.get("sort", "latest")
    view = partial(people_page, sort=name, page=_page_number(request), **_filters(request))
    data = await _fresh(office, view)
    return await _page(
        office, request, session, "people", title="People", data=data, sorts=PERSON_SORTS,
        states=PERSON_STATES,
    )  # fmt: skip


async def _rules(office: Office, request: Request, session: str) -> Response:
    previews = await _fresh(office, preview_rules)
    excluded = (await run_in_threadpool(overview, office.live))["people"]["excluded_by"]
    return await _page(
        office, request, session, "rules", title="Rules", previews=previews, excluded=excluded,
        most=MOST_AT_ONCE,
    )  # fmt: skip


async def _words(office: Office, request: Request, session: str) -> Response:
    rows = await run_in_threadpool(_read, office, REPLIES, WORDS)
    questions = office.live.collection.study.welcome.debrief
    replies = [(row.at, row.pseudonym, _pairs(questions, row.data)) for row in rows]
    return await _page(office, request, session, "words", title="Words", replies=replies)


async def _log(office: Office, request: Request, session: str) -> Response:
    rows = await run_in_threadpool(_read, office, LATEST_AUDIT, LOG_LINES)
    return await _page(office, request, session, "log", title="Log", rows=rows)


async def _data(office: Office, request: Request, session: str) -> Response:
    """The overview as JSON; with ``?items=all`` also the label of every item."""
    data = await _fresh(office, overview)
    if request.query_params.get("items") == "all":
        data["items"] = await run_in_threadpool(items_page, office.live, sort="item", size=None)
    body = await run_in_threadpool(as_json, data)
    return Response(body, media_type="application/json", headers=HEADERS)


async def _events(office: Office, request: Request, session: str) -> Response:
    stream = _news(office, request)
    headers = {**HEADERS, "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _news(office: Office, request: Request) -> AsyncIterator[str]:
    """One event a change, at most every two seconds, until the browser or the server goes."""
    seen, spoken = -1, time.monotonic()
    yield "retry: 3000\n\n"
    while login.session_in(office.door, request) is not None:
        try:
            if await _session(office, request) is None:
                return
            version = await run_in_threadpool(
                office.live.refresh, at_most_every=office.event_seconds / 2
            )
        except (Unavailable, *DATABASE_ERRORS):
            version = seen  # the next round will do
        if version != seen:
            seen, spoken = version, time.monotonic()
            yield f"event: changed\ndata: {version}\n\n"
        elif time.monotonic() - spoken > QUIET_SECONDS:
            spoken = time.monotonic()
            yield ": nothing new\n\n"
        until = time.monotonic() + office.event_seconds
        while time.monotonic() < until:
            if office.stopping() or await request.is_disconnected():
                return
            await anyio.sleep(STEP_SECONDS)


async def _export(office: Office, request: Request, session: str) -> Response:
    name = request.path_params["format"]
    if name not in EXPORTS:
        raise HTTPException(404)
    folder = tempfile.TemporaryDirectory(prefix="sfumato-export-")
    path = Path(folder.name) / f"{office.live.collection.study.name}.{name}"
    try:
        await run_in_threadpool(_write_export, office, path)
    except BaseException:
        folder.cleanup()
        raise
    await _note(office, login.name_of(session), "export", {"format": name})
    cleanup = BackgroundTask(folder.cleanup)
    return FileResponse(path, filename=path.name, headers=HEADERS, background=cleanup)


def _write_export(office: Office, path: Path) -> None:
    with office.writer.database.reader() as connection:
        export(connection, office.writer.collection.study, path)


async def _download(office: Office, request: Request, session: str) -> Response:
    """A table as CSV: labels, words, flags or events, under pseudonyms."""
    what = request.path_params["what"]
    if what not in DOWNLOADS:
        raise HTTPException(404)
    text = await _fresh(office, partial(_table, office, what))
    await _note(office, login.name_of(session), "download", {"what": what})
    return _file(office, what, text)


def _table(office: Office, what: str, live: Live) -> str:
    if what == "labels":
        return download_labels(live)
    with live.database.reader() as connection:
        return download_rows(connection, what)


def _file(office: Office, what: str, text: str) -> Response:
    name = f"{office.live.collection.study.name}-{what}.csv"
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


async def _pay(office: Office, request: Request, session: str, form: Mapping[str, str]) -> Response:
    """The list with platform ids, for who types the key again."""
    office.door.count_try(request)
    key = office.door.key_of(login.admin_in(session))
    if not await run_in_threadpool(admin_key_matches, key, form.get("key", "")):
        raise Forbidden("The pay list holds platform ids: type the key of the dashboard again.")
    text = await run_in_threadpool(_pay_text, office)
    await _note(office, login.name_of(session), "pay list")
    return _file(office, "pay", text)


def _pay_text(office: Office) -> str:
    with office.live.database.reader() as connection:
        return pay_table(pay_list(office.live, connection))


async def _preview(office: Office, scope: Scope, receive: Receive, send: Send) -> None:
    """The study as people see it, over a copy that is thrown away; for researchers only."""
    request = Request(scope, receive)
    folder = office.writer.collection.folder
    if folder is None or await _session(office, request) is None:
        raise HTTPException(404 if folder is None else 401)
    if "app" not in office.previews:
        stack = contextlib.ExitStack()
        app = await run_in_threadpool(
            stack.enter_context, preview_app(folder, office.writer.database)
        )
        atexit.register(stack.close)  # its folder goes with the server
        running = app.router.lifespan_context(app)  # kept: it would end with its last name
        await running.__aenter__()
        office.previews.update(app=app, running=running)
    await office.previews["app"](scope, receive, send)


async def _page(
    office: Office, request: Request, session: str, name: str, *, status: int = 200, **values: Any
) -> Response:
    token = form_token(office.door.secret(login.admin_in(session)), session)
    study = office.live.collection.study
    return _html(request, name, status=status, form=token, study=study, **values)


def _html(request: Request, name: str, *, status: int, **values: Any) -> Response:
    text = page(name, request, **values)
    return Response(text, status, media_type="text/html", headers=HEADERS)


def _refusal(office: Office, request: Request, error: Exception) -> Response:
    """A refusal as a page with one sentence, or as JSON where data were asked for."""
    sentence, status = str(error), 400
    headers = dict(HEADERS)
    match error:
        case TooMany():
            status = error.status
            headers["Retry-After"] = str(max(1, round(error.wait)))
        case Refusal():
            status = error.status
        case HTTPException():
            status, sentence = error.status_code, "There is nothing at this address."
    if request.url.path.endswith((".json", "/events")):
        body = as_json({"error": sentence})
        return Response(body, status, media_type="application/json", headers=headers)
    text = page("refusal", request, title="Not done", sentence=sentence)
    return Response(text, status, media_type="text/html", headers=headers)


def _redirect(request: Request, where: str) -> RedirectResponse:
    base = request.scope.get("root_path", "")
    return RedirectResponse(f"{base}/{where}", status_code=303, headers=HEADERS)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; of several with one name the last."""
    kind = request.headers.get("content-type", "")
    if not kind.startswith("application/x-www-form-urlencoded"):
        raise DataError("The form must be sent as application/x-www-form-urlencoded.")
    text = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise DataError(f"The form has more than {MOST_FIELDS} fields.") from None


async def _fresh(office: Office, view: Callable[[Live], Any]) -> Any:
    """What a view shows of the collection as it is now."""

    def look() -> Any:
        office.live.refresh(at_most_every=1.0)
        return view(office.live)

    return await run_in_threadpool(look)


async def _note(
    office: Office, who: str, what: str, about: Mapping[str, Any] | None = None
) -> None:
    await office.writer.run(acts.note, who=who, what=what, about=about or {})


def _told(office: Office) -> dict[str, Any]:
    """What everybody is told: that it is closed or paused, and a message."""
    with office.live.database.reader() as connection:
        return {
            "closed": get_meta(connection, "closed") is not None,
            "halted": bool(get_meta(connection, "halted")),
            "message": get_meta(connection, "message") or "",
        }


def _read(office: Office, statement: Any, most: int) -> list[Any]:
    with office.live.database.reader() as connection:
        return connection.all(statement, most=most)


def _pairs(questions: tuple[str, ...], data: str) -> list[tuple[str, str]]:
    """Each question with what was written; also where there are more answers than questions."""
    answers = json.loads(data)
    answers = answers if isinstance(answers, list) else [answers]
    names = [*questions, *("" for _ in answers)]
    return [(name, str(said)) for name, said in zip(names, answers, strict=False)]


def _page_number(request: Request) -> int:
    text = request.query_params.get("page", "1")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 1


TEMPLATES = Path(__file__).parent.parent / "templates"
CHART_WIDTH, CHART_HEIGHT = 320, 90


def page(name: str, request: Request, **values: Any) -> str:
    """The page of that name, such as "overview", with addresses below those of the study."""
    base = request.scope.get("root_path", "")
    home = base.removesuffix("/admin")
    return _ENVIRONMENT.get_template(f"admin_{name}.html.j2").render(base=base, home=home, **values)


def as_json(value: Any) -> str:
    """Plain data as JSON that is harmless also where a browser takes it for a page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _decimal(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _moment(seconds: float) -> str:
    at = datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _leading(item: dict[str, Any], outcomes: list[str]) -> list[dict[str, Any]]:
    """The three outcomes with most mass, largest first."""
    places = [place for place, value in enumerate(item["probs"]) if value is not None]
    places.sort(key=lambda place: -item["probs"][place])
    return [
        {
            "name": outcomes[place],
            "prob": item["probs"][place],
            "low": item["low"][place],
            "high": item["high"][place],
        }
        for place in places[:3]
    ]


def _leading_of(answer: dict[str, Any], outcomes: list[str]) -> list[dict[str, Any]]:
    """The same of one person's answer, without what has no mass."""
    pairs = sorted(zip(answer["probs"], outcomes, strict=True), key=lambda pair: -pair[0])
    return [{"name": name, "prob": prob} for prob, name in pairs[:3] if prob > 0]


def _bars(bins: list[dict[str, Any]]) -> list[dict[str, float]]:
    """The rectangles of a histogram over time."""
    top = max((one["answers"] for one in bins), default=0) or 1
    width = CHART_WIDTH / max(len(bins), 1)
    return [
        {"x": at * width, "width": width * 0.9, "height": CHART_HEIGHT * one["answers"] / top}
        for at, one in enumerate(bins)
    ]


def _curve(points: list[dict[str, Any]]) -> str:
    """The points of an SVG line through medians by trial number."""
    top = max((point["median"] for point in points), default=0) or 1
    last = max((point["number"] for point in points), default=1)
    return " ".join(
        f"{CHART_WIDTH * (point['number'] - 1) / max(last - 1, 1):.1f},"
        f"{CHART_HEIGHT * (1 - point['median'] / top):.1f}"
        for point in points
    )


_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "percent": _percent,
    "decimal": _decimal,
    "moment": _moment,
    "leading": _leading,
    "leading_of": _leading_of,
    "bars": _bars,
    "curve": _curve,
}
