"""Load sets of items that both people and judges spoke about: language models, networks, experts,
statements in another form, and the labels that a dataset came with."""

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.judgments.formats.datasets import CIFAR10
from sfumato.judgments.judgments import select
from sfumato.labels.build import build
from sfumato.labels.files import read_crowd_labels
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels, LabelSet, hard_labels
from sfumato.provenance import Provenance, Step, fingerprint_file
from sfumato.studies.data import JudgedSet, StudyData, needed_folder, read_judgments
from sfumato.studies.study import Study

Answers = Mapping[str, Mapping[str, object]]
"""Who said what about which item."""

Loader = Callable[[Path], JudgedSet]

ORIGINAL_LABEL = "original label"
"""The label that a dataset came with, as a judge."""

LANGUAGE_MODELS = {
    "aspects of reviews": ("cebab_aspects", 0.1),
    "stars of reviews": ("cebab_stars", 0.1),
    "framing of news": ("framing", 0.15),
    "advice to teenagers": ("lgbteen", 0.2),
    "quality of prompts": ("10k_prompts", 0.15),
    "pairs of answers": ("mtbench", 0.2),
}
"""Sets with six language models: their folder, and what the alternative-annotator test grants."""

RATED = ("cebab_stars", "10k_prompts")
"""Those whose answers are numbers of stars, from 1 to 5."""

SMALL_CROWDS = ("bluebird", "dog", "face", "rte")

EVERY = 5
"""Of CIFAR-10H's 10,000 images each fifth is enough for eight networks, in a fifth of the time."""

STATEMENTS_APART = 2
"""Into so many parts people who gave statements are divided: one of each is one statement."""

PRIOR = ("vgg_15_BN_64", "resnet_basic_110")
"""Networks whose mean belief is the model that few votes may be joined with."""

COVERING = ("vgg_15_BN_64", "shake_shake_26_2x64d_SSI_cutout16")
"""Networks whose sets are to cover people: a plain one and the most accurate."""


def load_judged_sets(study: Study, folder: Path | None) -> StudyData:
    """Every set that is in the folder of data sets; what is not there is said."""
    folder = needed_folder(folder, "answers of people and of judges")
    found: dict[str, JudgedSet] = {}
    missing: list[str] = []
    for name, load in LOADERS[study.data]():
        try:
            found[name] = load(folder)
        except FileNotFoundError as error:
            missing.append(f"{name}: there is no {Path(str(error.filename)).name}.")
    if not found:
        raise DataError(f"No set with people's and judges' answers lies in {folder}.")
    return StudyData(study, judged=found, missing=tuple(missing))


def _loaders() -> Iterator[tuple[str, Loader]]:
    for name in LANGUAGE_MODELS:
        yield name, partial(_language_models, name)
    yield from CHAOS.items()
    yield "CIFAR-10H", partial(_networks, every=EVERY)
    yield "CIFAR-10S against clicks", _statements
    yield "Fashion-MNIST-H", _fashion
    yield "ReaL, questions", _real
    yield "DICES-350", _dices
    for name in SMALL_CROWDS:
        yield f"crowd: {name}", partial(_small_crowd, name)


def _loaders_of_few_votes() -> Iterator[tuple[str, Loader]]:
    """Sets with many votes per item; the judge, where there is one, is a model as prior."""
    yield from CHAOS.items()
    yield "CIFAR-10H", _prior_networks
    yield "Fashion-MNIST-H", _fashion
    yield "ReaL, questions", _real
    yield "DICES-350", _dices
    for name in ("dog", "face"):
        yield f"crowd: {name}", partial(_small_crowd, name)


def _loaders_of_cover() -> Iterator[tuple[str, Loader]]:
    """Sets with a model of which every item was held out."""
    yield from CHAOS.items()
    yield "CIFAR-10H", partial(_networks, names=COVERING)
    yield "DICES-350", _dices_model


def _loaders_of_forms() -> Iterator[tuple[str, Loader]]:
    yield "CIFAR-10S against clicks", _named_statements


