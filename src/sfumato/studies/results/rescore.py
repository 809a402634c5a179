"""What the scoring of stored predictions tells its page."""

from pathlib import Path

from sfumato.reporting.text import count, number
from sfumato.studies.rescore.page import networks_beside_paper, read_rescore
from sfumato.studies.results.result import Part
from sfumato.studies.results.told import Told, judged_claim, score_rows

__all__ = ["told_by_rescore"]

FIGURES = ("leaderboard", "strata", "concentration")


def told_by_rescore(folder: Path) -> Told:
    """Every network beside the paper's numbers, and the claims about them."""
    run = read_rescore(folder)
    facts = run.facts
    text = (
        f"{count(int(facts['items']), 'image')}; intervals are over images. The entropy of "
        f"people's labels, which no model can go below, is {number(facts['entropy_floor'])}; "
        f"knowing only the class of an image would reach {number(facts['class_oracle'])}."
    )
    part = Part("Networks next to the paper's numbers", text, (networks_beside_paper(run),))
    return Told(tuple(map(judged_claim, run.judged)), score_rows(run.scores), (part,), FIGURES)
