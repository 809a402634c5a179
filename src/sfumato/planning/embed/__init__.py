"""Turn answers about who is nearer to whom into points: GNMDS from rankings and from triplets."""

from sfumato.planning.embed.gnmds import (
    GNMDS,
    Embedding,
    EmbeddingSettings,
    error_rate,
    gnmds_rankings,
    gnmds_triplets,
    objective_of,
    spearman,
)
from sfumato.planning.embed.rankings import (
    Rankings,
    Triplets,
    flip,
    mine_triplets,
    rank_scores,
    ranking_loss,
    read_triplets,
    triplet_loss,
)

__all__ = [
    "GNMDS",
    "Embedding",
    "EmbeddingSettings",
    "Rankings",
    "Triplets",
    "error_rate",
    "flip",
    "gnmds_rankings",
    "gnmds_triplets",
    "mine_triplets",
    "objective_of",
    "rank_scores",
    "ranking_loss",
    "read_triplets",
    "spearman",
    "triplet_loss",
]
