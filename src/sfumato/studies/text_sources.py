"""Load studies of texts: LeWiDi, ChaosNLI, and texts of one's own.

Texts become vectors where they are learnt (``cell.TextExamples``). Attacks, corruptions and
galleries need pictures: a study that asks for them is refused, and the report says the rest.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.data import TextSet, load_texts
from sfumato.data.images import read_own_table
from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.items.load import load_items
from sfumato.judgments.judgments import Judgments, select
from sfumato.judgments.question import ask
from sfumato.labels.build import RECIPES
from sfumato.labels.build.distances import ClassDistances
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.learn.folds import Split
from sfumato.learn.networks import NETWORKS
from sfumato.names import find
from sfumato.studies.data import ORIGINAL, PEOPLE, StudyData, needed_folder, read_as
from sfumato.studies.study import Study

NOT_FOR_TEXTS = (
    "Attacks, corruptions, near duplicates and pictures do not apply: the items are texts."
)
SYNTHETIC = "roberta-base"
"""The stored model whose beliefs about all pairs of ChaosNLI may be learnt as labels."""
ON_A_SCALE = ("Paraphrase",)
"""Sets of LeWiDi whose classes are points of a scale."""
PARTS = {"train": "train", "dev": "validation", "test": "test"}
"""What LeWiDi calls its parts, and what they are here."""


def load_lewidi(study: Study, folder: Path | None) -> StudyData:
    """The sets of a year that the tests name, each with its own split; items are called by both.

    Where people may give several labels (VariErrNLI of 2025), each class is a set: yes or no.
    """
    folder = needed_folder(folder, "LeWiDi")
    names = tuple(dict.fromkeys(spec.items for spec in study.tests))
    if study.folds != len(names):
        raise DataError(
            f"The study tests {len(names)} sets, each learnt on its own, so it needs folds = "
            f"{len(names)}, not {study.folds}."
        )
    sets = {name: _lewidi_set(study.data, name, folder) for name in names}
    judgments = _joined_judgments({name: found.judgments for name, found in sets.items()})
    folds = {name: _split(name, found) for name, found in sets.items()}
    data = judged_texts(study, _joined_texts(sets), judgments, None)
    return replace(data, folds=folds, parts={name: split.test for name, split in folds.items()})


def _lewidi_set(dataset: str, name: str, folder: Path) -> TextSet:
    part, _, asked = name.partition(" ")
    found = load_texts(dataset, part, folder)
    if asked:
        return replace(found, judgments=_about_class(found.judgments, asked))
    if part in ON_A_SCALE:
        scale = ask("rating", found.judgments.question.classes)
        return replace(found, judgments=replace(found.judgments, question=scale))
    return found


def _about_class(judgments: Judgments, name: str) -> Judgments:
    """Of answers that may hold several classes: whether they hold this one."""
    find(dict.fromkeys(judgments.question.classes), name, what="class of the set")
    said = [name in json.loads(answer) for answer in judgments.table["answer"]]
    answers = pl.Series("answer", [json.dumps("yes" if each else "no") for each in said])
    return Judgments(
        ask("choose-one", ("no", "yes")),
        judgments.table.with_columns(answers),
        provenance=judgments.provenance,
    )


def load_chaosnli(study: Study, folder: Path | None) -> StudyData:
    """Pairs of sentences with 100 votes each, former labels and stored predictions."""
    found = load_texts("chaosnli", None, needed_folder(folder, "ChaosNLI"))
    texts, synthetic = found.items, found.predictions[SYNTHETIC]
    assert texts is not None
    if SYNTHETIC not in study.label_names:
        data = judged_texts(study, texts, found.judgments, found.original)
        return replace(data, predictions=found.predictions)
    believed = set(synthetic.items)
    shown = texts.take([item for item in texts.ids if item in believed])
    data = judged_texts(study, shown, found.judgments, found.original)
    without = (
        f"{len(texts) - len(shown)} of {len(texts):,} pairs are left out: {SYNTHETIC} was not "
    )
    return replace(
        data,
        predictions=found.predictions,
        labels={**data.labels, SYNTHETIC: synthetic.take(data.people.items)},
        missing=(*data.missing, f"{without}asked about them."),
    )


def load_own_texts(
    study: Study, judgments: Judgments, distances: ClassDistances | None
) -> StudyData:
    """Texts of one's own, with what people said and, where there is a table, former labels."""
    given = study.own
    texts = load_items(given.texts, text=given.text or None)
    if not given.table:
        return judged_texts(study, texts, judgments, None, distances)
    table = read_own_table(Path(given.table))
    classes = judgments.question.classes
    unknown = sorted(set(table["label"]) - set(classes))
    if unknown:
        raise DataError(
            f"{Path(given.table).name} has a class {unknown[0]!r} that people were not asked "
            f"about; their classes are {', '.join(classes)}."
        )
    places = np.array([classes.index(name) for name in table["label"]])
    original = hard_labels(table["item"].to_list(), classes, places)
    data = judged_texts(study, texts, judgments, original, distances)
    return replace(data, parts=_given_parts(table, set(data.people.items)))


