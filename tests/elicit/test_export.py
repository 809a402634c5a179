"""Answers get out as they were given, about the right items, and nobody's platform id with them."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.elicit.export import SHAPES, collect_answers, export
from sfumato.elicit.session import commands
from sfumato.elicit.session.answers import question_of
from sfumato.elicit.storage import schema
from sfumato.elicit.storage.schema import Picture, Stimulus
from sfumato.errors import DataError, UnknownName
from sfumato.judgments.comparisons import Comparisons, MixJudgments
from sfumato.judgments.formats import FORMATS, read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.question import Question
from sfumato.labels.files import read_labels
from sfumato.labels.make import LabelSettings, make_labels

CLASSES = ("cat", "dog", "deer", "horse")
CANARY = "5f00aaaabbbbccccdddd0042"  # looks like an id of Prolific
SUFFIXES = {"judgments": "csv", "jspsych": "csv", "label-studio": "json", "potato": "jsonl"}


def one_answer(form: str, rng: np.random.Generator) -> Any:
    """A simulated answer that no guard refuses."""
    order = [CLASSES[place] for place in rng.permutation(4)]
    parts = rng.multinomial(20, [0.6, 0.3, 0.1, 0.0]) * 5
    match form:
        case "choose-one":
            return order[0]
        case "top-two":
            first = int(rng.integers(55, 80))
            return {
                "first": order[0],
                "first_percent": first,
                "second": order[1],
                "second_percent": 90 - first,
                "ruled_out": order[2:3],
            }
        case "yes-no-unsure":
            return dict(zip(order, ("yes", *rng.choice(["no", "unsure"], 3).tolist()), strict=True))
        case "distribution":
            return dict(zip(order, parts.tolist(), strict=True))
        case _:
            return dict(zip(order, (rng.integers(1, 101, 4) / 100).tolist(), strict=True))


def collect(desk: Any, people: int, *, seed: int = 0) -> list[tuple[str, str, str]]:
    """Let simulated people answer everything; item, pseudonym and answer of each main trial."""
    rng, form = np.random.default_rng(seed), desk.collection.study.form
    given: dict[int, Any] = {}
    for person in range(people):
        token = desk.enter(f"p{person}")
        shown = desk.screen(token)
        while shown.stage == "trials":
            given[shown.trial.id] = one_answer(form, rng)
            shown = desk.answer(token, shown.trial.id, given[shown.trial.id])
    rows = desk.rows(
        "SELECT t.id, st.item, p.pseudonym FROM trial t JOIN stimulus st ON st.id = t.stimulus "
        "JOIN session s ON s.id = t.session JOIN participant p ON p.id = s.participant "
        "WHERE t.view = 'first' ORDER BY t.id"
    )
    return [(item, who, json.dumps(given[trial])) for trial, item, who in rows if trial in given]


@pytest.mark.parametrize(
    ("form", "recipe"),
    [
        ("choose-one", "votes"),
        ("top-two", "top2-clamp"),
        ("yes-no-unsure", "yes-unsure-equal"),
        ("distribution", "sliders"),
        ("sliders", "sliders"),
    ],
)
def test_labels_of_an_export_equal_those_made_from_the_same_answers(
    desk_in_memory: Callable[..., Any], tmp_path: Path, form: str, recipe: str
) -> None:
    roles = {"checks": 2, "practice": 2}
    layout = {"trials_per_person": 6, "repeats": 2, "checks_every": 3, "practice": 1}
    desk = desk_in_memory(8, roles=roles, form=form, layout=layout)
    direct = pl.DataFrame(collect(desk, 4), ["item", "annotator", "answer"], orient="row")
    question = question_of(desk.collection.study)
    assert isinstance(question, Question)

    export(desk.connection, desk.collection.study, tmp_path / "answers.parquet")
    words = ["label", tmp_path / "answers.parquet", "--recipe", recipe, "-o", tmp_path / "l.csv"]
    CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)

    labels = read_labels(tmp_path / "l.csv")
    expected = make_labels(Judgments(question, direct), LabelSettings(recipe)).labels
    assert len(direct) == 4 * 6
    assert sorted(labels.items) == sorted(expected.items)
    places = [labels.items.index(item) for item in expected.items]
    np.testing.assert_allclose(labels.probs[places], expected.probs, atol=1e-9)


def test_rows_say_who_when_where_and_whether_they_finished(
    open_desk: Callable[..., Any], a_study: Callable[..., Any]
) -> None:
    study = a_study(version="7")
    desk = open_desk(study)
    desk.finish(desk.enter("ann"))
    token = desk.enter("bob")
    shown = desk.screen(token)
    timing = {"seconds": 2.5, "inputs": {"class": 1.25}}
    desk.answer(token, shown.trial.id, "deer", timing=timing)

    found = collect_answers(desk.connection, study).answers

    assert isinstance(found, Judgments)
    assert (found.question.version, found.question.wording) == ("7", study.wording)
    table = found.table
    assert len(table) == 7
    assert table["order"].to_list() == [1, 2, 3, 4, 5, 6, 1]
    assert table["completed"].to_list() == [True] * 6 + [False]
    assert table["annotator"].n_unique() == 2
    last = table.row(6, named=True)
    assert (last["answer"], last["seconds"], last["view"]) == ('"deer"', 2.5, "first")
    assert json.loads(last["input_seconds"]) == {"class": 1.25}
    assert last["at"] == "1970-01-12T13:46:50.500000+00:00"  # 1,000,010.5 s
    assert last["item"].startswith("item-main-")


def test_checks_repeats_practice_and_excluded_people_are_left_out_and_counted(
    open_desk: Callable[..., Any], a_study: Callable[..., Any]
) -> None:
    layout = {"trials_per_person": 6, "repeats": 2, "checks_every": 3, "practice": 1}
    study = a_study(layout=layout)
    desk = open_desk(study, checks=2, practice=2)
    for person in ("ann", "bob"):
        desk.finish(desk.enter(person))
    desk.run(commands.exclude, participant=2, rule="checks", who="test")

    usual = collect_answers(desk.connection, study)
    everything = collect_answers(
        desk.connection, study, keep=["repeats", "checks", "practice", "excluded"]
    )

    assert len(usual.answers) == 6
    assert usual.left_out == {"checks": 2, "excluded by checks": 11, "practice": 1, "repeats": 2}
    assert set(usual.answers.table["view"]) == {"first"}
    assert everything.left_out == {}
    views = everything.answers.table["view"].value_counts(sort=True).sort("view").rows()
    assert views == [("check", 4), ("first", 12), ("practice", 2), ("repeat", 4)]
    # Where an answer stands in its session does not depend on what is left out.
    orders = usual.answers.table["order"].to_list()
    kept = everything.answers.table.filter(everything.answers.table["view"] == "first")
    assert orders == kept.filter(kept["annotator"] == kept["annotator"][0])["order"].to_list()
    assert len(orders) == 6 and set(orders) <= set(range(2, 10))
    assert everything.answers.table["order"].to_list()[:11] == list(range(1, 12))
    with pytest.raises(UnknownName, match="Did you mean 'checks'"):
        collect_answers(desk.connection, study, keep=["check"])


def test_late_answers_are_kept_and_told(desk: Any) -> None:
    token = desk.enter()
    shown = desk.screen(token)
    desk.now += 3600
    desk.run(commands.expire)
    desk.answer(token, shown.trial.id, "dog")

    found = collect_answers(desk.connection, desk.collection.study)

    assert (len(found.answers), found.late) == (1, 1)
    assert [(remark.what, remark.count) for remark in found.answers.remarks] == [
        ("late answers: their place had been given up", 1)
    ]


def test_people_who_withdrew_are_gone(desk: Any) -> None:
    for person in ("ann", "bob"):
        desk.finish(desk.enter(person))
    desk.run(commands.withdraw, participant=1, who="test")

    found = collect_answers(desk.connection, desk.collection.study)

    assert (len(found.answers), found.people, found.left_out) == (6, 1, {})


def desk_of(open_desk: Callable[..., Any], study: Any, stimuli: list[Stimulus]) -> Any:
    """A desk with other stimuli than the usual ones."""
    desk = open_desk(study, 0)
    names = sorted({name for one in stimuli for name in one.images})
    pictures = [Picture(name, f"{name}.png", 8, 8, "0" * 64) for name in names]
    schema.fill(desk.connection, study, pictures, stimuli, now=0.0, rng=desk.rng)
    return desk


def test_comparisons_name_the_items_behind_the_pictures(
    open_desk: Callable[..., Any], a_study: Callable[..., Any], tmp_path: Path
) -> None:
    study = a_study(form="triplets", preset="triplets", layout={"trials_per_person": 3}, per_item=1)
    three = {"item": "a", "first": "b", "second": "c"}
    made = [
        Stimulus(f"t{n}", f"triplet {n}", ("pa", "pb", "pc"), 1, secret=three) for n in range(3)
    ]
    desk = desk_of(open_desk, study, made)
    token = desk.enter()
    shown, sides = desk.screen(token), []
    while shown.stage == "trials":
        swapped = shown.trial.images[1].endswith("pc")
        sides.append("second" if swapped else "first")
        shown = desk.answer(token, shown.trial.id, {"closer": sides[-1]})  # always b

    export(desk.connection, study, tmp_path / "c.csv")

    found = read(tmp_path / "c.csv", "comparisons", ReadOptions())
    assert isinstance(found, Comparisons)
    assert found.question.wording == study.wording
    rows = found.table.select("item", "first", "second", "closer", "order").rows()
    assert rows == [("a", "b", "c", "first", place) for place in (1, 2, 3)]
    with pytest.raises(DataError, match="--format judgments"):
        export(desk.connection, study, tmp_path / "c.csv", shape="jspsych")


def test_mixes_come_with_their_sources_and_coefficient(
    open_desk: Callable[..., Any], a_study: Callable[..., Any], tmp_path: Path
) -> None:
    wording = "How much {first} and how much {second}?"
    study = a_study(form="mix", preset="mix", wording=wording, layout={"trials_per_person": 1})
    sources = {"first_item": "i1", "second_item": "i2", "first_class": "cat", "second_class": "dog"}
    mixed = Stimulus(
        "m",
        "0.25 i1 + i2",
        ("pm",),
        2,
        shown={"classes": ["cat", "dog"]},
        secret={**sources, "coefficient": 0.25},
    )
    desk = desk_of(open_desk, study, [mixed])
    token = desk.enter()
    shown = desk.screen(token)
    perceived = 0.3 if shown.trial.shown["classes"] == ["cat", "dog"] else 0.7
    desk.answer(token, shown.trial.id, {"perceived": perceived, "confidence": 0.8})

    export(desk.connection, study, tmp_path / "m.csv")

    found = read(tmp_path / "m.csv", "mixes", ReadOptions())
    assert isinstance(found, MixJudgments)
    row = found.table.row(0, named=True)
    assert {name: row[name] for name in sources} == sources
    assert (row["mix"], row["shown"], row["confidence"]) == ("0.25 i1 + i2", 0.25, 0.8)
    assert row["perceived"] == pytest.approx(0.3)


@pytest.mark.parametrize("shape", SHAPES)
def test_s13_platform_ids_are_in_no_export(
    desk_in_memory: Callable[..., Any], tmp_path: Path, shape: str
) -> None:
    desk = desk_in_memory(6, roles={})
    desk.finish(desk.enter(CANARY, platform="prolific", platform_session=f"{CANARY}77"))
    path = tmp_path / f"answers.{SUFFIXES[shape]}"

    export(desk.connection, desk.collection.study, path, shape=shape)

    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert CANARY.encode() not in written
    pseudonym = desk.rows("SELECT pseudonym FROM participant")[0][0]
    assert pseudonym.encode() in written


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_s13_nor_in_our_other_files(
    desk_in_memory: Callable[..., Any], tmp_path: Path, suffix: str
) -> None:
    desk = desk_in_memory(6, roles={})
    desk.finish(desk.enter(CANARY, platform="prolific"))

    export(desk.connection, desk.collection.study, tmp_path / f"answers.{suffix}")

    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert CANARY.encode() not in written


@pytest.mark.parametrize("shape", ["judgments", "jspsych"])
def test_s7_no_cell_of_a_csv_file_begins_a_formula(
    open_desk: Callable[..., Any], a_study: Callable[..., Any], tmp_path: Path, shape: str
) -> None:
    classes = ("=1+1", "+cmd", "-2", "@SUM(A1)")
    desk = open_desk(a_study(classes=classes), items=6)
    for place, text in enumerate(("=HYPERLINK(1)", "-1", "+1", "@x", "\tx", "plain")):
        desk.rows(
            f"UPDATE stimulus SET item = '{text}', gold = '{classes[place % 4]}' "
            f"WHERE id = {place + 1} RETURNING id"
        )
    desk.finish(desk.enter(), "=1+1")

    done = export(desk.connection, desk.collection.study, tmp_path / "a.csv", shape=shape)

    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r") and cell]
    assert "'=HYPERLINK(1)" in cells
    assert done.marked == 5 + 6
    kept = export(desk.connection, desk.collection.study, tmp_path / "a.jsonl")
    assert kept.marked == 0
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    assert "=HYPERLINK(1)" in {json.loads(line)["item"] for line in lines}


def test_top_two_pages_of_jspsych_are_read_back_as_the_paper_s(
    desk_in_memory: Callable[..., Any], tmp_path: Path
) -> None:
    classes = ("cat", "dog", "deer", "horse")
    layout = {"trials_per_person": 3, "repeats": 1}
    desk = desk_in_memory(3, roles={}, form="top-two", classes=classes, layout=layout)
    for stimulus in range(1, 4):
        desk.connection.driver.execute(
            "UPDATE stimulus SET item = ?, gold = 'cat' WHERE id = ?", (str(stimulus), stimulus)
        )
    collect(desk, 2)
    path = tmp_path / "pages.csv"
    study = desk.collection.study

    export(desk.connection, study, path, shape="jspsych", keep=["repeats"])

    back = read(path, "cifar10s", ReadOptions(classes=classes))
    ours = collect_answers(desk.connection, study, keep=["repeats"]).answers
    assert isinstance(back, Judgments)
    assert isinstance(ours, Judgments)
    columns = ("item", "annotator", "seconds", "order", "view", "completed")
    assert back.table.select(columns).equals(ours.table.select(columns))
    np.testing.assert_equal(
        back.statements.mass[back.statements.index], ours.statements.mass[ours.statements.index]
    )


@pytest.mark.parametrize(
    ("shape", "form"),
    [("label-studio", "choose-one"), ("potato", "choose-one"), ("potato", "distribution")],
)
def test_what_other_tools_hold_is_read_back(
    desk_in_memory: Callable[..., Any], tmp_path: Path, shape: str, form: str
) -> None:
    desk = desk_in_memory(4, roles={}, form=form, layout={"trials_per_person": 4})
    direct = collect(desk, 3)
    path = tmp_path / f"answers.{SUFFIXES[shape]}"

    export(desk.connection, desk.collection.study, path, shape=shape)

    asked = form if form == "distribution" else None
    found = read(path, shape, ReadOptions(classes=CLASSES, question=asked))
    back = {
        (row["item"], row["annotator"]): json.loads(row["answer"])
        for row in found.table.iter_rows(named=True)
    }
    assert FORMATS[shape].write is None  # else that writer should be used here
    if form == "distribution":
        back = {who: {name: float(x) for name, x in one.items()} for who, one in back.items()}
    assert back == {(item, who): json.loads(answer) for item, who, answer in direct}
    assert found.table["seconds"].to_list() == [1.0] * 12


def test_what_a_distribution_is_not_is_exported_as_such(
    desk_in_memory: Callable[..., Any], tmp_path: Path
) -> None:
    desk = desk_in_memory(1, roles={}, form="distribution", layout={"trials_per_person": 1})
    token = desk.enter("ann")
    said = {"cat": 60.0, "dog": 40.0, "ruled_out": ["deer"]}
    desk.answer(token, desk.screen(token).trial.id, said)
    paths = {shape: tmp_path / f"answers.{SUFFIXES[shape]}" for shape in ("potato", "label-studio")}
    for shape, path in paths.items():
        export(desk.connection, desk.collection.study, path, shape=shape)
    export(desk.connection, desk.collection.study, tmp_path / "own.jsonl")

    own = read(tmp_path / "own.jsonl", "sfumato", ReadOptions())
    potato = read(paths["potato"], "potato", ReadOptions(classes=CLASSES, question="distribution"))
    (task,) = json.loads(paths["label-studio"].read_text())
    assert isinstance(own, Judgments) and isinstance(potato, Judgments)
    assert own.statements.ruled_out.tolist() == [[name == "deer" for name in CLASSES]]
    assert own.statements.mass.tolist() == potato.statements.mass.tolist()
    assert task["annotations"][0]["result"][-1]["value"] == {"choices": ["deer"]}


def test_label_studio_holds_a_number_for_each_class(
    desk_in_memory: Callable[..., Any], tmp_path: Path
) -> None:
    desk = desk_in_memory(2, roles={}, form="sliders", layout={"trials_per_person": 2})
    direct = collect(desk, 1)

    export(desk.connection, desk.collection.study, tmp_path / "a.json", shape="label-studio")

    tasks = json.loads((tmp_path / "a.json").read_text())
    back = {
        task["data"]["id"]: {
            one["from_name"]: one["value"]["number"] for one in task["annotations"][0]["result"]
        }
        for task in tasks
    }
    assert back == {item: json.loads(answer) for item, _, answer in direct}


@pytest.mark.parametrize("shape", ["label-studio", "potato"])
def test_answers_that_a_tool_cannot_hold_are_one_sentence(
    desk_in_memory: Callable[..., Any], tmp_path: Path, shape: str
) -> None:
    path = tmp_path / f"a.{SUFFIXES[shape]}"
    two = desk_in_memory(3, roles={}, form="top-two", layout={"trials_per_person": 3})
    collect(two, 1)
    again = desk_in_memory(3, roles={}, layout={"trials_per_person": 3, "repeats": 1})
    collect(again, 1)

    with pytest.raises(DataError, match="holds a choice or one number a class"):
        export(two.connection, two.collection.study, path, shape=shape)
    with pytest.raises(DataError, match="cannot say that 1 of 4 answers"):
        export(again.connection, again.collection.study, path, shape=shape, keep=["repeats"])
    assert list(tmp_path.iterdir()) == []


def test_study_without_answers_is_told_what_was_left_out(
    desk_in_memory: Callable[..., Any], tmp_path: Path
) -> None:
    desk = desk_in_memory(6, roles={})
    study = desk.collection.study
    with pytest.raises(DataError, match=r"no answers to export yet\.$"):
        export(desk.connection, study, tmp_path / "a.csv")
    desk.finish(desk.enter())
    desk.run(commands.exclude, participant=1, rule="checks", who="test")

    with pytest.raises(DataError, match="6 were left out: 6 excluded by checks"):
        export(desk.connection, study, tmp_path / "a.csv")
