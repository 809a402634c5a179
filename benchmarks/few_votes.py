"""How near labels from a few votes come to what many people say, by aggregator, on real votes.

    python benchmarks/few_votes.py [--votes 3 5] [--draws 5]

Needs SFUMATO_DATA. Each item's votes are halved. From one half a few votes are drawn and
aggregated; the label is held against the other half: KL(people ‖ label), the mean over items and
draws, in nats. *informed + model* also reads what a model believes that has not seen the votes:
RoBERTa for ChaosNLI, two networks for CIFAR-10H. The last column is the difference of *informed*,
without a model, to *shrunk shares*, with the upper end of its one-sided 95 % interval over items.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from sfumato.data import load_texts
from sfumato.labels.aggregate import aggregate
from sfumato.labels.labelset import NOT_RECORDED, LabelSet
from sfumato.labels.votes import Votes

VOTES = 100
"""Of each item of ChaosNLI."""

Counts = NDArray[np.int64]
Rows = NDArray[np.float64]


def chaos_nli(part: str) -> tuple[Counts, Rows]:
    stored = load_texts("chaosnli")
    model = stored.predictions["roberta-base"]
    assert stored.labels is not None
    items = [item for item in model.items if stored.split[item] == part]
    counts = (stored.labels.take(items).probs * VOTES).round().astype(int)
    return counts, model.take(items).probs


def sets(data: Path) -> Iterator[tuple[str, Counts, Rows | None]]:
    yield "ChaosNLI-SNLI", *chaos_nli("snli")
    yield "ChaosNLI-MNLI", *chaos_nli("mnli")
    networks = [
        np.load(data / "cifar10h-predictions" / f"{name}.npz")["probs"].astype(float)
        for name in ("vgg_15_BN_64", "resnet_basic_110")
    ]
    yield "CIFAR-10H", np.load(data / "cifar10h" / "cifar10h-counts.npy"), sum(networks) / 2
    yield "FashionMNIST-H", np.load(data / "fashion_mnist_h" / "fmh-counts.npy").astype(int), None
    crowd = sf.label(load_texts("dices", "crowdsourced").judgments, per_annotator=True)
    assert crowd.votes is not None
    counts = np.zeros((len(crowd.items), len(crowd.classes)), dtype=int)
    np.add.at(counts, (crowd.item, crowd.votes), 1)
    yield "DICES-350", counts, None


def draw(counts: Counts, votes: int | None, rng: np.random.Generator) -> Counts:
    """So many votes of each item without replacement; None: half of them."""
    return np.array(
        [rng.multivariate_hypergeometric(row, votes or row.sum() // 2) for row in counts]
    )


def label_votes(counts: Counts, name: str, model: Rows | None = None) -> Rows:
    item, label = np.nonzero(counts)
    times = counts[item, label]
    items = tuple(f"{row:06}" for row in range(len(counts)))
    classes = tuple(f"{column:03}" for column in range(counts.shape[1]))
    nobody = np.full(times.sum(), NOT_RECORDED)
    votes = Votes(items, (), classes, np.repeat(item, times), nobody, np.repeat(label, times))
    believed = None
    if model is not None:
        believed = LabelSet(items, classes, model / model.sum(axis=1, keepdims=True))
    rng = np.random.default_rng(0)
    return aggregate(votes, name, rng=rng, predictions=believed).labels.probs


def divergence(people: Counts, labels: Rows) -> Rows:
    shares = people / people.sum(axis=1, keepdims=True)
    logs = np.log(np.maximum(shares, 1e-300)) - np.log(np.maximum(labels, 1e-12))
    return (shares * logs).sum(axis=1)


def score(counts: Counts, model: Rows | None, votes: int, draws: int) -> dict[str, Rows]:
    """The mean divergence of each item, by aggregator."""
    found: dict[str, list[Rows]] = {}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        first = draw(counts, None, rng)
        few, rest = draw(first, votes, rng), counts - first
        ways = {"vote-shares": None, "shrunk-shares": None, "informed": None}
        for name in ways:
            found.setdefault(name, []).append(divergence(rest, label_votes(few, name)))
        if model is not None:
            labels = label_votes(few, "informed", model)
            found.setdefault("informed + model", []).append(divergence(rest, labels))
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    columns = ("vote-shares", "shrunk-shares", "informed", "informed + model")
    print(
        f"{'':15} votes  " + "  ".join(f"{name:>16}" for name in columns) + "   difference (upper)"
    )
    for name, counts, model in sets(Path(os.environ["SFUMATO_DATA"])):
        for votes in options.votes:
            found = score(counts, model, votes, options.draws)
            told = [f"{found[one].mean():16.4f}" if one in found else f"{'':16}" for one in columns]
            apart = found["informed"] - found["shrunk-shares"]
            upper = apart.mean() + 1.645 * apart.std(ddof=1) / np.sqrt(len(apart))
            print(
                f"{name:15} {votes:5}  {'  '.join(told)}   {apart.mean():+.4f} ({upper:+.4f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
