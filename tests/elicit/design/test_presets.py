import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sfumato.elicit.design.presets import PRESETS, StudyPreset, preset_study
from sfumato.elicit.design.study import ElicitStudy
from sfumato.elicit.session.answers import question_of
from sfumato.errors import DataError, UnknownName
from sfumato.judgments.comparisons import ComparisonQuestion, comparison_question_from_json
from sfumato.judgments.mixed import THESIS_COEFFICIENTS
from sfumato.judgments.question import Question, question_from_json

CLASSES = ("airplane", "bird", "cat", "deer")


def study_of(name: str, **changes: Any) -> ElicitStudy:
    form = PRESETS[name].form
    if form == "top-class":
        changes.setdefault("options", {"subset": ["bird", "cat"]})
    asked = {"pairs": 0, "triplets": 0, "preference": 0, "three-point": 2}.get(form)
    return preset_study(name, CLASSES[:asked], **changes)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_makes_a_valid_study(name: str) -> None:
    study = study_of(name)

    assert study.preset == name
    assert study.welcome.consent
    assert study.welcome.instructions
    assert study.welcome.comprehension
    assert study.welcome.comprehension_tries >= 2


@pytest.mark.parametrize("name", PRESETS)
def test_question_of_a_preset_survives_being_stored(name: str) -> None:
    question = question_of(study_of(name))

    if isinstance(question, Question):
        assert question_from_json(question.to_json(), where="test") == question
    elif isinstance(question, ComparisonQuestion):
        assert comparison_question_from_json(question.to_json(), where="test") == question
    else:
        assert name == "mix"


@pytest.mark.parametrize("name", PRESETS)
def test_those_asked_about_others_are_told_so(name: str) -> None:
    preset = PRESETS[name]
    both = preset.own is not None or preset.others is not None
    for whose in ("own", "others") if both else (preset.whose,):
        study = study_of(name, whose=whose)
        about_others = "100 crowdsourced workers" in " ".join(study.welcome.instructions)

        assert study.whose == whose
        assert about_others == (whose == "others")
        assert about_others == study.wording.startswith("Imagine 100 crowdsourced workers")
        asked = [check for check in study.welcome.comprehension if "Whose" in check.question]
        assert all(("My own" in check.right) == (whose == "own") for check in asked)
        assert "they would" not in json.dumps(study.prompts) or whose == "others"


@pytest.mark.parametrize("name", ["top-two-guarded", "distribution"])
def test_own_view_is_asked_for_where_no_paper_says_otherwise(name: str) -> None:
    assert study_of(name).whose == "own"


@pytest.mark.parametrize("name", ["top-two", "top-two-mixed", "mix"])
def test_papers_about_others_stay_about_others(name: str) -> None:
    assert study_of(name).whose == "others"


@pytest.mark.parametrize("name", PRESETS)
def test_words_are_about_the_classes_of_the_study_and_no_others(name: str) -> None:
    classes = ('melanoma "in situ"', "naevus", "wart", "scar")
    form = PRESETS[name].form
    subset: Any = {"options": {"subset": list(classes[:2])}} if form == "top-class" else {}
    asked = {"pairs": 0, "triplets": 0, "preference": 0, "three-point": 2}.get(form, 4)
    study = preset_study(name, classes[:asked], **subset)
    text = study.model_dump_json()

    assert "{example}" not in text
    assert not re.search(r"\bcats?\b|\bdogs?\b", text)


def test_preset_of_one_view_refuses_the_other() -> None:
    with pytest.raises(DataError, match="their own view only"):
        study_of("sliders", whose="others")
    with pytest.raises(UnknownName, match="own"):
        study_of("distribution", whose="owned")


# Numbers of the papers: trials, checks every, repeats, people per item.
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("choose-one", (200, 20, 0, 50)),  # S0-03, S0-05
        ("top-two", (25, 0, 2, 6)),  # S2-04
        ("top-two-guarded", (25, 0, 2, 6)),
        ("sliders", (50, 0, 0, 10)),  # S1-01
        ("typicality", (200, 0, 0, 35)),  # S1-02
        ("pairs", (80, 0, 0, 5)),  # S1-03
        ("yes-no-unsure", (70, 20, 0, 6)),  # S4-03, S4-06: three checks
        ("mix", (58, 0, 2, 2)),  # S2-08: 60 with the repeats
    ],
)
def test_layout_is_that_of_the_paper(name: str, numbers: tuple[int, ...]) -> None:
    study = study_of(name)

    layout = study.layout
    assert (
        layout.trials_per_person,
        layout.checks_every,
        layout.repeats,
        study.per_item,
    ) == numbers


