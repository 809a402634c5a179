"""Turn a collection into the list of whom to pay what, the one place where platform ids leave it.

Pay is for the time, and everybody who finished gets it unless somebody refused them with a reason.
The bonus is for foreseeing others (S2-07): with p what a person stated about an item and q the mean
of what all others answered, the quadratic score is 2 p·q - p·p, which nobody can raise by stating
anything but what they expect others to answer. It lies between -1 and 1, so that half of one plus
its mean over a person's items is a share of the bonus that needs no cutting off at either end.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import sqlalchemy as sa
from numpy.typing import NDArray

from sfumato.elicit.design.study import ElicitStudy, write_private
from sfumato.elicit.export import mark_formulas
from sfumato.elicit.live.live import Live
from sfumato.elicit.live.people import Person, hourly_pay
from sfumato.elicit.live.tally import FIRST, Tally
from sfumato.elicit.storage import store
from sfumato.elicit.storage.database import Connection, prepare
from sfumato.errors import DataError

Array = NDArray[np.float64]
CERTAINTY = 20.0
"""Of simulated people: how closely what they state follows what they saw, as so many votes."""
DISPUTED = 1.0
"""Concentration of simulated items, over all classes: most are clear, some are disputed."""


@dataclass(frozen=True)
class PayLine:
    """What one person is due."""

    platform: str
    platform_id: str
    pseudonym: str
    decision: str
    """approve, reject, or none: they did not finish."""
    reason: str
    base: float
    bonus: float
    currency: str
    answers: int
    """Their answers that others answered about too."""
    score: float | None
    """The mean quadratic score of these."""
    data: str
    """in, or by which rule their answers are left out; says nothing about pay."""


def pay_list(live: Live, connection: Connection) -> list[PayLine]:
    """Everybody who entered, with what they are due."""
    live.refresh()
    with live.lock:
        study, tally = live.collection.study, live.known
        base, most = amounts(live)
        scores = foresight(tally)
        identities = {row.participant: row for row in connection.all(_IDENTITIES)}
        lines = []
        for id_, person in live.people.persons.items():
            known = identities.get(id_)
            score, answers = scores.get(id_, (None, 0))
            decision, reason = _decision(live, person)
            approved = decision == "approve"
            share = 0.0 if score is None else (1 + score) / 2
            lines.append(
                PayLine(
                    platform="" if known is None else known.platform,
                    platform_id="" if known is None else known.platform_id,
                    pseudonym=person.pseudonym,
                    decision=decision,
                    reason=reason,
                    base=base if approved else 0.0,
                    bonus=round(most * share, 2) if approved else 0.0,
                    currency=study.recruiting.currency,
                    answers=answers,
                    score=None if score is None else round(score, 4),
                    data="in" if person.excluded is None else f"left out by {person.excluded}",
                )
            )
        return lines


def write_pay_list(lines: list[PayLine], path: Path) -> None:
    """Write the list as CSV, readable by its owner only."""
    if path.suffix.lower() != ".csv":
        raise DataError(f"The pay list is written as .csv, not as {path.name!r}.")
    write_private(path, pay_table(lines).encode())


def pay_table(lines: list[PayLine]) -> str:
    """The list as the text of a CSV file."""
    names = [one.name for one in fields(PayLine)]
    columns = {name: [getattr(line, name) for line in lines] for name in names}
    table = pl.DataFrame(columns, strict=False, infer_schema_length=None)
    return mark_formulas(table)[0].write_csv()


def amounts(live: Live) -> tuple[float, float]:
    """The pay of a session and the largest bonus; the hourly promise stands in for what is not set.

    The bonus is then what lifts the promised hour to the one with a bonus.
    """
    recruiting = live.collection.study.recruiting
    pay = hourly_pay(live.people, recruiting)
    base = pay["pay"] if pay["pay"] is not None else pay["due"]
    if not isinstance(base, int | float):
        raise DataError(
            "Nobody can be paid yet: recruiting.pay is not set, and without a finished session "
            "recruiting.hourly does not say what one is worth."
        )
    most = recruiting.bonus
    if most is None and recruiting.hourly and recruiting.hourly_with_bonus:
        most = base * (recruiting.hourly_with_bonus / recruiting.hourly - 1)
    return round(float(base), 2), float(most or 0.0)


def _decision(live: Live, person: Person) -> tuple[str, str]:
    if person.paid is not None:
        return "reject", person.paid.removeprefix("refused: ")
    latest = live.people.latest.get(person.id)
    ended = None if latest is None else live.people.sessions[latest].ended
    match ended:
        case "finished":
            return "approve", ""
        case None:
            return "none", "has not finished"
        case _:
            return "none", ended


def foresight(tally: Tally) -> dict[int, tuple[float, int]]:
    """Each person's mean score against all others, and over how many answers.

    Others are those whose answers are in the data; an answer that nobody else gave about its item
    scores nothing.
    """
    rows = tally.rows[: tally.size]
    stated = tally.probs[rows["said"]]
    use = (rows["view"] == FIRST) & rows["alive"] & np.isfinite(stated).all(axis=1)
    rows, stated = rows[use], stated[use]
    own = tally.in_data[rows["person"]][:, None]
    count = tally.count[rows["unit"]][:, None] - own
    others = tally.sums[rows["unit"]] - np.where(own, stated, 0.0)
    some = count[:, 0] > 0
    score = quadratic_score(stated[some], others[some] / count[some])
    person = rows["person"][some]
    total = np.bincount(person, weights=score, minlength=len(tally.people))
    answers = np.bincount(person, minlength=len(tally.people))
    return {
        tally.people[place]: (float(total[place] / answers[place]), int(answers[place]))
        for place in np.flatnonzero(answers).tolist()
    }


def quadratic_score(stated: Array, others: Array) -> Array:
    """Of each row what it scores against what others answered; largest where the two are the same.

    >>> quadratic_score(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    array([0.5, 0. ])
    """
    return 2 * (stated * others).sum(axis=1) - (stated * stated).sum(axis=1)


STRATEGIES = {
    "expects": "states what they expect others to answer",
    "own": "states what they see themselves, as surely as they see it",
    "leading": "puts everything on the class that leads",
    "evenly": "gives every class the same",
    "random": "puts everything on a class at random",
}


def simulate_bonus(
    study: ElicitStudy, labels: Array | None, *, most: float, rng: np.random.Generator
) -> pl.DataFrame:
    """What simulated people would get as a bonus who state this or that.

    ``labels`` are what people answered about items so far; without them items are drawn. Everybody
    sees items as others do, but not quite; the others' answers are choices of a class.
    """
    kinds = len(study.classes) or 2
    if labels is None:
        labels = rng.dirichlet(np.full(kinds, DISPUTED / kinds), size=2_000)
    people, trials = 1_000, study.layout.trials_per_person
    items = rng.integers(len(labels), size=(people, trials)).ravel()
    truth = labels[items]
    others = rng.multinomial(max(study.per_item - 1, 1), truth / truth.sum(axis=1, keepdims=True))
    others = others / others.sum(axis=1, keepdims=True)
    seen = np.vstack([rng.dirichlet(CERTAINTY * row + 0.05) for row in truth])
    surer = seen**2 / (seen**2).sum(axis=1, keepdims=True)
    one = np.eye(labels.shape[1])
    stated = {
        "expects": seen,
        "own": surer,
        "leading": one[seen.argmax(axis=1)],
        "evenly": np.full_like(seen, 1 / labels.shape[1]),
        "random": one[rng.integers(labels.shape[1], size=len(seen))],
    }
    rows: list[dict[str, Any]] = []
    for name, answers in stated.items():
        score = quadratic_score(answers, others).reshape(people, trials).mean(axis=1)
        bonus = most * (1 + score) / 2
        low, high = np.quantile(bonus, [0.05, 0.95])
        rows.append({"strategy": name, "mean": bonus.mean(), "low": low, "high": high})
    return pl.DataFrame(rows)


def labels_so_far(tally: Tally) -> Array | None:
    """What people answered about items with two answers or more; None where there are none."""
    some = tally.units.is_main & (tally.count > 1)
    return tally.sums[some] / tally.count[some][:, None] if some.any() else None


_IDENTITIES = prepare(
    sa.select(
        store.participant_identity.c.participant,
        store.participant_identity.c.platform,
        store.participant_identity.c.platform_id,
    )
)
