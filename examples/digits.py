"""Real handwritten digits, simulated annotators, labels by several recipes.

``python examples/digits.py FOLDER`` prints a table and writes answers and labels to the
folder. The images are real, the people are not: what each simulated person sees in an image
is drawn from the class shares of the images most like it. Real annotators' answers would
take their place in a file that ``sfumato label`` reads.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from sfumato.data import ImageSet
from sfumato.data import digits as digits_data
from sfumato.judgments.formats import write
from sfumato.judgments.judgments import Judgments
from sfumato.labels.compare import total_variation
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.make import LabelSettings, make_labels
from sfumato.labels.signals import entropy
from sfumato.labels.simulate import simulate
from sfumato.provenance import Step

PER_ITEM, PEOPLE = 6, 60
RECIPES = {
    "voters": ("votes",),
    "top-two": ("votes", "select-top2", "top1-uniform", "top1-clamp", "top2-uniform", "top2-clamp"),
    "yes-no-unsure": ("yes-unsure-equal", "yes-unsure-weighted"),
}


def main(folder: Path) -> None:
    """Simulate, label, compare, write."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = digits_data.load()
    seen = what_people_would_see(digits)
    mode = digits.original().probs.argmax(axis=1)
    print(f"{len(digits.items):,} real handwritten digits, {PER_ITEM} SIMULATED answers each\n")
    print("simulated people   recipe               entropy   distance   mode equals the")
    print("                                         (nats)    to seen   original label")
    for kind, recipes in RECIPES.items():
        rng = np.random.default_rng(1)
        people = simulate(kind, seen, per_item=PER_ITEM, annotators=PEOPLE, rng=rng)
        assert isinstance(people, Judgments)
        write(people, folder / f"simulated-{kind}.parquet", "sfumato")
        for recipe in recipes:
            made = make_labels(people, LabelSettings(recipe))
            write_labels(made.labels, folder / f"simulated-{kind}-{recipe}.csv")
            labels = only_digits(made.labels).take(digits.items)
            doubt, apart = entropy(labels).mean(), total_variation(seen, labels).mean()
            same = (labels.probs.argmax(axis=1) == mode).mean()
            print(f"{kind:18} {recipe:20} {doubt:7.3f} {apart:10.3f} {same:16.1%}")
    print("\nEntropy: how much doubt the labels keep. Distance: mean total variation between the")
    print("labels and what the simulated people saw.")
    print(f"\nSimulated answers and labels are in {folder}/. Look at them with")
    print(f"  .venv/bin/sfumato describe {folder}/simulated-top-two.parquet")


def what_people_would_see(digits: ImageSet) -> LabelSet:
    """Class shares of the 15 most similar other images: ambiguous digits have mixed neighbours."""
    flat = digits.images.reshape(len(digits.items), -1)
    nearest = KNeighborsClassifier(n_neighbors=15)
    shares = cross_val_predict(nearest, flat, digits.labels, cv=10, method="predict_proba")
    step = Step("simulate what people see", {"neighbours": 15}, simulated=True)
    return LabelSet(digits.items, digits.classes, shares, provenance=(*digits.provenance, step))


def only_digits(labels: LabelSet) -> LabelSet:
    """Without the class "none of these"; its mass goes to the digits in proportion."""
    digits = labels.probs[:, :10]
    total = digits.sum(axis=1, keepdims=True)
    rows = np.divide(digits, total, where=total > 0, out=np.full_like(digits, 0.1))
    return LabelSet(labels.items, labels.classes[:10], rows, labels.weight, labels.provenance)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
