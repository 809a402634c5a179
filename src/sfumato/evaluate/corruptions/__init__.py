"""Corrupt images as weather, cameras and storage do, at strengths 1 to 5 (S2-77)."""

from sfumato.evaluate.corruptions.corrupt import (
    CORRUPTIONS,
    STRENGTHS,
    CorruptedImages,
    Corruption,
    corrupt,
    corrupted_sets,
    corruptions_for,
)
from sfumato.evaluate.corruptions.score import Predict, corruption_scores, score_corrupted

__all__ = [
    "CORRUPTIONS",
    "STRENGTHS",
    "CorruptedImages",
    "Corruption",
    "Predict",
    "corrupt",
    "corrupted_sets",
    "corruption_scores",
    "corruptions_for",
    "score_corrupted",
]
