"""Shipped studies run to their report on small made-up data, alone and on a cluster."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import entropy as scipy_entropy

from sfumato.judgments.mixed import Mix
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.mixing import Percepts
from sfumato.learn.examples import Examples
from sfumato.provenance import Step
from sfumato.scores import Estimate
from sfumato.studies import run as running
from sfumato.studies.cifar_sources import MODES, NEAR, PEOPLE_S, SIMULATED_SOFT, label_sets
from sfumato.studies.data import StudyData
from sfumato.studies.run import Run, Runner, run_study
from sfumato.studies.sources import SOURCES
from sfumato.studies.study import Study, read_study

pytestmark = pytest.mark.check

Give = Callable[[StudyData], None]
HARD, HIGH = "hard", "label smoothing, high"
CLASSES = tuple("abcdefghij")


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch) -> Give:
    """Have the source of some data load it, whatever the study's other settings."""

    def given(data: StudyData) -> None:
        name = data.study.data
        load = replace(SOURCES[name], load=lambda study, folder: replace(data, study=study))
        monkeypatch.setitem(SOURCES, name, load)

    return given


@pytest.fixture
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "write_report", lambda run: run.folder)


def small(name: str, **changes: Any) -> Study:
    """A study with two seeds of a small network, and other changes by dotted name."""
    few = {"networks": ["simple-ffn"], "seeds": 2, "draws": 100, "attacked_items": 4}
    training = {"training.epochs": 2, "training.batch_size": 16}
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    return read_study(name, changes={**few, **training, **dotted})


def clean_scores(run: Run, metric: str) -> dict[tuple[str, str], float]:
    """By arm and whose labels are held against, on all items of a test."""
    known = run.estimates.scores.filter(metric=metric, stratum="all", attack="")
    return {(one.arm, one.against): one.value for one in known if one.network}


def differences(run: Run, metric: str) -> dict[tuple[str, str], Estimate]:
    return {(one.arm, one.second): one for one in run.estimates.differences.filter(metric=metric)}


@pytest.fixture(scope="module")
def two_workers() -> Iterator[str]:
    """The address of a scheduler with two worker processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        protocol="tcp",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.usefixtures("no_report")
def test_cluster_of_two_processes_gives_identical_estimates(
    two_workers: str, tmp_path: Path
) -> None:
    arms = ["original", "majority", "soft"]
    study = small("digits-table", arms=arms, training__epochs=1, attacked_items=20)

    alone = run_study(study, tmp_path / "alone")
    cluster = run_study(study, tmp_path / "cluster", Runner(engine="dask", scheduler=two_workers))

    assert "failed" not in cluster.tables
    assert len(alone.estimates) > 10
    assert_frame_equal(alone.estimates.table, cluster.estimates.table, check_exact=True)
    cells = [
        {path.name: path.read_bytes() for path in (run.folder / "cells").iterdir()}
        for run in (alone, cluster)
    ]
    assert cells[0] == cells[1]
    assert alone.info["fingerprint"] == cluster.info["fingerprint"]
    assert alone.simulated
    assert all(one.simulated for one in alone.estimates if one.arm != "original" and one.network)


def bright_columns(classes: list[int], side: int = 12) -> np.ndarray:
    """Small pictures, each class a bright column of its own."""
    images = np.random.default_rng(0).integers(0, 80, size=(len(classes), side, side, 1))
    for row, digit in enumerate(classes):
        images[row, :, digit] += 150
    return images.astype(np.uint8)


def test_more_digits_are_scored_and_held_against_the_papers_level(
    give: Give, tmp_path: Path
) -> None:
    parts: dict[str, list[str]] = {"train": [], "test": []}
    classes = []
    for part, each in (("train", 120), ("test", 4)):
        for digit in range(10):
            parts[part] += [f"{part}/{digit}-{place}" for place in range(each)]
            classes += [digit] * each
    items = (*parts["train"], *parts["test"])
    study = small(
        "mnist-curve",
        arms=[{"per_class": [50, 100]}],
        controls=["50 a class"],
        training__epochs=4,
        training__learning_rate=3e-3,
    )
    original = hard_labels(items, tuple("0123456789"), np.array(classes))
    give(
        StudyData(
            study,
            Examples(items, bright_columns(classes)),
            labels={"original": original},
            parts={name: tuple(mine) for name, mine in parts.items()},
        )
    )

    run = run_study(study, tmp_path)

    accuracy = clean_scores(run, "accuracy")
    verdicts = {one.claim.sentence: one.verdict for one in run.claims}
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert set(accuracy) == {("50 a class", "original"), ("100 a class", "original")}
    assert min(accuracy.values()) > 0.9
    level = differences(run, "accuracy")["50 a class", "an accuracy of 0.945"]
    assert level.value == pytest.approx(accuracy["50 a class", "original"] - 0.945)
    more = "Accuracy is higher with {} digits of each class than with {}."
    assert verdicts[more.format(150, 100)] == "not testable here"
    assert verdicts[more.format(100, 50)] != "not testable here"
    assert "Against the number of digits" in page
    assert "paper 0.8958" in page


@pytest.mark.usefixtures("no_report")
def test_label_sets_are_crossed_and_entropies_held_against_those_of_networks(
    give: Give, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    items, near = tuple(map(str, range(1500))), tuple(f"train/{place}" for place in range(20))
    classes = [place % 10 for place in range(1500)]
    original = hard_labels(items, CLASSES, np.array(classes))
    votes = LabelSet(items, CLASSES, 0.9 * original.probs + 0.1 * rng.dirichlet([0.3] * 10, 1500))
    soft = LabelSet(items[:60], CLASSES, rng.dirichlet([0.5] * 10, size=60))
    study = small(
        "informativeness-labels", arms=[HARD, HIGH, MODES], crossed=[HARD, HIGH], ladders=[]
    )
    give(
        StudyData(
            study,
            Examples((*items, *near), bright_columns([*classes, *classes[:20]])),
            labels={
                "original": original,
                **label_sets(original, votes, soft),
                NEAR: hard_labels(near, CLASSES, np.array(classes[:20])),
            },
            parts={NEAR: near},
        )
    )

    run = run_study(study, tmp_path)

    loss = clean_scores(run, "cross_entropy")
    sets = ("CIFAR-10H", HARD, "CIFAR-10S+hard", "label smoothing, low", HIGH, PEOPLE_S, NEAR)
    assert set(loss) == {(arm, against) for arm in study.arm_names for against in sets}
    assert loss[HIGH, HIGH] < loss[HARD, HIGH]
    apart = differences(run, "entropy_distance")
    assert set(apart) == {(HIGH, HARD)}  # modes are no label set of the paper
    assert apart[HIGH, HARD].against == "own labels"
    entropies = run.tables["entropies"]
    labels = entropies.filter(arm=HIGH, source="labels")["entropy"].to_numpy()
    assert labels == pytest.approx(np.full(500, scipy_entropy([0.8, *[0.2 / 9] * 9])))
    first = distance(entropies, HIGH) - distance(entropies, HARD)
    assert min(np.abs(ends_of_two_seeds(apart[HIGH, HARD]) - first)) == pytest.approx(0, abs=1e-6)


def distance(entropies: pl.DataFrame, arm: str) -> float:
    """Wasserstein's, of as many values each: the mean distance of the sorted ones."""
    sides = (entropies.filter(arm=arm, source=source) for source in ("labels", "model"))
    first, second = (np.sort(side["entropy"].to_numpy()) for side in sides)
    return float(np.abs(first - second).mean())


