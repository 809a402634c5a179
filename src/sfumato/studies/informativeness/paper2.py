"""Turn a finished grid into what paper 2 says and what was found, side by side.

A claim is asked in each number of dimensions and judged by 95 % intervals over seeds:

- *reproduced*: the interval lies wholly on the claimed side, and where the paper says everywhere,
  the mean of every task does too;
- *same direction*: the average is on the claimed side, but its interval or a task is not;
- *not reproduced*: the average is on the other side;
- *not testable here*: the run has nothing to decide it with.

The verdict is the weakest of all dimensions.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from sfumato.errors import DataError
from sfumato.reporting.tables import How, Table
from sfumato.studies.answers import Found
from sfumato.studies.informativeness.answers import (
    BETAS,
    MUCH,
    SMALL,
    Answer,
    Told,
    at_least,
    correlated,
    falls_with_classes,
    falls_with_items,
    grows_on_the_diagonal,
    hard_wins_as_tasks_grow,
    linear_loss_of_flips,
    much_better_with_few_items,
    soft_stays_when_cheap,
    soft_ties_when_small,
)
from sfumato.studies.informativeness.sparse_answers import SPARSE_BETAS, best_sparsity_gains
from sfumato.studies.informativeness.study import Subject
from sfumato.studies.verdicts import Verdict, overall

__all__ = [
    "ALL",
    "PAPER_2",
    "Claim",
    "Compared",
    "claims_about",
    "claims_table",
    "compare_claims",
]


@dataclass(frozen=True)
class Claim:
    """Something paper 2 says, and how a grid can answer it."""

    says: str
    source: str
    """Row of the feature list, which names the place in the paper."""
    measured: Answer
    subject: Subject = "information"
    """The kind of study that answers it."""
    note: str = ""
    """How it was decided, where the paper leaves it open."""
    pooled: bool = False
    """Whether all dimensions together are asked too; they decide nothing."""
    number: str = ""
    """What the paper prints; most of its figures have no numbers beside them."""


@dataclass(frozen=True)
class Compared:
    """A claim with what was found in each number of dimensions, and the verdict over all."""

    claim: Claim
    found: tuple[tuple[str, Found], ...]
    verdict: Verdict

    @property
    def where(self) -> str:
        """In how many dimensions what was found, where they do not all say the same."""
        decided = [found.verdict for name, found in self.found if name != ALL]
        counted = Counter(decided)
        if len(counted) < 2:
            return ""
        return ", ".join(f"{which} in {n} of {len(decided)}" for which, n in counted.items())


ALL = "all d"

PAPER_2: tuple[Claim, ...] = (
    Claim(
        "Soft labels recover much more than hard ones where n ≤ k",
        "S1-25",
        much_better_with_few_items,
        "information",
        f"Much: {MUCH:g} times as much on average, and at no task clearly less.",
    ),
    Claim(
        "Soft labels, first phase: less is recovered as classes outnumber items",
        "S1-25",
        falls_with_classes,
        "information",
        f"Phases are changes of ρ away from n = k, for more than {SMALL} items or classes.",
    ),
    Claim(
        "Soft labels, second phase: where n = k, nothing is lost as both grow",
        "S1-25",
        grows_on_the_diagonal,
        "information",
    ),
    Claim(
        "Soft labels, third phase: less is recovered as items outnumber classes",
        "S1-25",
        falls_with_items,
        "information",
    ),
    Claim(
        "Sparse labels are at least as good as top-class ones everywhere",
        "S1-35",
        at_least("sparse", "top-class", everywhere=True),
        "sparsity",
        "Classes that top-class labels leave out say nothing.",
    ),
    Claim(
        "Sparse labels are at least as good as top-class ones everywhere, to the letter",
        "S1-35",
        at_least("sparse", "top-class-zero", everywhere=True),
        "sparsity",
        "To the letter, classes that top-class labels leave out count as 0: comparisons that "
        "nobody made are claimed.",
    ),
    Claim(
        "PCA codes recover more than sparse labels",
        "S1-35",
        at_least("pca", "sparse", everywhere=False),
        "sparsity",
        "Asked of the average over tasks; codes are made from the truth, as a bound.",
    ),
    Claim(
        "Information ratio and effective dimensionality go together",
        "S1-36",
        correlated,
        "information",
        "Reproduced: r is above zero. The paper names neither its grid nor its dimensions; r "
        "depends on both.",
        pooled=True,
        number="r = 0.734, p < 1e-15",
    ),
    Claim(
        "With few items or classes soft labels at least tie, whatever β is",
        "S1-34",
        soft_ties_when_small,
        "costs",
        f"Few: at most {SMALL}. Utility is linear, costs are the paper's, β one of "
        f"{', '.join(f'{beta:g}' for beta in BETAS)}. It cannot hold for every β there is: soft "
        "labels cost more, and a ρ is worth 1 at most.",
    ),
    Claim(
        "With a high β hard labels win as n and k grow", "S1-34", hard_wins_as_tasks_grow, "costs"
    ),
    Claim("With a low β soft labels stay the better ones", "S1-34", soft_stays_when_cheap, "costs"),
    Claim(
        "Sparse labels with the best k̂ often lose less than hard and than dense soft labels",
        "S1-35",
        best_sparsity_gains,
        "costs",
        f"Often: in more than half of the cases, which are tasks with more than {SMALL} items and "
        f"classes and β of {', '.join(f'{beta:g}' for beta in SPARSE_BETAS)}; utility is linear. "
        "k̂ is chosen on the worlds of other seeds.",
    ),
    Claim(
        "A share ε of wrong answers leaves as much as (1 - ε) of the right ones",
        "S1-27",
        linear_loss_of_flips,
        "information",
        "Simulated with fewer answers, all right: as many as (1 - ε)T, and as 1 - H₂(ε), the "
        "capacity of a channel with so many errors.",
    ),
)


def claims_about(subjects: Sequence[Subject]) -> tuple[Claim, ...]:
    """The claims that studies of these subjects answer.

    >>> {claim.source for claim in claims_about(["sparsity"])}
    {'S1-35'}
    """
    return tuple(claim for claim in PAPER_2 if claim.subject in subjects)


def compare_claims(told: Told, claims: Sequence[Claim] | None = None) -> list[Compared]:
    """Each claim with what was found in every number of dimensions.

    Without ``claims`` those of the subjects that the study is about.
    """
    claims = claims_about(told.subjects) if claims is None else claims
    dimensions = told.grid["dimensions"].unique().sort().to_list()
    if not dimensions:
        raise DataError("The grid has no results; there is nothing to compare.")
    return [_compared(claim, told, dimensions) for claim in claims]


def _said(claim: Claim) -> str:
    where = f"{claim.source}: {claim.number}" if claim.number else claim.source
    return f"{claim.says} ({where})"


def claims_table(compared: Sequence[Compared]) -> Table:
    """The comparison with paper 2 as a table of the report."""
    dimensions = dict.fromkeys(name for one in compared for name, _ in one.found if name != ALL)
    rows = [
        {
            "paper 2 says": _said(one.claim),
            **{
                name: dict(one.found)[name].text if name in dict(one.found) else "–"
                for name in dimensions
            },
            "verdict": f"{one.verdict} ({one.where})" if one.where else one.verdict,
        }
        for one in compared
    ]
    return Table(
        "What paper 2 says, and what was found here",
        pl.DataFrame(rows),
        caption=(
            "In brackets 95 % intervals over seeds of the mean over tasks; of correlations, over "
            "tasks. None allows for the number of comparisons. A task is a number of items, of "
            "classes and, where a form has one, of numbers in an answer (k̂)."
        ),
        how=How(meaning=tuple(one.claim.note for one in compared if one.claim.note)),
        simulated=True,
        made="worlds",
    )


def _compared(claim: Claim, told: Told, dimensions: Sequence[int]) -> Compared:
    asked = [(f"d = {d}", claim.measured(told, d)) for d in dimensions]
    if claim.pooled and len(dimensions) > 1:
        asked.append((ALL, claim.measured(told, None)))
    found = tuple((name, one) for name, one in asked if one is not None)
    verdict = overall(one.verdict for name, one in found if name != ALL)
    return Compared(claim, found, verdict)
