"""Distributions in a training loop of torch."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from datasets import Dataset as HuggingFaceDataset
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, TensorDataset

from sfumato.errors import DataError
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.soft_rows import cross_entropy_rows, read_rows
from sfumato.learn.mixing import cutmix, mixup
from sfumato.learn.soft_torch import (
    SoftCollator,
    SoftCrossEntropy,
    soft_dataset,
    trainer_loss,
)

LABELS = LabelSet(("a", "b", "c"), ("cat", "dog"), [[0.75, 0.25], [0, 1], [0.5, 0.5]])
CROWD = CrowdLabels(
    ("a", "b"),
    ("p", "q"),
    ("cat", "dog"),
    [0, 0, 1],
    [0, 1, 0],
    [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]],
)


def batch(rows: int = 6, classes: int = 4, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, classes, generator=generator)
    return logits, torch.randn(rows, classes, generator=generator).softmax(dim=1)


@pytest.mark.parametrize("weighted", [False, True])
@given(
    smoothing=st.sampled_from([0.0, 0.1]),
    reduction=st.sampled_from(["mean", "sum", "none"]),
    seed=st.integers(0, 99),
)
def test_loss_is_that_of_torch_where_both_are_defined(
    weighted: bool, smoothing: float, reduction: Any, seed: int
) -> None:
    logits, probs = batch(seed=seed)
    weight = torch.tensor([1.0, 2.0, 0.5, 3.0]) if weighted else None
    ours = SoftCrossEntropy(weight, label_smoothing=smoothing, reduction=reduction)
    hard = probs.argmax(dim=1)

    for target in (probs, hard):
        theirs = F.cross_entropy(
            logits, target, weight=weight, reduction=reduction, label_smoothing=smoothing
        )
        assert torch.allclose(ours(logits, target), theirs, atol=1e-6)


def test_pixels_and_single_rows_have_losses_too() -> None:
    logits = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    probs = logits.flip(0).softmax(dim=1)

    assert torch.allclose(SoftCrossEntropy()(logits, probs), F.cross_entropy(logits, probs))
    row, target = logits[0, :, 0, 0], probs[0, :, 0, 0]
    assert torch.allclose(SoftCrossEntropy()(row, target), F.cross_entropy(row, target))


def test_class_numbers_to_be_ignored_are_ignored_as_in_torch() -> None:
    logits, target = batch()[0], torch.tensor([0, 1, -100, 2, 3, -100])

    assert torch.allclose(SoftCrossEntropy()(logits, target), F.cross_entropy(logits, target))


def test_item_weights_make_a_weighted_mean() -> None:
    logits, probs = batch()
    weight = torch.tensor([1.0, 0, 2, 0, 0, 1])
    each = F.cross_entropy(logits, probs, reduction="none")

    assert torch.allclose(
        SoftCrossEntropy()(logits, probs, weight), (each * weight).sum() / weight.sum()
    )
    with pytest.raises(DataError, match="give one weight per item"):
        SoftCrossEntropy()(logits, probs, weight[:2])


def test_targets_of_double_precision_and_numbers_of_half_are_taken() -> None:
    logits, probs = batch()

    assert torch.allclose(
        SoftCrossEntropy()(logits, probs.double()), F.cross_entropy(logits, probs)
    )
    assert SoftCrossEntropy()(logits.bfloat16(), probs).dtype == torch.bfloat16


@pytest.mark.parametrize("unstated", ["even", "any", "normalise"])
def test_open_mass_costs_what_it_costs_elsewhere(unstated: Any) -> None:
    logits = batch(3)[0].double()
    nan = np.nan
    targets = np.array([[0.5, 0.1, nan, nan], [0, 1, 0, 0], [nan, nan, 0, 0]])
    rows = read_rows(targets, unstated=unstated)
    expected = cross_entropy_rows(rows, logits.softmax(dim=1).numpy())

    loss = SoftCrossEntropy(unstated=unstated, reduction="none")
    logits.requires_grad_()
    found = loss(logits, torch.tensor(targets))
    found.sum().backward()

    assert np.allclose(found.detach().numpy(), expected)
    assert logits.grad is not None and bool(logits.grad.isfinite().all())


def test_class_weights_with_any_of_a_set_are_refused() -> None:
    with pytest.raises(DataError, match="have no meaning"):
        SoftCrossEntropy(torch.ones(2), unstated="any")
    with pytest.raises(DataError, match="'median'; it must be one of 'mean', 'sum', 'none'"):
        SoftCrossEntropy(reduction="median")


def test_items_come_in_the_order_of_labels_or_are_joined() -> None:
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    table = pd.DataFrame(X, index=["a", "b", "c"]).loc[["c", "a"]]

    plain = soft_dataset(torch.from_numpy(X), LABELS)
    joined = soft_dataset(table, LABELS)
    by_key = soft_dataset({"c": "text c", "a": "text a"}, LABELS)
    pairs = soft_dataset(TensorDataset(torch.from_numpy(X), torch.zeros(3)), LABELS)
    rows = soft_dataset(X, LABELS.probs.astype(np.float32))

    assert plain[1][1].tolist() == [0, 1]
    assert joined.items == ("c", "a")
    assert joined[0][0].tolist() == [4, 5]
    assert joined[0][1].tolist() == [0.5, 0.5]
    assert by_key[1][0] == "text a"
    assert pairs[2][0].tolist() == [4, 5]
    assert rows[0][1].tolist() == [0.75, 0.25]
    with pytest.raises(DataError, match="2 items without ids and 3 labels"):
        soft_dataset(X[:2], LABELS)
    with pytest.raises(DataError, match="Item 'x' has no label"):
        soft_dataset({"x": 1}, LABELS)
    with pytest.raises(IndexError):
        plain[3]


def test_rows_of_hugging_face_are_joined_by_their_column() -> None:
    rows = HuggingFaceDataset.from_dict({"item": ["b", "a"], "text": ["bb", "aa"]})

    dataset = soft_dataset(rows, LABELS, transform=lambda row: row["text"])

    assert dataset[0][0] == "bb"
    assert dataset[0][1].tolist() == [0, 1]


@pytest.mark.parametrize("workers", [0, 2])
def test_labels_are_drawn_afresh_in_each_epoch_whatever_the_workers(workers: int) -> None:
    labels = LabelSet(tuple("abcdefgh"), ("cat", "dog"), np.full((8, 2), 0.5))
    one = soft_dataset(torch.arange(8), labels, mode="sampled", seed=3)
    other = soft_dataset(torch.arange(8), labels, mode="sampled", seed=3)
    loader = DataLoader(
        one, batch_size=3, shuffle=True, num_workers=workers,
        generator=torch.Generator().manual_seed(0),
    )  # fmt: skip

    epochs = []
    for _ in range(4):
        found = {
            int(x): row.tolist() for xs, rows in loader for x, row in zip(xs, rows, strict=True)
        }
        epochs.append([found[x] for x in range(8)])

    assert epochs == [[other[x][1].tolist() for x in range(8)] for _ in range(4)]
    assert epochs[0] != epochs[1]
    assert {tuple(row) for rows in epochs for row in rows} == {(0.0, 1.0), (1.0, 0.0)}
    other.set_epoch(1)
    assert [other[x][1].tolist() for x in range(8)] == epochs[1]


def test_sampled_labels_have_the_shares_of_the_distribution() -> None:
    dataset = soft_dataset([0, 1, 2], LABELS, mode="sampled")

    drawn = torch.stack([dataset[0][1] for _ in range(2000)]).mean(dim=0)

    assert drawn[0].item() == pytest.approx(0.75, abs=0.03)
    assert dataset[1][1].tolist() == [0, 1]


def test_one_annotator_gives_the_judgments_of_an_item_equally_often() -> None:
    dataset = soft_dataset(["A", "B"], CROWD, mode="one-annotator", seed=1)

    shown = [round(dataset[0][1][0].item(), 4) for _ in range(1000)]

    assert set(shown) == {0.9, 0.2}
    assert shown.count(0.9) == pytest.approx(500, abs=60)
    assert soft_dataset({"b": "B"}, CROWD, mode="one-annotator")[0][1].tolist() == [0.5, 0.5]
    assert soft_dataset(["A", "B"], CROWD)[0][1].tolist() == pytest.approx([0.55, 0.45])
    with pytest.raises(DataError, match="needs CrowdLabels"):
        soft_dataset([0, 1, 2], LABELS, mode="one-annotator")
    with pytest.raises(DataError, match="'drawn'; it must be one of 'fixed'"):
        soft_dataset([0, 1, 2], LABELS, mode="drawn")


@given(st.integers(0, 999), st.sampled_from([0.2, 1.0]))
def test_mixup_mixes_inputs_and_targets_by_the_same_shares(seed: int, alpha: float) -> None:
    inputs = torch.eye(5)

    mixed, targets = mixup(inputs, inputs, alpha, per="item", rng=np.random.default_rng(seed))

    assert torch.equal(mixed, targets)
    assert torch.allclose(targets.sum(dim=1), torch.ones(5))


@given(st.integers(0, 999), st.integers(1, 9), st.integers(1, 9))
def test_cutmix_mixes_targets_by_the_area_that_is_anothers(
    seed: int, height: int, width: int
) -> None:
    number = 4
    images = torch.arange(number).float()[:, None, None, None].expand(-1, 1, height, width)
    targets = torch.eye(number)

    mixed, rows = cutmix(images, targets, 1.0, rng=np.random.default_rng(seed))

    area = torch.stack([(mixed[:, 0] == k).float().mean(dim=(1, 2)) for k in range(number)], dim=1)
    assert torch.allclose(rows, area, atol=1e-6)
    with pytest.raises(DataError, match="CutMix needs images"):
        cutmix(targets, targets, 1.0, rng=np.random.default_rng(0))


class Padding:
    """What a tokenizer's ``pad`` does."""

    def pad(self, rows: Any, *, padding: Any, pad_to_multiple_of: Any, return_tensors: str) -> Any:
        assert (padding, return_tensors) == (True, "pt")
        longest = max(len(row["input_ids"]) for row in rows)
        ids = [row["input_ids"] + [0] * (longest - len(row["input_ids"])) for row in rows]
        return {"input_ids": torch.tensor(ids)}


