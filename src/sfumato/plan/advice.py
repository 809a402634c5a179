"""What advice is asked about and what it says: the task, the alternatives, the recommendation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sfumato.errors import DataError
from sfumato.names import find
from sfumato.plan.annotators import Enough
from sfumato.plan.changes import Change
from sfumato.plan.cost import WITH_KEPT, utility_named
from sfumato.plan.information import FORMS, Asked, Options, information
from sfumato.plan.ratios import regime
from sfumato.plan.weigh import Source

__all__ = ["Advice", "Alternative", "Task", "plan_json", "rule_of_thumb"]


@dataclass(frozen=True)
class Task:
    """What is to be labelled, and what matters."""

    items: int
    classes: int
    dimensions: int | None = None
    """Of the space behind it; left out: 5, 25 and 125 are equally likely."""
    forms: tuple[str, ...] | None = None
    """To choose among; left out: those of the pilot, or of the prices, or hard, sparse and soft."""
    kept: tuple[int, ...] = (2,)
    """k̂ to consider for sparse and top-class answers, besides the pilot's own."""
    beta: float | None = None
    """What of u(ρ) a unit of cost is worth (S1-33)."""
    budget: float | None = None
    """Or: what may be spent on an item. Left out like β: a single answer of the dearest form."""
    people: int = 1
    """An item, where β is given; a budget sets it by itself."""
    utility: str = "linear"

    def __post_init__(self) -> None:
        Asked(self.items, self.classes)  # the checks of n and k
        for form in self.forms or ():
            find(FORMS, form, what="form of answer")
        for kept in self.kept:
            Asked(self.items, self.classes, kept=kept)
        if self.dimensions is not None and self.dimensions < 1:
            raise DataError(f"The space has {self.dimensions} dimensions; give 1 or more.")
        utility_named(self.utility)


@dataclass(frozen=True)
class Alternative:
    """One form that could be collected; intervals hold 95 % of the draws."""

    form: str
    kept: int | None
    people: float
    """An item, on average; 0 where the budget pays for no answer."""
    probability: float
    """That it is the best of the alternatives."""
    loss: float
    low: float
    high: float
    rho: float
    rho_low: float
    rho_high: float
    cost: float
    """Of the whole collection."""
    unit: str
    cost_source: Source
    error: float | None
    """ε, the share of comparisons that one answer gets wrong; None where it is assumed."""
    error_source: Source
    error_from: str


@dataclass(frozen=True)
class Advice:
    """Which form to collect, how sure that is, and what it rests on."""

    form: str
    kept: int | None
    people: float
    """An item, as planned or as the budget allows on average."""
    probability: float | None
    """That no other form is better; None for a rule of thumb."""
    criterion: Literal["weight", "budget", "rule of thumb"]
    alternatives: tuple[Alternative, ...]
    """Most probable first."""
    reasons: tuple[str, ...]
    changes: tuple[Change, ...]
    """What would change the advice."""
    enough: Enough | None = None
    """People an item from which another answer is worth less than it costs; needs a pilot."""
    first: tuple[str, ...] = ()
    """Items to begin with; needs labels of the items, cheap ones or a model's."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where each number is from: given, assumed, measured, simulated."""

    def to_json(self) -> dict[str, Any]:
        """A dict ready for ``json.dumps``."""
        plain: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("form", "kept", "people", "probability", "criterion")
        }
        stop = self.enough
        return {
            **plain,
            "alternatives": [_plain(each.__dict__) for each in self.alternatives],
            "reasons": list(self.reasons),
            "changes": [_plain(each.__dict__) for each in self.changes],
            "enough": None if stop is None else _plain(stop.__dict__),
            "first": list(self.first),
            "sources": dict(self.sources),
        }


def rule_of_thumb(items: int, classes: int) -> Advice:
    """Softer labels where data are small, harder ones where they are big (S1-38).

    >>> rule_of_thumb(20, 20).form, rule_of_thumb(5000, 10).form
    ('soft', 'hard')
    """
    Asked(items, classes)
    where = regime(items, classes)
    form = "hard" if where == "many-shot" else "soft"
    how = {"many-shot": "more", "one-shot": "as many", "less-than-one-shot": "fewer"}[where]
    than = "as" if where == "one-shot" else "than"
    reason = (
        f"With {how} items {than} classes ({where}) {'harder' if form == 'hard' else 'softer'} "
        "labels are preferable: a rule of thumb, because neither prices nor a pilot say more."
    )
    return Advice(
        form, None, 1, None, "rule of thumb", (), (reason,), (), sources={"form": "rule of thumb"}
    )


def plan_json(task: Task, advice: Advice) -> dict[str, Any]:
    """What ``sfumato plan --json`` prints: what every form tells, and the advice."""
    told = {}
    kept = task.kept[0] if task.kept else 2
    for form in FORMS:
        options = Options(kept=kept) if form in WITH_KEPT else Options()
        each = information(form, items=task.items, classes=task.classes, **options)
        told[form] = {"constraints": each.constraints, "ratio": float(each.ratio)}
    return {"information": told, "advice": advice.to_json()}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers that JSON knows: what is not finite is null."""
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in values.items()
    }
