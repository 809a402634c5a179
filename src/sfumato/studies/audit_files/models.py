"""What stored predictions tell: whether models doubt as people do, and what softness adds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import DataError
from sfumato.evaluation import alignment, cartography, mode_shift, score, strata
from sfumato.evaluation.alignment import entropy_table
from sfumato.labels import signals
from sfumato.reporting.text import Finding
from sfumato.studies.audit_files.found import AuditedFiles
from sfumato.studies.audit_files.reading import Given
from sfumato.studies.audit_files.sentences import NAMED, finding
from sfumato.studies.audit_files.sources import AuditSettings

__all__ = ["about_models", "about_modes", "aligned_sentence"]


def about_models(
    given: Given, settings: AuditSettings, found: AuditedFiles, rng: np.random.Generator
) -> None:
    """Whether models doubt what people doubt, and which of several is closest to people."""
    if given.people is None or not given.models:
        return
    aligned, alternatives = [], []
    for name, model in given.models.items():
        human = given.people.take(model.items)
        aligned.append(
            alignment.uncertainty_alignment(
                {"entropy of people": signals.entropy(human)},
                {"confidence": signals.top_probability(model)},
                strata={"disputed": strata.strata_of(human)["disputed"]},
                rng=rng,
                draws=settings.draws,
            ).select(pl.lit(name).alias("model"), pl.all())
        )
        rest = cartography.same_top_other_rest(human, model, count=NAMED)
        alternatives.append(rest.select(pl.lit(name).alias("model"), pl.all()))
    found.tables["alignment"] = pl.concat(aligned)
    found.tables["alternatives"] = pl.concat(alternatives)
    found.tables["entropy"] = entropy_table({"people": given.people, **given.models})
    found.facts["alignment"] = found.tables["alignment"].to_dicts()
    found.findings["Models"] = [
        aligned_sentence(row) for row in found.facts["alignment"] if row["stratum"] == "all"
    ]
    if len(given.models) > 1:
        shared = set.intersection(*(set(model.items) for model in given.models.values()))
        if not shared:
            raise DataError("No item has predictions of every model, so they cannot be ranked.")
        human = given.people.take([item for item in given.people.items if item in shared])
        truth = given.original
        if truth is not None and not set(human.items) <= set(truth.items):
            truth = None
        places = score.leaderboard(
            human, given.models, original=truth, rng=rng, draws=settings.draws
        )
        found.tables["leaderboard"] = score.leaderboard_table(places)
        found.facts["leaderboard"] = found.tables["leaderboard"].to_dicts()


def aligned_sentence(row: Mapping[str, Any]) -> Finding:
    """One rank correlation of doubt in words: its interval, and whether it is as expected."""
    less, more = ("lower", "higher") if row["second"] == "confidence" else ("higher", "lower")
    verdicts = {
        "as expected": f"{less} where people doubt",
        "opposite": f"{more} where people doubt",
        "not told apart from zero": "not told apart from zero",
        "undefined": "too few items for an interval",
    }
    numbers = f"rank correlation {row['rho']:.3f}"
    if np.isnan(row["rho"]):
        numbers, verdicts["undefined"] = "no rank correlation", "one of them never changes"
    elif row["found"] != "undefined":
        numbers += f" [{row['low']:.3f}, {row['high']:.3f}]"
    text = (
        f"{row['model']}, {row['second']} against the {row['first']} on {row['items']:,} items: "
        f"{numbers}, {verdicts[row['found']]}."
    )
    clear = row["found"] in ("as expected", "opposite")
    return Finding(text, "found" if clear else "not found")


def about_modes(
    given: Given, settings: AuditSettings, found: AuditedFiles, rng: np.random.Generator
) -> None:
    """What softness adds to the majority vote of the same people (S4-45, C15)."""
    lacking = [name for name in ("original", "majority") if name not in given.targets]
    if not given.targets or (lacking and given.targets.keys() == {"original"}):
        return
    if lacking or given.original is None or given.people is None:
        what = f"predictions named {lacking[0]!r}" if lacking else "the original labels"
        found.remarks.append(
            f"Shifted modes and softness cannot be told apart without {what}; give them too."
        )
        return
    runs = [model for models in given.targets.values() for model in models]
    shared = set.intersection(*(set(each.items) for each in (*runs, given.original)))
    items = [item for item in given.people.items if item in shared]
    shift = mode_shift.mode_shift(
        {name: [run.take(items) for run in models] for name, models in given.targets.items()},
        original=given.original.take(items),
        human=given.people.take(items),
        rng=rng,
        draws=settings.draws,
    )
    found.tables["modes"] = mode_shift.mode_shift_table(shift)
    gains = [
        {
            "target": gain.target,
            "tested_on": gain.tested_on,
            "metric": gain.metric,
            **{
                f"{name}{suffix}": getattr(getattr(gain, name), part)
                for name in ("total", "by_mode", "by_softness", "share_by_mode")
                for suffix, part in (("", "value"), ("_low", "low"), ("_high", "high"))
            },
            "sentence": gain.sentence,
        }
        for gain in shift.gains
    ]
    if gains:
        found.tables["gains"] = pl.DataFrame(gains)
    found.facts["mode_shift"] = {
        "items": shift.items,
        "seeds": shift.seeds,
        "modes_differ": shift.modes_differ,
        "sentence": shift.sentence,
        "gains": gains,
    }
    found.findings["Softness or a shifted mode"] = [
        Finding(shift.sentence, "found"),
        *(
            finding(gain.sentence, gain.total.clear)
            for gain in shift.gains
            if gain.metric in ("accuracy", "cross_entropy")
        ),
    ]
