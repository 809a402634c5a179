"""Turn labels, beliefs and pictures into items to look at, and pictures that are there twice."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.cartography import (
    OUR_RULES,
    InterestRules,
    Kind,
    bars,
    kinds_of_interest,
    same_top_other_rest,
    samples_of_interest,
)
from sfumato.evaluation.duplicates import (
    NEAR,
    Duplicates,
    Pictures,
    find_duplicates,
    groups_table,
    leakage_table,
    pairs_table,
)
from sfumato.labels.labelset import LabelSet
from sfumato.labels.signals import entropy
from sfumato.scores import Estimate, source_text
from sfumato.studies.data import (
    LEARNT_SOFT,
    Findings,
    Predictions,
    StudyData,
    beliefs_by_seed,
    blank_row,
    share_row,
    shared_items,
)
from sfumato.studies.measures.doubt import UNSURE, signals_of
from sfumato.studies.measures.dynamics import SIGNALS, TRAINING, map_beliefs, watched_runs

SHOWN = 8
"""Pictures in a gallery."""
SAMPLES = 4
"""Of each kind of interest."""
MODELS = 3
"""Arms whose beliefs stand beside people's."""


def items_of_interest(data: StudyData, predictions: Predictions) -> Findings:
    """Pictures with people's and models' bars: the most doubtful ones, and those where only the
    first guess agrees; kinds of interest among what was learnt."""
    from sfumato.learn.targets import distil

    if not predictions.runs:
        return Findings()
    study, part = data.study, data.study.tests[0].part
    network = study.networks[-1]
    believed = {
        arm: list(beliefs_by_seed(data, predictions, arm, network).values())
        for arm in study.arm_names[:MODELS]
    }
    items = shared_items([one.items for one in each] for each in believed.values())
    items = items or predictions.runs[0].test(part).items
    models = {
        f"learnt from {arm}": distil(same)
        for arm, beliefs in believed.items()
        if (same := [one for one in beliefs if one.items == items])
    }
    people = data.people.take(items)
    tables = {"doubtful": bars({"people": people, **models}, most_doubtful(people))}
    if models:
        last = list(models.values())[-1]
        tables["alternatives"] = same_top_other_rest(people, last, count=SHOWN)
        others = tables["alternatives"]["item"].to_list()
        tables["alternatives_bars"] = bars({"people": people, **models}, others)
    kinds = _kinds(data, predictions, network)
    tables |= kinds.tables
    if "interest" in tables:
        tables["interest_bars"] = bars(
            {"people": data.people}, tables["interest"]["item"].to_list()
        )
    shown = [item for name in ("doubtful", "alternatives_bars", "interest_bars") if name in tables
             for item in tables[name]["item"]]  # fmt: skip
    return Findings(kinds.estimates, tables, _images(data, tuple(dict.fromkeys(shown))))


def _images(data: StudyData, items: tuple[str, ...]) -> dict[str, NDArray[np.uint8]]:
    if data.pictures is None:
        return {}
    return dict(zip(items, data.pictures.take(items).images, strict=True))


def most_doubtful(people: LabelSet, *, count: int = SHOWN) -> list[str]:
    """The items whose labels have the highest entropy, the highest first."""
    order = np.argsort(-entropy(people), kind="stable")
    return [people.items[row] for row in order[:count]]


def _kinds(data: StudyData, predictions: Predictions, network: str) -> Findings:
    """By the data map of soft labels, where they were learnt, else of the last arm."""
    names = data.study.arm_names
    arm = LEARNT_SOFT if LEARNT_SOFT in names else names[-1]
    seen = watched_runs(data, predictions, arm, network)
    if seen is None or not seen.items:
        return Findings()
    found = map_beliefs(seen.beliefs, seen.target)
    signals = {name: getattr(found, name) for name in SIGNALS}
    unsure = signals_of(data).get(UNSURE)
    if unsure is not None:
        signals[UNSURE] = at_items(seen.items, data.people.items, unsure)
    blank = replace(blank_row(data, seen.runs, part=TRAINING), arm=arm, network=network)
    return interesting(data.people.take(seen.items), signals, blank, count=SAMPLES)


