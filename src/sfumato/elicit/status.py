"""Where a collection stands: people, answers, items, signs, time and pay."""

from collections import Counter
from statistics import median
from typing import Any

import sqlalchemy as sa

from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.storage import store
from sfumato.elicit.storage.backup import snapshot
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.elicit.storage.schema import get_meta


def status_of(connection: Connection, study: ElicitStudy, *, now: float) -> dict[str, Any]:
    """Everything ``sfumato elicit status`` prints, ready for ``json.dumps``.

    A person is active who was seen within ``reserve_minutes``. Seconds are those of first
    views. The effective hourly pay is the pay of a session over the median time from entry to
    the end of those who finished; null where there is neither.
    """
    with snapshot(connection):
        sessions = connection.all(_SESSIONS)
        spans = [row.finished - row.started for row in sessions if row.finished is not None]
        seconds = [row.seconds for row in connection.all(_SECONDS)]
        return {
            "study": study.name,
            "form": study.form,
            "closed": get_meta(connection, "closed") is not None,
            "people": _people(connection, study, sessions, now=now),
            "answers": {row.view: row.answers for row in connection.all(_BY_VIEW)},
            "late": connection.one(_LATE).answers,
            "items": _items(connection),
            "flags": {row.kind: row.times for row in connection.all(_FLAGS)},
            "median_seconds": _median(seconds),
            "median_minutes_a_session": _median([span / 60 for span in spans]),
            "hourly_pay": _hourly(study, spans),
        }


def _people(
    connection: Connection, study: ElicitStudy, sessions: list[Any], *, now: float
) -> dict[str, int]:
    since = now - 60 * study.reserve_minutes
    ended = Counter(row.ended for row in sessions)
    return {
        "entered": connection.one(_PEOPLE).people,
        "finished": ended["finished"],
        "active": sum(row.ended is None and row.last_seen >= since for row in sessions),
        "away": sum(row.ended is None and row.last_seen < since for row in sessions),
        "screened_out": ended["screened-out"],
        "returned": ended["returned"],
        "lapsed": ended["lapsed"],
        "excluded": connection.one(_EXCLUDED).people,
        "withdrawn": connection.one(_WITHDRAWN).people,
    }


def _items(connection: Connection) -> dict[str, Any]:
    finished = [row.finished for row in connection.all(_MAIN)]
    done = connection.one(_DONE).stimuli
    return {
        "stimuli": len(finished),
        "min": min(finished, default=None),
        "median": _median(finished),
        "max": max(finished, default=None),
        "at_target": done,
    }


def _hourly(study: ElicitStudy, spans: list[float]) -> dict[str, Any] | None:
    pay, middle = study.recruiting.pay, _median(spans)
    if pay is None or not middle:
        return None
    return {
        "amount": round(pay / (middle / 3600), 2),
        "currency": study.recruiting.currency,
        "meant": study.recruiting.hourly,
    }


def _median(values: list[float]) -> float | None:
    return round(float(median(values)), 3) if values else None


def _count(what: str, table: sa.Table, *where: Any) -> Any:
    counted = sa.select(sa.func.count().label(what)).select_from(table)
    return prepare(counted.where(*where))


_answers = store.answer.join(store.trial, store.trial.c.id == store.answer.c.trial)

_SESSIONS = prepare(
    sa.select(
        store.session.c.ended,
        store.session.c.started,
        store.session.c.last_seen,
        store.session.c.finished,
    )
)
_SECONDS = prepare(
    sa.select(store.answer.c.seconds).select_from(_answers).where(store.trial.c.view == "first")
)
_BY_VIEW = prepare(
    sa.select(store.trial.c.view, sa.func.count().label("answers"))
    .select_from(_answers)
    .group_by(store.trial.c.view)
    .order_by(store.trial.c.view)
)
_LATE = _count("answers", store.answer, store.answer.c.late)
_PEOPLE = _count("people", store.participant)
_EXCLUDED = _count("people", store.participant, store.participant.c.excluded.is_not(None))
_WITHDRAWN = _count("people", store.withdrawal)
_MAIN = prepare(sa.select(store.stimulus.c.finished).where(store.stimulus.c.role == "main"))
_DONE = _count(
    "stimuli",
    store.stimulus,
    store.stimulus.c.role == "main",
    store.stimulus.c.finished >= store.stimulus.c.target,
)
_FLAGS = prepare(
    sa.select(store.flag.c.kind, sa.func.count().label("times"))
    .group_by(store.flag.c.kind)
    .order_by(store.flag.c.kind)
)
