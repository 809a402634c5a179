import json
import re
import sqlite3
import stat
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sfumato.elicit.design.places import open_study, read_key
from sfumato.elicit.design.presets import PRESETS
from sfumato.elicit.making.make import demo_study, new_study
from sfumato.errors import DataError, UnknownName
from sfumato.items.load import load_items

CLASSES = ("cat", "dog")


def pictures(count: int = 6, side: int = 8) -> dict[str, NDArray[np.uint8]]:
    rng = np.random.default_rng(0)
    return {
        f"i{place}": rng.integers(0, 255, (side, side), dtype=np.uint8) for place in range(count)
    }


def folder_of(tmp_path: Path, count: int = 6) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for item, array in pictures(count).items():
        Image.fromarray(array).save(folder / f"{item}.png")
    return folder


def make(tmp_path: Path, preset: str = "top-two", **given: Any) -> Path:
    given.setdefault("images", pictures())
    given.setdefault("classes", () if preset in ("pairs", "triplets", "preference") else CLASSES)
    return new_study(tmp_path / "My study", preset=preset, seed=0, **given)


def rows(folder: Path, table: str = "stimulus") -> list[dict[str, Any]]:
    connection = sqlite3.connect(folder / "study.sqlite")
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
    finally:
        connection.close()


def table(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refused(tmp_path: Path, said: str, **given: Any) -> None:
    """Making is refused with these words, and leaves nothing behind."""
    before = set(tmp_path.iterdir())

    with pytest.raises(DataError, match=said):
        make(tmp_path, **given)

    assert set(tmp_path.iterdir()) == before


def test_folder_of_images_becomes_a_study(tmp_path: Path) -> None:
    study = make(tmp_path, images=folder_of(tmp_path))

    assert sorted(path.name for path in study.iterdir()) == [
        "images",
        "key",
        "study.sqlite",
        "study.toml",
    ]
    assert open_study(study).name == "my-study"
    assert [row["item"] for row in rows(study)] == [f"i{place}" for place in range(6)]
    assert {row["target"] for row in rows(study)} == {6}
    stored = {row["key"]: row["value"] for row in rows(study, "meta")}
    assert json.loads(stored["study"])["name"] == "my-study"


def test_names_of_pictures_say_nothing_and_differ_between_studies(tmp_path: Path) -> None:
    first = make(tmp_path / "a")
    second = make(tmp_path / "b")

    names = [{path.name for path in (study / "images").iterdir()} for study in (first, second)]
    assert all(re.fullmatch(r"[0-9a-f]{32}\.png", name) for name in names[0])
    assert not names[0] & names[1]
    assert {row["file"] for row in rows(first, "image")} == names[0]


def test_key_is_for_its_owner_only(tmp_path: Path) -> None:
    study = make(tmp_path)

    assert stat.S_IMODE((study / "key").stat().st_mode) == 0o600
    assert len(read_key(study)) == 32


def test_small_pictures_are_stored_at_160_pixels(tmp_path: Path) -> None:
    study = make(tmp_path)

    assert {(row["width"], row["height"]) for row in rows(study, "image")} == {(160, 160)}


def test_known_classes_are_strata_and_gold(tmp_path: Path) -> None:
    labels = {f"i{place}": CLASSES[place % 2] for place in range(6)}

    study = make(tmp_path, labels=labels)

    assert {row["item"]: row["gold"] for row in rows(study)} == labels
    assert {row["item"]: row["stratum"] for row in rows(study)} == labels


def test_allocation_gives_whole_batches_of_their_size(tmp_path: Path) -> None:
    path = table(
        tmp_path / "batches.csv",
        "image,batch\n" + "".join(f"i{place}.png,{place // 3}\n" for place in range(6)),
    )

    study = make(tmp_path, images=folder_of(tmp_path), allocation=path)

    layout = open_study(study).layout
    assert layout.whole_batches
    assert layout.trials_per_person == 3
    assert {row["item"]: row["batch"] for row in rows(study)}["i4"] == "1"


@pytest.mark.parametrize(
    "stored",
    [
        {f"i{place}": place // 3 for place in range(6)},
        {"0": ["i0", "i1", "i2.png"], "1": ["i3", "i4", "i5"]},
    ],
)
def test_allocation_may_be_json_in_either_direction(tmp_path: Path, stored: object) -> None:
    path = table(tmp_path / "batches.json", json.dumps(stored))

    study = make(tmp_path, images=folder_of(tmp_path), allocation=path)

    assert [row["batch"] for row in rows(study)] == ["0", "0", "0", "1", "1", "1"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "image,batch\ni0,1\ni1.pgn,1\n",
            r"t\.csv row 3, field 'image': no image is called 'i1.pgn'. Did you mean 'i1.png'",
        ),
        ("image,batch\ni0,1\ni0.png,2\n", r"t\.csv row 3: the image 'i0\.png' is named before"),
        ("image,batch\ni0,\n", r"t\.csv row 2: the field 'batch' is empty"),
        ("image,batch\ni0\n", r"t\.csv row 2: the field 'batch' is empty"),
        ("image;batch\ni0;1\n", r"t\.csv needs a first line with the columns image, batch"),
        ("", r"t\.csv needs a first line"),
        ('image,batch\n"i0,1\n', r"t\.csv row \d is not CSV"),
        ("image,batch\ni0,1\n", r"5 of 6 images have no batch, the first is 'i1'"),
    ],
)
def test_bad_allocation_is_named_by_file_row_and_field(
    tmp_path: Path, text: str, said: str
) -> None:
    images = folder_of(tmp_path)
    allocation = table(tmp_path / "t.csv", text)

    refused(tmp_path, said, images=images, allocation=allocation)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", r"t\.json must hold one JSON object, image to batch"),
        ("{", r"t\.json is not JSON"),
        ('{"i0": null}', r"t\.json entry 'i0': None is not a text"),
        ('{"i0": 1, "i0": 2}', r"t\.json entry 'i0': the image 'i0' is named before"),
    ],
)
def test_bad_json_is_named_by_file_and_entry(tmp_path: Path, text: str, said: str) -> None:
    images = folder_of(tmp_path)
    allocation = table(tmp_path / "t.json", text)

    refused(tmp_path, said, images=images, allocation=allocation)


