"""Turn labels into the votes of simulated people, each with a confusion matrix.

A voter sees a class (drawn from the item's distribution, or the item's label) and says what
the row of that class in their confusion matrix says. Skill is the diagonal; a spammer's rows
are all alike.
"""

import json
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import ask
from sfumato.judgments.statements import top_choice
from sfumato.labels.build import codes
from sfumato.labels.labelset import NOT_RECORDED, SUM_TOLERANCE, LabelSet
from sfumato.labels.simulate.beta import Beta
from sfumato.labels.simulate.crowd import (
    annotator_names,
    draw_columns,
    gather,
    in_class_order,
    who_answers_what,
)
from sfumato.provenance import Provenance, Setting, Step

__all__ = ["Seen", "Voters", "fit_voters", "resample_voters", "simulate_votes", "skilled_voters"]

Seen = Literal["distribution", "label"]
"""What a voter sees: a class drawn anew from the item's distribution, or its most probable one."""


@dataclass(frozen=True, eq=False)
class Voters:
    """People who vote for one of the classes, each confusing them in their own way.

    >>> Voters(("cat", "dog"), [[[0.9, 0.1], [0.3, 0.7]]]).confusion.shape
    (1, 2, 2)
    """

    classes: tuple[str, ...]
    confusion: NDArray[np.float64]  # (voters, classes seen, classes said); each row sums to one
    provenance: Provenance = ()

    def __post_init__(self) -> None:
        confusion = np.array(self.confusion, dtype=np.float64)  # a copy: ours to freeze
        confusion.flags.writeable = False
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "confusion", confusion)
        width = len(self.classes)
        if confusion.ndim != 3 or confusion.shape[1:] != (width, width):
            raise DataError(
                f"Confusion matrices of {width} classes have the shape (voters, {width}, {width}); "
                f"found {confusion.shape}."
            )
        sums = confusion.sum(axis=2)
        bad = (confusion < 0).any(axis=2) | ~np.isclose(sums, 1, rtol=0, atol=SUM_TOLERANCE)
        if bad.any():
            voter, row = np.argwhere(bad)[0]
            raise DataError(
                f"What voter {voter + 1} says when shown {self.classes[row]!r} must be "
                f"probabilities that sum to 1; found {confusion[voter, row].tolist()}."
            )

    def __len__(self) -> int:
        return len(self.confusion)


def skilled_voters(
    classes: tuple[str, ...],
    count: int,
    *,
    skill: Beta | float,
    spammers: float = 0.0,
    rng: np.random.Generator,
) -> Voters:
    """``count`` people who are right with a probability of their own, and err evenly.

    ``skill`` is that probability, the same for all, or the Beta it is drawn from. The share
    ``spammers`` of the people, rounded, votes evenly at random whatever they see.

    >>> skilled_voters(("cat", "dog"), 1, skill=0.9, rng=np.random.default_rng(0)).confusion
    array([[[0.9, 0.1],
            [0.1, 0.9]]])
    """
    if not 0 <= spammers <= 1:
        raise DataError(f"The share of spammers is a number from 0 to 1, not {spammers}.")
    if not isinstance(skill, Beta) and not 0 <= skill <= 1:
        raise DataError(f"A skill is a probability from 0 to 1, not {skill}.")
    width = len(classes)
    skills = skill.draw(count, rng=rng) if isinstance(skill, Beta) else np.full(count, skill)
    skills[rng.permutation(count)[: round(spammers * count)]] = 1 / width
    errors = np.repeat(((1 - skills) / (width - 1))[:, None], width, axis=1)
    confusion = np.repeat(errors[:, :, None], width, axis=2)  # (voters, classes, classes)
    confusion[:, np.arange(width), np.arange(width)] = skills[:, None]
    drawn_from: Setting = [skill.a, skill.b] if isinstance(skill, Beta) else skill
    step = Step(
        "make voters", {"voters": count, "skill": drawn_from, "spammers": spammers}, simulated=True
    )
    return Voters(tuple(classes), confusion, (step,))


