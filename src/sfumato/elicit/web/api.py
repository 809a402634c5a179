"""What each address of the server does: read, hand to the writer, answer.

Pictures are found by their opaque ids: no text of a request ever becomes part of a path (S6). The
words of the page are one file per language, with English for whatever it leaves out.
"""

import asyncio
import hmac
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from sfumato.elicit.design.places import LOGO
from sfumato.elicit.refusals import CollectionClosed, Forbidden, Unavailable, UnknownToken
from sfumato.elicit.session import commands
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.screen import (
    AnswerGiven,
    BackGiven,
    ClosedScreen,
    ProceedGiven,
    Screen,
    TrialScreen,
)
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import DATABASE_ERRORS, Connection, prepare
from sfumato.elicit.storage.schema import get_meta, set_meta
from sfumato.elicit.web.bodies import (
    EnterGiven,
    EnterReply,
    as_json,
    model_reply,
    read_model,
    token_of,
)
from sfumato.elicit.web.metrics import Metrics, stored_gauges
from sfumato.elicit.web.platforms import arrival_of, check_signature, message_in, take_message
from sfumato.elicit.web.security import Buckets, Throttle, address_key
from sfumato.errors import DataError

Words = dict[str, str]
ENGLISH = "en"
KINDS = {
    ".png": "image/png", ".jpg": "image/jpeg", ".mp3": "audio/mpeg", ".wav": "audio/wav",
    ".ogg": "audio/ogg", ".m4a": "audio/mp4", ".mp4": "video/mp4", ".webm": "video/webm",
}  # fmt: skip
FOREVER = "public, max-age=31536000, immutable"

_IMAGES = prepare(sa.select(store.image.c.id, store.image.c.file))
PULSE_SECONDS = 1.0
SLOWER = "That was very fast; please wait a moment."


@dataclass(frozen=True)
class Service:
    """What the addresses share."""

    writer: Writer
    throttle: Throttle
    page: str
    """The HTML, which is the same for everybody."""
    folder: Path
    """Of the images."""
    files: Mapping[str, str]
    """Of the images, by id."""
    words: Mapping[str, Words]
    """The words of the page by language."""
    webhook_secret: str | None
    metrics_key: str | None
    pulse: "Pulse"
    metrics: Metrics = field(default_factory=Metrics)
    board: "Board" = field(default_factory=lambda: Board())

    @property
    def collection(self) -> Collection:
        """The study that is served."""
        return self.writer.collection


async def give_page(service: Service, request: Request) -> Response:
    """The one page; what it shows it asks for itself."""
    return HTMLResponse(service.page)


async def give_texts(service: Service, request: Request) -> Response:
    """The words of the page in one language, or in the nearest there is."""
    return as_json(words_for(service.words, request.path_params["language"]))


async def give_consent(service: Service, request: Request) -> Response:
    """What a person agrees to; empty where nobody is asked."""
    collection = service.collection
    text = collection.study.welcome.consent
    return as_json({"text": text, "version": collection.consent_version})


async def give_instructions(service: Service, request: Request) -> Response:
    """What people read before the first trial, to be read again."""
    return as_json({"text": service.collection.study.welcome.instructions})


async def give_look(service: Service, request: Request) -> Response:
    """The colours of the study; a style sheet, because the page allows no style in its HTML."""
    accent = service.collection.study.page.accent
    return Response(f":root {{ --own: {accent}; }}\n", media_type="text/css")


async def give_logo(service: Service, request: Request) -> Response:
    """The picture beside the title."""
    if not service.collection.study.page.logo:
        raise HTTPException(404)
    return await image_reply(service.folder.parent, {LOGO: LOGO}, LOGO)


async def let_in(service: Service, request: Request) -> Response:
    """Begin or resume a session."""
    host = request.client.host if request.client is not None else ""
    sentence = "Many people enter from your address; please wait a minute."
    await service.throttle.take(service.throttle.entries, address_key(host), sentence)
    given = await read_model(request, EnterGiven)
    if service.board.halted:
        raise CollectionClosed("This study is paused.", reason="halted")
    study = service.collection.study
    arrival = arrival_of(service.collection, given.parameters)
    entered = await service.writer.run(
        commands.enter,
        platform=arrival.platform,
        platform_id=arrival.platform_id,
        platform_session=arrival.platform_session,
        study_id=arrival.study_id,
        consent_version=given.consent_version,
        language=given.language or study.language,
        address=address_key(host) or None,
    )
    service.throttle.remember(entered.token)
    return model_reply(EnterReply(token=entered.token, resumed=entered.resumed))


