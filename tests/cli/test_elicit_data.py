"""The commands on a small study with simulated answers, as a researcher types them."""

import json
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from sfumato.cli import app
from sfumato.elicit.design.places import database_url, open_study, read_key
from sfumato.elicit.making.make import new_study
from sfumato.elicit.refusals import Forbidden
from sfumato.elicit.session import commands
from sfumato.elicit.session.collection import collection_of
from sfumato.elicit.session.screen import AnswerGiven
from sfumato.elicit.session.writer import run_once
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.web.platforms import arrival_of
from sfumato.errors import DataError, UnknownName
from sfumato.judgments.formats import read
from sfumato.judgments.formats.reading import ReadOptions

CANARY = "5f00aaaabbbbccccdddd0042"


def run(*arguments: object) -> Result:
    words = ["elicit", *map(str, arguments)]
    return CliRunner().invoke(app, words, catch_exceptions=False)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Two people answered about six images, the second is excluded, one image came again."""
    folder = tmp_path / "pets"
    images = {f"i{place}": np.full((8, 8), 40 * place, np.uint8) for place in range(6)}
    new_study(
        folder,
        images=images,
        classes=["cat", "dog"],
        preset="choose-one",
        per_item=3,
        layout={"trials_per_person": 6, "repeats": 1, "checks_every": 0, "per_class": False},
        welcome={"consent": [], "instructions": [], "comprehension": [], "debrief": []},
        recruiting={"pay": 1.0},
        seed=0,
    )
    collection = collection_of(open_study(folder), read_key(folder))
    rng, now = np.random.default_rng(0), 1_000_000.0
    with open_database(database_url(folder)).connect() as connection:

        def command(what: Any, **request: Any) -> Any:
            return run_once(connection, collection, what, now=now, rng=rng, **request)

        for person in (CANARY, "bob"):
            token = command(commands.enter, platform="prolific", platform_id=person).token
            shown = command(commands.screen, token=token)
            while shown.stage == "trials":
                now += 5
                given = {
                    "trial": shown.trial.id,
                    "key": f"simulated{shown.trial.id}",
                    "answer": "cat",
                    "timing": {"seconds": 4.0},
                }
                shown = command(
                    commands.answer, token=token, given=AnswerGiven.model_validate(given)
                )
        command(commands.exclude, participant=2, rule="checks", who="test")
    return folder


def test_export_says_what_was_written_and_what_left_out(study: Path, tmp_path: Path) -> None:
    result = run("export", study, "-o", tmp_path / "a.csv")

    assert result.stdout.splitlines() == [
        f"Wrote 6 answers of 1 person to {tmp_path / 'a.csv'}.",
        "Left out (see --with): 7 excluded by checks, 1 repeats.",
    ]
    assert len(read(tmp_path / "a.csv", "sfumato", ReadOptions())) == 6


def test_export_keeps_what_is_named_in_the_format_that_is_named(
    study: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pages.csv"

    result = run("export", study, "-o", out, "--format", "jspsych", "--with", "repeats, excluded")

    assert "Wrote 14 answers of 2 people" in result.stdout
    assert "Left out" not in result.stdout
    assert out.read_text().startswith("trial_type,trial_index,subject,rt,response")
    with pytest.raises(UnknownName, match="Did you mean 'potato'"):
        run("export", study, "-o", tmp_path / "other.csv", "--format", "potatoes")


def test_status_is_a_text_or_json(study: Path) -> None:
    text = run("status", study).stdout
    found = json.loads(run("status", study, "--json").stdout)

    assert "pets: choose-one, open" in text
    assert "people: 2 entered; 2 finished, 1 excluded" in text
    assert "people per item: 1 to 1, median 1; 0 of 6 have all they need" in text
    assert "time: 4 s an answer (median), 0.6 min a session" in text
    assert found["answers"] == {"first": 12, "repeat": 2}
    assert found["hourly_pay"]["amount"] == pytest.approx(3600 / 35, abs=0.01)
    assert f"pay: {found['hourly_pay']['amount']:g} " in text


def test_s14_withdraw_erases_a_person_and_warns_of_backups(study: Path, tmp_path: Path) -> None:
    run("backup", study, "-o", tmp_path / "before.sqlite")

    result = run("withdraw", study, CANARY)
    run("backup", study, "-o", tmp_path / "after.sqlite")

    assert "Erased: 7 answers." in result.stdout
    assert "Earlier backups" in result.stdout
    held = {
        name: CANARY.encode() in (tmp_path / name).read_bytes()
        for name in ("before.sqlite", "after.sqlite")
    }
    assert held == {"before.sqlite": True, "after.sqlite": False}
    files = [file for file in study.iterdir() if file.is_file()]
    assert not [file for file in files if CANARY.encode() in file.read_bytes()]


def test_withdraw_of_the_identity_only_keeps_the_answers(study: Path) -> None:
    result = run("withdraw", study, CANARY, "--identity-only")

    assert "Kept without the person: 7 answers." in result.stdout
    assert json.loads(run("status", study, "--json").stdout)["answers"]["first"] == 12


def test_closed_study_is_told_as_closed(study: Path) -> None:
    run("close", study)

    assert json.loads(run("status", study, "--json").stdout)["closed"]


def test_r7_copy_prints_rows_and_checksums(study: Path, tmp_path: Path) -> None:
    result = run("copy", study, "--to", f"sqlite:///{tmp_path / 'copy.sqlite'}")

    lines = {line.split()[0]: line.split() for line in result.stdout.splitlines()}
    assert lines["answer"][1:3] == ["14", "rows"]
    assert len(lines["answer"][3]) == 16
    elsewhere = run("status", study, "--database", f"sqlite:///{tmp_path / 'copy.sqlite'}")
    assert elsewhere.stdout == run("status", study).stdout


def test_r6_backup_and_restore(study: Path, tmp_path: Path) -> None:
    run("backup", study, "-o", tmp_path / "b.sqlite")
    before = run("status", study).stdout
    with pytest.raises(DataError, match="stop the server and move"):
        run("restore", study, "--from", tmp_path / "b.sqlite")
    for file in study.glob("study.sqlite*"):
        file.unlink()

    result = run("restore", study, "--from", tmp_path / "b.sqlite")

    assert f"Restored {study}" in result.stdout
    assert run("status", study).stdout == before
    with sqlite3.connect(study / "study.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM answer").fetchone() == (14,)
    connection.close()


@pytest.mark.parametrize("command", ["status", "close"])
def test_folder_without_its_database_is_not_given_a_new_one(study: Path, command: str) -> None:
    for file in study.glob("study.sqlite*"):
        file.unlink()

    with pytest.raises(DataError, match=r"holds no study\.sqlite"):
        run(command, study)

    assert not (study / "study.sqlite").exists()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:secret@db.example/study",
        "postgresql://ann@db.example/study?password=secret",
    ],
)
@pytest.mark.parametrize("command", ["status", "export", "serve", "copy", "new"])
def test_fault_12_password_on_the_command_line_is_refused(
    study: Path, tmp_path: Path, command: str, address: str
) -> None:
    more: dict[str, tuple[object, ...]] = {
        "export": ("-o", tmp_path / "answers.csv"),
        "copy": ("--to", f"sqlite:///{tmp_path / 'copy.sqlite'}"),
        "new": ("--images", tmp_path, "--question", "top-two"),
    }
    with pytest.raises(DataError, match="list of processes") as refused:
        run(command, study, "--database", address, *more.get(command, ()))
    assert "secret" not in str(refused.value)


def test_fault_12_address_of_the_database_comes_from_the_environment(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHERE_IT_IS", f"sqlite:///{tmp_path / 'copy.sqlite'}")
    run("copy", study, "--to", "env:WHERE_IT_IS")

    assert "people: 2 entered" in run("status", study, "--database", "env:WHERE_IT_IS").stdout
    with pytest.raises(DataError, match="NOT_SET is not set"):
        run("status", study, "--database", "env:NOT_SET")


def test_fault_05_links_are_signed_and_open_only_for_their_person(study: Path) -> None:
    printed = run("links", study, "--people", 2, "--address", "https://study.example").stdout
    first, second = printed.splitlines()
    collection = collection_of(open_study(study), read_key(study))
    parameters = dict(parse_qsl(urlsplit(first).query))

    assert first.startswith("https://study.example/?participant=") and first != second
    assert arrival_of(collection, parameters).platform_id == parameters["participant"]
    with pytest.raises(Forbidden):
        arrival_of(collection, {**parameters, "participant": "me"})


def test_fault_05_links_for_named_people(study: Path, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("Ann Ö\n\nbob\n", encoding="utf-8")
    printed = run("links", study, "--ids", tmp_path / "ids.txt").stdout.splitlines()

    assert [dict(parse_qsl(urlsplit(one).query))["participant"] for one in printed] == [
        "Ann Ö",
        "bob",
    ]


@pytest.mark.parametrize("more", [(), ("--identity-only",)], ids=["all", "identity only"])
def test_fault_07_backup_made_before_a_withdrawal_is_restored_without_the_person(
    study: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    run("backup", study, "-o", tmp_path / "before")
    run("withdraw", study, CANARY, *more)
    for file in study.glob("study.sqlite*"):
        file.unlink()
    told = run("restore", study, "--from", tmp_path / "before").stdout

    assert "1 person had withdrawn" in told
    for file in study.rglob("*"):
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file.name
    with open_database(database_url(study)).connect() as connection:
        people = connection.driver.execute("SELECT count(*) FROM participant").fetchone()[0]
        answers = connection.driver.execute("SELECT count(*) FROM answer").fetchone()[0]
    assert (people, answers) == ((1, 7) if not more else (2, 14))
