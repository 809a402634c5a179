"""Faults that an attack on a study found: each has a test of its number, none may come back.

Those of the page and of the running server stand in ``page`` and ``web``.
"""

import contextlib
import json
import os
import sqlite3
import stat
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.elicit.design.places import database_url, open_study, read_key
from sfumato.elicit.design.study import ElicitStudy, Layout, write_study
from sfumato.elicit.export import export, mark_formulas
from sfumato.elicit.making.make import new_study
from sfumato.elicit.refusals import CollectionClosed
from sfumato.elicit.serve import served_app
from sfumato.elicit.session import commands
from sfumato.elicit.session.answers import check_answer, longest_answer
from sfumato.elicit.session.collection import collection_of
from sfumato.elicit.session.screen import AnswerGiven, AnswerTiming
from sfumato.elicit.session.sitting import lay_out
from sfumato.elicit.session.writer import run_once
from sfumato.elicit.storage.backup import back_up, restore_backup
from sfumato.elicit.storage.database import open_database
from sfumato.elicit.storage.schema import get_meta
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
    classes = tuple(f'{place:03d} Großer „Blauer“ Häher 🐦 "x\\y" {place}' for place in range(60))
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


def squat(desk: Any, count: int, *, address: str = "attacker") -> None:
    """Enter under invented ids, as many as there are places for."""
    with contextlib.suppress(CollectionClosed):
        for number in range(count):
            desk.enter(f"invented{number}", address=address)


def test_fault_04_invented_ids_keep_nobody_out(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(recruiting={"places": 20}), 60)
    squat(desk, 25)

    for number in range(10):
        squat(desk, 5)  # it goes on meanwhile
        token = desk.enter(f"honest{number}", address=f"home{number}")
        assert desk.screen(token).stage == "trials"
    running = desk.rows("SELECT count(*) FROM session WHERE ended IS NULL")
    assert running == [(20,)]
    for number in range(10):
        assert desk.finish(desk.enter(f"honest{number}", address=f"home{number}")).stage == "done"


def test_fault_04_nor_where_the_items_are_the_places(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(layout={"trials_per_person": 10}), 12)
    squat(desk, 25)

    token = desk.enter("honest", address="home")

    assert desk.finish(token).stage == "done"
    desk.check_counters()


def test_fault_04_nor_where_people_get_whole_batches(open_desk: Any, a_study: Any) -> None:
    study = a_study(layout={"trials_per_person": 4, "whole_batches": True})
    desk = open_desk(study, 12, batches=3)
    squat(desk, 40)

    assert desk.finish(desk.enter("honest", address="home")).stage == "done"
    desk.check_counters()


def test_fault_04_who_answers_or_is_alone_is_not_displaced(open_desk: Any, a_study: Any) -> None:
    desk = open_desk(a_study(recruiting={"places": 3}), 60)
    at_work = desk.enter("ann", address="home")
    desk.answer(at_work, desk.screen(at_work).trial.id)
    reading = desk.enter("bob", address="office")
    third = desk.enter("cyd", address="office")
    desk.answer(third, desk.screen(third).trial.id)

    with pytest.raises(CollectionClosed):  # the one who reads is the only one of that address
        desk.enter("dan", address="elsewhere")
    for token in (at_work, reading, third):
        assert desk.screen(token).stage == "trials"


def test_fault_04_place_of_who_never_began_is_free_after_minutes(
    open_desk: Any, a_study: Any
) -> None:
    desk = open_desk(a_study(recruiting={"places": 2}), 60)
    for number in range(2):
        desk.enter(f"invented{number}", address=f"bot{number}")
    with pytest.raises(CollectionClosed):
        desk.enter("honest", address="home")
    desk.now += 11 * 60

    assert desk.finish(desk.enter("honest", address="home")).stage == "done"


