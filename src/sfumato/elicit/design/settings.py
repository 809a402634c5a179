"""The parts of a study's settings: what people read, how a session is laid out, who is asked."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sfumato.errors import DataError

Platform = Literal["prolific", "mturk", "link"]
"""Where people come from; "link" takes an id from any parameter of the address."""

Count = Annotated[int, Field(ge=0, le=100_000)]
Text = Annotated[str, Field(max_length=5_000)]


class Settings(BaseModel):
    """Settings that cannot be changed, with no others beside them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Check(Settings):
    """A question about the instructions, with the answer that is right."""

    question: str = Field(min_length=1, max_length=2_000)
    choices: tuple[str, ...] = Field(min_length=2, max_length=10)
    right: str

    @model_validator(mode="after")
    def _can_be_answered(self) -> "Check":
        if len(set(self.choices)) < len(self.choices):
            raise DataError(f"The choices of the question {self.question!r} must differ.")
        if self.right not in self.choices:
            raise DataError(
                f"The right answer {self.right!r} to the question {self.question!r} is none of "
                f"its choices: {', '.join(map(repr, self.choices))}."
            )
        return self


class Welcome(Settings):
    """What people read before and after the trials; texts are shown as text, never as markup."""

    consent: tuple[Text, ...] = ()
    """Paragraphs; empty: nobody is asked for consent, and that is recorded."""
    consent_version: str = "1"
    instructions: tuple[Text, ...] = ()
    comprehension: tuple[Check, ...] = ()
    comprehension_tries: int = Field(default=2, ge=1, le=10)
    debrief: tuple[Text, ...] = ()
    """Open questions at the end; none has to be answered."""


class Layout(Settings):
    """How a session is laid out."""

    trials_per_person: int = Field(default=25, ge=1, le=10_000)
    """Main trials, without practice, checks and repeats."""
    per_class: bool = False
    """Whether the trials are spread evenly over the strata of the stimuli (S0-03)."""
    practice: Count = 0
    checks_every: Count = 0
    """An attention check after so many main trials; 0: none (S0-05)."""
    repeats: Count = 0
    """Main trials that are shown again at the end (S2-04)."""
    repeat_numbers: tuple[int, ...] = ()
    """Which main trials, from 1, are shown again; empty: chosen at random (S2-10)."""
    shuffle_classes: bool = True
    """Whether each person sees the classes in an order of their own, which is recorded."""
    allow_back: bool = True
    whole_batches: bool = False
    """Whether people get one batch of the allocation each, in an order of their own (S2-04)."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Layout":
        trials = self.trials_per_person
        if self.repeats >= trials and self.repeats > 0:
            raise DataError(
                f"layout.repeats is {self.repeats}, but only some of the {trials} trials of a "
                "person can be shown again; it must be less than layout.trials_per_person."
            )
        if self.checks_every > trials:
            raise DataError(
                f"layout.checks_every is {self.checks_every}, so that nobody would meet a check in "
                f"{trials} trials; it must be at most layout.trials_per_person."
            )
        numbers = self.repeat_numbers
        if numbers and self.repeats not in (0, len(numbers)):
            raise DataError(
                f"layout.repeat_numbers names {len(numbers)} trials, but layout.repeats is "
                f"{self.repeats}; they must agree."
            )
        outside = [number for number in numbers if not 1 <= number <= trials]
        if outside or len(set(numbers)) < len(numbers):
            raise DataError(
                f"layout.repeat_numbers must be different numbers from 1 to {trials}, "
                f"not {list(numbers)}."
            )
        return self


class Recruiting(Settings):
    """Where people come from, and what they are paid."""

    platform: Platform = "link"
    id_parameter: str = Field(default="participant", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")
    """Of the address, for the platform "link"."""
    study_id: str = ""
    """The platform's own id of this study; entries that name another are refused."""
    completion_code: str = ""
    screened_out_code: str = ""
    completion_url: str = ""
    """Where people go at the end; ``{code}`` stands for the code. Empty: the code is shown."""
    places: int | None = Field(default=None, ge=1)
    """How many people may enter; None: as many as the items need."""
    pay: float | None = Field(default=None, ge=0)
    """For a whole session."""
    currency: str = "GBP"
    bonus: float | None = Field(default=None, ge=0)
    """At most, for a whole session."""
    hourly: float | None = Field(default=None, ge=0)
    """What the pay is meant to come to in an hour."""
    hourly_with_bonus: float | None = Field(default=None, ge=0)
    ethics_reference: str = ""
    qualification: str = ""
    """Who is asked, in words (S1-08, S3-01)."""

    @model_validator(mode="after")
    def _leads_back(self) -> "Recruiting":
        url = self.completion_url
        if url and not (re.match(r"https://[^/\s]", url) and url.count("{code}") == 1):
            raise DataError(
                "recruiting.completion_url must be an address that begins with https:// and has "
                "{code} in the place of the completion code, such as "
                f"https://app.prolific.com/submissions/complete?cc={{code}}; found {url!r}."
            )
        return self
