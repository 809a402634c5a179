"""Paper 1, sections 5 to 7: labels of people against hard ones, other soft labels, attacks."""

from dataclasses import replace

from sfumato.learn.published import published_recipe
from sfumato.learn.train import Recipe
from sfumato.studies.comparison.cifar10h import TRAINED_ON
from sfumato.studies.comparison.cifar10h_claims import (
    ALTERNATIVES_CLAIMS,
    ATTACK_CLAIMS,
    FGSM_8,
    OUR_LADDER,
    SHIFT_CLAIMS,
    table_1_numbers,
)
from sfumato.studies.comparison.cifar10h_sets import CINIC, IMAGENET_FAR, NEAR, V4, V6
from sfumato.studies.comparison.setting import Comparison
from sfumato.studies.comparison.told import Paper
from sfumato.studies.rescore.stored import STORED

__all__ = ["COMPARISONS", "PAPERS"]

SCRATCH = Recipe(
    "cnn-3",
    epochs=20,
    batch_size=64,
    optimizer="sgd",
    learning_rate=0.1,
    weight_decay=5e-4,
    schedule="cosine",
    augment=("crop", "flip"),
)
"""For a CPU; the same number of epochs for everybody, and the last one counts (C7)."""
FINE_TUNING = replace(SCRATCH, epochs=8, learning_rate=0.05)
PAPER = published_recipe("paper1-released")
"""SGD as in the authors' scripts; their text says Adam at a rate of 0.1 (C6)."""
PAPER_FINE_TUNING = replace(PAPER, learning_rate=0.01)
"""One of the three rates that the paper searches: nothing is searched here (C7)."""

PAPER_LADDER = (NEAR, V6, V4, CINIC, IMAGENET_FAR)


def _at_paper_size(cpu: Comparison, family: str) -> Comparison:
    """Eight networks and ten folds; the paper has one run of each fold, an interval needs more."""
    pretrained = cpu.pretraining is not None
    return replace(
        cpu,
        family=family,
        networks=tuple(STORED.values()),
        training=PAPER_FINE_TUNING if pretrained else PAPER,
        pretraining=PAPER if pretrained else None,
        folds=10,
        seeds=3,
    )


SHIFT = Comparison(
    name="cifar10h-shift",
    title="Do people's doubts help on images from elsewhere?",
    about=(
        "Section 5 of paper 1: networks learn CIFAR-10 test images from hard labels or from the "
        "votes of about 51 people, and are tested further and further away; with the majority "
        "vote that the paper lacks."
    ),
    family="cifar10h",
    arms=("hard", "majority", "soft"),
    controls=("hard", "majority"),
    networks=("cnn-3",),
    training=SCRATCH,
    seeds=6,
    folds=3,
    ladders=(PAPER_LADDER, OUR_LADDER),
)
ALTERNATIVES = Comparison(
    name="cifar10h-alternatives",
    title="Are people's labels better than other soft labels?",
    about=(
        "Table 1 of paper 1: a pretrained network is tuned on six kinds of labels of the test "
        "images; with the majority vote that the paper lacks, and with labels that the authors' "
        "own networks gave."
    ),
    family="cifar10h-tuned",
    arms=(
        "pretrained",
        "hard",
        "hard + mixup",
        "category",
        "soft",
        "sampled",
        "majority",
        "distilled",
        "ensemble",
    ),
    controls=("hard", "majority"),
    networks=("cnn-3",),
    training=FINE_TUNING,
    pretraining=SCRATCH,
    seeds=6,
    folds=3,
)
ATTACKS = Comparison(
    name="cifar10h-attacks",
    title="Do people's labels make networks harder to attack?",
    about=(
        "Section 7 of paper 1: pretrained networks, tuned on hard labels or people's, under FGSM "
        "and PGD; with the majority vote, and with labels that are as soft as people's but know "
        "nothing of them."
    ),
    family="cifar10h-attacked",
    arms=("hard", "majority", "smoothed", "soft"),
    controls=("hard", "majority", "smoothed"),
    networks=("cnn-3",),
    training=FINE_TUNING,
    pretraining=SCRATCH,
    seeds=6,
    folds=3,
    fgsm=(4, 8),
    pgd=(4,),
    pgd_iterations=9,
    attacked_items=500,
)

COMPARISONS: dict[str, tuple[Comparison, Comparison]] = {
    SHIFT.name: (SHIFT, _at_paper_size(SHIFT, "cifar10h-all")),
    ALTERNATIVES.name: (ALTERNATIVES, _at_paper_size(ALTERNATIVES, "cifar10h-tuned-all")),
    ATTACKS.name: (ATTACKS, _at_paper_size(ATTACKS, "cifar10h-attacked-all")),
}
"""By name: for a CPU, and at the paper's size."""

PAPERS: dict[str, Paper] = {
    SHIFT.name: Paper(
        claims=SHIFT_CLAIMS,
        numbers={
            ("hard", NEAR, "all", "accuracy"): "0.835",
            ("soft", NEAR, "all", "accuracy"): "0.845",
            ("hard", NEAR, "all", "cross_entropy"): "0.7",
            ("soft", NEAR, "all", "cross_entropy"): "0.5",
            ("hard", IMAGENET_FAR, "all", "accuracy"): "0.494",
            ("soft", IMAGENET_FAR, "all", "accuracy"): "0.514",
            ("hard", IMAGENET_FAR, "all", "cross_entropy"): "2.9",
            ("soft", IMAGENET_FAR, "all", "cross_entropy"): "1.8",
        },
    ),
    ALTERNATIVES.name: Paper(claims=ALTERNATIVES_CLAIMS, numbers=table_1_numbers()),
    ATTACKS.name: Paper(
        claims=ATTACK_CLAIMS,
        numbers={
            ("hard", TRAINED_ON, FGSM_8, "cross_entropy"): "5.7",
            ("soft", TRAINED_ON, FGSM_8, "cross_entropy"): "2.8",
            ("hard", TRAINED_ON, FGSM_8, "accuracy"): "0.21",
            ("soft", TRAINED_ON, FGSM_8, "accuracy"): "0.25",
        },
    ),
}
"""What each comparison is held against."""
