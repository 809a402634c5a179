"""Turn the files of a dataset of texts into items, people's answers and stored predictions.

``datasets.toml`` says which files a part is made of and which decoder, one of ``TEXT_DECODERS``,
reads them.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.data.registry import Dataset, TextsRecord
from sfumato.errors import DataError
from sfumato.items.items import Items
from sfumato.items.load import load_items
from sfumato.judgments.formats import joined_classes, read
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, judgments_from
from sfumato.judgments.question import ask
from sfumato.labels.labelset import LabelSet, hard_labels
from sfumato.labels.multilabel import MultiLabelSet
from sfumato.provenance import Provenance, Step, fingerprint_file
from sfumato.tabular import ShortRepr

INFERENCE = {"e": "entailment", "n": "neutral", "c": "contradiction"}
"""What the letters of natural language inference stand for."""
STORED_ORDER = ("entailment", "contradiction", "neutral")
"""The order of classes in the stored predictions of ChaosNLI."""
REPLICATION = ("replicates", "does not")


@dataclass(frozen=True, eq=False, repr=False)
class TextSet(ShortRepr):
    """Texts that people judged, with what else was published about them."""

    name: str
    """The dataset and its part."""
    judgments: Judgments
    items: Items | None
    """The texts; None where they are not published."""
    labels: LabelSet | None = None
    """The published label distributions, where there are any."""
    original: LabelSet | None = None
    """The labels that the items had before, or what turned out to be true."""
    predictions: Mapping[str, LabelSet] = field(default_factory=dict)
    """What published models believe, by name."""
    split: Mapping[str, str] = field(default_factory=dict)
    """Item to its published part, such as train, dev or test."""
    licence: str = ""
    source: str = ""
    """Where it comes from, and the paper to cite."""
    labels_by_class: MultiLabelSet | None = None
    """The published shares of each class on its own, where several may apply."""

    def _summary(self) -> str:
        texts = "no texts" if self.items is None else self.items.describe()
        models = f", predictions of {len(self.predictions)} models" if self.predictions else ""
        return f"{self.name}: {texts}, {len(self.judgments):,} answers{models}"


@dataclass(frozen=True)
class TextsPart:
    """Which part of a dataset is to be decoded."""

    dataset: Dataset
    record: TextsRecord
    part: str
    folder: Path | None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files of the part."""
        return tuple(
            self.dataset.locate(name, self.folder) for name in self.record.parts[self.part]
        )

    @property
    def provenance(self) -> Provenance:
        """The step that read them."""
        inputs = {path.name: fingerprint_file(path) for path in self.paths}
        return (Step(f"load {self.dataset.name}", {"part": self.part}, inputs),)

    @property
    def asked(self) -> str | None:
        """The kind of question, where the answers do not tell it."""
        return self.record.asked.get(self.part)

    def texts(self, rows: Mapping[str, Mapping[str, str]]) -> Items:
        """Texts by item and field."""
        return replace(load_items(rows), provenance=self.provenance)


def decode_texts(wanted: TextsPart) -> TextSet:
    """A part of a dataset, with its licence and citation."""
    found = TEXT_DECODERS[wanted.record.kind](wanted)
    dataset = wanted.dataset
    several = len(wanted.record.parts) > 1
    name = f"{dataset.name} {wanted.part}" if several else dataset.name
    return replace(found, name=name, licence=dataset.licence, source=dataset.source)


def _decode_lewidi(wanted: TextsPart) -> TextSet:
    """Records by item, one file per split; an item is called by its split and its number there."""
    answers, texts, rows, split = {}, {}, {}, {}
    for path in wanted.paths:
        part = path.stem.rpartition("_")[2]
        answers[part] = _judgments(read(path, "lewidi", question=wanted.asked))
        for number, record in _json(path).items():
            item = f"{part}-{number}"
            split[item], texts[item] = part, _fields(record["text"])
            rows[item] = record["soft_label"]
    judgments = _joined(answers, wanted.record.rename.get(wanted.part, {}))
    labels, by_class = _published(rows, wanted)
    if labels is not None:
        labels = labels.change(values=judgments.question.values)
    return TextSet(
        "", judgments, wanted.texts(texts), labels, split=split, labels_by_class=by_class
    )


def _fields(text: Any) -> dict[str, str]:
    """A text's fields; those of ConvAbuse are JSON inside a text."""
    if isinstance(text, str) and text.startswith("{"):
        text = json.loads(text)
    return {"text": text} if isinstance(text, str) else dict(text)


