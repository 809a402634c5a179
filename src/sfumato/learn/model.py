"""Train a model on items and labels, keep it as files, and ask it what it believes.

Torch is imported when something is trained or predicted, not before: a model can be opened, copied
and looked at without it.
"""

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, missing_package
from sfumato.items.items import (
    Encoder,
    Id,
    Items,
    Kind,
    LabelledItems,
    Naming,
    as_ids,
    describe_kind,
    join_labels,
)
from sfumato.items.load import holds_files, holds_table, load_items
from sfumato.items.pictures import Size
from sfumato.judgments.judgments import Judgments
from sfumato.labels.files import load_labels, read_crowd_labels
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.verbs import label
from sfumato.learn.encoders import FineTuned, TorchEncoder, encoder_from, make_encoder
from sfumato.learn.people import PersonOffsets, fit_offsets
from sfumato.names import find
from sfumato.provenance import Provenance, Setting, Step, from_json, to_json

if TYPE_CHECKING:
    import torch
    from torch import nn

    from sfumato.learn.examples import Examples, NormalisedNetwork
    from sfumato.learn.fit import Presentation
    from sfumato.learn.recipe import Augmentation, Recipe
    from sfumato.learn.train import TrainedNetwork
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from sfumato.learn.networks import ImageShape

FORM = 1
"""The form of the files, counted up when it changes."""

PACKAGES = ("sfumato", "numpy", "torch", "safetensors")
"""Whose versions a model remembers."""

IMAGES_NETWORK, VECTORS_NETWORK = "resnet-8", "simple-ffn"
"""What is trained unless told otherwise; the second also on images too small for the first."""

IMAGES_RATE, VECTORS_RATE = 1e-3, 1e-2
"""Learning rates unless told otherwise: a vector's layers are few, and so are its steps."""

ENCODER_RATE = 2e-5
"""Learning rate of an encoder that is fine-tuned: so small that it forgets little."""

ENCODER_WEIGHTS = "encoder/"
"""What the names of its weights begin with among those of a model."""

