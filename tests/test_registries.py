"""One contract for every table of names that a person types.

Each entry of a registry has the signature of its kind, a sentence about itself, a law that it
keeps, a place in the documentation, and is found by its name: a wrong name gets the nearest. A new
entry is held to all of it by standing in its table; a new table that ``names.find`` reads has to be
added here, or to ``OTHERS`` with a reason.
"""

import ast
import inspect
import json
import runpy
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
import torch

from sfumato.cli.elicit import DOUBTS, LOGS
from sfumato.cli.help import CHOICES
from sfumato.data import registry as data_registry
from sfumato.data.decode import DECODERS, SUBSETS
from sfumato.data.registry import DATASETS, find_dataset
from sfumato.elicit.admin.acts import ACTS
from sfumato.elicit.design.presets import PRESETS, preset_study
from sfumato.elicit.export import BESIDE, SHAPES, write_judgments
from sfumato.elicit.live.views import ITEM_SORTS, PERSON_SORTS
from sfumato.errors import DataError, SfumatoError, UnknownName
from sfumato.evaluation.attacks import ATTACKS, run_attack
from sfumato.evaluation.corruptions import CORRUPTIONS, corrupt
from sfumato.evaluation.coverage import SCORES
from sfumato.evaluation.metrics import METRICS, metric_named
from sfumato.evaluation.models import Evaluation
from sfumato.evaluation.models import evaluate as evaluate_models
from sfumato.evaluation.multilabel import MULTI_LABEL_METRICS, score_multi_labels
from sfumato.evaluation.people import PERSON_METRICS, score_people
from sfumato.evaluation.trials import SEED_TESTS, pair_seeds
from sfumato.items.items import Items
from sfumato.items.load import load_items
from sfumato.judgments.comparisons import (
    COMPARISON_QUESTIONS,
    ComparisonQuestion,
    Comparisons,
    MixJudgments,
    comparison_question_from_json,
)
from sfumato.judgments.formats import FORMATS, Readable, read, write
from sfumato.judgments.formats.check import Contents
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.formats.texts import DELIMITERS
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.mixed import Mix
from sfumato.judgments.quality import RULES, rule_with
from sfumato.judgments.quality.rules import FINDING
from sfumato.judgments.question import ODDITIES, QUESTIONS, ask, question_from_json
from sfumato.judgments.repairs import REPAIRS, repair_table
from sfumato.labels import simulate as simulate_room
from sfumato.labels.aggregate import AGGREGATORS, aggregate
from sfumato.labels.build import DEFAULT_RECIPE, EACH_CLASS, RECIPES, build, build_classes
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.check import CHECKS, check
from sfumato.labels.labelset import CrowdLabels, LabelSet, hard_labels
from sfumato.labels.mixing import Curves, Percepts
from sfumato.labels.multilabel import MultiLabelSet
from sfumato.labels.simulate import SIMULATORS, simulate
from sfumato.labels.simulate.held_out import HOLD_OUT, HoldOut
from sfumato.labels.simulate.top_two import HABITS, HabitsName
from sfumato.learn.encoders import ENCODERS, make_encoder
from sfumato.learn.networks import NETWORKS, build_network
from sfumato.learn.recipe import (
    ALPHAS,
    MIXINGS,
    PUBLISHED,
    Mixing,
    published_mixing,
    published_recipe,
)
from sfumato.names import find
from sfumato.planning import annotators as planned_annotators
from sfumato.planning.annotators import expected_error_of_votes
from sfumato.planning.cost import UTILITIES, utility_named
from sfumato.planning.information import FORMS, NOISE, information, noisy
from sfumato.planning.power import BETWEEN
from sfumato.planning.worlds import LABELS as WORLD_LABELS
from sfumato.planning.worlds import draw_world, scores_of
from sfumato.provenance import Step, is_simulated
from sfumato.reporting.datasheet import QUESTIONS_TO_THE_OWNER
from sfumato.reporting.evaluation import PLOTS, plot_evaluation
from sfumato.scores import COLUMNS, Estimate, Estimates, metric_words, metrics
from sfumato.studies.ambiguous import PICTURES, load_pictures
from sfumato.studies.claims import read_claims
from sfumato.studies.data import Findings, Predictions, RunFolder, StudyData
from sfumato.studies.measures import MEASURES
from sfumato.studies.pages import SECTIONS
from sfumato.studies.run import run_study
from sfumato.studies.sources import SOURCES, load_data
from sfumato.studies.study import SIZES, Arm, Size, Study, read_study, shipped_names, study_text
from sfumato.studies.trainings import ADDED, CURVES, LABELS, MIXES, PERSONS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TABLES = runpy.run_path(str(ROOT / "docs" / "site_pages.py"))["TABLES"]
"""What the site shows of registries, made when it is built."""
TEXT = "\n".join(
    [page.read_text(encoding="utf-8") for page in PAGES]
    + [table("formulas.md") for table in TABLES.values()]
)
CLASSES = ("cat", "dog", "deer")
ITEMS = tuple(f"i{place}" for place in range(12))

