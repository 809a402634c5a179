"""What a researcher can do from the dashboard, as commands for the writer; all are in the log."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool

from sfumato.elicit.live.live import Live
from sfumato.elicit.live.whatif import places_to_open, preview_rule
from sfumato.elicit.refusals import AnswerFault, Conflict, InvalidAnswer
from sfumato.elicit.session import commands
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.people import note_act, scrub_files
from sfumato.elicit.session.writer import Writer
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.names import find

LONGEST_REASON = 500
MOST_PLACES = 1_000
"""Of one item; as for ``per_item``."""

_PAY = prepare(
    sa.update(store.participant)
    .where(store.participant.c.id == sa.bindparam("participant"))
    .values(paid=sa.bindparam("paid"))
    .returning(store.participant.c.id)
)

_stimulus = store.stimulus
_OPEN_PLACES = prepare(
    sa.update(_stimulus)
    .where(
        _stimulus.c.id == sa.bindparam("stimulus"),
        _stimulus.c.role == sa.literal_column("'main'"),
        _stimulus.c.target <= sa.bindparam("most", type_=sa.Integer),
    )
    .values(target=_stimulus.c.target + sa.bindparam("places", type_=sa.Integer))
    .returning(_stimulus.c.target)
)


def note(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    who: str,
    what: str,
    about: Mapping[str, Any],
) -> None:
    """Write a line of the log about something that changes nothing else."""
    note_act(connection, who, what, dict(about), now=now)


def decide_pay(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    participant: int,
    refused: str | None,
    who: str,
) -> None:
    """Refuse somebody's pay for a reason, or (None) pay them after all.

    Says nothing about their data: being excluded is no reason to refuse pay.
    """
    paid = None if refused is None else f"refused: {refused}"
    if connection.one(_PAY, participant=participant, paid=paid) is None:
        raise Conflict(f"There is no participant {participant}.")
    about = {"participant": participant, "refused": refused}
    note_act(connection, who, "pay", about, now=now)


def open_places(
    connection: Connection,
    collection: Collection,
    *,
    now: float,
    rng: np.random.Generator,
    stimulus: int,
    places: int,
    who: str,
) -> int:
    """Let more people answer about an item than the study began with; how many may now."""
    row = connection.one(_OPEN_PLACES, stimulus=stimulus, places=places, most=MOST_PLACES - places)
    if places < 1 or row is None:
        raise Conflict(
            f"There is no main item {stimulus}, or it would have more than {MOST_PLACES} places."
        )
    note_act(connection, who, "open places", {"stimulus": stimulus, "places": places}, now=now)
    return int(row.target)


@dataclass(frozen=True)
class Act:
    """Something to do, with the fields of its form."""

    run: Callable[[Writer, Live, Mapping[str, str], str], Awaitable[str]]
    """The sentence to show afterwards."""
    back: str
    """The page that shows the effect."""


async def perform(writer: Writer, live: Live, form: Mapping[str, str], *, who: str) -> str:
    """Do what a form says; the sentence about it."""
    act = find(ACTS, form.get("act", ""), what="act")
    return await act.run(writer, live, form, who)


async def _exclude(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    rule = _text(form, "rule")
    places = await writer.run(
        commands.exclude, participant=_number(form, "participant"), rule=rule, who=who
    )
    return f"Excluded from the data; {places} places are open again. Pay is not touched."


async def _exclude_by_rule(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    """Exclude those who were shown and whom the rule still finds."""
    rule, shown = _text(form, "rule"), _numbers(form, "participants")
    await run_in_threadpool(live.refresh)
    preview = await run_in_threadpool(preview_rule, live, rule)
    found = [one.participant for one in preview.found if one.participant in shown]
    # All at once: they then share a flush to disk.
    freed = await asyncio.gather(
        *(writer.run(commands.exclude, participant=one, rule=rule, who=who) for one in found)
    )
    return (
        f"{len(found)} people are excluded from the data by the rule {rule}; {sum(freed)} places "
        "are open again. Pay is not touched."
    )


async def _include(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    places = await writer.run(commands.include, participant=_number(form, "participant"), who=who)
    return f"Taken back into the data; {places} answers count for their items again."


async def _include_by_rule(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    rule = _text(form, "rule")
    await run_in_threadpool(live.refresh)
    back = [id_ for id_, one in list(live.people.persons.items()) if one.excluded == rule]
    await asyncio.gather(*(writer.run(commands.include, participant=one, who=who) for one in back))
    return f"{len(back)} people whom the rule {rule} had excluded are in the data again."


async def _withdraw(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    if form.get("sure") != "yes":
        raise _bad("sure", "Tick that all answers of this person shall be erased for good.")
    answers = await writer.run(commands.withdraw, participant=_number(form, "participant"), who=who)
    if await run_in_threadpool(scrub_files, writer.database):
        return f"The person and {answers} answers are erased, also from the files of the database."
    return (
        f"The rows of the person and {answers} answers are gone, but their traces in the files "
        "could not be overwritten while others read them; that happens when the server stops, or "
        "at the next withdrawal."
    )


async def _refuse_pay(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    reason, participant = _text(form, "reason"), _number(form, "participant")
    await writer.run(decide_pay, participant=participant, refused=reason, who=who)
    return "Pay is refused for the reason given. Their data are not touched."


async def _pay(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    participant = _number(form, "participant")
    await writer.run(decide_pay, participant=participant, refused=None, who=who)
    return "They are to be paid."


async def _close(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    await writer.run(commands.close, who=who)
    return "Nobody new is let in; sessions that run may end."


async def _reopen(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    await writer.run(commands.reopen, who=who)
    return "People are let in again."


async def _announce(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    message = form.get("message", "").strip()
    if len(message) > LONGEST_REASON:
        raise _bad("message", f"A message has at most {LONGEST_REASON} characters.")
    await writer.run(commands.announce, message=message, who=who)
    return "Everybody who answers sees it with the next screen." if message else "It is gone."


async def _halt(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    await writer.run(commands.halt, halted=True, who=who)
    return "Within seconds nobody sees a further trial; answers that come in are stored."


async def _go_on(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    await writer.run(commands.halt, halted=False, who=who)
    return "The study goes on; people continue where they stopped."


async def _pause(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    await writer.run(commands.pause, stimulus=_number(form, "stimulus"), paused=True, who=who)
    return "The item is not shown to more people."


async def _resume(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    await writer.run(commands.pause, stimulus=_number(form, "stimulus"), paused=False, who=who)
    return "The item is shown again."


async def _pause_converged(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    await run_in_threadpool(live.refresh)
    tally = live.known
    units = tally.units
    ripe = (tally.change < live.threshold) & units.is_main & ~units.paused
    stimuli = [units.ids[place] for place in np.flatnonzero(ripe).tolist()]
    await asyncio.gather(
        *(writer.run(commands.pause, stimulus=one, paused=True, who=who) for one in stimuli)
    )
    return f"{len(stimuli)} items that have converged are not shown to more people."


async def _open_places(writer: Writer, live: Live, form: Mapping[str, str], who: str) -> str:
    await run_in_threadpool(live.refresh)
    more = await run_in_threadpool(places_to_open, live)
    await asyncio.gather(
        *(
            writer.run(open_places, stimulus=stimulus, places=places, who=who)
            for stimulus, places in more.items()
        )
    )
    return f"{sum(more.values())} places are open about {len(more)} items that have not converged."


ACTS: dict[str, Act] = {
    "exclude": Act(_exclude, "people"),
    "exclude-by-rule": Act(_exclude_by_rule, "rules"),
    "include": Act(_include, "people"),
    "include-by-rule": Act(_include_by_rule, "rules"),
    "withdraw": Act(_withdraw, "people"),
    "refuse-pay": Act(_refuse_pay, "people"),
    "pay": Act(_pay, "people"),
    "close": Act(_close, ""),
    "reopen": Act(_reopen, ""),
    "announce": Act(_announce, ""),
    "halt": Act(_halt, ""),
    "go-on": Act(_go_on, ""),
    "pause": Act(_pause, "items"),
    "resume": Act(_resume, "items"),
    "pause-converged": Act(_pause_converged, "items"),
    "open-places": Act(_open_places, "items"),
}
"""What forms may ask for, by the field ``act``."""


def _bad(field: str, sentence: str) -> InvalidAnswer:
    return InvalidAnswer((AnswerFault(field, "malformed", sentence),))


def _number(form: Mapping[str, str], field: str) -> int:
    text = form.get(field, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise _bad(field, f"The field {field!r} must be a whole number.")
    return int(text)


def _numbers(form: Mapping[str, str], field: str) -> set[int]:
    return {_number({field: part}, field) for part in form.get(field, "").split(",") if part}


def _text(form: Mapping[str, str], field: str) -> str:
    text = form.get(field, "").strip()
    if not 0 < len(text) <= LONGEST_REASON:
        raise _bad(field, f"The field {field!r} must hold 1 to {LONGEST_REASON} characters.")
    return text
