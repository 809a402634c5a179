"""Turn rankings or triplets into points: generalised non-metric multidimensional scaling (S1-29).

Over positive semidefinite Gram matrices K with squared distances D_ab = K_aa + K_bb - 2 K_ab,

    minimise  λ tr K + Σ hinge(1 + D_anchor,near - D_anchor,far)                              (1)

(Agarwal et al. 2007 with the trace as regulariser, which also centres K). The hinge is
smoothed over a width δ, see ``rankings``. λ is a share α of the least value at which K = 0 is best:
λ = α · (largest eigenvalue of minus the loss's gradient at K = 0), so α means the same for any
number of objects and answers.

K = XX' with X of as many columns as the smaller side has objects, plus one: then (1) has the
same minimum in X as in K, because what is orthogonal to the smaller side can share one axis, and
no eigenvalues are needed on the way. X starts at the leading eigenvectors of minus the gradient at
K = 0, a tiny random push added so that no column is stuck, at the scale where (1) is lowest; L-BFGS
then lowers (1) in stages: a sketch of the loss at δ = 1 (see ``rankings.add_loss``), then all of it
at ever narrower δ until the width asked for. A stage stops when ten iterations lower (1) by less
than ``tolerance`` times its value. Stages before the last only give it a good start: they run in
single precision and stop at a tolerance of ``ROUGH``.
"""

import inspect
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, eigsh

from sfumato.errors import DataError, UnknownName
from sfumato.planning.embed.rankings import (
    Floats,
    Rankings,
    Triplets,
    excess,
    ranking_loss,
    read_triplets,
    triplet_loss,
)
from sfumato.stats import dense_codes, spearman_of_codes

# Find the minimum of a smooth function of a matrix: L-BFGS with a weak Wolfe line search.

History = deque[tuple[Floats, Floats, float]]
"""Recent steps, the changes of the gradient along them, and the products of the two."""

Objective = Callable[[Floats], tuple[float, Floats]]
"""Value and gradient at a matrix."""

MEMORY = 6
"""Pairs of steps and gradient changes that L-BFGS keeps."""

WINDOW = 10
"""Iterations over which the decrease is measured for stopping."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the search ended; ``converged`` is False if it ran out of iterations."""

    point: Floats
    value: float
    iterations: int
    converged: bool
    history: History
    """What was learnt of the curvature, for a search that goes on from here."""


def minimise(
    objective: Objective,
    start: Floats,
    *,
    tolerance: float,
    max_iterations: int,
    history: History | None = None,
) -> Minimum:
    """Walk downhill from ``start`` until the value falls by less than ``tolerance`` (relative)
    over ten iterations, or no step lowers it any more.

    ``history`` is that of a search of a similar function that ended at ``start``.

    >>> minimise(lambda x: (float(((x - 3) ** 2).sum()), 2 * (x - 3)), np.zeros((2, 2)),
    ...          tolerance=1e-9, max_iterations=100).point.round(6)
    array([[3., 3.],
           [3., 3.]])
    """
    point = start
    value, gradient = objective(point)
    history = deque(history or (), maxlen=MEMORY)
    values = [value]
    for iteration in range(1, max_iterations + 1):
        if not gradient.any():
            return Minimum(point, value, iteration - 1, True, history)
        direction = _direction(gradient, history)
        if np.vdot(direction, gradient) >= 0:  # rounding spoilt the model: start it afresh
            history.clear()
            direction = -gradient
        first = 1.0 if history else _first_step(point, gradient)
        found = _line_search(objective, point, value, gradient, direction, first)
        if found is None:
            return Minimum(point, value, iteration, True, history)
        new, new_value, new_gradient = found
        step, change = new - point, new_gradient - gradient
        curvature = float(np.vdot(step, change))
        if curvature > 0:
            history.append((step, change, curvature))
        point, value, gradient = new, new_value, new_gradient
        values.append(value)
        if len(values) > WINDOW and values[-1 - WINDOW] - value <= tolerance * abs(value):
            return Minimum(point, value, iteration, True, history)
    return Minimum(point, value, max_iterations, False, history)


def _first_step(point: Floats, gradient: Floats) -> float:
    """A tenth of the size of the point, for there is no curvature to go by yet."""
    size = float(np.linalg.norm(point)) or 1.0
    return 0.1 * size / float(np.linalg.norm(gradient))


def _direction(gradient: Floats, history: History) -> Floats:
    """The two-loop recursion."""
    direction = -gradient
    if not history:
        return direction
    weights, scaled = [], np.empty_like(direction)
    for step, change, curvature in reversed(history):
        weight = float(np.vdot(step, direction)) / curvature
        weights.append(weight)
        direction -= np.multiply(change, weight, out=scaled)
    _, change, curvature = history[-1]
    direction *= curvature / float(np.vdot(change, change))
    for (step, change, curvature), weight in zip(history, reversed(weights), strict=True):
        back = float(np.vdot(change, direction)) / curvature
        direction += np.multiply(step, weight - back, out=scaled)
    return direction


