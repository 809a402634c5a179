"""Turn tables into drawings; each function checks its columns and says which one is wrong."""

from sfumato.report.figures.calibration import reliability
from sfumato.report.figures.curves import (
    against_annotators,
    against_items,
    against_seconds,
    attack_curves,
    convergence,
    learning_curves,
    shift_ladder,
    trade_off,
)
from sfumato.report.figures.galleries import contact_sheet, gallery, label_pairs
from sfumato.report.figures.grouped import corruption_bars, mode_shift
from sfumato.report.figures.matrices import confusion, correlation_matrix, grid_maps
from sfumato.report.figures.mixing import coefficient_curves, mix_gallery, pair_curves
from sfumato.report.figures.scores import (
    by_arm,
    by_stratum,
    leaderboard,
    paired_differences,
    relation,
)
from sfumato.report.figures.uncertainty import (
    boxes,
    concentration,
    data_map,
    entropy_histograms,
    entropy_tracking,
    histograms,
    seconds_against_entropy,
)

__all__ = [
    "against_annotators",
    "against_items",
    "against_seconds",
    "attack_curves",
    "boxes",
    "by_arm",
    "by_stratum",
    "coefficient_curves",
    "concentration",
    "confusion",
    "contact_sheet",
    "convergence",
    "correlation_matrix",
    "corruption_bars",
    "data_map",
    "entropy_histograms",
    "entropy_tracking",
    "gallery",
    "grid_maps",
    "histograms",
    "label_pairs",
    "leaderboard",
    "learning_curves",
    "mix_gallery",
    "mode_shift",
    "pair_curves",
    "paired_differences",
    "relation",
    "reliability",
    "seconds_against_entropy",
    "shift_ladder",
    "trade_off",
]
