"""Label distributions in a training loop of one's own: a loss, a dataset, a collator.

The loss takes probabilities as targets, the dataset gives each item with its distribution, one
drawn label or one annotator's judgment, and the collator makes batches for Hugging Face's
Trainer. ``sfumato.learn.mixing`` has mixup and CutMix for such batches.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never, get_args

import numpy as np

from sfumato.errors import DataError, missing_package
from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.labels.soft_rows import ID_COLUMN, Unstated, ids_of, read_rows, split_ids

try:
    import torch
    import torch.nn.functional as F
    from torch import Tensor, nn
    from torch.utils.data import Dataset
except ImportError:
    raise missing_package("Soft targets in torch", "torch", "learn") from None

from sfumato.learn.targets import (
    RowTargets,
    fixed_targets,
    judgments_on,
    one_annotator,
    sampled_targets,
)

Reduction = Literal["mean", "sum", "none"]

Mode = Literal["fixed", "sampled", "one-annotator"]
"""The whole distribution each time; a hard label drawn from it afresh; one annotator's judgment,
drawn afresh."""


class SoftCrossEntropy(nn.Module):
    """Cross-entropy of logits to distributions; ``F.cross_entropy`` where that is defined.

    ``weight`` are class weights and ``label_smoothing`` is spread over all classes, both as in
    ``nn.CrossEntropyLoss``. Beyond it: targets of any floating type, a weight for each item (the
    mean is then weighted), and rows that leave mass open: NaN where nothing is stated, or a row of
    truth values as a set of classes. ``unstated`` says what becomes of open mass: "even" shares it
    equally among the open classes, "any" counts any of them as right (−log of their sum), and
    "normalise" divides what is stated by its sum.

    >>> loss = SoftCrossEntropy()
    >>> loss(torch.zeros(1, 2), torch.tensor([[0.75, 0.25]]))
    tensor(0.6931)
    >>> one_of_two = torch.tensor([[True, True, False, False]])
    >>> SoftCrossEntropy(unstated="any")(torch.zeros(1, 4), one_of_two)
    tensor(0.6931)
    """

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        *,
        label_smoothing: float = 0.0,
        reduction: Reduction = "mean",
        unstated: Unstated = "even",
    ) -> None:
        super().__init__()
        for name, value, kinds in (
            ("reduction", reduction, Reduction),
            ("unstated", unstated, Unstated),
        ):
            if value not in get_args(kinds):
                raise DataError(
                    f"The {name} of a loss is {value!r}; it must be one of "
                    f"{', '.join(map(repr, get_args(kinds)))}."
                )
        if unstated == "any" and (weight is not None or label_smoothing):
            raise DataError(
                "Class weights and label smoothing have no meaning where any of several classes is "
                "right; leave them out."
            )
        self.register_buffer("weight", weight)
        self.label_smoothing = label_smoothing
        self.reduction: Reduction = reduction
        self.unstated: Unstated = unstated

    def forward(self, logits: Tensor, target: Tensor, item_weight: Tensor | None = None) -> Tensor:
        """The loss of logits (items, classes, …) to targets of the same shape, or class numbers."""
        if target.shape != logits.shape:
            return self._reduce(self._plain(logits, target), item_weight, target)
        rows, is_open = _split_open(target, logits)
        if is_open is None:
            return self._reduce(self._plain(logits, rows), item_weight, rows)
        left = (1 - rows.sum(dim=_axis(logits), keepdim=True)).clamp_min(0)
        each = self._open_loss(logits, rows, is_open, left)
        return self._reduce(each, item_weight, rows)

    def _plain(self, logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            logits,
            target,
            weight=self.weight,
            reduction="none",
            label_smoothing=self.label_smoothing,
        )

    def _open_loss(self, logits: Tensor, rows: Tensor, is_open: Tensor, left: Tensor) -> Tensor:
        axis = _axis(logits)
        even = left * is_open / is_open.sum(dim=axis, keepdim=True).clamp_min(1)
        match self.unstated:
            case "even":
                return self._plain(logits, rows + even)
            case "normalise":
                stated = rows.sum(dim=axis, keepdim=True)
                known = stated > 0
                shared = torch.where(known, rows / torch.where(known, stated, 1), even)
                return self._plain(logits, shared)
            case "any":
                logs = logits.log_softmax(dim=axis)
                # A row that leaves nothing open has no class to sum over: its mass is 0.
                allowed = is_open | ~is_open.any(dim=axis, keepdim=True)
                together = logs.masked_fill(~allowed, -torch.inf).logsumexp(dim=axis)
                return -(rows * logs).sum(dim=axis) - left.squeeze(axis) * together
            case _:
                assert_never(self.unstated)

    def _reduce(self, each: Tensor, item_weight: Tensor | None, target: Tensor) -> Tensor:
        if item_weight is not None:
            if item_weight.shape != each.shape[: item_weight.ndim]:
                raise DataError(
                    f"There are weights of shape {tuple(item_weight.shape)} for losses of shape "
                    f"{tuple(each.shape)}; give one weight per item."
                )
            item_weight = item_weight.to(each).reshape(
                *item_weight.shape, *[1] * (each.ndim - item_weight.ndim)
            )
            each = each * item_weight
        match self.reduction:
            case "none":
                return each
            case "sum":
                return each.sum()
            case "mean":
                return each.sum() / self._counted(each, item_weight, target)
            case _:
                assert_never(self.reduction)

    def _counted(self, each: Tensor, item_weight: Tensor | None, target: Tensor) -> Tensor:
        """What the sum is divided by; class numbers count by their class weight, as in torch."""
        counts = torch.ones_like(each)
        if not target.is_floating_point():
            counts = torch.where(target == -100, 0.0, counts)
            if self.weight is not None:
                counts = counts * self.weight.to(each)[target.clamp_min(0)]
        return (counts if item_weight is None else counts * item_weight).sum()


def _axis(logits: Tensor) -> int:
    return 1 if logits.ndim > 1 else 0


def _split_open(target: Tensor, logits: Tensor) -> tuple[Tensor, Tensor | None]:
    """What is stated, in the type of the logits, and where mass is open, if anywhere."""
    if target.dtype == torch.bool:
        return torch.zeros_like(logits), target
    rows = target.to(logits)
    is_open = rows.isnan()
    if not bool(is_open.any()):
        return rows, None
    return rows.nan_to_num(nan=0.0), is_open


class SoftDataset(Dataset[tuple[Any, Tensor]]):
    """Pairs of an item's content and a row of probabilities; row i belongs to ``items[i]``.

    What is drawn depends on the seed, the item and how often the item was shown before, and on
    nothing else: batches, their order and the number of worker processes do not matter, for the
    counts lie in memory that workers share. ``set_epoch`` goes to an epoch, to repeat one or to
    continue a training run.
    """

    def __init__(
        self,
        contents: Any,
        targets: RowTargets,
        *,
        seed: int,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.contents = contents
        self.targets = targets
        self.seed = seed
        self.transform = transform
        self._shown = torch.zeros(len(targets.items), dtype=torch.int64).share_memory_()

    @property
    def items(self) -> tuple[str, ...]:
        """The ids, in the order of the rows."""
        return self.targets.items

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order of a target's entries."""
        return self.targets.classes

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> tuple[Any, Tensor]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"There are {len(self)} items; none has the number {index}.")
        index = int(index) % len(self)
        number = np.random.default_rng((self.seed, index, int(self._shown[index]))).random()
        self._shown[index] += 1
        target = self.targets.choose(
            torch.tensor([index]), torch.tensor([number], dtype=torch.float64)
        )[0]
        content = self.contents[index]
        if isinstance(content, tuple):  # a dataset of pairs: its own label is not used
            content = content[0]
        return (content if self.transform is None else self.transform(content)), target

    def set_epoch(self, epoch: int) -> None:
        """Draw next what is drawn after so many passes over all items."""
        self._shown.fill_(epoch)


