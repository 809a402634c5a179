"""The tables of a collection, the same on SQLite and PostgreSQL.

Times are seconds since 1970 by the server's clock. Texts called JSON hold JSON.
"""

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Integer, Table, Text

tables = sa.MetaData()

meta = Table("meta", tables, Column("key", Text, primary_key=True), Column("value", Text))
"""schema_version, study (JSON), created, strata (JSON), closed (why, where it is), health."""

image = Table(
    "image",
    tables,
    Column("id", Text, primary_key=True),  # opaque: says nothing about the picture
    Column("file", Text, nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
)

stimulus = Table(
    "stimulus",
    tables,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("item", Text, nullable=False),
    Column("images", Text, nullable=False),  # JSON list of image ids
    Column("shown", Text, nullable=False),  # JSON: what may be shown (class, classes)
    Column("stratum", Text),
    Column("batch", Text),
    Column("role", Text, nullable=False),
    Column("gold", Text),  # never sent
    Column("secret", Text),  # JSON: sources, coefficient; never sent
    Column("target", Integer, nullable=False),
    Column("finished", Integer, nullable=False, server_default=sa.text("0")),
    Column("reserved", Integer, nullable=False, server_default=sa.text("0")),
    Column("paused", Boolean, nullable=False, server_default=sa.false()),
    Column("lot", Double, nullable=False),  # drawn anew at every reservation; decides ties
)

participant = Table(
    "participant",
    tables,
    Column("id", Integer, primary_key=True),
    Column("pseudonym", Text, nullable=False, unique=True),
    Column("consent_version", Text, nullable=False),  # "not asked" where the study asks for none
    Column("consent_hash", Text, nullable=False),
    Column("consent_at", Double, nullable=False),
    Column("excluded", Text),  # the rule; says nothing about pay
    Column("excluded_at", Double),
    Column("paid", Text),
    Column("withdrawn_at", Double),
    sqlite_autoincrement=True,  # the id of a person who withdrew is never given to another
)

participant_identity = Table(
    "participant_identity",
    tables,
    Column("participant", ForeignKey("participant.id"), primary_key=True),
    Column("platform", Text, nullable=False),
    Column("platform_id", Text, nullable=False),  # the only place of it (S13)
)

session = Table(
    "session",
    tables,
    Column("id", Integer, primary_key=True),
    Column("participant", ForeignKey("participant.id"), nullable=False, index=True),
    Column("study_id", Text, nullable=False),
    Column("platform_session", Text),  # keyed hash
    Column("address", Text, index=True),  # keyed hash
    Column("language", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("plan", Text, nullable=False),  # JSON list of slots, see slots.py
    Column("batch", Text),
    Column("position", Integer, nullable=False),  # slot to answer, from 0
    Column("issued", Integer, nullable=False),  # trials so far
    Column("wanted", Integer, nullable=False),  # main slots that have no stimulus yet
    Column("back_to", Integer),  # trial that is looked at again
    Column("order_seed", Integer, nullable=False),
    Column("label_order", Text, nullable=False),  # JSON list of classes
    Column("last_answer", Text),
    Column("same_answers", Integer, nullable=False),  # how often last_answer was given in a row
    Column("started", Double, nullable=False),
    Column("last_seen", Double, nullable=False),
    Column("finished", Double),  # when the end was reached; null for those screened out
    Column("returned", Double),
    Column("ended", Text),  # finished, screened-out, returned, lapsed
    Column("comprehension_tries", Integer, nullable=False),
    Column("completion_code", Text),
    sqlite_autoincrement=True,
)

# Not on last_seen, which every answer changes.
Index(
    "session_running",
    session.c.id,
    sqlite_where=session.c.ended.is_(None),
    postgresql_where=session.c.ended.is_(None),
)

session_token = Table(
    "session_token",
    tables,
    Column("token_hash", Text, primary_key=True),  # SHA-256; each browser has its own token
    Column("session", ForeignKey("session.id"), nullable=False, index=True),
    Column("issued", Double, nullable=False),
)

trial = Table(
    "trial",
    tables,
    Column("id", Integer, primary_key=True),
    Column("session", ForeignKey("session.id"), nullable=False),
    Column("number", Integer, nullable=False),  # in the order of issue, from 1
    Column("slot", Integer, nullable=False),  # of the plan, from 0
    Column("stimulus", ForeignKey("stimulus.id"), nullable=False),
    Column("view", Text, nullable=False),  # as in judgments.VIEWS
    Column("repeats_trial", Integer),
    Column("shown", Text, nullable=False),  # JSON: {"swapped": true} where two sides changed places
    Column("issued", Double, nullable=False),
    Column("opened", Double),
    Column("closed", Double),
    Column("expires", Double, nullable=False),
    Column("state", Text, nullable=False),  # ahead, open, answered, expired, released
    Column("counted", Boolean, nullable=False),  # whether stimulus.finished counts it
    sa.UniqueConstraint("session", "number"),
    Index("trial_session_slot", "session", "slot"),
    Index("trial_stimulus_session", "stimulus", "session"),
)
Index(
    "trial_expires",
    trial.c.expires,
    sqlite_where=trial.c.state.in_([sa.literal_column("'ahead'"), sa.literal_column("'open'")]),
    postgresql_where=trial.c.state.in_([sa.literal_column("'ahead'"), sa.literal_column("'open'")]),
)

answer = Table(
    "answer",
    tables,
    Column("trial", ForeignKey("trial.id"), primary_key=True, autoincrement=False),
    Column("answer", Text, nullable=False),  # JSON, as judgments.statements reads it
    Column("mode", Text, nullable=False),
    Column("faults", Text, nullable=False),  # JSON list of names
    Column("key", Text, nullable=False),
    Column("received", Double, nullable=False, index=True),
    Column("seconds", Double, nullable=False),  # by the page's monotonic clock
    Column("input_seconds", Text, nullable=False),  # JSON
    Column("late", Boolean, nullable=False),
    Column("changed", Integer, nullable=False),
)

answer_event = Table(
    "answer_event",
    tables,
    Column("id", Integer, primary_key=True),
    Column("trial", ForeignKey("trial.id"), nullable=False, index=True),
    Column("kind", Text, nullable=False),  # answer, change, inputs, focus, paste, hint
    Column("at", Double, nullable=False),
    Column("data", Text, nullable=False),  # JSON
)

reply = Table(
    "reply",
    tables,
    Column("id", Integer, primary_key=True),
    Column("session", ForeignKey("session.id"), nullable=False, index=True),
    Column("stage", Text, nullable=False),  # comprehension, debrief
    Column("at", Double, nullable=False),
    Column("data", Text, nullable=False),  # JSON list of texts
)

flag = Table(
    "flag",
    tables,
    Column("id", Integer, primary_key=True),
    Column("session", ForeignKey("session.id"), nullable=False, index=True),
    Column("kind", Text, nullable=False),  # a name in flags.FLAGS
    Column("at", Double, nullable=False),
    Column("data", Text, nullable=False),  # JSON
)

audit = Table(
    "audit",
    tables,
    Column("id", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("data", Text, nullable=False),  # JSON
)

Index("audit_who", audit.c.who, audit.c.what)  # whether a session was ended, at every page

webhook_event = Table(
    "webhook_event",
    tables,
    Column("event_id", Text, primary_key=True),
    Column("at", Double, nullable=False),
)

withdrawal = Table(
    "withdrawal",
    tables,
    Column("id", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("answers", Integer, nullable=False),
)

load = stimulus.c.finished + stimulus.c.reserved
"""Places that are taken; never more than the target for main stimuli."""

available = sa.and_(
    stimulus.c.role == sa.literal_column("'main'"), load < stimulus.c.target, ~stimulus.c.paused
)
"""Main stimuli that can take one more person. The indexes hold only these, so that a choice
among 60,000 costs the same at the end of a collection as at its beginning."""

Index(
    "stimulus_choice",
    load,
    stimulus.c.lot,
    sqlite_where=available,
    postgresql_where=available,
)
_in_stratum = sa.and_(available, stimulus.c.stratum.is_not(None))
Index(
    "stimulus_choice_by_stratum",
    stimulus.c.stratum,
    load,
    stimulus.c.lot,
    sqlite_where=_in_stratum,
    postgresql_where=_in_stratum,
)
beside = stimulus.c.role != sa.literal_column("'main'")
"""Checks and practice: few, and without a cap."""
Index("stimulus_beside", stimulus.c.role, sqlite_where=beside, postgresql_where=beside)
# Not on the role: a planner without statistics would prefer it to the indexes of the choice.
Index("stimulus_batch", stimulus.c.batch)