def test_collator_pads_with_a_tokenizer_and_finds_labels_by_id() -> None:
    rows = [{"input_ids": [1, 2, 3], "item": "c"}, {"input_ids": [4], "item": "b"}]

    made = SoftCollator(Padding(), LABELS)(rows)

    assert made["input_ids"].tolist() == [[1, 2, 3], [4, 0, 0]]
    assert made["labels"].tolist() == [[0.5, 0.5], [0, 1]]
    assert made["labels"].dtype == torch.float32
    assert set(made) == {"input_ids", "labels"}


def test_collator_without_a_tokenizer_stacks() -> None:
    rows = [{"x": torch.ones(2), "label": np.array([0.25, 0.75])}, {"x": [2.0, 3], "label": [1, 0]}]

    made = SoftCollator()(rows)

    assert made["x"].shape == (2, 2)
    assert made["labels"].tolist() == [[0.25, 0.75], [1, 0]]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"x": [1]}], "Row 0 of the batch has no distribution"),
        ([{"x": [1], "label": 1}], "Row 0 of the batch has no distribution"),
        ([{"x": [1], "label": [1, 0]}, {"x": [1, 2], "label": [1, 0]}], "'x' of a batch cannot be"),
        ([{"x": "text", "label": [1, 0]}], "'x' of a batch cannot be stacked"),
    ],
)
def test_batches_that_cannot_be_made_are_refused(rows: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        SoftCollator()(rows)


def test_collator_with_labels_needs_known_ids() -> None:
    with pytest.raises(DataError, match="has no 'item'"):
        SoftCollator(labels=LABELS)([{"x": [1]}])
    with pytest.raises(DataError, match="Item 'z' has no label"):
        SoftCollator(labels=LABELS)([{"x": [1], "item": "z"}])


def test_loss_for_trainer_counts_rows_over_accumulated_batches() -> None:
    logits, probs = batch()
    whole = F.cross_entropy(logits, probs)

    halves = sum(
        trainer_loss({"logits": logits[part]}, probs[part], num_items_in_batch=probs.numel())
        for part in (slice(0, 3), slice(3, 6))
    )

    assert torch.allclose(trainer_loss({"logits": logits}, probs), whole)
    assert torch.allclose(torch.as_tensor(halves), whole)
