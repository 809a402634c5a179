"""Turn answers, as they come in, into sums that can be read at any time.

Every answer is one row in memory. What it adds to the sums can be taken away again, so a changed
answer, an excluded person and one who withdrew cost only their own rows.
"""

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.elicit.session.answers import AnyQuestion, MixQuestion
from sfumato.judgments.judgments import VIEWS
from sfumato.labels.running import (
    AnswerDistributions,
    Array,
    Codes,
    change_by_one_more,
    outcomes_of,
    read_distributions,
    read_two_sided,
)

ROW = np.dtype(
    [
        ("trial", np.int64),
        ("session", np.int64),
        ("person", np.int64),  # place in Tally.people
        ("unit", np.int64),  # place in Units
        ("said", np.int64),  # place among the distinct answers
        ("faults", np.int64),  # place among the distinct lists of faults
        ("first", np.int64),  # row of the answer that this one repeats; -1: none
        ("number", np.int64),
        ("seconds", np.float64),
        ("received", np.float64),
        ("changed", np.int64),
        ("view", np.int8),
        ("counted", np.bool_),
        ("alive", np.bool_),  # false after its person withdrew
    ]
)
PERSON = np.dtype(
    [
        ("answers", np.int64),
        ("faulty", np.int64),
        ("checks", np.int64),
        ("right", np.int64),
        ("repeats", np.int64),
        ("moved", np.int64),
        ("distance", np.float64),
        ("seconds", np.float64),
        ("median", np.float64),
    ]
)
FIRST, REPEAT, CHECK = VIEWS.index("first"), VIEWS.index("repeat"), VIEWS.index("check")


@dataclass(eq=False)
class Units:
    """What is shown, one entry a stimulus."""

    ids: list[int]
    items: list[str]
    shown: list[str]  # JSON
    images: list[str]  # JSON list of ids
    roles: list[str]
    gold: Codes  # (units,) place of the right outcome; -1: none known
    gold_names: list[str | None]
    target: Codes
    finished: Codes
    paused: NDArray[np.bool_]
    place: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.place = {id_: at for at, id_ in enumerate(self.ids)}
        self.is_main = np.array([role == "main" for role in self.roles], dtype=bool)


class RowGroups:
    """Rows by a key; grows by many rows at a time."""

    def __init__(self) -> None:
        self._rows: dict[int, array[int]] = {}
        self.changed: set[int] = set()

    def add(self, keys: Codes, rows: Codes) -> None:
        """Put each row under its key."""
        order = np.argsort(keys, kind="stable")
        keys, rows = keys[order], np.ascontiguousarray(rows[order], dtype=np.int64)
        starts = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(keys)], strict=True):
            self._rows.setdefault(int(keys[start]), array("q")).frombytes(rows[start:end].tobytes())

    def touch(self, keys: Codes) -> None:
        """Note that what is derived from these groups is out of date."""
        self.changed.update(np.unique(keys).tolist())

    def take_changed(self) -> list[int]:
        """The groups noted since the last call."""
        changed, self.changed = sorted(self.changed), set()
        return changed

    def rows(self, key: int) -> Codes:
        """The rows of a group, in the order in which they came."""
        # A copy: while numpy looks at its memory, an array cannot grow.
        return np.array(self._rows.get(key, ()), dtype=np.int64)

    def keys(self) -> list[int]:
        """All keys, sorted."""
        return sorted(self._rows)


class Tally:
    """All rows and sums."""

    def __init__(self, units: Units, question: AnyQuestion) -> None:
        self.units, self.question = units, question
        self.outcomes = outcomes_shown(question)
        outcomes = len(self.outcomes)
        self.rows = np.zeros(1024, dtype=ROW)
        self.size = 0
        self.row_of: dict[int, int] = {}
        self.texts: list[str] = []
        self.said_of: dict[str, int] = {}
        self.probs = np.zeros((1024, outcomes))
        self.choice = np.zeros(1024, dtype=np.int64)
        self.fault_lists: list[tuple[str, ...]] = []
        self.faults_of: dict[str, int] = {}
        self.fault_counts = np.zeros(16, dtype=np.int64)
        self.people: list[int] = []
        self.place_of_person: dict[int, int] = {}
        self.person = np.zeros(256, dtype=PERSON)
        self.in_data = np.ones(256, dtype=bool)  # (people,) false while excluded
        self.views = np.zeros(len(VIEWS), dtype=np.int64)
        self.sums = np.zeros((len(units.ids), outcomes))  # of answers in the data
        self.count = np.zeros(len(units.ids), dtype=np.int64)
        self.change = np.full(len(units.ids), np.nan)
        self.by_person, self.by_unit, self.by_number = RowGroups(), RowGroups(), RowGroups()
        self.medians: dict[int, tuple[float, int]] = {}
        self.version = 0

    def place(self, participant: int) -> int:
        """The place of a person, made where they are new."""
        at = self.place_of_person.get(participant)
        if at is None:
            at = len(self.people)
            self.people.append(participant)
            self.place_of_person[participant] = at
            if at >= len(self.person):
                self.person = _grown(self.person, at + 1)
                self.in_data = np.append(self.in_data, np.ones(at + 1, dtype=bool))
        return at

    def living(self, rows: Codes) -> Codes:
        """Those of the rows whose person did not withdraw."""
        return rows[self.rows["alive"][rows]]


