"""Turn rankings or triplets into points: generalised non-metric multidimensional scaling (S1-29).

Over positive semidefinite Gram matrices K with squared distances D_ab = K_aa + K_bb - 2 K_ab,

    minimise  λ tr K + Σ hinge(1 + D_anchor,near - D_anchor,far)                              (1)

(Agarwal et al. 2007 with the trace as regulariser, which also centres K). The hinge is
smoothed over a width δ, see ``lists``. λ is a share α of the least value at which K = 0 is best:
λ = α · (largest eigenvalue of minus the loss's gradient at K = 0), so α means the same for any
number of objects and answers.

K = XX' with X of as many columns as the smaller side has objects, plus one: then (1) has the
same minimum in X as in K, because what is orthogonal to the smaller side can share one axis, and
no eigenvalues are needed on the way. X starts at the leading eigenvectors of minus the gradient at
K = 0, a tiny random push added so that no column is stuck, at the scale where (1) is lowest; L-BFGS
then lowers (1) in stages: a sketch of the loss at δ = 1 (see ``lists.add_loss``), then all of it at
ever narrower δ until the width asked for. A stage stops when ten iterations lower (1) by less
than ``tolerance`` times its value. Stages before the last only give it a good start: they run in
single precision and stop at a tolerance of ``ROUGH``.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, eigsh

from sfumato.errors import DataError
from sfumato.plan.embed.lists import Floats
from sfumato.plan.embed.minimise import Minimum, Objective, minimise
from sfumato.plan.embed.rankings import Rankings, ranking_loss
from sfumato.plan.embed.triplets import Triplets, triplet_loss

__all__ = ["Embedding", "Settings", "gnmds_rankings", "gnmds_triplets", "objective_of"]

Loss = Callable[[Floats, float], tuple[float, Floats]]

ROUGH = 3e-5
"""The tolerance of all stages but the last, if that asked for is not larger."""

SKETCHED = 24
"""Strides that stand for all of them in the first stage."""

DENSE = 600
"""Up to so many objects the start has all eigenvectors; beyond, at most ``LEADING``."""

LEADING = 50

PUSH = 1e-3
"""Size of the random push, relative to the starting points."""

NARROWING = 10.0
"""By how much the hinge narrows from stage to stage."""

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Starting sizes to try, as multiples of that where squared distances vary by one."""


@dataclass(frozen=True)
class Settings:
    """How to embed; the defaults are those of the planning simulation."""

    components: int | None = None
    """Columns of X; by default as many as can be needed, so that (1) is convex in K."""
    alpha: float = 0.05
    """λ as a share of the least λ at which all points fall together."""
    regularisation: float | None = None
    """λ itself; if given, ``alpha`` is not used."""
    width: float = 1.0
    """δ of the hinge; 0.1 is hardly to be told from the exact one."""
    tolerance: float = 1e-5
    """Relative decrease over ten iterations below which the last stage ends."""
    max_iterations: int = 1000
    """Of each stage."""

    def __post_init__(self) -> None:
        if self.components is not None and self.components < 1:
            raise DataError(f"An embedding has at least one component, not {self.components}.")
        if not (self.alpha >= 0 and (self.regularisation is None or self.regularisation >= 0)):
            raise DataError("The regularisation of an embedding must be zero or more.")
        if not 0 < self.width <= 1:
            raise DataError(f"The width of the hinge is {self.width}; it must be above 0, up to 1.")
        if self.max_iterations < 1:
            raise DataError(f"Fitting needs at least one iteration, not {self.max_iterations}.")


@dataclass(frozen=True, eq=False)
class Embedding:
    """Points whose distances agree with the answers as well as can be."""

    points: Floats  # (objects, components)
    objective: float
    """(1) with the hinge smoothed over ``width``, trace term included."""
    regularisation: float
    """λ itself."""
    width: float
    iterations: int
    """Of all stages together."""
    converged: bool
    """Whether the last stage stopped before it ran out of iterations."""

    @property
    def gram(self) -> Floats:
        """K = XX', read as similarities (S1-29)."""
        return self.points @ self.points.T


