"""Real handwritten digits, simulated annotators, labels by several recipes: ``python examples/digits.py FOLDER``.

The images are real, the people are not: what each simulated person sees in an image is
drawn from the class shares of the images most like it. Real annotators' answers would take
their place in a file that ``sfumato label`` reads.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from sfumato.data import digits as digits_data
from sfumato.data.images import ImageSet
from sfumato.judgments.formats import write
from sfumato.judgments.judgments import Judgments
from sfumato.labels.agreement import krippendorff_nominal
from sfumato.labels.compare import total_variation
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.make import LabelSettings, make_labels
from sfumato.labels.signals import entropy
from sfumato.labels.simulate import simulate
from sfumato.labels.votes import counts, votes_of
from sfumato.provenance import Step

PER_ITEM = 6
RECIPES = {
    "voters": ("votes",),
    "top-two": ("votes", "select-top2", "top1-uniform", "top1-clamp", "top2-uniform", "top2-clamp"),
    "yes-no-unsure": ("yes-unsure-equal", "yes-unsure-weighted"),
}


def what_people_would_see(digits: ImageSet) -> LabelSet:
    """Class shares of the 15 most similar other images: ambiguous digits have mixed neighbours."""
    flat = digits.images.reshape(len(digits.items), -1)
    nearest = KNeighborsClassifier(n_neighbors=15)
    shares = cross_val_predict(nearest, flat, digits.labels, cv=10, method="predict_proba")
    step = Step("simulate what people see", {"neighbours": 15}, simulated=True)
    return LabelSet(digits.items, digits.classes, shares, provenance=(*digits.provenance, step))


def main(folder: Path) -> None:
    """Simulate, label, compare, write."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = digits_data.load()
    seen = what_people_would_see(digits)
    original = digits.original()
    print(f"{len(digits.items):,} real handwritten digits, {PER_ITEM} SIMULATED answers each\n")
    print("simulated people   recipe               entropy   distance   same mode as")
    print("                                         (nats)   to seen    original label")
    for kind, recipes in RECIPES.items():
        people = simulate(kind, seen, per_item=PER_ITEM, rng=np.random.default_rng(1))
        assert isinstance(people, Judgments)
        write(people, folder / f"simulated-{kind}.parquet", "sfumato")
        for recipe in recipes:
            made = make_labels(people, LabelSettings(recipe))
            labels = LabelSet(
                made.labels.items,
                made.labels.classes[:10],
                _without_none(made.labels),
                made.labels.weight,
            ).take(digits.items)
            same = (labels.probs.argmax(axis=1) == original.probs.argmax(axis=1)).mean()
            apart = total_variation(seen, labels).mean()
            print(f"{kind:18} {recipe:20} {entropy(labels).mean():7.3f} {apart:10.3f} {same:12.1%}")
            write_labels(made.labels, folder / f"simulated-labels-{recipe}-{kind}.csv")
        alpha = (
            krippendorff_nominal(
                counts(votes_of(make_labels(people, LabelSettings(recipes[0])).crowd)),
                rng=np.random.default_rng(0),
            )
            if kind != "yes-no-unsure"
            else None
        )
        if alpha is not None:
            print(
                f"{'':18} Krippendorff's alpha {alpha.value:.3f} ({alpha.low:.3f} to {alpha.high:.3f})"
            )
    print(f"\nThe simulated answers and the labels are in {folder}/; look at them with")
    print(f"  sfumato describe {folder}/simulated-top-two.parquet")


def _without_none(labels: LabelSet) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The ten digits only: mass on "none of these" is shared in proportion."""
    digits = labels.probs[:, :10]
    total = digits.sum(axis=1, keepdims=True)
    return np.where(total > 0, digits / np.where(total > 0, total, 1), 0.1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
