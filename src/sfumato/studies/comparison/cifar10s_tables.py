"""Papers 3 and 4, tables 1 to 6 and their curves: which labels for 900 of 7,000 images.

A training of 6,900 images takes less than a minute of one core, so that a comparison of 72
trainings takes less than 40 minutes on two. That many, because three or four seeds an arm leave
most of these differences to chance. At the papers' size there are three networks, 65 epochs and
five seeds (S2-46, S2-49), and every number of annotators that their curves have.
"""

from collections.abc import Mapping
from dataclasses import replace

from sfumato.learn.published import published_recipe
from sfumato.learn.train import Recipe
from sfumato.studies.comparison.cifar10s import ITEMS, PEOPLE_H, PEOPLE_S, SOFT_ANSWERS, VOTES
from sfumato.studies.comparison.cifar10s_claims import PAPERS
from sfumato.studies.comparison.setting import Axis, Comparison

__all__ = ["COMPARISONS", "PAPERS", "SECONDS_A_SOFT_ANSWER", "SECONDS_A_VOTE"]

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
"""A training of about a minute on one core that reaches what a ResNet-8 does in three."""
PAPER_RATES = {"resnet-50": 0.4}
"""The learning rates that differ from ResNet-34A's 0.1 (S2-42)."""

SECONDS_A_SOFT_ANSWER = 32.0
"""The median of CIFAR-10S (S2-39)."""
SECONDS_A_VOTE = {"paper 4": 1.8, "the thesis": 2.5}
"""What the papers take a vote of CIFAR-10H to cost; they differ (C9)."""
ALL_VOTES, ALL_SOFT = 51, 6
"""How many people are behind a label of everybody, as the papers count them."""

CONTROLS = (f"{PEOPLE_H} majority", f"{PEOPLE_S} majority")
"""The modes of both kinds of people as hard labels, which the papers lack (C15)."""


def _comparison(
    name: str,
    title: str,
    about: str,
    arms: tuple[str, ...],
    *,
    seeds: int,
    axes: tuple[Axis, ...] = (),
    controls: tuple[str, ...] = (),
) -> Comparison:
    return Comparison(
        name=name,
        title=title,
        about=about,
        family="cifar10s",
        arms=arms,
        controls=controls or _controls(arms),
        networks=("cnn-3",),
        training=CPU,
        seeds=seeds,
        fgsm=(4,),
        axes=axes,
    )


def _controls(arms: tuple[str, ...]) -> tuple[str, ...]:
    return ("hard", *(arm for arm in arms if arm.endswith(" majority")))


def _at_papers_size(cpu: Comparison) -> Comparison:
    """Three networks, 65 epochs, five seeds, and FGSM on up to 1,000 images (S2-75)."""
    return replace(
        cpu,
        networks=("resnet-34a", "resnet-50", "vgg-11"),
        training=published_recipe("uma"),
        learning_rates=PAPER_RATES,
        seeds=5,
        attacked_items=1000,
    )


def _table(
    name: str, title: str, about: str, *arms: str, seeds: int
) -> tuple[Comparison, Comparison]:
    """The same arms in both sizes."""
    cpu = _comparison(name, title, about, arms, seeds=seeds)
    return cpu, _at_papers_size(cpu)


Curves = Mapping[str, Mapping[str, int]]
"""A curve's name to its arms, and how many people each asks."""


def _curves(
    votes: tuple[int, ...],
    soft: tuple[int, ...],
    vote_modes: tuple[int, ...],
    soft_modes: tuple[int, ...],
) -> Curves:
    """Votes and soft answers of M people drawn afresh, and the modes of the same as hard labels."""
    one_vote = {f"{PEOPLE_H} M=1": 1}
    return {
        "one of M votes": _with_all(
            {f"{PEOPLE_H} M={M}": M for M in votes}, f"{PEOPLE_H} separate", ALL_VOTES
        ),
        "majority of M votes": _with_all(
            one_vote | {f"{PEOPLE_H} M={M} majority": M for M in vote_modes},
            f"{PEOPLE_H} majority",
            ALL_VOTES,
        ),
        "one of M soft answers": _with_all(
            {f"T2 clamp M={M}": M for M in soft}, "T2 clamp separate", ALL_SOFT
        ),
        "mode of M soft answers": _with_all(
            {f"{PEOPLE_S} M={M} majority": M for M in soft_modes},
            f"{PEOPLE_S} majority",
            ALL_SOFT,
        ),
    }


def _with_all(curve: Mapping[str, int], everybody: str, M: int) -> dict[str, int]:
    return {**curve, everybody: M}


def _up_to(curves: Curves, most: int) -> Curves:
    return {
        name: {arm: people for arm, people in curve.items() if people <= most}
        for name, curve in curves.items()
    }


def _arms_of(curves: Curves) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("hard", *(arm for curve in curves.values() for arm in curve))))


def _annotators(curves: Curves) -> Axis:
    return Axis("annotators", curves, "Against the number of annotators")


