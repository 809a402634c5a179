"""What an analysis of H-Mix tells its page."""

from pathlib import Path

from sfumato.studies.hmix.page import coefficient_rows, part_rows
from sfumato.studies.hmix.stored import read_run
from sfumato.studies.hmix.thesis import PART_NAMES, Compared, compare_claims
from sfumato.studies.results.result import ClaimTold, Part
from sfumato.studies.results.told import Told, estimates, found_text

__all__ = ["told_by_hmix"]

FIGURES = ("seen", "confidence", "other-mass", "midpoints")

MEASURED = ("part", "measure", "group", "value", "low", "high", "answers", "mixes", "people")


def told_by_hmix(folder: Path) -> Told:
    """The two parts of the release, answers by coefficient, and the thesis's claims."""
    run = read_run(folder)
    return Told(
        tuple(map(_claim, compare_claims(run))),
        run.tables["measured"].select(MEASURED).fill_nan(None).to_dicts(),
        (
            Part("The two parts of the release", "", (part_rows(run),)),
            Part(
                "Answers by coefficient",
                "In brackets 95 % intervals over people and mixes, both resampled.",
                (coefficient_rows(run),),
            ),
        ),
        FIGURES,
    )


def _claim(one: Compared) -> ClaimTold:
    found = [(PART_NAMES[part], each) for part, each in one.found.items()]
    return ClaimTold(
        "thesis",
        one.claim.source,
        one.claim.says,
        one.claim.paper,
        found_text(found),
        one.verdict,
        _note(one),
        estimates(found),
    )


def _note(one: Compared) -> str:
    """The claim's own, and what mixes that the thesis did not have say otherwise."""
    if not one.elsewhere:
        return one.claim.note
    return f"{one.claim.note} The verdict is of the thesis's own mixes; {one.elsewhere}.".strip()
