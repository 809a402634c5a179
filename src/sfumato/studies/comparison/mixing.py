"""Thesis, chapters 4, 5 and appendix C: 7,000 CIFAR-10 test images, some or all of them mixed.

Chapter 4 adds 810 mixed images to the 7,000, labelled by people or by rule (S2-54, S2-57 to S2-61);
chapter 5 mixes every batch, with hard or soft endpoints (S2-55, S2-62 to S2-64); appendix C bends
the labels of mixes by curves fitted to people (S2-65). Models are tested on the other 3,000 images
against CIFAR-10H. Mixes of images that are tested are left out, in whatever split.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from sfumato.data import load as load_images
from sfumato.data import load_split, locate, official_archive
from sfumato.judgments.formats import read
from sfumato.judgments.formats.datasets import read_hmix
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.mixed import mixed_images
from sfumato.labels.alter import majority_labels
from sfumato.labels.build import build
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.mixing import (
    GAMMA,
    Baseline,
    Curves,
    Percepts,
    baseline_labels,
    fit_curves,
    human_matched,
    human_matched_crowd,
    identity_curves,
    percepts_of,
    percepts_within,
    pooled_curves,
    shuffled_curves,
    shuffled_percepts,
)
from sfumato.labels.simulate.run import SimulationSettings, run_simulation
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.learn.mixing import Augmenting, Mixing
from sfumato.learn.published import published_mixing
from sfumato.studies.comparison.cifar10s import PEOPLE_H, POOL
from sfumato.studies.comparison.setting import ArmKind, Comparison, Family, Known, Target, Test
from sfumato.studies.hmix.material import OF_THESIS

__all__ = ["FAMILY", "MAJORITY", "NO_MIXING", "ORIGINAL", "PEOPLE_H", "SOFT"]

ORIGINAL = "original"
NO_MIXING = "no mixing"
SOFT = "simulated soft"
"""Soft labels of all 7,000: those of CIFAR-10S for 1,000, of simulated people for 6,000."""
MAJORITY = "simulated majority"
"""The modes of the same labels."""
JPEG_COPY = (
    "The official archive of CIFAR-10 is not here: mixes of the JPEG copy are nearly, not exactly, "
    "what people saw."
)


def load(folder: Path | None) -> Known:
    """Images, votes, soft labels extended by simulated people, and what people saw in mixes."""
    pictures = load_images("cifar10", "test", folder)
    votes = _judgments(locate("cifar10h", "cifar10h-counts.npy", folder), "cifar10h")
    people = build(votes, "votes").crowd.mean()
    split = load_split("cifar10s", folder)
    parts = {
        name: tuple(item for item, part in split.items() if part == name)
        for name in ("train", "test")
    }
    answers = _judgments(locate("cifar10s", "raw_human_data.csv", folder), "cifar10s")
    soft = _extended(answers, people.take(parts["train"]))
    seen = read_hmix(locate("hmix", "hmix_infer_mixing_factor.csv", folder), ReadOptions())
    return Known(
        examples=Examples(pictures.items, pictures.images),
        labels={
            ORIGINAL: pictures.original().take(people.items),
            PEOPLE_H: people,
            SOFT: soft,
            MAJORITY: majority_labels(soft, "share"),
        },
        parts=parts,
        percepts=percepts_of(replace(seen, table=seen.table.filter(OF_THESIS))),
        missing=() if official_archive(folder) else (JPEG_COPY,),
    )


def _judgments(path: Path, form: str) -> Judgments:
    found = read(path, form, ReadOptions())
    assert isinstance(found, Judgments)
    return found


def _extended(answers: Judgments, people: LabelSet) -> LabelSet:
    """Averaged soft labels, of simulated people for the items that nobody was asked about (S2-37).

    Simulated people are those of the thesis (B.5), as many an item as real ones answered, and the
    same for all seeds. ``people`` are the votes they see: of items that are learnt, no others.
    """
    settings = SimulationSettings("top-two", per_item=POOL, items="without answers")
    made = run_simulation(settings, people, real=answers, rng=np.random.default_rng(0)).answers
    assert isinstance(made, Judgments)
    return build(select(made), "top2-clamp").crowd.mean().take(people.items)


def splits(known: Known, comparison: Comparison, seed: int) -> Sequence[Split]:
    """The published 7,000 and 3,000, the same for every seed; nothing is chosen."""
    return [Split(known.parts["train"], (), known.parts["test"], selection="none")]


def tests(known: Known, split: Split) -> Sequence[Test]:
    """CIFAR-10H on the 3,000."""
    labels = {name: known.labels[name].take(split.test) for name in (PEOPLE_H, ORIGINAL)}
    return [Test("test", labels, attacked=PEOPLE_H)]


Rng = np.random.Generator
MixLabels = Callable[[Percepts, LabelSet, Rng], LabelSet | CrowdLabels]
"""Labels of the mixes that people judged, from their answers and the labels of the images."""
Bend = Callable[[Percepts, tuple[str, ...], Rng], Curves]
"""A curve for each pair of classes, from people's answers or without them."""


