"""Paper 2, sections 7.2 to 7.4: label sets learnt on all images, and on 80 or 8 of each class.

On two cores a training of 6,667 images takes about a minute of one core, one of 800 images and 60
epochs about 20 seconds. The paper trains in ten folds and keeps the best of several rates and
seeds; here one fold of three, everything fixed, and all seeds count (C7).
"""

from dataclasses import replace

from sfumato.learn.published import published_recipe
from sfumato.learn.train import Recipe
from sfumato.studies.comparison.label_sets import HARD, MODES, MODES_S, PER_CLASS, SETS, few
from sfumato.studies.comparison.label_sets_claims import (
    LABELS_CLAIMS,
    OUR_LADDER,
    PAPER_LADDER,
    SMALL_CLAIMS,
    TABLE_1,
    TESTED,
)
from sfumato.studies.comparison.setting import Comparison
from sfumato.studies.comparison.told import Paper
from sfumato.studies.rescore.stored import STORED

__all__ = ["COMPARISONS", "PAPERS"]

CPU = Recipe(
    "cnn-3",
    epochs=20,
    batch_size=64,
    optimizer="sgd",
    learning_rate=0.1,
    weight_decay=5e-4,
    schedule="cosine",
    augment=("crop", "flip"),
)
PAPER_NETWORKS = tuple(
    STORED[name] for name in ("VGG", "ResNet", "Wide ResNet", "DenseNet", "Shake-Shake")
)
"""The five of the paper's table 2 (S1-40)."""
LEARNT = (*SETS, MODES, MODES_S)

LABELS = Comparison(
    name="informativeness-labels",
    title="Which label set of the same images is best to learn from?",
    about=(
        "Sections 7.2 and 7.3 of paper 2: every label set that can be had is learnt, and every one "
        "is tested against, near and further away; with the modes of people's labels as hard ones, "
        "which the paper lacks."
    ),
    family="label-sets",
    arms=LEARNT,
    controls=(HARD, MODES, MODES_S),
    networks=("cnn-3",),
    training=CPU,
    seeds=5,
    ladders=(PAPER_LADDER, OUR_LADDER),
    crossed=SETS,
)
SMALL = Comparison(
    name="informativeness-small-data",
    title="Which labels are best if there are few images?",
    about=(
        "Section 7.4 and table 1 of paper 2: the same label sets, of 80 or of 8 images of each "
        "class; with the modes of people's labels as hard ones, which the paper lacks."
    ),
    family="label-sets-near",
    arms=tuple(few(name, count) for count in PER_CLASS for name in LEARNT),
    controls=tuple(few(name, count) for count in PER_CLASS for name in (HARD, MODES, MODES_S)),
    networks=("cnn-3",),
    # 800 images make an eighth of the steps of an epoch of 6,667
    training=replace(CPU, epochs=60),
    seeds=8,
)


def _at_papers_size(cpu: Comparison) -> Comparison:
    """Five networks and ten folds; the paper keeps one seed, an interval needs more."""
    return replace(
        cpu,
        family="label-sets-all",
        networks=PAPER_NETWORKS,
        training=published_recipe("paper1-released"),
        seeds=3,
        folds=10,
    )


COMPARISONS: dict[str, tuple[Comparison, Comparison]] = {
    cpu.name: (cpu, _at_papers_size(cpu)) for cpu in (LABELS, SMALL)
}
"""By name: for a CPU, and at the paper's size."""

PAPERS: dict[str, Paper] = {
    LABELS.name: Paper(claims=LABELS_CLAIMS),
    SMALL.name: Paper(
        claims=SMALL_CLAIMS,
        numbers={
            (few(name, count), TESTED, "all", "cross_entropy"): f"{printed[place]:.2f}"
            for name, printed in TABLE_1.items()
            for place, count in enumerate(PER_CLASS)
        },
    ),
}
"""What each comparison is held against."""
