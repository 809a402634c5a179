"""Faults that an attack on a study found: each has a test of its number, none may come back.

Those of the page and of the running server stand in ``page`` and ``web``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.elicit.making.make import new_study
from sfumato.elicit.session.answers import check_answer, longest_answer
from sfumato.errors import DataError
from sfumato.judgments.question import ask


def noise(count: int = 4) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {f"item{place}": rng.integers(0, 255, (8, 8), np.uint8) for place in range(count)}


def test_fault_01_new_refuses_what_could_not_be_answered(tmp_path: Path) -> None:
    names = [f"{place:04d} {'a very long name ' * 10}end" for place in range(3_000)]

    with pytest.raises(DataError, match=r"3,000 classes could have .* bytes"):
        new_study(tmp_path / "s", images=noise(), classes=names, preset="distribution", seed=0)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("kind", ["yes-no-unsure", "sliders", "distribution", "top-two", "sparse"])
def test_fault_01_longest_answer_bounds_every_answer(kind: Any) -> None:
    classes = tuple(f"{place:03d} Großer „Blauer“ Häher 🐦 \"x\\y\" {place}" for place in range(60))
    question = ask(kind, classes)
    third = 100 / 3
    said: dict[str, Any] = {
        "yes-no-unsure": dict.fromkeys(classes, "unsure"),
        "sliders": dict.fromkeys(classes, 1 / 3),
        "distribution": {**dict.fromkeys(classes[:3], third), "ruled_out": list(classes[3:])},
        "top-two": {
            "first": classes[0],
            "first_percent": "9" * 2_000,
            "second": classes[1],
            "second_percent": "ä" * 2_000,
            "ruled_out": list(classes),
        },
        "sparse": dict.fromkeys(classes[:2], 1 / 3),
    }
    text = check_answer(question, said[kind], mode="faithful", shown={}).text

    assert json.loads(text) == said[kind]
    assert len(text) <= longest_answer(question)