def gnmds_rankings(
    rankings: Rankings,
    settings: Settings = Settings(),  # noqa: B008 - it is frozen
    *,
    rng: np.random.Generator,
    start: Floats | None = None,
) -> Embedding:
    """Embed items and classes, items first, from rankings; no triplet is ever written out.

    >>> from sfumato.plan.embed.rankings import rank_scores
    >>> items, classes = np.random.default_rng(0).normal(size=(2, 30, 3))
    >>> near = -((items[:, None] - classes[None]) ** 2).sum(axis=2)
    >>> found = gnmds_rankings(rank_scores(near), rng=np.random.default_rng(0))
    >>> found.points.shape, found.converged
    ((60, 31), True)
    """
    return _embedded(_of_rankings(rankings), settings, rng, start)


def gnmds_triplets(
    triplets: Triplets,
    settings: Settings = Settings(),  # noqa: B008 - it is frozen
    *,
    rng: np.random.Generator,
    start: Floats | None = None,
) -> Embedding:
    """Embed the objects of any list of triplets; cost grows with the number of triplets."""
    return _embedded(_of_triplets(triplets), settings, rng, start)


def objective_of(
    answers: Rankings | Triplets, points: Floats, *, regularisation: float, width: float = 0.0
) -> float:
    """(1) of any points, with the exact hinge unless a ``width`` is given."""
    problem = _of_rankings(answers) if isinstance(answers, Rankings) else _of_triplets(answers)
    loss, _ = problem.loss(problem.distances(points), width)
    return loss + regularisation * float(np.vdot(points, points))


@dataclass(frozen=True)
class _Problem:
    """What the solver needs of answers, whatever their form."""

    objects: int
    rank: int
    """Columns of X that always suffice."""
    distances: Callable[[Floats], Floats]
    """Squared distances of the points that occur in an answer."""
    loss: Loss
    """Hinge loss of these distances and its slopes, for a width."""
    sketch: Loss
    """The same by a sample of the answers."""
    spread: Callable[[Floats, Floats], Floats]
    """Σ slope (e_a - e_b)(e_a - e_b)' X over the distances: half the gradient by X."""


def _of_rankings(rankings: Rankings) -> _Problem:
    n = rankings.items

    def distances(points: Floats) -> Floats:
        items, classes = points[:n], points[n:]
        block = items @ classes.T
        block *= -2
        block += np.einsum("ij,ij->i", items, items)[:, None]
        block += np.einsum("ij,ij->i", classes, classes)[None, :]
        return block

    def spread(slopes: Floats, points: Floats) -> Floats:
        half = np.empty_like(points)
        items, classes = points[:n], points[n:]
        half[:n] = slopes.sum(axis=1)[:, None] * items - slopes @ classes
        half[n:] = slopes.sum(axis=0)[:, None] * classes - slopes.T @ items
        return half

    return _Problem(
        objects=rankings.objects,
        rank=min(n, rankings.classes) + 1,
        distances=distances,
        loss=lambda block, width: ranking_loss(rankings, block, width),
        sketch=lambda block, width: ranking_loss(rankings, block, width, strides=SKETCHED),
        spread=spread,
    )


def _of_triplets(triplets: Triplets) -> _Problem:
    first, second = triplets.pairs.T
    objects = triplets.objects

    def distances(points: Floats) -> Floats:
        gap = points[first] - points[second]
        return np.einsum("ij,ij->i", gap, gap)

    def spread(slopes: Floats, points: Floats) -> Floats:
        upper = csr_array((slopes, (first, second)), shape=(objects, objects))
        total = np.bincount(first, slopes, objects) + np.bincount(second, slopes, objects)
        return total[:, None] * points - upper @ points - upper.T @ points

    return _Problem(
        objects=objects,
        rank=max(1, objects - 1),
        distances=distances,
        loss=lambda found, width: triplet_loss(triplets, found, width),
        sketch=lambda found, width: triplet_loss(triplets, found, width),
        spread=spread,
    )


