"""Whether the power that a pilot foretells is the power that is then seen, on real answers.

    python benchmarks/power.py [--pilots 50] [--draws 500] [--plot power.svg]

Needs SFUMATO_DATA. Pilots of 5 people and 50 items are drawn from two complete tables of real
answers: ReaL's 78 people on 155 images (the share of "yes" over an image's questions; the image is
the item), and DICES-350's 123 people on 350 conversations (the share of "Yes"; the place in the
list is the person). Each foretells the power of every design and effect. Seen is how often the
t-test comes out in draws of items and people without replacement, at most half of either; an
effect is a number added to all answers of one side. Without effect the test must come out in 5 %.
"""

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from sfumato.planning.power import Between, Comparison, PilotScores, power_of

Table = NDArray[np.float64]  # (items, people)

EFFECTS = (0.05, 0.1, 0.2)
PEOPLE, ITEMS = 5, 50
"""Of a pilot."""


def real(data: Path) -> Table:
    stored = np.load(data / "real_imagenet" / "raters_golden.npz")
    yes = stored["tensor"].argmax(axis=2) == 2  # (people, questions)
    image = np.unique(stored["info"][:, 0], return_inverse=True)[1]
    sums = np.stack([np.bincount(image, row) for row in yes.astype(float)], axis=1)
    return sums / np.bincount(image)[:, None]


def dices(data: Path) -> Table:
    path = data / "dices" / "dices_350_crowdsourced.json"
    rows = json.loads(path.read_bytes())["instances"]
    said = [row["annotations"]["safety"]["individual_human_scores"] for row in rows]
    return np.array([[one == "Yes" for one in row] for row in said], dtype=float)


def designs(table: Table) -> Iterator[tuple[Between, int, int]]:
    """Numbers of items and people, with at most half of either."""
    items, people = table.shape
    for few in (10, 20, items // 4):
        yield from (("items", few, many) for many in (5, 10, people // 2))
    for few in (10, ITEMS, items // 2):
        yield from (("people", few, many) for many in (5, 10, people // 4))


def see(
    table: Table, between: Between, items: int, people: int, draws: int, rng: np.random.Generator
) -> list[float]:
    """How often the test comes out, without effect and with each."""
    came = np.zeros(1 + len(EFFECTS))
    size = items if between == "items" else people
    end = t.ppf(0.975, 2 * (size - 1))
    for _ in range(draws):
        rows = rng.permutation(len(table))[: 2 * items if between == "items" else items]
        columns = rng.permutation(table.shape[1])[: people if between == "items" else 2 * people]
        means = table[np.ix_(rows, columns)].mean(axis=1 if between == "items" else 0)
        first, second = means[:size], means[size:]
        error = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / size)
        apart = second.mean() - first.mean() + np.array([0.0, *EFFECTS])
        came += np.abs(apart) > end * error
    return (came / draws).tolist()


def draw_pilots(table: Table, number: int, rng: np.random.Generator) -> list[PilotScores]:
    found = []
    for _ in range(number):
        rows, columns = (rng.permutation(size) for size in table.shape)
        some = table[np.ix_(rows[:ITEMS], columns[:PEOPLE])]
        item, person = np.indices(some.shape)
        found.append(PilotScores(some.ravel(), item.ravel(), person.ravel()))
    return found


def plot(points: dict[str, list[tuple[float, Table]]], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(points), figsize=(3.2 * len(points), 3.4), sharey=True)
    for one, (name, found) in zip(axes, points.items(), strict=True):
        seen = np.array([each for each, _ in found])
        ends = np.quantile([each for _, each in found], [0.1, 0.5, 0.9], axis=1)
        one.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
        away = [ends[1] - ends[0], ends[2] - ends[1]]
        one.errorbar(seen, ends[1], yerr=away, fmt="o", markersize=3, linewidth=0.8)
        one.set(xlabel="power seen", title=name, xlim=(0, 1), ylim=(0, 1))
    axes[0].set_ylabel("power foretold: median pilot, 80 % of pilots")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pilots", type=int, default=50)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    data, points = Path(os.environ["SFUMATO_DATA"]), {}
    print(f"{'':22} designs x effects  error  bias  seen in 95 % interval   null")
    for name, table in (("ReaL", real(data)), ("DICES-350", dices(data))):
        rng = np.random.default_rng(0)
        drawn = [one.draw(rng) for one in draw_pilots(table, options.pilots, rng)]
        for side in ("items", "people"):
            found: list[tuple[float, Table]] = []
            nulls, inside = [], []
            for between, items, people in designs(table):
                if between != side:
                    continue
                null, *seen = see(table, between, items, people, options.draws, rng)
                nulls.append(null)
                for effect, share in zip(EFFECTS, seen, strict=True):
                    comparison = Comparison(effect, between)
                    each = [power_of(one, comparison, items, people) for one in drawn]
                    found.append((share, np.array([one.mean() for one in each])))
                    margin = 2 * np.sqrt(share * (1 - share) / options.draws)
                    ends = np.quantile(each, [0.025, 0.975], axis=1)
                    inside.append(
                        ((ends[0] - margin <= share) & (share <= ends[1] + margin)).mean()
                    )
            away = np.array([each - share for share, each in found])
            points[f"{name}, {side}"] = found
            print(
                f"{name + ', ' + side:22} {len(found):17} {np.abs(away).mean():6.3f} "
                f"{away.mean():+5.3f} {np.mean(inside):22.0%} {np.mean(nulls):6.1%}",
                flush=True,
            )
    if options.plot is not None:
        plot(points, options.plot)


if __name__ == "__main__":
    main()