Signature = tuple[Callable[..., Any], tuple[str, ...]]
"""A function, and the names of parameters that it must have; nothing else may be needed."""


@dataclass(frozen=True)
class Registry:
    """A table of names, and what holds for each of them."""

    table: Mapping[str, Any]
    law: Callable[[str], None]
    reach: Callable[[str], object] | None = None
    """What somebody calls who types a name; None where words are only looked up."""
    about: Callable[[Any], str] | None = None
    """The sentence of an entry; None where it is values whose sentence is in the documentation."""
    calls: Callable[[Any], Iterable[Signature]] = lambda entry: ()


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# What entries are tried on: small, made up, the same each time.


def random_labels(seed: int, items: tuple[str, ...] = ITEMS) -> LabelSet:
    probs = rng(seed).dirichlet((0.5,) * len(CLASSES), len(items))
    steps = (Step("make up"),)
    return LabelSet(tuple(items), CLASSES, probs, provenance=steps, values=(1, 2, 3))


def answers_of(kind: str) -> list[Any]:
    """A sure answer and an unsure one."""
    match kind:
        case "choose-one":
            return ["cat", "dog"]
        case "top-two":
            sure = {"first": "cat", "first_percent": 100, "ruled_out": ["dog", "deer"]}
            unsure = {"first": "dog", "first_percent": 60, "second": "deer", "second_percent": 30}
            return [sure, {**unsure, "ruled_out": []}]
        case "sliders":
            return [{"cat": 1, "dog": 0, "deer": 0}, {"cat": 0.2, "dog": 0.5, "deer": 0.1}]
        case "top-class":
            return [{"cat": 1, "dog": 0}, {"cat": 0.2, "dog": 0.5}]
        case "sparse" | "distribution":
            return [{"cat": 1}, {"dog": 0.6, "deer": 0.4}]
        case "typicality":
            return [{"class": "cat", "typicality": 1}, {"class": "dog", "typicality": 0.4}]
        case "yes-no-unsure":
            words = ({"cat": "yes", "dog": "no"}, {"cat": "unsure", "dog": "yes"})
            return [{**said, "deer": "no"} for said in words]
        case "likely-set" | "ranking":
            return [["cat"], ["dog", "deer"]]
        case "confidence":
            return [
                {"choice": "cat", "confidence": "definitely"},
                {"choice": "dog", "confidence": "guessing"},
            ]
        case "rating" | "number":
            return [1, 2]
        case "multi-label":
            return [["cat"], {"cat": "unsure", "dog": "yes", "deer": "no"}]
        case "three-point":
            sure = dict.fromkeys(("lower", "best", "upper"), 100)
            return [sure, {"lower": 20, "best": 40, "upper": 70}]
        case "own-and-others":
            return [{"own": "cat", "others": "cat"}, {"own": "dog", "others": {"dog": 30}}]
    raise AssertionError(f"no answers to a question of the kind {kind!r} are made up here")


def classes_of(kind: str) -> tuple[str, ...]:
    return CLASSES[: 2 if kind == "three-point" else None]


def question_options(kind: str) -> dict[str, Any]:
    return {"subset": ["cat", "dog"]} if kind == "top-class" else {}


def judged(kind: str, **columns: Any) -> Judgments:
    """Two answers about each of two items, by two people."""
    said = [json.dumps(answer) for answer in answers_of(kind)]
    table = {
        "item": ["a", "a", "b", "b"],
        "annotator": ["ann", "bob", "ann", "bob"],
        "answer": [said[0], said[1], said[1], said[1]],
        **columns,
    }
    question = ask(kind, classes_of(kind), **question_options(kind))
    return Judgments(question, pl.DataFrame(table))


def votes() -> CrowdLabels:
    """Six people about twelve items, most of them right."""
    drawn = rng(3)
    item, annotator = np.divmod(np.arange(len(ITEMS) * 6), 6)
    chosen = np.where(drawn.random(len(item)) < 0.8, item % 3, drawn.integers(3, size=len(item)))
    people = tuple(f"p{place}" for place in range(6))
    rows = np.eye(3)[chosen]
    return CrowdLabels(ITEMS, people, CLASSES, item, annotator, rows, values=(1, 2, 3))


def readable(holds: str) -> Readable:
    """Something that a format holds."""
    match holds:
        case "judgments":
            return judged("choose-one")
        case "comparisons":
            table = pl.DataFrame({"first": ["a"], "second": ["b"], "rating": [1.0]})
            return Comparisons(COMPARISON_QUESTIONS["pairs"], table)
        case "mixes":
            told = {
                "mix": ["0.5 a + b"], "first_item": ["a"], "second_item": ["b"],
                "first_class": ["cat"], "second_class": ["dog"], "shown": [0.5],
                "annotator": ["ann"], "perceived": [0.4], "task": ["infer"],
            }  # fmt: skip
            return MixJudgments(pl.DataFrame(told))
    raise AssertionError(holds)


