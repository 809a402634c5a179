"""The statements of the hot path, written once in Core (S8: values are always parameters)."""

import sqlalchemy as sa
from sqlalchemy import bindparam as given

from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import prepare

_session, _trial, _stimulus, _answer = (
    store.session,
    store.trial,
    store.stimulus,
    store.answer,
)

SITTING_COLUMNS = (
    "id",
    "participant",
    "stage",
    "plan",
    "batch",
    "position",
    "issued",
    "wanted",
    "back_to",
    "label_order",
    "last_answer",
    "same_answers",
    "last_seen",
    "finished",
    "ended",
    "comprehension_tries",
    "completion_code",
)

# The row stays locked to the end of the transaction: two requests of one session, in two
# processes on PostgreSQL, come one after the other.
SITTING_BY_TOKEN = prepare(
    sa.select(*(_session.c[name] for name in SITTING_COLUMNS), store.participant.c.excluded)
    .select_from(
        store.session_token.join(_session, _session.c.id == store.session_token.c.session).join(
            store.participant, store.participant.c.id == _session.c.participant
        )
    )
    .where(store.session_token.c.token_hash == given("token_hash"))
    .with_for_update(of=_session)
)

STAGE_COLUMNS = ("stage", "finished", "ended", "comprehension_tries", "completion_code")
"""What changes with a stage, not with an answer; an index depends on it."""
_FIXED_COLUMNS = ("id", "participant", "plan", "batch", "label_order")
PROGRESS_COLUMNS = tuple(
    name for name in SITTING_COLUMNS if name not in (*STAGE_COLUMNS, *_FIXED_COLUMNS)
)
SAVE_SITTING, SAVE_PROGRESS = (
    prepare(
        sa.update(_session)
        .where(_session.c.id == given("session"))
        .values({name: given(name) for name in names})
    )
    for names in ((*PROGRESS_COLUMNS, *STAGE_COLUMNS), PROGRESS_COLUMNS)
)

_TRIAL_COLUMNS = (
    _trial.c.id,
    _trial.c.session,
    _trial.c.number,
    _trial.c.slot,
    _trial.c.stimulus,
    _trial.c.view,
    _trial.c.shown,
    _trial.c.opened,
    _trial.c.expires,
    _trial.c.state,
    _trial.c.counted,
    _stimulus.c.images,
    _stimulus.c.shown.label("stimulus_shown"),
)
_WITH_STIMULUS = _trial.join(_stimulus, _stimulus.c.id == _trial.c.stimulus)

TRIAL_BY_ID = prepare(
    sa.select(*_TRIAL_COLUMNS, _answer.c.answer, _answer.c.key)
    .select_from(_WITH_STIMULUS.outerjoin(_answer, _answer.c.trial == _trial.c.id))
    .where(_trial.c.id == given("trial"), _trial.c.session == given("session"))
)

# What was issued for some slots and has no answer yet.
TRIALS_AT_SLOTS = prepare(
    sa.select(*_TRIAL_COLUMNS)
    .select_from(_WITH_STIMULUS)
    .where(
        _trial.c.session == given("session"),
        _trial.c.slot.between(given("slot"), given("last_slot")),
        _trial.c.state.in_([sa.literal_column(f"'{s}'") for s in ("ahead", "open", "expired")]),
    )
)

ANSWERED_BEFORE = prepare(
    sa.select(_trial.c.id)
    .where(
        _trial.c.session == given("session"),
        _trial.c.slot < given("slot"),
        _trial.c.state == sa.literal_column("'answered'"),
    )
    .order_by(_trial.c.slot.desc(), _trial.c.number.desc())
    .limit(sa.literal_column("1"))
)

ANSWERED_AT = prepare(
    sa.select(_trial.c.id, _trial.c.stimulus, _stimulus.c.images, _stimulus.c.shown)
    .select_from(_WITH_STIMULUS)
    .where(
        _trial.c.session == given("session"),
        _trial.c.slot == given("slot"),
        _trial.c.state == sa.literal_column("'answered'"),
    )
    .order_by(_trial.c.number.desc())
    .limit(sa.literal_column("1"))
)

INSERT_TRIAL = prepare(
    sa.insert(_trial)
    .values(
        {
            column.name: given(column.name)
            for column in _trial.columns
            if column.name not in ("id", "closed", "counted")
        }
        | {"counted": sa.false()}
    )
    .returning(_trial.c.id)
)

OPEN_TRIAL = prepare(
    sa.update(_trial)
    .where(_trial.c.id == given("trial"))
    .values(
        state=sa.literal_column("'open'"),
        opened=sa.func.coalesce(_trial.c.opened, given("now", type_=sa.Double)),
        expires=given("expires"),
    )
)

CLOSE_TRIAL = prepare(
    sa.update(_trial)
    .where(_trial.c.id == given("trial"))
    .values(state=sa.literal_column("'answered'"), closed=given("now"), counted=given("counted"))
)

RELEASE_TRIAL = prepare(
    sa.update(_trial)
    .where(_trial.c.id == given("trial"))
    .values(state=sa.literal_column("'released'"))
)

INSERT_ANSWER = prepare(
    sa.insert(_answer).values({column.name: given(column.name) for column in _answer.columns})
)

