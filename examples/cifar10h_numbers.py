"""Print what CIFAR-10H and CIFAR-10S say about each other; needs the folder of datasets."""

import sys
from pathlib import Path

import numpy as np

from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.build import build
from sfumato.labels.compare import class_blind_wasserstein, entropy_correlation, total_variation
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy, non_max_mass, support_size


def labels_of(path: Path, name: str, recipe: str) -> LabelSet:
    """Mean labels of a released file, as the file counts them."""
    judgments = read(path, name, ReadOptions())
    assert isinstance(judgments, Judgments)
    return build(select(judgments, ["repeats", "duplicates"]), recipe).crowd.mean()


def main(data: Path) -> None:
    """Recompute the published numbers."""
    votes = labels_of(data / "cifar10h" / "cifar10h-counts.npy", "cifar10h", "votes")
    soft = labels_of(data / "cifar10s" / "raw_human_data.csv", "cifar10s", "top2-clamp")
    doubt = entropy(votes)
    few = (support_size(votes) <= 2).mean()
    print("CIFAR-10H")
    print(f"  votes                            {votes.weight.sum():,.0f}")
    print(
        f"  votes per image                   {votes.weight.min():.0f} to {votes.weight.max():.0f}"
    )
    print(f"  mass on at most two labels       {few:.2%} of images")
    print(f"  non-max mass                     {non_max_mass(votes).mean():.4f}")
    print(f"  mean entropy                     {doubt.mean():.4f} nats")
    same = votes.take(soft.items)
    chosen = entropy(same)
    print("CIFAR-10S, beside CIFAR-10H on the same 1,000 images")
    print(f"  CIFAR-10H entropy at least 0.25  {(chosen >= 0.25).sum()} images")
    print(f"  CIFAR-10H entropy at most 0.1    {(chosen <= 0.1).sum()} images")
    print(f"  mean entropy                     {entropy(soft).mean():.3f} (paper 0.69)")
    print(f"  entropy correlation              {entropy_correlation(soft, same):.3f} (paper 0.596)")
    print(f"  mean total variation             {total_variation(soft, same).mean():.3f}")
    blind = np.mean(class_blind_wasserstein(soft, same))
    print(f"  class-blind Wasserstein          {blind:.4f} (paper 0.028)")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
