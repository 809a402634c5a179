"""Turn the findings of a run into what paper 5 claims and what was found, side by side.

A claim is judged in every network of the run (``verdicts``); the weakest verdict is the claim's.
The paper's people answered yes, no or unsure about digits, about six of them an image. Its numbers
stand next to those of other people about other pictures and are not expected to be equal.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.reporting.tables import How, Table
from sfumato.studies import paper5
from sfumato.studies.analysis import Findings
from sfumato.studies.answers import Claim, Found
from sfumato.studies.paper5_claims import PAPER_5
from sfumato.studies.verdicts import Verdict, overall

__all__ = ["PAPER_5", "Claim", "Compared", "claims_table", "compare_claims"]


@dataclass(frozen=True)
class Compared:
    """A claim with what each network says, and the verdict over all of them."""

    claim: Claim
    found: tuple[tuple[str, Found], ...]
    verdict: Verdict

    @property
    def where(self) -> str:
        """How many networks say what, where they do not all say the same."""
        counted = Counter(one.verdict for _, one in self.found)
        if len(counted) < 2:
            return ""
        return ", ".join(f"{which} in {n} of {len(self.found)}" for which, n in counted.items())


def compare_claims(
    findings: Findings, claims: Sequence[Claim] = PAPER_5, *, rng: np.random.Generator
) -> list[Compared]:
    """Each claim with what every network of the run says about it."""
    networks = dict.fromkeys(one.network for one in findings.scores if one.network)
    if not networks:
        raise DataError("The run has no scores of any network; there is nothing to compare.")
    return [_compared(claim, findings, list(networks), rng) for claim in claims]


def claims_table(findings: Findings) -> Table:
    """The comparison with paper 5 as a table of the report; the same findings, the same table."""
    compared = compare_claims(findings, rng=np.random.default_rng(0))
    networks = " · ".join(name for name, _ in max((one.found for one in compared), key=len))
    rows = [
        {
            "paper 5 claims": one.claim.says,
            "its numbers": f"{one.claim.paper} ({one.claim.source})",
            "found here": _found_text(one),
            "verdict": f"{one.verdict} ({one.where})" if one.where else one.verdict,
        }
        for one in compared
    ]
    notes = dict.fromkeys(one.claim.note for one in compared if one.claim.note)
    return Table(
        "What paper 5 claims, and what was found here",
        pl.DataFrame(rows),
        caption=(
            f"Networks in the order {networks}; the paper's: {' · '.join(paper5.NETWORKS)}. In "
            "brackets 95 % intervals, of differences between arms over seeds, of data maps and "
            "correlations over items; none allows for the number of comparisons. Soft in the "
            "paper's numbers is the mean of its two kinds. Other people, other pictures: numbers "
            "stand next to each other, they are not expected to be equal."
        ),
        how=How(meaning=tuple(notes)),
        simulated=any(one.simulated for one in findings.scores),
    )


def _compared(
    claim: Claim, findings: Findings, networks: Sequence[str], rng: np.random.Generator
) -> Compared:
    if claim.measured is None:
        return Compared(claim, (), "not testable here")
    found = tuple((network, claim.measured(findings, network, rng)) for network in networks)
    return Compared(claim, found, overall(one.verdict for _, one in found))


def _found_text(one: Compared) -> str:
    texts = list(dict.fromkeys(found.text for _, found in one.found))
    if not texts:
        return one.claim.note
    return texts[0] if len(texts) == 1 else " · ".join(found.text for _, found in one.found)