def soft_dataset(
    contents: Any,
    labels: Any,
    *,
    mode: Mode = "fixed",
    seed: int = 0,
    transform: Callable[[Any], Any] | None = None,
) -> SoftDataset:
    """A map-style dataset of (x, target) for ``torch.utils.data.DataLoader``.

    ``contents`` are in the order of ``labels.items``: an array, a tensor, a list, or a dataset (of
    pairs: the first is taken). Or they carry ids and are joined to the labels by them: a dict of
    id to x, or a table with a column ``item``. ``labels`` is a ``LabelSet``, ``CrowdLabels``, or
    rows of probabilities. "sampled" draws a hard label (a one-hot row) from an item's distribution
    each time the item is shown; "one-annotator" one of the judgments of ``CrowdLabels``.

    >>> labels = LabelSet(("a", "b"), ("cat", "dog"), [[0.75, 0.25], [0, 1]])
    >>> soft_dataset(torch.ones(2, 3), labels)[0]
    (tensor([1., 1., 1.]), tensor([0.7500, 0.2500]))
    """
    if mode not in get_args(Mode):
        raise DataError(
            f"The mode of a dataset is {mode!r}; it must be one of "
            f"{', '.join(map(repr, get_args(Mode)))}."
        )
    ids, contents = _contents(contents, ids_of(labels))
    targets = _row_targets(labels, ids, len(contents), mode)
    return SoftDataset(contents, targets, seed=seed, transform=transform)