def outcomes_shown(question: AnyQuestion) -> tuple[str, ...]:
    """What the columns of a distribution stand for."""
    return ("first", "second") if isinstance(question, MixQuestion) else outcomes_of(question)


def read_said(question: AnyQuestion, texts: Sequence[str]) -> AnswerDistributions:
    """Distinct answers, as JSON, to what they say."""
    if isinstance(question, MixQuestion):
        return read_two_sided([json.loads(text)["perceived"] for text in texts])
    return read_distributions(question, texts)


def add_answers(tally: Tally, answers: Sequence[Any]) -> int:
    """Take answers in, those that are new or changed; how many there were."""
    fresh = [row for row in answers if _is_fresh(tally, row)]
    if not fresh:
        return 0
    known = [row for row in fresh if row.trial in tally.row_of]
    again = np.array([tally.row_of[row.trial] for row in known], dtype=np.int64)
    # Nobody can go back behind a repeat, so no answer changes after it was repeated.
    _contribute(tally, again, -1)
    _read_new(tally, [row.answer for row in fresh], [row.faults for row in fresh])
    for at, row in zip(again.tolist(), known, strict=True):
        stored = tally.rows[at]
        stored["said"], stored["faults"] = tally.said_of[row.answer], tally.faults_of[row.faults]
        stored["received"], stored["changed"] = row.received, row.changed
    _contribute(tally, again, 1)
    if len(known) < len(fresh):
        new = [row for row in fresh if row.trial not in tally.row_of]
        _contribute(tally, _append(tally, new), 1)
    tally.version += 1
    return len(fresh)


def drop_person(tally: Tally, participant: int) -> None:
    """Forget all answers of a person who withdrew."""
    place = tally.place_of_person.get(participant)
    if place is None:
        return
    rows = tally.living(tally.by_person.rows(place))
    _contribute(tally, rows, -1)
    tally.rows["alive"][rows] = False
    for trial in tally.rows["trial"][rows].tolist():
        del tally.row_of[trial]
    for said in np.unique(tally.rows["said"][rows]).tolist():
        # Their words stay nowhere, not even here, unless somebody else said the same.
        others = tally.rows["said"][: tally.size] == said
        if not (others & tally.rows["alive"][: tally.size]).any():
            tally.said_of.pop(tally.texts[said], None)
            tally.texts[said] = ""
    tally.version += 1


def set_in_data(tally: Tally, participant: int, in_data: bool) -> None:
    """Take a person's answers into the labels, or out of them."""
    place = tally.place(participant)
    if bool(tally.in_data[place]) == in_data:
        return
    rows = tally.living(tally.by_person.rows(place))
    if not in_data:
        _contribute_labels(tally, rows, -1)
    tally.in_data[place] = in_data
    if in_data:
        _contribute_labels(tally, rows, 1)
    tally.version += 1


def take_rows(tally: Tally, units: Iterable[int]) -> tuple[Codes, Codes, Array]:
    """What labels of these units are made from: ``item`` (their places here), person, probs."""
    found, item = [], []
    for place, unit in enumerate(units):
        rows = tally.by_unit.rows(unit)
        found.append(rows)
        item.append(np.full(len(rows), place))
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *found])
    where = np.concatenate([np.zeros(0, dtype=np.int64), *item])
    use = _labelled(tally, rows)
    rows, where = rows[use], where[use]
    return where, tally.rows["person"][rows], tally.probs[tally.rows["said"][rows]]


def refresh_derived(tally: Tally) -> None:
    """Work out again what is no plain sum, only where something changed."""
    units = tally.by_unit.take_changed()
    if units:
        item, _, probs = take_rows(tally, units)
        tally.change[units] = change_by_one_more(item, probs, len(units))
    seconds = tally.rows["seconds"]
    for number in tally.by_number.take_changed():
        rows = tally.living(tally.by_number.rows(number))
        value = float(np.median(seconds[rows])) if len(rows) else float("nan")
        tally.medians[number] = (value, len(rows))
    for place in tally.by_person.take_changed():
        rows = tally.living(tally.by_person.rows(place))
        tally.person["median"][place] = np.median(seconds[rows]) if len(rows) else np.nan


def _is_fresh(tally: Tally, row: Any) -> bool:
    at = tally.row_of.get(row.trial)
    if at is None:
        return row.stimulus in tally.units.place
    stored = tally.rows[at]
    return bool(stored["changed"] != row.changed or stored["received"] != row.received)


