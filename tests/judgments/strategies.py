"""Judgments of every kind of question for Hypothesis, with the oddities of real files."""

import json
from typing import Any

import polars as pl
from hypothesis import strategies as st

from sfumato.judgments.formats.reading import PLATFORM_ID
from sfumato.judgments.judgments import COLUMNS, VIEWS, Judgments
from sfumato.judgments.question import QUESTIONS, SCALES, Question, ask
from sfumato.provenance import Step

texts = st.text(min_size=1, max_size=8) | st.sampled_from(
    [
        '"',
        "a,b",
        "line\nbreak",
        "cr\rlf\r\n",
        "ünïcödé 🎨",
        "\ufeff",
        " spaced ",
        "null",
        "\x00",
        "1.0",
    ]
)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    kind = draw(st.sampled_from(sorted(QUESTIONS)))
    classes = draw(st.lists(texts, min_size=2, max_size=4, unique=True))
    options: dict[str, Any] = {"subset": classes[:2]} if kind == "top-class" else {}
    if kind in SCALES:
        options["values"] = list(range(len(classes)))
    if kind == "three-point":
        classes = classes[:2]
    return ask(kind, classes, **options)


def answers(question: Question) -> st.SearchStrategy[Any]:
    label = st.sampled_from(question.classes)
    number = st.floats(0, float(question.options.get("scale", 1)))
    typed = st.integers(0, 100).map(str) | st.sampled_from(["", "8p", "50 %"])
    some = st.lists(label, unique=True)
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "choose-one": label,
        "top-two": st.fixed_dictionaries(
            {
                "first": label,
                "first_percent": typed,
                "second": st.none() | label,
                "second_percent": typed,
                "ruled_out": some,
            }
        ),
        "sliders": st.dictionaries(label, number),
        "typicality": st.fixed_dictionaries({"class": label, "typicality": number}),
        "yes-no-unsure": st.dictionaries(label, st.sampled_from(["yes", "no", "unsure"])),
        "top-class": st.dictionaries(st.sampled_from(question.classes[:2]), number),
        "sparse": st.dictionaries(label, number, max_size=2),
        "likely-set": some,
        "ranking": some,
        "confidence": st.fixed_dictionaries(
            {"choice": label, "confidence": st.sampled_from(["guessing", "definitely"])}
        ),
        "distribution": st.dictionaries(label, number),
        "rating": label | st.sampled_from(question.values or (0.0,)),
        "number": st.floats(0, float(len(question.classes) - 1)),
        "multi-label": some | st.dictionaries(label, st.sampled_from(["yes", "no", "unsure"])),
        "three-point": st.fixed_dictionaries(dict.fromkeys(("lower", "best", "upper"), number)),
        "own-and-others": st.fixed_dictionaries(
            {"own": label, "others": label | st.dictionaries(label, number)}
        ),
    }
    assert set(kinds) == set(QUESTIONS)
    return kinds[question.kind]


@st.composite
def judgments(draw: st.DrawFn) -> Judgments:
    question = draw(questions())
    answer = st.builds(
        lambda value, ascii: json.dumps(value, ensure_ascii=ascii),
        answers(question),
        st.booleans(),
    )
    people = texts.filter(lambda name: not PLATFORM_ID.fullmatch(name))
    row = st.fixed_dictionaries(
        {
            "item": texts,
            "annotator": st.none() | people,
            "answer": answer,
            "repaired": st.none() | answer,
            "seconds": st.none() | st.floats(0, 1e9),
            "input_seconds": st.none() | st.just('{"first": 1.5, "a\\nb": 2}'),
            "order": st.none() | st.integers(0, 2**62),
            "at": st.none() | texts,
            "view": st.sampled_from(VIEWS),
            "gold": st.none() | st.sampled_from(question.classes),
            "completed": st.none() | st.booleans(),
            "simulated": st.none() | st.booleans(),
            "note": st.none() | texts,
        }
    )
    rows = draw(st.lists(row, min_size=1, max_size=4))
    steps = (Step("simulate voters", {"seed": 1}, {"a.csv": "00"}, simulated=True),)
    return Judgments(question, pl.DataFrame(rows, schema=COLUMNS), provenance=steps)
