"""What chapters 4 and 5 of the thesis say of people and mixed images, next to what was found.

- *reproduced*: the 95 % interval lies wholly on the claimed side, or holds the thesis's number;
- *same direction*: the estimate lies there, but not the whole interval;
- *not reproduced*: it lies on the other side, or the interval misses the number;
- *not testable here*: there is nothing to decide it with.

The verdict on a claim is that of the thesis's own answers, where it has been asked of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from sfumato.reporting.tables import How, Table
from sfumato.studies.answers import Found
from sfumato.studies.hmix import answers
from sfumato.studies.hmix.answers import Answer
from sfumato.studies.hmix.stored import HMixRun
from sfumato.studies.hmix.study import PARTS, THESIS
from sfumato.studies.verdicts import Verdict

__all__ = [
    "CHAPTERS_4_AND_5",
    "PART_NAMES",
    "Claim",
    "Compared",
    "claims_table",
    "compare_claims",
]

PART_NAMES = {"thesis": "thesis's 810 mixes", "later": "1,260 later mixes", "all": "whole release"}


@dataclass(frozen=True)
class Claim:
    """Something the thesis says, and how the release can answer it."""

    says: str
    source: str
    """Section, figure or row of the feature list."""
    paper: str
    """Its numbers, where it gives any."""
    measured: Answer
    note: str = ""
    """How it was decided, where the thesis leaves it open."""


@dataclass(frozen=True)
class Compared:
    """A claim with what each part of the release says."""

    claim: Claim
    found: dict[str, Found]

    @property
    def verdict(self) -> Verdict:
        """That of the thesis's own answers, or of the only ones that were asked."""
        if not self.found:
            return "not testable here"
        return self.found.get(THESIS, next(iter(self.found.values()))).verdict

    @property
    def elsewhere(self) -> str:
        """What the other parts say, where it is something else."""
        other = [
            f"{one.verdict} in the {PART_NAMES[part]}"
            for part, one in self.found.items()
            if one.verdict != self.verdict
        ]
        return ", ".join(other)


CHAPTERS_4_AND_5: tuple[Claim, ...] = (
    Claim(
        "810 mixes of 7,000 images, each judged by two or more of 33 people with 59 to 60 images",
        "4.2.1, S2-09",
        "45 × 6 pairs of images × 3 coefficients",
        answers.stimuli,
        "The answers of a person include the two repeats.",
    ),
    Claim(
        "The median answer is close to the coefficient that was mixed",
        "4.2.2, figure 4.2, S2-67",
        "shown as boxes only",
        answers.medians_close,
        "Medians at 0.1, 0.25, 0.5, 0.75 and 0.9. Close: within 0.1, the whole interval; the "
        "thesis gives no number.",
    ),
    Claim(
        "Single answers are often far from it",
        "4.2.2, figures 4.2 and 4.3, S2-67",
        "“wide error bars”",
        answers.answers_deviate,
        "The mean of |λ_h - λ_f|; far: more than 0.1.",
    ),
    Claim(
        "Mean answers about three mixes are far from their coefficients",
        "figure 4.3",
        "0.58 at 0.75, 0.99 and 0.87 at 0.5",
        answers.figure_examples,
        "The figure names classes and coefficients; exactly one mix of each has that mean. The "
        "third is 0.865 with a repeated answer and 0.860 without: the thesis counts repeats, and "
        "so do all numbers here.",
    ),
    Claim(
        "By class pair, answers deviate from the coefficient",
        "4.2.2, figure 4.4, S2-67",
        "one curve (deer, airplane)",
        answers.off_the_diagonal,
        "Asked of the whole release: a class pair and coefficient has 8 answers in the thesis's "
        "part.",
    ),
    Claim(
        "By class pair, answers are not linear in the coefficient",
        "4.2.2, figure 4.4, S2-67",
        "one curve (deer, airplane)",
        answers.curves_bend,
        "The slope of mean answers from 0.25 to 0.75 less that outside; zero for any straight "
        "line. An S-shape also comes of a slider that ends at 0 and 1.",
    ),
    Claim(
        "Confidence is lowest at 0.5",
        "4.2.2, S2-67",
        "no numbers",
        answers.confidence_lowest_at_half,
        "Mean confidence at 0.1, 0.25, 0.5, 0.75 and 0.9; lower than at each of the others.",
    ),
    Claim(
        "Confidence is markedly lower if both images are ambiguous than if both are clear",
        "4.2.2, figure 4.5, S2-68",
        "shown as boxes only",
        answers.endpoints_matter,
        "Ambiguous: entropy of CIFAR-10H of at least 0.5 nats; clear: at most 0.1.",
    ),
    Claim(
        "No significant effect of the images' entropy on how far answers are off",
        "4.2.2, S2-68",
        "no numbers",
        answers.endpoints_make_no_difference,
        "Same direction: the interval of the difference holds zero, which does not show that "
        "there is none.",
    ),
    Claim(
        "8 people give soft labels of 100 of these mixes, with coefficients 0.25, 0.5 and 0.75",
        "5.1.1, S2-11",
        "",
        answers.soft_labels_collected,
    ),
    Claim(
        "Soft labels put much of their mass on classes that were not mixed",
        "5.1.2, S2-69",
        "38.3 % ± 0.6 %",
        answers.other_mass,
        "Labels of a mix are averaged first. No error that we can compute is as small as 0.6 %: "
        "the standard error over mixes alone is 2.8 %.",
    ),
    Claim(
        "Their mass on the mixed classes follows the coefficient",
        "5.1.2, S2-69",
        "Pearson r = 0.52",
        answers.mass_follows,
        "Over both classes of each mix, labels averaged: 0.52 as in the thesis. Over single "
        "answers and the first class: 0.50.",
    ),
)


def compare_claims(run: HMixRun, claims: Sequence[Claim] = CHAPTERS_4_AND_5) -> list[Compared]:
    """Each claim with what every part of the release says about it."""
    asked = [(claim, {part: claim.measured(run, part) for part in PARTS}) for claim in claims]
    return [
        Compared(claim, {part: one for part, one in found.items() if one is not None})
        for claim, found in asked
    ]


def claims_table(compared: Sequence[Compared]) -> Table:
    """The comparison with the thesis as a table of the report."""
    rows = [
        {
            "the thesis says": f"{one.claim.says} ({one.claim.source})",
            "its numbers": one.claim.paper or "–",
            **{
                name: one.found[part].text if part in one.found else "–"
                for part, name in PART_NAMES.items()
            },
            "verdict": f"{one.verdict} ({one.elsewhere})" if one.elsewhere else one.verdict,
        }
        for one in compared
    ]
    return Table(
        "What the thesis says, and what its answers say",
        pl.DataFrame(rows),
        caption=(
            "In brackets 95 % intervals over people and mixes, both resampled; none allows for the "
            "number of comparisons. Repeats are counted, as in the thesis."
        ),
        how=How(meaning=tuple(one.claim.note for one in compared if one.claim.note)),
    )
