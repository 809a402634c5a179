"""What an answer tells: constraints, less what people's contradictions take away."""

from typing import Any

import numpy as np
import pytest

from sfumato.judgments.question import ask
from sfumato.labels.running import numbered_crowd
from sfumato.planning.bits import answer_information
from sfumato.planning.information import constraints

CLASSES = ("cat", "dog", "deer", "horse")


def crowd_of(probs: Any, item: list[int]) -> Any:
    return numbered_crowd(CLASSES, np.array(item), np.arange(len(item)), np.array(probs))


def test_people_who_agree_lose_no_bits() -> None:
    crowd = crowd_of([[0.4, 0.3, 0.2, 0.1]] * 2, [0, 0])

    told = answer_information(ask("distribution", CLASSES), crowd, items=5)

    assert told is not None
    assert told.contradicted == 0
    assert told.bits == told.constraints == constraints("soft", items=5, classes=4)


def test_contradiction_in_one_of_six_pairs_takes_bits_away() -> None:
    crowd = crowd_of([[0.4, 0.3, 0.2, 0.1], [0.3, 0.4, 0.2, 0.1]], [0, 0])

    told = answer_information(ask("distribution", CLASSES), crowd, items=4)

    assert told is not None
    assert told.contradicted == pytest.approx(1 / 6)
    flipped = (1 - np.sqrt(1 - 2 / 6)) / 2
    left = 1 + flipped * np.log2(flipped) + (1 - flipped) * np.log2(1 - flipped)
    assert told.constraints == 4 * 4 * (4 + 4 - 2) // 2  # kn(k+n-2)/2 (S1-22)
    assert told.bits == pytest.approx(told.constraints * left)


@pytest.mark.parametrize(
    ("kind", "options", "form", "kept"),
    [
        ("top-two", {}, "sparse", 2),
        ("sparse", {"count": 3}, "sparse", 3),
        ("top-class", {"subset": ["cat", "dog", "deer"]}, "top-class", 3),
    ],
)
def test_forms_that_ask_about_some_classes_count_those(
    kind: Any, options: dict[str, Any], form: str, kept: int
) -> None:
    crowd = crowd_of([[0.4, 0.3, 0.2, 0.1]] * 2, [0, 0])

    told = answer_information(ask(kind, CLASSES, **options), crowd, items=6)

    assert told is not None
    assert told.constraints == constraints(form, items=6, classes=4, kept=kept)


def test_nothing_is_told_before_two_people_answered_about_one_item() -> None:
    question = ask("distribution", CLASSES)
    alone = crowd_of([[1.0, 0, 0, 0], [0, 1.0, 0, 0]], [0, 1])

    assert answer_information(question, alone, items=5) is None
    assert answer_information(question, crowd_of([[1.0, 0, 0, 0]] * 2, [0, 0]), items=2) is None
