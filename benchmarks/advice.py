"""How often advice after a pilot of 5 % of the items is right, in worlds where truth is known.

    python benchmarks/advice.py [--worlds 25] [--seed 0]

A simulated world has points, people who err differently in each form, and times. The best form
is found by brute force: all items are labelled in every form, embedded, and compared with the
truth, at what the answers really cost. The advice sees 5 % of the items, four people each. It
knows n, k and β, and in "as simulated" worlds its simulation is right about everything else but
the noise and the times. In "other" worlds it is not: clusters are tighter, people differ in how
noisy they are, and each has leanings towards classes of their own.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.labels.labelset import CrowdLabels
from sfumato.labels.simulate.crowd import gaussian_clusters
from sfumato.planning.advise import Advice, Task, advise
from sfumato.planning.cost import Cost
from sfumato.planning.embed import spearman
from sfumato.planning.pilot import PilotStudy, error_rate
from sfumato.planning.weigh import (
    Candidate,
    WeighingDraws,
    embed_answers,
    expect,
    perceive,
    state_answers,
)
from sfumato.stats import cosines

Array = NDArray[np.float64]

FORMS: tuple[tuple[str, int | None], ...] = (("hard", None), ("sparse", 2), ("soft", None))
TASKS = ((100, 10, 25, 1), (200, 10, 5, 3), (100, 30, 25, 1), (100, 20, 125, 3))
"""Items, classes, dimensions, people an item."""
SHARE, ASKED = 0.05, 4
"""Of the items, and people an item, in the pilot."""
BINS = (0.0, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class World:
    """What is true, and who answers."""

    logits: Array  # (items, classes)
    truth: Array  # similarities of items and classes
    noise: dict[str, float]
    seconds: dict[str, float]
    beta: float
    differ: float
    """How far people differ from one another: 0 in worlds as simulated."""


@dataclass(frozen=True)
class Outcome:
    """One world: what was advised, with which probability, and what was best."""

    advised: str
    probability: float
    best: str
    lost: float
    """By how much what was advised is worse than the best."""


def world(items: int, classes: int, dimensions: int, people: int, *, other: bool,
          rng: np.random.Generator) -> World:  # fmt: skip
    """A world; people err, and take time, differently in each form."""
    spread = 0.6 if other else 1.0
    made = gaussian_clusters(
        items=items, classes=classes, dimensions=dimensions, spread=spread, rng=rng
    )
    noise = {form: float(np.exp(rng.uniform(np.log(0.2), np.log(1.6)))) for form, _ in FORMS}
    vote = float(np.exp(rng.uniform(0, np.log(4))))
    seconds = {
        "hard": vote,
        "sparse": vote * float(np.exp(rng.uniform(np.log(1.5), np.log(12)))),
        "soft": vote * float(np.exp(rng.uniform(np.log(3), np.log(40)))),
    }
    weight = float(np.exp(rng.uniform(np.log(0.03), np.log(1.5))))
    return World(
        np.log(np.maximum(made.soft.probs, 1e-300)),
        cosines(np.vstack([made.positions, made.centres])),
        noise,
        seconds,
        weight / (items * people * seconds["sparse"]),
        0.5 if other else 0.0,
    )


def answers(
    there: World, form: str, kept: int | None, people: int, rng: np.random.Generator
) -> Array:
    """(people, items, classes)"""
    if not there.differ:
        return state_answers(
            perceive(there.logits, there.noise[form], people=people, rng=rng), form, kept
        )
    spread, k = there.logits.std(axis=1).mean(), there.logits.shape[1]
    noises = there.noise[form] * np.exp(there.differ * rng.standard_normal(people))
    leanings = there.differ * spread * 0.5 * rng.standard_normal((people, 1, k))
    each = [
        state_answers(perceive(there.logits + lean, noise, people=1, rng=rng), form, kept)
        for noise, lean in zip(noises, leanings, strict=True)
    ]
    return np.concatenate(each)


def brute_force(there: World, people: int, rng: np.random.Generator) -> dict[str, float]:
    """The loss of every form once everything is collected."""
    found = {}
    for form, kept in FORMS:
        gram = embed_answers(answers(there, form, kept, people, rng), rng=rng)
        rho = spearman(gram, there.truth)
        spent = len(there.logits) * people * there.seconds[form]
        found[form] = there.beta * spent - (0.0 if np.isnan(rho) else rho)
    return found


def piloted(there: World, form: str, kept: int | None, rng: np.random.Generator) -> PilotStudy:
    """Four people's answers about 5 % of the items."""
    n = max(2, round(SHARE * len(there.logits)))
    some = rng.choice(len(there.logits), size=n, replace=False)
    said = answers(replace(there, logits=there.logits[some]), form, kept, ASKED, rng)
    total = said.sum(axis=2, keepdims=True)
    crowd = CrowdLabels(
        tuple(map(str, range(n))),
        tuple(f"p{person}" for person in range(ASKED)),
        tuple(map(str, range(said.shape[2]))),
        np.tile(np.arange(n), ASKED),
        np.repeat(np.arange(ASKED), n),
        (said / total).reshape(ASKED * n, -1),
    )
    pace = 0.25 * rng.standard_normal((ASKED, 1))
    took = there.seconds[form] * np.exp(pace + 0.4 * rng.standard_normal((ASKED, n)))
    middle = float(np.median(took))
    picked = rng.integers(ASKED, size=(400, ASKED))
    low, high = np.percentile(np.median(took[picked].reshape(400, -1), axis=1), [2.5, 97.5])
    cost = Cost(form, middle, "seconds", float(low), float(high), kept, took.size, ASKED,
                source="measured")  # fmt: skip
    error = error_rate(crowd, "agreement", rng=rng)
    return PilotStudy(form, kept, error, cost, crowd, ASKED)


