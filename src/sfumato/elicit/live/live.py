"""Keep what is known about a collection up to date, from what is new in its database.

The first build reads all answers once. From then on a refresh reads answers received lately, the
sessions that run, and what the audit log says about exclusions; every now and then a sweep reads
the small tables whole and counts the answers, so that nothing can be missed for long.
"""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import bindparam as given

from sfumato.elicit.live.people import People, Person
from sfumato.elicit.live.tally import (
    Tally,
    Units,
    add_answers,
    drop_person,
    outcomes_shown,
    refresh_derived,
    set_in_data,
    take_rows,
)
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import Connection, Database, prepare
from sfumato.judgments.question import Question
from sfumato.labels.agreement import Agreement
from sfumato.labels.labelset import CrowdLabels
from sfumato.labels.running import agreement_so_far, numbered_crowd

if TYPE_CHECKING:
    from sfumato.planning.pilot import AnswerInformation

OVERLAP_SECONDS = 5.0
"""Answers are read again for so long: two that come at once may be stored in any order."""
SWEEP_SECONDS = 30.0
AGREEMENT_SECONDS = 10.0
AGREEMENT_ITEMS = 400
AGREEMENT_PAIRS = 100_000
"""Agreement is worked out on so many items at most, spread over all, and so many pairs of answers
about the same item."""
CHUNK = 50_000


