"""What the page of results keeps of the thesis's claims."""

from sfumato.studies.answers import Found
from sfumato.studies.hmix.study import LATER, THESIS
from sfumato.studies.hmix.thesis import Claim, Compared
from sfumato.studies.results.hmix import _claim


def compared(later: Found) -> Compared:
    claim = Claim("Lower.", "4.2", "", lambda run, part: None, "Note.")
    return Compared(claim, {THESIS: Found("-2", "reproduced", -2, -3, -1), LATER: later})


def test_claim_that_holds_in_the_thesis_alone_says_so() -> None:
    told = _claim(compared(Found("-1", "same direction", -1, -3, 1)))

    assert told.verdict == "reproduced"
    assert told.note.startswith("Note. The verdict is of the thesis's own mixes; same direction in")


def test_claim_that_holds_everywhere_has_its_own_note_only() -> None:
    assert _claim(compared(Found("-1", "reproduced", -1, -2, -0.5))).note == "Note."
