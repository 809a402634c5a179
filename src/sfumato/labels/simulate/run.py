"""The whole way to simulated answers: fit, load or make people, let them answer, compare."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import DataError
from sfumato.judgments.comparisons import Comparisons
from sfumato.judgments.judgments import Judgments, select
from sfumato.labels.labelset import LabelSet
from sfumato.labels.simulate import SIMULATORS, simulate
from sfumato.labels.simulate.marginals import compare_marginals
from sfumato.labels.simulate.models import Model, load_model, save_model
from sfumato.names import find
from sfumato.provenance import Step

__all__ = ["Simulation", "SimulationSettings", "run_simulation"]


@dataclass(frozen=True)
class SimulationSettings:
    """Everything about a simulation except the labels that people see."""

    kind: str
    """The simulator's name."""
    per_item: int
    """Answers an item."""
    annotators: int | None = None
    """How many simulated people take turns."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """For people made by parameters."""
    model: Path | None = None
    """People saved before."""
    save_model: Path | None = None
    """Where to keep what was fitted."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated answers, beside the real ones that they were fitted to."""

    answers: Judgments | Comparisons
    marginals: list[dict[str, Any]]
    """Marginals of real and simulated people; empty if no real ones were given."""

    @property
    def format(self) -> str:
        """The format that can hold the answers."""
        return "comparisons" if isinstance(self.answers, Comparisons) else "sfumato"

    def summary(self) -> dict[str, Any]:
        """Counts and marginals as plain numbers."""
        table = self.answers.table
        return {
            "simulated": True,
            "judgments": len(self.answers),
            "people": table["annotator"].n_unique(),
            "items": table[table.columns[0]].n_unique(),
            "marginals": self.marginals,
        }


def run_simulation(
    settings: SimulationSettings,
    labels: LabelSet,
    *,
    real: Judgments | None,
    rng: np.random.Generator,
) -> Simulation:
    """Simulated answers about ``labels`` by people fitted to ``real``, loaded, or by parameters."""
    people = _people(settings, labels, None if real is None else select(real))
    if settings.save_model is not None:
        if people is None:
            raise DataError("There is no model to save: give real judgments to fit to.")
        save_model(people, settings.save_model)
    answers = simulate(
        settings.kind,
        labels,
        people=people,
        parameters=settings.parameters,
        per_item=settings.per_item,
        annotators=settings.annotators,
        rng=rng,
    )
    marginals = []
    if real is not None and isinstance(answers, Judgments):
        seen = answers.table["item"].is_in(real.table["item"].unique().to_list())
        same = answers.take(seen, Step("take items that real people judged"))
        marginals = compare_marginals(select(real), same).to_dicts() if len(same) else []
    return Simulation(answers, marginals)


def _people(settings: SimulationSettings, labels: LabelSet, real: Judgments | None) -> Model | None:
    simulator = find(SIMULATORS, settings.kind, what="simulator")
    if settings.model is not None:
        return load_model(settings.model)
    if real is None:
        return None
    if simulator.fit is None:
        raise DataError(f"The simulator {settings.kind!r} cannot be fitted to real answers.")
    return simulator.fit(real, labels)