def _contents(contents: Any, known: Sequence[str] | None) -> tuple[tuple[str, ...] | None, Any]:
    """Ids, if there are any, and what is shown of each item; numbers of tables become tensors."""
    if isinstance(contents, Mapping) and ID_COLUMN not in contents:
        return tuple(map(str, contents)), list(contents.values())
    if isinstance(getattr(contents, "items", None), tuple) and hasattr(contents, "images"):
        return contents.items, contents.images
    if type(contents).__module__.split(".")[0] == "datasets":  # rows stay dicts, read when shown
        named = ID_COLUMN in contents.column_names
        return tuple(map(str, contents[ID_COLUMN])) if named else None, contents
    ids, rest = split_ids(contents, known)
    if hasattr(rest, "to_numpy"):
        rest = torch.from_numpy(np.array(rest.to_numpy(), dtype=np.float32))
    return ids, rest


def _row_targets(labels: Any, ids: tuple[str, ...] | None, number: int, mode: Mode) -> RowTargets:
    if mode == "one-annotator":
        if not isinstance(labels, CrowdLabels):
            raise DataError(
                f"One annotator at a time needs CrowdLabels, which keep each judgment; a "
                f"{type(labels).__name__} holds one row per item."
            )
        _check_number(ids, number, len(labels.items))
        return one_annotator(judgments_on(labels, ids) if ids else labels, ids or labels.items)
    if isinstance(labels, CrowdLabels):
        labels = labels.mean()
    elif not isinstance(labels, LabelSet):
        labels = _as_labels(labels, ids, number)
    _check_number(ids, number, len(labels))
    labels = labels.take(ids) if ids else labels
    match mode:
        case "fixed":
            return fixed_targets(labels, labels.items)
        case "sampled":
            return sampled_targets(labels, labels.items)
        case _:
            assert_never(mode)


def _as_labels(rows: Any, ids: tuple[str, ...] | None, number: int) -> LabelSet:
    if isinstance(rows, Tensor):
        rows = rows.detach().cpu().numpy()
    read = read_rows(rows, ids=ids, number=number)
    items = ids or read.items or tuple(map(str, range(number)))
    sums = read.mass.sum(axis=1, keepdims=True)  # float32 rows sum to one less exactly
    return LabelSet(items, tuple(map(str, read.classes)), read.mass / sums)