def _joined(parts: Mapping[str, Judgments], rename: Mapping[str, str]) -> Judgments:
    """The answers of several files about one question, with the classes of all of them."""
    first = next(iter(parts.values()))
    classes = dict.fromkeys(name for each in parts.values() for name in each.question.classes)
    names = list(classes)
    if all(name.lstrip("-").isdigit() for name in names):
        names = sorted(names, key=int)
    tables = [
        each.table.with_columns(item=pl.lit(f"{part}-") + pl.col("item"))
        for part, each in parts.items()
    ]
    judgments = Judgments(
        replace(first.question, classes=tuple(names)),
        pl.concat(tables),
        rejected=tuple(row for each in parts.values() for row in each.rejected),
        provenance=tuple(step for each in parts.values() for step in each.provenance),
    )
    return joined_classes(judgments, ReadOptions(rename=dict(rename)))


def _published(
    rows: Mapping[str, Mapping[str, Any]], wanted: TextsPart
) -> tuple[LabelSet | None, MultiLabelSet | None]:
    """Published shares, rounded as they are: brought to sums of one, or each class on its own."""
    classes = tuple(next(iter(rows.values())))
    if any(isinstance(share, Mapping) for row in rows.values() for share in row.values()):
        yes = np.array([[float(row[name]["1"]) for name in classes] for row in rows.values()])
        return None, MultiLabelSet(tuple(rows), classes, yes, provenance=wanted.provenance)
    shares = np.array([[float(row[name]) for name in classes] for row in rows.values()])
    probs = shares / shares.sum(axis=1, keepdims=True)
    return LabelSet(tuple(rows), classes, probs, provenance=wanted.provenance), None


def _decode_chaosnli(wanted: TextsPart) -> TextSet:
    """About 100 votes per item without names; beside it what published models believe."""
    stored = [path for path in wanted.paths if path.name.startswith("pred_")]
    answers = [path for path in wanted.paths if path not in stored]
    records = [json.loads(line) for path in answers for line in _lines(path)]
    classes = tuple(INFERENCE.values())
    read_in = [_judgments(read(path, options=ReadOptions(rename=INFERENCE))) for path in answers]
    judgments = Judgments(
        replace(read_in[0].question, classes=classes),
        pl.concat([each.table for each in read_in]),
        provenance=tuple(step for each in read_in for step in each.provenance),
    )
    items = tuple(record["uid"] for record in records)
    places = np.array([list(INFERENCE).index(record["old_label"]) for record in records])
    pairs = {
        record["uid"]: {name: record["example"][name] for name in ("premise", "hypothesis")}
        for record in records
    }
    counts = np.array([record["label_count"] for record in records], dtype=np.float64)
    return TextSet(
        "",
        judgments,
        wanted.texts(pairs),
        LabelSet(
            items, classes, counts / counts.sum(axis=1, keepdims=True),
            provenance=wanted.provenance,
        ),
        hard_labels(items, classes, places, wanted.provenance),
        _stored_predictions(stored, set(items), classes, wanted.provenance),
        {record["uid"]: record["example"]["source"].partition("_")[0] for record in records},
    )  # fmt: skip


def _stored_predictions(
    paths: Iterable[Path], items: set[str], classes: tuple[str, ...], provenance: Provenance
) -> dict[str, LabelSet]:
    """By model: a file for each half of the items, a JSON object a line."""
    found: dict[str, dict[str, list[float]]] = {}
    order = [STORED_ORDER.index(name) for name in classes]
    for path in paths:
        model = path.stem.split("_")[3]
        for line in _lines(path):
            row = json.loads(line)
            if row["uid"] in items:
                found.setdefault(model, {})[row["uid"]] = [row["probs"][place] for place in order]
    return {
        model: LabelSet(
            tuple(rows), classes, _sum_to_one(list(rows.values())), provenance=provenance
        )
        for model, rows in found.items()
    }


def _decode_judge_bench(wanted: TextsPart) -> TextSet:
    """JUDGE-BENCH's form: one list of answers per item, nobody's name."""
    (path,) = wanted.paths
    held = _json(path)
    (metric,) = (each["metric"] for each in held["annotations"])
    classes = tuple(held["annotations"][0]["labels_list"])
    rows = [
        {"item": str(each["id"]), "answer": answer}
        for each in held["instances"]
        for answer in each["annotations"][metric]["individual_human_scores"]
    ]
    judgments = judgments_from(
        ask("choose-one", classes),
        pl.DataFrame(rows).with_columns(pl.col("answer").map_elements(json.dumps, pl.String)),
        file=path.name,
        lines=range(1, len(rows) + 1),
        provenance=wanted.provenance,
    )
    return TextSet(
        "",
        judgments,
        wanted.texts({str(each["id"]): each["instance"] for each in held["instances"]}),
    )