def percepts() -> Percepts:
    """Two people about mixes of every pair of classes at three shares."""
    mixes = [
        Mix(ITEMS[3 * row + first], ITEMS[3 * row + second], CLASSES[first], CLASSES[second], share)
        for first, second in ((0, 1), (0, 2), (1, 2))
        for row in (0, 1)
        for share in (0.25, 0.5, 0.75)
    ]
    about = np.repeat(np.arange(len(mixes)), 2)
    seen = np.array([mixes[place].coefficient for place in about])
    seen = np.clip(seen + rng(1).normal(0, 0.1, len(about)), 0, 1)
    who = np.arange(len(about)) % 2
    return Percepts(mixes, ("p", "q"), about, who, seen, np.full(len(about), 0.7))  # type: ignore[arg-type]


@cache
def small_study(**changes: Any) -> Study:
    return read_study("digits-table", changes=changes)


@cache
def small_data() -> StudyData:
    original = hard_labels(ITEMS, CLASSES, np.arange(len(ITEMS)) % 3)
    return StudyData(small_study(), labels={"people": random_labels(1), "original": original})


# Laws, a function for each kind of entry.


def in_a_folder(law: Callable[[str, Path], None]) -> Callable[[str], None]:
    """A law that needs a folder for files, with one that is gone afterwards."""

    def run(name: str) -> None:
        with TemporaryDirectory() as folder:
            law(name, Path(folder))

    return run


def formats_law(name: str, folder: Path) -> None:
    """What is written is read again; what is only read says so."""
    entry = FORMATS[name]
    assert len(entry.about) > 20
    assert set(name) <= {*string.ascii_lowercase, *string.digits, "-"}
    given = readable(entry.holds)
    path = folder / ("answers.json" if name == "peerannot" else "answers.csv")
    if entry.write is None:
        assert entry.about.endswith("read only")
        with pytest.raises(DataError, match="is only read"):
            write(given, path, name)
        return
    write(given, path, name)
    again = read(path, name, ReadOptions(classes=CLASSES if entry.holds == "judgments" else None))
    assert type(again) is type(given)
    for column in ("annotator", "answer", "rating", "perceived"):
        if column in given.table.columns and given.table[column].null_count() == 0:
            assert sorted(again.table[column]) == sorted(given.table[column])


def recipe_law(name: str) -> None:
    """Rows are distributions, for answers to every question that it reads."""
    recipe = RECIPES[name]
    assert recipe.kinds and set(recipe.kinds) <= QUESTIONS.keys()
    apart = ClassDistances(CLASSES, np.array([[0, 0.2, 0.7], [0.2, 0, 0.6], [0.7, 0.6, 0]]))
    for kind in recipe.kinds:
        if name in EACH_CLASS:
            each = build_classes(judged(kind), name).values()
            assert all(np.allclose(one.crowd.probs.sum(axis=1), 1) for one in each)
            continue
        crowd = build(
            judged(kind), name, distances=apart if "distances" in recipe.takes else None
        ).crowd
        assert "a" in crowd.items  # of "b" some questions leave the first choice open
        assert np.allclose(crowd.probs.sum(axis=1), 1)
        assert (crowd.probs >= 0).all()


def question_law(kind: str) -> None:
    """It can be asked, survives its file, and some recipe reads its answers."""
    plain = ask(kind, classes_of(kind), **question_options(kind))
    question = replace(plain, version="7", wording="Any?")
    assert question_from_json(question.to_json(), where="q") == question
    assert kind in RECIPES[DEFAULT_RECIPE[kind]].kinds


def comparison_law(kind: str) -> None:
    question = COMPARISON_QUESTIONS[kind]
    assert question.kind == kind
    assert comparison_question_from_json(question.to_json(), where="q") == question


def aggregator_law(name: str) -> None:
    """Labels of every item, whatever the order of rows."""
    crowd = votes()
    order = rng(5).permutation(len(crowd))
    shuffled = replace(
        crowd, item=crowd.item[order], annotator=crowd.annotator[order], said=crowd.said[order]
    )
    given = random_labels(2) if AGGREGATORS[name].reads == "votes and predictions" else None
    found, again = (
        aggregate(each, name, rng=rng(0), predictions=given).labels for each in (crowd, shuffled)
    )
    assert isinstance(found, LabelSet)
    assert (found.items, found.classes) == (ITEMS, CLASSES)
    assert np.abs(found.probs - again.take(ITEMS).probs).max() < 1e-8


def rule_law(name: str) -> None:
    """Nobody is found who answers with care, and what is found has always the same columns."""
    rule = RULES[name]
    assert (rule.name, bool(rule.version)) == (name, True)
    times = [4.0 + place for place in range(4)]
    careful = judged(
        "top-two", seconds=times, completed=[True] * 4, view=["check", "check", "first", "first"],
        gold=["cat", "dog", None, None],
    )  # fmt: skip
    found = rule.finds(careful, rule.settings)
    assert len(found.table) == 0
    assert dict(found.table.schema) == dict(FINDING)