def _seconds(curves: Curves) -> tuple[Axis, ...]:
    """M times the seconds of one answer, for both papers' seconds a vote."""
    return tuple(
        Axis(
            "seconds",
            {
                name: {
                    arm: round(M * (SECONDS_A_SOFT_ANSWER if "soft" in name else a_vote), 1)
                    for arm, M in curve.items()
                }
                for name, curve in curves.items()
            },
            f"Against seconds of annotation an image, with {a_vote} s a vote ({source})",
        )
        for source, a_vote in SECONDS_A_VOTE.items()
    )


EVERY_M = _curves(VOTES, SOFT_ANSWERS, VOTES[2:], SOFT_ANSWERS)  # one of two is one vote


def _every_m(cpu: Comparison, axes: tuple[Axis, ...]) -> Comparison:
    """The comparison at the papers' size, with every number of people that they ask."""
    arms = _arms_of(EVERY_M)
    return replace(_at_papers_size(cpu), arms=arms, controls=_controls(arms), axes=axes)


def _few() -> tuple[Comparison, Comparison]:
    shown = _up_to(_curves((1, 2, 4, 6), (1, 2, 4), (6,), (1,)), ALL_SOFT)
    cpu = _comparison(
        "cifar10s-few",
        "One to six people: their votes or their soft answers",
        "Table 3 and figure 6 of paper 4 (table 3.3 and figure B.3 of the thesis): what networks "
        "learn when M people were asked, one of whose answers is shown at each presentation.",
        _arms_of(shown),
        seeds=6,
        axes=(_annotators(shown),),
    )
    return cpu, _every_m(cpu, (_annotators(EVERY_M),))


def _time() -> tuple[Comparison, Comparison]:
    shown = _curves((1, 4, 16), (1, 2), (16,), (1,))
    cpu = _comparison(
        "cifar10s-time",
        "Many quick votes or few slow soft answers, by the time they take",
        "Figure 10 of paper 4 and figure 3.5 of the thesis: the same performance against M times "
        "the seconds that one answer takes, an estimate by medians.",
        _arms_of(shown),
        seeds=6,
        axes=_seconds(shown),
    )
    return cpu, _every_m(cpu, _seconds(EVERY_M))


def _items() -> tuple[Comparison, Comparison]:
    curves = {
        name: {f"{arm} N'={count}": count for count in ITEMS}
        for name, arm in {
            "hard": "hard",
            "one of 51 votes": PEOPLE_H,
            "one of 6 soft answers": "T2 clamp",
            "mode of 6 soft answers": f"{PEOPLE_S} majority",
        }.items()
    }
    largest = max(ITEMS)
    cpu = replace(
        _comparison(
            "cifar10s-items",
            "A few hundred images with people's labels and no others",
            "Figure 3.6 of the thesis: networks that learn N' of the 900 images and nothing else.",
            tuple(arm for curve in curves.values() for arm in curve),
            seeds=5,
            axes=(Axis("items", curves, "Against the number of images"),),
            controls=(f"hard N'={largest}", f"{PEOPLE_S} majority N'={largest}"),
        ),
        # 900 images make an eighth of the steps of an epoch of 6,900
        training=replace(CPU, epochs=60),
    )
    # the thesis runs one network from here on, and this with ten seeds (S2-53)
    paper = replace(_at_papers_size(cpu), networks=("resnet-34a",), learning_rates={}, seeds=10)
    return cpu, paper


def _separate(variety: str) -> str:
    return f"{variety} separate"


COMPARISONS: dict[str, tuple[Comparison, Comparison]] = {
    "cifar10s-aggregate": _table(
        "cifar10s-aggregate",
        "Soft answers of six people or votes of 51: averaged labels",
        "Table 1 of paper 4 and 3.1 of the thesis, with the majority votes that they lack.",
        "hard",
        "random",
        "uniform",
        PEOPLE_H,
        "T2 clamp",
        *CONTROLS,
        seeds=8,
    ),
    "cifar10s-separate": _table(
        "cifar10s-separate",
        "One person's answer at a time, or the average of all",
        "Tables 2 and 6 of paper 4 (3.2 and B.1 of the thesis): at each presentation one person's "
        "answer, next to averages, label smoothing and the majority votes that the papers lack.",
        "hard",
        "label smoothing",
        "label smoothing of the 900",
        PEOPLE_H,
        "T2 clamp",
        _separate(PEOPLE_H),
        _separate("T2 clamp"),
        *CONTROLS,
        seeds=8,
    ),
    "cifar10s-few": _few(),
    "cifar10s-ablation": _table(
        "cifar10s-ablation",
        "Which of the things that people were asked help",
        "Tables 4 and 5 of paper 4 (3.4, B.2 and B.3 of the thesis): one or both choices, what is "
        "left spread over all classes, those not ruled out or similar ones, and no numbers at "
        "all; and the same answers as the released training code reads them (C1). Similarity is "
        "by what people confuse in CIFAR-10H, for the word vectors of the thesis cannot be had.",
        "hard",
        *map(
            _separate,
            (
                "T1 uniform",
                "T1 clamp",
                "T2 uniform",
                "T2 clamp",
                "select top 2",
                "T1 semantic",
                "T2 semantic",
                "T1 as released",
                "T2 as released",
            ),
        ),
        *CONTROLS,
        seeds=6,
    ),
    "cifar10s-time": _time(),
    "cifar10s-items": _items(),
}
"""By name: for a CPU, and at the papers' size."""
