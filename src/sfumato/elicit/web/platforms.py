"""Who comes, by the parameters that the recruitment platform writes into the address.

None of them is signed: what they are good for is decided by ``entry.enter``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from sfumato.elicit.design.settings import Platform, Recruiting
from sfumato.elicit.refusals import BadAnswer, Fault, Forbidden

MTURK_HOSTS = ("www.mturk.com", "worker.mturk.com", "workersandbox.mturk.com")
"""Only these may show the page in a frame, and only there a finished session is sent."""
MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"


@dataclass(frozen=True)
class Arrival:
    """A person as the platform names them."""

    platform: Platform
    platform_id: str
    platform_session: str | None
    """One attempt of this person."""
    study_id: str


def arrival_of(recruiting: Recruiting, parameters: Mapping[str, str]) -> Arrival:
    """The ids in an address; 422 where the person's is missing, 403 in a preview."""
    match recruiting.platform:
        case "prolific":
            return Arrival(
                platform="prolific",
                platform_id=_needed(parameters, "PROLIFIC_PID"),
                platform_session=_needed(parameters, "SESSION_ID"),
                study_id=parameters.get("STUDY_ID", ""),
            )
        case "mturk":
            # Somebody only looks at the task: they see the page, but there is no session.
            if parameters.get("assignmentId") == MTURK_PREVIEW:
                raise Forbidden("This is a preview; accept the task first.")
            return Arrival(
                platform="mturk",
                platform_id=_needed(parameters, "workerId"),
                platform_session=_needed(parameters, "assignmentId"),
                study_id=parameters.get("hitId", ""),
            )
        case "link":
            return Arrival(
                platform="link",
                platform_id=_needed(parameters, recruiting.id_parameter),
                platform_session=None,
                # An ordinary link is written by the researcher: it belongs to this study.
                study_id=recruiting.study_id,
            )
        case _:
            assert_never(recruiting.platform)


def _needed(parameters: Mapping[str, str], name: str) -> str:
    value = parameters.get(name, "").strip()
    if not value or "{{%" in value:  # the second is what a platform should have filled in
        sentence = f"The address lacks {name}; open the study by its link on the platform."
        raise BadAnswer((Fault(name, "malformed", sentence),))
    return value
