"""What labels and networks know of similarities that people rated, where these are known."""

import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from scipy.stats import pearsonr, spearmanr

from sfumato.errors import DataError
from sfumato.judgments.comparisons import COMPARISON_QUESTIONS, Comparisons
from sfumato.labels.alter import smooth
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.signals import entropy
from sfumato.labels.simulate.crowd import gaussian_clusters
from sfumato.learn.examples import as_tensor
from sfumato.learn.train import restore_network
from sfumato.scores import Estimates
from sfumato.stats import cosines
from sfumato.studies.data import Findings, Predictions, StudyData
from sfumato.studies.measures.similarity import NOT_LEARNT, RATED, similarity
from sfumato.studies.run import run_study
from sfumato.studies.sources import load_data
from sfumato.studies.study import read_study, study_from
from sfumato.studies.trainings import splits_of

SETS = ("original", "soft", "smoothed more", "noise")


def rated(items: tuple[str, ...], alike: np.ndarray) -> Comparisons:
    """Everybody's rating of every pair, on the scale from 0 to 6."""
    scaled = 6 * (alike - alike.min()) / np.ptp(alike)
    rows = [
        (items[a], items[b], scaled[a, b], "first")
        for a, b in combinations(range(len(items)), 2)
    ]  # fmt: skip
    table = pl.DataFrame(rows, schema=["first", "second", "rating", "view"], orient="row")
    return Comparisons(
        COMPARISON_QUESTIONS["pairs"],
        table.with_columns(
            pl.lit(None, pl.String).alias("annotator"),
            pl.lit(None, pl.Float64).alias("seconds"),
            pl.lit(None, pl.Int64).alias("order"),
        ).select("first", "second", "rating", "annotator", "seconds", "order", "view"),
    )


@pytest.fixture(scope="module")
def found() -> tuple[StudyData, Findings]:
    rng = np.random.default_rng(0)
    world = gaussian_clusters(items=40, classes=6, dimensions=3, rng=rng)
    soft, items = world.soft, world.soft.items
    hard = hard_labels(items, soft.classes, soft.probs.argmax(axis=1))
    study = study_from(
        {"name": "alike", "title": "Alike", "arms": list(SETS), "networks": ["lenet"],
         "controls": ["original"], "draws": 100}
    )  # fmt: skip
    labels = {
        "original": hard,
        "soft": soft,
        "smoothed more": smooth(hard, 0.4),
        "noise": LabelSet(items, soft.classes, rng.dirichlet(np.ones(6), size=40)),
    }
    data = StudyData(study, labels=labels, ratings=rated(items, cosines(world.positions)))
    return data, similarity(data, Predictions())


def value(found: Findings, metric: str, arm: str, second: str = "") -> float:
    (one,) = Estimates.of(found.estimates).filter(metric=metric, arm=arm, second=second)
    return one.value


def test_soft_labels_recover_rated_similarities_and_smoothing_adds_nothing(
    found: tuple[StudyData, Findings],
) -> None:
    _, one = found
    rho = {name: value(one, "recovered_similarity", name) for name in SETS}

    assert rho["soft"] > 0.7 > rho["original"] > 0.1
    assert rho["smoothed more"] == rho["original"]  # the same order of classes, the same places
    assert abs(rho["noise"]) < 0.2
    assert value(one, "recovered_similarity", "soft", "original") == pytest.approx(
        rho["soft"] - rho["original"]
    )


def test_wrong_comparisons_and_recovery_go_together(found: tuple[StudyData, Findings]) -> None:
    data, one = found
    wrong = [value(one, "similarity_error_rate", name) for name in SETS]
    rho = [value(one, "recovered_similarity", name) for name in SETS]

    assert wrong[SETS.index("noise")] == pytest.approx(0.5, abs=0.06)
    table = one.tables["similarity"]
    assert table["labels"].to_list() == list(SETS)
    assert table["wrong"].to_list() == wrong
    assert table["mean_entropy"].to_list() == pytest.approx(
        [entropy(data.labels[name]).mean() for name in SETS]
    )
    # hard and smoothed labels are one point: three points have no line worth telling
    assert not len(Estimates.of(one.estimates).filter(metric="pearson_error_recovered"))
    assert pearsonr(wrong, rho).statistic < -0.9


