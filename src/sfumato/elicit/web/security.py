"""What holds for every request and response: headers, sizes, rates, where posts come from.

Rates are counted in each process for itself (S11).
"""

import asyncio
import ipaddress
import logging
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.elicit.design.study import Platform
from sfumato.elicit.refusals import Forbidden, Refusal, TooMany
from sfumato.elicit.web.bodies import TooLarge, broken_reply, refusal_reply
from sfumato.elicit.web.metrics import Metrics
from sfumato.elicit.web.platforms import MTURK_HOSTS
from sfumato.errors import DataError

REMEMBERED = 100_000
"""Keys at most; forged tokens and addresses must not fill the memory."""
MOST_DELAYED = 500
"""Replies that are held back at a time; more would keep connections from others."""
ROUNDING = 1e-6
"""Seconds; a clock that counts from 1970 is no finer."""


@dataclass(frozen=True)
class Limits:
    """How much is let through."""

    answers_per_second: float = 5
    """One answer in 200 ms."""
    answer_burst: int = 5
    calls_per_second: float = 10
    """Of anything else that a session asks."""
    call_burst: int = 30
    entries_per_minute: int = 30
    """New or resumed sessions from one address."""
    strangers_per_second: float = 5
    """Tokens from one address that this process has not seen to be right: forged ones, or those of
    sessions that began before it started."""
    stranger_burst: int = 60
    refusal_delay: float = 0.0
    """Seconds before an address that is over its rate of strangers or entries is told so."""