def tried(
    there: World, task: Task, simulation: WeighingDraws, people: int, rng: np.random.Generator
) -> tuple[Outcome, Outcome]:
    """With a pilot, and with the right times but no pilot."""
    losses = brute_force(there, people, rng)
    best = min(losses, key=lambda form: losses[form])
    asked = replace(task, beta=there.beta)
    pilots = [piloted(there, form, kept, rng) for form, kept in FORMS]
    after = advise(asked, pilots=pilots, simulation=simulation, rng=rng)
    costs = {form: Cost(form, there.seconds[form], kept=kept) for form, kept in FORMS}
    before = advise(asked, costs=costs, simulation=simulation, rng=rng)

    def outcome(given: Advice) -> Outcome:
        assert given.probability is not None
        return Outcome(given.form, given.probability, best, losses[given.form] - losses[best])

    return outcome(after), outcome(before)


def report(name: str, outcomes: Sequence[Outcome]) -> None:
    """Accuracy, regret and the calibration table."""
    right = np.array([each.advised == each.best for each in outcomes])
    stated_chance = np.array([each.probability for each in outcomes])
    lost = np.array([each.lost for each in outcomes])
    half = 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / len(right))
    print(
        f"{name}: right in {right.mean():.1%} (± {half:.1%}) of {len(right)} worlds, mean stated "
        f"probability {stated_chance.mean():.1%}, mean loss above the best {lost.mean():.3f}"
    )
    for low, high in pairwise(BINS):
        inside = (stated_chance > low) & (stated_chance <= high)
        if inside.any():
            print(
                f"  stated {low:.1f}-{high:.1f}: {inside.sum():4d} worlds, "
                f"mean stated {stated_chance[inside].mean():.2f}, right {right[inside].mean():.2f}"
            )


def main() -> None:
    """Try all tasks in both kinds of world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=25, help="of each task and kind")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    started = time.perf_counter()
    found: dict[str, list[Outcome]] = {}
    truth: list[str] = []
    for items, classes, dimensions, people in TASKS:
        task = Task(items, classes, dimensions, people=people, beta=1.0)
        asked = [Candidate(form, kept, people) for form, kept in FORMS]
        simulation = expect(
            asked, items=items, classes=classes, dimensions=(dimensions,), worlds=8, rng=rng
        )
        for kind in ("as simulated", "other"):
            mine: list[Outcome] = []
            for _ in range(given.worlds):
                there = world(items, classes, dimensions, people, other=kind == "other", rng=rng)
                after, before = tried(there, task, simulation, people, rng)
                mine.append(after)
                found.setdefault(f"{kind}, pilot", []).append(after)
                found.setdefault(f"{kind}, right times, no pilot", []).append(before)
                truth.append(after.best)
            share = np.mean([each.advised == each.best for each in mine])
            print(
                f"n={items} k={classes} d={dimensions} M={people}, {kind}: {share:.0%} "
                f"({time.perf_counter() - started:.0f} s)",
                flush=True,
            )
    counts = {form: truth.count(form) for form, _ in FORMS}
    print(
        f"best by brute force: {counts}; always the commonest would be right in "
        f"{max(counts.values()) / len(truth):.1%}"
    )
    for name, outcomes in found.items():
        report(name, outcomes)


if __name__ == "__main__":
    main()
