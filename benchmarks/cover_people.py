"""How well sets of classes cover people's answers on real data, and what majority labels miss.

    python benchmarks/cover_people.py [--splits 200]

Needs SFUMATO_DATA. Models: RoBERTa's stored predictions for ChaosNLI, two stored networks for
CIFAR-10H, and for DICES-350 a logistic regression on tf-idf of the conversations, cross-fitted in
ten folds of items. Everything goes through ``sf.cover``.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import sfumato as sf
from sfumato.data import load_texts


def chaos_nli(part: str) -> tuple[sf.LabelSet, sf.LabelSet]:
    """People's shares and RoBERTa's probabilities."""
    stored = load_texts("chaosnli")
    model = stored.predictions["roberta-base"]
    assert stored.labels is not None
    items = [item for item in model.items if stored.split[item] == part]
    return stored.labels.take(items), model.take(items)


def cifar10h(folder: Path, network: str) -> tuple[sf.LabelSet, sf.LabelSet]:
    votes = np.load(folder / "cifar10h" / "cifar10h-counts.npy").astype(float)
    rows = np.load(folder / "cifar10h-predictions" / f"{network}.npz")["probs"].astype(float)
    items, classes = tuple(map(str, range(len(votes)))), tuple(map(str, range(10)))
    return label_set(items, classes, votes), label_set(items, classes, rows)


def dices() -> tuple[sf.LabelSet, sf.LabelSet]:
    """Safety verdicts of the crowd, and a cross-fitted model of the conversation's words."""
    stored = load_texts("dices", "crowdsourced")
    people = sf.label(stored.judgments)
    assert stored.items is not None
    texts = [" ".join(stored.items[item].values()) for item in people.items]
    rows = np.empty_like(people.probs)
    for train, test in KFold(10, shuffle=True, random_state=0).split(texts):
        model = sf.SoftTargets(make_pipeline(TfidfVectorizer(min_df=2), LogisticRegression()))
        model.fit([texts[at] for at in train], people.probs[train])
        rows[test] = model.predict_proba([texts[at] for at in test])
    return people, label_set(people.items, people.classes, rows)


def label_set(items: tuple[str, ...], classes: tuple[str, ...], rows: Any) -> sf.LabelSet:
    return sf.LabelSet(items, classes, rows / rows.sum(axis=1, keepdims=True))


def sets(data: Path) -> Iterator[tuple[str, tuple[sf.LabelSet, sf.LabelSet]]]:
    yield "ChaosNLI-SNLI, RoBERTa", chaos_nli("snli")
    yield "ChaosNLI-MNLI, RoBERTa", chaos_nli("mnli")
    for network in ("vgg_15_BN_64", "shake_shake_26_2x64d_SSI_cutout16"):
        yield f"CIFAR-10H, {network.partition('_2')[0]}", cifar10h(data, network)
    yield "DICES-350, tf-idf", dices()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=200)
    splits = parser.parse_args().splits
    print(f"{'':26} {'items':>6} {'covered':>8} {'dev.':>5} {'size':>5} {'empty':>6}   majority")
    for name, (people, model) in sets(Path(os.environ["SFUMATO_DATA"])):
        told = sf.cover(people, model, splits=splits).to_json()
        print(
            f"{name:26} {told['items']:6,} {told['coverage']:8.1%} {told['deviation']:5.1%} "
            f"{told['size']:5.2f} {told['empty']:6.1%} {told['majority']['coverage']:10.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
