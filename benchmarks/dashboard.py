"""Time the dashboard of a collection with 500,000 answers by simulated people, on SQLite.

    python benchmarks/dashboard.py [ANSWERS] [FORM]

Prints the first build, refreshes after 100 new answers each with the JSON of the overview, and the
JSON of all items. The answers are written into the tables directly; nothing here times the server.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.elicit.admin.app import as_json
from sfumato.elicit.design.study import ElicitStudy, study_from
from sfumato.elicit.live.live import Live
from sfumato.elicit.live.views import items_page, overview, people_page
from sfumato.elicit.session.collection import collection_of
from sfumato.elicit.storage import schema
from sfumato.elicit.storage.database import Connection, open_database
from sfumato.elicit.storage.schema import Picture, Stimulus

CLASSES = tuple(f"class {number}" for number in range(10))
TRIALS = 200
PER_ITEM = 50
START = 1_700_000_000.0


def main(answers: int, form: str) -> None:
    """Fill a database, then look at it as the dashboard does."""
    rng = np.random.default_rng(0)
    settings = {
        "name": "bench", "title": "Bench", "preset": form, "form": form, "wording": "What?",
        "classes": CLASSES, "per_item": PER_ITEM, "layout": {"trials_per_person": TRIALS},
    }  # fmt: skip
    study = study_from(settings, where="the benchmark")
    collection = collection_of(study, b"k" * 32)
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(f"sqlite:///{Path(folder) / 'bench.sqlite'}")
        with database.connect() as connection:
            items = answers // PER_ITEM
            _fill(connection, study, items, rng)
            began = time.perf_counter()
            _answer(connection, form, 0, answers, items, rng)
            print(f"{answers:,} answers about {items:,} items written ", end="")
            print(f"in {time.perf_counter() - began:.1f} s")

            now = [START + answers]
            live = Live(database, collection, clock=lambda: now[0])
            print(f"first build      {_once(live.refresh)}")
            for what, pause in (("100 new and JSON", 2.0), ("  with a sweep", 40.0)):
                times = []
                for _ in range(20):
                    now[0] += pause
                    _answer(connection, form, answers, 100, items, rng, at=now[0] - 1)
                    answers += 100
                    times.append(_timed(lambda: (live.refresh(), as_json(overview(live)))))
                print(f"{what:17}" + _spread(times))
            assert overview(live)["progress"]["answers"] == answers
            print(f"page of items    {_once(lambda: items_page(live))}")
            print(f"page of people   {_once(lambda: people_page(live))}")
            whole = _once(lambda: as_json(items_page(live, sort="item", size=None)))
            print(f"all items as JSON{whole}")


def _timed(act: Any) -> tuple[float, float]:
    """Milliseconds by the clock, and of work: on a shared machine the two differ."""
    began, worked = time.perf_counter(), time.process_time()
    act()
    return 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - worked)


def _spread(times: list[tuple[float, float]]) -> str:
    clock, work = zip(*times, strict=True)
    return (
        f"{statistics.median(clock):8.0f} ms in the middle, {max(clock):.0f} ms at most "
        f"(of work: {statistics.median(work):.0f}, {max(work):.0f})"
    )


def _once(act: Any) -> str:
    clock, work = _timed(act)
    return f"{clock:8.0f} ms (of work: {work:.0f})"


def _fill(connection: Connection, study: ElicitStudy, items: int, rng: np.random.Generator) -> None:
    schema.create_all(connection)
    names = [f"item-{number:05d}" for number in range(items)]
    pictures = [Picture(name, f"{name}.png", 160, 160, "0" * 64) for name in names]
    stimuli = [Stimulus(name, name, (name,), PER_ITEM, stratum="any") for name in names]
    schema.fill(connection, study, pictures, stimuli, now=START, rng=rng)


def _answer(
    connection: Connection,
    form: str,
    first: int,
    count: int,
    items: int,
    rng: np.random.Generator,
    *,
    at: float | None = None,
) -> None:
    """Answers number ``first`` to ``first + count``, each person 200 in a row.

    All come at one moment, or one a second.
    """
    cursor = connection.driver.cursor()
    connection.begin()
    numbers = range(first, first + count)
    people = sorted({number // TRIALS for number in numbers})
    cursor.executemany(
        "INSERT OR IGNORE INTO participant (id, pseudonym, consent_version, consent_hash, "
        "consent_at) VALUES (?, ?, '1', '', 0)",
        [(person + 1, f"pseudonym-{person:06d}") for person in people],
    )
    plan = json.dumps(["main"] * TRIALS)
    order = json.dumps(CLASSES)
    cursor.executemany(
        "INSERT OR IGNORE INTO session (id, participant, study_id, language, stage, plan, position,"
        " issued, wanted, order_seed, label_order, same_answers, started, last_seen, finished, "
        "ended, comprehension_tries) VALUES (?, ?, '', 'en', 'done', ?, 0, 0, 0, 0, ?, 0, ?, ?, ?, "
        "'finished', 0)",
        [
            (p + 1, p + 1, plan, order, START + p * TRIALS, *[START + (p + 1) * TRIALS] * 2)
            for p in people
        ],
    )
    cursor.executemany(
        "INSERT INTO trial (id, session, number, slot, stimulus, view, shown, issued, opened, "
        "closed, expires, state, counted) VALUES (?, ?, ?, 0, ?, 'first', '{}', 0, 0, 0, 0, "
        "'answered', 1)",
        ((n + 1, n // TRIALS + 1, n % TRIALS + 1, _item(n, items) + 1) for n in numbers),
    )
    received = [START + n if at is None else at for n in numbers]
    said, seconds = _sayings(form, count, rng), rng.lognormal(0.5, 0.5, count).tolist()
    cursor.executemany(
        "INSERT INTO answer (trial, answer, mode, faults, key, received, seconds, input_seconds, "
        "late, changed) VALUES (?, ?, 'guarded', '[]', 'k', ?, ?, '{}', 0, 0)",
        zip((n + 1 for n in numbers), said, received, seconds, strict=True),
    )
    connection.commit()


def _item(number: int, items: int) -> int:
    return (number * 7919) % items


def _sayings(form: str, count: int, rng: np.random.Generator) -> Iterator[str]:
    if form == "choose-one":
        return (json.dumps(CLASSES[place]) for place in (rng.random(count) ** 3 * 10).astype(int))
    chips = rng.multinomial(20, [0.5, 0.2, 0.1, 0.05, 0.05, 0.02, 0.02, 0.02, 0.02, 0.02], count)
    return (
        json.dumps({CLASSES[place]: 5 * int(chip) for place, chip in enumerate(row) if chip})
        for row in chips
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 500_000, given[1] if len(given) > 1 else "choose-one")
