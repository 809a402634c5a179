"""A comparison from end to end, on made-up pictures: trained, resumed, failed, reported."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.examples import Examples
from sfumato.learn.folds import Split
from sfumato.learn.train import Recipe
from sfumato.scores import Score, read_differences, read_scores
from sfumato.studies.comparison import families, papers, run, setting
from sfumato.studies.comparison.page import read_comparison
from sfumato.studies.comparison.run import run_comparison
from sfumato.studies.comparison.setting import (
    ArmKind,
    Axis,
    Comparison,
    Family,
    Known,
    Target,
)
from sfumato.studies.comparison.told import Claim, Paper

ITEMS = tuple(f"i{place}" for place in range(60))
TRAIN, TEST = ITEMS[:40], ITEMS[40:]
CLASSES = ("light", "dark")
SPLIT = Split(TRAIN, (), TEST, selection="none")


def load(folder: Path | None) -> Known:
    rng = np.random.default_rng(0)
    light = np.arange(len(ITEMS)) % 2 == 0
    images = (
        rng.integers(120, size=(len(ITEMS), 8, 8, 1)) + np.where(light, 120, 0)[:, None, None, None]
    )
    original = LabelSet(ITEMS, CLASSES, np.stack([light, ~light], axis=1))
    soft = LabelSet(ITEMS, CLASSES, original.probs * 0.8 + 0.1)
    examples = Examples(ITEMS, images.astype(np.uint8))
    return Known(examples, {"original": original, "soft": soft}, missing=("There are no people.",))


def labelled(name: str) -> ArmKind:
    return ArmKind(
        f"{name} labels", lambda known, split, seed: Target(known.labels[name].take(split.train))
    )


ARMS = {
    "hard": labelled("original"),
    "soft": labelled("soft"),
    "soft N'=20": ArmKind(
        "twenty soft labels",
        lambda known, split, seed: Target(known.labels["soft"].take(TRAIN[:20]), items=TRAIN[:20]),
    ),
    # averaged labels cannot be shown one annotator at a time
    "broken": ArmKind(
        "labels that cannot be shown so",
        lambda known, split, seed: Target(known.labels["soft"].take(TRAIN), "one annotator"),
    ),
}


def held_against(known: Known, split: Split) -> list[setting.Test]:
    return [setting.Test("test", {"people": known.labels["soft"].take(TEST)}, attacked="people")]


SMALL = Comparison(
    name="lights",
    title="Light and dark",
    about="A made-up comparison.",
    family="lights",
    arms=("hard", "soft", "soft N'=20"),
    controls=("hard",),
    networks=("simple-ffn",),
    training=Recipe("simple-ffn", epochs=2, batch_size=16),
    seeds=2,
    fgsm=(8,),
    attacked_items=5,
    axes=(Axis("items", {"soft labels": {"soft N'=20": 20, "soft": 40}}, "By the images"),),
)
PAPER = Paper(
    (
        Claim(
            "table 9", "Soft is lower.", "1 against 2", "cross_entropy", "soft", "hard",
            against="people",
        ),
        Claim("section 9", "It looks nice.", "no number", note="Nobody was asked."),
    ),
    {("soft", "people", "all", "cross_entropy"): "0.123±.04"},
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    family = Family("lights", load, ARMS, lambda known, comparison, seed: [SPLIT], held_against)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(families.FAMILIES, "lights", family)
        patch.setitem(papers.PAPERS, "lights", PAPER)
        yield


@pytest.fixture(scope="module")
def folder(registered: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("comparison") / "lights"
    done = run_comparison(SMALL, folder, data=None)
    assert (done.done, done.failed) == (6, 0)
    return folder


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the report, which takes longer than the trainings."""
    monkeypatch.setattr(run, "draw_comparison", lambda folder: folder / "report.html")


def plain(scores: list[Score]) -> list[tuple[object, ...]]:
    return [(one.arm, one.metric, one.stratum, one.value, one.low, one.high) for one in scores]


