"""The statements that the dashboard reads the database with; none of them scans all answers."""

import sqlalchemy as sa
from sqlalchemy import bindparam as given

from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import prepare

_answer, _trial, _session = store.answer, store.trial, store.session
_participant, _stimulus = store.participant, store.stimulus
_audit, _flag, _reply = store.audit, store.flag, store.reply

_answers = sa.select(
    _answer.c.trial,
    _answer.c.answer,
    _answer.c.faults,
    _answer.c.received,
    _answer.c.seconds,
    _answer.c.changed,
    _trial.c.session,
    _session.c.participant,
    _trial.c.stimulus,
    _trial.c.view,
    _trial.c.number,
    _trial.c.repeats_trial,
    _trial.c.counted,
).select_from(
    _answer.join(_trial, _trial.c.id == _answer.c.trial).join(
        _session, _session.c.id == _trial.c.session
    )
)
ANSWERS_AFTER_TRIAL = prepare(
    _answers.where(_answer.c.trial > given("after"))
    .order_by(_answer.c.trial)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
ANSWERS_SINCE = prepare(_answers.where(_answer.c.received > given("since")))
COUNT_ANSWERS = prepare(sa.select(sa.func.count().label("answers")).select_from(_answer))

UNITS = prepare(
    sa.select(
        _stimulus.c.id,
        _stimulus.c.item,
        _stimulus.c.shown,
        _stimulus.c.images,
        _stimulus.c.role,
        _stimulus.c.gold,
        _stimulus.c.target,
        _stimulus.c.finished,
        _stimulus.c.paused,
    ).order_by(_stimulus.c.id)
)
_states = sa.select(_stimulus.c.id, _stimulus.c.finished, _stimulus.c.target, _stimulus.c.paused)
UNIT_STATES = prepare(_states)
UNIT_STATE = prepare(_states.where(_stimulus.c.id == given("stimulus")))
RESERVED = prepare(
    sa.select(sa.func.count().label("places"))
    .select_from(_trial)
    .where(
        # Written as in the index that holds only these, so that it is used.
        _trial.c.state.in_([sa.literal_column("'ahead'"), sa.literal_column("'open'")])
    )
)

_people = sa.select(
    _participant.c.id,
    _participant.c.pseudonym,
    _participant.c.excluded,
    _participant.c.excluded_at,
    _participant.c.paid,
).order_by(_participant.c.id)  # people have the same places whoever looks, and so the same draws
PEOPLE = prepare(_people)
PEOPLE_AFTER = prepare(_people.where(_participant.c.id > given("after")))
PERSON = prepare(_people.where(_participant.c.id == given("participant")))

_sessions = sa.select(
    _session.c.id,
    _session.c.participant,
    _session.c.stage,
    _session.c.ended,
    _session.c.started,
    _session.c.last_seen,
    _session.c.finished,
)
SESSIONS = prepare(_sessions)
SESSIONS_AFTER = prepare(_sessions.where(_session.c.id > given("after")))
SESSIONS_RUNNING = prepare(_sessions.where(_session.c.ended.is_(None)))
SESSION_BY_ID = prepare(_sessions.where(_session.c.id == given("session")))

FLAGS_AFTER = prepare(
    sa.select(_flag.c.id, _flag.c.session, _flag.c.kind).where(_flag.c.id > given("after"))
)
AUDIT_AFTER = prepare(
    sa.select(_audit.c.id, _audit.c.what, _audit.c.data)
    .where(_audit.c.id > given("after"))
    .order_by(_audit.c.id)
)
LATEST_AUDIT = prepare(
    sa.select(_audit.c.id, _audit.c.at, _audit.c.who, _audit.c.what, _audit.c.data)
    .order_by(_audit.c.id.desc())
    .limit(sa.bindparam("most", type_=sa.Integer))
)
REPLIES = prepare(
    sa.select(_reply.c.at, _reply.c.data, _participant.c.pseudonym)
    .select_from(
        _reply.join(_session, _session.c.id == _reply.c.session).join(
            _participant, _participant.c.id == _session.c.participant
        )
    )
    .where(_reply.c.stage == "debrief")
    .order_by(_reply.c.id.desc())
    .limit(sa.bindparam("most", type_=sa.Integer))
)
