import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from sfumato.cli import app
from sfumato.cli.elicit import SERVED, make_served_app, way_in
from sfumato.elicit.design.places import open_study
from sfumato.errors import DataError, SfumatoError


def run(*arguments: object) -> Result:
    words = ["elicit", "new", *map(str, arguments)]
    return CliRunner().invoke(app, words, catch_exceptions=False)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for place in range(6):
        Image.fromarray(np.full((8, 8), 40 * place, np.uint8)).save(folder / f"i{place}.png")
    return folder


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    path = tmp_path / "classes.txt"
    path.write_text("cat\ndog\n\n<b>deer</b>\n", encoding="utf-8")
    return path


def test_folder_classes_and_question_make_a_study(
    tmp_path: Path, images: Path, classes: Path
) -> None:
    folder = tmp_path / "study"

    result = run(
        folder, "--images", images, "--classes", classes, "--question", "top-two", "--per-item", 4
    )

    assert result.exit_code == 0
    assert "top-two about 6 images, 4 people each, 6 trials per person" in result.stdout
    assert f"sfumato elicit serve {folder}" in result.stdout
    study = open_study(folder)
    assert study.per_item == 4
    assert study.classes == ("cat", "dog", "<b>deer</b>")  # blank lines do not count


def test_class_named_twice_is_refused(tmp_path: Path, images: Path, classes: Path) -> None:
    classes.write_text("cat\ndog\ncat\n", encoding="utf-8")

    with pytest.raises(DataError, match="'cat' occurs more than once"):
        run(tmp_path / "s", "--images", images, "--classes", classes, "--question", "sliders")


def test_settings_come_from_a_file_and_from_the_command_line(
    tmp_path: Path, images: Path, classes: Path
) -> None:
    settings = tmp_path / "mine.toml"
    settings.write_text(
        'preset = "top-two"\ntitle = "Pets"\nper_item = 3\n[layout]\nrepeats = 1\n'
        'trials_per_person = 3\n[welcome]\nconsent = ["Do you agree?"]\n'
    )

    run(
        tmp_path / "study",
        *("--images", images, "--classes", classes, "--from", settings),
        *("--trials", 4, "--mode", "guarded", "--set", "recruiting.platform=prolific"),
        *("--set", "layout.allow_back=true", "--set", "name=pets"),
    )

    study = open_study(tmp_path / "study")
    assert (study.name, study.title, study.per_item, study.mode) == ("pets", "Pets", 3, "guarded")
    assert (study.layout.trials_per_person, study.layout.repeats) == (4, 1)
    assert study.layout.allow_back
    assert study.recruiting.platform == "prolific"
    assert study.welcome.consent == ("Do you agree?",)
    assert study.welcome.instructions  # the preset's, because the file has none


@pytest.mark.parametrize("key", ["imagse", "seed", "images"])
def test_file_with_an_unknown_setting_is_named(tmp_path: Path, images: Path, key: str) -> None:
    settings = tmp_path / "mine.toml"
    settings.write_text(f'preset = "pairs"\n{key} = 3\n')

    with pytest.raises(DataError, match=rf"^mine\.toml: No setting is called '{key}'"):
        run(tmp_path / "study", "--images", images, "--from", settings)


def test_demo_is_a_working_study_of_digits(tmp_path: Path) -> None:
    result = run(tmp_path / "demo", "--demo")

    assert result.exit_code == 0
    study = open_study(tmp_path / "demo")
    assert study.form == "distribution"
    assert study.classes[:3] == ("zero", "one", "two")  # numbers would look like the keys for them


def test_short_demo_still_has_a_check(tmp_path: Path) -> None:
    run(tmp_path / "demo", "--demo", "--trials", "2")

    assert open_study(tmp_path / "demo").layout.checks_every == 2


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("link", "Answer yourself: http://h/?participant=me&signature=…"),
        (
            "prolific",
            "Address for Prolific: http://h/?PROLIFIC_PID={{%PROLIFIC_PID%}}"
            "&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}",
        ),
        ("mturk", "Address for MTurk: http://h/ (it adds who comes)."),
    ],
)
def test_serving_says_how_people_get_in(tmp_path: Path, platform: str, expected: str) -> None:
    run(tmp_path / "demo", "--demo", "--set", f'recruiting.platform="{platform}"')

    told = way_in(tmp_path / "demo", "http://h/")
    assert re.sub("=[0-9a-f]{32}$", "=…", told) == expected


def test_demo_shows_any_question(tmp_path: Path) -> None:
    run(tmp_path / "demo", "--demo", "--question", "triplets")

    assert open_study(tmp_path / "demo").form == "triplets"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--images", "x"),
        ("--question", "top-two"),
        ("--demo", "--images", "x"),
        ("--demo", "--classes", "x"),
    ],
)
def test_incomplete_or_doubled_request_is_a_usage_error(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    result = run(tmp_path / "study", *arguments)

    assert result.exit_code == 2
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("text", ["layout.repeats", "=3", "a.b.c=3", "layout.=3"])
def test_malformed_setting_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SfumatoError, match="--set"):
        run(tmp_path / "demo", "--demo", "--set", text)


def test_served_study_has_a_page_and_a_dashboard_behind_its_key(
    tmp_path: Path, images: Path, classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "s", "--images", images, "--classes", classes, "--question", "top-two")
    settings: dict[str, Any] = {"paths": {"": str(tmp_path / "s")}, "database": None}
    settings["entries_per_minute"] = 30
    settings |= {"admins": None, "log": "text", "metrics_key_env": "NONE_OF_TEST"}
    keys = {"admin_key_env": "KEY_OF_TEST", "webhook_key_env": "NONE_OF_TEST"}
    monkeypatch.setenv("KEY_OF_TEST", "a key of 20 letters.")
    monkeypatch.setenv(SERVED, json.dumps(settings | keys))

    async def visit() -> tuple[httpx.Response, httpx.Response]:
        transport = httpx.ASGITransport(make_served_app())
        async with httpx.AsyncClient(transport=transport, base_url="http://site") as visitor:
            return await visitor.get("/?participant=me"), await visitor.get("/admin/")

    page, office = asyncio.run(visit())

    assert "main.js" in page.text
    assert 'type="password"' in office.text
    assert "Progress" not in office.text