def repair_law(name: str) -> None:
    """What needs no repair is left alone."""
    table = judged("top-two").table
    done = repair_table(table, name)
    assert not done.log
    assert done.table["answer"].equals(table["answer"])


def simulator_law(name: str) -> None:
    """So many answers as asked for, marked as made up, the same for the same seed."""
    simulator, labels = SIMULATORS[name], random_labels(4)
    people = simulator.by_parameters(labels, simulator.parameters, 3, rng())
    assert isinstance(people, simulator.model)
    found, again = (simulate(name, labels, per_item=2, annotators=3, rng=rng()) for _ in range(2))
    assert len(found) == 2 * len(labels)
    assert found.table.equals(again.table)
    assert is_simulated(found.provenance)
    assert all(step in found.provenance for step in labels.provenance)
    assert set(found.table["annotator"]) == {f"simulated-000{place}" for place in (1, 2, 3)}


def small_items(encoder: str) -> Items:
    if encoder == "efficientnet-lite0":
        return load_items(np.arange(128, dtype=np.uint8).reshape(2, 8, 8))
    return load_items({"0": "It rains.", "1": "It is wet."})


def encoder_law(name: str) -> None:
    """An item's vector does not depend on what else is encoded."""
    items = small_items(name)
    encoder = make_encoder(name, items)

    both, one = encoder.encode(items), encoder.encode(items.take(["1"]))

    assert both.kind == "vectors" and both.ids == items.ids
    assert np.abs(both["1"] - one["1"]).max() < 1e-5


def network_law(name: str) -> None:
    """Finite logits of the right shape for the smallest images that it takes."""
    side = NETWORKS[name].smallest_side
    network = build_network(name, classes=3, image_shape=(side, side, 3), seed=0).eval()
    with torch.no_grad():
        logits = network(torch.rand(2, 3, side, side, generator=torch.Generator().manual_seed(0)))
    assert logits.shape == (2, 3)
    assert torch.isfinite(logits).all()


def small_evaluation() -> Evaluation:
    return evaluate_models(
        random_labels(1), {"model": random_labels(2), "other": random_labels(3)}, draws=5
    )


def plot_law(name: str) -> None:
    drawing = PLOTS[name](small_evaluation())

    assert drawing.table.height and drawing.title and "<svg" in drawing.svg


def metric_law(name: str) -> None:
    """Within the range that its words state; the mean over items where it has values of them."""
    scorer = METRICS[name]
    assert scorer.name == name
    for seed in range(5):
        human, model = random_labels(seed), random_labels(seed + 100)
        value = scorer.overall(human, model)
        assert np.isnan(value) or scorer.metric.low <= value <= scorer.metric.high
        if scorer.per_item is not None:
            values = scorer.per_item(human, model)
            assert value == pytest.approx(float(np.nanmean(values)), nan_ok=True)


def person_metric_law(name: str) -> None:
    """Nothing to say of whoever knows each answer; within the range that its words state."""
    crowd = votes()
    found = score_people(
        crowd, {"known": crowd, "any": random_labels(1)}, metrics=[name], rng=rng(), draws=10
    )
    value = {row.arm: row.value for row in found}
    assert value["known"] == 0 < value["any"] <= metric_words(name).high


def multi_label_metric_law(name: str) -> None:
    """Least for people themselves; within the range that its words state."""
    human, model = (
        MultiLabelSet(ITEMS, CLASSES, rng(seed).random((len(ITEMS), 3))) for seed in (1, 2)
    )
    arms = {"people": human, "other": model}
    found = score_multi_labels(human, arms, metrics=[name], rng=rng(), draws=10)
    value = {row.arm: row.value for row in found}
    assert 0 <= value["people"] <= value["other"] <= metric_words(name).high


def words_law(name: str) -> None:
    """A range that is one, and a sentence."""
    metric = metric_words(name)
    assert metric.better in ("lower", "higher", "neither")
    assert metric.low < metric.high
    assert metric.title and metric.meaning.endswith(".")


def seed_test_law(name: str) -> None:
    """A p-value; no difference at all is none."""
    differences = np.array([0.1, 0.3, -0.1, 0.2, 0.25, 0.05])
    assert 0 <= SEED_TESTS[name](differences, rng()) <= 1
    assert SEED_TESTS[name](np.zeros(6), rng()) == 1.0


def corruption_law(name: str) -> None:
    """Shape, type and range stay, at the least strength and at the greatest."""
    pictures = rng(6).integers(256, size=(2, 32, 32, 3)).astype(np.uint8)
    for strength in (1, 5):
        made = corrupt(pictures, name, strength, rng=rng())
        assert (made.shape, made.dtype) == (pictures.shape, pictures.dtype)
        share = corrupt((pictures / 255).astype(np.float32), name, strength, rng=rng())
        assert share.min() >= 0 and share.max() <= 1 and share.dtype == np.float32