def test_unknown_class_in_labels_is_named(tmp_path: Path) -> None:
    labels = table(tmp_path / "labels.csv", "image,class\ni0,cta\n")

    refused(
        tmp_path,
        r"labels\.csv row 2, field 'class': no class of this study is called 'cta'. Did you mean",
        labels=labels,
    )


def test_accents_may_be_composed_in_one_place_and_not_in_the_other(tmp_path: Path) -> None:
    images = tmp_path / "images"
    images.mkdir()
    Image.new("L", (8, 8)).save(images / "cafe\u0301.png")
    Image.new("L", (8, 8)).save(images / "other.png")

    study = make(tmp_path, images=images, labels={"caf\u00e9.png": "cat", "other": "dog"})

    assert {row["item"] for row in rows(study)} == {"caf\u00e9", "other"}


def test_checks_and_practice_are_shown_only_as_that(tmp_path: Path) -> None:
    study = make(
        tmp_path,
        checks={"i0": "cat", "i1": "dog"},
        practice={"i2": "cat"},
        layout={"checks_every": 2, "repeats": 0},
    )

    assert {row["item"]: row["role"] for row in rows(study)} == {
        "i0": "check",
        "i1": "check",
        "i2": "practice",
        "i3": "main",
        "i4": "main",
        "i5": "main",
    }
    assert open_study(study).layout.practice == 1
    assert {row["target"] for row in rows(study) if row["role"] != "main"} == {0}


