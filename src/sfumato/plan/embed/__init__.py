"""Turn answers about who is nearer to whom into points: GNMDS from rankings and from triplets."""

from sfumato.plan.embed.estimator import GNMDS
from sfumato.plan.embed.gnmds import (
    Embedding,
    Settings,
    gnmds_rankings,
    gnmds_triplets,
    objective_of,
)
from sfumato.plan.embed.rankings import Rankings, rank_labels, rank_scores, ranking_loss
from sfumato.plan.embed.recovery import cosines, error_rate, spearman
from sfumato.plan.embed.triplets import Triplets, flip, mine, read_triplets, triplet_loss

__all__ = [
    "GNMDS",
    "Embedding",
    "Rankings",
    "Settings",
    "Triplets",
    "cosines",
    "error_rate",
    "flip",
    "gnmds_rankings",
    "gnmds_triplets",
    "mine",
    "objective_of",
    "rank_labels",
    "rank_scores",
    "ranking_loss",
    "read_triplets",
    "spearman",
    "triplet_loss",
]