def at_items(
    items: Sequence[str], known: Sequence[str], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Values of known items at the places of others; NaN where there is none."""
    by_item = dict(zip(known, values, strict=True))
    return np.array([by_item.get(item, np.nan) for item in items])


def interesting(
    people: LabelSet,
    signals: Mapping[str, NDArray[np.float64]],
    blank: Estimate,
    *,
    rules: InterestRules = OUR_RULES,
    count: int,
) -> Findings:
    """How many disputed items are of each kind (S4-52), all kinds, and the clearest few of each.

    ``signals`` are ``confidence`` and ``variability`` of a data map and the share of unsure
    annotators, as far as they are known.
    """
    unknown = np.full(len(people), np.nan)
    kinds = kinds_of_interest(
        people,
        confidence=signals.get("confidence", unknown),
        variability=signals.get("variability", unknown),
        unsure=signals.get(UNSURE),
        rules=rules,
    )
    rows = [
        replace(
            blank,
            metric="items_of_interest",
            value=kinds.filter(pl.col("kind") == kind).height,
            stratum=kind,
            items=len(people),
        )
        for kind in get_args(Kind)
    ]
    return Findings(rows, {"kinds": kinds, "interest": samples_of_interest(kinds, count=count)})


# Turn pictures into those that are there twice, and those that are in two parts.


LEARNT = "train"
"""The part that is learnt: a picture of another part that is here too has leaked."""


def duplicates(data: StudyData, predictions: Predictions) -> Findings:
    """Duplicates in the parts of the first training, and what leaked between them."""
    if data.pictures is None or not predictions.runs:
        return Findings()
    split, names = predictions.runs[0].split, np.array(data.pictures.classes, dtype=object)
    parts = []
    for part, items in (
        (LEARNT, split.train),
        ("validation", split.validation),
        ("test", split.test),
    ):
        if items:
            taken = data.pictures.take(items)
            labels = tuple(names[taken.labels].tolist())
            parts.append(Pictures(data.study.data, part, items, taken.images, labels))
    return same_pictures(parts, near=data.study.near_duplicates)


def same_pictures(parts: Sequence[Pictures], *, near: bool) -> Findings:
    """Exact and near duplicates, those with other labels, and what is in two parts.

    A leak is about the pictures of ``part``, of which some are in the part ``against`` too.
    """
    found = find_duplicates(parts, near=NEAR if near else None)
    groups = groups_table(found, "near" if near else "exact")
    pairs = pairs_table(found).with_columns(
        labels_agree=pl.col("first_label") == pl.col("second_label")
    )
    source = source_text(pictures=[*dict.fromkeys(part.source for part in parts)])
    blank = Estimate("", 0.0, against="", items=len(found.pictures), source=source)
    kinds = ("exact", "near") if near else ("exact",)
    rows = [
        replace(blank, metric="pictures", value=len(found.pictures)),
        *(replace(blank, metric="pictures", value=len(p.items), part=p.split) for p in parts),
        replace(blank, metric="duplicated_pictures", value=len(groups)),
        *(
            replace(
                blank,
                metric="duplicated_pictures",
                value=groups.filter(pl.col("kind") == kind).height,
                stratum=kind,
            )
            for kind in kinds
        ),
        replace(blank, metric="duplicate_groups", value=groups["group"].n_unique()),
        replace(blank, metric="duplicate_pairs", value=len(pairs)),
        replace(
            blank,
            metric="duplicate_pairs",
            value=pairs.filter(~pl.col("labels_agree")).height,
            stratum="other label",
        ),
    ]
    leaks, leaked = _leaks(found, parts, blank)
    return Findings([*rows, *leaks], {"duplicates": groups, "pairs": pairs, **leaked})


def _leaks(
    found: Duplicates, parts: Sequence[Pictures], blank: Estimate
) -> tuple[list[Estimate], dict[str, pl.DataFrame]]:
    """Each pair of parts; what is learnt comes first, the others as they were given."""
    sizes = {part.split: len(part.items) for part in parts}
    rows, tables = [], []
    for learnt, tested in combinations(sorted(sizes, key=lambda part: part != LEARNT), 2):
        leaked = leakage_table(found, train=learnt, test=tested)
        tables.append(leaked.with_columns(split=pl.lit(tested), twin_split=pl.lit(learnt)))
        pair = replace(blank, part=tested, against=learnt, items=sizes[tested])
        rows.append(share_row(pair, "leaked_share", np.arange(sizes[tested]) < len(leaked)))
        rows += [
            replace(pair, metric="leaked_pictures", value=amount, stratum=stratum)
            for stratum, amount in (
                ("all", len(leaked)),
                ("exact", leaked.filter(pl.col("kind") == "exact").height),
                ("other label", leaked.filter(~pl.col("labels_agree")).height),
            )
        ]
    return rows, {"leakage": pl.concat(tables)} if tables else {}
