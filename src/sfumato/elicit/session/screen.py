"""What the page shows next, and what the page may send: the whole contract with the browser.

A screen has no field for the role of a trial, its gold answer or anybody's exclusion, so they
cannot leave the server by accident (S16).
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sfumato.elicit.design.study import Form, Mode

TEXT_LIMIT = 2_000
"""Characters of free text (S4)."""


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ShownQuestion(_Shown):
    """The question of a trial."""

    form: Form
    wording: str
    """With the classes shown filled in."""
    options: dict[str, Any]
    prompts: dict[str, str] = {}
    """The words beside single inputs; the page has its own for the others."""
    groups: dict[str, tuple[str, ...]] = {}
    """Classes that stand together in long lists."""


class ShownTrial(_Shown):
    """One trial as a person sees it."""

    id: int
    number: int
    of: int
    images: tuple[str, ...]
    """Addresses, in the order in which they are shown."""
    texts: tuple[tuple[tuple[str, str], ...], ...] = ()
    """In their place: of each text the names of its fields and what stands in them."""
    classes: tuple[str, ...]
    """In the order of this person."""
    shown: dict[str, Any]
    """``{"class": …}`` for typicality; ``{"classes": […]}`` for mixes, the left end first."""
    question: ShownQuestion
    mode: Mode
    can_back: bool
    practice: bool
    draft: Any = None
    """The stored answer, where the person went back to it."""


class TrialScreen(_Shown):
    """The trial to answer now."""

    stage: Literal["trials"] = "trials"
    trial: ShownTrial
    preload: tuple[str, ...]
    """Addresses of the images of the trial after this one."""
    progress: float


class InstructionsScreen(_Shown):
    """Paragraphs to read before the first trial."""

    stage: Literal["instructions"] = "instructions"
    text: tuple[str, ...]


class ComprehensionQuestion(_Shown):
    """A question about the instructions, without its answer."""

    question: str
    choices: tuple[str, ...]


class ComprehensionScreen(_Shown):
    """Questions about the instructions; ``wrong`` are the numbers, from 0, that were not right."""

    stage: Literal["comprehension"] = "comprehension"
    questions: tuple[ComprehensionQuestion, ...]
    tries: int
    """How many attempts were made."""
    of: int
    """How many attempts there are."""
    wrong: tuple[int, ...]


class DebriefScreen(_Shown):
    """Open questions at the end; none has to be answered."""

    stage: Literal["debrief"] = "debrief"
    questions: tuple[str, ...]


class DoneScreen(_Shown):
    """The end; shown only after every answer is stored."""

    stage: Literal["done"] = "done"
    code: str
    redirect: str | None
    screened_out: bool = False


class ClosedScreen(_Shown):
    """Nothing to do here: the session is over, or the collection is."""

    stage: Literal["closed"] = "closed"
    reason: Literal["full", "closed", "returned", "expired", "halted"]


Screen = (
    TrialScreen
    | InstructionsScreen
    | ComprehensionScreen
    | DebriefScreen
    | DoneScreen
    | ClosedScreen
)
"""What to show now; ``.model_dump_json()`` is the body of the response."""


class _Given(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


Seconds = Annotated[float, Field(ge=0, le=1_000_000)]
Name = Annotated[str, Field(max_length=200)]


class AnswerTiming(_Given):
    """Durations by the monotonic clock of the page; its time of day is never asked for (R5)."""

    seconds: Seconds
    """From the moment the images were visible to the moment the answer was sent."""
    inputs: dict[Name, Seconds] = Field(default={}, max_length=100)
    """Seconds spent on each input, by its name."""


class Event(_Given):
    """Something that happened while a trial was shown."""

    kind: Literal["inputs", "focus", "paste", "hint", "note"]
    """Use of one input; the window lost or got focus; text pasted; a sign of automation; what the
    person wrote beside the answer."""
    at: Seconds
    """Since the images were visible."""
    data: dict[Name, Any] = Field(default={}, max_length=20)
    """inputs: input, first, last, changes; focus: ``{"lost": true}``."""


class AnswerGiven(_Given):
    """The body of POST /api/answer."""

    trial: Annotated[int, Field(ge=1, le=2**31 - 1)]
    key: Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
    """Chosen at random by the page, once an answer; a repeated request has the same."""
    answer: Any
    timing: AnswerTiming
    events: tuple[Event, ...] = Field(default=(), max_length=200, strict=False)


class ProceedGiven(_Given):
    """The body of POST /api/proceed: which stage is done, and what was answered there."""

    stage: Literal["instructions", "comprehension", "debrief"]
    answers: tuple[Annotated[str, Field(max_length=TEXT_LIMIT)], ...] = Field(
        default=(), max_length=100, strict=False
    )
    """One a question, in order; empty for the instructions."""
    tries: Annotated[int, Field(ge=0, le=100)] | None = None
    """Of the comprehension screen that is answered: a lost reply must not use up an attempt."""


class BackGiven(_Given):
    """The body of POST /api/back: the trial from which the person goes back."""

    trial: Annotated[int, Field(ge=1, le=2**31 - 1)]
