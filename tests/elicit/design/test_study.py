import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.elicit.design.presets import preset_settings, preset_study
from sfumato.elicit.design.study import TABLES, ElicitStudy, read_study, study_from, write_study
from sfumato.errors import DataError

CLASSES = ("cat", "dog", "deer")


def settings(preset: str = "top-two", /, **changes: Any) -> dict[str, Any]:
    classes = () if preset in ("pairs", "triplets") else CLASSES
    return preset_settings(preset, classes, **changes)


def refusal(**changes: Any) -> str:
    """What is said about the top-two preset with these changes."""
    with pytest.raises(DataError) as found:
        study_from(settings(**changes), where="study.toml")
    message = str(found.value)
    assert message.startswith("study.toml: ")
    assert message.endswith(".")
    return message


def test_written_study_is_read_as_it_was(tmp_path: Path) -> None:
    study = preset_study(
        "mix",
        CLASSES,
        title='Quote " and \\ and\nnewline\x7f',
        recruiting={"places": 12, "completion_url": "https://example.org/?cc={code}"},
    )

    write_study(study, tmp_path / "study.toml")

    assert read_study(tmp_path / "study.toml") == study


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_every_text_survives_being_written(text: str) -> None:
    study = preset_study("top-two", CLASSES, wording=text, prompts={"first": text, "": text})

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.toml"
        write_study(study, path)

        assert read_study(path) == study


def test_markup_in_class_names_is_kept_as_text(tmp_path: Path) -> None:
    classes = ("<img src=x onerror=alert(1)>", "a & b", "{class}")
    study = preset_study("choose-one", classes)

    write_study(study, tmp_path / "study.toml")

    assert read_study(tmp_path / "study.toml").classes == classes


def test_unknown_key_is_named_with_the_nearest() -> None:
    assert "No setting is called 'per_itme'. Did you mean 'per_item'?" in refusal(per_itme=3)


def test_unknown_key_of_a_table_is_named_with_the_nearest() -> None:
    message = refusal(layout={"trails_per_person": 3})

    assert "No setting of [layout] is called 'trails_per_person'" in message
    assert "Did you mean 'trials_per_person'?" in message


def test_unknown_key_of_a_question_about_the_instructions_is_named() -> None:
    check = {"question": "Why?", "choices": ["a", "b"], "rigth": "a"}

    message = refusal(welcome={"comprehension": [check]})

    assert "[welcome.comprehension] is called 'rigth'. Did you mean 'right'?" in message


def test_missing_key_is_named() -> None:
    with pytest.raises(DataError, match=r"^study\.toml: The setting '\w+' is missing\.$"):
        study_from({}, where="study.toml")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"per_item": "6"}, 'per_item must be a valid integer; found "6"'),
        ({"per_item": 0}, "per_item must be greater than or equal to 1; found 0"),
        ({"per_item": True}, "per_item must be a valid integer; found true"),
        ({"form": "toptwo"}, "form must be 'choose-one', 'top-two'"),
        ({"reserve_minutes": float("inf")}, "reserve_minutes must be"),
        ({"name": "Café"}, "small letters, digits and hyphens"),
        ({"layout": {"repeats": -1}}, "layout.repeats must be greater than or equal to 0"),
        ({"layout": 3}, "layout must be an object; found 3"),
        ({"welcome": {"instructions": ["fine", 3]}}, "welcome.instructions[2] must be a valid"),
    ],
)
def test_wrong_value_is_named_with_its_place(changes: dict[str, Any], said: str) -> None:
    assert said in refusal(**changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"classes": []}, "at least two classes"),
        ({"classes": ["cat", "cat"]}, "'cat' occurs more than once"),
        ({"classes": ["cat", " dog"]}, "without blanks at its ends"),
        ({"classes": ["cat", "d\tog"]}, "control character"),
        ({"options": {"scal": 10}}, "No option of the question 'top-two' is called 'scal'. Did"),
        ({"options": {"scale": -1}}, "must be a positive number"),
        ({"rules": ["chekcs"]}, "No quality rule is called 'chekcs'. Did you mean 'checks'?"),
        ({"layout": {"repeats": 25}}, "must be less than layout.trials_per_person"),
        ({"layout": {"repeats": 1, "repeat_numbers": [3, 4]}}, "they must agree"),
        ({"layout": {"repeats": 1, "repeat_numbers": [26]}}, "numbers from 1 to 25, not [26]"),
        ({"layout": {"repeats": 2, "repeat_numbers": [3, 3]}}, "different numbers"),
        ({"layout": {"checks_every": 26}}, "nobody would meet a check"),
        ({"recruiting": {"completion_url": "https://example.org"}}, "has {code} in the place"),
        ({"recruiting": {"completion_url": "javascript:{code}"}}, "begins with https://"),
        ({"recruiting": {"completion_url": "http://example.org/{code}"}}, "begins with https://"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changes: dict[str, Any], said: str) -> None:
    assert said in refusal(**changes)


def test_right_answer_must_be_among_the_choices() -> None:
    check = {"question": "Why?", "choices": ["a", "b"], "right": "c"}

    assert "The right answer 'c' to the question 'Why?'" in refusal(
        welcome={"comprehension": [check]}
    )


def test_pairs_have_no_classes() -> None:
    with pytest.raises(DataError, match="about no classes"):
        preset_study("pairs", CLASSES)


@pytest.mark.parametrize("scale", [[6, 0], [0], "0-6", [False, 6]])
def test_scale_of_pairs_goes_up_from_number_to_number(scale: object) -> None:
    with pytest.raises(DataError, match="scale"):
        preset_study("pairs", (), options={"scale": scale})


@pytest.mark.parametrize(("preset", "place"), [("typicality", "{class}"), ("mix", "{first}")])
def test_wording_needs_a_place_for_the_class_shown(preset: str, place: str) -> None:
    with pytest.raises(DataError, match="where the class shown") as found:
        preset_study(preset, CLASSES, wording="How typical?")

    assert place in str(found.value)


def test_settings_cannot_be_changed_afterwards() -> None:
    study = preset_study("top-two", CLASSES)

    with pytest.raises(ValueError, match="frozen"):
        study.per_item = 7


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name = 'a", "is not TOML"),
        (b"title = '\xff'", "is not UTF-8"),
        (b"", "is missing"),
    ],
)
def test_file_that_is_no_study_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "study.toml").write_bytes(content)

    with pytest.raises(DataError, match=said) as found:
        read_study(tmp_path / "study.toml")

    assert str(found.value).startswith("study.toml")


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"study\.toml cannot be opened: No such file"):
        read_study(tmp_path / "study.toml")


def test_study_made_by_hand_is_checked_too() -> None:
    with pytest.raises(DataError, match="at least two classes"):
        ElicitStudy(name="a", title="a", preset="top-two", form="top-two", wording="?")


@pytest.mark.parametrize(
    "setting",
    [
        f"{table}.{name}".removeprefix(".")
        for table in ("", "welcome", "layout", "recruiting", "page")
        for name in TABLES[table].model_fields
        if name not in TABLES
    ],
)
def test_setting_is_told_on_its_page(setting: str) -> None:
    page = Path(__file__).parents[3] / "docs" / "elicit.md"

    assert f"`{setting}`" in page.read_text(encoding="utf-8")