async def give_screen(service: Service, request: Request) -> Response:
    """What to show now."""
    token = await _known_token(service, request, service.throttle.calls)
    return screen_reply(service, await _ask(service, commands.screen, token))


async def take_answer(service: Service, request: Request) -> Response:
    """Store an answer and give the next screen: the call that everything is built around."""
    token = await _known_token(service, request, service.throttle.answers)
    given = await read_model(request, AnswerGiven)
    return screen_reply(service, await _ask(service, commands.answer, token, given=given))


async def leave_stage(service: Service, request: Request) -> Response:
    """Leave a stage before or after the trials."""
    token = await _known_token(service, request, service.throttle.calls)
    given = await read_model(request, ProceedGiven)
    return screen_reply(service, await _ask(service, commands.leave_stage, token, given=given))


async def go_back(service: Service, request: Request) -> Response:
    """Show the trial before this one again."""
    token = await _known_token(service, request, service.throttle.calls)
    given = await read_model(request, BackGiven)
    return screen_reply(service, await _ask(service, commands.back, token, given=given))


def screen_reply(service: Service, shown: Screen) -> Response:
    """A screen, with what everybody is told; no trial while the study is paused."""
    board = service.board
    if board.halted and isinstance(shown, TrialScreen):
        shown = ClosedScreen(reason="halted")
    reply = model_reply(shown)
    if board.message:
        reply.headers["X-Message"] = quote(board.message)
    return reply


async def _known_token(service: Service, request: Request, rate: Buckets) -> str:
    """The token of a request within its rate, and within that of strangers of its address."""
    token = token_of(request)
    if token not in service.throttle.known:
        host = request.client.host if request.client is not None else ""
        await service.throttle.take(service.throttle.strangers, address_key(host), SLOWER)
    rate.take(token, SLOWER)
    return token


async def _ask(
    service: Service, command: Callable[..., Screen], token: str, **request: Any
) -> Screen:
    """The screen that a command of a session ends with; its token is known from then on."""
    try:
        shown = await service.writer.run(command, token=token, **request)
    except UnknownToken:
        service.throttle.known.pop(token, None)
        raise
    service.throttle.remember(token)
    return shown


async def give_image(service: Service, request: Request) -> Response:
    """A picture by its opaque id."""
    reply = await image_reply(service.folder, service.files, request.path_params["image"])
    return part_of(reply, request.headers.get("range", ""))


async def take_webhook(service: Service, request: Request) -> Response:
    """A message of Prolific (S18)."""
    if service.webhook_secret is None:
        raise HTTPException(404)
    body = await request.body()
    signature = request.headers.get("x-prolific-request-signature", "")
    check_signature(
        service.webhook_secret,
        timestamp=request.headers.get("x-prolific-request-timestamp", ""),
        signature=signature,
        body=body,
        now=service.writer.clock(),
    )
    event_id = request.headers.get("x-event-id") or signature
    if len(event_id) > 200 or not event_id.isprintable():
        raise Forbidden("The id of the event is too long.")
    ended = await service.writer.run(take_message, event_id=event_id, message=message_in(body))
    return as_json({"ended": ended})


async def give_health(service: Service, request: Request) -> Response:
    """Whether an answer could be stored now; 503 where not.

    All who ask within a second share what was found: a flood of questions writes no more.
    """
    return as_json({"status": "ok", "seconds": await service.pulse.feel(service.writer)})


async def give_life(service: Service, request: Request) -> Response:
    """Whether the process works at all; the database is left alone."""
    if not service.writer.is_alive:
        raise Unavailable("The server is stopping.")
    return as_json({"status": "ok"})


