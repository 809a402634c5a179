"""The options of the commands, each with its help; several commands share some."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Aggregate",
    "AnyOutput",
    "AsJson",
    "Classes",
    "CompareAggregators",
    "Confusions",
    "DatasetName",
    "Distances",
    "Draws",
    "Ensemble",
    "Exclude",
    "File",
    "FitTo",
    "Format",
    "Gamma",
    "Intervals",
    "Keep",
    "Key",
    "LabelOutput",
    "LeftOut",
    "Logits",
    "Metrics",
    "Original",
    "OwnPictures",
    "Parameters",
    "People",
    "PeopleDraws",
    "PeoplesLabels",
    "PerAnnotator",
    "PerItem",
    "PictureData",
    "PictureSplit",
    "PictureTable",
    "Predictions",
    "QuestionKind",
    "Reading",
    "Recipe",
    "SaveModel",
    "SavedModel",
    "ScoresOutput",
    "Seed",
    "SeenLabels",
    "SharedItems",
    "SimulatorName",
    "StoredPredictions",
    "Strata",
    "Strict",
    "ToFormat",
    "Vectors",
    "WhatIf",
    "Words",
]

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of judgments.")]
Format = Annotated[str, typer.Option("--format", help="What kind of file it is (docs/formats.md).")]
Classes = Annotated[
    Path | None, typer.Option("--classes", help="Text file with the classes in order, one a line.")
]
QuestionKind = Annotated[
    str | None, typer.Option("--question", help="What was asked, where the file does not say.")
]
Strict = Annotated[bool, typer.Option("--strict", help="A malformed row is an error.")]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="SFUMATO_KEY",
        help="Secret of the study: the same key gives the same pseudonyms.",
        show_envvar=True,
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn.")]
DatasetName = Annotated[str, typer.Argument(help="A data set of `sfumato data list`.")]
PictureData = Annotated[
    str | None, typer.Option("--data", help="A data set of pictures, such as digits or mnist.")
]
OwnPictures = Annotated[
    Path | None, typer.Option("--images", help="Folder or zip archive of one's own pictures.")
]
PictureTable = Annotated[
    Path | None, typer.Option("--table", help="CSV of the pictures: item, label[, split].")
]
PictureSplit = Annotated[
    str | None, typer.Option("--split", help="Only pictures of this split of the table.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

Recipe = Annotated[
    str, typer.Option("--recipe", help="How one answer becomes a distribution (docs/label.md).")
]
LabelOutput = Annotated[
    Path, typer.Option("--output", "-o", help="Where to write: .parquet or .csv.")
]
Gamma = Annotated[
    float | None,
    typer.Option("--gamma", help="Mass kept back for classes not ruled out (clamp; 0.1)."),
]
Reading = Annotated[
    str | None,
    typer.Option("--rule", help="How contradictions are read: consistent or released."),
]
Vectors = Annotated[
    Path | None,
    typer.Option("--vectors", help="File of word vectors: how far the classes are apart."),
]
Words = Annotated[
    Path | None,
    typer.Option("--words", help="CSV class,word: which words stand for the classes."),
]
Distances = Annotated[
    Path | None,
    typer.Option("--distances", help="Table of class distances (.csv), instead of --vectors."),
]
Confusions = Annotated[
    Path | None,
    typer.Option(
        "--confusions", help="Also write how far classes are apart by what people confuse (.csv)."
    ),
]
PeopleDraws = Annotated[
    int, typer.Option("--draws", help="How often people are resampled (--check).")
]
Keep = Annotated[
    str,
    typer.Option("--keep", help="Leave in: repeats, duplicates, checks, practice."),
]
Exclude = Annotated[
    str, typer.Option("--exclude", help="Quality rules to apply first, comma-separated.")
]
PerAnnotator = Annotated[
    bool, typer.Option("--per-annotator", help="One row a judgment instead of an item.")
]
Aggregate = Annotated[
    str | None,
    typer.Option("--aggregate", help="How people become one label (docs/aggregate.md; mean)."),
]
Predictions = Annotated[
    Path | None,
    typer.Option("--predictions", help="A classifier's predictions (crowdlab)."),
]
WhatIf = Annotated[
    str,
    typer.Option("--what-if", help="Quality rules to try, comma-separated (docs/quality.md)."),
]
CompareAggregators = Annotated[
    bool,
    typer.Option("--compare-aggregators", help="Score aggregators by held-out vote log-loss."),
]
SimulatorName = Annotated[
    str, typer.Argument(metavar="KIND", help="Who is simulated (docs/simulate.md).")
]
SeenLabels = Annotated[
    Path, typer.Option("--labels", help="The label distributions that people would see.")
]
PerItem = Annotated[int, typer.Option("--per-item", help="Answers an item.")]
People = Annotated[
    int | None, typer.Option("--people", help="How many simulated people take turns.")
]
Parameters = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter, as name=number; repeatable.")
]
FitTo = Annotated[
    Path | None, typer.Option("--fit", help="Real judgments to fit the simulated people to.")
]
SavedModel = Annotated[
    Path | None, typer.Option("--model", help="A model saved before, instead of --fit.")
]
SaveModel = Annotated[
    Path | None, typer.Option("--save-model", help="Where to keep what was fitted (.json).")
]
AnyOutput = Annotated[Path, typer.Option("--output", "-o", help="Where to write.")]
ToFormat = Annotated[str, typer.Option("--to", help="The format to write (docs/formats.md).")]
Intervals = Annotated[
    Path | None,
    typer.Option("--intervals", help="Also write how sure each probability is (.csv, .parquet)."),
]
LeftOut = Annotated[
    Path | None,
    typer.Option("--left-out", help="Also write what made no label, and why (.csv, .parquet)."),
]
PeoplesLabels = Annotated[Path, typer.Option("--labels", help="People's label distributions.")]
StoredPredictions = Annotated[
    list[Path],
    typer.Option("--predictions", help="A model's stored predictions; repeatable."),
]
Original = Annotated[
    Path | None, typer.Option("--original", help="The data set's own (hard) labels.")
]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", help="Only this metric; repeatable.")
]
Strata = Annotated[
    list[str] | None,
    typer.Option("--stratum", help="Only this stratum, beside all items; repeatable."),
]
Draws = Annotated[int, typer.Option("--draws", help="How often items are resampled.")]
Logits = Annotated[
    bool, typer.Option("--logits", help="The predictions are scores before the softmax.")
]
Ensemble = Annotated[
    bool, typer.Option("--ensemble", help="Also score the mean of the given models.")
]
SharedItems = Annotated[
    bool, typer.Option("--shared-items", help="Leave out items without a prediction.")
]
ScoresOutput = Annotated[
    Path | None, typer.Option("--output", "-o", help="Also write all scores (.parquet or .csv).")
]