def ends_of_two_seeds(one: Estimate) -> np.ndarray:
    """The values of both seeds, from their mean and interval: t(0.975, 1) = 12.706 half ranges."""
    assert one.low is not None
    assert one.high is not None
    half = (one.high - one.low) / 2 / 12.7062047
    return np.array([one.value - half, one.value + half])


@pytest.mark.parametrize(
    ("name", "arms", "simulated"),
    [
        ("mixing-augment", [{"added": ["mixup labels", "separate λ_h + ω"]}], set()),
        (
            "mixing-full",
            [
                {"mix": "Mix-MaxEnt", "labels": SIMULATED_SOFT},
                {"mix": "Ent-WC", "curve": "τ"},
            ],
            {f"Mix-MaxEnt, {SIMULATED_SOFT}"},
        ),
    ],
)
def test_mixing_says_which_of_its_numbers_are_simulated(
    give: Give,
    tmp_path: Path,
    name: str,
    arms: list[dict[str, Any]],
    simulated: set[str],
) -> None:
    study = small(
        name,
        arms=arms,
        networks=["cnn-3"],
        training__epochs=1,
        training__batch_size=8,
        training__milestones=[1],
        corruptions=["contrast"],
    )
    study = study.model_copy(update={"controls": study.arm_names[:1]})
    give(mixed_data(study, with_soft=bool(simulated)))

    run = run_study(study, tmp_path)

    scores = [one for one in run.estimates.scores if one.network]
    assert "failed" not in run.tables
    assert {one.arm for one in scores} == set(study.arm_names)
    assert {one.arm for one in scores if one.simulated} == simulated
    assert {one.attack for one in scores} == {"", "fgsm", "contrast"}
    assert "corrupted" in {one.stratum for one in scores}
    assert run.simulated == bool(simulated)
    assert ("mixes" in run.tables["arms"].columns) == (name == "mixing-augment")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ('class="banner">Simulated' in page) == bool(simulated)


def mixed_data(study: Study, *, with_soft: bool) -> StudyData:
    """24 small images to learn and 9 to test, of three classes, and answers about 18 mixes."""
    rng = np.random.default_rng(0)
    classes = ("cat", "dog", "frog")
    train = tuple(f"a{place}" for place in range(24))
    items = (*train, *(f"z{place}" for place in range(9)))
    images = rng.integers(256, size=(len(items), 16, 16, 3)).astype(np.uint8)
    votes = LabelSet(items, classes, rng.dirichlet((1, 1, 1), size=len(items)))
    simulated = (Step("answers of nobody", simulated=True),)
    soft = LabelSet(train, classes, rng.dirichlet((1, 1, 1), len(train)), provenance=simulated)
    mixes = tuple(
        Mix(f"a{3 * row + one}", f"a{3 * row + two}", classes[one], classes[two], share)
        for one, two in ((0, 1), (0, 2), (1, 2))
        for row in (0, 1)
        for share in (0.25, 0.5, 0.75)
    )
    about = np.repeat(np.arange(len(mixes)), 2)
    seen = np.array([mixes[place].coefficient for place in about])
    seen = np.clip(seen + rng.normal(0, 0.1, size=len(about)), 0, 1)
    who = np.tile([0, 1], len(mixes))
    return StudyData(
        study,
        Examples(items, images),
        labels={
            "original": hard_labels(items, classes, np.arange(len(items)) % 3),
            "CIFAR-10H": votes,
            **({SIMULATED_SOFT: soft} if with_soft else {}),
        },
        parts={"train": train, "test": items[24:]},
        percepts=Percepts(mixes, ("p", "q"), about, who, seen, rng.random(len(about))),
    )
