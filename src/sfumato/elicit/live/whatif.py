"""What would happen: who would be left out by each rule, and how far off convergence is.

The rules are those of ``judgments.quality``; they see all answers in memory, as an export would
have them. People who may still answer are not found: half a session says little.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.elicit.live.live import Live
from sfumato.elicit.live.people import hourly_pay, is_running
from sfumato.elicit.live.tally import FIRST, Tally
from sfumato.errors import DataError
from sfumato.judgments.judgments import VIEWS, Judgments
from sfumato.judgments.quality import RULES, rule_with
from sfumato.judgments.question import Question
from sfumato.labels.running import answers_to_converge


@dataclass(frozen=True)
class RuleMatch:
    """Somebody whom a rule would leave out."""

    participant: int
    pseudonym: str
    reason: str
    answers: int
    places: int
    """That would be given to others."""


@dataclass(frozen=True)
class Preview:
    """What a rule would do."""

    rule: str
    about: str
    in_protocol: bool
    """Whether the study names it among its own rules."""
    looked_at: int
    """Answers it could judge."""
    found: tuple[RuleMatch, ...] = ()
    running: int = 0
    """People it would find who may still answer."""
    already: int = 0
    """People it finds who are excluded, by whatever rule."""
    single_answers: int = 0
    """Answers that it would leave out of labels without excluding anybody."""
    problem: str = ""
    """Why the rule cannot be used here."""

    @property
    def answers(self) -> int:
        """Answers that would leave the data."""
        return sum(one.answers for one in self.found)

    @property
    def places(self) -> int:
        """Places that would be given to others."""
        return sum(one.places for one in self.found)


def preview_rules(live: Live) -> tuple[Preview, ...]:
    """What each known rule would do; those of the study's own protocol first."""
    with live.lock:
        judgments = judgments_now(live)
        own = live.collection.study.rules
        names = sorted(RULES, key=lambda name: (name not in own, name))
        return tuple(_preview(live, judgments, name) for name in names)


def preview_rule(live: Live, name: str) -> Preview:
    """What one rule would do; an unknown name raises ``UnknownName``."""
    rule_with(name)
    with live.lock:
        return _preview(live, judgments_now(live), name)


def judgments_now(live: Live) -> Judgments | None:
    """All answers, with their authors' places as names; None for comparisons and mixes."""
    question = live.collection.question
    if not isinstance(question, Question):
        return None
    tally = live.known
    rows = tally.rows[: tally.size]
    rows = rows[rows["alive"]]
    ended = {id_: one.ended == "finished" for id_, one in live.people.sessions.items()}
    known = set(question.classes)
    gold = [name if name in known else None for name in tally.units.gold_names]
    table = pl.DataFrame(
        {
            "item": _gathered(tally.units.items, rows["unit"]),
            "annotator": pl.Series(rows["person"]).cast(pl.String),
            "answer": _gathered(tally.texts, rows["said"]),
            "seconds": rows["seconds"],
            "order": rows["number"],
            "view": _gathered(VIEWS, rows["view"].astype(np.int64)),
            "gold": _gathered(gold, rows["unit"]),
            "completed": [ended.get(session, False) for session in rows["session"].tolist()],
        }
    )
    return Judgments(question, table)


def _gathered(names: Sequence[str | None], places: np.ndarray) -> pl.Series:
    return pl.Series(values=list(names), dtype=pl.String).gather(pl.Series(places))


def _preview(live: Live, judgments: Judgments | None, name: str) -> Preview:
    rule = rule_with(name)
    in_protocol = name in live.collection.study.rules
    empty = Preview(name, rule.about, in_protocol, 0)
    if judgments is None or not len(judgments):
        problem = (
            "The rules read answers about classes; this study has comparisons or mixes."
            if judgments is None
            else "There are no answers yet."
        )
        return Preview(name, rule.about, in_protocol, 0, problem=problem)
    try:
        findings = rule.finds(judgments, rule.settings)
    except DataError as error:
        return Preview(name, rule.about, in_protocol, empty.looked_at, problem=str(error))
    people = findings.table.filter(pl.col("what") == "person").select("annotator", "reason").rows()
    tally, known = live.known, live.people
    found, running, already = [], 0, 0
    for place, reason in people:
        participant = tally.people[int(place)]
        if known.persons[participant].excluded is not None:
            already += 1
        elif is_running(known, participant):
            running += 1
        else:
            found.append(_found(live, tally, participant, reason))
    single = int((findings.table["what"] == "answer").sum())
    return Preview(
        name, rule.about, in_protocol, findings.looked_at, tuple(found), running, already, single
    )


