"""Texts that several presets share: consent, debriefing, and the words of the top-two form."""

from collections.abc import Mapping
from typing import Any

CONSENT = (
    "You are invited to take part in a study of how people see images. You will be asked about a "
    "number of images, one after the other.",
    "Taking part is voluntary. You may stop at any time by closing this page. Your answers, how "
    "long they take and when they are given are stored under a code, apart from anything that "
    "says who you are. They may be published without it.",
    "If you agree, go on. If you do not, nothing about you is stored.",
)
DEBRIEF = (
    "Was every image shown as it should be? If not, please say what you saw.",
    "Was anything unclear or difficult?",
    "Is there anything else you would like to tell us?",
)
OTHERS = "We ask what you think 100 crowdsourced workers would say, not what you yourself think."
BACK = "Take the time you need; there are no trick questions."


def asks(question: str, right: str, *wrong: str) -> Mapping[str, Any]:
    """A question about the instructions, for ``settings.Check``."""
    # Sorted, so that the right answer is not always the first.
    return {"question": question, "choices": sorted([right, *wrong]), "right": right}


TOP_TWO_INSTRUCTIONS = (
    "You will see images, one at a time, some of them hard to make out. Imagine that 100 "
    "crowdsourced workers were asked to identify what category each image belongs to. " + OTHERS,
    "For each image, choose the category they would select as most probably the true one and type "
    "with what probability, from 0 to 100. If they would see an alternative, choose it and type "
    "its probability too.",
    "Then mark every category that they would say the image is definitely not.",
    BACK,
)
TOP_TWO_COMPREHENSION = (
    asks(
        "What are you asked to give for each image?",
        "The most likely category, or categories, of an image and the associated probability of "
        "the selected categories.",
        "A short description of what the image shows.",
        "How much you like the image.",
    ),
    asks("Whose view are you asked to give?", "100 crowdsourced workers.", "Your own."),
)
TOP_TWO_PROMPTS = {
    "first": "What category do you think they would select as most probably being the true "
    "category of the image?",
    "first_percent": "What percent probability (between 0 and 100) do you think they would assign "
    "to the category you selected being the true category of the image?",
    "second": "What alternate category, if any, do you think they would select as being the second "
    "most probable of being the true category of the image?",
    "second_percent": "If you selected an alternate category for the image, what percent "
    "probability (between 0 and 100) do you think they would assign to the category you selected "
    "being the true category represented in the image?",
    "ruled_out": "Are there one or more categories you think the crowdsourced annotators would say "
    "are definitely not the true category of the image? Please click ALL categories you think the "
    "annotators would say have zero probability of being the true category.",
}
SLIDERS_COMPREHENSION = (
    asks(
        "What does a slider at 0 say?",
        "The category does not match the image at all.",
        "The category matches the image completely.",
        "I have not decided yet.",
    ),
)
