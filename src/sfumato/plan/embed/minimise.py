"""Find the minimum of a smooth function of a matrix: L-BFGS with a weak Wolfe line search."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.plan.embed.lists import Floats

__all__ = ["Minimum", "Objective", "minimise"]

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
