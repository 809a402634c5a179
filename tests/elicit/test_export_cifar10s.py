"""The real answers of CIFAR-10S, given again through the faithful form, make the released labels.

Everybody is entered through the commands of the server; the batch that the allocation gives them
decides as which of the real people they answer.
"""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.elicit.export import collect_answers, export
from sfumato.elicit.session import commands
from sfumato.elicit.session.screen import AnswerGiven
from sfumato.elicit.storage import schema
from sfumato.elicit.storage.schema import Picture, Stimulus
from sfumato.judgments.formats import read
from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.repairs import repair
from sfumato.labels.build import build
from sfumato.labels.files import read_crowd_labels
from sfumato.labels.labelset import CrowdLabels

Rows = list[tuple[str, str]]
"""Items and answers."""


@dataclass(frozen=True)
class Sitting:
    """What one person did in one go."""

    first: dict[str, str]
    again: Rows


@pytest.fixture(scope="module")
def real(data_folder: Path) -> Judgments:
    path = data_folder / "cifar10s" / "raw_human_data.csv"
    found = read(path, "cifar10s", ReadOptions(key=lambda: "only for tests"))
    assert isinstance(found, Judgments)
    return found


def sittings_of(real: Judgments) -> list[Sitting]:
    """The sessions; somebody whose trials begin again took part twice."""
    made: list[Sitting] = []
    rows = real.table.select("annotator", "order", "view", "item", "answer")
    for _, theirs in rows.group_by("annotator", maintain_order=True):
        for _, order, view, item, answer in theirs.iter_rows():
            if order == 1:
                made.append(Sitting({}, []))
            if view == "first":
                made[-1].first[item] = answer
            else:
                made[-1].again.append((item, answer))
    return made


@pytest.fixture(scope="module")
def replayed(real: Judgments, desk_in_memory: Callable[..., Any]) -> Any:
    """A collection in which every real session was entered and answered as it was."""
    by_batch: dict[str, list[Sitting]] = defaultdict(list)
    for sitting in sittings_of(real):
        by_batch[" ".join(sorted(sitting.first))].append(sitting)
    stimuli = [
        Stimulus(f"{item} of {batch}", item, (f"p{item}",), len(people), batch=batch)
        for batch, people in by_batch.items()
        for item in batch.split()
    ]
    desk = desk_in_memory(
        0,
        roles={},
        form="top-two",
        classes=CIFAR10,
        mode="faithful",
        layout={"trials_per_person": 25, "whole_batches": True, "repeats": 2},
    )
    pictures = [Picture(f"p{item}", "x", 1, 1, "") for item in {one.item for one in stimuli}]
    study, connection = desk.collection.study, desk.connection
    schema.fill(connection, study, pictures, stimuli, now=0.0, rng=desk.rng)
    items = dict(desk.rows("SELECT id, item FROM stimulus"))
    connection.begin()  # once for all: the disk is not what is tested here
    for place in range(sum(map(len, by_batch.values()))):
        answer_all(desk, f"person {place}", by_batch, items)
    connection.commit()
    return desk


def answer_all(
    desk: Any, name: str, by_batch: dict[str, list[Sitting]], items: dict[int, str]
) -> None:
    """Enter, see which batch one gets, and answer as somebody who had that batch."""

    def run(command: Callable[..., Any], **request: Any) -> Any:
        return command(desk.connection, desk.collection, now=desk.now, rng=desk.rng, **request)

    token = run(commands.enter, platform="link", platform_id=name).token
    number, batch, plan = desk.rows("SELECT id, batch, plan FROM session ORDER BY id DESC LIMIT 1")[
        0
    ]
    sitting = by_batch[batch].pop()
    # Which trials come again is drawn; here they are those that came again for the real person.
    main = [items[int(slot.removeprefix("stimulus:"))] for slot in json.loads(plan)[:25]]
    slots = json.loads(plan)[:25] + [f"repeat:{main.index(item) + 1}" for item, _ in sitting.again]
    desk.connection.driver.execute(
        "UPDATE session SET plan = ? WHERE id = ?", (json.dumps(slots), number)
    )
    again = [answer for _, answer in sitting.again]
    shown = run(commands.screen, token=token)
    while shown.stage == "trials":
        item = shown.trial.images[0].removeprefix("/image/p")
        text = sitting.first[item] if shown.trial.number <= 25 else again.pop(0)
        given = AnswerGiven.model_validate(
            {
                "trial": shown.trial.id,
                "key": f"replayed-{shown.trial.id}",
                "answer": json.loads(text),
                "timing": {"seconds": 29.0},
            }
        )
        desk.now += 30
        shown = run(commands.answer, token=token, given=given)
    assert shown.stage == "done"


def test_every_real_answer_is_taken_unchanged_by_the_faithful_form(
    real: Judgments, replayed: Any
) -> None:
    found = collect_answers(replayed.connection, replayed.collection.study, keep=["repeats"])

    assert len(found.answers) == len(real) == 6723
    assert found.people == 249  # 248, one of whom took part twice
    assert replayed.rows("SELECT min(finished - target), max(reserved) FROM stimulus") == [(0, 0)]
    assert as_given(found.answers.table).equals(as_given(real.table))


def as_given(table: pl.DataFrame) -> pl.DataFrame:
    """Item, view and answer in one order, the fields of each answer too."""
    answers = [json.dumps(json.loads(text), sort_keys=True) for text in table["answer"]]
    rows = table.select("item", "view").with_columns(pl.Series("answer", answers))
    return rows.sort("item", "view", "answer")


def test_export_of_the_replay_gives_the_released_labels(
    replayed: Any, tmp_path: Path, data_folder: Path
) -> None:
    path = tmp_path / "answers.parquet"
    export(replayed.connection, replayed.collection.study, path, keep=["repeats"])
    found = read(path, "sfumato", ReadOptions())
    assert isinstance(found, Judgments)
    mended, _ = repair(found, "cifar10s")

    ours = build(mended, "top2-clamp", gamma=0.1, rule="released").crowd

    released = read_crowd_labels(data_folder / "cifar10s" / "cifar10s_t2clamp_redist10.json")
    mine, theirs = as_multisets(ours), as_multisets(released)
    assert len(ours) == len(released) == 6723
    assert mine.keys() == theirs.keys()
    assert max(np.abs(mine[name] - theirs[name]).max() for name in mine) < 1e-12


def as_multisets(labels: CrowdLabels) -> dict[str, Any]:
    """The rows of each item in one order."""
    found = {}
    for place, name in enumerate(labels.items):
        rows = labels.probs[labels.item == place]
        found[name] = rows[np.lexsort(rows.round(9).T)]
    return found