def attack_law(name: str) -> None:
    """No pixel moves further than the bound, and beliefs stay distributions."""
    published = ATTACKS[name]
    pictures = rng(7).integers(256, size=(4, 8, 8, 1)).astype(np.uint8)
    network = build_network("simple-ffn", classes=3, image_shape=(8, 8, 1), seed=0)
    attacked = run_attack(network, pictures, random_labels(1, ITEMS[:4]), published.attack)
    moved = np.abs(attacked.images.astype(float) - pictures.astype(float) / 255)
    assert moved.max() <= published.attack.epsilon_255 / 255 + 1e-6
    assert len(attacked.beliefs) == published.attack.iterations + 1
    assert all(np.allclose(beliefs.probs.sum(axis=1), 1) for beliefs in attacked.beliefs)


def published_law(name: str) -> None:
    """For a network that there is; rates drop before training ends."""
    recipe = published_recipe(name, network="resnet-8", seed=3)
    assert (recipe.network, recipe.seed) == ("resnet-8", 3)
    assert PUBLISHED[name].network in NETWORKS
    assert recipe.learning_rate > 0 and recipe.epochs > max((0, *recipe.milestones))


def mixing_law(name: str) -> None:
    assert isinstance(MIXINGS[name], Mixing)
    assert MIXINGS[name].alpha in ALPHAS[name]


def dataset_law(name: str) -> None:
    """What, whence, under which licence; files with a decoder, formats that there are."""
    dataset = DATASETS[name]
    assert dataset.name == name
    assert dataset.source and dataset.licence
    assert dataset.files or dataset.package
    assert len({Path(file.path).parts[0] for file in dataset.files}) <= 1  # below one folder
    assert all(count > 0 for count in dataset.items.values())
    assert dataset.images is None or dataset.images.kind in DECODERS
    assert {record.format for record in dataset.judgments.values()} <= FORMATS.keys()


def source_law(name: str) -> None:
    """Label sets by different names; without a folder of datasets a sentence, or data."""
    source = SOURCES[name]
    assert len(set(source.labels)) == len(source.labels)
    if name in ("digits", "worlds"):
        return  # they need no files
    with pytest.raises(DataError) as error:
        source.load(small_study().model_copy(update={"data": name}), None)
    assert str(error.value).endswith(".")


def measure_law(name: str) -> None:
    """Where nothing was trained it finds nothing, or what the labels alone tell."""
    found = MEASURES[name](replace(small_data(), study=_study_for(name)), Predictions())
    assert isinstance(found, Findings)
    table = Estimates.of(found.estimates).table  # every row has a source
    assert set(table["metric"]) <= metrics().keys()


def _study_for(measure: str) -> Study:
    return small_study().model_copy(update={"measures": (measure,)})


def section_law(name: str) -> None:
    """Nothing is shown of a run that found nothing."""
    folder = RunFolder(Path("nowhere"), small_study(), {"simulated": False, "missing": []})
    folder.__dict__.update(estimates=Estimates.of([]), tables={}, pictures={}, claims=[])
    assert SECTIONS[name](folder) is None


def arm_labels_law(name: str) -> None:
    """Labels of the items asked for, in their order, over all classes."""
    items = ITEMS[3:9]
    found = LABELS[name][1](small_data(), items, rng())
    assert (found.items, found.classes) == (items, CLASSES)


def added_law(name: str) -> None:
    """A label for every mix that people judged."""
    known = percepts()
    found = ADDED[name][1](known, hard_labels(ITEMS, CLASSES, np.arange(12) % 3), rng())
    assert set(found.items) == set(known.items)
    assert np.allclose(found.probs.sum(axis=1), 1)


def curve_law(name: str) -> None:
    """Curves over the classes that rise from 0 to 1 for every pair."""
    found = CURVES[name][1](percepts(), CLASSES, rng())
    assert isinstance(found, Curves)
    assert found.classes == CLASSES


def mixes_law(name: str) -> None:
    assert MIXES[name] is None or MIXES[name] in MIXINGS.values()


def person_law(name: str) -> None:
    assert Arm(labels=name, shown=PERSONS[name][1]).labels == name


def study_law(name: str, folder: Path) -> None:
    """It reads in every size that it has, names what there is, and survives its file."""
    for size in sizes_of(name):
        study = read_study(name, size)
        assert study.size == size
        assert study.data in SOURCES
        assert set(study.measures) <= MEASURES.keys()
        assert set(study.sections) <= SECTIONS.keys()
        assert set(study.metrics) <= METRICS.keys()
        path = folder / f"{name}-{size}.toml"
        path.write_text(study_text(study, folder), encoding="utf-8")
        assert read_study(path) == study
    assert {claim.metric for claim in read_claims(name)} - {""} <= metrics().keys()


def sizes_of(name: str) -> list[Size]:
    found = []
    for size in SIZES:
        try:
            read_study(name, size)
        except DataError as error:
            assert f"has no size {size!r}" in str(error)
        else:
            found.append(size)
    assert "cpu" in found
    return found