async def give_metrics(service: Service, request: Request) -> Response:
    """Figures for Prometheus, for whoever has their key; 404 where there is none."""
    if service.metrics_key is None:
        raise HTTPException(404)
    given = request.headers.get("authorization", "").encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(given, f"Bearer {service.metrics_key}".encode()):
        raise UnknownToken("The figures need their key, as a bearer token.")
    writer, own = service.writer, f'worker="{os.getpid()}"'
    gauges = {
        "sfumato_waiting_commands": {own: float(writer.waiting)},
        "sfumato_storing": {own: float(not writer.is_out)},
    }
    try:
        gauges |= await run_in_threadpool(_stored_gauges, service)
    except (Unavailable, *DATABASE_ERRORS):
        gauges["sfumato_storing"] = {own: 0.0}
    text = service.metrics.text(worker=os.getpid(), gauges=gauges)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _stored_gauges(service: Service) -> dict[str, dict[str, float]]:
    with service.writer.database.reader() as connection:
        return stored_gauges(connection)


class Board:
    """What the researcher tells everybody who answers; read from the database now and then."""

    def __init__(self) -> None:
        self.message = ""
        self.halted = False

    def read(self, connection: Connection) -> None:
        """Take in what the database says."""
        self.message = get_meta(connection, "message") or ""
        self.halted = bool(get_meta(connection, "halted"))


class Pulse:
    """The last try to write, shared for a second."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tried: asyncio.Task[float] | None = None
        self._at = 0.0

    async def feel(self, writer: Writer) -> float:
        """How long a write took; raises what it raised."""
        now = self._clock()
        tried = self._tried
        if tried is None or (tried.done() and now - self._at >= PULSE_SECONDS):
            self._at = now
            tried = self._tried = asyncio.create_task(_time_write(writer))
        return await asyncio.shield(tried)


async def _time_write(writer: Writer) -> float:
    begun = time.perf_counter()
    await writer.run(_touch)
    return round(time.perf_counter() - begun, 4)


def _touch(
    connection: Connection, collection: Collection, *, now: float, rng: np.random.Generator
) -> None:
    """Write something that nobody reads: only so is a full disk noticed."""
    set_meta(connection, "health", "")


def read_words(folder: Path) -> dict[str, Words]:
    """The words in all files ``LANGUAGE.json`` of a folder."""
    return {path.stem: _read_file(path) for path in sorted(folder.glob("*.json"))}


def words_for(known: Mapping[str, Words], language: str) -> Words:
    """The words in a language, or in the nearest that is known.

    >>> words_for({"en": {"next": "Next", "back": "Back"}, "de": {"next": "Weiter"}}, "de-AT")
    {'next': 'Weiter', 'back': 'Back'}
    """
    plain = language.partition("-")[0]
    return {**known.get(ENGLISH, {}), **known.get(plain, {}), **known.get(language, {})}


def _read_file(path: Path) -> Words:
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path.name} is not JSON: {error}.") from None
    if not isinstance(words, dict) or not all(isinstance(text, str) for text in words.values()):
        raise DataError(f"{path.name} must give one text for each name.")
    return words


def image_files(connection: Connection) -> dict[str, str]:
    """The file of each picture by its id."""
    files = {row.id: row.file for row in connection.all(_IMAGES)}
    for name in files.values():
        if Path(name).name != name or Path(name).suffix not in KINDS:
            raise DataError(
                f"The database names the picture {name!r}; a picture is a .png or .jpg file in the "
                "folder of images."
            )
    return files


async def image_reply(folder: Path, files: Mapping[str, str], image: str) -> Response:
    """The picture, which never changes under its id."""
    file = files.get(image)
    if file is None:
        raise HTTPException(404)
    try:
        content = await run_in_threadpool(_read, folder / file)
    except OSError:
        raise HTTPException(404) from None
    kind = KINDS[Path(file).suffix]
    return Response(content, media_type=kind, headers={"Cache-Control": FOREVER})


def part_of(reply: Response, wanted: str) -> Response:
    """The part of a recording that a player asks for; the whole where it asks for none.

    >>> part = part_of(Response(b"0123456789"), "bytes=2-4")
    >>> part.status_code, part.body, part.headers["content-range"]
    (206, b'234', 'bytes 2-4/10')
    """
    content = bytes(reply.body)
    found = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted)
    if reply.status_code != 200 or found is None or int(found[1]) >= len(content):
        return reply
    first, last = int(found[1]), min(int(found[2] or len(content) - 1), len(content) - 1)
    where = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
    kind = reply.media_type
    return Response(content[first : last + 1], 206, headers=where, media_type=kind)


def _read(path: Path) -> bytes:
    # A link could lead out of the folder.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read()