VALIDATION_SHARE, FEWEST_TO_SHARE = 0.1, 100
"""Unless told otherwise, a tenth of the labelled items is set aside to choose the epoch on; nothing
where there are fewer than so many."""


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A trained network with everything that is needed to use it: ``save``, ``load``, ``predict``.

    Made by ``train``, by ``Model.load``, or by a study, which keeps every model it trains.
    """

    network: str
    """Its name in the registry of networks."""
    classes: tuple[str, ...]
    kind: Kind
    """What the network reads; an encoder before it reads something else."""
    shape: tuple[int, ...]
    """The shape of one item."""
    weights: Mapping[str, NDArray[Any]]
    """All weights and statistics, with the mean and deviation that inputs are scaled by."""
    columns: tuple[str, ...] = ()
    """What the numbers of a vector are called, where they had names."""
    naming: Naming | None = None
    """What the labels called files by; predictions for files are called so too."""
    size: Size | None = None
    """Height and width that pictures are brought to when they are read from files."""
    encoder: Encoder | None = None
    """What turns texts or images into the vectors that the network reads."""
    people: PersonOffsets | None = None
    """How annotators differ, where the model learnt to predict each of them."""
    recipe: Mapping[str, Setting] = field(default_factory=dict)
    """How it was trained."""
    history: tuple[Mapping[str, float], ...] = ()
    """One row per epoch: losses and learning rate."""
    best_epoch: int = 0
    """The epoch whose weights these are."""
    trained_on: int = 0
    """How many items it learnt from."""
    validated_on: int = 0
    """How many items the epoch was chosen on."""
    remarks: tuple[str, ...] = ()
    """What was left out of its training, a sentence each."""
    provenance: Provenance = ()
    """Where its labels came from, and how it was trained."""
    versions: Mapping[str, str] = field(default_factory=lambda: _versions())

    def __post_init__(self) -> None:
        for name in ("classes", "shape", "columns", "history", "remarks", "provenance"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.size is not None:
            object.__setattr__(self, "size", tuple(self.size))

    def __repr__(self) -> str:
        return f"<{self._summary()}>"

    def _repr_html_(self) -> str:
        told = {
            "network": self.network,
            "classes": ", ".join(self.classes),
            "reads": self._reads,
            "trained on": f"{self.trained_on:,} items",
            "loss": _shown(self.loss),
            "validation loss": _shown(self.validation_loss),
            "left out": " ".join(self.remarks),
        }
        rows = [f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in told.items()]
        return f"<table>{''.join(rows)}</table>"

    def _summary(self) -> str:
        learnt = f", trained on {self.trained_on:,} items" if self.trained_on else ""
        left = f"; {' '.join(self.remarks)}" if self.remarks else ""
        knows = "" if self.people is None else f", knows {len(self.people.annotators):,} people"
        about = f"{self.network}, {len(self.classes)} classes, {self._reads}"
        return f"Model: {about}{learnt}{knows}{left}"

    @property
    def _reads(self) -> str:
        if self.encoder is None:
            return describe_kind(self.kind, self.shape)
        fields = getattr(self.encoder, "fields", ())
        return f"{describe_kind(self.encoder.reads, (), fields)} by {self.encoder.name}"

    @property
    def loss(self) -> float | None:
        """Mean cross-entropy to the training labels in the epoch that was kept."""
        return self._figure("loss")

    @property
    def validation_loss(self) -> float | None:
        """Mean cross-entropy to the labels that the epoch was chosen on; None without such."""
        return self._figure("validation_loss")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that decides what it predicts."""
        total = hashlib.sha256(json.dumps(self._essentials(), sort_keys=True).encode())
        for name in sorted(self.weights):
            array = np.ascontiguousarray(self.weights[name])
            total.update(json.dumps([name, array.dtype.str, array.shape]).encode())
            total.update(array.reshape(-1).view(np.uint8).data)
        return total.hexdigest()

    def predict(self, items: object, *, device: str = "auto") -> LabelSet:
        """What the model believes about each item, as labels that nobody stands behind.

        ``items`` are ``Items`` or anything that ``load_items`` reads, as a folder of pictures.
        Columns of vectors are matched by name. The same items give the same numbers to the bit,
        also after ``save`` and ``load``.
        """
        _require_torch("Predicting with a network")
        from sfumato.learn.examples import device_named, predict, repeatable

        place = device_named(device)
        shown = self._fitting(self.read_items(items), place)
        with repeatable(place, 0):  # as when it was trained: bits depend on threads
            beliefs = predict(self._network(place), as_examples(shown), self.classes)
        about: dict[str, Setting] = {
            "network": self.network,
            "model": self.fingerprint,
            "items": shown.fingerprint,
            "count": len(shown),
        }
        return replace(beliefs, provenance=(*self.provenance, Step("predict", about)))

    def predict_people(
        self,
        items: object,
        people: Sequence[Id] | CrowdLabels | None = None,
        *,
        device: str = "auto",
    ) -> CrowdLabels:
        """What each annotator would answer about each item: one row per item and person.

        ``people`` are all annotators that were learnt, unless told otherwise; answers
        (``CrowdLabels``) stand for their own items and people. Somebody unknown answers as the
        average does. Needs a model that was trained with ``people=True``.
        """
        if self.people is None:
            raise DataError(
                "The model did not learn to tell people apart; train it with people and answers "
                "that name their annotators."
            )
        return self.people.predict(self.predict(items, device=device), people)

    def read_items(self, source: object, *, item: str | None = None) -> Items:
        """Items as the model needs them: pictures in its size, of a table its columns or fields.

        ``item`` is the column of ids in a table.
        """
        if holds_files(source):
            return load_items(source, size=self.size)
        fields = getattr(self.encoder, "fields", ())
        if fields and holds_table(source):
            return load_items(source, item=item, text=fields)
        if self.columns and holds_table(source):
            return load_items(source, item=item, columns=self.columns)
        return load_items(source, item=item)

    def save(self, path: Path | str) -> Path:
        """Write weights as safetensors and everything else as JSON; returns where.

        A name that ends in ``.safetensors`` is that file, with a ``.json`` beside it; any other is
        a folder that holds ``model.safetensors`` and ``model.json``.
        """
        _require_safetensors("Saving a model")
        from safetensors.numpy import save_file

        weights, about = model_files(Path(path))
        weights.parent.mkdir(parents=True, exist_ok=True)
        part = weights.with_name(f".{weights.name}.part")
        kept = dict(self.weights)
        if isinstance(self.encoder, FineTuned):
            kept |= {ENCODER_WEIGHTS + name: array for name, array in self.encoder.weights.items()}
        arrays = {name: np.ascontiguousarray(array) for name, array in kept.items()}
        try:
            save_file(arrays, part)
            part.replace(weights)
            part.write_text(json.dumps(self._told(), indent=1) + "\n", encoding="utf-8")
            part.replace(about)
        except OSError as error:
            raise DataError(f"The model cannot be written to {path}: {error}.") from None
        finally:
            part.unlink(missing_ok=True)
        return Path(path)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Open what ``save`` wrote, or a model in the folder ``models`` of a run.

        ``path`` is the folder, or either file, or their common name without the ending. Files that
        do not belong together are an error.
        """
        weights, about = _found(Path(path))
        told = _read_told(about)
        stored = _read_weights(weights)
        tuned = {
            name.removeprefix(ENCODER_WEIGHTS): stored.pop(name)
            for name in sorted(stored)
            if name.startswith(ENCODER_WEIGHTS)
        }
        try:
            model = cls(
                **{
                    **{name: told[name] for name in _TOLD if name in told},
                    "weights": stored,
                    "encoder": encoder_from(told["encoder"], tuned) if "encoder" in told else None,
                    "people": PersonOffsets.of_settings(told["people"], told["classes"])
                    if "people" in told
                    else None,
                    "provenance": from_json(told["provenance"]),
                }
            )
            expected = told["fingerprint"]
        except (KeyError, TypeError) as error:
            raise DataError(f"{about} does not describe a model: {error} is missing.") from None
        if model.fingerprint != expected:
            raise DataError(
                f"{about.name} and {weights.name} in {about.parent} do not belong together: one of "
                "them was changed or replaced after the model was saved. Save the model again."
            )
        return model

    def to_onnx(self, path: Path | str) -> Path:
        """Write the model for other runtimes, as ONNX; returns where.

        Its input ``images`` has the shape (n, channels, height, width) and holds numbers from 0 to
        1; its input ``vectors`` the shape (n, numbers). Its output ``probabilities`` has the shape
        (n, classes). Scaling is part of it. The metadata ``classes`` names the classes.
        """
        _require_torch("Writing ONNX")
        try:
            import onnx  # noqa: F401
            import onnxscript  # noqa: F401
        except ImportError:
            raise missing_package("Writing ONNX", "onnxscript", "onnx") from None
        import torch

        path = Path(path)
        if not path.parent.is_dir():
            raise DataError(f"There is no folder {path.parent} to write {path.name} into.")
        write_onnx(
            self._network(torch.device("cpu")),
            self.kind,
            self._image_shape,
            path,
            about={"classes": json.dumps(self.classes), "sfumato": self.fingerprint},
        )
        return path

    def _figure(self, name: str) -> float | None:
        rows = [row for row in self.history if row["epoch"] == self.best_epoch]
        return rows[0].get(name) if rows else None

    def _essentials(self) -> dict[str, Any]:
        return {
            "network": self.network,
            "classes": list(self.classes),
            "kind": self.kind,
            "shape": list(self.shape),
            "columns": list(self.columns),
            "naming": self.naming,
            "size": None if self.size is None else list(self.size),
            **({} if self.encoder is None else {"encoder": self.encoder.settings()}),
            **({} if self.people is None else {"people": self.people.settings()}),
        }

    def _told(self) -> dict[str, Any]:
        return {
            "sfumato model": FORM,
            **self._essentials(),
            "scaling": _SCALING[self.kind if self.encoder is None else "encoded"],
            "recipe": dict(self.recipe),
            "trained_on": self.trained_on,
            "validated_on": self.validated_on,
            "best_epoch": self.best_epoch,
            "history": [dict(row) for row in self.history],
            "remarks": list(self.remarks),
            "provenance": to_json(self.provenance),
            "versions": dict(self.versions),
            "fingerprint": self.fingerprint,
        }

    @property
    def _image_shape(self) -> tuple[int, int, int]:
        """The shape as networks are built for it."""
        if self.kind == "vectors":
            return 1, 1, self.shape[0]
        height, width, channels = self.shape
        return height, width, channels

    def _network(self, device: "torch.device") -> "nn.Module":
        from sfumato.learn.train import restore_network

        return restore_network(
            self.network, self._image_shape, self.classes, self.weights, device
        ).eval()

    def _fitting(self, items: Items, device: "torch.device") -> Items:
        """The items in the form that was learnt, under the names that labels would use."""
        encoder = self.encoder
        if encoder is not None and items.kind == encoder.reads != self.kind:
            if isinstance(encoder, FineTuned):
                items = encoder.encode(items, device)
            else:
                items = encoder.encode(items)
        other = items.encoder
        if encoder and other and other.fingerprint != encoder.fingerprint:
            raise DataError(
                f"The model reads vectors by {encoder.name}; these were made by {other.name} from "
                "other items or weights. Give the items themselves."
            )
        if items.kind == self.kind == "images" and items.shape == (*self.shape[:2], 1):
            # grey pictures fill all colours, as they do among coloured ones
            items = replace(items, contents=np.repeat(items.contents, self.shape[2], axis=3))
        if items.kind == self.kind and self.columns and items.columns:
            items = _in_columns(items, self.columns)
        if (items.kind, items.shape) != (self.kind, self.shape):
            also = "" if encoder is None else f", made of {encoder.reads} by {encoder.name}"
            raise DataError(
                f"The model was trained on {describe_kind(self.kind, self.shape)}{also}; these are "
                f"{describe_kind(items.kind, items.shape, items.columns)}. Bring them into the "
                "same form."
            )
        return items if self.naming is None else items.named(self.naming)


_TOLD = (
    "network", "classes", "kind", "shape", "columns", "naming", "size", "recipe", "history",
    "best_epoch", "trained_on", "validated_on", "remarks", "versions",
)  # fmt: skip
"""What stands in the JSON file as it is."""

_SCALING = {
    "images": "pixels from 0 to 255 are divided by 255; then, by channel, the mean of the training "
    "images is subtracted and the result divided by their standard deviation (tensors mean, std)",
    "vectors": "from each number its mean over the training items is subtracted, and the result "
    "divided by its standard deviation (tensors mean, std)",
    "encoded": "from each number its mean over the training items is subtracted, and all are "
    "divided by one number, so that vectors are about one long (tensors mean, std)",
}


def train(
    items: object,
    labels: object,
    *,
    network: str | None = None,
    encoder: str | Path | Encoder | None = None,
    fine_tune: bool = False,
    encoder_rate: float = ENCODER_RATE,
    epochs: int = 60,
    batch_size: int = 64,
    learning_rate: float | None = None,
    optimizer: str = "adam",
    weight_decay: float = 0.0,
    augment: str | Sequence[str] = (),
    validation: float | Sequence[Id] | None = None,
    patience: int | None = 10,
    presentation: str = "fixed",
    people: bool = False,
    seed: int = 0,
    device: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Model:
    """Train a network on what people believe about items, by soft cross-entropy.

    ``items`` are ``Items`` or anything that ``load_items`` reads; ``labels`` are a ``LabelSet``,
    ``CrowdLabels``, a label file or a table. They are joined by id, in any order; what has no
    counterpart is left out and counted in ``Model.remarks``.

    ``network`` is a name of the registry (docs/networks.md): "resnet-8" for images and "simple-ffn"
    for vectors and for images below 8 × 8 pixels, unless told otherwise. ``encoder`` turns texts or
    images into vectors first (``encode``): "tf-idf" for texts, unless told otherwise, which is
    fitted to the items that are learnt and no others. The learning rate is 0.001 for images and
    0.01 for vectors. ``augment`` changes images anew each time they are shown
    ("crop", "flip", "cutout").

    ``fine_tune`` lets the network of the encoder (a sentence model, an image backbone) learn with
    the head, by ``encoder_rate``; a GPU is worth having. The model keeps the weights of both.

    ``validation`` is the share of labelled items that is set aside to choose the epoch on, or
    their ids, or 0 for none; left out, it is a tenth of 100 items or more. Training stops after
    ``patience`` epochs without a better validation loss, and the best epoch's weights are kept.
    ``presentation`` is what is shown each epoch: the same distribution ("fixed"), a label drawn
    from it ("sampled"), or the answer of "one annotator". With ``people`` each annotator gets an
    offset on top (``Model.predict_people``); the labels must then name annotators.

    The same ``seed`` gives the same model on the same kind of ``device`` ("auto": a GPU if there
    is one). ``progress`` is called with the epochs done and their number.
    """
    _require_torch("Training a network")
    _require_safetensors("Training a network")
    from sfumato.learn.examples import device_named
    from sfumato.learn.fit import Presentation
    from sfumato.learn.networks import NETWORKS

    if network is not None:
        find(NETWORKS, network, what="network")  # before anything is read
    place = device_named(device)
    shown = _option(presentation, Presentation, "presentation")
    changes = _changes(augment)
    _require_numbers(seed, patience)
    loaded = load_items(items)
    known, remarks = _labels(labels, single=people or shown == "one annotator")
    joined = join_labels(loaded, _labelled(known))
    learnt, chosen, notes = _parts(joined.items, known, validation, seed)
    originals = joined.items
    joined = replace(joined, items=_encoded(originals, encoder, learnt, fine_tune))
    numbers = {"epochs": epochs, "batch_size": batch_size, "weight_decay": weight_decay}
    kept = {"stop_after": patience if chosen else None, "weights": "best" if chosen else "last"}
    settings = {**numbers, **kept, "seed": seed}
    recipe = _recipe(joined.items, network, learning_rate, optimizer, changes, settings)
    task = (known, learnt, chosen, shown, place, progress)
    rate = encoder_rate if fine_tune else None
    trained, joined = _learn(recipe, originals, joined, rate, *task)
    sizes, said = (len(learnt), len(chosen)), (*remarks, *notes)
    model = _finished(trained, recipe, joined, known, shown, sizes, said)
    asked = originals if fine_tune else joined.items
    return _with_people(model, asked, known, device) if people else model


def _with_people(model: Model, items: Items, labels: LabelSet | CrowdLabels, device: str) -> Model:
    """The model with an offset for everybody who answered about these items."""
    assert isinstance(labels, CrowdLabels)
    return replace(model, people=fit_offsets(model.predict(items, device=device), labels))


def _option(name: str, options: Any, what: str) -> Any:
    """The option of that name; a wrong one is an error with the nearest."""
    return find({option: option for option in get_args(options)}, name, what=what)


def _changes(augment: str | Sequence[str]) -> "tuple[Augmentation, ...]":
    from sfumato.learn.recipe import Augmentation

    names = (augment,) if isinstance(augment, str) else augment
    return tuple(_option(name, Augmentation, "augmentation") for name in names)


def _recipe(
    items: Items,
    network: str | None,
    rate: float | None,
    optimizer: str,
    changes: "tuple[Augmentation, ...]",
    settings: Mapping[str, Any],
) -> "Recipe":
    """How these items are learnt: what is left open depends on their kind."""
    from sfumato.learn.recipe import Optimizer, Recipe

    if changes and items.kind != "images":
        raise DataError(f"Vectors cannot be changed by {changes[0]!r}; only images can.")
    usual = IMAGES_RATE if items.kind == "images" else VECTORS_RATE
    return Recipe(
        network=_suitable_network(items, network),
        optimizer=_option(optimizer, Optimizer, "optimizer"),
        learning_rate=usual if rate is None else rate,
        augment=changes,
        **settings,
    )


def _require_numbers(seed: int, patience: int | None) -> None:
    if seed < 0:
        raise DataError(f"The seed must be a whole number from 0 up, not {seed}.")
    if patience is not None and patience < 1:
        raise DataError(f"The patience must be at least 1 epoch, not {patience}.")


def _encoded(
    items: Items, encoder: str | Path | Encoder | None, learnt: Sequence[str], fine_tune: bool
) -> Items:
    """The items as networks can learn them; texts by tf-idf unless told otherwise."""
    if encoder is None and items.kind == "texts":
        encoder = "tf-idf"
    if encoder is None and fine_tune:
        raise DataError(
            f"Only the network of an encoder is fine-tuned, and these {items.kind} have none; give "
            "texts or images and name an encoder, as 'minilm' or 'efficientnet-lite0'."
        )
    if encoder is None:
        return items
    if items.kind == "vectors":
        raise DataError("Vectors need no encoder; give the texts or images, or leave it out.")
    made = make_encoder(encoder, items.take(learnt))
    if fine_tune and not isinstance(made, TorchEncoder | FineTuned):
        raise DataError(
            f"The encoder {made.name!r} cannot be fine-tuned, because it holds no network; take a "
            "sentence model, as 'minilm', or an image model."
        )
    return made.encode(items)


def as_examples(items: Items) -> "Examples":
    """Items as networks take them."""
    from sfumato.learn.examples import EncodedExamples, Examples, VectorExamples

    if items.kind == "texts":
        raise DataError("Networks learn images or vectors; encode the texts first.")
    if items.kind == "images":
        return Examples(items.ids, items.contents)
    with np.errstate(over="ignore"):  # told by the check of the examples
        vectors = items.contents.astype(np.float32)
    made = VectorExamples if items.encoder is None else EncodedExamples
    return made(items.ids, vectors[:, None, None, :])


def _labels(source: object, *, single: bool) -> tuple[LabelSet | CrowdLabels, tuple[str, ...]]:
    """The labels, with ``single`` those of each annotator, and what is to be said of them."""
    match source:
        case LabelSet(crowd=CrowdLabels() as crowd) if single:
            return crowd, ()  # the answers that these labels were made from
        case LabelSet() | CrowdLabels():
            return source, ()
        case Judgments():
            return (label(source, per_annotator=True) if single else label(source)), ()
    if single:
        return read_crowd_labels(source), ()
    loaded = load_labels(source)
    return loaded.labels, loaded.remarks


def _labelled(labels: LabelSet | CrowdLabels) -> tuple[str, ...]:
    if isinstance(labels, LabelSet):
        return labels.items
    return tuple(labels.items[code] for code in np.unique(labels.item))


def _suitable_network(items: Items, name: str | None) -> str:
    from sfumato.learn.networks import NETWORKS

    if items.kind == "vectors":
        known = {key: kind for key, kind in NETWORKS.items() if kind.takes_vectors}
        if name in NETWORKS and name not in known:
            raise DataError(
                f"The network {name!r} learns images; these are vectors. Networks for vectors: "
                f"{', '.join(known)}."
            )
        name = name or VECTORS_NETWORK
    elif name is None:
        small = min(items.shape[:2]) < NETWORKS[IMAGES_NETWORK].smallest_side
        name = VECTORS_NETWORK if small else IMAGES_NETWORK
    return name


def _parts(
    items: Items,
    labels: LabelSet | CrowdLabels,
    validation: float | Sequence[Id] | None,
    seed: int,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Items to learn from, items to choose the epoch on, and what is to be said about it."""
    from sfumato.learn.folds import class_of, set_aside

    if validation is None:
        if len(items) < FEWEST_TO_SHARE:
            note = (
                f"{len(items):,} labelled items are too few to set some aside: all epochs were "
                "trained, and the last was kept."
            )
            return items.ids, (), (note,)
        validation = VALIDATION_SHARE
    if isinstance(validation, str):
        raise DataError(f"The validation part is {validation!r}; give a share, or a list of ids.")
    if not isinstance(validation, int | float):
        return *_given_parts(items, as_ids(validation)), ()
    if validation == 0:
        return items.ids, (), ()
    mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
    strata = class_of(mean.take(items.ids))
    counts = Counter(strata.values())
    # the only item of a class is learnt from: what was never seen cannot be chosen on
    several = [item for item in items.ids if counts[strata[item]] > 1]
    if not several:
        return items.ids, (), ("No class has two items: nothing was set aside to choose on.",)
    rng = np.random.default_rng(seed)
    _, chosen = set_aside(several, validation, strata=strata, rng=rng)
    apart = set(chosen)
    return tuple(item for item in items.ids if item not in apart), chosen, ()