def _line_search(
    objective: Objective,
    point: Floats,
    value: float,
    gradient: Floats,
    direction: Floats,
    first: float,
) -> tuple[Floats, float, Floats] | None:
    """Bisection for a step that is low enough and not too short (Lewis and Overton 2013)."""
    slope = float(np.vdot(gradient, direction))
    low, high, step = 0.0, np.inf, first
    best: tuple[Floats, float, Floats] | None = None
    for _ in range(30):
        new = point + step * direction
        new_value, new_gradient = objective(new)
        if not new_value <= value + 1e-4 * step * slope:  # also when it is not a number
            high = step
        else:
            best = new, new_value, new_gradient
            if float(np.vdot(new_gradient, direction)) >= 0.9 * slope:
                return best
            low = step
        step = (low + high) / 2 if np.isfinite(high) else 2 * low
    return best


# Turn rankings or triplets into points: generalised non-metric multidimensional scaling (S1-29).

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
class EmbeddingSettings:
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
    settings: EmbeddingSettings = EmbeddingSettings(),  # noqa: B008 - it is frozen
    *,
    rng: np.random.Generator,
    start: Floats | None = None,
) -> Embedding:
    """Embed items and classes, items first, from rankings; no triplet is ever written out.

    >>> from sfumato.planning.embed.rankings import rank_scores
    >>> items, classes = np.random.default_rng(0).normal(size=(2, 30, 3))
    >>> near = -((items[:, None] - classes[None]) ** 2).sum(axis=2)
    >>> found = gnmds_rankings(rank_scores(near), rng=np.random.default_rng(0))
    >>> found.points.shape, found.converged
    ((60, 31), True)
    """
    return _embedded(_of_rankings(rankings), settings, rng, start)


