"""What all files tell together: signals of ambiguity, and the items worth a look."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation import alignment, cartography
from sfumato.labels import signals
from sfumato.labels.alter import TIE_TOLERANCE
from sfumato.labels.labelset import LabelSet
from sfumato.reporting.text import count
from sfumato.studies.audit_files.found import AuditedFiles
from sfumato.studies.audit_files.people import PerItem, told_by_judgments, unsure_share
from sfumato.studies.audit_files.reading import Given
from sfumato.studies.audit_files.sentences import NAMED, finding, first_named
from sfumato.studies.audit_files.sources import AuditSettings

__all__ = ["about_interest", "about_signals", "doubtful_pictures"]

SHOWN = 8
"""Pictures in a gallery."""


def about_signals(
    given: Given, settings: AuditSettings, found: AuditedFiles, rng: np.random.Generator
) -> None:
    """Every signal of ambiguity against every other (S4-49)."""
    if given.people is None:
        return
    people = given.people
    known: dict[str, PerItem] = {
        "entropy of people": signals.entropy(people),
        "mass off the top": signals.non_max_mass(people),
        **told_by_judgments(given),
    }
    for name, model in given.models.items():
        known[f"entropy of {name}"] = _at_people(people, model.items, signals.entropy(model))
    if "data_map" in found.tables:
        mapped = found.tables["data_map"]
        for name in ("confidence", "variability"):
            values = mapped[name].to_numpy()
            known[f"{name} while learning"] = _at_people(people, mapped["item"].to_list(), values)
    varied = {
        name: values
        for name, values in known.items()
        if np.isfinite(values).any() and np.nanmax(values) - np.nanmin(values) > TIE_TOLERANCE
    }
    if len(varied) > 1:
        table = alignment.correlation_matrix(varied, rng=rng, draws=settings.draws)
        found.tables["correlations"] = table
        found.facts["correlations"] = table.to_dicts()


def about_interest(
    given: Given, settings: AuditSettings, found: AuditedFiles, rng: np.random.Generator
) -> None:
    """Annotator noise, noisy image or true ambiguity (S4-52), with the models' part if known."""
    if given.people is None:
        return
    people, mapped = given.people, found.tables.get("data_map")
    unknown = np.full(len(people), np.nan)
    confidence, variability = unknown, unknown
    if mapped is not None:
        items = mapped["item"].to_list()
        confidence = _at_people(people, items, mapped["confidence"].to_numpy())
        variability = _at_people(people, items, mapped["variability"].to_numpy())
    kinds = cartography.kinds_of_interest(
        people,
        confidence=confidence,
        variability=variability,
        unsure=unsure_share(given),
        rules=cartography.PEOPLE_ONLY if mapped is None else cartography.OUR_RULES,
    )
    samples = cartography.samples_of_interest(kinds, count=NAMED)
    found.tables.update(interest=samples, kinds=kinds)
    number = Counter(kinds["kind"].drop_nulls().to_list())
    by = "people's labels alone" if mapped is None else "people's labels and the data map"
    found.facts["interest"] = {"by": by, "counts": dict(number)}
    found.findings["Samples of interest"] = [
        finding(
            f"{count(number[kind], 'item')} of the kind {kind!r}, by {by}"
            + first_named(samples.filter(pl.col("kind") == kind)["item"].to_list(), number[kind])
            + ".",
            bool(number[kind]),
        )
        for kind in ("annotator noise", "noisy image", "true ambiguity")
    ]


def doubtful_pictures(given: Given) -> tuple[pl.DataFrame | None, dict[str, NDArray[np.uint8]]]:
    """What people and models believe of the most doubtful items, where there are pictures."""
    if given.people is None or given.pictures is None:
        return None, {}
    known = set(given.pictures.items).intersection(*(one.items for one in given.models.values()))
    order = np.argsort(-signals.entropy(given.people), kind="stable")
    items = [given.people.items[row] for row in order if given.people.items[row] in known][:SHOWN]
    if not items:
        return None, {}
    images = given.pictures.take(items).images
    return (
        cartography.bars({"people": given.people, **dict(list(given.models.items())[:3])}, items),
        dict(zip(items, images, strict=True)),
    )


def _at_people(people: LabelSet, items: Sequence[str], values: PerItem) -> PerItem:
    """The values at the places of people's items, NaN where there is none."""
    known = dict(zip(items, values, strict=True))
    return np.array([known.get(item, np.nan) for item in people.items])