def _language_models(name: str, folder: Path) -> JudgedSet:
    held, epsilon = LANGUAGE_MODELS[name]
    place = folder / "judges" / held
    people, models = place / "human_annotations.json", place / "llm_annotations.json"
    said: Mapping[str, Mapping[str, object]] = json.loads(models.read_bytes())
    judges = {name: make_crowd({name: answers}, _step(models)) for name, answers in said.items()}
    crowd = make_crowd(json.loads(people.read_bytes()), _step(people))
    if held in RATED:
        crowd = crowd.with_provenance(crowd.provenance, values=list(map(float, crowd.classes)))
    return JudgedSet(crowd, judges, epsilon)


def make_crowd(said: Answers, provenance: Provenance = ()) -> CrowdLabels:
    """One vote for each answer; items and words are texts.

    >>> make_crowd({"ann": {"a": 1, "b": 2}, "ben": {"a": 1}})
    <CrowdLabels: 3 judgments of 2 items by 2 annotators, 2 classes: 1, 2>
    """
    rows = [(item, who, str(one)) for who, told in said.items() for item, one in told.items()]
    names, people, words = (sorted(set(column)) for column in zip(*rows, strict=True))
    place = [{name: at for at, name in enumerate(known)} for known in (names, people, words)]
    codes = np.array([[known[one] for known, one in zip(place, row, strict=True)] for row in rows])
    return CrowdLabels(
        names, people, words, codes[:, 0], codes[:, 1], provenance=provenance, said=codes[:, 2]
    )


def _crowd_of_counts(
    items: Sequence[str], classes: Sequence[str], counts: NDArray[np.integer], step: Provenance
) -> CrowdLabels:
    """Votes of nobody in particular."""
    item, word = np.nonzero(counts)
    times = counts[item, word]
    item, word = np.repeat(item, times), np.repeat(word, times)
    nobody = np.full(len(item), NOT_RECORDED)
    return CrowdLabels(items, (), classes, item, nobody, provenance=step, said=word)


def _step(*paths: Path) -> Provenance:
    return (Step("read", {}, {path.name: fingerprint_file(path) for path in paths}),)


def _chaos(name: str, source: str, folder: Path) -> JudgedSet:
    """A hundred votes per item, and what networks trained on the original set believe."""
    folder = folder / "chaosnli"
    path = folder / f"chaosNLI_{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    items, counts = [row["uid"] for row in rows], np.array([row["label_count"] for row in rows])
    judges: dict[str, CrowdLabels | LabelSet] = {}
    for network in ("roberta-base", "bert-base-uncased"):
        files = sorted(folder.glob(f"pred_{source}_*_{network}_0.json"))
        told = {
            row["uid"]: row["probs"]
            for file in files
            for row in map(json.loads, file.read_text(encoding="utf-8").splitlines())
        }
        if known := [item for item in items if item in told]:
            probs = np.array([told[item] for item in known])
            probs /= probs.sum(axis=1, keepdims=True)
            judges[network] = LabelSet(
                tuple(known), ("e", "c", "n"), probs, provenance=_step(*files)
            )
    old = {row["uid"]: row["old_label"] for row in rows}
    judges[ORIGINAL_LABEL] = make_crowd({ORIGINAL_LABEL: old}, _step(path))
    return JudgedSet(_crowd_of_counts(items, ("e", "n", "c"), counts, _step(path)), judges)


def _cifar10h(folder: Path) -> tuple[CrowdLabels, NDArray[np.int64]]:
    path = folder / "cifar10h" / "cifar10h-counts.npy"
    labels = np.load(folder / "cifar10h-predictions" / "test_labels.npy")
    items = [f"{place:05}" for place in range(len(labels))]
    return _crowd_of_counts(items, CIFAR10, np.load(path), _step(path)), labels


