"""Answers from the browser: what is stored, what is refused and why."""

import json
import math
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.elicit.design.study import Form
from sfumato.elicit.refusals import InvalidAnswer
from sfumato.elicit.session.answers import ANSWER_BYTES, check_answer, question_of, swap_sides
from sfumato.judgments.question import ODDITIES, Question, ask, read_answers

CLASSES = ("cat", "dog", "deer")

GOOD: dict[str, Any] = {
    "choose-one": "cat",
    "top-two": {
        "first": "cat",
        "first_percent": 70,
        "second": "dog",
        "second_percent": 20,
        "ruled_out": ["deer"],
    },
    "sliders": {"cat": 1, "dog": 0.25, "deer": 0},
    "typicality": {"class": "cat", "typicality": 0.5},
    "yes-no-unsure": {"cat": "yes", "dog": "unsure", "deer": "no"},
    "top-class": {"cat": 0.5, "dog": 1},
    "sparse": {"cat": 0.5, "deer": 1},
    "distribution": {"cat": 60, "dog": 40},
    "likely-set": ["cat", "dog"],
    "ranking": ["dog", "cat"],
    "confidence": {"choice": "cat", "confidence": "probably"},
    "rating": "dog",
    "number": 1.5,
    "multi-label": {"cat": "yes", "dog": "yes", "deer": "no"},
    "three-point": {"lower": 10, "best": 20, "upper": 60},
    "own-and-others": {"own": "cat", "others": {"cat": 40, "dog": 60}},
    "preference": {"preferred": "tie"},
    "pairs": {"rating": 6},
    "triplets": {"closer": "second"},
    "mix": {"perceived": 0.3, "confidence": 1},
}


def question(form: str, a_study: Any, **options: Any) -> Any:
    if form == "top-class":
        options = {"subset": ["cat", "dog"], **options}
    wording = "{class} {first} {second}"
    classes = CLASSES[:2] if form == "three-point" else CLASSES
    layout = {"shuffle_classes": False, "trials_per_person": 6}
    given = {"form": form, "classes": classes, "wording": wording, "options": options}
    return question_of(a_study(**given, layout=layout))


def faults(asked: Any, answer: Any, mode: Any = "guarded") -> set[tuple[str, str]]:
    with pytest.raises(InvalidAnswer) as refused:
        check_answer(asked, answer, mode=mode, shown={})
    assert refused.value.status == 422
    assert all(fault.sentence.endswith(".") for fault in refused.value.faults)
    return {(fault.field, fault.fault) for fault in refused.value.faults}


def test_every_form_has_an_example_here() -> None:
    assert set(GOOD) == set(get_args(Form))


@pytest.mark.parametrize("mode", ["faithful", "guarded"])
@pytest.mark.parametrize("form", GOOD)
def test_good_answers_are_stored_as_they_were_given(form: str, mode: Any, a_study: Any) -> None:
    checked = check_answer(question(form, a_study), GOOD[form], mode=mode, shown={})

    assert json.loads(checked.text) == GOOD[form]


