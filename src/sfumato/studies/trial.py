"""What a dry run tries, on how few images, and what it tells of a full run."""

from dataclasses import dataclass, replace

from sfumato.labels.labelset import CrowdLabels, LabelSet
from sfumato.learn.cost import MEASURED_IMAGES, TrainingCost
from sfumato.learn.folds import Split, class_of
from sfumato.learn.train import Recipe

__all__ = ["FEW", "GPU_OPERATIONS", "DryRun", "Pace", "Planned", "few_items", "small_recipe"]

FEW = 2
"""Images of a batch, and of a test: the large networks are slow on a CPU."""
GPU_OPERATIONS = 10e12
"""Floating-point operations that a GPU of 2020 or later does a second in such trainings, an
assumption: from it the hours on a GPU are reckoned."""
HOUR = 3600


@dataclass(frozen=True)
class Planned:
    """The trainings of one network that a full run has."""

    network: str
    trainings: int
    epochs: int
    """Of all trainings together, those of pretraining included."""
    presentations: int
    """Images shown in all epochs of all trainings."""
    cost: TrainingCost

    @property
    def hours(self) -> float:
        """On one device like the one here."""
        return self.presentations * self.cost.seconds / HOUR

    @property
    def gpu_hours(self) -> float:
        """On one GPU that does ``GPU_OPERATIONS`` a second."""
        return self.operations / GPU_OPERATIONS / HOUR

    @property
    def operations(self) -> float:
        """Floating-point operations of all trainings."""
        return self.presentations * self.cost.operations


@dataclass(frozen=True)
class Pace:
    """How fast the trainings of a finished run were."""

    run: str
    epochs: float
    """Of all trainings together."""
    seconds: float
    """Of all trainings, one after the other."""
    operations: float
    """Floating-point operations of these epochs."""

    @property
    def speed(self) -> float:
        """Floating-point operations a second."""
        return self.operations / self.seconds

    def line(self, operations: float) -> str:
        """What so many operations would take at this speed, and on a GPU.

        >>> pace = Pace("runs/a", epochs=200, seconds=3600, operations=1.8e14)
        >>> pace.line(1.8e16).partition(". ")[2]
        'At this speed a full run takes 100.0 hours; a GPU does 200 times as much and takes 0.5.'
        """
        hours = operations / self.speed / HOUR
        times = GPU_OPERATIONS / self.speed
        return (
            f"Measured in {self.run}: {self.epochs:,.0f} epochs took {self.seconds:,.0f} s of one "
            f"device, {self.speed / 1e9:.0f} GFLOP/s. At this speed a full run takes {hours:,.1f} "
            f"hours; a GPU does {times:,.0f} times as much and takes {hours / times:,.1f}."
        )


@dataclass(frozen=True)
class DryRun:
    """What was tried, and what a full run would do."""

    tried: int
    """Trainings of one batch that ended well."""
    planned: tuple[Planned, ...] = ()
    notes: tuple[str, ...] = ()
    pace: Pace | None = None

    def lines(self) -> list[str]:
        """For a person at the screen."""
        told = [*self.notes]
        if self.tried:
            first = f"Tried {self.tried} trainings of one batch of {FEW} images; nothing was kept."
            told = [first, *told]
        told += [_line(one) for one in self.planned]
        if len(self.planned) > 1:
            told.append(_total(self.planned))
        if self.planned and self.pace is not None:
            told.append(self.pace.line(sum(one.operations for one in self.planned)))
        if self.planned:
            told.append(
                "Hours are for one device, a core of a CPU being one. Those here are measured on a "
                f"batch of {MEASURED_IMAGES} images; those on a GPU assume "
                f"{GPU_OPERATIONS / 1e12:.0f} TFLOP/s in use."
            )
        return told


def _line(one: Planned) -> str:
    return (
        f"{one.network}: {one.trainings:,} trainings, {one.epochs:,} epochs, "
        f"{one.presentations:,} images shown; {one.hours:,.1f} hours on this {one.cost.device}, "
        f"{one.gpu_hours:,.1f} on a GPU"
    )


def _total(planned: tuple[Planned, ...]) -> str:
    return (
        f"Together: {sum(one.trainings for one in planned):,} trainings, "
        f"{sum(one.epochs for one in planned):,} epochs; "
        f"{sum(one.hours for one in planned):,.1f} hours on this {planned[0].cost.device}, "
        f"{sum(one.gpu_hours for one in planned):,.1f} on a GPU"
    )


def small_recipe(recipe: Recipe) -> Recipe:
    """One epoch of one batch."""
    return replace(recipe, epochs=1, batch_size=FEW)


def few_items(split: Split, labels: LabelSet | CrowdLabels) -> Split:
    """A few items of one class of each part that is learnt or chosen on, and of the tests.

    Of one class, so that no item is asked about whose class was not learnt.
    """
    mean = labels.mean() if isinstance(labels, CrowdLabels) else labels
    parts = (split.train, split.validation, split.test, split.second_test)
    known = set(mean.items)
    wanted = tuple(dict.fromkeys(item for part in parts for item in part if item in known))
    of_item = class_of(mean.take(wanted))
    one = of_item[split.train[0]]
    train, validation, test, second = (
        tuple(item for item in part if of_item.get(item, one) == one)[:FEW] for part in parts
    )
    if split.selection == "on-test-part":
        validation = test
    return Split(train, validation, test, second, split.selection)