def _percepts(known: Known, split: Split) -> Percepts:
    """What people saw in mixes of images that are learnt; no network sees a tested image in one."""
    assert known.percepts is not None
    return percepts_within(known.percepts, split.train)


def _augmented(labels: MixLabels, known: Known, split: Split, seed: int) -> Target:
    """7,000 hard labels and the mixed images with labels of their own (S2-54)."""
    percepts, hard = _percepts(known, split), known.labels[ORIGINAL].take(split.train)
    pictures = known.examples.take(split.train)
    images = mixed_images(percepts.mixes, dict(zip(pictures.items, pictures.images, strict=True)))
    named = labels(percepts, hard, np.random.default_rng([seed, 1]))
    return Target(hard, augmenting=Augmenting(Examples(percepts.items, images), named))


def _baseline(name: Baseline, percepts: Percepts, ends: LabelSet, rng: Rng) -> LabelSet:
    found = baseline_labels(name, percepts.mixes, ends, rng=rng)
    assert found is not None
    return found


def _averaged(gamma: float | None, percepts: Percepts, ends: LabelSet, rng: Rng) -> LabelSet:
    return human_matched(percepts, ends, gamma=gamma)


def _separate(gamma: float | None, percepts: Percepts, ends: LabelSet, rng: Rng) -> CrowdLabels:
    return human_matched_crowd(percepts, ends, gamma=gamma)


def _shuffled(gamma: float | None, percepts: Percepts, ends: LabelSet, rng: Rng) -> CrowdLabels:
    return human_matched_crowd(shuffled_percepts(percepts, rng=rng), ends, gamma=gamma)


def _mixed(mixing: Mixing | None, endpoints: str, known: Known, split: Split, seed: int) -> Target:
    """Every batch mixed, towards mixes of the endpoints' labels (S2-55, S2-64)."""
    return Target(known.labels[endpoints].take(split.train), mixing=mixing)


def _bent(bend: Bend, mixing: Mixing, known: Known, split: Split, seed: int) -> Target:
    """Every batch mixed, towards λ_g = τ_ij(λ_f) (S2-65)."""
    hard = known.labels[ORIGINAL].take(split.train)
    curves = bend(_percepts(known, split), hard.classes, np.random.default_rng([seed, 2]))
    return Target(hard, mixing=replace(mixing, target=curves))


def _peoples(percepts: Percepts, classes: tuple[str, ...], rng: Rng) -> Curves:
    """A pair whose answers no curve describes gets that of all pairs; so far none does."""
    return fit_curves(percepts, classes).filled(pooled_curves(percepts, classes))


def _identity(percepts: Percepts, classes: tuple[str, ...], rng: Rng) -> Curves:
    return identity_curves([mix.coefficient for mix in percepts.mixes], classes)


