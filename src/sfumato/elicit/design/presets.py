"""The protocols of the papers as settings to begin a study with.

Wording is the paper's where it gives any; instructions and questions about them are ours, but for
the two about the top-two form, whose right answers stand in its released rows. Consent is a plain
text to be replaced by the one that an ethics committee approved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.elicit.design.study import ElicitStudy, Form, Mode, fit_layout, study_from
from sfumato.elicit.design.texts import (
    BACK,
    CONSENT,
    DEBRIEF,
    OTHERS,
    SLIDERS_COMPREHENSION,
    TOP_TWO_COMPREHENSION,
    TOP_TWO_INSTRUCTIONS,
    TOP_TWO_PROMPTS,
    asks,
)
from sfumato.judgments.mixed import THESIS_COEFFICIENTS
from sfumato.names import find

Shows = Literal["image", "image-and-class", "pair", "triplet", "mix"]
"""What one trial shows: see ``stimuli``."""

Coefficients = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Preset:
    """One protocol: what is asked, in which words, and how a session is laid out."""

    form: Form
    about: str
    """What people do, for the table in the documentation."""
    rows: str
    """The features it follows."""
    title: str
    """What people read on top of the page."""
    wording: str
    instructions: tuple[str, ...]
    comprehension: tuple[Mapping[str, Any], ...]
    layout: Mapping[str, Any]
    per_item: int
    shows: Shows = "image"
    framing: Literal["own", "others"] = "own"
    """Whether people say what they see, or what they think others would (S2-03)."""
    mode: Mode = "guarded"
    prompts: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    """Exclusion rules that belong to it, names in ``judgments.quality.RULES``."""
    recruiting: Mapping[str, Any] = field(default_factory=dict)
    coefficients: Coefficients = ()
    """For mixes: of each tuple one is drawn for every pair of images (S2-09)."""
    stimuli: int | None = None
    """How many stimuli are drawn from the possible ones; None: all."""


TOP_TWO_LAYOUT = {"trials_per_person": 25, "repeats": 2, "allow_back": False}
TOP_TWO_RECRUITING = {
    "currency": "USD",
    "hourly": 8.0,
    "hourly_with_bonus": 9.0,
    "qualification": "in the United States, English as first language",
}
SLIDERS_PAID = {
    "currency": "USD",
    "hourly": 12.0,
    "qualification": "at least 2,000 completed tasks on the platform",
}


PRESETS: dict[str, Preset] = {
    "choose-one": Preset(
        form="choose-one",
        about="one click on one of the labels around the image; an obvious image every 20 trials",
        rows="S0-01…S0-05",
        title="What is in the image?",
        wording="Categorize the image by clicking one of the labels surrounding it, as quickly and "
        "accurately as possible.",
        instructions=(
            "You will see images, one at a time, with labels around each. Click the label that "
            "fits the image, as quickly and accurately as possible. There is no time limit.",
            "Some images are hard to make out; choose what fits best. A few are obvious and show "
            "us that you are looking.",
        ),
        comprehension=(
            asks(
                "What do you do with each image?",
                "Click the one label that fits it best.",
                "Click every label that could fit it.",
                "Skip it if it is hard.",
            ),
        ),
        layout={
            "trials_per_person": 200,
            "per_class": True,
            "checks_every": 20,
            "allow_back": False,
        },
        per_item=50,
        mode="faithful",
        rules=("checks",),
        recruiting={"currency": "USD", "pay": 1.5},
    ),
    "top-two": Preset(
        form="top-two",
        about="most probable and second most probable label in percent, and what it is definitely "
        "not, as 100 others would say; accepts what the paper accepted",
        rows="S2-02…S2-07",
        title="What would others see?",
        wording="Imagine 100 crowdsourced workers are asked to identify what category the image "
        "below belongs to.",
        instructions=TOP_TWO_INSTRUCTIONS,
        comprehension=TOP_TWO_COMPREHENSION,
        layout=TOP_TWO_LAYOUT,
        per_item=6,
        framing="others",
        mode="faithful",
        prompts=TOP_TWO_PROMPTS,
        options={"scale": 100},
        rules=("completed", "cifar10s-paper"),
        recruiting=TOP_TWO_RECRUITING,
    ),
    "top-two-guarded": Preset(
        form="top-two",
        about="the same form, but a contradiction is pointed out before the answer is sent",
        rows="S2-02…S2-07",
        title="What would others see?",
        wording="Imagine 100 crowdsourced workers are asked to identify what category the image "
        "below belongs to.",
        instructions=TOP_TWO_INSTRUCTIONS,
        comprehension=TOP_TWO_COMPREHENSION,
        layout={**TOP_TWO_LAYOUT, "allow_back": True},
        per_item=6,
        framing="others",
        prompts=TOP_TWO_PROMPTS,
        options={"scale": 100},
        rules=("completed",),
        recruiting=TOP_TWO_RECRUITING,
    ),
    "distribution": Preset(
        form="distribution",
        about="the whole distribution drawn with chips of 5 %, as 100 others would answer",
        rows="S3-19, S2-03",
        title="What would others see?",
        wording="Imagine 100 crowdsourced workers are asked what category the image belongs to. "
        "How many of them would choose each?",
        instructions=(
            "You will see images, one at a time, some of them hard to make out. Imagine that 100 "
            "crowdsourced workers were asked what category each belongs to. " + OTHERS,
            "Give each category as many chips as you think it would get. A chip stands for 5 of "
            "the 100, and all chips together always make 100.",
            "If a category is impossible, mark it as definitely not; if you cannot tell at all, "
            "say that you have no idea.",
            BACK,
        ),
        comprehension=(
            asks("Whose view are you asked to give?", "100 crowdsourced workers.", "Your own."),
            asks(
                "All of them would say cat. What do you do?",
                "Give all chips to cat.",
                "Give one chip to cat.",
                "Spread the chips evenly.",
            ),
        ),
        layout={"trials_per_person": 25, "repeats": 2},
        per_item=6,
        framing="others",
        options={"scale": 100},
        rules=("completed", "repeat-consistency"),
    ),
    "sliders": Preset(
        form="sliders",
        about="one slider a class, from not at all to completely matching",
        rows="S1-01",
        title="Which categories match?",
        wording="How well does each category match the image, from 0 (“not at all matching”) to 1 "
        "(“completely matching”)?",
        instructions=(
            "You will see images, one at a time, with one slider for each category. Move the "
            "sliders in accordance with how well you think each category matches the image: 0 is "
            "“not at all matching”, 1 is “completely matching”.",
            "The sliders do not have to add up to anything. " + BACK,
        ),
        comprehension=SLIDERS_COMPREHENSION,
        layout={"trials_per_person": 50},
        per_item=10,
        mode="faithful",
        options={"scale": 1},
        recruiting=SLIDERS_PAID,
    ),
    "typicality": Preset(
        form="typicality",
        about="how typical the image is of the class shown with it",
        rows="S1-02",
        title="How typical?",
        wording="How typical is this image of {class}, from “Not at all typical” to “Extremely "
        "typical”?",
        instructions=(
            "You will see images, one at a time, each with the category it belongs to. Move the "
            "slider to say how typical the image is of its category, from “Not at all typical” to "
            "“Extremely typical”.",
        ),
        comprehension=(
            asks(
                "What do you rate?",
                "How typical an image is of the category shown with it.",
                "How beautiful an image is.",
                "How sharp an image is.",
            ),
        ),
        layout={"trials_per_person": 200},
        per_item=35,
        shows="image-and-class",
        mode="faithful",
        options={"scale": 1},
    ),
    "pairs": Preset(
        form="pairs",
        about="how similar two images are, on seven points",
        rows="S1-03",
        title="How similar?",
        wording="How similar are these two images, from 0 (“completely dissimilar”) to 6 "
        "(“completely similar”)?",
        instructions=(
            "You will see two images at a time. Rate how similar they are, from 0 (“completely "
            "dissimilar”) to 6 (“completely similar”).",
            "There is no right answer: say how they look to you.",
        ),
        comprehension=(
            asks("Two images look completely similar to you. What do you choose?", "6", "0", "3"),
        ),
        layout={"trials_per_person": 80, "shuffle_classes": False},
        per_item=5,
        shows="pair",
        mode="faithful",
        options={"scale": [0, 6]},
        recruiting=SLIDERS_PAID,
    ),
    "triplets": Preset(
        form="triplets",
        about="which of two images is closer to a third",
        rows="S1-04",
        title="Which is closer?",
        wording="Which of the two images below is closer to the image above?",
        instructions=(
            "You will see three images at a time: one above, two below. Choose the one below that "
            "is closer to the one above.",
            "There is no right answer: say how they look to you.",
        ),
        comprehension=(
            asks(
                "What do you choose?",
                "The one of two images that is closer to the third.",
                "The image you like best.",
                "The image that is the odd one out.",
            ),
        ),
        layout={"trials_per_person": 80, "shuffle_classes": False},
        per_item=1,
        shows="triplet",
    ),
    "yes-no-unsure": Preset(
        form="yes-no-unsure",
        about="yes, no or unsure for every class; three checks with a known answer",
        rows="S4-01…S4-07",
        title="What could it be?",
        wording="For each category: does the image show it?",
        # No worked example of doubt: it would teach people what to answer (S4-01).
        instructions=(
            "You will see images, one at a time. For each category, say whether the image shows "
            "it: Yes, No or Unsure.",
            "Answer for every category. If none fits, answer No to all of them.",
        ),
        comprehension=(
            asks(
                "What do you do if you cannot tell whether an image shows a category?",
                "Answer Unsure.",
                "Leave it open.",
                "Always answer No.",
            ),
        ),
        layout={"trials_per_person": 70, "checks_every": 20, "shuffle_classes": False},
        per_item=6,
        options={"none_of_these": True},
        rules=("gold",),
        recruiting={"qualification": "approval rate of 99 to 100 %, fluent English"},
    ),
    "mix": Preset(
        form="mix",
        about="how much of each of two classes a mixed image holds, and how confident one is, as "
        "100 others would say",
        rows="S2-08…S2-10",
        title="What was mixed?",
        wording="Imagine 100 crowdsourced workers are told that the following image is a "
        "combination of images from the following classes: {first} and {second}. What combination "
        "of the classes do you think they would say is used to make this image?",
        prompts={"confidence": "How confident do you think they would be?"},
        instructions=(
            "Each image you will see was made by combining two other images, and you are told what "
            "they showed. Imagine that 100 crowdsourced workers were told the same. " + OTHERS,
            "Move the first slider to the combination of the two that they would say is used to "
            "make the image, and the second to how confident they would be.",
        ),
        comprehension=(
            asks("Whose view are you asked to give?", "100 crowdsourced workers.", "Your own."),
            asks(
                "How was each image made?",
                "By combining two other images.",
                "By drawing it by hand.",
                "It is an ordinary photograph.",
            ),
        ),
        layout={
            "trials_per_person": 58,
            "repeats": 2,
            "repeat_numbers": [15, 20],
            "allow_back": False,
        },
        per_item=2,
        shows="mix",
        framing="others",
        mode="faithful",
        options={"confidence": True},
        recruiting={"currency": "USD", "hourly": 8.0, "hourly_with_bonus": 9.0},
        coefficients=THESIS_COEFFICIENTS,
    ),
    "top-two-mixed": Preset(
        form="top-two",
        about="the top-two form over mixed images, whose sources are not named",
        rows="S2-11",
        title="What would others see?",
        wording="Imagine 100 crowdsourced workers are asked to identify what category the image "
        "below belongs to. Images are combinations of other images.",
        instructions=(
            "Each image you will see was made by combining other images.",
            *TOP_TWO_INSTRUCTIONS,
        ),
        comprehension=TOP_TWO_COMPREHENSION,
        layout=TOP_TWO_LAYOUT,
        per_item=2,
        shows="mix",
        framing="others",
        mode="faithful",
        prompts=TOP_TWO_PROMPTS,
        options={"scale": 100},
        rules=("completed", "cifar10s-paper"),
        recruiting=TOP_TWO_RECRUITING,
        coefficients=((0.5,), (0.25,), (0.75,)),
        stimuli=100,
    ),
    "sparse": Preset(
        form="sparse",
        about="scores for the few most relevant classes of each image",
        rows="S1-06",
        title="Which categories match best?",
        wording="Pick the most relevant categories and say how well each matches the image, from 0 "
        "(“not at all matching”) to 1 (“completely matching”).",
        instructions=(
            "You will see images, one at a time. Pick the categories that match the image best and "
            "move their sliders: 0 is “not at all matching”, 1 is “completely matching”.",
            BACK,
        ),
        comprehension=SLIDERS_COMPREHENSION,
        layout={"trials_per_person": 50},
        per_item=10,
        options={"scale": 1, "count": 2},
    ),
    "top-class": Preset(
        form="top-class",
        about="sliders for one fixed subset of the classes, given as `options.subset`",
        rows="S1-05",
        title="Which categories match?",
        wording="How well does each of these categories match the image, from 0 (“not at all "
        "matching”) to 1 (“completely matching”)?",
        instructions=(
            "You will see images, one at a time, with one slider for each of some categories. Move "
            "the sliders in accordance with how well you think each category matches the image: 0 "
            "is “not at all matching”, 1 is “completely matching”.",
            "An image may match none of them. " + BACK,
        ),
        comprehension=SLIDERS_COMPREHENSION,
        layout={"trials_per_person": 50},
        per_item=10,
        options={"scale": 1},
    ),
}


def preset_study(name: str, classes: Sequence[str], /, **changes: Any) -> ElicitStudy:
    """The study of a preset about the given classes; ``changes`` replace single settings.

    Tables such as ``layout`` may be given in part.

    >>> study = preset_study("top-two", ["cat", "dog"], layout={"repeats": 3})
    >>> study.layout.trials_per_person, study.layout.repeats
    (25, 3)
    """
    settings = preset_settings(name, classes, **changes)
    return study_from(settings, where=f"The preset {name!r}")


def preset_settings(name: str, classes: Sequence[str], /, **changes: Any) -> dict[str, Any]:
    """The settings of that study before they are checked."""
    preset = find(PRESETS, name, what="preset")
    settings: dict[str, Any] = {
        "name": name,
        "title": preset.title,
        "preset": name,
        "form": preset.form,
        "classes": list(classes),
        "wording": preset.wording,
        "prompts": dict(preset.prompts),
        "options": dict(preset.options),
        "mode": preset.mode,
        "per_item": preset.per_item,
        "rules": list(preset.rules),
        "welcome": {
            "consent": list(CONSENT),
            "instructions": list(preset.instructions),
            "comprehension": [dict(check) for check in preset.comprehension],
            "debrief": list(DEBRIEF),
        },
        "layout": dict(preset.layout),
        "recruiting": dict(preset.recruiting),
    }
    for key, value in changes.items():
        merged = isinstance(value, Mapping) and isinstance(settings.get(key), dict)
        settings[key] = {**settings[key], **value} if merged else value
    given = changes.get("layout")
    if isinstance(given, Mapping):
        settings["layout"] = fit_layout(settings["layout"], given)
    return settings