@pytest.mark.parametrize("form", GOOD)
def test_stored_answers_are_read_by_the_judgments_without_translation(
    form: str, a_study: Any
) -> None:
    asked = question(form, a_study)
    if not isinstance(asked, Question):
        pytest.skip("comparisons and mixes have columns of their own")

    text = check_answer(asked, GOOD[form], mode="guarded", shown={}).text

    assert not read_answers(asked, [text])[1]


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([*CLASSES, "yes", "first", "", "1e999", "NaN", "\ud800", "\x00"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *CLASSES,
                    *("first", "second", "first_percent", "second_percent", "ruled_out"),
                    *("class", "typicality", "rating", "closer", "perceived", "confidence", "x"),
                    *("own", "others", "lower", "best", "upper", "choice", "preferred"),
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("form", GOOD)
@given(answer=junk, faithful=st.booleans())
def test_s4_whatever_is_sent_is_stored_readable_or_refused(
    form: str, answer: Any, faithful: bool
) -> None:
    options = {"subset": ["cat", "dog"]} if form == "top-class" else {}
    asked: Any
    if form in SPECIAL:
        asked = SPECIAL[form]
    else:
        asked = ask(form, CLASSES[:2] if form == "three-point" else CLASSES, **options)
    try:
        checked = check_answer(asked, answer, mode="faithful" if faithful else "guarded", shown={})
    except InvalidAnswer as refused:
        assert refused.faults
        return

    assert json.loads(checked.text) == answer
    assert checked.text.isascii()
    assert set(checked.faults) <= set(ODDITIES)
    if isinstance(asked, Question):
        assert not read_answers(asked, [checked.text])[1]


@pytest.mark.parametrize("form", GOOD)
@pytest.mark.parametrize("mode", ["faithful", "guarded"])
@pytest.mark.parametrize(
    "bad", [None, [], 3, True, "unicorn", {"unicorn": 1}, math.nan, {"cat": math.inf}, {}]
)
def test_s4_wrong_types_are_refused_in_both_modes(
    form: str, mode: Any, bad: Any, a_study: Any
) -> None:
    if bad in ({}, []):
        mode = "guarded"  # an empty form is a fault of the person, not of the page
    if bad == 3 and form == "number":
        bad = 4  # 3 is the upper end of its scale

    assert faults(question(form, a_study), bad, mode)


@pytest.mark.parametrize("form", [form for form, good in GOOD.items() if isinstance(good, dict)])
def test_s4_unknown_fields_are_refused(form: str, a_study: Any) -> None:
    assert faults(question(form, a_study), {**GOOD[form], "extra": 1}) == {("", "malformed")}


@pytest.mark.parametrize(
    ("form", "field", "values"),
    [
        ("sliders", "cat", [-0.1, 1.1, "1", True, None, math.nan, 10**400]),
        ("distribution", "cat", [-5, 101, "60", None]),
        ("typicality", "typicality", [2, "0.5", None]),
        ("pairs", "rating", [-1, 7, 2.5, "3", True, None]),
        ("triplets", "closer", ["third", 1, None, ["first"]]),
        ("mix", "perceived", [-0.1, 1.01, "0.5", None]),
        ("mix", "confidence", [2, None]),
        ("yes-no-unsure", "cat", ["maybe", True, None]),
        ("top-two", "first_percent", [True, [70], {"a": 1}]),
        ("top-two", "ruled_out", ["deer", ["unicorn"], [["deer"]], ["deer", "deer"], None]),
    ],
)
def test_s4_values_off_the_scale_are_refused(
    form: str, field: str, values: list[Any], a_study: Any
) -> None:
    for value in values:
        found = faults(question(form, a_study), {**GOOD[form], field: value}, "faithful")
        assert {fault for _, fault in found} == {"malformed"}


def test_s4_long_answers_are_refused(a_study: Any) -> None:
    asked = question("top-two", a_study)
    endless: Any = []
    for _ in range(100_000):
        endless = [endless]

    for answer in (
        {"first": "cat", "first_percent": "9" * 2_001},
        {"first": "x" * ANSWER_BYTES},
        endless,
        {"first": "cat", "first_percent": 10**5_000},
    ):
        assert faults(asked, answer, "faithful")


def test_faithful_takes_typed_text_as_the_papers_page_did(a_study: Any) -> None:
    asked = question("top-two", a_study)
    cases = {
        "not-a-number": {"first": "cat", "first_percent": "8p"},
        "out-of-range": {"first": "cat", "first_percent": "120"},
        "mass-over": {
            "first": "cat",
            "first_percent": "80",
            "second": "dog",
            "second_percent": "40",
        },
        "class-without-percent": {"first": "cat", "first_percent": ""},
        "percent-without-class": {"first": "cat", "first_percent": 90, "second_percent": 10},
        "same-class-twice": {"first": "cat", "first_percent": 90, "second": "cat"},
        "chosen-and-ruled-out": {"first": "cat", "first_percent": 90, "ruled_out": ["cat"]},
        "second-above-first": {
            "first": "cat",
            "first_percent": 20,
            "second": "dog",
            "second_percent": 40,
        },
        "zero-for-the-choice": {"first": "cat", "first_percent": 0},
        "everything-ruled-out": {
            "first": "cat",
            "first_percent": 90,
            "ruled_out": ["cat", "dog", "deer"],
        },
    }
    for name, answer in cases.items():
        checked = check_answer(asked, answer, mode="faithful", shown={})

        assert name in checked.faults
        assert json.loads(checked.text) == answer
        assert name in {fault for _, fault in faults(asked, answer, "guarded")}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"first": "cat", "first_percent": "8p"}, ("first_percent", "not-a-number")),
        (
            {"first": "cat", "first_percent": 8, "second": "dog", "second_percent": "p"},
            ("second_percent", "not-a-number"),
        ),
        (
            {"first": "cat", "first_percent": 8, "second": "dog", "second_percent": 101},
            ("second_percent", "out-of-range"),
        ),
        (
            {"first": "cat", "first_percent": 8, "second": "dog"},
            ("second_percent", "class-without-percent"),
        ),
        (
            {"first": "cat", "first_percent": 80, "second": "cat", "second_percent": 10},
            ("second", "same-class-twice"),
        ),
    ],
)
def test_guarded_points_at_the_field(answer: Any, expected: tuple[str, str], a_study: Any) -> None:
    assert expected in faults(question("top-two", a_study), answer)


