"""A dry run tries every arm and network on a few images and keeps nothing."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from sfumato.cli.commands import app
from sfumato.errors import DataError
from sfumato.labels.labelset import LabelSet
from sfumato.learn.cost import training_cost
from sfumato.learn.examples import Examples
from sfumato.learn.folds import k_folds
from sfumato.learn.mixing import Augmenting
from sfumato.learn.train import Recipe
from sfumato.studies.comparison import dry, families, run, setting
from sfumato.studies.comparison.cell import train_and_test
from sfumato.studies.comparison.dry import dry_run_comparison
from sfumato.studies.comparison.setting import ArmKind, Comparison, Family, Known, Target
from sfumato.studies.dry import dry_run
from sfumato.studies.shipped import shipped_study
from sfumato.studies.study import Study
from sfumato.studies.trial import DryRun, Planned, few_items

ITEMS = tuple(f"i{place}" for place in range(60))
BEFORE = tuple(f"b{place}" for place in range(20))
MIXES = tuple(f"m{place}" for place in range(7))
CLASSES = ("light", "dark")


def pictures(items: tuple[str, ...]) -> tuple[Examples, LabelSet]:
    light = np.arange(len(items)) % 2 == 0
    pixels = np.random.default_rng(0).integers(120, size=(len(items), 8, 8, 1))
    images = pixels + np.where(light, 120, 0)[:, None, None, None]
    labels = LabelSet(items, CLASSES, np.stack([light, ~light], axis=1))
    return Examples(items, images.astype(np.uint8)), labels


def load(folder: Path | None) -> Known:
    examples, original = pictures(ITEMS)
    soft = LabelSet(ITEMS, CLASSES, original.probs * 0.8 + 0.1)
    labels = {"original": original, "soft": soft}
    return Known(examples, labels, pretraining=pictures(BEFORE), missing=("No people.",))


def soft(known: Known, split: object, seed: int) -> Target:
    return Target(known.labels["soft"])


ARMS = {
    "pretrained": ArmKind(
        "", lambda known, split, seed: Target(known.labels["soft"], use="as pretrained")
    ),
    "soft": ArmKind("", soft),
    "mixes": ArmKind(
        "",
        lambda known, split, seed: Target(
            known.labels["soft"], augmenting=Augmenting(*pictures(MIXES))
        ),
    ),
    "broken": ArmKind("", lambda known, split, seed: Target(known.labels["soft"], "one annotator")),
}
TINY = Comparison(
    name="lights",
    title="Light and dark",
    about="",
    family="lights",
    arms=("pretrained", "soft", "mixes"),
    controls=("soft",),
    networks=("simple-ffn", "deeper-ffn"),
    training=Recipe("simple-ffn", epochs=50, batch_size=16),
    pretraining=Recipe("simple-ffn", epochs=30),
    seeds=4,
    folds=3,
    fgsm=(8,),
    pgd=(4,),
)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    family = Family(
        "",
        load,
        ARMS,
        lambda known, comparison, seed: k_folds(
            ITEMS, 3, selection="none", rng=np.random.default_rng(seed)
        ),
        lambda known, split: [
            setting.Test("test", {"soft": known.labels["soft"].take(split.test)}, attacked="soft")
        ],
    )
    monkeypatch.setitem(families.FAMILIES, "lights", family)
    yield


def test_every_arm_is_tried_with_every_network_in_one_fold() -> None:
    stages: list[str] = []

    found = dry_run_comparison(TINY, data=None, stage=stages.append)

    assert found.tried == 3 * 2
    assert [one.network for one in found.planned] == ["simple-ffn", "deeper-ffn"]
    assert stages[1:] == ["A batch through simple-ffn", "A batch through deeper-ffn"]


def test_full_run_is_counted_in_trainings_epochs_and_images() -> None:
    one, _ = dry_run_comparison(TINY, data=None).planned

    # the arm as pretrained learns nothing: two arms, four seeds, three folds, and pretraining
    assert one.trainings == 2 * 4 * 3 + 1
    assert one.epochs == 24 * 50 + 30
    # of 60 images 40 are learnt in a fold, and with the mixes seven more
    assert one.presentations == 12 * 50 * 40 + 12 * 50 * 47 + 30 * 20


def test_only_two_images_are_learnt_tested_and_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    whole = train_and_test

    def watched(**inputs):  # type: ignore[no-untyped-def]
        seen.append(inputs)
        return whole(**inputs)

    watched.__qualname__ = "watched"
    monkeypatch.setattr(run, "train_and_test", watched)

    dry_run_comparison(TINY, data=None)

    for one in seen:
        assert (one["recipe"].epochs, len(one["split"].train)) == (1, 2)
        assert {len(items) for items in one["parts"].values()} == {2}
        assert {len(labels) for labels in one["attacked"].values()} == {2}
        assert max(attack.iterations for attack in one["attacks"]) <= 2
        assert one["start"]
    assert {len(one["target"].augmenting) for one in seen if one["target"].augmenting} == {2}


def test_arm_that_cannot_be_trained_is_found_out() -> None:
    with pytest.raises(DataError, match="one annotator"):
        dry_run_comparison(replace(TINY, arms=("soft", "broken")), data=None)


def test_arm_as_pretrained_needs_a_pretraining() -> None:
    with pytest.raises(DataError, match="no pretraining"):
        dry_run_comparison(replace(TINY, pretraining=None), data=None)


def test_few_items_are_of_one_class_in_every_part() -> None:
    known = load(None)
    split = k_folds(ITEMS, 3, rng=np.random.default_rng(0))[0]

    few = few_items(split, known.labels["original"])

    assert (len(few.train), len(few.validation), len(few.test)) == (2, 2, 2)
    labels = known.labels["original"].take((*few.train, *few.validation, *few.test))
    assert len(set(labels.probs.argmax(axis=1))) == 1


def test_hours_are_images_times_their_cost() -> None:
    cost = replace(training_cost("simple-ffn", classes=2, image_shape=(8, 8, 1)), seconds=0.5)
    one = Planned("simple-ffn", 3, 30, 7_200, replace(cost, operations=1e13))

    assert one.hours == pytest.approx(1)
    assert one.gpu_hours == pytest.approx(2)
    assert "Together" not in "\n".join(DryRun(1, (one,)).lines())
    assert "6 trainings, 60 epochs; 2.0 hours" in "\n".join(DryRun(1, (one, one)).lines())


def test_operations_of_a_layer_are_two_for_each_weight_three_times() -> None:
    cost = training_cost("simple-ffn", classes=2, image_shape=(8, 8, 1))

    # 64 pixels to 128 units to 2 classes; biases are added within the same step
    assert cost.operations == 3 * 2 * (64 * 128 + 128 * 2)
    assert cost.seconds > 0


def test_studies_of_trainings_can_be_tried_too() -> None:
    study = shipped_study("digits")
    assert isinstance(study, Study)
    small = replace(study, networks=("simple-ffn",), corruptions=(), pgd=(8,), fgsm=(4,))

    found = dry_run(small, data=None)

    assert found.tried == len(study.arms)
    assert found.planned[0].trainings == study.seeds * len(study.arms)


def test_studies_without_trainings_say_so(tmp_path: Path) -> None:
    for name in ("hmix", "cifar10h-rescore"):
        (told,) = dry_run(shipped_study(name), data=None).lines()
        assert "trains nothing" in told


def test_dry_run_on_the_command_line_keeps_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sfumato.cli.run._study", lambda name, size: TINY)

    result = CliRunner().invoke(app, ["run", "lights", "--dry-run"], catch_exceptions=False)

    assert result.exit_code == 0
    assert "Tried 6 trainings of one batch of 2 images; nothing was kept." in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_pretraining_as_it_is_gives_the_same_beliefs_in_every_training() -> None:
    start = dry._started(TINY, load(None), "simple-ffn")
    small = replace(
        TINY, arms=("pretrained",), controls=(), networks=("simple-ffn",), fgsm=(), pgd=()
    )
    family = families.FAMILIES["lights"]
    known = load(None)
    plans = run.planned_trainings(small, family, known)
    results = [
        cell.function(**cell.inputs)
        for cell in (run.cell_of(small, known, plan, start) for plan in plans)
    ]

    believed: dict[str, NDArray[np.float32]] = {}
    for plan, result in zip(plans, results, strict=True):
        assert result.scores["history"] == []
        for item, row in zip(plan.split.test, result.arrays["test"], strict=True):
            assert row == pytest.approx(believed.setdefault(item, row), abs=1e-6)
    assert len(believed) == 60