def judged_texts(
    study: Study,
    texts: Items,
    judgments: Judgments,
    original: LabelSet | None,
    distances: ClassDistances | None = None,
) -> StudyData:
    """Texts that people judged, in one order, with their labels by every recipe named.

    Without former labels the most frequent answer stands for them.
    """
    _refuse_pictures(study)
    judgments = select(judgments)
    recipes = {PEOPLE: study.recipe}
    recipes |= {name: name for name in study.label_names if name in RECIPES}
    crowds = read_as(judgments, recipes, distances)
    people = crowds[PEOPLE].mean()
    if original is None:
        original = hard_labels(people.items, people.classes, people.probs.argmax(axis=1))
    known = set(texts.ids) & set(original.items)
    items = tuple(item for item in people.items if item in known)
    if not items:
        raise DataError(
            f"No judged item is among the texts: people judged {people.items[0]!r}, the first "
            f"text is {texts.ids[0]!r}."
        )
    means = {name: crowd.mean().take(items) for name, crowd in crowds.items()}
    return StudyData(
        study,
        texts=texts.take(items),
        labels={**means, ORIGINAL: original.take(items)},
        crowds=crowds,
        judgments=judgments,
        missing=(NOT_FOR_TEXTS,),
    )


def _refuse_pictures(study: Study) -> None:
    if study.attacks or study.corruptions:
        raise DataError(
            f"The study {study.name!r} is about texts; attacks and corruptions change pictures. "
            "Leave out fgsm, pgd and corruptions."
        )
    for name in study.networks:
        network = study.recipe_of(name, 0).network
        if not NETWORKS[network].takes_vectors:
            fits = ", ".join(key for key, kind in NETWORKS.items() if kind.takes_vectors)
            raise DataError(
                f"The network {network!r} learns images; the items of this study are texts. "
                f"Networks for texts: {fits}."
            )


def _joined_judgments(sets: Mapping[str, Judgments]) -> Judgments:
    """Everybody's answers, items and people called by their set too."""
    first = next(iter(sets.values()))
    tables = [
        each.table.with_columns(
            item=pl.lit(f"{name}/") + pl.col("item"),
            annotator=pl.lit(f"{name}/") + pl.col("annotator"),
        )
        for name, each in sets.items()
    ]
    return Judgments(
        first.question,
        pl.concat(tables),
        provenance=tuple(step for each in sets.values() for step in each.provenance),
    )


def _joined_texts(sets: Mapping[str, TextSet]) -> Items:
    """All texts; a field that a set does not have is empty there."""
    rows: dict[str, dict[str, str]] = {}
    for name, found in sets.items():
        assert found.items is not None
        rows |= {f"{name}/{item}": fields for item, fields in found.items}
    fields = dict.fromkeys(field for row in rows.values() for field in row)
    return load_items({item: {**dict.fromkeys(fields, ""), **row} for item, row in rows.items()})


def _split(name: str, found: TextSet) -> Split:
    parts: dict[str, list[str]] = {}
    for item, part in found.split.items():
        parts.setdefault(PARTS[part], []).append(f"{name}/{item}")
    train, validation, test = (tuple(parts[part]) for part in PARTS.values())
    return Split(train, validation, test)


def _given_parts(table: pl.DataFrame, known: set[str]) -> dict[str, tuple[str, ...]]:
    names = {"val": "validation", **{part: part for part in PARTS.values()}}
    found: dict[str, list[str]] = {}
    for item, part in table.select("item", "split").iter_rows():
        if part in names and item in known:
            found.setdefault(names[part], []).append(item)
    return {part: tuple(items) for part, items in found.items()}