def preset_law(name: str) -> None:
    """A study can be made of it, with rules that there are."""
    preset = PRESETS[name]
    options: dict[str, Any] = {"subset": ["cat", "dog"]} if preset.form == "top-class" else {}
    bare = preset.form in ("pairs", "triplets", "preference")
    classes = () if bare else classes_of(preset.form)
    study = preset_study(name, classes, options=options)
    assert (study.preset, study.form) == (name, preset.form)
    assert set(preset.rules) <= RULES.keys()
    assert preset.title and preset.wording


def shape_law(name: str) -> None:
    assert SHAPES[name].__doc__ or SHAPES[name] is write_judgments


def form_law(name: str) -> None:
    """It tells something, and not more than there is."""
    assert 0 < information(name, items=12, classes=5).ratio <= 1


def world_law(name: str) -> None:
    """Numbers for every item and class; those that were not asked are missing."""
    world = draw_world(items=6, classes=4, dimensions=2, rng=rng())
    table = scores_of(world, name, 2 if WORLD_LABELS[name].has_kept else None)
    assert table.shape == (6, 4)
    assert np.isfinite(table).any(axis=1).all()


def utility_law(name: str) -> None:
    """More of it is never worth less."""
    assert (np.diff(UTILITIES[name](np.linspace(0.05, 0.95, 19))) > 0).all()


def noise_law(name: str) -> None:
    """Without flips everything is left, and with more of them less."""
    left = [noisy(100, flipped, name) for flipped in (0, 0.1, 0.3, 0.5)]
    assert left[0] == 100
    assert left == sorted(left, reverse=True)


def error_law(name: str) -> None:
    """More people err less."""
    counts = np.array([[5, 1], [3, 3], [6, 0], [2, 4]])
    curve = expected_error_of_votes(counts, name, up_to=8, draws=5, rng=rng())
    assert (np.diff(curve.values) < 0).all() and curve.values.min() >= 0


def choice_law(choices: Any) -> Callable[[str], None]:
    def law(name: str) -> None:
        assert name in get_args(choices)

    return law


def picture_law(name: str) -> None:
    assert name.removesuffix("-test") in DATASETS


def nothing_more(name: str) -> None:
    """Words are all there is to it."""


def told(entry: tuple[str, Any]) -> str:
    return entry[0]


def first_sentence(function: Callable[..., Any]) -> str:
    return inspect.getdoc(function) or ""