def _networks(folder: Path, every: int = 1, names: Sequence[str] = ("*",)) -> JudgedSet:
    """Networks that never saw a person's vote, and the labels of the dataset."""
    everybody, labels = _cifar10h(folder)
    people, chosen = everybody.of_items(everybody.items[::every]), slice(None, None, every)
    judges: dict[str, CrowdLabels | LabelSet] = {}
    place = folder / "cifar10h-predictions"
    for path in sorted(path for name in names for path in place.glob(f"{name}.npz")):
        probs = np.load(path)["probs"][chosen].astype(np.float64)
        probs /= probs.sum(axis=1, keepdims=True)
        judges[path.stem] = LabelSet(people.items, CIFAR10, probs, provenance=_step(path))
    judges[ORIGINAL_LABEL] = hard_labels(people.items, CIFAR10, labels[chosen])
    return JudgedSet(people, judges)


def _prior_networks(folder: Path) -> JudgedSet:
    """All images, and what two networks believe on the mean."""
    found = _networks(folder, names=PRIOR)
    both = [one for one in found.judges.values() if isinstance(one, LabelSet)][: len(PRIOR)]
    probs = np.mean([one.probs for one in both], axis=0)
    steps = tuple(step for one in both for step in one.provenance)
    mean = LabelSet(both[0].items, CIFAR10, probs, provenance=steps)
    return JudgedSet(found.people, {"two networks": mean})


def _named_statements(folder: Path) -> JudgedSet:
    """Everybody's statements, with names and seconds, and the clicks of others."""
    path = folder / "cifar10s" / "raw_human_data.csv"
    judgments = select(read_judgments(path, "cifar10s"))
    built = build(judgments, "top2-clamp").crowd
    names = [f"{int(item):05}" for item in built.items]
    stated = CrowdLabels(
        names, built.annotators, built.classes, built.item, built.annotator, built.answers,
        built.provenance, said=built.said,
    )  # fmt: skip
    clicks, _ = _cifar10h(folder)
    seconds = float(np.median(judgments.table["seconds"].to_numpy()))
    return JudgedSet(clicks.of_items(names), {"statements": stated}, most=6, seconds=seconds)


def _statements(folder: Path) -> JudgedSet:
    """What one person's stated distribution is worth in clicks of others."""
    path = folder / "cifar10s" / "cifar10s_t2clamp_redist10.json"
    step = _step(path)  # a file that is not there is found out here
    stated = read_crowd_labels(path, classes=CIFAR10)
    names = [f"{int(item):05}" for item in stated.items]
    clicks, labels = _cifar10h(folder)
    first = np.argsort(stated.item, kind="stable")
    turn = np.empty(len(stated), dtype=np.int64)
    starts = np.searchsorted(stated.item[first], stated.item[first])
    turn[first] = np.arange(len(first)) - starts
    judges: dict[str, CrowdLabels | LabelSet] = {}
    for part in range(STATEMENTS_APART):
        rows = turn % STATEMENTS_APART == part
        judges[f"statement {part + 1}"] = CrowdLabels(
            names, (), CIFAR10, stated.item[rows], np.full(int(rows.sum()), NOT_RECORDED),
            stated.probs[rows], stated.provenance,
        )  # fmt: skip
    mean = stated.mean()
    pooled = tuple(f"{int(item):05}" for item in mean.items)
    judges["mean of all statements"] = LabelSet(pooled, CIFAR10, mean.probs, provenance=step)
    judges[ORIGINAL_LABEL] = hard_labels(names, CIFAR10, labels[[int(name) for name in names]])
    return JudgedSet(clicks.of_items(names), judges)