def test_session_is_as_long_as_there_are_images(tmp_path: Path) -> None:
    layout = open_study(make(tmp_path)).layout

    assert layout.trials_per_person == 6
    assert layout.repeats == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"layout": {"trials_per_person": 7}}, "is 7, but there are only 6 things to show"),
        ({"layout": {"checks_every": 2}}, "A person meets 3 attention checks, .* 0 are given"),
        ({"checks": {"i0": "cat"}}, "would never be shown"),
        ({"layout": {"practice": 1}}, "layout.practice is 1, but 0 images"),
        ({"layout": {"per_class": True}}, "give them in a table of labels"),
        ({"layout": {"whole_batches": True}}, "needs an allocation"),
        ({"labels": {"i0": "cat"}}, "5 of 6 images have no class"),
        (
            {"checks": {"i0": "cat"}, "practice": {"i0": "cat"}},
            "'i0' is in the checks and in the practice",
        ),
        ({"checks": {f"i{k}": "cat" for k in range(6)}}, "there is nothing to ask about"),
        ({"comparisons": Path("x.csv")}, "compares nothing"),
        ({"preset": "mix"}, "mixes images of different classes"),
        ({"preset": "pairs", "labels": {"i0": "cat"}}, "is about no classes"),
        ({"preset": "typicality", "checks": {"i0": "cat"}}, "cannot be held against"),
        ({"preset": "triplets", "practice": {"i0": "cat"}}, "has no practice"),
        ({"preset": "pairs", "allocation": {"i0": "1"}}, "leave the allocation"),
        ({"form": "sliders", "options": {}}, "change the preset"),
        ({"images": Path("nowhere")}, "nowhere is neither a folder"),
        ({"layout": {"trails": 1}}, "No setting of \\[layout\\] is called 'trails'"),
        ({"classes": ["cat", "cat"]}, "'cat' occurs more than once"),
    ],
)
def test_what_does_not_go_together_is_refused_and_leaves_nothing(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    refused(tmp_path, said, **given)


def test_one_bad_picture_among_good_ones_leaves_nothing(tmp_path: Path) -> None:
    images = folder_of(tmp_path)
    (images / "i3.png").write_bytes(b"<svg></svg>")

    refused(tmp_path, r"i3\.png is an SVG drawing", images=images)


def test_study_is_not_made_over_another(tmp_path: Path) -> None:
    study = make(tmp_path)
    before = (study / "key").read_bytes()

    with pytest.raises(DataError, match="exists already"):
        make(tmp_path)

    assert (study / "key").read_bytes() == before


def test_unknown_preset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'top-two'"):
        make(tmp_path, "toptwo")


def test_pairs_may_be_listed(tmp_path: Path) -> None:
    listed = table(tmp_path / "pairs.csv", "first,second\ni0,i1\ni4,i2\n")

    study = make(tmp_path, "pairs", comparisons=listed)

    assert [json.loads(row["secret"]) for row in rows(study)] == [
        {"first": "i0", "second": "i1"},
        {"first": "i4", "second": "i2"},
    ]
    assert len(rows(study, "image")) == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("first,second\ni0,i0\n", r"pairs\.csv row 2: .* compared with itself"),
        ("first,second\ni0,i1\ni0,i1\n", r"row 3: the same comparison stands in pairs\.csv row 2"),
        ("first,second\ni0,i8\n", r"row 2, field 'second': no image is called 'i8'"),
        ("first,second\n", "holds no rows"),
    ],
)
def test_bad_comparison_is_named_by_row(tmp_path: Path, text: str, said: str) -> None:
    refused(tmp_path, said, preset="pairs", comparisons=table(tmp_path / "pairs.csv", text))


def test_mixes_are_mixed_at_their_own_size_before_they_are_upsampled(tmp_path: Path) -> None:
    images = pictures(2)
    study = make(
        tmp_path, "mix", images=images, labels={"i0": "cat", "i1": "dog"}, layout={"repeats": 0}
    )

    (half,) = [row for row in rows(study) if json.loads(row["secret"])["coefficient"] == 0.5]
    mixed = np.rint(0.5 * images["i0"].astype(float) + 0.5 * images["i1"]).astype(np.uint8)
    wanted = Image.fromarray(mixed).resize((160, 160), Image.Resampling.LANCZOS)
    (name,) = json.loads(half["images"])
    with Image.open(study / "images" / f"{name}.png") as stored:
        assert np.array_equal(np.asarray(stored), np.asarray(wanted))
    assert json.loads(half["shown"]) == {"classes": ["cat", "dog"]}
    assert len(rows(study, "image")) == 3  # their sources are shown to nobody


MIXES = "mix,first_item,second_item,first_class,second_class,coefficient\n"


def test_mixes_of_a_table_are_shown_under_its_names(tmp_path: Path) -> None:
    images = folder_of(tmp_path)
    listed = [("0.25 i0 + i3", "i0,i3"), ("0.9 i1.png + i2.png", "i1.png,i2.png")]
    text = "".join(f"{mix},{ends},cat,dog,{mix.split()[0]}\n" for mix, ends in listed)
    study = make(
        tmp_path,
        "mix",
        images=images,
        mixes=table(tmp_path / "mixes.csv", MIXES + text),
        layout={"repeats": 0},
    )

    found = {row["item"]: json.loads(row["secret"]) for row in rows(study)}
    assert sorted(found) == ["0.25 i0 + i3", "0.9 i1.png + i2.png"]
    assert found["0.25 i0 + i3"]["coefficient"] == 0.25
    assert len(rows(study, "image")) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5 i0 + i9,i0,i9,cat,dog,0.5\n", r"'0\.5 i0 \+ i9', field 'second_item': no image"),
        ("0.5 i0 + i1,i0,i1,cat,dig,0.5\n", r"'second_class': .* Did you mean 'dog'"),
        ("0.5 i0 + i1,i0,i1,cat,dog,2\n", r"line 2, field 'coefficient': not a number"),
        ("0.5 i0 + i5,i0,i5,cat,dog,0.5\n", "'i5' is a check or for practice"),
        ("", "holds no rows"),
    ],
)
def test_bad_mix_is_named(tmp_path: Path, text: str, said: str) -> None:
    mixes = table(tmp_path / "mixes.csv", MIXES + text)
    refused(tmp_path, said, preset="top-two-mixed", mixes=mixes, checks={"i5": "cat"})