REGISTRIES: dict[str, Registry] = {
    "format": Registry(
        FORMATS,
        in_a_folder(formats_law),
        lambda name: read(Path("answers.csv"), name, ReadOptions()),
        lambda entry: entry.about,
        lambda entry: [
            (entry.read, ("path", "options")),
            *([(entry.write, ("path",))] if entry.write else []),
        ],
    ),
    "kind of contents": Registry(
        CHECKS,
        choice_law(Contents),
        lambda name: check(Path(__file__), name),
        first_sentence,
        lambda entry: [(entry, ("path",))],
    ),
    "question": Registry(
        QUESTIONS, question_law, lambda name: ask(name, CLASSES), lambda entry: entry.about
    ),
    "kind of comparison": Registry(
        COMPARISON_QUESTIONS,
        comparison_law,
        lambda name: ComparisonQuestion(name, "Which?", None),  # type: ignore[arg-type]
        lambda entry: entry.wording,
    ),
    "quality rule": Registry(
        RULES,
        rule_law,
        rule_with,
        lambda entry: entry.about,
        lambda entry: [(entry.finds, ("judgments", "settings"))],
    ),
    "set of repairs": Registry(
        REPAIRS,
        repair_law,
        lambda name: repair_table(pl.DataFrame({"answer": ["{}"]}), name),
        lambda entry: entry.about,
        lambda entry: [(entry.function, ("answer",))],
    ),
    "oddity": Registry(ODDITIES, nothing_more, None, str),
    "recipe": Registry(
        RECIPES,
        recipe_law,
        lambda name: build(judged("choose-one"), name),
        lambda entry: entry.about,
        lambda entry: [(entry.complete, _recipe_parameters(entry.takes))],
    ),
    "aggregator": Registry(
        AGGREGATORS,
        aggregator_law,
        lambda name: aggregate(votes(), name, rng=rng()),
        lambda entry: entry.about,
        lambda entry: [(entry.run, ("rng", *entry.options))],
    ),
    "simulator": Registry(
        SIMULATORS,
        simulator_law,
        lambda name: simulate(name, random_labels(0), per_item=1, rng=rng()),
        lambda entry: entry.about,
        lambda entry: [
            (entry.by_parameters, ("labels", "given", "count", "rng")),
            (entry.function, ("per_item", "annotators", "rng")),
        ],
    ),
    "kind of habits": Registry(HABITS, choice_law(HabitsName)),
    "half to hold out": Registry(HOLD_OUT, choice_law(HoldOut)),
    "network": Registry(
        NETWORKS,
        network_law,
        lambda name: build_network(name, classes=3, image_shape=(8, 8, 1), seed=0),
        lambda entry: entry.about,
        lambda entry: [(entry.build, ("classes", "image_shape"))],
    ),
    "encoder": Registry(
        ENCODERS,
        encoder_law,
        lambda name: make_encoder(name, small_items(name)),
        lambda entry: entry.about,
        lambda entry: [(entry.make, ("items",))],
    ),
    "published recipe": Registry(PUBLISHED, published_law, published_recipe),
    "published mixing": Registry(MIXINGS, mixing_law, published_mixing),
    "metric of single answers": Registry(
        PERSON_METRICS,
        person_metric_law,
        lambda name: score_people(votes(), {}, metrics=[name], rng=rng()),
        None,
        lambda entry: [(entry, ("said", "expected", "values"))],
    ),
    "metric of several labels": Registry(
        MULTI_LABEL_METRICS,
        multi_label_metric_law,
        lambda name: score_multi_labels(
            MultiLabelSet(("a",), ("b",), np.ones((1, 1))), {}, metrics=[name], rng=rng()
        ),
        None,
        lambda entry: [(entry, ("p", "q"))],
    ),
    "metric": Registry(
        METRICS,
        metric_law,
        metric_named,
        lambda entry: entry.meaning,
        lambda entry: [
            (entry.parts, ("human", "model")),
            *([(entry.per_item, ("human", "model"))] if entry.per_item else []),
        ],
    ),
    "plot": Registry(
        PLOTS,
        plot_law,
        lambda name: plot_evaluation(small_evaluation(), name),
        first_sentence,
        lambda entry: [(entry, ("found",))],
    ),
    "metric in words": Registry(metrics(), words_law, None, lambda entry: entry.meaning),
    "test over seeds": Registry(
        SEED_TESTS,
        seed_test_law,
        lambda name: pair_seeds(Estimate("kl", 0.0), {0: 0.1, 1: 0.2}, test=name, rng=rng()),
    ),
    "attack": Registry(
        ATTACKS,
        attack_law,
        lambda name: find(ATTACKS, name, what="attack"),
        lambda entry: entry.note,
    ),
    "corruption": Registry(
        CORRUPTIONS,
        corruption_law,
        lambda name: corrupt(np.zeros((1, 8, 8, 1), np.uint8), name, 1, rng=rng()),
        lambda entry: first_sentence(entry.apply),
        lambda entry: [(entry.apply, ("picture", "strength", "rng"))],
    ),
    "dataset": Registry(DATASETS, dataset_law, find_dataset, lambda entry: entry.about),
    "dataset of pictures": Registry(
        PICTURES, picture_law, lambda name: load_pictures(name, split=None)
    ),
    "form of answer": Registry(
        FORMS,
        form_law,
        lambda name: information(name, items=12, classes=5),
        lambda entry: entry.about,
        lambda entry: [(entry.count, ("asked", "columns")), (entry.marks, ("asked",))],
    ),
    "form of label": Registry(
        WORLD_LABELS,
        world_law,
        lambda name: scores_of(draw_world(items=4, classes=3, dimensions=2, rng=rng()), name, 2),
        lambda entry: entry.about,
        lambda entry: [(entry.scores, ("world", "kept"))],
    ),
    "utility": Registry(UTILITIES, utility_law, utility_named, first_sentence),
    "noise rule": Registry(NOISE, noise_law, lambda name: noisy(1, 0.1, name), first_sentence),
    "measure of error": Registry(
        planned_annotators.MEASURES,
        error_law,
        lambda name: expected_error_of_votes(np.eye(2), name, rng=rng()),
        str,
    ),
    "data source of studies": Registry(
        SOURCES,
        source_law,
        lambda name: load_data(small_study().model_copy(update={"data": name}), None),
        lambda entry: entry.about,
        lambda entry: [(entry.load, ("study", "folder"))],
    ),
    "measure": Registry(
        MEASURES,
        measure_law,
        lambda name: run_study(_study_for(name), Path("nowhere")),
        first_sentence,
        lambda entry: [(entry, ("data", "predictions"))],
    ),
    "section of a report": Registry(
        SECTIONS,
        section_law,
        lambda name: run_study(
            small_study().model_copy(update={"sections": (name,)}), Path("nowhere")
        ),
        first_sentence,
        lambda entry: [(entry, ("run",))],
    ),
    "label set or arm": Registry(
        LABELS,
        arm_labels_law,
        lambda name: load_data(_with_arm(labels=name), None),
        told,
        lambda entry: [(entry[1], ("data", "items", "rng"))],
    ),
    "arm of single people": Registry(
        PERSONS, person_law, lambda name: load_data(_with_arm(labels=name), None), told
    ),
    "kind of added mixes": Registry(
        ADDED,
        added_law,
        lambda name: load_data(_with_arm(added=name), None),
        told,
        lambda entry: [(entry[1], ("percepts", "ends", "rng"))],
    ),
    "curve for mixes": Registry(
        CURVES,
        curve_law,
        lambda name: load_data(_with_arm(curve=name), None),
        told,
        lambda entry: [(entry[1], ("percepts", "classes", "rng"))],
    ),
    "way of mixing": Registry(MIXES, mixes_law, lambda name: load_data(_with_arm(mix=name), None)),
    "study": Registry(dict.fromkeys(shipped_names()), in_a_folder(study_law), read_study),
    "preset": Registry(
        PRESETS, preset_law, lambda name: preset_study(name, CLASSES), lambda entry: entry.about
    ),
    "format of an export": Registry(SHAPES, shape_law),
    "kind of answer to keep": Registry(BESIDE, nothing_more, None, str),
}
"""Every table by what one of its names is called."""

