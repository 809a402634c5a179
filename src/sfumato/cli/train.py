"""``sfumato train`` and ``sfumato predict``: items and labels to a model, items to its beliefs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato.cli.options as given
from sfumato.cli.options import check_output, refuse_existing
from sfumato.cli.printing import (
    format_number,
    notify,
    print_line,
    print_result,
    progress,
)
from sfumato.errors import require_packages
from sfumato.names import format_count

if TYPE_CHECKING:
    from sfumato.learn.model import Model

Source = Annotated[
    Path,
    typer.Argument(
        metavar="ITEMS",
        help="Folder or zip of pictures or texts, or .npy, .npz, .csv, .jsonl, .parquet.",
    ),
]
TrainingLabels = Annotated[
    Path, typer.Option("--labels", help="Label file: distributions, or item and label.")
]
Encoder = Annotated[
    str | None,
    typer.Option("--encoder", help="Texts to vectors: tf-idf, minilm, a model, a file of vectors."),
]
FineTune = Annotated[
    bool, typer.Option("--fine-tune", help="Let the encoder's network learn too; a GPU helps.")
]
EncoderRate = Annotated[
    float, typer.Option("--encoder-rate", help="Its learning rate where it does.")
]
NetworkName = Annotated[str | None, typer.Option("--network", help="Which network (see below).")]
ModelOutput = Annotated[
    Path, typer.Option("--output", "-o", help="Folder, or .safetensors file, to write.")
]
Epochs = Annotated[int, typer.Option("--epochs", min=1, help="Passes over the items, at most.")]
BatchSize = Annotated[int, typer.Option("--batch-size", min=1, help="Items per step.")]
Rate = Annotated[
    float | None, typer.Option("--learning-rate", help="0.001 for images, 0.01 for vectors.")
]
Augment = Annotated[
    list[str] | None,
    typer.Option("--augment", help="Change images each time: crop, flip, cutout; repeatable."),
]
Validation = Annotated[
    float | None,
    typer.Option(
        "--validation", help="Share of items to choose the epoch on; 0.1 from 100 items on."
    ),
]
Patience = Annotated[
    int, typer.Option("--patience", min=1, help="Epochs without a better validation loss.")
]
Presentation = Annotated[
    str, typer.Option("--presentation", help="What is shown: fixed, sampled, one-annotator.")
]
LearnPeople = Annotated[
    bool, typer.Option("--people", help="Learn each annotator too; labels per annotator.")
]
PredictPeople = Annotated[
    bool, typer.Option("--people", help="What each annotator would answer, one row per person.")
]
PictureSize = Annotated[
    int | None, typer.Option("--size", min=1, help="Height and width to resize pictures to.")
]
IdColumn = Annotated[str | None, typer.Option("--item", help="The column of ids in a table.")]
Columns = Annotated[
    str | None, typer.Option("--columns", help="The columns of numbers in it, between commas.")
]
TextColumns = Annotated[
    str | None, typer.Option("--text", help="The columns of texts in it, between commas.")
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda, cuda:1, …")]
ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="What train wrote, or a model of a run.")
]
PredictionsOutput = Annotated[
    Path, typer.Option("--output", "-o", help="Predictions to write (.parquet or .csv).")
]


def train(
    items: Source,
    labels: TrainingLabels,
    output: ModelOutput,
    network: NetworkName = None,
    encoder: Encoder = None,
    fine_tune: FineTune = False,
    encoder_rate: EncoderRate = 2e-5,
    epochs: Epochs = 60,
    batch_size: BatchSize = 64,
    learning_rate: Rate = None,
    augment: Augment = None,
    validation: Validation = None,
    patience: Patience = 10,
    presentation: Presentation = "fixed",
    people: LearnPeople = False,
    size: PictureSize = None,
    item: IdColumn = None,
    columns: Columns = None,
    text: TextColumns = None,
    seed: given.Seed = 0,
    device: Device = "auto",
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """Train a network on items and people's labels of them."""
    from sfumato.cli.options import names_in
    from sfumato.items.load import load_items
    from sfumato.learn.model import model_files
    from sfumato.learn.model import train as train_model

    require_packages("Training", "torch", "safetensors")
    refuse_existing(*model_files(output), overwrite=overwrite)
    named, fields = (None if each is None else names_in(each) for each in (columns, text))
    loaded = load_items(items, item=item, columns=named, text=fields, size=size)
    with progress("Training") as advance:
        model = train_model(
            loaded,
            labels,
            network=network,
            encoder=encoder,
            fine_tune=fine_tune,
            encoder_rate=encoder_rate,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            augment=augment or (),
            validation=validation,
            patience=patience,
            presentation=presentation.replace("-", " "),
            people=people,
            seed=seed,
            device=device,
            progress=advance,
        )
    model.save(output)
    for remark in model.remarks:
        notify(remark)
    print_result(_trained(model, output), as_json, _print_trained)