def _check_number(ids: tuple[str, ...] | None, number: int, labelled: int) -> None:
    if ids is None and number != labelled:
        raise DataError(
            f"There are {number} items without ids and {labelled} labels; give the items in the "
            "order of the labels, or with their ids."
        )


@dataclass(frozen=True)
class SoftCollator:
    """Batches for Hugging Face's Trainer: features stacked, distributions under ``labels``.

    ``tokenizer`` is anything with ``pad``; without one, features must be of equal length. With
    ``labels`` (a ``LabelSet``), the distribution of each row is found by its id in ``item``;
    otherwise a row carries it itself, as ``labels`` or ``label``.

    >>> batch = SoftCollator()([{"input_ids": [1, 2], "labels": [0.75, 0.25]}])
    >>> batch["labels"], batch["input_ids"]
    (tensor([[0.7500, 0.2500]]), tensor([[1, 2]]))
    """

    tokenizer: Any = None
    labels: LabelSet | None = None
    padding: bool | str = True
    pad_to_multiple_of: int | None = None

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """One batch of such rows."""
        targets = self._targets(features)
        rest = [
            {
                name: value
                for name, value in row.items()
                if name not in ("labels", "label", ID_COLUMN)
            }
            for row in features
        ]
        if self.tokenizer is None:
            batch = {name: _stacked(name, [row[name] for row in rest]) for name in rest[0]}
        else:
            batch = dict(
                self.tokenizer.pad(
                    rest,
                    padding=self.padding,
                    pad_to_multiple_of=self.pad_to_multiple_of,
                    return_tensors="pt",
                )
            )
        return {**batch, "labels": targets}

    def _targets(self, features: Sequence[Mapping[str, Any]]) -> Tensor:
        if self.labels is not None:
            missing = next((at for at, row in enumerate(features) if ID_COLUMN not in row), None)
            if missing is not None:
                raise DataError(
                    f"Row {missing} of the batch has no {ID_COLUMN!r}, by which its label is "
                    "found; keep that column (remove_unused_columns=False), or put distributions "
                    "into the rows."
                )
            ids = [str(row[ID_COLUMN]) for row in features]
            place = {item: at for at, item in enumerate(self.labels.items)}
            unknown = [item for item in ids if item not in place]
            if unknown:
                raise DataError(f"Item {unknown[0]!r} has no label; label it, or leave it out.")
            return torch.tensor(
                self.labels.probs[[place[item] for item in ids]], dtype=torch.float32
            )
        rows = [row.get("labels", row.get("label")) for row in features]
        for at, row in enumerate(rows):
            if row is None or not np.ndim(row):
                raise DataError(
                    f"Row {at} of the batch has no distribution under 'labels' or 'label'; give "
                    "one, or hand the collator a label set."
                )
        return torch.stack([torch.as_tensor(row, dtype=torch.float32) for row in rows])


def _stacked(name: str, values: list[Any]) -> Tensor:
    try:
        return torch.stack([torch.as_tensor(value) for value in values])
    except (RuntimeError, TypeError, ValueError) as error:
        raise DataError(
            f"The field {name!r} of a batch cannot be stacked: {error}. Give the tokenizer to pad "
            "with, or remove the field."
        ) from None


def trainer_loss(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
    """Soft cross-entropy for ``Trainer(compute_loss_func=…)`` of Hugging Face.

    A model for sequence classification that is given distributions would take them for several
    labels at once and learn each by itself. ``num_items_in_batch`` is Trainer's count of numbers
    in all targets of a step, so divided by classes it is the count of rows.
    """
    logits = outputs["logits"] if isinstance(outputs, Mapping) else outputs.logits
    if num_items_in_batch is None:
        return SoftCrossEntropy()(logits, labels)
    total = SoftCrossEntropy(reduction="sum")(logits, labels)
    return total / (num_items_in_batch / labels.shape[-1])