def _given_parts(
    items: Items, validation: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    missing = [item for item in validation if item not in items]
    if missing:
        raise DataError(
            f"Item {missing[0]!r} of the validation part is not among the labelled items "
            f"({len(missing)} of {len(validation)} are not)."
        )
    chosen = set(validation)
    learnt = tuple(item for item in items.ids if item not in chosen)
    if not learnt:
        raise DataError("All labelled items are in the validation part; leave some to learn from.")
    return learnt, tuple(item for item in items.ids if item in chosen)


def _learn(
    recipe: "Recipe",
    originals: Items,
    joined: LabelledItems,
    rate: float | None,
    labels: LabelSet | CrowdLabels,
    learnt: tuple[str, ...],
    *task: Any,
) -> "tuple[TrainedNetwork, LabelledItems]":
    """The trained network, and the items with their encoder, which learns too if it has a rate."""
    from sfumato.learn.train import new_network
    from sfumato.learn.tuning import join_network

    vectors, examples = joined.items, as_examples(joined.items)
    if rate is None:
        return _fit(recipe, examples, labels, learnt, *task), joined
    head = new_network(recipe, examples.take(learnt), labels.classes)
    network, places = join_network(vectors.encoder, originals, head, rate)
    trained = _fit(recipe, places, labels, learnt, *task, network=network)
    tuned = replace(vectors, encoder=network.encoder())
    return replace(trained, network=network.head), replace(joined, items=tuned)


def _fit(
    recipe: "Recipe",
    examples: "Examples",
    labels: LabelSet | CrowdLabels,
    learnt: tuple[str, ...],
    chosen: tuple[str, ...],
    presentation: "Presentation",
    device: "torch.device",
    progress: Callable[[int, int], None] | None,
    *,
    network: "NormalisedNetwork | None" = None,
) -> "TrainedNetwork":
    from sfumato.learn.fit import targets_of
    from sfumato.learn.train import train as train_network

    mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
    return train_network(
        recipe,
        examples.take(learnt),
        targets_of(labels, learnt, presentation),
        validation=(examples.take(chosen), mean.take(chosen)) if chosen else None,
        network=network,
        device=device,
        after_epoch=lambda epoch, network: progress(epoch, recipe.epochs) if progress else None,
    )


def _finished(
    trained: "TrainedNetwork",
    recipe: "Recipe",
    joined: LabelledItems,
    labels: LabelSet | CrowdLabels,
    presentation: str,
    sizes: tuple[int, int],
    notes: tuple[str, ...],
) -> Model:
    from sfumato.learn.train import weights_of

    items = joined.items
    tuned = {"encoder_rate": items.encoder.rate} if isinstance(items.encoder, FineTuned) else {}
    settings = plain_settings({**asdict(recipe), "presentation": presentation, **tuned})
    about: dict[str, Setting] = {
        **settings,
        "items": items.fingerprint,
        "trained_on": sizes[0],
        "validated_on": sizes[1],
        "items_without_label": len(joined.without_label),
        "labels_without_item": len(joined.without_item),
    }
    return Model(
        network=recipe.network,
        classes=labels.classes,
        kind=items.kind,
        shape=items.shape,
        weights=weights_of(trained.network),
        columns=items.columns,
        naming=joined.naming,
        size=items.size,
        encoder=items.encoder,
        recipe=settings,
        history=trained.history,
        best_epoch=trained.best_epoch,
        trained_on=sizes[0],
        validated_on=sizes[1],
        remarks=(*items.remarks, *joined.remarks, *notes),
        provenance=(*labels.provenance, Step("train", about)),
    )


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Setting]:
    """Settings as JSON has them."""
    return json.loads(json.dumps(settings))


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _in_columns(items: Items, columns: tuple[str, ...]) -> Items:
    missing = [name for name in columns if name not in items.columns]
    extra = [name for name in items.columns if name not in columns]
    if missing or extra:
        odd = f"lack the column {missing[0]!r}" if missing else f"have a column {extra[0]!r} more"
        raise DataError(
            f"The model was trained on {len(columns)} columns; these items {odd}. Give the columns "
            f"{', '.join(columns[:10])}{', …' if len(columns) > 10 else ''}."
        )
    places = [items.columns.index(name) for name in columns]
    return replace(items, contents=items.contents[:, places], columns=columns)