def test_ten_classes_of_choose_one_get_twenty_trials_each() -> None:
    study = study_of("choose-one")

    assert study.layout.per_class
    assert study.layout.trials_per_person / 10 == 20


def test_mixing_task_repeats_trials_15_and_20() -> None:
    assert study_of("mix").layout.repeat_numbers == (15, 20)


def test_mixes_have_the_coefficients_of_the_thesis() -> None:
    assert PRESETS["mix"].coefficients == THESIS_COEFFICIENTS


def test_preset_that_extends_another_takes_over_what_it_does_not_say() -> None:
    whole, extending = PRESETS["top-two"], PRESETS["top-two-mixed"]

    assert extending.prompts == whole.prompts
    assert extending.layout == whole.layout
    assert extending.rows != whole.rows


@pytest.mark.parametrize("change", [{"tittle": "Cats"}, {"per_item": "six"}, {"form": "guess"}])
def test_preset_with_an_unknown_or_wrong_setting_is_refused(change: dict[str, Any]) -> None:
    settings = PRESETS["sliders"].model_dump()

    with pytest.raises(ValidationError):
        StudyPreset.model_validate(settings | change)


def test_top_two_comes_faithful_and_guarded_with_the_same_words() -> None:
    faithful, guarded = study_of("top-two"), study_of("top-two-guarded", whose="others")

    assert (faithful.mode, guarded.mode) == ("faithful", "guarded")
    assert faithful.wording == guarded.wording
    assert faithful.prompts == guarded.prompts
    assert faithful.rules == ("completed", "cifar10s-paper")


def test_top_two_asks_the_five_questions_of_the_paper() -> None:
    prompts = study_of("top-two").prompts

    assert list(prompts) == ["first", "first_percent", "second", "second_percent", "ruled_out"]
    assert prompts["first"] == (
        "What category do you think they would select as most probably being the true category of "
        "the image?"
    )


def test_yes_no_unsure_gives_no_example_of_doubt() -> None:
    texts = " ".join(PRESETS["yes-no-unsure"].instructions)

    assert "example" not in texts
    assert "such as" not in texts


def test_changes_replace_single_settings_of_a_table() -> None:
    study = study_of("top-two", layout={"repeats": 1}, per_item=3)

    assert study.layout.repeats == 1
    assert study.layout.trials_per_person == 25
    assert study.per_item == 3


def test_shorter_session_drops_repeats_of_trials_it_does_not_have() -> None:
    study = study_of("mix", layout={"trials_per_person": 18})

    assert study.layout.repeats == 2
    assert study.layout.repeat_numbers == ()


def test_shorter_session_meets_its_check_at_the_end() -> None:
    study = study_of("choose-one", layout={"trials_per_person": 12})

    assert study.layout.checks_every == 12


def test_unknown_preset_gets_help() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'triplets'"):
        preset_study("triplet", ())


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_told_on_its_page(name: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "elicit.md").read_text(encoding="utf-8")

    assert f"| `{name}` | {PRESETS[name].about} |" in page


DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_shown_in_the_documentation_in_its_own_words(name: str) -> None:
    text = (DOCS / "elicit-presets.md").read_text(encoding="utf-8")
    start = text.index(f"## `{name}`\n")
    section = text[start : text.index("\n## ", start)]

    assert f"\n> {study_of(name).wording}\n" in section
    if PRESETS[name].rows:
        assert f"(formulas.md#{PRESETS[name].rows[:5].lower()})" in section
    assert "Recorded: " in section
    for size in ("wide", "narrow"):
        assert f"(elicit/{name}-{size}.png)" in section


def test_pictures_of_the_documentation_are_there_small_and_shown() -> None:
    text = (DOCS / "elicit-presets.md").read_text(encoding="utf-8")
    pictures = {path.name: path.stat().st_size for path in (DOCS / "elicit").glob("*.png")}
    named = set(re.findall(r"\(elicit/([^)]+\.png)\)", text))

    assert named == set(pictures)
    assert max(pictures.values()) < 60_000
    assert sum(pictures.values()) < 2_000_000