CHANGE_ANSWER = prepare(
    sa.update(_answer)
    .where(_answer.c.trial == given("of_trial"))
    .values(
        answer=given("answer"),
        faults=given("faults"),
        key=given("key"),
        received=given("received"),  # so that who reads what is new sees the change
        changed=_answer.c.changed + 1,
    )
)

INSERT_EVENT = prepare(
    sa.insert(store.answer_event).values(
        {name: given(name) for name in ("trial", "kind", "at", "data")}
    )
)

# A place that is reserved becomes one that is finished, or is given up.
FINISH_PLACE = prepare(
    sa.update(_stimulus)
    .where(_stimulus.c.id == given("stimulus"))
    .values(finished=_stimulus.c.finished + 1, reserved=_stimulus.c.reserved - 1)
)
GIVE_UP_PLACE = prepare(
    sa.update(_stimulus)
    .where(_stimulus.c.id == given("stimulus"))
    .values(reserved=_stimulus.c.reserved - 1)
)
RESERVE_PLACE = prepare(
    sa.update(_stimulus)
    .where(_stimulus.c.id == given("stimulus"))
    .values(reserved=_stimulus.c.reserved + 1, lot=given("fresh_lot"))
)
_NO_CAP_OR_ROOM = sa.or_(
    _stimulus.c.role != sa.literal_column("'main'"), store.load < _stimulus.c.target
)
RESERVE_AGAIN = prepare(
    sa.update(_stimulus)
    .where(_stimulus.c.id == given("stimulus"), _NO_CAP_OR_ROOM, ~_stimulus.c.paused)
    .values(reserved=_stimulus.c.reserved + 1, lot=given("fresh_lot"))
    .returning(_stimulus.c.id)
)
FINISH_LATE = prepare(
    sa.update(_stimulus)
    .where(_stimulus.c.id == given("stimulus"), _NO_CAP_OR_ROOM)
    .values(finished=_stimulus.c.finished + 1)
    .returning(_stimulus.c.id)
)

_seen_trial, _seen_session = _trial.alias("seen_trial"), _session.alias("seen_session")
_not_seen = ~sa.exists(
    sa.select(sa.literal_column("1"))
    .select_from(_seen_session.join(_seen_trial, _seen_trial.c.session == _seen_session.c.id))
    .where(
        _seen_session.c.participant == given("participant"),
        _seen_trial.c.stimulus == _stimulus.c.id,
        # what was reserved ahead and given up again was never on a screen
        sa.or_(
            _seen_trial.c.opened.is_not(None),
            _seen_trial.c.state != sa.literal_column("'released'"),
        ),
    )
)
_CHOICE = (
    sa.select(_stimulus.c.id, _stimulus.c.images, _stimulus.c.shown)
    .where(_not_seen)
    .order_by(store.load, _stimulus.c.lot)
    .limit(sa.literal_column("1"))
)
_OF_MAIN = _CHOICE.where(store.available)
_OF_STRATUM = _OF_MAIN.where(_stimulus.c.stratum == given("stratum"))
_OF_ROLE = _CHOICE.where(store.beside, _stimulus.c.role == given("role"), ~_stimulus.c.paused)
_OF_ID = _OF_MAIN.where(_stimulus.c.id == given("stimulus"))

# Least finished + reserved first, ties by lot. The first of each pair passes over rows that another
# process is choosing; the second waits for them, when nothing else is left.
CHOOSE_MAIN = tuple(
    prepare(_OF_MAIN.with_for_update(of=_stimulus, skip_locked=skip)) for skip in (True, False)
)
CHOOSE_OF_STRATUM = tuple(
    prepare(_OF_STRATUM.with_for_update(of=_stimulus, skip_locked=skip)) for skip in (True, False)
)
CHOOSE_OF_ROLE = tuple(
    prepare(_OF_ROLE.with_for_update(of=_stimulus, skip_locked=skip)) for skip in (True, False)
)
CHOOSE_BY_ID = (prepare(_OF_ID.with_for_update(of=_stimulus)),)

EXPIRED_TRIALS = prepare(
    sa.select(_trial.c.id, _trial.c.stimulus, _trial.c.view, _trial.c.state)
    .where(
        _trial.c.state.in_([sa.literal_column("'ahead'"), sa.literal_column("'open'")]),
        _trial.c.expires <= given("now"),
    )
    .order_by(_trial.c.id)
    .with_for_update(skip_locked=True)
)
RUNNING_TRIALS = prepare(
    sa.select(_trial.c.id, _trial.c.stimulus, _trial.c.view, _trial.c.state).where(
        _trial.c.session == given("session"),
        _trial.c.state.in_([sa.literal_column("'ahead'"), sa.literal_column("'open'")]),
    )
)
SET_STATE = prepare(
    sa.update(_trial).where(_trial.c.id == given("trial")).values(state=given("new_state"))
)
LAPSED_SESSIONS = prepare(
    sa.select(_session.c.id)
    .where(_session.c.ended.is_(None), _session.c.last_seen < given("before"))
    .with_for_update(skip_locked=True)
)
END_SESSION = prepare(
    sa.update(_session).where(_session.c.id == given("session")).values(ended=given("how"))
)