def test_table_of_mixes_is_for_mixes_only(tmp_path: Path) -> None:
    refused(tmp_path, "mixes nothing", mixes=table(tmp_path / "mixes.csv", MIXES))


@pytest.mark.parametrize("preset", PRESETS)
def test_demo_of_every_preset_is_a_study(tmp_path: Path, preset: str) -> None:
    images = pictures(80)
    labels = {item: CLASSES[place % 2] for place, item in enumerate(images)}
    options = {"options": {"subset": CLASSES}} if preset == "top-class" else {}

    study = demo_study(
        tmp_path / "demo",
        images=images,
        labels=labels,
        classes=CLASSES,
        preset=preset,
        seed=0,
        **options,
    )

    settings = open_study(study)
    assert settings.preset == preset
    assert settings.layout.trials_per_person == 10
    known = {name for row in rows(study) for name in json.loads(row["images"])}
    assert known == {row["id"] for row in rows(study, "image")}


def test_nothing_but_gold_and_strata_says_what_an_image_shows(tmp_path: Path) -> None:
    labels = {f"i{place}": CLASSES[place % 2] for place in range(6)}

    study = make(tmp_path, labels=labels)

    for row in rows(study):
        assert "cat" not in row["shown"] + row["images"]
        assert "dog" not in row["shown"] + row["images"]


def test_settings_of_the_folder_can_make_another(tmp_path: Path) -> None:
    first = make(tmp_path / "a", per_item=3)
    changes = tomllib.loads((first / "study.toml").read_text())

    second = new_study(tmp_path / "b", images=pictures(), seed=0, where="study.toml", **changes)

    assert open_study(second) == open_study(first)


PAIRS = {
    "a": {"premise": "It <b>rains</b>.", "hypothesis": "It is wet."},
    "b": {"premise": "She sings.", "hypothesis": ""},
    "c": {"premise": "He runs.", "hypothesis": "He sleeps."},
}


def test_texts_stand_in_the_place_of_images(tmp_path: Path) -> None:
    folder = make(tmp_path, "distribution", images=load_items(PAIRS), checks=None)
    found = {row["item"]: row for row in rows(folder)}
    assert {item: json.loads(row["shown"])["texts"] for item, row in found.items()} == {
        "a": [[["premise", "It <b>rains</b>."], ["hypothesis", "It is wet."]]],
        "b": [[["premise", "She sings."]]],  # an empty field is left out
        "c": [[["premise", "He runs."], ["hypothesis", "He sleeps."]]],
    }
    assert all(row["images"] == "[]" for row in found.values())
    assert not list((folder / "images").iterdir())
    study = open_study(folder)
    words = study.model_dump_json()
    assert "image" not in words.lower() and "What category does the text" in study.wording


def test_texts_are_compared_and_checked_like_images(tmp_path: Path) -> None:
    texts = load_items(PAIRS)
    pairs = new_study(tmp_path / "pairs", images=texts, preset="pairs", seed=0)
    assert sorted(len(json.loads(row["shown"])["texts"]) for row in rows(pairs)) == [2, 2, 2]
    checks = table(tmp_path / "checks.csv", "image,class\nc,cat\n")
    study = make(tmp_path, "distribution", images=texts, checks=checks, layout={"checks_every": 2})
    assert [row["gold"] for row in rows(study) if row["role"] == "check"] == ["cat"]


def test_what_cannot_be_shown_as_text_is_refused(tmp_path: Path) -> None:
    refused(
        tmp_path, "texts cannot be mixed", preset="mix", images=load_items(PAIRS), mixes=tmp_path
    )
    refused(tmp_path, "these are 2 vectors of 2 numbers", images=load_items(np.eye(2)))
    long = {"a": "word " * 5_000, "b": "short"}
    refused(tmp_path, "item 'a' has more than 20,000 letters", images=load_items(long))
