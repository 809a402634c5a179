"""Turn the findings of a run into what paper 5 claims and what was found, side by side.

A claim is judged by 95 % intervals, in every network of the run:

- *as claimed*: the intervals lie wholly on the claimed side;
- *the opposite*: they lie wholly on the other side;
- *not found*: an interval lies on both sides, or networks disagree; that is never "equal";
- *cannot be said*: the run has nothing to decide it with.

The paper's people answered yes, no or unsure about digits, about six of them an image. Its numbers
stand next to those of other people about other pictures and are not expected to be equal.
``python -m sfumato.studies.claims FOLDER`` prints the comparison for a finished run.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.report.tables import How, Table
from sfumato.studies import paper5
from sfumato.studies.analysis import Findings
from sfumato.studies.answers import VERDICTS, Claim, Found, Verdict
from sfumato.studies.folder import read_findings
from sfumato.studies.paper5_claims import PAPER_5

__all__ = ["PAPER_5", "Claim", "Compared", "claims_table", "compare_claims", "main"]


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison for the run in a folder; 1 where it is no finished run."""
    parser = argparse.ArgumentParser(
        prog="python -m sfumato.studies.claims",
        description="What paper 5 claims and what a run found, side by side.",
    )
    parser.add_argument("folder", type=Path, help="folder of a finished run")
    folder: Path = parser.parse_args(arguments).folder
    try:
        compared = compare_claims(read_findings(folder), rng=np.random.default_rng(0))
    except DataError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for one in compared:
        sys.stdout.write(f"{_printed(one)}\n\n")
    counted = Counter(one.verdict for one in compared)
    told = ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS)
    sys.stdout.write(f"{len(compared)} claims: {told}.\n")
    return 0


def _compared(
    claim: Claim, findings: Findings, networks: Sequence[str], rng: np.random.Generator
) -> Compared:
    if claim.measured is None:
        return Compared(claim, (), "cannot be said")
    found = tuple((network, claim.measured(findings, network, rng)) for network in networks)
    verdicts = {one.verdict for _, one in found}
    # Networks that disagree have not shown it; which say what is told beside the verdict.
    return Compared(claim, found, verdicts.pop() if len(verdicts) == 1 else "not found")


def _found_text(one: Compared) -> str:
    texts = list(dict.fromkeys(found.text for _, found in one.found))
    if not texts:
        return one.claim.note
    return texts[0] if len(texts) == 1 else " · ".join(found.text for _, found in one.found)


def _printed(one: Compared) -> str:
    verdict = f"{one.verdict} ({one.where})" if one.where else one.verdict
    width = max(len(name) for name in ("paper 5", *(network for network, _ in one.found)))
    told = [("paper 5", f"{one.claim.paper} ({one.claim.source})")]
    told += [(network, found.text) for network, found in one.found]
    told += [("note", one.claim.note)] if one.claim.note else []
    lines = [_folded("", one.claim.says)]
    lines += [_folded(f"  {name:<{width}}  ", text) for name, text in told]
    return "\n".join([*lines, f"  -> {verdict}"])


def _folded(head: str, text: str) -> str:
    return fill(text, 100, initial_indent=head, subsequent_indent=" " * len(head))


if __name__ == "__main__":
    raise SystemExit(main())
