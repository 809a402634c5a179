"""The settings of a collection: what is asked, of whom, how often, in which words.

They stand in ``study.toml`` in the folder of the study and are checked when they are made; an
unknown key is an error that names the nearest known one.
"""

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sfumato.errors import DataError, SfumatoError
from sfumato.judgments.comparisons import ComparisonQuestion
from sfumato.judgments.quality.rules import RULES
from sfumato.judgments.question import SCALES, ask
from sfumato.names import find

Platform = Literal["prolific", "mturk", "link"]
"""Where people come from; "link" takes an id from any parameter of the address."""

Count = Annotated[int, Field(ge=0, le=100_000)]
Text = Annotated[str, Field(max_length=5_000)]


class FrozenSettings(BaseModel):
    """FrozenSettings that cannot be changed, with no others beside them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Check(FrozenSettings):
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


class Welcome(FrozenSettings):
    """What people read before and after the trials; texts are shown as text, never as markup."""

    consent: tuple[Text, ...] = ()
    """Paragraphs; empty: nobody is asked for consent, and that is recorded."""
    consent_version: str = "1"
    instructions: tuple[Text, ...] = ()
    comprehension: tuple[Check, ...] = ()
    comprehension_tries: int = Field(default=2, ge=0, le=10)
    """0: until all are right, with the instructions in between (S2-12)."""
    debrief: tuple[Text, ...] = ()
    """Open questions at the end; none has to be answered."""


class Layout(FrozenSettings):
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


class Recruiting(FrozenSettings):
    """Where people come from, and what they are paid."""

    platform: Platform = "link"
    id_parameter: str = Field(default="participant", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")
    """Of the address, for the platform "link"."""
    entry: Literal["signed", "open"] = "signed"
    """Whether an ordinary link must be one that was made for its person, or whoever types an id may
    come in; the ids of other platforms are not ours to sign."""
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


class PageLook(FrozenSettings):
    """How the page looks, and what it offers beside the question."""

    accent: str = Field(default="#1f4e8c", pattern=r"^#[0-9a-f]{6}$")
    """The colour of buttons and marks."""
    logo: str = ""
    """A picture in the folder of the study, shown beside the title."""
    theme: Literal["auto", "light", "dark"] = "auto"
    """Whether people see a dark page; "auto": as their computer asks, and they may change it."""
    pixels: Literal["smooth", "sharp"] = "smooth"
    """How images that are smaller than the page needs are enlarged."""
    time_left: bool = True
    """Whether people see how long the rest will take them, and what they get for it."""
    recent: bool = True
    """Whether long lists of classes begin with those that the person used last."""
    note: str = Field(default="", max_length=500)
    """What people may write about in a line of their own beside the answer; empty: nothing."""
    same_as_before: bool = False
    """Whether there is a button that gives the answer of the trial before."""

    @model_validator(mode="after")
    def _can_be_read(self) -> "PageLook":
        contrast = 1.05 / (_luminance(self.accent) + 0.05)
        if contrast < LEAST_CONTRAST:
            raise DataError(
                f"page.accent {self.accent} is too light: white text on it has a contrast of "
                f"{contrast:.1f}, and {LEAST_CONTRAST} are needed to read it; take a darker one."
            )
        return self


def _luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


Form = Literal[
    "choose-one",
    "top-two",
    "sliders",
    "typicality",
    "yes-no-unsure",
    "top-class",
    "sparse",
    "likely-set",
    "ranking",
    "confidence",
    "distribution",
    "rating",
    "number",
    "multi-label",
    "three-point",
    "own-and-others",
    "pairs",
    "triplets",
    "preference",
    "mix",
]
"""The screens there are; all but the last four are kinds of ``judgments.question``."""

Mode = Literal["faithful", "guarded"]
"""Accept what the paper accepted and count the faults, or point a contradiction out first."""

Whose = Literal["own", "others"]
"""What people are asked for: what they see themselves, or what they think others would say."""

LONGEST_CLASS = 200
LEAST_CONTRAST = 4.5
"""Between text and what it stands on (WCAG 2.2, 1.4.3)."""
LANGUAGES = sorted(
    path.stem for path in (Path(__file__).parents[1] / "static" / "texts").glob("*.json")
)
"""Of the page's own words; each is one file."""
EXPERT_HOURS = 24.0 * 90
"""How long experts may take for all their answers."""
MIX_OPTIONS: dict[str, Any] = {"confidence": True}