def _fashion(folder: Path) -> JudgedSet:
    path = folder / "fashion_mnist_h" / "fmh-counts.npy"
    with gzip.open(folder / "fashion_mnist_h" / "t10k-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), dtype=np.uint8, offset=8).astype(np.int64)
    counts = np.load(path).astype(np.int64)
    items, classes = [f"{place:05}" for place in range(len(counts))], tuple("0123456789")
    people = _crowd_of_counts(items, classes, counts, _step(path))
    return JudgedSet(people, {ORIGINAL_LABEL: hard_labels(items, classes, labels)}, most=2)


def _real(folder: Path) -> JudgedSet:
    """78 people and 5 experts on the same questions about images of ImageNet."""
    path, golden = (
        folder / "real_imagenet" / f"{name}.npz" for name in ("raters_golden", "golden")
    )
    said, experts = np.load(path)["tensor"].argmax(axis=2), np.load(golden)["tensor"].argmax(axis=2)
    images = np.load(path)["info"][:, 0]
    words, items = ("no", "maybe", "yes"), [f"{place:04}" for place in range(said.shape[1])]

    def votes(codes: NDArray[np.int64], names: Sequence[str], file: Path) -> CrowdLabels:
        who, item = np.indices(codes.shape)
        return CrowdLabels(
            items, names, words, item.ravel(), who.ravel(), provenance=_step(file),
            said=codes.ravel(),
        )  # fmt: skip

    judges = {
        f"expert {place + 1}": votes(row[None], ["expert"], golden)
        for place, row in enumerate(experts)
    }
    people = votes(said, [f"rater {place}" for place in range(len(said))], path)
    clusters = {item: str(image) for item, image in zip(items, images, strict=True)}
    return JudgedSet(people, judges, clusters=clusters)


def _dices(folder: Path) -> JudgedSet:
    """123 people, known by their place in the list, and one expert's verdict."""

    def scores(name: str) -> dict[str, list[str]]:
        path = folder / "dices" / f"dices_350_{name}.json"
        return {
            str(row["id"]): row["annotations"]["safety"]["individual_human_scores"]
            for row in json.loads(path.read_bytes())["instances"]
        }

    said: dict[str, dict[str, object]] = {}
    for item, answers in scores("crowdsourced").items():
        for place, one in enumerate(answers):
            said.setdefault(f"rater {place:03}", {})[item] = one
    expert = {item: answers[0] for item, answers in scores("expert").items()}
    step = _step(*(folder / "dices").glob("*.json"))
    return JudgedSet(make_crowd(said, step), {"expert": make_crowd({"expert": expert}, step)})


def _dices_model(folder: Path) -> JudgedSet:
    """The crowd's verdicts, and a cross-fitted model of the words of the conversation."""
    from sfumato.learn.soft_targets import cross_fit_words

    people = _dices(folder).people
    path = folder / "dices" / "dices_350_crowdsourced.json"
    rows = json.loads(path.read_bytes())["instances"]
    texts = {str(row["id"]): " ".join(row["instance"].values()) for row in rows}
    said = people.mean()
    probs = cross_fit_words([texts[item] for item in said.items], said.probs)
    labels = LabelSet(said.items, said.classes, probs, provenance=_step(path))
    return JudgedSet(people, {"tf-idf": labels})


def _small_crowd(name: str, folder: Path) -> JudgedSet:
    folder = folder / "crowd"

    def rows(kind: str) -> Iterator[dict[str, str]]:
        with (folder / f"{name}_{kind}.csv").open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)

    said: dict[str, dict[str, object]] = {}
    for row in rows("label"):
        said.setdefault(row["worker"], {})[row["item"]] = row["label"]
    truth: dict[str, object] = {row["item"]: row["truth"] for row in rows("truth")}
    step = _step(folder / f"{name}_label.csv", folder / f"{name}_truth.csv")
    gold = {"known answer": make_crowd({"known answer": truth}, step)}
    return JudgedSet(make_crowd(said, step), gold)


CHAOS: dict[str, Loader] = {
    "ChaosNLI, SNLI": partial(_chaos, "snli", "SNLI"),
    "ChaosNLI, MNLI": partial(_chaos, "mnli_m", "MNLI"),
}
LOADERS: dict[str, Callable[[], Iterator[tuple[str, Loader]]]] = {
    "judges": _loaders,
    "few-votes": _loaders_of_few_votes,
    "cover-people": _loaders_of_cover,
    "forms-worth": _loaders_of_forms,
}
"""The sets of each data source, by the name of the set."""
