"""``sfumato label``: judgments become label distributions."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

import sfumato.cli.options as given
from sfumato.cli.printing import print_result
from sfumato.cli.printing import progress
from sfumato.cli.reading import names_in, quality_rules, read_judgments, read_options

if TYPE_CHECKING:
    from sfumato.judgments.judgments import Judgments
    from sfumato.labels.make import Labelling

__all__ = ["label"]


def label(
    file: given.File,
    recipe: given.Recipe,
    output: given.LabelOutput,
    format_: given.Format = "sfumato",
    gamma: given.Gamma = None,
    rule: given.Reading = None,
    vectors: given.Vectors = None,
    words: given.Words = None,
    distances: given.Distances = None,
    confusions: given.Confusions = None,
    keep: given.Keep = "",
    exclude: given.Exclude = "",
    per_annotator: given.PerAnnotator = False,
    aggregate: given.Aggregate = None,
    predictions: given.Predictions = None,
    intervals: given.Intervals = None,
    left_out: given.LeftOut = None,
    classes: given.Classes = None,
    question: given.QuestionKind = None,
    strict: given.Strict = False,
    key: given.Key = None,
    seed: given.Seed = 0,
    as_json: given.AsJson = False,
) -> None:
    """Turn judgments into label distributions."""
    import sfumato.cli.printing as show
    from sfumato.labels.files import read_labels
    from sfumato.labels.make import LabelSettings, make_labels

    files = _Files(output, intervals, left_out, confusions)
    _check_usage(files, recipe=recipe, aggregate=aggregate, per_annotator=per_annotator)
    settings = LabelSettings(
        recipe,
        gamma=gamma,
        rule=_reading(rule),
        vectors=vectors,
        words=words,
        distances=distances,
        keep=names_in(keep),
        exclude=quality_rules(exclude),
        aggregate=aggregate or "mean",
        interval="default" if intervals else "none",
        seed=seed,
    )
    judgments = read_judgments(file, format_, read_options(classes, question, key), strict)
    model = None
    if predictions is not None:
        model = read_labels(predictions, classes=judgments.question.classes)
    with progress("Labelling"):
        made = make_labels(judgments, settings, predictions=model)
    with progress("Writing"):
        _write(made, judgments, files, per_annotator=per_annotator)
    summary = show.summary_of(judgments, made, per_annotator=per_annotator)
    print_result({"written": str(output), **summary}, as_json, show.labelled)


@dataclass(frozen=True)
class _Files:
    """Where to write; only the labels must be."""

    labels: Path
    intervals: Path | None
    left_out: Path | None
    confusions: Path | None


def _check_usage(files: _Files, *, recipe: str, aggregate: str | None, per_annotator: bool) -> None:
    """Refuse what cannot be done before a long file is read."""
    from sfumato.labels.aggregate import AGGREGATORS
    from sfumato.labels.build import RECIPES
    from sfumato.labels.files import check_output
    from sfumato.names import find

    if per_annotator and aggregate:
        raise typer.BadParameter("--per-annotator and --aggregate exclude each other.")
    if per_annotator and files.intervals:
        raise typer.BadParameter("--per-annotator has nothing to give --intervals of.")
    for path in (files.labels, files.intervals, files.left_out, files.confusions):
        if path is not None:
            check_output(path)
    find(RECIPES, recipe, what="recipe")
    find({**AGGREGATORS, "auto": None}, aggregate or "mean", what="aggregator")


def _reading(name: str | None) -> Literal["consistent", "released"] | None:
    from sfumato.names import find

    rules: dict[str, Literal["consistent", "released"]] = {
        "consistent": "consistent",
        "released": "released",
    }
    return None if name is None else find(rules, name, what="rule")


def _write(
    made: "Labelling", judgments: "Judgments", files: _Files, *, per_annotator: bool
) -> None:
    from sfumato.labels.build.distances import confusion_distances, write_distances
    from sfumato.labels.files import write_labels, write_table
    from sfumato.labels.make import everything_left_out, interval_table

    write_labels(made.crowd if per_annotator else made.labels, files.labels)
    if files.intervals:
        write_table(interval_table(made.aggregation), files.intervals)
    if files.left_out:
        write_table(everything_left_out(judgments, made), files.left_out)
    if files.confusions:
        write_distances(confusion_distances(made.labels), files.confusions)