def test_four_different_sets_have_a_line(found: tuple[StudyData, Findings]) -> None:
    data, _ = found
    soft = data.labels["soft"]
    noise = np.random.default_rng(1).dirichlet(np.ones(6), size=40)
    blurred = LabelSet(soft.items, soft.classes, (soft.probs + noise) / 2)
    sets = {**data.labels, "smoothed more": blurred}

    one = similarity(StudyData(data.study, labels=sets, ratings=data.ratings), Predictions())

    wrong = [value(one, "similarity_error_rate", name) for name in SETS]
    rho = [value(one, "recovered_similarity", name) for name in SETS]
    assert value(one, "pearson_error_recovered", "") == pytest.approx(
        pearsonr(wrong, rho).statistic
    )


def test_intervals_are_over_items_and_a_study_without_ratings_has_none(
    found: tuple[StudyData, Findings],
) -> None:
    data, one = found
    rows = Estimates.of(one.estimates).filter(metric="recovered_similarity", arm="soft", second="")

    (row,) = rows
    assert row.over == "items"
    assert row.low is not None and row.high is not None
    assert row.low < row.value < row.high
    assert row.items == 40
    assert similarity(StudyData(data.study, labels=data.labels), Predictions()).estimates == ()


def test_ratings_of_other_items_are_refused(found: tuple[StudyData, Findings]) -> None:
    data, _ = found
    ratings = rated(("x", "y", "z"), np.eye(3))

    with pytest.raises(DataError, match=r"0 items with rated pairs .* first rated item is 'x'"):
        similarity(StudyData(data.study, labels=data.labels, ratings=ratings), Predictions())


def test_networks_are_compared_by_what_their_last_layer_reads(
    own_study: Path, tmp_path: Path
) -> None:
    """From files alone: a label set, ratings, a run; and the same number by a hook on the head."""
    folder = tmp_path / "own"
    shutil.copytree(own_study.parent, folder)
    items = tuple(f"p{place}" for place in range(60))
    bright = np.arange(60) % 2 == 0
    probs = np.where(bright, 0.8, 0.2)
    mine = LabelSet(items, ("light", "dark"), np.stack([probs, 1 - probs], axis=1))
    write_labels(mine, folder / "mine.csv")
    pairs = ["first,second,rating"]
    for a, b in combinations(range(20), 2):
        pairs.append(f"p{a},p{b},{5 if bright[a] == bright[b] else 1}")
    (folder / "ratings.csv").write_text("\n".join(pairs) + "\n", encoding="utf-8")
    changes = {
        "own.sets": {"mine": "mine.csv"}, "own.ratings": "ratings.csv", "seeds": 2, "fgsm": [],
        "arms": ["original", "mine"], "measures": ["scores", "similarity"], "corruptions": [],
    }  # fmt: skip
    study = read_study(folder / own_study.name, changes=changes)

    run = run_study(study, tmp_path / "run")

    told = run.estimates.filter(metric="network_similarity", arm="mine")
    assert set(told.table["part"]) == {RATED, NOT_LEARNT}
    assert (run.folder / "figures" / "similarity.svg").is_file()
    assert "Similarities that people rated" in (run.folder / "report.html").read_text()
    expected = [_by_hook(study, seed, run.folder, NOT_LEARNT) for seed in range(2)]
    (one,) = told.filter(part=NOT_LEARNT)
    assert one.value == pytest.approx(np.mean(expected), abs=1e-6)


def _by_hook(study, seed: int, folder: Path, part: str) -> float:  # type: ignore[no-untyped-def]
    from safetensors.numpy import load_file

    data = load_data(study, None)
    assert data.examples is not None and data.ratings is not None
    learnt = set(splits_of(data, seed)[0].train)
    items = tuple(f"p{place}" for place in range(20) if f"p{place}" not in learnt)
    path = next((folder / "models").rglob(f"*mine*/seed-{seed}.safetensors"))
    shape = data.examples.image_shape
    network = restore_network("simple-ffn", shape, ("light", "dark"), load_file(path))
    seen: list[torch.Tensor] = []
    head = network.network.get_submodule("head")
    head.register_forward_hook(lambda _m, given, _o: seen.append(given[0]))
    with torch.no_grad():
        network.eval()(as_tensor(data.examples.take(items)))
    vectors = seen[0].double().numpy()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    upper = np.triu_indices(len(items), k=1)
    number = [int(item[1:]) for item in items]
    same = np.equal.outer(np.array(number) % 2, np.array(number) % 2)[upper]
    return float(spearmanr((unit @ unit.T)[upper].round(9), same).statistic)