class Buckets:
    """One bucket a key: it holds ``burst`` requests and is refilled at a steady rate."""

    def __init__(self, *, per_second: float, burst: int, clock: Callable[[], float]) -> None:
        self.per_second = per_second
        self.burst = burst
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def take(self, key: str, sentence: str) -> None:
        """Count one request, or raise ``TooMany``.

        Only the moment at which the bucket will be full again is kept.
        """
        now = self._clock()
        full_at = max(self._full_at.get(key, now), now)
        wait = (full_at - now) - (self.burst - 1) / self.per_second
        if wait > ROUNDING:
            raise TooMany(sentence, wait=wait)
        if key not in self._full_at and len(self._full_at) >= REMEMBERED:
            self._forget(now)
        self._full_at[key] = full_at + 1 / self.per_second

    def _forget(self, now: float) -> None:
        """Drop buckets that are full; where all are in use, the half that is fullest."""
        left = {key: at for key, at in self._full_at.items() if at > now}
        if len(left) >= REMEMBERED:
            emptiest = sorted(left, key=left.__getitem__, reverse=True)[: REMEMBERED // 2]
            left = {key: left[key] for key in emptiest}
        self._full_at = left


@dataclass(frozen=True)
class Throttle:
    """The buckets of a server."""

    answers: Buckets
    calls: Buckets
    entries: Buckets
    strangers: Buckets
    delay: float = 0.0
    """Seconds before somebody unknown hears that there are too many: a flood then waits for itself,
    and costs others nothing."""
    known: dict[str, None] = field(default_factory=dict)
    """Tokens that were right."""
    _delayed: set[object] = field(default_factory=set)

    async def take(self, buckets: Buckets, key: str, sentence: str) -> None:
        """Count a request of somebody unknown; where it is too many, say so only after a while."""
        try:
            buckets.take(key, sentence)
        except TooMany:
            if self.delay and len(self._delayed) < MOST_DELAYED:
                waiting = object()
                self._delayed.add(waiting)
                try:
                    await asyncio.sleep(self.delay)
                finally:
                    self._delayed.discard(waiting)
            raise

    def remember(self, token: str) -> None:
        """Let a token pass from now on; of very many, those seen first are forgotten."""
        if token not in self.known:
            if len(self.known) >= REMEMBERED:
                del self.known[next(iter(self.known))]
            self.known[token] = None


def make_throttle(limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> Throttle:
    """Empty counters for the given limits."""
    entries = limits.entries_per_minute
    return Throttle(
        answers=Buckets(
            per_second=limits.answers_per_second, burst=limits.answer_burst, clock=clock
        ),
        calls=Buckets(per_second=limits.calls_per_second, burst=limits.call_burst, clock=clock),
        entries=Buckets(per_second=entries / 60, burst=entries, clock=clock),
        strangers=Buckets(
            per_second=limits.strangers_per_second, burst=limits.stranger_burst, clock=clock
        ),
        delay=limits.refusal_delay,
    )


def address_key(host: str) -> str:
    """What counts as one address: with IPv6 a household has a whole network.

    >>> address_key("2001:db8:1:2:aaaa::1") == address_key("2001:db8:1:2:bbbb::2")
    True
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:64]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return host


BODY_BYTES = 16 * 1024
"""Of any request that carries no long answer."""
RECORD_BYTES = 14 * 1024
"""Of what a page sends beside an answer: times, events, key."""
STAY_WITH_TLS = (b"strict-transport-security", b"max-age=31536000")
SHORTEST_KEY = 16
_REVALIDATED = ("/static/", "/texts/")
_READS = ("GET", "HEAD", "OPTIONS")

_log = logging.getLogger("sfumato.elicit")

RawHeaders = Sequence[tuple[bytes, bytes]]


def headers_for(platform: Platform) -> RawHeaders:
    """The headers of every response (S5); only MTurk may show the page in a frame of its own."""
    amazon = " ".join(f"https://{host}" for host in MTURK_HOSTS)
    framed = platform == "mturk"
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' blob:",
        "media-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": f"'self' {amazon}" if framed else "'self'",
        "frame-ancestors": amazon if framed else "'none'",
    }
    headers = {
        "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",  # the id of a person stands in the address
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }
    if not framed:
        headers["x-frame-options"] = "DENY"
        headers["cross-origin-opener-policy"] = "same-origin"
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def guard(
    app: ASGIApp, *, headers: RawHeaders, answer_bytes: int = 0, metrics: Metrics | None = None
) -> ASGIApp:
    """The application behind all these checks; a body has room for an answer of some bytes."""
    most, counted = max(BODY_BYTES, answer_bytes + RECORD_BYTES), metrics or Metrics()

    async def call_guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        begun, arrived, path = False, time.perf_counter(), path_in_study(scope)

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                seconds = time.perf_counter() - arrived
                counted.note(path, message["status"], seconds)
                message["headers"] = _completed(message["headers"], headers, scope, path)
            await send(message)

        try:
            _check_origin(scope)
            await app(scope, _limited(scope, receive, most), send_with_headers)
        except Refusal as error:
            if begun:
                raise
            await refusal_reply(error)(scope, receive, send_with_headers)
        except ClientDisconnect:  # phones do that; there is nobody to answer
            return
        except Exception as error:
            _log_without_values(scope, error)
            if begun:
                raise
            await broken_reply()(scope, receive, send_with_headers)

    return call_guarded


def check_address(host: str, admin_key: str | None) -> None:
    """Refuse to serve others without an admin key, or with one that can be guessed (S10).

    >>> check_address("127.0.0.1", None)
    >>> check_address("0.0.0.0", None)
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: Without an admin key the server listens only on this machine ...
    """
    hashed = admin_key is not None and admin_key.startswith("$argon2id$")
    if admin_key is not None and not hashed and len(admin_key) < SHORTEST_KEY:
        raise DataError(
            f"The admin key has {len(admin_key)} characters; take at least {SHORTEST_KEY} random "
            "ones, for example from: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    if admin_key is None and not _is_loopback(host):
        raise DataError(
            "Without an admin key the server listens only on this machine (127.0.0.1), but it "
            f"was told to listen on {host}; put a key into the environment variable "
            "SFUMATO_ADMIN_KEY, or the one that --admin-key-env names."
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name may lead anywhere
        return False


def path_in_study(scope: Scope) -> str:
    """The path without the one that the study is served under."""
    return str(scope["path"]).removeprefix(scope.get("root_path", ""))


def _check_origin(scope: Scope) -> None:
    """Refuse what another page makes a browser send (S9)."""
    if scope["method"] in _READS:
        return
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    if origin is None:  # not a browser, or an old one; the token is asked for anyway
        return
    try:
        place = urlsplit(origin)
    except ValueError:
        place = urlsplit("")
    ours = headers.get("host", "").lower()
    if place.scheme not in ("http", "https") or not ours or place.netloc.lower() != ours:
        raise Forbidden("The request comes from another site.")


def _limited(scope: Scope, receive: Receive, most: int) -> Receive:
    """Refuse a long body by its announced length, or as soon as more has come (S4)."""
    announced = Headers(scope=scope).get("content-length", "0")
    if not announced.isdecimal() or len(announced) > 9 or int(announced) > most:
        raise TooLarge(f"The body is longer than {most:,} bytes.")
    read = 0

    async def receive_some() -> Message:
        nonlocal read
        message = await receive()
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > most:
                raise TooLarge(f"The body is longer than {most:,} bytes.")
        return message

    return receive_some


def _completed(given: RawHeaders, fixed: RawHeaders, scope: Scope, path: str) -> RawHeaders:
    present = {name.lower() for name, _ in given}
    added = [pair for pair in fixed if pair[0] not in present]
    if b"cache-control" not in present:
        rule = b"no-cache" if path.startswith(_REVALIDATED) else b"no-store"
        added.append((b"cache-control", rule))
    if scope["scheme"] == "https":
        added.append(STAY_WITH_TLS)
    return [*given, *added]


def _log_without_values(scope: Scope, error: Exception) -> None:
    """Note where it happened; the message of an error may hold an id, and so may a query (S13)."""
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s %s: %s\n%s", scope["method"], scope["path"], type(error).__name__, places)