def _found(live: Live, tally: Tally, participant: int, reason: str) -> RuleMatch:
    rows = tally.rows[tally.living(tally.by_person.rows(tally.place_of_person[participant]))]
    places = int(((rows["view"] == FIRST) & rows["counted"]).sum())
    pseudonym = live.people.persons[participant].pseudonym
    return RuleMatch(participant, pseudonym, reason, len(rows), places)


def places_to_open(live: Live) -> dict[int, int]:
    """More places for each item that has all its answers and has not converged, by stimulus.

    As many as would bring it there if people go on to differ as they do, but at most as many again
    as it has: what is expected then is known better.
    """
    with live.lock:
        tally = live.known
        units, count = tally.units, tally.count
        done = units.is_main & ~units.paused & (units.finished >= units.target) & (count > 0)
        stuck = np.flatnonzero(done & ~(tally.change < live.threshold))
        wanted = answers_wanted(live, stuck)
        more = np.clip(wanted - count[stuck], 1, units.target[stuck]).astype(np.int64)
        ids = [units.ids[place] for place in stuck.tolist()]
        return dict(zip(ids, more.tolist(), strict=True))


def answers_wanted(live: Live, units: NDArray[Any]) -> NDArray[np.float64]:
    """With how many answers each of these items will have converged; NaN where nobody answered."""
    tally = live.known
    return answers_to_converge(
        tally.change[units],
        tally.count[units],
        outcomes=len(tally.outcomes),
        threshold=live.threshold,
    )


def convergence(live: Live) -> dict[str, Any]:
    """How far off it is that all items have converged, in answers, time and pay."""
    with live.lock:
        tally = live.known
        asked = tally.units.is_main & ~tally.units.paused
        seen = asked & (tally.count > 0)
        count = tally.count[seen]
        wanted = answers_wanted(live, seen)
        answers = int(np.maximum(wanted - count, 0).sum())
        seconds, each = median_seconds(tally), _pay_an_answer(live)
        more = places_to_open(live)
        return {
            "threshold": live.threshold,
            "answers": answers,
            "people": math.ceil(answers / live.collection.study.layout.trials_per_person),
            "next": next_answer(live),
            "unseen": int((asked & (tally.count == 0)).sum()),
            "hours": None if seconds is None else answers * seconds / 3600,
            "pay": None if each is None else answers * each,
            "complete_but_open": len(more),
            "places_to_open": sum(more.values()),
        }


def next_answer(live: Live) -> dict[str, Any]:
    """What one more answer changes where it changes most, and on average, and what it costs.

    The change is that of the label as a distribution, never whether its leading class is sure: an
    item whose class is beyond doubt may still not say how people differ about it.
    """
    tally = live.known
    asked = tally.units.is_main & ~tally.units.paused & (tally.count > 0)
    change = tally.change[asked]
    return {
        "most": float(change.max()) if len(change) else None,
        "mean": float(change.mean()) if len(change) else None,
        "pay": _pay_an_answer(live),
    }


def told_by_answers(live: Live) -> dict[str, Any] | None:
    """Bits of an answer, by time (S1-31) and pay; None where they cannot be counted."""
    with live.lock:
        told, tally = live.information, live.known
        if told is None:
            return None
        seconds, each = median_seconds(tally), _pay_an_answer(live)
        bits = told.bits / int(tally.units.is_main.sum())
        return {
            "constraints": told.constraints,
            "contradicted": told.contradicted,
            "bits_an_answer": bits,
            "bits_a_second": bits / seconds if seconds else None,
            "bits_for_pay": bits / each if each else None,
        }


def median_seconds(tally: Tally) -> float | None:
    """The median over people of their median seconds an answer."""
    person = tally.person[: len(tally.people)]
    medians = person["median"][person["answers"] > 0]
    middle = float(np.median(medians)) if len(medians) else np.nan
    return middle if np.isfinite(middle) else None


def _pay_an_answer(live: Live) -> float | None:
    """The pay of a session over its main trials; without one, what the promise comes to."""
    study = live.collection.study
    pay = hourly_pay(live.people, study.recruiting)
    whole = pay["due"] if pay["pay"] is None else pay["pay"]
    return whole / study.layout.trials_per_person if isinstance(whole, int | float) else None