def test_run_leaves_scores_of_every_arm_seed_and_stratum(folder: Path) -> None:
    scores = read_scores(folder / "scores.parquet")

    assert {one.arm for one in scores} == set(SMALL.arms)
    assert {"all", "fgsm/8"} <= {one.stratum for one in scores}
    assert {one.items for one in scores if one.stratum == "fgsm/8"} == {5}
    assert all(one.seeds == (0, 1) for one in scores)
    pairs = {(one.first, one.second) for one in read_differences(folder / "differences.parquet")}
    assert len(pairs) == 6


def test_resumed_run_trains_nothing_again_and_gives_the_same_scores(
    folder: Path, undrawn: None
) -> None:
    before = read_scores(folder / "scores.parquet")
    cells = {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}
    (folder / "scores.parquet").unlink()
    lost = next(path for path in cells if path.suffix == ".json")
    for path in (folder / "cells").glob(f"{lost.stem}.*"):
        path.unlink()  # as if the run had been stopped before this one

    run_comparison(SMALL, folder, data=None)

    after = {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}
    again = {path.stem for path in after if after[path] != cells.get(path)}
    assert again == {lost.stem}
    assert plain(read_scores(folder / "scores.parquet")) == plain(before)


def test_report_tells_claims_numbers_of_the_paper_and_what_is_missing(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    found = read_comparison(folder)

    assert [one.verdict for one in found.judged][1] == "not testable here"
    assert "Light and dark" in text
    assert "paper 0.123±.04" in text
    assert "There are no people." in text
    assert "It looks nice. Not testable here: Nobody was asked." in text


def test_report_draws_the_arms_against_their_axis(folder: Path) -> None:
    drawn = (folder / "figures" / "curve-1-people.csv").read_text(encoding="utf-8")

    lines = drawn.splitlines()
    assert lines[0].split(",")[:3] == ["arm", "items", "metric"]
    points = {tuple(line.split(",")[:3]) for line in lines[1:]}
    assert ("soft labels", "20.0", "cross_entropy") in points
    assert ("soft labels", "40.0", "fgsm/8") in points
    assert "By the images" in (folder / "report.html").read_text(encoding="utf-8")


def test_arm_may_learn_a_part_of_the_items(folder: Path) -> None:
    table = read_comparison(folder).tables["labels"]

    assert dict(zip(table["arm"], table["items"], strict=True)) == {
        "hard": 40,
        "soft": 40,
        "soft N'=20": 20,
    }


def test_training_that_fails_is_told_and_the_rest_is_scored(tmp_path: Path) -> None:
    one = replace(SMALL, arms=("hard", "broken"), axes=(), seeds=1)

    done = run_comparison(one, tmp_path, data=None)

    assert (done.done, done.failed) == (1, 1)
    found = read_comparison(tmp_path)
    assert {score.arm for score in found.scores} == {"hard"}
    assert "one annotator" in found.tables["failed"]["reason"][0]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 trainings failed and are missing" in text and "broken, simple-ffn, seed 0" in text


def test_run_in_which_everything_fails_says_why(tmp_path: Path) -> None:
    one = replace(SMALL, arms=("broken",), controls=(), axes=(), seeds=1)

    with pytest.raises(DataError, match="Every training failed; the first, broken"):
        run_comparison(one, tmp_path, data=None)


def test_network_may_have_a_learning_rate_of_its_own(tmp_path: Path, undrawn: None) -> None:
    base = replace(SMALL, arms=("hard",), axes=(), seeds=1)
    slow = replace(base, learning_rates={"simple-ffn": base.training.learning_rate / 10})

    losses = []
    for place, one in enumerate((base, slow)):
        run_comparison(one, tmp_path / str(place), data=None)
        losses.append(read_comparison(tmp_path / str(place)).tables["history"]["loss"].to_list())

    told = json.loads((tmp_path / "1" / "study.json").read_text(encoding="utf-8"))
    assert told["study"]["learning_rates"] == slow.learning_rates
    assert losses[0][-1] < losses[1][-1]


def test_family_without_images_for_it_cannot_be_pretrained(tmp_path: Path) -> None:
    one = replace(SMALL, pretraining=Recipe("simple-ffn", epochs=1))

    with pytest.raises(DataError, match="'lights' has no images to pretrain on"):
        run_comparison(one, tmp_path, data=None)