def lying_zip(path: Path, unpacked: int) -> None:
    """An archive whose one entry says that it is small."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("bomb.png", "w") as entry,
    ):
        for _ in range(unpacked // 1_000_000):
            entry.write(bytes(1_000_000))
    content = path.read_bytes()
    lie = content.replace(struct.pack("<I", unpacked), struct.pack("<I", 1_000))
    assert lie.count(struct.pack("<I", 1_000)) >= 2
    path.write_bytes(lie)


def test_fault_10_zip_that_lies_about_sizes_is_not_unpacked_whole(tmp_path: Path) -> None:
    lying_zip(tmp_path / "bomb.zip", 400_000_000)
    classes = ["cat", "dog"]
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="bomb"):
            new_study(
                tmp_path / "s",
                images=tmp_path / "bomb.zip",
                classes=classes,
                preset="distribution",
                seed=0,
            )
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 150_000_000


HOSTILE = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON answer BEGIN UPDATE answer SET answer = ''; END",
    "view": "CREATE VIEW v AS SELECT * FROM answer",
    "table": "CREATE TABLE more (x)",
    "index": "CREATE INDEX i ON answer (abs(received))",
    "column": "ALTER TABLE answer ADD COLUMN more TEXT DEFAULT (hex(randomblob(4)))",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_fault_11_backup_with_other_things_than_our_tables_is_refused(
    tmp_path: Path, what: str
) -> None:
    folder = demo(tmp_path / "study")
    back_up(open_database(database_url(folder)), tmp_path / "backup")
    for file in folder.glob("study.sqlite*"):
        file.unlink()
    with contextlib.closing(sqlite3.connect(tmp_path / "backup")) as driver:
        driver.execute(HOSTILE[what])
        driver.commit()

    with pytest.raises(DataError, match=r"backup (holds|has) .*this program"):
        restore_backup(tmp_path / "backup", folder)
    assert not (folder / "study.sqlite").exists()


def demo(folder: Path, **changes: Any) -> Path:
    more = {"layout": {"trials_per_person": 2}, **changes}
    return new_study(
        folder, images=noise(), classes=["cat", "dog"], preset="distribution", seed=0, **more
    )


def test_fault_11_database_with_a_trigger_is_not_served(tmp_path: Path) -> None:
    folder = demo(tmp_path / "study")
    with contextlib.closing(sqlite3.connect(folder / "study.sqlite")) as driver:
        driver.execute(HOSTILE["trigger"])
        driver.commit()

    with pytest.raises(DataError, match="trigger"):
        served_app(folder)


def test_fault_17_full_width_signs_are_marked_too() -> None:
    names = ["＝1+1", "＋1", "－1", "＠sum", "a＝b", " =1+1", "\u200b=1", "﹦1"]
    marked, count = mark_formulas(pl.DataFrame({"item": names}))

    assert marked["item"].to_list() == [
        "'＝1+1", "'＋1", "'－1", "'＠sum", "a＝b", "' =1+1", "'\u200b=1", "'﹦1",
    ]  # fmt: skip
    assert count == 7


def test_fault_18_files_of_a_study_are_for_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        folder = demo(tmp_path / "study")
        with open_database(database_url(folder)).connect() as connection:
            connection.plain("BEGIN IMMEDIATE")
            connection.plain("DELETE FROM audit")
            connection.plain("COMMIT")
            modes = {
                path.name: stat.S_IMODE(path.stat().st_mode)
                for path in folder.rglob("*")
                if path.is_file()
            }
    finally:
        os.umask(before)

    assert {"study.toml", "study.sqlite", "study.sqlite-wal", "key"} <= set(modes)
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


def test_fault_19_checks_stand_anywhere_within_their_block() -> None:
    layout = Layout(trials_per_person=40, checks_every=10)
    places: list[set[int]] = [set(), set(), set(), set()]
    for seed in range(300):
        plan = lay_out(layout, strata=[], batch=[], rng=np.random.default_rng(seed))
        checks = [place for place, slot in enumerate(plan) if slot == "check"]
        assert len(plan) == 44 and len(checks) == 4
        for block, place in enumerate(checks):
            assert 11 * block + 1 <= place <= 11 * block + 10
            places[block].add(place - 11 * block)
    assert all(found == set(range(1, 11)) for found in places)


def answered_study(folder: Path) -> Path:
    """A study about which one person has said one thing."""
    made = demo(folder, welcome={"instructions": [], "comprehension": [], "consent": []})
    collection = collection_of(open_study(made), read_key(made))
    rng = np.random.default_rng(0)
    with open_database(database_url(made)).connect() as connection:

        def run(command: Any, **request: Any) -> Any:
            return run_once(connection, collection, command, now=1e9, rng=rng, **request)

        token = run(commands.enter, platform="link", platform_id="ann").token
        trial = run(commands.screen, token=token).trial.id
        said = {"cat": 60, "dog": 40}
        timing = AnswerTiming(seconds=1.0)
        given = AnswerGiven(trial=trial, key="testkey1", answer=said, timing=timing)
        run(commands.answer, token=token, given=given)
    return made


def reword(folder: Path, **changes: Any) -> None:
    settings = {**open_study(folder).model_dump(), **changes}
    write_study(ElicitStudy(**settings), folder / "study.toml")


@pytest.mark.parametrize(
    "change",
    [{"wording": "What is it really?"}, {"prompts": {"labels": "Things"}}, {"version": "2"}],
    ids=["wording", "prompts", "version"],
)
def test_fault_23_question_that_was_answered_cannot_be_reworded(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    folder = answered_study(tmp_path / "study")
    reword(folder, **change)

    with pytest.raises(DataError, match=f"{next(iter(change))} .* 1 answer"):
        served_app(folder)
    with (
        open_database(database_url(folder)).reader() as connection,
        pytest.raises(DataError, match=next(iter(change))),
    ):
        export(connection, open_study(folder), tmp_path / "answers.csv")
    assert not (tmp_path / "answers.csv").exists()


def test_fault_23_before_the_first_answer_it_can(tmp_path: Path) -> None:
    folder = demo(tmp_path / "study")
    reword(folder, wording="What is it really?")
    served_app(folder)
    with open_database(database_url(folder)).reader() as connection:
        stored = json.loads(get_meta(connection, "study") or "")

    assert stored["wording"] == "What is it really?"
