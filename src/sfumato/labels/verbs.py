"""From answers to labels in one call each: ``label``, ``aggregate``, ``simulate``, ``describe``.

These are the verbs of the front door. They take judgments, or whatever ``read`` reads (a file, a
table of another library); settings have the names of the command line's options.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from sfumato.errors import DataError
from sfumato.frames import is_table
from sfumato.judgments.comparisons import Comparisons, MixJudgments
from sfumato.judgments.formats import read
from sfumato.judgments.formats import write as write_answers
from sfumato.judgments.judgments import Judgments
from sfumato.judgments.quality import Rule, rule_with
from sfumato.labels.aggregate import aggregate as run_aggregator
from sfumato.labels.aggregate.pairs import preference_judgments
from sfumato.labels.build import DEFAULT_RECIPE, EACH_CLASS
from sfumato.labels.build.distances import choose_distances
from sfumato.labels.build.top_two import Rule as Reading
from sfumato.labels.describe import describe as describe_judgments
from sfumato.labels.files import read_given, read_labels, write_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.make import Average, LabelSettings, make_labels, make_multi_labels
from sfumato.labels.multilabel import MultiLabelSet
from sfumato.labels.simulate import SimulationSettings, run_simulation
from sfumato.labels.votes import Votes

File = str | Path


def to_judgments(answers: object, **reading: Any) -> Judgments:
    """Judgments as they are; anything else is read, with the options of ``read``."""
    if isinstance(answers, Judgments):
        if reading:
            raise DataError(
                f"These answers have been read already; {next(iter(reading))!r} belongs to read."
            )
        return answers
    found = answers if isinstance(answers, Comparisons) else read(answers, **reading)
    if isinstance(found, Comparisons) and found.kind == "preference":
        return preference_judgments(found)
    if not isinstance(found, Judgments):
        raise DataError(
            f"These are {type(found).__name__}, which are not about the classes of single items; "
            "labels are made from judgments."
        )
    return found


def to_labels(labels: object, *, classes: Sequence[str] | None = None) -> LabelSet:
    """Labels from labels, from a file of them, or from a table: ``item``, a column per class.

    >>> to_labels([{"item": 7, "cat": 0.25, "dog": 0.75}])
    <LabelSet of 1 items and 2 classes: cat, dog>
    """
    match labels:
        case LabelSet():
            return labels
        case CrowdLabels():
            return labels.mean()
        case str() | Path():
            return read_labels(Path(labels), classes=classes)
        case Judgments():
            return label(labels)
    if is_table(labels):
        return read_labels(labels, classes=classes)
    raise DataError(
        f"A {type(labels).__name__} holds no labels: give labels, a file of them, or a table with "
        "the column 'item' and one column per class."
    )


@overload
def label(
    answers: object,
    recipe: Literal["per-class"],
    aggregate: str | None = None,
    *,
    per_annotator: Literal[False] = False,
    **settings: Any,
) -> MultiLabelSet: ...
@overload
def label(
    answers: object,
    recipe: str | None = None,
    aggregate: str | None = None,
    *,
    per_annotator: Literal[True],
    **settings: Any,
) -> CrowdLabels: ...
@overload
def label(
    answers: object,
    recipe: str | None = None,
    aggregate: str | None = None,
    *,
    per_annotator: Literal[False] = False,
    **settings: Any,
) -> LabelSet: ...
def label(
    answers: object,
    recipe: str | None = None,
    aggregate: str | None = None,
    *,
    per_annotator: bool = False,
    gamma: float | None = None,
    rule: Reading | None = None,
    vectors: File | None = None,
    words: File | None = None,
    distances: File | None = None,
    keep: Sequence[str] = (),
    exclude: Sequence[str | Rule] = (),
    average: Average = "labels",
    predictions: object = None,
    weights: object = None,
    gold: object = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    **reading: Any,
) -> LabelSet | CrowdLabels | MultiLabelSet:
    """Label distributions from people's answers; ``crowd`` of the result has one row per answer.

    Without a ``recipe`` the one that uses all of the question is taken, without ``aggregate`` the
    mean; ``aggregate="auto"`` decides by the number of votes. Answers in which each class applies
    or not on its own (multi-label) become a ``MultiLabelSet``. With ``average="scores"`` the scores
    of sliders are averaged and then divided by their sum. ``weights`` of annotators, ``gold``
    (true labels of some items) and ``options`` are for the aggregator; the first two may be dicts,
    files or tables. Further options are those of ``read``, where the answers are a file or a table.

    >>> votes = [("a", "ann", "cat"), ("a", "ben", "dog"), ("b", "ann", "dog")]
    >>> table = [dict(zip(("item", "annotator", "label"), vote)) for vote in votes]
    >>> labels = label(table)
    >>> labels["a"]
    {'cat': 0.5, 'dog': 0.5}
    >>> len(labels.crowd)
    3
    """
    judgments = to_judgments(answers, **reading)
    told = {"weights": weights, "gold": gold}
    given = {name: value for name, value in told.items() if value is not None}
    settings = LabelSettings(
        recipe,
        gamma=gamma,
        rule=rule,
        vectors=_path(vectors),
        words=_path(words),
        distances=_path(distances),
        keep=tuple(keep),
        exclude=tuple(rule_with(one) if isinstance(one, str) else one for one in exclude),
        aggregate=aggregate or "mean",
        average=average,
        options=read_given({**(options or {}), **given}),
        seed=seed,
    )
    if (recipe or DEFAULT_RECIPE[judgments.question.kind]) in EACH_CLASS:
        if per_annotator:
            raise DataError(
                "Each class of these answers is a label of its own; there is no one distribution "
                "of a person. Build the classes one by one."
            )
        return make_multi_labels(judgments, settings)
    classes = judgments.question.classes
    model = None if predictions is None else to_labels(predictions, classes=classes)
    made = make_labels(judgments, settings, predictions=model)
    return made.crowd if per_annotator else made.labels.change(crowd=made.crowd)


def aggregate(
    answers: object,
    name: str = "mean",
    *,
    predictions: object = None,
    seed: int = 0,
    **options: Any,
) -> LabelSet:
    """One label per item by an aggregator's name, from labels per person, votes, or answers.

    ``options`` are the aggregator's own; ``weights``, ``gold`` (true labels of some items) and
    ``initial_confusions`` may be dicts, files or tables.

    >>> votes = [("a", "ann", "cat"), ("a", "ben", "dog"), ("b", "ann", "dog")]
    >>> table = [dict(zip(("item", "annotator", "label"), vote)) for vote in votes]
    >>> aggregate(table, "vote-shares")["b"]
    {'cat': 0.0, 'dog': 1.0}
    """
    crowd = (
        answers
        if isinstance(answers, CrowdLabels | Votes)
        else label(to_judgments(answers), per_annotator=True)
    )
    model = None if predictions is None else to_labels(predictions, classes=crowd.classes)
    found = run_aggregator(
        crowd, name, rng=np.random.default_rng(seed), predictions=model, **read_given(options)
    ).labels
    return found.change(crowd=crowd) if isinstance(crowd, CrowdLabels) else found


def simulate(
    kind: str,
    labels: object,
    *,
    per_item: int = 6,
    people: int | None = None,
    fit: object = None,
    extend: bool = False,
    vectors: File | None = None,
    words: File | None = None,
    distances: File | None = None,
    seed: int = 0,
    **parameters: float,
) -> Judgments | Comparisons:
    """Answers of simulated people about ``labels``; every row and the provenance call them so.

    ``fit`` are real answers to fit the people to, otherwise ``parameters`` make them; with
    ``extend`` the real answers stay and only the other items get simulated ones.

    >>> seen = LabelSet(("a", "b"), ("cat", "dog"), [[0.9, 0.1], [0.5, 0.5]])
    >>> answers = simulate("voters", seen, per_item=3)
    >>> len(answers), answers.table["simulated"].all()
    (6, True)
    """
    seen = to_labels(labels)
    real = None if fit is None else to_judgments(fit)
    if extend and real is None:
        raise DataError("There is nothing to extend: give the real answers as well (fit).")
    settings = SimulationSettings(
        kind,
        per_item=per_item,
        annotators=people,
        parameters=parameters,
        distances=choose_distances(
            seen.classes, vectors=_path(vectors), words=_path(words), distances=_path(distances)
        ),
        items="without answers" if extend else "all",
    )
    return run_simulation(settings, seen, real=real, rng=np.random.default_rng(seed)).answers


class Description(dict[str, Any]):
    """What ``describe`` found, as plain values by name; printed, its main numbers as lines."""

    def lines(self) -> list[str]:
        """The main numbers in words."""
        people = "people not recorded" if self["people"] is None else f"{self['people']:,} people"
        told = [
            f"{self['judgments']:,} answers about {self['items']:,} items, {people}"
            + (" (simulated)" if self["simulated"] else ""),
            f"{len(self['question']['classes']):,} classes, asked as {self['question']['kind']}",
        ]
        if self["per_item"]:
            told.append(f"{self['per_item']['median']:g} answers per item (median)")
        for row in self["agreement"]:
            if row["value"] is not None:
                told.append(f"{row['name']}: {row['value']:.3f}")
        if "doubt_within_answers" in self["labels"]:
            told.append(
                f"doubt within answers: {self['labels']['doubt_within_answers']:.3f} nats, "
                f"disagreement between them: {self['labels']['disagreement_between_answers']:.3f}"
            )
        told += [f"{row['about']}: {row['count']:,}" for row in self["oddities"]]
        told += [f"{row['what']}: {row['example'] or row['count']}" for row in self["remarks"]]
        if self["rejected"]["count"]:
            told.append(f"{self['rejected']['count']:,} rows could not be read")
        return told

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{escape(line)}</li>" for line in self.lines())
        return f"<ul>{rows}</ul>"


def describe(
    answers: object, *, exclude: Sequence[str | Rule] = (), seed: int = 0, **reading: Any
) -> Description:
    """What was collected: classes with counts, people, times, agreement, oddities.

    >>> votes = [("a", "ann", "cat"), ("a", "ben", "dog"), ("b", "ann", "dog")]
    >>> table = [dict(zip(("item", "annotator", "label"), vote)) for vote in votes]
    >>> found = describe(table)
    >>> found["judgments"], found["people"], found["items"]
    (3, 2, 2)
    """
    rules = [rule_with(one) if isinstance(one, str) else one for one in exclude]
    judgments = to_judgments(answers, **reading)
    return Description(describe_judgments(judgments, rules=rules, rng=np.random.default_rng(seed)))


def write(what: object, path: File, format: str | None = None) -> Path:
    """Write answers, labels, or any table to a file; returns its path.

    Answers go to ``format``, by default our own; labels to Parquet or CSV.
    """
    target = Path(path)
    match what:
        case LabelSet() | CrowdLabels() | MultiLabelSet():
            write_labels(what, target)
        case Judgments():
            write_answers(what, target, format or "sfumato")
        case Comparisons():
            write_answers(what, target, format or "comparisons")
        case MixJudgments():
            write_answers(what, target, format or "mixes")
        case _ if hasattr(what, "write"):
            what.write(target)
        case _:
            raise DataError(
                f"A {type(what).__name__} cannot be written; answers, labels and estimates can."
            )
    return target


def _path(file: File | None) -> Path | None:
    return None if file is None else Path(file)
