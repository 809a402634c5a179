"""What the scoring of stored predictions is told."""

from dataclasses import dataclass

from sfumato.errors import DataError

__all__ = ["RescoreStudy"]


@dataclass(frozen=True)
class RescoreStudy:
    """How often stored predictions are resampled; nothing is trained."""

    name: str
    title: str
    about: str = ""
    """A sentence or two for the head of the report."""
    draws: int = 1000
    """Resamplings of the images behind each interval."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.draws < 100:
            raise DataError(f"The study {self.name!r} needs 100 draws at least, not {self.draws}.")
