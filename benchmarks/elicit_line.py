"""A lean HTTP client: one open connection, one request at a time, nothing but what a load needs."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, cast

__all__ = ["Line", "Reply", "request_of"]


@dataclass(frozen=True, slots=True)
class Reply:
    """The status, the head and the body of a response."""

    status: int
    head: bytes
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str:
        """The first value of a header, or nothing."""
        wanted = name.lower().encode() + b":"
        for row in self.head.split(b"\r\n")[1:]:
            if row.lower().startswith(wanted):
                return row[len(wanted) :].decode("latin-1").strip()
        return ""


def request_of(
    method: str, path: str, *, headers: dict[str, str] | None = None, body: Any = None
) -> bytes:
    """The bytes of a request; a body that is no text is sent as JSON."""
    fields = {"Host": "127.0.0.1", **(headers or {})}
    content = b""
    if body is not None:
        is_form = isinstance(body, str)
        content = (body if is_form else json.dumps(body)).encode()
        kind = "application/x-www-form-urlencoded" if is_form else "application/json"
        fields |= {"Content-Type": kind, "Content-Length": str(len(content))}
    rows = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n{rows}\r\n".encode() + content


class Line:
    """A connection that is kept open, and opened again where the server closes it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._wire: _Wire | None = None
        self.opened = 0
        """How often a connection was made."""
        self.asked = 0
        """How many requests were sent."""
        self.bytes = 0
        """Of all requests and replies, without what the network adds."""

    async def ask(self, request: bytes) -> Reply:
        """Send a request and wait for its response."""
        loop = asyncio.get_running_loop()
        if self._wire is None or self._wire.closed:
            _, self._wire = await loop.create_connection(_Wire, "127.0.0.1", self._port)
            self.opened += 1
        self.asked += 1
        reply = await self._wire.ask(request, loop.create_future())
        self.bytes += len(request) + len(reply.head) + 4 + len(reply.body)
        return reply

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()


class _Wire(asyncio.Protocol):
    def __init__(self) -> None:
        self.closed = False
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Reply] | None = None
        self._got = bytearray()

    def ask(self, request: bytes, waiting: asyncio.Future[Reply]) -> asyncio.Future[Reply]:
        assert self._transport is not None
        self._waiting = waiting
        self._got.clear()
        self._transport.write(request)
        return waiting

    def close(self) -> None:
        self.closed = True
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._got += data
        end = self._got.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._got[:end])
        length = _length(head)
        if length is None or len(self._got) < end + 4 + length:
            return  # without a length the body ends with the connection
        if b"\r\nconnection: close" in head.lower():
            self.close()
        self._settle(Reply(int(head[9:12]), head, bytes(self._got[end + 4 :])))

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self._waiting is None or self._waiting.done():
            return
        head, blank, body = bytes(self._got).partition(b"\r\n\r\n")
        if blank and _length(head) is None:
            self._settle(Reply(int(head[9:12]), head, body))
        else:
            self._waiting.set_exception(ConnectionError("The server closed the connection."))

    def _settle(self, reply: Reply) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(reply)


def _length(head: bytes) -> int | None:
    lower = head.lower()
    place = lower.find(b"\r\ncontent-length:")
    if place < 0:
        return None
    return int(lower[place + 17 :].split(b"\r\n", 1)[0])
