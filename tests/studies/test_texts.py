"""Studies of texts: encoders see only what is learnt, sets are learnt on their own."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.errors import DataError
from sfumato.learn.model import Model
from sfumato.studies import trainings
from sfumato.studies.cell import TextExamples
from sfumato.studies.claims import read_claims
from sfumato.studies.run import run_study
from sfumato.studies.sources import load_data
from sfumato.studies.study import Study, read_study
from sfumato.studies.trainings import plan_trainings, splits_of

WORDS = (("sunny", "bright", "warm"), ("rainy", "grey", "cold"))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """60 sentences, three annotators each, the third of whom errs on every fifth."""
    rng = np.random.default_rng(0)
    items = [f"t{row}" for row in range(60)]
    texts = [f"A {rng.choice(WORDS[row % 2])} day, number {row}." for row in range(60)]
    pl.DataFrame({"item": items, "premise": texts, "hypothesis": ["It is nice."] * 60}).write_csv(
        tmp_path / "texts.csv"
    )
    votes = [
        (item, who, ("yes", "no")[(row + (who == "eve" and row % 5 == 0)) % 2])
        for row, item in enumerate(items)
        for who in ("ann", "bob", "eve")
    ]
    pl.DataFrame(votes, schema=["item", "worker", "label"], orient="row").write_csv(
        tmp_path / "votes.csv"
    )
    (tmp_path / "study.toml").write_text(
        """
name = "weather"
title = "Nice weather"
arms = ["majority", "soft", "one annotator", "smoothed", { labels = "soft", mix = "mixup" }]
controls = ["majority"]
networks = ["mlp", "words"]
seeds = 2
measures = ["scores", "references", "constant", "modes", "data_maps", "convergence"]
draws = 100

[own]
texts = "texts.csv"
text = ["premise", "hypothesis"]
judgments = "votes.csv"
format = "crowd"

[heads.words]
network = "linear"
weight_decay = 1e-4