def fit_voters(judgments: Judgments, reference: LabelSet, *, smoothing: float = 1.0) -> Voters:
    """Confusion matrices of real people: what each says when the reference is each class.

    With n_jts the votes of person j for s on items that are t (in proportion to the reference
    where it is soft) and π_ts everybody's shares, the row is
    (n_jts + smoothing · π_ts) / (n_jt + smoothing): someone who never saw a class confuses it
    as everybody does. π itself starts from one vote spread evenly.

    The reference should be hard labels, or the truth as far as it is known; people's own
    distribution already holds their errors, and voters fitted to it would err twice.
    """
    if not smoothing > 0:
        raise DataError(f"The smoothing is a number of votes above 0, not {smoothing}.")
    classes = judgments.question.classes
    said = top_choice(judgments.statements)[judgments.statements.index]
    annotators, annotator = codes(judgments.table["annotator"])
    clear = said >= 0
    if (annotator[clear] == NOT_RECORDED).any() or not clear.any():
        raise DataError(
            "Voters are fitted to people, but these judgments do not all say who gave them, or "
            "choose no class. Use skilled_voters, which needs no judgments."
        )
    items, item = codes(judgments.table["item"])
    truth = in_class_order(reference.take(items), classes).probs
    pair = annotator[clear] * len(classes) + said[clear]
    size = len(annotators) * len(classes)
    counts = np.stack(
        [
            np.bincount(pair, weights=truth[item[clear], seen], minlength=size)
            for seen in range(len(classes))
        ]
    )  # (seen, annotators × said)
    counts = counts.reshape(len(classes), len(annotators), len(classes)).transpose(1, 0, 2)
    everybody = _shares(counts.sum(axis=0) + 1 / len(classes))
    step = Step("fit voters", {"voters": len(annotators), "smoothing": smoothing})
    return Voters(classes, _shares(counts + smoothing * everybody), (*judgments.provenance, step))


def resample_voters(voters: Voters, count: int, *, rng: np.random.Generator) -> Voters:
    """``count`` people drawn from the given ones with replacement, as from a larger crowd."""
    drawn = rng.integers(len(voters), size=count)
    step = Step("resample voters", {"voters": count}, simulated=True)
    return Voters(voters.classes, voters.confusion[drawn], (*voters.provenance, step))


def simulate_votes(
    voters: Voters,
    labels: LabelSet,
    *,
    per_item: int,
    seen: Seen = "distribution",
    rng: np.random.Generator,
) -> Judgments:
    """``per_item`` votes on each item by different people, who share the work evenly.

    ``seen`` says what a voter is shown: a class drawn from the item's distribution for each
    vote, or the item's most probable class (the first of equals).

    >>> labels = LabelSet(("a",), ("cat", "dog"), [[0, 1]])
    >>> voters = Voters(("cat", "dog"), np.eye(2)[None])
    >>> simulate_votes(voters, labels, per_item=1, rng=np.random.default_rng(0)).table["answer"][0]
    '"dog"'
    """
    known = in_class_order(labels, voters.classes)
    item, voter = who_answers_what(
        n_items=len(known), per_item=per_item, n_annotators=len(voters), rng=rng
    )
    match seen:
        case "distribution":
            shown = draw_columns(known.probs, item, rng=rng)
        case "label":
            shown = known.probs.argmax(axis=1)[item]
        case _:
            assert_never(seen)
    width = len(voters.classes)
    rows = voters.confusion.reshape(-1, width)  # (voters × seen, said)
    said = draw_columns(rows, voter * width + shown, rng=rng)
    answers = tuple(json.dumps(name, ensure_ascii=False) for name in voters.classes)
    step = Step(
        "simulate votes",
        {"per_item": per_item, "annotators": len(voters), "items": len(known), "seen": seen},
        simulated=True,
    )
    table = pl.DataFrame(
        {
            "item": gather(known.items, item),
            "annotator": gather(annotator_names(len(voters)), voter),
            "answer": gather(answers, said),
            "simulated": True,
        }
    )
    provenance = (*voters.provenance, *labels.provenance, step)
    return Judgments(ask("choose-one", voters.classes), table, provenance=provenance)


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return counts / counts.sum(axis=-1, keepdims=True)
