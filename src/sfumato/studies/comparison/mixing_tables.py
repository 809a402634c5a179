"""Thesis, tables 4.1 to 4.3, 5.1, 5.2 and C.1: what is learnt from mixes, and what it claims."""

from dataclasses import replace
from typing import Literal

from sfumato.evaluation.corruptions import CORRUPTIONS
from sfumato.learn.published import published_recipe
from sfumato.learn.train import Recipe
from sfumato.studies.comparison.measured import CORRUPTED
from sfumato.studies.comparison.mixing import MAJORITY, NO_MIXING, PEOPLE_H, SOFT
from sfumato.studies.comparison.setting import Comparison
from sfumato.studies.comparison.told import NOT_RUN, Claim, Paper

__all__ = ["COMPARISONS", "PAPERS"]

Measure = Literal["CE", "calibration", "FGSM", "corrupted"]
FGSM = "fgsm/4"
MEASURES: dict[Measure, tuple[str, str, str]] = {
    "CE": ("all", "cross_entropy", "Cross-entropy to people"),
    "calibration": ("all", "rms_calibration", "Calibration error"),
    "FGSM": (FGSM, "cross_entropy", "Loss under FGSM"),
    "corrupted": (CORRUPTED, "cross_entropy", "Cross-entropy on corrupted images"),
}
"""Stratum, metric and words for each column of the thesis's tables."""
THREE: tuple[Measure, ...] = ("CE", "calibration", "FGSM")
FOUR: tuple[Measure, ...] = (*THREE, "corrupted")

EPOCHS = 15
"""At CPU size: the network knows its training images by then."""
SMALLER = f"At CPU size a small network and {EPOCHS} epochs instead of 200."
MADE_HERE = "Corruptions are made by us, at strength 3; CIFAR-10-C itself cannot be had."
IN_PART_SIMULATED = (
    "Soft endpoints are elicited for 1,000 images and simulated for 6,000, here as in the thesis; "
    "simulated people order alternatives as people and votes do, not by GloVe."
)
NO_MARGIN = "To claim no difference takes a margin, and the thesis names none; the table has both."
CONTROL = "A control that the thesis did not run."

USUAL = tuple(name for name, one in CORRUPTIONS.items() if one.usual)
"""The fifteen corruptions that CIFAR-10-C is averaged over."""

AUGMENTED = (
    "uniform",
    "random",
    "mixup labels",
    "mean λ_h",
    "separate λ_h",
    "mean λ_h + ω",
    "separate λ_h + ω",
)
MIXED = ("mixup", "Mix-MaxEnt", "Ent-WC")
BENT = ("τ", "identity τ", "pooled τ", "shuffled τ")