def test_guarded_accepts_what_is_not_a_contradiction(a_study: Any) -> None:
    asked = question("top-two", a_study)

    under = check_answer(asked, {"first": "cat", "first_percent": 60}, mode="guarded", shown={})
    none_of_these = check_answer(
        question("yes-no-unsure", a_study), dict.fromkeys(CLASSES, "no"), mode="guarded", shown={}
    )
    nothing_matches = check_answer(
        question("sliders", a_study), dict.fromkeys(CLASSES, 0), mode="guarded", shown={}
    )

    assert under.faults == ("mass-under",)
    assert none_of_these.faults == ("everything-ruled-out",)
    assert nothing_matches.faults == ("nothing-stated",)


@pytest.mark.parametrize(
    ("form", "answer", "fault"),
    [
        ("distribution", {"cat": 60, "dog": 30}, "mass-under"),
        ("distribution", {"cat": 60, "dog": 50}, "mass-over"),
        ("distribution", {"cat": 0}, "nothing-stated"),
        ("distribution", {"cat": 100, "ruled_out": ["cat"]}, "chosen-and-ruled-out"),
        ("distribution", {"cat": 100, "ruled_out": list(CLASSES)}, "everything-ruled-out"),
        ("sliders", {"cat": 1}, "unanswered"),
        ("sparse", {"cat": 1}, "unanswered"),
        ("yes-no-unsure", {"cat": "yes"}, "unanswered"),
    ],
)
def test_guarded_refuses_unfinished_forms(form: str, answer: Any, fault: str, a_study: Any) -> None:
    assert ("", fault) in faults(question(form, a_study), answer)


@pytest.mark.parametrize("listed", ["dog", {"dog": 1}, ["dog", "dog"], ["lynx"], [3], [["dog"]]])
def test_what_a_distribution_is_not_must_be_a_list_of_classes(listed: Any, a_study: Any) -> None:
    asked = question("distribution", a_study)

    ((field, fault),) = faults(asked, {"cat": 100, "ruled_out": listed})

    assert (field, fault) == ("ruled_out", "malformed")
    check_answer(asked, {"cat": 100, "ruled_out": ["dog"]}, mode="guarded", shown={})


def test_equal_answers_are_equal_texts(a_study: Any) -> None:
    asked = question("sliders", a_study)
    one = check_answer(asked, {"cat": 1, "dog": 0, "deer": 0}, mode="guarded", shown={})
    other = check_answer(asked, {"deer": 0, "dog": 0, "cat": 1}, mode="guarded", shown={})

    assert one == other


@pytest.mark.parametrize("form", GOOD)
@given(share=st.integers(0, 100))
def test_turning_twice_gives_the_answer_back(form: Any, share: int) -> None:
    answer = {"perceived": share / 100, "confidence": 1} if form == "mix" else GOOD[form]

    assert swap_sides(form, swap_sides(form, answer)) == answer


def test_confidence_is_needed_only_where_it_is_asked(a_study: Any) -> None:
    asked = question("mix", a_study, confidence=False)

    check_answer(asked, {"perceived": 0.5}, mode="guarded", shown={})
    assert faults(asked, {"perceived": 0.5, "confidence": 1})


def _special() -> dict[str, Any]:
    from sfumato.elicit.session.answers import MixQuestion
    from sfumato.judgments.comparisons import COMPARISON_QUESTIONS

    return {**COMPARISON_QUESTIONS, "mix": MixQuestion("How much?")}


SPECIAL = _special()
