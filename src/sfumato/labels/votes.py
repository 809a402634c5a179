"""Hard choices as integer codes: the form that vote-counting aggregators read."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.provenance import Provenance, Step


@dataclass(frozen=True, eq=False)
class Votes:
    """One entry per judgment; ``item``, ``annotator`` and ``label`` are positions in the names.

    ``annotator`` is ``NOT_RECORDED`` where the file does not say whose vote it was.
    """

    items: tuple[str, ...]
    annotators: tuple[str, ...]
    classes: tuple[str, ...]
    item: NDArray[np.signedinteger]  # (judgments,)
    annotator: NDArray[np.signedinteger]  # (judgments,)
    label: NDArray[np.signedinteger]  # (judgments,)
    provenance: Provenance = ()

    def __len__(self) -> int:
        return len(self.item)

    def require_annotators(self, aggregator: str) -> None:
        """Refuse votes whose authors are unknown, for methods that model people."""
        unknown = int((self.annotator == NOT_RECORDED).sum())
        if unknown:
            raise DataError(
                f"{aggregator!r} models each annotator, but {unknown} of {len(self)} judgments do "
                "not say who gave them. Use 'vote-shares' or 'shrunk-shares', which need no names."
            )


def counts(votes: Votes) -> NDArray[np.float64]:
    """Votes for each class, shape (items, classes).

    >>> votes = Votes(("a",), ("p", "q"), ("x", "y"), *np.array([[0, 0], [0, 1], [1, 1]]))
    >>> counts(votes)
    array([[0., 2.]])
    """
    width = len(votes.classes)
    cell = votes.item.astype(np.int64) * width + votes.label
    flat = np.bincount(cell, minlength=len(votes.items) * width)
    return flat.reshape(len(votes.items), width).astype(np.float64)


def votes_of(crowd: CrowdLabels) -> Votes:
    """Each judgment's most probable class; a judgment with a tie at the top casts no vote.

    How many cast none is in the provenance.
    """
    top = crowd.answers.max(axis=1, keepdims=True)
    clear = ((crowd.answers >= top - 1e-12).sum(axis=1) == 1)[crowd.said]
    settings: dict[str, int] = {"judgments": len(crowd), "tied_no_vote": int((~clear).sum())}
    return Votes(
        crowd.items,
        crowd.annotators,
        crowd.classes,
        crowd.item[clear],
        crowd.annotator[clear],
        crowd.answers.argmax(axis=1)[crowd.said[clear]],
        (*crowd.provenance, Step("take top choices", dict(settings))),
    )
