"""Turn what is known into plain tables for the pages and for JSON."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from sfumato.elicit.live.live import Live
from sfumato.elicit.live.people import ACTIVE_SECONDS, Status, hourly_pay, status_of
from sfumato.elicit.live.tally import Tally, take_rows
from sfumato.elicit.live.whatif import (
    answers_wanted,
    convergence,
    median_seconds,
    places_to_open,
    told_by_answers,
)
from sfumato.elicit.session.sitting import FLAGS
from sfumato.items.load import show_text
from sfumato.judgments.judgments import VIEWS
from sfumato.judgments.question import ODDITIES
from sfumato.labels.agreement import Agreement
from sfumato.labels.running import mean_intervals, numbered_crowd
from sfumato.names import find

PAGE = 50
FLOOR_WARNING = 0.95
"""Pay below this share of what was promised is pointed out."""


def overview(live: Live) -> dict[str, Any]:
    """Everything but the single items and people, ready for JSON."""
    with live.lock:
        tally = live.known
        return {
            "study": live.collection.study.name,
            "at": live.refreshed,
            "version": live.version,
            "progress": _progress(live, tally),
            "people": _people(live, tally),
            "times": _times(tally),
            "pay": _pay(live),
            "checks": _checks(tally),
            "repeats": _repeats(tally),
            "oddities": _oddities(tally),
            "flags": _flags(live),
            "agreement": [_plain(_agreement(one)) for one in live.agreement],
            "convergence": convergence(live),
            "told": told_by_answers(live),
        }


def _agreement(measured: Agreement) -> dict[str, Any]:
    return {name: getattr(measured, name) for name in ("name", "value", "low", "high", "n")}


def _progress(live: Live, tally: Tally) -> dict[str, Any]:
    units = tally.units
    main = units.is_main
    finished, target = units.finished[main], units.target[main]
    change = tally.change[main]
    wanted, done = int(target.sum()), int(np.minimum(finished, target).sum())
    histogram = Counter(zip(finished.tolist(), target.tolist(), strict=True))
    return {
        "answers": int(tally.views.sum()),
        "by_view": {view: int(tally.views[at]) for at, view in enumerate(VIEWS)},
        "items": int(main.sum()),
        "complete": int((finished >= target).sum()),
        "converged": int((change < live.threshold).sum()),  # NaN is not below
        "threshold": live.threshold,
        "paused": int(units.paused.sum()),
        "places": wanted,
        "filled": done,
        "reserved": live.reserved,
        "histogram": [
            {"finished": have, "target": want, "items": items}
            for (have, want), items in sorted(histogram.items())
        ],
    }


def _people(live: Live, tally: Tally) -> dict[str, Any]:
    people, now = live.people, live.refreshed
    counted = Counter(
        status_of(people.sessions[session], now=now) for session in people.latest.values()
    )
    excluded = Counter(person.excluded for person in people.persons.values() if person.excluded)
    refused = sum(person.paid is not None for person in people.persons.values())
    return {
        "all": len(people.persons),
        "by_status": {status: counted.get(status, 0) for status in get_args(Status)},
        "excluded": sum(excluded.values()),
        "excluded_by": dict(sorted(excluded.items())),
        "pay_refused": refused,
        "active_seconds": ACTIVE_SECONDS,
    }


def _times(tally: Tally) -> dict[str, Any]:
    found = sorted(tally.medians.items())
    return {
        "by_number": [
            {"number": number, "median": value, "answers": answers}
            for number, (value, answers) in found
            if answers
        ],
        "median_of_people": median_seconds(tally),
    }


def _pay(live: Live) -> dict[str, Any]:
    pay = hourly_pay(live.people, live.collection.study.recruiting)
    hourly, promised = pay["hourly"], pay["promised"]
    low = (
        isinstance(hourly, float)
        and isinstance(promised, float)
        and hourly < FLOOR_WARNING * promised
    )
    return {**pay, "below_promise": low}


def _checks(tally: Tally) -> dict[str, Any]:
    person = tally.person[: len(tally.people)]
    asked = person["checks"] > 0
    shares = person["right"][asked] / person["checks"][asked]
    edges = (0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.01)
    counts = np.histogram(shares, bins=edges)[0].tolist()
    names = ("under 25 %", "25 to 50 %", "50 to 75 %", "75 to 90 %", "90 to 99 %", "all right")
    return {
        "answers": int(person["checks"].sum()),
        "share_right": _ratio(person["right"].sum(), person["checks"].sum()),
        "people": [
            {"right": name, "people": count} for name, count in zip(names, counts, strict=True)
        ],
    }


def _repeats(tally: Tally) -> dict[str, Any]:
    person = tally.person[: len(tally.people)]
    pairs = person["repeats"].sum()
    return {
        "pairs": int(pairs),
        "share_changed": _ratio(person["moved"].sum(), pairs),
        "mean_distance": _ratio(person["distance"].sum(), pairs),
    }


def _oddities(tally: Tally) -> list[dict[str, Any]]:
    counts: Counter[str] = Counter()
    for names, times in zip(tally.fault_lists, tally.fault_counts.tolist(), strict=False):
        for name in names:
            counts[name] += times
    return [
        {"kind": kind, "answers": times, "meaning": ODDITIES.get(kind, "")}
        for kind, times in counts.most_common()
        if times
    ]


def _flags(live: Live) -> list[dict[str, Any]]:
    counts = live.people.flags.most_common()
    return [
        {"kind": kind, "times": times, "meaning": FLAGS.get(kind, "")} for kind, times in counts
    ]


ITEM_SORTS = {
    "item": "name, in the order of the study",
    "answers": "answers in the data, fewest first",
    "change": "expected change by one more person, largest first",
    "doubt": "probability of the leading outcome, smallest first",
}


ITEM_STATES = ("all", "open", "converged", "complete", "paused")


def items_page(
    live: Live,
    *,
    sort: str = "change",
    state: str = "all",
    search: str = "",
    only: Sequence[int] | None = None,
    page: int = 1,
    size: int | None = PAGE,
) -> dict[str, Any]:
    """Some main items with their label, its interval and whether it has converged.

    ``size`` None gives all items, then without intervals: these are worked out for what is shown.
    ``state`` and ``search`` leave others out; ``only`` are places of items.
    """
    find(ITEM_SORTS, sort, what="order of items")
    find(dict.fromkeys(ITEM_STATES), state, what="state of items")
    with live.lock:
        tally = live.known
        units = tally.units
        chosen = np.flatnonzero(units.is_main) if only is None else np.array(only)
        chosen = chosen[_in_state(live, state)[chosen]]
        if search:
            named = search.casefold()
            chosen = chosen[[named in units.items[at].casefold() for at in chosen.tolist()]]
        order = _item_order(tally, chosen, sort)
        pages = max(1, math.ceil(len(order) / (size or max(len(order), 1))))
        page = min(max(page, 1), pages)
        chosen = order if size is None else order[(page - 1) * size : page * size]
        count = tally.count[chosen]
        with np.errstate(invalid="ignore", divide="ignore"):
            probs = tally.sums[chosen] / count[:, None]
        wanted = answers_wanted(live, chosen)
        low = high = np.full(probs.shape, np.nan)
        if size is not None:
            crowd = numbered_crowd(tally.outcomes, *take_rows(tally, chosen.tolist()))
            low, high = mean_intervals(crowd, items=len(chosen))
        rows = [
            {
                "stimulus": units.ids[unit],
                "item": units.items[unit],
                **what_is_shown(units.shown[unit]),
                "images": json.loads(units.images[unit]),
                "finished": int(units.finished[unit]),
                "target": int(units.target[unit]),
                "paused": bool(units.paused[unit]),
                "answers": int(count[at]),
                "change": _number(tally.change[unit]),
                "converged": bool(tally.change[unit] < live.threshold),
                "enough": _number(wanted[at]),
                "probs": _numbers(probs[at]),
                "low": _numbers(low[at]),
                "high": _numbers(high[at]),
            }
            for at, unit in enumerate(chosen.tolist())
        ]
        return {
            "outcomes": list(tally.outcomes),
            "sort": sort,
            "state": state,
            "search": search,
            "page": page,
            "pages": pages,
            "of": len(order),
            "items": rows,
            "to_open": places_to_open(live),
        }


def _in_state(live: Live, state: str) -> Any:
    tally = live.known
    converged = tally.change < live.threshold
    match state:
        case "open":
            return ~converged & ~tally.units.paused
        case "converged":
            return converged
        case "complete":
            return tally.units.finished >= tally.units.target
        case "paused":
            return tally.units.paused
        case _:
            return np.ones(len(converged), dtype=bool)


def _item_order(tally: Tally, main: Any, sort: str) -> Any:
    match sort:
        case "item":
            return main
        case "answers":
            key = tally.count[main].astype(np.float64)
        case "change":
            key = -np.nan_to_num(tally.change[main], nan=np.inf)
        case "doubt":
            leading = tally.sums[main].max(axis=1, initial=0.0)
            key = np.where(tally.count[main] > 0, leading / np.maximum(tally.count[main], 1), -1.0)
        case _:
            raise AssertionError(f"unknown order {sort}")
    return main[np.argsort(key, kind="stable")]


PERSON_SORTS = {
    "latest": "who began last first",
    "checks": "share of checks right, smallest first",
    "time": "median seconds an answer, quickest first",
    "flags": "flags, most first",
    "faults": "share of answers with an oddity, largest first",
}


PERSON_STATES = ("all", *get_args(Status), "left out", "pay refused", "flagged")


def people_page(
    live: Live,
    *,
    sort: str = "latest",
    state: str = "all",
    search: str = "",
    page: int = 1,
    size: int = PAGE,
) -> dict[str, Any]:
    """Some people with what they answered; what keeps them out of the data, and their pay."""
    find(PERSON_SORTS, sort, what="order of people")
    find(dict.fromkeys(PERSON_STATES), state, what="state of people")
    with live.lock:
        rows = [person_row(live, participant) for participant in live.people.persons]
        rows = [row for row in rows if _is_in_state(row, state) and _is_called(row, search)]
        keys: dict[str, Any] = {
            "latest": lambda row: -row["started"],
            "checks": lambda row: _or(row["checks_right"], 2.0),
            "time": lambda row: _or(row["median_seconds"], math.inf),
            "flags": lambda row: -row["flags"],
            "faults": lambda row: -_or(row["faulty"], -1.0),
        }
        rows.sort(key=lambda row: (keys[sort](row), -row["id"]))
        pages = max(1, math.ceil(len(rows) / size))
        page = min(max(page, 1), pages)
        return {
            "sort": sort,
            "state": state,
            "search": search,
            "page": page,
            "pages": pages,
            "of": len(rows),
            "people": rows[(page - 1) * size : page * size],
        }


def _is_in_state(row: dict[str, Any], state: str) -> bool:
    match state:
        case "all":
            return True
        case "left out":
            return row["excluded"] is not None
        case "pay refused":
            return row["paid"] is not None
        case "flagged":
            return row["flags"] > 0
        case _:
            return bool(row["status"] == state)


def _is_called(row: dict[str, Any], search: str) -> bool:
    return search in (str(row["id"]), "") or row["pseudonym"].startswith(search)


def person_row(live: Live, participant: int) -> dict[str, Any]:
    """What one person did so far, in figures."""
    people, tally = live.people, live.known
    person = people.persons[participant]
    latest = people.latest.get(participant)
    session = None if latest is None else people.sessions[latest]
    place = tally.place_of_person[participant]
    sums = tally.person[place]
    answers = int(sums["answers"])
    flags = people.flags_of.get(latest or 0, Counter())
    return {
        "id": participant,
        "pseudonym": person.pseudonym,
        "status": "not begun" if session is None else status_of(session, now=live.refreshed),
        "stage": "" if session is None else session.stage,
        "started": 0.0 if session is None else session.started,
        "minutes": None
        if session is None
        else ((session.finished or session.last_seen) - session.started) / 60,
        "answers": answers,
        "median_seconds": _number(sums["median"]) if answers else None,
        "checks": int(sums["checks"]),
        "checks_right": _ratio(sums["right"], sums["checks"]),
        "repeats": int(sums["repeats"]),
        "repeats_changed": _ratio(sums["moved"], sums["repeats"]),
        "faulty": _ratio(sums["faulty"], answers),
        "flags": sum(flags.values()),
        "flag_kinds": sorted(flags),
        "excluded": person.excluded,
        "paid": person.paid,
    }


def _or(value: float | None, instead: float) -> float:
    return instead if value is None else value


def _ratio(part: Any, whole: Any) -> float | None:
    return float(part) / float(whole) if whole else None


def _number(value: Any) -> float | None:
    """JSON has no NaN."""
    return float(value) if np.isfinite(value) else None


def _numbers(values: Any) -> list[float | None]:
    return [round(value, 4) if math.isfinite(value) else None for value in values.tolist()]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _number(value) if isinstance(value, float) else value
        for name, value in values.items()
    }


def what_is_shown(stored: str) -> dict[str, Any]:
    """What annotators see of an item: classes and, shortened, its texts."""
    shown = json.loads(stored)
    texts = [show_text(dict(fields)) for fields in shown.pop("texts", ())]
    return {"shown": shown, "texts": texts}