def _small(published: str, epochs: int) -> Recipe:
    """A published recipe for a small network, its steps at the same shares of fewer epochs."""
    recipe = published_recipe(published, network="cnn-3")
    return replace(recipe, epochs=epochs, milestones=(epochs // 2, 3 * epochs // 4))


def _both(cpu: Comparison, published: str) -> tuple[Comparison, Comparison]:
    """A comparison for a CPU, and at the thesis's size: 200 epochs, 5 seeds (S2-54, S2-55)."""
    recipe = published_recipe(published)
    paper = replace(cpu, networks=(recipe.network,), training=recipe, seeds=5, attacked_items=1000)
    return cpu, paper


COMPARISONS: dict[str, tuple[Comparison, Comparison]] = {
    "mixing-augment": _both(
        Comparison(
            name="mixing-augment",
            title="What people see in 810 mixed images, as training labels",
            about=(
                "Tables 4.1 to 4.3 of the thesis: 7,000 images with hard labels and 810 mixes, "
                "labelled by rule or by what 33 people saw in them and how sure they were; and the "
                "same answers about wrong images, which the thesis lacks."
            ),
            family="mixing",
            arms=(NO_MIXING, *AUGMENTED, "shuffled λ_h", "shuffled λ_h + ω"),
            controls=(NO_MIXING, "mixup labels", "shuffled λ_h", "shuffled λ_h + ω"),
            networks=("cnn-3",),
            training=_small("augmenting-set", EPOCHS),
            seeds=8,
            fgsm=(4,),
        ),
        "augmenting-set",
    ),
    "mixing-full": _both(
        Comparison(
            name="mixing-full",
            title="Every batch mixed: mixup, Mix-MaxEnt and Ent-WC, hard and soft endpoints",
            about=(
                "Tables 5.1 and 5.2 of the thesis: 7,000 images, mixed anew in every batch. Soft "
                "endpoints are elicited for 1,000 images and simulated for the other 6,000. Votes "
                "of CIFAR-10H as endpoints show what there is to gain. Corruptions are made by us."
            ),
            family="mixing",
            arms=(
                *(NO_MIXING, *MIXED),
                *(f"{name}, {SOFT}" for name in (NO_MIXING, *MIXED)),
                f"mixup, {MAJORITY}",
                f"mixup, {PEOPLE_H}",
            ),
            controls=(NO_MIXING, "mixup", f"mixup, {MAJORITY}"),
            networks=("cnn-3",),
            training=_small("full-mixing", EPOCHS),
            seeds=8,
            fgsm=(4,),
            corruptions=USUAL,
        ),
        "full-mixing",
    ),
    "mixing-logistic": _both(
        Comparison(
            name="mixing-logistic",
            title="Labels of mixes bent as people see each pair of classes",
            about=(
                "Table C.1 of the thesis: every batch mixed, the label's coefficient bent by a "
                "logistic curve fitted to people for each pair of classes; and curves without "
                "people, without pairs and with wrong pairs, which the thesis asks for."
            ),
            family="mixing",
            arms=("mixup", *BENT, "Ent-WC", *(f"{name} + Ent-WC" for name in BENT)),
            controls=("mixup", "Ent-WC", "identity τ", "identity τ + Ent-WC"),
            networks=("cnn-3",),
            training=_small("full-mixing", EPOCHS),
            seeds=8,
            fgsm=(4,),
        ),
        "full-mixing",
    ),
}
"""By name: for a CPU, and at the thesis's size."""

Numbers = dict[tuple[str, str, str, str], str]


def _table(columns: tuple[Measure, ...], rows: dict[str, str]) -> Numbers:
    return {
        (arm, PEOPLE_H, *MEASURES[column][:2]): value
        for arm, printed in rows.items()
        for column, value in zip(columns, printed.split(), strict=True)
    }


CHAPTER_4 = _table(
    THREE,
    {
        NO_MIXING: "2.25±0.04 0.29±0.01 14.53±0.22",
        "uniform": "2.56±0.05 0.29±0.01 18.54±0.31",
        "random": "2.66±0.05 0.3±0.01 19.75±0.31",
        "mixup labels": "2.19±0.04 0.28±0.01 14.35±0.21",
        "mean λ_h": "2.27±0.04 0.28±0.01 15.07±0.22",
        "separate λ_h": "2.01±0.03 0.27±0.01 13.33±0.19",
        "mean λ_h + ω": "2.09±0.04 0.27±0.01 14.01±0.22",
        "separate λ_h + ω": "1.83±0.03 0.24±0.01 11.81±0.19",
    },
)
CHAPTER_5 = _table(
    ("CE", "FGSM", "calibration", "corrupted"),
    {
        "mixup": "1.252±0.02 10.547±0.26 0.087±0.01 1.606±0.03",
        "Mix-MaxEnt": "1.070±0.04 6.436±0.59 0.065±0.01 1.340±0.03",
        "Ent-WC": "1.054±0.01 3.314±0.05 0.102±0.0 1.346±0.03",
        f"mixup, {SOFT}": "1.18±0.02 8.893±0.24 0.131±0.01 1.48±0.03",
        f"Mix-MaxEnt, {SOFT}": "1.019±0.02 6.013±0.59 0.054±0.01 1.252±0.02",
        f"Ent-WC, {SOFT}": "1.027±0.02 3.399±0.06 0.107±0.01 1.30±0.02",
    },
)
APPENDIX_C = _table(
    ("CE", "FGSM", "calibration"),
    {
        "mixup": "1.252±0.02 10.547±0.26 0.087±0.01",
        "τ": "1.28±0.04 6.502±1.61 0.172±0.11",
        "Ent-WC": "1.054±0.01 3.314±0.05 0.102±0.0",
        "τ + Ent-WC": "1.039±0.02 4.171±0.06 0.109±0.01",
    },
)


def _told(
    source: str,
    numbers: Numbers,
    first: str,
    second: str,
    *measures: Measure,
    claimed: Literal["lower", "higher"] = "lower",
    note: str = SMALLER,
) -> list[Claim]:
    """A claim for each measure, with what the thesis prints for both arms, if anything."""
    claims = []
    for measure in measures:
        stratum, metric, words = MEASURES[measure]
        printed = [numbers.get((arm, PEOPLE_H, stratum, metric)) for arm in (first, second)]
        claims.append(
            Claim(
                f"thesis, {source}",
                f"{words} is {claimed} with {first} than with {second}.",
                f"{printed[0]} against {printed[1]}" if all(printed) else NOT_RUN,
                metric,
                first,
                second,
                claimed,
                PEOPLE_H,
                stratum,
                f"{note} {MADE_HERE}" if measure == "corrupted" else note,
            )
        )
    return claims


def _augmenting() -> list[Claim]:
    people, mixup = ("mean λ_h", "separate λ_h"), "mixup labels"
    surer = {name: f"{name} + ω" for name in people}
    table_1, table_2, table_3 = (
        ("table 4.1", CHAPTER_4),
        ("table 4.2", CHAPTER_4),
        ("table 4.3", CHAPTER_4),
    )
    return [
        *(
            claim
            for policy in (mixup, "mean λ_h")
            for meaningless in ("uniform", "random")
            for claim in _told(*table_1, policy, meaningless, *THREE)
        ),
        *_told(*table_1, mixup, NO_MIXING, "CE", "FGSM"),
        *_told(*table_1, NO_MIXING, "uniform", "CE", "FGSM"),
        *_told(*table_1, NO_MIXING, "random", "CE", "FGSM"),
        *_told(
            *table_1,
            "mean λ_h",
            mixup,
            "CE",
            claimed="higher",
            note=f"“Within error bars”, says the thesis. {SMALLER}",
        ),
        Claim(
            "thesis, table 4.1",
            "Calibration and loss under FGSM with mean λ_h are comparable to those with mixup "
            "labels.",
            "0.28±0.01 against 0.28±0.01; 15.07±0.22 against 14.35±0.21",
            note=NO_MARGIN,
        ),
        *_told(*table_2, "separate λ_h", mixup, *THREE),
        *_told(*table_2, "separate λ_h", "mean λ_h", *THREE),
        *(claim for name in surer.values() for claim in _told(*table_3, name, mixup, *THREE)),
        *(claim for name in people for claim in _told(*table_3, surer[name], name, *THREE)),
        *_told(*table_3, surer["separate λ_h"], surer["mean λ_h"], *THREE),
        *_told("4.4", CHAPTER_4, "separate λ_h", "shuffled λ_h", *THREE, note=CONTROL),
        *_told("4.4", CHAPTER_4, "separate λ_h + ω", "shuffled λ_h + ω", *THREE, note=CONTROL),
    ]


def _full() -> list[Claim]:
    table_1, table_2 = ("table 5.1", CHAPTER_5), ("table 5.2", CHAPTER_5)
    soft = {name: f"{name}, {SOFT}" for name in MIXED}
    simulated = f"{SMALLER} {IN_PART_SIMULATED}"
    return [
        *_told(*table_1, "Ent-WC", "mixup", "CE", "FGSM", "corrupted"),
        *_told(*table_1, "Ent-WC", "mixup", "calibration", claimed="higher"),
        *_told(*table_1, "Ent-WC", "Mix-MaxEnt", "calibration", claimed="higher"),
        *_told(*table_1, "Ent-WC", "Mix-MaxEnt", "CE", "FGSM"),
        *_told(*table_1, "Mix-MaxEnt", "Ent-WC", "corrupted"),
        *_told(*table_1, "Mix-MaxEnt", "mixup", *FOUR),
        *_told(*table_2, soft["mixup"], "mixup", "CE", "FGSM", "corrupted", note=simulated),
        *_told(
            *table_2,
            soft["mixup"],
            "mixup",
            "calibration",
            claimed="higher",
            note=f"So the table; the text says that calibration improves. {simulated}",
        ),
        *_told(*table_2, soft["Mix-MaxEnt"], "Mix-MaxEnt", *FOUR, note=simulated),
        Claim(
            "thesis, table 5.2",
            f"With Ent-WC, soft endpoints change nothing conclusively ({SOFT} against hard).",
            "cross-entropy 1.027±0.02 against 1.054±0.01, FGSM 3.399±0.06 against 3.314±0.05",
            note=NO_MARGIN,
        ),
        *_told(
            *table_2,
            soft["Mix-MaxEnt"],
            soft["Ent-WC"],
            *("CE", "calibration", "corrupted"),
            note=simulated,
        ),
        *_told(*table_2, "Ent-WC", soft["Mix-MaxEnt"], "FGSM", note=simulated),
        *_told("5.2.3", CHAPTER_5, soft["mixup"], f"mixup, {MAJORITY}", *FOUR, note=CONTROL),
    ]


def _logistic() -> list[Claim]:
    both, table = "τ + Ent-WC", ("table C.1", APPENDIX_C)
    return [
        *_told(*table, both, "Ent-WC", "CE"),
        *_told(*table, both, "mixup", "CE", "FGSM"),
        *_told(*table, both, "τ", *THREE),
        *_told(*table, "τ", "mixup", "CE", "calibration", claimed="higher"),
        *_told(*table, "τ", "mixup", "FGSM"),
        *_told(*table, both, "Ent-WC", "calibration", "FGSM", claimed="higher"),
        *(
            claim
            for control in BENT[1:]
            for suffix in ("", " + Ent-WC")
            for claim in _told(
                "appendix C", APPENDIX_C, f"τ{suffix}", f"{control}{suffix}", "CE", note=CONTROL
            )
        ),
    ]


PAPERS: dict[str, Paper] = {
    "mixing-augment": Paper(tuple(_augmenting()), CHAPTER_4),
    "mixing-full": Paper(tuple(_full()), CHAPTER_5),
    "mixing-logistic": Paper(tuple(_logistic()), APPENDIX_C),
}
