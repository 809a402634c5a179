"""What the analysis of H-Mix is told."""

from dataclasses import dataclass

from sfumato.errors import DataError

__all__ = ["ALL", "LATER", "PARTS", "THESIS", "HMixStudy"]

THESIS = "thesis"
"""The 810 mixes and 33 people of the thesis."""
LATER = "later"
"""The 1,260 mixes and 48 people that the release adds."""
ALL = "all"
PARTS = (THESIS, LATER, ALL)


@dataclass(frozen=True)
class HMixStudy:
    """How people's answers about mixed images are cut and resampled; nothing is trained."""

    name: str
    title: str
    about: str = ""
    """A sentence or two for the head of the report."""
    high: float = 0.5
    """Entropy (nats) from which on both endpoints are ambiguous (S2-68)."""
    low: float = 0.1
    """Entropy up to which both endpoints are clear."""
    close: float = 0.1
    """How far a median may be from its coefficient and still be close to it; ours."""
    example: tuple[str, str] = ("airplane", "deer")
    """The class pair that is drawn large, as in figure 4.4."""
    draws: int = 1000
    """Resamplings behind each interval."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high:
            raise DataError(
                f"The study {self.name!r} needs low < high, both at least 0, not {self.low:g} and "
                f"{self.high:g}."
            )
        if self.draws < 100:
            raise DataError(f"The study {self.name!r} needs 100 draws at least, not {self.draws}.")
