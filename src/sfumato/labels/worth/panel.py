"""Turn people's answers into draws: who is evidence, who is to be predicted, who is left out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.labels.labelset import NOT_RECORDED, CrowdLabels
from sfumato.labels.worth.predictor import Codes, EvidenceSource, Values

ENOUGH = 0.8
"""The scale ends where fewer than this share of the items has one more person to predict."""

FEWEST = 10
"""Items below which nothing is learnt."""


@dataclass(frozen=True, eq=False)
class Panel:
    """What people said, one row per item, in an order that no file decides."""

    items: tuple[str, ...]
    classes: tuple[str, ...]
    annotators: tuple[str, ...]
    said: Codes  # (items, most): the class, -1 where there is nobody
    who: Codes  # (items, most): the annotator, -1 where there is nobody or nobody is known
    values: tuple[float, ...] | None = None
    """What the classes count, where the question says that they are the points of a scale."""

    @property
    def counts(self) -> Codes:
        """How many people answered about each item."""
        return np.asarray((self.said >= 0).sum(axis=1))

    @property
    def named(self) -> bool:
        """Whether every answer has an author."""
        return bool((self.who[self.said >= 0] != NOT_RECORDED).all())

    def votes(self) -> Values:
        """How many people chose each class, (items, classes)."""
        return np.stack([(self.said == place).sum(axis=1) for place in range(len(self.classes))], 1)

    def take(self, rows: NDArray[np.bool_]) -> "Panel":
        """Some of the items."""
        items = tuple(np.array(self.items, dtype=object)[rows])
        return replace(self, items=items, said=self.said[rows], who=self.who[rows])


def make_panel(crowd: CrowdLabels) -> Panel:
    """Votes as a panel: items, and the people of an item, in the order of their names."""
    votes = crowd.votes
    if votes is None:
        raise DataError(
            "Worth is about answers that are one class each; these are distributions. Give each "
            "person's first choice, or hold the distributions against such answers as a judge."
        )
    place = np.argsort(np.argsort(np.array(crowd.items, dtype=object), kind="stable"))[crowd.item]
    rank = np.append(np.argsort(np.argsort(np.array(crowd.annotators, dtype=object))), -1)
    order = np.lexsort((votes, rank[crowd.annotator], place))
    row = place[order]
    column = np.arange(len(row)) - np.searchsorted(row, row)
    shape = len(crowd.items), int(column.max(initial=0)) + 1
    said, who = np.full(shape, -1), np.full(shape, NOT_RECORDED)
    said[row, column] = votes[order]
    who[row, column] = crowd.annotator[order]
    items = tuple(sorted(crowd.items))
    return Panel(items, crowd.classes, crowd.annotators, said, who, crowd.values)


def end_of_scale(counts: Codes, most: int) -> int:
    """The largest number of people that can be evidence with one left to predict."""
    if most < 1:
        raise DataError(
            f"A scale that ends at {most} people tells nothing; let it end at 1 or more."
        )
    ends = [k for k in range(1, most + 1) if (counts > k).mean() >= ENOUGH]
    if not ends:
        raise DataError(
            f"Only {(counts > 1).mean():.0%} of the items have answers of two people or more; "
            f"worth in people needs {ENOUGH:.0%}."
        )
    return ends[-1]


@dataclass(frozen=True, eq=False)
class PeopleDraws:
    """The same people in several orders: the first are evidence, the rest are to be predicted."""

    panel: Panel
    said: Codes  # (draws, items, people as evidence)
    who: Codes  # (draws, items, people as evidence)
    fold: Codes  # (draws, items)
    folds: int
    cluster: Codes  # (items,)

    @property
    def people(self) -> int:
        """How many people are evidence at most."""
        return self.said.shape[2]

    def __len__(self) -> int:
        return len(self.said)

    def targets(self, votes: Values | None = None, weight: Values | None = None) -> Values:
        """Shares of the classes among those who are to be predicted, (draws, items, classes).

        ``votes`` and ``weight`` (by annotator) are given where people do not count alike.
        """
        votes = self.panel.votes() if votes is None else votes
        rest = np.repeat(np.asarray(votes, dtype=np.float64)[None], len(self), axis=0)
        draw, item = np.indices(self.fold.shape)
        for place in range(self.people):
            one = 1.0 if weight is None else weight[self.who[:, :, place]]
            rest[draw, item, self.said[:, :, place]] -= one
        return np.maximum(rest, 0.0) / (self.panel.counts - self.people)[:, None]

    def evidence(self) -> list[EvidenceSource]:
        """Each person who is evidence, as a source."""
        return [EvidenceSource(codes=self.said[:, :, place]) for place in range(self.people)]


def draw_people(
    panel: Panel,
    people: int,
    *,
    rng: np.random.Generator,
    draws: int,
    clusters: Mapping[str, str] | None = None,
    folds: int = 5,
) -> PeopleDraws:
    """Put each item's people in random orders, in which everybody's turn comes equally often."""
    counts, n = panel.counts, len(panel.items)
    cycles = -(-draws // int(counts.min()))
    keys = rng.random((cycles, *panel.said.shape))
    keys[:, panel.said < 0] = 2.0  # nobody: last
    order = np.argsort(keys, axis=2)
    item = np.arange(n)[:, None]
    said, who = [], []
    for draw in range(draws):
        turn = (draw % counts)[:, None] + np.arange(people)
        chosen = order[(draw // counts)[:, None], item, turn % counts[:, None]]
        said.append(panel.said[item, chosen])
        who.append(panel.who[item, chosen])
    names = panel.items if clusters is None else [clusters.get(one, one) for one in panel.items]
    cluster = np.unique(np.array(names, dtype=object), return_inverse=True)[1]
    groups = int(cluster.max()) + 1
    folds = min(folds, groups)
    fold = np.stack([rng.permutation(np.arange(groups) % folds)[cluster] for _ in range(draws)])
    return PeopleDraws(panel, np.stack(said), np.stack(who), fold, folds, cluster)