def model_files(path: Path) -> tuple[Path, Path]:
    """Where the weights and the description of a model are written."""
    if path.suffix in (".safetensors", ".json"):
        return path.with_suffix(".safetensors"), path.with_suffix(".json")
    return path / "model.safetensors", path / "model.json"


def _found(path: Path) -> tuple[Path, Path]:
    beside = path.with_name(f"{path.name}.safetensors")
    weights, about = model_files(beside if beside.is_file() and not path.is_dir() else path)
    for file in (about, weights):
        if not file.is_file():
            inside = sorted(path.rglob("*.safetensors")) if path.is_dir() else []
            hint = f" It holds models, such as {inside[0]}; name one of them." if inside else ""
            raise DataError(f"There is no model {path}: {file} is missing.{hint}")
    return weights, about


def _read_told(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as JSON: {error}.") from None
    form = told.get("sfumato model") if isinstance(told, dict) else None
    if form is None:
        raise DataError(f"{path} does not describe a model of this library's form.")
    if form != FORM:
        raise DataError(
            f"{path} describes a model of form {form}; this version reads form {FORM}. Update "
            "sfumato, or save the model again."
        )
    return told


def _read_weights(path: Path) -> dict[str, NDArray[Any]]:
    _require_safetensors("Opening a model")
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except SafetensorError as error:
        raise DataError(f"{path} is not a complete safetensors file ({error}).") from None


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _require_torch(job: str) -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise missing_package(job, "torch", "learn") from None


def _require_safetensors(job: str) -> None:
    try:
        import safetensors  # noqa: F401
    except ImportError:
        raise missing_package(job, "safetensors", "learn") from None


# Turn a network into an ONNX file that other runtimes read.


class _Probabilities(nn.Module):
    """What is exported: numbers as they come in, probabilities as they go out."""

    def __init__(self, network: nn.Module, kind: Kind) -> None:
        super().__init__()
        self.network, self.kind = network, kind

    def forward(self, numbers: Tensor) -> Tensor:
        """Probabilities, shape (n, classes)."""
        if self.kind == "vectors":
            numbers = numbers[:, :, None, None]
        return self.network(numbers).softmax(dim=1)


def write_onnx(
    network: nn.Module, kind: Kind, image_shape: ImageShape, path: Path, *, about: Mapping[str, str]
) -> None:
    """Write the network in evaluation mode, for any number of items at once, in one file."""
    height, width, channels = image_shape
    # two items: an example of one would fix the number at one
    shape = (2, channels) if kind == "vectors" else (2, channels, height, width)
    with warnings.catch_warnings(), _without_remarks():
        warnings.simplefilter("ignore", FutureWarning)  # torch warns of its own inner calls
        program = torch.onnx.export(
            _Probabilities(network, kind).eval(),
            (torch.rand(shape),),
            input_names=[kind],
            output_names=["probabilities"],
            dynamic_shapes=({0: torch.export.Dim("n")},),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    program.model.metadata_props.update(about)
    program.save(path, external_data=False)


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Torch remarks on packages that are not needed here."""
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