OTHERS: dict[str, tuple[Mapping[str, Any], str]] = {
    "acts": (ACTS, "forms of our own pages send them"),
    "orders of items": (ITEM_SORTS, "links of our own pages send them"),
    "orders of people": (PERSON_SORTS, "links of our own pages send them"),
    "choices": (CHOICES, "the help of commands names them, of which each has a table above"),
    "columns of estimates": (COLUMNS, "columns of a file, whose specification tells them"),
    "questions to the owner": (QUESTIONS_TO_THE_OWNER, "the datasheet asks them in full"),
    "people in files": (simulate_room._READERS, "only our own files of people hold them"),
    "delimiters": (DELIMITERS, "the help of --delimiter tells them"),
    "scores of sets": (SCORES, "the page and the help of `cover` tell both"),
    "sides of a comparison": (BETWEEN, "the help of `plan --between` tells both"),
    "forms of a log": (LOGS, "the help of `elicit serve --log` tells them"),
    "kinds of doubt": (DOUBTS, "the help of `elicit choose --doubt` tells both"),
    "subsets": (SUBSETS, "parts of the page of one dataset, which tells them"),
}
"""Tables that ``find`` reads although nobody types their names, with the reason."""

ENTRIES = [(what, name) for what, registry in REGISTRIES.items() for name in registry.table]
every_entry = pytest.mark.parametrize(
    ("what", "name"), ENTRIES, ids=[f"{what} {name}" for what, name in ENTRIES]
)


def _recipe_parameters(takes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("similarity" if name == "distances" else name for name in takes)


def _with_arm(**fields: str) -> Study:
    return small_study().model_copy(update={"arms": (Arm(**fields),)})  # type: ignore[arg-type]


@every_entry
def test_entry_can_be_called_as_its_kind_is(what: str, name: str) -> None:
    registry = REGISTRIES[what]

    for function, needed in registry.calls(registry.table[name]):
        parameters = inspect.signature(function).parameters
        assert set(needed) <= parameters.keys(), f"{function} lacks a parameter of {needed}"


@every_entry
def test_entry_says_what_it_is(what: str, name: str) -> None:
    registry = REGISTRIES[what]
    if registry.about is None:
        return

    sentence = registry.about(registry.table[name])

    assert len(sentence.split()) >= 2
    assert sentence == sentence.strip()


@every_entry
def test_entry_keeps_the_law_of_its_kind(what: str, name: str) -> None:
    REGISTRIES[what].law(name)


@every_entry
def test_entry_is_documented(what: str, name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize(
    ("what", "name"),
    [(what, name) for what, name in ENTRIES if REGISTRIES[what].reach is not None],
)
def test_wrong_name_gets_the_nearest(what: str, name: str) -> None:
    reach = REGISTRIES[what].reach
    assert reach is not None
    wrong = name + name[-1]

    with pytest.raises(UnknownName) as error:
        reach(wrong)

    assert f"is called {wrong!r}. Did you mean {name!r}?" in str(error.value)
    assert isinstance(error.value, SfumatoError)  # a sentence and exit code 1


def test_every_table_of_names_is_held_to_the_contract() -> None:
    known = [registry.table for registry in REGISTRIES.values()]
    known += [table for table, _ in OTHERS.values()]
    known += [data_registry.DATASETS]

    missing = [place for place, table in tables_that_find_reads() if not _among(table, known)]

    assert missing == []


def tables_that_find_reads() -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Constants that are the first argument of ``find`` anywhere in the package."""
    folder = ROOT / "src"
    for path in sorted((folder / "sfumato").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            node.args[0].id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == find.__name__
            and isinstance(node.args[0], ast.Name)
            and node.args[0].id.isupper()
        }
        dotted = ".".join(path.relative_to(folder).with_suffix("").parts)
        for name in sorted(names):
            module = import_module(dotted.removesuffix(".__init__"))
            table = getattr(module, name, None)
            if table is None:  # imported inside the function
                table = _imported_in(tree, name)
            yield f"{dotted}.{name}", table


def _imported_in(tree: ast.AST, name: str) -> Mapping[str, Any]:
    (module,) = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        if name in {alias.name for alias in node.names}
    }
    table: Mapping[str, Any] = getattr(import_module(module), name)
    return table


def _among(table: Mapping[str, Any], known: Iterable[Mapping[str, Any]]) -> bool:
    return any(table is each for each in known)
