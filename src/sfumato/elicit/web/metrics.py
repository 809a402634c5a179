"""Count requests as Prometheus reads them, and log them as JSON lines; nobody's id is in either."""

import json
import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import sqlalchemy as sa

from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import Connection, prepare

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds."""
KINDS = ("api", "image", "static", "texts", "admin", "webhook")
"""First parts of addresses under which there are more; the rest may be an id, and is left out."""
PLAIN = {"/", "/consent", "/health", "/healthz", "/metrics", "/admin"}
CALLS = {"answer", "enter", "screen", "proceed", "back"}

_requests = logging.getLogger("sfumato.elicit.requests")


def address_kind(path: str) -> str:
    """What an address is for, in so few words that no id can be among them.

    >>> address_kind("/image/5f3b6e93"), address_kind("/api/answer"), address_kind("/PID-77")
    ('/image', '/api/answer', 'other')
    """
    if path in PLAIN:
        return path
    first, _, rest = path[1:].partition("/")
    if first == "api":
        return f"/api/{rest}" if rest in CALLS else "other"
    return f"/{first}" if first in KINDS and rest else "other"


class Metrics:
    """What one process has answered since it began."""

    def __init__(self) -> None:
        self.began = time.time()
        self.requests: Counter[tuple[str, int]] = Counter()
        self.slower: Counter[tuple[str, int]] = Counter()
        """By kind and place among the buckets."""
        self.seconds: Counter[str] = Counter()

    def note(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered, and log it where requests are logged."""
        kind = address_kind(path)
        self.requests[kind, status] += 1
        self.slower[kind, bisect_left(BUCKETS, seconds)] += 1
        self.seconds[kind] += seconds  # type: ignore[assignment]
        if _requests.isEnabledFor(logging.INFO):
            told = {"path": kind, "status": status, "ms": round(1000 * seconds, 1)}
            _requests.info("request", extra={"told": told})

    def text(self, *, worker: int, gauges: Mapping[str, Mapping[str, float]]) -> str:
        """The lines that Prometheus reads; ``gauges`` are name to state to value.

        Counters are of one process, and named by it: several workers are several series.
        """
        own = f'worker="{worker}"'
        lines = ["# TYPE sfumato_requests_total counter"]
        for (kind, status), count in sorted(self.requests.items()):
            labels = f'{own},path="{kind}",status="{status}"'
            lines.append(f"sfumato_requests_total{{{labels}}} {count}")
        lines.append("# TYPE sfumato_request_seconds histogram")
        for kind in sorted(self.seconds):
            lines += self._histogram(kind, own)
        for name, values in gauges.items():
            lines.append(f"# TYPE {name} gauge")
            lines += [f"{name}{{{labels}}} {value:g}" for labels, value in values.items()]
        lines += ["# TYPE process_start_time_seconds gauge"]
        lines += [f"process_start_time_seconds{{{own}}} {self.began:.3f}"]
        return "\n".join(lines) + "\n"

    def _histogram(self, kind: str, own: str) -> Iterable[str]:
        labels, total = f'{own},path="{kind}"', 0
        for place, edge in enumerate((*BUCKETS, "+Inf")):
            total += self.slower[kind, place]
            yield f'sfumato_request_seconds_bucket{{{labels},le="{edge}"}} {total}'
        yield f"sfumato_request_seconds_sum{{{labels}}} {self.seconds[kind]:.6f}"
        yield f"sfumato_request_seconds_count{{{labels}}} {total}"


def stored_gauges(connection: Connection) -> dict[str, dict[str, float]]:
    """How far a collection is, from its database."""
    places = connection.one(_PLACES)
    sessions = connection.all(_SESSIONS)
    return {
        "sfumato_places": {
            f'state="{name}"': float(getattr(places, name) or 0)
            for name in ("finished", "reserved", "wanted")
        },
        "sfumato_sessions": {f'state="{row.ended or "running"}"': row.count for row in sessions},
    }


_main = store.stimulus.c.role == "main"
_PLACES = prepare(
    sa.select(
        sa.func.sum(store.stimulus.c.finished).label("finished"),
        sa.func.sum(store.stimulus.c.reserved).label("reserved"),
        sa.func.sum(store.stimulus.c.target).label("wanted"),
    ).where(_main)
)
_SESSIONS = prepare(
    sa.select(store.session.c.ended, sa.func.count().label("count")).group_by(store.session.c.ended)
)


class JsonLines(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """The time, how serious it is, what happened, and what was told about it."""
        told = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "process": record.process,
            **getattr(record, "told", {}),
        }
        return json.dumps(told, ensure_ascii=False)


def log_as_json() -> None:
    """Write everything that is logged here, and every request, to standard error as JSON lines."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    ours = logging.getLogger("sfumato.elicit")
    ours.handlers, ours.propagate = [handler], False
    ours.setLevel(logging.INFO)