def _decode_varierr(wanted: TextsPart) -> TextSet:
    """The labels of each person in the first round; who was unsure gave none.

    Of both rounds, the second is a second look: the labels of which a person still found one of
    their own reasons to make sense.
    """
    (path,) = wanted.paths
    records = [json.loads(line) for line in _lines(path)]
    classes = tuple(INFERENCE.values())
    sets: dict[tuple[str, str, str], list[str]] = {}
    views = ("first", "repeat") if wanted.part == "both rounds" else ("first",)
    for record in records:
        for name in classes:
            for each in record[name]:
                for view in views:
                    chosen = sets.setdefault((record["id"], str(each["annotator"]), view), [])
                    if name not in chosen and (view == "first" or _stands_by(each)):
                        chosen.append(name)
    judgments = judgments_from(
        ask("likely-set", classes),
        pl.DataFrame(
            [(*key, json.dumps(chosen)) for key, chosen in sets.items()],
            schema=["item", "annotator", "view", "answer"],
            orient="row",
        ),
        file=path.name,
        lines=range(1, len(sets) + 1),
        provenance=wanted.provenance,
    )
    texts = {each["id"]: {k: each[k] for k in ("context", "statement")} for each in records}
    return TextSet("", judgments, wanted.texts(texts))


def _stands_by(reason: Mapping[str, Any]) -> bool:
    """Whether the author of a reason found it to make sense in the second round."""
    return any(
        each["annotator"] == reason["annotator"] and each["makes_sense"]
        for each in reason["judgments"]
    )


def _decode_judges(wanted: TextsPart) -> TextSet:
    """AltTest's folder: people and language models who answered the same questions."""
    people, models, *prompts = wanted.paths
    judgments = _judgments(read(people, question=wanted.asked))
    answers = _json(models)
    said = {str(answer) for rows in answers.values() for answer in rows.values()}
    classes = (*judgments.question.classes, *sorted(said - {*judgments.question.classes}))
    predictions = {
        model: hard_labels(
            list(rows), classes, np.array([classes.index(str(each)) for each in rows.values()]),
            wanted.provenance,
        )
        for model, rows in answers.items()
    }  # fmt: skip
    items = None
    if prompts:
        reviews = {key: record["review"] for key, record in _json(prompts[0]).items()}
        asked = judgments.table["item"].unique(maintain_order=True).to_list()
        pairs = {item: item.rpartition("__") for item in asked}
        items = wanted.texts(
            {item: {"review": reviews[key], "aspect": asp} for item, (key, _, asp) in pairs.items()}
        )
    return TextSet("", judgments, items, predictions=predictions)


def _decode_aggrecat(wanted: TextsPart) -> TextSet:
    """Experts' lowest, best and highest probability that a claim replicates, in one round."""
    ratings, outcomes = wanted.paths
    points = ["lower", "best", "upper"]
    table = (
        pl.read_csv(ratings, infer_schema=False)
        .filter(round=wanted.part, question="direct_replication")
        .with_columns(pl.col("element").str.replace("three_point_", ""))
        .pivot("element", index=["paper_id", "user_name"], values="value")
        .with_columns(pl.col(points).cast(pl.Float64))
    )
    answers = [json.dumps(row) for row in table.select(points).to_dicts()]
    judgments = judgments_from(
        ask("three-point", REPLICATION),
        table.select(item="paper_id", annotator="user_name", answer=pl.Series(answers)),
        file=ratings.name,
        lines=range(1, len(table) + 1),
        provenance=wanted.provenance,
    )
    known = pl.read_csv(outcomes, infer_schema=False)
    happened = known["outcome"].cast(pl.Float64).to_numpy()
    original = hard_labels(
        known["paper_id"].to_list(), REPLICATION, (happened == 0).astype(np.int64),
        wanted.provenance,
    )  # fmt: skip
    return TextSet("", judgments, None, original=original)


TEXT_DECODERS: dict[str, Callable[[TextsPart], TextSet]] = {
    "aggrecat": _decode_aggrecat,
    "chaosnli": _decode_chaosnli,
    "judge-bench": _decode_judge_bench,
    "judges": _decode_judges,
    "lewidi": _decode_lewidi,
    "varierr": _decode_varierr,
}


def _judgments(found: object) -> Judgments:
    assert isinstance(found, Judgments)
    return found


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path.name} is not JSON: {error}. Fetch it again.") from None


def _sum_to_one(rows: list[list[float]]) -> Any:
    probs = np.array(rows)
    return probs / probs.sum(axis=1, keepdims=True)  # undo the rounding of float32
