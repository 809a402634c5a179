"""Turn draws and judges into log-losses, and log-losses into numbers of people with intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sfumato.labels.worth.panel import PeopleDraws
from sfumato.labels.worth.predictor import (
    TINY,
    Belief,
    EvidenceSource,
    Lesson,
    Values,
    believe_all,
    believe_nothing,
    believe_one,
    floor,
    join_codes,
)
from sfumato.stats import Interval, percentile_interval

REFITS = 200
"""Resamples in which models are fitted again, where a table is thin."""

STEP_DRAWS = 400
"""Resamples that tell whether people predict one another at all."""

THIN = 5
"""A table is thin if it has more numbers than this part of the items."""

CHUNK = 100_000
"""Weights held at once."""

EVEN = 1e-6
"""Losses that are no farther apart are the same: they are kept as short floats."""

Mask = NDArray[np.bool_]


class EvidenceMix(NamedTuple):
    """Evidence: these judges together and so many people; or the judge that is best in training."""

    judges: tuple[int, ...] = ()
    people: int = 0
    best: bool = False


class View(NamedTuple):
    """Which items, and which of the people who are predicted, a number is about; None: all."""

    items: Mask | None = None
    people: Mask | None = None


@dataclass(frozen=True, eq=False)
class Weights:
    """How much each item and each annotator counts in some resamples."""

    items: Values  # (resamples, items)
    people: Values | None  # (resamples, annotators); None: nobody is known

    def __len__(self) -> int:
        return len(self.items)

    def take(self, row: int) -> "Weights":
        """Those of one resample."""
        people = None if self.people is None else self.people[row : row + 1]
        return Weights(self.items[row : row + 1], people)

    def of_evidence(self, who: NDArray[np.int64]) -> NDArray[np.float32] | float:
        """What people count as evidence, (resamples, items, 1); ``who`` is (items, people).

        Of k people it is the mean to the power of k: to first order the product, but few people
        cannot decide everything, and nobody's answer comes to nothing.
        """
        if self.people is None or not who.shape[1]:
            return 1.0
        heard = self.people[:, who].mean(axis=2, keepdims=True) ** who.shape[1]
        return heard.astype(np.float32)


@dataclass(frozen=True, eq=False)
class Losses:
    """What is lost on people who were not seen, given each mix of evidence, in nats."""

    draws: PeopleDraws
    judges: tuple[EvidenceSource, ...]
    mixes: tuple[EvidenceMix, ...]
    values: NDArray[np.float32]  # (mixes, draws, items, classes): if a person says this class

    def resample(
        self, views: Sequence[View] = (View(),), *, rng: np.random.Generator, draws: int = 1000
    ) -> Values:
        """The mean losses, (views, 1 + resamples, mixes); the first is the sample itself.

        Items are weighed, and where people are known, those who are predicted and those who are
        evidence. Thin tables are fitted again with the weights.
        """
        thin = [place for place, mix in enumerate(self.mixes) if self._is_thin(mix)]
        draws = min(draws, REFITS) if thin else draws
        parts: list[Values] = []
        moved: list[Values] = []
        for chunk in self._weights(rng=rng, draws=draws):
            parts.append(np.stack([self._means(chunk, view) for view in views]))
            for row in range(len(chunk) if thin else 0):
                moved.append(self._moved(chunk.take(row), len(moved), thin, views))
        found = np.concatenate(parts, axis=1)
        if thin:
            change = np.stack(moved, axis=1)  # (views, 1 + resamples, thin)
            # Weights that vary leave less to learn from; only how the change varies is of use.
            change -= change[:, 1:].mean(axis=1, keepdims=True)
            change[:, 0] = 0.0
            found[:, :, thin] += change
        return found

    def first_steps(self, views: Sequence[View], *, rng: np.random.Generator) -> list[Interval]:
        """By how much one person's answer lowers the loss on the next, over items, by view.

        It is about these people: whether others would tell as much is in the worths' intervals.
        """
        both = replace(self, mixes=self.mixes[:2], values=self.values[:2])
        drawn: list[list[Values]] = [[] for _ in views]
        for chunk in both._weights(rng=rng, draws=STEP_DRAWS):
            alike = None if chunk.people is None else np.ones_like(chunk.people)
            for means, view in zip(drawn, views, strict=True):
                means.append(both._means(Weights(chunk.items, alike), view))
        each = [np.concatenate(means)[1:] for means in drawn]
        return [percentile_interval(means[:, 0] - means[:, 1]) for means in each]

    def _weights(self, *, rng: np.random.Generator, draws: int) -> Iterator[Weights]:
        """Exponential weights of items (or their clusters) and of people, in chunks."""
        panel, cluster = self.draws.panel, self.draws.cluster
        clusters, people = int(cluster.max()) + 1, len(panel.annotators)
        size = max(1, CHUNK // max(1, len(panel.items) * len(panel.classes)))
        for first in range(0, draws + 1, size):
            count = min(size, draws + 1 - first)
            items = rng.standard_exponential((count, clusters))
            who = rng.standard_exponential((count, people)) if panel.named else None
            if not first:
                items[0] = 1.0
                if who is not None:
                    who[0] = 1.0
            if who is not None:
                who /= who.mean(axis=1, keepdims=True)
            yield Weights(items[:, cluster], who)

    def _means(self, weights: Weights, view: View) -> Values:
        """The mean losses under weights, (resamples, mixes).

        People count by their weights within an item, and the item by its own: the items stay the
        same whoever might have answered about them.
        """
        shown = weights.items if view.items is None else weights.items * view.items
        if weights.people is None:
            return np.asarray(shown @ self._by_item.T) / shown.sum(axis=1, keepdims=True)
        above = np.zeros((len(self.mixes), *shown.shape), dtype=np.float32)
        below = {people: np.zeros(shown.shape, dtype=np.float32) for people in self._by_people}
        votes = self._votes(weights, view)
        for draw in range(len(self.draws)):
            rest = self._rest(votes, weights, view, draw)
            for people, places in self._by_people.items():
                part = rest * weights.of_evidence(self.draws.who[draw, :, :people])
                below[people] += part.sum(axis=2)
                for place in places:
                    above[place] += np.einsum("bny,ny->bn", part, self.values[place, draw])
        found = np.empty((len(weights), len(self.mixes)))
        for people, places in self._by_people.items():
            known = shown * (below[people] > 0)
            mean = above[places] / np.where(below[people] > 0, below[people], 1.0)
            total = np.maximum(known.sum(axis=1), TINY)
            found[:, places] = (np.einsum("bn,mbn->mb", known, mean) / total).T
        return found

    @cached_property
    def _by_item(self) -> Values:
        """The mean loss of each mix on each item, (mixes, items)."""
        return np.einsum("mrny,rny->mn", self.values, self.draws.targets()) / len(self.draws)

    def _votes(self, weights: Weights, view: View) -> NDArray[np.float32]:
        """What each class counts by all who answered, (resamples, items × classes)."""
        if weights.people is None:
            votes = np.repeat(self.draws.panel.votes().reshape(1, -1), len(weights), axis=0)
        else:
            known = weights.people if view.people is None else weights.people * view.people
            votes = known @ self._answers
        return votes.astype(np.float32)

    def _rest(
        self, votes: NDArray[np.float32], weights: Weights, view: View, draw: int
    ) -> NDArray[np.float32]:
        """The same without those who are evidence in a draw, (resamples, items, classes)."""
        items, classes = len(self.draws.panel.items), len(self.draws.panel.classes)
        rest, known = votes.copy(), weights.people
        for place in range(self.draws.people):
            at = np.arange(items) * classes + self.draws.said[draw, :, place]
            who = self.draws.who[draw, :, place]
            if known is None:
                rest[:, at] -= 1.0
            else:
                rest[:, at] -= (known if view.people is None else known * view.people)[:, who]
        return np.maximum(rest, 0.0).reshape(len(votes), items, classes)

    @cached_property
    def _answers(self) -> csr_array:
        """Who said what, (annotators, items × classes)."""
        panel = self.draws.panel
        item, column = np.nonzero(panel.said >= 0)
        at = item * len(panel.classes) + panel.said[item, column]
        shape = len(panel.annotators), len(panel.items) * len(panel.classes)
        return csr_array((np.ones(len(at)), (panel.who[item, column], at)), shape=shape)

    @cached_property
    def _by_people(self) -> dict[int, list[int]]:
        """The places of mixes with the same number of people."""
        places: dict[int, list[int]] = {}
        for place, mix in enumerate(self.mixes):
            places.setdefault(mix.people, []).append(place)
        return places

    def _is_thin(self, mix: EvidenceMix) -> bool:
        """Whether its table has more numbers than a fifth of the items.

        Judges beside several people are there for their cost, and of several judges the pool
        decides, not the table: neither is worth fitting hundreds of times.
        """
        if mix.judges and (mix.people > 1 or (len(mix.judges) > 2 and not mix.best)):
            return False
        panel = self.draws.panel
        sources = [self.judges[judge] for judge in mix.judges[: 1 if mix.best else None]]
        sources += self.draws.evidence()[: mix.people]
        hard = [one.take(slice(1)).codes for one in sources if one.codes is not None]
        joint = join_codes([codes for codes in hard if codes is not None], (1, len(panel.items)))
        soft = sum(one.rows.shape[2] for one in sources if one.rows is not None)
        return (int(joint.max()) + 1 + soft) * len(panel.classes) > len(panel.items) / THIN

    def _moved(self, one: Weights, number: int, thin: list[int], views: Sequence[View]) -> Values:
        """By how much losses change if one draw is fitted again under weights, (views, thin)."""
        draw = number % len(self.draws)
        items, places = len(self.draws.panel.items), self._by_people
        found = np.zeros((len(views), len(self.mixes)))
        for people in sorted({self.mixes[place].people for place in thin}):
            again = [place for place in places[people] if place in thin]
            targets = self._shares(one, View(), draw, people)
            targets *= items / max(float(targets.sum()), TINY)
            chosen = slice(draw, draw + 1)
            mixes = [self.mixes[place] for place in again]
            fitted = measure_losses(self.draws, self.judges, mixes, chosen, targets)
            changed = fitted[:, 0] - self.values[again, draw]
            for place, view in enumerate(views):
                part = self._shares(one, view, draw, people)[0]
                found[place, again] = np.einsum("mny,ny->m", changed, part) / max(
                    float(part.sum()), TINY
                )
        return found[:, thin]

    def _shares(self, weights: Weights, view: View, draw: int, people: int) -> Values:
        """What each class counts for each item, the item by its own weight."""
        rest = self._rest(self._votes(weights, view), weights, view, draw)
        part = rest * weights.of_evidence(self.draws.who[draw, :, :people])
        total = part.sum(axis=2, keepdims=True)
        shown = weights.items if view.items is None else weights.items * view.items
        return np.asarray(part / np.where(total > 0, total, 1.0) * shown[..., None])


def measure_losses(
    draws: PeopleDraws,
    judges: Sequence[EvidenceSource],
    mixes: Sequence[EvidenceMix],
    chosen: slice,
    targets: Values | None = None,
) -> NDArray[np.float32]:
    """The losses of held-out items in the chosen draws, (mixes, draws, items, classes)."""
    aims = draws.targets()[chosen] if targets is None else targets
    lesson = Lesson(aims, draws.fold[chosen], draws.folds)
    needed = {judge for mix in mixes for judge in mix.judges}
    most = max(mix.people for mix in mixes)
    nothing = believe_nothing(lesson)
    sources = {("judge", place): judges[place].take(chosen) for place in needed}
    people = draws.evidence()[:most]
    sources |= {("person", place): one.take(chosen) for place, one in enumerate(people)}
    alone = {name: believe_one(source, lesson, nothing) for name, source in sources.items()}

    @cache
    def believe(mix: EvidenceMix) -> Belief:
        names = [("judge", judge) for judge in mix.judges]
        names += [("person", place) for place in range(mix.people)]
        if not names:
            return nothing
        each = [alone[name] for name in names]
        return believe_all([sources[name] for name in names], each, lesson, nothing)

    def choose(mix: EvidenceMix) -> Belief:
        """The beliefs of the judge that alone is best in training, fold by fold."""
        likely = np.stack([alone["judge", judge].likelihood for judge in mix.judges])
        each = [believe(EvidenceMix((judge,), mix.people)) for judge in mix.judges]
        draw, fold = np.indices(likely.shape[1:])
        believed = np.stack([one.believed for one in each])[likely.argmax(axis=0), draw, fold]
        return Belief(believed, likely.max(axis=0))

    found = [choose(mix) if mix.best else believe(mix) for mix in mixes]
    return np.stack([-np.log(floor(one.held_out(lesson))) for one in found]).astype(np.float32)


def lose(
    draws: PeopleDraws, judges: Sequence[EvidenceSource], mixes: Sequence[EvidenceMix]
) -> Losses:
    """The losses of all draws; one after the other, because what fits the cache is faster."""
    parts = [
        measure_losses(draws, judges, mixes, slice(draw, draw + 1)) for draw in range(len(draws))
    ]
    return Losses(draws, tuple(judges), tuple(mixes), np.concatenate(parts, axis=1))


def fall(losses: Values) -> Values:
    """The nearest curve that never rises, along the last axis (isotonic regression).

    >>> fall(np.array([1.0, 0.4, 0.6, 0.2]))
    array([1. , 0.5, 0.5, 0.2])
    """
    count = losses.shape[-1]
    sums = np.concatenate([np.zeros((*losses.shape[:-1], 1)), losses.cumsum(axis=-1)], axis=-1)
    fallen = np.empty_like(losses)
    for place in range(count):
        means = [
            np.max(
                [(sums[..., b + 1] - sums[..., a]) / (b + 1 - a) for b in range(place, count)], 0
            )
            for a in range(place + 1)
        ]
        fallen[..., place] = np.min(means, axis=0)
    return fallen


def people_for(loss: Values, curve: Values) -> Values:
    """How many people lose as much, on curves (…, people + 1) that never rise; infinite beyond.

    >>> people_for(np.array([1.2, 0.7, 0.3, 0.1]), np.array([1.0, 0.4, 0.2]))
    array([0. , 0.5, 1.5, inf])
    """
    found = np.where(loss < curve[..., -1] - EVEN, np.inf, float(curve.shape[-1] - 1))
    for place in range(curve.shape[-1] - 2, -1, -1):
        above, below = curve[..., place], curve[..., place + 1]
        drop = np.where(above - below > EVEN, above - below, np.inf)
        between = place + np.clip((above - loss) / drop, 0.0, 1.0)
        found = np.where((loss >= below) & (above - below > EVEN), between, found)
        found = np.where(above - loss <= EVEN, float(place), found)
    return found