def _read_new(tally: Tally, texts: Iterable[str], faults: Iterable[str]) -> None:
    unread = [text for text in dict.fromkeys(texts) if text not in tally.said_of]
    start, end = len(tally.texts), len(tally.texts) + len(unread)
    if end > len(tally.probs):
        tally.probs, tally.choice = _grown(tally.probs, end), _grown(tally.choice, end)
    if unread:
        read = read_said(tally.question, unread)
        tally.probs[start:end], tally.choice[start:end] = read.probs, read.choice
        tally.said_of.update(zip(unread, range(start, end), strict=True))
        tally.texts.extend(unread)
    for text in faults:
        if text not in tally.faults_of:
            tally.faults_of[text] = len(tally.fault_lists)
            tally.fault_lists.append(tuple(json.loads(text)))
    if len(tally.fault_lists) > len(tally.fault_counts):
        tally.fault_counts = _grown(tally.fault_counts, len(tally.fault_lists))


def _append(tally: Tally, new: Sequence[Any]) -> Codes:
    start, end = tally.size, tally.size + len(new)
    if end > len(tally.rows):
        tally.rows = _grown(tally.rows, end)
    rows, units = tally.rows[start:end], tally.units.place
    rows["trial"] = [row.trial for row in new]
    rows["session"] = [row.session for row in new]
    rows["person"] = [tally.place(row.participant) for row in new]
    rows["unit"] = [units[row.stimulus] for row in new]
    rows["said"] = [tally.said_of[row.answer] for row in new]
    rows["faults"] = [tally.faults_of[row.faults] for row in new]
    rows["number"] = [row.number for row in new]
    rows["seconds"] = [row.seconds for row in new]
    rows["received"] = [row.received for row in new]
    rows["changed"] = [row.changed for row in new]
    rows["view"] = [VIEWS.index(row.view) for row in new]
    rows["counted"] = [row.counted for row in new]
    rows["alive"] = True
    tally.size = end
    tally.row_of.update(zip(rows["trial"].tolist(), range(start, end), strict=True))
    rows["first"] = [
        -1 if row.repeats_trial is None else tally.row_of.get(row.repeats_trial, -1) for row in new
    ]
    places = np.arange(start, end)
    tally.by_person.add(rows["person"], places)
    tally.by_unit.add(rows["unit"], places)
    tally.by_number.add(rows["number"], places)
    return places


def _contribute(tally: Tally, which: Codes, sign: int) -> None:
    """Add rows to every sum, or take them away again."""
    if not len(which):
        return
    rows, people = tally.rows[which], tally.person
    tally.views += sign * np.bincount(rows["view"], minlength=len(VIEWS))
    np.add.at(tally.fault_counts, rows["faults"], sign)
    faulty = np.array([bool(names) for names in tally.fault_lists])[rows["faults"]]
    np.add.at(people["answers"], rows["person"], sign)
    np.add.at(people["faulty"], rows["person"], sign * faulty)
    np.add.at(people["seconds"], rows["person"], sign * rows["seconds"])
    tally.by_number.touch(rows["number"])
    tally.by_person.touch(rows["person"])
    _contribute_checks(tally, rows, sign)
    _contribute_repeats(tally, rows, sign)
    _contribute_labels(tally, which, sign)


def _contribute_checks(tally: Tally, rows: NDArray[np.void], sign: int) -> None:
    gold = tally.units.gold[rows["unit"]]
    asked = (rows["view"] == CHECK) & (gold >= 0)
    right = asked & (tally.choice[rows["said"]] == gold)
    np.add.at(tally.person["checks"], rows["person"], sign * asked)
    np.add.at(tally.person["right"], rows["person"], sign * right)


def _contribute_repeats(tally: Tally, rows: NDArray[np.void], sign: int) -> None:
    rows = rows[(rows["view"] == REPEAT) & (rows["first"] >= 0)]
    now, before = rows["said"], tally.rows["said"][rows["first"]]
    clear = (tally.choice[now] >= 0) & (tally.choice[before] >= 0)
    far = 0.5 * np.abs(tally.probs[now] - tally.probs[before]).sum(axis=1)
    rows, now, before, far = rows[clear], now[clear], before[clear], far[clear]
    np.add.at(tally.person["repeats"], rows["person"], sign)
    moved = tally.choice[now] != tally.choice[before]
    np.add.at(tally.person["moved"], rows["person"], sign * moved)
    np.add.at(tally.person["distance"], rows["person"], sign * np.nan_to_num(far))


def _contribute_labels(tally: Tally, which: Codes, sign: int) -> None:
    used = which[_labelled(tally, which)]
    unit, said = tally.rows["unit"][used], tally.rows["said"][used]
    np.add.at(tally.count, unit, sign)
    np.add.at(tally.sums, unit, sign * tally.probs[said])
    tally.by_unit.touch(unit)


def _labelled(tally: Tally, which: Codes) -> NDArray[np.bool_]:
    """Whether a label is made of these rows: first views of people who are not excluded."""
    rows = tally.rows[which]
    told = np.isfinite(tally.probs[rows["said"]]).all(axis=1)
    return (rows["view"] == FIRST) & rows["alive"] & tally.in_data[rows["person"]] & told


def _grown(values: NDArray[Any], least: int) -> NDArray[Any]:
    """The values with zeros behind them, at least twice as long."""
    more = np.zeros((max(2 * len(values), least), *values.shape[1:]), dtype=values.dtype)
    more[: len(values)] = values
    return more