def _embedded(
    problem: _Problem, settings: Settings, rng: np.random.Generator, start: Floats | None
) -> Embedding:
    columns = settings.components or problem.rank
    nothing = np.zeros((problem.objects, columns))
    _, slopes = problem.loss(problem.distances(nothing), 1.0)
    values, vectors = _leading(problem, slopes, columns, rng)
    largest = max(float(values[0]), 0.0)
    weight = settings.regularisation
    if weight is None:
        weight = settings.alpha * largest
    if weight >= largest * (1 - 1e-9):  # then K = 0 is best
        loss, _ = problem.loss(problem.distances(nothing), settings.width)
        return Embedding(nothing, loss, weight, settings.width, 0, True)
    if start is None:
        start = _start(problem, values, vectors, columns, weight, rng)
    elif start.shape[0] != problem.objects or start.ndim != 2:
        raise DataError(
            f"There are {problem.objects} objects but starting points of shape {start.shape}."
        )
    found, iterations = Minimum(start, np.inf, 0, False, deque()), 0
    for stage in _stages(problem, settings):
        found = minimise(
            _objective(problem, stage.loss, weight, stage.width),
            found.point.astype(stage.precision),
            tolerance=stage.tolerance,
            max_iterations=settings.max_iterations,
            history=found.history,
        )
        iterations += found.iterations
    return Embedding(found.point, found.value, weight, settings.width, iterations, found.converged)


def _objective(problem: _Problem, loss_of: Loss, weight: float, width: float) -> Objective:
    def objective(points: Floats) -> tuple[float, Floats]:
        loss, slopes = loss_of(problem.distances(points), width)
        gradient = problem.spread(slopes, points)
        gradient += points * points.dtype.type(weight)
        gradient *= 2
        return loss + weight * float(np.vdot(points, points)), gradient

    return objective


@dataclass(frozen=True)
class _Stage:
    loss: Loss
    width: float
    tolerance: float
    precision: type[np.floating]


def _stages(problem: _Problem, settings: Settings) -> list[_Stage]:
    """From a sketch to the hinge asked for; only the last stage needs all its digits."""
    rough = max(settings.tolerance, ROUGH)
    stages = [_Stage(problem.sketch, 1.0, rough, np.float32)]
    width = 1.0 / NARROWING
    while width > settings.width * 1.5:  # one hardly wider than the last is not worth it
        stages.append(_Stage(problem.loss, width, rough, np.float32))
        width /= NARROWING
    return [*stages, _Stage(problem.loss, settings.width, settings.tolerance, np.float64)]


def _leading(
    problem: _Problem, slopes: Floats, columns: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Largest eigenvalues, in falling order, and eigenvectors of minus the gradient at K = 0."""
    size = problem.objects
    if size <= DENSE:
        values, vectors = eigh(-problem.spread(slopes, np.eye(size)))
    else:
        pull = LinearOperator(
            (size, size),
            matvec=lambda x: -problem.spread(slopes, x.reshape(-1, 1)).ravel(),
            dtype=np.float64,
        )
        count = min(columns, LEADING, size - 1)
        values, vectors = eigsh(pull, k=count, which="LA", v0=rng.normal(size=size), tol=1e-6)
    order = np.argsort(-values)[:columns]
    return values[order], vectors[:, order]


def _start(
    problem: _Problem,
    values: Floats,
    vectors: Floats,
    columns: int,
    weight: float,
    rng: np.random.Generator,
) -> Floats:
    points = np.zeros((problem.objects, columns))
    points[:, : len(values)] = vectors * np.sqrt(np.maximum(values, 0.0))
    points += rng.normal(size=points.shape) * PUSH * np.sqrt(np.mean(points**2))
    spread = float(np.std(problem.distances(points)))
    points /= np.sqrt(spread) if spread > 0 else 1.0

    def value(scale: float) -> float:
        # by the whole objective: by the loss alone, X = 0, a saddle, may look best
        loss, _ = problem.sketch(problem.distances(points * scale), 1.0)
        return loss + weight * scale**2 * float(np.vdot(points, points))

    return points * min(SCALES, key=value)
