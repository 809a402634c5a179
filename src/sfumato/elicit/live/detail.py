"""Turn what is known into the pages of one person and one item, of pairs of people, and of time."""

import json
from typing import Any

import numpy as np
import polars as pl

from sfumato.elicit.live.live import Live
from sfumato.elicit.live.tally import Tally, take_rows
from sfumato.elicit.live.views import items_page, person_row, what_is_shown
from sfumato.elicit.refusals import UnknownTrial
from sfumato.judgments.judgments import VIEWS
from sfumato.labels.agreement import between_pairs
from sfumato.labels.running import numbered_crowd

MOST_BINS = 48
MOST_PEOPLE = 30
"""Whose pairs are compared: those with most answers."""
STEPS = (60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800)
"""Seconds that one bin of a curve may span."""


def person_detail(live: Live, participant: int) -> dict[str, Any]:
    """Everything that one person answered, in order, beside what all others said."""
    with live.lock:
        tally = live.known
        if participant not in live.people.persons:
            raise UnknownTrial("There is no such person, or they withdrew.")
        place = tally.place_of_person[participant]
        rows = tally.living(tally.by_person.rows(place))
        return {
            "person": person_row(live, participant),
            "outcomes": list(tally.outcomes),
            "answers": [_answer(live, row) for row in rows.tolist()],
        }


def item_detail(live: Live, stimulus: int) -> dict[str, Any]:
    """Everything that was answered about one item."""
    with live.lock:
        tally = live.known
        unit = tally.units.place.get(stimulus)
        if unit is None:
            raise UnknownTrial("There is no such item.")
        rows = tally.living(tally.by_unit.rows(unit))
        labels = items_page(live, only=[unit]) if tally.units.is_main[unit] else None
        return {
            "stimulus": stimulus,
            "item": tally.units.items[unit],
            "role": tally.units.roles[unit],
            "gold": tally.units.gold_names[unit],
            "images": json.loads(tally.units.images[unit]),
            "texts": what_is_shown(tally.units.shown[unit])["texts"],
            "outcomes": list(tally.outcomes),
            "label": labels["items"][0] if labels else None,
            "answers": [_answer(live, row) for row in rows.tolist()],
        }


def _answer(live: Live, row: int) -> dict[str, Any]:
    tally = live.known
    stored, units = tally.rows[row], tally.units
    unit, said = int(stored["unit"]), int(stored["said"])
    participant = tally.people[int(stored["person"])]
    probs, others = tally.probs[said], _others(tally, row)
    told = np.isfinite(probs).all()
    return {
        "participant": participant,
        "pseudonym": live.people.persons[participant].pseudonym,
        "in_data": bool(tally.in_data[int(stored["person"])]),
        "stimulus": units.ids[unit],
        "item": units.items[unit],
        "images": json.loads(units.images[unit]),
        "texts": what_is_shown(units.shown[unit])["texts"],
        "number": int(stored["number"]),
        "view": VIEWS[int(stored["view"])],
        "text": tally.texts[said],
        "probs": [round(one, 4) for one in probs.tolist()] if told else None,
        "far": None
        if others is None or not told
        else round(0.5 * float(np.abs(probs - others).sum()), 4),
        "gold": units.gold_names[unit],
        "right": None if units.gold[unit] < 0 else bool(tally.choice[said] == units.gold[unit]),
        "seconds": float(stored["seconds"]),
        "received": float(stored["received"]),
        "changed": int(stored["changed"]),
        "faults": list(tally.fault_lists[int(stored["faults"])]),
    }


def _others(tally: Tally, row: int) -> Any:
    """The mean of what all others said about the item of an answer; None where nobody did."""
    unit, person = int(tally.rows["unit"][row]), int(tally.rows["person"][row])
    _, people, probs = take_rows(tally, [unit])
    probs = probs[people != person]
    return probs.mean(axis=0) if len(probs) else None


def pairs_of_people(live: Live) -> pl.DataFrame:
    """How far each two people agree about items that both answered about, closest last.

    Of many people only those with most answers are compared.
    """
    with live.lock:
        tally = live.known
        main = np.flatnonzero(tally.units.is_main & (tally.count > 1))
        item, person, probs = take_rows(tally, main.tolist())
        pairs = between_pairs(numbered_crowd(tally.outcomes, item, person, probs), most=MOST_PEOPLE)
        of_place = {str(place): tally.people[place] for place in np.unique(person).tolist()}
        called = {place: live.people.persons[id_].pseudonym for place, id_ in of_place.items()}
        return pairs.sort("items", descending=True).with_columns(
            *(pl.col(side).replace_strict(called).alias(f"{side}_name") for side in _SIDES),
            *(pl.col(side).replace_strict(of_place).alias(f"{side}_id") for side in _SIDES),
        )


_SIDES = ("first", "second")


def over_time(live: Live) -> dict[str, Any]:
    """Answers and median seconds in bins of equal length, from the first answer to the last."""
    with live.lock:
        tally = live.known
        rows = tally.rows[: tally.size]
        rows = rows[rows["alive"]]
        if not len(rows):
            return {"seconds": STEPS[0], "bins": []}
        first, last = float(rows["received"].min()), float(rows["received"].max())
        step = next((one for one in STEPS if (last - first) / one < MOST_BINS), STEPS[-1])
        start = first // step * step
        bins = ((rows["received"] - start) // step).astype(np.int64)
        table = pl.DataFrame({"bin": bins, "seconds": rows["seconds"]})
        counted = table.group_by("bin").agg(pl.len().alias("answers"), pl.col("seconds").median())
        every = pl.DataFrame({"bin": np.arange(int(bins.max()) + 1)})
        found = every.join(counted, on="bin", how="left").sort("bin")
        return {
            "seconds": step,
            "bins": [
                {"at": start + step * at, "answers": answers or 0, "median": median}
                for at, answers, median in found.rows()
            ],
        }
