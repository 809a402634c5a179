"""How well sets of classes cover people's answers on real data, and what majority labels miss.

    python benchmarks/cover_people.py [--splits 200]

Needs SFUMATO_DATA. Models: RoBERTa's stored predictions for ChaosNLI, two stored networks for
CIFAR-10H, and for DICES-350 a logistic regression on tf-idf of the conversations, cross-fitted in
ten folds of items. Everything goes through ``sf.cover``.
"""

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import sfumato as sf


def chaos_nli(folder: Path, name: str, model: str) -> tuple[sf.LabelSet, sf.LabelSet]:
    """People's shares and RoBERTa's probabilities; the order of the model's columns is e, c, n."""
    lines = (folder / f"chaosNLI_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    counts = {row["uid"]: row["label_counter"] for row in map(json.loads, lines)}
    believed: dict[str, Any] = {}
    for path in sorted(folder.glob(f"pred_{model}_*_roberta-base_0.json")):
        stored = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        believed |= {row["uid"]: [row["probs"][at] for at in (0, 2, 1)] for row in stored}
    items = tuple(item for item in counts if item in believed)
    votes = np.array([[counts[item].get(letter, 0) for letter in "enc"] for item in items], float)
    rows = np.array([believed[item] for item in items], float)
    return label_set(items, tuple("enc"), votes), label_set(items, tuple("enc"), rows)


def cifar10h(folder: Path, network: str) -> tuple[sf.LabelSet, sf.LabelSet]:
    votes = np.load(folder / "cifar10h" / "cifar10h-counts.npy").astype(float)
    rows = np.load(folder / "cifar10h-predictions" / f"{network}.npz")["probs"].astype(float)
    items, classes = tuple(map(str, range(len(votes)))), tuple(map(str, range(10)))
    return label_set(items, classes, votes), label_set(items, classes, rows)


def dices(folder: Path) -> tuple[sf.LabelSet, sf.LabelSet]:
    """Safety verdicts of the crowd, and a cross-fitted model of the conversation's words."""
    stored = json.loads((folder / "dices_350_crowdsourced.json").read_text(encoding="utf-8"))
    texts, votes = [], []
    classes = tuple(stored["annotations"][0]["labels_list"])
    for instance in stored["instances"]:
        said = Counter(instance["annotations"]["safety"]["individual_human_scores"])
        votes.append([said[name] for name in classes])
        texts.append(re.sub(r"\s+", " ", json.dumps(instance["instance"])))
    counts = np.array(votes, float)
    rows = np.empty_like(counts)
    for train, test in KFold(10, shuffle=True, random_state=0).split(texts):
        model = sf.SoftTargets(make_pipeline(TfidfVectorizer(min_df=2), LogisticRegression()))
        shares = counts[train] / counts[train].sum(axis=1, keepdims=True)
        model.fit([texts[at] for at in train], shares)
        rows[test] = model.predict_proba([texts[at] for at in test])
    items = tuple(map(str, range(len(texts))))
    return label_set(items, classes, counts), label_set(items, classes, rows)


def label_set(items: tuple[str, ...], classes: tuple[str, ...], rows: Any) -> sf.LabelSet:
    return sf.LabelSet(items, classes, rows / rows.sum(axis=1, keepdims=True))


def sets(data: Path) -> Iterator[tuple[str, tuple[sf.LabelSet, sf.LabelSet]]]:
    yield "ChaosNLI-SNLI, RoBERTa", chaos_nli(data / "chaosnli", "snli", "SNLI")
    yield "ChaosNLI-MNLI, RoBERTa", chaos_nli(data / "chaosnli", "mnli_m", "MNLI")
    for network in ("vgg_15_BN_64", "shake_shake_26_2x64d_SSI_cutout16"):
        yield f"CIFAR-10H, {network.partition('_2')[0]}", cifar10h(data, network)
    yield "DICES-350, tf-idf", dices(data / "dices")


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
