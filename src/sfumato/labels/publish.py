"""Publish judgments with the labels they make, as a Hugging Face dataset folder."""

from dataclasses import replace
from pathlib import Path

from sfumato.errors import DataError
from sfumato.judgments.formats.hf import (
    DATA,
    LABELS,
    Publication,
    new_folder,
    write_metadata,
    write_tables,
)
from sfumato.judgments.judgments import Judgments
from sfumato.labels.build import DEFAULT_RECIPE
from sfumato.labels.files import write_labels
from sfumato.labels.labelset import LabelSet
from sfumato.labels.make import LabelSettings, make_labels


def publish(
    judgments: Judgments,
    folder: str | Path,
    about: Publication | None = None,
    *,
    labels: LabelSet | None = None,
) -> list[str]:
    """Write a new folder: judgments, annotators, labels, the card and Croissant metadata.

    Without ``labels`` they are the mean of each item's answers, read by the usual recipe of the
    question; judgments that make no label are published without any. Gives back the names of the
    tables.
    """
    folder, about = Path(folder), about or Publication()
    about = replace(about, title=about.title or folder.name)
    made = "Given by the publisher."
    if labels is None:
        labels, made = _usual_labels(judgments)
    with new_folder(folder) as part:
        write_tables(judgments, part)
        if labels is not None:
            write_labels(labels, part / DATA / LABELS)
        return write_metadata(judgments, part, about, labels_are=made)


def _usual_labels(judgments: Judgments) -> tuple[LabelSet | None, str]:
    recipe = DEFAULT_RECIPE[judgments.question.kind]
    made = f"Recipe {recipe}, mean over the annotators of an item (what people say)."
    try:
        return make_labels(judgments, LabelSettings(recipe)).labels, made
    except DataError:  # practice trials only, or answers that state nothing
        return None, ""