def gnmds_triplets(
    triplets: Triplets,
    settings: EmbeddingSettings = EmbeddingSettings(),  # noqa: B008 - it is frozen
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
    problem: _Problem, settings: EmbeddingSettings, rng: np.random.Generator, start: Floats | None
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


def _stages(problem: _Problem, settings: EmbeddingSettings) -> list[_Stage]:
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


# Say how well an embedding recovered what is true, or what people rated.
#
# Two numbers: Spearman's ρ between recovered and true similarities (S1-45), and the share of
# answers that similarities contradict, the bit-flip rate (S1-46, S1-39).

TIE_WIDTH = 2e-3
"""Recovered similarities closer than this share of the largest are equal: a solver ends with
differences of that order between what its answers do not tell apart, and without the rule their
order, and so ρ of hard labels, is noise."""


def spearman(
    recovered: NDArray[np.floating],
    true: NDArray[np.floating],
    *,
    tie_width: float = TIE_WIDTH,
) -> float:
    """ρ over the upper triangles, diagonals left out; NaN if either is constant (S1-45).

    ``recovered`` values within ``tie_width`` times the largest magnitude are tied, in groups made
    from the lowest value up, and get the average of their ranks; ``true`` ones are taken as they
    are, but for rounding.

    >>> true = np.array([[1, 0.9, 0.1], [0.9, 1, 0.5], [0.1, 0.5, 1]])
    >>> round(spearman(true**3, true), 6), round(spearman(-true, true), 6)
    (1.0, -1.0)
    """
    found: Floats = np.asarray(recovered, dtype=np.float64)
    truth: Floats = np.asarray(true, dtype=np.float64)
    if found.shape != truth.shape or truth.ndim != 2 or truth.shape[0] != truth.shape[1]:
        raise DataError(
            f"Similarities are square and of one size, not {found.shape} and {truth.shape}."
        )
    upper = np.triu_indices(len(truth), 1)
    values = found[upper]
    width = tie_width * float(np.abs(values).max(initial=0.0))
    return float(spearman_of_codes(tie_groups(values, width), dense_codes(truth[upper])))


def tie_groups(values: Floats, width: float) -> NDArray[np.int64]:
    """Number of the group each value falls in, lowest first; a group spans at most ``width``.

    >>> tie_groups(np.array([0.31, 0.1, 0.3, 0.12, 0.15]), 0.03)
    array([2, 0, 2, 0, 1])
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order].tolist()
    starts = np.zeros(len(ranked), dtype=np.int64)
    at = 0
    while at < len(ranked):
        starts[at] = 1
        at = bisect_right(ranked, ranked[at] + width, lo=at)
    groups = np.empty(len(ranked), dtype=np.int64)
    groups[order] = starts.cumsum() - 1
    return groups


def error_rate(answers: Rankings | Triplets, similarities: NDArray[np.floating]) -> float:
    """Share of answers that the similarities contradict; an equal pair counts half (S1-46).

    ``similarities`` is a matrix over all objects; of rankings, items come first, then classes.
    """
    similarities = np.asarray(similarities, dtype=np.float64)
    if similarities.shape != (answers.objects, answers.objects):
        raise DataError(
            f"There are {answers.objects} objects but similarities of shape {similarities.shape}."
        )
    if isinstance(answers, Rankings):
        block = -similarities[: answers.items, answers.items :].ravel()
        both = np.concatenate([block, block])
        more = float(sum(excess(batch, both) for batch in answers.lists))
    else:
        anchor, near, far = answers.answers.T
        gap = np.sign(similarities[anchor, far] - similarities[anchor, near])
        more = float(answers.times @ gap)
    return (1 + more / answers.constraints) / 2


# GNMDS as a scikit-learn style estimator, with the conventions of cblearn's.
#
# ``GNMDS(n_components=2).fit_transform(triplets)`` takes what cblearn's takes: triplets of shape
# (answers, 3), or questions and responses ``(X, y)``; rankings besides. scikit-learn itself is not
# needed; its ``clone`` and searches work because all settings are plain attributes.


class GNMDS:
    """Points from triplets or rankings.

    ``lambd``, ``max_iter``, ``random_state``, ``embedding_``, ``stress_`` and ``n_iter_`` mean what
    they mean in cblearn; ``stress_`` is the exact hinge loss plus ``lambd`` times the squared size
    of the points. ``lambd=None`` takes the share ``alpha`` of the largest useful value instead.
    ``width`` and ``tol`` are the width of the hinge and the tolerance of ``EmbeddingSettings``.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(15, 2))
    >>> three = np.array([rng.choice(15, 3, replace=False) for _ in range(1000)])
    >>> a, b, c = truth[three].transpose(1, 0, 2)
    >>> nearer = ((a - b) ** 2).sum(axis=1) < ((a - c) ** 2).sum(axis=1)
    >>> estimator = GNMDS(n_components=2, random_state=0).fit(three, nearer)
    >>> estimator.embedding_.shape, estimator.score(three, nearer) > 0.99
    ((15, 2), True)
    """

    embedding_: Floats  # (objects, components)
    stress_: float
    n_iter_: int
    converged_: bool
    n_features_in_: int

    def __init__(
        self,
        n_components: int = 2,
        *,
        lambd: float | None = 0.0,
        alpha: float = 0.05,
        width: float = 0.1,
        tol: float = 1e-5,
        max_iter: int = 2000,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.n_components = n_components
        self.lambd = lambd
        self.alpha = alpha
        self.width = width
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike | Rankings,
        y: ArrayLike | None = None,
        init: Floats | None = None,
        n_objects: int | None = None,
    ) -> Self:
        """Embed triplets (``y`` says whether the middle object is the nearer one) or rankings."""
        settings = EmbeddingSettings(
            components=self.n_components,
            alpha=self.alpha,
            regularisation=self.lambd,
            width=self.width,
            tolerance=self.tol,
            max_iterations=self.max_iter,
        )
        rng = np.random.default_rng(self.random_state)
        if isinstance(X, Rankings):
            found = gnmds_rankings(X, settings, rng=rng, start=init)
            exact = objective_of(X, found.points, regularisation=found.regularisation)
        else:
            triplets = read_triplets(X, y, objects=n_objects)
            found = gnmds_triplets(triplets, settings, rng=rng, start=init)
            exact = objective_of(triplets, found.points, regularisation=found.regularisation)
        self.embedding_ = found.points
        self.stress_, self.n_iter_, self.converged_ = exact, found.iterations, found.converged
        self.n_features_in_ = 3
        return self

    def transform(self, X: object = None) -> Floats:
        """The points found by ``fit``; nothing can be placed afterwards, so ``X`` is not read."""
        return self._points()

    def fit_transform(
        self,
        X: ArrayLike | Rankings,
        y: ArrayLike | None = None,
        init: Floats | None = None,
        n_objects: int | None = None,
    ) -> Floats:
        """Fit and return the points."""
        return self.fit(X, y, init=init, n_objects=n_objects).transform()

    def predict(self, X: ArrayLike) -> NDArray[np.bool_]:
        """For each triplet, whether the middle object is nearer to the first than the last is."""
        points = self._points()
        asked = np.asarray(X)
        read_triplets(asked, objects=len(points))  # says what is wrong with it
        anchor, middle, last = points[asked.astype(np.int64)].transpose(1, 0, 2)
        return ((anchor - middle) ** 2).sum(axis=1) < ((anchor - last) ** 2).sum(axis=1)

    def score(self, X: ArrayLike | Rankings, y: ArrayLike | None = None) -> float:
        """Share of the answers that the points agree with; an equal distance counts half."""
        points = self._points()
        gap = points[:, None, :] - points[None, :, :]
        answers = X if isinstance(X, Rankings) else read_triplets(X, y, objects=len(points))
        return 1 - error_rate(answers, -(gap**2).sum(axis=2))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change settings by name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise UnknownName(f"GNMDS has no setting {name!r}. Known: {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        return (
            f"GNMDS({', '.join(f'{name}={value!r}' for name, value in self.get_params().items())})"
        )

    def _points(self) -> Floats:
        if not hasattr(self, "embedding_"):
            raise DataError("This GNMDS has not been fitted yet; call fit with triplets first.")
        return self.embedding_
