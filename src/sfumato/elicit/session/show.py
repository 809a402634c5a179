"""Work out the screen that a session is at; opens the next trial and reserves the one after it."""

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.session.answers import swap_sides
from sfumato.elicit.session.assign import issue, reopen_trial
from sfumato.elicit.session.collection import Collection
from sfumato.elicit.session.screen import (
    ClosedScreen,
    ComprehensionQuestion,
    ComprehensionScreen,
    DebriefScreen,
    DoneScreen,
    InstructionsScreen,
    Screen,
    ShownQuestion,
    ShownTrial,
    TrialScreen,
)
from sfumato.elicit.session.sitting import (
    Sitting,
    StoredTrial,
    advance,
    begin_trials,
    raise_flag,
    read_json,
    trial_of,
)
from sfumato.elicit.storage import sql
from sfumato.elicit.storage.database import Connection

STAGES = ("instructions", "comprehension", "trials", "debrief", "done")
"""In order; a stage without content is passed over."""


def what_to_show(
    connection: Connection,
    collection: Collection,
    sitting: Sitting,
    *,
    now: float,
    rng: np.random.Generator,
    waiting: Sequence[StoredTrial] | None = None,
) -> Screen:
    """The screen of a session; the caller saves the session afterwards.

    ``waiting`` is what ``waiting_trials`` found, where the caller has asked already.
    """
    study = collection.study
    if sitting.ended == "returned":
        return ClosedScreen(reason="returned")
    if sitting.lapsed:
        return ClosedScreen(reason="expired")
    if sitting.stage == "trials":
        found = _current_trial(connection, collection, sitting, waiting=waiting, now=now, rng=rng)
        if found is not None:
            return found
        enter_stage(collection, sitting, "debrief", now=now)
    match sitting.stage:
        case "instructions":
            return InstructionsScreen(text=study.welcome.instructions)
        case "comprehension":
            return comprehension_screen(study, sitting, wrong=())
        case "debrief":
            return DebriefScreen(questions=study.welcome.debrief)
        case "done":
            return _done_screen(study, sitting)
        case _:
            raise AssertionError(f"unknown stage {sitting.stage}")


def enter_stage(collection: Collection, sitting: Sitting, stage: str, *, now: float) -> None:
    """Go to a stage, or past it where it is empty; the code comes with the last one."""
    welcome = collection.study.welcome
    empty = {
        "instructions": not welcome.instructions,
        "comprehension": not welcome.comprehension,
        "debrief": not welcome.debrief,
    }
    if empty.get(stage, False):
        enter_stage(collection, sitting, STAGES[STAGES.index(stage) + 1], now=now)
        return
    sitting.stage = stage
    if stage == "done":
        sitting.ended, sitting.finished = "finished", now
        # Only here, after the last answer is stored, does a code exist.
        sitting.completion_code = (
            collection.study.recruiting.completion_code or secrets.token_hex(4).upper()
        )


def comprehension_screen(
    study: ElicitStudy, sitting: Sitting, *, wrong: tuple[int, ...]
) -> ComprehensionScreen:
    """The questions about the instructions, without their answers."""
    questions = tuple(
        ComprehensionQuestion(question=check.question, choices=check.choices)
        for check in study.welcome.comprehension
    )
    return ComprehensionScreen(
        questions=questions,
        tries=sitting.comprehension_tries,
        of=study.welcome.comprehension_tries,
        wrong=wrong,
    )


def shown_trial(
    collection: Collection, sitting: Sitting, trial: StoredTrial, *, draft: Any = None
) -> ShownTrial:
    """A trial as the page gets it: without its role, its gold answer and its secrets (S16)."""
    study = collection.study
    images, told = read_json(trial.images), read_json(trial.shown)
    texts, shown = told.get("texts", []), {k: v for k, v in told.items() if k != "texts"}
    if trial.swapped:
        images, texts = _swap_last(images), _swap_last(texts)
        shown = {**shown, "classes": shown["classes"][::-1]} if "classes" in shown else shown
        draft = None if draft is None else swap_sides(study.form, draft)
    return ShownTrial(
        id=trial.id,
        number=trial.slot + 1,
        of=len(sitting.plan),
        images=tuple(f"/image/{name}" for name in images),
        texts=texts,
        classes=tuple(sitting.label_order),
        shown=shown,
        question=_asked_about(collection, shown),
        mode=study.mode,
        can_back=_can_back(study, sitting, trial),
        practice=trial.view == "practice",
        draft=draft,
    )


def _swap_last(shown: list[Any]) -> list[Any]:
    return [*shown[:-2], shown[-1], shown[-2]] if len(shown) > 1 else shown


