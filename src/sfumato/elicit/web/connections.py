"""Bound what connections may hold: how long a request may take to come, how large its head may be,
how many there are from one address and in all.

Where a bound is reached, the connection that has waited longest for the rest of its request goes
first, then one that is kept open for nothing; one that is being answered never does.
"""

import asyncio
import resource
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from sfumato.elicit.web.security import address_key

MOST_CONNECTIONS = 10_000
FILES_KEPT = 128
"""Files that are not connections: the database, images, the log."""
HEAD_BYTES = 16 * 1024
MOST_HEADERS = 100
REQUEST_SECONDS = 20
"""As long as the page itself waits for a reply."""
PER_ADDRESS = 1_000


def raise_open_files() -> int:
    """Let this process open as many files as it may; how many that are."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


@dataclass
class Connections:
    """All connections of a process by their address."""

    total: int = MOST_CONNECTIONS
    per_address: int = PER_ADDRESS
    seconds: float = REQUEST_SECONDS
    """In which a request must be there, and a reply must be read."""
    trusted: tuple[str, ...] = ()
    """Addresses of proxies, which bring many people; "*": all are."""
    _by_address: dict[str, dict["BoundedProtocol", None]] = field(default_factory=dict)
    """In the order in which they began to wait for what they wait for."""
    _count: int = 0

    def admit(self, new: "BoundedProtocol", host: str) -> bool:
        """Whether there is place for one more, where need be by giving another up."""
        mine = self._by_address.get(new.address, {})
        bounded = host not in self.trusted and "*" not in self.trusted
        if bounded and len(mine) >= self.per_address and not self._give_up(mine):
            return False
        if self._count >= self.total:
            fullest = max(self._by_address.values(), key=len)
            if not self._give_up(fullest):
                return False
        self._by_address.setdefault(new.address, {})[new] = None
        self._count += 1
        return True

    def move_to_end(self, one: "BoundedProtocol") -> None:
        """Note that a connection begins to wait anew."""
        mine = self._by_address.get(one.address, {})
        if one in mine:
            del mine[one]
            mine[one] = None

    def forget(self, one: "BoundedProtocol") -> None:
        """Note that a connection has ended."""
        mine = self._by_address.get(one.address, {})
        if one in mine:
            del mine[one]
            self._count -= 1
            if not mine:
                del self._by_address[one.address]

    def _give_up(self, among: Iterable["BoundedProtocol"]) -> bool:
        awaited = (one for one in among if one.is_awaited)
        idle = (one for one in among if not one.is_answered)
        longest = next(awaited, None) or next(idle, None)
        if longest is None:
            return False
        self.forget(longest)
        longest.transport.abort()
        return True


class BoundedProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, within bounds."""

    def __init__(self, *arguments: Any, connections: Connections, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.bounds = connections
        self.address = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._whole = False  # the last request has come to its end
        self._head_done = False
        self._head = self._raw = 0
        self._refused = False

    @property
    def is_awaited(self) -> bool:
        """Whether part of a request is still to come."""
        return self._deadline is not None

    @property
    def is_answered(self) -> bool:
        """Whether a whole request waits for its reply."""
        return self._whole and self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        """Take a new connection, or end it at once."""
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self.address = address_key(host)
        if self.bounds.admit(self, host):
            self._wait()
        else:
            self._refused = True
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._end_wait()
        self.bounds.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; what is not a whole request has a deadline."""
        if self._refused:
            return
        self._whole = False
        self._raw += len(data)
        super().data_received(data)
        if self._whole:
            self._end_wait()
            self.bounds.move_to_end(self)
        elif self._deadline is None:
            self._wait()
        if not self._head_done and self._raw > HEAD_BYTES:
            self._refuse()

    def on_message_begin(self) -> None:
        """Count a head from its beginning."""
        super().on_message_begin()
        self._whole = self._head_done = False
        self._head = 0

    def on_url(self, url: bytes) -> None:
        """Count the address."""
        self._head += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header, and keep it where there are not too many."""
        self._head += len(name) + len(value) + 4
        if self._head <= HEAD_BYTES and len(self.headers) <= MOST_HEADERS:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer, unless the head is too large."""
        self._head_done = True
        if self._head > HEAD_BYTES or len(self.headers) > MOST_HEADERS:
            self._refuse()
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Hand a part of the body on."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        self._whole, self._head_done, self._raw = True, True, 0
        if not self._refused:
            super().on_message_complete()

    def pause_writing(self) -> None:
        """Give a reader who does not read no more time than one who does not send."""
        super().pause_writing()
        self._wait()

    def resume_writing(self) -> None:
        """Go on with a reply that is read again."""
        super().resume_writing()
        if self._whole:
            self._end_wait()

    def _wait(self) -> None:
        self._end_wait()
        self.bounds.move_to_end(self)
        self._deadline = self.loop.call_later(self.bounds.seconds, self.transport.abort)

    def _end_wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self) -> None:
        if not self._refused and not self.transport.is_closing():
            self._refused = True
            head = STATUS_LINE[431] + b"connection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(head)
            self.transport.close()


def bounded_protocol(connections: Connections) -> Any:
    """What uvicorn makes for each connection."""
    return partial(BoundedProtocol, connections=connections)
