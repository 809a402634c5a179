"""What it would take until all labels have converged, and what an answer tells for its price."""

from typing import Any

import numpy as np

from sfumato.elicit.live.live import Live
from sfumato.elicit.live.people import hourly_pay
from sfumato.elicit.live.tally import Tally


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
        wanted = live.measures.enough(tally.change[stuck], count[stuck], live.threshold)
        more = np.clip(wanted - count[stuck], 1, units.target[stuck]).astype(np.int64)
        ids = [units.ids[place] for place in stuck.tolist()]
        return dict(zip(ids, more.tolist(), strict=True))


def convergence(live: Live) -> dict[str, Any]:
    """How far off it is that all items have converged, in answers, time and pay."""
    with live.lock:
        tally = live.known
        asked = tally.units.is_main & ~tally.units.paused
        seen = asked & (tally.count > 0)
        count = tally.count[seen]
        wanted = live.measures.enough(tally.change[seen], count, live.threshold)
        answers = int(np.maximum(wanted - count, 0).sum())
        seconds, each = median_seconds(tally), _pay_an_answer(live)
        more = places_to_open(live)
        return {
            "threshold": live.threshold,
            "answers": answers,
            "unseen": int((asked & (tally.count == 0)).sum()),
            "hours": None if seconds is None else answers * seconds / 3600,
            "pay": None if each is None else answers * each,
            "complete_but_open": len(more),
            "places_to_open": sum(more.values()),
        }


def told_by_answers(live: Live) -> dict[str, Any] | None:
    """Bits of an answer, by time (S1-31) and pay; None where they cannot be counted."""
    with live.lock:
        told, tally = live.told, live.known
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