def _asked_about(collection: Collection, shown: Mapping[str, Any]) -> ShownQuestion:
    """The question with the classes that are shown in its wording."""
    first, second = shown.get("classes", (None, None))
    wording = collection.asked.wording
    for place, name in (("class", shown.get("class")), ("first", first), ("second", second)):
        if name is not None:
            wording = wording.replace(f"{{{place}}}", name)
    if wording == collection.asked.wording:
        return collection.asked
    return collection.asked.model_copy(update={"wording": wording})


def _current_trial(
    connection: Connection,
    collection: Collection,
    sitting: Sitting,
    *,
    waiting: Sequence[StoredTrial] | None,
    now: float,
    rng: np.random.Generator,
) -> TrialScreen | None:
    """The trial to answer, or None after the last."""
    if sitting.back_to is not None:
        row = connection.one(sql.TRIAL_BY_ID, trial=sitting.back_to, session=sitting.id)
        again = shown_trial(collection, sitting, trial_of(row), draft=json.loads(row.answer))
        return TrialScreen(trial=again, preload=(), progress=_progress(sitting))
    if sitting.issued == 0:
        begin_trials(sitting)
    trial = None
    at_slot: dict[int, StoredTrial] = {}
    while trial is None and sitting.position < len(sitting.plan):
        if waiting is None:
            waiting = waiting_trials(connection, sitting)
        at_slot = {each.slot: each for each in waiting}  # the newest of each slot
        found = at_slot.get(sitting.position)
        trial = _open_slot(connection, collection, sitting, found, now=now, rng=rng)
        if trial is None:  # nothing is left for this slot; the session gets shorter
            raise_flag(connection, sitting.id, "ran-out", now=now, about={"slot": sitting.position})
            advance(sitting)
            waiting = None
    if trial is None:
        return None
    ahead = at_slot.get(sitting.position + 1)
    preload = _look_ahead(connection, collection, sitting, ahead, now=now, rng=rng)
    shown = shown_trial(collection, sitting, trial)
    return TrialScreen(trial=shown, preload=preload, progress=_progress(sitting))


def waiting_trials(connection: Connection, sitting: Sitting) -> list[StoredTrial]:
    """What was issued and not answered for the slot to answer and the two after it, oldest first.

    Two: the second is the one to look ahead at when the first is answered.
    """
    slot = sitting.position
    rows = connection.all(sql.TRIALS_AT_SLOTS, session=sitting.id, slot=slot, last_slot=slot + 2)
    return sorted(map(trial_of, rows), key=lambda trial: trial.number)


def _open_slot(
    connection: Connection,
    collection: Collection,
    sitting: Sitting,
    trial: StoredTrial | None,
    *,
    now: float,
    rng: np.random.Generator,
) -> StoredTrial | None:
    if trial is not None:
        expires = now + collection.study.reserve_minutes * 60
        # An open trial is left as it is: a reload or a second tab gets the same one (R3).
        if trial.state == "open" or reopen_trial(
            connection, trial, now=now, expires=expires, rng=rng
        ):
            return trial
    return issue(connection, collection, sitting, sitting.position, ahead=False, now=now, rng=rng)


def _look_ahead(
    connection: Connection,
    collection: Collection,
    sitting: Sitting,
    trial: StoredTrial | None,
    *,
    now: float,
    rng: np.random.Generator,
) -> tuple[str, ...]:
    """Reserve the slot after this one, so that its images can be fetched in time."""
    slot = sitting.position + 1
    if slot >= len(sitting.plan):
        return ()
    if trial is None:
        trial = issue(connection, collection, sitting, slot, ahead=True, now=now, rng=rng)
    if trial is None:
        return ()
    return tuple(f"/image/{name}" for name in read_json(trial.images))


def _can_back(study: ElicitStudy, sitting: Sitting, trial: StoredTrial) -> bool:
    """Whether there is a way back; only one step where first answers are asked for again later."""
    layout = study.layout
    one_step = bool(layout.repeats or layout.repeat_numbers)
    if not layout.allow_back or trial.slot == 0:
        return False
    return not (one_step and sitting.back_to is not None)


def _progress(sitting: Sitting) -> float:
    return round(sitting.position / len(sitting.plan), 4)


def _done_screen(study: ElicitStudy, sitting: Sitting) -> DoneScreen:
    code = sitting.completion_code or ""
    url = study.recruiting.completion_url
    return DoneScreen(
        code=code,
        redirect=url.replace("{code}", quote(code, safe="")) if url else None,
        screened_out=sitting.ended == "screened-out",
    )