class ElicitStudy(FrozenSettings):
    """All settings of one collection."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    title: str = Field(min_length=1, max_length=200)
    preset: str
    """The name in ``presets.PRESETS`` that the settings began with."""
    form: Form
    classes: tuple[str, ...] = ()
    """What answers are about; empty for pairs, triplets and preferences."""
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Classes that stand together in long lists, by the name of the group."""
    whose: Whose | None = None
    """Whose view the words ask for; None where nobody wrote it down."""
    wording: str = Field(min_length=1, max_length=5_000)
    """What is asked. ``{class}`` stands for the class shown (typicality), ``{first}`` and
    ``{second}`` for the two classes of a mix in the order in which the person sees them."""
    prompts: dict[str, Text] = Field(default_factory=dict)
    """The words beside single inputs of the form, by their name, such as ``first_percent``;
    without them the page uses its own."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Of the question, as in ``judgments.question``."""
    version: str = "1"
    """Of the question; changes whenever wording, options or classes change."""
    mode: Mode = "guarded"
    language: str = Field(default="en", pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    per_item: int = Field(default=6, ge=1, le=1_000)
    """How many people shall answer about an item: the target and the cap."""
    reserve_minutes: float = Field(default=30, gt=0)
    """After so long without an answer a reserved place is given to somebody else."""
    resume_hours: float = Field(default=24, gt=0)
    """After so long a session cannot be taken up again."""
    converged_below: float = Field(default=0.02, gt=0, lt=1)
    """An item has converged when one more person is expected to change its label by less, as total
    variation."""
    rules: tuple[str, ...] = ()
    """Exclusion rules that belong to the protocol, names in ``judgments.quality.RULES``."""
    welcome: Welcome = Welcome()
    layout: Layout = Layout()
    recruiting: Recruiting = Recruiting()
    page: PageLook = PageLook()

    @model_validator(mode="after")
    def _can_be_asked(self) -> "ElicitStudy":
        for rule in self.rules:
            find(RULES, rule, what="quality rule")
        find(dict.fromkeys(LANGUAGES), self.language.partition("-")[0], what="language of the page")
        _check_groups(self)
        match self.form:
            case "pairs" | "triplets" | "preference":
                if self.classes:
                    raise DataError(
                        f"A study of {self.form} is about no classes, but 'classes' names "
                        f"{len(self.classes)}; leave them out."
                    )
            case _:
                check_classes(self.classes)
        _check_wording(self)
        _check_question(self)
        return self


TABLES: dict[str, type[BaseModel]] = {
    "": ElicitStudy,
    "welcome": Welcome,
    "welcome.comprehension": Check,
    "layout": Layout,
    "recruiting": Recruiting,
    "page": PageLook,
}
"""The tables of ``study.toml`` by name."""


def read_study(path: Path) -> ElicitStudy:
    """The settings in a file ``study.toml``."""
    return study_from(read_settings(path), where=path.name)


def read_settings(path: Path) -> dict[str, Any]:
    """What stands in a TOML file, not yet checked."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be opened: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path.name} is not UTF-8 text; save it as UTF-8.") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path.name} is not TOML: {error}.") from None


def study_from(settings: Mapping[str, Any], *, where: str) -> ElicitStudy:
    """Checked settings; ``where`` names the file in errors.

    >>> study_from({"tittle": "Cats"}, where="study.toml")
    Traceback (most recent call last):
        ...
    sfumato.errors.DataError: study.toml: No setting is called 'tittle'. Did you mean 'title'? ...
    """
    # Through JSON, because there a list may become a tuple although nothing else is converted.
    text = json.dumps(settings, default=str)
    try:
        return ElicitStudy.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise DataError(f"{where}: {_sentence(error)}") from None
    except SfumatoError as error:
        raise DataError(f"{where}: {error}") from None


def write_study(study: ElicitStudy, path: Path) -> None:
    """Write all settings, also those that are as usual, for whoever reads the file."""
    told = study.model_dump(mode="json", exclude_none=True)
    write_private(path, tomli_w.dumps(told).encode())


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, from its first byte on."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)  # one that was there may have been readable by others
        file.write(content)


def fit_layout(layout: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A layout whose settings fit a smaller number of trials, but for those that were given.

    >>> fit_layout({"trials_per_person": 10, "repeats": 2, "repeat_numbers": [15, 20]}, {})
    {'trials_per_person': 10, 'repeats': 2, 'repeat_numbers': []}
    """
    fitted = dict(layout)
    trials = fitted.get("trials_per_person")
    if not isinstance(trials, int):  # the check of all settings will say so
        return fitted
    most = {"repeats": max(trials - 1, 0), "checks_every": max(trials, 0)}
    for key, limit in most.items():
        if key in fitted and key not in given:
            fitted[key] = min(fitted[key], limit)
    numbers = fitted.get("repeat_numbers", ())
    if "repeat_numbers" not in given and (
        len(numbers) != fitted.get("repeats") or any(number > trials for number in numbers)
    ):
        fitted["repeat_numbers"] = []
    return fitted


def ask_experts(study: ElicitStudy, experts: int, *, given: Mapping[str, Any]) -> ElicitStudy:
    """The study for a few known people who all answer about every item, with what was given."""
    if experts < 2:
        raise DataError(f"{experts} experts cannot be compared; ask at least two.")
    wanted: dict[str, Any] = {
        "per_item": experts,
        "resume_hours": EXPERT_HOURS,
        "reserve_minutes": EXPERT_HOURS * 60,
        "rules": (),
        "layout": {
            "trials_per_person": 10_000, "per_class": False, "practice": 0, "checks_every": 0,
            "repeats": 0, "repeat_numbers": (), "shuffle_classes": False, "allow_back": True,
        },
        "recruiting": {"places": experts, "pay": None, "bonus": None, "hourly": None},
    }  # fmt: skip
    settings = study.model_dump()
    for key, value in wanted.items():
        if isinstance(value, dict):
            settings[key] = {**settings[key], **value, **given.get(key, {})}
        elif key not in given:
            settings[key] = value
    return study_from(settings, where="A study of experts")


def check_classes(classes: Sequence[str]) -> None:
    """Refuse classes that people could not tell apart on a screen."""
    if len(classes) < 2:
        raise DataError(f"A study needs at least two classes; found {list(classes)}.")
    for name in classes:
        if not name.strip() or name != name.strip() or len(name) > LONGEST_CLASS:
            raise DataError(
                f"The class {name[:60]!r} must be 1 to {LONGEST_CLASS} characters without blanks "
                "at its ends."
            )
        if any(ord(character) < 32 or ord(character) == 127 for character in name):
            raise DataError(f"The class {name!r} holds a control character.")
    twice = [name for name, times in Counter(classes).items() if times > 1]
    if twice:
        raise DataError(f"The classes must differ; {twice[0]!r} occurs more than once.")


def _sentence(error: ValidationError) -> str:
    # An unknown key first: what it was meant to set is then often the other complaint.
    faults = sorted(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    fault = faults[0]
    *parents, last = fault["loc"]
    table = ".".join(part for part in parents if isinstance(part, str))
    key = _spelt(fault["loc"])
    match fault["type"]:
        case "extra_forbidden":
            what = f"setting of [{table}]" if table else "setting"
            try:
                find(TABLES[table].model_fields, str(last), what=what)
            except SfumatoError as unknown:
                return str(unknown)
            raise AssertionError("a known setting was called unknown")
        case "missing":
            return f"The setting '{key}' is missing."
        case "string_pattern_mismatch" if key == "name":
            return (
                "name must be small letters, digits and hyphens, at most 64, such as "
                f"'digits-pilot'; found {fault['input']!r}."
            )
        case _:
            message = fault["msg"].replace("Input should", "should").replace("should", "must", 1)
            found = json.dumps(fault["input"], ensure_ascii=False)
            return f"{key} {message}; found {found if len(found) < 80 else found[:77] + '…'}."


def _spelt(place: tuple[int | str, ...]) -> str:
    """A place in the file; entries of a list are counted from 1."""
    text = ""
    for part in place:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _check_groups(study: ElicitStudy) -> None:
    seen: dict[str, str] = {}
    for group, members in study.groups.items():
        for name in members:
            find(dict.fromkeys(study.classes), name, what=f"class in the group {group!r}")
            if name in seen:
                raise DataError(
                    f"The class {name!r} is in the groups {seen[name]!r} and {group!r}; it can be "
                    "in one."
                )
            seen[name] = group


def _check_wording(study: ElicitStudy) -> None:
    needed: dict[str, tuple[str, ...]] = {
        "typicality": ("{class}",),
        "mix": ("{first}", "{second}"),
    }
    for place in needed.get(study.form, ()):
        if place not in study.wording:
            raise DataError(
                f"The wording of a {study.form} study needs {place} where the class shown with "
                f"the image shall stand; found {study.wording!r}."
            )


def _check_question(study: ElicitStudy) -> None:
    match study.form:
        case "pairs":
            _check_options(study, {"scale": None})
            scale = _scale(study.options.get("scale", [0, 6]))
            ComparisonQuestion(study.form, study.wording, scale)
        case "triplets":
            _check_options(study, {})
        case "preference":
            _check_options(study, {"tie": True})
        case "mix":
            _check_options(study, MIX_OPTIONS)
            if not isinstance(study.options.get("confidence", True), bool):
                raise DataError("options.confidence of a study of mixes must be true or false.")
        case _:
            ask(study.form, study.classes, **study.options)
    if study.form in SCALES and study.layout.shuffle_classes:
        raise DataError(
            "The classes of a scale stand in order; set layout.shuffle_classes to false."
        )


def _check_options(study: ElicitStudy, known: Mapping[str, Any]) -> None:
    for name in study.options:
        if not known:
            raise DataError(f"A study of {study.form} has no options; found {name!r}.")
        find(known, name, what=f"option of the question {study.form!r}")


def _scale(value: Any) -> tuple[float, float]:
    ends = list(value) if isinstance(value, list | tuple) else []
    if len(ends) != 2 or not all(type(end) in (int, float) for end in ends):
        raise DataError(f"options.scale of a study of pairs must be two numbers, not {value!r}.")
    return (ends[0], ends[1])
