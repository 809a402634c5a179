"""GNMDS as a scikit-learn style estimator, with the conventions of cblearn's.

``GNMDS(n_components=2).fit_transform(triplets)`` takes what cblearn's takes: triplets of shape
(answers, 3), or questions and responses ``(X, y)``; rankings besides. scikit-learn itself is not
needed; its ``clone`` and searches work because all settings are plain attributes.
"""

import inspect
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import DataError, UnknownName
from sfumato.plan.embed.gnmds import Settings, gnmds_rankings, gnmds_triplets, objective_of
from sfumato.plan.embed.lists import Floats
from sfumato.plan.embed.rankings import Rankings
from sfumato.plan.embed.recovery import error_rate
from sfumato.plan.embed.triplets import read_triplets

__all__ = ["GNMDS"]


class GNMDS:
    """Points from triplets or rankings.

    ``lambd``, ``max_iter``, ``random_state``, ``embedding_``, ``stress_`` and ``n_iter_`` mean what
    they mean in cblearn; ``stress_`` is the exact hinge loss plus ``lambd`` times the squared size
    of the points. ``lambd=None`` takes the share ``alpha`` of the largest useful value instead.
    ``width`` and ``tol`` are the width of the hinge and the tolerance of ``Settings``.

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
        settings = Settings(
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