def predict(
    model: ModelPath,
    items: Source,
    output: PredictionsOutput,
    people: PredictPeople = False,
    item: IdColumn = None,
    device: Device = "auto",
    overwrite: given.Overwrite = False,
    as_json: given.AsJson = False,
) -> None:
    """What a trained model believes about items."""
    from sfumato.labels.files import SUFFIXES, write_labels
    from sfumato.labels.labelset import CrowdLabels, LabelSet
    from sfumato.learn.model import Model

    require_packages("Predicting", "torch", "safetensors")
    check_output(output, SUFFIXES, what="Predictions are", overwrite=overwrite)
    opened = Model.load(model)
    shown = opened.read_items(items, item=item)
    if people:
        beliefs: LabelSet | CrowdLabels = opened.predict_people(shown, device=device)
    else:
        beliefs = opened.predict(shown, device=device)
    write_labels(beliefs, output)
    for remark in shown.remarks:
        notify(remark)
    found = {
        "predictions": str(output),
        "model": str(model),
        "network": opened.network,
        "items": len(shown),
        "classes": list(beliefs.classes),
        **({"people": len(beliefs.annotators)} if isinstance(beliefs, CrowdLabels) else {}),
    }
    print_result(found, as_json, _print_predicted)


def _trained(model: "Model", output: Path) -> dict[str, Any]:
    """What is printed, as plain values."""
    return {
        "model": str(output),
        "network": model.network,
        "encoder": None if model.encoder is None else model.encoder.name,
        "classes": list(model.classes),
        "trained_on": model.trained_on,
        "validated_on": model.validated_on,
        "epochs": len(model.history),
        "best_epoch": model.best_epoch,
        "loss": model.loss,
        "validation_loss": model.validation_loss,
        "remarks": list(model.remarks),
    }


def _print_trained(found: dict[str, Any]) -> None:
    learnt = format_count(found["trained_on"], "item")
    encoder = "" if found["encoder"] is None else f" with {found['encoder']}"
    print_line(
        f"Trained {found['network']}{encoder} on {learnt}, {len(found['classes'])} classes: "
        f"cross-entropy {format_number(found['loss'])} in epoch {found['best_epoch']} of "
        f"{found['epochs']}."
    )
    if found["validation_loss"] is not None:
        chosen = format_count(found["validated_on"], "item")
        print_line(
            f"On {chosen} set aside, on which the epoch was chosen: cross-entropy "
            f"{format_number(found['validation_loss'])}."
        )
    print_line(f"The model is in {found['model']}.")


def _print_predicted(found: dict[str, Any]) -> None:
    count = format_count(found["items"], "item")
    what = f"what {found['network']} believes about {count}"
    if "people" in found:
        what = f"what {format_count(found['people'], 'annotator')} would answer about {count}"
    print_line(f"Wrote {what} to {found['predictions']}.")
