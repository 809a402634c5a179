"""Labels of real votes against the truth, beside what crowd-kit 1.4.2 gives to the same votes."""

from pathlib import Path

import numpy as np
import pytest

from sfumato.labels.aggregate import aggregate
from sfumato.labels.files import read_gold
from sfumato.labels.verbs import label

CROWD_KIT = {  # accuracies of its classes with their own settings; ties count for their parts
    ("bluebird", "majority"): 0.7593,
    ("bluebird", "dawid-skene"): 0.8889,
    ("bluebird", "glad"): 0.7222,
    ("dog", "majority"): 0.8222,
    ("dog", "dawid-skene"): 0.8426,
    ("dog", "glad"): 0.8340,
    ("rte", "majority"): 0.8969,
    ("rte", "dawid-skene"): 0.9275,
    ("rte", "glad"): 0.9250,
    ("face", "majority"): 0.6367,
    ("face", "dawid-skene"): 0.6404,
    ("face", "glad"): 0.6301,
}


@pytest.mark.parametrize(("name", "method"), CROWD_KIT)
def test_accuracy_is_within_a_hundredth_of_crowd_kit_s(
    name: str, method: str, data_folder: Path
) -> None:
    crowd = label(data_folder / f"crowd/{name}_label.csv", per_annotator=True, format="crowd")
    truth = read_gold(data_folder / f"crowd/{name}_truth.csv")

    labels = aggregate(crowd, method, rng=np.random.default_rng(0)).labels

    best = labels.probs == labels.probs.max(axis=1, keepdims=True)
    known = [(row, truth[item]) for row, item in enumerate(labels.items) if item in truth]
    right = [best[row, labels.classes.index(true)] / best[row].sum() for row, true in known]
    assert np.mean(right) == pytest.approx(CROWD_KIT[name, method], abs=0.01)
