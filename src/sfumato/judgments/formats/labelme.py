"""Turn the crowd labels of LabelMe, one row an image and one column a person, into judgments."""

from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.judgments.formats.arrays import chosen_answers, load_array
from sfumato.judgments.formats.class_names import LABELME
from sfumato.judgments.formats.reading import ReadOptions
from sfumato.judgments.judgments import Judgments, Rejected, judgments_from
from sfumato.judgments.question import ask
from sfumato.provenance import Step, fingerprint_file

__all__ = ["read_labelme"]

NOT_ASKED = -1


def read_labelme(path: Path, options: ReadOptions) -> Judgments:
    """Read ``answers.npy``: 2,547 labels of 59 people for 1,000 images, 8 classes.

    Items and annotators are called by their row and column, classes by their names in
    the data set unless the options rename them. ``labels_train.npy`` beside it, when there,
    gives ``gold``.
    """
    answers = load_array(path, dimensions=2)  # (items, annotators)
    classes = options.classes or LABELME
    row, person = np.nonzero(answers != NOT_ASKED)
    chosen = answers[row, person]
    good = (chosen >= 0) & (chosen < len(classes)) & (chosen % 1 == 0)
    rejected = [
        Rejected(
            path.name,
            int(row[at]) + 1,
            f"column {person[at]}",
            f"not a class number, 0 to {len(classes) - 1}",
            f"{chosen[at]:g}",
        )
        for at in np.flatnonzero(~good)
    ]
    row, person, chosen = row[good], person[good], chosen[good].astype(np.int64)
    inputs = {path.name: fingerprint_file(path)}
    columns = {
        "item": pl.Series(row).cast(pl.String),
        "annotator": pl.Series(person).cast(pl.String),
        "answer": chosen_answers(classes, chosen),
    }
    beside = path.with_name("labels_train.npy")
    if beside.exists():
        columns["gold"] = _gold(beside, len(answers), classes).gather(row)
        inputs[beside.name] = fingerprint_file(beside)
    options.progress(len(answers), len(answers))
    return judgments_from(
        ask("choose-one", classes),
        pl.DataFrame(columns),
        file=path.name,
        lines=row + 1,
        rejected=rejected,
        provenance=(Step("read labelme", {}, inputs),),
    )


def _gold(path: Path, n_items: int, classes: tuple[str, ...]) -> pl.Series:
    truth = load_array(path, dimensions=1)
    if len(truth) != n_items or not np.isin(truth, np.arange(len(classes))).all():
        raise DataError(
            f"{path.name} beside the answers holds {len(truth)} labels from {truth.min()} to "
            f"{truth.max()}; expected {n_items} from 0 to {len(classes) - 1}."
        )
    return pl.Series(classes, dtype=pl.String).gather(truth.astype(np.int64))
