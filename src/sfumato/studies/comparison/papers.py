"""The tables of the papers as comparisons: settings, claims, printed numbers."""

from sfumato.studies.comparison import (
    cifar10h_tables,
    cifar10s_tables,
    label_sets_tables,
    mixing_tables,
    mnist_tables,
)
from sfumato.studies.comparison.setting import Comparison
from sfumato.studies.comparison.told import Paper

__all__ = ["COMPARISONS", "PAPERS"]

PAPERS: dict[str, Paper] = {
    **cifar10h_tables.PAPERS,
    **cifar10s_tables.PAPERS,
    **label_sets_tables.PAPERS,
    **mixing_tables.PAPERS,
    **mnist_tables.PAPERS,
}
"""What each comparison is held against."""

COMPARISONS: dict[str, tuple[Comparison, Comparison]] = {
    **cifar10h_tables.COMPARISONS,
    **cifar10s_tables.COMPARISONS,
    **label_sets_tables.COMPARISONS,
    **mixing_tables.COMPARISONS,
    **mnist_tables.COMPARISONS,
}
"""For a CPU, and at the paper's size."""
