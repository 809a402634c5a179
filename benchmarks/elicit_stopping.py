"""Which items to stop asking about: replay real votes under three rules with the same budget.

    python benchmarks/elicit_stopping.py [--votes 5] [--draws 3]

Needs SFUMATO_DATA. Each item's votes are halved. From one half every item gets two votes; then the
next votes go, until the budget of so many per item is spent, to all items alike (*uniform*), to
those whose leading class is least sure (*label sure*: who is sure is stopped), or to those whose
distribution one more vote is expected to change most (*change*, as the dashboard does). Labels are
shrunk shares, held against the other half: KL(people ‖ label) in nats, mean over items and draws.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

import sfumato as sf
from sfumato.data import load_texts
from sfumato.labels.aggregate import aggregate
from sfumato.labels.labelset import NOT_RECORDED
from sfumato.labels.votes import Votes

Counts = NDArray[np.int64]
Rows = NDArray[np.float64]

ROUND = 0.05
"""Share of the items that get a vote at a time."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--votes", type=int, default=5)
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    print(f"{given.votes} votes per item  " + "".join(f"{name:>22}" for name in RULES))
    for name, counts in every_set(Path(os.environ["SFUMATO_DATA"])):
        found = {rule: replay(counts, need, given) for rule, need in RULES.items()}
        base = found["uniform"]
        told = (f"{value:>12.4f} ({value / base - 1:+6.1%})" for value in found.values())
        print(f"{name:17}" + " ".join(told), flush=True)


def every_set(data: Path) -> Iterator[tuple[str, Counts]]:
    chaos = load_texts("chaosnli")
    assert chaos.labels is not None
    for part in ("snli", "mnli"):
        items = [item for item in chaos.labels.items if chaos.split[item] == part]
        counts = (chaos.labels.take(items).probs * 100).round().astype(np.int64)
        yield f"ChaosNLI-{part.upper()}", counts
    yield "CIFAR-10H", np.load(data / "cifar10h" / "cifar10h-counts.npy").astype(np.int64)
    yield "FashionMNIST-H", np.load(data / "fashion_mnist_h" / "fmh-counts.npy").astype(np.int64)
    crowd = sf.label(load_texts("dices", "crowdsourced").judgments, per_annotator=True)
    assert crowd.votes is not None
    counts = np.zeros((len(crowd.items), len(crowd.classes)), dtype=np.int64)
    np.add.at(counts, (crowd.item, crowd.votes), 1)
    yield "DICES-350", counts
    with np.load(data / "real_imagenet" / "raters_golden.npz") as stored:
        said = stored["tensor"]  # (people, questions, no | maybe | yes), one-hot
    yield "ReaL, complete", said.sum(axis=0).astype(np.int64)


def replay(counts: Counts, need: Callable[[Counts], Rows], given: argparse.Namespace) -> float:
    """The mean divergence of labels to people who were not asked."""
    found = []
    for seed in range(given.draws):
        rng = np.random.default_rng(seed)
        asked = draw(counts, None, rng)
        votes = spend(asked, need, budget=given.votes * len(counts), rng=rng)
        found.append(divergence(counts - asked, label_votes(votes, "shrunk-shares")).mean())
    return float(np.mean(found))


def spend(
    asked: Counts, need: Callable[[Counts], Rows], *, budget: int, rng: np.random.Generator
) -> Counts:
    """The votes of each item after the budget is spent where the need is greatest."""
    orders = [rng.permutation(np.repeat(np.arange(asked.shape[1]), row)) for row in asked]
    most = np.array([len(order) for order in orders])
    votes = np.zeros_like(asked)
    for item, order in enumerate(orders):
        np.add.at(votes[item], order[:2], 1)
    while (left := budget - int(votes.sum())) > 0:
        size = votes.sum(axis=1)
        urgent = np.where(size < most, need(votes) + 1e-9 * rng.random(len(votes)), -np.inf)
        some = np.argsort(-urgent)[: min(left, max(1, int(ROUND * len(votes))))]
        some = some[np.isfinite(urgent[some])]
        if not len(some):
            break
        votes[some, [orders[item][size[item]] for item in some]] += 1
    return votes


def draw(counts: Counts, votes: int | None, rng: np.random.Generator) -> Counts:
    """So many votes of each item without replacement; None: half of them."""
    return np.array(
        [rng.multivariate_hypergeometric(row, votes or row.sum() // 2) for row in counts]
    )


def label_votes(counts: Counts, name: str) -> Rows:
    item, label = np.nonzero(counts)
    times = counts[item, label]
    items = tuple(f"{row:06}" for row in range(len(counts)))
    classes = tuple(f"{column:03}" for column in range(counts.shape[1]))
    nobody = np.full(times.sum(), NOT_RECORDED)
    votes = Votes(items, (), classes, np.repeat(item, times), nobody, np.repeat(label, times))
    rng = np.random.default_rng(0)
    return aggregate(votes, name, rng=rng).labels.probs


def divergence(people: Counts, labels: Rows) -> Rows:
    shares = people / people.sum(axis=1, keepdims=True)
    logs = np.log(np.maximum(shares, 1e-300)) - np.log(np.maximum(labels, 1e-12))
    return (shares * logs).sum(axis=1)


def uniform(votes: Counts) -> Rows:
    return -votes.sum(axis=1).astype(np.float64)


def label_unsure(votes: Counts) -> Rows:
    """How probable it is that the second class leads in truth."""
    second, first = np.sort(votes, axis=1)[:, -2:].T
    return np.asarray(beta.cdf(0.5, first + 1, second + 1))


def expected_change(votes: Counts) -> Rows:
    """As ``labels.running.change_by_one_more``, for votes."""
    size = votes.sum(axis=1)
    apart = size - (votes**2).sum(axis=1) / size
    change: Rows = (apart + 1 - 1 / votes.shape[1]) / (size + 1) ** 2
    return change


RULES: dict[str, Callable[[Counts], Rows]] = {
    "uniform": uniform,
    "label sure": label_unsure,
    "change": expected_change,
}

if __name__ == "__main__":
    main()