[training]
published = ""
epochs = 3
learning_rate = 1e-2
""",
        encoding="utf-8",
    )
    return tmp_path / "study.toml"


def changed(own: Path, **changes: object) -> Study:
    return read_study(own, changes=changes)


@pytest.mark.check
def test_study_of_texts_runs_with_every_target_and_its_models_read_texts(
    own: Path, tmp_path: Path
) -> None:
    run = run_study(read_study(own), tmp_path / "run")

    found = run.estimates.filter(metric="cross_entropy", stratum="all", second="")
    assert {(one.arm, one.network) for one in found} == {
        (arm, network) for arm in run.study.arm_names for network in ("mlp", "words")
    }
    assert len(run.estimates.filter(metric="constant_predictor")) == 2  # people, majority has none
    assert "the items are texts" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    model = Model.load(tmp_path / "run" / "models" / "words" / "soft" / "seed-0")
    assert model.network == "linear"
    beliefs = model.predict(tmp_path / "texts.csv")
    stored = pl.read_parquet(tmp_path / "run" / "predictions/words/soft/seed-0/test.parquet")
    ours = beliefs.take(stored["item"].to_list()).to_polars()
    assert np.abs(ours["yes"].to_numpy() - stored["yes"].to_numpy()).max() < 1e-6


def test_encoder_of_a_training_is_fitted_to_its_own_items(own: Path) -> None:
    data = load_data(read_study(own), None)
    (split,) = splits_of(data, 0)
    assert data.texts is not None
    examples = TextExamples.of(data.texts, "tf-idf")

    vectors = examples.vectors(split.train, split.test)

    known = " ".join(data.texts[item]["premise"] for item in split.train).lower()
    assert vectors.encoder is not None
    terms = vectors.encoder.settings()["terms"][0]
    assert all(term.strip() in f" {known.lower()} " for term in terms)
    other = examples.vectors(split.train[:5], split.test)
    assert other.shape[0] < vectors.shape[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fgsm": [8]}, "attacks and corruptions change pictures"),
        ({"corruptions": ["contrast"]}, "attacks and corruptions change pictures"),
        ({"networks": ["lenet"]}, "'lenet' learns images; the items of this study are texts"),
        ({"own.text": ["premis"]}, "no column 'premis'"),
    ],
)
def test_what_needs_pictures_is_refused(own: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_data(changed(own, **change), None)


def test_every_set_of_lewidi_is_learnt_and_tested_on_its_own(data_folder: Path) -> None:
    study = read_study("lewidi-2023", changes={"seeds": 1})
    data = load_data(study, data_folder)

    splits = splits_of(data, 0)

    assert [len(split.train) for split in splits] == [784 + 168, 657 + 141, 2398 + 812]
    assert [len(split.test) for split in splits] == [168, 145, 840]
    for split, name in zip(splits, ("HS-Brexit", "ArMIS", "ConvAbuse"), strict=True):
        (test,) = trainings.tests_of(data, split)
        assert test.part == name and test.items == split.test
        assert all(item.startswith(f"{name}/") for item in (*split.train, *split.test))
    assert len(plan_trainings(data)) == 3 * len(study.arms) * len(study.networks)
    with pytest.raises(DataError, match="needs folds = 3, not 2"):
        load_data(study.model_copy(update={"folds": 2}), data_folder)


@pytest.mark.check
def test_lewidi_reaches_the_baselines(data_folder: Path, tmp_path: Path) -> None:
    from sfumato.studies.run import Runner

    study = read_study("lewidi-2023", changes={"seeds": 1, "networks": ["tf-idf linear"]})
    study = study.model_copy(update={"arms": study.arms[1:2], "controls": ()})

    run = run_study(study, tmp_path / "run", Runner(data=data_folder))

    losses = {
        one.part: one.value
        for one in run.estimates.filter(metric="cross_entropy", stratum="all", arm="soft")
    }
    wanted = {"HS-Brexit": 0.326, "ArMIS": 0.588, "ConvAbuse": 0.271}  # printed to three decimals
    assert {name: round(losses[name], 3) <= loss for name, loss in wanted.items()} == dict.fromkeys(
        wanted, True
    )
    single = {
        one.part: one.value for one in run.estimates.filter(metric="person_log_loss", arm="soft")
    }
    assert all(single[part] < losses[part] - 0.005 for part in wanted)  # people do differ
    assert single["HS-Brexit"] <= 0.292
    floors = {
        one.part: one.value for one in run.estimates.filter(metric="entropy_floor", stratum="all")
    }
    assert floors["HS-Brexit"] == pytest.approx(0.181, abs=1e-3)
    constants = {one.part: one.value for one in run.estimates.filter(metric="constant_predictor")}
    assert constants["HS-Brexit"] == pytest.approx(0.388, abs=1e-3)
    assert constants["ConvAbuse"] == pytest.approx(0.453, abs=1e-3)


def test_a_scale_and_several_labels_of_lewidi_2025(data_folder: Path) -> None:
    data = load_data(read_study("lewidi-2025"), data_folder)
    (split,) = splits_of(data, 0)
    assert (len(split.train), len(split.test)) == (450, 50)
    assert data.people.values == tuple(range(-5, 6)) == data.crowds["people"].values
    with np.errstate(all="raise"):
        assert np.allclose(data.people.probs * 4, np.rint(data.people.probs * 4))  # four people

    data = load_data(read_study("lewidi-2025-nli"), data_folder)
    assert data.people.classes == ("no", "yes")
    published = json.loads(
        (data_folder / "lewidi/2025/VariErrNLI/VariErrNLI_test.json").read_text(encoding="utf-8")
    )
    for number, record in published.items():
        for name, shares in record["soft_label"].items():
            yes = data.people[f"VariErrNLI {name}/test-{number}"]["yes"]
            assert yes == pytest.approx(shares["1"], abs=0.01)


def test_synthetic_labels_of_chaosnli_are_of_the_same_pairs(data_folder: Path) -> None:
    data = load_data(read_study("chaosnli-audit"), data_folder)
    assert len(data.people) == 3083 == len(data.labels["roberta-base"])
    assert data.people.items == data.labels["roberta-base"].items
    assert any("30 of 3,113 pairs are left out" in note for note in data.missing)
    assert len(read_claims("chaosnli-audit")) > 30


@pytest.mark.check
def test_lewidi_2025_reaches_the_baselines(data_folder: Path, tmp_path: Path) -> None:
    from sfumato.studies.run import Runner

    changes = {"seeds": 1, "networks": ["sentences linear"]}
    study = read_study("lewidi-2025", changes=changes)
    study = study.model_copy(update={"arms": study.arms[1:2], "controls": ()})
    run = run_study(study, tmp_path / "run", Runner(data=data_folder))
    found = {
        (one.metric, one.arm): one.value
        for one in run.estimates.filter(stratum="all")
        if one.metric in ("normalised_distance", "wasserstein")
    }
    assert found["normalised_distance", "soft"] <= 0.202
    assert found["wasserstein", "soft"] <= 2.26
    assert found["wasserstein", "constant predictor"] > 3
