"""How often one token or one address may ask (S11); counted in each process for itself."""

import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.elicit.web.replies import Throttled

REMEMBERED = 100_000
"""Keys at most; forged tokens and addresses must not fill the memory."""
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


class Buckets:
    """One bucket a key: it holds ``burst`` requests and is refilled at a steady rate."""

    def __init__(self, *, per_second: float, burst: int, clock: Callable[[], float]) -> None:
        self.per_second = per_second
        self.burst = burst
        self._clock = clock
        self._full_at: dict[str, float] = {}

    def take(self, key: str, sentence: str) -> None:
        """Count one request, or raise ``Throttled``.

        Only the moment at which the bucket will be full again is kept.
        """
        now = self._clock()
        full_at = max(self._full_at.get(key, now), now)
        wait = (full_at - now) - (self.burst - 1) / self.per_second
        if wait > ROUNDING:
            raise Throttled(sentence, wait=wait)
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


def make_throttle(limits: Limits, *, clock: Callable[[], float] = time.monotonic) -> Throttle:
    """Empty counters for the given limits."""
    entries = limits.entries_per_minute
    return Throttle(
        answers=Buckets(
            per_second=limits.answers_per_second, burst=limits.answer_burst, clock=clock
        ),
        calls=Buckets(per_second=limits.calls_per_second, burst=limits.call_burst, clock=clock),
        entries=Buckets(per_second=entries / 60, burst=entries, clock=clock),
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