def _pooled(percepts: Percepts, classes: tuple[str, ...], rng: Rng) -> Curves:
    return pooled_curves(percepts, classes)


def _other_pairs(percepts: Percepts, classes: tuple[str, ...], rng: Rng) -> Curves:
    return shuffled_curves(_peoples(percepts, classes, rng), rng=rng)


MIXINGS: dict[str, Mixing | None] = {
    NO_MIXING: None,
    "mixup": published_mixing("mixup"),
    "Mix-MaxEnt": published_mixing("mix-maxent"),
    "Ent-WC": published_mixing("ent-wc"),
}
"""By the thesis's names."""
ENDPOINTS = {
    ORIGINAL: "the original labels",
    SOFT: "soft labels, elicited for 1,000 images and simulated for 6,000",
    MAJORITY: "the modes of soft labels, elicited for 1,000 images and simulated for 6,000; the "
    "thesis lacks it (C15)",
    PEOPLE_H: "shares of about 51 votes of CIFAR-10H, more than the thesis uses",
}

AUGMENTING: dict[str, tuple[str, MixLabels]] = {
    "uniform": ("uniform labels (S2-61)", partial(_baseline, "uniform")),
    "random": ("random distributions (S2-61)", partial(_baseline, "random")),
    "mixup labels": (
        "the coefficient of the pixels as that of the label (S2-61)",
        partial(_baseline, "classic"),
    ),
    "mean λ_h": ("the mean of the coefficients that people saw (S2-58)", partial(_averaged, None)),
    "separate λ_h": (
        "the coefficient that one person saw, drawn afresh each time (S2-59)",
        partial(_separate, None),
    ),
    "mean λ_h + ω": (
        "the mean coefficient, smoothed by the mean confidence (S2-60)",
        partial(_averaged, GAMMA),
    ),
    "separate λ_h + ω": (
        "one person's coefficient, smoothed by their confidence, drawn afresh each time (S2-60)",
        partial(_separate, GAMMA),
    ),
    "shuffled λ_h": (
        "as separate λ_h, with the answers about another mix of the same coefficient; the thesis "
        "lacks it",
        partial(_shuffled, None),
    ),
    "shuffled λ_h + ω": (
        "as separate λ_h + ω, with the answers about another mix of the same coefficient; the "
        "thesis lacks it",
        partial(_shuffled, GAMMA),
    ),
}
BENDS: dict[str, tuple[str, Bend]] = {
    "τ": ("a curve for each pair of classes, fitted to people (S2-65)", _peoples),
    "identity τ": ("one curve, nearest to the coefficient itself: no people (S2-66)", _identity),
    "pooled τ": ("one curve, fitted to people's answers about all pairs (S2-66)", _pooled),
    "shuffled τ": ("people's curves, each for another pair of classes (S2-66)", _other_pairs),
}


def _bent_arms() -> dict[str, ArmKind]:
    return {
        f"{name}{suffix}": ArmKind(
            f"{about}; batches mixed as in {base}", partial(_bent, bend, mixing)
        )
        for base, suffix in (("mixup", ""), ("Ent-WC", " + Ent-WC"))
        if (mixing := MIXINGS[base]) is not None
        for name, (about, bend) in BENDS.items()
    }


ARMS: dict[str, ArmKind] = {
    **{
        name: ArmKind(f"hard labels of all images; mixes have {about}", partial(_augmented, one))
        for name, (about, one) in AUGMENTING.items()
    },
    **{
        name if ends == ORIGINAL else f"{name}, {ends}": ArmKind(
            f"{about}; {'images as they are' if mixing is None else 'every batch mixed'}",
            partial(_mixed, mixing, ends),
        )
        for name, mixing in MIXINGS.items()
        for ends, about in ENDPOINTS.items()
    },
    **_bent_arms(),
}

FAMILY = Family(
    "CIFAR-10 test images and mixes of them (thesis, chapters 4, 5, C)", load, ARMS, splits, tests
)