class Live:
    """A collection as it is now; methods may be called from any thread."""

    def __init__(
        self,
        database: Database,
        collection: Collection,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.database, self.collection = database, collection
        self.threshold = collection.study.converged_below
        self.clock = clock
        self.lock = threading.RLock()
        self.tally: Tally | None = None
        self.people = People()
        self.reserved = 0
        self.agreement: tuple[Agreement, ...] = ()
        self.information: AnswerInformation | None = None
        self.version = 0
        """Rises with every change that is worth showing."""
        self.refreshed = float("-inf")
        self._since = float("-inf")
        self._audit = self._flag = 0
        self._swept = self._agreed = float("-inf")
        self._agreed_version = -1

    def refresh(self, *, at_most_every: float = 0.0) -> int:
        """Take in what is new; the version afterwards."""
        with self.lock:
            now = self.clock()
            if self.tally is not None and now - self.refreshed < at_most_every:
                return self.version
            sweep = now - self._swept >= SWEEP_SECONDS
            with self._reader() as connection:
                if self.tally is None:
                    self._build(connection)
                else:
                    self._take_in(connection)
                    if sweep:
                        self._sweep(connection)
            refresh_derived(self.known)
            first = self.refreshed == float("-inf")
            if first or not sweep:  # one of the two slow things at a time
                self._agree(now)
            if sweep:
                self._swept = now
            self.refreshed = now
            return self.version

    @property
    def known(self) -> Tally:
        """The sums; there are none before the first refresh."""
        assert self.tally is not None, "refresh first"
        return self.tally

    @contextlib.contextmanager
    def _reader(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database throughout."""
        with self.database.reader() as connection:
            sqlite = connection.dialect == "sqlite"
            connection.plain("BEGIN" if sqlite else "BEGIN ISOLATION LEVEL REPEATABLE READ")
            yield connection
            connection.rollback()

    def _build(self, connection: Connection) -> None:
        question = self.collection.question
        tally = Tally(_units(connection, outcomes_shown(question)), question)
        self.people = People()
        self._audit = self._flag = 0
        self._keep_people(tally, connection.all(PEOPLE))
        for session in connection.all(SESSIONS):
            self.people.keep_session(session)
        after = 0
        while found := connection.all(ANSWERS_AFTER_TRIAL, after=after, most=CHUNK):
            add_answers(tally, found)
            after = found[-1].trial
        self._since = float(tally.rows["received"][: tally.size].max(initial=-np.inf))
        self._take_flags(connection)
        for act in connection.all(AUDIT_AFTER, after=0):
            self._audit = act.id
        self.reserved = connection.one(RESERVED).places
        self.tally = tally  # only now: a build that failed half-way is begun again
        self.version += 1

    def _take_in(self, connection: Connection) -> None:
        tally = self.known
        before = (tally.version, self.reserved)
        news = self._take_people(connection)
        news |= self._take_sessions(connection)
        found = connection.all(ANSWERS_SINCE, since=self._since - OVERLAP_SECONDS)
        found.sort(key=lambda row: row.trial)  # what is repeated stands before its repeat
        add_answers(tally, found)
        self._since = max([self._since, *(row.received for row in found)])
        self._read_units(connection, {row.stimulus for row in found})
        news |= self._take_flags(connection)
        news |= self._take_acts(connection)
        self.reserved = connection.one(RESERVED).places
        if news or before != (tally.version, self.reserved):
            self.version += 1

    def _take_people(self, connection: Connection) -> bool:
        last = max(self.people.persons, default=0)
        return self._keep_people(self.known, connection.all(PEOPLE_AFTER, after=last))

    def _keep_people(self, tally: Tally, rows: Iterable[Any]) -> bool:
        news = False
        for row in rows:
            person = Person(*row)
            if self.people.persons.get(person.id) != person:
                self.people.persons[person.id] = person
                set_in_data(tally, person.id, person.excluded is None)
                news = True
        return news

    def _take_sessions(self, connection: Connection) -> bool:
        people = self.people
        last = max(people.sessions, default=0)
        running = connection.all(SESSIONS_RUNNING)
        ended = people.running - {row.id for row in running}
        rows = [*running, *connection.all(SESSIONS_AFTER, after=last)]
        for session in ended:
            rows += connection.all(SESSION_BY_ID, session=session)
        return _each(people.keep_session, rows)

    def _take_flags(self, connection: Connection) -> bool:
        found = connection.all(FLAGS_AFTER, after=self._flag)
        for row in found:
            self.people.keep_flag(row.session, row.kind)
        self._flag = max([self._flag, *(row.id for row in found)])
        return bool(found)

    def _take_acts(self, connection: Connection) -> bool:
        """Follow what was done to people and stimuli."""
        tally = self.known
        acts = connection.all(AUDIT_AFTER, after=self._audit)
        for act in acts:
            self._audit = act.id
            about = json.loads(act.data)
            if act.what == "withdraw":
                self._forget_withdrawn(connection, connection.all(PEOPLE))
            elif "participant" in about:
                who = about["participant"]
                self._keep_people(tally, connection.all(PERSON, participant=who))
                self._read_units(connection, _stimuli_of(tally, who))
            elif "stimulus" in about:
                self._read_units(connection, {about["stimulus"]})
        return bool(acts)

    def _forget_withdrawn(self, connection: Connection, present: Iterable[Any]) -> bool:
        tally = self.known
        gone = set(self.people.persons) - {row.id for row in present}
        for participant in gone:
            stimuli = _stimuli_of(tally, participant)
            drop_person(tally, participant)
            self.people.forget(participant)
            self._read_units(connection, stimuli)
        return bool(gone)

    def _read_units(self, connection: Connection, stimuli: set[int]) -> None:
        self._keep_units(
            [row for stimulus in stimuli for row in connection.all(UNIT_STATE, stimulus=stimulus)]
        )

    def _keep_units(self, rows: list[Any]) -> bool:
        """Note how far stimuli are; whether any of it is news."""
        units = self.known.units
        rows = [row for row in rows if row.id in units.place]
        places = np.array([units.place[row.id] for row in rows], dtype=np.int64)
        finished, target = (
            np.array([getattr(row, name) for row in rows], dtype=np.int64)
            for name in ("finished", "target")
        )
        paused = np.array([row.paused for row in rows], dtype=bool)
        same = (units.finished[places] == finished) & (units.paused[places] == paused)
        same &= units.target[places] == target
        units.finished[places], units.paused[places] = finished, paused
        units.target[places] = target
        return not same.all()

    def _sweep(self, connection: Connection) -> None:
        """Read the small tables whole; build again where answers are missing or too many."""
        tally = self.known
        people = connection.all(PEOPLE)
        news = self._forget_withdrawn(connection, people)
        news |= self._keep_people(tally, people)
        news |= _each(self.people.keep_session, connection.all(SESSIONS))
        news |= self._keep_units(connection.all(UNIT_STATES))
        if connection.one(COUNT_ANSWERS).answers != len(tally.row_of):
            self._build(connection)
        elif news:
            self.version += 1

    def _agree(self, now: float) -> None:
        """Work agreement out again, but not with every refresh: it is slow."""
        tally = self.known
        unchanged = self._agreed_version == tally.version
        if unchanged or now - self._agreed < AGREEMENT_SECONDS:
            return
        several = np.flatnonzero(tally.count > 1)
        pairs = int((tally.count[several] * (tally.count[several] - 1) // 2).sum())
        step = max(1, -(-len(several) // AGREEMENT_ITEMS), -(-pairs // AGREEMENT_PAIRS))
        some = several[::step]
        rows = take_rows(tally, some.tolist())
        crowd = numbered_crowd(tally.outcomes, *rows)
        self.agreement = agreement_so_far(crowd)
        self.information = _information(tally, crowd)
        self._agreed, self._agreed_version = now, tally.version


def _information(tally: Tally, crowd: CrowdLabels) -> "AnswerInformation | None":
    if not isinstance(tally.question, Question) or not len(crowd):
        return None
    # Brings 20 MB of SciPy along, which a server whose dashboard nobody looks at does not need.
    from sfumato.planning.pilot import answer_information

    return answer_information(tally.question, crowd, items=int(tally.units.is_main.sum()))


def _stimuli_of(tally: Tally, participant: int) -> set[int]:
    """What a person answered about."""
    place = tally.place_of_person.get(participant)
    if place is None:
        return set()
    units = np.unique(tally.rows["unit"][tally.by_person.rows(place)])
    return {tally.units.ids[unit] for unit in units.tolist()}


def _each(keep: Callable[[Any], bool], rows: Iterable[Any]) -> bool:
    """Keep all rows; whether any of them was news."""
    return sum(keep(row) for row in rows) > 0


def _units(connection: Connection, outcomes: tuple[str, ...]) -> Units:
    rows = connection.all(UNITS)
    outcome = {name: place for place, name in enumerate(outcomes)}
    return Units(
        ids=[row.id for row in rows],
        items=[row.item for row in rows],
        shown=[row.shown for row in rows],
        images=[row.images for row in rows],
        roles=[row.role for row in rows],
        gold=np.array([outcome.get(row.gold, -1) for row in rows], dtype=np.int64),
        gold_names=[row.gold for row in rows],
        target=np.array([row.target for row in rows], dtype=np.int64),
        finished=np.array([row.finished for row in rows], dtype=np.int64),
        paused=np.array([row.paused for row in rows], dtype=bool),
    )


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
